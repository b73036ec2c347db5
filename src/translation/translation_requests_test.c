/*
 * What is asked of translations, in text and as JSON; and scores of given pairs.
 */
#include "translation_check.h"
#include "translation_internal.h"

#include <math.h>

/* Its executors keep memory between runs. */
static void forget_search(trained *t)
{
    rgmi_translation_rest(t->task.state);
}

static rgm_status translate_one(rgm_line_translation *out, trained *t,
                                const rgm_translation_line *line)
{
    rgm_beam_search_options search = *rgm_translation_search(&t->task);
    rgm_status status;
    int64_t done;

    search.beam_size = 4;
    search.decode_max_length = 8;
    status =
        rgm_translation_lines(out, &done, &t->task, t->parameters, line, 1, &search, NULL, false);
    forget_search(t);
    return status;
}

static void a_translation_has_what_was_asked(void **state)
{
    static const char *const required[] = {"7 3", "5"}, *const banned[] = {"6", "2 2"};
    rgm_translation_options o = reversing();
    rgm_translation_line line = line_of("3 4 5 6");
    rgm_line_translation out;
    trained t;

    (void)state;
    trained_open(&t, &o);
    line.prefix = "8 8";
    CHECK_OK(translate_one(&out, &t, &line));
    CHECK(strncmp(out.text, "8 8", 3) == 0);
    rgm_line_translations_clear(&out, 1);
    line.prefix = NULL;
    line.required = (rgm_texts){.items = required, .count = 2};
    line.banned = (rgm_texts){.items = banned, .count = 2};
    CHECK_OK(translate_one(&out, &t, &line));
    CHECK(strstr(out.text, "7 3") != NULL && strstr(out.text, "5") != NULL);
    CHECK(strstr(out.text, "6") == NULL && strstr(out.text, "2 2") == NULL);
    CHECK_INT(0, out.missing);
    CHECK_INT(0, out.banned);
    rgm_line_translations_clear(&out, 1);
    line.prefix = "6"; /* a prefix is stronger, and is told */
    CHECK_OK(translate_one(&out, &t, &line));
    CHECK_INT(1, out.banned);
    rgm_line_translations_clear(&out, 1);
    CHECK_EVERY_OOM(translate_one(&out, &t, &line), rgm_line_translations_clear(&out, 1));
    trained_close(&t);
}

static void requests_that_cannot_be_are_told(void **state)
{
    static const char *const empty[] = {""}, *many[RGM_MOST_REQUIRED + 1];
    rgm_translation_options o = reversing();
    rgm_translation_line line = line_of("3 4");
    rgm_line_translation out;
    trained t;

    (void)state;
    for (int i = 0; i <= RGM_MOST_REQUIRED; i++)
        many[i] = "3";
    trained_open(&t, &o);
    line.banned = (rgm_texts){.items = empty, .count = 1};
    CHECK_STATUS(RGM_ERR_DATA, translate_one(&out, &t, &line));
    CHECK_MESSAGE("the banned text '' has no tokens");
    line.banned.count = 0;
    line.required = (rgm_texts){.items = many, .count = RGM_MOST_REQUIRED + 1};
    CHECK_STATUS(RGM_ERR_DATA, translate_one(&out, &t, &line));
    CHECK_MESSAGE("33 texts are required; at most 32 are possible");
    line = line_of("");
    line.prefix = "3";
    CHECK_STATUS(RGM_ERR_DATA, translate_one(&out, &t, &line));
    CHECK_MESSAGE("something is asked of a translation of nothing");
    trained_close(&t);
}

/* The last of three lines is the bad one, and the others are translated. */
static void check_the_third(trained *t, const rgm_translation_line *third,
                            const rgm_beam_search_options *search, const char *message)
{
    const rgm_translation_line lines[3] = {line_of("3 4"), line_of("5 6 7"), *third};
    rgm_line_translation made[3];
    int64_t done;

    CHECK_STATUS(RGM_ERR_DATA, rgm_translation_lines(made, &done, &t->task, t->parameters, lines, 3,
                                                     search, NULL, false));
    CHECK_MESSAGE(message);
    CHECK_INT(2, done);
    CHECK(made[0].text != NULL && made[1].text != NULL);
    rgm_line_translations_clear(made, done);
}

