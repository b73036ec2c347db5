/*
 * Eight floats in a register (AVX2, FMA). The names come from the macros V() and the types VF, VI,
 * VM, VD that vec.h sets: alone they are the vector type of the avx2 rows, in pairs they stand in
 * for sixteen lanes where a test has no AVX-512.
 */
static inline VF V(set1)(float x)
{
    return _mm256_set1_ps(x);
}
static inline VF V(load)(const float *p)
{
    return _mm256_loadu_ps(p);
}
static inline void V(store)(float *p, VF x)
{
    _mm256_storeu_ps(p, x);
}
static inline void V(stream)(float *p, VF x)
{
    _mm256_stream_ps(p, x);
}
static inline __m256i V(lanes)(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)(n < 8 ? n : 8)),
                              _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
/* The first n lanes, zeros behind; n <= 0 none, n >= 8 all. Nothing outside is touched. */
static inline VF V(load_n)(const float *p, int64_t n)
{
    return n >= 8 ? _mm256_loadu_ps(p) : _mm256_maskload_ps(p, V(lanes)(n));
}
static inline VM V(first)(int64_t n)
{
    return _mm256_castsi256_ps(V(lanes)(n));
}
static inline VF V(load_where)(const float *p, VM m)
{
    return _mm256_maskload_ps(p, _mm256_castps_si256(m));
}
/* By parts: a masked store is many times slower on some CPUs with AVX2. */
static inline void V(store_n)(float *p, VF x, int64_t n)
{
    __m128 part = _mm256_castps256_ps128(x);
    if (n >= 8) {
        _mm256_storeu_ps(p, x);
        return;
    }
    if (n <= 0)
        return;
    if (n & 4) {
        _mm_storeu_ps(p, part);
        part = _mm256_extractf128_ps(x, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, part);
        part = _mm_movehl_ps(part, part);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, part);
}
static inline VF V(add)(VF a, VF b)
{
    return _mm256_add_ps(a, b);
}
static inline VF V(sub)(VF a, VF b)
{
    return _mm256_sub_ps(a, b);
}
static inline VF V(mul)(VF a, VF b)
{
    return _mm256_mul_ps(a, b);
}
static inline VF V(div)(VF a, VF b)
{
    return _mm256_div_ps(a, b);
}
/* a * b + c and c - a * b, rounded once. */
static inline VF V(fma)(VF a, VF b, VF c)
{
    return _mm256_fmadd_ps(a, b, c);
}
static inline VF V(fnma)(VF a, VF b, VF c)
{
    return _mm256_fnmadd_ps(a, b, c);
}
/* a > b ? a : b, so b when either is NaN. */
static inline VF V(max)(VF a, VF b)
{
    return _mm256_max_ps(a, b);
}
static inline VF V(min)(VF a, VF b)
{
    return _mm256_min_ps(a, b);
}
static inline VF V(sqrt)(VF a)
{
    return _mm256_sqrt_ps(a);
}
static inline VM V(gt)(VF a, VF b)
{
    return _mm256_cmp_ps(a, b, _CMP_GT_OQ);
}
static inline VM V(eq)(VF a, VF b)
{
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
static inline VF V(select)(VM m, VF yes, VF no)
{
    return _mm256_blendv_ps(no, yes, m);
}
/* Sums in a fixed tree. */
static inline float V(sum)(VF x)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}
/* out[i] = the sum of row i of eight vectors of eight. */
static inline void V(sum_eight)(float *out, const VF *x)
{
    VF ab = _mm256_hadd_ps(_mm256_hadd_ps(x[0], x[1]), _mm256_hadd_ps(x[2], x[3]));
    VF cd = _mm256_hadd_ps(_mm256_hadd_ps(x[4], x[5]), _mm256_hadd_ps(x[6], x[7]));
    __m128 low = _mm_add_ps(_mm256_castps256_ps128(ab), _mm256_extractf128_ps(ab, 1));
    __m128 high = _mm_add_ps(_mm256_castps256_ps128(cd), _mm256_extractf128_ps(cd, 1));
    _mm_storeu_ps(out, low);
    _mm_storeu_ps(out + 4, high);
}
/* out[i] = V(sum)(x[i]), in the order of sums of that. */
static inline void V(sum_each)(float *out, const VF *x)
{
    VF half[4], pair[4];

    UNROLL
    for (int i = 0; i < 4; i++)
        half[i] = _mm256_add_ps(_mm256_permute2f128_ps(x[i], x[i + 4], 0x20),
                                _mm256_permute2f128_ps(x[i], x[i + 4], 0x31));
    UNROLL
    for (int i = 0; i < 4; i += 2) {
        pair[i] = _mm256_unpacklo_ps(half[i], half[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(half[i], half[i + 1]);
    }
    _mm256_storeu_ps(out, _mm256_add_ps(_mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[2], 0x44),
                                                      _mm256_shuffle_ps(pair[1], pair[3], 0x44)),
                                        _mm256_add_ps(_mm256_shuffle_ps(pair[0], pair[2], 0xee),
                                                      _mm256_shuffle_ps(pair[1], pair[3], 0xee))));
}
static inline float V(most)(VF x)
{
    __m128 s = _mm_max_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
    s = _mm_max_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_max_ss(s, _mm_movehdup_ps(s)));
}

