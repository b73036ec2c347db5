/*
 * The decoder without a source: values, loss and every gradient of packed rows against
 * tests/oracle/decoder_reference.txt, which PyTorch made; tokens written one by one, or in parts,
 * against the whole; batch mates and threads; mistakes; failing allocations.
 */
#include "reference_check.h"
#include "seq2seq_check.h"
#include <regimen/sequence_generate.h>

#define FIXTURE "tests/oracle/decoder_reference.txt"
enum { B = 3, T = 7, V = 11, MOST = 192 };
static const int64_t segments[B * T] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2,
                                        2, 2, 0, 3, 3, 5, 5, 5, 5, 9};

/* ---- models ---- */

static rgm_decoder small_decoder(void)
{
    rgm_decoder m = {.vocabulary = V};

    rgm_decoder_defaults(&m.options);
    m.options.embedding_width = 32;
    m.options.max_positions = 12;
    m.options.rotary_base = 100;
    m.options.relative_buckets = 6;
    m.options.relative_distance = 4;
    m.options.decoder = (rgm_stack_options){.num_layers = 2,
                                            .num_attention_heads = 2,
                                            .intermediate_size = 24,
                                            .activation = RGM_ACT_SILU,
                                            .attention_output_dropout = -1,
                                            .ffn_bias = true,
                                            .norm_first = true,
                                            .final_norm = true,
                                            .norm_epsilon = 1e-6};
    return m;
}

static const char *const names[] = {"llama", "gpt2", "sloped", "buckets", "plain", "qwen"};
enum { MODELS = sizeof names / sizeof *names };

static rgm_decoder model_of(int which)
{
    static const rgm_positions positions[] = {RGM_POSITIONS_ROTARY, RGM_POSITIONS_LEARNED,
                                              RGM_POSITIONS_ALIBI,  RGM_POSITIONS_RELATIVE,
                                              RGM_POSITIONS_NONE,   RGM_POSITIONS_ROTARY};
    static const rgm_activation activations[] = {RGM_ACT_SILU, RGM_ACT_GELU_TANH, RGM_ACT_GELU,
                                                 RGM_ACT_RELU, RGM_ACT_SILU,      RGM_ACT_SILU};
    rgm_decoder m = small_decoder();
    rgm_stack_options *o = &m.options.decoder;
    bool llama = which == 0 || which == 5;

    m.options.positions = positions[which];
    o->activation = activations[which];
    o->num_attention_heads = llama || which == 2 ? 4 : 2;
    o->num_key_value_heads = llama ? 2 : which == 2 ? 1 : 0;
    o->gated = which == 0 || which == 2;
    o->ffn_bias = !o->gated;
    o->norm = llama || which == 3 ? RGM_NORM_RMS : RGM_NORM_LAYER;
    o->norm_first = o->final_norm = which != 2;
    o->use_bias = which == 1;
    o->qkv_bias = which == 5;
    o->attention_window = which == 2 ? 3 : which == 3 ? 4 : 0;
    m.options.tied = which != 2;
    m.options.scale_embeddings = which == 2;
    m.options.output_bias = which == 2 || which == 3;
    return m;
}

/* ---- against PyTorch ---- */

typedef struct net {
    rgm_decoder model;
    bool again;     /* blocks are computed again */
    int64_t copies; /* of the batch; 0: one      */
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_feed feeds[4];
    rgm_value *fetches[2 + MOST]; /* loss, logits, gradients by parameter */
    int64_t count;
} net;

static int64_t id_at(int64_t b, int64_t i)
{
    return (7 * b + 3 * i + b * i) % V;
}

/* ids, labels, segments, positions, which begin anew with each segment. */
static int64_t number_at(int which, int64_t b, int64_t i)
{
    int64_t at = 0;

    if (which == 0 || which == 1)
        return id_at(b, i + which);
    if (which == 2)
        return segments[b * T + i];
    while (i > at && segments[b * T + i - at - 1] == segments[b * T + i])
        at++;
    return at;
}

