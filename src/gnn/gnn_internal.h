/* Shared inside gnn: failing with the scope's name, features as rows, the sets of a graph. */
#ifndef RGM_GNN_INTERNAL_H
#define RGM_GNN_INTERNAL_H

#include <regimen/gnn.h>

#include <stdio.h>
#include <string.h>

/* Dense rows; sparse and side-by-side ones say no. */
static inline bool rgmi_is_dense(const rgm_value *x)
{
    return x != NULL && !rgm_value_is_pattern(x);
}

/* A component's state, heard by all its edges. */
typedef struct rgmi_context {
    const rgm_graph_value *graph;
    rgm_value *state;
} rgmi_context;
/* rgm_conv_messages() of edges in their order, with rows of the kernel for the context (NULL: none)
 * behind the others. */
rgm_value *rgmi_messages(rgm_scope *scope, const rgm_conv_input *in, const rgmi_context *context,
                         int64_t units, const rgm_dense_options *options);

/* What is remembered for rgm_edge_attention_of(): weights [entries, heads] that sum to 1 at each
 * row, and what the rows hear by them. */
void rgmi_note_attention(rgm_scope *scope, rgm_value *pattern, rgm_value *weights,
                         rgm_value *heard);

/* The product with the kernel goes after a linear sum over edges when that is the narrower side. */
static inline bool rgmi_sum_first(rgm_value *x, int64_t units)
{
    return rgmi_is_dense(x) && rgm_width(x) <= units;
}

/* Senders' rows x [senders, width] reduced at the receivers; sum and mean as one sparse product. */
rgm_value *rgmi_pool_senders(const rgm_conv_input *in, rgm_value *x, const char *reduce_type);
/* The normalised sum over neighbours of a GCN, for rgm_spmm(); of weighted edges with loops the
 * pattern becomes one that has them. */
rgm_spmm_options rgmi_gcn_sum(rgm_scope *scope, rgm_value **pattern,
                              const rgm_gcn_options *options);
/* RGM_ERR_CONFIG when an option's reduce_type is no reduction, nor several with '|' between. */
rgm_status rgmi_reduce_type_check(const char *key, const char *reduce_type);
/* True when reduce_type is "sum" or "mean", which commute with a product. */
bool rgmi_is_linear(const char *reduce_type);
/* Fails "'<scope>': <input>: no <what> state" when x is NULL; returns x. */
rgm_value *rgmi_need(rgm_scope *scope, const rgm_conv_input *in, rgm_value *x, const char *what);
/* units >= 1, else a failure naming `what`. */
bool rgmi_positive(rgm_scope *scope, int64_t units, const char *what);

/* False after a failure: heads do not divide `width`, of the update `name`. */
bool rgmi_heads_divide(rgm_scope *scope, const char *name, int64_t width, int64_t heads);
/* False after a failure: the old state, of a width, is not dense rows of `units`. */
bool rgmi_fits_residual(rgm_scope *scope, const rgm_state_inputs *inputs, int64_t units);
/* A parameter with Glorot's start, its squares in the loss once however often it is asked for. */
rgm_value *rgmi_kernel(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                       double l2);

/* x [n, parts in] dense, each of the parts side by side times its own of w [parts, in, units]:
 * [n, parts units]. */
rgm_value *rgmi_project_parts(rgm_value *x, rgm_value *w);

/* One set of a piece, with a failure that names the nearest; NULL if there is none. */
const rgm_set_schema *rgmi_set(const rgm_graph_value *graph, rgm_piece piece, const char *name);
bool rgmi_is_aux(const char *set);
/* The only non-auxiliary set of a piece, or a failure that lists them. */
const rgm_set_schema *rgmi_only_set(const rgm_graph_value *graph, rgm_piece piece);
/* Whether `tag` is an end that hears. */
bool rgmi_hears(rgm_receivers receivers, rgm_tag tag);
/* The scope of an edge set read towards `receiver`: "cites", or "cites@source". */
rgm_scope *rgmi_edge_scope(rgm_scope *scope, const char *edge_set, rgm_tag receiver);
/* What a model of several sets does with each relation, an edge set towards one of its ends: at
 * most MOST of those that a node set hears. */
typedef struct rgmi_relation {
    const char *edge_set, *sender;
    rgm_tag receiver;
} rgmi_relation;
enum { RGMI_MOST_RELATIONS = 64 };
/* The relations that a node set hears; more than MOST are a failure and -1. */
int64_t rgmi_relations(rgmi_relation *relations, const rgm_graph_value *graph, const char *node_set,
                       rgm_receivers receivers);
/* The node set at one end of an edge set. */
const char *rgmi_end(const rgm_set_schema *edge_set, rgm_tag tag);
/* A set's feature as rows; feature NULL: hidden_state, and NULL without failure when there is none.
 */
rgm_value *rgmi_state(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                      const char *set, const char *feature);

/* Fails: no set of a piece has the feature; names the nearest. */
void rgmi_unknown_feature(const rgm_graph_value *graph, rgm_piece piece, const char *name);
/* Every name in the options is a feature of some node set, or the model's edge_feature (NULL: it
 * has none); else a failure. */
bool rgmi_check_inputs(const rgm_graph_value *graph, const rgm_input_options *options,
                       const char *edge_feature);
/* A feature of nodes or edges as the options say that it is read, its parameters in `scope`; text,
 * and integers of which they say nothing, are failures. */
rgm_value *rgmi_input_feature(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                              const char *set, const char *name, const rgm_input_options *options);
/* rgm_node_inputs() side by side, their parameters in input/<node set> of the model's scope; NULL
 * without failure for a set that starts with nothing. */
rgm_value *rgmi_node_input(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options);
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
/* Every node set's state through dropout, its own stream for each set and round. */
rgm_graph_value *rgmi_drop_states(rgm_scope *round, rgm_graph_value *graph, double rate);
/* Rows normalised, in `name`; momentum: of a batch norm's moving statistics. */
rgm_value *rgmi_normalise(rgm_scope *scope, const char *name, rgm_value *x, rgm_state_norm norm,
                          double momentum);
/* Node and edge set of a homogeneous model; false: failure recorded. */
bool rgmi_hom_sets(const char **node_set, const char **edge_set, const rgm_graph_value *graph,
                   const char *wanted_node_set, const char *wanted_edge_set);

/* The rows that a model of one node set and one edge set starts from, and which sets these are;
 * NULL: failure recorded. */
rgm_value *rgmi_hom_input(const char **node_set, const char **edge_set, rgm_scope *scope,
                          const rgm_graph_value *graph, const char *wanted_node_set,
                          const char *wanted_edge_set, rgm_receivers receiver,
                          const rgm_input_options *input, const char *edge_feature);

/* Failures: a node set that a model cannot start from; "both" where one end has to hear. */
rgm_graph_value *rgmi_no_input(const rgm_graph_value *graph, const char *node_set);
bool rgmi_one_receiver(rgm_scope *scope, rgm_receivers receiver);

extern const char *const rgmi_jump_names[];    /* of rgm_jump */
extern const char *const rgmi_norm_names[];    /* of rgm_state_norm */
extern const char *const rgmi_combine_names[]; /* of rgm_sage_combine */
extern const char *const rgmi_receiver_names[];
extern const char *const rgmi_l2_layer_names[];
extern const char *const rgmi_normalization_names[]; /* of rgm_degree_norm */
extern const rgm_field rgmi_input_fields[];

#endif
