/*
 * Pools over images.
 */
#include "gpu.h"

RGMI_GPU_KERNEL(pool, max_pool2d);
RGMI_GPU_KERNEL(pool, max_pool2d_grad);
RGMI_GPU_KERNEL(pool, avg_pool2d);
RGMI_GPU_KERNEL(pool, avg_pool2d_grad);

/* WINDOW of pool.dev; `count` elements are made. */
#define WINDOW(w, count)                                                                           \
    rgm_integer(count), rgm_integer((w)->channels), rgm_integer((w)->in[0]),                       \
        rgm_integer((w)->in[1]), rgm_integer((w)->out[0]), rgm_integer((w)->out[1]),               \
        rgm_integer((w)->size[0]), rgm_integer((w)->size[1]), rgm_integer((w)->stride[0]),         \
        rgm_integer((w)->stride[1]), rgm_integer((w)->dilation[0]), rgm_integer((w)->dilation[1]), \
        rgm_integer((w)->before[0]), rgm_integer((w)->before[1])

static int64_t outputs(const rgm_window *w)
{
    return rgmi_places(w) * w->channels;
}

static int64_t inputs(const rgm_window *w)
{
    return w->count * w->in[0] * w->in[1] * w->channels;
}

void rgmi_gpu_max_pool2d(rgm_dtype real, const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    RGMI_LAUNCH(&max_pool2d, real, rgmi_gpu_groups(outputs(w), 256), 256, rgm_memory(args->y),
                rgm_memory(args->x), WINDOW(w, outputs(w)));
}

void rgmi_gpu_max_pool2d_grad(rgm_dtype real, const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    RGMI_LAUNCH(&max_pool2d_grad, real, rgmi_gpu_groups(inputs(w), 256), 256, rgm_memory(args->y),
                rgm_memory(args->x), rgm_memory(args->y_forward), rgm_memory(args->dy),
                WINDOW(w, inputs(w)));
}

void rgmi_gpu_avg_pool2d(rgm_dtype real, const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    RGMI_LAUNCH(&avg_pool2d, real, rgmi_gpu_groups(outputs(w), 256), 256, rgm_memory(args->y),
                rgm_memory(args->x), WINDOW(w, outputs(w)));
}

void rgmi_gpu_avg_pool2d_grad(rgm_dtype real, const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    RGMI_LAUNCH(&avg_pool2d_grad, real, rgmi_gpu_groups(inputs(w), 256), 256, rgm_memory(args->y),
                rgm_memory(args->dy), WINDOW(w, inputs(w)));
}
