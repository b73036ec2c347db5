/*
 * Reads event files back, for pages about runs. It does not read every TensorFlow program's files:
 * only the records that our runs write, and the mark of a start; all others are skipped. A file may
 * grow or be cut while it is read, so it is never mapped.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD = 12, TAIL = 4, PIECE = 256 << 10 };

/* A list of doubles from a message; its memory is reused from one histogram to the next. */
typedef struct doubles {
    double *items;
    int64_t count, capacity;
} doubles;

typedef struct reader {
    int fd;
    const char *name;
    rgm_summary_visit *visit;
    void *payload;
    int64_t offset; /* of the record in hand */
    uint8_t *window;
    int64_t at, size, capacity; /* of the window: the record, and what was read */
    rgm_text tag;
    doubles limits, counts;
} reader;

static rgm_status fail(const reader *r, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: record at byte %lld: %s", r->name, (long long)r->offset,
                    what);
}

/* ---- wire format --------------------------------------------------------------------------- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

typedef struct wire {
    const uint8_t *at, *end;
} wire;

typedef struct field {
    int64_t number;
    int type;
    uint64_t bits; /* of a number */
    wire bytes;
} field;

static bool get_varint(uint64_t *out, wire *w)
{
    *out = 0;
    for (int shift = 0; shift < 64 && w->at < w->end; shift += 7) {
        uint8_t byte = *w->at++;

        *out |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool get_fixed(uint64_t *out, wire *w, int size)
{
    *out = 0;
    if (w->end - w->at < size)
        return false;
    memcpy(out, w->at, (size_t)size);
    w->at += size;
    return true;
}

/* RGM_END after the last one. */
static rgm_status next_field(field *f, wire *w, const reader *r)
{
    uint64_t key, size;
    bool sound;

    if (w->at == w->end)
        return RGM_END;
    if (!get_varint(&key, w) || key >> 3 == 0 || key >> 32 != 0)
        return fail(r, "its protobuf is malformed");
    *f = (field){.number = (int64_t)(key >> 3), .type = (int)(key & 7)};
    switch (f->type) {
    case VARINT:
        sound = get_varint(&f->bits, w);
        break;
    case FIXED64:
        sound = get_fixed(&f->bits, w, 8);
        break;
    case FIXED32:
        sound = get_fixed(&f->bits, w, 4);
        break;
    case BYTES:
        sound = get_varint(&size, w) && size <= (uint64_t)(w->end - w->at);
        if (sound) {
            f->bytes = (wire){w->at, w->at + size};
            w->at += size;
        }
        break;
    default: /* groups, which proto3 does not have */
        sound = false;
    }
    return sound ? RGM_OK : fail(r, "its protobuf is malformed");
}

static double double_of(uint64_t bits)
{
    double number;

    memcpy(&number, &bits, sizeof number);
    return number;
}

static double float_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float number;

    memcpy(&number, &low, sizeof number);
    return number;
}

/* ---- values -------------------------------------------------------------------------------- */

/* Packed, or one by one. */
static rgm_status add_doubles(doubles *list, const field *f, const reader *r)
{
    int64_t bytes = f->bytes.end - f->bytes.at;

    if (f->type == FIXED64) {
        RGM_TRY(RGM_RESERVE(list->items, list->capacity, list->count + 1));
        list->items[list->count++] = double_of(f->bits);
        return RGM_OK;
    }
    if (f->type != BYTES || bytes % 8 != 0)
        return fail(r, "a histogram's list is no list of doubles");
    RGM_TRY(RGM_RESERVE(list->items, list->capacity, list->count + bytes / 8));
    if (bytes > 0)
        memcpy(list->items + list->count, f->bytes.at, (size_t)bytes);
    list->count += bytes / 8;
    return RGM_OK;
}

/* HistogramProto: min 1, max 2, num 3, sum 4, bucket_limit 6, bucket 7. */
static rgm_status read_histogram(rgm_summary *summary, wire w, reader *r)
{
    double *const places[] = {NULL, &summary->min, &summary->max, &summary->count, &summary->sum};
    rgm_status status;
    field f;

    r->limits.count = r->counts.count = 0;
    while ((status = next_field(&f, &w, r)) == RGM_OK) {
        if (f.number <= 4 && f.type == FIXED64)
            *places[f.number] = double_of(f.bits);
        else if (f.number == 6)
            RGM_TRY(add_doubles(&r->limits, &f, r));
        else if (f.number == 7)
            RGM_TRY(add_doubles(&r->counts, &f, r));
    }
    if (status != RGM_END)
        return status;
    if (r->limits.count != r->counts.count)
        return fail(r, "a histogram has not as many counts as edges");
    summary->kind = RGM_SUMMARY_HISTOGRAM;
    summary->buckets = r->limits.count;
    summary->limits = r->limits.items;
    summary->counts = r->counts.items;
    return RGM_OK;
}

/* TensorProto: dtype 1, string_val 8. *known: it is one string. */
static rgm_status read_tensor(bool *known, rgm_summary *summary, wire w, const reader *r)
{
    enum { DT_STRING = 7 };
    int64_t texts = 0;
    uint64_t dtype = 0;
    rgm_status status;
    field f;

    *known = false;
    while ((status = next_field(&f, &w, r)) == RGM_OK) {
        if (f.number == 1 && f.type == VARINT)
            dtype = f.bits;
        else if (f.number == 8 && f.type == BYTES && texts++ == 0)
            summary->text = (rgm_str){(const char *)f.bytes.at, f.bytes.end - f.bytes.at};
    }
    if (status != RGM_END)
        return status;
    *known = dtype == DT_STRING && texts == 1;
    summary->kind = RGM_SUMMARY_TEXT;
    return RGM_OK;
}

/* Value: tag 1, simple_value 2, histo 5, tensor 8. */
static rgm_status read_value(rgm_summary *summary, wire w, reader *r)
{
    bool known = false, tagged = false;
    rgm_status status;
    field f;

    r->tag.size = 0;
    while ((status = next_field(&f, &w, r)) == RGM_OK) {
        if (f.number == 1 && f.type == BYTES) {
            r->tag.size = 0;
            RGM_TRY(rgm_text_add(&r->tag, f.bytes.at, f.bytes.end - f.bytes.at));
            tagged = true;
        } else if (f.number == 2 && f.type == FIXED32) {
            summary->kind = RGM_SUMMARY_SCALAR;
            summary->value = float_of(f.bits);
            known = true;
        } else if (f.number == 5 && f.type == BYTES) {
            RGM_TRY(read_histogram(summary, f.bytes, r));
            known = true;
        } else if (f.number == 8 && f.type == BYTES) {
            RGM_TRY(read_tensor(&known, summary, f.bytes, r));
        }
    }
    if (status != RGM_END)
        return status;
    if (!known || !tagged)
        return RGM_OK;
    if (memchr(r->tag.data, 0, (size_t)r->tag.size) != NULL)
        return fail(r, "a tag has a zero byte in it");
    summary->tag = r->tag.data;
    return r->visit(summary, r->payload);
}

static rgm_status read_summary(const rgm_summary *event, wire w, reader *r)
{
    rgm_status status;
    field f;

    while ((status = next_field(&f, &w, r)) == RGM_OK) {
        rgm_summary summary = *event;

        if (f.number == 1 && f.type == BYTES)
            RGM_TRY(read_value(&summary, f.bytes, r));
    }
    return status == RGM_END ? RGM_OK : status;
}

/* SessionLog: status 1, of which 1 is START. */
static rgm_status read_session(const rgm_summary *event, wire w, reader *r)
{
    bool start = false;
    rgm_status status;
    field f;

    while ((status = next_field(&f, &w, r)) == RGM_OK)
        if (f.number == 1 && f.type == VARINT)
            start = f.bits == 1;
    if (status != RGM_END)
        return status;
    return start ? r->visit(event, r->payload) : RGM_OK;
}

/* Event: wall_time 1, step 2, summary 5, session_log 7, in any order. */
static rgm_status read_event(wire whole, reader *r)
{
    rgm_summary event = {.kind = RGM_SUMMARY_START, .offset = r->offset};
    wire w = whole;
    rgm_status status;
    field f;

    while ((status = next_field(&f, &w, r)) == RGM_OK) {
        if (f.number == 1 && f.type == FIXED64)
            event.time = double_of(f.bits);
        else if (f.number == 2 && f.type == VARINT)
            event.step = (int64_t)f.bits;
    }
    for (w = whole; status == RGM_END && next_field(&f, &w, r) == RGM_OK;) {
        if (f.number == 5 && f.type == BYTES)
            RGM_TRY(read_summary(&event, f.bytes, r));
        else if (f.number == 7 && f.type == BYTES)
            RGM_TRY(read_session(&event, f.bytes, r));
    }
    return status == RGM_END ? RGM_OK : status;
}

/* ---- records ------------------------------------------------------------------------------- */

/* Read until the window has `need` bytes from the record's start on, or fewer if the file ends. */
static rgm_status fill(reader *r, int64_t need)
{
    if (r->at + need > r->size && r->at > 0) {
        memmove(r->window, r->window + r->at, (size_t)(r->size - r->at));
        r->size -= r->at;
        r->at = 0;
    }
    while (r->at + need > r->size) {
        ssize_t n;

        RGM_TRY(RGM_RESERVE(r->window, r->capacity, r->size + PIECE));
        n = pread(r->fd, r->window + r->size, PIECE, (off_t)(r->offset + r->size - r->at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", r->name);
        if (n == 0)
            break;
        r->size += n;
    }
    return RGM_OK;
}

/* Check the current record; RGM_END: there is no whole one. */
static rgm_status look(int64_t *size, reader *r)
{
    const uint8_t *p;
    uint64_t length;
    uint32_t crc;

    RGM_TRY(fill(r, HEAD));
    if (r->size - r->at < HEAD)
        return RGM_END;
    p = r->window + r->at;
    memcpy(&length, p, 8);
    memcpy(&crc, p + 8, 4);
    if (rgmi_masked_crc(p, 8) != crc)
        return fail(r, r->offset == 0 ? "the CRC of its length is wrong: damaged, or no event file"
                                      : "the CRC of its length is wrong");
    if (length > (uint64_t)RGM_EVENT_RECORD_MAX)
        return fail(r, "it has more than 64 MiB");
    *size = (int64_t)length;
    RGM_TRY(fill(r, HEAD + *size + TAIL));
    if (r->size - r->at < HEAD + *size + TAIL)
        return RGM_END;
    p = r->window + r->at + HEAD;
    memcpy(&crc, p + length, 4);
    return rgmi_masked_crc(p, (size_t)length) == crc ? RGM_OK
                                                     : fail(r, "the CRC of its bytes is wrong");
}

static rgm_status read_records(reader *r)
{
    for (;;) {
        int64_t size = 0;
        const uint8_t *data;
        rgm_status status = look(&size, r);

        if (status == RGM_END)
            return RGM_OK;
        RGM_TRY(status);
        data = r->window + r->at + HEAD;
        status = read_event((wire){data, data + size}, r);
        if (status < 0)
            return rgm_error_trace(status, __FILE__, __LINE__, __func__);
        r->at += HEAD + size + TAIL;
        r->offset += HEAD + size + TAIL;
        if (status != RGM_OK)
            return status == RGM_END ? RGM_OK : status;
    }
}

rgm_status rgm_event_records_read(int64_t *end, int fd, int64_t offset, const char *name,
                                  rgm_summary_visit *visit, void *payload)
{
    reader r = {.fd = fd, .name = name, .visit = visit, .payload = payload, .offset = offset};
    rgm_status status = RGM_OK;

    if (offset < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "%s: no record is at byte %lld", name, (long long)offset));
    RGM_GO(read_records(&r));
done:
    if (end != NULL)
        *end = r.offset;
    rgm_free(r.window);
    rgm_free(r.limits.items);
    rgm_free(r.counts.items);
    rgm_text_clear(&r.tag);
    return status;
}

rgm_status rgm_event_file_read(const char *path, rgm_summary_visit *visit, void *payload)
{
    rgm_status status = RGM_OK;
    struct stat info;
    int fd = rgmi_open(path, O_RDONLY | O_NONBLOCK); /* a pipe might never have a writer */

    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    if (fstat(fd, &info) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", path));
    if (!S_ISREG(info.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "'%s' is no plain file", path));
    RGM_GO(rgm_event_records_read(NULL, fd, 0, path, visit, payload));
done:
    if (fd >= 0)
        close(fd);
    return status;
}
