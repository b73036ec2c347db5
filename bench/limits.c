/*
 * What the machine can do, measured beside the workloads: memory triad with plain and streaming
 * stores, the same from cache, multiply-adds in registers, the best dense product we know (oneDNN;
 * f32 and bf16), gathered rows, single lookups. Written for the vector unit at hand; nothing of the
 * library's own kernels is in here, so that a slow kernel cannot lower the bar.
 */
#include "bench.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ROW   256  /* floats of a gathered row: 1 KiB   */
#define AHEAD 4    /* rows from the prefetch to its use */
#define SIDE  1536 /* of the dense product */

enum { PLAIN, AVX2, AVX512 };

typedef struct limits {
    int isa;
    int64_t count; /* floats of each of three arrays */
    float *a, *b, *c;
    int32_t *index; /* random rows of b */
    int64_t indices;
    double triad, stream, cache, multiply_adds, product, product_bf16, gather, lookups;
    float sink;
} limits;

/* ---- triad ---------------------------------------------------------------------------------- */

static void triad_plain(float *restrict a, const float *restrict b, const float *restrict c,
                        int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        a[i] = b[i] + 3 * c[i];
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static void triad_avx2(float *a, const float *b, const float *c,
                                                           int64_t n, bool stream)
{
    __m256 s = _mm256_set1_ps(3);

    if (stream)
        for (int64_t i = 0; i < n; i += 8)
            _mm256_stream_ps(a + i,
                             _mm256_fmadd_ps(s, _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
    else
        for (int64_t i = 0; i < n; i += 8)
            _mm256_store_ps(a + i,
                            _mm256_fmadd_ps(s, _mm256_load_ps(c + i), _mm256_load_ps(b + i)));
    _mm_sfence();
}

__attribute__((target("avx512f"))) static void triad_avx512(float *a, const float *b,
                                                            const float *c, int64_t n, bool stream)
{
    __m512 s = _mm512_set1_ps(3);

    if (stream)
        for (int64_t i = 0; i < n; i += 16)
            _mm512_stream_ps(a + i,
                             _mm512_fmadd_ps(s, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
    else
        for (int64_t i = 0; i < n; i += 16)
            _mm512_store_ps(a + i,
                            _mm512_fmadd_ps(s, _mm512_load_ps(c + i), _mm512_load_ps(b + i)));
    _mm_sfence();
}
#endif

static void triad(const limits *l, int64_t begin, int64_t n, bool stream)
{
    float *a = l->a + begin;
    const float *b = l->b + begin, *c = l->c + begin;

#ifdef __x86_64__
    if (l->isa == AVX512)
        triad_avx512(a, b, c, n, stream);
    else if (l->isa == AVX2)
        triad_avx2(a, b, c, n, stream);
    else
#endif
        triad_plain(a, b, c, n);
    (void)stream;
    __asm__ volatile("" ::: "memory");
}

#define PIECE ((int64_t)1 << 16) /* floats handed to a thread at a time */

/* Bytes a second at 12 an element of DRAM. Pieces go to whichever thread is free, as in the
 * library's kernels: where others use the machine, equal shares would wait for the unlucky one. */
static double measure_triad(const limits *l, bool stream)
{
    double begin = rgm_now();

#pragma omp parallel for num_threads(rgm_threads()) schedule(dynamic)
    for (int64_t i = 0; i < l->count / PIECE; i++)
        triad(l, i * PIECE, PIECE, stream);
    return 12.0 * (double)(l->count / PIECE * PIECE) / (rgm_now() - begin);
}

/* The same of a set that fits the second-level cache of each thread. */
static double measure_cache(const limits *l)
{
    const int64_t set = 16384, repeats = 500, tasks = 8;
    double begin = rgm_now();

#pragma omp parallel for num_threads(rgm_threads()) schedule(dynamic)
    for (int64_t i = 0; i < tasks; i++)
        for (int64_t r = 0; r < repeats; r++)
            triad(l, omp_get_thread_num() * set, set, false);
    return 12.0 * (double)(set * repeats * tasks) / (rgm_now() - begin);
}

/* ---- arithmetic ------------------------------------------------------------------------------ */

#define CHAINS 12 /* latency 4, two units, and a little more */

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static float fma_avx2(int64_t rounds)
{
    __m256 x[CHAINS], m = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(0.001f);
    float out[8];

    for (int k = 0; k < CHAINS; k++)
        x[k] = _mm256_set1_ps((float)k);
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; k++)
            x[k] = _mm256_fmadd_ps(x[k], m, c);
        __asm__ volatile("" : "+x"(m), "+x"(c));
    }
    for (int k = 1; k < CHAINS; k++)
        x[0] = _mm256_add_ps(x[0], x[k]);
    _mm256_storeu_ps(out, x[0]);
    return out[0];
}

__attribute__((target("avx512f"))) static float fma_avx512(int64_t rounds)
{
    __m512 x[CHAINS], m = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(0.001f);
    float out[16];

    for (int k = 0; k < CHAINS; k++)
        x[k] = _mm512_set1_ps((float)k);
    for (int64_t r = 0; r < rounds; r++) {
#pragma GCC unroll 12
        for (int k = 0; k < CHAINS; k++)
            x[k] = _mm512_fmadd_ps(x[k], m, c);
        __asm__ volatile("" : "+v"(m), "+v"(c));
    }
    for (int k = 1; k < CHAINS; k++)
        x[0] = _mm512_add_ps(x[0], x[k]);
    _mm512_storeu_ps(out, x[0]);
    return out[0];
}
#endif

static float fma_plain(int64_t rounds)
{
    float x[CHAINS], sum = 0;

    for (int k = 0; k < CHAINS; k++)
        x[k] = (float)k;
    for (int64_t r = 0; r < rounds; r++)
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * 0.999f + 0.001f;
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    return sum;
}

static float multiply_adds(const limits *l, int64_t rounds)
{
#ifdef __x86_64__
    if (l->isa == AVX512)
        return fma_avx512(rounds);
    if (l->isa == AVX2)
        return fma_avx2(rounds);
#endif
    (void)l;
    return fma_plain(rounds);
}

static double measure_multiply_adds(limits *l)
{
    const int64_t rounds = 200000, tasks = 40;
    const int lanes = l->isa == AVX512 ? 16 : l->isa == AVX2 ? 8 : 1;
    float sum = 0;
    double begin = rgm_now();

#pragma omp parallel for num_threads(rgm_threads()) schedule(dynamic) reduction(+ : sum)
    for (int64_t i = 0; i < tasks; i++)
        sum += multiply_adds(l, rounds);
    l->sink += sum;
    return 2.0 * CHAINS * lanes * (double)(rounds * tasks) / (rgm_now() - begin);
}

static double measure_product(const limits *l)
{
    double begin = rgm_now();

    dnnl_sgemm('N', 'N', SIDE, SIDE, SIDE, 1, l->b, SIDE, l->c, SIDE, 0, l->a, SIDE);
    return 2.0 * SIDE * SIDE * SIDE / (rgm_now() - begin);
}

/* The same of bf16 with sums in float; 0 where oneDNN cannot or its calls are others. */
static double measure_product_bf16(const limits *l)
{
    double seconds = 0;
#if DNNL_VERSION_MAJOR == 2
    const dnnl_dims_t dims = {SIDE, SIDE};
    float *const memory[3] = {l->b, l->c, l->a};
    const int names[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_engine_t engine = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_memory_desc_t of[3];
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t description = NULL;
    dnnl_primitive_t primitive = NULL;
    dnnl_exec_arg_t args[3] = {{0}};
    bool ok = dnnl_engine_create(&engine, dnnl_cpu, 0) == dnnl_success &&
              dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) == dnnl_success;

    for (int i = 0; i < 3 && ok; i++) {
        args[i].arg = names[i];
        ok = dnnl_memory_desc_init_by_tag(&of[i], 2, dims, i < 2 ? dnnl_bf16 : dnnl_f32, dnnl_ab) ==
                 dnnl_success &&
             dnnl_memory_create(&args[i].memory, &of[i], engine, memory[i]) == dnnl_success;
    }
    ok = ok && dnnl_matmul_desc_init(&matmul, &of[0], &of[1], NULL, &of[2]) == dnnl_success &&
         dnnl_primitive_desc_create(&description, &matmul, NULL, engine, NULL) == dnnl_success &&
         dnnl_primitive_create(&primitive, description) == dnnl_success;
    for (int i = 0; i < 2 && ok; i++) { /* the first makes room */
        double begin = rgm_now();
        ok = dnnl_primitive_execute(primitive, stream, 3, args) == dnnl_success &&
             dnnl_stream_wait(stream) == dnnl_success;
        seconds = rgm_now() - begin;
    }
    dnnl_primitive_destroy(primitive);
    dnnl_primitive_desc_destroy(description);
    for (int i = 0; i < 3; i++)
        dnnl_memory_destroy(args[i].memory);
    dnnl_stream_destroy(stream);
    dnnl_engine_destroy(engine);
    if (!ok)
        return 0;
#else
    (void)l;
#endif
    return seconds > 0 ? 2.0 * SIDE * SIDE * SIDE / seconds : 0;
}

/* ---- gathering ------------------------------------------------------------------------------- */

#ifdef __x86_64__
__attribute__((target("avx2"))) static float gather_avx2(const float *x, const int32_t *index,
                                                         int64_t n)
{
    __m256 s[8];
    float out[8];

    for (int k = 0; k < 8; k++)
        s[k] = _mm256_setzero_ps();
    for (int64_t p = 0; p < n; p++) {
        const float *row = x + (size_t)index[p] * ROW;
        const float *next = x + (size_t)index[p + AHEAD] * ROW;
        for (int k = 0; k < ROW; k += 64) {
            for (int line = 0; line < 64; line += 16)
                _mm_prefetch((const char *)(next + k + line), _MM_HINT_T0);
#pragma GCC unroll 8
            for (int j = 0; j < 8; j++)
                s[j] = _mm256_add_ps(s[j], _mm256_loadu_ps(row + k + 8 * j));
        }
    }
    for (int k = 1; k < 8; k++)
        s[0] = _mm256_add_ps(s[0], s[k]);
    _mm256_storeu_ps(out, s[0]);
    return out[0];
}
#endif

static float gather_plain(const float *x, const int32_t *index, int64_t n)
{
    float sum[16] = {0};

    for (int64_t p = 0; p < n; p++) {
        const float *row = x + (size_t)index[p] * ROW;
        for (int line = 0; line < ROW; line += 16)
            __builtin_prefetch(x + (size_t)index[p + AHEAD] * ROW + line);
        for (int k = 0; k < ROW; k += 16)
            for (int j = 0; j < 16; j++)
                sum[j] += row[k + j];
    }
    return sum[0];
}

static float gather(const limits *l, const int32_t *index, int64_t n)
{
#ifdef __x86_64__
    if (l->isa != PLAIN)
        return gather_avx2(l->b, index, n);
#endif
    return gather_plain(l->b, index, n);
}

/* Bytes a second of random rows of a table larger than the cache. */
static double measure_gather(limits *l)
{
    const int64_t piece = 1024;
    int64_t pieces = (l->indices - AHEAD) / piece;
    float sum = 0;
    double begin = rgm_now();

#pragma omp parallel for num_threads(rgm_threads()) schedule(dynamic) reduction(+ : sum)
    for (int64_t i = 0; i < pieces; i++)
        sum += gather(l, l->index + i * piece, piece);
    l->sink += sum;
    return 4.0 * ROW * (double)(pieces * piece) / (rgm_now() - begin);
}

/* Single numbers at random places, a second; each is independent of the others. */
static double measure_lookups(limits *l)
{
    const int64_t each = 100000, tasks = 40;
    uint32_t rows = (uint32_t)(l->count / ROW);
    float sum = 0;
    double begin = rgm_now();

#pragma omp parallel for num_threads(rgm_threads()) schedule(dynamic) reduction(+ : sum)
    for (int64_t t = 0; t < tasks; t++) {
        uint64_t state = 88172645463325252u + (uint64_t)t;
        float own = 0;
        for (int64_t i = 0; i < each; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            own += l->b[(size_t)((state >> 32) * rows >> 32) * ROW + (state >> 20 & (ROW - 1))];
        }
        sum += own;
    }
    l->sink += sum;
    return (double)(each * tasks) / (rgm_now() - begin);
}

/* ---- the workload ---------------------------------------------------------------------------- */

static float *large(size_t bytes)
{
    void *memory = NULL;

    if (posix_memalign(&memory, (size_t)1 << 21, bytes) != 0)
        return NULL;
    madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

static void limits_close(void *state)
{
    limits *l = state;

    if (l == NULL)
        return;
    free(l->a);
    free(l->b);
    free(l->c);
    rgm_free(l->index);
    rgm_free(l);
}

/* As the ends of an edge of the bench's large graph: every other one by popularity, so that what a
 * cache can hold of popular rows it may hold here too. */
static int32_t draw_row(const rgm_rng *rng, int64_t i, int64_t rows)
{
    double r = rgm_rng_f64(rng, (uint64_t)i);
    int64_t row = (int64_t)((i % 2 ? r * r * r : r) * (double)rows);

    return (int32_t)(row * 2654435761 % rows); /* popular rows lie apart */
}

static rgm_status limits_fill(limits *l, const bench_options *options)
{
    rgm_rng rng = rgm_rng_stream(1, "rows", 0);

#ifdef __x86_64__
    l->isa = __builtin_cpu_supports("avx512f")                                 ? AVX512
             : __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? AVX2
                                                                               : PLAIN;
#endif
    l->count = options->size > 0 ? options->size : (int64_t)43 << 20; /* as 169,343 rows */
    if (l->count < (int64_t)SIDE * SIDE)
        l->count = (int64_t)SIDE * SIDE;
    l->indices = 1000000;
    l->a = large((size_t)l->count * sizeof *l->a);
    l->b = large((size_t)l->count * sizeof *l->b);
    l->c = large((size_t)l->count * sizeof *l->c);
    if (l->a == NULL || l->b == NULL || l->c == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: 3 x %lld floats", (long long)l->count);
    for (int64_t i = 0; i < l->count; i++) {
        l->a[i] = 1;
        l->b[i] = 2;
        l->c[i] = 0.5f;
    }
    RGM_TRY(RGM_NEW(l->index, l->indices));
    for (int64_t i = 0; i < l->indices; i++)
        l->index[i] = draw_row(&rng, i, l->count / ROW);
    return RGM_OK;
}

static rgm_status limits_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    limits *l = NULL;

    RGM_GO(RGM_NEW(l, 1));
    RGM_GO(limits_fill(l, options));
    *out = l;
    l = NULL;
done:
    limits_close(l);
    return status;
}

static double better(double a, double b)
{
    return a > b ? a : b;
}

/* All of them; of two tries the better one, since a ceiling is what can be reached. */
static rgm_status limits_step(void *state, int64_t step)
{
    limits *l = state;

    (void)step;
    omp_set_num_threads(rgm_threads());
    l->triad = l->stream = l->cache = l->multiply_adds = l->product = l->product_bf16 = 0;
    l->gather = l->lookups = 0;
    for (int k = 0; k < 2; k++) {
        l->triad = better(l->triad, measure_triad(l, false));
        l->stream = better(l->stream, measure_triad(l, true));
        l->cache = better(l->cache, measure_cache(l));
        l->multiply_adds = better(l->multiply_adds, measure_multiply_adds(l));
        l->product = better(l->product, measure_product(l));
        l->product_bf16 = better(l->product_bf16, measure_product_bf16(l));
        l->gather = better(l->gather, measure_gather(l));
        l->lookups = better(l->lookups, measure_lookups(l));
    }
    return RGM_OK;
}

static rgm_status limits_facts(rgm_text *out, void *state)
{
    static const char *const isa[] = {"plain", "avx2", "avx512"};
    const limits *l = state;

    return rgm_text_printf(out,
                           ", \"isa\": \"%s\", \"triad\": %.4g, \"stream\": %.4g, \"cache\": %.4g, "
                           "\"fma\": %.4g, \"product\": %.4g, \"product_bf16\": %.4g, "
                           "\"gather\": %.4g, \"lookups\": %.4g",
                           isa[l->isa], l->triad, l->stream, l->cache, l->multiply_adds, l->product,
                           l->product_bf16, l->gather, l->lookups);
}

const bench_workload bench_limits = {
    "limits",     "bandwidths (B/s), operations and lookups a second",
    limits_open,  limits_step,
    limits_facts, limits_close,
    NULL};
