/*
 * Rankings: losses against sums written out and figures worked by hand, their gradients against
 * central differences, lists that do not count; metrics against scikit-learn 1.9.1.
 */
#include <check.h>
#include <math.h>

#include <regimen/metrics.h>

enum { ITEMS = 13, LISTS = 5, LOSSES = RGM_RANKING_APPROX_NDCG + 1 };
/* Interleaved lists of different lengths, with equal scores and labels. List 2 has equal labels, 3
 * and 4 have one item; item 11 is in no list. */
static const int64_t list_of[ITEMS] = {0, 1, 0, 2, 1, 0, 3, 0, 1, 2, 0, -1, 4};
static const double score_of[ITEMS] = {1.5, -0.5, 0.25, 1, 2, 1.5, 3, -1, 0.5, 1, 0.75, 9, 2};
static const double label_of[ITEMS] = {2, 0, 3, 1, 1, 0, 2, 0, 4, 1, 1, 4, 0};

/* ---- losses -------------------------------------------------------------------------------- */

typedef struct tried {
    rgm_cgraph *graph;
    rgm_value *inputs[4], *fetches[2]; /* scores, labels, weights, lists; loss, slope */
    rgm_tensor *fed[4];
} tried;

static void begin(tried *t, rgm_ranking_loss_type type, const double *labels, const double *weights,
                  double temperature)
{
    const rgm_dim n = ITEMS, column[2] = {ITEMS, 1};

    *t = (tried){.graph = NULL};
    CHECK_OK(rgm_cgraph_create(&t->graph));
    CHECK_OK(rgm_tensor_create_from(&t->fed[0], RGM_F64, 2, column, score_of));
    CHECK_OK(rgm_tensor_create_from(&t->fed[1], RGM_F64, 1, &n, labels));
    if (weights != NULL)
        CHECK_OK(rgm_tensor_create_from(&t->fed[2], RGM_F64, 1, &n, weights));
    CHECK_OK(rgm_tensor_create_from(&t->fed[3], RGM_I64, 1, &n, list_of));
    t->inputs[0] = rgm_input(t->graph, "scores", RGM_F64, 2, column);
    t->inputs[1] = rgm_input(t->graph, "labels", RGM_F64, 1, &n);
    t->inputs[2] = weights != NULL ? rgm_input(t->graph, "weights", RGM_F64, 1, &n) : NULL;
    t->inputs[3] = rgm_input(t->graph, "lists", RGM_I64, 1, &n);
    t->fetches[0] =
        rgm_ranking_loss(type, t->inputs[0], t->inputs[1], t->inputs[2], t->inputs[3], temperature);
}

static rgm_status run(double *loss, double *slope, const tried *t)
{
    rgm_status status = RGM_OK;
    rgm_feed feeds[4];
    rgm_executor *executor = NULL;
    rgm_tensor *out[2];
    int64_t count = 0;

    for (int i = 0; i < 4; i++)
        if (t->inputs[i] != NULL)
            feeds[count++] = (rgm_feed){.input = t->inputs[i], .tensor = t->fed[i]};
    RGM_GO(rgm_executor_create(&executor, t->graph, t->fetches, slope != NULL ? 2 : 1, NULL));
    RGM_GO(rgm_executor_run(executor, out, NULL, feeds, count, 0, 0));
    *loss = rgm_tensor_f64(out[0])[0];
    for (int64_t i = 0; slope != NULL && i < ITEMS; i++)
        slope[i] = rgm_tensor_f64(out[1])[i];
done:
    rgm_executor_release(executor);
    return status;
}

static void end(tried *t)
{
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(t->fed[i]);
    rgm_cgraph_release(t->graph);
}

static double loss_of(rgm_ranking_loss_type type, const double *labels, const double *weights,
                      double temperature, double *slope)
{
    tried t;
    double loss;

    begin(&t, type, labels, weights, temperature);
    CHECK_OK(rgm_cgraph_status(t.graph));
    if (slope != NULL)
        CHECK_OK(rgm_cgraph_gradients(&t.fetches[1], t.fetches[0], t.inputs, 1));
    CHECK_OK(run(&loss, slope, &t));
    end(&t);
    return loss;
}

/* ---- the same written out -------------------------------------------------------------------- */

static bool in_list(int64_t i, int64_t list)
{
    return list_of[i] == list;
}

