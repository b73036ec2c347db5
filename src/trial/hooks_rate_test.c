/*
 * The learning rate of a trial of hooks: by epochs of its data, and reduced where a metric of
 * validation stands still, each as if the trial had not been stopped.
 */
#include <check.h>

#include "trial_internal.h"

enum { PASS = 3, STEPS = 6, BATCHES = 2 }; /* batches of a pass; trial steps, each of so many */

static char folder[128];
static rgm_search_file *file;
static bool by_epochs, reduces, is_wrong, is_stream;
static int64_t epoch_updates;

static rgm_status batch(rgm_element **out, int64_t i, void *payload)
{
    rgm_tensor *x = NULL;
    rgm_status status;

    (void)payload;
    RGM_TRY(rgm_tensor_create(&x, RGM_F32, 1, (int64_t[]){2}));
    rgm_tensor_f32(x)[0] = (float)i;
    status = rgm_element_create_tensors(out, &x, 1);
    rgm_tensor_release(x);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    (void)experiment, (void)hparams;
    RGM_TRY(rgm_dataset_from_function(&out->train, is_stream ? -1 : PASS, batch, NULL, NULL));
    return rgm_dataset_from_function(&out->valid, 1, batch, NULL, NULL);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){1}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_value *x = rgm_mean(rgm_record_value(record, "0"));

    (void)is_training, (void)hparams;
    rgm_output(out, "loss", rgm_mul(rgm_reshape(rgm_square(w), 0, NULL), x));
    rgm_output(out, "same", x); /* in every validation */
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    rgm_optimizer_options o = rgm_sgd(rgm_config_float(hparams, "rate"), 0.9);

    if (!by_epochs)
        return o;
    o.learning_rate = rgm_schedule_exponential(rgm_config_float(hparams, "rate"), 1, 0.5);
    o.learning_rate.unit = RGM_UNIT_EPOCHS;
    o.learning_rate.epoch_updates = epoch_updates;
    return o;
}

static void reduce_on_plateau(rgm_trainer_plateau *plateau, const rgm_config *hparams)
{
    CHECK(plateau->factor == 0.1); /* by default */
    if (!reduces)
        return;
    plateau->patience = rgm_config_int(hparams, "patience");
    plateau->factor = is_wrong ? 2 : 0.25;
    plateau->cooldown = 1;
    plateau->min_learning_rate = 0.01;
}

RGM_TRIAL(rated, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .validation_metrics = {"same"},
          .reduce_on_plateau = reduce_on_plateau);

static int setup(void **state)
{
    static const char text[] = "entrypoint: its-own\nhyperparameters: {rate: 0.08, patience: 2}\n"
                               "batches_per_step: 2\n"
                               "searcher: {name: single, metric: same, max_length: 20}\n";

    (void)state;
    snprintf(folder, sizeof folder, "%s", "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(folder) == NULL)
        snprintf(folder, sizeof folder, "%s", check_folder());
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, sizeof text - 1, "r.yaml", NULL));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static rgm_status open_trial(rgm_trial **out, const char *run)
{
    char path[256];
    rgm_hyper_value values[3];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    snprintf(path, sizeof path, "%s/%s", folder, run);
    return rgm_trial_open(
        out,
        &(rgm_trial_setup){
            .file = file, .hooks = &rgm_hooks_rated, .values = values, .seed = 3, .run_dir = path});
}

/* Train, validate and save each step; with `killed` every second step is done twice, by another
 * process. rates[i]: that which the step's log tells, of the next update. */
static void run_trial(double rates[STEPS], const char *run, bool killed)
{
    rgm_workload_result r;
    rgm_trial *trial;

    CHECK_OK(open_trial(&trial, run));
    for (int64_t i = 1; i <= STEPS; i++) {
        CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, i, BATCHES * i}, &r));
        if (killed && i % 2 == 0) {
            rgm_trial_close(trial);
            CHECK_OK(open_trial(&trial, run));
            CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, i, BATCHES * i}, &r));
        }
        rates[i - 1] = rgm_logs_get(r.metrics, "learning_rate");
        CHECK_OK(rgm_trial_do(trial,
                              &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, i, BATCHES * i}, &r));
        CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, i, BATCHES * i}, &r));
    }
    rgm_trial_close(trial);
}

