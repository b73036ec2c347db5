/*
 * Trials that are a list of layers: for each loss the same weights and numbers as the graph written
 * by hand, and what is wrong with a list told before the first step.
 */
#include <check.h>

#include "trial_internal.h"

enum { ROWS = 12, WIDTH = 3, CLASSES = 2 };

static char folder[128];
static rgm_search_file *file;
static rgm_sequential_loss loss;
static int wrong;

/* ---- data ------------------------------------------------------------------------------------ */

static rgm_status rows(rgm_dataset **out)
{
    rgm_tensor *x = NULL, *y = NULL;
    rgm_status status = RGM_OK;
    bool of_numbers = loss == RGM_LOSS_NUMBERS;

    RGM_GO(rgm_tensor_create(&x, RGM_F64, 2, (int64_t[]){ROWS, WIDTH}));
    RGM_GO(rgm_tensor_create(&y, of_numbers ? RGM_F32 : RGM_I64, 1, (int64_t[]){ROWS}));
    for (int i = 0; i < ROWS; i++) {
        for (int k = 0; k < WIDTH; k++)
            rgm_tensor_f64(x)[i * WIDTH + k] = sin(i + 2.5 * k);
        if (of_numbers)
            rgm_tensor_f32(y)[i] = (float)sin(i);
        else
            rgm_tensor_i64(y)[i] = i % CLASSES;
    }
    RGM_GO(rgm_dataset_from_tensors(out, (rgm_tensor *[]){x, y}, 2));
    RGM_GO(rgm_dataset_batch(out, 5, false));
done:
    rgm_tensor_release(x);
    rgm_tensor_release(y);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"x", "y", NULL};

    (void)experiment, (void)hparams;
    out->names = names;
    RGM_TRY(rows(&out->train));
    return rows(&out->valid);
}

/* ---- the same network by a list and by hand ---------------------------------------------------
 */

static rgm_status build_sequential(rgm_sequential *out, const rgm_config *experiment,
                                   const rgm_config *hparams)
{
    int64_t units = rgm_config_int(hparams, wrong == 1 ? "unit" : "units");

    (void)experiment;
    if (wrong == 2)
        return rgm_invalid_hyperparameters("%lld units", (long long)units);
    if (wrong != 3) {
        rgm_sequential_add(out, "dense %lld relu", (long long)units);
        rgm_sequential_add(out, wrong == 4 ? "dropuot 0.25" : "dropout 0.25");
        rgm_sequential_add(out, wrong == 5 ? "pool 2" : "dense %d",
                           loss == RGM_LOSS_CLASSES ? CLASSES
                           : wrong == 6             ? 2
                                                    : 1);
    }
    if (wrong == 7)
        out->label = "z";
    out->loss = loss;
    if (wrong != 8)
        out->optimizer = rgm_adam(rgm_config_float(hparams, "rate"));
    return RGM_OK;
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *x = rgm_cast(rgm_record_value(record, "x"), RGM_F32);
    rgm_value *y = rgm_record_value(record, "y"), *right;

    (void)is_training;
    x = rgm_relu(rgm_dense(scope, "dense_0", x, rgm_config_int(hparams, "units")));
    x = rgm_dropout(rgm_scope_enter(scope, "dropout_1"), x, 0.25);
    x = rgm_dense(scope, "dense_2", x, loss == RGM_LOSS_CLASSES ? CLASSES : 1);
    if (loss == RGM_LOSS_CLASSES) {
        rgm_output(out, "loss", rgm_mean(rgm_softmax_cross_entropy(x, y)));
        rgm_output_as(out, "told", rgm_mean(rgm_equal(rgm_argmax(x), y)),
                      RGM_AGGREGATE_WEIGHTED_MEAN);
        return;
    }
    y = rgm_as_rows(scope, rgm_cast(y, RGM_F32));
    right = rgm_equal(rgm_greater(x, rgm_scale(x, 0)), y);
    rgm_output(out, "loss",
               loss == RGM_LOSS_FLAGS ? rgm_mean(rgm_sigmoid_cross_entropy(x, y))
                                      : rgm_mean(rgm_square(rgm_sub(x, y))));
    rgm_output_as(out, "told",
                  loss == RGM_LOSS_FLAGS ? rgm_mean(right) : rgm_mean(rgm_abs(rgm_sub(x, y))),
                  RGM_AGGREGATE_WEIGHTED_MEAN);
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    return rgm_adam(rgm_config_float(hparams, "rate"));
}

RGM_TRIAL(by_list, .make_data_loaders = make_data_loaders, .build_sequential = build_sequential);
RGM_TRIAL(by_hand, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .training_metrics = {"told"}, .validation_metrics = {"told"});

static void use_metric(const char *metric)
{
    char text[400];

    rgm_search_file_release(file);
    snprintf(
        text, sizeof text,
        "entrypoint: its-own\nhyperparameters: {rate: 0.1, units: 4}\nsearcher: {name: random, "
        "metric: %s, max_trials: 2, max_length: 100}\nbatches_per_step: 1\n",
        metric);
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "s.yaml", NULL));
}

