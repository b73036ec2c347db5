/* Runs as a table for people. */
#include <math.h>
#include <stdio.h>

#include "verb_runs.h"
#include "table.h"

/* Before the metrics. */
enum { RUN, STATE, EPOCH, STEP, BEST, VALUE, AT, METRICS };

/* Of training: "41.3s", "12m05s", "3h20m". */
static rgm_status set_duration(table *t, int64_t column, double seconds)
{
    int64_t s = seconds < 1e15 ? (int64_t)seconds : 0;
    char text[48];

    if (!(seconds >= 0))
        return RGM_OK;
    if (s < 60)
        snprintf(text, sizeof text, "%.1fs", seconds);
    else if (s < 3600)
        snprintf(text, sizeof text, "%lldm%02llds", (long long)s / 60, (long long)s % 60);
    else
        snprintf(text, sizeof text, "%lldh%02lldm", (long long)s / 3600, (long long)s / 60 % 60);
    return table_set(t, column, text);
}

static rgm_status add_run(table *t, const listed_run *run, const text_list *metrics)
{
    const rgm_run_look *look = &run->look;
    int64_t behind = METRICS + metrics->count;

    RGM_TRY(table_add_row(t));
    RGM_TRY(table_set(t, RUN, run->name));
    RGM_TRY(table_set(t, STATE, rgm_run_state_names[look->state]));
    table_set_done(t, EPOCH, look->epoch, look->epochs);
    table_set_done(t, STEP, look->step, look->steps);
    RGM_TRY(table_set(t, BEST, look->best_metric));
    table_set_number(t, VALUE, look->best_value);
    table_set_count(t, AT, look->best_step);
    for (int64_t i = 0; i < metrics->count; i++)
        table_set_number(t, METRICS + i, rgm_run_look_last(look, metrics->items[i]));
    if (look->warnings > 0)
        table_set_count(t, behind, look->warnings);
    RGM_TRY(set_duration(t, behind + 1, look->seconds));
    RGM_TRY(table_set_time(t, behind + 2, look->modified));
    return table_set(t, behind + 3, look->description);
}

static rgm_status add_head(table *t, const text_list *metrics)
{
    static const char *const first[] = {"RUN", "STATE", "EPOCH", "STEP", "BEST", "VALUE", "AT"};

    for (int64_t i = 0; i < METRICS; i++)
        RGM_TRY(table_add_column(t, first[i]));
    for (int64_t i = 0; i < metrics->count; i++)
        RGM_TRY(table_add_column(t, metrics->items[i]));
    RGM_TRY(table_add_column(t, "WARNINGS"));
    RGM_TRY(table_add_column(t, "TIME"));
    RGM_TRY(table_add_column(t, "MODIFIED (UTC)"));
    return table_add_column(t, "DESCRIPTION");
}

rgm_status runs_table(rgm_text *out, const run_list *runs, const text_list *metrics, int64_t width)
{
    rgm_status status = RGM_OK;
    table t = {0};

    RGM_GO(add_head(&t, metrics));
    for (int64_t i = 0; i < runs->count; i++)
        RGM_GO(add_run(&t, &runs->items[i], metrics));
    RGM_GO(table_print(out, &t, width));
done:
    table_clear(&t);
    return status;
}

/* ---- folders of several runs ---------------------------------------------------------------- */

/* NaN: null, or none. */
static double number_in(const json_t *figure, const char *key)
{
    const json_t *number = json_object_get(figure, key);

    return json_is_number(number) ? json_number_value(number) : NAN;
}

static rgm_status add_figures(table *t, const json_t *series)
{
    const char *name;
    json_t *figure;

    json_object_foreach(json_object_get(series, "metrics"), name, figure)
    {
        RGM_TRY(table_add_row(t));
        RGM_TRY(table_set(t, 0, name));
        table_set_number(t, 1, number_in(figure, "mean"));
        table_set_number(t, 2, number_in(figure, "deviation"));
        table_set_number(t, 3, number_in(figure, "least"));
        table_set_number(t, 4, number_in(figure, "largest"));
        table_set_count(t, 5, json_integer_value(json_object_get(figure, "count")));
    }
    return RGM_OK;
}

rgm_status series_table(rgm_text *out, const json_t *series, int64_t width)
{
    rgm_status status = RGM_OK;
    static const char *const head[] = {"METRIC", "MEAN", "DEVIATION", "LEAST", "LARGEST", "RUNS"};
    table t = {0};

    RGM_GO(rgm_text_printf(out, "\n%-8s %s\n", "runs",
                           json_string_value(json_object_get(series, "run_dir"))));
    for (size_t i = 0; i < sizeof head / sizeof *head; i++)
        RGM_GO(table_add_column(&t, head[i]));
    RGM_GO(add_figures(&t, series));
    RGM_GO(table_print(out, &t, width));
done:
    table_clear(&t);
    return status;
}
