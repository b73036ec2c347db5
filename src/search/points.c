/*
 * Hyperparameters as axes of numbers and trials as points on them, with the order that all samplers
 * go by: which trial is better than which.
 */
#include "samplers_internal.h"
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A range is never empty: rgm_space_read() sees to it. But a log's may hold one number: its base is
 * 1, or the bounds are nearly the same. */
static bool varies(const rgm_hyperparameter *h)
{
    switch (h->kind) {
    case RGM_HYPER_CONST:
        return false;
    case RGM_HYPER_CATEGORICAL:
        return h->values.count > 1;
    case RGM_HYPER_LOG:
        return pow(h->base, h->minval) != pow(h->base, h->maxval);
    default:
        return true;
    }
}

rgm_hyper_value rgmi_only_value(const rgm_hyperparameter *h)
{
    rgm_hyper_value value = {.is_set = true};

    if (h->kind == RGM_HYPER_LOG)
        value.number = pow(h->base, h->minval);
    return value;
}

static rgmi_axis axis_of(const rgm_hyperparameter *h, int64_t place)
{
    double margin = h->kind == RGM_HYPER_INT ? 0.5 : 0.0;

    return (rgmi_axis){.kind = h->kind,
                       .choices = h->kind == RGM_HYPER_CATEGORICAL ? h->values.count : 0,
                       .low = h->minval - margin,
                       .high = h->maxval + margin,
                       .place = place,
                       .conditional = h->when != NULL,
                       .base = h->base};
}

