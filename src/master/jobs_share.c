/*
 * Which trials get a job, and what the scheduler is told of one.
 */
#include "command.h"
#include "commands.h"
#include "jobs.h"
#include "scheduler.h"
#include "slurm.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    MOST_JOBS = 100, /* of an experiment at once, where max_slots says nothing */
    CHECK_S = 10
};

/* ---- what is submitted ---------------------------------------------------------------------- */

/* The folder's, since a master that is started again is the same. */
static void print_name(char out[32], const rgm_master *master)
{
    const char *folder = master->options.folder;

    snprintf(out, 32, "m%016llx", (unsigned long long)rgm_hash64(folder, strlen(folder)));
}

/* Texts of an engine's options while it is made: it copies them. */
typedef struct job_options {
    rgmi_slurm_options of;
    char name[32], *folder, **flags, *url;
    int64_t count, capacity;
} job_options;

static void clear_options(job_options *o)
{
    for (int64_t i = 0; i < o->count; i++)
        rgm_free(o->flags[i]);
    rgm_free(o->flags);
    rgm_free(o->folder);
    rgm_free(o->url);
}

static rgm_status add_flag(job_options *o, const char *format, const char *value)
{
    if (value == NULL)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(o->flags, o->capacity, o->count + 1));
    RGM_TRY(rgm_strprintf(&o->flags[o->count], format, value));
    o->count++;
    return RGM_OK;
}

/* A master that other hosts cannot reach has its jobs on its own. */
static rgm_status add_host(job_options *o, const rgm_master *master)
{
    char host[256] = "";

    RGM_TRY(rgmi_address_url(&o->url, master));
    if (o->url != NULL)
        return RGM_OK;
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = 0;
    return add_flag(o, "--nodelist=%s", host);
}

static rgm_status slurm_engine(void **out, const rgm_master *master, const rgm_scheduler_options *s,
                               const char *folder)
{
    rgm_status status = RGM_OK;
    job_options o = {0};

    print_name(o.name, master);
    RGM_GO(add_flag(&o, "--account=%s", s->account));
    RGM_GO(add_flag(&o, "--qos=%s", s->qos));
    RGM_GO(add_flag(&o, "--time=%s", s->time));
    RGM_GO(add_flag(&o, "--mem=%s", s->memory));
    for (int64_t i = 0; i < s->options.count; i++)
        RGM_GO(add_flag(&o, "%s", s->options.items[i]));
    RGM_GO(add_host(&o, master));
    o.of = (rgmi_slurm_options){.master = o.name,
                                .folder = folder,
                                .partition = s->partition,
                                .flags = {(const char *const *)o.flags, o.count},
                                .setup = s->setup};
    RGM_GO(rgmi_slurm_create(out, &o.of));
done:
    clear_options(&o);
    return status;
}

/* Of three commands. */
static rgm_status commands_engine(void **out, const rgm_master *master,
                                  const rgm_scheduler_options *s)
{
    const rgmi_commands_table *table = rgmi_machines_table(master->machines, s->name);
    const char *names[64];
    int64_t count = 0;

    if (table != NULL)
        return rgmi_commands_create(out, table,
                                    &(rgmi_commands_options){.queue = s->partition,
                                                             .account = s->account,
                                                             .qos = s->qos,
                                                             .time = s->time,
                                                             .memory = s->memory,
                                                             .options = s->options,
                                                             .setup = s->setup});
    names[count++] = "local";
    names[count++] = "slurm";
    for (int64_t i = 0; i < master->machines->table_count && count < 64; i++)
        names[count++] = master->machines->tables[i].name;
    return RGM_FAIL(RGM_ERR_CONFIG, "scheduler.type: this master has no scheduler '%s'%s", s->name,
                    rgm_did_you_mean(s->name, names, count, NULL, "there are ").text);
}

rgm_status rgmi_jobs_engine(rgmi_job_engine *out, const rgm_master *master,
                            const rgm_search_file *file, const char *folder)
{
    const rgm_scheduler_options *s = &rgm_search_file_settings(file)->scheduler;

    *out = (rgmi_job_engine){.type = &rgmi_slurm};
    if (s->type == RGM_SCHEDULER_SLURM)
        return slurm_engine(&out->state, master, s, folder);
    out->type = &rgmi_commands;
    return commands_engine(&out->state, master, s);
}

