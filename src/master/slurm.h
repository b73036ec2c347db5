/*
 * Slurm as an engine: trials are batch jobs. Its commands are run (sbatch, squeue, sacct, scancel,
 * scontrol), in forms that are made for programs; its library has no stable interface.
 */
#ifndef RGM_MASTER_SLURM_H
#define RGM_MASTER_SLURM_H

#include "engine.h"

typedef struct rgmi_slurm_options {
    const char *master; /* this master's name among jobs, 1 to 64 of A-Z a-z 0-9 - _            */
    const char *folder; /* for the script that jobs are; absolute, seen by all nodes            */
    const char *partition; /* NULL: Slurm's default */
    int64_t time_limit_s; /* rounded up to minutes; 0: the partition's                            */
    int64_t memory_mb;    /* of a job; 0: the partition's                                         */
    int64_t grace_s;      /* before its time is over a job is sent SIGTERM; 1..65535, 0: 120      */
    bool requeue;         /* a job whose node fails, or that is preempted, begins again           */
    rgm_texts flags;      /* more of sbatch's, each "--name" or "--name=value"                    */
    rgm_texts setup;      /* lines that a shell reads in the job before its program             */
    double command_s;     /* how long a command of Slurm may take; 0: 60                          */
} rgmi_slurm_options;

extern const rgmi_engine_type rgmi_slurm;

/**
 * The state of an engine `rgmi_slurm`.
 *
 * @param out      [out, owned] rgmi_slurm.release() it
 * @param options  [in] copied
 *
 * Errors: RGM_ERR_CONFIG (a name, a number, a flag that cannot be), RGM_ERR_IO (no script can be
 * written in the folder), RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgmi_slurm_create(void **out, const rgmi_slurm_options *options);

/** What Slurm calls a state ("CANCELLED by 1000" too); RGMI_JOB_UNKNOWN: nothing that we know. */
rgmi_job_state rgmi_slurm_state(const char *name, int64_t size);
/** Jobs of a master in what squeue printed: lines "id|STATE|reason|tag" of another form are
 * others'. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_slurm_read_queue(rgmi_job **jobs, int64_t *count, const char *printed, int64_t size,
                                 const char *master);
/** Fill in jobs from what sacct printed: lines "id|STATE|exit". */
void rgmi_slurm_read_accounts(rgmi_job *jobs, int64_t count, const char *printed, int64_t size);

#endif
