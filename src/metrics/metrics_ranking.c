/*
 * Metrics of pairs that are links (label 1) or not (0), with one score each. Areas compare the
 * scores of a batch directly, without thresholds. A link is ranked among the candidates that follow
 * it, up to the next link.
 */
#include <math.h>
#include <stdlib.h>

#include "metrics_internal.h"

static bool is_link(const rgmi_batch_view *view, int64_t item)
{
    return rgm_tensor_at(view->labels, item) > 0.5;
}

/* NaN counts as the worst score: since nothing compares with NaN, it would otherwise rank first. */
static double score_of(const rgmi_batch_view *view, int64_t item)
{
    double score = rgmi_prediction(view, item, 0);

    return !isnan(score) ? score : is_link(view, item) ? -INFINITY : INFINITY;
}

/* ---- areas --------------------------------------------------------------------------------- */

/* The scores of one label, ascending; NULL without memory: then they are counted one by one. */
typedef struct scores {
    double *sorted;
    int64_t count;
} scores;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static scores scores_of(const rgmi_batch_view *view, bool links)
{
    scores s = {0};

    for (int64_t i = 0; i < view->items; i++)
        s.count += rgmi_weight(view, i) != 0 && is_link(view, i) == links;
    s.sorted = rgm_calloc(s.count > 0 ? s.count : 1, sizeof *s.sorted);
    if (s.sorted == NULL)
        return s;
    s.count = 0;
    for (int64_t i = 0; i < view->items; i++)
        if (rgmi_weight(view, i) != 0 && is_link(view, i) == links)
            s.sorted[s.count++] = score_of(view, i);
    qsort(s.sorted, (size_t)s.count, sizeof *s.sorted, by_size);
    return s;
}

/* How many are below `score`, or (`or_same`) not above it. */
static int64_t below(const scores *s, double score, bool or_same)
{
    int64_t low = 0, high = s->count;

    while (low < high) {
        int64_t middle = (low + high) / 2;

        if (s->sorted[middle] < score || (or_same && s->sorted[middle] == score))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Count the batch's scores of a label that are above a score, and those that equal it. */
static void count_above(int64_t *above, int64_t *same, const scores *s, const rgmi_batch_view *view,
                        bool links, double score)
{
    *above = *same = 0;
    if (s->sorted != NULL) {
        int64_t up_to = below(s, score, true);

        *above = s->count - up_to;
        *same = up_to - below(s, score, false);
        return;
    }
    for (int64_t i = 0; i < view->items; i++) {
        if (rgmi_weight(view, i) == 0 || is_link(view, i) != links)
            continue;
        *above += score_of(view, i) > score;
        *same += score_of(view, i) == score;
    }
}

/* state: the sum over links of `of_link`'s value of the counts, and of its largest possible
 * value. */
static void add_links(double *state, const rgm_metric_batch *batch,
                      double (*of_link)(const int64_t counts[4], int64_t others), bool pairs)
{
    rgmi_batch_view view = rgmi_batch_open(batch);
    scores of[2] = {scores_of(&view, false), scores_of(&view, true)};

    for (int64_t i = 0; i < view.items; i++) {
        int64_t counts[4]; /* others above, the same; links above, the same */

        if (rgmi_weight(&view, i) == 0 || !is_link(&view, i))
            continue;
        for (int links = 0; links < 2; links++)
            count_above(&counts[2 * links], &counts[2 * links + 1], &of[links], &view, links == 1,
                        score_of(&view, i));
        state[0] += of_link(counts, of[0].count);
        state[1] += pairs ? (double)of[0].count : 1;
    }
    rgm_free(of[0].sorted);
    rgm_free(of[1].sorted);
}

static double pairs_in_order(const int64_t counts[4], int64_t others)
{
    return (double)(others - counts[0] - counts[1]) + (double)counts[1] / 2;
}

static double precision_at(const int64_t counts[4], int64_t others)
{
    double links = (double)(counts[2] + counts[3]);

    (void)others;
    return links / (links + (double)(counts[0] + counts[1]));
}

static void auc_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    (void)metric;
    add_links(state, batch, pairs_in_order, true);
}

static void average_precision_update(double *state, const rgm_metric *metric,
                                     const rgm_metric_batch *batch)
{
    (void)metric;
    add_links(state, batch, precision_at, false);
}

/* ---- ranks --------------------------------------------------------------------------------- */

static void each_rank(double *state, const rgm_metric *metric, const rgm_metric_batch *batch,
                      void (*add)(double *state, const rgm_metric *metric, double rank))
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    for (int64_t i = 0; i < view.items; i++) {
        int64_t better = 0, same = 0, k;

        if (rgmi_weight(&view, i) == 0 || !is_link(&view, i))
            continue;
        for (k = i + 1; k < view.items && !is_link(&view, k); k++) {
            if (rgmi_weight(&view, k) == 0)
                continue;
            better += score_of(&view, k) > score_of(&view, i);
            same += score_of(&view, k) == score_of(&view, i);
        }
        add(state, metric, 1 + (double)better + (double)same / 2);
    }
}

static void add_reciprocal(double *state, const rgm_metric *metric, double rank)
{
    (void)metric;
    state[0] += 1 / rank;
    state[1] += 1;
}

static void add_hit(double *state, const rgm_metric *metric, double rank)
{
    state[0] += rank <= (double)metric->k;
    state[1] += 1;
}

static void mrr_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    each_rank(state, metric, batch, add_reciprocal);
}

static void hits_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    each_rank(state, metric, batch, add_hit);
}

static void ranks_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    each_rank(state, metric, batch, rgmi_keep_rank);
}

static int64_t ranks_size(const rgm_metric *metric)
{
    (void)metric;
    return 1;
}

static double how_many(const double *state, const rgm_metric *metric)
{
    (void)metric;
    return state[0];
}

const rgm_metric_type rgm_metric_ranks_of_links = {.name = "ranks_of_links",
                                                   .state_size = ranks_size,
                                                   .update = ranks_update,
                                                   .result = how_many,
                                                   .keeps_scores = true};
RGMI_METRIC(auc, "auc", false, rgmi_two, auc_update, rgmi_quotient);
RGMI_METRIC(average_precision, "average_precision", false, rgmi_two, average_precision_update,
            rgmi_quotient);
RGMI_METRIC(mrr, "mrr", false, rgmi_two, mrr_update, rgmi_quotient);
RGMI_METRIC(hits, "hits", false, rgmi_two, hits_update, rgmi_quotient);
