/* Metrics against values computed by hand, over two batches, with weights and without. */
#include <check.h>

#include <regimen/train_task.h>

typedef struct batch {
    rgm_tensor *predictions, *labels, *weights;
} batch;

static batch make(int64_t items, int64_t units, const float *logits, const int64_t *labels,
                  const float *weights)
{
    batch b = {0};

    CHECK_OK(rgm_tensor_create_from(&b.predictions, RGM_F32, 2, (int64_t[]){items, units}, logits));
    CHECK_OK(rgm_tensor_create_from(&b.labels, RGM_I64, 1, &items, labels));
    if (weights != NULL)
        CHECK_OK(rgm_tensor_create_from(&b.weights, RGM_F32, 1, &items, weights));
    return b;
}

static void clear(batch *b)
{
    rgm_tensor_release(b->predictions);
    rgm_tensor_release(b->labels);
    rgm_tensor_release(b->weights);
}

static double measure(const rgm_metric *metric, batch *batches, int count)
{
    double *state = NULL, result;

    CHECK_OK(RGM_NEW(state, metric->type->state_size(metric)));
    for (int i = 0; i < count; i++) {
        rgm_metric_batch view = {.predictions = batches[i].predictions,
                                 .labels = batches[i].labels,
                                 .weights = batches[i].weights};

        metric->type->update(state, metric, &view);
    }
    result = metric->type->result(state, metric);
    rgm_free(state);
    return result;
}

static double of(const rgm_metric_type *type, batch *batches, int count)
{
    rgm_metric metric = {.type = type};

    return measure(&metric, batches, count);
}

static void accuracy_counts_over_batches_and_ties_go_to_the_lowest_class(void **state)
{
    batch b[2] = {make(2, 3, (float[]){1, 2, 0, 5, 5, 0}, (int64_t[]){1, 1}, NULL),
                  make(1, 3, (float[]){0, 0, 9}, (int64_t[]){2}, NULL)};

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_accuracy, b, 2), 2.0 / 3, 1e-12, 0);
    clear(&b[0]);
    clear(&b[1]);
}

static void items_of_weight_zero_do_not_count(void **state)
{
    batch b = make(3, 2, (float[]){2, 0, 0, 2, NAN, 0}, (int64_t[]){0, 0, 0}, (float[]){1, 1, 0});

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_accuracy, &b, 1), 0.5, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_cross_entropy, &b, 1), (log(1 + exp(-2.0)) + log(1 + exp(2.0))) / 2,
                1e-12, 0);
    clear(&b);
}

static void cross_entropy_of_extreme_logits_is_finite(void **state)
{
    batch b = make(1, 2, (float[]){1e4f, -1e4f}, (int64_t[]){1}, NULL);

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_cross_entropy, &b, 1), 2e4, 1e-9, 0);
    clear(&b);
}

static void precision_and_recall_of_a_class_come_from_argmax(void **state)
{
    /* predicted 0 0 1 2, labelled 0 1 1 0: class 0 has one hit in two predictions, of two items */
    batch b =
        make(4, 3, (float[]){1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}, (int64_t[]){0, 1, 1, 0}, NULL);
    rgm_metric precision = {.type = &rgm_metric_class_precision, .class_id = 1};
    rgm_metric recall = {.type = &rgm_metric_class_recall, .class_id = 1};

    (void)state;
    CHECK_CLOSE(measure(&precision, &b, 1), 1.0, 0, 0);
    CHECK_CLOSE(measure(&recall, &b, 1), 0.5, 0, 0);
    clear(&b);
}

static void a_positive_is_a_logit_above_zero_not_above_one_half(void **state)
{
    /* TF-GNN's pitfall: logit 0.2 is a probability of 0.55 and so a positive. */
    batch b = make(4, 1, (float[]){0.2f, -0.2f, 3, 0.4f}, (int64_t[]){1, 0, 1, 0}, NULL);

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_binary_accuracy, &b, 1), 0.75, 0, 0);
    CHECK_CLOSE(of(&rgm_metric_precision, &b, 1), 2.0 / 3, 1e-12, 0);
    CHECK_CLOSE(of(&rgm_metric_recall, &b, 1), 1, 0, 0);
    clear(&b);
}

static void binary_cross_entropy_is_stable(void **state)
{
    batch b = make(2, 1, (float[]){1000, -1000}, (int64_t[]){0, 0}, NULL);

    (void)state;
    CHECK_CLOSE(of(&rgm_metric_binary_cross_entropy, &b, 1), 500, 1e-12, 0);
    clear(&b);
}

static void nothing_seen_is_zero(void **state)
{
    static const rgm_metric_type *const types[] = {
        &rgm_metric_accuracy,       &rgm_metric_cross_entropy, &rgm_metric_class_precision,
        &rgm_metric_class_recall,   &rgm_metric_precision,     &rgm_metric_recall,
        &rgm_metric_binary_accuracy};

    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        CHECK_CLOSE(of(types[i], NULL, 0), 0, 0, 0);
}

#define LONG_NAME "a class whose name has the same forty characters as another"

static void names_of_classes_are_whole_and_each_a_key_of_its_own(void **state)
{
    static const char *const names[] = {LONG_NAME " 1", LONG_NAME " 2"};
    static const char *const twice[] = {"cat", "cat"};
    char longest[RGM_METRIC_NAME + 1] = "";
    const char *too_long[] = {"cat", longest};
    rgm_classes classes = {.names = {names, 2}, .statistics = true};
    rgm_head head = {.metric_count = 0};

    (void)state;
    CHECK_OK(rgm_classes_check(&classes));
    rgm_classes_add_metrics(&head, &classes);
    CHECK_INT(6, head.metric_count);
    CHECK_TEXT("precision_for_" LONG_NAME " 1", head.metrics[2].name);
    CHECK_TEXT("recall_for_" LONG_NAME " 2", head.metrics[5].name);
    classes.names = (rgm_texts){twice, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_classes_check(&classes));
    CHECK_MESSAGE("task.class_names: 'cat' is named twice");
    memset(longest, 'a', sizeof longest - 1);
    classes.names = (rgm_texts){too_long, 2};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_classes_check(&classes));
    CHECK_MESSAGE("name 1 has 128 characters, 1 to 113 are possible");
}

