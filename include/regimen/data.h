/*
 * data: from files to a stream of elements. Readers and writers of TFRecord, tf.train.Example,
 * protobuf text, CSV and lines of text; and datasets: immutable recipes (files, shuffle, map,
 * batch,
 * ...) that an iterator runs. The same recipe and seed give the same elements for any number of
 * threads, and an iterator's position is a small blob that another process restores by seeking, not
 * by replaying. Nothing here knows of graphs, sentences or models.
 *
 *     rgm_dataset *data = NULL;
 *     rgm_dataset_list_files(&data, "train-*.tfrecord");
 *     rgm_dataset_read_tfrecords(&data, NULL);        each op replaces the recipe by a longer one
 *     rgm_dataset_shuffle(&data, 4096);
 *     rgm_dataset_map(&data, parse, NULL, NULL, 4);
 *     rgm_dataset_batch(&data, 32, true);
 *     rgm_dataset_prefetch(&data, 2);
 *     rgm_iterator_create(&iterator, data, NULL);
 *     while ((status = rgm_iterator_next(&element, iterator)) == RGM_OK) ...
 */
#ifndef REGIMEN_DATA_H
#define REGIMEN_DATA_H

#include <regimen/base.h>
#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- TFRecord: length, masked CRC-32C, bytes, masked CRC-32C --------------------------------- */

typedef struct rgm_tfrecord_options {
    /**
     * How many bad records a reader may pass over: 0 makes the first one an error. Each skipped one
     * is logged with file, record and offset. After a bad length the reader looks for the next
     * sound header, so what lies between counts as one bad record.
     */
    int64_t max_bad_records;
    int64_t max_record_bytes; /* a longer record is an error, never skipped */
} rgm_tfrecord_options;
#define RGM_TFRECORD_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .max_bad_records = 0, .max_record_bytes = INT64_C(1) << 30                                 \
    }

/** Reads one file, plain, gzip or zlib (told by its first bytes). Not shared between threads. */
typedef struct rgm_tfrecord_reader rgm_tfrecord_reader;
/** options may be NULL. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL. */
rgm_status rgm_tfrecord_reader_open(rgm_tfrecord_reader **out, const char *path,
                                    const rgm_tfrecord_options *options);
void rgm_tfrecord_reader_close(rgm_tfrecord_reader *reader);
/**
 * The next record's bytes, borrowed until the next call.
 *
 * Errors: RGM_END after the last record; RGM_ERR_FORMAT "FILE: record N at byte O: what" (N counts
 * from 0, O is the record's first byte in the uncompressed file); RGM_ERR_IO; RGM_ERR_NOMEM. After
 * a bad record (but not a bad length or a cut file) the next call goes on behind it.
 */
rgm_status rgm_tfrecord_reader_next(const uint8_t **data, int64_t *size,
                                    rgm_tfrecord_reader *reader);
/** Where the next record starts: byte offset in the uncompressed file, and its number. */
int64_t rgm_tfrecord_reader_offset(const rgm_tfrecord_reader *reader);
int64_t rgm_tfrecord_reader_record(const rgm_tfrecord_reader *reader);
/** Bad records passed over so far. */
int64_t rgm_tfrecord_reader_bad_records(const rgm_tfrecord_reader *reader);
/**
 * Go to a place told by _offset() and _record(). Plain files: O(1). Packed: inflates up to there,
 * from the start if it lies behind (some 300 MB/s).
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
 * Opens temporary files beside the final ones. options may be NULL.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_writer_open(rgm_tfrecord_writer **out, const char *path,
                                    const rgm_tfrecord_writer_options *options);
/** Append a record; the i-th goes to shard i % N. Errors: RGM_ERR_ARG, RGM_ERR_IO. */
rgm_status rgm_tfrecord_writer_add(rgm_tfrecord_writer *writer, const void *data, int64_t size);
/**
 * Sync and rename: afterwards the file, or every shard, is there and complete. Then only close.
 * Errors: RGM_ERR_ARG, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_writer_finish(rgm_tfrecord_writer *writer);
/** Without a successful finish before, removes what was written. NULL is allowed. */
void rgm_tfrecord_writer_close(rgm_tfrecord_writer *writer);

/** The 12 bytes before a record and the 4 after it, for files that grow while they are read. */
void rgm_tfrecord_frame(uint8_t head[12], uint8_t tail[4], const void *data, int64_t size);
/**
 * Shard names of "name@N", or what a pattern or plain path matches, sorted. See rgm_glob().
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_paths(char ***paths, int64_t *count, const char *pattern);
/**
 * The pattern of a folder's record files whose names begin with `prefix`:
 * "FOLDER/PREFIX*.tfrecord", or "FOLDER/PREFIX*.tfrecord.gz" where there are only such.
 *
 * @param out [out, owned]
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_tfrecord_pattern(char **out, const char *folder, const char *prefix);

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

/** A decoded Example; its memory is used again by the next decode. Not shared between threads. */
typedef struct rgm_example rgm_example;
/** An empty one. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_example_create(rgm_example **out);
void rgm_example_release(rgm_example *example);
/**
 * Decode a serialized tf.train.Example. Byte values and keys point into `data`, which must outlive
 * their use; floats and ints are decoded into the example's own memory. As protobuf does: packed
 * and unpacked values, the last of equal keys wins, parts of one message merge, unknown fields and
 * fields of a wrong wire type are passed over.
 *
 * Errors: RGM_ERR_FORMAT "tf.train.Example: byte O: what"; RGM_ERR_NOMEM. The example is then
 * empty.
 * Cost: O(size); memory at most about 32 bytes for each input byte.
 */