static rgm_status open_trial(rgm_trial **trial, const rgm_trial_hooks *hooks, const char *run_dir)
{
    static rgm_hyper_value values[2];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    RGM_TRY(rgm_space_draw(values, rgm_search_file_space(file), &random));
    return rgm_trial_open(
        trial, &(rgm_trial_setup){
                   .file = file, .hooks = hooks, .values = values, .seed = 3, .run_dir = run_dir});
}

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* The metric behind four steps, whose checkpoint is kept. */
static double train(const rgm_trial_hooks *hooks, const char *metric, const char *name)
{
    rgm_workload_result r;
    rgm_trial *trial;
    char path[200];
    double value;

    use_metric(metric);
    snprintf(path, sizeof path, "%s/%s-%d", folder, name, (int)loss);
    CHECK_OK(open_trial(&trial, hooks, path));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 4}, &r));
    CHECK(rgm_logs_has(r.metrics, metric));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 4}, &r));
    value = r.objectives[0];
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 4}, &r));
    rgm_trial_close(trial);
    return value;
}

static void a_list_trains_as_the_graph_by_hand(void **state)
{
    static const char *const metrics[] = {"accuracy", "accuracy", "mean_absolute_error"};

    (void)state;
    for (int l = RGM_LOSS_CLASSES; l <= RGM_LOSS_NUMBERS; l++) {
        char path[300], *data[2];
        int64_t size[2];
        double by_list, by_hand;

        loss = (rgm_sequential_loss)l;
        by_list = train(&rgm_hooks_by_list, metrics[l], "list");
        by_hand = train(&rgm_hooks_by_hand, "told", "hand");
        CHECK(by_list == by_hand && by_list > 0);
        for (int i = 0; i < 2; i++) {
            snprintf(path, sizeof path, "%s/%s-%d/ckpt/step-00000004/weights.safetensors", folder,
                     i == 0 ? "list" : "hand", l);
            CHECK_OK(rgm_file_load(&data[i], &size[i], path, 1 << 20));
        }
        CHECK(size[0] == size[1] && memcmp(data[0], data[1], (size_t)size[0]) == 0);
        rgm_free(data[0]);
        rgm_free(data[1]);
    }
    loss = RGM_LOSS_CLASSES;
}

static void a_list_predicts(void **state)
{
    rgm_trial *trial;
    const rgm_head *heads;

    (void)state;
    use_metric("accuracy");
    CHECK_OK(open_trial(&trial, &rgm_hooks_by_list, NULL));
    CHECK_INT(1, rgm_task_model_outputs(&heads, rgm_run_model(rgm_trial_run(trial))));
    CHECK_TEXT("logits", heads[0].name);
    rgm_trial_close(trial);
}

static void check_refused(int what, const char *message)
{
    rgm_trial *trial;
    rgm_status status;

    wrong = what;
    status = open_trial(&trial, &rgm_hooks_by_list, NULL);
    if (status >= 0 || strstr(rgm_error_message(), message) == NULL)
        fail_msg("%d: '%s' was expected, not: %s", what, message, rgm_error_text());
    CHECK(rgm_trial_is_invalid(status) == (what == 2));
    wrong = 0;
}

static void mistakes_are_told(void **state)
{
    rgm_trial_hooks both = rgm_hooks_by_list;
    rgm_trial *trial;

    (void)state;
    use_metric("accuracy");
    check_refused(1,
                  "trial 'by_list': build_sequential: the section hyperparameters has no 'unit'");
    check_refused(2, "invalid hyperparameters: 4 units");
    check_refused(3, "build_sequential: 0 layers; 1 to 256 are possible");
    check_refused(4, "build_sequential: layer 1: 'dropuot 0.25': there is no layer 'dropuot'; did "
                     "you mean 'dropout'?");
    check_refused(5, "build_sequential: layer 2, pool_2: it takes images [n, rows, columns, "
                     "channels], but gets f32[batch,4]");
    check_refused(7, "the record has no tensor 'z'");
    check_refused(8, "build_sequential: it gave no optimizer");
    loss = RGM_LOSS_NUMBERS;
    use_metric("mean_absolute_error");
    check_refused(6, "the last layer gives f32[batch,2], but labels have another width");
    loss = RGM_LOSS_CLASSES;
    both.build_graph = build_graph;
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, &both, NULL));
    CHECK_MESSAGE("has build_sequential and build_graph: it is either a list of layers or a graph");
    both = rgm_hooks_by_list;
    both.validation_metrics[0] = "accuracy";
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, &both, NULL));
    CHECK_MESSAGE("loss and metric of a list of layers are always told");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_list_trains_as_the_graph_by_hand),
                                       cmocka_unit_test(a_list_predicts),
                                       cmocka_unit_test(mistakes_are_told)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
