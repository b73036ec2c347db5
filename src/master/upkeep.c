/*
 * What a master does beside its trials, so that a search of weeks fits where one of hours does:
 * checkpoints that no rule can want any more go while it is at work, logs keep their newest lines,
 * nothing new begins on a disk that is nearly full.
 */
#include "requests.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    DISK_S = 1,
    LOGS_S = 1,
    OLD_LOGS_S = 3600,
    COLLECT_COST = 20, /* of a turn's time, at most one part in so many is for collecting */
    COLLECT_AGAIN_S = 60
};

#define KEEP_FREE (INT64_C(1) << 30)
#define LOG_BYTES (INT64_C(256) << 20)

/* ---- checkpoints --------------------------------------------------------------------------- */

/* What cannot be removed now is no reason to stop a trial: it is told, and tried again later. */
static rgm_status collect_one(rgm_master *master, rgmi_experiment *e)
{
    int64_t id = e->id;
    double begun = rgm_now();
    rgm_status status = rgmi_collect(NULL, master, id, false, NULL);
    double again = fmax(COLLECT_COST * (rgm_now() - begun), 0.05);

    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK) {
        again = COLLECT_AGAIN_S;
        rgm_log_write(RGM_LOG_WARNING, "checkpoints of experiment %lld: %s; tried again after %d s",
                      (long long)id, rgm_error_message(), (int)COLLECT_AGAIN_S);
        rgm_error_reset();
    }
    status = rgmi_experiment_get(&e, master, id); /* a change that failed threw it away */
    if (status == RGM_OK) {
        e->has_garbage = again >= COLLECT_AGAIN_S;
        e->collect_at = rgm_now() + again;
    }
    return status == RGM_ERR_NOMEM ? status : RGM_OK;
}

static rgm_status collect_running(rgm_master *master)
{
    double now = rgm_now();

    for (int64_t i = 0; i < master->experiment_count; i++) {
        rgmi_experiment *e = master->experiments[i];

        if (e->has_garbage && now >= e->collect_at && !rgmi_is_left(master, e->id))
            return collect_one(master, e); /* the list may be another one now */
    }
    return RGM_OK;
}

/* ---- the disk ------------------------------------------------------------------------------ */

static void print_reason(char *out, size_t room, const char *folder, double free, double wanted)
{
    snprintf(out, room,
             "the disk of '%.600s' has %.1f GB free, less than the %.1f GB that are kept free "
             "(regimen master --keep-free): no trial is started",
             folder, free / 1e9, wanted / 1e9);
}

static void look_at_disk(rgm_master *master)
{
    const rgm_master_options *o = &master->options;
    char reason[RGMI_REASON_ROOM] = "";
    bool was_full = master->disk_reason[0] != 0;
    struct statvfs info;
    double free, wanted;

    if (o->keep_free < 0 || rgm_now() < master->disk_looked + DISK_S)
        return;
    master->disk_looked = rgm_now();
    if (statvfs(o->folder, &info) != 0)
        return; /* what is wrong with the folder, others will say */
    free = (double)info.f_bavail * (double)info.f_frsize;
    wanted = o->keep_free > 0
                 ? (double)o->keep_free
                 : fmin((double)KEEP_FREE, 0.01 * (double)info.f_blocks * (double)info.f_frsize);
    if (free < wanted)
        print_reason(reason, sizeof reason, o->folder, free, wanted);
    if (was_full != (reason[0] != 0)) {
        rgm_log_write(was_full ? RGM_LOG_INFO : RGM_LOG_WARNING, "%s",
                      was_full ? "there is room on the disk again: trials are started" : reason);
        master->changed = true; /* who waits, and why, is another matter now */
    }
    memcpy(master->disk_reason, reason, sizeof reason);
}

/* ---- logs ---------------------------------------------------------------------------------- */

int64_t rgmi_log_front(int fd)
{
    off_t first = lseek(fd, 0, SEEK_DATA);

    return first > 0 ? (int64_t)first : 0; /* an error: no such file system, or an empty file */
}

/* The process goes on writing at the end, so the file stays and its front becomes a hole: every
 * byte keeps its place, which is what those who follow a log ask by. An eighth more than the bound
 * may be there, so that it is done rarely. */
static void bound_log(const char *path, int64_t most)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat info;
    int64_t begin;

    if (fd < 0)
        return;
    begin = rgmi_log_front(fd);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_size - begin > most + most / 8 &&
        fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, info.st_size - most) != 0)
        rgm_log_write(RGM_LOG_WARNING, "'%s' cannot be bounded to %lld bytes: %s", path,
                      (long long)most, strerror(errno));
    close(fd);
}

static rgm_status bound_logs(rgm_master *master)
{
    int64_t most = master->options.log_bytes > 0 ? master->options.log_bytes : LOG_BYTES;

    if (master->options.log_bytes < 0 || rgm_now() < master->logs_looked + LOGS_S)
        return RGM_OK;
    master->logs_looked = rgm_now();
    for (int64_t i = 0; i < master->process_count; i++) {
        const rgmi_process *p = &master->processes[i];
        int64_t number;
        char *path;

        RGM_TRY(rgmi_database_int(&number, master->database, 0,
                                  "SELECT number FROM trials WHERE id = ?", "i", p->trial));
        RGM_TRY(rgmi_master_path(&path, master, p->experiment, number, "trial.log"));
        bound_log(path, most);
        rgm_free(path);
    }
    return RGM_OK;
}

static rgm_status remove_logs(rgm_master *master, int64_t experiment)
{
    rgmi_rows *rows;
    rgm_status status;
    char *path = NULL;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT number FROM trials WHERE experiment_id = ?", "i",
                                experiment));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        rgm_free(path);
        RGM_GO(rgmi_master_path(&path, master, experiment, rgmi_rows_int(rows, 0), "trial.log"));
        if (unlink(path) != 0 && errno != ENOENT && errno != ENOTDIR)
            RGM_GO(RGM_FAIL_SYSTEM("remove", path));
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    rgm_free(path);
    RGM_TRY(status);
    RGM_TRY(rgmi_change_begin(master));
    return rgmi_change_end(master,
                           rgmi_database_run(master->database,
                                             "UPDATE experiments SET logs_removed = 1 WHERE id = ?",
                                             "i", experiment));
}

/* One experiment's a turn, until none is left for an hour. */
static rgm_status remove_old_logs(rgm_master *master)
{
    int64_t id;
    rgm_status status;

    if (!(master->options.log_days > 0) || rgm_now() < master->old_logs_at)
        return RGM_OK;
    RGM_TRY(rgmi_database_int(&id, master->database, 0,
                              "SELECT id FROM experiments WHERE NOT logs_removed AND state IN"
                              " " RGMI_SQL_OVER " AND end_time < ? ORDER BY id LIMIT 1",
                              "d", rgm_wall_time() - 86400 * master->options.log_days));
    if (id == 0) {
        master->old_logs_at = rgm_now() + OLD_LOGS_S;
        return RGM_OK;
    }
    status = remove_logs(master, id);
    if (status == RGM_OK || status == RGM_ERR_NOMEM)
        return status;
    rgm_log_write(RGM_LOG_WARNING, "logs of experiment %lld: %s; tried again after an hour",
                  (long long)id, rgm_error_message());
    rgm_error_reset();
    master->old_logs_at = rgm_now() + OLD_LOGS_S;
    return RGM_OK;
}

rgm_status rgmi_upkeep(rgm_master *master)
{
    look_at_disk(master);
    RGM_TRY(bound_logs(master));
    RGM_TRY(remove_old_logs(master));
    return collect_running(master);
}
