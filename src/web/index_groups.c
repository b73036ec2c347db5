/*
 * Runs put together: by the values of keys, or repetitions of one configuration with other seeds.
 * Each group is a row with the mean and deviation of its runs' numbers.
 */
#include "band.h"
#include "index_choose.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_NAME = 2 };

/* ---- groups -------------------------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
    const rgmi_member *x = a, *y = b;
    int order;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    order = rgmi_compare_names(rgmi_run_row_title(x->row), rgmi_run_row_title(y->row));
    return order != 0 ? order : (x->row->id > y->row->id) - (x->row->id < y->row->id);
}

/* By which the first that chose has chosen; NULL: none has. */
static const char *best_metric_of(const rgmi_run_groups *g, const rgmi_run_group *group)
{
    const char *metric = NULL;

    for (int64_t i = 0; i < group->count && metric == NULL; i++)
        metric = g->members[group->first + i].row->text[RGMI_TEXT_BEST_METRIC];
    return metric;
}

/* A best by another metric is none of the group's. */
static bool is_of_group(const rgmi_run_row *row, const rgmi_value_place *place, const char *metric)
{
    const char *mine = row->text[RGMI_TEXT_BEST_METRIC];

    return place->fixed != RGMI_COLUMN_BEST ||
           (mine != NULL && metric != NULL && strcmp(mine, metric) == 0);
}

/* By the mean of numbers (of times by the newest), else by the first text. */
static rgmi_row_value sort_value(const rgmi_run_groups *g, const rgmi_run_group *group)
{
    const rgmi_value_place *place = &g->choice.sort;
    bool is_time = place->fixed == RGMI_COLUMN_MODIFIED || place->fixed == RGMI_COLUMN_STARTED;
    const char *metric = best_metric_of(g, group);
    rgmi_row_value text = {0};
    rgmi_moments m = {0};

    for (int64_t i = 0; i < group->count; i++) {
        const rgmi_run_row *row = g->members[group->first + i].row;
        rgmi_row_value v = rgmi_value_of(row, place);

        if (v.has && v.numeric && isfinite(v.number) && is_of_group(row, place, metric))
            rgmi_moments_add(&m, v.number);
        else if (v.has && !text.has && v.text != NULL)
            text = v;
    }
    if (m.count == 0)
        return text;
    return (rgmi_row_value){.has = true, .numeric = true, .number = is_time ? m.high : m.mean};
}

static int by_sort(const void *a, const void *b, void *payload)
{
    const rgmi_run_group *x = a, *y = b;
    const rgmi_run_groups *g = payload;
    int order;

    if (x->sort.has != y->sort.has)
        return x->sort.has ? -1 : 1;
    order = x->sort.has ? rgmi_values_compare(&x->sort, &y->sort) : 0;
    if (order != 0)
        return g->choice.query->ascending ? order : -order;
    order = rgmi_compare_names(rgmi_run_row_title(g->members[x->first].row),
                               rgmi_run_row_title(g->members[y->first].row));
    return order != 0 ? order : (x->id > y->id) - (x->id < y->id);
}

static rgm_status make_groups(rgmi_run_groups *g)
{
    RGM_TRY(RGM_NEW(g->groups, g->member_count));
    if (g->member_count > 1)
        qsort(g->members, (size_t)g->member_count, sizeof *g->members, by_group);
    for (int64_t i = 0; i < g->member_count; i++) {
        if (i == 0 || g->members[i].group != g->members[i - 1].group)
            g->groups[g->count++] = (rgmi_run_group){.id = g->members[i].group, .first = i};
        g->groups[g->count - 1].count++;
    }
    for (int64_t i = 0; i < g->count; i++)
        g->groups[i].sort = sort_value(g, &g->groups[i]);
    if (g->count > 1)
        qsort_r(g->groups, (size_t)g->count, sizeof *g->groups, by_sort, g);
    return RGM_OK;
}

