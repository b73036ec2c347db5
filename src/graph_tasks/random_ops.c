/*
 * Ops that draw: masks, orders, entries that stay; and the patterns made of what was drawn. None
 * has a gradient: features and edges are data.
 */
#include "random_ops.h"

#include <stdlib.h>
#include <string.h>

static const char no_gradient[] = "drawn by chance";

static rgm_rng stream_of(const rgm_op_run *run)
{
    return rgm_rng_stream(run->seed, run->attributes->text, run->step);
}

/* ---- masks: number[0] = rate, integer[0] = dtype, [1] = rank, then the shape ---- */

static rgm_status mask_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    (void)in, (void)inputs;
    out->dtype = (rgm_dtype)attributes->integer[0];
    out->rank = (int)attributes->integer[1];
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = attributes->integer[2 + i];
    return RGM_OK;
}

static rgm_status mask_forward(rgm_op_run *run)
{
    rgm_rng rng = stream_of(run);
    double edge = run->attributes->number[0] * 4294967296.0;
    int64_t count = 1;
    uint32_t words[4];

    for (int i = 0; i < run->out->rank; i++)
        count *= run->out->shape[i];
    for (int64_t i = 0; i < count; i++) {
        if (i % 4 == 0)
            rgm_rng_block(&rng, (uint64_t)i / 4, words);
        if (run->out->dtype == RGM_F64)
            ((double *)run->out->data)[i] = words[i % 4] >= edge;
        else
            ((float *)run->out->data)[i] = words[i % 4] >= edge;
    }
    return RGM_OK;
}

static const rgm_op_type mask_op = {
    .name = "draw_mask",
    .arity = 0,
    .infer = mask_infer,
    .forward = mask_forward,
    .on_host = true,
    .no_gradient = no_gradient,
    .random = true,
};

rgm_value *rgmi_draw_mask(rgm_cgraph *graph, rgm_dtype dtype, int rank, const rgm_dim *shape,
                          double rate, const char *stream)
{
    rgm_attributes attributes = {.number[0] = rate, .integer = {dtype, rank}, .text = stream};

    for (int i = 0; i < rank; i++)
        attributes.integer[2 + i] = shape[i];
    return rgm_op(graph, &mask_op, NULL, 0, &attributes);
}

/* ---- orders: number[0] = rate; inputs: real, maybe a membership ---- */

static rgm_status order_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                              const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    out->dtype = RGM_I64;
    out->rank = 1;
    out->shape[0] = rgm_value_dim(in[0], 0);
    return RGM_OK;
}

typedef struct drawn {
    double key;
    int64_t item;
} drawn;

static int by_key(const void *a, const void *b)
{
    const drawn *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return (x->item > y->item) - (x->item < y->item);
}

/* The first of the items by a random key change places: by another key of theirs. */
static void shuffle_group(int64_t *order, drawn *group, int64_t count, double rate,
                          const rgm_rng *rng, int64_t total)
{
    int64_t moved = (int64_t)(rate * (double)count);
    drawn *to = group + count;

    moved += (double)moved < rate * (double)count;
    qsort(group, (size_t)count, sizeof *group, by_key);
    for (int64_t i = 0; i < moved; i++)
        to[i] = (drawn){rgm_rng_f64(rng, (uint64_t)(total + group[i].item)), group[i].item};
    qsort(to, (size_t)moved, sizeof *to, by_key);
    for (int64_t i = 0; i < moved; i++)
        order[group[i].item] = to[i].item;
}

static bool is_real(const rgm_view *real, int64_t item)
{
    return real->dtype == RGM_F64 ? ((const double *)real->data)[item] != 0
                                  : ((const float *)real->data)[item] != 0;
}

static rgm_status order_forward(rgm_op_run *run)
{
    const rgm_view *real = &run->in[0], *members = run->inputs == 2 ? &run->in[1] : NULL;
    int64_t n = run->out->shape[0], groups = members != NULL ? members->shape[0] : 1;
    int64_t *order = run->out->data;
    rgm_rng rng = stream_of(run);
    drawn *group;

    RGM_TRY(RGM_NEW(group, 2 * n));
    for (int64_t i = 0; i < n; i++)
        order[i] = i;
    for (int64_t g = 0; g < groups; g++) {
        int64_t begin = members != NULL ? members->csr->row_start[g] : 0, count = 0;
        int64_t end = members != NULL ? members->csr->row_start[g + 1] : n;

        for (int64_t k = begin; k < end; k++) {
            int64_t item = members != NULL ? members->csr->column[k] : k;

            if (is_real(real, item))
                group[count++] = (drawn){rgm_rng_f64(&rng, (uint64_t)item), item};
        }
        shuffle_group(order, group, count, run->attributes->number[0], &rng, n);
    }
    rgm_free(group);
    return RGM_OK;
}

static const rgm_op_type order_op = {
    .name = "draw_order",
    .arity = -1,
    .infer = order_infer,
    .forward = order_forward,
    .on_host = true,
    .no_gradient = no_gradient,
    .random = true,
};

