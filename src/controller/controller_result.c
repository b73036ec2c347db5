/*
 * result.json: what a run has come to, for people and programs that look at it. It is written when
 * the run begins, at most once a second while it trains, and at its end. No start reads it, so a
 * file that cannot be written ends nothing.
 */
#include <math.h>

#include "controller_internal.h"

/* By rgmi_ending; readers of run folders compare with them (rgm_run_look). */
static const char *const end_names[] = {"running", "stopped", "finished", "failed"};

int64_t rgmi_weights_step(const rgm_controller *c)
{
    return c->placed_step >= 0 ? c->placed_step : rgm_trainer_global_step(c->trainer);
}

rgm_status rgmi_told_once(bool *told, rgm_status status)
{
    if (status == RGM_OK || status == RGM_ERR_NOMEM)
        return status;
    if (!*told)
        rgm_log_write(RGM_LOG_WARNING, "%s: the run goes on without it", rgm_error_message());
    *told = true;
    rgm_error_reset();
    return RGM_OK;
}

static double milliseconds(double time)
{
    return round(time * 1000) / 1000;
}

static rgm_status print_best(rgm_json_writer *w, const rgm_controller *c)
{
    if (c->best_step < 0)
        return rgm_json_write_text(w, "best", NULL);
    RGM_TRY(rgm_json_open_object(w, "best", RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "metric", c->best_name));
    RGM_TRY(rgm_json_write_number(w, "value", c->best_value));
    RGM_TRY(rgm_json_write_int(w, "step", c->best_step));
    RGM_TRY(rgm_json_write_int(w, "epoch", c->best_epoch));
    return rgm_json_close(w);
}

static rgm_status print(rgm_json_writer *w, const rgm_controller *c)
{
    const rgmi_result *r = &c->result;

    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "state", end_names[r->end]));
    RGM_TRY(rgm_json_write_text(w, "reason", r->reason));
    RGM_TRY(rgm_json_write_int(w, "step", rgm_trainer_global_step(c->trainer)));
    RGM_TRY(rgm_json_write_int(w, "epoch", rgmi_epoch_now(c)));
    RGM_TRY(rgm_json_write_number(w, "seconds", milliseconds(rgmi_run_seconds(c))));
    RGM_TRY(rgm_json_write_number(w, "started", milliseconds(r->started)));
    if (r->end == RGMI_RUNNING)
        RGM_TRY(rgm_json_write_text(w, "ended", NULL));
    else
        RGM_TRY(rgm_json_write_number(w, "ended", milliseconds(rgm_wall_time())));
    RGM_TRY(print_best(w, c));
    if (r->end == RGMI_FINISHED)
        RGM_TRY(rgm_json_write_int(w, "weights_step", rgmi_weights_step(c)));
    if (r->describe != NULL)
        RGM_TRY(r->describe(w, r->payload));
    RGM_TRY(rgm_run_folder_print_warnings(w, c->folder));
    return rgm_json_close(w);
}

static rgm_status save(const rgm_controller *c, bool lasting)
{
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(print(&w, c));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(rgm_path_join(&path, c->run_dir, RGM_RESULT_FILE));
    RGM_GO(lasting ? rgm_file_save_own(path, text.data, text.size)
                   : rgm_file_renew(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_result_save(rgm_controller *c)
{
    if (c->folder == NULL || c->result.started == 0)
        return RGM_OK;
    return rgmi_told_once(&c->result.told, save(c, c->result.end != RGMI_RUNNING));
}

rgm_status rgmi_result_open(rgm_controller *c)
{
    c->result.started = rgm_wall_time();
    return rgmi_result_save(c);
}

/* A run that is closed before its length has neither failed nor finished; of one that is driven in
 * units only its caller knows the length. */
static rgmi_ending end_of(const rgm_controller *c, rgm_status status)
{
    if (status == RGM_OK)
        return rgm_controller_finished(c) && !c->saves_on_request ? RGMI_FINISHED : RGMI_STOPPED;
    return status == RGM_STOPPED ? RGMI_STOPPED : RGMI_FAILED;
}

/* A run that has ended, or a trial that has saved since it was opened, will not want back what a
 * rollback has taken from it. */
static void drop_aside(rgm_controller *c)
{
    if (c->result.end != RGMI_FINISHED && !(c->saves_on_request && c->saved_step > c->first_step))
        return;
    rgm_checkpoint_store_drop_aside(c->store, INT64_MAX);
    if (c->best_store != NULL)
        rgm_checkpoint_store_drop_aside(c->best_store, INT64_MAX);
    if (c->averages_store != NULL)
        rgm_checkpoint_store_drop_aside(c->averages_store, INT64_MAX);
}

rgm_status rgmi_result_end(rgm_controller *c, rgm_status outcome)
{
    rgm_text how = {0};
    rgm_status status = RGM_OK;
    rgm_error error;

    if (c->folder == NULL || c->result.started == 0)
        return outcome;
    rgm_error_save(&error, outcome);
    c->result.end = end_of(c, outcome);
    if (c->result.end == RGMI_FAILED)
        RGM_GO(rgm_strdup(&c->result.reason, error.message));
    if (outcome == RGM_OK)
        drop_aside(c);
    RGM_GO(rgm_text_printf(
        &how, "%s%s%s",
        outcome == RGM_OK && c->result.end == RGMI_STOPPED ? "closed" : end_names[c->result.end],
        c->result.reason != NULL ? ": " : "", c->result.reason != NULL ? c->result.reason : ""));
    rgmi_log_end(c, how.data);
    RGM_GO(rgmi_result_save(c));
done:
    rgm_text_clear(&how);
    c->result.started = 0; /* it is told */
    if (outcome != RGM_OK)
        return rgm_error_restore(&error);
    return status;
}
