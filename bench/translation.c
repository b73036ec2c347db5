/*
 * Training steps of the Transformer: `size` pairs (64 unless told) of 32 and 32 random tokens, none
 * of them padding. What is in a step is what the trainer puts there: feeds of a new batch, forward,
 * backward, the optimizer's sweep. No data file. peer_translation.py is the same in PyTorch.
 */
#include "bench.h"

#include <regimen/translation.h>

#include <string.h>

enum { VOCABULARY = 8000, LENGTH = 32, BATCHES = 2, SMOOTHING_PERCENT = 10 };
enum { SOURCE, TARGET, LABELS, SOURCE_POSITIONS, TARGET_POSITIONS, FEEDS };

typedef struct translation {
    rgm_seq2seq model;
    const char *form;
    int64_t pairs;
    bench_training training;
    rgm_value *inputs[FEEDS];
    rgm_tensor *batches[BATCHES][FEEDS]; /* by turns: a batch fed twice would be part known */
} translation;

/* ---- batches ------------------------------------------------------------------------------- */

static rgm_status make_ids(rgm_tensor **out, const translation *t, int64_t stream)
{
    rgm_rng rng = rgm_rng_stream(1, "tokens", (uint64_t)stream);

    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, (int64_t[]){t->pairs, LENGTH}));
    for (int64_t i = 0; i < rgm_tensor_count(*out); i++)
        rgm_tensor_i64(*out)[i] = 1 + (int64_t)(rgm_rng_f64(&rng, (uint64_t)i) * (VOCABULARY - 1));
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
                RGM_TRY(rgm_tensor_arange(tensor, LENGTH));
        }
    return RGM_OK;
}

/* ---- model: the two sizes that are compared everywhere ------------------------------------- */

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

static rgm_value *build_loss(translation *t)
{
    static const char *const names[FEEDS] = {"source", "target", "labels", "source_positions",
                                             "target_positions"};
    rgm_cgraph *graph = t->training.graph;
    rgm_scope *scope = t->training.scope;
    rgm_value *states, *labels, *losses;
    rgm_dim pairs, lengths[2];

    pairs = rgm_cgraph_symbol(graph, "pairs");
    lengths[0] = rgm_cgraph_symbol(graph, "source_length");
    lengths[1] = rgm_cgraph_symbol(graph, "target_length");
    for (int i = 0; i < FEEDS; i++) {
        rgm_dim length = lengths[i != SOURCE && i != SOURCE_POSITIONS];
        t->inputs[i] = i < SOURCE_POSITIONS
                           ? rgm_input(graph, names[i], RGM_I64, 2, (rgm_dim[]){pairs, length})
                           : rgm_input(graph, names[i], RGM_I64, 1, &length);
    }
    states = rgm_seq2seq_encode(scope, &t->model, t->inputs[SOURCE], t->inputs[SOURCE_POSITIONS]);
    states = rgm_seq2seq_decode(scope, &t->model, t->inputs[TARGET], t->inputs[TARGET_POSITIONS],
                                states, t->inputs[SOURCE]);
    labels = rgm_reshape(t->inputs[LABELS], 1, (rgm_dim[]){RGM_INFER});
    losses = rgm_seq2seq_losses(&t->model, rgm_seq2seq_logits(scope, &t->model, states), labels,
                                SMOOTHING_PERCENT / 100.0);
    return rgm_weighted_mean(losses, rgm_seq2seq_weights(scope, labels));
}

/* ---- the workload -------------------------------------------------------------------------- */

static void translation_close(void *state)
{
    translation *t = state;

    if (t == NULL)
        return;
    bench_training_end(&t->training);
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < FEEDS; i++)
            rgm_tensor_release(t->batches[b][i]);
    rgm_free(t);
}

static rgm_status open_model(translation *t, const bench_options *options)
{
    rgm_optimizer_options adam = rgm_adam(1e-4);
    const char *form = options->form;
    bool base = strncmp(form, "base", 4) == 0, bf16 = strstr(form, "-bf16") != NULL;

    t->form = form;
    t->pairs = options->size > 0 ? options->size : 64;
    adam.beta_2 = 0.98;
    adam.epsilon = 1e-9;
    set_model(&t->model, base);
    RGM_TRY(make_batches(t));
    RGM_TRY(bench_training_begin(&t->training));
    return bench_training_compile(&t->training, build_loss(t), &adam, bf16, options->profile);
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

    for (int i = 0; i < FEEDS; i++)
        feeds[i] = (rgm_feed){.input = t->inputs[i], .tensor = t->batches[step % BATCHES][i]};
    return bench_training_step(&t->training, feeds, FEEDS, step);
}

/* What the floor is made of: see translate_floor() of bench.py. */
static rgm_status translation_facts(rgm_text *out, void *state)
{
    const translation *t = state;
    const rgm_seq2seq_options *o = &t->model.options;
    int64_t parameters = 0;

    for (int64_t i = 0; i < rgm_parameters_count(t->training.parameters); i++)
        parameters += rgm_tensor_count(rgm_parameters_tensor(t->training.parameters, i));
    return rgm_text_printf(
        out,
        ", \"form\": \"%s\", \"pairs\": %lld, \"length\": %d, \"width\": %lld, \"inner\": %lld, "
        "\"layers\": %lld, "
        "\"vocabulary\": %d, \"parameters\": %lld, \"isa_f32\": \"%s\", \"isa_bf16\": \"%s\"",
        t->form, (long long)t->pairs, LENGTH, (long long)o->embedding_width,
        (long long)o->encoder.intermediate_size, (long long)o->encoder.num_layers, VOCABULARY,
        (long long)parameters, rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa,
        rgm_kernels_for(rgm_device_cpu(), RGM_BF16)->isa);
}

static const char *const forms[] = {"small", "base", "small-bf16", "base-bf16", NULL};
const bench_workload bench_translate = {"translate",
                                        "training step of a Transformer; forms small, base, "
                                        "small-bf16, base-bf16; `size` pairs of 32 tokens",
                                        translation_open,
                                        translation_step,
                                        translation_facts,
                                        translation_close,
                                        forms};
