/*
 * Layer norm, and rows of length one.
 */
#include "gpu_rows.h"
#include "gpu_walk.h"

RGMI_GPU_KERNEL(norm, layer_norm);
RGMI_GPU_KERNEL(norm, layer_norm_grad);
RGMI_GPU_KERNEL(norm, layer_norm_columns);
RGMI_GPU_KERNEL(norm, add_pairs);
RGMI_GPU_KERNEL(norm, l2_normalize);
RGMI_GPU_KERNEL(norm, l2_normalize_grad);

/* Whether four neighbours of everything may be read at once. */
static bool is_wide(rgm_dtype real, const rgm_layer_norm_args *o)
{
    return o->channels % 4 == 0 && rgmi_gpu_is_aligned(real, o->x, o->residual, o->y) &&
           rgmi_gpu_is_aligned(real, o->gamma, o->beta, o->dy);
}

void rgmi_gpu_layer_norm(rgm_dtype real, const rgm_layer_norm_args *args)
{
    int64_t width = rgmi_gpu_row_width(args->channels);

    RGMI_LAUNCH(&layer_norm, real, rgmi_gpu_row_groups(args->rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_memory(args->residual),
                rgm_memory(args->gamma), rgm_memory(args->beta), rgm_integer(args->rows),
                rgm_integer(args->channels), rgm_integer(width), rgm_integer(is_wide(real, args)),
                rgm_integer(args->rms), rgm_real(args->epsilon));
}

static void sum_columns(rgm_dtype real, const rgm_layer_norm_args *o, const rgmi_gpu_columns *down,
                        double *moments, double *partial)
{
    RGMI_LAUNCH(&layer_norm_columns, real, down->across * down->blocks, RGMI_GPU_ROW_LANES,
                rgm_memory(o->dgamma), rgm_memory(o->dbeta), rgm_memory(partial),
                rgm_memory(moments), rgm_memory(o->x), rgm_memory(o->residual), rgm_memory(o->dy),
                rgm_integer(o->rows), rgm_integer(o->channels), rgm_integer(down->width),
                rgm_integer(down->across), rgm_integer(down->block));
    if (partial == NULL)
        return;
    RGMI_LAUNCH(&add_pairs, real, down->across, RGMI_GPU_ROW_LANES, rgm_memory(o->dgamma),
                rgm_memory(o->dbeta), rgm_memory(partial), rgm_integer(down->blocks),
                rgm_integer(o->channels), rgm_integer(down->width), rgm_integer(down->across),
                rgm_integer(down->blocks));
}

void rgmi_gpu_layer_norm_grad(rgm_dtype real, const rgm_layer_norm_args *args)
{
    int64_t width = rgmi_gpu_row_width(args->channels), n = args->channels;
    rgmi_gpu_columns down = rgmi_gpu_columns_at_once(args->rows, n);
    bool columns = args->dgamma != NULL || args->dbeta != NULL;
    int64_t parts = down.blocks > 1 ? 2 * down.blocks * n : 0;
    double *moments = NULL; /* WIDE of the device, which is no larger */

    if (columns) {
        moments = rgmi_gpu_take((size_t)(2 * args->rows + parts) * sizeof *moments);
        if (moments == NULL)
            return;
    }
    RGMI_LAUNCH(&layer_norm_grad, real, rgmi_gpu_row_groups(args->rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(moments), rgm_memory(args->x),
                rgm_memory(args->residual), rgm_memory(args->gamma), rgm_memory(args->dy),
                rgm_integer(args->rows), rgm_integer(n), rgm_integer(width),
                rgm_integer(is_wide(real, args)), rgm_integer(args->rms), rgm_real(args->epsilon));
    if (columns)
        sum_columns(real, args, &down, moments, parts > 0 ? moments + 2 * args->rows : NULL);
    rgmi_gpu_give(moments);
}

void rgmi_gpu_l2_normalize(rgm_dtype real, const rgm_l2_normalize_args *args)
{
    int64_t width = rgmi_gpu_row_width(args->channels);
    bool wide = args->channels % 4 == 0 && rgmi_gpu_is_aligned(real, args->x, args->y, NULL);

    RGMI_LAUNCH(&l2_normalize, real, rgmi_gpu_row_groups(args->rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_integer(args->rows),
                rgm_integer(args->channels), rgm_integer(width), rgm_integer(wide));
}

void rgmi_gpu_l2_normalize_grad(rgm_dtype real, const rgm_l2_normalize_args *args)
{
    int64_t width = rgmi_gpu_row_width(args->channels);
    bool wide = args->channels % 4 == 0 &&
                rgmi_gpu_is_aligned(real, args->x, args->y, args->y_forward) &&
                rgmi_gpu_is_aligned(real, args->dy, NULL, NULL);

    RGMI_LAUNCH(&l2_normalize_grad, real, rgmi_gpu_row_groups(args->rows, width),
                RGMI_GPU_ROW_LANES, rgm_memory(args->y), rgm_memory(args->x),
                rgm_memory(args->y_forward), rgm_memory(args->dy), rgm_integer(args->rows),
                rgm_integer(args->channels), rgm_integer(width), rgm_integer(wide));
}
