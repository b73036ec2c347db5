/*
 * Imports of small models of Marian that are written here, and of the same weights as a folder of
 * MarianMT: which number goes where, what is refused and by which name, and files of strangers.
 * (tests/oracle/marian_oracle.sh has Transformers run both.)
 */
#include "npz_check.h"

#include <unistd.h>

#include "import_check.h"
#include "model_import_internal.h"

enum { WIDTH = 4, INNER = 6, MOST_ARRAYS = 80 };

static int64_t tokens; /* of the vocabulary, without padding */

/* ---- what lies beside the weights ------------------------------------------------------------ */

/* A SentencePiece model, and its pieces in Marian's form and in that of Transformers. */
static void save_tokenizers(void)
{
    rgm_tokenizer_options options = RGM_TOKENIZER_OPTIONS_INIT;
    rgm_text yaml = {0}, json = {0};
    const char *paths[] = {in("text")};
    rgm_tokenizer *t;
    const void *bytes;
    int64_t size;

    save("text", "a dog runs\ntwo dogs run in the snow\na child plays in the snow\n");
    options.vocab_size = 30;
    options.type = RGM_TOKENIZER_BPE;
    CHECK_OK(rgm_tokenizer_train(&t, paths, 1, &options));
    tokens = rgm_tokenizer_size(t) - 1;
    CHECK_OK(rgm_text_printf(&json, "{"));
    for (int32_t id = 1; id <= tokens; id++) {
        CHECK_OK(rgm_json_print_text(&yaml, rgm_tokenizer_piece(t, id)));
        CHECK_OK(rgm_text_printf(&yaml, ": %d\n", id - 1));
        CHECK_OK(rgm_json_print_text(&json, rgm_tokenizer_piece(t, id)));
        CHECK_OK(rgm_text_printf(&json, ": %d, ", id - 1));
    }
    CHECK_OK(rgm_text_printf(&json, "\"<pad>\": %lld}", (long long)tokens));
    bytes = rgm_tokenizer_model(t, &size);
    for (int k = 0; k < 4; k++)
        CHECK_OK(rgm_file_save(in((const char *[]){"m/source.spm", "m/target.spm", "hf/source.spm",
                                                   "hf/target.spm"}[k]),
                               bytes, size));
    save("m/x.vocab.yml", yaml.data);
    save("hf/vocab.json", json.data);
    rgm_text_clear(&yaml);
    rgm_text_clear(&json);
    rgm_tokenizer_release(t);
}

/* Whether one of some lines has the key of another one. */
static bool has_key(const char *lines, const char *line)
{
    size_t size = strcspn(line, ":") + 1;

    for (const char *at = lines; at != NULL; at = strchr(at, '\n')) {
        at += *at == '\n';
        if (strncmp(at, line, size) == 0)
            return true;
    }
    return false;
}

/* Marian's configuration with some lines in the place of its own. */
static void print_config(rgm_text *out, const char *changed)
{
    static const char *const lines[] = {"type: transformer",
                                        "dim-emb: 4",
                                        "enc-depth: 1",
                                        "dec-depth: 1",
                                        "transformer-heads: 2",
                                        "transformer-dim-ffn: 6",
                                        "transformer-ffn-activation: swish",
                                        "transformer-ffn-depth: 2",
                                        "transformer-preprocess: \"\"",
                                        "transformer-postprocess: dan",
                                        "transformer-postprocess-emb: d",
                                        "transformer-decoder-autoreg: self-attention",
                                        "transformer-tied-layers:\n  []",
                                        "input-types:\n  []",
                                        "tied-embeddings-all: true",
                                        "enc-cell: gru",
                                        "version: v1.9.0; 2020"};

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (!has_key(changed, lines[i]))
            CHECK_OK(rgm_text_printf(out, "%s\n", lines[i]));
    CHECK_OK(rgm_text_printf(out, "%s\n", changed));
    if (strstr(changed, "dim-vocabs") == NULL)
        CHECK_OK(rgm_text_printf(out, "dim-vocabs:\n  - %lld\n  - %lld\n", (long long)tokens,
                                 (long long)tokens));
}

