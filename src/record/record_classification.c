/*
 * "classification": one class for each record of a CSV file. The data are in memory; the model is a
 * network and a dense layer to the logits. The trainer's default losses and steps do the rest.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "records.h"

/* ---- options ------------------------------------------------------------------------------- */

#define RGM_OPTIONS rgm_record_options
static const rgm_field data_fields[] = {
    RGM_TEXT_FIELD(path, "folder of the files"),
    RGM_TEXTS_FIELD(train, "CSV files to train on, names or patterns, plain or gzip, one record a "
                           "line"),
    RGM_TEXTS_FIELD(valid, "files to validate on; these or valid_fraction"),
    RGM_TEXTS_FIELD(test, "files to test on"),
    RGM_LISTS_FIELD(valid_sets, "more by name, each validated on too: valid_news.accuracy"),
    RGM_LISTS_FIELD(test_sets, "the same of test"),
    RGM_FLOAT_FIELD(valid_fraction, 0, RGM_BELOW_1,
                    "part of train that is held out for validation, drawn by runtime.seed"),
    RGM_BOOL_FIELD(header, "the first line of each file names the columns"),
    RGM_TEXT_FIELD(
        label, "column of the class, an integer from 0: first, last or the column's number from 0"),
    RGM_FLOAT_FIELD(scale, RGM_ABOVE_0, 1e300, "the other columns are divided by this"),
    RGM_INTS_FIELD(
        shape, 1, 1e9,
        "of a record, e.g. [8, 8, 1]: rows, columns, channels; default: one row of numbers"),
    RGM_INT_FIELD(batch_size, 1, 1e9, "records a step"),
    RGM_BOOL_FIELD(shuffle, "train in another order each epoch"),
    RGM_BOOL_FIELD(
        poisson,
        "draw each training record by a coin of its own, batch_size a step on average: for "
        "trainer.privacy"),
    RGM_INT_FIELD(
        shift, 0, 1e6,
        "train images are moved by up to so many rows and columns, drawn anew each epoch"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_record_options
static const rgm_field task_fields[] = {
    RGM_INT_FIELD(num_classes, 0, 1e9, "number of classes; this or class_names"),
    RGM_TEXTS_FIELD(class_names, "names, in order"),
    RGM_FLOAT_FIELD(label_smoothing, 0, RGM_BELOW_1,
                    "part of a label's weight in the loss that is spread over all classes"),
    RGM_BOOL_FIELD(per_class_statistics, "also precision and recall of each class"),
    {0}};
#undef RGM_OPTIONS

void rgm_record_defaults(void *options)
{
    *(rgm_record_options *)options = (rgm_record_options){
        .label = "last",
        .scale = 1,
        .batch_size = 32,
        .shuffle = true,
    };
}

/* ---- the task ------------------------------------------------------------------------------ */

typedef struct record_task {
    rgm_record_options options; /* texts are the caller's */
    const rgm_record_network *network;
    const void *network_options;
    rgm_classes classes;
    rgmi_records parts[RGM_TEST + 1], sets[RGM_MAX_EVAL_SETS]; /* sets: of valid, then of test */
    rgmi_columns columns; /* with a header: of the first training file */
    bool loaded;          /* of a run that is only looked at, when something is asked of its data */
    uint64_t seed;
    rgm_text record_file;        /* RECORD_FILE: shape and columns of a record           */
    rgm_dim shape[RGM_MAX_RANK]; /* the same; shape[0] is nothing                        */
    int rank;                    /* 0: not known                                         */
    int threads;
    rgm_value *records, *labels; /* inputs of the model */
    rgm_onnx_input export_input; /* of the file of it   */
    char export_doc[256];
} record_task;

static double sample_rate(const record_task *t)
{
    double n = (double)rgm_tensor_dim(t->parts[RGM_TRAIN].labels, 0);
    double rate = (double)t->options.batch_size / n;

    return rate < 1 ? rate : 1;
}

static rgm_status sampling(rgm_sampling *out, void *state)
{
    const record_task *t = state;

    *out = (rgm_sampling){.examples = rgm_tensor_dim(t->parts[RGM_TRAIN].labels, 0),
                          .rate = sample_rate(t),
                          .poisson = t->options.poisson};
    return RGM_OK;
}

static rgm_status load(record_task *t);

static rgm_status build_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgm_status status = RGM_OK;
    record_task *t = state;
    rgmi_records *part = &t->parts[mode];
    rgm_dataset *data = NULL;

    *out = NULL;
    RGM_TRY(load(t));
    if (part->labels == NULL)
        return RGM_OK;
    RGM_GO(rgm_dataset_from_tensors(&data, (rgm_tensor *[]){part->features, part->labels}, 2));
    if (mode == RGM_TRAIN && t->options.shuffle && !t->options.poisson)
        RGM_GO(rgm_dataset_shuffle_all(&data));
    if (mode == RGM_TRAIN && t->options.shift > 0)
        RGM_GO(rgm_dataset_map_each(&data, rgmi_records_shift, &t->options.shift, NULL, 0));
    if (mode == RGM_TRAIN && t->options.poisson)
        RGM_GO(rgm_dataset_poisson(&data, sample_rate(t)));
    else
        RGM_GO(rgm_dataset_batch(&data, t->options.batch_size, false));
    RGM_GO(rgm_dataset_map_each(&data, rgm_element_stack, NULL, NULL, t->threads));
    if (endless)
        RGM_GO(rgm_dataset_repeat(&data, -1));
    RGM_GO(rgm_dataset_prefetch(&data, 2));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

static rgm_status build_eval_inputs(rgm_dataset **out, void *state, int64_t set)
{
    rgm_status status = RGM_OK;
    record_task *t = state;
    rgm_dataset *data = NULL;

    *out = NULL;
    RGM_TRY(load(t));
    RGM_GO(rgm_dataset_from_tensors(
        &data, (rgm_tensor *[]){t->sets[set].features, t->sets[set].labels}, 2));
    RGM_GO(rgm_dataset_batch(&data, t->options.batch_size, false));
    RGM_GO(rgm_dataset_map_each(&data, rgm_element_stack, NULL, NULL, t->threads));
    RGM_GO(rgm_dataset_prefetch(&data, 2));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

static rgm_file_sets sets_of(const rgm_record_options *o)
{
    return (rgm_file_sets){&o->valid_sets, &o->test_sets};
}

static void eval_sets(rgm_eval_set *out, int64_t *count, void *state)
{
    rgm_file_sets sets = sets_of(&((const record_task *)state)->options);

    rgm_file_sets_list(out, count, &sets);
}

/* "items 400 train, 100 valid, 40 valid_news". */
static rgm_status plan(rgm_text *out, void *state)
{
    const record_task *t = state;
    rgm_eval_set sets[RGM_MAX_EVAL_SETS];
    int64_t count;

    if (!t->loaded)
        return RGM_OK;
    eval_sets(sets, &count, state);
    RGM_TRY(rgm_text_printf(out, "items"));
    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++)
        if (t->parts[mode].labels != NULL)
            RGM_TRY(rgm_text_printf(out, "%s %lld %s", mode > RGM_TRAIN ? "," : "",
                                    (long long)rgm_tensor_dim(t->parts[mode].labels, 0),
                                    rgm_mode_name((rgm_mode)mode)));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_text_printf(out, ", %lld %s_%s",
                                (long long)rgm_tensor_dim(t->sets[i].labels, 0),
                                rgm_mode_name(sets[i].mode), sets[i].name));
    if (t->options.folds.count > 0)
        RGM_TRY(rgm_text_printf(out, "\nfolds fold %lld of %lld, made, stratified by class",
                                (long long)t->options.folds.fold,
                                (long long)t->options.folds.count));
    return rgm_text_printf(out, "\n");
}

/* The shape of a record; the caller sets shape[0]. */
static int record_shape(rgm_dim shape[RGM_MAX_RANK], const record_task *t)
{
    memcpy(shape, t->shape, sizeof t->shape);
    return t->rank;
}

static rgm_status build_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    record_task *t = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_head *head = &out->heads[0];
    rgm_dim shape[RGM_MAX_RANK];
    int rank = record_shape(shape, t);
    rgm_value *x;

    shape[0] = rgm_cgraph_symbol(graph, "records");
    t->records = rgm_input(graph, "records", RGM_F32, rank, shape);
    t->labels = rgm_input(graph, "labels", RGM_I64, 1, shape);
    x = rgm_scope_dtype(scope) == RGM_F32 ? t->records
                                          : rgm_cast(t->records, rgm_scope_dtype(scope));
    x = t->network->build(scope, x, t->network_options);
    out->head_count = 1;
    *head = (rgm_head){.name = "classification_logits", .loss_weight = 1, .labels = t->labels};
    head->predictions =
        rgm_dense(scope, "classification_logits", x, rgm_classes_count(&t->classes));
    rgm_classes_judge(head, &t->classes);
    return rgm_cgraph_status(graph);
}

