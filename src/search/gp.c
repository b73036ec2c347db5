/*
 * gp: Bayesian optimisation with a Gaussian process (Snoek et al., NIPS 2012): the point where the
 * expected improvement is highest, found among random points and by climbing from the best ones.
 *
 * Columns of the model: a number for each numeric hyperparameter (in 0..1 of its axis, the middle
 * where it is not there), a category for each categorical one, a category for each condition
 * (whether it holds), and where trials have several lengths the logarithm of the length; the
 * improvement is asked for at the longest. Several objectives: one of them all with random weights
 * for each draw (ParEGO, Knowles 2006). Trials that still run are given the mean that the model
 * expects of them (kriging believer, Ginsbourger et al. 2010).
 *
 * The likeliest lengths may be far too long while trials lie on one side of an optimum or in one
 * branch of a choice, and the model is then sure of what it never saw. So every second draw
 * believes in no length above a quarter of the range, each choice of a categorical hyperparameter
 * has a climb of its own, and a point that was tried already gives way to another.
 */
#include "samplers_internal.h"
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIT_POINTS = 128, /* from which lengths, signal and noise are learned: O(n^3) for each step */
    KNOWN = 2,        /* trials to climb from, those of the lowest means */
    CLIMBS = 4,       /* other points to climb from */
    NEIGHBOURS = 32,  /* tried at each of a climb's steps */
    MOST_CHOICES = 8  /* of a hyperparameter, that have a climb of their own */
};
#define LONGEST  0.25 /* length of a numeric column in every second draw */
#define THE_SAME 1e-3 /* of an axis' range: nearer than that a point was tried already */
#define MOST_FAR 3.0  /* e^3 - 1 times as far above the median as the best lies below */
static const double strides[] = {0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001};

typedef struct gp_options {
    int64_t startup_trials, candidates, most_trials;
    int start;
} gp_options;

#define RGM_OPTIONS gp_options
static const rgm_field gp_fields[] = {
    RGM_INT_FIELD(startup_trials, 1, 1000000, "trials drawn before the model is asked"),
    RGMI_START_FIELD,
    RGM_INT_FIELD(candidates, 1, 100000, "random points at which the improvement is looked at"),
    RGM_INT_FIELD(most_trials, 8, 5000,
                  "that are modelled: half of them the best, the others the newest"),
    {0}};
#undef RGM_OPTIONS

static void gp_defaults(void *options)
{
    *(gp_options *)options =
        (gp_options){.startup_trials = 10, .candidates = 512, .most_trials = 400};
}

typedef struct sampler {
    const gp_options *options;
    rgmi_history history;
    int64_t width;      /* columns                                             */
    int64_t *condition; /* [axis_count] column of an axis' condition; -1: none */
    int64_t lengths_from, lengths_to;
    bool *categorical; /* [width] */
    int64_t *chosen;   /* [count] of the history's trials */
    int64_t count, pending;
    double *x; /* [count + pending, width] */
    double *y; /* [count + pending]        */
    rgmi_gp gp;
    double best;           /* the lowest mean at the longest length */
    int64_t lowest[KNOWN]; /* of the chosen ones */
    /* Candidates, and what is thought of them: */
    int64_t space_count, room;
    rgm_hyper_value *values;           /* [room, space_count] */
    double *points;                    /* [room, width]       */
    double *means, *variances, *gains; /* [room]     */
} sampler;

/* ---- columns ------------------------------------------------------------------------------- */

/* Axes, then conditions, then the length, where there are such. */
static rgm_status make_columns(sampler *s)
{
    const rgmi_history *h = &s->history;

    s->lengths_from = INT64_MAX;
    for (int64_t i = 0; i < h->count; i++) {
        if (h->bad[i])
            continue;
        s->lengths_from = h->lengths[i] < s->lengths_from ? h->lengths[i] : s->lengths_from;
        s->lengths_to = h->lengths[i] > s->lengths_to ? h->lengths[i] : s->lengths_to;
    }
    RGM_TRY(RGM_NEW(s->condition, h->axis_count));
    RGM_TRY(RGM_NEW(s->categorical, 2 * h->axis_count + 1));
    s->width = h->axis_count;
    for (int64_t j = 0; j < h->axis_count; j++) {
        s->categorical[j] = h->axes[j].kind == RGM_HYPER_CATEGORICAL;
        s->condition[j] = -1;
        for (int64_t k = 0; k < j; k++)
            if (h->axes[k].group == h->axes[j].group)
                s->condition[j] = s->condition[k];
        if (s->condition[j] < 0 && h->axes[j].conditional) {
            s->categorical[s->width] = true;
            s->condition[j] = s->width++;
        }
    }
    s->width += s->lengths_from < s->lengths_to;
    return RGM_OK;
}

