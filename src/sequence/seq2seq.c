/*
 * The sequence-to-sequence Transformer (Vaswani et al. 2017) as TF Model Garden builds it:
 * embeddings scaled by sqrt(width), sinusoidal positions whose sines come first, a norm before each
 * block and one after each stack, attention without biases, the feed-forward block with them.
 *
 * Rows are [sequences * length, width] everywhere but inside attention. Attention masks padding (id
 * 0) as a key; the rows of padding are computed, but nothing reads them.
 */
#include <math.h>

#include "sequence_internal.h"

/* ---- embeddings ---------------------------------------------------------------------------- */

int64_t rgm_seq2seq_padded(int64_t vocabulary)
{
    return (vocabulary + 7) / 8 * 8;
}

/* The table of one side: [padded vocabulary, width]. */
static rgm_value *table_of(rgm_scope *scope, const rgm_seq2seq *model, const char *side,
                           int64_t vocabulary, int64_t width)
{
    int64_t shape[2] = {rgm_seq2seq_padded(vocabulary), width};
    rgm_init start = {RGM_INIT_NORMAL, 1 / sqrt((double)model->options.embedding_width)};

    return rgm_scope_parameter(rgm_scope_enter(scope, side), "table", 2, shape, start);
}

rgmi_embedding rgmi_seq2seq_embedding(const rgm_seq2seq_options *o)
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

void rgm_seq2seq_sinusoids(float *table, const rgm_seq2seq_options *options)
{
    const rgmi_embedding o = rgmi_seq2seq_embedding(options);

    rgmi_sinusoids_write(table, &o);
}

int64_t rgmi_seq2seq_key_width(const rgm_seq2seq *model)
{
    return rgmi_key_width(&model->options.decoder, model->options.embedding_width);
}

/* Whether source and target read one table. */
static bool reads_one_table(const rgm_seq2seq *model)
{
    return model->options.embeddings == RGM_EMBEDDINGS_SHARED ||
           model->options.embeddings == RGM_EMBEDDINGS_INPUTS;
}

/* Of one factor's embedding. */
static int64_t factor_width(const rgm_seq2seq *model)
{
    const rgm_seq2seq_options *o = &model->options;

    return o->factors.combine == RGM_FACTORS_CONCAT ? o->factors.width : o->embedding_width;
}

int64_t rgmi_source_width(const rgm_seq2seq *model)
{
    const rgm_seq2seq_options *o = &model->options;
    bool behind = model->source_factors > 0 && o->factors.combine == RGM_FACTORS_CONCAT;

    return o->embedding_width - (behind ? model->source_factors * o->factors.width : 0);
}

static rgm_value *source_table(rgm_scope *scope, const rgm_seq2seq *model)
{
    return table_of(scope, model, reads_one_table(model) ? "embedding" : "source_embedding",
                    model->source_vocabulary, rgmi_source_width(model));
}

static rgm_value *target_table(rgm_scope *scope, const rgm_seq2seq *model)
{
    return table_of(scope, model, reads_one_table(model) ? "embedding" : "target_embedding",
                    model->target_vocabulary, model->options.embedding_width);
}

static rgm_value *output_table(rgm_scope *scope, const rgm_seq2seq *model)
{
    return model->options.embeddings == RGM_EMBEDDINGS_UNTIED ||
                   model->options.embeddings == RGM_EMBEDDINGS_INPUTS
               ? table_of(scope, model, "output", model->target_vocabulary,
                          model->options.embedding_width)
               : target_table(scope, model);
}

const char *rgmi_output_table(const rgm_seq2seq *model)
{
    static const char *const names[] = {[RGM_EMBEDDINGS_SHARED] = "embedding/table",
                                        [RGM_EMBEDDINGS_TARGET] = "target_embedding/table",
                                        [RGM_EMBEDDINGS_UNTIED] = "output/table",
                                        [RGM_EMBEDDINGS_INPUTS] = "output/table"};

    return names[model->options.embeddings];
}

/* ---- encoder ------------------------------------------------------------------------------- */