static rgm_status feeds(rgm_feed *out, int64_t capacity, int64_t *count, void *state,
                        rgm_element *batch)
{
    const record_task *t = state;

    return rgm_feed_tensors(out, capacity, count, (rgm_value *[]){t->records, t->labels}, 2, batch);
}

/* The exported file takes the network's inputs. */
static rgm_status export_inputs(rgm_onnx_options *options, void *state)
{
    record_task *t = state;
    rgm_onnx_table *table = &t->export_input.tables[0];

    t->export_input.input = t->records;
    t->export_input.form = RGM_FORM_DENSE;
    *table = (rgm_onnx_table){.name = rgm_value_name(t->records),
                              .dtype = RGM_F32,
                              .rank = rgm_value_rank(t->records),
                              .doc = t->export_doc};
    memcpy(table->shape, rgm_value_shape(t->records), (size_t)table->rank * sizeof *table->shape);
    snprintf(t->export_doc, sizeof t->export_doc,
             "the numbers of each record in the order of the file's columns, without the label's, "
             "each divided by %.17g (data.scale)",
             t->options.scale);
    options->inputs = &t->export_input;
    options->input_count = 1;
    return RGM_OK;
}

/* ---- the shape of a record, which the run folder keeps -----------------------------------------
 */

#define RECORD_FILE "record.json"
enum { LARGEST_RECORD_FILE = 16 << 20 };

