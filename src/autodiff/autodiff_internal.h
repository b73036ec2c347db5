/*
 * Shared inside the autodiff layer: what a graph, a value and a symbol are, helpers that ops use to
 * check shapes and to fill kernel arguments, and the pieces of the executor. The executor works on
 * a private graph of the same type, so that passes build values with the builders everybody uses.
 */
#ifndef REGIMEN_AUTODIFF_INTERNAL_H
#define REGIMEN_AUTODIFF_INTERNAL_H

#include <regimen/autodiff.h>
#include <string.h>

/* A symbol is free (bound by an input) or derived from earlier dims; derived ones are unique, so
 * that equal expressions have equal numbers. */
typedef enum rgmi_symbol_kind {
    RGMI_FREE,
    RGMI_SUM,
    RGMI_PRODUCT,
    RGMI_QUOTIENT,
    RGMI_REST /* of a, behind floor(a b / 10^6) that went */
} rgmi_symbol_kind;

typedef struct rgmi_symbol {
    rgmi_symbol_kind kind;
    rgm_dim a, b;
    const char *name;
} rgmi_symbol;

typedef enum rgmi_leaf {
    RGMI_OP, /* not a leaf */
    RGMI_INPUT,
    RGMI_CONSTANT,
    RGMI_PARAMETER,
    RGMI_STATE /* a parameter without gradient */
} rgmi_leaf;

static inline bool rgmi_is_stored(rgmi_leaf leaf)
{
    return leaf == RGMI_PARAMETER || leaf == RGMI_STATE;
}

struct rgm_value {
    rgm_cgraph *graph;
    const rgm_op_type *type;
    rgmi_leaf leaf;
    int64_t id;    /* place in graph->values                                              */
    int64_t order; /* place in the program as written; values of passes inherit it        */
    rgm_op_shape s;
    int inputs;
    rgm_value **in;
    rgm_attributes attributes;
    const char *name, *scope;
    rgm_tensor *constant;
    rgm_init init;
    rgm_value *transposed; /* patterns: the transpose, once there is one                */
    rgm_value *next;       /* states: their update, or NULL                             */
    int64_t index;         /* parameters and inputs: number among their kind            */
    bool picks;            /* patterns: one entry a row, and none of a column twice     */
    int64_t block;         /* number of the block that it was built in, 0: none         */
    int64_t again;         /* computes a value of that block again; 0: does not         */
    /* private graphs only */
    rgm_value *original;    /* the value of the user's graph that it stands for, or NULL */
    rgm_value *replacement; /* what a pass put in its place                              */
    int64_t uses;           /* as of the start of a pass; fetches count                  */
    int64_t slot;           /* number in the executor's order; -1: not needed            */
    bool fetched;
    bool fed_only; /* depends on inputs and constants alone, draws nothing      */
};

struct rgm_cgraph {
    rgm_arena *arena;
    rgm_value **values;
    int64_t count, capacity;
    rgmi_symbol *symbols;
    int64_t symbol_count, symbol_capacity;
    rgm_value **parameters;
    int64_t parameter_count, parameter_capacity;
    rgm_value **updates; /* states that have a next value */
    int64_t update_count, update_capacity;
    rgm_note *notes;
    int64_t note_count, note_capacity;
    int64_t input_count;
    rgm_map *names; /* inputs and parameters */
    const char *scope;
    int64_t order;         /* >= 0: given to new values while a pass runs */
    int64_t forward_count; /* values before the first gradients; 0: none were taken */
    int64_t blocks;        /* that have begun                                       */
    int64_t block_depth;   /* begun and not ended                                   */
    int64_t again;         /* given to new values: see rgm_value.again              */
    bool recompute;
    rgm_error error;
};

/* ---- graph ---- */

rgm_status rgmi_cgraph_create_like(rgm_cgraph **out, const rgm_cgraph *graph);
/** A new value without inputs or shape; NULL (graph failed) when out of memory. */
rgm_value *rgmi_value_new(rgm_cgraph *graph);
/** rgm_op with up to four inputs and no list to write. */
rgm_value *rgmi_op1(const rgm_op_type *type, rgm_value *a, const rgm_attributes *attributes);
rgm_value *rgmi_op2(const rgm_op_type *type, rgm_value *a, rgm_value *b,
                    const rgm_attributes *attributes);
rgm_value *rgmi_op3(const rgm_op_type *type, rgm_value *a, rgm_value *b, rgm_value *c,
                    const rgm_attributes *attributes);