/* Rows [b s, width] of tokens with their factors, before they are scaled. */
static rgm_value *source_rows(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                              rgm_value *factors)
{
    int64_t count = model->source_factors, width = factor_width(model);
    rgm_value *table = source_table(scope, model), *rows, *beside;

    rows = rgm_gather(table, rgm_reshape(source, 1, (rgm_dim[]){RGM_INFER}));
    if ((factors != NULL) != (count > 0))
        return rgm_cgraph_fail(rgm_scope_graph(scope), RGM_ERR_ARG,
                               "a model with %lld factors gets %s", (long long)count,
                               factors != NULL ? "factors" : "none");
    if (count == 0)
        return rows;
    table = table_of(scope, model, "source_factors", model->factor_values + 1, width);
    beside = rgm_gather(table, rgm_reshape(factors, 1, (rgm_dim[]){RGM_INFER}));
    if (model->options.factors.combine == RGM_FACTORS_SUM) {
        beside = rgm_reshape(beside, 3, (rgm_dim[]){RGM_INFER, count, width});
        return rgm_add(rows, rgm_reduce(beside, 1, RGM_SUM));
    }
    beside = rgm_reshape(beside, 2, (rgm_dim[]){RGM_INFER, count * width});
    return rgm_concat((rgm_value *[]){rows, beside}, 2, 1);
}

rgm_value *rgm_seq2seq_encode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                              rgm_value *positions)
{
    return rgm_seq2seq_encode_factors(scope, model, source, NULL, positions);
}

rgm_value *rgm_seq2seq_encode_factors(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *source,
                                      rgm_value *factors, rgm_value *positions)
{
    const rgm_stack_options *o = &model->options.encoder;
    rgm_scope *stack = rgm_scope_enter(scope, "encoder");
    rgmi_embedding embedding = rgmi_seq2seq_embedding(&model->options);
    double rate = rgmi_attention_output_rate(o, o->attention_dropout_rate);
    rgmi_row_shape shape;
    rgmi_token_places places;
    rgm_value *x;

    if (source == NULL || stack == NULL)
        return NULL;
    shape = (rgmi_row_shape){rgm_value_dim(source, 0), rgm_value_dim(source, 1)};
    x = rgmi_embed_rows(stack, &embedding, source_rows(scope, model, source, factors), source,
                        positions);
    rgmi_places_make(&places, stack, &embedding, o, positions, false);
    for (int64_t i = 0; i < o->num_layers; i++) {
        rgm_scope *layer = rgmi_stack_layer(stack, i), *block = rgm_scope_enter(layer, "attention");
        rgmi_kept_keys kept = {0};
        rgm_value *y;
        rgm_cgraph_block_begin(rgm_scope_graph(scope));
        y = rgmi_block_input(block, o, x);
        y = rgmi_attend_self(block, o, y, &shape, &places, &(rgmi_seen){.key = source}, &kept);
        x = rgmi_block_output(block, o, x, y, rate);
        x = rgmi_feed_forward(layer, o, x);
        rgm_cgraph_block_end(rgm_scope_graph(scope));
    }
    return rgmi_stack_end(stack, o, x);
}

/* ---- decoder ------------------------------------------------------------------------------- */

static rgm_value *attend_source(rgm_scope *cross, const rgm_stack_options *o, rgm_value *x,
                                const rgmi_row_shape *shape, const rgmi_seq2seq_layer *io,
                                rgm_value *source)
{
    const rgmi_row_shape *queries = shape;

    if (io->source_queries.sequences != 0)
        queries = &io->source_queries; /* the beams of a sentence are its queries */
    if (io->source_rows != NULL)
        return rgmi_attend_rows(cross, o, x, queries, io->source_keys, io->source_values,
                                io->source_rows);
    return rgmi_attend(cross, o, x, queries, io->source_keys, io->source_values, source);
}

/* Keys and values that a layer's two attentions read. */
static rgm_value *decoder_layer(rgm_scope *layer, const rgm_seq2seq *model, rgm_value *x,
                                const rgmi_row_shape *shape, const rgmi_token_places *places,
                                rgmi_seq2seq_layer *io, rgm_value *source)
{
    const rgm_stack_options *o = &model->options.decoder;
    rgm_scope *self = rgm_scope_enter(layer, "self_attention");
    rgm_scope *cross = rgm_scope_enter(layer, "cross_attention");
    double rate = rgmi_attention_output_rate(o, o->dropout_rate);
    rgm_value *y = rgmi_block_input(self, o, x);

    y = rgmi_attend_self(self, o, y, shape, places, &(rgmi_seen){.causal = true}, &io->kept);
    x = rgmi_block_output(self, o, x, y, rate);
    y = attend_source(cross, o, rgmi_block_input(cross, o, x), shape, io, source);
    x = rgmi_block_output(cross, o, x, y, rate);
    return rgmi_feed_forward(layer, o, x);
}

