/*
 * A run's reports: metrics.jsonl (without times), event files with rates, the progress line. A '/'
 * in the name of a number makes a sub-folder of event files.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "controller_internal.h"

#define DEFAULT_INTERVAL 500 /* steps between scalars, if the length is in epochs */

/* ---- events and messages ------------------------------------------------------------------- */

const char *rgm_event_name(rgm_event_kind kind)
{
    static const char *const names[] = {"initialize", "restore", "loop_begin", "loop_end",
                                        "summary",    "save",    "eval_begin", "eval_end",
                                        "new_best",   "recover", "stop"};

    return names[kind];
}

void rgmi_tell_pass(rgm_controller *c, rgm_event_kind kind, rgm_mode mode, const char *set,
                    const rgm_logs *logs)
{
    rgm_event event = {.kind = kind,
                       .mode = mode,
                       .set = set,
                       .step = kind == RGM_EVENT_SAVE ? c->saved_step
                                                      : rgm_trainer_global_step(c->trainer),
                       .logs = logs};

    rgmi_log_event(c, kind, mode);
    if (c->hooks.event != NULL)
        c->hooks.event(&event, c->hooks.payload);
}

void rgmi_tell(rgm_controller *c, rgm_event_kind kind, rgm_mode mode, const rgm_logs *logs)
{
    rgmi_tell_pass(c, kind, mode, NULL, logs);
}

void rgmi_tell_saved(rgm_controller *c, int64_t step)
{
    c->saved_step = step;
    rgmi_tell(c, RGM_EVENT_SAVE, RGM_TRAIN, NULL);
}

rgm_logger *rgm_controller_logger(const rgm_controller *c)
{
    return c->folder != NULL ? rgm_run_folder_logger(c->folder) : rgm_logger_current();
}

rgm_logger *rgmi_enter(const rgm_controller *c)
{
    return rgm_logger_enter(rgm_controller_logger(c));
}

rgm_status rgmi_leave(rgm_logger *before, rgm_status status)
{
    rgm_logger_enter(before);
    return status;
}

/* ---- numbers ------------------------------------------------------------------------------- */

rgm_status rgmi_log_metrics(rgm_controller *c, const char *split, const rgm_logs *logs)
{
    if (c->metrics_log == NULL || logs->count == 0)
        return RGM_OK;
    return rgm_metrics_log_add(c->metrics_log, split, rgm_trainer_global_step(c->trainer),
                               rgmi_epoch_now(c), logs->items, logs->count);
}

rgm_status rgmi_log_privacy(const rgm_controller *c)
{
    const rgm_privacy *privacy = &c->options.privacy;
    rgm_text text = {0};
    rgm_status status = rgm_trainer_describe_privacy(&text, c->trainer);

    if (status == RGM_OK && text.size > 0) {
        rgm_log_write(RGM_LOG_INFO, "privacy: %s", text.data);
        rgm_log_write(RGM_LOG_INFO, "privacy: metrics of the training data, here and in other "
                                    "files of the run, are not covered by it");
        if (privacy->noise_seed > 0)
            rgm_log_write(RGM_LOG_WARNING,
                          "privacy: trainer.privacy.noise_seed is %lld: the run is not private "
                          "from who knows that number, which its config.yaml has",
                          (long long)privacy->noise_seed);
    }
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_log_layers(rgm_controller *c)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    if (c->told_layers)
        return RGM_OK;
    c->told_layers = true;
    status = rgm_trainer_describe_layers(&text, c->trainer);
    if (status == RGM_OK)
        rgm_log_lines("layers | ", text.data);
    rgm_text_clear(&text);
    return status;
}

/* ---- event files --------------------------------------------------------------------------- */

/*
 * From which step on older event files are void. When a run continues, some work of the
 * checkpoint's own step is done again, since the checkpoint was saved before it: the end of an
 * epoch with that last step, and a validation. Not so the epoch when scalars of the step itself
 * were written before the save, since these are not written again: then a number may appear twice,
 * but none is lost.
 */
static void note_void_steps(rgm_controller *c)
{
    int64_t step = rgm_trainer_global_step(c->trainer), interval = c->options.summary_interval;
    bool epoch_again = c->in_epochs && rgm_trainer_loop_step(c->trainer) > 0;

    if (interval < 0)
        interval = DEFAULT_INTERVAL;
    if (interval > 0 && step % interval == 0)
        epoch_again = false;
    c->void_train = epoch_again ? step : step + 1;
    c->void_validation = c->evaluated_step < step ? step : step + 1;
}