rgm_status rgmi_groups_take(rgmi_run_groups *out, rgmi_runs *runs, const rgmi_runs_query *query)
{
    *out = (rgmi_run_groups){0};
    if (query->group == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "group: seeds, or keys such as config.model.type");
    RGM_TRY(rgmi_runs_rows_take(&out->held, runs, true));
    out->complete = out->held.walked && out->held.read == out->held.count;
    RGM_TRY(rgmi_choice_read(&out->choice, runs, query, out->complete && out->held.count > 0));
    RGM_TRY(RGM_NEW(out->members, out->held.count));
    for (int64_t i = 0; i < out->held.count; i++) {
        rgmi_run_row *row = out->held.rows[i];

        if (row->read && rgmi_choice_fits(&out->choice, row))
            out->members[out->member_count++] =
                (rgmi_member){row, rgmi_grouping_id(&out->choice.by, row)};
    }
    return make_groups(out);
}

void rgmi_groups_clear(rgmi_run_groups *groups)
{
    rgmi_choice_clear(&groups->choice);
    rgm_free(groups->members);
    rgm_free(groups->groups);
    rgmi_runs_rows_clear(&groups->held);
    *groups = (rgmi_run_groups){0};
}

const rgmi_run_group *rgmi_groups_find(const rgmi_run_groups *groups, uint64_t id)
{
    for (int64_t i = 0; i < groups->count; i++)
        if (groups->groups[i].id == id)
            return &groups->groups[i];
    return NULL;
}

/* ---- names --------------------------------------------------------------------------------- */

/* The beginning that all names share, without a number that is cut in two and what leads to it. */
static size_t common_beginning(const rgmi_run_groups *g, const rgmi_run_group *group)
{
    const char *first = rgmi_run_row_title(g->members[group->first].row);
    size_t size = strlen(first);
    bool in_number = false;

    for (int64_t i = 1; i < group->count; i++) {
        const char *name = rgmi_run_row_title(g->members[group->first + i].row);
        size_t same = 0;

        while (same < size && first[same] == name[same])
            same++;
        if (same < size || name[same] != 0)
            in_number = in_number || isdigit((unsigned char)first[same]) ||
                        isdigit((unsigned char)name[same]);
        size = same;
    }
    while (in_number && size > 0 && isdigit((unsigned char)first[size - 1]))
        size--;
    while (size > 0 && strchr("-_. =/", first[size - 1]) != NULL)
        size--;
    if (size > 4 && strncasecmp(first + size - 4, "seed", 4) == 0 &&
        strchr("-_. =/", first[size - 5]) != NULL)
        size -= 5;
    while (size > 0 && ((unsigned char)first[size] & 0xc0) == 0x80) /* not within a character */
        size--;
    return size;
}

static rgm_status print_value(rgm_text *out, const rgmi_row_value *v)
{
    if (!v->has)
        return rgm_text_printf(out, "not set");
    return v->text != NULL ? rgm_text_printf(out, "%s", v->text)
                           : rgm_text_printf(out, "%.6g", v->number);
}

/* "model.type gcn, seed 3"; of repetitions the beginning of their names. */
static rgm_status name_group(rgm_text *out, const rgmi_run_groups *g, const rgmi_run_group *group)
{
    const rgmi_run_row *first = g->members[group->first].row;
    const rgmi_grouping *by = &g->choice.by;

    out->size = 0;
    if (by->seeds) {
        size_t size = common_beginning(g, group);

        if (size < LEAST_NAME)
            size = strlen(rgmi_run_row_title(first));
        return rgm_text_printf(out, "%.*s", (int)size, rgmi_run_row_title(first));
    }
    for (int64_t i = 0; i < by->key_count; i++) {
        const char *name = by->keys[i].name;
        rgmi_row_value v = rgmi_value_of(first, &by->keys[i]);

        name += by->keys[i].fixed < 0 ? 7 : 0; /* "config.", "metric." */
        RGM_TRY(rgm_text_printf(out, "%s%s ", i > 0 ? ", " : "", name));
        RGM_TRY(print_value(out, &v));
    }
    return RGM_OK;
}

