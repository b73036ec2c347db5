/*
 * Whole files: load them, save them so that a reader sees either the old content or the new, map
 * them. Every failure names the path and the system's reason.
 */
#include "base_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_again(const char *path, int flags, mode_t mode)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC, mode);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Of the caller: /dev/fd/63 of `--config <(...)`, /dev/stdin. (/dev/shm has files of anybody.) */
static bool is_own(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 || strcmp(path, "/dev/stdin") == 0 ||
           strncmp(path, "/proc/", 6) == 0;
}

static rgm_status refuse_pipe(const char *path, const struct stat *info)
{
    return is_own(path) || !S_ISFIFO(info->st_mode)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_IO, "'%s' is a pipe, not a file", path);
}

rgm_status rgm_path_refuse_pipe(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 ? refuse_pipe(path, &info) : RGM_OK;
}

/* To be read whole. A pipe has perhaps no writer ever, so nobody is waited for. */
static rgm_status open_whole(int *fd, struct stat *info, const char *path)
{
    *fd = open_again(path, is_own(path) ? O_RDONLY : O_RDONLY | O_NONBLOCK, 0);
    if (*fd < 0)
        return RGM_FAIL_SYSTEM("open", path);
    if (fstat(*fd, info) != 0)
        return RGM_FAIL_SYSTEM("examine", path);
    RGM_TRY(refuse_pipe(path, info));
    if (!S_ISREG(info->st_mode) && !is_own(path) && /* a terminal is waited for */
        fcntl(*fd, F_SETFL, fcntl(*fd, F_GETFL) & ~O_NONBLOCK) < 0)
        return RGM_FAIL_SYSTEM("open", path);
    return RGM_OK;
}

static rgm_status check_size(const char *path, int64_t size, int64_t max_size)
{
    if (size > max_size)
        return RGM_FAIL(RGM_ERR_FORMAT, "'%s' has more than %lld bytes, the most that is read here",
                        path, (long long)max_size);
    return RGM_OK;
}

/* Read to the end; the size of a pipe or of /proc is not known before. */
static rgm_status read_all(rgm_text *text, int fd, const char *path, int64_t max_size)
{
    for (;;) {
        ssize_t n;
        RGM_TRY(RGM_RESERVE(text->data, text->capacity, text->size + 2));
        n = read(fd, text->data + text->size, (size_t)(text->capacity - text->size - 1));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", path);
        if (n == 0)
            break;
        text->size += n;
        RGM_TRY(check_size(path, text->size, max_size));
    }
    text->data[text->size] = 0;
    return RGM_OK;
}

rgm_status rgm_file_load(char **data, int64_t *size, const char *path, int64_t max_size)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    struct stat info;
    int fd = -1;

    *data = NULL;
    *size = 0;
    RGM_GO(open_whole(&fd, &info, path));
    if (S_ISREG(info.st_mode)) {
        RGM_GO(check_size(path, info.st_size, max_size));
        text.data = rgm_malloc((size_t)info.st_size + 2);
        if (text.data == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld bytes for '%s'",
                            (long long)info.st_size, path));
        text.capacity = info.st_size + 2;
    }
    RGM_GO(read_all(&text, fd, path, max_size));
    *data = text.data;
    *size = text.size;
    text.data = NULL;
done:
    rgm_text_clear(&text);
    if (fd >= 0)
        close(fd);
    return status;
}

/*
 * In pieces of 1 MiB: with larger ones the kernel looks for larger runs of free memory for its
 * cache, which on a machine in use took several times as long (4 MiB: 0.2 to 1.1 s for 400 MB, 1
 * MiB: 0.1 to 0.2 s). A piece's way to the disk begins at once, so that the sync at the end has
 * little left to wait for.
 */
#define PIECE ((int64_t)1 << 20)

rgm_status rgm_write_all(int fd, const void *data, int64_t size, const char *path)
{
    const char *p = data;

    while (size > 0) {
        ssize_t n = write(fd, p, (size_t)(size < PIECE ? size : PIECE));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("write", path);
        if (n == PIECE) /* a hint: errors come with the sync */
            (void)sync_file_range(fd, lseek(fd, 0, SEEK_CUR) - n, n, SYNC_FILE_RANGE_WRITE);
        p += n;
        size -= n;
    }
    return RGM_OK;
}

