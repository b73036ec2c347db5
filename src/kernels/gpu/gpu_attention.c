/*
 * Attention of heads and its gradient, which computes the scores again.
 */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(attention, attention);
RGMI_GPU_KERNEL(attention, attention_grad_q);
RGMI_GPU_KERNEL(attention, attention_grad_kv);

enum { TILE = 64, LANES = 256 }; /* as in attention.dev */

/* Whether four neighbours of each operand may be read at once. */
static bool is_wide(rgm_dtype real, const rgm_attention_args *o)
{
    return o->depth % 4 == 0 && rgmi_gpu_is_aligned(real, o->q, o->k, o->v) &&
           rgmi_gpu_is_aligned(real, o->y, o->dy, o->dq) &&
           rgmi_gpu_is_aligned(real, o->dk, o->dv, NULL);
}

/* SHAPE of attention.dev. */
#define SHAPE(real, o)                                                                             \
    rgm_integer((o)->queries), rgm_integer((o)->keys), rgm_integer((o)->heads),                    \
        rgm_integer((o)->depth), rgm_integer((o)->key_dtype == RGM_I64), rgm_integer((o)->causal), \
        rgm_integer(is_wide(real, o)), rgm_real((o)->scale),                                       \
        rgm_integer((int64_t)((o)->rate * 65536 + 0.5)),                                           \
        rgm_integer((int64_t)((o)->rng.key[0] | (uint64_t)(o)->rng.key[1] << 32)),                 \
        rgm_integer((int64_t)(o)->rng.step), rgm_real(1 / (1 - (o)->rate))

/* y, or with `facts` what the gradient needs of each query. */
static void forward(rgm_dtype real, const rgm_attention_args *o, void *y, void *facts)
{
    int64_t tiles = rgmi_blocks(o->queries, TILE), chunks = y ? rgmi_blocks(o->depth, TILE) : 1;

    RGMI_LAUNCH(&attention, real, o->batch * o->heads * tiles * chunks, LANES, rgm_memory(y),
                rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k), rgm_memory(o->v),
                rgm_memory(o->key), rgm_memory(o->y_forward), rgm_memory(o->dy), rgm_integer(tiles),
                rgm_integer(chunks), SHAPE(real, o));
}

void rgmi_gpu_attention(rgm_dtype real, const rgm_attention_args *args)
{
    forward(real, args, args->y, NULL);
}

void rgmi_gpu_attention_grad(rgm_dtype real, const rgm_attention_args *args)
{
    const rgm_attention_args *o = args;
    int64_t items = o->batch * o->heads, chunks = rgmi_blocks(o->depth, TILE);
    int64_t rows = items * o->queries;
    int64_t query_tiles = rgmi_blocks(o->queries, TILE), key_tiles = rgmi_blocks(o->keys, TILE);
    void *facts = rgmi_gpu_take((size_t)(3 * rows) * rgm_dtype_size(real));

    if (facts == NULL)
        return;
    forward(real, o, NULL, facts);
    RGMI_LAUNCH(&attention_grad_q, real, items * query_tiles * chunks, LANES, rgm_memory(o->dq),
                rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k), rgm_memory(o->v),
                rgm_memory(o->key), rgm_memory(o->dy), rgm_integer(query_tiles),
                rgm_integer(chunks), SHAPE(real, o));
    RGMI_LAUNCH(&attention_grad_kv, real, items * key_tiles * chunks, LANES, rgm_memory(o->dk),
                rgm_memory(o->dv), rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k),
                rgm_memory(o->v), rgm_memory(o->key), rgm_memory(o->dy), rgm_integer(key_tiles),
                rgm_integer(chunks), SHAPE(real, o));
    rgmi_gpu_give(facts);
}
