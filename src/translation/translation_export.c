/*
 * A translation model for other programs: encoder.onnx reads sources, decoder_step.onnx decodes one
 * more token, and translation.json describes their inputs and outputs, where the tokenizers are and
 * how the search was configured. docs/export.md has the loop that decodes with them.
 */
#include <stdio.h>

#include "translation_internal.h"

#define FORMAT_NAME    "regimen-translation"
#define FORMAT_VERSION 1

const char rgmi_encoder_file[] = "encoder.onnx", rgmi_decoder_step_file[] = "decoder_step.onnx";
const char rgmi_description_file[] = "translation.json";

enum { NAME_SIZE = 64 };

/* ---- the graphs ---------------------------------------------------------------------------- */

/* 0, 1, .. as many as the sources have: nobody has to feed them. */
static rgm_value *positions_of(rgm_cgraph *graph, int64_t most, rgm_dim length)
{
    rgm_tensor *all;
    rgm_value *value;

    if (rgm_tensor_arange(&all, most) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory: positions");
    value = rgm_constant(graph, all);
    rgm_tensor_release(all);
    return rgm_slice_to(value, 0, length);
}

rgm_status rgmi_translation_graphs_open(rgmi_translation_graphs *out, const rgm_seq2seq *model)
{
    rgm_status status = RGM_OK;
    rgmi_translation_graphs g = {.caches = 2 * model->options.decoder.num_layers};
    rgm_value *source;
    rgm_dim shape[2];

    *out = (rgmi_translation_graphs){0};
    RGM_GO(rgm_cgraph_create(&g.graph));
    RGM_GO(rgm_scope_create(&g.scope, g.graph, RGM_F32));
    shape[0] = rgm_cgraph_symbol(g.graph, "sentences");
    shape[1] = rgm_cgraph_symbol(g.graph, "source_length");
    source = rgm_input(g.graph, "source", RGM_I64, 2, shape);
    RGM_GO(rgm_seq2seq_source_graph(&g.encoder, g.scope, model, source,
                                    positions_of(g.graph, model->options.max_positions, shape[1])));
    RGM_GO(rgm_seq2seq_step_graph(&g.step, g.scope, model, source));
    *out = g;
done:
    if (status != RGM_OK)
        rgmi_translation_graphs_clear(&g);
    return status;
}

void rgmi_translation_graphs_clear(rgmi_translation_graphs *graphs)
{
    rgm_scope_release(graphs->scope);
    rgm_cgraph_release(graphs->graph);
    *graphs = (rgmi_translation_graphs){0};
}

/* ---- the two files ------------------------------------------------------------------------- */

/* An output has the name of the input that it is fed to. */
static const char *memory_name(const rgmi_translation_graphs *g, int64_t i)
{
    return rgm_value_name(g->step.memory[i]);
}

static const char *present_name(char name[NAME_SIZE], int64_t i)
{
    snprintf(name, NAME_SIZE, "present_%s_%lld", i % 2 == 0 ? "keys" : "values", (long long)i / 2);
    return name;
}

/* folder NULL: only whether it could be written. */
static rgm_status save_file(const char *folder, const char *name, const rgmi_translation_graphs *g,
                            const rgm_parameters *parameters, const rgm_export_output *outputs,
                            int64_t count)
{
    rgm_onnx_options options = {.description = "part of a translation model trained by Regimen; "
                                               "translation.json says how to use it"};
    char *path;
    rgm_status status;

    if (folder == NULL)
        return rgm_onnx_check(g->graph, parameters, outputs, count, &options);
    RGM_TRY(rgm_path_join(&path, folder, name));
    status = rgm_onnx_save(path, g->graph, parameters, outputs, count, &options);
    rgm_free(path);
    return status;
}

static rgm_status save_encoder(const char *folder, const rgmi_translation_graphs *g,
                               const rgm_parameters *parameters)
{
    rgm_export_output outputs[2 * RGM_SEQ2SEQ_LAYERS];

    for (int64_t i = 0; i < g->caches; i++)
        outputs[i] = (rgm_export_output){.name = memory_name(g, i), .value = g->encoder.memory[i]};
    return save_file(folder, rgmi_encoder_file, g, parameters, outputs, g->caches);
}

static rgm_status save_step(const char *folder, const rgmi_translation_graphs *g,
                            const rgm_parameters *parameters)
{
    rgm_export_output outputs[1 + 2 * RGM_SEQ2SEQ_LAYERS];
    char names[2 * RGM_SEQ2SEQ_LAYERS][NAME_SIZE];

    outputs[0] =
        (rgm_export_output){.name = "log_probabilities", .value = g->step.log_probabilities};
    for (int64_t i = 0; i < g->caches; i++)
        outputs[1 + i] =
            (rgm_export_output){.name = present_name(names[i], i), .value = g->step.present[i]};
    return save_file(folder, rgmi_decoder_step_file, g, parameters, outputs, 1 + g->caches);
}

/* ---- translation.json ----------------------------------------------------------------------- */

static rgm_status write_encoder(rgm_json_writer *w, const rgmi_translation_graphs *g)
{
    RGM_TRY(rgm_json_open_object(w, "encoder", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "file", rgmi_encoder_file));
    RGM_TRY(rgm_json_open_list(w, "inputs", RGM_JSON_LINES));
    RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(g->encoder.ids), g->encoder.ids));
    if (g->encoder.factors != NULL)
        RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(g->encoder.factors), g->encoder.factors));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_open_list(w, "outputs", RGM_JSON_LINES));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(rgm_export_write_tensor(w, memory_name(g, i), g->encoder.memory[i]));
    RGM_TRY(rgm_json_close(w));
    return rgm_json_close(w);
}

