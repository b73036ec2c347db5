/*
 * What a call of a row of the kernel table computes and moves, from its arguments alone.
 *
 * flops: a multiplication and an addition each of products, of anything else one an element and
 * instruction. bytes: inputs and outputs once, but rows that are gathered as often as they are
 * read, unless their table fits a large GPU's second-level cache: then once. What a GPU's row
 * computes again rather than keep is added where on_gpu; memory that it takes to pass sums between
 * its kernels is counted where it is taken.
 */
#ifndef RGM_COUNT_COSTS_H
#define RGM_COUNT_COSTS_H

#include <regimen/kernels.h>

/** Of an H100. */
#define BENCH_CACHE 50e6

typedef struct bench_cost {
    double flops, bytes;
    bool is_product; /* by matrix units, where the table's products are bf16 */
} bench_cost;

/** `count` rows of `row` bytes out of a table of so many rows. */
static inline double gathered(double count, double rows, double row)
{
    double table = rows * row;

    return table <= BENCH_CACHE && table < count * row ? table : count * row;
}

static inline double csr_bytes(const rgm_csr *csr)
{
    return 8.0 * (double)(csr->rows + 1) + (csr->entry != NULL ? 8.0 : 4.0) * (double)csr->count +
           (csr->visit != NULL ? 4.0 * (double)csr->rows : 0);
}

static inline double elements_of(int rank, const int64_t *shape)
{
    double count = 1;

    for (int i = 0; i < rank; i++)
        count *= (double)shape[i];
    return count;
}

/* An input that is read by stride: as many elements as it has. */
static inline double strided(int rank, const int64_t *shape, const int64_t *stride)
{
    double count = 1;

    for (int i = 0; i < rank; i++)
        count *= stride[i] != 0 ? (double)shape[i] : 1;
    return count;
}

/** A row's cost, by its name. `s`: bytes of an element. */
#define COST(name, type) static inline bench_cost cost_##name(const type *a, double s, bool on_gpu)
#define UNUSED           (void)a, (void)s, (void)on_gpu
#define IS               (bench_cost)

COST(matmul, rgm_matmul_args)
{
    double m = (double)a->m, n = (double)a->n, k = (double)a->k, batch = (double)a->batch;
    double b = a->stride_b == 0 && a->batch > 1 ? k * n : batch * k * n;

    UNUSED;
    return IS{batch * m * n * (2 * k + (a->bias != NULL) + (a->activation != RGM_ACT_NONE)),
              s * (batch * (m * k + m * n * (a->accumulate ? 2 : 1)) + b), true};
}

COST(matmul_pack, rgm_matmul_args)
{
    UNUSED;
    return IS{0, a->c != NULL ? 2 * s * (double)a->k * (double)a->n : 0, false};
}

COST(spmm, rgm_spmm_args)
{
    const rgm_csr *csr = a->csr;
    int64_t end = a->end_row > 0 ? a->end_row : csr->rows;
    double e = csr->rows > 0 ? (double)(csr->row_start[end] - csr->row_start[a->first_row]) : 0;
    double r = (double)(end - a->first_row), c = (double)a->channels;
    double read = e + (a->self_loop ? r : 0);

    UNUSED;
    return IS{2 * read * c,
              csr_bytes(a->csr) + gathered(read, (double)a->csr->columns, s * c) + r * c * s +
                  (a->weight != NULL ? e * s * (double)a->heads : 0) +
                  (a->base != NULL ? r * c * s : 0),
              false};
}

COST(sddmm, rgm_sddmm_args)
{
    double e = (double)a->csr->count, h = (double)a->heads, c = h * (double)a->depth;

    UNUSED;
    return IS{2 * e * c,
              csr_bytes(a->csr) + gathered(e, (double)a->csr->columns, s * c) +
                  (double)a->csr->rows * c * s + e * h * s,
              false};
}

COST(gatv2_score, rgm_gatv2_args)
{
    double e = (double)a->csr->count, h = (double)a->heads, c = h * (double)a->depth;

    UNUSED;
    return IS{4 * e * c,
              csr_bytes(a->csr) + gathered(e, (double)a->csr->columns, s * c) +
                  (double)a->csr->rows * c * s + e * h * s,
              false};
}

