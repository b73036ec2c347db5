/*
 * Imports of small folders that are written here: which number goes where, what is refused and by
 * which name, and folders of strangers. (tests/oracle/huggingface_oracle.py has Transformers write
 * and read such folders.)
 */
#include <check.h>

#include <unistd.h>

#include <regimen/text.h>

#include "import_check.h"
#include "model_import_internal.h"

enum { WIDTH = 4, INNER = 6, POSITIONS = 8 };

static int64_t vocabulary;

/* ---- a folder -------------------------------------------------------------------------------- */

/** Tensors whose number i is 1000 (their place in the list) + i. */
typedef struct tensors {
    rgm_named_tensor items[64];
    char names[64][96];
    int64_t count;
} tensors;

static rgm_tensor *add(tensors *t, const char *name, int rank, int64_t rows, int64_t columns)
{
    rgm_named_tensor *item = &t->items[t->count];
    float *numbers;

    snprintf(t->names[t->count], sizeof t->names[0], "%s", name);
    item->name = t->names[t->count];
    CHECK_OK(rgm_tensor_create(&item->tensor, RGM_F32, rank, (int64_t[]){rows, columns}));
    numbers = rgm_tensor_f32(item->tensor);
    for (int64_t i = 0; i < rgm_tensor_count(item->tensor); i++)
        numbers[i] = (float)(1000 * t->count + i);
    t->count++;
    return item->tensor;
}

static void gpt2_tensors(tensors *t)
{
    static const struct {
        const char *name;
        int rank;
        int64_t rows, columns;
    } of_layer[] = {{"ln_1.weight", 1, WIDTH, 1},
                    {"ln_1.bias", 1, WIDTH, 1},
                    {"attn.c_attn.weight", 2, WIDTH, 3 * WIDTH},
                    {"attn.c_attn.bias", 1, 3 * WIDTH, 1},
                    {"attn.c_proj.weight", 2, WIDTH, WIDTH},
                    {"attn.c_proj.bias", 1, WIDTH, 1},
                    {"ln_2.weight", 1, WIDTH, 1},
                    {"ln_2.bias", 1, WIDTH, 1},
                    {"mlp.c_fc.weight", 2, WIDTH, INNER},
                    {"mlp.c_fc.bias", 1, INNER, 1},
                    {"mlp.c_proj.weight", 2, INNER, WIDTH},
                    {"mlp.c_proj.bias", 1, WIDTH, 1}};
    char name[96];

    t->count = 0;
    add(t, "transformer.wte.weight", 2, vocabulary, WIDTH);
    add(t, "transformer.wpe.weight", 2, POSITIONS, WIDTH);
    add(t, "transformer.ln_f.weight", 1, WIDTH, 1);
    add(t, "transformer.ln_f.bias", 1, WIDTH, 1);
    for (int layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < sizeof of_layer / sizeof *of_layer; i++) {
            snprintf(name, sizeof name, "transformer.h.%d.%s", layer, of_layer[i].name);
            add(t, name, of_layer[i].rank, of_layer[i].rows, of_layer[i].columns);
        }
}

static void save_tensors(tensors *t, const char *name)
{
    unlink(in(name));
    CHECK_OK(rgm_safetensors_save(in(name), t->items, t->count, NULL, 0));
    for (int64_t i = 0; i < t->count; i++)
        rgm_tensor_release(t->items[i].tensor);
}

/* GPT-2's configuration with some members in the place of its own. */
static void save_config(const char *changed)
{
    char text[1024];
    static const char *const members[][2] = {
        {"model_type", "\"gpt2\""}, {"n_embd", "4"},      {"n_layer", "2"},      {"n_head", "2"},
        {"n_inner", "6"},           {"n_positions", "8"}, {"eos_token_id", "0"}, {NULL, NULL}};
    int size = snprintf(text, sizeof text, "{\"architectures\": [\"GPT2LMHeadModel\"]");

    for (int i = 0; members[i][0] != NULL; i++)
        if (strstr(changed, members[i][0]) == NULL)
            size += snprintf(text + size, sizeof text - (size_t)size, ", \"%s\": %s", members[i][0],
                             members[i][1]);
    if (strstr(changed, "vocab_size") == NULL)
        size += snprintf(text + size, sizeof text - (size_t)size, ", \"vocab_size\": %lld",
                         (long long)vocabulary);
    snprintf(text + size, sizeof text - (size_t)size, "%s%s}", *changed != '\0' ? ", " : "",
             changed);
    save("hf/config.json", text);
}