rgm_status rgm_example_decode(rgm_example *example, const void *data, int64_t size);
int64_t rgm_example_count(const rgm_example *example);
/** In order of first appearance; borrowed until the next decode. */
const rgm_example_field *rgm_example_feature(const rgm_example *example, int64_t i);
/** By key, or NULL. O(1). */
const rgm_example_field *rgm_example_find(const rgm_example *example, const char *key);
const rgm_example_field *rgm_example_find_n(const rgm_example *example, const char *key,
                                            int64_t size);
/**
 * Append the serialized Example of these features to `out`, keys sorted by bytes and lists packed,
 * so that equal features give equal bytes. RGM_ERR_ARG for a key given twice.
 */
rgm_status rgm_example_encode(rgm_text *out, const rgm_example_field *features, int64_t count);

/* ---- protobuf text format ------------------------------------------------------------------ */

typedef enum rgm_pbtxt_kind {
    RGM_PBTXT_MESSAGE,
    RGM_PBTXT_STRING, /* quoted; text holds the bytes, escapes undone   */
    RGM_PBTXT_NUMBER, /* text as written, sign included                 */
    RGM_PBTXT_WORD    /* an enum's name, true, false                    */
} rgm_pbtxt_kind;

/**
 * A field with the place it was read from. Repeated fields, also `name: [a, b]`, are siblings of
 * one name. Everything belongs to its document.
 */
typedef struct rgm_pbtxt_field {
    const char *name; /* "" for the root                                 */
    rgm_pbtxt_kind kind;
    const char *text;              /* terminated; not for messages                    */
    int64_t size;                  /* of text                                         */
    int line, column;              /* 1-based, of the name; 0 when made by a program  */
    struct rgm_pbtxt_field *first; /* of a message */
    struct rgm_pbtxt_field *last;
    struct rgm_pbtxt_field *next; /* sibling      */
} rgm_pbtxt_field;

typedef struct rgm_pbtxt rgm_pbtxt;
/**
 * Parse a text. `name` is put into messages. At most 64 MiB and 64 levels.
 *
 * Errors: RGM_ERR_FORMAT "name:line:column: what"; RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_pbtxt_parse(rgm_pbtxt **out, const char *text, int64_t size, const char *name);
rgm_status rgm_pbtxt_load(rgm_pbtxt **out, const char *path);
/** An empty document to add to. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_pbtxt_create(rgm_pbtxt **out);
void rgm_pbtxt_release(rgm_pbtxt *document);
/** The name that it was parsed with, a file's. */
const char *rgm_pbtxt_name(const rgm_pbtxt *document);
rgm_pbtxt_field *rgm_pbtxt_root(const rgm_pbtxt *document);

/** The first field of that name in a message, or NULL; then the next sibling of the same name. */
const rgm_pbtxt_field *rgm_pbtxt_find(const rgm_pbtxt_field *message, const char *name);
const rgm_pbtxt_field *rgm_pbtxt_find_next(const rgm_pbtxt_field *field);
/**
 * RGM_ERR_FORMAT "file:line:column: unknown field 'shapee'; did you mean 'shape'?" unless every
 * field of the message has one of the names.
 */
rgm_status rgm_pbtxt_check_names(const rgm_pbtxt *document, const rgm_pbtxt_field *message,
                                 const char *const *names, int64_t count);
/** A field's value; RGM_ERR_FORMAT with the place when it is of another kind or out of range. */
rgm_status rgm_pbtxt_int(int64_t *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field);
rgm_status rgm_pbtxt_double(double *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field);
rgm_status rgm_pbtxt_bool(bool *out, const rgm_pbtxt *document, const rgm_pbtxt_field *field);
/** Without zero bytes inside, so that it is a C text; borrowed. Errors: RGM_ERR_FORMAT. */
rgm_status rgm_pbtxt_string(const char **out, const rgm_pbtxt *document,
                            const rgm_pbtxt_field *field);
/** An enum's name; borrowed. Errors: RGM_ERR_FORMAT. */
rgm_status rgm_pbtxt_word(const char **out, const rgm_pbtxt *document,
                          const rgm_pbtxt_field *field);
/** RGM_OK if it is a message. Errors: RGM_ERR_FORMAT. */
rgm_status rgm_pbtxt_message(const rgm_pbtxt *document, const rgm_pbtxt_field *field);
/** An error at a field's place: RGM_ERR_FORMAT "file:line:column: ...". */
rgm_status rgm_pbtxt_fail(const rgm_pbtxt *document, const rgm_pbtxt_field *field,
                          const char *format, ...) __attribute__((format(printf, 3, 4)));

