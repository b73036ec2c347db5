/*
 * Processes of trials: started in a session of their own, watched by descriptor, told to end by the
 * answer to what they ask next. One that an earlier master left is known by its number, the time at
 * which it began, and what it was started with (run_processes.c).
 */
#include "launch.h"
#include "master_internal.h"

#include <regimen/search_exit.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    ORPHANED = 75,  /* exit status of a process that heard of no master for too long */
    UNLOADED = 127, /* ... of a program that a loader or shell could not begin       */
};

/* ---- slots ---------------------------------------------------------------------------------- */

static rgm_status take_slots(rgm_master *master, rgmi_process *p, int64_t count, int64_t pool)
{
    int64_t all = p->on_devices ? master->device_count : master->options.slots;
    bool *taken = p->on_devices ? master->device_taken : master->slot_taken;

    RGM_TRY(RGM_NEW(p->slots, count));
    for (int64_t i = 0; i < all && p->slot_count < count; i++)
        if (!taken[i] &&
            (p->on_devices || (!master->slot_drained[i] && master->machines->pool_of[i] == pool))) {
            taken[i] = true;
            p->slots[p->slot_count++] = i;
        }
    return p->slot_count == count
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_BUSY, "trial %lld needs %lld slots, and %lld are free",
                          (long long)p->trial, (long long)count, (long long)p->slot_count);
}

