/*
 * One graph update: edge sets first, then all node sets from the same old states, then the context.
 * Everything is looked up by name once, here; convolutions and next states see values only.
 */
#include "gnn_internal.h"

const char *rgmi_end(const rgm_set_schema *edge_set, rgm_tag tag)
{
    return tag == RGM_SOURCE ? edge_set->source : edge_set->target;
}

/* Kinds of components by number would be read as amounts. */
static rgm_value *amounts(const rgm_graph_value *graph, const char *feature)
{
    rgm_value *x = rgm_context_feature(graph, feature);

    if (x != NULL && (rgm_value_dtype(x) == RGM_I32 || rgm_value_dtype(x) == RGM_I64))
        return rgm_cgraph_fail(rgm_graph_value_cgraph(graph), RGM_ERR_UNSUPPORTED,
                               "feature '%s' of the context is of integers; give it as floats, "
                               "kinds as several of 0 and 1",
                               feature);
    return x;
}

rgm_value *rgmi_piece_state(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                            const char *set, const char *feature)
{
    rgm_value *x;

    if (feature == NULL) {
        if (!rgm_has_feature(graph, piece, set, RGM_HIDDEN_STATE))
            return NULL;
        feature = RGM_HIDDEN_STATE;
    }
    x = piece == RGM_NODE_SET   ? rgm_node_feature(graph, set, feature)
        : piece == RGM_EDGE_SET ? rgm_edge_feature(graph, set, feature)
                                : amounts(graph, feature);
    return rgm_as_rows(scope, x);
}

/* The inputs of one update, sorted by name. */
typedef struct gathered {
    const char **names;
    rgm_value **values;
    int64_t count;
} gathered;

static bool gathered_init(gathered *g, rgm_scope *scope, int64_t most)
{
    *g = (gathered){0};
    if (RGM_NEW(g->names, most) == RGM_OK && RGM_NEW(g->values, most) == RGM_OK)
        return true;
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: inputs of an update");
    return false;
}

static void gathered_clear(gathered *g)
{
    rgm_free(g->names);
    rgm_free(g->values);
}

static void gathered_add(gathered *g, const char *name, rgm_value *value)
{
    int64_t at = g->count++;

    for (; at > 0 && strcmp(g->names[at - 1], name) > 0; at--) {
        g->names[at] = g->names[at - 1];
        g->values[at] = g->values[at - 1];
    }
    g->names[at] = name;
    g->values[at] = value;
}

static rgm_value *next_state(rgm_scope *scope, const char *set, const rgm_next_state *next,
                             rgm_value *state, const gathered *g, rgm_value *context)
{
    rgm_state_inputs inputs = {.set = set,
                               .state = state,
                               .count = g->count,
                               .names = g->names,
                               .inputs = g->values,
                               .context = context};

    if (scope == NULL)
        return NULL;
    if (next->fn == NULL)
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG, "'%s': no next state for '%s'",
                               rgm_scope_path(scope), set);
    return next->fn(scope, &inputs, next->options);
}

/* The context's state for each item of a set; NULL without failure when it is not asked for. */
static rgm_value *context_input(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                                const char *set, const char *feature)
{
    if (feature == NULL)
        return NULL;
    return rgm_broadcast(graph, RGM_CONTEXT, piece, set,
                         rgmi_piece_state(scope, graph, RGM_CONTEXT_PIECE, NULL, feature));
}

/* The state at one end of an edge set; NULL: it is not seen, or there is none. */
static rgm_value *end_state(rgm_scope *scope, const rgm_graph_value *graph,
                            const rgm_edge_set_update *update, rgm_tag tag)
{
    const rgm_set_schema *set = rgm_require_set(graph, RGM_EDGE_SET, update->edge_set);

    if (set == NULL || !(tag == RGM_SOURCE ? update->source : update->target))
        return NULL;
    return rgmi_piece_state(scope, graph, RGM_NODE_SET, rgmi_end(set, tag), update->node_feature);
}

/* A dense next state of edges: products of what both ends have, sparse too, then gathered. NULL
 * without a failure: there is no state at all. */
