/*
 * A searcher's state, all of it: generator, trials, what is asked of them, operations not given
 * yet, and the row's own. What is read is checked before it is believed: a file can say anything.
 */
#include "search_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FORMAT     2 /* 1: perhaps without the members from KNOWN on, and without OUTSIDE */
#define MOST_WHOLE ((int64_t)1 << 53) /* of an int, in size */

/* ---- arrays -------------------------------------------------------------------------------- */

/* One array a member of all trials: gathered to be written, spread once it is read. */
enum {
    LENGTH,
    TRAINED,
    TARGET,
    CHECKPOINTS,
    FROM,
    WAITS_FOR,
    SEED,
    ID_HIGH,
    ID_LOW,
    FLAGS,
    KNOWN, /* states of format 1 may lack this and what follows */
    TOLD,
    MEMBERS
};
static const char *const member_names[MEMBERS] = {"length", "trained",   "target", "checkpoints",
                                                  "from",   "waits_for", "seed",   "id_high",
                                                  "id_low", "flags",     "known",  "told"};
enum { CLOSED = 1, EXITED = 2, INVALID = 4, CLOSING = 8, OUTSIDE = 16, ALL_FLAGS = 31 };

static int64_t id_half(const uint8_t *bytes)
{
    uint64_t word = 0;

    for (int i = 0; i < 8; i++)
        word = word << 8 | bytes[i];
    return (int64_t)word;
}

static void set_id_half(uint8_t *bytes, int64_t half)
{
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)((uint64_t)half >> (56 - 8 * i));
}

static int64_t member_of(const rgmi_searched_trial *t, int member)
{
    switch (member) {
    case LENGTH:
        return t->seen.length;
    case TRAINED:
        return t->trained;
    case TARGET:
        return t->target;
    case CHECKPOINTS:
        return t->checkpoints;
    case FROM:
        return t->from;
    case WAITS_FOR:
        return t->waits_for;
    case SEED:
        return t->seed;
    case ID_HIGH:
        return id_half(t->request_id);
    case ID_LOW:
        return id_half(t->request_id + 8);
    case KNOWN:
        return t->known;
    case TOLD:
        return t->told;
    default:
        return t->seen.closed * CLOSED + t->seen.exited * EXITED + t->seen.invalid * INVALID +
               t->closing * CLOSING + t->seen.outside * OUTSIDE;
    }
}

static bool in_range(int64_t value, int64_t low, int64_t high)
{
    return value >= low && value <= high;
}

/* false: no save can have written it. */
static bool set_member(rgm_searcher *s, rgmi_searched_trial *t, int member, int64_t value)
{
    bool length = in_range(value, 0, RGM_MAX_LENGTH), trial = in_range(value, 0, s->trial_count);

    switch (member) {
    case LENGTH:
        t->seen.length = value;
        return length;
    case TRAINED:
        t->trained = value;
        return length;
    case TARGET:
        t->target = value;
        return length;
    case CHECKPOINTS:
        t->checkpoints = value;
        return length;
    case FROM:
        t->from = value;
        return trial;
    case WAITS_FOR:
        t->waits_for = value;
        return trial;
    case SEED:
        t->seed = (uint32_t)value;
        return in_range(value, 0, INT32_MAX);
    case ID_HIGH:
        set_id_half(t->request_id, value);
        return true;
    case ID_LOW:
        set_id_half(t->request_id + 8, value);
        return true;
    case KNOWN:
        t->known = value;
        return trial;
    case TOLD:
        t->told = value;
        s->told = value > s->told ? value : s->told;
        return trial;
    default:
        t->seen.closed = (value & CLOSED) != 0;
        t->seen.exited = (value & EXITED) != 0;
        t->seen.invalid = (value & INVALID) != 0;
        t->closing = (value & CLOSING) != 0;
        t->seen.outside = (value & OUTSIDE) != 0;
        return in_range(value, 0, ALL_FLAGS);
    }
}

static rgm_status damaged(const char *name)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: '%s' is not what a save writes", name);
}

