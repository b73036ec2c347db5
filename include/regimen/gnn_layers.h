/*
 * gnn: the building blocks of graph networks. A convolution maps a pattern and the states of
 * senders, receivers and edges to one vector for each receiver. A graph update runs convolutions
 * and next-state functions over the sets of a graph. A family is one such update with options of
 * its own.
 *
 * Every function that adds to a compute graph follows the builders' rule: NULL passes through, and
 * the compute graph keeps the first failure. States may be sparse rows wherever x is "dense or
 * sparse" (see nn.h).
 */
#ifndef REGIMEN_GNN_LAYERS_H
#define REGIMEN_GNN_LAYERS_H

#include <regimen/graph_value.h>
#include <regimen/nn.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- convolutions --------------------------------------------------------------------------- */

/**
 * The input of a convolution. Any of the three states may be NULL. The same code serves edges to
 * node (rows: nodes), nodes to context and edges to context (rows: components; then `edge` is
 * NULL).
 */
typedef struct rgm_conv_input {
    const char *name;    /* of the edge set, or of the pooled set; for messages */
    rgm_value *pattern;  /* [receivers, senders] with `count` entries           */
    rgm_value *receiver; /* [receivers, width]                                  */
    rgm_value *sender;   /* [senders, width]                                    */
    rgm_value *edge;     /* [count, width], entry order                         */
} rgm_conv_input;

/** One vector for each receiver, [receivers, units]. The parameters are in `scope` itself. */
typedef rgm_value *rgm_conv_fn(rgm_scope *scope, const rgm_conv_input *in, const void *options);
/**
 * A convolution with its options (NULL: the function's defaults); the options must outlive the
 * build.
 */
typedef struct rgm_conv {
    rgm_conv_fn *fn;
    const void *options;
} rgm_conv;

/** The input along an edge set towards `receiver`; states may be NULL. */
rgm_conv_input rgm_conv_along_edges(const rgm_graph_value *graph, const char *edge_set,
                                    rgm_tag receiver, rgm_value *receiver_state,
                                    rgm_value *sender_state, rgm_value *edge_state);
/** The input towards the context from a node or edge set, whose items send `state`. */
rgm_conv_input rgm_conv_to_context(const rgm_graph_value *graph, rgm_piece piece, const char *set,
                                   rgm_value *context_state, rgm_value *state);
/**
 * Reduce x [count, width], one row for each of the pattern's entries, at the receivers: "sum",
 * "mean|max_no_inf", ...
 */
rgm_value *rgm_conv_pool(const rgm_conv_input *in, rgm_value *x, const char *reduce_type);
/**
 * act(W [x_e || x_s || x_r] + b) for each entry, [count, units]. The products are computed for each
 * node and then gathered, never for each edge. States that are NULL are left out. Parameters
 * "kernel" (rows in the order edge, sender, receiver) and "bias" in `scope`.
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
    rgm_tag receiver; /* used where the graph is given, not the input */
    rgm_degree_norm normalization;
    bool self_loops; /* each node also receives its own state; degrees count it */
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
 * ends in one node set; h [nodes, in], dense or sparse -> [nodes, units]. By default: self-loops,
 * symmetric normalisation, no activation. Parameters "<name>/kernel", "<name>/bias".
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
    bool self_loops;      /* each node also receives its own state; loops' edge states are 0 */
    bool bias;
    bool share_weights;       /* one kernel and bias for queries and values */
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
 * own state affects only the attention weights. Parameters query/, value/ (kernel, bias),
 * edge/kernel, attention. h [nodes, width] -> [nodes, heads units], or [nodes, units] if heads are
 * averaged.
 */
rgm_value *rgm_gatv2_conv(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                          const char *edge_set, rgm_value *h, const rgm_gatv2_options *options);
rgm_value *rgm_gatv2_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);
/**
 * The senders are the edges themselves (in.edge); queries still come from the receivers. Shape as
 * above.
 */
rgm_value *rgm_gatv2_edge_pool(rgm_scope *scope, const rgm_conv_input *in, const void *options);