/* How many groups have a name: where several do, they get those of their first runs. */
static rgm_status count_names(rgm_map **names, const rgmi_run_groups *g)
{
    static char once, twice;
    rgm_text name = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_map_create(names));
    for (int64_t i = 0; g->choice.by.seeds && i < g->count; i++) {
        RGM_GO(name_group(&name, g, &g->groups[i]));
        RGM_GO(rgm_map_set(*names, name.data, rgm_map_has(*names, name.data) ? &twice : &once));
    }
    for (int64_t i = 0; i < rgm_map_count(*names); i++)
        if (rgm_map_value(*names, i) == &once)
            RGM_GO(rgm_map_set(*names, rgm_map_key(*names, i), NULL));
done:
    rgm_text_clear(&name);
    return status;
}

/* ---- printing ------------------------------------------------------------------------------ */

static rgm_status print_moments(rgm_text *json, const rgmi_moments *m)
{
    RGM_TRY(rgm_text_printf(json, "{\"runs\":%" PRId64, m->count));
    RGM_TRY(rgmi_print_named_number(json, "mean", m->mean));
    RGM_TRY(rgmi_print_named_number(json, "deviation", rgmi_moments_deviation(m)));
    RGM_TRY(rgmi_print_named_number(json, "low", m->low));
    RGM_TRY(rgmi_print_named_number(json, "high", m->high));
    return rgm_text_add(json, "}", 1);
}

/* A text that all have, how many there are, or numbers. */
static rgm_status print_column(rgm_text *json, const rgmi_run_groups *g,
                               const rgmi_run_group *group, const rgmi_value_place *place)
{
    rgm_map *texts = NULL;
    rgmi_moments m = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_map_create(&texts));
    for (int64_t i = 0; i < group->count; i++) {
        rgmi_row_value v = rgmi_value_of(g->members[group->first + i].row, place);

        if (v.has && v.numeric && isfinite(v.number))
            rgmi_moments_add(&m, v.number);
        else if (v.has && v.text != NULL)
            RGM_GO(rgm_map_set(texts, v.text, texts));
    }
    if (m.count > 0 && rgm_map_count(texts) == 0)
        RGM_GO(print_moments(json, &m));
    else if (rgm_map_count(texts) == 0)
        RGM_GO(rgm_text_printf(json, "null"));
    else if (rgm_map_count(texts) == 1 && m.count == 0)
        RGM_GO(rgm_json_print_text(json, rgm_map_key(texts, 0)));
    else
        RGM_GO(
            rgm_text_printf(json, "{\"texts\":%" PRId64 "}", rgm_map_count(texts) + (m.count > 0)));
done:
    rgm_map_release(texts);
    return status;
}

static rgm_status print_states(rgm_text *json, const rgmi_run_groups *g,
                               const rgmi_run_group *group)
{
    bool first = true;

    RGM_TRY(rgm_text_printf(json, ",\"states\":{"));
    for (int s = 0; rgm_run_state_names[s] != NULL; s++) {
        int64_t count = 0;

        for (int64_t i = 0; i < group->count; i++) {
            const char *state = g->members[group->first + i].row->state;

            count += state != NULL && strcmp(state, rgm_run_state_names[s]) == 0;
        }
        if (count == 0)
            continue;
        RGM_TRY(rgm_text_printf(json, "%s\"%s\":%" PRId64, first ? "" : ",", rgm_run_state_names[s],
                                count));
        first = false;
    }
    return rgm_text_add(json, "}", 1);
}

