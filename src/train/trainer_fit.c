/*
 * The loop: epochs of steps, and between steps what is due (validation, summaries, checkpoints, a look
 * at signals). Everything that decides when something happens is here; how it happens is elsewhere.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

rgm_status rgmi_iterator_open(rgm_trainer *trainer)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;

    /* Endless data go through all epochs with one iterator; else each epoch is a pass of its own. */
    options.seed = trainer->seed;
    options.epoch = trainer->options.steps_per_epoch > 0 ? 0 : (uint64_t)trainer->epoch;
    options.threads = trainer->threads;
    return rgm_iterator_create(&trainer->iterator, trainer->data[RGM_TRAIN], &options);
}

/* ---- what is told -------------------------------------------------------------------------- */

static rgm_status log_metrics(rgm_trainer *trainer, const char *split,
                              const rgm_metric_values *values)
{
    rgm_named_number numbers[1 + RGM_MAX_HEADS * RGM_MAX_METRICS];

    if (trainer->metrics_log == NULL || values->count == 0)
        return RGM_OK;
    for (int64_t i = 0; i < values->count; i++)
        numbers[i] = (rgm_named_number){values->names[i], values->values[i]};
    return rgm_metrics_log_add(trainer->metrics_log, split, trainer->step, trainer->epoch + 1,
                               numbers, values->count);
}

static rgm_status summarize_metrics(rgm_event_file *file, int64_t step,
                                    const rgm_metric_values *values)
{
    char tag[160] = "epoch_";

    if (file == NULL)
        return RGM_OK;
    for (int64_t i = 0; i < values->count; i++) {
        size_t size = strlen(values->names[i]);

        if (size > sizeof tag - 7)
            size = sizeof tag - 7;
        memcpy(tag + 6, values->names[i], size);
        tag[6 + size] = '\0';
        RGM_TRY(rgm_event_file_scalar(file, tag, step, values->values[i]));
    }
    return RGM_OK;
}

static rgm_status summarize_weights(rgm_trainer *trainer)
{
    if (trainer->train_events == NULL || !trainer->options.histograms)
        return RGM_OK;
    for (int64_t i = 0; i < rgm_parameters_count(trainer->parameters); i++)
        RGM_TRY(rgm_event_file_histogram(trainer->train_events,
                                         rgm_parameters_name(trainer->parameters, i), trainer->step,
                                         rgm_parameters_tensor(trainer->parameters, i)));
    return RGM_OK;
}

static rgm_status summarize_step(rgm_trainer *trainer)
{
    if (trainer->train_events == NULL || trainer->options.summarize_every_steps == 0 ||
        trainer->step % trainer->options.summarize_every_steps != 0)
        return RGM_OK;
    RGM_TRY(rgm_event_file_scalar(trainer->train_events, "batch_loss", trainer->step,
                                  trainer->last_loss));
    RGM_TRY(rgm_event_file_scalar(trainer->train_events, "learning_rate", trainer->step,
                                  rgm_optimizer_rate(trainer->optimizer, trainer->step - 1)));
    return summarize_weights(trainer);
}

static void show_progress(rgm_trainer *trainer, double value)
{
    bool epochs = trainer->hooks.progress_in_epochs;
    char metric[96];
    rgm_progress_state state = {.loss = trainer->last_loss, .value = value};

    if (trainer->hooks.progress == NULL)
        return;
    state.done = epochs ? trainer->epoch : trainer->step;
    state.total = epochs ? trainer->options.epochs
                         : trainer->steps_per_epoch * trainer->options.epochs;
    state.checkpoint = trainer->saved_step < 0 ? -1
                       : epochs && trainer->steps_per_epoch > 0
                           ? trainer->saved_step / trainer->steps_per_epoch
                           : trainer->saved_step;
    if (!isnan(value)) {
        memcpy(metric, trainer->best_name, sizeof metric);
        for (char *c = metric; *c != '\0'; c++)
            if (*c == '.' || *c == '_')
                *c = ' ';
        state.metric = metric;
    }
    rgm_progress_update(trainer->hooks.progress, &state);
}

/* ---- validation ---------------------------------------------------------------------------- */

static bool is_better(double value, double than, bool smaller)
{
    return smaller ? value < than : value > than;
}

