/*
 * nn: layers. A layer is a function from values to values that makes its parameters, named by the
 * scope it is called in: rgm_dense(scope, "hidden", x, 16) makes "hidden/kernel" and "hidden/bias".
 *
 * Rows to transform, x, are dense [.., width] or sparse [rows, width]: a pattern (ones), or what
 * rgm_sparse_rows() makes of a pattern and a number for each entry, or several of those side by
 * side (rgm_beside). Layers that say so take all of them; sparse rows are never made dense.
 */
#ifndef REGIMEN_NN_H
#define REGIMEN_NN_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Where layers stand: a compute graph, a path for names, and the regularisation losses collected so
 * far. Children belong to the root.
 */
typedef struct rgm_scope rgm_scope;
/** The root of a graph's scopes, "". RGM_ERR_ARG (no graph), RGM_ERR_DTYPE (no float),
 * RGM_ERR_NOMEM. */
rgm_status rgm_scope_create(rgm_scope **out, rgm_cgraph *graph, rgm_dtype dtype);
void rgm_scope_release(rgm_scope *root);
/**
 * The child scope of that name; the same for the same name. NULL scope or no memory: NULL, and
 * layers pass it on.
 */
rgm_scope *rgm_scope_enter(rgm_scope *scope, const char *name);
rgm_cgraph *rgm_scope_graph(const rgm_scope *scope);
const char *rgm_scope_path(const rgm_scope *scope); /* "" for the root */
rgm_dtype rgm_scope_dtype(const rgm_scope *scope);
/** A parameter "<path>/<name>" of `shape` in the scope's dtype. */
rgm_value *rgm_scope_parameter(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                               rgm_init init);
/** The same as rgm_state(), of `shape`: saved with the parameters, moved by rgm_cgraph_update()
 * alone. */
rgm_value *rgm_scope_state(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                           rgm_init init);
/**
 * The scope "<name>/<path of scope>" whose parameters follow those of `scope`: what a layer asks of
 * it are states, each with a random start of its own, that take momentum * state + (1 - momentum) *
 * parameter after every training step (the target network of Grill et al. 2020). What layers add to
 * the loss there is not added. momentum in [0, 1].
 */
rgm_scope *rgm_scope_follow(rgm_scope *scope, const char *name, double momentum);
/** Add coefficient * sum(w^2) (no 1/2) to the training loss. 0 adds nothing. */
void rgm_scope_add_l2(rgm_scope *scope, rgm_value *parameter, double coefficient);
void rgm_scope_add_loss(rgm_scope *scope, rgm_value *scalar);
/** Sum of all losses added below the root, a scalar; NULL when there are none. */
rgm_value *rgm_scope_loss(const rgm_scope *scope);

/** Sparse rows: pattern [rows, width] with the number weight [count] at each entry (NULL: ones). */
rgm_value *rgm_sparse_rows(rgm_value *pattern, rgm_value *weight);
/**
 * True for sparse rows: then *pattern, and *weight or NULL; else (dense, side by side) both are
 * NULL.
 */
bool rgm_sparse_parts(rgm_value **pattern, rgm_value **weight, rgm_value *x);
/** Rows [n, width_i] side by side, [n, sum of widths]; sparse unless all are dense. count >= 1. */
rgm_value *rgm_beside(rgm_value *const *x, int64_t count);
/** Static width of dense or sparse rows; -1 (and a failure in the graph) when it is not static. */
int64_t rgm_width(rgm_value *x);
/** Zeros [rows, units] for x [rows, width], dense or sparse, width 0 included. */
rgm_value *rgm_zero_rows(rgm_scope *scope, rgm_value *x, int64_t units);
/** x [.., in] dense or sparse times kernel [in, units]. */
rgm_value *rgm_project(rgm_value *x, rgm_value *kernel);
/**
 * x as rows in the scope's dtype: [n] -> [n, 1], [n, a, b] -> [n, a b]; [n, a] and sparse rows stay
 * as they are.
 */
rgm_value *rgm_as_rows(rgm_scope *scope, rgm_value *x);
/** Each row of x [.., width], dense or sparse, divided by the sum of its absolute values (0 stays
 * 0). */
rgm_value *rgm_normalize_rows(rgm_scope *scope, rgm_value *x);

typedef struct rgm_dense_options {
    bool bias;
    rgm_activation activation;
    double slope;    /* of leaky_relu */
    double l2;       /* on the kernel */
    double l2_bias;  /* on the bias   */
    rgm_init kernel; /* default: Glorot uniform */
} rgm_dense_options;
#define RGM_DENSE_OPTIONS_INIT                                                                     \
    {                                                                                              \
        .bias = true, .kernel = { RGM_INIT_GLOROT_UNIFORM, 0 }                                     \
    }

