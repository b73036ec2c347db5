/*
 * Curves of 0/1 labels, exact: every distinct score is a threshold, as in scikit-learn. No sum of
 * batches has that, so the score of each item is kept until the end of the pass. A metric's state
 * is how many are kept; the scores themselves are in a list that the owner of the state gives it.
 */
#include <stdlib.h>
#include <string.h>

#include "metrics_internal.h"

/* A score with its item's weight, negative where the label is 0; 0: the item does not count. */
typedef struct wide_score {
    double score, weight;
} wide_score;

typedef struct narrow_score {
    float score, weight;
} narrow_score;

static size_t entry_size(const rgm_metric_scores *s)
{
    return s->wide ? sizeof(wide_score) : sizeof(narrow_score);
}

static wide_score entry(const rgm_metric_scores *s, int64_t i)
{
    const narrow_score *narrow = s->entries;

    if (s->wide)
        return ((const wide_score *)s->entries)[i];
    return (wide_score){(double)narrow[i].score, (double)narrow[i].weight};
}

static void set_entry(rgm_metric_scores *s, int64_t i, wide_score e)
{
    if (s->wide)
        ((wide_score *)s->entries)[i] = e;
    else
        ((narrow_score *)s->entries)[i] = (narrow_score){(float)e.score, (float)e.weight};
}

/* ---- the list ------------------------------------------------------------------------------ */

void rgm_metric_scores_clear(rgm_metric_scores *scores)
{
    rgm_free(scores->entries);
    rgm_free(scores->sorted);
    *scores = (rgm_metric_scores){0};
}

/* Make room for `count` entries, and make them wide if that is asked for. */
static rgm_status reserve(rgm_metric_scores *s, int64_t count, bool wide)
{
    rgm_metric_scores grown = {.wide = wide || (s->wide && s->count > 0)};

    if (count <= s->capacity && grown.wide == s->wide)
        return RGM_OK;
    grown.capacity = count > s->capacity ? count + count / 2 : s->capacity;
    grown.entries = rgm_calloc(grown.capacity, entry_size(&grown));
    if (grown.entries == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the scores of %lld items",
                        (long long)grown.capacity);
    for (int64_t i = 0; i < s->count; i++)
        set_entry(&grown, i, entry(s, i));
    rgm_free(s->entries);
    s->entries = grown.entries;
    s->capacity = grown.capacity;
    s->wide = grown.wide;
    return RGM_OK;
}

rgm_status rgm_metric_scores_merge(rgm_metric_scores *scores, int64_t count,
                                   const rgm_metric_scores *other, int64_t other_count)
{
    scores->count = count;
    RGM_TRY(reserve(scores, count + other_count, other->wide));
    for (int64_t i = 0; i < other_count; i++)
        set_entry(scores, count + i, entry(other, i));
    scores->count = count + other_count;
    return RGM_OK;
}

rgm_status rgm_metric_scores_save(rgm_text *out, const rgm_metric_scores *scores, int64_t first,
                                  int64_t count)
{
    int64_t wide = scores->wide;

    RGM_TRY(rgm_text_add(out, (const char *)&wide, (int64_t)sizeof wide));
    if (count == 0)
        return RGM_OK;
    return rgm_text_add(out, (const char *)scores->entries + first * (int64_t)entry_size(scores),
                        count * (int64_t)entry_size(scores));
}

rgm_status rgm_metric_scores_restore(rgm_metric_scores *scores, double count, rgm_str *bytes)
{
    rgm_metric_scores read = {0};
    int64_t wide;

    if (bytes->size < (int64_t)sizeof wide)
        return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint's scores are missing");
    memcpy(&wide, bytes->data, sizeof wide);
    read.wide = wide != 0;
    bytes->data += sizeof wide;
    bytes->size -= (int64_t)sizeof wide;
    if (!(count >= 0 && count <= (double)(bytes->size / (int64_t)entry_size(&read))) ||
        floor(count) < count)
        return RGM_FAIL(RGM_ERR_FORMAT, "the checkpoint is damaged: it has no %g scores", count);
    scores->count = 0;
    RGM_TRY(reserve(scores, (int64_t)count, read.wide));
    scores->wide = read.wide && count > 0;
    scores->count = (int64_t)count;
    if (count > 0)
        memcpy(scores->entries, bytes->data, (size_t)count * entry_size(&read));
    bytes->data += (size_t)count * entry_size(&read);
    bytes->size -= (int64_t)((size_t)count * entry_size(&read));
    return RGM_OK;
}

