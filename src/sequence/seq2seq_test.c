/*
 * The Transformer: parameter counts of the papers' sizes; values, loss and every gradient of small
 * models against tests/oracle/seq2seq_reference.txt, which PyTorch made; padding; options that
 * contradict each other.
 */
#include "reference_check.h"
#include "seq2seq_check.h"

#define FIXTURE "tests/oracle/seq2seq_reference.txt"
enum { B = 3, S = 5, T = 6, MOST = 128 };
static const int64_t source_lengths[B] = {5, 3, 1}, target_lengths[B] = {4, 6, 2};

static int64_t count_of(const rgm_seq2seq *model)
{
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_value *source, *target, *at;
    int64_t total = 0;

    CHECK_OK(rgm_seq2seq_check(model));
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK_OK(rgm_scope_create(&scope, graph, RGM_F32));
    source = rgm_input(graph, "source", RGM_I64, 2, (rgm_dim[]){2, 3});
    target = rgm_input(graph, "target", RGM_I64, 2, (rgm_dim[]){2, 3});
    at = rgm_input(graph, "at", RGM_I64, 1, (rgm_dim[]){3});
    rgm_seq2seq_logits(scope, model,
                       rgm_seq2seq_decode(scope, model, target, at,
                                          rgm_seq2seq_encode(scope, model, source, at), source));
    CHECK_OK(rgm_cgraph_status(graph));
    for (int64_t i = 0; i < rgm_cgraph_parameter_count(graph); i++) {
        const rgm_value *p = rgm_cgraph_parameter(graph, i);
        int64_t size = 1;
        for (int axis = 0; axis < rgm_value_rank(p); axis++)
            size *= rgm_value_dim(p, axis);
        total += size;
    }
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
    return total;
}

static void base_and_big_have_as_many_parameters_as_they_should(void **state)
{
    rgm_seq2seq model = {.source_vocabulary = 32000, .target_vocabulary = 32000};

    (void)state;
    rgm_seq2seq_defaults(&model.options);
    CHECK_INT(60487680, count_of(&model));
    model.options.embeddings = RGM_EMBEDDINGS_UNTIED;
    CHECK_INT(60487680 + 2 * 32000 * 512, count_of(&model));
    rgm_seq2seq_big_defaults(&model.options);
    CHECK_INT(209055744, count_of(&model));
    model.source_vocabulary = model.target_vocabulary = 31993; /* padded to the same */
    CHECK_INT(209055744, count_of(&model));
}

/* ---- against PyTorch ---- */

typedef struct net {
    rgm_seq2seq model;
    double smoothing, guided; /* guided: weight of the alignments' loss .. */
    int64_t guided_head;      /* .. of that head of the last layer         */
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_feed feeds[6];
    int feed_count;
    rgm_value *fetches[2 + MOST]; /* loss, logits, gradients by parameter */
    int64_t count;
} net;

static void feed_ids(net *n, int at, const char *name, const int64_t *lengths, int64_t longest,
                     int64_t vocabulary, int64_t seed, bool shifted)
{
    rgm_tensor *t;

    CHECK_OK(rgm_tensor_create(&t, RGM_I64, 2, (int64_t[]){B, longest}));
    for (int64_t b = 0; b < B; b++)
        for (int64_t i = 0; i < longest; i++) {
            int64_t from = i - shifted;
            rgm_tensor_i64(t)[b * longest + i] =
                from < 0 ? 0 : token_of(b, from, lengths[b], vocabulary, seed);
        }
    n->feeds[at] = (rgm_feed){
        .input = rgm_input(n->graph, name, RGM_I64, 2, (rgm_dim[]){B, longest}), .tensor = t};
}

