/*
 * A master at work: turns of taking notice of what ended, sharing slots out and starting what may
 * start; between them requests are answered. At the end every trial is asked to stop, and given
 * time.
 */
#include "master_internal.h"
#include "scheduler.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define AHEAD ((int64_t)1 << 52) /* so much older counts a trial that was asked for */

enum {
    TURN_MS = 200,
    RETRY_S = 1,
    LONGEST_RETRY_S = 30,
    MOST_TRIES = 3, /* to put down the ends of the last trials */
    HOOKS_S = 5     /* for what webhooks are yet to be told, at the end */
};

/* ---- who waits, who runs -------------------------------------------------------------------- */

/* What the schedule is asked about: groups with their tasks, which lie one behind the other. */
typedef struct question {
    int64_t pool; /* whose slots are shared out, or RGMI_DEVICES ... */
    rgmi_group *groups;
    rgmi_task *tasks;
    int64_t *first; /* of a group's tasks; pointers are set at the end, for arrays grow */
    int64_t group_count, group_capacity, first_capacity, task_count, task_capacity;
    int64_t slots;        /* ... and how many there are              */
    const char *why_none; /* there is no device, and why; NULL: there is    */
} question;

static void clear_question(question *q)
{
    rgm_free(q->groups);
    rgm_free(q->tasks);
    rgm_free(q->first);
}

/* Slots that are drained, or of another pool, are held all the same. */
static rgm_status add_running(question *q, const rgm_master *master, int64_t experiment,
                              bool is_active)
{
    rgmi_group *group = &q->groups[q->group_count - 1];

    for (int64_t i = 0; i < master->process_count; i++) {
        const rgmi_process *p = &master->processes[i];

        if (p->experiment != experiment || p->ended)
            continue;
        RGM_TRY(RGM_RESERVE(q->tasks, q->task_capacity, q->task_count + 1));
        q->tasks[q->task_count++] = (rgmi_task){
            .id = p->trial,
            .order = p->trial,
            .slots = rgmi_slots_held(master, p, q->pool),
            .state = p->stops || p->killed || p->terminated || !is_active ? RGMI_TASK_STOPPING
                                                                          : RGMI_TASK_RUNNING};
        group->beside += p->slot_count - q->tasks[q->task_count - 1].slots;
    }
    return RGM_OK;
}

static rgm_status note_delay(rgm_master *master, int64_t trial, int64_t experiment,
                             const rgmi_delay *delay)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_delay_print(&text, delay));
    RGM_GO(rgmi_waiting_note(master, trial, experiment, text.data));
done:
    rgm_text_clear(&text);
    return status;
}

/* No more of them than could start at all: the others wait behind these. */
static rgm_status add_waiting(question *q, rgm_master *master, int64_t experiment, int64_t slots)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT id, ahead FROM trials WHERE experiment_id = ? AND wants AND"
                                " run_token IS NULL ORDER BY ahead DESC, number LIMIT ?",
                                "ii", experiment, q->slots + 1 + master->delay_count));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        int64_t id = rgmi_rows_int(rows, 0);
        const rgmi_delay *delay = rgmi_delay_of(master, experiment, id);

        if (rgmi_process_of(master, id) != NULL)
            continue;
        if (master->disk_reason[0] != 0) {
            RGM_GO(rgmi_waiting_note(master, id, experiment, master->disk_reason));
            continue;
        }
        if (delay != NULL) {
            RGM_GO(note_delay(master, id, experiment, delay));
            continue;
        }
        RGM_GO(RGM_RESERVE(q->tasks, q->task_capacity, q->task_count + 1));
        q->tasks[q->task_count++] =
            (rgmi_task){.id = id,
                        .order = rgmi_rows_int(rows, 1) != 0 ? id - AHEAD : id,
                        .slots = slots,
                        .state = RGMI_TASK_PENDING};
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}

