/*
 * Options of stacks of blocks and of embeddings: keys and contradictions.
 */
#include "sequence_internal.h"

static const char *const activations[] = {"relu", "gelu", "gelu_tanh", "silu", NULL};
static const int activation_values[] = {RGM_ACT_RELU, RGM_ACT_GELU, RGM_ACT_GELU_TANH,
                                        RGM_ACT_SILU};
static const char *const norms[] = {"layer", "rms", NULL};
const char *const rgmi_position_names[] = {
    "sinusoidal", "learned", "sinusoidal_paper", "rotary", "alibi", "relative", "none", NULL};

#define RATE(member, text) RGM_FLOAT_FIELD(member, 0, 0.999, text)

#define RGM_OPTIONS rgm_stack_options
const rgm_field rgmi_stack_fields[] = {
    RGM_INT_FIELD(num_layers, 1, RGM_STACK_LAYERS, "layers"),
    RGM_INT_FIELD(num_attention_heads, 1, 1024, "heads of each attention; divides embedding_width"),
    RGM_INT_FIELD(
        num_key_value_heads, 0, 1024,
        "heads of keys and values, which groups of heads share; 0: as many; 1: multi-query "
        "attention"),
    RGM_INT_FIELD(intermediate_size, 1, 1e6, "units inside the feed-forward block"),
    RGM_SOME_FIELD(activation, activations, activation_values, "of the feed-forward block"),
    RGM_BOOL_FIELD(gated, "the activation of one projection times another one: with silu SwiGLU, "
                          "with gelu GeGLU"),
    RATE(dropout_rate, "dropout of what a block adds"),
    RATE(attention_dropout_rate,
         "dropout of attention's probabilities, and of what the encoder's attention adds"),
    RGM_FLOAT_FIELD(attention_output_dropout, -1, 0.999,
                    "dropout of what an attention adds; -1: dropout_rate, in an encoder "
                    "attention_dropout_rate"),
    RATE(intermediate_dropout, "dropout inside the feed-forward block"),
    RGM_BOOL_FIELD(use_bias, "biases of attention's projections"),
    RGM_BOOL_FIELD(qkv_bias, "of queries, keys and values alone, where use_bias is false"),
    RGM_BOOL_FIELD(ffn_bias, "biases of the feed-forward block"),
    RGM_CHOICE_FIELD(norm, norms, "layer norm, or rms: without mean and beta"),
    RGM_BOOL_FIELD(norm_first, "norm before each block, else behind its sum"),
    RGM_BOOL_FIELD(final_norm, "one more norm behind the last layer"),
    RGM_FLOAT_FIELD(norm_epsilon, RGM_ABOVE_0, 1, "added to the variance"),
    RGM_INT_FIELD(attention_window, 0, 1e9,
                  "a token sees tokens that are nearer than this; 0: all"),
    {0}};
#undef RGM_OPTIONS

/* Rotary positions turn pairs of numbers of a head. */
static rgm_status depth_check(const rgm_stack_options *o, const char *name, const rgmi_embedding *e)
{
    int64_t depth = e->width / o->num_attention_heads;

    if (e->positions == RGM_POSITIONS_ROTARY && depth % 2 != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.positions is rotary, but the heads of model.%s have the odd width "
                        "%lld: embedding_width / num_attention_heads must be even",
                        name, (long long)depth);
    return RGM_OK;
}

static rgm_status buckets_check(const char *name, const rgmi_embedding *e, bool causal)
{
    int64_t exact = causal ? e->relative_buckets / 2 : e->relative_buckets / 4;

    if (e->positions != RGM_POSITIONS_RELATIVE)
        return RGM_OK;
    if (exact < 1 || e->relative_distance <= exact)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.relative_buckets is %lld and model.relative_distance %lld: model.%s "
                        "needs at least %d buckets, and a distance above %lld",
                        (long long)e->relative_buckets, (long long)e->relative_distance, name,
                        causal ? 2 : 4, (long long)(exact < 1 ? 1 : exact));
    return RGM_OK;
}

rgm_status rgmi_stack_check(const rgm_stack_options *o, const char *name, const rgmi_embedding *e,
                            bool causal)
{
    if (e->width % o->num_attention_heads != 0)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "model.%s.num_attention_heads is %lld, which does not divide model.embedding_width "
            "(%lld)",
            name, (long long)o->num_attention_heads, (long long)e->width);
    if (o->num_attention_heads % rgmi_key_heads(o) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.%s.num_key_value_heads is %lld, which does not divide "
                        "num_attention_heads (%lld)",
                        name, (long long)o->num_key_value_heads, (long long)o->num_attention_heads);
    if (o->attention_output_dropout < 0 && o->attention_output_dropout != -1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "model.%s.attention_output_dropout is %g: it is -1 or from 0 to below 1",
                        name, o->attention_output_dropout);
    RGM_TRY(depth_check(o, name, e));
    return buckets_check(name, e, causal);
}

rgm_status rgmi_embedding_check(const rgmi_embedding *e)
{
    if (e->width % 2 != 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "model.embedding_width is %lld, but must be even",
                        (long long)e->width);
    return RGM_OK;
}

void rgm_stack_without_dropout(rgm_stack_options *options)
{
    options->dropout_rate = options->attention_dropout_rate = options->intermediate_dropout = 0;
    options->attention_output_dropout = 0;
}
