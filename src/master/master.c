/*
 * A master: its folder, its lock, its database.
 */
#include "master_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- the lock ------------------------------------------------------------------------------- */

enum { LOCK_MS = 2000, LISTENS_MS = 500, LOCK_PAUSE_MS = 10 };

/* One that is held for a request, by who does not listen, is free in a moment. So is that of a
 * master that was killed while it started a process: until that has become another program it has
 * lock and socket, and whoever connects to it gets no answer but a connection. 0, or an errno. */
static int lock_soon(const rgm_master *master, int fd)
{
    int listened = 0;

    for (int waited = 0;; waited += LOCK_PAUSE_MS) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK)
            return errno;
        listened = rgmi_socket_answers(master->folder_fd) ? listened + LOCK_PAUSE_MS : 0;
        if (waited >= LOCK_MS || listened >= LISTENS_MS)
            return EWOULDBLOCK;
        nanosleep(&(struct timespec){.tv_nsec = LOCK_PAUSE_MS * 1000000L}, NULL);
    }
}

/* The folder's own lock too: somebody may remove the file. A file system that locks no folders has
 * the file's alone. */
static bool lock_both(rgm_master *master)
{
    if (lock_soon(master, master->lock_fd) != 0)
        return false;
    master->folder_lock_fd = open(master->options.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return master->folder_lock_fd < 0 || lock_soon(master, master->folder_lock_fd) != EWOULDBLOCK;
}

static rgm_status take_lock(rgm_master *master)
{
    char *path = NULL, who[320] = "", host[256] = "?", line[320];
    rgm_status status = RGM_OK;
    ssize_t size;

    RGM_GO(rgm_path_join(&path, master->options.folder, "master.lock"));
    master->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (master->lock_fd < 0)
        RGM_GO(RGM_FAIL_SYSTEM("open", path));
    if (!lock_both(master)) {
        size = pread(master->lock_fd, who, sizeof who - 1, 0);
        who[size > 0 ? size : 0] = 0;
        who[strcspn(who, "\n")] = 0;
        RGM_GO(RGM_FAIL(RGM_ERR_BUSY, "'%s' is in use by another master%s%s",
                        master->options.folder, who[0] != 0 ? ": " : "", who));
    }
    gethostname(host, sizeof host - 1);
    snprintf(line, sizeof line, "process %ld on %s\n", (long)getpid(), host);
    /* Who it is, for messages alone: nothing depends on it. */
    if (ftruncate(master->lock_fd, 0) != 0 ||
        pwrite(master->lock_fd, line, strlen(line), 0) != (ssize_t)strlen(line))
        RGM_GO(RGM_FAIL_SYSTEM("write", path));
done:
    rgm_free(path);
    return status;
}

/* ---- options -------------------------------------------------------------------------------- */

static rgm_status read_slots(rgm_master *master)
{
    rgm_master_options *o = &master->options;
    rgm_status status = RGM_OK;
    rgmi_cpu *cpus = NULL;
    int64_t count;

    master->asked_threads = o->threads_per_slot;
    RGM_GO(rgmi_cpus_find(&cpus, &count, "/sys/devices/system/cpu"));
    RGM_GO(rgmi_slots_divide(&master->slots, cpus, count, o->slots, o->threads_per_slot));
    o->slots = master->slots.num_slots;
    o->threads_per_slot = master->slots.threads;
    o->stop_seconds = o->stop_seconds > 0 ? o->stop_seconds : 300;
    o->orphan_seconds = o->orphan_seconds > 0 ? o->orphan_seconds : 600;
    RGM_GO(RGM_NEW(master->slot_taken, o->slots));
    RGM_GO(RGM_NEW(master->slot_drained, o->slots));
done:
    rgm_free(cpus);
    return status;
}

static rgm_status copy_command(rgm_master *master, const char *const *command)
{
    int64_t count = 0;

    if (command == NULL)
        return RGM_OK;
    while (command[count] != NULL)
        count++;
    RGM_TRY(RGM_NEW(master->command, count + 1));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_strdup(&master->command[i], command[i]));
    return RGM_OK;
}

/* Those that it was told: what cannot be is a mistake of who opens it. */
static rgm_status find_own_devices(rgm_master *master)
{
    rgm_status status = rgmi_devices_find(master);

    return status == RGM_OK || status == RGM_ERR_NOMEM
               ? status
               : RGM_FAIL(RGM_ERR_CONFIG, "slots of the type gpu (resources.slot_type): %s",
                          rgm_error_message());
}