static rgm_status add_group(question *q, rgm_master *master, rgmi_rows *rows)
{
    int64_t id = rgmi_rows_int(rows, 0), slots = rgmi_rows_int(rows, 2);
    int64_t max_slots = rgmi_rows_int(rows, 3);
    bool is_active =
        strcmp(rgmi_rows_text(rows, 1), RGMI_NAME_ACTIVE) == 0 && !rgmi_is_left(master, id);

    RGM_TRY(RGM_RESERVE(q->groups, q->group_capacity, q->group_count + 1));
    RGM_TRY(RGM_RESERVE(q->first, q->first_capacity, q->group_count + 2));
    q->first[q->group_count] = q->task_count;
    q->groups[q->group_count++] = (rgmi_group){.id = id,
                                               .order = id,
                                               .weight = rgmi_rows_number(rows, 4),
                                               .max_slots = max_slots > 0 ? max_slots : -1,
                                               .priority = rgmi_rows_int(rows, 5)};
    RGM_TRY(add_running(q, master, id, is_active));
    if (is_active)
        RGM_TRY(add_waiting(q, master, id, slots));
    q->first[q->group_count] = q->task_count;
    return RGM_OK;
}

static rgm_status ask(question *q, rgm_master *master)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT id, state, slots_per_trial, max_slots, weight, priority FROM experiments WHERE"
        " engine = 'local' AND slot_type = ? AND pool = ? AND state NOT IN " RGMI_SQL_OVER
        " ORDER BY id",
        "tt", rgm_slot_type_names[q->pool == RGMI_DEVICES ? RGM_SLOT_GPU : RGM_SLOT_CPU],
        q->pool == RGMI_DEVICES ? "" : master->machines->pools[q->pool].name));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK)
        RGM_GO(add_group(q, master, rows));
    if (status == RGM_END)
        status = RGM_OK;
    for (int64_t i = 0; i < q->group_count; i++) {
        q->groups[i].tasks = q->tasks + q->first[i];
        q->groups[i].num_tasks = q->first[i + 1] - q->first[i];
    }
done:
    rgmi_rows_leave(rows);
    return status;
}

static bool is_asked_about(const question *q, const rgmi_process *p)
{
    for (int64_t g = 0; g < q->group_count && !p->ended; g++)
        if (q->groups[g].id == p->experiment)
            return true;
    return false;
}

/* Slots of the pool that processes of no group have: of an experiment of another pool, taken up
 * under a master's file that has changed since, or of one that is over and whose end they are about
 * to hear of. */
static int64_t held_by_others(const question *q, const rgm_master *master)
{
    int64_t held = 0;

    for (int64_t i = 0; i < master->process_count; i++) {
        int64_t slots = rgmi_slots_held(master, &master->processes[i], q->pool);

        held += slots > 0 && !is_asked_about(q, &master->processes[i]) ? slots : 0;
    }
    return held;
}

/* ---- what is done about it ------------------------------------------------------------------ */

/* Of the slots that were shared out there are not so many, which may be a part of the machine's. */
static rgm_status print_too_wide(rgm_text *out, const rgm_master *master, const question *q,
                                 const rgmi_reason *reason)
{
    const char *pool = q->pool > 0 ? master->machines->pools[q->pool].name : NULL;

    if (q->pool == RGMI_DEVICES || master->machines->pool_count == 1)
        return rgmi_reason_print(out, reason);
    RGM_TRY(rgm_text_printf(out, "needs %lld slot%s, ", (long long)reason->needed,
                            reason->needed == 1 ? "" : "s"));
    if (pool != NULL)
        return rgm_text_printf(out, "pool '%s' has %lld: it can never start", pool,
                               (long long)reason->total);
    return rgm_text_printf(out, "%lld %s in no pool, and it names none: it can never start",
                           (long long)reason->total, reason->total == 1 ? "is" : "are");
}

