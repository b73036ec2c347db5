/*
 * What the files of master share among themselves: the master, what it holds in memory of an
 * experiment that is at work, and the processes of trials. Everything that must last is in the
 * database; what is here is made again from it, and thrown away when a commit fails.
 */
#ifndef RGM_MASTER_INTERNAL_H
#define RGM_MASTER_INTERNAL_H

#include "cpus.h"
#include "database.h"
#include "engine.h"
#include "machines.h"

#include <regimen/master.h>

#include <pthread.h>
#include <sys/types.h>
#include <sys/un.h>

#define RGMI_BODY_LIMIT (16 << 20) /* bytes of a request's body */

/* ---- states (work_states.c) ----------------------------------------------------------------- */

/* Their names, in one place: of rgm_work_state_names, and of statements as RGMI_SQL(ACTIVE). */
#define RGMI_NAME_ACTIVE             "ACTIVE"
#define RGMI_NAME_PAUSED             "PAUSED"
#define RGMI_NAME_STOPPING_COMPLETED "STOPPING_COMPLETED"
#define RGMI_NAME_STOPPING_CANCELED  "STOPPING_CANCELED"
#define RGMI_NAME_STOPPING_KILLED    "STOPPING_KILLED"
#define RGMI_NAME_STOPPING_ERROR     "STOPPING_ERROR"
#define RGMI_NAME_COMPLETED          "COMPLETED"
#define RGMI_NAME_CANCELED           "CANCELED"
#define RGMI_NAME_ERROR              "ERROR"
#define RGMI_NAME_DELETED            "DELETED"
#define RGMI_SQL(state)              "'" RGMI_NAME_##state "'"
#define RGMI_SQL_OVER                "(" RGMI_SQL(COMPLETED) ", " RGMI_SQL(CANCELED) ", " RGMI_SQL(ERROR) ")"

/** Whether an experiment may go from one state to another. */
bool rgmi_state_follows(rgm_work_state from, rgm_work_state to);
rgm_status rgmi_state_read(rgm_work_state *out, const char *name);

/* ---- what is held in memory ----------------------------------------------------------------- */

/** A length that the searcher asked for, as its sequencer has it and as the searcher will be told.
 */
typedef struct rgmi_asked_length {
    rgm_operation_kind kind; /* train, validate, checkpoint */
    int64_t batches, length;
} rgmi_asked_length;

/** A trial that something is done with: of its row what decides, and the sequencer. */
typedef struct rgmi_trial {
    int64_t id, number;
    rgm_work_state state;
    rgm_sequencer *sequencer;
    bool closing;                /* the searcher asks no more of it                              */
    bool ending;                 /* it was told to end where it is                               */
    bool dirty, sequencer_dirty; /* the rows are behind; steps alone do not make the second so  */
    rgmi_asked_length *asked;    /* [asked_count] what the searcher waits for        */
    int64_t asked_count, asked_capacity;
    int64_t restarts, steps, batches;
    int64_t last_kind, last_step; /* the workload that was told done last; kind -1: none */
    double metric, best_metric;   /* of the first objective; NaN: none                   */
} rgmi_trial;

/** What a searcher is to be told. */
typedef struct rgmi_told {
    rgm_search_event event;
    double metrics[RGM_MAX_OBJECTIVES];
} rgmi_told;

/** An experiment that is not over. */
typedef struct rgmi_experiment {
    int64_t id;
    rgm_work_state state;
    rgm_search_file *file;
    rgm_searcher *searcher;
    int64_t events, saved_events; /* of its searcher: told, and in the newest snapshot   */
    double seconds;               /* in which a trial was at work, not yet put down       */
    double best;                  /* of the first objective, over all trials; NaN: none   */
    bool has_garbage;             /* checkpoints may have become unwanted since collect_at */
    double collect_at;            /* not before; rgm_now()                                 */
    double disk_at;               /* its folder is not looked at before; rgm_now()         */
    rgmi_told *told;              /* [told_count] noted while its operations are put down */
    int64_t told_count, told_capacity;
    rgmi_trial **by_number; /* [number_capacity] by number - 1; NULL: not in memory */
    int64_t number_capacity;
    rgmi_trial **trials; /* [trial_count] those in memory */
    int64_t trial_count, trial_capacity;
} rgmi_experiment;

