/* Marian's transformer, as OPUS-MT publishes it: beside the .npz decoder.yml, which names the
 * vocabularies, and the two SentencePiece models. */
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

/** Of its layer norms. */
#define EPSILON 1e-6
/** A logit that is as good as no logit: Marian's vocabulary has no padding. Its share is below what
 * f32 tells from 0, and a label's smoothing still costs nothing that counts. */
#define NO_LOGIT (-100.0)
/** Sinusoids have no end there. */
enum { POSITIONS = 1024, BEAMS = 12, LENGTH_FACTOR = 3, MOST_YAML = 1 << 20 };

static const char *const types[] = {"marian", NULL};

static const rgmi_import_other others[] = {{0}};

static const rgmi_import_fixed fixed[] = {
    {"type", "\"transformer\"", "of Marian's models the transformer is read"},
    {"transformer-decoder-autoreg", "\"self-attention\"",
     "a decoder of averages or of recurrent cells is another model"},
    {"transformer-ffn-depth", "2", "feed-forward blocks have two layers here"},
    {"transformer-decoder-ffn-depth", "0 2", "feed-forward blocks have two layers here"},
    {"transformer-no-projection", "false", "attention has its projection here"},
    {"transformer-pool", "false", "the decoder looks at all of the source here"},
    {"transformer-tied-layers", "[]", "each layer has its own weights here"},
    {"transformer-train-position-embeddings", "false", "positions are sinusoids here"},
    {"transformer-train-positions", "false", "positions are sinusoids here"},
    {"transformer-disable-position-embeddings", "false", "positions are sinusoids here"},
    {"transformer-attention-mask", "\"default\"", "scores have no mask but the order here"},
    {"transformer-alibi-shift", "false", "positions are sinusoids here"},
    {"transformer-alibi-trainable", "false", "positions are sinusoids here"},
    {"transformer-no-bias", "false", "all layers have biases here"},
    {"transformer-no-affine", "false", "norms have scales and biases here"},
    {"output-omit-bias", "false", "padding is kept out of the probabilities by its bias"},
    {"right-left", "false", "a target is written from its beginning here"},
    {"ulr", "false", "tables have a row for each token here"},
    {"input-types", "[]", "a source is one sequence here"},
    {"lemma-dim-emb", "0", "a token has no factors here"},
    {"lemma-dependency", "\"\"", "a token has no factors here"},
    {"factors-dim-emb", "0", "a token has no factors here"},
    {0}};

/* Of recurrent and other models, how weights began, and what it was written by. */
static const char *const free_keys[] = {"bert-class-symbol",
                                        "bert-mask-symbol",
                                        "bert-masking-fraction",
                                        "bert-sep-symbol",
                                        "bert-train-type-embeddings",
                                        "bert-type-vocab-size",
                                        "char-conv-filters-num",
                                        "char-conv-filters-widths",
                                        "char-highway",
                                        "char-stride",
                                        "comet-dropout",
                                        "comet-final-sigmoid",
                                        "comet-mix",
                                        "comet-mix-norm",
                                        "comet-mixup",
                                        "comet-pooler-ffn",
                                        "comet-stop-grad",
                                        "comet-use-separator",
                                        "dec-cell",
                                        "dec-cell-base-depth",
                                        "dec-cell-high-depth",
                                        "dim-rnn",
                                        "embedding-fix-src",
                                        "embedding-fix-trg",
                                        "enc-cell",
                                        "enc-cell-depth",
                                        "enc-type",
                                        "factors-combine",
                                        "layer-normalization",
                                        "max-length",
                                        "separator-symbol",
                                        "skip",
                                        "transformer-aan-activation",
                                        "transformer-aan-depth",
                                        "transformer-aan-nogate",
                                        "transformer-depth-scaling",
                                        "transformer-dim-aan",
                                        "transformer-guided-alignment-layer",
                                        "transformer-rnn-projection",
                                        "ulr-dim-emb",
                                        "ulr-dropout",
                                        "ulr-keys-vectors",
                                        "ulr-query-vectors",
                                        "ulr-trainable-transformation",
                                        "version",
                                        NULL};

