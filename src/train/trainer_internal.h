/* Shared by the trainer's parts: one struct, one step, one pass. */
#ifndef RGM_TRAINER_INTERNAL_H
#define RGM_TRAINER_INTERNAL_H

#include <regimen/comm.h>
#include <regimen/device_tensor.h>
#include <regimen/kernels.h>
#include <regimen/train_apart.h>
#include <regimen/train_driver.h>

#define RGMI_MOST_SHARDS 1024
#define RGMI_MOST        1e15 /* steps, epochs and other counts: far below the limit of int64_t */

/** The sums of one loop or pass of one mode: loss * items, items, then each metric's own state. */
typedef struct rgmi_sums {
    rgm_task_metric *metrics;  /* [count]: the model's own first, then the task's, then what keeps
                                  scores for curves, which are no results */
    char **names;              /* [count], as reported; NULL: it is not           */
    double **states;           /* [count], each in `sums`                         */
    rgm_metric_scores *scores; /* [count]: what metrics keep beside them          */
    int64_t count, own, told;  /* all, the model's own, results */
    double *heads;  /* [heads, 2] in `sums`: loss * items and items of each; NULL: not apart */
    double *report; /* the sums of trainer.norms and trainer.flops, in `sums`; NULL: none */
    double *sums;   /* [size] */
    int64_t size;
    int64_t
        *confusion[RGM_MAX_HEADS];  /* for passes: [classes, classes] by label; NULL: not counted */
    int64_t classes[RGM_MAX_HEADS]; /* of the confusion */
    bool confused[RGM_MAX_HEADS];   /* something was counted there                               */
    rgm_logs logs;                  /* the results as of the last rgmi_sums_finish() */
} rgmi_sums;

/** One of the task's eval_sets: its data and the sums of a pass over them. */
typedef struct rgmi_eval_set {
    char name[64];          /* "valid_news"                       */
    rgm_dataset *data;      /* NULL: its mode's data are not opened */
    rgm_iterator *iterator; /* as valid_iterator below */
    rgmi_sums sums;
} rgmi_eval_set;

/** What one executor fetches, as indices into its fetched tensors; -1: not fetched. */
typedef struct rgmi_fetches {
    rgm_value **values;
    rgm_tensor **tensors;
    int64_t count;
    int64_t loss, head_losses[RGM_MAX_HEADS];
    int64_t predictions[RGM_MAX_HEADS], labels[RGM_MAX_HEADS], weights[RGM_MAX_HEADS],
        lists[RGM_MAX_HEADS], loss_items[RGM_MAX_HEADS];
    int64_t gradients; /* index of the first, one for each trained parameter */
    int64_t updates;   /* index of the first, one for each state's next value */
} rgmi_fetches;

/** The gradients of several batches, or of single examples, that make one update. */
typedef struct rgmi_accumulator {
    rgm_tensor **sums;   /* [parameters]; NULL for one batch an update */
    double *kept;        /* the metric sums before the step             */
    rgm_tensor **states; /* [parameters]; the untrained ones, before the step */
} rgmi_accumulator;

/** Several heads with their own losses, each a mean over its own items. */
typedef struct rgmi_heads {
    bool apart; /* there are such heads */
    bool seen;  /* the current step has run the model: the next two are of its last run */
    double losses[RGM_MAX_HEADS]; /* times the head's loss_weight */
    double items[RGM_MAX_HEADS];
    /* for an update of several batches: each head's share in it; the last one for other losses */
    rgm_executor *count_run; /* NULL: updates are of one batch */
    rgm_value *inputs[RGM_MAX_HEADS + 1];
    rgm_tensor *shares[RGM_MAX_HEADS + 1];
} rgmi_heads;

/** Private training: how examples are drawn, what is random, and what has been spent. */
typedef struct rgmi_private {
    bool used;
    rgm_sampling sampling;
    double noise_multiplier; /* as given, or found for target_epsilon */
    rgm_secret secret;
    int64_t steps; /* begun with this secret; never reset by failures, rollbacks and restores */
    rgm_privacy_accountant accountant;
} rgmi_private;

