/*
 * Fair share: slots are offered to groups by their weights, those with the smallest demand first,
 * and what a group has no use for goes to the others. A group whose offer is below its smallest
 * task gives it back, the youngest such group first.
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
} group_share;

typedef struct shares {
    rgmi_pass *pass;
    group_share *items; /* smallest demand first          */
    int64_t *ages;      /* of items, youngest group first */
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
        int64_t max_slots = pass->groups[g].max_slots;

        if (max_slots >= 0 && share->demand > max_slots)
            share->demand = max_slots > share->fixed ? max_slots : share->fixed;
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

/* Stop tasks until the group holds what it is offered. */
static void shrink(rgmi_pass *pass, const group_share *share, const rgmi_schedule_item *held,
                   int64_t count)
{
    int64_t used = pass->used[share->group];

    for (int64_t i = 0; i < count; i++) /* these are on their way already */
        if (rgmi_item_task(pass, &held[i])->state == RGMI_TASK_STOPPING)
            used -= rgmi_item_task(pass, &held[i])->slots;
    for (int64_t i = 0; i < count && used > share->offer; i++) {
        const rgmi_task *task = rgmi_item_task(pass, &held[i]);
        rgmi_reason why = {.kind = RGMI_REASON_LOST_SHARE,
                           .total = pass->total,
                           .limit = share->offer,
                           .used = pass->used[share->group]};

        if (task->state != RGMI_TASK_RUNNING || task->is_fixed || task->slots == 0)
            continue;
        rgmi_pass_stop(pass, &held[i], &why);
        used -= task->slots;
    }
}

/* Start tasks, the oldest first, as far as the offer goes. */
static rgm_status grow(rgmi_pass *pass, const group_share *share, const rgmi_schedule_item *waiting,
                       int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t slots = rgmi_item_task(pass, &waiting[i])->slots;
        rgmi_decision *decision = rgmi_item_decision(pass, &waiting[i]);
        bool started = false;

        if (decision->verdict != RGMI_WAIT || decision->reason.kind != RGMI_REASON_NONE)
            continue;
        if (rgmi_pass_at_max(pass, &waiting[i]))
            continue;
        if (pass->used[share->group] + slots > share->offer) {
            rgmi_pass_wait(pass, &waiting[i], RGMI_REASON_SHARE);
            decision->reason.limit = share->offer;
            continue;
        }
        RGM_TRY(rgmi_pass_start(&started, pass, &waiting[i]));
        if (!started)
            rgmi_pass_wait(pass, &waiting[i], RGMI_REASON_HELD);
    }
    return RGM_OK;
}

/* Where a group's items begin; they lie together. */
static void find_ranges(int64_t *first, int64_t *count, int64_t num_groups,
                        const rgmi_schedule_item *items, int64_t num_items)
{
    for (int64_t g = 0; g < num_groups; g++)
        first[g] = count[g] = 0;
    for (int64_t i = num_items - 1; i >= 0; i--) {
        first[items[i].group] = i;
        count[items[i].group]++;
    }
}

static rgm_status apply(const shares *all, int64_t *ranges)
{
    rgmi_pass *pass = all->pass;
    int64_t n = pass->num_groups, *waiting = ranges, *num_waiting = ranges + n;
    int64_t *held = ranges + 2 * n, *num_held = ranges + 3 * n;

    find_ranges(waiting, num_waiting, n, pass->waiting, pass->num_waiting);
    find_ranges(held, num_held, n, pass->held, pass->num_held);
    for (int64_t i = 0; i < all->count; i++) {
        int64_t g = all->items[i].group;

        pass->plan->offers[g] = all->items[i].offer;
        if (pass->used[g] > all->items[i].offer)
            shrink(pass, &all->items[i], pass->held + held[g], num_held[g]);
    }
    for (int64_t i = 0; i < all->count; i++) {
        int64_t g = all->items[i].group;

        RGM_TRY(grow(pass, &all->items[i], pass->waiting + waiting[g], num_waiting[g]));
    }
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
    RGM_GO(RGM_NEW(ranges, 4 * pass->num_groups));
    find_demands(&all);
    make_offers(&all);
    RGM_GO(apply(&all, ranges));
done:
    rgm_free(all.items);
    rgm_free(all.ages);
    rgm_free(all.weights);
    rgm_free(ranges);
    return status;
}