static rgm_status archive_member(rgm_archive *a, rgm_searcher *s, int member)
{
    rgm_status status = RGM_OK;
    const char *name = member_names[member];
    int64_t *items = NULL, count = s->trial_count;

    RGM_GO(RGM_NEW(items, count));
    for (int64_t i = 0; i < count; i++)
        items[i] = member_of(s->trials[i], member);
    RGM_GO(rgm_archive_ints(a, name, &items, &count));
    if (count != s->trial_count)
        RGM_GO(damaged(name));
    for (int64_t i = 0; i < count && rgm_archive_reads(a); i++)
        if (!set_member(s, s->trials[i], member, items[i]))
            RGM_GO(damaged(name));
done:
    rgm_free(items);
    return status;
}

/* The keys of all trials behind each other, best_key last. */
static rgm_status archive_keys(rgm_archive *a, rgm_searcher *s)
{
    rgm_status status = RGM_OK;
    int64_t width = s->objective_count + 1, count = width * s->trial_count, size = count;
    double *items = NULL;

    RGM_GO(RGM_NEW(items, count));
    for (int64_t i = 0; i < s->trial_count; i++) {
        memcpy(items + i * width, s->trials[i]->seen.keys, (size_t)(width - 1) * sizeof *items);
        items[i * width + width - 1] = s->trials[i]->seen.best_key;
    }
    RGM_GO(rgm_archive_floats(a, "keys", &items, &size));
    if (size != count)
        RGM_GO(damaged("keys"));
    for (int64_t i = 0; i < size; i++)
        if (isnan(items[i]))
            RGM_GO(damaged("keys"));
    for (int64_t i = 0; i < s->trial_count; i++) {
        memcpy(s->trials[i]->seen.keys, items + i * width, (size_t)(width - 1) * sizeof *items);
        s->trials[i]->seen.best_key = items[i * width + width - 1];
    }
done:
    rgm_free(items);
    return status;
}

/* ---- values -------------------------------------------------------------------------------- */

/* A number may be outside of bounds that were changed since. */
static bool is_possible(const rgm_hyperparameter *h, const rgm_hyper_value *v, bool outside)
{
    double low, high;

    if (h->kind == RGM_HYPER_CONST || h->kind == RGM_HYPER_CATEGORICAL)
        return in_range(v->choice, 0, h->values.count - 1);
    rgmi_item_range(&low, &high, h);
    if (h->kind == RGM_HYPER_INT && outside)
        return in_range(v->integer, -MOST_WHOLE, MOST_WHOLE);
    if (h->kind == RGM_HYPER_INT)
        return in_range(v->integer, (int64_t)low, (int64_t)high);
    return isfinite(v->number);
}

static void spread_values(rgm_searcher *s, const int64_t *ints, const double *floats)
{
    int64_t n = s->space->count;

    for (int64_t i = 0; i < n * s->trial_count; i++) {
        rgm_hyper_value *v = &s->trials[i / n]->values[i % n];

        *v = (rgm_hyper_value){.is_set = ints[i] != INT64_MIN};
        if (!v->is_set)
            continue;
        v->number = floats[i];
        if (rgm_space_at(s->space, i % n)->kind == RGM_HYPER_INT)
            v->integer = ints[i];
        else
            v->choice = ints[i];
    }
}

