/*
 * How good states are that were learned without labels, judged by the singular values of a batch:
 * the square roots of the eigenvalues of X'X, in double. The memory for finding them is part of the
 * metric's state, after the sums, so that nothing is allocated while a batch is counted.
 */
#include <math.h>
#include <string.h>

#include "metrics_internal.h"

#define NOT_ZERO                                                                                   \
    1e-6 /* of the largest singular value: float states are no nearer to 0 than that               \
          */

/* A batch and the memory to examine it. */
typedef struct look {
    rgmi_batch_view view;
    int64_t columns, stride, rows; /* take every stride-th item; rows: how many */
    double *gram;                  /* [columns, columns]                          */
    double *vectors;               /* of the same size; only with size_of_vectors */
    double *values, *row;          /* [columns]                                   */
    double *work;                  /* [3 columns]                                 */
} look;

enum { SUM, BATCHES, SUMS };

static int64_t size_of_values(const rgm_metric *metric)
{
    return SUMS + metric->outputs * (metric->outputs + 5);
}

static int64_t size_of_vectors(const rgm_metric *metric)
{
    return size_of_values(metric) + metric->outputs * metric->outputs;
}

static look open_look(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    int64_t d = metric->outputs, items = 0;
    look l = {.view = rgmi_batch_open(batch), .columns = d, .gram = state + SUMS};

    l.values = l.gram + d * d;
    l.row = l.values + d;
    l.work = l.row + d;
    l.vectors = l.work + 3 * d;
    for (int64_t i = 0; i < l.view.items; i++)
        items += rgmi_weight(&l.view, i) != 0;
    l.stride = (items + RGM_MOST_REPRESENTED_ROWS - 1) / RGM_MOST_REPRESENTED_ROWS;
    return l;
}

/* The next row to use, from item *at on; false: there is none. *seen: real items so far. */
static bool next_row(const look *l, int64_t *at, int64_t *seen)
{
    for (; *at < l->view.items; ++*at) {
        if (rgmi_weight(&l->view, *at) == 0 || (*seen)++ % l->stride != 0)
            continue;
        for (int64_t k = 0; k < l->columns; k++)
            l->row[k] = rgmi_prediction(&l->view, *at, k);
        ++*at;
        return true;
    }
    return false;
}

static double squared_length(const double *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sum;
}

/* X'X of the rows, or of their directions, where rows of zeros do not count. */
static void make_gram(look *l, bool directions)
{
    int64_t d = l->columns, at = 0, seen = 0;

    memset(l->gram, 0, (size_t)(d * d) * sizeof *l->gram);
    l->rows = 0;
    while (next_row(l, &at, &seen)) {
        double size = directions ? sqrt(squared_length(l->row, d)) : 1;

        if (size == 0)
            continue;
        l->rows++;
        for (int64_t k = 0; k < d; k++)
            l->row[k] /= size;
        for (int64_t p = 0; p < d; p++)
            for (int64_t q = 0; q <= p; q++)
                l->gram[p * d + q] += l->row[p] * l->row[q];
    }
    for (int64_t p = 0; p < d; p++)
        for (int64_t q = 0; q < p; q++)
            l->gram[q * d + p] = l->gram[p * d + q];
}

/* Eigenvalue k of those that X can have, largest first; one that is only rounding error is 0. */
static double eigenvalue(const look *l, int64_t k)
{
    double largest = l->values[l->columns - 1], value = l->values[l->columns - 1 - k];

    return value > NOT_ZERO * NOT_ZERO * largest ? value : 0;
}

static int64_t value_count(const look *l)
{
    return l->rows < l->columns ? l->rows : l->columns;
}

/* ---- the metrics of a batch ---------------------------------------------------------------- */