/* ---- arrays ---------------------------------------------------------------------------------- */

/** An archive whose array k has the numbers 1000 k, 1000 k + 1, .. over 2^10. */
typedef struct model {
    archive archive;
    int arrays;
    const char *without; /* an array that is not written */
} model;

static void add(model *m, const char *name, int64_t rows, int64_t columns)
{
    float numbers[64 * WIDTH];
    char line[128], file[128];

    CHECK(rows * columns <= 64 * WIDTH);
    for (int64_t i = 0; i < rows * columns; i++)
        numbers[i] = (float)(1000 * m->arrays + i) / 1024;
    m->arrays++;
    if (m->without != NULL && strcmp(name, m->without) == 0)
        return;
    snprintf(line, sizeof line,
             "{'descr': '<f4', 'fortran_order': False, 'shape': (%lld,%lld,), }\n", (long long)rows,
             (long long)columns);
    snprintf(file, sizeof file, "%s.npy", name);
    archive_add_array(&m->archive, file, line, numbers, rows * columns * 4);
}

static void add_attention(model *m, const char *block, const char *place)
{
    char name[64];

    for (const char *part = "qkvo"; *part != '\0'; part++) {
        snprintf(name, sizeof name, "%s_W%c", block, *part);
        add(m, name, WIDTH, WIDTH);
        snprintf(name, sizeof name, "%s_b%c", block, *part);
        add(m, name, 1, WIDTH);
    }
    snprintf(name, sizeof name, "%s_Wo_ln_scale%s", block, place);
    add(m, name, 1, WIDTH);
    snprintf(name, sizeof name, "%s_Wo_ln_bias%s", block, place);
    add(m, name, 1, WIDTH);
}

static void add_feed_forward(model *m, const char *block, const char *place)
{
    char name[64];

    for (int k = 1; k <= 2; k++) {
        snprintf(name, sizeof name, "%s_W%d", block, k);
        add(m, name, k == 1 ? WIDTH : INNER, k == 1 ? INNER : WIDTH);
        snprintf(name, sizeof name, "%s_b%d", block, k);
        add(m, name, 1, k == 1 ? INNER : WIDTH);
    }
    snprintf(name, sizeof name, "%s_ffn_ln_scale%s", block, place);
    add(m, name, 1, WIDTH);
    snprintf(name, sizeof name, "%s_ffn_ln_bias%s", block, place);
    add(m, name, 1, WIDTH);
}

static void add_config(model *m, const char *changed)
{
    rgm_text config = {0};
    char line[128];

    print_config(&config, changed);
    snprintf(line, sizeof line, NPY_LINE("|i1", "False", "(%lld,)"), (long long)config.size + 1);
    archive_add_array(&m->archive, "special:model.yml.npy", line, config.data, config.size + 1);
    rgm_text_clear(&config);
}

/* A model with a line of its configuration, without an array, or with one more. */
static void save_model(const char *changed, const char *without, const char *more)
{
    bool before = strstr(changed, "transformer-preprocess: n\n") != NULL;
    model m = {.without = without};
    const char *place = before ? "_pre" : "";

    add(&m, "Wemb", tokens, WIDTH);
    add(&m, "decoder_ff_logit_out_b", 1, tokens);
    add_attention(&m, "encoder_l1_self", place);
    add_feed_forward(&m, "encoder_l1_ffn", place);
    add_attention(&m, "decoder_l1_self", place);
    add_attention(&m, "decoder_l1_context", place);
    add_feed_forward(&m, "decoder_l1_ffn", place);
    if (more != NULL)
        add(&m, more, 1, WIDTH);
    add_config(&m, changed);
    archive_finish(&m.archive);
    CHECK_OK(rgm_file_save(in("m/model.npz"), m.archive.bytes.data, m.archive.bytes.size));
    archive_clear(&m.archive);
}

