/*
 * Classification on the states behind a GNN: of nodes behind a readout, of root nodes, of whole
 * graphs; one class out of many, or independent 0/1 labels. A kind joins the functions of where
 * states and labels are read with those of how predictions are judged.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "gnn_internal.h"
#include "learning.h"

/* ---- options ------------------------------------------------------------------------------- */

#define RGM_OPTIONS rgm_graph_classification_options
#define COMMON                                                                                     \
    RGM_CHOICE_FIELD(head, rgmi_head_names,                                                        \
                     "dense: a dense layer on the states; none: the states are the logits"),       \
        RGM_FLOAT_FIELD(l2, 0, 1e6, "L2 coefficient of the dense head")
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

static rgm_status check_binary(const void *options)
{
    const rgm_texts *precisions = &((const classification *)options)->recall_at_precisions;
    enum { MOST = RGM_MAX_METRICS - sizeof binary_metric_types / sizeof *binary_metric_types };
    char name[RGM_METRIC_NAME];

    for (int64_t i = 0; i < precisions->count; i++)
        if (isnan(precision_named(name, precisions->items[i])))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.recall_at_precisions: '%s' is not a number in (0, 1)",
                            precisions->items[i]);
    if (precisions->count > MOST)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.recall_at_precisions: %lld numbers, at most %d can be reported",
                        (long long)precisions->count, (int)MOST);
    return RGM_OK;
}

static rgm_status check_classes(const void *options)
{
    rgm_classes classes = classes_of(options);

    return rgm_classes_check(&classes);
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
static rgm_status check_labels(const rgm_graph *graph, rgmi_labels labels, const classification *o)
{
    rgm_classes classes = classes_of(o);
    int64_t count = rgm_classes_count(&classes);

    labels.classes = count > 0 ? count : 2;
    return rgmi_check_labels(graph, &labels);
}

/* ---- predictions --------------------------------------------------------------------------- */

static rgm_status predict(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                          const classification *o)
{
    return rgmi_predict_head(output, count, scope, states, logits_of(o), o->head, o->l2);
}

RGMI_FUNCTIONS_AT(nodes)
RGMI_FUNCTIONS_AT(root)
RGMI_FUNCTIONS_AT(graph)

/* ---- one class out of many ----------------------------------------------------------------- */

static rgm_status class_losses(rgm_head *outputs, int64_t count, const void *options)
{
    rgm_value *labels = outputs[0].labels;

    (void)count;
    outputs[0].probabilities = rgm_softmax(outputs[0].predictions);
    outputs[0].class_names = classes_of(options).names;
    if (labels != NULL && rgm_value_rank(labels) == 2 && rgm_value_dim(labels, 1) == 1) {
        rgm_dim shape[1] = {rgm_value_dim(labels, 0)};

        outputs[0].labels = rgm_reshape(labels, 1, shape);
    }
    outputs[0].loss = rgm_weighted_mean(
        rgm_softmax_cross_entropy(outputs[0].predictions, outputs[0].labels), outputs[0].weights);
    return RGM_OK;
}

static rgm_status class_metrics(rgm_head *outputs, int64_t count, const void *options)
{
    rgm_classes classes = classes_of(options);

    (void)count;
    rgm_classes_add_metrics(&outputs[0], &classes);
    return RGM_OK;
}

/* ---- independent 0/1 labels ---------------------------------------------------------------- */

static rgm_status binary_losses(rgm_head *outputs, int64_t count, const void *options)
{
    const classification *o = options;
    rgm_head *head = &outputs[0];
    rgm_dim shape[2];
    rgm_value *targets, *losses;

    (void)count;
    if (head->predictions == NULL || head->labels == NULL)
        return RGM_OK;
    shape[0] = rgm_value_dim(head->predictions, 0);
    shape[1] = o->units;
    targets = rgm_cast(rgm_reshape(head->labels, 2, shape), rgm_value_dtype(head->predictions));
    losses = rgm_sigmoid_cross_entropy(head->predictions, targets);
    head->loss = rgm_weighted_mean(rgm_reduce(losses, 1, RGM_MEAN), head->weights);
    head->probabilities = rgm_sigmoid(head->predictions);
    return RGM_OK;
}

static rgm_status binary_metrics(rgm_head *outputs, int64_t count, const void *options)
{
    const rgm_texts *precisions = &((const classification *)options)->recall_at_precisions;

    (void)count;
    outputs[0].confusion = ((const classification *)options)->units == 1 ? 2 : 0;
    for (size_t i = 0; i < sizeof binary_metric_types / sizeof *binary_metric_types; i++)
        rgm_head_add_metric(&outputs[0], binary_metric_types[i]);
    for (int64_t i = 0; i < precisions->count; i++) {
        rgm_metric *metric = rgm_head_add_metric(&outputs[0], &rgm_metric_recall_at_precision);

        if (metric != NULL)
            metric->precision = precision_named(metric->name, precisions->items[i]);
    }
    return RGM_OK;
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
