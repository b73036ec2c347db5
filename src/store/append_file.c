/*
 * A file that grows: the metrics log and the event files. A write either reaches the file whole or
 * is cut off again. A failed sync makes the file unusable, because the system may have dropped the
 * pages and would report success for the next sync.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define BUFFER_SIZE (32 << 10)

static rgm_status check_usable(const rgmi_append_file *file)
{
    if (file->broken)
        return RGM_FAIL(RGM_ERR_IO, "%s could not be synced before and is not written any more",
                        file->path);
    return RGM_OK;
}

int rgmi_open(const char *path, int flags)
{
    int fd;

    do
        fd = open(path, flags | O_CLOEXEC | O_NOFOLLOW, 0644);
    while (fd < 0 && errno == EINTR);
    return fd;
}

int rgmi_cut(int fd, int64_t offset)
{
    int result;

    do
        result = ftruncate(fd, (off_t)offset);
    while (result < 0 && errno == EINTR);
    return result;
}

rgm_status rgmi_append_open(rgmi_append_file *file, const char *path, int64_t offset,
                            bool exclusive)
{
    rgm_status status = RGM_OK;

    *file = (rgmi_append_file){.fd = -1, .written = offset, .flushed = rgm_now()};
    RGM_GO(rgm_strdup(&file->path, path));
    RGM_GO(rgm_path_refuse_pipe(path)); /* opening a pipe would wait for its reader */
    file->fd = rgmi_open(path, O_WRONLY | O_CREAT | (exclusive ? O_EXCL : 0));
    if (file->fd < 0) {
        status = RGM_FAIL_SYSTEM("open", path);
        goto done;
    }
    if (rgmi_cut(file->fd, offset) < 0 || lseek(file->fd, (off_t)offset, SEEK_SET) < 0)
        status = RGM_FAIL_SYSTEM("cut", path);
done:
    if (status != RGM_OK)
        rgmi_append_close(file);
    return status;
}

void rgmi_append_close(rgmi_append_file *file)
{
    if (file->fd >= 0) {
        if (!file->broken)
            (void)rgmi_append_flush(file);
        close(file->fd);
    }
    rgm_free(file->path);
    rgm_text_clear(&file->buffer);
    *file = (rgmi_append_file){.fd = -1};
}

rgm_status rgmi_append_add(rgmi_append_file *file, const void *data, int64_t size)
{
    RGM_TRY(check_usable(file));
    RGM_TRY(rgm_text_add(&file->buffer, data, size));
    if (file->buffer.size < BUFFER_SIZE && rgm_now() - file->flushed < 1)
        return RGM_OK;
    return rgmi_append_flush(file);
}

rgm_status rgmi_append_flush(rgmi_append_file *file)
{
    rgm_status status;
    rgm_error error;

    RGM_TRY(check_usable(file));
    if (file->buffer.size == 0)
        return RGM_OK;
    status = rgm_write_all(file->fd, file->buffer.data, file->buffer.size, file->path);
    if (status != RGM_OK) {
        /* A full disk may have taken half of the data: cut that off, so that a retry starts
         * clean. */
        rgm_error_save(&error, status);
        if (rgmi_cut(file->fd, file->written) < 0 ||
            lseek(file->fd, (off_t)file->written, SEEK_SET) < 0)
            file->broken = true;
        return rgm_error_restore(&error);
    }
    file->written += file->buffer.size;
    file->buffer.size = 0;
    file->flushed = rgm_now();
    return RGM_OK;
}

rgm_status rgmi_append_sync(rgmi_append_file *file)
{
    rgm_status status;

    RGM_TRY(rgmi_append_flush(file));
    status = rgm_sync(file->fd, file->path);
    file->broken = status != RGM_OK;
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

rgm_status rgmi_append_truncate(rgmi_append_file *file, int64_t offset)
{
    RGM_TRY(rgmi_append_flush(file));
    if (offset < 0 || offset > file->written)
        return RGM_FAIL(RGM_ERR_ARG, "%s: offset %lld is not in 0 .. %lld", file->path,
                        (long long)offset, (long long)file->written);
    if (rgmi_cut(file->fd, offset) < 0 || lseek(file->fd, (off_t)offset, SEEK_SET) < 0)
        return RGM_FAIL_SYSTEM("cut", file->path);
    file->written = offset;
    return RGM_OK;
}
