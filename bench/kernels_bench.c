/*
 * Times of single kernels beside the ceilings of the machine, measured in the same run: memory
 * triad and multiply-adds in registers. usage: kernels_bench [threads] [filter]
 *
 * A rate is a median of rounds; machines shared with others swing, so read the ratio, not the rate.
 */
#include <regimen/kernels.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define ROUNDS      7
#define ARXIV_NODES 169343
#define ARXIV_EDGES 1166243
#define CORA_NODES  2708
#define CORA_EDGES  6783 /* with the self loops, both ways: 13,566 entries */

typedef struct bench {
    const rgm_kernels *kernels;
    const char *filter;
    double triad, multiply_adds; /* bytes and operations a second */
    uint64_t state;
} bench;

static uint32_t draw(bench *b)
{
    b->state ^= b->state << 13;
    b->state ^= b->state >> 7;
    b->state ^= b->state << 17;
    return (uint32_t)(b->state >> 32);
}

static void *take(size_t size)
{
    void *memory = rgm_malloc(size);

    if (memory == NULL) {
        fprintf(stderr, "kernels_bench: out of memory: %zu bytes\n", size);
        exit(1);
    }
    memset(memory, 0, size);
    return memory;
}

static float *numbers(bench *b, int64_t count)
{
    float *x = take((size_t)count * sizeof *x);

    for (int64_t i = 0; i < count; i++)
        x[i] = (float)(draw(b) & 1023) / 512 - 1;
    return x;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Seconds of one call: the median of rounds, each long enough for the clock. */
static double median_time(void (*call)(void *payload), void *payload)
{
    double times[ROUNDS], begin = rgm_now(), once;
    int inner;

    call(payload);
    begin = rgm_now();
    call(payload);
    once = rgm_now() - begin;
    inner = once > 0.002 ? 1 : (int)(0.002 / (once + 1e-8)) + 1;
    for (int r = 0; r < ROUNDS; r++) {
        begin = rgm_now();
        for (int i = 0; i < inner; i++)
            call(payload);
        times[r] = (rgm_now() - begin) / inner;
    }
    qsort(times, ROUNDS, sizeof *times, ascending);
    return times[ROUNDS / 2];
}

/* ---- ceilings -------------------------------------------------------------------------------- */

typedef struct triad_job {
    float *a;
    const float *b, *c;
    int64_t count;
} triad_job;

#define TRIAD_BLOCK 65536

static void triad_blocks(void *payload, int64_t begin, int64_t end)
{
    triad_job *t = payload;

    for (int64_t i = begin * TRIAD_BLOCK; i < end * TRIAD_BLOCK; i++)
        t->a[i] = t->b[i] + 3 * t->c[i];
}

/* Through the kernels' own pool: what else runs on the machine slows both sides alike. */
static void triad_plain(void *payload)
{
    rgm_parallel(((triad_job *)payload)->count / TRIAD_BLOCK, 4e4, triad_blocks, payload);
}

static void measure_triad(bench *b)
{
    int64_t count = (int64_t)48 << 20;
    triad_job t = {take((size_t)count * 4), take((size_t)count * 4), take((size_t)count * 4),
                   count};

    b->triad = 12.0 * (double)count / median_time(triad_plain, &t);
    rgm_free(t.a);
    rgm_free((void *)t.b);
    rgm_free((void *)t.c);
}

#ifdef __x86_64__
__attribute__((target("avx2,fma"))) static double fma_avx2(int64_t rounds)
{
    __m256 x[12], m = _mm256_set1_ps(0.999f), c = _mm256_set1_ps(0.001f);
    float out[8];

    for (int k = 0; k < 12; k++)
        x[k] = _mm256_set1_ps((float)k);
    for (int64_t r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int k = 0; k < 12; k++)
            x[k] = _mm256_fmadd_ps(x[k], m, c);
    for (int k = 1; k < 12; k++)
        x[0] = _mm256_add_ps(x[0], x[k]);
    _mm256_storeu_ps(out, x[0]);
    return out[0] < 0 ? 0 : 12 * 8 * 2;
}

__attribute__((target("avx512f"))) static double fma_avx512(int64_t rounds)
{
    __m512 x[12], m = _mm512_set1_ps(0.999f), c = _mm512_set1_ps(0.001f);
    float out[16];

    for (int k = 0; k < 12; k++)
        x[k] = _mm512_set1_ps((float)k);
    for (int64_t r = 0; r < rounds; r++)
#pragma GCC unroll 12
        for (int k = 0; k < 12; k++)
            x[k] = _mm512_fmadd_ps(x[k], m, c);
    for (int k = 1; k < 12; k++)
        x[0] = _mm512_add_ps(x[0], x[k]);
    _mm512_storeu_ps(out, x[0]);
    return out[0] < 0 ? 0 : 12 * 16 * 2;
}
#endif

#define FMA_ITEMS  64
#define FMA_ROUNDS 10000

static void multiply_add_items(void *payload, int64_t begin, int64_t end)
{
    double *operations = payload; /* [FMA_ITEMS] */

    for (int64_t i = begin; i < end; i++) {
        operations[i] = 0;
#ifdef __x86_64__
        if (__builtin_cpu_supports("avx512f"))
            operations[i] = fma_avx512(FMA_ROUNDS) * FMA_ROUNDS;
        else if (__builtin_cpu_supports("fma"))
            operations[i] = fma_avx2(FMA_ROUNDS) * FMA_ROUNDS;
#endif
    }
}

static void multiply_adds(void *payload)
{
    rgm_parallel(FMA_ITEMS, 4e4, multiply_add_items, payload);
}

/* ---- reporting ------------------------------------------------------------------------------- */

static bool wanted(const bench *b, const char *name)
{
    return b->filter == NULL || strstr(name, b->filter) != NULL;
}

static void report(const char *name, double seconds, double amount, const char *unit,
                   double ceiling)
{
    printf("%-34s %11.1f us %9.2f %-12s", name, seconds * 1e6, amount / seconds * 1e-9, unit);
    if (ceiling > 0)
        printf(" %3.0f %% of the ceiling", 100 * amount / seconds / ceiling);
    printf("\n");
    fflush(stdout);
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct matmul_job {
    const rgm_kernels *kernels;
    rgm_matmul_args args;
} matmul_job;

static void matmul_call(void *payload)
{
    matmul_job *j = payload;

    j->kernels->matmul(&j->args);
}

static void bench_matmul(bench *b)
{
    static const struct {
        const char *name;
        int64_t batch, m, n, k;
        bool trans_a, trans_b;
    } shapes[] = {
        {"matmul arxiv 128>256", 1, ARXIV_NODES, 256, 128, false, false},
        {"matmul arxiv 256>256", 1, ARXIV_NODES, 256, 256, false, false},
        {"matmul arxiv 256>40", 1, ARXIV_NODES, 40, 256, false, false},
        {"matmul arxiv dx 256", 1, ARXIV_NODES, 256, 256, false, true},
        {"matmul arxiv dw 256x256", 1, 256, 256, ARXIV_NODES, true, false},
        {"matmul arxiv dw 256x40", 1, 256, 40, ARXIV_NODES, true, false},
        {"matmul cora 16>7", 1, CORA_NODES, 7, 16, false, false},
        {"matmul cora dx 7>16", 1, CORA_NODES, 16, 7, false, true},
        {"matmul cora dw 16x7", 1, 16, 7, CORA_NODES, true, false},
        {"matmul cora dense 1433>16", 1, CORA_NODES, 16, 1433, false, false},
        {"matmul lm query", 1, 2048, 320, 320, false, false}, /* of bench language */
        {"matmul lm gate", 1, 2048, 864, 320, false, false},
        {"matmul lm down", 1, 2048, 320, 864, false, false},
        {"matmul lm dx gate", 1, 2048, 320, 864, false, true},
        {"matmul lm dx down", 1, 2048, 864, 320, false, true},
        {"matmul lm dw query", 1, 320, 320, 2048, true, false},
        {"matmul lm dw gate", 1, 320, 864, 2048, true, false},
        {"matmul lm dw down", 1, 864, 320, 2048, true, false},
        {"matmul lm logits", 1, 2048, 8000, 320, false, true},
        {"matmul lm dx logits", 1, 2048, 320, 8000, false, false},
        {"matmul lm dw logits", 1, 8000, 320, 2048, true, false},
        {"matmul 1024^3", 1, 1024, 1024, 1024, false, false},
        {"matmul 4096x2048x512", 1, 4096, 2048, 512, false, false},
        {"matmul 128 of 64^3", 128, 64, 64, 64, false, true},
    };

    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        int64_t m = shapes[s].m, n = shapes[s].n, k = shapes[s].k, batch = shapes[s].batch;
        matmul_job j = {b->kernels, {.m = m, .n = n, .k = k, .batch = batch, .ldc = n}};
        if (!wanted(b, shapes[s].name))
            continue;
        j.args.a = numbers(b, batch * m * k);
        j.args.b = numbers(b, batch * k * n);
        j.args.c = take((size_t)(batch * m * n) * 4);
        j.args.lda = shapes[s].trans_a ? m : k;
        j.args.ldb = shapes[s].trans_b ? k : n;
        j.args.stride_a = m * k;
        j.args.stride_b = k * n;
        j.args.stride_c = m * n;
        j.args.trans_a = shapes[s].trans_a;
        j.args.trans_b = shapes[s].trans_b;
        report(shapes[s].name, median_time(matmul_call, &j), 2.0 * (double)(batch * m * n * k),
               "GF/s", b->multiply_adds);
        rgm_free((void *)j.args.a);
        rgm_free((void *)j.args.b);
        rgm_free(j.args.c);
    }
}

/* ---- products with weights in use: f32 and 8 bits -------------------------------------------- */

/* Packed weights, read as they lie: no product of few rows can be faster. */
typedef struct reading {
    const uint64_t *words;
    int64_t count;
    uint64_t sums[64]; /* of the blocks, so that nothing is left out */
} reading;

#define READ_BLOCK 4096 /* words: 32 KiB */

static void read_blocks(void *payload, int64_t begin, int64_t end)
{
    reading *r = payload;

    for (int64_t i = begin; i < end; i++) {
        const uint64_t *x = r->words + i * READ_BLOCK;
        int64_t count = r->count - i * READ_BLOCK;
        uint64_t sum[8] = {0};

        count = count < READ_BLOCK ? count : READ_BLOCK;
        for (int64_t k = 0; k + 8 <= count; k += 8)
            for (int j = 0; j < 8; j++)
                sum[j] += x[k + j];
        for (int j = 0; j < 8; j++)
            r->sums[i % 64] += sum[j];
    }
}

static void read_call(void *payload)
{
    reading *r = payload;

    rgm_parallel((r->count + READ_BLOCK - 1) / READ_BLOCK, READ_BLOCK * 0.15, read_blocks, r);
}

static double packed_time(const rgm_kernels *kernels, rgm_matmul_args *o, double *floor)
{
    matmul_job j = {kernels, *o};
    size_t size = (j.args.c = NULL, kernels->matmul_pack(&j.args));
    reading r = {.words = take(size), .count = (int64_t)(size / 8)};
    double seconds;

    j.args.c = (void *)r.words;
    kernels->matmul_pack(&j.args);
    j.args.c = o->c;
    j.args.b = r.words;
    j.args.packed = true;
    seconds = median_time(matmul_call, &j);
    *floor = median_time(read_call, &r);
    rgm_free((void *)r.words);
    return seconds;
}

/* Decoding's shapes; flops and bytes of the weights are the shape's. */
static void bench_packed(bench *b)
{
    static const int64_t rows[] = {1, 4, 8, 32, 128},
                         shapes[][2] = {{256, 256}, {1024, 256}, {256, 1024}, {8000, 256}};
    const rgm_kernels *int8 = rgm_kernels_for(rgm_device_cpu(), RGM_I8);

    for (int s = 0; s < 4; s++)
        for (int i = 0; i < 5; i++) {
            int64_t m = rows[i], n = shapes[s][0], k = shapes[s][1];
            rgm_matmul_args o = {.m = m, .n = n, .k = k, .batch = 1, .lda = k, .ldb = n, .ldc = n};
            double f32, bytes8, floor32, floor8, work = 2.0 * (double)(m * n * k) * 1e-9;
            char name[64];
            snprintf(name, sizeof name, "packed %lldx%lldx%lld", (long long)m, (long long)n,
                     (long long)k);
            if (!wanted(b, name))
                continue;
            o.a = numbers(b, m * k);
            o.b = numbers(b, k * n);
            o.c = take((size_t)(m * n) * 4);
            f32 = packed_time(b->kernels, &o, &floor32);
            bytes8 = packed_time(int8, &o, &floor8);
            printf("%-24s f32 %8.1f us %6.0f GF/s (weights read in %6.1f us)  %s %8.1f us %6.0f "
                   "Gop/s (%6.1f us)  ratio %.2f\n",
                   name, f32 * 1e6, work / f32, floor32 * 1e6, int8->isa, bytes8 * 1e6,
                   work / bytes8, floor8 * 1e6, f32 / bytes8);
            fflush(stdout);
            rgm_free((void *)o.a);
            rgm_free((void *)o.b);
            rgm_free(o.c);
        }
}

/* ---- sparse ---------------------------------------------------------------------------------- */

/* A random graph with a few popular nodes, both directions of each edge. */
static rgm_csr make_graph(bench *b, int32_t nodes, int64_t edges)
{
    int64_t *start = take((size_t)(nodes + 1) * sizeof *start);
    int32_t *u = take((size_t)edges * 4), *v = take((size_t)edges * 4);
    int32_t *shuffled = take((size_t)nodes * 4), *column = take((size_t)edges * 8);

    for (int32_t i = 0; i < nodes; i++)
        shuffled[i] = i;
    for (int32_t i = nodes - 1; i > 0; i--) {
        int32_t k = (int32_t)(draw(b) % (uint32_t)(i + 1)), swap = shuffled[i];
        shuffled[i] = shuffled[k];
        shuffled[k] = swap;
    }
    for (int64_t e = 0; e < edges; e++) {
        double r = draw(b) / 4294967296.0;
        u[e] = shuffled[draw(b) % (uint32_t)nodes];
        v[e] = shuffled[(int32_t)(r * r * r * nodes) % nodes];
        start[u[e]]++;
        start[v[e]]++;
    }
    for (int64_t i = 0, sum = 0; i <= nodes; i++) {
        int64_t n = start[i];
        start[i] = sum += i < nodes ? n : 0;
    }
    for (int64_t e = edges - 1; e >= 0; e--) {
        column[--start[u[e]]] = v[e];
        column[--start[v[e]]] = u[e];
    }
    rgm_free(u);
    rgm_free(v);
    rgm_free(shuffled);
    return (rgm_csr){
        .rows = nodes, .columns = nodes, .count = 2 * edges, .row_start = start, .column = column};
}

static void free_graph(rgm_csr *csr)
{
    rgm_free((void *)csr->row_start);
    rgm_free((void *)csr->column);
}

typedef struct spmm_job {
    const rgm_kernels *kernels;
    rgm_spmm_args args;
} spmm_job;

static void spmm_call(void *payload)
{
    spmm_job *j = payload;

    j->kernels->spmm(&j->args);
}

/* Bytes gathered a second: entries x channels x 4. */
static void bench_spmm(bench *b, const char *graph, int32_t nodes, int64_t edges,
                       const int64_t *channels, int count)
{
    rgm_csr csr = make_graph(b, nodes, edges);
    float *scale = numbers(b, nodes), *weight = numbers(b, 8 * csr.count);

    for (int k = 0; k < 2 * count; k++) {
        int64_t c = channels[k / 2];
        bool weighted = k % 2;
        spmm_job j = {b->kernels, {.csr = &csr, .row_scale = scale, .channels = c, .heads = 1}};
        char name[64];
        snprintf(name, sizeof name, "spmm %s %lld%s", graph, (long long)c,
                 weighted ? " weighted" : " mean");
        if (!wanted(b, name))
            continue;
        j.args.weight = weighted ? weight : NULL;
        j.args.heads = weighted && c == 64 ? 8 : 1;
        j.args.x = numbers(b, nodes * c);
        j.args.y = take((size_t)(nodes * c) * 4);
        report(name, median_time(spmm_call, &j), 4.0 * (double)(csr.count * c), "GB/s gather",
               b->triad);
        rgm_free((void *)j.args.x);
        rgm_free(j.args.y);
    }
    rgm_free(scale);
    rgm_free(weight);
    free_graph(&csr);
}

typedef struct gatv2_job {
    const rgm_kernels *kernels;
    rgm_gatv2_args args;
    rgm_segment_softmax_args softmax;
    int which;
} gatv2_job;

static void gatv2_call(void *payload)
{
    gatv2_job *j = payload;

    switch (j->which) {
    case 0:
        j->kernels->gatv2_score(&j->args);
        break;
    case 1:
        j->kernels->segment_softmax(&j->softmax);
        break;
    case 2:
        j->kernels->segment_softmax_grad(&j->softmax);
        break;
    default:
        j->kernels->gatv2_grad(&j->args);
    }
}

static void bench_gatv2(bench *b)
{
    static const char *const names[] = {"gatv2 cora score", "gatv2 cora softmax",
                                        "gatv2 cora softmax grad", "gatv2 cora grad"};
    rgm_csr csr = make_graph(b, CORA_NODES, CORA_EDGES);
    gatv2_job j = {.kernels = b->kernels};

    j.args = (rgm_gatv2_args){.csr = &csr, .heads = 8, .depth = 8, .slope = 0.2};
    j.args.q = numbers(b, CORA_NODES * 64);
    j.args.v = numbers(b, CORA_NODES * 64);
    j.args.a = numbers(b, 64);
    j.args.dy = numbers(b, csr.count * 8);
    j.args.y = take((size_t)csr.count * 64 * 4);
    j.args.da = take((size_t)64 * 4);
    j.softmax = (rgm_segment_softmax_args){
        .csr = &csr, .x = j.args.dy, .y_forward = j.args.dy, .dy = j.args.dy, .channels = 8};
    j.softmax.y = j.args.y;
    for (j.which = 0; j.which < 4; j.which++)
        if (wanted(b, names[j.which]))
            report(names[j.which], median_time(gatv2_call, &j),
                   (double)csr.count * (j.which == 1 || j.which == 2 ? 8 : 64), "G/s", 0);
    rgm_free((void *)j.args.q);
    rgm_free((void *)j.args.v);
    rgm_free((void *)j.args.a);
    rgm_free((void *)j.args.dy);
    rgm_free(j.args.y);
    rgm_free(j.args.da);
    free_graph(&csr);
}

/* ---- streams --------------------------------------------------------------------------------- */

typedef struct stream_job {
    const rgm_kernels *kernels;
    rgm_dropout_args dropout;
    rgm_adam_args adam;
    rgm_map_args map;
    rgm_softmax_args softmax;
    int which;
} stream_job;

static void stream_call(void *payload)
{
    stream_job *j = payload;

    if (j->which == 0)
        j->kernels->dropout(&j->dropout);
    else if (j->which == 1)
        j->kernels->adam(&j->adam);
    else if (j->which == 2)
        j->kernels->map(&j->map);
    else
        j->kernels->softmax(&j->softmax);
}

static void bench_streams(bench *b, int64_t n, const char *size)
{
    stream_job j = {.kernels = b->kernels};
    float *x = numbers(b, n), *y = numbers(b, n), *m = numbers(b, n), *v = take((size_t)n * 4);
    const double amounts[] = {(double)n, 28.0 * (double)n, 12.0 * (double)n, (double)n,
                              (double)(n / 40 * 40)};
    const double ceilings[] = {0, b->triad, b->triad, 0, 0};
    static const char *const names[] = {"dropout", "adam", "map add relu", "map exp", "softmax 40"};
    static const char *const units[] = {"G/s", "GB/s (28 B)", "GB/s", "G/s", "G/s"};

    j.dropout = (rgm_dropout_args){.y = y, .x = x, .count = n, .group = 1, .rate = 0.5};
    j.dropout.rng = rgm_rng_stream(1, "bench", 0);
    j.adam = (rgm_adam_args){.w = x,
                             .m = m,
                             .v = v,
                             .gradient = y,
                             .count = n,
                             .rate = 1e-6,
                             .beta1 = 0.9,
                             .beta2 = 0.999,
                             .epsilon = 1e-7,
                             .gradient_scale = 1};
    j.softmax = (rgm_softmax_args){.y = y, .x = x, .rows = n / 40, .channels = 40};
    for (int k = 0; k < 5; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s", names[k], size);
        if (!wanted(b, name))
            continue;
        j.map = (rgm_map_args){
            .y = y,
            .rank = 1,
            .shape = {n},
            .inputs = k == 3 ? 1 : 2,
            .steps = k == 3 ? 1 : 2,
            .input = {x, m},
            .stride = {{1}, {1}},
            .step = {{k == 3 ? RGM_MAP_EXP : RGM_MAP_ADD, 0, 1, 0}, {RGM_MAP_RELU, 2, 0, 0}}};
        j.which = k == 3 ? 2 : (k == 4 ? 3 : k);
        report(name, median_time(stream_call, &j), amounts[k], units[k], ceilings[k]);
    }
    rgm_free(x);
    rgm_free(y);
    rgm_free(m);
    rgm_free(v);
}

int main(int argc, char **argv)
{
    static const int64_t arxiv[] = {256, 128, 64, 40}, cora[] = {64, 16, 7};
    bench b = {.kernels = rgm_kernels_for(rgm_device_cpu(), RGM_F32), .state = 88172645463325252u};
    double operations[FMA_ITEMS], seconds;

    if (argc > 1 && atoi(argv[1]) > 0)
        rgm_threads_set(atoi(argv[1]));
    b.filter = argc > 2 ? argv[2] : NULL;
    measure_triad(&b);
    seconds = median_time(multiply_adds, operations);
    b.multiply_adds = FMA_ITEMS * operations[0] / seconds;
    printf("rows %s, threads %d, triad %.1f GB/s, multiply-adds %.1f GF/s\n", b.kernels->isa,
           rgm_threads(), b.triad * 1e-9, b.multiply_adds * 1e-9);
    bench_spmm(&b, "arxiv", ARXIV_NODES, ARXIV_EDGES, arxiv, 4);
    bench_spmm(&b, "cora", CORA_NODES, CORA_EDGES, cora, 3);
    bench_gatv2(&b);
    bench_matmul(&b);
    bench_packed(&b);
    bench_streams(&b, (int64_t)16 << 20, "16 M");
    bench_streams(&b, 43328, "43 k");
    return 0;
}
