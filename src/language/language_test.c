/*
 * The task of language models from C: what its options contradict, what it reads and releases.
 * (tests/language_test.sh trains one.)
 */
#include <check.h>

#include <unistd.h>

#include <regimen/language.h>

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
      cmocka_unit_test(gives_memory_back_when_there_is_none))