static void encode(double *x, const sampler *s, const double *point, int64_t length)
{
    const rgmi_history *h = &s->history;

    for (int64_t j = 0; j < h->axis_count; j++) {
        const rgmi_axis *axis = &h->axes[j];
        bool there = !isnan(point[j]);
        if (axis->kind == RGM_HYPER_CATEGORICAL)
            x[j] = there ? point[j] : -1.0;
        else
            x[j] = there ? (point[j] - axis->low) / (axis->high - axis->low) : 0.5;
        if (s->condition[j] >= 0)
            x[s->condition[j]] = there ? 1.0 : 0.0;
    }
    if (s->lengths_from < s->lengths_to)
        x[s->width - 1] = length <= 0 ? 1.0
                                      : log((double)length / (double)s->lengths_from) /
                                            log((double)s->lengths_to / (double)s->lengths_from);
}

static void encode_values(double *x, const sampler *s, const rgm_hyper_value *values, double *point)
{
    for (int64_t j = 0; j < s->history.axis_count; j++)
        point[j] = rgmi_axis_coordinate(&s->history.axes[j], &values[s->history.axes[j].place]);
    encode(x, s, point, 0);
}

/* ---- observations -------------------------------------------------------------------------- */

/* Half of `most_trials` by rank, the others the newest that are left; then by trial. */
static rgm_status choose(sampler *s)
{
    const rgmi_history *h = &s->history;
    rgm_status status = RGM_OK;
    int64_t *order = NULL, level, most = s->options->most_trials, left;
    bool *taken = NULL;

    RGM_GO(RGM_NEW(taken, h->count + 1));
    RGM_GO(RGM_NEW(order, h->count + 1));
    RGM_GO(RGM_NEW(s->chosen, h->count + 1));
    RGM_GO(rgmi_history_level(&level, h, rgmi_enough(h, s->options->startup_trials)));
    RGM_GO(rgmi_history_rank(order, h, level, most / 2));
    for (int64_t i = 0; i < h->count && i < most / 2; i++)
        taken[order[i]] = true;
    left = most - most / 2;
    for (int64_t i = h->count; i-- > 0 && left > 0;) {
        left -= !taken[i];
        taken[i] = true;
    }
    for (int64_t i = 0; i < h->count; i++)
        if (taken[i])
            s->chosen[s->count++] = i;
done:
    rgm_free(taken);
    rgm_free(order);
    return status;
}

/* What is minimised of each chosen trial: the key, or of several objectives, each brought to 0..1,
 * the augmented Chebyshev norm with random weights. */
static rgm_status scalarise(sampler *s, rgm_mt19937 *random)
{
    const rgmi_history *h = &s->history;
    double *sums, total = 0, weights[RGM_MAX_OBJECTIVES];

    RGM_TRY(RGM_NEW(sums, s->count + 1));
    for (int64_t k = 0; k < h->objectives && h->objectives > 1; k++) {
        weights[k] = -log(1.0 - rgm_mt19937_unit(random)); /* uniform on the simplex */
        total += weights[k];
    }
    for (int64_t k = 0; k < h->objectives; k++) {
        double low = INFINITY, high = -INFINITY;
        for (int64_t i = 0; i < s->count; i++) {
            double key = h->keys[s->chosen[i] * h->objectives + k];
            if (h->bad[s->chosen[i]])
                continue;
            low = key < low ? key : low;
            high = key > high ? key : high;
        }
        for (int64_t i = 0; i < s->count; i++) {
            double key = h->keys[s->chosen[i] * h->objectives + k];
            if (h->objectives > 1)
                key = weights[k] / (total > 0 ? total : 1) *
                      (high > low ? (key / 2 - low / 2) / (high / 2 - low / 2) : 0.0);
            s->y[i] = k == 0 || key > s->y[i] ? key : s->y[i];
            sums[i] += key;
        }
    }
    for (int64_t i = 0; i < s->count && h->objectives > 1; i++)
        s->y[i] += 0.05 * sums[i];
    rgm_free(sums);
    return RGM_OK;
}

