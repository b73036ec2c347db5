/*
 * median: stopping by the median rule (Golovin et al., "Google Vizier", 2017, section 3.2.1).
 * Trials validate every `interval`; one is stopped when its best so far is worse than the median of
 * the running averages that the others had when they were as long.
 */
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>

#define MOST_VALIDATIONS 10000 /* of a trial */

typedef struct median_options {
    rgmi_length_options trial;
    int64_t max_trials, max_concurrent_trials;
    int64_t interval, startup_trials, warmup;
} median_options;

/* The k-th validation of every trial that got so far, in the order of their reports. */
typedef struct round {
    int64_t *trials;
    double *averages; /* of a trial's first k + 1 keys */
    int64_t count, trial_capacity, average_capacity;
} round_reports;

typedef struct median_state {
    int64_t created; /* that count */
    round_reports *rounds;
    int64_t round_count;
    double *sums; /* by trial - 1: of its keys */
    int64_t sum_count, sum_capacity;
} median_state;

#define RGM_OPTIONS median_options
static const rgm_field fields[] = {
    RGM_INT_FIELD(max_trials, 1, RGMI_MOST_TRIALS, "trials"),
    RGMI_LENGTH_FIELDS(trial, "of a trial that is not stopped"),
    RGM_INT_FIELD(interval, 1, RGM_MAX_LENGTH, "units between validations; 0: a tenth"),
    RGM_INT_FIELD(startup_trials, 1, RGMI_MOST_TRIALS, "others that the median needs"),
    RGM_INT_FIELD(warmup, 0, RGM_MAX_LENGTH, "units before a trial may be stopped"),
    RGM_INT_FIELD(max_concurrent_trials, 0, RGMI_MOST_TRIALS, "at a time; 0: all"),
    {0}};
#undef RGM_OPTIONS

static void defaults(void *options)
{
    *(median_options *)options = (median_options){.startup_trials = 5, .max_concurrent_trials = 16};
}

static rgm_status prepare(rgm_searcher *searcher, void *state, void *options,
                          const rgm_yaml_node *section)
{
    rgm_status status = RGM_OK;
    median_options *o = options;
    median_state *s = state;
    rgmi_mistakes mistakes = {0};

    searcher->most_points = o->max_trials;
    RGM_GO(rgmi_search_need(&mistakes, o->max_trials, "max_trials", section));
    RGM_GO(rgmi_search_need_turns(&mistakes, searcher,
                                  o->max_concurrent_trials > 0 ? o->max_concurrent_trials
                                                               : o->max_trials,
                                  o->max_trials, section));
    RGM_GO(rgmi_mistake(&mistakes, rgmi_length_options_read(&o->trial, section)));
    if (o->interval == 0)
        o->interval = (o->trial.length.units + 9) / 10;
    s->round_count =
        mistakes.count > 0 ? 1 : (o->trial.length.units + o->interval - 1) / o->interval;
    if (s->round_count > MOST_VALIDATIONS)
        RGM_GO(rgmi_mistake(&mistakes,
                            rgm_yaml_fail(section,
                                          "'searcher.interval' makes %lld validations a trial, but "
                                          "at most %d are possible",
                                          (long long)s->round_count, MOST_VALIDATIONS)));
    RGM_GO(rgmi_mistakes_tell(&mistakes));
    RGM_GO(RGM_NEW(s->rounds, s->round_count));
done:
    rgm_text_clear(&mistakes.lines);
    return status;
}

/* ---- the rule ------------------------------------------------------------------------------ */

