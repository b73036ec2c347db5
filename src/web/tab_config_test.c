/* A run's configuration value by value, with where each was set; its model as it says itself. */
#include "tab_check.h"

static rgm_json *ask(rgm_status (*told)(rgm_text *out, const char *folder), const char *folder)
{
    rgm_text out = {0};

    CHECK_OK(told(&out, folder));
    return parsed(&out);
}

static rgm_status tell_once(rgm_status (*told)(rgm_text *out, const char *folder),
                            const char *folder)
{
    rgm_text out = {0};
    rgm_status status = told(&out, folder);

    rgm_text_clear(&out);
    return status;
}

static void check_value(const rgm_json *answer, int64_t i, const char *key, const char *value,
                        const char *source)
{
    const rgm_json *item = item_of(answer, "values", i);

    CHECK_TEXT(key, text_of(item, "key"));
    CHECK_TEXT(value, text_of(item, "value"));
    if (source != NULL)
        CHECK_TEXT(source, text_of(item, "source"));
    else
        CHECK(rgm_json_find(item, "source") != NULL && text_of(item, "source") == NULL);
}

static const char config[] = "description: \"<b>bold</b>\"\n"
                             "model:\n  type: mlp\n  hidden: [64, 32]\n  input: {}\n"
                             "optimizer:\n  learning_rate:\n    initial: 1e-3\n"
                             "task:\n  outputs:\n  - {name: a}\n  - name: b\n";

