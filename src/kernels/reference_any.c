/*
 * Rows that every table has: they move elements of any dtype, or have the dtype in their arguments.
 */
#include "kernels_internal.h"

#include <string.h>

static int64_t integer_at(const void *x, rgm_dtype dtype, int64_t i)
{
    if (dtype == RGM_I64)
        return ((const int64_t *)x)[i];
    return dtype == RGM_I32 ? ((const int32_t *)x)[i] : ((const uint8_t *)x)[i];
}

/* ---- by index ---- */

static void gather_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_gather_args o = *(const rgm_gather_args *)payload; /* that no store could change */
    size_t size = (size_t)o.channels;

    for (int64_t i = begin; i < end; i++) {
        int64_t row = o.index_dtype == RGM_I64 ? ((const int64_t *)o.index)[i]
                                               : ((const int32_t *)o.index)[i];
        memcpy((char *)o.y + (size_t)i * size, (const char *)o.x + (size_t)row * size, size);
    }
}

void rgmi_any_gather_bytes(const rgm_gather_args *args)
{
    rgm_parallel(args->count, 5 + 0.1 * (double)args->channels, gather_rows, (void *)args);
}

#define FIRST_OUTSIDE(type)                                                                        \
    do {                                                                                           \
        const type *index = args->index;                                                           \
        for (int64_t i = 0; i < args->count; i++)                                                  \
            if (index[i] < least || index[i] >= limit)                                             \
                return i;                                                                          \
        return args->count;                                                                        \
    } while (0)

static int64_t first_outside(const rgm_index_args *args)
{
    int64_t least = args->least, limit = args->limit;

    if (args->index_dtype == RGM_I32)
        FIRST_OUTSIDE(int32_t);
    FIRST_OUTSIDE(int64_t);
}

void rgmi_any_index_check(const rgm_index_args *args)
{
    int64_t at = first_outside(args);

    if (at == args->count || args->flag->raised != 0)
        return;
    *args->flag = (rgm_index_flag){.raised = 1,
                                   .op = args->op,
                                   .at = at,
                                   .index = integer_at(args->index, args->index_dtype, at)};
}

void rgmi_any_degree(const rgm_degree_args *args)
{
    const int64_t *start = args->csr->row_start;

    for (int64_t r = 0; r < args->csr->rows; r++) {
        int64_t degree = start[r + 1] - start[r];
        switch (args->dtype) {
        case RGM_F32:
            ((float *)args->y)[r] = (float)degree;
            break;
        case RGM_F64:
            ((double *)args->y)[r] = (double)degree;
            break;
        case RGM_I32:
            ((int32_t *)args->y)[r] = (int32_t)degree;
            break;
        default:
            ((int64_t *)args->y)[r] = degree;
            break;
        }
    }
}

/* ---- moving ---- */

static void copy_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_copy_args *o = payload;

    for (int64_t i = begin; i < end; i++) {
        char *to = (char *)o->y + (size_t)i * o->y_step;
        if (o->zeros_before > 0)
            memset(to, 0, o->zeros_before);
        if (o->size > 0) { /* else x may be NULL */
            const char *from = (const char *)o->x + (size_t)i * o->x_step;
            if (from != to + o->zeros_before)
                memcpy(to + o->zeros_before, from, o->size);
        }
        if (o->zeros_behind > 0)
            memset(to + o->zeros_before + o->size, 0, o->zeros_behind);
    }
}

void rgmi_any_copy(const rgm_copy_args *args)
{
    double bytes = (double)(args->zeros_before + args->size + args->zeros_behind);

    rgm_parallel(args->outer, 3 + 0.1 * bytes, copy_blocks, (void *)args);
}

/* One slab of the outermost axis of y, walking the others like an odometer; strides in bytes. */
static void permute_slab(char *to, const char *from, const rgm_permute_args *o, int64_t count)
{
    int64_t at[RGM_MAX_RANK] = {0}, offset = 0;
    size_t size = o->size;

    for (int64_t k = 0; k < count; k++) {
        memcpy(to + (size_t)k * size, from + offset, size);
        for (int axis = o->rank - 1; axis > 0; axis--) {
            offset += o->stride[axis];
            if (++at[axis] < o->shape[axis])
                break;
            offset -= o->stride[axis] * at[axis];
            at[axis] = 0;
        }
    }
}

static int64_t slab_count(const rgm_permute_args *o)
{
    int64_t count = 1;

    for (int axis = 1; axis < o->rank; axis++)
        count *= o->shape[axis];
    return count;
}

static void permute_slabs(void *payload, int64_t begin, int64_t end)
{
    const rgm_permute_args *o = payload;
    int64_t count = slab_count(o);

    for (int64_t i = begin; i < end; i++)
        permute_slab((char *)o->y + (size_t)(i * count) * o->size,
                     (const char *)o->x + i * o->stride[0], o, count);
}

