/*
 * What a master holds in memory, and how it is thrown away. Everything that changes the database
 * does so between rgmi_change_begin() and rgmi_change_end(); where that fails, what is in memory
 * goes with it and is made again from what is stored.
 */
#include "master_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *const rgm_scheduling_names[] = {"fair_share", "priority", NULL};

/* ---- memory --------------------------------------------------------------------------------- */

void rgmi_trial_forget(rgmi_trial *trial)
{
    if (trial == NULL)
        return;
    rgm_sequencer_release(trial->sequencer);
    rgm_free(trial->asked);
    rgm_free(trial);
}

rgm_status rgmi_trial_enter(rgmi_trial **out, rgmi_experiment *e, int64_t number)
{
    rgmi_trial *trial;
    int64_t had = e->number_capacity;

    *out = NULL;
    RGM_TRY(RGM_RESERVE(e->by_number, e->number_capacity, number));
    for (int64_t i = had; i < e->number_capacity; i++)
        e->by_number[i] = NULL;
    RGM_TRY(RGM_RESERVE(e->trials, e->trial_capacity, e->trial_count + 1));
    RGM_TRY(RGM_NEW(trial, 1));
    trial->number = number;
    trial->state = RGM_WORK_ACTIVE;
    trial->last_kind = -1;
    trial->metric = trial->best_metric = (double)NAN;
    e->trials[e->trial_count++] = e->by_number[number - 1] = trial;
    *out = trial;
    return RGM_OK;
}

void rgmi_experiment_release(rgmi_experiment *e)
{
    if (e == NULL)
        return;
    for (int64_t i = 0; i < e->trial_count; i++)
        rgmi_trial_forget(e->trials[i]);
    rgm_free(e->trials);
    rgm_free(e->by_number);
    rgm_free(e->told);
    rgm_searcher_release(e->searcher);
    rgm_search_file_release(e->file);
    rgm_free(e);
}

void rgmi_experiments_forget(rgm_master *master)
{
    for (int64_t i = 0; i < master->experiment_count; i++)
        rgmi_experiment_release(master->experiments[i]);
    master->experiment_count = 0;
}

void rgmi_waiting_clear(rgm_master *master)
{
    for (int64_t i = 0; i < master->waiting_count; i++)
        rgm_free(master->waiting[i].reason);
    master->waiting_count = 0;
}

rgm_status rgmi_waiting_note(rgm_master *master, int64_t trial, int64_t experiment,
                             const char *reason)
{
    RGM_TRY(RGM_RESERVE(master->waiting, master->waiting_capacity, master->waiting_count + 1));
    RGM_TRY(rgm_strdup(&master->waiting[master->waiting_count].reason, reason));
    master->waiting[master->waiting_count].trial = trial;
    master->waiting[master->waiting_count++].experiment = experiment;
    return RGM_OK;
}

/* ---- paths, changes ------------------------------------------------------------------------- */

void rgmi_master_wake(rgm_master *master)
{
    uint64_t one = 1;

    master->changed = true;
    if (master->wake_fd >= 0 && write(master->wake_fd, &one, sizeof one) < 0)
        return; /* full: it wakes anyway */
}

rgm_status rgmi_master_path(char **out, const rgm_master *master, int64_t experiment,
                            int64_t number, const char *name)
{
    char trial[32] = "";

    if (number > 0)
        snprintf(trial, sizeof trial, "/%lld", (long long)number);
    return rgm_strprintf(out, "%s/%lld%s%s%s", master->options.folder, (long long)experiment, trial,
                         name != NULL ? "/" : "", name != NULL ? name : "");
}

rgm_status rgmi_change_begin(rgm_master *master)
{
    RGM_TRY(rgmi_database_begin(master->database));
    master->changes = true;
    return RGM_OK;
}

rgm_status rgmi_change_end(rgm_master *master, rgm_status status)
{
    if (status == RGM_OK)
        status = rgmi_database_commit(master->database);
    master->changes = false;
    rgmi_processes_kill_asked(master, status == RGM_OK);
    if (status != RGM_OK) {
        rgm_error error;

        rgm_error_save(&error, status);
        rgmi_database_rollback(master->database);
        rgmi_experiments_forget(master);
        return rgm_error_restore(&error);
    }
    rgmi_master_wake(master);
    return RGM_OK;
}
