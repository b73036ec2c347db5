/*
 * gnn: whole models. A model is a function from a graph value to a graph value whose node sets
 * carry new states; a named model is one row with an options table, so that an experiment file can
 * build it.
 */
#ifndef REGIMEN_GNN_MODELS_H
#define REGIMEN_GNN_MODELS_H

#include <regimen/gnn_data.h>
#include <regimen/gnn_layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- whole models --------------------------------------------------------------------------- */

/**
 * The base GNN: a graph with features in, a graph with hidden_state out (no task head). NULL passes
 * through. All trainable transforms of inputs belong here.
 */
typedef rgm_graph_value *rgm_model_fn(rgm_scope *scope, const rgm_graph_value *graph,
                                      void *payload);

/** What a value is that a vocabulary has not. */
typedef enum rgm_unseen { RGM_UNSEEN_BUCKET, RGM_UNSEEN_ERROR } rgm_unseen;
/** What the embeddings of a list of values become; of an empty one 0. */
typedef enum rgm_list_pool { RGM_LIST_MEAN, RGM_LIST_SUM, RGM_LIST_MAX } rgm_list_pool;
/** What was learned of features of the training part: vocabularies, boundaries, means; counted. */
typedef struct rgm_learned_features rgm_learned_features;

/**
 * How features become the rows that a model starts from; part of every model's options. A feature
 * is "words" or "paper.words", in one list of encoders at most. Categories (one_hot, vocabulary,
 * hash, buckets, boundaries) are one-hot rows, of lists the sum of them, or rows of a trained
 * table.
 */
typedef struct rgm_input_options {
    rgm_texts features;     /* none: every float and one_hot feature, and those that a list names */
    rgm_numbers one_hot;    /* integers with how many values: 0 and on; any other is an error     */
    rgm_numbers vocabulary; /* integers, texts with the least count in the training part          */
    rgm_numbers hash;       /* integers, texts with how many buckets: rgm_lookup_hash()           */
    rgm_numbers buckets;    /* numbers with how many buckets, by quantiles of the training part   */
    rgm_lists boundaries;   /* numbers with where buckets begin: rgm_lookup_buckets()             */
    rgm_texts numbers;      /* integers that are amounts: cast to floats                          */
    rgm_texts standardize;  /* (x - mean) / standard deviation of the training part, each number of
                               an item by itself; 0 for one that never varies                     */
    rgm_texts min_max;      /* (x - least) / (largest - least) likewise                           */
    rgm_numbers embeddings; /* categories with the width of a table instead of one-hot rows (a
                               vocabulary of all values if no list names the feature); node sets
                               with the width of an embedding of each node                        */
    int64_t latent;         /* > 0: the same for every node set without input features            */
    rgm_unseen unseen;      /* of vocabularies                                                    */
    rgm_list_pool pool;
    bool normalize; /* each feature's rows, but embeddings, divided by their sum of absolute values
                     */
    const rgm_learned_features *learned; /* what the above take of the training part; NULL: nothing.
                                            A run sets it while it builds its model               */
} rgm_input_options;
/**
 * Learn what the options take of a training part, in one pass over it: of a node set that a readout
 * asks about, of those nodes alone; of other sets, of all items.
 *
 * @param schema  of the provider's graphs
 *
 * Errors: RGM_ERR_CONFIG (a feature that cannot be read so), RGM_ERR_DATA (not finite; no value),
 * those of the provider.
 */
rgm_status rgm_learned_features_create(rgm_learned_features **out, const rgm_input_options *options,
                                       const rgm_schema *schema, const rgm_provider *train);
/**
 * As JSON. What is read is not believed. Errors: RGM_ERR_IO, RGM_ERR_NOT_FOUND, RGM_ERR_FORMAT,
 * RGM_ERR_VERSION, RGM_ERR_NOMEM.
 */
