/*
 * The pass that a plan is made in: what holds slots, what is free, who waits, and the few ways to
 * change that. The policies decide; here it is seen to that nothing is given twice.
 */
#include "scheduler_internal.h"

#include <math.h>
#include <stdlib.h>

#define MAX_SLOTS 1000000 /* of all agents: more is a mistake */

const rgmi_group *rgmi_item_group(const rgmi_pass *pass, const rgmi_schedule_item *item)
{
    return &pass->groups[item->group];
}

const rgmi_task *rgmi_item_task(const rgmi_pass *pass, const rgmi_schedule_item *item)
{
    return &pass->groups[item->group].tasks[item->task];
}

rgmi_decision *rgmi_item_decision(const rgmi_pass *pass, const rgmi_schedule_item *item)
{
    return &pass->plan->tasks[item->flat];
}

const rgmi_agent_slots *rgmi_item_places(rgmi_agent_slots *own, int64_t *count,
                                         const rgmi_pass *pass, const rgmi_schedule_item *item)
{
    const rgmi_task *task = rgmi_item_task(pass, item);

    *count = task->num_places;
    if (task->num_places > 0)
        return task->places;
    *count = 1;
    *own = (rgmi_agent_slots){.agent = 0, .slots = task->slots};
    return own;
}

/* ---- what cannot be ---- */

static rgm_status check_task(const rgmi_group *group, const rgmi_task *task, int64_t num_agents)
{
    int64_t slots = 0;

    if (task->slots < 0 || task->slots > MAX_SLOTS)
        return RGM_FAIL(RGM_ERR_ARG, "trial %lld of experiment %lld asks for %lld slots",
                        (long long)task->id, (long long)group->id, (long long)task->slots);
    if (task->num_places < 0 || (task->num_places > 0 && task->places == NULL) ||
        (task->state != RGMI_TASK_PENDING && num_agents < 1))
        return RGM_FAIL(RGM_ERR_ARG, "trial %lld of experiment %lld runs nowhere",
                        (long long)task->id, (long long)group->id);
    for (int64_t i = 0; i < task->num_places; i++) {
        const rgmi_agent_slots *place = &task->places[i];

        if (place->agent < 0 || place->agent >= num_agents || place->slots < 0 ||
            place->slots > task->slots - slots)
            return RGM_FAIL(RGM_ERR_ARG, "trial %lld of experiment %lld: %lld slots on agent %lld",
                            (long long)task->id, (long long)group->id, (long long)place->slots,
                            (long long)place->agent);
        slots += place->slots;
    }
    return RGM_OK;
}

static rgm_status check_groups(const rgmi_pass *pass)
{
    for (int64_t g = 0; g < pass->num_groups; g++) {
        const rgmi_group *group = &pass->groups[g];

        if (!(group->weight > 0) || !isfinite(group->weight))
            return RGM_FAIL(RGM_ERR_ARG, "experiment %lld: weight is %g, must be above 0",
                            (long long)group->id, group->weight);
        if (group->priority < 1 || group->priority > 99)
            return RGM_FAIL(RGM_ERR_ARG, "experiment %lld: priority is %lld, must be in 1..99",
                            (long long)group->id, (long long)group->priority);
        for (int64_t t = 0; t < group->num_tasks; t++)
            RGM_TRY(check_task(group, &group->tasks[t], pass->num_agents));
    }
    return RGM_OK;
}

static rgm_status check_agents(rgmi_pass *pass)
{
    for (int64_t a = 0; a < pass->num_agents; a++) {
        if (pass->agents[a] < 0 || pass->agents[a] > MAX_SLOTS - pass->total)
            return RGM_FAIL(RGM_ERR_ARG, "agent %lld has %lld slots", (long long)a,
                            (long long)pass->agents[a]);
        pass->total += pass->agents[a];
    }
    return RGM_OK;
}

/* ---- the state of things ---- */

