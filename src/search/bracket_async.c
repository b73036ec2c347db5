/*
 * One bracket of asynchronous successive halving (Li et al., "A System for Massively Parallel
 * Hyperparameter Tuning", 2020). `promote`: a trial that is in the best n / divisor of its rung
 * goes on, and so does one that waited there when the rung grew enough; a rung that is complete
 * sends at least its best on. `pedl`: without the last part. `stop`: whether a trial goes on is
 * decided once, when it reports. Trials that ended early and metrics that are no number rank last
 * and never go on.
 */
#include "search_internal.h"

#include <math.h>
#include <string.h>

int64_t rgmi_async_left(const rgmi_bracket *b)
{
    return b->max_trials > b->created ? b->max_trials - b->created : 0;
}

rgm_status rgmi_async_fill(rgm_searcher *searcher, rgmi_tournament *t, int64_t bracket)
{
    const rgmi_bracket *b = &t->brackets[bracket];
    int64_t busy = 0;

    for (int64_t i = 0; i < b->rung_count; i++)
        busy += b->rungs[i].outstanding;
    for (; busy < b->concurrent && rgmi_async_left(b) > 0; busy++)
        RGM_TRY(rgmi_bracket_add_trial(searcher, t, bracket));
    return RGM_OK;
}

static rgm_status send_on(rgm_searcher *searcher, rgmi_tournament *t, rgmi_bracket *b,
                          int64_t trial, int64_t rung)
{
    if (trial > t->trial_count || rung + 1 >= b->rung_count)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: no trial %lld", (long long)trial);
    t->rung[trial - 1] = rung + 1;
    b->rungs[rung + 1].outstanding++;
    return rgm_search_train_and_validate(searcher, trial, b->rungs[rung + 1].need);
}

static rgm_status promote(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key)
{
    rgmi_bracket *b = &t->brackets[t->owner[trial - 1]];
    int64_t i = t->rung[trial - 1], at;
    rgmi_rung *rung = &b->rungs[i];
    int64_t before = (int64_t)((double)rung->count / b->divisor);
    int64_t now = (int64_t)((double)(rung->count + 1) / b->divisor);
    rgmi_entry *entry = NULL;

    RGM_TRY(rgmi_rung_insert(&at, rung, trial, key, false));
    if (at < now)
        entry = &rung->entries[at];
    else if (now != before && !rung->entries[before].promoted)
        entry = &rung->entries[before];
    if (entry == NULL || !(entry->key < INFINITY) || !rgm_search_is_open(searcher, entry->trial))
        return RGM_OK;
    entry->promoted = true;
    return send_on(searcher, t, b, entry->trial, i);
}

static rgm_status stop_or_go(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key)
{
    rgmi_bracket *b = &t->brackets[t->owner[trial - 1]];
    int64_t i = t->rung[trial - 1], at, best;
    rgmi_rung *rung = &b->rungs[i];

    RGM_TRY(rgmi_rung_insert(&at, rung, trial, key, true));
    best = (int64_t)((double)rung->count / b->divisor);
    if (at < (best > 1 ? best : 1) && key < INFINITY) {
        rung->entries[at].promoted = true;
        return send_on(searcher, t, b, trial, i);
    }
    return rgm_search_is_open(searcher, trial) ? rgm_search_close(searcher, trial) : RGM_OK;
}

/* The best of a rung that is complete goes on if nobody did: the rung had fewer trials than the
 * divisor, and without this the search would end below its longest length. */
static rgm_status send_best(rgm_searcher *searcher, rgmi_tournament *t, rgmi_bracket *b,
                            int64_t rung)
{
    rgmi_entry *best = b->rungs[rung].entries;
    int64_t count = b->rungs[rung].count, k = 0;

    for (int64_t i = 0; i < count; i++)
        if (best[i].promoted)
            return RGM_OK;
    while (k < count && !rgm_search_is_open(searcher, best[k].trial))
        k++;
    if (k == count || !(best[k].key < INFINITY))
        return RGM_OK;
    best[k].promoted = true;
    return send_on(searcher, t, b, best[k].trial, rung);
}

/* Once the first rung is full, from below: what nobody can overtake any more is closed. */
static rgm_status close_rungs(rgm_searcher *searcher, rgmi_tournament *t, rgmi_bracket *b)
{
    if (b->kind == RGMI_STOPS || b->rungs[0].count < b->max_trials)
        return RGM_OK;
    for (int64_t i = 0; i < b->rung_count && b->rungs[i].outstanding <= 0; i++) {
        if (b->kind == RGMI_PROMOTES && i + 1 < b->rung_count)
            RGM_TRY(send_best(searcher, t, b, i));
        for (int64_t k = 0; k < b->rungs[i].count; k++) {
            const rgmi_entry *entry = &b->rungs[i].entries[k];

            if (!entry->promoted && rgm_search_is_open(searcher, entry->trial))
                RGM_TRY(rgm_search_close(searcher, entry->trial));
        }
    }
    return RGM_OK;
}

rgm_status rgmi_async_report(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key)
{
    int64_t bracket = t->owner[trial - 1], i = t->rung[trial - 1], at;
    rgmi_bracket *b = &t->brackets[bracket];

    b->rungs[i].outstanding--;
    if (i == b->rung_count - 1) {
        RGM_TRY(rgmi_rung_insert(&at, &b->rungs[i], trial, key, false));
        if (rgm_search_is_open(searcher, trial))
            RGM_TRY(rgm_search_close(searcher, trial));
    } else if (b->kind != RGMI_STOPS) {
        RGM_TRY(promote(searcher, t, trial, key));
    } else {
        RGM_TRY(stop_or_go(searcher, t, trial, key));
    }
    RGM_TRY(rgmi_async_fill(searcher, t, bracket));
    return close_rungs(searcher, t, &t->brackets[bracket]);
}

/* Out of every rung, and another in its place. */
rgm_status rgmi_async_invalid(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial,
                              bool waited)
{
    int64_t bracket = t->owner[trial - 1];
    rgmi_bracket *b = &t->brackets[bracket];

    for (int64_t i = 0; i <= t->rung[trial - 1]; i++) {
        rgmi_rung *rung = &b->rungs[i];
        int64_t kept = 0;

        for (int64_t k = 0; k < rung->count; k++) {
            if (rung->entries[k].trial != trial)
                rung->entries[kept++] = rung->entries[k];
        }
        rung->count = kept;
    }
    if (!waited)
        b->rungs[t->rung[trial - 1]].outstanding--;
    b->created--;
    RGM_TRY(rgmi_async_fill(searcher, t, bracket));
    return close_rungs(searcher, t, &t->brackets[bracket]);
}
