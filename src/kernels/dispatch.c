/*
 * Which table a caller gets: the device's own, or that of the CPU by its flags, never by model
 * name, lowered by REGIMEN_ISA. f64 is the reference compiled for double: it serves gradient
 * checks.
 */
#include "gpu/gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static const rgm_kernels *best_f32, *best_bf16;
static pthread_once_t chosen = PTHREAD_ONCE_INIT, found = PTHREAD_ONCE_INIT;

/* Products in bf16: the float table with another matmul. */
enum { BF16_REFERENCE, BF16_AVX512, BF16_AMX, BF16_ROWS };
static rgm_kernels bf16_rows[BF16_ROWS]; /* isa NULL: not on this CPU */
static bool dot_is_slow;

static void bf16_row(int row, const char *isa, const rgm_kernels *f32,
                     void (*matmul)(const rgm_matmul_args *args),
                     size_t (*pack)(const rgm_matmul_args *args))
{
    bf16_rows[row] = *f32;
    bf16_rows[row].isa = isa;
    bf16_rows[row].matmul = matmul;
    bf16_rows[row].matmul_pack = pack;
}

static void find_bf16(void)
{
    bf16_row(BF16_REFERENCE, "reference", &rgmi_reference_f32, rgmi_reference_bf16_matmul,
             rgmi_reference_f32.matmul_pack);
#ifdef RGM_X86
    if (rgmi_kernels_named("avx512", RGM_F32) == NULL || !__builtin_cpu_supports("avx512bf16"))
        return;
    bf16_row(BF16_AVX512, "avx512_bf16", &rgmi_avx512_f32, rgmi_avx512_bf16_matmul,
             rgmi_avx512_bf16_pack);
    /* Measured at half the rate of float multiply-adds on Intel's cores, at twice that on AMD's. */
    dot_is_slow = __builtin_cpu_is("intel");
    if (rgmi_amx_ready())
        bf16_row(BF16_AMX, "amx", &rgmi_avx512_f32, rgmi_amx_matmul, rgmi_amx_pack);
#endif
}

static const rgm_kernels *bf16_named(const char *isa)
{
    pthread_once(&found, find_bf16);
    for (int row = 0; row < BF16_ROWS; row++)
        if (bf16_rows[row].isa && strcmp(bf16_rows[row].isa, isa) == 0)
            return &bf16_rows[row];
    return NULL;
}

const rgm_kernels *rgmi_kernels_named(const char *isa, rgm_dtype dtype)
{
    if (dtype == RGM_BF16)
        return bf16_named(isa);
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

void rgmi_kernels_choose(const char *most, const rgm_kernels **f32, const rgm_kernels **bf16)
{
    static const char *const order[] = {"amx", "avx512_bf16", "avx512", "avx2", "reference"};
    bool forced = most != NULL && *most != 0, below = !forced;

    *f32 = *bf16 = NULL;
    for (size_t i = 0; i < sizeof order / sizeof *order && *f32 == NULL; i++) {
        bool named = forced && strcmp(most, order[i]) == 0;
        const rgm_kernels *row = bf16_named(order[i]);
        below = below || named;
        if (!below)
            continue;
        if (*bf16 == NULL && (row != &bf16_rows[BF16_AVX512] || named || !dot_is_slow))
            *bf16 = row;
        *f32 = rgmi_kernels_named(order[i], RGM_F32);
    }
    if (*f32 == NULL)
        *f32 = &rgmi_reference_f32;
    /* Without the hardware rounding would cost time and digits and save nothing. */
    if (*bf16 == NULL)
        *bf16 = *f32;
}

static void choose(void)
{
    rgmi_kernels_choose(getenv("REGIMEN_ISA"), &best_f32, &best_bf16);
}

/* The table of the CPU. */
static const rgm_kernels *cpu_kernels(rgm_dtype dtype)
{
    if (dtype == RGM_F64)
        return &rgmi_reference_f64;
    if (dtype != RGM_F32 && dtype != RGM_BF16)
        return NULL;
    pthread_once(&chosen, choose);
    return dtype == RGM_F32 ? best_f32 : best_bf16;
}

const rgm_kernels *rgm_kernels_for(rgm_device *device, rgm_dtype dtype)
{
    const rgm_device_type *type = rgm_device_kind(device);

    if (type->kernels != NULL)
        return type->kernels(device, dtype);
    return type->compiler != NULL ? rgmi_gpu_kernels(device, dtype) : cpu_kernels(dtype);
}
