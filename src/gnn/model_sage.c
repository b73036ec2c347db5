/*
 * "graph_sage": rounds of neighbour aggregation over every edge set (Hamilton et al. 2017), any
 * number of node and edge sets. Dropout is drawn once for each node before a round, not for each
 * edge, so that sparse features stay sparse and the mean stays one sparse-dense product.
 */
#include "model_fields.h"

static const char *const aggregator_names[] = {"mean", "sum", "max", "pool", "gcn", NULL};
const char *const rgmi_combine_names[] = {"sum", "concat", NULL};

static void sage_defaults(void *payload)
{
    static const int64_t hidden[] = {64};

    *(rgm_sage_model_options *)payload = (rgm_sage_model_options){.hidden = {hidden, 1},
                                                                  .aggregator = RGM_SAGE_MEAN,
                                                                  .dropout = 0.5,
                                                                  .l2_normalize = false,
                                                                  .bias = true,
                                                                  .activation = RGM_ACT_RELU,
                                                                  .l2_layers = RGM_L2_ALL,
                                                                  .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_sage_model_options
static const rgm_field sage_fields[] = {
    RGM_INTS_FIELD(hidden, 1, 1e6, "channels of each round"),
    RGMI_OUTPUT_FIELD("round"),
    RGM_CHOICE_FIELD(aggregator, aggregator_names, "how a node's neighbours are reduced"),
    RGM_INT_FIELD(hidden_units, 0, 1e6,
                  "channels before pooling, of aggregator pool; 0: those of the round"),
    RGMI_DROPOUT_FIELD("before each round"),
    RGM_BOOL_FIELD(l2_normalize,
                   "divide each state by its length, except after the last round with output"),
    RGM_CHOICE_FIELD(combine, rgmi_combine_names,
                     "own state and neighbours summed or side by side"),
    RGM_BOOL_FIELD(bias, "add a bias"),
    RGMI_ACTIVATION_FIELD("after each round but the output, and before pooling"),
    RGMI_L2_LAYERS_FIELDS("rounds"),
    RGMI_RECEIVER_FIELD(""),
    RGMI_ROUNDS_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

/* The update of one node set: a mean over itself and all edge sets that lead to it, whose names go
 * to `names`; false: none does. */
static bool gcn_node_set(rgm_sage_gcn_options *o, const char **names, const rgm_schema *schema,
                         const char *node_set, const rgm_sage_update_options *round)
{
    *o = (rgm_sage_gcn_options){.edge_sets = names,
                                .receiver =
                                    round->receivers == RGM_AT_SOURCE ? RGM_SOURCE : RGM_TARGET,
                                .units = round->units,
                                .activation = round->linear ? RGM_ACT_NONE : round->activation,
                                .bias = round->bias,
                                .self = true,
                                .l2 = round->l2};
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && !rgm_is_aux_set(set->name) &&
            strcmp(rgmi_end(set, o->receiver), node_set) == 0)
            names[o->edge_set_count++] = set->name;
    }
    return o->edge_set_count > 0;
}

/* One round of the GCN variant: every node set that receives edges is updated as a whole. */
static rgm_graph_value *gcn_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_sage_update_options *round)
{
    rgm_status status = RGM_OK;
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    int64_t sets = rgm_schema_set_count(schema), used = 0;
    rgm_sage_gcn_options *set_options = NULL;
    rgm_node_set_update *nodes = NULL;
    const char **names = NULL; /* an edge set leads to one node set */
    rgm_graph_update_options update = {0};
    rgm_graph_value *next = NULL;

    RGM_GO(RGM_NEW(set_options, sets));
    RGM_GO(RGM_NEW(nodes, sets));
    RGM_GO(RGM_NEW(names, sets));
    for (int64_t i = 0; i < sets; i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_sage_gcn_options *o = &set_options[update.node_set_count];

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name) ||
            !gcn_node_set(o, names + used, schema, set->name, round))
            continue;
        used += o->edge_set_count;
        nodes[update.node_set_count++] = (rgm_node_set_update){
            .node_set = set->name, .update = rgm_sage_gcn_node_update, .options = o};
    }
    update.node_sets = nodes;
    next = rgm_graph_update(scope, name, graph, &update);
