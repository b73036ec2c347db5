/*
 * graph_tasks: explanations of predictions. An explainer scores how much each edge and feature of a
 * graph contributes to one prediction of a trained run. Methods are gradients along a path from an
 * empty input (integrated gradients), the gradient alone, masks that keep the prediction with as
 * little of the graph as possible, and the model's attention.
 */
#ifndef REGIMEN_GRAPH_TASKS_EXPLAIN_H
#define REGIMEN_GRAPH_TASKS_EXPLAIN_H

#include <regimen/graph_value.h>
#include <regimen/controller_run.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rgm_explain_method {
    /** Sundararajan et al. 2017: x times the mean gradient between nothing (features of zeros,
     * edges that bring nothing) and what there is, at the middles of `steps` pieces. Scores of all
     * inputs together are the output less what it is of nothing. */
    RGM_EXPLAIN_INTEGRATED_GRADIENTS,
    RGM_EXPLAIN_GRADIENT, /* x times the gradient at what there is */
    /** GNNExplainer (Ying et al. 2019): of each edge and each column of a feature a mask in 0 .. 1,
     * trained so that the prediction stays and the masks are small and sure. */
    RGM_EXPLAIN_MASK,
    /**
     * The weights that attention layers give their edges. An edge's score is the mean over the
     * heads, then over the layers in which the prediction depends on it; 0 if there is no such
     * layer.
     */
    RGM_EXPLAIN_ATTENTION
} rgm_explain_method;
extern const char *const rgm_explain_method_names[]; /* ended by NULL */

typedef struct rgm_explain_options {
    rgm_explain_method method;
    int64_t head;         /* of the run's outputs                                              */
    bool edges, features; /* what is explained; what is not stays as it is; of attention edges */
    int64_t steps;        /* integrated gradients: pieces of the path; mask: updates; 0: 64, 200 */
    /* mask: of Adam, and how much the sum of the edges' masks, the mean entropy of them, and the
     * means of both of the features' weigh beside the prediction's cross-entropy */
    double learning_rate, edge_size, edge_entropy, feature_size, feature_entropy;
    uint64_t seed; /* mask: of where masks begin */
} rgm_explain_options;
#define RGM_EXPLAIN_OPTIONS_INIT                                                                   \
    {                                                                                              \
        .edges = true, .features = true, .learning_rate = 0.01, .edge_size = 0.005,                \
        .edge_entropy = 1, .feature_size = 1, .feature_entropy = 0.1                               \
    }

/** How much an input of the model contributes to a prediction. */
typedef struct rgm_explained_input {
    rgm_piece piece;
    const char *set, *feature; /* feature NULL: the edges of the set                           */
    bool by_column;            /* mask: a score for each column of the feature, [columns]      */
    rgm_tensor *scores;        /* f32: [edges], or as the feature's values, or [entries] of ...*/
    rgm_pattern *pattern;      /* ... a feature that is sparse or of categories; else NULL     */
} rgm_explained_input;

/** The attention weights of one layer along an edge set: see rgm_edge_attention_of(). */
typedef struct rgm_explained_attention {
    const char *layer, *edge_set;
    rgm_tag receiver; /* whose edges' weights sum to 1 */
    bool self_loops;
    rgm_tensor *weights; /* f32 [edges, heads] in the graph's order; with self_loops [edges + nodes,
                            heads], the nodes' own behind the edges */
} rgm_explained_attention;

/** Of one prediction; texts are the run's, the rest is its own: rgm_explanation_clear(). */
typedef struct rgm_explanation {
    int64_t target; /* which number of the output is explained                             */
    double output;  /* that number: a logit, or what a regression predicts                 */
    double nothing; /* integrated gradients: the same of nothing; else NaN                 */
    double left;    /* integrated gradients: output - nothing - sum of scores, the error of
                       the steps; mask: the output with the masks; else NaN                */
    int64_t input_count;
    rgm_explained_input *inputs;
    int64_t attention_count; /* of method attention: of all edges, near or far */
    rgm_explained_attention *attention;
    rgm_graph *graph; /* that was asked about; retained                                         */
} rgm_explanation;
void rgm_explanation_clear(rgm_explanation *explanation);

/** Asks one output of an open run; used by one thread at a time, released before the run. */
typedef struct rgm_explainer rgm_explainer;
/**
 * @param run  borrowed; of graph learning, with the weights that are to be explained
 *
 * Errors: RGM_ERR_UNSUPPORTED (another task; nothing to explain: every input is of integers; method
 * attention of a model without it),
 * RGM_ERR_ARG (options), those of compute graphs.
 */
rgm_status rgm_explainer_create(rgm_explainer **out, const rgm_open_run *run,
                                const rgm_explain_options *options);
void rgm_explainer_release(rgm_explainer *explainer);
/**
 * Inputs of the model that get no score: integers that no table encodes. "" if there are none;
 * borrowed.
 */
const char *rgm_explainer_left_out(const rgm_explainer *explainer);
/**
 * Explain prediction `item` of a batch, as a sink of rgm_run_predict() sees it.
 *
 * @param target  which number of the output; -1: the greatest, of a single one that one
 *
 * Errors: RGM_ERR_ARG (no such item or number), RGM_ERR_UNSUPPORTED (a prediction that is no row of
 * numbers), those of rgm_executor_run().
 */
rgm_status rgm_explain(rgm_explanation *out, rgm_explainer *explainer,
                       const rgm_prediction *prediction, int64_t item, int64_t target);

#ifdef __cplusplus
}
#endif
#endif