/** How a run of a trial ended. */
typedef enum rgmi_run_end {
    RGMI_RUN_STOPPED,    /* as it was told to                                             */
    RGMI_RUN_LOST,       /* nobody saw how: of an earlier master; not counted             */
    RGMI_RUN_MACHINE,    /* no space left, ...: not counted; the experiment is put off    */
    RGMI_RUN_CHECKPOINT, /* its checkpoint cannot be read: not counted; an older one does */
    RGMI_RUN_TIME,       /* it was told to end, since its trial has had its time          */
    RGMI_RUN_FAILED,
    RGMI_RUN_HOPELESS, /* every other run would fail the same way  */
    RGMI_RUN_INVALID   /* its hyperparameters cannot be            */
} rgmi_run_end;

/** For a message of an error, and words before it. */
enum { RGMI_REASON_ROOM = RGM_MESSAGE_ROOM + 80 };

/** A trial's process: a child, or one that an earlier master left. */
typedef struct rgmi_process {
    int64_t trial, experiment;
    char token[33];
    pid_t pid;
    int pidfd;
    bool stops;           /* its next answer is checkpoint or terminate: preempted, or all stop */
    bool terminated;      /* that answer was given: ending now is no failure             */
    bool failed;          /* it told its failure: ending now is that                      */
    bool killed;          /* by a request: ending now is the trial's end, not a failure   */
    bool to_kill;         /* when the change under way is whole                           */
    rgmi_run_end failure; /* ... and of which kind it is                             */
    bool ended;           /* reaped, and its trial is told, or not yet: the database refused   */
    char *message;        /* of its failure; NULL: none                                   */
    int status;           /* of waitpid(); -1: not known                                  */
    bool on_devices;      /* its slots are devices; of a job: Slurm gives it some         */
    int64_t *slots;       /* [slot_count] numbers of those that it holds                  */
    int64_t slot_count;
    int64_t width;     /* slots of its trial, held here or not: so many times the threads      */
    int64_t log_begin; /* where in its trial's log it began to write, unless it is adopted     */
    double heard;      /* when it spoke last, or began to run; rgm_now()                       */
    double begun;      /* when it was given its last workload, or began                        */
    bool warned;       /* it was told that nothing is heard of it                              */
    double worked;     /* seconds that its trial's workloads took, this one's and others'; -1: to be
                          found out                                                            */
    double kill_at;    /* its trial's time is over, and so is that to end by itself; 0: it is not */
    double leave_at;   /* the same of its search */
    bool is_job;       /* a scheduler runs it; it holds no slots here, pid is -1                */
    char scheduler[33]; /* of a job: "slurm", or a table's name                                  */
    int64_t job;        /* its number; 0: none yet, or not known                                */
    bool unsure;        /* it may have been submitted all the same                             */
    bool adopted;       /* an earlier master's, of a job or not                                  */
    bool asked;         /* its process has spoken to this master                                 */
    bool asked_before;  /* ... when Slurm was asked about it last                          */
    bool stop_sent, kill_sent;
    double
        send_at; /* the scheduler refused to stop or kill it: neither is sent before; 0: it did not
                  */
    bool job_over; /* Slurm says so, or it was not submitted                                */
    rgmi_job_state job_state;
    char job_reason[RGMI_REASON_ROOM]; /* Slurm's, or why it is not submitted; may be "" */
} rgmi_process;

/** An experiment whose jobs Slurm refused: nothing is submitted before a time. */
typedef struct rgmi_held_jobs {
    int64_t experiment;
    double until;
    char reason[RGMI_REASON_ROOM];
} rgmi_held_jobs;

/** What is not started before a time, since it could not be when it was tried last. */
typedef struct rgmi_delay {
    int64_t experiment, trial; /* trial 0: none of the experiment's         */
    int64_t tries;             /* in succession                             */
    double seconds, until;     /* the pause, and when it ends               */
    bool waits;                /* false: it may be tried                    */
    char why[RGMI_REASON_ROOM];
} rgmi_delay;

/** A trial that waits for slots. */
typedef struct rgmi_waiting {
    int64_t trial, experiment;
    char *reason;
} rgmi_waiting;

