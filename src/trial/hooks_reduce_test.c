/*
 * Metrics of a program's own: reducers over counts and lists, metrics that follow from the
 * hyperparameters, and that runtime.shards change none of them.
 */
#include <check.h>

#include "trial_internal.h"

enum { ROWS = 14, BATCH = 3 };

/* What a test changes of what the hooks do. */
static struct change {
    const rgm_reducer *added; /* one more */
    bool trains_most, trains_weighted, no_measures, names_wrong, result_fails;
    int many;    /* metrics more: the largest of what they are */
    int results; /* calls */
} change;

/* ---- data: x is the row, text its name --------------------------------------------------------
 */

static rgm_status rows(rgm_dataset **out)
{
    rgm_status status = RGM_OK;
    rgm_tensor *tensors[2] = {NULL};
    char names[ROWS][8];
    rgm_str texts[ROWS];

    RGM_GO(rgm_tensor_create(&tensors[0], RGM_F32, 1, (int64_t[]){ROWS}));
    for (int i = 0; i < ROWS; i++) {
        rgm_tensor_f32(tensors[0])[i] = (float)(i * 5 % ROWS);
        snprintf(names[i], sizeof names[i], "row %d", i);
        texts[i] = (rgm_str){names[i], (int64_t)strlen(names[i])};
    }
    RGM_GO(rgm_tensor_create_from(&tensors[1], RGM_STRING, 1, (int64_t[]){ROWS}, texts));
    RGM_GO(rgm_dataset_from_tensors(out, tensors, 2));
    RGM_GO(rgm_dataset_batch(out, BATCH, false));
done:
    rgm_tensor_release(tensors[0]);
    rgm_tensor_release(tensors[1]);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"x", "text", NULL};

    (void)experiment, (void)hparams;
    out->names = names;
    RGM_TRY(rows(&out->train));
    return rows(&out->valid);
}

static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){1}, (rgm_init){RGM_INIT_ONES, 0});
    rgm_value *x = rgm_record_value(record, "x");

    (void)is_training, (void)hparams;
    rgm_output(out, "loss", rgm_mean(rgm_square(w)));
    rgm_output(out, "mean", rgm_mean(x));
    rgm_output_as(out, "least", rgm_mean(x), RGM_AGGREGATE_MIN);
    rgm_output_as(out, "most", rgm_mean(x), RGM_AGGREGATE_MAX);
    rgm_output_as(out, "last", rgm_mean(x), RGM_AGGREGATE_LAST);
    rgm_output_as(out, "weighted", rgm_mean(x), RGM_AGGREGATE_WEIGHTED_MEAN);
    for (int i = 0; i < change.many; i++) {
        char name[16];

        snprintf(name, sizeof name, "m%d", i);
        rgm_output_as(out, name, rgm_mean(x), RGM_AGGREGATE_MAX);
    }
    rgm_output_values(out, "whole", rgm_cast(x, RGM_I64));
    rgm_output_values(out, "unseen", rgm_square(x));
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    (void)hparams;
    return rgm_sgd(0.1, 0);
}

/* ---- reducers ---------------------------------------------------------------------------------
 */

/* Of numbers, how many are at least `parameter`, and how many there are. */
static rgm_status count(rgm_gathered *gathered, const rgm_reducer *reducer,
                        rgm_tensor *const *values, const rgm_config *hparams)
{
    CHECK(rgm_config_int(hparams, "k") == 4);
    CHECK(rgm_tensor_dtype(values[0]) == RGM_I64);
    for (int64_t i = 0; i < rgm_tensor_count(values[0]); i++)
        rgm_gathered_counts(gathered)[0] +=
            (double)rgm_tensor_i64(values[0])[i] >= reducer->parameter;
    rgm_gathered_counts(gathered)[1] += (double)rgm_tensor_count(values[0]);
    return RGM_OK;
}

static rgm_status share(double *out, rgm_gathered *gathered, const rgm_reducer *reducer,
                        const rgm_config *hparams)
{
    (void)reducer, (void)hparams;
    change.results++;
    if (change.result_fails)
        return RGM_FAIL(RGM_ERR_DATA, "there is nothing to share");
    *out = rgm_gathered_counts(gathered)[0] / rgm_gathered_counts(gathered)[1];
    return RGM_OK;
}

