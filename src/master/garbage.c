/*
 * Which checkpoints go. Ranks: the best first by metric, of equals the earlier id; the latest first
 * by step. What has no metric has no rank among the best, however many are kept.
 */
#include "garbage.h"

#include <math.h>
#include <stdlib.h>

static int compare_best(const void *left, const void *right, void *payload)
{
    const rgmi_kept_checkpoint *a = *(const rgmi_kept_checkpoint *const *)left;
    const rgmi_kept_checkpoint *b = *(const rgmi_kept_checkpoint *const *)right;
    const rgmi_keeping *keeping = payload;
    int sign = keeping->smaller_is_better ? 1 : -1;

    if (isfinite(a->metric) != isfinite(b->metric))
        return isfinite(a->metric) ? -1 : 1;
    if (!isfinite(a->metric))
        return a->id < b->id ? -1 : a->id > b->id;
    if (a->metric < b->metric)
        return -sign;
    if (a->metric > b->metric)
        return sign;
    return a->id < b->id ? -1 : a->id > b->id;
}

static int compare_trial_best(const void *left, const void *right, void *payload)
{
    int64_t a = (*(const rgmi_kept_checkpoint *const *)left)->trial;
    int64_t b = (*(const rgmi_kept_checkpoint *const *)right)->trial;

    return a != b ? (a < b ? -1 : 1) : compare_best(left, right, payload);
}

static int compare_trial_latest(const void *left, const void *right, void *payload)
{
    const rgmi_kept_checkpoint *a = *(const rgmi_kept_checkpoint *const *)left;
    const rgmi_kept_checkpoint *b = *(const rgmi_kept_checkpoint *const *)right;

    (void)payload;
    if (a->trial != b->trial)
        return a->trial < b->trial ? -1 : 1;
    if (a->step != b->step)
        return a->step > b->step ? -1 : 1;
    return a->id > b->id ? -1 : a->id < b->id;
}

typedef struct ranking {
    const rgmi_kept_checkpoint **order; /* [count] scratch */
    const rgmi_kept_checkpoint *checkpoints;
    int64_t count;
    rgmi_keeping keeping;
    unsigned *why;
} ranking;

/* Those that a trial may yet go back to. */
static void keep_newest(ranking *all)
{
    int64_t rank = 0;

    qsort_r(all->order, (size_t)all->count, sizeof *all->order, compare_trial_latest,
            &all->keeping);
    for (int64_t i = 0; i < all->count; i++) {
        if (i > 0 && all->order[i]->trial != all->order[i - 1]->trial)
            rank = 0;
        if (rank++ < all->order[i]->newest)
            all->why[all->order[i] - all->checkpoints] |= RGMI_KEPT_NEEDED;
    }
}

/* Keep the first `number` in an order: of each trial, or of all; only those with a metric, or all.
 */
static void keep(ranking *all, int (*compare)(const void *, const void *, void *), int64_t number,
                 bool of_each_trial, bool with_metric, unsigned reason)
{
    int64_t rank = 0;

    qsort_r(all->order, (size_t)all->count, sizeof *all->order, compare, &all->keeping);
    for (int64_t i = 0; i < all->count; i++) {
        if (of_each_trial && i > 0 && all->order[i]->trial != all->order[i - 1]->trial)
            rank = 0;
        if (rank++ < number && !(with_metric && !isfinite(all->order[i]->metric)))
            all->why[all->order[i] - all->checkpoints] |= reason;
    }
}

rgm_status rgmi_garbage(unsigned *why, const rgmi_keeping *keeping,
                        const rgmi_kept_checkpoint *checkpoints, int64_t count)
{
    ranking all = {.checkpoints = checkpoints, .count = count, .keeping = *keeping, .why = why};

    if (keeping->experiment_best < 0 || keeping->trial_best < 0 || keeping->trial_latest < 0)
        return RGM_FAIL(RGM_ERR_ARG,
                        "save_experiment_best %lld, save_trial_best %lld, save_trial_latest %lld: "
                        "none can be below 0",
                        (long long)keeping->experiment_best, (long long)keeping->trial_best,
                        (long long)keeping->trial_latest);
    RGM_TRY(RGM_NEW(all.order, count));
    for (int64_t i = 0; i < count; i++) {
        all.order[i] = &checkpoints[i];
        why[i] = checkpoints[i].is_needed ? RGMI_KEPT_NEEDED : 0;
    }
    keep_newest(&all);
    keep(&all, compare_best, keeping->experiment_best, false, true, RGMI_KEPT_EXPERIMENT_BEST);
    keep(&all, compare_trial_best, keeping->trial_best, true, true, RGMI_KEPT_TRIAL_BEST);
    keep(&all, compare_trial_latest, keeping->trial_latest, true, false, RGMI_KEPT_TRIAL_LATEST);
    rgm_free(all.order);
    return RGM_OK;
}
