/* Expressions over curves: what they come to, at which steps, and what is refused. */
#include <check.h>

#include <math.h>
#include <string.h>

#include "expression.h"

typedef struct named_curve {
    const char *name;
    rgmi_points points;
} named_curve;

static const int64_t tens[] = {10, 20, 30, 40}, twenties[] = {20, 40}, late[] = {25, 60};
static const double one[] = {1, 2, 3, 4}, two[] = {8, 2}, odd[] = {5, 6};
static const named_curve curves[] = {{"train.loss", {tens, one, 4}},
                                     {"valid.loss", {twenties, two, 2}},
                                     {"valid.odd name", {late, odd, 2}},
                                     {"valid.recall@10", {tens, one, 4}}};

static bool find(rgmi_points *out, const char *metric, const void *payload)
{
    (void)payload;
    for (size_t i = 0; i < sizeof curves / sizeof *curves; i++)
        if (strcmp(curves[i].name, metric) == 0) {
            *out = curves[i].points;
            return true;
        }
    return false;
}

static void check_points(const char *text, int64_t count, const int64_t *steps,
                         const double *values)
{
    rgmi_expression *e;
    rgmi_made_points p;

    CHECK_OK(rgmi_expression_read(&e, text));
    CHECK_TEXT(text, rgmi_expression_text(e));
    CHECK_OK(rgmi_expression_points(&p, e, find, NULL));
    CHECK_INT(count, p.count);
    for (int64_t i = 0; i < count; i++) {
        CHECK_INT(steps[i], p.steps[i]);
        if (isnan(values[i]))
            CHECK(isnan(p.values[i]));
        else
            CHECK_CLOSE(p.values[i], values[i], 1e-12, 0);
    }
    rgmi_made_points_clear(&p);
    rgmi_expression_release(e);
}

static void values_follow_the_rules_of_arithmetic(void **state)
{
    (void)state;
    check_points("train.loss", 4, tens, one);
    check_points("train.loss / valid.loss", 2, twenties, (const double[]){2.0 / 8, 4.0 / 2});
    check_points("train.loss/valid.loss", 2, twenties, (const double[]){2.0 / 8, 4.0 / 2});
    check_points("1 + 2 * valid.loss - 3", 2, twenties, (const double[]){14, 2});
    check_points("(1 + 2) * -valid.loss", 2, twenties, (const double[]){-24, -6});
    check_points("valid.loss - valid.loss - valid.loss", 2, twenties, (const double[]){-8, -2});
    check_points("sqrt(abs(-valid.loss * 2))", 2, twenties, (const double[]){4, 2});
    check_points("log(exp(valid.recall@10)) + log10(100)", 4, tens, (const double[]){3, 4, 5, 6});
}

/* Between the points of a metric that has more, on the line; outside them there is none. */
static void steps_are_those_of_the_metric_with_the_fewest(void **state)
{
    (void)state;
    check_points("train.loss + {valid.odd name}", 2, late, (const double[]){2.5 + 5, NAN});
    check_points("train.loss + missing.loss", 0, NULL, NULL);
}

static void what_is_no_expression_is_told_with_its_place(void **state)
{
    (void)state;
    static const char *const bad[][2] = {
        {"", "at character 1"},
        {"train.loss /", "a metric or a number is missing at character 13"},
        {"(train.loss", "a closing parenthesis is missing at character 12"},
        {"sqrt(train.loss", "a closing parenthesis is missing"},
        {"train.loss valid.loss", "an operator is missing at character 12"},
        {"{train.loss", "a name in braces is missing"},
        {"{}", "a name in braces is missing"},
        {"train.loss ; 1", "an operator is missing"},
        {"1 + 2", "has no metric"},
        {"((((((((((((((((((((((((((a", "too deep"},
        {"a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a+a", "too long"},
        {"a+b+c+d+e+f+g+h+i", "too many metrics"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        rgmi_expression *e;

        CHECK_STATUS(RGM_ERR_ARG, rgmi_expression_read(&e, bad[i][0]));
        CHECK(e == NULL);
        CHECK_MESSAGE(bad[i][1]);
    }
}

static void minus_signs_without_end_are_refused(void **state)
{
    char text[400];
    rgmi_expression *e;

    (void)state;
    memset(text, '-', sizeof text);
    text[299] = 'a';
    text[300] = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgmi_expression_read(&e, text));
    text[300] = '-';
    text[399] = 0;
    CHECK_STATUS(RGM_ERR_ARG, rgmi_expression_read(&e, text));
}

TESTS(cmocka_unit_test(values_follow_the_rules_of_arithmetic),
      cmocka_unit_test(steps_are_those_of_the_metric_with_the_fewest),
      cmocka_unit_test(what_is_no_expression_is_told_with_its_place),
      cmocka_unit_test(minus_signs_without_end_are_refused))
