/*
 * Alignments: how weights become links, and that those of lines and pairs are one another's,
 * whatever stands beside them.
 */
#include "translation_check.h"
#include "translation_internal.h"

static void weights_become_links(void **state)
{
    static const int32_t ids[] = {4, 5, 6, 1};
    static const float weights[] = {0.1F, 0.6F, 0.2F, 0.1F,  /* its end has the most of nothing */
                                    0.3F, 0.1F, 0.1F, 0.5F,  /* not to the end */
                                    0.0F, 0.5F, 0.5F, 0.0F}; /* the first of equal ones */
    const rgm_token_list source = {ids, 4}, target = {ids, 3};
    const struct {
        rgm_alignment_options options;
        const char *want;
    } cases[] = {{{.threshold = 0}, "0-1 1-0 1-2"},
                 {{.threshold = 0, .pieces = true}, "0-1 1-0 1-2"},
                 {{.threshold = 0.3}, "0-1 1-0 1-2 2-2"},
                 {{.threshold = 0.55}, "1-0"},
                 {{.threshold = 1}, ""}};
    rgm_translation_options o = reversing();
    trained t;

    (void)state;
    trained_open(&t, &o);
    for (int i = 0; i < 5; i++) {
        char *text;
        CHECK_OK(rgmi_alignment_write(&text, t.task.state, &source, &target, weights,
                                      &cases[i].options));
        CHECK_TEXT(cases[i].want, text);
        rgm_free(text);
    }
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_alignment_check(&(rgm_alignment_options){.threshold = 1.5}));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_alignment_check(&(rgm_alignment_options){.threshold = NAN}));
    trained_close(&t);
}

enum { LINES = 70, BEST = 2 }; /* more than go through the model together */

/* Of each translation by the pair that it makes with its line. */
static void check_by_pairs(trained *t, const rgm_translation_line *lines,
                           const rgm_line_translation *made)
{
    rgm_pair_scorer *scorer;
    int64_t done, aligned = 0;

    CHECK_OK(rgm_pair_scorer_create(&scorer, &t->task, t->parameters, NULL, false));
    CHECK_OK(rgm_pair_scorer_align(scorer, &(rgm_alignment_options){.threshold = 0}));
    for (int64_t i = 0; i < LINES * BEST; i++) {
        const rgm_line_translation *m = &made[i];
        rgm_text_pair pair = {.source = lines[i / BEST].text};
        rgm_pair_score score;
        if (lines[i / BEST].alignment == NULL || m->text == NULL || m->text[0] == '\0') {
            CHECK(m->alignment == NULL || m->alignment[0] == '\0');
            continue;
        }
        pair.target = (rgm_str){.data = m->text, .size = (int64_t)strlen(m->text)};
        CHECK_OK(rgm_pair_scorer_run(&score, &done, scorer, &pair, 1));
        CHECK_TEXT(score.alignment, m->alignment);
        aligned += strchr(m->alignment, ' ') != NULL;
        rgm_pair_scores_clear(&score, 1);
    }
    CHECK(aligned > LINES);
    rgm_pair_scorer_release(scorer);
}

static void lines_are_aligned_as_the_pairs_that_they_make(void **state)
{
    static const char *const texts[] = {"3 4 5", "8", "2 3 4 5 6 7", "", "7 7"};
    static const rgm_alignment_options plain = {.threshold = 0};
    rgm_translation_options o = reversing();
    rgm_translation_line lines[LINES];
    rgm_line_translation made[LINES * BEST];
    rgm_beam_search_options search;
    int64_t done;
    trained t;

    (void)state;
    trained_open(&t, &o);
    search = *rgm_translation_search(&t.task);
    search.beam_size = 3;
    search.n_best = BEST;
    search.decode_min_length = 2;
    search.decode_max_length = 7;
    for (int i = 0; i < LINES; i++) {
        lines[i] = line_of(texts[i % 5]);
        lines[i].alignment = i % 7 == 0 ? NULL : &plain;
    }
    for (int64_t layer = -1; layer <= 0; layer++) { /* the only one, by both names */
        search.attention = (rgm_attention_place){layer, -1};
        CHECK_OK(rgm_translation_lines(made, &done, &t.task, t.parameters, lines, LINES, &search,
                                       NULL, false));
        CHECK_INT(LINES, done);
        CHECK_TEXT("", made[3 * BEST].alignment); /* an empty line */
        CHECK(made[0].alignment == NULL);
        check_by_pairs(&t, lines, made);
        rgm_line_translations_clear(made, LINES * BEST);
    }
    trained_close(&t);
}

/* A model of as many positions as a translation has that is cut: its end would be one too many. */
static void a_translation_of_all_positions_is_aligned(void **state)
{
    static const rgm_alignment_options plain = {.threshold = 0};
    rgm_translation_options o = reversing();
    rgm_translation_line line = line_of("3 4 5 6 7 8 2 3");
    rgm_line_translation made;
    rgm_beam_search_options search;
    int64_t done, links = 1;
    trained t;

    (void)state;
    trained_open(&t, &o);
    ((rgmi_translation_task *)t.task.state)->model.options.max_positions = 9;
    search = *rgm_translation_search(&t.task);
    search.decode_min_length = 100;
    line.alignment = &plain;
    CHECK_OK(
        rgm_translation_lines(&made, &done, &t.task, t.parameters, &line, 1, &search, NULL, false));
    CHECK(made.cut);
    CHECK_INT(9, made.tokens);
    CHECK_INT(9, made.longest);
    for (const char *c = made.alignment; *c != '\0'; c++)
        links += *c == ' ';
    CHECK_INT(9, links);
    rgm_line_translations_clear(&made, 1);
    trained_close(&t);
}

static rgm_status align_one(rgm_line_translation *out, trained *t, const rgm_translation_line *line)
{
    rgm_beam_search_options search = *rgm_translation_search(&t->task);
    rgm_status status;
    int64_t done;

    search.decode_max_length = 4;
    status =
        rgm_translation_lines(out, &done, &t->task, t->parameters, line, 1, &search, NULL, false);
    rgmi_translation_rest(t->task.state);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    static const rgm_alignment_options plain = {.threshold = 0};
    rgm_translation_options o = reversing();
    rgm_translation_line line = line_of("3 4");
    rgm_line_translation made;
    trained t;

    (void)state;
    trained_open(&t, &o);
    line.alignment = &plain;
    CHECK_EVERY_OOM(align_one(&made, &t, &line), rgm_line_translations_clear(&made, 1));
    trained_close(&t);
}

TESTS(cmocka_unit_test(weights_become_links),
      cmocka_unit_test(lines_are_aligned_as_the_pairs_that_they_make),
      cmocka_unit_test(a_translation_of_all_positions_is_aligned),
      cmocka_unit_test(every_failing_allocation_is_survived))
