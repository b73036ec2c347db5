/*
 * Metrics of how often each class was right: F1 and its means, balanced accuracy, Matthews'
 * correlation. Their state is a row of counts for each class. With one 0/1 label the classes are 0
 * and 1; with several independent ones, each label is a class. Values are scikit-learn's.
 */
#include "metrics_internal.h"

/* Of a class: both predicted and labelled, predicted, labelled. */
enum { HITS, GIVEN, LABELLED, ROW };

static int64_t counts_size(const rgm_metric *metric)
{
    return ROW * (metric->outputs > 1 ? metric->outputs : 2);
}

static int64_t rows_of(const rgm_metric *metric)
{
    return counts_size(metric) / ROW;
}

static void count(double *state, int64_t label, int64_t given, double weight)
{
    state[ROW * label + LABELLED] += weight;
    state[ROW * given + GIVEN] += weight;
    if (label == given)
        state[ROW * label + HITS] += weight;
}

static void classes_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++)
        count(state, rgm_tensor_at_int(view.labels, i), rgmi_argmax(&view, i),
              rgmi_weight(&view, i));
}

static void binary_update(double *state, const rgm_metric *metric, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);

    (void)metric;
    for (int64_t i = 0; i < view.items; i++)
        for (int64_t u = 0; u < view.units; u++) {
            double weight = rgmi_unit_weight(&view, i, u);
            bool label = rgmi_is_one(&view, i, u), given = rgmi_prediction(&view, i, u) > 0;

            if (view.units == 1) {
                count(state, label, given, weight);
                continue;
            }
            state[ROW * u + HITS] += label && given ? weight : 0;
            state[ROW * u + GIVEN] += given ? weight : 0;
            state[ROW * u + LABELLED] += label ? weight : 0;
        }
}

/* ---- F1 -------------------------------------------------------------------------------------- */

static double f1_of(const double *row)
{
    return rgmi_ratio(2 * row[HITS], row[GIVEN] + row[LABELLED]);
}

static double pooled(const double *state, int64_t first, int64_t rows)
{
    double all[ROW] = {0};

    for (int64_t c = first; c < rows; c++)
        for (int k = 0; k < ROW; k++)
            all[k] += state[ROW * c + k];
    return f1_of(all);
}

static double f1_micro_result(const double *state, const rgm_metric *metric)
{
    return pooled(state, 0, rows_of(metric));
}

/* For the labels that are 1; with one label only the second row. */
static double f1_result(const double *state, const rgm_metric *metric)
{
    return pooled(state, metric->outputs > 1 ? 0 : 1, rows_of(metric));
}

/* A class that is neither predicted nor labelled does not count; of several 0/1 labels each
 * counts. */
static double f1_macro_result(const double *state, const rgm_metric *metric)
{
    double sum = 0, classes = 0;

    for (int64_t c = 0; c < rows_of(metric); c++) {
        const double *row = state + ROW * c;

        sum += f1_of(row);
        classes += metric->several || row[GIVEN] + row[LABELLED] > 0;
    }
    return rgmi_ratio(sum, classes);
}

static double f1_weighted_result(const double *state, const rgm_metric *metric)
{
    double sum = 0, labelled = 0;

    for (int64_t c = 0; c < rows_of(metric); c++) {
        sum += f1_of(state + ROW * c) * state[ROW * c + LABELLED];
        labelled += state[ROW * c + LABELLED];
    }
    return rgmi_ratio(sum, labelled);
}

/* ---- classes of any size alike --------------------------------------------------------------- */

/* The mean of the recalls of the classes that occur. */
static double balanced_accuracy_result(const double *state, const rgm_metric *metric)
{
    double sum = 0, classes = 0;

    for (int64_t c = 0; c < rows_of(metric); c++) {
        sum += rgmi_ratio(state[ROW * c + HITS], state[ROW * c + LABELLED]);
        classes += state[ROW * c + LABELLED] > 0;
    }
    return rgmi_ratio(sum, classes);
}

/* Gorodkin (2004), equation 8. */
static double matthews_result(const double *state, const rgm_metric *metric)
{
    double hits = 0, all = 0, both = 0, given = 0, labelled = 0, spread;

    for (int64_t c = 0; c < rows_of(metric); c++) {
        const double *row = state + ROW * c;

        hits += row[HITS];
        all += row[LABELLED];
        both += row[GIVEN] * row[LABELLED];
        given += row[GIVEN] * row[GIVEN];
        labelled += row[LABELLED] * row[LABELLED];
    }
    spread = (all * all - given) * (all * all - labelled);
    return spread > 0 ? (hits * all - both) / sqrt(spread) : 0;
}

#define COUNTS(id, results)                                                                        \
    RGMI_METRIC(id, #id, false, counts_size, classes_update, results);                             \
    RGMI_METRIC(binary_##id, #id, false, counts_size, binary_update, results)

COUNTS(f1_micro, f1_micro_result);
COUNTS(f1_macro, f1_macro_result);
COUNTS(f1_weighted, f1_weighted_result);
COUNTS(balanced_accuracy, balanced_accuracy_result);
COUNTS(matthews_correlation, matthews_result);
RGMI_METRIC(binary_f1, "f1", false, counts_size, binary_update, f1_result);

/* ---- by label and prediction ---------------------------------------------------------------- */

void rgm_confusion_update(int64_t *counts, int64_t classes, const rgm_metric_batch *batch)
{
    rgmi_batch_view view = rgmi_batch_open(batch);
    bool binary = classes == 2 && view.units == 1;

    if ((!binary && view.units != classes) || rgm_tensor_count(batch->labels) != view.items)
        return;
    for (int64_t i = 0; i < view.items; i++) {
        int64_t label =
            binary ? rgm_tensor_at(view.labels, i) > 0.5 : rgm_tensor_at_int(view.labels, i);
        int64_t given = binary ? rgmi_prediction(&view, i, 0) > 0 : rgmi_argmax(&view, i);

        if (label >= 0 && label < classes && rgmi_weight(&view, i) != 0)
            counts[label * classes + given]++;
    }
}
