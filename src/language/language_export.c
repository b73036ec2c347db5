/*
 * A language model for other programs: model.onnx reads some tokens more of each row behind keys
 * and values that it gave before, and language_model.json describes its inputs and outputs, where
 * the tokenizer is and how texts were written. docs/language_model.md has the loop that writes with
 * them.
 */
#include <stdio.h>
#include <string.h>

#include "language_internal.h"

#define FORMAT_NAME    "regimen-language-model"
#define FORMAT_VERSION 1

const char rgmi_language_description[] = "language_model.json";
static const char model_file[] = "model.onnx";

enum { NAME_SIZE = 64 };

/** What is exported. */
typedef struct graphs {
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_decoder_step step;
    bool has_positions; /* the file has that input: another kind of positions reads none */
    int64_t caches;     /* keys and values of all layers */
    char names[2 * RGM_STACK_LAYERS][NAME_SIZE];
    rgm_export_output outputs[1 + 2 * RGM_STACK_LAYERS];
} graphs;

static void graphs_clear(graphs *g)
{
    if (g == NULL)
        return;
    rgm_scope_release(g->scope);
    rgm_cgraph_release(g->graph);
    rgm_free(g);
}

static rgm_status graphs_open(graphs **out, const rgm_decoder *model)
{
    rgm_status status = RGM_OK;
    graphs *g = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(g, 1));
    RGM_GO(rgm_cgraph_create(&g->graph));
    RGM_GO(rgm_scope_create(&g->scope, g->graph, RGM_F32));
    RGM_GO(rgm_decoder_step_graph(&g->step, g->scope, model));
    g->caches = 2 * model->options.decoder.num_layers;
    g->has_positions = model->options.positions != RGM_POSITIONS_ALIBI &&
                       model->options.positions != RGM_POSITIONS_RELATIVE &&
                       model->options.positions != RGM_POSITIONS_NONE;
    g->outputs[0] = (rgm_export_output){.name = "logits", .value = g->step.logits};
    for (int64_t i = 0; i < g->caches; i++) {
        snprintf(g->names[i], NAME_SIZE, "present_%s_%lld", i % 2 == 0 ? "keys" : "values",
                 (long long)i / 2);
        g->outputs[1 + i] = (rgm_export_output){.name = g->names[i], .value = g->step.present[i]};
    }
    *out = g;
    g = NULL;
done:
    graphs_clear(g);
    return status;
}

/* ---- language_model.json ----------------------------------------------------------------------
 */

static rgm_status write_model(rgm_json_writer *w, const graphs *g)
{
    const rgm_decoder_step *s = &g->step;

    RGM_TRY(rgm_json_open_object(w, "model", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(w, "file", model_file));
    RGM_TRY(rgm_json_open_list(w, "inputs", RGM_JSON_LINES));
    RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->ids), s->ids));
    if (g->has_positions)
        RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->positions), s->positions));
    for (int64_t i = 0; i < g->caches; i++)
        RGM_TRY(rgm_export_write_tensor(w, rgm_value_name(s->past[i]), s->past[i]));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_open_list(w, "outputs", RGM_JSON_LINES));
    for (int64_t i = 0; i <= g->caches; i++)
        RGM_TRY(rgm_export_write_tensor(w, g->outputs[i].name, g->outputs[i].value));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_open_list(w, "caches", RGM_JSON_LINES));
    for (int64_t i = 0; i < g->caches; i++) {
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "past", rgm_value_name(s->past[i])));
        RGM_TRY(rgm_json_write_text(w, "present", g->names[i]));
        RGM_TRY(rgm_json_close(w));
    }
    RGM_TRY(rgm_json_close(w));
    return rgm_json_close(w);
}

static rgm_status write_tokens(rgm_json_writer *w, const rgmi_language_task *t)
{
    rgm_task_file files[RGM_MAX_TASK_FILES];
    int32_t begin = rgm_tokenizer_bos_id(t->data.tokenizer),
            end = rgm_tokenizer_eos_id(t->data.tokenizer);
    int64_t count;

    rgmi_language_files(files, &count, &t->data);
    RGM_TRY(rgm_json_write_text(w, "tokenizer", files[0].name));
    RGM_TRY(rgm_json_write_int(w, "vocabulary_size", t->model.vocabulary));
    RGM_TRY(rgm_json_write_int(w, "begin_id", begin >= 0 ? begin : end));
    RGM_TRY(rgm_json_write_int(w, "end_id", end));
    return rgm_json_write_int(w, "max_positions", t->model.options.max_positions);
}

