/* What both ends of each entry give: sddmm, and the logits of GAT v2. */
#include "gpu_walk.h"

enum { RUN = 128 }; /* entries of a group, as in edges.dev */

RGMI_GPU_KERNEL(edges, edges_dot);
RGMI_GPU_KERNEL(edges, edges_dot_wide);
RGMI_GPU_KERNEL(edges, edges_leaky);
RGMI_GPU_KERNEL(edges, edges_leaky_wide);

/* Lanes of a head: each has some four numbers, or twice as many. */
static int64_t team_of(int64_t depth)
{
    int64_t team = 1;

    while (team < 32 && team * 8 <= depth)
        team *= 2;
    return team;
}

static void launch(rgmi_gpu_kernel *kernel, rgm_dtype real, void *y, const rgm_csr *csr,
                   const void *a, const void *q, const void *b, int64_t heads, int64_t depth,
                   double slope)
{
    if (heads > 0)
        RGMI_LAUNCH(kernel, real, rgmi_blocks(csr->count, RUN), RGMI_GPU_LANES, rgm_memory(y),
                    RGMI_PATTERN(csr), rgm_memory(a), rgm_memory(q), rgm_memory(b),
                    rgm_integer(heads), rgm_integer(depth), rgm_integer(team_of(depth)),
                    rgm_real(slope));
}

void rgmi_gpu_sddmm(rgm_dtype real, const rgm_sddmm_args *o)
{
    bool wide = o->depth % 4 == 0 && rgmi_gpu_is_aligned(real, o->a, o->b, NULL);

    launch(wide ? &edges_dot_wide : &edges_dot, real, o->y, o->csr, o->a, NULL, o->b, o->heads,
           o->depth, 0);
}

void rgmi_gpu_gatv2_score(rgm_dtype real, const rgm_gatv2_args *o)
{
    bool wide = o->depth % 4 == 0 && rgmi_gpu_is_aligned(real, o->a, o->q, o->v);

    launch(wide ? &edges_leaky_wide : &edges_leaky, real, o->y, o->csr, o->a, o->q, o->v, o->heads,
           o->depth, o->slope);
}
