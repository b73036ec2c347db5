/*
 * tensor: counted, typed arrays with a shape; the pattern of a sparse matrix in both directions;
 * named tensors in one safetensors file. No arithmetic: see kernels.
 */
#ifndef REGIMEN_TENSOR_H
#define REGIMEN_TENSOR_H

#include <math.h>

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define RGM_MAX_RANK 6

typedef enum rgm_dtype {
    RGM_F32,
    RGM_F64,
    RGM_I32,
    RGM_I64,
    RGM_BOOL,   /* one byte, 0 or 1 */
    RGM_STRING, /* rgm_str          */
    RGM_BF16,   /* bfloat16: the upper half of an f32; for storage and conversion, not arithmetic */
    RGM_I8,     /* one byte with a sign; for storage */
    RGM_DTYPE_COUNT
} rgm_dtype;

/** Bytes with a length, not null-terminated. The element of an RGM_STRING tensor. */
typedef struct rgm_str {
    const char *data;
    int64_t size;
} rgm_str;

/** x as bfloat16 bits: nearest, ties to even; beyond 3.39e38 infinite; NaN becomes a quiet NaN. */
static inline uint16_t rgm_bf16_from(float x)
{
    union {
        float number;
        uint32_t bits;
    } u = {x};
    uint32_t rounded = u.bits + 0x7fff + (u.bits >> 16 & 1);

    return (uint16_t)((u.bits & 0x7fffffff) > 0x7f800000 ? u.bits >> 16 | 0x40 : rounded >> 16);
}
/** The number that these bits stand for; exact. */
static inline float rgm_bf16_to(uint16_t bits)
{
    union {
        uint32_t bits;
        float number;
    } u = {(uint32_t)bits << 16};

    return u.number;
}

/** Bytes of one element; for RGM_STRING the size of an rgm_str. */
size_t rgm_dtype_size(rgm_dtype dtype);
/** Write a number at `out` as an element of `dtype` (not bf16, not text), converted as by a C
 * cast. */
void rgm_dtype_put(void *out, rgm_dtype dtype, double number);
void rgm_dtype_put_int(void *out, rgm_dtype dtype, int64_t number);
/** What stands in the place of a number that is missing, as a double: NaN of f32 and f64, the
 * lowest number of i32 and i64. Other dtypes have none: 0. */
double rgm_dtype_missing(rgm_dtype dtype);
const char *rgm_dtype_name(rgm_dtype dtype); /* "f32", "i64", ... */

/**
 * A dense array: row-major, contiguous, and 64-byte aligned unless it is a view. Reference-counted
 * with retain and release. Write to it only when you know that nobody else reads it.
 */
typedef struct rgm_tensor rgm_tensor;

/**
 * A zero-filled tensor.
 *
 * @param out    [out, owned]
 * @param shape  [in] [rank], each >= 0; rank 0 is a scalar
 *
 * Errors: RGM_ERR_ARG (rank, negative size), RGM_ERR_NOMEM (also overflow); *out is then NULL.
 */
rgm_status rgm_tensor_create(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape);
/**
 * A tensor of that shape with a copy of `data`; for RGM_STRING the bytes are copied too.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_tensor_create_from(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape,
                                  const void *data);
/** i64 [count]: 0, 1, .. count - 1. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_tensor_arange(rgm_tensor **out, int64_t count);
/**
 * A tensor of `shape` over the caller's memory. `release(payload)`, which may be NULL, is called
 * when the last reference goes. After an error it is not called: the caller still owns the memory.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_tensor_wrap(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape,
                           void *data, void (*release)(void *payload), void *payload);
/**
 * The same over memory of a device (device.h): `data` is an address there, which functions that
 * read or write elements must not be given; shape and dtype are as of any tensor. `device` NULL is
 * rgm_tensor_wrap(). Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
struct rgm_device;
rgm_status rgm_tensor_wrap_on(rgm_tensor **out, struct rgm_device *device, rgm_dtype dtype,
                              int rank, const int64_t *shape, void *data,
                              void (*release)(void *payload), void *payload);
/** A view of the same elements in another shape. RGM_ERR_SHAPE when the counts differ. */
rgm_status rgm_tensor_reshape(rgm_tensor **out, rgm_tensor *tensor, int rank, const int64_t *shape);
/** A view of rows [begin, end) of the outermost axis. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_tensor_slice(rgm_tensor **out, rgm_tensor *tensor, int64_t begin, int64_t end);
rgm_status rgm_tensor_copy(rgm_tensor **out, const rgm_tensor *tensor);
/** f32 as bf16 (rounded) or bf16 as f32 (exact), same shape; RGM_ERR_DTYPE for other pairs. */
rgm_status rgm_tensor_convert(rgm_tensor **out, const rgm_tensor *tensor, rgm_dtype dtype);
rgm_tensor *rgm_tensor_retain(rgm_tensor *tensor);
void rgm_tensor_release(rgm_tensor *tensor);