static void net_open(net *n, rgm_dtype dtype)
{
    static const char *const inputs[] = {"ids", "labels", "segments", "positions"};
    rgm_value *wrt[MOST], *labels, *losses, *weights;
    rgm_cross_entropy_options classes = {.classes = V};
    int64_t rows = B * (n->copies > 0 ? n->copies : 1);

    CHECK_OK(rgm_decoder_check(&n->model));
    CHECK_OK(rgm_cgraph_create(&n->graph));
    CHECK_OK(rgm_scope_create(&n->scope, n->graph, dtype));
    for (int k = 0; k < 4; k++) {
        CHECK_OK(rgm_tensor_create(&n->feeds[k].tensor, RGM_I64, 2, (int64_t[]){rows, T}));
        for (int64_t i = 0; i < rows * T; i++)
            rgm_tensor_i64(n->feeds[k].tensor)[i] = number_at(k, i / T % B, i % T);
        n->feeds[k].input = rgm_input(n->graph, inputs[k], RGM_I64, 2, (rgm_dim[]){rows, T});
    }
    n->fetches[1] = rgm_decoder_logits(
        n->scope, &n->model,
        rgm_decoder_states(n->scope, &n->model,
                           &(rgm_decoder_inputs){.ids = n->feeds[0].input,
                                                 .positions = n->feeds[3].input,
                                                 .segments = n->feeds[2].input}));
    labels = rgm_reshape(n->feeds[1].input, 1, (rgm_dim[]){rows * T});
    losses = rgm_softmax_cross_entropy_with(n->fetches[1], labels, &classes);
    weights =
        rgm_seq2seq_weights(n->scope, rgm_reshape(n->feeds[2].input, 1, (rgm_dim[]){rows * T}));
    n->fetches[0] = rgm_div(rgm_sum(rgm_mul(losses, weights)), rgm_sum(weights));
    CHECK_OK(rgm_cgraph_status(n->graph));
    CHECK_OK(rgm_parameters_create(&n->parameters, n->graph, 1));
    set_weights(n->parameters);
    n->count = rgm_parameters_count(n->parameters);
    CHECK(n->count <= MOST);
    for (int64_t i = 0; i < n->count; i++)
        wrt[i] = rgm_cgraph_parameter(n->graph, i);
    rgm_cgraph_recompute(n->graph, n->again);
    CHECK_OK(rgm_cgraph_gradients(n->fetches + 2, n->fetches[0], wrt, n->count));
}

static void net_close(net *n)
{
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(n->feeds[i].tensor);
    rgm_parameters_release(n->parameters);
    rgm_scope_release(n->scope);
    rgm_cgraph_release(n->graph);
}

static void check_logits(const rgm_tensor *logits, const double *want, double tolerance)
{
    int64_t picked[B * T * V], count = 0, columns = rgm_tensor_dim(logits, 1);
    double got[7], largest;

    for (int64_t r = 0; r < B * T; r++)
        for (int64_t c = 0; c < V && segments[r] != 0; c++)
            picked[count++] = r * columns + c;
    figures(got, &largest, logits, picked, count);
    compare("logits", want, got, largest, count, tolerance);
}

static int64_t parameter_of(const net *n, const char *line)
{
    for (int64_t i = 0; i < n->count; i++)
        if (strcmp(rgm_parameters_name(n->parameters, i), line + strlen("gradient/")) == 0)
            return i;
    fail_msg("no parameter for %s", line);
    return -1;
}

static void compare_with_pytorch(int which, rgm_dtype dtype, double tolerance)
{
    net n = {.model = model_of(which)};
    reference_lines lines;
    rgm_executor *executor;
    rgm_tensor *results[2 + MOST];
    int64_t gradients = 0;

    net_open(&n, dtype);
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, 2 + n.count, NULL));
    CHECK_OK(rgm_executor_run(executor, results, n.parameters, n.feeds, 4, 1, 1));
    lines_open(&lines, FIXTURE, names[which]);
    while (lines_next(&lines)) {
        if (strcmp(lines.name, "loss") == 0)
            CHECK_CLOSE(rgm_tensor_at(results[0], 0), lines.want[0], tolerance, tolerance);
        else if (strcmp(lines.name, "logits") == 0)
            check_logits(results[1], lines.want, tolerance);
        else
            compare_all(lines.name, lines.want, results[2 + parameter_of(&n, lines.name)],
                        tolerance);
        gradients += strncmp(lines.name, "gradient/", 9) == 0;
    }
    CHECK_INT(n.count, gradients);
    rgm_executor_release(executor);
    net_close(&n);
}

static void values_and_gradients_are_pytorchs(void **state)
{
    (void)state;
    for (int which = 0; which < MODELS; which++) {
        compare_with_pytorch(which, RGM_F64, 1e-8);
        compare_with_pytorch(which, RGM_F32, 3e-5);
    }
}

