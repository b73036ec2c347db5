/*
 * kernels: y = f(x) on plain memory, forward and backward. One table of functions for each element
 * type. The reference rows are plain C and always right; faster rows (AVX2, AVX-512, oneDNN) stand
 * over them, chosen by CPU flags at first use, and each may decline a case, which the next row
 * takes. No allocation of results here, no graph, no shapes beyond what the arguments say.
 *
 * Threads split outputs, never sums: the same bits for any number of threads. Long sums go over
 * blocks of fixed size, added in a fixed order.
 */
#ifndef REGIMEN_KERNELS_H
#define REGIMEN_KERNELS_H

#include <regimen/device.h>
#include <regimen/kernels_optim.h>
#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Activations that can ride on another kernel's output. */
typedef enum rgm_activation {
    RGM_ACT_NONE,
    RGM_ACT_RELU,
    RGM_ACT_LEAKY_RELU, /* slope in the argument */
    RGM_ACT_ELU,
    RGM_ACT_SIGMOID,
    RGM_ACT_TANH,
    RGM_ACT_GELU,     /* exact, with erf                                                    */
    RGM_ACT_SILU,     /* x sigmoid(x): swish                                                */
    RGM_ACT_GELU_TANH /* 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))): that of GPT-2 and BERT
                       */
} rgm_activation;

/**
 * c [m, n] = act(op(a) [m, k] * op(b) [k, n] + bias [n]) (+ c when accumulate), for each of `batch`
 * products. Row-major; lda, ldb, ldc are the distances between rows as stored, in elements.
 * trans_a: a is stored [k, m]; trans_b: b is stored [n, k]. bias may be NULL. With accumulate there
 * is no activation, but in a table that `activates_sums`: there it is act(... + c).
 *
 * packed: b is what matmul_pack() of the same table made of a b of that n and k; ldb, trans_b and
 * stride_b mean nothing then, and batch is 1. Each row of c is a chain over k that depends on n and
 * k alone: the same bits whatever m is, and so whichever rows stand beside it.
 *
 * matmul_pack: b [k, n] in the form in which this table's matmul likes to read it, for operands
 * that stay: the weights of a network in use. Of args: b, n, k, ldb and trans_b. Returns the bytes
 * of that form; with c NULL that is all, else that much is written to c, 64-byte aligned. No other
 * table reads it.
 */
typedef struct rgm_matmul_args {
    void *c;
    const void *a, *b, *bias;
    int64_t m, n, k, lda, ldb, ldc;
    int64_t batch, stride_a, stride_b, stride_c; /* elements between products; batch >= 1 */
    bool trans_a, trans_b, accumulate, packed;
    rgm_activation activation;
    double slope;
} rgm_matmul_args;

/**
 * y [rows, channels] = row_scale[r] * sum over entries p of row r of
 *                      weight[entry p, head] * column_scale[column p] * x[column p, channels]
 * and act(... + bias [channels]). heads divides channels: weight is [count, heads], channel c uses
 * head c / (channels / heads); heads is 1 without weights. NULL scales, weights, bias are ones (0).
 * self_loop adds, before row_scale, column_scale[r] * x[r] (rows == columns).
 * With base [rows, channels], which may be y, it is added, times base_scale[0] unless that is NULL;
 * there is no activation then.
 * first_row, end_row: rows [first_row, end_row) alone are written, with the bits that they have
 * among all rows, and nothing is read that others need. 0 and 0 are all rows.
 */
typedef struct rgm_spmm_args {
    void *y;
    const rgm_csr *csr;
    const void *x, *weight, *row_scale, *column_scale, *bias, *base, *base_scale;
    int64_t channels, heads, first_row, end_row;
    bool self_loop;
    rgm_activation activation;
    double slope;
} rgm_spmm_args;

/**
 * y [count, heads], entry order: y[e, h] = sum over d of a[row(e), h, d] * b[column(e), h, d].
 * a [rows, heads, depth], b [columns, heads, depth]. The gradient of spmm for its weights.
 */