static rgm_status write_generate(rgm_json_writer *w, const rgm_generate_options *o)
{
    RGM_TRY(rgm_json_open_object(w, "generate", RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_number(w, "temperature", o->temperature));
    RGM_TRY(rgm_json_write_int(w, "top_k", o->top_k));
    RGM_TRY(rgm_json_write_number(w, "top_p", o->top_p));
    RGM_TRY(rgm_json_write_number(w, "min_p", o->min_p));
    RGM_TRY(rgm_json_write_number(w, "repetition_penalty", o->repetition_penalty));
    RGM_TRY(rgm_json_write_int(w, "max_tokens", o->max_tokens));
    RGM_TRY(rgm_json_write_bool(w, "begin", o->begin));
    return rgm_json_close(w);
}

static rgm_status write_description(rgm_text *out, const rgmi_language_task *t, const graphs *g)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_text(&w, "format", FORMAT_NAME));
    RGM_TRY(rgm_json_write_int(&w, "version", FORMAT_VERSION));
    RGM_TRY(rgm_json_write_text(&w, "producer", "regimen " RGM_VERSION));
    RGM_TRY(write_model(&w, g));
    RGM_TRY(write_tokens(&w, t));
    RGM_TRY(write_generate(&w, &t->options.generate));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}

/* ---- the export -------------------------------------------------------------------------------
 */

static const rgm_onnx_options onnx = {
    .description = "a language model trained by Regimen; language_model.json says how to use it"};

rgm_status rgmi_language_check_export(const rgm_parameters *parameters, void *state)
{
    const rgmi_language_task *t = state;
    rgm_status status = RGM_OK;
    rgm_parameters *merged = NULL;
    graphs *g = NULL;

    RGM_GO(rgmi_language_weights(&parameters, &merged, t, parameters));
    RGM_GO(graphs_open(&g, &t->model));
    RGM_GO(rgm_onnx_check(g->graph, parameters, g->outputs, 1 + g->caches, &onnx));
done:
    graphs_clear(g);
    rgm_parameters_release(merged);
    return status;
}

/* The description is written last: when it exists, the file that it names exists too. */
rgm_status rgmi_language_save(const char *folder, const rgm_parameters *parameters, void *state)
{
    rgm_status status = RGM_OK;
    const rgmi_language_task *t = state;
    rgm_text text = {0};
    char *model = NULL, *path = NULL;
    rgm_parameters *merged = NULL;
    graphs *g = NULL;

    RGM_GO(rgmi_language_weights(&parameters, &merged, t, parameters));
    RGM_GO(graphs_open(&g, &t->model));
    RGM_GO(rgm_path_join(&model, folder, model_file));
    RGM_GO(rgm_onnx_save(model, g->graph, parameters, g->outputs, 1 + g->caches, &onnx));
    RGM_GO(write_description(&text, t, g));
    RGM_GO(rgm_path_join(&path, folder, rgmi_language_description));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(model);
    rgm_free(path);
    rgm_text_clear(&text);
    graphs_clear(g);
    rgm_parameters_release(merged);
    return status;
}

/* ---- its test ---------------------------------------------------------------------------------
 */

/** How many tokens the steps of a test read. */
static const int64_t step_tokens[] = {3, 1, 2};
enum { STEPS = 3 };

/** Both sides under way, each with its own keys and values. */
typedef struct verification {
    graphs *g;
    rgm_executor *executor;
    rgm_onnx_model *file;
    const rgm_parameters *parameters;
    rgm_tensor *ids, *positions;
    rgm_tensor *past[2][2 * RGM_STACK_LAYERS]; /* of the executor, of the file */
    rgm_tensor *logits[2];
} verification;

static void put(rgm_tensor **place, rgm_tensor *tensor)
{
    rgm_tensor_release(*place);
    *place = tensor;
}

static void clear_batch(verification *v)
{
    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < v->g->caches; i++)
            put(&v->past[k][i], NULL);
        put(&v->logits[k], NULL);
    }
    put(&v->ids, NULL);
    put(&v->positions, NULL);
}

static rgm_status step_by_executor(verification *v)
{
    const rgm_decoder_step *s = &v->g->step;
    rgm_feed feeds[2 + 2 * RGM_STACK_LAYERS] = {{.input = s->ids, .tensor = v->ids},
                                                {.input = s->positions, .tensor = v->positions}};
    rgm_tensor *fetched[1 + 2 * RGM_STACK_LAYERS], *copy;

    for (int64_t i = 0; i < v->g->caches; i++)
        feeds[2 + i] = (rgm_feed){.input = s->past[i], .tensor = v->past[0][i]};
    RGM_TRY(rgm_executor_run(v->executor, fetched, v->parameters, feeds, 2 + v->g->caches, 0, 0));
    for (int64_t i = 0; i <= v->g->caches; i++) {
        RGM_TRY(rgm_tensor_copy(&copy, fetched[i]));
        put(i == 0 ? &v->logits[0] : &v->past[0][i - 1], copy);
    }
    return RGM_OK;
}

static rgm_status step_by_file(verification *v)
{
    const rgm_decoder_step *s = &v->g->step;
    rgm_named_tensor inputs[2 + 2 * RGM_STACK_LAYERS] = {
        {rgm_value_name(s->ids), v->ids}, {rgm_value_name(s->positions), v->positions}};
    rgm_tensor *outputs[1 + 2 * RGM_STACK_LAYERS];

    for (int64_t i = 0; i < v->g->caches; i++)
        inputs[2 + i] = (rgm_named_tensor){rgm_value_name(s->past[i]), v->past[1][i]};
    RGM_TRY(rgm_onnx_run(outputs, v->file, inputs, 2 + v->g->caches));
    for (int64_t i = 0; i <= v->g->caches; i++)
        put(i == 0 ? &v->logits[1] : &v->past[1][i - 1], outputs[i]);
    return RGM_OK;
}