/* The tokenizer of the fuzz corpus. */
static void save_tokenizer(void)
{
    rgm_tokenizer *tokenizer = NULL;
    char *text = NULL;
    int64_t size;

    CHECK_OK(rgm_file_load(&text, &size, "fuzz/corpus/tokenizer/gpt2.json", 1 << 20));
    CHECK_OK(rgm_tokenizer_create(&tokenizer, text, size, "gpt2.json"));
    vocabulary = rgm_tokenizer_size(tokenizer);
    rgm_tokenizer_release(tokenizer);
    save("hf/tokenizer.json", text);
    rgm_free(text);
}

static int make_gpt2(void **state)
{
    tensors t;

    (void)state;
    folder = check_folder();
    CHECK_OK(rgm_folder_make(in("hf")));
    save_tokenizer();
    save_config("");
    gpt2_tensors(&t);
    save_tensors(&t, "hf/model.safetensors");
    return 0;
}

static int remove_gpt2(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : 1;
}

/* An import fails with a message, and nothing of it is left. */
static void refused(rgm_status expected, const char *message)
{
    rgm_model_import_report report;
    char **names = NULL;
    int64_t count = 0;

    CHECK_STATUS(expected, rgm_model_import(&report, in("hf"), in("run"), NULL));
    rgm_model_import_report_clear(&report);
    CHECK_MESSAGE(message);
    CHECK_OK(rgm_folder_list(&names, &count, folder));
    CHECK_INT(1, count);
    rgm_names_release(names, count);
}

/* ---- what goes where ------------------------------------------------------------------------- */

static const float *weight(rgm_tensor **owner, const rgm_safetensors *weights, const char *name)
{
    rgm_tensor_release(*owner);
    CHECK_OK(rgm_safetensors_get(owner, weights, name));
    return rgm_tensor_f32(*owner);
}

static void each_number_goes_to_its_place(void **state)
{
    rgm_model_import_report report;
    rgm_safetensors *weights = NULL;
    rgm_tensor *owner = NULL;
    const float *x;
    rgm_text text = {0};

    (void)state;
    CHECK_OK(rgm_model_import(&report, in("hf"), in("run"), NULL));
    CHECK_TEXT("Hugging Face", report.source);
    CHECK_TEXT("gpt2", report.family);
    CHECK_INT(3 + 1 + 2 * 16, report.count); /* c_attn is three parameters, of kernel and bias */
    CHECK_OK(rgm_safetensors_open(&weights, in("run/ckpt/step-00000000/weights.safetensors")));
    x = weight(&owner, weights, "embedding/table");
    for (int64_t i = 0; i < rgm_tensor_count(owner); i++)
        CHECK(x[i] == (float)(i < vocabulary * WIDTH ? i : 0));
    x = weight(&owner, weights, "decoder/layer_1/attention/key/kernel"); /* tensor 4 + 12 + 2 */
    for (int64_t i = 0; i < WIDTH * WIDTH; i++)
        CHECK(x[i] == (float)(18000 + i / WIDTH * 3 * WIDTH + WIDTH + i % WIDTH));
    x = weight(&owner, weights, "decoder/layer_1/attention/value/bias");
    for (int64_t i = 0; i < WIDTH; i++)
        CHECK(x[i] == (float)(19000 + 2 * WIDTH + i));
    CHECK_OK(rgm_model_import_report_print(&text, &report));
    CHECK(strstr(text.data, "transformer.h.1.attn.c_attn.weight") != NULL);
    CHECK(strstr(text.data, "as is, part 2 of 3") != NULL);
    text.size = 0;
    CHECK_OK(rgm_model_import_report_print_json(&text, &report));
    CHECK(strstr(text.data, "\"to\": \"decoder/layer_1/attention/value/bias\"") != NULL);
    CHECK(strstr(text.data, "prompts are read alone, as there") != NULL);
    rgm_text_clear(&text);
    rgm_tensor_release(owner);
    rgm_safetensors_close(weights);
    rgm_model_import_report_clear(&report);
    CHECK_STATUS(RGM_ERR_BUSY, rgm_model_import(NULL, in("hf"), in("run"), NULL));
    CHECK_MESSAGE("is not empty");
}

