/*
 * gnn: whole models. A model is a function from a graph value to a graph value whose node sets have
 * new states. A named model is one row with an options table, so that an experiment file can build
 * it.
 */
#ifndef REGIMEN_GNN_MODELS_H
#define REGIMEN_GNN_MODELS_H

#include <regimen/gnn_layers.h>
#include <regimen/graph_features.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- whole models --------------------------------------------------------------------------- */

/**
 * The base GNN: it maps a graph with features to a graph with hidden_state (no task head). NULL
 * passes through. All trainable transforms of inputs belong here.
 */
typedef rgm_graph_value *rgm_model_fn(rgm_scope *scope, const rgm_graph_value *graph,
                                      void *payload);

/** The rounds that `l2` applies to. */
typedef enum rgm_l2_layers { RGM_L2_FIRST, RGM_L2_ALL } rgm_l2_layers;

/** How the states of all rounds are combined: jumping knowledge (Xu et al. 2018). */
typedef enum rgm_jump { RGM_JUMP_LAST, RGM_JUMP_CONCAT, RGM_JUMP_SUM, RGM_JUMP_MAX } rgm_jump;

/**
 * Options that models with rounds share; a model has those that its row of keys lists. A round has
 * three steps. New edge states are computed from the old ones, the states at both ends and the
 * context's. Nodes receive messages. The context's new state is computed from its old one and the
 * means of all node sets' states (Battaglia et al. 2018, algorithm 1), except in the last round,
 * after which nothing uses it. In vanilla_mpnn and mt_albis the context is one of the inputs of
 * next states; other models add W c to the states before a round. Parameters: <round>/edges/<edge
 * set>/, <round>/context/next_state/, and in <round>/nodes/<set>/ (in <round>/ for models of one
 * node set) context/kernel, and skip/kernel if a residual's widths differ. RGM_ERR_CONFIG:
 * context_units without a second round, a jump over one state alone.
 */
typedef struct rgm_rounds_options {
    const char *edge_feature;    /* in messages, or the first states of edges; NULL: none */
    int64_t edge_units;          /* > 0: channels of edges' states, which messages use */
    const char *context_feature; /* input of nodes, or the context's first state; NULL: none */
    int64_t context_units; /* > 0: channels of components' states, an input of nodes and edges */
    bool residual;         /* each round's input is added to its states, but not to an output's */
    rgm_jump jump;         /* not with an output */
} rgm_rounds_options;

/** "gcn": Kipf & Welling. Parameters conv_<i>/kernel, conv_<i>/bias. */
typedef struct rgm_gcn_model_options {
    rgm_ints hidden;           /* channels of the hidden convolutions                            */
    int64_t output;            /* > 0: one more, without activation (task head "none")         */
    double dropout;            /* of every convolution's input                                   */
    rgm_activation activation; /* of the hidden ones */
    rgm_degree_norm normalization;
    bool self_loops, bias;
    double l2; /* coefficient of sum(w^2); Kipf's 5e-4 weight decay is 2.5e-4    */
    rgm_l2_layers l2_layers;
    rgm_receivers receiver;          /* not both */
    const char *node_set, *edge_set; /* NULL: the only one */
    const char *edge_weight;         /* edge feature; NULL: ones */
    rgm_rounds_options rounds;       /* no edges */
    rgm_input_options input;
} rgm_gcn_model_options;

/** "gat_v2". Parameters conv_<i>/query/, value/, attention. */
typedef struct rgm_gat_model_options {
    rgm_ints hidden; /* channels of each head */
    int64_t heads, output_heads;
    int64_t output; /* > 0: one more, heads averaged, no activation */
    double dropout, attention_dropout;
    rgm_activation activation;
    bool self_loops, bias, share_weights;
    double l2;
    rgm_l2_layers l2_layers;
    rgm_receivers receiver; /* not both */
    const char *node_set, *edge_set;
    rgm_rounds_options rounds; /* residual: before the activation, of an output too */
    rgm_input_options input;
} rgm_gat_model_options;

/** How a node's neighbours are reduced: a reduction, a pooling convolution, a GCN's mean. */
typedef enum rgm_sage_aggregator {
    RGM_SAGE_MEAN,
    RGM_SAGE_SUM,
    RGM_SAGE_MAX,
    RGM_SAGE_POOL,
    RGM_SAGE_GCN
} rgm_sage_aggregator;
typedef enum rgm_sage_combine { RGM_SAGE_ADD, RGM_SAGE_CONCAT } rgm_sage_combine;