/* As the oracle's alignment() has them. */
static rgm_value *guide(net *n, rgm_dtype dtype, rgm_value *losses)
{
    rgm_attention_place place = {-1, n->guided_head};
    rgm_cross_attention attention;
    rgm_value *input = rgm_input(n->graph, "alignment", dtype, 3, (rgm_dim[]){B, T, S});
    rgm_tensor *a;

    CHECK_OK(rgm_tensor_create(&a, dtype, 3, (int64_t[]){B, T, S}));
    for (int64_t b = 0; b < B; b++)
        for (int64_t t = 0; t < target_lengths[b]; t++) {
            int64_t s = source_lengths[b], one = (2 * t + b) % s, other = (t + 1) % s;
            for (int64_t i = 0; i < S && t % 3 < 2; i++) {
                double x = i == one || i == other ? (one == other ? 1 : 0.5) : 0;
                if (dtype == RGM_F64)
                    rgm_tensor_f64(a)[(b * T + t) * S + i] = x;
                else
                    rgm_tensor_f32(a)[(b * T + t) * S + i] = (float)x;
            }
        }
    n->feeds[n->feed_count++] = (rgm_feed){.input = input, .tensor = a};
    CHECK_OK(rgm_seq2seq_attention(&attention, n->scope, &n->model, &place));
    return rgm_add(losses, rgm_scale(rgm_seq2seq_alignment_losses(&attention, &n->model, &place,
                                                                  n->feeds[0].input, input),
                                     n->guided));
}

static void net_open(net *n, rgm_dtype dtype)
{
    rgm_value *wrt[MOST], *states, *labels, *losses, *weights;
    const rgm_seq2seq *m = &n->model;

    CHECK_OK(rgm_seq2seq_check(m));
    CHECK_OK(rgm_cgraph_create(&n->graph));
    CHECK_OK(rgm_scope_create(&n->scope, n->graph, dtype));
    feed_ids(n, 0, "source", source_lengths, S, m->source_vocabulary, 0, false);
    feed_ids(n, 1, "target", target_lengths, T, m->target_vocabulary, 5, true);
    feed_ids(n, 2, "labels", target_lengths, T, m->target_vocabulary, 5, false);
    n->feeds[3] = (rgm_feed){.input = rgm_input(n->graph, "s", RGM_I64, 1, (rgm_dim[]){S}),
                             .tensor = make_positions(S)};
    n->feeds[4] = (rgm_feed){.input = rgm_input(n->graph, "t", RGM_I64, 1, (rgm_dim[]){T}),
                             .tensor = make_positions(T)};
    n->feed_count = 5;
    states = rgm_seq2seq_encode(n->scope, m, n->feeds[0].input, n->feeds[3].input);
    states = rgm_seq2seq_decode(n->scope, m, n->feeds[1].input, n->feeds[4].input, states,
                                n->feeds[0].input);
    n->fetches[1] = rgm_seq2seq_logits(n->scope, m, states);
    labels = rgm_reshape(n->feeds[2].input, 1, (rgm_dim[]){B * T});
    losses = rgm_seq2seq_losses(m, n->fetches[1], labels, n->smoothing);
    if (n->guided > 0)
        losses = guide(n, dtype, losses);
    weights = rgm_seq2seq_weights(n->scope, labels);
    n->fetches[0] = rgm_div(rgm_sum(rgm_mul(losses, weights)), rgm_sum(weights));
    CHECK_OK(rgm_cgraph_status(n->graph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 1));
    set_weights(n->parameters);
    n->count = rgm_parameters_count(n->parameters);
    CHECK(n->count <= MOST);
    for (int64_t i = 0; i < n->count; i++)
        wrt[i] = rgm_cgraph_parameter(n->graph, i);
    CHECK_OK(rgm_cgraph_gradients(n->fetches + 2, n->fetches[0], wrt, n->count));
}

static void net_close(net *n)
{
    for (int i = 0; i < n->feed_count; i++)
        rgm_tensor_release(n->feeds[i].tensor);
    rgm_parameters_release(n->parameters);
    rgm_scope_release(n->scope);
    rgm_cgraph_release(n->graph);
}

static void check_line(net *n, rgm_tensor *const *results, const char *name, const double *want,
                       double tolerance)
{
    double got[7], largest;

    if (strcmp(name, "loss") == 0) {
        CHECK_CLOSE(rgm_tensor_at(results[0], 0), want[0], tolerance, tolerance);
    } else if (strcmp(name, "logits") == 0) {
        int64_t picked[B * T * 16], count = 0, columns = rgm_tensor_dim(results[1], 1);
        for (int64_t r = 0; r < B * T; r++)
            for (int64_t c = 0; c < n->model.target_vocabulary && r % T < target_lengths[r / T];
                 c++)
                picked[count++] = r * columns + c;
        figures(got, &largest, results[1], picked, count);
        compare(name, want, got, largest, count, tolerance);
    } else {
        for (int64_t i = 0; i < n->count; i++)
            if (strcmp(rgm_parameters_name(n->parameters, i), name + strlen("gradient/")) == 0) {
                compare_all(name, want, results[2 + i], tolerance);
                return;
            }
        fail_msg("no parameter for %s", name);
    }
}

