/*
 * Search files over experiments: what they say, all that is wrong with one at once, points as
 * experiment files, and lengths as batches.
 */
#include <check.h>
#include <regimen/trial.h>

static char folder[128];
static rgm_search_file *file;
static rgm_text mistakes;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    file = NULL;
    rgm_text_clear(&mistakes);
    return 0;
}

static const char *write_file(const char *name, const char *text)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    return path;
}

static rgm_status load(const char *text)
{
    rgm_experiment_layers layers = {.name = write_file("s.yaml", text)};

    release(NULL);
    return rgm_trial_load_search(&file, &mistakes, &layers);
}

#define SEARCHER                                                                                   \
    "searcher: {name: random, metric: valid.accuracy, smaller_is_better: false, max_trials: 3, "   \
    "max_length: 4}\n"
#define RATE                                                                                       \
    "hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}}\n"

static const char whole[] =
    "extends: digits_mlp\n"
    "description: rate and width\n"
    "labels: [mlp, digits]\n"
    "hyperparameters:\n"
    "  optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}\n"
    "  model.hidden: {type: categorical, vals: [[16], [32, 16]]}\n"
    "  data: {batch_size: 32}\n"
    "constraints: []\n"
    "searcher: {name: random, metric: accuracy, smaller_is_better: false, max_trials: 3, "
    "max_length: {epochs: 2}}\n"
    "batches_per_step: 50\n"
    "records_per_epoch: 3441\n"
    "min_validation_period: {batches: 75}\n"
    "min_checkpoint_period: 2\n"
    "perform_initial_validation: true\n"
    "checkpoint_policy: none\n"
    "checkpoint_storage: {save_trial_best: 0, save_trial_latest: 2}\n"
    "max_restarts: 0\n"
    "reproducibility: {experiment_seed: 7}\n"
    "resources: {slots_per_trial: 2, max_slots: 4, priority: 10, weight: 2.5}\n"
    "environment: {environment_variables: [A=1, \"B=x=y\"]}\n"
    "scheduler: {type: slurm, partition: cpu, options: [\"--exclusive\"]}\n"
    "debug: true\n";

static void every_section_is_read(void **state)
{
    const rgm_search_settings *o;
    const rgm_objective *objectives;

    (void)state;
    CHECK_OK(load(whole));
    o = rgm_search_file_settings(file);
    CHECK_TEXT("s", rgm_search_file_name(file));
    CHECK_TEXT("rate and width", o->description);
    CHECK_INT(2, o->labels.count);
    CHECK_TEXT("digits", o->labels.items[1]);
    CHECK_INT(50, o->batches_per_step);
    CHECK(o->min_validation_period.units == 75 && o->min_validation_period.unit == RGM_BATCHES);
    CHECK(o->min_checkpoint_period.units == 2 && o->min_checkpoint_period.unit == RGM_STEPS);
    CHECK(o->perform_initial_validation && o->debug);
    CHECK_INT(RGM_POLICY_NONE, o->checkpoint_policy);
    CHECK(o->checkpoint_storage.save_experiment_best == 0 &&
          o->checkpoint_storage.save_trial_best == 0 &&
          o->checkpoint_storage.save_trial_latest == 2);
    CHECK_INT(0, o->max_restarts);
    CHECK_INT(7, o->reproducibility.experiment_seed);
    CHECK(o->resources.slots_per_trial == 2 && o->resources.max_slots == 4 &&
          o->resources.priority == 10 && o->resources.weight == 2.5);
    CHECK_TEXT("B=x=y", o->environment.environment_variables.items[1]);
    CHECK_INT(RGM_SCHEDULER_SLURM, o->scheduler.type);
    CHECK_TEXT("cpu", o->scheduler.partition);
    CHECK_INT(3, rgm_space_count(rgm_search_file_space(file)));
    CHECK_INT(1, rgm_search_file_objectives(&objectives, file));
    CHECK_TEXT("valid.accuracy", objectives[0].metric);
    CHECK(!objectives[0].smaller_is_better);
}