static rgm_status note_waiting(rgm_master *master, const question *q, int64_t trial,
                               int64_t experiment, const rgmi_reason *reason)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    if (q->why_none != NULL)
        RGM_GO(rgm_text_printf(&text, "waits for a device: %s", q->why_none));
    else if (reason->kind == RGMI_REASON_MORE) /* of slots, where machines do not come */
        RGM_GO(rgm_text_printf(
            &text,
            "needs %lld slot%s: %lld are there, and the others are drained or held by trials of "
            "another pool",
            (long long)reason->needed, reason->needed == 1 ? "" : "s", (long long)reason->total));
    else if (reason->kind == RGMI_REASON_TOO_WIDE)
        RGM_GO(print_too_wide(&text, master, q, reason));
    else
        RGM_GO(rgmi_reason_print(&text, reason));
    RGM_GO(rgmi_waiting_note(master, trial, experiment, text.data));
done:
    rgm_text_clear(&text);
    return status;
}

/* What the machine, or what is stored, does not let start waits for a while: others do not. */
static rgm_status start(rgm_master *master, int64_t experiment, const rgmi_task *task, int64_t pool)
{
    const rgmi_delay *delay = rgmi_delay_of(master, experiment, task->id);
    rgmi_start_fault fault;
    rgm_status status;

    if (delay == NULL) {
        status = rgmi_process_start(&fault, master, task->id, task->slots, pool);
        if (status == RGM_OK || fault == RGMI_START_CHANGE)
            return status;
        rgmi_delay_note(master, experiment,
                        fault == RGMI_START_TRIAL && !rgm_error_is_of_the_machine() ? task->id : 0,
                        rgm_error_message());
        delay = rgmi_delay_of(master, experiment, task->id);
    }
    master->again = true; /* others may have its slots */
    return delay != NULL ? note_delay(master, task->id, experiment, delay) : RGM_OK;
}

static rgm_status carry_out(rgm_master *master, const question *q, const rgmi_schedule_plan *plan)
{
    int64_t at = 0;

    for (int64_t g = 0; g < q->group_count; g++)
        for (int64_t t = 0; t < q->groups[g].num_tasks; t++, at++) {
            const rgmi_task *task = &q->groups[g].tasks[t];
            const rgmi_decision *decision = &plan->tasks[at];

            if (decision->verdict == RGMI_START)
                RGM_TRY(start(master, q->groups[g].id, task, q->pool));
            else if (decision->verdict == RGMI_STOP && rgmi_process_of(master, task->id) != NULL)
                rgmi_process_of(master, task->id)->stops = true;
            else if (decision->verdict == RGMI_WAIT)
                RGM_TRY(note_waiting(master, q, task->id, q->groups[g].id, &decision->reason));
        }
    return RGM_OK;
}

/* What each was offered, for GET /shares. */
static rgm_status note_shares(rgm_master *master, const question *q, const rgmi_schedule_plan *plan)
{
    if (plan->offers == NULL)
        return RGM_OK;
    RGM_TRY(
        RGM_RESERVE(master->shares, master->share_capacity, master->share_count + q->group_count));
    for (int64_t g = 0; g < q->group_count; g++)
        master->shares[master->share_count++] = (rgmi_share){q->groups[g].id, plan->offers[g]};
    return RGM_OK;
}

/* Trials of a pool that the master's file has no more. */
static rgm_status note_no_pool(rgm_master *master)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT e.id, pool, coalesce((SELECT min(id) FROM trials WHERE experiment_id"
        " = e.id AND wants AND run_token IS NULL), 0) AS trial FROM experiments"
        " e WHERE pool <> '' AND engine = 'local' AND state"
        " = " RGMI_SQL(ACTIVE),
        ""));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        if (rgmi_rows_int(rows, 2) == 0 ||
            rgmi_machines_pool(master->machines, rgmi_rows_text(rows, 1)) >= 0)
            continue;
        rgmi_machines_no_pool(master->machines, rgmi_rows_text(rows, 1));
        RGM_GO(rgmi_waiting_note(master, rgmi_rows_int(rows, 2), rgmi_rows_int(rows, 0),
                                 rgm_error_message()));
        rgm_error_reset();
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}