/* The tokens begin .. begin + count - 1 of each row of a batch. */
static rgm_status cut_ids(verification *v, const rgm_element *batch, int64_t begin, int64_t count)
{
    const rgm_tensor *ids = rgm_element_tensor(batch, RGMI_LANGUAGE_IDS);
    int64_t rows = rgm_tensor_dim(ids, 0), width = rgm_tensor_dim(ids, 1);

    put(&v->ids, NULL);
    put(&v->positions, NULL);
    RGM_TRY(rgm_tensor_create(&v->ids, RGM_I64, 2, (int64_t[]){rows, count}));
    RGM_TRY(rgm_tensor_create(&v->positions, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++) {
        rgm_tensor_i64(v->positions)[i] = begin + i;
        for (int64_t r = 0; r < rows; r++)
            rgm_tensor_i64(v->ids)[r * count + i] = rgm_tensor_i64(ids)[r * width + begin + i];
    }
    return RGM_OK;
}

static rgm_status verify_batch(rgm_export_check *check, verification *v, const rgm_element *batch,
                               int64_t most)
{
    const rgm_tensor *ids = rgm_element_tensor(batch, RGMI_LANGUAGE_IDS);
    int64_t rows = rgm_tensor_dim(ids, 0), width = rgm_tensor_dim(ids, 1), at = 0;

    for (int64_t i = 0; i < v->g->caches; i++) {
        int64_t none[3] = {rows, 0, rgm_value_dim(v->g->step.past[i], 2)};

        RGM_TRY(rgm_tensor_create(&v->past[0][i], RGM_F32, 3, none));
        v->past[1][i] = rgm_tensor_retain(v->past[0][i]);
    }
    for (int k = 0; k < STEPS && at < width && at < most; k++) {
        int64_t left = (width < most ? width : most) - at, count = step_tokens[k];

        count = count < left ? count : left; /* blocks may be shorter than the first step */
        RGM_TRY(cut_ids(v, batch, at, count));
        at += count;
        RGM_TRY(step_by_executor(v));
        RGM_TRY(step_by_file(v));
        RGM_TRY(rgm_export_compare(check, v->logits[1], v->logits[0]));
        for (int64_t i = 0; i < v->g->caches; i++)
            RGM_TRY(rgm_export_compare(check, v->past[1][i], v->past[0][i]));
        check->items += rows * count;
    }
    return RGM_OK;
}

static rgm_status verify_batches(rgm_export_check *check, verification *v, rgmi_language_task *t,
                                 rgm_mode mode, int64_t max_batches)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_iterator *iterator = NULL;

    RGM_GO(rgmi_language_batches(&data, &t->data, (int)mode));
    if (data == NULL)
        return RGM_OK;
    RGM_GO(rgm_iterator_create(&iterator, data, NULL));
    for (int64_t i = 0; i < max_batches; i++) {
        rgm_element *batch;

        status = rgm_iterator_next(&batch, iterator);
        if (status == RGM_END)
            break;
        RGM_GO(status);
        status = verify_batch(check, v, batch, t->model.options.max_positions);
        clear_batch(v);
        rgm_element_release(batch);
        RGM_GO(status);
    }
    status = status == RGM_END ? RGM_OK : status;
done:
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    return status;
}

rgm_status rgmi_language_verify(rgm_export_check *check, const char *folder,
                                const rgm_parameters *parameters, rgm_mode mode,
                                int64_t max_batches, void *state)
{
    rgm_status status = RGM_OK;
    rgmi_language_task *t = state;
    verification v = {0};
    rgm_parameters *merged = NULL;
    rgm_value *fetches[1 + 2 * RGM_STACK_LAYERS];
    char *path = NULL;

    RGM_TRY(graphs_open(&v.g, &t->model));
    RGM_GO(rgmi_language_weights(&v.parameters, &merged, t, parameters));
    RGM_GO(rgm_path_join(&path, folder, model_file));
    RGM_GO(rgm_onnx_open(&v.file, path));
    if (rgm_onnx_output_count(v.file) != 1 + v.g->caches)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has %lld outputs, the model has %lld", path,
                        (long long)rgm_onnx_output_count(v.file), (long long)(1 + v.g->caches)));
    for (int64_t i = 0; i <= v.g->caches; i++)
        fetches[i] = v.g->outputs[i].value;
    RGM_GO(rgm_executor_create(&v.executor, v.g->graph, fetches, 1 + v.g->caches, NULL));
    RGM_GO(verify_batches(check, &v, t, mode, max_batches));
done:
    rgm_executor_release(v.executor);
    rgm_onnx_close(v.file);
    graphs_clear(v.g);
    rgm_parameters_release(merged);
    rgm_free(path);
    return status;
}
