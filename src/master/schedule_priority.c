/*
 * Priority: tasks by precedence (1 first), then age; what fits starts. Once one of a precedence
 * cannot be placed, nothing of a lower one starts; with preemption running tasks of a lower
 * precedence are stopped for it, and what can be stopped again may use what is left.
 */
#include "scheduler_internal.h"

typedef struct priority_walk {
    rgmi_pass *pass;
    int64_t *removed;                   /* of pass->held, for the task in hand        */
    bool *failed;                       /* [total + 1] no room for so many slots, ... */
    const rgmi_schedule_item *first;    /* ... and who waited first, NULL: nobody     */
    int64_t first_priority;             /* tasks of a lower precedence stand behind   */
    const rgmi_schedule_item *promised; /* who was promised slots first, NULL: nobody */
} priority_walk;

static int64_t priority_of(const rgmi_pass *pass, const rgmi_schedule_item *item)
{
    return rgmi_item_group(pass, item)->priority;
}

static bool fits_soon(const rgmi_pass *pass, int64_t slots, int64_t *count)
{
    *count = rgmi_place_task(pass->places, slots, pass->soon, pass->agents, pass->num_agents,
                             pass->rules->spread);
    return *count > 0;
}

/* Slots of a running task come to `soon` (sign 1), or go from it again (-1). */
static void shift(const rgmi_pass *pass, const rgmi_schedule_item *item, int64_t sign)
{
    rgmi_agent_slots own;
    int64_t count;
    const rgmi_agent_slots *places = rgmi_item_places(&own, &count, pass, item);

    for (int64_t i = 0; i < count; i++)
        pass->soon[places[i].agent] += sign * places[i].slots;
}

static bool may_remove(const rgmi_pass *pass, const rgmi_schedule_item *held, int64_t priority)
{
    const rgmi_task *task = rgmi_item_task(pass, held);

    return task->state == RGMI_TASK_RUNNING && !task->is_fixed && task->slots > 0 &&
           priority_of(pass, held) > priority &&
           rgmi_item_decision(pass, held)->verdict == RGMI_KEEP;
}

/* Take away, of the lowest precedence and newest first, until the task fits; then give back what
 * was not needed. `soon` is without those that stay removed. Returns their number; -1: not even so.
 */
static int64_t choose_victims(priority_walk *walk, int64_t slots, int64_t priority)
{
    rgmi_pass *pass = walk->pass;
    int64_t count, num_removed = 0, kept = 0;
    bool fits = fits_soon(pass, slots, &count);

    for (int64_t i = pass->num_held - 1; i >= 0 && !fits; i--) {
        if (!may_remove(pass, &pass->held[i], priority))
            continue;
        shift(pass, &pass->held[i], 1);
        walk->removed[num_removed++] = i;
        fits = fits_soon(pass, slots, &count);
    }
    for (int64_t i = num_removed - 1; i >= 0; i--) {
        const rgmi_schedule_item *item = &pass->held[walk->removed[i]];

        shift(pass, item, -1);
        if (fits && !fits_soon(pass, slots, &count)) {
            shift(pass, item, 1);
            continue;
        }
        walk->removed[i] = -1;
    }
    for (int64_t i = 0; i < num_removed; i++)
        if (walk->removed[i] >= 0)
            walk->removed[kept++] = walk->removed[i];
    return fits ? kept : -1;
}

/* Promise a task the slots of others that are stopped for it; false: there are not so many. */
static bool make_room(priority_walk *walk, const rgmi_schedule_item *item)
{
    rgmi_pass *pass = walk->pass;
    const rgmi_task *task = rgmi_item_task(pass, item);
    rgmi_reason why = {.kind = RGMI_REASON_PREEMPTED,
                       .group = rgmi_item_group(pass, item)->id,
                       .task = task->id,
                       .group_slots = task->slots,
                       .priority = priority_of(pass, item)};
    int64_t count, victims = choose_victims(walk, task->slots, why.priority);

    if (victims < 0)
        return false;
    for (int64_t i = 0; i < victims; i++) {
        const rgmi_schedule_item *victim = &pass->held[walk->removed[i]];

        shift(pass, victim, -1);
        rgmi_pass_stop(pass, victim, &why);
    }
    (void)fits_soon(pass, task->slots, &count);
    for (int64_t i = 0; i < count; i++)
        pass->soon[pass->places[i].agent] -= pass->places[i].slots;
    if (walk->promised == NULL)
        walk->promised = item;
    return true;
}

