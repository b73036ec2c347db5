/*
 * gnn: graph networks from data to export. A convolution is a function from what meets at the
 * receivers (a pattern, states of senders, receivers and edges) to one vector for each receiver. A
 * graph update runs convolutions and next-state functions over the sets of a graph. A model is a
 * function from a graph value to a graph value whose node sets carry new states; a named model is
 * one row with an options table, so that an experiment file can build it. A task reads labels out
 * of a graph and predicts them from the states behind the model. rgm_run() joins data providers, a
 * model, tasks, an optimizer and the trainer into one run folder.
 *
 * Everything in a compute graph follows the builders' rule: NULL passes through, the compute graph
 * keeps the first failure. States may be sparse rows wherever x is "dense or sparse" (see nn.h).
 */
#ifndef REGIMEN_GNN_H
#define REGIMEN_GNN_H

#include <regimen/graph.h>
#include <regimen/train.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convolutions --------------------------------------------------------------------------- */

/**
 * What a convolution sees. Any of the three states may be NULL. The same code serves edges to node
 * (rows: nodes), nodes to context and edges to context (rows: components; then `edge` is NULL).
 */
typedef struct rgm_conv_input {
    const char *name;    /* of the edge set, or of the pooled set; for messages */
    rgm_value *pattern;  /* [receivers, senders] with `count` entries           */
    rgm_value *receiver; /* [receivers, width]                                  */
    rgm_value *sender;   /* [senders, width]                                    */
    rgm_value *edge;     /* [count, width], entry order                         */
} rgm_conv_input;

/** One vector for each receiver, [receivers, units]. Parameters stand in `scope` itself. */
typedef rgm_value *rgm_conv_fn(rgm_scope *scope, const rgm_conv_input *in, const void *options);
/**
 * A convolution with its options (NULL: the function's defaults); the options outlive the build.
 */
typedef struct rgm_conv {
    rgm_conv_fn *fn;
    const void *options;
} rgm_conv;

/** The input along an edge set towards `receiver`; states may be NULL. */
rgm_conv_input rgm_conv_along_edges(const rgm_graph_value *graph, const char *edge_set,
                                    rgm_tag receiver, rgm_value *receiver_state,
                                    rgm_value *sender_state, rgm_value *edge_state);
/** The input from a node or edge set, whose items send `state`, to the context. */
rgm_conv_input rgm_conv_to_context(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                   rgm_value *context_state, rgm_value *state);
/**
 * x [count, width] at the pattern's entries reduced at the receivers: "sum", "mean|max_no_inf", ...
 */
rgm_value *rgm_conv_pool(const rgm_conv_input *in, rgm_value *x, const char *reduce_type);
/**
 * act(W [x_e || x_s || x_r] + b) for each entry, [count, units]: products are made for each node
 * and then gathered, never for each edge. States that are NULL are left out. Parameters "kernel"
 * (rows in the order edge, sender, receiver) and "bias" in `scope`.
 */
rgm_value *rgm_conv_messages(rgm_scope *scope, const rgm_conv_input *in, int64_t units,
                             const rgm_dense_options *options);

/** How degrees scale a GCN's sum. */
typedef enum rgm_degree_norm {
    RGM_NORM_NONE,
    RGM_NORM_IN,     /* 1 / deg(receiver)                                     */
    RGM_NORM_OUT,    /* 1 / deg(sender)                                       */
    RGM_NORM_IN_OUT, /* 1 / sqrt(deg(receiver) deg(sender)): Kipf & Welling   */
    RGM_NORM_IN_IN   /* 1 / sqrt(deg(receiver)) at both ends, in-degrees both */
} rgm_degree_norm;

typedef struct rgm_gcn_options {
    int64_t units;
    rgm_tag receiver; /* used where the graph is given, not the input               */
    rgm_degree_norm normalization;
    bool self_loops; /* each node also hears itself; degrees count that            */
    bool bias;
    rgm_activation activation;
    double l2; /* on the kernel */
    rgm_init kernel;
    rgm_value *edge_weight; /* [edges]; NULL: ones                                       */
} rgm_gcn_options;
#define RGM_GCN_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .bias = true, .receiver = RGM_TARGET, .normalization = RGM_NORM_IN_OUT,                    \
        .self_loops = true, .kernel = {                                                            \
            RGM_INIT_GLOROT_UNIFORM,                                                               \
            0                                                                                      \
        }                                                                                          \
    }
/**
 * Kipf & Welling 2017: act(scale_r sum_e w_e scale_s h_s W + b) along an edge set that starts and
 * ends in one node set; h [nodes, in], dense or sparse -> [nodes, units]. Self-loops on, symmetric
 * normalisation, no activation. Parameters "<name>/kernel", "<name>/bias".
 */
