/*
 * Fair share: slots are offered to groups by their weights, those with the smallest demand first,
 * and what a group has no use for goes to the others. A group whose offer is below its smallest
 * task gives it back, the youngest such group first. What these offers leave idle, since tasks are
 * wider than what is left of an offer, is handed out in the end.
 */
#include "scheduler_internal.h"

#include <math.h>
#include <stdlib.h>

typedef struct group_share {
    int64_t group, demand, offer;
    int64_t fixed;      /* held by tasks that cannot be stopped, offered beforehand ... */
    int64_t beforehand; /* ... of which so many are not yet made up for by its share    */
    int64_t smallest;   /* task, of those that run or wait; INT64_MAX: none             */
    bool waits;         /* for slots                                                    */
    bool given_up;
    const rgmi_schedule_item *waiting, *held; /* [num_waiting], [num_held] of the pass        */
    int64_t num_waiting, num_held;
    int64_t claim; /* what it will hold: what it keeps, and what it may start          */
    bool stops;    /* some of what it holds                                            */
} group_share;

typedef struct shares {
    rgmi_pass *pass;
    group_share *items; /* smallest demand first          */
    int64_t *ages;      /* of items, youngest group first */
    bool *claimed;      /* [num_waiting] of the pass      */
    double *weights;    /* of items, 0 for those that are done with: summed again and again */
    int64_t count, capacity;
    int64_t first; /* all before it are done with    */
} shares;

static bool is_done(const group_share *share)
{
    return share->given_up || share->offer >= share->demand;
}

static int compare_ages(const rgmi_pass *pass, int64_t a, int64_t b)
{
    const rgmi_group *g = &pass->groups[a], *h = &pass->groups[b];

    if (g->order != h->order)
        return g->order < h->order ? -1 : 1;
    return a < b ? -1 : a > b;
}

static int compare_demands(const void *left, const void *right, void *payload)
{
    const shares *all = payload;
    const group_share *a = left, *b = right;

    if (a->demand != b->demand)
        return a->demand < b->demand ? -1 : 1;
    return compare_ages(all->pass, a->group, b->group);
}

static int compare_youth(const void *left, const void *right, void *payload)
{
    const shares *all = payload;
    const int64_t *a = left, *b = right;

    return -compare_ages(all->pass, all->items[*a].group, all->items[*b].group);
}

static void find_demands(shares *all)
{
    rgmi_pass *pass = all->pass;

    for (int64_t g = 0; g < pass->num_groups; g++)
        all->items[g] = (group_share){.group = g, .demand = pass->used[g], .smallest = INT64_MAX};
    for (int64_t i = 0; i < pass->num_waiting; i++) {
        int64_t slots = rgmi_item_task(pass, &pass->waiting[i])->slots;
        group_share *share = &all->items[pass->waiting[i].group];

        share->demand += slots;
        share->waits = share->waits || slots > 0;
        if (slots > 0 && slots < share->smallest)
            share->smallest = slots;
    }
    for (int64_t i = 0; i < pass->num_held; i++) {
        const rgmi_task *task = rgmi_item_task(pass, &pass->held[i]);
        group_share *share = &all->items[pass->held[i].group];

        if (task->is_fixed)
            share->fixed += task->slots;
        else if (task->slots > 0 && task->slots < share->smallest)
            share->smallest = task->slots;
    }
    for (int64_t g = 0; g < pass->num_groups; g++) {
        group_share *share = &all->items[g];
        int64_t most = rgmi_group_most(&pass->groups[g]);

        if (most >= 0 && share->demand > most)
            share->demand = most > share->fixed ? most : share->fixed;
        share->offer = share->beforehand = share->fixed;
        all->capacity -= share->fixed;
    }
    if (all->capacity < 0)
        all->capacity = 0;
    qsort_r(all->items, (size_t)all->count, sizeof *all->items, compare_demands, all);
    for (int64_t i = 0; i < all->count; i++) {
        all->ages[i] = i;
        all->weights[i] = is_done(&all->items[i]) ? 0 : pass->groups[all->items[i].group].weight;
    }
    qsort_r(all->ages, (size_t)all->count, sizeof *all->ages, compare_youth, all);
}

/* Added up anew each time, in one order: a sum that is kept would round otherwise. */
static double total_weight(const shares *all)
{
    double total = 0;

    for (int64_t i = all->first; i < all->count; i++)
        total += all->weights[i];
    return total;
}

/* One round of offers; false: nobody can take any more. */
static bool offer_round(shares *all)
{
    double total, start = (double)all->capacity;
    bool offered = false;

    while (all->first < all->count && is_done(&all->items[all->first]))
        all->first++;
    total = total_weight(all);
    for (int64_t i = all->first; i < all->count && all->capacity > 0; i++) {
        group_share *share = &all->items[i];
        int64_t more, beforehand;

        if (is_done(share))
            continue;
        more = (int64_t)fmin(floor(start * all->weights[i] / total), start);
        more = more > 1 ? more : 1;
        more = more < all->capacity ? more : all->capacity;
        more = more < share->demand - share->offer ? more : share->demand - share->offer;
        beforehand = more < share->beforehand ? more : share->beforehand;
        share->beforehand -= beforehand;
        share->offer += more - beforehand;
        all->capacity -= more - beforehand;
        offered = true;
        if (is_done(share)) {
            all->weights[i] = 0;
            total = total_weight(all);
        }
    }
    return offered;
}

