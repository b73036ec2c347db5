/* Sixteen floats in a register (AVX-512 F, BW, DQ, VL). See vec8.h for what each one means. */
typedef __m512 vf;
typedef __mmask16 vm;
typedef __m512i vi;
typedef __m512d vd;

static inline vf v_set1(float x)
{
    return _mm512_set1_ps(x);
}
static inline vf v_load(const float *p)
{
    return _mm512_loadu_ps(p);
}
static inline void v_store(float *p, vf x)
{
    _mm512_storeu_ps(p, x);
}
static inline void v_stream(float *p, vf x)
{
    _mm512_stream_ps(p, x);
}
static inline __mmask16 v_lanes(int64_t n)
{
    return (__mmask16)(n <= 0 ? 0 : n >= 16 ? 0xffff : (1u << n) - 1);
}
static inline vm v_first(int64_t n)
{
    return v_lanes(n);
}
static inline vf v_load_n(const float *p, int64_t n)
{
    return _mm512_maskz_loadu_ps(v_lanes(n), p);
}
static inline vf v_load_where(const float *p, vm m)
{
    return _mm512_maskz_loadu_ps(m, p);
}
static inline void v_store_n(float *p, vf x, int64_t n)
{
    _mm512_mask_storeu_ps(p, v_lanes(n), x);
}
static inline vf v_add(vf a, vf b)
{
    return _mm512_add_ps(a, b);
}
static inline vf v_sub(vf a, vf b)
{
    return _mm512_sub_ps(a, b);
}
static inline vf v_mul(vf a, vf b)
{
    return _mm512_mul_ps(a, b);
}
static inline vf v_div(vf a, vf b)
{
    return _mm512_div_ps(a, b);
}
static inline vf v_fma(vf a, vf b, vf c)
{
    return _mm512_fmadd_ps(a, b, c);
}
static inline vf v_fnma(vf a, vf b, vf c)
{
    return _mm512_fnmadd_ps(a, b, c);
}
static inline vf v_max(vf a, vf b)
{
    return _mm512_max_ps(a, b);
}
static inline vf v_min(vf a, vf b)
{
    return _mm512_min_ps(a, b);
}
static inline vf v_sqrt(vf a)
{
    return _mm512_sqrt_ps(a);
}
static inline vm v_gt(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ);
}
static inline vm v_eq(vf a, vf b)
{
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline vf v_select(vm m, vf yes, vf no)
{
    return _mm512_mask_blend_ps(m, no, yes);
}
static inline float v_sum(vf x)
{
    __m256 h = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
static inline float v_most(vf x)
{
    __m256 h = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}
static inline vf v_gather(const float *p, vi index)
{
    return _mm512_i32gather_ps(index, p, 4);
}
static inline vi v_int_load(const int32_t *p)
{
    return _mm512_loadu_si512(p);
}
static inline vi v_int_set1(int32_t x)
{
    return _mm512_set1_epi32(x);
}
static inline vi v_round_int(vf x)
{
    return _mm512_cvtps_epi32(x);
}
static inline vf v_from_int(vi x)
{
    return _mm512_cvtepi32_ps(x);
}
static inline vi v_bits(vf x)
{
    return _mm512_castps_si512(x);
}
static inline vf v_from_bits(vi x)
{
    return _mm512_castsi512_ps(x);
}
static inline vi v_int_add(vi a, vi b)
{
    return _mm512_add_epi32(a, b);
}
static inline vi v_int_sub(vi a, vi b)
{
    return _mm512_sub_epi32(a, b);
}
static inline vi v_int_and(vi a, vi b)
{
    return _mm512_and_si512(a, b);
}
static inline vi v_int_or(vi a, vi b)
{
    return _mm512_or_si512(a, b);
}
static inline vi v_int_xor(vi a, vi b)
{
    return _mm512_xor_si512(a, b);
}
static inline vi v_shift_left_23(vi a)
{
    return _mm512_slli_epi32(a, 23);
}
static inline vi v_shift_right_23(vi a)
{
    return _mm512_srli_epi32(a, 23);
}
static inline vi v_half(vi a)
{
    return _mm512_srai_epi32(a, 1);
}
static inline vi v_long_set1(uint64_t x)
{
    return _mm512_set1_epi64((long long)x);
}
static inline vi v_long_ramp(uint64_t x)
{
    return _mm512_add_epi64(_mm512_set1_epi64((long long)x),
                            _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline vi v_long_add(vi a, vi b)
{
    return _mm512_add_epi64(a, b);
}
static inline vi v_mul_wide(vi a, vi b)
{
    return _mm512_mul_epu32(a, b);
}
static inline vi v_high(vi a)
{
    return _mm512_srli_epi64(a, 32);
}
static inline void v_store_words(uint32_t *words, vi a, vi b, vi c, vi d)
{
    __m512i ab = _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32));
    __m512i cd = _mm512_mask_blend_epi32(0xaaaa, c, _mm512_slli_epi64(d, 32));
    /* ab has 64 bits of each block in order, cd the other 64: interleave them. */
    const __m512i first = _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11);
    const __m512i second = _mm512_setr_epi64(4, 12, 5, 13, 6, 14, 7, 15);
    _mm512_storeu_si512(words, _mm512_permutex2var_epi64(ab, first, cd));
    _mm512_storeu_si512(words + 16, _mm512_permutex2var_epi64(ab, second, cd));
}
static inline vm v_draws_from(const uint16_t *draw, uint32_t least)
{
    __m512i wide = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)draw));
    return _mm512_cmpgt_epi32_mask(wide, _mm512_set1_epi32((int)least - 1));
}
static inline vd v_double_zero(void)
{
    return _mm512_setzero_pd();
}
static inline vd v_low_double(vf x)
{
    return _mm512_cvtps_pd(_mm512_castps512_ps256(x));
}
static inline vd v_high_double(vf x)
{
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, 1));
}
static inline vd v_double_add(vd a, vd b)
{
    return _mm512_add_pd(a, b);
}
static inline vd v_double_fma(vd a, vd b, vd c)
{
    return _mm512_fmadd_pd(a, b, c);
}
static inline double v_double_sum(vd x)
{
    __m256d h = _mm256_add_pd(_mm512_castpd512_pd256(x), _mm512_extractf64x4_pd(x, 1));
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(h), _mm256_extractf128_pd(h, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}
/* Squares beside the diagonal change places, of side 8, then 4, 2 and 1. */
static inline void v_transpose(vf row[16])
{
    UNROLL
    for (int side = 8; side > 0; side /= 2) {
        const __m512i lane =
            _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        const __mmask16 right = _mm512_test_epi32_mask(lane, _mm512_set1_epi32(side));
        const __m512i other = _mm512_set1_epi32(16), step = _mm512_set1_epi32(side);
        /* 16 and up name the lower row of the two. */
        const __m512i upper =
            _mm512_mask_add_epi32(lane, right, _mm512_sub_epi32(lane, step), other);
        const __m512i lower =
            _mm512_mask_add_epi32(_mm512_add_epi32(lane, step), right, lane, other);
        UNROLL
        for (int i = 0; i < 16; i++) {
            if (i & side)
                continue;
            vf a = row[i], b = row[i + side];
            row[i] = _mm512_permutex2var_ps(a, upper, b);
            row[i + side] = _mm512_permutex2var_ps(a, lower, b);
        }
    }
}
