/* What the parts of a trial of hooks share. */
#ifndef RGM_TRIAL_HOOKS_H
#define RGM_TRIAL_HOOKS_H

#include <string.h>

#include "trial_internal.h"

enum { RGMI_MAX_TENSORS = 64, RGMI_MAX_OUTPUTS = 128 };

/** The first thing that a program's function asked for and was not there. */
typedef struct rgmi_first_missing {
    rgm_error error; /* status RGM_OK: nothing yet */
} rgmi_first_missing;

struct rgm_config {
    const rgm_yaml_node *map;
    const char *what; /* "the file", "the hyperparameters" */
    rgmi_first_missing *asked;
    const rgm_config
        *experiment; /* the whole file: itself, or what the hyperparameters belong to */
};

/** A tensor of an element, as far as batches have it in common. */
typedef struct rgmi_tensor_form {
    rgm_dtype dtype;
    int rank;
    int64_t shape[RGM_MAX_RANK]; /* [1..]: -1 where batches differ */
    int same[RGM_MAX_RANK];      /* the number of the axis that an axis differs as; 0: its own */
} rgmi_tensor_form;

typedef struct rgmi_element_form {
    rgmi_tensor_form tensors[RGMI_MAX_TENSORS];
    int64_t count;
} rgmi_element_form;

struct rgm_record {
    rgm_cgraph *graph;
    const char *what; /* "record", "features", "labels" */
    const char *const *names;
    rgm_value **values;
    int64_t count;
};

typedef struct rgmi_output {
    char name[RGM_METRIC_NAME];
    rgm_value *value;
    rgm_aggregation aggregation;
    bool is_prediction, is_values; /* neither: a scalar */
    rgm_output_kind kind;
    bool validates, trains; /* as a metric */
    bool is_reduced;        /* a reducer looks at it, by the model's head: */
    int64_t head;
} rgmi_output;

/** Whether an output is a metric, beside the loss. */
static inline bool rgmi_output_is_told(const rgmi_output *output)
{
    return (output->validates || output->trains) && strcmp(output->name, "loss") != 0;
}

struct rgm_outputs {
    rgmi_output items[RGMI_MAX_OUTPUTS];
    int64_t count;
    rgm_cgraph *graph;
};

/** What a reducer looks at: an output, or a tensor of the record. */
typedef struct rgmi_reducer_source {
    rgmi_output *output; /* NULL: the tensor */
    int64_t tensor;
} rgmi_reducer_source;

typedef struct rgmi_reducer {
    rgm_reducer reducer; /* with the texts below as its names */
    char name[RGM_METRIC_NAME], input_texts[RGM_MAX_REDUCER_INPUTS][RGM_METRIC_NAME];
    rgmi_reducer_source sources[RGM_MAX_REDUCER_INPUTS];
    int64_t input_count;
} rgmi_reducer;

/** An output whose batches are not added up over shards, and its column of the head. */
typedef struct rgmi_ordered {
    const rgmi_output *output;
    int64_t column;
} rgmi_ordered;

typedef struct rgmi_metric_names {
    char texts[RGM_MAX_METRICS][RGM_METRIC_NAME];
    const char *names[RGM_MAX_METRICS];
    int64_t count;
} rgmi_metric_names;

struct rgm_measures {
    rgmi_first_missing mistake;
    rgmi_metric_names training, validation;
    rgmi_reducer reducers[RGM_MAX_REDUCERS];
    rgmi_ordered ordered[RGM_MAX_METRICS];
    const char *names[RGM_MAX_REDUCERS + RGM_MAX_METRICS + 1]; /* of both, ended by NULL */
    int64_t reducer_count, ordered_count, name_count;
};

/** How callbacks hear of a run, and what they are called with. */
typedef struct rgmi_callbacks {
    struct rgmi_hooks_task *task; /* NULL: there are none */
    rgm_comm *comm;               /* borrowed */
    const rgm_trainer *trainer;
    char *folder; /* for on_save and on_load; NULL: nothing is written */
    bool calls;   /* else what a checkpoint has for them is only passed on */
    bool has_begun;
    void *state; /* the program's */
    int64_t batches;
    rgm_mode mode;       /* of the pass under way */
    rgm_text saved;      /* what the checkpoint that was restored has, until on_load gets it */
    bool has_saved;      /* it has something */
    int64_t restored_at; /* -1: none was restored */
    rgm_trainer_hooks hooks;
    rgm_action *train_actions, *eval_actions; /* of the run, its callbacks' last */
} rgmi_callbacks;

