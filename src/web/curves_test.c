/*
 * Learning curves for drawing: every point of short ones, the ends of each piece of long ones, what
 * is new of those that grow, and memory that has a bound.
 */
#include <check.h>

#include <regimen/store.h>

#include <unistd.h>

#include "band.h"

static const char *root;

static const char *in_root(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void log_steps(int64_t first, int64_t last, double (*value)(int64_t), bool fresh)
{
    rgm_metrics_log *log;

    CHECK_OK(rgm_metrics_log_open(&log, in_root("metrics.jsonl"), fresh ? 0 : -1));
    for (int64_t step = first; step <= last; step++) {
        const rgm_named_number numbers[] = {{"loss", value(step)}, {"accuracy", -value(step)}};

        CHECK_OK(rgm_metrics_log_add(log, step % 10 == 0 ? "valid" : "train", step, 0, numbers, 2));
    }
    rgm_metrics_log_close(log);
}

static double wave(int64_t step)
{
    return sin((double)step / 7) + (double)step / 1000;
}

static double broken_wave(int64_t step)
{
    return step == 333 ? NAN : wave(step);
}

static double flat(int64_t step)
{
    return 7 + 0 * (double)step;
}

typedef struct answer {
    rgm_json *json;
    char names[200];
    char damage[300];
    bool more;
} answer;

static rgm_status print(rgmi_curves_told *told, rgmi_curve_cache *cache,
                        const rgmi_curves_query *query)
{
    rgmi_curves_query q = *query;

    q.until = q.until > 0 ? q.until : INT64_MAX;
    return rgmi_curves_print(told, cache, 1, root, &q, "valid.accuracy", 0.5);
}

static void ask(answer *out, rgmi_curve_cache *cache, const rgmi_curves_query *query)
{
    rgmi_curves_told told;

    CHECK_OK(print(&told, cache, query));
    CHECK_OK(rgm_json_parse(&out->json, told.json.data, told.json.size, "curves"));
    snprintf(out->names, sizeof out->names, "%s", told.names.data != NULL ? told.names.data : "");
    snprintf(out->damage, sizeof out->damage, "%s", told.damage != NULL ? told.damage : "");
    out->more = told.more;
    rgmi_curves_told_clear(&told);
}

static const rgm_json *curve_of(const answer *a, const char *metric)
{
    for (int64_t i = 0; i < rgm_json_count(a->json); i++)
        if (strcmp(rgm_json_text(rgm_json_find(rgm_json_at(a->json, i), "metric")), metric) == 0)
            return rgm_json_at(a->json, i);
    fail_msg("no curve %s", metric);
    return NULL;
}

static double number_at(const rgm_json *list, int64_t i)
{
    double number = NAN;

    (void)rgm_json_number(&number, rgm_json_at(list, i));
    return number;
}

static int64_t whole(const rgm_json *json, const char *key)
{
    int64_t number = -1;

    (void)rgm_json_int(&number, rgm_json_find(json, key));
    return number;
}

static rgmi_curve_cache *open_cache(int64_t bytes)
{
    rgmi_curve_cache *cache;

    CHECK_OK(rgmi_curve_cache_create(&cache, bytes));
    return cache;
}

static void the_better_end_goes_by_the_name(void **state)
{
    static const char *const smaller[] = {
        "brier_score",        "words_ter",         "pseudo_condition_number",
        "self_clustering",    "coherence",         "head_cross_entropy",
        "calibration_error",  "bits_per_byte",     "norm_mean_squared_error",
        "accuracy_task_loss", "recall_perplexity", "top_brier_score"};
    static const char *const larger[] = {"accuracy",
                                         "filtered_mrr",
                                         "bleu",
                                         "r2",
                                         "f1_weighted",
                                         "precision_for_defect_loss",
                                         "kind_recall_for_normal",
                                         "error_rate_auc_roc",
                                         "loss_hits_10"};
    static const char *const neither[] = {"learning_rate", "recall_loss_weight",
                                          "gradient_norm.recall.loss"};
    enum { SMALLER = sizeof smaller / sizeof *smaller, LARGER = sizeof larger / sizeof *larger };
    enum { NEITHER = sizeof neither / sizeof *neither, ALL = SMALLER + LARGER + NEITHER };
    rgmi_curve_cache *cache;
    rgm_named_number numbers[ALL];
    char metric[80];
    int64_t best;
    answer a;

    (void)state;
    root = check_folder();
    for (int i = 0; i < ALL; i++)
        numbers[i].name = i < SMALLER            ? smaller[i]
                          : i < SMALLER + LARGER ? larger[i - SMALLER]
                                                 : neither[i - SMALLER - LARGER];
    for (int64_t step = 1; step <= 3; step++) {
        rgm_metrics_log *log;

        CHECK_OK(rgm_metrics_log_open(&log, in_root("metrics.jsonl"), step == 1 ? 0 : -1));
        for (int i = 0; i < ALL; i++)
            numbers[i].value = step == 2 ? 0.1 : step == 3 ? 0.9 : 0.5;
        CHECK_OK(rgm_metrics_log_add(log, "valid", step, 0, numbers, ALL));
        rgm_metrics_log_close(log);
    }
    cache = open_cache(1 << 20);
    ask(&a, cache, &(rgmi_curves_query){.points = 100, .after = -1});
    for (int i = 0; i < ALL; i++) {
        snprintf(metric, sizeof metric, "valid.%s", numbers[i].name);
        best = i < SMALLER ? 2 : i < SMALLER + LARGER ? 3 : -1;
        if (whole(rgm_json_find(curve_of(&a, metric), "best"), "step") != best)
            fail_msg("the best of %s is another point", metric);
    }
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

static void every_point_of_a_short_curve_is_told(void **state)
{
    rgmi_curve_cache *cache = open_cache(1 << 20);
    const rgm_json *c;
    answer a;

    (void)state;
    root = check_folder();
    log_steps(1, 95, wave, true);
    ask(&a, cache, &(rgmi_curves_query){.points = 1000, .after = -1});
    CHECK_TEXT("train.loss\ntrain.accuracy\nvalid.loss\nvalid.accuracy\n", a.names);
    CHECK_TEXT("", a.damage);
    c = curve_of(&a, "valid.loss");
    CHECK_TEXT("valid", rgm_json_text(rgm_json_find(c, "split")));
    CHECK_TEXT("loss", rgm_json_text(rgm_json_find(c, "name")));
    CHECK_INT(9, rgm_json_count(rgm_json_find(c, "steps")));
    CHECK_INT(9, whole(c, "total"));
    for (int64_t i = 0; i < 9; i++) {
        CHECK(number_at(rgm_json_find(c, "steps"), i) == (double)(10 * i + 10));
        CHECK(number_at(rgm_json_find(c, "values"), i) == wave(10 * i + 10));
    }
    CHECK(rgm_json_count(rgm_json_find(c, "times")) == -1);
    CHECK_INT(30, whole(rgm_json_find(c, "best"), "step")); /* the lowest loss */
    /* What is asked for alone, and behind a step. */
    rgm_json_release(a.json);
    ask(&a, cache,
        &(rgmi_curves_query){.metrics = "valid.loss,none.such", .points = 1000, .after = 75});
    CHECK_INT(1, rgm_json_count(a.json));
    c = curve_of(&a, "valid.loss");
    CHECK_INT(2, rgm_json_count(rgm_json_find(c, "steps")));
    CHECK_INT(9, whole(c, "total"));
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

/* Of each piece the first, last, lowest, highest and a broken one, for many lengths. */
static void thinning_keeps_the_ends_of_every_piece(void **state)
{
    double values[2000];
    int64_t chosen[520];

    (void)state;
    for (int64_t count = 1; count < 2000; count += 7) {
        for (int64_t points = 4; points <= 512; points *= 2) {
            double low = INFINITY, high = -INFINITY, kept_low = INFINITY, kept_high = -INFINITY;
            int64_t kept, broken = count > 10 ? count / 2 : -1;
            bool saw_broken = broken < 0;

            for (int64_t i = 0; i < count; i++) {
                values[i] = i == broken ? NAN : wave(i * 31 % 97);
                low = fmin(low, values[i]);
                high = fmax(high, values[i]);
            }
            kept = rgmi_curve_thin(chosen, values, count, points);
            CHECK(kept <= (points > 4 ? points : 5) && kept <= count);
            CHECK(chosen[0] == 0 && chosen[kept - 1] == count - 1);
            for (int64_t i = 0; i < kept; i++) {
                CHECK(i == 0 || chosen[i] > chosen[i - 1]);
                saw_broken = saw_broken || isnan(values[chosen[i]]);
                kept_low = fmin(kept_low, values[chosen[i]]);
                kept_high = fmax(kept_high, values[chosen[i]]);
            }
            CHECK(kept_low == low && kept_high == high && saw_broken);
        }
    }
}

static void a_run_that_grows_is_read_from_where_it_was(void **state)
{
    rgmi_curve_cache *cache = open_cache(1 << 20);
    const rgmi_curves_query query = {.points = 10000, .after = -1};
    int64_t bytes, lines;
    answer a;

    (void)state;
    root = check_folder();
    log_steps(1, 500, broken_wave, true);
    ask(&a, cache, &query);
    CHECK(isnan(number_at(rgm_json_find(curve_of(&a, "train.loss"), "values"), 299)));
    CHECK_INT(450, whole(curve_of(&a, "train.loss"), "total"));
    rgm_json_release(a.json);
    log_steps(501, 510, wave, false);
    ask(&a, cache, &query);
    CHECK_INT(459, whole(curve_of(&a, "train.loss"), "total"));
    rgm_json_release(a.json);
    rgmi_curve_cache_count(&bytes, &lines, cache);
    CHECK_INT(510, lines);
    CHECK(bytes > 510 * 32 && bytes < 1 << 20);
    /* Cut, and written anew: as if it had never been known. */
    log_steps(1, 600, flat, true);
    ask(&a, cache, &query);
    CHECK_INT(540, whole(curve_of(&a, "train.loss"), "total"));
    CHECK(number_at(rgm_json_find(curve_of(&a, "train.loss"), "values"), 0) == 7);
    rgm_json_release(a.json);
    CHECK_INT(0, unlink(in_root("metrics.jsonl")));
    ask(&a, cache, &query);
    CHECK_INT(0, rgm_json_count(a.json));
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

static void damage_ends_what_is_known_and_is_told(void **state)
{
    rgmi_curve_cache *cache = open_cache(1 << 20);
    FILE *file;
    answer a;

    (void)state;
    root = check_folder();
    log_steps(1, 100, wave, true);
    file = fopen(in_root("metrics.jsonl"), "r+b");
    CHECK(file != NULL && fseek(file, 5000, SEEK_SET) == 0 && fputc('#', file) == '#');
    CHECK_INT(0, fclose(file));
    for (int i = 0; i < 2; i++) {
        ask(&a, cache, &(rgmi_curves_query){.points = 1000, .after = -1});
        CHECK(strstr(a.damage, "the line is damaged") != NULL);
        CHECK(whole(curve_of(&a, "train.loss"), "total") > 10);
        CHECK(whole(curve_of(&a, "train.loss"), "total") < 60);
        rgm_json_release(a.json);
    }
    CHECK_INT(0, unlink(in_root("metrics.jsonl")));
    CHECK_INT(0, symlink("/etc/passwd", in_root("metrics.jsonl")));
    ask(&a, cache, &(rgmi_curves_query){.points = 1000, .after = -1});
    CHECK_TEXT("metrics.jsonl is no plain file: it is not read", a.damage);
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

static void times_come_from_the_figures_of_the_process(void **state)
{
    static const char lines[] =
        "{\"step\": 10, \"seconds\": 5.0}\nno line\n"
        "{\"step\": 50, \"seconds\": 900}\n{\"step\": 20, \"seconds\": 10}\n";
    rgmi_curve_cache *cache = open_cache(1 << 20);
    const rgm_json *times;
    answer a;

    (void)state;
    root = check_folder();
    log_steps(1, 30, wave, true);
    CHECK_OK(rgm_file_save(in_root("system.jsonl"), lines, sizeof lines - 1));
    ask(&a, cache, &(rgmi_curves_query){.metrics = "train.loss", .points = 1000, .after = -1});
    times = rgm_json_find(curve_of(&a, "train.loss"), "times");
    CHECK_INT(27, rgm_json_count(times));
    CHECK(number_at(times, 0) == 0.5);   /* step 1, from the beginning  */
    CHECK(number_at(times, 13) == 7.5);  /* step 15, between two        */
    CHECK(number_at(times, 26) == 10.0); /* step 29, behind the last    */
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

static void add_seconds(FILE *file, int64_t first, int64_t last)
{
    for (int64_t step = first; step <= last; step++)
        CHECK(fprintf(file, "{\"time\":1,\"step\":%lld,\"epoch\":1,\"seconds\":%lld.5}\n",
                      (long long)step, (long long)step / 2) > 0);
}

static double time_at_the_end(rgmi_curve_cache *cache)
{
    const rgm_json *times;
    double last;
    answer a;

    ask(&a, cache, &(rgmi_curves_query){.metrics = "train.loss", .points = 1000, .after = -1});
    times = rgm_json_find(curve_of(&a, "train.loss"), "times");
    last = number_at(times, rgm_json_count(times) - 1);
    rgm_json_release(a.json);
    return last;
}

/* Lines of a week are looked at here and there, and those that come after one by one. A file that
 * is none, of a size that nobody could read, costs no more. */
static void times_cost_little_however_long_the_file_is(void **state)
{
    rgmi_curve_cache *cache = open_cache(1 << 24);
    FILE *file;
    double begun;

    (void)state;
    root = check_folder();
    log_steps(99991, 99999, wave, true);
    file = fopen(in_root("system.jsonl"), "w");
    CHECK(file != NULL);
    add_seconds(file, 1, 150000); /* 6 MB */
    CHECK_INT(0, fflush(file));
    CHECK_CLOSE(49999.5, time_at_the_end(cache), 1.5, 0);
    CHECK_INT(0, fclose(file));
    log_steps(160000, 160001, wave, false);
    file = fopen(in_root("system.jsonl"), "a");
    CHECK(file != NULL);
    add_seconds(file, 150001, 160010);
    CHECK_INT(0, fclose(file));
    CHECK_CLOSE(80000.5, time_at_the_end(cache), 0, 0);
    CHECK_INT(0, truncate(in_root("system.jsonl"), INT64_C(1) << 40));
    begun = rgm_now();
    for (int i = 0; i < 5; i++)
        CHECK_CLOSE(80000.5, time_at_the_end(cache), 0, 0);
    CHECK(rgm_now() - begun < 30); /* bytes one by one would take hours */
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

/* A zoom asks for some steps alone, and a table for every point, piece by piece. */
static void a_part_and_the_whole_can_be_had(void **state)
{
    rgmi_curve_cache *cache = open_cache(1 << 22);
    const rgm_json *c;
    int64_t have = 0;
    answer a;

    (void)state;
    root = check_folder();
    log_steps(1, 5000, wave, true);
    ask(&a, cache, &(rgmi_curves_query){.points = 100, .after = 999, .until = 1080});
    c = curve_of(&a, "train.loss");
    CHECK_INT(72, rgm_json_count(rgm_json_find(c, "steps")));
    CHECK_INT(72, whole(c, "within"));
    CHECK_INT(4500, whole(c, "total"));
    CHECK(number_at(rgm_json_find(c, "steps"), 0) == 1001);
    CHECK(number_at(rgm_json_find(c, "steps"), 71) == 1079);
    rgm_json_release(a.json);
    while (have < 4500) {
        ask(&a, cache,
            &(rgmi_curves_query){.points = 1000, .after = -1, .skip = have, .whole = true});
        c = curve_of(&a, "train.loss");
        CHECK_INT(4500, whole(c, "within"));
        CHECK_INT(have < 4000 ? 1000 : 500, rgm_json_count(rgm_json_find(c, "steps")));
        for (int64_t i = 0; i < rgm_json_count(rgm_json_find(c, "steps")); i++, have++) {
            CHECK(number_at(rgm_json_find(c, "steps"), i) == (double)(have + have / 9 + 1));
            CHECK(number_at(rgm_json_find(c, "values"), i) == wave(have + have / 9 + 1));
        }
        rgm_json_release(a.json);
    }
    ask(&a, cache, &(rgmi_curves_query){.points = 10, .after = -1, .skip = 9999, .whole = true});
    CHECK_INT(0, rgm_json_count(rgm_json_find(curve_of(&a, "train.loss"), "steps")));
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

/* What was read so far is told, and the next call goes on. A cache that is stopped reads nothing.
 */
static void a_long_log_is_read_in_parts(void **state)
{
    rgmi_curve_cache *cache = open_cache(1 << 10); /* the one that is read stays all the same */
    const rgmi_curves_query query = {.points = 10, .after = -1, .seconds = 1e-9};
    int64_t before = 0, bytes, lines;
    answer a = {.more = true};

    (void)state;
    root = check_folder();
    log_steps(1, 20000, wave, true);
    for (int i = 0; a.more; i++) {
        ask(&a, cache, &query);
        CHECK(whole(curve_of(&a, "train.loss"), "total") > before || !a.more);
        before = whole(curve_of(&a, "train.loss"), "total");
        CHECK(i < 100);
        rgm_json_release(a.json);
    }
    CHECK_INT(18000, before);
    rgmi_curve_cache_count(&bytes, &lines, cache);
    CHECK_INT(20000, lines); /* none twice */
    log_steps(1, 20000, flat, true);
    rgmi_curve_cache_stop(cache);
    ask(&a, cache, &(rgmi_curves_query){.points = 10, .after = -1});
    CHECK(a.more && whole(curve_of(&a, "train.loss"), "total") < 2000);
    rgm_json_release(a.json);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

static void memory_has_a_bound(void **state)
{
    rgmi_curve_cache *cache = open_cache(100000);
    const rgmi_curves_query query = {.points = 10, .after = -1, .until = INT64_MAX};
    int64_t bytes, lines;

    (void)state;
    root = check_folder();
    log_steps(1, 1000, wave, true);
    for (uint64_t id = 1; id <= 20; id++) {
        rgmi_curves_told told;

        CHECK_OK(rgmi_curves_print(&told, cache, id, root, &query, NULL, 0));
        CHECK(told.damage == NULL);
        rgmi_curves_told_clear(&told);
        rgmi_curve_cache_count(&bytes, &lines, cache);
        CHECK(bytes <= 100000 && bytes > 30000);
    }
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

/* No time at all for each answer, and room for one run's curves alone: each answer gets further. */
static void bands_come_to_an_end_however_small_the_cache_is(void **state)
{
    enum { RUNS = 3, LINES = 5000 };
    rgmi_curve_cache *cache = open_cache(1);
    rgmi_run_row drafts[RUNS], *rows[RUNS];
    rgmi_expression *loss;
    rgmi_band_cache *bands;
    rgm_json *json = NULL;
    bool more = true;
    int asked = 0;

    (void)state;
    root = check_folder();
    log_steps(1, LINES, wave, true);
    for (int i = 0; i < RUNS; i++) {
        drafts[i] = rgmi_run_row_empty(RGMI_RUN, (uint64_t)i + 1);
        drafts[i].text[RGMI_TEXT_PATH] = root;
        drafts[i].step = LINES;
        rows[i] = &drafts[i];
    }
    CHECK_OK(rgmi_band_cache_create(&bands));
    CHECK_OK(rgmi_expression_read(&loss, "valid.loss"));
    for (; more && asked < 200; asked++) {
        rgmi_bands_query query = {
            .expressions = &loss, .count = 1, .points = 10, .after = -1, .until = LINES};
        rgm_text text = {0};

        rgm_json_release(json);
        CHECK_OK(rgm_text_printf(&text, "{"));
        CHECK_OK(rgmi_bands_print(&text, bands, cache, rows, RUNS, &query));
        CHECK_OK(rgm_text_printf(&text, "}"));
        CHECK_OK(rgm_json_parse(&json, text.data, text.size, "bands"));
        CHECK(rgm_json_bool(&more, rgm_json_find(json, "more")));
        rgm_text_clear(&text);
    }
    CHECK(!more);
    CHECK(asked > RUNS * LINES / 1024);
    CHECK_INT(RUNS, whole(json, "read"));
    rgm_json_release(json);
    rgmi_expression_release(loss);
    rgmi_band_cache_release(bands);
    rgmi_curve_cache_release(cache);
    CHECK_OK(rgm_folder_remove(root));
}

static rgm_status print_all(void)
{
    const rgmi_curves_query query = {.points = 20, .after = -1};
    rgmi_curve_cache *cache = NULL;
    rgmi_curves_told told = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_curve_cache_create(&cache, 1 << 20));
    RGM_GO(print(&told, cache, &query));
done:
    rgmi_curves_told_clear(&told);
    rgmi_curve_cache_release(cache);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    root = check_folder();
    log_steps(1, 40, wave, true);
    CHECK_EVERY_OOM(print_all(), (void)0);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(the_better_end_goes_by_the_name),
      cmocka_unit_test(every_point_of_a_short_curve_is_told),
      cmocka_unit_test(thinning_keeps_the_ends_of_every_piece),
      cmocka_unit_test(a_run_that_grows_is_read_from_where_it_was),
      cmocka_unit_test(damage_ends_what_is_known_and_is_told),
      cmocka_unit_test(times_come_from_the_figures_of_the_process),
      cmocka_unit_test(times_cost_little_however_long_the_file_is),
      cmocka_unit_test(a_part_and_the_whole_can_be_had),
      cmocka_unit_test(a_long_log_is_read_in_parts), cmocka_unit_test(memory_has_a_bound),
      cmocka_unit_test(bands_come_to_an_end_however_small_the_cache_is),
      cmocka_unit_test(every_failing_allocation_is_survived))
