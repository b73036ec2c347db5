/*
 * Which edges of one node a sampling op takes. Uniform draws use Floyd's algorithm (Bentley and
 * Floyd, CACM 1987): `size` steps whatever the degree, the chosen set held in one machine word when
 * the degree allows. Weighted draws give each edge the key -log(u) / weight and take the smallest
 * (Efraimidis and Spirakis 2006), which is drawing one after the other without putting back. Top-k
 * reads a ranking made once, latest-k the end of an order by time. Where seeds have times, a draw
 * is from the first edges of a row by time instead of from all of it. Random words are a function
 * of (stream, node), never of who asks.
 */
#include "sampler_internal.h"

#include <math.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* A degree up to which a 32-bit word times the degree is uniform to 2^-16 relative. */
#define NARROW_DEGREE 65536
/* Up to this many picks, looking through them is quicker than a bit for each edge. */
#define FEW_PICKS 32

static int64_t blocks_for(const rgmi_draw *draw, int64_t degree)
{
    int64_t words;

    if (draw->strategy == RGM_SAMPLE_TOP_K || draw->strategy == RGM_SAMPLE_LATEST_K)
        return 0;
    words = draw->strategy == RGM_SAMPLE_WEIGHTED ? degree
            : degree > NARROW_DEGREE              ? 2 * draw->sample_size
                                                  : draw->sample_size;
    return (words + 3) / 4;
}

rgm_status rgmi_picker_reserve(rgmi_picker *picker, const rgmi_draw *draw)
{
    int64_t words = 4 * blocks_for(draw, draw->max_degree);

    RGM_TRY(RGM_RESERVE(picker->positions, picker->position_room, draw->sample_size + 1));
    RGM_TRY(RGM_RESERVE(picker->words, picker->word_room, words + 4));
    RGM_TRY(RGM_RESERVE(picker->keys, picker->key_room, draw->sample_size + 1));
    if (draw->max_degree > picker->bit_room * 64) {
        int64_t had = picker->bit_room;
        RGM_TRY(RGM_RESERVE(picker->bits, picker->bit_room, (draw->max_degree + 63) / 64));
        memset(picker->bits + had, 0, (size_t)(picker->bit_room - had) * sizeof *picker->bits);
    }
    return RGM_OK;
}

void rgmi_picker_clear(rgmi_picker *picker)
{
    rgm_free(picker->positions);
    rgm_free(picker->words);
    rgm_free(picker->keys);
    rgm_free(picker->bits);
}

/* ---- random words ---- */

#if defined(__x86_64__)
/* Four blocks at once, one in each 64-bit lane; what the high halves hold does not matter. */
__attribute__((target("avx2"))) static void four_blocks(uint32_t *words, const rgm_rng *rng,
                                                        uint64_t first)
{
    const __m256i m0 = _mm256_set1_epi64x(0xD2511F53), m1 = _mm256_set1_epi64x(0xCD9E8D57);
    const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
    __m256i c0 =
        _mm256_add_epi64(_mm256_set1_epi64x((int64_t)first), _mm256_set_epi64x(3, 2, 1, 0));
    __m256i c1 = _mm256_srli_epi64(c0, 32);
    __m256i c2 = _mm256_set1_epi64x((int64_t)(rng->step & 0xFFFFFFFF));
    __m256i c3 = _mm256_set1_epi64x((int64_t)(rng->step >> 32));
    uint32_t k0 = rng->key[0], k1 = rng->key[1];

    for (int round = 0; round < 10; round++) {
        __m256i p0 = _mm256_mul_epu32(c0, m0), p1 = _mm256_mul_epu32(c2, m1);
        c0 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p1, 32), c1),
                              _mm256_set1_epi64x((int64_t)k0));
        c1 = p1;
        c2 = _mm256_xor_si256(_mm256_xor_si256(_mm256_srli_epi64(p0, 32), c3),
                              _mm256_set1_epi64x((int64_t)k1));
        c3 = p0;
        k0 += 0x9E3779B9;
        k1 += 0xBB67AE85;
    }
    /* Lane i: {c0 c1} and {c2 c3} of block first + i. */
    c0 = _mm256_or_si256(_mm256_and_si256(c0, low), _mm256_slli_epi64(c1, 32));
    c2 = _mm256_or_si256(_mm256_and_si256(c2, low), _mm256_slli_epi64(c3, 32));
    c1 = _mm256_unpacklo_epi64(c0, c2); /* blocks 0 and 2 */
    c3 = _mm256_unpackhi_epi64(c0, c2); /* blocks 1 and 3 */
    _mm256_storeu_si256((__m256i *)words, _mm256_permute2x128_si256(c1, c3, 0x20));
    _mm256_storeu_si256((__m256i *)(words + 8), _mm256_permute2x128_si256(c1, c3, 0x31));
}
#endif

