/*
 * Searches that are changed: what may change of a file, and how the searcher of the changed file
 * takes over what the one before knows.
 */
#include "search_file_internal.h"

#include <regimen/search_live.h>

#include <math.h>
#include <string.h>

/* ---- what may change ------------------------------------------------------------------------ */

static bool is_in(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* *same: both are there and say the same, or neither is. */
static rgm_status compare(bool *same, const rgm_yaml_node *a, const rgm_yaml_node *b)
{
    rgm_status status = RGM_OK;
    rgm_text left = {0}, right = {0};

    *same = a == b;
    if (a == NULL || b == NULL)
        return RGM_OK;
    RGM_GO(rgm_yaml_print_flow(&left, a, false));
    RGM_GO(rgm_yaml_print_flow(&right, b, false));
    *same = left.size == right.size && (left.size == 0 || strcmp(left.data, right.data) == 0);
done:
    rgm_text_clear(&left);
    rgm_text_clear(&right);
    return status;
}

/* Keys of `a` that are in none of the lists must be the same in `b`. */
static rgm_status compare_keys(const rgm_yaml_node *a, const rgm_yaml_node *b,
                               const char *const *free_keys, const char *const *also,
                               const char *section)
{
    for (int64_t i = 0; a != NULL && i < a->count; i++) {
        const rgm_yaml_node *node = a->items[i];
        bool same;

        if (is_in(free_keys, node->key) || is_in(also, node->key))
            continue;
        RGM_TRY(compare(&same, node, b != NULL ? rgm_yaml_find(b, node->key) : NULL));
        if (!same)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "'%s%s' cannot be changed of a search that has begun; a fork is a new "
                            "search with other values",
                            section, node->key);
    }
    return RGM_OK;
}

static const rgm_searcher_live *live_of(const rgm_search_file *file)
{
    const rgm_yaml_node *name = rgm_yaml_find(file->nodes.searcher, "name");

    for (int i = 0; rgm_searcher_types[i] != NULL && name != NULL; i++)
        if (strcmp(rgm_searcher_types[i]->section.name, name->text) == 0)
            return rgm_searcher_types[i]->live;
    return NULL;
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static rgm_status refuse(const rgm_hyperparameter *h, const char *what)
{
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "hyperparameter '%s': %s cannot be changed of a search that has begun; its "
                    "bounds can, and values can be added at the end",
                    h->name, what);
}

/* A choice is a place in the list, so what is there stays where it is. */
static rgm_status check_hyperparameter(const rgm_hyperparameter *to, const rgm_hyperparameter *from)
{
    bool is_const = from->kind == RGM_HYPER_CONST;

    if (strcmp(to->name, from->name) != 0)
        return refuse(from, "its name");
    if (to->kind != from->kind)
        return refuse(from, "its type");
    if (!same_text(to->when, from->when))
        return refuse(from, "its condition");
    if (to->values.count < from->values.count ||
        (is_const && to->values.count != from->values.count))
        return refuse(from, "the list of its values");
    for (int64_t i = 0; i < from->values.count; i++)
        if (strcmp(to->values.items[i], from->values.items[i]) != 0)
            return refuse(from, is_const ? "its value" : "the list of its values");
    return RGM_OK;
}

static rgm_status check_spaces(const rgm_space *to, const rgm_space *from)
{
    if (to->count != from->count)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "a search that has begun has %lld hyperparameters, and none can be added or "
            "taken away",
            (long long)from->count);
    for (int64_t i = 0; i < to->count; i++)
        RGM_TRY(check_hyperparameter(rgm_space_at(to, i), rgm_space_at(from, i)));
    return RGM_OK;
}

rgm_status rgm_search_file_check_change(const rgm_search_file *changed,
                                        const rgm_search_file *before)
{
    static const char *const sections[] = {"hyperparameters", "constraints", "searcher", "limits",
                                           "max_restarts",    "debug",       NULL};
    static const char *const keys[] = {"sampler", "points", NULL};
    const rgm_yaml_node *to = rgm_yaml_root(changed->merged), *from = rgm_yaml_root(before->merged);
    const rgm_yaml_node *searcher = changed->nodes.searcher, *old = before->nodes.searcher;
    const rgm_searcher_live *live = live_of(before);
    const char *const *also = live != NULL ? live->keys : NULL;

    RGM_TRY(compare_keys(from, to, sections, NULL, ""));
    RGM_TRY(compare_keys(to, from, sections, NULL, ""));
    RGM_TRY(compare_keys(old, searcher, keys, also, "searcher."));
    RGM_TRY(compare_keys(searcher, old, keys, also, "searcher."));
    return check_spaces(changed->space, before->space);
}

/* ---- taking over ---------------------------------------------------------------------------- */

bool rgmi_space_has(const rgm_space *space, const rgm_hyper_value *values)
{
    for (int64_t i = 0; i < space->count; i++) {
        const rgm_hyperparameter *h = rgm_space_at(space, i);
        double low, high, number, slack = h->kind == RGM_HYPER_LOG ? 1e-12 : 0;

        if (!values[i].is_set || h->kind == RGM_HYPER_CONST || h->kind == RGM_HYPER_CATEGORICAL)
            continue;
        rgmi_item_range(&low, &high, h);
        number = h->kind == RGM_HYPER_INT ? (double)values[i].integer : values[i].number;
        if (!(number >= low * (1 - slack) && number <= high * (1 + slack)))
            return false;
    }
    return rgm_space_holds(space, values, NULL);
}

