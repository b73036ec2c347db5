/*
 * Softmax and cross entropy.
 */
#include "gpu_rows.h"
#include "gpu_walk.h"

RGMI_GPU_KERNEL(softmax, softmax);
RGMI_GPU_KERNEL(softmax, softmax_grad);
RGMI_GPU_KERNEL(softmax, cross_entropy);
RGMI_GPU_KERNEL(softmax, cross_entropy_grad);

void rgmi_gpu_softmax(rgm_dtype real, const rgm_softmax_args *args)
{
    int64_t width = rgmi_gpu_row_width(args->channels);
    bool wide = args->channels % 4 == 0 && rgmi_gpu_is_aligned(real, args->x, args->y, NULL);

    RGMI_LAUNCH(&softmax, real, rgmi_gpu_row_groups(args->rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_integer(args->rows),
                rgm_integer(args->channels), rgm_integer(width), rgm_integer(wide),
                rgm_integer(args->log));
}

void rgmi_gpu_softmax_grad(rgm_dtype real, const rgm_softmax_args *args)
{
    int64_t width = rgmi_gpu_row_width(args->channels);
    bool wide =
        args->channels % 4 == 0 && rgmi_gpu_is_aligned(real, args->y, args->y_forward, args->dy);

    RGMI_LAUNCH(&softmax_grad, real, rgmi_gpu_row_groups(args->rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->y_forward), rgm_memory(args->dy),
                rgm_integer(args->rows), rgm_integer(args->channels), rgm_integer(width),
                rgm_integer(wide), rgm_integer(args->log));
}

static int64_t classes_of(const rgm_cross_entropy_args *o)
{
    return o->classes > 0 ? o->classes : o->channels;
}

void rgmi_gpu_cross_entropy(rgm_dtype real, const rgm_cross_entropy_args *args)
{
    int64_t width = rgmi_gpu_row_width(classes_of(args));
    bool wide = (args->channels | classes_of(args)) % 4 == 0 &&
                rgmi_gpu_is_aligned(real, args->x, NULL, NULL);

    RGMI_LAUNCH(&cross_entropy, real, rgmi_gpu_row_groups(args->rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_memory(args->label),
                rgm_integer(args->label_dtype == RGM_I64), rgm_integer(args->rows),
                rgm_integer(args->channels), rgm_integer(classes_of(args)), rgm_integer(width),
                rgm_integer(wide), rgm_real(args->spread));
}

void rgmi_gpu_cross_entropy_grad(rgm_dtype real, const rgm_cross_entropy_args *args)
{
    int64_t classes = classes_of(args), width = rgmi_gpu_row_width(args->channels);
    bool wide = args->channels % 4 == 0 && rgmi_gpu_is_aligned(real, args->x, args->y, NULL);

    RGMI_LAUNCH(&cross_entropy_grad, real, rgmi_gpu_row_groups(args->rows, width),
                RGMI_GPU_ROW_LANES, rgm_memory(args->y), rgm_memory(args->x),
                rgm_memory(args->label), rgm_memory(args->dloss),
                rgm_integer(args->label_dtype == RGM_I64), rgm_integer(args->rows),
                rgm_integer(args->channels), rgm_integer(classes), rgm_integer(width),
                rgm_integer(wide), rgm_integer(wide && classes % 4 == 0), rgm_real(args->spread),
                rgm_real(1 - args->spread * (double)(classes - 1)));
}
