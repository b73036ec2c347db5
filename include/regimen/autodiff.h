/*
 * autodiff: the define-then-run compute graph. A graph is built once from values and ops, with
 * symbolic dims for what varies from batch to batch; gradients are appended as graph; an executor
 * compiles what is needed for some fetched values (fusion passes, one arena planned per binding of
 * the dims) and runs it again and again. *Node* and *edge* mean graph data elsewhere; here there
 * are values and ops.
 *
 * Builders return the value, pass NULL through, and the graph keeps the first failure; so a model
 * reads as algebra, and one RGM_TRY(rgm_cgraph_status(graph)) at the end reports
 * "matmul: inner sizes differ: [32,128] x [64,10] (in scope 'head/dense')".
 */
#ifndef REGIMEN_AUTODIFF_H
#define REGIMEN_AUTODIFF_H

#include <regimen/kernels.h>
#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A compute graph: values and ops in the order in which builders made them, and their first
 * failure. */
typedef struct rgm_cgraph rgm_cgraph;
/** A dense value, or a sparse pattern, of the graph that made it; borrowed from that graph. */
typedef struct rgm_value rgm_value;

/** A size: >= 0 is static; < 0 is a symbol of the graph, bound when the executor runs. */
typedef int64_t rgm_dim;

/** An empty one. RGM_ERR_NOMEM. */
rgm_status rgm_cgraph_create(rgm_cgraph **out);
void rgm_cgraph_release(rgm_cgraph *graph);
/** The first failure of any builder, made this thread's error; RGM_OK if none. Errors: the
 * builders'. */
rgm_status rgm_cgraph_status(rgm_cgraph *graph);
/**
 * Record a failure unless there is one already; always returns NULL, which is a value of any shape
 * to the builders. For those of other layers.
 */
