/*
 * Rounds of message passing one behind the other, and what becomes of the states of all of them:
 * the jumping knowledge of Xu et al. 2018.
 */
#include "gnn_internal.h"

const char *const rgmi_jump_names[] = {"last", "concat", "sum", "max", NULL};

bool rgmi_has_relations(const rgm_graph_value *graph, rgm_receivers receiver)
{
    const rgm_schema *schema = rgm_graph_value_schema(graph);
    int64_t count = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        count += set->piece == RGM_EDGE_SET && !rgmi_is_aux(set->name);
    }
    return count > 1 || receiver == RGM_AT_BOTH;
}

rgm_graph_value *rgmi_rule_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const void *rule)
{
    return rgm_conv_gnn(scope, name, graph, rule);
}

/* The states of all rounds [n, units] of a node set as its last one. */
static rgm_value *join(rgm_value *const *states, int64_t count, rgm_jump jump)
{
    rgm_value *x = states[0];

    if (jump == RGM_JUMP_CONCAT)
        return rgm_concat(states, count, 1);
    for (int64_t i = 1; i < count; i++)
        x = jump == RGM_JUMP_SUM ? rgm_add(x, states[i]) : rgm_maximum(x, states[i]);
    return x;
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

        if (set->piece != RGM_NODE_SET || rgmi_is_aux(set->name))
            continue;
        for (int64_t k = 0; k < count; k++)
            states[k] = rgmi_state(scope, rounds[k], RGM_NODE_SET, set->name, NULL);
        last = rgm_with_state(last, set->name, join(states, count, jump));
    }
    rgm_free(states);
    return last;
}

rgm_graph_value *rgmi_rounds(rgm_scope *scope, rgm_graph_value *first, int64_t layers,
                             rgm_jump jump, rgmi_round *round, const void *payload)
{
    rgm_graph_value **rounds = NULL, *last = NULL;

    if (first == NULL)
        return NULL;
    if (RGM_NEW(rounds, layers + 1) != RGM_OK) {
        rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_NOMEM, "out of memory: rounds");
        return NULL;
    }
    rounds[0] = first;
    for (int64_t i = 0; i < layers && rounds[i] != NULL; i++) {
        char name[32];

        snprintf(name, sizeof name, "layer_%lld", (long long)i);
        rounds[i + 1] = round(scope, name, rounds[i], payload);
    }
    if (rounds[layers] != NULL)
        last = join_all(scope, rounds, layers + 1, jump);
    rgm_free(rounds);
    return last;
}
