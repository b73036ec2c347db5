/*
 * Where a task reads states and labels: at nodes behind a readout, at root nodes, at whole graphs,
 * at edges. Kinds of tasks join these with what they predict and how it is judged.
 */
#include <stdio.h>

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
    return rgm_reduce_type_check("task.reduce_type", o->reduce_type);
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
        return RGM_FAIL(RGM_ERR_CONFIG, "task.node_set: the schema has no node set '%s'%s",
                        o->node_set, rgm_schema_hint(schema, RGM_NODE_SET, o->node_set).text);
    return RGM_OK;
}

rgm_status rgmi_no_label(const rgm_graph_place *o, const rgm_schema *schema,
                         const rgm_set_schema *own)
{
    enum { MOST = 256 };
    const rgm_set_schema *asked = own == NULL && o->node_set != NULL
                                      ? rgm_schema_find(schema, RGM_NODE_SET, o->node_set)
                                      : NULL;
    const rgm_set_schema *sets[3] = {rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), own,
                                     asked};
    const char *names[MOST], *near, *nor = own != NULL ? own->name : NULL;
    int64_t count = 0;

    if (has_label(asked, o))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.label: '%s' has '%s', but '%s', which says which nodes are asked "
                        "about, has not: it was made without it, or by lists of another node set",
                        o->node_set, o->label, o->readout_set);
    if (own != NULL && own->piece == RGM_CONTEXT_PIECE)
        nor = "the context";
    for (int s = 0; s < 3; s++)
        for (int64_t i = 0; sets[s] != NULL && i < sets[s]->feature_count && count < MOST; i++)
            names[count++] = sets[s]->features[i].name;
    near = rgm_nearest_name(o->label, names, count);
    return RGM_FAIL(RGM_ERR_CONFIG, "task.label: no label feature '%s' on '%s'%s%s%s%s%s", o->label,
                    asked != NULL ? o->node_set : o->readout_set, nor != NULL ? " nor on " : "",
                    nor != NULL ? nor : "", near != NULL ? "; did you mean '" : "",
                    near != NULL ? near : "", near != NULL ? "'?" : "");
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
    return has_label(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o)
               ? RGM_OK
               : rgmi_no_label(o, schema, NULL);
}

rgm_status rgmi_at_nodes_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options)
{
    const place *o = options;

    give(views, graph, rgm_node_feature(graph, o->readout_set, o->label));
    return RGM_OK;
}

void rgmi_at_nodes_items(rgm_piece *piece, const char **set, const rgm_schema *schema,
                         const void *options)
{
    (void)schema;
    *piece = RGM_NODE_SET;
    *set = ((const place *)options)->readout_set;
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

/* What readout item i points at: rows of *nodes; *row -1: nothing. */
static const char *pointed_at(int64_t *row, const rgm_graph *graph, int64_t i, const place *o)
{
    char edge_set[256];
    rgm_tensor *source;
    const rgm_set_schema *set;

    *row = -1;
    snprintf(edge_set, sizeof edge_set, "%s/%s", o->readout_set, o->key);
    set = rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, edge_set);
    if (set == NULL)
        return NULL;
    source = rgm_graph_source(graph, edge_set);
    if (source != NULL && i < rgm_tensor_count(source))
        *row = rgm_tensor_at_int(source, i);
    return set->source;
}

int64_t rgmi_at_nodes_node(const rgm_graph *graph, int64_t i, const void *options)
{
    int64_t row;
    const char *set = pointed_at(&row, graph, i, options);

    return row >= 0 ? rgmi_node_number(graph, set, row) : -1;
}

const char *rgmi_at_nodes_name(rgm_str *out, const rgm_graph *graph, int64_t i, const void *options)
{
    int64_t row;
    const char *set = pointed_at(&row, graph, i, options);

    *out = rgmi_text_of(
        row >= 0 ? rgm_graph_feature(graph, RGM_NODE_SET, set, RGM_ITEM_NAME) : NULL, row);
    return out->data != NULL ? "node" : NULL;
}

