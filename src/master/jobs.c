/*
 * Trials that a scheduler runs, Slurm or one of three commands. A job is put down in the database
 * before it is submitted, with a token that nobody else has; so whatever dies in between, it is
 * found again by that or was never submitted. A scheduler's commands take their time: one thread
 * runs them, one after the other, and holds the master's lock only to see what is to be done and to
 * put down what came of it.
 */
#include "jobs.h"
#include "launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
    TURN_MS = 200,
    HOLD_S = 30, /* after Slurm refused a job, or to end one */
    LOOK_S = 5,  /* between two questions to Slurm      */
    SOON_S = 1   /* ... where a process is known to end */
};

/* ---- what becomes of one -------------------------------------------------------------------- */

void rgmi_job_adopt(rgmi_process *p, int64_t job)
{
    p->job = job;
    p->pid = -1;
    p->unsure = job == 0;
    snprintf(p->job_reason, sizeof p->job_reason, "it is an earlier master's");
}

/* Where Slurm is at fault, or nobody saw how it ended, the trial is not. A time that is over is
 * its own: no workload ended, and none would the next time. */
rgmi_run_end rgmi_job_end(const rgmi_process *p)
{
    switch (p->job_state) {
    case RGMI_JOB_COMPLETED:
    case RGMI_JOB_FAILED:
        return !p->asked && (p->adopted || p->stop_sent) ? RGMI_RUN_LOST : RGMI_RUN_FAILED;
    case RGMI_JOB_TIMEOUT:
    case RGMI_JOB_OUT_OF_MEMORY:
        return RGMI_RUN_FAILED;
    default:
        return RGMI_RUN_LOST;
    }
}

/* Numbers above the machine's own slots, each of one job at a time: where it stands in a timeline.
 */
static rgm_status find_lane(int64_t *lane, rgm_master *master)
{
    int64_t first = master->options.slots, at;
    bool *taken = NULL;
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(RGM_NEW(taken, master->process_count + 1));
    RGM_GO(rgmi_database_query(&rows, master->database,
                               "SELECT r.slots FROM trials t JOIN runs r ON r.trial_id = t.id AND"
                               " r.token = t.run_token WHERE t.run_token IS NOT NULL AND"
                               " t.run_job IS NOT NULL",
                               ""));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        at = strtoll(rgmi_rows_text(rows, 0), NULL, 10) - first;
        if (at >= 0 && at <= master->process_count)
            taken[at] = true;
    }
    if (status == RGM_END)
        status = RGM_OK;
    for (at = 0; at < master->process_count && taken[at];)
        at++;
    *lane = first + at;
done:
    rgm_free(taken);
    return status;
}

static rgm_status note_beginning(rgm_master *master, const rgmi_process *p)
{
    int64_t lane = 0;
    char text[32];

    RGM_TRY(find_lane(&lane, master));
    snprintf(text, sizeof text, "%lld", (long long)lane);
    return rgmi_database_run(master->database,
                             "INSERT OR IGNORE INTO runs(trial_id, token, slots, start_time)"
                             " VALUES(?, ?, ?, ?)",
                             "ittd", p->trial, p->token, text, rgm_wall_time());
}

rgm_status rgmi_job_began(rgm_master *master, const rgmi_process *p)
{
    RGM_TRY(rgmi_change_begin(master));
    return rgmi_change_end(master, note_beginning(master, p));
}

const char *rgmi_job_scheduler(const rgmi_process *p)
{
    return strcmp(p->scheduler, "slurm") == 0 ? "Slurm" : p->scheduler;
}

rgm_status rgmi_job_print_reason(rgm_text *out, const rgmi_process *p)
{
    const char *why = p->job_reason[0] != 0 ? ": " : "";

    if (p->job == 0)
        return rgm_text_printf(out, "is being submitted to %s%s%s", rgmi_job_scheduler(p), why,
                               p->job_reason);
    if (p->job_state == RGMI_JOB_PENDING)
        return rgm_text_printf(out, "%s job %lld waits%s%s", rgmi_job_scheduler(p),
                               (long long)p->job, why, p->job_reason);
    return rgm_text_printf(out, "%s job %lld is %s, and its process has not spoken yet%s%s",
                           rgmi_job_scheduler(p), (long long)p->job,
                           rgmi_job_state_name(p->job_state), why, p->job_reason);
}

/* ---- what is to be done --------------------------------------------------------------------- */

typedef enum errand_kind { NOTHING, SUBMIT, STOP, KILL, LOOK } errand_kind;