/** An array that a step's shards add up. */
typedef struct rgmi_shared {
    void *values; /* [size]; gradients are views of it */
    int64_t size;
    rgm_shard_sum *sum; /* of this process's shards; NULL: nothing is summed */
} rgmi_shared;

/** Gradients that travel together. */
typedef struct rgmi_bucket {
    int64_t from, to; /* in the array of gradients                           */
    int64_t count;    /* parameters                                          */
    int64_t left;     /* of these, whose sum over the last shard is not there */
    rgm_comm_sum_request *request;
} rgmi_bucket;

/** The exchange of a step's gradients of f32: bucket by bucket, from the first that backward makes.
 */
typedef struct rgmi_buckets {
    rgmi_shared gradients; /* the accumulator's sums are views of it */
    rgmi_shared narrow;    /* what is added up and travels where that is bf16; else empty */
    rgmi_bucket *buckets;  /* [count], in the order in which they travel */
    int64_t count, begun;
    int64_t *bucket_of;  /* [parameters]; -1: in none                              */
    int64_t *fetched_of; /* [trained parameters] the parameter of each fetch       */
    bool *added;         /* [parameters] the batch that runs has been added        */
    bool live;           /* it is the last of the step here, and is added as it runs */
    bool first;          /* and the first of its shard                             */
    bool known;          /* its items are                                          */
    double items;
    rgm_status status; /* of the first bucket that could not begin */
    rgm_error error;
} rgmi_buckets;

/** What a shard's batches of a pass have added up. */
typedef struct rgmi_shard_pass {
    double *sums; /* [size] of the pass' rgmi_sums */
    void *aggregate;
} rgmi_shard_pass;

/** runtime.shards: the parts of a step, and which of them this process holds. */
typedef struct rgmi_shards {
    int64_t count;           /* 1: a step has no parts, and the rest is not used */
    int64_t first, own;      /* the shards of this process: `own` of them */
    int64_t now;             /* the shard whose batches run, for what they draw */
    rgmi_buckets exchange;   /* gradients of f32 */
    rgmi_shared f32;         /* states of f32    */
    rgmi_shared f64;         /* the numbers of the step, then gradients and states of f64 */
    rgmi_shared heads;       /* [heads] items of each, where heads are shared */
    int64_t *states;         /* [parameters] where a state begins in its array; -1: it is none */
    rgmi_shard_pass *passes; /* [own] of the current pass; NULL: there is none */
    rgm_shard_sum *pass_sum;
    double *added;       /* [size] by one batch of the pass */
    int64_t drawn;       /* batches of the current pass so far, of all shards */
    rgm_element **round; /* [count] of the pass, read and completed together; NULL: each when it
                            runs */
    int64_t round_at, round_count;
} rgmi_shards;

/** Multiplies the loss so that small gradients survive; a power of two. */
typedef struct rgmi_loss_scale {
    bool used, dynamic;
    double scale;
    int64_t good_steps; /* since the last change */
    rgm_value *input, *inverse_input;
    rgm_tensor *tensor, *inverse; /* fed; NULL: to be made */
} rgmi_loss_scale;

/** Layers: the parts of parameter names before the last '/'. */
typedef struct rgmi_layers {
    char **names; /* [count], in the parameters' order */
    int64_t *of;  /* [parameters]: the layer of each   */
    int64_t count;
} rgmi_layers;

typedef struct rgmi_profile rgmi_profile;