typedef struct rgm_sddmm_args {
    void *y;
    const rgm_csr *csr;
    const void *a, *b;
    int64_t heads, depth;
} rgm_sddmm_args;

/**
 * GAT v2's attention logits (Brody et al. 2022, eq. 7), entry order, [count, heads]:
 * y[e, h] = sum over d of a[h, d] * leaky_relu(q[row(e), h, d] + v[column(e), h, d], slope).
 * Its gradient from dy [count, heads] is taken side by side: y = dq [rows, heads, depth] and da,
 * the share of q in a's gradient [heads, depth]. The transposed csr with q and v changed round
 * gives dv and the share of v: as leaky(z) = leaky'(z) q + leaky'(z) v, the sum of both is a's
 * gradient.
 */
typedef struct rgm_gatv2_args {
    void *y, *da; /* the output: y, or dq and da */
    const rgm_csr *csr;
    const void *q, *v, *a, *dy;
    int64_t heads, depth;
    double slope;
} rgm_gatv2_args;

typedef enum rgm_reduction {
    RGM_SUM,
    RGM_MEAN,       /* 0 for an empty segment             */
    RGM_MAX,        /* lowest number for an empty segment  */
    RGM_MIN,        /* highest number for an empty segment */
    RGM_MAX_NO_INF, /* 0 for an empty segment             */
    RGM_MIN_NO_INF, /* 0 for an empty segment             */
    RGM_PROD        /* 1 for an empty segment             */
} rgm_reduction;

/**
 * y [rows, channels] = reduction over the entries of each row of x [count, channels] (entry order).
 * The gradient kernel takes x, y and dy [rows, channels] and gives dx [count, channels]: max and
 * min share dy evenly among ties.
 */
typedef struct rgm_segment_args {
    void *y; /* y or dx */
    const rgm_csr *csr;
    const void *x, *y_forward, *dy;
    int64_t channels;
    rgm_reduction reduction;
} rgm_segment_args;

/**
 * Softmax of x [count, channels] within each row's entries; gradient: dx from y and dy. Where every
 * entry is -inf (all masked) y is 0, not NaN; so in the dense softmax.
 */
typedef struct rgm_segment_softmax_args {
    void *y; /* y or dx */
    const rgm_csr *csr;
    const void *x, *y_forward, *dy;
    int64_t channels;
} rgm_segment_softmax_args;

/** y [count, channels] = x[index[i], channels]; index int32 or int64 in 0..rows-1 (see
 * index_within). gather_bytes: the same of elements that are no floats, `channels` bytes a row. */
typedef struct rgm_gather_args {
    void *y;
    const void *x;
    const void *index;
    rgm_dtype index_dtype;
    int64_t count, channels;
} rgm_gather_args;

/* Element-wise programs: a chain of up to RGM_MAP_STEPS instructions over up to RGM_MAP_INPUTS
 * inputs, run block by block so that what lies between stays in registers or L1. */
#define RGM_MAP_STEPS  16
#define RGM_MAP_INPUTS 6

