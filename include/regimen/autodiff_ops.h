/*
 * autodiff, the ops: a function each, from values to a value of the same graph.
 */
#ifndef REGIMEN_AUTODIFF_OPS_H
#define REGIMEN_AUTODIFF_OPS_H

#include <regimen/autodiff_graph.h>
#include <regimen/kernels.h>

#ifdef __cplusplus
extern "C" {
#endif

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
rgm_value *rgm_gelu(rgm_value *x);      /* exact, with erf                       */
rgm_value *rgm_gelu_tanh(rgm_value *x); /* its approximation by tanh: that of GPT-2 */
rgm_value *rgm_silu(rgm_value *x);      /* x sigmoid(x)                          */
/** Element-wise, by enum; RGM_ACT_NONE gives x itself. `slope` is that of leaky_relu. */
rgm_value *rgm_activate(rgm_value *x, rgm_activation activation, double slope);
/** Of rgm_activation, by its number; ended by NULL. */
extern const char *const rgm_activation_names[];
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
/** x [.., width], each row over the root of its mean square (plus epsilon), times gamma [width]:
 * RMSNorm (Zhang & Sennrich 2019). */
rgm_value *rgm_rms_norm_op(rgm_value *x, rgm_value *gamma, double epsilon);
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
/** A number []: `some` where a batch's x has rows, which are all its axes but the last, `none`
 * where one of these is of size 0. Nothing of x is read, and no gradient is passed back. */
rgm_value *rgm_by_rows(rgm_value *x, double some, double none);
/** [n, d] rows divided by their Euclidean length (0 stays 0). */
rgm_value *rgm_l2_normalize(rgm_value *x);

/**
 * Rotary positions (Su et al. 2021): the heads of rows x [n, heads depth] turned by the angles of
 * their positions, number i of a head together with number i + depth / 2. table [places, depth] has
 * cosines [depth / 2] and then sines of each place, and gets no gradient; positions i64 [m] are the
 * rows' one after another, again and again where m is a part of n. A position beyond the places is
 * RGM_ERR_DATA when it runs.
 */
rgm_value *rgm_rotary(rgm_value *x, rgm_value *table, rgm_value *positions, int64_t heads);

/** How rgm_attention() attends. */
typedef struct rgm_attention_options {
    int64_t heads;
    double scale;   /* of the scores; 0: 1 / sqrt(width / heads)                                  */
    bool causal;    /* query i sees keys up to i + keys - queries                                 */
    rgm_value *key; /* i32/i64 [batch, keys], 0: nobody sees that key (ids with 0 as padding);
                       NULL: all are seen                                                         */
    double dropout; /* of the probabilities, on training runs                                     */
    const char *stream; /* of the dropout; NULL takes a name from the scope and op number         */
    int64_t kv_heads;   /* heads of key and value, of width kv_heads depth: heads / kv_heads queries
                           share each (Shazeer 2019; Ainslie et al. 2023); 0: as many as heads      */
    int64_t window;   /* a query sees keys nearer than this, itself 0 away; 0: all                */
    rgm_value *query; /* as key [batch, queries]: a query sees only keys with its own number in
                         `key`, such as those of its segment in packed sequences; NULL: all       */
    rgm_value *slope; /* [heads]: a score falls by slope times distance (ALiBi, Press et al. 2022);
                         not learned; NULL: none                                                  */
    rgm_value *bias;  /* [heads, 2 reach + 1]: added to scores by how far the key stands behind the
                         query, from -reach to reach, which all farther ones have; NULL: none     */
} rgm_attention_options;
/**
 * Scaled dot-product attention (Vaswani et al. 2017, section 3.2) of heads that lie side by side:
 * query [batch, queries, width], key and value [batch, keys, width] -> [batch, queries, width].
 * Neither scores nor probabilities are stored; the gradient computes them again. A query that sees
 * nothing gets 0. Query i stands at i + keys - queries.
 */
rgm_value *rgm_attention(rgm_value *q, rgm_value *k, rgm_value *v,
                         const rgm_attention_options *options);
/** What an attention reads besides query, key and value. */
typedef enum rgm_attention_extra {
    RGM_ATTENTION_KEY,
    RGM_ATTENTION_QUERY,
    RGM_ATTENTION_SLOPE,
    RGM_ATTENTION_BIAS
} rgm_attention_extra;
/** That of `attention`, as the options had it, of the shape that they say; NULL: it had none. */
rgm_value *rgm_attention_extra_of(const rgm_value *attention, rgm_attention_extra which);
/**
 * The same for tokens that are written one by one, without a gradient: keys and values stay in the
 * rows of k and v [rows, kv_heads depth] where they were put, and index [batch, keys] i64 says
 * which rows a batch item sees; negative: none. Queries [batch, queries, width]; newest_k and
 * newest_v [batch, kv_heads depth] stand behind those, both NULL: nothing does. An index beyond the
 * rows is RGM_ERR_DATA when it runs.
 *
 * Of the options heads, kv_heads, scale, window, slope and bias count; masks and dropout must not
 * be set. A key stands at its place in the index, the queries and the newest key at position
 * [batch] (or [1], of all) i64, which may be NULL where neither window, slope nor bias asks.
 */
rgm_value *rgm_attention_rows(rgm_value *q, rgm_value *k, rgm_value *v, rgm_value *index,
                              rgm_value *newest_k, rgm_value *newest_v, rgm_value *position,
                              const rgm_attention_options *options);

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

#ifdef __cplusplus
}
#endif
#endif
