/*
 * "gps": local messages and attention over all nodes of a component side by side, then a dense
 * layer (Rampasek et al. 2022, section 3). Which nodes attend to which is an edge set, as the
 * processor `complete` makes it: all pairs, or fewer if the data have such a set.
 */
#include "model_fields.h"

static const char *const local_names[] = {"gin", "gat_v2", "none", NULL};

static void gps_defaults(void *payload)
{
    *(rgm_gps_model_options *)payload = (rgm_gps_model_options){.units = 32,
                                                                .layers = 3,
                                                                .heads = 4,
                                                                .norm = RGM_STATE_BATCH,
                                                                .batch_momentum = 0.99,
                                                                .activation = RGM_ACT_RELU,
                                                                .receiver = RGM_AT_TARGET};
}

#define RGM_OPTIONS rgm_gps_model_options
static const rgm_field gps_fields[] = {
    RGMI_UNITS_FIELD,
    RGM_INT_FIELD(layers, 0, 1000, "rounds"),
    RGM_INT_FIELD(heads, 1, 1024, "heads of attention, which divide units"),
    RGM_CHOICE_FIELD(local, local_names, "messages along edges: sums and dense layers, attention"),
    RGM_TEXTS_FIELD(attention_sets,
                    "edge sets that say who attends to whom and carry no message, "
                    "one a node set; default: <node_set>_complete of each node set"),
    RGMI_NORM_FIELDS("behind messages, attention and dense layers"),
    RGMI_JUMP_FIELD,
    RGMI_ACTIVATION_FIELD("inside dense layers"),
    RGMI_DROPOUT_FIELD("of each part"),
    RGM_FLOAT_FIELD(attention_dropout, 0, 0.999, "rate of dropout on attention coefficients"),
    RGMI_L2_FIELD,
    RGMI_RECEIVER_FIELD(" messages"),
    RGMI_EDGE_STATE_FIELDS,
    RGMI_CONTEXT_FIELDS,
    RGMI_INPUT_FIELD,
    {0}};
#undef RGM_OPTIONS

static rgm_status gps_check(const void *options)
{
    const rgm_gps_model_options *o = options;

    return o->units % o->heads == 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "model.units is %lld, no multiple of model.heads, %lld",
                          (long long)o->units, (long long)o->heads);
}

/* ---- who attends to whom -------------------------------------------------------------------- */

static bool is_attention_set(const rgm_gps_model_options *o, const rgm_set_schema *set)
{
    size_t size = strlen(set->target);

    for (int64_t i = 0; i < o->attention_sets.count; i++)
        if (strcmp(o->attention_sets.items[i], set->name) == 0)
            return true;
    return o->attention_sets.count == 0 && strncmp(set->name, set->target, size) == 0 &&
           strcmp(set->name + size, "_complete") == 0;
}

/* The attention set of a node set, or NULL. */
static const char *attention_set(const rgm_gps_model_options *o, const rgm_graph_value *graph,
                                 const char *node_set)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_EDGE_SET && strcmp(set->target, node_set) == 0 &&
            is_attention_set(o, set))
            return set->name;
    }
    return NULL;
}

/* Every set that is named is there and goes from a node set to itself, which has no other; some set
 * is. */