/* A folder that is gone on with where there is no device leaves those who want one waiting: now and
 * then it is looked again. */
static rgm_status find_devices(question *q, rgm_master *master)
{
    rgm_status status = RGM_OK;

    if (master->device_count == 0 && rgm_now() >= master->look_for_devices_at)
        status = rgmi_devices_find(master);
    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK) {
        snprintf(master->why_no_device, sizeof master->why_no_device, "%s", rgm_error_message());
        rgm_error_reset();
        master->look_for_devices_at = rgm_now() + LONGEST_RETRY_S;
    }
    q->slots = master->device_count;
    q->why_none = master->device_count == 0 ? master->why_no_device : NULL;
    return RGM_OK;
}

static rgm_status count_slots(question *q, rgm_master *master)
{
    int64_t wanted;

    q->slots = q->pool == RGMI_DEVICES ? 0 : rgmi_slots_of_pool(master, q->pool);
    if (q->pool != RGMI_DEVICES)
        return RGM_OK;
    RGM_TRY(rgmi_database_int(&wanted, master->database, 0,
                              "SELECT count(*) FROM experiments WHERE engine = 'local' AND"
                              " slot_type = 'gpu' AND state NOT IN " RGMI_SQL_OVER,
                              ""));
    return wanted > 0 ? find_devices(q, master) : RGM_OK;
}

/* The slots of a pool, or devices, among the experiments that are to have them; in a change under
 * way. */
static rgm_status share_pool(rgm_master *master, int64_t pool)
{
    question q = {.pool = pool};
    rgmi_rules rules = {.policy = master->options.scheduling == RGM_PRIORITY ? RGMI_PRIORITY
                                                                             : RGMI_FAIR_SHARE,
                        .preemption = master->options.preemption};
    rgmi_schedule_plan plan = {0};
    rgm_status status = RGM_OK;

    RGM_GO(count_slots(&q, master));
    RGM_GO(ask(&q, master));
    q.slots -= held_by_others(&q, master);
    rules.may_grow = q.slots < (pool == RGMI_DEVICES
                                    ? master->device_count
                                    : master->machines->pools[pool].slot_count); /* it comes back */
    RGM_GO(rgmi_schedule(&plan, &rules, &q.slots, 1, q.groups, q.group_count));
    RGM_GO(note_shares(master, &q, &plan));
    RGM_GO(carry_out(master, &q, &plan));
done:
    rgmi_plan_clear(&plan);
    clear_question(&q);
    return status;
}

static rgm_status share_out(rgm_master *master)
{
    int64_t had = master->process_count;
    rgm_status status;

    rgmi_waiting_clear(master);
    master->share_count = 0;
    RGM_TRY(rgmi_change_begin(master));
    status = note_no_pool(master);
    for (int64_t pool = 0; pool < master->machines->pool_count && status == RGM_OK; pool++)
        status = share_pool(master, pool);
    if (status == RGM_OK)
        status = share_pool(master, RGMI_DEVICES);
    if (status == RGM_OK)
        status = rgmi_jobs_share_out(master);
    status = rgmi_change_end(master, status);
    if (status != RGM_OK)
        rgmi_processes_undo(master, had);
    return status;
}

/* ---- turns ---------------------------------------------------------------------------------- */

/* The first one behind another that is over and not looked through; RGM_END: there is none. */
static rgm_status next_uncollected(int64_t *id, rgm_master *master, int64_t behind)
{
    rgmi_rows *rows;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT id FROM experiments WHERE id > ? AND NOT collected AND"
                                " state IN " RGMI_SQL_OVER " ORDER BY id LIMIT 1",
                                "i", behind));
    rgm_status status = rgmi_rows_next(master->database, rows);
    if (status != RGM_OK)
        return status;
    *id = rgmi_rows_int(rows, 0);
    rgmi_rows_leave(rows);
    return RGM_OK;
}