void rgmi_random_words(uint32_t *words, const rgm_rng *rng, uint64_t first, int64_t count)
{
    int64_t i = 0;

#if defined(__x86_64__)
    if (count >= 2 && __builtin_cpu_supports("avx2")) {
        uint32_t spare[16];
        for (; i + 4 <= count; i += 4)
            four_blocks(words + 4 * i, rng, first + (uint64_t)i);
        if (i < count) {
            four_blocks(spare, rng, first + (uint64_t)i);
            memcpy(words + 4 * i, spare, (size_t)(count - i) * 4 * sizeof *words);
        }
        return;
    }
#endif
    for (; i < count; i++)
        rgm_rng_block(rng, first + (uint64_t)i, words + 4 * i);
}

/* ---- uniform ---- */

/* Draw i: uniform in 0 .. n-1. */
static inline int64_t below(const uint32_t *words, int64_t i, int64_t n, bool wide)
{
    if (wide) {
        uint64_t word = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
        return (int64_t)((unsigned __int128)word * (uint64_t)n >> 64);
    }
    return (int64_t)((uint64_t)words[i] * (uint64_t)n >> 32);
}

static int64_t uniform_in_a_word(int32_t *positions, const uint32_t *words, int64_t degree,
                                 int64_t size)
{
    uint64_t chosen = 0;

    for (int64_t i = 0, j = degree - size; i < size; i++, j++) {
        uint64_t bit = UINT64_C(1) << below(words, i, j + 1, false);
        chosen |= chosen & bit ? UINT64_C(1) << j : bit;
    }
    for (int64_t i = 0; i < size; i++) {
        positions[i] = __builtin_ctzll(chosen);
        chosen &= chosen - 1;
    }
    return size;
}

static int64_t uniform_few(int32_t *positions, const uint32_t *words, int64_t degree, int64_t size,
                           bool wide)
{
    for (int64_t i = 0, j = degree - size; i < size; i++, j++) {
        int32_t drawn = (int32_t)below(words, i, j + 1, wide);
        int64_t k = i;
        for (int64_t s = 0; s < i; s++)
            if (positions[s] == drawn) {
                drawn = (int32_t)j; /* larger than all before: goes last */
                break;
            }
        for (; k > 0 && positions[k - 1] > drawn; k--)
            positions[k] = positions[k - 1];
        positions[k] = drawn;
    }
    return size;
}

static int64_t uniform_many(int32_t *positions, uint64_t *bits, const uint32_t *words,
                            int64_t degree, int64_t size, bool wide)
{
    int64_t count = 0;

    for (int64_t i = 0, j = degree - size; i < size; i++, j++) {
        int64_t drawn = below(words, i, j + 1, wide);
        if (bits[drawn / 64] >> (drawn % 64) & 1)
            drawn = j;
        bits[drawn / 64] |= UINT64_C(1) << (drawn % 64);
    }
    for (int64_t w = 0; w <= (degree - 1) / 64; w++) {
        for (uint64_t word = bits[w]; word; word &= word - 1)
            positions[count++] = (int32_t)(w * 64 + __builtin_ctzll(word));
        bits[w] = 0;
    }
    return count;
}

/* ---- weighted and top-k ---- */

static void sort_positions(int32_t *positions, int64_t count)
{
    for (int64_t gap = count / 2; gap > 0; gap = gap == 2 ? 1 : gap * 5 / 11) /* Shell */
        for (int64_t i = gap; i < count; i++) {
            int32_t value = positions[i];
            int64_t k = i;
            for (; k >= gap && positions[k - gap] > value; k -= gap)
                positions[k] = positions[k - gap];
            positions[k] = value;
        }
}

