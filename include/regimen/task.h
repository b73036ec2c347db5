/*
 * task: what can be learned: classes of records and of graphs, translation; scores of translations.
 * What every task has in common is in train.h.
 */
#ifndef REGIMEN_TASK_H
#define REGIMEN_TASK_H

#include <regimen/graph.h>
#include <regimen/models.h>
#include <regimen/train.h>

#ifdef __cplusplus
extern "C" {
#endif

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
