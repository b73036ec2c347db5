/*
 * "gin": an encoder for each node set, then rounds of sums and dense layers, over any number of
 * node and edge sets; with edge features it is GINE, with `jump` the jumping knowledge of Xu et al.
 * 2018. Their recipe for small graphs: 5 rounds of 16 or 32 units, batch norm, Adam at 0.01, sums
 * as readout.
 */
#include "gnn_internal.h"

static const char *const jump_names[] = {"last", "concat", "sum", "max", NULL};

static void gin_defaults(void *payload)
{
    *(rgm_gin_model_options *)payload = (rgm_gin_model_options){.units = 32,
                                                                .layers = 3,
                                                                .mlp_layers = 2,
                                                                .train_epsilon = true,
                                                                .norm = RGM_STATE_BATCH,
                                                                .activation = RGM_ACT_RELU,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_gin_model_options
static const rgm_field gin_fields[] = {
    RGM_INT_FIELD(units, 1, 1e6, "channels of the node states"),
    RGM_INT_FIELD(layers, 0, 1000, "rounds of message passing"),
    RGM_INT_FIELD(mlp_layers, 1, 100, "dense layers of each round"),
    RGM_BOOL_FIELD(train_epsilon, "how much more a node's own state counts is trained"),
    RGM_FLOAT_FIELD(epsilon, -1e6, 1e6, "how much more it counts where that is not trained"),
    RGM_CHOICE_FIELD(norm, rgmi_norm_names, "of each dense layer, before its activation"),
    RGM_CHOICE_FIELD(jump, jump_names,
                     "what becomes of the states of all rounds: the last, or all of them together"),
    RGM_CHOICE_FIELD(activation, rgm_activation_names, "of each dense layer"),
    RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate of dropout behind each round"),
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernel weights in the loss"),
    RGM_CHOICE_FIELD(receiver, rgmi_receiver_names, "which end of an edge hears"),
    RGM_TEXT_FIELD(edge_feature, "edge feature added to what a sender says; default: none"),
    RGM_GROUP_FIELD(input, rgmi_input_fields, "what the model starts from"),
    {0}};
#undef RGM_OPTIONS

/* How many edge sets there are to hear: sums of several are told apart by kernels. */
static bool has_relations(const rgm_graph_value *graph, rgm_receivers receiver)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        count += set->piece == RGM_EDGE_SET && !rgmi_is_aux(set->name);
    }
    return count > 1 || receiver == RGM_AT_BOTH;
}

/* The states of all rounds [n, units] of a node set as its last one. */
static rgm_value *join(rgm_value *const *states, int64_t count, rgm_gin_jump jump)
{
    rgm_value *x = states[0];

    if (jump == RGM_GIN_CONCAT)
        return rgm_concat(states, count, 1);
    for (int64_t i = 1; i < count; i++)
        x = jump == RGM_GIN_SUM ? rgm_add(x, states[i]) : rgm_maximum(x, states[i]);
    return x;
}

static rgm_graph_value *jump(rgm_scope *scope, rgm_graph_value *const *rounds, int64_t count,
                             const rgm_gin_model_options *o)
{
    const rgm_schema *schema = rgm_graph_value_schema(rounds[0]);
    rgm_graph_value *last = rounds[count - 1];
    rgm_value **states = NULL;

    if (o->jump == RGM_GIN_LAST)
        return last;
    if (RGM_NEW(states, count) != RGM_OK) {
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: states");
        return NULL;
    }
    for (int64_t i = 0; last != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_NODE_SET || rgmi_is_aux(set->name))
            continue;
        for (int64_t k = 0; k < count; k++)
            states[k] = rgmi_state(scope, rounds[k], RGM_NODE_SET, set->name, NULL);
        last = rgm_with_state(last, set->name, join(states, count, o->jump));
    }
    rgm_free(states);
    return last;
}

static rgm_graph_value *gin_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_gin_model_options *o = payload;
    rgm_gin_conv_options conv = {.l2 = o->l2};
    rgm_gin_state_options state = {.units = o->units,
                                   .mlp_layers = o->mlp_layers,
                                   .train_epsilon = o->train_epsilon,
                                   .epsilon = o->epsilon,
                                   .norm = o->norm,
                                   .activation = o->activation,
                                   .dropout = o->dropout,
                                   .l2 = o->l2};
    rgmi_first_layer first = {.units = o->units, .l2 = o->l2, .needed = true};
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;
    rgm_graph_value **rounds = NULL, *next = NULL;

    if (scope == NULL || graph == NULL || !rgmi_check_inputs(graph, &o->input, o->edge_feature))
        return NULL;
    if (RGM_NEW(rounds, o->layers + 1) != RGM_OK) {
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: rounds");
        return NULL;
    }
    conv.units = has_relations(graph, o->receiver) ? o->units : 0;
    rule.receivers = o->receiver;
    rule.conv = (rgm_conv){rgm_gin_convolve, &conv};
    rule.next_state = (rgm_next_state){rgm_gin_state, &state};
    rule.edge_feature = o->edge_feature;
    rounds[0] = rgmi_read_edges(scope, rgmi_first_states(scope, graph, &first, &o->input),
                                o->edge_feature, &o->input);
    for (int64_t i = 0; i < o->layers && rounds[i] != NULL; i++) {
        char name[32];

        snprintf(name, sizeof name, "layer_%lld", (long long)i);
        rounds[i + 1] = rgm_conv_gnn(scope, name, rounds[i], &rule);
    }
    if (rounds[o->layers] != NULL)
        next = jump(scope, rounds, o->layers + 1, o);
    rgm_free(rounds);
    return next;
}

const rgm_graph_model_type rgm_gin_model = {
    .section = {.name = "gin",
                .help = "sums of neighbours and dense layers, any number of node and edge sets",
                .options_size = sizeof(rgm_gin_model_options),
                .defaults = gin_defaults,
                .fields = gin_fields},
    .input = offsetof(rgm_gin_model_options, input),
    .build = gin_build,
};