/* Set the shape [1, ...], and write it and the columns down. */
static rgm_status set_shape(record_task *t, const rgm_dim *shape, int rank)
{
    rgm_json_writer w = {.out = &t->record_file};

    memcpy(t->shape, shape, (size_t)rank * sizeof *shape);
    t->rank = rank;
    rgm_text_clear(&t->record_file);
    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_open_list(&w, "shape", RGM_JSON_SPACED));
    for (int i = 1; i < rank; i++)
        RGM_TRY(rgm_json_write_int(&w, NULL, shape[i]));
    RGM_TRY(rgm_json_close(&w));
    if (t->columns.count > 0) {
        RGM_TRY(rgm_json_open_list(&w, "columns", RGM_JSON_SPACED));
        for (int64_t i = 0; i < t->columns.count; i++)
            RGM_TRY(rgm_json_write_text(&w, NULL, t->columns.names[i]));
        RGM_TRY(rgm_json_close(&w));
    }
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(&t->record_file, "\n");
}

static rgm_status read_columns(record_task *t, const rgm_json *list, const char *path)
{
    int64_t count = rgm_json_count(list);

    if (count <= 0) /* without a header */
        return RGM_OK;
    RGM_TRY(RGM_NEW(t->columns.names, count));
    for (; t->columns.count < count; t->columns.count++) {
        const char *name = rgm_json_text(rgm_json_at(list, t->columns.count));

        if (name == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: column %lld has no name", path,
                            (long long)t->columns.count);
        RGM_TRY(rgm_strdup(&t->columns.names[t->columns.count], name));
    }
    return RGM_OK;
}

