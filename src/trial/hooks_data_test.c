/*
 * Data of hooks: tensors are found by their names in training and in validation, and axes vary
 * where they are said to.
 */
#include <check.h>

#include <regimen/trial.h>

enum { ROWS = 8, BATCH = 4 };

/* What a test changes of what the hooks do. */
static struct change {
    const char *const *train_names, *const *valid_names;
    const char *order; /* of the validation's tensors, a letter each */
    int64_t valid_labels;
    const char *const *varying;
    const int64_t *widths; /* of the batches of training; NULL: 2 */
} change;

static const char *const as_trained[] = {"x", "z", "y", NULL};

static int reset(void **state)
{
    (void)state;
    change = (struct change){
        .train_names = as_trained, .valid_names = as_trained, .order = "xzy", .valid_labels = 1};
    return 0;
}

/* ---- batches --------------------------------------------------------------------------------- */

/* x is 1, z is 100, y is 3 everywhere. */
static rgm_status make_tensor(rgm_tensor **out, char name, int64_t width)
{
    float value = name == 'x' ? 1 : name == 'z' ? 100 : 3;

    RGM_TRY(rgm_tensor_create(out, RGM_F32, 2, (int64_t[]){BATCH, width}));
    for (int64_t i = 0; i < BATCH * width; i++)
        rgm_tensor_f32(*out)[i] = value;
    return RGM_OK;
}

static rgm_status make_batch(rgm_element **out, const char *order, int64_t width)
{
    rgm_tensor *tensors[3] = {NULL};
    rgm_status status = RGM_OK;

    for (int i = 0; i < 3; i++)
        RGM_GO(make_tensor(&tensors[i], order[i], order[i] == 'y' ? 1 : width));
    RGM_GO(rgm_element_create_tensors(out, tensors, 3));
done:
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(tensors[i]);
    return status;
}

static rgm_status train_batch(rgm_element **out, int64_t i, void *payload)
{
    (void)payload;
    return make_batch(out, "xzy", change.widths != NULL ? change.widths[i] : 2);
}

static rgm_status valid_batch(rgm_element **out, int64_t i, void *payload)
{
    (void)i, (void)payload;
    return make_batch(out, change.order, 2);
}

/* ---- the trial ------------------------------------------------------------------------------- */

static void model_fn(rgm_outputs *out, rgm_scope *scope, const rgm_record *features,
                     const rgm_record *labels, rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *x = rgm_record_value(features, "x"), *z = rgm_record_value(features, "z");
    rgm_value *y = rgm_record_value(labels, "y");
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){1}, (rgm_init){RGM_INIT_ONES, 0});

    (void)is_training, (void)hparams;
    rgm_output(out, "loss", rgm_mean(rgm_square(w)));
    rgm_output(out, "mean_x", rgm_mean(x));
    rgm_output(out, "mean_z", rgm_mean(z));
    rgm_output(out, "mean_y", rgm_mean(y));
}

static rgm_status build_estimator(rgm_estimator *out, const rgm_config *hparams)
{
    (void)hparams;
    *out = (rgm_estimator){.model_fn = model_fn, .optimizer = rgm_sgd(0.1, 0)};
    return RGM_OK;
}

static rgm_status build_train_spec(rgm_input_spec *out, const rgm_config *experiment,
                                   const rgm_config *hparams)
{
    (void)experiment, (void)hparams;
    *out =
        (rgm_input_spec){.names = change.train_names, .label_count = 1, .varying = change.varying};
    return rgm_dataset_from_function(&out->dataset, 4, train_batch, NULL, NULL);
}

static rgm_status build_validation_spec(rgm_input_spec *out, const rgm_config *experiment,
                                        const rgm_config *hparams)
{
    (void)experiment, (void)hparams;
    *out = (rgm_input_spec){.names = change.valid_names, .label_count = change.valid_labels};
    return rgm_dataset_from_function(&out->dataset, 2, valid_batch, NULL, NULL);
}

RGM_TRIAL(named, .build_estimator = build_estimator, .build_train_spec = build_train_spec,
          .build_validation_spec = build_validation_spec);

static rgm_search_file *file;

static int setup(void **state)
{
    static const char text[] = "entrypoint: its-own\n"
                               "searcher: {name: single, metric: mean_x, max_length: 4}\n"
                               "batches_per_step: 4\n";

    CHECK_OK(rgm_search_file_parse(&file, NULL, text, sizeof text - 1, "named.yaml", NULL));
    return reset(state);
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return 0;
}

