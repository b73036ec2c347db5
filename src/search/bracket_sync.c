/*
 * One bracket of successive halving with a fixed number of trials a rung (Jamieson & Talwalkar
 * 2016): the best `promote` of a rung go on, each as soon as it is sure to be among them, and the
 * others are closed once the rung is full. Trials that ended early, or whose metric was no number,
 * rank last; where one of them would go on for want of better it counts as done with the next rung
 * at once, and nothing is trained for it.
 */
#include "search_internal.h"

#include <math.h>

rgm_status rgmi_sync_begin(rgm_searcher *searcher, rgmi_tournament *t, int64_t bracket)
{
    for (int64_t i = t->brackets[bracket].rungs[0].start; i > 0; i--)
        RGM_TRY(rgmi_bracket_add_trial(searcher, t, bracket));
    return RGM_OK;
}

static rgm_status close_open(rgm_searcher *searcher, int64_t trial)
{
    return rgm_search_is_open(searcher, trial) ? rgm_search_close(searcher, trial) : RGM_OK;
}

/* Into a rung below the top; *next is the trial that goes on from it, 0: none. */
static rgm_status insert(int64_t *next, rgm_searcher *searcher, rgmi_rung *rung, int64_t trial,
                         double key)
{
    int64_t at, sure, pick;

    *next = 0;
    RGM_TRY(rgmi_rung_insert(&at, rung, trial, key, false));
    sure = rung->count + rung->promote - rung->start;
    if (sure <= 0)
        return RGM_OK;
    if (sure > rung->count)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: a rung has too many trials");
    pick = at < sure ? at : sure - 1;
    rung->entries[pick].promoted = true;
    *next = rung->entries[pick].trial;
    if (rung->count == rung->start)
        for (int64_t i = rung->promote; i < rung->count; i++)
            RGM_TRY(close_open(searcher, rung->entries[i].trial));
    return RGM_OK;
}

rgm_status rgmi_sync_report(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key)
{
    rgmi_bracket *b = &t->brackets[t->owner[trial - 1]];

    for (;;) {
        int64_t i = t->rung[trial - 1], next;
        rgmi_rung *rung = &b->rungs[i];

        b->done += rung->need - (i > 0 ? rung[-1].need : 0) + 1;
        rung->outstanding--;
        if (i == b->rung_count - 1)
            return close_open(searcher, trial);
        RGM_TRY(insert(&next, searcher, rung, trial, key));
        if (next == 0)
            return RGM_OK;
        if (next > t->trial_count || t->rung[next - 1] != i)
            return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: trial %lld is of another rung",
                            (long long)next);
        t->rung[next - 1] = i + 1;
        rung[1].outstanding++;
        key = next == trial ? key : rgm_search_key(searcher, next);
        trial = next;
        if (rgm_search_is_open(searcher, trial) && key < INFINITY)
            return rgm_search_train_and_validate(searcher, trial, rung[1].need);
        key = INFINITY;
    }
}

/* One that has not reached the first rung is replaced. Behind that others were promoted or closed
 * beside it, so it counts as one that ended early. */
rgm_status rgmi_sync_invalid(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial)
{
    int64_t bracket = t->owner[trial - 1];
    rgmi_bracket *b = &t->brackets[bracket];

    if (t->rung[trial - 1] > 0)
        return rgmi_sync_report(searcher, t, trial, INFINITY);
    b->rungs[0].outstanding--;
    b->created--;
    return rgmi_bracket_add_trial(searcher, t, bracket);
}
