/*
 * Decoding tf.train.Example straight from the wire:
 *   Example { 1: Features }   Features { 1: repeated entry { 1: key, 2: Feature } }
 *   Feature { 1: BytesList | 2: FloatList | 3: Int64List }   each list { 1: values }
 * One pass, no recursion but for unknown groups. It accepts and refuses what protobuf's own parser
 * does; example_test.c compares them.
 */
#include "data_internal.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, GROUP = 3, GROUP_END = 4, FIXED32 = 5, MAX_DEPTH = 100 };

struct rgm_example {
    rgm_example_field *fields;
    int64_t count, capacity;
    /* Values of all fields; while decoding a field holds its first value's index, not a pointer. */
    float *floats;
    int64_t float_count, float_capacity;
    int64_t *ints;
    int64_t int_count, int_capacity;
    rgm_str *bytes;
    int64_t bytes_count, bytes_capacity;
    int64_t *table; /* [table_size] open addressing: index + 1 of a field, 0 for none */
    int64_t table_size;
};

typedef struct cursor {
    const uint8_t *start, *at, *end;
} cursor;

/** A field being decoded: its values are the last ones in the example's arrays. */
typedef struct building {
    rgm_feature_kind kind;
    int64_t first;
    int64_t count;
} building;

static rgm_status wire_fail(const cursor *c, const uint8_t *at, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "tf.train.Example: byte %lld: %s", (long long)(at - c->start),
                    what);
}

static rgm_status read_long_varint(uint64_t *out, cursor *c)
{
    uint64_t v = 0;
    const uint8_t *p = c->at;

    for (int shift = 0; shift < 70; shift += 7) {
        if (p == c->end)
            return wire_fail(c, c->at, "a number is cut short");
        v |= shift < 64 ? (uint64_t)(*p & 0x7f) << shift : 0;
        if (*p++ < 0x80) {
            c->at = p;
            *out = v;
            return RGM_OK;
        }
    }
    return wire_fail(c, c->at, "a number has more than 10 bytes");
}

static inline rgm_status read_varint(uint64_t *out, cursor *c)
{
    if (c->at == c->end || *c->at >= 0x80)
        return read_long_varint(out, c);
    *out = *c->at++;
    return RGM_OK;
}

/** A tag has at most five bytes and a field number that is not 0. */
static rgm_status read_tag(uint32_t *field, int *wire, cursor *c)
{
    const uint8_t *from = c->at;
    uint64_t tag;

    RGM_TRY(read_varint(&tag, c));
    if (c->at - from > 5)
        return wire_fail(c, from, "a tag has more than 5 bytes");
    *field = (uint32_t)tag >> 3;
    *wire = (int)(tag & 7);
    if (*field == 0)
        return wire_fail(c, from, "field number 0");
    if (*wire > FIXED32)
        return wire_fail(c, from, "unknown wire type");
    return RGM_OK;
}

/** The part of a length-delimited field; `c` goes behind it. */
static rgm_status read_part(cursor *part, cursor *c)
{
    const uint8_t *from = c->at;
    uint64_t size;

    RGM_TRY(read_varint(&size, c));
    if (c->at - from > 5 || size > INT32_MAX)
        return wire_fail(c, from, "a length is over 2 GiB");
    if (size > (uint64_t)(c->end - c->at))
        return wire_fail(c, from, "a length goes beyond the end of its message");
    *part = (cursor){c->start, c->at, c->at + size};
    c->at += size;
    return RGM_OK;
}

static rgm_status skip_bytes(cursor *c, int64_t size)
{
    if (c->end - c->at < size)
        return wire_fail(c, c->at, "a number is cut short");
    c->at += size;
    return RGM_OK;
}

static rgm_status skip_value(cursor *c, int wire)
{
    uint64_t number;
    cursor part;

    switch (wire) {
    case VARINT:
        return read_varint(&number, c);
    case FIXED64:
        return skip_bytes(c, 8);
    case BYTES:
        return read_part(&part, c);
    case FIXED32:
        return skip_bytes(c, 4);
    default:
        return wire_fail(c, c->at, "the end of a group that was not begun");
    }
}

/** `depth` is how many messages lie between the field and the Example; protobuf allows 100 levels.
 */
