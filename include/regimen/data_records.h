/*
 * data: TFRecord files, and the tf.train.Examples in them.
 */
#ifndef REGIMEN_DATA_RECORDS_H
#define REGIMEN_DATA_RECORDS_H

#include <regimen/base.h>
#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- TFRecord: length, masked CRC-32C, bytes, masked CRC-32C --------------------------------- */

typedef struct rgm_tfrecord_options {
    /**
     * How many bad records a reader may skip; with 0 the first bad record is an error. Each skipped
     * record is logged with file, record and offset. After a bad length the reader looks for the
     * next sound header; everything up to there counts as one bad record.
     */
    int64_t max_bad_records;
    int64_t max_record_bytes; /* a longer record is an error, never skipped */
} rgm_tfrecord_options;
#define RGM_TFRECORD_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .max_bad_records = 0, .max_record_bytes = INT64_C(1) << 30                                 \
    }

/** Reads one file, plain, gzip or zlib (its first bytes tell which). Not shared between threads. */
typedef struct rgm_tfrecord_reader rgm_tfrecord_reader;
/** options may be NULL. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL. */
rgm_status rgm_tfrecord_reader_open(rgm_tfrecord_reader **out, const char *path,
                                    const rgm_tfrecord_options *options);
void rgm_tfrecord_reader_close(rgm_tfrecord_reader *reader);
/**
 * The bytes of the next record, borrowed until the next call.
 *
 * Errors: RGM_END after the last record; RGM_ERR_FORMAT "FILE: record N at byte O: what" (N counts
 * from 0, O is the record's first byte in the uncompressed file); RGM_ERR_IO; RGM_ERR_NOMEM. After
 * a bad record the next call goes on with the following record, but not after a bad length or in a
 * truncated file.
 */
rgm_status rgm_tfrecord_reader_next(const uint8_t **data, int64_t *size,
                                    rgm_tfrecord_reader *reader);
/** Where the next record starts: its byte offset in the uncompressed file, and its number. */
int64_t rgm_tfrecord_reader_offset(const rgm_tfrecord_reader *reader);
int64_t rgm_tfrecord_reader_record(const rgm_tfrecord_reader *reader);
/** The number of bad records skipped so far. */
int64_t rgm_tfrecord_reader_bad_records(const rgm_tfrecord_reader *reader);
/**
 * Go to a place that _offset() and _record() returned. Plain files: O(1). A compressed file is
 * inflated up to that place, from its start when the place is before the current one (some 300
 * MB/s).
 * Errors: RGM_ERR_ARG, RGM_ERR_IO.
 */
rgm_status rgm_tfrecord_reader_seek(rgm_tfrecord_reader *reader, int64_t offset, int64_t record);

typedef struct rgm_tfrecord_writer_options {
    bool gzip;
} rgm_tfrecord_writer_options;
#define RGM_TFRECORD_WRITER_OPTIONS_INIT                                                           \
    {                                                                                              \
        .gzip = false                                                                              \
    }

/** Writes one file, or N shards "name-00000-of-0000N" for a path "name@N". */
typedef struct rgm_tfrecord_writer rgm_tfrecord_writer;
/**
 * Opens temporary files in the folder of the final ones. options may be NULL.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_writer_open(rgm_tfrecord_writer **out, const char *path,
                                    const rgm_tfrecord_writer_options *options);
/** Append a record; the i-th goes to shard i % N. Errors: RGM_ERR_ARG, RGM_ERR_IO. */
rgm_status rgm_tfrecord_writer_add(rgm_tfrecord_writer *writer, const void *data, int64_t size);
/**
 * Sync and rename the files: afterwards the file, or every shard, exists and is complete. After
 * this only close may be called.
 * Errors: RGM_ERR_ARG, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_writer_finish(rgm_tfrecord_writer *writer);
/** Removes what was written unless finish succeeded before. NULL is allowed. */
void rgm_tfrecord_writer_close(rgm_tfrecord_writer *writer);

/** The 12 bytes before a record and the 4 bytes after it, for files that others read while they
 * grow. */
void rgm_tfrecord_frame(uint8_t head[12], uint8_t tail[4], const void *data, int64_t size);
/**
 * The shard names of "name@N", or the files that a pattern or plain path matches, sorted. See
 * rgm_glob().
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_paths(char ***paths, int64_t *count, const char *pattern);
/**
 * The record files of a folder whose names begin with `prefix`, sorted: "FOLDER/PREFIX*.tfrecord",
 * or compressed ones, "FOLDER/PREFIX*.tfrecord.gz".
 *
 * @param paths [out, owned] released by rgm_names_release()
 * Errors: RGM_ERR_NOT_FOUND: there are none; RGM_ERR_DATA: there are both kinds, or not all of the
 * shards that the names NAME-00000-of-0000N tell, or those of two numbers; RGM_ERR_IO,
 * RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_folder(char ***paths, int64_t *count, const char *folder,
                               const char *prefix);

/* ---- tf.train.Example ---------------------------------------------------------------------- */

typedef enum rgm_feature_kind {
    RGM_FEATURE_NONE, /* a Feature without a list */
    RGM_FEATURE_BYTES,
    RGM_FEATURE_FLOATS,
    RGM_FEATURE_INTS
} rgm_feature_kind;

/** One key of an Example and its values, all borrowed. */
typedef struct rgm_example_field {
    rgm_str key;
    rgm_feature_kind kind;
    int64_t count; /* values */
    union {
        const rgm_str *bytes;
        const float *floats;
        const int64_t *ints;
    };
} rgm_example_field;

/** A decoded Example; the next decode reuses its memory. Not shared between threads. */
typedef struct rgm_example rgm_example;
/** An empty Example. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_example_create(rgm_example **out);
void rgm_example_release(rgm_example *example);
/**
 * Decode a serialized tf.train.Example. Byte values and keys point into `data`, which must outlive
 * their use; floats and ints are decoded into the example's own memory. It follows protobuf: values
 * may be packed or unpacked, the last of equal keys wins, parts of one message merge, and unknown
 * fields and fields of a wrong wire type are skipped.
 *
 * Errors: RGM_ERR_FORMAT "tf.train.Example: byte O: what"; RGM_ERR_NOMEM. The example is then
 * empty.
 * Cost: O(size); memory at most about 32 bytes for each input byte.
 */
rgm_status rgm_example_decode(rgm_example *example, const void *data, int64_t size);
int64_t rgm_example_count(const rgm_example *example);
/** Feature i, in the order of first appearance; borrowed until the next decode. */
const rgm_example_field *rgm_example_feature(const rgm_example *example, int64_t i);
/** The feature with that key, or NULL. O(1). */
const rgm_example_field *rgm_example_find(const rgm_example *example, const char *key);
const rgm_example_field *rgm_example_find_n(const rgm_example *example, const char *key,
                                            int64_t size);
/**
 * Append the serialized Example of these features to `out`. Keys are sorted by bytes and lists are
 * packed, so that equal features give equal bytes. RGM_ERR_ARG when a key is given twice.
 */
rgm_status rgm_example_encode(rgm_text *out, const rgm_example_field *features, int64_t count);

#ifdef __cplusplus
}
#endif
#endif