static void lines_before_one_that_cannot_be_are_translated(void **state)
{
    static const char *const required[] = {"2 2 2 2 2 2 2 2"};
    rgm_translation_options o = reversing();
    rgm_beam_search_options search;
    rgm_translation_line line = line_of("2");
    trained t;

    (void)state;
    trained_open(&t, &o);
    search = *rgm_translation_search(&t.task);
    search.decode_max_length = 8;
    line.prefix = required[0];
    check_the_third(&t, &line, &search,
                    "the prefix text has 8 tokens, but a translation of this "
                    "line has 7 at most");
    line.prefix = "1";
    check_the_third(&t, &line, &search, "the prefix text '1' has the end of a translation in it");
    line.prefix = NULL;
    line.required = (rgm_texts){.items = required, .count = 1};
    check_the_third(&t, &line, &search, "the required text has 8 tokens");
    search.beam_size = 1;
    check_the_third(&t, &line, &search, "required texts need task.search.beam_size of 2");
    trained_close(&t);
}

/* Of models that translate together, the one of the fewest positions counts. */
static void a_line_beyond_a_joined_model_is_told_by_its_number(void **state)
{
    const rgm_translation_line line = line_of("2 2 2 2 2 2 2 2");
    rgm_translation_options o = reversing();
    trained t, beside;

    (void)state;
    trained_open(&t, &o);
    trained_open_with(&beside, &o, 8);
    CHECK_OK(rgm_translation_join(&t.task, &beside.task, beside.parameters));
    check_the_third(&t, &line, rgm_translation_search(&t.task),
                    "8 tokens and an end, but of the models that translate together one has a "
                    "model.max_positions of 8");
    trained_close(&t);
    trained_close(&beside);
}

/* ---- the one that is most like the others ---- */

static rgm_status take_best(rgm_line_translation *out, int64_t *done, trained *t,
                            const rgm_translation_line *lines, int64_t count, int64_t first)
{
    rgm_beam_search_options search = *rgm_translation_search(&t->task);
    rgm_status status;

    search.decode_max_length = 6;
    search.first_number = first;
    status = rgm_translation_mbr(out, done, &t->task, t->parameters, lines, count, 9, &search, NULL,
                                 false);
    forget_search(t);
    return status;
}

/* The definition over the samples themselves, drawn one by one with the same numbers. */
static void check_most_alike(trained *t, const rgm_translation_line *line, int64_t number,
                             const rgm_line_translation *found)
{
    const rgm_chrf_options options = RGM_CHRF_OPTIONS_INIT;
    rgm_beam_search_options search = *rgm_translation_search(&t->task);
    rgm_line_translation drawn[9];
    double best = -1, of_found = -1;
    rgm_chrf *chrf;
    int64_t done;

    search.beam_size = search.n_best = 1;
    search.sample = true;
    search.decode_max_length = 6;
    for (int i = 0; i < 9; i++) {
        search.first_number = 9 * number + i;
        CHECK_OK(rgm_translation_lines(&drawn[i], &done, &t->task, t->parameters, line, 1, &search,
                                       NULL, false));
    }
    CHECK_OK(rgm_chrf_create(&chrf, &options));
    for (int i = 0; i < 9; i++) {
        double sum = 0;
        for (int k = 0; k < 9; k++) {
            rgm_chrf_stats stats = {0};
            rgm_str a = {.data = drawn[i].text, .size = (int64_t)strlen(drawn[i].text)};
            rgm_str b = {.data = drawn[k].text, .size = (int64_t)strlen(drawn[k].text)};
            CHECK_OK(rgm_chrf_add(&stats, chrf, a, &b, 1));
            sum += rgm_chrf_result(&stats, &options) / 9;
        }
        best = sum > best ? sum : best;
        if (strcmp(drawn[i].text, found->text) == 0)
            of_found = sum;
    }
    CHECK_CLOSE(of_found, best, 1e-9, 1e-9);
    CHECK_CLOSE(found->score, best, 1e-9, 1e-9);
    rgm_chrf_release(chrf);
    rgm_line_translations_clear(drawn, 9);
}

