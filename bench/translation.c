/*
 * Training steps of the Transformer: `size` pairs (64 unless told) of 32 and 32 random tokens, none
 * of them padding. What is in a step is what the trainer puts there: feeds of a new batch, forward,
 * backward, the optimizer's sweep. No data file. peer_translation.py is the same in PyTorch.
 * translate_run has the same by the trainer, in shards that ranks hold.
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
    rgm_trainer *trainer; /* of translate_run, in the place of the former */
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

/* The loss of each token and what it weighs; [pairs * length]. */
static rgm_value *build_losses(rgm_value **weights, translation *t, rgm_scope *scope)
{
    static const char *const names[FEEDS] = {"source", "target", "labels", "source_positions",
                                             "target_positions"};
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_value *states, *labels;
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
    *weights = rgm_seq2seq_weights(scope, labels);
    return rgm_seq2seq_losses(&t->model, rgm_seq2seq_logits(scope, &t->model, states), labels,
                              SMOOTHING_PERCENT / 100.0);
}

static rgm_value *build_loss(translation *t)
{
    rgm_value *weights, *losses = build_losses(&weights, t, t->training.scope);

    return rgm_weighted_mean(losses, weights);
}

/* ---- the workload -------------------------------------------------------------------------- */

static void translation_close(void *state)
{
    translation *t = state;

    if (t == NULL)
        return;
    rgm_trainer_release(t->trainer);
    bench_training_end(&t->training);
    for (int b = 0; b < BATCHES; b++)
        for (int i = 0; i < FEEDS; i++)
            rgm_tensor_release(t->batches[b][i]);
    rgm_free(t);
}

static rgm_optimizer_options optimizer(void)
{
    rgm_optimizer_options adam = rgm_adam(1e-4);

    adam.beta_2 = 0.98;
    adam.epsilon = 1e-9;
    return adam;
}

static bool is_bf16(const translation *t)
{
    return strstr(t->form, "-bf16") != NULL;
}

static rgm_status set_form(translation *t, const bench_options *options)
{
    const char *form = options->form;
    bool base = strncmp(form, "base", 4) == 0;

    t->form = form;
    t->pairs = options->size > 0 ? options->size : 64;
    set_model(&t->model, base);
    return RGM_OK;
}

static rgm_status open_model(translation *t, const bench_options *options)
{
    rgm_optimizer_options adam = optimizer();

    RGM_TRY(set_form(t, options));
    RGM_TRY(make_batches(t));
    RGM_TRY(bench_training_begin(&t->training));
    return bench_training_compile(&t->training, build_loss(t), &adam, is_bf16(t), options->profile);
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

    return rgm_text_printf(
        out,
        ", \"form\": \"%s\", \"pairs\": %lld, \"length\": %d, \"width\": %lld, \"inner\": %lld, "
        "\"layers\": %lld, "
        "\"vocabulary\": %d, \"parameters\": %lld, \"isa_f32\": \"%s\", \"isa_bf16\": \"%s\"",
        t->form, (long long)t->pairs, LENGTH, (long long)o->embedding_width,
        (long long)o->encoder.intermediate_size, (long long)o->encoder.num_layers, VOCABULARY,
        (long long)rgm_parameters_total(t->training.parameters),
        rgm_kernels_for(rgm_device_cpu(), RGM_F32)->isa,
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

/* ---- the same by the trainer, in shards ------------------------------------------------------ */

static rgm_status run_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    const translation *t = state;
    rgm_element *elements[BATCHES] = {NULL};
    rgm_status status = RGM_OK;

    *out = NULL;
    if (mode != RGM_TRAIN)
        return RGM_OK;
    for (int b = 0; b < BATCHES; b++)
        RGM_GO(rgm_element_create_tensors(&elements[b], t->batches[b], FEEDS));
    RGM_GO(rgm_dataset_from_elements(out, elements, BATCHES));
    if (endless)
        RGM_GO(rgm_dataset_repeat(out, -1));
done:
    for (int b = 0; b < BATCHES; b++)
        rgm_element_release(elements[b]);
    return status;
}

static rgm_status run_model(rgm_task_model *model, rgm_scope *scope, void *state)
{
    rgm_value *weights, *losses = build_losses(&weights, state, scope);

    model->head_count = 1;
    model->heads[0] = (rgm_head){.name = "tokens",
                                 .loss_weight = 1,
                                 .loss = rgm_weighted_mean(losses, weights),
                                 .weights = weights};
    return RGM_OK;
}

static rgm_status run_feeds(rgm_feed *feeds, int64_t most, int64_t *count, void *state,
                            rgm_element *inputs)
{
    const translation *t = state;

    (void)most;
    for (*count = 0; *count < FEEDS; ++*count)
        feeds[*count] =
            (rgm_feed){.input = t->inputs[*count], .tensor = rgm_element_tensor(inputs, *count)};
    return RGM_OK;
}

static rgm_status run_open(void **out, const bench_options *options)
{
    rgm_status status = RGM_OK;
    translation *t = NULL;
    rgm_optimizer_options adam = optimizer();
    rgm_trainer_options how;
    rgm_runtime_options runtime;

    rgm_trainer_defaults(&how);
    rgm_runtime_defaults(&runtime);
    RGM_GO(RGM_NEW(t, 1));
    RGM_GO(set_form(t, options));
    runtime.shards = options->shards > 0 ? options->shards : 1;
    runtime.mixed_precision = is_bf16(t) ? RGM_MIXED_BF16 : RGM_MIXED_NONE;
    runtime.threads = rgm_threads();
    how.train_steps = 1000000000;
    t->pairs /= runtime.shards;
    RGM_GO(make_batches(t));
    const rgm_task task = {.name = "translate",
                           .state = t,
                           .build_inputs = run_inputs,
                           .build_model = run_model,
                           .feeds = run_feeds};
    const rgm_trainer_setup setup = {.task = &task,
                                     .options = &how,
                                     .runtime = &runtime,
                                     .optimizer = &adam,
                                     .comm = bench_comm,
                                     .endless = true};
    RGM_GO(rgm_trainer_create(&t->trainer, &setup));
    *out = t;
    t = NULL;
done:
    translation_close(t);
    return status;
}

static rgm_status run_step(void *state, int64_t step)
{
    translation *t = state;
    const rgm_logs *logs;

    (void)step;
    return rgm_trainer_train(t->trainer, 1, &logs);
}

const bench_workload bench_translate_run = {
    "translate_run",
    "the same by the trainer: `size` pairs in --shards shards of mpirun's ranks",
    run_open,
    run_step,
    NULL,
    translation_close,
    forms};
