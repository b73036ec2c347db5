/*
 * The section `searcher` of an experiment file: its row by name, that row's options, and what every
 * searcher has. Options are read key by key, so that all mistakes are told and not the first alone.
 */
#include "search_internal.h"

#include <regimen/search_live.h>

#include <math.h>
#include <string.h>

static const char *const common_keys[] = {
    "name",   "metric",          "smaller_is_better",      "metrics",           "sampler",
    "points", "source_trial_id", "source_checkpoint_uuid", "source_experiment", "replace_failed",
    NULL};
static const char *const sampler_keys[] = {"type", NULL};

typedef struct reader {
    rgm_searcher *searcher;
    const rgm_yaml_node *section;
    const rgm_search_rows *own;
    int64_t tried; /* points at the beginning that may be outside of what the space is now */
    rgmi_mistakes mistakes;
} reader;

#define MISTAKE(r, node, ...) rgmi_mistake(&(r)->mistakes, rgm_yaml_fail((node), __VA_ARGS__))

/* ---- rows by name -------------------------------------------------------------------------- */

/* Rows of searchers and of samplers begin with their section. */
static const rgm_section_type *find_row(const char *name, const void *const *lists[2],
                                        const char *names[64], int64_t *count)
{
    *count = 0;
    for (int l = 0; l < 2; l++)
        for (const void *const *row = lists[l]; row != NULL && *row != NULL; row++) {
            const rgm_section_type *section = *row;

            if (strcmp(section->name, name) == 0)
                return section;
            if (*count < 64)
                names[(*count)++] = section->name;
        }
    return NULL;
}

/* Of the shared object that `name` is; *row NULL: the mistake is noted. */
static rgm_status load_row(const rgm_section_type **row, reader *r, const char *kind,
                           const rgm_yaml_node *name, size_t size)
{
    const void *found;
    rgm_status status =
        rgmi_object_row(&found, &r->searcher->hash, kind, name->text, (int64_t)size, r->own);

    *row = found;
    return rgmi_mistake(&r->mistakes, rgm_yaml_place(status, name));
}

static rgm_status read_options(void **out, reader *r, const rgm_section_type *type,
                               const rgm_yaml_node *map, const char *path, const char *const *also)
{
    static const rgm_field none[] = {{0}};
    const rgm_field *fields = type->fields != NULL ? type->fields : none;
    size_t size = type->options_size > 0 ? type->options_size : 1;

    *out = rgm_arena_alloc(r->searcher->arena, size);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the options of %s", type->name);
    if (type->defaults != NULL)
        type->defaults(*out);
    for (int64_t i = 0; i < map->count; i++) {
        rgm_yaml_node one = *map;

        one.items = &map->items[i];
        one.count = 1;
        RGM_TRY(rgmi_mistake(&r->mistakes,
                             rgm_options_read(*out, fields, &one, path, also, r->searcher->arena)));
    }
    if (type->check == NULL || r->mistakes.count > 0)
        return RGM_OK;
    return rgmi_mistake(&r->mistakes, rgm_yaml_place(type->check(*out), map));
}

/* ---- the common keys ----------------------------------------------------------------------- */

static rgm_status read_metric(reader *r, const rgm_yaml_node *node, int64_t i)
{
    rgm_searcher *s = r->searcher;
    char *name;

    if (node->kind != RGM_YAML_SCALAR || node->text[0] == '\0')
        return MISTAKE(r, node,
                       "'searcher.metric' is a name such as valid.loss, or a list of them");
    for (int64_t k = 0; k < i; k++)
        if (s->objectives[k].metric != NULL && strcmp(s->objectives[k].metric, node->text) == 0)
            return MISTAKE(r, node, "'searcher.metric' has '%.200s' twice", node->text);
    name = rgm_arena_strdup(s->arena, node->text);
    s->objectives[i] = (rgm_objective){.metric = name, .smaller_is_better = true};
    return name != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a metric");
}

