/*
 * Areas under curves: the exact ones against scikit-learn 1.9.1 (roc_auc_score,
 * average_precision_score, precision_recall_curve, with and without sample_weight) and against
 * counted pairs, the binned ones against plain loops over thresholds.
 */
#include <check.h>

#include <math.h>

#include <regimen/train_task.h>

enum { ITEMS = 10 };
static const double scores_of[ITEMS] = {2, -1, 0.5, -0.25, 2, -2, 0.5, -0.5, 0.5, 3};
static const int64_t labels_of[ITEMS] = {1, 0, 0, 1, 1, 0, 1, 1, 0, 0};
static const double weights_of[ITEMS] = {1, 2, 1, 0.5, 1, 1, 3, 1, 2, 0.25};

/* Items of one pass. */
typedef struct items {
    rgm_dtype dtype;
    int64_t count, units;
    const double *z, *w; /* w: [count], or NULL */
    const int64_t *y;
} items;

static rgm_tensor *tensor(rgm_dtype dtype, const double *from, int64_t count, int64_t units)
{
    rgm_tensor *made;

    CHECK_OK(rgm_tensor_create(&made, dtype, units > 0 ? 2 : 1, (int64_t[]){count, units}));
    for (int64_t i = 0; i < rgm_tensor_count(made); i++)
        if (dtype == RGM_F32)
            rgm_tensor_f32(made)[i] = (float)from[i];
        else
            rgm_tensor_f64(made)[i] = from[i];
    return made;
}

/* Add items begin .. end - 1 as one batch. */
static void add(double *state, const rgm_metric *metric, const items *all, int64_t begin,
                int64_t end)
{
    int64_t units = all->units, n = end - begin;
    rgm_metric_batch batch = {0};
    rgm_tensor *label, *z = tensor(all->dtype, all->z + begin * units, n, units), *w = NULL;

    CHECK_OK(
        rgm_tensor_create_from(&label, RGM_I64, 2, (int64_t[]){n, units}, all->y + begin * units));
    if (all->w != NULL)
        w = tensor(all->dtype, all->w + begin, n, 0);
    batch = (rgm_metric_batch){.predictions = z, .labels = label, .weights = w};
    metric->type->update(state, metric, &batch);
    rgm_tensor_release(z);
    rgm_tensor_release(label);
    rgm_tensor_release(w);
}

static double result_of(const double *state, const rgm_metric *metric)
{
    if (metric->type->keeps_scores)
        CHECK_OK(rgm_metric_scores_ready(metric->scores, (int64_t)state[0]));
    return metric->type->result(state, metric);
}

/* In batches of three. */
static double measure(const rgm_metric *type, const items *all)
{
    rgm_metric_scores scores = {0};
    rgm_metric metric = *type;
    double *state, result;

    metric.scores = &scores;
    metric.outputs = all->units;
    CHECK_OK(RGM_NEW(state, metric.type->state_size(&metric)));
    for (int64_t at = 0; at < all->count; at += 3)
        add(state, &metric, all, at, at + 3 < all->count ? at + 3 : all->count);
    result = result_of(state, &metric);
    rgm_metric_scores_clear(&scores);
    rgm_free(state);
    return result;
}

static double of(const rgm_metric_type *type, const items *all)
{
    return measure(&(rgm_metric){.type = type, .k = 200}, all);
}

static void exact_areas_are_scikit_learns(void **state)
{
    static const double roc[] = {0.6, 0.7384615384615385},
                        pr[] = {0.605952380952381, 0.7041403041403042};

    (void)state;
    for (int form = 0; form < 4; form++) {
        items all = {form & 2 ? RGM_F64 : RGM_F32, ITEMS,    1, scores_of,
                     form & 1 ? weights_of : NULL, labels_of};

        CHECK_CLOSE(of(&rgm_metric_auc_roc, &all), roc[form & 1], 1e-14, 0);
        CHECK_CLOSE(of(&rgm_metric_auc_pr, &all), pr[form & 1], 1e-14, 0);
    }
}