static rgm_status open_trial(rgm_trial **out, bool is_test)
{
    return rgm_trial_open(
        out, &(rgm_trial_setup){.file = file, .hooks = &rgm_hooks_named, .is_test = is_test});
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void check_means(void)
{
    static const rgm_workload train = {RGM_RUN_STEP, 1, 4},
                              validate = {RGM_COMPUTE_VALIDATION_METRICS, 1, 4};
    rgm_workload_result r;
    rgm_trial *trial;

    CHECK_OK(open_trial(&trial, false));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_trial_do(trial, i == 0 ? &train : &validate, &r));
        CHECK(rgm_logs_get(r.metrics, "mean_x") == 1 && rgm_logs_get(r.metrics, "mean_z") == 100 &&
              rgm_logs_get(r.metrics, "mean_y") == 3);
    }
    rgm_trial_close(trial);
}

static void tensors_are_found_by_name(void **state)
{
    static const char *const swapped[] = {"z", "x", "y", NULL};

    (void)state;
    check_means();
    change.valid_names = NULL; /* those of training, in their order */
    check_means();
    change.valid_names = swapped;
    change.order = "zxy";
    check_means();
}

static void check_refused(const char *message)
{
    rgm_trial *trial = NULL;

    CHECK(open_trial(&trial, false) < 0 && trial == NULL);
    CHECK_MESSAGE(message);
    reset(NULL);
}

static void names_that_do_not_fit_are_refused(void **state)
{
    static const char *const other[] = {"x", "Z", "y", NULL}, *const two[] = {"x", "z", NULL},
                             *const label_first[] = {"y", "x", "z", NULL};

    (void)state;
    change.valid_names = other;
    check_refused("build_validation_spec: no tensor is named 'z', as in training");
    change.valid_names = two;
    check_refused("2 tensors are named, but 3 in training");
    change.valid_names = label_first;
    change.order = "yxz";
    check_refused("'z' is a label, but a feature in training: the last 1 are labels");
    change.train_names = NULL;
    check_refused("it names its tensors ('x', ...), build_train_spec does not");
    change.valid_labels = 2;
    check_refused("2 labels, but 1 in training");
}

/* Batches 0 and 1 show nothing of what batch 2 has. */
static const int64_t widths[] = {2, 2, 5, 3};

static void an_axis_varies_where_it_is_said_to(void **state)
{
    static const char *const axes[] = {"x/1", "z/1", NULL};

    (void)state;
    change.widths = widths;
    change.varying = axes;
    check_means();
}

static void an_axis_that_varies_unsaid_is_named(void **state)
{
    rgm_workload_result r;
    rgm_trial *trial = NULL;

    (void)state;
    change.widths = widths;
    CHECK(open_trial(&trial, true) < 0 && trial == NULL); /* a test looks further */
    CHECK_MESSAGE("batch 3 of training data: `varying` has no \"x/1\", but that axis varies");
    CHECK_OK(open_trial(&trial, false));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 4}, &r));
    CHECK_MESSAGE("`varying` has no \"x/1\", but that axis varies: a batch of (f32[batch,5]");
    rgm_trial_close(trial);
}

static void what_is_no_axis_is_refused(void **state)
{
    static const struct {
        const char *axis, *message;
    } cases[] = {{"x", "`varying` has 'x', which is no axis"},
                 {"x/", "`varying` has 'x/', which is no axis"},
                 {"w/1", "`varying` has 'w/1': no tensor is named so"},
                 {"x/0", "`varying` has 'x/0': the tensor has axes 0, of records"},
                 {"x/2", "`varying` has 'x/2': the tensor has axes 0, of records"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const axes[] = {cases[i].axis, NULL};

        change.varying = axes;
        check_refused(cases[i].message);
    }
}

static rgm_status open_and_close(void)
{
    rgm_trial *trial = NULL;
    rgm_status status = open_trial(&trial, true);

    rgm_trial_close(trial);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    static const char *const swapped[] = {"z", "x", "y", NULL}, *const axes[] = {"x/1", NULL};

    (void)state;
    change.valid_names = swapped;
    change.order = "zxy";
    change.varying = axes;
    CHECK_EVERY_OOM(open_and_close(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(tensors_are_found_by_name, reset),
        cmocka_unit_test_teardown(names_that_do_not_fit_are_refused, reset),
        cmocka_unit_test_teardown(an_axis_varies_where_it_is_said_to, reset),
        cmocka_unit_test_teardown(an_axis_that_varies_unsaid_is_named, reset),
        cmocka_unit_test_teardown(what_is_no_axis_is_refused, reset),
        cmocka_unit_test_teardown(memory_that_runs_out_is_told, reset),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