/** Properties: dtype, rank, shape [rank], size of an axis, number of elements, bytes. */
rgm_dtype rgm_tensor_dtype(const rgm_tensor *tensor);
int rgm_tensor_rank(const rgm_tensor *tensor);
const int64_t *rgm_tensor_shape(const rgm_tensor *tensor);
int64_t rgm_tensor_dim(const rgm_tensor *tensor, int axis); /* axis < 0 counts from the end */
int64_t rgm_tensor_count(const rgm_tensor *tensor);         /* elements */
size_t rgm_tensor_bytes(const rgm_tensor *tensor);
/** The device in whose memory the elements are; NULL: the host's. */
struct rgm_device *rgm_tensor_device(const rgm_tensor *tensor);
/** The elements; the caller knows the dtype. */
void *rgm_tensor_data(const rgm_tensor *tensor);
static inline float *rgm_tensor_f32(const rgm_tensor *t)
{
    return (float *)rgm_tensor_data(t);
}
static inline uint16_t *rgm_tensor_bf16(const rgm_tensor *t)
{
    return (uint16_t *)rgm_tensor_data(t);
}
static inline double *rgm_tensor_f64(const rgm_tensor *t)
{
    return (double *)rgm_tensor_data(t);
}
static inline int32_t *rgm_tensor_i32(const rgm_tensor *t)
{
    return (int32_t *)rgm_tensor_data(t);
}
static inline int64_t *rgm_tensor_i64(const rgm_tensor *t)
{
    return (int64_t *)rgm_tensor_data(t);
}
static inline uint8_t *rgm_tensor_bool(const rgm_tensor *t)
{
    return (uint8_t *)rgm_tensor_data(t);
}
static inline rgm_str *rgm_tensor_str(const rgm_tensor *t)
{
    return (rgm_str *)rgm_tensor_data(t);
}
/** Whether element i is what stands in the place of a missing number: see rgm_dtype_missing(). */
bool rgm_tensor_is_missing(const rgm_tensor *tensor, int64_t i);
/** Element i of any numeric dtype as double / int64. */
double rgm_tensor_at(const rgm_tensor *tensor, int64_t i);
int64_t rgm_tensor_at_int(const rgm_tensor *tensor, int64_t i);
/** Same dtype and shape. */
bool rgm_tensor_is_like(const rgm_tensor *a, const rgm_tensor *b);
/** Copy the elements of `from`, which has the same dtype (not strings) and shape. */
void rgm_tensor_set(rgm_tensor *tensor, const rgm_tensor *from);
/** Same dtype, shape and bytes (strings: same text). */
bool rgm_tensor_equal(const rgm_tensor *a, const rgm_tensor *b);
/** Write "f32[3,4]" into `buffer`; returns buffer. */
const char *rgm_tensor_describe(const rgm_tensor *tensor, char *buffer, size_t size);

/* ---- rows of a table ----------------------------------------------------------------------- */