static void the_sample_most_like_all_is_taken(void **state)
{
    const rgm_translation_line lines[3] = {line_of("3 4 5 6"), line_of("2 8 7"),
                                           line_of("3 4 5 6")};
    rgm_translation_line bad[2] = {lines[0], line_of("9")};
    rgm_translation_options o = reversing();
    rgm_line_translation all[3], one;
    int64_t done;
    trained t;

    (void)state;
    trained_open(&t, &o);
    CHECK_OK(take_best(all, &done, &t, lines, 3, 0));
    for (int i = 0; i < 3; i++) {
        check_most_alike(&t, &lines[i], i, &all[i]);
        CHECK_OK(take_best(&one, &done, &t, &lines[i], 1, i));
        CHECK_TEXT(all[i].text, one.text);
        rgm_line_translations_clear(&one, 1);
    }
    rgm_line_translations_clear(all, 3);
    CHECK_STATUS(RGM_ERR_DATA, take_best(all, &done, &t, bad, 2, 0));
    CHECK_INT(1, done);
    rgm_line_translations_clear(all, done);
    CHECK_EVERY_OOM(take_best(all, &done, &t, lines, 1, 0), rgm_line_translations_clear(all, 1));
    trained_close(&t);
}

/* ---- JSON ---- */

static rgm_status read_json(rgm_translation_request *out, const char *json)
{
    return rgm_translation_request_read(out, (rgm_str){.data = json, .size = (int64_t)strlen(json)},
                                        "lines:1");
}

static void lines_are_read_from_json(void **state)
{
    static const char whole[] = "{\"text\": \"a b\", \"banned\": [\"c\"], \"prefix\": \"d\", "
                                "\"required\": [\"e\", \"f g\"]}";
    static const struct {
        const char *json, *message;
    } bad[] = {{"{\"text\": 3}", "\"text\" is no text"},
               {"{}", "no object with a \"text\""},
               {"[1]", "no object with a \"text\""},
               {"{\"text\": \"a\", \"prefixes\": 1}", "unknown key \"prefixes\""},
               {"{\"text\": \"a\", \"required\": \"b\"}", "\"required\" is no list of texts"},
               {"{\"text\": \"a\", \"banned\": [\"b\", 2]}", "element 1 that is no text"}};
    rgm_translation_request r;

    (void)state;
    CHECK_OK(read_json(&r, whole));
    CHECK_TEXT("a b", r.line.text.data);
    CHECK_TEXT("d", r.line.prefix);
    CHECK_INT(2, r.line.required.count);
    CHECK_TEXT("f g", r.line.required.items[1]);
    CHECK_INT(1, r.line.banned.count);
    CHECK_TEXT("c", r.line.banned.items[0]);
    rgm_translation_request_clear(&r);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        CHECK_STATUS(RGM_ERR_DATA, read_json(&r, bad[i].json));
        CHECK_MESSAGE(bad[i].message);
    }
    CHECK_STATUS(RGM_ERR_FORMAT, read_json(&r, "{"));
    CHECK_EVERY_OOM(read_json(&r, whole), rgm_translation_request_clear(&r));
}

static void translations_are_printed_as_json(void **state)
{
    static char said[] = "say \"a\"\n";
    const rgm_line_translation made[2] = {{.text = said,
                                           .score = -0.5,
                                           .log_probability = -1,
                                           .cut = true,
                                           .tokens = 3,
                                           .longest = 4,
                                           .missing = 2}};
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_translation_result_print(&text, made, 2));
    CHECK_TEXT("{\"translations\": [{\"text\": \"say \\\"a\\\"\\u000a\", \"score\": -0.5, "
               "\"log_probability\": -1.0, \"cut\": true, \"tokens\": 3, \"longest\": 4, "
               "\"missing\": 2, \"banned\": 0}]}",
               text.data);
    rgm_text_clear(&text);
}

/* ---- pairs ---- */

enum { PAIRS = 70 }; /* more than go through the model together */

static void fill_pairs(rgm_text_pair *pairs)
{
    static const char *const sides[] = {"3 4 5", "8", "2 3 4 5 6 7", "7 7", ""};

    for (int i = 0; i < PAIRS; i++) {
        const char *source = sides[i % 4], *target = sides[i % 5];
        pairs[i].source = (rgm_str){.data = source, .size = (int64_t)strlen(source)};
        pairs[i].target = (rgm_str){.data = target, .size = (int64_t)strlen(target)};
    }
}

/* A pair's score is the same alone, is the sum of its tokens, and is what the search says of its
 * translation. */