/* Write, sync (unless only readers of this machine matter) and close; a file that could not be
 * written whole is removed. Errors speak of `name`. */
static rgm_status write_new(const char *path, const void *data, int64_t size, const char *name,
                            bool synced)
{
    rgm_status status = RGM_OK;
    int fd = open_again(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0666);

    if (fd < 0)
        return RGM_FAIL_SYSTEM("create", name);
    RGM_GO(rgm_write_all(fd, data, size, name));
    if (synced)
        RGM_GO(rgm_sync(fd, name));
done:
    if (close(fd) != 0 && status == RGM_OK)
        status = RGM_FAIL_SYSTEM("close", name);
    if (status != RGM_OK)
        unlink(path);
    return status;
}

rgm_status rgm_file_create(const char *path, const void *data, int64_t size)
{
    RGM_TRY(write_new(path, data, size, path, true));
    return RGM_OK;
}

/* A device or a pipe: it stays what it is, nothing is put in its place. */
static rgm_status write_into(const char *path, const void *data, int64_t size)
{
    rgm_status status;
    int fd = open_again(path, O_WRONLY, 0);

    if (fd < 0)
        return RGM_FAIL_SYSTEM("open", path);
    status = rgm_write_all(fd, data, size, path);
    if (close(fd) != 0 && status == RGM_OK)
        status = RGM_FAIL_SYSTEM("close", path);
    return status;
}

/* The digits at `text`, as the number of a process that is gone; what follows them goes to *end. */
static bool is_of_dead_process(const char *text, const char **end)
{
    size_t digits = strspn(text, "0123456789");

    *end = text + digits;
    return digits > 0 && digits < 10 && kill((pid_t)strtol(text, NULL, 10), 0) != 0 &&
           errno == ESRCH;
}

/* NAME.tmp-<pid>-<number> or NAME.partial-<pid> of a process that is gone. */
static bool is_remains_of(const char *left, const char *name)
{
    size_t size = strlen(name);
    const char *end;

    if (strncmp(left, name, size) != 0)
        return false;
    left += size;
    if (strncmp(left, ".partial-", 9) == 0)
        return is_of_dead_process(left + 9, &end) && *end == 0;
    return strncmp(left, ".tmp-", 5) == 0 && is_of_dead_process(left + 5, &end) && *end == '-' &&
           end[1] != 0 && end[1 + strspn(end + 1, "0123456789")] == 0;
}

/* rgm_path_sweep() with the folder that `path` is in. */
static rgm_status sweep_beside(const char *path, const char *parent)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char **names = NULL;
    int64_t count = 0;
    rgm_status status = rgm_folder_list(&names, &count, parent);

    if (status != RGM_OK && status != RGM_ERR_NOMEM) { /* who writes there will say so */
        rgm_error_reset();
        return RGM_OK;
    }
    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        char *left = NULL;

        if (!is_remains_of(names[i], name))
            continue;
        status = rgm_path_join(&left, parent, names[i]);
        if (status == RGM_OK && rgm_folder_remove(left) != RGM_OK) {
            rgm_log_write(RGM_LOG_WARNING, "cannot remove what a killed process left: %s",
                          rgm_error_message());
            rgm_error_reset();
        }
        rgm_free(left);
    }
    rgm_names_release(names, count);
    return status;
}

rgm_status rgm_path_sweep(const char *path)
{
    char *parent;
    rgm_status status;

    RGM_TRY(rgmi_parent_of(&parent, path));
    status = sweep_beside(path, parent);
    rgm_free(parent);
    return status;
}

/* The name of a new file beside `path`, where nothing is. */
static rgm_status name_draft(char **out, const char *path)
{
    static atomic_uint serial; /* two threads may save at once */

    *out = NULL;
    for (int attempt = 0; attempt < 100; attempt++) {
        rgm_free(*out);
        RGM_TRY(rgm_strprintf(out, "%s.tmp-%ld-%u", path, (long)getpid(),
                              atomic_fetch_add(&serial, 1)));
        if (!rgm_path_exists(*out))
            break; /* else left by a killed process of the same number */
    }
    return RGM_OK;
}