/**
 * Append to a message. Texts are copied. *out (may be NULL) is the new field, borrowed.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_pbtxt_add_message(rgm_pbtxt_field **out, rgm_pbtxt *document,
                                 rgm_pbtxt_field *message, const char *name);
rgm_status rgm_pbtxt_add_string(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                                const char *text, int64_t size);
rgm_status rgm_pbtxt_add_int(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                             int64_t number);
rgm_status rgm_pbtxt_add_double(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                                double number);
rgm_status rgm_pbtxt_add_word(rgm_pbtxt *document, rgm_pbtxt_field *message, const char *name,
                              const char *word);
/**
 * The message's fields as text, two spaces a level; parses to the same fields.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_pbtxt_print(rgm_text *out, const rgm_pbtxt_field *message);

/* ---- CSV ----------------------------------------------------------------------------------- */

/** RFC 4180: quotes, doubled quotes, line ends inside quotes; LF or CRLF; gzip if it is that. */
typedef struct rgm_csv_options {
    char delimiter;
    bool header;           /* the first line names the columns                        */
    bool ragged;           /* rows may differ in their number of fields               */
    bool empty_is_missing; /* rgm_csv_load(): an empty field is NaN, of integers -1   */
    int64_t max_row_bytes; /* a longer row is an error                                */
} rgm_csv_options;
#define RGM_CSV_OPTIONS_INIT                                                                       \
    {                                                                                              \
        .delimiter = ',', .header = false, .ragged = false, .max_row_bytes = INT64_C(1) << 26      \
    }

/** Reads rows one by one. Not shared between threads. */
typedef struct rgm_csv_reader rgm_csv_reader;
/**
 * options may be NULL. The header, if there is one, is read at once.
 * Errors: RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_reader_open(rgm_csv_reader **out, const char *path,
                               const rgm_csv_options *options);
void rgm_csv_reader_close(rgm_csv_reader *reader);
/**
 * The next row's fields, borrowed until the next call; empty lines are passed over.
 *
 * Errors: RGM_END; RGM_ERR_FORMAT "FILE:line:column: what" (column = byte in the line, from 1).
 */
rgm_status rgm_csv_reader_next(const rgm_str **fields, int64_t *count, rgm_csv_reader *reader);
/** Names of the header's columns; count 0 without a header. */
int64_t rgm_csv_reader_column_count(const rgm_csv_reader *reader);
const char *rgm_csv_reader_column(const rgm_csv_reader *reader, int64_t i);
/** Line of the last row, from 1. */
int64_t rgm_csv_reader_line(const rgm_csv_reader *reader);
/** Field `column` of the last row as a number; RGM_ERR_FORMAT "FILE:line:column: what". */
rgm_status rgm_csv_reader_i64(int64_t *out, const rgm_csv_reader *reader, int64_t column);
rgm_status rgm_csv_reader_f64(double *out, const rgm_csv_reader *reader, int64_t column);
/**
 * Number of the header's column of that name, or "#name" where there is none (TF-GNN's tables have
 * "#id", "#source", "#target", "#weight"); RGM_ERR_NOT_FOUND naming the nearest one.
 */
rgm_status rgm_csv_reader_find(int64_t *out, const rgm_csv_reader *reader, const char *name);

/**
 * A whole file of numbers.
 *
 * @param out    [out, owned] [rows, columns] of dtype RGM_F32, RGM_F64, RGM_I32 or RGM_I64; [0, 0]
 *               for a file without rows
 *
 * Errors: RGM_ERR_FORMAT "FILE:line:column: what" (not a number, out of range, wrong field count).
 */
rgm_status rgm_csv_load(rgm_tensor **out, const char *path, rgm_dtype dtype,
                        const rgm_csv_options *options);

/** A column asked for: by the header's name, or by number when name is NULL. */
typedef struct rgm_csv_column {
    const char *name;
    int64_t number;  /* from 0, where name is NULL            */
    rgm_dtype dtype; /* RGM_F32, F64, I32, I64, BOOL or STRING */
    bool list;       /* `width` columns name.0, name.1, ... together, as [rows, width] */
    int64_t width;
    bool empty_is_missing; /* an empty field is NaN, of integers -1, else an error       */
} rgm_csv_column;
/**
 * Some columns of a file.
 *
 * @param out   [out, owned] [count] tensors, each [rows] or [rows, width]; all NULL on error
 *
 * Errors: as rgm_csv_load(), and RGM_ERR_NOT_FOUND naming the nearest column.
 */
rgm_status rgm_csv_load_columns(rgm_tensor **out, const char *path, const rgm_csv_column *columns,
                                int64_t count, const rgm_csv_options *options);

