/* Reductions and softmax over the entries of each row, and their gradients. */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(segments, segment_reduce_rows);
RGMI_GPU_KERNEL(segments, segment_reduce_long);
RGMI_GPU_KERNEL(segments, segment_reduce_grad_rows);
RGMI_GPU_KERNEL(segments, segment_reduce_grad_long);
RGMI_GPU_KERNEL(segments, segment_softmax_rows);
RGMI_GPU_KERNEL(segments, segment_softmax_long);
RGMI_GPU_KERNEL(segments, segment_softmax_grad_rows);
RGMI_GPU_KERNEL(segments, segment_softmax_grad_long);

/* Scratch of shares: owner [2 * chunks], sum and most [2 * chunks, channels], of 8 bytes each. */
typedef struct plan {
    rgmi_gpu_walk w;
    char *owner, *sum, *most;
} plan;

static bool plan_take(plan *p, const rgm_segment_args *o)
{
    size_t shares, numbers;

    p->w = rgmi_gpu_walk_of(o->csr, o->channels, false);
    p->owner = p->sum = p->most = NULL;
    shares = (size_t)(2 * p->w.chunks);
    numbers = shares * (size_t)o->channels * sizeof(double);
    if (shares == 0)
        return true;
    p->owner = rgmi_gpu_take(shares * sizeof(int64_t) + 2 * numbers);
    if (p->owner == NULL)
        return false;
    p->sum = p->owner + shares * sizeof(int64_t);
    p->most = p->sum + numbers;
    return true;
}

static void launch(rgmi_gpu_kernel *kernel, rgm_dtype real, int64_t groups,
                   const rgm_segment_args *o, const plan *p)
{
    RGMI_LAUNCH(kernel, real, groups, RGMI_GPU_LANES, rgm_memory(o->y), RGMI_PATTERN(o->csr),
                rgm_memory(o->x), rgm_memory(o->y_forward), rgm_memory(o->dy),
                rgm_integer(o->channels), rgm_integer(o->reduction), rgm_memory(p->sum),
                rgm_memory(p->most), rgm_memory(p->owner), rgm_integer(p->w.chunks),
                rgm_integer(p->w.blocks), rgm_integer(p->w.team));
}

/* `rows`, and then `behind` for the shares of long rows unless there are none; NULL: never. */
static void launch_both(rgmi_gpu_kernel *rows, rgmi_gpu_kernel *behind, rgm_dtype real,
                        const rgm_segment_args *o)
{
    int64_t groups;
    plan p;

    if (o->channels == 0 || o->csr->rows == 0 || !plan_take(&p, o))
        return;
    launch(rows, real, rgmi_gpu_walk_groups(&p.w), o, &p);
    groups = behind == &segment_reduce_long
                 ? rgmi_blocks(2 * p.w.chunks, 32) * p.w.blocks
                 : rgmi_blocks(2 * p.w.chunks, RGMI_GPU_LANES / p.w.team) * p.w.blocks;
    if (behind != NULL)
        launch(behind, real, groups, o, &p);
    rgmi_gpu_give(p.owner);
}

void rgmi_gpu_segment_reduce(rgm_dtype real, const rgm_segment_args *args)
{
    launch_both(&segment_reduce_rows, &segment_reduce_long, real, args);
}

void rgmi_gpu_segment_reduce_grad(rgm_dtype real, const rgm_segment_args *args)
{
    bool sums = args->reduction == RGM_SUM || args->reduction == RGM_MEAN;

    launch_both(&segment_reduce_grad_rows, sums ? NULL : &segment_reduce_grad_long, real, args);
}

static rgm_segment_args as_segments(const rgm_segment_softmax_args *o)
{
    return (rgm_segment_args){.y = o->y,
                              .csr = o->csr,
                              .x = o->x,
                              .y_forward = o->y_forward,
                              .dy = o->dy,
                              .channels = o->channels};
}

void rgmi_gpu_segment_softmax(rgm_dtype real, const rgm_segment_softmax_args *args)
{
    rgm_segment_args o = as_segments(args);

    launch_both(&segment_softmax_rows, &segment_softmax_long, real, &o);
}

void rgmi_gpu_segment_softmax_grad(rgm_dtype real, const rgm_segment_softmax_args *args)
{
    rgm_segment_args o = as_segments(args);

    launch_both(&segment_softmax_grad_rows, &segment_softmax_grad_long, real, &o);
}
