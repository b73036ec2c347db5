/*
 * The task of language models from C: what its options contradict, what it reads and releases.
 * (tests/language_test.sh trains one.)
 */
#include <check.h>

#include <unistd.h>

#include "language_internal.h"

static const char *folder;

static void remove_folder(void)
{
    rgm_folder_remove(folder);
}

static void save(const char *name, const char *text)
{
    char path[256];

    if (folder == NULL) {
        folder = check_folder();
        atexit(remove_folder);
    }
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

static rgm_language_options options_of(void)
{
    static const char *const train[] = {"train.txt"};
    static char tokenizer[512];
    rgm_language_options o;

    save("train.txt", "a man in a hat\na dog\n");
    if (getcwd(tokenizer, sizeof tokenizer - 64) == NULL)
        fail_msg("getcwd failed");
    snprintf(tokenizer + strlen(tokenizer), 64, "/fuzz/corpus/tokenizer/gpt2.json");
    rgm_language_defaults(&o);
    o.path = folder;
    o.train = (rgm_texts){train, 1};
    o.tokenizer = tokenizer;
    o.block_length = 16;
    o.batch_tokens = 64;
    return o;
}

static rgm_decoder_options small_model(void)
{
    rgm_decoder_options m;

    rgm_decoder_defaults(&m);
    m.embedding_width = 16;
    m.max_positions = 32;
    m.decoder.num_layers = 1;
    m.decoder.num_attention_heads = 2;
    m.decoder.intermediate_size = 16;
    return m;
}

static void check_refused(const rgm_language_options *o, const char *message)
{
    rgm_decoder_options model = small_model();
    rgm_task task;

    CHECK_STATUS(RGM_ERR_CONFIG, rgm_language_create(&task, o, &model, 1, 1));
    CHECK(task.state == NULL);
    CHECK_MESSAGE(message);
}

static void options_that_contradict_each_other_are_told(void **state)
{
    rgm_language_options o = options_of();

    (void)state;
    o.path = NULL;
    check_refused(&o, "data.path: name the folder");
    o = options_of();
    o.train.count = 0;
    o.tokenizer = NULL;
    o.train_tokenizer.vocab_size = 100;
    check_refused(&o, "data.train: name the files to train on");
    o = options_of();
    o.tokenizer = NULL;
    check_refused(&o, "data.tokenizer: name the tokenizer's file");
    o.train_tokenizer.vocab_size = 100;
    o.tokenizer = "x";
    check_refused(&o, "data.train_tokenizer makes the tokenizer");
    o = options_of();
    o.batch_tokens = 60;
    check_refused(&o, "no multiple of data.block_length (16)");
    o = options_of();
    o.block_length = o.batch_tokens = 64;
    check_refused(&o, "data.block_length is 64, above model.max_positions (32)");
    o = options_of();
    o.generate.top_p = 0;
    check_refused(&o, "task.generate.top_p");
}

/* A model from elsewhere writes and is validated without them. */
static void without_data_a_model_is_not_trained(void **state)
{
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgm_dataset *inputs = NULL;
    rgm_task task;

    (void)state;
    o.train.count = 0;
    CHECK_OK(rgm_language_create(&task, &o, &model, 1, 1));
    CHECK_STATUS(RGM_ERR_CONFIG, task.build_inputs(&inputs, task.state, RGM_TRAIN, true));
    CHECK_MESSAGE("data.train: name the files to train on");
    rgm_task_release(&task);
}

static void the_tokenizer_is_a_file_of_the_task(void **state)
{
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgm_task_file files[RGM_MAX_TASK_FILES];
    int64_t count;
    rgm_task task;

    (void)state;
    CHECK_OK(rgm_language_create(&task, &o, &model, 1, 1));
    task.files(files, &count, task.state);
    CHECK_INT(1, count);
    CHECK_TEXT("tokenizer.json", files[0].name);
    CHECK_INT(0, rgm_language_generating(&task)->end_id);
    rgm_task_release(&task);
    o.tokenizer = "nowhere.json";
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_language_create(&task, &o, &model, 1, 1));
    CHECK_MESSAGE("data.tokenizer is not in data.path");
}

static void batches_are_blocks_of_documents(void **state)
{
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgm_iterator *iterator;
    rgm_dataset *data;
    rgm_element *batch;
    rgm_task task;

    (void)state;
    CHECK_OK(rgm_language_create(&task, &o, &model, 1, 2));
    CHECK_OK(task.build_inputs(&data, task.state, RGM_VALID, false));
    CHECK(data == NULL);
    CHECK_OK(task.build_inputs(&data, task.state, RGM_TRAIN, false));
    CHECK_INT(1, rgm_dataset_count(data));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    CHECK_OK(rgm_iterator_next(&batch, iterator));
    CHECK_INT(5, rgm_element_count(batch));
    CHECK_INT(4, rgm_tensor_dim(rgm_element_tensor(batch, 0), 0));
    CHECK_INT(16, rgm_tensor_dim(rgm_element_tensor(batch, 0), 1));
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    CHECK_OK(task.build_prediction_inputs(&data, task.state, RGM_TRAIN));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    CHECK_OK(rgm_iterator_next(&batch, iterator));
    CHECK_INT(2, rgm_tensor_dim(rgm_element_tensor(batch, 0), 0));
    CHECK_INT(1, task.item_number(batch, 0, 1, task.state));
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    rgm_task_release(&task);
}