static bool check_attention(const rgm_gps_model_options *o, const rgm_graph_value *graph)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    rgm_cgraph *cgraph = rgm_graph_value_cgraph(graph);
    int64_t count = 0;

    for (int64_t i = 0; i < o->attention_sets.count; i++)
        if (rgm_require_set(graph, RGM_EDGE_SET, o->attention_sets.items[i]) == NULL)
            return false;
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET || !is_attention_set(o, set))
            continue;
        count++;
        if (strcmp(set->source, set->target) != 0) {
            rgm_cgraph_fail(cgraph, RGM_ERR_ARG,
                            "attention set '%s' goes from '%s' to '%s'; it needs one node set",
                            set->name, set->source, set->target);
            return false;
        }
        if (strcmp(attention_set(o, graph, set->target), set->name) != 0) {
            rgm_cgraph_fail(cgraph, RGM_ERR_ARG,
                            "model.attention_sets: '%s' and '%s' are both of '%s', whose nodes "
                            "attend along one set: leave one out",
                            attention_set(o, graph, set->target), set->name, set->target);
            return false;
        }
    }
    if (count == 0)
        rgm_cgraph_fail(cgraph, RGM_ERR_CONFIG,
                        "gps: no edge set says who attends to whom; data.processors: [{type: "
                        "complete}] makes one of all pairs of a component");
    return count > 0;
}

/* ---- a round -------------------------------------------------------------------------------- */

typedef struct gps_build {
    const rgm_gps_model_options *o;
    const rgm_graph_value *graph;
    rgm_gin_conv_options gin;
    rgm_gatv2_options gat;
} gps_build;

/* Whether messages go along an edge set. */
static bool is_local(const char *edge_set, const void *payload)
{
    const gps_build *b = payload;
    const rgm_set_schema *set = rgm_require_set(b->graph, RGM_EDGE_SET, edge_set);

    return set != NULL && b->o->local != RGM_GPS_NONE && !is_attention_set(b->o, set);
}

static rgm_conv local_conv(const char *edge_set, rgm_tag receiver, void *payload)
{
    const gps_build *b = payload;

    (void)receiver;
    if (!is_local(edge_set, b))
        return (rgm_conv){NULL, NULL};
    return b->o->local == RGM_GPS_GIN ? (rgm_conv){rgm_gin_convolve, &b->gin}
                                      : (rgm_conv){rgm_gatv2_convolve, &b->gat};
}

static rgm_value *two_dense(rgm_scope *scope, rgm_value *x, int64_t hidden,
                            const rgm_gps_model_options *o)
{
    rgm_dense_options dense = {.bias = true, .l2 = o->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};

    x = rgm_activate(rgm_dense_with(scope, "dense_0", x, hidden, &dense), o->activation, 0.2);
    x = rgm_dropout(rgm_scope_enter(scope, "dense_0"), x, o->dropout);
    return rgm_dense_with(scope, "dense_1", x, o->units, &dense);
}

/* norm(x + drop(y)) */
static rgm_value *behind(rgm_scope *scope, rgm_value *x, rgm_value *y,
                         const rgm_gps_model_options *o)
{
    return rgmi_normalise(scope, "norm", rgm_add(x, rgm_dropout(scope, y, o->dropout)), o->norm,
                          o->batch_momentum);
}

/* What messages make of a state; of a GIN with its dense layers. */
static rgm_value *local_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *payload)
{
    const rgm_gps_model_options *o = payload;
    rgm_value *y = o->local == RGM_GPS_GIN ? inputs->state : NULL;

    for (int64_t i = 0; i < inputs->count; i++)
        y = y != NULL ? rgm_add(y, inputs->inputs[i]) : inputs->inputs[i];
    if (o->local == RGM_GPS_GIN)
        y = two_dense(scope, y, o->units, o);
    return behind(scope, inputs->state, y, o);
}