/**
 * x [..., in], dense or sparse -> [..., units]: act(x W + b), parameters "<name>/kernel" [in,
 * units] and "<name>/bias" [units]. name NULL: they stand in the scope itself. NULL options: the
 * defaults above (bias, linear).
 */
rgm_value *rgm_dense(rgm_scope *scope, const char *name, rgm_value *x, int64_t units);
rgm_value *rgm_dense_with(rgm_scope *scope, const char *name, rgm_value *x, int64_t units,
                          const rgm_dense_options *options);
/**
 * Dense layer of sparse rows: pattern [rows, vocabulary], weight [count] (NULL: ones) -> [rows,
 * units]. The rows are never made dense. (An embedding sum.)
 */
rgm_value *rgm_dense_sparse(rgm_scope *scope, const char *name, rgm_value *pattern,
                            rgm_value *weight, int64_t units, const rgm_dense_options *options);
/**
 * Dense layer of inputs [n, width_i] side by side, which are never put side by side: one kernel
 * [sum of widths, units], cut by rows, and x_0 W_0 + x_1 W_1 + ... + b. Inputs dense or sparse;
 * those of width 0 add nothing; NULL ones are a failure that happened before.
 */
rgm_value *rgm_dense_concat(rgm_scope *scope, const char *name, rgm_value *const *x, int64_t count,
                            int64_t units, const rgm_dense_options *options);
/**
 * Inverted dropout on training runs; rate 0 gives x. Of sparse rows the stored numbers are dropped,
 * which is the same: a dropped zero is zero.
 */
rgm_value *rgm_dropout(rgm_scope *scope, rgm_value *x, double rate);
rgm_value *rgm_item_dropout(rgm_scope *scope, rgm_value *x, double rate);
/** Layer norm over the last axis, epsilon 1e-3 (Keras), gamma 1, beta 0. */
rgm_value *rgm_layer_norm(rgm_scope *scope, const char *name, rgm_value *x);

typedef struct rgm_conv2d_layer_options {
    int64_t size[2], stride[2], dilation[2]; /* height, width; stride and dilation 0: 1 */
    rgm_image_padding padding;
    bool bias;
    rgm_activation activation;
    double slope;    /* of leaky_relu */
    double l2;       /* on the kernel */
    rgm_init kernel; /* default: Glorot uniform */
} rgm_conv2d_layer_options;
#define RGM_CONV2D_LAYER_OPTIONS_INIT                                                              \
    {                                                                                              \
        .size = {3, 3}, .padding = RGM_PAD_SAME, .bias = true, .kernel = {                         \
            RGM_INIT_GLOROT_UNIFORM,                                                               \
            0                                                                                      \
        }                                                                                          \
    }
/**
 * Convolution of images x [n, height, width, in] -> [n, .., .., filters]: act(conv2d(x, W) + b),
 * parameters "<name>/kernel" [size, in, filters] and "<name>/bias" [filters]. NULL options: the
 * defaults above.
 */
rgm_value *rgm_conv2d_layer(rgm_scope *scope, const char *name, rgm_value *x, int64_t filters,
                            const rgm_conv2d_layer_options *options);

typedef struct rgm_batch_norm_options {
    double momentum, epsilon;
} rgm_batch_norm_options;
#define RGM_BATCH_NORM_OPTIONS_INIT                                                                \
    {                                                                                              \
        .momentum = 0.99, .epsilon = 1e-3                                                          \
    }
/**
 * Batch norm (Ioffe & Szegedy 2015) over the last axis of x [.., c]: (x - mean) / sqrt(variance +
 * epsilon) * gamma + beta. In training executors mean and (biased) variance are the batch's, else
 * the states "<name>/moving_mean" and "<name>/moving_variance", whose updates are m * momentum +
 * batch * (1 - momentum) (Keras). Gradients are those of training. NULL options: the defaults
 * above.
 */
rgm_value *rgm_batch_norm(rgm_scope *scope, const char *name, rgm_value *x,
                          const rgm_batch_norm_options *options);
/** Rows of a table [count, width], initialized U(-0.05, 0.05); ids i32/i64 [n] -> [n, width]. */
rgm_value *rgm_embedding(rgm_scope *scope, const char *name, rgm_value *ids, int64_t count,
                         int64_t width);
/**
 * The same of several ids a row: a pattern [rows, columns] and a table "<name>/table" [columns,
 * width] -> [rows, width], the sum, mean or largest (RGM_MAX_NO_INF) of the table's rows at a row's
 * entries; 0 where there are none. Numbers of sparse rows are factors of the table's rows.
 */
rgm_value *rgm_embedding_bag(rgm_scope *scope, const char *name, rgm_value *pattern, int64_t width,
                             rgm_reduction reduction);

#ifdef __cplusplus
}
#endif
#endif
