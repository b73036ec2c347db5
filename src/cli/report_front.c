/* The front of a search for several metrics: of its file the metrics, of its master the trials. */
#include <math.h>
#include <string.h>

#include <regimen/search.h>

#include "report.h"

/* What is aimed at; none where it is one metric. */
static rgm_status read_aims(rgm_search_report *r, const char *config)
{
    rgm_objective objectives[RGM_MAX_OBJECTIVES];
    rgm_status status = RGM_OK;
    rgm_arena *arena = NULL;
    rgm_yaml *yaml = NULL;
    int64_t count, aims = 0;

    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), "config"));
    RGM_GO(rgm_objectives_read(objectives, &count, rgm_yaml_find(rgm_yaml_root(yaml), "searcher"),
                               arena));
    while (aims < count && !objectives[aims].is_bound)
        aims++;
    for (int64_t k = 0; k < aims && aims > 1 && k < RGM_REPORT_OBJECTIVES; k++) {
        const char *name = objectives[k].metric;

        r->objectives[k].smaller_is_better = objectives[k].smaller_is_better;
        r->objective_count = k + 1;
        RGM_GO(rgm_strprintf(&r->objectives[k].name, "%s%s",
                             strchr(name, '.') != NULL ? "" : "valid.", name));
    }
done:
    rgm_yaml_release(yaml);
    rgm_arena_release(arena);
    return status;
}

/* Its trial's newest, as they come in order. */
static rgm_status take_validation(rgm_search_report *r, const json_t *row)
{
    int64_t number = int_of(row, "number"), at = r->trial_count - 1;
    rgm_report_trial *trial = NULL;

    while (at >= 0 && r->trials[at].number != number) /* it is one of the last */
        at--;
    if (at < 0)
        RGM_TRY(rgm_report_add_trial(&trial, r, number));
    else
        trial = &r->trials[at];
    trial->latest[0] = number_of(row, "metric"); /* none where a bound is broken */
    for (int64_t k = 1; k < r->objective_count; k++)
        trial->latest[k] = report_metric(json_object_get(row, "metrics"), r->objectives[k].name);
    return RGM_OK;
}

static rgm_status fill(table *t, const rgm_search_report *r)
{
    rgm_status status = RGM_OK;
    int64_t *front = NULL, count;

    RGM_GO(rgm_search_report_front(&front, &count, r));
    RGM_GO(table_add_column(t, "FRONT: TRIAL"));
    for (int64_t k = 0; k < r->objective_count; k++)
        RGM_GO(table_add_column(t, r->objectives[k].name));
    for (int64_t i = 0; i < count; i++) {
        const rgm_report_trial *trial = &r->trials[front[i]];

        RGM_GO(table_add_row(t));
        table_set_count(t, 0, trial->number);
        for (int64_t k = 0; k < r->objective_count; k++)
            table_set_number(t, k + 1, trial->latest[k]);
    }
done:
    rgm_free(front);
    return status;
}

rgm_status front_table(table *t, const asked_master *whom, int64_t experiment)
{
    rgm_status status = RGM_OK;
    rgm_search_report r = {.seconds = NAN};
    json_t *config = NULL, *rows = NULL;

    RGM_GO(
        ask(&config, whom, "GET", NULL, "/api/v1/experiments/%lld/config", (long long)experiment));
    RGM_GO(read_aims(&r, text_of(config, "config")));
    if (r.objective_count == 0)
        goto done;
    RGM_GO(ask_all(&rows, whom, "validations", "/api/v1/experiments/%lld/validations",
                   (long long)experiment));
    for (size_t i = 0; i < json_array_size(rows); i++)
        RGM_GO(take_validation(&r, json_array_get(rows, i)));
    RGM_GO(fill(t, &r));
done:
    rgm_search_report_clear(&r);
    json_decref(config);
    json_decref(rows);
    return status;
}