/** The factor on the product of a query and a key. */
typedef enum rgm_score_scaling {
    RGM_SCORE_RSQRT_DIM, /* 1 / sqrt(width of a key)                              */
    RGM_SCORE_PLAIN,     /* 1                                                     */
    RGM_SCORE_TRAINED    /* 1 + elu(w), with a trained w for each head, 0 at first */
} rgm_score_scaling;

typedef struct rgm_multi_head_options {
    int64_t heads, units;                /* units: channels of each head                      */
    bool bias;                           /* of queries, keys and values                       */
    bool transform_keys;                 /* else the key is the sender's state, for all heads */
    bool transform_values_after_pooling; /* a kernel for each head on the weighted sum        */
    rgm_score_scaling score_scaling;
    double input_dropout;                /* of all three states                                   */
    double attention_dropout;            /* on the coefficients                                   */
    double slope;                        /* of leaky relus                                        */
    rgm_activation attention_activation; /* of queries, and of transformed keys */
    rgm_activation activation;           /* of each head's result               */
    double l2;                           /* on kernels                          */
    rgm_init kernel;
} rgm_multi_head_options;
#define RGM_MULTI_HEAD_OPTIONS_INIT                                                                \
    {                                                                                              \
        .bias = true, .heads = 1, .transform_keys = true, .slope = 0.2,                            \
        .activation = RGM_ACT_RELU, .kernel = {                                                    \
            RGM_INIT_GLOROT_UNIFORM,                                                               \
            0                                                                                      \
        }                                                                                          \
    }
/**
 * Dot-product attention (Vaswani et al. 2017, section 3.2) over the edges of each receiver, as
 * TF-GNN's MultiHeadAttentionConv: q = W_q h_r, k = W_k h_s + W_ke x_e, v = W_v h_s + W_ve x_e,
 * alpha = softmax(scale q . k), out = act(sum alpha v), [receivers, heads units]. Without edge
 * states it makes no value as wide as a state for an edge. Parameters query/, key/, value/ (kernel,
 * bias), key_edge/, value_edge/ (kernel), scaling. If keys or values are not transformed before
 * pooling, the states must be dense.
 */
rgm_value *rgm_multi_head_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);
/**
 * The senders are the edges themselves (in.edge); queries still come from the receivers. Shape as
 * above.
 */
rgm_value *rgm_multi_head_edge_pool(rgm_scope *scope, const rgm_conv_input *in,
                                    const void *options);

/** The attention weights of a layer along an edge set. */
typedef struct rgm_edge_attention {
    const char *layer; /* its path, "layer_0/nodes/paper/cites"; the compute graph's             */
    const char *edge_set;
    rgm_tag receiver;   /* at this end the weights of a node's edges sum to 1 for each head (for hgt
                           over all edge sets together) */
    bool self_loops;    /* loops of all nodes follow the edges and count in that sum */
    rgm_value *weights; /* [edges | edges + nodes, heads], before dropout                        */
    rgm_value *heard;   /* what the receivers get by them, [receivers, ..] */
} rgm_edge_attention;
/**
 * The attention weights that rgm_gatv2_convolve(), rgm_multi_head_convolve(), their edge pools
 * along edge sets and rgm_hgt_update() have built over a graph value so far, in the order of
 * building. Returns their number and writes the first `capacity`. They are ordinary values: a run
 * that does not fetch them does not compute them for this.
 *
 * @param graph  the root of a compute graph, or one that a model made from it
 */
int64_t rgm_edge_attention_of(rgm_edge_attention *out, int64_t capacity,
                              const rgm_graph_value *graph);

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
    double edge_dropout;         /* of whole messages, as if the edge was not there */
    double l2, l2_bias;
    /**
     * In place of the dense layer: [count, combined] -> [count, any]. The states of each edge are
     * then really concatenated or added.
     */
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
    int64_t units; /* > 0: of a kernel on the sum, one for each relation; 0: the sum itself */
    double l2;
} rgm_gin_conv_options;
/**
 * The sum over edges of h_s (Xu et al. 2019, eq. 4.1) or, with edge states, of relu(h_s + W_e x_e +
 * b) (Hu et al. 2020): [receivers, width], or times W: [receivers, units]. Parameters edge/kernel,
 * edge/bias, kernel.
 */
