/* BLEU on sentences whose n-grams can be counted by hand. sacrebleu itself is asked by
 * tests/oracle. */
#include <check.h>
#include <regimen/text.h>

static rgm_str text(const char *line)
{
    return (rgm_str){line, (int64_t)strlen(line)};
}

static rgm_bleu_stats stats_of(const rgm_bleu_options *options, const char *hypothesis,
                               const char *first, const char *second)
{
    rgm_str references[2] = {text(first), text(second != NULL ? second : "")};
    rgm_bleu_stats stats = {0};
    rgm_bleu *bleu;

    CHECK_OK(rgm_bleu_create(&bleu, options));
    CHECK_OK(rgm_bleu_add(&stats, bleu, text(hypothesis), references, second != NULL ? 2 : 1));
    rgm_bleu_release(bleu);
    return stats;
}

static void check_counts(const int64_t *want, const int64_t *got)
{
    for (int n = 0; n < RGM_BLEU_ORDER; n++)
        CHECK_INT(want[n], got[n]);
}

static void counts_ngrams_that_a_reference_has(void **state)
{
    rgm_bleu_stats s = stats_of(NULL, "the cat the cat on mat", "the cat is on the mat", NULL);

    (void)state;
    /* the x2 of 2, cat x1 of 2, on, mat; "the cat" once */
    check_counts((int64_t[]){5, 1, 0, 0}, s.matches);
    check_counts((int64_t[]){6, 5, 4, 3}, s.totals);
    CHECK_INT(6, s.hypothesis_length);
    CHECK_INT(6, s.reference_length);
}

static void clips_by_the_reference_that_has_most(void **state)
{
    rgm_bleu_stats s = stats_of(NULL, "a a a a b", "a a c d e f g", "a b b");

    (void)state;
    check_counts((int64_t[]){3, 2, 0, 0}, s.matches); /* "a a" of the first, "a b" of the second */
    CHECK_INT(3, s.reference_length);                 /* 7 and 3 are as near to 5: the shorter   */
    s = stats_of(NULL, "a b c", "a a a a a", "b");
    CHECK_INT(1, s.reference_length);
    s = stats_of(NULL, "a b c", "", "a b c d");
    CHECK_INT(4, s.reference_length);
}

static void is_the_geometric_mean_times_the_penalty(void **state)
{
    rgm_bleu_options none = {.smoothing = RGM_SMOOTH_NONE};
    rgm_bleu_stats s = stats_of(NULL, "a b c d e", "a b c d f g", NULL);
    rgm_bleu_score score = rgm_bleu_result(&s, NULL);

    (void)state;
    CHECK_CLOSE(score.precisions[0], 80, 0, 1e-12);
    CHECK_CLOSE(score.precisions[1], 75, 0, 1e-12);
    CHECK_CLOSE(score.precisions[2], 200 / 3.0, 0, 1e-12);
    CHECK_CLOSE(score.precisions[3], 50, 0, 1e-12);
    CHECK_CLOSE(score.brevity_penalty, exp(-0.2), 1e-15, 0);
    CHECK_CLOSE(score.ratio, 5 / 6.0, 1e-15, 0);
    CHECK_CLOSE(score.score, 100 * exp(-0.2) * pow(0.8 * 0.75 * 2 / 3 * 0.5, 0.25), 1e-14, 0);
    CHECK_CLOSE(rgm_bleu_result(&s, &none).score, score.score, 0, 0);
}

static void smooths_precisions_without_a_match(void **state)
{
    rgm_bleu_options o = RGM_BLEU_OPTIONS_INIT;
    rgm_bleu_stats s = stats_of(NULL, "a b x c d", "a b y c d", NULL); /* 4/5 2/4 0/3 0/2 */

    (void)state;
    CHECK_CLOSE(rgm_bleu_result(&s, &o).score, 100 * pow(0.8 * 0.5 / 6 / 8, 0.25), 1e-14, 0);
    o.smoothing = RGM_SMOOTH_FLOOR;
    CHECK_CLOSE(rgm_bleu_result(&s, &o).score, 100 * pow(0.8 * 0.5 * 0.1 / 3 * 0.1 / 2, 0.25),
                1e-14, 0);
    o.smooth_value = 0.5;
    CHECK_CLOSE(rgm_bleu_result(&s, &o).score, 100 * pow(0.8 * 0.5 * 0.5 / 3 * 0.5 / 2, 0.25),
                1e-14, 0);
    o.smoothing = RGM_SMOOTH_ADD_K;
    o.smooth_value = 0;
    CHECK_CLOSE(rgm_bleu_result(&s, &o).score, 100 * pow(0.8 * 0.6 * 0.25 / 3, 0.25), 1e-14, 0);
    o.smoothing = RGM_SMOOTH_NONE;
    CHECK_CLOSE(rgm_bleu_result(&s, &o).score, 0, 0, 0);
}

static void leaves_out_orders_only_when_told(void **state)
{
    rgm_bleu_options effective = {.effective_order = true};
    rgm_bleu_stats s = stats_of(NULL, "a b", "a b", NULL);

    (void)state;
    CHECK_CLOSE(rgm_bleu_result(&s, NULL).score, 0, 0, 0);
    CHECK_CLOSE(rgm_bleu_result(&s, &effective).score, 100, 1e-14, 0);
}