static void a_table_serves_both_ways(void **state)
{
    static const rgm_weight_name rows[] = {{"a", "o%/a", RGM_WEIGHT_TURNED, 1, 3},
                                           {"b.%.c", "o%/b", 0, 1, 2},
                                           {"d", "o/d", RGM_WEIGHT_TOKENS | RGM_WEIGHT_ROW, 0, 0},
                                           {"e", "o/e", RGM_WEIGHT_TOKENS, 0, 0},
                                           {0}};
    static const struct {
        int rank;
        int64_t shape[2], theirs[2];
    } forms[] = {
        {2, {3, 2}, {6, 3}}, {1, {4, 0}, {8, 0}}, {1, {8, 0}, {1, 5}}, {2, {8, 3}, {5, 3}}};
    const rgm_weight_tokens tokens = {.theirs = 5, .taken = 5};
    int64_t layer;

    (void)state;
    CHECK(rgm_weight_find(rows, "o12/b", &layer) == &rows[1] && layer == 12);
    CHECK(rgm_weight_find(rows, "o012/b", &layer) == NULL);
    CHECK(rgm_weight_find(rows, "o/b", &layer) == NULL);
    for (int k = 0; k < 4; k++) {
        rgm_tensor *ours = NULL, *back = NULL, *theirs = NULL;

        CHECK_OK(rgm_tensor_create(&ours, RGM_F32, forms[k].rank, forms[k].shape));
        CHECK_OK(rgm_tensor_create(&back, RGM_F32, forms[k].rank, forms[k].shape));
        for (int64_t i = 0; i < rgm_tensor_count(ours); i++)
            rgm_tensor_f32(ours)[i] =
                k < 2 || i < 5 * rgm_tensor_count(ours) / 8 ? (float)i + 1 : 0;
        CHECK_OK(rgm_weight_give(&theirs, ours, &rows[k], &tokens));
        CHECK_INT(forms[k].theirs[0], rgm_tensor_dim(theirs, 0));
        if (forms[k].theirs[1] > 0)
            CHECK_INT(forms[k].theirs[1], rgm_tensor_dim(theirs, 1));
        CHECK_OK(rgm_weight_take(back, theirs, &rows[k], &tokens));
        CHECK(rgm_tensor_equal(ours, back));
        if (k == 0) /* ours (0, 1) is row 2 + 1 of theirs, column 0 */
            CHECK(rgm_tensor_f32(theirs)[3 * 3] == 2 && rgm_tensor_f32(theirs)[0] == 0);
        rgm_tensor_release(ours);
        rgm_tensor_release(back);
        rgm_tensor_release(theirs);
    }
}

/* ---- configurations -------------------------------------------------------------------------- */