/* Who was not too young to keep a useless offer never becomes so: offers only grow. */
static bool give_up_one(shares *all, int64_t *next)
{
    while (*next < all->count) {
        group_share *share = &all->items[all->ages[(*next)++]];

        if (is_done(share) || !share->waits || share->smallest <= share->offer - share->fixed)
            continue;
        all->capacity += share->offer - share->fixed;
        share->offer = share->fixed;
        share->given_up = true;
        all->weights[share - all->items] = 0;
        return true;
    }
    return false;
}

static void make_offers(shares *all)
{
    int64_t next = 0;

    do {
        while (all->capacity > 0)
            if (!offer_round(all))
                return;
    } while (give_up_one(all, &next));
}

/* ---- what offers leave ---------------------------------------------------------------------- */

static bool may_stop(const rgmi_task *task)
{
    return task->state == RGMI_TASK_RUNNING && !task->is_fixed && task->slots > 0;
}

/* Without what is on its way to stop already. */
static int64_t held_slots(const rgmi_pass *pass, const group_share *share)
{
    int64_t used = pass->used[share->group];

    for (int64_t i = 0; i < share->num_held; i++)
        if (rgmi_item_task(pass, &share->held[i])->state == RGMI_TASK_STOPPING)
            used -= rgmi_item_task(pass, &share->held[i])->slots;
    return used;
}

/* The first task that waits and fits into `most` slots beside what its group will hold. */
static const rgmi_schedule_item *next_waiting(const shares *all, const group_share *share,
                                              int64_t most)
{
    rgmi_pass *pass = all->pass;
    int64_t max_slots = rgmi_group_most(&pass->groups[share->group]);

    if (max_slots >= 0 && max_slots - share->claim < most)
        most = max_slots - share->claim;
    for (int64_t i = 0; i < share->num_waiting && share->smallest <= most; i++) {
        const rgmi_schedule_item *item = &share->waiting[i];
        const rgmi_decision *decision = rgmi_item_decision(pass, item);
        int64_t slots = rgmi_item_task(pass, item)->slots;

        if (decision->verdict == RGMI_WAIT && decision->reason.kind == RGMI_REASON_NONE &&
            slots > 0 && slots <= most && !all->claimed[item - pass->waiting])
            return item;
    }
    return NULL;
}

static int64_t claim_task(shares *all, group_share *share, const rgmi_schedule_item *item)
{
    int64_t slots = rgmi_item_task(all->pass, item)->slots;

    all->claimed[item - all->pass->waiting] = true;
    share->claim += slots;
    return slots;
}

/* What it holds within its offer, and starts. */
static void claim_offer(shares *all, group_share *share)
{
    const rgmi_schedule_item *item;

    share->claim = held_slots(all->pass, share);
    for (int64_t i = 0; i < share->num_held && share->claim > share->offer; i++) {
        const rgmi_task *task = rgmi_item_task(all->pass, &share->held[i]);

        if (may_stop(task)) {
            share->claim -= task->slots;
            share->stops = true;
        }
    }
    while (!share->stops && (item = next_waiting(all, share, share->offer - share->claim)) != NULL)
        claim_task(all, share, item);
}

/* What runs above its offer goes on as long as nobody has a use for its slots: the newest do, as
 * the oldest are stopped first. */
static void keep_running(const rgmi_pass *pass, group_share *share, int64_t *left)
{
    int64_t used = held_slots(pass, share), stopped = 0;

    for (; stopped < share->num_held && used > share->claim; stopped++)
        if (may_stop(rgmi_item_task(pass, &share->held[stopped])))
            used -= rgmi_item_task(pass, &share->held[stopped])->slots;
    for (; stopped > 0; stopped--) {
        const rgmi_task *task = rgmi_item_task(pass, &share->held[stopped - 1]);

        if (!may_stop(task))
            continue;
        if (task->slots > *left)
            return;
        share->claim += task->slots;
        *left -= task->slots;
    }
    share->stops = false;
}

/* Who will hold the least for its weight, of those with a task that fits; NULL: there is none. */
static group_share *find_neediest(const rgmi_schedule_item **item, const shares *all, int64_t left)
{
    group_share *best = NULL;
    double least = INFINITY;

    for (int64_t i = 0; i < all->count; i++) {
        group_share *share = &all->items[i];
        double has = (double)share->claim / all->pass->groups[share->group].weight;
        const rgmi_schedule_item *next =
            share->stops || has > least ? NULL : next_waiting(all, share, left);

        if (next == NULL || (has == least && best != NULL &&
                             compare_ages(all->pass, share->group, best->group) > 0))
            continue;
        best = share;
        least = has;
        *item = next;
    }
    return best;
}

