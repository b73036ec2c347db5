/*
 * Writes a run's profile to its folder and its log: when the requested steps are recorded, and at
 * the end of the run, successful or not.
 */
#include "controller_internal.h"

static rgm_status write_trace(const rgm_controller *c)
{
    char *path = NULL;
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_trainer_profile_trace(&text, c->trainer));
    RGM_GO(rgm_path_join(&path, c->run_dir, RGM_PROFILE_FILE));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

static rgm_status log_table(rgm_controller *c)
{
    rgm_text text = {0};
    rgm_status status = rgm_trainer_profile_table(&text, c->trainer);

    if (status == RGM_OK)
        rgm_log_lines("profile | ", text.data);
    rgm_text_clear(&text);
    return status;
}

static rgm_status write_profile(rgm_controller *c)
{
    rgm_profile_report report;

    if (!rgm_trainer_profile_is_new(c->trainer))
        return RGM_OK;
    if (c->folder != NULL)
        RGM_TRY(write_trace(c));
    rgm_trainer_profile_written(c->trainer);
    if (c->told_profile)
        return RGM_OK;
    c->told_profile = true;
    (void)rgm_trainer_profile(&report, c->trainer);
    if (report.steps == 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "trainer.profile: this start ended within trainer.profile.skip_steps (%lld): "
                      "no step was recorded",
                      (long long)c->options.profile.skip_steps);
    if (report.dropped > 0)
        rgm_log_write(RGM_LOG_WARNING,
                      "trainer.profile: %lld of %lld events are not in " RGM_PROFILE_FILE
                      ": trainer.profile.max_events is %lld",
                      (long long)report.dropped, (long long)(report.dropped + report.events),
                      (long long)c->options.profile.max_events);
    return log_table(c);
}

rgm_status rgm_controller_write_profile(rgm_controller *c)
{
    rgm_logger *before = rgmi_enter(c);

    return rgmi_leave(before, write_profile(c));
}

rgm_status rgmi_profile_finish(rgm_controller *c, rgm_status status)
{
    rgm_error error;

    if (status == RGM_OK)
        return write_profile(c);
    rgm_error_save(&error, status);
    if (write_profile(c) != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "trainer.profile: %s", rgm_error_message());
    return rgm_error_restore(&error);
}