rgm_value *rgm_gin_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_pna_options {
    int64_t units;  /* of all towers together */
    int64_t towers; /* divides units          */
    double l2;
} rgm_pna_options;
/**
 * Principal neighbourhood aggregation (Corso et al. 2020, eq. 7 and 8): [receivers, units]. Each
 * tower has messages W [edge || h_s || h_r] + b. Their mean, maximum, minimum and standard
 * deviation are scaled by 1, log(d + 1) / delta and delta / log(d + 1), where d is the degree (at
 * least 1). Each scaled part has a kernel of its own. A tower sees its part of the states' columns
 * if the columns can be divided. delta is the mean of log(d + 1) over the receivers of training. It
 * is a state, and so is the number of those receivers. Parameters delta, nodes, tower_<i>/message/,
 * tower_<i>/{identity,amplification,attenuation}/.
 */
rgm_value *rgm_pna_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

typedef struct rgm_pool_options {
    const char *reduce_type; /* NULL: "sum" */
} rgm_pool_options;
/** Pools stored states row by row, no parameters: in.edge if given, else in.sender. */
rgm_value *rgm_pool_convolve(rgm_scope *scope, const rgm_conv_input *in, const void *options);

/* ---- next states ---------------------------------------------------------------------------- */

/** How states are normalised: not at all, over a mini-batch, each state by itself. */
typedef enum rgm_state_norm { RGM_STATE_PLAIN, RGM_STATE_BATCH, RGM_STATE_LAYER } rgm_state_norm;

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
 * norm(act(drop(W [...] + b) + state)). The widths must agree, unless the old state has width 0:
 * then the skip is left out. options: rgm_dense_state_options.
 */
rgm_value *rgm_residual_state(rgm_scope *scope, const rgm_state_inputs *inputs,
                              const void *options);
/** The only input becomes the state, in its shape. No options. */
rgm_value *rgm_single_input_state(rgm_scope *scope, const rgm_state_inputs *inputs,
                                  const void *options);

typedef struct rgm_gin_state_options {
    int64_t units, mlp_layers;
    bool train_epsilon;  /* epsilon starts at 0 */
    double epsilon;      /* where it is not trained */
    rgm_state_norm norm; /* of each layer, before its activation */
    double momentum;     /* of a batch norm's moving statistics  */
    rgm_activation activation;
    double dropout; /* of the new state */
    double l2;
} rgm_gin_state_options;
#define RGM_GIN_STATE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        .mlp_layers = 2, .train_epsilon = true, .momentum = 0.99, .activation = RGM_ACT_RELU       \
    }
/**
 * mlp((1 + epsilon) state + sum of inputs), all [n, width]: [n, units]. The context is not used.
 * Parameters epsilon, dense_<i>/kernel, dense_<i>/bias, norm_<i>/.
 */
rgm_value *rgm_gin_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *options);

typedef struct rgm_albis_state_options {
    int64_t units;
    bool residual;       /* the old state is added before the norm; its width is units, or 0 */
    bool sum;            /* inputs from edge sets are summed, else concatenated */
    double dropout;      /* of inputs from edge sets and the context, and of the new state */
    rgm_state_norm norm; /* of the new state */
    double momentum;     /* of a batch norm's moving statistics                              */
    rgm_activation activation;
    double l2; /* on the kernel */
} rgm_albis_state_options;
#define RGM_ALBIS_STATE_OPTIONS_INIT                                                               \
    {                                                                                              \
        .norm = RGM_STATE_LAYER, .momentum = 0.99, .activation = RGM_ACT_RELU                      \
    }
/**
 * MtAlbis' next state [n, units]: norm(drop(act(W [state || drop(inputs) || drop(context)] + b))
 * + state). Parameters kernel, bias, norm/.
 */
rgm_value *rgm_albis_state(rgm_scope *scope, const rgm_state_inputs *inputs, const void *options);

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

/*
 * Below, a feature name that is NULL means RGM_HIDDEN_STATE; a set without that feature gives no
 * state.
 */

/**
 * New edge states from the old one, the states at both ends ("source", "target") and the context.
 */