static void scores_of_pairs_are_those_of_the_search(void **state)
{
    rgm_translation_options o = reversing();
    rgm_text_pair pairs[PAIRS], own;
    rgm_pair_score all[PAIRS], one;
    rgm_line_translation made;
    rgm_translation_line line;
    rgm_pair_scorer *scorer;
    int64_t done;
    trained t;

    (void)state;
    fill_pairs(pairs);
    trained_open(&t, &o);
    CHECK_OK(rgm_pair_scorer_create(&scorer, &t.task, t.parameters, NULL, false));
    CHECK_OK(rgm_pair_scorer_run(all, &done, scorer, pairs, PAIRS));
    CHECK_INT(PAIRS, done);
    for (int i = 0; i < PAIRS; i++) {
        double sum = 0;
        CHECK_OK(rgm_pair_scorer_run(&one, &done, scorer, &pairs[i], 1));
        CHECK(one.log_probability == all[i].log_probability);
        for (int64_t k = 0; k < all[i].count; k++) {
            CHECK(all[i].log_probabilities[k] <= 0);
            sum += (double)all[i].log_probabilities[k];
        }
        CHECK_CLOSE(all[i].log_probability, sum, 1e-12, 1e-12);
        CHECK_INT(1, all[i].ids[all[i].count - 1]);
        rgm_pair_scores_clear(&one, 1);
    }
    CHECK_INT(1, all[4].count); /* an empty target is its end */
    for (int i = 0; i < 4; i++) {
        line = (rgm_translation_line){.text = pairs[i].source};
        CHECK_OK(translate_one(&made, &t, &line));
        own = (rgm_text_pair){.source = pairs[i].source,
                              .target = {.data = made.text, .size = (int64_t)strlen(made.text)}};
        CHECK_OK(rgm_pair_scorer_run(&one, &done, scorer, &own, 1));
        CHECK(made.cut || fabs(one.log_probability - made.log_probability) < 1e-4);
        rgm_pair_scores_clear(&one, 1);
        rgm_line_translations_clear(&made, 1);
    }
    rgm_pair_scores_clear(all, PAIRS);
    rgm_pair_scorer_release(scorer);
    trained_close(&t);
}

static rgm_status score_afresh(rgm_pair_score *out, trained *t, const rgm_text_pair *pairs)
{
    rgm_pair_scorer *scorer;
    rgm_status status;
    int64_t done;

    RGM_TRY(rgm_pair_scorer_create(&scorer, &t->task, t->parameters, NULL, false));
    status = rgm_pair_scorer_run(out, &done, scorer, pairs, 3);
    rgm_pair_scorer_release(scorer);
    return status;
}

static void pairs_before_a_bad_one_are_scored(void **state)
{
    rgm_translation_options o = reversing();
    rgm_text_pair pairs[PAIRS];
    rgm_pair_score out[PAIRS];
    rgm_pair_scorer *scorer;
    int64_t done;
    trained t;

    (void)state;
    fill_pairs(pairs);
    trained_open(&t, &o);
    CHECK_EVERY_OOM(score_afresh(out, &t, pairs), rgm_pair_scores_clear(out, 3));
    CHECK_OK(rgm_pair_scorer_create(&scorer, &t.task, t.parameters, NULL, false));
    pairs[3].source = (rgm_str){.data = "9", .size = 1};
    CHECK_STATUS(RGM_ERR_DATA, rgm_pair_scorer_run(out, &done, scorer, pairs, PAIRS));
    CHECK_MESSAGE("'9' is no token");
    CHECK_INT(3, done);
    CHECK(out[2].count > 0);
    rgm_pair_scores_clear(out, done);
    pairs[3].source.size = 0;
    CHECK_STATUS(RGM_ERR_DATA, rgm_pair_scorer_run(out, &done, scorer, pairs, PAIRS));
    CHECK_MESSAGE("the source has no tokens");
    rgm_pair_scores_clear(out, done);
    rgm_pair_scorer_release(scorer);
    trained_close(&t);
}

TESTS(cmocka_unit_test(a_translation_has_what_was_asked),
      cmocka_unit_test(requests_that_cannot_be_are_told),
      cmocka_unit_test(lines_before_one_that_cannot_be_are_translated),
      cmocka_unit_test(a_line_beyond_a_joined_model_is_told_by_its_number),
      cmocka_unit_test(the_sample_most_like_all_is_taken),
      cmocka_unit_test(lines_are_read_from_json),
      cmocka_unit_test(translations_are_printed_as_json),
      cmocka_unit_test(scores_of_pairs_are_those_of_the_search),
      cmocka_unit_test(pairs_before_a_bad_one_are_scored))
