/*
 * A translation model as files for others: every kind of model gives in the files what the executor
 * gives, the description says what they take, and a difference is found.
 */
#include <check.h>
#include <unistd.h>

#include "translation_internal.h"

typedef struct trained {
    rgm_translation_options options;
    rgm_task task;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
} trained;

static rgm_seq2seq_options small(void)
{
    rgm_seq2seq_options o;

    rgm_seq2seq_defaults(&o);
    o.embedding_width = 16;
    o.max_positions = 40;
    o.encoder.num_layers = o.decoder.num_layers = 2;
    o.encoder.num_attention_heads = o.decoder.num_attention_heads = 4;
    o.encoder.intermediate_size = o.decoder.intermediate_size = 24;
    return o;
}

/* t->options say of what. */
static void build(trained *t, const rgm_seq2seq_options *model, uint64_t seed)
{
    rgm_task_model built = {0};

    CHECK_OK(rgm_translation_create(&t->task, &t->options, model, 3, 1));
    CHECK_OK(rgm_cgraph_create(&t->graph));
    CHECK_OK(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    CHECK_OK(t->task.build_model(&built, t->scope, t->task.state));
    CHECK_OK(rgm_parameters_create(&t->parameters, t->graph, seed));
    for (int64_t i = 0; i < rgm_parameters_count(t->parameters); i++) { /* biases and norms too */
        rgm_tensor *x = rgm_parameters_tensor(t->parameters, i);
        rgm_rng rng = rgm_rng_stream(seed, "weights", (uint64_t)i);
        for (int64_t k = 0; k < rgm_tensor_count(x); k++)
            rgm_tensor_f32(x)[k] += (float)(0.4 * rgm_rng_f64(&rng, (uint64_t)k) - 0.2);
    }
}

static void open_with(trained *t, const rgm_seq2seq_options *model, int64_t valid, uint64_t seed)
{
    *t = (trained){0};
    rgm_translation_defaults(&t->options);
    t->options.reverse = (rgm_reverse_options){
        .vocabulary = 13, .min_length = 1, .max_length = 6, .train = 5, .valid = valid};
    t->options.max_length = 7;
    build(t, model, seed);
}

static void close_all(trained *t)
{
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_cgraph_release(t->graph);
    rgm_task_release(&t->task);
}

static rgm_status verify(rgm_export_check *check, trained *t, const char *folder, int64_t batches)
{
    *check = (rgm_export_check){0};
    return t->task.exports->verify(check, folder, t->parameters, RGM_VALID, batches, t->task.state);
}

static rgm_status save(trained *t, const char *folder)
{
    return t->task.exports->save(folder, t->parameters, t->task.state);
}

/* A folder in memory where that is possible: a save waits for the disk. */
static void make_folder(char *path, size_t size)
{
    snprintf(path, size, "/dev/shm/regimen-test-XXXXXX");
    if (mkdtemp(path) == NULL)
        snprintf(path, size, "%s", check_folder());
}

/* ---- every kind of model ------------------------------------------------------------------- */

static void plain(rgm_seq2seq_options *o)
{
    o->embeddings = RGM_EMBEDDINGS_SHARED;
}

static void post_norm_with_gelu(rgm_seq2seq_options *o)
{
    o->encoder.norm_first = o->decoder.norm_first = false;
    o->encoder.activation = o->decoder.activation = RGM_ACT_GELU;
}

static void untied_with_learned_positions_and_biases(rgm_seq2seq_options *o)
{
    o->embeddings = RGM_EMBEDDINGS_UNTIED;
    o->positions = RGM_POSITIONS_LEARNED;
    o->encoder.use_bias = o->decoder.use_bias = true;
}

static void depths_and_heads_of_their_own(rgm_seq2seq_options *o)
{
    o->embeddings = RGM_EMBEDDINGS_TARGET;
    o->encoder.num_layers = 3;
    o->decoder.num_layers = 1;
    o->encoder.num_attention_heads = 1;
    o->decoder.num_attention_heads = 8;
    o->decoder.norm_epsilon = 1e-3;
}

static void blocks_of_today(rgm_seq2seq_options *o)
{
    rgm_stack_options *stacks[] = {&o->encoder, &o->decoder};

    o->embeddings = RGM_EMBEDDINGS_UNTIED;
    o->positions = RGM_POSITIONS_ROTARY;
    o->output_bias = true;
    for (int i = 0; i < 2; i++) {
        stacks[i]->num_attention_heads = 4;
        stacks[i]->num_key_value_heads = 2;
        stacks[i]->norm = RGM_NORM_RMS;
        stacks[i]->activation = RGM_ACT_SILU;
        stacks[i]->gated = true;
        stacks[i]->ffn_bias = false;
    }
}

static void buckets_within_a_window(rgm_seq2seq_options *o)
{
    o->positions = RGM_POSITIONS_RELATIVE;
    o->relative_buckets = 8;
    o->relative_distance = 6;
    o->encoder.attention_window = o->decoder.attention_window = 2;
    o->encoder.norm_first = o->encoder.final_norm = false;
    o->encoder.activation = o->decoder.activation = RGM_ACT_GELU_TANH;
}

static void slopes_and_one_head_of_keys(rgm_seq2seq_options *o)
{
    o->positions = RGM_POSITIONS_ALIBI;
    o->encoder.num_key_value_heads = o->decoder.num_key_value_heads = 1;
}

static void (*const kinds[])(rgm_seq2seq_options *) = {plain,
                                                       post_norm_with_gelu,
                                                       untied_with_learned_positions_and_biases,
                                                       depths_and_heads_of_their_own,
                                                       blocks_of_today,
                                                       buckets_within_a_window,
                                                       slopes_and_one_head_of_keys};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void every_kind_of_model_means_the_same_in_the_files(void **state)
{
    (void)state;
    for (int i = 0; i < KINDS; i++) {
        rgm_seq2seq_options o = small();
        rgm_export_check check;
        char folder[64];
        trained t;
        make_folder(folder, sizeof folder);
        kinds[i](&o);
        open_with(&t, &o, 5, 7);
        CHECK_OK(save(&t, folder));
        CHECK_OK(
            verify(&check, &t, folder, 8)); /* two, two and one sentence; two beams; three steps */
        CHECK_INT(5 * 2 * 3, check.items);
        CHECK(check.largest_difference < 2e-5);
        CHECK_OK(verify(&check, &t, folder, 1));
        CHECK_INT(2 * 2 * 3, check.items);
        close_all(&t);
        CHECK_OK(rgm_folder_remove(folder));
    }
}

/* ---- decoding with the files alone ----------------------------------------------------------- */

static rgm_onnx_model *open_file(const char *folder, const char *name)
{
    rgm_onnx_model *model;
    char path[96];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_onnx_open(&model, path));
    return model;
}

