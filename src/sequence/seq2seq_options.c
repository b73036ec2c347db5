/*
 * Options of the Transformer: defaults, keys and contradictions.
 */
#include "sequence_internal.h"

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
