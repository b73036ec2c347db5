/*
 * The trainer as an object: options, creation from a task, what can be asked of it. The step is in
 * trainer_step.c, the loop in trainer_fit.c, the run folder in trainer_state.c.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

/* ---- options ------------------------------------------------------------------------------- */

#define BEST(member)     offsetof(rgm_trainer_best, member)
#define SAVE(member)     offsetof(rgm_trainer_checkpoints, member)
#define STOP(member)     offsetof(rgm_trainer_stopping, member)
#define OPTION(member)   offsetof(rgm_trainer_options, member)
#define MOST             1e15

static const char *const modes[] = {"auto", "min", "max", NULL};
static const char *const restores[] = {"auto", "true", "false", NULL};

static const rgm_field best_fields[] = {
    {"metric", RGM_FIELD_TEXT, BEST(metric), 0, 0, NULL, NULL, "e.g. valid.accuracy"},
    {"mode", RGM_FIELD_CHOICE, BEST(mode), 0, 0, modes, NULL, "whether smaller or larger is better"},
    {0}};
static const rgm_field checkpoint_fields[] = {
    {"every_steps", RGM_FIELD_INT, SAVE(every_steps), 0, MOST, NULL, NULL, "steps; 0: not by steps"},
    {"every_epochs", RGM_FIELD_INT, SAVE(every_epochs), 0, MOST, NULL, NULL,
     "epochs; 0: not by epochs"},
    {"every_seconds", RGM_FIELD_FLOAT, SAVE(every_seconds), 0, MOST, NULL, NULL,
     "seconds of work that a crash may lose; 0: not by time"},
    {"keep", RGM_FIELD_INT, SAVE(keep), 1, 1e6, NULL, NULL, "latest checkpoints kept"},
    {"best", RGM_FIELD_GROUP, SAVE(best), 0, 0, NULL, best_fields, "how the best weights are chosen"},
    {0}};
static const rgm_field stopping_fields[] = {
    {"metric", RGM_FIELD_TEXT, STOP(metric), 0, 0, NULL, NULL, "default: the best metric"},
    {"patience", RGM_FIELD_INT, STOP(patience), 0, MOST, NULL, NULL,
     "validations without improvement; 0: never stop early"},
    {0}};
const rgm_field rgm_trainer_fields[] = {
    {"epochs", RGM_FIELD_INT, OPTION(epochs), 1, MOST, NULL, NULL, "epochs to train"},
    {"steps_per_epoch", RGM_FIELD_INT, OPTION(steps_per_epoch), 0, MOST, NULL, NULL,
     "0: one pass over the data"},
    {"validation_steps", RGM_FIELD_INT, OPTION(validation_steps), 0, MOST, NULL, NULL,
     "0: the whole validation set"},
    {"validation_freq", RGM_FIELD_INT, OPTION(validation_freq), 1, MOST, NULL, NULL,
     "validate each k-th epoch"},
    {"validation_per_epoch", RGM_FIELD_INT, OPTION(validation_per_epoch), 0, MOST, NULL, NULL,
     "validations inside an epoch; needs steps_per_epoch"},
    {"steps_per_execution", RGM_FIELD_INT, OPTION(steps_per_execution), 1, MOST, NULL, NULL,
     "steps between looks at signals and clock"},
    {"summarize_every_steps", RGM_FIELD_INT, OPTION(summarize_every_steps), 0, MOST, NULL, NULL,
     "TensorBoard scalars; 0: each epoch only"},
    {"histograms", RGM_FIELD_BOOL, OPTION(histograms), 0, 0, NULL, NULL,
     "weight histograms with each summary"},
    {"restore_best_weights", RGM_FIELD_CHOICE, OPTION(restore_best_weights), 0, 0, restores, NULL,
     "auto: iff there are validation data"},
    {"run_eagerly", RGM_FIELD_BOOL, OPTION(run_eagerly), 0, 0, NULL, NULL,
     "op by op; stops at the first NaN"},
    {"checkpoint", RGM_FIELD_GROUP, OPTION(checkpoint), 0, 0, NULL, checkpoint_fields,
     "when to save and what to keep"},
    {"early_stopping", RGM_FIELD_GROUP, OPTION(early_stopping), 0, 0, NULL, stopping_fields,
     "when to stop before the last epoch"},
    {0}};

void rgm_trainer_defaults(rgm_trainer_options *options)
{
    *options = (rgm_trainer_options){
        .epochs = 1,
        .validation_freq = 1,
        .steps_per_execution = 1,
        .summarize_every_steps = 500,
        .checkpoint = {.every_seconds = 300, .keep = 2},
    };
}

