/*
 * Options of the Transformer: defaults, keys and contradictions.
 */
#include "sequence_internal.h"

static const rgm_stack_options base_stack = {
    .num_layers = 6,
    .num_attention_heads = 8,
    .intermediate_size = 2048,
    .activation = RGM_ACT_RELU,
    .dropout_rate = 0.1,
    .attention_dropout_rate = 0.1,
    .attention_output_dropout = -1,
    .intermediate_dropout = 0.1,
    .ffn_bias = true,
    .norm_first = true,
    .final_norm = true,
    .norm_epsilon = 1e-6,
};

void rgm_seq2seq_defaults(void *options)
{
    *(rgm_seq2seq_options *)options = (rgm_seq2seq_options){.encoder = base_stack,
                                                            .decoder = base_stack,
                                                            .embedding_width = 512,
                                                            .dropout_rate = 0.1,
                                                            .factors = {.width = 8},
                                                            .scale_embeddings = true,
                                                            .rotary_base = 10000,
                                                            .relative_buckets = 32,
                                                            .relative_distance = 128,
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

static const char *const embeddings[] = {"shared", "target", "untied", "inputs", NULL};

static const char *const combines[] = {"sum", "concat", NULL};

#define RGM_OPTIONS rgm_factor_options
static const rgm_field factor_fields[] = {
    RGM_CHOICE_FIELD(combine, combines,
                     "sum: embeddings of factors are added to the piece's; concat: they stand "
                     "behind it, and it has what of embedding_width they leave"),
    RGM_INT_FIELD(width, 1, 65536, "of a factor's embedding, with concat"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_seq2seq_options
const rgm_field rgm_seq2seq_fields[] = {
    RGM_GROUP_FIELD(encoder, rgmi_stack_fields, "the stack that reads the source"),
    RGM_GROUP_FIELD(decoder, rgmi_stack_fields, "the stack that writes the target"),
    RGM_INT_FIELD(embedding_width, 2, 65536, "width of embeddings and of every layer; even"),
    RGM_FLOAT_FIELD(dropout_rate, 0, 0.999, "dropout of embeddings with their positions"),
    RGM_CHOICE_FIELD(
        embeddings, embeddings,
        "shared: one table for source, target and output; target: one for target and output; "
        "inputs: one for source and target, another for the output; untied"),
    RGM_GROUP_FIELD(factors, factor_fields, "how data.factors join the source's pieces"),
    RGM_BOOL_FIELD(output_bias, "a number for each token beside the logits"),
    RGM_BOOL_FIELD(scale_embeddings, "embeddings times the root of embedding_width"),
    RGMI_POSITION_FIELDS,
    RGM_INT_FIELD(max_positions, 1, 1e6, "longest sequence, its end included"),
    {0}};
#undef RGM_OPTIONS

rgm_status rgm_seq2seq_options_check(const void *options)
{
    const rgm_seq2seq_options *o = options;
    rgmi_embedding embedding = rgmi_seq2seq_embedding(o);

    RGM_TRY(rgm_options_check(o, rgm_seq2seq_fields, "model"));
    RGM_TRY(rgmi_embedding_check(&embedding));
    RGM_TRY(rgmi_stack_check(&o->encoder, "encoder", &embedding, false));
    return rgmi_stack_check(&o->decoder, "decoder", &embedding, true);
}

static rgm_status check_factors(const rgm_seq2seq *model)
{
    const rgm_seq2seq_options *o = &model->options;

    if (model->source_factors < 0 || model->factor_values < model->source_factors)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld factors with %lld values",
                        (long long)model->source_factors, (long long)model->factor_values);
    if (model->source_factors == 0 || o->factors.combine != RGM_FACTORS_CONCAT)
        return RGM_OK;
    if (o->embeddings == RGM_EMBEDDINGS_SHARED || o->embeddings == RGM_EMBEDDINGS_INPUTS)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.factors.combine is concat, which makes rows of the source narrower "
                        "than those of the target, but model.embeddings is %s: use target or "
                        "untied, or combine: sum",
                        embeddings[o->embeddings]);
    if (rgmi_source_width(model) < 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.factors.width is %lld: %lld factors leave nothing of "
                        "model.embedding_width (%lld) for the pieces",
                        (long long)o->factors.width, (long long)model->source_factors,
                        (long long)o->embedding_width);
    return RGM_OK;
}

rgm_status rgm_seq2seq_check(const rgm_seq2seq *model)
{
    const rgm_seq2seq_options *o = &model->options;

    RGM_TRY(rgm_seq2seq_options_check(o));
    if (model->source_vocabulary < 2 || model->target_vocabulary < 2)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "vocabularies of %lld and %lld: padding and an end are needed",
                        (long long)model->source_vocabulary, (long long)model->target_vocabulary);
    if ((o->embeddings == RGM_EMBEDDINGS_SHARED || o->embeddings == RGM_EMBEDDINGS_INPUTS) &&
        model->source_vocabulary != model->target_vocabulary)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "model.embeddings is %s, but the vocabularies have %lld and %lld tokens: use one "
            "tokenizer, or embeddings: target",
            embeddings[o->embeddings], (long long)model->source_vocabulary,
            (long long)model->target_vocabulary);
    return check_factors(model);
}
