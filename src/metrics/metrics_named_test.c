/*
 * Metrics that files name, against scikit-learn 1.9.1: f1_score, balanced_accuracy_score,
 * matthews_corrcoef, top_k_accuracy_score, brier_score_loss (for classes scale_by_half=False), with
 * and without sample_weight; the calibration error against numpy over the same bins.
 */
#include <check.h>

#include <regimen/train_task.h>

enum { ITEMS = 8, CLASSES = 4, UNITS = 3 };
static const double logits[ITEMS * CLASSES] = {2, 1,  0, -1, 0, 0,  3, 1, 1, 2,  -1,
                                               0, -1, 0, 1,  2, 3,  2, 1, 0, 0,  -2,
                                               1, -1, 1, 0,  2, -1, 0, 1, 1, 0.5};
static const int64_t classes[ITEMS] = {0, 2, 0, 3, 1, 2, 1, 1};
static const double one[ITEMS] = {2, -1, 0.5, -0.25, 3, -2, 1, -0.5};
static const int64_t ones[ITEMS] = {1, 0, 0, 1, 1, 0, 1, 1};
static const int64_t several[ITEMS * UNITS] = {1, 0, 1, 0, 0, 1, 1, 1, 0, 0, 1, 0,
                                               1, 1, 1, 0, 0, 1, 1, 1, 0, 0, 1, 1};
static const double weights[ITEMS] = {1, 2, 1, 0.5, 1, 1, 3, 1};

/* Two halves of the items, one after the other. */
static double measure(const rgm_metric *type, int64_t units, const double *z, const int64_t *y,
                      int64_t labels, const double *w, int64_t weight_units)
{
    rgm_metric_scores scores = {0};
    rgm_metric with = *type, *metric = &with;
    double *state, result;

    with.scores = &scores;
    CHECK_OK(RGM_NEW(state, metric->type->state_size(metric)));
    for (int64_t half = 0; half < 2; half++) {
        int64_t n = ITEMS / 2, at = half * n;
        rgm_metric_batch batch = {.weights = NULL};
        rgm_tensor *predictions, *label, *weight = NULL;

        CHECK_OK(rgm_tensor_create_from(&predictions, RGM_F64, 2, (int64_t[]){n, units},
                                        z + at * units));
        CHECK_OK(rgm_tensor_create_from(&label, RGM_I64, labels > 1 ? 2 : 1, (int64_t[]){n, labels},
                                        y + at * labels));
        if (w != NULL)
            CHECK_OK(rgm_tensor_create_from(&weight, RGM_F64, weight_units > 1 ? 2 : 1,
                                            (int64_t[]){n, weight_units}, w + at * weight_units));
        batch = (rgm_metric_batch){.predictions = predictions, .labels = label, .weights = weight};
        metric->type->update(state, metric, &batch);
        rgm_tensor_release(predictions);
        rgm_tensor_release(label);
        rgm_tensor_release(weight);
    }
    if (metric->type->keeps_scores)
        CHECK_OK(rgm_metric_scores_ready(&scores, (int64_t)state[0]));
    result = metric->type->result(state, metric);
    rgm_metric_scores_clear(&scores);
    rgm_free(state);
    return result;
}

static rgm_metric named(const char *name, int64_t outputs, rgm_metrics_of of)
{
    rgm_head head = {.metric_count = 0};

    CHECK_OK(rgm_head_add_named_metrics(&head, &(rgm_texts){&name, 1}, outputs, of));
    CHECK_INT(1, head.metric_count);
    CHECK_TEXT(name, head.metrics[0].name);
    return head.metrics[0];
}

static void of_one_class_of_several(void **state)
{
    static const struct {
        const char *name;
        double plain, weighted;
    } cases[] = {{"f1_micro", 0.625, 0.5238095238095238},
                 {"f1_macro", 0.675, 0.6130952380952381},
                 {"f1_weighted", 0.6000000000000001, 0.46938775510204084},
                 {"balanced_accuracy", 0.7083333333333333, 0.675},
                 {"matthews_correlation", 0.5, 0.36991501890585793},
                 {"top_2", 0.875, 0.7142857142857143},
                 {"calibration_error_5", 0.2146885562804798, 0.3212956046240138},
                 {"brier_score", 0.56910568202391, 0.6779685784926626}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_metric metric = named(cases[i].name, CLASSES, RGM_METRICS_OF_CLASSES);

        CHECK_CLOSE(measure(&metric, CLASSES, logits, classes, 1, NULL, 1), cases[i].plain, 1e-12,
                    0);
        CHECK_CLOSE(measure(&metric, CLASSES, logits, classes, 1, weights, 1), cases[i].weighted,
                    1e-12, 0);
    }
}

