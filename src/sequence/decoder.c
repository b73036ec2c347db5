/*
 * The decoder without a source: embeddings, causal self-attention and feed-forward blocks, logits;
 * as one graph over whole or packed sequences, and as graphs that go on from kept keys and values.
 */
#include <math.h>

#include "sequence_internal.h"

/* ---- tables ---------------------------------------------------------------------------------- */

static rgm_value *table_of(rgm_scope *scope, const rgm_decoder *model, const char *side)
{
    int64_t shape[2] = {rgm_seq2seq_padded(model->vocabulary), model->options.embedding_width};
    double deviation = model->options.scale_embeddings ? 1 / sqrt((double)shape[1]) : 0.02;

    return rgm_scope_parameter(rgm_scope_enter(scope, side), "table", 2, shape,
                               (rgm_init){RGM_INIT_NORMAL, deviation});
}

rgm_value *rgm_decoder_logits(rgm_scope *scope, const rgm_decoder *model, rgm_value *states)
{
    return rgmi_logits(scope, states,
                       table_of(scope, model, model->options.tied ? "embedding" : "output"),
                       model->options.output_bias);
}

/* ---- the stack --------------------------------------------------------------------------------
 */

rgm_value *rgmi_decoder_stack(rgm_scope *scope, const rgm_decoder *model,
                              const rgm_decoder_inputs *inputs, rgmi_kept_keys *kept)
{
    const rgm_stack_options *o = &model->options.decoder;
    rgm_scope *stack = rgm_scope_enter(scope, "decoder");
    rgmi_embedding embedding = rgmi_decoder_embedding(&model->options);
    rgmi_seen seen = {.causal = true, .key = inputs->segments, .query = inputs->segments};
    double rate = rgmi_attention_output_rate(o, o->dropout_rate);
    rgmi_row_shape shape;
    rgmi_token_places places;
    rgm_value *x;

    if (inputs->ids == NULL || inputs->positions == NULL || stack == NULL)
        return NULL;
    shape = (rgmi_row_shape){rgm_value_dim(inputs->ids, 0), rgm_value_dim(inputs->ids, 1)};
    x = rgmi_embed(stack, &embedding, table_of(scope, model, "embedding"), inputs->ids,
                   inputs->positions);
    rgmi_places_make(&places, stack, &embedding, o, inputs->positions, true);
    for (int64_t i = 0; i < o->num_layers; i++) {
        rgm_scope *layer = rgmi_stack_layer(stack, i), *block = rgm_scope_enter(layer, "attention");
        rgm_value *y;
        rgm_cgraph_block_begin(rgm_scope_graph(scope));
        y = rgmi_block_input(block, o, x);
        y = rgmi_attend_self(block, o, y, &shape, &places, &seen, &kept[i]);
        x = rgmi_block_output(block, o, x, y, rate);
        x = rgmi_feed_forward(layer, o, x);
        rgm_cgraph_block_end(rgm_scope_graph(scope));
    }
    return rgmi_stack_end(stack, o, x);
}

rgm_value *rgm_decoder_states(rgm_scope *scope, const rgm_decoder *model,
                              const rgm_decoder_inputs *inputs)
{
    rgmi_kept_keys kept[RGM_STACK_LAYERS] = {0};

    return rgmi_decoder_stack(scope, model, inputs, kept);
}

/* ---- graphs that go on -------------------------------------------------------------------------
 */

static int64_t key_width(const rgm_decoder *model)
{
    return rgmi_key_width(&model->options.decoder, model->options.embedding_width);
}

rgm_value *rgmi_keys_input(rgm_cgraph *graph, const char *what, int64_t i, int rank,
                           const rgm_dim *shape)
{
    char name[64];

    snprintf(name, sizeof name, "%s_%s_%lld", what, i % 2 == 0 ? "keys" : "values",
             (long long)i / 2);
    return rgm_input(graph, name, RGM_F32, rank, shape);
}

/* Keys and values of all layers, as outputs have them. */
static void list_keys(rgm_value **out, const rgmi_kept_keys *kept, int64_t layers)
{
    for (int64_t i = 0; i < layers; i++) {
        out[2 * i] = kept[i].keys;
        out[2 * i + 1] = kept[i].values;
    }
}

