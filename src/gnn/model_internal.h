/* Shared by models: what they start from, and rounds of message passing. */
#ifndef RGM_GNN_MODEL_INTERNAL_H
#define RGM_GNN_MODEL_INTERNAL_H

#include <regimen/gnn_models.h>

#include "gnn_internal.h"

/* How models of many sets begin. */
typedef struct rgmi_first_layer {
    int64_t units;
    rgm_activation activation;
    double dropout; /* of the features */
    double l2, l2_bias;
    bool plain;  /* the features are the states                         */
    bool needed; /* a set without features is a failure, not of width 0 */
} rgmi_first_layer;
/* act(W drop(features) + b) of each node set as its state; parameters in input/<node set>. */
rgm_graph_value *rgmi_first_states(rgm_scope *scope, const rgm_graph_value *graph,
                                   const rgmi_first_layer *first, const rgm_input_options *input);
/* Whether there are several edge sets to hear: sums of several are told apart by kernels. */
bool rgmi_has_relations(const rgm_graph_value *graph, rgm_receivers receiver);
/* What a round hears beside the states of nodes: features' names, NULL: none. */
typedef struct rgmi_turn {
    int64_t number; /* from 0 */
    const char *edge_feature, *context_feature;
} rgmi_turn;
/* A round by name of the states before it; payload: the model's. */
typedef rgm_graph_value *rgmi_round(rgm_scope *scope, const char *name,
                                    const rgm_graph_value *graph, const rgmi_turn *turn,
                                    const void *payload);
/* The round that is one rgm_conv_gnn_options, with the turn's edge feature. */
rgm_graph_value *rgmi_rule_round(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const rgmi_turn *turn, const void *rule);
/* A model as rounds, and what of rgm_rounds_options is its own. */
typedef struct rgmi_rounds {
    const rgm_rounds_options *options;
    const rgm_input_options *input; /* how the edge feature is read */
    int64_t count;
    bool output;          /* the last round gives a task's numbers */
    const char *name;     /* of rounds: "<name>_<i>"; NULL: "layer" */
    const char *node_set; /* of a model of one; NULL: all sets have states */
    bool (*carries)(const char *edge_set, const void *payload); /* messages; NULL: every set does */
    bool hears_context; /* the round's next states do; else it is added to states before a round */
    bool own_residual;  /* the round adds it */
    bool joins_first;   /* the first states are some of those that `jump` joins */
    int64_t units;      /* of a state that has nothing yet; 0: it takes what is heard as it is */
    rgm_dense_state_options state; /* of edges and of the context; but units */
    bool l2_first; /* the l2 of `state`, which is that of residuals too, holds for round 0 alone */
    rgmi_round *round;
    const void *payload;
} rgmi_rounds;
rgm_graph_value *rgmi_run_rounds(rgm_scope *scope, rgm_graph_value *first, const rgmi_rounds *plan);
/* A dense next state of edges and of the context. */
static inline rgm_dense_state_options rgmi_round_state(rgm_activation activation, double l2)
{
    rgm_dense_state_options state = RGM_DENSE_STATE_OPTIONS_INIT;

    state.activation = activation;
    state.l2 = l2;
    return state;
}
/* Every node set's state through dropout, its own stream for each set and round. */
rgm_graph_value *rgmi_drop_states(rgm_scope *round, rgm_graph_value *graph, double rate);
/* `next`, made from `dropped`, with the states that `before` has in sets that hear nobody: dropout
 * is of what a round hears and not of a state that no round makes anew. */
rgm_graph_value *rgmi_keep_states(rgm_graph_value *next, const rgm_graph_value *dropped,
                                  const rgm_graph_value *before);

/* The rows that a model of one node set and one edge set starts from, and which sets these are;
 * NULL: failure recorded. */
rgm_value *rgmi_hom_input(const char **node_set, const char **edge_set, rgm_scope *scope,
                          const rgm_graph_value *graph, const char *wanted_node_set,
                          const char *wanted_edge_set, rgm_receivers receiver,
                          const rgm_input_options *input, const char *edge_feature);

/* Failures: a node set that a model cannot start from; "both" where one end has to hear. */
rgm_graph_value *rgmi_no_input(const rgm_graph_value *graph, const char *node_set);
bool rgmi_one_receiver(rgm_scope *scope, rgm_receivers receiver);

#endif