/** Slots that the last turn offered an experiment. */
typedef struct rgmi_share {
    int64_t experiment, slots;
} rgmi_share;

/** What a request over TCP may do. */
typedef enum rgmi_scope {
    RGMI_SCOPE_NONE,
    RGMI_SCOPE_READ,  /* look at everything but tokens and webhooks */
    RGMI_SCOPE_WRITE, /* and change it                 */
    RGMI_SCOPE_OWNER  /* tokens too                    */
} rgmi_scope;

/** A token beside the folder's own. */
typedef struct rgmi_token {
    char sha256[RGM_SHA256_ROOM];
    rgmi_scope scope;
    double end_time; /* seconds since 1970 */
} rgmi_token;

/** How many webhooks are told something at a time. */
enum { RGMI_HOOK_THREADS = 4 };

struct rgm_master {
    rgm_master_options options; /* folder: absolute; texts are its own */
    char **command;
    char *database_path, *token;
    int lock_fd, folder_lock_fd, folder_fd;
    pthread_mutex_t lock; /* held while a request or a turn of rgm_master_serve() is worked on */
    rgmi_database *database;
    rgmi_experiment **experiments; /* those in memory */
    int64_t experiment_count, experiment_capacity;
    rgmi_process *processes;
    int64_t process_count, process_capacity;
    rgmi_slots slots;   /* options.slots of them */
    bool *slot_taken;   /* [options.slots]       */
    bool *slot_drained; /* [options.slots] it gets no trial any more */
    rgmi_machines *machines;
    char **devices; /* [device_count] names of those that slots are; none before they are asked */
    bool *device_taken; /* [device_count] */
    int64_t device_count;
    double look_for_devices_at; /* where they were looked for in vain, not again before */
    char why_no_device[RGMI_REASON_ROOM];
    int64_t asked_threads; /* of a slot, as the options said: 0: to be divided */
    int wake_fd; /* eventfd: something changed for rgm_master_serve(); -1: it is not at work */
    bool serves, stops, changed;
    double retry_seconds, retry_at; /* after a turn that failed; 0: the last one did not */
    double refusal_told_at;         /* that a request was put off; 0: not yet */
    bool again;                     /* what was to start in this turn did not, and others may */
    bool changes;                   /* between rgmi_change_begin() and rgmi_change_end() */
    rgmi_waiting *waiting;          /* [waiting_count] of the last turn */
    int64_t waiting_count, waiting_capacity;
    rgmi_share *shares; /* [share_count] of the last turn; none by priority */
    int64_t share_count, share_capacity;
    int64_t *uncollected; /* [uncollected_count] experiments whose checkpoints cannot be removed */
    int64_t uncollected_count, uncollected_capacity;
    pthread_cond_t jobs_wake;  /* there is a job to be submitted, or jobs_stop */
    bool jobs_stop, jobs_fail; /* the last question to Slurm was not answered  */
    rgmi_held_jobs *held_jobs;
    int64_t held_job_count, held_job_capacity;
    int64_t *left; /* [left_count] experiments that are not served: another is, alone */
    int64_t left_count;
    double checked;                               /* when limits were looked at last */
    double logs_looked, disk_looked, old_logs_at; /* upkeep.c */
    char disk_reason[RGMI_REASON_ROOM];           /* why no trial starts; "": there is room */
    pthread_mutex_t tokens_lock; /* of tokens alone; nobody waits while holding it */
    rgmi_token *tokens;          /* [token_count] as the database has them */
    int64_t token_count;
    pthread_cond_t hooks_wake; /* there is a delivery, or hooks_until is set */
    double hooks_until; /* threads that deliver end: at once without a new delivery, or then; 0 */
    int64_t hooks_busy[RGMI_HOOK_THREADS]; /* webhooks that are being told something; 0: none */
    rgmi_delay *delays;
    int64_t delay_count, delay_capacity;
};

/* ---- master.c ------------------------------------------------------------------------------- */

/** Something changed that rgm_master_serve() should look at. */
void rgmi_master_wake(rgm_master *master);
/** <folder>/<experiment>, or <folder>/<experiment>/<number> with a number above 0; rgm_free() it.
 */
