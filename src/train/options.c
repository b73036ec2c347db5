/*
 * The keys of `trainer:` and `runtime:`, and what options exclude each other.
 */
#include <math.h>
#include <string.h>

#include "controller_internal.h"

#define BEST(member)    offsetof(rgm_trainer_best, member)
#define SAVE(member)    offsetof(rgm_trainer_checkpoints, member)
#define STOP(member)    offsetof(rgm_trainer_stopping, member)
#define RECOVER(member) offsetof(rgm_trainer_recovery, member)
#define START(member)   offsetof(rgm_trainer_initialize, member)
#define OPTION(member)  offsetof(rgm_trainer_options, member)
#define RUNTIME(member) offsetof(rgm_runtime_options, member)
#define MOST            1e15

static const char *const modes[] = {"auto", "min", "max", NULL};
static const char *const restores[] = {"auto", "true", "false", NULL};
static const char *const policies[] = {"stop", "skip", "rollback", NULL};
static const char *const precisions[] = {"f32", "bf16", NULL};

static const rgm_field best_fields[] = {
    {"metric", RGM_FIELD_TEXT, BEST(metric), 0, 0, NULL, NULL, "e.g. valid.accuracy"},
    {"mode", RGM_FIELD_CHOICE, BEST(mode), 0, 0, modes, NULL,
     "whether smaller or larger is better"},
    {"keep", RGM_FIELD_INT, BEST(keep), 0, RGMI_MAX_BEST, NULL, NULL,
     "checkpoints of the best validations that are kept beside the latest"},
    {"save", RGM_FIELD_BOOL, BEST(save), 0, 0, NULL, NULL,
     "write each new best to <run>/best: weights and info.json"},
    {0}};
static const rgm_field checkpoint_fields[] = {
    {"every_steps", RGM_FIELD_INT, SAVE(every_steps), 0, MOST, NULL, NULL,
     "steps; 0: not by steps"},
    {"every_epochs", RGM_FIELD_INT, SAVE(every_epochs), 0, MOST, NULL, NULL,
     "epochs; 0: not by epochs"},
    {"every_seconds", RGM_FIELD_FLOAT, SAVE(every_seconds), 0, MOST, NULL, NULL,
     "seconds of work that a crash may lose; 0: not by time"},
    {"keep", RGM_FIELD_INT, SAVE(keep), 1, 1e6, NULL, NULL, "latest checkpoints kept"},
    {"best", RGM_FIELD_GROUP, SAVE(best), 0, 0, NULL, best_fields,
     "how the best weights are chosen"},
    {0}};
static const rgm_field stopping_fields[] = {
    {"metric", RGM_FIELD_TEXT, STOP(metric), 0, 0, NULL, NULL, "default: the best metric"},
    {"patience", RGM_FIELD_INT, STOP(patience), 0, MOST, NULL, NULL,
     "validations without improvement; 0: never stop early"},
    {0}};
static const rgm_field recovery_fields[] = {
    {"policy", RGM_FIELD_CHOICE, RECOVER(policy), 0, 0, policies, NULL,
     "at a loss or gradient that is not finite, or a loss above its bound"},
    {"loss_upper_bound", RGM_FIELD_FLOAT, RECOVER(loss_upper_bound), 0, INFINITY, NULL, NULL,
     "of one step's loss"},
    {"begin_steps", RGM_FIELD_INT, RECOVER(begin_steps), 0, MOST, NULL, NULL,
     "step from which the bound holds"},
    {"max_tries", RGM_FIELD_INT, RECOVER(max_tries), 0, 1e9, NULL, NULL,
     "skips or rollbacks before it is an error after all"},
    {0}};
static const rgm_field initialize_fields[] = {
    {"checkpoint", RGM_FIELD_TEXT, START(checkpoint), 0, 0, NULL, NULL,
     "run folder, checkpoint folder or .safetensors file to start from"},
    {"only", RGM_FIELD_TEXTS, START(only), 0, 0, NULL, NULL,
     "shell patterns of parameter names; none: all"},
    {"except", RGM_FIELD_TEXTS, START(except), 0, 0, NULL, NULL, "patterns of those left random"},
    {"best", RGM_FIELD_BOOL, START(best), 0, 0, NULL, NULL, "a run folder's best weights"},
    {0}};
