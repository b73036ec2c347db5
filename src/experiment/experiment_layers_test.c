/* Layers of an experiment: which value wins, where it came from, and what is refused. */
#include <check.h>

#include <regimen/experiment.h>

static char folder[128];
static rgm_experiment *experiment;

static const char *write_file(const char *name, const char *text)
{
    static char paths[4][256];
    static int next;
    char *path = paths[next++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    return path;
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
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static int release(void **state)
{
    (void)state;
    rgm_experiment_release(experiment);
    experiment = NULL;
    return 0;
}

/* "value from origin" of a key. */
static const char *at(const char *key)
{
    static char text[512];
    const rgm_experiment_value *value = rgm_experiment_find(experiment, key);

    if (value == NULL)
        return "no such key";
    snprintf(text, sizeof text, "%s from %s", value->value != NULL ? value->value->text : "nothing",
             strncmp(value->origin, folder, strlen(folder)) == 0
                 ? value->origin + strlen(folder) + 1
                 : value->origin);
    return text;
}

static void each_layer_lies_over_those_before(void **state)
{
    char *environment[] = {"HOME=/home/me", "REGIMEN_TRAINER__CHECKPOINT__KEEP=7",
                           "REGIMEN_RUNTIME__THREADS=3", "REGIMEN_DATA=/data", NULL};
    const char *over[] = {
        write_file("over.yaml", "trainer: {epochs: 5}\n\n\nruntime: {seed: 4}\n")};
    const char *sets[] = {"runtime.threads=1", "optimizer={type: sgd, learning_rate: 0.5}"};
    rgm_experiment_layers layers = {
        .name =
            write_file("own.yaml", "extends: demo\n# a comment\nruntime: {seed: 3, threads: 2}\n"),
        .over = over,
        .over_count = 1,
        .environment = environment,
        .sets = sets,
        .set_count = 2};

    (void)state;
    CHECK_OK(rgm_experiment_load_layers(&experiment, &layers));
    CHECK_TEXT("own", rgm_experiment_name(experiment));
    CHECK_TEXT("two graph convolutions on a generated graph",
               rgm_experiment_description(experiment));
    CHECK_TEXT("300 from default", at("trainer.checkpoint.every_seconds"));
    CHECK_TEXT("cora_gcn:17", rgm_experiment_find(experiment, "model.hidden")->origin);
    CHECK_TEXT("2708 from demo:8", at("data.citation.nodes"));
    CHECK_TEXT("5 from over.yaml:1", at("trainer.epochs"));
    CHECK_TEXT("4 from over.yaml:4", at("runtime.seed"));
    CHECK_TEXT("7 from $REGIMEN_TRAINER__CHECKPOINT__KEEP", at("trainer.checkpoint.keep"));
    CHECK_TEXT("1 from --set", at("runtime.threads"));
    CHECK_TEXT("0.5 from --set", at("optimizer.learning_rate"));
    CHECK_TEXT("no such key", at("optimizer.beta_1"));
}

static void a_key_can_be_taken_back(void **state)
{
    const char *sets[] = {"trainer.epochs=~", "data.sampling=null", "task.label='~'"};

    (void)state;
    CHECK_OK(rgm_experiment_load(&experiment,
                                 write_file("back.yaml",
                                            "extends: demo\ndata: {sampling: {sizes: [3]}}\n"
                                            "optimizer: {clip_norm: 3}\n"),
                                 sets, 3));
    CHECK_TEXT("1 from default", at("trainer.epochs"));
    CHECK_INT(0, rgm_experiment_find(experiment, "data.sampling.sizes")->value->count);
    CHECK_TEXT("~ from --set", at("task.label"));
    CHECK(strstr(rgm_experiment_text(experiment), "epochs") == NULL);
}

static void a_map_in_the_environment_comes_before_the_keys_inside_it(void **state)
{
    char *environment[] = {"REGIMEN_DATA__CITATION__NODES=90",
                           "REGIMEN_DATA__CITATION={nodes: 80, edges: 160}", NULL};
    rgm_experiment_layers layers = {.name = "demo", .environment = environment};

    (void)state;
    CHECK_OK(rgm_experiment_load_layers(&experiment, &layers));
    CHECK_TEXT("90 from $REGIMEN_DATA__CITATION__NODES", at("data.citation.nodes"));
    CHECK_TEXT("160 from $REGIMEN_DATA__CITATION", at("data.citation.edges"));
    CHECK_TEXT("1433 from default", at("data.citation.words"));
}

static void refuse_variable(char *variable, const char *message)
{
    char *environment[] = {variable, NULL};
    rgm_experiment_layers layers = {.name = "demo", .environment = environment};

    CHECK_STATUS(RGM_ERR_CONFIG, rgm_experiment_load_layers(&experiment, &layers));
    CHECK_TEXT(message, rgm_error_message());
}

static void a_variable_that_sets_nothing_is_refused(void **state)
{
    (void)state;
    refuse_variable("REGIMEN_TRAINER_EPOCHS=3",
                    "demo: $REGIMEN_TRAINER_EPOCHS sets no key: a dot is "
                    "two underscores, as in REGIMEN_TRAINER__EPOCHS=3");
    refuse_variable("REGIMEN_TRIANER__EPOCHS=3",
                    "demo: $REGIMEN_TRIANER__EPOCHS: unknown section 'trianer'; did you mean "
                    "'trainer'?");
    refuse_variable("REGIMEN_TRAINER__EPOHCS=3",
                    "demo: $REGIMEN_TRAINER__EPOHCS: unknown key 'trainer.epohcs'; did you mean "
                    "'trainer.epochs'?");
    refuse_variable("REGIMEN_TRAINER__EPOCHS=many",
                    "demo: $REGIMEN_TRAINER__EPOCHS: 'epochs' should "
                    "be a whole number, but is \"many\"");
}

static void every_named_experiment_is_right(void **state)
{
    int64_t count;
    const rgm_named_experiment *named = rgm_named_experiments(&count);

    (void)state;
    CHECK(count >= 5);
    for (int64_t i = 0; i < count; i++) {
        char path[128];
        char *own;

        CHECK(i == 0 || strcmp(named[i - 1].name, named[i].name) < 0);
        CHECK(rgm_named_experiment_find(named[i].name) == &named[i]);
        if (strstr(named[i].text, "\nsearcher:") != NULL)
            continue; /* trial's: search_file_test.c */
        CHECK_OK(rgm_experiment_load(&experiment, named[i].name, NULL, 0));
        CHECK(rgm_experiment_description(experiment)[0] != '\0');
        own = strdup(rgm_experiment_text(experiment));
        rgm_experiment_release(experiment);
        /* The file says the same as the name. */
        snprintf(path, sizeof path, "configs/%s.yaml", named[i].name);
        CHECK_OK(rgm_experiment_load(&experiment, path, NULL, 0));
        CHECK_TEXT(own, rgm_experiment_text(experiment));
        free(own);
        rgm_experiment_release(experiment);
        experiment = NULL;
    }
    CHECK(rgm_named_experiment_find("nothing") == NULL);
}

static void refuse_name(const char *name, const char *message)
{
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_experiment_load(&experiment, name, NULL, 0));
    CHECK_TEXT(message, rgm_error_message());
}

static void what_is_neither_file_nor_name_is_told_with_the_nearest(void **state)
{
    (void)state;
    refuse_name("dmo", "'dmo' is neither a file nor a named experiment; did you mean 'demo'?");
    refuse_name("xyzzy",
                "'xyzzy' is neither a file nor a named experiment; see regimen config list");
    refuse_name("nowhere/demo.yaml",
                "there is no file 'nowhere/demo.yaml', but a named experiment 'demo'");
    refuse_name("nowhere.yaml", "there is no file 'nowhere.yaml'");
    CHECK_STATUS(
        RGM_ERR_CONFIG,
        rgm_experiment_load(&experiment, write_file("e.yaml", "extends: dmeo\n"), NULL, 0));
    CHECK_MESSAGE("e.yaml:1:10: extends: ");
    CHECK_MESSAGE("dmeo' is neither a file nor a named experiment; did you mean 'demo'?");
}

static rgm_status load_everything(const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;
    rgm_text text = {0};

    RGM_GO(rgm_experiment_load_layers(&e, layers));
    RGM_GO(rgm_experiment_print(&text, e));
    RGM_GO(rgm_experiment_describe(&text, e));
    RGM_GO(rgm_experiment_keys(&text, NULL, NULL));
done:
    rgm_text_clear(&text);
    rgm_experiment_release(e);
    return status;
}

/* A merged document that is taken apart and reassembled equals one that is loaded whole. */
static void a_merged_document_loads_to_the_same(void **state)
{
    const char *sets[] = {"trainer.epochs=3"};
    rgm_experiment_layers layers = {
        .name = write_file("merged.yaml", "extends: demo\nruntime: {seed: 3}\n"),
        .sets = sets,
        .set_count = 1};
    rgm_experiment *whole;
    rgm_yaml *merged;

    (void)state;
    CHECK_OK(rgm_experiment_load_layers(&whole, &layers));
    CHECK_OK(rgm_experiment_merge_layers(&merged, &layers));
    CHECK_OK(rgm_experiment_load_merged(&experiment, layers.name, merged, NULL));
    CHECK_TEXT(rgm_experiment_text(whole), rgm_experiment_text(experiment));
    CHECK_TEXT("merged", rgm_experiment_name(experiment));
    CHECK_TEXT("3 from merged.yaml:2", at("runtime.seed"));
    CHECK_TEXT("3 from --set", at("trainer.epochs"));
    rgm_experiment_release(whole);
    rgm_experiment_release(experiment);
    CHECK_OK(rgm_yaml_set(merged, "trian.epochs", "3", "--set trian.epochs"));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_experiment_load_merged(&experiment, layers.name, merged, NULL));
    CHECK_MESSAGE("merged.yaml: --set trian.epochs: unknown section 'trian'");
    rgm_yaml_release(merged);
}

