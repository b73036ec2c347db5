/*
 * Classification on the states behind a GNN: of nodes behind a readout, of root nodes, of whole
 * graphs; one class out of many, or independent 0/1 labels. A kind joins the functions of where
 * states and labels are read with those of how predictions are judged.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "learning.h"

/* ---- options ------------------------------------------------------------------------------- */

#define RGM_OPTIONS rgm_graph_classification_options
#define COMMON                                                                                     \
    RGM_CHOICE_FIELD(head, rgmi_head_names,                                                        \
                     "dense: a dense layer on the states; none: the states are the logits"),       \
        RGM_FLOAT_FIELD(l2, 0, 1e6, "L2 coefficient of the dense head"),                           \
        RGM_INTS_FIELD(hidden, 1, 1e9, "widths of hidden layers before it, with relu"),            \
        RGM_TEXTS_FIELD(metrics, "also reported: f1_macro, calibration_error, ..."),               \
        RGM_TEXTS_FIELD(class_weights, "a number for each class, of 0/1 labels for 0 and for 1, "  \
                                       "that its losses are multiplied by; or balanced"),          \
        RGM_FLOAT_FIELD(label_smoothing, 0, 0.999999,                                              \
                        "share of the labels that is spread over all classes, in the loss"),       \
        RGM_FLOAT_FIELD(focal_gamma, 0, 100,                                                       \
                        "focal loss: losses times (1 - probability of the label) to this power")
#define MULTICLASS                                                                                 \
    RGM_INT_FIELD(num_classes, 0, 1e9, "number of classes; this or class_names"),                  \
        RGM_TEXTS_FIELD(class_names, "names, in order"),                                           \
        RGM_BOOL_FIELD(per_class_statistics, "also precision and recall of each class")
#define BINARY                                                                                     \
    RGM_INT_FIELD(units, 1, 1e9, "independent 0/1 labels"),                                        \
        RGM_TEXTS_FIELD(recall_at_precisions,                                                      \
                        "also the recall at these precisions, each in (0, 1)")

static const rgm_field node_fields[] = {RGMI_PLACE_FIELDS, RGMI_KEY_FIELD, COMMON, MULTICLASS, {0}};
static const rgm_field node_binary_fields[] = {
    RGMI_PLACE_FIELDS, RGMI_KEY_FIELD, COMMON, BINARY, {0}};
static const rgm_field root_fields[] = {RGMI_PLACE_FIELDS, RGMI_KEY_FIELD, COMMON, MULTICLASS, {0}};
static const rgm_field root_binary_fields[] = {
    RGMI_PLACE_FIELDS, RGMI_KEY_FIELD, COMMON, BINARY, {0}};
static const rgm_field graph_fields[] = {
    RGMI_PLACE_FIELDS, RGMI_REDUCE_FIELD, COMMON, MULTICLASS, {0}};
static const rgm_field graph_binary_fields[] = {
    RGMI_PLACE_FIELDS, RGMI_REDUCE_FIELD, COMMON, BINARY, {0}};
static const rgm_field edge_fields[] = {RGMI_EDGE_FIELDS, COMMON, MULTICLASS, {0}};
static const rgm_field edge_binary_fields[] = {RGMI_EDGE_FIELDS, COMMON, BINARY, {0}};
#undef RGM_OPTIONS

typedef rgm_graph_classification_options classification;

static const rgm_metric_type *const binary_metric_types[] = {
    &rgm_metric_binary_accuracy, &rgm_metric_binary_cross_entropy,
    &rgm_metric_precision,       &rgm_metric_recall,
    &rgm_metric_auc_roc,         &rgm_metric_auc_pr};

static void defaults(void *options)
{
    *(classification *)options = (classification)RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
}

static rgm_classes classes_of(const classification *o)
{
    return (rgm_classes){.num_classes = o->num_classes,
                         .names = o->class_names,
                         .statistics = o->per_class_statistics};
}

/* recall_at_precision_90: the precision in percent, with _ for the point. */
static double precision_named(char name[RGM_METRIC_NAME], const char *text)
{
    char *end;
    double precision = strtod(text, &end);

    if (*end != '\0' || !(precision > 0 && precision < 1))
        return NAN;
    snprintf(name, RGM_METRIC_NAME, "recall_at_precision_%.15g", 100 * precision);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '.')
            *c = '_';
    return precision;
}

/* ---- weights of classes ---------------------------------------------------------------------- */

