/*
 * train_options: the keys of `trainer:` and `runtime:` in an experiment file and their meaning. The
 * trainer reads those about a step, the controller those about a run.
 */
#ifndef REGIMEN_TRAIN_OPTIONS_H
#define REGIMEN_TRAIN_OPTIONS_H

#include <regimen/optim.h>
#include <regimen/service.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- options: the keys of `trainer:` and `runtime:` ------------------------------------------ */

typedef enum rgm_best_mode {
    RGM_BEST_AUTO, /* by the metric */
    RGM_BEST_MIN,
    RGM_BEST_MAX
} rgm_best_mode;

#define RGM_MAX_BEST 64 /* the most that trainer.checkpoint.best.keep may be */

/** The metric that chooses the best weights; never one of test data. */
typedef struct rgm_trainer_best {
    const char *metric; /* "valid.accuracy", "valid_news.loss" of the set news; NULL: "valid.loss"
                           if there are validation data */
    rgm_best_mode mode;
    int64_t keep; /* checkpoints of the k best validations that retention keeps; default 0    */
    bool save;    /* write each new best to <run>/best: weights and info.json                  */
} rgm_trainer_best;

typedef struct rgm_trainer_checkpoints {
    int64_t every_steps; /* 0: not by steps                                                       */
    int64_t every_epochs; /* 0: not by epochs */
    double every_seconds; /* the most work that can be lost; default 300, 0: not by time */
    int64_t keep; /* latest ones kept, default 2                                           */
    double keep_every_hours; /* of the others, keep one every so many hours for good; 0: none   */
    bool asynchronous;       /* those on the way are copied, and a thread writes them           */
    rgm_texts exports;       /* exporters whose files each checkpoint has, in its folder export/ */
    int64_t averages;        /* newest validations whose averaged weights (only) are kept in
                                <run>/averages;        0: none        */
    rgm_trainer_best best;
} rgm_trainer_checkpoints;

/** Exports during training, each in a folder numbered by its step: <run>/export/1200; the final
 * export is in <run>/export. */
typedef struct rgm_trainer_exports {
    int64_t every_steps; /* at the first loop end after each multiple; 0: not by steps            */
    bool validations;    /* at each validation                                                    */
    bool checkpoints;    /* beside each checkpoint                                                */
    int64_t keep;        /* newest numbers kept, default 5; 0: all                                */
    rgm_texts dirs;      /* folders for the export of the finished run; none: <run>/export        */
} rgm_trainer_exports;

typedef struct rgm_trainer_stopping {
    const char *metric; /* NULL: the best metric                       */
    rgm_best_mode mode; /* auto: for the best metric its best.mode, for another by its name */
    int64_t patience;   /* validations without a new best; 0: never    */
} rgm_trainer_stopping;

/** What to do when the loss or a gradient is not finite, an update overflows, or the loss is above
 * its bound. */
typedef enum rgm_recovery_policy {
    RGM_RECOVER_STOP, /* end with RGM_ERR_NUMERIC: step, op and tensor                            */
    RGM_RECOVER_SKIP, /* leave weights and slots as they are and take the next batch; after an
                         update that overflowed, like rollback */
    RGM_RECOVER_ROLLBACK /* back to the newest checkpoint (the start if none); the data continue */
} rgm_recovery_policy;

typedef struct rgm_trainer_recovery {
    rgm_recovery_policy policy; /* default stop */
    double loss_upper_bound;    /* of a step's loss, over all of its batches; default infinity */
    int64_t begin_steps; /* the bound holds from this step on; NaN is always checked            */
    int64_t max_tries;   /* skips or rollbacks before it becomes an error, default 3            */
} rgm_trainer_recovery;

typedef enum rgm_restore_best {
    RGM_RESTORE_AUTO, /* whether there are any, as each key says */
    RGM_RESTORE_TRUE,
    RGM_RESTORE_FALSE
} rgm_restore_best;

/** Weights to start from when the run has no checkpoint of its own. */
typedef struct rgm_trainer_initialize {
    const char
        *checkpoint; /* run folder, checkpoint folder, .safetensors or .npz file; NULL: none */
    rgm_texts only;  /* shell patterns of parameter names; empty: all                        */
    rgm_texts except;
    rgm_lists names; /* what parameters are called there: patterns of ours, each with one or more of
                        theirs, of which the first that is there is taken. A '*' of ours stands for
                        any text, and one of theirs for the text of ours in its place. The first
                        pattern of ours that fits counts; without one the name is the same    */
    rgm_texts turn;  /* patterns of matrices that lie turned round there: [outputs, inputs]   */
    rgm_texts adapt; /* patterns of those that may have another shape there, of as many axes (axes
                        of 1 do not count): the rows and columns that both have are taken, and the
                        others stay as they were. Tables by token are taken by piece, where the task
                        knows those of the other run (rgm_task.match_rows)                  */
    rgm_restore_best best; /* from a run folder take the best weights, not the newest; auto: if it
                              has any                                                      */
} rgm_trainer_initialize;

