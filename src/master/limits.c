/*
 * Bounds that a search file sets: on a process' silence, on the time of a trial and of a search, on
 * the room of a search. What counts as time is work, not the time in which nobody served or all
 * waited: a trial's workloads, and for a search the time in which some trial's process ran.
 */
#include "master_internal.h"

#include <math.h>
#include <stdio.h>
#include <sys/stat.h>

enum {
    CHECK_S = 1,
    PUT_DOWN_S = 10,
    MOST_DEPTH = 64,
    LOOK_COST = 20 /* at most one part in so many of a master's time is for looking at room */
};

/* What its trial has done before, in the database; then what this process tells is added. */
static rgm_status find_worked(rgm_master *master, rgmi_process *p)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT (SELECT coalesce(sum(end_time - start_time), 0) FROM steps WHERE trial_id = t.id)"
        " + (SELECT coalesce(sum(end_time - start_time), 0) FROM validations WHERE trial_id ="
        " t.id) + (SELECT coalesce(sum(end_time - start_time), 0) FROM checkpoints WHERE trial_id ="
        " t.id) AS seconds FROM trials t WHERE t.id = ?",
        "i", p->trial));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_OK)
        p->worked = rgmi_rows_number(rows, 0);
    rgmi_rows_leave(rows);
    return status;
}

static void print_silence(char text[240], const rgmi_process *p, double seconds)
{
    if (p->is_job && !p->asked)
        snprintf(text, 240,
                 "its %s job %lld has run for %.0f s, and its process never spoke: its log may "
                 "tell why",
                 rgmi_job_scheduler(p), (long long)p->job, seconds);
    else
        snprintf(text, 240, "its process has said nothing and used no processor for %.0f s",
                 seconds);
}

static void warn_silent(rgmi_process *p, double most)
{
    char text[240];

    print_silence(text, p, rgm_now() - p->heard);
    rgm_log_write(RGM_LOG_WARNING,
                  "trial %lld: %s; it is ended after %g s (limits.silent_seconds; 0: never)",
                  (long long)p->trial, text, most);
    p->warned = true;
}

/* Its message is told as that of its failure. */
static void end_silent(rgm_master *master, rgmi_process *p, double most)
{
    char silence[240], text[320];

    rgmi_process_kill(master, p);
    print_silence(silence, p, rgm_now() - p->heard);
    snprintf(text, sizeof text, "%s; it was ended, for limits.silent_seconds is %g", silence, most);
    rgm_free(p->message);
    if (rgm_strdup(&p->message, text) != RGM_OK)
        p->message = NULL;
    p->failed = true;
    p->failure = RGMI_RUN_FAILED;
}

/* One that was told to end has nothing to do any more: that it does not is no failure of its
 * trial, and its slots are another's. */
static void keep_silence(rgm_master *master, rgmi_process *p, double most)
{
    double silent = rgm_now() - p->heard;

    if (p->terminated && silent > master->options.stop_seconds)
        rgmi_process_kill(master, p);
    else if (!p->terminated && most > 0 && silent > most)
        end_silent(master, p, most);
    else if (!p->terminated && !p->warned && most > 0 && silent > most / 2)
        warn_silent(p, most);
}

static rgm_status keep_time(rgm_master *master, rgmi_process *p, double most)
{
    double now = rgm_now();

    if (!(most > 0))
        return RGM_OK;
    if (p->worked < 0)
        RGM_TRY(find_worked(master, p));
    if (p->kill_at > 0 && now > p->kill_at)
        rgmi_process_kill(master, p);
    else if (p->kill_at <= 0 && p->worked + now - p->begun > most) {
        p->stops = true;
        p->kill_at = now + master->options.stop_seconds;
    }
    return RGM_OK;
}

