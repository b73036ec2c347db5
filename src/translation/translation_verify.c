/*
 * Test of an exported translation model: the interpreter of export and the executor both run the
 * encoder and some steps of the decoder. Each continues with its own keys and values, as in real
 * decoding.
 */
#include "translation_internal.h"

enum { SENTENCES = 2, BEAMS = 2, STEPS = 3 };

/* Sentences under way on one side, all owned. */
typedef struct side {
    rgm_tensor *memory[2 * RGM_SEQ2SEQ_LAYERS], *past[2 * RGM_SEQ2SEQ_LAYERS];
    rgm_tensor *log_probabilities;
} side;

typedef struct verification {
    rgmi_translation_graphs graphs;
    rgm_executor *encode, *step;
    rgm_onnx_model *encoder_file, *step_file;
    const rgm_parameters *parameters;
    rgm_tensor *source, *ids, *position; /* of the batch at hand .. */
    rgm_tensor *factors;                 /* .. NULL: the model has none */
    side executor, file;
} verification;

static void put(rgm_tensor **place, rgm_tensor *tensor)
{
    rgm_tensor_release(*place);
    *place = tensor;
}

/* `tensor` is an executor's own. */
static rgm_status put_copy(rgm_tensor **place, const rgm_tensor *tensor)
{
    rgm_tensor *copy;

    RGM_TRY(rgm_tensor_copy(&copy, tensor));
    put(place, copy);
    return RGM_OK;
}

static void clear_batch(verification *v)
{
    side *sides[2] = {&v->executor, &v->file};

    for (int k = 0; k < 2; k++) {
        for (int64_t i = 0; i < 2 * RGM_SEQ2SEQ_LAYERS; i++) {
            rgm_tensor_release(sides[k]->memory[i]);
            rgm_tensor_release(sides[k]->past[i]);
        }
        rgm_tensor_release(sides[k]->log_probabilities);
        *sides[k] = (side){0};
    }
    put(&v->source, NULL);
    put(&v->factors, NULL);
    put(&v->ids, NULL);
    put(&v->position, NULL);
}

/* ---- opening ------------------------------------------------------------------------------- */

static rgm_status open_file(rgm_onnx_model **out, const char *folder, const char *name,
                            int64_t outputs)
{
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(rgm_onnx_open(out, path));
    if (rgm_onnx_output_count(*out) != outputs)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has %lld outputs, the model has %lld", path,
                        (long long)rgm_onnx_output_count(*out), (long long)outputs));
done:
    rgm_free(path);
    return status;
}

static rgm_status open_both(verification *v, const char *folder, const rgm_seq2seq *model)
{
    rgm_value *fetches[1 + 2 * RGM_SEQ2SEQ_LAYERS];

    RGM_TRY(rgmi_translation_graphs_open(&v->graphs, model));
    RGM_TRY(open_file(&v->encoder_file, folder, rgmi_encoder_file, v->graphs.caches));
    RGM_TRY(open_file(&v->step_file, folder, rgmi_decoder_step_file, 1 + v->graphs.caches));
    RGM_TRY(rgm_executor_create(&v->encode, v->graphs.graph, v->graphs.encoder.memory,
                                v->graphs.caches, NULL));
    fetches[0] = v->graphs.step.log_probabilities;
    for (int64_t i = 0; i < v->graphs.caches; i++)
        fetches[1 + i] = v->graphs.step.present[i];
    return rgm_executor_create(&v->step, v->graphs.graph, fetches, 1 + v->graphs.caches, NULL);
}

static void close_both(verification *v)
{
    clear_batch(v);
    rgm_executor_release(v->encode);
    rgm_executor_release(v->step);
    rgm_onnx_close(v->encoder_file);
    rgm_onnx_close(v->step_file);
    rgmi_translation_graphs_clear(&v->graphs);
}

/* ---- both sides, one after the other --------------------------------------------------------- */

