/*
 * The translation task by itself: its data made and read, batches as the model is fed them, what is
 * refused, and judging translations.
 */
#include <regimen/kernels.h>

#include "translation_check.h"
#include "translation_internal.h"

static rgm_status create(rgm_task *out, const rgm_translation_options *o)
{
    rgm_seq2seq_options model;

    rgm_seq2seq_defaults(&model);
    return rgm_translation_create(out, o, &model, 3, 1);
}

static char folder[64];
static const char *make_folder(void)
{
    snprintf(folder, sizeof folder, "/tmp/regimen-translation-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    return folder;
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* ---- data ---------------------------------------------------------------------------------- */

static int64_t at(const rgm_tensor *t, int64_t row, int64_t column)
{
    return rgm_tensor_i64(t)[row * rgm_tensor_dim(t, 1) + column];
}

/* One pair of a batch: the target is the source backwards, shifted by one in what the decoder
 * reads. */
static void check_pair(const rgm_element *batch, int64_t row)
{
    const rgm_tensor *source = rgm_element_tensor(batch, RGMI_SOURCE);
    const rgm_tensor *target = rgm_element_tensor(batch, RGMI_TARGET);
    const rgm_tensor *labels = rgm_element_tensor(batch, RGMI_LABELS);
    int64_t length = 0, longest = rgm_tensor_dim(labels, 1);

    while (at(source, row, length) != 1)
        length++;
    CHECK(length >= 1 && length <= 6);
    for (int64_t i = 0; i < length; i++) {
        CHECK(at(source, row, i) >= 2 && at(source, row, i) < 9);
        CHECK_INT(at(source, row, length - 1 - i), at(labels, row, i));
    }
    CHECK_INT(1, at(labels, row, length));
    for (int64_t i = length + 1; i < longest; i++)
        CHECK_INT(0, at(labels, row, i));
    CHECK_INT(0, at(target, row, 0));
    for (int64_t i = 1; i < longest; i++)
        CHECK_INT(at(labels, row, i - 1), at(target, row, i));
}

static void batches_hold_every_pair_once_shifted_and_with_positions(void **state)
{
    rgm_translation_options o = reversing();
    rgm_dataset *data;
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_task task;
    int64_t seen[50] = {0};

    (void)state;
    CHECK_OK(create(&task, &o));
    CHECK_OK(task.build_inputs(&data, task.state, RGM_TEST, false));
    CHECK(data == NULL);
    CHECK_OK(task.build_inputs(&data, task.state, RGM_TRAIN, false));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        const rgm_tensor *pairs = rgm_element_tensor(batch, RGMI_PAIRS);
        const rgm_tensor *positions = rgm_element_tensor(batch, RGMI_TARGET_POSITIONS);
        CHECK_INT(rgm_tensor_dim(rgm_element_tensor(batch, RGMI_LABELS), 1),
                  rgm_tensor_count(positions));
        for (int64_t i = 0; i < rgm_tensor_count(positions); i++)
            CHECK_INT(i, rgm_tensor_i64(positions)[i]);
        for (int64_t i = 0; i < rgm_tensor_count(pairs); i++) {
            seen[rgm_tensor_i64(pairs)[i]]++;
            check_pair(batch, i);
        }
        rgm_element_release(batch);
    }
    for (int i = 0; i < 50; i++)
        CHECK_INT(1, seen[i]);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    rgm_task_release(&task);
}

/* ---- files --------------------------------------------------------------------------------- */

static const char german[] =
    "ein Hund läuft\nzwei Hunde laufen im Schnee\n\nein Kind spielt im Schnee\n";
static const char english[] = "a dog runs\ntwo dogs run in the snow\n\na child plays in the snow\n";

static void train_tokenizer(void)
{
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    char source[128], target[128], model[128];
    const char *paths[2] = {source, target};
    rgm_tokenizer *tokenizer;
    int64_t size;

    snprintf(source, sizeof source, "%s/train.de", folder);
    snprintf(target, sizeof target, "%s/train.en", folder);
    snprintf(model, sizeof model, "%s/spm.model", folder);
    options.vocab_size = 40;
    options.type = RGM_TOKENIZER_BPE;
    CHECK_OK(rgm_tokenizer_train(&tokenizer, paths, 2, &options));
    const void *bytes = rgm_tokenizer_model(tokenizer, &size);
    CHECK_OK(rgm_file_save(model, bytes, size));
    rgm_tokenizer_release(tokenizer);
}

static rgm_translation_options of_files(void)
{
    static const char *const names[2] = {"train.de", "train.en"};
    rgm_translation_options o;

    rgm_translation_defaults(&o);
    o.path = folder;
    o.train = o.valid = (rgm_texts){names, 2};
    o.tokenizer = "spm.model";
    return o;
}

static void write_files(void)
{
    make_folder();
    write_file("train.de", german);
    write_file("train.en", english);
    train_tokenizer();
}

/* ---- TFRecords ----------------------------------------------------------------------------- */

/* Lines [begin, end) of the two texts as records of one file. */
static void write_records(const char *name, int begin, int end)
{
    const char *sides[2] = {german, english};
    rgm_tfrecord_writer *writer;
    rgm_text record = {0};
    char path[128];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
    for (int i = 0; i < end; i++) {
        rgm_str lines[2];
        int64_t id = i;
        for (int k = 0; k < 2; k++) {
            lines[k] = (rgm_str){.data = sides[k], .size = (int64_t)strcspn(sides[k], "\n")};
            sides[k] += lines[k].size + 1;
        }
        rgm_example_field fields[3] = {
            {.key = {"de", 2}, .kind = RGM_FEATURE_BYTES, .count = 1, .bytes = &lines[0]},
            {.key = {"en", 2}, .kind = RGM_FEATURE_BYTES, .count = 1, .bytes = &lines[1]},
            {.key = {"unique_id", 9}, .kind = RGM_FEATURE_INTS, .count = 1, .ints = &id}};
        record.size = 0;
        CHECK_OK(rgm_example_encode(&record, fields, 3));
        if (i >= begin)
            CHECK_OK(rgm_tfrecord_writer_add(writer, record.data, record.size));
    }
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    rgm_text_clear(&record);
}

static rgm_translation_options of_records(const char *const *pattern)
{
    rgm_translation_options o = of_files();

    o.src_lang = "de";
    o.tgt_lang = "en";
    o.train = o.valid = (rgm_texts){pattern, 1};
    return o;
}

static void check_same_pairs(const rgm_translation_options *a, const rgm_translation_options *b)
{
    const rgm_translation_options *options[2] = {a, b};
    rgmi_translation_data data[2];
    rgm_dataset *batches;
    rgm_token_pairs *pairs[2];

    for (int k = 0; k < 2; k++) {
        CHECK_OK(rgmi_translation_data_open(&data[k], options[k], 1, 1));
        CHECK_OK(rgmi_translation_batches(&batches, &data[k], RGM_VALID));
        pairs[k] = data[k].parts[RGM_VALID].pairs;
        rgm_dataset_release(batches);
    }
    CHECK_INT(4, rgm_token_pairs_count(pairs[0]));
    CHECK_INT(4, rgm_token_pairs_count(pairs[1]));
    for (int64_t i = 0; i < 4; i++) {
        int64_t n, m;
        const int32_t *x = rgm_token_pairs_source(pairs[0], i, &n),
                      *y = rgm_token_pairs_source(pairs[1], i, &m);
        CHECK(n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0);
        x = rgm_token_pairs_target(pairs[0], i, &n), y = rgm_token_pairs_target(pairs[1], i, &m);
        CHECK(n == m && memcmp(x, y, (size_t)n * sizeof *x) == 0);
    }
    rgmi_translation_data_clear(&data[0]);
    rgmi_translation_data_clear(&data[1]);
}

static rgm_status create_data(const rgm_translation_options *o)
{
    rgm_dataset *data = NULL;
    rgm_task task;
    rgm_status status;

    CHECK_OK(create(&task, o));
    status = task.build_inputs(&data, task.state, RGM_TRAIN, true);
    rgm_dataset_release(data);
    rgm_task_release(&task);
    return status;
}

static void tfrecords_are_the_same_pairs_as_their_lines(void **state)
{
    static const char *const pattern[] = {"pairs-*"}, *const shards[] = {"pairs@2"},
                             *const gone[] = {"none-*"}, *const two[] = {"pairs@2", "pairs@2"};
    rgm_translation_options lines, o;

    (void)state;
    write_files();
    write_records("pairs-00000-of-00002", 0, 3);
    write_records("pairs-00001-of-00002", 3, 4);
    lines = of_files();
    o = of_records(pattern);
    check_same_pairs(&lines, &o);
    o = of_records(shards);
    check_same_pairs(&lines, &o);
    CHECK_OK(create_data(&o));

    o.tgt_lang = "fr";
    CHECK_STATUS(RGM_ERR_DATA, create_data(&o));
    CHECK_MESSAGE("pairs-00000-of-00002: record 0: the example has no feature 'fr'");
    o = of_records(gone);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, create_data(&o));
    CHECK_MESSAGE("none-*");
    o = of_records(two);
    o.train.count = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, create(&(rgm_task){0}, &o));
    CHECK_MESSAGE("data.train: 2 files; with data.src_lang it is one pattern or name@shards");
    o = of_records(shards);
    o.src_lang = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, create(&(rgm_task){0}, &o));
    CHECK_MESSAGE("data.tgt_lang is set without data.src_lang");
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- scores -------------------------------------------------------------------------------- */