/* Keys become how far they are from the median, in units of its distance from the best; the worse
 * half by a logarithm, since where a loss explodes or only grows steeply is of no interest, and
 * would flatten all else. Bad trials get the worst there is. Then mean 0, deviation 1. */
static void standardise(sampler *s, double *sorted)
{
    double mean = 0, squares = 0, middle = 0, scale = 0, worst = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < s->count; i++) /* divided: differences of huge ones stay finite */
        if (!s->history.bad[s->chosen[i]])
            sorted[n++] = s->y[i] = s->y[i] / 8;
    qsort(sorted, (size_t)n, sizeof *sorted, rgmi_upwards);
    if (n > 0) {
        middle = sorted[n / 2];
        scale = middle > sorted[0] ? middle - sorted[0] : sorted[n - 1] - middle;
    }
    for (int64_t i = 0; i < s->count; i++) {
        double far = s->history.bad[s->chosen[i]] || scale <= 0 ? 0 : (s->y[i] - middle) / scale;
        s->y[i] = far > 0 ? log1p(far) : far;
        worst = s->y[i] > worst ? s->y[i] : worst;
    }
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] = s->history.bad[s->chosen[i]] ? worst : s->y[i];
        s->y[i] = s->y[i] < MOST_FAR ? s->y[i] : MOST_FAR;
        mean += s->y[i] / (double)s->count;
    }
    for (int64_t i = 0; i < s->count; i++) {
        s->y[i] -= mean;
        squares += s->y[i] * s->y[i] / (double)s->count;
    }
    for (int64_t i = 0; i < s->count && squares > 0; i++)
        s->y[i] /= sqrt(squares);
}

static rgm_status observe(sampler *s, rgm_mt19937 *random)
{
    const rgmi_history *h = &s->history;
    double *sorted;

    RGM_TRY(choose(s));
    s->pending = h->pending_count < s->options->most_trials / 2 ? h->pending_count
                                                                : s->options->most_trials / 2;
    RGM_TRY(RGM_NEW(s->y, s->count + s->pending + 1));
    RGM_TRY(RGM_NEW(s->x, (s->count + s->pending) * s->width + 1));
    for (int64_t i = 0; i < s->count; i++)
        encode(s->x + i * s->width, s, h->points + s->chosen[i] * h->axis_count,
               h->bad[s->chosen[i]] ? 0 : h->lengths[s->chosen[i]]);
    for (int64_t i = 0; i < s->pending; i++) /* the newest of them */
        encode(s->x + (s->count + i) * s->width, s,
               h->points + (h->count + h->pending_count - s->pending + i) * h->axis_count, 0);
    RGM_TRY(scalarise(s, random));
    RGM_TRY(RGM_NEW(sorted, s->count + 1));
    standardise(s, sorted);
    rgm_free(sorted);
    return RGM_OK;
}

/* ---- model --------------------------------------------------------------------------------- */

/* Lengths, signal and noise from at most FIT_POINTS trials, evenly chosen. */
static rgm_status learn(double *logs, const sampler *s)
{
    rgm_status status = RGM_OK;
    int64_t n = s->count < FIT_POINTS ? s->count : FIT_POINTS;
    double *x = NULL, *y = NULL;
    rgmi_gp gp = {0};

    RGM_GO(RGM_NEW(x, n * s->width + 1));
    RGM_GO(RGM_NEW(y, n + 1));
    for (int64_t i = 0; i < n; i++) {
        int64_t from = i * s->count / n;
        memcpy(x + i * s->width, s->x + from * s->width, (size_t)s->width * sizeof *x);
        y[i] = s->y[from];
    }
    RGM_GO(rgmi_gp_create(&gp, x, s->categorical, n, s->width));
    RGM_GO(rgmi_gp_fit(&gp, y));
    memcpy(logs, gp.logs, (size_t)(s->width + 2) * sizeof *logs);
done:
    rgmi_gp_clear(&gp);
    rgm_free(x);
    rgm_free(y);
    return status;
}

/* Every second draw; the column of trials' own lengths keeps what was learned. */
static void doubt(double *logs, const sampler *s)
{
    if ((s->history.count + s->history.pending_count) % 2 == 0)
        return;
    for (int64_t j = 0; j < s->history.axis_count; j++)
        if (!s->categorical[j] && logs[j] > log(LONGEST))
            logs[j] = log(LONGEST);
}

