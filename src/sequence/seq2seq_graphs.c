/*
 * The graphs that decode one token at a time: one reads sources into the keys and values that the
 * decoder layers attend to, one runs the decoder for the newest token of every row and returns the
 * keys and values including those of that token. The beams of a sentence share its source: they are
 * the queries of one attention. The exported form takes and returns whole keys and values; the form
 * for the search reads the rows where they are.
 */
#include "sequence_internal.h"

rgm_status rgm_seq2seq_source_graph(rgm_seq2seq_source *out, rgm_scope *scope,
                                    const rgm_seq2seq *model, rgm_value *ids, rgm_value *positions)
{
    rgmi_seq2seq_layer layers[RGM_SEQ2SEQ_LAYERS] = {0};
    rgmi_row_shape shape;
    rgm_value *states;

    *out = (rgm_seq2seq_source){.ids = ids};
    RGM_TRY(rgm_seq2seq_check(model));
    RGM_TRY(rgm_cgraph_status(rgm_scope_graph(scope)));
    shape = (rgmi_row_shape){rgm_value_dim(ids, 0), rgm_value_dim(ids, 1)};
    if (model->source_factors > 0)
        out->factors = rgm_input(rgm_scope_graph(scope), "source_factors", RGM_I64, 3,
                                 (rgm_dim[]){shape.sequences, shape.length, model->source_factors});
    states = rgm_seq2seq_encode_factors(scope, model, ids, out->factors, positions);
    rgmi_seq2seq_source_keys(layers, scope, model, states, &shape);
    for (int64_t i = 0; i < model->options.decoder.num_layers; i++) {
        out->memory[2 * i] = layers[i].source_keys;
        out->memory[2 * i + 1] = layers[i].source_values;
    }
    return rgm_cgraph_status(rgm_scope_graph(scope));
}

rgm_status rgm_seq2seq_step_graph(rgm_seq2seq_step *out, rgm_scope *scope, const rgm_seq2seq *model,
                                  rgm_value *source)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgmi_seq2seq_layer layers[RGM_SEQ2SEQ_LAYERS] = {0};
    rgmi_row_shape rows = {.length = 1}, queries;
    rgm_dim length, width;
    rgm_dim steps = rgm_cgraph_symbol(graph, "steps");
    rgm_value *flat, *states;

    *out = (rgm_seq2seq_step){.source = source};
    RGM_TRY(rgm_seq2seq_check(model));
    RGM_TRY(rgm_cgraph_status(graph));
    width = rgmi_seq2seq_key_width(model);
    queries = (rgmi_row_shape){rgm_value_dim(source, 0), rgm_cgraph_symbol(graph, "beams")};
    length = rgm_value_dim(source, 1);
    out->ids = rgm_input(graph, "ids", RGM_I64, 2, (rgm_dim[]){queries.sequences, queries.length});
    out->position = rgm_input(graph, "position", RGM_I64, 1, (rgm_dim[]){1});
    flat = rgm_reshape(out->ids, 2, (rgm_dim[]){RGM_INFER, 1});
    RGM_TRY(rgm_cgraph_status(graph));
    rows.sequences = rgm_value_dim(flat, 0);
    for (int64_t i = 0; i < 2 * model->options.decoder.num_layers; i++) {
        out->memory[i] =
            rgmi_keys_input(graph, "memory", i, 3, (rgm_dim[]){queries.sequences, length, width});
        out->past[i] =
            rgmi_keys_input(graph, "past", i, 3, (rgm_dim[]){rows.sequences, steps, width});
    }
    for (int64_t i = 0; i < model->options.decoder.num_layers; i++)
        layers[i] = (rgmi_seq2seq_layer){
            .source_keys = out->memory[2 * i],
            .source_values = out->memory[2 * i + 1],
            .kept = {.past_keys = out->past[2 * i], .past_values = out->past[2 * i + 1]},
            .source_queries = queries};
    states = rgmi_seq2seq_decoder(scope, model, flat, out->position, source, layers, &rows);
    out->log_probabilities = rgm_log_softmax(
        rgm_slice(rgm_seq2seq_logits(scope, model, states), 1, 0, model->target_vocabulary));
    for (int64_t i = 0; i < model->options.decoder.num_layers; i++) {
        out->present[2 * i] = layers[i].kept.keys;
        out->present[2 * i + 1] = layers[i].kept.values;
    }
    return rgm_cgraph_status(graph);
}

