/*
 * Classification heads on the states behind a GNN: of nodes behind a readout, of each component's
 * first node, of whole graphs; one class out of many, or independent 0/1 labels.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regimen/gnn.h>

/* ---- options ------------------------------------------------------------------------------- */

#define OFFSET(member) offsetof(rgm_classification_options, member)
static const char *const heads[] = {"dense", "none", NULL};

#define COMMON                                                                                      \
    {"label", RGM_FIELD_TEXT, OFFSET(label), 0, 0, NULL, NULL, "label feature"},                    \
        {"state", RGM_FIELD_TEXT, OFFSET(state), 0, 0, NULL, NULL, "state feature that is read"},   \
        {"readout_set", RGM_FIELD_TEXT, OFFSET(readout_set), 0, 0, NULL, NULL, "readout node set"}, \
        {"head",                                                                                    \
         RGM_FIELD_CHOICE,                                                                          \
         OFFSET(head),                                                                              \
         0,                                                                                         \
         0,                                                                                         \
         heads,                                                                                     \
         NULL,                                                                                      \
         "dense: a dense layer on the states; none: the states are the logits"},                    \
    {                                                                                               \
        "l2", RGM_FIELD_FLOAT, OFFSET(l2), 0, 1e6, NULL, NULL, "L2 coefficient of the dense head"   \
    }
#define NODE_SET                                                                                   \
    {                                                                                              \
        "node_set", RGM_FIELD_TEXT, OFFSET(node_set), 0, 0, NULL, NULL, "whose states are read"    \
    }
#define KEY                                                                                        \
    {                                                                                              \
        "key", RGM_FIELD_TEXT, OFFSET(key), 0, 0, NULL, NULL, "readout key"                        \
    }
#define REDUCE                                                                                     \
    {                                                                                              \
        "reduce_type", RGM_FIELD_TEXT, OFFSET(reduce_type), 0, 0, NULL, NULL,                      \
            "how node states are pooled: sum, mean, max, ..."                                      \
    }
#define MULTICLASS                                                                                  \
    {"num_classes",                                                                                 \
     RGM_FIELD_INT,                                                                                 \
     OFFSET(num_classes),                                                                           \
     0,                                                                                             \
     1e9,                                                                                           \
     NULL,                                                                                          \
     NULL,                                                                                          \
     "number of classes; this or class_names"},                                                     \
        {"class_names", RGM_FIELD_TEXTS, OFFSET(class_names), 0, 0, NULL, NULL, "names, in order"}, \
    {                                                                                               \
        "per_class_statistics", RGM_FIELD_BOOL, OFFSET(per_class_statistics), 0, 0, NULL, NULL,     \
            "also precision and recall of each class"                                               \
    }
#define BINARY                                                                                     \
    {"units", RGM_FIELD_INT, OFFSET(units), 1, 1e9, NULL, NULL, "independent 0/1 labels"},         \
    {                                                                                              \
        "recall_at_precisions", RGM_FIELD_TEXTS, OFFSET(recall_at_precisions), 0, 0, NULL, NULL,   \
            "also the recall at these precisions, each in (0, 1)"                                  \
    }

static const rgm_field node_fields[] = {COMMON, NODE_SET, KEY, MULTICLASS, {0}};
static const rgm_field node_binary_fields[] = {COMMON, NODE_SET, KEY, BINARY, {0}};
static const rgm_field root_fields[] = {COMMON, NODE_SET, MULTICLASS, {0}};
static const rgm_field root_binary_fields[] = {COMMON, NODE_SET, BINARY, {0}};
static const rgm_field graph_fields[] = {COMMON, NODE_SET, REDUCE, MULTICLASS, {0}};
static const rgm_field graph_binary_fields[] = {COMMON, NODE_SET, REDUCE, BINARY, {0}};