const rgm_field rgm_trainer_fields[] = {
    {"train_steps", RGM_FIELD_INT, OPTION(train_steps), 0, MOST, NULL, NULL,
     "length of the run in steps; 0: in epochs"},
    {"steps_per_loop", RGM_FIELD_INT, OPTION(steps_per_loop), 1, MOST, NULL, NULL,
     "steps that training metrics are taken over (length in steps)"},
    {"validation_interval", RGM_FIELD_INT, OPTION(validation_interval), 0, MOST, NULL, NULL,
     "steps between validations (length in steps); 0: at the end only"},
    {"epochs", RGM_FIELD_INT, OPTION(epochs), 1, MOST, NULL, NULL, "length of the run in epochs"},
    {"steps_per_epoch", RGM_FIELD_INT, OPTION(steps_per_epoch), 0, MOST, NULL, NULL,
     "0: one pass over the data"},
    {"validation_freq", RGM_FIELD_INT, OPTION(validation_freq), 1, MOST, NULL, NULL,
     "validate each k-th epoch"},
    {"validation_per_epoch", RGM_FIELD_INT, OPTION(validation_per_epoch), 0, MOST, NULL, NULL,
     "validations inside an epoch; needs steps_per_epoch"},
    {"validation_steps", RGM_FIELD_INT, OPTION(validation_steps), -1, MOST, NULL, NULL,
     "-1: the whole validation set"},
    {"steps_per_execution", RGM_FIELD_INT, OPTION(steps_per_execution), 1, MOST, NULL, NULL,
     "steps between looks at signals and clock"},
    {"summary_interval", RGM_FIELD_INT, OPTION(summary_interval), -1, MOST, NULL, NULL,
     "steps between TensorBoard scalars; 0: each loop only; -1: 500, or each loop"},
    {"histograms", RGM_FIELD_BOOL, OPTION(histograms), 0, 0, NULL, NULL,
     "weight histograms with each summary"},
    {"accumulation_steps", RGM_FIELD_INT, OPTION(accumulation_steps), 1, 1e9, NULL, NULL,
     "batches whose gradients make one update"},
    {"restore_best_weights", RGM_FIELD_CHOICE, OPTION(restore_best_weights), 0, 0, restores, NULL,
     "auto: iff there are validation data"},
    {"run_eagerly", RGM_FIELD_BOOL, OPTION(run_eagerly), 0, 0, NULL, NULL,
     "op by op; stops at the first NaN"},
    {"continuous_eval_timeout", RGM_FIELD_FLOAT, OPTION(continuous_eval_timeout), -1, MOST, NULL,
     NULL, "seconds without a new checkpoint before continuous_eval ends; -1: never"},
    {"checkpoint", RGM_FIELD_GROUP, OPTION(checkpoint), 0, 0, NULL, checkpoint_fields,
     "when to save and what to keep"},
    {"early_stopping", RGM_FIELD_GROUP, OPTION(early_stopping), 0, 0, NULL, stopping_fields,
     "when to stop before the end"},
    {"recovery", RGM_FIELD_GROUP, OPTION(recovery), 0, 0, NULL, recovery_fields,
     "what to do about a bad step"},
    {"initialize", RGM_FIELD_GROUP, OPTION(initialize), 0, 0, NULL, initialize_fields,
     "weights to start from"},
    {"privacy", RGM_FIELD_GROUP, OPTION(privacy), 0, 0, NULL, rgm_privacy_fields,
     "differentially private training"},
    {0}};
const rgm_field rgm_runtime_fields[] = {
    {"seed", RGM_FIELD_INT, RUNTIME(seed), 0, MOST, NULL, NULL, "of everything that is random"},
    {"threads", RGM_FIELD_INT, RUNTIME(threads), 0, 1024, NULL, NULL,
     "0: as many as the machine has"},
    {"mixed_precision", RGM_FIELD_CHOICE, RUNTIME(mixed_precision), 0, 0, precisions, NULL,
     "bf16: products in bf16, weights and sums in f32"},
    {"loss_scale", RGM_FIELD_TEXT, RUNTIME(loss_scale), 0, 0, NULL, NULL,
     "none, dynamic or a number"},
    {0}};

void rgm_trainer_defaults(rgm_trainer_options *options)
{
    *options = (rgm_trainer_options){
        .steps_per_loop = 1000,
        .validation_interval = 1000,
        .epochs = 1,
        .validation_freq = 1,
        .validation_steps = RGM_TO_END,
        .steps_per_execution = 1,
        .summary_interval = -1,
        .accumulation_steps = 1,
        .continuous_eval_timeout = 3600,
        .checkpoint = {.every_seconds = 300, .keep = 2},
        .recovery = {.loss_upper_bound = INFINITY, .max_tries = 3},
        .privacy = RGM_PRIVACY_INIT,
    };
}