/* ---- its blocks ------------------------------------------------------------------------------ */

/* What is done before or behind a block, without dropout, which is not there when it translates. */
static rgm_status read_steps(char out[8], rgmi_import_config *c, const char *key,
                             const char *otherwise)
{
    const char *steps;
    int count = 0;

    RGM_TRY(rgmi_import_text(&steps, c, key));
    steps = steps != NULL ? steps : otherwise;
    for (; *steps != '\0' && count < 7; steps++)
        if (*steps != 'd')
            out[count++] = *steps;
    out[count] = '\0';
    return RGM_OK;
}

static rgm_status read_norms(rgmi_import_translation *t, rgmi_import_work *work)
{
    rgmi_import_config *c = &work->source->config;
    char before[8], behind[8], of_tables[8], top[8];

    RGM_TRY(read_steps(before, c, "transformer-preprocess", ""));
    RGM_TRY(read_steps(behind, c, "transformer-postprocess", "dan"));
    RGM_TRY(read_steps(of_tables, c, "transformer-postprocess-emb", "d"));
    RGM_TRY(read_steps(top, c, "transformer-postprocess-top", ""));
    t->norm_first = strcmp(before, "n") == 0;
    t->final_norm = strcmp(top, "n") == 0;
    if (t->norm_first)
        work->names = rgm_translation_marian_prenorm_names;
    if (!t->norm_first && before[0] != '\0')
        return rgmi_import_refuse(c, "transformer-preprocess", "\"\", d, n and nd are read here");
    if (strcmp(behind, t->norm_first ? "a" : "an") != 0)
        return rgmi_import_refuse(c, "transformer-postprocess",
                                  "what a block makes is added, and behind it or before the block "
                                  "stands one layer norm here: dan, or da with a norm before");
    if (of_tables[0] != '\0')
        return rgmi_import_refuse(c, "transformer-postprocess-emb",
                                  "embeddings have dropout alone here");
    if (!t->final_norm && top[0] != '\0')
        return rgmi_import_refuse(c, "transformer-postprocess-top",
                                  "behind the last layer stands a layer norm or nothing here");
    return RGM_OK;
}

static rgm_status read_tables(rgmi_import_translation *t, rgmi_import_config *c)
{
    bool all, source, output;

    RGM_TRY(rgmi_import_bool(&all, c, "tied-embeddings-all", false));
    RGM_TRY(rgmi_import_bool(&source, c, "tied-embeddings-src", false));
    RGM_TRY(rgmi_import_bool(&output, c, "tied-embeddings", false));
    source = source || all;
    output = output || all;
    t->embeddings = source ? (output ? "shared" : "inputs") : (output ? "target" : "untied");
    return RGM_OK;
}

static rgm_status read_vocabulary_sizes(rgmi_import_translation *t, rgmi_import_config *c)
{
    const rgm_json *sizes;

    RGM_TRY(rgmi_import_value(&sizes, c, "dim-vocabs"));
    if (rgm_json_count(sizes) == 2 && rgm_json_int(&t->source_tokens, rgm_json_at(sizes, 0)) &&
        rgm_json_int(&t->target_tokens, rgm_json_at(sizes, 1)) && t->source_tokens >= 2 &&
        t->target_tokens >= 2 && t->source_tokens <= INT32_MAX && t->target_tokens <= INT32_MAX)
        return RGM_OK;
    return rgmi_import_refuse(c, "dim-vocabs", "one source and one target are read here");
}

static rgm_status read_dropouts(rgmi_import_translation *t, rgmi_import_config *c)
{
    RGM_TRY(rgmi_import_real(&t->dropout, c, "transformer-dropout", 0.1, 0, 0.999));
    RGM_TRY(
        rgmi_import_real(&t->attention_dropout, c, "transformer-dropout-attention", 0, 0, 0.999));
    return rgmi_import_real(&t->inner_dropout, c, "transformer-dropout-ffn", 0, 0, 0.999);
}

