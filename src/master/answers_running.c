/*
 * What runs where, and which share of the slots each experiment has.
 */
#include "engine.h"
#include "requests.h"

#include <math.h>

/* ---- what runs ------------------------------------------------------------------------------ */

/* Seconds since then; null: not known. */
static rgm_status print_since(rgm_text *out, const char *key, double when)
{
    RGM_TRY(rgm_text_printf(out, ", \"%s\": ", key));
    return isnan(when) ? rgm_text_add(out, "null", 4)
                       : rgm_json_print_number(out, rgm_now() - when);
}

/* A job's state is Slurm's word of it, and silence is of the moment: no row has them. */
static rgm_status print_running(rgmi_call *call, rgmi_rows *rows)
{
    const rgmi_process *p = rgmi_process_of(call->master, rgmi_rows_int(rows, 0));
    bool is_job = p != NULL && p->is_job;

    RGM_TRY(rgmi_print_row(call->out, rows));
    call->out->size--; /* the row's bracket: what follows is of the same object */
    RGM_TRY(
        rgm_text_printf(call->out, ", \"stops\": %s, \"job_state\": ",
                        p != NULL && (p->stops || p->killed || p->terminated) ? "true" : "false"));
    RGM_TRY(is_job ? rgm_json_print_text(call->out, rgmi_job_state_name(p->job_state))
                   : rgm_text_add(call->out, "null", 4));
    RGM_TRY(rgm_text_printf(call->out, ", \"job_reason\": "));
    RGM_TRY(is_job && p->job_reason[0] != 0 ? rgm_json_print_text(call->out, p->job_reason)
                                            : rgm_text_add(call->out, "null", 4));
    RGM_TRY(print_since(call->out, "at_work", p != NULL ? p->begun : NAN));
    RGM_TRY(print_since(call->out, "silent", p != NULL ? p->heard : NAN));
    return rgm_text_add(call->out, "}", 1);
}

rgm_status rgmi_answer_running(rgmi_call *call)
{
    static const rgmi_paged_list running = {
        .key = "running",
        .count = "SELECT count(*) FROM trials WHERE run_token IS NOT NULL",
        .print = print_running,
        .rows =
            "SELECT t.id AS trial_id, t.experiment_id, t.number, e.engine, r.slots, r.start_time AS"
            " 'start_time:time', t.run_pid AS pid, nullif(t.run_job, 0) AS job FROM trials t JOIN"
            " experiments e ON e.id = t.experiment_id LEFT JOIN runs r ON r.trial_id = t.id AND "
            "r.token"
            " = t.run_token WHERE t.run_token IS NOT NULL ORDER BY t.id LIMIT ? OFFSET ?"};

    return rgmi_answer_list(call, &running);
}

/* ---- shares --------------------------------------------------------------------------------- */

static int64_t held_by(const rgm_master *m, int64_t experiment)
{
    int64_t held = 0;

    for (int64_t i = 0; i < m->process_count; i++)
        if (m->processes[i].experiment == experiment && !m->processes[i].ended)
            held += m->processes[i].is_job ? m->processes[i].width : m->processes[i].slot_count;
    return held;
}

/* -1: the schedule makes none. */
static int64_t share_of(const rgm_master *m, int64_t experiment)
{
    for (int64_t i = 0; i < m->share_count; i++)
        if (m->shares[i].experiment == experiment)
            return m->shares[i].slots;
    return -1;
}

/* Columns: experiment, slots of a trial, the most it may hold, trials that wait. */
static rgm_status print_share(rgmi_call *call, rgmi_rows *rows)
{
    int64_t experiment = rgmi_rows_int(rows, 0), most = rgmi_rows_int(rows, 2);
    int64_t held = held_by(call->master, experiment), share = share_of(call->master, experiment);
    int64_t waits = rgmi_rows_int(rows, 1) * rgmi_rows_int(rows, 3), demand = held + waits;

    RGM_TRY(rgmi_print_row(call->out, rows));
    call->out->size--;
    RGM_TRY(rgmi_print_ranks(call, experiment));
    RGM_TRY(rgm_text_printf(
        call->out, ", \"held\": %lld, \"waits\": %lld, \"demand\": %lld, \"share\": ",
        (long long)held, (long long)waits, (long long)(most > 0 && demand > most ? most : demand)));
    return share < 0 ? rgm_text_add(call->out, "null}", 5)
                     : rgm_text_printf(call->out, "%lld}", (long long)share);
}

rgm_status rgmi_answer_shares(rgmi_call *call)
{
    static const rgmi_paged_list shares = {
        .key = "shares",
        .count = "SELECT count(*) FROM experiments WHERE state NOT IN " RGMI_SQL_OVER,
        .print = print_share,
        .rows =
            "SELECT id AS experiment_id, slots_per_trial, max_slots, CASE WHEN state = " RGMI_SQL(
                ACTIVE) " THEN"
                        " (SELECT count(*) FROM trials WHERE experiment_id = e.id AND wants AND "
                        "run_token IS NULL)"
                        " ELSE 0 END AS waiting, name, state, engine, slot_type, weight, priority "
                        "FROM "
                        "experiments e WHERE"
                        " state NOT IN " RGMI_SQL_OVER " ORDER BY id LIMIT ? OFFSET ?"};

    return rgmi_answer_list(call, &shares);
}