static int compare_doubles(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

/* Of the averages of others; *count of them. */
static rgm_status median_of_others(double *median, int64_t *count, const round_reports *r,
                                   int64_t trial)
{
    double *others;

    *count = 0;
    *median = INFINITY;
    RGM_TRY(RGM_NEW(others, r->count));
    for (int64_t i = 0; i < r->count; i++)
        if (r->trials[i] != trial)
            others[(*count)++] = r->averages[i];
    if (*count > 0) {
        qsort(others, (size_t)*count, sizeof *others, compare_doubles);
        *median = (others[(*count - 1) / 2] + others[*count / 2]) / 2;
    }
    rgm_free(others);
    return RGM_OK;
}

static rgm_status note(median_state *s, int64_t trial, int64_t round, double key)
{
    round_reports *r = &s->rounds[round];

    RGM_TRY(RGM_RESERVE(s->sums, s->sum_capacity, trial));
    for (; s->sum_count < trial; s->sum_count++)
        s->sums[s->sum_count] = 0;
    s->sums[trial - 1] += key;
    RGM_TRY(RGM_RESERVE(r->trials, r->trial_capacity, r->count + 1));
    RGM_TRY(RGM_RESERVE(r->averages, r->average_capacity, r->count + 1));
    r->trials[r->count] = trial;
    r->averages[r->count++] = isnan(s->sums[trial - 1]) /* inf - inf */
                                  ? INFINITY
                                  : s->sums[trial - 1] / (double)(round + 1);
    return RGM_OK;
}

/* ---- events -------------------------------------------------------------------------------- */

static rgm_status train_on(rgm_searcher *searcher, const median_options *o, int64_t trial,
                           int64_t length)
{
    int64_t next = length + o->interval;

    return rgm_search_train_and_validate(
        searcher, trial, next < o->trial.length.units ? next : o->trial.length.units);
}

static rgm_status add_trial(rgm_searcher *searcher, median_state *s, const median_options *o)
{
    int64_t trial;

    s->created++;
    RGM_TRY(rgm_search_create(&trial, searcher));
    return train_on(searcher, o, trial, 0);
}

static int64_t left(const void *state, const void *options)
{
    int64_t most = ((const median_options *)options)->max_trials;
    int64_t created = ((const median_state *)state)->created;

    return most > created ? most - created : 0;
}

/* As random's. */
static rgm_status fill(rgm_searcher *searcher, void *state, const void *options)
{
    const median_options *o = options;
    int64_t most = rgmi_trials_at_once(o->max_concurrent_trials, o->max_trials);

    while (left(state, options) > 0 && searcher->open < most)
        RGM_TRY(add_trial(searcher, state, o));
    return RGM_OK;
}

static rgm_status validated(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                            int64_t length)
{
    const median_options *o = options;
    median_state *s = state;
    double best = rgm_searcher_trial(searcher, trial)->best_key, median;
    int64_t round = (length + o->interval - 1) / o->interval - 1, others;

    if (round < 0 || round >= s->round_count)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: a trial of length %lld",
                        (long long)length);
    RGM_TRY(note(s, trial, round, rgm_search_key(searcher, trial)));
    if (length >= o->trial.length.units)
        return rgm_search_close(searcher, trial);
    RGM_TRY(median_of_others(&median, &others, &s->rounds[round], trial));
    /* One that never had a number is worse than any median, even that of others like it. */
    if (others >= o->startup_trials && length >= o->warmup && (best > median || best == INFINITY))
        return rgm_search_close(searcher, trial);
    return train_on(searcher, o, trial, length);
}

static rgm_status closed(rgm_searcher *searcher, void *state, const void *options, int64_t trial)
{
    (void)trial;
    return fill(searcher, state, options);
}

/* What an invalid trial reported is no measure for others. */
static void forget(median_state *s, int64_t trial)
{
    for (int64_t i = 0; i < s->round_count; i++) {
        round_reports *r = &s->rounds[i];
        int64_t kept = 0;

        for (int64_t k = 0; k < r->count; k++)
            if (r->trials[k] != trial) {
                r->trials[kept] = r->trials[k];
                r->averages[kept++] = r->averages[k];
            }
        r->count = kept;
    }
}

static rgm_status exited(rgm_searcher *searcher, void *state, const void *options, int64_t trial,
                         bool invalid)
{
    median_state *s = state;

    if (invalid) {
        forget(s, trial);
        s->created--;
    }
    return fill(searcher, s, options);
}

/* ---- changes -------------------------------------------------------------------------------- */

static const char *const live_keys[] = {"max_trials", "max_concurrent_trials", "startup_trials",
                                        "warmup", NULL};
static const rgm_searcher_live live = {.keys = live_keys, .extend = fill, .left = left};

/* ---- the rest ------------------------------------------------------------------------------ */