/* ---- time for memory ---- */

typedef struct trained {
    float *numbers;       /* loss, logits and gradients */
    int64_t count, arena; /* bytes beside the numbers */
} trained;

/* With dropout everywhere. */
static void train_once(trained *out, int which, bool again)
{
    net n = {.model = model_of(which), .again = again, .copies = 12};
    rgm_stack_options *o = &n.model.options.decoder;
    rgm_executor_options options = {.training = true};
    rgm_executor *executor;
    rgm_tensor *results[2 + MOST];
    rgm_text text = {0};

    o->num_layers = 8;
    n.model.options.dropout_rate = o->dropout_rate = o->attention_dropout_rate =
        o->intermediate_dropout = 0.1;
    net_open(&n, RGM_F32);
    CHECK_INT(8, rgm_cgraph_blocks(n.graph));
    CHECK_OK(rgm_executor_create(&executor, n.graph, n.fetches, 2 + n.count, &options));
    CHECK_OK(rgm_executor_run(executor, results, n.parameters, n.feeds, 4, 1, 1));
    for (int64_t i = 0; i < 2 + n.count; i++)
        out->count += rgm_tensor_count(results[i]);
    out->numbers = malloc((size_t)out->count * sizeof *out->numbers);
    for (int64_t i = 0, at = 0; i < 2 + n.count; i++) {
        memcpy(out->numbers + at, rgm_tensor_f32(results[i]),
               (size_t)rgm_tensor_count(results[i]) * sizeof *out->numbers);
        at += rgm_tensor_count(results[i]);
    }
    out->arena = rgm_executor_arena_bytes(executor) - out->count * (int64_t)sizeof(float);
    CHECK_OK(rgm_executor_print(&text, executor));
    CHECK((strstr(text.data, "ops compute blocks again") != NULL) == again);
    rgm_text_clear(&text);
    rgm_executor_release(executor);
    net_close(&n);
}

static void blocks_computed_again_give_the_same_bits(void **state)
{
    (void)state;
    for (int which = 0; which < MODELS; which++) {
        trained kept = {0}, again = {0};

        train_once(&kept, which, false);
        train_once(&again, which, true);
        CHECK_INT(kept.count, again.count);
        CHECK(memcmp(kept.numbers, again.numbers, (size_t)kept.count * sizeof(float)) == 0);
        if (!(again.arena < kept.arena / 2))
            fail_msg("%s: the arena has %lld bytes, and %lld computed again", names[which],
                     (long long)kept.arena, (long long)again.arena);
        free(kept.numbers);
        free(again.numbers);
    }
}

/* ---- writing ---- */

enum { ROWS = 4, LONGEST = 12, PADDED = 16 };

/* The whole pass of one sequence of ids at a time. */
typedef struct whole {
    rgm_decoder model;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_value *ids, *positions, *logits;
    rgm_executor *executor;
} whole;

/* What is large is rounded by more than 1e-5 on its way. */
static void halve(rgm_parameters *parameters)
{
    for (int64_t p = 0; p < rgm_parameters_count(parameters); p++) {
        rgm_tensor *w = rgm_parameters_tensor(parameters, p);
        for (int64_t i = 0; i < rgm_tensor_count(w); i++)
            rgm_tensor_f32(w)[i] /= 2;
    }
    rgm_parameters_touch(parameters);
}

static void whole_open(whole *w, int which)
{
    rgm_dim t;

    *w = (whole){.model = model_of(which)};
    CHECK_OK(rgm_cgraph_create(&w->graph));
    CHECK_OK(rgm_scope_create(&w->scope, w->graph, RGM_F32));
    t = rgm_cgraph_symbol(w->graph, "t");
    w->ids = rgm_input(w->graph, "ids", RGM_I64, 2, (rgm_dim[]){1, t});
    w->positions = rgm_input(w->graph, "positions", RGM_I64, 1, &t);
    w->logits = rgm_decoder_logits(
        w->scope, &w->model,
        rgm_decoder_states(w->scope, &w->model,
                           &(rgm_decoder_inputs){.ids = w->ids, .positions = w->positions}));
    CHECK_OK(rgm_cgraph_status(w->graph));
    CHECK_OK(rgm_parameters_create(&w->parameters, w->graph, 1));
    set_weights(w->parameters);
    halve(w->parameters);
    CHECK_OK(rgm_executor_create(&w->executor, w->graph, &w->logits, 1, NULL));
}