/* By precedence, then age; of equals as they are given. */
static int compare_items(const void *left, const void *right, void *payload)
{
    const rgmi_pass *pass = payload;
    const rgmi_schedule_item *a = left, *b = right;
    const rgmi_group *g = rgmi_item_group(pass, a), *h = rgmi_item_group(pass, b);
    const rgmi_task *t = rgmi_item_task(pass, a), *u = rgmi_item_task(pass, b);

    if (pass->rules->policy == RGMI_PRIORITY && g->priority != h->priority)
        return g->priority < h->priority ? -1 : 1;
    if (g->order != h->order)
        return g->order < h->order ? -1 : 1;
    if (a->group != b->group)
        return a->group < b->group ? -1 : 1;
    if (t->order != u->order)
        return t->order < u->order ? -1 : 1;
    return a->task < b->task ? -1 : a->task > b->task;
}

/* Experiments are mostly given in order, and then nothing is to be done. */
static void sort_items(rgmi_pass *pass, rgmi_schedule_item *items, int64_t count)
{
    for (int64_t i = 1; i < count; i++)
        if (compare_items(&items[i - 1], &items[i], pass) > 0) {
            qsort_r(items, (size_t)count, sizeof *items, compare_items, pass);
            return;
        }
}

/* Why a task of so many slots can never start; RGMI_REASON_NONE: it can. */
static rgmi_reason_kind never(rgmi_pass *pass, const rgmi_schedule_item *item)
{
    const rgmi_group *group = rgmi_item_group(pass, item);
    int64_t slots = rgmi_item_task(pass, item)->slots;

    if (slots == 0)
        return RGMI_REASON_NONE;
    if (group->max_slots >= 0 && slots > group->max_slots)
        return RGMI_REASON_OVER_MAX;
    if (rgmi_place_task(pass->places, slots, pass->agents, pass->agents, pass->num_agents,
                        pass->rules->spread) > 0)
        return RGMI_REASON_NONE;
    if (pass->rules->may_grow)
        return RGMI_REASON_MORE;
    return slots > pass->total ? RGMI_REASON_TOO_WIDE : RGMI_REASON_SHAPE;
}

/* A task that runs: what it holds is neither free nor, unless it stops, free soon. */
static void take_in(rgmi_pass *pass, const rgmi_schedule_item *item)
{
    const rgmi_task *task = rgmi_item_task(pass, item);
    rgmi_agent_slots own;
    int64_t count;
    const rgmi_agent_slots *places = rgmi_item_places(&own, &count, pass, item);

    rgmi_item_decision(pass, item)->verdict = RGMI_KEEP;
    pass->used[item->group] += task->slots;
    pass->held[pass->num_held++] = *item;
    for (int64_t i = 0; i < count; i++) {
        pass->free[places[i].agent] -= places[i].slots;
        if (task->state == RGMI_TASK_RUNNING)
            pass->soon[places[i].agent] -= places[i].slots;
    }
    if (task->slots == 0)
        pass->without_slots[places[0].agent]++;
}

static void take_in_all(rgmi_pass *pass)
{
    int64_t flat = 0;

    for (int64_t g = 0; g < pass->num_groups; g++)
        for (int64_t t = 0; t < pass->groups[g].num_tasks; t++) {
            rgmi_schedule_item item = {.group = g, .task = t, .flat = flat};

            flat++;
            if (rgmi_item_task(pass, &item)->state != RGMI_TASK_PENDING)
                take_in(pass, &item);
            else
                pass->waiting[pass->num_waiting++] = item;
        }
    sort_items(pass, pass->waiting, pass->num_waiting);
    sort_items(pass, pass->held, pass->num_held);
}

/* What can never start is told so, and taken out of the line. Only priority lets what waits for
 * more agents hold its place there. */
