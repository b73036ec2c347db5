/*
 * nn: layers. A layer is a function from values to values. It makes its parameters and names them
 * after the scope it is called in: rgm_dense(scope, "hidden", x, 16) makes "hidden/kernel" and
 * "hidden/bias".
 *
 * The rows x that a layer transforms are dense [.., width] or sparse [rows, width]. Sparse rows are
 * a pattern (ones), or the result of rgm_sparse_rows() (a pattern with a number for each entry), or
 * several of these side by side (rgm_beside). Layers that say so accept all of them and never make
 * sparse rows dense.
 */
#ifndef REGIMEN_NN_H
#define REGIMEN_NN_H

#include <regimen/autodiff.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Where layers are made: a compute graph, a path for names, and the regularisation losses collected
 * so far. The root owns its children.
 */
typedef struct rgm_scope rgm_scope;
/** The root scope of a graph, "". RGM_ERR_ARG (no graph), RGM_ERR_DTYPE (not a float dtype),
 * RGM_ERR_NOMEM. */
rgm_status rgm_scope_create(rgm_scope **out, rgm_cgraph *graph, rgm_dtype dtype);
void rgm_scope_release(rgm_scope *root);
/**
 * The child scope of that name; one name always gives the same child. NULL when the scope is NULL
 * or memory is out; layers pass NULL on.
 */
rgm_scope *rgm_scope_enter(rgm_scope *scope, const char *name);
rgm_cgraph *rgm_scope_graph(const rgm_scope *scope);
const char *rgm_scope_path(const rgm_scope *scope); /* "" for the root */
rgm_dtype rgm_scope_dtype(const rgm_scope *scope);
/** A parameter "<path>/<name>" of `shape` in the scope's dtype. */
rgm_value *rgm_scope_parameter(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                               rgm_init init);
/** The same for rgm_state(), of `shape`: it is saved with the parameters, but only
 * rgm_cgraph_update() changes it. */
rgm_value *rgm_scope_state(rgm_scope *scope, const char *name, int rank, const int64_t *shape,
                           rgm_init init);
/**
 * The scope "<name>/<path of scope>" whose parameters follow those of `scope` (the target network
 * of Grill et al. 2020). Parameters that a layer makes there are states with a random start of
 * their own; after every training step each becomes momentum * state + (1 - momentum) * parameter.
 * Losses that layers add there do not count. momentum in [0, 1].
 */
rgm_scope *rgm_scope_follow(rgm_scope *scope, const char *name, double momentum);
/** Add coefficient * sum(w^2) (no 1/2) to the training loss. 0 adds nothing. */
void rgm_scope_add_l2(rgm_scope *scope, rgm_value *parameter, double coefficient);
void rgm_scope_add_loss(rgm_scope *scope, rgm_value *scalar);
/** The sum of all losses added below the root, a scalar; NULL when there are none. */
rgm_value *rgm_scope_loss(const rgm_scope *scope);

/**
 * Low-rank adapters (LoRA, Hu et al. 2022) of a model that was trained before: its weights stay as
 * they are, and some kernels [in, out] become kernel + alpha / rank * lora_a lora_b.
 */
typedef struct rgm_lora_options {
    int64_t rank;      /* 0: no adapters */
    double alpha;      /* what the product of both counts, times rank                       */
    rgm_texts targets; /* names of the layers, "query", or patterns of them or of their paths;
                          none: every kernel                                                */
} rgm_lora_options;
#define RGM_LORA_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .alpha = 16                                                                                \
    }
extern const rgm_field rgm_lora_fields[];
/**
 * From here on parameters made below the root are states, which no gradient moves, and the kernels
 * of the targets get adapters: parameters "lora_a" [in, rank], random, and "lora_b" [rank, out],
 * zeros, beside them. So a model begins with the values that it had. rank 0 changes nothing.
 * @param lora  [in] borrowed as long as the scope
 */
void rgm_scope_adapt(rgm_scope *root, const rgm_lora_options *lora);
/** Once the model is made. RGM_ERR_CONFIG "task.lora.targets: ..." when a target is no layer with
 * a kernel. */
rgm_status rgm_scope_adapt_check(const rgm_scope *root);
/**
 * Weights with the adapters in them, for the same model without any.
 *
 * @param graph  [in] of that model
 *
 * Errors: RGM_ERR_SHAPE (a parameter of `graph` that `from` has not in its shape; an adapter of one
 * side, of another rank, or of no kernel of `graph`), RGM_ERR_NOMEM.
 */
rgm_status rgm_lora_merge(rgm_parameters **out, const rgm_cgraph *graph, const rgm_parameters *from,
                          const rgm_lora_options *lora);

