/*
 * Brackets of successive halving side by side: what async_halving, sync_halving, adaptive,
 * adaptive_simple and adaptive_asha are made of. Each row plans its brackets when it is read; how a
 * bracket goes is bracket_sync.c's and bracket_async.c's matter. A trial belongs to one bracket,
 * and is on its way to one rung of it.
 */
#include "search_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

rgm_status rgmi_tournament_create(rgmi_tournament *t, int64_t brackets)
{
    RGM_TRY(RGM_NEW(t->brackets, brackets));
    t->count = brackets;
    return RGM_OK;
}

/* ---- events -------------------------------------------------------------------------------- */

rgm_status rgmi_tournament_begin(rgm_searcher *searcher, void *state, const void *options)
{
    rgmi_tournament *t = state;

    (void)options;
    for (int64_t i = 0; i < t->count; i++)
        RGM_TRY(t->brackets[i].kind == RGMI_SYNCHRONOUS ? rgmi_sync_begin(searcher, t, i)
                                                        : rgmi_async_fill(searcher, t, i));
    return RGM_OK;
}

static rgmi_bracket *bracket_of(rgmi_tournament *t, int64_t trial)
{
    return trial <= t->trial_count ? &t->brackets[t->owner[trial - 1]] : NULL;
}

static rgm_status report(rgm_searcher *searcher, rgmi_tournament *t, int64_t trial, double key)
{
    const rgmi_bracket *b = bracket_of(t, trial);

    if (b == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: trial %lld has no bracket",
                        (long long)trial);
    return b->kind == RGMI_SYNCHRONOUS ? rgmi_sync_report(searcher, t, trial, key)
                                       : rgmi_async_report(searcher, t, trial, key);
}

rgm_status rgmi_tournament_validated(rgm_searcher *searcher, void *state, const void *options,
                                     int64_t trial, int64_t length)
{
    (void)options;
    (void)length;
    return report(searcher, state, trial, rgm_search_key(searcher, trial));
}

/* Whether it has reported to its rung, and nothing was asked of it since. */
static bool has_reported(const rgmi_tournament *t, const rgmi_bracket *b, int64_t trial)
{
    const rgmi_rung *rung = &b->rungs[t->rung[trial - 1]];

    for (int64_t i = 0; i < rung->count; i++)
        if (rung->entries[i].trial == trial)
            return true;
    return false;
}

rgm_status rgmi_tournament_exited(rgm_searcher *searcher, void *state, const void *options,
                                  int64_t trial, bool invalid)
{
    rgmi_tournament *t = state;
    rgmi_bracket *b = bracket_of(t, trial);
    bool waited = b != NULL && has_reported(t, b, trial);

    (void)options;
    if (b != NULL && invalid && b->kind != RGMI_SYNCHRONOUS)
        return rgmi_async_invalid(searcher, t, trial, waited);
    if (b != NULL && invalid && !waited)
        return rgmi_sync_invalid(searcher, t, trial);
    if (b != NULL)
        b->closed++;
    if (waited) /* its place stays, and nothing will be trained for it */
        return RGM_OK;
    return report(searcher, t, trial, INFINITY);
}

rgm_status rgmi_tournament_closed(rgm_searcher *searcher, void *state, const void *options,
                                  int64_t trial)
{
    rgmi_bracket *b = bracket_of(state, trial);

    (void)searcher;
    (void)options;
    if (b != NULL)
        b->closed++;
    return RGM_OK;
}

/* ---- progress and plan --------------------------------------------------------------------- */

static double sync_progress(const rgmi_bracket *b)
{
    double expected = 0;
    int64_t before = 0;

    for (int64_t i = 0; i < b->rung_count; i++) {
        expected += (double)(b->rungs[i].need - before + 1) * (double)b->rungs[i].start;
        before = b->rungs[i].need;
    }
    return fmin((double)b->done / expected, 1);
}

static double async_progress(const rgmi_bracket *b)
{
    double first = (double)b->rungs[0].count / (1.2 * (double)b->max_trials);

    return b->rungs[0].count < b->max_trials
               ? first
               : fmax(first, (double)b->closed / (double)b->max_trials);
}