rgm_status rgmi_master_path(char **out, const rgm_master *master, int64_t experiment,
                            int64_t number, const char *name);

/** Begin and end of whatever changes the database; a failure takes back memory too. */
rgm_status rgmi_change_begin(rgm_master *master);
rgm_status rgmi_change_end(rgm_master *master, rgm_status status);

/* ---- experiment.c: experiments in memory ---------------------------------------------------- */

/** The experiment in memory, brought there first. RGM_ERR_NOT_FOUND: there is none; RGM_ERR_BUSY:
 * it is over, and holds nothing. */
rgm_status rgmi_experiment_get(rgmi_experiment **out, rgm_master *master, int64_t id);
/** A new one, whose row is there, is begun: its searcher's first operations become trials. */
rgm_status rgmi_experiment_begin(rgm_master *master, int64_t id);
/** The searcher is told, the event is kept, and what it asks for is put down. */
rgm_status rgmi_experiment_tell(rgm_master *master, rgmi_experiment *experiment,
                                const rgm_search_event *event);
/** Write what changed of its trials, and whatever follows: closed trials, the experiment's end. */
rgm_status rgmi_experiment_flush(rgm_master *master, rgmi_experiment *experiment);
/** RGM_ERR_BUSY: not from the state that it is in. */
rgm_status rgmi_experiment_set_state(rgm_master *master, rgmi_experiment *experiment,
                                     rgm_work_state state, const char *message);
/** What is in memory of all is thrown away: it is behind the database. */
void rgmi_experiments_forget(rgm_master *master);
void rgmi_experiment_release(rgmi_experiment *experiment);

/** An event that comes of no trial's work: kept, and told; what is asked for then stays in the
 * searcher. */
rgm_status rgmi_experiment_note(rgm_master *master, rgmi_experiment *experiment,
                                const rgm_search_event *event);
/** Its searcher is another, which took over: what that asks for is put down, and a snapshot of it
 * is written. Nothing that was told before is told to it again. */
rgm_status rgmi_experiment_go_on(rgm_master *master, rgmi_experiment *experiment);

/* ---- search_change.c: a search that is changed ---------------------------------------------- */

/** Set keys of an experiment's file, each with a YAML text as `regimen config --set` takes it; one
 * that is over goes on. In a change under way. Errors: RGM_ERR_CONFIG (what cannot be changed, or
 * would make no sense; details: more lines), RGM_ERR_NOT_FOUND, RGM_ERR_BUSY (it is being ended, or
 * nothing is left to be done), and those of the database. */
rgm_status rgmi_search_change(rgm_text *details, rgm_master *master, int64_t experiment,
                              const rgm_json *set);
/**
 * A point to try next, with the values of `values` and else those of a trial: of the best one
 * (like 0), or of trial number `like`. *number: the trial that it became; 0: one of those to come.
 * Errors: as above.
 */
rgm_status rgmi_search_try(int64_t *number, rgm_text *details, rgm_master *master,
                           int64_t experiment, const rgm_json *values, int64_t like);

/* ---- earlier_trials.c: searches to learn from ----------------------------------------------- */

/** What `searcher.source_experiment` of a file names: its trials become rows of a new experiment.
 * In a change under way; nothing where the file names none. Errors: RGM_ERR_CONFIG (there is none,
 * or nothing that can be learned of), and those of the database. */
rgm_status rgmi_earlier_copy(rgm_master *master, int64_t experiment, const rgm_search_file *file);
/** The same without a new experiment: whether it can be. */
rgm_status rgmi_earlier_check(rgm_master *master, const rgm_search_file *file);
/** Tell a searcher that has not begun of the rows of its experiment. */
rgm_status rgmi_earlier_tell(rgm_master *master, const rgmi_experiment *experiment,
                             rgm_searcher *searcher);

/* ---- ending.c: trials that end where they are ----------------------------------------------- */

/** It validates what it has, saves, and is over, counted as what it reached. In a change under way.
 * RGM_ERR_BUSY: it is over, or its experiment is. */
rgm_status rgmi_trial_end_here(rgm_master *master, rgmi_experiment *experiment, rgmi_trial *trial);
/** What its searcher is told of it: how far it came, and its last validation. metrics: room of
 * RGM_MAX_OBJECTIVES, which the event borrows. */