static bool is_balanced(const classification *o)
{
    return o->class_weights.count == 1 && strcmp(o->class_weights.items[0], "balanced") == 0;
}

/* NaN: it is none. */
static double weight_of(const char *text)
{
    char *end;
    double weight = strtod(text, &end);

    return *end == '\0' && end != text && weight >= 0 && weight < HUGE_VAL ? weight : NAN;
}

static rgm_status check_weights(const classification *o, int64_t classes)
{
    const rgm_texts *weights = &o->class_weights;
    double sum = 0;

    if (weights->count == 0 || is_balanced(o))
        return RGM_OK;
    for (int64_t i = 0; i < weights->count; i++) {
        if (isnan(weight_of(weights->items[i])))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.class_weights: '%s' is no finite number from 0 on, nor is it "
                            "balanced",
                            weights->items[i]);
        sum += weight_of(weights->items[i]);
    }
    if (weights->count != classes)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.class_weights: %lld numbers, but there are %lld classes%s",
                        (long long)weights->count, (long long)classes,
                        o->num_classes == 0 && o->class_names.count == 0 ? ", 0 and 1" : "");
    return sum > 0 ? RGM_OK : RGM_FAIL(RGM_ERR_CONFIG, "task.class_weights: every class weighs 0");
}

/* A number for each class and unit, as numbers[class * units + unit]. */
static rgm_status fill_weights(double *numbers, const classification *o, int64_t classes,
                               int64_t units)
{
    if (is_balanced(o) && o->counts == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "task.class_weights: balanced needs the counts of the "
                                     "training part's labels in the options");
    for (int64_t c = 0; c < classes; c++)
        for (int64_t u = 0; u < units; u++)
            numbers[c * units + u] = is_balanced(o) ? rgmi_balanced_weight(o->counts, u, c)
                                                    : weight_of(o->class_weights.items[c]);
    return RGM_OK;
}

/* [classes], with units [classes, units], in the predictions' dtype; *out NULL: none weighs more.
 */
static rgm_status make_weights(rgm_value **out, const rgm_head *head, const classification *o,
                               int64_t classes, int64_t units)
{
    rgm_status status = RGM_OK;
    int64_t columns = units > 0 ? units : 1, shape[2] = {classes, columns};
    rgm_tensor *tensor = NULL;

    *out = NULL;
    if (o->class_weights.count == 0)
        return RGM_OK;
    RGM_GO(rgm_tensor_create(&tensor, RGM_F64, units > 0 ? 2 : 1, shape));
    RGM_GO(fill_weights(rgm_tensor_f64(tensor), o, classes, columns));
    *out = rgm_cast(rgm_constant(rgm_value_graph(head->predictions), tensor),
                    rgm_value_dtype(head->predictions));
done:
    rgm_tensor_release(tensor);
    return status;
}

static const rgm_label_counts **counts_of(void *options)
{
    classification *o = options;

    return is_balanced(o) ? &o->counts : NULL;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Metrics that are reported in any case and by key. */
static rgm_status check_reported(const char *key, int64_t count, int64_t most)
{
    return count <= most ? RGM_OK
                         : RGM_FAIL(RGM_ERR_CONFIG, "%s: %lld, at most %lld can be reported", key,
                                    (long long)count, (long long)most);
}

static rgm_status check_binary(const void *options)
{
    const classification *o = options;
    const rgm_texts *precisions = &o->recall_at_precisions;
    enum { MOST = RGM_MAX_METRICS - sizeof binary_metric_types / sizeof *binary_metric_types };
    char name[RGM_METRIC_NAME];

    for (int64_t i = 0; i < precisions->count; i++)
        if (isnan(precision_named(name, precisions->items[i])))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.recall_at_precisions: '%s' is not a number in (0, 1)",
                            precisions->items[i]);
    RGM_TRY(check_reported("task.recall_at_precisions", precisions->count, MOST));
    RGM_TRY(check_reported("task.metrics", o->metrics.count, MOST - precisions->count));
    RGM_TRY(rgm_named_metrics_check("task.metrics", &o->metrics, o->units, RGM_METRICS_OF_LABELS));
    return check_weights(o, 2);
}

