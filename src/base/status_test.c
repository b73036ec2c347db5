/*
 * Status, message and trace: what a caller can print after a failure, in this thread and another.
 */
#include <check.h>

#include <errno.h>
#include <locale.h>
#include <pthread.h>

static rgm_status inner(int n)
{
    if (n > 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "n is %d", n);
    return n < 0 ? RGM_END : RGM_OK;
}

static rgm_status middle(int n)
{
    RGM_TRY(inner(n));
    return RGM_OK;
}

static rgm_status outer(int n, bool *cleaned)
{
    rgm_status status = RGM_OK;

    RGM_GO(middle(n));
done:
    *cleaned = true;
    return status;
}

static void a_failure_passes_up_with_message_and_trace(void **state)
{
    bool cleaned = false;
    const char *text;

    (void)state;
    CHECK_STATUS(RGM_ERR_SHAPE, outer(7, &cleaned));
    CHECK(cleaned);
    CHECK_TEXT("n is 7", rgm_error_message());
    text = rgm_error_text();
    CHECK(strstr(text, "n is 7\n  at inner (status_test.c:") == text);
    CHECK(strstr(text, "at inner") < strstr(text, "at middle"));
    CHECK(strstr(text, "at middle") < strstr(text, "at outer"));
}

static void a_signal_passes_up_without_a_trace(void **state)
{
    bool cleaned = false;

    (void)state;
    rgm_error_reset();
    CHECK_STATUS(RGM_END, outer(-1, &cleaned));
    CHECK(cleaned);
    CHECK_TEXT("", rgm_error_message());
    CHECK_TEXT("\n", rgm_error_text());
}

static void a_later_failure_replaces_the_earlier(void **state)
{
    bool cleaned;

    (void)state;
    CHECK_STATUS(RGM_ERR_SHAPE, outer(1, &cleaned));
    CHECK_STATUS(RGM_ERR_ARG, RGM_FAIL(RGM_ERR_ARG, "second"));
    CHECK_TEXT("second", rgm_error_message());
    CHECK(strstr(rgm_error_text(), "inner") == NULL);
}

static void the_old_message_may_be_part_of_the_new(void **state)
{
    (void)state;
    CHECK_STATUS(RGM_ERR_IO, RGM_FAIL(RGM_ERR_IO, "disk"));
    CHECK_STATUS(RGM_ERR_DATA, RGM_FAIL(RGM_ERR_DATA, "set 'a': %s", rgm_error_message()));
    CHECK_TEXT("set 'a': disk", rgm_error_message());
}

static void a_prefix_says_what_was_being_done(void **state)
{
    (void)state;
    CHECK_STATUS(RGM_ERR_IO, rgm_error_prefix(RGM_FAIL(RGM_ERR_IO, "disk"), "record %d", 5));
    CHECK_TEXT("record 5: disk", rgm_error_message());
    CHECK_STATUS(RGM_END, rgm_error_prefix(RGM_END, "nothing"));
    CHECK_TEXT("record 5: disk", rgm_error_message());
}

static void control_characters_are_shown_not_sent(void **state)
{
    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, RGM_FAIL(RGM_ERR_DATA, "name '%s'", "a\x1b[2J\nb\x7f"));
    CHECK_TEXT("name 'a\\x1b[2J\\x0ab\\x7f'", rgm_error_message());
}

static void check_ends_with(const char *text, const char *end)
{
    CHECK(strlen(text) >= strlen(end));
    CHECK_TEXT(end, text + strlen(text) - strlen(end));
}

static void long_messages_are_cut_between_characters(void **state)
{
    char name[3001];

    (void)state;
    for (int shift = 0; shift < 3; shift++) {
        memset(name, 'x', sizeof name);
        for (int i = shift; i + 3 < 3000; i += 3)
            memcpy(name + i, "\xe2\x82\xac", 3);
        name[3000] = 0;
        CHECK_STATUS(RGM_ERR_DATA, RGM_FAIL(RGM_ERR_DATA, "%s", name));
        CHECK_STATUS(RGM_ERR_DATA, rgm_error_prefix(RGM_ERR_DATA, "%s", name));
        CHECK(strlen(rgm_error_message()) < 1024);
        CHECK(strlen(rgm_error_message()) > 1000);
        CHECK_INT(-1, rgm_utf8_check(rgm_error_message(), (int64_t)strlen(rgm_error_message())));
        check_ends_with(rgm_error_message(), name + 2900);
        CHECK(strstr(rgm_error_message(), " ... (cut) ... ") != NULL);
    }
}