/* Translations that are the references, but for the pairs from `wrong` on, which are empty. */
static double judge(rgm_logs *logs, const rgm_translation_options *o, int64_t wrong)
{
    rgmi_translation_data data;
    rgmi_translation_scores *scores;
    rgm_dataset *batches;
    int64_t count;

    CHECK_OK(rgmi_translation_data_open(&data, o, 1, 1));
    CHECK_OK(rgmi_translation_batches(&batches, &data, RGM_VALID));
    rgm_dataset_release(batches);
    CHECK_OK(rgmi_scores_create(&scores, &o->score));
    count = rgm_token_pairs_count(data.parts[RGM_VALID].pairs);
    for (int64_t i = 0; i < count; i++) {
        int64_t length;
        const int32_t *ids = rgm_token_pairs_target(data.parts[RGM_VALID].pairs, i, &length);
        rgm_hypothesis h = {.ids = (int32_t *)ids, .count = i < wrong ? length - 1 : 0};
        rgm_hypotheses one = {.items = &h, .count = 1};
        CHECK_OK(rgmi_scores_add(scores, &data, RGM_VALID, &i, &one, 1));
    }
    CHECK_OK(rgmi_scores_result(logs, scores));
    rgmi_scores_release(scores);
    rgmi_translation_data_clear(&data);
    return rgm_logs_get(logs, "exact_match");
}

