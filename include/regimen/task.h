/*
 * task: what to learn. A task builds inputs and model, names heads with their losses and metrics,
 * and knows nothing of loops: the trainer drives it. rgm_gnn_task is the runner's per-head task
 * (read labels out of the graph, predict from the states behind the GNN); metrics run on the host.
 */
#ifndef REGIMEN_TASK_H
#define REGIMEN_TASK_H

#include <regimen/data.h>
#include <regimen/export.h>
#include <regimen/graph.h>
#include <regimen/models.h>
#include <regimen/nn.h>
#include <regimen/optim.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- metrics ------------------------------------------------------------------------------- */

/** What a metric sees of one batch. Items of weight 0 (padding) do not count. */
typedef struct rgm_metric_batch {
    const rgm_tensor *predictions; /* f32/f64 [n, units]: logits        */
    const rgm_tensor *labels;      /* [n] classes, or [n(, units)] 0/1  */
    const rgm_tensor *weights;     /* [n], NULL: ones                   */
} rgm_metric_batch;

typedef struct rgm_metric rgm_metric;

/** A kind of metric: a sum over batches, kept as doubles so that it can be saved, and its result.
 */
typedef struct rgm_metric_type {
    const char *name;
    bool smaller_is_better;
    int64_t (*state_size)(const rgm_metric *metric); /* doubles, zero at the start */
    void (*update)(double *state, const rgm_metric *metric, const rgm_metric_batch *batch);
    double (*result)(const double *state, const rgm_metric *metric); /* 0 when nothing was seen */
} rgm_metric_type;

/** A metric of a head, as reported. */
struct rgm_metric {
    const rgm_metric_type *type;
    char name[64];    /* "accuracy", "recall_at_precision_90", "precision_for_cat" */
    int64_t class_id; /* per-class metrics                                          */
    double precision; /* recall at precision                                        */
};

extern const rgm_metric_type rgm_metric_accuracy;      /* argmax == label, ties to the lowest     */
extern const rgm_metric_type rgm_metric_cross_entropy; /* mean of logsumexp(z) - z_y              */
extern const rgm_metric_type rgm_metric_class_precision; /* argmax == c against label == c */
extern const rgm_metric_type rgm_metric_class_recall;
extern const rgm_metric_type rgm_metric_binary_accuracy; /* (logit > 0) == label, over all units */
extern const rgm_metric_type rgm_metric_binary_cross_entropy;
extern const rgm_metric_type rgm_metric_precision; /* positive iff logit > 0                  */
extern const rgm_metric_type rgm_metric_recall;
extern const rgm_metric_type rgm_metric_auc_roc; /* 200 thresholds, as Keras                */
extern const rgm_metric_type rgm_metric_auc_pr;
extern const rgm_metric_type rgm_metric_recall_at_precision;

/* ---- logs ---------------------------------------------------------------------------------- */

/** A number with its name: a metric, a figure of a checkpoint. */
typedef struct rgm_named_number {
    const char *name;
    double value;
} rgm_named_number;

/**
 * What a loop or a pass comes to: named numbers in order, "loss" first. A '/' in a name makes a
 * level of nesting, which is a sub-folder of the summaries. Zero-initialised it is empty.
 */
typedef struct rgm_logs {
    rgm_named_number *items; /* names are the logs' own */
    int64_t count, capacity;
} rgm_logs;
/** Set, or set again; the name is copied. */
rgm_status rgm_logs_set(rgm_logs *logs, const char *name, double value);
bool rgm_logs_has(const rgm_logs *logs, const char *name);
/** NaN when there is none of that name. */
double rgm_logs_get(const rgm_logs *logs, const char *name);
/** Set in `to` all that `from` has. */
rgm_status rgm_logs_merge(rgm_logs *to, const rgm_logs *from);
/** Empty it and give its memory back. */
void rgm_logs_clear(rgm_logs *logs);

/* ---- losses -------------------------------------------------------------------------------- */

/** sum(weights * x) / max(sum(weights), tiny) over items [n]; NULL weights: the mean. Scalar. */
rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights);
/**
 * Cross-entropy [n] of logits [n, classes] with smoothed labels [n] i32/i64: the target of class k
 * is (1 - smoothing) [k = label] + smoothing / classes (Szegedy et al. 2016, section 7). smoothing
 * in [0, 1).
 */