static void logits_that_are_no_numbers_are_in_no_top(void **state)
{
    double nothing[ITEMS * CLASSES];
    rgm_metric metric = named("top_3", CLASSES, false);

    (void)state;
    for (int i = 0; i < ITEMS * CLASSES; i++)
        nothing[i] = NAN;
    CHECK_CLOSE(measure(&metric, CLASSES, nothing, classes, 1, NULL, 1), 0, 0, 0);
}

static void of_one_label(void **state)
{
    static const struct {
        const char *name;
        double plain, weighted;
    } cases[] = {{"f1", 0.6666666666666666, 0.8},
                 {"f1_micro", 0.625, 0.7619047619047619},
                 {"f1_macro", 0.6190476190476191, 0.7529411764705882},
                 {"f1_weighted", 0.6309523809523809, 0.7641456582633053},
                 {"balanced_accuracy", 0.6333333333333333, 0.7596153846153846},
                 {"matthews_correlation", 0.2581988897471611, 0.5095246653650681},
                 {"calibration_error_5", 0.19438050472141488, 0.07960584657473295},
                 {"brier_score", 0.15828506488620292, 0.12621407375248217}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_metric metric = named(cases[i].name, 1, RGM_METRICS_OF_LABELS);

        CHECK_CLOSE(measure(&metric, 1, one, ones, 1, NULL, 1), cases[i].plain, 1e-12, 0);
        CHECK_CLOSE(measure(&metric, 1, one, ones, 1, weights, 1), cases[i].weighted, 1e-12, 0);
    }
}

/* The first three columns of the logits. */
static void take_columns(double z[ITEMS * UNITS])
{
    for (int i = 0; i < ITEMS; i++)
        for (int u = 0; u < UNITS; u++)
            z[UNITS * i + u] = logits[CLASSES * i + u];
}

static void of_several_labels(void **state)
{
    static const struct {
        const char *name;
        double plain, weighted;
    } cases[] = {{"f1", 0.7857142857142857, 0.7567567567567568},
                 {"f1_micro", 0.7857142857142857, 0.7567567567567568},
                 {"f1_macro", 0.7979797979797979, 0.7536945812807883},
                 {"f1_weighted", 0.7835497835497834, 0.7487684729064039}};
    double z[ITEMS * UNITS];

    (void)state;
    take_columns(z);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_metric metric = named(cases[i].name, UNITS, RGM_METRICS_OF_LABELS);

        CHECK_CLOSE(measure(&metric, UNITS, z, several, UNITS, NULL, 1), cases[i].plain, 1e-12, 0);
        CHECK_CLOSE(measure(&metric, UNITS, z, several, UNITS, weights, 1), cases[i].weighted,
                    1e-12, 0);
    }
}

/* A label of weight 0 may have any value; the item's other labels count. */
static void labels_that_weigh_nothing_do_not_count(void **state)
{
    static const char *const names[] = {
        "f1",          "f1_micro",      "f1_macro",     "f1_weighted",       "calibration_error",
        "brier_score", "auc_roc_macro", "auc_pr_macro", "auc_roc_macro_200", "auc_pr_50"};
    double z[ITEMS * UNITS], w[ITEMS * UNITS];
    int64_t other[ITEMS * UNITS];

    (void)state;
    take_columns(z);
    for (int k = 0; k < ITEMS * UNITS; k++) {
        w[k] = k % 5 != 2;
        other[k] = w[k] > 0 ? several[k] : 1 - several[k];
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rgm_metric metric = named(names[i], UNITS, RGM_METRICS_OF_LABELS);
        double first = measure(&metric, UNITS, z, several, UNITS, w, UNITS);

        CHECK_CLOSE(first, measure(&metric, UNITS, z, other, UNITS, w, UNITS), 0, 0);
        CHECK(fabs(first - measure(&metric, UNITS, z, other, UNITS, NULL, 1)) > 1e-6);
    }
}

/* The mean of roc_auc_score over the columns; a column with only one kind of label is left out. */
static void areas_are_means_over_labels(void **state)
{
    rgm_metric metric = named("auc_roc_macro", UNITS, RGM_METRICS_OF_LABELS);
    double z[ITEMS * UNITS];
    int64_t constant[ITEMS * UNITS];

    (void)state;
    take_columns(z);
    CHECK_CLOSE(measure(&metric, UNITS, z, several, UNITS, NULL, 1), 0.7777777777777777, 1e-9, 0);
    for (int k = 0; k < ITEMS * UNITS; k++)
        constant[k] = k % UNITS == 0 ? 1 : several[k];
    CHECK_CLOSE(measure(&metric, UNITS, z, constant, UNITS, NULL, 1), 0.6666666666666667, 1e-9, 0);
}

static void refuse(const char *name, int64_t outputs, rgm_metrics_of of, const char *message)
{
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_named_metrics_check("task.metrics", &(rgm_texts){&name, 1}, outputs, of));
    CHECK_MESSAGE(message);
}