typedef enum rgm_map_code {
    /* one operand */
    RGM_MAP_NEG,
    RGM_MAP_ABS,
    RGM_MAP_SQUARE,
    RGM_MAP_SQRT,
    RGM_MAP_RSQRT,
    RGM_MAP_RECIPROCAL,
    RGM_MAP_EXP,
    RGM_MAP_LOG,
    RGM_MAP_RELU,
    RGM_MAP_LEAKY_RELU,
    RGM_MAP_ELU,
    RGM_MAP_SIGMOID,
    RGM_MAP_TANH,
    RGM_MAP_GELU,
    RGM_MAP_SIGN,
    RGM_MAP_IS_POSITIVE, /* x > 0 ? 1 : 0 */
    RGM_MAP_GELU_SLOPE,  /* derivative of gelu at x              */
    RGM_MAP_SCALE,       /* x * constant                         */
    RGM_MAP_SHIFT,       /* x + constant                         */
    RGM_MAP_SOFTPLUS,    /* log(1 + exp(x)), stable              */
    RGM_MAP_FLOOR,       /* max(x, constant)                     */
    RGM_MAP_SILU,        /* x sigmoid(x)                         */
    RGM_MAP_SILU_SLOPE,  /* derivative of silu at x              */
    RGM_MAP_GELU_TANH,
    RGM_MAP_GELU_TANH_SLOPE,
    /* two operands */
    RGM_MAP_ADD,
    RGM_MAP_SUB,
    RGM_MAP_MUL,
    RGM_MAP_DIV,
    RGM_MAP_MAX,
    RGM_MAP_MIN,
    RGM_MAP_GREATER,      /* a > b ? 1 : 0                        */
    RGM_MAP_EQUAL,        /* a == b ? 1 : 0                       */
    RGM_MAP_RELU_GRAD,    /* b > 0 ? a : 0      (a = dy, b = y)   */
    RGM_MAP_LEAKY_GRAD,   /* b > 0 ? a : c a    (a = dy, b = x)   */
    RGM_MAP_ELU_GRAD,     /* b > 0 ? a : a (b+1) (a = dy, b = y)  */
    RGM_MAP_SIGMOID_GRAD, /* a b (1 - b)        (a = dy, b = y)   */
    RGM_MAP_TANH_GRAD,    /* a (1 - b b)        (a = dy, b = y)   */
    RGM_MAP_CODE_COUNT
} rgm_map_code;

/** Operand numbers: 0..inputs-1 are the inputs, inputs + i is the result of instruction i. */
typedef struct rgm_map_step {
    rgm_map_code code;
    int8_t a, b; /* b is ignored for one operand */
    double constant;
} rgm_map_step;

/** y [shape] = the last instruction's result. Inputs are read by stride (elements, 0 = broadcast).
 */
typedef struct rgm_map_args {
    void *y;
    int rank;
    int64_t shape[RGM_MAX_RANK];
    int inputs, steps;
    const void *input[RGM_MAP_INPUTS];
    int64_t stride[RGM_MAP_INPUTS][RGM_MAX_RANK];
    rgm_map_step step[RGM_MAP_STEPS];
} rgm_map_args;

/**
 * y = x * keep / (1 - rate) where keep is drawn per element from rng: element i is kept when the
 * i-th 16-bit word of the stream (word i % 8 of block i / 8, low half first) is >= rate * 65536,
 * rounded. The backward pass calls the same with dy. `group` > 1: one draw for each `group`
 * neighbouring elements (item dropout: element i uses draw i / group). Where rows have numbers, the
 * row r of x [count / width, width] is drawn as row number[r] would be. A residual is added, with
 * the bits of a sum by itself. y may be x or the residual.
 */
typedef struct rgm_dropout_args {
    void *y;
    const void *x;
    const void *residual;  /* NULL: none */
    const int64_t *number; /* [count / width] NULL: each row its own place */
    int64_t count, group;
    int64_t width; /* with numbers: of a row, a multiple of group */
    double rate;
    rgm_rng rng;
} rgm_dropout_args;

/**
 * y [outer, inner] = sum / mean / max / min / prod over `axis` of x [outer, axis, inner]; a sum may
 * be of x times a factor of the same shape, which is nowhere stored.
 * reduce_prod_grad: dx [outer, axis, inner] = dy [outer, inner] times the product of the others,
 * right with zeros among them.
 */
typedef struct rgm_reduce_args {
    void *y; /* y or dx */
    const void *x, *dy;
    const void *factor; /* of sums; NULL: none */
    int64_t outer, axis, inner;
    rgm_reduction reduction;
} rgm_reduce_args;

/** y [rows] = number of the largest of each row of x [rows, channels], of equal ones the first;
 * channels >= 1. */
