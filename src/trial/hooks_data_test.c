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
    check_refused("build_validation_spec: no tensor of validation is named 'z', as in training");
    change.valid_names = two;
    check_refused("2 tensors of validation have names, but 3 of training");
    change.valid_names = label_first;
    change.order = "yxz";
    check_refused("'z' is a label, but a feature in training: the last 1 are labels");
    change.train_names = NULL;
    check_refused("validation's tensors have names ('x', ...), training's have none");
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
    CHECK_MESSAGE("`varying` has no \"x/1\", but that axis varies: a batch of (x: f32[batch,5]");
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
                 {"x/2", "`varying` has 'x/2': the tensor has axes 0, of records"},
                 {"x/1=", "`varying` has 'x/1=', which is no axis"},
                 {"x/1=w/1", "`varying` has 'x/1=w/1': no tensor is named so"},
                 {"=x/1", "`varying` has '=x/1', which is no axis"}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const axes[] = {cases[i].axis, NULL};

        change.varying = axes;
        check_refused(cases[i].message);
    }
}

/* ---- a graph's record -------------------------------------------------------------------------
 */

static struct graph_change {
    const char *const *names, *const *valid_names, *const *varying;
    const char *order; /* of validation's tensors: a name each, t is of texts */
    bool reads_text, mask_differs, texts_alone;
} graph;

static const char *const record_names[] = {"tokens", "mask", "note", NULL};

/* tokens and mask [2, n], n = 3 and 4, note [2] of texts. */
static rgm_status record(rgm_element **out, int64_t i, void *payload)
{
    const char *order = payload != NULL ? "tmn" : graph.order;
    static const rgm_str notes[] = {{"one", 3}, {"two", 3}};
    rgm_tensor *tensors[3] = {NULL};
    rgm_status status = RGM_OK;

    for (int k = 0; k < 3; k++)
        RGM_GO(order[k] == 'n'
                   ? rgm_tensor_create_from(&tensors[k], RGM_STRING, 1, (int64_t[]){2}, notes)
                   : rgm_tensor_create(
                         &tensors[k], RGM_F32, 2,
                         (int64_t[]){2, 3 + i % 2 +
                                            (graph.mask_differs && i == 3 && order[k] == 'm')}));
    RGM_GO(rgm_element_create_tensors(out, tensors, 3));
done:
    for (int k = 0; k < 3; k++)
        rgm_tensor_release(tensors[k]);
    return status;
}

static rgm_status lines(rgm_dataset **out)
{
    RGM_TRY(rgm_dataset_from_paths(out, (const char *[]){"a", "b", "c", "d"}, 4));
    return rgm_dataset_batch(out, 2, false);
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static int training;

    (void)hparams, (void)experiment;
    out->names = graph.names;
    out->valid_names = graph.valid_names;
    out->varying = graph.varying;
    if (graph.texts_alone) {
        RGM_TRY(lines(&out->train));
        return lines(&out->valid);
    }
    RGM_TRY(rgm_dataset_from_function(&out->train, 4, record, &training, NULL));
    return rgm_dataset_from_function(&out->valid, 4, record, NULL, NULL);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *rec,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){1}, (rgm_init){RGM_INIT_ONES, 0});

    (void)is_training, (void)hparams;
    rgm_output(out, "loss", rgm_mean(rgm_square(w)));
    if (graph.texts_alone)
        rgm_output(out, "mean_x", rgm_mean(w));
    else
        rgm_output(
            out, "mean_x",
            rgm_mean(rgm_mul(rgm_record_value(rec, "tokens"), rgm_record_value(rec, "mask"))));
    if (graph.reads_text)
        (void)rgm_record_value(rec, "note");
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    (void)hparams;
    return rgm_sgd(0.1, 0);
}

RGM_TRIAL(recorded, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .validation_metrics = {"mean_x"});

static const char *const same_axis[] = {"mask/1=tokens/1", NULL};

