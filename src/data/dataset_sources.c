/*
 * Where a recipe begins: elements, tensors, a function, numbers, paths, a TFRecord file.
 */
#include "data_internal.h"

/* ---- a number for each element: the position is that number ---------------------------------- */

typedef struct position {
    int64_t next;
} position;

static rgm_status indexed_open(rgm_stage *stage)
{
    (void)stage;
    return RGM_OK;
}

static rgm_status indexed_next(rgm_element **out, rgm_stage *stage)
{
    position *at = stage->state;

    if (at->next >= rgm_dataset_count(stage->dataset))
        return RGM_END;
    return stage->dataset->type->at(out, stage, at->next++);
}

static rgm_status indexed_save(rgm_text *out, const rgm_stage *stage)
{
    return rgm_state_put_int(out, ((const position *)stage->state)->next);
}

static rgm_status indexed_restore(rgm_stage *stage, rgm_state_reader *state)
{
    position *at = stage->state;

    return rgm_state_get_count(&at->next, state, rgmi_last_place(rgm_dataset_count(stage->dataset)),
                               stage->dataset->type->name);
}

#define INDEXED_SOURCE                                                                             \
    .state_size = sizeof(position), .open = indexed_open, .next = indexed_next,                    \
    .save = indexed_save, .restore = indexed_restore

static rgm_status check_index(int64_t i, int64_t count)
{
    if (i >= 0 && i < count)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG, "element %lld of %lld", (long long)i, (long long)count);
}

/** Without inputs. */
static rgm_status create(rgm_dataset **out, const rgm_dataset_type *type, const void *options)
{
    return rgm_dataset_create(out, type, options, NULL, 0);
}

/* ---- elements -------------------------------------------------------------------------------- */

typedef struct element_options {
    rgm_element **elements;
    int64_t count;
} element_options;

static rgm_status elements_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    const element_options *o = rgm_stage_options(stage);

    RGM_TRY(check_index(i, o->count));
    *out = rgm_element_retain(o->elements[i]);
    return RGM_OK;
}

static int64_t elements_count(const rgm_dataset *dataset)
{
    return ((const element_options *)dataset->options)->count;
}

static void elements_clear(void *options)
{
    element_options *o = options;

    for (int64_t i = 0; o->elements != NULL && i < o->count; i++)
        rgm_element_release(o->elements[i]);
    rgm_free(o->elements);
}

static rgm_status elements_print(rgm_text *out, const void *options)
{
    return rgm_text_printf(out, "%lld", (long long)((const element_options *)options)->count);
}

static const rgm_dataset_type elements_type = {
    .name = "elements",
    .options_size = sizeof(element_options),
    INDEXED_SOURCE,
    .count = elements_count,
    .at = elements_at,
    .clear = elements_clear,
    .print = elements_print,
};

