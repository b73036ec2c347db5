/*
 * Losses of classes against Keras 3.15 (CategoricalCrossentropy, CategoricalFocalCrossentropy,
 * BinaryCrossentropy, BinaryFocalCrossentropy, from_logits, alpha 1, reduction None), their
 * gradients against central differences, and labels of which some are missing. Those of students
 * against PyTorch 2.15 (kl_div of log_softmax(logits / T) and softmax(teacher / T), reduction none,
 * summed over classes, times T^2).
 */
#include <check.h>

#include <regimen/metrics.h>

enum { ITEMS = 8, CLASSES = 4 };
static const double logits_at[ITEMS * CLASSES] = {2, 1,  0, -1, 0, 0,  3, 1, 1, 2,  -1,
                                                  0, -1, 0, 1,  2, 3,  2, 1, 0, 0,  -2,
                                                  1, -1, 1, 0,  2, -1, 0, 1, 1, 0.5};
static const int64_t labels_at[ITEMS] = {0, 2, 0, 3, 1, 2, 1, 1};
static const double one_at[ITEMS] = {2, -1, 0.5, -0.25, 3, -2, 1, -0.5};
static const double ones_at[ITEMS] = {1, 0, 0, 1, 1, 0, 1, 1};

/* One loss of given logits and labels, with its gradient. */
typedef struct tried {
    rgm_cgraph *graph;
    rgm_value *z, *y;
    rgm_tensor *logits, *labels, *loss, *slope;
} tried;

static void begin(tried *t, bool binary)
{
    rgm_dim shape[2] = {ITEMS, binary ? 1 : CLASSES};

    *t = (tried){.graph = NULL};
    CHECK_OK(rgm_tensor_create_from(&t->logits, RGM_F64, 2, shape, binary ? one_at : logits_at));
    if (binary)
        CHECK_OK(rgm_tensor_create_from(&t->labels, RGM_F64, 2, shape, ones_at));
    else
        CHECK_OK(rgm_tensor_create_from(&t->labels, RGM_I64, 1, shape, labels_at));
    CHECK_OK(rgm_cgraph_create(&t->graph));
    t->z = rgm_input(t->graph, "z", RGM_F64, 2, shape);
    t->y = rgm_input(t->graph, "y", binary ? RGM_F64 : RGM_I64, binary ? 2 : 1, shape);
}

static void evaluate(tried *t, rgm_value *loss)
{
    rgm_value *fetches[2] = {loss, NULL};
    rgm_feed feeds[2] = {{.input = t->z, .tensor = t->logits},
                         {.input = t->y, .tensor = t->labels}};
    rgm_executor *executor;
    rgm_tensor *out[2];

    CHECK_OK(rgm_cgraph_status(t->graph));
    CHECK_OK(rgm_cgraph_gradients(&fetches[1], rgm_sum(loss), &t->z, 1));
    CHECK_OK(rgm_executor_create(&executor, t->graph, fetches, 2, NULL));
    CHECK_OK(rgm_executor_run(executor, out, NULL, feeds, 2, 0, 0));
    rgm_tensor_release(t->loss);
    rgm_tensor_release(t->slope);
    CHECK_OK(rgm_tensor_copy(&t->loss, out[0]));
    CHECK_OK(rgm_tensor_copy(&t->slope, out[1]));
    rgm_executor_release(executor);
}

static void end(tried *t)
{
    rgm_tensor_release(t->logits);
    rgm_tensor_release(t->labels);
    rgm_tensor_release(t->loss);
    rgm_tensor_release(t->slope);
    rgm_cgraph_release(t->graph);
}

static rgm_value *weights_of(tried *t, const double *numbers, bool binary)
{
    rgm_tensor *tensor;
    rgm_value *weights;

    CHECK_OK(rgm_tensor_create_from(&tensor, RGM_F64, binary ? 2 : 1,
                                    (int64_t[]){binary ? 2 : CLASSES, 1}, numbers));
    weights = rgm_constant(t->graph, tensor);
    rgm_tensor_release(tensor);
    return weights;
}

static double sum_of(const rgm_tensor *tensor)
{
    double sum = 0;

    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++)
        sum += rgm_tensor_at(tensor, i);
    return sum;
}

