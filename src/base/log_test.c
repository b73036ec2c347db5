/*
 * The log: who gets a message, from which thread, and who does not.
 */
#include <check.h>

static char logged[4096];
static int logged_level;
static void keep_message(int level, const char *message, void *payload)
{
    logged_level = level;
    snprintf(logged, sizeof logged, "%s%s", (const char *)payload, message);
    rgm_log_write(RGM_LOG_ERROR, "a sink that logs is not heard, and does not hang");
}

static void the_log_goes_to_every_sink_or_nowhere(void **state)
{
    static char payload[] = "> ", other[] = "+ ";

    (void)state;
    rgm_log_write(RGM_LOG_INFO, "dropped");
    CHECK_OK(rgm_logger_add_sink(NULL, keep_message, payload));
    CHECK_OK(rgm_logger_add_sink(NULL, keep_message, other));
    rgm_log_write(RGM_LOG_WARNING, "step %d", 5);
    CHECK_TEXT("+ step 5", logged); /* the last one was asked last */
    CHECK_INT(RGM_LOG_WARNING, logged_level);
    rgm_logger_remove_sink(NULL, keep_message, other);
    rgm_log_write(RGM_LOG_WARNING, "step %d", 6);
    CHECK_TEXT("> step 6", logged);
    rgm_logger_remove_sink(NULL, keep_message, payload);
    rgm_logger_remove_sink(NULL, keep_message, payload); /* not there: nothing */
    rgm_log_write(RGM_LOG_INFO, "dropped");
    CHECK_TEXT("> step 6", logged);
}

static void collect(int level, const char *message, void *payload)
{
    (void)level;
    CHECK_OK(rgm_text_printf(payload, "%s;", message));
}

static void keep_length(int level, const char *message, void *payload)
{
    size_t size = strlen(message);

    (void)level;
    *(int64_t *)payload = message[size - 1] == '!' ? (int64_t)size : -1;
}

static void a_message_of_any_length_is_whole(void **state)
{
    int64_t size = 0;

    (void)state;
    CHECK_OK(rgm_logger_add_sink(NULL, keep_length, &size));
    for (int length = 2000; length < 2100; length++) {
        rgm_log_write(RGM_LOG_INFO, "%*s!", length, "");
        CHECK_INT(length + 1, size);
    }
    rgm_log_write(RGM_LOG_INFO, "%*s!", 1 << 20, "");
    CHECK_INT((1 << 20) + 1, size);
    rgm_logger_remove_sink(NULL, keep_length, &size);
}

static void what_cannot_be_whole_is_marked(void **state)
{
    static char none[] = "";

    (void)state;
    CHECK_OK(rgm_logger_add_sink(NULL, keep_message, none));
    rgm_memory_fail_at(0, false);
    rgm_log_write(RGM_LOG_INFO, "%*s!", 3000, "");
    rgm_memory_fail_at(-1, false);
    CHECK_INT(2047, (int64_t)strlen(logged));
    CHECK_TEXT(" ... (cut: out of memory)", logged + 2047 - strlen(" ... (cut: out of memory)"));
    rgm_logger_remove_sink(NULL, keep_message, none);
}

static void warn_in_a_pool(void *payload)
{
    rgm_log_write(RGM_LOG_WARNING, "%s", (const char *)payload);
}

/* Only warnings, of the thread and of those that work for it, and only until the end. */
static void notes_are_kept_until_a_log_is_there(void **state)
{
    rgm_log_notes notes = {0}, inner = {0};
    rgm_text all = {0}, later = {0};
    rgm_logger *log;

    (void)state;
    CHECK_OK(rgm_logger_create(&log));
    CHECK_OK(rgm_logger_add_sink(NULL, collect, &all));
    CHECK_OK(rgm_logger_add_sink(log, collect, &later));
    CHECK_OK(rgm_log_notes_begin(&notes));
    rgm_log_write(RGM_LOG_INFO, "read");
    warn_in_a_pool("left out");
    CHECK_OK(rgm_log_notes_begin(&inner)); /* there is a log already */
    warn_in_a_pool("again");
    CHECK_OK(rgm_log_notes_end(&inner, RGM_OK));
    CHECK_INT(0, inner.count);
    CHECK_STATUS(RGM_END, rgm_log_notes_end(&notes, RGM_END));
    warn_in_a_pool("later");
    CHECK_INT(2, notes.count);
    rgm_log_notes_tell(&notes, log);
    CHECK_TEXT("left out;again;", later.data);
    CHECK_TEXT("read;left out;again;later;", all.data);
    rgm_logger_remove_sink(NULL, collect, &all);
    rgm_log_notes_clear(&notes);
    rgm_logger_release(log);
    rgm_text_clear(&all);
    rgm_text_clear(&later);
}

/* ---- logs of runs -------------------------------------------------------------------------- */