typedef struct rgm_argmax_args {
    int64_t *y;
    const void *x;
    int64_t rows, channels;
} rgm_argmax_args;

/** Softmax (log: log-softmax) of each row of x [rows, channels]; gradient: dx from y and dy. */
typedef struct rgm_softmax_args {
    void *y; /* y or dx */
    const void *x, *y_forward, *dy;
    int64_t rows, channels;
    bool log;
} rgm_softmax_args;

/**
 * loss [rows] = logsumexp(x[r]) - sum over c of t[c] x[r, c] for logits x [rows, channels] whose
 * first `classes` columns count (0: all), label [rows] int32 or int64 in 0..classes-1; the target t
 * is `spread` for each class but the label, which has the rest of 1: 0 is the plain loss. Gradient:
 * dx [rows, channels] = (softmax(x) - t) * dloss[r], 0 behind the classes; dx may be x.
 */
typedef struct rgm_cross_entropy_args {
    void *y; /* loss or dx */
    const void *x, *dloss, *label;
    rgm_dtype label_dtype;
    int64_t rows, channels, classes;
    double spread;
} rgm_cross_entropy_args;

/**
 * Scaled dot-product attention of each head (Vaswani et al. 2017, section 3.2), the scores never
 * stored: blocks of keys with a running softmax (Milakov & Gimelshein 2018).
 *
 * y [batch, queries, heads * depth]: y[b, i, h] = sum over j of p[i, j] v[b, j, g], where g = h /
 * (heads / kv_heads) is the head of k and v [batch, keys, kv_heads * depth] (kv_heads 0: heads);
 * p[i, .] = softmax over the visible j of scale * q[b, i, h] . k[b, j, g]
 *           - slope[h] |d| + bias[h, min(max(d, -reach), reach) + reach]
 *
 * Query i stands at i + keys - queries, d = j - (i + keys - queries); slope and bias may be NULL.
 * Key j is visible unless key[b, j] is 0 (key NULL: all are), with query [batch, queries] only
 * where that has the same number, when causal only if d <= 0, and with a window only if |d| <
 * window. Where nothing is visible y is 0. With rate > 0 p is dropped out: the draw of (b, h, i, j)
 * is word j % 8 of block ((b * heads + h) * keys64 + j / 64) * queries16 + i) * 8 + j % 64 / 8,
 * where keys64 and queries16 are blocks of 64 keys and queries rounded up to 16. So y does not
 * change by a bit when invisible keys are appended.
 *
 * Gradient: dq, dk, dv and, with a bias, dbias [batch, heads, 2 reach + 1] from q, k, v, y_forward
 * and dy; p is computed, and drawn, again.
 */
typedef struct rgm_attention_args {
    void *y, *dq, *dk, *dv, *dbias;
    const void *q, *k, *v, *y_forward, *dy, *key, *query, *slope, *bias;
    rgm_dtype key_dtype; /* of key and query: int32 or int64 */
    int64_t batch, queries, keys, heads, kv_heads, depth, window, reach;
    double scale, rate;
    rgm_rng rng;
    bool causal;
} rgm_attention_args;

/**
 * The same of few queries to keys and values that stay where they were made, for decoding: nothing
 * is copied when one hypothesis takes over the past of another, or when a sentence leaves its
 * batch.
 *
 * Key j of item b is row index[b, j] of k and v [.., heads * depth]; a negative index: there is no
 * such key. Behind those, unless newest_k is NULL, stands row b of newest_k and newest_v. k, v and
 * the newest have kv_heads heads. y [batch, queries, heads * depth] has the same bits wherever
 * absent keys are; 0 without keys. With a window, slope or bias, as above, key j stands at j and
 * the queries and the newest key at position[b position_step].
 */
typedef struct rgm_attention_rows_args {
    void *y;
    const void *q, *k, *v, *newest_k, *newest_v;
    const void *slope, *bias;
    const int64_t *index;    /* [batch, keys]                                            */
    const int64_t *position; /* [batch], or one number of all; NULL: nothing asks for it */
    int64_t position_step;   /* 1, or 0: there is one number                             */
    int64_t batch, queries, keys, heads, kv_heads, depth, window, reach;
    double scale;
} rgm_attention_rows_args;