/* Trials, each by its share of the full length, or whole once it is closed. */
static double progress(const rgm_searcher *searcher, const void *state, const void *options)
{
    const median_options *o = options;
    double sum = 0;

    (void)state;
    for (int64_t i = 1; i <= rgm_searcher_trial_count(searcher); i++) {
        const rgm_search_trial *t = rgm_searcher_trial(searcher, i);

        if (!t->invalid)
            sum += t->closed ? 1 : (double)t->length / (double)o->trial.length.units;
    }
    return sum / (double)o->max_trials;
}

static rgm_status describe(rgm_text *out, const rgm_searcher *searcher, const void *state,
                           const void *options)
{
    const median_options *o = options;

    (void)searcher;
    (void)state;
    return rgm_text_printf(out, "%lld trials of at most %lld %s, looked at every %lld\n",
                           (long long)o->max_trials, (long long)o->trial.length.units,
                           rgm_length_unit_names[o->trial.length.unit], (long long)o->interval);
}

/* All rounds behind each other, with their counts. */
static rgm_status archive_rounds(rgm_archive *a, median_state *s)
{
    rgm_status status = RGM_OK;
    int64_t *counts = NULL, *trials = NULL, rounds = s->round_count, all = 0, reports, at = 0;
    double *averages = NULL;

    RGM_GO(RGM_NEW(counts, rounds));
    for (int64_t i = 0; i < rounds; i++)
        all += counts[i] = s->rounds[i].count;
    RGM_GO(RGM_NEW(trials, all));
    RGM_GO(RGM_NEW(averages, all));
    for (int64_t i = 0; i < rounds; i++)
        for (int64_t k = 0; k < s->rounds[i].count; k++, at++) {
            trials[at] = s->rounds[i].trials[k];
            averages[at] = s->rounds[i].averages[k];
        }
    reports = all;
    RGM_GO(rgm_archive_ints(a, "counts", &counts, &rounds));
    RGM_GO(rgm_archive_ints(a, "trials", &trials, &reports));
    RGM_GO(rgm_archive_floats(a, "averages", &averages, &all));
    at = 0;
    for (int64_t i = 0; i < rounds && rgm_archive_reads(a); i++) {
        round_reports *r = &s->rounds[i];

        if (rounds != s->round_count || reports != all || counts[i] < 0 || counts[i] > all - at)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: no such reports"));
        RGM_GO(RGM_RESERVE(r->trials, r->trial_capacity, counts[i]));
        RGM_GO(RGM_RESERVE(r->averages, r->average_capacity, counts[i]));
        for (; r->count < counts[i]; r->count++, at++) {
            r->trials[r->count] = trials[at];
            r->averages[r->count] = isnan(averages[at]) ? INFINITY : averages[at];
        }
    }
done:
    rgm_free(counts);
    rgm_free(trials);
    rgm_free(averages);
    return status;
}

static rgm_status archive(rgm_archive *a, void *state)
{
    median_state *s = state;

    RGM_TRY(rgm_archive_int(a, "created", &s->created));
    RGM_TRY(rgm_archive_floats(a, "sums", &s->sums, &s->sum_count));
    s->sum_capacity = rgm_archive_reads(a) ? s->sum_count : s->sum_capacity;
    if (s->created < 0 || s->created > RGMI_MOST_TRIALS)
        return RGM_FAIL(RGM_ERR_FORMAT, "a searcher's state: 'created' is out of range");
    return archive_rounds(a, s);
}

static void clear(void *state)
{
    median_state *s = state;

    for (int64_t i = 0; s->rounds != NULL && i < s->round_count; i++) {
        rgm_free(s->rounds[i].trials);
        rgm_free(s->rounds[i].averages);
    }
    rgm_free(s->rounds);
    rgm_free(s->sums);
}

const rgm_searcher_type rgmi_median_type = {.section = {.name = "median",
                                                        .help = "trials by the sampler, stopped "
                                                                "below the median of the others",
                                                        .options_size = sizeof(median_options),
                                                        .defaults = defaults,
                                                        .fields = fields},
                                            .state_size = sizeof(median_state),
                                            .stops_early = true,
                                            .prepare = prepare,
                                            .max_length = rgmi_length_of,
                                            .begin = fill,
                                            .validated = validated,
                                            .exited = exited,
                                            .closed = closed,
                                            .progress = progress,
                                            .describe = describe,
                                            .archive = archive,
                                            .clear = clear,
                                            .live = &live};