rgm_status rgm_dataset_from_elements(rgm_dataset **out, rgm_element *const *elements, int64_t count)
{
    rgm_status status = RGM_OK;
    element_options o = {.count = count};

    *out = NULL;
    if (count < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld elements", (long long)count);
    RGM_GO(RGM_NEW(o.elements, count));
    for (int64_t i = 0; i < count; i++)
        o.elements[i] = rgm_element_retain(elements[i]);
    RGM_GO(create(out, &elements_type, &o));
done:
    if (status != RGM_OK)
        elements_clear(&o);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

typedef struct tensor_options {
    rgm_tensor **tensors;
    int64_t count, rows;
} tensor_options;

/** Row i of a tensor, one rank lower. */
static rgm_status row_of(rgm_tensor **out, rgm_tensor *tensor, int64_t i)
{
    rgm_status status = RGM_OK;
    rgm_tensor *slice = NULL;

    *out = NULL;
    RGM_GO(rgm_tensor_slice(&slice, tensor, i, i + 1));
    RGM_GO(
        rgm_tensor_reshape(out, slice, rgm_tensor_rank(tensor) - 1, rgm_tensor_shape(tensor) + 1));
done:
    rgm_tensor_release(slice);
    return status;
}

static rgm_status tensors_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    rgm_status status = RGM_OK;
    const tensor_options *o = rgm_stage_options(stage);
    rgm_tensor **rows = NULL;

    RGM_GO(check_index(i, o->rows));
    RGM_GO(RGM_NEW(rows, o->count));
    for (int64_t t = 0; t < o->count; t++)
        RGM_GO(row_of(&rows[t], o->tensors[t], i));
    RGM_GO(rgm_element_create_tensors(out, rows, o->count));
done:
    for (int64_t t = 0; rows != NULL && t < o->count; t++)
        rgm_tensor_release(rows[t]);
    rgm_free(rows);
    return status;
}

static int64_t tensors_count(const rgm_dataset *dataset)
{
    return ((const tensor_options *)dataset->options)->rows;
}

static void tensors_clear(void *options)
{
    tensor_options *o = options;

    for (int64_t t = 0; o->tensors != NULL && t < o->count; t++)
        rgm_tensor_release(o->tensors[t]);
    rgm_free(o->tensors);
}

static rgm_status tensors_print(rgm_text *out, const void *options)
{
    const tensor_options *o = options;

    for (int64_t t = 0; t < o->count; t++) {
        char buffer[96];
        RGM_TRY(rgm_text_printf(out, "%s%s", t > 0 ? ", " : "",
                                rgm_tensor_describe(o->tensors[t], buffer, sizeof buffer)));
    }
    return RGM_OK;
}

static const rgm_dataset_type tensors_type = {
    .name = "tensors",
    .options_size = sizeof(tensor_options),
    INDEXED_SOURCE,
    .count = tensors_count,
    .at = tensors_at,
    .clear = tensors_clear,
    .print = tensors_print,
};

rgm_status rgm_dataset_from_tensors(rgm_dataset **out, rgm_tensor *const *tensors, int64_t count)
{
    rgm_status status = RGM_OK;
    tensor_options o = {.count = count};

    *out = NULL;
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "a data set of %lld tensors", (long long)count);
    for (int64_t t = 0; t < count; t++) {
        if (rgm_tensor_rank(tensors[t]) < 1)
            return RGM_FAIL(RGM_ERR_SHAPE, "tensor %lld is a scalar, it has no rows", (long long)t);
        if (rgm_tensor_dim(tensors[t], 0) != rgm_tensor_dim(tensors[0], 0))
            return RGM_FAIL(RGM_ERR_SHAPE, "tensor %lld has %lld rows, tensor 0 has %lld",
                            (long long)t, (long long)rgm_tensor_dim(tensors[t], 0),
                            (long long)rgm_tensor_dim(tensors[0], 0));
    }
    RGM_GO(RGM_NEW(o.tensors, count));
    for (int64_t t = 0; t < count; t++)
        o.tensors[t] = rgm_tensor_retain(tensors[t]);
    o.rows = rgm_tensor_dim(tensors[0], 0);
    RGM_GO(create(out, &tensors_type, &o));
done:
    if (status != RGM_OK)
        tensors_clear(&o);
    return status;
}

/** Columns [begin, end) of a matrix, copied. */
static rgm_status columns_of(rgm_tensor **out, const rgm_tensor *matrix, int64_t begin, int64_t end)
{
    int64_t rows = rgm_tensor_dim(matrix, 0), columns = rgm_tensor_dim(matrix, 1);
    int64_t shape[2] = {rows, end - begin};
    size_t size = rgm_dtype_size(rgm_tensor_dtype(matrix));
    const char *from = rgm_tensor_data(matrix);
    char *to;

    RGM_TRY(rgm_tensor_create(out, rgm_tensor_dtype(matrix), 2, shape));
    to = rgm_tensor_data(*out);
    for (int64_t r = 0; r < rows; r++)
        memcpy(to + (size_t)(r * shape[1]) * size, from + (size_t)(r * columns + begin) * size,
               (size_t)shape[1] * size);
    return RGM_OK;
}

