/*
 * Search files over a subject of the test's own: which sections and points it is asked about, what
 * it refuses, and what is checked without one.
 */
#include <check.h>
#include "search_file_internal.h"

static const char *const sections[] = {"oven", "data", "runtime", "trainer", NULL};
static int asked;
static rgm_search_file *file;
static rgm_text mistakes;

/* Nothing is baked above 300 degrees. */
static rgm_status check_bread(const char *name, const rgm_yaml *document, const void *payload)
{
    const rgm_yaml_node *oven = rgm_yaml_find(rgm_yaml_root(document), "oven");
    double most = *(const double *)payload, degrees;

    asked++;
    RGM_TRY(rgm_yaml_float(&degrees, rgm_yaml_find(oven, "degrees")));
    return degrees <= most ? RGM_OK
                           : RGM_FAIL(RGM_ERR_CONFIG, "%s: %g degrees are too many", name, degrees);
}

static const double most = 300;
static const rgm_search_subject bread = {
    .sections = sections, .check = check_bread, .payload = &most};

static int release(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    file = NULL;
    rgm_text_clear(&mistakes);
    asked = 0;
    return 0;
}

static rgm_status parse(const char *text, const rgm_search_subject *subject)
{
    release(NULL);
    return rgm_search_file_parse(&file, &mistakes, text, (int64_t)strlen(text), "bread.yaml",
                                 subject);
}

#define SEARCHER "searcher: {name: random, metric: taste, max_trials: 3, max_length: 4}\n"

static void points_are_documents_of_the_subject(void **state)
{
    rgm_hyper_value values[1];
    rgm_mt19937 random;
    rgm_yaml *document;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(parse("oven: {stone: true}\nlabels: [crust]\n" SEARCHER
                   "hyperparameters: {oven.degrees: {type: int, minval: 200, maxval: 300}}\n",
                   &bread));
    CHECK(asked == 16 && mistakes.size == 0);
    CHECK(rgm_search_file_subject(file)->check == check_bread);
    CHECK_TEXT("bread.yaml", rgm_search_file_path(file));
    CHECK(rgm_yaml_find(rgm_yaml_root(file->merged), "labels") != NULL);
    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(rgm_search_file_point(&document, file, values, 5));
    CHECK_OK(rgm_yaml_print(&text, rgm_yaml_root(document)));
    CHECK(strstr(text.data, "stone: true") != NULL && strstr(text.data, "seed: 5") != NULL);
    CHECK(strstr(text.data, "labels") == NULL && strstr(text.data, "searcher") == NULL);
    rgm_text_clear(&text);
    rgm_yaml_release(document);
}

static void few_points_of_many_values_are_asked_about(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_text_printf(&text, SEARCHER "hyperparameters:\n  oven.degrees: 250\n"));
    for (int i = 0; i < 4999; i++)
        CHECK_OK(rgm_text_printf(&text, "  oven.a%d: {type: double, minval: 0, maxval: 1}\n", i));
    CHECK_OK(parse(text.data, &bread));
    CHECK_INT(3, asked);
    rgm_text_clear(&text);
}

static void what_the_subject_refuses_is_a_mistake(void **state)
{
    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG,
                 parse(SEARCHER
                       "hyperparameters: {oven.degrees: {type: int, minval: 301, maxval: 400}}\n",
                       &bread));
    CHECK_MESSAGE("degrees are too many");
    CHECK(asked == 1);
    CHECK_STATUS(RGM_ERR_CONFIG,
                 parse(SEARCHER "hyperparameters: {owen.degrees: 5}\nyeast: 3\n", &bread));
    CHECK(strstr(mistakes.data, "unknown section 'yeast'") != NULL);
    CHECK(strstr(mistakes.data, "'owen.degrees' is no key of the experiment") != NULL);
    CHECK(strstr(mistakes.data, "did you mean 'oven'") != NULL && asked == 0);
}