/** "graph_sage", heterogeneous. Parameters layer_<i>/nodes/<set>/{self/,<edge set>/,bias}. */
typedef struct rgm_sage_model_options {
    rgm_ints hidden;
    int64_t output; /* > 0: one more layer, without activation and normalisation */
    rgm_sage_aggregator aggregator;
    int64_t hidden_units; /* of pool; 0: as the layer */
    double dropout;       /* of every layer's input, drawn once for each node */
    bool l2_normalize, bias;
    rgm_sage_combine combine; /* own state and neighbours */
    rgm_activation activation;
    double l2;
    rgm_l2_layers l2_layers;
    rgm_receivers receiver;
    rgm_rounds_options rounds; /* no edges */
    rgm_input_options input;
} rgm_sage_model_options;

/**
 * "vanilla_mpnn", heterogeneous. Parameters input/<set>/, layer_<i>/nodes/<set>/{<edge
 * set>/,next_state/}.
 */
typedef struct rgm_mpnn_model_options {
    int64_t units, message_dim, layers;
    const char *reduce_type;
    int64_t input_units; /* of the input encoders; 0: units */
    rgm_activation input_activation;
    double input_dropout, dropout;
    double l2;
    bool layer_norm;
    bool encode;         /* input encoders; else the features are the first states         */
    bool receiver_state; /* messages see the receiver's state, not only the sender's       */
    rgm_receivers receiver;
    rgm_rounds_options rounds;
    rgm_input_options input;
} rgm_mpnn_model_options;

/**
 * "appnp": a network predicts for each node by itself, then personalised PageRank spreads the
 * predictions (Gasteiger, Bojchevski & Guennemann 2019, eq. 5): z' = (1 - teleport) A z + teleport
 * h, with a GCN's normalised A. Parameters dense_<i>/kernel, dense_<i>/bias.
 */
typedef struct rgm_appnp_model_options {
    rgm_ints hidden; /* channels of the hidden layers on each node by itself */
    int64_t output;  /* > 0: one more, without activation (classes, with task head "none") */
    int64_t iterations;
    double teleport;     /* 0 .. 1: the part of its own that a node keeps in each iteration */
    double dropout;      /* of every layer's input                                              */
    double edge_dropout; /* of the entries of A, drawn anew for each iteration                  */
    rgm_activation activation;
    rgm_degree_norm normalization;
    bool self_loops, bias;
    double l2;
    rgm_l2_layers l2_layers;
    rgm_receivers receiver;          /* not both */
    const char *node_set, *edge_set; /* NULL: the only one */
    rgm_input_options input;
} rgm_appnp_model_options;

/**
 * "sgc": a linear model on features that were spread over the edges (Wu et al. 2019), A^hops X W +
 * b. Parameters dense/kernel, dense/bias.
 */
typedef struct rgm_sgc_model_options {
    int64_t output; /* required */
    int64_t hops;
    double dropout; /* of the features */
    rgm_degree_norm normalization;
    bool self_loops, bias;
    double l2;
    rgm_receivers receiver;          /* not both */
    const char *node_set, *edge_set; /* NULL: the only one */
    rgm_input_options input;
} rgm_sgc_model_options;

/**
 * "gin", heterogeneous; with an edge feature it is GINE. With several relations each relation's sum
 * has a kernel of its own. Parameters input/<set>/, layer_<i>/nodes/<set>/{<edge
 * set>/,next_state/}.
 */
typedef struct rgm_gin_model_options {
    int64_t units, layers, mlp_layers;
    bool train_epsilon;
    double epsilon;
    rgm_state_norm norm; /* batch: over all nodes of a mini-batch, so batches are not padded */
    double batch_momentum;
    rgm_activation activation;
    double dropout, l2;
    rgm_receivers receiver;
    rgm_rounds_options rounds;
    rgm_input_options input;
} rgm_gin_model_options;

/**
 * "hgt", heterogeneous: an encoder for each node set, then rounds of rgm_hgt_update(). Parameters
 * input/<set>/, layer_<i>/nodes/<set>/, layer_<i>/edges/<edge set>/.
 */
typedef struct rgm_hgt_model_options {
    int64_t units, heads, layers; /* units: channels of the states; heads divides them */
    rgm_activation input_activation;
    double input_dropout, dropout;
    bool weighted_skip, layer_norm, bias;
    rgm_activation activation;
    double l2;
    rgm_receivers receiver;
    rgm_rounds_options rounds; /* no edges, no residual: weighted_skip is one */
    rgm_input_options input;
} rgm_hgt_model_options;

