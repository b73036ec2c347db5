/*
 * Translation on several corpora: sets and shares of training data, more sets to evaluate on, files
 * by patterns, a tokenizer of whatever is trained on; scores by several signatures; perplexity.
 */
#include <check.h>

#include "translation_internal.h"

static char folder[64];

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void open_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/regimen-sets-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    write_file("a.de", "ein Hund\nzwei Hunde im Schnee\nein Kind spielt\n");
    write_file("a.en", "a dog\ntwo dogs in the snow\na child plays\n");
    write_file("news-1.de", "der Rat tagt\n");
    write_file("news-1.en", "the council meets\n");
    write_file("news-2.de", "die Wahl im Mai\n");
    write_file("news-2.en", "the vote in May\n");
    write_file("b.tsv", "ein Ball\ta ball\nkein Ball\tno ball\n");
}

#define FILES(...)                                                                                 \
    (rgm_texts)                                                                                    \
    {                                                                                              \
        (const char *const[]){__VA_ARGS__}, sizeof(const char *[]){__VA_ARGS__} / sizeof(char *)   \
    }

static const char *const set_names[] = {"news", "balls"}, *const own[] = {"a.de", "a.en"},
                         *const news[] = {"news-*.de", "news-*.en"}, *const balls[] = {"b.tsv"};

static rgm_translation_options options_of(rgm_texts sets[2])
{
    rgm_translation_options o;

    sets[0] = (rgm_texts){news, 2};
    sets[1] = (rgm_texts){balls, 1};
    rgm_translation_defaults(&o);
    o.path = folder;
    o.train = o.valid = o.test = (rgm_texts){own, 2};
    o.train_sets = (rgm_lists){set_names, sets, 2};
    o.train_tokenizer.vocab_size = 40;
    o.train_tokenizer.type = RGM_TOKENIZER_BPE;
    return o;
}

static rgm_status create(rgm_task *out, const rgm_translation_options *o)
{
    rgm_seq2seq_options model;

    rgm_seq2seq_defaults(&model);
    model.embedding_width = 8;
    model.encoder.num_layers = model.decoder.num_layers = 1;
    model.encoder.num_attention_heads = model.decoder.num_attention_heads = 2;
    return rgm_translation_create(out, o, &model, 3, 1);
}