static void keys_that_make_another_model_are_refused_by_name(void **state)
{
    static const struct {
        const char *changed;
        rgm_status status;
        const char *message;
    } cases[] = {
        {"\"scale_attn_by_inverse_layer_idx\": true", RGM_ERR_UNSUPPORTED,
         "scale_attn_by_inverse_layer_idx is true"},
        {"\"activation_function\": \"gelu_10\"", RGM_ERR_UNSUPPORTED,
         "activation_function is \"gelu_10\""},
        {"\"new_trick\": [1, {\"a\": 2}]", RGM_ERR_UNSUPPORTED, "new_trick is [1,{\"a\":2}]"},
        {"\"pruned_heads\": {\"0\": [1]}", RGM_ERR_UNSUPPORTED, "pruned_heads is {\"0\":[1]}"},
        {"\"quantization_config\": {\"bits\": 4}", RGM_ERR_UNSUPPORTED, "quantization_config"},
        {"\"model_type\": \"mamba\"", RGM_ERR_UNSUPPORTED,
         "model_type is \"mamba\": read here are gpt2, llama, mistral, qwen2"},
        {"\"model_type\": null", RGM_ERR_UNSUPPORTED, "model_type is missing"},
        {"\"n_layer\": 65", RGM_ERR_UNSUPPORTED, "n_layer is 65: 1 to 64"},
        {"\"n_layer\": 2.5", RGM_ERR_FORMAT, "n_layer is 2.5 and not a whole number"},
        {"\"n_layer\": \"two\"", RGM_ERR_FORMAT, "n_layer is \"two\""},
        {"\"n_layer\": -9223372036854775808", RGM_ERR_UNSUPPORTED, "1 to 64"},
        {"\"n_embd\": null", RGM_ERR_NOT_FOUND, "lacks n_embd"},
        {"\"n_embd\": 65536, \"n_head\": 1, \"n_layer\": 64", RGM_ERR_FORMAT, "weights at least"},
        {"\"n_embd\": 65536, \"n_positions\": 1000000, \"n_head\": 1", RGM_ERR_UNSUPPORTED,
         "1000000 positions of heads of the width 65536"},
        {"\"n_inner\": 1000000", RGM_ERR_FORMAT, "weights at least"},
        {"\"n_head\": 3", RGM_ERR_UNSUPPORTED, "3 heads do not divide the width 4"},
        {"\"n_embd\": 3, \"n_head\": 3", RGM_ERR_UNSUPPORTED, "embedding_width"},
        {"\"n_embd\": 8", RGM_ERR_SHAPE, "by the configuration it would be"},
        {"\"n_layer\": 1", RGM_ERR_DATA, "nothing of the model is 'transformer.h.1."},
        {"\"n_layer\": 3", RGM_ERR_NOT_FOUND, "no tensor 'transformer.h.2."},
        {"\"tie_word_embeddings\": false", RGM_ERR_NOT_FOUND, "no tensor 'lm_head.weight'"},
        {"\"tie_word_embeddings\": 1", RGM_ERR_FORMAT, "not true or false"},
        {"\"layer_norm_epsilon\": 0", RGM_ERR_UNSUPPORTED, "layer_norm_epsilon is 0"},
        {"\"layer_norm_epsilon\": NaN", RGM_ERR_UNSUPPORTED, "layer_norm_epsilon is \"nan\""},
        {"\"vocab_size\": 7", RGM_ERR_CONFIG, "vocab_size is 7, but tokenizer.json has"},
        {"\"vocab_size\": 99999", RGM_ERR_CONFIG, "--cut-vocabulary leaves the others out"},
        {"\"eos_token_id\": 5", RGM_ERR_UNSUPPORTED, "eos_token_id is 5: by tokenizer.json it is"},
        {"\"n_head\": 2, \"n_head\": 2", RGM_ERR_FORMAT, "config.json"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save_config(cases[i].changed);
        refused(cases[i].status, cases[i].message);
    }
}

static void what_is_no_configuration_is_refused(void **state)
{
    static const char *const texts[] = {"",    "[]", "7", "{\"model_type\": ", "{\"a\": \"\xff\"}",
                                        "null"};
    char *deep = malloc(100001);

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        save("hf/config.json", texts[i]);
        refused(RGM_ERR_FORMAT, "config.json");
    }
    memset(deep, '[', 100000);
    deep[100000] = '\0';
    save("hf/config.json", deep);
    refused(RGM_ERR_FORMAT, "config.json");
    free(deep);
    CHECK(unlink(in("hf/config.json")) == 0);
    refused(RGM_ERR_UNSUPPORTED, "is nothing that can be imported");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_model_import(NULL, in("none"), in("run"), NULL));
    CHECK_MESSAGE("there is no");
}

static void a_key_that_the_user_knows_may_be_ignored(void **state)
{
    static const char *const keys[] = {"new_trick", "eos_token_id"};
    const rgm_texts ignored = {keys, 2};
    rgm_model_import_options options = {.ignored = &ignored};
    rgm_model_import_report report;

    (void)state;
    save_config("\"new_trick\": 1, \"eos_token_id\": 5");
    CHECK_OK(rgm_model_import(&report, in("hf"), in("run"), &options));
    CHECK(strstr(report.notes.data, "eos_token_id: token ") != NULL);
    rgm_model_import_report_clear(&report);
}

