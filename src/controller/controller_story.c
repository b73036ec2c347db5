/*
 * What log.txt tells of a run, for people: beginning, epochs, validations, checkpoints, recovery,
 * test, exports, end. Numbers of every epoch are in metrics.jsonl; here the lines of a kind become
 * rarer with their number, so that the log of a long run can be read as well.
 */
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

#define LINES_AT_A_DISTANCE 32 /* then every second, after as many more every fourth, ... */

bool rgmi_is_told(rgm_controller *c, rgmi_line_kind kind)
{
    rgmi_lines *lines = &c->lines[kind];
    bool told = lines->seen++ % ((int64_t)1 << lines->rarer) == 0;

    if (told && ++lines->told == LINES_AT_A_DISTANCE && lines->rarer < 62) {
        lines->told = 0;
        lines->rarer++;
    }
    return told;
}

/* ---- lines --------------------------------------------------------------------------------- */

static rgm_status print_numbers(rgm_text *out, const rgm_logs *logs)
{
    for (int64_t i = 0; i < logs->count; i++)
        RGM_TRY(rgm_text_printf(out, " %s %.6g", logs->items[i].name, logs->items[i].value));
    return RGM_OK;
}

void rgmi_log_line(const rgm_controller *c, const char *what, const rgm_logs *logs)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    if (c->in_epochs)
        status = rgm_text_printf(&text, " epoch: %lld |", (long long)rgmi_epoch_now(c));
    if (status == RGM_OK)
        status = print_numbers(&text, logs);
    if (status == RGM_OK && logs->count > 0)
        rgm_log_write(RGM_LOG_INFO, "%s | step: %6lld |%s", what,
                      (long long)rgm_trainer_global_step(c->trainer), text.data);
    rgm_text_clear(&text);
}

void rgmi_log_epsilon(const rgm_controller *c, const rgm_logs *logs)
{
    if (c->in_epochs && rgm_logs_has(logs, "privacy_epsilon"))
        rgm_log_write(RGM_LOG_INFO, "privacy | step: %6lld | epsilon %.6g delta %g",
                      (long long)rgm_trainer_global_step(c->trainer),
                      rgm_logs_get(logs, "privacy_epsilon"), c->options.privacy.delta);
}

/* One line for each line of a text. */
void rgmi_log_texts(const rgm_controller *c, const char *split, const rgm_logs *logs)
{
    for (int64_t i = 0; i < logs->text_count; i++)
        for (const char *line = logs->texts[i].text, *end; line != NULL; line = end) {
            int size = (int)strcspn(line, "\n");

            end = line[size] == '\n' ? line + size + 1 : NULL;
            rgm_log_write(RGM_LOG_INFO, " eval | step: %6lld | %s %s %.*s",
                          (long long)rgm_trainer_global_step(c->trainer), split,
                          logs->texts[i].name, size, line);
        }
}

/* ---- events -------------------------------------------------------------------------------- */

static void tell_stop(const rgm_controller *c, rgm_mode mode, long long step)
{
    if (mode == RGM_VALID)
        rgm_log_write(
            RGM_LOG_INFO,
            "stop | step: %6lld | early stopping: %s has not improved in %lld validations", step,
            c->stop_name, (long long)c->stale);
    else
        rgm_log_write(RGM_LOG_INFO, "stop | step: %6lld | asked to stop; the state is saved", step);
}

void rgmi_log_event(rgm_controller *c, rgm_event_kind kind, rgm_mode mode)
{
    long long step = rgm_trainer_global_step(c->trainer);

    if (c->folder == NULL)
        return;
    switch (kind) {
    case RGM_EVENT_RESTORE:
        rgm_log_write(RGM_LOG_INFO, "restore | step: %6lld | the state of checkpoint %lld", step,
                      step);
        if (c->finished)
            rgm_log_write(RGM_LOG_INFO,
                          "restore | step: %6lld | early stopping has ended this run: nothing is "
                          "trained",
                          step);
        break;
    case RGM_EVENT_SAVE:
        if (rgmi_is_told(c, RGMI_LINES_SAVES))
            rgm_log_write(RGM_LOG_INFO, "checkpoint | step: %6lld", (long long)c->saved_step);
        break;
    case RGM_EVENT_NEW_BEST:
        if (rgmi_is_told(c, RGMI_LINES_BEST))
            rgm_log_write(RGM_LOG_INFO, "best | step: %6lld | %s %.6g", step, c->best_name,
                          c->best_value);
        break;
    case RGM_EVENT_STOP:
        tell_stop(c, mode, step);
        break;
    default:
        break;
    }
}

void rgmi_log_export(const rgm_controller *c, const char *folder)
{
    if (c->folder != NULL)
        rgm_log_write(RGM_LOG_INFO, "export | step: %6lld | %s",
                      (long long)rgm_trainer_global_step(c->trainer), folder);
}

/* ---- beginning and end --------------------------------------------------------------------- */

/* " to epoch 20"; nothing when only the caller knows. */
static void print_target(char text[48], const rgm_controller *c)
{
    const rgm_trainer_options *o = &c->options;

    text[0] = '\0';
    if (c->saves_on_request)
        return;
    snprintf(text, 48, " to %s %lld", o->train_steps > 0 ? "step" : "epoch",
             (long long)(o->train_steps > 0 ? o->train_steps : o->epochs));
}

void rgmi_log_begin(const rgm_controller *c)
{
    char target[48];

    if (c->folder == NULL)
        return;
    print_target(target, c);
    rgm_log_write(RGM_LOG_INFO,
                  "begin | step: %6lld | %s%s, %lld parameters, seed %lld, %d threads, kernels %s, "
                  "Regimen " RGM_VERSION,
                  (long long)rgm_trainer_global_step(c->trainer),
                  rgm_trainer_task(c->trainer)->name, target,
                  (long long)rgm_parameters_total(rgm_trainer_parameters(c->trainer)),
                  (long long)rgm_trainer_runtime(c->trainer)->seed, rgm_threads(),
                  rgm_kernels_for(rgm_trainer_device(c->trainer), RGM_F32)->isa);
}

void rgmi_log_end(const rgm_controller *c, const char *how)
{
    rgm_text best = {0};
    rgm_status status = RGM_OK;

    if (c->folder == NULL)
        return;
    if (c->best_step >= 0)
        status = rgm_text_printf(&best, ", best %s %.6g at step %lld", c->best_name, c->best_value,
                                 (long long)c->best_step);
    if (status == RGM_OK)
        rgm_log_write(RGM_LOG_INFO, "end | step: %6lld | %s after %.1f s of training%s",
                      (long long)rgm_trainer_global_step(c->trainer), how, rgmi_run_seconds(c),
                      best.size > 0 ? best.data : "");
    rgm_text_clear(&best);
}
