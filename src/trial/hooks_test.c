/*
 * Hooks: a program's own model and data as trials, in both forms, and every mistake that they can
 * make, told before the first step.
 */
#include <check.h>

#include "hooks.h"

static char folder[128];
static rgm_search_file *file;

/* ---- a trial whose error shrinks to nine tenths in every step -------------------------------- */

enum { ROWS = 10, BATCH = 4 };

/* What a test changes of what the hooks do. */
static struct change {
    bool no_train, no_valid, empty_train, empty_valid, bytes, scalars, texts, endless_valid;
    bool other_type, other_shape, own_lists, no_optimizer, fails, invalid, asks_wrong, shuffled;
    bool predicts;
    const char *const *names;
    int loss; /* 0 right, 1 none, 2 a vector, 3 an integer, 4 NULL, 5 stands twice */
    int calls;
} change;

static rgm_status rows(rgm_dataset **out, bool valid)
{
    rgm_status status = RGM_OK;
    rgm_tensor *x = NULL, *y = NULL;
    rgm_dtype dtype = valid && change.other_type ? RGM_F64 : RGM_F32;
    int64_t width = valid && change.other_shape ? 3 : 2;

    *out = NULL;
    RGM_GO(rgm_tensor_create(&x, dtype, 2, (int64_t[]){ROWS, width}));
    RGM_GO(rgm_tensor_create(&y, RGM_I32, 1, (int64_t[]){ROWS}));
    for (int i = 0; i < ROWS; i++) {
        rgm_tensor_i32(y)[i] = i;
        for (int64_t k = 0; k < width; k++)
            if (dtype == RGM_F32)
                rgm_tensor_f32(x)[i * width + k] = (float)i;
    }
    RGM_GO(rgm_dataset_from_tensors(out, (rgm_tensor *[]){x, y}, 2));
    if (change.shuffled && !valid)
        RGM_GO(rgm_dataset_shuffle_all(out));
    if ((valid && change.empty_valid) || (!valid && change.empty_train))
        RGM_GO(rgm_dataset_take(out, 0));
    if (change.scalars && valid == false) /* rows of their own: y has no axis */
        goto done;
    RGM_GO(rgm_dataset_batch(out, BATCH, false));
    if (!change.own_lists)
        RGM_GO(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 0));
    if (valid && change.endless_valid)
        RGM_GO(rgm_dataset_repeat(out, -1));
done:
    rgm_tensor_release(x);
    rgm_tensor_release(y);
    if (status != RGM_OK) {
        rgm_dataset_release(*out);
        *out = NULL;
    }
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"x", "y", NULL};

    CHECK_TEXT("somewhere", rgm_config_string(experiment, "data.path"));
    CHECK_INT(1, rgm_config_int(experiment, "batches_per_step"));
    CHECK(rgm_config_float(hparams, "rate") == 0.1);
    CHECK(rgm_config_has(experiment, "searcher.name") && !rgm_config_has(hparams, "none"));
    if (change.asks_wrong)
        (void)rgm_config_int(hparams, "rat");
    if (change.fails)
        return RGM_FAIL(RGM_ERR_IO, "the disk is gone");
    if (change.invalid)
        return rgm_invalid_hyperparameters("a rate of %g cannot be", 0.1);
    out->names = change.names != NULL ? change.names : names;
    if (change.bytes) {
        RGM_TRY(rgm_dataset_from_paths(&out->train, (const char *[]){"a"}, 1));
    } else if (!change.no_train) {
        RGM_TRY(rows(&out->train, false));
    }
    return change.no_valid ? RGM_OK : rows(&out->valid, true);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *x = rgm_record_value(record, "x");
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){1}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_value *one = rgm_reshape(w, 0, NULL);
    rgm_value *loss = rgm_scale(rgm_square(one), 0.5);

    (void)hparams;
    change.calls++;
    CHECK_INT(2, rgm_record_count(record));
    CHECK(rgm_record_at(record, 0) == x);
    if (change.loss != 1 && change.loss != 4)
        rgm_output(out, "loss",
                   change.loss == 2   ? rgm_square(w)
                   : change.loss == 3 ? rgm_cast(loss, RGM_I32)
                                      : loss);
    if (change.loss == 4)
        rgm_output(out, "loss", NULL);
    if (change.loss == 5)
        rgm_output(out, "loss", loss);
    if (change.predicts)
        rgm_output_prediction(out, "guess", rgm_mul(x, w), RGM_OUTPUT_NUMBERS);
    rgm_output(out, "error", one);
    rgm_output(out, "training", rgm_reshape(is_training, 0, NULL));
    rgm_output(out, "mean", rgm_mean(x));
    rgm_output_as(out, "weighted", rgm_mean(x), RGM_AGGREGATE_WEIGHTED_MEAN);
    rgm_output_as(out, "sum", rgm_mean(x), RGM_AGGREGATE_SUM);
    rgm_output_as(out, "least", rgm_mean(x), RGM_AGGREGATE_MIN);
    rgm_output_as(out, "most", rgm_mean(x), RGM_AGGREGATE_MAX);
    rgm_output_as(out, "last", rgm_mean(x), RGM_AGGREGATE_LAST);
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    return change.no_optimizer ? (rgm_optimizer_options){.type = NULL}
                               : rgm_sgd(rgm_config_float(hparams, "rate"), 0);
}

