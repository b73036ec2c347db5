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

static const char *const heads[] = {"dense", "none", NULL};

#define RGM_OPTIONS rgm_graph_classification_options
#define COMMON                                                                                     \
    RGM_TEXT_FIELD(label, "label feature"), RGM_TEXT_FIELD(state, "state feature that is read"),   \
        RGM_TEXT_FIELD(readout_set, "readout node set"),                                           \
        RGM_CHOICE_FIELD(head, heads,                                                              \
                         "dense: a dense layer on the states; none: the states are the logits"),   \
        RGM_FLOAT_FIELD(l2, 0, 1e6, "L2 coefficient of the dense head"),                           \
        RGM_TEXT_FIELD(node_set, "whose states are read")
#define KEY    RGM_TEXT_FIELD(key, "readout key")
#define REDUCE RGM_TEXT_FIELD(reduce_type, "how node states are pooled: sum, mean, max, ...")
#define MULTICLASS                                                                                 \
    RGM_INT_FIELD(num_classes, 0, 1e9, "number of classes; this or class_names"),                  \
        RGM_TEXTS_FIELD(class_names, "names, in order"),                                           \
        RGM_BOOL_FIELD(per_class_statistics, "also precision and recall of each class")
#define BINARY                                                                                     \
    RGM_INT_FIELD(units, 1, 1e9, "independent 0/1 labels"),                                        \
        RGM_TEXTS_FIELD(recall_at_precisions,                                                      \
                        "also the recall at these precisions, each in (0, 1)")

static const rgm_field node_fields[] = {COMMON, KEY, MULTICLASS, {0}};
static const rgm_field node_binary_fields[] = {COMMON, KEY, BINARY, {0}};
static const rgm_field root_fields[] = {COMMON, KEY, MULTICLASS, {0}};
static const rgm_field root_binary_fields[] = {COMMON, KEY, BINARY, {0}};
static const rgm_field graph_fields[] = {COMMON, REDUCE, MULTICLASS, {0}};
static const rgm_field graph_binary_fields[] = {COMMON, REDUCE, BINARY, {0}};
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

/* Of kinds that read the states of a set by its name; some pool them. */
static rgm_status check_named_set(const void *options)
{
    const classification *o = options;

    if (o->node_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: name the node set whose states are read");
    return rgmi_reduce_type_check("task.reduce_type", o->reduce_type);
}

static rgm_status check_named_classes(const void *options)
{
    RGM_TRY(check_classes(options));
    return check_named_set(options);
}

static rgm_status check_named_binary(const void *options)
{
    RGM_TRY(check_binary(options));
    return check_named_set(options);
}

static const char *label_of(const void *options)
{
    return ((const classification *)options)->label;
}

/* ---- where labels stand -------------------------------------------------------------------- */

static bool has_label(const rgm_set_schema *set, const classification *o)
{
    return set != NULL && rgm_set_feature(set, o->label) != NULL;
}

/* On the readout set, or else on a set of the kind's own; NULL when on neither. */
static const rgm_set_schema *label_set(const classification *o, const rgm_schema *schema,
                                       rgm_piece piece, const char *own)
{
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_NODE_SET, o->readout_set);

    if (has_label(set, o))
        return set;
    set = rgm_schema_find(schema, piece, own);
    return has_label(set, o) ? set : NULL;
}

static rgm_status check_node_set(const classification *o, const rgm_schema *schema)
{
    if (o->node_set != NULL && rgm_schema_find(schema, RGM_NODE_SET, o->node_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: the schema has no node set '%s'",
                        o->node_set);
    return RGM_OK;
}

static rgm_status no_label(const classification *o, const char *nor)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "task.label: no label feature '%s' on '%s'%s%s", o->label,
                    o->readout_set, nor[0] != '\0' ? " nor on " : "", nor);
}

/* Classes, or independent labels where there are none. */
static int64_t logits_of(const classification *o)
{
    rgm_classes classes = classes_of(o);
    int64_t count = rgm_classes_count(&classes);

    return count > 0 ? count : o->units;
}

/* Each label is a class, or 0 or 1. */
static rgmi_labels labels_on(const rgm_set_schema *set, bool of_roots, const classification *o)
{
    rgm_classes classes = classes_of(o);
    int64_t count = rgm_classes_count(&classes);

    return (rgmi_labels){
        .set = set, .feature = o->label, .of_roots = of_roots, .classes = count > 0 ? count : 2};
}

/* One view of the graph, and labels. */
static void give(rgm_graph_views *views, const rgm_graph_value *graph, rgm_value *labels)
{
    views->count = 1;
    views->graphs[0] = graph;
    views->labels = labels;
}

/* ---- nodes behind a readout ---------------------------------------------------------------- */

static rgm_status nodes_check(const void *options, const rgm_schema *schema)
{
    const classification *o = options;

    RGM_TRY(check_node_set(o, schema));
    if (rgm_schema_find(schema, RGM_NODE_SET, o->readout_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.readout_set: the schema has no node set '%s' that says which nodes "
                        "are asked about",
                        o->readout_set);
    return has_label(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o) ? RGM_OK
                                                                               : no_label(o, "");
}

static rgm_status nodes_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                   const void *options)
{
    const classification *o = options;

    give(views, graph, rgm_node_feature(graph, o->readout_set, o->label));
    return RGM_OK;
}