/** Keras' ReduceLROnPlateau: reduce the rate when validations no longer improve. */
typedef struct rgm_trainer_plateau {
    const char *metric; /* NULL: the best metric */
    rgm_best_mode mode;
    int64_t patience;         /* validations without improvement before each reduction; 0: never */
    double factor;            /* what the rate is multiplied by, in (0, 1); default 0.1          */
    double min_delta;         /* how much better counts as improvement, default 1e-4             */
    int64_t cooldown;         /* validations after a reduction that are not counted              */
    double min_learning_rate; /* the lowest rate                                                 */
} rgm_trainer_plateau;

/** Records where time goes: some steps op by op, and the whole run by passes, saves, summaries and
 * exports. Changes no result. */
typedef struct rgm_profile_options {
    int64_t steps;      /* recorded op by op, and as many batches of evaluation; 0: no profile  */
    int64_t skip_steps; /* steps skipped at each start, default 10: the first ones plan         */
    int64_t max_events; /* kept, default 100,000 (12 MB of JSON); further ones are only counted */
} rgm_profile_options;

/** What to do about gradients of several heads' losses that conflict. */
typedef enum rgm_gradient_surgery {
    RGM_SURGERY_NONE, /* they are added */
    /**
     * PCGrad (Yu et al. 2020, algorithm 1): before the gradients are added, each loses its part
     * along every other one that it conflicts with: g_i - g_j <g_i, g_j> / |g_j|^2 where the
     * product is below 0, over the parameters that at least two losses depend on. The heads after i
     * come first, then those before it (the paper draws the order; with two heads there is only
     * one). Losses that layers add (L2) take no part. A step costs a backward pass and the
     * gradients' memory for each head.
     */
    RGM_SURGERY_PCGRAD
} rgm_gradient_surgery;

/** Field names are the keys of `trainer:`. The length of a run is given in steps or in epochs. */
typedef struct rgm_trainer_options {
    int64_t train_steps;         /* length in steps: loops of steps_per_loop; 0: in epochs        */
    int64_t steps_per_loop;      /* steps that metrics are taken over, default 1000               */
    int64_t validation_interval; /* steps between validations, default 1000                       */
    int64_t epochs;          /* length in epochs, default 1: a loop is an epoch                */
    int64_t steps_per_epoch; /* 0: an epoch is one pass over the training data                */
    int64_t validation_freq; /* validate every k-th epoch, default 1                          */
    int64_t validation_per_epoch; /* k validations inside an epoch; needs steps_per_epoch, excludes
                                     validation_freq */
    int64_t validation_steps;    /* -1: the whole validation set                                  */
    bool validation_continues;   /* each validation of validation_steps batches continues where the
                                    last one stopped, cyclically; default: at the first batch     */
    int64_t steps_per_execution; /* inside a loop, steps between checks of the clock and of
                                    checkpoint.every_steps, default 1                             */
    int64_t summary_interval;    /* steps between scalars of training; 0: once a loop; default -1:
                                    once a loop (length in steps), 500 (length in epochs)         */
    double max_seconds;          /* of training in all, over every start of the run, including
                                    validation and saving: then the run ends as if complete; 0: no
                                    limit                                                         */
    bool histograms; /* of weights and gradients in the event files: each summary; by default (-1)
                        at the end of each loop or epoch too                             */
    bool norms; /* of gradients and weights, by layer and in total, with each loop's numbers     */
    bool flops; /* floating-point operations: of a step with each loop's numbers, as a rate in the
                   event files, and by layer once in the log                                     */
    int64_t accumulation_steps; /* batches whose gradients make one update, default 1            */
    rgm_gradient_surgery gradient_surgery; /* between the losses of several heads                */
    rgm_restore_best restore_best_weights; /* default auto */
    bool run_eagerly; /* op by op; stops at the first NaN, with op and tensor          */
    bool activation_checkpointing; /* a model's blocks compute their insides again in the backward
                                      pass: less memory, more time, the same weights      */
    /* seconds without a new checkpoint, default 3600; < 0: forever */
    double continuous_eval_timeout;
    bool continuous_eval_every; /* every checkpoint in order and once; default: the newest       */
    rgm_trainer_checkpoints checkpoint;
    rgm_trainer_exports exports;
    rgm_trainer_stopping early_stopping;
    rgm_trainer_plateau reduce_on_plateau;
    rgm_trainer_recovery recovery;
    rgm_trainer_initialize initialize;
    rgm_profile_options profile;
    rgm_privacy privacy; /* clipping_norm > 0: differentially private steps (optim.h); the
                            loop's logs then have "privacy_epsilon"                       */
    /* For experiment files, which make their data from these (rgm_task_setup.folds) before there is
       a trainer. A run has one fold: rgm_run_open() refuses folds without a fold. */
    int64_t folds;     /* cross-validation with so many folds; 0: none */
    int64_t fold;      /* the run's fold, from 1                     */
    double fold_valid; /* rgm_folds.valid                            */
    int64_t fold_seed; /* rgm_folds.seed, default 1                  */
    /* Where model and optimizer compute, no key of `trainer:`; borrowed, outlives the trainer.
       NULL: the CPU. */
    rgm_device *device;
} rgm_trainer_options;
void rgm_trainer_defaults(rgm_trainer_options *options);
extern const rgm_field rgm_trainer_fields[];
/** When its keys take effect, and the rules between them; ended by {0}. */
extern const rgm_effect rgm_trainer_effects[];
extern const rgm_rule rgm_trainer_rules[];

