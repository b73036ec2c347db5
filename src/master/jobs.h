/*
 * What the two files of Slurm's jobs share; what others call is in master_internal.h.
 */
#ifndef RGM_MASTER_JOBS_H
#define RGM_MASTER_JOBS_H

#include "master_internal.h"

/** An engine for one experiment's jobs; `folder` is where their script is written. Errors:
 * RGM_ERR_CONFIG (an option that cannot be), RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_jobs_engine(void **out, const rgm_master *master, const rgm_search_file *file,
                            const char *folder);
/** One that is asked about the jobs of all. */
rgm_status rgmi_jobs_asking_engine(void **out, const rgm_master *master);
/** NULL: Slurm has not refused the jobs of this experiment. */
rgmi_held_jobs *rgmi_held_jobs_find(rgm_master *master, int64_t experiment);

#endif
