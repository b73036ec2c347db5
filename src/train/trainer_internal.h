/* The trainer's parts share this: one struct, one step, one pass, one checkpoint. */
#ifndef RGM_TRAINER_INTERNAL_H
#define RGM_TRAINER_INTERNAL_H

#include <regimen/train.h>

#define RGMI_MAX_FEEDS 512

/** Sums of one pass: loss * items, items, then every head's metric states. */
typedef struct rgmi_sums {
    double *state;  /* [size] */
    int64_t size;
    double *values; /* [metric_count], the results as of the last rgmi_sums_finish() */
} rgmi_sums;

/** What one executor fetches, as indices into its fetched tensors; -1: not there. */
typedef struct rgmi_fetches {
    rgm_value **values;
    rgm_tensor **tensors;
    int64_t count;
    int64_t predictions[RGM_MAX_HEADS], labels[RGM_MAX_HEADS], weights[RGM_MAX_HEADS];
    int64_t gradients; /* index of the first */
    int64_t updates;   /* index of the first next value of a state */
} rgmi_fetches;

struct rgm_trainer {
    rgm_task task;
    rgm_trainer_options options;
    rgm_trainer_hooks hooks;
    uint64_t seed;
    int threads;

    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_task_model model;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *train_run, *eval_run;
    rgmi_fetches train_fetches, eval_fetches;

    char **metric_names; /* [metric_count]: "loss", then the heads' */
    int64_t metric_count;
    rgmi_sums train_sums, eval_sums[3];

    rgm_dataset *data[3]; /* by rgm_mode; NULL: none */
    rgm_iterator *iterator;
    int64_t steps_per_epoch; /* 0: known only by reading */

    int64_t step, epoch, epoch_step; /* done ones */
    bool finished;                   /* early stopping said so */

    /* best validation */
    char best_name[96];    /* "valid.accuracy" */
    int64_t best_metric;   /* index into metric_names; -1: none is kept */
    bool best_is_smaller;
    int64_t best_step, best_epoch, stale;
    double best_value;
    rgm_tensor **best_weights; /* [parameters]; NULL before the first best */
    int64_t stop_metric;
    bool stop_is_smaller;
    double stop_value;

    /* run folder; all NULL without one */
    rgm_run_folder *folder;
    rgm_checkpoint_store *store;
    rgm_metrics_log *metrics_log;
    rgm_event_file *run_events, *train_events, *valid_events;
    const rgm_hparam *hparams; /* the setup's */
    int64_t hparam_count;
    int64_t saved_step, saved_epoch; /* the last step of an epoch is saved before or after its end */
    double saved_time;

    double last_loss, epoch_started;
    rgm_arena *history_memory;
    rgm_epoch_record *history;
    int64_t history_count, history_capacity;
};

/* trainer_metrics.c */
rgm_status rgmi_metrics_open(rgm_trainer *trainer);
void rgmi_metrics_close(rgm_trainer *trainer);
rgm_status rgmi_sums_create(rgmi_sums *sums, const rgm_trainer *trainer);
void rgmi_sums_clear(rgmi_sums *sums);
void rgmi_sums_reset(rgmi_sums *sums);
void rgmi_sums_add(rgmi_sums *sums, const rgm_trainer *trainer, const rgmi_fetches *fetches);
rgm_metric_values rgmi_sums_finish(rgmi_sums *sums, const rgm_trainer *trainer);
int64_t rgmi_metric_index(const rgm_trainer *trainer, const char *name); /* -1: none */
bool rgmi_metric_smaller_is_better(const rgm_trainer *trainer, int64_t index);

/* trainer_step.c */
rgm_status rgmi_step_open(rgm_trainer *trainer);
void rgmi_step_close(rgm_trainer *trainer);
rgm_status rgmi_train_step(rgm_trainer *trainer, rgm_element *batch);
rgm_status rgmi_evaluate(rgm_trainer *trainer, rgm_mode mode, int64_t max_steps,
                         rgm_metric_values *out);

/* trainer_state.c */
rgm_status rgmi_state_open(rgm_trainer *trainer, const rgm_trainer_setup *setup);
void rgmi_state_close(rgm_trainer *trainer);
rgm_status rgmi_state_save(rgm_trainer *trainer);
rgm_status rgmi_keep_best(rgm_trainer *trainer, double value);
rgm_status rgmi_iterator_open(rgm_trainer *trainer);
rgm_status rgmi_events_open(rgm_trainer *trainer);
rgm_status rgmi_events_end(rgm_trainer *trainer);

#endif