/* What works on behind the end of its search, or hangs, keeps slots of which nothing comes. */
static void keep_end(rgm_master *master, rgmi_process *p, const rgmi_experiment *e)
{
    bool ends = e->state == RGM_WORK_STOPPING_COMPLETED || e->state == RGM_WORK_STOPPING_CANCELED;
    double now = rgm_now();

    if (!ends || p->ended || p->killed)
        return;
    if (p->leave_at <= 0)
        p->leave_at = now + master->options.stop_seconds;
    else if (now > p->leave_at)
        rgmi_process_kill(master, p);
}

/* A job that waits for its turn is silent, as it should be. */
static rgm_status keep_process(rgm_master *master, rgmi_process *p, const rgmi_experiment *e)
{
    const rgm_search_limits *limits = &rgm_search_file_settings(e->file)->limits;

    keep_end(master, p, e);
    if (!p->killed && rgmi_is_at_work(p))
        keep_silence(master, p, limits->silent_seconds);
    if (p->ended || p->killed || (p->is_job && !p->asked))
        return RGM_OK;
    return keep_time(master, p, limits->trial_seconds);
}

/* ---- searches ------------------------------------------------------------------------------- */

static rgm_status put_down(double *total, rgm_master *master, rgmi_experiment *e)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE experiments SET seconds = seconds + ? WHERE id = ?", "di",
                              e->seconds, e->id));
    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT seconds FROM experiments WHERE id = ?", "i", e->id));
    RGM_TRY(rgmi_rows_next(master->database, rows));
    *total = rgmi_rows_number(rows, 0);
    rgmi_rows_leave(rows);
    e->seconds = 0;
    return RGM_OK;
}

static rgm_status end_search(rgm_master *master, rgmi_experiment *e, double most)
{
    char text[120];
    double total = 0;

    RGM_TRY(put_down(&total, master, e));
    if (total <= most || e->state != RGM_WORK_ACTIVE)
        return RGM_OK;
    snprintf(text, sizeof text, "its time is over: limits.search_seconds is %g", most);
    RGM_TRY(rgmi_experiment_set_state(master, e, RGM_WORK_STOPPING_COMPLETED, text));
    return rgmi_experiment_flush(master, e);
}

/* So often that a bound is met to within a hundredth, or a second. */
static rgm_status keep_search(rgm_master *master, rgmi_experiment *e, double passed)
{
    double most = rgm_search_file_settings(e->file)->limits.search_seconds;
    double often = most / 100 < PUT_DOWN_S ? most / 100 : PUT_DOWN_S;

    if (!(most > 0) || rgmi_experiment_at_work(master, e->id) == 0)
        return RGM_OK;
    e->seconds += passed;
    if (e->seconds < often)
        return RGM_OK;
    RGM_TRY(rgmi_change_begin(master));
    return rgmi_change_end(master, end_search(master, e, most));
}

/* ---- room ----------------------------------------------------------------------------------- */

/* What a folder takes on the disk. What goes away meanwhile takes nothing. */
static rgm_status add_room(int64_t *bytes, const char *path, int depth)
{
    rgm_status status;
    struct stat info;
    char **names = NULL, *inner;
    int64_t count = 0;

    if (lstat(path, &info) != 0)
        return RGM_OK;
    *bytes += (int64_t)info.st_blocks * 512;
    if (!S_ISDIR(info.st_mode) || depth > MOST_DEPTH)
        return RGM_OK;
    status = rgm_folder_list(&names, &count, path);
    for (int64_t i = 0; i < count && status == RGM_OK; i++) {
        status = rgm_path_join(&inner, path, names[i]);
        if (status == RGM_OK)
            status = add_room(bytes, inner, depth + 1);
        rgm_free(status == RGM_OK ? inner : NULL);
    }
    rgm_names_release(names, count);
    return status == RGM_ERR_NOMEM ? status : RGM_OK;
}