rgm_value *rgm_smoothed_cross_entropy(rgm_value *logits, rgm_value *labels, double smoothing);

/* ---- task ---------------------------------------------------------------------------------- */

typedef enum rgm_mode { RGM_TRAIN, RGM_VALID, RGM_TEST } rgm_mode;
const char *rgm_mode_name(rgm_mode mode); /* "train", "valid", "test" */

#define RGM_MAX_HEADS   8
#define RGM_MAX_METRICS 32

/** One output of a model with what judges it. */
typedef struct rgm_head {
    char name[64];          /* "classification_logits"; metrics of several heads get it as prefix */
    rgm_value *predictions; /* [n, units] */
    rgm_value *labels;
    rgm_value *weights;   /* [n] or NULL                                                         */
    rgm_value *loss;      /* scalar: mean over the real items; NULL when build_losses makes one  */
    double loss_weight;   /* of the default build_losses                                         */
    int64_t metric_count; /* the model's own ("compiled") metrics, in every mode                 */
    rgm_metric metrics[RGM_MAX_METRICS];
} rgm_head;

/** What a task's model consists of. */
typedef struct rgm_task_model {
    int64_t head_count;
    rgm_head heads[RGM_MAX_HEADS];
    rgm_value *loss; /* set by the trainer from build_losses: the scalar to minimise */
} rgm_task_model;

/** A metric and the head it looks at. */
typedef struct rgm_task_metric {
    rgm_metric metric;
    int64_t head;
} rgm_task_metric;

/** How the examples of a training step are drawn: what a privacy guarantee rests on. */
typedef struct rgm_sampling {
    int64_t examples; /* in the training set                                       */
    double rate;      /* expected batch / examples                                 */
    bool poisson;     /* each by a coin of its own; else batches of a shuffled pass */
} rgm_sampling;

/** One step of training or validation, as a task's functions see it. */
typedef struct rgm_step {
    rgm_mode mode;
    int64_t global_step; /* steps done before this one */
    rgm_element *inputs; /* the batch, borrowed */
    rgm_element *extra; /* what next_eval_inputs gave beside it, never fed to the model; or NULL  */
    /* What the default steps fill in; tensors are borrowed until the next step of the mode. */
    rgm_tensor *predictions[RGM_MAX_HEADS], *labels[RGM_MAX_HEADS], *weights[RGM_MAX_HEADS];
    double loss;  /* [out] of this step; NaN in validation: it has none                      */
    double items; /* [out] how many it is the mean of: the weight of this step in a loop's   */
    struct rgm_trainer *trainer; /* train.h: for steps of one's own that go on to the default */
    const rgm_parameters
        *parameters; /* the weights at this moment: averages while they are evaluated */
    bool bf16; /* runtime.mixed_precision: products of what a task runs itself round to bf16 too */
} rgm_step;

/** How a task writes its trained model for other programs, where that is more than a graph of its
 * heads. */
typedef struct rgm_task_export {
    const char *file; /* the one to begin with, "translation.json" */
    /** Write all of it into a folder that is there; the task's files come beside it. */
    rgm_status (*save)(const char *folder, const rgm_parameters *parameters, void *state);
    /**
     * Run what stands there with export's interpreter on up to max_batches batches of a mode's
     * data, and add what is compared with the executor's results to `check`.
     */
    rgm_status (*verify)(rgm_export_check *check, const char *folder,
                         const rgm_parameters *parameters, rgm_mode mode, int64_t max_batches,
                         void *state);
} rgm_task_export;

/** A file that a trained model needs beside its weights: a tokenizer, say. */
typedef struct rgm_task_file {
    const char *name; /* in run folders and exports, "tokenizer.model" */
    const void *data;
    int64_t size;
    const char *origin; /* where it was read: for messages */
} rgm_task_file;
#define RGM_MAX_TASK_FILES 8

/**
 * A task for the trainer: the seeds' tfm Task as a table of functions over `state`. Those that may
 * be NULL say what then happens.
 */
