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

rgm_status rgm_json_print_number(rgm_text *out, double number)
{
    rgm_status status = RGM_OK;
    locale_t c = rgmi_c_locale();
    rgm_text text = {0};

    if (isnan(number))
        return rgm_text_printf(out, "\"nan\"");
    if (isinf(number))
        return rgm_text_printf(out, number > 0 ? "\"inf\"" : "\"-inf\"");
    for (int digits = 6; digits <= 17; digits++) {
        text.size = 0;
        RGM_GO(rgm_text_printf(&text, "%.*g", digits, number));
        if (c != (locale_t)0 && strtod_l(text.data, NULL, c) == number)
            break;
    }
    RGM_GO(rgm_text_add(out, text.data, text.size));
    if (strpbrk(text.data, ".e") == NULL)
        RGM_GO(rgm_text_add(out, ".0", 2));
done:
    rgm_text_clear(&text);
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