static void how_texts_are_written_there_is_told(void **state)
{
    rgm_model_import_report report;

    (void)state;
    save("hf/generation_config.json", "{\"temperature\": 0.6, \"top_p\": 1.0, \"top_k\": null}");
    CHECK_OK(rgm_model_import(&report, in("hf"), in("run"), NULL));
    CHECK(strstr(report.notes.data, "generation_config.json: temperature is 0.6: "
                                    "task.generate.temperature says it here") != NULL);
    CHECK(strstr(report.notes.data, "top_") == NULL);
    rgm_model_import_report_clear(&report);
}

/* The notes of an import with those members of config.json; file NULL: no generation_config.json.
 */
static char *notes_of(const char *changed, const char *file)
{
    rgm_model_import_report report;
    char *notes;

    save_config(changed);
    if (file != NULL)
        save("hf/generation_config.json", file);
    CHECK_OK(rgm_model_import(&report, in("hf"), in("run"), NULL));
    CHECK_OK(rgm_strdup(&notes, report.notes.data));
    rgm_model_import_report_clear(&report);
    CHECK_OK(rgm_folder_remove(in("run")));
    return notes;
}

static void says(const char *changed, const char *file, const char *note)
{
    char *notes = notes_of(changed, file);

    if (strstr(notes, note) == NULL)
        fail_msg("no '%s' in %s", note, notes);
    rgm_free(notes);
}

static void says_nothing(const char *changed, const char *file)
{
    char *notes = notes_of(changed, file);

    if (strstr(notes, "config.json: ") != NULL)
        fail_msg("%s", notes);
    rgm_free(notes);
}

static void every_key_of_how_texts_are_written_is_told(void **state)
{
    (void)state;
    says("\"suppress_tokens\": [5], \"eos_token_id\": 0", NULL,
         "config.json: suppress_tokens is [5]: task.generate has no such key; left out");
    says("", "{\"no_repeat_ngram_size\": 3}", "no_repeat_ngram_size is 3: task.generate has no");
    says("", "{\"do_sample\": false}", "do_sample is false: task.generate.temperature: 0 says it");
    says("", "{\"stop_strings\": [\"x\"]}",
         "stop_strings is [\"x\"]: task.generate has no such key");
    says("", "{\"max_length\": 50}", "max_length is 50: task.generate.max_tokens says it here");
    says_nothing("\"suppress_tokens\": [5]",
                 "{\"num_beams\": 1, \"do_sample\": true, \"max_length\": 20, \"use_cache\": true, "
                 "\"typical_p\": 1.0, \"bad_words_ids\": null, \"eos_token_id\": 0}");
}

/* One of a list is ours; the others would not end a text here. */
static void other_ends_are_told(void **state)
{
    (void)state;
    says("\"eos_token_id\": [5, 0]", NULL,
         "config.json: eos_token_id is [5,0]: that ends a text there; here 0 alone does");
    says("\"eos_token_id\": [5, 0]", "{\"use_cache\": true}",
         "\nconfig.json: eos_token_id is [5,0]");
    says("", "{\"eos_token_id\": [0, 5]}",
         "generation_config.json: eos_token_id is [0,5]: that ends");
    says("", "{\"eos_token_id\": 5}",
         "generation_config.json: eos_token_id is 5: that ends a text");
    says_nothing("\"eos_token_id\": [0, 5]", "{\"eos_token_id\": [0]}");
}

static void tokens_without_a_piece_are_left_out_where_asked(void **state)
{
    rgm_model_import_options options = {.cut_vocabulary = true};
    rgm_model_import_report report;
    rgm_safetensors *weights = NULL;
    rgm_tensor *owner = NULL;
    const float *x;
    char changed[64];
    tensors t;

    (void)state;
    vocabulary += 11;
    gpt2_tensors(&t);
    save_tensors(&t, "hf/model.safetensors");
    snprintf(changed, sizeof changed, "\"vocab_size\": %lld", (long long)vocabulary);
    vocabulary -= 11;
    save_config(changed);
    refused(RGM_ERR_CONFIG, "--cut-vocabulary");
    CHECK_OK(rgm_model_import(&report, in("hf"), in("run"), &options));
    CHECK(strstr(report.notes.data, "vocabulary: ") != NULL);
    rgm_model_import_report_clear(&report);
    CHECK_OK(rgm_safetensors_open(&weights, in("run/ckpt/step-00000000/weights.safetensors")));
    x = weight(&owner, weights, "embedding/table");
    for (int64_t i = 0; i < rgm_tensor_count(owner); i++)
        CHECK(x[i] == (float)(i < vocabulary * WIDTH ? i : 0));
    rgm_tensor_release(owner);
    rgm_safetensors_close(weights);
}

