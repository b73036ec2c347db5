/*
 * Which table a caller gets: by CPU flags, never by model name, lowered by REGIMEN_ISA. f64 is the
 * reference compiled for double: it serves gradient checks.
 */
#include "kernels_internal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const rgm_kernels *best_f32 = &rgmi_reference_f32;
static pthread_once_t chosen = PTHREAD_ONCE_INIT;

const rgm_kernels *rgm_kernels_named(const char *isa, rgm_dtype dtype)
{
    if (strcmp(isa, "reference") == 0)
        return dtype == RGM_F32 ? &rgmi_reference_f32
                                : (dtype == RGM_F64 ? &rgmi_reference_f64 : NULL);
    if (dtype != RGM_F32)
        return NULL;
#ifdef RGM_X86
    if (strcmp(isa, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &rgmi_avx2_f32;
    if (strcmp(isa, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &rgmi_avx512_f32;
#endif
    return NULL;
}

static void choose(void)
{
    static const char *const order[] = {"avx512", "avx2", "reference"};
    const char *most = getenv("REGIMEN_ISA");
    bool below = most == NULL || *most == 0;

    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        below = below || strcmp(most, order[i]) == 0;
        if (below && rgm_kernels_named(order[i], RGM_F32)) {
            best_f32 = rgm_kernels_named(order[i], RGM_F32);
            return;
        }
    }
}

const rgm_kernels *rgm_kernels_for(rgm_dtype dtype)
{
    if (dtype == RGM_F64)
        return &rgmi_reference_f64;
    if (dtype != RGM_F32)
        return NULL;
    pthread_once(&chosen, choose);
    return best_f32;
}

void rgm_kernels_clear_cache(void)
{
    rgmi_scratch_clear();
}