static void session_config(rgm_session_config *config, const rgm_config *hparams)
{
    (void)hparams;
    config->threads = 1;
}

RGM_TRIAL(shrinking, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .session_config = session_config,
          .training_metrics = {"error", "training"},
          .validation_metrics = {"error", "training", "mean", "weighted", "sum", "least", "most",
                                 "last"});

/* ---- opening ----------------------------------------------------------------------------------
 */

#define SEARCH(hyperparameters)                                                                    \
    "entrypoint: its-own\n"                                                                        \
    "data: {path: somewhere}\n"                                                                    \
    "hyperparameters: {" hyperparameters "}\n"                                                     \
    "searcher: {name: random, metric: error, max_trials: 2, max_length: 100}\n"                    \
    "batches_per_step: 1\n"
static const char search[] = SEARCH("rate: 0.1");

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        snprintf(folder, sizeof folder, "%s", check_folder());
    CHECK_OK(rgm_search_file_parse(&file, NULL, search, sizeof search - 1, "s.yaml", NULL));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static int forget(void **state)
{
    (void)state;
    change = (struct change){0};
    return 0;
}

static rgm_hyper_value values[4];

static rgm_trial_setup setup_of(const rgm_trial_hooks *hooks, const char *run)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    snprintf(path, sizeof paths[0], "%s/%s", folder, run != NULL ? run : "");
    return (rgm_trial_setup){.file = file,
                             .hooks = hooks,
                             .values = values,
                             .seed = 3,
                             .run_dir = run != NULL ? path : NULL};
}

static double number(rgm_trial *trial, rgm_workload_kind kind, int64_t at, const char *name)
{
    rgm_workload_result r;

    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){kind, at, at}, &r));
    return name != NULL ? rgm_logs_get(r.metrics, name) : 0;
}

static void train_to(rgm_trial *trial, int64_t steps)
{
    while (rgm_run_steps(rgm_trial_run(trial)) < steps)
        number(trial, RGM_RUN_STEP, rgm_run_steps(rgm_trial_run(trial)) + 1, NULL);
}

/* ---- PEDL's case ------------------------------------------------------------------------------
 */

static void case_37_steps_continuation_and_warm_start(void **state)
{
    rgm_trial_setup s = setup_of(&rgm_hooks_shrinking, "case37");
    char at_2[300];
    rgm_trial *trial;

    (void)state;
    CHECK_OK(rgm_trial_open(&trial, &s));
    train_to(trial, 2);
    number(trial, RGM_CHECKPOINT_MODEL, 2, NULL);
    train_to(trial, 30);
    CHECK_CLOSE(number(trial, RGM_COMPUTE_VALIDATION_METRICS, 30, "error"), pow(0.9, 30), 1e-5, 0);
    number(trial, RGM_CHECKPOINT_MODEL, 30, NULL);
    rgm_trial_close(trial);
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_INT(30, rgmi_trial_opened_at(trial));
    train_to(trial, 60);
    CHECK_CLOSE(number(trial, RGM_COMPUTE_VALIDATION_METRICS, 60, "error"), pow(0.9, 60), 1e-5, 0);
    rgm_trial_close(trial);
    snprintf(at_2, sizeof at_2, "%s/case37/ckpt/step-00000002", folder);
    s = setup_of(&rgm_hooks_shrinking, "warm");
    s.from = at_2;
    CHECK_OK(rgm_trial_open(&trial, &s));
    train_to(trial, 1);
    CHECK_CLOSE(number(trial, RGM_COMPUTE_VALIDATION_METRICS, 1, "error"), pow(0.9, 3), 1e-6, 0);
    rgm_trial_close(trial);
}