/* A document of zeros would be scored as if it were one. */
static void a_token_file_that_is_cut_off_is_told(void **state)
{
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgm_tokenizer *tokenizer;
    rgm_iterator *iterator;
    rgm_tokens *tokens;
    rgm_dataset *data;
    rgm_element *batch;
    char text[512], cut[512];
    const char *path = text, *train = "cut.tokens";
    rgm_task task;

    (void)state;
    snprintf(text, sizeof text, "%s/%s", o.path, o.train.items[0]);
    snprintf(cut, sizeof cut, "%s/%s", o.path, train);
    CHECK_OK(rgm_tokenizer_load(&tokenizer, o.tokenizer));
    CHECK_OK(rgm_tokens_encode(&tokens, &path, 1, tokenizer, RGM_DOCUMENTS_LINES, 1));
    CHECK_OK(rgm_tokens_save(tokens, cut));
    rgm_tokens_release(tokens);
    rgm_tokenizer_release(tokenizer);
    o.train = (rgm_texts){&train, 1};
    CHECK_OK(rgm_language_create(&task, &o, &model, 1, 1));
    CHECK_OK(task.build_prediction_inputs(&data, task.state, RGM_TRAIN));
    CHECK_INT(0, truncate(cut, 0));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    CHECK_STATUS(RGM_ERR_IO, rgm_iterator_next(&batch, iterator));
    CHECK_MESSAGE("cut.tokens was cut off");
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    rgm_task_release(&task);
}

/* ---- texts as they grow ---------------------------------------------------------------------- */

/* What all tokens make, less what the prompt makes. */
static void whole_behind(rgm_text *out, const rgm_tokenizer *t, const int32_t *ids, int64_t prompt,
                         int64_t count)
{
    rgm_text before = {0};

    out->size = 0;
    CHECK_OK(rgm_tokenizer_decode(&before, t, ids, prompt));
    CHECK_OK(rgm_tokenizer_decode(out, t, ids, count));
    CHECK(before.size == 0 || memcmp(out->data, before.data, (size_t)before.size) == 0);
    out->size -= before.size;
    memmove(out->data, out->data + before.size, (size_t)out->size);
    rgm_text_clear(&before);
}

/* Whether tokens make whole characters. */
static bool is_whole(const rgm_tokenizer *t, const int32_t *ids, int64_t count)
{
    rgm_text text = {0};
    bool whole;

    CHECK_OK(rgm_tokenizer_decode(&text, t, ids, count));
    whole = text.size < 3 || memcmp(text.data + text.size - 3, "\xef\xbf\xbd", 3) != 0;
    rgm_text_clear(&text);
    return whole;
}

/* What grows is always a beginning of the whole in whole characters, and at last the whole. */
static void check_growing(const rgm_tokenizer *t, const char *line, int64_t prompt)
{
    rgmi_growing g = {0};
    rgm_text whole = {0};
    rgm_ids ids = {0};
    int64_t size = 0;

    CHECK_OK(rgm_tokenizer_encode(&ids, t, line, (int64_t)strlen(line)));
    prompt = prompt < ids.count ? prompt : 0;
    while (!is_whole(t, ids.items, prompt))
        prompt++;
    whole_behind(&whole, t, ids.items, prompt, ids.count);
    CHECK_OK(rgmi_growing_begin(&g, t, ids.items, prompt));
    for (int64_t i = prompt; i < ids.count; i++) {
        CHECK_OK(rgmi_growing_add(&g, ids.items, i + 1));
        CHECK(g.text.size >= size && g.text.size <= whole.size);
        CHECK(rgm_utf8_check(g.text.data, g.text.size) < 0);
        CHECK(g.text.size == 0 || memcmp(g.text.data, whole.data, (size_t)g.text.size) == 0);
        CHECK(i + 1 - g.from < 70); /* tokens that were looked at: no more in a long text */
        size = g.text.size;
    }
    CHECK_INT(whole.size, size);
    rgmi_growing_clear(&g);
    rgm_text_clear(&whole);
    rgm_ids_clear(&ids);
}