bool rgmi_at_nodes_question(rgm_graph_question *out, const rgm_schema *schema, const void *options)
{
    const place *o = options;

    (void)schema;
    *out = (rgm_graph_question){.readout_set = o->readout_set, .key = o->key};
    return true;
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
    return label_set(o, schema, RGM_NODE_SET, o->node_set) != NULL
               ? RGM_OK
               : rgmi_no_label(o, schema, rgm_schema_find(schema, RGM_NODE_SET, o->node_set));
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

void rgmi_at_root_items(rgm_piece *piece, const char **set, const rgm_schema *schema,
                        const void *options)
{
    *piece = RGM_CONTEXT_PIECE;
    *set = NULL;
    if (root_reads_through(options, schema))
        rgmi_at_nodes_items(piece, set, schema, options);
}

int64_t rgmi_at_root_node(const rgm_graph *graph, int64_t i, const void *options)
{
    return root_reads_through(options, rgm_graph_schema(graph))
               ? rgmi_at_nodes_node(graph, i, options)
               : -1;
}

const char *rgmi_at_root_name(rgm_str *out, const rgm_graph *graph, int64_t i, const void *options)
{
    return root_reads_through(options, rgm_graph_schema(graph))
               ? rgmi_at_nodes_name(out, graph, i, options)
               : NULL;
}

bool rgmi_at_root_question(rgm_graph_question *out, const rgm_schema *schema, const void *options)
{
    if (!root_reads_through(options, schema))
        return false;
    rgmi_at_nodes_question(out, schema, options);
    out->of_roots = true;
    return true;
}

/* ---- whole graphs -------------------------------------------------------------------------- */

rgm_status rgmi_at_graph_check(const void *options, const rgm_schema *schema)
{
    const place *o = options;

    RGM_TRY(check_node_set(o, schema));
    return label_set(o, schema, RGM_CONTEXT_PIECE, NULL) != NULL
               ? RGM_OK
               : rgmi_no_label(o, schema, rgm_schema_find(schema, RGM_CONTEXT_PIECE, NULL));
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

const char *rgmi_at_graph_name(rgm_str *out, const rgm_graph *graph, int64_t i, const void *options)
{
    (void)options;
    *out = rgmi_text_of(rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, RGM_ITEM_NAME), i);
    return out->data != NULL ? "graph" : NULL;
}

/* ---- edges --------------------------------------------------------------------------------- */

const char *rgmi_at_edges_set(const void *options)
{
    return ((const place *)options)->edge_set;
}

/* The edge set that is named, or the only one that is no readout's; NULL: there is no such one. */
static const rgm_set_schema *asked_edges(const place *o, const rgm_schema *schema)
{
    const rgm_set_schema *only = NULL;

    if (o->edge_set != NULL)
        return rgm_schema_find(schema, RGM_EDGE_SET, o->edge_set);
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name))
            continue;
        if (only != NULL)
            return NULL;
        only = set;
    }
    return only;
}

/* An item of the readout set with keys "source" and "target" is an edge. */
static bool reads_pairs(const place *o, const rgm_schema *schema)
{
    return has_label(rgm_schema_find(schema, RGM_NODE_SET, o->readout_set), o);
}

bool rgmi_at_edges_question(rgm_graph_question *out, const rgm_schema *schema, const void *options)
{
    const place *o = options;

    *out = (rgm_graph_question){.readout_set = o->readout_set};
    return reads_pairs(o, schema);
}

static rgm_status check_pairs(const place *o, const rgm_schema *schema)
{
    static const char *const keys[] = {"source", "target"};
    char name[256];

    if (o->features.count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.features: labels on '%s' are of pairs of nodes, which have no "
                        "features of edges",
                        o->readout_set);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s/%s", o->readout_set, keys[i]);
        if (rgm_schema_find(schema, RGM_EDGE_SET, name) == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "task.readout_set: '%s' has labels, but no edge set '%s' says which "
                            "nodes its items are between",
                            o->readout_set, name);
    }
    return RGM_OK;
}

static rgm_status check_edge_feature(const rgm_set_schema *set, const char *name, const place *o)
{
    const rgm_feature_schema *f = rgm_set_feature(set, name);

    if (strcmp(name, o->label) == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.features: '%s' is the label", name);
    if (f == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.features: edge set '%s' has no feature '%s'",
                        set->name, name);
    if ((f->dtype != RGM_F32 && f->dtype != RGM_F64) || f->rank > 1 ||
        (f->rank == 1 && f->shape[0] < 0))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.features: '%s' of edge set '%s' is no float or row of floats", name,
                        set->name);
    return RGM_OK;
}

rgm_status rgmi_at_edges_check(const void *options, const rgm_schema *schema)
{
    const place *o = options;
    const rgm_set_schema *set = asked_edges(o, schema);

    if (reads_pairs(o, schema))
        return check_pairs(o, schema);
    if (set == NULL)
        return RGM_FAIL(
            RGM_ERR_CONFIG, "task.edge_set: %s%s%s",
            o->edge_set != NULL
                ? "the schema has no edge set '"
                : "name the edge set whose edges are asked about: there is not one alone",
            o->edge_set != NULL ? o->edge_set : "", o->edge_set != NULL ? "'" : "");
    if (!has_label(set, o))
        return rgmi_no_label(o, schema, set);
    for (int64_t i = 0; i < o->features.count; i++)
        RGM_TRY(check_edge_feature(set, o->features.items[i], o));
    return RGM_OK;
}