static rgm_status read_directions(reader *r)
{
    rgm_searcher *s = r->searcher;
    const rgm_yaml_node *node = rgm_yaml_find(r->section, "smaller_is_better");
    bool list = node != NULL && node->kind == RGM_YAML_LIST;

    if (node == NULL || s->objective_count == 0)
        return RGM_OK;
    if (list && node->count != s->objective_count)
        return MISTAKE(r, node, "'searcher.smaller_is_better' has %lld values for %lld metrics",
                       (long long)node->count, (long long)s->objective_count);
    for (int64_t i = 0; i < s->objective_count; i++)
        RGM_TRY(rgmi_mistake(&r->mistakes, rgm_yaml_bool(&s->objectives[i].smaller_is_better,
                                                         list ? node->items[i] : node)));
    return RGM_OK;
}

/* An item of `metrics`. */
typedef struct metric_options {
    const char *name;
    const rgm_yaml_node *smaller_is_better;
    double at_most, at_least; /* NaN: not given */
} metric_options;
#define RGM_OPTIONS metric_options
static const rgm_field metric_fields[] = {
    RGM_TEXT_FIELD(name, "such as valid.loss"),
    {.name = "smaller_is_better",
     .kind = RGM_FIELD_NODE,
     .offset = offsetof(metric_options, smaller_is_better),
     .help = "of what is aimed at"},
    RGM_FLOAT_FIELD(at_most, -1e300, 1e300, "a bound that trials shall keep"),
    RGM_FLOAT_FIELD(at_least, -1e300, 1e300, "a bound that trials shall keep"),
    {0}};
#undef RGM_OPTIONS

/* What an item says, as an objective. */
static rgm_status to_objective(rgm_objective *out, const metric_options *o,
                               const rgm_yaml_node *node)
{
    *out = (rgm_objective){.metric = o->name,
                           .smaller_is_better = true,
                           .is_bound = !isnan(o->at_most) || !isnan(o->at_least)};
    if (o->name == NULL || o->name[0] == '\0')
        return rgm_yaml_fail(node, "'searcher.metrics' has an item without 'name'");
    if (!isnan(o->at_most) && !isnan(o->at_least))
        return rgm_yaml_fail(node,
                             "'searcher.metrics': '%.200s' has 'at_most' and 'at_least': give "
                             "it twice, once with each",
                             o->name);
    if (!out->is_bound)
        return o->smaller_is_better != NULL
                   ? rgm_yaml_bool(&out->smaller_is_better, o->smaller_is_better)
                   : RGM_OK;
    out->smaller_is_better = !isnan(o->at_most);
    out->bound = out->smaller_is_better ? o->at_most : o->at_least;
    if (o->smaller_is_better != NULL)
        return rgm_yaml_fail(o->smaller_is_better,
                             "'searcher.metrics': '%.200s' is a bound, which "
                             "has no 'smaller_is_better'",
                             o->name);
    return RGM_OK;
}

static bool same_objective(const rgm_objective *a, const rgm_objective *b)
{
    return strcmp(a->metric, b->metric) == 0 && a->is_bound == b->is_bound &&
           (!a->is_bound || a->smaller_is_better == b->smaller_is_better);
}

/* Those that are aimed at first, in order; bounds behind them. */
static rgm_status add_objective(reader *r, const rgm_objective *one, const rgm_yaml_node *node)
{
    rgm_searcher *s = r->searcher;
    int64_t at = one->is_bound ? s->objective_count : s->aim_count;

    for (int64_t i = 0; i < s->objective_count; i++)
        if (same_objective(&s->objectives[i], one))
            return MISTAKE(r, node, "'searcher.metrics' has '%.200s' twice", one->metric);
    memmove(&s->objectives[at + 1], &s->objectives[at],
            (size_t)(s->objective_count - at) * sizeof *one);
    s->objectives[at] = *one;
    s->objective_count++;
    s->aim_count += !one->is_bound;
    return RGM_OK;
}