static rgm_status read_function(rgmi_import_translation *t, rgmi_import_work *work)
{
    rgmi_import_config *c = &work->source->config;
    const char *activation;

    RGM_TRY(rgmi_import_int(&t->width, c, "dim-emb", RGMI_NEEDED, 2, 65536));
    RGM_TRY(rgmi_import_int(&t->encoder.layers, c, "enc-depth", RGMI_NEEDED, 1, RGM_STACK_LAYERS));
    RGM_TRY(rgmi_import_int(&t->decoder.layers, c, "dec-depth", RGMI_NEEDED, 1, RGM_STACK_LAYERS));
    RGM_TRY(rgmi_import_int(&t->encoder.heads, c, "transformer-heads", RGMI_NEEDED, 1, 1024));
    RGM_TRY(rgmi_import_int(&t->encoder.inner, c, "transformer-dim-ffn", RGMI_NEEDED, 1, 1000000));
    RGM_TRY(rgmi_import_int(&t->decoder.inner, c, "transformer-decoder-dim-ffn", 0, 0, 1000000));
    t->decoder.heads = t->encoder.heads;
    if (t->decoder.inner == 0)
        t->decoder.inner = t->encoder.inner;
    RGM_TRY(rgmi_import_text(&activation, c, "transformer-ffn-activation"));
    RGM_TRY(rgmi_import_activation(&t->activation, c, "transformer-ffn-activation",
                                   activation != NULL ? activation : "relu"));
    RGM_TRY(read_norms(t, work));
    RGM_TRY(read_tables(t, c));
    RGM_TRY(read_vocabulary_sizes(t, c));
    RGM_TRY(read_dropouts(t, c));
    t->scaled = true;
    t->position_kind = "sinusoidal";
    t->positions = POSITIONS;
    t->epsilon = EPSILON;
    t->missing = NO_LOGIT;
    return RGM_OK;
}

/* ---- beside it ------------------------------------------------------------------------------- */

/** Its files, by name; owned. */
typedef struct beside {
    rgm_yaml *decoder; /* decoder.yml; NULL: there is none */
    char **names;
    int64_t count;
} beside;

static bool has(const beside *b, const char *name)
{
    for (int64_t i = 0; i < b->count; i++)
        if (strcmp(b->names[i], name) == 0)
            return true;
    return false;
}

static rgm_status look_beside(beside *b, const rgmi_import_source *source)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size;

    RGM_GO(rgm_folder_list(&b->names, &b->count, source->folder));
    if (!has(b, "decoder.yml"))
        goto done;
    RGM_GO(rgm_path_join(&path, source->folder, "decoder.yml"));
    RGM_GO(rgm_file_load(&text, &size, path, MOST_YAML));
    status = rgm_yaml_parse(&b->decoder, text, size, path);
    if (status == RGM_ERR_CONFIG)
        status = rgm_error_prefix(RGM_ERR_FORMAT, "no options of Marian");
done:
    rgm_free(path);
    rgm_free(text);
    return status;
}

/* A vocabulary that decoder.yml names, or of which the folder has one; by its name there. */
static rgm_status find_vocabulary(const char **out, const beside *b, int side,
                                  const rgmi_import_source *source)
{
    const rgm_yaml_node *list =
        b->decoder != NULL ? rgm_yaml_find(rgm_yaml_root(b->decoder), "vocabs") : NULL;
    int64_t found = 0;

    if (list != NULL && list->kind == RGM_YAML_LIST && list->count == 2 &&
        list->items[side]->kind == RGM_YAML_SCALAR) {
        const char *named = list->items[side]->text, *slash = strrchr(named, '/');
        *out = slash != NULL ? slash + 1 : named;
        if (has(b, *out))
            return RGM_OK;
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no %s, which decoder.yml names", source->folder,
                        *out);
    }
    for (int64_t i = 0; i < b->count; i++) {
        size_t size = strlen(b->names[i]);
        if (size < 9 || strcmp(b->names[i] + size - 9, "vocab.yml") != 0)
            continue;
        *out = b->names[i];
        found++;
    }
    if (found == 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_NOT_FOUND,
                    "%s: which file is the vocabulary? decoder.yml names two under vocabs, or the "
                    "folder has one *vocab.yml",
                    source->folder);
}