static rgm_status check_classes(const void *options)
{
    const classification *o = options;
    rgm_classes classes = classes_of(o);
    int64_t count, most;

    RGM_TRY(rgm_classes_check(&classes));
    count = rgm_classes_count(&classes);
    most = RGM_MAX_METRICS - 2 - (classes.statistics ? 2 * count : 0);
    RGM_TRY(check_reported("task.metrics", o->metrics.count, most));
    RGM_TRY(rgm_named_metrics_check("task.metrics", &o->metrics, count, RGM_METRICS_OF_CLASSES));
    return check_weights(o, count);
}

static rgm_status check_named_classes(const void *options)
{
    RGM_TRY(check_classes(options));
    return rgmi_check_named_set(options);
}

static rgm_status check_named_binary(const void *options)
{
    RGM_TRY(check_binary(options));
    return rgmi_check_named_set(options);
}

/* ---- labels -------------------------------------------------------------------------------- */

/* Classes, or independent labels where there are none. */
static int64_t logits_of(const classification *o)
{
    rgm_classes classes = classes_of(o);
    int64_t count = rgm_classes_count(&classes);

    return count > 0 ? count : o->units;
}

/* Each label is a class, or 0 or 1. */
static rgmi_labels possible(rgmi_labels labels, const classification *o)
{
    rgm_classes classes = classes_of(o);
    int64_t count = rgm_classes_count(&classes);

    labels.classes = count > 0 ? count : 2;
    return labels;
}

/* ---- predictions --------------------------------------------------------------------------- */

static rgm_status predict(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                          const classification *o)
{
    const rgmi_head_options head = {.head = o->head, .l2 = o->l2, .hidden = o->hidden};

    return rgmi_predict_head(output, count, scope, states, logits_of(o), &head);
}

RGMI_FUNCTIONS_AT(nodes)
RGMI_FUNCTIONS_AT(root)
RGMI_FUNCTIONS_AT(graph)
RGMI_FUNCTIONS_AT(edges)

/* ---- one class out of many ----------------------------------------------------------------- */

static rgm_class_loss_options loss_of(const classification *o, rgm_value *weights)
{
    return (rgm_class_loss_options){
        .smoothing = o->label_smoothing, .focal_gamma = o->focal_gamma, .weights = weights};
}

static rgm_status class_losses(rgm_head *outputs, int64_t count, const void *options)
{
    const classification *o = options;
    rgm_head *head = &outputs[0];
    rgm_class_loss_options loss;
    rgm_value *weights;

    (void)count;
    head->probabilities = rgm_softmax(head->predictions);
    head->class_names = classes_of(o).names;
    if (head->labels == NULL)
        return RGM_OK;
    if (rgm_value_rank(head->labels) == 2 && rgm_value_dim(head->labels, 1) == 1) {
        rgm_dim shape[1] = {rgm_value_dim(head->labels, 0)};

        head->labels = rgm_reshape(head->labels, 1, shape);
    }
    if (rgm_value_dtype(head->labels) == RGM_F32 || rgm_value_dtype(head->labels) == RGM_F64)
        head->labels =
            rgm_cast(head->labels, RGM_I64); /* a file with NaN among classes has these */
    RGM_TRY(make_weights(&weights, head, o, logits_of(o), 0));
    loss = loss_of(o, weights);
    head->loss =
        rgm_weighted_mean(rgm_class_loss(head->predictions, head->labels, &loss), head->weights);
    return RGM_OK;
}

static rgm_status class_metrics(rgm_head *outputs, int64_t count, const void *options)
{
    const classification *o = options;
    rgm_classes classes = classes_of(o);

    (void)count;
    rgm_classes_add_metrics(&outputs[0], &classes);
    return rgm_head_add_named_metrics(&outputs[0], &o->metrics, rgm_classes_count(&classes),
                                      RGM_METRICS_OF_CLASSES);
}

/* ---- independent 0/1 labels ---------------------------------------------------------------- */

static rgm_status binary_losses(rgm_head *outputs, int64_t count, const void *options)
{
    const classification *o = options;
    rgm_head *head = &outputs[0];
    rgm_class_loss_options loss;
    rgm_dim shape[2];
    rgm_value *targets, *losses, *weights;

    (void)count;
    if (head->predictions == NULL || head->labels == NULL)
        return RGM_OK;
    RGM_TRY(make_weights(&weights, head, o, 2, is_balanced(o) ? o->units : 1));
    loss = loss_of(o, weights);
    shape[0] = rgm_value_dim(head->predictions, 0);
    shape[1] = o->units;
    targets = rgm_cast(rgm_reshape(head->labels, 2, shape), rgm_value_dtype(head->predictions));
    losses = rgm_binary_loss(head->predictions, targets, &loss);
    if (head->weights == NULL || rgm_value_rank(head->weights) == 1)
        losses = rgm_reduce(losses, 1, RGM_MEAN);
    head->loss = rgm_weighted_mean(losses, head->weights);
    head->probabilities = rgm_sigmoid(head->predictions);
    return RGM_OK;
}

