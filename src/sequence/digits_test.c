/*
 * A task that is no translation, on this layer alone: ten digits and an end are all there is, and a
 * model of one layer learns to write a number backwards. What a task of text adds to this is data,
 * scores and files.
 */
#include <check.h>
#include <regimen/optim.h>
#include <regimen/sequence.h>

enum { END = 1, FIRST = 2, VOCABULARY = 12, DIGITS = 3, LENGTH = DIGITS + 1, ROWS = 100 };

typedef struct lab {
    rgm_seq2seq model;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_value *inputs[4]; /* source, target, labels [ROWS, LENGTH]; positions [LENGTH] */
    rgm_tensor *tensors[4];
    rgm_tensor *fetched[64]; /* loss, gradients by parameter */
    int64_t count;           /* parameters */
} lab;

/* Ids of number n: source digits, or the same backwards; `shifted` is what the decoder reads. */
static int32_t id_of(int64_t n, int64_t i, bool backwards, bool shifted)
{
    static const int64_t place[DIGITS] = {1, 10, 100};
    int64_t at = i - shifted;

    if (at < 0)
        return 0;
    if (at == DIGITS)
        return END;
    return (int32_t)(FIRST + n / place[backwards ? at : DIGITS - 1 - at] % 10);
}

static void model_build(lab *l)
{
    rgm_value *wrt[63], *fetches[64], *states, *labels, *losses, *weights;

    CHECK_OK(rgm_seq2seq_check(&l->model));
    states = rgm_seq2seq_encode(l->scope, &l->model, l->inputs[0], l->inputs[3]);
    states =
        rgm_seq2seq_decode(l->scope, &l->model, l->inputs[1], l->inputs[3], states, l->inputs[0]);
    labels = rgm_reshape(l->inputs[2], 1, (rgm_dim[]){ROWS * LENGTH});
    losses =
        rgm_seq2seq_losses(&l->model, rgm_seq2seq_logits(l->scope, &l->model, states), labels, 0);
    weights = rgm_seq2seq_weights(l->scope, labels);
    fetches[0] = rgm_div(rgm_sum(rgm_mul(losses, weights)), rgm_sum(weights));
    CHECK_OK(rgm_cgraph_status(l->graph));
    CHECK_OK(rgm_parameters_create(&l->parameters, l->graph, 5));
    l->count = rgm_parameters_count(l->parameters);
    CHECK(l->count < 64);
    for (int64_t i = 0; i < l->count; i++)
        wrt[i] = rgm_cgraph_parameter(l->graph, i);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, l->count));
    CHECK_OK(rgm_executor_create(&l->executor, l->graph, fetches, 1 + l->count, NULL));
}

static void lab_open(lab *l)
{
    static const char *const names[] = {"source", "target", "labels"};
    rgm_stack_options *stacks[] = {&l->model.options.encoder, &l->model.options.decoder};

    memset(l, 0, sizeof *l);
    rgm_seq2seq_defaults(&l->model.options);
    l->model.source_vocabulary = l->model.target_vocabulary = VOCABULARY;
    l->model.options.embedding_width = 32;
    l->model.options.dropout_rate = 0;
    l->model.options.max_positions = LENGTH;
    for (int i = 0; i < 2; i++) {
        stacks[i]->num_layers = 1;
        stacks[i]->num_attention_heads = 4;
        stacks[i]->intermediate_size = 64;
        stacks[i]->dropout_rate = stacks[i]->attention_dropout_rate =
            stacks[i]->intermediate_dropout = 0;
    }
    CHECK_OK(rgm_cgraph_create(&l->graph));
    CHECK_OK(rgm_scope_create(&l->scope, l->graph, RGM_F32));
    for (int i = 0; i < 3; i++) {
        CHECK_OK(rgm_tensor_create(&l->tensors[i], RGM_I64, 2, (int64_t[]){ROWS, LENGTH}));
        l->inputs[i] = rgm_input(l->graph, names[i], RGM_I64, 2, (rgm_dim[]){ROWS, LENGTH});
    }
    CHECK_OK(rgm_tensor_arange(&l->tensors[3], LENGTH));
    l->inputs[3] = rgm_input(l->graph, "positions", RGM_I64, 1, (rgm_dim[]){LENGTH});
    model_build(l);
}

static void lab_close(lab *l)
{
    rgm_executor_release(l->executor);
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(l->tensors[i]);
    rgm_parameters_release(l->parameters);
    rgm_scope_release(l->scope);
    rgm_cgraph_release(l->graph);
}

/* In an order that mixes the digits; multiples of 11 are left for the test. */
static int64_t number_of(int64_t i)
{
    int64_t n = i * 371 % 1000;

    return n % 11 == 0 ? n + 1 : n;
}

static void train(lab *l, int64_t steps)
{
    rgm_optimizer_options options = rgm_adam(5e-3);
    rgm_optimizer *optimizer;
    rgm_feed feeds[4];

    CHECK_OK(rgm_optimizer_create(&optimizer, &options, l->parameters));
    for (int64_t step = 0; step < steps; step++) {
        for (int64_t i = 0; i < ROWS * LENGTH; i++) {
            int64_t n = number_of(step * ROWS + i / LENGTH), at = i % LENGTH;
            rgm_tensor_i64(l->tensors[0])[i] = id_of(n, at, false, false);
            rgm_tensor_i64(l->tensors[1])[i] = id_of(n, at, true, true);
            rgm_tensor_i64(l->tensors[2])[i] = id_of(n, at, true, false);
        }
        for (int i = 0; i < 4; i++)
            feeds[i] = (rgm_feed){.input = l->inputs[i], .tensor = l->tensors[i]};
        CHECK_OK(
            rgm_executor_run(l->executor, l->fetched, l->parameters, feeds, 4, 1, (uint64_t)step));
        CHECK_OK(rgm_optimizer_step(optimizer, l->parameters, l->fetched + 1, step));
    }
    rgm_optimizer_release(optimizer);
}

static void a_number_that_was_never_seen_is_written_backwards(void **state)
{
    rgm_beam_search_options options = RGM_BEAM_SEARCH_OPTIONS_INIT;
    rgm_hypotheses found[DIGITS];
    const int64_t numbers[DIGITS] = {110, 374, 946}, lengths[DIGITS] = {LENGTH, LENGTH, LENGTH};
    const int32_t *sources[DIGITS];
    int32_t ids[DIGITS][LENGTH];
    rgm_beam_search *search;
    lab l;

    (void)state;
    lab_open(&l);
    train(&l, 250);
    for (int64_t k = 0; k < DIGITS; k++) {
        for (int64_t i = 0; i < LENGTH; i++)
            ids[k][i] = id_of(numbers[k], i, false, false);
        sources[k] = ids[k];
    }
    CHECK_OK(rgm_beam_search_create(&search, &l.model, l.parameters, NULL, false));
    for (options.beam_size = 1; options.beam_size <= 3; options.beam_size += 2) {
        CHECK_OK(rgm_beam_search_run(found, search, sources, lengths, DIGITS, &options));
        for (int64_t k = 0; k < DIGITS; k++) {
            CHECK_INT(DIGITS, found[k].items[0].count);
            for (int64_t i = 0; i < DIGITS; i++)
                CHECK_INT(id_of(numbers[k], i, true, false), found[k].items[0].ids[i]);
            rgm_hypotheses_clear(&found[k]);
        }
    }
    rgm_beam_search_release(search);
    lab_close(&l);
}

TESTS(cmocka_unit_test(a_number_that_was_never_seen_is_written_backwards))