static bool same_condition(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

rgm_status rgmi_axes_create(rgmi_axis **out, int64_t *count, const rgm_space *space)
{
    int64_t all = rgm_space_count(space), groups = 0, n = 0;
    rgmi_axis *axes;

    *out = NULL;
    *count = 0;
    RGM_TRY(RGM_NEW(axes, all + 1));
    for (int64_t i = 0; i < all; i++) {
        const rgm_hyperparameter *h = rgm_space_at(space, i);
        if (!varies(h))
            continue;
        axes[n] = axis_of(h, i);
        axes[n].group = -1;
        for (int64_t j = 0; j < n && axes[n].group < 0; j++)
            if (same_condition(h->when, rgm_space_at(space, axes[j].place)->when))
                axes[n].group = axes[j].group;
        if (axes[n].group < 0)
            axes[n].group = groups++;
        n++;
    }
    *out = axes;
    *count = n;
    return RGM_OK;
}

int rgmi_upwards(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static double clamp(double x, double low, double high)
{
    return x < low ? low : x > high ? high : x;
}

double rgmi_axis_coordinate(const rgmi_axis *axis, const rgm_hyper_value *value)
{
    if (!value->is_set)
        return NAN;
    switch (axis->kind) {
    case RGM_HYPER_CATEGORICAL:
        return (double)value->choice;
    case RGM_HYPER_INT:
        return clamp((double)value->integer, axis->low + 0.5, axis->high - 0.5);
    case RGM_HYPER_LOG:
        return clamp(log(value->number) / log(axis->base), axis->low, axis->high);
    default:
        return clamp(value->number, axis->low, axis->high);
    }
}

/* Inside the bounds, of which the one at `end` is outside. */
static double inside(double x, double begin, double end)
{
    double last = nextafter(end, begin);

    return begin < end ? clamp(x, begin, last) : clamp(x, last, begin);
}

rgm_hyper_value rgmi_axis_value(const rgmi_axis *axis, double x)
{
    rgm_hyper_value value = {.is_set = true};

    switch (axis->kind) {
    case RGM_HYPER_CATEGORICAL:
        value.choice = (int64_t)clamp(x, 0, (double)(axis->choices - 1));
        break;
    case RGM_HYPER_INT:
        value.integer = (int64_t)clamp(nearbyint(x), axis->low + 0.5, axis->high - 0.5);
        break;
    case RGM_HYPER_LOG:
        value.number = inside(pow(axis->base, clamp(x, axis->low, axis->high)),
                              pow(axis->base, axis->low), pow(axis->base, axis->high));
        break;
    default:
        value.number = inside(x, axis->low, axis->high);
        break;
    }
    return value;
}

double rgmi_draw_normal(rgm_mt19937 *random)
{
    const double two_pi = 6.28318530717958647692;
    double u = 1.0 - rgm_mt19937_unit(random); /* (0, 1] */
    double angle = two_pi * rgm_mt19937_unit(random);

    return sqrt(-2.0 * log(u)) * cos(angle);
}

double rgmi_draw_axis(const rgmi_axis *axis, rgm_mt19937 *random)
{
    if (axis->kind == RGM_HYPER_CATEGORICAL)
        return (double)rgm_mt19937_bounded(random, (uint64_t)axis->choices - 1);
    return rgm_mt19937_uniform(random, axis->low, axis->high);
}

/* ---- trials -------------------------------------------------------------------------------- */

static bool observed(const rgm_search_trial *trial)
{
    return trial->length > 0 || trial->exited || trial->invalid;
}

static void add_point(rgmi_history *h, int64_t row, const rgm_search_trial *trial)
{
    for (int64_t j = 0; j < h->axis_count; j++)
        h->points[row * h->axis_count + j] =
            rgmi_axis_coordinate(&h->axes[j], &trial->values[h->axes[j].place]);
}

/* all: objectives with bounds. */
static void add_observed(rgmi_history *h, int64_t row, const rgm_search_trial *trial, int64_t all)
{
    h->lengths[row] = trial->length;
    h->bad[row] = trial->exited || trial->invalid;
    for (int64_t k = 0; k < h->objectives; k++) {
        h->keys[row * h->objectives + k] = trial->keys[k];
        h->bad[row] = h->bad[row] || !isfinite(trial->keys[k]);
    }
    for (int64_t k = h->objectives; k < all; k++)
        h->broken[row] += trial->keys[k];
    h->bad[row] = h->bad[row] || !isfinite(h->broken[row]);
    add_point(h, row, trial);
}

/* Trials of earlier searches, then those of this one; NULL: nothing is learned of it, since it is
 * outside of today's bounds, or was stopped before it was validated. */
static const rgm_search_trial *trial_at(const rgm_searcher *searcher, int64_t i)
{
    const rgm_search_trial *trial =
        i < searcher->earlier_count ? &searcher->earlier[i]->seen
                                    : rgm_searcher_trial(searcher, i + 1 - searcher->earlier_count);

    return trial->outside || (trial->closed && !observed(trial)) ? NULL : trial;
}

rgm_status rgmi_history_read(rgmi_history *h, const rgm_searcher *searcher)
{
    const rgm_objective *objectives;
    int64_t trials = searcher->earlier_count + rgm_searcher_trial_count(searcher);
    int64_t row = 0, pending = 0;
    int64_t all = rgm_searcher_objectives(&objectives, searcher);

    *h = (rgmi_history){.space = rgm_searcher_space(searcher),
                        .objectives = rgm_searcher_aims(searcher)};
    RGM_TRY(rgmi_axes_create(&h->axes, &h->axis_count, h->space));
    for (int64_t t = 0; t < trials; t++) {
        const rgm_search_trial *trial = trial_at(searcher, t);

        h->count += trial != NULL && observed(trial);
        h->pending_count += trial != NULL && !observed(trial);
    }
    RGM_TRY(RGM_NEW(h->points, trials * h->axis_count + 1));
    RGM_TRY(RGM_NEW(h->keys, h->count * h->objectives + 1));
    RGM_TRY(RGM_NEW(h->broken, h->count + 1));
    RGM_TRY(RGM_NEW(h->lengths, h->count + 1));
    RGM_TRY(RGM_NEW(h->bad, h->count + 1));
    for (int64_t t = 0; t < trials; t++) {
        const rgm_search_trial *trial = trial_at(searcher, t);

        if (trial == NULL)
            continue;
        if (observed(trial))
            add_observed(h, row++, trial, all);
        else
            add_point(h, h->count + pending++, trial);
    }
    return RGM_OK;
}

void rgmi_history_clear(rgmi_history *h)
{
    rgm_free(h->axes);
    rgm_free(h->points);
    rgm_free(h->keys);
    rgm_free(h->broken);
    rgm_free(h->lengths);
    rgm_free(h->bad);
    *h = (rgmi_history){0};
}

int64_t rgmi_enough(const rgmi_history *h, int64_t startup)
{
    return h->axis_count + 2 > startup ? h->axis_count + 2 : startup;
}

static int longer_first(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return x > y ? -1 : x < y;
}

rgm_status rgmi_history_level(int64_t *level, const rgmi_history *h, int64_t enough)
{
    int64_t *lengths, n = 0;

    *level = 1;
    RGM_TRY(RGM_NEW(lengths, h->count + 1));
    for (int64_t i = 0; i < h->count; i++)
        if (!h->bad[i])
            lengths[n++] = h->lengths[i];
    qsort(lengths, (size_t)n, sizeof *lengths, longer_first);
    if (n > 0)
        *level = lengths[n < enough ? n - 1 : enough - 1];
    rgm_free(lengths);
    return RGM_OK;
}

/* ---- which is better ----------------------------------------------------------------------- */

/* A trial in the order: first by class, of those of one class by keys, then the older one. */
typedef struct entry {
    const double *keys;
    int64_t objectives;
    int64_t class; /* 0: at the level; then the shorter the higher; INT64_MAX: bad */
    double broken; /* by how much bounds are; they come before keys                 */
    int64_t index;
    double crowding;
} entry;

static int by_class_and_keys(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->class != y->class)
        return x->class < y->class ? -1 : 1;
    if (x->broken != y->broken)
        return x->broken < y->broken ? -1 : 1;
    for (int64_t k = 0; x->class != INT64_MAX && k < x->objectives; k++)
        if (x->keys[k] != y->keys[k])
            return x->keys[k] < y->keys[k] ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static bool dominates(const entry *a, const entry *b)
{
    bool better = false;

    for (int64_t k = 0; k < a->objectives; k++) {
        if (a->keys[k] > b->keys[k])
            return false;
        better = better || a->keys[k] < b->keys[k];
    }
    return better;
}

/* Entries are sorted by keys, so none is dominated by one behind it: the front is moved to the
 * beginning, the others keep their order behind it. Returns the size of the front. */
static int64_t peel(entry *entries, int64_t count, entry *rest)
{
    int64_t front = 0, left = 0;

    for (int64_t i = 0; i < count; i++) {
        bool dominated = false;
        for (int64_t j = 0; j < front && !dominated; j++)
            dominated = dominates(&entries[j], &entries[i]);
        if (dominated)
            rest[left++] = entries[i];
        else
            entries[front++] = entries[i];
    }
    memcpy(entries + front, rest, (size_t)left * sizeof *rest);
    return front;
}

static int lonelier_first(const void *a, const void *b)
{
    const entry *x = a, *y = b;

    if (x->crowding != y->crowding)
        return x->crowding > y->crowding ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* One comparison of qsort() cannot be told which objective: for each, a pair of key and place. */
typedef struct keyed {
    double key;
    int64_t at;
} keyed;

static int by_key(const void *a, const void *b)
{
    const keyed *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static void crowd(entry *front, int64_t count, keyed *pairs)
{
    for (int64_t i = 0; i < count; i++)
        front[i].crowding = 0;
    for (int64_t k = 0; count > 0 && k < front->objectives; k++) {
        for (int64_t i = 0; i < count; i++)
            pairs[i] = (keyed){front[i].keys[k], i};
        qsort(pairs, (size_t)count, sizeof *pairs, by_key);
        double range = pairs[count - 1].key - pairs[0].key;
        front[pairs[0].at].crowding = front[pairs[count - 1].at].crowding = INFINITY;
        for (int64_t i = 1; i + 1 < count && range > 0; i++)
            front[pairs[i].at].crowding += (pairs[i + 1].key - pairs[i - 1].key) / range;
    }
    qsort(front, (size_t)count, sizeof *front, lonelier_first);
}

/* Fronts of one class, until `need` are in order. */
static void order_fronts(entry *entries, int64_t count, int64_t need, entry *rest, keyed *pairs)
{
    for (int64_t done = 0; done < count && done < need;) {
        int64_t front = peel(entries + done, count - done, rest);
        crowd(entries + done, front, pairs);
        done += front;
    }
}

rgm_status rgmi_history_rank(int64_t *order, const rgmi_history *h, int64_t level, int64_t need)
{
    rgm_status status = RGM_OK;
    entry *entries = NULL, *rest = NULL;
    keyed *pairs = NULL;

    RGM_GO(RGM_NEW(entries, h->count + 1));
    RGM_GO(RGM_NEW(rest, h->count + 1));
    RGM_GO(RGM_NEW(pairs, h->count + 1));
    for (int64_t i = 0; i < h->count; i++)
        entries[i] = (entry){.keys = h->keys + i * h->objectives,
                             .objectives = h->objectives,
                             .class = h->bad[i]                ? INT64_MAX
                                      : h->lengths[i] >= level ? 0
                                                               : level - h->lengths[i],
                             .broken = h->broken != NULL && !h->bad[i] ? h->broken[i] : 0,
                             .index = i};
    qsort(entries, (size_t)h->count, sizeof *entries, by_class_and_keys);
    for (int64_t i = 0, end; h->objectives > 1 && i < h->count && i < need; i = end) {
        for (end = i + 1; end < h->count && entries[end].class == entries[i].class &&
                          entries[end].broken == entries[i].broken;)
            end++;
        if (entries[i].class != INT64_MAX)
            order_fronts(entries + i, end - i, need - i, rest, pairs);
    }
    for (int64_t i = 0; i < h->count; i++)
        order[i] = entries[i].index;
done:
    rgm_free(entries);
    rgm_free(rest);
    rgm_free(pairs);
    return status;
}