/* Each logit by itself, up and down. */
static void check_slopes(tried *t, rgm_value *loss)
{
    const double h = 1e-5;
    double *z = rgm_tensor_f64(t->logits), slopes[ITEMS * CLASSES];
    int64_t count = rgm_tensor_count(t->logits);

    memcpy(slopes, rgm_tensor_f64(t->slope), (size_t)count * sizeof *slopes);
    for (int64_t k = 0; k < count; k++) {
        double above, at = z[k];

        z[k] = at + h;
        evaluate(t, loss);
        above = sum_of(t->loss);
        z[k] = at - h;
        evaluate(t, loss);
        CHECK_CLOSE(slopes[k], (above - sum_of(t->loss)) / (2 * h), 1e-7, 1e-9);
        z[k] = at;
    }
}

/* Compare losses with options against Keras' numbers and by their gradient. */
static void check_loss(bool binary, double smoothing, double gamma, const double *expected)
{
    rgm_class_loss_options options = {.smoothing = smoothing, .focal_gamma = gamma};
    tried t;
    rgm_value *loss;

    begin(&t, binary);
    loss = binary ? rgm_binary_loss(t.z, t.y, &options) : rgm_class_loss(t.z, t.y, &options);
    evaluate(&t, loss);
    for (int i = 0; i < ITEMS; i++)
        CHECK_CLOSE(rgm_tensor_at(t.loss, i), expected[i], 1e-6, 1e-7);
    check_slopes(&t, loss);
    end(&t);
}

static void losses_are_those_of_keras(void **state)
{
    (void)state;
    check_loss(false, 0.2, 0.0,
               (double[]){0.7401896985611954, 0.6109976232381757, 1.5401896985611956,
                          0.7401896985611953, 1.5401896985611956, 0.7401896985611953,
                          2.340189698561195, 1.1650457339193236});
    check_loss(false, 0, 2.0,
               (double[]){0.05581475711566404, 0.007634985584032106, 0.8386913505361093,
                          0.05581475711566404, 0.8386913505361093, 0.05581475711566404,
                          2.033423484177473, 0.4803057140868096});
    check_loss(false, 0.2, 1.5,
               (double[]){0.3977262873441064, 0.4096424798053827, 1.0909611545377493,
                          0.3977262873441064, 1.0909611545377493, 0.3977262873441064,
                          2.02551489840373, 0.6727663824477584});
    check_loss(true, 0.2, 0.0,
               (double[]){0.3269280195236206, 0.41326168179512024, 0.9240769743919373,
                          0.8009394407272339, 0.34858736395835876, 0.3269280195236206,
                          0.41326168179512024, 0.9240769743919373});
    check_loss(true, 0, 2.0,
               (double[]){0.0018035628600046039, 0.022658057510852814, 0.3774116039276123,
                          0.2610318958759308, 0.00010928332631010562, 0.0018035628600046039,
                          0.022658057510852814, 0.3774116039276123});
    check_loss(true, 0.2, 1.5,
               (double[]){0.02823016420006752, 0.07311518490314484, 0.42729172110557556,
                          0.326465368270874, 0.01785871759057045, 0.02823016420006752,
                          0.07311518490314484, 0.42729172110557556});
}

static void a_focal_loss_does_not_cancel_where_all_is_right(void **state)
{
    rgm_class_loss_options options = {.focal_gamma = 2};
    rgm_value *loss;
    tried t;

    (void)state;
    begin(&t, false);
    rgm_tensor_f64(t.logits)[0] = 20; /* 1 - p is about exp(-19) + exp(-20) + exp(-21) */
    loss = rgm_class_loss(t.z, t.y, &options);
    evaluate(&t, loss);
    CHECK_CLOSE(rgm_tensor_at(t.loss, 0), pow(exp(-19) + exp(-20) + exp(-21), 3), 1e-6, 0);
    CHECK(isfinite(sum_of(t.slope)));
    end(&t);
}

static void an_item_weighs_what_its_class_does(void **state)
{
    static const double four[CLASSES] = {1, 0.5, 3, 0}, two[2] = {0.25, 4};

    (void)state;
    for (int binary = 0; binary < 2; binary++) {
        rgm_class_loss_options options = {.smoothing = 0.1, .focal_gamma = 1}, plain = options;
        rgm_value *loss;
        double before[ITEMS];
        tried t;

        begin(&t, binary);
        options.weights = weights_of(&t, binary ? two : four, binary);
        evaluate(&t, binary ? rgm_binary_loss(t.z, t.y, &plain) : rgm_class_loss(t.z, t.y, &plain));
        for (int i = 0; i < ITEMS; i++)
            before[i] = rgm_tensor_at(t.loss, i);
        loss = binary ? rgm_binary_loss(t.z, t.y, &options) : rgm_class_loss(t.z, t.y, &options);
        evaluate(&t, loss);
        for (int i = 0; i < ITEMS; i++)
            CHECK_CLOSE(rgm_tensor_at(t.loss, i),
                        before[i] * (binary ? two[(int)ones_at[i]] : four[labels_at[i]]), 1e-12, 0);
        check_slopes(&t, loss);
        end(&t);
    }
}