static void of_many_mistakes_the_first_are_told(void **state)
{
    rgm_text text = {0};
    int64_t lines = 0;

    (void)state;
    CHECK_OK(rgm_text_printf(&text, "%s",
                             SEARCHER "oven: {degrees: 200}\nhyperparameters: {oven.degrees: {type:"
                                      " int, minval: 100, maxval: 200}}\n"));
    for (int i = 0; i < 5000; i++)
        CHECK_OK(rgm_text_printf(&text, "x%d: 1\n", i));
    CHECK_STATUS(RGM_ERR_CONFIG, parse(text.data, &bread));
    for (int64_t i = 0; i < mistakes.size; i++)
        lines += mistakes.data[i] == '\n';
    CHECK_INT(1001, lines);
    CHECK(strstr(mistakes.data, "unknown section 'x7'") != NULL);
    CHECK(strstr(mistakes.data, "\n... and 4") != NULL);
    rgm_text_clear(&text);
}

/* Batches of `length` at the first point that is drawn. */
static int64_t batches_of(const char *text, rgm_length length)
{
    rgm_hyper_value values[4];
    rgm_batches batches;
    rgm_mt19937 random;

    CHECK_OK(parse(text, &bread));
    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(rgm_search_file_batches(&batches, file, values, length));
    return batches.batches;
}

/* Whichever key says how many batches an update takes, 640 records are 20 updates of 2 times 16. */
static void records_are_those_of_an_update(void **state)
{
    static const rgm_length records = {.unit = RGM_RECORDS, .units = 640},
                            epochs = {.unit = RGM_EPOCHS, .units = 2};
    static const char once[] = SEARCHER "oven: {degrees: 200}\nentrypoint: ./bread.so\n"
                                        "hyperparameters: {batch_size: 16}\n"
                                        "records_per_epoch: 320\n";
    static const char *const twice[] = {
        "trainer: {accumulation_steps: 2}\n",
        "optimizations: {aggregation_frequency: 2}\n",
        "runtime: {shards: 2}\n",
    };
    char text[600];

    (void)state;
    CHECK_INT(40, batches_of(once, records));
    CHECK_INT(40, batches_of(once, epochs));
    for (int i = 0; i < 3; i++) {
        snprintf(text, sizeof text, "%s%s", once, twice[i]);
        CHECK_INT(20, batches_of(text, records));
        CHECK_INT(20, batches_of(text, epochs));
    }
    snprintf(text, sizeof text, "%s%s", once,
             "runtime: {shards: 2}\ntrainer: {privacy: {clipping_norm: 1.0}}\n");
    CHECK_INT(40, batches_of(text, records)); /* shards of a private step share one batch */
    static const char key[] = SEARCHER "oven: {degrees: 200, batch_size: 16}\ndata: "
                                       "{batch_size: 16}\nrecords_per_epoch: 320\n"
                                       "trainer: {accumulation_steps: 8}\n"
                                       "hyperparameters: {trainer.accumulation_steps: 2}\n";
    CHECK_INT(20, batches_of(key, records)); /* a hyperparameter stands above its key */
    CHECK_INT(20, batches_of(key, epochs));
}

/* An epoch of 53.77 batches is one of 53: a trial that did 53 is told to have done one epoch. */
static void batches_of_whole_epochs_are_told_in_epochs(void **state)
{
    static const struct {
        double batches, epochs;
    } rows[] = {{53, 1}, {215, 4}, {860, 16}, {3441, 64}, {27, 27 / 53.765625}, {0, 0}};
    static const rgm_length longest = {.unit = RGM_EPOCHS, .units = 64};
    rgm_hyper_value values[4];
    rgm_mt19937 random;
    double epochs;

    (void)state;
    CHECK_INT(3441, batches_of("searcher: {name: random, metric: taste, max_trials: 2, max_length: "
                               "{epochs: 64}}\noven: {degrees: 200}\nentrypoint: ./bread.so\n"
                               "hyperparameters: {batch_size: 64}\nrecords_per_epoch: 3441\n",
                               longest));
    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_INT(RGM_EPOCHS, rgm_search_file_units(&epochs, file, values, rows[i].batches).unit);
        CHECK_CLOSE(rows[i].epochs, epochs, 1e-4, 0);
    }
}

/* ---- slots that are devices ------------------------------------------------------------------ */

#define BREAD SEARCHER "oven: {degrees: 200}\nhyperparameters: {oven.minutes: 5}\n"