static int make_folder(void **state)
{
    (void)state;
    folder = check_folder();
    CHECK_OK(rgm_folder_make(in("m")));
    CHECK_OK(rgm_folder_make(in("hf")));
    save_tokenizers();
    save_model("skip: false", NULL, NULL);
    save("m/decoder.yml", "models:\n  - model.npz\nvocabs:\n  - x.vocab.yml\n  - x.vocab.yml\n"
                          "beam-size: 6\nnormalize: 0.6\nword-penalty: 0\n");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : 1;
}

static void refused(const char *source, rgm_status expected, const char *message)
{
    CHECK_STATUS(expected, rgm_model_import(NULL, in(source), in("run"), NULL));
    CHECK_MESSAGE(message);
    CHECK(!rgm_path_exists(in("run")));
}

/* ---- what goes where ------------------------------------------------------------------------- */

static rgm_tensor *weight(const rgm_safetensors *weights, const char *name)
{
    rgm_tensor *t;

    CHECK_OK(rgm_safetensors_get(&t, weights, name));
    return t;
}

static void each_number_of_marian_goes_to_its_place(void **state)
{
    rgm_model_import_report report;
    rgm_safetensors *weights;
    rgm_tensor *t;
    char *config = NULL;
    int64_t size;

    (void)state;
    CHECK_OK(rgm_model_import(&report, in("m"), in("run"), NULL));
    CHECK_TEXT("Marian", report.source);
    CHECK_INT(2 + 3 * 10 + 2 * 6, report.count);
    CHECK(strstr(report.notes.data, "allow-unk: false there") != NULL);
    rgm_model_import_report_clear(&report);
    CHECK_OK(rgm_safetensors_open(&weights, in("run/ckpt/step-00000000/weights.safetensors")));
    t = weight(weights, "embedding/table"); /* padding, then the others */
    for (int64_t i = 0; i < rgm_tensor_count(t); i++)
        CHECK(rgm_tensor_f32(t)[i] ==
              (i < WIDTH || i >= (tokens + 1) * WIDTH ? 0 : (float)(i - WIDTH) / 1024));
    rgm_tensor_release(t);
    t = weight(weights, "output/bias");
    CHECK(rgm_tensor_f32(t)[0] == -100);
    for (int64_t i = 1; i <= tokens; i++)
        CHECK(rgm_tensor_f32(t)[i] == (float)(1000 + i - 1) / 1024);
    rgm_tensor_release(t);
    t = weight(weights, "encoder/layer_0/ffn/inner/kernel"); /* array 2 + 10 */
    for (int64_t i = 0; i < WIDTH * INNER; i++)
        CHECK(rgm_tensor_f32(t)[i] == (float)(12000 + i) / 1024);
    rgm_tensor_release(t);
    rgm_safetensors_close(weights);
    CHECK_OK(rgm_file_load(&config, &size, in("run/config.yaml"), 1 << 20));
    CHECK(strstr(config, "beam_size: 6") != NULL && strstr(config, "alpha: 0.6") != NULL);
    CHECK(strstr(config, "decode_length_factor: 3") != NULL &&
          strstr(config, "extra_decode_length: 0") != NULL);
    CHECK(strstr(config, "norm_first: false") != NULL && strstr(config, "silu") != NULL);
    rgm_free(config);
    CHECK(rgm_path_exists(in("run/vocabulary.yml")) &&
          rgm_path_exists(in("run/target_tokenizer.model")));
}