void rgm_runtime_defaults(rgm_runtime_options *options)
{
    *options = (rgm_runtime_options){.seed = 1};
}

/* ---- rules ------------------------------------------------------------------------------------
 */

const rgm_effect rgm_trainer_effects[] = {
    {"trainer.epochs", "trainer.train_steps == 0"},
    {"trainer.steps_per_epoch", "trainer.train_steps == 0"},
    {"trainer.validation_freq", "trainer.train_steps == 0"},
    {"trainer.validation_per_epoch", "trainer.train_steps == 0"},
    {"trainer.checkpoint.every_epochs", "trainer.train_steps == 0"},
    {"trainer.steps_per_loop", "trainer.train_steps > 0"},
    {"trainer.validation_interval", "trainer.train_steps > 0"},
    {"optimizer.average.start_step", "optimizer.average.decay > 0"},
    {"optimizer.average.dynamic", "optimizer.average.decay > 0"},
    {"trainer.early_stopping.metric", "trainer.early_stopping.patience > 0"},
    {"trainer.recovery.begin_steps", "trainer.recovery.loss_upper_bound < inf"},
    {"trainer.recovery.max_tries", "trainer.recovery.policy != stop"},
    {"trainer.privacy.noise_multiplier", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.delta", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.sampling", "trainer.privacy.clipping_norm > 0"},
    {"trainer.initialize.only", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.except", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.best", "trainer.initialize.checkpoint != null"},
    {0}};

const rgm_rule rgm_trainer_rules[] = {
    {"trainer.train_steps excludes trainer.epochs",
     {"trainer.train_steps > 0"},
     "a run is so many steps or so many epochs long; --set trainer.epochs=~ takes the epochs back"},
    {"trainer.train_steps excludes trainer.steps_per_epoch",
     {"trainer.train_steps > 0", "trainer.steps_per_epoch > 0"},
     "a run is so many steps or so many epochs long"},
    {"trainer.summary_interval multiple_of trainer.steps_per_loop",
     {"trainer.train_steps > 0", "trainer.summary_interval > 0"},
     "summaries are written between loops"},
    {"trainer.validation_per_epoch <= trainer.steps_per_epoch",
     {"trainer.train_steps == 0", "trainer.validation_per_epoch > 0"},
     "validations inside an epoch are so many steps apart"},
    {"trainer.validation_freq == 1",
     {"trainer.train_steps == 0", "trainer.validation_per_epoch > 0"},
     "trainer.validation_per_epoch already says when to validate"},
    {"trainer.epochs >= 1", {NULL}, NULL},
    {"trainer.steps_per_loop >= 1", {NULL}, NULL},
    {"trainer.steps_per_execution >= 1", {NULL}, NULL},
    {"trainer.validation_steps >= -1", {NULL}, "-1 is the whole validation set"},
    {"trainer.validation_steps != 0", {NULL}, "-1 is the whole validation set"},
    {"trainer.accumulation_steps == 1",
     {"trainer.privacy.clipping_norm > 0"},
     "a private step adds up the gradients of single examples itself"},
    {"trainer.recovery.max_tries >= 1",
     {"trainer.recovery.policy != stop"},
     "a bad step could not be recovered from even once"},
    {0}};

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_status check_validation(const rgm_controller *c)
{
    const rgm_trainer_options *o = &c->options;

    if (rgm_trainer_has_data(c->trainer, RGM_VALID) || c->trainer->no_data[RGM_VALID])
        return RGM_OK;
    if (o->validation_per_epoch > 0 || o->validation_steps > 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.%s is set but there are no validation data",
                        o->validation_per_epoch > 0 ? "validation_per_epoch" : "validation_steps");
    if (o->restore_best_weights == 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.restore_best_weights is true but there are no "
                                        "validation data to choose them by");
    if (o->early_stopping.patience > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.early_stopping is set but there are no validation data");
    return RGM_OK;
}

rgm_status rgmi_controller_check(const rgm_controller *c)
{
    rgm_trainer_options o = c->options, defaults;

    rgm_trainer_defaults(&defaults);
    if (c->hooks.steps_per_loop != NULL) /* says itself how long loops are */
        o.steps_per_loop = 1;
    RGM_TRY(
        rgm_options_check_rules(rgm_trainer_rules, &o, &defaults, rgm_trainer_fields, "trainer"));
    return check_validation(c);
}
