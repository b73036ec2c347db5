/*
 * graph_tasks: tasks on graphs. A task reads labels from a graph and predicts them from the states
 * that a model computes. A kind of task is one row with an options table, so that an experiment
 * file can name it.
 */
#ifndef REGIMEN_GRAPH_TASKS_TYPES_H
#define REGIMEN_GRAPH_TASKS_TYPES_H

#include <regimen/gnn_layers.h>
#include <regimen/controller_run.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- tasks on graphs ------------------------------------------------------------------------- */

#define RGM_MAX_VIEWS 6

/**
 * The views that a task makes of a graph before the GNN sees it; later what the GNN made of them.
 */
typedef struct rgm_graph_views {
    int64_t count; /* 1 .. RGM_MAX_VIEWS */
    const rgm_graph_value *graphs[RGM_MAX_VIEWS];
    rgm_value *labels; /* taken out of the graph; NULL: there are none */
    bool complete;     /* no label is missing, so none is searched for */
    /**
     * If true, this view goes through a second GNN, whose parameters follow those of the first:
     * rgm_scope_follow(scope, "target", momentum). Never for view 0.
     */
    bool by_follower[RGM_MAX_VIEWS];
    double momentum;
    const rgm_graph_value *graph; /* the source of the views, set for the task: after the GNN too it
                                     has the readouts' features, which the GNN did not see */
} rgm_graph_views;

/**
 * The value that marks a missing label. A missing label counts neither in losses nor in metrics;
 * the other labels of its item still do.
 */
typedef enum rgm_missing_labels {
    RGM_MISSING_NONE,    /* none: each item has a label */
    RGM_MISSING_CLASSES, /* rgm_dtype_missing() or below 0: for classes and 0/1 labels */
    RGM_MISSING_NUMBERS  /* rgm_dtype_missing(): NaN, the lowest integer              */
} rgm_missing_labels;

/** Counts of the labels of some data; each unit of an item is one label. */
typedef struct rgm_label_counts {
    int64_t known, missing;
    int64_t units, classes;
    int64_t *of; /* [units, classes]: the count of each; NULL: of numbers, or none was seen */
    /* for rankings: components with labels, and those among them whose labels are all equal */
    int64_t lists, unordered;
    int64_t negative, minus_one; /* of the known: those below 0, and integers that are -1 */
} rgm_label_counts;

/**
 * A kind of task on graphs: functions that add to the compute graph; each gets the task's options.
 * A function may also leave a failure to the compute graph, which keeps the first.
 */
/** What a graph without a readout is asked about where new data are predicted for. */
typedef struct rgm_graph_question {
    const char *readout_set;
    const char *key;      /* nodes: those that "<readout_set>/<key>" comes from; NULL: pairs of the
                             nodes that "<readout_set>/source" and "/target" come from */
    bool of_roots;        /* of several graphs each one's first node alone */
    const char *relation; /* pairs: the readout set's feature that numbers them; NULL: none */
    int64_t relations;    /* how many numbers, if the feature does not say  */
} rgm_graph_question;

