/*
 * Encoding tf.train.Example: keys sorted, lists packed, so equal features give equal bytes. Sizes
 * are computed before, so that the output is written once, front to back.
 */
#include "data_internal.h"

#include <stdlib.h>

static int64_t varint_size(uint64_t v)
{
    int64_t size = 1;
    for (; v >= 0x80; v >>= 7)
        size++;
    return size;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/** Bytes of a length-delimited field whose tag takes one byte. */
static int64_t part_size(int64_t size)
{
    return 1 + varint_size((uint64_t)size) + size;
}

static uint8_t *put_head(uint8_t *p, int field, int64_t size)
{
    *p++ = (uint8_t)(field << 3 | 2);
    return put_varint(p, (uint64_t)size);
}

static int64_t packed_size(const rgm_example_field *f)
{
    int64_t size = 0;

    if (f->kind == RGM_FEATURE_FLOATS)
        return f->count * 4;
    for (int64_t i = 0; i < f->count; i++)
        size += varint_size((uint64_t)f->ints[i]);
    return size;
}

/** Bytes of the BytesList, FloatList or Int64List. */
static int64_t list_size(const rgm_example_field *f)
{
    int64_t size = 0;

    if (f->kind == RGM_FEATURE_BYTES) {
        for (int64_t i = 0; i < f->count; i++)
            size += part_size(f->bytes[i].size);
        return size;
    }
    return f->count > 0 ? part_size(packed_size(f)) : 0;
}

static int64_t feature_size(const rgm_example_field *f)
{
    return f->kind == RGM_FEATURE_NONE ? 0 : part_size(list_size(f));
}

static int64_t entry_size(const rgm_example_field *f)
{
    return part_size(f->key.size) + part_size(feature_size(f));
}

static uint8_t *put_bytes(uint8_t *p, const void *data, int64_t size)
{
    if (size > 0)
        memcpy(p, data, (size_t)size);
    return p + size;
}

static uint8_t *put_list(uint8_t *p, const rgm_example_field *f)
{
    if (f->kind == RGM_FEATURE_BYTES) {
        for (int64_t i = 0; i < f->count; i++) {
            p = put_head(p, 1, f->bytes[i].size);
            p = put_bytes(p, f->bytes[i].data, f->bytes[i].size);
        }
    } else if (f->count > 0) {
        p = put_head(p, 1, packed_size(f));
        if (f->kind == RGM_FEATURE_FLOATS)
            return put_bytes(p, f->floats, f->count * 4);
        for (int64_t i = 0; i < f->count; i++)
            p = put_varint(p, (uint64_t)f->ints[i]);
    }
    return p;
}

static uint8_t *put_entry(uint8_t *p, const rgm_example_field *f)
{
    p = put_head(p, 1, entry_size(f));
    p = put_head(p, 1, f->key.size);
    p = put_bytes(p, f->key.data, f->key.size);
    p = put_head(p, 2, feature_size(f));
    if (f->kind != RGM_FEATURE_NONE) {
        p = put_head(p, (int)f->kind, list_size(f));
        p = put_list(p, f);
    }
    return p;
}

static int by_key(const void *a, const void *b)
{
    const rgm_str *x = &(*(const rgm_example_field *const *)a)->key;
    const rgm_str *y = &(*(const rgm_example_field *const *)b)->key;
    int64_t shorter = x->size < y->size ? x->size : y->size;
    int order = shorter > 0 ? memcmp(x->data, y->data, (size_t)shorter) : 0;

    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

static rgm_status sort_fields(const rgm_example_field **sorted, const rgm_example_field *fields,
                              int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (fields[i].count < 0 || fields[i].key.size < 0 ||
            (unsigned)fields[i].kind > RGM_FEATURE_INTS)
            return RGM_FAIL(RGM_ERR_ARG, "feature %lld: count %lld, key size %lld, kind %d",
                            (long long)i, (long long)fields[i].count, (long long)fields[i].key.size,
                            (int)fields[i].kind);
        sorted[i] = &fields[i];
    }
    qsort(sorted, (size_t)count, sizeof(*sorted), by_key);
    for (int64_t i = 1; i < count; i++)
        if (by_key(&sorted[i - 1], &sorted[i]) == 0)
            return RGM_FAIL(RGM_ERR_ARG, "key '%.*s' is given twice", (int)sorted[i]->key.size,
                            sorted[i]->key.data);
    return RGM_OK;
}

rgm_status rgm_example_encode(rgm_text *out, const rgm_example_field *fields, int64_t count)
{
    rgm_status status = RGM_OK;
    const rgm_example_field **sorted = NULL;
    int64_t size = 0, total;
    uint8_t *p;

    RGM_GO(RGM_NEW(sorted, count));
    RGM_GO(sort_fields(sorted, fields, count));
    for (int64_t i = 0; i < count; i++)
        size += part_size(entry_size(sorted[i]));
    total = part_size(size);
    if (total > INT32_MAX)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED, "an Example of %lld bytes; protobuf's limit is 2 GiB",
                        (long long)total));
    RGM_GO(RGM_RESERVE(out->data, out->capacity, out->size + total + 1));
    p = put_head((uint8_t *)out->data + out->size, 1, size);
    for (int64_t i = 0; i < count; i++)
        p = put_entry(p, sorted[i]);
    out->size = p - (uint8_t *)out->data;
    out->data[out->size] = '\0';
done:
    rgm_free(sorted);
    return status;
}
