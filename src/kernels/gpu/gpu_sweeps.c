/*
 * Sweeps over parameters for the other optimizers; clipping, averages.
 */
#include "gpu.h"

RGMI_GPU_KERNEL(sweeps, amsgrad);
RGMI_GPU_KERNEL(sweeps, rmsprop);
RGMI_GPU_KERNEL(sweeps, adagrad);
RGMI_GPU_KERNEL(sweeps, lamb_direction);
RGMI_GPU_KERNEL(sweeps, lars_direction);
RGMI_GPU_KERNEL(sweeps, adafactor_move);
RGMI_GPU_KERNEL(sweeps, clip);
RGMI_GPU_KERNEL(sweeps, average);

#define SWEEP(kernel, real, count, ...)                                                            \
    RGMI_LAUNCH(kernel, real, rgmi_gpu_groups(count, 256), 256, __VA_ARGS__)

void rgmi_gpu_amsgrad(rgm_dtype real, const rgm_adam_args *args)
{
    SWEEP(&amsgrad, real, args->count, rgm_memory(args->w), rgm_memory(args->m),
          rgm_memory(args->v), rgm_memory(args->v_max), rgm_memory(args->gradient),
          rgm_integer(args->count), rgmi_gpu_number(args->rate), rgmi_gpu_number(args->beta1),
          rgmi_gpu_number(args->beta2), rgmi_gpu_number(args->epsilon), rgmi_gpu_number(args->l2),
          rgmi_gpu_number(args->weight_decay_rate), rgmi_gpu_number(args->gradient_scale));
}

void rgmi_gpu_rmsprop(rgm_dtype real, const rgm_rmsprop_args *args)
{
    SWEEP(&rmsprop, real, args->count, rgm_memory(args->w), rgm_memory(args->square),
          rgm_memory(args->mean), rgm_memory(args->momentum), rgm_memory(args->gradient),
          rgm_integer(args->count), rgmi_gpu_number(args->rate), rgmi_gpu_number(args->rho),
          rgmi_gpu_number(args->momentum_kept), rgmi_gpu_number(args->epsilon),
          rgmi_gpu_number(args->l2), rgmi_gpu_number(args->gradient_scale));
}

void rgmi_gpu_adagrad(rgm_dtype real, const rgm_adagrad_args *args)
{
    SWEEP(&adagrad, real, args->count, rgm_memory(args->w), rgm_memory(args->sum),
          rgm_memory(args->gradient), rgm_integer(args->count), rgmi_gpu_number(args->rate),
          rgmi_gpu_number(args->epsilon), rgmi_gpu_number(args->l2),
          rgmi_gpu_number(args->gradient_scale));
}

void rgmi_gpu_lamb_direction(rgm_dtype real, const rgm_lamb_args *args)
{
    SWEEP(&lamb_direction, real, args->count, rgm_memory(args->y), rgm_memory(args->m),
          rgm_memory(args->v), rgm_memory(args->w), rgm_memory(args->gradient),
          rgm_integer(args->count), rgmi_gpu_number(args->beta1), rgmi_gpu_number(args->beta2),
          rgmi_gpu_number(args->m_correction), rgmi_gpu_number(args->v_correction),
          rgmi_gpu_number(args->epsilon), rgmi_gpu_number(args->weight_decay),
          rgmi_gpu_number(args->l2), rgmi_gpu_number(args->gradient_scale));
}

void rgmi_gpu_lars_direction(rgm_dtype real, const rgm_lars_args *args)
{
    SWEEP(&lars_direction, real, args->count, rgm_memory(args->y), rgm_memory(args->m),
          rgm_memory(args->w), rgm_memory(args->gradient), rgm_integer(args->count),
          rgmi_gpu_number(args->momentum), rgmi_gpu_number(args->l2),
          rgmi_gpu_number(args->gradient_scale), rgm_integer(args->nesterov));
}

void rgmi_gpu_adafactor_move(rgm_dtype real, const rgm_adafactor_move_args *args)
{
    SWEEP(&adafactor_move, real, args->count, rgm_memory(args->w), rgm_memory(args->m),
          rgm_memory(args->direction), rgm_integer(args->count), rgmi_gpu_number(args->length),
          rgmi_gpu_number(args->beta1), rgmi_gpu_number(args->decay));
}

void rgmi_gpu_clip(rgm_dtype real, const rgm_clip_args *args)
{
    SWEEP(&clip, real, args->count, rgm_memory(args->y), rgm_memory(args->x),
          rgm_integer(args->count), rgm_real(args->limit));
}

void rgmi_gpu_average(rgm_dtype real, const rgm_average_args *args)
{
    SWEEP(&average, real, args->count, rgm_memory(args->average), rgm_memory(args->w),
          rgm_integer(args->count), rgmi_gpu_number(args->rest));
}