typedef struct rgm_task {
    const char *name;
    const char *
        items; /* what a step's weights count, for people: "target tokens"; NULL: nothing special */
    void *state;

    /* ---- building, each called once ---- */

    /**
     * Batches of a mode. *out is NULL when the task has no such data. Train data repeat for ever
     * when `endless`, else they are one pass.
     */
    rgm_status (*build_inputs)(rgm_dataset **out, void *state, rgm_mode mode, bool endless);
    /** Add the model to the scope's compute graph: its heads. NULL: no model; train_step is then
     * needed. */
    rgm_status (*build_model)(rgm_task_model *out, rgm_scope *scope, void *state);
    /**
     * The scalar to minimise. aux is the sum of the losses that layers added to the scope
     * (regularisation), NULL when there are none. NULL: sum of loss_weight * loss of the heads,
     * plus aux.
     */
    rgm_value *(*build_losses)(const rgm_task_model *model, rgm_value *aux, void *state);
    /**
     * Metrics beside the model's own, for training or for validation. NULL: none.
     *
     * @param out  [out] [RGM_MAX_METRICS]
     */
    rgm_status (*build_metrics)(rgm_task_metric *out, int64_t *count, const rgm_task_model *model,
                                bool training, void *state);
    /** What to feed for a batch; feeds borrow from it. Needed with a model. */
    rgm_status (*feeds)(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch);
    /**
     * Files that travel with the weights, borrowed from the task: a run folder keeps them from its
     * beginning, and a run goes on only with the same ones. NULL: there are none.
     *
     * @param out  [out] [RGM_MAX_TASK_FILES]
     */
    void (*files)(rgm_task_file *out, int64_t *count, void *state);
    /** NULL: the graph of every head, model.onnx. */
    const rgm_task_export *exports;
    /**
     * Append to `out` what a person should know of the training data once they are there, in one
     * line: "batches of 1,024 tokens (91% real)". NULL: nothing.
     */
    rgm_status (*describe)(rgm_text *out, void *state);
    /** How build_inputs draws training examples. NULL: training with privacy is refused. */
    rgm_status (*sampling)(rgm_sampling *out, void *state);
    /** NULL: rgm_optimizer_create(). */
    rgm_status (*create_optimizer)(rgm_optimizer **out, const rgm_optimizer_options *options,
                                   const rgm_parameters *parameters, void *state);
    /**
     * Called when a run has no checkpoint of its own, behind random initialisation and
     * `trainer.initialize`. NULL: nothing more.
     */
    rgm_status (*initialize)(rgm_parameters *parameters, void *state);

    /* ---- steps ---- */

    /**
     * One training step: sets step->loss and items. NULL: rgm_trainer_default_train_step(), which
     * runs the model forward and backward and lets the optimizer update.
     */
    rgm_status (*train_step)(rgm_step *step, void *state);
    /** NULL: rgm_trainer_default_validation_step(): inference_step, then loss and metrics. */
    rgm_status (*validation_step)(rgm_step *step, void *state);
    /** Forward alone, without dropout: predictions. NULL: rgm_trainer_default_inference_step(). */
    rgm_status (*inference_step)(rgm_step *step, void *state);
    /** Update the task's metrics (build_metrics) with a step. NULL: each with its head. */
    void (*process_metrics)(double *const *states, const rgm_task_metric *metrics, int64_t count,
                            const rgm_step *step, void *state);
    /** The same for the model's own (rgm_head.metrics). */
    void (*process_compiled_metrics)(double *const *states, const rgm_task_metric *metrics,
                                     int64_t count, const rgm_step *step, void *state);

    /* ---- over a validation pass, for what no sum of steps can tell (BLEU) ---- */

    /** Add a step to *aggregate, NULL at the first one. NULL: nothing is aggregated. */
    rgm_status (*aggregate_logs)(void **aggregate, const rgm_step *step, void *state);
    /** Numbers from what was aggregated, added to the pass' logs. Needed with aggregate_logs. */
    rgm_status (*reduce_aggregated_logs)(rgm_logs *logs, void *aggregate, int64_t global_step,
                                         void *state);
    /** Always called behind it, and when a pass fails. */
    void (*release_aggregate)(void *aggregate, void *state);
    /**
     * The names of reduce_aggregated_logs' numbers, ended by NULL, so that one that is to choose
     * the best weights can be checked before the first step. NULL: they are known when the first
     * validation has made them.
     */
    const char *const *(*reduced_names)(void *state);
    /** Whether a smaller one of reduce_aggregated_logs' numbers is better. NULL: larger is. */
    bool (*smaller_is_better)(const char *name, void *state);
} rgm_task;

