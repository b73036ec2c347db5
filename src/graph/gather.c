/*
 * Some items of a feature of a large graph, again and again. For ragged features the places where
 * rows begin are summed up once; then an item of any depth is one range of values, and taking it is
 * one copy.
 */
#include "sampler_internal.h"

#include <string.h>

/* Threads that one take can use; more stay idle. */
#define MOST_THREADS 64

rgm_status rgmi_gather_create(rgmi_gather *gather, const rgm_feature_schema *schema,
                              const rgm_feature *feature, rgmi_buffers *buffers)
{
    *gather = (rgmi_gather){.schema = schema, .feature = feature, .buffers = buffers};
    for (int k = 1; k <= schema->rank; k++) {
        const rgm_tensor *lengths = feature->row_lengths[k];
        int64_t rows;
        if (lengths == NULL)
            continue;
        rows = rgm_tensor_count(lengths);
        RGM_TRY(RGM_NEW(gather->offsets[k], rows + 1));
        for (int64_t i = 0; i < rows; i++)
            gather->offsets[k][i + 1] = gather->offsets[k][i] + rgm_tensor_i64(lengths)[i];
    }
    return RGM_OK;
}

void rgmi_gather_clear(rgmi_gather *gather)
{
    for (int k = 0; k < RGM_MAX_RANK; k++)
        rgm_free(gather->offsets[k]);
    memset(gather, 0, sizeof *gather);
}

/* Rows at `depth` (0: items) that belong to an item: dims 1 .. depth are passed. */
static inline void range_of(int64_t *begin, int64_t *end, const rgmi_gather *gather, int64_t item,
                            int depth)
{
    int64_t a = item, b = item + 1;

    for (int k = 1; k <= depth; k++) {
        const int64_t *offsets = gather->offsets[k];
        int64_t dim = gather->schema->shape[k - 1];
        a = offsets ? offsets[a] : a * dim;
        b = offsets ? offsets[b] : b * dim;
    }
    *begin = a;
    *end = b;
}

typedef struct copy_job {
    const rgmi_gather *gather;
    const int32_t *items;
    int64_t count;
    int depth;
    size_t row_bytes;
    const char *from;
    char *to;
    int parts;                           /* one for each thread */
    int64_t first_row[MOST_THREADS + 1]; /* where each part begins */
} copy_job;

/* Items of part p begin here. */
static int64_t part_begin(const copy_job *job, int64_t p)
{
    return job->count * p / job->parts;
}

/* How many rows each part has. */
static void count_parts(void *payload, int64_t first, int64_t last, int thread)
{
    copy_job *job = payload;

    (void)thread;
    for (int64_t p = first; p < last; p++) {
        int64_t sum = 0, begin, end;
        for (int64_t i = part_begin(job, p); i < part_begin(job, p + 1); i++) {
            range_of(&begin, &end, job->gather, job->items[i], job->depth);
            sum += end - begin;
        }
        job->first_row[p + 1] = sum;
    }
}

/* Where the rows of each part begin; returns how many there are. */
static int64_t count_rows(copy_job *job)
{
    if (job->depth == 0) {
        for (int p = 0; p <= job->parts; p++)
            job->first_row[p] = part_begin(job, p);
        return job->count;
    }
    rgmi_sampler_for(job->parts, job->parts, 1, count_parts, job);
    for (int p = 0; p < job->parts; p++)
        job->first_row[p + 1] += job->first_row[p];
    return job->first_row[job->parts];
}

static void copy_parts(void *payload, int64_t first, int64_t last, int thread)
{
    const copy_job *job = payload;

    (void)thread;
    for (int64_t p = first; p < last; p++) {
        char *to = job->to + (size_t)job->first_row[p] * job->row_bytes;
        int64_t end_item = part_begin(job, p + 1);
        for (int64_t i = part_begin(job, p); i < end_item; i++) {
            int64_t begin, end;
            size_t bytes;
            if (job->depth == 0 && i + 4 < end_item)
                __builtin_prefetch(job->from + (size_t)job->items[i + 4] * job->row_bytes);
            range_of(&begin, &end, job->gather, job->items[i], job->depth);
            bytes = (size_t)(end - begin) * job->row_bytes;
            memcpy(to, job->from + (size_t)begin * job->row_bytes, bytes);
            to += bytes;
        }
    }
}

static void copy_rows(copy_job *job)
{
    rgmi_sampler_for(job->parts, job->parts, 1, copy_parts, job);
}

/* The rows at job->depth of the items; strings are copied with their text. */
static rgm_status copy_tensor(rgm_tensor **out, copy_job *job, const rgm_tensor *from, int rank,
                              int64_t *shape)
{
    rgm_dtype dtype = rgm_tensor_dtype(from);
    int64_t rows = count_rows(job);

    shape[0] = rows;
    job->from = rgm_tensor_data(from);
    job->row_bytes = rgm_dtype_size(dtype);
    for (int i = 1; i < rank; i++)
        job->row_bytes *= (size_t)shape[i];
    if (dtype == RGM_STRING) {
        rgm_status status;
        job->to = rgm_malloc((size_t)rows * job->row_bytes);
        if (job->to == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld strings", (long long)rows);
        copy_rows(job);
        status = rgm_tensor_create_from(out, dtype, rank, shape, job->to);
        rgm_free(job->to);
        return rgm_error_trace(status, __FILE__, __LINE__, __func__);
    }
    RGM_TRY(rgmi_buffers_tensor(out, job->gather->buffers, dtype, rank, shape));
    job->to = rgm_tensor_data(*out);
    copy_rows(job);
    return RGM_OK;
}

rgm_status rgmi_gather_take(rgm_feature *out, const rgmi_gather *gather, const int32_t *items,
                            int64_t count, int threads)
{
    rgm_status status = RGM_OK;
    copy_job job = {.gather = gather, .items = items, .count = count};
    int64_t shape[RGM_MAX_RANK];

    memset(out, 0, sizeof *out);
    /* Below some thousand items a team costs more than it saves. */
    job.parts = count < 4096 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    for (int k = 1; k <= gather->schema->rank; k++) {
        if (gather->offsets[k] == NULL)
            continue;
        job.depth = k - 1;
        RGM_GO(copy_tensor(&out->row_lengths[k], &job, gather->feature->row_lengths[k], 1, shape));
    }
    job.depth = rgmi_last_ragged(gather->schema);
    RGM_GO(copy_tensor(&out->values, &job, gather->feature->values,
                       rgmi_values_shape(shape, gather->schema, 0), shape));
done:
    if (status != RGM_OK) {
        for (int k = 0; k < RGM_MAX_RANK; k++)
            rgm_tensor_release(out->row_lengths[k]);
        rgm_tensor_release(out->values);
        memset(out, 0, sizeof *out);
    }
    return status;
}
