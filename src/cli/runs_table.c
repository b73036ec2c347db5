/* Runs as a table for people. */
#include "runs.h"
#include "table.h"

/* Before the metrics. */
enum { RUN, STATE, EPOCH, STEP, BEST, VALUE, AT, METRICS };

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
    RGM_TRY(table_set_time(t, behind, look->modified));
    return table_set(t, behind + 1, look->description);
}

static rgm_status add_head(table *t, const text_list *metrics)
{
    static const char *const first[] = {"RUN", "STATE", "EPOCH", "STEP", "BEST", "VALUE", "AT"};

    for (int64_t i = 0; i < METRICS; i++)
        RGM_TRY(table_add_column(t, first[i]));
    for (int64_t i = 0; i < metrics->count; i++)
        RGM_TRY(table_add_column(t, metrics->items[i]));
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
