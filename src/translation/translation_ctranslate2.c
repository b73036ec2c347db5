/*
 * A translation model as CTranslate2 4 reads it: model.bin (binary version 6 of a TransformerSpec
 * of revision 7), config.json and the vocabularies as lists of pieces. Its kernels are ours turned
 * round, those that read the same rows one below the other.
 */
#include <stdio.h>
#include <string.h>

#include "translation_internal.h"

const char rgmi_ctranslate2_file[] = "model.bin";

/** A bias that leaves a token no probability. */
#define NO_LOGIT (-1e9F)

enum { BINARY_VERSION = 6, REVISION = 7, MOST_DIMS = 2, NAME = 96 };
enum { TYPE_F32 = 0, TYPE_I8 = 1, TYPE_I16 = 2 };
enum { CT2_RELU = 0, CT2_GELU_TANH = 1, CT2_SWISH = 2, CT2_GELU = 3 };

/* A model on its way into model.bin. */
typedef struct writer {
    rgm_text variables;
    uint32_t count;
    const rgmi_translation_task *task;
    const rgm_parameters *parameters;
} writer;

/* A name of two parts, "encoder/layer_0" and "ffn". */
static const char *join(char out[NAME], const char *scope, const char *name)
{
    snprintf(out, NAME, "%.60s/%.30s", scope, name);
    return out;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static rgm_status put_u32(rgm_text *out, int64_t number)
{
    uint32_t word = (uint32_t)number;

    return rgm_text_add(out, &word, sizeof word);
}

static rgm_status put_text(rgm_text *out, const char *text)
{
    uint16_t size = (uint16_t)(strlen(text) + 1);

    RGM_TRY(rgm_text_add(out, &size, sizeof size));
    return rgm_text_add(out, text, size);
}

/* The head of a variable of that many bytes, which follow. */
static rgm_status put_variable(writer *w, const char *name, int type, int rank,
                               const int64_t *shape, int64_t bytes)
{
    uint8_t small[2] = {(uint8_t)rank, (uint8_t)type};

    if (bytes > UINT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s has more than 4 GiB", name);
    RGM_TRY(put_text(&w->variables, name));
    RGM_TRY(rgm_text_add(&w->variables, &small[0], 1));
    for (int i = 0; i < rank; i++)
        RGM_TRY(put_u32(&w->variables, shape[i]));
    RGM_TRY(rgm_text_add(&w->variables, &small[1], 1));
    w->count++;
    return put_u32(&w->variables, bytes);
}

static rgm_status put_number(writer *w, const char *stack, const char *name, int type,
                             int64_t number)
{
    char path[NAME];
    int8_t byte = (int8_t)number;
    int16_t word = (int16_t)number;

    join(path, stack, name);
    if (type == TYPE_I8) {
        RGM_TRY(put_variable(w, path, type, 0, NULL, sizeof byte));
        return rgm_text_add(&w->variables, &byte, sizeof byte);
    }
    RGM_TRY(put_variable(w, path, type, 0, NULL, sizeof word));
    return rgm_text_add(&w->variables, &word, sizeof word);
}

/* ---- weights --------------------------------------------------------------------------------- */

static rgm_status find(const rgm_tensor **out, const writer *w, const char *name)
{
    int64_t number = rgm_parameters_number(w->parameters, name);

    if (number < 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "the model has no parameter %s", name);
    *out = rgm_parameters_read(w->parameters, number);
    return RGM_OK;
}

/* The first `rows` rows (0: all) of a parameter as it is. */
static rgm_status put_as_it_is(writer *w, const char *name, const char *ours, int64_t rows)
{
    const rgm_tensor *x;
    int64_t shape[MOST_DIMS] = {0, 1};

    RGM_TRY(find(&x, w, ours));
    memcpy(shape, rgm_tensor_shape(x), (size_t)rgm_tensor_rank(x) * sizeof *shape);
    shape[0] = rows > 0 ? rows : shape[0];
    RGM_TRY(put_variable(w, name, TYPE_F32, rgm_tensor_rank(x), shape,
                         shape[0] * shape[1] * (int64_t)sizeof(float)));
    return rgm_text_add(&w->variables, rgm_tensor_data(x),
                        shape[0] * shape[1] * (int64_t)sizeof(float));
}

static rgm_status put_norm(writer *w, const char *theirs, const char *ours)
{
    static const char *const parts[] = {"gamma", "beta"};

    for (int i = 0; i < 2; i++) {
        char name[NAME], from[NAME];
        join(name, theirs, parts[i]);
        join(from, ours, parts[i]);
        RGM_TRY(put_as_it_is(w, name, from, 0));
    }
    return RGM_OK;
}

/* A kernel [in, out], turned round. */
static rgm_status put_turned(writer *w, const char *ours)
{
    const rgm_tensor *x;
    const float *from;
    int64_t in, out;

    RGM_TRY(find(&x, w, ours));
    in = rgm_tensor_dim(x, 0);
    out = rgm_tensor_dim(x, 1);
    from = rgm_tensor_data(x);
    for (int64_t j = 0; j < out; j++)
        for (int64_t i = 0; i < in; i++)
            RGM_TRY(rgm_text_add(&w->variables, &from[i * out + j], sizeof *from));
    return RGM_OK;
}

/* One linear layer of some of ours of the same inputs: weights [sum of outputs, in], biases. */
static rgm_status put_linear(writer *w, const char *theirs, const char *block,
                             const char *const *ours, int count, bool bias)
{
    int64_t shape[MOST_DIMS] = {0, 0};
    char name[NAME], from[NAME], scope[NAME];
    const rgm_tensor *x;

    for (int i = 0; i < count; i++) {
        join(from, join(scope, block, ours[i]), "kernel");
        RGM_TRY(find(&x, w, from));
        shape[0] += rgm_tensor_dim(x, 1);
        shape[1] = rgm_tensor_dim(x, 0);
    }
    join(name, theirs, "weight");
    RGM_TRY(
        put_variable(w, name, TYPE_F32, 2, shape, shape[0] * shape[1] * (int64_t)sizeof(float)));
    for (int i = 0; i < count; i++) {
        join(from, join(scope, block, ours[i]), "kernel");
        RGM_TRY(put_turned(w, from));
    }
    if (!bias)
        return RGM_OK;
    join(name, theirs, "bias");
    RGM_TRY(put_variable(w, name, TYPE_F32, 1, shape, shape[0] * (int64_t)sizeof(float)));
    for (int i = 0; i < count; i++) {
        join(from, join(scope, block, ours[i]), "bias");
        RGM_TRY(find(&x, w, from));
        RGM_TRY(rgm_text_add(&w->variables, rgm_tensor_data(x), (int64_t)rgm_tensor_bytes(x)));
    }
    return RGM_OK;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static rgm_status put_block_norm(writer *w, const char *theirs, const char *ours)
{
    char name[NAME], from[NAME];

    join(name, theirs, "layer_norm");
    join(from, ours, "norm");
    return put_norm(w, name, from);
}

/* `first`: how many of query, key and value their first layer has; the others are the second. */
static rgm_status put_attention(writer *w, const char *theirs, const char *ours, int first,
                                const rgm_stack_options *o)
{
    static const char *const parts[] = {"query", "key", "value", "output"};
    bool bias = o->use_bias || o->qkv_bias;
    char name[NAME];

    RGM_TRY(put_block_norm(w, theirs, ours));
    join(name, theirs, "linear_0");
    RGM_TRY(put_linear(w, name, ours, parts, first, bias));
    if (first < 3) {
        join(name, theirs, "linear_1");
        RGM_TRY(put_linear(w, name, ours, parts + first, 3 - first, bias));
    }
    join(name, theirs, first < 3 ? "linear_2" : "linear_1");
    return put_linear(w, name, ours, parts + 3, 1, o->use_bias);
}

static rgm_status put_feed_forward(writer *w, const char *theirs, const char *ours, bool bias)
{
    static const char *const parts[] = {"inner", "outer"};

    RGM_TRY(put_block_norm(w, theirs, ours));
    for (int i = 0; i < 2; i++) {
        char name[NAME];
        join(name, theirs, i == 0 ? "linear_0" : "linear_1");
        RGM_TRY(put_linear(w, name, ours, parts + i, 1, bias));
    }
    return RGM_OK;
}

static rgm_status put_layers(writer *w, const char *stack, const rgm_stack_options *o,
                             bool is_decoder)
{
    for (int64_t i = 0; i < o->num_layers; i++) {
        char layer[NAME / 2], theirs[NAME], ours[NAME];
        snprintf(layer, sizeof layer, "%s/layer_%lld", stack, (long long)i);
        join(theirs, layer, "self_attention");
        join(ours, layer, is_decoder ? "self_attention" : "attention");
        RGM_TRY(put_attention(w, theirs, ours, 3, o));
        join(theirs, layer, "attention");
        join(ours, layer, "cross_attention");
        if (is_decoder)
            RGM_TRY(put_attention(w, theirs, ours, 1, o));
        join(theirs, layer, "ffn");
        RGM_TRY(put_feed_forward(w, theirs, theirs, o->ffn_bias));
    }
    return RGM_OK;
}

/* A table of positions, so that nobody has to agree about sines. */
static rgm_status put_positions(writer *w, const char *stack)
{
    const rgm_seq2seq_options *o = &w->task->model.options;
    const int64_t shape[] = {o->max_positions, o->embedding_width};
    int64_t bytes = shape[0] * shape[1] * (int64_t)sizeof(float);
    char name[NAME], from[NAME];
    rgm_status status = RGM_OK;
    float *table = NULL;

    join(name, stack, "position_encodings/encodings");
    if (o->positions == RGM_POSITIONS_LEARNED) {
        join(from, stack, "positions");
        return put_as_it_is(w, name, from, 0);
    }
    RGM_GO(RGM_NEW(table, shape[0] * shape[1]));
    rgm_seq2seq_sinusoids(table, o);
    RGM_GO(put_variable(w, name, TYPE_F32, 2, shape, bytes));
    RGM_GO(rgm_text_add(&w->variables, table, bytes));
done:
    rgm_free(table);
    return status;
}

static int activation_of(rgm_activation activation)
{
    switch (activation) {
    case RGM_ACT_GELU:
        return CT2_GELU;
    case RGM_ACT_GELU_TANH:
        return CT2_GELU_TANH;
    case RGM_ACT_SILU:
        return CT2_SWISH;
    default:
        return CT2_RELU;
    }
}

static rgm_status put_stack(writer *w, const char *stack, const rgm_stack_options *o,
                            bool is_decoder)
{
    char theirs[NAME], ours[NAME];

    RGM_TRY(put_number(w, stack, "num_heads", TYPE_I16, o->num_attention_heads));
    RGM_TRY(put_number(w, stack, "pre_norm", TYPE_I8, o->norm_first));
    RGM_TRY(put_number(w, stack, "activation", TYPE_I8, activation_of(o->activation)));
    RGM_TRY(
        put_number(w, stack, "scale_embeddings", TYPE_I8, w->task->model.options.scale_embeddings));
    RGM_TRY(put_positions(w, stack));
    join(theirs, stack, "layer_norm");
    join(ours, stack, "norm");
    if (o->final_norm)
        RGM_TRY(put_norm(w, theirs, ours));
    return put_layers(w, stack, o, is_decoder);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static bool is_tied(const rgm_seq2seq *m)
{
    return m->options.embeddings == RGM_EMBEDDINGS_SHARED ||
           m->options.embeddings == RGM_EMBEDDINGS_TARGET;
}

/* CTranslate2 has no key for what is never written: padding that is not has no logit there. */
static rgm_status put_output_bias(writer *w)
{
    const rgm_seq2seq *m = &w->task->model;
    bool no_padding = w->task->options.search.no_padding;
    const rgm_tensor *ours = NULL;

    if (!m->options.output_bias && !no_padding)
        return RGM_OK;
    if (m->options.output_bias)
        RGM_TRY(find(&ours, w, "output/bias"));
    RGM_TRY(put_variable(w, "decoder/projection/bias", TYPE_F32, 1, &m->target_vocabulary,
                         m->target_vocabulary * (int64_t)sizeof(float)));
    for (int64_t i = 0; i < m->target_vocabulary; i++) {
        float bias = i == 0 && no_padding ? NO_LOGIT : ours != NULL ? rgm_tensor_f32(ours)[i] : 0;

        RGM_TRY(rgm_text_add(&w->variables, &bias, sizeof bias));
    }
    return RGM_OK;
}

static rgm_status put_tables(writer *w)
{
    const rgm_seq2seq *m = &w->task->model;
    bool one = m->options.embeddings == RGM_EMBEDDINGS_SHARED ||
               m->options.embeddings == RGM_EMBEDDINGS_INPUTS;

    RGM_TRY(put_as_it_is(w, "encoder/embeddings_0/weight",
                         one ? "embedding/table" : "source_embedding/table", m->source_vocabulary));
    RGM_TRY(put_as_it_is(w, "decoder/embeddings/weight",
                         one ? "embedding/table" : "target_embedding/table", m->target_vocabulary));
    RGM_TRY(put_output_bias(w));
    if (is_tied(m))
        return RGM_OK; /* an alias */
    return put_as_it_is(w, "decoder/projection/weight", "output/table", m->target_vocabulary);
}

static rgm_status put_model(rgm_text *out, writer *w)
{
    const rgm_seq2seq_options *o = &w->task->model.options;
    bool tied = is_tied(&w->task->model);

    RGM_TRY(put_stack(w, "encoder", &o->encoder, false));
    RGM_TRY(put_number(w, "encoder", "embeddings_merge", TYPE_I8, 0));
    RGM_TRY(put_stack(w, "decoder", &o->decoder, true));
    RGM_TRY(put_number(w, "decoder", "alignment_layer", TYPE_I16, -1));
    RGM_TRY(put_number(w, "decoder", "alignment_heads", TYPE_I16, 1));
    RGM_TRY(put_tables(w));
    RGM_TRY(put_u32(out, BINARY_VERSION));
    RGM_TRY(put_text(out, "TransformerSpec"));
    RGM_TRY(put_u32(out, REVISION));
    RGM_TRY(put_u32(out, w->count));
    RGM_TRY(rgm_text_add(out, w->variables.data, w->variables.size));
    RGM_TRY(put_u32(out, tied));
    if (!tied)
        return RGM_OK;
    RGM_TRY(put_text(out, "decoder/projection/weight"));
    return put_text(out, "decoder/embeddings/weight");
}

/* ---- beside it ------------------------------------------------------------------------------- */

/* A piece; without a tokenizer the number. */
static const char *piece_of(char room[24], const rgm_tokenizer *tokenizer, int64_t id)
{
    if (tokenizer != NULL)
        return rgm_tokenizer_piece(tokenizer, (int32_t)id);
    snprintf(room, 24, "%lld", (long long)id);
    return room;
}

static rgm_status save_text(const char *folder, const char *name, const rgm_text *text)
{
    char *path;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, folder, name));
    status = rgm_file_save_own(path, text->data, text->size);
    rgm_free(path);
    return status;
}

static rgm_status save_vocabulary(const char *folder, const char *name,
                                  const rgm_tokenizer *tokenizer, int64_t size)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};
    char room[24];

    RGM_GO(rgm_json_open_list(&w, NULL, RGM_JSON_LINES));
    for (int64_t i = 0; i < size; i++)
        RGM_GO(rgm_json_write_text(&w, NULL, piece_of(room, tokenizer, i)));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(save_text(folder, name, &text));
done:
    rgm_text_clear(&text);
    return status;
}