static rgm_value *dense_edge_state(rgm_scope *scope, const rgm_graph_value *graph,
                                   const rgm_edge_set_update *update)
{
    static const rgm_dense_state_options defaults = RGM_DENSE_STATE_OPTIONS_INIT;
    const rgm_dense_state_options *o = update->next_state.options;
    rgmi_context context = {.graph = graph};
    rgm_dense_options dense = {.slope = 0.2};
    rgm_conv_input in;
    rgm_value *y, *source, *target, *own;

    if (o == NULL)
        o = &defaults;
    own = rgmi_piece_state(scope, graph, RGM_EDGE_SET, update->edge_set, update->edge_feature);
    source = end_state(scope, graph, update, RGM_SOURCE);
    target = end_state(scope, graph, update, RGM_TARGET);
    if (update->context_feature != NULL)
        context.state =
            rgmi_piece_state(scope, graph, RGM_CONTEXT_PIECE, NULL, update->context_feature);
    if (own == NULL && source == NULL && target == NULL)
        return NULL;
    in = rgm_conv_along_edges(graph, update->edge_set, RGM_TARGET, target, source, own);
    dense.bias = o->bias;
    dense.activation = o->activation;
    dense.l2 = o->l2;
    dense.l2_bias = o->l2_bias;
    dense.kernel = o->kernel;
    y = rgmi_messages(scope, &in, &context, o->units, &dense);
    y = rgm_dropout(scope, y, o->dropout);
    return o->layer_norm ? rgm_layer_norm(scope, "layer_norm", y) : y;
}

static rgm_value *edge_set_state(rgm_scope *scope, const rgm_graph_value *graph,
                                 const rgm_edge_set_update *update)
{
    const rgm_set_schema *set = rgm_require_set(graph, RGM_EDGE_SET, update->edge_set);
    rgm_value *y = NULL, *context;
    gathered g;

    if (set == NULL)
        return NULL;
    if (update->next_state.fn == rgm_dense_state)
        y = dense_edge_state(scope, graph, update);
    if (y != NULL)
        return y;
    if (gathered_init(&g, scope, 2)) {
        for (int tag = RGM_SOURCE; tag <= RGM_TARGET; tag++) {
            rgm_value *state = end_state(scope, graph, update, (rgm_tag)tag);

            if (state != NULL)
                gathered_add(&g, tag == RGM_SOURCE ? "source" : "target",
                             rgm_broadcast(graph, (rgm_tag)tag, RGM_EDGE_SET, set->name, state));
        }
        context = context_input(scope, graph, RGM_EDGE_SET, set->name, update->context_feature);
        y = next_state(
            scope, set->name, &update->next_state,
            rgmi_piece_state(scope, graph, RGM_EDGE_SET, set->name, update->edge_feature), &g,
            context);
    }
    gathered_clear(&g);
    return y;
}

rgm_scope *rgmi_edge_scope(rgm_scope *scope, const char *edge_set, rgm_tag receiver)
{
    char name[512];

    snprintf(name, sizeof name, "%s%s", edge_set, receiver == RGM_SOURCE ? "@source" : "");
    return rgm_scope_enter(scope, name);
}

static rgm_value *convolved(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                            const rgm_edge_input *input, rgm_value *own)
{
    const rgm_set_schema *set = rgm_require_set(graph, RGM_EDGE_SET, input->edge_set);
    rgm_cgraph *cgraph = rgm_graph_value_cgraph(graph);
    rgm_value *sender, *receiver = own, *edge = NULL;
    rgm_conv_input in;

    if (set == NULL || scope == NULL)
        return NULL;
    if (input->receiver == RGM_CONTEXT || strcmp(rgmi_end(set, input->receiver), node_set) != 0)
        return rgm_cgraph_fail(cgraph, RGM_ERR_ARG,
                               "edge set '%s' has node set '%s' at its %s, not '%s'", set->name,
                               rgmi_end(set, input->receiver),
                               input->receiver == RGM_SOURCE ? "source" : "target", node_set);
    if (input->conv.fn == NULL)
        return rgm_cgraph_fail(cgraph, RGM_ERR_ARG, "edge set '%s': no convolution", set->name);
    sender =
        rgmi_piece_state(scope, graph, RGM_NODE_SET,
                         rgmi_end(set, rgm_tag_reverse(input->receiver)), input->sender_feature);
    if (input->receiver_feature != NULL)
        receiver = rgmi_piece_state(scope, graph, RGM_NODE_SET, node_set, input->receiver_feature);
    if (input->edge_feature != NULL)
        edge = rgmi_piece_state(scope, graph, RGM_EDGE_SET, set->name, input->edge_feature);
    in = rgm_conv_along_edges(graph, set->name, input->receiver, receiver, sender, edge);
    return input->conv.fn(scope, &in, input->conv.options);
}