rgm_value *rgmi_seq2seq_decoder(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                                rgm_value *positions, rgm_value *source, rgmi_seq2seq_layer *layers,
                                const rgmi_row_shape *shape)
{
    const rgm_stack_options *o = &model->options.decoder;
    rgm_scope *stack = rgm_scope_enter(scope, "decoder");
    rgmi_embedding embedding = rgmi_seq2seq_embedding(&model->options);
    rgm_value *x = rgmi_embed(stack, &embedding, target_table(scope, model), target, positions);
    rgmi_token_places places;

    rgmi_places_make(&places, stack, &embedding, o, positions, true);
    for (int64_t i = 0; i < o->num_layers; i++) {
        rgm_cgraph_block_begin(rgm_scope_graph(scope));
        x = decoder_layer(rgmi_stack_layer(stack, i), model, x, shape, &places, &layers[i], source);
        rgm_cgraph_block_end(rgm_scope_graph(scope));
    }
    return rgmi_stack_end(stack, o, x);
}

void rgmi_seq2seq_source_keys(rgmi_seq2seq_layer *layers, rgm_scope *scope,
                              const rgm_seq2seq *model, rgm_value *memory,
                              const rgmi_row_shape *shape)
{
    rgm_scope *stack = rgm_scope_enter(scope, "decoder");

    for (int64_t i = 0; i < model->options.decoder.num_layers; i++)
        rgmi_attention_keys(&layers[i].source_keys, &layers[i].source_values,
                            rgm_scope_enter(rgmi_stack_layer(stack, i), "cross_attention"),
                            &model->options.decoder, memory, shape);
}

rgm_value *rgm_seq2seq_decode(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *target,
                              rgm_value *positions, rgm_value *memory, rgm_value *source)
{
    rgmi_seq2seq_layer layers[RGM_SEQ2SEQ_LAYERS] = {0};
    rgmi_row_shape shape, from;

    if (target == NULL || source == NULL || memory == NULL)
        return NULL;
    shape = (rgmi_row_shape){rgm_value_dim(target, 0), rgm_value_dim(target, 1)};
    from = (rgmi_row_shape){rgm_value_dim(source, 0), rgm_value_dim(source, 1)};
    rgmi_seq2seq_source_keys(layers, scope, model, memory, &from);
    return rgmi_seq2seq_decoder(scope, model, target, positions, source, layers, &shape);
}

rgm_value *rgm_seq2seq_logits(rgm_scope *scope, const rgm_seq2seq *model, rgm_value *states)
{
    return rgmi_logits(scope, states, output_table(scope, model), model->options.output_bias);
}

/* ---- loss ---------------------------------------------------------------------------------- */

rgm_value *rgm_seq2seq_losses(const rgm_seq2seq *model, rgm_value *logits, rgm_value *labels,
                              double smoothing)
{
    rgm_cross_entropy_options options = {.classes = model->target_vocabulary,
                                         .smoothing = smoothing};
    rgm_value *losses = rgm_softmax_cross_entropy_with(logits, labels, &options);
    double others = (double)(model->target_vocabulary - 1), entropy = 0;

    if (smoothing > 0)
        entropy =
            -((1 - smoothing) * log(1 - smoothing) + smoothing * log(smoothing / others + 1e-20));
    return entropy > 0 ? rgm_shift(losses, -entropy) : losses;
}

rgm_value *rgm_seq2seq_weights(rgm_scope *scope, rgm_value *labels)
{
    rgm_value *zero = rgm_scalar(rgm_scope_graph(scope), RGM_I64, 0);

    return rgm_cast(rgm_shift(rgm_neg(rgm_equal(labels, zero)), 1), rgm_scope_dtype(scope));
}