rgm_value *rgmi_op4(const rgm_op_type *type, rgm_value *a, rgm_value *b, rgm_value *c, rgm_value *d,
                    const rgm_attributes *attributes);

/** Whether row i of v is made of row i of the inputs marked in rows [inputs] and of all of the
 * others; *known false: it may be made of any rows. */
rgm_status rgmi_row_needs(bool *known, bool *rows, const rgm_value *v);

/** x with the rows of copies as their owners have them. */
rgm_value *rgmi_exchange_rows(rgm_value *x, const rgm_exchange *exchange);
/** The exchange of an op that begins one or waits for its end. */
const rgm_exchange *rgmi_exchange_of(const rgm_value *v);
/** The dropout that `like`, attributes of one (of items: by_item), says, with a row's number [rows]
 * in place of its place; the numbers are retained. */
rgm_value *rgmi_numbered_dropout(rgm_value *x, const rgm_attributes *like, bool by_item,
                                 rgm_tensor *numbers);

/* ---- dims ---- */

rgm_dim rgmi_dim_sum(rgm_cgraph *graph, rgm_dim a, rgm_dim b);
rgm_dim rgmi_dim_product(rgm_cgraph *graph, rgm_dim a, rgm_dim b);
/** a / b, exact when the symbols cancel. */
rgm_dim rgmi_dim_quotient(rgm_cgraph *graph, rgm_dim a, rgm_dim b);
rgm_dim rgmi_shape_product(rgm_cgraph *graph, const rgm_dim *shape, int rank);
/** Bind derived symbols; free ones are set, or -1. */
void rgmi_symbols_derive(int64_t *bound, const rgmi_symbol *symbols, int64_t count);
static inline int64_t rgmi_dim_bind(rgm_dim dim, const int64_t *bound)
{
    return dim >= 0 ? dim : bound[-dim - 1];
}
/** "nodes/paper", "12" or "(a+b)" at the end of `text` (NUL-terminated, `size` bytes). */
void rgmi_dim_text(char *text, size_t size, const rgm_cgraph *graph, rgm_dim dim);
/** "[32,nodes]"; returns buffer. */
const char *rgmi_shape_text(char *buffer, size_t size, const rgm_value *value);
#define RGMI_TEXT 160

/* ---- for infer and backward functions ---- */

static inline bool rgmi_is_float(rgm_dtype dtype)
{
    return dtype == RGM_F32 || dtype == RGM_F64;
}
static inline bool rgmi_is_index(rgm_dtype dtype)
{
    return dtype == RGM_I32 || dtype == RGM_I64;
}
rgm_status rgmi_need_float(const rgm_value *x, const char *what);
rgm_status rgmi_need_pattern(const rgm_value *p);
rgm_status rgmi_need_rank(const rgm_value *x, const char *what, int lowest);
rgm_status rgmi_same_shape(rgm_op_shape *out, rgm_value *x);
/** For ops on each row of in[0], a float value of rank 1 or more: its dtype and shape. */
rgm_status rgmi_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                           const rgm_attributes *attributes);
/** Rows and the size of the last axis; no rows where that is 0. */
void rgmi_rows_of(int64_t *rows, int64_t *channels, const rgm_view *x);
/** What the gradient of a norm gives at once, flat: [dgamma | dbeta | dx] for x [.., channels], the
 * first two padded. Its shape, its three parts while it runs, and the values that they become: of
 * input 0, `gamma` and the one behind that. */
void rgmi_norm_grad_shape(rgm_op_shape *out, const rgm_value *x);
void rgmi_norm_grad_parts(void **dgamma, void **dbeta, void **dx, const rgm_op_run *run,
                          int64_t channels);
void rgmi_norm_grad_values(rgm_value **dx, int gamma, rgm_value *all, const rgm_value *x,
                           const bool *wanted);
bool rgmi_shapes_equal(const rgm_value *a, const rgm_value *b);
int64_t rgmi_view_count(const rgm_view *view);
/** Product of the sizes from `axis` on. */
int64_t rgmi_view_tail(const rgm_view *view, int axis);
/** run->out = x, which has its count and dtype and may be its memory. */
void rgmi_copy(const rgm_op_run *run, const rgm_view *x);
/** rgm_op_run_index() with an error, for an index of rows. */
rgm_status rgmi_need_rows(const rgm_op_run *run, const rgm_view *index, int64_t least,
                          int64_t rows);