rgm_value *rgm_gcn_conv(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                        const char *edge_set, rgm_value *h, int64_t units);
rgm_value *rgm_gcn_conv_with(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                             const char *edge_set, rgm_value *h, const rgm_gcn_options *options);
/** As rgm_conv_fn, [receivers, units]; options: rgm_gcn_options. */
rgm_value *rgm_gcn_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_gatv2_options {
    int64_t heads, units; /* units: channels of each head                              */
    rgm_tag receiver;     /* used where the graph is given                             */
    bool self_loops;      /* each node also hears itself; edge states of loops are zeros */
    bool bias;
    bool share_weights;       /* queries and values by one kernel and bias                 */
    bool mean_heads;          /* average the heads: [n, units]; else [n, heads * units]    */
    double attention_dropout; /* on the coefficients                                       */
    double slope;             /* of the leaky relu inside attention                        */
    rgm_activation attention_activation;
    rgm_activation activation;
    double l2; /* on kernels and attention vector */
    rgm_init kernel;
} rgm_gatv2_options;
#define RGM_GATV2_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .bias = true, .heads = 1, .receiver = RGM_TARGET, .slope = 0.2,                            \
        .attention_activation = RGM_ACT_LEAKY_RELU, .kernel = {                                    \
            RGM_INIT_GLOROT_UNIFORM,                                                               \
            0                                                                                      \
        }                                                                                          \
    }
/**
 * Brody et al. 2022: q = W_q h_r + b, v = W_v h_s + b (+ W_e x_e), alpha = softmax over the
 * receiver's edges of a . att(q + v), out = act(merge_heads sum alpha v). Without loops a node's
 * own state only steers the attention. Parameters query/, value/ (kernel, bias), edge/kernel,
 * attention. h [nodes, width] -> [nodes, heads units], or [nodes, units] where heads are averaged.
 */
rgm_value *rgm_gatv2_conv(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                          const char *edge_set, rgm_value *h, const rgm_gatv2_options *options);
rgm_value *rgm_gatv2_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);
/** The senders are the edges themselves (in.edge); the receivers still ask. Shape as above. */
rgm_value *rgm_gatv2_edge_pool(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_sage_options {
    int64_t units;
    int64_t hidden_units;      /* rgm_sage_pool_convolve(): 0: units                        */
    const char *reduce_type;   /* NULL: "mean"; of the pooling convolution "max_no_inf"     */
    double dropout;            /* of sender states, drawn for each edge                     */
    bool bias;                 /* of the pooling convolution's hidden layer                 */
    rgm_activation activation; /* of the pooling convolution's hidden layer                 */
    double l2;
} rgm_sage_options;
#define RGM_SAGE_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .bias = true, .activation = RGM_ACT_RELU                                                   \
    }
/** Hamilton et al. 2017: reduce(drop(h_s)) W, no bias: [receivers, units]. Parameter kernel. */
rgm_value *rgm_sage_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);
/**
 * reduce(act(W_1 drop(h_s) + b)) W_2: [receivers, units]. Parameters hidden/kernel, hidden/bias,
 * kernel.
 */
rgm_value *rgm_sage_pool_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_simple_conv_options {
    int64_t units; /* of the dense message; with `message`: not used            */
    rgm_activation activation;
    const char *reduce_type;     /* NULL: "sum"                                               */
    bool sender, receiver, edge; /* which states a message sees */
    bool add_states;             /* combine by sum, else side by side                         */
    double dropout;              /* of the messages */
    double l2, l2_bias;
    /** In place of the dense layer: [count, combined] -> [count, any]. The states of each edge are
     *  then really put together. */
    rgm_value *(*message)(rgm_scope *scope, rgm_value *x, void *payload);
    void *payload;
} rgm_simple_conv_options;
#define RGM_SIMPLE_CONV_OPTIONS_INIT                                                               \
    {                                                                                              \
        .sender = true, .receiver = true, .edge = true, .activation = RGM_ACT_RELU                 \
    }
/** reduce over edges of drop(act(W [x_e || h_s || h_r] + b)). Parameters kernel, bias. */
rgm_value *rgm_simple_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_gin_conv_options {
    int64_t units; /* > 0: of a kernel on the sum, which tells relations apart; 0: the sum itself */
    double l2;
} rgm_gin_conv_options;
/**
 * The sum over edges of h_s (Xu et al. 2019, eq. 4.1), or with edge states of relu(h_s + W_e x_e +
 * b) (Hu et al. 2020): [receivers, width], or times W: [receivers, units]. Parameters edge/kernel,
 * edge/bias, kernel.
 */
rgm_value *rgm_gin_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_pool_options {
    const char *reduce_type; /* NULL: "sum" */
} rgm_pool_options;
/** Pools stored states row by row, no parameters: in.edge if given, else in.sender. */
rgm_value *rgm_pool_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

/* ---- next states ---------------------------------------------------------------------------- */

typedef struct rgm_state_inputs {
    const char *set;  /* whose state it is; for messages                     */
    rgm_value *state; /* old state [n, width]; NULL when the set has none     */
    int64_t count;
    const char *const *names; /* sorted: edge sets, or "source", "target", or pooled sets */
    rgm_value *const *inputs; /* [n, width_i] */
    rgm_value *context;       /* [n, width], broadcast; NULL: none                   */
} rgm_state_inputs;
/** The new state [n, any]. */
typedef rgm_value *rgm_state_fn(rgm_scope *scope, const rgm_state_inputs *inputs,
                                const void *options);
typedef struct rgm_next_state {
    rgm_state_fn *fn;
    const void *options; /* outlive the build */
} rgm_next_state;

typedef struct rgm_dense_state_options {
    int64_t units;
    rgm_activation activation;
    bool bias;
    double dropout;
    double l2, l2_bias;
    bool layer_norm; /* after dropout (residual: after the sum) */
    rgm_init kernel;
} rgm_dense_state_options;
#define RGM_DENSE_STATE_OPTIONS_INIT                                                               \
    {                                                                                              \
        .bias = true, .activation = RGM_ACT_RELU, .kernel = { RGM_INIT_GLOROT_UNIFORM, 0 }         \
    }
