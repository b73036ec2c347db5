/*
 * Graph updates made from a rule for all sets (TF-GNN's ConvGNNBuilder), features mapped set by
 * set, and the state of sets that have none.
 */
#include "gnn_internal.h"

/* The updates under construction, with the memory of their inputs. */
typedef struct plan {
    rgm_node_set_update *nodes;
    rgm_edge_input *inputs;
    rgm_edge_set_update *edges;
    rgm_context_input *pooled;
    int64_t edge_count, pooled_count;
    int64_t node_count, input_count, featured; /* featured: inputs with the edge feature */
} plan;

static rgm_next_state next_state_of(const rgm_conv_gnn_options *options, const char *node_set)
{
    return options->next_state_for != NULL ? options->next_state_for(node_set, options->payload)
                                           : options->next_state;
}

static rgm_next_state edge_state_of(const rgm_conv_gnn_options *options, const char *edge_set)
{
    return options->edge_state_for != NULL ? options->edge_state_for(edge_set, options->payload)
                                           : options->edge_state;
}

bool rgmi_hears(rgm_receivers receivers, rgm_tag tag)
{
    return receivers == RGM_AT_BOTH ||
           receivers == (tag == RGM_SOURCE ? RGM_AT_SOURCE : RGM_AT_TARGET);
}

int64_t rgmi_relations(rgmi_edge_relation *relations, const rgm_graph_value *graph,
                       const char *node_set, rgm_receivers receivers)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name))
            continue;
        for (int tag = RGM_SOURCE; tag <= RGM_TARGET; tag++) {
            rgm_tag receiver = (rgm_tag)tag;

            if (!rgmi_hears(receivers, receiver) || strcmp(rgmi_end(set, receiver), node_set) != 0)
                continue;
            if (count == RGMI_MOST_RELATIONS) {
                rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_UNSUPPORTED,
                                "node set '%s' hears more than %d edge sets", node_set,
                                RGMI_MOST_RELATIONS);
                return -1;
            }
            relations[count++] = (rgmi_edge_relation){
                .edge_set = set->name,
                .sender = rgmi_end(set, rgm_tag_reverse(receiver)),
                .receiver = receiver,
            };
        }
    }
    return count;
}

/* Kinds of edges by number would be read as amounts. */
static void refuse_integers(const rgm_graph_value *graph, const char *edge_set, const char *feature)
{
    rgm_value *x = rgm_edge_feature(graph, edge_set, feature);

    if (x != NULL && !rgm_value_is_pattern(x) &&
        (rgm_value_dtype(x) == RGM_I32 || rgm_value_dtype(x) == RGM_I64))
        rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_UNSUPPORTED,
                        "edge feature '%s' of '%s' is of integers; give it as one-hot rows or as "
                        "floats",
                        feature, edge_set);
}

/* All edge sets that node_set receives, appended to the plan; how many. */
static int64_t add_inputs(plan *p, const rgm_graph_value *graph, const char *node_set,
                          const rgm_conv_gnn_options *options)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    int64_t before = p->input_count;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name))
            continue;
        for (int tag = RGM_SOURCE; tag <= RGM_TARGET; tag++) {
            rgm_edge_input input = {
                .edge_set = set->name, .receiver = (rgm_tag)tag, .conv = options->conv};

            if (!rgmi_hears(options->receivers, (rgm_tag)tag) ||
                strcmp(rgmi_end(set, (rgm_tag)tag), node_set) != 0)
                continue;
            if (options->conv_for != NULL)
                input.conv = options->conv_for(set->name, (rgm_tag)tag, options->payload);
            if (input.conv.fn == NULL)
                continue;
            if (edge_state_of(options, set->name).fn != NULL) {
                input.edge_feature = RGM_HIDDEN_STATE;
            } else if (options->edge_feature != NULL &&
                       rgm_has_feature(graph, RGM_EDGE_SET, set->name, options->edge_feature)) {
                input.edge_feature = options->edge_feature;
                refuse_integers(graph, set->name, options->edge_feature);
                p->featured++;
            }
            p->inputs[p->input_count++] = input;
        }
    }
    return p->input_count - before;
}

static bool plan_init(plan *p, const rgm_graph_value *graph, const rgm_conv_gnn_options *options)
{
    int64_t sets = rgm_schema_set_count(rgm_graph_value_schema(graph));

    *p = (plan){0};
    /* An edge set is read at most once at each end of it; a node set named twice is refused. */
    if (RGM_NEW(p->nodes, sets + options->node_set_count) == RGM_OK &&
        RGM_NEW(p->inputs, 2 * sets) == RGM_OK && RGM_NEW(p->edges, sets) == RGM_OK &&
        RGM_NEW(p->pooled, sets) == RGM_OK)
        return true;
    rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_NOMEM, "out of memory: graph update");
    return false;
}

static bool add_node_set(plan *p, const rgm_graph_value *graph, const char *node_set, bool named,
                         const rgm_conv_gnn_options *options)
{
    rgm_node_set_update update = {.node_set = node_set, .inputs = p->inputs + p->input_count};

    for (int64_t i = 0; i < p->node_count; i++)
        if (strcmp(p->nodes[i].node_set, node_set) == 0) {
            rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_ARG,
                            "node set '%s' is named twice", node_set);
            return false;
        }
    update.input_count = add_inputs(p, graph, node_set, options);
    if (update.input_count == 0 && !named)
        return true;
    update.next_state = next_state_of(options, node_set);
    update.context_feature = options->context_feature;
    p->nodes[p->node_count++] = update;
    return true;
}

