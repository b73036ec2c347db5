/*
 * What a run folder keeps, read for answers. The folder may be anybody's: no link below it is
 * followed, nothing but plain files is opened, nobody is waited for, every size has a bound, and
 * files are read with pread(), since a trainer may cut them meanwhile.
 */
#ifndef RGM_WEB_FOLDER_FILE_H
#define RGM_WEB_FOLDER_FILE_H

#include <regimen/base.h>

/* ---- files --------------------------------------------------------------------------------- */

/** A plain file that was opened; `{.fd = -1}` is none. */
typedef struct rgmi_kept_file {
    int fd;
    int64_t size;
    double time; /* when it was changed, seconds since 1970 */
    uint64_t device, inode;
} rgmi_kept_file;

/**
 * Open "train/events..." below a run folder for reading.
 *
 * Errors: RGM_ERR_NOT_FOUND (nothing is there), RGM_ERR_IO (a link, a pipe, a folder or a device
 * is: named, not opened), RGM_ERR_ARG (a name with "..").
 */
rgm_status rgmi_kept_open(rgmi_kept_file *file, const char *folder, const char *name);
void rgmi_kept_close(rgmi_kept_file *file);
/** What is said of a file of a folder, without the folder in front of its name: where that is
 * concerns nobody who looks at the page. A part of `message`. */
const char *rgmi_without_folder(const char *message, const char *folder);
/** Up to *size bytes from `offset` on; *size is then how many there were. Errors: RGM_ERR_IO. */
rgm_status rgmi_kept_read(void *data, int64_t *size, const rgmi_kept_file *file, int64_t offset);
/**
 * A whole file, its end marked with 0; rgm_free(*data).
 * Errors: those of rgmi_kept_open(), RGM_ERR_FORMAT (more than `most` bytes), RGM_ERR_NOMEM.
 */
rgm_status rgmi_kept_load(char **data, int64_t *size, const char *folder, const char *name,
                          int64_t most);

/** Bytes that the two functions below need; they find no line of more than half as many. */
enum { RGMI_LINE_ROOM = 8192 };
/**
 * The first whole line that begins at or behind `offset`, of a file that is too long to be read.
 *
 * @param begin  [out] where it begins in the file; -1: none is near
 * @param size   [out] its bytes without the end
 * @param data   [out] [RGMI_LINE_ROOM] the line is at its beginning
 *
 * Errors: RGM_ERR_IO.
 */
rgm_status rgmi_kept_line(int64_t *begin, int64_t *size, char *data, const rgmi_kept_file *file,
                          int64_t offset);
/** The last whole line, with *begin the file's size where none is near its end. Errors: RGM_ERR_IO.
 */
rgm_status rgmi_kept_last_line(int64_t *begin, int64_t *size, char *data,
                               const rgmi_kept_file *file);

typedef struct rgmi_kept_entry {
    char *name;
    bool is_folder;
    int64_t size;
    double time;
} rgmi_kept_entry;
/** Files and folders by name; links, pipes and names that begin with '.' are left out. */
typedef struct rgmi_kept_list {
    rgmi_kept_entry *entries;
    int64_t count, capacity;
    bool cut; /* there are more than RGMI_KEPT_ENTRIES */
} rgmi_kept_list;
enum { RGMI_KEPT_ENTRIES = 10000 };
/**
 * What is in the folder `name` below a run folder ("": the run folder itself).
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_ARG, RGM_ERR_NOMEM; nothing is then to be cleared.
 */
rgm_status rgmi_kept_list_load(rgmi_kept_list *list, const char *folder, const char *name);
void rgmi_kept_list_clear(rgmi_kept_list *list);

/* ---- where things stand in long files ------------------------------------------------------ */

typedef enum rgmi_index_kind {
    RGMI_INDEX_EVENTS, /* names are "histogram\nTAG", "text\nTAG"           */
    RGMI_INDEX_TABLES  /* lines of tables.jsonl: "KIND\nSPLIT\nLABEL"       */
} rgmi_index_kind;

/** One value of an event file, or a line of a table. */
typedef struct rgmi_record {
    int32_t name; /* of rgmi_index.names; -1: a start, behind which steps from `step` on are void */
    int32_t size; /* of a line without its end; 0: of an event, whose record knows               */
    int64_t step, offset;
    double time; /* seconds since 1970; NaN: not told */
} rgmi_record;

enum { RGMI_INDEX_RECORDS = 400000, RGMI_INDEX_NAMES = 10000, RGMI_INDEX_STARTS = 1000 };

/** What a file has where, in its order. Of one with more than RGMI_INDEX_RECORDS every second value
 * of each name, every fourth, ... */
typedef struct rgmi_index {
    rgmi_index_kind kind;
    uint64_t device, inode;
    rgm_map *names;
    rgmi_record *records;
    int64_t count, capacity, starts;
    int64_t stride; /* every so manieth value of a name is in it                  */
    int64_t *seen;  /* [seen_count] values of each name so far                    */
    int64_t seen_count, seen_capacity;
    int64_t end;          /* what was read of the file                                  */
    uint64_t first, last; /* hashes of bytes at its beginning and before `end`          */
    bool more;            /* there was no time to read all of it                        */
    bool stuck;           /* there is no going on from `end`                            */
    char *damage;         /* what could not be read, the first of it; NULL: nothing     */
    bool busy;            /* of the cache's: somebody has it                            */
    int64_t used;         /* of the cache's: when                                       */
} rgmi_index;

rgm_status rgmi_index_create(rgmi_index **out, rgmi_index_kind kind, const rgmi_kept_file *file);
void rgmi_index_release(rgmi_index *index);
/** Bytes of memory that it takes. */
int64_t rgmi_index_bytes(const rgmi_index *index);
/**
 * Read what the file has more than was read of it; all of it, if it is not the same any more. Until
 * `until` (rgm_now()) at most. What is damaged is noted and no error. `name` is for that note.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_index_update(rgmi_index *index, const rgmi_kept_file *file, const char *name,
                             double until);
/** Part `part` (0, 1, 2) of a record's name, and its size; "" where there is none. */
const char *rgmi_index_name(int *size, const rgmi_index *index, int64_t name, int part);

/** Indexes of files that were asked for lately, bounded in bytes. Thread-safe. */
typedef struct rgmi_kept_cache rgmi_kept_cache;
/** An empty one. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_kept_cache_create(rgmi_kept_cache **out, int64_t most_bytes);
void rgmi_kept_cache_release(rgmi_kept_cache *cache);
int64_t rgmi_kept_cache_bytes(rgmi_kept_cache *cache);
/**
 * The index of an open file, up to date, for the caller alone until rgmi_kept_cache_give(). NULL
 * for `cache`: it is made anew.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_kept_cache_take(rgmi_index **out, rgmi_kept_cache *cache, rgmi_index_kind kind,
                                const rgmi_kept_file *file, const char *name, double until);
void rgmi_kept_cache_give(rgmi_kept_cache *cache, rgmi_index *index);

#endif
