/*
 * A plan: the state of things, then the policy.
 */
#include "scheduler.h"
#include "scheduler_internal.h"

void rgmi_plan_clear(rgmi_schedule_plan *plan)
{
    rgm_free(plan->tasks);
    rgm_free(plan->offers);
    rgm_free(plan->places);
    *plan = (rgmi_schedule_plan){0};
}

/* They take no slots, so nobody is in their way but their own number. */
static rgm_status start_without_slots(rgmi_pass *pass)
{
    for (int64_t i = 0; i < pass->num_waiting; i++) {
        const rgmi_schedule_item *item = &pass->waiting[i];
        bool started;

        if (rgmi_item_task(pass, item)->slots > 0)
            continue;
        RGM_TRY(rgmi_pass_start(&started, pass, item));
        if (!started)
            rgmi_pass_wait(pass, item, RGMI_REASON_NO_ROOM);
    }
    return RGM_OK;
}

rgm_status rgmi_schedule(rgmi_schedule_plan *plan, const rgmi_rules *rules, const int64_t *agents,
                         int64_t num_agents, const rgmi_group *groups, int64_t num_groups)
{
    static rgm_status (*const policies[])(rgmi_pass *) = {
        [RGMI_FAIR_SHARE] = rgmi_schedule_share,
        [RGMI_ROUND_ROBIN] = rgmi_schedule_in_turn,
        [RGMI_PRIORITY] = rgmi_schedule_priority,
    };
    rgm_status status = RGM_OK;
    rgmi_pass pass = {0};

    *plan = (rgmi_schedule_plan){0};
    RGM_GO(rgmi_pass_init(&pass, plan, rules, agents, num_agents, groups, num_groups));
    RGM_GO(start_without_slots(&pass));
    RGM_GO(policies[rules->policy](&pass));
    rgmi_pass_finish(&pass);
done:
    rgmi_pass_clear(&pass);
    if (status != RGM_OK)
        rgmi_plan_clear(plan);
    return status;
}