static rgm_status find_room(int64_t *bytes, rgm_master *master, int64_t experiment)
{
    char *path = NULL;
    rgm_status status;

    *bytes = 0;
    RGM_TRY(rgm_strprintf(&path, "%s/%lld", master->options.folder, (long long)experiment));
    status = add_room(bytes, path, 0);
    rgm_free(path);
    return status;
}

/* Those that save before they end need so much more: as much as the largest that there is, each. */
static rgm_status find_need(int64_t *bytes, rgm_master *master, int64_t experiment)
{
    int64_t largest;

    RGM_TRY(rgmi_database_int(
        &largest, master->database, 0,
        "SELECT max(bytes) AS bytes FROM (SELECT (SELECT sum(value) FROM json_each(c.resources)) AS"
        " bytes FROM checkpoints c JOIN trials t ON t.id = c.trial_id WHERE t.experiment_id = ?)",
        "i", experiment));
    *bytes = rgmi_experiment_at_work(master, experiment) * largest;
    return RGM_OK;
}

static rgm_status pause_full(rgm_master *master, rgmi_experiment *e, int64_t used, int64_t need,
                             int64_t most)
{
    char text[300];

    snprintf(text, sizeof text,
             "its folder has %.4g MB, and the next checkpoints may need %.4g MB: limits.disk_bytes "
             "is %.4g MB; raise it by `experiment set`, or keep fewer checkpoints by `experiment "
             "set ID gc-policy`, and activate",
             (double)used / 1e6, (double)need / 1e6, (double)most / 1e6);
    rgm_log_write(RGM_LOG_WARNING, "experiment %lld is paused: %s", (long long)e->id, text);
    RGM_TRY(rgmi_experiment_set_state(master, e, RGM_WORK_PAUSED, text));
    return rgmi_experiment_flush(master, e);
}

/* Before its folder is full: what no rule keeps goes first. */
static rgm_status keep_room(rgm_master *master, rgmi_experiment *e)
{
    int64_t most = rgm_search_file_settings(e->file)->limits.disk_bytes, used = 0, need = 0;
    int64_t id = e->id;
    double begun = rgm_now();

    if (most == 0 || begun < e->disk_at || e->state != RGM_WORK_ACTIVE ||
        rgmi_experiment_at_work(master, id) == 0)
        return RGM_OK;
    RGM_TRY(find_need(&need, master, id));
    RGM_TRY(find_room(&used, master, id));
    if (used + need > most) {
        RGM_TRY(rgmi_collect(NULL, master, id, false, NULL));
        RGM_TRY(rgmi_experiment_get(&e, master, id)); /* a change may have thrown it away */
        RGM_TRY(find_room(&used, master, id));
    }
    e->disk_at = rgm_now() + fmax(LOOK_COST * (rgm_now() - begun), 0.1);
    if (used + need <= most)
        return RGM_OK;
    RGM_TRY(rgmi_change_begin(master));
    return rgmi_change_end(master, pause_full(master, e, used, need, most));
}

rgm_status rgmi_limits_keep(rgm_master *master)
{
    double now = rgm_now(), passed = now - master->checked;
    rgmi_experiment *e;

    if (passed < CHECK_S && master->checked > 0)
        return RGM_OK;
    passed = master->checked > 0 ? passed : 0;
    master->checked = now;
    for (int64_t i = 0; i < master->process_count; i++) {
        rgm_status status = rgmi_experiment_get(&e, master, master->processes[i].experiment);

        if (status == RGM_ERR_NOMEM || status == RGM_ERR_IO)
            return status;
        if (status == RGM_OK) /* else it is over, or cannot be read */
            RGM_TRY(keep_process(master, &master->processes[i], e));
    }
    for (int64_t i = master->experiment_count - 1; i >= 0; i--) { /* one that ends is forgotten */
        if (i < master->experiment_count)
            RGM_TRY(keep_search(master, master->experiments[i], passed));
        if (i < master->experiment_count)
            RGM_TRY(keep_room(master, master->experiments[i]));
    }
    return RGM_OK;
}