/**
 * From here on parameters and states made below the root are constants: the tensors that `values`
 * has under their names. No gradient moves them and no checkpoint has them. So a model that was
 * trained before computes in the graph of another one, whose parameters may have the same names;
 * its scope is a root of its own. The graph fails where a value is missing (RGM_ERR_NOT_FOUND), or
 * has another shape (RGM_ERR_SHAPE) or dtype (RGM_ERR_DTYPE).
 *
 * @param values  [in] borrowed as long as the scope; the graph retains the tensors
 */
void rgm_scope_hold(rgm_scope *root, const rgm_parameters *values);

/** Sparse rows: pattern [rows, width] with the number weight [count] at each entry (NULL: ones). */
rgm_value *rgm_sparse_rows(rgm_value *pattern, rgm_value *weight);
/**
 * True for sparse rows, with *pattern and *weight (or NULL) set. Otherwise (dense rows, or rows
 * side by side) both are NULL.
 */
bool rgm_sparse_parts(rgm_value **pattern, rgm_value **weight, rgm_value *x);
/** Rows [n, width_i] side by side, [n, sum of widths]; sparse unless all are dense. count >= 1. */
rgm_value *rgm_beside(rgm_value *const *x, int64_t count);
/** Static width of dense or sparse rows; when it is not static, -1 and the graph fails. */
int64_t rgm_width(rgm_value *x);
/** Zeros [rows, units] for x [rows, width], dense or sparse, width 0 included. */
rgm_value *rgm_zero_rows(rgm_scope *scope, rgm_value *x, int64_t units);
/** x [.., in] dense or sparse times kernel [in, units]. */
rgm_value *rgm_project(rgm_value *x, rgm_value *kernel);
/**
 * x as rows in the scope's dtype: [n] -> [n, 1], [n, a, b] -> [n, a b]; [n, a] and sparse rows are
 * returned as they are.
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
 * x [..., in], dense or sparse -> [..., units]: act(x W + b), with parameters "<name>/kernel" [in,
 * units] and "<name>/bias" [units]. With name NULL the parameters are in the scope itself. NULL
 * options: the defaults above (bias, linear).
 */
rgm_value *rgm_dense(rgm_scope *scope, const char *name, rgm_value *x, int64_t units);
rgm_value *rgm_dense_with(rgm_scope *scope, const char *name, rgm_value *x, int64_t units,
                          const rgm_dense_options *options);
/**
 * Dense layer on sparse rows: pattern [rows, vocabulary], weight [count] (NULL: ones) -> [rows,
 * units]. The rows are never made dense. (An embedding sum.)
 */
rgm_value *rgm_dense_sparse(rgm_scope *scope, const char *name, rgm_value *pattern,
                            rgm_value *weight, int64_t units, const rgm_dense_options *options);
/**
 * Dense layer on the concatenation of inputs [n, width_i], without concatenating them: one kernel
 * [sum of widths, units] is cut by rows, and the result is x_0 W_0 + x_1 W_1 + ... + b. Inputs are
 * dense or sparse; those of width 0 add nothing. A NULL input means an earlier failure.
 */
rgm_value *rgm_dense_concat(rgm_scope *scope, const char *name, rgm_value *const *x, int64_t count,
                            int64_t units, const rgm_dense_options *options);
/**
 * Inverted dropout in training runs; rate 0 returns x. For sparse rows only the stored numbers are
 * dropped, which is equivalent: a dropped zero is zero.
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
 * with parameters "<name>/kernel" [size, in, filters] and "<name>/bias" [filters]. NULL options:
 * the defaults above.
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
 * epsilon) * gamma + beta. Training executors use the batch's mean and (biased) variance; others
 * use the states "<name>/moving_mean" and "<name>/moving_variance", which each step updates to m *
 * momentum + batch * (1 - momentum) (Keras). Gradients are always those of training. NULL options:
 * the defaults above.
 */
rgm_value *rgm_batch_norm(rgm_scope *scope, const char *name, rgm_value *x,
                          const rgm_batch_norm_options *options);
/** Rows of a table [count, width], initialized U(-0.05, 0.05); ids i32/i64 [n] -> [n, width]. */
rgm_value *rgm_embedding(rgm_scope *scope, const char *name, rgm_value *ids, int64_t count,
                         int64_t width);
/**
 * The same for several ids in a row: pattern [rows, columns] and table "<name>/table" [columns,
 * width] -> [rows, width], the sum, mean or maximum (RGM_MAX_NO_INF) of the table's rows at the
 * entries of each row; 0 where a row has none. The numbers of sparse rows scale the table's rows.
 */
rgm_value *rgm_embedding_bag(rgm_scope *scope, const char *name, rgm_value *pattern, int64_t width,
                             rgm_reduction reduction);

#ifdef __cplusplus
}
#endif
#endif