bool rgmi_values_are_same(const rgm_hyper_value *a, const rgm_hyper_value *b, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        if (a[i].is_set != b[i].is_set ||
            (a[i].is_set && (a[i].choice != b[i].choice || a[i].integer != b[i].integer ||
                             a[i].number != b[i].number)))
            return false;
    return true;
}

/* Points are known by their places: those that were tried are the same ones, wherever bounds are
 * now, as trials that were drawn keep their values. */
static rgm_status check_points(const rgm_searcher *s, const rgm_searcher *before)
{
    bool same = s->point_count >= before->points_used;

    for (int64_t i = 0; i < before->points_used && same; i++)
        same = rgmi_values_are_same(s->points[i], before->points[i], s->space->count);
    if (!same)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "'searcher.points': the first %lld were tried, and stay as they are; "
                        "others can be added behind",
                        (long long)before->points_used);
    for (int64_t i = before->points_used; i < s->point_count; i++)
        if (!rgmi_space_has(s->space, s->points[i]))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "'searcher.points': point %lld, which was not tried yet, is outside of "
                            "the new bounds or breaks a constraint: change it, or take it out",
                            (long long)(i + 1));
    return RGM_OK;
}

static rgm_status check_both(const rgm_searcher *s, const rgm_searcher *before)
{
    if (s->begun || s->failed || !before->begun)
        return RGM_FAIL(RGM_ERR_ARG, "a searcher that has not begun takes over from one that has");
    if (before->failed)
        return RGM_FAIL(RGM_ERR_CONFIG, "the searcher failed before: its search cannot go on");
    if (s->type != before->type || s->type->live == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "a search by '%s' cannot be changed once it has begun; random, median, "
                        "adaptive_asha and bohb can, and a fork is a new search with other values",
                        before->type->section.name);
    return check_points(s, before);
}

/* The end that was told, or is about to be, is none any more. */
static void take_back_end(rgm_searcher *s)
{
    int64_t kept = s->queue.head;

    for (int64_t i = s->queue.head; i < s->queue.count; i++)
        if (s->queue.items[i].kind != RGM_ASK_SHUTDOWN)
            s->queue.items[kept++] = s->queue.items[i];
    s->queue.count = kept;
    s->over = false;
    s->progress = 0;
}

rgm_status rgm_searcher_take_over(rgm_searcher *searcher, const rgm_searcher *before)
{
    rgm_status status = RGM_OK;
    rgm_text state = {0};

    RGM_GO(check_both(searcher, before));
    RGM_GO(rgm_searcher_save(&state, before));
    RGM_GO(rgmi_searcher_restore_changed(searcher, state.data, state.size));
    for (int64_t i = 0; i < searcher->trial_count; i++)
        searcher->trials[i]->seen.outside =
            !rgmi_space_has(searcher->space, searcher->trials[i]->values);
    take_back_end(searcher);
    RGM_GO(searcher->type->live->extend(searcher, searcher->state, searcher->options));
    RGM_GO(rgmi_searcher_settle(searcher));
done:
    rgm_text_clear(&state);
    return status;
}

bool rgm_searcher_is_same(const rgm_searcher *a, const rgm_searcher *b)
{
    return a->type == b->type && a->hash == b->hash;
}

/* ---- what is left to do --------------------------------------------------------------------- */

int64_t rgm_searcher_trials_left(const rgm_searcher *searcher)
{
    const rgm_searcher_live *live = searcher->type->live;

    return live != NULL ? live->left(searcher->state, searcher->options) : -1;
}

int64_t rgm_searcher_points_left(const rgm_searcher *searcher)
{
    return searcher->point_count - searcher->points_used;
}

rgm_status rgm_searcher_print_plan(rgm_text *out, const rgm_searcher *searcher)
{
    const rgm_searcher_live *live = searcher->type->live;

    return live != NULL && live->print_plan != NULL ? live->print_plan(out, searcher->state)
                                                    : RGM_OK;
}

/* ---- earlier searches ----------------------------------------------------------------------- */

rgm_status rgm_searcher_learn(rgm_searcher *s, const rgm_hyper_value *values, int64_t length,
                              const double *metrics)
{
    rgmi_searched_trial *t;

    if (s->begun)
        return RGM_FAIL(RGM_ERR_ARG, "a searcher that has begun is told of an earlier search");
    if (length < 1 || length > RGM_MAX_LENGTH)
        return RGM_FAIL(RGM_ERR_ARG, "a trial of an earlier search of length %lld",
                        (long long)length);
    RGM_TRY(RGM_RESERVE(s->earlier, s->earlier_capacity, s->earlier_count + 1));
    RGM_TRY(rgmi_trial_new(&t, s));
    s->earlier[s->earlier_count++] = t;
    memcpy(t->values, values, (size_t)s->space->count * sizeof *values);
    t->seen.length = length;
    t->seen.closed = true;
    t->seen.outside = !rgmi_space_has(s->space, values);
    rgmi_keys_of(t->seen.keys, s, metrics);
    t->seen.best_key = t->seen.keys[0];
    return RGM_OK;
}
