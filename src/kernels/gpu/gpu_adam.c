/*
 * Adam and SGD.
 */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(adam, adam);
RGMI_GPU_KERNEL(adam, sgd);

/* How many times four elements a sweep may take at once. */
static int64_t quads_of(rgm_dtype real, int64_t count, const void *w, const void *gradient,
                        const void *m, const void *v)
{
    bool aligned = rgmi_gpu_is_aligned(real, w, gradient, m) && rgmi_gpu_is_aligned(real, v, v, v);

    return aligned ? count / 4 : 0;
}

void rgmi_gpu_adam(rgm_dtype real, const rgm_adam_args *args)
{
    const rgm_adam_args *o = args;
    int64_t quads = quads_of(real, o->count, o->w, o->gradient, o->m, o->v);

    RGMI_LAUNCH(&adam, real, rgmi_gpu_groups(quads > 0 ? quads : o->count, 256), 256,
                rgm_memory(o->w), rgm_memory(o->m), rgm_memory(o->v), rgm_memory(o->gradient),
                rgm_integer(o->count), rgm_integer(quads), rgm_real(o->rate), rgm_real(o->beta1),
                rgm_real(o->beta2), rgm_real(o->epsilon), rgm_real(o->l2),
                rgm_real(o->weight_decay_rate), rgm_real(o->gradient_scale));
}

void rgmi_gpu_sgd(rgm_dtype real, const rgm_sgd_args *args)
{
    const rgm_sgd_args *o = args;
    int64_t quads = quads_of(real, o->count, o->w, o->gradient, o->m, NULL);

    RGMI_LAUNCH(&sgd, real, rgmi_gpu_groups(quads > 0 ? quads : o->count, 256), 256,
                rgm_memory(o->w), rgm_memory(o->m), rgm_memory(o->gradient), rgm_integer(o->count),
                rgm_integer(quads), rgm_real(o->rate), rgm_real(o->momentum), rgm_real(o->l2),
                rgm_real(o->gradient_scale), rgm_integer(o->nesterov));
}