/** Columns that grow row by row, from one file or several, for who looks at each row himself. */
typedef struct rgm_csv_columns rgm_csv_columns;
/**
 * @param columns [in] [count] copied; their names are borrowed.
 * Errors: RGM_ERR_ARG, RGM_ERR_DTYPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_columns_create(rgm_csv_columns **out, const rgm_csv_column *columns,
                                  int64_t count);
void rgm_csv_columns_release(rgm_csv_columns *columns);
/** Find them in a file that is to be read. Errors: RGM_ERR_NOT_FOUND naming the nearest column. */
rgm_status rgm_csv_columns_find(rgm_csv_columns *columns, const rgm_csv_reader *reader);
/** Append the reader's last row. RGM_ERR_FORMAT "FILE:line:column: what". */
rgm_status rgm_csv_columns_add(rgm_csv_columns *columns, const rgm_csv_reader *reader);
/** Bytes of the rows that are not taken yet: numbers, and texts with a size and a place each. */
int64_t rgm_csv_columns_bytes(const rgm_csv_columns *columns);
/**
 * Take column i out, [rows] as rgm_csv_load_columns() has it: the rows since it was last taken.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_columns_take(rgm_tensor **out, rgm_csv_columns *columns, int64_t i);

/* ---- elements ------------------------------------------------------------------------------ */

/** What flows through a pipeline: immutable, counted (from any thread), of one of these kinds. */
typedef struct rgm_element rgm_element;
typedef enum rgm_element_kind {
    RGM_ELEMENT_BYTES,
    RGM_ELEMENT_TENSORS,
    RGM_ELEMENT_LIST,   /* of elements: what batch makes         */
    RGM_ELEMENT_POINTER /* somebody else's object, by its type   */
} rgm_element_kind;

/** What a pointer points to. Compared by address: one static row for a type. */
typedef struct rgm_element_type {
    const char *name;
    void (*release)(void *object); /* may be NULL */
} rgm_element_type;

/**
 * A copy of the bytes, terminated by a 0 that does not count.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_create_bytes(rgm_element **out, const void *data, int64_t size);
/** Retains the tensors. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_element_create_tensors(rgm_element **out, rgm_tensor *const *tensors, int64_t count);
/** Retains the elements. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_element_create_list(rgm_element **out, rgm_element *const *items, int64_t count);
/**
 * A list of no items that knows what one would look like: `like` (retained; may be NULL) is an
 * example, for its kind, dtypes and shapes and not for its content.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_create_empty_list(rgm_element **out, rgm_element *like);
/**
 * Takes over the caller's reference to `object` on success: released with the element.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_element_create_pointer(rgm_element **out, const rgm_element_type *type,
                                      void *object);
rgm_element *rgm_element_retain(const rgm_element *element);
void rgm_element_release(rgm_element *element);

/** What it holds. */
rgm_element_kind rgm_element_get_kind(const rgm_element *element);
/** Bytes, NULL for other kinds. */
const void *rgm_element_bytes(const rgm_element *element, int64_t *size);
/** Tensors (of any shape) or list items; 0 for other kinds. Borrowed; NULL out of range. */
int64_t rgm_element_count(const rgm_element *element);
rgm_tensor *rgm_element_tensor(const rgm_element *element, int64_t i);
rgm_element *rgm_element_item(const rgm_element *element, int64_t i);
/** What the items of a list look like: its first, or an empty list's example; NULL if unknown. */
rgm_element *rgm_element_item_like(const rgm_element *element);
/** The object, borrowed; NULL unless the element is a pointer of that type. */
void *rgm_element_pointer(const rgm_element *element, const rgm_element_type *type);

/** Where an element was read: "train.tfrecord: record 7 at byte 913"; NULL if that is unknown. */
const char *rgm_element_origin(const rgm_element *element);
/** Set it on an element that no one else has seen yet. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_element_set_origin(rgm_element *element, const char *origin);
/**
 * A map function (see rgm_dataset_map): from a list of n tensor elements with equal shapes, one
 * element of tensors [n, ...]. RGM_ERR_SHAPE, RGM_ERR_DTYPE name item and tensor. Not for strings.
 * An empty list gives tensors [0, ...] in the shapes of its example; RGM_ERR_DATA without one.
 */
struct rgm_map_call;
rgm_status rgm_element_stack(rgm_element **out, const rgm_element *list,
                             const struct rgm_map_call *call, void *payload);
/**
 * The way back: example i of a stacked batch, as tensors [1, ...] that are views of row i.
 *
 * Errors: RGM_ERR_DATA (not an element of tensors, or a scalar among them), RGM_ERR_SHAPE (they
 * differ in their number of rows), RGM_ERR_ARG (no such row), RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_element_row(rgm_element **out, const rgm_element *batch, int64_t i);

/* ---- datasets: recipes --------------------------------------------------------------------- */

/**
 * A recipe: what it begins with and the ops upon it. Immutable, counted, cheap to copy and to keep;
 * it reads nothing until an iterator runs it. What a recipe begins with makes a new one (`out`);
 * ops take the address of the caller's reference and replace it by the longer recipe (`dataset`),
 * or leave it on an error.
 *
 * Order and randomness: every op gives its elements in an order fixed by recipe, seed and epoch,
 * also where it uses threads. What a random op draws depends on the iterator's seed, the op's place
 * in the recipe, the epoch and the element's index, and on nothing else.
 *
 * Errors: an error takes the place of the element that it cost; the next call goes on behind it
 * where that is possible (a map's function, a bad record) and fails again where not (an unreadable
 * file).
 */