static int reset_graph(void **state)
{
    (void)state;
    graph = (struct graph_change){.names = record_names, .varying = same_axis, .order = "tmn"};
    return 0;
}

static rgm_status open_graph(rgm_trial **out, bool is_test)
{
    return rgm_trial_open(
        out, &(rgm_trial_setup){.file = file, .hooks = &rgm_hooks_recorded, .is_test = is_test});
}

static void train_and_validate(void)
{
    rgm_workload_result r;
    rgm_trial *trial;

    CHECK_OK(open_graph(&trial, true));
    rgm_trial_close(trial);
    CHECK_OK(open_graph(&trial, false));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 4}, &r));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 4}, &r));
    rgm_trial_close(trial);
}

/* One axis of two tensors: the graph may multiply them. */
static void axes_vary_together_where_they_are_said_to(void **state)
{
    static const char *const apart[] = {"mask/1", "tokens/1", NULL};
    static const char *const round[] = {"mask/1=tokens/1", "tokens/1=mask/1", NULL};
    rgm_workload_result r;
    rgm_trial *trial;

    reset_graph(state);
    train_and_validate();
    graph.varying = round;
    train_and_validate();
    graph.varying = apart;
    CHECK_STATUS(RGM_ERR_SHAPE, open_graph(&trial, false));
    reset_graph(state);
    graph.mask_differs = true;
    CHECK_STATUS(RGM_ERR_SHAPE, open_graph(&trial, true));
    CHECK_MESSAGE("batch 4 of training data: axis mask/1 has 5 elements, but tokens/1, as which it "
                  "varies, has 4");
    CHECK_OK(open_graph(&trial, false));
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 4}, &r));
    CHECK_MESSAGE("axis mask/1 has 5 elements");
    rgm_trial_close(trial);
}

static void texts_are_a_part_of_a_record_and_not_of_a_graph(void **state)
{
    rgm_trial *trial;

    reset_graph(state);
    graph.reads_text = true;
    CHECK_STATUS(RGM_ERR_DTYPE, open_graph(&trial, false));
    CHECK_MESSAGE("build_graph: the tensor 'note' of the record is of texts, which no graph takes");
    reset_graph(state);
    graph.texts_alone = true;
    graph.names = graph.varying = NULL;
    train_and_validate();
}

static void both_records_have_the_same_names(void **state)
{
    static const char *const swapped[] = {"note", "tokens", "mask", NULL};
    static const char *const other[] = {"tokens", "masks", "note", NULL};
    static const char *const nested[] = {"tokens", "tokens/mask", "note", NULL};
    rgm_trial *trial;

    reset_graph(state);
    graph.order = "ntm";
    CHECK_STATUS(RGM_ERR_DATA, open_graph(&trial, false)); /* without names by their places */
    CHECK_MESSAGE("training data give (tokens: f32[batch,?], mask: f32[batch,?], note: "
                  "string[batch]), but validation data (tokens: string[batch], mask: "
                  "f32[batch,?], note: f32[batch,?])");
    graph.valid_names = swapped;
    train_and_validate();
    reset_graph(state);
    graph.valid_names = other;
    CHECK_STATUS(RGM_ERR_CONFIG, open_graph(&trial, false));
    CHECK_MESSAGE("make_data_loaders: no tensor of validation is named 'mask', as in training; did "
                  "you mean 'masks'?");
    graph.names = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, open_graph(&trial, false));
    CHECK_MESSAGE("validation's tensors have names ('tokens', ...), training's have none");
    reset_graph(state);
    graph.names = nested;
    CHECK_STATUS(RGM_ERR_CONFIG, open_graph(&trial, false));
    CHECK_MESSAGE(
        "a tensor is named 'tokens', and another 'tokens/mask', which would be inside it");
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
        cmocka_unit_test(axes_vary_together_where_they_are_said_to),
        cmocka_unit_test(texts_are_a_part_of_a_record_and_not_of_a_graph),
        cmocka_unit_test(both_records_have_the_same_names),
        cmocka_unit_test_teardown(memory_that_runs_out_is_told, reset),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
