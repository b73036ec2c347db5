/*
 * TFRecord files: what the library reads and decodes a second, and a loop that does the least there
 * is to do: read(2) and check both CRCs of each record. The loop shares nothing with the library;
 * its CRC-32C has three streams in flight, as fast as the instruction goes.
 */
#include "bench.h"

#include <errno.h>
#include <fcntl.h>
#include <regimen/data.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __x86_64__
#include <nmmintrin.h>
#endif

enum { EXAMPLE, READ, GRAPH, LOOP };

typedef struct records {
    char *path;
    int form;
    rgm_example *example;
    rgm_schema *schema; /* of form graph */
    int64_t count, bytes, values;
    uint8_t *buffer; /* of form loop */
} records;

/* ---- the least loop ------------------------------------------------------------------------- */

#define STREAM 1024 /* bytes of each of three streams */
#define BUFFER ((size_t)1 << 18)

static uint32_t shift_table[2][4][256]; /* crc after STREAM and 2 * STREAM more zero bytes */
static uint32_t byte_table[256];

static uint32_t step_byte(uint32_t crc)
{
    for (int bit = 0; bit < 8; bit++)
        crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    return crc;
}

static void make_tables(void)
{
    for (uint32_t b = 0; b < 256; b++)
        byte_table[b] = step_byte(b);
    for (int twice = 0; twice < 2; twice++)
        for (int k = 0; k < 4; k++)
            for (uint32_t b = 0; b < 256; b++) {
                uint32_t crc = b << (8 * k);
                for (int i = 0; i < STREAM << twice; i++)
                    crc = crc >> 8 ^ byte_table[crc & 255];
                shift_table[twice][k][b] = crc;
            }
}