/**
 * A table that stays, and tensors of some of its rows, again and again: what a sampler takes of the
 * features of a graph. While a table is lent, whoever takes rows of it may leave them where they
 * are: such a tensor says which rows it has, so that a device that has the table (`there`) picks
 * them by their numbers; anybody else gets the elements by rgm_tensor_data(), which gathers them
 * the first time.
 *
 *     rgm_tensor_lend(table, there);
 *     RGM_TRY(rgm_tensor_wrap(&some, RGM_F32, 2, (int64_t[]){n, 128}, memory, NULL, NULL));
 *     rgm_tensor_pick(some, table, rows);
 *     rgm_tensor_f32(some)[0];
 */

/** @param there  [retained] the same elements on a device, until rgm_tensor_take_back(); NULL: no
 *                device has them */
void rgm_tensor_lend(rgm_tensor *table, rgm_tensor *there);
/** No tensor may be picked from now on, and nobody may be using `there`. */
void rgm_tensor_take_back(rgm_tensor *table);
bool rgm_tensor_is_lent(const rgm_tensor *table);
/** The copy on a device, of the shape of the table, borrowed; NULL: none. */
rgm_tensor *rgm_tensor_there(const rgm_tensor *table);
/**
 * The elements of `tensor`, which nobody has seen yet, are rows `rows` of `table`: retained both.
 * @param tensor  [n, ...], of its own memory, which is written when somebody asks for elements
 * @param table   [rows of the table, ...], never changed; no strings
 * @param rows    i32 [n], each a row of the table
 */
void rgm_tensor_pick(rgm_tensor *tensor, rgm_tensor *table, rgm_tensor *rows);
/** Its table and rows, borrowed; false, and NULL: it was not picked. A view was not. */
bool rgm_tensor_picked(rgm_tensor **table, rgm_tensor **rows, const rgm_tensor *tensor);
/** Write rows begin .. end - 1 of a tensor that was picked to `to`; its own memory stays as it is.
 */
void rgm_tensor_gather(void *to, const rgm_tensor *tensor, int64_t begin, int64_t end);

/* ---- sparse pattern ------------------------------------------------------------------------ */

/**
 * One direction of a pattern: compressed sparse rows. Row r holds the entries row_start[r] ..
 * row_start[r+1]-1. Entry p is in column column[p], and `entry[p]` is its number in the order in
 * which the pattern was given (the edge's number). entry == NULL means that both orders agree:
 * entry[p] is p. Within a row, entries keep the given order.
 *
 * `visit` is the order in which a loop over short rows takes them: within each block (see
 * rgm_csr_block_begin()) sorted by number of entries, so that the processor can predict where a row
 * ends. NULL: ascending.
 *
 * `longest` is at least the number of entries of every row; 0: it is not known.
 */
typedef struct rgm_csr {
    int64_t rows, columns, count;
    const int64_t *row_start; /* [rows + 1] */
    const int32_t *column;    /* [count]    */
    const int32_t *entry;     /* [count] or NULL */
    const int32_t *visit;     /* [rows] or NULL  */
    int64_t longest;
} rgm_csr;

/* Rows are cut into blocks with about equal numbers of entries + rows, so that one hub does not
 * make one thread's share much longer than the others'. */
#define RGM_ROW_BLOCK 2048
int64_t rgm_csr_blocks(const rgm_csr *csr);
/**
 * First row of block b: the first r with row_start[r] + r >= b * RGM_ROW_BLOCK. For b = the number
 * of blocks it is `rows`. Cost: a binary search.
 */
int64_t rgm_csr_block_begin(const rgm_csr *csr, int64_t b);

/**
 * The structure of a sparse matrix, without values: an edge set seen from either end, or the
 * non-zeros of sparse features. Both directions are built once, so that forward and backward passes
 * gather and never scatter. Immutable, counted. Values are kept elsewhere, in the given entry
 * order.
 */
typedef struct rgm_pattern rgm_pattern;