static rgm_status write_step(rgm_json_writer *w, const rgmi_translation_graphs *g)
{
    const rgm_seq2seq_step *s = &g->step;
    char name[NAME_SIZE];

    RGM_TRY(rgm_json_open_object(w, "decoder_step", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "file", rgmi_decoder_step_file));
    RGM_TRY(rgm_json_open_list(w, "inputs", RGM_JSON_LINES));
    RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->ids), s->ids));
    RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->position), s->position));
    RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->source), s->source));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(rgm_export_write_tensor(w, memory_name(g, i), s->memory[i]));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->past[i]), s->past[i]));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_open_list(w, "outputs", RGM_JSON_LINES));
    RGM_TRY(rgm_export_write_tensor(w, "log_probabilities", s->log_probabilities));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(rgm_export_write_tensor(w, present_name(name, i), s->present[i]));
    RGM_TRY(rgm_json_close(w));
    return rgm_json_close(w);
}

static rgm_status write_caches(rgm_json_writer *w, const rgmi_translation_graphs *g)
{
    char name[NAME_SIZE];

    RGM_TRY(rgm_json_open_list(w, "caches", RGM_JSON_LINES));
    for (int64_t i = 0; i < g->caches; i++) {
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "past", rgm_value_name(g->step.past[i])));
        RGM_TRY(rgm_json_write_text(w, "present", present_name(name, i)));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

/* Which numbers the values of each factor have. */
static rgm_status write_factors(rgm_json_writer *w, const rgmi_factors *f)
{
    int64_t number = 1;

    if (f->count == 0)
        return RGM_OK;
    RGM_TRY(rgm_json_open_list(w, "factors", RGM_JSON_LINES));
    for (int64_t j = 0; j < f->count; j++) {
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "name", f->lists->names[j]));
        RGM_TRY(rgm_json_open_object(w, "values", RGM_JSON_SPACED));
        for (int64_t i = 0; i < f->lists->items[j].count; i++)
            RGM_TRY(rgm_json_write_int(w, f->lists->items[j].items[i], number++));
        RGM_TRY(rgm_json_close(w));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

/* Without a tokenizer the words of a line are the tokens' numbers. */
static rgm_status write_side(rgm_json_writer *w, const rgmi_translation_task *t, bool is_target)
{
    rgmi_side_names names = rgmi_translation_names(&t->data, is_target);

    RGM_TRY(rgm_json_open_object(w, is_target ? "target" : "source", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "tokenizer", names.tokenizer));
    if (names.vocabulary != NULL)
        RGM_TRY(rgm_json_write_text(w, "vocabulary", names.vocabulary));
    RGM_TRY(rgm_json_write_int(w, "vocabulary_size",
                               is_target ? t->data.target_vocabulary : t->data.source_vocabulary));
    RGM_TRY(rgm_json_write_int(w, "pad_id", 0));
    if (is_target)
        RGM_TRY(rgm_json_write_int(w, "begin_id", t->data.target_tag));
    else if (t->data.source_tag >= 0)
        RGM_TRY(rgm_json_write_int(w, "begin_id", t->data.source_tag));
    else
        RGM_TRY(rgm_json_write_printed(w, "begin_id", "null"));
    RGM_TRY(
        rgm_json_write_int(w, "end_id", is_target ? t->data.end_id : rgmi_source_end(&t->data)));
    if (!is_target)
        RGM_TRY(write_factors(w, &t->data.factors));
    return rgm_json_close(w);
}

