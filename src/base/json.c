/*
 * JSON: strings and numbers printed with the same bytes in every locale; reading by jansson, the
 * one place of the library that knows it. A rgm_json is its json_t.
 */
#include "base_internal.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- print --------------------------------------------------------------------------------- */

/* Bytes of `text` that need nothing done to them. */
static int64_t plain_size(const char *text)
{
    int64_t size = 0;

    while (text[size] >= 0x20 && text[size] < 0x7f && text[size] != '"' && text[size] != '\\')
        size++;
    return size;
}

rgm_status rgm_json_print_text(rgm_text *out, const char *text)
{
    uint32_t code;

    RGM_TRY(rgm_text_add(out, "\"", 1));
    for (;;) {
        int64_t plain = plain_size(text);

        RGM_TRY(rgm_text_add(out, text, plain));
        text += plain;
        if (*text == 0)
            return rgm_text_add(out, "\"", 1);
        int size = rgm_utf8_next(&code, text);

        if (size == 0)
            RGM_TRY(rgm_text_add(out, "\xef\xbf\xbd", 3));
        else if (code == '"' || code == '\\')
            RGM_TRY(rgm_text_printf(out, "\\%c", (char)code));
        else if (code < 0x20 || code == 0x7f)
            RGM_TRY(rgm_text_printf(out, "\\u%04x", (unsigned)code));
        else
            RGM_TRY(rgm_text_add(out, text, size));
        text += size > 0 ? size : 1;
    }
}

