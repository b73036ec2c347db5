/*
 * Options of the Transformer and of the search for translations: defaults, keys, what contradicts.
 */
#include "seq2seq_internal.h"

static const rgm_seq2seq_stack base_stack = {
    .num_layers = 6,
    .num_attention_heads = 8,
    .intermediate_size = 2048,
    .dropout_rate = 0.1,
    .attention_dropout_rate = 0.1,
    .intermediate_dropout = 0.1,
    .norm_first = true,
    .norm_epsilon = 1e-6,
};

void rgm_seq2seq_defaults(void *options)
{
    *(rgm_seq2seq_options *)options = (rgm_seq2seq_options){.encoder = base_stack,
                                                            .decoder = base_stack,
                                                            .embedding_width = 512,
                                                            .dropout_rate = 0.1,
                                                            .max_positions = 1024};
}

void rgm_seq2seq_big_defaults(void *options)
{
    rgm_seq2seq_options *o = options;

    rgm_seq2seq_defaults(o);
    o->embedding_width = 1024;
    o->encoder.num_attention_heads = o->decoder.num_attention_heads = 16;
    o->encoder.intermediate_size = o->decoder.intermediate_size = 4096;
}

static const char *const activations[] = {"relu", "gelu", NULL};
static const char *const embeddings[] = {"shared", "target", "untied", NULL};
static const char *const positions[] = {"sinusoidal", "learned", NULL};

#define RATE(key, at, text)                                                                        \
    {                                                                                              \
        .name = key, .kind = RGM_FIELD_FLOAT, .offset = at, .min = 0, .max = 0.999, .help = text   \
    }

#define STACK(member) offsetof(rgm_seq2seq_stack, member)
static const rgm_field stack_fields[] = {
    {.name = "num_layers",
     .kind = RGM_FIELD_INT,
     .offset = STACK(num_layers),
     .min = 1,
     .max = RGM_SEQ2SEQ_LAYERS,
     .help = "layers"},
    {.name = "num_attention_heads",
     .kind = RGM_FIELD_INT,
     .offset = STACK(num_attention_heads),
     .min = 1,
     .max = 1024,
     .help = "heads of each attention; divides embedding_width"},
    {.name = "intermediate_size",
     .kind = RGM_FIELD_INT,
     .offset = STACK(intermediate_size),
     .min = 1,
     .max = 1e6,
     .help = "units inside the feed-forward block"},
    {.name = "activation",
     .kind = RGM_FIELD_CHOICE,
     .offset = STACK(activation),
     .choices = activations,
     .help = "of the feed-forward block"},
    RATE("dropout_rate", STACK(dropout_rate), "dropout of what a block adds"),
    RATE("attention_dropout_rate", STACK(attention_dropout_rate),
         "dropout of attention's probabilities, and of what the encoder's attention adds"),
    RATE("intermediate_dropout", STACK(intermediate_dropout),
         "dropout inside the feed-forward block"),
    {.name = "use_bias",
     .kind = RGM_FIELD_BOOL,
     .offset = STACK(use_bias),
     .help = "biases of attention's projections"},
    {.name = "norm_first",
     .kind = RGM_FIELD_BOOL,
     .offset = STACK(norm_first),
     .help = "layer norm before each block, else behind its sum"},
    {.name = "norm_epsilon",
     .kind = RGM_FIELD_FLOAT,
     .offset = STACK(norm_epsilon),
     .min = RGM_ABOVE_0,
     .max = 1,
     .help = "added to the variance"},
    {0},
};

#define AT(member) offsetof(rgm_seq2seq_options, member)
const rgm_field rgm_seq2seq_fields[] = {
    {.name = "encoder",
     .kind = RGM_FIELD_GROUP,
     .offset = AT(encoder),
     .group = stack_fields,
     .help = "the stack that reads the source"},
    {.name = "decoder",
     .kind = RGM_FIELD_GROUP,
     .offset = AT(decoder),
     .group = stack_fields,
     .help = "the stack that writes the target"},
    {.name = "embedding_width",
     .kind = RGM_FIELD_INT,
     .offset = AT(embedding_width),
     .min = 2,
     .max = 65536,
     .help = "width of embeddings and of every layer; even"},
    RATE("dropout_rate", AT(dropout_rate), "dropout of embeddings with their positions"),
    {.name = "embeddings",
     .kind = RGM_FIELD_CHOICE,
     .offset = AT(embeddings),
     .choices = embeddings,
     .help = "shared: one table for source, target and output; target: one for target and output; "
             "untied"},
    {.name = "positions",
     .kind = RGM_FIELD_CHOICE,
     .offset = AT(positions),
     .choices = positions,
     .help = "what tells a token its place"},
    {.name = "max_positions",
     .kind = RGM_FIELD_INT,
     .offset = AT(max_positions),
     .min = 1,
     .max = 1e6,
     .help = "longest sequence, its end included"},
    {0},
};