rgm_status rgmi_trial_reached(rgm_search_event *out, double *metrics, rgm_master *master,
                              const rgmi_experiment *experiment, int64_t number);

/** The objectives of a trial's validation at so many batches; *is_there: it has one. */
rgm_status rgmi_validation_read(double *metrics, bool *is_there, rgm_master *master,
                                const rgmi_experiment *experiment, const rgmi_trial *trial,
                                int64_t batches);

/* ---- operations.c: what a searcher asks for ------------------------------------------------- */

/** Put down all that it asks for now. */
rgm_status rgmi_operations_apply(rgm_master *master, rgmi_experiment *experiment);
/** The metric that a validation is ranked by, of those of rgmi_objectives_read(): none (NaN) where
 * it breaks a bound. */
double rgmi_metric_of(const rgmi_experiment *experiment, const double *metrics);
/** The metrics that a searcher wants, of a validation's; names as in searcher.metric, or without
 * "valid.". RGM_ERR_CONFIG: one is not there; those that are are told. */
rgm_status rgmi_objectives_read(double *metrics, const rgmi_experiment *experiment,
                                const rgm_json *values);
/** The same by a file. */
rgm_status rgmi_objectives_of(double *metrics, const rgm_search_file *file, const rgm_json *values);
/** "[0.5, 1.0]" of objectives; of an event, or of an earlier search. */
rgm_status rgmi_metrics_read(double *metrics, const rgmi_experiment *experiment, const char *text);
rgm_status rgmi_metrics_print(rgm_text *out, const double *metrics, int64_t count);
/** The first objective of a file. */
const rgm_objective *rgmi_objective(const rgm_search_file *file);
/** Whether a metric of the first objective is better than another; what is no finite number is
 * never better, and any that is one is better than it. */
bool rgmi_is_better(const rgmi_experiment *experiment, double metric, double than);

/* ---- trials.c: trials in memory, and what becomes of them ----------------------------------- */

rgm_status rgmi_trial_get(rgmi_trial **out, rgm_master *master, rgmi_experiment *experiment,
                          int64_t number);
/** One that is new, into memory. */
rgm_status rgmi_trial_enter(rgmi_trial **out, rgmi_experiment *experiment, int64_t number);
rgm_status rgmi_trial_find(rgmi_trial **out, rgmi_experiment **experiment, rgm_master *master,
                           int64_t id);
/** Write its rows where they are behind. */
rgm_status rgmi_trial_write(rgm_master *master, rgmi_trial *trial);
void rgmi_trial_forget(rgmi_trial *trial);
/** It will do nothing more: its row, and what its searcher makes of that. */
rgm_status rgmi_trial_end(rgm_master *master, rgmi_experiment *experiment, rgmi_trial *trial,
                          rgm_work_state state, const char *message);
/** The same, told as that. */
rgm_status rgmi_trial_end_as(rgm_master *master, rgmi_experiment *experiment, rgmi_trial *trial,
                             rgm_work_state state, rgm_search_event_kind kind, const char *message);
rgm_status rgmi_trial_end_with(rgm_master *master, rgmi_experiment *experiment, rgmi_trial *trial,
                               rgm_work_state state, const rgm_search_event *event,
                               const char *message);
/** Back to its newest checkpoint: rows of later steps go. */
rgm_status rgmi_trial_rollback(rgm_master *master, rgmi_trial *trial, int64_t most);

/** Whoever was to begin with a checkpoint that is lost, of trial `number` of an experiment, finds
 * it by its path where it is made again, and says that it is not there until then. */
rgm_status rgmi_checkpoint_release(rgm_master *master, int64_t experiment, int64_t number,
                                   int64_t checkpoint);
/** A process is about to begin: the trial stands at a checkpoint, or is put back to one, since an
 * earlier process may have ended when nothing could be put down of it. */
rgm_status rgmi_run_prepare(rgm_master *master, int64_t trial);
/** Whether an error says that what is stored of an experiment or trial cannot be read by this
 * version, or at all, and not that it cannot be read now. */
