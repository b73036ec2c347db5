/* The end of a run from outside: its process is asked to save. */
#include "store_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* "pid 12 on host here": who wrote it; 0: another machine's, or no such line. */
static pid_t read_holder(int fd)
{
    char text[320] = "", host[256] = "", *end;
    long pid;

    if (pread(fd, text, sizeof text - 1, 0) <= 0 || strncmp(text, "pid ", 4) != 0)
        return 0;
    gethostname(host, sizeof host - 1);
    text[strcspn(text, "\n")] = 0;
    pid = strtol(text + 4, &end, 10);
    if (pid <= 1 || pid != (pid_t)pid || strncmp(end, " on host ", 9) != 0 ||
        strcmp(end + 9, host) != 0)
        return 0;
    return (pid_t)pid;
}

/* Whether a process has this file open; one of another user does not tell. */
static bool has_open(pid_t pid, const struct stat *file)
{
    char path[64];
    DIR *folder;
    bool found = false;

    snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
    folder = opendir(path);
    if (folder == NULL)
        return false;
    for (const struct dirent *d; !found && (d = readdir(folder)) != NULL;) {
        struct stat info;

        found = fstatat(dirfd(folder), d->d_name, &info, 0) == 0 && S_ISREG(info.st_mode) &&
                info.st_dev == file->st_dev && info.st_ino == file->st_ino;
    }
    closedir(folder);
    return found;
}

/* A text of /proc/PID/NAME; its size, 0: not known. */
static int64_t read_process(char *out, int64_t room, pid_t pid, const char *name)
{
    char path[64];
    int64_t size = 0, n;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/%s", (long)pid, name);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && size < room - 1 && (n = read(fd, out + size, (size_t)(room - 1 - size))) > 0)
        size += n;
    if (fd >= 0)
        close(fd);
    out[size] = 0;
    return size;
}

/* `regimen run --restarts` starts a run that was ended by others again, so that it is the one to be
 * asked: the parent, by the same program and words. 0: there is none. */
static pid_t find_supervisor(pid_t pid)
{
    char text[4096], theirs[4096], exe[64];
    const char *behind;
    int64_t size;
    long parent = 0;
    ssize_t length;

    if (read_process(text, sizeof text, pid, "stat") == 0)
        return 0;
    behind = strrchr(text, ')'); /* "12 (name) S 11 ..." */
    if (behind == NULL || sscanf(behind + 1, " %*c %ld", &parent) != 1 || parent <= 1)
        return 0;
    snprintf(exe, sizeof exe, "/proc/%ld/exe", parent);
    length = readlink(exe, text, sizeof text - 1);
    if (length < 8)
        return 0;
    text[length] = 0;
    if (strcmp(text + length - 8, "/regimen") != 0)
        return 0;
    size = read_process(text, sizeof text, pid, "cmdline");
    if (size == 0 || read_process(theirs, sizeof theirs, (pid_t)parent, "cmdline") != size ||
        memcmp(text, theirs, (size_t)size) != 0)
        return 0;
    return (pid_t)parent;
}

/* The process is held by a descriptor while it is looked at: its number may go to another. */
static rgm_status signal_holder(int lock, const char *path)
{
    pid_t pid = read_holder(lock), supervisor;
    struct stat info;
    int process = -1, above = -1;
    rgm_status status = RGM_OK;

    if (fstat(lock, &info) < 0)
        return RGM_FAIL_SYSTEM("examine", path);
    if (pid > 0)
        process = (int)syscall(SYS_pidfd_open, pid, 0);
    supervisor = process >= 0 ? find_supervisor(pid) : 0;
    if (supervisor > 0)
        above = (int)syscall(SYS_pidfd_open, supervisor, 0);
    if (process < 0 || !has_open(pid, &info))
        status = RGM_FAIL(RGM_ERR_BUSY,
                          "the process that trains in %s is on another machine or another user's: "
                          "stop it where it runs",
                          path);
    else if (syscall(SYS_pidfd_send_signal, above >= 0 ? above : process, SIGTERM, NULL, 0) < 0)
        status = RGM_FAIL_SYSTEM("stop the process that trains in", path);
    if (process >= 0)
        close(process);
    if (above >= 0)
        close(above);
    return status;
}

rgm_status rgm_run_folder_stop(const char *path)
{
    char *file = NULL;
    int fd = -1;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_path_join(&file, path, ".lock"));
    RGM_GO(rgm_path_refuse_pipe(file));
    fd = rgmi_open(file, O_RDONLY);
    if (fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", file));
    if (flock(fd, LOCK_SH | LOCK_NB) == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "nobody trains in %s: it has ended", path));
    if (errno != EWOULDBLOCK)
        RGM_GO(RGM_FAIL_SYSTEM("examine", file));
    status = signal_holder(fd, path);
done:
    if (fd >= 0)
        close(fd);
    rgm_free(file);
    return status;
}