static rgm_status read_metrics(reader *r, const rgm_yaml_node *list)
{
    const rgm_yaml_node *other = rgm_yaml_find(r->section, "metric");

    if (other == NULL)
        other = rgm_yaml_find(r->section, "smaller_is_better");
    if (other != NULL)
        return MISTAKE(r, other,
                       "'searcher.metrics' stands in place of 'metric' and "
                       "'smaller_is_better': leave these out");
    if (list->kind != RGM_YAML_LIST || list->count < 1 || list->count > RGM_MAX_OBJECTIVES)
        return MISTAKE(r, list, "'searcher.metrics' is a list of 1 to %d maps with name",
                       RGM_MAX_OBJECTIVES);
    for (int64_t i = 0; i < list->count; i++) {
        metric_options options = {.at_most = NAN, .at_least = NAN};
        rgm_objective one;
        int64_t before = r->mistakes.count;

        if (list->items[i]->kind != RGM_YAML_MAP)
            return MISTAKE(r, list->items[i], "'searcher.metrics' is a list of maps with name");
        RGM_TRY(rgmi_mistake(&r->mistakes,
                             rgm_options_read(&options, metric_fields, list->items[i],
                                              "searcher.metrics", NULL, r->searcher->arena)));
        if (r->mistakes.count == before)
            RGM_TRY(rgmi_mistake(&r->mistakes, to_objective(&one, &options, list->items[i])));
        if (r->mistakes.count == before)
            RGM_TRY(add_objective(r, &one, list->items[i]));
    }
    return r->searcher->aim_count > 0 || r->mistakes.count > 0
               ? RGM_OK
               : MISTAKE(r, list,
                         "'searcher.metrics' has bounds alone: one metric must be aimed at");
}

static rgm_status read_objectives(reader *r)
{
    rgm_searcher *s = r->searcher;
    const rgm_yaml_node *node = rgm_yaml_find(r->section, "metric");
    bool list = node != NULL && node->kind == RGM_YAML_LIST;
    int64_t count = list ? node->count : 1;

    if (rgm_yaml_find(r->section, "metrics") != NULL)
        return read_metrics(r, rgm_yaml_find(r->section, "metrics"));
    if (node == NULL)
        return MISTAKE(r, r->section, "'searcher.metric' must be given, such as valid.loss");
    if (count < 1 || count > RGM_MAX_OBJECTIVES)
        return MISTAKE(r, node, "'searcher.metric' has %lld names, but 1 to %d are possible",
                       (long long)count, RGM_MAX_OBJECTIVES);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(read_metric(r, list ? node->items[i] : node, i));
    s->objective_count = s->aim_count = count;
    return read_directions(r);
}

rgm_status rgm_objectives_read(rgm_objective *objectives, int64_t *count,
                               const rgm_yaml_node *section, rgm_arena *arena)
{
    rgm_searcher holder = {.arena = arena};
    reader r = {.searcher = &holder, .section = section};
    rgm_status status = RGM_OK;

    *count = 0;
    RGM_GO(section != NULL ? read_objectives(&r)
                           : RGM_FAIL(RGM_ERR_CONFIG, "there is no section 'searcher'"));
    RGM_GO(rgmi_mistakes_tell(&r.mistakes));
    memcpy(objectives, holder.objectives, sizeof holder.objectives);
    *count = holder.objective_count;
done:
    rgm_text_clear(&r.mistakes.lines);
    return status;
}

