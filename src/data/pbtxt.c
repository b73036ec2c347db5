/*
 * What one does with a tree of protobuf text fields: find, read values, add, print. pbtxt_parse.c
 * makes it from text.
 */
#include "pbtxt_internal.h"

#include <math.h>
#include <stdio.h>

rgm_status rgm_pbtxt_create(rgm_pbtxt **out)
{
    rgm_status status = RGM_OK;
    rgm_pbtxt *document = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(document, 1));
    RGM_GO(rgm_arena_create(&document->arena));
    document->name = "text";
    document->root.name = "";
    *out = document;
    document = NULL;
done:
    rgm_pbtxt_release(document);
    return status;
}

void rgm_pbtxt_release(rgm_pbtxt *document)
{
    if (document == NULL)
        return;
    rgm_arena_release(document->arena);
    rgm_free(document);
}

const char *rgm_pbtxt_name(const rgm_pbtxt *document)
{
    return document->name;
}

rgm_pbtxt_field *rgm_pbtxt_root(const rgm_pbtxt *document)
{
    return (rgm_pbtxt_field *)&document->root;
}

const rgm_pbtxt_field *rgm_pbtxt_find(const rgm_pbtxt_field *message, const char *name)
{
    const rgm_pbtxt_field *field = message->first;

    while (field != NULL && strcmp(field->name, name) != 0)
        field = field->next;
    return field;
}

const rgm_pbtxt_field *rgm_pbtxt_find_next(const rgm_pbtxt_field *field)
{
    const rgm_pbtxt_field *next = field->next;

    while (next != NULL && strcmp(next->name, field->name) != 0)
        next = next->next;
    return next;
}

/* ---- values --------------------------------------------------------------------------------- */