static void defaults_are_those_of_the_table(void **state)
{
    const rgm_search_settings *o;

    (void)state;
    CHECK_OK(load("extends: digits_mlp\n" RATE SEARCHER));
    o = rgm_search_file_settings(file);
    CHECK(o->batches_per_step == 100 && o->records_per_epoch == 0 && o->max_restarts == 5);
    CHECK(o->min_validation_period.units == 0 && o->min_checkpoint_period.units == 0);
    CHECK(o->checkpoint_policy == RGM_POLICY_BEST && !o->perform_initial_validation && !o->debug);
    CHECK(o->checkpoint_storage.save_experiment_best == 0 &&
          o->checkpoint_storage.save_trial_best == 1 &&
          o->checkpoint_storage.save_trial_latest == 1);
    CHECK(o->reproducibility.experiment_seed == -1 && o->resources.slots_per_trial == 1 &&
          o->resources.max_slots == 0 && o->resources.priority == 42 && o->resources.weight == 1);
    CHECK(o->entrypoint == NULL && o->labels.count == 0 &&
          o->scheduler.type == RGM_SCHEDULER_LOCAL);
}

static void the_text_of_a_file_parses_to_the_same(void **state)
{
    rgm_search_file *again;
    const char *text;

    (void)state;
    CHECK_OK(load(whole));
    text = rgm_search_file_text(file);
    CHECK_OK(
        rgm_search_file_parse(&again, NULL, text, (int64_t)strlen(text), "experiment 3", NULL));
    CHECK_TEXT(text, rgm_search_file_text(again));
    rgm_search_file_release(again);
    release(NULL);
    CHECK_OK(load("extends: digits_mlp\n" RATE SEARCHER "labels: {b: true, a: true}\n"));
    CHECK_TEXT("b", rgm_search_file_settings(file)->labels.items[0]);
}

/* ---- mistakes ----------------------------------------------------------------------------------
 */

static void all_mistakes_are_told_with_their_places(void **state)
{
    static const char *const told[] = {"s.yaml:2:",
                                       "batches_per_step",
                                       "s.yaml:3:",
                                       "did you mean 'searcher'",
                                       "s.yaml:4:",
                                       "trials are processes, not containers",
                                       "s.yaml:5:",
                                       "priority",
                                       "slots_per_trail",
                                       "s.yaml:6:",
                                       "min_validation_period",
                                       "s.yaml:7:",
                                       "NAME=VALUE",
                                       "s.yaml:8:",
                                       "scheduler.partition is about Slurm",
                                       "s.yaml:9:",
                                       "the searcher decides when a trial ends",
                                       "s.yaml:10:",
                                       "s.yaml:11:",
                                       "bind_mounts",
                                       "s.yaml:12:",
                                       "average_aggregated_gradients"};
    int64_t lines = 0;

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG,
                 load("extends: digits_mlp\n"
                      "batches_per_step: 0\n"
                      "sercher: {name: random}\n"
                      "environment: {image: a/b, environment_variables: [NAME]}\n"
                      "resources: {priority: 100, slots_per_trail: 2}\n"
                      "min_validation_period: {steps: 1, epochs: 2}\n"
                      "x: 1\n"
                      "scheduler: {partition: a}\n"
                      "trainer: {early_stopping: {patience: 3}}\n"
                      "labels: [a, a]\n"
                      "bind_mounts: []\n"
                      "optimizations: {average_aggregated_gradients: false}\n"
                      "hyperparameters: {a: {type: int, minval: 3, maxval: 1}, b: {type: hex}}\n"));
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strcmp(told[i], "s.yaml:7:") == 0 || strstr(mistakes.data, told[i]) != NULL)
            continue;
        else
            fail_msg("'%s' is not told in\n%s", told[i], mistakes.data);
    for (int64_t i = 0; i < mistakes.size; i++)
        lines += mistakes.data[i] == '\n';
    CHECK(lines >= 13);
    CHECK_MESSAGE("batches_per_step");
}

static void check_mistake(const char *text, const char *message)
{
    CHECK_STATUS(RGM_ERR_CONFIG, load(text));
    if (strstr(mistakes.data, message) == NULL)
        fail_msg("of\n%s'%s' is not told, but\n%s", text, message, mistakes.data);
}