struct rgm_trainer {
    rgm_task task;
    rgm_trainer_options options;
    rgm_runtime_options runtime;
    rgm_trainer_hooks hooks;
    bool endless, only_asked, no_data[3];

    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_task_model model;
    rgm_parameters *parameters;
    rgm_optimizer_options optimizer_options;
    rgm_optimizer *optimizer;
    rgm_executor *train_run, *eval_run, *infer_run;
    rgmi_fetches train_fetches, eval_fetches, infer_fetches;
    rgm_tensor **gradients; /* [parameters] of the step, borrowed; NULL: not trained */
    /* [parameters] the last update's gradients before clipping: one of gradients, hooked and the
     * accumulator's sums; NULL: none, or no longer valid */
    rgm_tensor *const *applied;
    rgm_tensor **hooked; /* [parameters] copies that a hook may change; NULL: there is no hook */
    rgmi_accumulator accumulator;
    rgmi_loss_scale loss_scale;
    rgmi_private private;
    rgmi_shards shards;
    rgm_comm *comm; /* borrowed */
    int *owners;    /* [parameters] the process that moves each; NULL: every one moves all */
    rgmi_heads heads;
    rgmi_layers layers;                 /* empty unless something is reported by layer */
    rgm_text *batch;                    /* where to describe each batch; NULL: nowhere */
    int64_t step_flops;                 /* of the current step */
    rgmi_profile *profile;              /* NULL: nothing is recorded */
    rgmi_sums train_sums, eval_sums[3]; /* of the loop; of passes, by rgm_mode */
    rgmi_sums half_sums; /* of a step that another process has made half of; opened by the first */

    rgm_dataset *data[3]; /* by rgm_mode; NULL: none */
    rgm_eval_set set_list[RGM_MAX_EVAL_SETS];
    rgmi_eval_set sets[RGM_MAX_EVAL_SETS];
    int64_t set_count;
    rgm_iterator *iterator;
    const rgm_maker *maker; /* of the training batches; NULL: the iterator */
    bool in_step;

    int64_t step, updates, passes, loop_step; /* loop_step -1: no current loop */
    int64_t pass_batches;                     /* of the last pass that ended   */
    bool at_end;
    double last_loss, loop_items; /* of the last step; of the last loop */
    bool counted;                 /* the current step is in the sums */
    bool has_loss;                /* the model gave its loss, be it NaN */
    bool agreed;                  /* all have decided on the current step: rgmi_agree() */
    bool is_bad;   /* the decision was that it is bad: nothing more is decided about it */
    int64_t shard; /* of the training data; 0 for a trainer alone */
    int64_t draw;  /* of the last batch's dropout       */
    int64_t runs;  /* of a step's batches so far, by rgm_trainer_compute_gradients() */

    /* the current pass */
    bool evaluating, averaged; /* averaged: weights and averages are exchanged */
    rgm_mode eval_mode;
    int64_t eval_set; /* -1: the mode's own data */
    rgm_iterator *eval_iterator;
    bool accepts_other_data;      /* rgm_trainer_accept_other_data() */
    bool is_placed;               /* the task was told of the device */
    rgm_iterator *valid_iterator; /* trainer.validation_continues: between validations */
    bool eval_continues;          /* the current pass is such a validation */
    void *aggregate;
    int64_t eval_steps;
};

/* trainer_metrics.c */
rgm_status rgmi_sums_open(rgmi_sums *sums, const rgm_trainer *trainer, bool training);
void rgmi_sums_close(rgmi_sums *sums);
void rgmi_sums_reset(rgmi_sums *sums);
/** Add another pass' sums of the same metrics. RGM_ERR_ARG: the metrics differ. */
rgm_status rgmi_sums_merge(rgmi_sums *sums, const rgmi_sums *other);
/** Move what was added since the last take into `out` [size]. Lists of scores go on: their counts
 * stay in the sums, and `out` has 0 for them. */
void rgmi_sums_take(double *out, rgmi_sums *sums);
/** The sums become before + added, both [size], but for the counts of scores. `added` is spoiled.
 */
void rgmi_sums_put(rgmi_sums *sums, const double *before, double *added);
/** Save the sums of a loop with what its metrics keep; restore both. RGM_ERR_DATA: of other
 * metrics. */
rgm_status rgmi_sums_save(rgm_text *out, const rgmi_sums *sums);
rgm_status rgmi_sums_restore(rgmi_sums *sums, rgm_str bytes);
/** The sums of the current pass. */
rgmi_sums *rgmi_pass_sums(rgm_trainer *trainer);
/** Add a step to the sums of its mode, unless a default step function has done so. */
void rgmi_count_step(const rgm_step *step);
rgm_status rgmi_sums_finish(rgmi_sums *sums, const rgm_trainer *trainer);