static void whole_close(whole *w)
{
    rgm_executor_release(w->executor);
    rgm_parameters_release(w->parameters);
    rgm_scope_release(w->scope);
    rgm_cgraph_release(w->graph);
}

/* Logits [count, PADDED] of the whole pass. */
static void whole_run(float *logits, const whole *w, const int32_t *ids, int64_t count)
{
    rgm_tensor *tensor, *at = make_positions(count), *result;

    CHECK_OK(rgm_tensor_create(&tensor, RGM_I64, 2, (int64_t[]){1, count}));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(tensor)[i] = ids[i];
    rgm_feed feeds[] = {{.input = w->ids, .tensor = tensor}, {.input = w->positions, .tensor = at}};
    CHECK_OK(rgm_executor_run(w->executor, &result, w->parameters, feeds, 2, 0, 0));
    memcpy(logits, rgm_tensor_f32(result), (size_t)(count * PADDED) * sizeof *logits);
    rgm_tensor_release(tensor);
    rgm_tensor_release(at);
}

/* To 1e-5 of the largest. */
static void check_logits_close(const float *want, const float *got)
{
    double largest = 0;

    for (int64_t c = 0; c < V; c++)
        largest = fmax(largest, fabs((double)want[c]));
    for (int64_t c = 0; c < V; c++)
        CHECK_CLOSE(want[c], got[c], 0, 1e-5 * largest);
}

static void check_row(const whole *w, const int32_t *ids, int64_t count, const float *logits)
{
    float want[LONGEST * PADDED];

    whole_run(want, w, ids, count);
    check_logits_close(want + (count - 1) * PADDED, logits);
}

/* Prompts of several lengths at once, one later, rows that go on from others and that leave. */
static void write_with(const whole *w, rgm_token_writer *writer)
{
    static const int64_t first[] = {3, 1, 5}, kept[ROWS] = {2, 0, 0, 3};
    int32_t text[ROWS][LONGEST], old[ROWS][LONGEST], ids[ROWS];
    const int32_t *prompts[ROWS] = {text[0], text[1], text[2]};
    const float *logits;

    for (int64_t r = 0; r < ROWS; r++)
        for (int64_t i = 0; i < LONGEST; i++)
            text[r][i] = (int32_t)id_at(r, i);
    CHECK_OK(rgm_token_writer_add(&logits, writer, prompts, first, 3));
    for (int64_t r = 0; r < 3; r++)
        check_row(w, text[r], first[r], logits + r * PADDED);
    for (int64_t r = 0; r < 3; r++)
        ids[r] = text[r][first[r]];
    CHECK_OK(rgm_token_writer_step(&logits, writer, ids));
    for (int64_t r = 0; r < 3; r++)
        check_row(w, text[r], first[r] + 1, logits + r * PADDED);
    CHECK_OK(
        rgm_token_writer_add(&logits, writer, (const int32_t *[]){text[3]}, (int64_t[]){2}, 1));
    check_row(w, text[3], 2, logits);
    CHECK_INT(4, rgm_token_writer_rows(writer));
    CHECK_OK(rgm_token_writer_keep(writer, kept, ROWS)); /* twice what was row 0; row 1 is gone */
    memcpy(old, text, sizeof old);
    for (int64_t r = 0; r < ROWS; r++) {
        int64_t length = rgm_token_writer_length(writer, r);
        memcpy(text[r], old[kept[r]], (size_t)length * sizeof **text);
        for (int64_t i = length; i < LONGEST; i++)
            text[r][i] = (int32_t)id_at(r + 9, i);
    }
    while (rgm_token_writer_length(writer, 0) < LONGEST) {
        for (int64_t r = 0; r < ROWS; r++)
            ids[r] = text[r][rgm_token_writer_length(writer, r)];
        CHECK_OK(rgm_token_writer_step(&logits, writer, ids));
        for (int64_t r = 0; r < ROWS; r++)
            check_row(w, text[r], rgm_token_writer_length(writer, r), logits + r * PADDED);
    }
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_writer_step(&logits, writer, ids));
    CHECK_MESSAGE("row 0 has 13 tokens, but model.max_positions is 12");
    CHECK_OK(rgm_token_writer_keep(writer, NULL, 0));
    CHECK_INT(0, rgm_token_writer_rows(writer));
}