static void hyperparameters_are_keys_of_the_experiment(void **state)
{
    (void)state;
    check_mistake("extends: digits_mlp\nhyperparameters: {optimizer.learning_rat: 3}\n" SEARCHER,
                  "s.yaml:2:43: unknown key 'optimizer.learning_rat'; did you mean "
                  "'optimizer.learning_rate'");
    check_mistake("extends: digits_mlp\nhyperparameters: {optimiser.learning_rate: 3}\n" SEARCHER,
                  "did you mean 'optimizer'");
    check_mistake("extends: digits_mlp\nhyperparameters:\n  model:\n    dropout: {type: double, "
                  "minval: 2, maxval: 3}\n" SEARCHER,
                  "s.yaml:4:14: 'dropout' is 2.");
    check_mistake("extends: digits_mlp\nhyperparameters: {model.type: {type: categorical, vals: "
                  "[mlp, mpl]}}\n" SEARCHER,
                  "model.type 'mpl' is unknown; did you mean 'mlp'");
}

static void contradictions_are_refused(void **state)
{
    (void)state;
    check_mistake("extends: digits_mlp\n" RATE, "the section 'searcher' is missing");
    check_mistake("extends: digits_mlp\n" RATE SEARCHER "trainer: {accumulation_steps: 2}\n"
                  "optimizations: {aggregation_frequency: 2}\n",
                  "by another name; only one of them may be set");
    check_mistake("extends: digits_mlp\n" RATE SEARCHER
                  "resources: {slots_per_trial: 4, max_slots: 2}\n",
                  "max_slots is 2");
    check_mistake("extends: digits_mlp\n" RATE SEARCHER "min_validation_period: {epochs: 1}\n",
                  "records_per_epoch");
    check_mistake("extends: digits_mlp\nentrypoint: a.so\n" SEARCHER,
                  "beside 'entrypoint', whose functions say all of it");
    CHECK_STATUS(RGM_ERR_CONFIG, load("extends: digits_mlp\n"));
    CHECK_MESSAGE("this is no search");
    CHECK_MESSAGE("regimen run ");
}

/* ---- points ------------------------------------------------------------------------------------
 */

static rgm_status print_point(rgm_text *out, const rgm_search_file *of,
                              const rgm_hyper_value *values, uint32_t seed)
{
    rgm_status status = RGM_OK;
    rgm_yaml *document = NULL;

    RGM_GO(rgm_search_file_point(&document, of, values, seed));
    RGM_GO(rgm_yaml_print(out, rgm_yaml_root(document)));
done:
    rgm_yaml_release(document);
    return status;
}

static void a_point_is_an_experiment_file(void **state)
{
    rgm_hyper_value values[3] = {{0}};
    rgm_experiment *e;
    rgm_mt19937 random;
    rgm_text text = {0}, rate = {0};
    int64_t r;

    (void)state;
    CHECK_OK(load(whole));
    rgm_mt19937_seed(&random, 3);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(print_point(&text, file, values, 77));
    CHECK(strstr(text.data, "searcher") == NULL && strstr(text.data, "labels") == NULL);
    CHECK_OK(rgm_experiment_load(&e, write_file("point.yaml", text.data), NULL, 0));
    r = rgm_space_find(rgm_search_file_space(file), "optimizer.learning_rate");
    CHECK_OK(rgm_space_print_value(&rate, rgm_search_file_space(file), r, &values[r]));
    CHECK_TEXT(rate.data, rgm_experiment_find(e, "optimizer.learning_rate")->value->text);
    CHECK_TEXT("77", rgm_experiment_find(e, "runtime.seed")->value->text);
    CHECK_TEXT("32", rgm_experiment_find(e, "data.batch_size")->value->text);
    CHECK_TEXT("215", rgm_experiment_find(e, "trainer.train_steps")->value->text); /* 6882 / 32 */
    CHECK_TEXT("valid.cross_entropy", /* the file's own */
               rgm_experiment_find(e, "trainer.checkpoint.best.metric")->value->text);
    CHECK_TEXT("rate and width", rgm_experiment_description(e));
    rgm_experiment_release(e);
    CHECK_OK(rgm_trial_experiment(&e, file, values, 77));
    CHECK_TEXT(text.data, rgm_experiment_text(e));
    rgm_experiment_release(e);
    rgm_text_clear(&text);
    rgm_text_clear(&rate);
}

static void the_best_weights_are_the_searchers(void **state)
{
    rgm_hyper_value value;
    rgm_mt19937 random;
    rgm_experiment *e;

    (void)state;
    CHECK_OK(load("extends: demo\n" RATE SEARCHER "trainer: {checkpoint: {best: {metric: ~}}}\n"));
    rgm_mt19937_seed(&random, 3);
    CHECK_OK(rgm_space_draw(&value, rgm_search_file_space(file), &random));
    CHECK_OK(rgm_trial_experiment(&e, file, &value, 1));
    CHECK_TEXT("valid.accuracy",
               rgm_experiment_find(e, "trainer.checkpoint.best.metric")->value->text);
    CHECK_TEXT("max", rgm_experiment_find(e, "trainer.checkpoint.best.mode")->value->text);
    rgm_experiment_release(e);
}