/* New states of all edge sets, of what both ends were. */
static void add_edge_sets(plan *p, const rgm_graph_value *graph,
                          const rgm_conv_gnn_options *options)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_edge_set_update update = RGM_EDGE_SET_UPDATE_INIT;

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name))
            continue;
        update.edge_set = set->name;
        update.next_state = edge_state_of(options, set->name);
        update.context_feature = options->context_feature;
        if (update.next_state.fn == NULL)
            continue;
        p->edges[p->edge_count++] = update;
    }
}

/* What the context hears: all node sets that have a state. */
static void add_pooled(plan *p, rgm_scope *scope, const rgm_graph_value *graph, rgm_conv conv)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        bool updated = false;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        for (int64_t k = 0; k < p->node_count; k++)
            updated |= strcmp(p->nodes[k].node_set, set->name) == 0;
        if (updated ||
            (rgm_has_feature(graph, RGM_NODE_SET, set->name, RGM_HIDDEN_STATE) &&
             rgm_width(rgmi_piece_state(scope, graph, RGM_NODE_SET, set->name, NULL)) > 0))
            p->pooled[p->pooled_count++] =
                (rgm_context_input){.piece = RGM_NODE_SET, .set = set->name, .conv = conv};
    }
}

/* The planned update of edges, nodes and context. */
static rgm_graph_value *update_all(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                   plan *p, const rgm_conv_gnn_options *options)
{
    rgm_pool_options pool = {options->context_reduce_type != NULL ? options->context_reduce_type
                                                                  : "mean"};
    rgm_context_update context = {.next_state = options->context_state};
    rgm_graph_update_options update = {.node_sets = p->nodes, .node_set_count = p->node_count};

    add_edge_sets(p, graph, options);
    update.edge_sets = p->edges;
    update.edge_set_count = p->edge_count;
    if (options->context_state.fn != NULL) {
        add_pooled(p, scope, graph, (rgm_conv){rgm_pool_convolve, &pool});
        context.inputs = p->pooled;
        context.input_count = p->pooled_count;
        update.context = &context;
    }
    return rgm_graph_update(scope, name, graph, &update);
}

rgm_graph_value *rgm_conv_gnn(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                              const rgm_conv_gnn_options *options)
{
    const rgm_schema *schema;
    rgm_graph_value *next = NULL;
    bool ok;
    plan p;

    if (scope == NULL || graph == NULL)
        return NULL;
    schema = rgm_graph_value_schema(graph);
    ok = plan_init(&p, graph, options);
    for (int64_t i = 0; ok && i < options->node_set_count; i++)
        ok = rgm_require_set(graph, RGM_NODE_SET, options->node_sets[i]) != NULL &&
             add_node_set(&p, graph, options->node_sets[i], true, options);
    if (ok && options->node_sets == NULL)
        for (int64_t i = 0; ok && i < rgm_schema_set_count(schema); i++) {
            const rgm_set_schema *set = rgm_schema_set(schema, i);
            if (set->piece == RGM_NODE_SET && !rgm_is_aux_set(set->name))
                ok = add_node_set(&p, graph, set->name, false, options);
        }
    if (ok && options->edge_state.fn == NULL && options->edge_state_for == NULL &&
        options->edge_feature != NULL && p.featured == 0) {
        rgm_unknown_feature(graph, RGM_EDGE_SET, options->edge_feature);
        ok = false;
    }
    if (ok)
        next = update_all(scope, name, graph, &p, options);
    rgm_free(p.nodes);
    rgm_free(p.inputs);
    rgm_free(p.edges);
    rgm_free(p.pooled);
    return next;
}

rgm_graph_value *rgm_map_features(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_map_features_options *options)
{
    rgm_scope *own = rgm_scope_enter(scope, name);
    rgm_graph_value *next = (rgm_graph_value *)graph;
    const rgm_schema *schema;
    rgm_value *value;

    if (own == NULL || graph == NULL)
        return NULL;
    schema = rgm_graph_value_schema(graph);
    if (options->context != NULL) {
        value = options->context(rgm_scope_enter(own, "context"), graph, options->payload);
        if (value != NULL)
            next = rgm_with_feature(next, RGM_CONTEXT_PIECE, NULL, RGM_HIDDEN_STATE, value);
    }
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        bool nodes = set->piece == RGM_NODE_SET;
        rgm_value *(*map)(rgm_scope *, const rgm_graph_value *, const char *, void *) =
            nodes ? options->node_set : options->edge_set;

        if (set->piece == RGM_CONTEXT_PIECE || map == NULL ||
            (rgm_is_aux_set(set->name) && !options->aux))
            continue;
        value = map(rgm_scope_enter(rgm_scope_enter(own, nodes ? "nodes" : "edges"), set->name),
                    graph, set->name, options->payload);
        if (value != NULL)
            next = rgm_with_feature(next, set->piece, set->name, RGM_HIDDEN_STATE, value);
    }
    return next;
}

rgm_value *rgm_make_empty_feature(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                                  const char *set)
{
    rgm_value *items;

    if (scope == NULL || graph == NULL)
        return NULL;
    /* Items are the columns of the membership, so the rows of its transpose. */
    items = rgm_transpose_pattern(rgm_membership(graph, piece, set));
    return rgm_slice(rgm_zero_rows(scope, items, 1), 1, 0, 0);
}
