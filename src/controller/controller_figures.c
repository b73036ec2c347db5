/*
 * Files about a run for people who look at it, beside its measurements: system.jsonl, tables.jsonl,
 * model.json. The run does not need them, so none of them ends it: if one cannot be written, that
 * is reported once and training continues.
 */
#include <math.h>
#include <string.h>

#include "controller_internal.h"

/* ---- system.jsonl -------------------------------------------------------------------------- */

static rgm_status write_figures(rgm_controller *c)
{
    rgmi_work work = rgmi_work_so_far(c), *told = &c->told_work;
    double seconds = work.seconds - told->seconds;
    bool trained = work.steps > told->steps && seconds > 0;
    rgm_system_figures figures = {
        .step = rgm_trainer_global_step(c->trainer),
        .epoch = rgmi_epoch_now(c),
        .seconds = rgmi_seconds(c) - c->seconds_before,
        .steps_per_second = trained ? (work.steps - told->steps) / seconds : NAN,
        .items = rgm_trainer_task(c->trainer)->items,
        .items_per_second = trained ? (work.items - told->items) / seconds : NAN,
        .threads = rgm_threads(),
    };

    *told = work;
    c->figures_time = rgm_now();
    RGM_TRY(rgmi_told_once(&c->told_system, rgm_system_log_add(c->system_log, &figures)));
    return rgmi_result_save(c);
}

rgm_status rgmi_log_figures(rgm_controller *c, bool at_end)
{
    bool first = c->figures_time == 0;

    if (c->system_log == NULL)
        return RGM_OK;
    if (at_end ? rgmi_work_so_far(c).steps <= c->told_work.steps
               : !first && rgm_now() - c->figures_time < 1)
        return RGM_OK;
    return write_figures(c);
}

/* ---- tables.jsonl -------------------------------------------------------------------------- */

/* The first step whose validation is still to come; for a run without a checkpoint the first of
 * all. */
static int64_t first_void(const rgm_controller *c)
{
    int64_t step = rgm_trainer_global_step(c->trainer);

    if (c->saved_step < 0)
        return 0;
    return c->evaluated_step < step ? step : step + 1;
}

static rgm_status add_confusions(rgm_controller *c, const char *split, rgm_mode mode, int64_t set)
{
    int64_t step = rgm_trainer_global_step(c->trainer);

    for (int64_t h = 0; h < rgm_trainer_model(c->trainer)->head_count; h++) {
        const rgm_head *head = &rgm_trainer_model(c->trainer)->heads[h];
        rgm_confusion table = {.label = head->name,
                               .count = head->confusion,
                               .counts = rgm_trainer_confusion(c->trainer, mode, set, h)};

        if (head->class_names.count == head->confusion)
            table.classes = head->class_names.items;
        if (table.counts != NULL)
            RGM_TRY(rgm_tables_log_confusion(c->tables_log, split, step, &table));
    }
    return RGM_OK;
}

static rgm_status add_tables(rgm_controller *c, const char *split, rgm_mode mode, int64_t set,
                             const rgm_logs *logs)
{
    RGM_TRY(add_confusions(c, split, mode, set));
    return logs->sample_count > 0
               ? rgm_tables_log_samples(c->tables_log, split, rgm_trainer_global_step(c->trainer),
                                        logs->samples, logs->sample_count)
               : RGM_OK;
}

rgm_status rgmi_log_tables(rgm_controller *c, const char *split, rgm_mode mode, int64_t set,
                           const rgm_logs *logs)
{
    if (c->tables_log != NULL)
        RGM_TRY(rgmi_told_once(&c->told_tables, add_tables(c, split, mode, set, logs)));
    return rgmi_log_curves(c, split, mode, set);
}

rgm_status rgmi_tables_flush(rgm_controller *c)
{
    if (c->tables_log != NULL)
        RGM_TRY(rgmi_told_once(&c->told_tables, rgm_tables_log_flush(c->tables_log)));
    return rgmi_curves_flush(c);
}

rgm_status rgmi_tables_cut(rgm_controller *c, bool all)
{
    int64_t step = all ? 0 : first_void(c);

    if (c->tables_log != NULL)
        RGM_TRY(rgmi_told_once(&c->told_tables, rgm_tables_log_cut(c->tables_log, step)));
    return rgmi_curves_cut(c, step);
}