/** dy summed over the axes along which `like` was broadcast: in like's shape. */
rgm_value *rgmi_sum_to(rgm_value *dy, rgm_value *like);
/** x broadcast to the shape. */
rgm_value *rgmi_broadcast_to(rgm_value *x, int rank, const rgm_dim *shape);
rgm_value *rgmi_zeros_like(rgm_value *x);
/** Scalar 1 / max(size, 1). */
rgm_value *rgmi_inverse_dim(rgm_cgraph *graph, rgm_dtype dtype, rgm_dim dim);
/** x [a,b,..] with a size 1 axis put in at `axis`. */
rgm_value *rgmi_expand(rgm_value *x, int axis);
rgm_value *rgmi_slice_dim(rgm_value *x, int axis, rgm_dim begin, rgm_dim size);
rgm_value *rgmi_map_op(const rgm_op_type *type, rgm_map_code code, rgm_value *a, rgm_value *b,
                       double constant);
/** The gradient of act(x) by its output y (or x where the activation needs it). */
rgm_value *rgmi_relu_grad(rgm_value *dy, rgm_value *y);
rgm_value *rgmi_pattern_from_index(rgm_value *index, rgm_dim rows);
rgm_value *rgmi_inverse_degree(rgm_value *p, rgm_dtype dtype, bool self_loop);

/* Which optional inputs of spmm there are, in this order after pattern and x; the last, one number,
 * of spmm_add. */
enum {
    RGMI_SPMM_WEIGHT = 1,
    RGMI_SPMM_ROW = 2,
    RGMI_SPMM_COLUMN = 4,
    RGMI_SPMM_BIAS = 8,
    RGMI_SPMM_BASE_SCALE = 16
};
/* Which rows of a product are computed beside an exchange of some rows of x, or of the result. */
typedef enum rgmi_spmm_rows {
    RGMI_ALL_ROWS,
    RGMI_INNER_ROWS,  /* those before the first that reads a row which is not own */
    RGMI_OUTER_ROWS,  /* the others                                               */
    RGMI_COPIED_ROWS, /* those that are not own */
    RGMI_OWN_ROWS
} rgmi_spmm_rows;
/**
 * The same product, spmm or spmm_add, of some rows; and the one of the other rows, which writes
 * into `first`: the memory of what the first one computed, or of an exchange that has begun with
 * it. `x` is what it reads, once all of it is there.
 */
rgm_value *rgmi_spmm_first(rgm_value *product, rgm_value *x, rgmi_spmm_rows rows, int64_t own);
rgm_value *rgmi_spmm_rest(rgm_value *first, rgm_value *product, rgmi_spmm_rows rows, int64_t own);
typedef struct rgmi_spmm {
    rgm_value *p, *x, *weight, *row_scale, *column_scale, *bias, *base_scale;
    bool self_loop;
    rgm_activation activation;
    double slope;
} rgmi_spmm;
void rgmi_spmm_parts(rgmi_spmm *parts, const rgm_value *value);
/** base: NULL, or a value of the result's shape that is added (then no activation). */
rgm_value *rgmi_spmm_build(const rgmi_spmm *parts, rgm_value *base);

/** RGM_ERR_SHAPE: a parameter's value has another dtype or shape, or is NULL. */
rgm_status rgmi_parameter_fits(const rgm_value *parameter, const rgm_tensor *value);

/** act(op(a) op(b) + bias); bias may be NULL. */
typedef struct rgmi_matmul {
    rgm_value *a, *b, *bias;
    bool trans_a, trans_b;
    rgm_activation activation;
    double slope;
} rgmi_matmul;
void rgmi_matmul_parts(rgmi_matmul *parts, const rgm_value *value);
/** Whether a product of these sizes may be written over a; rows that it then takes at a time. */
enum { RGMI_IN_PLACE = 1 << 21 /* elements */ };
bool rgmi_matmul_in_place(const rgm_attributes *attributes, const rgm_view *a, const rgm_view *y,
                          const rgm_device *device);
int64_t rgmi_matmul_block(int64_t rows);
rgm_value *rgmi_matmul_build(const rgmi_matmul *parts, rgm_value *base);
/** The same, b, a stored matrix, packed for `kernels`. */
rgm_value *rgmi_matmul_pack(const rgmi_matmul *parts, const rgm_kernels *kernels);

/** Elements that a part of this many takes in a flat value of several, so that the next is aligned.
 */
static inline int64_t rgmi_padded(int64_t channels)
{
    return (channels + 15) / 16 * 16;
}

/* ---- map programs ---- */