rgm_status rgm_pbtxt_fail(const rgm_pbtxt *document, const rgm_pbtxt_field *field,
                          const char *format, ...)
{
    char what[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    return RGM_FAIL(RGM_ERR_FORMAT, "%s:%d:%d: %s", document->name, field->line, field->column,
                    what);
}

rgm_status rgm_pbtxt_check_names(const rgm_pbtxt *document, const rgm_pbtxt_field *message,
                                 const char *const *names, int64_t count)
{
    for (const rgm_pbtxt_field *field = message->first; field != NULL; field = field->next) {
        int64_t i = 0;

        while (i < count && strcmp(names[i], field->name) != 0)
            i++;
        if (i < count)
            continue;
        return rgm_pbtxt_fail(document, field, "unknown field '%s'%s", field->name,
                              rgm_did_you_mean(field->name, names, count, NULL, NULL).text);
    }
    return RGM_OK;
}

static const char *const kind_names[] = {"a message", "a string", "a number", "a name"};

static rgm_status want(const rgm_pbtxt *document, const rgm_pbtxt_field *field, const char *what)
{
    if (field->kind == RGM_PBTXT_MESSAGE)
        return rgm_pbtxt_fail(document, field, "'%s' must be %s, not a message", field->name, what);
    return rgm_pbtxt_fail(document, field, "'%s' must be %s, not %s %.64s", field->name, what,
                          kind_names[field->kind], field->text);
}

/** Octal and hex as protobuf writes them; false if not of that form or over 64 bits. */
static bool parse_based(uint64_t *out, const char *digits)
{
    unsigned base = digits[1] == 'x' || digits[1] == 'X' ? 16 : 8;
    uint64_t v = 0;

    digits += base == 16 ? 2 : 1;
    if (*digits == '\0')
        return false;
    for (; *digits != '\0'; digits++) {
        char c = *digits;
        unsigned d = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                     : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                            : 99;
        if (d >= base || v > (UINT64_MAX - d) / base)
            return false;
        v = v * base + d;
    }
    *out = v;
    return true;
}

/** "0x..", "0X.." or "0" and a digit, but not "0.5" or "0e1". */
static bool is_based(const char *digits)
{
    return digits[0] == '0' &&
           (digits[1] == 'x' || digits[1] == 'X' || (digits[1] >= '0' && digits[1] <= '9'));
}

rgm_status rgm_pbtxt_int(int64_t *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field)
{
    const char *digits;
    bool minus;
    uint64_t v;

    *out = 0;
    if (field->kind != RGM_PBTXT_NUMBER)
        return want(document, field, "an integer");
    minus = field->text[0] == '-';
    digits = field->text + minus;
    if (is_based(digits)) {
        if (!parse_based(&v, digits) || v > (uint64_t)INT64_MAX + minus)
            return want(document, field, "an integer of 64 bits");
        *out = minus ? (int64_t)(0 - v) : (int64_t)v;
        return RGM_OK;
    }
    return rgmi_parse_i64(out, field->text, field->size)
               ? RGM_OK
               : want(document, field, "an integer of 64 bits");
}

bool rgmi_pbtxt_number(double *out, const char *text, int64_t size)
{
    bool minus = text[0] == '-';
    const char *digits = text + minus;
    uint64_t v;

    if (strcmp(digits, "inf") == 0 || strcmp(digits, "infinity") == 0) {
        *out = minus ? -INFINITY : INFINITY;
        return true;
    }
    if (strcmp(digits, "nan") == 0) {
        *out = NAN;
        return true;
    }
    if (is_based(digits)) {
        if (!parse_based(&v, digits))
            return false;
        *out = minus ? -(double)v : (double)v;
        return true;
    }
    if (*digits != '.' && !(*digits >= '0' && *digits <= '9'))
        return false;
    if (size > 1 && (text[size - 1] == 'f' || text[size - 1] == 'F'))
        size--;
    return rgmi_parse_f64(out, text, size);
}

rgm_status rgm_pbtxt_double(double *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field)
{
    *out = 0;
    if ((field->kind == RGM_PBTXT_NUMBER || field->kind == RGM_PBTXT_WORD) &&
        rgmi_pbtxt_number(out, field->text, field->size))
        return RGM_OK;
    return want(document, field, "a number");
}

rgm_status rgm_pbtxt_bool(bool *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field)
{
    static const char *const yes[] = {"true", "True", "t", "1"};
    static const char *const no[] = {"false", "False", "f", "0"};

    *out = false;
    if (field->kind == RGM_PBTXT_WORD || field->kind == RGM_PBTXT_NUMBER) {
        for (int i = 0; i < 4; i++) {
            if (strcmp(field->text, yes[i]) == 0) {
                *out = true;
                return RGM_OK;
            }
            if (strcmp(field->text, no[i]) == 0)
                return RGM_OK;
        }
    }
    return want(document, field, "true or false");
}

rgm_status rgm_pbtxt_string(const char **out, const rgm_pbtxt *document,
                            const rgm_pbtxt_field *field)
{
    *out = NULL;
    if (field->kind != RGM_PBTXT_STRING)
        return want(document, field, "a string in quotes");
    if (memchr(field->text, '\0', (size_t)field->size) != NULL)
        return rgm_pbtxt_fail(document, field, "'%s' has a zero byte inside", field->name);
    *out = field->text;
    return RGM_OK;
}

rgm_status rgm_pbtxt_word(const char **out, const rgm_pbtxt *document, const rgm_pbtxt_field *field)
{
    *out = NULL;
    if (field->kind != RGM_PBTXT_WORD)
        return want(document, field, "a name without quotes");
    *out = field->text;
    return RGM_OK;
}

rgm_status rgm_pbtxt_message(const rgm_pbtxt *document, const rgm_pbtxt_field *field)
{
    return field->kind == RGM_PBTXT_MESSAGE ? RGM_OK : want(document, field, "a message { }");
}

/* ---- adding --------------------------------------------------------------------------------- */

rgm_pbtxt_field *rgmi_pbtxt_append(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name)
{
    rgm_pbtxt_field *field = rgm_arena_alloc(document->arena, sizeof *field);

    if (field == NULL)
        return NULL;
    field->name = name;
    if (message->last != NULL)
        message->last->next = field;
    else
        message->first = field;
    message->last = field;
    return field;
}

static rgm_status add(rgm_pbtxt_field **out, rgm_pbtxt *document, rgm_pbtxt_field *message,
                      const char *name, rgm_pbtxt_kind kind, const char *text, int64_t size)
{
    char *copy = rgm_arena_alloc(document->arena, (size_t)size + 1);
    char *name_copy = rgm_arena_strdup(document->arena, name);
    rgm_pbtxt_field *field = NULL;

    if (copy != NULL && name_copy != NULL)
        field = rgmi_pbtxt_append(document, message, name_copy);
    if (field == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory adding field '%s'", name);
    if (size > 0)
        memcpy(copy, text, (size_t)size);
    field->kind = kind;
    if (kind != RGM_PBTXT_MESSAGE) {
        field->text = copy;
        field->size = size;
    }
    if (out != NULL)
        *out = field;
    return RGM_OK;
}

rgm_status rgm_pbtxt_add_message(rgm_pbtxt_field **out, rgm_pbtxt *document,
                                 rgm_pbtxt_field *message, const char *name)
{
    return add(out, document, message, name, RGM_PBTXT_MESSAGE, NULL, 0);
}

rgm_status rgm_pbtxt_add_string(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                                const char *text, int64_t size)
{
    return add(NULL, document, message, name, RGM_PBTXT_STRING, text, size);
}

rgm_status rgm_pbtxt_add_int(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                             int64_t number)
{
    char text[32];
    int size = snprintf(text, sizeof text, "%lld", (long long)number);

    return add(NULL, document, message, name, RGM_PBTXT_NUMBER, text, size);
}

rgm_status rgm_pbtxt_add_word(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                              const char *word)
{
    return add(NULL, document, message, name, RGM_PBTXT_WORD, word, (int64_t)strlen(word));
}

/* ---- printing ------------------------------------------------------------------------------- */

static rgm_status print_string(rgm_text *out, const char *text, int64_t size)
{
    static const char special[] = "\"\\\n\r\t", letters[] = "\"\\nrt";

    RGM_TRY(rgm_text_add(out, "\"", 1));
    for (int64_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *found = c != 0 ? strchr(special, c) : NULL;
        if (found != NULL)
            RGM_TRY(rgm_text_printf(out, "\\%c", letters[found - special]));
        else if (c < 0x20 || c >= 0x7f)
            RGM_TRY(rgm_text_printf(out, "\\%03o", c));
        else
            RGM_TRY(rgm_text_add(out, &text[i], 1));
    }
    return rgm_text_add(out, "\"", 1);
}

static rgm_status print_fields(rgm_text *out, const rgm_pbtxt_field *message, int depth)
{
    for (const rgm_pbtxt_field *f = message->first; f != NULL; f = f->next) {
        RGM_TRY(rgm_text_printf(out, "%*s%s", 2 * depth, "", f->name));
        if (f->kind == RGM_PBTXT_MESSAGE) {
            RGM_TRY(rgm_text_add(out, " {\n", 3));
            RGM_TRY(print_fields(out, f, depth + 1));
            RGM_TRY(rgm_text_printf(out, "%*s}\n", 2 * depth, ""));
            continue;
        }
        RGM_TRY(rgm_text_add(out, ": ", 2));
        if (f->kind == RGM_PBTXT_STRING)
            RGM_TRY(print_string(out, f->text, f->size));
        else
            RGM_TRY(rgm_text_add(out, f->text, f->size));
        RGM_TRY(rgm_text_add(out, "\n", 1));
    }
    return RGM_OK;
}

rgm_status rgm_pbtxt_print(rgm_text *out, const rgm_pbtxt_field *message)
{
    return print_fields(out, message, 0);
}