/* ---- Llama's configurations ------------------------------------------------------------------ */

/* What configure() makes of a configuration whose weights are not looked at: the experiment's text,
 * or the status. */
static rgm_status configured(rgm_text *out, const char *type, const char *members)
{
    rgm_status status = RGM_OK;
    rgm_model_import_report report = {0};
    rgm_model_import_options options = {0};
    rgmi_import_source source = {0};
    rgmi_import_work work = {.source = &source, .options = &options, .report = &report};
    rgm_json_writer w = {.out = out};
    char text[1024];

    out->size = 0;
    snprintf(text, sizeof text,
             "{\"model_type\": \"%s\", \"hidden_size\": 8, \"intermediate_size\": 6, "
             "\"num_hidden_layers\": 3, \"num_attention_heads\": 4, \"num_key_value_heads\": 2, "
             "\"max_position_embeddings\": 16, \"vocab_size\": %lld%s%s}",
             type, (long long)vocabulary, *members != '\0' ? ", " : "", members);
    save("hf/config.json", text);
    RGM_GO(rgmi_import_source_open(&source, in("hf")));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_COMPACT));
    RGM_GO(source.family->configure(&w, &work));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgmi_import_config_done(&source.config, source.family, NULL));
done:
    rgmi_import_source_close(&source);
    rgm_model_import_report_clear(&report);
    return status;
}

static void rotary_positions_biases_and_windows_are_read(void **state)
{
    static const struct {
        const char *type, *members, *says;
    } cases[] = {
        {"llama", "", "\"rotary_base\": 10000"},
        {"llama", "\"rope_theta\": 500000.0", "\"rotary_base\": 500000"},
        {"llama", "\"rope_parameters\": {\"rope_type\": \"default\", \"rope_theta\": 7.5}",
         "\"rotary_base\": 7.5"},
        {"llama", "\"rope_scaling\": null, \"head_dim\": 2", "\"attention_window\": 0"},
        {"llama",
         "\"pretraining_tp\": 1, \"is_llama_config\": true, \"rope_interleaved\": false, "
         "\"torch_dtype\": \"bfloat16\", \"_name_or_path\": \"x\", \"use_cache\": true",
         "\"use_bias\": false"},
        {"llama", "\"attention_bias\": true", "\"use_bias\": true"},
        {"llama", "\"mlp_bias\": true", "\"ffn_bias\": true"},
        {"llama", "\"hidden_act\": \"gelu_pytorch_tanh\"", "\"activation\": \"gelu_tanh\""},
        {"mistral", "", "\"attention_window\": 4096"},
        {"mistral", "\"sliding_window\": null", "\"attention_window\": 0"},
        {"mistral", "\"sliding_window\": 5", "\"attention_window\": 5"},
        {"qwen2", "\"sliding_window\": 5", "\"attention_window\": 0"},
        {"qwen2", "\"sliding_window\": 5, \"use_sliding_window\": true, \"max_window_layers\": 0",
         "\"attention_window\": 5"},
        {"qwen2", "\"sliding_window\": 5, \"use_sliding_window\": true, \"max_window_layers\": 3",
         "\"attention_window\": 0"},
        {"qwen2", "\"tie_word_embeddings\": true", "\"qkv_bias\": true"},
    };
    rgm_text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_OK(configured(&text, cases[i].type, cases[i].members));
        if (strstr(text.data, cases[i].says) == NULL)
            fail_msg("%s with %s lacks %s:\n%s", cases[i].type, cases[i].members, cases[i].says,
                     text.data);
    }
    rgm_text_clear(&text);
}