/**
 * The count most probable classes of each row of logits x [rows, channels], of which the first
 * `classes` are any: index [rows, count], the most probable first and of equal ones the lower, and
 * their log-softmax over those classes, y [rows, count]. 1 <= count <= classes <= channels.
 */
typedef struct rgm_top_args {
    void *y;
    int64_t *index;
    const void *x;
    int64_t rows, channels, classes, count;
} rgm_top_args;

/**
 * Layer norm (Ba et al. 2016) with an optional residual: s = x (+ residual), y = (s - mean) /
 * sqrt(var
 * + epsilon) * gamma + beta over channels. Gradient: dx (also the residual's), dgamma, dbeta from
 * x, residual, gamma, dy. With rms the mean is left out, y = s / sqrt(mean of s^2 + epsilon) *
 * gamma
 * + beta (Zhang & Sennrich 2019).
 */
typedef struct rgm_layer_norm_args {
    void *y; /* y or dx */
    void *dgamma, *dbeta;
    const void *x, *residual, *gamma, *beta, *dy;
    int64_t rows, channels;
    double epsilon;
    bool rms;
} rgm_layer_norm_args;

/**
 * Rotary positions (Su et al. 2021): each head's part of a row of x [rows, heads * depth] is turned
 * by the angles of its position. With p = position[r % positions] and the table's row of p, cosines
 * [depth / 2] and then sines, y[i] = x[i] cos_i - x[i + depth / 2] sin_i and y[i + depth / 2] =
 * x[i + depth / 2] cos_i + x[i] sin_i; `back` turns the other way, which is the gradient. y may be
 * x; depth is even.
 */
typedef struct rgm_rotary_args {
    void *y;
    const void *x, *table;
    const int64_t *position;
    int64_t rows, positions, heads, depth;
    bool back;
} rgm_rotary_args;

/**
 * Batch norm (Ioffe & Szegedy 2015): moments [2, channels] are the mean and the biased variance of
 * each column of x [rows, channels], 0 of no rows; y = act((x - mean) / sqrt(variance + epsilon) *
 * gamma + beta), act relu or none. Gradient, through the moments too: dx, dgamma, dbeta from x,
 * moments, gamma, beta, dy.
 */
typedef struct rgm_batch_norm_args {
    void *y; /* moments, y or dx */
    void *dgamma, *dbeta;
    const void *x, *moments, *gamma, *beta, *dy;
    int64_t rows, channels;
    double epsilon;
    bool relu;
} rgm_batch_norm_args;

/** y = x / |x| for each row of x [rows, channels], 0 for a row of zeros; gradient: dx from x, y and
 * dy. */
typedef struct rgm_l2_normalize_args {
    void *y; /* y or dx */
    const void *x, *y_forward, *dy;
    int64_t rows, channels;
} rgm_l2_normalize_args;

/**
 * A window of size[0] x size[1] taps, `dilation` apart, that slides over images [count, in[0],
 * in[1], channels] in steps of `stride` to out[0] x out[1] places. Tap t of place o stands at
 * o * stride - before + t * dilation of its axis; taps outside the image are padding: zeros to a
 * convolution, absent to a pool. Each place has a tap inside.
 */
typedef struct rgm_window {
    int64_t count, channels;
    int64_t in[2], out[2], size[2], stride[2], dilation[2], before[2];
} rgm_window;

/**
 * y [count, out, filters] = sum over taps and channels of x [count, in, channels] times w [size,
 * channels, filters]. Gradients: grad_input gives dx from w and dy, grad_kernel dw from x and dy.
 * `matmul` multiplies where a row works through products: that of the table for RGM_BF16, say;
 * NULL: the row's own.
 */