static inline VF V(gather)(const float *p, VI index)
{
    return _mm256_i32gather_ps(p, index, 4);
}
static inline VI V(int_load)(const int32_t *p)
{
    return _mm256_loadu_si256((const __m256i *)p);
}

/* ---- integers in the same lanes ------------------------------------------------------------ */

static inline VI V(int_set1)(int32_t x)
{
    return _mm256_set1_epi32(x);
}
static inline VI V(round_int)(VF x)
{
    return _mm256_cvtps_epi32(x);
}
static inline VF V(from_int)(VI x)
{
    return _mm256_cvtepi32_ps(x);
}
static inline VI V(bits)(VF x)
{
    return _mm256_castps_si256(x);
}
static inline VF V(from_bits)(VI x)
{
    return _mm256_castsi256_ps(x);
}
static inline VI V(int_add)(VI a, VI b)
{
    return _mm256_add_epi32(a, b);
}
static inline VI V(int_sub)(VI a, VI b)
{
    return _mm256_sub_epi32(a, b);
}
static inline VI V(int_and)(VI a, VI b)
{
    return _mm256_and_si256(a, b);
}
static inline VI V(int_or)(VI a, VI b)
{
    return _mm256_or_si256(a, b);
}
static inline VI V(int_xor)(VI a, VI b)
{
    return _mm256_xor_si256(a, b);
}
static inline VI V(shift_left_23)(VI a)
{
    return _mm256_slli_epi32(a, 23);
}
static inline VI V(shift_right_23)(VI a)
{
    return _mm256_srli_epi32(a, 23);
}
static inline VI V(half)(VI a)
{
    return _mm256_srai_epi32(a, 1);
}

/* ---- 64-bit lanes: Philox's products ------------------------------------------------------- */

static inline VI V(long_set1)(uint64_t x)
{
    return _mm256_set1_epi64x((long long)x);
}
static inline VI V(long_ramp)(uint64_t x)
{
    return _mm256_add_epi64(_mm256_set1_epi64x((long long)x), _mm256_setr_epi64x(0, 1, 2, 3));
}
static inline VI V(long_add)(VI a, VI b)
{
    return _mm256_add_epi64(a, b);
}
/* The low halves' product; the high halves may hold anything. */
static inline VI V(mul_wide)(VI a, VI b)
{
    return _mm256_mul_epu32(a, b);
}
static inline VI V(high)(VI a)
{
    return _mm256_srli_epi64(a, 32);
}
/* words[lane][0..3] = low halves of a, b, c, d. */
static inline void V(store_words)(uint32_t *words, VI a, VI b, VI c, VI d)
{
    __m256i ab = _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa);
    __m256i cd = _mm256_blend_epi32(c, _mm256_slli_epi64(d, 32), 0xaa);
    __m256i even = _mm256_unpacklo_epi64(ab, cd), odd = _mm256_unpackhi_epi64(ab, cd);
    _mm256_storeu_si256((__m256i *)words, _mm256_permute2x128_si256(even, odd, 0x20));
    _mm256_storeu_si256((__m256i *)(words + 8), _mm256_permute2x128_si256(even, odd, 0x31));
}
/* Lane i: draw[i] >= least. */
static inline VM V(draws_from)(const uint16_t *draw, uint32_t least)
{
    __m128i d = _mm_loadu_si128((const __m128i *)draw);
    __m256i wide = _mm256_cvtepu16_epi32(d);
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(wide, _mm256_set1_epi32((int)least - 1)));
}

/* ---- doubles: half the lanes --------------------------------------------------------------- */

static inline VD V(double_zero)(void)
{
    return _mm256_setzero_pd();
}
static inline VD V(low_double)(VF x)
{
    return _mm256_cvtps_pd(_mm256_castps256_ps128(x));
}
static inline VD V(high_double)(VF x)
{
    return _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1));
}
static inline VD V(double_add)(VD a, VD b)
{
    return _mm256_add_pd(a, b);
}
static inline VD V(double_fma)(VD a, VD b, VD c)
{
    return _mm256_fmadd_pd(a, b, c);
}
static inline double V(double_sum)(VD x)
{
    __m128d s = _mm_add_pd(_mm256_castpd256_pd128(x), _mm256_extractf128_pd(x, 1));
    return _mm_cvtsd_f64(_mm_add_sd(s, _mm_unpackhi_pd(s, s)));
}
/* Row i's lane j becomes row j's lane i. */
static inline void V(transpose)(VF row[8])
{
    VF pair[8], four[8];

    UNROLL
    for (int i = 0; i < 8; i += 2) {
        pair[i] = _mm256_unpacklo_ps(row[i], row[i + 1]);
        pair[i + 1] = _mm256_unpackhi_ps(row[i], row[i + 1]);
    }
    UNROLL
    for (int i = 0; i < 8; i += 4) {
        four[i] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0x44);
        four[i + 1] = _mm256_shuffle_ps(pair[i], pair[i + 2], 0xee);
        four[i + 2] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0x44);
        four[i + 3] = _mm256_shuffle_ps(pair[i + 1], pair[i + 3], 0xee);
    }
    UNROLL
    for (int i = 0; i < 4; i++) {
        row[i] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x20);
        row[i + 4] = _mm256_permute2f128_ps(four[i], four[i + 4], 0x31);
    }
}
