/*
 * Receivers that parse serialized tf.train.Examples: records for predictions, read as a receiver's
 * features say and as TensorFlow's parser reads them in the exported graph. A batch has the
 * features' tensors alone, so that a prediction which needs another one is refused and not made of
 * zeros.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "hooks.h"

enum { FILE_BATCH = 64 };          /* Examples of a file that are predicted at once */
#define LARGEST 9007199254740992.0 /* 2^53: integers up to it are doubles */
/* Values of a tensor that no Example has: padding, and defaults of missing features. A long list
 * among many empty ones would take the memory of all of them at its length. */
#define MOST_FILLED (INT64_C(1) << 26)

/* ---- features ------------------------------------------------------------------------------- */

int64_t rgmi_hooks_tensor(const rgmi_hooks_task *task, const char *name)
{
    for (int64_t i = 0; i < task->form.count; i++)
        if (strcmp(task->names[i], name) == 0)
            return i;
    return -1;
}

static const char *key_of(const rgm_parsed_feature *feature)
{
    return feature->key != NULL ? feature->key : feature->input;
}

/* Values of a record; of one whose first axis varies those of a row. */
static int64_t values_of(const rgmi_tensor_form *form)
{
    int64_t count = 1;

    for (int a = 1; a < form->rank; a++)
        count *= form->shape[a] >= 0 ? form->shape[a] : 1;
    return count;
}

static bool varies(const rgmi_tensor_form *form)
{
    return form->rank > 1 && form->shape[1] < 0;
}

static bool of_floats(rgm_dtype dtype)
{
    return dtype == RGM_F32 || dtype == RGM_F64;
}

/* What stands in for values is one that they can have; a default may be an infinity. */
static rgm_status check_number(const char *receiver, const rgm_parsed_feature *f, rgm_dtype dtype,
                               double number)
{
    double most = dtype == RGM_I32 ? (double)INT32_MAX : LARGEST;

    if (of_floats(dtype))
        return isfinite((float)number) == isfinite(number)
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_CONFIG,
                              "receiver '%s': %g of '%s' is no 32-bit float, as the values of "
                              "Examples are",
                              receiver, number, f->input);
    return number == floor(number) && fabs(number) <= most
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "receiver '%s': %g is no value of '%s', which is %s",
                          receiver, number, f->input, rgm_dtype_name(dtype));
}

static rgm_status check_numbers(const char *receiver, const rgm_parsed_feature *f,
                                const rgmi_tensor_form *form)
{
    for (int64_t i = 0; i < f->default_count; i++)
        RGM_TRY(check_number(receiver, f, form->dtype, f->defaults[i]));
    return varies(form) ? check_number(receiver, f, form->dtype, f->padding) : RGM_OK;
}

static rgm_status check_feature(const rgmi_hooks_task *task, const char *receiver,
                                const rgm_parsed_feature *f)
{
    int64_t i = rgmi_hooks_tensor(task, f->input);
    const rgmi_tensor_form *form = i >= 0 ? &task->form.tensors[i] : NULL;

    if (form == NULL)
        return RGM_FAIL(
            RGM_ERR_CONFIG, "receiver '%s': no tensor is named '%s'%s", receiver, f->input,
            rgm_did_you_mean(f->input, task->names, task->form.count, NULL, "there are ").text);
    if (form->dtype > RGM_BOOL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "receiver '%s': the tensor '%s' is %s, which no feature is parsed as",
                        receiver, f->input, rgm_dtype_name(form->dtype));
    for (int a = 2; a < form->rank; a++)
        if (form->shape[a] < 0)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "receiver '%s': axis %d of '%s' varies: of an Example only axis 1 can",
                            receiver, a, f->input);
    if (values_of(form) == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "receiver '%s': a record has no value of '%s'", receiver,
                        f->input);
    if (f->default_count < 0 || (f->default_count > 0 && f->defaults == NULL))
        return RGM_FAIL(RGM_ERR_ARG, "receiver '%s': '%s' has %lld defaults", receiver, f->input,
                        (long long)f->default_count);
    if (varies(form) && f->default_count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "receiver '%s': '%s' is a list of any length, whose missing feature is a "
                        "list of nothing: it has padding, no defaults",
                        receiver, f->input);
    if (f->default_count > 1 && f->default_count != values_of(form))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "receiver '%s': '%s' has %lld defaults: it takes one for all values of a "
                        "record, or %lld",
                        receiver, f->input, (long long)f->default_count,
                        (long long)values_of(form));
    return check_numbers(receiver, f, form);
}