/* Put (key, position) in the place of the root of a heap whose root has the largest key. */
static void replace_root(float *keys, int32_t *positions, int64_t count, float key,
                         int32_t position)
{
    int64_t at = 0;

    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && keys[child + 1] > keys[child])
            child++;
        if (keys[child] <= key)
            break;
        keys[at] = keys[child];
        positions[at] = positions[child];
    }
    keys[at] = key;
    positions[at] = position;
}

static int64_t weighted(rgmi_picker *picker, const rgmi_draw *draw, int64_t begin, int64_t past)
{
    int64_t count = 0;

    for (int64_t i = 0; i < past; i++) {
        int32_t position = draw->order ? draw->order[begin + i] : (int32_t)i;
        float weight = draw->weight[begin + position], key;

        if (!(weight > 0))
            continue;
        /* In (0, 1): neither an infinite key for any weight nor a key of 0. */
        key = (float)(-log(((double)picker->words[i] + 0.5) * 0x1p-32) / (double)weight);
        if (count < draw->sample_size) {
            int64_t at = count++;
            for (; at > 0 && picker->keys[(at - 1) / 2] < key; at = (at - 1) / 2) {
                picker->keys[at] = picker->keys[(at - 1) / 2];
                picker->positions[at] = picker->positions[(at - 1) / 2];
            }
            picker->keys[at] = key;
            picker->positions[at] = position;
        } else if (key < picker->keys[0]) {
            replace_root(picker->keys, picker->positions, count, key, position);
        }
    }
    sort_positions(picker->positions, count);
    return count;
}

/* The highest ranks among the first `past` by time. */
static int64_t top(rgmi_picker *picker, const rgmi_draw *draw, int64_t begin, int64_t past,
                   const int64_t *latest)
{
    int64_t count = 0, size = draw->sample_size < past ? draw->sample_size : past;

    for (int64_t i = 0; count < size; i++) {
        int32_t position = draw->rank[begin + i];
        if (latest == NULL || draw->when[begin + position] <= *latest)
            picker->positions[count++] = position;
    }
    sort_positions(picker->positions, count);
    return count;
}

/* Places in the order by time to positions in the row. */
static int64_t by_order(int32_t *positions, int64_t count, const rgmi_draw *draw, int64_t begin)
{
    if (draw->order == NULL)
        return count;
    for (int64_t k = 0; k < count; k++)
        positions[k] = draw->order[begin + positions[k]];
    sort_positions(positions, count);
    return count;
}

static int64_t uniform(rgmi_picker *picker, const rgmi_draw *draw, int64_t past)
{
    int64_t size = draw->sample_size < past ? draw->sample_size : past;
    bool wide = past > NARROW_DEGREE;

    if (past <= 64)
        return uniform_in_a_word(picker->positions, picker->words, past, size);
    if (size <= FEW_PICKS)
        return uniform_few(picker->positions, picker->words, past, size, wide);
    return uniform_many(picker->positions, picker->bits, picker->words, past, size, wide);
}

static int64_t latest(rgmi_picker *picker, const rgmi_draw *draw, int64_t past)
{
    int64_t size = draw->sample_size < past ? draw->sample_size : past;

    for (int64_t k = 0; k < size; k++)
        picker->positions[k] = (int32_t)(past - size + k);
    return size;
}

int64_t rgmi_pick(rgmi_picker *picker, const rgmi_draw *draw, const rgm_rng *rng, int64_t node,
                  int64_t begin, int64_t degree, int64_t past)
{
    bool all = past == degree;

    if (past == 0)
        return 0;
    if (draw->strategy == RGM_SAMPLE_TOP_K) {
        int64_t last = all ? 0 : begin + (draw->order ? draw->order[begin + past - 1] : past - 1);
        return top(picker, draw, begin, past, all ? NULL : &draw->when[last]);
    }
    if (draw->strategy == RGM_SAMPLE_LATEST_K)
        return by_order(picker->positions, latest(picker, draw, past), draw, begin);
    /* A row's words start at a multiple of the most that any row asks for. */
    rgmi_random_words(picker->words, rng,
                      (uint64_t)node * (uint64_t)blocks_for(draw, draw->max_degree),
                      blocks_for(draw, past));
    if (draw->strategy == RGM_SAMPLE_WEIGHTED)
        return weighted(picker, draw, begin, past);
    return by_order(picker->positions, uniform(picker, draw, past), draw, begin);
}
