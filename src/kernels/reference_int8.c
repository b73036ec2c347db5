/*
 * Products with a b in 8 bits in plain C, which the faster rows (int8_gemm.h) agree with to the
 * bit. b is kept as steps [n] and numbers [k, n].
 */
#include "int8.h"

static void reference_row(const rgm_matmul_args *o, int64_t i, float *c)
{
    const float *a = (const float *)o->a + i * (o->trans_a ? 1 : o->lda), *steps = o->b;
    const int8_t *b = (const int8_t *)(steps + o->n);
    int64_t ld = o->trans_a ? o->lda : 1;
    float step = rgmi_int8_step_of(a, ld, o->k), inverse = rgmi_int8_inverse(step);

    for (int64_t j = 0; j < o->n; j++) {
        int32_t sum = 0;
        float y;
        for (int64_t p = 0; p < o->k; p++)
            sum += rgmi_int8_round(a[p * ld], inverse) * b[p * o->n + j];
        y = (float)sum * (step * steps[j]);
        if (o->bias != NULL)
            y += ((const float *)o->bias)[j];
        c[j] = o->accumulate ? c[j] + y : y;
    }
}

static void reference_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_matmul_args *o = payload;

    for (int64_t i = begin; i < end; i++) {
        float *c = (float *)o->c + i * o->ldc;
        reference_row(o, i, c);
        if (o->activation != RGM_ACT_NONE && !o->accumulate) /* of a product that is only c */
            rgmi_reference_f32.matmul(&(rgm_matmul_args){.c = c,
                                                         .bias = c,
                                                         .m = 1,
                                                         .n = o->n,
                                                         .batch = 1,
                                                         .activation = o->activation,
                                                         .slope = o->slope});
    }
}

void rgmi_reference_int8_matmul(const rgm_matmul_args *args)
{
    if (!args->packed || args->k > RGMI_INT8_K)
        rgmi_reference_f32.matmul(args);
    else
        rgm_parallel(args->m, (double)args->n * (double)(args->k + 1), reference_rows,
                     (void *)args);
}

size_t rgmi_reference_int8_pack(const rgm_matmul_args *args)
{
    int64_t row = args->trans_b ? 1 : args->ldb, column = args->trans_b ? args->ldb : 1;
    float *steps = args->c;

    if (args->k > RGMI_INT8_K)
        return rgmi_reference_f32.matmul_pack(args);
    for (int64_t j = 0; j < args->n && steps != NULL; j++) {
        const float *from = (const float *)args->b + j * column;
        int8_t *to = (int8_t *)(steps + args->n) + j;
        float step = steps[j] = rgmi_int8_step_of(from, row, args->k);
        for (int64_t p = 0; p < args->k; p++)
            to[p * args->n] = rgmi_int8_round(from[p * row], rgmi_int8_inverse(step));
    }
    /* whole words: whoever keeps it counts in floats */
    return (size_t)(args->n * (int64_t)sizeof(float) + rgmi_blocks(args->k * args->n, 4) * 4);
}
