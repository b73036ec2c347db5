/*
 * What a request asks: {"instances": [...]}, as TensorFlow Serving has it. An instance is a row of
 * numbers, flat or in the shape of a record, which is kept for the model to check; a line of text,
 * or an object of it with what is wished of its translation; a prompt, as a text or in an object
 * with what is wished of its text; or a graph, as an object of an Example's features or as {"b64":
 * "..."}, a serialized one.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "answer_internal.h"

enum { DEEPEST = RGM_MAX_RANK - 1 }; /* of a row: lists in lists */

void rgmi_inquiry_release(rgmi_inquiry *asked)
{
    if (asked == NULL)
        return;
    for (int64_t i = 0; asked->prepared != NULL && i < asked->count; i++)
        rgm_predictor_discard(asked->version->predictor, asked->prepared[i]);
    for (int64_t i = 0; asked->predictions != NULL && i < asked->count; i++)
        rgm_text_clear(&asked->predictions[i]);
    for (int64_t i = 0; asked->wishes != NULL && i < asked->count; i++)
        rgm_free(asked->wishes[i]);
    rgm_free(asked->wishes);
    rgm_free(asked->prepared);
    rgm_free(asked->predictions);
    rgmi_telling_end(asked->telling);
    rgmi_version_release(asked->version);
    rgm_tensor_release(asked->rows);
    rgm_text_clear(&asked->bytes);
    rgm_free(asked->texts);
    rgm_free(asked);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Rows that are read, which all have the form of the first. */
typedef struct reading {
    int64_t shape[RGM_MAX_RANK]; /* of all rows; behind the first size a row's lists in lists */
    int rank;
    int64_t width; /* numbers of the first */
    double *out;   /* of a row; NULL: its numbers are only counted */
    int64_t count;
    bool is_even; /* its lists are as long as the shape says */
} reading;

/* The sizes of the first row, as its first lists in lists tell them. */
static rgm_status read_shape(reading *r, const rgm_json *row)
{
    for (r->rank = 1; rgm_json_count(row) >= 0; row = rgm_json_at(row, 0)) {
        if (r->rank > DEEPEST)
            return RGM_FAIL(RGM_ERR_DATA, "a row has lists more than %d deep", DEEPEST);
        r->shape[r->rank++] = rgm_json_count(row);
    }
    return RGM_OK;
}

/* Numbers of a list of numbers or lists, behind those that were read of its row. */
static rgm_status flatten(reading *r, const rgm_json *json, int depth)
{
    int64_t count = rgm_json_count(json);
    double number;

    if (count < 0) {
        if (rgm_json_text(json) != NULL || !rgm_json_number(&number, json) || !isfinite(number))
            return RGM_FAIL(RGM_ERR_DATA,
                            "a row has something else than numbers and lists of them");
        if (r->out != NULL)
            r->out[r->count] = number;
        r->count++;
        r->is_even &= depth == r->rank;
        return RGM_OK;
    }
    if (depth > DEEPEST)
        return RGM_FAIL(RGM_ERR_DATA, "a row has lists more than %d deep", DEEPEST);
    r->is_even &= depth < r->rank && count == r->shape[depth];
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(flatten(r, rgm_json_at(json, i), depth + 1));
    return RGM_OK;
}

static rgm_status read_row(rgmi_inquiry *asked, const rgm_json *instance, int64_t i)
{
    int64_t width = rgm_tensor_count(asked->rows) / asked->count;
    reading row = {.out = (double *)rgm_tensor_data(asked->rows) + i * width};

    return flatten(&row, instance, 1);
}

static rgm_status check_row(reading *r, const rgm_json *row, bool is_first)
{
    if (rgm_json_count(row) < 0)
        return RGM_FAIL(RGM_ERR_DATA, "the model takes rows: a list of numbers");
    if (is_first)
        RGM_TRY(read_shape(r, row));
    r->count = 0;
    r->is_even = true;
    RGM_TRY(flatten(r, row, 1));
    if (is_first)
        r->width = r->count;
    if (r->count != r->width)
        return RGM_FAIL(RGM_ERR_DATA, "the row has %" PRId64 " numbers, the first %" PRId64,
                        r->count, r->width);
    if (!r->is_even)
        return RGM_FAIL(RGM_ERR_DATA, "the row %s: rows are flat, or all in the record's shape",
                        is_first ? "has lists of several lengths" : "is not nested as the first");
    return RGM_OK;
}

/* All are looked at before there is room for them: a long row with many empty ones behind it would
 * take thousands of times the memory that the request did. */
static rgm_status make_rows(rgmi_inquiry *asked, const rgm_json *instances)
{
    reading r = {.shape = {asked->count}};

    for (int64_t i = 0; i < asked->count; i++) {
        rgm_status status = check_row(&r, rgm_json_at(instances, i), i == 0);

        if (status != RGM_OK)
            return rgm_error_prefix(status, "instances[%" PRId64 "]", i);
    }
    return rgm_tensor_create(&asked->rows, RGM_F64, r.rank, r.shape);
}

/* ---- base64 ---------------------------------------------------------------------------------- */

static int digit_of(char c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}

/* Standard base64 with its padding (RFC 4648). */
static rgm_status decode(rgm_text *out, const char *text)
{
    size_t size = strlen(text), pad = 0;

    while (pad < 2 && pad < size && text[size - 1 - pad] == '=')
        pad++;
    if (size % 4 != 0)
        return RGM_FAIL(RGM_ERR_DATA, "'b64' is not base64: its length is no multiple of 4");
    for (size_t i = 0; i < size; i += 4) {
        size_t last = i + 4 == size ? pad : 0;
        uint32_t bits = 0;
        char bytes[3];

        for (size_t k = 0; k < 4; k++) {
            int digit = k < 4 - last ? digit_of(text[i + k]) : 0;

            if (digit < 0)
                return RGM_FAIL(RGM_ERR_DATA, "'b64' is not base64: character %zu", i + k + 1);
            bits = bits << 6 | (uint32_t)digit;
        }
        for (int k = 0; k < 3; k++)
            bytes[k] = (char)(bits >> (16 - 8 * k) & 0xff);
        RGM_TRY(rgm_text_add(out, bytes, (int64_t)(3 - last)));
    }
    return RGM_OK;
}

/* The text of {"b64": "..."}; NULL: it is none. */
static const char *base64_of(const rgm_json *json)
{
    rgm_json_entry entry = {0}, more;
    const char *text;

    if (!rgm_json_next(&entry, json) || strcmp(entry.key, "b64") != 0)
        return NULL;
    text = rgm_json_text(entry.value);
    more = entry;
    return rgm_json_next(&more, json) ? NULL : text;
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* Features with what their lists point to. */
typedef struct building {
    rgm_arena *arena;
    rgm_example_field *fields;
    int64_t count, capacity;
} building;

static rgm_status wrong_value(const char *key, const char *wanted)
{
    return RGM_FAIL(RGM_ERR_DATA, "'%s' has something else than %s", key, wanted);
}

static rgm_status read_bytes(rgm_str *out, building *b, const rgm_json *value, const char *key)
{
    const char *text = rgm_json_text(value), *coded = base64_of(value);
    rgm_text bytes = {0};
    char *kept;
    rgm_status status;

    if (text != NULL) {
        *out = (rgm_str){text, (int64_t)strlen(text)};
        return RGM_OK;
    }
    if (coded == NULL)
        return wrong_value(key, "texts");
    status = decode(&bytes, coded);
    kept = status == RGM_OK ? rgm_arena_alloc(b->arena, (size_t)bytes.size + 1) : NULL;
    if (kept != NULL && bytes.size > 0)
        memcpy(kept, bytes.data, (size_t)bytes.size);
    *out = (rgm_str){kept, bytes.size};
    rgm_text_clear(&bytes);
    return status != RGM_OK || kept != NULL ? status : RGM_FAIL(RGM_ERR_NOMEM, "out of memory");
}

/* Value i of a feature, a list or one value alone. */
static rgm_status read_value(rgm_example_field *field, void *list, int64_t i, building *b,
                             const rgm_json *value, const char *key)
{
    double number;

    switch (field->kind) {
    case RGM_FEATURE_BYTES:
        return read_bytes((rgm_str *)list + i, b, value, key);
    case RGM_FEATURE_FLOATS:
        if (rgm_json_text(value) != NULL || !rgm_json_number(&number, value))
            return wrong_value(key, "numbers");
        ((float *)list)[i] = (float)number;
        return isfinite(((float *)list)[i])
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_DATA,
                              "'%s' has %g, which is no 32-bit float: those end at 3.4e38", key,
                              number);
    default:
        return rgm_json_int((int64_t *)list + i, value) ? RGM_OK : wrong_value(key, "integers");
    }
}

static rgm_status read_feature(building *b, const rgmi_version *version, const char *key,
                               const rgm_json *value)
{
    static const size_t sizes[] = {[RGM_FEATURE_BYTES] = sizeof(rgm_str),
                                   [RGM_FEATURE_FLOATS] = sizeof(float),
                                   [RGM_FEATURE_INTS] = sizeof(int64_t)};
    int64_t given = rgm_json_count(value), count = given >= 0 ? given : 1;
    rgm_example_field *field;
    void *list;

    RGM_TRY(RGM_RESERVE(b->fields, b->capacity, b->count + 1));
    field = &b->fields[b->count];
    *field = (rgm_example_field){.key = {key, (int64_t)strlen(key)},
                                 .kind = rgm_predictor_example_kind(version->predictor, key),
                                 .count = count};
    if (field->kind == RGM_FEATURE_NONE)
        return RGM_FAIL(RGM_ERR_DATA, "the model's Examples have no '%s'", key);
    list = rgm_arena_alloc(b->arena, (size_t)(count + 1) * sizes[field->kind]);
    if (list == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory");
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(read_value(field, list, i, b, given >= 0 ? rgm_json_at(value, i) : value, key));
    field->bytes = list;
    b->count++;
    return RGM_OK;
}

/* The serialized Example of an object of features. */
static rgm_status read_object(rgm_text *out, const rgmi_version *version, const rgm_json *object)
{
    rgm_status status = RGM_OK;
    building b = {0};

    RGM_GO(rgm_arena_create(&b.arena));
    for (rgm_json_entry e = {0}; rgm_json_next(&e, object);)
        RGM_GO(read_feature(&b, version, e.key, e.value));
    RGM_GO(rgm_example_encode(out, b.fields, b.count));
done:
    rgm_free(b.fields);
    rgm_arena_release(b.arena);
    return status;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Lines end where they end: one with a line feed in it would be two. */
static rgm_status read_line(rgmi_inquiry *asked, const rgm_json *instance, int64_t i)
{
    rgm_text wishes = {0};
    bool is_object = rgm_json_is_object(instance);
    const char *text = rgm_json_text(is_object ? rgm_json_find(instance, "text") : instance);

    if (text == NULL)
        return RGM_FAIL(RGM_ERR_DATA,
                        "the model takes lines: a text, or an object with the text 'text'");
    if (strpbrk(text, "\r\n") != NULL)
        return RGM_FAIL(RGM_ERR_DATA, "the text has more than one line; each is an instance");
    RGM_TRY(rgm_text_add(&asked->bytes, text, (int64_t)strlen(text)));
    if (!is_object)
        return RGM_OK;
    if (asked->wishes == NULL)
        RGM_TRY(RGM_NEW(asked->wishes, asked->count));
    rgm_status status = rgm_json_print(&wishes, instance);

    asked->wishes[i] = wishes.data;
    return status;
}

static rgm_status read_text(rgmi_inquiry *asked, const rgm_json *instance, int64_t i)
{
    const char *coded = base64_of(instance);

    asked->texts[i].size = asked->bytes.size; /* where it begins, until all are there */
    if (asked->version->form == RGM_QUESTIONS_LINES)
        return read_line(asked, instance, i);
    if (!rgm_json_is_object(instance))
        return RGM_FAIL(RGM_ERR_DATA, "the model takes Examples: an object of features, or "
                                      " {\"b64\": ...}");
    return coded != NULL ? decode(&asked->bytes, coded)
                         : read_object(&asked->bytes, asked->version, instance);
}

/* A prompt alone, or with what is wished of its text. */
static rgm_status read_prompt(rgmi_inquiry *asked, const rgm_json *instance, int64_t i)
{
    bool is_object = rgm_json_is_object(instance);
    const char *text = rgm_json_text(is_object ? rgm_json_find(instance, "prompt") : instance);

    if (text == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "the model takes prompts: a text, or an object with the text "
                                      "'prompt'");
    return rgm_predictor_prepare(&asked->prepared[i], asked->version->predictor,
                                 (rgm_str){text, (int64_t)strlen(text)},
                                 is_object ? instance : NULL);
}

static void point_to_texts(rgmi_inquiry *asked)
{
    static const char none[] = "";

    for (int64_t i = 0; i < asked->count; i++) {
        int64_t begin = asked->texts[i].size;
        int64_t end = i + 1 < asked->count ? asked->texts[i + 1].size : asked->bytes.size;

        asked->texts[i] =
            (rgm_str){asked->bytes.data != NULL ? asked->bytes.data + begin : none, end - begin};
    }
}

/* ---- the body -------------------------------------------------------------------------------- */

static rgm_status read_instance(rgmi_inquiry *asked, const rgm_json *instance, int64_t i)
{
    rgm_question_form form = asked->version->form;
    rgm_status status = form == RGM_QUESTIONS_ROWS      ? read_row(asked, instance, i)
                        : form == RGM_QUESTIONS_PROMPTS ? read_prompt(asked, instance, i)
                                                        : read_text(asked, instance, i);

    return status == RGM_OK || status == RGM_ERR_NOMEM
               ? status
               : rgm_error_prefix(status, "instances[%" PRId64 "]", i);
}

/* {"instances": [...]}; "signature_name" as clients of TensorFlow Serving give it. */
static rgm_status find_instances(const rgm_json **out, const rgm_json *root, int64_t most)
{
    int64_t count;

    *out = rgm_json_find(root, "instances");
    for (rgm_json_entry e = {0}; rgm_json_next(&e, root);) {
        const char *text = rgm_json_text(e.value);

        if (strcmp(e.key, "instances") == 0 ||
            (strcmp(e.key, "signature_name") == 0 && text != NULL &&
             strcmp(text, "serving_default") == 0))
            continue;
        return RGM_FAIL(RGM_ERR_DATA,
                        "'%.60s' is not understood: a request is {\"instances\": "
                        "[...]}, and its signature_name is serving_default",
                        e.key);
    }
    count = rgm_json_count(*out);
    if (count < 1)
        return RGM_FAIL(RGM_ERR_DATA,
                        "a request is {\"instances\": [...]} with one instance or more");
    if (count > most)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%" PRId64 " instances in one request, %" PRId64 " are the most", count,
                        most);
    return RGM_OK;
}

/* X-Timeout-Ms, never more than the server's own. */
static rgm_status read_timeout(double *out, const rgm_request *request, double most)
{
    const char *text = rgm_request_header(request, "X-Timeout-Ms");
    double number;

    *out = most;
    if (text == NULL)
        return RGM_OK;
    if (!rgm_number_parse(&number, text) || !(number > 0) || number > 1000.0 * RGM_ANSWER_LONGEST)
        return RGM_FAIL(RGM_ERR_DATA, "X-Timeout-Ms is no number above 0, of a day (%d) at most",
                        1000 * RGM_ANSWER_LONGEST);
    *out = fmin(most, number / 1000);
    return RGM_OK;
}

static rgm_status make_room(rgmi_inquiry *asked, const rgm_json *instances)
{
    asked->count = rgm_json_count(instances);
    asked->left = asked->count;
    if (asked->version->form == RGM_QUESTIONS_ROWS)
        return make_rows(asked, instances);
    if (asked->version->form != RGM_QUESTIONS_PROMPTS)
        return RGM_NEW(asked->texts, asked->count);
    RGM_TRY(RGM_NEW(asked->predictions, asked->count));
    return RGM_NEW(asked->prepared, asked->count);
}

static rgm_status make_stream(rgmi_inquiry *asked)
{
    if (asked->version->form != RGM_QUESTIONS_PROMPTS)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "'%s' writes no texts token by token: ask it for a prediction, :predict",
                        asked->model->name);
    if (asked->count != 1)
        return RGM_FAIL(RGM_ERR_DATA, "a stream is of one instance, not of %" PRId64, asked->count);
    return rgmi_telling_create(&asked->telling, asked->model);
}

rgm_status rgmi_inquiry_read(rgmi_inquiry **out, rgmi_served *model, const rgm_request *request,
                             bool streams)
{
    const rgm_answer_options *options = &model->server->options;
    rgm_status status = RGM_OK;
    const rgm_json *instances;
    rgm_json *root = NULL;
    rgmi_inquiry *asked = NULL;
    double timeout;

    *out = NULL;
    RGM_GO(RGM_NEW(asked, 1));
    asked->model = model;
    asked->version = rgmi_served_version(model);
    asked->came = rgm_now();
    RGM_GO(read_timeout(&timeout, request, options->timeout));
    asked->until = asked->came + timeout;
    RGM_GO(
        rgm_json_parse(&root, request->body != NULL ? request->body : "", request->size, "body"));
    RGM_GO(find_instances(&instances, root, options->max_queue));
    RGM_GO(make_room(asked, instances));
    if (streams)
        RGM_GO(make_stream(asked));
    for (int64_t i = 0; i < asked->count; i++)
        RGM_GO(read_instance(asked, rgm_json_at(instances, i), i));
    if (asked->texts != NULL)
        point_to_texts(asked);
    *out = asked;
    asked = NULL;
done:
    rgm_json_release(root);
    rgmi_inquiry_release(asked);
    return status;
}
