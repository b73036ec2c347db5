/*
 * The keys of `trainer:` and `runtime:`, and which options exclude each other.
 */
#include <math.h>
#include <string.h>

#include "trainer_internal.h"

static const char *const modes[] = {"auto", "min", "max", NULL};
static const char *const surgeries[] = {"none", "pcgrad", NULL};
static const char *const restores[] = {"auto", "true", "false", NULL};
static const char *const policies[] = {"stop", "skip", "rollback", NULL};
static const char *const precisions[] = {"f32", "bf16", NULL};
static const char *const distributions[] = {"synchronous", "asynchronous", NULL};

#define RGM_OPTIONS rgm_trainer_best
static const rgm_field best_fields[] = {
    RGM_TEXT_FIELD(metric, "e.g. valid.accuracy"),
    RGM_CHOICE_FIELD(mode, modes, "whether smaller or larger is better"),
    RGM_INT_FIELD(keep, 0, RGM_MAX_BEST,
                  "checkpoints of the best validations that are kept beside the latest"),
    RGM_BOOL_FIELD(save, "write each new best to <run>/best: weights and info.json"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_checkpoints
static const rgm_field checkpoint_fields[] = {
    RGM_INT_FIELD(every_steps, 0, RGMI_MOST, "steps; 0: not by steps"),
    RGM_INT_FIELD(every_epochs, 0, RGMI_MOST, "epochs; 0: not by epochs"),
    RGM_FLOAT_FIELD(every_seconds, 0, RGMI_MOST,
                    "seconds of work that a crash may lose; 0: not by time"),
    RGM_INT_FIELD(keep, 1, 1e6, "latest checkpoints kept"),
    RGM_FLOAT_FIELD(keep_every_hours, 0, 1e6,
                    "hours; of those that keep lets go one each so many is kept for good; 0: none"),
    RGM_BOOL_FIELD(asynchronous,
                   "a thread writes the checkpoints on the way, from copies, while training goes "
                   "on; takes memory for the copies"),
    RGM_TEXTS_FIELD(exports,
                    "exporters, all but weights (onnx, predictor, ...): written into each "
                    "checkpoint, as export/, and deleted with it; of a program's receivers their "
                    "formats"),
    RGM_INT_FIELD(averages, 0, 1e6,
                  "validations whose averaged weights alone are kept in <run>/averages; 0: none"),
    RGM_GROUP_FIELD(best, best_fields, "how the best weights are chosen"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_exports
static const rgm_field exports_fields[] = {
    RGM_INT_FIELD(every_steps, 0, RGMI_MOST, "steps between exports on the way; 0: not by steps"),
    RGM_BOOL_FIELD(validations, "an export at each validation"),
    RGM_BOOL_FIELD(checkpoints, "an export beside each checkpoint"),
    RGM_INT_FIELD(keep, 0, 1e6, "newest numbered exports kept; 0: all"),
    RGM_TEXTS_FIELD(dirs, "folders that the finished run is exported to; none: <run>/export"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_stopping
static const rgm_field stopping_fields[] = {
    RGM_TEXT_FIELD(metric, "default: the best metric"),
    RGM_CHOICE_FIELD(mode, modes,
                     "whether smaller or larger is better; auto: as checkpoint.best "
                     "has it for the same metric, else by the metric"),
    RGM_INT_FIELD(patience, 0, RGMI_MOST, "validations without improvement; 0: never stop early"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_plateau
static const rgm_field plateau_fields[] = {
    RGM_TEXT_FIELD(metric, "default: the best metric"),
    RGM_CHOICE_FIELD(mode, modes,
                     "whether smaller or larger is better; auto: as checkpoint.best has it for the "
                     "same metric, else by the metric"),
    RGM_INT_FIELD(patience, 0, RGMI_MOST,
                  "validations without improvement before the rate is reduced; 0: never"),
    RGM_FLOAT_FIELD(factor, RGM_ABOVE_0, RGM_BELOW_1, "what the learning rate is multiplied by"),
    RGM_FLOAT_FIELD(min_delta, 0, RGMI_MOST, "how much better counts as improvement"),
    RGM_INT_FIELD(cooldown, 0, RGMI_MOST, "validations behind a reduction that are not counted"),
    RGM_FLOAT_FIELD(min_learning_rate, 0, RGMI_MOST, "the rate is not reduced below it"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_recovery
static const rgm_field recovery_fields[] = {
    RGM_CHOICE_FIELD(policy, policies,
                     "at a loss or gradient that is not finite, or a loss above its bound"),
    RGM_FLOAT_FIELD(loss_upper_bound, 0, INFINITY, "of one step's loss"),
    RGM_INT_FIELD(begin_steps, 0, RGMI_MOST, "step from which the bound holds"),
    RGM_INT_FIELD(max_tries, 0, 1e9, "skips or rollbacks before it is an error after all"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_initialize
static const rgm_field initialize_fields[] = {
    RGM_TEXT_FIELD(checkpoint,
                   "run folder, checkpoint folder, .safetensors or .npz file to start from"),
    RGM_TEXTS_FIELD(only, "shell patterns of parameter names; none: all"),
    RGM_TEXTS_FIELD(except, "patterns of those left random"),
    RGM_LISTS_FIELD(names,
                    "what they are called there: {\"encoder/*\": [\"model.encoder.*\"]}; a * "
                    "stands for the same text in both"),
    RGM_TEXTS_FIELD(turn, "patterns of matrices that lie turned round there"),
    RGM_TEXTS_FIELD(adapt, "patterns of those of another shape there: what both have is taken, the "
                           "rest stays random"),
    RGM_CHOICE_FIELD(best, restores, "a run folder's best weights; auto: if it has any"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_profile_options
static const rgm_field profile_fields[] = {
    RGM_INT_FIELD(steps, 0, 1e6,
                  "training steps recorded op by op, and as many batches of evaluation; 0: none"),
    RGM_INT_FIELD(skip_steps, 0, RGMI_MOST, "steps of each start that pass before"),
    RGM_INT_FIELD(max_events, 100, 1e7,
                  "events kept in profile.json; the others are counted alone"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_trainer_options
const rgm_field rgm_trainer_fields[] = {
    RGM_INT_FIELD(train_steps, 0, RGMI_MOST, "length of the run in steps; 0: in epochs"),
    RGM_INT_FIELD(steps_per_loop, 1, RGMI_MOST,
                  "steps that training metrics are taken over (length in steps)"),
    RGM_INT_FIELD(validation_interval, 0, RGMI_MOST,
                  "steps between validations (length in steps); 0: at the end only"),
    RGM_INT_FIELD(epochs, 1, RGMI_MOST, "length of the run in epochs"),
    RGM_INT_FIELD(steps_per_epoch, 0, RGMI_MOST, "0: one pass over the data"),
    RGM_INT_FIELD(validation_freq, 1, RGMI_MOST, "validate each k-th epoch"),
    RGM_INT_FIELD(validation_per_epoch, 0, RGMI_MOST,
                  "validations inside an epoch; needs steps_per_epoch"),
    RGM_INT_FIELD(validation_steps, -1, RGMI_MOST, "-1: the whole validation set"),
    RGM_BOOL_FIELD(validation_continues,
                   "each validation goes on where the last one stopped; needs validation_steps"),
    RGM_INT_FIELD(steps_per_execution, 1, RGMI_MOST, "steps between looks at signals and clock"),
    RGM_INT_FIELD(summary_interval, -1, RGMI_MOST,
                  "steps between TensorBoard scalars; 0: each loop only; -1: 500, or each loop"),
    RGM_FLOAT_FIELD(max_seconds, 0, RGMI_MOST,
                    "of training over all starts, then the run ends as at its length; 0: no limit"),
    RGM_BOOL_FIELD(
        histograms,
        "histograms of weights and gradients with each summary; by default at the end of each "
        "loop or epoch too"),
    RGM_BOOL_FIELD(norms, "norms of gradients and weights by layer with each loop's numbers"),
    RGM_BOOL_FIELD(flops, "floating-point operations of a step, their rate, and a table by layer"),
    RGM_INT_FIELD(accumulation_steps, 1, 1e9, "batches whose gradients make one update"),
    RGM_CHOICE_FIELD(gradient_surgery, surgeries,
                     "pcgrad: gradients of several tasks' losses lose what is against each other "
                     "before they are added; a backward pass for each"),
    RGM_CHOICE_FIELD(restore_best_weights, restores, "auto: iff there are validation data"),
    RGM_BOOL_FIELD(run_eagerly, "op by op; stops at the first NaN"),
    RGM_BOOL_FIELD(activation_checkpointing,
                   "a Transformer's layers compute their insides again in the backward pass: less "
                   "memory, more time, the same weights"),
    RGM_FLOAT_FIELD(continuous_eval_timeout, -1, RGMI_MOST,
                    "seconds without a new checkpoint before continuous_eval and "
                    "continuous_train_and_eval end; -1: never"),
    RGM_BOOL_FIELD(continuous_eval_every,
                   "continuous_eval, continuous_train_and_eval: every checkpoint in its order, "
                   "not the newest alone"),
    RGM_GROUP_FIELD(checkpoint, checkpoint_fields, "when to save and what to keep"),
    RGM_GROUP_FIELD(exports, exports_fields, "exports while the run trains: <run>/export/<step>"),
    RGM_GROUP_FIELD(early_stopping, stopping_fields, "when to stop before the end"),
    RGM_GROUP_FIELD(reduce_on_plateau, plateau_fields,
                    "lower the learning rate when validations get no better"),
    RGM_GROUP_FIELD(recovery, recovery_fields, "what to do about a bad step"),
    RGM_GROUP_FIELD(initialize, initialize_fields, "weights to start from"),
    RGM_GROUP_FIELD(profile, profile_fields, "where time goes: <run>/profile.json and a table"),
    RGM_GROUP_FIELD(privacy, rgm_privacy_fields, "differentially private training"),
    RGM_INT_FIELD(folds, 0, 1e4,
                  "cross-validation: a run for each fold, in <run>/fold-1, ...; 0: none"),
    RGM_INT_FIELD(fold, 0, 1e4, "this fold alone, from 1; 0: all, one after the other"),
    RGM_FLOAT_FIELD(fold_valid, 0, RGM_BELOW_1,
                    "share of a fold's training part that is validated on instead"),
    RGM_INT_FIELD(fold_seed, 0, RGMI_MOST, "which items come into one fold"),
    {0}};
#undef RGM_OPTIONS
#define RGM_OPTIONS rgm_runtime_options
const rgm_field rgm_runtime_fields[] = {
    RGM_INT_FIELD(seed, 0, RGMI_MOST, "of everything that is random"),
    RGM_INT_FIELD(threads, 0, 1024, "0: as many as the machine has"),
    RGM_INT_FIELD(shards, 1, RGMI_MOST_SHARDS,
                  "parts of a step, each with batches of its own; a power of two, and the most "
                  "processes that can share the run"),
    RGM_CHOICE_FIELD(gradient_exchange, precisions,
                     "what shards add gradients up as: f32, or bf16, which is half the bytes "
                     "between processes"),
    RGM_BOOL_FIELD(shard_optimizer,
                   "each process keeps the optimizer's slots of some parameters, and moves those"),
    RGM_CHOICE_FIELD(mixed_precision, precisions,
                     "bf16: products in bf16, weights and sums in f32"),
    RGM_TEXT_FIELD(loss_scale, "none, dynamic or a number"),
    RGM_TEXT_FIELD(device,
                   "where model and optimizer compute: cpu, gpu, gpu:N, cuda:N or opencl:N"),
    RGM_FLOAT_FIELD(features_on_device, 0, 1,
                    "share of the device's free memory for features of the graph that is sampled, "
                    "which then stay there; 0: they are sent with each batch"),
    RGM_FLOAT_FIELD(peak_gflops, 0, RGMI_MOST,
                    "the machine's best rate, for trainer.flops to tell the share; 0: not told"),
    RGM_INT_FIELD(seeds, 0, 1e4,
                  "so many runs with the seeds from seed on, in <run>/seed-1, ...; 0: one run"),
    RGM_CHOICE_FIELD(distribution, distributions,
                     "synchronous: processes make each step together; asynchronous: one keeps the "
                     "weights, workers hand in gradients when they have some"),
    RGM_INT_FIELD(staleness, 0, 1000,
                  "most updates between the weights of a gradient and its own update"),
    RGM_INT_FIELD(workers, 0, 64,
                  "workers that the command starts on its host, and again when they die"),
    RGM_TEXT_FIELD(listen, "ADDRESS:PORT where workers of other hosts reach the server"),
    RGM_FLOAT_FIELD(worker_timeout, 5, RGMI_MOST,
                    "seconds of silence after which a worker's batch is another's"),
    RGM_GROUP_FIELD(input_workers, rgm_service_fields,
                    "processes that make the training batches: regimen data serve"),
    {0}};
#undef RGM_OPTIONS

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
        .exports = {.keep = 5},
        .reduce_on_plateau = {.factor = 0.1, .min_delta = 1e-4},
        .recovery = {.loss_upper_bound = INFINITY, .max_tries = 3},
        .profile = {.skip_steps = 10, .max_events = 100000},
        .privacy = RGM_PRIVACY_INIT,
        .fold_seed = 1,
    };
}

void rgm_runtime_defaults(rgm_runtime_options *options)
{
    *options = (rgm_runtime_options){
        .seed = 1, .shards = 1, .features_on_device = 0.5, .staleness = 8, .worker_timeout = 30};
    rgm_service_defaults(&options->input_workers);
}

bool rgm_runtime_is_device(const char *name)
{
    return rgm_device_is_name(name);
}

/* ---- rules ----------------------------------------------------------------------------------- */

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
    {"trainer.checkpoint.averages", "optimizer.average.decay > 0"},
    {"optimizer.weight_decay_only", "optimizer.weight_decay > 0"},
    {"optimizer.weight_decay_except", "optimizer.weight_decay > 0 or optimizer.type == lamb|lars"},
    {"optimizer.min_dim_size_to_factor", "optimizer.factored == true"},
    {"optimizer.classic_momentum", "optimizer.momentum > 0"},
    {"trainer.early_stopping.metric", "trainer.early_stopping.patience > 0"},
    {"trainer.early_stopping.mode", "trainer.early_stopping.patience > 0"},
    {"trainer.reduce_on_plateau.metric", "trainer.reduce_on_plateau.patience > 0"},
    {"trainer.reduce_on_plateau.mode", "trainer.reduce_on_plateau.patience > 0"},
    {"trainer.reduce_on_plateau.factor", "trainer.reduce_on_plateau.patience > 0"},
    {"trainer.reduce_on_plateau.min_delta", "trainer.reduce_on_plateau.patience > 0"},
    {"trainer.reduce_on_plateau.cooldown", "trainer.reduce_on_plateau.patience > 0"},
    {"trainer.reduce_on_plateau.min_learning_rate", "trainer.reduce_on_plateau.patience > 0"},
    {"trainer.recovery.begin_steps", "trainer.recovery.loss_upper_bound < inf"},
    {"trainer.recovery.max_tries", "trainer.recovery.policy != stop"},
    {"trainer.privacy.noise_multiplier", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.target_epsilon", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.delta", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.sampling", "trainer.privacy.clipping_norm > 0"},
    {"trainer.privacy.noise_seed", "trainer.privacy.clipping_norm > 0"},
    {"runtime.gradient_exchange", "runtime.shards > 1"},
    {"runtime.shard_optimizer", "runtime.shards > 1"},
    {"runtime.peak_gflops", "trainer.flops == true"},
    {"runtime.staleness", "runtime.distribution == asynchronous"},
    {"runtime.workers", "runtime.distribution == asynchronous"},
    {"runtime.listen", "runtime.distribution == asynchronous"},
    {"runtime.worker_timeout", "runtime.distribution == asynchronous"},
    {"optimizer.learning_rate.warmup.type", "optimizer.learning_rate.warmup.steps > 0"},
    {"optimizer.learning_rate.warmup.start", "optimizer.learning_rate.warmup.steps > 0"},
    {"optimizer.learning_rate.warmup.power", "optimizer.learning_rate.warmup.steps > 0"},
    {"optimizer.learning_rate.epoch_updates", "optimizer.learning_rate.unit == epochs"},
    {"trainer.profile.skip_steps", "trainer.profile.steps > 0"},
    {"trainer.profile.max_events", "trainer.profile.steps > 0"},
    {"trainer.fold", "trainer.folds > 0"},
    {"trainer.fold_valid", "trainer.folds > 0"},
    {"trainer.fold_seed", "trainer.folds > 0"},
    {"trainer.initialize.only", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.except", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.names", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.turn", "trainer.initialize.checkpoint != null"},
    {"trainer.initialize.adapt", "trainer.initialize.checkpoint != null"},
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
    {"trainer.checkpoint.asynchronous == false",
     {"trainer.checkpoint.exports != []"},
     "a checkpoint's exports are made of the weights that go on changing"},
    {"trainer.epochs >= 1", {NULL}, NULL},
    {"trainer.steps_per_loop >= 1", {NULL}, NULL},
    {"trainer.steps_per_execution >= 1", {NULL}, NULL},
    {"trainer.validation_steps >= -1", {NULL}, "-1 is the whole validation set"},
    {"trainer.validation_steps != 0", {NULL}, "-1 is the whole validation set"},
    {"trainer.validation_steps > 0",
     {"trainer.validation_continues == true"},
     "a validation of the whole set always begins with its first batch"},
    {"trainer.accumulation_steps == 1",
     {"trainer.privacy.clipping_norm > 0"},
     "a private step adds up the gradients of single examples itself"},
    {"trainer.accumulation_steps == 1",
     {"trainer.gradient_surgery == pcgrad"},
     "gradients are held against each other batch by batch"},
    {"trainer.gradient_surgery == none",
     {"trainer.privacy.clipping_norm > 0"},
     "what is clipped is the gradient of one loss"},
    {"trainer.recovery.policy == stop",
     {"trainer.privacy.clipping_norm > 0"},
     "a single example could decide which steps count"},
    {"trainer.recovery.loss_upper_bound == inf",
     {"trainer.privacy.clipping_norm > 0"},
     "a single example could decide where the run ends"},
    {"runtime.loss_scale == none",
     {"trainer.privacy.clipping_norm > 0", "runtime.loss_scale != null"},
     "what is clipped is the gradient itself"},
    {"runtime.shards == 1|2|4|8|16|32|64|128|256|512|1024",
     {"runtime.shards > 1"},
     "shards are added up in pairs"},
    {"runtime.shards == 1",
     {"trainer.gradient_surgery == pcgrad", "runtime.shards > 1"},
     "gradients are held against each other batch by batch"},
    {"runtime.gradient_exchange == f32",
     {"trainer.privacy.clipping_norm > 0"},
     "a sum that is rounded can move by more than one example's clipping norm"},
    {"runtime.shards == 1",
     {"runtime.distribution == asynchronous", "runtime.shards > 1"},
     "a batch is one worker's"},
    {"runtime.seeds <= 1",
     {"runtime.distribution == asynchronous", "runtime.seeds > 1"},
     "workers join one run"},
    {"trainer.fold >= 1",
     {"runtime.distribution == asynchronous", "trainer.folds > 0"},
     "workers join one run, so say which fold"},
    {"trainer.privacy.clipping_norm == 0",
     {"runtime.distribution == asynchronous", "trainer.privacy.clipping_norm > 0"},
     "a private account holds for batches that one process draws and adds noise to in turn"},
    {"runtime.loss_scale != dynamic",
     {"runtime.distribution == asynchronous", "runtime.loss_scale != null"},
     "workers are not at one step"},
    {"trainer.flops == false",
     {"runtime.distribution == asynchronous"},
     "operations are the workers'"},
    {"trainer.profile.steps == 0",
     {"runtime.distribution == asynchronous"},
     "where time goes is the workers' affair"},
    {"trainer.recovery.max_tries >= 1",
     {"trainer.recovery.policy != stop"},
     "a bad step could not be recovered from even once"},
    {"trainer.folds >= 2",
     {"trainer.folds > 0"},
     "one fold is held out, the others are trained on"},
    {"trainer.fold <= trainer.folds", {"trainer.folds > 0"}, "folds are counted from 1"},
    {0}};

rgm_status rgm_run_check_single(const rgm_trainer_options *trainer,
                                const rgm_runtime_options *runtime)
{
    if (trainer->folds > 0 && trainer->fold == 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "trainer.folds is %lld: that is as many runs; trainer.fold says which one "
                        "is meant",
                        (long long)trainer->folds);
    if (runtime->seeds > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.seeds is %lld: that is as many runs; runtime.seed says of which "
                        "one, with runtime.seeds=~",
                        (long long)runtime->seeds);
    return RGM_OK;
}