static rgm_value *node_set_state(rgm_scope *scope, const rgm_graph_value *graph,
                                 const rgm_node_set_update *update)
{
    rgm_value *own, *context, *y = NULL;
    gathered g;

    if (scope == NULL || rgm_require_set(graph, RGM_NODE_SET, update->node_set) == NULL)
        return NULL;
    if (update->update != NULL)
        return update->update(scope, graph, update->node_set, update->options);
    own = rgmi_piece_state(scope, graph, RGM_NODE_SET, update->node_set, update->node_feature);
    if (gathered_init(&g, scope, update->input_count)) {
        for (int64_t i = 0; i < update->input_count; i++) {
            rgm_scope *inner =
                rgmi_edge_scope(scope, update->inputs[i].edge_set, update->inputs[i].receiver);
            /* The child's own name, without the path before it. */
            if (inner != NULL)
                gathered_add(&g, rgm_scope_path(inner) + strlen(rgm_scope_path(scope)) + 1,
                             convolved(inner, graph, update->node_set, &update->inputs[i], own));
        }
        context =
            context_input(scope, graph, RGM_NODE_SET, update->node_set, update->context_feature);
        y = next_state(rgm_scope_enter(scope, "next_state"), update->node_set, &update->next_state,
                       own, &g, context);
    }
    gathered_clear(&g);
    return y;
}

static rgm_value *context_state(rgm_scope *scope, const rgm_graph_value *graph,
                                const rgm_context_update *update)
{
    rgm_value *own, *y = NULL;
    gathered g;

    if (scope == NULL)
        return NULL;
    own = rgmi_piece_state(scope, graph, RGM_CONTEXT_PIECE, NULL, update->context_feature);
    if (gathered_init(&g, scope, update->input_count)) {
        for (int64_t i = 0; i < update->input_count; i++) {
            const rgm_context_input *input = &update->inputs[i];
            const rgm_set_schema *set = rgm_require_set(graph, input->piece, input->set);
            rgm_conv_input in;

            if (set == NULL || input->conv.fn == NULL)
                continue;
            in = rgm_conv_to_context(
                graph, input->piece, input->set, own,
                rgmi_piece_state(scope, graph, input->piece, input->set, input->feature));
            gathered_add(
                &g, input->set,
                input->conv.fn(rgm_scope_enter(scope, input->set), &in, input->conv.options));
        }
        y = next_state(rgm_scope_enter(scope, "next_state"), "context", &update->next_state, own,
                       &g, NULL);
    }
    gathered_clear(&g);
    return y;
}

static const char *or_state(const char *feature)
{
    return feature != NULL ? feature : RGM_HIDDEN_STATE;
}

static rgm_graph_value *with_edges(rgm_scope *scope, const rgm_graph_value *graph,
                                   const rgm_graph_update_options *update)
{
    rgm_graph_value *next = (rgm_graph_value *)graph;

    for (int64_t i = 0; i < update->edge_set_count; i++) {
        const rgm_edge_set_update *edges = &update->edge_sets[i];
        rgm_scope *own = rgm_scope_enter(rgm_scope_enter(scope, "edges"), edges->edge_set);
        rgm_value *state = own != NULL ? edge_set_state(own, graph, edges) : NULL;

        next = rgm_with_feature(next, RGM_EDGE_SET, edges->edge_set, or_state(edges->edge_feature),
                                state);
    }
    return next;
}

static rgm_graph_value *with_nodes(rgm_scope *scope, const rgm_graph_value *graph,
                                   const rgm_graph_update_options *update)
{
    rgm_graph_value *next = (rgm_graph_value *)graph;

    for (int64_t i = 0; i < update->node_set_count; i++) {
        const rgm_node_set_update *nodes = &update->node_sets[i];
        rgm_scope *own = rgm_scope_enter(rgm_scope_enter(scope, "nodes"), nodes->node_set);
        rgm_value *state = node_set_state(own, graph, nodes);

        next = rgm_with_feature(next, RGM_NODE_SET, nodes->node_set,
                                or_state(nodes->update ? NULL : nodes->node_feature), state);
    }
    return next;
}

rgm_graph_value *rgm_graph_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_graph_update_options *update)
{
    rgm_scope *own = rgm_scope_enter(scope, name);
    rgm_graph_value *next;

    if (own == NULL || graph == NULL)
        return NULL;
    next = with_edges(own, graph, update);
    if (next != NULL)
        next = with_nodes(own, next, update);
    if (next != NULL && update->context != NULL)
        next = rgm_with_feature(
            next, RGM_CONTEXT_PIECE, NULL, or_state(update->context->context_feature),
            context_state(rgm_scope_enter(own, "context"), next, update->context));
    return next;
}
