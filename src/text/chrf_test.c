/* chrF on lines small enough for counts by hand, and its limits. */
#include <check.h>
#include <regimen/text.h>

static rgm_str text(const char *line)
{
    return (rgm_str){line, (int64_t)strlen(line)};
}

static rgm_chrf_stats stats_of(const rgm_chrf_options *options, const char *hypothesis,
                               const char *first, const char *second)
{
    rgm_str references[2] = {text(first), text(second != NULL ? second : "")};
    rgm_chrf_stats stats = {0};
    rgm_chrf *chrf;

    CHECK_OK(rgm_chrf_create(&chrf, options));
    CHECK_OK(rgm_chrf_add(&stats, chrf, text(hypothesis), references, second != NULL ? 2 : 1));
    rgm_chrf_release(chrf);
    return stats;
}

static void counts_characters_without_white_space(void **state)
{
    rgm_chrf_stats s = stats_of(NULL, "ab \xc3\xa9", "a b\xc3\xa9 x", NULL);

    (void)state;
    CHECK_INT(3, s.hypotheses[0]);
    CHECK_INT(4, s.references[0]);
    CHECK_INT(3, s.matches[0]);
    CHECK_INT(2, s.matches[1]);
    CHECK_INT(1, s.matches[2]);
    CHECK_INT(0, s.hypotheses[3]);
    CHECK_INT(1, s.references[3]);
}

static void is_the_f_score_of_mean_precision_and_recall(void **state)
{
    rgm_chrf_stats s = stats_of(NULL, "abc", "abcx", NULL); /* orders 1 to 3 count */
    double recall = (3 / 4.0 + 2 / 3.0 + 1 / 2.0) / 3;

    (void)state;
    CHECK_CLOSE(rgm_chrf_result(&s, NULL), 100 * 5 * recall / (4 + recall), 1e-14, 0);
    CHECK_CLOSE(rgm_chrf_result(&s, &(rgm_chrf_options){6, 0, 1, false}),
                100 * 2 * recall / (1 + recall), 1e-14, 0);
}

static void cuts_marks_off_words(void **state)
{
    rgm_chrf_options words = {.char_order = 1, .word_order = 2, .beta = 2};
    rgm_chrf_stats s = stats_of(&words, "(hi) \"yes. , \xc2\xab", "( \"yes . , \xc2\xab", NULL);

    (void)state;
    /* "(hi" ")" "\"yes" "." "," and the quote, which is not ASCII, against five words */
    CHECK_INT(6, s.hypotheses[1]);
    CHECK_INT(6, s.references[1]); /* "\"yes" is cut at its other end: "\"" "yes" */
    CHECK_INT(3, s.matches[1]);
    CHECK_INT(2, s.matches[2]);
}

static void takes_the_best_reference(void **state)
{
    rgm_chrf_stats s = stats_of(NULL, "abc", "xyz", "abd");

    (void)state;
    CHECK_INT(2, s.matches[0]);
    CHECK_INT(2, s.counts.most_references);
    s = stats_of(NULL, "aab", "aa", "ab"); /* each by itself: "ab" has no second a */
    CHECK_INT(2, s.matches[0]);
}

static void empty_lines_score_zero(void **state)
{
    rgm_chrf_stats s = stats_of(NULL, "", "abc", NULL);

    (void)state;
    CHECK_CLOSE(rgm_chrf_result(&s, NULL), 0, 0, 0);
    s = stats_of(NULL, "abc", " ", NULL);
    CHECK_CLOSE(rgm_chrf_result(&s, NULL), 0, 0, 0);
    CHECK_INT(0, s.hypotheses[0]); /* nothing to compare with: not held against it */
    s = stats_of(NULL, "", "", NULL);
    CHECK_CLOSE(rgm_chrf_result(&s, NULL), 0, 0, 0);
}

static void merging_is_adding(void **state)
{
    rgm_chrf_stats a = stats_of(NULL, "ABC", "abc", NULL), b = stats_of(NULL, "abc", "abc", NULL);
    rgm_chrf_options options = {.char_order = 6, .word_order = 2, .beta = 2, .lowercase = true};
    char *signature;

    (void)state;
    rgm_chrf_merge(&a, &b);
    CHECK_INT(6, a.hypotheses[0]);
    CHECK_INT(3, a.matches[0]);
    CHECK_OK(rgm_chrf_signature(&signature, &a, &options));
    CHECK_TEXT("nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:no|version:regimen-0.1", signature);
    rgm_free(signature);
}

static void refuses_bad_options_and_input(void **state)
{
    rgm_chrf_stats stats = {0};
    rgm_str bad = text("\xed\xa0\x80");
    rgm_chrf *chrf;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_chrf_create(&chrf, &(rgm_chrf_options){0, 0, 2, false}));
    CHECK_STATUS(RGM_ERR_ARG, rgm_chrf_create(&chrf, &(rgm_chrf_options){6, 11, 2, false}));
    CHECK_STATUS(RGM_ERR_ARG, rgm_chrf_create(&chrf, &(rgm_chrf_options){6, INT32_MAX, 2, false}));
    CHECK_STATUS(RGM_ERR_ARG, rgm_chrf_create(&chrf, &(rgm_chrf_options){6, 0, NAN, false}));
    CHECK(chrf == NULL);
    CHECK_OK(rgm_chrf_create(&chrf, NULL));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_chrf_add(&stats, chrf, bad, &bad, 1));
    CHECK_INT(0, stats.counts.sentences);
    rgm_chrf_release(chrf);
}

static rgm_status whole_life(void)
{
    rgm_chrf_options options = {.char_order = 6, .word_order = 2, .beta = 2};
    rgm_str references[2] = {text("a b c"), text("(a) b. c")};
    rgm_chrf_stats stats = {0};
    rgm_chrf *chrf;
    rgm_status status;

    RGM_TRY(rgm_chrf_create(&chrf, &options));
    status = rgm_chrf_add(&stats, chrf, text("a b, c"), references, 2);
    rgm_chrf_release(chrf);
    return status;
}

static void gives_memory_back_when_there_is_none(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(whole_life(), (void)0);
}

TESTS(cmocka_unit_test(counts_characters_without_white_space),
      cmocka_unit_test(is_the_f_score_of_mean_precision_and_recall),
      cmocka_unit_test(cuts_marks_off_words), cmocka_unit_test(takes_the_best_reference),
      cmocka_unit_test(empty_lines_score_zero), cmocka_unit_test(merging_is_adding),
      cmocka_unit_test(refuses_bad_options_and_input),
      cmocka_unit_test(gives_memory_back_when_there_is_none))