static rgm_status stack_check(const rgm_seq2seq_stack *o, const char *name, int64_t width)
{
    if (width % o->num_attention_heads != 0)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "model.%s.num_attention_heads is %lld, which does not divide model.embedding_width "
            "(%lld)",
            name, (long long)o->num_attention_heads, (long long)width);
    return RGM_OK;
}

rgm_status rgm_seq2seq_check(const rgm_seq2seq *model)
{
    const rgm_seq2seq_options *o = &model->options;

    RGM_TRY(rgm_options_check(o, rgm_seq2seq_fields, "model"));
    if (o->embedding_width % 2 != 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "model.embedding_width is %lld, but must be even",
                        (long long)o->embedding_width);
    RGM_TRY(stack_check(&o->encoder, "encoder", o->embedding_width));
    RGM_TRY(stack_check(&o->decoder, "decoder", o->embedding_width));
    if (model->source_vocabulary < 2 || model->target_vocabulary < 2)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "vocabularies of %lld and %lld: padding and an end are needed",
                        (long long)model->source_vocabulary, (long long)model->target_vocabulary);
    if (o->embeddings == RGM_EMBEDDINGS_SHARED &&
        model->source_vocabulary != model->target_vocabulary)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "model.embeddings is shared, but the vocabularies have %lld and %lld tokens: use one "
            "tokenizer, or embeddings: target",
            (long long)model->source_vocabulary, (long long)model->target_vocabulary);
    return RGM_OK;
}

/* ---- search ---- */

#define SEARCH(member) offsetof(rgm_search_options, member)
const rgm_field rgm_search_fields[] = {
    {.name = "beam_size",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(beams),
     .min = 1,
     .max = RGMI_SEARCH_BEAMS,
     .help = "hypotheses followed at once; 1: greedy"},
    {.name = "n_best",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(n_best),
     .min = 1,
     .max = RGMI_SEARCH_BEAMS,
     .help = "translations of each sentence, at most beam_size"},
    {.name = "alpha",
     .kind = RGM_FIELD_FLOAT,
     .offset = SEARCH(alpha),
     .min = 0,
     .max = 10,
     .help = "length penalty: scores are divided by ((5 + length) / 6)^alpha"},
    {.name = "decode_max_length",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(max_length),
     .min = 0,
     .max = 1e6,
     .help = "longest translation in tokens; 0: extra_decode_length more than the source"},
    {.name = "extra_decode_length",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(extra_length),
     .min = 0,
     .max = 1e6,
     .help = "how much longer than its source a translation may be, in tokens"},
    {.name = "decode_batch_size",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(batch_size),
     .min = 1,
     .max = 1e6,
     .help = "sentences decoded together"},
    {.name = "sample",
     .kind = RGM_FIELD_BOOL,
     .offset = SEARCH(sample),
     .help = "draw each token by its probability"},
    {.name = "temperature",
     .kind = RGM_FIELD_FLOAT,
     .offset = SEARCH(temperature),
     .min = RGM_ABOVE_0,
     .max = 1e6,
     .help = "of sampling; below 1 the probable become more so"},
    {.name = "top_k",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(top_k),
     .min = 0,
     .max = 1e9,
     .help = "sample among the k most probable tokens; 0: all"},
    {.name = "top_p",
     .kind = RGM_FIELD_FLOAT,
     .offset = SEARCH(top_p),
     .min = RGM_ABOVE_0,
     .max = 1,
     .help = "sample among the fewest tokens that have this probability together"},
    {.name = "seed",
     .kind = RGM_FIELD_INT,
     .offset = SEARCH(seed),
     .min = 0,
     .max = 1e15,
     .help = "of sampling"},
    {0},
};

rgm_status rgm_search_check(const rgm_search_options *o, const rgm_seq2seq *model)
{
    RGM_TRY(rgm_options_check(o, rgm_search_fields, "task.search"));
    if (o->n_best > o->beams)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.search.n_best is %lld, above beam_size (%lld)",
                        (long long)o->n_best, (long long)o->beams);
    if (o->sample && o->beams != 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.search.sample needs beam_size: 1, it is %lld",
                        (long long)o->beams);
    if (2 * o->beams > model->target_vocabulary && o->beams > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.search.beam_size is %lld; a vocabulary of %lld allows %lld",
                        (long long)o->beams, (long long)model->target_vocabulary,
                        (long long)model->target_vocabulary / 2);
    if (o->end_id < 0 || o->end_id >= model->target_vocabulary)
        return RGM_FAIL(RGM_ERR_CONFIG, "the end of sentence is %lld, but ids are 0..%lld",
                        (long long)o->end_id, (long long)model->target_vocabulary - 1);
    return RGM_OK;
}