bool rgmi_is_unreadable(rgm_status status);
/** Its process is gone. The trial waits for another, or is over. */
rgm_status rgmi_run_ended(rgm_master *master, int64_t experiment, int64_t trial, rgmi_run_end how,
                          const char *message);

/* ---- workload.c ----------------------------------------------------------------------------- */

/** What a trial's process tells to be done. */
typedef struct rgmi_report {
    rgm_workload workload;
    int64_t num_inputs;
    double seconds;
    const rgm_json *metrics;   /* an object of numbers; NULL: none   */
    const char *checkpoint;    /* folder below the trial's           */
    const rgm_json *resources; /* an object of bytes by path         */
} rgmi_report;
/** Put it down, once however often it is told. RGM_ERR_BUSY: it was not to be done. */
rgm_status rgmi_report_take(rgm_master *master, rgmi_experiment *experiment, rgmi_trial *trial,
                            const rgmi_report *report);
/** What a trial's process is told to do. */
typedef struct rgmi_order {
    rgm_workload workload;
    int64_t reach; /* batches to which it may train before anything else is due      */
    bool ends;     /* it ends behind this workload, whatever is still asked of the trial */
} rgmi_order;
/** What its process does next. */
void rgmi_next_workload(rgmi_order *order, rgm_master *master, rgmi_experiment *experiment,
                        rgmi_trial *trial, rgmi_process *process);

/* ---- process.c ------------------------------------------------------------------------------ */

/** The process of a trial; NULL: it has none. */
rgmi_process *rgmi_process_of(const rgm_master *master, int64_t trial);
/** A job that waits for its turn, or is yet to be submitted, counts too. */
bool rgmi_experiment_has_process(const rgm_master *master, int64_t experiment);
/** Whether it runs, as far as is known: a job that waits for its turn does not. */
bool rgmi_is_at_work(const rgmi_process *p);
/** How many of an experiment's do. */
int64_t rgmi_experiment_at_work(const rgm_master *master, int64_t experiment);
/** Whom it concerns that a process cannot be started. */
typedef enum rgmi_start_fault {
    RGMI_START_CHANGE,     /* nobody: the change under way failed      */
    RGMI_START_EXPERIMENT, /* all trials of the experiment             */
    RGMI_START_TRIAL       /* this one alone: its folder, what is stored of it */
} rgmi_start_fault;
/** The pool of slots that are devices, beside those of the master's file. */
enum { RGMI_DEVICES = -1 };
/** A new one for a trial, on slots of a pool, or devices, that are free; its row is written in the
 * change under way, and ends with it when that fails. *fault: of an error. */
rgm_status rgmi_process_start(rgmi_start_fault *fault, rgm_master *master, int64_t trial,
                              int64_t slots, int64_t pool);
/** Those that were started in a change that failed. */
void rgmi_processes_undo(rgm_master *master, int64_t first);
/** Find out at opening what became of those of an earlier master. */
rgm_status rgmi_processes_adopt(rgm_master *master);
/** Those that ended are told to their trials. */
rgm_status rgmi_processes_reap(rgm_master *master);
/** Its process and all that it has started; in a change under way, when that is whole. A job is
 * killed by jobs.c. */
void rgmi_process_kill(rgm_master *master, rgmi_process *process);
/** Of a change that has ended: those that it was to kill are killed, or are not. */
void rgmi_processes_kill_asked(rgm_master *master, bool is_whole);
/** Its slots and its descriptor are given back; and it is no more in the list. */
void rgmi_process_clear(rgm_master *master, rgmi_process *process);
void rgmi_process_drop(rgm_master *master, int64_t i);
/** Threads of each of the `ranks` processes of a trial: so many for each of its slots. */
int64_t rgmi_process_threads(const rgm_master *master, const rgmi_process *p, int64_t ranks);
void rgmi_waiting_clear(rgm_master *master);
/** Why a trial waits, for GET /queue. */
rgm_status rgmi_waiting_note(rgm_master *master, int64_t trial, int64_t experiment,
                             const char *reason);
void rgmi_processes_forget(rgm_master *master);

/* ---- devices.c: slots that are devices ------------------------------------------------------ */

