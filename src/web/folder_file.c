/*
 * Files of a run folder, opened part by part of their path so that nothing on the way can be a
 * link, also where somebody puts one there at this moment.
 */
#include "folder_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_at(int at, const char *name, int flags)
{
    int fd;

    do
        fd = openat(at, name, flags | O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

/* Of links open() says ELOOP or, asked for a folder, ENOTDIR. */
static rgm_status refuse(const char *name)
{
    if (errno == ENOENT)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no '%s'", name);
    if (errno == ELOOP || errno == ENOTDIR || errno == ENXIO)
        return RGM_FAIL(RGM_ERR_IO, "'%s' is a link or no plain file, and not read", name);
    return RGM_FAIL_SYSTEM("open", name);
}

/* Parts between single slashes, none of which leads back; the last may be empty: a folder. */
static rgm_status check_name(const char *name)
{
    for (const char *at = name;; at++) {
        size_t size = strcspn(at, "/");
        bool last = at[size] == '\0';

        if ((size == 0 && !(last && at == name)) || size > 255 || (size == 1 && *at == '.') ||
            (size == 2 && memcmp(at, "..", 2) == 0))
            return RGM_FAIL(RGM_ERR_ARG, "'%s' is no name of a file in a run folder", name);
        if (last)
            return RGM_OK;
        at += size;
    }
}

/* The folder in which the last part of `name` is; *last is that part. */
static rgm_status open_parent(int *out, const char **last, const char *folder, const char *name)
{
    const char *whole = name, *slash;
    int fd;

    *out = -1;
    RGM_TRY(check_name(name));
    fd = open_at(AT_FDCWD, folder, O_DIRECTORY);
    while (fd >= 0 && (slash = strchr(name, '/')) != NULL) {
        char part[256] = "";
        int next, error;

        memcpy(part, name, (size_t)(slash - name));
        next = open_at(fd, part, O_DIRECTORY);
        error = errno;
        close(fd);
        fd = next;
        errno = error;
        name = slash + 1;
    }
    if (fd < 0)
        return refuse(whole);
    *out = fd;
    *last = name;
    return RGM_OK;
}

static double time_of(const struct stat *info)
{
    return (double)info->st_mtim.tv_sec + 1e-9 * (double)info->st_mtim.tv_nsec;
}

rgm_status rgmi_kept_open(rgmi_kept_file *file, const char *folder, const char *name)
{
    const char *last = "";
    struct stat info;
    int parent = -1;
    rgm_status status = RGM_OK;

    *file = (rgmi_kept_file){.fd = -1};
    RGM_GO(open_parent(&parent, &last, folder, name));
    if (*last == '\0')
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "'%s' is no name of a file in a run folder", name));
    file->fd = open_at(parent, last, 0);
    if (file->fd < 0)
        RGM_GO(refuse(name));
    if (fstat(file->fd, &info) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", name));
    if (!S_ISREG(info.st_mode))
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "'%s' is a link or no plain file, and not read", name));
    file->size = info.st_size;
    file->time = time_of(&info);
    file->device = info.st_dev;
    file->inode = info.st_ino;
done:
    if (parent >= 0)
        close(parent);
    if (status != RGM_OK)
        rgmi_kept_close(file);
    return status;
}

void rgmi_kept_close(rgmi_kept_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

rgm_status rgmi_kept_read(void *data, int64_t *size, const rgmi_kept_file *file, int64_t offset)
{
    int64_t want = *size;

    for (*size = 0; *size < want;) {
        ssize_t n =
            pread(file->fd, (char *)data + *size, (size_t)(want - *size), (off_t)(offset + *size));

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return RGM_FAIL_SYSTEM("read", "a file of the run");
        if (n == 0)
            break;
        *size += n;
    }
    return RGM_OK;
}

rgm_status rgmi_kept_load(char **data, int64_t *size, const char *folder, const char *name,
                          int64_t most)
{
    rgmi_kept_file file;
    rgm_status status = RGM_OK;

    *data = NULL;
    *size = 0;
    RGM_GO(rgmi_kept_open(&file, folder, name));
    if (file.size > most)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "'%s' has %lld bytes, and %lld at most are read here", name,
                        (long long)file.size, (long long)most));
    RGM_GO(RGM_NEW(*data, file.size + 1));
    *size = file.size;
    RGM_GO(rgmi_kept_read(*data, size, &file, 0));
    (*data)[*size] = '\0';
