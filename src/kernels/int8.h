/*
 * Numbers in 8 bits, as every row of the products in int8 rounds them: to the nearest of -127..127
 * steps, ties to even. See rgm_int8_step() for the step.
 */
#ifndef RGM_KERNELS_INT8_H
#define RGM_KERNELS_INT8_H

#include "kernels_internal.h"

#include <math.h>
#include <string.h>

#define RGMI_INT8_K 131072 /* the longest sum of 127 * 127 that 32 bits hold */

/** The step of numbers of which these are the bits of the largest without its sign. */
static inline float rgmi_int8_step_of_bits(uint32_t bits)
{
    float most;

    memcpy(&most, &bits, sizeof most);
    return rgm_int8_step(most);
}

/** The step of `count` numbers that are `ld` apart. */
static inline float rgmi_int8_step_of(const float *x, int64_t ld, int64_t count)
{
    uint32_t most = 0;

    for (int64_t p = 0; p < count; p++) {
        uint32_t bits;
        memcpy(&bits, &x[p * ld], sizeof bits);
        bits &= INT32_MAX;
        most = bits > most ? bits : most;
    }
    return rgmi_int8_step_of_bits(most);
}

/** What a number is multiplied with before it is rounded; 0: all are rounded to 0. */
static inline float rgmi_int8_inverse(float step)
{
    return step > 0 ? 1 / step : 0;
}

static inline int8_t rgmi_int8_round(float x, float inverse)
{
    return inverse == 0 ? 0 : (int8_t)lrintf(x * inverse);
}

#endif