/** master->devices, where they are not known yet. Errors: those of rgm_search_subject.devices. */
rgm_status rgmi_devices_find(rgm_master *master);
void rgmi_devices_clear(rgm_master *master);
/** Whether a row's `slot_type` says that. */
bool rgmi_slot_is_device(const char *slot_type);
/** Whether a search that asks for devices of this machine can have them. Errors: RGM_ERR_CONFIG,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_devices_check(rgm_master *master, const rgm_search_file *file);
/** "opencl:0,opencl:1": those of a process. */
rgm_status rgmi_devices_print(rgm_text *out, const rgm_master *master, const rgmi_process *p);
/** Give it those of such a text that are free; what cannot be found is told in the log. */
rgm_status rgmi_devices_take(rgm_master *master, rgmi_process *p, const char *names);
/** The variable of its environment that shows it no other device, rgm_free() it; NULL: none. */
rgm_status rgmi_devices_variable(char **out, const rgm_master *master, const rgmi_process *p);
/** The member `devices` of what it is told: names as it will see them, one for each rank; none: as
 * its file says. */
rgm_status rgmi_devices_answer(rgm_text *out, const rgm_master *master, const rgmi_process *p);

/* ---- run_processes.c: which processes are a run's ------------------------------------------- */

#define RGMI_RUN_ROOM (4096 + 64)
/** The variable that a run's process and its children have in their environment. */
void rgmi_run_print(char out[RGMI_RUN_ROOM], const rgm_master *master, const char *token);
/** Whether a process was started with that. False: it is gone, too. */
bool rgmi_is_of_run(pid_t pid, const char *variable);
/** All of a run that are there; none of a master of another folder, a copy of this one too. */
void rgmi_run_kill(const rgm_master *master, const char *token);

/* ---- alone.c: experiments that are not served ----------------------------------------------- */

bool rgmi_is_left(const rgm_master *master, int64_t experiment);
/** It is served from now on. */
void rgmi_take_in(rgm_master *master, int64_t experiment);

/* ---- limits.c: bounds on time --------------------------------------------------------------- */

/** End what has had its time: processes that say nothing, trials, searches. Outside of a change. */
rgm_status rgmi_limits_keep(rgm_master *master);

/* ---- upkeep.c: what a master does beside its trials ------------------------------------------ */

/** Checkpoints that no rule can want go, logs are bounded, the disk is looked at; each as often as
 * it is worth. Outside of a change. Errors: RGM_ERR_NOMEM; what else fails is told and tried again.
 */
rgm_status rgmi_upkeep(rgm_master *master);
/** Where a log begins that was cut at its front: nothing is before that byte. */
int64_t rgmi_log_front(int fd);

/* ---- tokens.c: who may ask over TCP --------------------------------------------------------- */

/** Those of the database into memory. */
rgm_status rgmi_tokens_load(rgm_master *master);
/** What the bearer of a token may do. Threads: any. */
rgmi_scope rgmi_token_scope(rgm_master *master, const char *token);

/* ---- webhooks.c, webhooks_send.c: others are told what happens ------------------------------- */

enum { RGMI_HOOK_END = 1, RGMI_HOOK_FAILURE = 2, RGMI_HOOK_BEST = 4 };

/** Something happened to an experiment, and to a trial of it (0: it is of the experiment), in the
 * change under way: whoever asked for it will be told. */
rgm_status rgmi_hooks_note(rgm_master *master, int64_t experiment, int64_t trial, int event);
/** A delivery of a webhook's own, to try it; in a change under way. RGM_ERR_NOT_FOUND. */
rgm_status rgmi_hooks_try(rgm_master *master, int64_t webhook);
/** A thread that delivers, until hooks_until; `payload` is the master. */
void *rgmi_hooks_work(void *payload);

/* ---- delays.c: starts that are put off ------------------------------------------------------ */

/** An experiment's trials (trial 0), or one of them, could not be started or run on this machine:
 * none is started for 1 s, and for twice as long each time in succession, at most for 5 minutes. */
void rgmi_delay_note(rgm_master *master, int64_t experiment, int64_t trial, const char *why);
/** What puts a trial off, its own or its experiment's; trial 0: its experiment's alone. NULL:
 * nothing. Valid until the next is noted. */