static rgm_status nodes_check_labels(const rgm_graph *graph, const void *options)
{
    const classification *o = options;
    rgmi_labels labels =
        labels_on(rgm_schema_find(rgm_graph_schema(graph), RGM_NODE_SET, o->readout_set), false, o);

    return rgmi_check_labels(graph, &labels);
}

static rgm_value *nodes_real(const rgm_graph_value *graph, const void *options)
{
    return rgm_real_mask(graph, RGM_NODE_SET, ((const classification *)options)->readout_set);
}

/* Through "#id" of sampled graphs. */
static int64_t nodes_node(const rgm_graph *graph, int64_t i, const void *options)
{
    const classification *o = options;
    char edge_set[256];
    rgm_tensor *source;
    const rgm_set_schema *set;
    const rgm_feature *id;

    snprintf(edge_set, sizeof edge_set, "%s/%s", o->readout_set, o->key);
    set = rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, edge_set);
    if (set == NULL)
        return -1;
    source = rgm_graph_source(graph, edge_set);
    id = rgm_graph_feature(graph, RGM_NODE_SET, set->source, "#id");
    if (source == NULL || i >= rgm_tensor_count(source))
        return -1;
    i = rgm_tensor_at_int(source, i);
    return id != NULL ? rgm_tensor_at_int(id->values, i) : i;
}

/* ---- root nodes ---------------------------------------------------------------------------- */

/* Labels on the readout belong to the nodes that it points at; others to each component's first
 * node. */
static bool root_reads_through(const classification *o, const rgm_schema *schema)
{
    char edge_set[256];
    const rgm_set_schema *edges;

    snprintf(edge_set, sizeof edge_set, "%s/%s", o->readout_set, o->key);
    edges = rgm_schema_find(schema, RGM_EDGE_SET, edge_set);
    return edges != NULL && strcmp(edges->source, o->node_set) == 0 &&
           has_label(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o);
}

static rgm_status root_check(const void *options, const rgm_schema *schema)
{
    const classification *o = options;

    RGM_TRY(check_node_set(o, schema));
    return label_set(o, schema, RGM_NODE_SET, o->node_set) != NULL ? RGM_OK
                                                                   : no_label(o, o->node_set);
}

/* A sampled mini-batch is many rooted subgraphs that share nodes, each root with its own item. */
static rgm_status root_check_items(const rgm_graph *graph, bool together, const void *options)
{
    const classification *o = options;

    if (together && root_reads_through(o, rgm_graph_schema(graph)))
        return RGM_OK;
    return rgmi_check_one_item(graph, o->readout_set);
}

static rgm_status root_check_labels(const rgm_graph *graph, const void *options)
{
    const classification *o = options;
    const rgm_set_schema *set = label_set(o, rgm_graph_schema(graph), RGM_NODE_SET, o->node_set);
    rgmi_labels labels = labels_on(set, set != NULL && strcmp(set->name, o->readout_set) != 0, o);

    return rgmi_check_labels(graph, &labels);
}

static rgm_status root_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                  const void *options)
{
    const classification *o = options;
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const rgm_set_schema *set = label_set(o, schema, RGM_NODE_SET, o->node_set);
    rgm_value *labels = root_reads_through(o, schema)
                            ? rgm_node_feature(graph, set->name, o->label)
                            : rgm_gather_first_node(graph, set->name, o->label);

    if (strcmp(set->name, o->readout_set) != 0)
        graph = rgm_without_feature(graph, RGM_NODE_SET, o->node_set, o->label);
    give(views, graph, labels);
    return RGM_OK;
}

static rgm_value *root_real(const rgm_graph_value *graph, const void *options)
{
    return root_reads_through(options, rgm_graph_value_schema(graph))
               ? nodes_real(graph, options)
               : rgm_real_mask(graph, RGM_CONTEXT_PIECE, NULL);
}

static int64_t root_node(const rgm_graph *graph, int64_t i, const void *options)
{
    return root_reads_through(options, rgm_graph_schema(graph)) ? nodes_node(graph, i, options)
                                                                : -1;
}

/* ---- whole graphs -------------------------------------------------------------------------- */

static rgm_status graph_check(const void *options, const rgm_schema *schema)
{
    const classification *o = options;

    RGM_TRY(check_node_set(o, schema));
    return label_set(o, schema, RGM_CONTEXT_PIECE, NULL) != NULL ? RGM_OK
                                                                 : no_label(o, "the context");
}

static rgm_status graph_check_items(const rgm_graph *graph, bool together, const void *options)
{
    const classification *o = options;
    const rgm_set_schema *set = label_set(o, rgm_graph_schema(graph), RGM_CONTEXT_PIECE, NULL);

    (void)together;
    return set == NULL || set->piece == RGM_CONTEXT_PIECE ? RGM_OK
                                                          : rgmi_check_one_item(graph, set->name);
}

