/*
 * task: what to learn. A task builds inputs and model, names heads with their losses and metrics, and
 * knows nothing of loops: the trainer drives it. rgm_gnn_task is the runner's per-head task (read
 * labels out of the graph, predict from the states behind the GNN); metrics run on the host.
 */
#ifndef REGIMEN_TASK_H
#define REGIMEN_TASK_H

#include <regimen/data.h>
#include <regimen/gnn.h>
#include <regimen/models.h>
#include <regimen/nn.h>

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

/** A kind of metric: a sum over batches, kept as doubles so that it can be saved, and its result. */
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

extern const rgm_metric_type rgm_metric_accuracy;        /* argmax == label, ties to the lowest     */
extern const rgm_metric_type rgm_metric_cross_entropy;   /* mean of logsumexp(z) - z_y              */
extern const rgm_metric_type rgm_metric_class_precision; /* argmax == c against label == c          */
extern const rgm_metric_type rgm_metric_class_recall;
extern const rgm_metric_type rgm_metric_binary_accuracy; /* (logit > 0) == label, over all units    */
extern const rgm_metric_type rgm_metric_binary_cross_entropy;
extern const rgm_metric_type rgm_metric_precision;       /* positive iff logit > 0                  */
extern const rgm_metric_type rgm_metric_recall;
extern const rgm_metric_type rgm_metric_auc_roc;         /* 200 thresholds, as Keras                */
extern const rgm_metric_type rgm_metric_auc_pr;
extern const rgm_metric_type rgm_metric_recall_at_precision;

/* ---- losses -------------------------------------------------------------------------------- */

/** sum(weights * x) / max(sum(weights), tiny) over items [n]; NULL weights: the mean. Scalar. */
rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights);

/* ---- task ---------------------------------------------------------------------------------- */

typedef enum rgm_mode { RGM_TRAIN, RGM_VALID, RGM_TEST } rgm_mode;
const char *rgm_mode_name(rgm_mode mode); /* "train", "valid", "test" */

#define RGM_MAX_HEADS   8
#define RGM_MAX_METRICS 32

/** One output of a model with what judges it. */
typedef struct rgm_head {
    char name[64];          /* "classification_logits"; metrics of several heads get it as prefix */
    rgm_value *predictions; /* [n, units]                                                          */
    rgm_value *labels;
    rgm_value *weights;     /* [n] or NULL                                                         */
    rgm_value *loss;        /* scalar: mean over the real items                                    */
    double loss_weight;
    int64_t metric_count;
    rgm_metric metrics[RGM_MAX_METRICS];
} rgm_head;

/** What a task's model consists of. */
typedef struct rgm_task_model {
    rgm_value *loss; /* scalar to minimise: weighted sum of the heads' losses, plus regularisation */
    int64_t head_count;
    rgm_head heads[RGM_MAX_HEADS];
} rgm_task_model;

/** A task for the trainer: its functions and their state. */
typedef struct rgm_task {
    const char *name;
    void *state;
    /** Add the model to the scope's compute graph. Called once. */
    rgm_status (*build_model)(rgm_task_model *out, rgm_scope *scope, void *state);
    /** One pass of batches. *out is NULL when the task has no such data. Train data are endless (repeat) when `endless`. */
    rgm_status (*build_inputs)(rgm_dataset **out, void *state, rgm_mode mode, bool endless);
    /** What to feed for a batch; feeds borrow from it. */
    rgm_status (*feeds)(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch);
} rgm_task;

/* ---- GNN tasks: one head on the states behind the GNN -------------------------------------------- */

/** Where a GNN task reads states: nodes behind a readout, each component's first node, or pooled. */
typedef enum rgm_readout_place { RGM_READ_NODES, RGM_READ_ROOT, RGM_READ_GRAPH } rgm_readout_place;

/** Classification; field names are the config keys of `task:`. */
typedef struct rgm_classification_options {
    const char *node_set;    /* whose states; required for root_node and graph                       */
    const char *state;       /* state feature, default hidden_state                                  */
    const char *key;         /* nodes: readout key, default "seed"                                   */
    const char *readout_set; /* nodes: default "_readout"; labels are read from the same set         */
    const char *reduce_type; /* graph: default "mean"                                                */
    const char *label;       /* label feature: on readout_set if it is there, else (root_node) on the
                                node set or (graph) on the context, and then hidden from the model   */
    int64_t num_classes;     /* multiclass: this or class_names                                      */
    rgm_texts class_names;
    bool per_class_statistics;
    int64_t units;           /* binary: independent labels, default 1                                */
    rgm_texts recall_at_precisions; /* binary: e.g. [0.9]                                            */
    int head;                /* 0 dense: one dense layer on the states; 1 none: states are logits    */
    double l2;               /* of the dense head                                                    */
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

/** RGM_ERR_CONFIG when options contradict each other or the schema (names what is there instead). */
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