static void slots_may_be_devices(void **state)
{
    rgm_hyper_value values[1];
    rgm_mt19937 random;
    rgm_yaml *document;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(parse(BREAD "resources: {slot_type: gpu}\n", &bread));
    CHECK_INT(RGM_SLOT_GPU, rgm_search_file_settings(file)->resources.slot_type);
    rgm_mt19937_seed(&random, 1);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(rgm_search_file_point(&document, file, values, 5));
    CHECK_OK(rgm_yaml_print(&text, rgm_yaml_root(document)));
    CHECK(strstr(text.data, "device: gpu") != NULL); /* what a trial's run is on elsewhere too */
    rgm_text_clear(&text);
    rgm_yaml_release(document);
    CHECK_OK(parse(BREAD "resources: {slot_type: gpu, slots_per_trial: 4}\nruntime: {shards: 8, "
                         "device: opencl}\n",
                   &bread));
    CHECK_INT(4, rgm_search_file_ranks(file));
    CHECK_OK(rgm_search_file_point(&document, file, values, 5));
    CHECK_OK(rgm_yaml_print(&text, rgm_yaml_root(document)));
    CHECK(strstr(text.data, "device: opencl") != NULL && strstr(text.data, "gpu") == NULL);
    rgm_text_clear(&text);
    rgm_yaml_release(document);
    CHECK_OK(parse(BREAD "resources: {slot_type: gpu}\nscheduler: {type: slurm, gres: "
                         "\"gpu:a100\"}\n",
                   &bread));
    CHECK_TEXT("gpu:a100", rgm_search_file_settings(file)->scheduler.gres);
}

/* Each is told with its place, before anything runs. */
static void slots_that_no_trial_could_use_are_refused(void **state)
{
    static const struct {
        const char *text, *message;
    } rows[] = {
        {"resources: {slot_type: gpu, slots_per_trial: 2}\n",
         "a process drives one device: set runtime.shards to 2"},
        {"resources: {slot_type: gpu, slots_per_trial: 3}\nruntime: {shards: 4}\n",
         "resources.slots_per_trial is a power of two"},
        {"resources: {slot_type: gpu}\nruntime: {device: cpu}\n",
         "leave runtime.device out, or say by which interface"},
        {"resources: {slot_type: gpu}\nruntime: {device: \"cuda:1\"}\n",
         "leave runtime.device out, or say by which interface"},
        {"resources: {slot_type: tpu}\n", "slot_type"},
        {"resources: {slot_type: gpu}\nenvironment: {environment_variables: "
         "[CUDA_VISIBLE_DEVICES=1]}\n",
         "CUDA_VISIBLE_DEVICES is set for each trial"},
        {"resources: {slot_type: gpu}\nscheduler: {type: slurm, options: [--gres=gpu:2]}\n",
         "say scheduler.gres (gpu:a100) in the place of '--gres=gpu:2'"},
        {"resources: {slot_type: gpu}\nscheduler: {type: slurm, options: [--gpus-per-node=1]}\n",
         "in the place of '--gpus-per-node=1'"},
        {"resources: {slot_type: gpu}\nscheduler: {type: slurm, gres: \"gpu,x\"}\n",
         "scheduler.gres is 'gpu,x', must be a name or NAME:TYPE"},
        {"scheduler: {type: slurm, gres: gpu}\n",
         "scheduler.gres is about devices; add resources.slot_type: gpu"},
        {"resources: {slot_type: gpu}\nscheduler: {gres: gpu}\n",
         "scheduler.gres is about Slurm and other queues; add scheduler.type: slurm"},
        {"resources: {slot_type: gpu, pool: big}\n", "a master's devices are in no pool"},
        {"resources: {slot_type: gpu}\nscheduler: {type: pbs}\n",
         "slot_type: gpu is of this machine and of Slurm: with scheduler.type: pbs ask for"},
    };
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text, "%s%s", BREAD, rows[i].text);
        CHECK_STATUS(RGM_ERR_CONFIG, parse(text, &bread));
        CHECK_MESSAGE(rows[i].message);
        CHECK(strncmp(rgm_error_message(), "bread.yaml:", 11) == 0);
    }
    CHECK_STATUS(RGM_ERR_CONFIG,
                 parse(SEARCHER "oven: {degrees: 200}\nresources: {slot_type: gpu}\n"
                                "hyperparameters: {runtime.device: {type: categorical, vals: "
                                "[gpu, cuda]}}\n",
                       &bread));
    CHECK_MESSAGE(
        "'runtime.device' would have no effect: with resources.slot_type: gpu each trial");
}