static rgm_status read_shape(rgm_dim shape[RGM_MAX_RANK], int *rank, const rgm_json *list,
                             const char *path)
{
    int64_t count = rgm_json_count(list), width = 1;

    if (count < 1 || count >= RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: no shape of 1 to %d numbers", path, RGM_MAX_RANK - 1);
    for (int i = 1; i <= count; i++)
        if (!rgm_json_int(&shape[i], rgm_json_at(list, i - 1)) || shape[i] < 1 ||
            __builtin_mul_overflow(width, shape[i], &width) || width > INT32_MAX)
            return RGM_FAIL(RGM_ERR_FORMAT,
                            "%s: the shape has no number above 0 at place %d, or is too large",
                            path, i);
    *rank = (int)count + 1;
    return RGM_OK;
}

/* That of a run folder or an export; t->rank stays 0 in one of before, which has no such file. */
static rgm_status read_record_file(record_task *t, const char *folder)
{
    char *path = NULL, *text = NULL;
    rgm_json *json = NULL;
    rgm_dim shape[RGM_MAX_RANK] = {1};
    int64_t size;
    int rank = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, folder, RECORD_FILE));
    if (!rgm_path_exists(path))
        goto done;
    RGM_GO(rgm_file_load(&text, &size, path, LARGEST_RECORD_FILE));
    RGM_GO(rgm_json_parse(&json, text, size, path));
    RGM_GO(read_shape(shape, &rank, rgm_json_find(json, "shape"), path));
    RGM_GO(read_columns(t, rgm_json_find(json, "columns"), path));
    RGM_GO(set_shape(t, shape, rank));
done:
    rgm_json_release(json);
    rgm_free(text);
    rgm_free(path);
    return status;
}

static void files(rgm_task_file *out, int64_t *count, void *state)
{
    const record_task *t = state;

    out[0] = (rgm_task_file){.name = RECORD_FILE,
                             .data = t->record_file.data,
                             .size = t->record_file.size,
                             .origin = "data.train"};
    *count = t->rank > 0;
}

/* ---- records of files that a user names -------------------------------------------------------
 */

static rgm_status build_file_inputs(rgm_dataset **out, void *state, const rgm_new_data *files)
{
    record_task *t = state;
    rgmi_records records = {0};
    rgm_dataset *data = NULL;
    int64_t width = 1;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (files->items != NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: items are those of a graph; of CSV files every record is asked about",
                        files->items);
    for (int i = 1; i < t->rank; i++)
        width *= t->shape[i];
    RGM_GO(rgmi_records_load_asked(&records, files->files, &t->options, &t->columns, width));
    RGM_GO(rgm_dataset_from_tensors(&data, (rgm_tensor *[]){records.features, records.labels}, 2));
    RGM_GO(rgm_dataset_batch(&data, t->options.batch_size, false));
    RGM_GO(rgm_dataset_map_each(&data, rgm_element_stack, NULL, NULL, t->threads));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    rgmi_records_clear(&records);
    return status;
}

/* ---- serving ------------------------------------------------------------------------------- */

/* Beside an export only where names are known: data.shape says the rest. */
static rgm_status save_record_file(const record_task *t, const char *folder)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    if (t->columns.count == 0)
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, folder, RECORD_FILE));
    RGM_GO(rgm_file_save_own(path, t->record_file.data, t->record_file.size));
done:
    rgm_free(path);
    return status;
}

static rgm_status save_serving(rgm_text *data, const char *folder, void *state)
{
    const record_task *t = state;
    rgm_dim shape[RGM_MAX_RANK];
    int rank = record_shape(shape, t);

    RGM_TRY(save_record_file(t, folder));
    RGM_TRY(rgm_text_printf(data, "  header: %s\n  label: %s\n  scale: %.17g\n  shape: [",
                            t->options.header ? "true" : "false", t->options.label,
                            t->options.scale));
    for (int i = 1; i < rank; i++)
        RGM_TRY(rgm_text_printf(data, "%s%lld", i > 1 ? ", " : "", (long long)shape[i]));
    return rgm_text_printf(data, "]\n");
}

/* [n, width], or [n] and a record's shape: of others, such as channels in front of the rows of an
 * image, the same numbers are other records. */
static bool have_shape(const rgm_tensor *rows, int64_t width, const rgm_dim *shape, int rank)
{
    if (rgm_tensor_rank(rows) == 2 && rgm_tensor_dim(rows, 1) == width)
        return true;
    if (rgm_tensor_rank(rows) != rank)
        return false;
    for (int i = 1; i < rank; i++)
        if (rgm_tensor_dim(rows, i) != shape[i])
            return false;
    return true;
}