typedef struct rgm_dataset rgm_dataset;
rgm_dataset *rgm_dataset_retain(const rgm_dataset *dataset);
void rgm_dataset_release(rgm_dataset *dataset);
/**
 * How many elements an epoch has, -1 when that is only known by reading, INT64_MAX for ever. Maps
 * are taken to drop none.
 */
int64_t rgm_dataset_count(const rgm_dataset *dataset);
/**
 * "tfrecord(train.tfrecord) | shuffle(4096) | map(parallel) | batch(32, whole ones) | ..."
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_print(rgm_text *out, const rgm_dataset *dataset);

/** Elements in memory, retained. Indexed (see shuffle_all). Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_dataset_from_elements(rgm_dataset **out, rgm_element *const *elements,
                                     int64_t count);
/**
 * Element i is row i of each tensor: [rows, ...], retained; elements hold views. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_from_tensors(rgm_dataset **out, rgm_tensor *const *tensors, int64_t count);
/**
 * Element i is what `get` makes. Its position is i alone, so `get` must depend on nothing but i and
 * the payload; it is called from several threads at once where a recipe is run several times at
 * once. `count` >= 0 (then indexed), or -1: until `get` returns RGM_END. `release` (may be NULL) is
 * called when the recipe goes; on failure of this function the payload stays the caller's.
 */
typedef rgm_status rgm_get_function(rgm_element **out, int64_t i, void *payload);
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_dataset_from_function(rgm_dataset **out, int64_t count, rgm_get_function *get,
                                     void *payload, void (*release)(void *payload));
/**
 * Numbers begin, begin+1, .. end-1 as scalar i64 tensors. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_range(rgm_dataset **out, int64_t begin, int64_t end);
/**
 * Paths (bytes elements) that match a pattern or "name@N", sorted; listed now. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_list_files(rgm_dataset **out, const char *pattern);
rgm_status rgm_dataset_from_paths(rgm_dataset **out, const char *const *paths, int64_t count);
/** The records of one TFRecord file. options may be NULL. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_dataset_tfrecord(rgm_dataset **out, const char *path,
                                const rgm_tfrecord_options *options);
/**
 * A CSV file of numbers, loaded now; element i is row i as one tensor [columns] of the dtype, split
 * into two, [columns - labels] and [labels], when labels > 0. Indexed.
 * Errors: RGM_ERR_ARG, RGM_ERR_SHAPE, RGM_ERR_DTYPE, RGM_ERR_FORMAT, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_csv_dataset(rgm_dataset **out, const char *path, rgm_dtype dtype, int64_t labels,
                           const rgm_csv_options *options);

/** Options of rgm_dataset_read_tfrecords(). */
typedef struct rgm_read_tfrecords_options {
    int64_t cycle_length; /* files open at once               */
    int64_t block_length; /* records from one before the next */
    rgm_tfrecord_options tfrecord;
} rgm_read_tfrecords_options;
#define RGM_READ_TFRECORDS_OPTIONS_INIT                                                            \
    {                                                                                              \
        .cycle_length = 1, .block_length = 1, .tfrecord = RGM_TFRECORD_OPTIONS_INIT                \
    }
/**
 * Paths to the records of those files, an interleave; options may be NULL.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_read_tfrecords(rgm_dataset **dataset,
                                      const rgm_read_tfrecords_options *options);
/**
 * Each element makes a dataset; `cycle_length` of them are open at once and give `block_length`
 * elements each in turn; one that ends makes room for the next.
 */
typedef rgm_status rgm_open_function(rgm_dataset **out, const rgm_element *element, void *payload);
/** Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_dataset_interleave(rgm_dataset **dataset, rgm_open_function *function, void *payload,
                                  void (*release)(void *payload), int64_t cycle_length,
                                  int64_t block_length);

/** What a map function is told beside its element. */
typedef struct rgm_map_call {
    int64_t index; /* of the element in this map's input, within the epoch           */
    rgm_rng rng;   /* this element's own stream: draws 0, 1, ... are free to use      */
} rgm_map_call;
/**
 * *out is a new element or rgm_element_retain(element). RGM_END drops the element. Errors arrive at
 * the consumer in the element's place, with its origin before the message. Called from several
 * threads at once when parallel.
 */
typedef rgm_status rgm_map_function(rgm_element **out, const rgm_element *element,
                                    const rgm_map_call *call, void *payload);
/**
 * @param parallel  up to that many calls at once, on the iterator's threads; the order stays the
 *                  input's. 1: in the thread that asks; a position is the same for any number from
 *                  1 on. 0: in the thread that asks, always, and positions have another form.
 * @param release   called with the payload when the recipe goes; may be NULL
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_map(rgm_dataset **dataset, rgm_map_function *function, void *payload,
                           void (*release)(void *payload), int parallel);
/** Keep the elements for which `function` sets *keep. */
typedef rgm_status rgm_filter_function(bool *keep, const rgm_element *element, void *payload);
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_dataset_filter(rgm_dataset **dataset, rgm_filter_function *function, void *payload,
                              void (*release)(void *payload));