typedef struct rgm_edge_set_update {
    const char *edge_set;
    rgm_next_state next_state;
    const char *edge_feature, *node_feature;
    bool source, target;         /* whether the states at that end are inputs */
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
    /** One function for the whole update (then of the fields above only node_set is used). */
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
 * that are not named keep their states. An unknown set is a failure that names the nearest name.
 * Parameters are under "<name>/edges/<set>/", "<name>/nodes/<set>/<edge set>/",
 * "<name>/context/<set>/". An edge set that is read towards its source is called "<edge
 * set>@source".
 */
rgm_graph_value *rgm_graph_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_graph_update_options *update);

typedef enum rgm_receivers { RGM_AT_SOURCE, RGM_AT_TARGET, RGM_AT_BOTH } rgm_receivers;

typedef struct rgm_conv_gnn_options {
    rgm_receivers receivers;   /* which end of the edge sets receives */
    rgm_conv conv;             /* for every edge set ...                                 */
    rgm_next_state next_state; /* ... and node set, unless a function below decides      */
    /** fn NULL in the answer: this edge set is not used towards that end. */
    rgm_conv (*conv_for)(const char *edge_set, rgm_tag receiver, void *payload);
    rgm_next_state (*next_state_for)(const char *node_set, void *payload);
    void *payload;
    const char *edge_feature;     /* NULL: no edge states; sets without it go without       */
    const char *context_feature;  /* the context's input to next states; NULL: none */
    const char *const *node_sets; /* NULL: every set that receives an edge set              */
    int64_t node_set_count;
    rgm_next_state edge_state; /* fn NULL: edges keep theirs; else new ones are computed first, from
                                  old ones, both ends and context_feature, and used in messages */
    rgm_next_state (*edge_state_for)(const char *edge_set, void *payload); /* NULL: edge_state */
    rgm_next_state context_state; /* fn NULL: the context keeps its own; else a new one is computed
                                     from the old one and all node sets' new states, pooled ... */
    const char *context_reduce_type; /* ... by this; NULL: "mean" */
} rgm_conv_gnn_options;
#define RGM_CONV_GNN_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .receivers = RGM_AT_TARGET                                                                 \
    }
/**
 * TF-GNN's ConvGNNBuilder: one graph update over all node sets that receive edges, or the named
 * ones (a named set that receives none gets its next state without edge inputs). Auxiliary sets are
 * skipped.
 */
rgm_graph_value *rgm_conv_gnn(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                              const rgm_conv_gnn_options *options);

/** Callbacks of rgm_map_features(): they set the feature values of a set. */
typedef struct rgm_map_features_options {
    /** The new hidden_state; NULL: the set stays as it is (or a failure happened). */
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

/** Replace the state of the only node set by its convolution along the only edge set. */
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
    bool receiver_state;         /* messages see h_r */
    const char *context_feature; /* in next states; NULL: none */
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

/** Which convolution an edge set has: messages pooled, or one of two kinds of attention. */
typedef enum rgm_albis_attention {
    RGM_ALBIS_PLAIN,
    RGM_ALBIS_MULTI_HEAD,
    RGM_ALBIS_GAT_V2
} rgm_albis_attention;
typedef struct rgm_albis_options {
    int64_t units, message_dim, heads; /* with attention heads divides message_dim */
    rgm_receivers receivers;
    const char *const *node_sets; /* as in rgm_conv_gnn_options */
    int64_t node_set_count;
    const char *edge_feature;    /* in messages and in attention; NULL: none */
    const char *context_feature; /* in next states; NULL: none               */
    rgm_albis_attention attention;
    const char *const *attention_edge_sets; /* NULL: all; the others are as without attention */
    int64_t attention_edge_set_count;
    const char *reduce_type;       /* of edge sets without attention; NULL: "mean" */
    bool receiver_state;           /* messages without attention see h_r           */
    rgm_activation activation;     /* of messages, and of attention's result */
    double edge_dropout;           /* of whole messages, or of attention's coefficients */
    double l2;                     /* on kernels                                        */
    rgm_albis_state_options state; /* its units and l2 are those above */
} rgm_albis_options;
#define RGM_ALBIS_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .heads = 4, .receivers = RGM_AT_TARGET, .receiver_state = true,                            \
        .activation = RGM_ACT_RELU, .state = RGM_ALBIS_STATE_OPTIONS_INIT                          \
    }
