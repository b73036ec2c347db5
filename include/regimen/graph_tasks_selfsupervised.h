/*
 * graph_tasks: learning on graphs without labels: corrupted views of a graph, losses between the
 * states of two views, and kinds of tasks that use both. The output of such a task is the states
 * themselves.
 */
#ifndef REGIMEN_GRAPH_TASKS_SELFSUPERVISED_H
#define REGIMEN_GRAPH_TASKS_SELFSUPERVISED_H

#include <regimen/graph_tasks_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- corruption ------------------------------------------------------------------------------ */

/** Among which nodes features are shuffled. */
typedef enum rgm_shuffle_within {
    RGM_SHUFFLE_BATCH,    /* all of a batch, as TF-GNN does it                    */
    RGM_SHUFFLE_COMPONENT /* those of each component by themselves                */
} rgm_shuffle_within;

/**
 * How a view of a graph is corrupted; rates in [0, 1]. Each execution draws anew, as a function of
 * the run's seed and step only, in validation too. Padding is never shuffled. Field names are
 * config keys.
 */
typedef struct rgm_corruption {
    double shuffle_features; /* of the nodes of a set, ceil(rate n) change their features with each
                                other, a node's all together                                     */
    rgm_shuffle_within shuffle_within;
    double drop_features; /* of the numbers of a feature; what stays is divided by 1 - rate      */
    double drop_columns;  /* whole columns of a feature are 0 in all nodes (GRACE)               */
    double mask_nodes;    /* of the nodes, whose features become a trained token, which starts at
                             0 (GraphMAE); sparse rows become empty                              */
    double drop_edges;    /* floor(rate n) of the edges of each set are not there                */
    rgm_texts features;   /* "words" or "paper.words": only these; none: all                     */
    const char *stream;   /* of its draws, no config key; required                               */
} rgm_corruption;

/**
 * A corrupted view of the graph. Only what is read is corrupted; the rest costs nothing. Dense and
 * sparse features, lookups and node numbers are corrupted as they go in, before any encoder.
 *
 * @param corruption  [in] borrowed until the model is built
 *
 * NULL passes through. Edges that were dropped cannot be pooled to the context, and features of
 * edges that some were dropped of are dense: both fail by name when they are read.
 */
rgm_graph_value *rgm_corrupt(const rgm_graph_value *graph, const rgm_corruption *corruption);

/* ---- losses ---------------------------------------------------------------------------------- */
/*
 * Of states [n, d] of the same items in two views. weights [n]: 0 for items that are none
 * (padding), which then count nowhere, NULL: ones.
 */

/**
 * Scalar of states [n, d]: Deep Graph Infomax (Velickovic et al. 2019, equation 1), binary
 * cross-entropy of the logits x W s that tell the items of the graph (0, as TF-GNN has it) from
 * those of a corrupted one (1). s is the mean of `clean`, through a sigmoid if wanted; W [d, d] is
 * the parameter "summary/kernel".
 */
rgm_value *rgm_infomax_loss(rgm_scope *scope, rgm_value *clean, rgm_value *corrupted,
                            rgm_value *weights, bool sigmoid);
/**
 * Scalar of states [n, d]: Barlow Twins (Zbontar et al. 2021). Of the correlation C of the columns
 * of a and b, (1 - lambda) times the sum of (C_ii - 1)^2 plus lambda times the sum of all (C -
 * I)^2. lambda 0: 1 / d, as TF-GNN has it. normalize: columns less their mean over sqrt(variance +
 * 1e-6).
 */
rgm_value *rgm_barlow_twins_loss(rgm_value *a, rgm_value *b, rgm_value *weights, double lambda,
                                 bool normalize);
/** Weights of the terms of VICReg; a term of weight 0 is not computed. */
typedef struct rgm_vicreg_options {
    double similarity, variance, covariance;
} rgm_vicreg_options;
#define RGM_VICREG_OPTIONS_INIT                                                                    \
    {                                                                                              \
        .similarity = 25, .variance = 25, .covariance = 1                                          \
    }