static void a_search_is_told_to_be_one(void **state)
{
    static const char *const sections[] = {"searcher: {name: random}",
                                           "hyperparameters: {optimizer.learning_rate: 1}"};
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        snprintf(text, sizeof text, "extends: demo\n%s\n", sections[i]);
        CHECK_STATUS(RGM_ERR_CONFIG,
                     rgm_experiment_load(&experiment, write_file("s.yaml", text), NULL, 0));
        CHECK_MESSAGE("s.yaml:2:");
        CHECK_MESSAGE("this is a search");
        CHECK_MESSAGE("regimen experiment run ");
    }
    CHECK_STATUS(
        RGM_ERR_CONFIG,
        rgm_experiment_load(&experiment, write_file("s.yaml", "entrypoint: ./a.so\n"), NULL, 0));
    CHECK_MESSAGE("s.yaml:1:13: the model is in ./a.so, which trials of a search load");
}

static rgm_status load_merged(const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;
    rgm_yaml *merged = NULL;

    RGM_GO(rgm_experiment_merge_layers(&merged, layers));
    RGM_GO(rgm_experiment_load_merged(&e, layers->name, merged, NULL));
done:
    rgm_experiment_release(e);
    rgm_yaml_release(merged);
    return status;
}

static void missing_memory_is_survived_everywhere(void **state)
{
    char *environment[] = {"REGIMEN_RUNTIME__THREADS=3", NULL};
    const char *sets[] = {"runtime.seed=8", "restrictions=[\"runtime.seed < 9\"]"};
    const char *over[] = {"demo"};
    rgm_experiment_layers layers = {.name = "cora_sage",
                                    .over = over,
                                    .over_count = 1,
                                    .environment = environment,
                                    .sets = sets,
                                    .set_count = 2};

    (void)state;
    CHECK_EVERY_OOM(load_everything(&layers), (void)0);
    CHECK_EVERY_OOM(load_merged(&layers), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_layer_lies_over_those_before, release),
        cmocka_unit_test_teardown(a_key_can_be_taken_back, release),
        cmocka_unit_test_teardown(a_map_in_the_environment_comes_before_the_keys_inside_it,
                                  release),
        cmocka_unit_test(a_variable_that_sets_nothing_is_refused),
        cmocka_unit_test_teardown(every_named_experiment_is_right, release),
        cmocka_unit_test(what_is_neither_file_nor_name_is_told_with_the_nearest),
        cmocka_unit_test_teardown(a_merged_document_loads_to_the_same, release),
        cmocka_unit_test(a_search_is_told_to_be_one),
        cmocka_unit_test(missing_memory_is_survived_everywhere)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