/** TF-GNN's "model template Albis": the graph with next states of every node set that receives. */
rgm_graph_value *rgm_albis_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                  const rgm_albis_options *options);

typedef struct rgm_hgt_options {
    int64_t heads, units;    /* units: channels of each head                                  */
    rgm_receivers receivers; /* an edge set with receivers at both ends has kernels for each */
    bool weighted_skip;      /* a trained weight of the new part for each node set, else added */
    bool layer_norm, bias;
    double dropout;            /* of the new part, before the old state is added */
    rgm_activation activation; /* of the weighted sum over edges */
    double l2;                 /* on kernels                                   */
} rgm_hgt_options;
#define RGM_HGT_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .receivers = RGM_AT_TARGET, .weighted_skip = true, .layer_norm = true, .bias = true,       \
        .dropout = 0.2, .activation = RGM_ACT_GELU                                                 \
    }
/**
 * Heterogeneous graph transformer (Hu et al. 2020, eq. 2 to 5, as TF-GNN has it): scores prior /
 * sqrt(d) (Q_r A) . K_s, one softmax over all edges of a receiver, whatever their set, then h' =
 * norm(skip(drop(W act(sum alpha M_s B) + b), h)). Node sets that receive must have states of width
 * heads * units, or of width 0. Parameters
 * "<name>/nodes/<set>/{query,key,message,output}/{kernel,bias}", ".../skip", ".../layer_norm/",
 * "<name>/edges/<edge set>/{attention,message,prior}".
 */
rgm_graph_value *rgm_hgt_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                const rgm_hgt_options *options);

/** How R-GCN keeps the kernels of many relations small. */
typedef enum rgm_decomposition {
    RGM_FULL_KERNELS,
    RGM_BASIS,         /* sums of a few kernels that all relations share: eq. 3  */
    RGM_BLOCK_DIAGONAL /* blocks along the diagonal, for each relation: eq. 4 */
} rgm_decomposition;
typedef struct rgm_rgcn_options {
    int64_t units;
    rgm_decomposition decomposition;
    int64_t bases; /* how many shared kernels, or blocks; blocks divide both widths */
    bool bias;
    rgm_receivers receivers; /* an edge set with receivers at both ends is two relations */
    rgm_activation activation;
    double l2; /* on kernels, bases and blocks */
} rgm_rgcn_options;
#define RGM_RGCN_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .receivers = RGM_AT_TARGET, .bias = true, .activation = RGM_ACT_RELU                       \
    }
/**
 * Schlichtkrull et al. 2018, eq. 2: h' = act(W_0 h + sum over relations of the mean of W_r h_s, +
 * b). Bases need states of one width. Parameters "<name>/nodes/<set>/{self/kernel,bias}",
 * "<name>/edges/<edge set>/{kernel|coefficients|blocks}", "<name>/bases".
 */
rgm_graph_value *rgm_rgcn_update(rgm_scope *scope, const char *name, const rgm_graph_value *graph,
                                 const rgm_rgcn_options *options);

typedef struct rgm_sage_update_options {
    int64_t units;
    int64_t hidden_units; /* > 0: pooling convolution                       */
    bool pooling;         /* the same, with hidden_units = units */
    rgm_receivers receivers;
    const char *const *node_sets;
    int64_t node_set_count;
    const char *reduce_type; /* NULL: "mean", with pooling "max_no_inf"        */
    bool bias, l2_normalize;
    double dropout;            /* of states, and of sender states for each edge  */
    bool concat;               /* combine side by side, else sum                 */
    rgm_activation activation; /* of next states and of pooling's hidden layer */
    bool linear;               /* next states have none; the hidden layer has it still */
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
    bool self;          /* a node receives its own state */
    double l2;
} rgm_sage_gcn_options;
#define RGM_SAGE_GCN_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .self = true, .receiver = RGM_TARGET, .activation = RGM_ACT_RELU                           \
    }
/** Next states [nodes, units] of one node set, from it and all edge sets that lead to it. */
rgm_value *rgm_sage_gcn_node_update(rgm_scope *scope, const rgm_graph_value *graph,
                                    const char *node_set, const void *options);

#ifdef __cplusplus
}
#endif
#endif