typedef struct rgmi_program {
    int inputs, steps;
    rgm_map_step step[RGM_MAP_STEPS];
} rgmi_program;
/** Steps of `in`, in elements, along the axes of `out` that it broadcasts to: 0 where it does. */
void rgmi_strides_of(int64_t *stride, const rgm_view *in, const rgm_view *out);
/** Run a program over views with numpy's broadcasting. */
void rgmi_map_run(const rgm_kernels *kernels, const rgm_view *out, const rgm_view *in,
                  const rgmi_program *program);
rgm_value *rgmi_map_fused(rgm_value *const *in, const rgmi_program *program, int rank,
                          const rgm_dim *shape, rgm_cgraph *graph, rgm_dtype dtype);
const rgmi_program *rgmi_map_program(const rgm_value *value);

/* ---- op rows that gradients and passes name ---- */

/** Why gradients have none: rgm_cgraph_gradients() refuses to go through an op that has this text,
 * where a gradient would be lost; others pass none back by what they are. */
extern const char rgmi_second[];

extern const rgm_op_type rgmi_add_op, rgmi_sub_op, rgmi_mul_op, rgmi_div_op, rgmi_scale_op,
    rgmi_shift_op, rgmi_neg_op, rgmi_maximum_op, rgmi_minimum_op, rgmi_greater_op, rgmi_equal_op,
    rgmi_abs_op, rgmi_square_op, rgmi_sqrt_op, rgmi_rsqrt_op, rgmi_reciprocal_op, rgmi_exp_op,
    rgmi_log_op, rgmi_softplus_op, rgmi_floor_at_op, rgmi_sign_op, rgmi_relu_op, rgmi_leaky_relu_op,
    rgmi_elu_op, rgmi_sigmoid_op, rgmi_tanh_op, rgmi_gelu_op, rgmi_gelu_slope_op, rgmi_relu_grad_op,
    rgmi_silu_op, rgmi_silu_slope_op, rgmi_gelu_tanh_op, rgmi_gelu_tanh_slope_op,
    rgmi_leaky_relu_grad_op, rgmi_elu_grad_op, rgmi_sigmoid_grad_op, rgmi_tanh_grad_op,
    rgmi_conv2d_op, rgmi_conv2d_grad_input_op, rgmi_conv2d_grad_kernel_op, rgmi_max_pool2d_op,
    rgmi_max_pool2d_grad_op, rgmi_avg_pool2d_op, rgmi_avg_pool2d_grad_op, rgmi_cast_op,
    rgmi_stop_gradient_op, rgmi_when_training_op, rgmi_dropout_op, rgmi_item_dropout_op,
    rgmi_exchange_op, rgmi_exchange_grad_op, rgmi_arrived_op, rgmi_numbered_dropout_op,
    rgmi_reshape_op, rgmi_permute_op, rgmi_concat_op, rgmi_slice_op, rgmi_slice_grad_op,
    rgmi_broadcast_to_op, rgmi_inverse_dim_op, rgmi_copy_op, rgmi_matmul_op, rgmi_matmul_add_op,
    rgmi_matmul_pack_op, rgmi_matmul_packed_op, rgmi_reduce_op, rgmi_reduce_prod_grad_op,
    rgmi_sum_squares_op, rgmi_product_sum_op, rgmi_argmax_op, rgmi_softmax_op, rgmi_softmax_grad_op,
    rgmi_masked_softmax_op, rgmi_log_softmax_op, rgmi_log_softmax_grad_op, rgmi_cross_entropy_op,
    rgmi_cross_entropy_grad_op, rgmi_attention_op, rgmi_attention_grad_op, rgmi_attention_rows_op,
    rgmi_layer_norm_op, rgmi_layer_norm_grad_op, rgmi_rms_norm_op, rgmi_rms_norm_grad_op,
    rgmi_rotary_op, rgmi_batch_moments_op, rgmi_batch_norm_op, rgmi_batch_norm_grad_op,
    rgmi_l2_normalize_op, rgmi_l2_normalize_grad_op, rgmi_transpose_pattern_op,
    rgmi_add_self_loops_op, rgmi_pattern_from_index_op, rgmi_degree_op, rgmi_spmm_op,
    rgmi_spmm_add_op, rgmi_spmm_rest_op, rgmi_broadcast_rows_op, rgmi_broadcast_columns_op,
    rgmi_pool_rows_op, rgmi_pool_rows_grad_op, rgmi_softmax_rows_op, rgmi_softmax_rows_grad_op,
    rgmi_sddmm_op, rgmi_gatv2_score_op, rgmi_gatv2_grad_op, rgmi_gather_op, rgmi_map_op_type,
    rgmi_dropout_add_op, rgmi_by_rows_op;

#endif
