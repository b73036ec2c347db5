/*
 * Hooks as one run, without a search: trained to the file's length, looked at in its folder, and
 * the file of a trial as such a run again.
 */
#include <check.h>

#include <regimen/trial_task.h>

enum { ROWS = 8 };

static char folder[128];
static bool predicts, has_receivers;

/* ---- a line through (i, 2 i) ------------------------------------------------------------------
 */

static rgm_status rows(rgm_dataset **out)
{
    rgm_status status = RGM_OK;
    rgm_tensor *x = NULL, *y = NULL;

    RGM_GO(rgm_tensor_create(&x, RGM_F32, 2, (int64_t[]){ROWS, 1}));
    RGM_GO(rgm_tensor_create(&y, RGM_F32, 2, (int64_t[]){ROWS, 1}));
    for (int i = 0; i < ROWS; i++) {
        rgm_tensor_f32(x)[i] = (float)i / ROWS;
        rgm_tensor_f32(y)[i] = 2 * (float)i / ROWS;
    }
    RGM_GO(rgm_dataset_from_tensors(out, (rgm_tensor *[]){x, y}, 2));
    RGM_GO(rgm_dataset_batch(out, 4, false));
done:
    rgm_tensor_release(x);
    rgm_tensor_release(y);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"x", "y", NULL};

    (void)hparams;
    CHECK_INT(5, rgm_config_int(experiment, "batches_per_step"));
    out->names = names;
    RGM_TRY(rows(&out->train));
    return rows(&out->valid);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *guess = rgm_dense(scope, "line", rgm_record_value(record, "x"), 1);

    (void)is_training, (void)hparams;
    rgm_output(out, "loss", rgm_mean(rgm_square(rgm_sub(guess, rgm_record_value(record, "y")))));
    rgm_output(out, "off", rgm_mean(rgm_abs(rgm_sub(guess, rgm_record_value(record, "y")))));
    if (predicts)
        rgm_output_prediction(out, "guess", guess, RGM_OUTPUT_NUMBERS);
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    return rgm_sgd(rgm_config_float(hparams, "rate"), 0);
}

static rgm_status receivers(rgm_serving_receiver *out, int64_t *count, const rgm_config *hparams)
{
    (void)hparams;
    out[0] = (rgm_serving_receiver){.name = "raw"};
    *count = has_receivers ? 1 : 0;
    return RGM_OK;
}

RGM_TRIAL(line, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .validation_metrics = {"off"},
          .build_serving_input_receiver_fns = receivers);

/* ---- files ----------------------------------------------------------------------------------- */

#define TAIL                                                                                       \
    "searcher: {name: random, metric: off, max_trials: 3, max_length: 4}\nbatches_per_step: "      \
    "5\nruntime: {seed: 3}\n"
static const char one_point[] = "entrypoint: its-own\nhyperparameters: {rate: 0.2}\n" TAIL;

static rgm_search_file *parse(const char *text)
{
    rgm_search_file *file;

    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "line.yaml", NULL));
    return file;
}