/**
 * @param out      [out, owned]
 * @param row, column  [in] [count] int64, 0 <= row < rows, 0 <= column < columns; any order,
 *                     repeats allowed
 *
 * Errors: RGM_ERR_DATA (index out of range: entry, index, limit), RGM_ERR_UNSUPPORTED (2^31 or more
 * columns or entries), RGM_ERR_NOMEM.   Cost: O(count + rows + columns).
 */
rgm_status rgm_pattern_create(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count,
                              const int64_t *row, const int64_t *column);
/**
 * The same from numbers of 32 bits in memory of rgm_malloc(), which is the pattern's from now on;
 * after an error it is freed. Errors: those of rgm_pattern_create().
 */
rgm_status rgm_pattern_take(rgm_pattern **out, int64_t rows, int64_t columns, int64_t count,
                            int32_t *row, int32_t *column);
/**
 * A pattern from ragged rows: row r has the columns column[row_start[r]] .. ; checks as above.
 * Errors: RGM_ERR_ARG, RGM_ERR_DATA, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_pattern_from_rows(rgm_pattern **out, int64_t rows, int64_t columns,
                                 const int64_t *row_start, const int64_t *column);
rgm_pattern *rgm_pattern_retain(rgm_pattern *pattern);
void rgm_pattern_release(rgm_pattern *pattern);
/** The pattern by rows, and by columns (the transpose: its rows are the pattern's columns). */
const rgm_csr *rgm_pattern_by_row(const rgm_pattern *pattern);
const rgm_csr *rgm_pattern_by_column(const rgm_pattern *pattern);
/** The row and the column of each entry, in entry order: [count] int32. */
const int32_t *rgm_pattern_row_of(const rgm_pattern *pattern);
const int32_t *rgm_pattern_column_of(const rgm_pattern *pattern);

/**
 * How many rows of `csr`, one direction of the pattern, stand before the first one with an entry in
 * column `columns` or behind it. Looked for once: the next call with the same number costs nothing.
 */
int64_t rgm_pattern_rows_below(rgm_pattern *pattern, const rgm_csr *csr, int64_t columns);

/* ---- numbers in 8 bits ---------------------------------------------------------------------- */

/**
 * The step of numbers in 8 bits of which the largest without its sign is `most`: a number is kept
 * as x / step, rounded to the nearest of -127..127. most / 127, rounded up to 16 significant bits:
 * so a step times a number of 8 bits is exact in f32, and what was kept gives the same step and the
 * same numbers when it is kept again. 0: all numbers count as 0, `most` is below 1e-30. NaN: `most`
 * is no number or infinite, and so is what comes of it.
 */
static inline float rgm_int8_step(float most)
{
    union {
        float number;
        uint32_t bits;
    } step = {most / 127};

    if (!(most < INFINITY))
        return NAN;
    if (most < 1e-30f)
        return 0;
    step.bits = (step.bits + 0xff) & ~(uint32_t)0xff;
    return step.number;
}

/**
 * A matrix f32 [rows, columns] in 8 bits: numbers i8 [rows, columns] and steps f32, [rows] of axis
 * 0, [columns] of axis 1, as rgm_int8_step() says. Products in int8 make the same of it.
 * Errors: RGM_ERR_ARG (no matrix of f32), RGM_ERR_NUMERIC (a number that is not finite, with its
 * place), RGM_ERR_NOMEM; nothing is then given.
 */
rgm_status rgm_int8_from(rgm_tensor **numbers, rgm_tensor **steps, const rgm_tensor *matrix,
                         int axis);
/**
 * numbers times steps, exact. What it gives is kept in 8 bits by the same numbers and steps.
 * Errors: RGM_ERR_SHAPE (steps [n] for either axis of numbers [rows, columns], i8 and f32),
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_int8_to(rgm_tensor **matrix, const rgm_tensor *numbers, const rgm_tensor *steps,
                       int axis);
/** Each row of x [rows, columns] as 8 bits keep it; one with a number that is not finite is NaN. */
void rgm_int8_round_rows(float *x, int64_t rows, int64_t columns);

/* ---- named tensors in one file ------------------------------------------------------------- */

