/*
 * What can be asked of a search while it goes on: other trials, bounds and limits, a point, the end
 * of one trial.
 */
#include "requests.h"

/* What the request brings cannot be, not what is kept. */
static rgm_status blame_request(rgmi_call *call, rgm_status status)
{
    if (status == RGM_ERR_CONFIG || status == RGM_ERR_UNSUPPORTED)
        call->status = 422;
    return status;
}

static rgm_status change(rgmi_call *call)
{
    RGM_TRY(blame_request(call, rgmi_search_change(&call->details, call->master, call->id,
                                                   rgm_json_find(call->body, "set"))));
    rgmi_take_in(call->master, call->id);
    return rgmi_answer_experiment(call);
}

rgm_status rgmi_answer_change(rgmi_call *call)
{
    static const char *const known[] = {"set", NULL};

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, change(call));
}

static rgm_status try_point(rgmi_call *call, int64_t like)
{
    int64_t number;

    RGM_TRY(blame_request(call, rgmi_search_try(&number, &call->details, call->master, call->id,
                                                rgm_json_find(call->body, "values"), like)));
    rgmi_take_in(call->master, call->id);
    if (number == 0)
        return rgm_text_printf(call->out, "{\"experiment_id\": %lld, \"number\": null}",
                               (long long)call->id);
    return rgm_text_printf(call->out, "{\"experiment_id\": %lld, \"number\": %lld}",
                           (long long)call->id, (long long)number);
}

rgm_status rgmi_answer_try(rgmi_call *call)
{
    static const char *const known[] = {"values", "like", NULL};
    int64_t like = 0;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_int(&like, call, "like", 1, INT64_MAX));
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, try_point(call, like));
}

static rgm_status stop_trial(rgmi_call *call)
{
    rgmi_experiment *e;
    rgmi_trial *trial;

    RGM_TRY(rgmi_trial_find(&trial, &e, call->master, call->id));
    RGM_TRY(rgmi_trial_end_here(call->master, e, trial));
    RGM_TRY(rgmi_experiment_flush(call->master, e));
    return rgmi_answer_trial(call);
}

rgm_status rgmi_answer_stop_trial(rgmi_call *call)
{
    RGM_TRY(rgmi_change_begin(call->master));
    return rgmi_change_end(call->master, stop_trial(call));
}

rgm_status rgmi_answer_changes(rgmi_call *call)
{
    static const rgmi_paged_list changes = {
        .key = "changes",
        .of_id = true,
        .count = "SELECT count(*) FROM search_changes WHERE experiment_id = ?",
        .rows = "SELECT id, what AS 'what:json', time AS 'time:time' FROM"
                " search_changes WHERE experiment_id = ? ORDER BY id LIMIT ? OFFSET"
                " ?"};
    int64_t smaller;

    RGM_TRY(rgmi_experiment_exists(&smaller, call));
    return rgmi_answer_list(call, &changes);
}