/* The lowest mean over the trials, were they all of the longest length. */
static rgm_status find_best(sampler *s, double *scratch)
{
    double *at = scratch, *means = at + s->count * s->width, *variances = means + s->count;

    memcpy(at, s->x, (size_t)(s->count * s->width) * sizeof *at);
    for (int64_t i = 0; i < s->count && s->lengths_from < s->lengths_to; i++)
        at[(i + 1) * s->width - 1] = 1.0;
    RGM_TRY(rgmi_gp_predict(means, variances, &s->gp, at, s->count));
    for (int k = 0; k < KNOWN && k < s->count; k++) {
        int64_t low = -1;
        for (int64_t i = 0; i < s->count; i++)
            if ((low < 0 || means[i] < means[low]) && (k == 0 || i != s->lowest[0]))
                low = i;
        s->lowest[k] = low;
    }
    s->best = means[s->lowest[0]];
    return RGM_OK;
}

static rgm_status model(sampler *s)
{
    rgm_status status = RGM_OK;
    double *logs = NULL, *scratch = NULL;

    RGM_GO(RGM_NEW(logs, s->width + 2));
    RGM_GO(RGM_NEW(scratch, s->count * (s->width + 2) + s->pending + 1));
    RGM_GO(learn(logs, s));
    doubt(logs, s);
    RGM_GO(rgmi_gp_create(&s->gp, s->x, s->categorical, s->count, s->width));
    memcpy(s->gp.logs, logs, (size_t)(s->width + 2) * sizeof *logs);
    rgmi_gp_condition(&s->gp, s->y);
    RGM_GO(find_best(s, scratch));
    if (s->pending > 0) {
        RGM_GO(rgmi_gp_predict(s->y + s->count, scratch, &s->gp, s->x + s->count * s->width,
                               s->pending));
        rgmi_gp_clear(&s->gp);
        RGM_GO(rgmi_gp_create(&s->gp, s->x, s->categorical, s->count + s->pending, s->width));
        memcpy(s->gp.logs, logs, (size_t)(s->width + 2) * sizeof *logs);
        rgmi_gp_condition(&s->gp, s->y);
    }
done:
    rgm_free(logs);
    rgm_free(scratch);
    return status;
}

/* ---- where the improvement is highest ------------------------------------------------------ */

/* The log expected improvement at candidates [from, to). */
static rgm_status judge(sampler *s, int64_t from, int64_t to, double *point)
{
    for (int64_t i = from; i < to; i++)
        encode_values(s->points + i * s->width, s, s->values + i * s->space_count, point);
    RGM_TRY(rgmi_gp_predict(s->means + from, s->variances + from, &s->gp,
                            s->points + from * s->width, to - from));
    for (int64_t i = from; i < to; i++)
        s->gains[i] = rgmi_log_expected_improvement(s->best, s->means[i], s->variances[i]);
    return RGM_OK;
}

/* Conditions may hold now that did not, and the other way round. */
static void settle(rgm_hyper_value *values, const sampler *s, rgm_mt19937 *random)
{
    const rgmi_history *h = &s->history;
    int64_t axis = 0;

    for (int64_t i = 0; i < s->space_count; i++) {
        bool varies = axis < h->axis_count && h->axes[axis].place == i;
        if (!rgm_space_applies(h->space, i, values))
            values[i] = (rgm_hyper_value){0};
        else if (!values[i].is_set && varies)
            values[i] = rgmi_axis_value(&h->axes[axis], rgmi_draw_axis(&h->axes[axis], random));
        else if (!values[i].is_set)
            values[i] = rgmi_only_value(rgm_space_at(h->space, i));
        axis += varies;
    }
}

static void shift(rgm_hyper_value *value, const rgmi_axis *axis, double stride, rgm_mt19937 *random)
{
    double x = rgmi_axis_coordinate(axis, value), range = axis->high - axis->low;

    if (axis->kind == RGM_HYPER_CATEGORICAL) {
        *value = rgmi_axis_value(axis, rgmi_draw_axis(axis, random));
        return;
    }
    double by = stride * range * rgmi_draw_normal(random);
    if (axis->kind == RGM_HYPER_INT && fabs(by) < 1.0)
        by = by < 0 ? -1.0 : 1.0;
    *value = rgmi_axis_value(axis, x + by);
}