rgm_status rgm_metric_scores_ready(rgm_metric_scores *scores, int64_t count)
{
    if (scores->failed) {
        scores->failed = false;
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the scores that a curve is made of");
    }
    rgm_free(scores->sorted);
    scores->sorted = NULL;
    if (count == 0)
        return RGM_OK;
    scores->sorted = rgm_calloc(count, sizeof(wide_score));
    return scores->sorted != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_NOMEM, "out of memory to sort %lld scores", (long long)count);
}

/* ---- a batch ------------------------------------------------------------------------------- */

static int64_t one(const rgm_metric *metric)
{
    (void)metric;
    return 1;
}

static bool is_wide(const rgm_metric_batch *batch)
{
    return rgm_tensor_dtype(batch->predictions) == RGM_F64 ||
           (batch->weights != NULL && rgm_tensor_dtype(batch->weights) == RGM_F64);
}

/* Metrics of the same predictions have one list, which the first of them fills. */
static void update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgm_metric_scores *s = metric->scores;
    rgmi_batch_view view = rgmi_batch_open(batch);

    if (s == NULL)
        return;
    if (metric->reads_scores) {
        state[0] = (double)s->count;
        return;
    }
    s->count = (int64_t)state[0]; /* fewer than before: a step was taken back */
    if (reserve(s, s->count + view.items * view.units, is_wide(batch)) != RGM_OK) {
        s->failed = true; /* rgm_metric_scores_ready() reports it */
        rgm_error_reset();
        return;
    }
    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = fmax(rgmi_unit_weight(&view, i, u), 0);

            set_entry(s, s->count++,
                      (wide_score){rgmi_prediction(&view, i, u),
                                   rgmi_is_one(&view, i, u) ? weight : -weight});
        }
    state[0] = (double)s->count;
}

/* ---- curves -------------------------------------------------------------------------------- */

/* From the highest score down, NaN last; the weights make the order of equal scores definite, so
 * that sums over them do not depend on the order of batches. */
static int downward(const void *a, const void *b)
{
    const wide_score *x = a, *y = b;

    if (isnan(x->score) != isnan(y->score))
        return isnan(x->score) ? 1 : -1;
    if (x->score < y->score || x->score > y->score)
        return x->score > y->score ? -1 : 1;
    return (x->weight < y->weight) - (x->weight > y->weight);
}

/* Sums along a curve, from the highest threshold down. */
typedef struct curve {
    double positives, negatives; /* of all items */
    double area, precision, recall;
} curve;

/* Sort the entries first, first + stride, ... that count; returns how many. */
static int64_t sort(wide_score *out, const rgm_metric_scores *s, int64_t count, int64_t first,
                    int64_t stride)
{
    int64_t n = 0;

    for (int64_t i = first; i < count; i += stride) {
        wide_score e = entry(s, i);

        if (e.weight > 0 || e.weight < 0)
            out[n++] = e;
    }
    if (n > 1)
        qsort(out, (size_t)n, sizeof *out, downward);
    return n;
}

/* Walk down: area of ROC, mean precision over the labels that are 1, and the largest recall of a
 * threshold with at least `least` precision; none of them divided by totals yet. */
static curve walk(const wide_score *sorted, int64_t n, double least)
{
    curve c = {0};

    for (int64_t i = 0, end; i < n; i = end) {
        double tp = 0, fp = 0, precision;

        for (end = i; end < n && !(sorted[end].score < sorted[i].score) &&
                      isnan(sorted[end].score) == isnan(sorted[i].score);
             end++) {
            tp += fmax(sorted[end].weight, 0);
            fp += fmax(-sorted[end].weight, 0);
        }
        c.area += fp * (c.positives + tp / 2);
        c.positives += tp;
        c.negatives += fp;
        precision = c.positives / (c.positives + c.negatives);
        c.precision += tp * precision;
        if (precision >= least)
            c.recall = c.positives;
    }
    if (n > 0 && isnan(sorted[n - 1].score)) /* no order has a place for it */
        c.area = c.precision = c.recall = NAN;
    return c;
}

/* The curve of entries first, first + stride, ... */
static curve curve_of(const double *state, const rgm_metric *metric, int64_t first, int64_t stride)
{
    const rgm_metric_scores *s = metric->scores;

    if (s == NULL || s->sorted == NULL || !(state[0] >= 1 && state[0] <= (double)s->count))
        return (curve){0};
    return walk(s->sorted, sort(s->sorted, s, (int64_t)state[0], first, stride), metric->precision);
}

static bool is_empty(const curve *c)
{
    return c->positives + c->negatives <= 0;
}

/* An area, or a rate of labels that are 1, which there is none of without such labels. */
static double of_curve(double sum, double total, const curve *c)
{
    if (is_empty(c))
        return 0;
    return total > 0 ? sum / total : NAN;
}