/**
 * Each output is drawn from a buffer of the next `buffer_size` inputs, in another order each epoch.
 * Saved: the buffer's element numbers and the input's position before the oldest; restoring reads
 * again from there, about buffer_size * (ln buffer_size + 2) elements.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_shuffle(rgm_dataset **dataset, int64_t buffer_size);
/**
 * A uniformly random order of an indexed recipe, another one each epoch. Saved: one number.
 * Errors: RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_shuffle_all(rgm_dataset **dataset);
/**
 * As many elements an epoch as the indexed recipe has, each drawn by itself: element i with the
 * chance weights[i] / (sum of all), so that some come often and others not at all. Other draws each
 * epoch. Saved: one number.
 *
 * @param weights  [in] [count] finite, from 0 on, copied
 * Errors: RGM_ERR_ARG (weights, or another number of them), RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_draw(rgm_dataset **dataset, const double *weights, int64_t count);
/**
 * Lists of `size` elements; the last may be shorter unless drop_remainder. Collate with a map.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_batch(rgm_dataset **dataset, int64_t size, bool drop_remainder);
enum { RGM_MAX_BUDGETS = 4 };
/** What a list of elements may weigh together, by several scales. */
typedef struct rgm_budgets {
    int64_t elements; /* most in a list; 0: as many as fit */
    int64_t count;    /* scales, 1 or more                 */
    int64_t limits[RGM_MAX_BUDGETS];
    const char *names[RGM_MAX_BUDGETS]; /* "nodes", for messages; borrowed for good */
    /** weights[count] of one element, none below 0. */
    rgm_status (*weigh)(int64_t *weights, const rgm_element *element, void *payload);
    void *payload; /* outlives the recipe */
} rgm_budgets;
/**
 * Lists by weight: in the input's order each takes elements until the next one would exceed a
 * limit. An element that exceeds one alone is RGM_ERR_DATA with its origin, weight and limit; the
 * next list begins behind it. How many lists there are is known only by reading. Saved: the
 * input's place, as of an op that runs ahead by one.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_batch_within(rgm_dataset **dataset, const rgm_budgets *budgets);
/**
 * Poisson sampling: each step draws every element of an indexed recipe independently with
 * probability `rate`, in (0, 1], and gives the list of those drawn, in their order. So lists differ
 * in size, rate * count on average, and may be EMPTY: such a one carries an example, see
 * rgm_element_create_empty_list(). Collate with a map, as after batch.
 *
 * An epoch has round(1 / rate) steps, in which an element is drawn once on average, perhaps never,
 * perhaps often; epochs differ in nothing but their draws, so a repeat goes on without a seam. What
 * a step draws depends on seed, epoch and step. Saved: one number. An error in an element costs its
 * step. Cost: O(elements drawn).
 * Errors: RGM_ERR_ARG, RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_poisson(rgm_dataset **dataset, double rate);
/**
 * `count` epochs, or for ever when count < 0. Ops before it are restarted with the next epoch.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_repeat(rgm_dataset **dataset, int64_t count);
rgm_status rgm_dataset_take(rgm_dataset **dataset, int64_t count);
rgm_status rgm_dataset_skip(rgm_dataset **dataset, int64_t count);
/**
 * Elements index, index + count, ...: rank `index` of `count`. On paths: whole files.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_shard(rgm_dataset **dataset, int64_t count, int64_t index);
/**
 * Keep the elements of the first pass in memory and give the same ones in every epoch. After a
 * restore the cache fills again from the input's start, once.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_cache(rgm_dataset **dataset);
/**
 * Run what comes before in a thread of its own, up to `size` elements ahead.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_prefetch(rgm_dataset **dataset, int64_t size);

typedef enum rgm_mix_end {
    RGM_MIX_END_FIRST, /* ends when the drawn input has no  more            */
    RGM_MIX_END_ALL    /* goes on with the others until all have no more    */
} rgm_mix_end;
/**
 * Each element comes from input i with probability weights[i] / sum. weights NULL: equal.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_mix(rgm_dataset **out, rgm_dataset *const *inputs, const double *weights,
                           int64_t count, rgm_mix_end end);

/**
 * Element n is the list of element n of each input, in their order, to the end of the shortest:
 * several data sets side by side, for steps that take a batch of each. An input may be a zip
 * itself, or repeat where it is shorter than the others. An error in one input costs the list that
 * it would have been in; the inputs stay beside each other. Indexed where all inputs are. Saved:
 * the inputs' places.
 * Errors: RGM_ERR_ARG (no inputs), RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_zip(rgm_dataset **out, rgm_dataset *const *inputs, int64_t count);

/* ---- folds ----------------------------------------------------------------------------------- */

/** One fold of a cross-validation. */
typedef struct rgm_folds {
    int64_t count; /* of them, 2 or more; 0: there is none     */
    int64_t fold;  /* 1..count: which one's items are held out */
    double valid;  /* share of the other folds' items that validate, 0 <= valid < 1 */
    uint64_t seed; /* which items come together                */
} rgm_folds;

typedef enum rgm_fold_part { RGM_FOLD_TRAIN, RGM_FOLD_VALID, RGM_FOLD_TEST } rgm_fold_part;

