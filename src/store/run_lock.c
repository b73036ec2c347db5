/*
 * The lock of a run folder: of the one trainer that may be in it. It is the kernel's and ends with
 * its process.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static rgm_status busy(int fd, const char *path)
{
    char holder[320];
    rgm_text shown = {0};
    ssize_t size = pread(fd, holder, sizeof holder - 1, 0);
    rgm_status status;

    holder[size > 0 ? size : 0] = 0;
    holder[strcspn(holder, "\n")] = 0;
    if (rgm_text_add_visible(&shown, holder[0] ? holder : "another process") != RGM_OK)
        rgm_text_clear(&shown);
    status = RGM_FAIL(RGM_ERR_BUSY,
                      "run folder %s is in use by %s; wait for it, stop it, or take another folder",
                      path, shown.data ? shown.data : "another process");
    rgm_text_clear(&shown);
    return status;
}

/* A process that checks whether the folder is in use holds the lock for a moment, so a trainer
 * tries a few times. */
static int lock_patiently(int fd)
{
    const struct timespec moment = {.tv_nsec = 5000000};
    int result = flock(fd, LOCK_EX | LOCK_NB);

    for (int attempt = 0; result < 0 && errno == EWOULDBLOCK && attempt < 4; attempt++) {
        nanosleep(&moment, NULL);
        result = flock(fd, LOCK_EX | LOCK_NB);
    }
    return result;
}

static bool leads_to(const char *path, int fd)
{
    struct stat locked, there;

    return fstat(fd, &locked) == 0 && lstat(path, &there) == 0 && locked.st_dev == there.st_dev &&
           locked.st_ino == there.st_ino;
}

/* The file may go away with its folder between any two calls here, when the run is deleted: what
 * is locked then is in nobody's folder, and all begins anew. */
static rgm_status open_locked(int *lock, const char *folder, const char *path)
{
    for (int attempt = 0; attempt < 100; attempt++) {
        RGM_TRY(rgm_folder_make(folder));
        RGM_TRY(rgm_path_refuse_pipe(path));
        *lock = rgmi_open(path, O_RDWR | O_CREAT);
        if (*lock < 0 && errno == ENOENT)
            continue;
        if (*lock < 0)
            return RGM_FAIL_SYSTEM("open", path);
        if (lock_patiently(*lock) < 0)
            return errno == EWOULDBLOCK ? busy(*lock, folder) : RGM_FAIL_SYSTEM("lock", path);
        if (leads_to(path, *lock))
            return RGM_OK;
        close(*lock);
        *lock = -1;
    }
    return RGM_FAIL(RGM_ERR_BUSY, "run folder %s is deleted again and again", folder);
}

rgm_status rgmi_run_lock(int *lock, const char *folder)
{
    char *path = NULL, host[256] = "", text[320];
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&path, folder, ".lock"));
    RGM_GO(open_locked(lock, folder, path));
    gethostname(host, sizeof host - 1);
    snprintf(text, sizeof text, "pid %ld on host %s\n", (long)getpid(), host);
    if (rgmi_cut(*lock, 0) < 0)
        RGM_GO(RGM_FAIL_SYSTEM("write", path));
    RGM_GO(rgm_write_all(*lock, text, (int64_t)strlen(text), path));
done:
    rgm_free(path);
    return status;
}

rgm_status rgm_run_folder_in_use(bool *out, const char *path)
{
    char *file = NULL;
    int fd = -1;
    rgm_status status = RGM_OK;

    *out = false;
    RGM_GO(rgm_path_join(&file, path, ".lock"));
    RGM_GO(rgm_path_refuse_pipe(file));
    fd = rgmi_open(file, O_RDONLY);
    if (fd < 0) {
        if (errno != ENOENT)
            status = RGM_FAIL_SYSTEM("open", file);
        goto done;
    }
    *out = flock(fd, LOCK_SH | LOCK_NB) < 0 && errno == EWOULDBLOCK;
done:
    if (fd >= 0)
        close(fd);
    rgm_free(file);
    return status;
}

bool rgm_run_folder_exists(const char *path)
{
    return rgm_folder_has(path, ".lock") || rgm_folder_has(path, "metrics.jsonl");
}
