/*
 * Training steps of the Transformer: `size` pairs (64 unless told) of 32 and 32 random tokens, none
 * of them padding. What is in a step is what the trainer puts there: feeds of a new batch, forward,
 * backward, the optimizer's sweep. No data file. peer_translation.py is the same in PyTorch.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VOCABULARY = 8000, LENGTH = 32, BATCHES = 2, SMOOTHING_PERCENT = 10 };
enum { SOURCE, TARGET, LABELS, SOURCE_POSITIONS, TARGET_POSITIONS, FEEDS };

typedef struct translation {
    rgm_seq2seq model;
    const char *form;
    int64_t pairs;
    bool profile;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *executor;
    rgm_value *inputs[FEEDS];
    rgm_tensor *batches[BATCHES][FEEDS]; /* by turns: a batch fed twice would be part known      */
    rgm_value **fetches;                 /* loss, gradients                                      */
    rgm_tensor **fetched;
} translation;

/* ---- batches ----------------------------------------------------------------------------------
 */

static rgm_status make_ids(rgm_tensor **out, const translation *t, int64_t stream)
{
    rgm_rng rng = rgm_rng_stream(1, "tokens", (uint64_t)stream);

    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, (int64_t[]){t->pairs, LENGTH}));
    for (int64_t i = 0; i < rgm_tensor_count(*out); i++)
        rgm_tensor_i64(*out)[i] = 1 + (int64_t)(rgm_rng_f64(&rng, (uint64_t)i) * (VOCABULARY - 1));
    return RGM_OK;
}

static rgm_status make_positions(rgm_tensor **out)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, (int64_t[]){LENGTH}));
    for (int64_t i = 0; i < LENGTH; i++)
        rgm_tensor_i64(*out)[i] = i;
    return RGM_OK;
}

static rgm_status make_batches(translation *t)
{
    for (int64_t b = 0; b < BATCHES; b++)
        for (int64_t i = 0; i < FEEDS; i++) {
            rgm_tensor **tensor = &t->batches[b][i];
            if (i < SOURCE_POSITIONS)
                RGM_TRY(make_ids(tensor, t, b * FEEDS + i));
            else
                RGM_TRY(make_positions(tensor));
        }
    return RGM_OK;
}

/* ---- model: the two sizes that are compared everywhere ------------------------------------------
 */

static void set_model(rgm_seq2seq *model, bool base)
{
    rgm_seq2seq_options *o = &model->options;

    rgm_seq2seq_defaults(o);
    o->embeddings = RGM_EMBEDDINGS_TARGET;
    o->encoder.use_bias = o->decoder.use_bias = true;
    model->source_vocabulary = model->target_vocabulary = VOCABULARY;
    if (base)
        return;
    o->embedding_width = 256;
    o->encoder.num_layers = o->decoder.num_layers = 3;
    o->encoder.num_attention_heads = o->decoder.num_attention_heads = 4;
    o->encoder.intermediate_size = o->decoder.intermediate_size = 1024;
}

static rgm_status build(translation *t, rgm_value **loss)
{
    static const char *const names[FEEDS] = {"source", "target", "labels", "source_positions",
                                             "target_positions"};
    rgm_value *states, *labels, *losses;
    rgm_dim pairs, lengths[2];

    RGM_TRY(rgm_cgraph_create(&t->graph));
    RGM_TRY(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    pairs = rgm_cgraph_symbol(t->graph, "pairs");
    lengths[0] = rgm_cgraph_symbol(t->graph, "source_length");
    lengths[1] = rgm_cgraph_symbol(t->graph, "target_length");
    for (int i = 0; i < FEEDS; i++) {
        rgm_dim length = lengths[i != SOURCE && i != SOURCE_POSITIONS];
        t->inputs[i] = i < SOURCE_POSITIONS
                           ? rgm_input(t->graph, names[i], RGM_I64, 2, (rgm_dim[]){pairs, length})
                           : rgm_input(t->graph, names[i], RGM_I64, 1, &length);
    }
    states =
        rgm_seq2seq_encode(t->scope, &t->model, t->inputs[SOURCE], t->inputs[SOURCE_POSITIONS]);
    states = rgm_seq2seq_decode(t->scope, &t->model, t->inputs[TARGET], t->inputs[TARGET_POSITIONS],
                                states, t->inputs[SOURCE]);
    labels = rgm_reshape(t->inputs[LABELS], 1, (rgm_dim[]){RGM_INFER});
    losses = rgm_seq2seq_losses(&t->model, rgm_seq2seq_logits(t->scope, &t->model, states), labels,
                                SMOOTHING_PERCENT / 100.0);
    *loss = rgm_weighted_mean(losses, rgm_seq2seq_weights(t->scope, labels));
    return rgm_cgraph_status(t->graph);
}

static rgm_status compile(translation *t, rgm_value *loss, bool bf16)
{
    rgm_status status = RGM_OK;
    rgm_executor_options options = {.training = true, .bf16 = bf16};
    int64_t count = rgm_cgraph_parameter_count(t->graph);
    rgm_value **wrt = NULL;

    RGM_GO(RGM_NEW(wrt, count));
    RGM_GO(RGM_NEW(t->fetches, count + 1));
    RGM_GO(RGM_NEW(t->fetched, count + 1));
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(t->graph, i);
    t->fetches[0] = loss;
    RGM_GO(rgm_cgraph_gradients(t->fetches + 1, loss, wrt, count));
    RGM_GO(rgm_executor_create(&t->executor, t->graph, t->fetches, count + 1, &options));
    rgm_executor_profile(t->executor, t->profile);
done:
    rgm_free(wrt);
    return status;
}

/* ---- the workload
 * -------------------------------------------------------------------------------- */

static void translation_close(void *state)
{
    translation *t = state;
    rgm_text text = {0};

    if (t == NULL)
        return;
    if (t->profile && t->executor != NULL && rgm_executor_print(&text, t->executor) == RGM_OK)
        fprintf(stderr, "%s\n", text.data);
    rgm_text_clear(&text);
    rgm_executor_release(t->executor);
    rgm_optimizer_release(t->optimizer);
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_cgraph_release(t->graph);
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < FEEDS; i++)
            rgm_tensor_release(t->batches[b][i]);
    rgm_free(t->fetches);
    rgm_free(t->fetched);
    rgm_free(t);
}