static rgm_tensor *integers(int rank, const int64_t *shape, const int32_t *values)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, rank, shape));
    for (int64_t i = 0; i < rgm_tensor_count(t); i++)
        rgm_tensor_i64(t)[i] = values[i];
    return t;
}

static int32_t most_probable(const rgm_tensor *log_probabilities)
{
    const float *x = rgm_tensor_f32(log_probabilities);
    int32_t best = 0;

    for (int32_t i = 1; i < rgm_tensor_count(log_probabilities); i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* A sentence, greedily, as docs/export.md does; gives the number of tokens without the end. */
static int64_t decode(int32_t *out, int64_t most, const char *folder, const int32_t *ids,
                      int64_t length)
{
    rgm_onnx_model *encoder = open_file(folder, "encoder.onnx");
    rgm_onnx_model *step = open_file(folder, "decoder_step.onnx");
    int64_t caches = rgm_onnx_output_count(encoder), count = 0;
    rgm_named_tensor in[3 + 4 * 3] = {{"source", integers(2, (int64_t[]){1, length}, ids)}};
    rgm_tensor *memory[2 * 3], *made[1 + 2 * 3];
    char names[2 * 3][32];

    CHECK(caches <= 2 * 3);
    CHECK_OK(rgm_onnx_run(memory, encoder, in, 1));
    for (int64_t i = 0; i < caches; i++) {
        in[3 + i] = (rgm_named_tensor){rgm_onnx_output_name(encoder, i), memory[i]};
        snprintf(names[i], sizeof names[i], "past_%s_%d", i % 2 == 0 ? "keys" : "values",
                 (int)i / 2);
        in[3 + caches + i].name = names[i];
        CHECK_OK(rgm_tensor_create(&in[3 + caches + i].tensor, RGM_F32, 3,
                                   (int64_t[]){1, 0, rgm_tensor_dim(memory[i], 2)}));
    }
    for (int32_t newest = 0, at = 0; at < most; at++) {
        in[1] = (rgm_named_tensor){"ids", integers(2, (int64_t[]){1, 1}, &newest)};
        in[2] = (rgm_named_tensor){"position", integers(1, (int64_t[]){1}, &at)};
        CHECK_OK(rgm_onnx_run(made, step, in, 3 + 2 * caches));
        newest = most_probable(made[0]);
        rgm_tensor_release(made[0]);
        rgm_tensor_release(in[1].tensor);
        rgm_tensor_release(in[2].tensor);
        for (int64_t i = 0; i < caches; i++) {
            rgm_tensor_release(in[3 + caches + i].tensor);
            in[3 + caches + i].tensor = made[1 + i];
        }
        if (newest == 1)
            break;
        out[count++] = newest;
    }
    rgm_tensor_release(in[0].tensor);
    for (int64_t i = 0; i < 2 * caches; i++)
        rgm_tensor_release(in[3 + i].tensor);
    rgm_onnx_close(encoder);
    rgm_onnx_close(step);
    return count;
}

static void the_files_alone_decode_to_the_search_s_tokens(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        static const int32_t sources[3][5] = {{3, 4, 5, 6, 1}, {12, 1}, {2, 2, 7, 1}};
        static const int64_t lengths[3] = {5, 2, 4};
        const int32_t *const pointers[3] = {sources[0], sources[1], sources[2]};
        rgm_beam_search_options search = RGM_BEAM_SEARCH_OPTIONS_INIT;
        rgm_seq2seq_options o = small();
        rgm_beam_search *beam_search;
        rgm_hypotheses found[3];
        int64_t tokens = 0;
        char folder[64];
        trained t;
        make_folder(folder, sizeof folder);
        kinds[kind](&o);
        open_with(&t, &o, 0, 9);
        CHECK_OK(save(&t, folder));
        search.beam_size = 1;
        search.decode_max_length = 12;
        const rgmi_translation_task *task = t.task.state;
        CHECK_OK(rgm_beam_search_create(&beam_search, &task->model, t.parameters, NULL, false));
        CHECK_OK(rgm_beam_search_run(found, beam_search, pointers, lengths, 3, &search));
        for (int i = 0; i < 3; i++) {
            int32_t ids[12];
            int64_t count = decode(ids, 12, folder, sources[i], lengths[i]);
            CHECK_INT(found[i].items[0].count, count);
            for (int64_t k = 0; k < count; k++)
                CHECK_INT(found[i].items[0].ids[k], ids[k]);
            tokens += count;
            rgm_hypotheses_clear(&found[i]);
        }
        CHECK(tokens > 12); /* there was something to compare */
        rgm_beam_search_release(beam_search);
        close_all(&t);
        CHECK_OK(rgm_folder_remove(folder));
    }
}

/* ---- what differs, and what is not there ----------------------------------------------------- */

static void another_model_s_files_differ(void **state)
{
    rgm_seq2seq_options o = small();
    rgm_export_check check;
    char folder[64], one[96], other[96];
    char *bytes;
    int64_t size;
    trained t;

    (void)state;
    make_folder(folder, sizeof folder);
    snprintf(one, sizeof one, "%s/encoder.onnx", folder);
    snprintf(other, sizeof other, "%s/decoder_step.onnx", folder);
    open_with(&t, &o, 2, 7);
    CHECK_OK(save(&t, folder));
    close_all(&t);
    open_with(&t, &o, 2, 8); /* other weights */
    CHECK_OK(verify(&check, &t, folder, 8));
    CHECK(check.largest_difference > 1e-2);
    close_all(&t);
    o.decoder.num_layers = 1;
    open_with(&t, &o, 2, 7);
    CHECK_STATUS(RGM_ERR_DATA, verify(&check, &t, folder, 8));
    CHECK_MESSAGE("encoder.onnx has 4 outputs, the model has 2");
    CHECK_OK(save(&t, folder));
    CHECK_OK(rgm_file_load(&bytes, &size, one, 1 << 24));
    CHECK_OK(rgm_file_save(other, bytes, size));
    rgm_free(bytes);
    CHECK_STATUS(RGM_ERR_DATA, verify(&check, &t, folder, 8));
    CHECK_MESSAGE("decoder_step.onnx has 2 outputs, the model has 3");
    CHECK(unlink(one) == 0);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, verify(&check, &t, folder, 8));
    CHECK_MESSAGE("encoder.onnx");
    CHECK_OK(rgm_folder_remove(folder));
    CHECK(save(&t, folder) < 0);
    close_all(&t);
}