static rgm_status skip_field(cursor *c, uint32_t field, int wire, int depth)
{
    uint32_t open[MAX_DEPTH];
    int groups = 0;

    if (wire != GROUP)
        return skip_value(c, wire);
    open[groups++] = field;
    while (groups > 0) {
        if (c->at == c->end)
            return wire_fail(c, c->at, "a group has no end");
        RGM_TRY(read_tag(&field, &wire, c));
        if (wire == GROUP && depth + groups == MAX_DEPTH)
            return wire_fail(c, c->at, "more than 100 levels");
        if (wire == GROUP)
            open[groups++] = field;
        else if (wire == GROUP_END && open[groups - 1] == field)
            groups--;
        else
            RGM_TRY(skip_value(c, wire));
    }
    return RGM_OK;
}

static bool is_utf8(const uint8_t *p, const uint8_t *end)
{
    while (p < end) {
        uint32_t c = *p++;
        int more = c < 0x80                ? 0
                   : c >= 0xc2 && c < 0xe0 ? 1
                   : (c & 0xf0) == 0xe0    ? 2
                   : c >= 0xf0 && c < 0xf5 ? 3
                                           : -1;
        uint32_t lowest = more == 2 ? 0x800 : more == 3 ? 0x10000 : 0;

        if (more < 0 || end - p < more)
            return false;
        c &= 0x7fu >> more;
        for (int i = 0; i < more; i++) {
            if ((p[i] & 0xc0) != 0x80)
                return false;
            c = c << 6 | (p[i] & 0x3f);
        }
        if (more > 0 && ((more > 1 && c < lowest) || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
            return false;
        p += more;
    }
    return true;
}

/* ---- lists ---------------------------------------------------------------------------------- */

static rgm_status add_bytes(rgm_example *ex, const cursor *value)
{
    RGM_TRY(RGM_RESERVE(ex->bytes, ex->bytes_capacity, ex->bytes_count + 1));
    ex->bytes[ex->bytes_count++] = (rgm_str){(const char *)value->at, value->end - value->at};
    return RGM_OK;
}

static rgm_status read_bytes_list(rgm_example *ex, cursor *c)
{
    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor value;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field == 1 && wire == BYTES) {
            RGM_TRY(read_part(&value, c));
            RGM_TRY(add_bytes(ex, &value));
        } else {
            RGM_TRY(skip_field(c, field, wire, 4));
        }
    }
    return RGM_OK;
}

static rgm_status add_floats(rgm_example *ex, cursor *c, const cursor *part)
{
    int64_t n = (part->end - part->at) / 4;

    if ((part->end - part->at) % 4 != 0)
        return wire_fail(c, part->at, "packed floats whose length is no multiple of 4");
    if (n == 0)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(ex->floats, ex->float_capacity, ex->float_count + n));
    memcpy(ex->floats + ex->float_count, part->at, (size_t)n * 4);
    ex->float_count += n;
    return RGM_OK;
}

static rgm_status read_float_list(rgm_example *ex, cursor *c)
{
    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor part;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field == 1 && wire == BYTES) {
            RGM_TRY(read_part(&part, c));
            RGM_TRY(add_floats(ex, c, &part));
        } else if (field == 1 && wire == FIXED32) {
            part = (cursor){c->start, c->at, c->at + 4};
            RGM_TRY(skip_bytes(c, 4));
            RGM_TRY(add_floats(ex, c, &part));
        } else {
            RGM_TRY(skip_field(c, field, wire, 4));
        }
    }
    return RGM_OK;
}

/** A varint of up to 8 bytes at the low end of `word`, without a branch; *size is its bytes. */
static inline int64_t short_varint(int *size, uint64_t word)
{
    uint64_t stops = ~word & UINT64_C(0x8080808080808080);
    int bits = __builtin_ctzll(stops); /* of the highest bit of the last byte */
    uint64_t v = word & (UINT64_C(0x7f7f7f7f7f7f7f7f) & (UINT64_MAX >> (63 - bits)));

    v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
    v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
    v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
    *size = (bits + 1) / 8;
    return (int64_t)v;
}

/**
 * Sizes mix at random in edge lists, so a branch on each byte would be mispredicted: eight bytes
 * are looked at together.
 */