static void a_recall_at_a_precision_is_the_best_of_all_thresholds(void **state)
{
    static const double least[] = {0.6, 0.72, 0.8}, recall[] = {0, 4.0 / 13, 4.0 / 13};
    items all = {RGM_F32, ITEMS, 1, scores_of, weights_of, labels_of};
    rgm_metric metric = {.type = &rgm_metric_recall_at_precision};

    (void)state;
    for (int i = 0; i < 3; i++) {
        metric.precision = least[i];
        CHECK_CLOSE(measure(&metric, &all), i == 0 ? 1 : recall[i], 1e-14, 0);
    }
}

/* Scores that are all far out have probabilities of 1: bins see no order among them. */
static void saturated_scores_keep_their_order(void **state)
{
    static const double z[] = {90, 80, 70, 60, 50, 40};
    static const int64_t y[] = {1, 1, 0, 1, 0, 0};
    items all = {RGM_F32, 6, 1, z, NULL, y};

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_auc_roc, &all), 8.0 / 9, 1e-14, 0);
    CHECK_CLOSE(of(&rgm_metric_auc_roc_binned, &all), 0.5, 1e-14, 0);
}

/* The share of pairs that are in order, of columns and of all labels together. */
static double pairs(const items *all, int64_t first, int64_t stride)
{
    double in_order = 0, count = 0;

    for (int64_t i = first; i < all->count * all->units; i += stride)
        for (int64_t k = first; k < all->count * all->units; k += stride)
            if (all->y[i] == 1 && all->y[k] == 0) {
                in_order += all->z[i] > all->z[k] ? 1 : all->z[i] < all->z[k] ? 0 : 0.5;
                count++;
            }
    return in_order / count;
}

static void areas_count_pairs_in_order(void **state)
{
    enum { MANY = 300, UNITS = 3 };
    double z[MANY * UNITS], mean = 0;
    int64_t y[MANY * UNITS];
    items all = {RGM_F32, MANY, UNITS, z, NULL, y};
    uint32_t seed = 7;

    (void)state;
    for (int i = 0; i < MANY * UNITS; i++) {
        seed = seed * 1664525u + 1013904223u;
        y[i] = seed >> 31;
        z[i] = (double)((seed >> 8) % 64) / 8 - 4 + (double)y[i]; /* with ties */
    }
    for (int u = 0; u < UNITS; u++)
        mean += pairs(&all, u, UNITS) / UNITS;
    CHECK_CLOSE(of(&rgm_metric_auc_roc, &all), pairs(&all, 0, 1), 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_auc_roc_macro, &all), mean, 1e-12, 0);
    CHECK(fabs(of(&rgm_metric_auc_roc_binned, &all) - pairs(&all, 0, 1)) < 0.01);
    CHECK(fabs(of(&rgm_metric_auc_roc_macro_binned, &all) - mean) < 0.01);
    CHECK(fabs(of(&rgm_metric_auc_pr_binned, &all) - of(&rgm_metric_auc_pr, &all)) < 0.02);
    CHECK(fabs(of(&rgm_metric_auc_pr_macro_binned, &all) - of(&rgm_metric_auc_pr_macro, &all)) <
          0.02);
}

/* Keras' sum over thresholds, written plainly. */
static void binned_areas_are_sums_over_thresholds(void **state)
{
    items all = {RGM_F64, ITEMS, 1, scores_of, weights_of, labels_of};

    (void)state;
    for (int64_t k = 2; k < 30; k += 9) {
        double area = 0, tp0 = 0, fp0 = 0, p = 0, n = 0;

        for (int64_t t = 0; t < k; t++) {
            double at = t == 0 ? -1e-7 : t == k - 1 ? 1 + 1e-7 : (double)t / (double)(k - 1);
            double tp = 0, fp = 0;

            for (int i = 0; i < ITEMS; i++)
                if (1 / (1 + exp(-scores_of[i])) > at)
                    *(labels_of[i] == 1 ? &tp : &fp) += weights_of[i];
            p = t == 0 ? tp : p; /* all are above the first */
            n = t == 0 ? fp : n;
            area += t == 0 ? 0 : (fp0 - fp) / n * (tp0 + tp) / p / 2;
            tp0 = tp;
            fp0 = fp;
        }
        CHECK_CLOSE(measure(&(rgm_metric){.type = &rgm_metric_auc_roc_binned, .k = k}, &all), area,
                    1e-12, 0);
    }
}

