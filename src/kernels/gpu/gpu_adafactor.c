/*
 * Adafactor's direction.
 */
#include "gpu_rows.h"
#include "gpu_walk.h"

RGMI_GPU_KERNEL(adafactor, adafactor_elements);
RGMI_GPU_KERNEL(adafactor, adafactor_rows);
RGMI_GPU_KERNEL(adafactor, adafactor_blocks);
RGMI_GPU_KERNEL(adafactor, adafactor_columns);
RGMI_GPU_KERNEL(adafactor, adafactor_means);
RGMI_GPU_KERNEL(adafactor, adafactor_divide);

static void elements(rgm_dtype real, const rgm_adafactor_args *o)
{
    RGMI_LAUNCH(&adafactor_elements, real, rgmi_gpu_groups(o->count, 256), 256, rgm_memory(o->y),
                rgm_memory(o->v), rgm_memory(o->w), rgm_memory(o->gradient), rgm_integer(o->count),
                rgmi_gpu_number(o->keep), rgmi_gpu_number(o->epsilon), rgmi_gpu_number(o->l2),
                rgmi_gpu_number(o->gradient_scale));
}

static void move_rows(rgm_dtype real, const rgm_adafactor_args *o)
{
    int64_t rows = o->matrices * o->rows, width = rgmi_gpu_row_width(o->columns);
    bool wide = o->columns % 4 == 0 && rgmi_gpu_is_aligned(real, o->gradient, NULL, NULL);

    RGMI_LAUNCH(&adafactor_rows, real, rgmi_gpu_row_groups(rows, width), RGMI_GPU_ROW_LANES,
                rgm_memory(o->row), rgm_memory(o->gradient), rgm_integer(rows),
                rgm_integer(o->columns), rgm_integer(width), rgm_integer(wide),
                rgmi_gpu_number(o->keep), rgmi_gpu_number(o->epsilon),
                rgmi_gpu_number(o->gradient_scale));
}

static void move_columns(rgm_dtype real, const rgm_adafactor_args *o, const rgmi_gpu_columns *down,
                         void *partial)
{
    RGMI_LAUNCH(&adafactor_blocks, real, o->matrices * down->blocks * down->across,
                RGMI_GPU_ROW_LANES, rgm_memory(partial), rgm_memory(o->gradient),
                rgm_integer(o->rows), rgm_integer(o->columns), rgm_integer(down->width),
                rgm_integer(down->across), rgm_integer(down->block), rgm_integer(down->blocks),
                rgmi_gpu_number(o->epsilon), rgmi_gpu_number(o->gradient_scale));
    RGMI_LAUNCH(&adafactor_columns, real, o->matrices * down->across, RGMI_GPU_ROW_LANES,
                rgm_memory(o->column), rgm_memory(partial), rgm_integer(o->matrices * down->blocks),
                rgm_integer(o->columns), rgm_integer(down->width), rgm_integer(down->across),
                rgm_integer(down->blocks), rgm_integer(o->rows), rgmi_gpu_number(o->keep));
}

void rgmi_gpu_adafactor_direction(rgm_dtype real, const rgm_adafactor_args *args)
{
    const rgm_adafactor_args *o = args;
    rgmi_gpu_columns down = rgmi_gpu_columns_of(o->rows, o->columns);
    int64_t width = rgmi_gpu_row_width(o->rows);
    bool wide = o->rows % 4 == 0 && rgmi_gpu_is_aligned(real, o->row, NULL, NULL);
    double *means, *partial;

    if (o->matrices == 0) {
        elements(real, o);
        return;
    }
    if (o->count == 0)
        return;
    means = rgmi_gpu_take((size_t)(o->matrices * (1 + down.blocks * o->columns)) * sizeof *means);
    if (means == NULL)
        return;
    partial = means + o->matrices;
    move_rows(real, o);
    move_columns(real, o, &down, partial);
    RGMI_LAUNCH(&adafactor_means, real, rgmi_gpu_row_groups(o->matrices, width), RGMI_GPU_ROW_LANES,
                rgm_memory(means), rgm_memory(o->row), rgm_integer(o->matrices),
                rgm_integer(o->rows), rgm_integer(width), rgm_integer(wide));
    RGMI_LAUNCH(&adafactor_divide, real, rgmi_gpu_groups(o->count, 256), 256, rgm_memory(o->y),
                rgm_memory(o->row), rgm_memory(o->column), rgm_memory(means),
                rgm_memory(o->gradient), rgm_integer(o->count), rgm_integer(o->rows),
                rgm_integer(o->columns), rgmi_gpu_number(o->gradient_scale));
    rgmi_gpu_give(means);
}