/* A scheduler that is asked, and when it was last. */
typedef struct asked_scheduler {
    char name[33];
    rgmi_job_engine engine;
    double last_look;
} asked_scheduler;

typedef struct asked_schedulers {
    asked_scheduler *items;
    int64_t count, capacity;
} asked_schedulers;

/* One command of a scheduler, with all that it needs while the lock is free. */
typedef struct errand {
    errand_kind kind;
    rgmi_job job;           /* SUBMIT, STOP, KILL: whom it is about */
    int64_t scheduler;      /* whom it is told to                   */
    rgmi_job_engine engine; /* SUBMIT: with the experiment's options */
    rgmi_launch launch;
    int64_t cpus, devices;
    char gres[64];
    rgmi_job *jobs; /* LOOK: [known] with a number, then those that may have one */
    int64_t count, known;
} errand;

static void clear_errand(errand *x)
{
    rgmi_job_engine_release(&x->engine);
    rgmi_launch_clear(&x->launch);
    rgm_free(x->jobs);
}

static rgmi_job job_of(const rgmi_process *p)
{
    rgmi_job job = {.id = p->job,
                    .tag = {.experiment = p->experiment, .trial = p->trial},
                    .state = p->job_state};

    snprintf(job.tag.run, sizeof job.tag.run, "%s", p->token);
    return job;
}

static rgmi_process *process_of(const rgm_master *master, const rgmi_job *job)
{
    rgmi_process *p = rgmi_process_of(master, job->tag.trial);

    return p != NULL && p->is_job && strcmp(p->token, job->tag.run) == 0 ? p : NULL;
}

static void end_job(rgm_master *master, rgmi_process *p)
{
    p->job_over = true;
    rgmi_master_wake(master);
}

/* It would be refused again: its experiment waits a while, and says why. */
static void hold(rgm_master *master, rgmi_process *p, const char *message)
{
    rgmi_held_jobs *held = rgmi_held_jobs_find(master, p->experiment);

    if (held == NULL && RGM_RESERVE(master->held_jobs, master->held_job_capacity,
                                    master->held_job_count + 1) == RGM_OK)
        held = &master->held_jobs[master->held_job_count++];
    if (held != NULL) {
        held->experiment = p->experiment;
        held->until = rgm_now() + HOLD_S;
        snprintf(held->reason, sizeof held->reason, "%s takes no job of it: %s",
                 rgmi_job_scheduler(p), message);
    }
    rgm_log_write(RGM_LOG_WARNING, "trial %lld is not submitted: %s", (long long)p->trial, message);
    p->killed = true; /* nothing ran: it waits again */
    end_job(master, p);
}

static void prepare_submit(errand *x, rgm_master *master, rgmi_process *p)
{
    rgm_status status = RGM_OK;
    rgmi_experiment *e;
    struct stat log;
    char *folder = NULL;
    const char *gres;

    x->job = job_of(p);
    x->cpus = rgmi_process_threads(master, p, 1);
    x->devices = p->on_devices ? p->width : 0;
    RGM_GO(rgmi_experiment_get(&e, master, p->experiment));
    gres = rgm_search_file_settings(e->file)->scheduler.gres;
    snprintf(x->gres, sizeof x->gres, "%s", gres != NULL ? gres : "gpu");
    RGM_GO(rgmi_launch_prepare(&x->launch, master, p));
    RGM_GO(rgm_folder_make(x->launch.folder));
    p->log_begin = stat(x->launch.log, &log) == 0 ? log.st_size : 0;
    RGM_GO(rgmi_master_path(&folder, master, p->experiment, 0, NULL));
    RGM_GO(rgmi_jobs_engine(&x->engine, master, e->file, folder));
    x->kind = SUBMIT;
done:
    rgm_free(folder);
    if (status != RGM_OK) {
        hold(master, p, rgm_error_message());
        clear_errand(x);
        *x = (errand){0};
    }
}

/* What is not to run any more: its trial was killed (true), or nobody waits for it (*stops). */
static bool is_unwanted(bool *stops, rgm_master *master, const rgmi_process *p)
{
    int64_t state;

    if (rgmi_database_int(
            &state, master->database, 0,
            "SELECT CASE WHEN t.state = " RGMI_SQL(CANCELED) " OR e.state = " RGMI_SQL(STOPPING_KILLED) " THEN 2 ELSE t.state <> " RGMI_SQL(
                ACTIVE) " OR e.state <> " RGMI_SQL(ACTIVE) " END AS unwanted FROM trials"
                                                           " t JOIN experiments e ON e.id = "
                                                           "t.experiment_id WHERE t.id = ?",
            "i", p->trial) != RGM_OK)
        state = 0; /* the database is asked again in a moment */
    *stops = state != 0 || p->stops || master->stops || rgmi_is_left(master, p->experiment);
    return state == 2;
}