void rgm_classification_defaults(rgm_classification_options *options)
{
    *options = (rgm_classification_options){
        .state = RGM_HIDDEN_STATE,
        .key = "seed",
        .readout_set = RGM_READOUT,
        .reduce_type = "mean",
        .label = "label",
        .units = 1,
    };
}

/* ---- the rows ------------------------------------------------------------------------------ */

static const rgm_gnn_task_type node_multiclass = {
    .name = "node_classification",
    .help = "one class for each node behind a readout",
    .place = RGM_READ_NODES,
    .fields = node_fields,
};
static const rgm_gnn_task_type node_binary = {
    .name = "node_binary_classification",
    .help = "0/1 labels for each node behind a readout",
    .place = RGM_READ_NODES,
    .binary = true,
    .fields = node_binary_fields,
};
static const rgm_gnn_task_type root_multiclass = {
    .name = "root_node_classification",
    .help = "one class for each component's first node",
    .place = RGM_READ_ROOT,
    .fields = root_fields,
};
static const rgm_gnn_task_type root_binary = {
    .name = "root_node_binary_classification",
    .help = "0/1 labels for each component's first node",
    .place = RGM_READ_ROOT,
    .binary = true,
    .fields = root_binary_fields,
};
static const rgm_gnn_task_type graph_multiclass = {
    .name = "graph_classification",
    .help = "one class for each component",
    .place = RGM_READ_GRAPH,
    .fields = graph_fields,
};
static const rgm_gnn_task_type graph_binary = {
    .name = "graph_binary_classification",
    .help = "0/1 labels for each component",
    .place = RGM_READ_GRAPH,
    .binary = true,
    .fields = graph_binary_fields,
};

static const rgm_gnn_task_type *const types[] = {&node_multiclass,  &node_binary,
                                                 &root_multiclass,  &root_binary,
                                                 &graph_multiclass, &graph_binary};

const rgm_gnn_task_type *const *rgm_gnn_task_types(int64_t *count)
{
    *count = sizeof types / sizeof *types;
    return types;
}

const rgm_gnn_task_type *rgm_gnn_task_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    return NULL;
}

static rgm_gnn_task multiclass(const rgm_gnn_task_type *type, const char *node_set,
                               const char *label, int64_t num_classes)
{
    rgm_gnn_task task = {.type = type};

    rgm_classification_defaults(&task.options);
    task.options.node_set = node_set;
    task.options.label = label;
    task.options.num_classes = num_classes;
    return task;
}

rgm_gnn_task rgm_node_multiclass(const char *node_set, const char *label, int64_t num_classes)
{
    return multiclass(&node_multiclass, node_set, label, num_classes);
}

rgm_gnn_task rgm_root_node_multiclass(const char *node_set, const char *label, int64_t num_classes)
{
    return multiclass(&root_multiclass, node_set, label, num_classes);
}

rgm_gnn_task rgm_graph_multiclass(const char *node_set, const char *label, int64_t num_classes)
{
    return multiclass(&graph_multiclass, node_set, label, num_classes);
}

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_classes classes_of(const rgm_gnn_task *task)
{
    const rgm_classification_options *o = &task->options;

    return (rgm_classes){.num_classes = o->num_classes,
                         .names = o->class_names,
                         .statistics = o->per_class_statistics};
}

int64_t rgm_gnn_task_units(const rgm_gnn_task *task)
{
    rgm_classes classes = classes_of(task);

    return task->type->binary ? task->options.units : rgm_classes_count(&classes);
}

/* Where the label feature stands: on the readout set, or where only this kind of task may look. */
static const rgm_set_schema *label_set(const rgm_gnn_task *task, const rgm_schema *schema)
{
    const rgm_classification_options *o = &task->options;
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_NODE_SET, o->readout_set);

    if (set != NULL && rgm_set_feature(set, o->label) != NULL)
        return set;
    if (task->type->place == RGM_READ_ROOT)
        set = rgm_schema_find(schema, RGM_NODE_SET, o->node_set);
    else if (task->type->place == RGM_READ_GRAPH)
        set = rgm_schema_find(schema, RGM_CONTEXT_PIECE, NULL);
    else
        set = NULL;
    return set != NULL && rgm_set_feature(set, o->label) != NULL ? set : NULL;
}

