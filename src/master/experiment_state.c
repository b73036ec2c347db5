/*
 * What follows when an experiment goes to another state.
 */
#include "master_internal.h"

/* Trials without a process have nothing to wait for. */
static rgm_status cancel_idle_trials(rgm_master *master, const rgmi_experiment *e)
{
    for (int64_t i = 0; i < e->trial_count; i++)
        if (e->trials[i]->state == RGM_WORK_ACTIVE &&
            rgmi_process_of(master, e->trials[i]->id) == NULL) {
            e->trials[i]->state = RGM_WORK_CANCELED;
            e->trials[i]->dirty = true;
        }
    return rgmi_database_run(
        master->database,
        "UPDATE trials SET state = " RGMI_SQL(CANCELED) ", end_time = ?, wants = 0 WHERE"
                                                        " experiment_id = ? AND state = " RGMI_SQL(
                                                            ACTIVE) " AND run_token IS NULL",
        "di", rgm_wall_time(), e->id);
}

rgm_status rgmi_experiment_set_state(rgm_master *master, rgmi_experiment *e, rgm_work_state state,
                                     const char *message)
{
    if (!rgmi_state_follows(e->state, state))
        return RGM_FAIL(RGM_ERR_BUSY, "experiment %lld is %s: it cannot become %s",
                        (long long)e->id, rgm_work_state_names[e->state],
                        rgm_work_state_names[state]);
    e->state = state;
    RGM_TRY(rgmi_database_run(master->database,
                              "UPDATE experiments SET state = ?, message = coalesce(?, CASE WHEN ?"
                              " THEN NULL ELSE message END) WHERE id = ?",
                              "ttii", rgm_work_state_names[state], message,
                              (int64_t)(state == RGM_WORK_ACTIVE), e->id));
    return state >= RGM_WORK_STOPPING_COMPLETED ? cancel_idle_trials(master, e) : RGM_OK;
}