static void leave_out(rgmi_pass *pass)
{
    int64_t kept = 0, last = -1;
    rgmi_reason_kind kind = RGMI_REASON_NONE;

    for (int64_t i = 0; i < pass->num_waiting; i++) {
        const rgmi_schedule_item *item = &pass->waiting[i];
        const rgmi_task *task = rgmi_item_task(pass, item);

        if (last < 0 || pass->waiting[last].group != item->group ||
            rgmi_item_task(pass, &pass->waiting[last])->slots != task->slots)
            kind = never(pass, item);
        last = i;
        if (kind != RGMI_REASON_NONE)
            rgmi_pass_wait(pass, item, kind);
        if (kind == RGMI_REASON_NONE ||
            (kind == RGMI_REASON_MORE && pass->rules->policy == RGMI_PRIORITY)) {
            pass->waiting[kept] = *item;
            last = kept++;
        }
    }
    pass->num_waiting = kept;
}

rgm_status rgmi_pass_init(rgmi_pass *pass, rgmi_schedule_plan *plan, const rgmi_rules *rules,
                          const int64_t *agents, int64_t num_agents, const rgmi_group *groups,
                          int64_t num_groups)
{
    *pass = (rgmi_pass){.rules = rules,
                        .agents = agents,
                        .num_agents = num_agents,
                        .groups = groups,
                        .num_groups = num_groups,
                        .plan = plan};
    RGM_TRY(check_agents(pass));
    RGM_TRY(check_groups(pass));
    for (int64_t g = 0; g < num_groups; g++)
        plan->num_tasks += groups[g].num_tasks;
    RGM_TRY(RGM_NEW(plan->tasks, plan->num_tasks));
    RGM_TRY(RGM_NEW(pass->used, num_groups));
    RGM_TRY(RGM_NEW(pass->waiting, plan->num_tasks));
    RGM_TRY(RGM_NEW(pass->held, plan->num_tasks));
    RGM_TRY(RGM_NEW(pass->free, num_agents));
    RGM_TRY(RGM_NEW(pass->soon, num_agents));
    RGM_TRY(RGM_NEW(pass->room, num_agents));
    RGM_TRY(RGM_NEW(pass->without_slots, num_agents));
    RGM_TRY(RGM_NEW(pass->places, num_agents));
    for (int64_t a = 0; a < num_agents; a++)
        pass->free[a] = pass->soon[a] = agents[a];
    take_in_all(pass);
    leave_out(pass);
    return RGM_OK;
}

void rgmi_pass_clear(rgmi_pass *pass)
{
    rgm_free(pass->used);
    rgm_free(pass->waiting);
    rgm_free(pass->held);
    rgm_free(pass->free);
    rgm_free(pass->soon);
    rgm_free(pass->room);
    rgm_free(pass->without_slots);
    rgm_free(pass->places);
    *pass = (rgmi_pass){0};
}

/* ---- what policies do ---- */

/* Where a task without slots goes. */
static int64_t place_without_slots(rgmi_pass *pass)
{
    for (int64_t a = 0; a < pass->num_agents; a++)
        if (pass->agents[a] > 0 && pass->without_slots[a] < RGMI_TASKS_WITHOUT_SLOTS) {
            pass->without_slots[a]++;
            pass->places[0] = (rgmi_agent_slots){.agent = a};
            return 1;
        }
    return 0;
}

rgm_status rgmi_pass_start(bool *started, rgmi_pass *pass, const rgmi_schedule_item *item)
{
    int64_t slots = rgmi_item_task(pass, item)->slots, count;
    rgmi_decision *decision = rgmi_item_decision(pass, item);
    rgmi_schedule_plan *plan = pass->plan;

    *started = false;
    /* Before anything is taken: a failure changes nothing. */
    RGM_TRY(RGM_RESERVE(plan->places, plan->place_capacity, plan->num_places + pass->num_agents));
    for (int64_t a = 0; a < pass->num_agents; a++)
        pass->room[a] = pass->free[a] < pass->soon[a] ? pass->free[a] : pass->soon[a];
    count = slots == 0 ? place_without_slots(pass)
                       : rgmi_place_task(pass->places, slots, pass->room, pass->agents,
                                         pass->num_agents, pass->rules->spread);
    if (count == 0)
        return RGM_OK;
    *decision = (rgmi_decision){
        .verdict = RGMI_START, .first_place = plan->num_places, .num_places = count};
    for (int64_t i = 0; i < count; i++) {
        plan->places[plan->num_places++] = pass->places[i];
        pass->free[pass->places[i].agent] -= pass->places[i].slots;
        pass->soon[pass->places[i].agent] -= pass->places[i].slots;
    }
    pass->used[item->group] += slots;
    *started = true;
    return RGM_OK;
}