/* Where they stand in a timeline: devices behind the slots that are processors. */
static rgm_status print_lanes(rgm_text *out, const rgm_master *master, const rgmi_process *p)
{
    int64_t first = p->on_devices ? master->options.slots : 0;

    for (int64_t i = 0; i < p->slot_count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld", i > 0 ? "," : "", (long long)(first + p->slots[i])));
    return rgm_text_printf(out, "%s", "");
}

/* Those that it had under an earlier master, as far as there are so many now. */
static rgm_status read_slots(rgm_master *master, rgmi_process *p, const char *text)
{
    int64_t slot;
    int used;

    if (p->on_devices)
        return rgmi_devices_take(master, p, text);
    RGM_TRY(RGM_NEW(p->slots, (int64_t)strlen(text) + 1));
    for (; sscanf(text, "%" SCNd64 "%n", &slot, &used) == 1; text += used + (text[used] == ','))
        if (slot >= 0 && slot < master->options.slots && !master->slot_taken[slot]) {
            master->slot_taken[slot] = true;
            p->slots[p->slot_count++] = slot;
        }
    return RGM_OK;
}

/* ---- start ---------------------------------------------------------------------------------- */

static rgm_status spawn(rgmi_process *p, const rgmi_launch *l, int log)
{
    const rgm_process_setup setup = {.argv = (const char *const *)l->argv,
                                     .environment = (const char *const *)l->env,
                                     .folder = l->working_folder,
                                     .out = log,
                                     .error = log,
                                     .group = RGM_GROUP_SESSION};
    int code = rgm_process_start(&p->pid, &setup);

    errno = code;
    if (code != 0)
        return RGM_FAIL_SYSTEM("start", l->argv[0]);
    p->pidfd = pidfd_open(p->pid, 0);
    return p->pidfd >= 0 ? RGM_OK : RGM_FAIL_SYSTEM("watch", l->argv[0]);
}

static rgm_status put_down(rgm_master *master, const rgmi_process *p)
{
    rgm_status status = RGM_OK;
    rgm_text lanes = {0}, names = {0};

    RGM_GO(print_lanes(&lanes, master, p));
    if (p->on_devices)
        RGM_GO(rgmi_devices_print(&names, master, p));
    RGM_GO(rgmi_database_run(master->database,
                             "UPDATE trials SET run_token = ?, run_pid = ?, run_started = ?,"
                             " run_slots = ? WHERE id = ?",
                             "tiiti", p->token, (int64_t)p->pid, rgm_process_began(p->pid),
                             p->on_devices ? names.data : lanes.data, p->trial));
    RGM_GO(rgmi_database_run(master->database,
                             "INSERT INTO runs(trial_id, token, slots, start_time) VALUES(?, ?, ?,"
                             " ?)",
                             "ittd", p->trial, p->token, lanes.data, rgm_wall_time()));
done:
    rgm_text_clear(&lanes);
    rgm_text_clear(&names);
    return status;
}

rgm_status rgmi_process_start(rgmi_start_fault *fault, rgm_master *master, int64_t trial,
                              int64_t slots, int64_t pool)
{
    rgm_status status = RGM_OK;
    rgmi_process p = {.trial = trial,
                      .on_devices = pool == RGMI_DEVICES,
                      .pid = -1,
                      .pidfd = -1,
                      .status = -1,
                      .heard = rgm_now(),
                      .begun = rgm_now(),
                      .worked = -1};
    rgmi_launch l = {0};
    int log = -1;

    *fault = RGMI_START_CHANGE;
    RGM_GO(RGM_RESERVE(master->processes, master->process_capacity, master->process_count + 1));
    RGM_GO(rgm_random_hex(p.token));
    *fault = RGMI_START_EXPERIMENT;
    RGM_GO(take_slots(master, &p, slots, pool));
    p.width = p.slot_count;
    RGM_GO(rgmi_launch_prepare(&l, master, &p));
    *fault = RGMI_START_TRIAL;
    RGM_GO(rgmi_run_prepare(master, trial));
    RGM_GO(rgmi_launch_open_log(&log, &l));
    p.log_begin = lseek(log, 0, SEEK_END);
    *fault = RGMI_START_EXPERIMENT;
    RGM_GO(spawn(&p, &l, log));
    *fault = RGMI_START_CHANGE;
    /* It starts threads when it has been answered, which is later. */
    if (!p.on_devices && rgmi_slots_bind(&master->slots, p.slots, p.slot_count, p.pid) != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "trial %lld is not kept to its processors: %s",
                      (long long)trial, rgm_error_message());
    RGM_GO(put_down(master, &p));
    master->processes[master->process_count++] = p;
    rgmi_delay_forget(master, p.experiment, trial);
done:
    if (log >= 0)
        close(log);
    rgmi_launch_clear(&l);
    if (status != RGM_OK) {
        if (p.pid > 0) { /* nobody knows of it: it does nothing before it was answered */
            kill(p.pid, SIGKILL);
            waitpid(p.pid, NULL, 0);
        }
        rgmi_process_clear(master, &p);
    }
    return status;
}

void rgmi_processes_undo(rgm_master *master, int64_t first)
{
    while (master->process_count > first) {
        rgmi_process *p = &master->processes[master->process_count - 1];

        rgmi_process_kill(master, p);
        if (p->pid > 0)
            waitpid(p->pid, NULL, 0);
        rgmi_process_drop(master, master->process_count - 1);
    }
}

/* ---- take up again -------------------------------------------------------------------------- */

/* Its process, or none: another may have its number, and the folder may be a copy of a master's. */
static void watch_again(const rgm_master *master, rgmi_process *p, int64_t started)
{
    char variable[RGMI_RUN_ROOM];

    rgmi_run_print(variable, master, p->token);
    if (p->pid > 1)
        p->pidfd = pidfd_open(p->pid, 0);
    if (p->pidfd >= 0 &&
        (rgm_process_began(p->pid) != started || !rgmi_is_of_run(p->pid, variable))) {
        close(p->pidfd);
        p->pidfd = -1;
    }
}

static rgm_status adopt(rgm_master *master, rgmi_rows *rows)
{
    rgmi_process p = {.trial = rgmi_rows_int(rows, 0),
                      .experiment = rgmi_rows_int(rows, 1),
                      .pid = (pid_t)rgmi_rows_int(rows, 3),
                      .pidfd = -1,
                      .status = -1,
                      .heard = rgm_now(),
                      .begun = rgm_now(),
                      .worked = -1,
                      .adopted = true,
                      .is_job = rgmi_rows_int(rows, 6) >= 0,
                      .width = rgmi_rows_int(rows, 7),
                      .on_devices = rgmi_slot_is_device(rgmi_rows_text(rows, 9))};
    const char *slots = rgmi_rows_text(rows, 5);

    snprintf(p.token, sizeof p.token, "%s", rgmi_rows_text(rows, 2));
    if (p.is_job) {
        rgmi_job_adopt(&p, rgmi_rows_int(rows, 6));
        snprintf(p.scheduler, sizeof p.scheduler, "%s", rgmi_rows_text(rows, 8));
    }
    RGM_TRY(RGM_RESERVE(master->processes, master->process_capacity, master->process_count + 1));
    if (!p.is_job)
        watch_again(master, &p, rgmi_rows_int(rows, 4));
    rgm_status status = read_slots(master, &p, slots != NULL ? slots : "");
    if (!p.is_job)
        p.width = p.slot_count;
    if (status != RGM_OK)
        rgmi_process_clear(master, &p);
    else
        master->processes[master->process_count++] = p;
    return status;
}

rgm_status rgmi_processes_adopt(rgm_master *master)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT t.id, experiment_id, run_token, run_pid, run_started,"
                                " run_slots, coalesce(run_job, -1) AS run_job, slots_per_trial, "
                                "engine, slot_type FROM trials t"
                                " JOIN experiments e ON e.id = t.experiment_id WHERE run_token IS"
                                " NOT NULL",
                                ""));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK)
        RGM_GO(adopt(master, rows));
    if (status == RGM_END)
        status = rgmi_processes_reap(master);
