/*
 * Rounds of message passing one behind the other, and what models of rounds share: states of edges
 * and of the context that each round makes anew, residuals, and what becomes of the states of all
 * rounds, the jumping knowledge of Xu et al. 2018.
 */
#include "model_fields.h"

const char *const rgmi_jump_names[] = {"last", "concat", "sum", "max", NULL};

bool rgmi_has_relations(const rgm_graph_value *graph, rgm_receivers receiver)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        count += set->piece == RGM_EDGE_SET && !rgm_is_aux_set(set->name);
    }
    return count > 1 || receiver == RGM_AT_BOTH;
}

rgm_graph_value *rgmi_rule_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const rgmi_turn *turn, const void *rule)
{
    rgm_conv_gnn_options own = *(const rgm_conv_gnn_options *)rule;

    own.edge_feature = turn->edge_feature;
    return rgm_conv_gnn(scope, name, graph, &own);
}

/* ---- what is refused ------------------------------------------------------------------------- */

/* The first of the states that `jump` joins: 0 is what the first round starts from. */
static int64_t first_joined(const rgmi_rounds *plan)
{
    return plan->joins_first || plan->count == 0 ? 0 : 1;
}

static bool check(rgm_scope *scope, const rgmi_rounds *plan)
{
    const rgm_rounds_options *o = plan->options;
    rgm_cgraph *graph = rgm_scope_graph(scope);

    if (o->jump != RGM_JUMP_LAST && plan->output)
        rgm_cgraph_fail(graph, RGM_ERR_CONFIG,
                        "model.jump: %s joins the states of all rounds for a task's head; "
                        "model.output, a last round that gives the classes, is 0 then",
                        rgmi_jump_names[o->jump]);
    else if (o->jump != RGM_JUMP_LAST && plan->count - first_joined(plan) < 1)
        rgm_cgraph_fail(graph, RGM_ERR_CONFIG,
                        "model.jump: %s joins the states of all rounds, and there is one state "
                        "alone; more rounds, or last",
                        rgmi_jump_names[o->jump]);
    else if (o->context_units > 0 && plan->count < 2)
        rgm_cgraph_fail(graph, RGM_ERR_CONFIG,
                        "model.context_units: a round hears the context as the one before made it, "
                        "and there is no second round; more rounds, or model.context_feature "
                        "alone");
    else
        return true;
    return false;
}

/* ---- states of edges and of the context ------------------------------------------------------ */

static bool carries(const rgmi_rounds *plan, const char *edge_set)
{
    return plan->carries == NULL || plan->carries(edge_set, plan->payload);
}

/* The edge feature as rows in every edge set that has it and carries messages; with edge_units also
 * as the first states of these edges. */
static rgm_graph_value *open_edges(rgm_scope *scope, rgm_graph_value *graph,
                                   const rgmi_rounds *plan)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    const char *feature = plan->options->edge_feature;
    rgm_scope *edges = rgm_scope_enter(scope, "input_edges");
    bool found = false;

    for (int64_t i = 0; graph != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_value *x;

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name) ||
            !rgm_has_feature(graph, RGM_EDGE_SET, set->name, feature) || !carries(plan, set->name))
            continue;
        found = true;
        x = rgm_as_rows(scope, rgm_input_feature(rgm_scope_enter(edges, set->name), graph,
                                                 RGM_EDGE_SET, set->name, feature, plan->input));
        graph = rgm_with_feature(graph, RGM_EDGE_SET, set->name, feature, x);
        if (plan->options->edge_units > 0)
            graph = rgm_with_feature(graph, RGM_EDGE_SET, set->name, RGM_HIDDEN_STATE, x);
    }
    if (graph != NULL && !found)
        rgm_unknown_feature(graph, RGM_EDGE_SET, feature);
    return found ? graph : NULL;
}

static rgm_graph_value *open_context(rgm_scope *scope, rgm_graph_value *graph,
                                     const rgmi_rounds *plan)
{
    return rgm_with_feature(
        graph, RGM_CONTEXT_PIECE, NULL, RGM_HIDDEN_STATE,
        rgmi_piece_state(scope, graph, RGM_CONTEXT_PIECE, NULL, plan->options->context_feature));
}

/* The next states of edges that carry messages. */
typedef struct edge_states {
    const rgmi_rounds *plan;
    rgm_dense_state_options state;
} edge_states;

static rgm_next_state edge_state_for(const char *edge_set, void *payload)
{
    const edge_states *edges = payload;

    return carries(edges->plan, edge_set) ? (rgm_next_state){rgm_dense_state, &edges->state}
                                          : (rgm_next_state){NULL, NULL};
}

