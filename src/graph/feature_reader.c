/*
 * Some items of a feature of a large graph, again and again. For ragged features the places where
 * rows begin are summed up once; then an item of any depth is one range of values, and taking it is
 * one copy.
 */
#include "graph_internal.h"

#include <string.h>

/* Threads that one take can use; more stay idle. */
#define MOST_THREADS 64
#define PART_NS      1e6 /* more than a loop costs to share: who asks for parts wants them shared */

struct rgm_feature_reader {
    const rgm_feature_schema *schema;
    rgm_tensor *values;               /* NULL: texts of a file */
    const rgmi_stored_column *stored; /* of a file; NULL: of memory */
    rgm_buffers *buffers;
    const int64_t *offsets[RGM_MAX_RANK]; /* [k]: of ragged dim k, [rows + 1] */
    int64_t *made[RGM_MAX_RANK];          /* those of memory */
};

static rgm_status sum_lengths(rgm_feature_reader *reader, int k, const rgm_tensor *lengths)
{
    int64_t rows = rgm_tensor_count(lengths);

    RGM_TRY(RGM_NEW(reader->made[k], rows + 1));
    reader->offsets[k] = reader->made[k];
    for (int64_t i = 0; i < rows; i++)
        reader->made[k][i + 1] = reader->made[k][i] + rgm_tensor_i64(lengths)[i];
    return RGM_OK;
}

rgm_status rgm_feature_reader_create(rgm_feature_reader **out, const rgm_graph *graph,
                                     rgm_piece piece, const char *set,
                                     const rgm_feature_schema *schema, rgm_buffers *buffers)
{
    const rgmi_column *column = rgmi_graph_column(graph, piece, set, schema->name);
    rgm_feature_reader *reader;

    RGM_TRY(RGM_NEW(*out, 1));
    reader = *out;
    *reader = (rgm_feature_reader){.schema = schema, .stored = column->stored, .buffers = buffers};
    if (column->stored == NULL || schema->dtype != RGM_STRING)
        reader->values = column->value.values;
    for (int k = 1; k <= schema->rank; k++) {
        if (column->stored != NULL)
            reader->offsets[k] = column->stored->offsets[k];
        else if (column->value.row_lengths[k] != NULL)
            RGM_TRY(sum_lengths(reader, k, column->value.row_lengths[k]));
    }
    return RGM_OK;
}

void rgm_feature_reader_release(rgm_feature_reader *reader)
{
    for (int k = 0; reader != NULL && k < RGM_MAX_RANK; k++)
        rgm_free(reader->made[k]);
    rgm_free(reader);
}

/* Rows at `depth` (0: items) that belong to an item: dims 1 .. depth are passed. None where a file
 * says rows that there are not; false then. */
static inline bool range_of(int64_t *begin, int64_t *end, const rgm_feature_reader *reader,
                            int64_t item, int depth)
{
    int64_t a = item, b = item + 1;
    bool sound = true;

    for (int k = 1; k <= depth; k++) {
        const int64_t *offsets = reader->offsets[k];
        int64_t dim = reader->schema->shape[k - 1];
        a = offsets ? offsets[a] : a * dim;
        b = offsets ? offsets[b] : b * dim;
        if (reader->stored && offsets && (a < 0 || b < a || b > reader->stored->total[k])) {
            a = b = 0;
            sound = false;
        }
    }
    *begin = a;
    *end = b;
    return sound;
}

typedef struct copy_job {
    const rgm_feature_reader *reader;
    const int32_t *items;
    int64_t count;
    int depth;
    int lengths; /* the lengths of ragged dim k's rows are copied, not values; 0: values */
    size_t row_bytes;
    const char *from;
    char *to;
    bool broken;                         /* a file's rows are not sound; set by any thread */
    int parts;                           /* one for each thread */
    int64_t first_row[MOST_THREADS + 1]; /* where each part begins */
} copy_job;

/* Items of part p begin here. */
static int64_t part_begin(const copy_job *job, int64_t p)
{
    return job->count * p / job->parts;
}