static rgm_status check_rows(const rgm_tensor *rows, const rgm_dim *shape, int rank)
{
    char got[96], form[160] = "";
    int64_t width = 1;

    for (int i = 1; i < rank; i++)
        width *= shape[i];
    rgm_tensor_describe(rows, got, sizeof got);
    if (rgm_tensor_dtype(rows) != RGM_F32 && rgm_tensor_dtype(rows) != RGM_F64)
        return RGM_FAIL(RGM_ERR_DTYPE, "rows are %s, must be f32 or f64", got);
    if (have_shape(rows, width, shape, rank))
        return RGM_OK;
    for (int i = 1; rank > 2 && i < rank; i++)
        snprintf(form + strlen(form), sizeof form - strlen(form), "%s%lld",
                 i > 1 ? ", " : " or of the shape [", (long long)shape[i]);
    return RGM_FAIL(RGM_ERR_SHAPE, "rows are %s, but a record has %lld numbers, flat%s%s", got,
                    (long long)width, form, rank > 2 ? "]" : "");
}

static rgm_status row_batch(rgm_element **out, void *state, const rgm_tensor *rows)
{
    rgm_status status = RGM_OK;
    const record_task *t = state;
    rgm_tensor *parts[2] = {NULL, NULL};
    rgm_dim shape[RGM_MAX_RANK];
    int rank = record_shape(shape, t);

    *out = NULL;
    RGM_GO(check_rows(rows, shape, rank));
    shape[0] = rgm_tensor_dim(rows, 0);
    RGM_GO(rgm_tensor_create(&parts[0], RGM_F32, rank, shape));
    RGM_GO(rgm_tensor_create(&parts[1], RGM_I64, 1, shape)); /* labels, which nobody reads */
    for (int64_t i = 0; i < rgm_tensor_count(rows); i++) {
        double x = rgm_tensor_at(rows, i);

        rgm_tensor_f32(parts[0])[i] = (float)(x / t->options.scale);
        if (!isfinite(rgm_tensor_f32(parts[0])[i]))
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "row %lld has %g, which is no finite number",
                            (long long)(i / (rgm_tensor_count(rows) / shape[0])), x));
    }
    RGM_GO(rgm_element_create_tensors(out, parts, 2));
done:
    rgm_tensor_release(parts[0]);
    rgm_tensor_release(parts[1]);
    return status;
}

/* ---- making it ----------------------------------------------------------------------------- */

static rgm_classes classes_of(const rgm_record_options *options)
{
    return (rgm_classes){.num_classes = options->num_classes,
                         .names = options->class_names,
                         .statistics = options->per_class_statistics,
                         .smoothing = options->label_smoothing};
}

static rgm_status check(const void *options)
{
    const rgm_record_options *o = options;
    rgm_classes classes = classes_of(o);
    rgm_file_sets sets = sets_of(o);

    RGM_TRY(rgm_options_check(o, data_fields, "data"));
    RGM_TRY(rgm_options_check(o, task_fields, "task"));
    RGM_TRY(rgm_classes_check(&classes));
    if (o->path == NULL || o->train.count == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.%s: name the %s", o->path == NULL ? "path" : "train",
                        o->path == NULL ? "folder of the files" : "file to train on");
    if (o->valid.count > 0 && o->valid_fraction > 0)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "data.valid is %s and data.valid_fraction is %g: validate on a file or on a part of "
            "train, not both",
            o->valid.items[0], o->valid_fraction);
    RGM_TRY(
        rgm_file_sets_check(&sets, o->valid.count > 0 || o->valid_fraction > 0, o->test.count > 0));
    if (o->poisson && o->shift > 0)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "data.poisson and data.shift (%lld) exclude each other: records are drawn as they "
            "are",
            (long long)o->shift);
    if (o->shift > 0 && o->shape.count != 2 && o->shape.count != 3)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "data.shift moves images: data.shape must be [rows, columns] or [rows, columns, "
            "channels], it has %lld numbers",
            (long long)o->shape.count);
    return RGM_OK;
}