static rgm_status check_counts(const rgm_gnn_task *task)
{
    const rgm_classification_options *o = &task->options;
    rgm_classes classes;

    if (task->type->binary) {
        for (int64_t i = 0; i < o->recall_at_precisions.count; i++) {
            char *end;
            double p = strtod(o->recall_at_precisions.items[i], &end);

            if (*end != '\0' || !(p > 0 && p < 1))
                return RGM_FAIL(RGM_ERR_CONFIG,
                                "task.recall_at_precisions: '%s' is not a number in (0, 1)",
                                o->recall_at_precisions.items[i]);
        }
        return RGM_OK;
    }
    classes = classes_of(task);
    return rgm_classes_check(&classes);
}

rgm_status rgm_gnn_task_check(const rgm_gnn_task *task, const rgm_schema *schema)
{
    const rgm_classification_options *o = &task->options;

    RGM_TRY(check_counts(task));
    if (task->type->place != RGM_READ_NODES && o->node_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.node_set: %s needs the node set whose states it reads",
                        task->type->name);
    if (schema == NULL)
        return RGM_OK;
    if (o->node_set != NULL && rgm_schema_find(schema, RGM_NODE_SET, o->node_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: the schema has no node set '%s'",
                        o->node_set);
    if (task->type->place == RGM_READ_NODES &&
        rgm_schema_find(schema, RGM_NODE_SET, o->readout_set) == NULL)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "task.readout_set: the schema has no node set '%s' that says which nodes are "
            "asked about",
            o->readout_set);
    if (label_set(task, schema) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.label: no label feature '%s' on '%s'%s%s", o->label,
                        o->readout_set, task->type->place == RGM_READ_NODES ? "" : " nor on ",
                        task->type->place == RGM_READ_NODES  ? ""
                        : task->type->place == RGM_READ_ROOT ? o->node_set
                                                             : "the context");
    return RGM_OK;
}

/* ---- the model ----------------------------------------------------------------------------- */

rgm_status rgm_gnn_task_preprocess(const rgm_graph_value **out, rgm_value **labels,
                                   const rgm_gnn_task *task, const rgm_graph_value *in)
{
    const rgm_classification_options *o = &task->options;
    const rgm_set_schema *set;

    *out = in;
    *labels = NULL;
    RGM_TRY(rgm_gnn_task_check(task, rgm_graph_value_schema(in)));
    set = label_set(task, rgm_graph_value_schema(in));
    if (set->piece == RGM_CONTEXT_PIECE) {
        *labels = rgm_context_feature(in, o->label);
        *out = rgm_without_feature(in, RGM_CONTEXT_PIECE, NULL, o->label);
    } else if (strcmp(set->name, o->readout_set) == 0) {
        /* One prediction a component has one readout item there. */
        *labels = task->type->place == RGM_READ_NODES
                      ? rgm_node_feature(in, o->readout_set, o->label)
                      : rgm_gather_first_node(in, o->readout_set, o->label);
    } else {
        *labels = rgm_gather_first_node(in, o->node_set, o->label);
        *out = rgm_without_feature(in, RGM_NODE_SET, o->node_set, o->label);
    }
    /* [n, 1] labels of one class are [n]. */
    if (*labels != NULL && !task->type->binary && rgm_value_rank(*labels) == 2 &&
        rgm_value_dim(*labels, 1) == 1) {
        rgm_dim shape[1] = {rgm_value_dim(*labels, 0)};

        *labels = rgm_reshape(*labels, 1, shape);
    }
    return *labels == NULL || *out == NULL ? rgm_cgraph_status(rgm_graph_value_cgraph(in)) : RGM_OK;
}