double rgmi_tournament_progress(const rgm_searcher *searcher, const void *state,
                                const void *options)
{
    const rgmi_tournament *t = state;
    double sum = 0;

    (void)searcher;
    (void)options;
    for (int64_t i = 0; i < t->count; i++)
        sum += t->brackets[i].kind == RGMI_SYNCHRONOUS ? sync_progress(&t->brackets[i])
                                                       : async_progress(&t->brackets[i]);
    return sum / (double)t->count;
}

/* Behind each rung how many trials are meant to reach it. */
rgm_status rgmi_tournament_describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                                    const void *options)
{
    const rgmi_tournament *t = state;
    const char *unit = rgm_length_unit_names[rgm_searcher_max_length(searcher).unit];

    (void)options;
    for (int64_t i = 0; i < t->count; i++) {
        const rgmi_bracket *b = &t->brackets[i];
        bool sync = b->kind == RGMI_SYNCHRONOUS;
        int64_t reach = b->max_trials;

        RGM_TRY(rgm_text_printf(out, "bracket %lld: %lld trials", (long long)i + 1,
                                (long long)(sync ? b->rungs[0].start : b->max_trials)));
        if (!sync)
            RGM_TRY(rgm_text_printf(out, ", %lld at a time", (long long)b->concurrent));
        RGM_TRY(rgm_text_printf(out, ", rungs at "));
        for (int64_t k = 0; k < b->rung_count; k++) {
            if (sync)
                reach = b->rungs[k].start;
            RGM_TRY(rgm_text_printf(out, "%s%lld (%lld)", k > 0 ? ", " : "",
                                    (long long)b->rungs[k].need, (long long)reach));
            reach = rgmi_planned(b, reach);
        }
        RGM_TRY(rgm_text_printf(out, " %s\n", unit));
    }
    return RGM_OK;
}

/* ---- state --------------------------------------------------------------------------------- */

static rgm_status damaged(const char *name)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: '%s' is not what a save writes", name);
}

static bool in_range(int64_t value, int64_t low, int64_t high)
{
    return value >= low && value <= high;
}

/* Entries as trial, promoted; their keys beside. */
static rgm_status archive_entries(rgm_archive *a, rgmi_rung *rung, const char *name,
                                  const char *keys_name)
{
    rgm_status status = RGM_OK;
    int64_t count = 2 * rung->count, key_count = rung->count, *items = NULL;
    double *keys = NULL;

    RGM_GO(RGM_NEW(items, count));
    RGM_GO(RGM_NEW(keys, key_count));
    for (int64_t i = 0; i < rung->count; i++) {
        items[2 * i] = rung->entries[i].trial;
        items[2 * i + 1] = rung->entries[i].promoted;
        keys[i] = rung->entries[i].key;
    }
    RGM_GO(rgm_archive_ints(a, name, &items, &count));
    RGM_GO(rgm_archive_floats(a, keys_name, &keys, &key_count));
    if (count != 2 * key_count || count > 2 * RGMI_MOST_TRIALS)
        RGM_GO(damaged(name));
    RGM_GO(RGM_RESERVE(rung->entries, rung->capacity, key_count));
    for (int64_t i = 0; i < key_count; i++) {
        if (isnan(keys[i]) || (i > 0 && keys[i] < keys[i - 1]) ||
            !in_range(items[2 * i], 1, RGMI_MOST_TRIALS))
            RGM_GO(damaged(name));
        rung->entries[i] = (rgmi_entry){items[2 * i], keys[i], items[2 * i + 1] == 1};
    }
    rung->count = key_count;
done:
    rgm_free(items);
    rgm_free(keys);
    return status;
}

static rgm_status archive_bracket(rgm_archive *a, rgmi_bracket *b, int64_t i)
{
    char name[64], keys[64];

    snprintf(name, sizeof name, "created_%lld", (long long)i);
    RGM_TRY(rgm_archive_int(a, name, &b->created));
    snprintf(name, sizeof name, "closed_%lld", (long long)i);
    RGM_TRY(rgm_archive_int(a, name, &b->closed));
    snprintf(name, sizeof name, "done_%lld", (long long)i);
    RGM_TRY(rgm_archive_int(a, name, &b->done));
    for (int64_t k = 0; k < b->rung_count; k++) {
        snprintf(name, sizeof name, "rung_%lld_%lld", (long long)i, (long long)k);
        snprintf(keys, sizeof keys, "keys_%lld_%lld", (long long)i, (long long)k);
        RGM_TRY(archive_entries(a, &b->rungs[k], name, keys));
        snprintf(name, sizeof name, "outstanding_%lld_%lld", (long long)i, (long long)k);
        RGM_TRY(rgm_archive_int(a, name, &b->rungs[k].outstanding));
        if (!in_range(b->rungs[k].outstanding, -RGMI_MOST_TRIALS, RGMI_MOST_TRIALS))
            return damaged(name);
    }
    return in_range(b->created, 0, RGMI_MOST_TRIALS) && in_range(b->closed, 0, RGMI_MOST_TRIALS) &&
                   in_range(b->done, 0, INT64_MAX / 2)
               ? RGM_OK
               : damaged("created");
}