/* r2 of `count` labels and predictions, of `parts` states that are added as shards add them. */
static double r2_of(const float *labels, const float *predictions, const float *weights,
                    int64_t count, int64_t parts)
{
    rgm_metric metric = {.type = &rgm_metric_r2};
    int64_t size = rgm_metric_r2.state_size(&metric);
    double *sum, *part, result;

    CHECK_OK(RGM_NEW(sum, size));
    CHECK_OK(RGM_NEW(part, size));
    for (int64_t p = 0; p < parts; p++) {
        int64_t begin = count * p / parts, items = count * (p + 1) / parts - begin;
        rgm_metric_batch view = {0};
        rgm_tensor *t[3] = {NULL};

        CHECK_OK(
            rgm_tensor_create_from(&t[0], RGM_F32, 2, (int64_t[]){items, 1}, predictions + begin));
        CHECK_OK(rgm_tensor_create_from(&t[1], RGM_F32, 2, (int64_t[]){items, 1}, labels + begin));
        if (weights != NULL)
            CHECK_OK(rgm_tensor_create_from(&t[2], RGM_F32, 1, &items, weights + begin));
        view = (rgm_metric_batch){.predictions = t[0], .labels = t[1], .weights = t[2]};
        memset(part, 0, (size_t)size * sizeof *part);
        rgm_metric_r2.update(part, &metric, &view);
        for (int64_t i = 0; i < size; i++)
            sum[i] += part[i];
        for (int k = 0; k < 3; k++)
            rgm_tensor_release(t[k]);
    }
    result = rgm_metric_r2.result(sum, &metric);
    rgm_free(sum);
    rgm_free(part);
    return result;
}

static void r2_of_added_states_is_that_of_all_items(void **state)
{
    float labels[] = {1, 2, 9, 10}, near[4], far[] = {1000001, 1000002, 1000009, 1000010};
    float weights[] = {1, 2, 0, 0.5F}, tiny[] = {1e-18F, 2e-18F, 9e-18F, 10e-18F};

    (void)state;
    for (int64_t parts = 1; parts <= 4; parts++) {
        for (int i = 0; i < 4; i++)
            near[i] = labels[i] + 0.5F;
        CHECK_CLOSE(r2_of(labels, near, NULL, 4, parts), 1 - 1.0 / 65, 1e-14, 0);
        /* of labels 1, 2, 10 by 1, 2, 0.5: weights 3.5, sum 10, squares 59 */
        CHECK_CLOSE(r2_of(labels, near, weights, 4, parts), 1 - 0.25 * 3.5 / (59 - 100 / 3.5),
                    1e-14, 0);
        for (int i = 0; i < 4; i++)
            near[i] = far[i] + 0.5F;
        CHECK_CLOSE(r2_of(far, near, NULL, 4, parts), 1 - 1.0 / 65, 1e-12, 0);
        CHECK_CLOSE(r2_of(tiny, tiny, NULL, 4, parts), 1, 0, 0);
        CHECK_CLOSE(r2_of(tiny, labels, NULL, 4, parts) / -(186 / 65e-36), 1, 1e-6, 0);
    }
}

static void r2_of_labels_that_do_not_vary_is_zero(void **state)
{
    enum { MANY = 1000 };
    float labels[MANY], predictions[MANY], weights[MANY];

    (void)state;
    for (int i = 0; i < MANY; i++) {
        labels[i] = 0.1F;
        predictions[i] = 0.7F;
        weights[i] = 1 / (float)(i + 3);
    }
    for (int64_t parts = 1; parts <= MANY; parts += 37) {
        CHECK_CLOSE(r2_of(labels, predictions, NULL, MANY, parts), 0, 0, 0);
        CHECK_CLOSE(r2_of(labels, predictions, weights, MANY, parts), 0, 0, 0);
    }
    labels[7] =
        nextafterf(0.1F, 1); /* one in a thousand, by its last bit: rounding could be as much */
    CHECK_CLOSE(r2_of(labels, labels, NULL, MANY, 3), 0, 0, 0);
    labels[7] = 0.1001F;
    CHECK_CLOSE(r2_of(labels, labels, NULL, MANY, 3), 1, 0, 0);
    labels[7] = NAN;
    CHECK(isnan(r2_of(labels, labels, NULL, MANY, 3)));
    labels[7] = INFINITY;
    CHECK(isnan(r2_of(labels, labels, NULL, MANY, 3)));
}

TESTS(cmocka_unit_test(accuracy_counts_over_batches_and_ties_go_to_the_lowest_class),
      cmocka_unit_test(items_of_weight_zero_do_not_count),
      cmocka_unit_test(cross_entropy_of_extreme_logits_is_finite),
      cmocka_unit_test(precision_and_recall_of_a_class_come_from_argmax),
      cmocka_unit_test(a_positive_is_a_logit_above_zero_not_above_one_half),
      cmocka_unit_test(binary_cross_entropy_is_stable),
      cmocka_unit_test(r2_of_added_states_is_that_of_all_items),
      cmocka_unit_test(r2_of_labels_that_do_not_vary_is_zero),
      cmocka_unit_test(nothing_seen_is_zero),
      cmocka_unit_test(names_of_classes_are_whole_and_each_a_key_of_its_own))
