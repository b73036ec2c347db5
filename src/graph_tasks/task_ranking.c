/*
 * Ranking: nodes behind a readout get one score each, and those of a component are to stand in the
 * order of their labels. A component is a list because no batch ever cuts one in two.
 */
#include <stdio.h>

#include "learning.h"

enum { MOST_LABEL = 50 };

typedef rgm_graph_ranking_options ranking;

/* ---- options ------------------------------------------------------------------------------- */

#define RGM_OPTIONS rgm_graph_ranking_options
static const rgm_field fields[] = {
    RGMI_PLACE_FIELDS,
    RGMI_KEY_FIELD,
    RGM_CHOICE_FIELD(loss, rgm_ranking_loss_names, "what is made small, the mean over the lists"),
    RGM_FLOAT_FIELD(temperature, 1e-12, 1e12, "approx_ndcg: how soft ranks are"),
    RGM_INTS_FIELD(ndcg_at, 1, 1e9, "also ndcg_at_<k>: of the first k ranks"),
    RGM_CHOICE_FIELD(head, rgmi_head_names,
                     "dense: a dense layer on the states; none: the states are the scores"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "L2 coefficient of the dense head"),
    RGM_INTS_FIELD(hidden, 1, 1e9, "widths of hidden layers before it, with relu"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(ranking *)options = (ranking)RGM_GRAPH_RANKING_OPTIONS_INIT;
}

static rgm_status check_options(const void *options)
{
    enum { MOST = RGM_MAX_METRICS - 3 };
    const rgm_ints *at = &((const ranking *)options)->ndcg_at;

    if (at->count > MOST)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.ndcg_at: %lld, at most %d can be reported",
                        (long long)at->count, MOST);
    for (int64_t i = 0; i < at->count; i++)
        for (int64_t k = 0; k < i; k++)
            if (at->items[i] == at->items[k])
                return RGM_FAIL(RGM_ERR_CONFIG, "task.ndcg_at: %lld stands twice",
                                (long long)at->items[i]);
    return RGM_OK;
}

static rgm_status check_schema(const void *options, const rgm_schema *schema)
{
    const rgm_graph_place *o = &((const ranking *)options)->place;
    const rgm_feature_schema *label;
    int64_t width = 1;

    RGM_TRY(rgmi_at_nodes_check(options, schema));
    label = rgm_set_feature(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o->label);
    for (int i = 0; i < label->rank; i++)
        width = width < 0 || label->shape[i] < 0 ? -1 : width * label->shape[i];
    if (width < 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.label: '%s' of '%s' is a list of numbers an item, but an order is by "
                        "one",
                        o->label, o->readout_set);
    if (width != 1 || label->rank > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.label: '%s' of '%s' is %lld numbers an item, but an order is by one",
                        o->label, o->readout_set, (long long)width);
    return RGM_OK;
}

/* ---- lists: input: a membership; which row each column is in, -1: in none ------------------ */

static rgm_status lists_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    out->dtype = RGM_I64;
    out->rank = 1;
    out->shape[0] = rgm_value_dim(in[0], 1);
    return RGM_OK;
}

static rgm_status lists_forward(rgm_op_run *run)
{
    const rgm_csr *members = run->in[0].csr;
    int64_t *lists = run->out->data;

    for (int64_t i = 0; i < run->out->shape[0]; i++)
        lists[i] = -1;
    for (int64_t row = 0; row < run->in[0].shape[0]; row++)
        for (int64_t k = members->row_start[row]; k < members->row_start[row + 1]; k++)
            lists[members->column[k]] = row;
    return RGM_OK;
}

static const rgm_op_type lists_op = {
    .name = "list_numbers",
    .arity = 1,
    .infer = lists_infer,
    .forward = lists_forward,
    .on_host = true,
    .no_gradient = "which list an item is in is no number that changes",
};

static rgm_value *lists_of(const rgm_graph_value *graph, const char *set)
{
    rgm_value *membership = rgm_membership(graph, RGM_NODE_SET, set);

    return membership == NULL
               ? NULL
               : rgm_op(rgm_value_graph(membership), &lists_op, &membership, 1, NULL);
}

/* ---- predictions and labels ---------------------------------------------------------------- */

static rgm_status predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                          const rgm_graph_views *views, const void *options)
{
    const ranking *o = options;
    const rgmi_head_options head = {.head = o->head, .l2 = o->l2, .hidden = o->hidden};

    RGM_TRY(rgmi_predict_head(outputs, count, scope, rgmi_at_nodes_states(views, o), 1, &head));
    outputs[0].is_number = true;
    if (outputs[0].labels != NULL)
        outputs[0].lists = lists_of(views->graphs[0], o->place.readout_set);
    return RGM_OK;
}

static rgmi_labels labels_of(const rgm_graph *graph, const void *options)
{
    rgmi_labels labels = rgmi_at_nodes_labels(graph, options);

    labels.not_negative = true;
    labels.most = MOST_LABEL;
    labels.why_most = "gains are 2^label - 1; number the grades from 0";
    return labels;
}

static rgm_status check_labels(const rgm_graph *graph, const void *options)
{
    rgmi_labels labels = labels_of(graph, options);

    return rgmi_check_labels(graph, &labels);
}

static rgm_status count_labels(rgm_label_counts *counts, const rgm_graph *graph,
                               const void *options)
{
    rgmi_labels labels = labels_of(graph, options);

    rgmi_count_lists(counts, graph, &labels);
    return rgmi_count_labels(counts, graph, &labels);
}

/* ---- losses and metrics -------------------------------------------------------------------- */

static rgm_status losses(rgm_head *outputs, int64_t count, const void *options)
{
    const ranking *o = options;
    rgm_head *head = &outputs[0];

    (void)count;
    if (head->predictions == NULL || head->labels == NULL)
        return RGM_OK;
    head->loss = rgm_ranking_loss(o->loss, head->predictions, head->labels, head->weights,
                                  head->lists, o->temperature);
    head->loss_items = rgm_ranking_lists(head->labels, head->weights, head->lists);
    return RGM_OK;
}

static rgm_status metrics(rgm_head *outputs, int64_t count, const void *options)
{
    static const rgm_metric_type *const types[] = {&rgm_metric_list_ndcg, &rgm_metric_list_map,
                                                   &rgm_metric_list_mrr};
    const rgm_ints *at = &((const ranking *)options)->ndcg_at;

    (void)count;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        rgm_head_add_metric(&outputs[0], types[i]);
    for (int64_t i = 0; i < at->count; i++) {
        rgm_metric *metric = rgm_head_add_metric(&outputs[0], &rgm_metric_list_ndcg);

        if (metric == NULL)
            continue;
        metric->k = at->items[i];
        snprintf(metric->name, sizeof metric->name, "ndcg_at_%lld", (long long)metric->k);
    }
    return RGM_OK;
}

const rgm_graph_task_type rgm_node_ranking = {
    .section = {.name = "node_ranking",
                .help = "the order of each component's nodes behind a readout",
                .options_size = sizeof(ranking),
                .defaults = defaults,
                .fields = fields,
                .check = check_options},
    .output = "ranking_scores",
    .check_labels = check_labels,
    .count_labels = count_labels,
    .ranks = true,
    .missing = RGM_MISSING_NUMBERS,
    .predict = predict,
    .losses = losses,
    .metrics = metrics,
    .check = check_schema,
    .preprocess = rgmi_at_nodes_preprocess,
    .item_set = rgmi_at_nodes_items,
    .node = rgmi_at_nodes_node,
    .question = rgmi_at_nodes_question,
    .item_name = rgmi_at_nodes_name,
    .label = rgmi_label_of,
};