static void what_is_not_defined_is_no_number(void **state)
{
    static const int64_t ones[] = {1, 1, 1, 1}, zeros[4] = {0}, both[] = {1, 0, 1, 0};
    double z[] = {1, 2, 3, 4};
    items all = {RGM_F32, 4, 1, z, NULL, ones}, none = {RGM_F32, 0, 1, z, NULL, ones};

    (void)state;
    CHECK(isnan(of(&rgm_metric_auc_roc, &all)));
    CHECK(isnan(of(&rgm_metric_auc_roc_macro, &all)));
    CHECK_CLOSE(of(&rgm_metric_auc_pr, &all), 1, 0, 0);
    all.y = zeros;
    CHECK(isnan(of(&rgm_metric_auc_pr, &all)));
    CHECK(isnan(of(&rgm_metric_recall_at_precision, &all)));
    all.y = both;
    CHECK(isfinite(of(&rgm_metric_auc_roc, &all)));
    z[2] = NAN;
    CHECK(isnan(of(&rgm_metric_auc_roc, &all)));
    CHECK(isnan(of(&rgm_metric_auc_pr, &all)));
    CHECK_CLOSE(of(&rgm_metric_auc_roc, &none), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_auc_pr_macro, &none), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_recall_at_precision, &none), 0, 0, 0);
}

/* A smaller state takes the last scores back; lists of two shares make one. */
static void lists_are_cut_and_merged(void **state)
{
    rgm_metric_scores lists[2] = {{0}, {0}};
    rgm_metric metrics[2] = {{.type = &rgm_metric_auc_roc, .scores = &lists[0]},
                             {.type = &rgm_metric_auc_roc, .scores = &lists[1]}};
    double states[2] = {0, 0};
    items all = {RGM_F32, ITEMS, 1, scores_of, weights_of, labels_of};

    (void)state;
    add(&states[0], &metrics[0], &all, 0, 4);
    add(&states[0], &metrics[0], &all, 5, 9);
    states[0] = 4;
    add(&states[0], &metrics[0], &all, 4, 6);
    all.dtype = RGM_F64; /* one of doubles makes all of them doubles */
    add(&states[1], &metrics[1], &all, 6, ITEMS);
    CHECK_OK(rgm_metric_scores_merge(&lists[0], (int64_t)states[0], &lists[1], (int64_t)states[1]));
    states[0] += states[1];
    CHECK_CLOSE(result_of(&states[0], &metrics[0]), 0.7384615384615385, 1e-14, 0);
    rgm_metric_scores_clear(&lists[0]);
    rgm_metric_scores_clear(&lists[1]);
}

static void lists_are_saved_and_what_is_none_is_refused(void **state)
{
    rgm_metric_scores saved = {0}, read = {0};
    rgm_metric metric = {.type = &rgm_metric_auc_roc, .scores = &saved};
    double count = 0;
    items all = {RGM_F32, ITEMS, 1, scores_of, weights_of, labels_of};
    rgm_text bytes = {0};
    rgm_str left;

    (void)state;
    add(&count, &metric, &all, 0, ITEMS);
    CHECK_OK(rgm_metric_scores_save(&bytes, &saved, 0, ITEMS));
    left = (rgm_str){bytes.data, bytes.size};
    CHECK_OK(rgm_metric_scores_restore(&read, count, &left));
    CHECK_INT(0, left.size);
    metric.scores = &read;
    CHECK_CLOSE(result_of(&count, &metric), 0.7384615384615385, 1e-14, 0);
    for (int i = 0; i < 5; i++) {
        const double counts[] = {-1, NAN, 2.5, ITEMS + 1, 1e300};

        left = (rgm_str){bytes.data, bytes.size};
        CHECK_STATUS(RGM_ERR_FORMAT, rgm_metric_scores_restore(&read, counts[i], &left));
    }
    left = (rgm_str){bytes.data, 3};
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_metric_scores_restore(&read, 0, &left));
    rgm_metric_scores_clear(&saved);
    rgm_metric_scores_clear(&read);
    rgm_text_clear(&bytes);
}