rgm_status rgmi_hooks_check_features(const rgmi_hooks_task *task,
                                     const rgm_serving_receiver *receiver)
{
    const rgm_parsed_feature *all = receiver->features;

    for (int64_t i = 0; all != NULL && all[i].input != NULL; i++) {
        if (i == RGMI_MAX_TENSORS)
            return RGM_FAIL(RGM_ERR_CONFIG, "receiver '%s': more than %d features", receiver->name,
                            RGMI_MAX_TENSORS);
        RGM_TRY(check_feature(task, receiver->name, &all[i]));
        for (int64_t k = 0; k < i; k++)
            if (strcmp(all[k].input, all[i].input) == 0)
                return RGM_FAIL(RGM_ERR_CONFIG, "receiver '%s': two features become '%s'",
                                receiver->name, all[i].input);
    }
    return RGM_OK;
}

const rgm_serving_receiver *rgmi_hooks_parser(const rgmi_hooks_task *task)
{
    for (int64_t r = 0; r < task->receiver_count; r++)
        if (task->receivers[r].features != NULL)
            return &task->receivers[r];
    return NULL;
}

/* ---- one tensor ------------------------------------------------------------------------------ */

/* Put value k of a feature, or a number, into a tensor. RGM_ERR_DATA: it does not fit. */
static rgm_status put_integer(rgm_tensor *out, int64_t at, int64_t value)
{
    switch (rgm_tensor_dtype(out)) {
    case RGM_I32:
        if (value < INT32_MIN || value > INT32_MAX)
            return RGM_FAIL(RGM_ERR_DATA, "%lld does not fit into an i32", (long long)value);
        rgm_tensor_i32(out)[at] = (int32_t)value;
        break;
    case RGM_I64:
        rgm_tensor_i64(out)[at] = value;
        break;
    default:
        rgm_tensor_bool(out)[at] = value != 0;
        break;
    }
    return RGM_OK;
}

static void put_float(rgm_tensor *out, int64_t at, double value)
{
    if (rgm_tensor_dtype(out) == RGM_F32)
        rgm_tensor_f32(out)[at] = (float)value;
    else
        rgm_tensor_f64(out)[at] = value;
}

rgm_status rgmi_put_value(rgm_tensor *out, int64_t at, double value)
{
    rgm_dtype dtype = rgm_tensor_dtype(out);

    if (of_floats(dtype)) {
        put_float(out, at, value);
        return isfinite(rgm_tensor_at(out, at))
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_DATA, "%g is no finite %s", value, rgm_dtype_name(dtype));
    }
    if (value != floor(value) || fabs(value) > LARGEST)
        return RGM_FAIL(RGM_ERR_DATA, "%g is no value of %s", value, rgm_dtype_name(dtype));
    return put_integer(out, at, (int64_t)value);
}

/* A default or padding, rounded as the parser of the exported graph has it. */
static rgm_status put_number(rgm_tensor *out, int64_t at, double value)
{
    if (!of_floats(rgm_tensor_dtype(out)))
        return put_integer(out, at, (int64_t)value);
    put_float(out, at, (float)value);
    return RGM_OK;
}

/* An Example's feature; *count -1: it has none. */
static rgm_status find_values(const rgm_example_field **out, int64_t *count,
                              const rgm_example *example, const rgm_parsed_feature *f,
                              const rgmi_tensor_form *form)
{
    static const char *const names[] = {"nothing", "bytes", "floats", "integers"};
    const rgm_example_field *field = rgm_example_find(example, key_of(f));
    rgm_feature_kind wanted = of_floats(form->dtype) ? RGM_FEATURE_FLOATS : RGM_FEATURE_INTS;
    int64_t row = values_of(form);

    *out = field;
    *count = -1;
    if (field == NULL || field->kind == RGM_FEATURE_NONE)
        return f->default_count > 0 || varies(form)
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no feature '%s'", key_of(f));
    if (field->kind != wanted)
        return RGM_FAIL(RGM_ERR_DATA, "the feature '%s' has %s, where %s become '%s'", key_of(f),
                        names[field->kind], names[wanted], f->input);
    if (!varies(form) && field->count != row)
        return RGM_FAIL(RGM_ERR_DATA, "the feature '%s' has %lld values, but '%s' takes %lld",
                        key_of(f), (long long)field->count, f->input, (long long)row);
    if (varies(form) && field->count % row != 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "the feature '%s' has %lld values, which are no rows of %lld for '%s'",
                        key_of(f), (long long)field->count, (long long)row, f->input);
    *count = field->count;
    return RGM_OK;
}

/* Record n of a tensor with `width` values a record. */
static rgm_status put_record(rgm_tensor *out, int64_t n, int64_t width, const rgm_example *example,
                             const rgm_parsed_feature *f, const rgmi_tensor_form *form)
{
    const rgm_example_field *field;
    int64_t count;

    RGM_TRY(find_values(&field, &count, example, f, form));
    for (int64_t k = 0; k < width; k++) {
        int64_t at = n * width + k;

        if (k >= count) /* there are no more, or none */
            RGM_TRY(put_number(
                out, at, varies(form) ? f->padding : f->defaults[f->default_count > 1 ? k : 0]));
        else if (field->kind == RGM_FEATURE_FLOATS)
            put_float(out, at, field->floats[k]);
        else
            RGM_TRY(put_integer(out, at, field->ints[k]));
    }
    return RGM_OK;
}