static rgm_value *read_states(const rgm_gnn_task *task, const rgm_graph_value *graph)
{
    const rgm_classification_options *o = &task->options;

    switch (task->type->place) {
    case RGM_READ_NODES:
        return rgm_structured_readout(graph, o->key, o->state, o->readout_set);
    case RGM_READ_ROOT:
        return rgm_gather_first_node(graph, o->node_set, o->state);
    default: {
        rgm_value *states = rgm_node_feature(graph, o->node_set, o->state);

        return rgm_pool(graph, RGM_CONTEXT, RGM_NODE_SET, &o->node_set, &states, 1, o->reduce_type);
    }
    }
}

rgm_value *rgm_gnn_task_predict(const rgm_gnn_task *task, rgm_scope *scope,
                                const rgm_graph_value *graph)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
    rgm_value *states;

    if (graph == NULL)
        return NULL;
    states = read_states(task, graph);
    if (states == NULL)
        return NULL;
    if (task->options.head == 0) {
        dense.l2 = task->options.l2;
        return rgm_dense_with(scope, task->name != NULL ? task->name : "classification_logits",
                              states, rgm_gnn_task_units(task), &dense);
    }
    if (rgm_value_rank(states) != 2 || rgm_value_dim(states, 1) != rgm_gnn_task_units(task))
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_CONFIG,
                               "task.head is none, so the model's states must be %lld wide, but "
                               "they are %lld wide",
                               (long long)rgm_gnn_task_units(task),
                               (long long)rgm_value_dim(states, -1));
    return states;
}

/* ---- loss and metrics ---------------------------------------------------------------------- */

static void judge_binary(rgm_head *head, const rgm_gnn_task *task)
{
    rgm_dim shape[2];
    rgm_value *targets, *losses;

    if (head->predictions == NULL || head->labels == NULL)
        return;
    shape[0] = rgm_value_dim(head->predictions, 0);
    shape[1] = rgm_gnn_task_units(task);
    targets = rgm_cast(rgm_reshape(head->labels, 2, shape), rgm_value_dtype(head->predictions));
    losses = rgm_sigmoid_cross_entropy(head->predictions, targets);
    head->loss = rgm_weighted_mean(rgm_reduce(losses, 1, RGM_MEAN), head->weights);
    rgm_head_add_metric(head, &rgm_metric_binary_accuracy);
    rgm_head_add_metric(head, &rgm_metric_binary_cross_entropy);
    rgm_head_add_metric(head, &rgm_metric_precision);
    rgm_head_add_metric(head, &rgm_metric_recall);
    rgm_head_add_metric(head, &rgm_metric_auc_roc);
    rgm_head_add_metric(head, &rgm_metric_auc_pr);
    for (int64_t i = 0;
         i < task->options.recall_at_precisions.count && head->metric_count < RGM_MAX_METRICS;
         i++) {
        const char *text = task->options.recall_at_precisions.items[i];
        rgm_metric *metric = rgm_head_add_metric(head, &rgm_metric_recall_at_precision);

        metric->precision = strtod(text, NULL);
        snprintf(metric->name, sizeof metric->name, "recall_at_precision_%g",
                 100 * metric->precision);
        for (char *c = metric->name; *c != '\0'; c++)
            if (*c == '.')
                *c = '_';
    }
}

rgm_status rgm_gnn_task_judge(rgm_head *head, const rgm_gnn_task *task)
{
    rgm_classes classes = classes_of(task);

    head->metric_count = 0;
    if (task->type->binary)
        judge_binary(head, task);
    else
        rgm_classes_judge(head, &classes);
    if (head->loss == NULL)
        return head->predictions != NULL
                   ? rgm_cgraph_status(rgm_value_graph(head->predictions))
                   : RGM_FAIL(RGM_ERR_ARG, "head '%s' has no predictions", head->name);
    return RGM_OK;
}