static rgm_status read_sampler(reader *r)
{
    rgm_searcher *s = r->searcher;
    const rgm_yaml_node *node = rgm_yaml_find(r->section, "sampler"), *type = node;
    const void *const *lists[2] = {(const void *const *)rgm_sampler_types,
                                   r->own != NULL ? (const void *const *)r->own->samplers : NULL};
    const rgm_yaml_node nothing = {.kind = RGM_YAML_MAP};
    const rgm_section_type *row;
    const char *names[64], *name = "random";
    int64_t count;

    if (s->type != NULL && s->type->sampler != NULL)
        name = s->type->sampler;

    if (node != NULL && node->kind == RGM_YAML_MAP)
        type = rgm_yaml_find(node, "type");
    if (node != NULL && (type == NULL || type->kind != RGM_YAML_SCALAR))
        return MISTAKE(r, node, "'searcher.sampler' is a name, or a map with type");
    if (node != NULL)
        name = type->text;
    if (rgmi_is_object(name))
        RGM_TRY(load_row(&row, r, "sampler", type, sizeof(rgm_sampler_type)));
    else
        row = find_row(name, lists, names, &count);
    if (row == NULL && rgmi_is_object(name))
        return RGM_OK; /* told */
    if (row == NULL)
        return MISTAKE(r, type, "there is no sampler '%.100s'%s", name,
                       rgm_did_you_mean(name, names, count, NULL, "there are ").text);
    s->sampler = (const rgm_sampler_type *)(const void *)row;
    return read_options(&s->sampler_options, r, row,
                        node != NULL && node->kind == RGM_YAML_MAP ? node : &nothing,
                        "searcher.sampler", sampler_keys);
}