/* *width: values that each record of the tensor has room for. */
static rgm_status measure(int64_t *width, rgm_example *const *examples, int64_t count,
                          const rgm_parsed_feature *f, const rgmi_tensor_form *form)
{
    int64_t given = 0, longest = varies(form) ? 0 : values_of(form), where = 0;

    for (int64_t n = 0; n < count; n++) {
        const rgm_example_field *field;
        int64_t values;

        RGM_TRY(rgm_error_prefix(find_values(&field, &values, examples[n], f, form), "example %lld",
                                 (long long)n));
        given += values > 0 ? values : 0;
        where = values > longest ? n : where;
        longest = values > longest ? values : longest;
    }
    *width = longest;
    if (longest == 0 || count <= (given + MOST_FILLED) / longest)
        return RGM_OK;
    if (!varies(form))
        return RGM_FAIL(RGM_ERR_DATA,
                        "%lld examples without '%s' would take more than %lld of its default "
                        "values at once: ask about fewer examples",
                        (long long)count, key_of(f), (long long)MOST_FILLED);
    return RGM_FAIL(RGM_ERR_DATA,
                    "example %lld: the feature '%s' has %lld values, to which the lists of %lld "
                    "examples would be padded, with more than %lld values: ask about it by itself",
                    (long long)where, key_of(f), (long long)longest, (long long)count,
                    (long long)MOST_FILLED);
}

static rgm_status parse_tensor(rgm_tensor **out, rgm_example *const *examples, int64_t count,
                               const rgm_parsed_feature *f, const rgmi_tensor_form *form)
{
    int64_t shape[RGM_MAX_RANK] = {count}, row = values_of(form), width = 0;

    RGM_TRY(measure(&width, examples, count, f, form));
    for (int a = 1; a < form->rank; a++)
        shape[a] = form->shape[a] >= 0 ? form->shape[a] : width / row;
    RGM_TRY(rgm_tensor_create(out, form->dtype, form->rank, shape));
    for (int64_t n = 0; n < count; n++)
        RGM_TRY(rgm_error_prefix(put_record(*out, n, width, examples[n], f, form), "example %lld",
                                 (long long)n));
    return RGM_OK;
}

/* ---- a batch --------------------------------------------------------------------------------- */

void rgmi_asked_release(void *object)
{
    rgmi_asked_records *batch = object;

    for (int64_t i = 0; batch != NULL && i < batch->count; i++)
        rgm_tensor_release(batch->tensors[i]);
    rgm_free(batch);
}

static const rgm_element_type asked_type = {.name = "asked records", .release = rgmi_asked_release};

rgm_status rgmi_asked_element(rgm_element **out, rgmi_asked_records *batch)
{
    return rgm_element_create_pointer(out, &asked_type, batch);
}

static rgm_status decode_all(rgm_example **out, const rgm_str *examples, int64_t count)
{
    for (int64_t n = 0; n < count; n++) {
        RGM_TRY(rgm_example_create(&out[n]));
        RGM_TRY(rgm_error_prefix(rgm_example_decode(out[n], examples[n].data, examples[n].size),
                                 "example %lld", (long long)n));
    }
    return RGM_OK;
}

static rgm_status example_batch(rgm_element **out, void *state, const rgm_str *examples,
                                int64_t count)
{
    const rgmi_hooks_task *task = state;
    rgm_status status = RGM_OK;
    rgm_example **decoded = NULL;
    rgmi_asked_records *batch = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(decoded, count));
    RGM_GO(RGM_NEW(batch, 1));
    RGM_GO(decode_all(decoded, examples, count));
    for (const rgm_parsed_feature *f = rgmi_hooks_parser(task)->features; f->input != NULL; f++) {
        int64_t i = rgmi_hooks_tensor(task, f->input), at = batch->count++;

        batch->inputs[at] = i;
        RGM_GO(parse_tensor(&batch->tensors[at], decoded, count, f, &task->form.tensors[i]));
    }
    RGM_GO(rgmi_asked_element(out, batch));
    batch = NULL;
done:
    rgmi_asked_release(batch);
    for (int64_t n = 0; decoded != NULL && n < count; n++)
        rgm_example_release(decoded[n]);
    rgm_free(decoded);
    return status;
}

bool rgmi_hooks_is_asked(const rgm_element *batch)
{
    return rgm_element_pointer(batch, &asked_type) != NULL;
}