static void nothing_is_compared_without_data(void **state)
{
    rgm_seq2seq_options o = small();
    rgm_export_check check;
    char folder[64];
    trained t;

    (void)state;
    make_folder(folder, sizeof folder);
    open_with(&t, &o, 0, 7);
    CHECK_OK(save(&t, folder));
    CHECK_OK(verify(&check, &t, folder, 8));
    CHECK_INT(0, check.items);
    close_all(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- the description ----------------------------------------------------------------------- */

static void check_text(const rgm_yaml_node *map, const char *key, const char *text)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, key);

    CHECK(node != NULL && node->kind == RGM_YAML_SCALAR);
    CHECK_TEXT(text, node->text);
}

/* Its names are those of the file, in the file's order, and so are the sizes that do not vary. */
static void check_tensors(const rgm_yaml_node *part, const rgm_onnx_model *model)
{
    const rgm_yaml_node *inputs = rgm_yaml_find(part, "inputs"),
                        *outputs = rgm_yaml_find(part, "outputs");

    CHECK_INT(rgm_onnx_input_count(model), inputs->count);
    CHECK_INT(rgm_onnx_output_count(model), outputs->count);
    for (int64_t i = 0; i < outputs->count; i++)
        check_text(outputs->items[i], "name", rgm_onnx_output_name(model, i));
    for (int64_t i = 0; i < inputs->count; i++) {
        int64_t sizes[RGM_MAX_RANK], found = 0;
        rgm_dtype dtype;
        int rank;
        for (int64_t k = 0; k < inputs->count; k++) {
            const rgm_yaml_node *shape = rgm_yaml_find(inputs->items[k], "shape");
            if (strcmp(rgm_yaml_find(inputs->items[k], "name")->text,
                       rgm_onnx_input_name(model, i)) != 0)
                continue;
            found++;
            CHECK_OK(rgm_onnx_input_type(&dtype, &rank, sizes, model, i));
            CHECK_INT(rank, shape->count);
            check_text(inputs->items[k], "dtype", dtype == RGM_I64 ? "int64" : "float32");
            for (int axis = 0; axis < rank; axis++)
                CHECK(sizes[axis] < 0 || atoll(shape->items[axis]->text) == sizes[axis]);
        }
        CHECK_INT(1, found);
    }
}

