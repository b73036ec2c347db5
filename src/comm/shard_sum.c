/*
 * The sum over a rank's shards, given one by one. As in a binary counter, the number of shards that
 * were given says which subtrees are complete: array k holds the sum of 2^k shards where bit k is
 * set, and a new shard is added to those that it completes, lower + higher.
 */
#include "comm_internal.h"

#include <string.h>

#define BLOCK 4096 /* numbers that one thread adds at a time */

struct rgm_shard_sum {
    rgm_dtype dtype;
    int64_t size, shards;
    int64_t given; /* shards since the first */
    int levels;    /* log2(shards)           */
    char *held;    /* [levels] arrays        */
};

/* ---- one addition -------------------------------------------------------------------------- */

typedef struct addition {
    void *out;
    const void *low, *high;
    int64_t size;
    rgm_dtype dtype;
} addition;

static void add_blocks(void *payload, int64_t begin, int64_t end)
{
    const addition *a = payload;
    int64_t from = begin * BLOCK, to = end * BLOCK < a->size ? end * BLOCK : a->size;

    if (a->dtype == RGM_F64) {
        double *out = a->out;
        const double *low = a->low, *high = a->high;

        for (int64_t i = from; i < to; i++)
            out[i] = low[i] + high[i];
    } else {
        float *out = a->out;
        const float *low = a->low, *high = a->high;

        for (int64_t i = from; i < to; i++)
            out[i] = low[i] + high[i];
    }
}

void rgmi_add_arrays(void *out, const void *low, const void *high, int64_t size, rgm_dtype dtype)
{
    addition a = {out, low, high, size, dtype};

    add_blocks(&a, 0, (size + BLOCK - 1) / BLOCK);
}

/* ---- the tree ------------------------------------------------------------------------------ */

static size_t array_bytes(const rgm_shard_sum *sum)
{
    size_t bytes = (size_t)sum->size * rgm_dtype_size(sum->dtype);

    return (bytes + 63) / 64 * 64;
}

rgm_status rgm_shard_sum_create(rgm_shard_sum **out, rgm_dtype dtype, int64_t size, int64_t shards)
{
    rgm_status status = RGM_OK;
    rgm_shard_sum *sum = NULL;

    *out = NULL;
    if (dtype != RGM_F32 && dtype != RGM_F64)
        return RGM_FAIL(RGM_ERR_ARG, "sums over shards are of f32 or f64, not of %s",
                        rgm_dtype_name(dtype));
    if (size < 0 || shards < 1 || (shards & (shards - 1)) != 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld numbers of %lld shards: shards are a power of two",
                        (long long)size, (long long)shards);
    RGM_GO(RGM_NEW(sum, 1));
    sum->dtype = dtype;
    sum->size = size;
    sum->shards = shards;
    while ((int64_t)1 << sum->levels < shards)
        sum->levels++;
    if (sum->levels > 0) {
        sum->held = rgm_calloc(sum->levels, array_bytes(sum));
        if (sum->held == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: sums over %lld shards of %lld numbers",
                            (long long)shards, (long long)size));
    }
    *out = sum;
    sum = NULL;
done:
    rgm_shard_sum_release(sum);
    return status;
}

void rgm_shard_sum_release(rgm_shard_sum *sum)
{
    if (sum == NULL)
        return;
    rgm_free(sum->held);
    rgm_free(sum);
}

void rgm_shard_sum_reset(rgm_shard_sum *sum)
{
    sum->given = 0;
}

bool rgm_shard_sum_add(rgm_shard_sum *sum, void *values)
{
    int64_t shard = sum->given++, blocks = (sum->size + BLOCK - 1) / BLOCK;
    int level = 0;

    for (; shard >> level & 1; level++) {
        addition a = {values, sum->held + (size_t)level * array_bytes(sum), values, sum->size,
                      sum->dtype};

        rgm_parallel(blocks, BLOCK * 0.3, add_blocks, &a);
    }
    if (sum->given == sum->shards) {
        sum->given = 0;
        return true;
    }
    if (sum->size > 0)
        memcpy(sum->held + (size_t)level * array_bytes(sum), values,
               (size_t)sum->size * rgm_dtype_size(sum->dtype));
    return false;
}