static void references_score_best_and_empty_translations_do_not(void **state)
{
    rgm_translation_options o;
    rgm_logs logs = {0};

    (void)state;
    write_files();
    o = of_files();
    CHECK_CLOSE(judge(&logs, &o, 4), 1, 0, 0);
    CHECK_CLOSE(rgm_logs_get(&logs, "bleu"), 100, 1e-9, 0);
    CHECK_CLOSE(rgm_logs_get(&logs, "chrf"), 100, 1e-9, 0);
    CHECK_CLOSE(judge(&logs, &o, 2), 0.75, 0,
                0); /* the empty line is translated rightly by nothing */
    CHECK(rgm_logs_get(&logs, "bleu") < 80);
    o = reversing();
    CHECK_CLOSE(judge(&logs, &o, 20), 1, 0, 0);
    CHECK_CLOSE(judge(&logs, &o, 5), 0.25, 0, 0);
    rgm_logs_clear(&logs);
    CHECK_OK(rgm_folder_remove(folder));
}

/* One translation of the first sentence, the rest being right. */
static void judge_text(rgm_logs *logs, const rgm_translation_options *o, const char *text)
{
    rgmi_translation_data data;
    rgmi_translation_scores *scores;
    rgm_dataset *batches;
    rgm_ids ids = {0};

    rgm_logs_clear(logs);
    CHECK_OK(rgmi_translation_data_open(&data, o, 1, 1));
    CHECK_OK(rgmi_translation_batches(&batches, &data, RGM_VALID));
    CHECK_OK(rgmi_scores_create(&scores, &o->score));
    CHECK_OK(rgm_tokenizer_encode(&ids, data.target, text, (int64_t)strlen(text)));
    for (int64_t i = 0; i < rgm_token_pairs_count(data.parts[RGM_VALID].pairs); i++) {
        int64_t length;
        const int32_t *right = rgm_token_pairs_target(data.parts[RGM_VALID].pairs, i, &length);
        rgm_hypothesis h = {.ids = i == 0 ? ids.items : (int32_t *)right,
                            .count = i == 0 ? ids.count : length - 1};
        rgm_hypotheses one = {.items = &h, .count = 1};
        CHECK_OK(rgmi_scores_add(scores, &data, RGM_VALID, &i, &one, 1));
    }
    CHECK_OK(rgmi_scores_result(logs, scores));
    rgmi_scores_release(scores);
    rgm_dataset_release(batches);
    rgmi_translation_data_clear(&data);
    rgm_ids_clear(&ids);
}

/* Only what is judged needs its text: a corpus that is trained on may be as large as memory allows.
 */
