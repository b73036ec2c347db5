/*
 * What every test program shares: cmocka with checks that print what was expected, and
 * CHECK_EVERY_OOM, which lets each allocation of a call fail in turn. A test is a static function
 * named as a sentence, listed in the table that TESTS(...) makes main() from.
 */
#ifndef RGM_TESTS_CHECK_H
#define RGM_TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <regimen/base.h>

/* Sanitizers end the program when malloc() would return NULL; here that is what is tested. */
const char *__asan_default_options(void);
const char *__tsan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            fail_msg("%s:%d: not true: %s", __FILE__, __LINE__, #condition);                       \
    } while (0)

#define CHECK_STATUS(expected, call)                                                               \
    do {                                                                                           \
        rgm_status check_ = (call);                                                                \
        if (check_ != (expected))                                                                  \
            fail_msg("%s:%d: %s gave %s, expected %s\n%s", __FILE__, __LINE__, #call,              \
                     rgm_status_name(check_), rgm_status_name(expected),                           \
                     check_ < 0 ? rgm_error_text() : "");                                          \
    } while (0)

#define CHECK_OK(call) CHECK_STATUS(RGM_OK, call)

#define CHECK_INT(expected, value)                                                                 \
    do {                                                                                           \
        long long want_ = (long long)(expected), got_ = (long long)(value);                        \
        if (want_ != got_)                                                                         \
            fail_msg("%s:%d: %s is %lld, expected %lld", __FILE__, __LINE__, #value, got_, want_); \
    } while (0)

#define CHECK_TEXT(expected, value)                                                                \
    do {                                                                                           \
        const char *want_ = (expected), *got_ = (value);                                           \
        if (got_ == NULL || strcmp(want_, got_) != 0)                                              \
            fail_msg("%s:%d: %s is \"%s\", expected \"%s\"", __FILE__, __LINE__, #value,           \
                     got_ ? got_ : "(null)", want_);                                               \
    } while (0)

/** `part` occurs in the last error message. */
#define CHECK_MESSAGE(part)                                                                        \
    do {                                                                                           \
        if (strstr(rgm_error_message(), (part)) == NULL)                                           \
            fail_msg("%s:%d: message is \"%s\", expected it to contain \"%s\"", __FILE__,          \
                     __LINE__, rgm_error_message(), (part));                                       \
    } while (0)

/** |a - b| <= atol + rtol * |b|; NaN never passes. */
#define CHECK_CLOSE(a, b, rtol, atol)                                                              \
    do {                                                                                           \
        double a_ = (double)(a), b_ = (double)(b);                                                 \
        if (!(fabs(a_ - b_) <= (atol) + (rtol)*fabs(b_)))                                          \
            fail_msg("%s:%d: %s is %.17g, expected %.17g", __FILE__, __LINE__, #a, a_, b_);        \
    } while (0)

/**
 * Run `call` with its 1st, 2nd, ... allocation failing until it succeeds. Every failure must be
 * RGM_ERR_NOMEM and leave the memory in use as it was. `cleanup` undoes the final success.
 */
#define CHECK_EVERY_OOM(call, cleanup)                                                             \
    do {                                                                                           \
        for (int64_t oom_ = 0;; oom_++) {                                                          \
            int64_t before_ = rgm_memory_used();                                                   \
            rgm_memory_fail_at(oom_, false);                                                       \
            rgm_status status_ = (call);                                                           \
            bool failed_ = rgm_memory_failures() > 0;                                              \
            rgm_memory_fail_at(-1, false);                                                         \
            if (status_ == RGM_OK) {                                                               \
                cleanup;                                                                           \
                CHECK_INT(before_, rgm_memory_used());                                             \
                if (!failed_)                                                                      \
                    break;                                                                         \
                continue;                                                                          \
            }                                                                                      \
            if (status_ != RGM_ERR_NOMEM)                                                          \
                fail_msg("%s:%d: %s with allocation %lld failing gave %s: %s", __FILE__, __LINE__, \
                         #call, (long long)oom_, rgm_status_name(status_), rgm_error_message());   \
            CHECK_INT(before_, rgm_memory_used());                                                 \
            if (oom_ > 100000)                                                                     \
                fail_msg("%s:%d: %s never succeeds", __FILE__, __LINE__, #call);                   \
        }                                                                                          \
    } while (0)

/** A fresh empty folder for this test program; removed by the caller or left in /tmp on failure. */
static inline const char *check_folder(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/regimen-test-XXXXXX");
    if (mkdtemp(path) == NULL)
        fail_msg("mkdtemp failed");
    return path;
}

/** The data folder's sub-folder, or NULL when REGIMEN_DATA is unset or lacks it (then skip()). */
static inline const char *check_data(const char *name)
{
    static char path[512];
    const char *root = getenv("REGIMEN_DATA");
    if (root == NULL)
        return NULL;
    snprintf(path, sizeof path, "%s/%s", root, name);
    return rgm_path_exists(path) ? path : NULL;
}

/** SKIP("why"): says why in the result line, then cmocka's own skip. A program all of whose tests
 * are skipped ends with CHECK_SKIPPED, which ctest tells as such. */
#define SKIP(why)                                                                                  \
    do {                                                                                           \
        print_message("SKIPPED: %s\n", (why));                                                     \
        check_skips++;                                                                             \
        skip();                                                                                    \
    } while (0)
enum { CHECK_SKIPPED = 77 };
static int check_skips __attribute__((unused));

#define TESTS(...)                                                                                 \
    int main(void)                                                                                 \
    {                                                                                              \
        const struct CMUnitTest tests[] = {__VA_ARGS__};                                           \
        int failed = cmocka_run_group_tests(tests, NULL, NULL);                                    \
        bool all_skipped = check_skips == (int)(sizeof tests / sizeof *tests);                     \
        return failed == 0 && all_skipped ? CHECK_SKIPPED : failed;                                \
    }

#endif
