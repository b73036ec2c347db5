/*
 * Reasons in words: what is asked first of a search that does not run.
 */
#include "scheduler.h"

typedef long long ll;

static const char *plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* "experiment 7 (priority 30)" */
static rgm_status print_group(rgm_text *out, const rgmi_reason *r)
{
    RGM_TRY(rgm_text_printf(out, "experiment %lld", (ll)r->group));
    return r->priority == 0 ? RGM_OK : rgm_text_printf(out, " (priority %lld)", (ll)r->priority);
}

static rgm_status print_held(rgm_text *out, const rgmi_reason *r)
{
    RGM_TRY(rgm_text_printf(out, "waits for %lld slot%s: %lld free", (ll)r->needed,
                            plural(r->needed), (ll)r->free));
    if (r->most >= 0 && r->most < r->free)
        RGM_TRY(rgm_text_printf(out, " (%lld at most on one machine)", (ll)r->most));
    if (r->group_slots > 0) {
        RGM_TRY(rgm_text_printf(out, ", %lld held by ", (ll)r->group_slots));
        RGM_TRY(print_group(out, r));
    }
    return r->others > 0 ? rgm_text_printf(out, ", %lld by others", (ll)r->others) : RGM_OK;
}

static rgm_status print_promised(rgm_text *out, const rgmi_reason *r)
{
    RGM_TRY(rgm_text_printf(out, "waits for %lld slot%s: what is free is kept for trial %lld of ",
                            (ll)r->needed, plural(r->needed), (ll)r->task));
    RGM_TRY(print_group(out, r));
    return rgm_text_printf(out, ", which needs %lld", (ll)r->group_slots);
}

static rgm_status print_behind(rgm_text *out, const rgmi_reason *r)
{
    RGM_TRY(rgm_text_printf(out, "waits behind trial %lld of ", (ll)r->task));
    RGM_TRY(print_group(out, r));
    return rgm_text_printf(out, ", which needs %lld slot%s", (ll)r->group_slots,
                           plural(r->group_slots));
}

/* Slots that there are not. */
static rgm_status print_never(rgm_text *out, const rgmi_reason *r)
{
    if (r->kind == RGMI_REASON_TOO_WIDE)
        return rgm_text_printf(out, "needs %lld slot%s, the machine has %lld: it can never start",
                               (ll)r->needed, plural(r->needed), (ll)r->total);
    if (r->kind == RGMI_REASON_OVER_MAX)
        return rgm_text_printf(out,
                               "needs %lld slot%s, max_slots of its experiment is %lld: it can "
                               "never start",
                               (ll)r->needed, plural(r->needed), (ll)r->limit);
    return rgm_text_printf(
        out,
        "needs %lld slot%s, which are on no one machine and not on whole ones of "
        "an equal size: it can never start",
        (ll)r->needed, plural(r->needed));
}

static rgm_status print_rest(rgm_text *out, const rgmi_reason *r)
{
    switch (r->kind) {
    case RGMI_REASON_MORE:
        return rgm_text_printf(out, "needs %lld slot%s, %lld are there: it waits for machines",
                               (ll)r->needed, plural(r->needed), (ll)r->total);
    case RGMI_REASON_MAX_SLOTS:
        return rgm_text_printf(out, "its experiment is at max_slots %lld%s", (ll)r->limit,
                               r->used < r->limit ? ", or would be above it" : "");
    case RGMI_REASON_SHARE:
        return rgm_text_printf(out,
                               "waits for %lld slot%s: its experiment's share is %lld of %lld, and "
                               "it holds %lld",
                               (ll)r->needed, plural(r->needed), (ll)r->limit, (ll)r->total,
                               (ll)r->used);
    case RGMI_REASON_RETURNING:
        return rgm_text_printf(out, "waits for %lld slot%s: they are being given back",
                               (ll)r->needed, plural(r->needed));
    case RGMI_REASON_IN_LINE:
        return rgm_text_printf(out,
                               "waits behind trial %lld of its experiment, which needs %lld slot%s",
                               (ll)r->task, (ll)r->group_slots, plural(r->group_slots));
    case RGMI_REASON_NO_ROOM:
        return rgm_text_printf(out, "every machine has %d tasks without slots",
                               RGMI_TASKS_WITHOUT_SLOTS);
    default:
        return RGM_OK;
    }
}

rgm_status rgmi_reason_print(rgm_text *out, const rgmi_reason *r)
{
    switch (r->kind) {
    case RGMI_REASON_TOO_WIDE:
    case RGMI_REASON_SHAPE:
    case RGMI_REASON_OVER_MAX:
        return print_never(out, r);
    case RGMI_REASON_HELD:
        return print_held(out, r);
    case RGMI_REASON_PROMISED:
        return print_promised(out, r);
    case RGMI_REASON_BEHIND:
        return print_behind(out, r);
    case RGMI_REASON_FIXED:
        RGM_TRY(print_behind(out, r));
        return rgm_text_printf(out, " (it could not be stopped to make room)");
    case RGMI_REASON_LOST_SHARE:
        return rgm_text_printf(out, "stopped: its experiment holds %lld slot%s, its share is %lld",
                               (ll)r->used, plural(r->used), (ll)r->limit);
    case RGMI_REASON_PREEMPTED:
        RGM_TRY(rgm_text_printf(out, "stopped: it makes room for trial %lld of ", (ll)r->task));
        return print_group(out, r);
    default:
        return print_rest(out, r);
    }
}