done:
    if (status != RGM_OK)
        rgm_cgraph_fail(rgm_graph_value_cgraph(graph), status, "out of memory: graph update");
    rgm_free(set_options);
    rgm_free(nodes);
    rgm_free(names);
    return next;
}

/* The states a model starts from: features, or nothing known. */
static rgm_graph_value *input_states(rgm_scope *scope, const rgm_graph_value *graph,
                                     const rgm_input_options *options)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    rgm_graph_value *next = (rgm_graph_value *)graph;

    for (int64_t i = 0; next != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_value *x;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        x = rgm_node_input(scope, graph, set->name, options);
        if (x == NULL)
            x = rgm_make_empty_feature(scope, graph, RGM_NODE_SET, set->name);
        next = rgm_with_state(next, set->name, x);
    }
    return next;
}

/* What files are told by a rule (data_fields.c), a program is told here. */
static bool check_gcn(rgm_scope *scope, const rgm_sage_model_options *o)
{
    if (!o->l2_normalize && o->combine == RGM_SAGE_ADD)
        return rgmi_one_receiver(scope, o->receiver);
    rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                    "aggregator gcn is one mean over a node and its neighbours: no l2_normalize, "
                    "no combine");
    return false;
}

static rgm_graph_value *sage_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                   const rgmi_turn *turn, const void *payload)
{
    const rgm_sage_model_options *o = payload;
    rgm_sage_update_options round = RGM_SAGE_UPDATE_OPTIONS_INIT;
    rgm_graph_value *dropped, *next;
    bool last = turn->number == o->hidden.count;

    round.receivers = o->receiver;
    round.pooling = o->aggregator == RGM_SAGE_POOL;
    round.hidden_units = round.pooling ? o->hidden_units : 0;
    round.reduce_type = o->aggregator == RGM_SAGE_SUM   ? "sum"
                        : o->aggregator == RGM_SAGE_MAX ? "max_no_inf"
                                                        : NULL;
    round.bias = o->bias;
    round.concat = !last && o->combine == RGM_SAGE_CONCAT; /* exactly `output` channels */
    round.units = last ? o->output : o->hidden.items[turn->number];
    round.activation = o->activation;
    round.linear = last;
    round.l2_normalize = !last && o->l2_normalize;
    round.l2 = turn->number == 0 || o->l2_layers == RGM_L2_ALL ? o->l2 : 0;
    dropped = rgmi_drop_states(rgm_scope_enter(scope, name), (rgm_graph_value *)graph, o->dropout);
    if (dropped == NULL)
        return NULL;
    next = o->aggregator == RGM_SAGE_GCN ? gcn_round(scope, name, dropped, &round)
                                         : rgm_sage_update(scope, name, dropped, &round);
    return rgmi_keep_states(next, dropped, graph);
}

static rgm_graph_value *sage_build(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    const rgm_sage_model_options *o = payload;
    rgmi_rounds plan = {.options = &o->rounds,
                        .input = &o->input,
                        .count = o->hidden.count + (o->output > 0),
                        .output = o->output > 0,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .l2_first = o->l2_layers == RGM_L2_FIRST,
                        .round = sage_round,
                        .payload = o};

    if (scope == NULL || graph == NULL || !rgm_check_inputs(graph, &o->input, NULL))
        return NULL;
    if (o->aggregator == RGM_SAGE_GCN && !check_gcn(scope, o))
        return NULL;
    return rgmi_run_rounds(scope, input_states(scope, graph, &o->input), &plan);
}

const rgm_graph_model_type rgm_sage_model = {
    .section = {.name = "graph_sage",
                .help = "neighbour aggregation over any number of node and edge sets",
                .options_size = sizeof(rgm_sage_model_options),
                .defaults = sage_defaults,
                .fields = sage_fields},
    .input = offsetof(rgm_sage_model_options, input),
    .build = sage_build,
};