static void what_llama_lacks_here_is_refused(void **state)
{
    static const struct {
        const char *type, *members, *message;
    } cases[] = {
        {"llama", "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 2.0}",
         "rope_scaling is {\"type\":\"linear\",\"factor\":2.0}"},
        {"llama", "\"rope_scaling\": {\"rope_type\": \"default\", \"factor\": 2.0}",
         "rope_scaling"},
        {"llama", "\"rope_parameters\": {\"rope_type\": \"llama3\"}", "rope_parameters is {"},
        {"llama", "\"rope_parameters\": {\"partial_rotary_factor\": 0.5}",
         "every number of a head"},
        {"llama", "\"rope_parameters\": {\"full_attention\": {\"rope_theta\": 1.0}}",
         "rope_theta alone"},
        {"llama", "\"rope_theta\": 2.0, \"rope_parameters\": {\"rope_theta\": 3.0}",
         "another number"},
        {"llama", "\"rope_parameters\": 3", "it is a map"},
        {"llama", "\"partial_rotary_factor\": 0.5", "partial_rotary_factor is 0.5"},
        {"llama", "\"rope_theta\": 0", "rope_theta is 0"},
        {"llama", "\"rope_interleaved\": true", "rope_interleaved is true"},
        {"qwen2", "\"use_mrope\": true", "use_mrope is true: a token has one position"},
        {"llama", "\"head_dim\": 3", "head_dim is 3"},
        {"llama", "\"hidden_act\": \"mish\"", "hidden_act is \"mish\""},
        {"llama", "\"layer_types\": [\"full_attention\", \"chunked\", \"full_attention\"]",
         "layer_types is"},
        {"llama", "\"layer_types\": [\"full_attention\"]", "a word for each layer"},
        {"mistral", "\"attention_bias\": true", "attention_bias is true"},
        {"mistral", "\"sliding_window\": 0", "sliding_window is 0"},
        {"mistral",
         "\"layer_types\": [\"full_attention\", \"sliding_attention\", \"full_attention\"]",
         "windows of some layers alone"},
        {"qwen2", "\"sliding_window\": 5, \"use_sliding_window\": true, \"max_window_layers\": 1",
         "max_window_layers is 1: windows of some layers"},
    };
    rgm_text text = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_UNSUPPORTED, configured(&text, cases[i].type, cases[i].members));
        CHECK_MESSAGE(cases[i].message);
    }
    rgm_text_clear(&text);
}

/* ---- files of strangers ---------------------------------------------------------------------- */

static void tensors_that_do_not_fit_are_refused(void **state)
{
    tensors t;

    (void)state;
    gpt2_tensors(&t);
    add(&t, "transformer.h.0.attn.c_gate.weight", 1, 3, 1);
    save_tensors(&t, "hf/model.safetensors");
    refused(RGM_ERR_DATA, "nothing of the model is 'transformer.h.0.attn.c_gate.weight'");
    gpt2_tensors(&t);
    add(&t, "lm_head.weight", 2, vocabulary, WIDTH);
    save_tensors(&t, "hf/model.safetensors");
    refused(RGM_ERR_DATA, "'lm_head.weight' differs from 'transformer.wte.weight'");
    gpt2_tensors(&t);
    rgm_tensor_f32(t.items[5].tensor)[3] = NAN;
    save_tensors(&t, "hf/model.safetensors");
    refused(RGM_ERR_NUMERIC, "number 3 is nan");
    gpt2_tensors(&t);
    for (int64_t i = 6; i < t.count; i++)
        rgm_tensor_release(t.items[i].tensor);
    t.count = 6;
    add(&t, "transformer.h.0.attn.c_attn.weight", 2, 3 * WIDTH, WIDTH);
    save_tensors(&t, "hf/model.safetensors");
    refused(RGM_ERR_SHAPE, "is f32[12,4], by the configuration it would be [4, 12]");
}

/* A mask that versions of before saved is left out, and names without the prefix are found. */
static void names_of_other_versions_are_read(void **state)
{
    rgm_model_import_report report;
    tensors t;

    (void)state;
    gpt2_tensors(&t);
    for (int64_t i = 0; i < t.count; i++)
        t.items[i].name += strlen("transformer.");
    add(&t, "h.0.attn.bias", 2, POSITIONS, POSITIONS);
    save_tensors(&t, "hf/model.safetensors");
    CHECK_OK(rgm_model_import(&report, in("hf"), in("run"), NULL));
    CHECK(report.rows[report.count - 1].to == NULL);
    CHECK_TEXT("the causal mask, no weight", report.rows[report.count - 1].how);
    rgm_model_import_report_clear(&report);
}