/* Inputs of the rows' form. */
static rgm_status rows_inputs(rgmi_seq2seq_rows *out, rgm_value **flat, rgm_cgraph *graph,
                              const rgm_seq2seq *model)
{
    rgm_dim width = rgmi_seq2seq_key_width(model),
            sentences = rgm_cgraph_symbol(graph, "sentences");
    rgm_dim beams = rgm_cgraph_symbol(graph, "beams"), steps = rgm_cgraph_symbol(graph, "steps");
    rgm_dim memory[2] = {rgm_cgraph_symbol(graph, "memory_rows"), width};
    rgm_dim past[2] = {rgm_cgraph_symbol(graph, "kept_rows"), width};
    rgm_dim length = rgm_cgraph_symbol(graph, "kept_length");

    *out = (rgmi_seq2seq_rows){0};
    out->ids = rgm_input(graph, "ids", RGM_I64, 2, (rgm_dim[]){sentences, beams});
    out->position = rgm_input(graph, "position", RGM_I64, 1, (rgm_dim[]){1});
    out->source_rows = rgm_input(graph, "source_rows", RGM_I64, 2, (rgm_dim[]){sentences, length});
    *flat = rgm_reshape(out->ids, 2, (rgm_dim[]){RGM_INFER, 1});
    RGM_TRY(rgm_cgraph_status(graph));
    out->past_rows =
        rgm_input(graph, "past_rows", RGM_I64, 2, (rgm_dim[]){rgm_value_dim(*flat, 0), steps});
    for (int64_t i = 0; i < 2 * model->options.decoder.num_layers; i++) {
        out->memory[i] = rgmi_keys_input(graph, "memory", i, 2, memory);
        out->past[i] = rgmi_keys_input(graph, "past", i, 2, past);
    }
    return rgm_cgraph_status(graph);
}

rgm_status rgmi_seq2seq_rows_graph(rgmi_seq2seq_rows *out, rgm_scope *scope,
                                   const rgm_seq2seq *model)
{
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgmi_seq2seq_layer layers[RGM_SEQ2SEQ_LAYERS] = {0};
    rgmi_row_shape rows = {.length = 1};
    rgm_value *flat, *states;

    RGM_TRY(rgm_seq2seq_check(model));
    RGM_TRY(rows_inputs(out, &flat, graph, model));
    rows.sequences = rgm_value_dim(flat, 0);
    for (int64_t i = 0; i < model->options.decoder.num_layers; i++)
        layers[i] = (rgmi_seq2seq_layer){
            .source_keys = out->memory[2 * i],
            .source_values = out->memory[2 * i + 1],
            .source_rows = out->source_rows,
            .source_queries = {rgm_value_dim(out->ids, 0), rgm_value_dim(out->ids, 1)},
            .kept = {.past_keys = out->past[2 * i],
                     .past_values = out->past[2 * i + 1],
                     .past_rows = out->past_rows}};
    out->states = states =
        rgmi_seq2seq_decoder(scope, model, flat, out->position, NULL, layers, &rows);
    out->logits = rgm_seq2seq_logits(scope, model, states);
    for (int64_t i = 0; i < model->options.decoder.num_layers; i++) {
        out->newest[2 * i] = layers[i].kept.keys;
        out->newest[2 * i + 1] = layers[i].kept.values;
    }
    return rgm_cgraph_status(graph);
}
