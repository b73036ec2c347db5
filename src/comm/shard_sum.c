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
    } else if (a->dtype == RGM_BF16) {
        uint16_t *out = a->out;
        const uint16_t *low = a->low, *high = a->high;

        for (int64_t i = from; i < to; i++)
            out[i] = rgm_bf16_from(rgm_bf16_to(low[i]) + rgm_bf16_to(high[i]));
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
    if (!rgmi_is_summed(dtype))
        return RGM_FAIL(RGM_ERR_ARG, "sums over shards are of f32, f64 or bf16, not of %s",
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

static char *held_at(const rgm_shard_sum *sum, int level, int64_t from)
{
    return sum->held + (size_t)level * array_bytes(sum) + (size_t)from * rgm_dtype_size(sum->dtype);
}

/* Add what is held of the subtrees that this shard completes; returns how many these are. */
static int complete(rgm_shard_sum *sum, int64_t shard, void *values, int64_t from, int64_t to)
{
    char *mine = (char *)values + (size_t)from * rgm_dtype_size(sum->dtype);
    int level = 0;

    for (; shard >> level & 1; level++) {
        addition a = {mine, held_at(sum, level, from), mine, to - from, sum->dtype};

        rgm_parallel((to - from + BLOCK - 1) / BLOCK, BLOCK * 0.3, add_blocks, &a);
    }
    return level;
}

void rgm_shard_sum_add_part(rgm_shard_sum *sum, void *values, int64_t from, int64_t to)
{
    if (to > from)
        (void)complete(sum, sum->shards - 1, values, from, to);
}

bool rgm_shard_sum_add(rgm_shard_sum *sum, void *values)
{
    int64_t shard = sum->given++;
    int level = complete(sum, shard, values, 0, sum->size);

    if (sum->given == sum->shards) {
        sum->given = 0;
        return true;
    }
    if (sum->size > 0)
        memcpy(held_at(sum, level, 0), values, (size_t)sum->size * rgm_dtype_size(sum->dtype));
    return false;
}
