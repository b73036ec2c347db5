/*
 * Alignments: how weights become links, and that those of lines and pairs are one another's,
 * whatever stands beside them. Those that are taught: files of them, their part of the loss, what
 * is learnt, with any number of threads.
 */
#include "translation_check.h"
#include "translation_internal.h"

#include <regimen/train_driver.h>

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

/* A tag is no part of the sentence: it is put before it, and nothing is linked to it. */
static void tags_are_put_before_sources(void **state)
{
    static const int32_t source_ids[] = {8, 4, 5, 1}, target_ids[] = {6, 7};
    static const float weights[] = {0.7F, 0.1F, 0.2F, 0.0F, 0.4F, 0.3F, 0.2F, 0.1F};
    const rgm_token_list source = {source_ids, 4}, target = {target_ids, 2};
    rgm_translation_options o = reversing();
    rgmi_translation_task *task;
    rgmi_source_tokens tokens = {0};
    char *text;
    trained t;

    (void)state;
    trained_open(&t, &o);
    task = t.task.state;
    task->data.source_tag = 8;
    CHECK_OK(rgmi_read_source(&tokens, task, line_of("4 5").text));
    CHECK_INT(4, tokens.ids.count);
    CHECK(memcmp(tokens.ids.items, source_ids, sizeof source_ids) == 0);
    CHECK_OK(rgmi_read_source(&tokens, task, line_of("  ").text)); /* nothing stays nothing */
    CHECK_INT(4, tokens.ids.count);
    CHECK_OK(rgmi_alignment_write(&text, task, &source, &target, weights,
                                  &(rgm_alignment_options){.threshold = 0}));
    CHECK_TEXT("0-1 1-0", text);
    rgm_free(text);
    rgmi_source_tokens_clear(&tokens);
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

/* ---- taught ---------------------------------------------------------------------------------- */

typedef struct run {
    rgm_translation_options data;
    rgm_seq2seq_options model;
    rgm_task task;
    rgm_trainer *trainer;
} run;

/* 2 layers of 2 heads; the first layer's second head is taught with that weight. */
static void start(run *r, double weight, bool again, int threads)
{
    rgm_trainer_options options;
    rgm_optimizer_options adam = rgm_adam(3e-3);
    rgm_runtime_options runtime = {.seed = 5, .threads = threads};

    r->data = reversing();
    r->data.reverse.train = 600;
    r->data.batch_tokens = 320;
    r->data.decode = false;
    r->data.guided_alignment = (rgm_guided_alignment){.weight = weight, .layer = 0, .head = 1};
    rgm_seq2seq_defaults(&r->model);
    r->model.embedding_width = 32;
    r->model.dropout_rate = 0;
    r->model.max_positions = 16;
    for (int i = 0; i < 2; i++) {
        rgm_stack_options *o = i == 0 ? &r->model.encoder : &r->model.decoder;
        o->num_layers = 2;
        o->num_attention_heads = 2;
        o->intermediate_size = 32;
        o->dropout_rate = o->attention_dropout_rate = o->intermediate_dropout = 0.05;
    }
    CHECK_OK(rgm_translation_create(&r->task, &r->data, &r->model, 3, threads));
    rgm_trainer_defaults(&options);
    options.activation_checkpointing = again;
    rgm_trainer_setup setup = {.task = &r->task,
                               .options = &options,
                               .runtime = &runtime,
                               .optimizer = &adam,
                               .endless = true};
    CHECK_OK(rgm_trainer_create(&r->trainer, &setup));
}

static void end(run *r)
{
    rgm_trainer_release(r->trainer);
    rgm_task_release(&r->task);
}

/* The share of tokens that are linked to those that they are. */
static double share_of_right_links(run *r)
{
    static const char *const texts[] = {"3 4 5 7", "8 2", "2 3 4 5 6 7", "7 6 4", "5 8 3 6 2"};
    int64_t right = 0, all = 0, done;
    rgm_pair_scorer *scorer;

    CHECK_OK(
        rgm_pair_scorer_create(&scorer, &r->task, rgm_trainer_parameters(r->trainer), NULL, false));
    CHECK_OK(rgm_pair_scorer_align(scorer, &(rgm_alignment_options){.threshold = 0}));
    for (int i = 0; i < 5; i++) {
        int64_t count = ((int64_t)strlen(texts[i]) + 1) / 2;
        rgm_text_pair pair = {.source = {.data = texts[i], .size = 2 * count - 1}};
        rgm_pair_score score;
        char target[32] = "";
        for (int64_t k = 0; k < count; k++)
            snprintf(target + 2 * k, sizeof target - (size_t)(2 * k), "%c ",
                     texts[i][2 * (count - 1 - k)]);
        pair.target = (rgm_str){.data = target, .size = 2 * count - 1};
        CHECK_OK(rgm_pair_scorer_run(&score, &done, scorer, &pair, 1));
        for (const char *c = score.alignment; *c != '\0'; c += c[3] == ' ' ? 4 : 3)
            right += (c[0] - '0') + (c[2] - '0') == count - 1;
        all += count;
        rgm_pair_scores_clear(&score, 1);
    }
    rgm_pair_scorer_release(scorer);
    return (double)right / (double)all;
}

static void a_head_learns_what_it_is_taught(void **state)
{
    double first[2], valid[2], right[2];
    const rgm_logs *logs;

    (void)state;
    for (int k = 0; k < 2; k++) {
        run r;
        start(&r, k == 0 ? 0 : 1, false, 2);
        if (k == 0) /* else it is the one that is taught */
            ((rgmi_translation_task *)r.task.state)->options.search.attention =
                (rgm_attention_place){0, 1};
        CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_VALID, RGM_TO_END, &logs));
        valid[k] = rgm_logs_get(logs, "loss");
        CHECK_OK(rgm_trainer_train(r.trainer, 1, &logs));
        first[k] = rgm_logs_get(logs, "loss");
        CHECK_OK(rgm_trainer_train(r.trainer, 240, &logs));
        right[k] = share_of_right_links(&r);
        end(&r);
    }
    CHECK(valid[0] == valid[1]);
    CHECK(first[1] > first[0] + 0.7 && first[1] < first[0] + 2); /* -log(1 / tokens) in the mean */
    CHECK(right[1] > 0.95);
    CHECK(right[0] < 0.7);
}

