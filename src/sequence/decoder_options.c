/*
 * Options of the decoder without a source: defaults, keys and contradictions.
 */
#include "sequence_internal.h"

void rgm_decoder_defaults(void *options)
{
    *(rgm_decoder_options *)options = (rgm_decoder_options){
        .decoder = {.num_layers = 6,
                    .num_attention_heads = 6,
                    .intermediate_size = 1024,
                    .activation = RGM_ACT_SILU,
                    .gated = true,
                    .attention_output_dropout = -1,
                    .norm = RGM_NORM_RMS,
                    .norm_first = true,
                    .final_norm = true,
                    .norm_epsilon = 1e-5},
        .embedding_width = 384,
        .tied = true,
        .positions = RGM_POSITIONS_ROTARY,
        .rotary_base = 10000,
        .relative_buckets = 32,
        .relative_distance = 128,
        .max_positions = 1024,
    };
}

void rgm_decoder_gpt2_defaults(void *options)
{
    rgm_decoder_options *o = options;

    rgm_decoder_defaults(o);
    o->decoder = (rgm_stack_options){.num_layers = 12,
                                     .num_attention_heads = 12,
                                     .intermediate_size = 3072,
                                     .activation = RGM_ACT_GELU_TANH,
                                     .dropout_rate = 0.1,
                                     .attention_dropout_rate = 0.1,
                                     .attention_output_dropout = -1,
                                     .use_bias = true,
                                     .ffn_bias = true,
                                     .norm_first = true,
                                     .final_norm = true,
                                     .norm_epsilon = 1e-5};
    o->embedding_width = 768;
    o->dropout_rate = 0.1;
    o->positions = RGM_POSITIONS_LEARNED;
}

#define RGM_OPTIONS rgm_decoder_options
const rgm_field rgm_decoder_fields[] = {
    RGM_GROUP_FIELD(decoder, rgmi_stack_fields, "the stack of blocks"),
    RGM_INT_FIELD(embedding_width, 2, 65536, "width of embeddings and of every layer; even"),
    RGM_FLOAT_FIELD(dropout_rate, 0, 0.999, "dropout of embeddings with their positions"),
    RGM_BOOL_FIELD(tied, "one table for tokens that are read and written"),
    RGM_BOOL_FIELD(output_bias, "a number for each token beside the logits"),
    RGM_BOOL_FIELD(scale_embeddings, "embeddings times the root of embedding_width"),
    RGMI_POSITION_FIELDS,
    RGM_INT_FIELD(max_positions, 1, 1e6, "longest sequence"),
    {0}};
#undef RGM_OPTIONS

rgmi_embedding rgmi_decoder_embedding(const rgm_decoder_options *o)
{
    return (rgmi_embedding){.width = o->embedding_width,
                            .max_positions = o->max_positions,
                            .scaled = o->scale_embeddings,
                            .dropout = o->dropout_rate,
                            .positions = o->positions,
                            .rotary_base = o->rotary_base,
                            .relative_buckets = o->relative_buckets,
                            .relative_distance = o->relative_distance};
}

rgm_status rgm_decoder_options_check(const void *options)
{
    const rgm_decoder_options *o = options;
    rgmi_embedding embedding = rgmi_decoder_embedding(o);

    RGM_TRY(rgm_options_check(o, rgm_decoder_fields, "model"));
    RGM_TRY(rgmi_embedding_check(&embedding));
    return rgmi_stack_check(&o->decoder, "decoder", &embedding, true);
}

rgm_status rgm_decoder_check(const rgm_decoder *model)
{
    RGM_TRY(rgm_decoder_options_check(&model->options));
    if (model->vocabulary < 2)
        return RGM_FAIL(RGM_ERR_CONFIG, "a vocabulary of %lld: two tokens are needed at least",
                        (long long)model->vocabulary);
    return RGM_OK;
}
