/*
 * Dense, counted tensors, and views, which keep their tensor alive. No arithmetic here.
 */
#include <regimen/tensor.h>

#include <regimen/base_threads.h>

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

struct rgm_tensor {
    atomic_int references;
    rgm_dtype dtype;
    int rank;
    int64_t shape[RGM_MAX_RANK];
    int64_t count;
    void *data;
    struct rgm_device *device;      /* that has the data; NULL: the host         */
    rgm_tensor *owner;              /* for a view: the tensor that has the data */
    char *text;                     /* for strings: their bytes, if this tensor owns them */
    void (*release)(void *payload); /* for wrapped memory: how to give it back; else NULL */
    void *payload;
    bool owns_data;
    rgm_tensor *table, *rows;    /* whose rows these are, and which; NULL: of no table */
    atomic_bool gathered;        /* the rows of the table are there                    */
    _Atomic(rgm_tensor *) there; /* a copy on a device, for as long as it is lent; or NULL */
    atomic_bool lent;
};

static const struct {
    const char *name;
    size_t size;
} dtypes[RGM_DTYPE_COUNT] = {
    [RGM_F32] = {"f32", 4},   [RGM_F64] = {"f64", 8},   [RGM_I32] = {"i32", 4},
    [RGM_I64] = {"i64", 8},   [RGM_BOOL] = {"bool", 1}, [RGM_STRING] = {"string", sizeof(rgm_str)},
    [RGM_BF16] = {"bf16", 2}, [RGM_I8] = {"i8", 1},
};

size_t rgm_dtype_size(rgm_dtype dtype)
{
    return (unsigned)dtype < RGM_DTYPE_COUNT ? dtypes[dtype].size : 0;
}

const char *rgm_dtype_name(rgm_dtype dtype)
{
    return (unsigned)dtype < RGM_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

/* ---- making -------------------------------------------------------------------------------- */

static rgm_status check_shape(int64_t *count, rgm_dtype dtype, int rank, const int64_t *shape)
{
    int64_t n = 1, bytes;
    bool empty = false, large = false;

    if ((unsigned)dtype >= RGM_DTYPE_COUNT)
        return RGM_FAIL(RGM_ERR_ARG, "dtype %d does not exist", (int)dtype);
    if (rank < 0 || rank > RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_ARG, "rank is %d, possible are 0 to %d", rank, RGM_MAX_RANK);
    for (int i = 0; i < rank; i++) {
        if (shape[i] < 0)
            return RGM_FAIL(RGM_ERR_ARG, "shape[%d] is %lld", i, (long long)shape[i]);
        empty = empty || shape[i] == 0;
        large = large || __builtin_mul_overflow(n, shape[i], &n);
    }
    if (empty)
        n = 0;
    else if (large || __builtin_mul_overflow(n, (int64_t)dtypes[dtype].size, &bytes))
        return RGM_FAIL(RGM_ERR_NOMEM, "a tensor of rank %d with shape[0] = %lld is too large",
                        rank, (long long)shape[0]);
    *count = n;
    return RGM_OK;
}

/* Make the struct without data. */
static rgm_status make_header(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape)
{
    int64_t count;
    rgm_tensor *t;

    *out = NULL;
    RGM_TRY(check_shape(&count, dtype, rank, shape));
    RGM_TRY(RGM_NEW(t, 1));
    atomic_init(&t->references, 1);
    t->dtype = dtype;
    t->rank = rank;
    t->count = count;
    if (rank > 0)
        memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    *out = t;
    return RGM_OK;
}

/* Make the struct with memory, zeroed unless it is about to be filled. */
static rgm_status make_tensor(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape,
                              bool zeroed)
{
    rgm_status status = RGM_OK;
    rgm_tensor *t = NULL;
    size_t bytes;

    *out = NULL;
    RGM_GO(make_header(&t, dtype, rank, shape));
    bytes = rgm_tensor_bytes(t);
    t->owns_data = true;
    t->data = zeroed ? rgm_calloc((int64_t)bytes, 1) : rgm_malloc(bytes);
    if (t->data == NULL) {
        char text[96];
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes for %s", bytes,
                        rgm_tensor_describe(t, text, sizeof text)));
    }
    *out = t;
    t = NULL;