static rgm_status read_points(reader *r)
{
    rgm_searcher *s = r->searcher;
    const rgm_yaml_node *list = rgm_yaml_find(r->section, "points");

    if (list == NULL)
        return RGM_OK;
    if (list->kind != RGM_YAML_LIST)
        return MISTAKE(r, list, "'searcher.points' is a list of maps of hyperparameters to values");
    s->points = rgm_arena_alloc(s->arena, (size_t)(list->count + 1) * sizeof(rgm_hyper_value *));
    if (s->points == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld points", (long long)list->count);
    for (int64_t i = 0; i < list->count; i++) {
        rgm_hyper_value *point =
            rgm_arena_alloc(s->arena, (size_t)(s->space->count + 1) * sizeof *point);

        if (point == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a point");
        s->points[s->point_count++] = point;
        RGM_TRY(
            rgmi_mistake(&r->mistakes, (i < r->tried ? rgm_space_read_trial : rgm_space_read_point)(
                                           point, s->space, list->items[i])));
    }
    return RGM_OK;
}

static rgm_status check_source(reader *r)
{
    const rgm_yaml_node *uuid = rgm_yaml_find(r->section, "source_checkpoint_uuid");

    if (uuid == NULL || rgm_yaml_find(r->section, "source_trial_id") == NULL)
        return RGM_OK;
    return MISTAKE(r, uuid,
                   "'searcher.source_checkpoint_uuid' and 'searcher.source_trial_id' "
                   "exclude each other");
}

/* ---- all of it ----------------------------------------------------------------------------- */

static rgm_status read_method(reader *r)
{
    rgm_searcher *s = r->searcher;
    const rgm_yaml_node *name = rgm_yaml_find(r->section, "name");
    const void *const *lists[2] = {(const void *const *)rgm_searcher_types,
                                   r->own != NULL ? (const void *const *)r->own->searchers : NULL};
    const rgm_section_type *row = NULL;
    const char *names[64];
    int64_t count = 0;

    if (name == NULL || name->kind != RGM_YAML_SCALAR)
        return MISTAKE(r, r->section, "'searcher.name' must be given, such as adaptive_asha");
    if (rgmi_is_object(name->text))
        RGM_TRY(load_row(&row, r, "searcher", name, sizeof(rgm_searcher_type)));
    else
        row = find_row(name->text, lists, names, &count);
    if (row == NULL && rgmi_is_object(name->text))
        return RGM_OK; /* told */
    if (row == NULL)
        return MISTAKE(r, name, "there is no searcher '%.100s'%s", name->text,
                       rgm_did_you_mean(name->text, names, count, NULL, "there are ").text);
    if (row == &rgmi_asked_type.section && (r->own == NULL || !r->own->objects))
        return MISTAKE(r, name,
                       "searcher 'program' runs a program, and this process runs none: "
                       "start the master with --own-searchers");
    s->type = (const rgm_searcher_type *)(const void *)row;
    s->state = rgm_calloc(1, s->type->state_size + 1); /* one without state has one too */
    if (s->state == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for searcher '%s'", row->name);
    return read_options(&s->options, r, row, r->section, "searcher", common_keys);
}

static rgm_status hash_section(rgm_searcher *s, const rgm_yaml_node *section, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_yaml_print_flow(&text, section, false));
    RGM_GO(rgm_text_printf(&text, "\n%llx %lu", (unsigned long long)s->space->hash,
                           (unsigned long)seed));
    s->hash ^= rgm_hash64(text.data, (size_t)text.size); /* that of objects is there already */
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status prepare_sampler(reader *r)
{
    const rgm_yaml_node *node = rgm_yaml_find(r->section, "sampler");

    return r->searcher->sampler->prepare(r->searcher, r->searcher->sampler_options,
                                         node != NULL ? node : r->section);
}

static rgm_status read_all(reader *r)
{
    rgm_searcher *s = r->searcher;

    if (r->section->kind != RGM_YAML_MAP)
        return MISTAKE(r, r->section, "searcher is a map, with name and metric");
    RGM_TRY(read_method(r));
    RGM_TRY(read_objectives(r));
    RGM_TRY(read_sampler(r));
    RGM_TRY(read_points(r));
    RGM_TRY(check_source(r));
    if (rgm_yaml_find(r->section, "replace_failed") != NULL)
        RGM_TRY(
            rgmi_mistake(&r->mistakes, rgm_yaml_bool(&s->replaces_failed,
                                                     rgm_yaml_find(r->section, "replace_failed"))));
    if (r->mistakes.count == 0 && s->sampler->prepare != NULL)
        RGM_TRY(rgmi_mistake(&r->mistakes, prepare_sampler(r)));
    if (r->mistakes.count == 0 && s->type->prepare != NULL)
        RGM_TRY(rgmi_mistake(&r->mistakes, s->type->prepare(s, s->state, s->options, r->section)));
    return RGM_OK;
}

rgm_status rgm_searcher_read(rgm_searcher **out, const rgm_yaml_node *section, rgm_space *space,
                             uint32_t seed, const rgm_search_rows *own)
{
    return rgmi_searcher_read(out, section, space, seed, own, false, 0);
}

rgm_status rgmi_searcher_read(rgm_searcher **out, const rgm_yaml_node *section, rgm_space *space,
                              uint32_t seed, const rgm_search_rows *own, bool is_kept,
                              int64_t tried)
{
    rgm_status status = RGM_OK;
    reader r = {.section = section, .own = own, .tried = tried};

    *out = NULL;
    RGM_GO(RGM_NEW(r.searcher, 1));
    r.searcher->space = rgm_space_retain(space);
    r.searcher->seed = seed;
    r.searcher->most_points = INT64_MAX; /* of a row that does not say */
    r.searcher->is_kept = is_kept;
    rgm_mt19937_seed(&r.searcher->random, seed);
    RGM_GO(rgm_arena_create(&r.searcher->arena));
    RGM_GO(read_all(&r));
    RGM_GO(rgmi_mistakes_tell(&r.mistakes));
    RGM_GO(hash_section(r.searcher, section, seed));
    *out = r.searcher;
    r.searcher = NULL;
done:
    rgm_text_clear(&r.mistakes.lines);
    rgm_searcher_release(r.searcher);
    return status;
}

void rgm_searcher_release(rgm_searcher *searcher)
{
    if (searcher == NULL)
        return;
    if (searcher->state != NULL && searcher->type->clear != NULL)
        searcher->type->clear(searcher->state);
    rgm_free(searcher->state);
    for (int64_t i = 0; i < searcher->trial_count; i++)
        rgmi_trial_release(searcher->trials[i]);
    rgm_free(searcher->trials);
    for (int64_t i = 0; i < searcher->earlier_count; i++)
        rgmi_trial_release(searcher->earlier[i]);
    rgm_free(searcher->earlier);
    rgm_free(searcher->queue.items);
    rgm_free(searcher->held.items);
    rgm_arena_release(searcher->arena);
    rgm_space_release(searcher->space);
    rgm_free(searcher);
}