static double rankme(look *l)
{
    double sum = 0, entropy = 0;

    for (int64_t k = 0; k < value_count(l); k++)
        sum += sqrt(eigenvalue(l, k));
    for (int64_t k = 0; k < value_count(l); k++) {
        double p = sqrt(eigenvalue(l, k)) / sum + 1e-12;

        entropy -= p * log(p);
    }
    return exp(entropy);
}

static double numerical_rank(look *l)
{
    double sum = 0;

    for (int64_t k = 0; k < value_count(l); k++)
        sum += eigenvalue(l, k);
    return sum / eigenvalue(l, 0);
}

static double pseudo_condition_number(look *l)
{
    double least = eigenvalue(l, value_count(l) - 1);

    return least > 0 ? sqrt(eigenvalue(l, 0) / least) : 0;
}

/* |U_i|^2 of a row x of X: that of x V / s. */
static double leverage(const look *l, int64_t rank)
{
    int64_t d = l->columns;
    double sum = 0;

    for (int64_t k = 0; k < rank; k++) {
        const double *v = l->vectors + (d - 1 - k) * d;
        double along = 0;

        for (int64_t c = 0; c < d; c++)
            along += l->row[c] * v[c];
        sum += along * along / eigenvalue(l, k);
    }
    return sum;
}

static double coherence(look *l)
{
    int64_t rank = 0, at = 0, seen = 0;
    double most = 0;

    while (rank < value_count(l) && eigenvalue(l, rank) > 0)
        rank++;
    while (next_row(l, &at, &seen))
        most = fmax(most, leverage(l, rank));
    return most * (double)l->rows / (double)rank;
}

/* ---- batches ------------------------------------------------------------------------------- */

static void add_batch(double *state, const rgm_metric *metric, const rgm_metric_batch *batch,
                      double (*of)(look *l), bool with_vectors)
{
    look l = open_look(state, metric, batch);
    double *vectors = with_vectors ? l.vectors : NULL;

    if (l.stride == 0 || l.view.units != l.columns)
        return;
    make_gram(&l, false);
    state[BATCHES] += 1;
    if (rgm_symmetric_eigen(l.values, vectors, l.gram, l.work, l.columns) != RGM_OK)
        state[SUM] = NAN;
    else if (l.values[l.columns - 1] > 0)
        state[SUM] += of(&l);
}

/* The sum over pairs of squared cosines equals the sum of squares of X'X, for directions X. */
static void self_clustering_update(double *state, const rgm_metric *metric,
                                   const rgm_metric_batch *batch)
{
    look l = open_look(state, metric, batch);
    double n, expected;

    if (l.stride == 0 || l.view.units != l.columns)
        return;
    make_gram(&l, true);
    n = (double)l.rows;
    expected = n + n * (n - 1) / (double)l.columns;
    state[BATCHES] += 1;
    if (n * n - expected > 0)
        state[SUM] +=
            (squared_length(l.gram, l.columns * l.columns) - expected) / (n * n - expected);
    else /* a single direction, or none */
        state[SUM] += 1;
}

#define UPDATE(id, with_vectors)                                                                   \
    static void id##_update(double *state, const rgm_metric *metric,                               \
                            const rgm_metric_batch *batch)                                         \
    {                                                                                              \
        add_batch(state, metric, batch, id, with_vectors);                                         \
    }
UPDATE(rankme, false)
UPDATE(numerical_rank, false)
UPDATE(pseudo_condition_number, false)
UPDATE(coherence, true)

#define METRIC(id, smaller, size)                                                                  \
    const rgm_metric_type rgm_metric_##id = {.name = #id,                                          \
                                             .smaller_is_better = (smaller),                       \
                                             .state_size = size,                                   \
                                             .update = id##_update,                                \
                                             .result = rgmi_quotient,                              \
                                             .of_states = true}
METRIC(rankme, false, size_of_values);
METRIC(numerical_rank, false, size_of_values);
METRIC(pseudo_condition_number, true, size_of_values);
METRIC(coherence, true, size_of_vectors);
METRIC(self_clustering, true, size_of_values);