static rgm_status open_folder(rgm_master *master, const rgm_master_options *options)
{
    char *folder = NULL;

    master->options = *options;
    master->options.folder = NULL;
    master->options.listen = NULL;
    master->options.devices = NULL;
    master->options.trial_command = NULL;
    if (options->folder == NULL || options->folder[0] == 0)
        return RGM_FAIL(RGM_ERR_ARG, "a master needs a folder");
    RGM_TRY(read_slots(master));
    if (options->listen != NULL)
        RGM_TRY(rgm_strdup((char **)&master->options.listen, options->listen));
    if (options->devices != NULL) {
        RGM_TRY(rgm_strdup((char **)&master->options.devices, options->devices));
        RGM_TRY(find_own_devices(master));
    }
    RGM_TRY(copy_command(master, options->trial_command));
    RGM_TRY(rgm_folder_make(options->folder));
    char *resolved = realpath(options->folder, NULL);
    if (resolved == NULL)
        return RGM_FAIL_SYSTEM("find", options->folder);
    rgm_status status = rgm_strdup(&folder, resolved);
    free(resolved);
    RGM_TRY(status);
    master->options.folder = folder;
    master->folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return master->folder_fd >= 0 ? RGM_OK : RGM_FAIL_SYSTEM("open", folder);
}

/* ---- open and close ------------------------------------------------------------------------- */

rgm_status rgm_master_open(rgm_master **out, const rgm_master_options *options)
{
    rgm_status status = RGM_OK;
    rgm_master *master = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(master, 1));
    master->lock_fd = master->folder_lock_fd = master->folder_fd = master->wake_fd = -1;
    pthread_mutex_init(&master->lock, NULL);
    pthread_mutex_init(&master->tokens_lock, NULL);
    pthread_cond_init(&master->jobs_wake, NULL);
    pthread_cond_init(&master->hooks_wake, NULL);
    RGM_GO(open_folder(master, options));
    RGM_GO(take_lock(master));
    RGM_GO(rgm_path_join(&master->database_path, master->options.folder, "master.db"));
    RGM_GO(rgmi_database_open(&master->database, master->database_path));
    RGM_GO(rgmi_tokens_load(master));
    RGM_GO(rgmi_machines_load(&master->machines, master->options.folder, master->options.slots));
    RGM_GO(rgmi_slots_load(master));
    RGM_GO(rgmi_processes_adopt(master));
    *out = master;
    master = NULL;
done:
    rgm_master_close(master);
    return status;
}

void rgm_master_close(rgm_master *master)
{
    if (master == NULL)
        return;
    rgmi_processes_forget(master);
    rgmi_experiments_forget(master);
    rgmi_database_close(master->database);
    rgmi_waiting_clear(master);
    rgm_free(master->waiting);
    rgm_free(master->shares);
    rgm_free(master->uncollected);
    for (int64_t i = 0; master->command != NULL && master->command[i] != NULL; i++)
        rgm_free(master->command[i]);
    rgm_free(master->command);
    rgm_free(master->experiments);
    rgm_free(master->processes);
    rgm_free(master->slot_taken);
    rgm_free(master->slot_drained);
    rgmi_machines_release(master->machines);
    rgm_free(master->held_jobs);
    rgm_free(master->delays);
    rgm_free(master->left);
    rgmi_slots_clear(&master->slots);
    rgmi_devices_clear(master);
    rgm_free((char *)master->options.devices);
    rgm_free(master->database_path);
    rgm_free(master->token);
    rgm_free(master->tokens);
    rgm_free((char *)master->options.listen);
    rgm_free((char *)master->options.folder);
    if (master->folder_fd >= 0)
        close(master->folder_fd);
    if (master->folder_lock_fd >= 0)
        close(master->folder_lock_fd);
    if (master->lock_fd >= 0)
        close(master->lock_fd); /* and unlocks: last, when nothing is written any more */
    pthread_cond_destroy(&master->jobs_wake);
    pthread_cond_destroy(&master->hooks_wake);
    pthread_mutex_destroy(&master->lock);
    pthread_mutex_destroy(&master->tokens_lock);
    rgm_free(master);
}