rgm_value *rgm_cgraph_fail(rgm_cgraph *graph, rgm_status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** The symbol of that name ("nodes/paper"), made at first use; name NULL makes a fresh one. */
rgm_dim rgm_cgraph_symbol(rgm_cgraph *graph, const char *name);
/** The name of a symbol made by name; NULL for a fresh or derived one and for a static dim. */
const char *rgm_cgraph_symbol_name(const rgm_cgraph *graph, rgm_dim dim);
/** What is left of `whole` items, floor(rate whole) of which go; rate in [0, 1], to 6 decimals. */
rgm_dim rgm_dim_rest(rgm_cgraph *graph, rgm_dim whole, double rate);
/** A dim as text, "32", "sentences", "sentences*beams", cut off at `size`; gives `buffer`. */
const char *rgm_dim_describe(const rgm_cgraph *graph, rgm_dim dim, char *buffer, size_t size);
/** Text put before op names in messages and traces while set, e.g. a layer's path; may be NULL. */
void rgm_cgraph_set_scope(rgm_cgraph *graph, const char *path);
/** Each op and value as text, a line each. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_cgraph_print(rgm_text *out, const rgm_cgraph *graph);

/* ---- leaves -------------------------------------------------------------------------------- */

/** Fed at run time, of `shape`. Names are unique within a graph; asking again for a name gives the
 * same value.
 */
rgm_value *rgm_input(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                     const rgm_dim *shape);
/** A pattern fed at run time: [rows, columns] with `count` entries (a symbol). */
rgm_value *rgm_input_pattern(rgm_cgraph *graph, const char *name, rgm_dim rows, rgm_dim columns,
                             rgm_dim count);
rgm_value *rgm_constant(rgm_cgraph *graph, rgm_tensor *tensor); /* retained */
rgm_value *rgm_scalar(rgm_cgraph *graph, rgm_dtype dtype, double number);

/** How a parameter starts. */
typedef enum rgm_init_kind {
    RGM_INIT_ZEROS,
    RGM_INIT_ONES,
    /* limit sqrt(6 / (fan_in + fan_out)); fans: the last two dims, times the dims before (the taps
       of a convolution) */
    RGM_INIT_GLOROT_UNIFORM,
    RGM_INIT_GLOROT_NORMAL,
    RGM_INIT_HE_NORMAL,
    RGM_INIT_UNIFORM, /* [-scale, scale) */
    RGM_INIT_NORMAL   /* standard deviation `scale` */
} rgm_init_kind;
typedef struct rgm_init {
    rgm_init_kind kind;
    double scale;
} rgm_init;

/**
 * A trainable tensor with a static shape. The graph records it; values live in rgm_parameters.
 * Asking again for a name gives the same value (shared weights) if shape and dtype agree, else a
 * failure.
 */
rgm_value *rgm_parameter(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                         const int64_t *shape, rgm_init init);
int64_t rgm_cgraph_parameter_count(const rgm_cgraph *graph);
rgm_value *rgm_cgraph_parameter(const rgm_cgraph *graph, int64_t i);
/** Values built so far, or before rgm_cgraph_gradients() was first called; each behind its inputs.
 */
int64_t rgm_cgraph_forward_count(const rgm_cgraph *graph);
/** One of them, of its own shape; NULL if there is no such number. */
rgm_value *rgm_cgraph_value(const rgm_cgraph *graph, int64_t number);

/**
 * A parameter of `shape` that no gradient moves (the moving statistics of a batch norm): it counts
 * among the parameters, is saved and restored with them, and its gradient is zeros. What moves it
 * is an update: after each training run it takes the value that `next` had in that run.
 */
rgm_value *rgm_state(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                     const int64_t *shape, rgm_init init);
/**
 * Record that `state` takes `next`, of its dtype and shape, after a training run. Another update of
 * the same state takes the place of the first: a layer that is called twice builds its `next` on
 * rgm_cgraph_state_next(), which is the state itself before the first update.
 */
void rgm_cgraph_update(rgm_cgraph *graph, rgm_value *state, rgm_value *next);
rgm_value *rgm_cgraph_state_next(rgm_cgraph *graph, rgm_value *state);
int64_t rgm_cgraph_update_count(const rgm_cgraph *graph);
rgm_value *rgm_cgraph_update_state(const rgm_cgraph *graph, int64_t i);
rgm_value *rgm_cgraph_update_next(const rgm_cgraph *graph, int64_t i);

/** A value that is no output of a model, but worth to be asked for: what a layer attends to. */
typedef struct rgm_note {
    const char *what;      /* the kind of thing, "attention": a text that stays */
    const char *where;     /* the path of the layer; the graph's                */
    rgm_value *value, *of; /* `of`: what it is about, a pattern             */
    rgm_value *into;       /* what the layer makes with it                  */
} rgm_note;
/** Remember a value; it costs nothing until it is fetched. One that is NULL, behind a failure, is
 * passed over. */
void rgm_cgraph_note(rgm_cgraph *graph, const rgm_note *note);
int64_t rgm_cgraph_note_count(const rgm_cgraph *graph);
const rgm_note *rgm_cgraph_note_at(const rgm_cgraph *graph, int64_t i); /* in the order of notes */

/** The values of a graph's parameters, by name, in the graph's order. */
typedef struct rgm_parameters rgm_parameters;
/**
 * Initialized from `seed`: parameter p draws from the stream named after p, so adding one changes
 * no other.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_parameters_create(rgm_parameters **out, const rgm_cgraph *graph, uint64_t seed);
/** The same parameters with values of their own. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_parameters_copy(rgm_parameters **out, const rgm_parameters *parameters);
void rgm_parameters_release(rgm_parameters *parameters);
int64_t rgm_parameters_count(const rgm_parameters *parameters);
const char *rgm_parameters_name(const rgm_parameters *parameters, int64_t i);
/** Parameter i, and the one of a name, each of the shape that it was made with. */
rgm_tensor *rgm_parameters_tensor(const rgm_parameters *parameters, int64_t i);      /* borrowed */
rgm_tensor *const *rgm_parameters_tensors(const rgm_parameters *parameters);         /* [count] */
rgm_tensor *rgm_parameters_find(const rgm_parameters *parameters, const char *name); /* or NULL */
int64_t rgm_parameters_total(const rgm_parameters *parameters);                      /* elements */
bool rgm_parameters_trainable(const rgm_parameters *parameters, int64_t i); /* false: a state */
/**
 * Copy what a run fetched for rgm_cgraph_update_next(graph, 0..), in that order, into the states;
 * then rgm_parameters_touch(). A training step fetches them with its gradients and calls this after
 * the optimizer's update. Errors: RGM_ERR_ARG, RGM_ERR_SHAPE (parameters of another graph); nothing
 * is then changed.
 */
rgm_status rgm_parameters_update(rgm_parameters *parameters, const rgm_cgraph *graph,
                                 rgm_tensor *const *next);
/** Copy `values`, each like its parameter (NULL: that one stays), then rgm_parameters_touch(). */
void rgm_parameters_set(rgm_parameters *parameters, rgm_tensor *const *values);
/** Tell executors that the tensors changed outside a run (packed copies are made again). */
void rgm_parameters_touch(rgm_parameters *parameters);

/* ---- ops: element-wise, broadcasting as numpy does ------------------------------------------- */

/** Of a and b, whose shapes broadcast; one dtype. */
rgm_value *rgm_add(rgm_value *a, rgm_value *b);
rgm_value *rgm_sub(rgm_value *a, rgm_value *b);
rgm_value *rgm_mul(rgm_value *a, rgm_value *b);
rgm_value *rgm_div(rgm_value *a, rgm_value *b);
rgm_value *rgm_maximum(rgm_value *a, rgm_value *b);
rgm_value *rgm_minimum(rgm_value *a, rgm_value *b);
rgm_value *rgm_greater(rgm_value *a, rgm_value *b); /* 1 or 0 in a's dtype; no gradient */
rgm_value *rgm_equal(rgm_value *a, rgm_value *b);   /* as rgm_greater; any equal dtypes -> f32 */
/** Of each element of x, same shape and dtype: x factor, x + term, -x, |x|, ... */
rgm_value *rgm_scale(rgm_value *x, double factor);
rgm_value *rgm_shift(rgm_value *x, double term);
rgm_value *rgm_neg(rgm_value *x);
rgm_value *rgm_abs(rgm_value *x);
rgm_value *rgm_square(rgm_value *x);
rgm_value *rgm_sqrt(rgm_value *x);
rgm_value *rgm_rsqrt(rgm_value *x);
rgm_value *rgm_reciprocal(rgm_value *x);
rgm_value *rgm_exp(rgm_value *x);
rgm_value *rgm_log(rgm_value *x);
rgm_value *rgm_softplus(rgm_value *x);
rgm_value *rgm_floor_at(rgm_value *x, double lowest); /* max(x, lowest); lowest of NaN */
rgm_value *rgm_relu(rgm_value *x);
rgm_value *rgm_leaky_relu(rgm_value *x, double slope);
rgm_value *rgm_elu(rgm_value *x);
rgm_value *rgm_sigmoid(rgm_value *x);
rgm_value *rgm_tanh(rgm_value *x);
rgm_value *rgm_gelu(rgm_value *x);
/** Element-wise, by enum; RGM_ACT_NONE gives x itself. `slope` is that of leaky_relu. */
rgm_value *rgm_activate(rgm_value *x, rgm_activation activation, double slope);
/** Of rgm_activation, by its number; ended by NULL. */
extern const char *const rgm_activation_names[];
/** By its config name ("relu", "linear", ...); NULL: none. RGM_ERR_NOT_FOUND says the nearest name.
 */
rgm_status rgm_activation_find(rgm_activation *out, const char *name);
/** Each element in another dtype: f32, f64, i32, i64, bool. A gradient goes from float to float. */
rgm_value *rgm_cast(rgm_value *x, rgm_dtype dtype);
/** x, same shape; passes no gradient back. */
rgm_value *rgm_stop_gradient(rgm_value *x);
/**
 * `a` in executors made with .training, `b` in others; dtypes and shapes agree. Resolved when an
 * executor compiles: the other branch is not computed. The gradient is that of training: all of it
 * goes to `a`.
 */
rgm_value *rgm_when_training(rgm_value *a, rgm_value *b);

/**
 * Dropout on training runs, x itself otherwise (Srivastava et al. 2014; survivors / (1 - rate)).
 * `stream` names its random stream; NULL takes a name from the scope and op number. rate in [0, 1).
 */
rgm_value *rgm_dropout_op(rgm_value *x, double rate, const char *stream);
/** Whole rows (ItemDropout): one draw per item of the first axis, same shape. */
rgm_value *rgm_item_dropout_op(rgm_value *x, double rate, const char *stream);

/* ---- ops: shape ------------------------------------------------------------------------------ */

/** The same elements in another shape; one dim may be RGM_INFER. */
rgm_value *rgm_reshape(rgm_value *x, int rank, const rgm_dim *shape);
#define RGM_INFER INT64_MIN
/** Axis i of the result is axis axes[i] of x. */
rgm_value *rgm_permute(rgm_value *x, const int *axes);
/** One behind the other along `axis`; all other axes agree. count >= 1. */
rgm_value *rgm_concat(rgm_value *const *x, int64_t count, int axis);
/** Rows [begin, end) of `axis`; the axis' size must be static. */
rgm_value *rgm_slice(rgm_value *x, int axis, int64_t begin, int64_t end);
/**
 * The first `size` of an axis of static size, as many as another value's axis has: the positions of
 * a batch's tokens out of all of them. A run with a larger size than there is fails with
 * RGM_ERR_SHAPE.
 */
rgm_value *rgm_slice_to(rgm_value *x, int axis, rgm_dim size);

/* ---- ops: products, reductions, normalisation ------------------------------------------------ */

/** [.., m, k] x [.., k, n]; rank 2, or equal batch dims in front. */
rgm_value *rgm_matmul(rgm_value *a, rgm_value *b);
rgm_value *rgm_matmul_t(rgm_value *a, rgm_value *b, bool trans_a, bool trans_b);
/** Over one axis (negative from the end); the axis is dropped. */
rgm_value *rgm_reduce(rgm_value *x, int axis, rgm_reduction reduction);
/** The names that rgm_reduction_find() knows, for messages. */
#define RGM_REDUCTION_NAMES "sum, mean, max, min, prod, max_no_inf, min_no_inf"
/**
 * The reduction whose config name `text` begins with, up to a '|' or its end: "max_no_inf" of
 * "max_no_inf|mean".
 *
 * @param length  [out] bytes up to there, also of a name that is unknown: the answer is then false
 */
bool rgm_reduction_find(rgm_reduction *out, size_t *length, const char *text);
/** Over everything, to a scalar. */
rgm_value *rgm_sum(rgm_value *x);
rgm_value *rgm_mean(rgm_value *x);
rgm_value *rgm_argmax(rgm_value *x);      /* last axis -> i64; ties to the lowest; no gradient */
rgm_value *rgm_softmax(rgm_value *x);     /* last axis */
rgm_value *rgm_log_softmax(rgm_value *x); /* last axis */
/** [rows] losses from logits [rows, classes] and labels [rows] i32/i64. Labels outside 0..classes-1
 * are RGM_ERR_DATA at run time. */
rgm_value *rgm_softmax_cross_entropy(rgm_value *logits, rgm_value *labels);
/** How the target of a cross-entropy is spread. */
typedef struct rgm_cross_entropy_options {
    int64_t classes;  /* the first so many columns are the classes, others do not count; 0: all  */
    double smoothing; /* in [0, 1): the label's target is 1 - smoothing, each other class' is
                         smoothing / (classes - 1) */
} rgm_cross_entropy_options;
/** The same [rows] with smoothed labels, which keeps no other value of the size of the logits. */
rgm_value *rgm_softmax_cross_entropy_with(rgm_value *logits, rgm_value *labels,
                                          const rgm_cross_entropy_options *options);
/** Element-wise max(z,0) - z y + log(1+exp(-|z|)). */
rgm_value *rgm_sigmoid_cross_entropy(rgm_value *logits, rgm_value *targets);
/** x [.., width], each row less its mean over its standard deviation, times gamma [width] plus
 * beta. */
rgm_value *rgm_layer_norm_op(rgm_value *x, rgm_value *gamma, rgm_value *beta, double epsilon);
/**
 * Batch norm with the moments of x itself (Ioffe & Szegedy 2015): x [.., width], each column less
 * its mean over its standard deviation, sqrt(variance + epsilon), times gamma [width] plus beta.
 * The variance is the biased one. Gradients go through the moments. The layer with moving averages
 * is rgm_batch_norm().
 */
rgm_value *rgm_batch_norm_op(rgm_value *x, rgm_value *gamma, rgm_value *beta, double epsilon);
/** [2, width], mean and biased variance over all axes of x [.., width] but the last, as
 * rgm_batch_norm_op() takes them; 0 of no rows. It passes no gradient back. */
rgm_value *rgm_batch_moments(rgm_value *x);
/** [n, d] rows divided by their Euclidean length (0 stays 0). */
rgm_value *rgm_l2_normalize(rgm_value *x);

/** How rgm_attention() attends. */
typedef struct rgm_attention_options {
    int64_t heads;
    double scale;   /* of the scores; 0: 1 / sqrt(width / heads)                                  */
    bool causal;    /* query i sees keys up to i + keys - queries                                 */
    rgm_value *key; /* i32/i64 [batch, keys], 0: nobody sees that key (ids with 0 as padding);
                       NULL: all are seen                                                         */
    double dropout; /* of the probabilities, on training runs                                     */
    const char *stream; /* of the dropout; NULL takes a name from the scope and op number */
} rgm_attention_options;
/**
 * Scaled dot-product attention (Vaswani et al. 2017, section 3.2) of heads that lie side by side:
 * query [batch, queries, width], key and value [batch, keys, width] -> [batch, queries, width].
 * Neither scores nor probabilities are stored; the gradient computes them again. A query that sees
 * nothing gets 0.
 */
rgm_value *rgm_attention(rgm_value *q, rgm_value *k, rgm_value *v,
                         const rgm_attention_options *options);
/**
 * The same for tokens that are written one by one, without a gradient: keys and values stay in the
 * rows of k and v [rows, width] where they were put, and index [batch, keys] i64 says which rows a
 * batch item sees; negative: none. Queries [batch, queries, width]; newest_k and newest_v [batch,
 * width] stand behind those, both NULL: nothing does. An index beyond the rows is RGM_ERR_DATA when
 * it runs.
 */
rgm_value *rgm_attention_rows(rgm_value *q, rgm_value *k, rgm_value *v, rgm_value *index,
                              rgm_value *newest_k, rgm_value *newest_v, int64_t heads);

/* ---- ops: images [n, height, width, channels]; all sizes but n are static
 * ------------------------
 */

typedef enum rgm_image_padding {
    RGM_PAD_VALID, /* windows that lie inside: (in - window) / stride + 1 places */
    RGM_PAD_SAME   /* ceil(in / stride) places, zeros around, the odd one behind (TensorFlow) */
} rgm_image_padding;

/** Of height and width; 0 is 1. */
typedef struct rgm_conv2d_options {
    int64_t stride[2], dilation[2];
    rgm_image_padding padding;
} rgm_conv2d_options;
/** x [n, height, width, in] with kernel w [height, width, in, out] -> [n, .., .., out]: the
 * cross-correlation that networks call convolution. NULL options: stride 1, valid. */
rgm_value *rgm_conv2d(rgm_value *x, rgm_value *w, const rgm_conv2d_options *options);

typedef struct rgm_pool2d_options {
    int64_t size[2], stride[2]; /* stride 0: the window's size */
    rgm_image_padding padding;
} rgm_pool2d_options;
/** [n, h, w, c] -> [n, .., .., c]: the largest number, and the mean, of each window; padding counts
 * for neither. The gradient of the largest goes to the first one. NULL options: 2 x 2, valid. */
rgm_value *rgm_max_pool2d(rgm_value *x, const rgm_pool2d_options *options);
rgm_value *rgm_avg_pool2d(rgm_value *x, const rgm_pool2d_options *options);
/** Mean over each image, [n, channels]. */
rgm_value *rgm_global_avg_pool2d(rgm_value *x);

/* ---- ops: sparse. P is a pattern [rows, columns] with `count` entries ------------------------ */

/** [rows, columns] -> [columns, rows], the same entries in the same order. */
rgm_value *rgm_transpose_pattern(rgm_value *p);
/** P with (i, i) entries appended for every row (rows == columns), after the old entries. */
rgm_value *rgm_add_self_loops(rgm_value *p);
/** Entries per row, [rows], in `dtype`. Per column: of the transposed pattern. */
rgm_value *rgm_degree(rgm_value *p, rgm_dtype dtype);
/** Options of rgm_spmm(); any may be NULL. */
typedef struct rgm_spmm_options {
    rgm_value *weight;       /* [count] or [count, heads] */
    rgm_value *row_scale;    /* [rows]                    */
    rgm_value *column_scale; /* [columns]                 */
    bool mean;               /* also divide by the number of entries of the row (0 stays 0) */
    bool self_loop;          /* also add x of the row itself (counted by mean)              */
} rgm_spmm_options;
/** y [rows, channels] = row_scale * sum_e weight_e column_scale x[column(e)]; x [columns,
 * channels]. NULL options: plain sum. */
rgm_value *rgm_spmm(rgm_value *p, rgm_value *x, const rgm_spmm_options *options);
/** x of the row (or column) of each entry: [rows | columns, ...] -> [count, ...]. */
rgm_value *rgm_broadcast_rows(rgm_value *p, rgm_value *x);
rgm_value *rgm_broadcast_columns(rgm_value *p, rgm_value *x);
/** [count, ...] -> [rows, ...], each row reducing its entries. */
rgm_value *rgm_pool_rows(rgm_value *p, rgm_value *x, rgm_reduction reduction);
/** Softmax of x [count, ...] within each row, element-wise over the other axes. */
rgm_value *rgm_softmax_rows(rgm_value *p, rgm_value *x);
/** [count, heads]: see rgm_sddmm_args; a [rows, heads, depth], b [columns, heads, depth]. */
rgm_value *rgm_sddmm(rgm_value *p, rgm_value *a, rgm_value *b);
/** GAT v2 logits [count, heads] from q [rows, heads, depth], v [columns, heads, depth], a [heads,
 * depth]. */
rgm_value *rgm_gatv2_score(rgm_value *p, rgm_value *q, rgm_value *v, rgm_value *a, double slope);
/** x[index]: [n, ...] and index [m] i32/i64 -> [m, ...]. An index out of range is RGM_ERR_DATA at
 * run time. */
rgm_value *rgm_gather(rgm_value *x, rgm_value *index);

/* ---- looking at a value ---------------------------------------------------------------------- */

/** What a value is and where it belongs; what is given is borrowed from its graph. */
rgm_cgraph *rgm_value_graph(const rgm_value *value);
rgm_dtype rgm_value_dtype(const rgm_value *value);
int rgm_value_rank(const rgm_value *value);
const rgm_dim *rgm_value_shape(const rgm_value *value);  /* a pattern: rows, columns, count */
rgm_dim rgm_value_dim(const rgm_value *value, int axis); /* negative from the end */
bool rgm_value_is_pattern(const rgm_value *value);
/** Name of an input or parameter; NULL otherwise until rgm_value_set_name(). */
const char *rgm_value_name(const rgm_value *value);
bool rgm_value_is_input(const rgm_value *value);
bool rgm_value_is_parameter(const rgm_value *value); /* trainable or state */
bool rgm_value_is_trainable(const rgm_value *value); /* a parameter that is no state */
/** A constant's tensor, of the value's shape, borrowed; NULL for all else. */
rgm_tensor *rgm_value_constant(const rgm_value *value);
/** The scope in which it was built; NULL: none. */
const char *rgm_value_scope(const rgm_value *value);
int64_t rgm_value_number(const rgm_value *value); /* see rgm_cgraph_value() */
void rgm_value_set_name(rgm_value *value, const char *name);
/** "f32[nodes/paper,16]"; returns buffer. */
const char *rgm_value_describe(const rgm_value *value, char *buffer, size_t size);

/* ---- ops as rows: what exporters read and what users extend ---------------------------------- */

/** What an op carries beside its inputs. Meaning by op; text is e.g. a dropout's stream. */
typedef struct rgm_attributes {
    double number[4];
    int64_t integer[8];
    const char *text;
    rgm_tensor *tensor;
} rgm_attributes;

/** A value at run time. */
typedef struct rgm_view {
    rgm_dtype dtype;
    int rank;
    int64_t shape[RGM_MAX_RANK];
    void *data;           /* dense values                                             */
    rgm_pattern *pattern; /* patterns                                                 */
    const rgm_csr *csr;   /* patterns: the direction in which this value sees it: rows */
    const rgm_csr *csr_t; /* the other direction                                       */
} rgm_view;

/** What an op's forward function gets. */
typedef struct rgm_op_run {
    const rgm_view *in;
    int inputs;
    rgm_view *out; /* dense: data is planned memory, not zeroed */
    const rgm_attributes *attributes;
    const rgm_kernels *kernels; /* for out->dtype */
    uint64_t seed, step;        /* random streams */
    bool training;
    void *scratch;          /* as many bytes as .scratch said */
    const int64_t *symbols; /* sizes bound to the graph's symbols: see rgm_op_run_dim() */
} rgm_op_run;

/** The size of a dim (an attribute, say) in this run. */
int64_t rgm_op_run_dim(const rgm_op_run *run, rgm_dim dim);

/** What an op's infer function fills in, from the inputs' dtypes and shapes. */
typedef struct rgm_op_shape {
    bool is_pattern;
    rgm_dtype dtype;
    int rank;
    rgm_dim shape[RGM_MAX_RANK];
} rgm_op_shape;

/** An op. */
typedef struct rgm_op_type {
    const char *name; /* also its name in traces, profiles and tests                       */
    int arity;        /* -1: any number                                                     */
    /** Shape and dtype while the graph is built; on a mistake RGM_FAIL with sizes. */
    rgm_status (*infer)(rgm_op_shape *out, rgm_value *const *in, int inputs,
                        const rgm_attributes *attributes);
    rgm_status (*forward)(rgm_op_run *run);
    /**
     * Given the gradient dy of the op's value y, build the gradient of each input into dx[i] (NULL:
     * none; only where wanted[i]). NULL for ops without a gradient, and then `no_gradient` says
     * why.
     */
    rgm_status (*backward)(rgm_value **dx, rgm_value *y, rgm_value *dy, const bool *wanted);
    const char *no_gradient;
    /** Scratch bytes for one run with these shapes; NULL: none. */
    size_t (*scratch)(const rgm_view *in, int inputs, const rgm_view *out,
                      const rgm_attributes *attributes);
    bool in_place;    /* out may share memory with in[0] (in[1] too if element-wise)           */
    bool random;      /* draws from seed and step                                              */
    bool elementwise; /* element i of out depends on element i of the broadcast inputs alone:
                         attribute integer[0] is the rgm_map_code, number[0] its constant      */
    /** Whether y is a view of its input's memory: forward then sets out->data (or pattern) alone.
     */
    bool (*is_view)(const rgm_value *y);
} rgm_op_type;

/**
 * A new op value, its shape what type->infer says; text and tensor of attributes are copied /
 * retained. NULL inputs pass through.
 */
rgm_value *rgm_op(rgm_cgraph *graph, const rgm_op_type *type, rgm_value *const *in, int inputs,
                  const rgm_attributes *attributes);
/** The op that made a value, its inputs (each of its own shape) and attributes, borrowed. */
const rgm_op_type *rgm_value_op(const rgm_value *value); /* NULL for leaves */
int rgm_value_input_count(const rgm_value *value);
rgm_value *rgm_value_input(const rgm_value *value, int i);
const rgm_attributes *rgm_value_attributes(const rgm_value *value);
/** Every built-in op row, for tests that walk the table. */
const rgm_op_type *const *rgm_op_types(int64_t *count);

/* ---- values of fewer items ---------------------------------------------------------------------
 */

/** How much of a fed pattern, or of some items, narrowed values read; see rgm_cgraph_narrow(). */
typedef enum rgm_narrow_kind {
    RGM_NARROW_SEEDS,  /* a seed pattern with the items of level 0 as columns                    */
    RGM_NARROW_LINKS,  /* [items up to level, items up to level + 1]: the entries of a link that
                          end at the rows                                                        */
    RGM_NARROW_ITEMS,  /* one entry a row: [items up to level, all items]                        */
    RGM_NARROW_ENTRIES /* one entry a row: [entries as in RGM_NARROW_LINKS, all entries]         */
} rgm_narrow_kind;
/** A pattern that narrowed values are to be fed with. */
typedef struct rgm_narrow_part {
    rgm_narrow_kind kind;
    rgm_value *input;   /* what is fed                                                       */
    rgm_value *pattern; /* the seed or link that it is a part of; ITEMS: NULL                */
    rgm_dim items;      /* ITEMS: which                                                      */
    bool transposed;    /* the link is read so: its columns are the rows                     */
    bool loops;         /* with an entry from each row's item to itself; in ENTRIES the loop of
                           item i is number count + i                                        */
    int level;
    bool whole_columns; /* LINKS: all items, in their own order, are columns                 */
} rgm_narrow_part;
/** Patterns, inputs of the graph, that say which items need which. */
typedef struct rgm_narrow_options {
    rgm_value *const *links; /* [link_count] along whose entries items hear of each other    */
    int64_t link_count;
    rgm_value *const *seeds; /* [seed_count] one entry a row, whose columns are items picked */
    int64_t seed_count;
} rgm_narrow_options;
/**
 * The same values, computed from no more items than they need: those of level 0, which seeds pick,
 * and of level k + 1, from which the links in LINKS parts lead to one of level k. Where an op mixes
 * items in a way that is not known here (a sum over all of them, a user's own op) it takes
 * everything, as before. The graph gets new ops; the old ones stay. To be called before gradients.
 *
 * What has to be fed is in `parts`. Items are ordered by level, and within one by number; entries
 * by the level of the row where they end, then by number, the loops behind. Sums over entries have
 * the order that they had. Dropout draws other masks.
 *
 * @param narrowed  [out] [count] `values` themselves where nothing is gained
 * @param parts     [out, owned] [*part_count], for rgm_free()
 *
 * Errors: RGM_ERR_ARG (a value of no or another graph), those of the graph, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_narrow(rgm_value **narrowed, rgm_narrow_part **parts, int64_t *part_count,
                             rgm_value *const *values, int64_t count,
                             const rgm_narrow_options *options);

/* ---- values of weighed messages ----------------------------------------------------------------
 */

/** What the entries of a fed pattern bring is multiplied by. */
typedef struct rgm_entry_weight {
    rgm_value *pattern; /* rgm_input_pattern() */
    rgm_value *weight;  /* [count], f32 or f64 */
} rgm_entry_weight;
/**
 * Build values again with a weight at each message: of an op that sums or reduces over the entries
 * of a pattern, turned or with loops added as it may be, what entry e brings is multiplied by
 * weight[e] first. Loops weigh 1; degrees and softmaxes stay as they are, so that a weight of 1 all
 * over changes nothing and one of 0 takes a message away from a model that goes on as trained (the
 * mask of Ying et al. 2019). Gradients by the weight say what a message is worth. Values are those
 * of runs without training: branches for training are left out. The old ops stay.
 *
 * @param weighed  [out] [count] `values` themselves where no message reaches them
 *
 * Errors: RGM_ERR_ARG (a value of no or another graph), RGM_ERR_SHAPE (a weight that does not fit),
 * those of the graph, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_weigh(rgm_value **weighed, rgm_value *const *values, int64_t count,
                            const rgm_entry_weight *weights, int64_t weight_count);

/* ---- values by rounds --------------------------------------------------------------------------
 */

/** Where a round reads the entries of a link: bits of rgm_round_value.ways. */
enum { RGM_ROUND_BY_ROWS = 1, RGM_ROUND_BY_COLUMNS = 2 };
/** A value that is made for all items before a later round begins. */
typedef struct rgm_round_value {
    rgm_value *value;    /* [items, ...]                                                      */
    int64_t round;       /* it is made of inputs and of values of earlier rounds alone        */
    const uint8_t *ways; /* [link_count] what it hears of others: entries that end at the rows of
                            that link, at its columns; all 0: each item is made of itself     */
} rgm_round_value;
typedef struct rgm_rounds {
    rgm_round_value *values; /* [count] in the order in which they can be made; the last is the one
                                that was asked for                                            */
    int64_t count, round_count;
    uint8_t *ways;
} rgm_rounds;
void rgm_rounds_clear(rgm_rounds *rounds);
/**
 * Cut what an inference of `value` [items, ...] computes where items hear of each other: what is
 * read along a link and what was gathered along it are values of rounds, so that each round can be
 * computed for some items at a time, from the states of the rounds before of those items and of
 * their neighbours. Of rgm_when_training() the second branch is looked at.
 *
 * @param links  [in] [link_count] patterns, inputs of the graph
 *
 * Errors: RGM_ERR_UNSUPPORTED (an op makes an item out of all items, or normalises entries at
 * another end than they are gathered at; it is named), RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_rounds(rgm_rounds *out, rgm_value *value, rgm_value *const *links,
                             int64_t link_count);
/**
 * values [count] built again with to[k] in the place of from[k] [replaced], as an inference
 * computes them: of rgm_when_training() the second branch. What reads none of from[] stays.
 *
 * Errors: RGM_ERR_ARG (a value of no or another graph), those of the graph, RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_replace(rgm_value **out, rgm_value *const *values, int64_t count,
                              rgm_value *const *from, rgm_value *const *to, int64_t replaced);

/* ---- gradient and execution ------------------------------------------------------------------ */

/**
 * gradients[i] = d loss / d wrt[i] as values appended to the graph (zeros where loss does not
 * depend on it, and for a state). loss is a scalar.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_UNSUPPORTED (through a gradient that an op of its own
 * computes: there are no second derivatives of it), RGM_ERR_NOMEM.
 */
rgm_status rgm_cgraph_gradients(rgm_value **gradients, rgm_value *loss, rgm_value *const *wrt,
                                int64_t count);

typedef struct rgm_executor rgm_executor;
typedef struct rgm_executor_options {
    bool training;  /* dropout on                                                                */
    bool eager;     /* no fusion, op by op, every value kept; stops at the first NaN or infinity */
    bool no_fusion; /* tests: plan without the passes                                            */
    bool bf16;      /* f32 products of matrices, in convolutions and gradients too, round to bf16
                       and sum in f32, where the CPU is faster so (rgm_kernels_for(RGM_BF16)); all
                       else, parameters first of all, stays f32                                  */
    bool inference; /* many runs with the same parameters: those that products read are packed as
                       the kernel likes them, in the first run and after rgm_parameters_touch();
                       a row of such a product has the same bits whatever rows are beside it.
                       Takes once more the memory of those weights                               */
    int64_t plans;  /* bindings of the sizes that are kept planned at a time; 0: 32              */
} rgm_executor_options;

/** A fed input: tensor or pattern. A tensor must not change after it was fed (feed another): what
 * depends on unchanged feeds alone is not computed again. One whose readers all depend on
 * parameters, or on a feed that is another each time, may: it is read anew in every run. */
typedef struct rgm_feed {
    rgm_value *input;
    rgm_tensor *tensor;
    rgm_pattern *pattern;
} rgm_feed;

/**
 * Compile what the `count` fetched values need. The graph must outlive the executor.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_executor_create(rgm_executor **out, rgm_cgraph *graph, rgm_value *const *fetches,
                               int64_t count, const rgm_executor_options *options);
void rgm_executor_release(rgm_executor *executor);
/**
 * One run. Every input that the fetches need must be fed; sizes of one symbol must agree (the error
 * names symbol, both sizes and both inputs).
 *
 * @param fetched  [out] [count] borrowed tensors, valid until the next run or release
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_NUMERIC, RGM_ERR_NOMEM.
 */
rgm_status rgm_executor_run(rgm_executor *executor, rgm_tensor **fetched,
                            const rgm_parameters *parameters, const rgm_feed *feeds,
                            int64_t feed_count, uint64_t seed, uint64_t step);
/** Bytes of the arena at its largest, and of values kept between runs (constants hoisted out). */
int64_t rgm_executor_arena_bytes(const rgm_executor *executor);
int64_t rgm_executor_hoisted_bytes(const rgm_executor *executor);
/** Ops that one run takes after the passes, views not counted. */
int64_t rgm_executor_op_count(const rgm_executor *executor);
/**
 * Each planned op: name, inputs, shape, offset; with times in ms once profiling was on.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_executor_print(rgm_text *out, const rgm_executor *executor);
void rgm_executor_profile(rgm_executor *executor, bool on);

/** An op that was run. */
typedef struct rgm_op_event {
    const char *op;    /* "matmul"                                                            */
    const char *scope; /* the layer that it or what it is the gradient of was built in; NULL  */
    bool backward;     /* it is there for what rgm_cgraph_gradients() has built               */
    int64_t flops;     /* of this run's sizes: see rgm_executor_flops()                       */
    int64_t bytes; /* of its inputs and its output, each once; of an op that picks (gather, slice)
                      twice what it gives; 0 of a view                                    */
    double begin, end; /* seconds of rgm_now(); 0: not timed                                  */
} rgm_op_event;
typedef void rgm_op_observer(const rgm_op_event *event, void *payload);
/** Call `observer` behind each op of every run from now on, in the running thread; NULL: no more.
 */
void rgm_executor_observe(rgm_executor *executor, rgm_op_observer *observer, void *payload);
/** The ops of the last run, untimed; none before the first. */
void rgm_executor_visit(rgm_executor *executor, rgm_op_observer *observer, void *payload);
/**
 * Floating-point operations of the last run: 2 m n k of a product (convolutions as the product that
 * they are), 2 entries channels of a sparse one, 4 and in the gradient 10 queries keys width of
 * attention, masked pairs too, 4 an edge and channel of GAT v2's logits and each of their
 * gradients; of every other op one an element that it writes, or reads if that is more; none of
 * what moves data or finds a pattern, nor of what is kept from an earlier run.
 */
int64_t rgm_executor_flops(rgm_executor *executor);

#ifdef __cplusplus
}
#endif
#endif