rgm_status rgmi_hooks_feed_asked(rgm_feed *feeds, int64_t capacity, int64_t *count,
                                 const rgmi_hooks_task *task, const rgm_element *element)
{
    const rgmi_asked_records *batch = rgm_element_pointer(element, &asked_type);

    if (capacity < batch->count)
        return RGM_FAIL(RGM_ERR_ARG, "room for %lld feeds, %lld are needed", (long long)capacity,
                        (long long)batch->count);
    for (int64_t i = 0; i < batch->count; i++)
        feeds[i] = (rgm_feed){.input = task->inputs[batch->inputs[i]], .tensor = batch->tensors[i]};
    *count = batch->count;
    return RGM_OK;
}

static rgm_feature_kind example_kind(const char *key, void *state)
{
    const rgmi_hooks_task *task = state;

    for (const rgm_parsed_feature *f = rgmi_hooks_parser(task)->features; f->input != NULL; f++)
        if (strcmp(key_of(f), key) == 0)
            return of_floats(task->form.tensors[rgmi_hooks_tensor(task, f->input)].dtype)
                       ? RGM_FEATURE_FLOATS
                       : RGM_FEATURE_INTS;
    return RGM_FEATURE_NONE;
}

/* ---- of files -------------------------------------------------------------------------------- */

/* A map function: a list of records to a batch. */
static rgm_status parse_list(rgm_element **out, const rgm_element *list, const rgm_map_call *call,
                             void *payload)
{
    rgm_str examples[FILE_BATCH];
    int64_t count = rgm_element_count(list);

    (void)call;
    for (int64_t i = 0; i < count; i++)
        examples[i].data = rgm_element_bytes(rgm_element_item(list, i), &examples[i].size);
    return example_batch(out, payload, examples, count);
}

static rgm_status build_file_inputs(rgm_dataset **out, void *state, const rgm_new_data *files)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    char **paths = NULL;
    int64_t count = 0;

    *out = NULL;
    if (files->items != NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: items are those of a graph; of records every one is asked about",
                        files->items));
    RGM_GO(rgm_path_is_folder(files->files) ? rgm_tfrecord_folder(&paths, &count, files->files, "")
                                            : rgm_tfrecord_paths(&paths, &count, files->files));
    RGM_GO(rgm_dataset_from_paths(&data, (const char *const *)paths, count));
    RGM_GO(rgm_dataset_read_tfrecords(&data, NULL));
    RGM_GO(rgm_dataset_batch(&data, FILE_BATCH, false));
    RGM_GO(rgm_dataset_map_each(&data, parse_list, state, NULL, 1));
    *out = data;
    data = NULL;
done:
    rgm_names_release(paths, count);
    rgm_dataset_release(data);
    return status;
}

void rgmi_hooks_take_examples(rgm_task *out, const rgmi_hooks_task *task)
{
    if (rgmi_hooks_parser(task) == NULL)
        return;
    out->example_batch = example_batch;
    out->example_kind = example_kind;
    out->build_file_inputs = build_file_inputs;
}

/* ---- for who makes Examples -------------------------------------------------------------------
 */

static rgm_status print_feature(rgm_json_writer *w, const rgmi_hooks_task *task,
                                const rgm_parsed_feature *f)
{
    const rgmi_tensor_form *form = &task->form.tensors[rgmi_hooks_tensor(task, f->input)];

    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "key", key_of(f)));
    RGM_TRY(rgm_json_write_text(w, "list", of_floats(form->dtype) ? "float" : "int64"));
    RGM_TRY(rgm_json_write_text(w, "tensor", f->input));
    RGM_TRY(rgm_json_open_list(w, "shape", RGM_JSON_SPACED));
    for (int a = 1; a < form->rank; a++)
        RGM_TRY(rgm_json_write_int(w, NULL, form->shape[a]));
    RGM_TRY(rgm_json_close(w));
    if (varies(form))
        RGM_TRY(rgm_json_write_number(w, "padding", f->padding));
    else
        RGM_TRY(rgm_json_write_bool(w, "required", f->default_count == 0));
    if (f->default_count > 0) {
        RGM_TRY(rgm_json_open_list(w, "default", RGM_JSON_SPACED));
        for (int64_t i = 0; i < f->default_count; i++)
            RGM_TRY(rgm_json_write_number(w, NULL, f->defaults[i]));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

rgm_status rgmi_hooks_print_features(rgm_text *out, const rgmi_hooks_task *task,
                                     const rgm_serving_receiver *receiver)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "file", RGM_SAVED_MODEL_FILE));
    RGM_TRY(rgm_json_write_text(&w, "signature", "serving_default"));
    RGM_TRY(rgm_json_write_text(&w, "input", "examples"));
    RGM_TRY(rgm_json_open_list(&w, "features", RGM_JSON_LINES));
    for (const rgm_parsed_feature *f = receiver->features; f->input != NULL; f++)
        RGM_TRY(print_feature(&w, task, f));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(out, "\n");
}