static int64_t first_void(const rgm_controller *c, const char *folder)
{
    return strncmp(folder, "train", 5) == 0         ? c->void_train
           : strncmp(folder, "validation", 10) == 0 ? c->void_validation
                                                    : rgm_trainer_global_step(c->trainer) + 1;
}

/* The event file of a sub-folder of the run, opened at its first use. */
static rgm_status event_file(rgm_event_file **out, rgm_controller *c, const char *path,
                             int64_t size)
{
    rgm_status status = RGM_OK;
    char *name = NULL, *folder = NULL;
    rgmi_event_folder *made;

    for (int64_t i = 0; i < c->event_count; i++)
        if ((int64_t)strlen(c->events[i].path) == size &&
            memcmp(c->events[i].path, path, (size_t)size) == 0) {
            *out = c->events[i].file;
            return RGM_OK;
        }
    RGM_GO(rgm_strndup(&name, path, (size_t)size));
    RGM_GO(rgm_path_join(&folder, c->run_dir, name));
    RGM_GO(RGM_RESERVE(c->events, c->event_capacity, c->event_count + 1));
    made = &c->events[c->event_count];
    *made = (rgmi_event_folder){0};
    RGM_GO(rgm_event_file_create(&made->file, folder, first_void(c, name)));
    made->path = name;
    name = NULL;
    c->event_count++;
    *out = made->file;
done:
    rgm_free(name);
    rgm_free(folder);
    return status;
}

/* "validation" for valid; for a set, followed by its name. */
static void folder_of(char out[160], const char *split)
{
    size_t size = strlen(rgm_mode_name(RGM_VALID));

    if (strncmp(split, rgm_mode_name(RGM_VALID), size) == 0)
        snprintf(out, 160, "validation%s", split + size);
    else
        snprintf(out, 160, "%s", split);
}

static rgm_status write_scalar(rgm_controller *c, const char *split, const char *prefix,
                               const char *name, double value)
{
    char path[416], tag[256], folder[160];
    const char *slash = strrchr(name, '/');
    rgm_event_file *file;

    folder_of(folder, split);
    snprintf(path, sizeof path, "%s%s%.*s", folder, slash != NULL ? "/" : "",
             slash != NULL ? (int)(slash - name) : 0, name);
    snprintf(tag, sizeof tag, "%s%s", prefix, slash != NULL ? slash + 1 : name);
    RGM_TRY(event_file(&file, c, path, (int64_t)strlen(path)));
    return rgm_event_file_scalar(file, tag, rgm_trainer_global_step(c->trainer), value);
}

static rgm_status write_texts(rgm_controller *c, const char *split, const rgm_logs *logs)
{
    rgm_status status = RGM_OK;
    char folder[160];
    rgm_text text = {0};
    rgm_event_file *file;

    folder_of(folder, split);
    for (int64_t i = 0; i < logs->text_count; i++) {
        text.size = 0;
        for (const char *at = logs->texts[i].text; *at != '\0'; at++) /* Markdown's end of a line */
            RGM_GO(rgm_text_add(&text, *at == '\n' ? "  \n" : at, *at == '\n' ? 3 : 1));
        RGM_GO(event_file(&file, c, folder, (int64_t)strlen(folder)));
        RGM_GO(rgm_event_file_text(file, logs->texts[i].name, rgm_trainer_global_step(c->trainer),
                                   text.data));
    }
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status summarize(rgm_controller *c, const char *split, const rgm_logs *logs)
{
    if (c->hooks.summary != NULL)
        return c->hooks.summary(split, rgm_trainer_global_step(c->trainer), logs, c->hooks.payload);
    if (c->folder == NULL)
        return RGM_OK;
    for (int64_t i = 0; i < logs->count; i++)
        RGM_TRY(write_scalar(c, split, c->in_epochs ? "epoch_" : "", logs->items[i].name,
                             logs->items[i].value));
    return write_texts(c, split, logs);
}

rgm_status rgmi_summarize(rgm_controller *c, const char *split, const rgm_logs *logs)
{
    double begin = rgm_trainer_profile_now(c->trainer);
    rgm_status status = summarize(c, split, logs);

    rgm_trainer_profile_beside(c->trainer, "summaries", NULL, begin);
    return status;
}

/* Write the last update's gradients as the optimizer got them: the mean over its batches, before
 * clipping. In private training they are clipped by example and have their noise, so they reveal no
 * more than the weights do. */
static rgm_status write_gradients(rgm_controller *c, rgm_event_file *file)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(c->trainer);
    rgm_status status = RGM_OK;
    rgm_tensor *gradient = NULL;
    char *tag = NULL;

    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++) {
        RGM_GO(rgm_trainer_last_gradient(&gradient, c->trainer, i));
        if (gradient == NULL)
            continue;
        RGM_GO(rgm_strprintf(&tag, "gradients/%s", rgm_parameters_name(parameters, i)));
        RGM_GO(rgm_event_file_histogram(file, tag, rgm_trainer_global_step(c->trainer), gradient));
        rgm_free(tag);
        rgm_tensor_release(gradient);
        gradient = NULL;
        tag = NULL;
    }