static rgm_graph_value *update_edges(rgm_scope *scope, const char *name, rgm_graph_value *graph,
                                     const rgmi_rounds *plan, const rgmi_turn *turn)
{
    edge_states edges = {.plan = plan, .state = plan->state};
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;

    edges.state.units = plan->options->edge_units;
    rule.edge_state_for = edge_state_for;
    rule.payload = &edges;
    rule.context_feature = turn->context_feature;
    return rgm_conv_gnn(scope, name, graph, &rule);
}

static rgm_graph_value *update_context(rgm_scope *scope, const char *name, rgm_graph_value *graph,
                                       const rgmi_rounds *plan)
{
    rgm_dense_state_options state = plan->state;
    rgm_conv_gnn_options rule = RGM_CONV_GNN_OPTIONS_INIT;

    state.units = plan->options->context_units;
    rule.context_state = (rgm_next_state){rgm_dense_state, &state};
    return rgm_conv_gnn(scope, name, graph, &rule);
}

/* ---- states of nodes ------------------------------------------------------------------------- */

/* What becomes of the state of each node set that the model has; `before`: of the round. */
typedef rgm_value *state_change(rgm_scope *own, const rgm_graph_value *graph,
                                const rgm_graph_value *before, const char *set,
                                const rgmi_rounds *plan, const rgmi_turn *turn);

static rgm_graph_value *change_states(rgm_scope *round, rgm_graph_value *graph,
                                      const rgm_graph_value *before, const rgmi_rounds *plan,
                                      const rgmi_turn *turn, state_change *change)
{
    const rgm_schema *schema = graph != NULL ? rgm_graph_value_schema(graph) : NULL;

    for (int64_t i = 0; graph != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_scope *own = round;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name) ||
            (plan->node_set != NULL && strcmp(plan->node_set, set->name) != 0))
            continue;
        if (plan->node_set == NULL)
            own = rgm_scope_enter(rgm_scope_enter(round, "nodes"), set->name);
        graph = rgm_with_state(graph, set->name, change(own, graph, before, set->name, plan, turn));
    }
    return graph;
}