rgm_status rgm_learned_features_save(const rgm_learned_features *learned, const char *path);
rgm_status rgm_learned_features_load(rgm_learned_features **out, const char *path);
rgm_learned_features *rgm_learned_features_retain(rgm_learned_features *learned);
void rgm_learned_features_release(rgm_learned_features *learned);
/**
 * The input features of a node set in the scope's dtype, dense or sparse: hidden_state if the graph
 * has it, else those that the options name. x holds `capacity`; *count may be 0: a set that starts
 * with nothing. Parameters stand in the scope: <feature>/table, and nodes/table of nodes by
 * themselves.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_UNSUPPORTED, RGM_ERR_NOT_FOUND,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_node_inputs(rgm_value **x, int64_t capacity, int64_t *count, rgm_scope *scope,
                           const rgm_graph_value *graph, const char *node_set,
                           const rgm_input_options *options);

/** Which rounds `l2` holds for. */
typedef enum rgm_l2_layers { RGM_L2_FIRST, RGM_L2_ALL } rgm_l2_layers;

/** What becomes of the states of all rounds: jumping knowledge (Xu et al. 2018). */
typedef enum rgm_jump { RGM_JUMP_LAST, RGM_JUMP_CONCAT, RGM_JUMP_SUM, RGM_JUMP_MAX } rgm_jump;

/**
 * What models that go in rounds share, as far as a model's row of keys has it. Of one round: edges'
 * states are made anew of their own, both ends' and the context's; nodes hear; the context's state
 * is made anew of its own and the means of all node sets' states (Battaglia et al. 2018, algorithm
 * 1) unless the round is the last, behind which nobody hears it. Next states of vanilla_mpnn and
 * mt_albis hear the context as one of their inputs, states of other models have W c added before a
 * round. Parameters <round>/edges/<edge set>/, <round>/context/next_state/, and in
 * <round>/nodes/<set>/ (of models of one node set in <round>/) context/kernel, and skip/kernel
 * where a residual's widths differ. RGM_ERR_CONFIG: context_units without a second round, a jump
 * of one state alone.
 */
typedef struct rgm_rounds_options {
    const char *edge_feature; /* heard in messages, or what edges' states start from; NULL: none */
    int64_t edge_units;       /* > 0: channels of edges' states, heard in messages               */
    const char *context_feature; /* heard by nodes, or what the context's starts from; NULL: none */
    int64_t context_units; /* > 0: channels of each component's state, heard by nodes and edges */
    bool residual;         /* each round's states but an output's have its input added          */
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
 * "appnp": predictions of each node by itself, then personalised PageRank spreads them (Gasteiger,
 * Bojchevski & Guennemann 2019, eq. 5): z' = (1 - teleport) A z + teleport h, with a GCN's
 * normalised A. Parameters dense_<i>/kernel, dense_<i>/bias.
 */
typedef struct rgm_appnp_model_options {
    rgm_ints hidden; /* channels of each hidden layer of a node by itself */
    int64_t output;  /* > 0: one more, without activation (classes, with task head "none") */
    int64_t iterations;
    double teleport;     /* 0 .. 1: how much of its own each node keeps at every iteration      */
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

/** "sgc": a linear model of what has been spread over the edges (Wu et al. 2019), A^hops X W + b.
 * Parameters dense/kernel, dense/bias. */
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
 * "gin", heterogeneous; with an edge feature GINE. Sums of several relations have kernels of their
 * own. Parameters input/<set>/, layer_<i>/nodes/<set>/{<edge set>/,next_state/}.
 */
typedef struct rgm_gin_model_options {
    int64_t units, layers, mlp_layers;
    bool train_epsilon;
    double epsilon;
    rgm_state_norm norm; /* batch: of all nodes of a mini-batch, so batches are not padded */
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
    rgm_sage_combine combine;  /* of what edge sets bring */
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

/** What goes along edges in "gps". */
typedef enum rgm_gps_local { RGM_GPS_GIN, RGM_GPS_GAT_V2, RGM_GPS_NONE } rgm_gps_local;
/**
 * "gps", heterogeneous (Rampasek et al. 2022): in each round x_m = norm(x + drop(local(x))), x_a =
 * norm(x + drop(attention(x))), y = x_m + x_a, norm(y + drop(dense(y))). Parameters input/<set>/,
 * layer_<i>/nodes/<set>/, layer_<i>/mix/<set>/{attention,dense}/.
 */
typedef struct rgm_gps_model_options {
    int64_t units, layers, heads;
    rgm_gps_local local;
    rgm_texts attention_sets; /* none: "<node set>_complete" of each */
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
    size_t input;          /* where in the options its rgm_input_options stand; 0: it has none */
    const char *attention; /* the keys with which it has weights of attention, "" always; NULL: none
                              with any */
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
