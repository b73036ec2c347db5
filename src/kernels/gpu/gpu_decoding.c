/* What writing one token after the other takes. */
#include "gpu.h"

RGMI_GPU_KERNEL(decoding, attention_rows);
RGMI_GPU_KERNEL(decoding, top_log_softmax);

void rgmi_gpu_attention_rows(rgm_dtype real, const rgm_attention_rows_args *o)
{
    RGMI_LAUNCH(&attention_rows, real, o->batch * o->queries * o->heads, o->depth <= 64 ? 64 : 128,
                rgm_memory(o->y), rgm_memory(o->q), rgm_memory(o->k), rgm_memory(o->v),
                rgm_memory(o->newest_k), rgm_memory(o->newest_v), rgm_memory(o->index),
                rgm_memory(o->slope), rgm_memory(o->bias), rgm_memory(o->position),
                rgm_integer(o->position_step), rgm_integer(o->queries), rgm_integer(o->keys),
                rgm_integer(o->heads), rgm_integer(rgmi_key_group(o->heads, o->kv_heads)),
                rgm_integer(o->depth), rgm_integer(o->window), rgm_integer(o->reach),
                rgmi_gpu_number(o->scale));
}

void rgmi_gpu_top_log_softmax(rgm_dtype real, const rgm_top_args *o)
{
    RGMI_LAUNCH(&top_log_softmax, real, o->rows, 256, rgm_memory(o->y), rgm_memory(o->index),
                rgm_memory(o->x), rgm_integer(o->channels), rgm_integer(o->classes),
                rgm_integer(o->count));
}