/**
 * What `feeds` is for batches of tensors: tensor i of the batch goes to inputs[i]. RGM_ERR_ARG when
 * there is no room for them.
 */
rgm_status rgm_feed_tensors(rgm_feed *feeds, int64_t capacity, int64_t *count,
                            rgm_value *const *inputs, int64_t input_count, rgm_element *batch);

/** Update metrics of a step with their heads' predictions and labels: the default of
 * process_metrics. */
void rgm_metrics_update(double *const *states, const rgm_task_metric *metrics, int64_t count,
                        const rgm_step *step);

/**
 * Write a task's files into a folder that is there, each whole or not at all; those of the same
 * name are replaced.
 */
rgm_status rgm_task_files_save(const rgm_task *task, const char *folder);
/**
 * Whether those that the folder has are the task's: RGM_ERR_CONFIG names the one that is another.
 * What the folder lacks is no difference.
 */
rgm_status rgm_task_files_check(const rgm_task *task, const char *folder);

/* ---- task types: what an experiment file can name -----------------------------------------------
 */

/** A network a task can train: `model.type` and its keys. Tasks extend the row by what builds it.
 */
typedef struct rgm_network_type {
    const char *name;
    const char *help;
    size_t options_size;
    void (*defaults)(void *options);
    const rgm_field *fields;
} rgm_network_type;

/** A task that brings its own kind of data and networks; the three tables are offsets into
 * `options`. */
typedef struct rgm_task_type {
    const char *name; /* task.type */
    const char *help;
    size_t options_size;
    void (*defaults)(void *options);
    const rgm_field *data_fields;            /* keys of `data:`             */
    const rgm_field *task_fields;            /* keys of `task:` beside type */
    const rgm_network_type *const *networks; /* ended by NULL */
    /** RGM_ERR_CONFIG when options contradict each other or lack something; reads no data. May be
     * NULL. */
    rgm_status (*check)(const void *options);
    /**
     * Make the task. Options outlive it. Errors: RGM_ERR_CONFIG (key, value, what to do),
     * RGM_ERR_IO.
     */
    rgm_status (*create)(rgm_task *out, const void *options, const rgm_network_type *network,
                         const void *network_options, uint64_t seed, int threads);
    void (*release)(rgm_task *task);
    /**
     * Options for a run whose folder (borrowed) there is. trained: it is looked at, and what
     * `files` gave is read from there where it has such a file, in the place of those that the
     * options name. Otherwise it goes on, and only what it made itself is read from there, not made
     * again. NULL: there are no such files.
     */
    void (*use_files)(void *options, const char *run_dir, bool trained);
} rgm_task_type;

/* ---- records: fixed-size arrays of numbers with a class each
 * ------------------------------------- */

/** "classification": its `data:` and `task:` keys. Files are CSV (plain or gzip), one record a
 * line. */
typedef struct rgm_record_options {
    const char *path;  /* data: folder of the files                                            */
    const char *train; /* file names; train is required,                                       */
    const char *valid; /* NULL: valid_fraction of train; with that 0: no validation            */
    const char *test;  /* NULL: none                                                           */
    double valid_fraction; /* of train, held out by the run's seed; in [0, 1) */
    bool header;       /* each file's first line names the columns                             */
    const char *label; /* column of the class: "first", "last" or its number from 0            */
    double scale;      /* the other columns are divided by it; > 0                             */
    rgm_ints shape;    /* of a record, e.g. [8, 8, 1] (rows, columns, channels); none: as wide */
    int64_t batch_size;
    bool poisson;        /* training records by a coin each, batch_size on average             */
    bool shuffle;        /* train in another order each epoch                                    */
    int64_t shift;       /* train images are moved by up to so many rows and columns, at random  */
    int64_t num_classes; /* task: this or class_names; labels are 0 .. num_classes-1             */
    rgm_texts class_names;
    double label_smoothing; /* in the loss, not in the metrics; in [0, 1) */
    bool per_class_statistics;
} rgm_record_options;