/* ---- metrics ----------------------------------------------------------------------------------
 */

/* Batches of 4, 4 and 2 rows of the numbers 0..9: means 1.5, 5.5 and 8.5. */
static void metrics_are_what_they_say(void **state)
{
    rgm_trial_setup s = setup_of(&rgm_hooks_shrinking, NULL);
    rgm_workload_result r;
    rgm_trial *trial;

    (void)state;
    change.own_lists = true; /* stacked for the program */
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_INT(1, change.calls); /* one graph for both */
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 1}, &r));
    CHECK(rgm_logs_get(r.metrics, "training") == 1 && rgm_logs_get(r.metrics, "loss") == 0.5);
    CHECK(rgm_logs_get(r.metrics, "error") == 1 && !rgm_logs_has(r.metrics, "mean"));
    CHECK_INT(4, r.num_inputs);
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 1}, &r));
    CHECK(rgm_logs_get(r.metrics, "training") == 0);
    CHECK_CLOSE(rgm_logs_get(r.metrics, "mean"), 15.5 / 3, 1e-6, 0);
    CHECK_CLOSE(rgm_logs_get(r.metrics, "weighted"), 4.5, 1e-6, 0);
    CHECK_CLOSE(rgm_logs_get(r.metrics, "sum"), 15.5, 1e-6, 0);
    CHECK(rgm_logs_get(r.metrics, "least") == 1.5 && rgm_logs_get(r.metrics, "most") == 8.5);
    CHECK(rgm_logs_get(r.metrics, "last") == 8.5);
    CHECK_INT(ROWS, r.num_inputs);
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 2, 4}, &r)); /* data repeat */
    CHECK_INT(4 + 2 + 4, r.num_inputs);
    rgm_trial_close(trial);
}

/* ---- mistakes ---------------------------------------------------------------------------------
 */

static void check_refused(const rgm_trial_hooks *hooks, const char *message)
{
    rgm_trial_setup s = setup_of(hooks, "refused");
    rgm_trial *trial = NULL;

    if (rgm_trial_open(&trial, &s) >= 0 || strstr(rgm_error_message(), message) == NULL)
        fail_msg("'%s' was expected, not: %s", message, rgm_error_text());
    CHECK(trial == NULL);
    change = (struct change){0};
}

static void missing_hooks_are_named(void **state)
{
    rgm_trial_hooks h = rgm_hooks_shrinking;

    (void)state;
    h.make_data_loaders = NULL;
    check_refused(&h, "trial 'shrinking' has no hook 'make_data_loaders'");
    h = rgm_hooks_shrinking;
    h.build_graph = NULL;
    check_refused(&h, "no hook 'build_graph'");
    h = rgm_hooks_shrinking;
    h.optimizer = NULL;
    check_refused(&h, "no hook 'optimizer'");
    h = rgm_hooks_shrinking;
    h.validation_metrics[0] = NULL;
    check_refused(&h, "no hook 'validation_metrics'");
    h = rgm_hooks_shrinking;
    h.training_metrics[0] = "loss";
    check_refused(&h, "'loss', which is always told");
    h = rgm_hooks_shrinking;
    h.validation_metrics[1] = "error";
    check_refused(&h, "'error' stands twice in validation_metrics");
    h = rgm_hooks_shrinking;
    h.validation_metrics[1] = "eror";
    check_refused(&h, "validation_metrics has 'eror', which is no scalar that build_graph gives; "
                      "did you mean 'error'?");
    h = rgm_hooks_shrinking;
    h.abi = 0;
    check_refused(&h, "compile them again");
    h = rgm_hooks_shrinking;
    h.sizes[1]++;
    check_refused(&h, "compile them again");
    h = rgm_hooks_shrinking;
    h.validation_metrics[0] = "sum"; /* not the searcher's */
    h.validation_metrics[1] = NULL;
    check_refused(&h, "s.yaml:4:34: searcher.metric: 'valid.error' is not a validation metric");
}