done:
    rgm_tensor_release(t);
    return status;
}

rgm_status rgm_tensor_create(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape)
{
    RGM_TRY(make_tensor(out, dtype, rank, shape, true));
    return RGM_OK;
}

/* Strings: all bytes go into one block, and the elements point into it. */
static rgm_status copy_strings(rgm_tensor *t, const rgm_str *from)
{
    rgm_str *to = t->data;
    int64_t total = 0;
    char *next;

    for (int64_t i = 0; i < t->count; i++)
        if (from[i].size < 0 || __builtin_add_overflow(total, from[i].size, &total))
            return RGM_FAIL(RGM_ERR_ARG, "string %lld has size %lld", (long long)i,
                            (long long)from[i].size);
    next = t->text = rgm_malloc((size_t)total);
    if (next == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld bytes of text", (long long)total);
    for (int64_t i = 0; i < t->count; i++) {
        to[i] = (rgm_str){next, from[i].size};
        if (from[i].size > 0)
            memcpy(next, from[i].data, (size_t)from[i].size);
        next += from[i].size;
    }
    return RGM_OK;
}

rgm_status rgm_tensor_create_from(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape,
                                  const void *data)
{
    rgm_status status = RGM_OK;
    rgm_tensor *t = NULL;

    *out = NULL;
    RGM_GO(make_tensor(&t, dtype, rank, shape, false));
    if (t->count > 0 && data == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "no data for %lld elements", (long long)t->count));
    if (dtype == RGM_STRING)
        RGM_GO(copy_strings(t, data));
    else if (t->count > 0)
        memcpy(t->data, data, rgm_tensor_bytes(t));
    *out = t;
    t = NULL;
done:
    rgm_tensor_release(t);
    return status;
}

rgm_status rgm_tensor_arange(rgm_tensor **out, int64_t count)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = i;
    return RGM_OK;
}

rgm_status rgm_tensor_copy(rgm_tensor **out, const rgm_tensor *tensor)
{
    RGM_TRY(rgm_tensor_create_from(out, tensor->dtype, tensor->rank, tensor->shape,
                                   rgm_tensor_data(tensor)));
    return RGM_OK;
}

rgm_status rgm_tensor_convert(rgm_tensor **out, const rgm_tensor *tensor, rgm_dtype dtype)
{
    bool narrow = tensor->dtype == RGM_F32 && dtype == RGM_BF16;

    *out = NULL;
    if (!narrow && (tensor->dtype != RGM_BF16 || dtype != RGM_F32))
        return RGM_FAIL(RGM_ERR_DTYPE, "no conversion from %s to %s, only between f32 and bf16",
                        rgm_dtype_name(tensor->dtype), rgm_dtype_name(dtype));
    RGM_TRY(make_tensor(out, dtype, tensor->rank, tensor->shape, false));
    for (int64_t i = 0; i < tensor->count; i++)
        if (narrow)
            rgm_tensor_bf16(*out)[i] = rgm_bf16_from(rgm_tensor_f32(tensor)[i]);
        else
            rgm_tensor_f32(*out)[i] = rgm_bf16_to(rgm_tensor_bf16(tensor)[i]);
    return RGM_OK;
}

rgm_status rgm_tensor_wrap(rgm_tensor **out, rgm_dtype dtype, int rank, const int64_t *shape,
                           void *data, void (*release)(void *payload), void *payload)
{
    return rgm_tensor_wrap_on(out, NULL, dtype, rank, shape, data, release, payload);
}

rgm_status rgm_tensor_wrap_on(rgm_tensor **out, struct rgm_device *device, rgm_dtype dtype,
                              int rank, const int64_t *shape, void *data,
                              void (*release)(void *payload), void *payload)
{
    RGM_TRY(make_header(out, dtype, rank, shape));
    if (data == NULL && (*out)->count > 0) {
        int64_t count = (*out)->count;
        rgm_tensor_release(*out);
        *out = NULL;
        return RGM_FAIL(RGM_ERR_ARG, "no data for %lld elements", (long long)count);
    }
    (*out)->device = device;
    (*out)->data = data;
    (*out)->release = release;
    (*out)->payload = payload;
    return RGM_OK;
}

