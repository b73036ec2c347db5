/*
 * Text: copies, a growing buffer, UTF-8, and the nearest name for "did you mean".
 */
#include "base_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define LONGEST_NAME 96

rgm_status rgm_strndup(char **out, const char *text, size_t size)
{
    *out = rgm_malloc(size + 1);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of text", size + 1);
    memcpy(*out, text, size);
    (*out)[size] = 0;
    return RGM_OK;
}

rgm_status rgm_strdup(char **out, const char *text)
{
    return rgm_strndup(out, text, strlen(text));
}

static rgm_status add_formatted(rgm_text *text, const char *format, va_list args)
{
    va_list again;
    int n;

    va_copy(again, args);
    n = rgmi_vformat(NULL, 0, format, again);
    va_end(again);
    if (n < 0)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' cannot be formatted", format);
    RGM_TRY(RGM_RESERVE(text->data, text->capacity, text->size + n + 1));
    rgmi_vformat(text->data + text->size, (size_t)n + 1, format, args);
    text->size += n;
    return RGM_OK;
}

rgm_status rgm_strprintf(char **out, const char *format, ...)
{
    rgm_text text = {0};
    rgm_status status;
    va_list args;

    va_start(args, format);
    status = add_formatted(&text, format, args);
    va_end(args);
    *out = text.data;
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

void rgm_text_clear(rgm_text *text)
{
    rgm_free(text->data);
    *text = (rgm_text){0};
}

rgm_status rgm_text_add(rgm_text *text, const void *data, int64_t size)
{
    int64_t need;

    if (size < 0)
        return RGM_FAIL(RGM_ERR_ARG, "size is %lld", (long long)size);
    if (__builtin_add_overflow(text->size, size, &need) || need == INT64_MAX)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld more bytes of text", (long long)size);
    RGM_TRY(RGM_RESERVE(text->data, text->capacity, need + 1));
    if (size > 0)
        memcpy(text->data + text->size, data, (size_t)size);
    text->size = need;
    text->data[need] = 0;
    return RGM_OK;
}

rgm_status rgm_text_printf(rgm_text *text, const char *format, ...)
{
    rgm_status status;
    va_list args;

    va_start(args, format);
    status = add_formatted(text, format, args);
    va_end(args);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* Bytes of the well-formed character at p (RFC 3629: no overlong form, no surrogate), else 0. */
static int utf8_length(const uint8_t *p, int64_t left)
{
    uint8_t low = 0x80, high = 0xbf;
    int n;

    if (p[0] < 0x80)
        return 1;
    n = p[0] >= 0xc2 && p[0] <= 0xdf ? 2 : (p[0] & 0xf0) == 0xe0 ? 3 : 4;
    if (p[0] < 0xc2 || p[0] > 0xf4 || n > left)
        return 0;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (int i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

int64_t rgm_utf8_check(const void *data, int64_t size)
{
    const uint8_t *p = data;

    for (int64_t i = 0; i < size;) {
        int n = utf8_length(p + i, size - i);
        if (n == 0)
            return i;
        i += n;
    }
    return -1;
}

int rgm_utf8_next(uint32_t *code, const char *text)
{
    const uint8_t *p = (const uint8_t *)text;
    int size = *p == 0 ? 0 : utf8_length(p, 4); /* the text's end is in no character */

    *code = size <= 1 ? *p : *p & (0x7fu >> size);
    for (int i = 1; i < size; i++)
        *code = *code << 6 | (p[i] & 0x3f);
    return size;
}

bool rgmi_is_hidden(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
           (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069);
}

/* But for the characters of `kept`. */
static rgm_status add_visible(rgm_text *out, const char *text, const char *kept)
{
    uint32_t code;

    RGM_TRY(rgm_text_add(out, "", 0));
    while (*text != 0) {
        int size = rgm_utf8_next(&code, text);

        if (size == 0 || (code < 0x80 && rgmi_is_hidden(code) && strchr(kept, *text) == NULL))
            RGM_TRY(rgm_text_printf(out, "\\x%02x", (unsigned char)*text));
        else if (code >= 0x80 && rgmi_is_hidden(code))
            RGM_TRY(rgm_text_printf(out, "\\u%04x", (unsigned)code));
        else
            RGM_TRY(rgm_text_add(out, text, size));
        text += size > 0 ? size : 1;
    }
    return RGM_OK;
}

rgm_status rgm_text_add_visible(rgm_text *text, const char *shown)
{
    return add_visible(text, shown, "");
}

rgm_status rgm_text_add_visible_lines(rgm_text *text, const char *shown)
{
    return add_visible(text, shown, "\n\t");
}

/* Edit distance with swaps of neighbours (optimal string alignment), letters without case. */
static int edit_distance(const char *a, int na, const char *b, int nb)
{
    int rows[3][LONGEST_NAME + 1];
    int *before = rows[0], *last = rows[1], *row = rows[2], *spare;

    for (int j = 0; j <= nb; j++)
        last[j] = j;
    for (int i = 1; i <= na; i++) {
        int ca = tolower((unsigned char)a[i - 1]);
        row[0] = i;
        for (int j = 1; j <= nb; j++) {
            int cb = tolower((unsigned char)b[j - 1]);
            int best = last[j - 1] + (ca != cb);
            if (last[j] + 1 < best)
                best = last[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && ca == tolower((unsigned char)b[j - 2]) &&
                cb == tolower((unsigned char)a[i - 2]) && before[j - 2] + 1 < best)
                best = before[j - 2] + 1;
            row[j] = best;
        }
        spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[nb];
}

const char *rgm_nearest_name(const char *name, const char *const *names, int64_t count)
{
    size_t n = strlen(name);
    int limit = n < 3 ? 1 : (int)(n / 3) < 4 ? 1 + (int)(n / 4) : 4;
    const char *nearest = NULL;

    if (n == 0 || n > LONGEST_NAME)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        size_t m = strlen(names[i]);
        int distance;
        if (m > LONGEST_NAME || m + (size_t)limit < n || n + (size_t)limit < m)
            continue;
        distance = edit_distance(name, (int)n, names[i], (int)m);
        if (distance <= limit && distance < (int)(n > m ? n : m)) {
            nearest = names[i];
            limit = distance - 1; /* only a nearer one may replace it */
            if (limit < 0)
                break;
        }
    }
    return nearest;
}

rgm_hint rgm_did_you_mean(const char *name, const char *const *names, int64_t count,
                          const char *prefix, const char *otherwise)
{
    const char *near = name != NULL ? rgm_nearest_name(name, names, count) : NULL;
    rgm_hint hint = {""};
    size_t used = 0, room = sizeof hint.text;

    if (near != NULL)
        snprintf(hint.text, room, "; did you mean '%s%s'?", prefix != NULL ? prefix : "", near);
    else if (otherwise != NULL) {
        used = (size_t)snprintf(hint.text, room, "; %s", otherwise);
        for (int64_t i = 0; i < count && used < room; i++)
            used += (size_t)snprintf(hint.text + used, room - used, "%s%s", i > 0 ? ", " : "",
                                     names[i]);
    }
    return hint;
}