/* The token of what a vocabulary lacks, in one of the two; without one there the padding: pieces of
 * such a tokenizer are all in its vocabulary, so that it stands for nothing. CTranslate2 would put
 * a text that is no piece behind the vocabulary, where the model has no row. */
static const char *unknown_piece(char room[24], const rgmi_translation_data *data)
{
    const rgm_tokenizer *sides[] = {data->source, data->target};

    for (int i = 0; i < 2; i++)
        if (sides[i] != NULL && rgm_tokenizer_unk_id(sides[i]) >= 0)
            return rgm_tokenizer_piece(sides[i], rgm_tokenizer_unk_id(sides[i]));
    return piece_of(room, data->target, 0);
}

/* Sources get their end, targets begin with the token 0, as ours do. */
static rgm_status save_config(const char *folder, const rgmi_translation_task *t)
{
    const rgm_tokenizer *target = t->data.target;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    rgm_json_writer w = {.out = &text};
    char room[24];

    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_bool(&w, "add_source_bos", false));
    RGM_GO(rgm_json_write_bool(&w, "add_source_eos", true));
    RGM_GO(rgm_json_write_text(&w, "bos_token", piece_of(room, target, 0)));
    RGM_GO(
        rgm_json_write_text(&w, "decoder_start_token", piece_of(room, target, t->data.target_tag)));
    RGM_GO(rgm_json_write_text(&w, "eos_token", piece_of(room, target, t->data.end_id)));
    RGM_GO(rgm_json_write_number(&w, "layer_norm_epsilon", t->model.options.encoder.norm_epsilon));
    RGM_GO(rgm_json_write_text(&w, "unk_token", unknown_piece(room, &t->data)));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    RGM_GO(save_text(folder, "config.json", &text));