static void tokens_one_by_one_are_the_whole(void **state)
{
    (void)state;
    for (int which = 0; which < MODELS; which++) {
        rgm_token_writer *writer;
        whole w;

        whole_open(&w, which);
        CHECK_OK(rgm_token_writer_create(&writer, &w.model, w.parameters, NULL, false));
        write_with(&w, writer);
        write_with(&w, writer); /* and again, where memory is there already */
        rgm_token_writer_release(writer);
        whole_close(&w);
    }
}

/* More tokens than there is memory for at first: it grows, and leaves behind what nobody reads. */
static void memory_grows_and_is_used_again(void **state)
{
    rgm_token_writer *writer;
    const float *logits;
    int32_t text[LONGEST], ids[ROWS];
    whole w;

    (void)state;
    for (int64_t i = 0; i < LONGEST; i++)
        text[i] = (int32_t)id_at(1, i);
    whole_open(&w, 0);
    CHECK_OK(rgm_token_writer_create(&writer, &w.model, w.parameters, NULL, false));
    for (int turn = 0; turn < 40; turn++) {
        const int32_t *prompts[] = {text, text};
        int64_t lengths[] = {9, 8}, rows = rgm_token_writer_rows(writer);
        CHECK_OK(rgm_token_writer_add(&logits, writer, prompts, lengths, 2));
        check_row(&w, text, 8, logits + PADDED);
        if (rows > 0) /* the two of the turn before leave */
            CHECK_OK(rgm_token_writer_keep(writer, (int64_t[]){2, 3}, 2));
        ids[0] = text[9];
        ids[1] = text[8];
        CHECK_OK(rgm_token_writer_step(&logits, writer, ids));
        check_row(&w, text, 10, logits);
        check_row(&w, text, 9, logits + PADDED);
    }
    rgm_token_writer_release(writer);
    whole_close(&w);
}