/* A set between the same nodes the other way round may have the same edges, and so their labels. */
static bool may_be_turned(const rgm_set_schema *set, const rgm_set_schema *of)
{
    return strcmp(set->source, of->target) == 0 && strcmp(set->target, of->source) == 0;
}

/* Off the set and those that may be its reverse; under its name others have something else. */
rgm_status rgmi_at_edges_preprocess(rgm_graph_views *views, const rgm_graph_value *graph,
                                    const void *options)
{
    const place *o = options;
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const rgm_set_schema *asked = asked_edges(o, schema);
    rgm_value *labels;

    if (reads_pairs(o, schema)) {
        give(views, graph, rgm_node_feature(graph, o->readout_set, o->label));
        return RGM_OK;
    }
    labels = rgm_edge_feature(graph, asked->name, o->label);
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && has_label(set, o) &&
            (set == asked || may_be_turned(set, asked)))
            graph = rgm_without_feature(graph, RGM_EDGE_SET, set->name, o->label);
    }
    give(views, graph, labels);
    return RGM_OK;
}

rgmi_labels rgmi_at_edges_labels(const rgm_graph *graph, const void *options)
{
    const place *o = options;
    const rgm_schema *schema = rgm_graph_schema(graph);
    const rgm_set_schema *set = asked_edges(o, schema);

    if (reads_pairs(o, schema))
        return rgmi_at_nodes_labels(graph, options);
    return (rgmi_labels){.set = has_label(set, o) ? set : NULL, .feature = o->label};
}

void rgmi_at_edges_items(rgm_piece *piece, const char **set, const rgm_schema *schema,
                         const void *options)
{
    if (reads_pairs(options, schema)) {
        rgmi_at_nodes_items(piece, set, schema, options);
        return;
    }
    *piece = RGM_EDGE_SET;
    *set = asked_edges(options, schema)->name;
}

/* [edges, width] of a feature. */
static rgm_value *edge_rows(const rgm_graph_value *graph, const char *set, const char *feature,
                            rgm_dtype dtype)
{
    rgm_value *x = rgm_cast(rgm_edge_feature(graph, set, feature), dtype);
    rgm_dim shape[2];

    if (x == NULL || rgm_value_rank(x) != 1)
        return x;
    shape[0] = rgm_value_dim(x, 0);
    shape[1] = 1;
    return rgm_reshape(x, 2, shape);
}

static rgm_value *states_at(const rgm_graph_value *graph, rgm_tag end, const rgm_set_schema *set,
                            const char *state)
{
    const char *nodes = end == RGM_SOURCE ? set->source : set->target;

    return rgm_broadcast(graph, end, RGM_EDGE_SET, set->name,
                         rgm_node_feature(graph, nodes, state));
}

static rgm_value *pair_states(const rgm_graph_value *graph, const place *o)
{
    rgm_value *ends[2];

    ends[0] = rgm_structured_readout(graph, "source", o->state, o->readout_set);
    ends[1] = rgm_structured_readout(graph, "target", o->state, o->readout_set);
    return ends[0] != NULL && ends[1] != NULL ? rgm_concat(ends, 2, 1) : NULL;
}

rgm_value *rgmi_at_edges_states(const rgm_graph_views *views, const void *options)
{
    enum { MOST = 64 };
    const place *o = options;
    const rgm_graph_value *graph = views->graphs[0];
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const rgm_set_schema *set = asked_edges(o, schema);
    rgm_value *parts[MOST];
    int64_t count = 0;

    if (reads_pairs(o, schema))
        return pair_states(graph, o);
    parts[count++] = states_at(graph, RGM_SOURCE, set, o->state);
    parts[count++] = states_at(graph, RGM_TARGET, set, o->state);
    if (parts[0] == NULL || parts[1] == NULL)
        return NULL;
    if (rgm_has_feature(graph, RGM_EDGE_SET, set->name, o->state))
        parts[count++] = edge_rows(graph, set->name, o->state, rgm_value_dtype(parts[0]));
    for (int64_t i = 0; i < o->features.count && count < MOST; i++)
        parts[count++] =
            edge_rows(graph, set->name, o->features.items[i], rgm_value_dtype(parts[0]));
    return rgm_concat(parts, count, 1);
}

/* ---- which nodes an item is about ---- */

