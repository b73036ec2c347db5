/* What `diff -u` prints of small texts, and that a script of any two texts makes one of the other.
 */
#include "lines_differ.h"

#include "check.h"

#include <stdio.h>
#include <string.h>

static void check_differ(const char *wanted, const char *a, const char *b)
{
    rgm_text text = {0};

    CHECK_OK(rgm_text_printf(&text, "%s", ""));
    CHECK_OK(lines_differ(&text, a, b));
    CHECK_TEXT(wanted, text.data);
    rgm_text_clear(&text);
}

static void texts_are_compared_as_diff_does(void **state)
{
    (void)state;
    check_differ("", "", "");
    check_differ("", "a\nb\n", "a\nb\n");
    check_differ("@@ -0,0 +1,1 @@\n+a\n", "", "a\n");
    check_differ("@@ -1,1 +0,0 @@\n-a\n", "a\n", "");
    check_differ("@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n", "a\nb\nc\n", "a\nx\nc\n");
    check_differ("@@ -1,4 +1,3 @@\n-1\n 2\n 3\n 4\n@@ -7,3 +6,4 @@\n 7\n 8\n 9\n+x\n",
                 "1\n2\n3\n4\n5\n6\n7\n8\n9\n", "2\n3\n4\n5\n6\n7\n8\n9\nx\n");
}

/* b made of a and what is printed of their difference, without lines that stay. */
static void check_applies(const char *a, const char *b)
{
    rgm_text text = {0}, made = {0};
    const char *at = a, *from;
    int64_t line = 1;

    CHECK_OK(rgm_text_printf(&text, "%s", ""));
    CHECK_OK(rgm_text_printf(&made, "%s", ""));
    CHECK_OK(lines_differ(&text, a, b));
    for (from = text.data; *from != '\0';) {
        size_t size = strcspn(from, "\n");
        long long begin, count;

        if (sscanf(from, "@@ -%lld,%lld", &begin, &count) == 2) {
            for (; line < begin + (count == 0); line++, at = strchr(at, '\n') + 1)
                CHECK_OK(rgm_text_add(&made, at, strchr(at, '\n') + 1 - at));
        } else {
            if (*from != '-')
                CHECK_OK(rgm_text_add(&made, from + 1, (int64_t)size));
            if (*from != '+') {
                at = strchr(at, '\n') + 1;
                line++;
            }
        }
        from += size + 1;
    }
    CHECK_OK(rgm_text_printf(&made, "%s", at));
    CHECK_TEXT(b, made.data);
    rgm_text_clear(&text);
    rgm_text_clear(&made);
}

static void what_is_printed_makes_one_of_the_other(void **state)
{
    uint32_t random = 1;

    (void)state;
    for (int round = 0; round < 300; round++) {
        char texts[2][64] = {"", ""};

        for (int i = 0; i < 2; i++) {
            size_t size = 0;

            random = random * 1664525u + 1013904223u;
            for (uint32_t n = random >> 28; n > 0; n--) {
                random = random * 1664525u + 1013904223u;
                texts[i][size++] = (char)('a' + (random >> 30));
                texts[i][size++] = '\n';
            }
            texts[i][size] = '\0';
        }
        check_applies(texts[0], texts[1]);
    }
}

static rgm_status differ_once(void)
{
    rgm_text text = {0};
    rgm_status status = lines_differ(&text, "a\nb\nc\n", "b\nc\nd\n");

    rgm_text_clear(&text);
    return status;
}

static void every_failing_allocation_is_told(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(differ_once(), (void)0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_compared_as_diff_does),
        cmocka_unit_test(what_is_printed_makes_one_of_the_other),
        cmocka_unit_test(every_failing_allocation_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