/* Offers that say more than a group can use stay as they are told. */
static void hand_out_rest(shares *all)
{
    int64_t left = all->pass->total;
    const rgmi_schedule_item *item;
    group_share *share;

    for (int64_t i = 0; i < all->count; i++) {
        claim_offer(all, &all->items[i]);
        left -= all->items[i].claim;
    }
    for (int64_t i = 0; i < all->count; i++)
        if (all->items[i].stops)
            keep_running(all->pass, &all->items[i], &left);
    while (left > 0 && (share = find_neediest(&item, all, left)) != NULL)
        left -= claim_task(all, share, item);
    for (int64_t i = 0; i < all->count; i++)
        if (all->items[i].claim > all->items[i].offer)
            all->items[i].offer = all->items[i].claim;
}

/* ---- what is done --------------------------------------------------------------------------- */

/* Stop tasks until the group holds what it is offered. */
static void shrink(rgmi_pass *pass, const group_share *share)
{
    int64_t used = held_slots(pass, share);

    for (int64_t i = 0; i < share->num_held && used > share->offer; i++) {
        const rgmi_task *task = rgmi_item_task(pass, &share->held[i]);
        rgmi_reason why = {.kind = RGMI_REASON_LOST_SHARE,
                           .total = pass->total,
                           .limit = share->offer,
                           .used = pass->used[share->group]};

        if (!may_stop(task))
            continue;
        rgmi_pass_stop(pass, &share->held[i], &why);
        used -= task->slots;
    }
}

/* Start tasks, the oldest first, as far as the offer goes. */
static rgm_status grow(rgmi_pass *pass, const group_share *share)
{
    for (int64_t i = 0; i < share->num_waiting; i++) {
        const rgmi_schedule_item *item = &share->waiting[i];
        int64_t slots = rgmi_item_task(pass, item)->slots;
        rgmi_decision *decision = rgmi_item_decision(pass, item);
        bool started = false;

        if (decision->verdict != RGMI_WAIT || decision->reason.kind != RGMI_REASON_NONE)
            continue;
        if (rgmi_pass_at_max(pass, item))
            continue;
        if (pass->used[share->group] + slots > share->offer) {
            rgmi_pass_wait(pass, item, RGMI_REASON_SHARE);
            decision->reason.limit = share->offer;
            continue;
        }
        RGM_TRY(rgmi_pass_start(&started, pass, item));
        if (!started)
            rgmi_pass_wait(pass, item, RGMI_REASON_HELD);
    }
    return RGM_OK;
}

/* Its items; they lie together. */
static void find_items(shares *all, int64_t *ranges)
{
    rgmi_pass *pass = all->pass;
    int64_t n = pass->num_groups, *waiting = ranges, *held = ranges + n, *share_of = ranges + 2 * n;

    for (int64_t i = 0; i < n; i++)
        share_of[all->items[i].group] = i;
    for (int64_t i = pass->num_waiting - 1; i >= 0; i--) {
        waiting[pass->waiting[i].group] = i;
        all->items[share_of[pass->waiting[i].group]].num_waiting++;
    }
    for (int64_t i = pass->num_held - 1; i >= 0; i--) {
        held[pass->held[i].group] = i;
        all->items[share_of[pass->held[i].group]].num_held++;
    }
    for (int64_t i = 0; i < n; i++) {
        all->items[i].waiting = pass->waiting + waiting[all->items[i].group];
        all->items[i].held = pass->held + held[all->items[i].group];
    }
}

static rgm_status apply(shares *all)
{
    rgmi_pass *pass = all->pass;

    for (int64_t i = 0; i < all->count; i++) {
        pass->plan->offers[all->items[i].group] = all->items[i].offer;
        shrink(pass, &all->items[i]);
    }
    for (int64_t i = 0; i < all->count; i++)
        RGM_TRY(grow(pass, &all->items[i]));
    return RGM_OK;
}

rgm_status rgmi_schedule_share(rgmi_pass *pass)
{
    rgm_status status = RGM_OK;
    shares all = {.pass = pass, .count = pass->num_groups, .capacity = pass->total};
    int64_t *ranges = NULL;

    RGM_GO(RGM_NEW(pass->plan->offers, pass->num_groups));
    RGM_GO(RGM_NEW(all.items, all.count));
    RGM_GO(RGM_NEW(all.ages, all.count));
    RGM_GO(RGM_NEW(all.weights, all.count));
    RGM_GO(RGM_NEW(all.claimed, pass->num_waiting));
    RGM_GO(RGM_NEW(ranges, 3 * pass->num_groups));
    find_demands(&all);
    make_offers(&all);
    find_items(&all, ranges);
    hand_out_rest(&all);
    RGM_GO(apply(&all));
done:
    rgm_free(all.items);
    rgm_free(all.ages);
    rgm_free(all.weights);
    rgm_free(all.claimed);
    rgm_free(ranges);
    return status;
}
