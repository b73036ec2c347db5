/*
 * A translation model for other programs: encoder.onnx reads sources, decoder_step.onnx goes one
 * token on, and translation.json says what they take and give, where the tokenizers are and how the
 * search was configured. docs/export.md has the loop that decodes with them.
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

/* ---- translation.json: every text in it is one of ours, none needs an escape ----------------- */

/* {"name": "ids", "dtype": "int64", "shape": ["sentences", "beams"]} */
static rgm_status print_tensor(rgm_text *out, const char *name, const rgm_value *value,
                               const char *before)
{
    const char *dtype = rgm_value_dtype(value) == RGM_I64 ? "int64" : "float32";
    char text[128];

    RGM_TRY(rgm_text_printf(out, "%s\n      {\"name\": \"%s\", \"dtype\": \"%s\", \"shape\": [",
                            before, name, dtype));
    for (int i = 0; i < rgm_value_rank(value); i++) {
        rgm_dim dim = rgm_value_dim(value, i);
        const char *quote = dim < 0 ? "\"" : "";
        RGM_TRY(rgm_text_printf(out, "%s%s%s%s", i > 0 ? ", " : "", quote,
                                rgm_dim_describe(rgm_value_graph(value), dim, text, sizeof text),
                                quote));
    }
    return rgm_text_printf(out, "]}");
}

static rgm_status print_encoder(rgm_text *out, const rgmi_translation_graphs *g)
{
    RGM_TRY(rgm_text_printf(out, "  \"encoder\": {\n    \"file\": \"%s\",\n    \"inputs\": [",
                            rgmi_encoder_file));
    RGM_TRY(print_tensor(out, rgm_value_name(g->encoder.ids), g->encoder.ids, ""));
    RGM_TRY(rgm_text_printf(out, "\n    ],\n    \"outputs\": ["));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(print_tensor(out, memory_name(g, i), g->encoder.memory[i], i > 0 ? "," : ""));
    return rgm_text_printf(out, "\n    ]\n  },\n");
}

static rgm_status print_step(rgm_text *out, const rgmi_translation_graphs *g)
{
    const rgm_seq2seq_step *s = &g->step;
    char name[NAME_SIZE];

    RGM_TRY(rgm_text_printf(out, "  \"decoder_step\": {\n    \"file\": \"%s\",\n    \"inputs\": [",
                            rgmi_decoder_step_file));
    RGM_TRY(print_tensor(out, rgm_value_name(s->ids), s->ids, ""));
    RGM_TRY(print_tensor(out, rgm_value_name(s->position), s->position, ","));
    RGM_TRY(print_tensor(out, rgm_value_name(s->source), s->source, ","));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(print_tensor(out, memory_name(g, i), s->memory[i], ","));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(print_tensor(out, rgm_value_name(s->past[i]), s->past[i], ","));
    RGM_TRY(rgm_text_printf(out, "\n    ],\n    \"outputs\": ["));
    RGM_TRY(print_tensor(out, "log_probabilities", s->log_probabilities, ""));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(print_tensor(out, present_name(name, i), s->present[i], ","));
    RGM_TRY(rgm_text_printf(out, "\n    ]\n  },\n  \"caches\": ["));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(rgm_text_printf(out, "%s\n    {\"past\": \"%s\", \"present\": \"%s\"}",
                                i > 0 ? "," : "", rgm_value_name(s->past[i]),
                                present_name(name, i)));
    return rgm_text_printf(out, "\n  ],\n");
}

/* tokenizer null: the words of a line are the tokens' numbers. */
static rgm_status print_side(rgm_text *out, const char *side, const char *tokenizer,
                             int64_t vocabulary, int32_t end)
{
    const char *quote = tokenizer != NULL ? "\"" : "";

    return rgm_text_printf(
        out,
        "  \"%s\": {\n    \"tokenizer\": %s%s%s,\n    \"vocabulary_size\": %lld,\n"
        "    \"pad_id\": 0,\n    \"begin_id\": %s,\n    \"end_id\": %lld\n  },\n",
        side, quote, tokenizer != NULL ? tokenizer : "null", quote, (long long)vocabulary,
        side[0] == 't' ? "0" : "null", (long long)end);
}

static rgm_status print_sides(rgm_text *out, const rgmi_translation_task *t)
{
    rgm_task_file files[RGM_MAX_TASK_FILES];
    int64_t count;

    rgmi_parallel_files(files, &count, &t->data);
    RGM_TRY(print_side(out, "source", count > 0 ? files[0].name : NULL, t->data.source_vocabulary,
                       rgmi_source_end(&t->data)));
    return print_side(out, "target", count > 0 ? files[count - 1].name : NULL,
                      t->data.target_vocabulary, t->data.end_id);
}

static rgm_status print_search(rgm_text *out, const rgm_search_options *o)
{
    return rgm_text_printf(
        out,
        "  \"search\": {\n    \"beam_size\": %lld,\n    \"n_best\": %lld,\n"
        "    \"alpha\": %.17g,\n    \"decode_max_length\": %lld,\n"
        "    \"extra_decode_length\": %lld,\n    \"sample\": %s,\n"
        "    \"temperature\": %.17g,\n    \"top_k\": %lld,\n    \"top_p\": %.17g\n  }\n}\n",
        (long long)o->beam_size, (long long)o->n_best, o->alpha, (long long)o->decode_max_length,
        (long long)o->extra_decode_length, o->sample ? "true" : "false", o->temperature,
        (long long)o->top_k, o->top_p);
}

static rgm_status print_description(rgm_text *out, const rgmi_translation_task *t,
                                    const rgmi_translation_graphs *g)
{
    RGM_TRY(rgm_text_printf(
        out, "{\n  \"format\": \"%s\",\n  \"version\": %d,\n  \"producer\": \"regimen %s\",\n",
        FORMAT_NAME, FORMAT_VERSION, RGM_VERSION));
    RGM_TRY(print_encoder(out, g));
    RGM_TRY(print_step(out, g));
    RGM_TRY(rgm_text_printf(out, "  \"decoder_layers\": %lld,\n  \"max_positions\": %lld,\n",
                            (long long)t->model.options.decoder.num_layers,
                            (long long)t->model.options.max_positions));
    RGM_TRY(print_sides(out, t));
    return print_search(out, &t->options.search);
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

/* The description comes last: who finds it finds what it speaks of. */
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
    RGM_GO(print_description(&text, t, &g));
    RGM_GO(rgm_path_join(&path, folder, rgmi_description_file));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    rgmi_translation_graphs_clear(&g);
    return status;
}