static void mistakes_in_data_are_told(void **state)
{
    static const char *const three[] = {"x", "y", "z", NULL}, *const twice[] = {"x", "x", NULL};
    const rgm_trial_hooks *h = &rgm_hooks_shrinking;

    (void)state;
    change.no_train = true;
    check_refused(h, "make_data_loaders: it gave no training data set");
    change.no_valid = true;
    check_refused(h, "it gave no validation data set");
    change.empty_train = true;
    check_refused(h, "the training data set is empty");
    change.empty_valid = true;
    check_refused(h, "the validation data set is empty");
    change.bytes = true;
    check_refused(h, "training data give bytes: decode them");
    change.scalars = true;
    check_refused(h, "they are not batched");
    change.endless_valid = true;
    check_refused(h, "the validation data never end");
    change.other_type = true;
    check_refused(h, "training data give (x: f32[batch,2], y: i32[batch]), but validation data "
                     "(x: f64[batch,2], y: i32[batch])");
    change.other_shape = true;
    check_refused(h, "but validation data (x: f32[batch,3], y: i32[batch])");
    change.names = three;
    check_refused(h, "3 names for batches of 2 tensors");
    change.names = twice;
    check_refused(h, "two tensors are named 'x'");
    change.fails = true;
    check_refused(h, "trial 'shrinking': make_data_loaders: the disk is gone");
    change.asks_wrong = true;
    check_refused(h, "has no 'rat'; did you mean 'rate'?");
}

static void mistakes_in_graphs_are_told(void **state)
{
    static const char *const told[] = {"",
                                       "there is no output 'loss'",
                                       "the output 'loss' is f32[1]",
                                       "the loss is i32",
                                       "the output 'loss' is NULL",
                                       "two outputs are named 'loss'"};

    (void)state;
    for (int i = 1; i < 6; i++) {
        change.loss = i;
        check_refused(&rgm_hooks_shrinking, told[i]);
    }
    change.no_optimizer = true;
    check_refused(&rgm_hooks_shrinking, "optimizer: it gave no optimizer");
}

static void a_hook_may_say_that_a_point_cannot_be(void **state)
{
    rgm_trial_setup s = setup_of(&rgm_hooks_shrinking, NULL);
    rgm_status status;
    rgm_trial *trial;

    (void)state;
    change.invalid = true;
    status = rgm_trial_open(&trial, &s);
    CHECK(rgm_trial_is_invalid(status));
    CHECK_MESSAGE("invalid hyperparameters: a rate of 0.1 cannot be");
    forget(NULL);
    change.asks_wrong = true;
    CHECK(!rgm_trial_is_invalid(rgm_trial_open(&trial, &s)));
}

/* ---- entrypoints -------------------------------------------------------------------------------
 */

static void what_is_no_shared_object_is_refused(void **state)
{
    static const struct {
        const char *entrypoint, *message;
    } cases[] = {{"nowhere.so", "entrypoint: there is no ./nowhere.so"},
                 {"/etc/passwd", "cannot be loaded"},
                 {"/", "cannot be loaded"},
                 {"/dev/null", "cannot be loaded"},
                 {"libm.so.6:x", "there is no ./libm.so.6"}};
    rgm_search_file *before = file;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];

        snprintf(text, sizeof text, "entrypoint: %s\n%s", cases[i].entrypoint,
                 strchr(search, '\n') + 1);
        CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "e.yaml", NULL));
        check_refused(NULL, cases[i].message);
        rgm_search_file_release(file);
        file = before;
    }
}

/* ---- estimators --------------------------------------------------------------------------------
 */

static struct estimator_change {
    int64_t steps, labels;
    bool no_fn, leaks, no_prediction, bad_name;
} estimate;

