/*
 * Options of the Transformer and of the search for translations: defaults, keys, what contradicts.
 */
#include "seq2seq_internal.h"

static const rgm_seq2seq_stack base_stack = {
    .num_layers = 6,
    .num_attention_heads = 8,
    .intermediate_size = 2048,
    .activation = RGM_ACT_RELU,
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
static const int activation_values[] = {RGM_ACT_RELU, RGM_ACT_GELU};
static const char *const embeddings[] = {"shared", "target", "untied", NULL};
static const char *const positions[] = {"sinusoidal", "learned", NULL};

#define RATE(member, text) RGM_FLOAT_FIELD(member, 0, 0.999, text)

#define RGM_OPTIONS rgm_seq2seq_stack
static const rgm_field stack_fields[] = {
    RGM_INT_FIELD(num_layers, 1, RGM_SEQ2SEQ_LAYERS, "layers"),
    RGM_INT_FIELD(num_attention_heads, 1, 1024, "heads of each attention; divides embedding_width"),
    RGM_INT_FIELD(intermediate_size, 1, 1e6, "units inside the feed-forward block"),
    RGM_SOME_FIELD(activation, activations, activation_values, "of the feed-forward block"),
    RATE(dropout_rate, "dropout of what a block adds"),
    RATE(attention_dropout_rate,
         "dropout of attention's probabilities, and of what the encoder's attention adds"),
    RATE(intermediate_dropout, "dropout inside the feed-forward block"),
    RGM_BOOL_FIELD(use_bias, "biases of attention's projections"),
    RGM_BOOL_FIELD(norm_first, "layer norm before each block, else behind its sum"),
    RGM_FLOAT_FIELD(norm_epsilon, RGM_ABOVE_0, 1, "added to the variance"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_seq2seq_options
const rgm_field rgm_seq2seq_fields[] = {
    RGM_GROUP_FIELD(encoder, stack_fields, "the stack that reads the source"),
    RGM_GROUP_FIELD(decoder, stack_fields, "the stack that writes the target"),
    RGM_INT_FIELD(embedding_width, 2, 65536, "width of embeddings and of every layer; even"),
    RATE(dropout_rate, "dropout of embeddings with their positions"),
    RGM_CHOICE_FIELD(
        embeddings, embeddings,
        "shared: one table for source, target and output; target: one for target and output; "
        "untied"),
    RGM_CHOICE_FIELD(positions, positions, "what tells a token its place"),
    RGM_INT_FIELD(max_positions, 1, 1e6, "longest sequence, its end included"),
    {0}};
#undef RGM_OPTIONS

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

#define RGM_OPTIONS rgm_search_options
const rgm_field rgm_search_fields[] = {
    RGM_INT_FIELD(beam_size, 1, RGMI_SEARCH_BEAMS, "hypotheses followed at once; 1: greedy"),
    RGM_INT_FIELD(n_best, 1, RGMI_SEARCH_BEAMS, "translations of each sentence, at most beam_size"),
    RGM_FLOAT_FIELD(alpha, 0, 10, "length penalty: scores are divided by ((5 + length) / 6)^alpha"),
    RGM_INT_FIELD(decode_max_length, 0, 1e6,
                  "longest translation in tokens; 0: extra_decode_length more than the source"),
    RGM_INT_FIELD(extra_decode_length, 0, 1e6,
                  "how much longer than its source a translation may be, in tokens"),
    RGM_INT_FIELD(decode_batch_size, 1, 1e6, "sentences decoded together"),
    RGM_BOOL_FIELD(sample, "draw each token by its probability"),
    RGM_FLOAT_FIELD(temperature, RGM_ABOVE_0, 1e6,
                    "of sampling; below 1 the probable become more so"),
    RGM_INT_FIELD(top_k, 0, 1e9, "sample among the k most probable tokens; 0: all"),
    RGM_FLOAT_FIELD(top_p, RGM_ABOVE_0, 1,
                    "sample among the fewest tokens that have this probability together"),
    RGM_INT_FIELD(seed, 0, 1e15, "of sampling"),
    {0}};
#undef RGM_OPTIONS

rgm_status rgm_search_check(const rgm_search_options *o, const rgm_seq2seq *model)
{
    RGM_TRY(rgm_options_check(o, rgm_search_fields, "task.search"));
    if (o->n_best > o->beam_size)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.search.n_best is %lld, above beam_size (%lld)",
                        (long long)o->n_best, (long long)o->beam_size);
    if (o->sample && o->beam_size != 1)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.search.sample needs beam_size: 1, it is %lld",
                        (long long)o->beam_size);
    if (2 * o->beam_size > model->target_vocabulary && o->beam_size > 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "task.search.beam_size is %lld; a vocabulary of %lld allows %lld",
                        (long long)o->beam_size, (long long)model->target_vocabulary,
                        (long long)model->target_vocabulary / 2);
    if (o->end_id < 0 || o->end_id >= model->target_vocabulary)
        return RGM_FAIL(RGM_ERR_CONFIG, "the end of sentence is %lld, but ids are 0..%lld",
                        (long long)o->end_id, (long long)model->target_vocabulary - 1);
    return RGM_OK;
}
