/*
 * One token at a time: an executor for each of the two graphs of seq2seq_graphs.c, and between their runs
 * the keys and values of the sentences under way.
 */
#include "seq2seq_internal.h"

struct rgm_translator {
    rgm_seq2seq model;
    const rgm_parameters *parameters;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_executor *encode, *step;
    rgm_value *source, *source_positions; /* what encode is fed */
    rgm_seq2seq_step inputs;              /* what step is fed   */
    rgm_tensor *fetched[2 * RGM_SEQ2SEQ_LAYERS + 1]; /* of the last run, borrowed from an executor */
};

const rgm_seq2seq *rgmi_translator_model(const rgm_translator *translator)
{
    return &translator->model;
}

static int64_t layers_of(const rgm_translator *t)
{
    return t->model.options.decoder.num_layers;
}

/* ---- the two executors ---- */

static rgm_status open_encode(rgm_translator *t, const rgm_executor_options *options)
{
    rgm_seq2seq_source encoder;
    rgm_dim shape[2] = {rgm_cgraph_symbol(t->graph, "sentences"),
                        rgm_cgraph_symbol(t->graph, "source_length")};

    t->source = rgm_input(t->graph, "source", RGM_I64, 2, shape);
    t->source_positions = rgm_input(t->graph, "source_positions", RGM_I64, 1, &shape[1]);
    RGM_TRY(rgm_seq2seq_source_graph(&encoder, t->scope, &t->model, t->source, t->source_positions));
    return rgm_executor_create(&t->encode, t->graph, encoder.memory, 2 * layers_of(t), options);
}

static rgm_status open_step(rgm_translator *t, const rgm_executor_options *options)
{
    rgm_value *fetches[2 * RGM_SEQ2SEQ_LAYERS + 1];

    RGM_TRY(rgm_seq2seq_step_graph(&t->inputs, t->scope, &t->model, t->source));
    fetches[0] = t->inputs.log_probabilities;
    for (int64_t i = 0; i < 2 * layers_of(t); i++)
        fetches[1 + i] = t->inputs.present[i];
    return rgm_executor_create(&t->step, t->graph, fetches, 1 + 2 * layers_of(t), options);
}

rgm_status rgm_translator_create(rgm_translator **out, const rgm_seq2seq *model,
                                 const rgm_parameters *parameters, bool bf16)
{
    rgm_executor_options options = {.bf16 = bf16, .inference = true};
    rgm_status status = RGM_OK;
    rgm_translator *t = NULL;

    *out = NULL;
    RGM_TRY(RGM_NEW(t, 1));
    t->model = *model;
    t->parameters = parameters;
    RGM_GO(rgm_cgraph_create(&t->graph));
    RGM_GO(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    RGM_GO(open_encode(t, &options));
    RGM_GO(open_step(t, &options));
    *out = t;
    t = NULL;
done:
    rgm_translator_release(t);
    return status;
}

void rgm_translator_release(rgm_translator *translator)
{
    if (translator == NULL)
        return;
    rgm_executor_release(translator->encode);
    rgm_executor_release(translator->step);
    rgm_scope_release(translator->scope);
    rgm_cgraph_release(translator->graph);
    rgm_free(translator);
}

/* ---- sentences under way ---- */

static rgm_status positions_create(rgm_tensor **out, int64_t first, int64_t count)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = first + i;
    return RGM_OK;
}

static rgm_status source_create(rgm_tensor **out, const int32_t *const *sources, const int64_t *lengths,
                                int64_t count)
{
    int64_t longest = 0;

    for (int64_t i = 0; i < count; i++)
        longest = lengths[i] > longest ? lengths[i] : longest;
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, (int64_t[]){count, longest}));
    for (int64_t i = 0; i < count; i++)
        for (int64_t j = 0; j < longest; j++)
            rgm_tensor_i64(*out)[i * longest + j] = j < lengths[i] ? sources[i][j] : 0;
    return RGM_OK;
}

rgm_status rgmi_decoding_open(rgmi_decoding *d, rgm_translator *t, const int32_t *const *sources,
                              const int64_t *lengths, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tensor *positions = NULL;
    int64_t width = t->model.options.embedding_width;

    *d = (rgmi_decoding){.translator = t, .sentences = count, .beams = 1};
    RGM_GO(source_create(&d->source, sources, lengths, count));
    RGM_GO(positions_create(&positions, 0, rgm_tensor_dim(d->source, 1)));
    rgm_feed feeds[] = {{.input = t->source, .tensor = d->source},
                        {.input = t->source_positions, .tensor = positions}};
    RGM_GO(rgm_executor_run(t->encode, t->fetched, t->parameters, feeds, 2, 0, 0));
    for (int64_t i = 0; i < 2 * layers_of(t); i++) {
        RGM_GO(rgm_tensor_copy(&d->memory[i], t->fetched[i]));
        RGM_GO(rgm_tensor_create(&d->past[i], RGM_F32, 3, (int64_t[]){count, 0, width}));
    }
done:
    rgm_tensor_release(positions);
    if (status != RGM_OK)
        rgmi_decoding_close(d);
    return status;
}

