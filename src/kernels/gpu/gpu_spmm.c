/* Products with a sparse matrix. */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(spmm, spmm_rows);
RGMI_GPU_KERNEL(spmm, spmm_rows_wide);
RGMI_GPU_KERNEL(spmm, spmm_long);

enum { UNITS = 8 /* as in spmm.dev */ };

static int64_t log2_of(int64_t power)
{
    int64_t shift = 0;

    while (power >> shift > 1)
        shift++;
    return shift;
}

static void launch(rgmi_gpu_kernel *kernel, rgm_dtype real, int64_t groups, const rgm_spmm_args *o,
                   const rgmi_gpu_walk *w, void *part, void *owner)
{
    RGMI_LAUNCH(kernel, real, groups, RGMI_GPU_LANES, rgm_memory(o->y), RGMI_PATTERN(o->csr),
                rgm_memory(o->x), rgm_memory(o->weight), rgm_memory(o->row_scale),
                rgm_memory(o->column_scale), rgm_memory(o->bias), rgm_memory(o->base),
                rgm_memory(o->base_scale), rgm_integer(o->channels), rgm_integer(o->heads),
                rgm_integer(o->first_row), rgm_integer(o->end_row > 0 ? o->end_row : o->csr->rows),
                rgm_integer(o->self_loop), rgm_integer(o->activation), rgm_real(o->slope),
                rgm_memory(part), rgm_memory(owner), rgm_integer(w->chunks), rgm_integer(w->blocks),
                rgm_integer(groups / w->blocks), rgm_integer(log2_of(w->team)));
}

enum { LEAST_TEAM = 8, /* 32 channels: whole lines of the cache */ LEAST_DEGREE = 4 };

/* Where x is read several times and does not fit the device's cache: teams so narrow that a block
 * of channels of all rows does. No sum changes, since a lane has the same entries of its channels.
 */
static void fit_cache(rgmi_gpu_walk *w, rgm_dtype real, const rgm_spmm_args *o)
{
    size_t cache = rgm_device_memory_of(rgmi_gpu_device()).cache / 10 * 9;
    size_t lane = (size_t)o->csr->columns * 4 * rgm_dtype_size(real); /* of a team, in all of x */
    int64_t team = w->team;

    if (cache == 0 || o->csr->count < LEAST_DEGREE * o->csr->columns)
        return;
    while (team > LEAST_TEAM && (size_t)team * lane > cache)
        team /= 2;
    if ((size_t)team * lane > cache)
        return;
    w->team = team;
    w->blocks = rgmi_max(1, rgmi_blocks(o->channels / 4, team));
}

void rgmi_gpu_spmm(rgm_dtype real, const rgm_spmm_args *args)
{
    int64_t depth = args->weight != NULL ? args->channels / args->heads : args->channels;
    bool wide = depth % 4 == 0 && rgmi_gpu_is_aligned(real, args->x, args->y, NULL);
    rgmi_gpu_walk w = rgmi_gpu_walk_of(args->csr, args->channels, wide);
    size_t owners = (size_t)(4 * w.chunks) * sizeof(int64_t); /* a multiple of QUADs */
    char *owner = NULL, *part = NULL;

    if (args->csr->rows == 0 || args->channels == 0)
        return;
    if (wide)
        fit_cache(&w, real, args);
    if (w.chunks > 0) {
        owner =
            rgmi_gpu_take(owners + (size_t)(2 * w.chunks * args->channels) * rgm_dtype_size(real));
        if (owner == NULL)
            return;
        part = owner + owners;
    }
    launch(wide ? &spmm_rows_wide : &spmm_rows, real, rgmi_gpu_walk_groups(&w), args, &w, part,
           owner);
    if (w.chunks > 0) {
        rgmi_gpu_walk narrow = rgmi_gpu_walk_of(args->csr, args->channels, false);
        launch(&spmm_long, real, rgmi_blocks(2 * w.chunks, UNITS) * narrow.blocks, args, &narrow,
               part, owner);
    }
    rgmi_gpu_give(owner);
}