static rgm_status binary_metrics(rgm_head *outputs, int64_t count, const void *options)
{
    const classification *o = options;
    const rgm_texts *precisions = &o->recall_at_precisions;

    (void)count;
    outputs[0].confusion = o->units == 1 ? 2 : 0;
    outputs[0].curves = o->units <= RGM_MOST_CURVES ? RGM_CURVES_OF_LABELS : RGM_CURVES_OF_NOTHING;
    for (size_t i = 0; i < sizeof binary_metric_types / sizeof *binary_metric_types; i++)
        rgm_head_add_metric(&outputs[0], binary_metric_types[i]);
    for (int64_t i = 0; i < precisions->count; i++) {
        rgm_metric *metric = rgm_head_add_metric(&outputs[0], &rgm_metric_recall_at_precision);

        if (metric != NULL)
            metric->precision = precision_named(metric->name, precisions->items[i]);
    }
    return rgm_head_add_named_metrics(&outputs[0], &o->metrics, o->units, RGM_METRICS_OF_LABELS);
}

/* ---- the kinds ----------------------------------------------------------------------------- */

#define CLASSES .losses = class_losses, .metrics = class_metrics
#define LABELS  .losses = binary_losses, .metrics = binary_metrics
/* A kind by its name in files: its keys with their check, where it reads, how it is judged. */
#define KIND(kind, text, table, checks, where, place, judged)                                      \
    const rgm_graph_task_type rgm_##kind = {.section = {.name = #kind,                             \
                                                        .help = (text),                            \
                                                        .options_size = sizeof(classification),    \
                                                        .defaults = defaults,                      \
                                                        .fields = (table),                         \
                                                        .check = (checks)},                        \
                                            .output = "classification_logits",                     \
                                            .check_labels = where##_check_labels,                  \
                                            .count_labels = where##_count_labels,                  \
                                            .counts = counts_of,                                   \
                                            .missing = RGM_MISSING_CLASSES,                        \
                                            .predict = where##_predict,                            \
                                            place,                                                 \
                                            judged}

KIND(node_classification, "one class for each node behind a readout", node_fields, check_classes,
     nodes, RGMI_NODES, CLASSES);
KIND(node_binary_classification, "0/1 labels for each node behind a readout", node_binary_fields,
     check_binary, nodes, RGMI_NODES, LABELS);
KIND(root_node_classification, "one class for each root node", root_fields, check_named_classes,
     root, RGMI_ROOT, CLASSES);
KIND(root_node_binary_classification, "0/1 labels for each root node", root_binary_fields,
     check_named_binary, root, RGMI_ROOT, LABELS);
KIND(graph_classification, "one class for each component", graph_fields, check_named_classes, graph,
     RGMI_GRAPH, CLASSES);
KIND(graph_binary_classification, "0/1 labels for each component", graph_binary_fields,
     check_named_binary, graph, RGMI_GRAPH, LABELS);

KIND(edge_classification, "one class for each edge", edge_fields, check_classes, edges, RGMI_EDGES,
     CLASSES);
KIND(edge_binary_classification, "0/1 labels for each edge", edge_binary_fields, check_binary,
     edges, RGMI_EDGES, LABELS);

static rgm_graph_task *multiclass(const rgm_graph_task_type *type, const char *node_set,
                                  const char *label, int64_t num_classes)
{
    classification options = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;

    options.place.node_set = node_set;
    options.place.label = label;
    options.num_classes = num_classes;
    return rgm_graph_task_create(type, NULL, &options);
}

rgm_graph_task *rgm_node_multiclass(const char *node_set, const char *label, int64_t num_classes)
{
    return multiclass(&rgm_node_classification, node_set, label, num_classes);
}

rgm_graph_task *rgm_root_node_multiclass(const char *node_set, const char *label,
                                         int64_t num_classes)
{
    return multiclass(&rgm_root_node_classification, node_set, label, num_classes);
}

rgm_graph_task *rgm_graph_multiclass(const char *node_set, const char *label, int64_t num_classes)
{
    return multiclass(&rgm_graph_classification, node_set, label, num_classes);
}
