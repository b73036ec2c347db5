/*
 * Reader of a safetensors header. The JSON has one fixed form (a map of maps with three known
 * keys), so it is read straight into the table of tensors: without a tree, without recursion, and
 * with memory that is a small multiple of the header whatever a hostile file holds. The rules are
 * the reference library's: every byte of the data belongs to exactly one tensor.
 */
#include "safetensors_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const char *at, *begin, *end;
    const char *name; /* of the file */
    rgm_text word;    /* the last string read */
} reader;

static const struct {
    const char *name;
    rgm_dtype dtype;
} dtype_names[] = {
    {"F32", RGM_F32}, {"F64", RGM_F64},   {"BF16", RGM_BF16}, {"I32", RGM_I32},
    {"I64", RGM_I64}, {"BOOL", RGM_BOOL}, {"I8", RGM_I8},
};

const char *rgmi_st_dtype_name(rgm_dtype dtype)
{
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if (dtype_names[i].dtype == dtype)
            return dtype_names[i].name;
    return NULL;
}

static rgm_status bad_json(const reader *r, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: header byte %lld: %s", r->name,
                    (long long)(r->at - r->begin), what);
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

/* If the next character is `c`, skip it. */
static bool pass(reader *r, char c)
{
    skip_space(r);
    if (r->at >= r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static rgm_status need(reader *r, char c)
{
    char what[16];

    if (pass(r, c))
        return RGM_OK;
    snprintf(what, sizeof what, "expected '%c'", c);
    return bad_json(r, what);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The four digits of \uXXXX, or -1. */
static int32_t read_hex4(reader *r)
{
    int32_t code = 0;

    if (r->end - r->at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(r->at[i]);
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    r->at += 4;
    return code;
}

static rgm_status add_code(reader *r, int32_t c)
{
    unsigned char b[4];
    int n = 0;

    if (c < 0x80) {
        b[n++] = (unsigned char)c;
    } else if (c < 0x800) {
        b[n++] = (unsigned char)(0xc0 | c >> 6);
        b[n++] = (unsigned char)(0x80 | (c & 63));
    } else {
        if (c < 0x10000) {
            b[n++] = (unsigned char)(0xe0 | c >> 12);
        } else {
            b[n++] = (unsigned char)(0xf0 | c >> 18);
            b[n++] = (unsigned char)(0x80 | (c >> 12 & 63));
        }
        b[n++] = (unsigned char)(0x80 | (c >> 6 & 63));
        b[n++] = (unsigned char)(0x80 | (c & 63));
    }
    RGM_TRY(rgm_text_add(&r->word, b, n));
    return RGM_OK;
}

/* Read an escape after its backslash. */
static rgm_status read_escape(reader *r)
{
    static const char plain[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
    const char *which;
    int32_t code, low;

    if (r->at >= r->end)
        return bad_json(r, "the text does not end");
    if (*r->at != 'u') {
        which = memchr(plain, *r->at, sizeof plain - 1);
        if (which == NULL)
            return bad_json(r, "unknown escape");
        r->at++;
        RGM_TRY(rgm_text_add(&r->word, &meaning[which - plain], 1));
        return RGM_OK;
    }
    r->at++;
    code = read_hex4(r);
    if (code >= 0xd800 && code < 0xdc00) { /* the first half of a pair */
        if (r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u')
            return bad_json(r, "half a surrogate pair");
        r->at += 2;
        low = read_hex4(r);
        code =
            low >= 0xdc00 && low < 0xe000 ? 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00) : -1;
    } else if (code >= 0xdc00 && code < 0xe000) {
        code = -1;
    }
    if (code <= 0)
        return bad_json(r, code == 0 ? "a NUL in a name" : "bad \\u escape");
    RGM_TRY(add_code(r, code));
    return RGM_OK;
}

/* Read a string into r->word. The whole header was checked to be UTF-8. */
static rgm_status read_text(reader *r)
{
    RGM_TRY(need(r, '"'));
    r->word.size = 0;
    RGM_TRY(rgm_text_add(&r->word, "", 0));
    for (;;) {
        const char *begin = r->at;
        while (r->at < r->end && *r->at != '"' && *r->at != '\\' && (unsigned char)*r->at >= 0x20)
            r->at++;
        RGM_TRY(rgm_text_add(&r->word, begin, r->at - begin));
        if (r->at >= r->end)
            return bad_json(r, "the text does not end");
        if ((unsigned char)*r->at < 0x20)
            return bad_json(r, "control character in a text");
        if (*r->at++ == '"')
            return RGM_OK;
        RGM_TRY(read_escape(r));
    }
}

/* A whole number >= 0, without sign, fraction, exponent or leading zero. */
static rgm_status read_number(int64_t *out, reader *r)
{
    int64_t value = 0;
    const char *begin;

    skip_space(r);
    begin = r->at;
    for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, *r->at - '0', &value))
            return bad_json(r, "number above 2^63");
    if (r->at == begin)
        return bad_json(r, "expected a whole number");
    if (*begin == '0' && r->at - begin > 1)
        return bad_json(r, "number with a leading zero");
    *out = value;
    return RGM_OK;
}

/* A list of at most `most` numbers. */
static rgm_status read_numbers(int64_t *out, int *count, int most, reader *r)
{
    *count = 0;
    RGM_TRY(need(r, '['));
    if (pass(r, ']'))
        return RGM_OK;
    do {
        int64_t number;
        RGM_TRY(read_number(&number, r));
        if (*count == most)
            return bad_json(r, most == 2 ? "data_offsets has more than two numbers"
                                         : "shape has more axes than are read here");
        out[(*count)++] = number;
    } while (pass(r, ','));
    RGM_TRY(need(r, ']'));
    return RGM_OK;
}

static rgm_status read_dtype(rgmi_st_tensor *t, reader *r)
{
    RGM_TRY(read_text(r));
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if (strcmp(r->word.data, dtype_names[i].name) == 0) {
            t->dtype = dtype_names[i].dtype;
            return RGM_OK;
        }
    t->half = strcmp(r->word.data, "F16") == 0;
    t->dtype = RGM_F32;
    if (t->half)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "%s: tensor '%s': dtype '%s'; read here are F32, F64, F16, BF16, I32, I64, I8, "
                    "BOOL",
                    r->name, t->name, r->word.data);
}

static rgm_status check_extent(const rgmi_st_tensor *t, const char *file, int64_t data_size)
{
    int64_t bytes = t->half ? 2 : (int64_t)rgm_dtype_size(t->dtype);
    bool empty = false, large = false;

    for (int i = 0; i < t->rank; i++) {
        empty = empty || t->shape[i] == 0;
        large = large || __builtin_mul_overflow(bytes, t->shape[i], &bytes);
    }
    if (empty)
        bytes = 0;
    if (t->begin > t->end || t->end > data_size)
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "%s: tensor '%s': bytes %lld to %lld of data that have %lld bytes", file,
                        t->name, (long long)t->begin, (long long)t->end, (long long)data_size);
    if ((large && !empty) || bytes != t->end - t->begin)
        return RGM_FAIL(
            RGM_ERR_FORMAT,
            "%s: tensor '%s': shape and dtype need %s%lld bytes, data_offsets have %lld", file,
            t->name, large && !empty ? "more than " : "",
            large && !empty ? (long long)INT64_MAX : (long long)bytes,
            (long long)(t->end - t->begin));
    return RGM_OK;
}

/* {"dtype":"F32","shape":[..],"data_offsets":[b,e]} in any order, each once. */
static rgm_status read_tensor(rgmi_st_tensor *t, reader *r, int64_t data_size)
{
    bool has_dtype = false, has_shape = false, has_offsets = false;
    int64_t offsets[2];
    int count;

    RGM_TRY(need(r, '{'));
    do {
        bool *has;
        RGM_TRY(read_text(r));
        has = strcmp(r->word.data, "dtype") == 0          ? &has_dtype
              : strcmp(r->word.data, "shape") == 0        ? &has_shape
              : strcmp(r->word.data, "data_offsets") == 0 ? &has_offsets
                                                          : NULL;
        if (has == NULL || *has)
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: tensor '%s': %s key '%s'", r->name, t->name,
                            has == NULL ? "unknown" : "repeated", r->word.data);
        *has = true;
        RGM_TRY(need(r, ':'));
        if (has == &has_dtype) {
            RGM_TRY(read_dtype(t, r));
        } else if (has == &has_shape) {
            RGM_TRY(read_numbers(t->shape, &t->rank, RGM_MAX_RANK, r));
        } else {
            RGM_TRY(read_numbers(offsets, &count, 2, r));
            if (count != 2)
                return bad_json(r, "data_offsets has not two numbers");
            t->begin = offsets[0];
            t->end = offsets[1];
        }
    } while (pass(r, ','));
    RGM_TRY(need(r, '}'));
    if (!has_dtype || !has_shape || !has_offsets)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: tensor '%s' lacks '%s'", r->name, t->name,
                        !has_dtype   ? "dtype"
                        : !has_shape ? "shape"
                                     : "data_offsets");
    RGM_TRY(check_extent(t, r->name, data_size));
    return RGM_OK;
}

