/*
 * What a trial's process is started with, here or by Slurm.
 */
#ifndef RGM_MASTER_LAUNCH_H
#define RGM_MASTER_LAUNCH_H

#include "master_internal.h"

/* Everything that a process is started with. */
typedef struct rgmi_launch {
    char *folder, *log, *working_folder, *self;
    char **argv, **env;
    int64_t arg_count, env_count, arg_capacity, env_capacity, number, own_env;
    int64_t own_args; /* those behind are made for it */
} rgmi_launch;

/** Make the trial's folder and open its log. Errors: RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_launch_open_log(int *fd, const rgmi_launch *l);
/** Of a process with its token, trial and width; its experiment is filled in. A job's environment
 * is what is set beside this process' own. Cleared with rgmi_launch_clear() after an error too. */
rgm_status rgmi_launch_prepare(rgmi_launch *l, rgm_master *master, rgmi_process *p);
/** Whether trials can be started here. Errors: RGM_ERR_UNSUPPORTED (they are ranks, and there is no
 * mpirun), RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgmi_launch_check(const rgm_search_file *file);
void rgmi_launch_clear(rgmi_launch *l);

#endif