static void values_are_told_with_their_sources(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    keep(folder, "config.yaml", config);
    keep(folder, "sources.json",
         "{\"model.type\": \"a.yaml:3\", \"optimizer.learning_rate\": "
         "\"--set\", \"trainer.epochs\": \"elsewhere\", \"task\": 3}");
    answer = ask(rgmi_tell_config, folder);
    CHECK_TEXT(config, text_of(answer, "text"));
    CHECK_INT(6, count_of(answer, "values"));
    check_value(answer, 0, "description", "<b>bold</b>", NULL);
    check_value(answer, 1, "model.type", "mlp", "a.yaml:3");
    check_value(answer, 2, "model.hidden", "[64, 32]", NULL);
    check_value(answer, 3, "model.input", "{}", NULL);
    check_value(answer, 4, "optimizer.learning_rate.initial", "1e-3", "--set"); /* by its parent */
    check_value(answer, 5, "task.outputs", "[{name: a}, {name: b}]", NULL);
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_configuration_that_cannot_be_read_is_told(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = ask(rgmi_tell_config, folder);
    char *large = malloc((1 << 20) + 2);

    (void)state;
    CHECK_TEXT("", text_of(answer, "text")); /* of a program that has none */
    CHECK_INT(0, count_of(answer, "values"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "config.yaml", "a: [1\nb: \xff\x1b");
    answer = ask(rgmi_tell_config, folder);
    CHECK_TEXT("a: [1\nb: \xef\xbf\xbd\x1b", text_of(answer, "text")); /* as far as it is text */
    CHECK_INT(0, count_of(answer, "values"));
    CHECK(strstr(text_of(answer, "damage"), "config.yaml") != NULL);
    rgm_json_release(answer);
    keep(folder, "config.yaml", "a: 1\n");
    keep(folder, "sources.json", "[");
    answer = ask(rgmi_tell_config, folder);
    check_value(answer, 0, "a", "1", NULL);
    CHECK(strstr(text_of(answer, "damage"), "sources.json") != NULL);
    rgm_json_release(answer);
    CHECK(large != NULL);
    memset(large, '#', (1 << 20) + 1);
    keep_bytes(folder, "config.yaml", large, (1 << 20) + 1);
    answer = ask(rgmi_tell_config, folder);
    CHECK_TEXT("", text_of(answer, "text"));
    CHECK(strstr(text_of(answer, "damage"), "1048576 at most") != NULL);
    rgm_json_release(answer);
    free(large);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_model_is_told_as_it_says_itself(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = ask(rgmi_tell_model, folder);

    (void)state;
    CHECK_INT(0, count_of(answer, "layers"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "model.json", "{\"parameters\": 7, \"layers\": [{\"name\": \"conv1\"}]}\n");
    answer = ask(rgmi_tell_model, folder);
    CHECK_INT(7, int_of(answer, "parameters"));
    CHECK_TEXT("conv1", text_of(item_of(answer, "layers", 0), "name"));
    rgm_json_release(answer);
    keep(folder, "model.json", "[1, 2]");
    answer = ask(rgmi_tell_model, folder);
    CHECK_TEXT("model.json is no object", text_of(answer, "damage"));
    CHECK_INT(0, count_of(answer, "layers"));
    rgm_json_release(answer);
    keep(folder, "model.json", "{\"layers\": [}\"");
    answer = ask(rgmi_tell_model, folder);
    CHECK(strstr(text_of(answer, "damage"), "model.json:1:") != NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void hostile_folders_and_failing_allocations_are_told(void **state)
{
    const char *folder = check_folder();

    (void)state;
    check_hostile(folder, "model.json", rgmi_tell_model);
    check_hostile(folder, "config.yaml", rgmi_tell_config);
    keep(folder, "config.yaml", config);
    check_hostile(folder, "sources.json", rgmi_tell_config);
    keep(folder, "sources.json", "{\"model.type\": \"a.yaml:3\"}");
    keep(folder, "model.json", "{\"layers\": []}");
    CHECK_EVERY_OOM(tell_once(rgmi_tell_config, folder), );
    CHECK_EVERY_OOM(tell_once(rgmi_tell_model, folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status tell_profile_once(const char *folder)
{
    rgmi_profile_cache cache;
    rgm_text out = {0};
    rgm_status status;

    rgmi_profile_cache_open(&cache);
    status = rgmi_tell_profile(&out, folder, &cache);
    if (status == RGM_OK) {
        out.size = 0;
        status = rgmi_tell_profile(&out, folder, &cache);
    }
    rgm_text_clear(&out);
    rgmi_profile_cache_close(&cache);
    return status;
}

static rgmi_profile_cache profiles;

static rgm_status tell_profile(rgm_text *out, const char *folder)
{
    return rgmi_tell_profile(out, folder, &profiles);
}

/* A file is read once as long as it is the same; of many the last ones are kept. */
static void a_profile_is_added_up_once(void **state)
{
    const char *folder = check_folder();
    char path[200], trace[200];

    (void)state;
    rgmi_profile_cache_open(&profiles);
    for (int i = 0; i < RGMI_KEPT_PROFILES + 2; i++) {
        snprintf(path, sizeof path, "%s/%d", folder, i);
        snprintf(trace, sizeof trace, "{\"otherData\":{\"steps\":%d},\"traceEvents\":[\n]}\n",
                 i + 1);
        CHECK_OK(rgm_folder_make(path));
        keep(path, "profile.json", trace);
        for (int k = 0; k < 3; k++) {
            rgm_json *answer = ask(tell_profile, path);

            CHECK_INT(i + 1, int_of(answer, "steps"));
            rgm_json_release(answer);
        }
        CHECK_INT(i + 1, profiles.made);
    }
    keep(path, "profile.json", "{\"otherData\":{\"steps\":77},\"traceEvents\":[\n]}\n");
    rgm_json_release(ask(tell_profile, path));
    CHECK_INT(RGMI_KEPT_PROFILES + 3, profiles.made);
    rgmi_profile_cache_close(&profiles);
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_profile_is_added_up_by_op_and_layer(void **state)
{
    static const char trace[] =
        "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"steps\":2,\"dropped_events\":5},"
        "\"traceEvents\":[\n"
        "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"regimen\"}},\n"
        "{\"name\":\"matmul\",\"cat\":\"op\",\"ph\":\"X\",\"ts\":1.000,\"dur\":1500.500,"
        "\"args\":{\"scope\":\"conv1\",\"flops\":10,\"bytes\":4}},\n"
        "{\"name\":\"relu\",\"cat\":\"op\",\"ph\":\"X\",\"ts\":2.000,\"dur\":100},\n"
        "{\"name\":\"matmul\",\"cat\":\"op\",\"ph\":\"X\",\"ts\":3.000,\"dur\":499.500,"
        "\"args\":{\"scope\":\"conv1\",\"flops\":20,\"bytes\":6}},\n"
        "{broken},\n"
        "{\"name\":\"matmul\",\"cat\":\"op\",\"ph\":\"X\",\"ts\":4.000,\"dur\":50,"
        "\"args\":{\"scope\":\"conv2\"}}\n]}\n";
    const char *folder = check_folder();
    const rgm_json *rows;
    rgm_json *answer;

    (void)state;
    rgmi_profile_cache_open(&profiles);
    answer = ask(tell_profile, folder);
    rows = rgm_json_find(answer, "rows");
    CHECK_INT(0, rgm_json_count(rows));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "profile.json", trace);
    answer = ask(tell_profile, folder);
    rows = rgm_json_find(answer, "rows");
    CHECK_INT(2, int_of(answer, "steps"));
    CHECK_INT(5, int_of(answer, "dropped"));
    CHECK_INT(3, rgm_json_count(rows));
    CHECK_TEXT("matmul", text_of(rgm_json_at(rows, 0), "name"));
    CHECK_TEXT("conv1", text_of(rgm_json_at(rows, 0), "scope"));
    CHECK_INT(2, int_of(rgm_json_at(rows, 0), "calls"));
    CHECK_CLOSE(number_of_key(rgm_json_at(rows, 0), "seconds"), 2e-3, 1e-12, 0);
    CHECK_CLOSE(number_of_key(rgm_json_at(rows, 0), "flops"), 30, 0, 0);
    CHECK_TEXT("relu", text_of(rgm_json_at(rows, 1), "name"));
    CHECK(text_of(rgm_json_at(rows, 1), "scope") == NULL);
    CHECK_TEXT("conv2", text_of(rgm_json_at(rows, 2), "scope"));
    CHECK(strstr(text_of(answer, "damage"), "1 lines") != NULL);
    rgm_json_release(answer);
    rgmi_profile_cache_close(&profiles);
    CHECK_EVERY_OOM(tell_profile_once(folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_profile_is_added_up_by_op_and_layer),
      cmocka_unit_test(a_profile_is_added_up_once),
      cmocka_unit_test(values_are_told_with_their_sources),
      cmocka_unit_test(a_configuration_that_cannot_be_read_is_told),
      cmocka_unit_test(a_model_is_told_as_it_says_itself),
      cmocka_unit_test(hostile_folders_and_failing_allocations_are_told))