static void the_description_says_what_the_files_take(void **state)
{
    static const char *const parts[] = {"encoder", "decoder_step"};
    rgm_seq2seq_options o = small();
    char folder[64], path[96], *bytes;
    const rgm_yaml_node *root;
    rgm_yaml *yaml;
    int64_t size;
    trained t;

    (void)state;
    make_folder(folder, sizeof folder);
    open_with(&t, &o, 0, 7);
    CHECK_OK(save(&t, folder));
    snprintf(path, sizeof path, "%s/%s", folder, t.task.exports->file);
    CHECK_OK(rgm_file_load(&bytes, &size, path, 1 << 20));
    CHECK_OK(rgm_yaml_parse(&yaml, bytes, size, path)); /* YAML has JSON in it */
    root = rgm_yaml_root(yaml);
    check_text(root, "format", "regimen-translation");
    check_text(root, "version", "1");
    check_text(root, "decoder_layers", "2");
    check_text(root, "max_positions", "40");
    for (int i = 0; i < 2; i++) {
        const rgm_yaml_node *part = rgm_yaml_find(root, parts[i]);
        rgm_onnx_model *model;
        snprintf(path, sizeof path, "%s/%s", folder, rgm_yaml_find(part, "file")->text);
        CHECK_OK(rgm_onnx_open(&model, path));
        check_tensors(part, model);
        rgm_onnx_close(model);
    }
    CHECK_INT(4, rgm_yaml_find(root, "caches")->count);
    check_text(rgm_yaml_find(root, "caches")->items[3], "past", "past_values_1");
    check_text(rgm_yaml_find(root, "caches")->items[3], "present", "present_values_1");
    check_text(rgm_yaml_find(root, "target"), "vocabulary_size", "13");
    check_text(rgm_yaml_find(root, "target"), "begin_id", "0");
    check_text(rgm_yaml_find(root, "source"), "end_id", "1");
    check_text(rgm_yaml_find(root, "source"), "tokenizer", "null");
    check_text(rgm_yaml_find(root, "search"), "beam_size", "4");
    check_text(rgm_yaml_find(root, "search"), "extra_decode_length", "50");
    rgm_yaml_release(yaml);
    rgm_free(bytes);
    close_all(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- for CTranslate2 ------------------------------------------------------------------------- */

#define SPECIAL(id, text) "{\"id\":" #id ",\"content\":\"" text "\",\"special\":true}"

/* A tokenizer.json of five tokens; unknown NULL: without one. */
static void save_tokenizer(const char *folder, const char *name, const char *end,
                           const char *unknown)
{
    char path[128], json[700], key[40] = "";

    if (unknown != NULL)
        snprintf(key, sizeof key, ",\"unk_token\":\"%s\"", unknown);
    snprintf(
        json, sizeof json,
        "{\"added_tokens\":[" SPECIAL(0, "<pad>") "," SPECIAL(
            1, "%s") "],\"model\":{"
                     "\"type\":\"BPE\",\"vocab\":{\"<pad>\":0,\"%s\":1,\"%s\":2,\"a\":3,\"b\":4},"
                     "\"merges\":[]%s}}",
        end, end, unknown != NULL ? unknown : "c", key);
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_save(path, json, (int64_t)strlen(json)));
}

/* Of text, by source.json and perhaps another tokenizer of targets. */
static void open_texts(trained *t, const char *folder, const char *target, bool bias,
                       bool no_padding)
{
    static const char *const lines = "a\tb\nb\ta\n";
    static const char *train[] = {"train.tsv"};
    rgm_seq2seq_options o = small();
    char path[128];

    *t = (trained){0};
    snprintf(path, sizeof path, "%s/train.tsv", folder);
    CHECK_OK(rgm_file_save(path, lines, (int64_t)strlen(lines)));
    rgm_translation_defaults(&t->options);
    t->options.path = folder;
    t->options.train = (rgm_texts){train, 1};
    t->options.tokenizer = "source.json";
    t->options.target_tokenizer = target;
    t->options.max_length = 7;
    t->options.search.beam_size = 2;
    t->options.search.no_padding = no_padding;
    o.output_bias = bias;
    o.embeddings = target != NULL ? RGM_EMBEDDINGS_UNTIED : RGM_EMBEDDINGS_SHARED;
    build(t, &o, 1);
}

static rgm_status save_ctranslate2(const char *folder, const char *target, bool bias,
                                   bool no_padding)
{
    rgm_status status;
    trained t;

    open_texts(&t, folder, target, bias, no_padding);
    status = rgmi_translation_save_ctranslate2(folder, t.parameters, t.task.state);
    close_all(&t);
    return status;
}

static void check_unknown(const char *folder, const char *wanted)
{
    char path[128], text[60], *config;
    int64_t size;

    snprintf(path, sizeof path, "%s/config.json", folder);
    CHECK_OK(rgm_file_load(&config, &size, path, 1 << 12));
    snprintf(text, sizeof text, "\"unk_token\": \"%s\"", wanted);
    if (strstr(config, text) == NULL)
        fail_msg("no %s in %s", text, config);
    rgm_free(config);
}

/* CTranslate2 puts a token that its vocabulary lacks behind it, where the model has no row. */
static void the_unknown_token_of_ctranslate2_is_a_piece_of_both_sides(void **state)
{
    char folder[64];

    (void)state;
    make_folder(folder, sizeof folder);
    save_tokenizer(folder, "source.json", "</s>", NULL);
    CHECK_OK(save_ctranslate2(folder, NULL, false, false));
    check_unknown(folder, "<pad>");
    save_tokenizer(folder, "target.json", "</s>", "<unk>");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, save_ctranslate2(folder, "target.json", false, false));
    CHECK_MESSAGE("'<unk>', which is not that of data.tokenizer");
    save_tokenizer(folder, "source.json", "</s>", "<unk>");
    CHECK_OK(save_ctranslate2(folder, "target.json", false, false));
    check_unknown(folder, "<unk>");
    save_tokenizer(folder, "target.json", "</s>", "[UNK]");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, save_ctranslate2(folder, "target.json", false, false));
    CHECK_MESSAGE("'<unk>', which is not that of data.target_tokenizer");
    save_tokenizer(folder, "target.json", "[EOS]", "<unk>");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, save_ctranslate2(folder, "target.json", false, false));
    CHECK_MESSAGE("data.tokenizer has '</s>', data.target_tokenizer '[EOS]'");
    CHECK_OK(rgm_folder_remove(folder));
}