/* The lines of one model; all of its gradients must be there. */
static void compare_with_pytorch(const char *name, net *n, rgm_dtype dtype, double tolerance)
{
    reference_lines lines;
    rgm_executor *executor;
    rgm_tensor *results[2 + MOST];
    int64_t gradients = 0;

    net_open(n, dtype);
    CHECK_OK(rgm_executor_create(&executor, n->graph, n->fetches, 2 + n->count, NULL));
    CHECK_OK(rgm_executor_run(executor, results, n->parameters, n->feeds, n->feed_count, 1, 1));
    lines_open(&lines, FIXTURE, name);
    while (lines_next(&lines)) {
        check_line(n, results, lines.name, lines.want, tolerance);
        gradients += strncmp(lines.name, "gradient/", 9) == 0;
    }
    CHECK_INT(n->count, gradients);
    rgm_executor_release(executor);
    net_close(n);
}

static void values_and_gradients_are_pytorchs(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        rgm_dtype dtype = d ? RGM_F32 : RGM_F64;
        double tolerance = d ? 1e-5 : 1e-8;
        net base = {.model = small_model(2, 1, 13, 13), .smoothing = 0.1};
        net options = {.model = small_model(1, 2, 9, 13)};
        net untied = {.model = small_model(1, 1, 9, 14), .smoothing = 0.3};
        rgm_stack_options *stacks[] = {&options.model.options.encoder,
                                       &options.model.options.decoder};

        base.model.options.encoder.activation = RGM_ACT_RELU;
        base.model.options.decoder.activation = RGM_ACT_RELU;
        compare_with_pytorch("base", &base, dtype, tolerance);
        for (int i = 0; i < 2; i++) {
            stacks[i]->use_bias = true;
            stacks[i]->norm_first = false;
            stacks[i]->activation = RGM_ACT_GELU;
        }
        options.model.options.embeddings = RGM_EMBEDDINGS_TARGET;
        options.model.options.positions = RGM_POSITIONS_LEARNED;
        compare_with_pytorch("options", &options, dtype, tolerance);
        untied.model.options.embeddings = RGM_EMBEDDINGS_UNTIED;
        untied.model.options.encoder.activation = RGM_ACT_GELU;
        untied.model.options.decoder.activation = RGM_ACT_GELU;
        compare_with_pytorch("untied", &untied, dtype, tolerance);
    }
}

/* A head that is taught what to attend to, and the mean of all. */
static void guided_attention_is_taught_as_by_pytorch(void **state)
{
    (void)state;
    for (int d = 0; d < 2; d++) {
        net head = {
            .model = small_model(1, 2, 9, 13), .smoothing = 0.1, .guided = 0.4, .guided_head = 1};
        net mean = {.model = small_model(1, 1, 9, 13), .guided = 0.4, .guided_head = -1};
        rgm_stack_options *stacks[] = {&head.model.options.encoder, &head.model.options.decoder};

        for (int i = 0; i < 2; i++) {
            stacks[i]->num_attention_heads = 4;
            stacks[i]->num_key_value_heads = 2;
        }
        head.model.options.embeddings = mean.model.options.embeddings = RGM_EMBEDDINGS_TARGET;
        compare_with_pytorch("guided", &head, d ? RGM_F32 : RGM_F64, d ? 1e-5 : 1e-8);
        compare_with_pytorch("mean", &mean, d ? RGM_F32 : RGM_F64, d ? 1e-5 : 1e-8);
    }
}

/* Both stacks of a model of today. */
typedef struct today {
    const char *name;
    int64_t encoder, heads, kv_heads, window;
    rgm_positions positions;
    rgm_activation activation;
    rgm_seq2seq_embeddings embeddings;
    bool rms, gated, no_ffn_bias, norm_last, bias, output_bias;
} today;