static bool is_in_log(const char *run, const char *line)
{
    char path[300], *data;
    int64_t size;
    bool found;

    snprintf(path, sizeof path, "%s/%s/log.txt", folder, run);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    found = strstr(data, line) != NULL;
    rgm_free(data);
    return found;
}

static void check_same(const char *a, const char *b)
{
    static const char *const files[] = {"metrics.jsonl", "ckpt/step-00000012/manifest.json",
                                        "ckpt/step-00000012/weights.safetensors",
                                        "ckpt/step-00000012/slots.safetensors"};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[2][300], *data[2];
        int64_t size[2];

        for (int k = 0; k < 2; k++) {
            snprintf(path[k], sizeof path[k], "%s/%s/%s", folder, k == 0 ? a : b, files[i]);
            CHECK_OK(rgm_file_load(&data[k], &size[k], path[k], 1 << 20));
        }
        CHECK_INT(size[0], size[1]);
        CHECK(size[0] > 0 && memcmp(data[0], data[1], (size_t)size[0]) == 0);
        rgm_free(data[0]);
        rgm_free(data[1]);
    }
}

/* Data that repeat: epochs are passes over them, which end in the middle of trial steps. */
static void by_epochs_of_its_data(void **state)
{
    static const double expected[] = {0.08, 0.04, 0.02, 0.02, 0.01, 0.005};
    double rates[STEPS];

    (void)state;
    by_epochs = true;
    reduces = false;
    run_trial(rates, "epochs", false);
    for (int i = 0; i < STEPS; i++) /* of update 2, 4, 6, ..: in epoch 0, 1, 2, 2, 3, 4 */
        CHECK_CLOSE(rates[i], expected[i], 1e-12, 0);
    CHECK(is_in_log("epochs", "behind epoch 1 the learning rate goes from 0.08 to 0.04 at step 3"));
    CHECK(
        is_in_log("epochs", "behind epoch 4 the learning rate goes from 0.01 to 0.005 at step 12"));
    CHECK(!is_in_log("epochs", "behind epoch 0"));
    run_trial(rates, "epochs-killed", true);
    check_same("epochs", "epochs-killed");
}

/* The first validation is the best; then two without improvement, one of cooldown, two more. */
static void on_a_plateau_of_validations(void **state)
{
    static const double expected[] = {0.08, 0.08, 0.08, 0.02, 0.02, 0.01};
    double rates[STEPS];

    (void)state;
    by_epochs = false;
    reduces = true;
    run_trial(rates, "plateau", false);
    for (int i = 0; i < STEPS; i++)
        CHECK_CLOSE(rates[i], expected[i], 1e-12, 0);
    CHECK(is_in_log("plateau",
                    "valid.same has not improved in 2 validations: the learning rate goes "
                    "from 0.08 to 0.02 at step 6"));
    run_trial(rates, "plateau-killed", true);
    check_same("plateau", "plateau-killed");
}

static void what_cannot_be_a_reduction_is_refused(void **state)
{
    rgm_trial *trial = NULL;

    (void)state;
    reduces = is_wrong = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, "wrong"));
    CHECK_MESSAGE("trainer.reduce_on_plateau.factor is 2, but must be in (0, 1)");
    is_wrong = false;
}

static void data_that_do_not_tell_their_length_need_it_said(void **state)
{
    rgm_trial *trial = NULL;

    (void)state;
    by_epochs = is_stream = true;
    reduces = false;
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, "stream"));
    CHECK_MESSAGE(
        "optimizer.learning_rate.unit is epochs, but the training data do not say how long "
        "one is: optimizer.learning_rate.epoch_updates does");
    epoch_updates = 5;
    CHECK_OK(open_trial(&trial, "stream"));
    rgm_trial_close(trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_epochs_of_its_data), cmocka_unit_test(on_a_plateau_of_validations),
        cmocka_unit_test(what_cannot_be_a_reduction_is_refused),
        cmocka_unit_test(data_that_do_not_tell_their_length_need_it_said)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