rgm_status rgm_csv_dataset(rgm_dataset **out, const char *path, rgm_dtype dtype, int64_t labels,
                           const rgm_csv_options *options)
{
    rgm_status status = RGM_OK;
    rgm_tensor *table = NULL, *parts[2] = {NULL, NULL};
    int64_t columns;

    *out = NULL;
    RGM_GO(rgm_csv_load(&table, path, dtype, options));
    columns = rgm_tensor_dim(table, 1);
    if (labels < 0 || labels > columns)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "%s: %lld labels of %lld columns", path, (long long)labels,
                        (long long)columns));
    if (labels > 0) {
        RGM_GO(columns_of(&parts[0], table, 0, columns - labels));
        RGM_GO(columns_of(&parts[1], table, columns - labels, columns));
        RGM_GO(rgm_dataset_from_tensors(out, parts, 2));
    } else {
        RGM_GO(rgm_dataset_from_tensors(out, &table, 1));
    }
done:
    rgm_tensor_release(table);
    rgm_tensor_release(parts[0]);
    rgm_tensor_release(parts[1]);
    return status;
}

/* ---- a function ------------------------------------------------------------------------------ */

typedef struct function_options {
    rgmi_payload payload;
    rgm_get_function *get;
    int64_t count;
} function_options;

static rgm_status function_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    const function_options *o = rgm_stage_options(stage);

    if (o->count >= 0)
        RGM_TRY(check_index(i, o->count));
    return o->get(out, i, o->payload.payload);
}

static rgm_status function_next(rgm_element **out, rgm_stage *stage)
{
    const function_options *o = rgm_stage_options(stage);
    position *at = stage->state;
    rgm_status status;

    if (o->count >= 0 && at->next >= o->count)
        return RGM_END;
    status = o->get(out, at->next, o->payload.payload);
    if (status == RGM_END && o->count >= 0)
        return RGM_FAIL(RGM_ERR_DATA, "the function ends at element %lld of %lld",
                        (long long)at->next++, (long long)o->count);
    at->next += status != RGM_END;
    return status;
}

static int64_t function_count(const rgm_dataset *dataset)
{
    return ((const function_options *)dataset->options)->count;
}

static void function_clear(void *options)
{
    rgmi_payload_clear(&((function_options *)options)->payload);
}

static rgm_status function_print(rgm_text *out, const void *options)
{
    const function_options *o = options;
    return o->count < 0 ? RGM_OK : rgm_text_printf(out, "%lld", (long long)o->count);
}

static const rgm_dataset_type function_type = {
    .name = "function",
    .options_size = sizeof(function_options),
    .state_size = sizeof(position),
    .open = indexed_open,
    .next = function_next,
    .save = indexed_save,
    .restore = indexed_restore,
    .count = function_count,
    .at = function_at,
    .clear = function_clear,
    .print = function_print,
};

rgm_status rgm_dataset_from_function(rgm_dataset **out, int64_t count, rgm_get_function *get,
                                     void *payload, void (*release)(void *payload))
{
    function_options o = {{payload, release}, get, count < 0 ? -1 : count};
    return create(out, &function_type, &o);
}

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct range_options {
    int64_t begin, end;
} range_options;

static int64_t range_count(const rgm_dataset *dataset)
{
    const range_options *o = dataset->options;
    return o->end > o->begin ? o->end - o->begin : 0;
}

static rgm_status range_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    rgm_status status = RGM_OK;
    const range_options *o = rgm_stage_options(stage);
    rgm_tensor *number = NULL;
    int64_t value = o->begin + i;

    RGM_GO(check_index(i, range_count(stage->dataset)));
    RGM_GO(rgm_tensor_create_from(&number, RGM_I64, 0, NULL, &value));
    RGM_GO(rgm_element_create_tensors(out, &number, 1));
done:
    rgm_tensor_release(number);
    return status;
}

static rgm_status range_print(rgm_text *out, const void *options)
{
    const range_options *o = options;
    return rgm_text_printf(out, "%lld, %lld", (long long)o->begin, (long long)o->end);
}