/* trainer_model.c */
rgm_status rgmi_model_open(rgm_trainer *trainer);
/** For steps with several batches or single examples. */
rgm_status rgmi_accumulator_open(rgm_trainer *trainer);
rgm_status rgmi_optimizer_open(rgm_trainer *trainer);
rgm_status rgmi_infer_open(rgm_trainer *trainer);
void rgmi_model_close(rgm_trainer *trainer);

/* trainer_batch.c */
rgm_status rgmi_explain_nan(rgm_trainer *trainer, const rgm_feed *feeds, int64_t count);
rgm_status rgmi_scale_open(rgm_trainer *trainer);
/** RGM_ERR_NUMERIC unless a step's loss is finite and within its bound. */
rgm_status rgmi_check_loss(const rgm_trainer *trainer, double loss);

rgm_status rgmi_feed(rgm_feed *feeds, int64_t *count, rgm_trainer *trainer, rgm_element *inputs);
/** Forward and backward of `inputs` into the step's outputs and trainer->gradients. */
rgm_status rgmi_run_batch(rgm_step *step, rgm_feed *feeds, int64_t *count, rgm_element *inputs,
                          int64_t draw);
/**
 * The status with which all processes that train together continue: this one's, or RGM_ERR_NUMERIC
 * (RGM_ERR_IO) when another's step is bad (has failed). The first call in a step is before its
 * update.
 */
rgm_status rgmi_agree(rgm_trainer *trainer, rgm_status status);
/** The one place that every update's gradients pass: all processes agree on the step, the hook
 * may change the gradients, the optimizer updates. feeds (or NULL) are for explaining a bad
 * gradient. */
rgm_status rgmi_update(rgm_trainer *trainer, rgm_tensor *const *gradients, const rgm_feed *feeds,
                       int64_t feed_count);

/** Forward of the step's inputs into its outputs. */
rgm_status rgmi_run_forward(rgm_step *step, rgm_executor *executor, rgmi_fetches *fetches);

/* trainer_heads.c */
bool rgmi_heads_are_apart(const rgm_trainer *trainer);
/** Whether each head's loss is multiplied by its share of all items of the step before it is
 * differentiated: where several batches of different shares make one update. */
bool rgmi_heads_are_shared(const rgm_trainer *trainer);
/** The number that a head's loss is the mean of: its loss_items, or else the sum of weights, or
 * without weights the number of rows (1 without rows). */
double rgmi_head_items(const rgm_step *step, const rgmi_fetches *fetches, int64_t h);
/** The same of head 0 while the run goes on. False: what tells it is not there yet. */
bool rgmi_items_so_far(double *items, const rgmi_fetches *fetches);
/** Take losses and items from a run whose outputs `step` has. */
void rgmi_heads_take(rgm_trainer *trainer, const rgmi_fetches *fetches, const rgm_step *step);
/** Add them to the sums; returns the part of the step's loss that belongs to no head. */
double rgmi_heads_add(double *sums, const rgm_trainer *trainer, double loss);
double rgmi_heads_sum(const double *sums, const rgm_trainer *trainer);
/** The loss whose gradients, summed over the batches of an update, are those of the whole
 * update. */
rgm_value *rgmi_heads_shared_loss(rgm_trainer *trainer);

/* trainer_surgery.c */
/** rgm_cgraph_gradients() of the heads' losses times `scale` (NULL: 1) by options.gradient_surgery.
 * RGM_ERR_CONFIG: there is only one loss. */
rgm_status rgmi_surgery_gradients(rgm_value **gradients, rgm_trainer *trainer, rgm_value *scale,
                                  rgm_value *const *parameters, int64_t count);

rgm_status rgmi_heads_open(rgm_trainer *trainer);
void rgmi_heads_close(rgmi_heads *heads);
/** Count the items of each head in a batch, without running the model where possible. */
rgm_status rgmi_heads_count(double items[RGM_MAX_HEADS], rgm_trainer *trainer,
                            const rgm_feed *feeds, int64_t count);
rgm_status rgmi_heads_share(rgm_trainer *trainer, const double *items, const double *all);
void rgmi_heads_feed(rgm_feed *feeds, int64_t *count, const rgm_trainer *trainer);
/** A batch's part of its update's loss. */
double rgmi_heads_shared(const rgm_trainer *trainer, double loss);

