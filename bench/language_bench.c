/*
 * Training steps of a language model of ten million parameters: `size` blocks (8 unless told) of
 * 256 random tokens, as a stream. What is in a step is what the trainer puts there: feeds of a new
 * batch, forward, backward, the optimizer's sweep. No data file. peer_language.py is the same in
 * PyTorch.
 */
#include "bench.h"

#include <regimen/language.h>

#include <string.h>

enum { VOCABULARY = 8000, LENGTH = 256, BATCHES = 2 };
enum { IDS, LABELS, POSITIONS, FEEDS };

typedef struct language {
    rgm_decoder model;
    const char *form;
    int64_t rows;
    bench_training training;
    rgm_value *inputs[FEEDS];
    rgm_tensor *batches[BATCHES][FEEDS]; /* by turns: a batch fed twice would be part known */
} language;

static rgm_status make_batches(language *l)
{
    for (int64_t b = 0; b < BATCHES; b++)
        for (int64_t i = 0; i < FEEDS; i++) {
            rgm_rng rng = rgm_rng_stream(1, "tokens", (uint64_t)(b * FEEDS + i));
            rgm_tensor **t = &l->batches[b][i];

            if (i == POSITIONS) {
                RGM_TRY(rgm_tensor_arange(t, LENGTH));
                continue;
            }
            RGM_TRY(rgm_tensor_create(t, RGM_I64, 2, (int64_t[]){l->rows, LENGTH}));
            for (int64_t k = 0; k < rgm_tensor_count(*t); k++)
                rgm_tensor_i64(*t)[k] = (int64_t)rgm_rng_below(&rng, (uint64_t)k, VOCABULARY);
        }
    return RGM_OK;
}

static void set_model(rgm_decoder *model)
{
    rgm_decoder_options *o = &model->options;

    rgm_decoder_defaults(o);
    o->embedding_width = 320;
    o->max_positions = LENGTH;
    o->decoder.num_layers = 6;
    o->decoder.num_attention_heads = 5;
    o->decoder.intermediate_size = 864;
    model->vocabulary = VOCABULARY;
}

static rgm_value *build_loss(language *l)
{
    static const char *const names[FEEDS] = {"ids", "labels", "positions"};
    rgm_scope *scope = l->training.scope;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_cross_entropy_options options = {.classes = VOCABULARY};
    rgm_dim shape[2] = {rgm_cgraph_symbol(graph, "rows"), rgm_cgraph_symbol(graph, "tokens")};
    rgm_decoder_inputs inputs;
    rgm_value *labels, *states;

    for (int i = 0; i < FEEDS; i++)
        l->inputs[i] = i == POSITIONS ? rgm_input(graph, names[i], RGM_I64, 1, shape + 1)
                                      : rgm_input(graph, names[i], RGM_I64, 2, shape);
    inputs = (rgm_decoder_inputs){.ids = l->inputs[IDS], .positions = l->inputs[POSITIONS]};
    states = rgm_decoder_states(scope, &l->model, &inputs);
    labels = rgm_reshape(l->inputs[LABELS], 1, (rgm_dim[]){RGM_INFER});
    return rgm_mean(rgm_softmax_cross_entropy_with(rgm_decoder_logits(scope, &l->model, states),
                                                   labels, &options));
}

static void language_close(void *state)
{
    language *l = state;

    if (l == NULL)
        return;
    bench_training_end(&l->training);
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < FEEDS; i++)
            rgm_tensor_release(l->batches[b][i]);
    rgm_free(l);
}

static rgm_status language_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    rgm_optimizer_options adam = rgm_adam(1e-4);
    language *l = NULL;

    RGM_GO(RGM_NEW(l, 1));
    l->form = options->form;
    l->rows = options->size > 0 ? options->size : 8;
    set_model(&l->model);
    RGM_GO(make_batches(l));
    RGM_GO(bench_training_begin(&l->training));
    RGM_GO(bench_training_compile(&l->training, build_loss(l), &adam,
                                  strstr(l->form, "bf16") != NULL, options->profile));
    *out = l;
    l = NULL;
done:
    language_close(l);
    return status;
}

static rgm_status language_step(void *state, int64_t step)
{
    language *l = state;
    rgm_feed feeds[FEEDS];

    for (int i = 0; i < FEEDS; i++)
        feeds[i] = (rgm_feed){.input = l->inputs[i], .tensor = l->batches[step % BATCHES][i]};
    return bench_training_step(&l->training, feeds, FEEDS, step);
}

/* What the floor is made of: see language_floor() of bench.py. */
static rgm_status language_facts(rgm_text *out, void *state)
{
    const language *l = state;
    const rgm_decoder_options *o = &l->model.options;

    return rgm_text_printf(
        out,
        ", \"form\": \"%s\", \"rows\": %lld, \"length\": %d, \"width\": %lld, \"inner\": %lld, "
        "\"layers\": %lld, \"vocabulary\": %d, \"parameters\": %lld, \"isa_f32\": \"%s\", "
        "\"isa_bf16\": \"%s\"",
        l->form, (long long)l->rows, LENGTH, (long long)o->embedding_width,
        (long long)o->decoder.intermediate_size, (long long)o->decoder.num_layers, VOCABULARY,
        (long long)rgm_parameters_total(l->training.parameters),
        rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa,
        rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->isa);
}

static const char *const forms[] = {"f32", "bf16", NULL};
const bench_workload bench_language = {"language",
                                       "training step of a language model of 10 M parameters; "
                                       "forms f32, bf16; `size` blocks of 256 tokens",
                                       language_open,
                                       language_step,
                                       language_facts,
                                       language_close,
                                       forms};
