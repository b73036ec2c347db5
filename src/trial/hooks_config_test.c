/*
 * A file as hooks read it: by path, through maps and lists, and what is said of a path that is not
 * there.
 */
#include <check.h>

#include "hooks.h"

static const char text[] = "data: {path: here, files: [a, b, {name: c, sizes: [3, 5]}]}\n"
                           "data.path: dotted\n"
                           "net.units: 7\n"
                           "net: {units.first: 9, rate: 0.5, on: true}\n";

static rgm_yaml *document;
static rgmi_first_missing asked;
static rgm_config config;

static int setup(void **state)
{
    (void)state;
    CHECK_OK(rgm_yaml_parse(&document, text, sizeof text - 1, "f.yaml"));
    config = (rgm_config){rgm_yaml_root(document), "the search file", &asked, &config};
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_yaml_release(document);
    return 0;
}

static void values_are_read_by_their_paths(void **state)
{
    (void)state;
    CHECK_TEXT("dotted", rgm_config_string(&config, "data.path")); /* the longest key */
    CHECK_TEXT("b", rgm_config_string(&config, "data.files.1"));
    CHECK_TEXT("c", rgm_config_string(&config, "data.files.2.name"));
    CHECK_INT(5, rgm_config_int(&config, "data.files.2.sizes.1"));
    CHECK_INT(7, rgm_config_int(&config, "net.units"));
    CHECK_INT(9, rgm_config_int(&config, "net.units.first"));
    CHECK(rgm_config_float(&config, "net.rate") == 0.5 && rgm_config_bool(&config, "net.on"));
    CHECK_INT(3, rgm_config_count(&config, "data.files"));
    CHECK_INT(2, rgm_config_count(&config, "data"));
    CHECK_INT(2, rgm_config_count(&config, "data.files.2.sizes"));
    CHECK(rgm_config_has(&config, "data.files.0") && !rgm_config_has(&config, "data.files.3"));
    CHECK(!rgm_config_has(&config, "data.files.") && !rgm_config_has(&config, "data.files.0x"));
    CHECK(rgm_config_node(&config, "net")->kind == RGM_YAML_MAP);
    CHECK(rgm_config_node(&config, "nets") == NULL);
    CHECK(rgm_config_experiment(&config) == &config);
    CHECK_INT(RGM_OK, asked.error.status);
}

static void check_said(const char *message)
{
    CHECK(asked.error.status < 0);
    CHECK_TEXT(message, asked.error.message);
    asked.error.status = RGM_OK;
}

static void what_is_not_there_is_named_with_what_is(void **state)
{
    (void)state;
    CHECK_TEXT("", rgm_config_string(&config, "data.pth"));
    check_said("the search file: 'data' has no 'pth'; did you mean 'path'?");
    CHECK_INT(0, rgm_config_int(&config, "data.files.3"));
    check_said("the search file: 'data.files' is a list of 3 entries, which has no '3'");
    CHECK_INT(0, rgm_config_int(&config, "data.files.2.size.0"));
    check_said("the search file: 'data.files.2' has no 'size.0'; did you mean 'sizes'?");
    CHECK_INT(0, rgm_config_int(&config, "data.files.0.1"));
    check_said("the search file: 'data.files.0' is one value, which has no '1'");
    CHECK_INT(0, rgm_config_int(&config, "dta"));
    check_said("the search file has no 'dta'; did you mean 'data'?");
    CHECK_INT(0, rgm_config_int(&config, "data.files"));
    check_said("f.yaml:1:27: 'data.files' is a list, where one value was asked for");
    CHECK(rgm_config_float(&config, "net") == 0);
    check_said("f.yaml:4:6: 'net' is a map, where one value was asked for");
    CHECK_INT(0, rgm_config_count(&config, "net.rate"));
    check_said("f.yaml:4:29: 'net.rate' is one value, where a list or a map was asked for");
    CHECK_INT(0, rgm_config_int(&config, "net.rate"));
    check_said("f.yaml:4:29: 'rate' should be a whole number, but is \"0.5\"");
    CHECK_INT(0, rgm_config_int(&config, "first")); /* the first mistake is told */
    CHECK_INT(0, rgm_config_int(&config, "second"));
    CHECK(strstr(asked.error.message, "'first'") != NULL);
    asked.error.status = RGM_OK;
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_are_read_by_their_paths),
                                       cmocka_unit_test(what_is_not_there_is_named_with_what_is)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