done:
    rgm_tensor_release(gradient);
    rgm_free(tag);
    return status;
}

rgm_status rgmi_summarize_weights(rgm_controller *c)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(c->trainer);
    double begin = rgm_trainer_profile_now(c->trainer);
    rgm_event_file *file;

    if (c->folder == NULL || c->hooks.summary != NULL || !c->options.histograms ||
        c->histogram_step == rgm_trainer_global_step(c->trainer))
        return RGM_OK;
    c->histogram_step = rgm_trainer_global_step(c->trainer);
    RGM_TRY(event_file(&file, c, "train", 5));
    RGM_TRY(rgm_parameters_to_host(parameters));
    for (int64_t i = 0; i < rgm_parameters_count(parameters); i++)
        RGM_TRY(rgm_event_file_histogram(file, rgm_parameters_name(parameters, i),
                                         rgm_trainer_global_step(c->trainer),
                                         rgm_parameters_read(parameters, i)));
    RGM_TRY(write_gradients(c, file));
    rgm_trainer_profile_beside(c->trainer, "histograms", NULL, begin);
    return RGM_OK;
}

/* With a length in epochs the default is every 500 steps, as in TF-GNN's runner; with one in steps
 * every loop, whose means say more. */
rgm_status rgmi_summarize_step(rgm_controller *c)
{
    int64_t interval = c->options.summary_interval, step = rgm_trainer_global_step(c->trainer);
    const rgm_optimizer *optimizer = rgm_trainer_optimizer(c->trainer);
    rgm_logs logs = {0};
    rgm_status status = RGM_OK;

    if (interval < 0)
        interval = c->in_epochs ? DEFAULT_INTERVAL : 0;
    if (interval == 0 || step % interval != 0)
        return RGM_OK;
    rgmi_tell(c, RGM_EVENT_SUMMARY, RGM_TRAIN, NULL);
    RGM_GO(rgm_logs_set(&logs, "batch_loss", rgm_trainer_last_loss(c->trainer)));
    if (optimizer != NULL) {
        RGM_GO(rgm_logs_set(&logs, "learning_rate",
                            rgm_optimizer_rate(optimizer, rgm_trainer_updates(c->trainer))));
        RGM_GO(rgm_logs_set(&logs, "gradient_norm", rgm_optimizer_gradient_norm(optimizer)));
    }
    if (c->hooks.summary != NULL)
        RGM_GO(c->hooks.summary("train", step, &logs, c->hooks.payload));
    else if (c->folder != NULL)
        for (int64_t i = 0; i < logs.count; i++)
            RGM_GO(write_scalar(c, "train", "", logs.items[i].name, logs.items[i].value));
    RGM_GO(rgmi_summarize_weights(c));
done:
    rgm_logs_clear(&logs);
    return status;
}

/* ---- hparams ------------------------------------------------------------------------------- */