static double pairs_by_hand(int64_t list, bool hinge)
{
    double sum = 0, pairs = 0;

    for (int64_t i = 0; i < ITEMS; i++)
        for (int64_t j = 0; j < ITEMS; j++)
            if (in_list(i, list) && in_list(j, list) && label_of[i] > label_of[j]) {
                double d = score_of[i] - score_of[j];

                sum += hinge ? fmax(0, 1 - d) : log(1 + exp(-d));
                pairs++;
            }
    return sum / pairs;
}

static double entropy_by_hand(int64_t list, bool raised)
{
    double all = 0, whole = 0, loss = 0;

    for (int64_t i = 0; i < ITEMS; i++) {
        all += in_list(i, list) ? exp(score_of[i]) : 0;
        whole += in_list(i, list) ? (raised ? exp(label_of[i]) : label_of[i]) : 0;
    }
    for (int64_t i = 0; i < ITEMS; i++)
        if (in_list(i, list))
            loss -= (raised ? exp(label_of[i]) : label_of[i]) / whole * log(exp(score_of[i]) / all);
    return loss;
}

/* The best orders of lists 0 and 1 have labels 3, 2, 1 and 4, 1. */
static double ndcg_by_hand(int64_t list, double temperature)
{
    double best = list == 0 ? 7 + 3 / log2(3) + 1 / log2(4) : 15 + 1 / log2(3), sum = 0;

    for (int64_t i = 0; i < ITEMS; i++) {
        double rank = 1;

        for (int64_t j = 0; j < ITEMS; j++)
            if (in_list(j, list) && j != i)
                rank += 1 / (1 + exp(-(score_of[j] - score_of[i]) / temperature));
        sum += in_list(i, list) ? (exp2(label_of[i]) - 1) / log2(1 + rank) : 0;
    }
    return 1 - sum / best;
}

static double by_hand(rgm_ranking_loss_type type, int64_t list, double temperature)
{
    switch (type) {
    case RGM_RANKING_PAIRWISE_LOGISTIC:
    case RGM_RANKING_PAIRWISE_HINGE:
        return pairs_by_hand(list, type == RGM_RANKING_PAIRWISE_HINGE);
    case RGM_RANKING_SOFTMAX:
    case RGM_RANKING_LIST_NET:
        return entropy_by_hand(list, type == RGM_RANKING_LIST_NET);
    case RGM_RANKING_APPROX_NDCG:
        break;
    }
    return ndcg_by_hand(list, temperature);
}

/* Lists 2, 3 and 4 do not have two different labels. */
static void losses_are_those_of_their_definitions(void **state)
{
    (void)state;
    for (int type = 0; type < LOSSES; type++) {
        double first = by_hand((rgm_ranking_loss_type)type, 0, 0.5);
        double second = by_hand((rgm_ranking_loss_type)type, 1, 0.5);

        CHECK_CLOSE(loss_of((rgm_ranking_loss_type)type, label_of, NULL, 0.5, NULL),
                    (first + second) / 2, 1e-13, 1e-13);
    }
}

/* Item 8 has a lower score than item 4 but a higher label: d = -1.5; item 1 is below both: d = 2.5
 * and 1. */
static void pairs_are_those_worked_by_hand(void **state)
{
    double weights[ITEMS];

    (void)state;
    for (int64_t i = 0; i < ITEMS; i++)
        weights[i] = list_of[i] == 1 ? 2 : 0;
    CHECK_CLOSE(loss_of(RGM_RANKING_PAIRWISE_HINGE, label_of, weights, 1, NULL), 2.5 / 3, 1e-15, 0);
    CHECK_CLOSE(loss_of(RGM_RANKING_PAIRWISE_LOGISTIC, label_of, weights, 1, NULL),
                (1.7014132779827524 + 0.07888973429254963 + 0.31326168751822286) / 3, 1e-14, 0);
}