/* trainer_report.c */
/** The layers of a graph's parameters; zero-initialised before. */
rgm_status rgmi_layers_open(rgmi_layers *layers, const rgm_cgraph *graph);
void rgmi_layers_close(rgmi_layers *layers);
/** The layer named by the first `size` bytes of a name; -1: there is none. */
int64_t rgmi_layers_find(const rgmi_layers *layers, const char *name, size_t size);
rgm_status rgmi_report_open(rgm_trainer *trainer);
/** Number of doubles that the report needs in the sums of a loop. */
int64_t rgmi_report_size(const rgm_trainer *trainer);
/** Add the numbers of a finished step; updates: those before it. */
void rgmi_report_add(rgm_trainer *trainer, int64_t updates);
/** Set a loop's means, and the norms of the present weights. */
rgm_status rgmi_report_finish(rgm_logs *logs, const rgm_trainer *trainer);

/* trainer_describe.c */
/** Print names and shapes of a model's feeds as JSON, replacing the content of `out`. */
rgm_status rgmi_describe_batch(rgm_text *out, const rgm_feed *feeds, int64_t count);

/* profile.c */
rgm_status rgmi_profile_open(rgm_trainer *trainer);
void rgmi_profile_close(rgm_trainer *trainer);
/** The time now while a profile records; else 0, which as `begin` does nothing. */
static inline double rgmi_profile_now(const rgm_trainer *trainer)
{
    return trainer->profile != NULL ? rgm_now() : 0;
}
/** A training step, or a batch of evaluation, begins and ends; done: it was carried out. */
double rgmi_profile_step(rgm_trainer *trainer);
void rgmi_profile_step_end(rgm_trainer *trainer, double begin, bool done);
double rgmi_profile_batch(rgm_trainer *trainer);
void rgmi_profile_batch_end(rgm_trainer *trainer, double begin, bool done);
/** A part of such a step ends: "data", "model", "update". */
void rgmi_profile_part(const rgm_trainer *trainer, const char *name, double begin);

/* trainer_private.c */
rgm_status rgmi_private_open(rgm_trainer *trainer, const rgm_trainer_setup *setup);
rgm_status rgmi_private_step(rgm_step *step);
/** For a continued run: RGM_ERR_CONFIG when the rest of it would spend more than its target. */
rgm_status rgmi_private_resume(const rgm_trainer *trainer);

/* trainer_device.c */
/** The device on which gradients and their sums stay; the CPU if they are needed on the host. */
rgm_device *rgmi_gradient_device(const rgm_trainer *trainer);
/** sum += factor * x (or sum = factor * x), of one dtype and on one device. */
void rgmi_add_scaled(rgm_tensor *sum, const rgm_tensor *x, double factor, bool first);
/** Zeros, wherever it lies. */
void rgmi_clear(rgm_tensor *tensor);
/** The accumulator's states take those of the parameters; with `back` the other way. Errors:
 * RGM_ERR_IO, RGM_ERR_NOMEM: of a device. */
rgm_status rgmi_states_copy(rgm_trainer *trainer, bool back);
/** rgm_executor_options.meanwhile of the training executor: the next batch's feeds go there. */
void rgmi_feed_ahead(rgm_executor *executor, void *trainer);
/** Let the task keep on the device what batches are cut out of, and no longer. */
rgm_status rgmi_data_place(rgm_trainer *trainer);
void rgmi_data_take_back(rgm_trainer *trainer);
/** A copy on the host of a tensor, wherever it lies. */
rgm_status rgmi_host_copy(rgm_tensor **out, const rgm_tensor *tensor);

/* trainer_part.c */
/** Let states such as moving averages take their next values, for each batch. */
rgm_status rgmi_update_states(rgm_trainer *trainer);
/** Save metric sums and states before a step of several batches. Errors: of a device. */
rgm_status rgmi_step_keep(rgm_trainer *trainer);
/** Restore both unless `status`, which it returns, is RGM_OK. */
rgm_status rgmi_step_undo(rgm_trainer *trainer, rgm_status status);
/** What some batches of a step came to: loss * items, or their share of the loss where heads are
 * shared; and items. */
