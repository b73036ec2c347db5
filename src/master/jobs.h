/*
 * What the two files of jobs share; what others call is in master_internal.h.
 */
#ifndef RGM_MASTER_JOBS_H
#define RGM_MASTER_JOBS_H

#include "master_internal.h"

/** A scheduler that can be asked. */
typedef struct rgmi_job_engine {
    const rgmi_engine_type *type; /* NULL: none */
    void *state;
} rgmi_job_engine;
/** One for one experiment's jobs; `folder` is where Slurm's script is written. Errors:
 * RGM_ERR_CONFIG (an option that cannot be, or no such scheduler), RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_jobs_engine(rgmi_job_engine *out, const rgm_master *master,
                            const rgm_search_file *file, const char *folder);
/** One that is asked about the jobs of all experiments of a scheduler. Errors: as above. */
rgm_status rgmi_jobs_asking_engine(rgmi_job_engine *out, const rgm_master *master,
                                   const char *scheduler);
void rgmi_job_engine_release(rgmi_job_engine *engine);
/** NULL: the jobs of this experiment were not refused. */
rgmi_held_jobs *rgmi_held_jobs_find(rgm_master *master, int64_t experiment);

#endif
