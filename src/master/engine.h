/*
 * What the master asks of whatever runs its trials: start one, tell how all of them are, stop one
 * gracefully, kill it, find those that an earlier master started. Slurm is one (slurm.h), a
 * scheduler of three commands another (commands.h).
 */
#ifndef RGM_MASTER_ENGINE_H
#define RGM_MASTER_ENGINE_H

#include <regimen/base.h>

/** Whose a job is. `run` is drawn anew for each start of a trial, and is what nobody else knows: so
 * a job is found again that was started just before its master died. */
typedef struct rgmi_job_tag {
    int64_t experiment, trial;
    char run[65]; /* 1 to 64 of A-Z a-z 0-9 - _ */
} rgmi_job_tag;

typedef enum rgmi_job_state {
    RGMI_JOB_PENDING, /* it has not begun, or begins again */
    RGMI_JOB_RUNNING,
    RGMI_JOB_COMPLETED, /* with exit status 0 */
    RGMI_JOB_FAILED,
    RGMI_JOB_TIMEOUT,
    RGMI_JOB_PREEMPTED,
    RGMI_JOB_NODE_FAIL,
    RGMI_JOB_OUT_OF_MEMORY,
    RGMI_JOB_CANCELLED,
    RGMI_JOB_GONE,   /* nobody knows it any more                     */
    RGMI_JOB_UNKNOWN /* nobody can tell just now: to be asked again  */
} rgmi_job_state;
/** "PENDING"; NULL: no such state. */
const char *rgmi_job_state_name(rgmi_job_state state);
/** Whether a job in this state has ended for good. */
bool rgmi_job_is_over(rgmi_job_state state);

typedef struct rgmi_job {
    int64_t id;
    rgmi_job_tag tag;
    rgmi_job_state state;
    char reason[96]; /* why it is so, in the engine's own words: "Resources"; may be "" */
} rgmi_job;

typedef struct rgmi_job_request {
    rgmi_job_tag tag;
    const char *const *argv;        /* ended by NULL; argv[0] an absolute path               */
    const char *const *environment; /* ended by NULL, "NAME=VALUE" beside this process' own */
    const char *folder;             /* it works in, absolute                                */
    const char *output;             /* file for what it prints, appended to; absolute       */
    int64_t cpus;                   /* processors, at least 1                               */
    int64_t devices;                /* so many of `gres`; 0: none                           */
    const char *gres;               /* "gpu", "gpu:a100"; NULL: "gpu"                       */
} rgmi_job_request;

/** A kind of engine. `state` is what its own function made. */
typedef struct rgmi_engine_type {
    const char *name;
    /** Errors: RGM_ERR_ARG, RGM_ERR_CONFIG (the engine refused it, with its words), RGM_ERR_IO (it
     * may run nevertheless: find() tells), RGM_ERR_NOT_FOUND (no engine here), RGM_ERR_NOMEM. */
    rgm_status (*start)(void *state, int64_t *id, const rgmi_job_request *request);
    /** Fill in state and reason of jobs of which id and tag are given. Errors: RGM_ERR_IO and
     * others; the jobs are then as before. */
    rgm_status (*poll)(void *state, rgmi_job *jobs, int64_t count);
    /** Ask it to save its state and end (SIGTERM); one that has not begun never does. */
    rgm_status (*stop)(void *state, const rgmi_job *job);
    rgm_status (*kill)(void *state, const rgmi_job *job);
    /** Let it begin again, from the head of its program, under the same id. */
    rgm_status (*requeue)(void *state, const rgmi_job *job);
    /** All jobs of this master that are known, rgm_free() them: those that are over as well. NULL:
     * poll() finds jobs by their tags where their ids are 0, and fills those in. */
    rgm_status (*find)(void *state, rgmi_job **jobs, int64_t *count);
    void (*release)(void *state);
} rgmi_engine_type;

/* ---- an engine's own copies of its options, in its arena ---------------------------------------
 */

/** NULL stays NULL. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_text_keep(const char **out, rgm_arena *arena, const char *text);
rgm_status rgmi_texts_keep(rgm_texts *out, rgm_arena *arena, const rgm_texts *list);

#endif