static void a_message_goes_to_the_log_of_its_thread_and_to_the_process(void **state)
{
    rgm_text all = {0}, a = {0}, b = {0};
    rgm_logger *first, *second;

    (void)state;
    CHECK_OK(rgm_logger_create(&first));
    CHECK_OK(rgm_logger_create(&second));
    CHECK_OK(rgm_logger_add_sink(NULL, collect, &all));
    CHECK_OK(rgm_logger_add_sink(first, collect, &a));
    CHECK_OK(rgm_logger_add_sink(second, collect, &b));
    for (int i = 0; i < 2; i++) {
        CHECK(rgm_logger_enter(first) == NULL);
        rgm_log_write(RGM_LOG_INFO, "a%d", i);
        CHECK(rgm_logger_enter(second) == first); /* one inside the other */
        rgm_log_write(RGM_LOG_INFO, "b%d", i);
        CHECK(rgm_logger_enter(first) == second);
        CHECK(rgm_logger_enter(NULL) == first);
        rgm_log_write(RGM_LOG_INFO, "none%d", i);
    }
    rgm_logger_remove_sink(NULL, collect, &all);
    CHECK_TEXT("a0;b0;none0;a1;b1;none1;", all.data);
    CHECK_TEXT("a0;a1;", a.data);
    CHECK_TEXT("b0;b1;", b.data);
    rgm_logger_release(first);
    rgm_logger_release(second);
    rgm_text_clear(&all);
    rgm_text_clear(&a);
    rgm_text_clear(&b);
}

static void write_twice(void *payload)
{
    rgm_log_write(RGM_LOG_INFO, "%s", (const char *)payload);
    rgm_log_write(RGM_LOG_INFO, "%s", (const char *)payload);
}

static void a_pool_takes_the_log_of_whoever_submits(void **state)
{
    static char names[2][2] = {"a", "b"};
    rgm_text texts[2] = {{0}, {0}};
    rgm_thread_pool *pool;
    rgm_logger *logs[2];

    (void)state;
    CHECK_OK(rgm_thread_pool_create(&pool, 3));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(rgm_logger_create(&logs[i]));
        CHECK_OK(rgm_logger_add_sink(logs[i], collect, &texts[i]));
    }
    for (int i = 0; i < 100; i++) {
        rgm_logger_enter(logs[i % 2]);
        CHECK_OK(rgm_thread_pool_submit(pool, write_twice, names[i % 2]));
    }
    rgm_logger_enter(NULL);
    rgm_logger_release(logs[0]); /* a job keeps its log */
    rgm_logger_release(logs[1]);
    CHECK_OK(rgm_thread_pool_submit(pool, write_twice, names[0])); /* for nobody */
    rgm_thread_pool_release(pool);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(200, texts[i].size);
        CHECK(strspn(texts[i].data, i == 0 ? "a;" : "b;") == 200);
        rgm_text_clear(&texts[i]);
    }
}

static void write_range(void *payload, int64_t begin, int64_t end)
{
    (void)payload;
    for (int64_t i = begin; i < end; i++)
        rgm_log_write(RGM_LOG_INFO, "i");
}

static void a_loop_takes_the_log_of_whoever_begins_it(void **state)
{
    int threads = rgm_threads();
    rgm_text text = {0};
    rgm_logger *log;

    (void)state;
    CHECK_OK(rgm_logger_create(&log));
    CHECK_OK(rgm_logger_add_sink(log, collect, &text));
    rgm_threads_set(3);
    rgm_parallel(300, 1e4, write_range, NULL); /* for nobody */
    rgm_logger_enter(log);
    for (int i = 0; i < 10; i++)
        rgm_parallel(100, 1e4, write_range, NULL);
    rgm_logger_enter(NULL);
    rgm_threads_set(threads);
    CHECK_INT(2000, text.size);
    rgm_logger_release(log);
    rgm_text_clear(&text);
}

static void creating_a_log_survives_every_failing_allocation(void **state)
{
    rgm_logger *log = NULL;

    (void)state;
    CHECK_EVERY_OOM(rgm_logger_create(&log), rgm_logger_release(log));
}

TESTS(cmocka_unit_test(the_log_goes_to_every_sink_or_nowhere),
      cmocka_unit_test(a_message_of_any_length_is_whole),
      cmocka_unit_test(what_cannot_be_whole_is_marked),
      cmocka_unit_test(notes_are_kept_until_a_log_is_there),
      cmocka_unit_test(a_message_goes_to_the_log_of_its_thread_and_to_the_process),
      cmocka_unit_test(a_pool_takes_the_log_of_whoever_submits),
      cmocka_unit_test(a_loop_takes_the_log_of_whoever_begins_it),
      cmocka_unit_test(creating_a_log_survives_every_failing_allocation))
