/*
 * A store of files by their content. A file is copied beside its place, hashed on the way, synced,
 * and then renamed to its hash: who is killed leaves either nothing under that name or all of it.
 */
#include "base_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 18 };

/* ---- reading ------------------------------------------------------------------------------- */

static rgm_status open_plain(int *out, const char *path, int flags)
{
    struct stat info;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);

    *out = -1;
    if (fd < 0)
        return RGM_FAIL_SYSTEM("open", path);
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(fd);
        return RGM_FAIL(RGM_ERR_IO, "'%s' is no plain file", path);
    }
    *out = fd;
    return RGM_OK;
}

/* Hash what is read, and write it to `to` unless that is below 0. */
static rgm_status pass_through(char sha256[RGM_SHA256_ROOM], int64_t *size, int from,
                               const char *path, int to, const char *to_path)
{
    rgm_status status = RGM_OK;
    uint8_t *piece = NULL;
    rgmi_sha256 hash;

    *size = 0;
    rgmi_sha256_begin(&hash);
    RGM_GO(RGM_NEW(piece, PIECE));
    for (;;) {
        ssize_t n = read(from, piece, PIECE);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            RGM_GO(RGM_FAIL_SYSTEM("read", path));
        if (n == 0)
            break;
        rgmi_sha256_add(&hash, piece, (size_t)n);
        *size += n;
        if (to >= 0)
            RGM_GO(rgm_write_all(to, piece, n, to_path));
    }
    rgmi_sha256_end(sha256, &hash);
done:
    rgm_free(piece);
    return status;
}

static rgm_status hash_file(char out[RGM_SHA256_ROOM], int64_t *size, const char *path, int flags)
{
    rgm_status status;
    int fd;

    RGM_TRY(open_plain(&fd, path, flags));
    status = pass_through(out, size, fd, path, -1, NULL);
    close(fd);
    return status;
}

rgm_status rgm_file_sha256(char out[RGM_SHA256_ROOM], int64_t *size, const char *path)
{
    int64_t bytes;

    return hash_file(out, size != NULL ? size : &bytes, path, 0);
}

/* ---- names --------------------------------------------------------------------------------- */

static rgm_status place_of(char **out, const char *store, const char *sha256)
{
    if (strlen(sha256) != RGM_SHA256_ROOM - 1 ||
        strspn(sha256, "0123456789abcdef") != RGM_SHA256_ROOM - 1)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no SHA-256", sha256);
    return rgm_strprintf(out, "%s/%.2s/%s", store, sha256, sha256 + 2);
}

/* Copies under way; rgm_path_sweep() knows a name of this kind. */
static rgm_status name_beside(char **out, const char *path)
{
    static atomic_uint serial;

    return rgm_strprintf(out, "%s.tmp-%ld-%u", path, (long)getpid(), atomic_fetch_add(&serial, 1));
}

/* A synced copy, which nobody may write to. */
static rgm_status copy_to(char sha256[RGM_SHA256_ROOM], int64_t *size, const char *to,
                          const char *path)
{
    rgm_status status = RGM_OK;
    int from = -1, fd = -1;

    RGM_GO(open_plain(&from, path, O_NOFOLLOW));
    fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("create", to));
    RGM_GO(pass_through(sha256, size, from, path, fd, to));
    if (fchmod(fd, 0444) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("protect", to));
    RGM_GO(rgm_sync(fd, to));
done:
    if (from >= 0)
        close(from);
    if (fd >= 0 && close(fd) != 0 && status == RGM_OK)
        status = RGM_FAIL_SYSTEM("close", to);
    if (fd >= 0 && status != RGM_OK)
        unlink(to);
    return status;
}

/* ---- the store ----------------------------------------------------------------------------- */