done:
    rgm_text_clear(&text);
    return status;
}

/* ---- together -------------------------------------------------------------------------------- */

static rgm_status check_stack(const rgm_stack_options *o, const char *name)
{
    const char *key =
        o->norm != RGM_NORM_LAYER ? "norm"
        : o->gated                ? "gated"
        : o->num_key_value_heads != 0 && o->num_key_value_heads != o->num_attention_heads
            ? "num_key_value_heads"
        : o->attention_window > 0 ? "attention_window"
                                  : NULL;

    return key == NULL ? RGM_OK
                       : RGM_FAIL(RGM_ERR_UNSUPPORTED,
                                  "the exporter ctranslate2 has no form for model.%s.%s as it is",
                                  name, key);
}

static bool has_piece(const rgm_tokenizer *tokenizer, const char *text)
{
    const char *found = rgm_tokenizer_piece(tokenizer, rgm_tokenizer_find(tokenizer, text));

    return found != NULL && strcmp(found, text) == 0;
}

/* config.json names an end and an unknown token once, for both vocabularies. */
static rgm_status check_pieces(const rgmi_translation_data *data)
{
    const rgm_tokenizer *sides[] = {data->source, data->target};
    const char *unknown, *ends[2];
    char room[24];

    if (data->target == NULL || data->source == data->target)
        return RGM_OK;
    ends[0] = rgm_tokenizer_piece(data->source, rgmi_source_end(data));
    ends[1] = rgm_tokenizer_piece(data->target, data->end_id);
    if (strcmp(ends[0], ends[1]) != 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "CTranslate2 has one token that ends a text, but data.tokenizer has '%s', "
                        "data.target_tokenizer '%s'",
                        ends[0], ends[1]);
    unknown = unknown_piece(room, data);
    for (int i = 0; i < 2; i++) {
        int32_t id = rgm_tokenizer_unk_id(sides[i]);

        if (!has_piece(sides[i], unknown) ||
            (id >= 0 && strcmp(rgm_tokenizer_piece(sides[i], id), unknown) != 0))
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "CTranslate2 has one token for what is unknown, '%s', which is not "
                            "that of data.%s",
                            unknown, i == 0 ? "tokenizer" : "target_tokenizer");
    }
    return RGM_OK;
}