typedef struct rgm_graph_task_type {
    rgm_section_type section; /* task.type, its keys and their checks */
    const char *output;       /* name of the output of a task without one; NULL: section.name */
    /** Check that the data have what the options name: RGM_ERR_CONFIG. NULL: they name nothing. */
    rgm_status (*check)(const void *options, const rgm_schema *schema);
    /**
     * Check that a graph has as many items as are predicted: RGM_ERR_DATA. `together`: the graph is
     * a whole mini-batch of its provider, whose roots may be in one component. NULL: every graph
     * has.
     */
    rgm_status (*check_items)(const rgm_graph *graph, bool together, const void *options);
    /** Check that each label of the graph is a valid one: RGM_ERR_DATA. NULL: all are. */
    rgm_status (*check_labels)(const rgm_graph *graph, const void *options);
    /**
     * Add a graph's labels to *counts, whose `of` the caller then owns. RGM_ERR_NOMEM. NULL: the
     * labels are not counted.
     */
    rgm_status (*count_labels)(rgm_label_counts *counts, const rgm_graph *graph,
                               const void *options);
    /**
     * Where in the options a run puts the counts of the training part while it builds the model;
     * returns NULL if these options need none. NULL: no options need them.
     */
    const rgm_label_counts **(*counts)(void *options);
    /**
     * A component's items are a list. Lists are counted with the labels; for this the labels of the
     * training part are read wherever they are. At least one list must have an order.
     */
    bool ranks;
    rgm_missing_labels missing;
    /**
     * The edge set that predictions are about, for a split of its edges: its name in the options,
     * or NULL for the only one. NULL: predictions are not about edges.
     */
    const char *(*edge_set)(const void *options);
    /** The feature that has the labels, for samplers that carry it along; NULL: there is none. */
    const char *(*label)(const void *options);
    /**
     * Make one or several views of a graph and take the labels out of them. A view that is `graph`
     * itself is shared: the GNN runs once for each distinct view.
     */
    rgm_status (*preprocess)(rgm_graph_views *views, const rgm_graph_value *graph,
                             const void *options);
    /**
     * The set that has an item for each prediction, in its order: which of a padded graph are real,
     * and which of several graphs' are whose. NULL: one prediction a component.
     *
     * @param set  [out] NULL with RGM_CONTEXT_PIECE, which is one item a component
     */
    void (*item_set)(rgm_piece *piece, const char **set, const rgm_schema *schema,
                     const void *options);
    /**
     * Make the predictions of one or several outputs from the views after the GNN. outputs[0] comes
     * with its name, labels and weights; the function sets every field of other outputs. *count:
     * the room on entry, the number of outputs on return.
     */
    rgm_status (*predict)(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                          const rgm_graph_views *views, const void *options);
    /** Set outputs[i].loss, a scalar: the mean over an output's real items. */
    rgm_status (*losses)(rgm_head *outputs, int64_t count, const void *options);
    /** Add metrics to the outputs: rgm_head_add_metric(). NULL: there are none. */
    rgm_status (*metrics)(rgm_head *outputs, int64_t count, const void *options);
    /** Add lines to the plan that is printed before the first step. NULL: there are none. */
    rgm_status (*describe)(rgm_text *out, const void *options);
    /**
     * The node that prediction i of a graph is about, -1: none. NULL: predictions are not about
     * nodes.
     */
    int64_t (*node)(const rgm_graph *graph, int64_t i, const void *options);
    /**
     * The pair of nodes that prediction i of a graph is about. NULL: predictions are not about
     * pairs.
     */
    void (*pair)(rgm_item_pair *out, const rgm_graph *graph, int64_t i, const void *options);
    /**
     * What a graph is asked about that asks about nothing itself, `schema` being that of the
     * training data. False, or NULL: what is predicted is there in every graph, such as its edges.
     */
    bool (*question)(rgm_graph_question *out, const rgm_schema *schema, const void *options);
    /** rgm_task.item_name of prediction i of a graph. NULL: there are no names. */
    const char *(*item_name)(rgm_str *out, const rgm_graph *graph, int64_t i, const void *options);
} rgm_graph_task_type;

/**
 * A kind of task with its options. Constructors that fail return NULL and record an error;
 * rgm_run() reports it, so a program may check once. Counted.
 */
typedef struct rgm_graph_task rgm_graph_task;
/**
 * @param name     [in] the name of its outputs, copied; NULL: the type's `output`, for a single
 *                      task
 * @param options  [in] copied, but their texts and lists are borrowed; NULL: defaults
 */
rgm_graph_task *rgm_graph_task_create(const rgm_graph_task_type *type, const char *name,
                                      const void *options);
rgm_graph_task *rgm_graph_task_retain(rgm_graph_task *task);
void rgm_graph_task_release(rgm_graph_task *task);
/** The type's options; a program may change them before a run is opened. NULL gives NULL. */
void *rgm_graph_task_options(rgm_graph_task *task);

/*
 * What a run does with a task, for a program's own loops and for tests: views, then the GNN, then
 * outputs.
 */

/**
 * Make the views, without labels. RGM_ERR_CONFIG: wrong options, or a graph that lacks what they
 * name.
 */
rgm_status rgm_graph_task_views(rgm_graph_views *views, const rgm_graph_task *task,
                                const rgm_graph_value *graph);
/**
 * Make predictions, losses and metrics from the views after the GNN.
 *
 * @param outputs  [out] [*count]
 * @param count    [in, out] the room on entry, the number of outputs on return
 * @param weights  [n] of the items; NULL: ones
 *
 * Errors: RGM_ERR_ARG (a head without predictions or loss), those of the task's functions and of
 * the graph.
 */
rgm_status rgm_graph_task_outputs(rgm_head *outputs, int64_t *count, const rgm_graph_task *task,
                                  rgm_scope *scope, const rgm_graph_views *behind,
                                  rgm_value *weights);

/**
 * The kinds that experiment files can name, each the beginning of its rgm_graph_task_type; ended by
 * NULL.
 */
extern const rgm_section_type *const rgm_graph_tasks[];
/** One class, or independent 0/1 labels, for each node that a readout points at, ... */
extern const rgm_graph_task_type rgm_node_classification, rgm_node_binary_classification;
/**
 * ... for each root node: a node of the readout that has the label, else each component's first,
 * ...
 */
extern const rgm_graph_task_type rgm_root_node_classification, rgm_root_node_binary_classification;
/** ... for each component. */
extern const rgm_graph_task_type rgm_graph_classification, rgm_graph_binary_classification;