/* One that was not placed: all of a lower precedence stand behind it. */
static void stand_first(priority_walk *walk, const rgmi_schedule_item *item)
{
    if (walk->first != NULL)
        return;
    walk->first = item;
    walk->first_priority = priority_of(walk->pass, item);
}

static void wait_for(const priority_walk *walk, const rgmi_schedule_item *item,
                     rgmi_reason_kind kind, const rgmi_schedule_item *other)
{
    rgmi_reason *reason = &rgmi_item_decision(walk->pass, item)->reason;

    rgmi_pass_wait(walk->pass, item, kind);
    reason->group = rgmi_item_group(walk->pass, other)->id;
    reason->task = rgmi_item_task(walk->pass, other)->id;
    reason->group_slots = rgmi_item_task(walk->pass, other)->slots;
    reason->priority = priority_of(walk->pass, other);
}

/* One that has no room: others hold the slots, they are on their way, or kept for somebody. */
static void wait_for_room(priority_walk *walk, const rgmi_schedule_item *item)
{
    rgmi_pass *pass = walk->pass;
    int64_t slots = rgmi_item_task(pass, item)->slots;

    if (pass->rules->preemption && !walk->failed[slots] && make_room(walk, item)) {
        rgmi_pass_wait(pass, item, RGMI_REASON_RETURNING);
        return;
    }
    walk->failed[slots] = true;
    if (walk->promised != NULL && rgmi_place_task(pass->places, slots, pass->free, pass->agents,
                                                  pass->num_agents, pass->rules->spread) > 0)
        wait_for(walk, item, RGMI_REASON_PROMISED, walk->promised);
    else
        rgmi_pass_wait(pass, item, RGMI_REASON_HELD);
}

static rgm_status decide(priority_walk *walk, const rgmi_schedule_item *item)
{
    rgmi_pass *pass = walk->pass;
    const rgmi_task *task = rgmi_item_task(pass, item);
    bool started = false, preemption = pass->rules->preemption;

    if (rgmi_item_decision(pass, item)->reason.kind == RGMI_REASON_MORE) {
        stand_first(walk, item);
        return RGM_OK;
    }
    if (rgmi_pass_at_max(pass, item))
        return RGM_OK;
    if (walk->first != NULL && priority_of(pass, item) > walk->first_priority &&
        (!preemption || task->is_fixed)) {
        wait_for(walk, item, preemption ? RGMI_REASON_FIXED : RGMI_REASON_BEHIND, walk->first);
        return RGM_OK;
    }
    /* What had no room with all of a lower precedence gone has none later in the walk. */
    if (!walk->failed[task->slots])
        RGM_TRY(rgmi_pass_start(&started, pass, item));
    if (started)
        return RGM_OK;
    stand_first(walk, item);
    wait_for_room(walk, item);
    return RGM_OK;
}

rgm_status rgmi_schedule_priority(rgmi_pass *pass)
{
    rgm_status status = RGM_OK;
    priority_walk walk = {.pass = pass};

    RGM_GO(RGM_NEW(walk.removed, pass->num_held));
    RGM_GO(RGM_NEW(walk.failed, pass->total + 1));
    for (int64_t i = 0; i < pass->num_waiting; i++)
        if (rgmi_item_task(pass, &pass->waiting[i])->slots > 0)
            RGM_GO(decide(&walk, &pass->waiting[i]));
done:
    rgm_free(walk.removed);
    rgm_free(walk.failed);
    return status;
}
