/*
 * Which table a caller gets: the device's own, or that of the CPU by its flags, never by model
 * name, lowered by REGIMEN_ISA. f64 is the reference compiled for double: it serves gradient
 * checks.
 */
#include "gpu/gpu.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static rgmi_kernels_choice best;
static pthread_once_t chosen = PTHREAD_ONCE_INIT, found = PTHREAD_ONCE_INIT;

/* Products in bf16 and in 8 bits: the float table with another matmul. */
enum { BF16_REFERENCE, BF16_AVX512, BF16_AMX, BF16_ROWS };
enum { INT8_REFERENCE, INT8_AVX2, INT8_AVX512, INT8_VNNI, INT8_ROWS };
static rgm_kernels bf16_rows[BF16_ROWS]; /* isa NULL: not on this CPU */
static rgm_kernels int8_rows[INT8_ROWS];
static bool dot_is_slow;

static void set_row(rgm_kernels *row, const char *isa, const rgm_kernels *f32,
                    void (*matmul)(const rgm_matmul_args *args),
                    size_t (*pack)(const rgm_matmul_args *args))
{
    *row = *f32;
    row->isa = isa;
    row->matmul = matmul;
    row->matmul_pack = pack;
}

static void find_bf16(void)
{
    set_row(&bf16_rows[BF16_REFERENCE], "reference", &rgmi_reference_f32,
            rgmi_reference_bf16_matmul, rgmi_reference_f32.matmul_pack);
#ifdef RGM_X86
    if (rgmi_kernels_named("avx512", RGM_F32) == NULL || !__builtin_cpu_supports("avx512bf16"))
        return;
    set_row(&bf16_rows[BF16_AVX512], "avx512_bf16", &rgmi_avx512_f32, rgmi_avx512_bf16_matmul,
            rgmi_avx512_bf16_pack);
    /* Measured at half the rate of float multiply-adds on Intel's cores, at twice that on AMD's. */
    dot_is_slow = __builtin_cpu_is("intel");
    if (rgmi_amx_ready())
        set_row(&bf16_rows[BF16_AMX], "amx", &rgmi_avx512_f32, rgmi_amx_matmul, rgmi_amx_pack);
#endif
}

static void find_int8(void)
{
    set_row(&int8_rows[INT8_REFERENCE], "reference", &rgmi_reference_f32,
            rgmi_reference_int8_matmul, rgmi_reference_int8_pack);
#ifdef RGM_X86
    if (rgmi_kernels_named("avx2", RGM_F32) == NULL)
        return;
    set_row(&int8_rows[INT8_AVX2], "avx2", &rgmi_avx2_f32, rgmi_avx2_int8_matmul,
            rgmi_avx2_int8_pack);
    if (rgmi_kernels_named("avx512", RGM_F32) == NULL)
        return;
    /* AVX-512's product of bytes needs as many instructions as AVX2's. */
    set_row(&int8_rows[INT8_AVX512], "avx512", &rgmi_avx512_f32, rgmi_avx2_int8_matmul,
            rgmi_avx2_int8_pack);
    if (__builtin_cpu_supports("avx512vnni"))
        set_row(&int8_rows[INT8_VNNI], "avx512_vnni", &rgmi_avx512_f32, rgmi_avx512_int8_matmul,
                rgmi_avx512_int8_pack);
#endif
}

static void find_rows(void)
{
    find_bf16();
    find_int8();
}

static const rgm_kernels *row_named(const rgm_kernels *rows, int count, const char *isa)
{
    pthread_once(&found, find_rows);
    for (int row = 0; row < count; row++)
        if (rows[row].isa && strcmp(rows[row].isa, isa) == 0)
            return &rows[row];
    return NULL;
}

const rgm_kernels *rgmi_kernels_named(const char *isa, rgm_dtype dtype)
{
    if (dtype == RGM_BF16)
        return row_named(bf16_rows, BF16_ROWS, isa);
    if (dtype == RGM_I8)
        return row_named(int8_rows, INT8_ROWS, isa);
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

rgmi_kernels_choice rgmi_kernels_choose(const char *most)
{
    static const char *const order[] = {"amx",    "avx512_bf16", "avx512_vnni",
                                        "avx512", "avx2",        "reference"};
    bool forced = most != NULL && *most != 0, below = !forced;
    rgmi_kernels_choice choice = {0};

    for (size_t i = 0; i < sizeof order / sizeof *order && choice.f32 == NULL; i++) {
        bool named = forced && strcmp(most, order[i]) == 0;
        const rgm_kernels *bf16 = rgmi_kernels_named(order[i], RGM_BF16);
        below = below || named;
        if (!below)
            continue;
        if (choice.bf16 == NULL && (bf16 != &bf16_rows[BF16_AVX512] || named || !dot_is_slow))
            choice.bf16 = bf16;
        if (choice.int8 == NULL)
            choice.int8 = rgmi_kernels_named(order[i], RGM_I8);
        choice.f32 = rgmi_kernels_named(order[i], RGM_F32);
    }
    if (choice.f32 == NULL)
        choice.f32 = &rgmi_reference_f32;
    /* Without the hardware rounding would cost time and digits and save nothing. */
    if (choice.bf16 == NULL)
        choice.bf16 = choice.f32;
    if (choice.int8 == NULL)
        choice.int8 = rgmi_kernels_named("reference", RGM_I8);
    return choice;
}

static void choose(void)
{
    best = rgmi_kernels_choose(getenv("REGIMEN_ISA"));
}

/* The table of the CPU. */
static const rgm_kernels *cpu_kernels(rgm_dtype dtype)
{
    if (dtype == RGM_F64)
        return &rgmi_reference_f64;
    if (dtype != RGM_F32 && dtype != RGM_BF16 && dtype != RGM_I8)
        return NULL;
    pthread_once(&chosen, choose);
    return dtype == RGM_F32 ? best.f32 : (dtype == RGM_BF16 ? best.bf16 : best.int8);
}

const rgm_kernels *rgm_kernels_for(rgm_device *device, rgm_dtype dtype)
{
    const rgm_device_type *type = rgm_device_kind(device);

    if (type->kernels != NULL)
        return type->kernels(device, dtype);
    return type->compiler != NULL ? rgmi_gpu_kernels(device, dtype) : cpu_kernels(dtype);
}
