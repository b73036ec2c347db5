/*
 * Running a case of the table and comparing what it wrote with what the double reference did.
 */
#ifndef RGM_KERNELS_COMPARE_H
#define RGM_KERNELS_COMPARE_H

#include "kernels_cases.h"

#include <float.h>

#define CASES (int64_t)(sizeof kernel_cases / sizeof *kernel_cases)

static void run_case(run *t, const kernel_case *c, const rgm_kernels *kernels, int variant)
{
    memset(t, 0, sizeof *t);
    t->kernels = kernels;
    t->variant = variant;
    t->state = (uint64_t)variant * 77773 + 12345;
    for (int i = 0; i < 5; i++)
        draw(t);
    c->call(t);
    for (int i = 0; i < t->outs; i++) {
        const unsigned char *before = (unsigned char *)t->out[i] - GUARD * element(t);
        const unsigned char *behind =
            (unsigned char *)t->out[i] + (size_t)t->out_count[i] * element(t);
        for (size_t k = 0; k < GUARD * element(t); k++)
            if (before[k] != 0x5a || behind[k] != 0x5a)
                fail_msg("%s (%s) variant %d wrote outside its output %d", c->name, kernels->isa,
                         variant, i);
    }
}

static void run_clear(run *t)
{
    for (int i = 0; i < t->memories; i++)
        rgm_free(t->memory[i]);
    t->memories = 0;
}

static void compare(const run *got, const run *want, const kernel_case *c)
{
    CHECK_INT(want->outs, got->outs);
    for (int k = 0; k < want->outs; k++) {
        double error = 0, size = 0;
        CHECK_INT(want->out_count[k], got->out_count[k]);
        for (int64_t i = 0; i < want->out_count[k]; i++) {
            double w = get(want, want->out[k], i), g = get(got, got->out[k], i);
            if (isnan(w) && isnan(g))
                continue;
            if (w == g || fabs(w) >= FLT_MAX) {
                if (fabs(w) >= FLT_MAX && !(fabs(g) >= FLT_MAX && w * g > 0))
                    fail_msg("%s (%s) variant %d [%lld]: %g, expected %g", c->name,
                             got->kernels->isa, got->variant, (long long)i, g, w);
                continue;
            }
            if (!isfinite(g) || isnan(w))
                fail_msg("%s (%s) variant %d output %d [%lld]: %g, expected %g", c->name,
                         got->kernels->isa, got->variant, k, (long long)i, g, w);
            error += (g - w) * (g - w);
        }
        for (int64_t i = 0; i < want->out_count[k]; i++) {
            double w = get(want, want->out[k], i);
            size += fabs(w) < FLT_MAX ? w * w : 0;
        }
        if (error > c->bound * size)
            fail_msg("%s (%s) variant %d output %d: NMSE %.2g, bound %.2g", c->name,
                     got->kernels->isa, got->variant, k, error / size, c->bound);
    }
}

#endif