/** ... for each edge of a set, from the states of both ends. */
extern const rgm_graph_task_type rgm_edge_classification, rgm_edge_binary_classification;

/** How logits are computed from states. */
typedef enum rgm_classification_head {
    RGM_HEAD_DENSE, /* one dense layer on the states       */
    RGM_HEAD_NONE   /* the states are the logits           */
} rgm_classification_head;

/** Where a task reads states and labels; field names are config keys of `task:`. */
typedef struct rgm_graph_place {
    const char *node_set;    /* whose states; required for root_node and graph                */
    const char *state;       /* state feature, default hidden_state                           */
    const char *key;         /* nodes, root_node: readout key, default "seed"                 */
    const char *readout_set; /* default "_readout"                                            */
    const char *reduce_type; /* graph: default "mean"                                         */
    const char *label; /* label feature: on readout_set if it is there, else (root_node) on the node
                          set, (graph) on the context or (edges) on the edge set; then it is hidden
                          from the model */
    const char *edge_set; /* edges: whose edges; NULL: the only one                        */
    rgm_texts features; /* edges: float features of the edge set, in addition to the states of both
                           ends and the edges' own state, if they have one */
} rgm_graph_place;
#define RGM_GRAPH_PLACE_INIT                                                                       \
    {                                                                                              \
        .state = RGM_HIDDEN_STATE, .key = "seed", .readout_set = RGM_READOUT,                      \
        .reduce_type = "mean", .label = "label"                                                    \
    }

/** Options of the kinds of classification; field names are the config keys of `task:`. */
typedef struct rgm_graph_classification_options {
    rgm_graph_place place;
    int64_t num_classes; /* one class: this or class_names                                */
    rgm_texts class_names;
    bool per_class_statistics;
    int64_t units;                  /* 0/1 labels: how many, default 1                        */
    rgm_texts recall_at_precisions; /* 0/1 labels: e.g. [0.9]                                 */
    rgm_texts metrics;              /* additional ones, by rgm_named_metrics_check()'s names */
    rgm_texts class_weights;        /* a number for each class (0/1 labels: for 0 and for 1), or
                                       "balanced": labels / (classes * labels of the class) in the training
                                       part, for each 0/1 label by itself (King & Zeng 2001) */
    double label_smoothing, focal_gamma; /* see rgm_class_loss_options                        */
    const rgm_label_counts *counts; /* of the training part, for "balanced"; a run sets them  */
    rgm_classification_head head;   /* default dense                                          */
    double l2;                      /* of the dense head                                      */
    rgm_ints hidden;                /* widths of hidden layers before the dense head, with relu */
} rgm_graph_classification_options;
#define RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT                                                      \
    {                                                                                              \
        .place = RGM_GRAPH_PLACE_INIT, .units = 1                                                  \
    }
/** Options of the kinds of regression; field names are the config keys of `task:`. */
typedef struct rgm_graph_regression_options {
    rgm_graph_place place; /* label: one number, or `units` of them, for an item */
    int64_t units;
    rgm_regression_loss_type loss;          /* predictions are exp(head) for poisson, relu(head) for
                                               mean_squared_log_scaled_error, else the head */
    double delta, quantile, alpha, epsilon; /* for the losses that have them */
    rgm_classification_head head;           /* default dense */
    double l2;                              /* of the dense head */
    rgm_ints hidden;                        /* widths of hidden layers before it, with relu */
} rgm_graph_regression_options;
#define RGM_GRAPH_REGRESSION_OPTIONS_INIT                                                          \
    {                                                                                              \
        .place = RGM_GRAPH_PLACE_INIT, .units = 1, .delta = 1, .quantile = 0.5, .alpha = 5,        \
        .epsilon = 1e-8                                                                            \
    }
/** Numbers for each node that a readout points at, each root node, each component, each edge. */
extern const rgm_graph_task_type rgm_node_regression, rgm_root_node_regression,
    rgm_graph_regression, rgm_edge_regression;

/** Options of ranking; field names are the config keys of `task:`. */
typedef struct rgm_graph_ranking_options {
    rgm_graph_place place; /* label: how relevant an item is, one number from 0 to 50 */
    rgm_ranking_loss_type loss;
    double temperature; /* of approx_ndcg, default 0.1                                          */
    rgm_ints ndcg_at;   /* also ndcg_at_<k>                                                     */
    rgm_classification_head head; /* default dense                                              */
    double l2;                    /* of the dense head                                          */
    rgm_ints hidden;              /* widths of hidden layers before it, with relu               */
} rgm_graph_ranking_options;
#define RGM_GRAPH_RANKING_OPTIONS_INIT                                                             \
    {                                                                                              \
        .place = RGM_GRAPH_PLACE_INIT, .temperature = 0.1                                          \
    }