static double roc(const curve *c)
{
    return of_curve(c->area, c->positives * c->negatives, c);
}

static double precision(const curve *c)
{
    return of_curve(c->precision, c->positives, c);
}

static double auc_roc_result(const double *state, const rgm_metric *metric)
{
    curve c = curve_of(state, metric, 0, 1);

    return roc(&c);
}

static double auc_pr_result(const double *state, const rgm_metric *metric)
{
    curve c = curve_of(state, metric, 0, 1);

    return precision(&c);
}

static double recall_at_precision_result(const double *state, const rgm_metric *metric)
{
    curve c = curve_of(state, metric, 0, 1);

    return of_curve(c.recall, c.positives, &c);
}

/* The mean over the units that have labels of both kinds, as in OGB. */
static double mean_over_units(const double *state, const rgm_metric *metric,
                              double (*area)(const curve *c))
{
    double sum = 0, units = 0;
    bool empty = true;

    for (int64_t u = 0; u < metric->outputs; u++) {
        curve c = curve_of(state, metric, u, metric->outputs);

        empty = empty && is_empty(&c);
        if (c.positives > 0 && c.negatives > 0) {
            sum += area(&c);
            units++;
        }
    }
    if (empty)
        return 0;
    return units > 0 ? sum / units : NAN;
}

static double auc_roc_macro_result(const double *state, const rgm_metric *metric)
{
    return mean_over_units(state, metric, roc);
}

static double auc_pr_macro_result(const double *state, const rgm_metric *metric)
{
    return mean_over_units(state, metric, precision);
}

/* ---- points of a curve --------------------------------------------------------------------- */

/* Whether a point opens another piece of the ROC curve than the last one did. */
static bool opens_piece(int64_t *last, double false_positives, double true_positives)
{
    int64_t piece = (int64_t)((false_positives + true_positives) / 2 * (RGM_MOST_CURVE_POINTS - 2));
    bool opens = piece != *last;

    *last = piece;
    return opens;
}

/* Every threshold where there is room for all, else the first of each piece, and the last. */
static void put_points(rgm_score_curve *out, const wide_score *sorted, int64_t n, bool all)
{
    double positives = 0, negatives = 0;
    int64_t piece = 0;

    out->points[out->point_count++] = (rgm_score_point){.threshold = INFINITY, .precision = 1};
    for (int64_t i = 0, end; i < n; i = end) {
        rgm_score_point point = {.threshold = sorted[i].score};

        for (end = i; end < n && !(sorted[end].score < sorted[i].score); end++) {
            positives += fmax(sorted[end].weight, 0);
            negatives += fmax(-sorted[end].weight, 0);
        }
        point.false_positives = negatives / out->negatives;
        point.true_positives = positives / out->positives;
        point.precision = positives / (positives + negatives);
        if (all || end == n || opens_piece(&piece, point.false_positives, point.true_positives))
            out->points[out->point_count++] = point;
    }
}

static int64_t count_distinct(const wide_score *sorted, int64_t n)
{
    int64_t count = 0;

    for (int64_t i = 0; i < n; i++)
        count += i == 0 || sorted[i].score < sorted[i - 1].score;
    return count;
}

rgm_status rgm_score_curve_make(rgm_score_curve *out, const rgm_metric_scores *scores,
                                int64_t first, int64_t stride)
{
    wide_score *sorted = NULL;
    int64_t n;
    curve c;

    memset(out, 0, sizeof *out);
    RGM_TRY(RGM_NEW(sorted, scores->count / stride + 1));
    n = sort(sorted, scores, scores->count, first, stride);
    c = walk(sorted, n, 0);
    out->positives = c.positives;
    out->negatives = c.negatives;
    out->roc_area = is_empty(&c) ? NAN : roc(&c);
    out->average_precision = is_empty(&c) ? NAN : precision(&c);
    if (c.positives > 0 && c.negatives > 0 && !isnan(c.area))
        put_points(out, sorted, n, count_distinct(sorted, n) < RGM_MOST_CURVE_POINTS);
    rgm_free(sorted);
    return RGM_OK;
}

static int64_t whole_rank(double rank)
{
    return (int64_t)ceil(rank); /* the first k that it is a hit for */
}