/* Of the runs that chose by the same metric as the first that chose. */
static rgm_status print_best(rgm_text *json, const rgmi_run_groups *g, const rgmi_run_group *group)
{
    const char *metric = best_metric_of(g, group);
    rgmi_moments m = {0};

    for (int64_t i = 0; i < group->count; i++) {
        const rgmi_run_row *row = g->members[group->first + i].row;
        const char *mine = row->text[RGMI_TEXT_BEST_METRIC];

        if (mine != NULL && strcmp(mine, metric) == 0 && isfinite(row->best_value))
            rgmi_moments_add(&m, row->best_value);
    }
    RGM_TRY(rgm_text_printf(json, ",\"best\":"));
    if (metric == NULL || m.count == 0)
        return rgm_text_printf(json, "null");
    RGM_TRY(rgm_text_printf(json, "{\"metric\":"));
    RGM_TRY(rgm_json_print_text(json, metric));
    RGM_TRY(rgm_text_printf(json, ",\"value\":"));
    RGM_TRY(print_moments(json, &m));
    return rgm_text_add(json, "}", 1);
}

static rgm_status print_group(rgm_text *json, const rgmi_run_groups *g, const rgmi_run_group *group,
                              const char *name)
{
    double modified = NAN;
    char hex[17];

    rgmi_run_id_print(hex, group->id);
    for (int64_t i = 0; i < group->count; i++)
        modified = fmax(modified, g->members[group->first + i].row->modified);
    RGM_TRY(rgm_text_printf(json, "{\"id\":\"%s\",\"kind\":\"group\",\"runs\":%" PRId64, hex,
                            group->count));
    RGM_TRY(rgmi_print_named_text(json, "name", name));
    RGM_TRY(print_states(json, g, group));
    RGM_TRY(print_best(json, g, group));
    RGM_TRY(rgmi_print_named_number(json, "modified", modified));
    RGM_TRY(rgm_text_printf(json, ",\"values\":{"));
    for (int64_t i = 0; i < g->choice.column_count; i++) {
        RGM_TRY(rgm_text_add(json, ",", i > 0));
        RGM_TRY(rgm_json_print_text(json, g->choice.columns[i].name));
        RGM_TRY(rgm_text_add(json, ":", 1));
        RGM_TRY(print_column(json, g, group, &g->choice.columns[i]));
    }
    return rgm_text_printf(json, "}}");
}

static rgm_status print_groups(rgm_text *json, const rgmi_run_groups *g)
{
    int64_t first = g->choice.query->offset < g->count ? g->choice.query->offset : g->count;
    int64_t last =
        g->choice.query->limit < g->count - first ? first + g->choice.query->limit : g->count;
    rgm_map *names = NULL;
    rgm_text name = {0};
    rgm_status status = RGM_OK;

    RGM_GO(count_names(&names, g));
    RGM_GO(rgm_text_printf(json, ",\"rows\":["));
    for (int64_t i = first; i < last; i++) {
        const char *shown;

        RGM_GO(name_group(&name, g, &g->groups[i]));
        shown = rgm_map_get(names, name.data) != NULL
                    ? rgmi_run_row_title(g->members[g->groups[i].first].row)
                    : name.data;
        RGM_GO(rgm_text_add(json, ",", i > first));
        RGM_GO(print_group(json, g, &g->groups[i], shown));
    }
    RGM_GO(rgm_text_add(json, "]", 1));
done:
    rgm_text_clear(&name);
    rgm_map_release(names);
    return status;
}

rgm_status rgmi_groups_list(rgm_text *json, rgmi_runs *runs, const rgmi_runs_query *query)
{
    rgmi_run_groups g;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_groups_take(&g, runs, query));
    RGM_GO(rgmi_print_table_head(json, query, g.count, &g.held, g.complete));
    RGM_GO(rgm_text_printf(json, ",\"runs\":%" PRId64, g.member_count));
    RGM_GO(print_groups(json, &g));
    RGM_GO(rgm_text_add(json, "}", 1));
done:
    rgmi_groups_clear(&g);
    return status;
}
