/*
 * Where a task reads states and labels: at nodes behind a readout, at root nodes, at whole graphs.
 * Kinds of tasks join these with what they predict and how it is judged.
 */
#include <stdio.h>

#include "gnn_internal.h"
#include "learning.h"

const char *const rgmi_head_names[] = {"dense", "none", NULL};

/* Options begin with it. */
typedef rgm_graph_place place;

/* ---- options and labels ---------------------------------------------------------------------- */

/* Of kinds that read the states of a set by its name; some pool them. */
rgm_status rgmi_check_named_set(const void *options)
{
    const place *o = options;

    if (o->node_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: name the node set whose states are read");
    return rgmi_reduce_type_check("task.reduce_type", o->reduce_type);
}

const char *rgmi_label_of(const void *options)
{
    return ((const place *)options)->label;
}

static bool has_label(const rgm_set_schema *set, const place *o)
{
    return set != NULL && rgm_set_feature(set, o->label) != NULL;
}

/* On the readout set, or else on a set of the kind's own; NULL when on neither. */
static const rgm_set_schema *label_set(const place *o, const rgm_schema *schema, rgm_piece piece,
                                       const char *own)
{
    const rgm_set_schema *set = rgm_schema_find(schema, RGM_NODE_SET, o->readout_set);

    if (has_label(set, o))
        return set;
    set = rgm_schema_find(schema, piece, own);
    return has_label(set, o) ? set : NULL;
}

static rgm_status check_node_set(const place *o, const rgm_schema *schema)
{
    if (o->node_set != NULL && rgm_schema_find(schema, RGM_NODE_SET, o->node_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: the schema has no node set '%s'",
                        o->node_set);
    return RGM_OK;
}

static rgm_status no_label(const place *o, const char *nor)
{
    return RGM_FAIL(RGM_ERR_CONFIG, "task.label: no label feature '%s' on '%s'%s%s", o->label,
                    o->readout_set, nor[0] != '\0' ? " nor on " : "", nor);
}

/* One view of the graph, and labels. */
static void give(rgm_graph_views *views, const rgm_graph_value *graph, rgm_value *labels)
{
    views->count = 1;
    views->graphs[0] = graph;
    views->labels = labels;
}

/* ---- nodes behind a readout ---------------------------------------------------------------- */

rgm_status rgmi_at_nodes_check(const void *options, const rgm_schema *schema)
{
    const place *o = options;

    RGM_TRY(check_node_set(o, schema));
    if (rgm_schema_find(schema, RGM_NODE_SET, o->readout_set) == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.readout_set: the schema has no node set '%s' that says which nodes "
                        "are asked about",
                        o->readout_set);
    return has_label(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o) ? RGM_OK
                                                                               : no_label(o, "");
}

rgm_status rgmi_at_nodes_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options)
{
    const place *o = options;

    give(views, graph, rgm_node_feature(graph, o->readout_set, o->label));
    return RGM_OK;
}

rgm_value *rgmi_at_nodes_real(const rgm_graph_value *graph, const void *options)
{
    return rgm_real_mask(graph, RGM_NODE_SET, ((const place *)options)->readout_set);
}

rgmi_labels rgmi_at_nodes_labels(const rgm_graph *graph, const void *options)
{
    const place *o = options;

    return (rgmi_labels){.set =
                             rgm_schema_find(rgm_graph_schema(graph), RGM_NODE_SET, o->readout_set),
                         .feature = o->label};
}

rgm_value *rgmi_at_nodes_states(const rgm_graph_views *views, const void *options)
{
    const place *o = options;

    return rgm_structured_readout(views->graphs[0], o->key, o->state, o->readout_set);
}

/* Through "#id" of sampled graphs. */
int64_t rgmi_at_nodes_node(const rgm_graph *graph, int64_t i, const void *options)
{
    const place *o = options;
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
static bool root_reads_through(const place *o, const rgm_schema *schema)
{
    char edge_set[256];
    const rgm_set_schema *edges;

    snprintf(edge_set, sizeof edge_set, "%s/%s", o->readout_set, o->key);
    edges = rgm_schema_find(schema, RGM_EDGE_SET, edge_set);
    return edges != NULL && strcmp(edges->source, o->node_set) == 0 &&
           has_label(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o);
}

rgm_status rgmi_at_root_check(const void *options, const rgm_schema *schema)
{
    const place *o = options;

    RGM_TRY(check_node_set(o, schema));
    return label_set(o, schema, RGM_NODE_SET, o->node_set) != NULL ? RGM_OK
                                                                   : no_label(o, o->node_set);
}

/* A sampled mini-batch is many rooted subgraphs that share nodes, each root with its own item. */
rgm_status rgmi_at_root_check_items(const rgm_graph *graph, bool together, const void *options)
{
    const place *o = options;

    if (together && root_reads_through(o, rgm_graph_schema(graph)))
        return RGM_OK;
    return rgmi_check_one_item(graph, o->readout_set);
}

rgm_status rgmi_at_root_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                   const void *options)
{
    const place *o = options;
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

rgmi_labels rgmi_at_root_labels(const rgm_graph *graph, const void *options)
{
    const place *o = options;
    const rgm_set_schema *set = label_set(o, rgm_graph_schema(graph), RGM_NODE_SET, o->node_set);

    return (rgmi_labels){.set = set,
                         .feature = o->label,
                         .of_roots = set != NULL && strcmp(set->name, o->readout_set) != 0};
}

rgm_value *rgmi_at_root_states(const rgm_graph_views *views, const void *options)
{
    const place *o = options;

    return root_reads_through(o, rgm_graph_value_schema(views->graphs[0]))
               ? rgmi_at_nodes_states(views, options)
               : rgm_gather_first_node(views->graphs[0], o->node_set, o->state);
}

rgm_value *rgmi_at_root_real(const rgm_graph_value *graph, const void *options)
{
    return root_reads_through(options, rgm_graph_value_schema(graph))
               ? rgmi_at_nodes_real(graph, options)
               : rgm_real_mask(graph, RGM_CONTEXT_PIECE, NULL);
}

int64_t rgmi_at_root_node(const rgm_graph *graph, int64_t i, const void *options)
{
    return root_reads_through(options, rgm_graph_schema(graph))
               ? rgmi_at_nodes_node(graph, i, options)
               : -1;
}

/* ---- whole graphs -------------------------------------------------------------------------- */

rgm_status rgmi_at_graph_check(const void *options, const rgm_schema *schema)
{
    const place *o = options;

    RGM_TRY(check_node_set(o, schema));
    return label_set(o, schema, RGM_CONTEXT_PIECE, NULL) != NULL ? RGM_OK
                                                                 : no_label(o, "the context");
}

rgm_status rgmi_at_graph_check_items(const rgm_graph *graph, bool together, const void *options)
{
    const place *o = options;
    const rgm_set_schema *set = label_set(o, rgm_graph_schema(graph), RGM_CONTEXT_PIECE, NULL);

    (void)together;
    return set == NULL || set->piece == RGM_CONTEXT_PIECE ? RGM_OK
                                                          : rgmi_check_one_item(graph, set->name);
}

rgm_status rgmi_at_graph_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options)
{
    const place *o = options;
    const rgm_set_schema *set =
        label_set(o, rgm_graph_value_schema(graph), RGM_CONTEXT_PIECE, NULL);

    if (set->piece == RGM_CONTEXT_PIECE)
        give(views, rgm_without_feature(graph, RGM_CONTEXT_PIECE, NULL, o->label),
             rgm_context_feature(graph, o->label));
    else /* one prediction a component has one readout item there */
        give(views, graph, rgm_gather_first_node(graph, o->readout_set, o->label));
    return RGM_OK;
}

rgmi_labels rgmi_at_graph_labels(const rgm_graph *graph, const void *options)
{
    const place *o = options;

    return (rgmi_labels){.set = label_set(o, rgm_graph_schema(graph), RGM_CONTEXT_PIECE, NULL),
                         .feature = o->label};
}

rgm_value *rgmi_at_graph_states(const rgm_graph_views *views, const void *options)
{
    const place *o = options;
    rgm_value *states = rgm_node_feature(views->graphs[0], o->node_set, o->state);

    return rgm_pool(views->graphs[0], RGM_CONTEXT, RGM_NODE_SET, &o->node_set, &states, 1,
                    o->reduce_type);
}

/* ---- heads --------------------------------------------------------------------------------- */

rgm_status rgmi_predict_head(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                             int64_t units, rgm_classification_head head, double l2)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    *count = 1;
    if (states == NULL)
        return rgm_cgraph_status(rgm_scope_graph(scope));
    output->predictions = states;
    if (head == RGM_HEAD_DENSE) {
        dense.l2 = l2;
        output->predictions = rgm_dense_with(scope, output->name, states, units, &dense);
    } else if (rgm_value_rank(states) != 2 || rgm_value_dim(states, 1) != units) {
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.head is none, so the model's states must be %lld wide, but they are "
                        "%lld wide",
                        (long long)units, (long long)rgm_value_dim(states, -1));
    }
    return RGM_OK;
}