rgm_status rgm_decoder_step_graph(rgm_decoder_step *out, rgm_scope *scope, const rgm_decoder *model)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgmi_kept_keys kept[RGM_STACK_LAYERS] = {0};
    rgm_dim batch = rgm_cgraph_symbol(graph, "batch"), tokens = rgm_cgraph_symbol(graph, "tokens");
    rgm_dim past = rgm_cgraph_symbol(graph, "past");
    int64_t layers = model->options.decoder.num_layers;
    rgm_decoder_inputs inputs;
    rgm_value *logits;

    *out = (rgm_decoder_step){0};
    RGM_TRY(rgm_decoder_check(model));
    out->ids = rgm_input(graph, "ids", RGM_I64, 2, (rgm_dim[]){batch, tokens});
    out->positions = rgm_input(graph, "positions", RGM_I64, 1, &tokens);
    for (int64_t i = 0; i < 2 * layers; i++)
        out->past[i] =
            rgmi_keys_input(graph, "past", i, 3, (rgm_dim[]){batch, past, key_width(model)});
    for (int64_t i = 0; i < layers; i++)
        kept[i] =
            (rgmi_kept_keys){.past_keys = out->past[2 * i], .past_values = out->past[2 * i + 1]};
    inputs = (rgm_decoder_inputs){.ids = out->ids, .positions = out->positions};
    logits = rgm_decoder_logits(scope, model, rgmi_decoder_stack(scope, model, &inputs, kept));
    RGM_TRY(rgm_cgraph_status(graph));
    out->logits = rgm_reshape(rgm_slice(logits, 1, 0, model->vocabulary), 3,
                              (rgm_dim[]){batch, tokens, model->vocabulary});
    list_keys(out->present, kept, layers);
    return rgm_cgraph_status(graph);
}

rgm_status rgmi_decoder_prompt_graph(rgmi_decoder_prompt *out, rgm_scope *scope,
                                     const rgm_decoder *model)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgmi_kept_keys kept[RGM_STACK_LAYERS] = {0};
    rgm_dim prompts = rgm_cgraph_symbol(graph, "prompts");
    rgm_dim tokens = rgm_cgraph_symbol(graph, "tokens");
    rgm_decoder_inputs inputs;
    rgm_value *states;

    *out = (rgmi_decoder_prompt){0};
    RGM_TRY(rgm_decoder_check(model));
    out->ids = rgm_input(graph, "ids", RGM_I64, 2, (rgm_dim[]){prompts, tokens});
    out->positions = rgm_input(graph, "positions", RGM_I64, 1, &tokens);
    out->last = rgm_input(graph, "last", RGM_I64, 1, &prompts);
    inputs = (rgm_decoder_inputs){.ids = out->ids, .positions = out->positions};
    states = rgmi_decoder_stack(scope, model, &inputs, kept);
    out->logits = rgm_decoder_logits(scope, model, rgm_gather(states, out->last));
    list_keys(out->keys, kept, model->options.decoder.num_layers);
    return rgm_cgraph_status(graph);
}

rgm_status rgmi_decoder_rows_graph(rgmi_decoder_rows *out, rgm_scope *scope,
                                   const rgm_decoder *model)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgmi_kept_keys kept[RGM_STACK_LAYERS] = {0};
    rgm_dim rows = rgm_cgraph_symbol(graph, "rows"), steps = rgm_cgraph_symbol(graph, "steps");
    rgm_dim past = rgm_cgraph_symbol(graph, "kept_rows");
    int64_t layers = model->options.decoder.num_layers;
    rgm_decoder_inputs inputs;

    *out = (rgmi_decoder_rows){0};
    RGM_TRY(rgm_decoder_check(model));
    out->ids = rgm_input(graph, "ids", RGM_I64, 2, (rgm_dim[]){rows, 1});
    out->positions = rgm_input(graph, "positions", RGM_I64, 2, (rgm_dim[]){rows, 1});
    out->past_rows = rgm_input(graph, "past_rows", RGM_I64, 2, (rgm_dim[]){rows, steps});
    for (int64_t i = 0; i < 2 * layers; i++)
        out->past[i] = rgmi_keys_input(graph, "past", i, 2, (rgm_dim[]){past, key_width(model)});
    for (int64_t i = 0; i < layers; i++)
        kept[i] = (rgmi_kept_keys){.past_keys = out->past[2 * i],
                                   .past_values = out->past[2 * i + 1],
                                   .past_rows = out->past_rows};
    inputs = (rgm_decoder_inputs){.ids = out->ids, .positions = out->positions};
    out->logits = rgm_decoder_logits(scope, model, rgmi_decoder_stack(scope, model, &inputs, kept));
    list_keys(out->newest, kept, layers);
    return rgm_cgraph_status(graph);
}