static void the_search_of_marian_is_taken_over(void **state)
{
    rgm_model_import_report report;
    char *config;
    int64_t size;

    (void)state;
    save("m/decoder.yml", "max-length-factor: 1.5\nallow-unk: true\nword-penalty: 0.1\n");
    CHECK_OK(rgm_model_import(&report, in("m"), in("run"), NULL));
    CHECK(strstr(report.notes.data, "allow-unk") == NULL);
    CHECK(strstr(report.notes.data, "word-penalty: 0.1 is not to be had here") != NULL);
    rgm_model_import_report_clear(&report);
    CHECK_OK(rgm_file_load(&config, &size, in("run/config.yaml"), 1 << 20));
    CHECK(strstr(config, "decode_length_factor: 1.5") != NULL &&
          strstr(config, "beam_size: 12") != NULL);
    rgm_free(config);
}

/* The weights of a run under the names of Transformers, whose padding is the last token. */
static void save_as_transformers(void)
{
    const rgm_weight_name *names = rgm_translation_marianmt_names;
    rgm_named_tensor given[MOST_ARRAYS];
    static char name[MOST_ARRAYS][128];
    int64_t rows[64], count;
    rgm_safetensors *weights;

    for (int64_t i = 0; i <= tokens; i++)
        rows[i] = i == 0 ? tokens : i - 1;
    CHECK_OK(rgm_safetensors_open(&weights, in("run/ckpt/step-00000000/weights.safetensors")));
    count = rgm_safetensors_count(weights);
    CHECK(count <= MOST_ARRAYS);
    for (int64_t i = 0; i < count; i++) {
        const rgm_weight_tokens by_number = {
            .theirs = tokens + 1, .taken = tokens + 1, .from = rows};
        const rgm_weight_name *row;
        rgm_tensor *ours = weight(weights, rgm_safetensors_name(weights, i));
        int64_t layer;
        row = rgm_weight_find(names, rgm_safetensors_name(weights, i), &layer);
        CHECK(row != NULL);
        CHECK_OK(rgm_weight_print(name[i], sizeof name[i], row->theirs, layer));
        given[i] = (rgm_named_tensor){name[i], NULL};
        CHECK_OK(rgm_weight_give(&given[i].tensor, ours, row, &by_number));
        rgm_tensor_release(ours);
    }
    CHECK_OK(rgm_safetensors_save(in("hf/model.safetensors"), given, count, NULL, 0));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_release(given[i].tensor);
    rgm_safetensors_close(weights);
}

/* MarianMT's configuration with a member in the place of its own. */
static void save_config(const char *changed)
{
    static const char *const members[] = {"\"model_type\": \"marian\"",
                                          "\"d_model\": 4",
                                          "\"encoder_layers\": 1",
                                          "\"decoder_layers\": 1",
                                          "\"encoder_attention_heads\": 2",
                                          "\"decoder_attention_heads\": 2",
                                          "\"encoder_ffn_dim\": 6",
                                          "\"decoder_ffn_dim\": 6",
                                          "\"max_position_embeddings\": 16",
                                          "\"scale_embedding\": true",
                                          "\"activation_function\": \"swish\"",
                                          "\"eos_token_id\": 0"};
    size_t key = strcspn(changed, ":");
    rgm_text text = {0};

    CHECK_OK(rgm_text_printf(&text, "{\"is_encoder_decoder\": true"));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strncmp(members[i], changed, key) != 0)
            CHECK_OK(rgm_text_printf(&text, ", %s", members[i]));
    if (strstr(changed, "\"vocab_size") == NULL)
        CHECK_OK(rgm_text_printf(&text, ", \"vocab_size\": %lld", (long long)tokens + 1));
    if (strstr(changed, "\"pad_token_id") == NULL)
        CHECK_OK(rgm_text_printf(&text, ", \"pad_token_id\": %lld", (long long)tokens));
    CHECK_OK(rgm_text_printf(&text, ", %s}", changed));
    save("hf/config.json", text.data);
    rgm_text_clear(&text);
}