/* An update cannot fail; what it lacked memory for is told when the result is asked for. */
static void a_lack_of_memory_is_told_at_the_end(void **state)
{
    rgm_metric_scores scores = {0};
    rgm_metric metric = {.type = &rgm_metric_auc_roc, .scores = &scores};
    items all = {RGM_F32, ITEMS, 1, scores_of, NULL, labels_of};
    rgm_tensor *z = tensor(RGM_F32, scores_of, ITEMS, 1), *y;
    rgm_metric_batch batch = {.predictions = z};
    double count = 0;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&y, RGM_I64, 1, (int64_t[]){ITEMS}, labels_of));
    batch.labels = y;
    rgm_memory_fail_at(0, false);
    metric.type->update(&count, &metric, &batch);
    rgm_memory_fail_at(-1, false);
    CHECK_CLOSE(count, 0, 0, 0);
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_metric_scores_ready(&scores, 0));
    add(&count, &metric, &all, 0, ITEMS);
    CHECK_CLOSE(result_of(&count, &metric), 0.6, 1e-14, 0);
    rgm_metric_scores_clear(&scores);
    rgm_tensor_release(z);
    rgm_tensor_release(y);
}

/* ---- curves for people -------------------------------------------------------------------- */

/* What a pass in batches of three keeps. */
static rgm_metric_scores kept(const items *all)
{
    rgm_metric_scores scores = {0};
    rgm_metric metric = {.type = &rgm_metric_scores_of_labels, .scores = &scores};
    double state = 0;

    for (int64_t at = 0; at < all->count; at += 3)
        add(&state, &metric, all, at, at + 3 < all->count ? at + 3 : all->count);
    CHECK_INT((int64_t)state, scores.count);
    CHECK(metric.type->result(&state, &metric) == state);
    return scores;
}

/* false and true positives, precision */
static void check_points(const rgm_score_curve *curve, const double points[8][3])
{
    static const double thresholds[] = {INFINITY, 3, 2, 0.5, -0.25, -0.5, -1, -2};

    CHECK_INT(8, curve->point_count);
    for (int k = 0; k < 8; k++) {
        CHECK(curve->points[k].threshold == thresholds[k]);
        CHECK_CLOSE(curve->points[k].false_positives, points[k][0], 1e-12, 0);
        CHECK_CLOSE(curve->points[k].true_positives, points[k][1], 1e-12, 0);
        CHECK_CLOSE(curve->points[k].precision, points[k][2], 1e-12, 0);
    }
}

/* roc_curve(drop_intermediate=False), precision_recall_curve(). */
static void every_threshold_is_a_point(void **state)
{
    static const double points[2][8][3] = {{{0, 0, 1},
                                            {0.2, 0, 0},
                                            {0.2, 0.4, 2 / 3.0},
                                            {0.6, 0.6, 0.5},
                                            {0.6, 0.8, 4 / 7.0},
                                            {0.6, 1, 0.625},
                                            {0.8, 1, 5 / 9.0},
                                            {1, 1, 0.5}},
                                           {{0, 0, 1},
                                            {0.04, 0, 0},
                                            {0.04, 0.3076923076923077, 0.8888888888888888},
                                            {0.52, 0.7692307692307693, 0.6060606060606061},
                                            {0.52, 0.8461538461538461, 0.6285714285714286},
                                            {0.52, 1, 0.6666666666666666},
                                            {0.84, 1, 0.5531914893617021},
                                            {1, 1, 0.5098039215686274}}};
    static const double areas[2][2] = {{0.6, 0.605952380952381},
                                       {0.7384615384615385, 0.7041403041403042}};

    (void)state;
    for (int i = 0; i < 2; i++) {
        const items all = {RGM_F32, ITEMS, 1, scores_of, i > 0 ? weights_of : NULL, labels_of};
        rgm_metric_scores scores = kept(&all);
        rgm_score_curve curve;

        CHECK_EVERY_OOM(rgm_score_curve_make(&curve, &scores, 0, 1), (void)0);
        CHECK_OK(rgm_score_curve_make(&curve, &scores, 0, 1));
        CHECK_CLOSE(curve.roc_area, areas[i][0], 1e-12, 0);
        CHECK_CLOSE(curve.average_precision, areas[i][1], 1e-12, 0);
        check_points(&curve, points[i]);
        rgm_metric_scores_clear(&scores);
    }
}