/* Write the hparams page: the chosen hyperparameters, and the metrics to show with them. */
static rgm_status write_hparams(rgm_controller *c)
{
    rgm_status status = RGM_OK;
    rgm_hparam_metric *metrics = NULL;
    char **tags = NULL;
    bool validates = rgm_trainer_has_data(c->trainer, RGM_VALID);
    rgm_mode mode = validates ? RGM_VALID : RGM_TRAIN;
    int64_t count = rgm_trainer_metric_count(c->trainer, mode);
    const char *slash = strrchr(c->run_dir, '/');

    RGM_GO(RGM_NEW(metrics, count));
    RGM_GO(RGM_NEW(tags, count));
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_strprintf(&tags[i], "%s%s", c->in_epochs ? "epoch_" : "",
                             rgm_trainer_metric_name(c->trainer, mode, i)));
        metrics[i] =
            (rgm_hparam_metric){.tag = tags[i], .group = validates ? "validation" : "train"};
    }
    RGM_GO(rgm_event_file_hparams(c->run_events, slash != NULL ? slash + 1 : c->run_dir, c->hparams,
                                  c->hparam_count, metrics, count));
    RGM_GO(rgm_event_file_flush(c->run_events));
done:
    for (int64_t i = 0; tags != NULL && i < count; i++)
        rgm_free(tags[i]);
    rgm_free(tags);
    rgm_free(metrics);
    return status;
}

/* Open the files that every run has from its start. */
rgm_status rgmi_events_open(rgm_controller *c)
{
    rgm_event_file *file;

    if (c->folder == NULL || c->hooks.summary != NULL || c->event_count > 0)
        return RGM_OK;
    note_void_steps(c);
    if (c->hparam_count > 0 && c->run_events == NULL) {
        RGM_TRY(rgm_event_file_create(&c->run_events, c->run_dir,
                                      rgm_trainer_global_step(c->trainer) + 1));
        RGM_TRY(write_hparams(c));
    }
    RGM_TRY(event_file(&file, c, "train", 5));
    if (rgm_trainer_has_data(c->trainer, RGM_VALID))
        RGM_TRY(event_file(&file, c, "validation", 10));
    return RGM_OK;
}

rgm_status rgmi_events_flush(rgm_controller *c)
{
    for (int64_t i = 0; i < c->event_count; i++)
        RGM_TRY(rgm_event_file_flush(c->events[i].file));
    return RGM_OK;
}

rgm_status rgmi_events_end(rgm_controller *c)
{
    RGM_TRY(rgmi_events_flush(c));
    if (c->run_events == NULL)
        return RGM_OK;
    RGM_TRY(rgm_event_file_session_end(c->run_events, true));
    return rgm_event_file_flush(c->run_events);
}

void rgmi_events_restart(rgm_controller *c)
{
    for (int64_t i = 0; i < c->event_count; i++) {
        rgm_event_file_close(c->events[i].file);
        rgm_free(c->events[i].path);
    }
    c->event_count = 0;
}

void rgmi_events_close(rgm_controller *c)
{
    rgmi_events_restart(c);
    rgm_free(c->events);
    rgm_event_file_close(c->run_events);
}

/* ---- progress ------------------------------------------------------------------------------ */

static int64_t total_units(const rgm_controller *c)
{
    if (!c->in_epochs)
        return c->options.train_steps;
    return c->progress_in_epochs ? c->options.epochs
                                 : rgm_trainer_run_length(c->trainer, &c->options);
}

static int64_t saved_unit(const rgm_controller *c)
{
    int64_t epoch = rgm_trainer_epoch_steps(c->trainer, &c->options);

    if (c->saved_step < 0 || !c->progress_in_epochs || epoch == 0)
        return c->saved_step;
    return c->saved_step / epoch;
}

void rgmi_show_progress(rgm_controller *c, double value)
{
    char metric[sizeof c->best_name];
    rgm_progress_state state = {.loss = rgm_trainer_last_loss(c->trainer), .value = value};
    int64_t steps = rgm_trainer_loop_step(c->trainer);

    if (c->progress == NULL)
        return;
    state.epsilon = rgm_trainer_epsilon(c->trainer);
    if (steps > 0)
        c->items_a_step = rgm_trainer_loop_items(c->trainer) / (double)steps;
    if (!c->progress_in_epochs) {
        state.items = rgm_trainer_task(c->trainer)->items;
        state.items_a_unit = c->items_a_step;
    }
    state.done = c->progress_in_epochs ? c->epochs : rgm_trainer_global_step(c->trainer);
    state.total = total_units(c);
    state.checkpoint = saved_unit(c);
    if (!isnan(value)) {
        memcpy(metric, c->best_name, sizeof metric);
        for (char *at = metric; *at != '\0'; at++)
            if (*at == '.' || *at == '_')
                *at = ' ';
        state.metric = metric;
    }
    rgm_progress_update(c->progress, &state);
}