/* What it is about stands at the beginning, the reason at the end. */
static void a_message_that_is_cut_says_so_and_keeps_both_ends(void **state)
{
    char name[6000], whole[1100];

    (void)state;
    memset(name, 'n', sizeof name);
    for (int size = 900; size < 1100; size++) {
        name[size] = 0;
        CHECK_STATUS(RGM_ERR_DATA, RGM_FAIL(RGM_ERR_DATA, "the name '%s' is too long", name));
        snprintf(whole, sizeof whole, "the name '%.*s' is too long", size < 1001 ? size : 0, name);
        if (size < 1001) { /* 1,023 bytes are a message */
            CHECK_TEXT(whole, rgm_error_message());
        } else {
            CHECK(strstr(rgm_error_message(), "the name 'n") == rgm_error_message());
            CHECK(strstr(rgm_error_message(), "nnn ... (cut) ... nnn") != NULL);
            check_ends_with(rgm_error_message(), "n' is too long");
        }
        CHECK_STATUS(RGM_ERR_DATA, rgm_error_prefix(RGM_ERR_DATA, "file.yaml:3"));
        CHECK(strstr(rgm_error_message(), "file.yaml:3: the name 'n") == rgm_error_message());
        check_ends_with(rgm_error_message(), "n' is too long");
        name[size] = 'n';
    }
    memset(name, '\x01', sizeof name); /* each of which is shown as four */
    name[1000] = 0;
    CHECK_STATUS(RGM_ERR_DATA, RGM_FAIL(RGM_ERR_DATA, "'%s' is hidden", name));
    CHECK(strlen(rgm_error_message()) < 1024 && strlen(rgm_error_message()) > 1000);
    CHECK(strstr(rgm_error_message(), "\\x01 ... (cut) ... \\x01") != NULL);
    check_ends_with(rgm_error_message(), "' is hidden");
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    CHECK_STATUS(RGM_ERR_DATA, RGM_FAIL(RGM_ERR_DATA, "'%s' has no end", name));
    check_ends_with(rgm_error_message(), "nnn ... (cut)"); /* further on nothing was looked at */
    CHECK_STATUS(RGM_ERR_DATA, rgm_error_prefix(RGM_ERR_DATA, "%s", name));
    check_ends_with(rgm_error_message(), "nnn ... (cut)");
}

static rgm_status deep(int n)
{
    if (n == 0)
        return RGM_FAIL(RGM_ERR_DATA, "bottom");
    RGM_TRY(deep(n - 1));
    return RGM_OK;
}

static void a_deep_trace_keeps_its_innermost_frames(void **state)
{
    const char *text;

    (void)state;
    CHECK_STATUS(RGM_ERR_DATA, deep(1000));
    text = rgm_error_text();
    CHECK(strstr(text, "bottom\n  at deep (status_test.c:") == text);
    CHECK(text[strlen(text) - 1] == '\n');
}

static void system_errors_name_path_and_reason(void **state)
{
    (void)state;
    errno = ENOENT;
    CHECK_STATUS(RGM_ERR_NOT_FOUND, RGM_FAIL_SYSTEM("open", "a/b"));
    CHECK_TEXT("cannot open 'a/b': No such file or directory", rgm_error_message());
    errno = ENOSPC;
    CHECK_STATUS(RGM_ERR_IO, RGM_FAIL_SYSTEM("write", "a/b"));
    CHECK_TEXT("cannot write 'a/b': No space left on device", rgm_error_message());
    errno = ENOMEM;
    CHECK_STATUS(RGM_ERR_NOMEM, RGM_FAIL_SYSTEM("map", "a/b"));
}

