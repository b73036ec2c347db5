/* What an open run adds to result.json: its plan, its final metrics, its exports. */
#include <string.h>

#include "run_internal.h"

static rgm_status write_numbers(rgm_json_writer *w, const char *key, const rgm_logs *logs)
{
    if (logs->count == 0)
        return RGM_OK;
    RGM_TRY(rgm_json_open_object(w, key, RGM_JSON_SPACED));
    for (int64_t i = 0; i < logs->count; i++)
        RGM_TRY(rgm_json_write_number(w, logs->items[i].name, logs->items[i].value));
    return rgm_json_close(w);
}

/* By part and, behind them, by set. */
static rgm_status write_final(rgm_json_writer *w, const rgm_open_run *run)
{
    int64_t count = rgm_trainer_eval_sets(NULL, run->trainer);

    RGM_TRY(rgm_json_open_object(w, "final", RGM_JSON_LINES));
    for (int mode = 0; mode < 3; mode++)
        RGM_TRY(write_numbers(w, rgm_mode_name((rgm_mode)mode), &run->metrics[mode]));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(write_numbers(w, rgm_trainer_eval_set_name(run->trainer, i), &run->set_metrics[i]));
    return rgm_json_close(w);
}

/* The plan may count all labels, so it is made once. */
static rgm_status make_plan(rgm_open_run *run)
{
    if (run->plan.size > 0)
        return RGM_OK;
    RGM_TRY(rgm_run_plan(&run->plan, run));
    if (run->task.describe != NULL)
        RGM_TRY(run->task.describe(&run->plan, run->task.state));
    return RGM_OK;
}

/* A line of the plan each, as the command prints them. */
static rgm_status write_plan(rgm_json_writer *w, rgm_open_run *run)
{
    rgm_status status = RGM_OK;
    rgm_text line = {0};

    RGM_GO(make_plan(run));
    RGM_GO(rgm_json_open_list(w, "plan", RGM_JSON_LINES));
    for (const char *at = run->plan.data; at != NULL && *at != '\0';) {
        size_t size = strcspn(at, "\n");

        line.size = 0;
        RGM_GO(rgm_text_add(&line, at, (int64_t)size));
        RGM_GO(rgm_json_write_text(w, NULL, line.size > 0 ? line.data : ""));
        at += size + (at[size] == '\n');
    }
    RGM_GO(rgm_json_close(w));
done:
    rgm_text_clear(&line);
    return status;
}

rgm_status rgmi_run_describe_result(rgm_json_writer *w, void *payload)
{
    rgm_open_run *run = payload;

    RGM_TRY(write_final(w, run));
    RGM_TRY(write_plan(w, run));
    RGM_TRY(rgm_json_open_list(w, "exports", RGM_JSON_LINES));
    for (int64_t i = 0; i < run->export_count; i++)
        RGM_TRY(rgm_json_write_text(w, NULL, run->exports[i]));
    return rgm_json_close(w);
}