/**
 * The order of the nodes that a readout points at. The nodes of one component are a list. Each node
 * gets one score; a higher score is further up. If one graph is taken whole, all nodes of the
 * readout are in one component and are one list. The seeds of a mini-batch that is sampled in
 * memory are one list too, and metrics of such lists depend on the batch size. If the sampler gives
 * each seed a component of its own, there is no order to learn, and experiment files that ask for
 * this are refused.
 */
extern const rgm_graph_task_type rgm_node_ranking;

/*
 * Names for pairs of a readout. Each item of the readout set is a pair. The edge sets
 * "<readout_set>/source" and "<readout_set>/target" come from the nodes at its ends. If a link is
 * compared with its own negatives, "<readout_set>/positive" goes from the link's item to itself and
 * to the items of its negatives.
 */
#define RGM_LINK_SOURCE   "source"
#define RGM_LINK_TARGET   "target"
#define RGM_LINK_POSITIVE "positive"

/**
 * The score of a pair, a logit, from the states s and t [width] of its ends and the row r of its
 * relation.
 */
typedef enum rgm_link_head {
    RGM_LINK_DOT,      /* sum(s t)                                                              */
    RGM_LINK_HADAMARD, /* a dense layer of one unit on s t                                      */
    RGM_LINK_MLP,      /* one on relu(a dense layer on s and t side by side)                    */
    RGM_LINK_DISTMULT, /* sum(s r t), Yang et al. 2015                                          */
    RGM_LINK_COMPLEX,  /* Re(sum(s r conj(t))), Trouillon et al. 2016, equation 11              */
    RGM_LINK_TRANSE,   /* gamma - |s + r - t|, Bordes et al. 2013, equation 1                   */
    RGM_LINK_ROTATE,   /* gamma - sum|s r - t| with |r_i| = 1, Sun et al. 2019, equation 2      */
    RGM_LINK_BILINEAR  /* sum(s_i r_ij t_j), r a matrix: RESCAL, Nickel et al. 2011             */
} rgm_link_head;       /* complex and rotate: rows are real parts, then imaginary ones          */

/** The loss. All but the first compare a link with its negatives. */
typedef enum rgm_link_loss {
    RGM_LINK_BINARY_CROSS_ENTROPY, /* mean over all pairs                                       */
    RGM_LINK_MARGIN,               /* mean over negatives of max(0, margin - link + negative)   */
    RGM_LINK_SELF_ADVERSARIAL,     /* Sun et al. 2019, equations 5 and 6, the mean over links   */
    RGM_LINK_SOFTMAX               /* mean over links of -ln(softmax of it and its negatives)   */
} rgm_link_loss;

/** Options of link prediction; field names are the config keys of `task:`. */
typedef struct rgm_link_prediction_options {
    rgm_graph_place place; /* label (1 or 0), state and readout_set are read                    */
    rgm_link_head head;
    const char *relation; /* from distmult on: feature of readout_set, default "relation": one_hot,
                             or one integer from 0 to ... */
    int64_t relations;    /* ... this less 1; 0: the columns of a one_hot feature               */
    int64_t hidden;       /* mlp: units, default 64                                             */
    int64_t norm;         /* transe: 1 or 2 (default)                                           */
    double gamma;         /* transe, rotate: default 9                                          */
    rgm_link_loss loss;
    double margin;      /* default 1                                                            */
    double temperature; /* self_adversarial: alpha, default 1                                   */
    rgm_ints hits;      /* also mrr and hits_at_<k>; none: neither                              */
    double l2;          /* of the head's kernels and the relations                              */
} rgm_link_prediction_options;
#define RGM_LINK_PREDICTION_OPTIONS_INIT                                                           \
    {                                                                                              \
        .place = RGM_GRAPH_PLACE_INIT, .relation = "relation", .hidden = 64, .norm = 2,            \
        .gamma = 9, .margin = 1, .temperature = 1                                                  \
    }
/**
 * Predict whether pairs are links. Parameters: <output>/kernel and bias (hadamard), <output>/hidden
 * and output (mlp), <output>/relation [relations, width]. The output of a single task is
 * "linkpred".
 */
extern const rgm_graph_task_type rgm_link_prediction;

/** One class for each node that `_readout` points at, with a dense head. */
rgm_graph_task *rgm_node_multiclass(const char *node_set, const char *label, int64_t num_classes);
rgm_graph_task *rgm_root_node_multiclass(const char *node_set, const char *label,
                                         int64_t num_classes);
rgm_graph_task *rgm_graph_multiclass(const char *node_set, const char *label, int64_t num_classes);

#ifdef __cplusplus
}
#endif
#endif