static bool was_told(const rgm_master *master, int64_t experiment)
{
    for (int64_t i = 0; i < master->uncollected_count; i++)
        if (master->uncollected[i] == experiment)
            return true;
    return false;
}

/* What rows say of its checkpoints cannot be: nothing is removed, which is told once, and the
 * others have their turn. */
static rgm_status leave_uncollected(rgm_master *master, int64_t experiment)
{
    RGM_TRY(RGM_RESERVE(master->uncollected, master->uncollected_capacity,
                        master->uncollected_count + 1));
    master->uncollected[master->uncollected_count++] = experiment;
    rgm_log_write(RGM_LOG_ERROR, "checkpoints of experiment %lld are left as they are: %s",
                  (long long)experiment, rgm_error_message());
    return RGM_OK;
}

/* One whose files cannot be removed now keeps no other from it. */
static rgm_status collect_ended(rgm_master *master)
{
    int64_t id = 0;
    rgm_status status;

    while ((status = next_uncollected(&id, master, id)) == RGM_OK) {
        if (was_told(master, id) || rgmi_delay_of(master, id, 0) != NULL)
            continue;
        status = rgmi_collect(NULL, master, id, false, NULL);
        if (status == RGM_ERR_NOMEM)
            return status;
        if (status == RGM_ERR_FORMAT)
            RGM_TRY(leave_uncollected(master, id));
        else if (status != RGM_OK)
            rgmi_delay_note(master, id, 0, rgm_error_message());
        else
            rgmi_delay_forget(master, id, -1);
    }
    return status == RGM_END ? RGM_OK : status;
}

/* What the database refuses is tried again a second later, and ever more rarely. */
static void retry_later(rgm_master *master)
{
    master->retry_seconds = fmin(fmax(2 * master->retry_seconds, RETRY_S), LONGEST_RETRY_S);
    master->retry_at = rgm_now() + master->retry_seconds;
    master->changed = true;
    rgm_log_write(RGM_LOG_ERROR, "%s; tried again after %.0f s", rgm_error_message(),
                  master->retry_seconds);
}

static void turn(rgm_master *master)
{
    rgm_status status;
    bool changed;

    pthread_mutex_lock(&master->lock);
    if (rgm_now() < master->retry_at && !master->stops) {
        pthread_mutex_unlock(&master->lock);
        return;
    }
    changed = rgmi_delays_are_due(master) || master->changed;
    master->changed = master->again = false;
    status = rgmi_processes_reap(master);
    if (status == RGM_OK)
        status = rgmi_limits_keep(master);
    if (status == RGM_OK)
        status = rgmi_upkeep(master);
    if (status == RGM_OK && (changed || master->changed)) {
        if (!master->stops)
            status = share_out(master);
        if (status == RGM_OK)
            status = collect_ended(master);
        master->changed = master->again;
    }
    if (status != RGM_OK)
        retry_later(master);
    else
        master->retry_seconds = 0;
    pthread_mutex_unlock(&master->lock);
}

/* Until something was asked, a process ended, or some time has passed. */
static void wait_for_more(rgm_master *master)
{
    struct pollfd *look = NULL;
    int64_t count = 0;
    uint64_t woken;
    bool retries;

    pthread_mutex_lock(&master->lock);
    retries = rgm_now() < master->retry_at; /* then nothing that happens is looked at */
    if (RGM_NEW(look, master->process_count + 1) == RGM_OK) {
        if (!retries)
            look[count++] = (struct pollfd){.fd = master->wake_fd, .events = POLLIN};
        for (int64_t i = 0; i < master->process_count && !retries; i++)
            if (master->processes[i].pidfd >= 0 && !master->processes[i].ended)
                look[count++] = (struct pollfd){.fd = master->processes[i].pidfd, .events = POLLIN};
    }
    pthread_mutex_unlock(&master->lock);
    if (poll(look, (nfds_t)count, TURN_MS) > 0 && (look[0].revents & POLLIN) != 0 &&
        look[0].fd == master->wake_fd && read(master->wake_fd, &woken, sizeof woken) < 0)
        errno = 0; /* somebody else has read it */
    rgm_free(look);
}

