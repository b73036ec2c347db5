/*
 * One bracket of successive halving: what its rungs need, how many trials it begins with, and how a
 * trial comes into it. What becomes of a trial that reports is bracket_sync.c's and
 * bracket_async.c's matter.
 */
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rgmi_mode_names[] = {"standard", "aggressive", "conservative", NULL};
const char *const rgmi_rule_names[] = {"promote", "pedl", "stop", NULL};

/* ---- plans --------------------------------------------------------------------------------- */

double rgmi_power(double divisor, int64_t k)
{
    double power = 1;

    for (; k > 0 && power < 1e100; k--) /* so that weights stay finite */
        power *= divisor;
    return power;
}

double rgmi_floor(double share)
{
    double whole = nearbyint(share);

    return fabs(share - whole) <= 1e-12 * whole ? whole : floor(share);
}

int64_t rgmi_planned(const rgmi_bracket *b, int64_t count)
{
    int64_t planned = (int64_t)((double)count / b->divisor);

    return planned > 0 || count == 0 || b->kind == RGMI_PEDL ? planned : 1;
}

int64_t rgmi_log_floor(double divisor, double n)
{
    int64_t k = 0;

    for (double power = divisor; power <= n && k < 62; power *= divisor)
        k++;
    return k;
}

static int descending(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return *x > *y ? -1 : *x < *y;
}

rgm_status rgmi_bracket_rungs(int64_t **out, int64_t *count, rgmi_mode mode, int64_t max_rungs,
                              const rgm_ints *given)
{
    int64_t low = mode == RGMI_AGGRESSIVE     ? max_rungs
                  : mode == RGMI_CONSERVATIVE ? 1
                                              : (max_rungs - 1) / 2 + 1;

    *count = given->count > 0 ? given->count : max_rungs - low + 1;
    RGM_TRY(RGM_NEW(*out, *count));
    for (int64_t i = 0; i < *count; i++)
        (*out)[i] = given->count > 0 ? given->items[i] : max_rungs - i;
    qsort(*out, (size_t)*count, sizeof **out, descending);
    return RGM_OK;
}

rgm_status rgmi_bracket_create(rgmi_bracket *b, rgmi_bracket_kind kind, int64_t rungs,
                               double divisor, int64_t length)
{
    b->kind = kind;
    b->divisor = divisor;
    RGM_TRY(RGM_NEW(b->rungs, rungs));
    b->rung_count = rungs;
    for (int64_t i = 0; i < rungs; i++) {
        double need = floor((double)length / rgmi_power(divisor, rungs - 1 - i));

        b->rungs[i].need = need > 1 ? (int64_t)need : 1;
    }
    return RGM_OK;
}

/* What one round of the bracket costs with divisor^k trials in its rungs, of raw needs. */
static double cost_of_round(const rgmi_bracket *b)
{
    double cost = 0;
    int64_t before = 0;

    for (int64_t i = 0; i < b->rung_count; i++) {
        double start = fmax(floor(rgmi_power(b->divisor, b->rung_count - 1 - i)), 1);

        cost += (double)(b->rungs[i].need - before) * start;
        before = b->rungs[i].need;
    }
    return cost;
}

rgm_status rgmi_bracket_budgeted(rgmi_bracket *b, int64_t rungs, double divisor, int64_t length,
                                 int64_t budget, bool rising)
{
    double cost;

    RGM_TRY(rgmi_bracket_create(b, RGMI_SYNCHRONOUS, rungs, divisor, length));
    cost = cost_of_round(b);
    for (int64_t i = 0; i < rungs; i++) {
        rgmi_rung *rung = &b->rungs[i];
        double each = fmax(floor(rgmi_power(divisor, rungs - 1 - i)), 1);
        double start = rgmi_floor((double)budget / cost * each);

        if (start > RGMI_MOST_TRIALS || (i == 0 && start < 1))
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "a bracket of %lld rungs to length %lld would begin with %g trials out "
                            "of a budget of %lld; %s",
                            (long long)rungs, (long long)length, start, (long long)budget,
                            start < 1 ? "raise the budget" : "lower it");
        rung->start = (int64_t)start;
        if (i == 0)
            continue;
        if (rung->need < rung[-1].need + rising)
            rung->need = rung[-1].need + rising;
        rung->start = rung->start < rung[-1].start ? rung->start : rung[-1].start;
        rung->start = rung->start > 1 ? rung->start : 1;
        rung[-1].promote = rung->start;
    }
    return RGM_OK;
}

/* ---- trials -------------------------------------------------------------------------------- */

rgm_status rgmi_rung_insert(int64_t *at, rgmi_rung *rung, int64_t trial, double key, bool before)
{
    int64_t low = 0, high = rung->count;

    RGM_TRY(RGM_RESERVE(rung->entries, rung->capacity, rung->count + 1));
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        double other = rung->entries[middle].key;

        if (before ? other < key : other <= key)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(&rung->entries[low + 1], &rung->entries[low],
            (size_t)(rung->count - low) * sizeof *rung->entries);
    rung->entries[low] = (rgmi_entry){.trial = trial, .key = key};
    rung->count++;
    *at = low;
    return RGM_OK;
}

rgm_status rgmi_bracket_add_trial(rgm_searcher *searcher, rgmi_tournament *t, int64_t bracket)
{
    rgmi_bracket *b = &t->brackets[bracket];
    int64_t trial;

    RGM_TRY(rgm_search_create(&trial, searcher));
    RGM_TRY(RGM_RESERVE(t->owner, t->owner_capacity, trial));
    RGM_TRY(RGM_RESERVE(t->rung, t->rung_capacity, trial));
    if (trial != t->trial_count + 1)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: trial %lld has no bracket",
                        (long long)t->trial_count + 1);
    t->owner[trial - 1] = bracket;
    t->rung[trial - 1] = 0;
    t->trial_count = trial;
    b->created++;
    b->rungs[0].outstanding++;
    return rgm_search_train_and_validate(searcher, trial, b->rungs[0].need);
}