static void several_files_are_read_by_their_index(void **state)
{
    static const char *const wrong[][2] = {
        {"{\"weight_map\": {\"a\": \"../hf/a.safetensors\"}}", "is no name of a file beside it"},
        {"{\"weight_map\": {\"a\": \"none.safetensors\"}}", "none.safetensors"},
        {"{\"weight_map\": {\"a\": 3}}", "'a' has no name of a file"},
        {"{\"weight_map\": []}", "it has no weight_map"},
        {"{\"weight_map\": {\"b\": \"a.safetensors\"}}", "a.safetensors has no 'b'"},
    };
    rgm_text index = {0};
    tensors t, half = {.count = 0};

    (void)state;
    CHECK(unlink(in("hf/model.safetensors")) == 0);
    refused(RGM_ERR_NOT_FOUND, "neither model.safetensors nor model.safetensors.index.json");
    save("hf/pytorch_model.bin", "PK");
    refused(RGM_ERR_UNSUPPORTED, "a pickle");
    gpt2_tensors(&t);
    CHECK_OK(rgm_text_printf(&index, "{\"metadata\": {}, \"weight_map\": {"));
    for (int64_t i = 0; i < t.count; i++)
        CHECK_OK(rgm_text_printf(&index, "%s\"%s\": \"%s.safetensors\"", i > 0 ? ", " : "",
                                 t.items[i].name, i < 9 ? "a" : "b"));
    CHECK_OK(rgm_text_printf(&index, "}}"));
    for (int64_t i = 9; i < t.count; i++)
        half.items[half.count++] = t.items[i];
    t.count = 9;
    save_tensors(&t, "hf/a.safetensors");
    save_tensors(&half, "hf/b.safetensors");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        save("hf/model.safetensors.index.json", wrong[i][0]);
        CHECK(rgm_model_import(NULL, in("hf"), in("run"), NULL) != RGM_OK);
        CHECK_MESSAGE(wrong[i][1]);
    }
    save("hf/model.safetensors.index.json", index.data);
    CHECK_OK(rgm_model_import(NULL, in("hf"), in("run"), NULL));
    rgm_text_clear(&index);
}

static void a_file_that_is_cut_anywhere_is_refused(void **state)
{
    static const char *const names[] = {"hf/model.safetensors", "hf/config.json",
                                        "hf/tokenizer.json"};

    (void)state;
    for (int k = 0; k < 3; k++) {
        char *data = NULL;
        int64_t size;

        CHECK_OK(rgm_file_load(&data, &size, in(names[k]), 1 << 24));
        for (int i = 0; i < 12; i++) {
            CHECK_OK(rgm_file_save(in(names[k]), data, size * i / 12));
            CHECK(rgm_model_import(NULL, in("hf"), in("run"), NULL) != RGM_OK);
            CHECK(!rgm_path_exists(in("run")));
        }
        CHECK_OK(rgm_file_save(in(names[k]), data, size));
        rgm_free(data);
    }
    CHECK(unlink(in("hf/tokenizer.json")) == 0);
    refused(RGM_ERR_NOT_FOUND, "neither tokenizer.json nor tokenizer.model");
}

static void memory_may_end_anywhere(void **state)
{
    rgmi_import_source source;
    const char *path = in("hf");

    (void)state;
    CHECK_EVERY_OOM(rgmi_import_source_open(&source, path), rgmi_import_source_close(&source));
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_gpt2, remove_gpt2)

TESTS(PLACED(each_number_goes_to_its_place), cmocka_unit_test(a_table_serves_both_ways),
      PLACED(keys_that_make_another_model_are_refused_by_name),
      PLACED(what_is_no_configuration_is_refused), PLACED(a_key_that_the_user_knows_may_be_ignored),
      PLACED(how_texts_are_written_there_is_told),
      PLACED(every_key_of_how_texts_are_written_is_told), PLACED(other_ends_are_told),
      PLACED(tokens_without_a_piece_are_left_out_where_asked),
      PLACED(rotary_positions_biases_and_windows_are_read),
      PLACED(what_llama_lacks_here_is_refused), PLACED(tensors_that_do_not_fit_are_refused),
      PLACED(names_of_other_versions_are_read), PLACED(several_files_are_read_by_their_index),
      PLACED(a_file_that_is_cut_anywhere_is_refused), PLACED(memory_may_end_anywhere))