static void both_forms_of_a_model_have_the_same_weights(void **state)
{
    rgm_safetensors *weights[2];

    (void)state;
    CHECK_OK(rgm_model_import(NULL, in("m/model.npz"), in("run"), NULL));
    save_as_transformers();
    save_config("\"init_std\": 0.02");
    CHECK_OK(rgm_model_import(NULL, in("hf"), in("again"), NULL));
    CHECK_OK(rgm_safetensors_open(&weights[0], in("run/ckpt/step-00000000/weights.safetensors")));
    CHECK_OK(rgm_safetensors_open(&weights[1], in("again/ckpt/step-00000000/weights.safetensors")));
    CHECK_INT(rgm_safetensors_count(weights[0]), rgm_safetensors_count(weights[1]));
    for (int64_t i = 0; i < rgm_safetensors_count(weights[0]); i++) {
        const char *name = rgm_safetensors_name(weights[0], i);
        rgm_tensor *one = weight(weights[0], name), *other = weight(weights[1], name);
        CHECK(rgm_tensor_equal(one, other));
        rgm_tensor_release(one);
        rgm_tensor_release(other);
    }
    rgm_safetensors_close(weights[0]);
    rgm_safetensors_close(weights[1]);
}

/* ---- how it translates ---- */

/* An import with that generation_config.json has the key, and the note; note NULL: it has none. */
static void check_search(const char *generation, const char *key, const char *note)
{
    rgm_model_import_report report;
    char *config = NULL;
    int64_t size;

    if (generation != NULL)
        save("hf/generation_config.json", generation);
    CHECK_OK(rgm_model_import(&report, in("hf"), in("again"), NULL));
    CHECK_OK(rgm_file_load(&config, &size, in("again/config.yaml"), 1 << 20));
    if (strstr(config, key) == NULL)
        fail_msg("%s: no '%s' in %s", generation, key, config);
    if (note == NULL ? strstr(report.notes.data, "config.json: ") != NULL
                     : strstr(report.notes.data, note) == NULL)
        fail_msg("%s: %s", generation, report.notes.data);
    rgm_model_import_report_clear(&report);
    rgm_free(config);
    CHECK_OK(rgm_folder_remove(in("again")));
}

static void the_search_of_transformers_is_taken_over(void **state)
{
    static const struct {
        const char *generation, *key, *note;
    } cases[] = {
        {"{\"num_beams\": 4, \"repetition_penalty\": 1.3}", "repetition_penalty: 1.3", NULL},
        {"{\"repetition_penalty\": 1.3}", "repetition_penalty: 1.3", "log-probabilities here"},
        {"{\"num_beams\": 4, \"num_return_sequences\": 3}", "n_best: 3", NULL},
        {"{\"num_return_sequences\": 3}", "beam_size: 1", "num_return_sequences is 3: beyond"},
        {"{\"min_length\": 8, \"max_length\": 12}", "decode_min_length: 7", NULL},
        {"{\"min_length\": 8, \"max_length\": 12}", "decode_max_length: 11", NULL},
        {"{\"max_new_tokens\": 9, \"max_length\": 5}", "decode_max_length: 9", NULL},
        {"{\"min_length\": 8, \"max_length\": 8}", "decode_max_length: 7",
         "min_length is 8: as long"},
        {"{\"num_beams\": 4, \"num_beam_groups\": 2, \"diversity_penalty\": 0.3}", "diversity: 0.3",
         "no part of the scores"},
        {"{\"num_beams\": 4, \"num_beam_groups\": 3}", "beam_size: 4", "does not divide"},
        {"{\"do_sample\": true, \"temperature\": 0.7, \"top_p\": 0.9}", "top_k: 50", NULL},
        {"{\"do_sample\": true, \"num_beams\": 4}", "beam_size: 4", "do_sample is true: beams"},
        {"{\"do_sample\": false, \"temperature\": 0.7}", "beam_size: 1", NULL},
        {"{\"num_beams\": 99}", "beam_size: 1", "num_beams is 99: beyond what task.search can"},
        {"{\"length_penalty\": -1.5}", "alpha: 1", "length_penalty is -1.5: beyond"},
        {"{\"no_repeat_ngram_size\": 1.5}", "beam_size: 1", "is 1.5: no whole number"},
        {"{\"early_stopping\": true}", "beam_size: 1", "early_stopping is true"},
        {"{\"early_stopping\": \"never\", \"bad_words_ids\": null}", "no_padding: true", NULL},
        {"{\"bad_words_ids\": [[3]]}", "no_padding: true", "bad_words_ids is [[3]]"},
        {"{\"sequence_bias\": [[[3], 1.0]], \"typical_p\": 1.0, \"use_cache\": true}",
         "beam_size: 1", "sequence_bias is [[[3],1.0]]: task.search has no such key"},
        {"{\"typical_p\": 1.0, \"min_p\": null, \"use_cache\": true}", "beam_size: 1", NULL},
        {"{\"new_trick\": 1}", "beam_size: 1", "new_trick is 1: task.search has no such key"},
        {"{\"eos_token_id\": [0, 3]}", "beam_size: 1", "eos_token_id is [0,3]: that ends a text"},
    };

    (void)state;
    CHECK_OK(rgm_model_import(NULL, in("m"), in("run"), NULL));
    save_as_transformers();
    save_config("\"min_length\": 8");
    check_search(NULL, "decode_min_length: 7", NULL);
    save_config("\"encoder_no_repeat_ngram_size\": 3");
    check_search(NULL, "beam_size: 1", "config.json: encoder_no_repeat_ngram_size is 3");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_search(cases[i].generation, cases[i].key, cases[i].note);
}