rgm_str rgmi_text_of(const rgm_feature *names, int64_t i)
{
    if (names == NULL || rgm_tensor_dtype(names->values) != RGM_STRING || i < 0 ||
        i >= rgm_tensor_count(names->values))
        return (rgm_str){NULL, 0};
    return ((const rgm_str *)rgm_tensor_data(names->values))[i];
}

int64_t rgmi_node_number(const rgm_graph *graph, const char *node_set, int64_t row)
{
    const rgm_feature *id = rgm_graph_feature(graph, RGM_NODE_SET, node_set, "#id");
    const int64_t *sizes = rgm_graph_sizes(graph, RGM_NODE_SET, node_set);

    if (id != NULL)
        return rgm_tensor_at_int(id->values, row);
    for (int64_t c = 0; c + 1 < rgm_graph_components(graph) && row >= sizes[c]; c++)
        row -= sizes[c];
    return row;
}

rgmi_item_end rgmi_item_end_of(const rgm_graph *graph, const char *node_set,
                               const rgm_tensor *nodes, int64_t i)
{
    const rgm_feature *names;
    int64_t row;

    if (nodes == NULL || i >= rgm_tensor_count(nodes))
        return (rgmi_item_end){.number = -1};
    row = rgm_tensor_at_int(nodes, i);
    names = rgm_graph_feature(graph, RGM_NODE_SET, node_set, RGM_ITEM_NAME);
    if (names == NULL)
        names = rgm_graph_feature(graph, RGM_NODE_SET, node_set, "name");
    return (rgmi_item_end){.number = rgmi_node_number(graph, node_set, row),
                           .name = rgmi_text_of(names, row)};
}

/* The end of a readout's item. */
static rgmi_item_end pair_end(const rgm_graph *graph, const place *o, const char *key, int64_t i)
{
    const rgm_set_schema *set;
    char name[256];

    snprintf(name, sizeof name, "%s/%s", o->readout_set, key);
    set = rgm_schema_find(rgm_graph_schema(graph), RGM_EDGE_SET, name);
    return set != NULL ? rgmi_item_end_of(graph, set->source, rgm_graph_source(graph, name), i)
                       : (rgmi_item_end){.number = -1};
}

void rgmi_at_edges_pair(rgm_item_pair *out, const rgm_graph *graph, int64_t i, const void *options)
{
    const place *o = options;
    const rgm_schema *schema = rgm_graph_schema(graph);
    const rgm_set_schema *set = asked_edges(o, schema);
    rgmi_item_end source, target;

    if (reads_pairs(o, schema)) {
        source = pair_end(graph, o, "source", i);
        target = pair_end(graph, o, "target", i);
    } else {
        source = rgmi_item_end_of(graph, set->source, rgm_graph_source(graph, set->name), i);
        target = rgmi_item_end_of(graph, set->target, rgm_graph_target(graph, set->name), i);
    }
    *out = (rgm_item_pair){.source = source.number,
                           .target = target.number,
                           .relation = -1,
                           .names = {source.name, target.name}};
}

/* ---- heads --------------------------------------------------------------------------------- */

static rgm_value *hidden_layers(rgm_scope *scope, rgm_value *x, const rgmi_head_options *o)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    dense.l2 = o->l2;
    dense.activation = RGM_ACT_RELU;
    for (int64_t i = 0; i < o->hidden.count; i++) {
        char name[32];

        snprintf(name, sizeof name, "hidden_%lld", (long long)i);
        x = rgm_dense_with(scope, name, x, o->hidden.items[i], &dense);
    }
    return x;
}

rgm_status rgmi_predict_head(rgm_head *output, int64_t *count, rgm_scope *scope, rgm_value *states,
                             int64_t units, const rgmi_head_options *o)
{
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;

    *count = 1;
    if (states == NULL)
        return rgm_cgraph_status(rgm_scope_graph(scope));
    if (o->head == RGM_HEAD_NONE && o->hidden.count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.hidden: layers before a dense head, but task.head is "
                                        "none");
    output->predictions = states;
    if (o->head == RGM_HEAD_DENSE) {
        dense.l2 = o->l2;
        if (o->hidden.count > 0)
            states = hidden_layers(rgm_scope_enter(scope, output->name), states, o);
        output->predictions = rgm_dense_with(scope, output->name, states, units, &dense);
    } else if (rgm_value_rank(states) != 2 || rgm_value_dim(states, 1) != units) {
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.head is none, so the model's states must be %lld wide, but they are "
                        "%lld wide",
                        (long long)units, (long long)rgm_value_dim(states, -1));
    }
    return RGM_OK;
}
