/* tables.jsonl: confusion matrices with what they come to, samples with their scores; and
 * score_curves.jsonl. */
#include "tab_check.h"

static rgm_json *confusion(const char *folder, const char *split, int64_t step)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_confusion(&out, folder, NULL, split, NULL, step));
    return parsed(&out);
}

static rgm_json *samples(const char *folder)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_samples(&out, folder, NULL));
    return parsed(&out);
}

#define TABLE(split, step, rest)                                                                   \
    "{\"step\":" #step ",\"split\":\"" split                                                       \
    "\",\"kind\":\"confusion\",\"label\":\"logits\"," rest "}\n"
#define THREE "\"classes\":[\"a\",\"<b>\",\"c\"],\"counts\":[[8,2,0],[1,5,0],[0,4,0]]"

static void a_matrix_is_told_with_its_classes_scores(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = confusion(folder, NULL, -1);
    const rgm_json *row;
    int64_t count;

    (void)state;
    CHECK_INT(0, count_of(answer, "splits"));
    CHECK_INT(0, count_of(answer, "counts"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "tables.jsonl",
         TABLE("test", 300, "\"classes\":null,\"counts\":[[1,0],[0,1]]")
             TABLE("valid", 100, "\"classes\":null,\"counts\":[[1]]") TABLE("valid", 200, THREE));
    answer = confusion(folder, NULL, -1);
    CHECK_INT(2, count_of(answer, "splits"));
    CHECK_TEXT("valid", text_of(answer, "split"));
    CHECK_TEXT("logits", text_of(answer, "label"));
    CHECK_INT(2, count_of(answer, "steps"));
    CHECK_INT(200, int_of(answer, "step"));
    CHECK_TEXT("<b>", rgm_json_text(item_of(answer, "classes", 1)));
    CHECK(rgm_json_int(&count, rgm_json_at(item_of(answer, "counts", 2), 1)));
    CHECK_INT(4, count);
    row = item_of(answer, "per_class", 1); /* 5 right of 11 predicted, of 6 there are */
    CHECK_TEXT("<b>", text_of(row, "class"));
    CHECK_CLOSE(5.0 / 11, number_of_key(row, "precision"), 1e-12, 0);
    CHECK_CLOSE(5.0 / 6, number_of_key(row, "recall"), 1e-12, 0);
    CHECK_CLOSE(10.0 / 17, number_of_key(row, "f1"), 1e-12, 0);
    CHECK_INT(6, int_of(row, "support"));
    row = item_of(answer, "per_class", 2); /* never predicted */
    CHECK(isnan(number_of_key(row, "precision")));
    CHECK_CLOSE(0, number_of_key(row, "recall"), 0, 0);
    CHECK_CLOSE(0, number_of_key(row, "f1"), 0, 0);
    rgm_json_release(answer);
    answer = confusion(folder, "test", -1);
    CHECK_INT(300, int_of(answer, "step"));
    CHECK_TEXT("1", rgm_json_text(item_of(answer, "classes", 1)));
    rgm_json_release(answer);
    answer = confusion(folder, "valid", 100);
    CHECK_INT(1, count_of(answer, "counts"));
    rgm_json_release(answer);
    answer = confusion(folder, "valid", 150); /* there is none */
    CHECK_INT(2, count_of(answer, "steps"));
    CHECK_INT(0, count_of(answer, "counts"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

#define SMALL(n) "\"classes\":null,\"counts\":[[" #n "]]"

/* A run that was killed at 400 and went on from 200, whose file was not cut. */
static void lost_work_is_left_out(void **state)
{
    static const int64_t want[] = {100, 200, 250, 300};
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    keep(folder, "tables.jsonl",
         TABLE("valid", 100, SMALL(1)) TABLE("valid", 200, SMALL(1)) TABLE("test", 200, SMALL(1))
             TABLE("valid", 300, SMALL(1)) TABLE("valid", 400, SMALL(1))
                 TABLE("valid", 250, SMALL(7)) TABLE("valid", 300, SMALL(2)));
    answer = confusion(folder, "valid", 300);
    CHECK_INT(4, count_of(answer, "steps"));
    for (int64_t i = 0; i < 4; i++) {
        int64_t step = 0;

        CHECK(rgm_json_int(&step, item_of(answer, "steps", i)));
        CHECK_INT(want[i], step);
    }
    CHECK_INT(2, int_of(item_of(answer, "per_class", 0), "support")); /* the last of its step */
    rgm_json_release(answer);
    answer = confusion(folder, "test", -1); /* another split's are its own */
    CHECK_INT(200, int_of(answer, "step"));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void matrices_that_are_none_are_told(void **state)
{
    static const char *const rows[] = {"\"counts\":[[1,2],[3]]",
                                       "\"counts\":[[1,2],[3,4]],\"classes\":[\"a\"]",
                                       "\"counts\":[[-1]]",
                                       "\"counts\":[[\"nan\"]]",
                                       "\"counts\":[[\"<script>\"]]",
                                       "\"counts\":[]",
                                       "\"counts\":3",
                                       "\"classes\":null",
                                       "\"counts\":[[1e308]]"};
    const char *folder = check_folder();
    rgm_text line = {0};

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rgm_json *answer;

        line.size = 0;
        CHECK_OK(rgm_text_printf(
            &line, "{\"step\":1,\"split\":\"valid\",\"kind\":\"confusion\",%s}\n", rows[i]));
        keep(folder, "tables.jsonl", line.data);
        answer = confusion(folder, NULL, -1);
        CHECK_INT(1, count_of(answer, "steps"));
        CHECK(text_of(answer, "damage") != NULL);
        CHECK_INT(0, count_of(answer, "counts"));
        rgm_json_release(answer);
    }
    rgm_text_clear(&line);
    CHECK_OK(rgm_folder_remove(folder));
}

static void damaged_lines_are_told_and_others_shown(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;

    (void)state;
    keep(folder, "tables.jsonl",
         TABLE("valid", 1, SMALL(1)) "\xff\xfe\n{}\n" TABLE("valid", 2, SMALL(1)) "{\"step\":3");
    answer = confusion(folder, NULL, -1);
    CHECK_INT(2, int_of(answer, "step"));
    CHECK(strstr(text_of(answer, "damage"), "tables.jsonl, the line at byte") != NULL);
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

#define SAMPLES(split, step, list)                                                                 \
    "{\"step\":" #step ",\"split\":\"" split "\",\"kind\":\"samples\",\"samples\":[" list "]}\n"
#define ONE                                                                                        \
    "{\"source\":\"a\",\"translation\":\"<i>\",\"reference\":\"c\",\"scores\":{\"bleu\":41.5,"     \
    "\"chrf\":\"nan\"}}"

static void samples_are_told_with_their_scores(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer;
    const rgm_json *sample;

    (void)state;
    keep(folder, "tables.jsonl",
         SAMPLES("valid", 100, ONE "," ONE) TABLE("valid", 100, SMALL(1)) SAMPLES("valid", 300, ONE)
             SAMPLES("valid", 200, ONE) SAMPLES("valid2", 200, ONE ",{},7"));
    answer = samples(folder);
    CHECK_INT(3, int_of(answer, "total")); /* 300 was lost work */
    CHECK_INT(100, int_of(item_of(answer, "steps", 0), "step"));
    CHECK_INT(2, count_of(item_of(answer, "steps", 0), "samples"));
    CHECK_TEXT("valid2", text_of(item_of(answer, "steps", 2), "split"));
    CHECK_INT(3, count_of(item_of(answer, "steps", 2), "samples"));
    sample = item_of(item_of(answer, "steps", 1), "samples", 0);
    CHECK_TEXT("<i>", text_of(sample, "translation"));
    CHECK_CLOSE(41.5, number_of_key(rgm_json_find(sample, "scores"), "bleu"), 0, 0);
    CHECK(isnan(number_of_key(rgm_json_find(sample, "scores"), "chrf"))); /* null */
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status tell_confusion(rgm_text *out, const char *folder)
{
    return rgmi_tell_confusion(out, folder, NULL, NULL, NULL, -1);
}

static rgm_status tell_samples(rgm_text *out, const char *folder)
{
    return rgmi_tell_samples(out, folder, NULL);
}

static rgm_status tell_once(rgm_status (*told)(rgm_text *out, const char *folder),
                            const char *folder)
{
    rgm_text out = {0};
    rgm_status status = told(&out, folder);

    rgm_text_clear(&out);
    return status;
}

/* ---- curves ------------------------------------------------------------------------------- */

#define SCORES(split, rest)                                                                        \
    "{\"step\":7,\"split\":\"" split "\",\"kind\":\"score_curves\",\"label\":\"logits\"," rest "}" \
    "\n"
#define ONE_CURVE                                                                                  \
    "\"curves\":[{\"name\":\"<b>\",\"positives\":2,\"negatives\":3,\"roc_area\":0.75,"             \
    "\"average_precision\":null,\"points\":[[null,0,0,1],[0.5,\"x\",1,0.4]]}],"                    \
    "\"hits\":{\"links\":2,\"mean_reciprocal_rank\":0.5,\"points\":[[1,0.5],[2,1]]},"              \
    "\"left_out\":null"

static rgm_json *scores(const char *folder)
{
    rgm_text out = {0};

    CHECK_OK(rgmi_tell_scores(&out, folder));
    return parsed(&out);
}

static double at(const rgm_json *points, int64_t i, int64_t k)
{
    double number = NAN;

    (void)rgm_json_number(&number, rgm_json_at(rgm_json_at(points, i), k));
    return number;
}

static void curves_are_told_with_their_points(void **state)
{
    const char *folder = check_folder();
    rgm_json *answer = scores(folder);
    const rgm_json *output, *curve, *hits;

    (void)state;
    CHECK_INT(0, count_of(answer, "outputs"));
    CHECK(text_of(answer, "damage") == NULL);
    rgm_json_release(answer);
    keep(folder, "score_curves.jsonl",
         SCORES("valid", ONE_CURVE) "{\"step\":8}\nno line\n" SCORES(
             "test", "\"curves\":7,\"left_out\":\"too many\""));
    answer = scores(folder);
    CHECK_INT(2, count_of(answer, "outputs"));
    CHECK_TEXT("score_curves.jsonl: 2 lines are damaged and not shown", text_of(answer, "damage"));
    output = item_of(answer, "outputs", 0);
    CHECK_INT(7, int_of(output, "step"));
    CHECK_TEXT("valid", text_of(output, "split"));
    CHECK_TEXT("logits", text_of(output, "label"));
    curve = item_of(output, "curves", 0);
    CHECK_TEXT("<b>", text_of(curve, "name"));
    CHECK_CLOSE(0.75, number_of_key(curve, "roc_area"), 0, 0);
    CHECK(isnan(number_of_key(curve, "average_precision")));
    CHECK_INT(2, count_of(curve, "points"));
    CHECK(isnan(at(rgm_json_find(curve, "points"), 0, 0)));
    CHECK(isnan(at(rgm_json_find(curve, "points"), 1, 1)));
    CHECK_CLOSE(0.4, at(rgm_json_find(curve, "points"), 1, 3), 0, 0);
    hits = rgm_json_find(output, "hits");
    CHECK_CLOSE(2, number_of_key(hits, "links"), 0, 0);
    CHECK_CLOSE(1, at(rgm_json_find(hits, "points"), 1, 1), 0, 0);
    output = item_of(answer, "outputs", 1);
    CHECK_INT(0, count_of(output, "curves"));
    CHECK_TEXT("too many", text_of(output, "left_out"));
    CHECK(!rgm_json_is_object(rgm_json_find(output, "hits")));
    rgm_json_release(answer);
    CHECK_OK(rgm_folder_remove(folder));
}

static void hostile_folders_and_failing_allocations_are_told(void **state)
{
    const char *folder = check_folder();

    (void)state;
    check_hostile(folder, "tables.jsonl", tell_confusion);
    keep(folder, "tables.jsonl", TABLE("valid", 1, THREE) SAMPLES("valid", 1, ONE));
    CHECK_EVERY_OOM(tell_once(tell_confusion, folder), );
    CHECK_EVERY_OOM(tell_once(tell_samples, folder), );
    check_hostile(folder, "score_curves.jsonl", rgmi_tell_scores);
    keep(folder, "score_curves.jsonl", SCORES("valid", ONE_CURVE));
    CHECK_EVERY_OOM(tell_once(rgmi_tell_scores, folder), );
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_matrix_is_told_with_its_classes_scores),
      cmocka_unit_test(lost_work_is_left_out), cmocka_unit_test(matrices_that_are_none_are_told),
      cmocka_unit_test(damaged_lines_are_told_and_others_shown),
      cmocka_unit_test(samples_are_told_with_their_scores),
      cmocka_unit_test(curves_are_told_with_their_points),
      cmocka_unit_test(hostile_folders_and_failing_allocations_are_told))