static void options_that_cannot_be_are_refused(void **state)
{
    static const rgm_class_loss_options wrong[] = {
        {.smoothing = 1}, {.smoothing = -0.1}, {.focal_gamma = -1}, {.focal_gamma = INFINITY}};

    (void)state;
    for (int i = 0; i < 8; i++) {
        tried t;

        begin(&t, i >= 4);
        CHECK((i >= 4 ? rgm_binary_loss(t.z, t.y, &wrong[i - 4])
                      : rgm_class_loss(t.z, t.y, &wrong[i])) == NULL);
        CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(t.graph));
        CHECK_MESSAGE(i % 4 < 2 ? "label smoothing is" : "focal gamma is");
        end(&t);
    }
}

/* ---- missing labels -------------------------------------------------------------------------- */

static void missing_labels_are_zero_and_known_as_such(void **state)
{
    static const double numbers[4] = {2.5, NAN, -1, -3e7};
    static const float ones[4] = {1, NAN, -1, 0};
    static const int64_t classes[4] = {3, -1, 0, INT64_MIN};
    static const int64_t amounts[4] = {INT64_MIN, -1, 5, 0};
    static const int32_t counts[4] = {7, INT32_MIN, -1, INT32_MIN};
    static const struct {
        rgm_dtype dtype;
        const void *labels;
        bool classes;
        double known[4], left[4];
    } cases[] = {{RGM_F64, numbers, false, {1, 0, 1, 1}, {2.5, 0, -1, -3e7}},
                 {RGM_F32, ones, true, {1, 0, 0, 1}, {1, 0, 0, 0}},
                 {RGM_I64, classes, true, {1, 0, 1, 0}, {3, 0, 0, 0}},
                 {RGM_I64, amounts, false, {0, 1, 1, 1}, {0, -1, 5, 0}},
                 {RGM_I32, counts, false, {1, 0, 1, 0}, {7, 0, -1, 0}}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool whole = cases[i].dtype == RGM_I64 || cases[i].dtype == RGM_I32;
        rgm_dtype dtype = whole ? RGM_F32 : cases[i].dtype;
        rgm_value *fetches[2], *input;
        rgm_cgraph *graph;
        rgm_executor *executor;
        rgm_tensor *labels, *out[2];

        CHECK_OK(
            rgm_tensor_create_from(&labels, cases[i].dtype, 1, (int64_t[]){4}, cases[i].labels));
        CHECK_OK(rgm_cgraph_create(&graph));
        input = rgm_input(graph, "y", cases[i].dtype, 1, (rgm_dim[]){4});
        fetches[0] = rgm_known_labels(&fetches[1], input, dtype, cases[i].classes);
        CHECK_OK(rgm_cgraph_status(graph));
        CHECK(rgm_value_dtype(fetches[0]) == (cases[i].classes ? cases[i].dtype : dtype));
        CHECK_OK(rgm_executor_create(&executor, graph, fetches, 2, NULL));
        CHECK_OK(rgm_executor_run(executor, out, NULL,
                                  &(rgm_feed){.input = input, .tensor = labels}, 1, 0, 0));
        for (int k = 0; k < 4; k++) {
            CHECK_CLOSE(rgm_tensor_at(out[0], k), cases[i].left[k], 0, 0);
            CHECK_CLOSE(rgm_tensor_at(out[1], k), cases[i].known[k], 0, 0);
        }
        rgm_executor_release(executor);
        rgm_cgraph_release(graph);
        rgm_tensor_release(labels);
    }
}

/* ---- students -------------------------------------------------------------------------------- */

/* 2 sin(1.3 i), or 2 cos(0.7 i). */
static rgm_value *teacher_of(tried *t, int number)
{
    const int64_t shape[2] = {ITEMS, CLASSES};
    rgm_tensor *tensor;
    rgm_value *teacher;

    CHECK_OK(rgm_tensor_create(&tensor, RGM_F64, 2, shape));
    for (int i = 0; i < ITEMS * CLASSES; i++)
        rgm_tensor_f64(tensor)[i] = 2 * (number == 0 ? sin(1.3 * i) : cos(0.7 * i));
    teacher = rgm_constant(t->graph, tensor);
    rgm_tensor_release(tensor);
    return teacher;
}