/* key: what names the files. */
static rgm_status load_part(record_task *t, rgmi_records *part, const rgm_texts *names,
                            const char *key)
{
    const rgm_tensor *train = t->parts[RGM_TRAIN].features;
    rgm_status status;

    if (names->count == 0)
        return RGM_OK;
    status =
        rgmi_records_load(part, names, &t->options, rgm_classes_count(&t->classes), &t->columns);
    if (status == RGM_ERR_NOT_FOUND)
        return rgm_error_prefix(status, "%s is not in data.path (elsewhere: --set data.path=DIR)",
                                key);
    RGM_TRY(status);
    if (train == NULL || rgm_tensor_dim(part->features, 1) == rgm_tensor_dim(train, 1))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "%s/%s: %lld numbers a record, %s has %lld", t->options.path,
                    names->items[0], (long long)rgm_tensor_dim(part->features, 1),
                    t->options.train.items[0], (long long)rgm_tensor_dim(train, 1));
}

static rgm_status load_sets(record_task *t)
{
    rgm_file_sets sets = sets_of(&t->options);
    rgm_status status = RGM_OK;
    char *key = NULL;

    for (int64_t i = 0; status == RGM_OK && i < rgm_file_sets_count(&sets); i++) {
        RGM_TRY(rgm_file_sets_key(&key, &sets, i));
        status = load_part(t, &t->sets[i], rgm_file_sets_files(&sets, i), key);
        if (status != RGM_OK && status != RGM_ERR_NOT_FOUND)
            status = rgm_error_prefix(status, "%s", key);
        rgm_free(key);
    }
    return status;
}

static rgm_status load(record_task *t)
{
    if (t->loaded)
        return RGM_OK;
    RGM_TRY(load_part(t, &t->parts[RGM_TRAIN], &t->options.train, "data.train"));
    RGM_TRY(load_part(t, &t->parts[RGM_VALID], &t->options.valid, "data.valid"));
    RGM_TRY(load_part(t, &t->parts[RGM_TEST], &t->options.test, "data.test"));
    RGM_TRY(load_sets(t));
    if (t->options.valid_fraction > 0)
        RGM_TRY(rgmi_records_hold_out(t->parts, t->options.valid_fraction, t->seed));
    if (t->options.folds.count > 0)
        RGM_TRY(rgmi_records_fold(t->parts, &t->options.folds));
    t->loaded = true;
    return set_shape(t, rgm_tensor_shape(t->parts[RGM_TRAIN].features),
                     rgm_tensor_rank(t->parts[RGM_TRAIN].features));
}

static void release(rgm_task *task)
{
    record_task *t = task->state;

    for (int mode = RGM_TRAIN; t != NULL && mode <= RGM_TEST; mode++)
        rgmi_records_clear(&t->parts[mode]);
    for (int i = 0; t != NULL && i < RGM_MAX_EVAL_SETS; i++)
        rgmi_records_clear(&t->sets[i]);
    if (t != NULL) {
        rgmi_columns_clear(&t->columns);
        rgm_text_clear(&t->record_file);
    }
    rgm_free(t);
    *task = (rgm_task){0};
}

/* Open a task without data. */
static rgm_status open_task(rgm_task *out, const rgm_record_options *options,
                            const rgm_record_network *network, const void *network_options,
                            int threads)
{
    record_task *t = NULL;

    RGM_TRY(RGM_NEW(t, 1));
    *out = (rgm_task){.name = "classification",
                      .type = &rgm_record_classification,
                      .state = t,
                      .build_inputs = build_inputs,
                      .plan = plan,
                      .build_model = build_model,
                      .feeds = feeds,
                      .export_inputs = export_inputs,
                      .save_serving = save_serving,
                      .row_batch = row_batch,
                      .files = files,
                      .build_file_inputs = build_file_inputs,
                      .sampling = sampling};
    t->options = *options;
    t->network = network;
    t->network_options = network_options;
    t->threads = threads;
    t->classes = classes_of(&t->options);
    return RGM_OK;
}

/* trained_in: the folder of a run that is only looked at; NULL: it is not. */
static rgm_status create_task(rgm_task *out, const rgm_record_options *options,
                              const rgm_task_setup *setup, const char *trained_in)
{
    record_task *t;
    rgm_status status = RGM_OK;

    *out = (rgm_task){0};
    RGM_GO(open_task(out, options, (const rgm_record_network *)setup->model, setup->model_options,
                     setup->threads));
    t = out->state;
    t->seed = setup->seed;
    RGM_GO(check(options));
    if (options->valid_sets.count + options->test_sets.count > 0) {
        out->eval_sets = eval_sets;
        out->build_eval_inputs = build_eval_inputs;
    }
    if (trained_in != NULL)
        RGM_GO(read_record_file(t, trained_in));
    if (t->rank == 0)
        RGM_GO(load(t));
done:
    if (status != RGM_OK)
        release(out);
    return status;
}