static rgm_status keep_word(const char **out, rgmi_st_header *header, const reader *r)
{
    *out = rgm_arena_strdup(header->arena, r->word.data);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the header of %s", r->name);
    return RGM_OK;
}

static rgm_status read_metadata(rgmi_st_header *header, reader *r)
{
    RGM_TRY(need(r, '{'));
    if (pass(r, '}'))
        return RGM_OK;
    do {
        const char *key, *value;
        RGM_TRY(read_text(r));
        RGM_TRY(keep_word(&key, header, r));
        if (rgm_map_has(header->metadata, key))
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: metadata key '%s' is there twice", r->name, key);
        RGM_TRY(need(r, ':'));
        RGM_TRY(read_text(r));
        RGM_TRY(keep_word(&value, header, r));
        RGM_TRY(rgm_map_set(header->metadata, key, (void *)(uintptr_t)value));
    } while (pass(r, ','));
    RGM_TRY(need(r, '}'));
    return RGM_OK;
}

static rgm_status read_entry(rgmi_st_header *header, reader *r, int64_t data_size,
                             bool *seen_metadata)
{
    const char *name;
    rgmi_st_tensor *t;

    RGM_TRY(read_text(r));
    if (strcmp(r->word.data, "__metadata__") == 0) {
        if (*seen_metadata)
            return bad_json(r, "__metadata__ is there twice");
        *seen_metadata = true;
        RGM_TRY(need(r, ':'));
        RGM_TRY(read_metadata(header, r));
        return RGM_OK;
    }
    if (rgm_map_has(header->by_name, r->word.data))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: tensor '%s' is there twice", r->name, r->word.data);
    RGM_TRY(keep_word(&name, header, r));
    RGM_TRY(need(r, ':'));
    RGM_TRY(RGM_RESERVE(header->tensors, header->capacity, header->count + 1));
    t = &header->tensors[header->count];
    *t = (rgmi_st_tensor){.name = name};
    RGM_TRY(read_tensor(t, r, data_size));
    header->count++;
    RGM_TRY(rgm_map_set(header->by_name, name, (void *)(uintptr_t)header->count));
    return RGM_OK;
}