typedef struct rgm_conv2d_args {
    void *y; /* y, dx or dw */
    const void *x, *w, *dy;
    rgm_window window;
    int64_t filters;
    void (*matmul)(const rgm_matmul_args *args);
} rgm_conv2d_args;

/**
 * y [count, out, channels] = the largest, or the mean, of each window's taps inside the image.
 * Gradients: max from x, y and dy, all of it to the first of equal taps (row by row); mean from dy.
 */
typedef struct rgm_pool2d_args {
    void *y; /* y or dx */
    const void *x, *y_forward, *dy;
    rgm_window window;
} rgm_pool2d_args;

/* What moves elements, of any dtype. */

/** `outer` blocks of `size` bytes, `x_step` apart in x and `y_step` in y; around each block in y
 * so many bytes become 0. x may be y when nothing moves. */
typedef struct rgm_copy_args {
    void *y;
    const void *x;
    int64_t outer;
    size_t size, y_step, x_step, zeros_before, zeros_behind;
} rgm_copy_args;

/** y [shape]: element i, j, .. is x[i * stride[0] + j * stride[1] ..], `size` bytes each; rank >=
 * 1. */
typedef struct rgm_permute_args {
    void *y;
    const void *x;
    int rank;
    int64_t shape[RGM_MAX_RANK], stride[RGM_MAX_RANK]; /* elements of x */
    size_t size;
} rgm_permute_args;

/** y [count] = x as another dtype. A float out of an integer's range takes the nearest end, NaN is
 * 0; to bool: x != 0. */
typedef struct rgm_cast_args {
    void *y;
    const void *x;
    rgm_dtype to, from; /* f32, f64, i32, i64 or bool */
    int64_t count;
} rgm_cast_args;

/** y [shape] = a == b ? 1 : 0 for integers or bools; a and b are read by stride (elements, 0 =
 * broadcast). */
typedef struct rgm_equal_args {
    float *y;
    const void *a, *b;
    rgm_dtype dtype;
    int rank;
    int64_t shape[RGM_MAX_RANK], stride[2][RGM_MAX_RANK];
} rgm_equal_args;

/** y [rows] = entries of each row of the pattern; y is f32, f64, i32 or i64. */
typedef struct rgm_degree_args {
    void *y;
    const rgm_csr *csr;
    rgm_dtype dtype;
} rgm_degree_args;

/** y [count] = value. */
typedef struct rgm_fill_args {
    void *y;
    int64_t count;
    double value;
} rgm_fill_args;

/** sum_of_squares: of x [count], in double. all_finite: whether no element is NaN or infinite. */
typedef struct rgm_flat_args {
    const void *x;
    int64_t count;
} rgm_flat_args;

/**
 * squares: y [arrays] = what sum_of_squares gives for each x[i] [count[i]], bit for bit, where
 * nobody has to wait for it: y is the table's device's, as what x holds. The lists x and count
 * themselves are the host's, and may change when the call returns.
 */
typedef struct rgm_squares_args {
    double *y;
    const void *const *x;
    const int64_t *count;
    int64_t arrays;
} rgm_squares_args;

/** What index_check has found; in the memory of the table's device. */
typedef struct rgm_index_flag {
    int64_t raised;    /* 0: nothing yet */
    int64_t op;        /* who asked      */
    int64_t at, index; /* index[at], the first that is outside */
} rgm_index_flag;

/**
 * Raise `flag` unless each of index [count], int32 or int64, is at least `least` and below `limit`:
 * what a kernel that reads by index needs to hold, so it is asked before. A flag that is up stays
 * as it is. The CPU's flag is read at once, and nothing that would read outside is called. A
 * device's flag is read when its work is done: until then, no row of its tables may do anything
 * once the flag is up.
 */
typedef struct rgm_index_args {
    const void *index;
    rgm_dtype index_dtype;
    int64_t count, least, limit, op;
    rgm_index_flag *flag;
} rgm_index_args;

