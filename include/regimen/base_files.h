/*
 * base: files and folders that are saved whole or not at all; mapped files.
 */
#ifndef REGIMEN_BASE_FILES_H
#define REGIMEN_BASE_FILES_H

#include <regimen/base_status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** "folder/name"; the caller frees it with rgm_free(). Errors: RGM_ERR_NOMEM. */
rgm_status rgm_path_join(char **out, const char *folder, const char *name);
/** The same, but a name that begins with / is a path by itself. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_path_in(char **out, const char *folder, const char *name);
/** Whether anything exists at a path, and whether a folder does. */
bool rgm_path_exists(const char *path);
bool rgm_path_is_folder(const char *path);
/** Whether anything of that name is in a folder. */
bool rgm_folder_has(const char *folder, const char *name);
/**
 * RGM_ERR_IO when the path is a named pipe instead of a file: a pipe without a writer would block
 * the caller forever when it is opened. The caller's own pipes below /dev/ and /proc/ (/dev/stdin,
 * /dev/fd/63) are allowed. A path where nothing exists is no error.
 */
rgm_status rgm_path_refuse_pipe(const char *path);
/** mkdir -p. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_folder_make(const char *path);
/**
 * The names in a folder (without . and ..), sorted. Release them with rgm_names_release().
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_folder_list(char ***names, int64_t *count, const char *path);
void rgm_names_release(char **names, int64_t count);
/**
 * Remove a folder and everything in it. Symbolic links are removed and never followed.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO.
 */
rgm_status rgm_folder_remove(const char *path);
rgm_status rgm_folder_sync(const char *path); /* fsync */
/**
 * Rename the folder `made` to `path` in one step, and sync the folder that contains them. Both
 * names are in the same folder, and the files in `made` are already synced. A folder that was at
 * `path` before is called `made` afterwards; the caller removes it.
 * Errors: RGM_ERR_IO, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_folder_publish(const char *made, const char *path);
/** What a pattern matches, sorted; a path that is there is itself. RGM_ERR_NOT_FOUND: none. */
rgm_status rgm_glob(char ***names, int64_t *count, const char *pattern);

/** Read a whole file, which may not be a named pipe; data[size] is 0. RGM_ERR_FORMAT: the file has
 * more than max_size bytes. */
rgm_status rgm_file_load(char **data, int64_t *size, const char *path, int64_t max_size);
/** Write a temporary file in the same folder, sync it, rename it to `path` and sync the folder. So
 * the file always has either its old content or its new content, whole. When `path` is a link, the
 * link stays and its target is replaced. A device or a pipe is written to directly. RGM_ERR_IO for
 * a folder. Temporary files of killed processes are removed (rgm_path_sweep()). */
rgm_status rgm_file_save(const char *path, const void *data, int64_t size);
/**
 * The same for a file with a fixed name in a folder that the library owns, such as config.yaml of a
 * run. Anything but a plain file at that path is refused, so that a link cannot make the library
 * overwrite somebody else's file.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_file_save_own(const char *path, const void *data, int64_t size);
/** What becomes of a file: its new content; NULL: it is removed, if it is there. */
typedef struct rgm_file_change {
    const char *path;
    const void *data;
    int64_t size;
} rgm_file_change;
/**
 * Change several files of one folder together, each as rgm_file_save_own() would. All new contents
 * are written and synced beside the files first, so a full disk changes none of them; then they
 * take their places, and where one cannot, the others go back; on a file system that cannot
 * exchange names those that had something in their place stay. A process that is killed meanwhile
 * may leave some changed, each whole.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM; no file has changed then, unless only the
 * sync of the folder failed.
 */
rgm_status rgm_files_change(const rgm_file_change *changes, int64_t count);
/** rgm_file_save_own() without syncing, for what is written often and only looked at: readers see
 * the old content or the new one, whole, but after a power cut the file may be empty. Errors: as
 * rgm_file_save_own(). */
rgm_status rgm_file_renew(const char *path, const void *data, int64_t size);
/**
 * For a file that is written by its name, not from memory: *out, the caller's, is
 * `path`.partial-<pid>, where nothing is; what killed processes left there is removed. Write and
 * sync it, then call rgm_file_publish().
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_file_beside(char **out, const char *path);
/**
 * `beside` becomes `path`, and the folder is synced: readers see the old file or the new one,
 * whole, and after a power cut it is one of them. A link at `path` is replaced, not followed.
 * `written` is the status of writing: with an error `beside` is removed, and the error returned.
 * Errors: `written`, RGM_ERR_IO, RGM_ERR_NOMEM; `path` is what it was, unless only the sync failed.
 */
rgm_status rgm_file_publish(const char *beside, const char *path, rgm_status written);
/**
 * Remove what processes of this machine that no longer run have left beside `path`: the files
 * path.tmp-<pid>-<number> of rgm_file_save(), and path.partial-<pid>, a file or a folder. If one
 * cannot be removed, the log says so.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_path_sweep(const char *path);
/**
 * Remove the temporary files that killed processes left in a folder when they were inside
 * rgm_file_save(): files named *.tmp-<pid>-<number>. Only the owner of the folder may call this,
 * because another process may be saving. If a file cannot be removed, the log says so.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_folder_sweep(const char *path);
/**
 * Write a new file directly and sync it (O_EXCL). For files in a folder that is renamed as a whole.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO.
 */
rgm_status rgm_file_create(const char *path, const void *data, int64_t size);
/**
 * Write all `size` bytes to a descriptor; EINTR and short writes are retried. `path` is for the
 * message.
 * Errors: RGM_ERR_IO.
 */
rgm_status rgm_write_all(int fd, const void *data, int64_t size, const char *path);
/**
 * fsync that retries on EINTR. Do not sync the file again after a failure: the kernel may have
 * dropped the pages, and would then report success.
 * Errors: RGM_ERR_IO.
 */
rgm_status rgm_sync(int fd, const char *path);

/** A file mapped for reading. Reading a file that was truncated while mapped raises SIGBUS;
 * rgm_file_load() avoids that. */
typedef struct rgm_mapped_file {
    const uint8_t *data;
    int64_t size;
    bool is_guarded;  /* by rgm_file_map_guarded() */
    bool is_borrowed; /* the bytes belong to somebody else: rgm_file_unmap() keeps them */
} rgm_mapped_file;
/** The whole file; an empty one is no error. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO. */
rgm_status rgm_file_map(rgm_mapped_file *file, const char *path);
/**
 * Map a file that stays mapped for long. Bytes that are cut off the file meanwhile, or that cannot
 * be read, read as zeros instead of ending the process; from then on rgm_mapped_file_is_cut()
 * returns true. So a reader does not trust what it reads, and calls rgm_mapped_file_is_cut() before
 * it returns a result. Each call installs the library's SIGBUS handler for the process if it is not
 * the current one. The handler passes a signal that concerns no such file to the handler that was
 * set before. A handler that a program sets later must pass on signals that are not its own.
 *
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_BUSY (256 files are mapped this way already).
 */
rgm_status rgm_file_map_guarded(rgm_mapped_file *file, const char *path);
bool rgm_mapped_file_is_cut(const rgm_mapped_file *file);
void rgm_file_unmap(rgm_mapped_file *file);

#ifdef __cplusplus
}
#endif
#endif