static void a_point_of_hooks_keeps_its_names(void **state)
{
    rgm_hyper_value values[2] = {{0}};
    rgm_mt19937 random;
    rgm_experiment *e;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(load("entrypoint: ./digits.so:digits\ndata: {path: x, anything: [1, 2]}\n"
                  "hyperparameters: {units: 7, net: {depth: 3}}\n"
                  "searcher: {name: random, metric: loss, max_trials: 2, max_length: 3}\n"));
    rgm_mt19937_seed(&random, 3);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(print_point(&text, file, values, 1));
    CHECK(strstr(text.data, "entrypoint: ./digits.so:digits") != NULL);
    CHECK(strstr(text.data, "units: 7") != NULL && strstr(text.data, "depth: 3") != NULL);
    CHECK(strstr(text.data, "train_steps: 300") != NULL);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_trial_experiment(&e, file, values, 1));
    rgm_text_clear(&text);
}

/* Which a searcher's program is given, and whose content its state is of. */
static void files_that_a_searcher_s_command_names_are_placed_to_the_last(void **state)
{
    rgm_text text = {0};
    char placed[256];

    (void)state;
    snprintf(placed, sizeof placed, "%s", write_file("table.txt", "1\n"));
    CHECK_OK(rgm_text_printf(&text, "entrypoint: ./digits.so:digits\nhyperparameters: {units: 7}\n"
                                    "searcher: {name: program, metric: loss, max_length: 3, "
                                    "command: [sh"));
    for (int i = 0; i < 200; i++)
        CHECK_OK(rgm_text_printf(&text, ", --option"));
    CHECK_OK(rgm_text_printf(&text, ", table.txt]}\n"));
    CHECK_OK(load(text.data));
    CHECK(strstr(rgm_search_file_text(file), placed) != NULL);
    rgm_text_clear(&text);
}

/* ---- lengths -----------------------------------------------------------------------------------
 */

static void check_batches(int64_t units, rgm_length_unit unit, int64_t batches, bool is_whole)
{
    rgm_batches out;

    CHECK_OK(rgm_search_file_batches(&out, file, NULL, (rgm_length){units, unit}));
    CHECK_INT(batches, out.batches);
    CHECK_INT(is_whole, out.is_whole);
}

static void lengths_become_batches(void **state)
{
    rgm_batches out;

    (void)state;
    CHECK_OK(load("extends: digits_mlp\n" RATE SEARCHER
                  "records_per_epoch: 1000\nbatches_per_step: 7\n"));
    check_batches(0, RGM_STEPS, 0, true);
    check_batches(3, RGM_STEPS, 21, true);
    check_batches(3, RGM_BATCHES, 3, true);
    check_batches(128, RGM_RECORDS, 2, true); /* data.batch_size is 64 */
    check_batches(191, RGM_RECORDS, 2, false);
    check_batches(1, RGM_RECORDS, 1, false);
    check_batches(2, RGM_EPOCHS, 31, false);
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_search_file_batches(&out, file, NULL, (rgm_length){INT64_MAX, RGM_STEPS}));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_search_file_batches(&out, file, NULL, (rgm_length){INT64_MAX, RGM_EPOCHS}));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_search_file_batches(&out, file, NULL, (rgm_length){INT64_MAX, RGM_BATCHES}));
    CHECK_OK(
        load("extends: digits_mlp\n" RATE SEARCHER "optimizations: {aggregation_frequency: 2}\n"));
    check_batches(256, RGM_RECORDS, 2, true); /* an update takes two of them */
    CHECK_OK(load("extends: demo\n" RATE SEARCHER));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_search_file_batches(&out, file, NULL, (rgm_length){5, RGM_RECORDS}));
    CHECK_MESSAGE("need a batch size");
}

/* ---- hostile -----------------------------------------------------------------------------------
 */