/* Nothing, or one command for one job. One that runs is stopped by the answer that it gets. */
static void choose_for(errand *x, rgm_master *master, rgmi_process *p)
{
    bool stops, rests = rgm_now() < p->send_at;

    p->killed = is_unwanted(&stops, master, p) || p->killed;
    x->job = job_of(p);
    if (p->job == 0 && !p->unsure && (p->killed || stops)) {
        p->killed = true;
        end_job(master, p);
    } else if (p->job == 0 && !p->unsure) {
        prepare_submit(x, master, p);
    } else if (p->job > 0 && p->killed && !p->kill_sent && !rests) {
        x->kind = KILL;
    } else if (p->job > 0 && stops && !p->asked && !p->stop_sent && !rests) {
        x->kind = STOP;
    }
}

static bool is_asked_about(const rgmi_process *p, const asked_scheduler *a)
{
    return p->is_job && !p->ended && !p->job_over && strcmp(p->scheduler, a->name) == 0;
}

static rgm_status prepare_look(errand *x, rgm_master *master, const asked_scheduler *a)
{
    RGM_TRY(RGM_NEW(x->jobs, master->process_count));
    for (int unsure = 0; unsure < 2; unsure++)
        for (int64_t i = 0; i < master->process_count; i++) {
            rgmi_process *p = &master->processes[i];

            if (is_asked_about(p, a) && (p->job == 0) == (unsure == 1)) {
                p->asked_before = p->asked; /* what it says is of then, or later */
                x->jobs[x->count++] = job_of(p);
                x->known += unsure == 0;
            }
        }
    x->kind = x->count > 0 ? LOOK : NOTHING;
    return RGM_OK;
}

/* How long after the last look the next one is due; below 0: there is nothing to look at. */
static double look_after(const rgm_master *master, const asked_scheduler *a)
{
    double seconds = -1;

    for (int64_t i = 0; i < master->process_count; i++) {
        const rgmi_process *p = &master->processes[i];

        if (!is_asked_about(p, a))
            continue;
        if ((p->killed || p->terminated || p->failed) && !master->jobs_fail)
            return SOON_S;
        seconds = LOOK_S;
    }
    return seconds;
}

/* The place of a job's scheduler; -1: it cannot be asked, which was told. */
static int64_t find_scheduler(asked_schedulers *all, const rgm_master *master, const char *name)
{
    asked_scheduler *a;

    for (int64_t i = 0; i < all->count; i++)
        if (strcmp(all->items[i].name, name) == 0)
            return i;
    if (RGM_RESERVE(all->items, all->capacity, all->count + 1) != RGM_OK)
        return -1;
    a = &all->items[all->count];
    *a = (asked_scheduler){.last_look = -LOOK_S};
    snprintf(a->name, sizeof a->name, "%s", name);
    if (rgmi_jobs_asking_engine(&a->engine, master, name) != RGM_OK) {
        rgm_log_write(RGM_LOG_ERROR, "%s: %s", name, rgm_error_message());
        a->engine.type = NULL; /* not in this master's life */
    }
    return all->count++;
}

static void clear_schedulers(asked_schedulers *all)
{
    for (int64_t i = 0; i < all->count; i++)
        rgmi_job_engine_release(&all->items[i].engine);
    rgm_free(all->items);
}

static void choose(errand *x, rgm_master *master, asked_schedulers *all)
{
    for (int64_t i = 0; i < master->process_count && x->kind == NOTHING; i++) {
        rgmi_process *p = &master->processes[i];

        if (!p->is_job || p->ended || p->job_over)
            continue;
        x->scheduler = find_scheduler(all, master, p->scheduler);
        if (x->scheduler >= 0 && all->items[x->scheduler].engine.type != NULL)
            choose_for(x, master, p);
    }
    for (int64_t i = 0; i < all->count && x->kind == NOTHING; i++) {
        const asked_scheduler *a = &all->items[i];
        double seconds = a->engine.type != NULL ? look_after(master, a) : -1;

        x->scheduler = i;
        if (seconds >= 0 && rgm_now() >= a->last_look + seconds &&
            prepare_look(x, master, a) != RGM_OK)
            x->kind = NOTHING; /* no memory: later */
    }
}

/* ---- doing it ------------------------------------------------------------------------------- */

