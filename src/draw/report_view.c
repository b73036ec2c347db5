/*
 * What the data say that is not in them as such: ranks, groups of colour, the front of several
 * objectives, which hyperparameters vary, and which trials are drawn where there are too many.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "draw_internal.h"

const char *rgmi_report_unit(const rgm_search_report *r)
{
    return r->unit != NULL ? r->unit : "steps";
}

const char *rgmi_report_title(const rgm_search_report *r)
{
    return r->name != NULL ? r->name : "Hyperparameter search";
}

double rgmi_report_metric(const rgmi_report_view *v, int64_t trial)
{
    return v->report->objective_count > 0 ? v->report->trials[trial].best[0] : NAN;
}

/* Smaller is better. */
static double key_of(const rgm_search_report *r, int64_t objective, double metric)
{
    return r->objectives[objective].smaller_is_better ? metric : -metric;
}

/* ---- ranks --------------------------------------------------------------------------------- */

typedef struct keyed_trial {
    double key;
    int64_t number, trial;
} keyed_trial;

static int compare_keyed(const void *one, const void *other)
{
    const keyed_trial *a = one, *b = other;

    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

static rgm_status rank_trials(rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;
    rgm_status status = RGM_OK;
    keyed_trial *keyed = NULL;

    RGM_GO(RGM_NEW(keyed, r->trial_count + 1));
    for (int64_t i = 0; i < r->trial_count; i++) {
        v->rank[i] = v->tone[i] = -1;
        if (isfinite(rgmi_report_metric(v, i)))
            keyed[v->measured++] =
                (keyed_trial){key_of(r, 0, rgmi_report_metric(v, i)), r->trials[i].number, i};
    }
    qsort(keyed, (size_t)v->measured, sizeof *keyed, compare_keyed);
    for (int64_t i = 0; i < v->measured; i++) {
        v->ranked[i] = keyed[i].trial;
        v->rank[keyed[i].trial] = i;
    }
done:
    rgm_free(keyed);
    return status;
}

/* Groups of equal size; trials of one metric are in one group. */
static void set_tones(rgmi_report_view *v)
{
    int64_t first = 0;

    for (int64_t i = 0; i < v->measured; i++) {
        if (rgmi_report_metric(v, v->ranked[i]) != rgmi_report_metric(v, v->ranked[first]))
            first = i;
        v->tone[v->ranked[i]] = TONES - 1 - (int)(first * TONES / v->measured);
    }
    for (int i = 0; i <= TONES && v->measured > 0; i++) {
        int64_t at = (v->measured - 1) * (TONES - i) / TONES;

        v->bounds[i] = rgmi_report_metric(v, v->ranked[at]);
    }
}

/* ---- ranges -------------------------------------------------------------------------------- */

rgm_status rgmi_hyper_range(rgmi_value_range *out, const rgmi_report_view *v, int64_t hyper,
                            double share)
{
    const rgm_search_report *r = v->report;
    rgm_status status = RGM_OK;
    double *numbers = NULL;
    int64_t count = 0;

    RGM_GO(RGM_NEW(numbers, r->trial_count + 1));
    for (int64_t i = 0; i < r->trial_count; i++)
        if (r->trials[i].values[hyper].is_set)
            numbers[count++] = r->trials[i].values[hyper].number;
    *out = rgmi_range_of(numbers, count, r->hypers[hyper].scale == RGM_REPORT_LOG, share);
    out->least = r->hypers[hyper].whole ? 1 : 0;
done:
    rgm_free(numbers);
    return status;
}

/* From the best to three quartile distances beyond the worse quartile, so that one trial that
 * diverged does not press all others together; logarithmic where they differ by orders. */
static void set_metric_range(rgmi_report_view *v)
{
    int64_t last = v->measured;
    double best, worst, limit, quarters[2];
    bool log;

    if (v->measured == 0) {
        v->metric = (rgmi_value_range){0, 1, false, 0};
        return;
    }
    best = rgmi_report_metric(v, v->ranked[0]);
    worst = rgmi_report_metric(v, v->ranked[v->measured - 1]);
    quarters[0] = rgmi_report_metric(v, v->ranked[v->measured / 4]);
    quarters[1] = rgmi_report_metric(v, v->ranked[v->measured * 3 / 4]);
    log = fmin(best, worst) > 1e-300 && fmax(best, worst) > 30 * fmin(best, worst);
    limit = log ? quarters[1] * pow(quarters[1] / quarters[0], 3)
                : quarters[1] + 3 * (quarters[1] - quarters[0]);
    while (quarters[0] != quarters[1] && last > 1 &&
           fabs(rgmi_report_metric(v, v->ranked[last - 1]) - best) > fabs(limit - best))
        last--;
    v->far_off = v->measured - last;
    worst = rgmi_report_metric(v, v->ranked[last - 1]);
    log = log && fmax(best, worst) > 30 * fmin(best, worst);
    v->metric = rgmi_range_widened(fmin(best, worst), fmax(best, worst), log, 0.05);
}

/* ---- hyperparameters ----------------------------------------------------------------------- */

static bool is_varied(const rgm_search_report *r, int64_t hyper)
{
    bool is_choice = r->hypers[hyper].scale == RGM_REPORT_CHOICE;
    const rgm_report_value *first = NULL;

    for (int64_t i = 0; i < r->trial_count; i++) {
        const rgm_report_value *value = &r->trials[i].values[hyper];

        if (!value->is_set)
            continue;
        if (first == NULL)
            first = value;
        if (is_choice ? value->choice != first->choice : value->number != first->number)
            return true;
    }
    return false;
}

static void set_varied(rgmi_report_view *v)
{
    const rgm_report_hyper *hypers = v->report->hypers;

    for (int64_t i = 0; i < v->report->hyper_count; i++) {
        int64_t at = v->varied_count;
        double importance = isfinite(hypers[i].importance) ? hypers[i].importance : -1;

        if (!is_varied(v->report, i))
            continue;
        for (; at > 0; at--) {
            double other = hypers[v->varied[at - 1]].importance;

            if ((isfinite(other) ? other : -1) >= importance)
                break;
            v->varied[at] = v->varied[at - 1];
        }
        v->varied[at] = i;
        v->varied_count++;
    }
}

const char *rgmi_short_name(const rgmi_report_view *v, int64_t hyper)
{
    const char *name = v->report->hypers[hyper].name, *dot = strrchr(name, '.');
    int64_t same = 0;

    if (dot == NULL || dot[1] == '\0')
        return name;
    for (int64_t i = 0; i < v->varied_count; i++) {
        const char *other = v->report->hypers[v->varied[i]].name, *end = strrchr(other, '.');

        same += strcmp(end != NULL ? end + 1 : other, dot + 1) == 0;
    }
    return same > 1 ? name : dot + 1;
}

/* ---- front --------------------------------------------------------------------------------- */

/* Whether a is at least as good as b in all objectives; they come by the first. */
static bool is_as_good(const rgm_search_report *r, const rgm_report_trial *a,
                       const rgm_report_trial *b)
{
    for (int64_t k = 0; k < r->objective_count; k++)
        if (key_of(r, k, a->latest[k]) > key_of(r, k, b->latest[k]))
            return false;
    return true;
}

static bool is_equal(const rgm_search_report *r, const rgm_report_trial *a,
                     const rgm_report_trial *b)
{
    return is_as_good(r, a, b) && is_as_good(r, b, a);
}

static int compare_all(const void *one, const void *other, void *report)
{
    const rgm_search_report *r = report;
    const rgm_report_trial *a = &r->trials[*(const int64_t *)one];
    const rgm_report_trial *b = &r->trials[*(const int64_t *)other];

    for (int64_t k = 0; k < r->objective_count; k++) {
        double x = key_of(r, k, a->latest[k]), y = key_of(r, k, b->latest[k]);

        if (x != y)
            return x < y ? -1 : 1;
    }
    return (a->number > b->number) - (a->number < b->number);
}

/* Sorted by all objectives, none is beaten by a later one, so each is held against the front. */
static void set_front(rgmi_report_view *v)
{
    const rgm_search_report *r = v->report;
    int64_t count = 0;

    for (int64_t i = 0; i < r->trial_count; i++) {
        bool is_finite = r->objective_count > 1;

        for (int64_t k = 0; k < r->objective_count; k++)
            is_finite = is_finite && isfinite(r->trials[i].latest[k]);
        if (is_finite)
            v->sample[count++] = i;
    }
    qsort_r(v->sample, (size_t)count, sizeof *v->sample, compare_all, (void *)r);
    for (int64_t i = 0; i < count; i++) {
        const rgm_report_trial *trial = &r->trials[v->sample[i]];
        bool beaten = false;

        for (int64_t k = 0; k < v->front_count && !beaten; k++) {
            const rgm_report_trial *other = &r->trials[v->front[k]];

            beaten = is_as_good(r, other, trial) && !is_equal(r, other, trial);
        }
        if (!beaten)
            v->front[v->front_count++] = v->sample[i];
    }
}

/* ---- view ---------------------------------------------------------------------------------- */

int64_t rgmi_view_sample(int64_t *every, const rgmi_report_view *v, int64_t most)
{
    int64_t best = v->measured <= most ? v->measured : most / 2, count = 0, first;

    *every = v->measured <= most ? 1 : (v->measured - best + most - best - 1) / (most - best);
    first = v->measured - best == 0 ? 0 : (v->measured - best - 1) / *every;
    for (int64_t i = first; v->measured > best && i >= 0; i--)
        v->sample[count++] = best + i * *every;
    for (int64_t i = best - 1; i >= 0; i--)
        v->sample[count++] = i;
    return count;
}

rgm_status rgmi_view_open(rgmi_report_view *v, const rgm_search_report *r)
{
    rgm_status status = RGM_OK;

    *v = (rgmi_report_view){.report = r};
    RGM_GO(RGM_NEW(v->ranked, r->trial_count + 1));
    RGM_GO(RGM_NEW(v->rank, r->trial_count + 1));
    RGM_GO(RGM_NEW(v->tone, r->trial_count + 1));
    RGM_GO(RGM_NEW(v->front, r->trial_count + 1));
    RGM_GO(RGM_NEW(v->sample, r->trial_count + 1));
    RGM_GO(RGM_NEW(v->varied, r->hyper_count + 1));
    RGM_GO(rank_trials(v));
    set_tones(v);
    set_metric_range(v);
    set_varied(v);
    set_front(v);
done:
    if (status != RGM_OK)
        rgmi_view_close(v);
    return status;
}

void rgmi_view_close(rgmi_report_view *v)
{
    rgm_free(v->ranked);
    rgm_free(v->rank);
    rgm_free(v->tone);
    rgm_free(v->front);
    rgm_free(v->sample);
    rgm_free(v->varied);
    *v = (rgmi_report_view){0};
}

rgm_status rgm_search_report_front(int64_t **out, int64_t *count, const rgm_search_report *r)
{
    rgmi_report_view v;

    *out = NULL;
    *count = 0;
    RGM_TRY(rgmi_view_open(&v, r));
    *out = v.front;
    *count = v.front_count;
    v.front = NULL;
    rgmi_view_close(&v);
    return RGM_OK;
}