/** norm(drop(act(W [state || inputs || context] + b))). Parameters kernel, bias, layer_norm/. */
rgm_value *rgm_dense_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *options);
/**
 * norm(act(drop(W [...] + b) + state)); the skip is left out when the old state has width 0; else
 * the widths must agree. options: rgm_dense_state_options.
 */
rgm_value *rgm_residual_state(rgm_scope *scope, const rgm_state_inputs *inputs,
                              const void *options);
/** The only input becomes the state, in its shape. No options. */
rgm_value *rgm_single_input_state(rgm_scope *scope, const rgm_state_inputs *inputs,
                                  const void *options);

typedef enum rgm_gin_norm { RGM_GIN_PLAIN, RGM_GIN_BATCH, RGM_GIN_LAYER } rgm_gin_norm;
typedef struct rgm_gin_state_options {
    int64_t units, mlp_layers;
    bool train_epsilon; /* epsilon starts at 0 */
    double epsilon;     /* where it is not trained */
    rgm_gin_norm norm;  /* of each layer, before its activation */
    rgm_activation activation;
    double dropout; /* of the new state */
    double l2;
} rgm_gin_state_options;
#define RGM_GIN_STATE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .mlp_layers = 2, .train_epsilon = true, .activation = RGM_ACT_RELU                         \
    }
/**
 * mlp((1 + epsilon) state + sum of inputs), all [n, width]: [n, units]. The context is not heard.
 * Parameters epsilon, dense_<i>/kernel, dense_<i>/bias, norm_<i>/.
 */
rgm_value *rgm_gin_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *options);

typedef struct rgm_sage_state_options {
    int64_t units;
    bool bias;
    double dropout; /* of the old state                                    */
    bool l2_normalize;
    bool concat; /* side by side, else summed                           */
    rgm_activation activation;
    double l2;
} rgm_sage_state_options;
#define RGM_SAGE_STATE_OPTIONS_INIT                                                                \
    {                                                                                              \
        .bias = true, .l2_normalize = true, .activation = RGM_ACT_RELU                             \
    }
/** act(combine(W drop(state), inputs) + b), then rows x / |x|. Parameters self/kernel, bias. */
rgm_value *rgm_sage_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *options);

/* ---- graph updates -------------------------------------------------------------------------- */

/* A feature name that is NULL below means RGM_HIDDEN_STATE, and a set without it gives no state. */

/**
 * New edge states from the old one, the states at both ends ("source", "target") and the context.
 */
typedef struct rgm_edge_set_update {
    const char *edge_set;
    rgm_next_state next_state;
    const char *edge_feature, *node_feature;
    bool source, target;         /* whether the states at that end are seen */
    const char *context_feature; /* NULL: no context input */
} rgm_edge_set_update;
#define RGM_EDGE_SET_UPDATE_INIT                                                                   \
    {                                                                                              \
        .source = true, .target = true                                                             \
    }

typedef struct rgm_edge_input {
    const char *edge_set;
    rgm_tag receiver;
    rgm_conv conv;
    const char *sender_feature, *receiver_feature;
    const char *edge_feature; /* NULL: no edge state; pools say RGM_HIDDEN_STATE */
} rgm_edge_input;

typedef struct rgm_node_set_update {
    const char *node_set;
    const rgm_edge_input *inputs;
    int64_t input_count;
    rgm_next_state next_state;
    const char *node_feature;
    const char *context_feature; /* NULL: no context input */
    /** The whole update by one function (then the fields above but node_set are not used). */
    rgm_value *(*update)(rgm_scope *scope, const rgm_graph_value *graph, const char *node_set,
                         const void *options);
    const void *options;
} rgm_node_set_update;

typedef struct rgm_context_input {
    rgm_piece piece; /* RGM_NODE_SET or RGM_EDGE_SET */
    const char *set;
    rgm_conv conv;
    const char *feature;
} rgm_context_input;

typedef struct rgm_context_update {
    const rgm_context_input *inputs;
    int64_t input_count;
    rgm_next_state next_state;
    const char *context_feature;
} rgm_context_update;

typedef struct rgm_graph_update_options {
    const rgm_edge_set_update *edge_sets;
    int64_t edge_set_count;
    const rgm_node_set_update *node_sets;
    int64_t node_set_count;
    const rgm_context_update *context; /* NULL: none */
} rgm_graph_update_options;
/**
 * One round: edge sets first, then all node sets from the same old states, then the context. Sets
 * not named stay as they are. Unknown sets are a failure that names the nearest. Parameters stand
 * under "<name>/edges/<set>/", "<name>/nodes/<set>/<edge set>/", "<name>/context/<set>/"; of an
 * edge set read towards its source as "<edge set>@source".
 */
rgm_graph_value *rgm_graph_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_graph_update_options *update);

typedef enum rgm_receivers { RGM_AT_SOURCE, RGM_AT_TARGET, RGM_AT_BOTH } rgm_receivers;