/* roc_auc_score(labels == c, softmax(z)[:, c]); an item without a label and one without weight do
 * not count. */
static void a_class_is_held_against_the_rest(void **state)
{
    static const double z[] = {2,   -1,   0.5, 0,  1, 1,   -0.5, 0.25, 3, 1, 1, 0,
                               0.3, -0.2, 0.1, -1, 2, 0.4, 9,    0,    0, 0, 9, 0};
    static const double weights[] = {1, 1, 1, 1, 1, 1, 1, 0};
    static const int64_t labels[] = {0, 1, 2, 1, 0, 2, -1, 2};
    static const double areas[3][2] = {
        {0.875, 0.8333333333333333}, {0.75, 0.6666666666666666}, {0.625, 0.7}};
    rgm_tensor *t[3] = {tensor(RGM_F64, z, 8, 3), NULL, tensor(RGM_F64, weights, 8, 0)};
    rgm_metric_batch batch = {.predictions = t[0], .weights = t[2]};
    rgm_metric_scores scores = {0};
    rgm_metric metric = {.type = &rgm_metric_scores_of_classes, .outputs = 3, .scores = &scores};
    rgm_score_curve curve;
    double count = 0;

    (void)state;
    CHECK_OK(rgm_tensor_create_from(&t[1], RGM_I64, 1, (int64_t[]){8}, labels));
    batch.labels = t[1];
    metric.type->update(&count, &metric, &batch);
    CHECK_INT(18, scores.count);
    for (int c = 0; c < 3; c++) {
        CHECK_OK(rgm_score_curve_make(&curve, &scores, c, 3));
        CHECK_CLOSE(curve.roc_area, areas[c][0], 1e-12, 0);
        CHECK_CLOSE(curve.average_precision, areas[c][1], 1e-12, 0);
        CHECK(curve.positives == 2 && curve.negatives == 4);
    }
    rgm_metric_scores_clear(&scores);
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(t[i]);
}

/* Exact areas beside the points, and points that nearly have them. */
static void check_thinned(const rgm_score_curve *c)
{
    const rgm_score_point *last = &c->points[c->point_count - 1];
    double area = 0, precision = 0;

    CHECK_CLOSE(c->roc_area, 0.869622780832102, 1e-12, 0); /* scikit-learn's */
    CHECK_CLOSE(c->average_precision, 0.7921695905740789, 1e-12, 0);
    CHECK(c->point_count > 150 && c->point_count <= RGM_MOST_CURVE_POINTS);
    for (const rgm_score_point *a = c->points, *b = a + 1; b <= last; a++, b++) {
        CHECK(b->threshold < a->threshold);
        area +=
            (b->false_positives - a->false_positives) * (a->true_positives + b->true_positives) / 2;
        precision += (b->true_positives - a->true_positives) * b->precision;
    }
    CHECK(last->true_positives == 1 && last->false_positives == 1);
    CHECK_CLOSE(area, c->roc_area, 2e-3, 0);
    CHECK_CLOSE(precision, c->average_precision, 1e-2, 0);
}

static void a_long_curve_is_thinned_out(void **state)
{
    enum { MANY = 5000 };
    static double z[MANY];
    static int64_t y[MANY];
    const items all = {RGM_F32, MANY, 1, z, NULL, y};
    uint64_t x = 12345;
    double drawn[2];
    rgm_metric_scores scores;
    rgm_score_curve curve;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        for (int k = 0; k < 2; k++) {
            x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
            drawn[k] = (double)(x >> 40) / 0x1p24;
        }
        y[i] = drawn[0] < 0.3;
        z[i] = drawn[1] + 0.5 * (double)y[i];
    }
    scores = kept(&all);
    CHECK_OK(rgm_score_curve_make(&curve, &scores, 0, 1));
    check_thinned(&curve);
    rgm_metric_scores_clear(&scores);
}