const rgmi_delay *rgmi_delay_of(const rgm_master *master, int64_t experiment, int64_t trial);
/** As the reason of a trial that waits. */
rgm_status rgmi_delay_print(rgm_text *out, const rgmi_delay *delay);
/** It works: the next one begins with the shortest pause. trial 0: the experiment's own; -1: all of
 * the experiment and its trials. */
void rgmi_delay_forget(rgm_master *master, int64_t experiment, int64_t trial);
/** Whether a pause has ended since this was asked last. */
bool rgmi_delays_are_due(rgm_master *master);

/* ---- jobs.c, jobs_share.c: trials that Slurm runs ------------------------------------------- */

/** Whether a file's trials could be submitted: commands, options. Errors: RGM_ERR_CONFIG,
 * RGM_ERR_UNSUPPORTED (there is no Slurm here). */
rgm_status rgmi_jobs_check(rgm_master *master, const rgm_search_file *file);
/** Trials of Slurm's experiments that may have a job get one, which is submitted later; in a change
 * under way. */
rgm_status rgmi_jobs_share_out(rgm_master *master);
/** One that an earlier master had, with its number, 0 where that was not known. */
void rgmi_job_adopt(rgmi_process *p, int64_t job);
/** How the run of a job that is over ended, where its process has not told. */
rgmi_run_end rgmi_job_end(const rgmi_process *p);
/** What lines of its log say of a failure (log_policy.c): *how may become RGMI_RUN_HOPELESS, with
 * a message to rgm_free(); the slots that it had may be drained. Inside a change. */
rgm_status rgmi_log_policy(rgmi_run_end *how, char **message, rgm_master *master,
                           const rgmi_process *p);
/** A job's process speaks for the first time: from here on it runs; outside of a change. */
rgm_status rgmi_job_began(rgm_master *master, const rgmi_process *p);
/** Why it has not begun, rgm_text_clear() it. */
rgm_status rgmi_job_print_reason(rgm_text *out, const rgmi_process *p);
/** Until jobs_stop: submit, ask, stop and kill. Threads: beside all others; the lock is free while
 * a command of Slurm runs. `payload` is the master. */
void *rgmi_jobs_work(void *payload);

/** What messages call its scheduler: "Slurm". */
const char *rgmi_job_scheduler(const rgmi_process *p);

/* ---- slots.c: slots that are drained, and pools --------------------------------------------- */

/** Read at opening which slots are drained. */
rgm_status rgmi_slots_load(rgm_master *master);
/** How many slots of a pool trials may be started on. */
int64_t rgmi_slots_of_pool(const rgm_master *master, int64_t pool);
/** Of those that a process holds, how many are that; its pool's alone. */
int64_t rgmi_slots_held(const rgm_master *master, const rgmi_process *p, int64_t pool);

/* ---- address.c: where a master is found by jobs --------------------------------------------- */

/** "http://HOST:PORT" for other hosts; NULL: there is none, since it does not listen, or only on
 * the loopback. */
rgm_status rgmi_address_url(char **out, const rgm_master *master);
/** <folder>/master.address: the host's name, and that. */
rgm_status rgmi_address_write(const rgm_master *master);

/* ---- http.c --------------------------------------------------------------------------------- */

typedef struct rgmi_server rgmi_server;
rgm_status rgmi_server_start(rgmi_server **out, rgm_master *master);
void rgmi_server_stop(rgmi_server *server);

/* ---- socket.c ------------------------------------------------------------------------------- */

/** Its address, by the folder's descriptor. */
void rgmi_socket_address(struct sockaddr_un *address, int folder_fd);
/** Whether somebody listens in a folder. */
bool rgmi_socket_answers(int folder_fd);

/* ---- collect.c: checkpoints that go --------------------------------------------------------- */

/** The files of one, and its row says so; in a change under way. */
rgm_status rgmi_checkpoint_remove(rgm_master *master, int64_t id);
/** Those of an experiment that its policy does not keep. out: may be NULL. counters: best of the
 * experiment, best and latest of a trial, of a policy that is not its own; below 0, or NULL: its
 * own. */
rgm_status rgmi_collect(rgm_text *out, rgm_master *master, int64_t experiment, bool preview,
                        const int64_t counters[3]);

#endif