typedef struct rgm_conv_gnn_options {
    rgm_receivers receivers;   /* which end of the edge sets hears                       */
    rgm_conv conv;             /* for every edge set ...                                 */
    rgm_next_state next_state; /* ... and node set, unless a function below decides      */
    /** fn NULL in the answer: this edge set is not used towards that end. */
    rgm_conv (*conv_for)(const char *edge_set, rgm_tag receiver, void *payload);
    rgm_next_state (*next_state_for)(const char *node_set, void *payload);
    void *payload;
    const char *edge_feature;     /* NULL: no edge states; sets without it go without       */
    const char *const *node_sets; /* NULL: every set that receives an edge set              */
    int64_t node_set_count;
} rgm_conv_gnn_options;
#define RGM_CONV_GNN_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .receivers = RGM_AT_TARGET                                                                 \
    }
/**
 * TF-GNN's ConvGNNBuilder: one graph update over all node sets that receive edges, or the named
 * ones (a named set that receives none gets its next state without edge inputs). Auxiliary sets
 * are passed over.
 */
rgm_graph_value *rgm_conv_gnn(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                              const rgm_conv_gnn_options *options);

/** Callbacks of rgm_map_features(): set the feature values that the set shall have. */
typedef struct rgm_map_features_options {
    /** The new hidden_state; NULL: the set is left alone (or a failure happened). */
    rgm_value *(*context)(rgm_scope *scope, const rgm_graph_value *graph, void *payload);
    rgm_value *(*node_set)(rgm_scope *scope, const rgm_graph_value *graph, const char *set,
                           void *payload);
    rgm_value *(*edge_set)(rgm_scope *scope, const rgm_graph_value *graph, const char *set,
                           void *payload);
    void *payload;
    bool aux; /* auxiliary sets too */
} rgm_map_features_options;
/**
 * Run a callback for each set; the value becomes its hidden_state. Scopes "<name>/<piece>/<set>".
 */
rgm_graph_value *rgm_map_features(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_map_features_options *options);
/** [items, 0]: the state of a latent set. */
rgm_value *rgm_make_empty_feature(rgm_scope *scope, const rgm_graph_value *graph, rgm_piece piece,
                                  const char *set);

/* ---- families: one round of message passing each -------------------------------------------- */

/** The unique node set's state becomes the convolution of it along the unique edge set. */
rgm_graph_value *rgm_gcn_hom_update(rgm_scope *scope, const char *name,
                                    const rgm_graph_value *graph, const rgm_gcn_options *options);
rgm_graph_value *rgm_gatv2_hom_update(rgm_scope *scope, const char *name,
                                      const rgm_graph_value *graph,
                                      const rgm_gatv2_options *options);

typedef struct rgm_mpnn_options {
    int64_t units, message_dim;
    rgm_receivers receivers;
    const char *const *node_sets; /* as in rgm_conv_gnn_options */
    int64_t node_set_count;
    const char *edge_feature; /* NULL: none */
    const char *reduce_type;  /* NULL: "sum" */
    double l2;                /* on kernels and biases */
    double dropout;           /* of messages and states */
    bool layer_norm;
    bool receiver_state; /* messages see h_r */
} rgm_mpnn_options;
#define RGM_MPNN_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .receiver_state = true, .receivers = RGM_AT_TARGET                                         \
    }
/** m = drop(relu(W [edge || h_s || h_r] + b)); h' = norm(drop(relu(W [h || reduce m ...] + b))). */
rgm_graph_value *rgm_vanilla_mpnn_update(rgm_scope *scope, const char *name,
                                         const rgm_graph_value *graph,
                                         const rgm_mpnn_options *options);

typedef struct rgm_gatv2_mpnn_options {
    int64_t units, message_dim, heads; /* heads divides message_dim */
    rgm_receivers receivers;
    const char *const *node_sets;
    int64_t node_set_count;
    const char *edge_feature;
    double l2; /* on all kernels, the convolutions' too */
    double edge_dropout, state_dropout;
    rgm_activation attention_activation, conv_activation, activation;
} rgm_gatv2_mpnn_options;
#define RGM_GATV2_MPNN_OPTIONS_INIT                                                                \
    {                                                                                              \
        .heads = 4, .receivers = RGM_AT_TARGET, .attention_activation = RGM_ACT_LEAKY_RELU,        \
        .conv_activation = RGM_ACT_RELU, .activation = RGM_ACT_RELU                                \
    }
/** The graph with next states of every node set that receives: one round of the options above. */
rgm_graph_value *rgm_gatv2_mpnn_update(rgm_scope *scope, const char *name,
                                       const rgm_graph_value *graph,
                                       const rgm_gatv2_mpnn_options *options);

typedef struct rgm_sage_update_options {
    int64_t units;
    int64_t hidden_units; /* > 0: pooling convolution                       */
    bool pooling;         /* the same with hidden_units = units             */
    rgm_receivers receivers;
    const char *const *node_sets;
    int64_t node_set_count;
    const char *reduce_type; /* NULL: "mean", with pooling "max_no_inf"        */
    bool bias;
    double dropout; /* of states, and of sender states for each edge  */
    bool l2_normalize;
    bool concat; /* combine side by side, else sum                 */
    rgm_activation activation;
    double l2;
} rgm_sage_update_options;
#define RGM_SAGE_UPDATE_OPTIONS_INIT                                                               \
    {                                                                                              \
        .bias = true, .l2_normalize = true, .receivers = RGM_AT_TARGET, .activation = RGM_ACT_RELU \
    }
/** The graph with next states of every node set that receives: one round of the options above. */
rgm_graph_value *rgm_sage_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const rgm_sage_update_options *options);

