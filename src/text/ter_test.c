/* TER: edits that can be seen by hand, the quirks of the search that define the score, its limits.
 */
#include <check.h>
#include <regimen/text.h>

static rgm_str text(const char *line)
{
    return (rgm_str){line, (int64_t)strlen(line)};
}

static rgm_ter_stats stats_of(const rgm_ter_options *options, const char *hypothesis,
                              const char *first, const char *second)
{
    rgm_str references[2] = {text(first), text(second != NULL ? second : "")};
    rgm_ter_stats stats = {0};
    rgm_ter *ter;

    CHECK_OK(rgm_ter_create(&ter, options));
    CHECK_OK(rgm_ter_add(&stats, ter, text(hypothesis), references, second != NULL ? 2 : 1));
    rgm_ter_release(ter);
    return stats;
}

static int64_t edits(const char *hypothesis, const char *reference)
{
    return stats_of(NULL, hypothesis, reference, NULL).edits;
}

static void counts_insertions_deletions_and_replacements(void **state)
{
    (void)state;
    CHECK_INT(0, edits("a b c", "a b c"));
    CHECK_INT(1, edits("a c", "a b c"));
    CHECK_INT(1, edits("a b c d", "a b c"));
    CHECK_INT(1, edits("a x c", "a b c"));
    CHECK_INT(3, edits("x y z", "a b c"));
    CHECK_INT(1, edits("Hello world", "hello world."));
}

static void a_shift_of_any_length_is_one_edit(void **state)
{
    (void)state;
    CHECK_INT(1, edits("d e f a b c", "a b c d e f"));
    CHECK_INT(1, edits("a c d e f g b", "a b c d e f g"));
    CHECK_INT(1, edits("1 2 3 4 5 6 7 8 9 10 a b c d e f g h i j",
                       "a b c d e f g h i j 1 2 3 4 5 6 7 8 9 10"));
    /* No more than ten words at once: eleven need two shifts. */
    CHECK_INT(2, edits("1 2 3 4 5 6 7 8 9 10 11 a b c d e f g h i j k",
                       "a b c d e f g h i j k 1 2 3 4 5 6 7 8 9 10 11"));
    CHECK_INT(2, edits("c x b a", "a x b c"));
}

static void is_edits_by_mean_length(void **state)
{
    rgm_ter_stats s = stats_of(NULL, "a b", "a b c", "x y z w");
    char *signature;

    (void)state;
    CHECK_INT(1, s.edits);
    CHECK_CLOSE(s.reference_length, 3.5, 0, 0);
    CHECK_CLOSE(rgm_ter_result(&s), 100 / 3.5, 1e-15, 0);
    rgm_ter_merge(&s, &(rgm_ter_stats){.edits = 3, .reference_length = 0.5, .counts = {1, 1, 1}});
    CHECK_CLOSE(rgm_ter_result(&s), 100, 1e-15, 0);
    CHECK_OK(rgm_ter_signature(&signature, &s, NULL));
    CHECK_TEXT("nrefs:var|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:regimen-0.1",
               signature);
    rgm_free(signature);
}

static void empty_lines_are_defined(void **state)
{
    rgm_ter_stats s = stats_of(NULL, "", "a b", NULL);

    (void)state;
    CHECK_CLOSE(rgm_ter_result(&s), 100, 0, 0);
    s = stats_of(NULL, "a b c", "", NULL);
    CHECK_INT(3, s.edits);
    CHECK_CLOSE(rgm_ter_result(&s), 100, 0, 0);
    s = stats_of(NULL, "", " ", NULL);
    CHECK_CLOSE(rgm_ter_result(&s), 0, 0, 0);
}

static void case_counts_only_when_told(void **state)
{
    rgm_ter_options sensitive = {.case_sensitive = true};

    (void)state;
    CHECK_INT(0, edits("A \xc3\x84", "a \xc3\xa4"));
    CHECK_INT(2, stats_of(&sensitive, "A \xc3\x84", "a \xc3\xa4", NULL).edits);
}

static void refuses_what_is_not_utf8(void **state)
{
    rgm_ter_stats stats = {0};
    rgm_str good = text("a"), bad = text("a\xf5");
    rgm_ter *ter;

    (void)state;
    CHECK_OK(rgm_ter_create(&ter, NULL));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_ter_add(&stats, ter, good, &bad, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_ter_add(&stats, ter, good, &good, 0));
    CHECK_INT(0, stats.counts.sentences);
    rgm_ter_release(ter);
}

static rgm_status whole_life(void)
{
    rgm_ter_stats stats = {0};
    rgm_str reference = text("a b c");
    rgm_ter *ter;
    rgm_status status;

    RGM_TRY(rgm_ter_create(&ter, NULL));
    status = rgm_ter_add(&stats, ter, text("c a b \xc3\x84"), &reference, 1);
    rgm_ter_release(ter);
    return status;
}

static void gives_memory_back_when_there_is_none(void **state)
{
    (void)state;
    CHECK_EVERY_OOM(whole_life(), (void)0);
}

/* 100,000 words, half of them swapped: within the limits of the search, in linear memory. */
static void long_lines_take_linear_memory(void **state)
{
    const int64_t words = 100000;
    char *lines[2];
    rgm_str hypothesis, reference;
    rgm_ter_stats stats = {0};
    rgm_ter *ter;

    (void)state;
    for (int k = 0; k < 2; k++) {
        lines[k] = malloc((size_t)words * 8 + 1);
        for (int64_t i = 0; i < words; i++)
            snprintf(lines[k] + 8 * i, 9, "%07lld ", (long long)(k == 0 ? i : i ^ (i % 4 < 2)));
    }
    hypothesis = (rgm_str){lines[0], words * 8};
    reference = (rgm_str){lines[1], words * 8};
    CHECK_OK(rgm_ter_create(&ter, NULL));
    rgm_memory_reset_peak();
    CHECK_OK(rgm_ter_add(&stats, ter, hypothesis, &reference, 1));
    CHECK_INT(words / 2,
              stats.edits); /* the limit on candidates is reached before any shift is made */
    CHECK(rgm_memory_peak() < 1000 * words); /* the whole matrix is 400,000 * words */
    rgm_ter_release(ter);
    free(lines[0]);
    free(lines[1]);
}

TESTS(cmocka_unit_test(counts_insertions_deletions_and_replacements),
      cmocka_unit_test(a_shift_of_any_length_is_one_edit),
      cmocka_unit_test(is_edits_by_mean_length), cmocka_unit_test(empty_lines_are_defined),
      cmocka_unit_test(case_counts_only_when_told), cmocka_unit_test(refuses_what_is_not_utf8),
      cmocka_unit_test(gives_memory_back_when_there_is_none),
      cmocka_unit_test(long_lines_take_linear_memory))