static rgm_status open_model(translation *t, const bench_options *options)
{
    rgm_optimizer_options adam = rgm_adam(1e-4);
    const char *form = options->form;
    bool base = strncmp(form, "base", 4) == 0, bf16 = strstr(form, "-bf16") != NULL;
    rgm_value *loss = NULL;

    if (!base && strncmp(form, "small", 5) != 0)
        return RGM_FAIL(RGM_ERR_ARG, "form '%s'; there are small, base, small-bf16, base-bf16",
                        form);
    t->form = form;
    t->pairs = options->size > 0 ? options->size : 64;
    t->profile = options->profile;
    adam.beta_2 = 0.98;
    adam.epsilon = 1e-9;
    set_model(&t->model, base);
    RGM_TRY(make_batches(t));
    RGM_TRY(build(t, &loss));
    RGM_TRY(rgm_parameters_create(&t->parameters, t->graph, 1));
    RGM_TRY(rgm_optimizer_create(&t->optimizer, &adam, t->parameters));
    return compile(t, loss, bf16);
}

static rgm_status translation_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    translation *t = NULL;

    RGM_GO(RGM_NEW(t, 1));
    RGM_GO(open_model(t, options));
    *out = t;
    t = NULL;
done:
    translation_close(t);
    return status;
}

static rgm_status translation_step(void *state, int64_t step)
{
    translation *t = state;
    rgm_feed feeds[FEEDS];
    double loss;

    for (int i = 0; i < FEEDS; i++)
        feeds[i] = (rgm_feed){.input = t->inputs[i], .tensor = t->batches[step % BATCHES][i]};
    RGM_TRY(
        rgm_executor_run(t->executor, t->fetched, t->parameters, feeds, FEEDS, 1, (uint64_t)step));
    loss = rgm_tensor_at(t->fetched[0], 0);
    if (!isfinite(loss))
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss of step %lld is %g", (long long)step, loss);
    return rgm_optimizer_step(t->optimizer, t->parameters, t->fetched + 1, step);
}

/* What the floor is made of: see translate_floor() of bench.py. */
static rgm_status translation_facts(rgm_text *out, void *state)
{
    const translation *t = state;
    const rgm_seq2seq_options *o = &t->model.options;
    int64_t parameters = 0;

    for (int64_t i = 0; i < rgm_parameters_count(t->parameters); i++)
        parameters += rgm_tensor_count(rgm_parameters_tensor(t->parameters, i));
    return rgm_text_printf(
        out,
        ", \"form\": \"%s\", \"pairs\": %lld, \"length\": %d, \"width\": %lld, \"inner\": %lld, "
        "\"layers\": %lld, "
        "\"vocabulary\": %d, \"parameters\": %lld, \"isa_f32\": \"%s\", \"isa_bf16\": \"%s\"",
        t->form, (long long)t->pairs, LENGTH, (long long)o->embedding_width,
        (long long)o->encoder.intermediate_size, (long long)o->encoder.num_layers, VOCABULARY,
        (long long)parameters, rgm_kernels_for(RGM_F32)->isa, rgm_kernels_for(RGM_BF16)->isa);
}

const bench_workload bench_translate = {"translate",
                                        "training step of a Transformer; forms small, base, "
                                        "small-bf16, base-bf16; `size` pairs of 32 tokens",
                                        translation_open,
                                        translation_step,
                                        translation_facts,
                                        translation_close};