/* Choice or integer, INT64_MIN where it is not set, and the number. */
static rgm_status archive_values(rgm_archive *a, rgm_searcher *s)
{
    rgm_status status = RGM_OK;
    int64_t n = s->space->count, count = n * s->trial_count, ints_size = count, floats_size = count;
    int64_t *ints = NULL;
    double *floats = NULL;

    RGM_GO(RGM_NEW(ints, count));
    RGM_GO(RGM_NEW(floats, count));
    for (int64_t i = 0; i < count; i++) {
        const rgm_hyper_value *v = &s->trials[i / n]->values[i % n];
        bool whole = rgm_space_at(s->space, i % n)->kind == RGM_HYPER_INT;

        ints[i] = !v->is_set ? INT64_MIN : whole ? v->integer : v->choice;
        floats[i] = v->number;
    }
    RGM_GO(rgm_archive_ints(a, "choices", &ints, &ints_size));
    RGM_GO(rgm_archive_floats(a, "numbers", &floats, &floats_size));
    if (ints_size != count || floats_size != count)
        RGM_GO(damaged("choices"));
    if (!rgm_archive_reads(a))
        goto done;
    spread_values(s, ints, floats);
    for (int64_t i = 0; i < count; i++) {
        const rgm_hyper_value *v = &s->trials[i / n]->values[i % n];

        if (v->is_set && !is_possible(rgm_space_at(s->space, i % n), v,
                                      s->any_bounds || s->trials[i / n]->seen.outside))
            RGM_GO(damaged("choices"));
    }
done:
    rgm_free(ints);
    rgm_free(floats);
    return status;
}

/* ---- what is asked, and operations --------------------------------------------------------- */

static rgm_status read_asked(rgm_searcher *s, const int64_t *items, int64_t count)
{
    for (int64_t i = 0; i + 2 < count; i += 3) {
        rgmi_searched_trial *t = rgmi_trial_at(s, items[i]);

        if (t == NULL || t->seen.closed ||
            !in_range(items[i + 1], RGM_ASK_VALIDATE, RGM_ASK_CLOSE) ||
            !in_range(items[i + 2], 0, RGM_MAX_LENGTH))
            return damaged("asked");
        RGM_TRY(RGM_RESERVE(t->asked, t->asked_capacity, t->asked_count + 1));
        t->asked[t->asked_count++] = (rgmi_asked){(rgm_operation_kind)items[i + 1], items[i + 2]};
    }
    return count % 3 == 0 ? RGM_OK : damaged("asked");
}

static rgm_status archive_asked(rgm_archive *a, rgm_searcher *s)
{
    rgm_status status = RGM_OK;
    int64_t *items = NULL, count = 0, at = 0;

    for (int64_t i = 0; i < s->trial_count; i++)
        count += 3 * s->trials[i]->asked_count;
    RGM_GO(RGM_NEW(items, count));
    for (int64_t i = 0; i < s->trial_count; i++)
        for (int64_t k = 0; k < s->trials[i]->asked_count; k++) {
            items[at++] = i + 1;
            items[at++] = s->trials[i]->asked[k].kind;
            items[at++] = s->trials[i]->asked[k].length;
        }
    RGM_GO(rgm_archive_ints(a, "asked", &items, &count));
    if (rgm_archive_reads(a))
        RGM_GO(read_asked(s, items, count));
done:
    rgm_free(items);
    return status;
}

static rgm_status read_operations(rgm_searcher *s, rgmi_operations *o, const char *name,
                                  const int64_t *items, int64_t count)
{
    for (int64_t i = 0; i + 2 < count; i += 3) {
        bool shutdown = items[i] == RGM_ASK_SHUTDOWN && items[i + 1] == 0;

        if (!in_range(items[i], RGM_ASK_CREATE, RGM_ASK_SHUTDOWN) ||
            (!shutdown && rgmi_trial_at(s, items[i + 1]) == NULL) ||
            !in_range(items[i + 2], 0, RGM_MAX_LENGTH))
            return damaged(name);
        RGM_TRY(rgmi_operations_add(o, (rgm_operation_kind)items[i], items[i + 1], items[i + 2]));
    }
    return count % 3 == 0 ? RGM_OK : damaged(name);
}