/**
 * Every kernel, a line each: result, name, arguments, which are always one struct. The table, and
 * each implementation of it, are made from this list. A row that answers the host waits on a
 * device. FAST: a reference row for float and for double, and a row for each vector unit. PLAIN:
 * the reference rows alone, which every table of that element type has. ANY: one row for every
 * table, since the dtype is in the arguments or does not matter.
 */
/* clang-format off */
#define RGM_KERNEL_LIST(FAST, PLAIN, ANY)                                                          \
    FAST(void, matmul, (const rgm_matmul_args *args))                                              \
    FAST(size_t, matmul_pack, (const rgm_matmul_args *args))                                       \
    FAST(void, spmm, (const rgm_spmm_args *args))                                                  \
    FAST(void, sddmm, (const rgm_sddmm_args *args))                                                \
    FAST(void, gatv2_score, (const rgm_gatv2_args *args))                                          \
    FAST(void, gatv2_grad, (const rgm_gatv2_args *args))                                           \
    FAST(void, segment_reduce, (const rgm_segment_args *args))                                     \
    FAST(void, segment_reduce_grad, (const rgm_segment_args *args))                                \
    FAST(void, segment_softmax, (const rgm_segment_softmax_args *args))                            \
    FAST(void, segment_softmax_grad, (const rgm_segment_softmax_args *args))                       \
    FAST(void, gather, (const rgm_gather_args *args))                                              \
    ANY(void, gather_bytes, (const rgm_gather_args *args))                                         \
    ANY(void, index_check, (const rgm_index_args *args))                                           \
    ANY(void, degree, (const rgm_degree_args *args))                                               \
    ANY(void, copy, (const rgm_copy_args *args))                                                   \
    ANY(void, permute, (const rgm_permute_args *args))                                             \
    ANY(void, cast, (const rgm_cast_args *args))                                                   \
    ANY(void, equal, (const rgm_equal_args *args))                                                 \
    PLAIN(void, fill, (const rgm_fill_args *args))                                                 \
    FAST(void, map, (const rgm_map_args *args))                                                    \
    FAST(void, dropout, (const rgm_dropout_args *args))                                            \
    FAST(void, reduce, (const rgm_reduce_args *args))                                              \
    PLAIN(void, reduce_prod_grad, (const rgm_reduce_args *args))                                   \
    PLAIN(void, argmax, (const rgm_argmax_args *args))                                             \
    FAST(void, softmax, (const rgm_softmax_args *args))                                            \
    FAST(void, softmax_grad, (const rgm_softmax_args *args))                                       \
    FAST(void, cross_entropy, (const rgm_cross_entropy_args *args))                                \
    FAST(void, cross_entropy_grad, (const rgm_cross_entropy_args *args))                           \
    FAST(void, attention, (const rgm_attention_args *args))                                        \
    FAST(void, attention_grad, (const rgm_attention_args *args))                                   \
    FAST(void, attention_rows, (const rgm_attention_rows_args *args))                              \
    FAST(void, top_log_softmax, (const rgm_top_args *args))                                        \
    FAST(void, layer_norm, (const rgm_layer_norm_args *args))                                      \
    FAST(void, layer_norm_grad, (const rgm_layer_norm_args *args))                                 \
    FAST(void, rotary, (const rgm_rotary_args *args))                                              \
    FAST(void, batch_moments, (const rgm_batch_norm_args *args))                                   \
    FAST(void, batch_norm, (const rgm_batch_norm_args *args))                                      \
    FAST(void, batch_norm_grad, (const rgm_batch_norm_args *args))                                 \
    PLAIN(void, l2_normalize, (const rgm_l2_normalize_args *args))                                 \
    PLAIN(void, l2_normalize_grad, (const rgm_l2_normalize_args *args))                            \
    FAST(void, conv2d, (const rgm_conv2d_args *args))                                              \
    FAST(void, conv2d_grad_input, (const rgm_conv2d_args *args))                                   \
    FAST(void, conv2d_grad_kernel, (const rgm_conv2d_args *args))                                  \
    FAST(void, max_pool2d, (const rgm_pool2d_args *args))                                          \
    FAST(void, max_pool2d_grad, (const rgm_pool2d_args *args))                                     \
    FAST(void, avg_pool2d, (const rgm_pool2d_args *args))                                          \
    FAST(void, avg_pool2d_grad, (const rgm_pool2d_args *args))                                     \
    FAST(void, adam, (const rgm_adam_args *args))                                                  \
    FAST(void, sgd, (const rgm_sgd_args *args))                                                    \
    PLAIN(void, amsgrad, (const rgm_adam_args *args))                                              \
    PLAIN(void, rmsprop, (const rgm_rmsprop_args *args))                                           \
    PLAIN(void, adagrad, (const rgm_adagrad_args *args))                                           \
    PLAIN(void, lamb_direction, (const rgm_lamb_args *args))                                       \
    PLAIN(void, lars_direction, (const rgm_lars_args *args))                                       \
    PLAIN(void, adafactor_direction, (const rgm_adafactor_args *args))                             \
    PLAIN(void, adafactor_move, (const rgm_adafactor_move_args *args))                             \
    PLAIN(void, clip, (const rgm_clip_args *args))                                                 \
    PLAIN(void, average, (const rgm_average_args *args))                                           \
    ANY(void, swap, (const rgm_swap_args *args))                                                   \
    FAST(double, sum_of_squares, (const rgm_flat_args *args))                                      \
    FAST(void, squares, (const rgm_squares_args *args))                                            \
    FAST(bool, all_finite, (const rgm_flat_args *args))