COST(gatv2_grad, rgm_gatv2_args)
{
    double e = (double)a->csr->count, h = (double)a->heads, c = h * (double)a->depth;

    UNUSED;
    return IS{4 * e * c,
              csr_bytes(a->csr) + gathered(e, (double)a->csr->columns, s * c) +
                  2 * (double)a->csr->rows * c * s + e * h * s,
              false};
}

COST(segment_reduce, rgm_segment_args)
{
    double e = (double)a->csr->count, c = (double)a->channels;

    UNUSED;
    return IS{e * c, csr_bytes(a->csr) + e * c * s + (double)a->csr->rows * c * s, false};
}

COST(segment_reduce_grad, rgm_segment_args)
{
    double e = (double)a->csr->count, c = (double)a->channels, r = (double)a->csr->rows;
    bool sums = a->reduction == RGM_SUM || a->reduction == RGM_MEAN;

    UNUSED;
    return IS{(sums ? 1 : 3) * e * c, csr_bytes(a->csr) + (sums ? e + r : 2 * e + 2 * r) * c * s,
              false};
}

COST(segment_softmax, rgm_segment_softmax_args)
{
    double n = (double)a->csr->count * (double)a->channels;

    UNUSED;
    return IS{4 * n, csr_bytes(a->csr) + 2 * n * s, false};
}

COST(segment_softmax_grad, rgm_segment_softmax_args)
{
    double n = (double)a->csr->count * (double)a->channels;

    UNUSED;
    return IS{4 * n, csr_bytes(a->csr) + 3 * n * s, false};
}

static inline double index_bytes(rgm_dtype dtype)
{
    return (double)rgm_dtype_size(dtype);
}

COST(gather, rgm_gather_args)
{
    double n = (double)a->count;

    UNUSED;
    return IS{0, n * (2 * (double)a->channels * s + index_bytes(a->index_dtype)), false};
}

COST(gather_bytes, rgm_gather_args)
{
    UNUSED;
    return cost_gather(a, 1, on_gpu);
}

COST(index_check, rgm_index_args)
{
    UNUSED;
    return IS{0, (double)a->count * index_bytes(a->index_dtype), false};
}

COST(degree, rgm_degree_args)
{
    UNUSED;
    return IS{0, (double)a->csr->rows * (8 + index_bytes(a->dtype)), false};
}

COST(copy, rgm_copy_args)
{
    UNUSED;
    return IS{0,
              (double)a->outer *
                  (double)(2 * a->size * (a->x != a->y) + a->zeros_before + a->zeros_behind),
              false};
}

COST(permute, rgm_permute_args)
{
    UNUSED;
    return IS{0, 2 * elements_of(a->rank, a->shape) * (double)a->size, false};
}

COST(cast, rgm_cast_args)
{
    UNUSED;
    return IS{0, (double)a->count * (index_bytes(a->to) + index_bytes(a->from)), false};
}

COST(equal, rgm_equal_args)
{
    double n = elements_of(a->rank, a->shape);

    UNUSED;
    return IS{n,
              4 * n + index_bytes(a->dtype) * (strided(a->rank, a->shape, a->stride[0]) +
                                               strided(a->rank, a->shape, a->stride[1])),
              false};
}

COST(fill, rgm_fill_args)
{
    UNUSED;
    return IS{0, (double)a->count * s, false};
}

COST(map, rgm_map_args)
{
    double n = elements_of(a->rank, a->shape), moved = n;

    UNUSED;
    for (int k = 0; k < a->inputs; k++)
        moved += strided(a->rank, a->shape, a->stride[k]);
    return IS{n * a->steps, s * moved, false};
}

COST(dropout, rgm_dropout_args)
{
    double numbers = a->number != NULL ? 8.0 * (double)a->count / (double)a->width : 0;

    UNUSED;
    return IS{2.0 * (double)a->count,
              s * (double)a->count * (a->residual != NULL ? 3 : 2) + numbers, false};
}

COST(reduce, rgm_reduce_args)
{
    double n = (double)(a->outer * a->axis * a->inner);

    UNUSED;
    return IS{n * (a->factor != NULL ? 2 : 1),
              s * (n * (a->factor != NULL ? 2 : 1) + (double)(a->outer * a->inner)), false};
}