/** A tensor with its name, borrowed. */
typedef struct rgm_named_tensor {
    const char *name;
    rgm_tensor *tensor;
} rgm_named_tensor;

/**
 * Write a safetensors file: a JSON header, sorted by name and padded to 8 bytes, then the data
 * without holes. `metadata` (pairs key, value; may be NULL) goes to __metadata__, sorted by key.
 * The file is written in place and synced (rgm_file_create), not renamed: checkpoints rename the
 * folder around it.
 *
 * Errors: RGM_ERR_ARG (a name twice or not UTF-8), RGM_ERR_DTYPE (strings), RGM_ERR_IO,
 * RGM_ERR_NOMEM; no file is left then.
 */
rgm_status rgm_safetensors_save(const char *path, const rgm_named_tensor *tensors, int64_t count,
                                const char *const *metadata, int64_t metadata_count);

/**
 * Write one tensor in numpy's format (.npy, version 1.0, C order, this machine's byte order). The
 * file is replaced as a whole.
 *
 * Errors: RGM_ERR_DTYPE (strings; bf16, which numpy lacks), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_npy_save(const char *path, const rgm_tensor *tensor);

/** Arrays by name, as numpy.savez() and Marian write them (.npz); each call copies out one. */
typedef struct rgm_npz rgm_npz;
/**
 * Open a file and check its directory. Errors: RGM_ERR_FORMAT (cut short, no archive, a name
 * twice), RGM_ERR_UNSUPPORTED (compressed, beyond 4 GiB), RGM_ERR_NOT_FOUND, RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_npz_open(rgm_npz **out, const char *path);
void rgm_npz_close(rgm_npz *file);
int64_t rgm_npz_count(const rgm_npz *file);
const char *rgm_npz_name(const rgm_npz *file, int64_t i);
/**
 * A copy, with the shape in the file and its rows one after the other. Errors: RGM_ERR_NOT_FOUND,
 * RGM_ERR_DTYPE (a type of numbers that tensors lack, by name), RGM_ERR_FORMAT,
 * RGM_ERR_UNSUPPORTED (three axes or more in Fortran's order), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_npz_get(rgm_tensor **out, const rgm_npz *file, const char *name);

/** A safetensors file opened for reading; each call copies out one tensor. */
typedef struct rgm_safetensors rgm_safetensors;
/**
 * Open a file and check it before allocating anything beyond the header. Errors: RGM_ERR_FORMAT:
 * header over 100 MB or longer than the file, bad JSON, unknown dtype, shape times size unequal to
 * the extent, overlap or hole, duplicate name.
 */
rgm_status rgm_safetensors_open(rgm_safetensors **out, const char *path);
/** The same from memory that outlives the result. Errors: RGM_ERR_FORMAT, RGM_ERR_NOMEM. */
rgm_status rgm_safetensors_open_memory(rgm_safetensors **out, const void *data, int64_t size,
                                       const char *name);
void rgm_safetensors_close(rgm_safetensors *file);
int64_t rgm_safetensors_count(const rgm_safetensors *file);
const char *rgm_safetensors_name(const rgm_safetensors *file, int64_t i);
/** Whether the name of a tensor begins so. */
bool rgm_safetensors_has_prefix(const rgm_safetensors *file, const char *prefix);
const char *rgm_safetensors_metadata(const rgm_safetensors *file, const char *key); /* or NULL */
/** A copy, with the shape in the file; numbers of f16 are given as f32. RGM_ERR_NOT_FOUND names the
 * file and the nearest tensor. */
rgm_status rgm_safetensors_get(rgm_tensor **out, const rgm_safetensors *file, const char *name);
/**
 * The same, with the shape in the file, to be read only and released before the file is closed: of
 * rgm_safetensors_open_memory() a view of its memory, where elements lie as their type does, else a
 * copy. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_safetensors_look(rgm_tensor **out, const rgm_safetensors *file, const char *name);

#ifdef __cplusplus
}
#endif
#endif