static rgm_status check_options(const rgm_trainer *trainer)
{
    const rgm_trainer_options *o = &trainer->options;
    bool validates = trainer->data[RGM_VALID] != NULL;

    if (o->epochs < 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.epochs is %lld, at least 1 is needed",
                        (long long)o->epochs);
    if (o->validation_per_epoch > 0 && o->steps_per_epoch == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.validation_per_epoch is %lld, which needs trainer.steps_per_epoch",
                        (long long)o->validation_per_epoch);
    if (o->validation_per_epoch > 0 && o->validation_freq > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.validation_per_epoch (%lld) and trainer.validation_freq (%lld) "
                        "exclude each other",
                        (long long)o->validation_per_epoch, (long long)o->validation_freq);
    if (o->validation_per_epoch > o->steps_per_epoch)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.validation_per_epoch (%lld) is more than the %lld steps of an epoch",
                        (long long)o->validation_per_epoch, (long long)o->steps_per_epoch);
    if (!validates && (o->validation_per_epoch > 0 || o->validation_steps > 0))
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.%s is set but there are no validation data",
                        o->validation_per_epoch > 0 ? "validation_per_epoch" : "validation_steps");
    if (!validates && o->restore_best_weights == 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.restore_best_weights is true but there are no "
                                        "validation data to choose them by");
    if (!validates && o->early_stopping.patience > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.early_stopping is set but there are no validation data");
    return RGM_OK;
}

/* "valid.accuracy" to an index among the metrics. Only validation may choose. */
static rgm_status find_metric(int64_t *index, const rgm_trainer *trainer, const char *key,
                              const char *name)
{
    rgm_text names = {0};
    rgm_status status;

    if (strncmp(name, "valid.", 6) == 0) {
        *index = rgmi_metric_index(trainer, name + 6);
        if (*index >= 0)
            return RGM_OK;
    }
    for (int64_t i = 0; i < trainer->metric_count; i++)
        RGM_TRY(rgm_text_printf(&names, " valid.%s", trainer->metric_names[i]));
    status = RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' is not a validation metric of this task; there are:%s",
                      key, name, names.data);
    rgm_text_clear(&names);
    return status;
}

static rgm_status choose_best(rgm_trainer *trainer)
{
    const rgm_trainer_best *best = &trainer->options.checkpoint.best;
    const char *name = best->metric != NULL ? best->metric : "valid.loss";
    const char *stop = trainer->options.early_stopping.metric;

    trainer->best_metric = trainer->stop_metric = -1;
    if (trainer->data[RGM_VALID] == NULL && best->metric == NULL)
        return RGM_OK;
    RGM_TRY(find_metric(&trainer->best_metric, trainer, "trainer.checkpoint.best.metric", name));
    if (strlen(name) >= sizeof trainer->best_name)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.checkpoint.best.metric is too long");
    memcpy(trainer->best_name, name, strlen(name) + 1);
    trainer->best_is_smaller = best->mode == 1 ||
                               (best->mode == 0 &&
                                rgmi_metric_smaller_is_better(trainer, trainer->best_metric));
    trainer->stop_metric = trainer->best_metric;
    trainer->stop_is_smaller = trainer->best_is_smaller;
    if (stop != NULL) {
        RGM_TRY(find_metric(&trainer->stop_metric, trainer, "trainer.early_stopping.metric", stop));
        trainer->stop_is_smaller = rgmi_metric_smaller_is_better(trainer, trainer->stop_metric);
    }
    return RGM_OK;
}

/* ---- creation ------------------------------------------------------------------------------ */