/* A search of a searcher with so many points. */
static rgm_status parse_points(const char *searcher, int64_t count)
{
    char text[600];
    int used = snprintf(text, sizeof text,
                        "hyperparameters: {oven.degrees: {type: int, minval: 1, maxval: 300}}\n"
                        "searcher: {name: %s, metric: taste, points: [",
                        searcher);

    for (int64_t i = 1; i <= count; i++)
        used += snprintf(text + used, sizeof text - (size_t)used, "%s{oven.degrees: %lld}",
                         i > 1 ? ", " : "", (long long)i);
    snprintf(text + used, sizeof text - (size_t)used, "]}\n");
    return parse(text, NULL);
}

static void points_that_no_trial_would_try_are_refused(void **state)
{
    static const struct {
        const char *searcher;
        int64_t most;
    } rows[] = {{"single, max_length: 4", 1},
                {"random, max_length: 4, max_trials: 3", 3},
                {"random, max_length: 4, max_trials: 3, max_concurrent_trials: 1", 3},
                {"median, max_length: 4, max_trials: 3", 3},
                {"adaptive_asha, max_length: 16, max_trials: 5", 5},
                {"bohb, max_length: 16, max_trials: 5, max_concurrent_trials: 1", 5},
                {"adaptive_simple, max_steps: 16, max_trials: 5", 5},
                {"pbt, population_size: 2, num_rounds: 2, steps_per_round: 2", 2}};
    rgm_search_file *loaded;
    rgm_yaml *merged;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        CHECK_OK(parse_points(rows[i].searcher, rows[i].most));
        CHECK_OK(rgm_search_file_check_points(file));
        CHECK_OK(parse_points(rows[i].searcher, rows[i].most + 1)); /* as one that goes on */
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_search_file_check_points(file));
        CHECK_MESSAGE("the last 1 would not be tried; raise the number of trials");
    }
    CHECK_OK(rgm_yaml_parse(&merged, rgm_search_file_text(file),
                            (int64_t)strlen(rgm_search_file_text(file)), "bread.yaml"));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_search_file_load(&loaded, NULL, "bread.yaml", merged, NULL));
    CHECK_MESSAGE("'searcher.points' has 3 points, and the search 2 trials");
    rgm_yaml_release(merged);
}

/* config.yaml of a trial of hooks: read again it is the same point. */
static void a_point_of_hooks_is_a_search_file_of_that_point(void **state)
{
    static const char text[] =
        "entrypoint: ./bread.so\ndata: {path: here}\nlabels: [crust]\nrecords_per_epoch: 320\n"
        "optimizations: {aggregation_frequency: 2}\nmin_validation_period: {epochs: 1}\n"
        "constraints: [a <= b]\nruntime: {threads: 2}\n"
        "hyperparameters: {batch_size: 16, a: {type: int, minval: 1, maxval: 5}, b: {type: "
        "categorical, vals: [5, 6]}}\nsearcher: {name: random, metric: taste, max_trials: 3, "
        "max_length: {epochs: 4}, points: [{a: 3, b: 5}]}\n";
    rgm_hyper_value values[4];
    rgm_mt19937 random;
    rgm_yaml *document;
    rgm_text printed[2] = {{0}, {0}};

    (void)state;
    CHECK_OK(parse(text, NULL));
    rgm_mt19937_seed(&random, 1);
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
        CHECK_OK(rgm_search_file_point(&document, file, values, 5));
        CHECK_OK(rgm_yaml_print(&printed[i], rgm_yaml_root(document)));
        rgm_yaml_release(document);
        CHECK_OK(parse(printed[i].data, NULL));
    }
    CHECK_TEXT(printed[0].data, printed[1].data);
    CHECK(strstr(printed[0].data, "train_steps: 40\n") != NULL); /* 4 epochs of 320 / (2 * 16) */
    CHECK(strstr(printed[0].data, "accumulation_steps: 2\n") != NULL);
    CHECK(strstr(printed[0].data, "constraints") == NULL);
    rgm_text_clear(&printed[0]);
    rgm_text_clear(&printed[1]);
}

