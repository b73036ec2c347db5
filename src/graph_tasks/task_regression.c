/*
 * Regression on the states behind a GNN: numbers of nodes behind a readout, of root nodes, of whole
 * graphs, judged by one of ten losses. Those that TF-GNN has are as TF-GNN has them.
 */
#include "learning.h"

typedef rgm_graph_regression_options regression;

/* ---- options ------------------------------------------------------------------------------- */

#define RGM_OPTIONS rgm_graph_regression_options
#define COMMON                                                                                     \
    RGM_INT_FIELD(units, 1, 1e9, "numbers of each item"),                                          \
        RGM_CHOICE_FIELD(loss, rgm_regression_loss_names, "what is made small"),                   \
        RGM_FLOAT_FIELD(delta, 1e-12, 1e12, "huber: where squares become straight lines"),         \
        RGM_FLOAT_FIELD(quantile, 1e-6, 0.999999, "quantile: which is predicted, 0.5 the median"), \
        RGM_FLOAT_FIELD(alpha, 0, 1e12, "mean_squared_log_scaled_error: weight of logarithms"),    \
        RGM_FLOAT_FIELD(epsilon, 1e-300, 1, "mean_squared_log_scaled_error: added inside them"),   \
        RGM_CHOICE_FIELD(                                                                          \
            head, rgmi_head_names,                                                                 \
            "dense: a dense layer on the states; none: the states are the predictions"),           \
        RGM_FLOAT_FIELD(l2, 0, 1e6, "L2 coefficient of the dense head"),                           \
        RGM_INTS_FIELD(hidden, 1, 1e9, "widths of hidden layers before it, with relu")

static const rgm_field place_key_fields[] = {RGMI_PLACE_FIELDS, RGMI_KEY_FIELD, COMMON, {0}};
static const rgm_field place_reduce_fields[] = {RGMI_PLACE_FIELDS, RGMI_REDUCE_FIELD, COMMON, {0}};
static const rgm_field edge_fields[] = {RGMI_EDGE_FIELDS, COMMON, {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(regression *)options = (regression)RGM_GRAPH_REGRESSION_OPTIONS_INIT;
}

/* ---- predictions --------------------------------------------------------------------------- */

static rgm_status predict(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                          const regression *o)
{
    const rgmi_head_options head = {.head = o->head, .l2 = o->l2, .hidden = o->hidden};

    RGM_TRY(rgmi_predict_head(output, count, scope, states, o->units, &head));
    if (o->loss == RGM_LOSS_MEAN_SQUARED_LOG_SCALED_ERROR)
        output->predictions = rgm_relu(output->predictions);
    else if (o->loss == RGM_LOSS_POISSON) /* what is learned is the logarithm of the rate */
        output->predictions = rgm_exp(output->predictions);
    output->is_number = true;
    return RGM_OK;
}

/* ---- labels -------------------------------------------------------------------------------- */

/* Losses with a logarithm of the label, or that are about counts, are of labels that have one. */
static rgmi_labels possible(rgmi_labels labels, const regression *o)
{
    labels.classes = 0;
    labels.not_negative = o->loss == RGM_LOSS_POISSON ||
                          o->loss == RGM_LOSS_MEAN_SQUARED_LOG_SCALED_ERROR ||
                          o->loss == RGM_LOSS_MEAN_SQUARED_LOGARITHMIC_ERROR;
    return labels;
}

RGMI_FUNCTIONS_AT(nodes)
RGMI_FUNCTIONS_AT(root)
RGMI_FUNCTIONS_AT(graph)
RGMI_FUNCTIONS_AT(edges)

/* ---- losses -------------------------------------------------------------------------------- */

/* Of each item; where labels of an item may be missing one by one, of each unit. A row that is
 * judged as a whole is missing with any of them. */
static rgm_value *losses_of(rgm_head *head, const regression *o,
                            const rgm_regression_loss_options *options)
{
    bool each = head->weights != NULL && rgm_value_rank(head->weights) == 2;

    if (each && o->loss == RGM_LOSS_COSINE_SIMILARITY) {
        head->weights = rgm_reduce(head->weights, 1, RGM_MIN);
        each = false;
    }
    return each ? rgm_regression_unit_loss(o->loss, head->predictions, head->labels, options)
                : rgm_regression_loss(o->loss, head->predictions, head->labels, options);
}

static rgm_status losses(rgm_head *outputs, int64_t count, const void *options)
{
    const regression *o = options;
    const rgm_regression_loss_options loss = {
        .delta = o->delta, .quantile = o->quantile, .alpha = o->alpha, .epsilon = o->epsilon};
    rgm_head *head = &outputs[0];
    rgm_dim shape[2];
    rgm_value *each;

    (void)count;
    if (head->predictions == NULL || head->labels == NULL)
        return RGM_OK;
    shape[0] = rgm_value_dim(head->predictions, 0);
    shape[1] = o->units;
    head->labels =
        rgm_cast(rgm_reshape(head->labels, 2, shape), rgm_value_dtype(head->predictions));
    each = losses_of(head, o, &loss);
    head->loss = rgm_weighted_mean(each, head->weights);
    return RGM_OK;
}

static rgm_status metrics(rgm_head *outputs, int64_t count, const void *options)
{
    static const rgm_metric_type *const types[] = {
        &rgm_metric_mean_squared_error, &rgm_metric_mean_absolute_error,
        &rgm_metric_mean_squared_logarithmic_error, &rgm_metric_mean_absolute_percentage_error,
        &rgm_metric_r2};

    (void)count, (void)options;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        rgm_head_add_metric(&outputs[0], types[i]);
    return RGM_OK;
}

/* ---- the kinds ----------------------------------------------------------------------------- */

#define KIND(kind, text, table, checks, where, place)                                              \
    const rgm_graph_task_type rgm_##kind = {.section = {.name = #kind,                             \
                                                        .help = (text),                            \
                                                        .options_size = sizeof(regression),        \
                                                        .defaults = defaults,                      \
                                                        .fields = (table),                         \
                                                        .check = (checks)},                        \
                                            .output = "regression_logits",                         \
                                            .check_labels = where##_check_labels,                  \
                                            .count_labels = where##_count_labels,                  \
                                            .missing = RGM_MISSING_NUMBERS,                        \
                                            .predict = where##_predict,                            \
                                            .losses = losses,                                      \
                                            .metrics = metrics,                                    \
                                            place}

KIND(node_regression, "numbers of each node behind a readout", place_key_fields, NULL, nodes,
     RGMI_NODES);
KIND(root_node_regression, "numbers of each root node", place_key_fields, rgmi_check_named_set,
     root, RGMI_ROOT);
KIND(graph_regression, "numbers of each component", place_reduce_fields, rgmi_check_named_set,
     graph, RGMI_GRAPH);
KIND(edge_regression, "numbers of each edge", edge_fields, NULL, edges, RGMI_EDGES);