rgm_status rgmi_tables_cut_tests(rgm_controller *c)
{
    if (c->tables_log != NULL)
        RGM_TRY(rgmi_told_once(&c->told_tables,
                               rgm_tables_log_cut_split(c->tables_log, rgm_mode_name(RGM_TEST),
                                                        rgm_trainer_global_step(c->trainer))));
    return rgmi_curves_cut_tests(c);
}

/* ---- model.json ---------------------------------------------------------------------------- */

static rgm_status write_model(rgm_controller *c, const char *batch)
{
    rgm_text text = {0};
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_trainer_describe_model(&text, c->trainer, batch));
    RGM_GO(rgm_path_join(&path, c->run_dir, "model.json"));
    if (batch != NULL || !rgm_path_exists(path)) /* an existing one with operations is better */
        RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return rgmi_told_once(&c->told_model, status);
}

static void describe_batches(rgm_controller *c, bool on)
{
    if (c->describes != on)
        rgm_trainer_describe_batches(c->trainer, on ? &c->batch : NULL);
    c->describes = on;
}

/* The first run of a graph does work that later runs reuse, so the second run is used if there is
 * one. */
rgm_status rgmi_log_model(rgm_controller *c, bool at_end)
{
    int64_t steps = rgm_trainer_global_step(c->trainer) - c->first_step;

    if (!c->describes || steps < (at_end ? 1 : 2))
        return RGM_OK;
    describe_batches(c, false);
    return c->batch.size > 0 ? write_model(c, c->batch.data) : RGM_OK;
}

/* A task's own steps may run the model any number of times, so the cost of one run is not
 * theirs. */
static rgm_status open_model(rgm_controller *c)
{
    const rgm_task *task = rgm_trainer_task(c->trainer);

    c->first_step = rgm_trainer_global_step(c->trainer);
    if (task->build_model == NULL)
        return RGM_OK;
    if (rgm_trainer_executor(c->trainer, RGM_TRAIN) != NULL && task->train_step == NULL)
        describe_batches(c, true);
    return write_model(c, NULL);
}

/* ---- open and close ------------------------------------------------------------------------ */

rgm_status rgmi_figures_open(rgm_controller *c)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    c->seconds_before = rgmi_seconds(c);
    RGM_GO(rgm_path_join(&path, c->run_dir, "system.jsonl"));
    RGM_GO(rgmi_told_once(&c->told_system, rgm_system_log_open(&c->system_log, path)));
    rgm_free(path);
    path = NULL;
    RGM_GO(rgm_path_join(&path, c->run_dir, "tables.jsonl"));
    RGM_GO(
        rgmi_told_once(&c->told_tables, rgm_tables_log_open(&c->tables_log, path, first_void(c))));
    RGM_GO(rgmi_curves_open(c, first_void(c)));
    if (c->was_tested) /* as of metrics.jsonl, which is cut back to the checkpoint */
        RGM_GO(rgmi_tables_cut_tests(c));
    RGM_GO(open_model(c));
    RGM_GO(rgmi_result_open(c));
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_logs_flush(rgm_controller *c)
{
    int64_t offset;

    if (c->metrics_log == NULL)
        return RGM_OK;
    RGM_TRY(rgm_metrics_log_commit(&offset, c->metrics_log));
    RGM_TRY(rgmi_tables_flush(c));
    return rgmi_events_flush(c);
}

void rgmi_figures_close(rgm_controller *c)
{
    rgm_logger *before = rgmi_enter(c);
    rgm_error error;

    /* The caller may be returning an error: keep it the last one. */
    rgm_error_save(&error, RGM_ERR_IO);
    (void)rgmi_log_figures(c, true);
    (void)rgmi_curves_flush(c);
    (void)rgmi_result_end(c, RGM_OK);
    rgm_logger_enter(before);
    rgm_error_reset();
    if (error.message[0] != '\0')
        (void)rgm_error_restore(&error);
    describe_batches(c, false);
    rgm_text_clear(&c->batch);
    rgm_system_log_close(c->system_log);
    rgm_tables_log_close(c->tables_log);
    rgmi_curves_close(c);
}