rgm_status rgmi_jobs_asking_engine(rgmi_job_engine *out, const rgm_master *master,
                                   const char *scheduler)
{
    rgmi_slurm_options o = {.folder = master->options.folder};
    char name[32];

    *out = (rgmi_job_engine){.type = &rgmi_commands};
    if (strcmp(scheduler, "slurm") != 0)
        return commands_engine(&out->state, master, &(rgm_scheduler_options){.name = scheduler});
    out->type = &rgmi_slurm;
    print_name(name, master);
    o.master = name;
    return rgmi_slurm_create(&out->state, &o);
}

void rgmi_job_engine_release(rgmi_job_engine *engine)
{
    if (engine->type != NULL)
        engine->type->release(engine->state);
    *engine = (rgmi_job_engine){.type = NULL};
}

/* Whether there is such a program at all: what it says is no matter. */
static rgm_status check_program(const rgm_search_file *file, const char *program)
{
    const rgm_scheduler_options *s = &rgm_search_file_settings(file)->scheduler;
    rgmi_outcome out = {0};
    rgm_status status = rgmi_command_run(
        &out, &(rgmi_command){.argv = (const char *const[]){program, "--version", NULL},
                              .max_size = 1 << 16,
                              .seconds = CHECK_S});

    rgmi_outcome_clear(&out);
    if (status == RGM_ERR_NOT_FOUND)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "scheduler.type: %s needs %s commands where the master is: there is no "
                        "program '%s' on the PATH",
                        s->name, s->type == RGM_SCHEDULER_SLURM ? "Slurm's" : "its", program);
    return status == RGM_ERR_IO && s->type == RGM_SCHEDULER_COMMANDS ? RGM_OK : status;
}

rgm_status rgmi_jobs_check(rgm_master *master, const rgm_search_file *file)
{
    const rgm_scheduler_options *s = &rgm_search_file_settings(file)->scheduler;
    const rgmi_commands_table *table = rgmi_machines_table(master->machines, s->name);
    rgmi_job_engine engine = {.type = NULL};
    rgm_status status = RGM_OK;

    if (s->type == RGM_SCHEDULER_SLURM)
        RGM_GO(check_program(file, "sbatch"));
    RGM_GO(rgmi_jobs_engine(&engine, master, file, master->options.folder));
    if (table != NULL)
        RGM_GO(check_program(file, table->submit->items[0]->text));
done:
    rgmi_job_engine_release(&engine);
    return status;
}

/* ---- who gets a job ------------------------------------------------------------------------- */

rgmi_held_jobs *rgmi_held_jobs_find(rgm_master *master, int64_t experiment)
{
    for (int64_t i = 0; i < master->held_job_count; i++)
        if (master->held_jobs[i].experiment == experiment)
            return &master->held_jobs[i];
    return NULL;
}

/* An experiment's share of a scheduler is what max_slots leaves it; the rest is the scheduler's to
 * decide. */
typedef struct share {
    int64_t experiment, slots, max_slots, held, jobs;
    bool on_devices;
    const char *refused;
    char scheduler[33];
} share;

static rgm_status start_job(rgm_master *master, int64_t trial, const share *s)
{
    int64_t experiment = s->experiment;
    rgmi_process p = {.trial = trial,
                      .experiment = experiment,
                      .on_devices = s->on_devices,
                      .pid = -1,
                      .pidfd = -1,
                      .status = -1,
                      .heard = rgm_now(),
                      .begun = rgm_now(),
                      .worked = -1,
                      .width = s->slots,
                      .is_job = true};

    rgm_status status;

    RGM_TRY(RGM_RESERVE(master->processes, master->process_capacity, master->process_count + 1));
    RGM_TRY(rgm_random_hex(p.token));
    snprintf(p.scheduler, sizeof p.scheduler, "%s", s->scheduler);
    status = rgmi_run_prepare(master, trial);
    if (rgmi_is_unreadable(status)) {
        rgmi_delay_note(master, experiment, trial, rgm_error_message());
        return RGM_OK;
    }
    RGM_TRY(status);
    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE trials SET run_token = ?, run_pid = NULL, run_started ="
                              " NULL, run_slots = '', run_job = 0 WHERE id = ?",
                              "ti", p.token, trial));
    master->processes[master->process_count++] = p;
    pthread_cond_signal(&master->jobs_wake);
    return RGM_OK;
}