/* The bias of the five tokens in model.bin: its name, rank, size, type and bytes, then they; false:
 * there is none. */
static bool read_bias(float bias[5], const char *folder)
{
    static const char name[] = "decoder/projection/bias";
    char path[128], *bytes;
    int64_t size, at = 0;

    snprintf(path, sizeof path, "%s/model.bin", folder);
    CHECK_OK(rgm_file_load(&bytes, &size, path, 1 << 20));
    while (at + (int64_t)sizeof name + 30 <= size && memcmp(bytes + at, name, sizeof name) != 0)
        at++;
    memcpy(bias, bytes + at + sizeof name + 10, 5 * sizeof *bias);
    rgm_free(bytes);
    return at + (int64_t)sizeof name + 30 <= size;
}

/* CTranslate2 has no other word for what a search never writes. */
static void padding_that_is_never_written_has_no_logit_in_ctranslate2(void **state)
{
    float bias[5], plain[5];
    char folder[64];

    (void)state;
    make_folder(folder, sizeof folder);
    save_tokenizer(folder, "source.json", "</s>", "<unk>");
    CHECK_OK(save_ctranslate2(folder, NULL, false, false));
    CHECK(!read_bias(plain, folder));
    CHECK_OK(save_ctranslate2(folder, NULL, false, true));
    CHECK(read_bias(bias, folder));
    CHECK(bias[0] == -1e9F && bias[1] == 0 && bias[4] == 0);
    CHECK_OK(save_ctranslate2(folder, NULL, true, false));
    CHECK(read_bias(plain, folder));
    CHECK(fabsf(plain[0]) <= 0.2F && plain[1] != 0);
    CHECK_OK(save_ctranslate2(folder, NULL, true, true));
    CHECK(read_bias(bias, folder));
    CHECK(bias[0] == -1e9F && memcmp(bias + 1, plain + 1, 4 * sizeof *bias) == 0);
    CHECK_OK(rgm_folder_remove(folder));
}