/* Every process of a trial has as many slots, and at least one shard. */
static void slots_are_shared_out_to_ranks(void **state)
{
    static const int64_t rows[][3] = {{1, 1, 1}, {4, 1, 1}, {1, 4, 1}, {2, 4, 2}, {3, 4, 1},
                                      {4, 4, 4}, {4, 2, 2}, {6, 8, 2}, {8, 4, 4}, {12, 16, 4}};
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        snprintf(text, sizeof text,
                 SEARCHER "oven: {degrees: 200}\nresources: {slots_per_trial: %d}\n"
                          "runtime: {shards: %d}\n",
                 (int)rows[i][0], (int)rows[i][1]);
        CHECK_OK(parse(text, NULL));
        CHECK_INT(rows[i][2], rgm_search_file_ranks(file));
    }
    CHECK_OK(parse(SEARCHER
                   "resources: {slots_per_trial: 4}\n"
                   "hyperparameters: {runtime.shards: {type: categorical, vals: [2, 4]}}\n",
                   NULL));
    CHECK_INT(1, rgm_search_file_ranks(file));
}

/* As a search of that one point, whatever its hyperparameters are called and have as values. */
static void the_document_of_hooks_reads_again(void **state)
{
    static const char text[] =
        SEARCHER "entrypoint: ./bread.so\nhyperparameters: {oven.type: {type: categorical, vals: "
                 "[stone, {of: gas}]}, oven.degrees: {type: int, minval: 1, maxval: 300, when: "
                 "oven.type == stone}}\nconstraints: [oven.degrees <= 250]\n";
    static const char *const want[] = {"{\"oven\": {\"degrees\": 200, \"type\": \"stone\"}}",
                                       "{\"oven\": {\"type\": {\"of\": \"gas\"}}}"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        rgm_hyper_value values[2] = {0}, drawn[2];
        rgm_text printed = {0}, json = {0};
        rgm_yaml *document;
        rgm_mt19937 random;

        CHECK_OK(parse(text, NULL));
        values[rgm_space_find(rgm_search_file_space(file), "oven.type")] =
            (rgm_hyper_value){.is_set = true, .choice = i};
        values[rgm_space_find(rgm_search_file_space(file), "oven.degrees")] =
            (rgm_hyper_value){.is_set = i == 0, .integer = 200};
        CHECK_OK(rgm_search_file_point(&document, file, values, 5));
        CHECK_OK(rgm_yaml_print(&printed, rgm_yaml_root(document)));
        CHECK_OK(parse(printed.data, NULL));
        rgm_mt19937_seed(&random, 1);
        CHECK_OK(rgm_space_draw(drawn, rgm_search_file_space(file), &random));
        CHECK_OK(rgm_space_print_json(&json, rgm_search_file_space(file), drawn));
        CHECK_TEXT(want[i], json.data);
        rgm_yaml_release(document);
        rgm_text_clear(&printed);
        rgm_text_clear(&json);
    }
}

/* Of a searcher that runs elsewhere, or was compiled for another program. */
static void a_glance_needs_no_row_of_the_searcher(void **state)
{
    static const char *const names[] = {"program, command: [python3, mine.py]", "./mine.so",
                                        "of_another_program"};
    rgm_hyper_value values[] = {{.is_set = true, .integer = 2}};
    const rgm_objective *objectives;
    rgm_searcher *searcher;
    double units;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[600];

        snprintf(text, sizeof text,
                 "searcher: {name: %s, metrics: [{name: taste, smaller_is_better: false}, {name: "
                 "minutes, at_most: 60}], max_length: {batches: 8}, more: [1]}\n"
                 "hyperparameters: {oven.degrees: {type: int, minval: 1, maxval: 3}}\n"
                 "resources: {slots_per_trial: 4}\nruntime: {shards: 4}\n",
                 names[i]);
        CHECK_STATUS(RGM_ERR_CONFIG, parse(text, NULL));
        release(NULL);
        CHECK_OK(rgm_search_file_glance(&file, text, (int64_t)strlen(text), "bread.yaml"));
        CHECK_INT(2, rgm_search_file_objectives(&objectives, file));
        CHECK_TEXT("valid.taste", objectives[0].metric);
        CHECK(!objectives[0].smaller_is_better && objectives[1].is_bound);
        CHECK_INT(4, rgm_search_file_ranks(file));
        CHECK_INT(1, rgm_space_count(rgm_search_file_space(file)));
        CHECK_INT(8, rgm_search_file_units(&units, file, values, 4).units);
        CHECK(units == 4);
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_search_file_searcher(&searcher, file, 1, NULL));
    }
}

