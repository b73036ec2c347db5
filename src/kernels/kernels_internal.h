/*
 * What the files of the kernels layer share: the tables, work split over threads, scratch memory,
 * and the block sizes that fix the order of every long sum. What changes the order of a sum depends
 * on shapes only, never on the number of threads: that is what makes results independent of it.
 */
#ifndef RGM_KERNELS_INTERNAL_H
#define RGM_KERNELS_INTERNAL_H

#include <regimen/kernels.h>

extern const rgm_kernels rgmi_reference_f32;
extern const rgm_kernels rgmi_reference_f64;
extern const rgm_kernels rgmi_avx2_f32;
extern const rgm_kernels rgmi_avx512_f32;

/* How a table names its rows: what is FAST has one in the file itself; the others are shared. */
#define RGMI_ROW(result, name, arguments)     .name = name,
#define RGMI_F32_ROW(result, name, arguments) .name = rgmi_f32_##name,
#define RGMI_F64_ROW(result, name, arguments) .name = rgmi_f64_##name,
#define RGMI_ANY_ROW(result, name, arguments) .name = rgmi_any_##name,

#define RGMI_NO_ROW(result, name, arguments)
#define RGMI_PLAIN_ROWS(result, name, arguments)                                                   \
    result rgmi_f32_##name arguments;                                                              \
    result rgmi_f64_##name arguments;
#define RGMI_ANY_ROWS(result, name, arguments) result rgmi_any_##name arguments;
RGM_KERNEL_LIST(RGMI_NO_ROW, RGMI_PLAIN_ROWS, RGMI_ANY_ROWS)

/** Dense products in bf16: plain C, AMX and AVX-512's dot product (the last two where they run). */
void rgmi_reference_bf16_matmul(const rgm_matmul_args *args);
void rgmi_amx_matmul(const rgm_matmul_args *args);
void rgmi_avx512_bf16_matmul(const rgm_matmul_args *args);
/** Their matmul_pack; that of the plain one is the float reference's. */
size_t rgmi_amx_pack(const rgm_matmul_args *args);
size_t rgmi_avx512_bf16_pack(const rgm_matmul_args *args);
/** Dense products with a b packed in 8 bits: plain C, AVX2, AVX-512 VNNI, and their matmul_pack. */
void rgmi_reference_int8_matmul(const rgm_matmul_args *args);
void rgmi_avx2_int8_matmul(const rgm_matmul_args *args);
void rgmi_avx512_int8_matmul(const rgm_matmul_args *args);
size_t rgmi_reference_int8_pack(const rgm_matmul_args *args);
size_t rgmi_avx2_int8_pack(const rgm_matmul_args *args);
size_t rgmi_avx512_int8_pack(const rgm_matmul_args *args);
/** Whether this process may use AMX tiles for bf16; asks the system for them. */
bool rgmi_amx_ready(void);

/** A table of the CPU by its name, NULL when this one cannot run it. For RGM_BF16: amx, avx512_bf16
 * and reference; for RGM_I8: avx512_vnni, avx512, avx2 and reference. */
const rgm_kernels *rgmi_kernels_named(const char *isa, rgm_dtype dtype);
/** What rgm_kernels_for() gives for f32, bf16 and 8 bits when REGIMEN_ISA is `most` (may be NULL).
 */
typedef struct rgmi_kernels_choice {
    const rgm_kernels *f32, *bf16, *int8;
} rgmi_kernels_choice;
rgmi_kernels_choice rgmi_kernels_choose(const char *most);

/**
 * Scratch memory, 64-byte aligned, kept in a free list between calls so that a training step
 * allocates nothing; NULL when there is none, and then the caller takes a way without. Not counted
 * by rgm_memory_used(), which would take a cache for a leak.
 */
void *rgmi_scratch_take(size_t size);
void rgmi_scratch_give(void *memory);
void rgmi_scratch_clear(void);
/** Tests: let every rgmi_scratch_take() fail while `on`. */
void rgmi_scratch_fail(bool on);

/** c [rows, columns] = act(c + bias); bias may be NULL. */
typedef void rgmi_gemm_finish(float *c, int64_t ldc, int64_t rows, int64_t columns,
                              const float *bias, rgm_activation activation, float slope);
/** Whether oneDNN is the faster way to a product, by its shape. */
bool rgmi_onednn_takes(const rgm_matmul_args *args);
/** That product through it. */
void rgmi_onednn_matmul(const rgm_matmul_args *args, rgmi_gemm_finish *finish);

/* Rows of one block of a sum over rows (bias gradients, layer norm's gradients): fixed. */
#define RGMI_SUM_BLOCK 1024
/* Elements of one block of a flat sum. */
#define RGMI_FLAT_BLOCK 16384