/* The plan that defaults of before made takes the place of today's. */
static void plan_as_before(rgmi_tournament *t)
{
    rgmi_tournament *before = t->before;

    t->before = NULL;
    rgmi_tournament_clear(t);
    *t = *before;
    t->as_before = true;
    rgm_free(before);
}

/* A state without `as_before` was saved when defaults were others: it goes on by the plan of then,
 * and so do those that are saved from it. */
static rgm_status archive_plan(rgm_archive *archive, rgmi_tournament *t)
{
    bool as_before = true;

    if (!rgm_archive_reads(archive))
        return rgm_archive_bool(archive, "as_before", &t->as_before);
    if (rgmi_archive_has(archive, "as_before"))
        RGM_TRY(rgm_archive_bool(archive, "as_before", &as_before));
    if (as_before && t->before != NULL)
        plan_as_before(t);
    return RGM_OK;
}

rgm_status rgmi_tournament_archive(rgm_archive *archive, void *state)
{
    rgmi_tournament *t = state;
    int64_t owners = t->trial_count, rungs = t->trial_count;

    RGM_TRY(archive_plan(archive, t));
    RGM_TRY(rgm_archive_ints(archive, "brackets", &t->owner, &owners));
    RGM_TRY(rgm_archive_ints(archive, "rungs", &t->rung, &rungs));
    if (rgm_archive_reads(archive)) {
        if (owners != rungs)
            return damaged("brackets");
        for (int64_t i = 0; i < owners; i++)
            if (!in_range(t->owner[i], 0, t->count - 1) ||
                !in_range(t->rung[i], 0, t->brackets[t->owner[i]].rung_count - 1))
                return damaged("brackets");
        t->trial_count = t->owner_capacity = t->rung_capacity = owners;
    }
    for (int64_t i = 0; i < t->count; i++)
        RGM_TRY(archive_bracket(archive, &t->brackets[i], i));
    return RGM_OK;
}

/* ---- changes -------------------------------------------------------------------------------- */

int64_t rgmi_tournament_left(const void *state, const void *options)
{
    const rgmi_tournament *t = state;
    int64_t left = 0;

    (void)options;
    for (int64_t i = 0; i < t->count; i++)
        left += rgmi_async_left(&t->brackets[i]);
    return left;
}

rgm_status rgmi_tournament_extend(rgm_searcher *searcher, void *state, const void *options)
{
    rgmi_tournament *t = state;

    (void)options;
    for (int64_t i = 0; i < t->count; i++)
        RGM_TRY(rgmi_async_fill(searcher, t, i));
    return RGM_OK;
}

/* With more trials a search might be planned with more rungs, where no trial has been. */
rgm_status rgmi_tournament_print_plan(rgm_text *out, const void *state)
{
    const rgmi_tournament *t = state;

    RGM_TRY(rgm_text_printf(out, "bracket_rungs: ["));
    for (int64_t i = 0; i < t->count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%lld", i > 0 ? ", " : "",
                                (long long)t->brackets[i].rung_count));
    return rgm_text_printf(out, "]");
}

void rgmi_tournament_clear(void *state)
{
    rgmi_tournament *t = state;

    for (int64_t i = 0; i < t->count; i++) {
        rgmi_bracket *b = &t->brackets[i];

        for (int64_t k = 0; k < b->rung_count; k++)
            rgm_free(b->rungs[k].entries);
        rgm_free(b->rungs);
    }
    rgm_free(t->brackets);
    rgm_free(t->owner);
    rgm_free(t->rung);
    if (t->before != NULL)
        rgmi_tournament_clear(t->before);
    rgm_free(t->before);
}