static int64_t count_alive(const rgm_master *master)
{
    int64_t alive = 0;

    for (int64_t i = 0; i < master->process_count; i++)
        alive += !master->processes[i].ended;
    return alive;
}

/* Each ends its workload and saves; who does not in time is killed. Where all have ended and the
 * database refuses to take it down, as on a full disk, the next master finds that out. */
static void stop_trials(rgm_master *master)
{
    double until = rgm_now() + master->options.stop_seconds;
    int tries = 0;

    pthread_mutex_lock(&master->lock);
    master->stops = true;
    pthread_mutex_unlock(&master->lock);
    for (;;) {
        turn(master);
        pthread_mutex_lock(&master->lock);
        int64_t left = master->process_count;
        for (int64_t i = 0; i < left && rgm_now() > until; i++)
            if (!master->processes[i].killed && !master->processes[i].ended)
                rgmi_process_kill(master, &master->processes[i]);
        tries = count_alive(master) > 0 ? 0 : tries + 1;
        pthread_mutex_unlock(&master->lock);
        if (left == 0 || tries > MOST_TRIES || rgm_now() > until + 30)
            return;
        wait_for_more(master);
    }
}

/* Threads beside requests and turns: one asks Slurm, the others tell webhooks. */
typedef struct helpers {
    pthread_t threads[1 + RGMI_HOOK_THREADS];
    int count;
} helpers;

static rgm_status start_helpers(helpers *h, rgm_master *master)
{
    pthread_mutex_lock(&master->lock);
    master->jobs_stop = false;
    master->hooks_until = 0;
    pthread_mutex_unlock(&master->lock);
    for (; h->count < 1 + RGMI_HOOK_THREADS; h->count++)
        if (rgm_thread_start(&h->threads[h->count],
                             h->count == 0 ? rgmi_jobs_work : rgmi_hooks_work, master) != 0)
            return RGM_FAIL(RGM_ERR_NOMEM, "no thread for Slurm's jobs and webhooks");
    return RGM_OK;
}

static void stop_helpers(helpers *h, rgm_master *master)
{
    pthread_mutex_lock(&master->lock);
    master->jobs_stop = true;
    master->hooks_until = rgm_now() + HOOKS_S;
    pthread_cond_signal(&master->jobs_wake);
    pthread_cond_broadcast(&master->hooks_wake);
    pthread_mutex_unlock(&master->lock);
    for (int i = 0; i < h->count; i++)
        pthread_join(h->threads[i], NULL);
}

rgm_status rgm_master_serve(rgm_master *master, bool (*done)(rgm_master *master, void *payload),
                            void *payload)
{
    rgm_status status = RGM_OK;
    rgmi_server *server = NULL;
    helpers beside = {.count = 0};
    int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

    if (wake < 0)
        return RGM_FAIL_SYSTEM("make", "eventfd");
    pthread_mutex_lock(&master->lock); /* other threads may be answering requests already */
    master->wake_fd = wake;
    master->stops = false;
    master->serves = master->changed = true;
    master->checked = 0; /* time in which it was not at work is nobody's */
    pthread_mutex_unlock(&master->lock);
    RGM_GO(rgmi_server_start(&server, master));
    RGM_GO(start_helpers(&beside, master));
    while (!done(master, payload)) {
        turn(master);
        wait_for_more(master);
    }
    stop_trials(master);
done:
    stop_helpers(&beside, master);
    rgmi_server_stop(server);
    pthread_mutex_lock(&master->lock);
    master->serves = master->stops = false;
    close(master->wake_fd);
    master->wake_fd = -1;
    pthread_mutex_unlock(&master->lock);
    return status;
}