done:
    rgmi_kept_close(&file);
    if (status != RGM_OK) {
        rgm_free(*data);
        *data = NULL;
        *size = 0;
    }
    return status;
}

const char *rgmi_without_folder(const char *message, const char *folder)
{
    size_t size = strlen(folder);

    return strncmp(message, folder, size) == 0 && message[size] == '/' ? message + size + 1
                                                                       : message;
}

/* ---- lines ------------------------------------------------------------------------------------
 */

rgm_status rgmi_kept_line(int64_t *begin, int64_t *size, char *data, const rgmi_kept_file *file,
                          int64_t offset)
{
    int64_t got = RGMI_LINE_ROOM, from = offset > 0 ? offset - 1 : 0;
    const char *start = data, *end;

    *begin = -1;
    *size = 0;
    RGM_TRY(rgmi_kept_read(data, &got, file, from));
    if (offset > 0) {
        start = memchr(data, '\n', (size_t)got);
        start = start != NULL ? start + 1 : data + got;
    }
    end = memchr(start, '\n', (size_t)(data + got - start));
    if (end == NULL)
        return RGM_OK;
    *begin = from + (start - data);
    *size = end - start;
    memmove(data, start, (size_t)*size);
    return RGM_OK;
}

rgm_status rgmi_kept_last_line(int64_t *begin, int64_t *size, char *data,
                               const rgmi_kept_file *file)
{
    int64_t got = RGMI_LINE_ROOM, from = file->size > got ? file->size - got : 0;
    const char *end, *before;

    *begin = file->size;
    *size = 0;
    RGM_TRY(rgmi_kept_read(data, &got, file, from));
    end = got > 0 ? memrchr(data, '\n', (size_t)got) : NULL;
    before = end != NULL && end > data ? memrchr(data, '\n', (size_t)(end - data)) : NULL;
    if (before == NULL)
        return RGM_OK;
    *begin = from + (before + 1 - data);
    *size = end - before - 1;
    memmove(data, before + 1, (size_t)*size);
    return RGM_OK;
}

/* ---- lists --------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
    return strcmp(((const rgmi_kept_entry *)a)->name, ((const rgmi_kept_entry *)b)->name);
}

static rgm_status add_entry(rgmi_kept_list *list, int fd, const char *name)
{
    rgmi_kept_entry *entry;
    struct stat info;

    if (name[0] == '.' || fstatat(fd, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
        !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
        return RGM_OK;
    if (list->count == RGMI_KEPT_ENTRIES) {
        list->cut = true;
        return RGM_END;
    }
    RGM_TRY(RGM_RESERVE(list->entries, list->capacity, list->count + 1));
    entry = &list->entries[list->count];
    RGM_TRY(rgm_strdup(&entry->name, name));
    entry->is_folder = S_ISDIR(info.st_mode);
    entry->size = info.st_size;
    entry->time = time_of(&info);
    list->count++;
    return RGM_OK;
}

rgm_status rgmi_kept_list_load(rgmi_kept_list *list, const char *folder, const char *name)
{
    const char *last = "";
    int parent = -1, fd = -1;
    DIR *dir = NULL;
    struct dirent *at;
    rgm_status status = RGM_OK;

    *list = (rgmi_kept_list){0};
    RGM_GO(open_parent(&parent, &last, folder, name));
    fd = open_at(parent, *last != '\0' ? last : ".", O_DIRECTORY);
    dir = fd >= 0 ? fdopendir(fd) : NULL;
    if (dir == NULL)
        RGM_GO(refuse(name));
    fd = -1; /* the directory's now */
    while (status == RGM_OK && (at = readdir(dir)) != NULL)
        status = add_entry(list, dirfd(dir), at->d_name);
    status = status == RGM_END ? RGM_OK : status;
    if (list->count > 0)
        qsort(list->entries, (size_t)list->count, sizeof *list->entries, by_name);
done:
    if (dir != NULL)
        closedir(dir);
    if (fd >= 0)
        close(fd);
    if (parent >= 0)
        close(parent);
    if (status != RGM_OK)
        rgmi_kept_list_clear(list);
    return status;
}

void rgmi_kept_list_clear(rgmi_kept_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        rgm_free(list->entries[i].name);
    rgm_free(list->entries);
    *list = (rgmi_kept_list){0};
}