/* The number in the middle, of a list, of all that texts name. */
static rgm_status keep(rgm_gathered *gathered, const rgm_reducer *reducer,
                       rgm_tensor *const *values, const rgm_config *hparams)
{
    (void)reducer, (void)hparams;
    for (int64_t i = 0; i < rgm_tensor_count(values[1]); i++) {
        double number = rgm_tensor_at(values[0], i), row;
        const rgm_str *text = &rgm_tensor_str(values[1])[i];
        char digits[8];

        snprintf(digits, sizeof digits, "%.*s", (int)text->size - 4, text->data + 4);
        CHECK(rgm_number_parse(&row, digits) && number == (double)((int)row * 5 % ROWS));
        RGM_TRY(rgm_gathered_append(gathered, &number, 1));
    }
    return RGM_OK;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static rgm_status middle(double *out, rgm_gathered *gathered, const rgm_reducer *reducer,
                         const rgm_config *hparams)
{
    double sorted[2 * ROWS];
    int64_t n;
    const double *list = rgm_gathered_list(gathered, &n);

    (void)reducer, (void)hparams;
    CHECK(rgm_gathered_counts(gathered)[0] == 0);
    memcpy(sorted, list, (size_t)n * sizeof *sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    *out = n > 0 ? sorted[n / 2] : NAN;
    return RGM_OK;
}

static rgm_status make_metrics(rgm_measures *out, const rgm_config *experiment,
                               const rgm_config *hparams)
{
    char name[32];
    int64_t k = rgm_config_int(hparams, "k");

    CHECK_INT(2, rgm_config_int(experiment, "batches_per_step"));
    if (change.no_measures)
        return RGM_OK;
    snprintf(name, sizeof name, "share_above_%lld", (long long)k);
    rgm_measure_by(out, &(rgm_reducer){.name = name,
                                       .inputs = {"whole"},
                                       .counts = 2,
                                       .parameter = (double)k,
                                       .add = count,
                                       .result = share});
    rgm_measure_by(out, &(rgm_reducer){.name = "middle",
                                       .inputs = {"x", "text"},
                                       .counts = 1,
                                       .smaller_is_better = true,
                                       .add = keep,
                                       .result = middle});
    rgm_measure_validation(out, change.names_wrong ? "mostly" : "most");
    for (int i = 0; i < change.many; i++) {
        snprintf(name, sizeof name, "m%d", i);
        rgm_measure_validation(out, name);
    }
    if (change.trains_weighted)
        rgm_measure_training(out, "weighted");
    if (change.trains_most)
        rgm_measure_training(out, "most");
    if (change.added != NULL)
        rgm_measure_by(out, change.added);
    return RGM_OK;
}

RGM_TRIAL(measured, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .validation_metrics = {"mean", "least", "last"},
          .make_metrics = make_metrics);

/* ---- trials -----------------------------------------------------------------------------------
 */

static rgm_search_file *read_file(const char *metric, int shards)
{
    rgm_search_file *file;
    char text[400];

    snprintf(text, sizeof text,
             "entrypoint: its-own\nhyperparameters: {k: 4}\nbatches_per_step: 2\n"
             "searcher: {name: single, metric: %s, max_length: 6}\nruntime: {shards: %d}\n",
             metric, shards);
    CHECK_OK(rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "m.yaml", NULL));
    return file;
}

static rgm_status open_of(rgm_trial **out, rgm_search_file *file, const rgm_hyper_value *values)
{
    return rgm_trial_open(
        out, &(rgm_trial_setup){
                 .file = file, .hooks = &rgm_hooks_measured, .values = values, .seed = 3});
}

static rgm_status open_trial(rgm_trial **out, const char *metric, int shards)
{
    rgm_search_file *file = read_file(metric, shards);
    rgm_hyper_value values[2];
    rgm_mt19937 random;
    rgm_status status;

    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    status = open_of(out, file, values);
    rgm_search_file_release(file);
    return status;
}

static int forget(void **state)
{
    (void)state;
    change = (struct change){0};
    return 0;
}

/* The numbers 0, 5, 10, 1, 6, 11, 2, 7, 12, 3, 8, 13, 4, 9 in batches of 3. */
static void numbers_are_those_of_a_plain_loop(void **state)
{
    (void)state;
    for (int shards = 1; shards <= 4; shards *= 2) {
        rgm_workload_result r;
        rgm_trial *trial;

        CHECK_OK(open_trial(&trial, "middle", shards));
        CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 2}, &r));
        CHECK(!rgm_logs_has(r.metrics, "middle"));
        change.results = 0;
        CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 2}, &r));
        CHECK_INT(1, change.results);
        CHECK(rgm_logs_get(r.metrics, "share_above_4") == 10. / ROWS);
        CHECK(rgm_logs_get(r.metrics, "middle") == 7 && r.objectives[0] == 7);
        CHECK(rgm_logs_get(r.metrics, "least") == 5 && rgm_logs_get(r.metrics, "most") == 8);
        CHECK(rgm_logs_get(r.metrics, "last") == 6.5);
        CHECK(rgm_trainer_smaller_is_better(rgm_run_trainer(rgm_trial_run(trial)), "middle"));
        rgm_trial_close(trial);
    }
}

