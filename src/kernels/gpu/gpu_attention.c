/*
 * Attention of heads and its gradient, which computes the scores again.
 */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(attention, attention);
RGMI_GPU_KERNEL(attention, attention_grad_q);
RGMI_GPU_KERNEL(attention, attention_grad_kv);
RGMI_GPU_KERNEL(attention_far, far_attention);
RGMI_GPU_KERNEL(attention_far, far_attention_grad_q);
RGMI_GPU_KERNEL(attention_far, far_attention_grad_kv);
RGMI_GPU_KERNEL(attention_far, far_attention_bias);

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

/* What SHAPE has in attention_far.dev besides. */
#define GROUPED(o)                                                                                 \
    rgm_integer(rgmi_key_group((o)->heads, (o)->kv_heads)), rgm_integer((o)->window),              \
        rgm_integer((o)->reach), rgm_memory((o)->query), rgm_memory((o)->slope),                   \
        rgm_memory((o)->bias)

/* Whether attention.dev is not enough. */
static bool is_far(const rgm_attention_args *o)
{
    return rgmi_key_group(o->heads, o->kv_heads) > 1 || o->window > 0 || o->query != NULL ||
           o->slope != NULL || o->bias != NULL;
}

/* Launch the KERNEL of one file or of the other: their first arguments are the same. */
#define LAUNCH(kernel, real, o, groups, ...)                                                       \
    do {                                                                                           \
        if (is_far(o))                                                                             \
            RGMI_LAUNCH(&far_##kernel, real, groups, LANES, __VA_ARGS__, SHAPE(real, o),           \
                        GROUPED(o));                                                               \
        else                                                                                       \
            RGMI_LAUNCH(&kernel, real, groups, LANES, __VA_ARGS__, SHAPE(real, o));                \
    } while (0)

/* y, or with `facts` what the gradient needs of each query. */
static void forward(rgm_dtype real, const rgm_attention_args *o, void *y, void *facts)
{
    int64_t tiles = rgmi_blocks(o->queries, TILE), chunks = y ? rgmi_blocks(o->depth, TILE) : 1;

    LAUNCH(attention, real, o, o->batch * o->heads * tiles * chunks, rgm_memory(y),
           rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k), rgm_memory(o->v),
           rgm_memory(o->key), rgm_memory(o->y_forward), rgm_memory(o->dy), rgm_integer(tiles),
           rgm_integer(chunks));
}

void rgmi_gpu_attention(rgm_dtype real, const rgm_attention_args *args)
{
    forward(real, args, args->y, NULL);
}

void rgmi_gpu_attention_grad(rgm_dtype real, const rgm_attention_args *args)
{
    const rgm_attention_args *o = args;
    int64_t items = o->batch * o->heads, chunks = rgmi_blocks(o->depth, TILE);
    int64_t rows = items * o->queries, group = rgmi_key_group(o->heads, o->kv_heads);
    int64_t query_tiles = rgmi_blocks(o->queries, TILE), key_tiles = rgmi_blocks(o->keys, TILE);
    void *facts = rgmi_gpu_take((size_t)(3 * rows) * rgm_dtype_size(real));

    if (facts == NULL)
        return;
    forward(real, o, NULL, facts);
    LAUNCH(attention_grad_q, real, o, items * query_tiles * chunks, rgm_memory(o->dq),
           rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k), rgm_memory(o->v),
           rgm_memory(o->key), rgm_memory(o->dy), rgm_integer(query_tiles), rgm_integer(chunks));
    LAUNCH(attention_grad_kv, real, o, items / group * key_tiles * chunks, rgm_memory(o->dk),
           rgm_memory(o->dv), rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k),
           rgm_memory(o->v), rgm_memory(o->key), rgm_memory(o->dy), rgm_integer(key_tiles),
           rgm_integer(chunks));
    if (o->bias != NULL)
        RGMI_LAUNCH(&far_attention_bias, real, items * (2 * o->reach + 1), LANES,
                    rgm_memory(o->dbias), rgm_memory(facts), rgm_memory(o->q), rgm_memory(o->k),
                    rgm_memory(o->v), rgm_memory(o->key), rgm_memory(o->dy), SHAPE(real, o),
                    GROUPED(o));
    rgmi_gpu_give(facts);
}