/* A file, or a place where none is yet. */
static rgm_status replace(const char *path, const void *data, int64_t size, bool synced)
{
    rgm_status status = RGM_OK;
    char *beside = NULL, *parent = NULL;
    bool written = false;

    RGM_GO(rgmi_parent_of(&parent, path));
    RGM_GO(sweep_beside(path, parent));
    RGM_GO(name_draft(&beside, path));
    RGM_GO(write_new(beside, data, size, path, synced));
    written = true;
    if (rename(beside, path) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("rename a new file to", path));
    written = false;
    if (synced)
        RGM_GO(rgm_folder_sync(parent));
done:
    if (written)
        unlink(beside);
    rgm_free(beside);
    rgm_free(parent);
    return status;
}

rgm_status rgm_file_save(const char *path, const void *data, int64_t size)
{
    char *target;
    struct stat info;
    rgm_status status;

    if (stat(path, &info) != 0)
        return replace(path, data, size, true);
    if (S_ISDIR(info.st_mode))
        return RGM_FAIL(RGM_ERR_IO, "cannot write '%s': it is a folder", path);
    if (!S_ISREG(info.st_mode))
        return write_into(path, data, size);
    target = realpath(path, NULL); /* a link goes on leading to the file */
    if (target == NULL)
        return RGM_FAIL_SYSTEM("examine", path);
    status = replace(target, data, size, true);
    free(target);
    return status;
}

static rgm_status check_own(const char *path)
{
    struct stat info;

    if (lstat(path, &info) != 0 || S_ISREG(info.st_mode))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_IO,
                    "'%s' is a %s, not a file; nothing is written through it. Remove it first",
                    path,
                    S_ISLNK(info.st_mode)   ? "link"
                    : S_ISDIR(info.st_mode) ? "folder"
                                            : "device or pipe");
}

static rgm_status replace_own(const char *path, const void *data, int64_t size, bool synced)
{
    RGM_TRY(check_own(path));
    return replace(path, data, size, synced);
}

rgm_status rgm_file_save_own(const char *path, const void *data, int64_t size)
{
    RGM_TRY(replace_own(path, data, size, true));
    return RGM_OK;
}

rgm_status rgm_file_renew(const char *path, const void *data, int64_t size)
{
    RGM_TRY(replace_own(path, data, size, false));
    return RGM_OK;
}

/* ---- several at once ------------------------------------------------------------------------- */

/* A file on its way: `draft` is its new content at first, and what was at its path at the end. */
typedef struct changing {
    char *draft;
    bool was_there, is_moved;
} changing;

/* What it becomes, beside it; nothing that others see has changed. */
static rgm_status prepare(changing *c, const rgm_file_change *change)
{
    struct stat info;

    RGM_TRY(check_own(change->path));
    c->was_there = lstat(change->path, &info) == 0;
    RGM_TRY(rgm_path_sweep(change->path));
    RGM_TRY(name_draft(&c->draft, change->path));
    return change->data == NULL
               ? RGM_OK
               : write_new(c->draft, change->data, change->size, change->path, true);
}

/* To its place, or back from there. A file system that cannot exchange names gives up what was
 * there. */
static int move(const changing *c, const rgm_file_change *change, bool back)
{
    unsigned exchange = c->was_there && change->data != NULL ? RENAME_EXCHANGE : 0;
    bool comes = (change->data != NULL) != back;
    const char *from = comes ? c->draft : change->path, *to = comes ? change->path : c->draft;
    int result = renameat2(AT_FDCWD, from, AT_FDCWD, to, exchange);

    if (result != 0 && exchange != 0 && !back &&
        (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP))
        result = rename(from, to);
    return result;
}

static rgm_status move_all(changing *all, const rgm_file_change *changes, int64_t count)
{
    rgm_status status;

    for (int64_t i = 0; i < count; i++) {
        if (changes[i].data == NULL && !all[i].was_there)
            continue;
        all[i].is_moved = move(&all[i], &changes[i], false) == 0;
        if (all[i].is_moved)
            continue;
        status = RGM_FAIL_SYSTEM("change", changes[i].path);
        for (int64_t k = i - 1; k >= 0; k--)
            if (all[k].is_moved)
                (void)move(&all[k], &changes[k], true);
        return status;
    }
    return RGM_OK;
}

