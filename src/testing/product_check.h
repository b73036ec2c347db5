/*
 * Shared by the tests of products in fewer bits (bf16, int8): drawn operands, operands in a row's
 * packed form, and that a table differs from the one of f32 in its product alone.
 */
#ifndef RGM_PRODUCT_CHECK_H
#define RGM_PRODUCT_CHECK_H

#include "check.h"

#include <regimen/kernels.h>

#define GUARD 32 /* of what is made: in front and behind nothing is written */

/** A product over floats, and room for its result. */
typedef struct product {
    rgm_matmul_args o;
    float *a, *b, *bias, *c;
    int64_t a_count, b_count, c_count;
    uint64_t state;
} product;

static inline int64_t draw_below(product *p, int64_t n)
{
    p->state = p->state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(p->state >> 33) % n;
}

/** Integral: a whole number of -most to most. */
static inline float draw_number(product *p, bool integral, int64_t most)
{
    return integral ? (float)(draw_below(p, 2 * most + 1) - most)
                    : ((float)draw_below(p, 1 << 24) / (1 << 23) - 1) * 1.7f;
}

static inline float *draw_numbers(product *p, int64_t count, bool integral, int64_t most)
{
    float *numbers = rgm_malloc((size_t)(count + 1) * sizeof *numbers);

    CHECK(numbers != NULL);
    for (int64_t i = 0; i < count; i++)
        numbers[i] = draw_number(p, integral, most);
    return numbers;
}

static inline void product_clear(product *p)
{
    rgm_free(p->a);
    rgm_free(p->b);
    rgm_free(p->bias);
    rgm_free(p->c);
}

/** o's b in the form of a row that packs it so, as long as the row says; nothing is written behind
 * it. */
static inline void *packed_by(size_t (*pack)(const rgm_matmul_args *args), rgm_matmul_args o)
{
    size_t size = (o.c = NULL, pack(&o));
    unsigned char *packed = rgm_malloc(size + GUARD);

    CHECK(packed != NULL);
    CHECK(size % sizeof(float) == 0);
    memset(packed, 0x5a, size + GUARD);
    o.c = packed;
    CHECK_INT(size, pack(&o));
    for (size_t i = 0; i < GUARD; i++)
        CHECK_INT(0x5a, packed[size + i]);
    return packed;
}

static inline void check_all_but_the_product_is_of_f32(rgm_dtype dtype)
{
    rgm_kernels table = *rgm_kernels_for(rgm_device_cpu(), dtype);
    const rgm_kernels *f32 = rgm_kernels_for(rgm_device_cpu(), RGM_F32);

    CHECK_INT(RGM_F32, table.dtype);
    table.isa = f32->isa;
    table.matmul = f32->matmul;
    table.matmul_pack = f32->matmul_pack;
    CHECK(memcmp(&table, f32, sizeof table) == 0);
}

#endif