static rgm_status archive_operations(rgm_archive *a, rgm_searcher *s, rgmi_operations *o,
                                     const char *name)
{
    rgm_status status = RGM_OK;
    int64_t *items = NULL, count = 3 * (o->count - o->head), at = 0;

    RGM_GO(RGM_NEW(items, count));
    for (int64_t i = o->head; i < o->count; i++) {
        items[at++] = o->items[i].kind;
        items[at++] = o->items[i].trial;
        items[at++] = o->items[i].length;
    }
    RGM_GO(rgm_archive_ints(a, name, &items, &count));
    if (rgm_archive_reads(a))
        RGM_GO(read_operations(s, o, name, items, count));
done:
    rgm_free(items);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static rgm_status archive_random(rgm_archive *a, rgm_searcher *s)
{
    rgm_status status = RGM_OK;
    int64_t *items = NULL, count = 624;

    RGM_GO(RGM_NEW(items, count));
    for (int i = 0; i < 624; i++)
        items[i] = s->random.words[i];
    RGM_GO(rgm_archive_ints(a, "random", &items, &count));
    RGM_GO(rgm_archive_int(a, "random_next", &s->random.next));
    if (count != 624 || !in_range(s->random.next, 0, 624))
        RGM_GO(damaged("random"));
    for (int i = 0; i < 624; i++) {
        if (!in_range(items[i], 0, UINT32_MAX))
            RGM_GO(damaged("random"));
        s->random.words[i] = (uint32_t)items[i];
    }
done:
    rgm_free(items);
    return status;
}

/* As many trials as there were, empty. */
static rgm_status make_trials(rgm_searcher *s, int64_t count)
{
    if (!in_range(count, 0, RGMI_MOST_TRIALS))
        return damaged("trials");
    RGM_TRY(RGM_RESERVE(s->trials, s->trial_capacity, count));
    for (; s->trial_count < count; s->trial_count++)
        RGM_TRY(rgmi_trial_new(&s->trials[s->trial_count], s));
    return RGM_OK;
}

static bool is_of_before(const rgm_archive *a)
{
    int64_t format;

    return rgm_archive_reads(a) &&
           rgm_json_int(&format, rgm_json_find(a->from, "searcher_state")) && format < FORMAT;
}

static rgm_status archive_trials(rgm_archive *a, rgm_searcher *s)
{
    int64_t count = s->trial_count, lengths = 0;

    RGM_TRY(rgm_archive_int(a, "trials", &count));
    if (rgm_archive_reads(a)) { /* a number of trials is believed as far as values bear it out */
        const rgm_json *json = rgm_json_find(a->from, "length");

        lengths = rgm_json_count(json);
        if (lengths != count)
            return damaged("trials");
        RGM_TRY(make_trials(s, count));
    }
    for (int m = 0; m < MEMBERS; m++)
        if (m < KNOWN || !is_of_before(a) || rgmi_archive_has(a, member_names[m]))
            RGM_TRY(archive_member(a, s, m));
    RGM_TRY(archive_keys(a, s));
    RGM_TRY(archive_values(a, s));
    return archive_asked(a, s);
}

/* What follows from trials is counted, not believed. */
static rgm_status count_trials(rgm_searcher *s)
{
    s->open = s->invalid = 0;
    for (int64_t i = 0; i < s->trial_count; i++) {
        const rgm_search_trial *t = &s->trials[i]->seen;

        s->open += !t->closed;
        s->invalid += t->invalid;
        if (s->trials[i]->from > i || s->trials[i]->waits_for > i)
            return damaged("from");
    }
    if (!in_range(s->points_used, 0, s->point_count))
        return damaged("points_used");
    if (!in_range(s->first_points, 0, INT64_MAX))
        return damaged("first_points");
    if (s->first_points > s->point_count) /* a change took some away before they were used */
        s->first_points = s->point_count;
    if (!in_range(s->work, 0, INT64_MAX / 2) || !(s->progress >= 0 && s->progress <= 1))
        return damaged("progress");
    return RGM_OK;
}

/* States of before do not say how many there were at the beginning: all that there are. */
static rgm_status archive_points(rgm_archive *a, rgm_searcher *s)
{
    RGM_TRY(rgm_archive_int(a, "points_used", &s->points_used));
    if (!rgm_archive_reads(a) || rgmi_archive_has(a, "first_points"))
        return rgm_archive_int(a, "first_points", &s->first_points);
    s->first_points = s->point_count;
    return RGM_OK;
}

static rgm_status archive_all(rgm_archive *a, rgm_searcher *s)
{
    rgm_archive inside;

    RGM_TRY(rgm_archive_bool(a, "begun", &s->begun));
    RGM_TRY(rgm_archive_bool(a, "over", &s->over));
    RGM_TRY(archive_points(a, s));
    RGM_TRY(rgm_archive_int(a, "work", &s->work));
    RGM_TRY(rgm_archive_float(a, "progress", &s->progress));
    RGM_TRY(archive_random(a, s));
    RGM_TRY(archive_trials(a, s));
    if (rgm_archive_reads(a))
        RGM_TRY(count_trials(s));
    RGM_TRY(archive_operations(a, s, &s->queue, "queue"));
    RGM_TRY(archive_operations(a, s, &s->held, "held"));
    RGM_TRY(rgmi_archive_enter(&inside, a, "state"));
    RGM_TRY(s->type->archive(&inside, s->state));
    return rgmi_archive_leave(&inside);
}

rgm_status rgm_searcher_save(rgm_text *out, const rgm_searcher *searcher)
{
    rgm_archive archive = {.to = out, .more = true};

    RGM_TRY(rgm_text_printf(out, "{\"searcher_state\": %d, \"name\": ", FORMAT));
    RGM_TRY(rgm_json_print_text(out, rgm_searcher_name(searcher)));
    RGM_TRY(rgm_text_printf(out, ", \"of\": \"%016" PRIx64 "\"", searcher->hash));
    /* Writing changes nothing; the function that goes both ways cannot say so. */
    RGM_TRY(archive_all(&archive, (rgm_searcher *)(uintptr_t)searcher));
    return rgm_text_add(out, "}", 1);
}

static rgm_status check_head(const rgm_json *json, const rgm_searcher *s, bool may_be_changed)
{
    const char *name = rgm_json_text(rgm_json_find(json, "name"));
    const char *of = rgm_json_text(rgm_json_find(json, "of"));
    int64_t format;
    char hash[24];

    if (!rgm_json_int(&format, rgm_json_find(json, "searcher_state")) || name == NULL || of == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "this is no state of a searcher");
    if (format < 1 || format > FORMAT)
        return RGM_FAIL(RGM_ERR_VERSION, "a searcher's state of format %lld, this reads 1 to %d",
                        (long long)format, FORMAT);
    snprintf(hash, sizeof hash, "%016" PRIx64, s->hash);
    if (strcmp(name, rgm_searcher_name(s)) != 0 || (strcmp(of, hash) != 0 && !may_be_changed))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "this is the state of a searcher '%.100s' with other options, "
                        "hyperparameters or seed than this one's ('%s')",
                        name, rgm_searcher_name(s));
    return RGM_OK;
}

static rgm_status restore(rgm_searcher *searcher, const char *text, int64_t size,
                          bool may_be_changed)
{
    rgm_status status = RGM_OK;
    rgm_archive archive = {0};
    rgm_json *json = NULL;

    if (searcher->begun || searcher->failed)
        return RGM_FAIL(RGM_ERR_ARG, "a state is restored into a searcher that has not begun");
    RGM_GO(rgm_json_parse(&json, text, size, "searcher state"));
    RGM_GO(check_head(json, searcher, may_be_changed));
    archive.from = json;
    searcher->any_bounds = may_be_changed;
    RGM_GO(archive_all(&archive, searcher));
    searcher->any_bounds = false;
done:
    rgm_json_release(json);
    if (status != RGM_OK)
        searcher->failed = true;
    return status;
}

rgm_status rgm_searcher_restore(rgm_searcher *searcher, const char *text, int64_t size)
{
    return restore(searcher, text, size, false);
}

rgm_status rgmi_searcher_restore_changed(rgm_searcher *searcher, const char *text, int64_t size)
{
    return restore(searcher, text, size, true);
}