static int setup(void **state)
{
    (void)state;
    predicts = has_receivers = true;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static const char *in_folder(const char *name)
{
    static char paths[4][200];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static rgm_status train(rgm_open_run **run, rgm_trial_task *task, const char *run_dir)
{
    rgm_run_options options;

    *run = NULL;
    RGM_TRY(rgm_trial_task_prepare(&options, task, run_dir));
    RGM_TRY(rgm_trial_task_open(run, task, &options));
    return rgm_run_complete(*run);
}

static void a_file_of_one_point_is_a_run(void **state)
{
    rgm_search_file *file = parse(one_point);
    rgm_trial_task *task;
    rgm_open_run *run;
    rgm_onnx_model *model;

    (void)state;
    CHECK_OK(rgm_trial_task_create(&task, file, &rgm_hooks_line));
    CHECK_OK(train(&run, task, in_folder("run")));
    CHECK_INT(20, rgm_run_steps(run)); /* 4 steps of 5 batches */
    CHECK(rgm_run_metric(run, "valid", "off") < 0.5);
    CHECK_TEXT("line", rgm_trial_task_name(task));
    CHECK_TEXT("its-own", rgm_trial_task_entrypoint(task));
    CHECK_TEXT("line", rgm_trial_task_file(task));
    CHECK_OK(rgm_onnx_open(&model, in_folder("run/export/raw/model.onnx")));
    rgm_onnx_close(model);
    rgm_run_close(run);
    rgm_trial_task_release(task);
    rgm_search_file_release(file);
}

static rgm_status count_rows(const rgm_prediction *p, void *payload)
{
    *(int64_t *)payload += rgm_tensor_dim(p->values, 0);
    return RGM_OK;
}

/* The folder that it left, opened again by its own config.yaml. */
static void a_run_folder_is_looked_at(void **state)
{
    rgm_search_file *file = parse(one_point);
    rgm_trial_task *task;
    rgm_run_options options;
    rgm_open_run *run;
    const rgm_logs *logs;
    double off;
    char *text;
    int64_t size, predicted = 0;

    (void)state;
    CHECK_OK(rgm_trial_task_create(&task, file, &rgm_hooks_line));
    CHECK_OK(train(&run, task, in_folder("run")));
    off = rgm_run_metric(run, "valid", "off");
    rgm_run_close(run);
    rgm_trial_task_release(task);
    rgm_search_file_release(file);

    CHECK_OK(rgm_file_load(&text, &size, in_folder("run/config.yaml"), 1 << 20));
    file = parse(text);
    rgm_free(text);
    CHECK_OK(rgm_trial_task_create(&task, file, &rgm_hooks_line));
    CHECK_OK(rgm_trial_task_prepare(&options, task, in_folder("run")));
    options.read_only = true;
    CHECK_OK(rgm_trial_task_open(&run, task, &options));
    CHECK_OK(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
    CHECK(rgm_logs_get(logs, "off") == off);
    CHECK_OK(rgm_run_predict(run, RGM_VALID, 0, count_rows, &predicted));
    CHECK_INT(ROWS, predicted);
    CHECK_STATUS(RGM_ERR_ARG, rgm_run_predict(run, RGM_VALID, 1, count_rows, &predicted));
    CHECK_OK(rgm_folder_make(in_folder("export")));
    CHECK_OK(rgm_onnx_exporter().save(run, in_folder("export"), NULL));
    rgm_export_check check = {0};
    CHECK_OK(rgm_run_verify_onnx(&check, run, in_folder("export"), RGM_VALID, 2));
    CHECK_INT(ROWS, check.items);
    rgm_run_close(run);
    rgm_trial_task_release(task);
    rgm_search_file_release(file);
}

static void what_is_no_run_is_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"entrypoint: a.so\nhyperparameters: {rate: {type: double, minval: 0, maxval: 1}}\n" TAIL,
         "line.yaml is a search, as its hyperparameter 'rate' says"},
        {"hyperparameters: {optimizer.learning_rate: 1}\n" TAIL, "line.yaml has no entrypoint"},
    };
    rgm_search_file *file;
    rgm_trial_task *task;
    rgm_run_options options;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        file = parse(cases[i].text);
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_trial_task_create(&task, file, NULL));
        CHECK_MESSAGE(cases[i].message);
        CHECK(task == NULL);
        rgm_search_file_release(file);
    }
    file = parse("entrypoint: ./nothere.so\n" TAIL);
    CHECK_OK(rgm_trial_task_create(&task, file, NULL));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_trial_task_prepare(&options, task, NULL));
    CHECK_MESSAGE("there is no ./nothere.so");
    rgm_trial_task_release(task);
    rgm_search_file_release(file);
}

static void a_model_that_predicts_nothing_says_so(void **state)
{
    rgm_search_file *file = parse(one_point);
    rgm_trial_task *task;
    rgm_open_run *run;
    int64_t predicted = 0;

    (void)state;
    predicts = has_receivers = false;
    CHECK_OK(rgm_trial_task_create(&task, file, &rgm_hooks_line));
    CHECK_OK(train(&run, task, NULL));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_run_predict(run, RGM_VALID, 0, count_rows, &predicted));
    CHECK_MESSAGE("the task 'line' predicts nothing");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_onnx_exporter().check(run, NULL));
    CHECK_MESSAGE("predicts nothing that could be exported");
    rgm_run_close(run);
    rgm_trial_task_release(task);
    rgm_search_file_release(file);
}

static rgm_status train_and_close(rgm_search_file *file)
{
    rgm_trial_task *task = NULL;
    rgm_open_run *run = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_trial_task_create(&task, file, &rgm_hooks_line));
    RGM_GO(train(&run, task, NULL));
done:
    rgm_run_close(run);
    rgm_trial_task_release(task);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    rgm_search_file *file = parse(one_point);

    (void)state;
    CHECK_EVERY_OOM(train_and_close(file), (void)0);
    rgm_search_file_release(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_of_one_point_is_a_run, setup, teardown),
        cmocka_unit_test_setup_teardown(a_run_folder_is_looked_at, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_no_run_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(a_model_that_predicts_nothing_says_so, setup, teardown),
        cmocka_unit_test_setup_teardown(memory_that_runs_out_is_told, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