static const today todays[] = {
    {.name = "turned",
     .encoder = 1,
     .heads = 4,
     .kv_heads = 2,
     .positions = RGM_POSITIONS_ROTARY,
     .activation = RGM_ACT_SILU,
     .embeddings = RGM_EMBEDDINGS_INPUTS,
     .rms = true,
     .gated = true,
     .no_ffn_bias = true,
     .output_bias = true},
    {.name = "buckets",
     .encoder = 2,
     .heads = 4,
     .kv_heads = 1,
     .positions = RGM_POSITIONS_RELATIVE,
     .activation = RGM_ACT_GELU_TANH,
     .norm_last = true,
     .bias = true},
    {.name = "sloped",
     .encoder = 1,
     .heads = 4,
     .window = 3,
     .positions = RGM_POSITIONS_ALIBI,
     .activation = RGM_ACT_GELU,
     .gated = true},
    {.name = "paper",
     .encoder = 1,
     .heads = 2,
     .positions = RGM_POSITIONS_SINUSOIDAL_PAPER,
     .activation = RGM_ACT_SILU,
     .norm_last = true,
     .bias = true},
};

static rgm_seq2seq model_of_today(const today *t)
{
    rgm_seq2seq m = small_model(t->encoder, 1, 13, 13);
    rgm_stack_options *stacks[] = {&m.options.encoder, &m.options.decoder};

    m.options.positions = t->positions;
    m.options.embeddings = t->embeddings;
    m.options.output_bias = t->output_bias;
    m.options.rotary_base = 100;
    m.options.relative_buckets = 6;
    m.options.relative_distance = 4;
    for (int i = 0; i < 2; i++) {
        stacks[i]->num_attention_heads = t->heads;
        stacks[i]->num_key_value_heads = t->kv_heads;
        stacks[i]->attention_window = t->window;
        stacks[i]->activation = t->activation;
        stacks[i]->norm = t->rms ? RGM_NORM_RMS : RGM_NORM_LAYER;
        stacks[i]->gated = t->gated;
        stacks[i]->ffn_bias = !t->no_ffn_bias;
        stacks[i]->norm_first = stacks[i]->final_norm = !t->norm_last;
        stacks[i]->use_bias = t->bias;
    }
    return m;
}

static void blocks_of_today_are_pytorchs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof todays / sizeof *todays; i++)
        for (int d = 0; d < 2; d++) {
            net n = {.model = model_of_today(&todays[i])};
            compare_with_pytorch(todays[i].name, &n, d ? RGM_F32 : RGM_F64, d ? 1e-5 : 1e-8);
        }
}

enum { ALL_LOGITS = B * T * 16 };

/* The logits of a model whose tables do not share, read by a factor or with it in the tables. */
static void logits_of_scaled(double out[ALL_LOGITS], bool by_the_model)
{
    static const char *const tables[] = {"source_embedding/table", "target_embedding/table"};
    net n = {.model = small_model(1, 1, 13, 13)};
    rgm_executor *executor;
    rgm_tensor *logits;

    n.model.options.embeddings = RGM_EMBEDDINGS_UNTIED;
    n.model.options.scale_embeddings = by_the_model;
    net_open(&n, RGM_F64);
    for (int k = 0; k < 2 && !by_the_model; k++) {
        rgm_tensor *table = rgm_parameters_find(n.parameters, tables[k]);
        for (int64_t i = 0; i < rgm_tensor_count(table); i++)
            rgm_tensor_f64(table)[i] *= sqrt(32);
    }
    rgm_parameters_touch(n.parameters);
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches + 1, 1, NULL));
    CHECK_OK(rgm_executor_run(executor, &logits, n.parameters, n.feeds, 5, 1, 1));
    CHECK_INT(ALL_LOGITS, rgm_tensor_count(logits));
    memcpy(out, rgm_tensor_f64(logits), ALL_LOGITS * sizeof *out);
    rgm_executor_release(executor);
    net_close(&n);
}