/**
 * Scalar of states [n, d]: VICReg (Bardes et al. 2022). similarity times the mean of (a - b)^2,
 * variance times the mean over columns of relu(1 - sqrt(variance + 1e-4)) of a and of b, covariance
 * times the sum of the squared covariances of two different columns over d, of a and of b.
 */
rgm_value *rgm_vicreg_loss(rgm_value *a, rgm_value *b, rgm_value *weights,
                           const rgm_vicreg_options *options);
/** Scalar of states [n, d]: mean of max(|anchor - positive|^2 - |anchor - negative|^2 + margin, 0),
 * the squared distances being means over the columns, as TF-GNN has them. */
rgm_value *rgm_triplet_loss(rgm_value *anchor, rgm_value *positive, rgm_value *negative,
                            rgm_value *weights, double margin);
/** Scalar of states [n, d]: GRACE (Zhu et al. 2020, equations 1 and 2), each item against all
 * others of both views, by the cosine over temperature. Takes n x n values. */
rgm_value *rgm_grace_loss(rgm_value *a, rgm_value *b, rgm_value *weights, double temperature);
/** Scalar of states [n, d]: mean of 2 - 2 cos(a, b); no gradient goes to b. One half of BGRL
 * (Thakoor et al. 2022). */
rgm_value *rgm_bootstrap_loss(rgm_value *a, rgm_value *b, rgm_value *weights);
/** Scalar of states [n, d]: mean of (1 - cos(a, b))^exponent (GraphMAE: Hou et al. 2022, equation
 * 2); exponent 1, 2 or 3. */
rgm_value *rgm_scaled_cosine_loss(rgm_value *a, rgm_value *b, rgm_value *weights, int64_t exponent);

/* ---- tasks ----------------------------------------------------------------------------------- */

/** The items whose states the task learns from. */
typedef enum rgm_graph_items {
    RGM_ITEMS_NODES,  /* every node of the set                             */
    RGM_ITEMS_FIRST,  /* the first node of each component, as TF-GNN       */
    RGM_ITEMS_READOUT /* the nodes that a readout points at                        */
} rgm_graph_items;

/** Of all kinds below; field names are the config keys of `task:`, each kind has its own of them.
 */
typedef struct rgm_graph_contrast_options {
    rgm_graph_place place; /* node_set, state, key, readout_set */
    rgm_graph_items items;
    rgm_corruption corrupt; /* of the corrupted view; grace and bgrl: of the first  */
    rgm_corruption second;  /* grace and bgrl: of the second                        */
    rgm_ints projector;     /* widths of dense layers between states and loss       */
    rgm_texts metrics;      /* of the states, by rgm_named_metrics_check()'s names   */
    bool summary_sigmoid;
    double lambda;
    bool normalize;
    rgm_vicreg_options vicreg;
    double margin, temperature, momentum;
    int64_t predictor; /* bgrl: width of its hidden layer        */
    int64_t exponent;
} rgm_graph_contrast_options;

/** The graph against one with shuffled features: TF-GNN's ContrastiveLossTasks. */
extern const rgm_graph_task_type rgm_deep_graph_infomax, rgm_barlow_twins, rgm_vicreg;
/** Anchors and positives stand in the features, [2, ...] of each node. */
extern const rgm_graph_task_type rgm_graph_triplet;
/** Two corrupted views against each other; bgrl's second encoder follows the first. */
extern const rgm_graph_task_type rgm_grace, rgm_bgrl;
/** The features of masked nodes from the states around them. */
extern const rgm_graph_task_type rgm_masked_features;
/** Of a kind: its defaults. */
void rgm_graph_contrast_options_init(rgm_graph_contrast_options *options);

#ifdef __cplusplus
}
#endif
#endif