/* One kind of label, NaN, nothing. */
static void what_has_no_curve_has_no_points(void **state)
{
    static const double z[] = {1, 2, NAN};
    static const int64_t ones[] = {1, 1, 1}, both[] = {1, 0, 0};
    const items cases[] = {{RGM_F64, 2, 1, z, NULL, ones},
                           {RGM_F64, 3, 1, z, NULL, both},
                           {RGM_F64, 0, 1, z, NULL, both}};

    (void)state;
    for (int i = 0; i < 3; i++) {
        rgm_metric_scores scores = kept(&cases[i]);
        rgm_score_curve curve;

        CHECK_OK(rgm_score_curve_make(&curve, &scores, 0, 1));
        CHECK_INT(0, curve.point_count);
        CHECK(isnan(curve.roc_area));
        rgm_metric_scores_clear(&scores);
    }
}

/* Ranks 1, 1.5, 4 and 900. */
static void hits_are_told_by_k(void **state)
{
    static const double ranks[] = {4, 1, 900, 1.5};
    static const int64_t ones[] = {1, 1, 1, 1};
    const items all = {RGM_F64, 4, 1, ranks, NULL, ones};
    rgm_metric_scores scores = kept(&all);
    rgm_hits_curve h;

    (void)state;
    CHECK_OK(rgm_hits_curve_make(&h, &scores));
    CHECK(h.links == 4);
    CHECK_CLOSE(h.mean_reciprocal_rank, (1 + 1 / 1.5 + 1 / 4.0 + 1 / 900.0) / 4, 1e-12, 0);
    CHECK(h.point_count > 100 && h.point_count <= RGM_MOST_CURVE_POINTS);
    for (int64_t i = 0; i < h.point_count; i++) {
        int64_t k = h.k[i];

        CHECK(i == 0 || k > h.k[i - 1]);
        CHECK(h.share[i] == (k < 2 ? 0.25 : k < 4 ? 0.5 : k < 900 ? 0.75 : 1));
    }
    CHECK(h.k[0] == 1 && h.k[3] == 4 && h.k[h.point_count - 1] == 900);
    rgm_metric_scores_clear(&scores);
}

/* That there are too many is known, and no more memory is taken. */
static void more_scores_than_curves_take_are_not_kept(void **state)
{
    enum { BATCH = 1 << 18 };
    static double z[BATCH];
    static int64_t y[BATCH];
    const items all = {RGM_F32, BATCH, 1, z, NULL, y};
    rgm_metric_scores scores = {0};
    rgm_metric metric = {.type = &rgm_metric_scores_of_labels, .scores = &scores};
    double count = 0;

    (void)state;
    for (int i = 0; i < 7; i++)
        add(&count, &metric, &all, 0, BATCH);
    CHECK_INT(RGM_MOST_CURVE_SCORES + BATCH, scores.count);
    rgm_metric_scores_clear(&scores);
}

TESTS(cmocka_unit_test(every_threshold_is_a_point),
      cmocka_unit_test(a_class_is_held_against_the_rest),
      cmocka_unit_test(a_long_curve_is_thinned_out),
      cmocka_unit_test(what_has_no_curve_has_no_points), cmocka_unit_test(hits_are_told_by_k),
      cmocka_unit_test(more_scores_than_curves_take_are_not_kept),
      cmocka_unit_test(exact_areas_are_scikit_learns),
      cmocka_unit_test(a_recall_at_a_precision_is_the_best_of_all_thresholds),
      cmocka_unit_test(saturated_scores_keep_their_order),
      cmocka_unit_test(areas_count_pairs_in_order),
      cmocka_unit_test(binned_areas_are_sums_over_thresholds),
      cmocka_unit_test(what_is_not_defined_is_no_number),
      cmocka_unit_test(lists_are_cut_and_merged),
      cmocka_unit_test(lists_are_saved_and_what_is_none_is_refused),
      cmocka_unit_test(a_lack_of_memory_is_told_at_the_end))