static int compare_extents(const void *a, const void *b)
{
    const rgmi_st_tensor *s = *(rgmi_st_tensor *const *)a, *t = *(rgmi_st_tensor *const *)b;

    if (s->begin != t->begin)
        return s->begin < t->begin ? -1 : 1;
    return s->end < t->end ? -1 : s->end > t->end;
}

/* Check that each byte of the data is in exactly one tensor. */
static rgm_status check_cover(const rgmi_st_header *header, int64_t data_size, const char *name)
{
    rgm_status status = RGM_OK;
    const rgmi_st_tensor **order;
    int64_t at = 0;

    RGM_TRY(RGM_NEW(order, header->count));
    for (int64_t i = 0; i < header->count; i++)
        order[i] = &header->tensors[i];
    if (header->count > 0)
        qsort(order, (size_t)header->count, sizeof *order, compare_extents);
    for (int64_t i = 0; i < header->count && status == RGM_OK; i++) {
        if (order[i]->begin != at)
            status = RGM_FAIL(RGM_ERR_FORMAT, "%s: tensor '%s' begins at byte %lld, %s byte %lld",
                              name, order[i]->name, (long long)order[i]->begin,
                              order[i]->begin < at ? "inside the one that ends at"
                                                   : "leaving a hole behind",
                              (long long)at);
        at = order[i]->end;
    }
    if (status == RGM_OK && at != data_size)
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s: %lld bytes behind the last tensor", name,
                          (long long)(data_size - at));
    rgm_free(order);
    return status;
}

rgm_status rgmi_st_header_read(rgmi_st_header *header, const char *json, int64_t size,
                               int64_t data_size, const char *name)
{
    rgm_status status = RGM_OK;
    reader r = {json, json, json + size, name, {0}};
    bool seen_metadata = false;
    int64_t bad;

    *header = (rgmi_st_header){0};
    RGM_GO(rgm_arena_create(&header->arena));
    RGM_GO(rgm_map_create(&header->by_name));
    RGM_GO(rgm_map_create(&header->metadata));
    bad = rgm_utf8_check(json, size);
    if (bad >= 0) {
        r.at += bad;
        RGM_GO(bad_json(&r, "not valid UTF-8"));
    }
    if (size == 0 || json[0] != '{')
        RGM_GO(bad_json(&r, "expected '{'"));
    RGM_GO(need(&r, '{'));
    if (!pass(&r, '}')) {
        do
            RGM_GO(read_entry(header, &r, data_size, &seen_metadata));
        while (pass(&r, ','));
        RGM_GO(need(&r, '}'));
    }
    skip_space(&r);
    if (r.at != r.end)
        RGM_GO(bad_json(&r, "something behind the header's end"));
    RGM_GO(check_cover(header, data_size, name));
done:
    rgm_text_clear(&r.word);
    return status;
}

void rgmi_st_header_clear(rgmi_st_header *header)
{
    rgm_arena_release(header->arena);
    rgm_free(header->tensors);
    rgm_map_release(header->by_name);
    rgm_map_release(header->metadata);
    *header = (rgmi_st_header){0};
}
