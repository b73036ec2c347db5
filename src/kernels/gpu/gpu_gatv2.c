/* The gradient of GAT v2's logits. */
#include "gpu_walk.h"

RGMI_GPU_KERNEL(gatv2, gatv2_rows);
RGMI_GPU_KERNEL(gatv2, gatv2_rows_wide);
RGMI_GPU_KERNEL(gatv2, gatv2_long);
RGMI_GPU_KERNEL(gatv2, gatv2_vector);

/* Groups that sum up what they add to da. */
enum { MOST_GROUPS = 1024, MOST_LONG_GROUPS = 128 };

/* Scratch: owner [2 * chunks, twice for a whole number of QUADs], part [2 * chunks, width], da
 * [groups + long groups, width]. */
typedef struct plan {
    rgmi_gpu_walk w, narrow;
    int64_t width, groups, long_groups;
    char *owner, *part, *da;
} plan;

static bool plan_take(plan *p, rgm_dtype real, const rgm_gatv2_args *o, bool wide)
{
    size_t shares, size = rgm_dtype_size(real);

    p->width = o->heads * o->depth;
    p->w = rgmi_gpu_walk_of(o->csr, p->width, wide);
    p->narrow = rgmi_gpu_walk_of(o->csr, p->width, false);
    p->groups = rgmi_min(MOST_GROUPS, rgmi_blocks(p->w.units, RGMI_GPU_LANES / p->w.team));
    p->long_groups = rgmi_min(MOST_LONG_GROUPS, rgmi_blocks(2 * p->w.chunks, 32));
    shares = (size_t)(2 * p->w.chunks);
    p->owner =
        rgmi_gpu_take(2 * shares * sizeof(int64_t) +
                      (shares + (size_t)(p->groups + p->long_groups)) * (size_t)p->width * size);
    if (p->owner == NULL)
        return false;
    p->part = p->owner + 2 * shares * sizeof(int64_t);
    p->da = p->part + shares * (size_t)p->width * size;
    return true;
}

static void launch(rgmi_gpu_kernel *kernel, rgm_dtype real, int64_t groups, const rgm_gatv2_args *o,
                   const rgmi_gpu_walk *w, const plan *p, void *da)
{
    RGMI_LAUNCH(kernel, real, groups * w->blocks, RGMI_GPU_LANES, rgm_memory(o->y),
                RGMI_PATTERN(o->csr), rgm_memory(o->q), rgm_memory(o->v), rgm_memory(o->a),
                rgm_memory(o->dy), rgm_integer(o->heads), rgm_integer(o->depth), rgm_real(o->slope),
                rgm_memory(p->part), rgm_memory(p->owner), rgm_memory(da), rgm_integer(w->chunks),
                rgm_integer(w->blocks), rgm_integer(w->team));
}

void rgmi_gpu_gatv2_grad(rgm_dtype real, const rgm_gatv2_args *args)
{
    bool wide = args->depth % 4 == 0 && rgmi_gpu_is_aligned(real, args->q, args->v, args->y) &&
                rgmi_gpu_is_aligned(real, args->a, NULL, NULL);
    size_t row = (size_t)(args->heads * args->depth) * rgm_dtype_size(real);
    plan p;

    if (row == 0 || !plan_take(&p, real, args, wide))
        return;
    launch(wide ? &gatv2_rows_wide : &gatv2_rows, real, p.groups, args, &p.w, &p, p.da);
    launch(&gatv2_long, real, p.long_groups, args, &p.narrow, &p, p.da + (size_t)p.groups * row);
    RGMI_LAUNCH(&gatv2_vector, real, rgmi_blocks(p.width, 32), RGMI_GPU_LANES, rgm_memory(args->da),
                rgm_memory(p.da), rgm_integer(p.groups + p.long_groups), rgm_integer(p.width));
    rgmi_gpu_give(p.owner);
}