/* MarianTokenizer would read it as protobuf. */
static void a_tokenizer_json_makes_no_marianmt(void **state)
{
    char folder[64];
    trained t;

    (void)state;
    make_folder(folder, sizeof folder);
    save_tokenizer(folder, "source.json", "</s>", "<unk>");
    open_texts(&t, folder, NULL, true, false);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgmi_translation_check_huggingface(t.parameters, t.task.state));
    CHECK_MESSAGE("data.tokenizer: it is a SentencePiece model there, not a tokenizer.json");
    close_all(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

static void every_failing_allocation_is_reported_and_leaks_nothing(void **state)
{
    rgm_seq2seq_options o = small();
    rgm_export_check check;
    char folder[64];
    trained t;

    (void)state;
    o.encoder.num_layers = o.decoder.num_layers = 1;
    make_folder(folder, sizeof folder);
    open_with(&t, &o, 1, 7);
    CHECK_EVERY_OOM(save(&t, folder), (void)0);
    CHECK_OK(verify(&check, &t, folder, 1)); /* what stays in memory for the next run is made */
    CHECK_EVERY_OOM(verify(&check, &t, folder, 1), (void)0);
    close_all(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(every_kind_of_model_means_the_same_in_the_files),
      cmocka_unit_test(the_files_alone_decode_to_the_search_s_tokens),
      cmocka_unit_test(another_model_s_files_differ),
      cmocka_unit_test(nothing_is_compared_without_data),
      cmocka_unit_test(the_description_says_what_the_files_take),
      cmocka_unit_test(the_unknown_token_of_ctranslate2_is_a_piece_of_both_sides),
      cmocka_unit_test(padding_that_is_never_written_has_no_logit_in_ctranslate2),
      cmocka_unit_test(a_tokenizer_json_makes_no_marianmt),
      cmocka_unit_test(every_failing_allocation_is_reported_and_leaks_nothing))
