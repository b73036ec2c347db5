/*
 * Round robin: the group that holds the fewest slots starts its next task, again and again. Nothing
 * is stopped. A task for which there is no room ends its group's turns, so that nothing of its own
 * group overtakes it.
 */
#include "scheduler_internal.h"

typedef struct group_turn {
    int64_t group, next, end; /* of pass->waiting */
} group_turn;

typedef struct turns {
    rgmi_pass *pass;
    group_turn *heap; /* the next one first */
    int64_t count;
} turns;

static bool is_before(const rgmi_pass *pass, const group_turn *a, const group_turn *b)
{
    const rgmi_group *g = &pass->groups[a->group], *h = &pass->groups[b->group];

    if (pass->used[a->group] != pass->used[b->group])
        return pass->used[a->group] < pass->used[b->group];
    return g->order != h->order ? g->order < h->order : a->group < b->group;
}

static void sift(turns *all, int64_t i)
{
    for (;;) {
        int64_t least = i;

        for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < all->count; child++)
            if (is_before(all->pass, &all->heap[child], &all->heap[least]))
                least = child;
        if (least == i)
            return;
        group_turn moved = all->heap[i];
        all->heap[i] = all->heap[least];
        all->heap[least] = moved;
        i = least;
    }
}

/* Waiting tasks lie together by groups. */
static void fill(turns *all)
{
    const rgmi_pass *pass = all->pass;

    for (int64_t i = 0; i < pass->num_waiting; i++) {
        int64_t group = pass->waiting[i].group;

        if (all->count == 0 || all->heap[all->count - 1].group != group)
            all->heap[all->count++] = (group_turn){.group = group, .next = i};
        all->heap[all->count - 1].end = i + 1;
    }
    for (int64_t i = all->count / 2 - 1; i >= 0; i--)
        sift(all, i);
}

/* What is behind a task that waits: too much for its group's max_slots, or in line. */
static void end_turns(rgmi_pass *pass, const group_turn *turn)
{
    const rgmi_schedule_item *head = &pass->waiting[turn->next];

    for (int64_t i = turn->next + 1; i < turn->end; i++) {
        rgmi_decision *decision = rgmi_item_decision(pass, &pass->waiting[i]);

        if (decision->verdict != RGMI_WAIT || decision->reason.kind != RGMI_REASON_NONE ||
            rgmi_pass_at_max(pass, &pass->waiting[i]))
            continue;
        rgmi_pass_wait(pass, &pass->waiting[i], RGMI_REASON_IN_LINE);
        decision->reason.task = rgmi_item_task(pass, head)->id;
        decision->reason.group_slots = rgmi_item_task(pass, head)->slots;
    }
}

/* Whether the group goes on taking turns. */
static rgm_status take(bool *goes_on, rgmi_pass *pass, group_turn *turn)
{
    const rgmi_schedule_item *item = &pass->waiting[turn->next];
    const rgmi_decision *decision = rgmi_item_decision(pass, item);

    *goes_on = true;
    if (decision->verdict == RGMI_WAIT && decision->reason.kind == RGMI_REASON_NONE) {
        if (rgmi_pass_at_max(pass, item)) {
            *goes_on = false;
        } else {
            RGM_TRY(rgmi_pass_start(goes_on, pass, item));
            if (!*goes_on)
                rgmi_pass_wait(pass, item, RGMI_REASON_HELD);
        }
    }
    if (!*goes_on)
        end_turns(pass, turn);
    else
        *goes_on = ++turn->next < turn->end;
    return RGM_OK;
}

rgm_status rgmi_schedule_in_turn(rgmi_pass *pass)
{
    rgm_status status = RGM_OK;
    turns all = {.pass = pass};

    RGM_GO(RGM_NEW(all.heap, pass->num_groups));
    fill(&all);
    while (all.count > 0) {
        bool goes_on;

        RGM_GO(take(&goes_on, pass, &all.heap[0]));
        if (!goes_on)
            all.heap[0] = all.heap[--all.count];
        sift(&all, 0);
    }
done:
    rgm_free(all.heap);
    return status;
}