static rgm_status judge(rgm_trainer *trainer, const rgm_metric_values *valid)
{
    double value = valid->values[trainer->best_metric];
    double stop = valid->values[trainer->stop_metric];
    bool first = trainer->best_step < 0;

    if (first || is_better(stop, trainer->stop_value, trainer->stop_is_smaller)) {
        trainer->stop_value = stop;
        trainer->stale = 0;
    } else {
        trainer->stale++;
    }
    if (!isnan(value) && (first || is_better(value, trainer->best_value, trainer->best_is_smaller)))
        RGM_TRY(rgmi_keep_best(trainer, value));
    if (trainer->options.early_stopping.patience > 0 &&
        trainer->stale >= trainer->options.early_stopping.patience)
        trainer->finished = true;
    return RGM_OK;
}

static rgm_status validate(rgm_trainer *trainer, rgm_metric_values *valid)
{
    RGM_TRY(rgmi_evaluate(trainer, RGM_VALID, trainer->options.validation_steps, valid));
    RGM_TRY(log_metrics(trainer, "valid", valid));
    RGM_TRY(summarize_metrics(trainer->valid_events, trainer->step, valid));
    return judge(trainer, valid);
}

/* Validations inside an epoch are spread evenly over its steps, the last one at its end. */
static bool validation_due(const rgm_trainer *trainer)
{
    int64_t k = trainer->options.validation_per_epoch, n = trainer->options.steps_per_epoch;

    if (k == 0 || trainer->epoch_step == n)
        return false;
    return trainer->epoch_step * k / n > (trainer->epoch_step - 1) * k / n;
}

/* ---- epochs -------------------------------------------------------------------------------- */

static rgm_metric_values keep_values(rgm_trainer *trainer, const rgm_metric_values *values)
{
    rgm_metric_values kept = *values;
    size_t size = (size_t)values->count * sizeof *values->values;
    double *copy = rgm_arena_alloc(trainer->history_memory, size > 0 ? size : 1);

    if (copy == NULL)
        return (rgm_metric_values){0};
    if (size > 0)
        memcpy(copy, values->values, size);
    kept.values = copy;
    return kept;
}

static rgm_status remember_epoch(rgm_trainer *trainer, const rgm_metric_values *train,
                                 const rgm_metric_values *valid)
{
    rgm_epoch_record *record;

    RGM_TRY(RGM_RESERVE(trainer->history, trainer->history_capacity, trainer->history_count + 1));
    record = &trainer->history[trainer->history_count];
    *record = (rgm_epoch_record){.epoch = trainer->epoch + 1,
                                 .step = trainer->step,
                                 .validated = valid->count > 0,
                                 .train = keep_values(trainer, train),
                                 .valid = keep_values(trainer, valid)};
    if (record->train.count != train->count || record->valid.count != valid->count)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the metric history");
    trainer->history_count++;
    if (trainer->hooks.epoch_end != NULL)
        return trainer->hooks.epoch_end(record, trainer->hooks.payload);
    return RGM_OK;
}

static rgm_status end_epoch(rgm_trainer *trainer)
{
    rgm_metric_values train = rgmi_sums_finish(&trainer->train_sums, trainer), valid = {0};
    double seconds = rgm_now() - trainer->epoch_started, value = NAN;

    RGM_TRY(log_metrics(trainer, "train", &train));
    RGM_TRY(summarize_metrics(trainer->train_events, trainer->step, &train));
    if (trainer->train_events != NULL && seconds > 0)
        RGM_TRY(rgm_event_file_scalar(trainer->train_events, "epoch_steps_per_second",
                                      trainer->step, (double)trainer->epoch_step / seconds));
    if (trainer->options.summarize_every_steps == 0)
        RGM_TRY(summarize_weights(trainer));
    if (trainer->data[RGM_VALID] != NULL &&
        (trainer->epoch + 1) % trainer->options.validation_freq == 0) {
        RGM_TRY(validate(trainer, &valid));
        value = valid.values[trainer->best_metric];
    }
    RGM_TRY(remember_epoch(trainer, &train, &valid));
    trainer->epoch++;
    trainer->epoch_step = 0;
    rgmi_sums_reset(&trainer->train_sums);
    if (trainer->options.steps_per_epoch == 0) {
        rgm_iterator_release(trainer->iterator);
        trainer->iterator = NULL;
    }
    show_progress(trainer, value);
    return RGM_OK;
}