static rgm_status encode(rgm_export_check *check, verification *v)
{
    const rgm_seq2seq_source *g = &v->graphs.encoder;
    rgm_feed feeds[2] = {{.input = g->ids, .tensor = v->source},
                         {.input = g->factors, .tensor = v->factors}};
    rgm_named_tensor inputs[2] = {{rgm_value_name(g->ids), v->source}};
    rgm_tensor *fetched[2 * RGM_SEQ2SEQ_LAYERS];
    int64_t count = g->factors != NULL ? 2 : 1;

    if (g->factors != NULL)
        inputs[1] = (rgm_named_tensor){rgm_value_name(g->factors), v->factors};
    RGM_TRY(rgm_executor_run(v->encode, fetched, v->parameters, feeds, count, 0, 0));
    for (int64_t i = 0; i < v->graphs.caches; i++)
        RGM_TRY(put_copy(&v->executor.memory[i], fetched[i]));
    RGM_TRY(rgm_onnx_run(v->file.memory, v->encoder_file, inputs, count));
    for (int64_t i = 0; i < v->graphs.caches; i++)
        RGM_TRY(rgm_export_compare(check, v->file.memory[i], v->executor.memory[i]));
    return RGM_OK;
}

static rgm_status step_by_executor(verification *v)
{
    const rgm_seq2seq_step *g = &v->graphs.step;
    rgm_feed feeds[3 + 4 * RGM_SEQ2SEQ_LAYERS] = {{.input = g->ids, .tensor = v->ids},
                                                  {.input = g->position, .tensor = v->position},
                                                  {.input = g->source, .tensor = v->source}};
    rgm_tensor *fetched[1 + 2 * RGM_SEQ2SEQ_LAYERS];
    int64_t count = 3;

    for (int64_t i = 0; i < v->graphs.caches; i++) {
        feeds[count++] = (rgm_feed){.input = g->memory[i], .tensor = v->executor.memory[i]};
        feeds[count++] = (rgm_feed){.input = g->past[i], .tensor = v->executor.past[i]};
    }
    RGM_TRY(rgm_executor_run(v->step, fetched, v->parameters, feeds, count, 0, 0));
    RGM_TRY(put_copy(&v->executor.log_probabilities, fetched[0]));
    for (int64_t i = 0; i < v->graphs.caches; i++)
        RGM_TRY(put_copy(&v->executor.past[i], fetched[1 + i]));
    return RGM_OK;
}

static rgm_status step_by_file(verification *v)
{
    const rgm_seq2seq_step *g = &v->graphs.step;
    rgm_named_tensor inputs[3 + 4 * RGM_SEQ2SEQ_LAYERS] = {
        {rgm_value_name(g->ids), v->ids},
        {rgm_value_name(g->position), v->position},
        {rgm_value_name(g->source), v->source}};
    rgm_tensor *outputs[1 + 2 * RGM_SEQ2SEQ_LAYERS];
    int64_t count = 3;

    for (int64_t i = 0; i < v->graphs.caches; i++) {
        inputs[count++] = (rgm_named_tensor){rgm_value_name(g->memory[i]), v->file.memory[i]};
        inputs[count++] = (rgm_named_tensor){rgm_value_name(g->past[i]), v->file.past[i]};
    }
    RGM_TRY(rgm_onnx_run(outputs, v->step_file, inputs, count));
    put(&v->file.log_probabilities, outputs[0]);
    for (int64_t i = 0; i < v->graphs.caches; i++)
        put(&v->file.past[i], outputs[1 + i]);
    return RGM_OK;
}

static rgm_status step(rgm_export_check *check, verification *v)
{
    RGM_TRY(step_by_executor(v));
    RGM_TRY(step_by_file(v));
    RGM_TRY(rgm_export_compare(check, v->file.log_probabilities, v->executor.log_probabilities));
    for (int64_t i = 0; i < v->graphs.caches; i++)
        RGM_TRY(rgm_export_compare(check, v->file.past[i], v->executor.past[i]));
    check->items += rgm_tensor_dim(v->file.log_probabilities, 0);
    return RGM_OK;
}

/* ---- a batch ------------------------------------------------------------------------------- */