static rgm_status graph_check_labels(const rgm_graph *graph, const void *options)
{
    const classification *o = options;
    rgmi_labels labels =
        labels_on(label_set(o, rgm_graph_schema(graph), RGM_CONTEXT_PIECE, NULL), false, o);

    return rgmi_check_labels(graph, &labels);
}

static rgm_status graph_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                   const void *options)
{
    const classification *o = options;
    const rgm_set_schema *set =
        label_set(o, rgm_graph_value_schema(graph), RGM_CONTEXT_PIECE, NULL);

    if (set->piece == RGM_CONTEXT_PIECE)
        give(views, rgm_without_feature(graph, RGM_CONTEXT_PIECE, NULL, o->label),
             rgm_context_feature(graph, o->label));
    else /* one prediction a component has one readout item there */
        give(views, graph, rgm_gather_first_node(graph, o->readout_set, o->label));
    return RGM_OK;
}

/* ---- predictions --------------------------------------------------------------------------- */

static rgm_status predict(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                          const classification *o)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
    int64_t units = logits_of(o);

    *count = 1;
    if (states == NULL)
        return rgm_cgraph_status(rgm_scope_graph(scope));
    output->predictions = states;
    if (o->head == RGM_HEAD_DENSE) {
        dense.l2 = o->l2;
        output->predictions = rgm_dense_with(scope, output->name, states, units, &dense);
    } else if (rgm_value_rank(states) != 2 || rgm_value_dim(states, 1) != units) {
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.head is none, so the model's states must be %lld wide, but they are "
                        "%lld wide",
                        (long long)units, (long long)rgm_value_dim(states, -1));
    }
    return RGM_OK;
}

static rgm_status nodes_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                                const rgm_graph_views *views, const void *options)
{
    const classification *o = options;

    return predict(outputs, count, scope,
                   rgm_structured_readout(views->graphs[0], o->key, o->state, o->readout_set), o);
}

static rgm_status root_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                               const rgm_graph_views *views, const void *options)
{
    const classification *o = options;
    const rgm_graph_value *graph = views->graphs[0];

    return predict(outputs, count, scope,
                   root_reads_through(o, rgm_graph_value_schema(graph))
                       ? rgm_structured_readout(graph, o->key, o->state, o->readout_set)
                       : rgm_gather_first_node(graph, o->node_set, o->state),
                   o);
}

static rgm_status graph_predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                                const rgm_graph_views *views, const void *options)
{
    const classification *o = options;
    rgm_value *states = rgm_node_feature(views->graphs[0], o->node_set, o->state);

    states = rgm_pool(views->graphs[0], RGM_CONTEXT, RGM_NODE_SET, &o->node_set, &states, 1,
                      o->reduce_type);
    return predict(outputs, count, scope, states, o);
}

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

#define NODES                                                                                      \
    .check = nodes_check, .check_labels = nodes_check_labels, .preprocess = nodes_preprocess,      \
    .real_items = nodes_real, .predict = nodes_predict, .node = nodes_node
#define ROOT                                                                                       \
    .check = root_check, .check_items = root_check_items, .check_labels = root_check_labels,       \
    .preprocess = root_preprocess, .real_items = root_real, .predict = root_predict,               \
    .node = root_node
#define GRAPH                                                                                      \
    .check = graph_check, .check_items = graph_check_items, .check_labels = graph_check_labels,    \
    .preprocess = graph_preprocess, .predict = graph_predict
#define CLASSES .losses = class_losses, .metrics = class_metrics
#define LABELS  .losses = binary_losses, .metrics = binary_metrics
/* A kind by its name in files: its keys with their check, where it reads, how it is judged. */
#define KIND(kind, text, table, checks, place, judged)                                             \
    const rgm_graph_task_type rgm_##kind = {.section = {.name = #kind,                             \
                                                        .help = (text),                            \
                                                        .options_size = sizeof(classification),    \
                                                        .defaults = defaults,                      \
                                                        .fields = (table),                         \
                                                        .check = (checks)},                        \
                                            .output = "classification_logits",                     \
                                            .label = label_of,                                     \
                                            place,                                                 \
                                            judged}

KIND(node_classification, "one class for each node behind a readout", node_fields, check_classes,
     NODES, CLASSES);
KIND(node_binary_classification, "0/1 labels for each node behind a readout", node_binary_fields,
     check_binary, NODES, LABELS);
KIND(root_node_classification, "one class for each root node", root_fields, check_named_classes,
     ROOT, CLASSES);
KIND(root_node_binary_classification, "0/1 labels for each root node", root_binary_fields,
     check_named_binary, ROOT, LABELS);
KIND(graph_classification, "one class for each component", graph_fields, check_named_classes, GRAPH,
     CLASSES);
KIND(graph_binary_classification, "0/1 labels for each component", graph_binary_fields,
     check_named_binary, GRAPH, LABELS);

static rgm_graph_task *multiclass(const rgm_graph_task_type *type, const char *node_set,
                                  const char *label, int64_t num_classes)
{
    classification options = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;

    options.node_set = node_set;
    options.label = label;
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