/** State of the task that hooks make. */
typedef struct rgmi_hooks_task {
    const rgm_trial_hooks *hooks;
    void *object; /* of dlopen; NULL: the program's own */
    rgm_yaml *document, *point;
    rgmi_first_missing asked;
    rgm_config experiment, hparams;

    rgm_dataset *train, *valid;
    char *name_texts[RGMI_MAX_TENSORS];
    const char *names[RGMI_MAX_TENSORS + 1];
    rgmi_element_form form;
    int64_t checked; /* batches of each data set that are held against the form before the first
                        step; 0: none */
    int64_t label_count, validation_steps; /* 0: to the end */
    rgm_estimator estimator;
    rgm_sequential sequential;
    /** Gives the outputs in the place of the program's function; NULL: that one does. */
    void (*graph)(struct rgmi_hooks_task *task, rgm_scope *scope, const rgm_record *record);
    rgm_serving_receiver receivers[RGM_MAX_RECEIVERS];
    int64_t receiver_count;
    bool writes_onnx, writes_saved_model; /* of receivers; what parses is always a SavedModel too */

    rgm_measures measures;
    int64_t shards; /* runtime.shards */

    rgm_value *inputs[RGMI_MAX_TENSORS]; /* NULL: a tensor of texts */
    bool is_asked;                       /* only questions come, see rgmi_hooks_gives() */
    bool asked_for[RGMI_MAX_TENSORS];    /* tensors that a row has, one after the other */
    rgm_outputs outputs;
    rgm_head served[RGM_MAX_HEADS]; /* predictions */
    int64_t served_count;
    int64_t records; /* fed since it was last set to 0 */
    rgmi_callbacks callbacks;
} rgmi_hooks_task;

/* hooks_open.c */
/** The hooks of a file's entrypoint; *object is for dlclose(). */
rgm_status rgmi_hooks_find(const rgm_trial_hooks **out, void **object, const char *entrypoint);
rgm_status rgmi_hooks_check(const rgm_trial_hooks *hooks);
static inline bool rgmi_is_estimator(const rgm_trial_hooks *hooks)
{
    return hooks->build_estimator != NULL;
}

/* hooks_premade.c */
/** The experiment that the setup's hooks make of its point; *out NULL: they make a task themselves.
 * @param name  [out, owned] of the hooks, rgm_free(); may be NULL */
rgm_status rgmi_premade_experiment(rgm_experiment **out, char **name, const rgm_trial_setup *setup);

/* hooks_sequential.c */
/** Ask for the list of layers, which then gives the outputs. */
rgm_status rgmi_sequential_ask(rgmi_hooks_task *task);

/* hooks_config.c */
/** What a hook came to: its own error, or what it asked for and did not get. */
rgm_status rgmi_hook_done(rgmi_hooks_task *task, rgm_status status, const char *hook);

/** A number above 0 for each axis of the tensors of a record. */
static inline int rgmi_axis_number(int64_t tensor, int axis)
{
    return (int)tensor * RGM_MAX_RANK + axis;
}

/* hooks_data.c */
/** The axis that an axis differs as, which may be itself. */
int rgmi_axis_root(const rgmi_element_form *form, int64_t tensor, int axis);
/** What hooks say of their tensors beside the data. */
typedef struct rgmi_data_words {
    const char *const *names;
    const char *const *valid_names; /* of the validation's elements; NULL: `names` */
    int64_t labels, valid_labels;
    const char *const *varying[2]; /* lists of axes; each may be NULL */
} rgmi_data_words;
/** Names, batches that are tensors in the order of training's names, and the form that both data
 * sets have. */
rgm_status rgmi_hooks_data(rgmi_hooks_task *task, const rgmi_data_words *words);
/** Whether a batch has the form that the graph was built for. RGM_ERR_SHAPE says what differs. */
rgm_status rgmi_hooks_check_batch(const rgmi_hooks_task *task, const rgm_element *batch);

/* hooks_graph.c */
rgm_status rgmi_hooks_model(rgm_task_model *out, rgm_scope *scope, void *state);
rgm_status rgmi_hooks_metrics(rgm_task_metric *out, int64_t *count, const rgm_task_model *model,
                              bool training, void *state);
void rgmi_hooks_count(double *const *states, const rgm_task_metric *metrics, int64_t count,
                      const rgm_step *step, void *state);

/* hooks_reduce.c */
/** Ask make_metrics. */
rgm_status rgmi_measures_ask(rgmi_hooks_task *task);
/** Find what reducers look at, once the graph's outputs are known. */
rgm_status rgmi_reducers_bind(rgmi_hooks_task *task);
/** Whether a metric of validation is no sum but what the task aggregates. */
bool rgmi_is_reduced(const rgmi_hooks_task *task, const rgmi_output *output);
/** Set what the task aggregates. */
void rgmi_reducers_attach(rgm_task *out, const rgmi_hooks_task *task);