typedef enum rgm_mixed_precision {
    RGM_MIXED_NONE, /* all in f32 */
    RGM_MIXED_BF16  /* products in bf16, weights and sums in f32 */
} rgm_mixed_precision;

/** What the gradients of f32 of a step's shards are added up as. */
typedef enum rgm_gradient_exchange {
    RGM_EXCHANGE_F32,
    RGM_EXCHANGE_BF16 /* each shard's is rounded to bf16, and so is each sum of two: half the bytes
                       */
} rgm_gradient_exchange;

/** How several processes train one model. */
typedef enum rgm_distribution { RGM_SYNCHRONOUS, RGM_ASYNCHRONOUS } rgm_distribution;

/** Field names are the keys of `runtime:`. */
typedef struct rgm_runtime_options {
    int64_t seed;    /* default 1                                                            */
    int64_t threads; /* 0: as many as the machine has                                        */
    int64_t shards;  /* parts of a step, each with accumulation_steps batches of its own, whose
                        sums are added in a tree; a power of two, default 1 (also by 0) */
    rgm_gradient_exchange gradient_exchange;
    bool shard_optimizer; /* each of several processes keeps the optimizer's slots of some
                             parameters and moves those; the same bytes */
    rgm_mixed_precision mixed_precision;
    const char *loss_scale; /* NULL: none; "dynamic" (starts at 2^15, doubled after 2000 finite
                               steps, halved and the step skipped otherwise); or a number */
    const char *device; /* what rgm_run_open() opens for rgm_trainer_options.device, where that is
                           NULL; see rgm_device_open(). NULL: cpu */
    double features_on_device; /* of the device's memory that is left when the model is built, the
                                  share that features of the data may take and stay in, so that
                                  batches send the numbers of rows; default 0.5, 0: none       */
    double peak_gflops; /* the machine's; trainer.flops reports the share of it; 0: not known */
    int64_t seeds;      /* for experiment files: that many runs, from `seed` on; a run has 0 or 1 */
    /* How several processes share a run: all of them make each step together (shards), or one keeps
     * the weights and workers hand it gradients, each when it has some (async.h). A trainer itself
     * knows neither; whoever opens it sets its communicator or its hooks. */
    rgm_distribution distribution;
    int64_t staleness; /* asynchronous: most updates between the weights of a gradient and its own
                          update; default 8                                                  */
    int64_t workers; /* asynchronous: so many are started on this host by the command; default 0 */
    const char *listen;    /* asynchronous: where workers reach it; NULL: from this host        */
    double worker_timeout; /* asynchronous: seconds of silence after which a worker is gone; 30 */
    rgm_service_options input_workers; /* processes that make the training batches; none */
} rgm_runtime_options;
void rgm_runtime_defaults(rgm_runtime_options *options);
extern const rgm_field rgm_runtime_fields[];
/** Whether `name` may stand at runtime.device; the device need not be here. */
bool rgm_runtime_is_device(const char *name);
/** RGM_ERR_CONFIG: folds without a fold, or several seeds, which are more than one run. */
rgm_status rgm_run_check_single(const rgm_trainer_options *trainer,
                                const rgm_runtime_options *runtime);

#ifdef __cplusplus
}
#endif
#endif