/* All of a number's digits, as this file has always had them: 0.59999999999999998. */
static rgm_status write_digits(rgm_json_writer *w, const char *key, double number)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_printf(&text, "%.17g", number));
    RGM_GO(rgm_json_write_printed(w, key, text.data));
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status write_search(rgm_json_writer *w, const rgm_beam_search_options *o)
{
    RGM_TRY(rgm_json_open_object(w, "search", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "beam_size", o->beam_size));
    RGM_TRY(rgm_json_write_int(w, "n_best", o->n_best));
    RGM_TRY(write_digits(w, "alpha", o->alpha));
    RGM_TRY(rgm_json_write_text(w, "length_penalty",
                                o->length_penalty == RGM_LENGTH_POWER ? "power" : "gnmt"));
    RGM_TRY(rgm_json_write_bool(w, "end_within_beam", o->end_within_beam));
    RGM_TRY(rgm_json_write_bool(w, "no_padding", o->no_padding));
    RGM_TRY(write_digits(w, "coverage", o->coverage));
    RGM_TRY(rgm_json_write_int(w, "decode_max_length", o->decode_max_length));
    RGM_TRY(write_digits(w, "decode_length_factor", o->decode_length_factor));
    RGM_TRY(rgm_json_write_int(w, "extra_decode_length", o->extra_decode_length));
    RGM_TRY(rgm_json_write_int(w, "decode_min_length", o->decode_min_length));
    RGM_TRY(rgm_json_write_int(w, "no_repeat_ngram", o->no_repeat_ngram));
    RGM_TRY(write_digits(w, "repetition_penalty", o->repetition_penalty));
    RGM_TRY(rgm_json_write_int(w, "diversity_groups", o->diversity_groups));
    RGM_TRY(write_digits(w, "diversity", o->diversity));
    RGM_TRY(rgm_json_write_bool(w, "sample", o->sample));
    RGM_TRY(write_digits(w, "temperature", o->temperature));
    RGM_TRY(rgm_json_write_int(w, "top_k", o->top_k));
    RGM_TRY(write_digits(w, "top_p", o->top_p));
    return rgm_json_close(w);
}

static rgm_status write_description(rgm_text *out, const rgmi_translation_task *t,
                                    const rgmi_translation_graphs *g)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "format", FORMAT_NAME));
    RGM_TRY(rgm_json_write_int(&w, "version", FORMAT_VERSION));
    RGM_TRY(rgm_json_write_text(&w, "producer", "regimen " RGM_VERSION));
    RGM_TRY(write_encoder(&w, g));
    RGM_TRY(write_step(&w, g));
    RGM_TRY(write_caches(&w, g));
    RGM_TRY(rgm_json_write_int(&w, "decoder_layers", t->model.options.decoder.num_layers));
    RGM_TRY(rgm_json_write_int(&w, "max_positions", t->model.options.max_positions));
    RGM_TRY(write_side(&w, t, false));
    RGM_TRY(write_side(&w, t, true));
    RGM_TRY(write_search(&w, &t->options.search));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

/* ---- together ------------------------------------------------------------------------------ */

rgm_status rgmi_translation_check_export(const rgm_parameters *parameters, void *state)
{
    rgm_status status = RGM_OK;
    rgmi_translation_graphs g = {0};
    const rgmi_translation_task *t = state;

    RGM_GO(rgmi_translation_graphs_open(&g, &t->model));
    RGM_GO(save_encoder(NULL, &g, parameters));
    RGM_GO(save_step(NULL, &g, parameters));
done:
    rgmi_translation_graphs_clear(&g);
    return status;
}

/* The description is written last: when it exists, the files that it names exist too. */
rgm_status rgmi_translation_save(const char *folder, const rgm_parameters *parameters, void *state)
{
    rgm_status status = RGM_OK;
    rgmi_translation_graphs g = {0};
    const rgmi_translation_task *t = state;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(rgmi_translation_graphs_open(&g, &t->model));
    RGM_GO(save_encoder(folder, &g, parameters));
    RGM_GO(save_step(folder, &g, parameters));
    RGM_GO(write_description(&text, t, &g));
    RGM_GO(rgm_path_join(&path, folder, rgmi_description_file));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    rgmi_translation_graphs_clear(&g);
    return status;
}