static void batch_mates_and_threads_change_no_bit(void **state)
{
    float alone[2][PADDED];
    whole w;

    (void)state;
    for (int which = 0; which < MODELS; which++)
        for (int threads = 1; threads <= 3; threads++) {
            rgm_token_writer *writer;
            const float *logits;
            int32_t text[2] = {4, 7}, other[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, next[3] = {5, 5, 5};
            bool many = threads > 1;

            rgm_threads_set(threads);
            whole_open(&w, which);
            CHECK_OK(rgm_token_writer_create(&writer, &w.model, w.parameters, NULL, false));
            CHECK_OK(rgm_token_writer_add(&logits, writer, (const int32_t *[]){text, other, other},
                                          (int64_t[]){2, 9, 4}, many ? 3 : 1));
            if (!many)
                memcpy(alone[0], logits, sizeof alone[0]);
            CHECK(memcmp(alone[0], logits, V * sizeof(float)) == 0);
            CHECK_OK(rgm_token_writer_step(&logits, writer, next));
            if (!many)
                memcpy(alone[1], logits, sizeof alone[1]);
            CHECK(memcmp(alone[1], logits, V * sizeof(float)) == 0);
            rgm_token_writer_release(writer);
            whole_close(&w);
        }
    rgm_threads_set(0);
}

/* ---- texts that come and go ---- */

enum { TEXTS = 6 };

/* Of all tokens of a text and its end, by the whole pass. */
static double whole_log_probability(const whole *w, const int32_t *prompt, int64_t length,
                                    const rgm_generated *made, int32_t end_id)
{
    int64_t drawn = made->count + (made->end == RGM_GENERATED_END);
    float logits[LONGEST * PADDED];
    int32_t ids[LONGEST + 1];
    double sum = 0;

    memcpy(ids, prompt, (size_t)length * sizeof *ids);
    memcpy(ids + length, made->ids, (size_t)made->count * sizeof *ids);
    ids[length + made->count] = end_id;
    whole_run(logits, w, ids, length + drawn - 1);
    for (int64_t i = 0; i < drawn; i++) {
        const float *row = logits + (length + i - 1) * PADDED;
        double all = 0;

        for (int64_t v = 0; v < V; v++)
            all += exp((double)row[v]);
        sum += (double)row[ids[length + i]] - log(all);
    }
    return sum;
}

static rgm_status stop_at_four(bool *stop, const int32_t *ids, int64_t count, int64_t number,
                               void *payload)
{
    (void)number, (void)payload;
    *stop = ids[count - 1] == 4;
    return RGM_OK;
}

/* Each joins `apart` steps behind the one before, with two places for all. */
static void write_apart(rgm_generated *out, rgm_generation *g, const int32_t *const *prompts,
                        const int64_t *lengths, const rgm_generate_options *o, int apart)
{
    int64_t begun = 0;
    rgm_generated made;
    void *mine;

    for (int turn = 0; begun < TEXTS || rgm_generation_count(g) > 0; turn++) {
        while (begun < TEXTS && turn >= begun * apart) {
            CHECK_OK(rgm_generation_join(g, prompts[begun], lengths[begun], o, begun, &out[begun]));
            begun++;
        }
        CHECK_OK(rgm_generation_step(g));
        while (rgm_generation_take(&made, &mine, g))
            *(rgm_generated *)mine = made;
    }
}

/* A text has the same tokens whenever it joins, and its log-probability is the whole pass'. */
static void texts_join_and_leave_and_stay_what_they_are(void **state)
{
    static const int64_t lengths[TEXTS] = {3, 1, 5, 2, 11, 12};
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    rgm_generated together[TEXTS], apart[TEXTS];
    int32_t texts[TEXTS][LONGEST];
    const int32_t *prompts[TEXTS];
    rgm_token_writer *writer;
    rgm_generation *g;
    bool ends[3] = {false};
    whole w;

    (void)state;
    for (int64_t r = 0; r < TEXTS; r++)
        for (int64_t i = 0; i < LONGEST; i++)
            texts[r][i] = (int32_t)id_at(r, i);
    for (int64_t r = 0; r < TEXTS; r++)
        prompts[r] = texts[r];
    o.scored = true;
    o.end_id = 2;
    o.temperature = 1.5;
    o.stop = stop_at_four;
    whole_open(&w, 0);
    CHECK_OK(rgm_token_writer_create(&writer, &w.model, w.parameters, NULL, false));
    for (o.seed = 0; o.seed < 4; o.seed++) {
        CHECK_OK(rgm_generate(together, writer, &w.model, prompts, lengths, TEXTS, &o));
        CHECK_OK(rgm_generation_create(&g, writer, &w.model, 2));
        write_apart(apart, g, prompts, lengths, &o, (int)o.seed);
        rgm_generation_release(g);
        for (int64_t r = 0; r < TEXTS; r++) {
            CHECK_INT(together[r].count, apart[r].count);
            CHECK_INT(together[r].end, apart[r].end);
            CHECK(memcmp(together[r].ids, apart[r].ids, (size_t)apart[r].count * sizeof(int32_t)) ==
                  0);
            CHECK_CLOSE(whole_log_probability(&w, texts[r], lengths[r], &apart[r], o.end_id),
                        apart[r].log_probability, 1e-5, 1e-4);
            ends[apart[r].end] = true;
        }
        CHECK_INT(0, apart[TEXTS - 1].count); /* a prompt that leaves no room */
        CHECK_INT(RGM_GENERATED_LENGTH, apart[TEXTS - 1].end);
        rgm_generated_clear(together, TEXTS);
        rgm_generated_clear(apart, TEXTS);
    }
    CHECK(ends[0] && ends[1] && ends[2]);
    CHECK_INT(0, rgm_token_writer_rows(writer));
    rgm_token_writer_release(writer);
    whole_close(&w);
}

static rgm_status fail_to_stop(bool *stop, const int32_t *ids, int64_t count, int64_t number,
                               void *payload)
{
    (void)stop, (void)ids, (void)count, (void)payload;
    return number == 1 ? RGM_FAIL(RGM_ERR_IO, "no stop") : RGM_OK;
}

static void a_bad_prompt_joins_nobody_and_a_failure_ends_all(void **state)
{
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    int32_t text[13] = {1, V, 2};
    rgm_token_writer *writer;
    rgm_generation *g;
    whole w;

    (void)state;
    whole_open(&w, 0);
    CHECK_OK(rgm_token_writer_create(&writer, &w.model, w.parameters, NULL, false));
    CHECK_STATUS(RGM_ERR_ARG, rgm_generation_create(&g, writer, &w.model, 0));
    CHECK_OK(rgm_generation_create(&g, writer, &w.model, 2));
    CHECK_STATUS(RGM_ERR_DATA, rgm_generation_join(g, text, 0, &o, 0, NULL));
    CHECK_MESSAGE("it is empty");
    CHECK_STATUS(RGM_ERR_DATA, rgm_generation_join(g, text, 13, &o, 0, NULL));
    CHECK_MESSAGE("13 tokens, but model.max_positions is 12");
    CHECK_STATUS(RGM_ERR_DATA, rgm_generation_join(g, text, 3, &o, 0, NULL));
    CHECK_MESSAGE("it has the id 11, but ids are 0..10");
    o.top_p = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_generation_join(g, text, 1, &o, 0, NULL));
    o.top_p = 1;
    CHECK_INT(0, rgm_generation_count(g));
    o.stop = fail_to_stop;
    CHECK_OK(rgm_generation_join(g, text, 1, &o, 0, NULL));
    CHECK_OK(rgm_generation_step(g));
    CHECK_OK(rgm_generation_join(g, text, 1, &o, 1, NULL));
    CHECK_STATUS(RGM_ERR_IO, rgm_generation_step(g));
    CHECK_INT(0, rgm_generation_count(g));
    CHECK_INT(0, rgm_token_writer_rows(writer));
    rgm_generation_release(g);
    rgm_token_writer_release(writer);
    whole_close(&w);
}