static void gradients_agree_with_central_differences(void **state)
{
    (void)state;
    for (int type = 0; type < LOSSES; type++) {
        double slope[ITEMS], ignored, sides[2];
        tried t;

        loss_of((rgm_ranking_loss_type)type, label_of, NULL, 0.7, slope);
        begin(&t, (rgm_ranking_loss_type)type, label_of, NULL, 0.7);
        for (int64_t i = 0; i < ITEMS; i++) {
            double *score = rgm_tensor_f64(t.fed[0]) + i, kept = *score;

            for (int side = 0; side < 2; side++) {
                *score = kept + (side == 0 ? -1e-6 : 1e-6);
                CHECK_OK(run(&sides[side], NULL, &t));
            }
            *score = kept;
            ignored = list_of[i] < 0 || list_of[i] > 1 ? fabs(slope[i]) : 0;
            CHECK_CLOSE(ignored, 0, 0, 0);
            /* at d = 1 and between them hinge has a corner */
            if (type != RGM_RANKING_PAIRWISE_HINGE || list_of[i] != 1)
                CHECK_CLOSE(slope[i], (sides[1] - sides[0]) / 2e-6, 1e-6, 1e-8);
        }
        end(&t);
    }
}

static void lists_without_an_order_teach_nothing(void **state)
{
    double slope[ITEMS], none[ITEMS] = {0}, same[ITEMS];

    (void)state;
    for (int64_t i = 0; i < ITEMS; i++)
        same[i] = 3;
    for (int type = 0; type < LOSSES; type++)
        for (int way = 0; way < 3; way++) { /* zeros, all labels equal, no item */
            CHECK_CLOSE(loss_of((rgm_ranking_loss_type)type, way == 0 ? none : same,
                                way == 2 ? none : NULL, 1, slope),
                        0, 0, 0);
            for (int64_t i = 0; i < ITEMS; i++)
                CHECK_CLOSE(slope[i], 0, 0, 0);
        }
}

/* Items of weight 0 may have any values. */
static void items_without_weight_are_in_no_list(void **state)
{
    double labels[ITEMS], weights[ITEMS], slope[ITEMS];

    (void)state;
    for (int64_t i = 0; i < ITEMS; i++) {
        labels[i] = list_of[i] == 0 ? NAN : label_of[i];
        weights[i] = list_of[i] != 0;
    }
    for (int type = 0; type < LOSSES; type++)
        CHECK_CLOSE(loss_of((rgm_ranking_loss_type)type, labels, weights, 0.5, slope),
                    by_hand((rgm_ranking_loss_type)type, 1, 0.5), 1e-13, 1e-13);
}

static void wrong_inputs_are_refused(void **state)
{
    const rgm_dim few = 3;
    rgm_value *x;
    tried t;

    (void)state;
    begin(&t, RGM_RANKING_SOFTMAX, label_of, NULL, 0);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(t.graph));
    CHECK_MESSAGE("temperature is 0; it must be above 0");
    end(&t);
    begin(&t, RGM_RANKING_SOFTMAX, label_of, NULL, 1);
    x = rgm_input(t.graph, "few", RGM_F64, 1, &few);
    CHECK(rgm_ranking_loss(RGM_RANKING_SOFTMAX, t.inputs[0], x, NULL, t.inputs[3], 1) == NULL);
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_cgraph_status(t.graph));
    CHECK_MESSAGE("ranking_loss: scores");
    end(&t);
}

/* For lists 0 and 1, then for list 1 alone; scores do not matter. */
static void a_loss_is_the_mean_of_so_many_lists(void **state)
{
    double weights[ITEMS], lists;

    (void)state;
    for (int i = 0; i < ITEMS; i++)
        weights[i] = list_of[i] != 0;
    for (int left = 0; left < 2; left++) {
        tried t;

        begin(&t, RGM_RANKING_SOFTMAX, label_of, left ? weights : NULL, 1);
        t.fetches[0] = rgm_ranking_lists(t.inputs[1], t.inputs[2], t.inputs[3]);
        CHECK_OK(run(&lists, NULL, &t));
        CHECK_CLOSE(lists, 2 - left, 0, 0);
        CHECK(rgm_ranking_lists(t.inputs[3], NULL, t.inputs[3]) != NULL); /* integers are labels */
        CHECK(rgm_ranking_lists(t.inputs[1], NULL, t.inputs[1]) == NULL);
        end(&t);
    }
}

static void failing_allocations_are_reported(void **state)
{
    double loss;
    tried t;

    (void)state;
    begin(&t, RGM_RANKING_APPROX_NDCG, label_of, NULL, 1);
    CHECK_OK(run(&loss, NULL, &t));
    CHECK_EVERY_OOM(run(&loss, NULL, &t), (void)0);
    end(&t);
}

