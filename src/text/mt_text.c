/*
 * Characters of a line: white space, lower case, and the checks and the signature that the three
 * scores share. What Unicode says of a character comes from libunistring.
 */
#include "mt_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unicase.h>
#include <unistr.h>

bool rgmi_is_white(uint32_t c)
{
    if (c < 0x80)
        return c == ' ' || (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x1f);
    return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 ||
           c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

int rgmi_next_character(uint32_t *c, const char *p, const char *end)
{
    ucs4_t character;
    int bytes;

    if ((uint8_t)*p < 0x80) {
        *c = (uint8_t)*p;
        return 1;
    }
    bytes = u8_mbtouc_unsafe(&character, (const uint8_t *)p, (size_t)(end - p));
    *c = character;
    return bytes;
}

static rgm_status check_text(rgm_str text, const char *what)
{
    int64_t at = rgm_utf8_check(text.data, text.size);

    if (at >= 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: byte %lld (0x%02x) is not UTF-8", what,
                        (long long)at + 1, (uint8_t)text.data[at]);
    return RGM_OK;
}

rgm_status rgmi_mt_check(rgm_str hypothesis, const rgm_str *references, int64_t count)
{
    char what[48];

    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%lld references: a score needs at least one",
                        (long long)count);
    RGM_TRY(check_text(hypothesis, "hypothesis"));
    for (int64_t i = 0; i < count; i++) {
        snprintf(what, sizeof what, "reference %lld", (long long)i + 1);
        RGM_TRY(check_text(references[i], what));
    }
    return RGM_OK;
}

static bool lower_ascii(char *out, rgm_str text)
{
    for (int64_t i = 0; i < text.size; i++) {
        char c = text.data[i];

        if ((uint8_t)c >= 0x80)
            return false;
        out[i] = c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
    }
    return true;
}

rgm_status rgmi_lower(rgm_text *out, rgm_str text)
{
    rgm_status status;
    size_t size;
    uint8_t *lower;

    RGM_TRY(RGM_RESERVE(out->data, out->capacity, text.size + 1));
    out->size = text.size;
    if (lower_ascii(out->data, text))
        return RGM_OK;
    lower = u8_tolower((const uint8_t *)text.data, (size_t)text.size, NULL, NULL, NULL, &size);
    if (lower == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld bytes in lower case",
                        (long long)text.size);
    out->size = 0;
    status = rgm_text_add(out, lower, (int64_t)size);
    free(lower); /* the C library's memory, not ours */
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

void rgmi_mt_counts_add(rgm_mt_counts *counts, int64_t references)
{
    rgmi_mt_counts_merge(counts, &(rgm_mt_counts){1, references, references});
}

void rgmi_mt_counts_merge(rgm_mt_counts *to, const rgm_mt_counts *from)
{
    if (from->sentences == 0)
        return;
    if (to->sentences == 0 || from->least_references < to->least_references)
        to->least_references = from->least_references;
    if (from->most_references > to->most_references)
        to->most_references = from->most_references;
    to->sentences += from->sentences;
}

rgm_status rgmi_mt_signature(char **out, const rgm_mt_counts *counts, const char *middle)
{
    char references[24] = "var";

    if (counts->least_references == counts->most_references)
        snprintf(references, sizeof references, "%lld", (long long)counts->least_references);
    /* Without the last number: a release that mends things changes no score. */
    return rgm_strprintf(out, "nrefs:%s|%s|version:regimen-%.*s", references, middle,
                         (int)(strrchr(RGM_VERSION, '.') - RGM_VERSION), RGM_VERSION);
}
