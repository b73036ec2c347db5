/*
 * Lines of programs: what is read of good ones, and what is said of wrong ones.
 */
#include <check.h>
#include "program_parts.h"

static void check_read(rgmi_says_kind kind, int64_t step, const char *line)
{
    rgmi_says s;

    CHECK_OK(rgmi_says_read(&s, line));
    CHECK_INT(kind, s.kind);
    CHECK_INT(step, s.step);
    rgmi_says_clear(&s);
}

static void good_lines_are_read(void **state)
{
    (void)state;
    check_read(RGMI_SAYS_NEXT, 0, "{\"type\": \"next\"}");
    check_read(RGMI_SAYS_REPORT, 4, "{\"step\":4,\"type\":\"report\",\"metrics\":{\"loss\":0.5}}");
    check_read(RGMI_SAYS_REPORT, 4, "{\"type\": \"report\", \"step\": 4}");
    check_read(RGMI_SAYS_VALIDATION, 0,
               " {\"type\": \"validation\", \"step\": 0, \"metrics\": {\"a\": 1}} ");
    check_read(RGMI_SAYS_CHECKPOINT, 9007199254740992,
               "{\"type\": \"checkpoint\", \"step\": 9007199254740992}");
    check_read(RGMI_SAYS_INVALID, 0, "{\"type\": \"invalid\", \"reason\": \"NaN \\\" Infinity\"}");
}

/* As Python prints them, and as JSON can. */
static void numbers_that_json_lacks_are_numbers(void **state)
{
    static const char line[] =
        "{\"type\": \"report\", \"step\": 1, \"metrics\": {\"a\": NaN, \"NaN\": "
        "-Infinity, \"c\": Infinity, \"d\": \"nan\", \"e\": 1e-3}}";
    double value;
    rgmi_says s;

    (void)state;
    CHECK_OK(rgmi_says_read(&s, line));
    CHECK(rgm_json_number(&value, rgm_json_find(s.metrics, "a")) && isnan(value));
    CHECK(rgm_json_number(&value, rgm_json_find(s.metrics, "NaN")) && value == -(double)INFINITY);
    CHECK(rgm_json_number(&value, rgm_json_find(s.metrics, "c")) && value == (double)INFINITY);
    CHECK(rgm_json_number(&value, rgm_json_find(s.metrics, "d")) && isnan(value));
    CHECK(rgm_json_number(&value, rgm_json_find(s.metrics, "e")) && value == 1e-3);
    rgmi_says_clear(&s);
    CHECK_OK(rgmi_says_read(&s, "{\"type\": \"invalid\", \"reason\": \"NaN \\\" Infinity\"}"));
    CHECK_TEXT("NaN \" Infinity", s.reason);
    rgmi_says_clear(&s);
}

static void wrong_lines_are_refused_with_what_is_expected(void **state)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"", "a message is a line of JSON, such as {\"type\": \"report\""},
        {"report 4", "a message is a line of JSON"},
        {"[1]", "a message is an object of JSON"},
        {"{}", "a message has a \"type\"; there are next, report, validation"},
        {"{\"type\": \"reprot\"}", "no message has the type 'reprot'; did you mean 'report'"},
        {"{\"type\": 3}", "there are next, report"},
        {"{\"type\": \"report\"}", "the message 'report' has no 'step' that is a whole number"},
        {"{\"type\": \"report\", \"step\": -1}", "has no 'step'"},
        {"{\"type\": \"report\", \"step\": 1.5}", "has no 'step'"},
        {"{\"type\": \"report\", \"step\": 1, \"loss\": 2}",
         "has an unknown key 'loss'; it looks like"},
        {"{\"type\": \"report\", \"step\": 1, \"metrics\": [2]}", "that are no object of numbers"},
        {"{\"type\": \"report\", \"step\": 1, \"metrics\": {\"a\": \"x\"}}",
         "has a metric 'a' that is no number"},
        {"{\"type\": \"report\", \"step\": 1, \"metrics\": {\"a\": null}}",
         "'a' that is no number"},
        {"{\"type\": \"validation\", \"step\": 1}", "the message 'validation' has no 'metrics'"},
        {"{\"type\": \"checkpoint\", \"step\": 1, \"folder\": \"x\"}", "an unknown key 'folder'"},
        {"{\"type\": \"invalid\"}", "has no 'reason'"},
        {"{\"type\": \"next\", \"step\": 1}", "an unknown key 'step'"},
    };
    rgmi_says s;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_CONFIG, rgmi_says_read(&s, cases[i].line));
        if (strstr(rgm_error_message(), cases[i].message) == NULL)
            fail_msg("'%s' is not in '%s'", cases[i].message, rgm_error_message());
        rgmi_says_clear(&s);
    }
}

static rgm_status read_once(void)
{
    rgmi_says s;
    rgm_status status =
        rgmi_says_read(&s, "{\"type\": \"report\", \"step\": 1, \"metrics\": {\"a\": NaN}}");

    rgmi_says_clear(&s);
    return status;
}

static void failed_allocations_leave_nothing(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(read_once(), (void)0);
}

TESTS(cmocka_unit_test(good_lines_are_read), cmocka_unit_test(numbers_that_json_lacks_are_numbers),
      cmocka_unit_test(wrong_lines_are_refused_with_what_is_expected),
      cmocka_unit_test(failed_allocations_leave_nothing))