void rgmi_pass_stop(rgmi_pass *pass, const rgmi_schedule_item *item, const rgmi_reason *why)
{
    rgmi_agent_slots own;
    int64_t count;
    const rgmi_agent_slots *places = rgmi_item_places(&own, &count, pass, item);
    rgmi_decision *decision = rgmi_item_decision(pass, item);

    decision->verdict = RGMI_STOP;
    decision->reason = *why;
    for (int64_t i = 0; i < count; i++)
        pass->soon[places[i].agent] += places[i].slots;
}

void rgmi_pass_wait(rgmi_pass *pass, const rgmi_schedule_item *item, rgmi_reason_kind kind)
{
    rgmi_reason *reason = &rgmi_item_decision(pass, item)->reason;

    *reason = (rgmi_reason){.kind = kind,
                            .needed = rgmi_item_task(pass, item)->slots,
                            .total = pass->total,
                            .limit = rgmi_item_group(pass, item)->max_slots,
                            .used = pass->used[item->group],
                            .task = -1,
                            .most = -1};
}

int64_t rgmi_group_most(const rgmi_group *group)
{
    if (group->max_slots < 0)
        return -1;
    return group->max_slots > group->beside ? group->max_slots - group->beside : 0;
}

bool rgmi_pass_at_max(rgmi_pass *pass, const rgmi_schedule_item *item)
{
    const rgmi_group *group = rgmi_item_group(pass, item);
    int64_t most = rgmi_group_most(group);

    if (most < 0 || pass->used[item->group] + rgmi_item_task(pass, item)->slots <= most)
        return false;
    rgmi_pass_wait(pass, item, RGMI_REASON_MAX_SLOTS);
    rgmi_item_decision(pass, item)->reason.used += group->beside;
    return true;
}

/* ---- the end ---- */

/* Who holds most, for those who wait for slots. */
static void find_holders(rgmi_reason *holders, const rgmi_pass *pass)
{
    int64_t top = -1, held = 0;

    *holders = (rgmi_reason){.most = -1};
    for (int64_t g = 0; g < pass->num_groups; g++) {
        held += pass->used[g];
        if (top < 0 || pass->used[g] > pass->used[top])
            top = g;
    }
    for (int64_t a = 0; a < pass->num_agents; a++) {
        int64_t free = pass->free[a] > 0 ? pass->free[a] : 0;

        holders->free += free;
        if (pass->num_agents > 1 && free > holders->most)
            holders->most = free;
    }
    if (top < 0)
        return;
    holders->group = pass->groups[top].id;
    holders->group_slots = pass->used[top];
    holders->others = held - pass->used[top];
    if (pass->rules->policy == RGMI_PRIORITY)
        holders->priority = pass->groups[top].priority;
}

void rgmi_pass_finish(rgmi_pass *pass)
{
    rgmi_reason holders;

    find_holders(&holders, pass);
    for (int64_t i = 0; i < pass->num_waiting; i++) {
        rgmi_decision *decision = rgmi_item_decision(pass, &pass->waiting[i]);
        rgmi_reason *reason = &decision->reason;

        if (decision->verdict != RGMI_WAIT)
            continue;
        reason->free = holders.free;
        if (reason->kind != RGMI_REASON_HELD)
            continue;
        reason->most = holders.most;
        reason->group = holders.group;
        reason->group_slots = holders.group_slots;
        reason->priority = holders.priority;
        reason->others = holders.others;
        if (rgmi_place_task(pass->places, reason->needed, pass->soon, pass->agents,
                            pass->num_agents, pass->rules->spread) > 0)
            reason->kind = RGMI_REASON_RETURNING;
    }
}
