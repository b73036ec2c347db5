/* Metrics of links against sums over all pairs and candidates, and against figures worked by
 * hand. */
#include <check.h>

#include <regimen/metrics.h>

enum { MOST = 64 };

typedef struct scored {
    float score[MOST];
    int64_t label[MOST];
    float weight[MOST];
    int64_t count;
} scored;

static void update(double *sums, const rgm_metric *metric, const scored *s, bool weighted)
{
    rgm_tensor *predictions, *labels, *weights = NULL;
    rgm_metric_batch batch;

    CHECK_OK(rgm_tensor_create_from(&predictions, RGM_F32, 2, (int64_t[]){s->count, 1}, s->score));
    CHECK_OK(rgm_tensor_create_from(&labels, RGM_I64, 1, &s->count, s->label));
    if (weighted)
        CHECK_OK(rgm_tensor_create_from(&weights, RGM_F32, 1, &s->count, s->weight));
    batch = (rgm_metric_batch){.predictions = predictions, .labels = labels, .weights = weights};
    metric->type->update(sums, metric, &batch);
    rgm_tensor_release(predictions);
    rgm_tensor_release(labels);
    rgm_tensor_release(weights);
}

static double of(const rgm_metric_type *type, int64_t k, const scored *batches, int64_t count,
                 bool weighted)
{
    rgm_metric metric = {.type = type, .k = k};
    double sums[2] = {0, 0};

    assert_int_equal(2, type->state_size(&metric));
    for (int64_t i = 0; i < count; i++)
        update(sums, &metric, &batches[i], weighted);
    return type->result(sums, &metric);
}

/* Few different scores, so that many are equal; every sixth item, from the first on, is a link. */
static scored drawn(uint64_t seed)
{
    rgm_rng rng = rgm_rng_stream(seed, "links", 0);
    scored s = {.count = MOST};

    for (int64_t i = 0; i < MOST; i++) {
        s.score[i] = (float)rgm_rng_below(&rng, 2 * (uint64_t)i, 12) - 6;
        s.label[i] = i % 6 == 0;
        s.weight[i] = rgm_rng_below(&rng, 2 * (uint64_t)i + 1, 4) > 0;
    }
    return s;
}

static bool counts(const scored *s, int64_t i, int64_t label, bool weighted)
{
    return s->label[i] == label && (!weighted || s->weight[i] > 0);
}

static double brute_auc(const scored *s, bool weighted)
{
    double in_order = 0, pairs = 0;

    for (int64_t i = 0; i < s->count; i++)
        for (int64_t k = 0; k < s->count; k++)
            if (counts(s, i, 1, weighted) && counts(s, k, 0, weighted)) {
                pairs++;
                in_order += s->score[i] > s->score[k] ? 1 : s->score[i] == s->score[k] ? 0.5 : 0;
            }
    return in_order / pairs;
}

/* Thresholds from the highest down: precision times the gain in recall. */
static double brute_average_precision(const scored *s, bool weighted)
{
    double area = 0, links = 0, recall = 0;

    for (int64_t i = 0; i < s->count; i++)
        links += counts(s, i, 1, weighted);
    for (float threshold = 6; threshold >= -6; threshold--) {
        double hits = 0, all = 0;

        for (int64_t i = 0; i < s->count; i++)
            if (s->score[i] >= threshold) {
                hits += counts(s, i, 1, weighted);
                all += counts(s, i, 1, weighted) + counts(s, i, 0, weighted);
            }
        area += all > 0 ? (hits / links - recall) * hits / all : 0;
        recall = hits / links;
    }
    return area;
}

/* The mean of 1 / rank over all places of a link among its ties differs from 1 / the mean rank; the
 * metric uses the mean rank. */
static double brute_ranks(const scored *s, bool weighted, int64_t k)
{
    double sum = 0, links = 0;

    for (int64_t i = 0; i < s->count; i += 6) {
        double rank = 1;

        if (!counts(s, i, 1, weighted))
            continue;
        for (int64_t j = i + 1; j < i + 6 && j < s->count; j++)
            if (counts(s, j, 0, weighted))
                rank += s->score[j] > s->score[i] ? 1 : s->score[j] == s->score[i] ? 0.5 : 0;
        sum += k > 0 ? rank <= (double)k : 1 / rank;
        links++;
    }
    return sum / links;
}

