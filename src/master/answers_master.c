/*
 * What there is to know of the master itself.
 */
#include "requests.h"

#include <unistd.h>

static int64_t count_taken(const bool *taken, int64_t count)
{
    int64_t sum = 0;

    for (int64_t i = 0; i < count; i++)
        sum += taken[i];
    return sum;
}

/* None before a search has asked for them. */
static rgm_status print_devices(rgm_text *out, const rgm_master *m)
{
    RGM_TRY(rgm_text_printf(out, ", \"devices\": ["));
    for (int64_t i = 0; i < m->device_count; i++)
        RGM_TRY(rgm_text_printf(out, "%s\"%s\"", i > 0 ? ", " : "", m->devices[i]));
    return rgm_text_printf(out, "], \"devices_taken\": %lld",
                           (long long)count_taken(m->device_taken, m->device_count));
}

rgm_status rgmi_answer_master(rgmi_call *call)
{
    const rgm_master *m = call->master;
    RGM_TRY(rgm_text_printf(call->out, "{\"version\": \"%s\", \"pid\": %ld, \"folder\": ",
                            RGM_VERSION, (long)getpid()));
    RGM_TRY(rgm_json_print_text(call->out, m->options.folder));
    RGM_TRY(print_devices(call->out, m));
    return rgm_text_printf(
        call->out,
        ", \"serves\": %s, \"slots\": %lld, \"threads_per_slot\": %lld, \"slots_taken\": %lld, "
        "\"slots_drained\": %lld, "
        "\"processes\": %lld, \"scheduling\": \"%s\", \"preemption\": %s}",
        m->serves ? "true" : "false", (long long)m->options.slots,
        (long long)m->options.threads_per_slot,
        (long long)count_taken(m->slot_taken, m->options.slots),
        (long long)count_taken(m->slot_drained, m->options.slots), (long long)m->process_count,
        rgm_scheduling_names[m->options.scheduling], m->options.preemption ? "true" : "false");
}

#define LEFT "this master serves another search alone; activate takes this one in"

static const char *find_reason(const rgm_master *m, int64_t experiment, int64_t trial)
{
    if (m->serves && rgmi_is_left(m, experiment))
        return LEFT;
    for (int64_t i = 0; i < m->waiting_count; i++)
        if (m->waiting[i].trial == trial)
            return m->waiting[i].reason;
    return m->serves ? "waits behind others of its experiment"
                     : "no master is at work in the folder";
}

rgm_status rgmi_print_waits(rgmi_call *call)
{
    rgm_status status = RGM_OK;
    const rgm_master *m = call->master;
    const char *why = m->serves && rgmi_is_left(m, call->id) ? LEFT : NULL;
    rgm_text of_job = {0};

    for (int64_t i = 0; i < m->waiting_count && why == NULL && m->serves; i++)
        if (m->waiting[i].experiment == call->id)
            why = m->waiting[i].reason;
    for (int64_t i = 0; i < m->process_count && why == NULL; i++) {
        const rgmi_process *p = &m->processes[i];

        if (p->experiment != call->id || !p->is_job || p->asked || p->ended || p->job_over)
            continue;
        RGM_GO(rgmi_job_print_reason(&of_job, p));
        why = of_job.data;
    }
    RGM_GO(rgm_text_printf(call->out, ", \"waits\": "));
    RGM_GO(why != NULL ? rgm_json_print_text(call->out, why) : rgm_text_printf(call->out, "null"));
done:
    rgm_text_clear(&of_job);
    return status;
}

static rgm_status print_waiting(rgmi_call *call, int64_t *printed, int64_t trial,
                                int64_t experiment, int64_t number, const char *reason)
{
    RGM_TRY(rgm_text_printf(call->out,
                            "%s{\"trial_id\": %lld, \"experiment_id\": %lld, \"number\": %lld, "
                            "\"reason\": ",
                            (*printed)++ > 0 ? ", " : "", (long long)trial, (long long)experiment,
                            (long long)number));
    RGM_TRY(rgm_json_print_text(call->out, reason));
    return rgm_text_add(call->out, "}", 1);
}

/* First those that Slurm has: jobs that have not begun. */
static rgm_status print_jobs(rgmi_call *call, int64_t *printed, int64_t *count, int64_t limit,
                             int64_t offset)
{
    rgm_status status = RGM_OK;
    rgm_text reason = {0};
    int64_t number;

    *count = 0;
    for (int64_t i = 0; i < call->master->process_count; i++) {
        const rgmi_process *p = &call->master->processes[i];

        if (!p->is_job || p->asked || p->ended || p->job_over)
            continue;
        if ((*count)++ < offset || *printed >= limit)
            continue;
        RGM_GO(rgmi_database_int(&number, call->master->database, 0,
                                 "SELECT number FROM trials WHERE id = ?", "i", p->trial));
        reason.size = 0;
        RGM_GO(rgmi_job_print_reason(&reason, p));
        RGM_GO(print_waiting(call, printed, p->trial, p->experiment, number, reason.data));
    }
done:
    rgm_text_clear(&reason);
    return status;
}

rgm_status rgmi_answer_queue(rgmi_call *call)
{
    rgm_status status = RGM_OK;
    int64_t limit, offset, total, jobs, printed = 0;
    rgmi_rows *rows = NULL;

    RGM_GO(rgmi_call_page(&limit, &offset, call));
    RGM_GO(rgm_text_printf(call->out, "{\"queue\": ["));
    RGM_GO(print_jobs(call, &printed, &jobs, limit, offset));
    RGM_GO(rgmi_database_int(
        &total, call->master->database, 0,
        "SELECT count(*) FROM trials t JOIN experiments e ON e.id ="
        " t.experiment_id WHERE wants AND run_token IS NULL AND e.state =" RGMI_SQL(ACTIVE),
        ""));
    RGM_GO(rgmi_database_query(&rows, call->master->database,
                               "SELECT t.id, t.experiment_id, number FROM trials t JOIN experiments"
                               " e ON e.id = t.experiment_id WHERE wants AND run_token IS NULL AND"
                               " e.state = " RGMI_SQL(ACTIVE) " ORDER BY t.id LIMIT ? OFFSET ?",
                               "ii", limit - printed, offset > jobs ? offset - jobs : (int64_t)0));
    while ((status = rgmi_rows_next(call->master->database, rows)) == RGM_OK)
        RGM_GO(print_waiting(
            call, &printed, rgmi_rows_int(rows, 0), rgmi_rows_int(rows, 1), rgmi_rows_int(rows, 2),
            find_reason(call->master, rgmi_rows_int(rows, 1), rgmi_rows_int(rows, 0))));
    status = rgm_text_printf(call->out, "], \"offset\": %lld, \"limit\": %lld, \"total\": %lld}",
                             (long long)offset, (long long)limit, (long long)(total + jobs));
done:
    rgmi_rows_leave(rows);
    return status;
}
