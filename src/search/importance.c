/*
 * How much each hyperparameter matters: functional analysis of variance over a random forest
 * (Hutter, Hoos, Leyton-Brown: An efficient approach for assessing hyperparameter importance, ICML
 * 2014). A tree is constant on boxes, so its mean over all other hyperparameters is a sum over its
 * leaves, and exact.
 */
#include "samplers_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TREES = 64 };

/* ---- one tree ------------------------------------------------------------------------------ */

typedef struct analysis {
    const rgmi_table *table;
    const rgmi_forest_tree *tree;
    double *lacking;  /* [axis_count] share of the trials that lack it   */
    double *measures; /* [leaf_capacity, axis_count] of leaves, on each axis */
    double *bounds;   /* [2 * leaf_capacity] of an axis                  */
    double *sums;     /* [2 * leaf_capacity + places + 2]                */
    double mean;
} analysis;

static double place_weight(const analysis *a, int64_t axis, int64_t place)
{
    const rgmi_axis *x = &a->table->axes[axis];

    return place == x->choices ? a->lacking[axis] : (1.0 - a->lacking[axis]) / (double)x->choices;
}

static double measure(const analysis *a, int64_t leaf, int64_t axis, int64_t first_place)
{
    const rgmi_forest_tree *t = a->tree;
    double sum = 0;
    int64_t at = leaf * t->axis_count + axis;

    if (a->table->axes[axis].kind != RGM_HYPER_CATEGORICAL)
        return (t->highs[at] - t->lows[at]) * (1.0 - a->lacking[axis]) +
               (t->lacking[at] ? a->lacking[axis] : 0.0);
    for (int64_t p = 0; p <= a->table->axes[axis].choices; p++)
        if (t->sets[leaf * t->places + first_place + p])
            sum += place_weight(a, axis, p);
    return sum;
}