void rgmi_decoding_close(rgmi_decoding *d)
{
    rgm_tensor_release(d->source);
    for (int64_t i = 0; i < 2 * RGM_SEQ2SEQ_LAYERS; i++) {
        rgm_tensor_release(d->memory[i]);
        rgm_tensor_release(d->past[i]);
    }
    *d = (rgmi_decoding){0};
}

rgm_status rgmi_decoding_step(const float **log_probabilities, rgmi_decoding *d, const int32_t *ids)
{
    rgm_status status = RGM_OK;
    rgm_translator *t = d->translator;
    rgm_feed feeds[3 + 4 * RGM_SEQ2SEQ_LAYERS];
    rgm_tensor *newest = NULL, *position = NULL;
    int64_t count = 3;

    RGM_GO(rgm_tensor_create(&newest, RGM_I64, 2, (int64_t[]){d->sentences, d->beams}));
    for (int64_t i = 0; i < d->sentences * d->beams; i++)
        rgm_tensor_i64(newest)[i] = ids[i];
    RGM_GO(positions_create(&position, d->steps, 1));
    feeds[0] = (rgm_feed){.input = t->inputs.ids, .tensor = newest};
    feeds[1] = (rgm_feed){.input = t->inputs.position, .tensor = position};
    feeds[2] = (rgm_feed){.input = t->source, .tensor = d->source};
    for (int64_t i = 0; i < 2 * layers_of(t); i++) {
        feeds[count++] = (rgm_feed){.input = t->inputs.memory[i], .tensor = d->memory[i]};
        feeds[count++] = (rgm_feed){.input = t->inputs.past[i], .tensor = d->past[i]};
    }
    RGM_GO(rgm_executor_run(t->step, t->fetched, t->parameters, feeds, count, 0, 0));
    *log_probabilities = rgm_tensor_f32(t->fetched[0]);
done:
    rgm_tensor_release(newest);
    rgm_tensor_release(position);
    return status;
}

/* Rows of x, by number, of any rank, as a new tensor. */
static rgm_status take_rows(rgm_tensor **out, const rgm_tensor *x, const int64_t *rows, int64_t count)
{
    int64_t shape[RGM_MAX_RANK], each = 1;
    size_t size;

    for (int i = 0; i < rgm_tensor_rank(x); i++) {
        shape[i] = rgm_tensor_dim(x, i);
        each *= i > 0 ? shape[i] : 1;
    }
    shape[0] = count;
    RGM_TRY(rgm_tensor_create(out, rgm_tensor_dtype(x), rgm_tensor_rank(x), shape));
    size = (size_t)each * rgm_dtype_size(rgm_tensor_dtype(x));
    for (int64_t i = 0; i < count && size > 0; i++)
        memcpy((char *)rgm_tensor_data(*out) + (size_t)i * size,
               (const char *)rgm_tensor_data(x) + (size_t)rows[i] * size, size);
    return RGM_OK;
}

static rgm_status replace_rows(rgm_tensor **tensor, const rgm_tensor *from, const int64_t *rows,
                               int64_t count)
{
    rgm_tensor *taken;

    RGM_TRY(take_rows(&taken, from, rows, count));
    rgm_tensor_release(*tensor);
    *tensor = taken;
    return RGM_OK;
}

rgm_status rgmi_decoding_select(rgmi_decoding *d, const int64_t *sentences, int64_t count, int64_t beams,
                                const int64_t *parents)
{
    rgm_translator *t = d->translator;

    for (int64_t i = 0; i < 2 * layers_of(t); i++) {
        RGM_TRY(replace_rows(&d->past[i], t->fetched[1 + i], parents, count * beams));
        if (count < d->sentences)
            RGM_TRY(replace_rows(&d->memory[i], d->memory[i], sentences, count));
    }
    if (count < d->sentences)
        RGM_TRY(replace_rows(&d->source, d->source, sentences, count));
    d->sentences = count;
    d->beams = beams;
    d->steps++;
    return RGM_OK;
}