/* Jobs that may have been submitted, by their tags. */
static rgm_status find_unsure(errand *x, const rgmi_job_engine *engine)
{
    rgmi_job *all = NULL;
    int64_t count;

    RGM_TRY(engine->type->find(engine->state, &all, &count));
    for (int64_t i = x->known; i < x->count; i++) {
        x->jobs[i].state = RGMI_JOB_GONE;
        for (int64_t j = 0; j < count; j++)
            if (all[j].tag.trial == x->jobs[i].tag.trial &&
                all[j].tag.experiment == x->jobs[i].tag.experiment &&
                strcmp(all[j].tag.run, x->jobs[i].tag.run) == 0)
                x->jobs[i] = all[j];
    }
    rgm_free(all);
    return RGM_OK;
}

static rgm_status look(errand *x, const rgmi_job_engine *engine)
{
    if (engine->type->find == NULL) /* it knows them by their tags */
        return engine->type->poll(engine->state, x->jobs, x->count);
    if (x->known > 0)
        RGM_TRY(engine->type->poll(engine->state, x->jobs, x->known));
    return x->known < x->count ? find_unsure(x, engine) : RGM_OK;
}

static rgm_status perform(errand *x, const rgmi_job_engine *engine)
{
    rgmi_job_request request = {.tag = x->job.tag,
                                .argv = (const char *const *)x->launch.argv,
                                .environment = (const char *const *)x->launch.env,
                                .folder = x->launch.working_folder,
                                .output = x->launch.log,
                                .cpus = x->cpus,
                                .devices = x->devices,
                                .gres = x->gres};

    switch (x->kind) {
    case SUBMIT:
        return x->engine.type->start(x->engine.state, &x->job.id, &request);
    case STOP:
        return engine->type->stop(engine->state, &x->job);
    case KILL:
        return engine->type->kill(engine->state, &x->job);
    case LOOK:
        return look(x, engine);
    default:
        return RGM_OK;
    }
}

/* ---- what came of it ------------------------------------------------------------------------ */

/* Where this is not written, a next master finds the job by its token. */
static void put_down(rgm_master *master, rgmi_process *p, int64_t job)
{
    rgm_status status;

    p->job = job;
    p->unsure = false;
    p->job_reason[0] = 0;
    status = rgmi_change_begin(master);
    if (status == RGM_OK)
        status = rgmi_change_end(master,
                                 rgmi_database_run(master->database,
                                                   "UPDATE trials SET run_job = ? WHERE id = ? AND"
                                                   " run_token = ?",
                                                   "iit", job, p->trial, p->token));
    if (status != RGM_OK)
        rgm_log_write(RGM_LOG_WARNING, "%s job %lld: %s", rgmi_job_scheduler(p), (long long)job,
                      rgm_error_message());
}

static void take_submit(rgm_master *master, const errand *x, rgmi_process *p, rgm_status status)
{
    if (status == RGM_OK) {
        put_down(master, p, x->job.id);
    } else if (status == RGM_ERR_IO || status == RGM_ERR_NOMEM) {
        p->unsure = true; /* it may run all the same, which a look will tell */
        snprintf(p->job_reason, sizeof p->job_reason, "%s", rgm_error_message());
    } else {
        hold(master, p, rgm_error_message());
    }
}

static void take_state(rgm_master *master, const rgmi_job *job)
{
    rgmi_process *p = process_of(master, job);
    bool again;

    if (p == NULL)
        return;
    if (p->job == 0 && job->id > 0)
        put_down(master, p, job->id);
    again = job->state == RGMI_JOB_PENDING && p->asked_before;
    if (again &&
        !p->killed) /* what it did is lost, and it does not know: another takes its place */
        rgm_log_write(RGM_LOG_WARNING, "trial %lld: %s job %lld was requeued", (long long)p->trial,
                      rgmi_job_scheduler(p), (long long)p->job);
    p->killed = p->killed || again;
    if (job->state == RGMI_JOB_RUNNING && p->job_state != RGMI_JOB_RUNNING)
        p->heard = rgm_now(); /* its silence counts from here */
    if (job->state != RGMI_JOB_UNKNOWN)
        p->job_state = job->state;
    if (rgmi_job_is_over(job->state) || rgm_now() >= p->send_at)
        snprintf(p->job_reason, sizeof p->job_reason, "%s",
                 strcmp(job->reason, "None") == 0 ? "" : job->reason);
    if (!rgmi_job_is_over(job->state))
        return;
    if (!p->terminated && !p->failed && !p->killed && rgmi_job_end(p) == RGMI_RUN_LOST)
        rgm_log_write(RGM_LOG_WARNING, "trial %lld: %s job %lld is lost (%s): it begins again",
                      (long long)p->trial, rgmi_job_scheduler(p), (long long)p->job,
                      rgmi_job_state_name(job->state));
    end_job(master, p);
}