/**
 * Which part each item is of: the fold's are RGM_FOLD_TEST, a share of the others RGM_FOLD_VALID.
 * Stratified (Kohavi 1995): of the items of one label each fold has as many, one more or less, and
 * so has the validation part by its share; folds differ by one item at most. Numbers that are no
 * classes are stratified likewise, by their order. The folds of one seed are disjoint and cover all
 * items.
 *
 * @param parts   [out] [count]
 * @param labels  [in] [count], none of them NaN; NULL: all alike
 *
 * Errors: RGM_ERR_CONFIG (a fold that there is not, fewer items than folds, a part without an
 * item), RGM_ERR_NOMEM.
 */
rgm_status rgm_folds_parts(rgm_fold_part *parts, const double *labels, int64_t count,
                           const rgm_folds *folds);
/**
 * The share of items that validates alone, of items that are split already: RGM_FOLD_VALID or
 * RGM_FOLD_TRAIN, stratified as above.
 * Errors: RGM_ERR_CONFIG (a part without an item), RGM_ERR_NOMEM.
 */
rgm_status rgm_folds_hold_out(rgm_fold_part *parts, const double *labels, int64_t count,
                              double share, uint64_t seed);

/* ---- iterators ----------------------------------------------------------------------------- */

typedef struct rgm_iterator_options {
    uint64_t seed;
    uint64_t epoch; /* of the first pass; an rgm_dataset_repeat() counts on from 0 below it */
    int threads;    /* workers for parallel maps; 0: none, maps run in the asking thread    */
    rgm_thread_pool *pool; /* borrowed; used instead of own threads when given              */
    bool secret;           /* the seed stays out of saved positions: restored by an iterator of
                              another seed, what is drawn from there on is that one's       */
} rgm_iterator_options;
#define RGM_ITERATOR_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .seed = 0, .epoch = 0, .threads = 0, .pool = NULL, .secret = false                         \
    }

/** A recipe being run. Used by one thread at a time. */
typedef struct rgm_iterator rgm_iterator;
/**
 * Retains the dataset; options may be NULL. Files and threads are opened by the first next.
 * Errors: RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_iterator_create(rgm_iterator **out, const rgm_dataset *dataset,
                               const rgm_iterator_options *options);
/** Stops and joins its threads, whatever they were about to do. */
void rgm_iterator_release(rgm_iterator *iterator);
/**
 * @param out  [out, owned] NULL unless RGM_OK
 *
 * Errors: RGM_END after the last element, again and again; RGM_STOPPED after rgm_iterator_stop();
 * any error of an op or a function, see rgm_dataset.
 */
rgm_status rgm_iterator_next(rgm_element **out, rgm_iterator *iterator);
/** Elements and errors given so far, over restores too. */
int64_t rgm_iterator_position(const rgm_iterator *iterator);
/** From any thread: let next return RGM_STOPPED soon, for ever. */
void rgm_iterator_stop(rgm_iterator *iterator);
/**
 * Append the position: what was given to the caller, not what threads have read ahead. The same
 * bytes for the same recipe, seed and position, whatever the threads and restores on the way.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_iterator_save(rgm_text *out, const rgm_iterator *iterator);
/**
 * Go to a saved position. Seed and epoch come with it.
 *
 * Errors: RGM_ERR_FORMAT (not a state, damaged), RGM_ERR_VERSION, RGM_ERR_DATA (the state belongs
 * to another recipe; both are printed), RGM_ERR_IO; the iterator is then as it was.
 */
rgm_status rgm_iterator_restore(rgm_iterator *iterator, const void *data, int64_t size);

/* ---- lines of text -------------------------------------------------------------------------- */

typedef struct rgm_line_options {
    int64_t max_line_bytes; /* a longer line is an error, and is never held whole */
} rgm_line_options;
#define RGM_LINE_OPTIONS_INIT                                                                      \
    {                                                                                              \
        .max_line_bytes = INT64_C(1) << 20                                                         \
    }

/** Reads the lines of a plain or gzip file (told by its first bytes). Not shared between threads.
 */
typedef struct rgm_line_reader rgm_line_reader;
/** options may be NULL. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL. */
rgm_status rgm_line_reader_open(rgm_line_reader **out, const char *path,
                                const rgm_line_options *options);
void rgm_line_reader_close(rgm_line_reader *reader);
/**
 * The next line without its end, borrowed until the next call. A line ends with LF or CRLF and with
 * nothing else (other separators of Unicode are characters of it); an empty line is a line; a byte
 * order mark before the first is dropped.
 *
 * Errors: RGM_END; RGM_ERR_FORMAT "FILE:line:byte: what" (not UTF-8, a zero byte, too long).
 */
rgm_status rgm_line_reader_next(rgm_str *line, rgm_line_reader *reader);
/**
 * Whether there is more to read at once, be it a part of a line; false: who writes to the pipe or
 * the terminal must go on first.
 */
bool rgm_line_reader_ready(const rgm_line_reader *reader);
/** Number of the last line, from 1. */
int64_t rgm_line_reader_line(const rgm_line_reader *reader);

/* ---- writing an op ------------------------------------------------------------------------- */

