/* Answers about runs put together: a table of groups, and their curves as bands. */
#include "answers_curves.h"
#include "band.h"
#include "index_choose.h"
#include "web_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_GROUPS = 50, /* whose bands are asked for at once         */
    MOST_RUNS = 1000, /* that are read for them, evenly shared out */
    LEAST_RUNS = 20,  /* of a group, at least                      */
    POINTS = 200,
    MOST_POINTS = 1000,
    READING_MS = 200, /* of logs for one answer, unless it says; the next one goes on */
    MOST_READING_MS = 1000
};

rgm_status rgmi_show_groups(rgmi_web_call *call)
{
    const char *conditions[RGM_TARGET_VALUES];
    rgmi_runs_query query = {0};

    RGM_TRY(rgmi_runs_query_read(&query, &call->target, conditions));
    RGM_TRY(rgmi_runs_freshen(call->web->runs));
    return rgmi_groups_list(&call->out->body, call->web->runs, &query);
}

/* ---- bands --------------------------------------------------------------------------------- */

typedef struct chosen_groups {
    const rgmi_run_group *items[MOST_GROUPS];
    int64_t count;
} chosen_groups;

/* Those of groups=HEX,HEX that there are. */
static rgm_status choose(chosen_groups *out, const rgmi_run_groups *all, const char *list)
{
    out->count = 0;
    while (*list != 0) {
        size_t size = strcspn(list, ",");
        char hex[17] = "";
        uint64_t id;

        memcpy(hex, list, size == 16 ? size : 0);
        if (!rgmi_run_id_read(&id, hex))
            return RGM_FAIL(RGM_ERR_ARG, "groups: '%.*s' are not 16 digits",
                            (int)(size < 40 ? size : 40), list);
        if (out->count == MOST_GROUPS)
            return RGM_FAIL(RGM_ERR_ARG, "groups: at most %d at once", MOST_GROUPS);
        out->items[out->count] = rgmi_groups_find(all, id);
        out->count += out->items[out->count] != NULL;
        list += size + (list[size] == ',');
    }
    return RGM_OK;
}

/* A group's runs, or so many of them, evenly spread. */
static rgm_status print_group(rgm_text *json, rgmi_web_call *call, const rgmi_run_groups *all,
                              const rgmi_run_group *group, int64_t most, rgmi_bands_query *query)
{
    int64_t count = group->count < most ? group->count : most;
    rgmi_run_row **rows = NULL;
    char hex[17];
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(rows, count));
    for (int64_t i = 0; i < count; i++)
        rows[i] = all->members[group->first + i * group->count / count].row;
    rgmi_run_id_print(hex, group->id);
    RGM_GO(rgm_text_printf(json, "{\"id\":\"%s\",\"runs\":%" PRId64 ",\"of\":%" PRId64 ",", hex,
                           count, group->count));
    RGM_GO(rgmi_bands_print(json, call->web->bands, call->web->runs->curves, rows, count, query));
    RGM_GO(rgm_text_add(json, "}", 1));
done:
    rgm_free(rows);
    return status;
}

static rgm_status print_bands(rgmi_web_call *call, const rgmi_runs_query *runs,
                              rgmi_bands_query *query)
{
    rgm_text *json = &call->out->body;
    chosen_groups chosen;
    rgmi_run_groups all;
    int64_t most = MOST_RUNS;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_groups_take(&all, call->web->runs, runs));
    RGM_GO(choose(&chosen, &all, rgm_target_value(&call->target, "groups", "")));
    most = chosen.count > 0 ? MOST_RUNS / chosen.count : most;
    most = most > LEAST_RUNS ? most : LEAST_RUNS;
    RGM_GO(rgm_text_printf(json, "{\"groups\":["));
    for (int64_t i = 0; i < chosen.count; i++) {
        RGM_GO(rgm_text_add(json, ",", i > 0));
        RGM_GO(print_group(json, call, &all, chosen.items[i], most, query));
    }
    RGM_GO(rgm_text_printf(json, "]}"));
done:
    rgmi_groups_clear(&all);
    return status;
}

rgm_status rgmi_show_bands(rgmi_web_call *call)
{
    const char *conditions[RGM_TARGET_VALUES];
    rgmi_runs_query runs = {0};
    rgmi_bands_query query = {0};
    rgmi_expressions expressions = {0};
    int64_t within;
    rgm_status status = RGM_OK;

    RGM_TRY(rgmi_runs_query_read(&runs, &call->target, conditions));
    RGM_TRY(rgm_target_int(&query.points, &call->target, "points", POINTS, 4, MOST_POINTS));
    RGM_TRY(rgm_target_int(&query.after, &call->target, "after", -1, -1, INT64_MAX / 2));
    RGM_TRY(rgm_target_int(&query.until, &call->target, "until", INT64_MAX / 2, 0, INT64_MAX / 2));
    RGM_TRY(rgm_target_int(&within, &call->target, "within_ms", READING_MS, 1, MOST_READING_MS));
    RGM_GO(rgmi_expressions_read(&expressions, &call->target, "metric"));
    if (expressions.count == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "metric=valid.loss names a curve, or what to compute of "
                                     "several; it may be there several times"));
    query.expressions = expressions.items;
    query.count = expressions.count;
    RGM_GO(rgmi_runs_freshen(call->web->runs));
    query.end = rgm_now() + 1e-3 * (double)within;
    status = print_bands(call, &runs, &query);
done:
    rgmi_expressions_clear(&expressions);
    return status;
}