static rgm_status decode_packed(int64_t **out, cursor *part)
{
    const uint64_t high = UINT64_C(0x8080808080808080);
    int64_t *to = *out;

    while (part->end - part->at >= 8) {
        uint64_t word;
        int size;
        memcpy(&word, part->at, sizeof word);
        if ((word & high) == 0) {
            for (int i = 0; i < 8; i++)
                to[i] = part->at[i];
            to += 8;
            part->at += 8;
        } else if ((~word & high) != 0) {
            *to++ = short_varint(&size, word);
            part->at += size;
        } else {
            uint64_t v;
            RGM_TRY(read_varint(&v, part));
            *to++ = (int64_t)v;
        }
    }
    while (part->at < part->end) {
        uint64_t v;
        RGM_TRY(read_varint(&v, part));
        *to++ = (int64_t)v;
    }
    *out = to;
    return RGM_OK;
}

static rgm_status add_packed_ints(rgm_example *ex, cursor *part)
{
    int64_t *to;

    if (part->at == part->end)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(ex->ints, ex->int_capacity, ex->int_count + (part->end - part->at)));
    to = ex->ints + ex->int_count;
    RGM_TRY(decode_packed(&to, part));
    ex->int_count = to - ex->ints;
    return RGM_OK;
}

static rgm_status read_int_list(rgm_example *ex, cursor *c)
{
    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor part;
        uint64_t v;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field == 1 && wire == BYTES) {
            RGM_TRY(read_part(&part, c));
            RGM_TRY(add_packed_ints(ex, &part));
        } else if (field == 1 && wire == VARINT) {
            RGM_TRY(read_varint(&v, c));
            RGM_TRY(RGM_RESERVE(ex->ints, ex->int_capacity, ex->int_count + 1));
            ex->ints[ex->int_count++] = (int64_t)v;
        } else {
            RGM_TRY(skip_field(c, field, wire, 4));
        }
    }
    return RGM_OK;
}

/* ---- messages ------------------------------------------------------------------------------- */

static int64_t values_of(const rgm_example *ex, rgm_feature_kind kind)
{
    return kind == RGM_FEATURE_BYTES    ? ex->bytes_count
           : kind == RGM_FEATURE_FLOATS ? ex->float_count
           : kind == RGM_FEATURE_INTS   ? ex->int_count
                                        : 0;
}

/** A Feature, merged into what came before in the same entry; another list replaces the first. */
static rgm_status read_feature(building *b, rgm_example *ex, cursor *c)
{
    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor list;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field > 3 || wire != BYTES) {
            RGM_TRY(skip_field(c, field, wire, 3));
            continue;
        }
        if (b->kind != (rgm_feature_kind)field) {
            b->kind = (rgm_feature_kind)field;
            b->first = values_of(ex, b->kind);
        }
        RGM_TRY(read_part(&list, c));
        RGM_TRY(field == 1   ? read_bytes_list(ex, &list)
                : field == 2 ? read_float_list(ex, &list)
                             : read_int_list(ex, &list));
        b->count = values_of(ex, b->kind) - b->first;
    }
    return RGM_OK;
}

static int64_t *find_slot(const rgm_example *ex, const char *key, int64_t size)
{
    uint64_t mask = (uint64_t)ex->table_size - 1;
    uint64_t i = rgm_hash64(key, (size_t)size) & mask;

    while (ex->table[i] != 0) {
        const rgm_str *other = &ex->fields[ex->table[i] - 1].key;
        if (other->size == size && memcmp(other->data, key, (size_t)size) == 0)
            break;
        i = (i + 1) & mask;
    }
    return &ex->table[i];
}

static rgm_status grow_table(rgm_example *ex)
{
    int64_t *old = ex->table;
    int64_t size = ex->table_size > 0 ? ex->table_size * 2 : 64;
    int64_t *table;

    RGM_TRY(RGM_NEW(table, size));
    ex->table = table;
    ex->table_size = size;
    for (int64_t i = 0; i < ex->count; i++)
        *find_slot(ex, ex->fields[i].key.data, ex->fields[i].key.size) = i + 1;
    rgm_free(old);
    return RGM_OK;
}

static rgm_status add_field(rgm_example *ex, const rgm_str *key, const building *b)
{
    rgm_example_field *field;
    int64_t *slot;

    if (2 * (ex->count + 1) > ex->table_size)
        RGM_TRY(grow_table(ex));
    slot = find_slot(ex, key->data, key->size);
    if (*slot == 0) {
        RGM_TRY(RGM_RESERVE(ex->fields, ex->capacity, ex->count + 1));
        *slot = ++ex->count;
        ex->fields[*slot - 1].key = *key;
    }
    field = &ex->fields[*slot - 1];
    field->kind = b->kind;
    field->count = b->count;
    field->ints = NULL;
    memcpy(&field->ints, &b->first, sizeof field->ints);
    return RGM_OK;
}