static void norms_before_the_blocks_have_their_names(void **state)
{
    (void)state;
    save_model("transformer-preprocess: n\ntransformer-postprocess: dan", NULL, NULL);
    refused("m", RGM_ERR_UNSUPPORTED, "transformer-postprocess is \"dan\": what a block makes");
    save_model("transformer-preprocess: n\ntransformer-postprocess: da\n"
               "transformer-postprocess-top: n",
               NULL, NULL);
    refused("m", RGM_ERR_NOT_FOUND, "has no tensor 'encoder_top_ln_scale'");
    save_model("transformer-preprocess: n\ntransformer-postprocess: da", NULL, NULL);
    CHECK_OK(rgm_model_import(NULL, in("m"), in("run"), NULL));
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void keys_of_marian_are_refused_by_name(void **state)
{
    static const struct {
        const char *changed;
        rgm_status status;
        const char *message;
    } cases[] = {
        {"type: s2s", RGM_ERR_UNSUPPORTED, "type is \"s2s\": of Marian's models the transformer"},
        {"transformer-decoder-autoreg: average-attention", RGM_ERR_UNSUPPORTED,
         "transformer-decoder-autoreg is \"average-attention\""},
        {"transformer-ffn-depth: 3", RGM_ERR_UNSUPPORTED, "transformer-ffn-depth is 3"},
        {"transformer-preprocess: nh", RGM_ERR_UNSUPPORTED, "transformer-preprocess is \"nh\""},
        {"transformer-postprocess: dhn", RGM_ERR_UNSUPPORTED, "transformer-postprocess is \"dhn\""},
        {"transformer-postprocess-emb: nd", RGM_ERR_UNSUPPORTED, "transformer-postprocess-emb"},
        {"transformer-postprocess-top: a", RGM_ERR_UNSUPPORTED, "transformer-postprocess-top"},
        {"transformer-train-position-embeddings: true", RGM_ERR_UNSUPPORTED, "is true: positions"},
        {"transformer-tied-layers: [1, 1]", RGM_ERR_UNSUPPORTED, "tied-layers is [1,1]"},
        {"transformer-ffn-activation: tanh", RGM_ERR_UNSUPPORTED, "activation is \"tanh\""},
        {"output-omit-bias: true", RGM_ERR_UNSUPPORTED, "output-omit-bias is true"},
        {"right-left: true", RGM_ERR_UNSUPPORTED, "right-left is true"},
        {"input-types: [sequence, class]", RGM_ERR_UNSUPPORTED, "input-types"},
        {"lemma-dim-emb: 8", RGM_ERR_UNSUPPORTED, "lemma-dim-emb is 8"},
        {"new-trick: [1, {a: 2}]", RGM_ERR_UNSUPPORTED, "new-trick is [1,{\"a\":2}]"},
        {"dim-vocabs: [9]", RGM_ERR_UNSUPPORTED, "dim-vocabs is [9]"},
        {"dim-vocabs: [9, 9]", RGM_ERR_CONFIG, "the vocabulary has 9 tokens, but x.vocab.yml"},
        {"dim-vocabs: [99, 99]", RGM_ERR_CONFIG, "--cut-vocabulary"},
        {"dim-emb: 6", RGM_ERR_SHAPE, "by the configuration it would be"},
        {"dim-emb: 65536", RGM_ERR_FORMAT, "weights at least"},
        {"dim-emb: many", RGM_ERR_FORMAT, "dim-emb is \"many\" and not a whole number"},
        {"transformer-heads: 3", RGM_ERR_UNSUPPORTED, "3 heads do not divide the width 4"},
        {"enc-depth: 2", RGM_ERR_NOT_FOUND, "no tensor 'encoder_l2_self_W"},
        {"tied-embeddings-all: false", RGM_ERR_NOT_FOUND, "no tensor 'encoder_Wemb'"},
        {"a: {b", RGM_ERR_FORMAT, "no configuration of Marian"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save_model(cases[i].changed, NULL, NULL);
        refused("m", cases[i].status, cases[i].message);
    }
}

static void arrays_of_marian_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    save_model("skip: false", "decoder_l1_ffn_b2", NULL);
    refused("m", RGM_ERR_NOT_FOUND, "has no tensor 'decoder_l1_ffn_b2'");
    save_model("skip: false", NULL, "Wpos");
    refused("m", RGM_ERR_DATA, "nothing of the model is 'Wpos'");
    save_model("skip: false", NULL, "encoder_l1_self_Wq_QuantMultA");
    refused("m", RGM_ERR_UNSUPPORTED, "its weights are in 8 bits, as marian-conv makes them");
    CHECK_OK(rgm_file_save(in("m/other.npz"), "", 0));
    refused("m", RGM_ERR_UNSUPPORTED, "has 2 files .npz: name the one that is meant");
    refused("m/other.npz", RGM_ERR_FORMAT, "no archive of arrays");
    refused("m/x.vocab.yml", RGM_ERR_UNSUPPORTED, "a model of Marian is a file .npz");
}

static void files_beside_a_model_are_looked_for(void **state)
{
    (void)state;
    save("m/decoder.yml", "vocabs: [../y.yml, x.vocab.yml]\n");
    refused("m", RGM_ERR_NOT_FOUND, "has no y.yml, which decoder.yml names");
    save("m/decoder.yml", "beam-size: 99\n");
    refused("m", RGM_ERR_UNSUPPORTED, "beam-size is 99");
    save("m/decoder.yml", "max-length-factor: 0\n");
    refused("m", RGM_ERR_UNSUPPORTED, "max-length-factor 0: 1 to 64");
    save("m/decoder.yml", "a: {\n");
    refused("m", RGM_ERR_FORMAT, "no options of Marian");
    CHECK(unlink(in("m/decoder.yml")) == 0);
    save("m/y.vocab.yml", "a: 0\n");
    refused("m", RGM_ERR_NOT_FOUND, "which file is the vocabulary?");
    CHECK(unlink(in("m/y.vocab.yml")) == 0);
    save("m/x.vocab.yml", "a: 0\na: 1\n");
    refused("m", RGM_ERR_FORMAT, "x.vocab.yml: 'a' is there twice");
    CHECK(unlink(in("m/target.spm")) == 0);
    refused("m", RGM_ERR_NOT_FOUND, "has no target.spm, the SentencePiece model");
}

static void keys_of_marianmt_are_refused_by_name(void **state)
{
    static const struct {
        const char *changed;
        rgm_status status;
        const char *message;
    } cases[] = {
        {"\"normalize_before\": true", RGM_ERR_UNSUPPORTED, "normalize_before is true"},
        {"\"activation_function\": \"mish\"", RGM_ERR_UNSUPPORTED,
         "activation_function is \"mish\""},
        {"\"new_trick\": 1", RGM_ERR_UNSUPPORTED, "new_trick is 1"},
        {"\"decoder_start_token_id\": 3", RGM_ERR_UNSUPPORTED, "decoder_start_token_id is 3"},
        {"\"pad_token_id\": 3", RGM_ERR_CONFIG, "pad_token_id is 3, but by vocab.json '<pad>'"},
        {"\"eos_token_id\": 2", RGM_ERR_CONFIG, "eos_token_id is 2, but by vocab.json '</s>'"},
        {"\"vocab_size\": 5", RGM_ERR_CONFIG, "has 5 tokens, but vocab.json names"},
        {"\"decoder_vocab_size\": 5", RGM_ERR_UNSUPPORTED, "decoder_vocab_size is 5"},
        {"\"forced_bos_token_id\": 5", RGM_ERR_UNSUPPORTED, "forced_bos_token_id is 5"},
        {"\"tie_word_embeddings\": false", RGM_ERR_NOT_FOUND, "no tensor 'lm_head.weight'"},
        {"\"share_encoder_decoder_embeddings\": false", RGM_ERR_NOT_FOUND,
         "no tensor 'model.encoder.embed_tokens.weight'"},
    };

    (void)state;
    CHECK_OK(rgm_model_import(NULL, in("m"), in("run"), NULL));
    save_as_transformers();
    CHECK_OK(rgm_folder_remove(in("run")));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        save_config(cases[i].changed);
        refused("hf", cases[i].status, cases[i].message);
    }
    save_config("\"init_std\": 0.02");
    CHECK(unlink(in("hf/source.spm")) == 0);
    refused("hf", RGM_ERR_NOT_FOUND, "has no source.spm");
}

