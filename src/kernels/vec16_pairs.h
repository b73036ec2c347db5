/*
 * Sixteen lanes as two AVX2 registers, for tests of the 16-lane code without AVX-512: each function
 * is vec8.h's, twice.
 */
#define V(name) half_##name
#define VF      __m256
#define VM      __m256
#define VI      __m256i
#define VD      __m256d
#include "vec8.h"

typedef struct vf {
    __m256 a, b;
} vf;
typedef struct vm {
    __m256 a, b;
} vm;
typedef struct vi {
    __m256i a, b;
} vi;
typedef struct vd {
    __m256d a, b;
} vd;

static inline vf v_set1(float x)
{
    return (vf){half_set1(x), half_set1(x)};
}
static inline vf v_load(const float *p)
{
    return (vf){half_load(p), half_load(p + 8)};
}
static inline void v_store(float *p, vf x)
{
    half_store(p, x.a);
    half_store(p + 8, x.b);
}
static inline void v_stream(float *p, vf x)
{
    half_stream(p, x.a);
    half_stream(p + 8, x.b);
}
static inline vm v_first(int64_t n)
{
    return (vm){half_first(n), half_first(n - 8)};
}
static inline vf v_load_n(const float *p, int64_t n)
{
    return (vf){half_load_n(p, n), half_load_n(p + 8, n - 8)};
}
static inline vf v_load_where(const float *p, vm m)
{
    return (vf){half_load_where(p, m.a), half_load_where(p + 8, m.b)};
}
static inline void v_store_n(float *p, vf x, int64_t n)
{
    half_store_n(p, x.a, n);
    half_store_n(p + 8, x.b, n - 8);
}
static inline vf v_add(vf a, vf b)
{
    return (vf){half_add(a.a, b.a), half_add(a.b, b.b)};
}
static inline vf v_sub(vf a, vf b)
{
    return (vf){half_sub(a.a, b.a), half_sub(a.b, b.b)};
}
static inline vf v_mul(vf a, vf b)
{
    return (vf){half_mul(a.a, b.a), half_mul(a.b, b.b)};
}
static inline vf v_div(vf a, vf b)
{
    return (vf){half_div(a.a, b.a), half_div(a.b, b.b)};
}
static inline vf v_max(vf a, vf b)
{
    return (vf){half_max(a.a, b.a), half_max(a.b, b.b)};
}
static inline vf v_min(vf a, vf b)
{
    return (vf){half_min(a.a, b.a), half_min(a.b, b.b)};
}
static inline vf v_fma(vf a, vf b, vf c)
{
    return (vf){half_fma(a.a, b.a, c.a), half_fma(a.b, b.b, c.b)};
}
static inline vf v_fnma(vf a, vf b, vf c)
{
    return (vf){half_fnma(a.a, b.a, c.a), half_fnma(a.b, b.b, c.b)};
}
static inline vf v_sqrt(vf x)
{
    return (vf){half_sqrt(x.a), half_sqrt(x.b)};
}
static inline vm v_gt(vf a, vf b)
{
    return (vm){half_gt(a.a, b.a), half_gt(a.b, b.b)};
}
static inline vm v_eq(vf a, vf b)
{
    return (vm){half_eq(a.a, b.a), half_eq(a.b, b.b)};
}
static inline vf v_select(vm m, vf yes, vf no)
{
    return (vf){half_select(m.a, yes.a, no.a), half_select(m.b, yes.b, no.b)};
}
static inline float v_sum(vf x)
{
    return half_sum(half_add(x.a, x.b));
}
static inline float v_most(vf x)
{
    return half_most(half_max(x.a, x.b));
}
static inline vf v_gather(const float *p, vi index)
{
    return (vf){half_gather(p, index.a), half_gather(p, index.b)};
}
static inline vi v_int_load(const int32_t *p)
{
    return (vi){half_int_load(p), half_int_load(p + 8)};
}
static inline vi v_int_set1(int32_t x)
{
    return (vi){half_int_set1(x), half_int_set1(x)};
}
static inline vi v_round_int(vf x)
{
    return (vi){half_round_int(x.a), half_round_int(x.b)};
}
static inline vi v_bits(vf x)
{
    return (vi){half_bits(x.a), half_bits(x.b)};
}
static inline vf v_from_int(vi x)
{
    return (vf){half_from_int(x.a), half_from_int(x.b)};
}
static inline vf v_from_bits(vi x)
{
    return (vf){half_from_bits(x.a), half_from_bits(x.b)};
}
static inline vi v_int_add(vi a, vi b)
{
    return (vi){half_int_add(a.a, b.a), half_int_add(a.b, b.b)};
}
static inline vi v_int_sub(vi a, vi b)
{
    return (vi){half_int_sub(a.a, b.a), half_int_sub(a.b, b.b)};
}
static inline vi v_int_and(vi a, vi b)
{
    return (vi){half_int_and(a.a, b.a), half_int_and(a.b, b.b)};
}
static inline vi v_int_or(vi a, vi b)
{
    return (vi){half_int_or(a.a, b.a), half_int_or(a.b, b.b)};
}
static inline vi v_int_xor(vi a, vi b)
{
    return (vi){half_int_xor(a.a, b.a), half_int_xor(a.b, b.b)};
}
static inline vi v_shift_left_23(vi x)
{
    return (vi){half_shift_left_23(x.a), half_shift_left_23(x.b)};
}
static inline vi v_shift_right_23(vi x)
{
    return (vi){half_shift_right_23(x.a), half_shift_right_23(x.b)};
}
static inline vi v_half(vi x)
{
    return (vi){half_half(x.a), half_half(x.b)};
}
static inline vi v_long_set1(uint64_t x)
{
    return (vi){half_long_set1(x), half_long_set1(x)};
}
static inline vi v_long_ramp(uint64_t x)
{
    return (vi){half_long_ramp(x), half_long_ramp(x + 4)};
}
static inline vi v_long_add(vi a, vi b)
{
    return (vi){half_long_add(a.a, b.a), half_long_add(a.b, b.b)};
}
static inline vi v_mul_wide(vi a, vi b)
{
    return (vi){half_mul_wide(a.a, b.a), half_mul_wide(a.b, b.b)};
}
static inline vi v_high(vi x)
{
    return (vi){half_high(x.a), half_high(x.b)};
}
static inline void v_store_words(uint32_t *words, vi a, vi b, vi c, vi d)
{
    half_store_words(words, a.a, b.a, c.a, d.a);
    half_store_words(words + 16, a.b, b.b, c.b, d.b);
}
static inline vm v_draws_from(const uint16_t *draw, uint32_t least)
{
    return (vm){half_draws_from(draw, least), half_draws_from(draw + 8, least)};
}
static inline vd v_double_zero(void)
{
    return (vd){half_double_zero(), half_double_zero()};
}
static inline vd v_low_double(vf x)
{
    return (vd){half_low_double(x.a), half_high_double(x.a)};
}
static inline vd v_high_double(vf x)
{
    return (vd){half_low_double(x.b), half_high_double(x.b)};
}
static inline vd v_double_add(vd a, vd b)
{
    return (vd){half_double_add(a.a, b.a), half_double_add(a.b, b.b)};
}
static inline vd v_double_fma(vd a, vd b, vd c)
{
    return (vd){half_double_fma(a.a, b.a, c.a), half_double_fma(a.b, b.b, c.b)};
}
static inline double v_double_sum(vd x)
{
    return half_double_sum(half_double_add(x.a, x.b));
}
static inline void v_transpose(vf row[16])
{
    __m256 part[4][8]; /* upper left, upper right, lower left, lower right */

    for (int i = 0; i < 8; i++) {
        part[0][i] = row[i].a;
        part[1][i] = row[i].b;
        part[2][i] = row[i + 8].a;
        part[3][i] = row[i + 8].b;
    }
    for (int k = 0; k < 4; k++)
        half_transpose(part[k]);
    for (int i = 0; i < 8; i++) {
        row[i] = (vf){part[0][i], part[2][i]};
        row[i + 8] = (vf){part[1][i], part[3][i]};
    }
}