static void embeddings_are_scaled_on_demand(void **state)
{
    double scaled[ALL_LOGITS], plain[ALL_LOGITS];

    (void)state;
    logits_of_scaled(scaled, true);
    logits_of_scaled(plain, false);
    for (int64_t i = 0; i < ALL_LOGITS; i++)
        CHECK_CLOSE(scaled[i], plain[i], 1e-9, 1e-9);
}

/* ---- options ---- */

/* How far the logits of places lie apart, of a model with small weights and that epsilon in the
   decoder's norms. */
static double spread_of_logits(double epsilon)
{
    net n = {.model = small_model(1, 1, 13, 13)};
    rgm_executor *executor;
    rgm_tensor *results[2];
    int64_t width = rgm_seq2seq_padded(13);
    double spread = 0;

    n.model.options.positions = RGM_POSITIONS_LEARNED;
    n.model.options.decoder.norm_epsilon = epsilon;
    net_open(&n, RGM_F64);
    for (int64_t p = 0; p < n.count; p++) {
        rgm_tensor *w = rgm_parameters_tensor(n.parameters, p);

        if (strstr(rgm_parameters_name(n.parameters, p), "gamma") == NULL)
            for (int64_t i = 0; i < rgm_tensor_count(w); i++)
                rgm_tensor_f64(w)[i] *= 0.01;
    }
    rgm_parameters_touch(n.parameters);
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, 2, NULL));
    CHECK_OK(rgm_executor_run(executor, results, n.parameters, n.feeds, 5, 1, 1));
    for (int64_t i = width; i < rgm_tensor_count(results[1]); i++)
        spread =
            fmax(spread, fabs(rgm_tensor_at(results[1], i) - rgm_tensor_at(results[1], i % width)));
    rgm_executor_release(executor);
    net_close(&n);
    return spread;
}

/* States that are small beside the epsilon stay small, behind the last norm too. */
static void every_norm_of_the_decoder_has_its_epsilon(void **state)
{
    (void)state;
    CHECK(spread_of_logits(1e-6) > 20 * spread_of_logits(1));
}

static void options_that_contradict_are_refused(void **state)
{
    rgm_seq2seq m = small_model(1, 1, 9, 13);

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("9 and 13 tokens");
    m.options.embeddings = RGM_EMBEDDINGS_TARGET;
    CHECK_OK(rgm_seq2seq_check(&m));
    m.options.decoder.num_attention_heads = 3;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.decoder.num_attention_heads is 3");
    m = small_model(1, 1, 13, 13);
    m.options.embedding_width = 33;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    m = small_model(1, 1, 13, 13);
    m.options.dropout_rate = 1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.dropout_rate");
    m = small_model(1, 1, 13, 13);
    m.options.decoder.activation = RGM_ACT_TANH;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.decoder.activation is 5, which does not exist");
    m = small_model(1, 1, 13, 13);
    m.options.encoder.num_attention_heads = 4;
    m.options.encoder.num_key_value_heads = 3;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.encoder.num_key_value_heads is 3, which does not divide");
    m = small_model(1, 1, 13, 13);
    m.options.decoder.num_attention_heads = 32;
    m.options.positions = RGM_POSITIONS_ROTARY;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("the heads of model.decoder have the odd width 1");
    m = small_model(1, 1, 13, 13);
    m.options.positions = RGM_POSITIONS_RELATIVE;
    m.options.relative_buckets = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.encoder needs at least 4 buckets");
    m.options.relative_buckets = 64;
    m.options.relative_distance = 16;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("a distance above 16");
    m = small_model(1, 1, 13, 13);
    m.options.decoder.attention_output_dropout = -0.5;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_seq2seq_check(&m));
    CHECK_MESSAGE("model.decoder.attention_output_dropout is -0.5");
}

TESTS(cmocka_unit_test(guided_attention_is_taught_as_by_pytorch),
      cmocka_unit_test(base_and_big_have_as_many_parameters_as_they_should),
      cmocka_unit_test(values_and_gradients_are_pytorchs),
      cmocka_unit_test(blocks_of_today_are_pytorchs),
      cmocka_unit_test(embeddings_are_scaled_on_demand),
      cmocka_unit_test(every_norm_of_the_decoder_has_its_epsilon),
      cmocka_unit_test(options_that_contradict_are_refused))