/* ---- metrics ------------------------------------------------------------------------------- */

static double measure_of(const rgm_metric_type *type, int64_t k, const double *scores,
                         const double *labels, const int64_t *lists)
{
    rgm_metric metric = {.type = type, .k = k};
    rgm_tensor *p, *y, *l = NULL;
    const int64_t n = ITEMS;
    double sums[2] = {0, 0};

    CHECK_OK(rgm_tensor_create_from(&p, RGM_F64, 2, (int64_t[]){n, 1}, scores));
    CHECK_OK(rgm_tensor_create_from(&y, RGM_F64, 1, &n, labels));
    if (lists != NULL)
        CHECK_OK(rgm_tensor_create_from(&l, RGM_I64, 1, &n, lists));
    CHECK_INT(2, type->state_size(&metric));
    type->update(sums, &metric, &(rgm_metric_batch){.predictions = p, .labels = y, .lists = l});
    rgm_tensor_release(p);
    rgm_tensor_release(y);
    rgm_tensor_release(l);
    return type->result(sums, &metric);
}

static double measure(const rgm_metric_type *type, int64_t k, const double *scores,
                      const int64_t *lists)
{
    return measure_of(type, k, scores, label_of, lists);
}

/* The means over lists 0 to 3 of ndcg_score() with gains 2^label - 1 (1 for a single item), and of
 * average_precision_score() of labels above 0. */
static void metrics_are_scikit_learns(void **state)
{
    static const double at[] = {0.8260220428658116, 0.5702380952380952, 0.7361342983858765,
                                0.7457813437818086};

    (void)state;
    for (int64_t k = 0; k < 4; k++)
        CHECK_CLOSE(measure(&rgm_metric_list_ndcg, k, score_of, list_of), at[k], 1e-14, 0);
    CHECK_CLOSE(measure(&rgm_metric_list_map, 0, score_of, list_of), 0.9097222222222222, 1e-14, 0);
}

/* List 0: the first is one of two; 1, 2 and 3 begin with one. All as one list begin with item
 * 11. */
static void ranks_are_those_worked_by_hand(void **state)
{
    double scores[ITEMS];

    (void)state;
    CHECK_CLOSE(measure(&rgm_metric_list_mrr, 0, score_of, list_of), (2.0 / 3 + 3) / 4, 1e-14, 0);
    CHECK_CLOSE(measure(&rgm_metric_list_mrr, 0, score_of, NULL), 1, 0, 0);
    for (int64_t i = 0; i < ITEMS; i++)
        scores[i] = label_of[i];
    CHECK_CLOSE(measure(&rgm_metric_list_ndcg, 0, scores, list_of), 1, 1e-14, 0);
    CHECK_CLOSE(measure(&rgm_metric_list_map, 0, scores, list_of), 1, 1e-14, 0);
    scores[2] = NAN;
    CHECK(isnan(measure(&rgm_metric_list_ndcg, 0, scores, list_of)));
}

/* 2^label - 1 is not 0 where 2^label is 1 in doubles; the only gain is in second place. */
static void labels_near_0_have_a_gain(void **state)
{
    double scores[ITEMS], labels[ITEMS] = {0, 1e-18};

    (void)state;
    for (int i = 0; i < ITEMS; i++)
        scores[i] = -i;
    CHECK_CLOSE(measure_of(&rgm_metric_list_ndcg, 0, scores, labels, NULL), 1 / log2(3), 1e-14, 0);
}

TESTS(cmocka_unit_test(losses_are_those_of_their_definitions),
      cmocka_unit_test(pairs_are_those_worked_by_hand),
      cmocka_unit_test(gradients_agree_with_central_differences),
      cmocka_unit_test(lists_without_an_order_teach_nothing),
      cmocka_unit_test(items_without_weight_are_in_no_list),
      cmocka_unit_test(wrong_inputs_are_refused),
      cmocka_unit_test(a_loss_is_the_mean_of_so_many_lists),
      cmocka_unit_test(failing_allocations_are_reported),
      cmocka_unit_test(metrics_are_scikit_learns), cmocka_unit_test(ranks_are_those_worked_by_hand),
      cmocka_unit_test(labels_near_0_have_a_gain))