static void a_full_disk_is_the_machines_fault(void **state)
{
    rgm_error error;

    (void)state;
    errno = EACCES;
    CHECK_STATUS(RGM_ERR_IO, RGM_FAIL_SYSTEM("open", "a/b"));
    CHECK(!rgm_error_is_of_the_machine());
    errno = ENOSPC;
    CHECK_STATUS(RGM_ERR_IO, RGM_FAIL_SYSTEM("write", "a/b"));
    CHECK(rgm_error_is_of_the_machine());
    CHECK_STATUS(RGM_ERR_IO, rgm_error_prefix(RGM_ERR_IO, "checkpoint"));
    CHECK(rgm_error_is_of_the_machine());
    rgm_error_save(&error, RGM_ERR_IO);
    CHECK_STATUS(RGM_ERR_IO, RGM_FAIL(RGM_ERR_IO, "something else"));
    CHECK(!rgm_error_is_of_the_machine());
    CHECK_STATUS(RGM_ERR_IO, rgm_error_restore(&error));
    CHECK(rgm_error_is_of_the_machine());
    rgm_error_reset();
    CHECK(!rgm_error_is_of_the_machine());
}

static void *fail_elsewhere(void *payload)
{
    rgm_error_save(payload, deep(2));
    return NULL;
}

static void an_error_travels_between_threads(void **state)
{
    pthread_t thread;
    rgm_error error;

    (void)state;
    rgm_error_reset();
    CHECK_INT(0, pthread_create(&thread, NULL, fail_elsewhere, &error));
    CHECK_INT(0, pthread_join(thread, NULL));
    CHECK_TEXT("", rgm_error_message()); /* the record is the other thread's */
    CHECK_STATUS(RGM_ERR_DATA, rgm_error_restore(&error));
    CHECK_TEXT("bottom", rgm_error_message());
    CHECK(strstr(rgm_error_text(), "at deep") != NULL);
    error.status = RGM_OK;
    CHECK_OK(rgm_error_restore(&error));
}

static void every_status_has_its_name(void **state)
{
    (void)state;
    CHECK_TEXT("RGM_OK", rgm_status_name(RGM_OK));
    CHECK_TEXT("RGM_STOPPED", rgm_status_name(RGM_STOPPED));
    CHECK_TEXT("RGM_ERR_SHAPE", rgm_status_name(-2));
    for (int code = RGM_ERR_DATA; code <= RGM_STOPPED; code++)
        CHECK(strncmp(rgm_status_name(code), "RGM_", 4) == 0);
    CHECK_TEXT("RGM_ERR_DATA", rgm_status_name(RGM_ERR_DATA));
    CHECK_TEXT("RGM_ERR_NOT_FOUND", rgm_status_name(RGM_ERR_NOT_FOUND));
    CHECK_TEXT("unknown status", rgm_status_name(12345));
    CHECK_TEXT("unknown status", rgm_status_name(-12345));
}

static void numbers_do_not_depend_on_the_locale(void **state)
{
    char *text = NULL;

    (void)state;
    if (setlocale(LC_ALL, "de_DE.UTF-8") == NULL)
        SKIP("this machine has no locale with a decimal comma");
    CHECK_STATUS(RGM_ERR_NUMERIC, RGM_FAIL(RGM_ERR_NUMERIC, "%.2f", 1.5));
    CHECK_TEXT("1.50", rgm_error_message());
    CHECK_OK(rgm_strprintf(&text, "%.2f", 1.5));
    CHECK_TEXT("1.50", text);
    rgm_free(text);
    setlocale(LC_ALL, "C");
}

TESTS(cmocka_unit_test(a_failure_passes_up_with_message_and_trace),
      cmocka_unit_test(a_signal_passes_up_without_a_trace),
      cmocka_unit_test(a_later_failure_replaces_the_earlier),
      cmocka_unit_test(the_old_message_may_be_part_of_the_new),
      cmocka_unit_test(a_prefix_says_what_was_being_done),
      cmocka_unit_test(control_characters_are_shown_not_sent),
      cmocka_unit_test(long_messages_are_cut_between_characters),
      cmocka_unit_test(a_message_that_is_cut_says_so_and_keeps_both_ends),
      cmocka_unit_test(a_deep_trace_keeps_its_innermost_frames),
      cmocka_unit_test(system_errors_name_path_and_reason),
      cmocka_unit_test(a_full_disk_is_the_machines_fault),
      cmocka_unit_test(an_error_travels_between_threads),
      cmocka_unit_test(every_status_has_its_name),
      cmocka_unit_test(numbers_do_not_depend_on_the_locale))