COST(reduce_prod_grad, rgm_reduce_args)
{
    double n = (double)(a->outer * a->axis * a->inner);

    UNUSED;
    return IS{2 * n, s * (2 * n + (double)(a->outer * a->inner)), false};
}

COST(argmax, rgm_argmax_args)
{
    UNUSED;
    return IS{(double)(a->rows * a->channels), (double)a->rows * (8 + s * (double)a->channels),
              false};
}

COST(softmax, rgm_softmax_args)
{
    double n = (double)(a->rows * a->channels);

    UNUSED;
    return IS{4 * n, 2 * n * s, false};
}

COST(softmax_grad, rgm_softmax_args)
{
    double n = (double)(a->rows * a->channels);

    UNUSED;
    return IS{4 * n, 3 * n * s, false};
}

COST(cross_entropy, rgm_cross_entropy_args)
{
    double n = (double)(a->rows * a->channels);

    UNUSED;
    return IS{4 * n, n * s + (double)a->rows * (s + index_bytes(a->label_dtype)), false};
}

COST(cross_entropy_grad, rgm_cross_entropy_args)
{
    double n = (double)(a->rows * a->channels);

    UNUSED;
    return IS{4 * n, 2 * n * s + (double)a->rows * (s + index_bytes(a->label_dtype)), false};
}

/* Keys that the queries of an item see by their order and windows; segments are not counted. */
static inline double attention_pairs(const rgm_attention_args *a)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < a->queries; i++) {
        int64_t at = i + a->keys - a->queries, first = 0, end = a->keys;
        if (a->window > 0 && at - a->window + 1 > 0)
            first = at - a->window + 1;
        if (a->window > 0 && at + a->window < end)
            end = at + a->window;
        if (a->causal && at + 1 < end)
            end = at + 1;
        sum += end > first ? end - first : 0;
    }
    return (double)sum;
}

/* Products of queries and keys: of each pair and unit of depth two operations. */
static inline bench_cost attention_cost(const rgm_attention_args *a, double s, double products,
                                        double sides)
{
    double pairs = (double)(a->batch * a->heads) * attention_pairs(a);
    int64_t kv_heads = a->kv_heads > 0 ? a->kv_heads : a->heads;
    double side =
        (double)(a->batch * a->depth) * (double)(a->queries * a->heads + a->keys * kv_heads);

    return IS{pairs * (2 * products * (double)a->depth + 4), sides * side * s, false};
}

COST(rotary, rgm_rotary_args)
{
    double n = (double)(a->rows * a->heads * a->depth);

    UNUSED;
    return IS{3 * n, 2 * n * s + (double)a->positions * (8 + s * (double)a->depth), false};
}

COST(attention, rgm_attention_args)
{
    UNUSED;
    return attention_cost(a, s, 2, 2);
}

COST(attention_grad, rgm_attention_args)
{
    UNUSED;
    return attention_cost(a, s, on_gpu ? 8 : 5, on_gpu ? 6 : 4);
}

COST(attention_rows, rgm_attention_rows_args)
{
    double keys = (double)a->batch * (double)(a->keys + (a->newest_k != NULL));
    double width = (double)(a->heads * a->depth);
    double key_width = a->kv_heads > 0 ? (double)(a->kv_heads * a->depth) : width;

    UNUSED;
    return IS{4 * keys * width * (double)a->queries,
              s * 2 * (key_width * keys + width * (double)(a->batch * a->queries)) +
                  8 * (double)(a->batch * a->keys),
              false};
}

COST(top_log_softmax, rgm_top_args)
{
    double n = (double)(a->rows * a->channels);

    UNUSED;
    return IS{4 * n, n * s + (double)(a->rows * a->count) * (8 + s), false};
}

/* Of rows of channels: so many operations, and so often their elements. */
#define ROWS_COST(name, type, operations, times)                                                   \
    COST(name, type)                                                                               \
    {                                                                                              \
        double n = (double)(a->rows * a->channels);                                                \
                                                                                                   \
        UNUSED;                                                                                    \
        return IS{(operations)*n, n * s * (times), false};                                         \
    }