static int64_t find(const double *sorted, int64_t count, double x)
{
    int64_t low = 0, high = count - 1;

    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (sorted[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What a leaf adds to the mean over all axes but one. */
static double without(const analysis *a, int64_t leaf, int64_t axis)
{
    double product = a->tree->values[leaf];

    for (int64_t k = 0; k < a->tree->axis_count; k++)
        if (k != axis)
            product *= a->measures[leaf * a->tree->axis_count + k];
    return product;
}

static double variance_numeric(analysis *a, int64_t axis)
{
    const rgmi_forest_tree *t = a->tree;
    int64_t n = 0, cells = 0;
    double lacking = 0, sum = 0, variance;

    for (int64_t leaf = 0; leaf < t->leaf_count; leaf++) {
        a->bounds[n++] = t->lows[leaf * t->axis_count + axis];
        a->bounds[n++] = t->highs[leaf * t->axis_count + axis];
    }
    qsort(a->bounds, (size_t)n, sizeof *a->bounds, rgmi_upwards);
    for (int64_t i = 0; i < n; i++)
        if (i == 0 || a->bounds[i] != a->bounds[cells - 1])
            a->bounds[cells++] = a->bounds[i];
    memset(a->sums, 0, (size_t)(cells + 1) * sizeof *a->sums);
    for (int64_t leaf = 0; leaf < t->leaf_count; leaf++) {
        int64_t at = leaf * t->axis_count + axis;
        double part = without(a, leaf, axis);
        a->sums[find(a->bounds, cells, t->lows[at])] += part; /* as differences */
        a->sums[find(a->bounds, cells, t->highs[at])] -= part;
        lacking += t->lacking[at] ? part : 0.0;
    }
    variance = a->lacking[axis] * (lacking - a->mean) * (lacking - a->mean);
    for (int64_t i = 0; i + 1 < cells; i++) {
        sum += a->sums[i];
        variance += (1.0 - a->lacking[axis]) * (a->bounds[i + 1] - a->bounds[i]) * (sum - a->mean) *
                    (sum - a->mean);
    }
    return variance;
}

static double variance_categorical(analysis *a, int64_t axis, int64_t first_place)
{
    const rgmi_forest_tree *t = a->tree;
    double variance = 0;

    for (int64_t p = 0; p <= a->table->axes[axis].choices; p++) {
        double sum = 0;
        for (int64_t leaf = 0; leaf < t->leaf_count; leaf++)
            if (t->sets[leaf * t->places + first_place + p])
                sum += without(a, leaf, axis);
        variance += place_weight(a, axis, p) * (sum - a->mean) * (sum - a->mean);
    }
    return variance;
}

/* Add each axis' share of the tree's variance; false: it says the same everywhere. */
static bool add_shares(double *shares, analysis *a)
{
    const rgmi_forest_tree *t = a->tree;
    double total = 0;
    int64_t first_place = 0;

    for (int64_t axis = 0; axis < t->axis_count; axis++) {
        for (int64_t leaf = 0; leaf < t->leaf_count; leaf++)
            a->measures[leaf * t->axis_count + axis] = measure(a, leaf, axis, first_place);
        if (a->table->axes[axis].kind == RGM_HYPER_CATEGORICAL)
            first_place += a->table->axes[axis].choices + 1;
    }
    a->mean = 0;
    for (int64_t leaf = 0; leaf < t->leaf_count; leaf++)
        a->mean += without(a, leaf, -1);
    for (int64_t leaf = 0; leaf < t->leaf_count; leaf++) {
        double all = 1, far = t->values[leaf] - a->mean;
        for (int64_t axis = 0; axis < t->axis_count; axis++)
            all *= a->measures[leaf * t->axis_count + axis];
        total += all * far * far;
    }
    if (!(total > 1e-300))
        return false;
    first_place = 0;
    for (int64_t axis = 0; axis < t->axis_count; axis++) {
        if (a->table->axes[axis].kind == RGM_HYPER_CATEGORICAL) {
            shares[axis] += variance_categorical(a, axis, first_place) / total;
            first_place += a->table->axes[axis].choices + 1;
        } else {
            shares[axis] += variance_numeric(a, axis) / total;
        }
    }
    return true;
}

/* ---- the forest ---------------------------------------------------------------------------- */

static rgm_status make_analysis(analysis *a)
{
    const rgmi_table *t = a->table;
    int64_t n = t->count;

    RGM_TRY(RGM_NEW(a->lacking, t->axis_count + 1));
    RGM_TRY(RGM_NEW(a->measures, n * t->axis_count + 1));
    RGM_TRY(RGM_NEW(a->bounds, 2 * n + 1));
    RGM_TRY(RGM_NEW(a->sums, 2 * n + 1));
    for (int64_t i = 0; i < n; i++)
        for (int64_t axis = 0; axis < t->axis_count; axis++)
            a->lacking[axis] += isnan(t->x[i * t->axis_count + axis]) ? 1.0 / (double)n : 0.0;
    return RGM_OK;
}

rgm_status rgmi_forest_shares(double *shares, const rgmi_table *table, uint32_t seed)
{
    rgm_status status = RGM_OK;
    analysis a = {.table = table};
    rgm_mt19937 random;
    int64_t *rows = NULL, trees = 0;

    memset(shares, 0, (size_t)table->axis_count * sizeof *shares);
    rgm_mt19937_seed(&random, seed);
    RGM_GO(RGM_NEW(rows, table->count));
    RGM_GO(make_analysis(&a));
    for (int i = 0; i < TREES; i++) {
        rgmi_forest_tree tree;
        for (int64_t k = 0; k < table->count; k++)
            rows[k] = (int64_t)rgm_mt19937_bounded(&random, (uint64_t)table->count - 1);
        status = rgmi_tree_grow(&tree, table, rows, table->count);
        a.tree = &tree;
        if (status == RGM_OK)
            trees += add_shares(shares, &a);
        rgmi_tree_clear(&tree);
        RGM_GO(status);
    }
    for (int64_t axis = 0; axis < table->axis_count && trees > 0; axis++)
        shares[axis] /= (double)trees;
done:
    rgm_free(rows);
    rgm_free(a.lacking);
    rgm_free(a.measures);
    rgm_free(a.bounds);
    rgm_free(a.sums);
    return status;
}

/* ---- trials -------------------------------------------------------------------------------- */

/* Keys that are no number get the worst there is; all are brought to about 1, so that squares of
 * huge ones stay finite. Returns whether any two differ. */
static bool settle_keys(double *y, const double *keys, int64_t count)
{
    double low = INFINITY, high = -INFINITY;

    for (int64_t i = 0; i < count; i++) {
        low = isfinite(keys[i]) && keys[i] < low ? keys[i] : low;
        high = isfinite(keys[i]) && keys[i] > high ? keys[i] : high;
    }
    for (int64_t i = 0; i < count; i++) {
        double key = isfinite(keys[i]) ? keys[i] : high;
        y[i] = high > low ? (key / 2 - low / 2) / (high / 2 - low / 2) - 0.5 : 0.0;
    }
    return high > low;
}

static double unit_coordinate(const rgmi_axis *axis, const rgm_hyper_value *value)
{
    double x = rgmi_axis_coordinate(axis, value);

    return axis->kind == RGM_HYPER_CATEGORICAL ? x : (x - axis->low) / (axis->high - axis->low);
}

rgm_status rgm_space_importance(double *shares, const rgm_space *space,
                                const rgm_hyper_value *const *values, const double *keys,
                                int64_t count, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgmi_table table = {.count = count};
    rgmi_axis *axes = NULL;
    double *x = NULL, *y = NULL, *found = NULL;

    memset(shares, 0, (size_t)rgm_space_count(space) * sizeof *shares);
    RGM_GO(rgmi_axes_create(&axes, &table.axis_count, space));
    RGM_GO(RGM_NEW(x, count * table.axis_count + 1));
    RGM_GO(RGM_NEW(y, count + 1));
    RGM_GO(RGM_NEW(found, table.axis_count + 1));
    table.axes = axes;
    table.x = x;
    table.y = y;
    if (!settle_keys(y, keys, count))
        RGM_GO(RGM_FAIL(RGM_ERR_DATA,
                        "importance of hyperparameters: %lld trials with numbers to compare, and "
                        "no two differ",
                        (long long)count));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < table.axis_count; j++)
            x[i * table.axis_count + j] = unit_coordinate(&axes[j], &values[i][axes[j].place]);
    if (table.axis_count > 0)
        RGM_GO(rgmi_forest_shares(found, &table, seed));
    for (int64_t j = 0; j < table.axis_count; j++)
        shares[axes[j].place] = found[j];
done:
    rgm_free(axes);
    rgm_free(x);
    rgm_free(y);
    rgm_free(found);
    return status;
}

/* ---- a common length ------------------------------------------------------------------------ */

#define SAME_LENGTH 1.03
#define NEARLY_ALL  0.9

static int longer_first(const void *one, const void *other)
{
    const rgm_validated *a = one, *b = other;

    if (a->length != b->length)
        return a->length > b->length ? -1 : 1;
    return a->trial < b->trial ? -1 : a->trial > b->trial;
}

/* Trials of a length: validations [from, to) of those that are sorted. */
typedef struct level {
    int64_t from, to, trials;
} level;

/* The level that begins at `from`; `seen` [trials] holds the last mark of a trial, by which it is
 * counted once a level. */
static level level_at(const rgm_validated *sorted, int64_t count, int64_t from, int64_t mark,
                      int64_t *seen)
{
    level l = {.from = from, .to = from};

    for (; l.to < count && sorted[l.to].length * SAME_LENGTH >= sorted[from].length; l.to++) {
        l.trials += seen[sorted[l.to].trial] != mark;
        seen[sorted[l.to].trial] = mark;
    }
    return l;
}

static level common_level(const rgm_validated *sorted, int64_t count, int64_t *seen)
{
    level best = {0};
    int64_t most = 0, mark = 0;

    for (level l = {0}; l.to < count;) {
        l = level_at(sorted, count, l.to, ++mark, seen);
        most = l.trials > most ? l.trials : most;
    }
    for (level l = {0}; l.to < count && best.trials == 0;) {
        l = level_at(sorted, count, l.to, ++mark, seen);
        if ((double)l.trials >= NEARLY_ALL * (double)most)
            best = l;
    }
    return best;
}

/* The longest of each trial: they are sorted. */
static void gather_level(const rgm_hyper_value **chosen, double *keys, const level *l,
                         const rgm_validated *sorted, const rgm_hyper_value *const *values,
                         int64_t *seen)
{
    int64_t n = 0;

    for (int64_t i = l->from; i < l->to; i++) {
        if (seen[sorted[i].trial] < 0)
            continue;
        seen[sorted[i].trial] = -1;
        chosen[n] = values[sorted[i].trial];
        keys[n++] = sorted[i].key;
    }
}

static rgm_status check_enough(const rgm_space *space, int64_t trials)
{
    int64_t enough = 2;

    for (int64_t i = 0; i < rgm_space_count(space); i++)
        enough += rgm_space_at(space, i)->kind != RGM_HYPER_CONST;
    if (trials >= enough)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA,
                    "importance of hyperparameters: %lld trials were validated at a common length, "
                    "of at least %lld",
                    (long long)trials, (long long)enough);
}

rgm_status rgm_space_importance_at_common_length(double *shares, rgm_common_length *common,
                                                 const rgm_space *space,
                                                 const rgm_hyper_value *const *values,
                                                 int64_t trials, const rgm_validated *validations,
                                                 int64_t count, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_validated *sorted = NULL;
    const rgm_hyper_value **chosen = NULL;
    double *keys = NULL;
    int64_t *seen = NULL, n = 0;
    level l;

    *common = (rgm_common_length){0};
    RGM_GO(RGM_NEW(sorted, count + 1));
    RGM_GO(RGM_NEW(seen, trials + 1));
    RGM_GO(RGM_NEW(chosen, trials + 1));
    RGM_GO(RGM_NEW(keys, trials + 1));
    for (int64_t i = 0; i < count; i++)
        if (validations[i].length > 0) /* what was validated untrained says nothing */
            sorted[n++] = validations[i];
    qsort(sorted, (size_t)n, sizeof *sorted, longer_first);
    l = common_level(sorted, n, seen);
    for (int64_t i = 0; i < trials; i++)
        common->of += seen[i] != 0;
    common->length = n > 0 ? sorted[l.from].length : 0.0;
    common->trials = l.trials;
    RGM_GO(check_enough(space, l.trials));
    gather_level(chosen, keys, &l, sorted, values, seen);
    RGM_GO(rgm_space_importance(shares, space, chosen, keys, l.trials, seed));
done:
    rgm_free(sorted);
    rgm_free(seen);
    rgm_free((void *)chosen);
    rgm_free(keys);
    return status;
}