static void a_text_grows_by_whole_characters(void **state)
{
    static const char line[] = " a man \xe7\x8a\xac\xe7\x8a\xac na\xc3\xafve \xf0\x9f\x99\x82"
                               "\xf0\x9f\x99\x82 in  a hat,\tand\na dog";
    rgm_language_options o = options_of();
    rgm_tokenizer_options small = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_tokenizer *tokenizers[2];
    char file[512];
    const char *path = file;
    rgm_text text = {0};

    (void)state;
    for (int i = 0; i < 40; i++)
        CHECK_OK(rgm_text_printf(&text, "%s %d", line, i * 37));
    save("many.txt", "a man in a hat\na dog and a man\na hat and a dog\nin a man\n");
    snprintf(file, sizeof file, "%s/many.txt", o.path);
    small.vocab_size = 16;
    CHECK_OK(rgm_tokenizer_load(&tokenizers[0], o.tokenizer));
    CHECK_OK(rgm_tokenizer_train(&tokenizers[1], &path, 1, &small));
    for (int k = 0; k < 2; k++) {
        check_growing(tokenizers[k], "", 0);
        check_growing(tokenizers[k], "a", 0);
        for (int64_t prompt = 0; prompt < 100; prompt += 7)
            check_growing(tokenizers[k], text.data, prompt);
        rgm_tokenizer_release(tokenizers[k]);
    }
    rgm_text_clear(&text);
}

static void stops_are_found_and_what_may_become_one_is_held_back(void **state)
{
    static const char *const items[] = {"END", "\n\n", "EN"};
    const rgm_texts stops = {items, 3}, long_ones = {items, 2}, none = {0};
    rgm_text text = {0};

    (void)state;
    CHECK_INT(-1, rgmi_stop_find(&stops, &text, 0));
    CHECK_INT(0, rgmi_stop_begun(&stops, &text));
    CHECK_OK(rgm_text_add(&text, "a\nE", 3));
    CHECK_INT(-1, rgmi_stop_find(&stops, &text, 0));
    CHECK_INT(1, rgmi_stop_begun(&stops, &text));
    CHECK_INT(0, rgmi_stop_begun(&none, &text));
    CHECK_OK(rgm_text_add(&text, "N", 1));
    CHECK_INT(2, rgmi_stop_begun(&long_ones, &text));
    CHECK_INT(-1, rgmi_stop_find(&long_ones, &text, 3));
    CHECK_INT(2, rgmi_stop_find(&stops, &text, 3)); /* half of it stood there before */
    CHECK_OK(rgm_text_add(&text, "D\n\n", 3));
    CHECK_INT(2, rgmi_stop_find(&long_ones, &text, 4));
    CHECK_INT(5, rgmi_stop_find(&long_ones, &text, 6)); /* what stands before it was searched */
    rgm_text_clear(&text);
}

/* ---- wishes ---------------------------------------------------------------------------------- */

static rgm_status wish(rgmi_language_request **out, const rgm_task *task, const char *json)
{
    static const rgm_texts none = {0};
    rgm_status status;
    rgm_json *wishes;

    CHECK_OK(rgm_json_parse(&wishes, json, (int64_t)strlen(json), "wishes"));
    status = rgmi_language_request_create(out, task->state, (rgm_str){"a dog", 5},
                                          rgm_language_generating(task), &none, wishes);
    rgm_json_release(wishes);
    return status;
}

static void wishes_have_names_and_bounds(void **state)
{
    static const struct {
        const char *json, *part;
    } wrong[] = {{"{\"tokns\": 3}", "'tokns' cannot be wished; did you mean 'tokens'?"},
                 {"{\"tokens\": 0}", "'tokens' is a whole number in [1, 1e+09]"},
                 {"{\"tokens\": 1.5}", "'tokens' is a whole"},
                 {"{\"tokens\": \"3\"}", "'tokens' is a whole"},
                 {"{\"temperature\": \"inf\"}", "'temperature' is a number in [0, 1e+06]"},
                 {"{\"temperature\": -1}", "'temperature' is"},
                 {"{\"top_p\": 0}", "'top_p' is a number in (0, 1]"},
                 {"{\"top_p\": null}", "'top_p' is"},
                 {"{\"min_p\": 1.01}", "'min_p' is"},
                 {"{\"repetition\": 0}", "'repetition' is"},
                 {"{\"repetition\": 1e-310}", "'repetition' is a number in [1e-06, 1e+06]"},
                 {"{\"seed\": -1}", "'seed' is a whole"},
                 {"{\"seed\": 1e300}", "'seed' is a whole"},
                 {"{\"stop\": 3}", "'stop' is a text, or a list of at most 16"},
                 {"{\"stop\": [\"\"]}", "a text of 1 to 256 bytes"},
                 {"{\"stop\": [[\"a\"]]}", "a text of 1 to 256 bytes"},
                 {"[3]", "wishes are an object"}};
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgmi_language_request *r;
    rgm_task task;

    (void)state;
    CHECK_OK(rgm_language_create(&task, &o, &model, 1, 1));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK_STATUS(RGM_ERR_DATA, wish(&r, &task, wrong[i].json));
        CHECK_MESSAGE(wrong[i].part);
        CHECK(r == NULL);
    }
    CHECK_OK(wish(&r, &task,
                  "{\"prompt\": 1, \"tokens\": 7, \"temperature\": 0, \"top_k\": 3, \"top_p\": "
                  "0.5, \"min_p\": 0.25, \"repetition\": 2, \"seed\": 9, \"stop\": [\"x\", "
                  "\"y\"]}"));
    CHECK_INT(7, r->options.max_tokens);
    CHECK(r->options.temperature == 0 && r->options.top_p == 0.5 && r->options.min_p == 0.25);
    CHECK(r->options.repetition_penalty == 2 && r->has_seed);
    CHECK_INT(3, r->options.top_k);
    CHECK_INT(9, r->options.seed);
    CHECK_INT(2, r->stop_count);
    CHECK_TEXT("y", r->stops[1]);
    rgmi_language_request_release(r);
    CHECK_OK(wish(&r, &task, "{\"stop\": \"alone\"}"));
    CHECK(!r->has_seed && r->stop_count == 1);
    rgmi_language_request_release(r);
    rgm_task_release(&task);
}