/* A view keeps the tensor that has the memory, never another view, so chains do not grow. */
static void look_into(rgm_tensor *view, rgm_tensor *tensor, size_t offset)
{
    char *data = rgm_tensor_data(tensor);

    view->owner = rgm_tensor_retain(tensor->owner != NULL ? tensor->owner : tensor);
    view->device = tensor->device;
    view->data = data != NULL ? data + offset : NULL;
}

rgm_status rgm_tensor_reshape(rgm_tensor **out, rgm_tensor *tensor, int rank, const int64_t *shape)
{
    rgm_tensor *view;

    *out = NULL;
    RGM_TRY(make_header(&view, tensor->dtype, rank, shape));
    if (view->count != tensor->count) {
        char from[96], to[96];
        rgm_tensor_describe(tensor, from, sizeof from);
        rgm_tensor_describe(view, to, sizeof to);
        rgm_tensor_release(view);
        return RGM_FAIL(RGM_ERR_SHAPE, "%s has another number of elements than %s", from, to);
    }
    look_into(view, tensor, 0);
    *out = view;
    return RGM_OK;
}

rgm_status rgm_tensor_slice(rgm_tensor **out, rgm_tensor *tensor, int64_t begin, int64_t end)
{
    int64_t shape[RGM_MAX_RANK], row = 1;
    rgm_tensor *view;
    char text[96];

    *out = NULL;
    if (tensor->rank == 0 || begin < 0 || begin > end || end > tensor->shape[0])
        return RGM_FAIL(RGM_ERR_ARG, "rows %lld to %lld of %s", (long long)begin, (long long)end,
                        rgm_tensor_describe(tensor, text, sizeof text));
    memcpy(shape, tensor->shape, sizeof shape);
    shape[0] = end - begin;
    RGM_TRY(make_header(&view, tensor->dtype, tensor->rank, shape));
    if (tensor->count > 0)
        row = tensor->count / tensor->shape[0];
    look_into(view, tensor,
              tensor->count > 0 ? (size_t)(begin * row) * dtypes[tensor->dtype].size : 0);
    *out = view;
    return RGM_OK;
}

rgm_tensor *rgm_tensor_retain(rgm_tensor *tensor)
{
    if (tensor != NULL)
        atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
    return tensor;
}

void rgm_tensor_release(rgm_tensor *tensor)
{
    while (tensor != NULL) {
        rgm_tensor *owner;
        if (atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_acq_rel) != 1)
            return;
        owner = tensor->owner;
        if (tensor->release != NULL)
            tensor->release(tensor->payload);
        if (tensor->owns_data)
            rgm_free(tensor->data);
        rgm_free(tensor->text);
        rgm_tensor_release(tensor->rows);
        rgm_tensor_release(tensor->table);
        rgm_tensor_release(tensor->there);
        rgm_free(tensor);
        tensor = owner;
    }
}

/* ---- rows of a table ------------------------------------------------------------------------ */

void rgm_tensor_lend(rgm_tensor *table, rgm_tensor *there)
{
    rgm_tensor_release(atomic_exchange(&table->there, rgm_tensor_retain(there)));
    atomic_store(&table->lent, true);
}

void rgm_tensor_take_back(rgm_tensor *table)
{
    atomic_store(&table->lent, false);
    rgm_tensor_release(atomic_exchange(&table->there, NULL));
}

bool rgm_tensor_is_lent(const rgm_tensor *table)
{
    return atomic_load_explicit(&table->lent, memory_order_acquire);
}

rgm_tensor *rgm_tensor_there(const rgm_tensor *table)
{
    return atomic_load_explicit(&table->there, memory_order_acquire);
}