static void model_fn(rgm_outputs *out, rgm_scope *scope, const rgm_record *features,
                     const rgm_record *labels, rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *x = rgm_record_value(features, "x");
    rgm_value *y =
        rgm_reshape(rgm_cast(rgm_record_value(labels, "y"), RGM_F32), 2, (rgm_dim[]){RGM_INFER, 1});
    rgm_value *guess = rgm_dense(scope, "out", x, 1);
    rgm_value *shown = estimate.leaks ? rgm_add(guess, y) : guess;

    (void)hparams, (void)is_training;
    rgm_output(out, "loss", rgm_mean(rgm_square(rgm_sub(guess, y))));
    rgm_output(out, "off", rgm_mean(rgm_abs(rgm_sub(guess, y))));
    if (!estimate.no_prediction)
        rgm_output_prediction(out, "guess", shown, RGM_OUTPUT_NUMBERS);
}

static rgm_status build_estimator(rgm_estimator *out, const rgm_config *hparams)
{
    out->model_fn = estimate.no_fn ? NULL : model_fn;
    out->optimizer = rgm_adam(rgm_config_float(hparams, "rate"));
    return RGM_OK;
}

static rgm_status build_train_spec(rgm_input_spec *out, const rgm_config *experiment,
                                   const rgm_config *hparams)
{
    static const char *const names[] = {"x", "y", NULL};

    (void)experiment, (void)hparams;
    out->names = names;
    out->label_count = 1;
    out->steps = 3; /* passed over */
    return rows(&out->dataset, false);
}

static rgm_status build_validation_spec(rgm_input_spec *out, const rgm_config *experiment,
                                        const rgm_config *hparams)
{
    (void)experiment, (void)hparams;
    out->label_count = estimate.labels > 0 ? estimate.labels : 1;
    out->steps = estimate.steps;
    return rows(&out->dataset, true);
}

static rgm_status receivers(rgm_serving_receiver *out, int64_t *count, const rgm_config *hparams)
{
    (void)hparams;
    out[0] = (rgm_serving_receiver){.name = estimate.bad_name ? "a/b" : "raw"};
    out[1] = (rgm_serving_receiver){.name = "named", .predictions = {"guess"}};
    *count = 2;
    return RGM_OK;
}

RGM_TRIAL(estimated, .build_estimator = build_estimator, .build_train_spec = build_train_spec,
          .build_validation_spec = build_validation_spec,
          .build_serving_input_receiver_fns = receivers);

static void use_metric(const char *metric)
{
    char text[600];

    rgm_search_file_release(file);
    snprintf(text, sizeof text,
             "entrypoint: its-own\ndata: {path: somewhere}\nhyperparameters: {rate: 0.1}\n"
             "searcher: {name: random, metric: %s, max_trials: 2, max_length: 100}\n"
             "batches_per_step: 1\n",
             metric);
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "s.yaml", NULL));
}

static void an_estimator_exports_at_every_checkpoint(void **state)
{
    rgm_trial_setup s;
    rgm_workload_result r;
    rgm_onnx_model *model;
    rgm_trial *trial;
    char path[400];
    int64_t exported = 0;

    (void)state;
    use_metric("off");
    s = setup_of(&rgm_hooks_estimated, "estimator");
    estimate.steps = 2;
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 7}, &r)); /* data repeat */
    CHECK(rgm_logs_has(r.metrics, "off"));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 7}, &r));
    CHECK_INT(8, r.num_inputs); /* 2 batches of 4 */
    for (int64_t at = 7; at <= 8; at++) {
        if (at == 8)
            CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 2, 8}, &r));
        CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, at - 6, at}, &r));
        for (int64_t i = 0; i < r.file_count; i++)
            exported += strcmp(r.files[i].path, "raw/") == 0 ||
                        strcmp(r.files[i].path, "named/model.onnx") == 0 ||
                        strcmp(r.files[i].path, "raw/signature.json") == 0;
        CHECK_INT((at - 6) * 3, exported);
        snprintf(path, sizeof path, "%s/estimator/%s/raw/model.onnx", folder, r.checkpoint);
        CHECK_OK(rgm_onnx_open(&model, path));
        CHECK_INT(1, rgm_onnx_input_count(model));
        CHECK_TEXT("x", rgm_onnx_input_name(model, 0));
        CHECK_TEXT("guess", rgm_onnx_output_name(model, 0));
        rgm_onnx_close(model);
    }
    rgm_trial_close(trial);
    CHECK_OK(rgm_trial_open(&trial, &s)); /* a checkpoint with exports is one */
    CHECK_INT(8, rgmi_trial_opened_at(trial));
    rgm_trial_close(trial);
    use_metric("error");
}