static void ten_thousand_hyperparameters_are_read(void **state)
{
    enum { COUNT = 10000 };
    rgm_text text = {0};
    double begin = rgm_now();

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "entrypoint: a.so\nsearcher: {name: random, metric: loss, "
                                    "max_trials: 2, max_length: 3}\nhyperparameters:\n"));
    for (int i = 0; i < COUNT; i++)
        CHECK_OK(rgm_text_printf(&text, "  h%d: {type: int, minval: 1, maxval: 9}\n", i));
    CHECK_OK(load(text.data));
    CHECK_INT(COUNT, rgm_space_count(rgm_search_file_space(file)));
    rgm_text_clear(&text);
    CHECK_OK(rgm_text_printf(&text, "extends: digits_mlp\n" SEARCHER "hyperparameters:\n"));
    for (int i = 0; i < COUNT; i++)
        CHECK_OK(rgm_text_printf(&text, "  model.h%d: {type: int, minval: 1, maxval: 9}\n", i));
    CHECK_STATUS(RGM_ERR_CONFIG, load(text.data));
    rgm_text_clear(&text);
    CHECK(rgm_now() - begin < 60);
}

static void keys_are_listed(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_search_file_keys(&text, NULL));
    CHECK(strstr(text.data, "\nbatches_per_step ") != NULL);
    CHECK(strstr(text.data, "\nresources.slots_per_trial ") != NULL);
    CHECK(strstr(text.data, "hyperparameters ") == text.data);
    rgm_text_clear(&text);
    CHECK_OK(rgm_search_file_keys(&text, "checkpoint_policy"));
    CHECK(strstr(text.data, "best|all|none") != NULL);
    rgm_text_clear(&text);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_search_file_keys(&text, "cluster"));
}

static rgm_status load_and_leave(const rgm_experiment_layers *layers)
{
    rgm_search_file *f = NULL;
    rgm_text text = {0};
    rgm_status status = rgm_trial_load_search(&f, &text, layers);

    rgm_search_file_release(f);
    rgm_text_clear(&text);
    return status;
}

static void every_named_search_is_right(void **state)
{
    int64_t count, searches = 0;
    const rgm_named_experiment *named = rgm_named_experiments(&count);

    (void)state;
    for (int64_t i = 0; i < count; i++) {
        rgm_experiment_layers layers = {.name = named[i].name};
        rgm_searcher *searcher = NULL;

        if (strstr(named[i].text, "\nsearcher:") == NULL)
            continue;
        searches++;
        release(NULL);
        CHECK_OK(rgm_trial_load_search(&file, &mistakes, &layers));
        CHECK(rgm_search_file_settings(file)->description[0] != '\0');
        CHECK_OK(rgm_search_file_searcher(&searcher, file, 1, NULL));
        rgm_searcher_release(searcher);
    }
    CHECK(searches >= 3);
}

static void memory_that_runs_out_is_told(void **state)
{
    rgm_experiment_layers layers = {
        .name = write_file("oom.yaml", "entrypoint: a.so\nlabels: [a]\nhyperparameters: {x: 3}\n"
                                       "environment: {environment_variables: [A=1]}\n"
                                       "searcher: {name: random, metric: loss, max_trials: 2, "
                                       "max_length: 3}\n")};

    (void)state;
    CHECK_EVERY_OOM(load_and_leave(&layers), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_section_is_read, release),
        cmocka_unit_test_teardown(defaults_are_those_of_the_table, release),
        cmocka_unit_test_teardown(the_text_of_a_file_parses_to_the_same, release),
        cmocka_unit_test_teardown(all_mistakes_are_told_with_their_places, release),
        cmocka_unit_test_teardown(hyperparameters_are_keys_of_the_experiment, release),
        cmocka_unit_test_teardown(contradictions_are_refused, release),
        cmocka_unit_test_teardown(a_point_is_an_experiment_file, release),
        cmocka_unit_test_teardown(the_best_weights_are_the_searchers, release),
        cmocka_unit_test_teardown(a_point_of_hooks_keeps_its_names, release),
        cmocka_unit_test_teardown(files_that_a_searcher_s_command_names_are_placed_to_the_last,
                                  release),
        cmocka_unit_test_teardown(lengths_become_batches, release),
        cmocka_unit_test_teardown(ten_thousand_hyperparameters_are_read, release),
        cmocka_unit_test_teardown(keys_are_listed, release),
        cmocka_unit_test(every_named_search_is_right),
        cmocka_unit_test(memory_that_runs_out_is_told)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