static bool is_model(const char *name)
{
    size_t size = strlen(name);

    return size > 4 && strcmp(name + size - 4, ".spm") == 0;
}

static rgm_status find_files(rgmi_import_translation *t, const beside *b,
                             const rgmi_import_source *source)
{
    static const char *const models[] = {"source.spm", "target.spm"};
    const char *vocabularies[2], *own[2];

    for (int side = 0; side < 2; side++) {
        RGM_TRY(find_vocabulary(&vocabularies[side], b, side, source));
        own[side] = is_model(vocabularies[side]) ? vocabularies[side] : models[side];
        if (!has(b, own[side]))
            return RGM_FAIL(RGM_ERR_NOT_FOUND,
                            "%s has no %s, the SentencePiece model that cuts texts into pieces",
                            source->folder, own[side]);
    }
    t->tokenizer = own[0];
    t->target_tokenizer = own[1];
    t->vocabulary = vocabularies[0];
    if (strcmp(vocabularies[0], vocabularies[1]) != 0)
        t->target_vocabulary = vocabularies[1];
    return RGM_OK;
}

/* A number of decoder.yml. */
static rgm_status option(double *out, const beside *b, const char *key, double otherwise)
{
    const rgm_yaml_node *node =
        b->decoder != NULL ? rgm_yaml_find(rgm_yaml_root(b->decoder), key) : NULL;

    *out = otherwise;
    return node != NULL ? rgm_yaml_float(out, node) : RGM_OK;
}

/* What of its search there is none of here. */
static rgm_status tell_search(const beside *b, rgmi_import_work *work)
{
    const rgm_yaml_node *node =
        b->decoder != NULL ? rgm_yaml_find(rgm_yaml_root(b->decoder), "allow-unk") : NULL;
    bool unknown = false;
    double word;

    RGM_TRY(option(&word, b, "word-penalty", 0));
    if (word != 0)
        RGM_TRY(rgmi_import_note(work, "word-penalty: %g is not to be had here", word));
    if (node != NULL)
        RGM_TRY(rgm_yaml_bool(&unknown, node));
    return unknown ? RGM_OK
                   : rgmi_import_note(work, "allow-unk: false there: '<unk>' is never written, as "
                                            "it may be here");
}

static rgm_status read_search(rgmi_import_translation *t, const beside *b, rgmi_import_work *work)
{
    rgm_beam_search_options *o = &t->search;
    double beams;

    RGM_TRY(option(&beams, b, "beam-size", BEAMS));
    RGM_TRY(option(&o->alpha, b, "normalize", 0));
    RGM_TRY(option(&o->decode_length_factor, b, "max-length-factor", LENGTH_FACTOR));
    o->beam_size = (int64_t)beams;
    RGM_TRY(tell_search(b, work));
    if (beams >= 1 && beams <= 64 && o->alpha >= 0 && o->alpha <= 10 &&
        o->decode_length_factor > 0 && o->decode_length_factor <= 1e6)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "%s/decoder.yml: beam-size is %g, normalize %g and max-length-factor %g: 1 to "
                    "64, 0 to 10 and above 0 to 1e6 are possible here",
                    work->source->folder, beams, o->alpha, o->decode_length_factor);
}

static rgm_status configure(rgm_json_writer *w, rgmi_import_work *work)
{
    rgmi_import_translation t = {.search = RGMI_IMPORT_SEARCH_INIT};
    rgm_status status = RGM_OK;
    beside b = {.count = 0};

    RGM_GO(read_function(&t, work));
    RGM_GO(look_beside(&b, work->source));
    RGM_GO(find_files(&t, &b, work->source));
    RGM_GO(read_search(&t, &b, work));
    RGM_GO(rgmi_import_translation_open(w, work, &t));
done:
    rgm_yaml_release(b.decoder);
    rgm_names_release(b.names, b.count);
    return status;
}

const rgmi_import_family rgmi_import_marian = {.name = "marian",
                                               .types = types,
                                               .names = rgm_translation_marian_names,
                                               .others = others,
                                               .fixed = fixed,
                                               .free_keys = free_keys,
                                               .configure = configure};