void rgm_tensor_pick(rgm_tensor *tensor, rgm_tensor *table, rgm_tensor *rows)
{
    tensor->table = rgm_tensor_retain(table);
    tensor->rows = rgm_tensor_retain(rows);
    atomic_store(&tensor->gathered, false);
}

bool rgm_tensor_picked(rgm_tensor **table, rgm_tensor **rows, const rgm_tensor *tensor)
{
    *table = tensor->table;
    *rows = tensor->rows;
    return tensor->table != NULL;
}

static void gather_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_tensor *tensor = payload;
    size_t each = rgm_tensor_bytes(tensor) / (size_t)tensor->shape[0];

    rgm_tensor_gather((char *)tensor->data + (size_t)begin * each, tensor, begin, end);
}

/* Whoever comes first gathers, whoever comes meanwhile waits. */
static void gather(const rgm_tensor *tensor)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    rgm_tensor *picked = (rgm_tensor *)(uintptr_t)tensor; /* its elements are what they were */

    (void)rgm_tensor_data(tensor->table); /* a table may be picked, too: not inside of the lock */
    pthread_mutex_lock(&lock);
    if (!atomic_load(&picked->gathered)) {
        double bytes = (double)rgm_tensor_bytes(tensor);
        rgm_parallel(tensor->shape[0], bytes / (double)tensor->shape[0] * 0.2, gather_range,
                     picked);
        atomic_store_explicit(&picked->gathered, true, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
}

void rgm_tensor_gather(void *to, const rgm_tensor *tensor, int64_t begin, int64_t end)
{
    const int32_t *rows = rgm_tensor_data(tensor->rows);
    const char *from = rgm_tensor_data(tensor->table);
    size_t each = rgm_tensor_bytes(tensor) / (size_t)tensor->shape[0];
    char *at = to;

    for (int64_t i = begin; i < end; i++, at += each) {
        if (i + 4 < end)
            __builtin_prefetch(from + (size_t)rows[i + 4] * each);
        memcpy(at, from + (size_t)rows[i] * each, each);
    }
}

void *rgm_tensor_data(const rgm_tensor *tensor)
{
    if (tensor->table != NULL && tensor->count > 0 &&
        !atomic_load_explicit(&tensor->gathered, memory_order_acquire))
        gather(tensor);
    return tensor->data;
}

/* ---- reading ------------------------------------------------------------------------------- */

rgm_dtype rgm_tensor_dtype(const rgm_tensor *tensor)
{
    return tensor->dtype;
}

int rgm_tensor_rank(const rgm_tensor *tensor)
{
    return tensor->rank;
}

const int64_t *rgm_tensor_shape(const rgm_tensor *tensor)
{
    return tensor->shape;
}

int64_t rgm_tensor_dim(const rgm_tensor *tensor, int axis)
{
    return tensor->shape[axis < 0 ? axis + tensor->rank : axis];
}

int64_t rgm_tensor_count(const rgm_tensor *tensor)
{
    return tensor->count;
}

size_t rgm_tensor_bytes(const rgm_tensor *tensor)
{
    return (size_t)tensor->count * dtypes[tensor->dtype].size;
}

struct rgm_device *rgm_tensor_device(const rgm_tensor *tensor)
{
    return tensor->device;
}

double rgm_tensor_at(const rgm_tensor *tensor, int64_t i)
{
    switch (tensor->dtype) {
    case RGM_F32:
        return (double)((const float *)rgm_tensor_data(tensor))[i];
    case RGM_F64:
        return ((const double *)rgm_tensor_data(tensor))[i];
    case RGM_BF16:
        return (double)rgm_bf16_to(((const uint16_t *)rgm_tensor_data(tensor))[i]);
    case RGM_STRING:
        return NAN;
    default:
        return (double)rgm_tensor_at_int(tensor, i);
    }
}

int64_t rgm_tensor_at_int(const rgm_tensor *tensor, int64_t i)
{
    switch (tensor->dtype) {
    case RGM_F32:
        return (int64_t)((const float *)rgm_tensor_data(tensor))[i];
    case RGM_F64:
        return (int64_t)((const double *)rgm_tensor_data(tensor))[i];
    case RGM_BF16:
        return (int64_t)rgm_bf16_to(((const uint16_t *)rgm_tensor_data(tensor))[i]);
    case RGM_I32:
        return ((const int32_t *)rgm_tensor_data(tensor))[i];
    case RGM_I64:
        return ((const int64_t *)rgm_tensor_data(tensor))[i];
    case RGM_BOOL:
        return ((const uint8_t *)rgm_tensor_data(tensor))[i];
    case RGM_I8:
        return ((const int8_t *)rgm_tensor_data(tensor))[i];
    default:
        return 0;
    }
}

void rgm_dtype_put(void *out, rgm_dtype dtype, double number)
{
    switch (dtype) {
    case RGM_F32:
        *(float *)out = (float)number;
        break;
    case RGM_F64:
        *(double *)out = number;
        break;
    default:
        rgm_dtype_put_int(out, dtype, dtype == RGM_BOOL ? number != 0 : (int64_t)number);
        break;
    }
}

void rgm_dtype_put_int(void *out, rgm_dtype dtype, int64_t number)
{
    switch (dtype) {
    case RGM_F32:
        *(float *)out = (float)number;
        break;
    case RGM_F64:
        *(double *)out = (double)number;
        break;
    case RGM_I32:
        *(int32_t *)out = (int32_t)number;
        break;
    case RGM_I64:
        *(int64_t *)out = number;
        break;
    default:
        *(uint8_t *)out = number != 0;
        break;
    }
}

double rgm_dtype_missing(rgm_dtype dtype)
{
    switch (dtype) {
    case RGM_F32:
    case RGM_F64:
        return NAN;
    case RGM_I32:
        return (double)INT32_MIN;
    case RGM_I64:
        return (double)INT64_MIN; /* -2^63, which a double holds */
    default:
        return 0;
    }
}

bool rgm_tensor_is_missing(const rgm_tensor *tensor, int64_t i)
{
    switch (rgm_tensor_dtype(tensor)) {
    case RGM_F32:
    case RGM_F64:
        return isnan(rgm_tensor_at(tensor, i));
    case RGM_I32:
        return rgm_tensor_at_int(tensor, i) == INT32_MIN;
    case RGM_I64:
        return rgm_tensor_at_int(tensor, i) == INT64_MIN;
    default:
        return false;
    }
}

bool rgm_tensor_is_like(const rgm_tensor *a, const rgm_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i])
            return false;
    return true;
}