static rgm_status generate_two(const whole *w)
{
    rgm_status status = RGM_OK;
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    static const int32_t text[] = {1, 4, 2};
    const int32_t *prompts[] = {text, text};
    rgm_token_writer *writer = NULL;
    rgm_generated out[2];

    RGM_GO(rgm_token_writer_create(&writer, &w->model, w->parameters, NULL, false));
    RGM_GO(rgm_generate(out, writer, &w->model, prompts, (int64_t[]){3, 2}, 2, &o));
    rgm_generated_clear(out, 2);
done:
    rgm_token_writer_release(writer);
    return status;
}

/* ---- the graph that exports have ---- */

/* The first `from` tokens, then the others: what both give is the whole. */
static void check_step_graph(const whole *w, int64_t from)
{
    rgm_value *fetches[1 + 2 * RGM_STACK_LAYERS];
    rgm_tensor *results[1 + 2 * RGM_STACK_LAYERS], *kept[2 * RGM_STACK_LAYERS];
    rgm_feed feeds[2 + 2 * RGM_STACK_LAYERS] = {0};
    int64_t layers = 2 * w->model.options.decoder.num_layers, width;
    float want[LONGEST * PADDED];
    int32_t text[LONGEST];
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_decoder_step step;
    rgm_executor *executor;

    for (int64_t i = 0; i < LONGEST; i++)
        text[i] = (int32_t)id_at(2, i);
    whole_run(want, w, text, LONGEST);
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK_OK(rgm_scope_create(&scope, graph, RGM_F32));
    CHECK_OK(rgm_decoder_step_graph(&step, scope, &w->model));
    fetches[0] = step.logits;
    width = rgm_value_dim(step.past[0], 2);
    for (int64_t i = 0; i < layers; i++) {
        fetches[1 + i] = step.present[i];
        CHECK_OK(rgm_tensor_create(&kept[i], RGM_F32, 3, (int64_t[]){1, 0, width}));
    }
    CHECK_OK(rgm_executor_create(&executor, graph, fetches, 1 + layers, NULL));
    for (int part = 0; part < 2; part++) {
        int64_t begin = part ? from : 0, count = part ? LONGEST - from : from;
        CHECK_OK(rgm_tensor_create(&feeds[0].tensor, RGM_I64, 2, (int64_t[]){1, count}));
        CHECK_OK(rgm_tensor_create(&feeds[1].tensor, RGM_I64, 1, &count));
        feeds[0].input = step.ids;
        feeds[1].input = step.positions;
        for (int64_t i = 0; i < count; i++) {
            rgm_tensor_i64(feeds[0].tensor)[i] = text[begin + i];
            rgm_tensor_i64(feeds[1].tensor)[i] = begin + i;
        }
        for (int64_t i = 0; i < layers; i++)
            feeds[2 + i] = (rgm_feed){.input = step.past[i], .tensor = kept[i]};
        CHECK_OK(rgm_executor_run(executor, results, w->parameters, feeds, 2 + layers, 0, 0));
        for (int64_t i = 0; i < count; i++)
            check_logits_close(want + (begin + i) * PADDED, rgm_tensor_f32(results[0]) + i * V);
        for (int64_t i = 0; i < layers; i++) {
            rgm_tensor_release(kept[i]);
            CHECK_OK(rgm_tensor_copy(&kept[i], results[1 + i]));
        }
        rgm_tensor_release(feeds[0].tensor);
        rgm_tensor_release(feeds[1].tensor);
    }
    for (int64_t i = 0; i < layers; i++)
        rgm_tensor_release(kept[i]);
    rgm_executor_release(executor);
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
}