static void all_that_is_trained_on_is_read_in_its_order(void **state)
{
    rgm_texts sets[2];
    rgm_translation_options o;
    rgmi_translation_data data;
    const rgm_token_pairs *pairs;
    const char *lines[] = {"der Rat tagt", "die Wahl im Mai", "ein Ball", "kein Ball"};
    rgm_ids ids = {0};

    (void)state;
    open_folder();
    o = options_of(sets);
    CHECK_OK(rgmi_translation_data_open(&data, &o, 1, 1));
    CHECK_OK(rgmi_translation_pairs(&pairs, &data, RGM_TRAIN));
    CHECK_INT(7, rgm_token_pairs_count(pairs));
    CHECK_INT(3, data.source_count);
    CHECK_TEXT("train", data.sources[0].name);
    CHECK_INT(2, data.sources[1].pairs);
    for (int64_t i = 0; i < 4; i++) {
        int64_t count;
        const int32_t *got = rgm_token_pairs_source(pairs, 3 + i, &count);

        ids.count = 0;
        CHECK_OK(rgm_tokenizer_encode(&ids, data.source, lines[i], (int64_t)strlen(lines[i])));
        CHECK(ids.count == count - 1 &&
              memcmp(ids.items, got, (size_t)ids.count * sizeof *got) == 0);
    }
    rgm_ids_clear(&ids);
    rgmi_translation_data_clear(&data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Pairs 0 to 4 are of train and news, the others of balls. */
static void check_begins(const rgm_translation_options *o)
{
    rgmi_translation_data data;
    rgm_dataset *batches;
    rgm_iterator *iterator;
    rgm_element *batch;
    int64_t seen = 0;

    CHECK_OK(rgmi_translation_data_open(&data, o, 1, 1));
    CHECK_OK(rgmi_translation_batches(&batches, &data, RGM_TRAIN));
    CHECK_OK(rgm_iterator_create(&iterator, batches, NULL));
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        const rgm_tensor *read = rgm_element_tensor(batch, RGMI_TARGET);
        const rgm_tensor *labels = rgm_element_tensor(batch, RGMI_LABELS);
        const int64_t *pairs = rgm_tensor_i64(rgm_element_tensor(batch, RGMI_PAIRS));
        int64_t length = rgm_tensor_dim(read, 1);
        for (int64_t r = 0; r < rgm_tensor_dim(read, 0); r++, seen++) {
            CHECK_INT(pairs[r] < 5 ? 5 : 6, rgm_tensor_i64(read)[r * length]);
            for (int64_t i = 1; i < length; i++)
                CHECK_INT(rgm_tensor_i64(labels)[r * length + i - 1],
                          rgm_tensor_i64(read)[r * length + i]);
        }
        rgm_element_release(batch);
    }
    CHECK_INT(7, seen);
    rgm_iterator_release(iterator);
    rgm_dataset_release(batches);
    rgmi_translation_data_clear(&data);
}

static void targets_begin_with_the_tag_of_their_set(void **state)
{
    static const char *const name[] = {"balls"};
    const char *pieces[2];
    rgm_texts sets[2], tag = {&pieces[1], 1};
    rgm_translation_options o;
    rgmi_translation_data data;

    (void)state;
    open_folder();
    o = options_of(sets);
    CHECK_OK(rgmi_translation_data_open(&data, &o, 1, 1));
    CHECK_INT(0, rgmi_target_begin(&data, RGM_TRAIN, 6));
    pieces[0] = rgm_tokenizer_piece(data.target, 5);
    pieces[1] = rgm_tokenizer_piece(data.target, 6);
    o.target_tag = pieces[0];
    o.target_tags = (rgm_lists){name, &tag, 1};
    check_begins(&o);
    rgmi_translation_data_clear(&data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void weights_are_shares_of_an_epoch_and_are_told(void **state)
{
    static const char *const names[] = {"news", "train"};
    static const double values[] = {2, 1};
    rgm_texts sets[2];
    rgm_translation_options o;
    rgm_text text = {0};
    rgm_dataset *data;
    rgm_task task;
    const rgmi_translation_task *t;

    (void)state;
    open_folder();
    o = options_of(sets);
    o.weights = (rgm_numbers){names, values, 2}; /* balls: 1 */
    CHECK_OK(create(&task, &o));
    CHECK_OK(task.build_inputs(&data, task.state, RGM_TRAIN, false));
    t = task.state;
    CHECK_CLOSE(t->data.sources[0].times * 3, 7.0 / 4, 1e-12, 0);
    CHECK_CLOSE(t->data.sources[1].times * 2, 7.0 / 2, 1e-12, 0);
    CHECK_CLOSE(t->data.sources[2].times * 2, 7.0 / 4, 1e-12, 0);
    CHECK_INT(2 + 4 + 2, t->data.figures[RGM_TRAIN].pairs); /* 1.75, 3.5, 1.75 rounded */
    CHECK_OK(task.describe(&text, task.state));
    CHECK(strstr(text.data,
                 "; 3 pairs of train 0.5833 times each, 2 pairs of news 1.75 times each, "
                 "2 pairs of balls 0.875 times each") != NULL);
    rgm_text_clear(&text);
    rgm_dataset_release(data);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

static void refuse(const rgm_translation_options *o, rgm_status status, const char *part)
{
    rgm_dataset *data = NULL;
    rgm_task task;
    rgm_status got = create(&task, o);

    if (got == RGM_OK)
        got = task.build_inputs(&data, task.state, RGM_TRAIN, false);
    CHECK_STATUS(status, got);
    CHECK_MESSAGE(part);
    rgm_dataset_release(data);
    rgm_task_release(&task);
}

static void mistakes_in_sets_are_told(void **state)
{
    static const char *const wrong[] = {"newz"}, *const trains[] = {"train"},
                             *const dotted[] = {"a"};
    static const double one[] = {1};
    rgm_texts sets[2], three = FILES("a", "b", "c");
    rgm_translation_options o, bad;

    (void)state;
    open_folder();
    bad = o = options_of(sets);
    bad.weights = (rgm_numbers){wrong, one, 1};
    refuse(&bad, RGM_ERR_CONFIG, "data.weights.newz: no training data of that name");
    bad = o;
    bad.train_sets = (rgm_lists){trains, sets, 1};
    refuse(&bad, RGM_ERR_CONFIG, "'train' is the name of data.train");
    bad = o;
    bad.train_sets = (rgm_lists){dotted, &three, 1};
    refuse(&bad, RGM_ERR_CONFIG, "data.train_sets.a: 3 files");
    bad = o;
    bad.valid = (rgm_texts){0};
    bad.valid_sets = o.train_sets;
    refuse(&bad, RGM_ERR_CONFIG, "data.valid_sets stand beside data.valid, which is not set");
    bad = o;
    sets[0] = FILES("news-*.de", "news-1.en");
    refuse(&bad, RGM_ERR_DATA,
           "data.train_sets.news: news-*.de means 2 files and news-1.en 1: they go two by two");
    sets[0] = FILES("none-*.de", "none-*.en");
    refuse(&bad, RGM_ERR_NOT_FOUND, "data.train_sets.news is not in data.path");
    write_file("news-2.en", "the vote in May\nand one more\n");
    sets[0] = FILES("news-*.de", "news-*.en");
    refuse(&bad, RGM_ERR_DATA, "news-2.de is short, its line 2 is missing");
    CHECK_OK(rgm_folder_remove(folder));
}

static void save_model(const char *name, const void *model, int64_t size)
{
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, model, size));
}

/* The tokenizer of a TSV is that of its columns as two files: no second kind of training. */
static void a_tokenizer_is_trained_on_any_form(void **state)
{
    rgm_translation_options o;
    rgm_texts none[2];
    rgmi_translation_data data[2];
    int64_t size[2];
    const void *model[2];
    rgm_task task;

    (void)state;
    open_folder();
    write_file("a.tsv",
               "ein Hund\ta dog\nzwei Hunde im Schnee\ttwo dogs in the snow\nein Kind spielt\t"
               "a child plays\n");
    o = options_of(none);
    o.train_sets = (rgm_lists){0};
    o.train_tokenizer.vocab_size = 30;
    CHECK_OK(rgmi_translation_data_open(&data[0], &o, 1, 1));
    o.train = FILES("a.tsv");
    CHECK_OK(rgmi_translation_data_open(&data[1], &o, 1, 1));
    for (int i = 0; i < 2; i++)
        model[i] = rgm_tokenizer_model(data[i].source, &size[i]);
    CHECK(size[0] == size[1] && memcmp(model[0], model[1], (size_t)size[0]) == 0);
    save_model("one.model", model[0], size[0]);
    rgmi_translation_data_clear(&data[0]);
    rgmi_translation_data_clear(&data[1]);

    /* As large, but another one: what is one row of a shared table would be two pieces. */
    write_file("c.de", "fuenf Fische\nrote Rosen am Rande\nsieben Sachen sehen\n");
    o.train = FILES("c.de", "c.de");
    CHECK_OK(rgmi_translation_data_open(&data[0], &o, 1, 1));
    model[0] = rgm_tokenizer_model(data[0].source, &size[0]);
    save_model("two.model", model[0], size[0]);
    rgmi_translation_data_clear(&data[0]);
    o.train_tokenizer.vocab_size = 0;
    o.tokenizer = "one.model";
    o.target_tokenizer = "two.model";
    refuse(&o, RGM_ERR_CONFIG,
           "are different tokenizers, but model.embeddings: shared has one row");
    o.target_tokenizer = "one.model";
    CHECK_OK(create(&task, &o));
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- numbers ------------------------------------------------------------------------------- */

static void each_score_has_the_signature_of_its_name(void **state)
{
    static const char *const metrics[] = {"chrf", "bleu_lc", "bleu", "bleu_intl_lc", "chrf_lc"};
    static const char *const wrong[][1] = {{"bleu_LC"}, {"ter_lc"}, {"chrf_intl"}, {"bleu_"}};
    rgm_score_options o = {.metrics = {metrics, 5}};
    const char *names[RGMI_MOST_SCORES], *const expected[] = {"bleu_lc", "bleu",    "bleu_intl_lc",
                                                              "chrf",    "chrf_lc", "exact_match"};
    rgmi_translation_scores *scores;
    rgmi_translation_data data = {0};
    rgm_logs logs = {0};
    int32_t ids[3] = {5, 6, 1};
    rgm_hypothesis h = {.ids = ids, .count = 2};
    rgm_hypotheses one = {.items = &h, .count = 1};
    int64_t pair = 0;

    (void)state;
    CHECK_OK(rgmi_scores_check(&o));
    rgmi_scores_names(names, &o);
    for (int i = 0; i < 6; i++)
        CHECK_TEXT(expected[i], names[i]);
    CHECK(names[6] == NULL);
    for (int i = 0; i < 4; i++) {
        o.metrics = (rgm_texts){wrong[i], 1};
        CHECK_STATUS(RGM_ERR_CONFIG, rgmi_scores_check(&o));
        CHECK_MESSAGE(wrong[i][0]);
    }
    o.metrics = (rgm_texts){metrics, 5};
    CHECK_OK(rgm_token_pairs_create(&data.parts[RGM_VALID].pairs));
    CHECK_OK(rgm_token_pairs_add(data.parts[RGM_VALID].pairs, ids, 3, ids, 3));
    CHECK_OK(rgmi_scores_create(&scores, &o));
    CHECK_OK(rgmi_scores_add(scores, &data, RGM_VALID, &pair, &one, 1));
    CHECK_OK(rgmi_scores_result(&logs, scores));
    for (int i = 0; i < 6; i++)
        CHECK_TEXT(expected[i], logs.items[i].name);
    rgmi_scores_release(scores);
    rgm_logs_clear(&logs);
    rgmi_translation_data_clear(&data);
}

/* tables.jsonl: both pairs of both sets, scored. */
static void check_samples(const char *run)
{
    char path[160], *data;
    int64_t size;
    rgm_json *json;
    const rgm_json *samples, *sample;
    double bleu, chrf;

    snprintf(path, sizeof path, "%s/tables.jsonl", run);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    CHECK(strstr(data, "\"split\":\"valid_news\",\"kind\":\"samples\"") != NULL);
    CHECK_OK(rgm_json_parse(&json, data, (int64_t)strcspn(data, "\n"), path));
    CHECK_TEXT("valid", rgm_json_text(rgm_json_find(json, "split")));
    samples = rgm_json_find(json, "samples");
    CHECK_INT(2, rgm_json_count(samples));
    sample = rgm_json_at(samples, 1);
    CHECK_TEXT("ein Hund", rgm_json_text(rgm_json_find(rgm_json_at(samples, 0), "source")));
    CHECK_TEXT("two dogs in the snow", rgm_json_text(rgm_json_find(sample, "reference")));
    CHECK(rgm_json_text(rgm_json_find(sample, "translation")) != NULL);
    CHECK(rgm_json_number(&bleu, rgm_json_find(rgm_json_find(sample, "scores"), "bleu")));
    CHECK(rgm_json_number(&chrf, rgm_json_find(rgm_json_find(sample, "scores"), "chrf")));
    CHECK(bleu >= 0 && bleu <= 100 && chrf >= 0 && chrf <= 100);
    rgm_json_release(json);
    rgm_free(data);
}

static rgm_status tell_samples(rgm_logs *logs, const rgmi_translation_data *data,
                               const rgm_hypotheses *translations, int64_t count)
{
    const rgm_score_options options = {0};
    const int64_t pairs[] = {0, 1};
    rgmi_samples *samples = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_samples_create(&samples, 7, 2, &options));
    RGM_GO(rgmi_samples_add(samples, data, RGM_VALID, pairs, translations, count));
    RGM_GO(rgmi_samples_result(logs, samples));
done:
    if (status != RGM_OK)
        rgm_logs_clear(logs);
    rgmi_samples_release(samples);
    return status;
}

static rgm_status copy_logs(rgm_logs *to, const rgm_logs *from)
{
    rgm_status status = rgm_logs_merge(to, from);

    if (status != RGM_OK)
        rgm_logs_clear(to);
    return status;
}

/* Numbers of sacrebleu 2.6's sentence_bleu() and sentence_chrf(). Three words of three: without
 * effective order they would have no BLEU. */
static void each_sample_is_scored_by_itself(void **state)
{
    static const double expected[2][2] = {{46.3077716, 31.25}, {100, 100}};
    int32_t wanted[2][6] = {{5, 7, 6, 9, 10, 1}, {5, 6, 7, 1}};
    int32_t given[2][6] = {{5, 7, 6, 8}, {5, 6, 7}};
    rgm_hypothesis h[2] = {{.ids = given[0], .count = 4}, {.ids = given[1], .count = 3}};
    rgm_hypotheses translations[2] = {{.items = &h[0], .count = 1}, {.items = &h[1], .count = 1}};
    rgmi_translation_data data = {0};
    rgm_logs logs = {0}, all = {0};

    (void)state;
    CHECK_OK(rgm_token_pairs_create(&data.parts[RGM_VALID].pairs));
    CHECK_OK(rgm_token_pairs_add(data.parts[RGM_VALID].pairs, wanted[1], 4, wanted[0], 6));
    CHECK_OK(rgm_token_pairs_add(data.parts[RGM_VALID].pairs, wanted[0], 6, wanted[1], 4));
    CHECK_OK(tell_samples(&logs, &data, translations, 1)); /* the other was not translated */
    CHECK_INT(1, logs.sample_count);
    CHECK_TEXT("5 6 7", logs.samples[0].source);
    CHECK_TEXT("5 7 6 8", logs.samples[0].translation);
    CHECK_TEXT("5 7 6 9 10", logs.samples[0].reference);
    rgm_logs_clear(&logs);
    CHECK_OK(tell_samples(&logs, &data, translations, 2));
    CHECK_OK(rgm_logs_merge(&all, &logs));
    CHECK_OK(rgm_logs_merge(&all, &logs)); /* in the place of the first ones */
    CHECK_INT(2, all.sample_count);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(2, all.samples[i].score_count);
        CHECK_TEXT("bleu", all.samples[i].scores[0].name);
        CHECK_TEXT("chrf", all.samples[i].scores[1].name);
        for (int k = 0; k < 2; k++)
            CHECK_CLOSE(expected[i][k], all.samples[i].scores[k].value, 1e-6, 1e-6);
    }
    rgm_logs_clear(&all);
    CHECK_EVERY_OOM(copy_logs(&all, &logs), rgm_logs_clear(&all));
    rgm_logs_clear(&logs);
    CHECK_EVERY_OOM(tell_samples(&logs, &data, translations, 2), rgm_logs_clear(&logs));
    rgm_logs_clear(&logs);
    rgmi_translation_data_clear(&data);
}

/* A whole run: other sets have their scores, samples are told, and perplexity is of plain labels.
 */
static void a_run_tells_sets_samples_and_perplexity(void **state)
{
    rgm_texts sets[2];
    rgm_translation_options o;
    rgm_run_options run = RGM_RUN_OPTIONS_INIT;
    char folder_of_run[96], path[160], *log;
    rgm_open_run *open;
    double losses[2] = {0};
    rgm_task task;
    int64_t size;

    (void)state;
    open_folder();
    snprintf(folder_of_run, sizeof folder_of_run, "%s/run", folder);
    run.run_dir = folder_of_run;
    run.trainer.epochs = 1;
    run.runtime.threads = 1;
    for (int smoothed = 1; smoothed >= 0; smoothed--) {
        o = options_of(sets);
        o.valid_sets = o.test_sets = (rgm_lists){set_names, sets, 2};
        o.label_smoothing = smoothed ? 0.1 : 0;
        o.static_batch = smoothed;
        o.subword_alpha = smoothed ? 0.1 : 0;
        o.samples = 2;
        o.search.beam_size = 1;
        o.search.decode_max_length = 4;
        run.read_only = !smoothed; /* the same weights, judged without smoothing */
        o.run_dir = smoothed ? NULL : folder_of_run;
        o.trained = !smoothed;
        CHECK_OK(create(&task, &o));
        CHECK_OK(rgm_run_open(&open, &task, &run));
        if (smoothed) {
            CHECK_OK(rgm_run_complete(open));
            CHECK(!isnan(rgm_run_metric(open, "valid_news", "bleu")));
            CHECK(!isnan(rgm_run_metric(open, "test_balls", "chrf")));
            CHECK(rgm_run_metric(open, "train", "perplexity") > 1);
            losses[1] = rgm_run_metric(open, "valid", "perplexity");
        } else {
            const rgm_logs *logs;
            CHECK_OK(rgm_trainer_evaluate(rgm_run_trainer(open), RGM_VALID, RGM_TO_END, &logs));
            losses[0] = rgm_logs_get(logs, "loss");
            CHECK_CLOSE(exp(losses[0]), rgm_logs_get(logs, "perplexity"), 1e-6, 0);
            CHECK_CLOSE(losses[1], exp(losses[0]), 1e-4, 0);
        }
        rgm_run_close(open);
        rgm_task_release(&task);
    }
    snprintf(path, sizeof path, "%s/log.txt", folder_of_run);
    CHECK_OK(rgm_file_load(&log, &size, path, 1 << 20));
    CHECK(strstr(log, "| valid pair_1 source: ein Hund\n") != NULL);
    CHECK(strstr(log, "| valid pair_2 reference: two dogs in the snow\n") != NULL);
    CHECK(strstr(log, "| valid_news pair_1 source: der Rat tagt\n") != NULL);
    CHECK(strstr(log, "batches of 4096 tokens") != NULL);
    rgm_free(log);
    check_samples(folder_of_run);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(all_that_is_trained_on_is_read_in_its_order),
      cmocka_unit_test(targets_begin_with_the_tag_of_their_set),
      cmocka_unit_test(weights_are_shares_of_an_epoch_and_are_told),
      cmocka_unit_test(mistakes_in_sets_are_told),
      cmocka_unit_test(a_tokenizer_is_trained_on_any_form),
      cmocka_unit_test(each_score_has_the_signature_of_its_name),
      cmocka_unit_test(each_sample_is_scored_by_itself),
      cmocka_unit_test(a_run_tells_sets_samples_and_perplexity))
