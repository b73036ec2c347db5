/*
 * system.jsonl and tables.jsonl: the form of their lines, what is kept when a run continues, and
 * that a failed write loses only its own line.
 */
#include <check.h>

#include <regimen/store.h>

#include <math.h>
#include <signal.h>
#include <sys/resource.h>

static const char *path_in(const char *folder)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/lines.jsonl", folder);
    return path;
}

static char *load(const char *path)
{
    char *data = NULL;
    int64_t size;

    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    return data;
}

static void save(const char *path, const char *text)
{
    CHECK_OK(rgm_file_save_own(path, text, (int64_t)strlen(text)));
}

/* The number of a key in line `i`; NaN: null. */
static double number_in(const char *path, int i, const char *key)
{
    char *data = load(path), *line = data;
    rgm_json *json;
    double value = -1;

    for (; i > 0; i--)
        line = strchr(line, '\n') + 1;
    CHECK_OK(rgm_json_parse(&json, line, (int64_t)strcspn(line, "\n"), "line"));
    CHECK(rgm_json_find(json, key) != NULL);
    if (!rgm_json_number(&value, rgm_json_find(json, key)))
        value = NAN;
    rgm_json_release(json);
    rgm_free(data);
    return value;
}

static rgm_status add_figures(const char *path, double seconds)
{
    rgm_system_figures figures = {.step = 10,
                                  .epoch = 2,
                                  .seconds = seconds,
                                  .steps_per_second = 40,
                                  .items_per_second = NAN,
                                  .threads = 3};
    rgm_system_log *log;
    rgm_status status = rgm_system_log_open(&log, path);

    if (status == RGM_OK)
        status = rgm_system_log_add(log, &figures);
    rgm_system_log_close(log);
    return status;
}

static void figures_are_of_this_process_and_of_earlier_ones(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    double now = rgm_wall_time();
    char *data;

    (void)state;
    CHECK_OK(add_figures(path, 1.5));
    CHECK_CLOSE(now, number_in(path, 0, "time"), 0, 10);
    CHECK(number_in(path, 0, "step") == 10 && number_in(path, 0, "epoch") == 2);
    CHECK(number_in(path, 0, "steps_per_second") == 40 && number_in(path, 0, "threads") == 3);
    CHECK(isnan(number_in(path, 0, "examples_per_second")));
    CHECK_CLOSE((double)rgm_memory_resident(), number_in(path, 0, "rss"), 0.5, 0);
    CHECK(number_in(path, 0, "cpu_seconds") >= 0);
    CHECK(number_in(path, 0, "seconds") == 1.5);
    CHECK_OK(add_figures(path, 2)); /* another process: it adds to 1.5 seconds */
    CHECK(number_in(path, 1, "seconds") == 3.5);
    data = load(path);
    CHECK(strstr(data, ",\"examples_per_second\":null,") != NULL);
    CHECK_INT('\n', data[strlen(data) - 1]);
    rgm_free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A translation's rate is of target tokens, and not called one of examples. */
static void rates_have_the_name_of_what_they_count(void **state)
{
    const rgm_system_figures figures = {
        .step = 1, .items_per_second = 70.5, .items = "target tokens"};
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_system_log *log;
    char *data;

    (void)state;
    CHECK_OK(rgm_system_log_open(&log, path));
    CHECK_OK(rgm_system_log_add(log, &figures));
    rgm_system_log_close(log);
    CHECK(number_in(path, 0, "items_per_second") == 70.5);
    data = load(path);
    CHECK(strstr(data, ",\"items\":\"target tokens\",") != NULL);
    CHECK(strstr(data, "examples") == NULL);
    rgm_free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void figures_go_on_behind_what_a_kill_has_left(void **state)
{
    static const struct {
        const char *before, *kept;
        double seconds;
    } cases[] = {
        {"", "", 0},
        {"{\"seconds\":4}\n{\"seconds\":9", "{\"seconds\":4}\n", 4},
        {"{\"seconds\":", "", 0},
        {"{\"seconds\":4}\nno line of ours\n", "{\"seconds\":4}\nno line of ours\n", 4},
        {"{\"seconds\":4}\n{\"seconds\":null}\n", "{\"seconds\":4}\n{\"seconds\":null}\n", 4}};
    const char *folder = check_folder(), *path = path_in(folder);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t kept = strlen(cases[i].kept);
        char *data;

        save(path, cases[i].before);
        CHECK_OK(add_figures(path, 1));
        data = load(path);
        CHECK(strncmp(data, cases[i].kept, kept) == 0);
        CHECK(strncmp(data + kept, "{\"time\":", 8) == 0);
        save(path, data + kept);
        CHECK(number_in(path, 0, "seconds") == cases[i].seconds + 1);
        rgm_free(data);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

/* Only the last lines are read, however long the file. */
static void seconds_are_found_at_the_end_of_a_long_file(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_text text = {0};
    char *data;

    (void)state;
    for (int i = 1; i <= 3000; i++)
        CHECK_OK(rgm_text_printf(&text, "{\"step\":1,\"seconds\":%d.5}\n", i));
    save(path, text.data);
    CHECK_OK(add_figures(path, 1));
    data = load(path);
    CHECK(strncmp(data, text.data, (size_t)text.size) == 0);
    CHECK(number_in(path, 3000, "seconds") == 3001.5);
    rgm_free(data);
    rgm_text_clear(&text);
    CHECK_OK(rgm_folder_remove(folder));
}

/* From now on files of this process may have at most so many bytes. */
static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = bytes < limit.rlim_max ? bytes : limit.rlim_max;
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &limit));
}