rgm_status rgm_hits_curve_make(rgm_hits_curve *out, const rgm_metric_scores *ranks)
{
    wide_score *sorted = NULL;
    int64_t n, seen = 0, most;

    memset(out, 0, sizeof *out);
    RGM_TRY(RGM_NEW(sorted, ranks->count + 1));
    n = sort(sorted, ranks, ranks->count, 0, 1); /* the worst first */
    for (int64_t i = 0; i < n; i++)
        out->mean_reciprocal_rank += 1 / sorted[i].score / (double)n;
    out->links = (double)n;
    most = n > 0 ? whole_rank(sorted[0].score) : 0;
    for (int64_t k = 1; k <= most; k = out->k[out->point_count - 1] + 1) {
        double room = RGM_MOST_CURVE_POINTS - 1 - (double)out->point_count;
        double factor = room > 0 ? pow((double)most / (double)k, 1 / room) : 1;
        int64_t at = (int64_t)((double)k * factor); /* of what is left, in even steps of its log */

        at = at < k ? k : at;
        at = at > most || room <= 0 ? most : at;
        while (seen < n && whole_rank(sorted[n - 1 - seen].score) <= at)
            seen++;
        out->k[out->point_count] = at;
        out->share[out->point_count++] = (double)seen / (double)n;
    }
    rgm_free(sorted);
    return RGM_OK;
}

/* ---- scores that only curves are made of --------------------------------------------------- */

/* Room for `more`, up to one above what curves are made of: that there is too much is known then.
 * 0: there is no room. */
static bool has_room(double *state, const rgm_metric *metric, int64_t more, bool wide)
{
    rgm_metric_scores *s = metric->scores;

    if (s == NULL)
        return false;
    s->count = (int64_t)state[0];
    if (s->count > RGM_MOST_CURVE_SCORES)
        return false;
    if (reserve(s, s->count + more, wide) == RGM_OK)
        return true;
    s->failed = true;
    rgm_error_reset();
    return false;
}

static void add_score(double *state, rgm_metric_scores *s, double score, double weight)
{
    set_entry(s, s->count++, (wide_score){score, weight});
    state[0] = (double)s->count;
}

static void scores_of_labels_update(double *state, const rgm_metric *metric,
                                    const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    if (metric->reads_scores) {
        state[0] = (double)metric->scores->count;
        return;
    }
    if (rgm_tensor_count(batch->labels) != view.items * view.units ||
        !has_room(state, metric, view.items * view.units, is_wide(batch)))
        return;
    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = fmax(rgmi_unit_weight(&view, i, u), 0);

            add_score(state, metric->scores, rgmi_prediction(&view, i, u),
                      rgmi_is_one(&view, i, u) ? weight : -weight);
        }
}

/* Probabilities, since logits of several items have no common zero. */
static void scores_of_classes_update(double *state, const rgm_metric *metric,
                                     const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    if (view.units != metric->outputs || rgm_tensor_count(batch->labels) != view.items ||
        !has_room(state, metric, view.items * view.units, is_wide(batch)))
        return;
    for (int64_t i = 0; i < view.items; i++) {
        double weight = rgmi_weight(&view, i), sum = 0;
        double largest = rgmi_prediction(&view, i, rgmi_argmax(&view, i));
        int64_t label = rgm_tensor_at_int(view.labels, i);

        if (!(weight > 0) || label < 0 || label >= view.units)
            continue;
        for (int64_t c = 0; c < view.units; c++)
            sum += exp(rgmi_prediction(&view, i, c) - largest);
        for (int64_t c = 0; c < view.units; c++)
            add_score(state, metric->scores, exp(rgmi_prediction(&view, i, c) - largest) / sum,
                      c == label ? weight : -weight);
    }
}

static double how_many(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[0];
}

#define KEPT(id, updates)                                                                          \
    const rgm_metric_type rgm_metric_##id = {.name = #id,                                          \
                                             .state_size = one,                                    \
                                             .update = (updates),                                  \
                                             .result = how_many,                                   \
                                             .keeps_scores = true}

KEPT(scores_of_labels, scores_of_labels_update);
KEPT(scores_of_classes, scores_of_classes_update);

void rgmi_keep_rank(double *state, const rgm_metric *metric, double rank)
{
    if (has_room(state, metric, 1, false))
        add_score(state, metric->scores, rank, 1);
}

/* ---- the rows ------------------------------------------------------------------------------ */

#define CURVE(id, results)                                                                         \
    const rgm_metric_type rgm_metric_##id = {.name = #id,                                          \
                                             .state_size = one,                                    \
                                             .update = update,                                     \
                                             .result = (results),                                  \
                                             .keeps_scores = true}

CURVE(auc_roc, auc_roc_result);
CURVE(auc_pr, auc_pr_result);
CURVE(auc_roc_macro, auc_roc_macro_result);
CURVE(auc_pr_macro, auc_pr_macro_result);
CURVE(recall_at_precision, recall_at_precision_result);