static void parts_one_behind_the_other_are_the_whole(void **state)
{
    (void)state;
    for (int which = 0; which < MODELS; which++) {
        whole w;

        whole_open(&w, which);
        check_step_graph(&w, 1);
        check_step_graph(&w, 7);
        check_step_graph(&w, LONGEST - 1);
        whole_close(&w);
    }
}

/* ---- mistakes ---- */

static void mistakes_are_told(void **state)
{
    rgm_decoder m = small_decoder();
    rgm_token_writer *writer;
    const float *logits;
    int32_t text[] = {1, V, 2};
    const int32_t *prompts[] = {text};
    whole w;

    (void)state;
    m.vocabulary = 1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_decoder_check(&m));
    CHECK_MESSAGE("a vocabulary of 1");
    m = small_decoder();
    m.options.decoder.num_key_value_heads = 4;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_decoder_check(&m));
    CHECK_MESSAGE("model.decoder.num_key_value_heads is 4");
    whole_open(&w, 0);
    CHECK_OK(rgm_token_writer_create(&writer, &w.model, w.parameters, NULL, false));
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_writer_step(&logits, writer, text));
    CHECK_MESSAGE("there are no rows");
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_writer_add(&logits, writer, prompts, (int64_t[]){0}, 1));
    CHECK_MESSAGE("prompt 0 is empty");
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_writer_add(&logits, writer, prompts, (int64_t[]){3}, 1));
    CHECK_MESSAGE("prompt 0 has the id 11, but ids are 0..10");
    CHECK_OK(rgm_token_writer_add(&logits, writer, prompts, (int64_t[]){1}, 1));
    CHECK_STATUS(RGM_ERR_DATA, rgm_token_writer_step(&logits, writer, text + 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_token_writer_keep(writer, (int64_t[]){1}, 1));
    CHECK_MESSAGE("row 1 of 1 rows");
    CHECK_INT(1, rgm_token_writer_rows(writer));
    CHECK_INT(1, rgm_token_writer_length(writer, 0));
    rgm_token_writer_release(writer);
    whole_close(&w);
}

static rgm_status write_two(const whole *w)
{
    rgm_status status = RGM_OK;
    rgm_token_writer *writer = NULL;
    const float *logits;
    int32_t text[] = {1, 4, 2};
    const int32_t *prompts[] = {text, text};

    RGM_GO(rgm_token_writer_create(&writer, &w->model, w->parameters, NULL, false));
    RGM_GO(rgm_token_writer_add(&logits, writer, prompts, (int64_t[]){3, 2}, 2));
    RGM_GO(rgm_token_writer_step(&logits, writer, text));
    RGM_GO(rgm_token_writer_keep(writer, (int64_t[]){1, 0, 1}, 3));
    RGM_GO(rgm_token_writer_step(&logits, writer, text));
done:
    rgm_token_writer_release(writer);
    return status;
}

static void failing_allocations_leave_nothing(void **state)
{
    whole w;

    (void)state;
    whole_open(&w, 2);
    CHECK_EVERY_OOM(write_two(&w), (void)0);
    CHECK_EVERY_OOM(generate_two(&w), (void)0);
    whole_close(&w);
}

TESTS(cmocka_unit_test(values_and_gradients_are_pytorchs),
      cmocka_unit_test(blocks_computed_again_give_the_same_bits),
      cmocka_unit_test(tokens_one_by_one_are_the_whole),
      cmocka_unit_test(memory_grows_and_is_used_again),
      cmocka_unit_test(batch_mates_and_threads_change_no_bit),
      cmocka_unit_test(texts_join_and_leave_and_stay_what_they_are),
      cmocka_unit_test(a_bad_prompt_joins_nobody_and_a_failure_ends_all),
      cmocka_unit_test(parts_one_behind_the_other_are_the_whole),
      cmocka_unit_test(mistakes_are_told), cmocka_unit_test(failing_allocations_leave_nothing))