static void metrics_are_the_sums_over_all_pairs(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++)
        for (int weighted = 0; weighted < 2; weighted++) {
            scored s = drawn(seed);

            CHECK_CLOSE(of(&rgm_metric_auc, 0, &s, 1, weighted), brute_auc(&s, weighted), 1e-12, 0);
            CHECK_CLOSE(of(&rgm_metric_average_precision, 0, &s, 1, weighted),
                        brute_average_precision(&s, weighted), 1e-12, 0);
            CHECK_CLOSE(of(&rgm_metric_mrr, 0, &s, 1, weighted), brute_ranks(&s, weighted, 0),
                        1e-12, 0);
            for (int64_t k = 1; k <= 5; k++)
                CHECK_CLOSE(of(&rgm_metric_hits, k, &s, 1, weighted), brute_ranks(&s, weighted, k),
                            1e-12, 0);
        }
}

static void figures_by_hand(void **state)
{
    /* .8 and .35 are links, .4 and .1 are not: 3 of 4 pairs in order; precision 1 and 2/3 */
    const scored known = {{.1f, .4f, .35f, .8f}, {0, 0, 1, 1}, {0}, 4};
    /* ranks 2, then 1 + 1/2: the second link has one candidate with its score */
    const scored ranks = {{1, 3, 0, 5, 5, 2}, {1, 0, 0, 1, 0, 0}, {0}, 6};

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_auc, 0, &known, 1, false), 0.75, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_average_precision, 0, &known, 1, false), (1 + 2.0 / 3) / 2, 1e-12,
                0);
    CHECK_CLOSE(of(&rgm_metric_mrr, 0, &ranks, 1, false), (1 / 2.0 + 1 / 1.5) / 2, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_hits, 1, &ranks, 1, false), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_hits, 2, &ranks, 1, false), 1, 0, 0);
}

/* A model that has diverged must not rank anything first. */
static void scores_that_are_no_numbers_are_the_worst(void **state)
{
    const scored links = {{NAN, 1, NAN, 0}, {1, 0, 1, 0}, {0}, 4};
    const scored others = {{1, NAN, 0, -1}, {1, 0, 0, 0}, {0}, 4};
    const scored all = {{NAN, NAN, NAN}, {1, 0, 0}, {0}, 3};

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_mrr, 0, &links, 1, false), 0.5, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_auc, 0, &links, 1, false), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_mrr, 0, &others, 1, false), 0.5, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_auc, 0, &others, 1, false), 2.0 / 3, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_mrr, 0, &all, 1, false), 1 / 3.0, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_hits, 1, &all, 1, false), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_average_precision, 0, &all, 1, false), 1 / 3.0, 1e-12, 0);
}

static void batches_are_weighed_by_what_they_compare(void **state)
{
    /* 1 link and 1 other in order; 1 link below 3 others */
    const scored both[2] = {{{2, 1}, {1, 0}, {0}, 2}, {{0, 1, 2, 3}, {1, 0, 0, 0}, {0}, 4}};

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_auc, 0, both, 2, false), 0.25, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_average_precision, 0, both, 2, false), (1 + 0.25) / 2, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_mrr, 0, both, 2, false), (1 + 0.25) / 2, 1e-12, 0);
}

static void without_memory_the_figures_are_the_same(void **state)
{
    scored s = drawn(3);
    rgm_metric metric = {.type = &rgm_metric_auc};
    double sums[2] = {0, 0}, area = brute_auc(&s, false);

    (void)state;
    for (int64_t fails = 0; fails < 2; fails++) {
        rgm_tensor *predictions, *labels;
        rgm_metric_batch batch;

        CHECK_OK(
            rgm_tensor_create_from(&predictions, RGM_F32, 2, (int64_t[]){s.count, 1}, s.score));
        CHECK_OK(rgm_tensor_create_from(&labels, RGM_I64, 1, &s.count, s.label));
        batch = (rgm_metric_batch){.predictions = predictions, .labels = labels};
        rgm_memory_fail_at(fails, false);
        metric.type->update(sums, &metric, &batch);
        CHECK_INT(1, rgm_memory_failures());
        rgm_memory_fail_at(-1, false);
        CHECK_CLOSE(metric.type->result(sums, &metric), area, 1e-12, 0);
        rgm_tensor_release(predictions);
        rgm_tensor_release(labels);
    }
}

static void nothing_seen_is_zero(void **state)
{
    (void)state;
    CHECK_CLOSE(of(&rgm_metric_auc, 0, NULL, 0, false), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_average_precision, 0, NULL, 0, false), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_mrr, 0, NULL, 0, false), 0, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_hits, 3, NULL, 0, false), 0, 0, 0);
}

TESTS(cmocka_unit_test(metrics_are_the_sums_over_all_pairs), cmocka_unit_test(figures_by_hand),
      cmocka_unit_test(scores_that_are_no_numbers_are_the_worst),
      cmocka_unit_test(batches_are_weighed_by_what_they_compare),
      cmocka_unit_test(without_memory_the_figures_are_the_same),
      cmocka_unit_test(nothing_seen_is_zero))
