/*
 * Rows that the tables of several models have: a key means the same in each, and is said once. A
 * table stands between RGM_OPTIONS and its end (base_options.h); what a key is of goes in as text.
 */
#ifndef RGM_GNN_MODEL_FIELDS_H
#define RGM_GNN_MODEL_FIELDS_H

#include "model_internal.h"

extern const char *const rgmi_jump_names[];    /* of rgm_jump */
extern const char *const rgmi_norm_names[];    /* of rgm_state_norm */
extern const char *const rgmi_combine_names[]; /* of rgm_sage_combine */
extern const char *const rgmi_receiver_names[];
extern const char *const rgmi_l2_layer_names[];
extern const char *const rgmi_normalization_names[]; /* of rgm_degree_norm */

/* ---- sizes ------------------------------------------------------------------------------------
 */

#define RGMI_UNITS_FIELD       RGM_INT_FIELD(units, 1, 1e6, "channels of the node states")
#define RGMI_MESSAGE_DIM_FIELD RGM_INT_FIELD(message_dim, 1, 1e6, "channels of the messages")
#define RGMI_LAYERS_FIELD      RGM_INT_FIELD(layers, 0, 1000, "rounds of message passing")
#define RGMI_OUTPUT_FIELD(what)                                                                    \
    RGM_INT_FIELD(output, 0, 1e6,                                                                  \
                  "channels of a last " what                                                       \
                  " without activation (classes, with no task head); 0: none")

/* ---- of a round -------------------------------------------------------------------------------
 */

#define RGMI_DROPOUT_FIELD(where)    RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate of dropout " where)
#define RGMI_ACTIVATION_FIELD(where) RGM_CHOICE_FIELD(activation, rgm_activation_names, where)
#define RGMI_NORM_FIELDS(where)                                                                    \
    RGM_CHOICE_FIELD(norm, rgmi_norm_names, where),                                                \
        RGM_FLOAT_FIELD(batch_momentum, 0, 0.9999, "of the moving statistics of a batch norm")
#define RGMI_L2_FIELD                                                                              \
    RGM_FLOAT_FIELD(l2, 0, 1e6, "coefficient of the sum of squared kernel weights in the loss")
#define RGMI_L2_LAYERS_FIELDS(what)                                                                \
    RGMI_L2_FIELD, RGM_CHOICE_FIELD(l2_layers, rgmi_l2_layer_names, "which " what " l2 holds for")
/* The neighbours' sum of a GCN. */
#define RGMI_DEGREE_NORM_FIELDS                                                                    \
    RGM_CHOICE_FIELD(normalization, rgmi_normalization_names, "how degrees scale the sum"),        \
        RGM_BOOL_FIELD(self_loops, "each node also hears itself"),                                 \
        RGM_BOOL_FIELD(bias, "add a bias")

/* ---- of what graph ----------------------------------------------------------------------------
 */

#define RGMI_RECEIVER_FIELD(more)                                                                  \
    RGM_CHOICE_FIELD(receiver, rgmi_receiver_names, "which end of an edge hears" more)
/* A model of one node set and one edge set. */
#define RGMI_ONE_SET_FIELDS                                                                        \
    RGMI_RECEIVER_FIELD(""), RGM_TEXT_FIELD(node_set, "default: the only one"),                    \
        RGM_TEXT_FIELD(edge_set, "default: the only one")
#define RGMI_INPUT_ENCODER_FIELDS                                                                  \
    RGM_CHOICE_FIELD(input_activation, rgm_activation_names, "after the input encoders"),          \
        RGM_FLOAT_FIELD(input_dropout, 0, 0.999, "rate of dropout on the input features")
#define RGMI_INPUT_FIELD RGM_GROUP_FIELD(input, rgm_input_fields, "what the model starts from")

/* ---- what rounds share ------------------------------------------------------------------------
 */

/* Rows of a model's keys: its options have an rgm_rounds_options `rounds`. */
#define RGMI_ROUNDS_FIELD(member, field_kind, type, text, ...)                                     \
    {                                                                                              \
        .name = #member, .kind = (field_kind), .offset = RGM_AT_(rounds.member, type),             \
        .help = (text), __VA_ARGS__                                                                \
    }
#define RGMI_EDGE_STATE_FIELDS                                                                     \
    RGMI_ROUNDS_FIELD(edge_feature, RGM_FIELD_TEXT, const char *,                                  \
                      "edge feature in the messages; default: none", .group = NULL),               \
        RGMI_ROUNDS_FIELD(edge_units, RGM_FIELD_INT, int64_t,                                      \
                          "channels of states of the edges, made anew in each round of their "     \
                          "own, both ends' and the context's, and heard instead of edge_feature, " \
                          "from which they start; 0: none",                                        \
                          .min = 0, .max = 1e6)
#define RGMI_CONTEXT_FIELDS                                                                        \
    RGMI_ROUNDS_FIELD(context_feature, RGM_FIELD_TEXT, const char *,                               \
                      "float feature of the context that nodes hear in each round; default: none", \
                      .group = NULL),                                                              \
        RGMI_ROUNDS_FIELD(context_units, RGM_FIELD_INT, int64_t,                                   \
                          "channels of a state of each component, made anew in each round of its " \
                          "own and the means of its nodes, and heard in the next instead of "      \
                          "context_feature, from which it starts; 0: none",                        \
                          .min = 0, .max = 1e6)
#define RGMI_RESIDUAL_FIELD(text)                                                                  \
    RGMI_ROUNDS_FIELD(residual, RGM_FIELD_BOOL, bool, text, .group = NULL)
#define RGMI_RESIDUAL_HELP                                                                         \
    "add each round's input to its states, through a kernel where widths differ"
#define RGMI_JUMP_FIELD                                                                            \
    {                                                                                              \
        .name = "jump", .kind = RGM_FIELD_CHOICE, .offset = offsetof(RGM_OPTIONS, rounds.jump),    \
        .choices = rgmi_jump_names,                                                                \
        .help = "what becomes of the states of all rounds: the last, or all of them together"      \
    }
#define RGMI_ROUNDS_FIELDS                                                                         \
    RGMI_CONTEXT_FIELDS, RGMI_RESIDUAL_FIELD(RGMI_RESIDUAL_HELP), RGMI_JUMP_FIELD

#endif