/* A neighbour differs in one hyperparameter, or by chance in more. */
static void neighbour(rgm_hyper_value *out, const sampler *s, const rgm_hyper_value *from,
                      double stride, rgm_mt19937 *random)
{
    const rgmi_history *h = &s->history;
    int64_t one = (int64_t)rgm_mt19937_bounded(random, (uint64_t)h->axis_count - 1);
    bool several = rgm_mt19937_unit(random) < 0.5;

    memcpy(out, from, (size_t)s->space_count * sizeof *out);
    for (int64_t j = 0; j < h->axis_count; j++) {
        double chance = several ? 2.0 / (double)h->axis_count : 0.0;
        bool moved = rgm_mt19937_unit(random) < chance;
        if ((moved || j == one) && out[h->axes[j].place].is_set)
            shift(&out[h->axes[j].place], &h->axes[j], stride, random);
    }
    settle(out, s, random);
}

/* From candidate `at`; neighbours lie behind the candidates. */
static rgm_status climb(sampler *s, int64_t at, double *point, rgm_mt19937 *random)
{
    rgm_hyper_value *values = s->values + at * s->space_count;
    int64_t first = s->options->candidates;

    for (size_t k = 0; k < sizeof strides / sizeof *strides; k++) {
        int64_t n = first, best = -1;
        for (int i = 0; i < NEIGHBOURS; i++) {
            rgm_hyper_value *out = s->values + n * s->space_count;
            neighbour(out, s, values, strides[k], random);
            n += rgm_space_holds(s->history.space, out, NULL);
        }
        RGM_TRY(judge(s, first, n, point));
        for (int64_t i = first; i < n; i++)
            if (s->gains[i] > s->gains[best < 0 ? at : best])
                best = i;
        if (best < 0)
            continue;
        memcpy(values, s->values + best * s->space_count, (size_t)s->space_count * sizeof *values);
        s->gains[at] = s->gains[best];
    }
    return RGM_OK;
}

static int64_t highest(const sampler *s, const bool *used)
{
    int64_t best = -1;

    for (int64_t i = 0; i < s->options->candidates; i++)
        if (!used[i] && (best < 0 || s->gains[i] > s->gains[best]))
            best = i;
    return best;
}

/* The best candidate that has a choice; -1: none has it, or a climb began with one. */
static int64_t highest_of(const sampler *s, const bool *used, const rgmi_axis *axis, int64_t choice)
{
    int64_t best = -1;

    for (int64_t i = 0; i < s->options->candidates; i++) {
        const rgm_hyper_value *value = &s->values[i * s->space_count + axis->place];

        if (!value->is_set || value->choice != choice)
            continue;
        if (used[i])
            return -1;
        if (best < 0 || s->gains[i] > s->gains[best])
            best = i;
    }
    return best;
}

/* What looks bad so far gets its best chance as well. */
static rgm_status climb_choices(sampler *s, double *point, bool *used, rgm_mt19937 *random)
{
    for (int64_t j = 0; j < s->history.axis_count; j++) {
        const rgmi_axis *axis = &s->history.axes[j];

        for (int64_t c = 0; c < axis->choices && c < MOST_CHOICES; c++) {
            int64_t from = highest_of(s, used, axis, c);

            if (from < 0)
                continue;
            used[from] = true;
            RGM_TRY(climb(s, from, point, random));
        }
    }
    return RGM_OK;
}

/* A trial again, from its coordinates; false: rounding took it out of a constraint. */
static bool recall(rgm_hyper_value *values, const sampler *s, int64_t trial, rgm_mt19937 *random)
{
    const rgmi_history *h = &s->history;
    const double *point = h->points + trial * h->axis_count;

    memset(values, 0, (size_t)s->space_count * sizeof *values);
    for (int64_t j = 0; j < h->axis_count; j++)
        if (!isnan(point[j]))
            values[h->axes[j].place] = rgmi_axis_value(&h->axes[j], point[j]);
    settle(values, s, random);
    return rgm_space_holds(h->space, values, NULL);
}

static bool same_place(const rgmi_axis *axis, double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    if (axis->kind == RGM_HYPER_CATEGORICAL || axis->kind == RGM_HYPER_INT)
        return a == b;
    return fabs(a - b) <= THE_SAME * (axis->high - axis->low);
}

/* Whether a trial has all but the same values. */
static bool was_tried(const sampler *s, const rgm_hyper_value *values)
{
    const rgmi_history *h = &s->history;
    bool found = false;

    for (int64_t i = 0; i < h->count + h->pending_count && !found; i++) {
        found = true;
        for (int64_t j = 0; j < h->axis_count && found; j++)
            found = same_place(&h->axes[j], h->points[i * h->axis_count + j],
                               rgmi_axis_coordinate(&h->axes[j], &values[h->axes[j].place]));
    }
    return found;
}