/* One of a version that took samplers which learn where all trials are drawn at once. */
static void what_a_search_began_with_is_taken(void **state)
{
    static const char unknown[] = "searcher: {name: no}\nhyperparameters: {oven.degrees: 5}\n";
    static const char *const searchers[] = {
        "name: adaptive_asha, max_trials: 64, max_length: 40, sampler: tpe",
        "name: random, max_trials: 6, max_length: 40, sampler: gp",
        "name: bohb, max_trials: 12, max_length: 40",
        "name: sync_halving, num_rungs: 3, max_length: 40, budget: 400, sampler: cma",
        "name: pbt, population_size: 5, num_rounds: 4, steps_per_round: 10, sampler: tpe"};
    rgm_hyper_value values[] = {{.is_set = true, .integer = 2}};
    rgm_searcher *searcher;
    double units;

    (void)state;
    for (size_t i = 0; i < sizeof searchers / sizeof *searchers; i++) {
        char text[400];

        snprintf(text, sizeof text,
                 "searcher: {metric: taste, %s}\n"
                 "hyperparameters: {oven.degrees: {type: int, minval: 1, maxval: 3}}\n",
                 searchers[i]);
        CHECK_STATUS(RGM_ERR_CONFIG, parse(text, &bread));
        CHECK_MESSAGE("learns from trials that are over");
        release(NULL);
        CHECK_OK(rgm_search_file_parse_kept(&file, &mistakes, text, (int64_t)strlen(text),
                                            "bread.yaml", &bread));
        CHECK(mistakes.size == 0);
        CHECK_OK(rgm_search_file_searcher(&searcher, file, 1, NULL));
        CHECK_OK(rgm_searcher_begin(searcher));
        rgm_searcher_release(searcher);
        release(NULL);
        CHECK_OK(rgm_search_file_glance(&file, text, (int64_t)strlen(text), "bread.yaml"));
        CHECK_INT(40, rgm_search_file_units(&units, file, values, 4).units);
    }
    release(NULL);
    CHECK_STATUS(
        RGM_ERR_CONFIG,
        rgm_search_file_parse_kept(&file, NULL, unknown, sizeof unknown - 1, "bread.yaml", &bread));
}

/* What hooks see of a file: what it leaves out as well. */
static void the_whole_file_has_its_defaults(void **state)
{
    static const struct {
        const char *section, *key, *value;
    } rows[] = {{NULL, "max_restarts", "5"},
                {NULL, "checkpoint_policy", "best"},
                {NULL, "batches_per_step", "7"},
                {"resources", "slots_per_trial", "1"},
                {"resources", "priority", "9"},
                {"resources", "weight", "1.0"},
                {"checkpoint_storage", "save_trial_best", "1"},
                {"limits", "silent_seconds", "3600.0"}, /* what hangs does not for ever */
                {"searcher", "smaller_is_better", "true"},
                {"searcher", "metric", "taste"}};
    rgm_yaml *whole;

    (void)state;
    CHECK_OK(parse(SEARCHER "batches_per_step: 7\nresources: {priority: 9}\n", NULL));
    CHECK_OK(rgm_search_file_whole(&whole, file));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const rgm_yaml_node *map = rows[i].section != NULL
                                       ? rgm_yaml_find(rgm_yaml_root(whole), rows[i].section)
                                       : rgm_yaml_root(whole);

        CHECK_TEXT(rows[i].value, rgm_yaml_find(map, rows[i].key)->text);
    }
    CHECK(rgm_yaml_find(rgm_yaml_root(whole), "records_per_epoch") == NULL); /* has no default */
    rgm_yaml_release(whole);
}