/* clang-format on */

/** The table. Every entry is set; a call never fails (arguments are checked above this layer), and
 * pointers in arguments are addresses of the table's device. */
typedef struct rgm_kernels {
    const char *isa;     /* "reference", "avx2", "avx512", "avx512_bf16", "avx512_vnni", "amx" */
    rgm_dtype dtype;     /* of what is in memory: RGM_F32 or RGM_F64 */
    bool activates_sums; /* see rgm_matmul_args */
#define RGM_KERNEL_MEMBER(result, name, arguments) result(*name) arguments;
    RGM_KERNEL_LIST(RGM_KERNEL_MEMBER, RGM_KERNEL_MEMBER, RGM_KERNEL_MEMBER)
#undef RGM_KERNEL_MEMBER
} rgm_kernels;

/**
 * The table of a device: its own, or the best for this CPU. There dtype is RGM_F32, RGM_F64 (the
 * reference compiled for double), RGM_BF16 or RGM_I8.
 *
 * RGM_BF16: the f32 table, f32 in memory, whose matmul rounds a and b to bf16 (nearest, ties to
 * even; denormals may become 0) and sums in f32: c is off by at most (2^-7 + k 2^-23) * sum |a|
 * |b|. So where that is faster: on AMX, or AVX-512's bf16 dot product where it beats the f32
 * multiply-add (not on Intel). Elsewhere, and for small products everywhere, the arithmetic is that
 * of RGM_F32.
 *
 * RGM_I8: the f32 table, whose matmul_pack keeps each column of b in 8 bits, and whose matmul with
 * a packed b keeps each row of a so (rgm_int8_step()), sums exactly in 32 bits and gives step of
 * the row times step of the column times the sum, and the bias: the same bits from every row but
 * for the activation. c is off by at most the sum of (|a| column's step + |b| row's step + product
 * of both / 2) / 2. Where a row of a or a column of b has a number that is not finite, c is NaN. No
 * table of a GPU: NULL.
 *
 * REGIMEN_ISA=amx|avx512_bf16|avx512_vnni|avx512|avx2|reference in the environment forbids what is
 * above it in this list; the reference rounds to bf16 and to 8 bits as well.
 */
const rgm_kernels *rgm_kernels_for(rgm_device *device, rgm_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