ROWS_COST(layer_norm, rgm_layer_norm_args, 6, (a->residual != NULL ? 3 : 2))
ROWS_COST(layer_norm_grad, rgm_layer_norm_args, 10, (a->residual != NULL ? 4 : 3))
ROWS_COST(batch_moments, rgm_batch_norm_args, 4, 2)
ROWS_COST(batch_norm, rgm_batch_norm_args, 4, 2)
ROWS_COST(batch_norm_grad, rgm_batch_norm_args, 10, 5)
ROWS_COST(l2_normalize, rgm_l2_normalize_args, 3, 2)
ROWS_COST(l2_normalize_grad, rgm_l2_normalize_args, 6, 4)

/* Images, places and kernels once each. */
static inline bench_cost window_cost(const rgm_window *w, double filters, double s, double images,
                                     double places)
{
    double taps = (double)(w->size[0] * w->size[1]);
    double in = (double)(w->count * w->in[0] * w->in[1] * w->channels);
    double out = (double)(w->count * w->out[0] * w->out[1]);
    bool is_product = filters > 0;

    if (!is_product)
        return IS{out * (double)w->channels * taps,
                  s * (images * in + places * out * (double)w->channels), false};
    return IS{2 * out * taps * (double)w->channels * filters,
              s * (in + out * filters + taps * (double)w->channels * filters), true};
}

COST(conv2d, rgm_conv2d_args)
{
    UNUSED;
    return window_cost(&a->window, (double)a->filters, s, 1, 1);
}

COST(conv2d_grad_input, rgm_conv2d_args)
{
    return cost_conv2d(a, s, on_gpu);
}

COST(conv2d_grad_kernel, rgm_conv2d_args)
{
    return cost_conv2d(a, s, on_gpu);
}

COST(max_pool2d, rgm_pool2d_args)
{
    UNUSED;
    return window_cost(&a->window, 0, s, 1, 1);
}

COST(max_pool2d_grad, rgm_pool2d_args)
{
    UNUSED;
    return window_cost(&a->window, 0, s, 2, 2);
}

COST(avg_pool2d, rgm_pool2d_args)
{
    return cost_max_pool2d(a, s, on_gpu);
}

COST(avg_pool2d_grad, rgm_pool2d_args)
{
    return cost_max_pool2d(a, s, on_gpu);
}

/* A sweep: operations an element, and how many arrays are read or written. */
#define SWEEP(name, type, operations, arrays)                                                      \
    COST(name, type)                                                                               \
    {                                                                                              \
        UNUSED;                                                                                    \
        return IS{(operations) * (double)a->count, s * (arrays) * (double)a->count, false};        \
    }

SWEEP(adam, rgm_adam_args, 12, 7)
SWEEP(amsgrad, rgm_adam_args, 13, 9)
SWEEP(sgd, rgm_sgd_args, 4, a->m != NULL ? 5 : 3)
SWEEP(rmsprop, rgm_rmsprop_args, 10, 5 + 2 * (a->mean != NULL) + 2 * (a->momentum != NULL))
SWEEP(adagrad, rgm_adagrad_args, 6, 5)
SWEEP(lamb_direction, rgm_lamb_args, 12, 7)
SWEEP(lars_direction, rgm_lars_args, 4, a->m != NULL ? 5 : 3)
SWEEP(adafactor_direction, rgm_adafactor_args, 8, a->v != NULL ? 5 : 4)
SWEEP(adafactor_move, rgm_adafactor_move_args, 4, a->m != NULL ? 5 : 3)
SWEEP(clip, rgm_clip_args, 1, 2)
SWEEP(average, rgm_average_args, 3, 3)
SWEEP(sum_of_squares, rgm_flat_args, 2, 1)
SWEEP(all_finite, rgm_flat_args, 1, 1)

COST(swap, rgm_swap_args)
{
    UNUSED;
    return IS{0, 4.0 * (double)a->bytes, false};
}

COST(squares, rgm_squares_args)
{
    double count = 0;

    UNUSED;
    for (int64_t i = 0; i < a->arrays; i++)
        count += (double)a->count[i];
    return IS{2 * count, s * count, false};
}

#undef SWEEP
#undef COST
#undef UNUSED
#undef IS

#endif