static rgm_status write_two(const rgm_task *task, const rgm_parameters *parameters)
{
    static const char *const items[] = {"zz"};
    static const rgm_str prompts[] = {{"a", 1}, {"", 0}};
    rgm_generate_options options = *rgm_language_generating(task);
    const rgm_texts stops = {items, 1};
    rgm_language_text texts[2];

    options.max_tokens = 2;
    RGM_TRY(rgm_language_write(texts, task, parameters, prompts, 2, &options, &stops, NULL, false));
    rgm_language_texts_clear(texts, 2);
    return RGM_OK;
}

/* One prompt is too long: it says so, and the others have their texts. */
static void a_bad_prompt_harms_no_other(void **state)
{
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgm_str prompts[3] = {{"a man", 5}, {"", 0}, {"a dog", 5}};
    rgm_language_text alone, texts[3];
    rgm_parameters *parameters;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_task_model made = {0};
    char many[200];
    rgm_task task;

    (void)state;
    memset(many, 'x', sizeof many);
    prompts[1] = (rgm_str){many, sizeof many};
    o.generate.max_tokens = 5;
    o.generate.scored = true;
    CHECK_OK(rgm_language_create(&task, &o, &model, 1, 1));
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK_OK(rgm_scope_create(&scope, graph, RGM_F32));
    CHECK_OK(task.build_model(&made, scope, task.state));
    CHECK_OK(rgm_parameters_create(&parameters, graph, 1));
    CHECK_OK(rgm_language_write(texts, &task, parameters, prompts, 3,
                                rgm_language_generating(&task), NULL, NULL, false));
    CHECK(texts[0].error == NULL && texts[2].error == NULL && texts[1].text == NULL);
    CHECK(strstr(texts[1].error, "but model.max_positions is 32") != NULL);
    CHECK_OK(rgm_language_write(&alone, &task, parameters, prompts, 1,
                                rgm_language_generating(&task), NULL, NULL, false));
    CHECK_TEXT(alone.text, texts[0].text);
    CHECK(alone.log_probability == texts[0].log_probability && alone.log_probability < 0);
    rgm_language_texts_clear(&alone, 1);
    rgm_language_texts_clear(texts, 3);
    CHECK_EVERY_OOM(write_two(&task, parameters), (void)0);
    rgm_parameters_release(parameters);
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
    rgm_task_release(&task);
}

static void gives_memory_back_when_there_is_none(void **state)
{
    rgm_language_options o = options_of();
    rgm_decoder_options model = small_model();
    rgm_task task = {0};

    (void)state;
    CHECK_EVERY_OOM(rgm_language_create(&task, &o, &model, 1, 1), rgm_task_release(&task));
}

TESTS(cmocka_unit_test(options_that_contradict_each_other_are_told),
      cmocka_unit_test(without_data_a_model_is_not_trained),
      cmocka_unit_test(the_tokenizer_is_a_file_of_the_task),
      cmocka_unit_test(batches_are_blocks_of_documents),
      cmocka_unit_test(a_token_file_that_is_cut_off_is_told),
      cmocka_unit_test(a_text_grows_by_whole_characters),
      cmocka_unit_test(stops_are_found_and_what_may_become_one_is_held_back),
      cmocka_unit_test(wishes_have_names_and_bounds), cmocka_unit_test(a_bad_prompt_harms_no_other),
      cmocka_unit_test(gives_memory_back_when_there_is_none))