/* The candidate of the highest gain where no trial was; false: all were tried. */
static bool take_highest(rgm_hyper_value *values, const sampler *s, bool *used)
{
    memset(used, 0, (size_t)s->options->candidates * sizeof *used);
    for (int64_t at; (at = highest(s, used)) >= 0; used[at] = true) {
        const rgm_hyper_value *found = s->values + at * s->space_count;

        if (was_tried(s, found))
            continue;
        memcpy(values, found, (size_t)s->space_count * sizeof *values);
        return true;
    }
    return false;
}

/* Random points, and before them the trials of the lowest means, about which an optimum may be
 * narrower than random points are dense. Climbs begin with those. */
static rgm_status seek(rgm_hyper_value *values, bool *found, sampler *s, double *point, bool *used,
                       rgm_mt19937 *random)
{
    int64_t n = s->options->candidates, known = 0;

    for (int k = 0; k < KNOWN && k < s->count && known < n; k++)
        known += recall(s->values + known * s->space_count, s, s->chosen[s->lowest[k]], random);
    for (int64_t i = known; i < n; i++)
        RGM_TRY(rgm_space_draw(s->values + i * s->space_count, s->history.space, random));
    RGM_TRY(judge(s, 0, n, point));
    for (int64_t i = 0; i < known + CLIMBS && i < n; i++) {
        int64_t from = i < known ? i : highest(s, used);
        used[from] = true;
        RGM_TRY(climb(s, from, point, random));
    }
    RGM_TRY(climb_choices(s, point, used, random));
    *found = take_highest(values, s, used);
    return RGM_OK;
}

static rgm_status suggest(rgm_hyper_value *values, bool *found, sampler *s, rgm_mt19937 *random)
{
    rgm_status status = RGM_OK;
    double *point = NULL;
    bool *used = NULL;

    s->space_count = rgm_space_count(s->history.space);
    s->room = s->options->candidates + NEIGHBOURS;
    RGM_GO(make_columns(s));
    RGM_GO(observe(s, random));
    RGM_GO(model(s));
    RGM_GO(RGM_NEW(point, s->history.axis_count));
    RGM_GO(RGM_NEW(used, s->options->candidates));
    RGM_GO(RGM_NEW(s->values, s->room * s->space_count));
    RGM_GO(RGM_NEW(s->points, s->room * s->width));
    RGM_GO(RGM_NEW(s->means, s->room));
    RGM_GO(RGM_NEW(s->variances, s->room));
    RGM_GO(RGM_NEW(s->gains, s->room));
    RGM_GO(seek(values, found, s, point, used, random));
done:
    rgm_free(point);
    rgm_free(used);
    return status;
}

static void clear(sampler *s)
{
    rgmi_gp_clear(&s->gp);
    rgmi_history_clear(&s->history);
    rgm_free(s->condition);
    rgm_free(s->categorical);
    rgm_free(s->chosen);
    rgm_free(s->x);
    rgm_free(s->y);
    rgm_free(s->values);
    rgm_free(s->points);
    rgm_free(s->means);
    rgm_free(s->variances);
    rgm_free(s->gains);
}

static rgm_status gp_draw(rgm_hyper_value *values, const rgm_searcher *searcher,
                          const void *options, rgm_mt19937 *random)
{
    sampler s = {.options = options};
    rgm_status status = RGM_OK;
    int64_t good = 0;
    bool found = false;

    RGM_GO(rgmi_history_read(&s.history, searcher));
    for (int64_t i = 0; i < s.history.count; i++) {
        s.history.bad[i] = s.history.bad[i] || s.history.broken[i] > 0;
        good += !s.history.bad[i];
    }
    if (s.history.count >= s.options->startup_trials && good > 1 && s.history.axis_count > 0)
        RGM_GO(suggest(values, &found, &s, random));
    if (s.history.count < s.options->startup_trials) {
        RGM_GO(rgmi_start_draw(values, searcher, (rgmi_start)s.options->start, random));
        found = true;
    }
    if (!found)
        RGM_GO(rgm_space_draw(values, s.history.space, random));
done:
    clear(&s);
    return status;
}

const rgm_sampler_type rgmi_gp_sampler_type = {
    .section = {.name = "gp",
                .help = "where a Gaussian process expects the largest improvement",
                .options_size = sizeof(gp_options),
                .defaults = gp_defaults,
                .fields = gp_fields},
    .draw = gp_draw,
};