static rgm_status read_entry(rgm_example *ex, cursor *c)
{
    building b = {0};
    rgm_str key = {"", 0};

    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor part;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field > 2 || wire != BYTES) {
            RGM_TRY(skip_field(c, field, wire, 2));
            continue;
        }
        RGM_TRY(read_part(&part, c));
        if (field == 1) {
            if (!is_utf8(part.at, part.end))
                return wire_fail(c, part.at, "a key is not UTF-8");
            key = (rgm_str){(const char *)part.at, part.end - part.at};
        } else {
            RGM_TRY(read_feature(&b, ex, &part));
        }
    }
    return add_field(ex, &key, &b);
}

static rgm_status read_features(rgm_example *ex, cursor *c)
{
    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor entry;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field == 1 && wire == BYTES) {
            RGM_TRY(read_part(&entry, c));
            RGM_TRY(read_entry(ex, &entry));
        } else {
            RGM_TRY(skip_field(c, field, wire, 1));
        }
    }
    return RGM_OK;
}

static rgm_status read_example(rgm_example *ex, cursor *c)
{
    while (c->at < c->end) {
        uint32_t field;
        int wire;
        cursor features;

        RGM_TRY(read_tag(&field, &wire, c));
        if (field == 1 && wire == BYTES) {
            RGM_TRY(read_part(&features, c));
            RGM_TRY(read_features(ex, &features));
        } else {
            RGM_TRY(skip_field(c, field, wire, 0));
        }
    }
    return RGM_OK;
}

/* ---- the object ----------------------------------------------------------------------------- */

rgm_status rgm_example_create(rgm_example **out)
{
    *out = NULL;
    return RGM_NEW(*out, 1);
}

void rgm_example_release(rgm_example *example)
{
    if (example == NULL)
        return;
    rgm_free(example->fields);
    rgm_free(example->floats);
    rgm_free(example->ints);
    rgm_free(example->bytes);
    rgm_free(example->table);
    rgm_free(example);
}

static void forget(rgm_example *ex)
{
    ex->count = 0;
    ex->float_count = ex->int_count = ex->bytes_count = 0;
    if (ex->table_size > 0)
        memset(ex->table, 0, (size_t)ex->table_size * sizeof *ex->table);
}

/** The arrays stay where they are now: indices become pointers. */
static void point_to_values(rgm_example *ex)
{
    for (int64_t i = 0; i < ex->count; i++) {
        rgm_example_field *field = &ex->fields[i];
        int64_t first;

        memcpy(&first, &field->ints, sizeof first);
        switch (field->kind) {
        case RGM_FEATURE_BYTES:
            field->bytes = ex->bytes != NULL ? ex->bytes + first : NULL;
            break;
        case RGM_FEATURE_FLOATS:
            field->floats = ex->floats != NULL ? ex->floats + first : NULL;
            break;
        case RGM_FEATURE_INTS:
            field->ints = ex->ints != NULL ? ex->ints + first : NULL;
            break;
        default:
            field->ints = NULL;
        }
    }
}

rgm_status rgm_example_decode(rgm_example *example, const void *data, int64_t size)
{
    rgm_status status = RGM_OK;
    cursor c = {data, data, data};

    forget(example);
    if (size < 0 || size > INT32_MAX)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "tf.train.Example: %lld bytes; 0 to 2 GiB are possible",
                        (long long)size));
    if (size > 0) { /* nothing may be NULL, to which not even 0 is added */
        c.end += size;
        RGM_GO(read_example(example, &c));
    }
    point_to_values(example);
done:
    if (status != RGM_OK)
        forget(example);
    return status;
}

int64_t rgm_example_count(const rgm_example *example)
{
    return example->count;
}

const rgm_example_field *rgm_example_feature(const rgm_example *example, int64_t i)
{
    return i >= 0 && i < example->count ? &example->fields[i] : NULL;
}

const rgm_example_field *rgm_example_find_n(const rgm_example *example, const char *key,
                                            int64_t size)
{
    if (example->count == 0)
        return NULL;
    int64_t slot = *find_slot(example, key, size);
    return slot > 0 ? &example->fields[slot - 1] : NULL;
}

const rgm_example_field *rgm_example_find(const rgm_example *example, const char *key)
{
    return rgm_example_find_n(example, key, (int64_t)strlen(key));
}