/* It is silent: what is not running says so. */
static void take_silence(rgm_master *master, const asked_scheduler *a)
{
    const char *name = strcmp(a->name, "slurm") == 0 ? "Slurm" : a->name;

    if (!master->jobs_fail)
        rgm_log_write(RGM_LOG_WARNING, "%s cannot be asked: %s", name, rgm_error_message());
    for (int64_t i = 0; i < master->process_count; i++) {
        rgmi_process *p = &master->processes[i];

        if (is_asked_about(p, a) && !p->asked)
            snprintf(p->job_reason, sizeof p->job_reason, "%s cannot be asked: %s", name,
                     rgm_error_message());
    }
}

/* Who is refused is told and asked for again after a while: until then others are stopped, and
 * looked at, and so is this one, which may be over. */
static void take_end(const rgm_master *master, rgmi_process *p, errand_kind kind, rgm_status status)
{
    const char *what = kind == STOP ? "stopped" : "killed";
    int seconds = status == RGM_ERR_IO ? LOOK_S : HOLD_S;

    *(kind == STOP ? &p->stop_sent : &p->kill_sent) = status == RGM_OK;
    p->send_at = status == RGM_OK ? 0 : rgm_now() + seconds;
    if (status == RGM_OK)
        return;
    snprintf(p->job_reason, sizeof p->job_reason, "it is not %s: %s", what, rgm_error_message());
    if (status != RGM_ERR_IO || !master->jobs_fail)
        rgm_log_write(RGM_LOG_WARNING, "trial %lld: %s job %lld is not %s: %s; tried again in %d s",
                      (long long)p->trial, rgmi_job_scheduler(p), (long long)p->job, what,
                      rgm_error_message(), seconds);
}

static void take(rgm_master *master, const errand *x, const asked_scheduler *a, rgm_status status)
{
    rgmi_process *p = x->kind != LOOK ? process_of(master, &x->job) : NULL;

    if (x->kind == SUBMIT && p != NULL)
        take_submit(master, x, p, status);
    if ((x->kind == STOP || x->kind == KILL) && p != NULL)
        take_end(master, p, x->kind, status);
    if (x->kind == LOOK && status == RGM_OK)
        for (int64_t i = 0; i < x->count; i++)
            take_state(master, &x->jobs[i]);
    else if (x->kind == LOOK)
        take_silence(master, a);
    if (x->kind != NOTHING && x->kind != SUBMIT)
        master->jobs_fail = status != RGM_OK;
}

/* ---- the thread ----------------------------------------------------------------------------- */

static bool has_jobs(const rgm_master *master)
{
    for (int64_t i = 0; i < master->process_count; i++)
        if (master->processes[i].is_job)
            return true;
    return master->held_job_count > 0;
}

static void rest(rgm_master *master)
{
    struct timespec until;

    if (!has_jobs(master)) {
        pthread_cond_wait(&master->jobs_wake, &master->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += TURN_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&master->jobs_wake, &master->lock, &until);
}

/* Experiments that were held try again. */
static void let_go(rgm_master *master)
{
    for (int64_t i = master->held_job_count - 1; i >= 0; i--)
        if (rgm_now() >= master->held_jobs[i].until) {
            master->held_jobs[i] = master->held_jobs[--master->held_job_count];
            rgmi_master_wake(master);
        }
}

void *rgmi_jobs_work(void *payload)
{
    rgm_master *master = payload;
    asked_schedulers all = {0};

    pthread_mutex_lock(&master->lock);
    while (!master->jobs_stop) {
        errand x = {0};

        let_go(master);
        choose(&x, master, &all);
        if (x.kind != NOTHING) {
            asked_scheduler *a = &all.items[x.scheduler];

            pthread_mutex_unlock(&master->lock);
            rgm_status status = perform(&x, &a->engine);
            a->last_look = x.kind == LOOK ? rgm_now() : a->last_look;
            pthread_mutex_lock(&master->lock);
            take(master, &x, a, status);
        }
        bool idle = x.kind == NOTHING;
        clear_errand(&x);
        if ((idle || master->jobs_fail) && !master->jobs_stop)
            rest(master);
    }
    pthread_mutex_unlock(&master->lock);
    clear_schedulers(&all);
    return NULL;
}