/**
 * A stage is one op of a recipe at work in one iterator: the op's options, its own state, and the
 * stages it has opened upon its inputs. A stage is used by one thread at a time.
 */
typedef struct rgm_stage rgm_stage;

/**
 * Reads a saved state; the getters fail with RGM_ERR_FORMAT at its end. A state may come from
 * anywhere: nothing read from it is stored before it is known to be one that save() could have
 * written, and a restore never reads on for longer than a position allows.
 */
typedef struct rgm_state_reader {
    const uint8_t *data;
    int64_t size, at;
} rgm_state_reader;
/** What no counter of a position exceeds, so that counting on from it cannot overflow. */
#define RGM_STATE_MOST (INT64_MAX / 4)
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_state_put_int(rgm_text *out, int64_t number);
/** Errors: RGM_ERR_NOMEM. */
rgm_status rgm_state_put_bytes(rgm_text *out, const void *data, int64_t size);
/** Errors: RGM_ERR_FORMAT. */
rgm_status rgm_state_get_int(int64_t *out, rgm_state_reader *reader);
/**
 * A number of 0..most.
 * Errors: RGM_ERR_FORMAT, *out is then 0 and the message names `what`.
 */
rgm_status rgm_state_get_count(int64_t *out, rgm_state_reader *reader, int64_t most,
                               const char *what);
/** Errors: RGM_ERR_FORMAT. */
rgm_status rgm_state_get_bytes(const uint8_t **data, int64_t *size, rgm_state_reader *reader);

/** An op. */
typedef struct rgm_dataset_type {
    const char *name;
    size_t options_size; /* copied into the recipe                             */
    size_t state_size;   /* zeroed before open                                 */
    /** Open inputs with rgm_stage_open(). On failure `close` is called too. */
    rgm_status (*open)(rgm_stage *stage);
    rgm_status (*next)(rgm_element **out, rgm_stage *stage);
    /** The position after what next has given; the state is deterministic in it. */
    rgm_status (*save)(rgm_text *out, const rgm_stage *stage);
    /** Called after open, before any next. */
    rgm_status (*restore)(rgm_stage *stage, rgm_state_reader *state);
    void (*close)(rgm_stage *stage);
    /** May be NULL: number of elements, -1 unknown. An op with `at` is indexed if count >= 0. */
    int64_t (*count)(const rgm_dataset *dataset);
    /** May be NULL: element i, without touching the position. */
    rgm_status (*at)(rgm_element **out, rgm_stage *stage, int64_t i);
    /** May be NULL: bytes of the state beyond the inputs' own, roughly. */
    int64_t (*state_bytes)(const rgm_dataset *dataset);
    /** May be NULL: free what options hold. */
    void (*clear)(void *options);
    /** May be NULL: what stands between the parentheses in rgm_dataset_print(). */
    rgm_status (*print)(rgm_text *out, const void *options);
} rgm_dataset_type;

/**
 * A recipe of that op upon `inputs` (retained). On success what the options hold belongs to it; on
 * failure to the caller.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_dataset_create(rgm_dataset **out, const rgm_dataset_type *type, const void *options,
                              rgm_dataset *const *inputs, int64_t input_count);
const rgm_dataset_type *rgm_dataset_get_type(const rgm_dataset *dataset); /* of its last op */
const void *rgm_dataset_options(const rgm_dataset *dataset);
rgm_dataset *rgm_dataset_input(const rgm_dataset *dataset, int64_t i); /* borrowed, or NULL */

/** What an op of one's own works with: its options, its state of state_size bytes, the epoch from
 * 0. */
const void *rgm_stage_options(const rgm_stage *stage);
void *rgm_stage_state(const rgm_stage *stage);
rgm_dataset *rgm_stage_dataset(const rgm_stage *stage); /* borrowed */
uint64_t rgm_stage_epoch(const rgm_stage *stage);
/** The stage's random stream in this epoch, for element or draw `step`. */
rgm_rng rgm_stage_rng(const rgm_stage *stage, uint64_t step);
/** Ask this in loops that may run long without giving an element; then return RGM_STOPPED. */
bool rgm_stage_stopped(const rgm_stage *stage);
/**
 * Run `dataset` below `parent`; `place` tells apart the stages that one parent opens.
 * Errors: RGM_ERR_UNSUPPORTED, RGM_ERR_NOMEM.
 */
rgm_status rgm_stage_open(rgm_stage **out, rgm_stage *parent, const rgm_dataset *dataset,
                          int64_t place, uint64_t epoch);
void rgm_stage_close(rgm_stage *stage);
/**
 * The next element (RGM_END: none), element i of an indexed recipe, and the place where it stands,
 * written and set again. Errors: those of the ops below; RGM_ERR_UNSUPPORTED where _at needs an
 * index.
 */
rgm_status rgm_stage_next(rgm_element **out, rgm_stage *stage);
rgm_status rgm_stage_at(rgm_element **out, rgm_stage *stage, int64_t i);
rgm_status rgm_stage_save(rgm_text *out, const rgm_stage *stage);
rgm_status rgm_stage_restore(rgm_stage *stage, rgm_state_reader *state);

#ifdef __cplusplus
}
#endif
#endif