static void a_graph_exports_at_every_checkpoint_too(void **state)
{
    rgm_trial_hooks h = rgm_hooks_shrinking;
    rgm_trial_setup s = setup_of(&h, "graph-export");
    rgm_workload_result r;
    rgm_onnx_model *model;
    rgm_trial *trial;
    char path[400];

    (void)state;
    h.build_serving_input_receiver_fns = receivers;
    change.predicts = true;
    CHECK_OK(rgm_trial_open(&trial, &s));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 1}, &r));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 1}, &r));
    snprintf(path, sizeof path, "%s/graph-export/%s/named/model.onnx", folder, r.checkpoint);
    CHECK_OK(rgm_onnx_open(&model, path));
    CHECK_INT(1, rgm_onnx_input_count(model));
    CHECK_TEXT("x", rgm_onnx_input_name(model, 0));
    CHECK_TEXT("guess", rgm_onnx_output_name(model, 0));
    rgm_onnx_close(model);
    rgm_trial_close(trial);
    change.predicts = false;
    s.run_dir = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trial_open(&trial, &s));
    CHECK_MESSAGE("receiver 'raw' has nothing to give");
}

static void mistakes_of_estimators_are_told(void **state)
{
    rgm_trial_hooks h = rgm_hooks_estimated;

    (void)state;
    use_metric("off");
    h.build_train_spec = NULL;
    check_refused(&h, "no hook 'build_train_spec'");
    h = rgm_hooks_estimated;
    h.build_graph = build_graph;
    check_refused(&h, "it is either an estimator or a graph");
    estimate = (struct estimator_change){.no_fn = true};
    check_refused(&rgm_hooks_estimated, "build_estimator: it gave no model_fn");
    estimate = (struct estimator_change){.labels = 2};
    check_refused(&rgm_hooks_estimated, "2 labels, but 1 in training");
    estimate = (struct estimator_change){.steps = -1};
    check_refused(&rgm_hooks_estimated, "-1 steps of validation");
    estimate = (struct estimator_change){.leaks = true};
    check_refused(&rgm_hooks_estimated, "the prediction 'guess' is made of the label 'y'");
    estimate = (struct estimator_change){.no_prediction = true};
    check_refused(&rgm_hooks_estimated, "receiver 'raw' has nothing to give");
    estimate = (struct estimator_change){.bad_name = true};
    check_refused(&rgm_hooks_estimated, "receiver 0 is named 'a/b'");
    estimate = (struct estimator_change){0};
    use_metric("error");
}

/* Data that are shuffled go on where they were, in the middle of a pass. */
static void a_killed_trial_of_hooks_ends_with_the_same_bytes(void **state)
{
    static const char *const files[] = {"metrics.jsonl", "ckpt/step-00000009/weights.safetensors",
                                        "ckpt/step-00000009/slots.safetensors",
                                        "ckpt/step-00000009/data.bin"};
    static const char *const runs[] = {"hooks-whole", "hooks-killed"};
    rgm_trial *trial;

    (void)state;
    use_metric("off");
    change.shuffled = true;
    for (int i = 0; i < 2; i++) {
        rgm_trial_setup s = setup_of(&rgm_hooks_estimated, runs[i]);

        CHECK_OK(rgm_trial_open(&trial, &s));
        number(trial, RGM_RUN_STEP, 5, NULL);
        number(trial, RGM_CHECKPOINT_MODEL, 5, NULL);
        if (i == 1) {
            number(trial, RGM_RUN_STEP, 8, NULL);
            number(trial, RGM_COMPUTE_VALIDATION_METRICS, 8, NULL);
            rgm_trial_close(trial);
            CHECK_OK(rgm_trial_open(&trial, &s));
            CHECK_INT(5, rgmi_trial_opened_at(trial));
        }
        number(trial, RGM_RUN_STEP, 9, NULL);
        number(trial, RGM_COMPUTE_VALIDATION_METRICS, 9, NULL);
        number(trial, RGM_CHECKPOINT_MODEL, 9, NULL);
        rgm_trial_close(trial);
    }
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[2][400], *data[2];
        int64_t size[2];

        for (int k = 0; k < 2; k++) {
            snprintf(path[k], sizeof path[k], "%s/%s/%s", folder, runs[k], files[i]);
            CHECK_OK(rgm_file_load(&data[k], &size[k], path[k], 1 << 20));
        }
        CHECK_INT(size[0], size[1]);
        CHECK(size[0] > 0 && memcmp(data[0], data[1], (size_t)size[0]) == 0);
        rgm_free(data[0]);
        rgm_free(data[1]);
    }
    use_metric("error");
}

