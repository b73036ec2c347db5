/*
 * What the files of the scheduler share: the pass that a plan is made in.
 */
#ifndef RGM_MASTER_SCHEDULER_INTERNAL_H
#define RGM_MASTER_SCHEDULER_INTERNAL_H

#include "scheduler.h"

/** A task by its place: its group, its number there, its number in the plan. */
typedef struct rgmi_schedule_item {
    int64_t group, task, flat;
} rgmi_schedule_item;

typedef struct rgmi_pass {
    const rgmi_rules *rules;
    const int64_t *agents;
    int64_t num_agents;
    const rgmi_group *groups;
    int64_t num_groups;
    rgmi_schedule_plan *plan;
    int64_t total;               /* slots of all agents                                           */
    int64_t *used;               /* [num_groups] slots that are held, those of this pass included */
    rgmi_schedule_item *waiting; /* pending tasks that may start, in the order of their turn      */
    int64_t num_waiting;
    rgmi_schedule_item *held; /* tasks that run or stop, oldest first                          */
    int64_t num_held;
    int64_t *free;            /* [num_agents] now                                              */
    int64_t *soon;            /* [num_agents] once all that stops has, less what is promised   */
    int64_t *room;            /* [num_agents] scratch                                          */
    int64_t *without_slots;   /* [num_agents] tasks                                            */
    rgmi_agent_slots *places; /* [num_agents] scratch                                          */
} rgmi_pass;

/** All pending tasks wait and all others go on, until a policy says otherwise. Errors: RGM_ERR_ARG,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_pass_init(rgmi_pass *pass, rgmi_schedule_plan *plan, const rgmi_rules *rules,
                          const int64_t *agents, int64_t num_agents, const rgmi_group *groups,
                          int64_t num_groups);
void rgmi_pass_clear(rgmi_pass *pass);

const rgmi_group *rgmi_item_group(const rgmi_pass *pass, const rgmi_schedule_item *item);
const rgmi_task *rgmi_item_task(const rgmi_pass *pass, const rgmi_schedule_item *item);
rgmi_decision *rgmi_item_decision(const rgmi_pass *pass, const rgmi_schedule_item *item);

/** The places that a task holds; *count of them. */
const rgmi_agent_slots *rgmi_item_places(rgmi_agent_slots *own, int64_t *count,
                                         const rgmi_pass *pass, const rgmi_schedule_item *item);
/** Start a task where there is room for it now that is promised to nobody; *started says whether.
 * Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_pass_start(bool *started, rgmi_pass *pass, const rgmi_schedule_item *item);
/** Stop a running task: its slots are free soon. */
void rgmi_pass_stop(rgmi_pass *pass, const rgmi_schedule_item *item, const rgmi_reason *why);
/** What a group's tasks may hold of the agents together, by its max_slots; below 0: no limit. */
int64_t rgmi_group_most(const rgmi_group *group);
/** Whether the group's tasks hold so much that this one has to wait for them; says so. */
bool rgmi_pass_at_max(rgmi_pass *pass, const rgmi_schedule_item *item);
/** It waits for that reason; numbers of slots held are filled in by rgmi_pass_finish(). */
void rgmi_pass_wait(rgmi_pass *pass, const rgmi_schedule_item *item, rgmi_reason_kind kind);
void rgmi_pass_finish(rgmi_pass *pass);

/** The policies. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_schedule_share(rgmi_pass *pass);
rgm_status rgmi_schedule_in_turn(rgmi_pass *pass);
rgm_status rgmi_schedule_priority(rgmi_pass *pass);

#endif