static void text_that_is_trained_on_goes_once_it_is_tokens(void **state)
{
    rgm_translation_options o;
    rgmi_translation_data data;
    const rgm_token_pairs *pairs;

    (void)state;
    write_files();
    o = of_files();
    CHECK_OK(rgmi_translation_data_open(&data, &o, 1, 1));
    CHECK_OK(rgmi_translation_pairs(&pairs, &data, RGM_TRAIN));
    CHECK(pairs != NULL && data.parts[RGM_TRAIN].corpus == NULL);
    CHECK_OK(rgmi_translation_pairs(&pairs, &data, RGM_VALID));
    CHECK(pairs != NULL && data.parts[RGM_VALID].corpus != NULL);
    rgmi_translation_data_clear(&data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void scores_are_those_that_were_asked_for(void **state)
{
    static const char *const metrics[] = {"ter", "bleu"}, *const wrong[] = {"bleu", "tre"};
    rgm_translation_options o;
    rgm_logs logs = {0};
    rgm_task task;

    (void)state;
    write_files();
    write_file("train.en", "a dog runs.\ntwo dogs run in the snow\n\na dog plays in the snow\n");
    train_tokenizer();
    o = of_files();
    CHECK_INT(2, o.score.metrics.count);
    o.score.metrics = (rgm_texts){metrics, 2};
    judge_text(&logs, &o, "a dog runs.");
    CHECK_INT(3, logs.count);
    CHECK_CLOSE(rgm_logs_get(&logs, "ter"), 0, 0, 0);
    CHECK_CLOSE(rgm_logs_get(&logs, "bleu"), 100, 1e-9, 0);
    CHECK_CLOSE(rgm_logs_get(&logs, "exact_match"), 1, 0, 0);
    judge_text(&logs, &o, "a runs."); /* 1 of 15 words */
    CHECK_CLOSE(rgm_logs_get(&logs, "ter"), 100.0 / 15, 1e-9, 0);
    CHECK_CLOSE(rgm_logs_get(&logs, "exact_match"), 0.75, 0, 0);

    /* A full stop that lacks is a word too few, or another word. */
    judge_text(&logs, &o, "a dog runs");
    CHECK_CLOSE(rgm_logs_get(&logs, "bleu"), 100 * exp(1 - 16.0 / 15), 1e-9, 0);
    o.score.tokenize = RGM_MT_TOKENIZER_NONE;
    judge_text(&logs, &o, "a dog runs");
    CHECK_CLOSE(rgm_logs_get(&logs, "bleu"), 100 * pow(14.0 / 15 * 11 / 12 * 8 / 9, 0.25), 1e-9, 0);

    CHECK_OK(create(&task, &o));
    CHECK_TEXT("bleu", task.reduced_names(task.state)[0]);
    CHECK_TEXT("ter", task.reduced_names(task.state)[1]);
    CHECK_TEXT("exact_match", task.reduced_names(task.state)[2]);
    CHECK(task.reduced_names(task.state)[3] == NULL);
    CHECK(task.smaller_is_better("ter", task.state) && !task.smaller_is_better("bleu", task.state));
    rgm_task_release(&task);
    o.score.metrics.items = wrong;
    CHECK_STATUS(RGM_ERR_CONFIG, create(&task, &o));
    CHECK_MESSAGE("task.score.metrics: no 'tre'; did you mean 'ter'?");
    rgm_logs_clear(&logs);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- lines --------------------------------------------------------------------------------- */

/* Scores of greedy translations: near those in f32, and others where bf16 is more than a name. */
static void bf16_is_near(trained *t, const rgm_translation_line *lines,
                         rgm_beam_search_options search)
{
    rgm_line_translation all[2][4];
    bool differ = false;
    int64_t done;

    search.sample = false;
    search.decode_max_length = 1;
    for (int bf16 = 0; bf16 < 2; bf16++)
        CHECK_OK(rgm_translation_lines(all[bf16], &done, &t->task, t->parameters, lines, 4, &search,
                                       NULL, bf16));
    for (int i = 0; i < 4; i++) {
        CHECK_CLOSE(all[0][i].score, all[1][i].score, 0.05, 0.05);
        differ |= all[0][i].score != all[1][i].score;
    }
    CHECK_INT(rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->matmul !=
                  rgm_kernels_for(rgm_device_cpu(), RGM_F32)->matmul,
              differ);
    rgm_line_translations_clear(all[0], 4);
    rgm_line_translations_clear(all[1], 4);
}

static int64_t lines_done; /* by the next function */

static rgm_status lines_of(rgm_line_translation *out, trained *t, const char *const *text,
                           int64_t count, int64_t n_best)
{
    rgm_beam_search_options search = *rgm_translation_search(&t->task);
    rgm_translation_line lines[4];

    search.beam_size = search.n_best = n_best;
    search.decode_max_length = 3;
    for (int64_t i = 0; i < count; i++)
        lines[i] = line_of(text[i]);
    return rgm_translation_lines(out, &lines_done, &t->task, t->parameters, lines, count, &search,
                                 NULL, false);
}

/* With a search of its own, whose executors keep memory between runs. */
static rgm_status lines_afresh(rgm_line_translation *out, trained *t, const char *const *text)
{
    rgmi_translation_task *task = t->task.state;
    rgm_status status;

    rgm_beam_search_release(task->beam_search);
    task->beam_search = NULL;
    status = lines_of(out, t, text, 3, 2);
    rgm_beam_search_release(task->beam_search);
    task->beam_search = NULL;
    return status;
}

static void lines_stay_in_order_and_are_the_same_alone(void **state)
{
    static const char *const text[3] = {"3 4 5 6", "", "8  2"};
    rgm_translation_options o = reversing();
    rgm_line_translation all[6], one[2];
    trained t;

    (void)state;
    trained_open(&t, &o);
    CHECK_OK(lines_of(all, &t, text, 3, 2));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(lines_of(one, &t, text + i, 1, 2));
        for (int k = 0; k < 2; k++) {
            CHECK((all[2 * i + k].text == NULL) == (one[k].text == NULL));
            CHECK(one[k].text == NULL || strcmp(all[2 * i + k].text, one[k].text) == 0);
            CHECK(all[2 * i + k].score == one[k].score);
        }
        rgm_line_translations_clear(one, 2);
    }
    CHECK_TEXT("", all[2].text);
    CHECK(all[3].text == NULL);
    rgm_line_translations_clear(all, 6);
    CHECK_OK(lines_afresh(all, &t, text));
    rgm_line_translations_clear(all, 6);
    CHECK_EVERY_OOM(lines_afresh(all, &t, text), rgm_line_translations_clear(all, 6));
    trained_close(&t);
}

/* Packed weights and caches are as large as the weights: none stay for the steps between
 * validations. */
static void a_validation_leaves_no_search_behind(void **state)
{
    rgm_translation_options o = reversing();
    rgm_iterator *iterator;
    rgm_dataset *data;
    rgm_step step = {.mode = RGM_VALID};
    void *aggregate = NULL;
    trained t;

    (void)state;
    o.reverse.valid = 3;
    o.search.decode_max_length = 2;
    trained_open(&t, &o);
    step.parameters = t.parameters;
    CHECK_OK(t.task.build_inputs(&data, t.task.state, RGM_VALID, false));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    CHECK_OK(rgm_iterator_next(&step.inputs, iterator));
    CHECK_OK(t.task.aggregate_logs(&aggregate, &step, t.task.state));
    CHECK(((rgmi_translation_task *)t.task.state)->beam_search != NULL);
    t.task.release_aggregate(aggregate, t.task.state);
    CHECK(((rgmi_translation_task *)t.task.state)->beam_search == NULL);
    rgm_element_release(step.inputs);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    trained_close(&t);
}

static void lines_before_a_bad_one_are_translated(void **state)
{
    static const char *const text[4] = {"3 4", "", "5 9", "6"};
    rgm_translation_options o = reversing();
    rgm_line_translation all[4], one;
    trained t;

    (void)state;
    trained_open(&t, &o);
    CHECK_STATUS(RGM_ERR_DATA, lines_of(all, &t, text, 4, 1));
    CHECK_TEXT("'9' is no token: they are numbers from 0 to 8", rgm_error_message());
    CHECK_INT(2, lines_done);
    CHECK_OK(lines_of(&one, &t, text, 1, 1));
    CHECK_INT(1, lines_done);
    CHECK_TEXT(one.text, all[0].text);
    CHECK_TEXT("", all[1].text);
    CHECK(all[2].text == NULL && all[3].text == NULL);
    rgm_line_translations_clear(&one, 1);
    rgm_line_translations_clear(all, 2);
    CHECK_STATUS(RGM_ERR_DATA, lines_of(all, &t, text + 2, 2, 1));
    CHECK_INT(0, lines_done);
    trained_close(&t);
}

/* A line's draws depend on its number in the whole, not on what it is translated with. */
static void lines_are_drawn_the_same_in_whatever_parts(void **state)
{
    static const char *const text[4] = {"3 4 5 6", "", "8 2", "8 2"};
    rgm_translation_options o = reversing();
    rgm_beam_search_options search;
    rgm_line_translation all[4], one, other;
    rgm_translation_line lines[4];
    int64_t done;
    trained t;

    (void)state;
    trained_open(&t, &o);
    search = *rgm_translation_search(&t.task);
    search.beam_size = search.n_best = 1;
    search.sample = true;
    search.decode_max_length = 12;
    search.seed = 4;
    for (int i = 0; i < 4; i++)
        lines[i] = line_of(text[i]);
    CHECK_OK(
        rgm_translation_lines(all, &done, &t.task, t.parameters, lines, 4, &search, NULL, false));
    for (int i = 0; i < 4; i++) {
        search.first_number = i;
        CHECK_OK(rgm_translation_lines(&one, &done, &t.task, t.parameters, lines + i, 1, &search,
                                       NULL, false));
        CHECK_TEXT(all[i].text, one.text);
        rgm_line_translations_clear(&one, 1);
    }
    CHECK(strcmp(all[2].text, all[3].text) != 0); /* one sentence, two numbers */
    search.seed = 5;
    CHECK_OK(rgm_translation_lines(&other, &done, &t.task, t.parameters, lines + 3, 1, &search,
                                   NULL, false));
    CHECK(strcmp(other.text, all[3].text) != 0);
    rgm_line_translations_clear(&other, 1);
    rgm_line_translations_clear(all, 4);
    bf16_is_near(&t, lines, search);
    trained_close(&t);
}

static void lines_of_text_go_through_the_tokenizer(void **state)
{
    static const char *const text[2] = {"ein Hund", "zwei Kinder im Schnee"};
    rgm_translation_options o;
    rgm_line_translation out[2];
    trained t;

    (void)state;
    write_files();
    o = of_files();
    trained_open(&t, &o);
    CHECK_OK(lines_of(out, &t, text, 2, 1));
    for (int i = 0; i < 2; i++)
        CHECK(out[i].text != NULL &&
              rgm_utf8_check(out[i].text, (int64_t)strlen(out[i].text)) == -1);
    rgm_line_translations_clear(out, 2);
    trained_close(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- what is refused ----------------------------------------------------------------------- */

static void refuse(const rgm_translation_options *o, rgm_status status, const char *part)
{
    rgm_task task;

    CHECK_STATUS(status, create(&task, o));
    CHECK_MESSAGE(part);
    CHECK(task.state == NULL);
}

/* What is only found when the training data are read. */
static void refuse_data(const rgm_translation_options *o, rgm_status status, const char *part)
{
    rgm_dataset *data;
    rgm_task task;

    CHECK_OK(create(&task, o));
    CHECK_STATUS(status, task.build_inputs(&data, task.state, RGM_TRAIN, true));
    CHECK_MESSAGE(part);
    CHECK(data == NULL);
    rgm_task_release(&task);
}

static void mistakes_are_told(void **state)
{
    static const char *const short_names[2] = {"train.de", "short.en"};
    static const char *const missing_names[2] = {"train.de", "train.fr"};
    static const char *const long_names[2] = {"short.en", "short.en"};
    static const char *const nothing[2] = {"nothing.de", "nothing.de"};
    char elsewhere[160];
    rgm_translation_options o, bad;
    rgm_task task;

    (void)state;
    write_files();
    write_file("short.en", "a dog runs\n");
    o = of_files();
    CHECK_OK(create(&task, &o));
    rgm_task_release(&task);
    bad = o;
    bad.path = NULL;
    refuse(&bad, RGM_ERR_CONFIG, "data.path");
    bad = o;
    bad.tokenizer = NULL;
    refuse(&bad, RGM_ERR_CONFIG, "data.tokenizer");
    bad = o;
    snprintf(elsewhere, sizeof elsewhere, "%s/spm.model", folder);
    bad.path = "/nowhere";
    bad.tokenizer = elsewhere;
    CHECK_OK(create(&task, &bad)); /* named from the root */
    rgm_task_release(&task);
    bad = o;
    bad.tokenizer = "none.model";
    refuse(&bad, RGM_ERR_NOT_FOUND, "data.tokenizer is not in data.path");
    CHECK_MESSAGE("none.model");
    bad = o;
    bad.train.items = short_names;
    refuse_data(&bad, RGM_ERR_DATA, "short.en is short, its line 2 is missing");
    bad.train.items = missing_names;
    refuse_data(&bad, RGM_ERR_NOT_FOUND,
                "data.train is not in data.path (elsewhere: --set data.path=DIR)");
    CHECK_MESSAGE("train.fr");
    bad = o;
    bad.batch_tokens = 32;
    refuse(&bad, RGM_ERR_CONFIG, "data.batch_tokens is 32");
    bad = o;
    bad.label_smoothing = 1;
    refuse(&bad, RGM_ERR_CONFIG, "task.label_smoothing");
    bad = o;
    bad.max_length = bad.batch_tokens = 2000;
    refuse(&bad, RGM_ERR_CONFIG, "above model.max_positions (1024)");
    bad = o;
    bad.reverse.vocabulary = 9;
    bad.reverse.train = 5;
    refuse(&bad, RGM_ERR_CONFIG, "data.reverse makes the pairs");
    bad = reversing();
    bad.valid = o.valid;
    refuse(&bad, RGM_ERR_CONFIG, "data.reverse makes the pairs");
    bad = o;
    bad.max_length = bad.batch_tokens = (1 << 16) + 1;
    refuse(&bad, RGM_ERR_CONFIG, "data.max_length");
    bad = o;
    bad.train.items = long_names;
    bad.max_length = 1;
    refuse_data(&bad, RGM_ERR_DATA,
                "data.train: token batches: of 1 pairs none has at most 1 ids a side");
    write_file("nothing.de", "");
    bad = o;
    bad.train.items = nothing;
    refuse_data(&bad, RGM_ERR_DATA, "data.train: nothing.de has no pairs");
    bad = reversing();
    bad.reverse.min_length = 7;
    refuse(&bad, RGM_ERR_CONFIG, "min_length (7) up to max_length (6)");
    CHECK_OK(rgm_folder_remove(folder));
}

static void a_sentence_that_cannot_be_translated_is_told_before_the_first_step(void **state)
{
    rgm_translation_options o = reversing();
    rgm_seq2seq_options model;
    rgm_dataset *data;
    rgm_task task;

    (void)state;
    o.reverse.min_length = o.reverse.max_length = 8;
    o.reverse.valid = 3;
    o.max_length = 7;
    rgm_seq2seq_defaults(&model);
    model.max_positions = 8;
    for (int decode = 0; decode < 2; decode++) {
        o.decode = decode;
        CHECK_OK(rgm_translation_create(&task, &o, &model, 1, 1));
        CHECK_STATUS(decode ? RGM_ERR_DATA : RGM_OK,
                     task.build_inputs(&data, task.state, RGM_VALID, false));
        rgm_dataset_release(data);
        rgm_task_release(&task);
    }
    CHECK_MESSAGE(
        "data.valid: the source of pair 1 has 9 tokens with its end, but model.max_positions is 8");
}

static void a_search_that_cannot_be_is_refused_before_the_first_step(void **state)
{
    rgm_translation_options o = reversing();
    rgm_task task;

    (void)state;
    o.search.n_best = 5;
    refuse(&o, RGM_ERR_CONFIG, "task.search.n_best is 5, above beam_size (4)");
    o = reversing();
    o.search.sample = true;
    refuse(&o, RGM_ERR_CONFIG, "task.search.sample needs beam_size: 1, it is 4");
    o = reversing();
    o.search.beam_size = 5;
    refuse(&o, RGM_ERR_CONFIG, "task.search.beam_size is 5; a vocabulary of 9 allows 4");
    o.decode = false; /* nothing is searched for */
    CHECK_OK(create(&task, &o));
    rgm_task_release(&task);
}

/* The tokenizer's file with its first "<name>" spelt another way, so that the model lacks that
 * piece. */
static void spoil_tokenizer(const char *piece, const char *other, const char *name)
{
    char from[128], to[128];
    int64_t size, at = 0, length = (int64_t)strlen(piece);
    char *model;

    snprintf(from, sizeof from, "%s/spm.model", folder);
    snprintf(to, sizeof to, "%s/%s", folder, name);
    CHECK_OK(rgm_file_load(&model, &size, from, 1 << 20));
    while (at + length <= size && memcmp(model + at, piece, (size_t)length) != 0)
        at++;
    CHECK(at + length <= size && strlen(other) == strlen(piece));
    memcpy(model + at, other, (size_t)length);
    CHECK_OK(rgm_file_save(to, model, size));
    rgm_free(model);
}

static void a_tokenizer_must_pad_with_0_and_end_sentences(void **state)
{
    rgm_translation_options o;

    (void)state;
    write_files();
    o = of_files();
    spoil_tokenizer("<pad>", "<pax>", "no_padding.model");
    spoil_tokenizer("</s>", "</x>", "no_end.model");
    o.tokenizer = "no_padding.model";
    refuse(&o, RGM_ERR_DATA,
           "no_padding.model: its padding has no id, but batches are padded with 0");
    CHECK_MESSAGE("regimen text train-tokenizer");
    o.tokenizer = "no_end.model";
    refuse(&o, RGM_ERR_DATA, "no_end.model has no end of sentence (</s>)");
    CHECK_MESSAGE("regimen text train-tokenizer");
    o.tokenizer = "spm.model";
    o.target_tokenizer = "no_end.model";
    refuse(&o, RGM_ERR_DATA, "no_end.model has no end");
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- files that travel with the weights ------------------------------------------------------ */

static rgm_status use(rgm_task *task, const rgm_translation_options *o, const char *run_dir,
                      bool over)
{
    static rgm_translation_options own;

    own = *o;
    own.run_dir = run_dir;
    own.trained = over;
    return create(task, &own);
}

static void tokenizers_travel_with_the_weights(void **state)
{
    rgm_translation_options o;
    rgm_task task, again;
    rgm_task_file files[RGM_MAX_TASK_FILES];
    rgm_dataset *data;
    char run[128], moved[96];
    int64_t count;

    (void)state;
    write_files();
    o = of_files();
    o.target_tokenizer = "spm.model";
    snprintf(run, sizeof run, "%s/run", folder);
    snprintf(moved, sizeof moved, "%s-moved", folder);
    CHECK_OK(rgm_folder_make(run));
    CHECK_OK(create(&task, &o));
    task.files(files, &count, task.state);
    CHECK_INT(2, count);
    CHECK_TEXT("tokenizer.model", files[0].name);
    CHECK_TEXT("target_tokenizer.model", files[1].name);
    CHECK_OK(rgm_task_files_check(&task, run)); /* nothing there yet */
    CHECK_OK(rgm_task_files_save(&task, run));
    CHECK_OK(rgm_task_files_check(&task, run));

    o.path = moved; /* where nothing is */
    refuse(&o, RGM_ERR_NOT_FOUND, "spm.model");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 use(&again, &o, run, false)); /* what is named may have changed */
    CHECK_OK(use(&again, &o, run, true));
    CHECK_OK(rgm_task_files_check(&again, run));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, again.build_inputs(&data, again.state, RGM_VALID, false));
    CHECK_MESSAGE("data.valid is not in data.path");
    rgm_task_release(&again);

    write_file("run/target_tokenizer.model", "another");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_task_files_check(&task, run));
    CHECK_MESSAGE("was begun with another target_tokenizer.model (7 bytes)");
    CHECK_MESSAGE("take another run folder");
    snprintf(run, sizeof run, "%s", folder); /* a folder that keeps none */
    CHECK_STATUS(RGM_ERR_NOT_FOUND, use(&again, &o, run, true));
    CHECK_MESSAGE("keeps no tokenizer.model");
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Two models, one for each language, and a vocabulary of the pieces of both. */
static void write_vocabulary(void)
{
    static const char *const names[] = {"train.de", "train.en"};
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_text text = {0};
    rgm_map *met;
    char path[128];

    options.vocab_size = 28;
    options.type = RGM_TOKENIZER_BPE;
    CHECK_OK(rgm_map_create(&met));
    for (int side = 0; side < 2; side++) {
        const char *paths[1] = {path};
        rgm_tokenizer *tokenizer;
        const void *bytes;
        int64_t size;
        snprintf(path, sizeof path, "%s/%s", folder, names[side]);
        CHECK_OK(rgm_tokenizer_train(&tokenizer, paths, 1, &options));
        for (int32_t id = 1; id < rgm_tokenizer_size(tokenizer); id++) {
            const char *piece = rgm_tokenizer_piece(tokenizer, id);
            if (rgm_map_has(met, piece))
                continue;
            CHECK_OK(rgm_text_printf(&text, text.size == 0 ? "{" : ","));
            CHECK_OK(rgm_json_print_text(&text, piece));
            CHECK_OK(rgm_text_printf(&text, ":%lld", (long long)rgm_map_count(met)));
            CHECK_OK(rgm_map_set(met, piece, met));
        }
        bytes = rgm_tokenizer_model(tokenizer, &size);
        snprintf(path, sizeof path, "%s/%s.spm", folder, names[side]);
        CHECK_OK(rgm_file_save(path, bytes, size));
        rgm_tokenizer_release(tokenizer);
    }
    CHECK_OK(rgm_text_printf(&text, ",\"<pad>\":%lld}", (long long)rgm_map_count(met)));
    write_file("vocab.json", text.data);
    rgm_text_clear(&text);
    rgm_map_release(met);
}

static void a_vocabulary_gives_two_models_one_table(void **state)
{
    static const char *const names[] = {"tokenizer.model", "target_tokenizer.model",
                                        "vocabulary.yml"};
    rgm_translation_options o;
    rgm_task task, again;
    rgm_task_file files[RGM_MAX_TASK_FILES];
    rgm_text keys = {0};
    rgm_dataset *data;
    char run[128];
    int64_t count;

    (void)state;
    write_files();
    write_vocabulary();
    o = of_files();
    o.tokenizer = "train.de.spm";
    o.target_tokenizer = "train.en.spm";
    refuse(&o, RGM_ERR_CONFIG, "one tokenizer, or a data.vocabulary of both");
    o.vocabulary = "nowhere.json";
    refuse(&o, RGM_ERR_NOT_FOUND, "data.tokenizer or its vocabulary is not in data.path");
    o.vocabulary = "vocab.json";
    snprintf(run, sizeof run, "%s/run", folder);
    CHECK_OK(rgm_folder_make(run));
    CHECK_OK(create(&task, &o));
    CHECK_OK(task.build_inputs(&data, task.state, RGM_VALID, false));
    rgm_dataset_release(data);
    task.files(files, &count, task.state);
    CHECK_INT(3, count);
    for (int64_t i = 0; i < count; i++)
        CHECK_TEXT(names[i], files[i].name);
    CHECK_OK(task.save_serving(&keys, run, task.state));
    CHECK(strcmp(keys.data, "  tokenizer: tokenizer.model\n"
                            "  target_tokenizer: target_tokenizer.model\n"
                            "  vocabulary: vocabulary.yml\n") == 0);
    rgm_text_clear(&keys);
    CHECK_OK(rgm_task_files_save(&task, run));
    write_file("vocab.json", "{}"); /* a run that was trained has its own */
    CHECK_OK(use(&again, &o, run, true));
    CHECK_OK(rgm_task_files_check(&again, run));
    rgm_task_release(&again);
    CHECK_STATUS(RGM_ERR_FORMAT, use(&again, &o, run, false));
    o.train_tokenizer.vocab_size = 30;
    o.tokenizer = o.target_tokenizer = NULL;
    refuse(&o, RGM_ERR_CONFIG, "data.vocabulary does not go with it");
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* One model, whose pieces have other ids in targets: the run's files and a table of their own. */
static void a_target_can_have_its_own_vocabulary(void **state)
{
    rgm_translation_options o;
    rgm_task_file files[RGM_MAX_TASK_FILES];
    rgm_task task;
    int64_t count;

    (void)state;
    write_files();
    write_vocabulary();
    write_file("target.json", "{\"<unk>\":0,\"</s>\":1,\"e\":2}");
    o = of_files();
    o.search.beam_size = 1;
    o.tokenizer = "train.de.spm";
    o.vocabulary = "vocab.json";
    o.target_vocabulary = "target.json";
    refuse(&o, RGM_ERR_CONFIG, "but the vocabularies have");
    o.vocabulary = "target.json";
    CHECK_OK(create(&task, &o));
    task.files(files, &count, task.state);
    CHECK_INT(3, count);
    CHECK_TEXT("vocabulary.yml", files[1].name);
    CHECK_TEXT("target_vocabulary.yml", files[2].name);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Rows of a table by their pieces, of a run with another tokenizer. */
static void rows_of_another_run_are_found_by_piece(void **state)
{
    rgm_translation_options o;
    rgm_tokenizer *other, *own;
    char run[128], path[160];
    int64_t from[40], found = 0, size;
    const void *bytes;
    rgm_task task;
    bool known;

    (void)state;
    write_files();
    write_vocabulary();
    o = of_files();
    snprintf(run, sizeof run, "%s/run", folder);
    CHECK_OK(rgm_folder_make(run));
    CHECK_OK(create(&task, &o));
    CHECK_OK(task.match_rows(from, &known, "embedding/table", 40, run, task.state));
    CHECK(!known); /* the run keeps no tokenizer */
    CHECK_OK(rgm_task_files_save(&task, run));
    CHECK_OK(task.match_rows(from, &known, "encoder/norm/gamma", 40, run, task.state));
    CHECK(!known);
    CHECK_OK(task.match_rows(from, &known, "output/bias", 40, run, task.state));
    CHECK(known);
    for (int64_t i = 0; i < 40; i++)
        CHECK_INT(i, from[i]);
    snprintf(path, sizeof path, "%s/spm.model", folder);
    CHECK_OK(rgm_tokenizer_load(&own, path));
    snprintf(path, sizeof path, "%s/train.de.spm", folder);
    CHECK_OK(rgm_tokenizer_load(&other, path));
    bytes = rgm_tokenizer_model(other, &size);
    snprintf(path, sizeof path, "%s/tokenizer.model", run);
    CHECK_OK(rgm_file_save(path, bytes, size));
    CHECK_OK(task.match_rows(from, &known, "embedding/table", 40, run, task.state));
    CHECK(known);
    for (int32_t i = 0; i < 40; i++) {
        const char *piece = rgm_tokenizer_piece(own, i);
        bool there =
            strcmp(piece, rgm_tokenizer_piece(other, rgm_tokenizer_find(other, piece))) == 0;
        CHECK_INT(there ? rgm_tokenizer_find(other, piece) : -1, from[i]);
        found += from[i] != i && there;
    }
    CHECK(found > 3);
    rgm_tokenizer_release(own);
    rgm_tokenizer_release(other);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Trained once: whoever goes on or looks has the kept one, and no other is made in its place. */
static void a_tokenizer_of_the_run_is_trained_once(void **state)
{
    rgm_translation_options o;
    rgm_task task, again;
    char run[128];

    (void)state;
    write_files();
    o = of_files();
    o.tokenizer = NULL;
    o.train_tokenizer.vocab_size = 60;
    o.train_tokenizer.type = RGM_TOKENIZER_BPE;
    snprintf(run, sizeof run, "%s/run", folder);
    CHECK_OK(rgm_folder_make(run));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, use(&again, &o, run, true));
    CHECK_MESSAGE("keeps no tokenizer.model, which its weights were trained with");
    CHECK_OK(use(&task, &o, run, false));
    CHECK_OK(rgm_task_files_save(&task, run));
    write_file("train.de", "ganz was andres\n");
    for (int over = 0; over < 2; over++) {
        CHECK_OK(use(&again, &o, run, over));
        CHECK_OK(rgm_task_files_check(&again, run));
        rgm_task_release(&again);
    }
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status make_data(rgm_dataset **data, const rgm_translation_options *o)
{
    rgm_task task;
    rgm_status status = create(&task, o);

    *data = NULL;
    if (status == RGM_OK)
        status = task.build_inputs(data, task.state, RGM_TRAIN, true);
    rgm_task_release(&task);
    return status;
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    rgm_translation_options o = reversing();
    rgm_dataset *data;
    rgm_task task;
    char run[128];

    (void)state;
    CHECK_EVERY_OOM(create(&task, &o), rgm_task_release(&task));
    CHECK_EVERY_OOM(make_data(&data, &o), rgm_dataset_release(data));
    write_files();
    o = of_files();
    CHECK_EVERY_OOM(make_data(&data, &o), rgm_dataset_release(data));
    snprintf(run, sizeof run, "%s/run", folder);
    CHECK_OK(rgm_folder_make(run));
    CHECK_OK(create(&task, &o));
    CHECK_EVERY_OOM(rgm_task_files_save(&task, run), (void)0);
    CHECK_EVERY_OOM(rgm_task_files_check(&task, run), (void)0);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(batches_hold_every_pair_once_shifted_and_with_positions),
      cmocka_unit_test(references_score_best_and_empty_translations_do_not),
      cmocka_unit_test(tfrecords_are_the_same_pairs_as_their_lines),
      cmocka_unit_test(text_that_is_trained_on_goes_once_it_is_tokens),
      cmocka_unit_test(scores_are_those_that_were_asked_for),
      cmocka_unit_test(lines_stay_in_order_and_are_the_same_alone),
      cmocka_unit_test(a_validation_leaves_no_search_behind),
      cmocka_unit_test(lines_before_a_bad_one_are_translated),
      cmocka_unit_test(a_sentence_that_cannot_be_translated_is_told_before_the_first_step),
      cmocka_unit_test(a_search_that_cannot_be_is_refused_before_the_first_step),
      cmocka_unit_test(lines_are_drawn_the_same_in_whatever_parts),
      cmocka_unit_test(lines_of_text_go_through_the_tokenizer), cmocka_unit_test(mistakes_are_told),
      cmocka_unit_test(a_tokenizer_must_pad_with_0_and_end_sentences),
      cmocka_unit_test(tokenizers_travel_with_the_weights),
      cmocka_unit_test(a_vocabulary_gives_two_models_one_table),
      cmocka_unit_test(a_target_can_have_its_own_vocabulary),
      cmocka_unit_test(rows_of_another_run_are_found_by_piece),
      cmocka_unit_test(a_tokenizer_of_the_run_is_trained_once),
      cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing))
