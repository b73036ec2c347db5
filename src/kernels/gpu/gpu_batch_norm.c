/*
 * Batch norm.
 */
#include "gpu_rows.h"

RGMI_GPU_KERNEL(batch_norm, batch_blocks);
RGMI_GPU_KERNEL(batch_norm, batch_moments);
RGMI_GPU_KERNEL(batch_norm, batch_norm);
RGMI_GPU_KERNEL(batch_norm, batch_norm_columns);
RGMI_GPU_KERNEL(batch_norm, batch_norm_grad);
RGMI_GPU_KERNEL(batch_norm, add_pairs);

/* COLUMNS of columns.dev: all rows in blocks, or the blocks in one. */
#define ROWS_IN_BLOCKS(o, down)                                                                    \
    rgm_integer((o)->rows), rgm_integer((o)->channels), rgm_integer((down)->width),                \
        rgm_integer((down)->across), rgm_integer((down)->block)
#define ALL_BLOCKS(o, down)                                                                        \
    rgm_integer((down)->blocks), rgm_integer((o)->channels), rgm_integer((down)->width),           \
        rgm_integer((down)->across), rgm_integer((down)->blocks)

/* Memory for two sums of each block and column. */
static void *take_pairs(const rgmi_gpu_columns *down, int64_t channels)
{
    return rgmi_gpu_take((size_t)(2 * down->blocks * channels) * sizeof(double));
}

void rgmi_gpu_batch_moments(rgm_dtype real, const rgm_batch_norm_args *args)
{
    rgmi_gpu_columns down = rgmi_gpu_columns_of(args->rows, args->channels);
    void *partial = args->channels > 0 ? take_pairs(&down, args->channels) : NULL;

    if (partial == NULL)
        return;
    RGMI_LAUNCH(&batch_blocks, real, down.across * down.blocks, RGMI_GPU_ROW_LANES,
                rgm_memory(partial), rgm_memory(args->x), ROWS_IN_BLOCKS(args, &down));
    RGMI_LAUNCH(&batch_moments, real, down.across, RGMI_GPU_ROW_LANES, rgm_memory(args->y),
                rgm_memory(partial), ALL_BLOCKS(args, &down), rgm_integer(down.block),
                rgm_integer(args->rows));
    rgmi_gpu_give(partial);
}

void rgmi_gpu_batch_norm(rgm_dtype real, const rgm_batch_norm_args *args)
{
    rgmi_gpu_columns down = rgmi_gpu_columns_of(args->rows, args->channels);

    RGMI_LAUNCH(&batch_norm, real, down.across * down.blocks, RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_memory(args->moments),
                rgm_memory(args->gamma), rgm_memory(args->beta), ROWS_IN_BLOCKS(args, &down),
                rgm_real(args->epsilon), rgm_integer(args->relu));
}

void rgmi_gpu_batch_norm_grad(rgm_dtype real, const rgm_batch_norm_args *args)
{
    rgmi_gpu_columns down = rgmi_gpu_columns_of(args->rows, args->channels);
    void *partial = args->channels > 0 ? take_pairs(&down, args->channels) : NULL;

    if (partial == NULL)
        return;
    RGMI_LAUNCH(&batch_norm_columns, real, down.across * down.blocks, RGMI_GPU_ROW_LANES,
                rgm_memory(partial), rgm_memory(args->x), rgm_memory(args->moments),
                rgm_memory(args->gamma), rgm_memory(args->beta), rgm_memory(args->dy),
                ROWS_IN_BLOCKS(args, &down), rgm_real(args->epsilon), rgm_integer(args->relu));
    RGMI_LAUNCH(&add_pairs, real, down.across, RGMI_GPU_ROW_LANES, rgm_memory(args->dgamma),
                rgm_memory(args->dbeta), rgm_memory(partial), ALL_BLOCKS(args, &down));
    RGMI_LAUNCH(&batch_norm_grad, real, down.across * down.blocks, RGMI_GPU_ROW_LANES,
                rgm_memory(args->y), rgm_memory(args->x), rgm_memory(args->moments),
                rgm_memory(args->gamma), rgm_memory(args->beta), rgm_memory(args->dy),
                rgm_memory(args->dgamma), rgm_memory(args->dbeta), ROWS_IN_BLOCKS(args, &down),
                rgm_real(args->epsilon), rgm_integer(args->relu));
    rgmi_gpu_give(partial);
}