static rgm_status make_batch(verification *v, const rgmi_translation_data *data, int part,
                             const int64_t *numbers, int64_t count)
{
    const rgm_token_pairs *pairs = data->parts[part].pairs;
    const int64_t one = 1, none[3] = {count * BEAMS, 0, rgm_value_dim(v->graphs.step.past[0], 2)};
    int64_t longest = 0, length;

    for (int64_t i = 0; i < count; i++) {
        rgm_token_pairs_source(pairs, numbers[i], &length);
        longest = length > longest ? length : longest;
    }
    RGM_TRY(rgm_tensor_create(&v->source, RGM_I64, 2, (int64_t[]){count, longest}));
    for (int64_t i = 0; i < count; i++) {
        const int32_t *ids = rgm_token_pairs_source(pairs, numbers[i], &length);
        for (int64_t k = 0; k < longest; k++)
            rgm_tensor_i64(v->source)[i * longest + k] = k < length ? ids[k] : 0;
    }
    if (data->factors.count > 0)
        RGM_TRY(rgmi_factors_batch(&v->factors, data, part, v->source, numbers));
    RGM_TRY(rgm_tensor_create(&v->ids, RGM_I64, 2, (int64_t[]){count, BEAMS}));
    for (int64_t i = 0; i < count * BEAMS; i++)
        rgm_tensor_i64(v->ids)[i] = rgmi_target_begin(data, part, numbers[i / BEAMS]);
    RGM_TRY(rgm_tensor_create(&v->position, RGM_I64, 1, &one));
    for (int64_t i = 0; i < v->graphs.caches; i++) {
        RGM_TRY(rgm_tensor_create(&v->executor.past[i], RGM_F32, 3, none));
        v->file.past[i] = rgm_tensor_retain(v->executor.past[i]);
    }
    return RGM_OK;
}

static int64_t most_probable(const rgm_tensor *log_probabilities, int64_t row)
{
    int64_t size = rgm_tensor_dim(log_probabilities, 1), best = 0;
    const float *x = rgm_tensor_f32(log_probabilities) + row * size;

    for (int64_t i = 1; i < size; i++)
        best = x[i] > x[best] ? i : best;
    return best;
}

/* The first beam goes on with its pair's target, the others with what the model thinks best. */
static void choose_ids(verification *v, const rgm_token_pairs *pairs, const int64_t *numbers,
                       int64_t at)
{
    int64_t *ids = rgm_tensor_i64(v->ids), length;

    for (int64_t i = 0; i < rgm_tensor_dim(v->ids, 0); i++) {
        const int32_t *target = rgm_token_pairs_target(pairs, numbers[i], &length);
        for (int64_t k = 0; k < BEAMS; k++)
            ids[i * BEAMS + k] = k == 0 && at < length
                                     ? target[at]
                                     : most_probable(v->executor.log_probabilities, i * BEAMS + k);
    }
}

static rgm_status verify_batch(rgm_export_check *check, verification *v,
                               const rgmi_translation_data *data, int part, const int64_t *numbers,
                               int64_t count, int64_t max_positions)
{
    RGM_TRY(make_batch(v, data, part, numbers, count));
    RGM_TRY(encode(check, v));
    for (int64_t at = 0; at < STEPS && at < max_positions; at++) {
        rgm_tensor_i64(v->position)[0] = at;
        RGM_TRY(step(check, v));
        choose_ids(v, data->parts[part].pairs, numbers, at);
    }
    return RGM_OK;
}

rgm_status rgmi_translation_verify(rgm_export_check *check, const char *folder,
                                   const rgm_parameters *parameters, rgm_mode mode,
                                   int64_t max_batches, void *state)
{
    rgm_status status = RGM_OK;
    rgmi_translation_task *t = state;
    verification v = {.parameters = parameters};
    const rgm_token_pairs *pairs;
    int64_t numbers[SENTENCES], count = 0, length, all, most = t->model.options.max_positions;

    RGM_GO(rgmi_translation_pairs(&pairs, &t->data, (int)mode));
    RGM_GO(open_both(&v, folder, &t->model));
    all = pairs != NULL ? rgm_token_pairs_count(pairs) : 0;
    for (int64_t i = 0; i < all && max_batches > 0; i++) {
        rgm_token_pairs_source(pairs, i, &length);
        if (length > 0 && length <= most)
            numbers[count++] = i;
        if (count == SENTENCES || (count > 0 && i + 1 == all)) {
            RGM_GO(verify_batch(check, &v, &t->data, (int)mode, numbers, count, most));
            clear_batch(&v);
            max_batches--;
            count = 0;
        }
    }
done:
    close_both(&v);
    return status;
}
