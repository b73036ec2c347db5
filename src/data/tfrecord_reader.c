/*
 * Reading TFRecord files: [u64 length][masked crc of it][bytes][masked crc of them], little-endian.
 * No value is used before its CRC is checked, and memory grows only as bytes arrive.
 */
#include "data_internal.h"

#include <stdio.h>

enum { HEAD = 12, TAIL = 4 };

struct rgm_tfrecord_reader {
    rgmi_input *input;
    rgm_tfrecord_options options;
    int64_t record;
    int64_t bad_records;
    bool opened; /* the kind of file is known */
};

static uint32_t load_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint64_t load_u64(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static bool head_is_sound(const uint8_t *head)
{
    return rgmi_mask_crc(rgm_crc32c(0, head, 8)) == load_u32(head + 8);
}

void rgm_tfrecord_frame(uint8_t head[12], uint8_t tail[4], const void *data, int64_t size)
{
    uint64_t length = (uint64_t)size;
    uint32_t crc;

    memcpy(head, &length, 8);
    crc = rgmi_mask_crc(rgm_crc32c(0, head, 8));
    memcpy(head + 8, &crc, 4);
    crc = rgmi_mask_crc(rgm_crc32c(0, data, (size_t)size));
    memcpy(tail, &crc, 4);
}

rgm_status rgm_tfrecord_reader_open(rgm_tfrecord_reader **out, const char *path,
                                    const rgm_tfrecord_options *options)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_reader *reader = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(reader, 1));
    reader->options = options != NULL ? *options : (rgm_tfrecord_options)RGM_TFRECORD_OPTIONS_INIT;
    if (reader->options.max_bad_records < 0 || reader->options.max_record_bytes < 0)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "max_bad_records is %lld, max_record_bytes %lld: negative",
                        (long long)reader->options.max_bad_records,
                        (long long)reader->options.max_record_bytes));
    RGM_GO(rgm_path_refuse_pipe(path)); /* records are gone back to */
    RGM_GO(rgmi_input_open(&reader->input, path));
    *out = reader;
    reader = NULL;
done:
    rgm_tfrecord_reader_close(reader);
    return status;
}

void rgm_tfrecord_reader_close(rgm_tfrecord_reader *reader)
{
    if (reader == NULL)
        return;
    rgmi_input_close(reader->input);
    rgm_free(reader);
}

/**
 * Plain, gzip or zlib (tf.data's compression_type)? A plain file may start with gzip's magic (a
 * first record of 559,903 bytes) or zlib's, but then its length has a sound CRC.
 */
static rgm_status detect_kind(rgm_tfrecord_reader *reader)
{
    rgmi_input *input = reader->input;

    if (reader->opened)
        return RGM_OK;
    RGM_TRY(rgmi_input_fill(input, HEAD));
    if (input->available < HEAD || !head_is_sound(input->data)) {
        RGM_TRY(rgmi_input_detect_gzip(input));
        RGM_TRY(rgmi_input_detect_zlib(input));
    }
    reader->opened = true;
    return RGM_OK;
}

static rgm_status record_fail(const rgm_tfrecord_reader *reader, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: record %lld at byte %lld: %s", reader->input->path,
                    (long long)reader->record, (long long)reader->input->offset, what);
}

/** What is wrong with the bytes at the window's start. */
typedef enum fault { SOUND, FILE_END, CUT_HEAD, BAD_LENGTH, CUT_DATA, BAD_DATA } fault;

/** Look at the record at the window's start; consumes nothing. */
static rgm_status inspect(fault *found, int64_t *size, rgm_tfrecord_reader *reader)
{
    rgmi_input *input = reader->input;
    uint64_t length;
    char what[128];

    *size = 0;
    if (input->available < HEAD)
        RGM_TRY(rgmi_input_fill(input, HEAD));
    if (input->available < HEAD) {
        *found = input->available == 0 ? FILE_END : CUT_HEAD;
        return RGM_OK;
    }
    if (!head_is_sound(input->data)) {
        *found = BAD_LENGTH;
        return RGM_OK;
    }
    length = load_u64(input->data);
    if (length > (uint64_t)reader->options.max_record_bytes) {
        snprintf(what, sizeof what, "has %llu bytes, over max_record_bytes %lld",
                 (unsigned long long)length, (long long)reader->options.max_record_bytes);
        return record_fail(reader, what);
    }
    *size = (int64_t)length;
    if (input->available < HEAD + *size + TAIL)
        RGM_TRY(rgmi_input_fill(input, HEAD + *size + TAIL));
    if (input->available < HEAD + *size + TAIL)
        *found = CUT_DATA;
    else if (rgmi_mask_crc(rgm_crc32c(0, input->data + HEAD, (size_t)*size)) !=
             load_u32(input->data + HEAD + *size))
        *found = BAD_DATA;
    else
        *found = SOUND;
    return RGM_OK;
}