/* A search over a key that the search itself sets would try one value under many names. */
static void more_hyperparameters_than_anybody_needs_are_refused(void **state)
{
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_text_printf(&text, SEARCHER "hyperparameters:\n"));
    for (int i = 0; i < 10001; i++)
        CHECK_OK(rgm_text_printf(&text, "  oven.h%d: {type: int, minval: 1, maxval: 3}\n", i));
    CHECK_STATUS(RGM_ERR_CONFIG, parse(text.data, NULL));
    CHECK(strstr(mistakes.data, "10001 hyperparameters; 10000 are the most") != NULL);
    rgm_text_clear(&text);
}

static void hyperparameters_without_effect_are_refused(void **state)
{
    static const char *const names[] = {"runtime.seed",           "trainer.epochs",
                                        "trainer.train_steps",    "trainer.validation_interval",
                                        "trainer.max_seconds",    "trainer.early_stopping.patience",
                                        "trainer.checkpoint.keep"};
    char text[600];

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(text, sizeof text,
                 SEARCHER "oven: {degrees: 200}\nhyperparameters: {%s: {type: int, minval: 1, "
                          "maxval: 9}}\n",
                 names[i]);
        CHECK_STATUS(RGM_ERR_CONFIG, parse(text, &bread));
        CHECK_MESSAGE("would have no effect");
        CHECK_MESSAGE(names[i]);
        CHECK(strstr(mistakes.data, "bread.yaml:3:") != NULL);
    }
    CHECK_STATUS(RGM_ERR_CONFIG,
                 parse(SEARCHER "oven: {degrees: 200}\noptimizations: {aggregation_frequency: 2}\n"
                                "hyperparameters: {trainer.accumulation_steps: 4}\n",
                       &bread));
    CHECK_MESSAGE("aggregation_frequency says the same");
}

/* As a worker or a page reads a file that was checked before. */
static void without_a_subject_its_sections_are_passed_over(void **state)
{
    (void)state;
    CHECK_OK(parse(SEARCHER "hyperparameters: {owen.degrees: 5}\nyeast: 3\n", NULL));
    CHECK(asked == 0 && rgm_search_file_subject(file) == NULL);
    CHECK_STATUS(RGM_ERR_CONFIG, parse(SEARCHER "max_restarts: -1\nbind_mounts: []\n", NULL));
    CHECK(strstr(mistakes.data, "max_restarts") != NULL);
    CHECK(strstr(mistakes.data, "'bind_mounts' has no meaning here") != NULL);
}

static void failed_allocations_leave_nothing(void **state)
{
    static const char text[] =
        "oven: {stone: true}\n" SEARCHER
        "hyperparameters: {oven.degrees: {type: int, minval: 200, maxval: 300}}\n";

    (void)state;
    release(NULL);
    CHECK_EVERY_OOM(
        rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "bread.yaml", &bread),
        release(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(points_are_documents_of_the_subject, release),
        cmocka_unit_test_teardown(few_points_of_many_values_are_asked_about, release),
        cmocka_unit_test_teardown(what_the_subject_refuses_is_a_mistake, release),
        cmocka_unit_test_teardown(of_many_mistakes_the_first_are_told, release),
        cmocka_unit_test_teardown(records_are_those_of_an_update, release),
        cmocka_unit_test_teardown(batches_of_whole_epochs_are_told_in_epochs, release),
        cmocka_unit_test_teardown(a_point_of_hooks_is_a_search_file_of_that_point, release),
        cmocka_unit_test_teardown(points_that_no_trial_would_try_are_refused, release),
        cmocka_unit_test_teardown(slots_are_shared_out_to_ranks, release),
        cmocka_unit_test_teardown(slots_may_be_devices, release),
        cmocka_unit_test_teardown(slots_that_no_trial_could_use_are_refused, release),
        cmocka_unit_test_teardown(the_document_of_hooks_reads_again, release),
        cmocka_unit_test_teardown(a_glance_needs_no_row_of_the_searcher, release),
        cmocka_unit_test_teardown(what_a_search_began_with_is_taken, release),
        cmocka_unit_test_teardown(the_whole_file_has_its_defaults, release),
        cmocka_unit_test_teardown(more_hyperparameters_than_anybody_needs_are_refused, release),
        cmocka_unit_test_teardown(hyperparameters_without_effect_are_refused, release),
        cmocka_unit_test_teardown(without_a_subject_its_sections_are_passed_over, release),
        cmocka_unit_test_teardown(failed_allocations_leave_nothing, release),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