static void a_line_without_room_is_lost_and_the_next_one_is_not(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_system_figures figures = {.step = 1};
    rgm_system_log *log;
    char *data;

    (void)state;
    CHECK_OK(rgm_system_log_open(&log, path));
    CHECK_OK(rgm_system_log_add(log, &figures));
    limit_files(300);
    figures.step = 2;
    CHECK_STATUS(RGM_ERR_IO, rgm_system_log_add(log, &figures));
    limit_files(RLIM_INFINITY);
    figures.step = 3;
    CHECK_OK(rgm_system_log_add(log, &figures));
    rgm_system_log_close(log);
    data = load(path);
    CHECK(number_in(path, 0, "step") == 1 && number_in(path, 1, "step") == 3);
    CHECK(strchr(strchr(data, '\n') + 1, '\n')[1] == '\0');
    rgm_free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- tables -------------------------------------------------------------------------------- */

static rgm_status add_tables(const char *path, int64_t first_void, int64_t step)
{
    static const char *const names[] = {"a", "\"b\""};
    static const int64_t counts[] = {9, 1, 2, 8};
    static const rgm_named_number scores[] = {{"bleu", 41.5}, {"chrf", 60.25}};
    const rgm_confusion confusion = {"logits", names, 2, counts};
    const rgm_confusion numbered = {"logits", NULL, 1, counts};
    const rgm_sample samples[] = {{"ein\tHund", "a dog", "one dog", scores, 2},
                                  {"zwei", "", "two", NULL, 0}};
    rgm_status status = RGM_OK;
    rgm_tables_log *log;

    RGM_GO(rgm_tables_log_open(&log, path, first_void));
    RGM_GO(rgm_tables_log_confusion(log, "valid", step, &confusion));
    RGM_GO(rgm_tables_log_confusion(log, "valid_news", step, &numbered));
    RGM_GO(rgm_tables_log_samples(log, "valid", step, samples, 2));
done:
    rgm_tables_log_close(log);
    return status;
}

static void tables_look_like_the_documentation(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    char *data;

    (void)state;
    CHECK_OK(add_tables(path, 0, 100));
    data = load(path);
    CHECK_TEXT("{\"step\":100,\"split\":\"valid\",\"kind\":\"confusion\",\"label\":\"logits\","
               "\"classes\":[\"a\",\"\\\"b\\\"\"],\"counts\":[[9,1],[2,8]]}\n"
               "{\"step\":100,\"split\":\"valid_news\",\"kind\":\"confusion\",\"label\":\"logits\","
               "\"classes\":null,\"counts\":[[9]]}\n"
               "{\"step\":100,\"split\":\"valid\",\"kind\":\"samples\",\"samples\":["
               "{\"source\":\"ein\\u0009Hund\",\"translation\":\"a dog\",\"reference\":\"one dog\","
               "\"scores\":{\"bleu\":41.5,\"chrf\":60.25}},"
               "{\"source\":\"zwei\",\"translation\":\"\",\"reference\":\"two\",\"scores\":{}}]}\n",
               data);
    rgm_free(data);
    CHECK_OK(rgm_folder_remove(folder));
}

#define LINE(step) "{\"step\":" #step ",\"split\":\"valid\"}\n"

static void tables_of_lost_work_are_cut_off(void **state)
{
    static const struct {
        const char *before;
        int64_t first_void;
        const char *kept;
    } cases[] = {{"", 3, ""},
                 {LINE(1) LINE(2), 0, ""},
                 {LINE(1) LINE(2) LINE(3), 3, LINE(1) LINE(2)},
                 {LINE(1) LINE(2) LINE(2), 3, LINE(1) LINE(2) LINE(2)},
                 {LINE(1) LINE(2) LINE(3) "{\"step\":2,\"spl", 3, LINE(1) LINE(2)},
                 {LINE(1) "{\"step\":2", 3, LINE(1)},
                 {LINE(1) "damage\n" LINE(2) "damage\n", 3, LINE(1) "damage\n" LINE(2)},
                 /* continued from a foreign checkpoint: of the two branches the last counts */
                 {LINE(50) LINE(90) LINE(40) LINE(60), 50, LINE(50) LINE(90) LINE(40)},
                 {"{\"step\":99999999999999999999999}\n" LINE(1), 2,
                  "{\"step\":99999999999999999999999}\n" LINE(1)}};
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_tables_log *log;
    char *data;

    (void)state;
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        bool later = i % 2 == 1; /* by a rollback of the run that has it open */

        save(path, cases[i / 2].before);
        CHECK_OK(rgm_tables_log_open(&log, path, later ? INT64_MAX : cases[i / 2].first_void));
        if (later)
            CHECK_OK(rgm_tables_log_cut(log, cases[i / 2].first_void));
        rgm_tables_log_close(log);
        data = load(path);
        CHECK_TEXT(cases[i / 2].kept, data);
        rgm_free(data);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

#define TABLE(step, split) "{\"step\":" #step ",\"split\":\"" split "\"}\n"

/* Those of test data at the end, which a run that is started again writes once more. */
static void tables_of_a_split_are_cut_off_the_end(void **state)
{
    static const struct {
        const char *before, *kept;
    } cases[] = {{"", ""},
                 {TABLE(3, "valid") TABLE(3, "test") TABLE(3, "test_news"), TABLE(3, "valid")},
                 {TABLE(2, "test") TABLE(3, "test"), TABLE(2, "test")},
                 {TABLE(3, "test") TABLE(3, "valid"), TABLE(3, "test") TABLE(3, "valid")},
                 {TABLE(3, "valid") TABLE(30, "test"), TABLE(3, "valid") TABLE(30, "test")},
                 {TABLE(3, "valid") "{\"step\":3,\"split\":\"test", TABLE(3, "valid")}};
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_tables_log *log;
    char *data;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save(path, cases[i].before);
        CHECK_OK(rgm_tables_log_open(&log, path, INT64_MAX));
        CHECK_OK(rgm_tables_log_cut_split(log, "test", 3));
        rgm_tables_log_close(log);
        data = load(path);
        CHECK_TEXT(cases[i].kept, data);
        rgm_free(data);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

static void logging_survives_every_failing_allocation(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);

    (void)state;
    CHECK_EVERY_OOM(add_figures(path, 1), (void)0);
    CHECK_OK(rgm_folder_remove(path));
    CHECK_EVERY_OOM(add_tables(path, 3, 1), (void)0);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- curves -------------------------------------------------------------------------------- */

static rgm_score_log *curves_opened(const char *path, int64_t first_void)
{
    rgm_score_log *log;

    CHECK_OK(rgm_score_log_open(&log, path, first_void));
    return log;
}

static rgm_status set_curves(rgm_score_log *log, const char *split, int64_t step, double area)
{
    static rgm_score_curve curve = {.name = NULL,
                                    .positives = 2,
                                    .negatives = 2,
                                    .average_precision = NAN,
                                    .point_count = 2,
                                    .points = {{INFINITY, 0, 0, 1}, {0.1f, 1, 1, 0.5}}};
    static const rgm_hits_curve hits = {
        .links = 2, .mean_reciprocal_rank = 0.75, .point_count = 2, .k = {1, 2}, .share = {0.5, 1}};
    const rgm_score_curves all = {.label = "logits",
                                  .curves = &curve,
                                  .count = 1,
                                  .hits = step == 1 ? &hits : NULL,
                                  .left_out = step == 2 ? "why" : NULL};

    curve.roc_area = area;
    return rgm_score_log_set(log, split, step, &all);
}

#define CURVES(step, split, area, hits, why)                                                       \
    "{\"step\":" step ",\"split\":\"" split "\",\"kind\":\"score_curves\",\"label\":\"logits\","   \
    "\"curves\":[{\"name\":null,\"positives\":2.0,\"negatives\":2.0,\"roc_area\":" area            \
    ",\"average_precision\":null,\"points\":[[null,0,0,1],[0.1,1,1,0.5]]}],\"hits\":" hits         \
    ",\"left_out\":" why "}\n"
#define HITS "{\"links\":2.0,\"mean_reciprocal_rank\":0.75,\"points\":[[1,0.5],[2,1]]}"

static void check_curves(const char *path, const char *wanted)
{
    char *data;

    if (*wanted == '\0') {
        CHECK(!rgm_path_exists(path));
        return;
    }
    data = load(path);
    CHECK_TEXT(wanted, data);
    rgm_free(data);
}

/* Of each split the last ones, in the order in which they came; only flushes write. */
static void curves_replace_earlier_ones(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_score_log *log = curves_opened(path, 0);

    (void)state;
    CHECK_OK(rgm_score_log_flush(log));
    check_curves(path, "");
    CHECK_OK(set_curves(log, "valid", 1, 0.25));
    check_curves(path, "");
    CHECK_OK(rgm_score_log_flush(log));
    check_curves(path, CURVES("1", "valid", "0.25", HITS, "null"));
    CHECK_OK(set_curves(log, "valid_news", 1, 0.25));
    CHECK_OK(set_curves(log, "valid", 2, 0.5));
    CHECK_OK(rgm_score_log_flush(log));
    check_curves(path, CURVES("1", "valid_news", "0.25", HITS, "null")
                           CURVES("2", "valid", "0.5", "null", "\"why\""));
    rgm_score_log_close(log);
    CHECK_OK(rgm_folder_remove(folder));
}

static void curves_of_lost_work_are_left_out(void **state)
{
    const char *folder = check_folder(), *path = path_in(folder);
    rgm_score_log *log = curves_opened(path, 0);

    (void)state;
    CHECK_OK(set_curves(log, "valid", 3, 1));
    CHECK_OK(set_curves(log, "test", 4, 1));
    CHECK_OK(set_curves(log, "test_news", 4, 1));
    CHECK_OK(rgm_score_log_flush(log));
    rgm_score_log_cut_split(log, "test", 3);
    rgm_score_log_cut_split(log, "test", 4);
    CHECK_OK(rgm_score_log_flush(log));
    check_curves(path, CURVES("3", "valid", "1.0", "null", "null"));
    rgm_score_log_close(log);
    save(path, CURVES("3", "valid", "1.0", "null", "null") "damage\n{\"step\":4}\n{\"step\":1");
    log = curves_opened(path, 4);
    CHECK_OK(rgm_score_log_flush(log));
    check_curves(path, CURVES("3", "valid", "1.0", "null", "null"));
    rgm_score_log_cut(log, 3);
    CHECK_OK(rgm_score_log_flush(log));
    check_curves(path, "");
    rgm_score_log_close(log);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(curves_replace_earlier_ones),
      cmocka_unit_test(curves_of_lost_work_are_left_out),
      cmocka_unit_test(figures_are_of_this_process_and_of_earlier_ones),
      cmocka_unit_test(rates_have_the_name_of_what_they_count),
      cmocka_unit_test(figures_go_on_behind_what_a_kill_has_left),
      cmocka_unit_test(seconds_are_found_at_the_end_of_a_long_file),
      cmocka_unit_test(a_line_without_room_is_lost_and_the_next_one_is_not),
      cmocka_unit_test(tables_look_like_the_documentation),
      cmocka_unit_test(tables_of_lost_work_are_cut_off),
      cmocka_unit_test(tables_of_a_split_are_cut_off_the_end),
      cmocka_unit_test(logging_survives_every_failing_allocation))