/* Six batches, of 14 rows and again the first 3: each by the records that it has itself. */
static void a_weighted_mean_of_training_is_over_all_batches_of_a_step(void **state)
{
    (void)state;
    for (int shards = 1; shards <= 2; shards++) {
        rgm_workload_result r;
        rgm_trial *trial;

        change.trains_weighted = true;
        CHECK_OK(open_trial(&trial, "middle", shards));
        CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 6 / shards}, &r));
        CHECK_CLOSE(rgm_logs_get(r.metrics, "weighted"), (91 + 0 + 5 + 10) / 17., 1e-6, 0);
        CHECK_INT(17, r.num_inputs);
        rgm_trial_close(trial);
    }
}

static void check_refused(const char *metric, int shards, const char *message)
{
    rgm_trial *trial = NULL;

    CHECK(open_trial(&trial, metric, shards) < 0 && trial == NULL);
    CHECK_MESSAGE(message);
    forget(NULL);
}

static void mistakes_are_told_before_the_first_step(void **state)
{
    static char long_name[300];

    (void)state;
    memset(long_name, 'n', sizeof long_name - 1);
    check_refused("midle", 1, "'valid.midle' is not a validation metric");
    change.names_wrong = true;
    check_refused("middle", 1,
                  "make_metrics has 'mostly', which is no scalar that build_graph gives; did you "
                  "mean 'most'?");
    change.no_measures = true;
    check_refused("middle", 1, "'valid.middle' is not a validation metric");
    change.added = &(rgm_reducer){.name = "z", .inputs = {"wole"}, .add = keep, .result = middle};
    check_refused("middle", 1,
                  "reducer 'z' looks at 'wole', which neither rgm_output_values() gives nor the "
                  "record has; did you mean 'whole'?");
    change.added = &(rgm_reducer){.name = "middle", .add = keep, .result = middle};
    check_refused("middle", 1, "two metrics are named 'middle'");
    change.added = &(rgm_reducer){.name = "mean", .add = keep, .result = middle};
    check_refused("middle", 1, "two metrics are named 'mean'");
    change.added = &(rgm_reducer){.name = "z", .result = middle};
    check_refused("middle", 1, "trial 'measured': make_metrics: reducer 'z' has no `add`");
    change.added = &(rgm_reducer){.name = "z", .add = keep, .result = middle, .counts = -1};
    check_refused("middle", 1, "reducer 'z' has counts below 0");
    change.added = &(rgm_reducer){.name = long_name, .add = keep, .result = middle};
    check_refused("middle", 1, "a metric's name has 1 to 127 bytes");
    change.many = RGM_MAX_METRICS - 1; /* 32 of make_metrics, and three of the hooks themselves */
    check_refused("middle", 2, "35 metrics, but at most 32 are possible");
    change.trains_most = true;
    check_refused("middle", 2,
                  "the training metric 'most' is the largest over batches, which does not add up "
                  "over runtime.shards: 2");
}

static void an_error_of_a_reducer_is_the_validations(void **state)
{
    rgm_workload_result r;
    rgm_trial *trial;

    (void)state;
    CHECK_OK(open_trial(&trial, "middle", 1));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 2}, &r));
    change.result_fails = true;
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 1, 2}, &r));
    CHECK_MESSAGE("trial 'measured': share_above_4: there is nothing to share");
    rgm_trial_close(trial);
}

static rgm_status validate(rgm_search_file *file, const rgm_hyper_value *values)
{
    rgm_status status = RGM_OK;
    rgm_workload_result r;
    rgm_trial *trial = NULL;

    RGM_GO(open_of(&trial, file, values));
    RGM_GO(rgm_trial_do(trial, &(rgm_workload){RGM_COMPUTE_VALIDATION_METRICS, 0, 0}, &r));
done:
    rgm_trial_close(trial);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    for (int shards = 1; shards <= 2; shards++) {
        rgm_search_file *file = read_file("middle", shards);
        rgm_hyper_value values[2];
        rgm_mt19937 random;

        rgm_mt19937_seed(&random, 1);
        CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
        CHECK_EVERY_OOM(validate(file, values), (void)0);
        rgm_search_file_release(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(numbers_are_those_of_a_plain_loop, forget),
        cmocka_unit_test_teardown(a_weighted_mean_of_training_is_over_all_batches_of_a_step,
                                  forget),
        cmocka_unit_test_teardown(mistakes_are_told_before_the_first_step, forget),
        cmocka_unit_test_teardown(an_error_of_a_reducer_is_the_validations, forget),
        cmocka_unit_test_teardown(memory_that_runs_out_is_told, forget)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
