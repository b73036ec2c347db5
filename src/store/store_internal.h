/*
 * Shared by the files of store: append-only files, and the parts of a checkpoint.
 */
#ifndef RGM_STORE_INTERNAL_H
#define RGM_STORE_INTERNAL_H

#include <regimen/store.h>

/** open() and ftruncate() retried after EINTR. open does not follow a link in the last part of the
 * path, and closes on exec. */
int rgmi_open(const char *path, int flags);
int rgmi_cut(int fd, int64_t offset);

/**
 * Make a run folder, if need be, and lock it for this process, which its file `.lock` names; *lock
 * is open, unless it is as it was. Errors: RGM_ERR_BUSY (another trainer holds it: the message has
 * its pid and host), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_run_lock(int *lock, const char *folder);
/** rgm_run_folder_sweep() of the folder that `path` is in, which may end in slashes. */
rgm_status rgmi_sweep_beside(const char *path);

/** The masked CRC-32C of TFRecords: masking keeps a CRC meaningful over data that contain CRCs. */
static inline uint32_t rgmi_masked_crc(const void *data, size_t size)
{
    uint32_t crc = rgm_crc32c(0, data, size);

    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

/* ---- a file that grows ---- */

/** Appends through a buffer; after a failed sync it refuses all further use. `{.fd = -1}` is
 * closed. */
typedef struct rgmi_append_file {
    char *path;
    int fd;
    int64_t written; /* bytes of the file that are complete */
    rgm_text buffer;
    double flushed; /* time of the last flush, by rgm_now() */
    bool broken;
} rgmi_append_file;

/** Open at `offset` bytes, cutting off what follows; exclusive: the file must not exist yet. */
rgm_status rgmi_append_open(rgmi_append_file *file, const char *path, int64_t offset,
                            bool exclusive);
/** Write the buffer and close; errors are lost, see rgmi_append_flush(). */
void rgmi_append_close(rgmi_append_file *file);
/** Add to the buffer, which is written when it is large or one second old. */
rgm_status rgmi_append_add(rgmi_append_file *file, const void *data, int64_t size);
rgm_status rgmi_append_flush(rgmi_append_file *file);
/** Flush, then sync. */
rgm_status rgmi_append_sync(rgmi_append_file *file);
rgm_status rgmi_append_truncate(rgmi_append_file *file, int64_t offset);
/**
 * Read the lines that begin in the last `bytes` bytes of a file, and the offset of the first of
 * them; rgm_free(*data). Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_load_end(char **data, int64_t *size, int64_t *start, const char *path,
                         int64_t bytes);

/* ---- lines of tables, each of a step and a split ---- */

#define RGMI_LINE_BEGIN "{\"step\":"
/** Which lines are void: those of `step` and later, or (with a split) those of `step` and of a
 * split that begins with its name. */
typedef struct rgmi_void_lines {
    int64_t step;
    const char *split;
} rgmi_void_lines;
/** The step of a line that ends at `end`; -1: it is not one of our lines. */
int64_t rgmi_line_step(const char *line, const char *end);
/** Whether a line of step `step` is void. */
bool rgmi_line_is_void(const rgmi_void_lines *v, int64_t step, const char *line, const char *end);
/** Write {"step":..,"split":..,"kind":.. in the place of what `line` has. */
rgm_status rgmi_begin_line(rgm_text *line, const char *split, int64_t step, const char *kind);

/* ---- checkpoint ---- */

typedef enum rgmi_value_kind {
    RGMI_VALUE_INT,
    RGMI_VALUE_NUMBER,
    RGMI_VALUE_TEXT,
    RGMI_VALUE_KINDS
} rgmi_value_kind;

typedef struct rgmi_value {
    int64_t whole;
    double number;
    char *text;
} rgmi_value;

typedef struct rgmi_blob {
    char *data;
    int64_t size;
} rgmi_blob;

/** A file of a checkpoint folder as its manifest lists it. */
typedef struct rgmi_file {
    char *name;
    int64_t size;
    uint64_t hash;
} rgmi_file;

/** The sets of tensors; each is one safetensors file. */
enum { RGMI_BEST, RGMI_SLOTS, RGMI_WEIGHTS, RGMI_SETS };
extern const char *const rgmi_set_files[RGMI_SETS];

struct rgm_checkpoint {
    int64_t step;
    char *path;                        /* of a loaded checkpoint, for messages; else NULL */
    rgm_map *values[RGMI_VALUE_KINDS]; /* name -> rgmi_value *; NULL when empty    */
    rgm_map *blobs;                    /* name -> rgmi_blob *; NULL when empty     */
    rgm_map *sets[RGMI_SETS];          /* to be saved: name -> rgm_tensor *; NULL when empty */
    char *set_data[RGMI_SETS];         /* loaded files, which set_files reads from */
    rgm_safetensors *set_files[RGMI_SETS];
};

/** The content of a manifest except its values, which go straight into a checkpoint. */
typedef struct rgmi_manifest {
    int64_t step;
    rgmi_file *files;
    int64_t file_count, file_capacity;
} rgmi_manifest;

void rgmi_manifest_clear(rgmi_manifest *manifest);
rgm_status rgmi_manifest_add_file(rgmi_manifest *manifest, const char *name, int64_t size,
                                  uint64_t hash);
/** Print files and values sorted by name, whatever their order. */
rgm_status rgmi_manifest_print(rgm_text *out, rgmi_manifest *manifest,
                               const rgm_checkpoint *checkpoint);
/** Check hash, format and version, then fill the manifest and the checkpoint's values (NULL:
 * none). */
rgm_status rgmi_manifest_parse(rgmi_manifest *manifest, rgm_checkpoint *checkpoint,
                               const void *data, int64_t size, const char *name);
/** rgm_checkpoint_load() of what `o` asks for: values_only, slots_prefix. */
rgm_status rgmi_checkpoint_load(rgm_checkpoint **out, const char *path,
                                const rgm_checkpoint_store_options *o);
/** Letters, digits, '_' and '-', 1 to 64 of them. */
bool rgmi_is_plain_name(const char *name, size_t size);

#endif