/**
 * "mt_albis", heterogeneous: an encoder for each node set, then rounds of rgm_albis_update().
 * Parameters input/<set>/, layer_<i>/nodes/<set>/{<edge set>/,next_state/}.
 */
typedef struct rgm_albis_model_options {
    int64_t units, message_dim, layers;
    rgm_activation input_activation;
    double input_dropout;
    rgm_albis_attention attention_type;
    rgm_texts attention_edge_sets; /* none: all */
    int64_t heads;
    const char *reduce_type;
    bool receiver_state;
    double state_dropout, edge_dropout;
    rgm_state_norm norm;
    double batch_momentum;
    rgm_sage_combine combine;  /* of the inputs from edge sets */
    rgm_activation activation; /* of messages and states; TF-GNN's is relu */
    double l2;
    rgm_receivers receiver;
    rgm_rounds_options rounds; /* residual: before the norm */
    rgm_input_options input;
} rgm_albis_model_options;

/**
 * "rgcn", heterogeneous: an encoder for each node set, then rounds of rgm_rgcn_update(). Parameters
 * input/<set>/, layer_<i>/{nodes/<set>/,edges/<edge set>/,bases}.
 */
typedef struct rgm_rgcn_model_options {
    int64_t units, layers;
    int64_t output; /* > 0: one more round, without activation (classes, with task head "none") */
    rgm_activation input_activation;
    double input_dropout, dropout; /* dropout: of every round's states */
    rgm_decomposition decomposition;
    int64_t bases;
    bool bias;
    rgm_activation activation;
    double l2;
    rgm_receivers receiver;
    rgm_rounds_options rounds; /* no edges */
    rgm_input_options input;
} rgm_rgcn_model_options;

/**
 * "pna", heterogeneous: rgm_pna_convolve() and dense next states. Parameters input/<set>/,
 * layer_<i>/nodes/<set>/{<edge set>/,next_state/{self,mix,norm}/}.
 */
typedef struct rgm_pna_model_options {
    int64_t units, layers, towers;
    rgm_state_norm norm;
    double batch_momentum;
    rgm_activation activation;
    double dropout, l2;
    rgm_receivers receiver;
    rgm_rounds_options rounds;
    rgm_input_options input;
} rgm_pna_model_options;

/** The convolution along edges in "gps". */
typedef enum rgm_gps_local { RGM_GPS_GIN, RGM_GPS_GAT_V2, RGM_GPS_NONE } rgm_gps_local;
/**
 * "gps", heterogeneous (Rampasek et al. 2022): in each round x_m = norm(x + drop(local(x))), x_a =
 * norm(x + drop(attention(x))), y = x_m + x_a, norm(y + drop(dense(y))). Parameters input/<set>/,
 * layer_<i>/nodes/<set>/, layer_<i>/mix/<set>/{attention,dense}/.
 */
typedef struct rgm_gps_model_options {
    int64_t units, layers, heads;
    rgm_gps_local local;
    rgm_texts attention_sets; /* one a node set; none: "<node set>_complete" of each */
    rgm_state_norm norm;
    double batch_momentum;
    rgm_activation activation;
    double dropout, attention_dropout, l2;
    rgm_receivers receiver;
    rgm_rounds_options rounds; /* no residual: each part has one */
    rgm_input_options input;
} rgm_gps_model_options;

/** A model that an experiment file can name. */
typedef struct rgm_graph_model_type {
    rgm_section_type section;
    rgm_model_fn *build;   /* payload = options */
    size_t input;          /* offset of its rgm_input_options in the options; 0: it has none */
    const char *attention; /* the keys that give it attention weights, "": it always has them; NULL:
                              never */
} rgm_graph_model_type;
extern const rgm_graph_model_type rgm_pna_model, rgm_gps_model, rgm_gcn_model, rgm_gat_model,
    rgm_sage_model, rgm_mpnn_model, rgm_appnp_model, rgm_sgc_model, rgm_gin_model, rgm_hgt_model,
    rgm_albis_model, rgm_rgcn_model;
/** All of them, each the beginning of its rgm_graph_model_type; ended by NULL. */
extern const rgm_section_type *const rgm_graph_models[];

#ifdef __cplusplus
}
#endif
#endif