static void check_taught(int64_t teacher_count, int64_t classes, double temperature,
                         const double *losses, const double *slopes)
{
    rgm_value *teachers[2], *loss;
    tried t;

    begin(&t, false);
    teachers[0] = teacher_of(&t, 0);
    teachers[1] = teacher_of(&t, 1);
    loss = rgm_distillation_losses(t.z, teachers, teacher_count, classes, temperature);
    evaluate(&t, loss);
    for (int i = 0; i < ITEMS; i++)
        CHECK_CLOSE(rgm_tensor_at(t.loss, i), losses[i], 1e-10, 0);
    for (int i = 0; i < 3; i++)
        CHECK_CLOSE(rgm_tensor_at(t.slope, i), slopes[i], 1e-10, 0);
    for (int i = 0; i < ITEMS * CLASSES; i++)
        if (i % CLASSES >= classes)
            CHECK_CLOSE(rgm_tensor_at(t.slope, i), 0, 0, 0);
    check_slopes(&t, loss);
    end(&t);
}

static void distances_from_teachers_are_those_of_pytorch(void **state)
{
    (void)state;
    check_taught(1, 4, 1,
                 (double[]){0.704771254461, 0.112640629034, 1.8780630955, 0.406808247557,
                            0.118749388002, 1.48510953255, 0.70056123274, 0.31651343753},
                 (double[]){0.552391576786, -0.391848001385, -0.169473935346});
    check_taught(1, 4, 2.5,
                 (double[]){0.803626012508, 0.222725186588, 2.8562316957, 0.727098072439,
                            0.263152339199, 2.04716289451, 0.749843259087, 0.529893087604},
                 (double[]){0.556404345778, -0.337316017428, -0.255391955527});
    check_taught(1, 3, 1,
                 (double[]){0.72000387624, 0.114787217589, 2.44286968217, 1.20986888443,
                            0.117978971362, 1.45142963512, 0.724396655355, 0.415232676187},
                 (double[]){0.571551397778, -0.398888068358, -0.172663329419});
    check_taught(2, 4, 1,
                 (double[]){0.239780261849, 0.411528945302, 0.791719513404, 0.445872685271,
                            0.215038116585, 1.08672768798, 0.734967084379, 0.225985548873},
                 (double[]){0.329946873579, -0.24505907824, -0.0921578810302});
    check_taught(2, 3, 2.5,
                 (double[]){0.29551516106, 0.270016099214, 1.48355182398, 0.951637912659,
                            0.0787895628415, 1.5515158822, 0.543511899017, 0.111452993688},
                 (double[]){0.378451964774, -0.229690569523, -0.148761395251});
}

static void no_gradient_goes_to_teachers(void **state)
{
    rgm_value *wrt, *slope, *loss;
    rgm_executor *executor;
    rgm_tensor *out;
    rgm_feed feed;
    tried t;

    (void)state;
    begin(&t, false);
    wrt = t.z;
    loss = rgm_distillation_losses(teacher_of(&t, 0), &wrt, 1, CLASSES, 2);
    CHECK_OK(rgm_cgraph_gradients(&slope, rgm_sum(loss), &wrt, 1));
    CHECK_OK(rgm_executor_create(&executor, t.graph, &slope, 1, NULL));
    feed = (rgm_feed){.input = t.z, .tensor = t.logits};
    CHECK_OK(rgm_executor_run(executor, &out, NULL, &feed, 1, 0, 0));
    for (int i = 0; i < ITEMS * CLASSES; i++)
        CHECK_CLOSE(rgm_tensor_at(out, i), 0, 0, 0);
    CHECK(rgm_distillation_losses(t.z, &wrt, 1, CLASSES, 0) == NULL);
    CHECK_STATUS(RGM_ERR_ARG, rgm_cgraph_status(t.graph));
    CHECK_MESSAGE("a temperature of 0");
    rgm_executor_release(executor);
    end(&t);
}

TESTS(cmocka_unit_test(losses_are_those_of_keras),
      cmocka_unit_test(distances_from_teachers_are_those_of_pytorch),
      cmocka_unit_test(no_gradient_goes_to_teachers),
      cmocka_unit_test(a_focal_loss_does_not_cancel_where_all_is_right),
      cmocka_unit_test(an_item_weighs_what_its_class_does),
      cmocka_unit_test(options_that_cannot_be_are_refused),
      cmocka_unit_test(missing_labels_are_zero_and_known_as_such))