done:
    rgmi_rows_leave(rows);
    return status;
}

/* ---- ends ----------------------------------------------------------------------------------- */

static bool has_ended(rgmi_process *p)
{
    struct pollfd look = {.fd = p->pidfd, .events = POLLIN};

    if (p->ended || p->is_job)
        return p->ended || p->job_over;
    if (p->pidfd >= 0 && poll(&look, 1, 0) <= 0)
        return false;
    if (p->pidfd < 0 || waitpid(p->pid, &p->status, WNOHANG) != p->pid)
        p->status = -1; /* an earlier master's: the system's first process takes its status */
    return true;
}

static bool is_final(int status)
{
    return WIFEXITED(status) && rgm_exit_is_final(WEXITSTATUS(status));
}

static rgm_status tell_end(rgm_master *master, rgmi_process *p)
{
    char text[RGMI_REASON_ROOM + 80];
    const char *message = p->message;
    char *of_log = NULL;
    bool orphaned = p->status != -1 && WIFEXITED(p->status) && WEXITSTATUS(p->status) == ORPHANED;
    bool unloaded = p->status != -1 && WIFEXITED(p->status) && WEXITSTATUS(p->status) == UNLOADED;
    rgmi_run_end how = p->failed                      ? p->failure
                       : p->kill_at > 0               ? RGMI_RUN_TIME
                       : p->terminated                ? RGMI_RUN_STOPPED
                       : p->is_job && !p->killed      ? rgmi_job_end(p)
                       : p->killed || p->status == -1 ? RGMI_RUN_LOST
                       : orphaned                     ? RGMI_RUN_LOST
                       : unloaded                     ? RGMI_RUN_MACHINE
                       : is_final(p->status)          ? RGMI_RUN_HOPELESS
                                                      : RGMI_RUN_FAILED;

    rgm_status status = rgmi_log_policy(&how, &of_log, master, p);

    if (of_log != NULL)
        message = of_log;
    if (how == RGMI_RUN_MACHINE && message == NULL)
        message =
            "its program could not begin (exit code 127): it or a library of it is missing, or "
            "is being replaced; what it wrote is in the trial's log";
    if (how == RGMI_RUN_HOPELESS && message == NULL) {
        snprintf(text, sizeof text,
                 "its process ended with exit code %d, which says that no other try can succeed; "
                 "its log may tell why",
                 WEXITSTATUS(p->status));
        message = text;
    }
    if (how == RGMI_RUN_FAILED && message == NULL) {
        if (p->is_job)
            snprintf(text, sizeof text, "its %s job %lld ended as %s%s%s, and was not told to",
                     rgmi_job_scheduler(p), (long long)p->job, rgmi_job_state_name(p->job_state),
                     p->job_reason[0] != 0 ? ": " : "", p->job_reason);
        else if (p->status != -1 && WIFSIGNALED(p->status))
            snprintf(text, sizeof text, "its process ended by signal %d (%s)", WTERMSIG(p->status),
                     strsignal(WTERMSIG(p->status)));
        else
            snprintf(text, sizeof text, "its process ended with exit code %d, and was not told to",
                     p->status != -1 ? WEXITSTATUS(p->status) : -1);
        message = text;
    }
    if (status == RGM_OK)
        status = rgmi_run_ended(master, p->experiment, p->trial, how, message);
    rgm_free(of_log);
    return status;
}

rgm_status rgmi_processes_reap(rgm_master *master)
{
    rgm_status status = RGM_OK;
    bool any = false;

    for (int64_t i = 0; i < master->process_count; i++) {
        rgmi_process *p = &master->processes[i];
        bool is_new = !p->ended;

        if (!has_ended(p))
            continue;
        any = p->ended = true;
        if (is_new && !p->is_job)
            rgmi_run_kill(master, p->token); /* what it has left running */
    }
    if (!any)
        return RGM_OK;
    RGM_TRY(rgmi_change_begin(master));
    for (int64_t i = 0; i < master->process_count && status == RGM_OK; i++)
        if (master->processes[i].ended)
            status = tell_end(master, &master->processes[i]);
    RGM_TRY(rgmi_change_end(master, status));
    for (int64_t i = master->process_count - 1; i >= 0; i--)
        if (master->processes[i].ended)
            rgmi_process_drop(master, i);
    return RGM_OK;
}