rgm_status rgm_files_change(const rgm_file_change *changes, int64_t count)
{
    rgm_status status = RGM_OK;
    changing *all = NULL;
    char *parent = NULL;

    if (count == 0)
        return RGM_OK;
    RGM_GO(RGM_NEW(all, count));
    RGM_GO(rgmi_parent_of(&parent, changes[0].path));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(prepare(&all[i], &changes[i]));
    RGM_GO(move_all(all, changes, count));
    RGM_GO(rgm_folder_sync(parent));
done:
    for (int64_t i = 0; all != NULL && i < count; i++) {
        if (all[i].draft != NULL)
            (void)unlink(all[i].draft);
        rgm_free(all[i].draft);
    }
    rgm_free(all);
    rgm_free(parent);
    return status;
}

/* ---- written by name ------------------------------------------------------------------------- */

rgm_status rgm_file_beside(char **out, const char *path)
{
    rgm_status status = RGM_OK;
    char *beside = NULL;

    *out = NULL;
    RGM_GO(rgm_path_sweep(path));
    RGM_GO(rgm_strprintf(&beside, "%s.partial-%ld", path, (long)getpid()));
    if (unlink(beside) != 0 && errno != ENOENT) /* of a process of the same number */
        RGM_GO(RGM_FAIL_SYSTEM("remove", beside));
    *out = beside;
    beside = NULL;
done:
    rgm_free(beside);
    return status;
}

rgm_status rgm_file_publish(const char *beside, const char *path, rgm_status written)
{
    rgm_status status = written;
    char *parent = NULL;

    if (status == RGM_OK)
        status = rgmi_parent_of(&parent, path);
    if (status == RGM_OK && rename(beside, path) != 0)
        status = RGM_FAIL_SYSTEM("replace", path);
    if (status != RGM_OK)
        (void)unlink(beside);
    else
        status = rgm_folder_sync(parent);
    rgm_free(parent);
    return status;
}

/* NAME.tmp-<pid>-<number>, as rgm_file_save() makes them. */
static bool is_left_behind(const char *name)
{
    const char *at = strstr(name, ".tmp-");
    size_t digits;

    if (at == NULL || at == name)
        return false;
    at += strlen(".tmp-");
    digits = strspn(at, "0123456789");
    if (digits == 0 || at[digits] != '-')
        return false;
    at += digits + 1;
    digits = strspn(at, "0123456789");
    return digits > 0 && at[digits] == 0;
}

rgm_status rgm_folder_sweep(const char *path)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    RGM_GO(rgm_folder_list(&names, &count, path));
    for (int64_t i = 0; i < count; i++) {
        struct stat info;
        char *file = NULL;

        if (!is_left_behind(names[i]))
            continue;
        RGM_GO(rgm_path_join(&file, path, names[i]));
        if (lstat(file, &info) == 0 && S_ISREG(info.st_mode) && unlink(file) != 0)
            rgm_log_write(RGM_LOG_WARNING, "cannot remove %s: %s", file, strerror(errno));
        rgm_free(file);
    }
done:
    rgm_names_release(names, count);
    return status;
}

rgm_status rgm_file_map(rgm_mapped_file *file, const char *path)
{
    rgm_status status = RGM_OK;
    int fd = -1;
    struct stat info;
    void *memory;

    *file = (rgm_mapped_file){0};
    RGM_GO(open_whole(&fd, &info, path));
    if (!S_ISREG(info.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "cannot map '%s': not a regular file", path));
    if (info.st_size == 0) { /* nothing can be mapped, yet an empty file is no error */
        file->data = (const uint8_t *)"";
        goto done;
    }
    memory = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (memory == MAP_FAILED)
        RGM_GO(RGM_FAIL_SYSTEM("map", path));
    file->data = memory;
    file->size = info.st_size;
done:
    if (fd >= 0)
        close(fd);
    return status;
}