void rgm_tensor_set(rgm_tensor *tensor, const rgm_tensor *from)
{
    if (tensor->count > 0)
        memcpy(rgm_tensor_data(tensor), rgm_tensor_data(from), rgm_tensor_bytes(tensor));
}

bool rgm_tensor_equal(const rgm_tensor *a, const rgm_tensor *b)
{
    if (!rgm_tensor_is_like(a, b))
        return false;
    if (a->count == 0)
        return true;
    if (a->dtype != RGM_STRING)
        return memcmp(rgm_tensor_data(a), rgm_tensor_data(b), rgm_tensor_bytes(a)) == 0;
    for (int64_t i = 0; i < a->count; i++) {
        const rgm_str *s = &rgm_tensor_str(a)[i], *t = &rgm_tensor_str(b)[i];
        if (s->size != t->size || (s->size > 0 && memcmp(s->data, t->data, (size_t)s->size) != 0))
            return false;
    }
    return true;
}

const char *rgm_tensor_describe(const rgm_tensor *tensor, char *buffer, size_t size)
{
    int n = snprintf(buffer, size, "%s[", rgm_dtype_name(tensor->dtype));

    for (int i = 0; i < tensor->rank; i++)
        if (n >= 0 && (size_t)n < size)
            n += snprintf(buffer + n, size - (size_t)n, "%s%lld", i > 0 ? "," : "",
                          (long long)tensor->shape[i]);
    if (n >= 0 && (size_t)n < size)
        snprintf(buffer + n, size - (size_t)n, "]");
    return buffer;
}