static void names_that_there_are_not_are_refused(void **state)
{
    static const char *const twice[] = {"f1_micro", "f1_micro"};

    (void)state;
    refuse("f1_marco", 4, RGM_METRICS_OF_CLASSES,
           "task.metrics: 'f1_marco' is no metric of classes; did you mean "
           "'f1_macro'? There are f1_micro, f1_macro");
    refuse("f1", 4, RGM_METRICS_OF_CLASSES, "is no metric of classes");
    refuse("top_3", 1, RGM_METRICS_OF_LABELS, "is no metric of 0/1 labels");
    refuse("top", 4, RGM_METRICS_OF_CLASSES, "is no metric of classes");
    refuse("top_x", 4, RGM_METRICS_OF_CLASSES, "behind top_ stands a number from 1");
    refuse("top_0", 4, RGM_METRICS_OF_CLASSES, "behind top_ stands a number from 1");
    refuse("top_4", 4, RGM_METRICS_OF_CLASSES, "'top_4' is always 1: there are 4 classes");
    refuse("calibration_error_0", 4, RGM_METRICS_OF_CLASSES,
           "behind calibration_error_ stands a number");
    refuse("matthews_correlation", 2, RGM_METRICS_OF_LABELS,
           "is of one 0/1 label, but task.units is 2");
    refuse("accuracy", 8, RGM_METRICS_OF_STATES, "is no metric of states. There are rankme, num");
    refuse("rank_me", 8, RGM_METRICS_OF_STATES, "did you mean 'rankme'?");
    refuse("rankme", 1025, RGM_METRICS_OF_STATES, "of states with 1025 columns, 1024 are the most");
    refuse(
        "auc_roc", 1, RGM_METRICS_OF_LABELS,
        "'auc_roc' is no metric of 0/1 labels without a number: auc_roc_<k> has k thresholds; the "
        "exact area needs no name");
    refuse("top", 1, RGM_METRICS_OF_CLASSES,
           "'top' is no metric of classes without a number: top_<k>");
    refuse("auc_roc_1", 1, RGM_METRICS_OF_LABELS, "'auc_roc_1': an area has two thresholds");
    refuse("auc_pr_macro_x", 2, RGM_METRICS_OF_LABELS, "behind auc_pr_macro_ stands a number");
    refuse("auc_roc_200", 4, RGM_METRICS_OF_CLASSES, "is no metric of classes");
    refuse("auc_roc_macro_200", 1, RGM_METRICS_OF_LABELS,
           "is of several 0/1 labels, but task.units is 1");
    refuse("auc_roc_macro", 1, RGM_METRICS_OF_LABELS,
           "is of several 0/1 labels, but task.units is 1");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_named_metrics_check("task.metrics", &(rgm_texts){twice, 2}, 4,
                                                         RGM_METRICS_OF_CLASSES));
    CHECK_MESSAGE("'f1_micro' stands twice");
}

static void nothing_seen_is_zero(void **state)
{
    static const char *const names[] = {"f1_micro",          "f1_macro",   "f1_weighted",
                                        "balanced_accuracy", "top_2",      "matthews_correlation",
                                        "calibration_error", "brier_score"};
    double none[3 * 1000] = {0};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rgm_metric metric = named(names[i], CLASSES, RGM_METRICS_OF_CLASSES);

        CHECK_CLOSE(metric.type->result(none, &metric), 0, 0, 0);
    }
}

/* A NaN probability must not end up in the bin of its conversion to an integer. */
static void a_calibration_of_nan_is_none(void **state)
{
    double z[ITEMS * 4] = {0}, w[ITEMS] = {1, 1, 1, 1, 1, 0, 1, 1};
    const int64_t y[ITEMS] = {0};

    (void)state;
    for (int binary = 0; binary < 2; binary++) {
        int64_t units = binary ? 1 : 4;
        rgm_metric metric = named("calibration_error", units,
                                  binary ? RGM_METRICS_OF_LABELS : RGM_METRICS_OF_CLASSES);

        z[5 * units] = NAN; /* it weighs nothing */
        CHECK(isfinite(measure(&metric, units, z, y, 1, w, 1)));
        CHECK(isnan(measure(&metric, units, z, y, 1, NULL, 1)));
        z[5 * units] = 0;
    }
}

TESTS(cmocka_unit_test(of_one_class_of_several), cmocka_unit_test(of_one_label),
      cmocka_unit_test(logits_that_are_no_numbers_are_in_no_top),
      cmocka_unit_test(of_several_labels), cmocka_unit_test(labels_that_weigh_nothing_do_not_count),
      cmocka_unit_test(areas_are_means_over_labels),
      cmocka_unit_test(names_that_there_are_not_are_refused),
      cmocka_unit_test(nothing_seen_is_zero), cmocka_unit_test(a_calibration_of_nan_is_none))