/* hooks_task.c */
/** The task of a setup's point, with what its file says of its run: of the setup's hooks, else of
 * those of the entrypoint. */
rgm_status rgmi_hooks_task_create(rgmi_hooks_task **out, rgm_task *task, rgm_run_options *options,
                                  rgm_arena *arena, const rgm_trial_setup *setup);
/** Only the hooks and what they are given: the search file, the point. */
rgm_status rgmi_hooks_task_begin(rgmi_hooks_task **out, const rgm_trial_setup *setup,
                                 rgm_arena *arena);
void rgmi_hooks_task_release(rgmi_hooks_task *task);

/* hooks_callbacks.c */
rgm_status rgmi_callbacks_check(const rgm_trial_hooks *hooks);
/** Let a run that is to be opened tell the callbacks; without `calls`, which is for a run that does
 * not train, checkpoints alone keep what they have. Nothing without callbacks. */
rgm_status rgmi_callbacks_attach(rgm_run_options *options, rgmi_hooks_task *task,
                                 const char *run_dir, rgm_comm *comm, bool calls);
/** The run is open. */
rgm_status rgmi_callbacks_opened(rgmi_hooks_task *task, const rgm_open_run *run);
/** on_end, if there was a begin. */
void rgmi_callbacks_end(rgmi_callbacks *callbacks);
void rgmi_callbacks_release(rgmi_callbacks *callbacks);

/* hooks_examples.c */
/** RGM_ERR_CONFIG when no Example can have what a receiver's features say. */
rgm_status rgmi_hooks_check_features(const rgmi_hooks_task *task,
                                     const rgm_serving_receiver *receiver);
/** Let the task be asked with Examples, if one of its receivers parses them. */
void rgmi_hooks_take_examples(rgm_task *out, const rgmi_hooks_task *task);
/** The receiver by which Examples are read, the first that has features; NULL: none has. */
const rgm_serving_receiver *rgmi_hooks_parser(const rgmi_hooks_task *task);
/** The number of the tensor of a name; -1: there is none. */
int64_t rgmi_hooks_tensor(const rgmi_hooks_task *task, const char *name);
/** A batch of what is asked about: some of the record's tensors, owned, and which each is. */
typedef struct rgmi_asked_records {
    int64_t count, inputs[RGMI_MAX_TENSORS];
    rgm_tensor *tensors[RGMI_MAX_TENSORS];
} rgmi_asked_records;
void rgmi_asked_release(void *batch); /* takes NULL */
/** It takes the batch over if it succeeds. */
rgm_status rgmi_asked_element(rgm_element **out, rgmi_asked_records *batch);
/** Whether a batch is one of those, and its feeds: of its tensors alone. */
bool rgmi_hooks_is_asked(const rgm_element *batch);
rgm_status rgmi_hooks_feed_asked(rgm_feed *feeds, int64_t capacity, int64_t *count,
                                 const rgmi_hooks_task *task, const rgm_element *element);
/** Put a number into a tensor of numbers. RGM_ERR_DATA: it is no value of the dtype. */
rgm_status rgmi_put_value(rgm_tensor *out, int64_t at, double value);
/** The features of a receiver as JSON. */
rgm_status rgmi_hooks_print_features(rgm_text *out, const rgmi_hooks_task *task,
                                     const rgm_serving_receiver *receiver);

/* hooks_asked.c */
/** Whether a prediction is given where the task is asked: by the receiver that Examples are read
 * by, else by the first one; without receivers every prediction is. */
bool rgmi_hooks_gives(const rgmi_hooks_task *task, const rgmi_output *output);
/** Let the task be asked in rows, if no receiver of its parses Examples. */
void rgmi_hooks_take_rows(rgm_task *out, const rgmi_hooks_task *task);
/** Once the model is built: whether questions of its form suffice for its predictions.
 * RGM_ERR_UNSUPPORTED says what does not fit. */
rgm_status rgmi_hooks_check_asked(const rgmi_hooks_task *task);

/* hooks_export.c */
/** Mark the tensors of the record that an output is made of outside of training. */
rgm_status rgmi_hooks_needs(bool needed[RGMI_MAX_TENSORS], const rgmi_hooks_task *task,
                            const rgmi_output *output);
/** RGM_ERR_CONFIG when a prediction of an estimator cannot be made of its features alone. */
rgm_status rgmi_hooks_check_prediction(const rgmi_hooks_task *task, const rgmi_output *output);
/** The receivers as an exporter of runs and of checkpoints: <folder>/<name>/model.onnx of each. */
rgm_exporter rgmi_hooks_exporter(rgmi_hooks_task *task);
/** With receivers, take what trainer.checkpoint.exports says: the formats of their files. */
rgm_status rgmi_hooks_take_formats(rgmi_hooks_task *task, rgm_run_options *options);

#endif