static rgm_status open_data(rgm_trainer *trainer)
{
    int64_t count;

    for (int mode = 0; mode < 3; mode++)
        RGM_TRY(trainer->task.build_inputs(&trainer->data[mode], trainer->task.state,
                                           (rgm_mode)mode,
                                           mode == RGM_TRAIN &&
                                               trainer->options.steps_per_epoch > 0));
    if (trainer->data[RGM_TRAIN] == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task '%s' has no training data", trainer->task.name);
    trainer->steps_per_epoch = trainer->options.steps_per_epoch;
    if (trainer->steps_per_epoch == 0) {
        count = rgm_dataset_count(trainer->data[RGM_TRAIN]);
        if (count == INT64_MAX)
            return RGM_FAIL(RGM_ERR_CONFIG, "the training data never end: trainer.steps_per_epoch "
                                            "must say how long an epoch is");
        trainer->steps_per_epoch = count > 0 ? count : 0;
    }
    return RGM_OK;
}

static rgm_status open_model(rgm_trainer *trainer)
{
    RGM_TRY(rgm_cgraph_create(&trainer->graph));
    RGM_TRY(rgm_scope_create(&trainer->scope, trainer->graph, RGM_F32));
    RGM_TRY(trainer->task.build_model(&trainer->model, trainer->scope, trainer->task.state));
    RGM_TRY(rgm_cgraph_status(trainer->graph));
    RGM_TRY(rgmi_metrics_open(trainer));
    return rgm_parameters_create(&trainer->parameters, trainer->graph, trainer->seed);
}

rgm_status rgm_trainer_create(rgm_trainer **out, const rgm_trainer_setup *setup)
{
    rgm_status status = RGM_OK;
    rgm_trainer *trainer = NULL;
    rgm_optimizer_options optimizer = *setup->optimizer;

    *out = NULL;
    RGM_GO(RGM_NEW(trainer, 1));
    trainer->task = *setup->task;
    trainer->options = *setup->options;
    trainer->hooks = setup->hooks;
    trainer->seed = setup->seed;
    trainer->threads = setup->threads;
    trainer->hparams = setup->hparams;
    trainer->hparam_count = setup->hparam_count;
    trainer->best_step = trainer->saved_step = -1;
    trainer->last_loss = NAN;
    RGM_GO(rgm_arena_create(&trainer->history_memory));
    RGM_GO(open_data(trainer));
    RGM_GO(check_options(trainer));
    RGM_GO(open_model(trainer));
    RGM_GO(choose_best(trainer));
    RGM_GO(rgm_optimizer_options_resolve(&optimizer,
                                         trainer->steps_per_epoch * trainer->options.epochs));
    RGM_GO(rgm_optimizer_create(&trainer->optimizer, &optimizer, trainer->parameters));
    RGM_GO(rgmi_step_open(trainer));
    RGM_GO(rgmi_state_open(trainer, setup));
    *out = trainer;
    trainer = NULL;
done:
    rgm_trainer_release(trainer);
    return status;
}

void rgm_trainer_release(rgm_trainer *trainer)
{
    if (trainer == NULL)
        return;
    rgm_iterator_release(trainer->iterator);
    rgmi_state_close(trainer);
    rgmi_step_close(trainer);
    rgmi_metrics_close(trainer);
    rgm_optimizer_release(trainer->optimizer);
    rgm_parameters_release(trainer->parameters);
    rgm_scope_release(trainer->scope);
    rgm_cgraph_release(trainer->graph);
    for (int mode = 0; mode < 3; mode++)
        rgm_dataset_release(trainer->data[mode]);
    rgm_arena_release(trainer->history_memory);
    rgm_free(trainer->history);
    rgm_free(trainer);
}

/* ---- what can be asked --------------------------------------------------------------------- */

rgm_status rgm_trainer_evaluate(rgm_trainer *trainer, rgm_mode mode, rgm_metric_values *out)
{
    int64_t steps = 0;

    if (mode == RGM_VALID)
        steps = trainer->options.validation_steps;
    if (mode == RGM_TRAIN) /* endless data: an epoch's worth */
        steps = trainer->options.steps_per_epoch;
    return rgmi_evaluate(trainer, mode, steps, out);
}

rgm_cgraph *rgm_trainer_graph(const rgm_trainer *trainer)
{
    return trainer->graph;
}

const rgm_task_model *rgm_trainer_model(const rgm_trainer *trainer)
{
    return &trainer->model;
}

rgm_parameters *rgm_trainer_parameters(const rgm_trainer *trainer)
{
    return trainer->parameters;
}

int64_t rgm_trainer_step(const rgm_trainer *trainer)
{
    return trainer->step;
}

int64_t rgm_trainer_epoch(const rgm_trainer *trainer)
{
    return trainer->epoch;
}

int64_t rgm_trainer_best_step(const rgm_trainer *trainer)
{
    return trainer->best_step;
}

int64_t rgm_trainer_arena_bytes(const rgm_trainer *trainer)
{
    return rgm_executor_arena_bytes(trainer->train_run) +
           rgm_executor_hoisted_bytes(trainer->train_run) +
           rgm_executor_arena_bytes(trainer->eval_run) +
           rgm_executor_hoisted_bytes(trainer->eval_run);
}

int64_t rgm_trainer_history(const rgm_epoch_record **records, const rgm_trainer *trainer)
{
    *records = trainer->history;
    return trainer->history_count;
}