static const rgm_dataset_type range_type = {
    .name = "range",
    .options_size = sizeof(range_options),
    INDEXED_SOURCE,
    .count = range_count,
    .at = range_at,
    .print = range_print,
};

rgm_status rgm_dataset_range(rgm_dataset **out, int64_t begin, int64_t end)
{
    range_options o = {begin, end};

    *out = NULL;
    if (begin < 0 && end > INT64_MAX + begin)
        return RGM_FAIL(RGM_ERR_ARG, "a range of %lld to %lld", (long long)begin, (long long)end);
    return create(out, &range_type, &o);
}

/* ---- paths ----------------------------------------------------------------------------------- */

typedef struct path_options {
    char **paths;
    int64_t count;
} path_options;

static int64_t paths_count(const rgm_dataset *dataset)
{
    return ((const path_options *)dataset->options)->count;
}

static rgm_status paths_at(rgm_element **out, rgm_stage *stage, int64_t i)
{
    const path_options *o = rgm_stage_options(stage);

    RGM_TRY(check_index(i, o->count));
    return rgm_element_create_bytes(out, o->paths[i], (int64_t)strlen(o->paths[i]));
}

static void paths_clear(void *options)
{
    path_options *o = options;
    rgm_names_release(o->paths, o->count);
}

/** The files' names without folders: a position stays good when the data move. */
static rgm_status paths_print(rgm_text *out, const void *options)
{
    const path_options *o = options;
    uint64_t hash = 0;

    for (int64_t i = 0; i < o->count; i++) {
        const char *name = rgmi_base_name(o->paths[i]);
        uint64_t both[2] = {hash, rgm_hash64(name, strlen(name))};
        hash = rgm_hash64(both, sizeof both);
    }
    return rgm_text_printf(out, "%lld of names %016llx", (long long)o->count,
                           (unsigned long long)hash);
}

static const rgm_dataset_type paths_type = {
    .name = "files",
    .options_size = sizeof(path_options),
    INDEXED_SOURCE,
    .count = paths_count,
    .at = paths_at,
    .clear = paths_clear,
    .print = paths_print,
};

rgm_status rgm_dataset_list_files(rgm_dataset **out, const char *pattern)
{
    rgm_status status = RGM_OK;
    path_options o = {0};

    *out = NULL;
    RGM_GO(rgm_tfrecord_paths(&o.paths, &o.count, pattern));
    RGM_GO(create(out, &paths_type, &o));
done:
    if (status != RGM_OK)
        rgm_names_release(o.paths, o.count);
    return status;
}