static rgm_status give(rgm_master *master, share *s, int64_t trial)
{
    const rgmi_delay *delay = rgmi_delay_of(master, s->experiment, trial);
    rgm_status status = RGM_OK;
    rgm_text reason = {0};

    if (delay == NULL && s->refused == NULL &&
        (s->max_slots > 0 ? s->held + s->slots <= s->max_slots : s->jobs < MOST_JOBS)) {
        s->held += s->slots;
        s->jobs++;
        return start_job(master, trial, s);
    }
    if (delay != NULL)
        RGM_GO(rgmi_delay_print(&reason, delay));
    else if (s->refused != NULL)
        RGM_GO(rgm_text_printf(&reason, "%s", s->refused));
    else if (s->max_slots > 0)
        RGM_GO(rgmi_reason_print(&reason, &(rgmi_reason){.kind = s->slots > s->max_slots
                                                                     ? RGMI_REASON_OVER_MAX
                                                                     : RGMI_REASON_MAX_SLOTS,
                                                         .needed = s->slots,
                                                         .limit = s->max_slots,
                                                         .used = s->held}));
    else
        RGM_GO(rgm_text_printf(&reason,
                               "its experiment has %d jobs in %s; resources.max_slots allows for "
                               "more",
                               (int)MOST_JOBS,
                               strcmp(s->scheduler, "slurm") == 0 ? "Slurm" : s->scheduler));
    RGM_GO(rgmi_waiting_note(master, trial, s->experiment, reason.data));
done:
    rgm_text_clear(&reason);
    return status;
}

/* Their numbers first: what is started changes the rows that are read. */
static rgm_status list_waiting(int64_t *out, int64_t *count, rgm_master *master, int64_t experiment)
{
    rgmi_rows *rows;
    rgm_status status;

    *count = 0;
    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT id FROM trials WHERE experiment_id = ? AND wants AND"
                                " run_token IS NULL ORDER BY ahead DESC, number LIMIT ?",
                                "ii", experiment, (int64_t)MOST_JOBS));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK)
        if (rgmi_process_of(master, rgmi_rows_int(rows, 0)) == NULL)
            out[(*count)++] = rgmi_rows_int(rows, 0);
    return status == RGM_END ? RGM_OK : status;
}

static rgm_status share_one(rgm_master *master, rgmi_rows *rows)
{
    share s = {.experiment = rgmi_rows_int(rows, 0),
               .slots = rgmi_rows_int(rows, 1),
               .max_slots = rgmi_rows_int(rows, 2),
               .on_devices = rgmi_slot_is_device(rgmi_rows_text(rows, 4))};
    const rgmi_held_jobs *held = rgmi_held_jobs_find(master, s.experiment);
    int64_t trials[MOST_JOBS], count;

    if (rgmi_is_left(master, s.experiment))
        return RGM_OK;
    snprintf(s.scheduler, sizeof s.scheduler, "%s", rgmi_rows_text(rows, 3));
    for (int64_t i = 0; i < master->process_count; i++)
        if (master->processes[i].experiment == s.experiment && !master->processes[i].ended) {
            s.held += master->processes[i].width;
            s.jobs++;
        }
    if (held != NULL && rgm_now() < held->until)
        s.refused = held->reason;
    if (master->disk_reason[0] != 0)
        s.refused = master->disk_reason;
    RGM_TRY(list_waiting(trials, &count, master, s.experiment));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(give(master, &s, trials[i]));
    return RGM_OK;
}

rgm_status rgmi_jobs_share_out(rgm_master *master)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(
        &rows, master->database,
        "SELECT id, slots_per_trial, max_slots, engine, slot_type FROM experiments WHERE"
        " engine <> 'local' AND state = " RGMI_SQL(ACTIVE) " ORDER BY id",
        ""));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK)
        RGM_GO(share_one(master, rows));
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}