static rgm_status fault_fail(const rgm_tfrecord_reader *reader, fault found, int64_t size)
{
    const rgmi_input *input = reader->input;
    char what[160];

    switch (found) {
    case CUT_HEAD:
        snprintf(what, sizeof what, "the file ends after %lld of the 12 bytes of its header",
                 (long long)input->available);
        break;
    case CUT_DATA:
        snprintf(what, sizeof what, "should have %lld bytes, but the file ends after %lld",
                 (long long)size, (long long)(input->available - HEAD));
        break;
    case BAD_LENGTH:
        snprintf(what, sizeof what,
                 input->offset == 0 && reader->record == 0
                     ? "the CRC of its length is wrong: damaged, or not a TFRecord file"
                     : "the CRC of its length is wrong");
        break;
    default:
        snprintf(what, sizeof what, "the CRC of its %lld bytes is wrong", (long long)size);
        break;
    }
    return record_fail(reader, what);
}

/**
 * Go to the next sound header behind the window's start, or to the end of the file. A header is 12
 * bytes with a CRC, so junk passes for one in 1 of 2^32 places, and costs one more bad record then.
 */
static rgm_status find_header(rgm_tfrecord_reader *reader)
{
    rgmi_input *input = reader->input;

    for (;;) {
        int64_t at = 1;

        RGM_TRY(rgmi_input_fill(input, HEAD + 1));
        while (at + HEAD <= input->available &&
               !(head_is_sound(input->data + at) &&
                 load_u64(input->data + at) <= (uint64_t)reader->options.max_record_bytes))
            at++;
        if (at + HEAD <= input->available) {
            rgmi_input_consume(input, at);
            return RGM_OK;
        }
        if (input->available < HEAD + 1) {
            rgmi_input_consume(input, input->available);
            return RGM_OK;
        }
        rgmi_input_consume(input, at - 1);
    }
}

/** Pass over a bad record, if the budget has room for it; else the error. */
static rgm_status pass_over(rgm_tfrecord_reader *reader, fault found, int64_t size)
{
    rgmi_input *input = reader->input;
    rgm_status status = fault_fail(reader, found, size);

    if (reader->bad_records >= reader->options.max_bad_records) {
        if (reader->options.max_bad_records > 0)
            rgm_error_prefix(status,
                             "%lld bad records were passed over before, no more are allowed",
                             (long long)reader->bad_records);
        if (found == BAD_DATA) {
            rgmi_input_consume(input, HEAD + size + TAIL);
            reader->record++;
        }
        return status;
    }
    reader->bad_records++;
    rgm_log_write(RGM_LOG_WARNING, "%s; passed over (%lld of at most %lld)", rgm_error_message(),
                  (long long)reader->bad_records, (long long)reader->options.max_bad_records);
    rgm_error_reset();
    if (found == BAD_DATA)
        rgmi_input_consume(input, HEAD + size + TAIL);
    else
        RGM_TRY(find_header(reader));
    reader->record++;
    return RGM_OK;
}

rgm_status rgm_tfrecord_reader_next(const uint8_t **data, int64_t *size,
                                    rgm_tfrecord_reader *reader)
{
    *data = NULL;
    *size = 0;
    RGM_TRY(detect_kind(reader));
    for (;;) {
        fault found = SOUND;
        int64_t length = 0;

        RGM_TRY(inspect(&found, &length, reader));
        if (found == FILE_END)
            return RGM_END;
        if (found == SOUND) {
            *data = reader->input->data + HEAD;
            *size = length;
            rgmi_input_consume(reader->input, HEAD + length + TAIL);
            reader->record++;
            return RGM_OK;
        }
        RGM_TRY(pass_over(reader, found, length));
    }
}

int64_t rgm_tfrecord_reader_offset(const rgm_tfrecord_reader *reader)
{
    return reader->input->offset;
}

int64_t rgm_tfrecord_reader_record(const rgm_tfrecord_reader *reader)
{
    return reader->record;
}

int64_t rgm_tfrecord_reader_bad_records(const rgm_tfrecord_reader *reader)
{
    return reader->bad_records;
}

int64_t rgmi_tfrecord_file_size(const rgm_tfrecord_reader *reader)
{
    return reader->input->file_size;
}

void rgmi_tfrecord_set_bad_records(rgm_tfrecord_reader *reader, int64_t count)
{
    reader->bad_records = count;
}

rgm_status rgm_tfrecord_reader_seek(rgm_tfrecord_reader *reader, int64_t offset, int64_t record)
{
    if (offset < 0 || record < 0)
        return RGM_FAIL(RGM_ERR_ARG, "%s: cannot go to byte %lld, record %lld", reader->input->path,
                        (long long)offset, (long long)record);
    RGM_TRY(detect_kind(reader));
    RGM_TRY(rgmi_input_seek(reader->input, offset));
    reader->record = record;
    return RGM_OK;
}