rgm_status rgm_dataset_from_paths(rgm_dataset **out, const char *const *paths, int64_t count)
{
    rgm_status status = RGM_OK;
    path_options o = {0};

    *out = NULL;
    if (count < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%lld paths", (long long)count);
    RGM_GO(RGM_NEW(o.paths, count));
    for (; o.count < count; o.count++)
        RGM_GO(rgm_strdup(&o.paths[o.count], paths[o.count]));
    RGM_GO(create(out, &paths_type, &o));
done:
    if (status != RGM_OK)
        rgm_names_release(o.paths, o.count);
    return status;
}

/* ---- a TFRecord file ------------------------------------------------------------------------- */

typedef struct tfrecord_options {
    char *path;
    rgm_tfrecord_options reader;
} tfrecord_options;

typedef struct tfrecord_state {
    rgm_tfrecord_reader *reader; /* opened by the first next */
    rgmi_item_name *name;
} tfrecord_state;

static rgm_status tfrecord_open(rgm_stage *stage)
{
    tfrecord_state *s = stage->state;
    const tfrecord_options *o = rgm_stage_options(stage);
    return rgmi_name_create(&s->name, o->path);
}

static rgm_status open_reader(rgm_stage *stage)
{
    tfrecord_state *s = stage->state;
    const tfrecord_options *o = rgm_stage_options(stage);

    return s->reader != NULL ? RGM_OK : rgm_tfrecord_reader_open(&s->reader, o->path, &o->reader);
}

static rgm_status tfrecord_next(rgm_element **out, rgm_stage *stage)
{
    tfrecord_state *s = stage->state;
    const uint8_t *data;
    int64_t size;

    RGM_TRY(open_reader(stage));
    RGM_TRY(rgm_tfrecord_reader_next(&data, &size, s->reader));
    RGM_TRY(rgm_element_create_bytes(out, data, size));
    rgmi_element_set_origin(*out, s->name, rgm_tfrecord_reader_record(s->reader) - 1,
                            rgm_tfrecord_reader_offset(s->reader) - size - 16);
    return RGM_OK;
}

static rgm_status tfrecord_save(rgm_text *out, const rgm_stage *stage)
{
    const tfrecord_state *s = stage->state;

    if (s->reader == NULL)
        return rgm_state_put_int(out, -1);
    RGM_TRY(rgm_state_put_int(out, rgm_tfrecord_reader_record(s->reader)));
    RGM_TRY(rgm_state_put_int(out, rgm_tfrecord_reader_offset(s->reader)));
    RGM_TRY(rgm_state_put_int(out, rgm_tfrecord_reader_bad_records(s->reader)));
    return rgm_state_put_int(out, rgmi_tfrecord_file_size(s->reader));
}

static rgm_status tfrecord_restore(rgm_stage *stage, rgm_state_reader *state)
{
    tfrecord_state *s = stage->state;
    const tfrecord_options *o = rgm_stage_options(stage);
    int64_t record, offset, bad, size;

    RGM_TRY(rgm_state_get_int(&record, state));
    if (record < 0)
        return RGM_OK;
    if (record > RGM_STATE_MOST)
        return RGM_FAIL(RGM_ERR_FORMAT, "the saved position of tfrecord is record %lld",
                        (long long)record);
    RGM_TRY(rgm_state_get_count(&offset, state, RGM_STATE_MOST, "tfrecord"));
    RGM_TRY(rgm_state_get_count(&bad, state, o->reader.max_bad_records, "tfrecord's bad records"));
    RGM_TRY(rgm_state_get_int(&size, state));
    RGM_TRY(open_reader(stage));
    if (size != rgmi_tfrecord_file_size(s->reader))
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: had %lld bytes when the position was saved, now it has %lld", o->path,
                        (long long)size, (long long)rgmi_tfrecord_file_size(s->reader));
    rgmi_tfrecord_set_bad_records(s->reader, bad);
    return rgm_tfrecord_reader_seek(s->reader, offset, record);
}

static void tfrecord_close(rgm_stage *stage)
{
    tfrecord_state *s = stage->state;
    rgm_tfrecord_reader_close(s->reader);
    rgmi_name_release(s->name);
}

static void tfrecord_clear(void *options)
{
    rgm_free(((tfrecord_options *)options)->path);
}

static rgm_status tfrecord_print(rgm_text *out, const void *options)
{
    const tfrecord_options *o = options;
    return rgm_text_printf(out, "%s", rgmi_base_name(o->path));
}

static const rgm_dataset_type tfrecord_type = {
    .name = "tfrecord",
    .options_size = sizeof(tfrecord_options),
    .state_size = sizeof(tfrecord_state),
    .open = tfrecord_open,
    .next = tfrecord_next,
    .save = tfrecord_save,
    .restore = tfrecord_restore,
    .close = tfrecord_close,
    .clear = tfrecord_clear,
    .print = tfrecord_print,
};

rgm_status rgm_dataset_tfrecord(rgm_dataset **out, const char *path,
                                const rgm_tfrecord_options *options)
{
    rgm_status status = RGM_OK;
    tfrecord_options o = {.reader = RGM_TFRECORD_OPTIONS_INIT};

    *out = NULL;
    if (options != NULL)
        o.reader = *options;
    RGM_GO(rgm_strdup(&o.path, path));
    RGM_GO(create(out, &tfrecord_type, &o));
done:
    if (status != RGM_OK)
        rgm_free(o.path);
    return status;
}