typedef struct rgmi_part {
    double loss, items;
} rgmi_part;
/** Run batch k of those that one process adds up, and add it to the accumulator's sums and to
 * `part`; all: each head's items in the whole step, where heads are shared. */
rgm_status rgmi_add_batch(rgm_step *step, rgm_feed *feeds, int64_t *count, rgm_element *inputs,
                          const double *all, int64_t k, rgmi_part *part);
/** The gradients of the mean over all items of a step, from their sum. */
void rgmi_divide_gradients(rgm_trainer *trainer, double items);
/** The loss and items of a step that `part` is all of. */
void rgmi_set_part(rgm_step *step, const rgmi_part *part);

/* trainer_shards.c */
rgm_status rgmi_shards_open(rgm_trainer *trainer, const rgm_trainer_setup *setup);
/** Make the arrays that shards add up; the accumulator's sums become views of them. */
rgm_status rgmi_shards_accumulator_open(rgm_trainer *trainer);
void rgmi_shards_close(rgm_trainer *trainer);
static inline bool rgmi_is_sharded(const rgm_trainer *trainer)
{
    return trainer->shards.count > 1;
}
/** The next batch of a pass of a task that completes batches. RGM_END. */
rgm_status rgmi_round_next(rgm_element **out, rgm_trainer *trainer);
/** Whether a batch is run for one of this process's shards: of one thing in parts, all that the
 * process has is the batch of its first. */
bool rgmi_shard_has_batch(const rgm_trainer *trainer, int64_t shard);
/** The number of batches of one step. */
int64_t rgmi_step_batches(const rgm_trainer *trainer);
/** Let an iterator make only what this process runs, where `each` batches of every shard in turn
 * begin where it stands. */
rgm_status rgmi_shards_share(rgm_iterator *iterator, const rgm_trainer *trainer, int64_t each);
/*
 * For a step that runs the batches of its shards itself: begin; for each shard of this process, in
 * order, begin it, add its batches to the accumulator's sums, end it; then sum.
 */
void rgmi_shards_begin(rgm_trainer *trainer);
void rgmi_shard_begin(rgm_trainer *trainer, int64_t shard);
/** any: the shard had a batch. */
void rgmi_shard_end(rgm_trainer *trainer, const rgmi_part *part, bool any);
/**
 * Sum over the shards of all processes, unless the status of one of them is an error: gradients,
 * loss and items, divided by nothing; the loop's metrics; the mean of states. After an error
 * nothing of the step is left.
 */
rgm_status rgmi_shards_sum(rgmi_part *all, rgm_trainer *trainer, rgm_status status);

static inline bool rgmi_is_last_shard(const rgm_trainer *trainer)
{
    return trainer->shards.now == trainer->shards.first + trainer->shards.own - 1;
}

/* trainer_shared.c */
/** Make an array of zeros, and the sum over `shards` of it. */
rgm_status rgmi_shared_open(rgmi_shared *array, rgm_dtype dtype, int64_t shards);
void rgmi_shared_close(rgmi_shared *array);

/* trainer_exchange.c */
/** Lay out the gradients of f32; begins[i] becomes the place of parameter i. */
rgm_status rgmi_buckets_open(rgm_trainer *trainer, int64_t *begins);
void rgmi_buckets_close(rgmi_buckets *exchange);
/** A step begins. */
void rgmi_buckets_reset(rgmi_buckets *exchange);
/** Before and after the run of batch k of those that this process has in a shard: of the last of
 * the step here, each gradient is added to the sums as soon as it is final, and its bucket sent. */
void rgmi_buckets_watch(rgm_trainer *trainer, int64_t k);
void rgmi_buckets_unwatch(rgm_trainer *trainer);
/** Whether that has been done with parameter i. */
bool rgmi_buckets_has(const rgm_trainer *trainer, int64_t i);
/** A shard without a batch adds nothing. */
void rgmi_buckets_clear(rgmi_buckets *exchange);
/** A shard that is not this process's last: keep its sum. */
void rgmi_buckets_add(rgmi_buckets *exchange);
/** Begin what is not under way yet. Every process does, also after a failure. */
void rgmi_buckets_begin(rgm_trainer *trainer);
/** Wait for all that was begun: the gradients are those of all shards. */
rgm_status rgmi_buckets_wait(rgm_trainer *trainer);

