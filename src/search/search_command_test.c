/*
 * A command as the entrypoint: its words at a point, what is refused, the files that are its code.
 */
#include <check.h>
#include <regimen/search_code.h>

#include <sys/stat.h>

static rgm_search_file *file;

static int release(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    file = NULL;
    return 0;
}

#define REST                                                                                       \
    "searcher: {name: random, metric: loss, max_trials: 3, max_length: 4}\n"                       \
    "hyperparameters: {rate: 0.5, name: \"a b\", net: {units: [3, 4], acts: [relu, tanh]}, at: "   \
    "{type: categorical, "                                                                         \
    "vals: [x], when: rate > 1}}\n"

static rgm_status parse(const char *text)
{
    release(NULL);
    return rgm_search_file_parse(&file, NULL, text, (int64_t)strlen(text), "own.yaml", NULL);
}

/* The words of the file's only point, each in bars. */
static void check_words(const char *wanted, const char *entrypoint)
{
    rgm_hyper_value values[5];
    rgm_text text = {0};
    rgm_mt19937 random;
    char *yaml, **words;
    int64_t count;

    CHECK_OK(rgm_strprintf(&yaml, "entrypoint: %s\n" REST, entrypoint));
    CHECK_OK(parse(yaml));
    rgm_free(yaml);
    rgm_mt19937_seed(&random, 0);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(rgm_search_file_words(&words, &count, file, values));
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(rgm_text_printf(&text, "%s|", words[i]));
    CHECK_TEXT(wanted, text.data);
    CHECK(words[count] == NULL);
    rgm_names_release(words, count);
    rgm_text_clear(&text);
}

static void words_have_the_values_of_a_point(void **state)
{
    (void)state;
    check_words("python3|train.py|--rate=0.5|a b|",
                "[python3, train.py, \"--rate={rate}\", \"{name}\"]");
    check_words("p|[3, 4]|", "[p, \"{net.units}\"]");
    check_words("p|[\"relu\", \"tanh\"]|", "[p, \"{net.acts}\"]");
    check_words("p|{\"a\": 0.5}||", "[p, '{{\"a\": {rate}}}', \"\"]");
    check_words("p|last|", "[p, \"--at={at}\", last]"); /* it has none */
    CHECK_INT(1, rgm_search_file_settings(file)->batches_per_step);
    CHECK(rgm_search_file_is_own(file));
}

static void check_refused(const char *wanted, const char *text)
{
    char *yaml;

    CHECK_OK(rgm_strprintf(&yaml, "%s\n" REST, text));
    CHECK_STATUS(RGM_ERR_CONFIG, parse(yaml));
    rgm_free(yaml);
    if (strstr(rgm_error_message(), wanted) == NULL)
        fail_msg("'%s' is not in '%s'", wanted, rgm_error_message());
}

static void what_a_command_cannot_be_is_refused(void **state)
{
    (void)state;
    check_refused("the first word of a command is a program", "entrypoint: []");
    check_refused("the first word of a command is a program", "entrypoint: [\"\", a]");
    check_refused("'rat' in braces is no hyperparameter; did you mean 'rate'",
                  "entrypoint: [p, \"{rat}\"]");
    check_refused("a brace of 'a}' stands alone", "entrypoint: [p, \"a}\"]");
    check_refused("a brace of '{rate' stands alone", "entrypoint: [p, \"{rate\"]");
    check_refused("'runtime' beside 'entrypoint', whose program says all of it",
                  "entrypoint: [p]\nruntime: {seed: 3}");
    check_refused("'model' beside 'entrypoint', whose functions say all of it",
                  "entrypoint: a.so\nmodel: {type: gcn}");
}

static void a_point_of_a_command_is_a_search_of_that_point(void **state)
{
    rgm_hyper_value values[5];
    rgm_yaml *point;
    rgm_text text = {0};
    rgm_mt19937 random;

    (void)state;
    CHECK_OK(parse("entrypoint: [p, \"{rate}\"]\n" REST));
    rgm_mt19937_seed(&random, 0);
    CHECK_OK(rgm_space_draw(values, rgm_search_file_space(file), &random));
    CHECK_OK(rgm_search_file_point(&point, file, values, 3));
    CHECK_OK(rgm_yaml_print(&text, rgm_yaml_root(point)));
    rgm_yaml_release(point);
    CHECK_OK(parse(text.data));
    CHECK_INT(2, rgm_search_file_settings(file)->command.count);
    CHECK_INT(4, rgm_space_count(rgm_search_file_space(file)));
    CHECK(strstr(text.data, "trainer") == NULL && strstr(text.data, "runtime") == NULL);
    rgm_text_clear(&text);
}

/* ---- its code ------------------------------------------------------------------------------- */

