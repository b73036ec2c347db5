/*
 * The trials that no other beats: the Pareto front. Sorted by the first objective, a trial can only
 * be beaten by one before it, and by one of the front if by any.
 */
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct candidate {
    const double *keys;
    int64_t trial, objectives;
} candidate;

static int compare_keys(const void *a, const void *b)
{
    const candidate *x = a, *y = b;

    for (int64_t i = 0; i < x->objectives; i++)
        if (x->keys[i] != y->keys[i])
            return x->keys[i] < y->keys[i] ? -1 : 1;
    return x->trial < y->trial ? -1 : 1;
}

static int compare_trials(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* At least as good in all, better in one. */
static bool beats(const candidate *x, const candidate *y)
{
    bool better = false;

    for (int64_t i = 0; i < x->objectives; i++) {
        if (x->keys[i] > y->keys[i])
            return false;
        better = better || x->keys[i] < y->keys[i];
    }
    return better;
}

static bool is_candidate(const rgm_searcher *s, const rgm_search_trial *t, int64_t shortest)
{
    if (t->invalid || t->length == 0 || t->length < shortest)
        return false;
    for (int64_t i = 0; i < s->objective_count; i++)
        if (t->keys[i] == INFINITY || (i >= s->aim_count && t->keys[i] > 0))
            return false;
    return true;
}

/* Keeps those of the front, in place; their number. */
static int64_t keep_front(candidate *all, int64_t count)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < count; i++) {
        bool beaten = false;

        for (int64_t k = 0; k < kept && !beaten; k++)
            beaten = beats(&all[k], &all[i]);
        if (!beaten)
            all[kept++] = all[i];
    }
    return kept;
}

rgm_status rgm_searcher_front(int64_t **out, int64_t *count, const rgm_searcher *searcher,
                              bool longest)
{
    rgm_status status = RGM_OK;
    candidate *all = NULL;
    int64_t found = 0, shortest = 0;

    *out = NULL;
    *count = 0;
    RGM_GO(RGM_NEW(all, searcher->trial_count));
    for (int64_t i = 0; i < searcher->trial_count && longest; i++)
        if (!searcher->trials[i]->seen.invalid && searcher->trials[i]->seen.length > shortest)
            shortest = searcher->trials[i]->seen.length;
    for (int64_t i = 0; i < searcher->trial_count; i++) {
        const rgm_search_trial *t = &searcher->trials[i]->seen;

        if (is_candidate(searcher, t, shortest))
            all[found++] = (candidate){t->keys, i + 1, searcher->aim_count};
    }
    if (found > 0)
        qsort(all, (size_t)found, sizeof *all, compare_keys);
    found = keep_front(all, found);
    RGM_GO(RGM_NEW(*out, found));
    for (int64_t i = 0; i < found; i++)
        (*out)[i] = all[i].trial;
    if (found > 0)
        qsort(*out, (size_t)found, sizeof **out, compare_trials);
    *count = found;
done:
    rgm_free(all);
    return status;
}