/* How many rows each part has. */
static void count_parts(void *payload, int64_t first, int64_t last)
{
    copy_job *job = payload;

    for (int64_t p = first; p < last; p++) {
        int64_t sum = 0, begin, end;
        for (int64_t i = part_begin(job, p); i < part_begin(job, p + 1); i++) {
            if (!range_of(&begin, &end, job->reader, job->items[i], job->depth))
                __atomic_store_n(&job->broken, true, __ATOMIC_RELAXED);
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
    rgm_parallel(job->parts, PART_NS, count_parts, job);
    for (int p = 0; p < job->parts; p++)
        job->first_row[p + 1] += job->first_row[p];
    return job->first_row[job->parts];
}

/* Rows begin .. end - 1 to `to`, which there is room for. */
static bool copy_range(char *to, const copy_job *job, int64_t begin, int64_t end)
{
    const rgmi_stored_column *stored = job->reader->stored;
    bool sound = true;

    if (job->lengths > 0) {
        const int64_t *offsets = job->reader->offsets[job->lengths];
        for (int64_t r = begin; r < end; r++) {
            bool ordered = offsets[r] >= 0 && offsets[r + 1] >= offsets[r];

            ((int64_t *)(void *)to)[r - begin] = ordered ? offsets[r + 1] - offsets[r] : 0;
            sound = sound && ordered;
        }
    } else if (stored != NULL && stored->text != NULL) {
        int64_t each = (int64_t)(job->row_bytes / sizeof(rgm_str));
        for (int64_t t = begin * each; t < end * each; t++)
            if (!rgmi_stored_text((rgm_str *)(void *)to + (t - begin * each), stored, t))
                sound = false;
    } else {
        memcpy(to, job->from + (size_t)begin * job->row_bytes,
               (size_t)(end - begin) * job->row_bytes);
    }
    return sound;
}

static void copy_parts(void *payload, int64_t first, int64_t last)
{
    copy_job *job = payload;

    for (int64_t p = first; p < last; p++) {
        char *to = job->to + (size_t)job->first_row[p] * job->row_bytes;
        int64_t end_item = part_begin(job, p + 1), left = job->first_row[p + 1] - job->first_row[p];
        for (int64_t i = part_begin(job, p); i < end_item; i++) {
            int64_t begin, end;
            if (job->depth == 0 && job->from && i + 4 < end_item)
                __builtin_prefetch(job->from + (size_t)job->items[i + 4] * job->row_bytes);
            range_of(&begin, &end, job->reader, job->items[i], job->depth);
            /* A file that changed since the rows were counted must not lead beyond the room. */
            left -= end - begin;
            if (left < 0 || !copy_range(to, job, begin, end)) {
                __atomic_store_n(&job->broken, true, __ATOMIC_RELAXED);
                break;
            }
            to += (size_t)(end - begin) * job->row_bytes;
        }
    }
}

static void copy_rows(copy_job *job)
{
    rgm_parallel(job->parts, PART_NS, copy_parts, job);
}

static rgm_status broken(const copy_job *job)
{
    return rgmi_stored_column_broken(job->reader->stored, job->reader->schema);
}

/* The rows at job->depth of the items; strings are copied with their text. */
static rgm_status copy_tensor(rgm_tensor **out, copy_job *job, rgm_dtype dtype, int rank,
                              int64_t *shape)
{
    int64_t rows = count_rows(job);

    shape[0] = rows;
    job->row_bytes = rgm_dtype_size(dtype);
    for (int i = 1; i < rank; i++)
        job->row_bytes *= (size_t)shape[i];
    if (dtype == RGM_STRING) {
        rgm_status status;
        job->to = rgm_malloc((size_t)rows * job->row_bytes);
        if (job->to == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld strings", (long long)rows);
        copy_rows(job);
        status =
            job->broken ? broken(job) : rgm_tensor_create_from(out, dtype, rank, shape, job->to);
        rgm_free(job->to);
        return rgm_error_trace(status, __FILE__, __LINE__, __func__);
    }
    RGM_TRY(rgm_buffers_tensor(out, job->reader->buffers, dtype, rank, shape));
    job->to = rgm_tensor_data(*out);
    copy_rows(job);
    return job->broken ? broken(job) : RGM_OK;
}

/* Rows of a table that is lent: which ones they are, and memory for whoever asks for elements. */
static rgm_status pick_rows(rgm_tensor **out, const rgm_feature_reader *reader,
                            const int32_t *items, int64_t count)
{
    rgm_tensor *rows;
    int64_t shape[RGM_MAX_RANK];
    int rank = rgm_feature_values_shape(shape, reader->schema, count);
    rgm_status status;

    RGM_TRY(rgm_buffers_tensor(&rows, reader->buffers, RGM_I32, 1, &count));
    if (count > 0)
        memcpy(rgm_tensor_data(rows), items, (size_t)count * sizeof *items);
    status = rgm_buffers_tensor(out, reader->buffers, reader->schema->dtype, rank, shape);
    if (status == RGM_OK)
        rgm_tensor_pick(*out, reader->values, rows);
    rgm_tensor_release(rows);
    return status;
}

rgm_status rgm_feature_reader_take(rgm_feature *out, const rgm_feature_reader *reader,
                                   const int32_t *items, int64_t count, int threads)
{
    rgm_status status = RGM_OK;
    copy_job job = {.reader = reader, .items = items, .count = count};
    int64_t shape[RGM_MAX_RANK];

    memset(out, 0, sizeof *out);
    if (reader->values != NULL && rgm_tensor_is_lent(reader->values) &&
        rgm_feature_last_ragged(reader->schema) == 0)
        return pick_rows(&out->values, reader, items, count);
    /* Below some thousand items a team costs more than it saves. */
    job.parts = count < 4096 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    for (int k = 1; k <= reader->schema->rank; k++) {
        if (reader->offsets[k] == NULL)
            continue;
        job.depth = k - 1;
        job.lengths = k;
        RGM_GO(copy_tensor(&out->row_lengths[k], &job, RGM_I64, 1, shape));
    }
    job.lengths = 0;
    job.from = reader->values != NULL ? rgm_tensor_data(reader->values) : NULL;
    job.depth = rgm_feature_last_ragged(reader->schema);
    RGM_GO(copy_tensor(&out->values, &job, reader->schema->dtype,
                       rgm_feature_values_shape(shape, reader->schema, 0), shape));
done:
    if (status != RGM_OK) {
        for (int k = 0; k < RGM_MAX_RANK; k++)
            rgm_tensor_release(out->row_lengths[k]);
        rgm_tensor_release(out->values);
        memset(out, 0, sizeof *out);
    }
    return status;
}