/* Threads, and layers that compute their insides again, change no bit of what is learnt. */
static void what_is_taught_has_the_same_bits(void **state)
{
    rgm_parameters *of[3];
    const rgm_logs *logs;
    run r[3];

    (void)state;
    for (int k = 0; k < 3; k++) {
        rgm_threads_set(k == 1 ? 1 : 2);
        start(&r[k], 0.3, k == 2, k == 1 ? 1 : 2);
        CHECK_OK(rgm_trainer_train(r[k].trainer, 6, &logs));
        of[k] = rgm_trainer_parameters(r[k].trainer);
    }
    for (int k = 1; k < 3; k++)
        for (int64_t i = 0; i < rgm_parameters_count(of[0]); i++) {
            const rgm_tensor *a = rgm_parameters_tensor(of[0], i);
            const rgm_tensor *b = rgm_parameters_tensor(of[k], i);
            CHECK(memcmp(rgm_tensor_data(a), rgm_tensor_data(b), rgm_tensor_bytes(a)) == 0);
        }
    for (int k = 0; k < 3; k++)
        end(&r[k]);
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

TESTS(cmocka_unit_test(weights_become_links), cmocka_unit_test(tags_are_put_before_sources),
      cmocka_unit_test(lines_are_aligned_as_the_pairs_that_they_make),
      cmocka_unit_test(a_translation_of_all_positions_is_aligned),
      cmocka_unit_test(a_head_learns_what_it_is_taught),
      cmocka_unit_test(what_is_taught_has_the_same_bits),
      cmocka_unit_test(every_failing_allocation_is_survived))
