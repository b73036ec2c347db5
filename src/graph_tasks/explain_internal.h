/*
 * Explainers: what a method needs of one, and where its methods are.
 */
#ifndef RGM_GRAPH_TASKS_EXPLAIN_INTERNAL_H
#define RGM_GRAPH_TASKS_EXPLAIN_INTERNAL_H

#include <regimen/graph_tasks.h>
#include <regimen/graph_tasks_explain.h>

/** An input that is given scores. */
typedef struct rgmi_explained {
    rgm_graph_input of;
    rgm_value *fed;       /* what is changed: the input's values, or the weight of its entries */
    rgm_tensor *values;   /* of features that are no patterns: what the graph has; borrowed     */
    rgm_pattern *pattern; /* of others, borrowed                                              */
    int64_t columns;      /* of a feature; 0: edges                                           */
    double *sum;          /* what the method gathers: [count], of a mask's feature [columns]  */
    int64_t count;        /* numbers in `fed`                                                 */
} rgmi_explained;

struct rgm_explainer {
    const rgm_open_run *run;
    rgm_explain_options options;
    rgmi_explained *inputs;
    int64_t input_count;
    rgm_edge_attention *attention; /* of method attention, which has no inputs */
    int64_t attention_count;
    rgm_value *item, *choice, *kept; /* fed: which prediction, which number of it, what it was */
    rgm_executor *executor;          /* score, the prediction [units], gradient of each input */
    rgm_text left_out;
    /* of the prediction that is asked about */
    rgm_feed *feeds;
    int64_t feed_count, first; /* `first`: of the explained inputs, in order */
    rgm_tensor **fetched;      /* [2 + input_count], or of attention [2 + 2 attention_count]:
                                  gradients, then weights; borrowed from the executor */
    rgm_explanation *out;
};

/** Run with each explained input what set() makes of its number i; fills fetched. */
typedef double rgmi_explain_at(const rgmi_explained *input, int64_t i, const void *payload);
rgm_status rgmi_explainer_run(rgm_explainer *explainer, rgmi_explain_at *at, const void *payload);
/** The explained number of the last run. */
double rgmi_explainer_output(const rgm_explainer *explainer);
/** Number i of an input as the graph has it: of an edge or entry 1. */
double rgmi_explained_value(const rgmi_explained *input, int64_t i);
/** The gradient of number i in the last run. */
double rgmi_explained_gradient(const rgm_explainer *explainer, int64_t input, int64_t i);

/** Into a tensor of f32 or f64. */
void rgmi_explain_set(rgm_tensor *tensor, int64_t i, double x);

/** Of which values a prediction is made, by their numbers; freed by the caller. */
rgm_status rgmi_explain_made_of(bool **out, rgm_value *prediction);
/** Whether one class of many is predicted, and not 0 or 1 by each logit. */
bool rgmi_is_one_of_many(const rgm_head *head);
/** Make what is run: a score of `predictions`, which may be those of the head built again, the
 * asked row, gradients of the score, `also`. */
rgm_status rgmi_explainer_build(rgm_explainer *explainer, const rgm_head *head,
                                rgm_value *predictions, rgm_value *const *wrt, int64_t count,
                                rgm_value *const *also, int64_t also_count);
/** The same of method attention. */
rgm_status rgmi_explainer_build_attention(rgm_explainer *explainer, const rgm_graph_value *graph,
                                          const rgm_head *head);

/** The methods: fill sums and the rest of `out`. */
rgm_status rgmi_explain_gradients(rgm_explainer *explainer);
rgm_status rgmi_explain_mask(rgm_explainer *explainer);
/** Also what is given: inputs and attention. */
rgm_status rgmi_explain_attention(rgm_explainer *explainer);

#endif