/** A network of records: x [n, shape...] in the scope's dtype -> [n, units], the logits' input. */
typedef struct rgm_record_network {
    rgm_network_type type;
    rgm_value *(*build)(rgm_scope *scope, rgm_value *x, const void *options);
} rgm_record_network;

/**
 * One class for each record: a network, a dense layer "classification_logits" on it, smoothed
 * cross-entropy. Files are read when the task is created.
 */
extern const rgm_task_type rgm_record_classification;

/* ---- GNN tasks: one head on the states behind the GNN
 * -------------------------------------------- */

/** Where a GNN task reads states: nodes behind a readout, each component's first node, or pooled.
 */
typedef enum rgm_readout_place { RGM_READ_NODES, RGM_READ_ROOT, RGM_READ_GRAPH } rgm_readout_place;

/** Classification; field names are the config keys of `task:`. */
typedef struct rgm_classification_options {
    const char *node_set; /* whose states; required for root_node and graph                       */
    const char *state;    /* state feature, default hidden_state                                  */
    const char *key;      /* nodes: readout key, default "seed"                                   */
    const char *readout_set; /* nodes: default "_readout"; labels are read from the same set */
    const char *reduce_type; /* graph: default "mean" */
    const char *label;   /* label feature: on readout_set if it is there, else (root_node) on the
                            node set or (graph) on the context, and then hidden from the model   */
    int64_t num_classes; /* multiclass: this or class_names                                      */
    rgm_texts class_names;
    bool per_class_statistics;
    int64_t units; /* binary: independent labels, default 1                                */
    rgm_texts recall_at_precisions; /* binary: e.g. [0.9] */
    int head;  /* 0 dense: one dense layer on the states; 1 none: states are logits    */
    double l2; /* of the dense head                                                    */
} rgm_classification_options;

/** A GNN task that an experiment file can name. */
typedef struct rgm_gnn_task_type {
    const char *name; /* "node_classification", "root_node_binary_classification", ... */
    const char *help;
    rgm_readout_place place;
    bool binary;
    const rgm_field *fields;
} rgm_gnn_task_type;

const rgm_gnn_task_type *const *rgm_gnn_task_types(int64_t *count);
const rgm_gnn_task_type *rgm_gnn_task_find(const char *name); /* NULL if none */

/** A task with its options. Texts are borrowed: they must outlive the run. */
typedef struct rgm_gnn_task {
    const rgm_gnn_task_type *type;
    const char *name; /* of the head; NULL: "classification_logits" */
    rgm_classification_options options;
} rgm_gnn_task;

/** Defaults of every option. */
void rgm_classification_defaults(rgm_classification_options *options);
/** Multiclass classification of the nodes behind `_readout`, with a dense head. */
rgm_gnn_task rgm_node_multiclass(const char *node_set, const char *label, int64_t num_classes);
rgm_gnn_task rgm_root_node_multiclass(const char *node_set, const char *label, int64_t num_classes);
rgm_gnn_task rgm_graph_multiclass(const char *node_set, const char *label, int64_t num_classes);

/** RGM_ERR_CONFIG when options contradict each other or the schema (NULL: not asked). */
rgm_status rgm_gnn_task_check(const rgm_gnn_task *task, const rgm_schema *schema);
/**
 * Take the labels out of the graph: *labels is their value, *out the graph without them when they
 * stood where the model could see them (else `in` itself, so that tasks share one forward pass).
 */
rgm_status rgm_gnn_task_preprocess(const rgm_graph_value **out, rgm_value **labels,
                                   const rgm_gnn_task *task, const rgm_graph_value *in);
/** Logits [n, units] from the states behind the GNN. */
rgm_value *rgm_gnn_task_predict(const rgm_gnn_task *task, rgm_scope *scope,
                                const rgm_graph_value *graph);
/** Loss and metrics of `head`, whose predictions, labels and weights are set. */
rgm_status rgm_gnn_task_judge(rgm_head *head, const rgm_gnn_task *task);
/** Number of units a head without dense layer must find in the states. */
int64_t rgm_gnn_task_units(const rgm_gnn_task *task);

#ifdef __cplusplus
}
#endif
#endif
