/*
 * One pass over a parameter and its slots for the optimizers that have no kernel of their own. A
 * rule is written once, in double; here f32 arrays are widened block by block and rounded on the
 * way back. A block's result depends on nothing outside it, so threads change no bit.
 */
#include "optim_internal.h"

#include <math.h>
#include <string.h>

#define BLOCKS_OF_AN_ITEM 8

static void widen(double *to, const void *from, rgm_dtype dtype, int64_t begin, int64_t n)
{
    if (dtype == RGM_F64) {
        memcpy(to, (const double *)from + begin, (size_t)n * sizeof *to);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        to[i] = ((const float *)from)[begin + i];
}

static void narrow(void *to, const double *from, rgm_dtype dtype, int64_t begin, int64_t n)
{
    if (dtype == RGM_F64) {
        memcpy((double *)to + begin, from, (size_t)n * sizeof *from);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        ((float *)to)[begin + i] = (float)from[i];
}

static void sweep_block(const rgmi_sweep *s, int64_t begin, int64_t n)
{
    double blocks[RGMI_SWEEP_ARRAYS][RGMI_SWEEP_BLOCK], g[RGMI_SWEEP_BLOCK];
    double *x[RGMI_SWEEP_ARRAYS] = {0}, scale = s->update->gradient_scale;
    rgm_dtype dtype = s->update->dtype;

    for (int a = 0; a < s->array_count; a++) {
        x[a] = blocks[a];
        widen(x[a], s->arrays[a], dtype, begin, n);
    }
    widen(g, s->update->gradient, dtype, begin, n);
    for (int64_t i = 0; i < n; i++)
        g[i] = g[i] * scale + s->l2 * x[0][i];
    s->rule(x, g, n, s->constants);
    for (int a = 0; a < s->array_count; a++)
        narrow(s->arrays[a], x[a], dtype, begin, n);
}

static void sweep_items(void *payload, int64_t begin, int64_t end)
{
    const rgmi_sweep *s = payload;
    const int64_t item = (int64_t)RGMI_SWEEP_BLOCK * BLOCKS_OF_AN_ITEM;
    int64_t last = end * item < s->update->count ? end * item : s->update->count;

    for (int64_t i = begin * item; i < last; i += RGMI_SWEEP_BLOCK)
        sweep_block(s, i, last - i < RGMI_SWEEP_BLOCK ? last - i : RGMI_SWEEP_BLOCK);
}

void rgmi_sweep_run(const rgmi_sweep *sweep)
{
    const int64_t item = (int64_t)RGMI_SWEEP_BLOCK * BLOCKS_OF_AN_ITEM;

    rgm_parallel((sweep->update->count + item - 1) / item, 6.0 * (double)item, sweep_items,
                 (void *)sweep);
}

double rgmi_norm(const rgm_update *update, const void *x)
{
    return sqrt(update->kernels->sum_of_squares(x, update->count));
}