/** GraphSAGE's GCN variant as a node set's whole update (rgm_node_set_update.update). */
typedef struct rgm_sage_gcn_options {
    const char *const *edge_sets;
    int64_t edge_set_count;
    rgm_tag receiver;
    bool sum; /* else mean over all edge sets and self together */
    int64_t units;
    double dropout;
    rgm_activation activation;
    bool bias;
    bool share_weights; /* one kernel for all edge sets and self          */
    bool self;          /* a node hears itself */
    double l2;
} rgm_sage_gcn_options;
#define RGM_SAGE_GCN_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .self = true, .receiver = RGM_TARGET, .activation = RGM_ACT_RELU                           \
    }
/** Next states [nodes, units] of one node set, from it and all edge sets that lead to it. */
rgm_value *rgm_sage_gcn_node_update(rgm_scope *scope, const rgm_graph_value *graph,
                                    const char *node_set, const void *options);

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
typedef struct rgm_provider rgm_provider;
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
    rgm_input_options input;
} rgm_gcn_model_options;

/** "gat_v2". Parameters conv_<i>/query/, value/, attention. */
typedef struct rgm_gat_model_options {
    rgm_ints hidden; /* channels of each head */
    int64_t heads, output_heads;
    int64_t output; /* > 0: one more, heads averaged, no activation */
    double dropout, attention_dropout;
    rgm_activation activation;
    bool self_loops, bias, share_weights, residual;
    double l2;
    rgm_l2_layers l2_layers;
    rgm_receivers receiver; /* not both */
    const char *node_set, *edge_set;
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
    const char *edge_feature; /* dense edge feature in the messages; NULL: none */
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

/** What becomes of the states of all rounds: jumping knowledge (Xu et al. 2018). */
typedef enum rgm_gin_jump { RGM_GIN_LAST, RGM_GIN_CONCAT, RGM_GIN_SUM, RGM_GIN_MAX } rgm_gin_jump;

/**
 * "gin", heterogeneous; with an edge feature GINE. Sums of several relations have kernels of their
 * own. Parameters input/<set>/, layer_<i>/nodes/<set>/{<edge set>/,next_state/}.
 */
typedef struct rgm_gin_model_options {
    int64_t units, layers, mlp_layers;
    bool train_epsilon;
    double epsilon;
    rgm_gin_norm norm; /* batch: of all nodes of a mini-batch, so batches are not padded */
    rgm_gin_jump jump;
    rgm_activation activation;
    double dropout, l2;
    rgm_receivers receiver;
    const char *edge_feature;
    rgm_input_options input;
} rgm_gin_model_options;

/** A model that an experiment file can name. */
typedef struct rgm_graph_model_type {
    rgm_section_type section;
    rgm_model_fn *build; /* payload = options */
    size_t input;        /* where in the options its rgm_input_options stand; 0: it has none */
} rgm_graph_model_type;
extern const rgm_graph_model_type rgm_gcn_model, rgm_gat_model, rgm_sage_model, rgm_mpnn_model,
    rgm_appnp_model, rgm_sgc_model, rgm_gin_model;
/** All of them, each the beginning of its rgm_graph_model_type; ended by NULL. */
extern const rgm_section_type *const rgm_graph_models[];

/* ---- tasks on graphs ------------------------------------------------------------------------- */

#define RGM_MAX_VIEWS 4

/** What a task makes of a graph before the GNN sees it, and what the GNN made of that. */
typedef struct rgm_graph_views {
    int64_t count; /* 1 .. RGM_MAX_VIEWS */
    const rgm_graph_value *graphs[RGM_MAX_VIEWS];
    rgm_value *labels; /* taken out of the graph; NULL: there are none */
} rgm_graph_views;

/**
 * A kind of task on graphs: functions that add to the compute graph, each with the task's options.
 * A failure may also be left to the compute graph, which keeps the first.
 */
typedef struct rgm_graph_task_type {
    rgm_section_type section; /* task.type, its keys and their checks */
    const char *output;       /* name of the output of a task without one; NULL: section.name */
    /** Whether the data have what the options name: RGM_ERR_CONFIG. NULL: nothing is named. */
    rgm_status (*check)(const void *options, const rgm_schema *schema);
    /**
     * Whether a graph has as many items as are predicted. `together`: it is a whole mini-batch of
     * its provider, whose roots may stand in one component. RGM_ERR_DATA. NULL: any graph has.
     */
    rgm_status (*check_items)(const rgm_graph *graph, bool together, const void *options);
    /** Whether each label that the graph has is one that there is: RGM_ERR_DATA. NULL: all are. */
    rgm_status (*check_labels)(const rgm_graph *graph, const void *options);
    /** The feature that the labels are, for samplers that carry it along; NULL: there is none. */
    const char *(*label)(const void *options);
    /**
     * One graph to one or several views, labels taken out of them. A view that is `graph` itself is
     * shared: the GNN runs once for each distinct one.
     */
    rgm_status (*preprocess)(rgm_graph_views *views, const rgm_graph_value *graph,
                             const void *options);
    /** Real items of a padded graph, [n] of 1 and 0. NULL: as many as there are components. */
    rgm_value *(*real_items)(const rgm_graph_value *graph, const void *options);
    /**
     * Predictions of one or several outputs from the views behind the GNN. outputs[0] comes with
     * its name, labels and weights; of others all is to be set. *count: how many there may be, then
     * are.
     */
    rgm_status (*predict)(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                          const rgm_graph_views *views, const void *options);
    /** Set outputs[i].loss, a scalar: the mean over an output's real items. */
    rgm_status (*losses)(rgm_head *outputs, int64_t count, const void *options);
    /** Add metrics to the outputs: rgm_head_add_metric(). NULL: there are none. */
    rgm_status (*metrics)(rgm_head *outputs, int64_t count, const void *options);
    /** The node that prediction i of a graph is about, -1: none. NULL: predictions are of no nodes.
     */
    int64_t (*node)(const rgm_graph *graph, int64_t i, const void *options);
} rgm_graph_task_type;

/**
 * A kind of task with its options. Constructors return NULL and record an error when they fail,
 * which rgm_run() reports, so a program may check once. Counted.
 */
typedef struct rgm_graph_task rgm_graph_task;
/**
 * @param name     [in] of its outputs, copied; NULL: the type's `output`, for a task alone
 * @param options  [in] copied, but texts and lists in them are borrowed; NULL: defaults
 */
rgm_graph_task *rgm_graph_task_create(const rgm_graph_task_type *type, const char *name,
                                      const void *options);
rgm_graph_task *rgm_graph_task_retain(rgm_graph_task *task);
void rgm_graph_task_release(rgm_graph_task *task);
/** The type's options, to be changed before a run is opened; NULL of NULL. */
void *rgm_graph_task_options(rgm_graph_task *task);

/* What a run does with a task, for loops of one's own and tests: views, then the GNN, then outputs.
 */

/** Labels leave the graph. RGM_ERR_CONFIG: options, or a graph that lacks what they name. */
rgm_status rgm_graph_task_views(rgm_graph_views *views, const rgm_graph_task *task,
                                const rgm_graph_value *graph);
/**
 * Predictions, losses and metrics from the views behind the GNN.
 *
 * @param outputs  [out] [*count]
 * @param count    [in, out] room, then how many there are
 * @param weights  [n] of the items; NULL: ones
 *
 * Errors: RGM_ERR_ARG (a head without predictions or loss), those of the task's functions and of
 * the graph.
 */
rgm_status rgm_graph_task_outputs(rgm_head *outputs, int64_t *count, const rgm_graph_task *task,
                                  rgm_scope *scope, const rgm_graph_views *behind,
                                  rgm_value *weights);

/** Kinds that experiment files can name, each the beginning of its rgm_graph_task_type; ended by
 * NULL. */
extern const rgm_section_type *const rgm_graph_tasks[];
/** One class, or independent 0/1 labels, for each node behind a readout, ... */
extern const rgm_graph_task_type rgm_node_classification, rgm_node_binary_classification;
/** ... for each root node: behind the readout that has the label, else each component's first, ...
 */
extern const rgm_graph_task_type rgm_root_node_classification, rgm_root_node_binary_classification;
/** ... for each component. */
extern const rgm_graph_task_type rgm_graph_classification, rgm_graph_binary_classification;

/** How states become logits. */
typedef enum rgm_classification_head {
    RGM_HEAD_DENSE, /* one dense layer on the states       */
    RGM_HEAD_NONE   /* the states are the logits           */
} rgm_classification_head;

/** Where a task reads states and labels; field names are config keys of `task:`. */
typedef struct rgm_graph_place {
    const char *node_set;    /* whose states; required for root_node and graph                */
    const char *state;       /* state feature, default hidden_state                           */
    const char *key;         /* nodes, root_node: readout key, default "seed"                 */
    const char *readout_set; /* default "_readout"                                            */
    const char *reduce_type; /* graph: default "mean"                                         */
    const char *label;       /* label feature: on readout_set if it is there, else (root_node) on
                                the node set or (graph) on the context, and then hidden from the
                                model                                                         */
} rgm_graph_place;
#define RGM_GRAPH_PLACE_INIT                                                                       \
    {                                                                                              \
        .state = RGM_HIDDEN_STATE, .key = "seed", .readout_set = RGM_READOUT,                      \
        .reduce_type = "mean", .label = "label"                                                    \
    }

/** Of the six kinds of classification; field names are the config keys of `task:`. */
typedef struct rgm_graph_classification_options {
    rgm_graph_place place;
    int64_t num_classes; /* one class: this or class_names                                */
    rgm_texts class_names;
    bool per_class_statistics;
    int64_t units;                  /* 0/1 labels: how many, default 1                        */
    rgm_texts recall_at_precisions; /* 0/1 labels: e.g. [0.9]                                 */
    rgm_classification_head head;   /* default dense                                          */
    double l2;                      /* of the dense head                                      */
} rgm_graph_classification_options;
#define RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT                                                      \
    {                                                                                              \
        .place = RGM_GRAPH_PLACE_INIT, .units = 1                                                  \
    }
/** Of the three kinds of regression; field names are the config keys of `task:`. */
typedef struct rgm_graph_regression_options {
    rgm_graph_place place; /* label: one number, or `units` of them, of an item */
    int64_t units;
    rgm_regression_loss_type loss;          /* its predictions: of poisson exp(head), of
                                               mean_squared_log_scaled_error relu(head), else the head */
    double delta, quantile, alpha, epsilon; /* of the losses that have them */
    rgm_classification_head head;           /* default dense */
    double l2;                              /* of the dense head */
} rgm_graph_regression_options;
#define RGM_GRAPH_REGRESSION_OPTIONS_INIT                                                          \
    {                                                                                              \
        .place = RGM_GRAPH_PLACE_INIT, .units = 1, .delta = 1, .quantile = 0.5, .alpha = 5,        \
        .epsilon = 1e-8                                                                            \
    }
/** Numbers of each node behind a readout, of each root node, of each component. */
extern const rgm_graph_task_type rgm_node_regression, rgm_root_node_regression,
    rgm_graph_regression;

/** One class for each node behind `_readout`, with a dense head. */
rgm_graph_task *rgm_node_multiclass(const char *node_set, const char *label, int64_t num_classes);
rgm_graph_task *rgm_root_node_multiclass(const char *node_set, const char *label,
                                         int64_t num_classes);
rgm_graph_task *rgm_graph_multiclass(const char *node_set, const char *label, int64_t num_classes);

/* ---- providers ----------------------------------------------------------------------------- */

/**
 * Where unbatched examples come from. Constructors return NULL and record an error when they fail;
 * rgm_run() reports it, so a program may check once. Counted.
 */
typedef struct rgm_provider rgm_provider;

/** For a provider of one's own. */
typedef struct rgm_provider_type {
    const char *name;
    /**
     * A recipe of elements that are serialized tf.train.Examples (bytes) or graphs (pointer
     * elements of type rgm_graph_element). `training` asks for shuffling where the provider
     * shuffles.
     */
    rgm_status (*dataset)(rgm_dataset **out, void *state, bool training);
    /** The schema of its graphs if it knows it (borrowed), else NULL. May be NULL. */
    rgm_schema *(*schema)(void *state);
    /** Elements are whole mini-batches already: they are not batched or merged again. */
    bool batched;
    /** All elements are in memory: a check before the first step looks at every one of them. */
    bool in_memory;
    /**
     * Of mini-batches cut out of one graph: that graph, asked about all of their items at once, for
     * the same check of labels; *out may be NULL. NULL: it looks at the first element alone.
     */
    rgm_status (*whole)(rgm_graph **out, void *state);
    void (*release)(void *state);
} rgm_provider_type;
rgm_provider *rgm_provider_create(const rgm_provider_type *type, void *state);
rgm_provider *rgm_provider_retain(rgm_provider *provider);
void rgm_provider_release(rgm_provider *provider);
rgm_schema *rgm_provider_schema(const rgm_provider *provider); /* borrowed, or NULL */
/** The recipe of its graphs, released by the caller. Errors: those of the provider's type. */
rgm_status rgm_provider_dataset(rgm_dataset **out, const rgm_provider *provider, bool training);

/** Options of rgm_tfrecord_provider(). */
typedef struct rgm_tfrecord_provider_options {
    rgm_texts files;               /* names, globs and "name@N", one behind the other    */
    const char *key;               /* what messages call them; NULL: nothing             */
    bool shuffle_filenames;        /* when training                                      */
    int64_t examples_shuffle_size; /* buffer, when training; 0: none                     */
    int64_t cycle_length;          /* files read at once, default 1                      */
    int64_t max_bad_records;       /* skipped before it is an error, default 0           */
} rgm_tfrecord_provider_options;
/** TFRecord files of serialized tf.train.Examples. */
rgm_provider *rgm_tfrecord_provider(const rgm_tfrecord_provider_options *options);

/** Graphs in memory, retained; in another order each epoch when training and `shuffle`. */
rgm_provider *rgm_graphs_provider(rgm_graph *const *graphs, int64_t count, bool shuffle);

/**
 * One part ("train", "valid" or "test") of an imported data set. One big graph: the graph itself,
 * asked about the part's nodes through "_readout" (full-graph training). Many graphs: the part's
 * graphs.
 */
rgm_provider *rgm_graph_data_provider(const rgm_graph_data *data, const char *part);
/** The same with another label feature than "label" of one big graph's nodes, which the model must
 * not see; NULL: there is none. */
rgm_provider *rgm_graph_data_provider_of(const rgm_graph_data *data, const char *part,
                                         const char *label);
/** The same straight from an OGB folder with default import options. */
rgm_provider *rgm_ogb_provider(const char *path, const char *split, const char *part);

/** Options of rgm_sampling_provider(). */
typedef struct rgm_sampling_provider_options {
    const rgm_sampling_spec *spec;
    int64_t batch_size; /* seeds a mini-batch                                                     */
    const char *label;  /* feature of the seed node set, moved to "_readout"                      */
    bool shuffle;       /* seeds in another order each epoch when training                        */
    bool drop_remainder; /* drop a last smaller mini-batch when training                          */
    bool resample; /* other neighbours each epoch when training; else those of epoch 0       */
    uint64_t seed;
    int threads; /* mini-batches sampled at once                                           */
} rgm_sampling_provider_options;
/** Mini-batches sampled in memory around the seeds [n] i64 of one big graph (retained). */
rgm_provider *rgm_sampling_provider(rgm_graph *graph, rgm_tensor *seeds,
                                    const rgm_sampling_provider_options *options);

/**
 * A random mix of providers, each element from provider i with weight weights[i]; ends with the
 * first that ends (provider 0 when the others repeat for ever).
 */
rgm_provider *rgm_mix_provider(rgm_provider *const *providers, const double *weights,
                               int64_t count);

/* ---- run ----------------------------------------------------------------------------------- */

/** A feature map outside training: a new graph from a graph; may change the schema. */
typedef struct rgm_feature_processor {
    rgm_status (*process)(rgm_graph **out, rgm_graph *graph, void *payload);
    void *payload;
} rgm_feature_processor;

/** Padding of batches to fixed sizes; none is dropped. */
typedef enum rgm_padding_kind {
    RGM_PADDING_NONE,
    RGM_PADDING_TIGHT, /* the largest example times the batch size                             */
    RGM_PADDING_FIT    /* sizes that fit success_ratio of random batches; others stay as they are */
} rgm_padding_kind;
typedef struct rgm_padding {
    rgm_padding_kind kind;
    int64_t min_nodes_per_component; /* default 1 */
    int64_t sample_size;             /* fit: examples looked at, default 10000 */
    double success_ratio;            /* fit: default 0.99                      */
} rgm_padding;
#define RGM_PADDING_INIT                                                                           \
    {                                                                                              \
        .min_nodes_per_component = 1, .sample_size = 10000, .success_ratio = 0.99                  \
    }

/** More data to validate or to test on, by name. */
typedef struct rgm_graph_eval_set {
    const char *name;   /* "news" of RGM_VALID is told as valid_news                      */
    rgm_mode mode;      /* RGM_VALID or RGM_TEST: evaluated behind that mode's own data   */
    rgm_provider *data; /* required; retained                                             */
} rgm_graph_eval_set;

/** What a run learns, and from what. model_payload is read when a run opens: it must live until
 * then. */
typedef struct rgm_graph_learning_options {
    rgm_provider *train_data;            /* required; retained, as are all below */
    rgm_provider *valid_data;            /* NULL: no validation                  */
    rgm_provider *test_data;             /* NULL: none                           */
    const rgm_graph_eval_set *eval_sets; /* [eval_set_count], at most RGM_MAX_EVAL_SETS */
    int64_t eval_set_count;
    rgm_schema *schema; /* of one example; NULL: the provider's */

    rgm_model_fn *model_fn;
    void *model_payload;
    rgm_input_options *input;      /* in model_payload: what it takes of the training part is learnt
                                      when the task is made; NULL: nothing                      */
    rgm_learned_features *learned; /* that, instead of learning it; retained; NULL: it is learnt */
    rgm_graph_task *task;          /* a single task, or          */
    rgm_graph_task *const *tasks;  /* several, each with a name  */
    int64_t task_count;
    const double *loss_weights; /* [task_count], by the tasks' places, each finite and at least 0;
                                   NULL: ones */

    int64_t global_batch_size; /* examples a step, default 1; refused with a provider of whole
                                  mini-batches, which has a size of its own, as is the next */
    bool drop_remainder;
    /* Between examples and model, in every part and in rgm_graph_run_preprocess(). They are a
       program's functions, so that no export has them: what is exported takes what they give. */
    const rgm_feature_processor *feature_processors;
    int64_t feature_processor_count;
    rgm_padding train_padding, valid_padding;
} rgm_graph_learning_options;
#define RGM_GRAPH_LEARNING_OPTIONS_INIT                                                            \
    {                                                                                              \
        .global_batch_size = 1, .train_padding = RGM_PADDING_INIT,                                 \
        .valid_padding = RGM_PADDING_INIT                                                          \
    }

/**
 * Graph learning as a task of experiment files: data from files or made, a named model, one or
 * several of rgm_graph_tasks.
 */
extern const rgm_task_type rgm_graph_learning;
/**
 * The same from C: a task for rgm_run_open(), of one open run at a time. rgm_task_release() gives
 * it back.
 *
 * Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (arguments that contradict each other or the data), those of
 * providers and tasks.
 */
rgm_status rgm_graph_learning_create(rgm_task *out, const rgm_graph_learning_options *options,
                                     const rgm_runtime_options *runtime);

/**
 * Train, validate, test and export in one call: rgm_graph_learning_create(), rgm_run_open(),
 * rgm_run_complete().
 *
 * @param run  [out, owned] set on RGM_OK, and on RGM_STOPPED (then with what there is): it stays
 * open to be asked, until rgm_run_close()
 *
 * Errors: RGM_STOPPED (asked to stop; the same call continues), those of the three calls.
 * Collective: every rank calls it.
 */
rgm_status rgm_run(rgm_open_run **run, const rgm_graph_learning_options *what,
                   const rgm_run_options *how);

/* Of runs of graph learning; RGM_ERR_UNSUPPORTED, or NULL, for any other. */

/** The graph before and behind the base GNN (of task 0), borrowed. */
const rgm_graph_value *rgm_graph_run_input(const rgm_open_run *run);
const rgm_graph_value *rgm_graph_run_base_model(const rgm_open_run *run);
/**
 * The preprocess model: examples (serialized, or a graph as it is) to one merged, processed graph.
 * Errors: RGM_ERR_FORMAT and RGM_ERR_DATA of examples, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_graph_run_preprocess(rgm_graph **out, const rgm_open_run *run,
                                    rgm_element *const *examples, int64_t count);
/**
 * Predictions of head `head` [n, units] for a preprocessed graph; *out is owned.
 * Errors: RGM_ERR_UNSUPPORTED, those of rgm_run_predict_feeds().
 */
rgm_status rgm_graph_run_predict(rgm_tensor **out, const rgm_open_run *run, int64_t head,
                                 rgm_graph *graph);

#ifdef __cplusplus
}
#endif
#endif