static void empty_lines_score_zero(void **state)
{
    rgm_bleu_stats s = stats_of(NULL, "", "a b", NULL), e = stats_of(NULL, "", "", NULL);

    (void)state;
    CHECK_CLOSE(rgm_bleu_result(&s, NULL).score, 0, 0, 0);
    CHECK_CLOSE(rgm_bleu_result(&s, NULL).brevity_penalty, 0, 0, 0);
    CHECK_CLOSE(rgm_bleu_result(&e, NULL).score, 0, 0, 0);
    CHECK_CLOSE(rgm_bleu_result(&e, NULL).brevity_penalty, 1, 0, 0);
    CHECK_CLOSE(rgm_bleu_result(&e, NULL).ratio, 0, 0, 0);
    s = stats_of(NULL, "a b", "", NULL);
    CHECK_CLOSE(rgm_bleu_result(&s, NULL).score, 0, 0, 0);
}

static void lowers_case_as_unicode_does(void **state)
{
    rgm_bleu_options lower = {.lowercase = true};
    /* ODOS in Greek capitals, I with a dot above */
    rgm_bleu_stats s = stats_of(&lower, "The \xce\x9f\xce\x94\xce\x9f\xce\xa3 \xc4\xb0",
                                "THE \xce\xbf\xce\xb4\xce\xbf\xcf\x82 i\xcc\x87", NULL);

    (void)state;
    check_counts((int64_t[]){3, 2, 1, 0}, s.matches);
}

static void merging_is_adding(void **state)
{
    rgm_bleu_stats a = stats_of(NULL, "a b c d e", "a b c d e", NULL);
    rgm_bleu_stats b = stats_of(NULL, "x y", "a", "x y z"), none = {0};
    char *signature;

    (void)state;
    rgm_bleu_merge(&none, &a);
    rgm_bleu_merge(&a, &b);
    check_counts((int64_t[]){7, 5, 3, 2}, a.matches);
    CHECK_INT(7, a.hypothesis_length);
    CHECK_INT(2, a.counts.sentences);
    CHECK_OK(rgm_bleu_signature(&signature, &none, NULL));
    CHECK_TEXT("nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:regimen-0.1", signature);
    rgm_free(signature);
    CHECK_OK(rgm_bleu_signature(&signature, &a,
                                &(rgm_bleu_options){.tokenizer = RGM_MT_TOKENIZER_CHAR,
                                                    .lowercase = true,
                                                    .smoothing = RGM_SMOOTH_FLOOR,
                                                    .effective_order = true}));
    CHECK_TEXT("nrefs:var|case:lc|eff:yes|tok:char|smooth:floor[0.10]|version:regimen-0.1",
               signature);
    rgm_free(signature);
}

static void refuses_bad_input_and_keeps_the_statistics(void **state)
{
    rgm_str references[2] = {text("a"), text("ab\xc0")};
    rgm_bleu_stats stats = {0}, before = {0};
    rgm_bleu *bleu;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_bleu_create(&bleu, &(rgm_bleu_options){.smooth_value = -1}));
    CHECK(bleu == NULL);
    CHECK_OK(rgm_bleu_create(&bleu, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_bleu_add(&stats, bleu, text("a"), NULL, 0));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_bleu_add(&stats, bleu, text("a"), references, 2));
    CHECK_MESSAGE("reference 2: byte 3 (0xc0) is not UTF-8");
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_bleu_add(&stats, bleu, text("\x80"), references, 1));
    CHECK_MESSAGE("hypothesis: byte 1 (0x80)");
    CHECK(memcmp(&stats, &before, sizeof stats) == 0);
    rgm_bleu_release(bleu);
    rgm_bleu_release(NULL);
}

static rgm_status whole_life(void)
{
    rgm_str references[2] = {text("a b c"), text("A \xc3\x84 b")};
    rgm_bleu_options options = {.lowercase = true};
    rgm_bleu_stats stats = {0};
    rgm_bleu *bleu;
    rgm_status status;

    RGM_TRY(rgm_bleu_create(&bleu, &options));
    status = rgm_bleu_add(&stats, bleu, text("a, B c."), references, 2);
    rgm_bleu_release(bleu);
    return status;
}

static void gives_memory_back_when_there_is_none(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(whole_life(), (void)0);
}

static void a_line_of_a_megabyte_is_a_line(void **state)
{
    const int64_t size = 1 << 20;
    char *line = malloc((size_t)size);
    rgm_bleu_stats stats = {0};
    rgm_str long_line = {line, size};
    rgm_bleu *bleu;
    double start = rgm_now();

    (void)state;
    for (int64_t i = 0; i < size; i++)
        line[i] = (char)(i % 2 ? ' ' : 'a' + i / 2 % 23);
    CHECK_OK(rgm_bleu_create(&bleu, NULL));
    CHECK_OK(rgm_bleu_add(&stats, bleu, long_line, &long_line, 1));
    CHECK_INT(size / 2, stats.matches[0]);
    CHECK_INT(size / 2 - 3, stats.matches[3]);
    CHECK(rgm_now() - start < 20); /* it takes 50 ms; what is quadratic takes hours */
    rgm_bleu_release(bleu);
    free(line);
}

TESTS(cmocka_unit_test(counts_ngrams_that_a_reference_has),
      cmocka_unit_test(clips_by_the_reference_that_has_most),
      cmocka_unit_test(is_the_geometric_mean_times_the_penalty),
      cmocka_unit_test(smooths_precisions_without_a_match),
      cmocka_unit_test(leaves_out_orders_only_when_told), cmocka_unit_test(empty_lines_score_zero),
      cmocka_unit_test(lowers_case_as_unicode_does), cmocka_unit_test(merging_is_adding),
      cmocka_unit_test(refuses_bad_input_and_keeps_the_statistics),
      cmocka_unit_test(gives_memory_back_when_there_is_none),
      cmocka_unit_test(a_line_of_a_megabyte_is_a_line))