/* Whether the store has these bytes, whole. What is damaged there is told. */
static rgm_status has_whole(bool *out, const char *place, const char *sha256)
{
    char found[RGM_SHA256_ROOM];
    struct stat info;
    int64_t size;

    *out = false;
    if (lstat(place, &info) != 0)
        return RGM_OK;
    RGM_TRY(hash_file(found, &size, place, O_NOFOLLOW));
    *out = strcmp(found, sha256) == 0;
    if (!*out)
        rgm_log_write(RGM_LOG_WARNING, "'%s' is damaged, and is written again", place);
    return RGM_OK;
}

static rgm_status move_in(const char *beside, const char *store, const char *sha256)
{
    rgm_status status = RGM_OK;
    char *place = NULL, *parent = NULL;
    bool is_there;

    RGM_GO(place_of(&place, store, sha256));
    RGM_GO(has_whole(&is_there, place, sha256));
    if (is_there) {
        if (unlink(beside) != 0)
            RGM_GO(RGM_FAIL_SYSTEM("remove", beside));
        goto done;
    }
    RGM_GO(rgmi_parent_of(&parent, place));
    RGM_GO(rgm_folder_make(parent));
    if (rename(beside, place) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("rename a new file to", place));
    RGM_GO(rgm_folder_sync(parent));
    RGM_GO(rgm_folder_sync(store));
done:
    rgm_free(place);
    rgm_free(parent);
    return status;
}

rgm_status rgm_content_put(char sha256[RGM_SHA256_ROOM], int64_t *size, const char *store,
                           const char *path)
{
    rgm_status status = RGM_OK;
    char *incoming = NULL, *beside = NULL;
    int64_t bytes;

    RGM_GO(rgm_folder_make(store));
    RGM_GO(rgm_path_join(&incoming, store, "new"));
    RGM_GO(name_beside(&beside, incoming));
    RGM_GO(copy_to(sha256, size != NULL ? size : &bytes, beside, path));
    status = move_in(beside, store, sha256);
    if (status != RGM_OK)
        unlink(beside);
done:
    rgm_free(incoming);
    rgm_free(beside);
    return status;
}

rgm_status rgm_content_place(const char *store, const char *sha256, const char *to)
{
    rgm_status status = RGM_OK;
    char *place = NULL, copied[RGM_SHA256_ROOM];
    int64_t size;

    RGM_GO(place_of(&place, store, sha256));
    if (link(place, to) == 0)
        goto done;
    if (errno == ENOENT || errno == EEXIST)
        RGM_GO(RGM_FAIL_SYSTEM("make a link to what the store has:", to));
    RGM_GO(copy_to(copied, &size, to, place)); /* a file system without links, or another one */
    if (strcmp(copied, sha256) != 0) {
        unlink(to);
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "'%s' is damaged: its bytes have another hash", place));
    }
done:
    rgm_free(place);
    return status;
}

static rgm_status sweep_folder(const char *folder)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL;
    int64_t count = 0;
    struct stat info;

    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        rgm_free(path);
        RGM_GO(rgm_path_join(&path, folder, names[i]));
        if (lstat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1 &&
            unlink(path) != 0)
            RGM_GO(RGM_FAIL_SYSTEM("remove", path));
    }
done:
    rgm_names_release(names, count);
    rgm_free(path);
    return status;
}

rgm_status rgm_content_sweep(const char *store)
{
    rgm_status status = RGM_OK;
    char **names = NULL, *path = NULL;
    int64_t count = 0;

    if (!rgm_path_is_folder(store))
        return RGM_OK;
    RGM_GO(rgm_folder_list(&names, &count, store));
    for (int64_t i = 0; i < count; i++) {
        rgm_free(path);
        RGM_GO(rgm_path_join(&path, store, names[i]));
        if (strlen(names[i]) == 2 && rgm_path_is_folder(path))
            RGM_GO(sweep_folder(path));
    }
    RGM_GO(sweep_folder(store));
done:
    rgm_names_release(names, count);
    rgm_free(path);
    return status;
}
