/* What follows a product that something else made. Needs vec_math.h before. */
#ifndef RGM_KERNELS_FAST_FINISH_H
#define RGM_KERNELS_FAST_FINISH_H

/* Bias and activation over a finished block, still in cache. */
static void block_finish(float *c, int64_t ldc, int64_t rows, int64_t columns, const float *bias,
                         rgm_activation activation, float slope)
{
    vf s = v_set1(slope);

    if (bias == NULL && activation == RGM_ACT_NONE)
        return;
    for (int64_t i = 0; i < rows; i++, c += ldc)
        for (int64_t j = 0; j < columns; j += LANES) {
            int64_t left = columns - j;
            vf x = v_load_n(c + j, left);
            if (bias)
                x = v_add(x, v_load_n(bias + j, left));
            v_store_n(c + j, v_activate(x, activation, s), left);
        }
}

#endif