static void print_digits(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void print_digits(char *text, size_t size, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    rgmi_vformat(text, size, format, args);
    va_end(args);
}

static bool reads_back(const char *text, double number)
{
    locale_t c = rgmi_c_locale();

    return c != (locale_t)0 && strtod_l(text, NULL, c) == number;
}

static int significant_digits(const char *text)
{
    int count = 0, zeros = 0;

    for (; *text != 0 && *text != 'e'; text++) {
        if (*text < '0' || *text > '9' || (count == 0 && *text == '0'))
            continue;
        zeros = *text == '0' ? zeros + 1 : 0;
        count++;
    }
    return count - zeros;
}

/*
 * Fifteen digits are unique (DBL_DIG): a shorter text that reads back is those without their zeros,
 * and where they do not read back no shorter one does.
 */
rgm_status rgm_json_print_number(rgm_text *out, double number)
{
    char text[32];
    int digits;

    if (isnan(number))
        return rgm_text_add(out, "\"nan\"", 5);
    if (isinf(number))
        return number > 0 ? rgm_text_add(out, "\"inf\"", 5) : rgm_text_add(out, "\"-inf\"", 6);
    print_digits(text, sizeof text, "%.*g", 15, number);
    if (reads_back(text, number)) {
        digits = significant_digits(text);
        print_digits(text, sizeof text, "%.*g", digits > 6 ? digits : 6, number);
    } else {
        print_digits(text, sizeof text, "%.*g", 16, number);
        if (!reads_back(text, number))
            print_digits(text, sizeof text, "%.*g", 17, number);
    }
    RGM_TRY(rgm_text_add(out, text, (int64_t)strlen(text)));
    return strpbrk(text, ".e") == NULL ? rgm_text_add(out, ".0", 2) : RGM_OK;
}

rgm_status rgm_json_print(rgm_text *out, const rgm_json *json)
{
    char *text = json_dumps((const json_t *)json, JSON_COMPACT | JSON_ENCODE_ANY);
    rgm_status status = text != NULL ? rgm_text_add(out, text, (int64_t)strlen(text))
                                     : RGM_FAIL(RGM_ERR_NOMEM, "out of memory printing JSON");

    free(text);
    return status;
}

/* ---- read ---------------------------------------------------------------------------------- */

rgm_status rgm_json_parse(rgm_json **out, const char *data, int64_t size, const char *name)
{
    json_error_t error;
    json_t *root;

    /* jansson takes most of its failed allocations for mistakes of the text; malloc() says so. */
    errno = 0;
    root = json_loadb(data, (size_t)size, JSON_REJECT_DUPLICATES, &error);
    *out = (rgm_json *)root;
    if (root != NULL)
        return RGM_OK;
    if (errno == ENOMEM || json_error_code(&error) == json_error_out_of_memory)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory parsing %s", name);
    return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: %s", name, error.line, error.column, error.text);
}

/* NaN and Infinity outside of texts, as the texts that stand for them here. */
static rgm_status quote_numbers(rgm_text *out, const char *data, int64_t size)
{
    static const char *const names[][2] = {
        {"NaN", "\"nan\""}, {"-Infinity", "\"-inf\""}, {"Infinity", "\"inf\""}};
    bool in_text = false;
    int64_t from = 0; /* what is not copied yet */

    for (int64_t at = 0; at < size; at++) {
        if (data[at] == '"')
            in_text = !in_text;
        else if (in_text && data[at] == '\\')
            at++;
        for (size_t i = 0; i < 3 && !in_text; i++) {
            int64_t length = (int64_t)strlen(names[i][0]);

            if (size - at < length || memcmp(data + at, names[i][0], (size_t)length) != 0)
                continue;
            RGM_TRY(rgm_text_add(out, data + from, at - from));
            RGM_TRY(rgm_text_add(out, names[i][1], (int64_t)strlen(names[i][1])));
            from = at + length;
            at = from - 1;
            break;
        }
    }
    return rgm_text_add(out, data + from, size - from);
}

rgm_status rgm_json_parse_relaxed(rgm_json **out, const char *data, int64_t size, const char *name)
{
    rgm_text text = {0};
    rgm_status status;

    *out = NULL;
    status = quote_numbers(&text, data, size);
    if (status == RGM_OK)
        status = rgm_json_parse(out, text.data, text.size, name);
    rgm_text_clear(&text);
    return status;
}

void rgm_json_release(rgm_json *json)
{
    json_decref((json_t *)json);
}

const rgm_json *rgm_json_find(const rgm_json *object, const char *key)
{
    return (const rgm_json *)json_object_get((const json_t *)object, key);
}

int64_t rgm_json_count(const rgm_json *array)
{
    const json_t *value = (const json_t *)array;

    return json_is_array(value) ? (int64_t)json_array_size(value) : -1;
}

const rgm_json *rgm_json_at(const rgm_json *array, int64_t i)
{
    return i < 0 ? NULL : (const rgm_json *)json_array_get((const json_t *)array, (size_t)i);
}

bool rgm_json_is_object(const rgm_json *json)
{
    return json_is_object((const json_t *)json);
}

const char *rgm_json_text(const rgm_json *json)
{
    return json_string_value((const json_t *)json);
}

bool rgm_json_int(int64_t *out, const rgm_json *json)
{
    const json_t *value = (const json_t *)json;

    if (!json_is_integer(value))
        return false;
    *out = json_integer_value(value);
    return true;
}

bool rgm_json_bool(bool *out, const rgm_json *json)
{
    if (!json_is_boolean((const json_t *)json))
        return false;
    *out = json_is_true((const json_t *)json);
    return true;
}

bool rgm_json_number(double *out, const rgm_json *json)
{
    static const struct {
        const char *text;
        double number;
    } odd[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    const json_t *value = (const json_t *)json;

    if (json_is_number(value)) {
        *out = json_number_value(value);
        return true;
    }
    for (int i = 0; json_is_string(value) && i < 3; i++)
        if (strcmp(json_string_value(value), odd[i].text) == 0) {
            *out = odd[i].number;
            return true;
        }
    return false;
}

bool rgm_json_next(rgm_json_entry *entry, const rgm_json *object)
{
    json_t *from = (json_t *)object;

    entry->place =
        entry->place != NULL ? json_object_iter_next(from, entry->place) : json_object_iter(from);
    if (entry->place == NULL)
        return false;
    entry->key = json_object_iter_key(entry->place);
    entry->value = (const rgm_json *)json_object_iter_value(entry->place);
    return true;
}