rgm_value *rgmi_draw_order(rgm_value *real, rgm_value *membership, double rate, const char *stream)
{
    rgm_attributes attributes = {.number[0] = rate, .text = stream};
    rgm_value *in[2] = {real, membership};

    if (real == NULL)
        return NULL;
    return rgm_op(rgm_value_graph(real), &order_op, in, membership != NULL ? 2 : 1, &attributes);
}

/* ---- entries that stay: number[0] = rate, integer[0] = how many, [1] = of how many ---- */

static rgm_status entries_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                                const rgm_attributes *attributes)
{
    (void)in, (void)inputs;
    out->dtype = RGM_I64;
    out->rank = 1;
    out->shape[0] = attributes->integer[0];
    return RGM_OK;
}

/* Each entry stays with the chance that leaves as many as must (Knuth's algorithm S). */
static rgm_status entries_forward(rgm_op_run *run)
{
    int64_t left = run->out->shape[0], *index = run->out->data;
    int64_t total = rgm_op_run_dim(run, run->attributes->integer[1]);
    rgm_rng rng = stream_of(run);

    for (int64_t i = 0; i < total && left > 0; i++)
        if (rgm_rng_f64(&rng, (uint64_t)i) * (double)(total - i) < (double)left) {
            *index++ = i;
            left--;
        }
    return RGM_OK;
}

static const rgm_op_type entries_op = {
    .name = "draw_entries",
    .arity = 0,
    .infer = entries_infer,
    .forward = entries_forward,
    .on_host = true,
    .no_gradient = no_gradient,
    .random = true,
};

rgm_value *rgmi_draw_entries(rgm_value *pattern, double rate, const char *stream)
{
    rgm_attributes attributes = {.number[0] = rate, .text = stream};
    rgm_cgraph *graph = rgm_value_graph(pattern);

    attributes.integer[1] = rgm_value_dim(pattern, 2);
    attributes.integer[0] = rgm_dim_rest(graph, attributes.integer[1], rate);
    return rgm_op(graph, &entries_op, NULL, 0, &attributes);
}

/* ---- patterns of what was drawn ---- */

static void pattern_shape(rgm_op_shape *out, const rgm_value *like, rgm_dim count)
{
    *out = (rgm_op_shape){.is_pattern = true, .dtype = RGM_I32, .rank = 3};
    out->shape[0] = rgm_value_dim(like, 0);
    out->shape[1] = rgm_value_dim(like, 1);
    out->shape[2] = count;
}

static rgm_status rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                             const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    pattern_shape(out, in[0], rgm_value_dim(in[0], 2));
    return RGM_OK;
}

static rgm_status rows_forward(rgm_op_run *run)
{
    const rgm_csr *from = run->in[0].csr;
    const int64_t *order = run->in[1].data;
    int64_t rows = run->out->shape[0], *start = NULL, *column, at = 0;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(start, rows + 1 + from->count));
    column = start + rows + 1;
    for (int64_t r = 0; r < rows; r++) {
        start[r] = at;
        for (int64_t k = from->row_start[order[r]]; k < from->row_start[order[r] + 1]; k++)
            column[at++] = from->column[k];
    }
    start[rows] = at;
    RGM_GO(rgm_pattern_from_rows(&run->out->pattern, rows, run->out->shape[1], start, column));
done:
    rgm_free(start);
    return status;
}

static const rgm_op_type rows_op = {
    .name = "pattern_rows",
    .arity = 2,
    .infer = rows_infer,
    .forward = rows_forward,
    .on_host = true,
    .no_gradient = "gives a pattern",
};

rgm_value *rgmi_pattern_rows(rgm_value *pattern, rgm_value *order)
{
    rgm_value *in[2] = {pattern, order};

    return pattern == NULL ? NULL : rgm_op(rgm_value_graph(pattern), &rows_op, in, 2, NULL);
}

static rgm_status picked_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                               const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    pattern_shape(out, in[0], rgm_value_dim(in[1], 0));
    return RGM_OK;
}

static rgm_status picked_forward(rgm_op_run *run)
{
    const rgm_view *from = &run->in[0];
    const int64_t *index = run->in[1].data;
    int64_t count = run->out->shape[2], *row = NULL, *column;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(row, 2 * count));
    column = row + count;
    for (int64_t i = 0; i < count; i++) {
        row[i] = from->row_of[index[i]];
        column[i] = from->column_of[index[i]];
    }
    RGM_GO(rgm_pattern_create(&run->out->pattern, run->out->shape[0], run->out->shape[1], count,
                              row, column));
done:
    rgm_free(row);
    return status;
}

static const rgm_op_type picked_op = {
    .name = "pattern_entries",
    .arity = 2,
    .infer = picked_infer,
    .forward = picked_forward,
    .on_host = true,
    .no_gradient = "gives a pattern",
};

rgm_value *rgmi_pattern_entries(rgm_value *pattern, rgm_value *index)
{
    rgm_value *in[2] = {pattern, index};

    return pattern == NULL ? NULL : rgm_op(rgm_value_graph(pattern), &picked_op, in, 2, NULL);
}