static inline int64_t rgmi_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t rgmi_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline int64_t rgmi_blocks(int64_t count, int64_t block)
{
    return (count + block - 1) / block;
}

/** The number of entry p in the order in which the pattern was given. */
static inline int64_t rgmi_csr_entry(const rgm_csr *csr, int64_t p)
{
    return csr->entry ? csr->entry[p] : p;
}

/** Rows and entries of a block of rgm_csr_blocks() on average: the last one may be nearly empty. */
static inline double rgmi_block_weight(const rgm_csr *csr)
{
    return (double)(csr->rows + csr->count) / (double)rgmi_max(1, rgm_csr_blocks(csr));
}

/* ---- attention ---- */

#define RGMI_KEYS    64 /* of a block; one row's draws for a block are 8 blocks of the generator */
#define RGMI_QUERIES 16 /* rows whose draws are made together */

/** Query heads that share a head of keys and values. */
static inline int64_t rgmi_key_group(int64_t heads, int64_t kv_heads)
{
    return kv_heads > 0 ? heads / kv_heads : 1;
}

/** Where query i stands among the keys. */
static inline int64_t rgmi_stands(const rgm_attention_args *o, int64_t i)
{
    return i + o->keys - o->queries;
}

/** Number of the first key that query i does not see for being behind it. */
static inline int64_t rgmi_sees(const rgm_attention_args *o, int64_t i)
{
    int64_t behind = o->causal ? 1 : o->window > 0 ? o->window : o->keys + o->queries;

    return rgmi_max(0, rgmi_min(o->keys, rgmi_stands(o, i) + behind));
}

/** Number of the first key that query i sees: those before it are out of its window. */
static inline int64_t rgmi_sees_from(const rgm_attention_args *o, int64_t i)
{
    return o->window > 0 ? rgmi_max(0, rgmi_stands(o, i) - o->window + 1) : 0;
}

static inline int64_t rgmi_id_at(const void *ids, rgm_dtype dtype, int64_t i)
{
    return dtype == RGM_I32 ? ((const int32_t *)ids)[i] : ((const int64_t *)ids)[i];
}

static inline bool rgmi_key_visible(const rgm_attention_args *o, int64_t b, int64_t j)
{
    return o->key == NULL || rgmi_id_at(o->key, o->key_dtype, b * o->keys + j) != 0;
}

/** Whether query i sees key j, which lies between rgmi_sees_from() and rgmi_sees(). */
static inline bool rgmi_key_seen(const rgm_attention_args *o, int64_t b, int64_t i, int64_t j)
{
    return rgmi_key_visible(o, b, j) &&
           (o->query == NULL || rgmi_id_at(o->key, o->key_dtype, b * o->keys + j) ==
                                    rgmi_id_at(o->query, o->key_dtype, b * o->queries + i));
}

/** First block of the draws of query i in key block `block`; item: number of (b, h). */
static inline uint64_t rgmi_attention_draws(const rgm_attention_args *o, int64_t item,
                                            int64_t block, int64_t i)
{
    int64_t rows = rgmi_blocks(o->queries, RGMI_QUERIES) * RGMI_QUERIES;

    return (uint64_t)(((item * rgmi_blocks(o->keys, RGMI_KEYS) + block) * rows + i) * 8);
}

/* ---- windows over images ---- */

/** Where tap `tap` of place `out` stands on an axis; negative: outside the image. */
static inline int64_t rgmi_tap(const rgm_window *w, int axis, int64_t out, int64_t tap)
{
    int64_t at = out * w->stride[axis] - w->before[axis] + tap * w->dilation[axis];

    return at < w->in[axis] ? at : -1; /* below 0 it is outside as well */
}

/** The place whose tap `tap` stands at `in`; -1: none. */
static inline int64_t rgmi_window_place(const rgm_window *w, int axis, int64_t in, int64_t tap)
{
    int64_t at = in + w->before[axis] - tap * w->dilation[axis];

    if (at < 0 || at % w->stride[axis] != 0)
        return -1;
    at /= w->stride[axis];
    return at < w->out[axis] ? at : -1;
}

/** Taps of place `out` that are inside. */
static inline int64_t rgmi_taps_inside(const rgm_window *w, int axis, int64_t out)
{
    int64_t inside = 0;

    for (int64_t t = 0; t < w->size[axis]; t++)
        inside += rgmi_tap(w, axis, out, t) >= 0;
    return inside;
}

/** Places over all images. */
static inline int64_t rgmi_places(const rgm_window *w)
{
    return w->count * w->out[0] * w->out[1];
}

/** The row that a walk looks at as number i. */
static inline int64_t rgmi_row_visited(const int32_t *visit, int64_t i)
{
    return visit ? visit[i] : i;
}

#endif
