/*
 * Run folders are removed: one that a person wants to be rid of, and what is left of one at whose
 * removal a process was killed.
 */
#include "store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* What is being removed has such a name, and keeps it when the process that removes it is killed.
 * No look at runs takes it for one. */
#define DELETED ".deleted-"

/* The folder that a path without slashes at its end is in. */
static rgm_status parent_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return rgm_strdup(out, ".");
    return rgm_strndup(out, path, slash > path ? (size_t)(slash - path) : 1);
}

static rgm_status without_slashes(char **out, const char *path)
{
    size_t size = strlen(path);

    while (size > 1 && path[size - 1] == '/')
        size--;
    return rgm_strndup(out, path, size);
}

/* A run may have been begun in a folder of this one, and would go with it. */
static rgm_status refuse_inner_runs(const char *path)
{
    char **names = NULL, *inner = NULL;
    int64_t count = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_folder_list(&names, &count, path));
    for (int64_t i = 0; i < count; i++) {
        struct stat info;
        bool used = false;

        rgm_free(inner);
        inner = NULL;
        RGM_GO(rgm_path_join(&inner, path, names[i]));
        if (lstat(inner, &info) < 0 || !S_ISDIR(info.st_mode))
            continue;
        RGM_GO(rgm_run_folder_in_use(&used, inner));
        if (used)
            RGM_GO(RGM_FAIL(RGM_ERR_BUSY, "%s is in use: stop the run first", inner));
        RGM_GO(refuse_inner_runs(inner));
    }
done:
    rgm_free(inner);
    rgm_names_release(names, count);
    return status;
}

/* Two who remove the same folder would meet names that are gone: one of them has its lock, until it
 * ends. On a file system that locks no folders both try. */
static rgm_status hold_folder(int *fd, const char *path)
{
    *fd = rgmi_open(path, O_RDONLY | O_DIRECTORY);
    if (*fd < 0)
        return RGM_FAIL_SYSTEM("open the folder", path);
    if (flock(*fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
        return RGM_FAIL(RGM_ERR_BUSY, "another process deletes %s", path);
    return RGM_OK;
}

/* The lock of a run that nobody trains. A folder without that file gets one: else a trainer could
 * begin there meanwhile. */
static rgm_status hold_run(int *fd, const char *path)
{
    char *file = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&file, path, ".lock"));
    RGM_GO(rgm_path_refuse_pipe(file));
    *fd = rgmi_open(file, O_RDWR | O_CREAT);
    if (*fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", file));
    if (flock(*fd, LOCK_EX | LOCK_NB) < 0)
        RGM_GO(errno == EWOULDBLOCK
                   ? RGM_FAIL(RGM_ERR_BUSY, "%s is in use: stop the run first", path)
                   : RGM_FAIL_SYSTEM("lock", file));
done:
    rgm_free(file);
    return status;
}

/* Give the folder a name of the deleted, unless somebody trains inside. Who began there before it
 * got that name has its lock now, so that the second look finds him; who locks later sees that the
 * path does not lead to what he has locked, and begins in a new folder. */
static rgm_status take_away(const char *path, const char *gone)
{
    rgm_status status;

    RGM_TRY(refuse_inner_runs(path));
    if (rename(path, gone) < 0)
        return RGM_FAIL_SYSTEM("delete", path);
    status = refuse_inner_runs(gone);
    if (status != RGM_OK && rename(gone, path) < 0)
        status = rgm_error_prefix(status, "%s is called %s now", path, gone);
    return status;
}

rgm_status rgm_run_folder_delete(const char *path)
{
    char *folder = NULL, *parent = NULL, *gone = NULL;
    int held = -1, lock = -1;
    struct stat info;
    rgm_status status = RGM_OK;

    RGM_GO(without_slashes(&folder, path));
    if (lstat(folder, &info) < 0 || !S_ISDIR(info.st_mode) || !rgm_run_folder_exists(folder))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s is no run folder", path));
    RGM_GO(parent_of(&parent, folder));
    RGM_GO(rgm_strprintf(&gone, "%s/" DELETED "%ld-%lld", parent, (long)getpid(),
                         (long long)(rgm_wall_time() * 1e6)));
    RGM_GO(hold_folder(&held, folder));
    RGM_GO(hold_run(&lock, folder));
    RGM_GO(take_away(folder, gone));
    RGM_GO(rgm_folder_remove(gone));
    RGM_GO(rgm_run_folder_sweep(parent));
done:
    if (lock >= 0)
        close(lock);
    if (held >= 0)
        close(held);
    rgm_free(folder);
    rgm_free(parent);
    rgm_free(gone);
    return status;
}

/* DELETED, a number, a dash and a number. */
static bool is_deleted(const char *name)
{
    size_t digits;

    if (strncmp(name, DELETED, strlen(DELETED)) != 0)
        return false;
    name += strlen(DELETED);
    digits = strspn(name, "0123456789");
    if (digits == 0 || name[digits] != '-')
        return false;
    name += digits + 1;
    digits = strspn(name, "0123456789");
    return digits > 0 && name[digits] == 0;
}

static rgm_status remove_deleted(const char *gone)
{
    int held = -1, lock = -1;
    rgm_status status = hold_folder(&held, gone);

    if (status == RGM_ERR_BUSY) { /* it is being removed */
        rgm_error_reset();
        status = RGM_OK;
        goto done;
    }
    RGM_GO(status);
    RGM_GO(hold_run(&lock, gone));
    RGM_GO(refuse_inner_runs(gone));
    RGM_GO(rgm_folder_remove(gone));
done:
    if (lock >= 0)
        close(lock);
    if (held >= 0)
        close(held);
    return status;
}

rgm_status rgm_run_folder_sweep(const char *parent)
{
    char **names = NULL, *gone = NULL;
    int64_t count = 0;
    rgm_status status = rgm_folder_list(&names, &count, parent);

    if (status != RGM_OK && status != RGM_ERR_NOMEM) { /* who writes there will say so */
        rgm_error_reset();
        return RGM_OK;
    }
    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        if (!is_deleted(names[i]))
            continue;
        rgm_free(gone);
        gone = NULL;
        status = rgm_path_join(&gone, parent, names[i]);
        if (status == RGM_OK)
            status = remove_deleted(gone);
        if (status == RGM_OK || status == RGM_ERR_NOMEM)
            continue;
        if (rgm_path_exists(gone))
            rgm_log_write(RGM_LOG_WARNING, "%s is left of a run that was to be deleted: %s", gone,
                          rgm_error_message());
        rgm_error_reset();
        status = RGM_OK;
    }
    rgm_free(gone);
    rgm_names_release(names, count);
    return status;
}

rgm_status rgmi_sweep_beside(const char *path)
{
    char *folder = NULL, *parent = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(without_slashes(&folder, path));
    RGM_GO(parent_of(&parent, folder));
    RGM_GO(rgm_run_folder_sweep(parent));
done:
    rgm_free(folder);
    rgm_free(parent);
    return status;
}