/* trainer_apart_server.c */
/** A step that hooks.train_step makes. */
rgm_status rgmi_apart_step(rgm_step *step);

/* trainer_sharded_states.c */
/** RGM_ERR_CONFIG where slots are to be shared out and cannot be. */
rgm_status rgmi_owners_check(const rgm_trainer *trainer);
/** Share out the optimizer's slots before the first step, where runtime.shard_optimizer says so.
 * (Until then each process has all: the first may have to save alone.) */
rgm_status rgmi_owners_open(rgm_trainer *trainer);
/** Every process calls it: the first gets the slots of all, until rgmi_slots_drop(). */
rgm_status rgmi_slots_collect(const rgm_trainer *trainer);
void rgmi_slots_drop(const rgm_trainer *trainer);

/* trainer_shards_step.c */
/** One training step of all shards. */
rgm_status rgmi_shards_step(rgm_step *step);

/* trainer_shards_pass.c */
rgm_status rgmi_shards_pass_begin(rgm_trainer *trainer);
/** Whether the batch of a pass that was just read is of a shard of this process. */
bool rgmi_shards_pass_batch(rgm_trainer *trainer);
/** Keep what that batch has added with its shard, also after it failed. */
void rgmi_shards_pass_keep(rgm_trainer *trainer);
/** Make the pass' sums and aggregate those of the shards of all processes. */
rgm_status rgmi_shards_pass_sum(rgm_trainer *trainer);
void rgmi_shards_pass_end(rgm_trainer *trainer);
/** Let every list of scores be its first kept[i] (NULL: 0) and then what each process has behind
 * those, in the order of processes. */
rgm_status rgmi_scores_gather(rgmi_sums *sums, const double *kept, rgm_comm *comm);

/* trainer_secret.c */
/** Draw the secret of private training, or derive it from noise_seed. */
rgm_status rgmi_secret_open(rgm_trainer *trainer);
uint64_t rgmi_data_seed(const rgm_trainer *trainer);
uint64_t rgmi_mask_seed(const rgm_trainer *trainer);

/* trainer_data.c */
rgm_status rgmi_data_open(rgm_trainer *trainer, const rgm_trainer_setup *setup);
rgm_status rgmi_iterator_open(rgm_trainer *trainer);
/** Let it make this process's batches alone; at its opening, or behind a restore. */
rgm_status rgmi_train_share(rgm_trainer *trainer);
/** NULL with RGM_OK: the batch is another process's. */
rgm_status rgmi_next_train_inputs(rgm_element **out, rgm_trainer *trainer);
/** An iterator for passes, at the first batch. */
rgm_status rgmi_eval_iterator_open(rgm_iterator **out, const rgm_trainer *trainer,
                                   rgm_dataset *data);

/* ---- initialize_names.c: weights under other names and of other shapes ---- */

/** RGM_ERR_CONFIG: a name with more stars than the pattern that they would come from. */
rgm_status rgmi_initialize_names_check(const rgm_lists *names);
/** Whether the file has a tensor of that name. */
typedef bool rgmi_has_name(const void *payload, const char *name);
/** What one of our parameters is called there, in the place of what `out` had. */
rgm_status rgmi_initialize_name(rgm_text *out, const char *ours, const rgm_lists *names,
                                rgmi_has_name *has, const void *payload);
/** Turn a matrix round: *tensor is another one then. RGM_ERR_SHAPE: it is none. */
rgm_status rgmi_initialize_turn(rgm_tensor **tensor);
/** Make *tensor like `own`, with its own numbers where theirs has none; from: theirs of each row of
 * ours, -1: none; NULL: the same. RGM_ERR_SHAPE: it has another number of axes, or other numbers
 * than real ones. */
rgm_status rgmi_initialize_adapt(rgm_tensor **tensor, const rgm_tensor *own, const int64_t *from);

#endif