static char folder[160];

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int remove_folder(void **state)
{
    release(state);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static void write_file(const char *name, const char *text)
{
    char *path;

    CHECK_OK(rgm_strprintf(&path, "%s/%s", folder, name));
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    rgm_free(path);
}

static void make_below(const char *name)
{
    char *path;

    CHECK_OK(rgm_strprintf(&path, "%s/%s", folder, name));
    CHECK_OK(rgm_folder_make(path));
    rgm_free(path);
}

static rgm_status collect(rgm_code *code, const char *keys)
{
    char *yaml;

    CHECK_OK(rgm_strprintf(&yaml, "%s\n" REST, keys));
    CHECK_OK(parse(yaml));
    rgm_free(yaml);
    return rgm_code_collect(code, file, folder);
}

static void check_files(const char *wanted, const char *keys)
{
    rgm_text text = {0};
    rgm_code code;

    CHECK_OK(collect(&code, keys));
    for (int64_t i = 0; i < code.count; i++)
        CHECK_OK(rgm_text_printf(&text, "%s ", code.files[i].path));
    CHECK_TEXT(wanted, text.data != NULL ? text.data : "");
    rgm_text_clear(&text);
    rgm_code_clear(&code);
}

static void write_code(void)
{
    write_file("train.py", "one");
    write_file("net.py", "two");
    make_below("lib/deep/__pycache__");
    make_below("lib/.hidden");
    write_file("lib/a.py", "three");
    write_file("lib/a.pyc", "compiled");
    write_file("lib/deep/b.txt", "four");
    write_file("lib/deep/__pycache__/c.pyc", "compiled");
    write_file("lib/.hidden/d", "secret");
}

static void code_is_what_words_and_patterns_name(void **state)
{
    (void)state;
    write_code();
    check_files("train.py ", "entrypoint: [sh, ./train.py, 3, nothere.py]");
    check_files("net.py train.py ", "entrypoint: [sh, train.py]\ninclude: [\"*.py\"]");
    check_files("lib/a.py lib/deep/b.txt train.py ", "entrypoint: [sh, train.py]\ninclude: [lib]");
    check_files("lib/a.py ", "entrypoint: [/bin/sh, ./lib/a.py]\ninclude: \"lib/*.py\"");
    check_files("a.py ", "entrypoint: [sh, a.py]\ncode_folder: lib");
    check_files("lib/a.py train.py ", "entrypoint: ./train.py\ninclude: [lib/a.py]");
}

static void check_not_collected(rgm_status wanted, const char *message, const char *keys)
{
    rgm_code code;

    CHECK_STATUS(wanted, collect(&code, keys));
    if (strstr(rgm_error_message(), message) == NULL)
        fail_msg("'%s' is not in '%s'", message, rgm_error_message());
    rgm_code_clear(&code);
}

static void what_cannot_be_code_is_refused(void **state)
{
    (void)state;
    write_code();
    check_not_collected(
        RGM_ERR_NOT_FOUND,
        "there is no program 'train.py' on the PATH; the one beside the file is ./train.py",
        "entrypoint: [train.py]");
    check_not_collected(RGM_ERR_NOT_FOUND, "there is no ./nothere", "entrypoint: [./nothere]");
    check_not_collected(RGM_ERR_NOT_FOUND, "nothing matches",
                        "entrypoint: [sh]\ninclude: [\"*.c\"]");
    check_not_collected(RGM_ERR_CONFIG, "is no pattern of files below",
                        "entrypoint: [sh]\ninclude: [../x]");
    check_not_collected(RGM_ERR_CONFIG, "is no pattern of files below",
                        "entrypoint: [sh]\ninclude: [/etc/passwd]");
    check_not_collected(RGM_ERR_CONFIG, "'../train.py' is outside of the code's folder",
                        "entrypoint: [sh, ../train.py]\ncode_folder: lib");
    check_not_collected(RGM_ERR_CONFIG, "begins with a dot", "entrypoint: [sh, lib/.hidden/d]");
    check_not_collected(RGM_ERR_NOT_FOUND, "there is no folder",
                        "entrypoint: [sh]\ncode_folder: nothere");
    check_not_collected(RGM_ERR_NOT_FOUND, "a command is a list of words",
                        "entrypoint: sh train.py");
}

static int64_t links_of(const char *name)
{
    struct stat info;
    char *path;

    CHECK_OK(rgm_strprintf(&path, "%s/%s", folder, name));
    CHECK_INT(0, stat(path, &info));
    rgm_free(path);
    return (int64_t)info.st_nlink;
}

static rgm_status collect_once(void)
{
    rgm_code code;
    rgm_status status = rgm_code_collect(&code, file, folder);

    rgm_code_clear(&code);
    return status;
}

static void copies_share_what_is_equal_and_are_checked(void **state)
{
    char *first, *second;
    rgm_code code;

    (void)state;
    write_code();
    CHECK_OK(rgm_strprintf(&first, "%s/first", folder));
    CHECK_OK(rgm_strprintf(&second, "%s/second", folder));
    CHECK_OK(collect(&code, "entrypoint: [sh, train.py]\ninclude: [net.py, lib]"));
    CHECK_OK(rgm_code_copy(&code, first, NULL, true));
    write_file("net.py", "another");
    rgm_code_clear(&code);
    CHECK_OK(collect(&code, "entrypoint: [sh, train.py]\ninclude: [net.py, lib]"));
    CHECK_OK(rgm_code_copy(&code, second, first, true));
    CHECK_INT(2, links_of("second/train.py"));
    CHECK_INT(1, links_of("second/net.py"));
    CHECK_OK(rgm_code_check(&code, second, "experiment 2"));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_code_check(&code, first, "experiment 2"));
    CHECK(strstr(rgm_error_message(), "is not the code that experiment 2 was made with any more"));
    CHECK_OK(rgm_folder_remove(second));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_code_check(&code, second, "experiment 2"));
    CHECK(strstr(rgm_error_message(), "has gone from"));
    rgm_code_clear(&code);
    CHECK_OK(collect(&code, "entrypoint: [sh, train.py]\ninclude: [net.py, lib]"));
    CHECK_EVERY_OOM(rgm_code_copy(&code, second, first, false), (void)rgm_folder_remove(second));
    rgm_code_clear(&code);
    CHECK_EVERY_OOM(collect_once(), (void)0);
    rgm_free(first);
    rgm_free(second);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(words_have_the_values_of_a_point, release),
        cmocka_unit_test_teardown(what_a_command_cannot_be_is_refused, release),
        cmocka_unit_test_teardown(a_point_of_a_command_is_a_search_of_that_point, release),
        cmocka_unit_test_setup_teardown(code_is_what_words_and_patterns_name, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(what_cannot_be_code_is_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(copies_share_what_is_equal_and_are_checked, make_folder,
                                        remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