/* h + W c of the component's context c; a state of other rows than dense ones is put beside it. */
static rgm_value *hear_context(rgm_scope *own, const rgm_graph_value *graph,
                               const rgm_graph_value *before, const char *set,
                               const rgmi_rounds *plan, const rgmi_turn *turn)
{
    const rgm_dense_options dense = {.l2 = plan->state.l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *x = rgmi_piece_state(own, graph, RGM_NODE_SET, set, NULL), *y;
    rgm_value *c = rgmi_piece_state(own, graph, RGM_CONTEXT_PIECE, NULL, turn->context_feature);
    bool adds = rgmi_is_dense(x) && rgm_width(x) > 0;
    int64_t units = adds ? rgm_width(x) : plan->units;

    (void)before;
    y = units > 0 ? rgm_dense_with(own, "context", c, units, &dense) : c;
    y = rgm_broadcast(graph, RGM_CONTEXT, RGM_NODE_SET, set, y);
    if (adds)
        return rgm_add(x, y);
    return x != NULL && units == 0 ? rgm_beside((rgm_value *[]){x, y}, 2) : y;
}

/* h' + h, the old state through a kernel where widths differ. */
static rgm_value *add_residual(rgm_scope *own, const rgm_graph_value *graph,
                               const rgm_graph_value *before, const char *set,
                               const rgmi_rounds *plan, const rgmi_turn *turn)
{
    const rgm_dense_options dense = {.l2 = plan->state.l2, .kernel = {RGM_INIT_GLOROT_UNIFORM, 0}};
    rgm_value *y = rgmi_piece_state(own, graph, RGM_NODE_SET, set, NULL);
    rgm_value *x = rgmi_piece_state(own, before, RGM_NODE_SET, set, NULL);

    (void)turn;
    if (y == x || x == NULL || rgm_width(x) == 0)
        return y;
    if (!rgmi_is_dense(x) || rgm_width(x) != rgm_width(y))
        x = rgm_dense_with(own, "skip", x, rgm_width(y), &dense);
    return rgm_add(y, x);
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static rgm_graph_value *one_round(rgm_scope *scope, rgm_graph_value *graph, const rgmi_rounds *plan,
                                  int64_t number)
{
    const rgm_rounds_options *o = plan->options;
    rgmi_turn turn = {.number = number,
                      .edge_feature = o->edge_units > 0 ? RGM_HIDDEN_STATE : o->edge_feature,
                      .context_feature = o->context_feature};
    rgm_graph_value *next;
    rgm_scope *round;
    char name[32];

    snprintf(name, sizeof name, "%s_%lld", plan->name != NULL ? plan->name : "layer",
             (long long)number);
    round = rgm_scope_enter(scope, name);
    if (o->context_units > 0) /* there may be none in the first round */
        turn.context_feature = rgm_has_feature(graph, RGM_CONTEXT_PIECE, NULL, RGM_HIDDEN_STATE)
                                   ? RGM_HIDDEN_STATE
                                   : NULL;
    if (o->edge_units > 0)
        graph = update_edges(scope, name, graph, plan, &turn);
    if (turn.context_feature != NULL && !plan->hears_context)
        graph = change_states(round, graph, NULL, plan, &turn, hear_context);
    next = graph != NULL ? plan->round(scope, name, graph, &turn, plan->payload) : NULL;
    if (o->residual && !plan->own_residual && !(plan->output && number == plan->count - 1))
        next = change_states(round, next, graph, plan, &turn, add_residual);
    if (next != NULL && o->context_units > 0 && number + 1 < plan->count) /* it is heard */
        next = update_context(scope, name, next, plan);
    return next;
}

/* The states of a node set [n, width] as its last one. Sparse features are joined with nothing: of
 * a set that hears nobody they stay as they are. */
static rgm_value *join(const char *set, rgm_value *const *states, int64_t count, rgm_jump jump)
{
    rgm_value *x = states[0];

    if (!rgmi_is_dense(x)) {
        if (states[count - 1] == x)
            return x;
        return rgm_cgraph_fail(
            rgm_value_graph(x), RGM_ERR_UNSUPPORTED,
            "model.jump: %s of the states of '%s', which hears the context alone and has it beside "
            "sparse features; last, no model.context_feature, or an edge set that leads to '%s'",
            rgmi_jump_names[jump], set, set);
    }
    if (jump == RGM_JUMP_CONCAT && count > 1)
        return rgm_concat(states, count, 1);
    for (int64_t i = 1; i < count; i++) {
        if (rgm_width(x) != rgm_width(states[i]))
            return rgm_cgraph_fail(rgm_value_graph(x), RGM_ERR_SHAPE,
                                   "model.jump: %s of states of %lld and of %lld channels; concat "
                                   "puts them side by side",
                                   rgmi_jump_names[jump], (long long)rgm_width(x),
                                   (long long)rgm_width(states[i]));
        x = jump == RGM_JUMP_SUM ? rgm_add(x, states[i]) : rgm_maximum(x, states[i]);
    }
    return x;
}

/* The states that a node set had; how many. */
static int64_t states_of(rgm_value **states, rgm_scope *scope, rgm_graph_value *const *rounds,
                         int64_t count, const char *set)
{
    int64_t used = 0;

    for (int64_t k = 0; k < count; k++) {
        rgm_value *x = rgmi_piece_state(scope, rounds[k], RGM_NODE_SET, set, NULL);

        if (x != NULL && rgm_width(x) > 0)
            states[used++] = x;
    }
    return used;
}

static rgm_graph_value *join_all(rgm_scope *scope, rgm_graph_value *const *rounds, int64_t count,
                                 rgm_jump jump)
{
    const rgm_schema *schema = rgm_graph_value_schema(rounds[0]);
    rgm_graph_value *last = rounds[count - 1];
    rgm_value **states = NULL;

    if (jump == RGM_JUMP_LAST)
        return last;
    if (RGM_NEW(states, count) != RGM_OK) {
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: states");
        return NULL;
    }
    for (int64_t i = 0; last != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t used;

        if (set->piece != RGM_NODE_SET || rgm_is_aux_set(set->name))
            continue;
        used = states_of(states, scope, rounds, count, set->name);
        if (used > 0)
            last = rgm_with_state(last, set->name, join(set->name, states, used, jump));
    }
    rgm_free(states);
    return last;
}

rgm_graph_value *rgmi_run_rounds(rgm_scope *scope, rgm_graph_value *first, const rgmi_rounds *plan)
{
    const rgm_rounds_options *o = plan->options;
    rgm_graph_value **rounds = NULL, *last = NULL;
    rgmi_rounds own = *plan; /* of a round */
    int64_t begin = first_joined(plan);

    if (first == NULL || !check(scope, plan))
        return NULL;
    if (o->edge_feature != NULL)
        first = open_edges(scope, first, plan);
    if (first != NULL && o->context_units > 0 && o->context_feature != NULL)
        first = open_context(scope, first, plan);
    if (RGM_NEW(rounds, plan->count + 1) != RGM_OK) {
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: rounds");
        return NULL;
    }
    rounds[0] = first;
    for (int64_t i = 0; i < plan->count && rounds[i] != NULL; i++) {
        rounds[i + 1] = one_round(scope, rounds[i], &own, i);
        if (plan->l2_first)
            own.state.l2 = own.state.l2_bias = 0;
    }
    if (rounds[plan->count] != NULL)
        last = join_all(scope, rounds + begin, plan->count + 1 - begin, o->jump);
    rgm_free(rounds);
    return last;
}