static rgm_value *attended(rgm_scope *scope, const rgm_graph_value *graph, const char *edge_set,
                           rgm_value *x, const rgm_gps_model_options *o)
{
    rgm_multi_head_options heads = RGM_MULTI_HEAD_OPTIONS_INIT;
    rgm_dense_options dense = {.bias = true, .l2 = o->l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_conv_input in = rgm_conv_along_edges(graph, edge_set, RGM_TARGET, x, x, NULL);

    heads.heads = o->heads;
    heads.units = o->units / o->heads;
    heads.activation = RGM_ACT_NONE;
    heads.attention_dropout = o->attention_dropout;
    heads.l2 = o->l2;
    x = rgm_multi_head_convolve(scope, &in, &heads);
    return rgm_dense_with(scope, "output", x, o->units, &dense);
}

/* A node set's new state of its old one x and what messages made of it. */
static rgm_value *mix(rgm_scope *scope, const gps_build *b, const rgm_graph_value *graph,
                      const char *node_set, rgm_value *x, rgm_value *local)
{
    const char *pairs = attention_set(b->o, graph, node_set);
    rgm_scope *attention = rgm_scope_enter(scope, "attention"),
              *dense = rgm_scope_enter(scope, "dense");
    rgm_value *y = local;

    if (pairs != NULL) {
        y = behind(attention, x, attended(attention, graph, pairs, x, b->o), b->o);
        y = local != x ? rgm_add(local, y) : y;
    }
    return behind(dense, y, two_dense(dense, y, 2 * b->o->units, b->o), b->o);
}

static rgm_graph_value *gps_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgmi_turn *turn, const void *payload)
{
    const gps_build *b = payload;
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;
    rgm_graph_value *next;

    rule.receivers = b->o->receiver;
    rule.conv_for = local_conv;
    rule.payload = (void *)b;
    rule.next_state = (rgm_next_state){local_state, b->o};
    rule.edge_feature = turn->edge_feature;
    next = rgm_conv_gnn(scope, name, graph, &rule);
    for (int64_t i = 0; next != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_value *x, *local;
        rgm_scope *own;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        own = rgm_scope_enter(rgm_scope_enter(rgm_scope_enter(scope, name), "mix"), set->name);
        x = rgmi_piece_state(scope, graph, RGM_NODE_SET, set->name, NULL);
        local = rgmi_piece_state(scope, next, RGM_NODE_SET, set->name, NULL);
        next = rgm_with_state(next, set->name, mix(own, b, graph, set->name, x, local));
    }
    return next;
}

static rgm_graph_value *gps_model_build(rgm_scope *scope, const rgm_graph_value *graph,
                                        void *payload)
{
    const rgm_gps_model_options *o = payload;
    gps_build b = {.o = o, .graph = graph, .gin = {.l2 = o->l2}, .gat = RGM_GATV2_OPTIONS_INIT};
    rgmi_first_layer first = {.units = o->units, .l2 = o->l2, .needed = true};
    rgm_rounds_options rounds = o->rounds;
    rgmi_rounds plan = {.options = &rounds,
                        .input = &o->input,
                        .count = o->layers,
                        .carries = is_local,
                        .own_residual = true,
                        .joins_first = true,
                        .units = o->units,
                        .state = rgmi_round_state(o->activation, o->l2),
                        .round = gps_round,
                        .payload = &b};

    if (o->local == RGM_GPS_NONE) { /* nothing hears edges */
        rounds.edge_feature = NULL;
        rounds.edge_units = 0;
    }
    if (scope == NULL || graph == NULL ||
        !rgm_check_inputs(graph, &o->input, o->rounds.edge_feature) || !check_attention(o, graph) ||
        !rgmi_heads_divide(scope, "gps", o->units, o->heads))
        return NULL;
    b.gin.units = rgmi_has_relations(graph, o->receiver) ? o->units : 0;
    b.gat.heads = o->heads;
    b.gat.units = o->units / o->heads;
    b.gat.l2 = o->l2;
    b.gat.attention_dropout = o->attention_dropout;
    return rgmi_run_rounds(scope, rgmi_first_states(scope, graph, &first, &o->input), &plan);
}

const rgm_graph_model_type rgm_gps_model = {
    .section = {.name = "gps",
                .help = "messages along edges and attention over whole components, any number of "
                        "node and edge sets",
                .options_size = sizeof(rgm_gps_model_options),
                .defaults = gps_defaults,
                .fields = gps_fields,
                .check = gps_check},
    .input = offsetof(rgm_gps_model_options, input),
    .attention = "",
    .build = gps_model_build,
};