rgm_status rgmi_translation_check_ctranslate2(const rgm_parameters *parameters, void *state)
{
    const rgmi_translation_task *t = state;
    const rgm_seq2seq_options *o = &t->model.options;

    (void)parameters;
    if (t->data.source_tag >= 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the exporter ctranslate2 has no place for data.source_tag: whoever "
                        "translates would have to put it before each source");
    if (t->data.factors.count > 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the exporter ctranslate2 writes no models with "
                                             "data.factors");
    RGM_TRY(check_stack(&o->encoder, "encoder"));
    RGM_TRY(check_stack(&o->decoder, "decoder"));
    if (o->positions != RGM_POSITIONS_SINUSOIDAL && o->positions != RGM_POSITIONS_LEARNED &&
        o->positions != RGM_POSITIONS_SINUSOIDAL_PAPER)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the exporter ctranslate2 takes model.positions that are added to "
                        "embeddings: sinusoidal ones or learned");
    RGM_TRY(check_pieces(&t->data));
    if (o->encoder.norm_epsilon == o->decoder.norm_epsilon)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "CTranslate2 has one epsilon of layer norms: model.encoder.norm_epsilon is %g, "
                    "that of the decoder %g",
                    o->encoder.norm_epsilon, o->decoder.norm_epsilon);
}

rgm_status rgmi_translation_save_ctranslate2(const char *folder, const rgm_parameters *parameters,
                                             void *state)
{
    const rgmi_translation_task *t = state;
    rgm_status status = RGM_OK;
    writer w = {.task = t, .parameters = parameters};
    rgm_text model = {0};

    RGM_GO(rgmi_translation_check_ctranslate2(parameters, state));
    RGM_GO(rgm_parameters_to_host(parameters));
    RGM_GO(put_model(&model, &w));
    RGM_GO(save_config(folder, t));
    RGM_GO(save_vocabulary(folder, "source_vocabulary.json", t->data.source,
                           t->model.source_vocabulary));
    RGM_GO(save_vocabulary(folder, "target_vocabulary.json", t->data.target,
                           t->model.target_vocabulary));
    RGM_GO(save_text(folder, rgmi_ctranslate2_file, &model));
done:
    rgm_text_clear(&w.variables);
    rgm_text_clear(&model);
    return status;
}