static void a_file_that_is_cut_anywhere_is_refused(void **state)
{
    static const char *const names[] = {"m/model.npz", "m/x.vocab.yml", "m/source.spm"};

    (void)state;
    for (int k = 0; k < 3; k++) {
        char *data = NULL;
        int64_t size;
        CHECK_OK(rgm_file_load(&data, &size, in(names[k]), 1 << 24));
        for (int i = 0; i < 8; i++) {
            CHECK_OK(rgm_file_save(in(names[k]), data, size * i / 8));
            CHECK(rgm_model_import(NULL, in("m"), in("run"), NULL) != RGM_OK);
            CHECK(!rgm_path_exists(in("run")));
        }
        CHECK_OK(rgm_file_save(in(names[k]), data, size));
        rgm_free(data);
    }
}

static void memory_may_end_anywhere(void **state)
{
    rgmi_import_source source;
    const char *path = in("m");

    (void)state;
    CHECK_EVERY_OOM(rgmi_import_source_open(&source, path), rgmi_import_source_close(&source));
}

#define PLACED(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

TESTS(PLACED(each_number_of_marian_goes_to_its_place), PLACED(the_search_of_marian_is_taken_over),
      PLACED(both_forms_of_a_model_have_the_same_weights),
      PLACED(the_search_of_transformers_is_taken_over),
      PLACED(norms_before_the_blocks_have_their_names), PLACED(keys_of_marian_are_refused_by_name),
      PLACED(arrays_of_marian_that_do_not_fit_are_refused),
      PLACED(files_beside_a_model_are_looked_for), PLACED(keys_of_marianmt_are_refused_by_name),
      PLACED(a_file_that_is_cut_anywhere_is_refused), PLACED(memory_may_end_anywhere))