#ifdef __x86_64__
static uint32_t shifted(int twice, uint32_t crc)
{
    const uint32_t(*t)[256] = shift_table[twice];

    return t[0][crc & 255] ^ t[1][crc >> 8 & 255] ^ t[2][crc >> 16 & 255] ^ t[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static uint32_t crc_hardware(const uint8_t *p, size_t size)
{
    uint64_t crc = 0xffffffffu, word[3];

    for (; size >= 3 * STREAM; p += 3 * STREAM, size -= 3 * STREAM) {
        uint64_t second = 0, third = 0;
        for (size_t i = 0; i < STREAM; i += 8) {
            memcpy(&word[0], p + i, 8);
            memcpy(&word[1], p + STREAM + i, 8);
            memcpy(&word[2], p + 2 * STREAM + i, 8);
            crc = _mm_crc32_u64(crc, word[0]);
            second = _mm_crc32_u64(second, word[1]);
            third = _mm_crc32_u64(third, word[2]);
        }
        crc = shifted(1, (uint32_t)crc) ^ shifted(0, (uint32_t)second) ^ (uint32_t)third;
    }
    for (; size >= 8; p += 8, size -= 8) {
        memcpy(&word[0], p, 8);
        crc = _mm_crc32_u64(crc, word[0]);
    }
    for (; size > 0; p++, size--)
        crc = _mm_crc32_u8((uint32_t)crc, *p);
    return ~(uint32_t)crc;
}
#endif

static uint32_t crc_plain(const uint8_t *p, size_t size)
{
    uint32_t crc = 0xffffffffu;

    for (; size > 0; p++, size--)
        crc = crc >> 8 ^ byte_table[(crc ^ *p) & 255];
    return ~crc;
}

static uint32_t masked(const uint8_t *p, size_t size)
{
    uint32_t crc;

#ifdef __x86_64__
    crc = __builtin_cpu_supports("sse4.2") ? crc_hardware(p, size) : crc_plain(p, size);
#else
    crc = crc_plain(p, size);
#endif
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static bool crc_is(const uint8_t *data, size_t size)
{
    uint32_t stored;

    memcpy(&stored, data + size, 4);
    return stored == masked(data, size);
}

/* Whole records of a full buffer; *used are the bytes of those. */
static rgm_status check_buffer(records *r, size_t held, size_t *used)
{
    size_t at = 0;

    for (;;) {
        uint64_t size;
        if (held - at < 12)
            break;
        memcpy(&size, r->buffer + at, 8);
        if (!crc_is(r->buffer + at, 8))
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: bad length", r->path);
        if (size > BUFFER - 16)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: record of %llu bytes", r->path,
                            (unsigned long long)size);
        if (held - at < size + 16)
            break;
        if (!crc_is(r->buffer + at + 12, (size_t)size))
            return RGM_FAIL(RGM_ERR_FORMAT, "%s: bad record", r->path);
        r->count++;
        at += (size_t)size + 16;
    }
    *used = at;
    return RGM_OK;
}

static rgm_status loop(records *r)
{
    rgm_status status = RGM_OK;
    size_t held = 0, used;
    ssize_t got;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return RGM_FAIL_SYSTEM("open", r->path);
    while ((got = read(fd, r->buffer + held, BUFFER - held)) > 0) {
        held += (size_t)got;
        RGM_GO(check_buffer(r, held, &used));
        memmove(r->buffer, r->buffer + used, held - used);
        held -= used;
    }
    if (got < 0 || held > 0)
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s ends within a record", r->path);
done:
    close(fd);
    return status;
}

/* ---- the library ---------------------------------------------------------------------------- */

static rgm_status take_record(records *r, const uint8_t *data, int64_t size)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL;

    r->count++;
    if (r->form == EXAMPLE) {
        RGM_GO(rgm_example_decode(r->example, data, size));
        for (int64_t i = 0; i < rgm_example_count(r->example); i++)
            r->values += rgm_example_feature(r->example, i)->count;
    } else if (r->form == GRAPH) {
        RGM_GO(rgm_graph_decode(&graph, r->schema, data, size, "", r->path));
        r->values += rgm_graph_total(graph, RGM_NODE_SET, "nodes");
    }
done:
    rgm_graph_release(graph);
    return status;
}

static rgm_status read_all(records *r)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_reader *reader = NULL;
    const uint8_t *data;
    int64_t size;

    RGM_GO(rgm_tfrecord_reader_open(&reader, r->path, NULL));
    while ((status = rgm_tfrecord_reader_next(&data, &size, reader)) == RGM_OK)
        RGM_GO(take_record(r, data, size));
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_tfrecord_reader_close(reader);
    return status;
}

/* ---- the workload --------------------------------------------------------------------------- */

static void records_close(void *state)
{
    records *r = state;

    if (r == NULL)
        return;
    rgm_example_release(r->example);
    rgm_schema_release(r->schema);
    rgm_free(r->buffer);
    rgm_free(r->path);
    rgm_free(r);
}

static const char *const forms[] = {"example", "read", "graph", "loop", NULL};

static rgm_status records_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    records *r = NULL;
    struct stat file;

    RGM_GO(RGM_NEW(r, 1));
    while (strcmp(options->form, forms[r->form]) != 0)
        r->form++;
    RGM_GO(rgm_strdup(&r->path, options->data));
    RGM_GO(RGM_NEW(r->buffer, BUFFER));
    RGM_GO(rgm_example_create(&r->example));
    RGM_GO(bench_records_schema(&r->schema));
    if (stat(r->path, &file) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("look at", r->path));
    r->bytes = file.st_size;
    make_tables();
    *out = r;
    r = NULL;
done:
    records_close(r);
    return status;
}

static rgm_status records_step(void *state, int64_t step)
{
    records *r = state;

    (void)step;
    r->count = 0;
    return r->form == LOOP ? loop(r) : read_all(r);
}

static rgm_status records_facts(rgm_text *out, void *state)
{
    const records *r = state;

    return rgm_text_printf(out, ", \"records\": %lld, \"bytes\": %lld", (long long)r->count,
                           (long long)r->bytes);
}

const bench_workload bench_records = {
    "records",     "all records of a file: read | example | graph (decoded) | loop (plain C)",
    records_open,  records_step,
    records_facts, records_close,
    forms};