/* ---- steps --------------------------------------------------------------------------------- */

static bool checkpoint_due(const rgm_trainer *trainer)
{
    const rgm_trainer_checkpoints *c = &trainer->options.checkpoint;

    if (trainer->store == NULL)
        return false;
    if (c->every_steps > 0 && trainer->step % c->every_steps == 0)
        return true;
    if (c->every_epochs > 0 && trainer->epoch_step == 0 && trainer->epoch % c->every_epochs == 0)
        return true;
    return c->every_seconds > 0 &&
           trainer->step % trainer->options.steps_per_execution == 0 &&
           rgm_now() - trainer->saved_time >= c->every_seconds;
}

static bool asked_to_stop(const rgm_trainer *trainer)
{
    return trainer->hooks.should_stop != NULL &&
           trainer->step % trainer->options.steps_per_execution == 0 &&
           trainer->hooks.should_stop(trainer->hooks.payload);
}

/* The next batch; *ended when the epoch has no more. */
static rgm_status next_batch(rgm_element **batch, bool *ended, rgm_trainer *trainer)
{
    rgm_status status;

    *ended = false;
    *batch = NULL;
    if (trainer->epoch_step == 0)
        trainer->epoch_started = rgm_now();
    if (trainer->options.steps_per_epoch > 0 &&
        trainer->epoch_step == trainer->options.steps_per_epoch) {
        *ended = true;
        return RGM_OK;
    }
    if (trainer->iterator == NULL)
        RGM_TRY(rgmi_iterator_open(trainer));
    status = rgm_iterator_next(batch, trainer->iterator);
    if (status != RGM_END)
        return status;
    *ended = true;
    if (trainer->epoch_step == 0)
        return RGM_FAIL(RGM_ERR_DATA, "the training data are empty");
    return RGM_OK;
}

/* One step, or the end of an epoch, and then what is due. */
static rgm_status advance(rgm_trainer *trainer, bool *stepped)
{
    rgm_status status = RGM_OK;
    rgm_element *batch = NULL;
    rgm_metric_values valid;
    bool ended;

    *stepped = false;
    RGM_GO(next_batch(&batch, &ended, trainer));
    if (ended) {
        RGM_GO(end_epoch(trainer));
    } else {
        RGM_GO(rgmi_train_step(trainer, batch));
        trainer->step++;
        trainer->epoch_step++;
        *stepped = true;
        RGM_GO(summarize_step(trainer));
        if (validation_due(trainer))
            RGM_GO(validate(trainer, &valid));
        if (!trainer->hooks.progress_in_epochs)
            show_progress(trainer, trainer->best_step >= 0 ? trainer->best_value : NAN);
    }
    if (checkpoint_due(trainer))
        RGM_GO(rgmi_state_save(trainer));
done:
    rgm_element_release(batch);
    return status;
}

static bool is_done(const rgm_trainer *trainer)
{
    return trainer->finished || trainer->epoch >= trainer->options.epochs;
}

rgm_status rgm_trainer_train(rgm_trainer *trainer, int64_t steps, int64_t *done)
{
    bool stepped;

    *done = 0;
    RGM_TRY(rgmi_events_open(trainer));
    while (*done < steps && !is_done(trainer)) {
        RGM_TRY(advance(trainer, &stepped));
        *done += stepped;
    }
    return RGM_OK;
}

rgm_status rgm_trainer_fit(rgm_trainer *trainer)
{
    const rgm_trainer_options *o = &trainer->options;
    bool stepped;

    if (!is_done(trainer))
        RGM_TRY(rgmi_events_open(trainer));
    while (!is_done(trainer)) {
        if (asked_to_stop(trainer)) {
            RGM_TRY(rgmi_state_save(trainer));
            return RGM_STOPPED;
        }
        RGM_TRY(advance(trainer, &stepped));
    }
    RGM_TRY(rgmi_state_save(trainer));
    RGM_TRY(rgmi_events_end(trainer));
    if (o->restore_best_weights == 1 || (o->restore_best_weights == 0 && trainer->best_step >= 0))
        RGM_TRY(rgm_trainer_restore_best(trainer));
    return RGM_OK;
}