rgm_status rgm_record_classification_create(rgm_task *out, const rgm_record_options *options,
                                            const rgm_record_network *network,
                                            const void *network_options, uint64_t seed, int threads)
{
    const rgm_task_setup setup = {.model = &network->section,
                                  .model_options = (void *)(uintptr_t)network_options,
                                  .seed = seed,
                                  .threads = threads};

    return create_task(out, options, &setup, NULL);
}

static rgm_status serve(rgm_task *out, const rgm_task_setup *setup, const char *folder)
{
    rgm_status status = RGM_OK;
    const rgm_record_options *o = setup->data;
    rgm_classes classes = classes_of(o);
    rgm_dim shape[RGM_MAX_RANK] = {1};
    int64_t width = 1;

    *out = (rgm_task){0};
    RGM_TRY(rgm_classes_check(&classes));
    for (int64_t i = 0; i < o->shape.count; i++)
        if (__builtin_mul_overflow(width, o->shape.items[i], &width) || width > INT32_MAX)
            return RGM_FAIL(RGM_ERR_CONFIG, "%s: data.shape is of too many numbers", folder);
    if (o->shape.count < 1 || o->shape.count >= RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: data.shape has %lld numbers, 1 to %d are possible",
                        folder, (long long)o->shape.count, RGM_MAX_RANK - 1);
    RGM_GO(open_task(out, o, (const rgm_record_network *)setup->model, setup->model_options,
                     setup->threads));
    memcpy(shape + 1, o->shape.items, (size_t)o->shape.count * sizeof *shape);
    RGM_GO(read_record_file(out->state, folder));
    RGM_GO(set_shape(out->state, shape, (int)o->shape.count + 1));
    out->files = NULL;                          /* data.shape says it */
    ((record_task *)out->state)->loaded = true; /* there are none */
done:
    if (status != RGM_OK)
        release(out);
    return status;
}

static rgm_status create(rgm_task *out, const rgm_task_setup *setup)
{
    rgm_record_options options = *(const rgm_record_options *)setup->data;

    options.folds = setup->folds;
    return create_task(out, &options, setup, setup->trained ? setup->run_dir : NULL);
}

static const rgm_section_type data_section = {
    .options_size = sizeof(rgm_record_options),
    .defaults = rgm_record_defaults,
    .fields = data_fields,
};

static const rgm_section_type task_section = {
    .name = "classification",
    .help = "one class for each record of a CSV file",
    .fields = task_fields,
    .check = check,
};

static const rgm_section_type *const tasks[] = {&task_section, NULL};

static const char of_train[] = "folds are made of the records of data.train alone";

static const rgm_rule rules[] = {
    {"data.valid == []", {"trainer.folds > 0"}, of_train},
    {"data.test == []", {"trainer.folds > 0"}, of_train},
    {"data.valid_fraction == 0",
     {"trainer.folds > 0"},
     "trainer.fold_valid is the share of a fold"},
    {"data.poisson == true",
     {"trainer.privacy.clipping_norm > 0", "trainer.privacy.sampling == poisson"},
     "trainer.privacy.sampling is poisson"},
    {"data.poisson == false",
     {"trainer.privacy.clipping_norm > 0", "trainer.privacy.sampling == shuffle"},
     "trainer.privacy.sampling is shuffle"},
    {"model.batch_norm == false",
     {"trainer.privacy.clipping_norm > 0"},
     "its averages over examples would give them away"},
    {0}};

static const rgm_effect effects[] = {{"data.shuffle", "data.poisson == false"}, {0}};

const rgm_task_type rgm_record_classification = {
    .name = "classification",
    .data = &data_section,
    .tasks = tasks,
    .models = rgm_record_networks,
    .makes_folds = true,
    .rules = rules,
    .effects = effects,
    .create = create,
    .serve = serve,
    .release = release,
};