/* ---- memory ------------------------------------------------------------------------------------
 */

static rgm_status train_and_close(const rgm_trial_setup *s)
{
    static const rgm_workload list[] = {{RGM_RUN_STEP, 1, 2},
                                        {RGM_COMPUTE_VALIDATION_METRICS, 1, 2}};
    rgm_status status = RGM_OK;
    rgm_workload_result r;
    rgm_trial *trial = NULL;

    RGM_GO(rgm_trial_open(&trial, s));
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_trial_do(trial, &list[i], &r));
done:
    rgm_trial_close(trial);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    rgm_trial_setup s = setup_of(&rgm_hooks_shrinking, NULL);

    (void)state;
    CHECK_EVERY_OOM(train_and_close(&s), (void)0);
    use_metric("off");
    s = setup_of(&rgm_hooks_estimated, NULL);
    CHECK_EVERY_OOM(train_and_close(&s), (void)0);
    use_metric("error");
}

static rgm_status list_anew(const rgm_trial_setup *s, const char *name)
{
    rgm_run_options options = rgm_run_options_default();
    rgm_status status = RGM_OK;
    rgmi_hooks_task *made = NULL;
    rgm_arena *arena = NULL;
    rgm_task task;

    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(rgmi_hooks_task_create(&made, &task, &options, arena, s));
    CHECK_INT(2, options.hparam_count);
    CHECK(options.hparams[0].text == NULL && options.hparams[0].number == 0.1);
    CHECK_TEXT(name, options.hparams[1].text);
done:
    rgmi_hooks_task_release(made);
    rgm_arena_release(arena);
    return status;
}

/* A text so long that its copy is an allocation of its own: without it, it would be the number 0.
 */
static void a_text_is_no_number_where_memory_runs_out(void **state)
{
    rgm_search_file *before = file;
    rgm_trial_setup s;
    char name[20001];
    rgm_text yaml = {0};

    (void)state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    CHECK_OK(rgm_text_printf(&yaml, SEARCH("rate: 0.1, title: %s"), name));
    CHECK_OK(rgm_search_file_parse(&file, NULL, yaml.data, yaml.size, "s.yaml", NULL));
    s = setup_of(&rgm_hooks_shrinking, NULL);
    CHECK_EVERY_OOM(list_anew(&s, name), (void)0);
    rgm_search_file_release(file);
    file = before;
    rgm_text_clear(&yaml);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(case_37_steps_continuation_and_warm_start, forget),
        cmocka_unit_test_teardown(metrics_are_what_they_say, forget),
        cmocka_unit_test_teardown(missing_hooks_are_named, forget),
        cmocka_unit_test_teardown(mistakes_in_data_are_told, forget),
        cmocka_unit_test_teardown(mistakes_in_graphs_are_told, forget),
        cmocka_unit_test_teardown(a_hook_may_say_that_a_point_cannot_be, forget),
        cmocka_unit_test_teardown(what_is_no_shared_object_is_refused, forget),
        cmocka_unit_test_teardown(an_estimator_exports_at_every_checkpoint, forget),
        cmocka_unit_test_teardown(a_graph_exports_at_every_checkpoint_too, forget),
        cmocka_unit_test_teardown(mistakes_of_estimators_are_told, forget),
        cmocka_unit_test_teardown(a_killed_trial_of_hooks_ends_with_the_same_bytes, forget),
        cmocka_unit_test_teardown(memory_that_runs_out_is_told, forget),
        cmocka_unit_test_teardown(a_text_is_no_number_where_memory_runs_out, forget)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