/* Inner axes that stay in their order are moved as one. */
void rgmi_any_permute(const rgm_permute_args *args)
{
    rgm_permute_args o = *args;

    for (int axis = 0; axis < o.rank; axis++)
        o.stride[axis] *= (int64_t)o.size;
    for (; o.rank > 1 && o.stride[o.rank - 1] == (int64_t)o.size; o.rank--)
        o.size *= (size_t)o.shape[o.rank - 1];
    rgm_parallel(o.shape[0], (double)slab_count(&o) * (2 + 0.1 * (double)o.size), permute_slabs,
                 &o);
}

/* ---- cast ---- */

/* A float out of an integer's range takes the nearest end; NaN is 0. C leaves both undefined. */
static int64_t to_integer(double x, double low, double high)
{
    if (x != x)
        return 0;
    if (x <= low)
        return low < -1e18 ? INT64_MIN : (int64_t)low;
    if (x >= high)
        return high > 1e18 ? INT64_MAX : (int64_t)high;
    return (int64_t)x;
}

#define CAST_LOOP(to_type, from_type, value)                                                       \
    for (int64_t i = begin; i < end; i++) {                                                        \
        from_type x = ((const from_type *)o->x)[i];                                                \
        ((to_type *)o->y)[i] = (to_type)(value);                                                   \
    }                                                                                              \
    break
#define CAST_FROM(from_type, as_i32, as_i64)                                                       \
    switch (o->to) {                                                                               \
    case RGM_F32:                                                                                  \
        CAST_LOOP(float, from_type, x);                                                            \
    case RGM_F64:                                                                                  \
        CAST_LOOP(double, from_type, x);                                                           \
    case RGM_I32:                                                                                  \
        CAST_LOOP(int32_t, from_type, as_i32);                                                     \
    case RGM_I64:                                                                                  \
        CAST_LOOP(int64_t, from_type, as_i64);                                                     \
    default:                                                                                       \
        CAST_LOOP(uint8_t, from_type, x != 0);                                                     \
    }                                                                                              \
    break
#define CAST_FROM_FLOAT(from_type)                                                                 \
    CAST_FROM(from_type, to_integer((double)x, INT32_MIN, INT32_MAX),                              \
              to_integer((double)x, -0x1p63, 0x1p63))
#define CAST_FROM_INTEGER(from_type) CAST_FROM(from_type, x, x)

static void cast_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_cast_args *o = payload;

    switch (o->from) {
    case RGM_F32:
        CAST_FROM_FLOAT(float);
    case RGM_F64:
        CAST_FROM_FLOAT(double);
    case RGM_I32:
        CAST_FROM_INTEGER(int32_t);
    case RGM_I64:
        CAST_FROM_INTEGER(int64_t);
    default:
        CAST_FROM_INTEGER(uint8_t);
    }
}

void rgmi_any_cast(const rgm_cast_args *args)
{
    rgm_parallel(args->count, 1, cast_range, (void *)args);
}

/* ---- equal ---- */

static void equal_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_equal_args *o = payload;

    for (int64_t i = begin; i < end; i++) {
        int64_t a = 0, b = 0, rest = i;
        for (int axis = o->rank - 1; axis >= 0; axis--) {
            int64_t at = rest % o->shape[axis];
            rest /= o->shape[axis];
            a += at * o->stride[0][axis];
            b += at * o->stride[1][axis];
        }
        o->y[i] = integer_at(o->a, o->dtype, a) == integer_at(o->b, o->dtype, b) ? 1.0F : 0.0F;
    }
}

void rgmi_any_equal(const rgm_equal_args *args)
{
    int64_t count = 1;

    for (int axis = 0; axis < args->rank; axis++)
        count *= args->shape[axis];
    rgm_parallel(count, 10, equal_range, (void *)args);
}

/* ---- swap ---- */

#define SWAP_BLOCK 4096 /* bytes of one item */

static void swap_blocks(void *payload, int64_t begin, int64_t end)
{
    const rgm_swap_args *o = payload;
    char block[SWAP_BLOCK], *a = o->a, *b = o->b;

    for (int64_t i = begin; i < end; i++) {
        size_t at = (size_t)i * SWAP_BLOCK, rest = o->bytes - at;
        size_t n = rest < SWAP_BLOCK ? rest : SWAP_BLOCK;

        memcpy(block, a + at, n);
        memcpy(a + at, b + at, n);
        memcpy(b + at, block, n);
    }
}

void rgmi_any_swap(const rgm_swap_args *args)
{
    rgm_parallel(rgmi_blocks((int64_t)args->bytes, SWAP_BLOCK), 400, swap_blocks,
                 (void *)(uintptr_t)args);
}
