/*
 * Models behind requests: the answers are those of a predictor, of lines, rows and graphs; batches,
 * queues, deadlines; newer and damaged versions while others ask; what is wrong is refused. Of
 * prompts: predictions and streams, many at once, that go away, are cut, and outlive their version.
 */
#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "answer_internal.h"

#include <regimen/graph_import.h>

/* ---- trained models -------------------------------------------------------------------------- */

static char root[256], lines_export[512], lines_again[512], rows_export[512], graph_export[512],
    dense_export[512], lm_export[512], lm_again[512];

static const char lines_text[] =
    "data: {reverse: {vocabulary: 10, min_length: 1, max_length: 6, train: 60},\n"
    "       batch_tokens: 128, batch_shapes: 4}\n"
    "task: {type: translation, search: {beam_size: 1}}\n"
    "model: {type: seq2seq_transformer, embedding_width: 8, max_positions: 64,\n"
    "        encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16},\n"
    "        decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16}}\n"
    "optimizer: {type: adam, learning_rate: 0.01}\n"
    "trainer: {epochs: ~, train_steps: 3}\nexport: [{type: predictor}]\n";
static const char rows_text[] =
    "data: {path: \"%s\", train: rows.csv, label: first, scale: 16, shape: [2, 2], batch_size: "
    "20}\n"
    "task: {type: classification, class_names: [red, green, blue]}\n"
    "model: {type: mlp, hidden: [6]}\n"
    "optimizer: {type: adam, learning_rate: 0.01}\ntrainer: {epochs: 1}\n"
    "export: [{type: predictor}]\n";
static const char graph_text[] =
    "data: {type: citation, node_set: paper, edge_set: cites,\n"
    "       citation: {nodes: 60, edges: 120, words: 20, words_per_node: 3, classes: 3,\n"
    "                  train_per_class: 5, valid: 10, test: 10}}\n"
    "task: {type: node_classification, num_classes: 3}\n"
    "model: {type: graph_sage, hidden: [8]}\n"
    "optimizer: {type: adam, learning_rate: 0.01}\ntrainer: {epochs: 1}\n"
    "export: [{type: predictor}]\n";

/* Its texts go on until they are told to stop: its only document has the end once. */
static const char lm_text[] =
    "data: {path: \"%s\", train: [words.txt], documents: files, packing: stream,\n"
    "       train_tokenizer: {type: bpe, vocab_size: 30}, block_length: 16, batch_tokens: 64}\n"
    "task: {type: language_model, generate: {temperature: 0, max_tokens: 12}}\n"
    "model: {type: decoder_transformer, embedding_width: 16, max_positions: 1000000,\n"
    "        positions: alibi,\n"
    "        decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16}}\n"
    "optimizer: {type: adam, learning_rate: 0.01}\n"
    "trainer: {epochs: ~, train_steps: 6}\nexport: [{type: predictor}]\n";

static void train(char out[512], const char *name, const char *text, const char *seed)
{
    rgm_experiment *experiment;
    rgm_run_options options;
    rgm_open_run *run;
    char *file, *run_dir;

    CHECK_OK(rgm_strprintf(&file, "%s/%s.yaml", root, name));
    CHECK_OK(rgm_strprintf(&run_dir, "%s/%s", root, name));
    CHECK_OK(rgm_file_save(file, text, (int64_t)strlen(text)));
    CHECK_OK(rgm_experiment_load(&experiment, file, &seed, 1));
    CHECK_OK(rgm_experiment_prepare(&options, experiment, run_dir));
    CHECK_OK(rgm_experiment_open(&run, experiment, &options));
    CHECK_OK(rgm_run_complete(run));
    rgm_run_close(run);
    rgm_experiment_release(experiment);
    snprintf(out, 512, "%s/export", run_dir);
    rgm_free(file);
    rgm_free(run_dir);
}

static void train_lm(void)
{
    rgm_text words = {0}, yaml = {0};
    char *file;

    CHECK_OK(rgm_strprintf(&file, "%s/words.txt", root));
    for (int i = 0; i < 200; i++)
        CHECK_OK(rgm_text_printf(&words, "%s ", i % 3 == 0 ? "one" : i % 3 == 1 ? "two" : "three"));
    CHECK_OK(rgm_file_save(file, words.data, words.size));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    CHECK_OK(rgm_text_printf(&yaml, lm_text, root));
#pragma GCC diagnostic pop
    train(lm_export, "lm", yaml.data, "runtime.seed=1");
    train(lm_again, "lm_again", yaml.data, "runtime.seed=2");
    rgm_free(file);
    rgm_text_clear(&words);
    rgm_text_clear(&yaml);
}

static int train_all(void **state)
{
    rgm_text rows = {0}, yaml = {0};
    char *file;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    CHECK_OK(rgm_strprintf(&file, "%s/rows.csv", root));
    for (int r = 0; r < 40; r++)
        CHECK_OK(rgm_text_printf(&rows, "%d,%d,%d,%d,%d\n", r % 3, r % 16, r * 3 % 16, r * 5 % 16,
                                 r * 7 % 16));
    CHECK_OK(rgm_file_save(file, rows.data, rows.size));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    CHECK_OK(rgm_text_printf(&yaml, rows_text, root));
#pragma GCC diagnostic pop
    train(lines_export, "lines", lines_text, "runtime.seed=1");
    train(lines_again, "again", lines_text, "runtime.seed=2");
    train(rows_export, "rows", yaml.data, "runtime.seed=1");
    train(graph_export, "graph", graph_text, "runtime.seed=1");
    train(dense_export, "dense", graph_text, "data.citation.dense=2");
    train_lm();
    rgm_free(file);
    rgm_text_clear(&rows);
    rgm_text_clear(&yaml);
    return 0;
}

static int remove_all(void **state)
{
    (void)state;
    CHECK_OK(rgm_folder_remove(root));
    return 0;
}

/* ---- who asks -------------------------------------------------------------------------------- */

#define TOKEN "0123456789abcdef"
static const rgm_header with_token[] = {{"Authorization", "Bearer " TOKEN}, {"X-Timeout-Ms", "1"}};

static rgm_answer_server *open_server(const rgm_answer_model *models, int64_t count,
                                      rgm_answer_options options)
{
    rgm_answer_server *server;

    options.models = models;
    options.model_count = count;
    options.listen = "127.0.0.1:0";
    options.token = TOKEN;
    if (rgm_answer_open(&server, &options) != RGM_OK)
        fail_msg("%s", rgm_error_text());
    return server;
}

static rgm_response ask(rgm_answer_server *server, const char *method, const char *path,
                        const char *body, int64_t headers)
{
    rgm_response out;

    rgm_answer_handle(&out, server,
                      &(rgm_request){.method = method,
                                     .path = path,
                                     .body = body,
                                     .size = body != NULL ? (int64_t)strlen(body) : 0,
                                     .headers = with_token,
                                     .header_count = headers});
    return out;
}

static void check_answer(rgm_answer_server *server, const char *path, const char *body,
                         const char *want)
{
    rgm_response out = ask(server, body != NULL ? "POST" : "GET", path, body, 1);

    CHECK_INT(200, out.status);
    if (strstr(out.body.data, want) == NULL)
        fail_msg("%s has no %s", out.body.data, want);
    rgm_response_clear(&out);
}

static void check_refused(rgm_answer_server *server, const char *path, const char *body, int code,
                          const char *part)
{
    rgm_response out = ask(server, "POST", path, body, 1);

    if (out.status != code || strstr(out.body.data, part) == NULL)
        fail_msg("%s: %d %s, not %d %s", body, out.status, out.body.data, code, part);
    rgm_response_clear(&out);
}

/* What the model of an export says of a line of text. */
static char *translated(const char *folder, const char *line)
{
    const rgm_str text = {line, (int64_t)strlen(line)};
    rgm_predictor *p;
    rgm_answers got;
    char *out;

    CHECK_OK(rgm_predictor_open(&p, folder, NULL, 0));
    CHECK_OK(rgm_predictor_ask(&got, p, &(rgm_questions){.count = 1, .texts = &text}));
    CHECK_OK(rgm_strprintf(&out, "\"text\": \"%s\"", got.texts[0]));
    rgm_answers_clear(&got);
    rgm_predictor_release(p);
    return out;
}

/* ---- answers --------------------------------------------------------------------------------- */

static void lines_rows_and_graphs_are_answered(void **state)
{
    (void)state;
    const rgm_answer_model models[] = {
        {NULL, lines_export}, {"digits", rows_export}, {"papers", graph_export}};
    const double row[] = {1, 2, 3, 4};
    rgm_answer_server *server = open_server(models, 3, (rgm_answer_options){.max_batch = 2});
    char *want = translated(lines_export, "3 4 5"), *probabilities;
    int64_t shape[2] = {1, 4};
    rgm_predictor *p;
    rgm_tensor *rows;
    rgm_answers got;

    check_answer(server, "/v1/models/lines:predict", "{\"instances\": [\"3 4 5\"]}", want);
    check_answer(
        server, "/v1/models/lines:predict",
        "{\"signature_name\": \"serving_default\", \"instances\": [\"2\", \"\", \"3 4 5\"]}",
        want); /* more than a batch */
    CHECK_OK(rgm_predictor_open(&p, rows_export, NULL, 0));
    CHECK_OK(rgm_tensor_create_from(&rows, RGM_F64, 2, shape, row));
    CHECK_OK(rgm_predictor_ask(&got, p, &(rgm_questions){.count = 1, .rows = rows}));
    CHECK_OK(
        rgm_strprintf(&probabilities, "{\"predictions\": [{\"%s\": [", "classification_logits"));
    check_answer(server, "/v1/models/digits:predict", "{\"instances\": [[1, 2, 3, 4]]}",
                 probabilities);
    check_answer(server, "/v1/models/digits:predict",
                 "{\"instances\": [[[1, 2], [3, 4]], [[4, 3], [2, 1]], [[1, 2], [3, 4]]]}",
                 "\"probabilities\": [0."); /* more than a batch */
    check_answer(server, "/v1/models/digits/metadata", NULL, "\"classes\": [\"red\", \"green\"");
    check_answer(server, "/v1/models/digits/metadata", NULL, "\"instances\": \"rows\"");
    check_answer(
        server, "/v1/models/papers", NULL,
        "\"version\": \"1\", \"state\": \"AVAILABLE\", \"status\": {\"error_code\": \"OK\"");
    check_answer(server, "/v1/models", NULL, "{\"name\": \"papers\", \"model_version_status\"");
    check_answer(server, "/metrics", NULL,
                 "regimen_requests_total{model=\"digits\",code=\"200\"} 2\n");
    check_answer(server, "/metrics", NULL, "regimen_questions_total{model=\"lines\"} 4\n");
    check_answer(server, "/metrics", NULL,
                 "regimen_batch_questions_bucket{model=\"papers\",le=\"+Inf\"} 0\n");
    rgm_answers_clear(&got);
    rgm_tensor_release(rows);
    rgm_predictor_release(p);
    rgm_free(probabilities);
    rgm_free(want);
    rgm_answer_close(server);
}

/* A graph of 4 papers, of which two are asked about. */
#define GRAPH(words)                                                                               \
    "{\"instances\": [{\"nodes/paper.#size\": [4], \"nodes/paper.words\": [1, 2, 3, 4],"           \
    " \"nodes/paper.words.d1\": " words ", \"edges/cites.#size\": 2,"                              \
    " \"edges/cites.#source\": [0, 1], \"edges/cites.#target\": [2, 3],"                           \
    " \"nodes/_readout.#size\": [2], \"edges/_readout/seed.#size\": [2],"                          \
    " \"edges/_readout/seed.#source\": [3, 0], \"edges/_readout/seed.#target\": [0, 1]}]}"

static void graphs_are_objects_or_examples(void **state)
{
    (void)state;
    const rgm_answer_model model = {"papers", graph_export};
    rgm_answer_server *server = open_server(&model, 1, (rgm_answer_options){0});
    rgm_response out = ask(server, "POST", "/v1/models/papers:predict", GRAPH("[1, 1, 1, 1]"), 1);
    const char *lists;

    if (out.status != 200)
        fail_msg("%s", out.body.data);
    lists = strstr(out.body.data, "\"probabilities\": [[");
    CHECK(lists != NULL && strstr(lists, "], [") != NULL && strstr(lists, "]]}") != NULL);
    rgm_response_clear(&out);
    check_refused(server, "/v1/models/papers:predict", GRAPH("[1, 1, 1, 9]"), 400, "example 0: ");
    check_refused(server, "/v1/models/papers:predict", GRAPH("[1, 1, 1, 1.5]"), 400,
                  "instances[0]: 'nodes/paper.words.d1' has something else than integers");
    check_refused(server, "/v1/models/papers:predict", "{\"instances\": [{\"nodes/paper.x\": 1}]}",
                  400, "the model's Examples have no 'nodes/paper.x'");
    check_refused(server, "/v1/models/papers:predict", "{\"instances\": [{\"b64\": \"AAA\"}]}", 400,
                  "no multiple of 4");
    check_refused(server, "/v1/models/papers:predict", "{\"instances\": [{\"b64\": \"A?==\"}]}",
                  400, "character 2");
    check_refused(server, "/v1/models/papers:predict", "{\"instances\": [{\"b64\": \"/////w==\"}]}",
                  400, "example 0: tf.train.Example");
    check_refused(server, "/v1/models/papers:predict", "{\"instances\": [\"a\"]}", 400,
                  "the model takes Examples");
    rgm_answer_close(server);
}

#define DENSE(number)                                                                              \
    "{\"instances\": [{\"nodes/paper.#size\": 2, \"nodes/paper.feat\": [1, 2, 3, " number "],"     \
    " \"edges/cites.#size\": 0, \"edges/cites.#source\": [], \"edges/cites.#target\": [],"         \
    " \"nodes/_readout.#size\": [1], \"edges/_readout/seed.#size\": [1],"                          \
    " \"edges/_readout/seed.#source\": [0], \"edges/_readout/seed.#target\": [0]}]}"

/* A double that no float can be would be an infinity, which no one asked about. */
static void a_number_beyond_floats_is_refused(void **state)
{
    (void)state;
    const rgm_answer_model model = {"dense", dense_export};
    const char *path = "/v1/models/dense:predict";
    rgm_answer_server *server = open_server(&model, 1, (rgm_answer_options){0});

    check_answer(server, path, DENSE("-4.5"), "\"probabilities\": [");
    check_refused(server, path, DENSE("1e39"), 400,
                  "instances[0]: 'nodes/paper.feat' has 1e+39, which is no 32-bit float");
    check_refused(server, path, DENSE("-3.5e38"), 400, "has -3.5e+38, which");
    check_refused(server, path, DENSE("\"4\""), 400, "has something else than numbers");
    rgm_answer_close(server);
}

/* How much memory a request takes that is refused: a row of many numbers, and what follows it. */
static int64_t peak_of(rgm_answer_server *server, const char *path, const char *rest,
                       const char *message)
{
    enum { NUMBERS = 200000 };
    rgm_text body = {0};
    int64_t before;

    CHECK_OK(rgm_text_printf(&body, "{\"instances\": [["));
    for (int i = 0; i < NUMBERS; i++)
        CHECK_OK(rgm_text_add(&body, "0,", 2));
    CHECK_OK(rgm_text_printf(&body, "%s", rest));
    before = rgm_memory_used();
    rgm_memory_reset_peak();
    check_refused(server, path, body.data, 400, message);
    rgm_text_clear(&body);
    return rgm_memory_peak() - before;
}

/* There is no room for four rows before all are known to be as long as the first. */
static void check_long_row(rgm_answer_server *server, const char *path)
{
    int64_t unread = peak_of(server, path, "\"x\"]]}", "something else");
    int64_t uneven =
        peak_of(server, path, "0], [], [], []]}", "instances[1]: the row has 0 numbers");

    CHECK(unread > 0 && uneven < unread + (1 << 20));
}

static void what_is_wrong_is_refused_with_its_place(void **state)
{
    (void)state;
    static const char lines[] = "/v1/models/lines:predict", rows[] = "/v1/models/digits:predict";
    const rgm_answer_model models[] = {{NULL, lines_export}, {"digits", rows_export}};
    rgm_answer_server *server = open_server(models, 2, (rgm_answer_options){.max_queue = 4});
    rgm_response out;

    check_refused(server, lines, "", 400, "body:1:0");
    check_refused(server, lines, "{\"instances\": []}", 400, "one instance or more");
    check_refused(server, lines, "{\"inputs\": [\"2\"]}", 400, "'inputs' is not understood");
    check_refused(server, lines, "[\"2\"]", 400, "a request is {");
    check_refused(server, lines, "{\"instances\": [\"2\"], \"signature_name\": \"x\"}", 400,
                  "'signature_name' is not understood");
    check_refused(server, lines, "{\"instances\": [\"2\", 3]}", 400,
                  "instances[1]: the model takes");
    check_refused(server, lines, "{\"instances\": [\"2\\n3\"]}", 400, "more than one line");
    check_refused(server, lines, "{\"instances\": [\"2\", \"3 x\"]}", 400,
                  "instances[1]: 'x' is no token");
    check_refused(server, lines, "{\"instances\": [\"2\", \"2\", \"2\", \"2\", \"2\"]}", 400,
                  "5 instances in one request, 4 are the most");
    check_refused(server, rows, "{\"instances\": [[1, 2, 3]]}", 400, "a record has 4 numbers");
    check_refused(server, rows, "{\"instances\": [[1, 2, 3, 4], [1, 2]]}", 400,
                  "instances[1]: the row has 2 numbers");
    check_refused(server, rows, "{\"instances\": [[[1], [2, 3, 4]]]}", 400,
                  "instances[0]: the row has lists of several lengths");
    check_refused(server, rows, "{\"instances\": [[[1, 2], [3, 4]], [1, 2, 3, 4]]}", 400,
                  "instances[1]: the row is not nested as the first");
    check_refused(server, rows, "{\"instances\": [[[1, 2, 3, 4]]]}", 400,
                  "a record has 4 numbers, flat or of the shape [2, 2]");
    check_refused(server, rows, "{\"instances\": [[[1], [2], [3], [4]]]}", 400,
                  "rows are f64[1,4,1], but");
    check_long_row(server, rows);
    check_refused(server, rows, "{\"instances\": [[1, 2, 3, \"nan\"]]}", 400, "something else");
    check_refused(server, rows, "{\"instances\": [[1, 2, 3, 1e999]]}", 400, "body:1:");
    check_refused(server, rows, "{\"instances\": [[[[[[[[[[1]]]]]]]]]]}", 400, "deep");
    check_refused(server, rows, "{\"instances\": [4]}", 400, "the model takes rows");
    check_refused(server, "/v1/models/none:predict", "{}", 404, "no model 'none'");
    check_refused(server, "/v1/models/lines:classify", "{}", 404, "no such request");
    check_refused(server, "/v1/models/lines", "{}", 405, "another method");
    check_refused(server, "/v1/models/..%2flines:predict", "{}", 404, "no such request");
    out = ask(server, "POST", lines, "{\"instances\": [\"2\"]}", 0);
    CHECK_INT(401, out.status);
    rgm_response_clear(&out);
    out = ask(server, "GET", "/healthz", NULL, 0); /* without a token */
    CHECK_INT(200, out.status);
    rgm_response_clear(&out);
    out = ask(server, "GET", "/metrics", NULL, 0);
    CHECK_INT(401, out.status);
    rgm_response_clear(&out);
    check_answer(server, lines, "{\"instances\": [\"2\"]}", "\"cut\": "); /* it goes on */
    rgm_answer_close(server);
}

static void what_cannot_be_served_is_told(void **state)
{
    (void)state;
    const struct {
        rgm_answer_model models[2];
        const char *listen, *token;
        rgm_status status;
        const char *part;
    } cases[] = {
        {{{NULL, root}}, NULL, NULL, RGM_ERR_NOT_FOUND, "neither an export"},
        {{{"a b", lines_export}}, NULL, NULL, RGM_ERR_ARG, "cannot be the name"},
        {{{"a", lines_export}, {"a", rows_export}}, NULL, NULL, RGM_ERR_ARG, "two models"},
        {{{"a", lines_export}}, "0.0.0.0:0", NULL, RGM_ERR_ARG, "--allow-remote"},
        {{{"a", lines_export}}, NULL, "short", RGM_ERR_ARG, "16 to 64 characters"},
        {{{"a", lines_export}}, NULL, "0123456789 abcdef", RGM_ERR_ARG, "a space"},
        {{{"a", "model:none@production"}}, NULL, NULL, RGM_ERR_NOT_FOUND, "none"},
    };
    rgm_answer_server *server;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_answer_options options = {.models = cases[i].models,
                                      .model_count = cases[i].models[1].source != NULL ? 2 : 1,
                                      .registry = root,
                                      .token = cases[i].token};

        options.listen = cases[i].listen != NULL ? cases[i].listen : "127.0.0.1:0";
        CHECK_STATUS(cases[i].status, rgm_answer_open(&server, &options));
        CHECK_MESSAGE(cases[i].part);
        CHECK(server == NULL);
    }
    CHECK_STATUS(RGM_ERR_ARG,
                 rgm_answer_open(&server, &(rgm_answer_options){.listen = "127.0.0.1:0"}));
    for (int i = 0; i < 4; i++) {
        rgm_answer_options options = {
            .models = cases[1].models, .model_count = 1, .listen = "127.0.0.1:0"};
        double *times[] = {&options.max_delay, &options.timeout, &options.reload_seconds,
                           &options.drain_seconds};

        *times[i] = i == 0 ? NAN : 1e300;
        CHECK_STATUS(RGM_ERR_ARG, rgm_answer_open(&server, &options));
        CHECK_MESSAGE("a day (86400) is the longest");
    }
}

/* ---- several at once ------------------------------------------------------------------------- */

enum { THREADS = 4 };
typedef struct asking {
    rgm_answer_server *server;
    const char *path, *body;
    bool hurries; /* with X-Timeout-Ms */
    bool reads;   /* the answer is a stream, to be read to its end */
    rgm_response out;
    char *events;
    pthread_t thread;
} asking;

static char *read_stream(rgm_response *response);

static void *ask_one(void *payload)
{
    asking *a = payload;

    a->out = ask(a->server, "POST", a->path, a->body, a->hurries ? 2 : 1);
    if (a->reads)
        a->events = read_stream(&a->out);
    return NULL;
}

static void begin_at(asking *a)
{
    CHECK_INT(0, pthread_create(&a->thread, NULL, ask_one, a));
}

static void begin(asking *a, rgm_answer_server *server, const char *body, int64_t headers)
{
    *a = (asking){.server = server,
                  .path = "/v1/models/lines:predict",
                  .body = body,
                  .hurries = headers == 2};
    begin_at(a);
}

static void end(asking *a, int code, const char *part)
{
    CHECK_INT(0, pthread_join(a->thread, NULL));
    if (a->out.status != code || strstr(a->out.body.data, part) == NULL)
        fail_msg("%s: %d %s, not %d %s", a->body, a->out.status, a->out.body.data, code, part);
    rgm_response_clear(&a->out);
}

/* Of lines: what a translation must have, each by itself; what is wrong has its place. */
static void translations_are_as_they_are_wished(void **state)
{
    (void)state;
    static const char path[] = "/v1/models/lines:predict";
    static const char *const beams[] = {"task.search.beam_size=4"};
    static const char *const lists[] = {"task.search.beam_size=4", "task.search.n_best=2"};
    const rgm_answer_model model = {"lines", lines_export};
    rgm_answer_server *server = open_server(&model, 1, (rgm_answer_options){.max_batch = 2});
    char *plain = translated(lines_export, "3 4 5");

    check_answer(
        server, path,
        "{\"instances\": [\"2\", {\"text\": \"3 4 5\"}, {\"text\": \"3\", \"prefix\": \"7 8\"}]}",
        plain);
    check_answer(server, path,
                 "{\"instances\": [\"2\", \"2\", {\"text\": \"3 4 5\", \"prefix\": \"7 8\"}]}",
                 "{\"text\": \"7 8");
    check_answer(server, path, "{\"instances\": [\"3 4 5\"]}", "\"missing\": 0, \"banned\": 0}");
    check_answer(server, path,
                 "{\"instances\": [{\"text\": \"3\", \"prefix\": \"7\", \"banned\": [\"7\"]}]}",
                 "\"banned\": 1}");
    check_answer(server, path,
                 "{\"instances\": [\"2\", {\"text\": \"3\", \"prefix\": \"7\", "
                 "\"alignment\": \"words\"}]}",
                 "\"banned\": 0}, {\"text\": \"7");
    check_answer(server, path,
                 "{\"instances\": [\"2\", {\"text\": \"3\", \"prefix\": \"7\", "
                 "\"alignment\": \"words\"}]}",
                 "\"banned\": 0, \"alignment\": \"0-0");
    check_answer(server, path, "{\"instances\": [{\"text\": \"\", \"alignment\": \"words\"}]}",
                 "\"alignment\": \"\"}]}");
    check_refused(server, path, "{\"instances\": [{\"text\": \"3\", \"alignment\": \"letters\"}]}",
                  400, "is neither");
    check_refused(server, path,
                  "{\"instances\": [\"2\", \"2\", \"3\", {\"text\": \"3\", \"requird\": [\"4\"]}]}",
                  400, "instances[3]: unknown key");
    check_refused(server, path, "{\"instances\": [\"2\", {\"text\": \"3\", \"banned\": [\"x\"]}]}",
                  400, "instances[1]: ");
    check_refused(server, path, "{\"instances\": [{\"text\": \"3\", \"required\": [\"4\"]}]}", 400,
                  "instances[0]: required texts need task.search.beam_size of 2");
    check_refused(server, path, "{\"instances\": [{\"txt\": \"3\"}]}", 400,
                  "instances[0]: the model takes lines: a text, or an object");
    check_refused(server, path, "{\"instances\": [{\"text\": \"3\\n4\"}]}", 400,
                  "more than one line");
    rgm_answer_close(server);
    server = open_server(&model, 1, (rgm_answer_options){.sets = beams, .set_count = 1});
    check_answer(server, path, "{\"instances\": [{\"text\": \"3\", \"required\": [\"9 8 7\"]}]}",
                 "9 8 7");
    rgm_answer_close(server);
    server = open_server(&model, 1, (rgm_answer_options){.sets = lists, .set_count = 2});
    check_answer(
        server, path,
        "{\"instances\": [{\"text\": \"3\", \"prefix\": \"7\", \"alignment\": \"pieces\"}]}",
        "\"alignment\": [\"0-0");
    rgm_answer_close(server);
    rgm_free(plain);
}

/* They wait for each other: the fourth completes the batch. One of them is wrong, and alone. */
static void questions_are_answered_together(void **state)
{
    (void)state;
    static const char *const bodies[THREADS] = {
        "{\"instances\": [\"3 4 5\"]}", "{\"instances\": [\"2 2\"]}", "{\"instances\": [\"4 x\"]}",
        "{\"instances\": [\"9 8\"]}"};
    const rgm_answer_model model = {"lines", lines_export};
    const rgm_answer_options options = {.max_batch = THREADS, .max_delay = 600};
    rgm_answer_server *server = open_server(&model, 1, options);
    char *want = translated(lines_export, "3 4 5");
    asking all[THREADS];

    for (int i = 0; i < THREADS; i++)
        begin(&all[i], server, bodies[i], 1);
    end(&all[0], 200, want);
    end(&all[1], 200, "predictions");
    end(&all[2], 400, "instances[0]: 'x' is no token");
    end(&all[3], 200, "predictions");
    check_answer(server, "/metrics", NULL, "regimen_batch_questions_sum{model=\"lines\"} 4");
    check_answer(server, "/metrics", NULL, "regimen_batch_questions_count{model=\"lines\"} 1\n");
    check_answer(server, "/metrics", NULL, "regimen_queue_questions{model=\"lines\"} 0\n");
    rgm_free(want);
    rgm_answer_close(server);
}

typedef struct serving {
    rgm_answer_server *server;
    atomic_bool done;
    rgm_status status;
    pthread_t thread;
} serving;

static bool is_done(void *payload)
{
    return atomic_load(&((serving *)payload)->done);
}

static void *serve(void *payload)
{
    serving *s = payload;

    s->status = rgm_answer_serve(s->server, is_done, s);
    return NULL;
}

static int64_t waiting_of(rgm_answer_server *server)
{
    rgmi_served *model = &server->models[0];
    int64_t waiting;

    pthread_mutex_lock(&model->lock);
    waiting = model->waiting;
    pthread_mutex_unlock(&model->lock);
    return waiting;
}

/* Those that wait fill the queue; one whose time is short is told so; and the end answers the rest.
 */
static void queues_have_limits_requests_deadlines_and_the_end_loses_none(void **state)
{
    (void)state;
    static const char body[] = "{\"instances\": [\"3 4 5\"]}";
    const rgm_answer_model model = {"lines", lines_export};
    const rgm_answer_options options = {.max_batch = 100, .max_delay = 600, .max_queue = THREADS};
    rgm_answer_server *server = open_server(&model, 1, options);
    serving s = {.server = server};
    char *want = translated(lines_export, "3 4 5");
    asking all[THREADS], late;
    rgm_response out;

    CHECK_INT(0, pthread_create(&s.thread, NULL, serve, &s));
    begin(&late, server, body, 2);
    end(&late, 504, "did not begin");
    for (int i = 0; i < THREADS; i++)
        begin(&all[i], server, body, 1);
    while (waiting_of(server) < THREADS)
        sched_yield();
    out = ask(server, "POST", "/v1/models/lines:predict", body, 1);
    CHECK_INT(429, out.status);
    CHECK_TEXT("Retry-After", out.headers[0].name);
    rgm_response_clear(&out);
    atomic_store(&s.done, true);
    for (int i = 0; i < THREADS; i++)
        end(&all[i], 200, want);
    CHECK_INT(0, pthread_join(s.thread, NULL));
    CHECK_OK(s.status);
    check_refused(server, "/v1/models/lines:predict", body, 503, "the server ends");
    out = ask(server, "GET", "/readyz", NULL, 0);
    CHECK_INT(503, out.status);
    rgm_response_clear(&out);
    check_answer(server, "/metrics", NULL, "{model=\"lines\",code=\"429\"} 1\n");
    check_answer(server, "/metrics", NULL, "{model=\"lines\",code=\"504\"} 1\n");
    rgm_free(want);
    rgm_answer_close(server);
}

/* A request that was let in just before the end, and comes to the queue behind it. */
static void what_comes_to_a_queue_that_is_closed_is_told_that_the_server_ends(void **state)
{
    (void)state;
    static const char body[] = "{\"instances\": [\"3 4 5\"]}";
    const rgm_answer_model model = {"lines", lines_export};
    rgm_answer_server *server = open_server(&model, 1, (rgm_answer_options){0});

    rgmi_batch_cut(&server->models[0]);
    check_refused(server, "/v1/models/lines:predict", body, 503, "the server ends");
    rgm_answer_close(server);
}

/* ---- newer versions -------------------------------------------------------------------------- */

static void copy_file(const char *to, const char *from, const char *name, int64_t cut)
{
    char *source, *target, *data;
    int64_t size;

    CHECK_OK(rgm_path_join(&source, from, name));
    CHECK_OK(rgm_path_join(&target, to, name));
    CHECK_OK(rgm_file_load(&data, &size, source, 1 << 24));
    CHECK_OK(rgm_file_save(target, data, size - cut));
    rgm_free(source);
    rgm_free(target);
    rgm_free(data);
}

static void copy_export(const char *to, const char *from, int64_t cut)
{
    CHECK_OK(rgm_folder_make(to));
    copy_file(to, from, RGM_SERVING_MODEL, 0);
    copy_file(to, from, RGM_SERVING_WEIGHTS, cut);
}

static void copy_lm(const char *to, const char *from)
{
    copy_export(to, from, 0);
    copy_file(to, from, "tokenizer.model", 0);
}

static void a_damaged_version_is_refused_and_a_newer_one_takes_over(void **state)
{
    (void)state;
    static const char path[] = "/v1/models/m:predict", body[] = "{\"instances\": [\"3 4 5\"]}";
    char *first = translated(lines_export, "3 4 5"), *second = translated(lines_again, "3 4 5");
    char folder[512];
    const rgm_answer_model model = {"m", folder};
    rgm_answer_server *server;

    CHECK(strcmp(first, second) != 0);
    snprintf(folder, sizeof folder, "%s/served", root);
    copy_export(folder, lines_export, 0);
    server = open_server(&model, 1, (rgm_answer_options){0});
    check_answer(server, path, body, first);
    copy_export(folder, lines_again, 8);
    rgm_answer_reload(server);
    rgm_answer_reload(server); /* tried twice, told once */
    check_answer(server, path, body, first);
    check_answer(server, "/v1/models/m", NULL, "\"FAILED_PRECONDITION\", \"error_message\": \"/");
    check_answer(server, "/metrics", NULL, "regimen_reload_failures_total{model=\"m\"} 1\n");
    copy_export(folder, lines_again, 0);
    rgm_answer_reload(server);
    check_answer(server, path, body, second);
    check_answer(server, "/v1/models/m", NULL, "\"version\": \"2\"");
    check_answer(server, "/v1/models/m", NULL, "\"error_code\": \"OK\"");
    CHECK_OK(rgm_folder_remove(folder)); /* what is loaded needs no files */
    rgm_answer_reload(server);
    check_answer(server, path, body, second);
    check_answer(server, "/v1/models/m", NULL, "cannot list");
    rgm_answer_close(server);
    rgm_free(first);
    rgm_free(second);
}

/* Other bytes in the place of a file's, and the same inode and times: a look sees no change. */
static void change_unseen(const char *path, const char *bytes, int64_t size)
{
    struct stat before;
    FILE *file = fopen(path, "r+b");

    CHECK(file != NULL && fstat(fileno(file), &before) == 0 && before.st_size == size);
    CHECK(fwrite(bytes, 1, (size_t)size, file) == (size_t)size && fclose(file) == 0);
    CHECK(utimensat(AT_FDCWD, path, (struct timespec[2]){before.st_atim, before.st_mtim}, 0) == 0);
}

static void what_was_wrong_may_go_away_unseen(void **state)
{
    (void)state;
    static const char path[] = "/v1/models/m:predict", body[] = "{\"instances\": [\"3 4 5\"]}";
    char *first = translated(lines_export, "3 4 5"), *second = translated(lines_again, "3 4 5");
    char folder[512], *weights, *whole, *damaged;
    const rgm_answer_model model = {"m", folder};
    rgm_answer_server *server;
    int64_t size;

    snprintf(folder, sizeof folder, "%s/mended", root);
    CHECK_OK(rgm_path_join(&weights, folder, RGM_SERVING_WEIGHTS));
    copy_export(folder, lines_export, 0);
    server = open_server(&model, 1, (rgm_answer_options){.reload_seconds = 3600});
    copy_export(folder, lines_again, 0);
    CHECK_OK(rgm_file_load(&whole, &size, weights, 1 << 24));
    CHECK_OK(rgm_file_load(&damaged, &size, weights, 1 << 24));
    memset(damaged, 'x', 8); /* the size of its header */
    change_unseen(weights, damaged, size);
    rgm_answer_reload(server);
    check_answer(server, path, body, first);
    change_unseen(weights, whole, size);
    for (int look = 0; look < 30; look++) /* the first sees that it stands still */
        rgmi_served_reload(&server->models[0], false);
    check_answer(server, path, body, first);
    rgmi_served_reload(&server->models[0], false);
    check_answer(server, path, body, second);
    check_answer(server, "/v1/models/m", NULL, "\"error_code\": \"OK\"");
    change_unseen(weights, damaged, size);
    CHECK(utimensat(AT_FDCWD, weights, NULL, 0) == 0); /* it changes, and is damaged again .. */
    rgm_answer_reload(server);
    check_answer(server, "/v1/models/m", NULL, "FAILED_PRECONDITION");
    change_unseen(weights, whole, size);
    rgm_answer_reload(server); /* .. and is tried when that is asked for */
    check_answer(server, "/v1/models/m", NULL, "\"version\": \"3\"");
    rgm_answer_close(server);
    rgm_free(first);
    rgm_free(second);
    rgm_free(whole);
    rgm_free(damaged);
    rgm_free(weights);
}

static void the_highest_of_numbered_exports_is_served(void **state)
{
    (void)state;
    char folder[512], inner[600];
    const rgm_answer_model model = {"m", folder};
    rgm_answer_server *server;

    snprintf(folder, sizeof folder, "%s/numbered", root);
    snprintf(inner, sizeof inner, "%s/90", folder);
    copy_export(inner, lines_export, 0);
    server = open_server(&model, 1, (rgm_answer_options){0});
    check_answer(server, "/v1/models/m", NULL, "\"version\": \"90\"");
    snprintf(inner, sizeof inner, "%s/100", folder);
    copy_export(inner, lines_again, 0);
    rgm_answer_reload(server);
    check_answer(server, "/v1/models/m", NULL, "\"version\": \"100\"");
    rgm_answer_close(server);
}

typedef struct hammering {
    rgm_answer_server *server;
    atomic_bool *done;
    const char *wants[2];
    int64_t asked, wrong;
    pthread_t thread;
} hammering;

/* Versions with odd numbers are of the first export, others of the second. */
static void *hammer(void *payload)
{
    hammering *h = payload;

    while (!atomic_load(h->done)) {
        rgm_response out =
            ask(h->server, "POST", "/v1/models/m:predict", "{\"instances\": [\"3 4 5\"]}", 1);
        int64_t version = out.status == 200 ? strtol(out.headers[0].value, NULL, 10) : 0;
        const char *want = h->wants[version % 2 == 0];

        h->wrong += out.status != 200 || strstr(out.body.data, want) == NULL;
        h->asked++;
        rgm_response_clear(&out);
    }
    return NULL;
}

static void versions_change_under_load_without_a_lost_request(void **state)
{
    enum { CHANGES = 20 };
    (void)state;
    char *first = translated(lines_export, "3 4 5"), *second = translated(lines_again, "3 4 5");
    char folder[512];
    const rgm_answer_model model = {"m", folder};
    atomic_bool done = false;
    hammering all[THREADS];
    rgm_answer_server *server;

    snprintf(folder, sizeof folder, "%s/changing", root);
    copy_export(folder, lines_export, 0);
    server = open_server(&model, 1, (rgm_answer_options){.max_delay = -1});
    for (int i = 0; i < THREADS; i++) {
        all[i] = (hammering){.server = server, .done = &done, .wants = {first, second}};
        CHECK_INT(0, pthread_create(&all[i].thread, NULL, hammer, &all[i]));
    }
    for (int i = 1; i <= CHANGES; i++) {
        copy_export(folder, i % 2 == 0 ? lines_export : lines_again, 0);
        rgm_answer_reload(server);
        check_answer(server, "/v1/models/m:predict", "{\"instances\": [\"3 4 5\"]}",
                     i % 2 == 0 ? first : second);
    }
    atomic_store(&done, true);
    for (int i = 0; i < THREADS; i++) {
        CHECK_INT(0, pthread_join(all[i].thread, NULL));
        CHECK_INT(0, all[i].wrong);
        CHECK(all[i].asked > 0);
    }
    check_answer(server, "/v1/models/m", NULL, "\"version\": \"21\"");
    rgm_answer_close(server);
    rgm_free(first);
    rgm_free(second);
}

/* ---- prompts --------------------------------------------------------------------------------- */

#define PREDICT "/v1/models/lm:predict"
#define STREAM  "/v1/models/lm:stream"

/* What the model of an export writes behind a prompt, as a prediction has it. */
static char *continued(const char *folder, const char *prompt, const char *wish)
{
    const rgm_str text = {prompt, (int64_t)strlen(prompt)};
    rgm_predictor *p;
    rgm_answers got;
    rgm_text out = {0};

    CHECK_OK(rgm_predictor_open(&p, folder, NULL, 0));
    CHECK_OK(rgm_predictor_ask(
        &got, p, &(rgm_questions){.count = 1, .texts = &text, .wishes = &wish, .first = 5}));
    CHECK_OK(rgm_text_printf(&out, "{\"text\": "));
    CHECK_OK(rgm_json_print_text(&out, got.texts[0]));
    CHECK_OK(rgm_text_printf(&out, ", \"tokens\": %lld, \"log_probability\": ",
                             (long long)rgm_tensor_at_int(got.outputs[0], 0)));
    CHECK_OK(rgm_json_print_number(&out, rgm_tensor_at(got.outputs[1], 0)));
    CHECK_OK(rgm_text_printf(
        &out, ", \"end\": \"%s\"}",
        (const char *const[]){"end", "stop", "length"}[rgm_tensor_at_int(got.outputs[2], 0)]));
    rgm_answers_clear(&got);
    rgm_predictor_release(p);
    return out.data;
}

static void prompts_are_answered_as_they_are_wished(void **state)
{
    (void)state;
    const rgm_answer_model models[] = {{"lm", lm_export}, {"lines", lines_export}};
    rgm_answer_server *server = open_server(models, 2, (rgm_answer_options){.max_batch = 2});
    char *plain = continued(lm_export, "one two", NULL),
         *drawn = continued(lm_export, "one",
                            "{\"tokens\": 30, \"temperature\": 1.5, \"top_k\": 9, \"seed\": 3}");

    CHECK(strstr(plain, "\"tokens\": 12, \"log_probability\": -") != NULL);
    CHECK(strstr(plain, "\"end\": \"length\"}") != NULL);
    check_answer(server, PREDICT, "{\"instances\": [\"one two\"]}", plain);
    check_answer(server, PREDICT, "{\"instances\": [{\"prompt\": \"one two\"}]}", plain);
    /* More than there are places for, and beside others. */
    check_answer(server, PREDICT,
                 "{\"instances\": [\"\", \"two\\nthree\", \"three\", {\"prompt\": \"one\", "
                 "\"tokens\": 30, \"temperature\": 1.5, \"top_k\": 9, \"seed\": 3}, \"one two\"]}",
                 drawn);
    check_answer(server, PREDICT, "{\"instances\": [{\"prompt\": \"one two\", \"tokens\": 1}]}",
                 "\"tokens\": 1, ");
    check_answer(server, "/v1/models/lm/metadata", NULL, "\"instances\": \"prompts\"");
    check_answer(server, "/v1/models/lm/metadata", NULL,
                 "\"classes\": [\"end\", \"stop\", \"length\"]");
    check_answer(server, "/metrics", NULL, "regimen_questions_total{model=\"lm\"} 8\n");
    check_answer(server, "/metrics", NULL, "regimen_texts{model=\"lm\"} 0\n");
    check_refused(server, PREDICT, "{\"instances\": [\"one\", {\"prompt\": \"a\", \"tokns\": 2}]}",
                  400, "instances[1]: 'tokns' cannot be wished; did you mean 'tokens'?");
    check_refused(server, PREDICT, "{\"instances\": [{\"prompt\": \"a\", \"top_p\": 2}]}", 400,
                  "'top_p' is a number in (0, 1]");
    check_refused(server, PREDICT, "{\"instances\": [{\"tokens\": 2}]}", 400, "the text 'prompt'");
    check_refused(server, PREDICT, "{\"instances\": [3]}", 400, "the model takes prompts");
    check_refused(server, STREAM, "{\"instances\": [\"one\", \"two\"]}", 400,
                  "a stream is of one instance, not of 2");
    check_refused(server, "/v1/models/lines:stream", "{\"instances\": [\"2\"]}", 400,
                  "'lines' writes no texts token by token");
    rgm_free(plain);
    rgm_free(drawn);
    rgm_answer_close(server);
}

/* All events of a stream, read in small parts. */
static char *read_stream(rgm_response *response)
{
    const rgm_http_stream *s = &response->stream;
    rgm_text all = {0};
    char part[7];
    int64_t count;

    if (response->status != 200 || s->payload == NULL)
        fail_msg("%d %s", response->status, response->body.data);
    while ((count = s->read(part, sizeof part, s->payload)) >= 0) {
        CHECK_OK(rgm_text_add(&all, part, count));
        if (count == 0 && !s->is_ready(s->payload))
            sched_yield();
    }
    rgm_response_clear(response);
    return all.data;
}

/* The texts of all events but the last, one behind the other, are the text of the last. */
static void check_stream(const char *events, const char *prediction)
{
    rgm_text text = {0};
    rgm_json *json;
    const char *at = events, *last = strstr(events, "event: end\ndata: ");

    CHECK(last != NULL && strncmp(last + 17, prediction, strlen(prediction)) == 0);
    CHECK_TEXT("\n\n", last + 17 + strlen(prediction));
    while (at < last) {
        const char *end = strstr(at, "\n\n");

        CHECK(strncmp(at, "data: ", 6) == 0);
        CHECK_OK(rgm_json_parse(&json, at + 6, end - at - 6, "event"));
        CHECK_OK(rgm_text_printf(&text, "%s", rgm_json_text(rgm_json_find(json, "text"))));
        rgm_json_release(json);
        at = end + 2;
    }
    CHECK_OK(rgm_json_parse(&json, prediction, (int64_t)strlen(prediction), "prediction"));
    CHECK_TEXT(rgm_json_text(rgm_json_find(json, "text")), text.size > 0 ? text.data : "");
    rgm_json_release(json);
    rgm_text_clear(&text);
}

static void a_stream_tells_the_prediction_as_it_grows(void **state)
{
    static const char *const wishes[] = {
        "{\"prompt\": \"one two\"}", "{\"prompt\": \"one\", \"tokens\": 60, \"stop\": [\"e tw\"]}",
        "{\"prompt\": \"\", \"tokens\": 80, \"temperature\": 3, \"seed\": 4}"};
    (void)state;
    const rgm_answer_model model = {"lm", lm_export};
    rgm_answer_server *server = open_server(&model, 1, (rgm_answer_options){0});

    for (int i = 0; i < 3; i++) {
        char *want = continued(lm_export,
                               i == 0   ? "one two"
                               : i == 1 ? "one"
                                        : "",
                               wishes[i]),
             *body, *events;
        rgm_response out;

        CHECK_OK(rgm_strprintf(&body, "{\"instances\": [%s]}", wishes[i]));
        check_answer(server, PREDICT, body, want);
        out = ask(server, "POST", STREAM, body, 1);
        CHECK_TEXT("X-Model-Version", out.headers[0].name);
        events = read_stream(&out);
        check_stream(events, want);
        CHECK(i != 1 || strstr(want, "\"end\": \"stop\"") != NULL);
        rgm_free(events);
        rgm_free(want);
        rgm_free(body);
    }
    check_answer(server, "/metrics", NULL, "regimen_streams_gone_total{model=\"lm\"} 0\n");
    check_answer(server, "/metrics", NULL, "regimen_streams{model=\"lm\"} 0\n");
    rgm_answer_close(server);
}

#define ENDLESS "{\"instances\": [{\"prompt\": \"one\", \"tokens\": 1000000}]}"

static int64_t texts_of(rgm_answer_server *server)
{
    rgmi_served *model = &server->models[0];
    int64_t texts;

    pthread_mutex_lock(&model->lock);
    texts = model->texts + (model->first != NULL) + model->busy;
    pthread_mutex_unlock(&model->lock);
    return texts;
}

/* Two streams without an end beside ordinary requests, which have the place that is left; a newer
 * version takes over meanwhile; and a stream that nobody reads any more gives its place back. */
static void streams_share_the_places_and_give_them_back(void **state)
{
    (void)state;
    char folder[512], *first = continued(lm_export, "two", NULL),
                      *second = continued(lm_again, "two", NULL);
    const rgm_answer_model model = {"lm", folder};
    rgm_answer_server *server;
    rgm_response streams[2];
    char event[16];

    snprintf(folder, sizeof folder, "%s/written", root);
    copy_lm(folder, lm_export);
    server = open_server(&model, 1, (rgm_answer_options){.max_batch = 3});
    for (int i = 0; i < 2; i++) {
        streams[i] = ask(server, "POST", STREAM, ENDLESS, 1);
        CHECK_INT(200, streams[i].status);
        CHECK_TEXT("1", streams[i].headers[0].value);
    }
    check_answer(server, PREDICT, "{\"instances\": [\"one\", \"two\"]}", first);
    copy_lm(folder, lm_again);
    rgm_answer_reload(server);
    check_answer(server, PREDICT, "{\"instances\": [\"two\"]}", second);
    check_answer(server, "/metrics", NULL, "regimen_streams{model=\"lm\"} 2\n");
    for (int i = 0; i < 2; i++) { /* it was told all the while */
        CHECK(streams[i].stream.read(event, 6, streams[i].stream.payload) == 6);
        CHECK(strncmp(event, "data: ", 6) == 0);
        rgm_response_clear(&streams[i]);
    }
    while (texts_of(server) > 0)
        sched_yield();
    check_answer(server, "/metrics", NULL, "regimen_streams_gone_total{model=\"lm\"} 2\n");
    check_answer(server, PREDICT, "{\"instances\": [\"two\"]}", second);
    rgm_answer_close(server);
    rgm_free(first);
    rgm_free(second);
}

/* One place, which a stream has: what waits for it longer than it may is told so, and at the end,
 * when the time for what was accepted is over, the stream is. */
static void streams_have_deadlines_and_are_cut_at_the_end(void **state)
{
    (void)state;
    const rgm_answer_model model = {"lm", lm_export};
    const rgm_answer_options options = {.max_batch = 1, .drain_seconds = 0.2};
    rgm_answer_server *server = open_server(&model, 1, options);
    serving s = {.server = server};
    rgm_response stream, late;
    asking waits;
    char *events;

    CHECK_INT(0, pthread_create(&s.thread, NULL, serve, &s));
    stream = ask(server, "POST", STREAM, ENDLESS, 1);
    late = ask(server, "POST", STREAM, ENDLESS, 2);
    CHECK_INT(504, late.status);
    rgm_response_clear(&late);
    waits = (asking){.server = server, .path = PREDICT, .body = "{\"instances\": [\"one\"]}"};
    begin_at(&waits);
    while (waiting_of(server) < 1)
        sched_yield();
    atomic_store(&s.done, true);
    end(&waits, 504, "did not begin");
    events = read_stream(&stream);
    CHECK(strstr(events, "event: error\ndata: {\"error\": \"the server ends\", \"code\": "
                         "\"RGM_ERR_BUSY\"}\n\n") != NULL);
    CHECK(strstr(events, "event: end") == NULL);
    CHECK_INT(0, pthread_join(s.thread, NULL));
    CHECK_OK(s.status);
    check_refused(server, STREAM, ENDLESS, 503, "the server ends");
    rgm_free(events);
    rgm_answer_close(server);
}

/* Streams and requests from several threads: each gets what it would get alone. */
static void many_texts_at_once_are_what_they_are_alone(void **state)
{
    enum { TURNS = 5 };
    (void)state;
    const rgm_answer_model model = {"lm", lm_export};
    rgm_answer_server *server = open_server(&model, 1, (rgm_answer_options){.max_batch = 3});
    asking all[2 * THREADS];
    char *bodies[THREADS], *wants[THREADS];

    for (int i = 0; i < THREADS; i++) {
        char *wish;

        CHECK_OK(rgm_strprintf(
            &wish, "{\"prompt\": \"one two\", \"tokens\": %d, \"temperature\": 2, \"seed\": %d}",
            5 + 9 * i, i));
        wants[i] = continued(lm_export, "one two", wish);
        CHECK_OK(rgm_strprintf(&bodies[i], "{\"instances\": [%s]}", wish));
        rgm_free(wish);
    }
    for (int turn = 0; turn < TURNS; turn++) {
        for (int i = 0; i < 2 * THREADS; i++) {
            all[i] = (asking){.server = server,
                              .path = i % 2 == 0 ? PREDICT : STREAM,
                              .body = bodies[i / 2],
                              .reads = i % 2 == 1};
            begin_at(&all[i]);
        }
        for (int i = 0; i < 2 * THREADS; i++) {
            CHECK_INT(0, pthread_join(all[i].thread, NULL));
            CHECK(i % 2 == 1 || strstr(all[i].out.body.data, wants[i / 2]) != NULL);
            if (i % 2 == 1)
                check_stream(all[i].events, wants[i / 2]);
            rgm_free(all[i].events);
            rgm_response_clear(&all[i].out);
        }
    }
    rgm_answer_close(server);
    for (int i = 0; i < THREADS; i++) {
        rgm_free(bodies[i]);
        rgm_free(wants[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_rows_and_graphs_are_answered),
        cmocka_unit_test(graphs_are_objects_or_examples),
        cmocka_unit_test(a_number_beyond_floats_is_refused),
        cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
        cmocka_unit_test(what_cannot_be_served_is_told),
        cmocka_unit_test(translations_are_as_they_are_wished),
        cmocka_unit_test(questions_are_answered_together),
        cmocka_unit_test(queues_have_limits_requests_deadlines_and_the_end_loses_none),
        cmocka_unit_test(what_comes_to_a_queue_that_is_closed_is_told_that_the_server_ends),
        cmocka_unit_test(a_damaged_version_is_refused_and_a_newer_one_takes_over),
        cmocka_unit_test(what_was_wrong_may_go_away_unseen),
        cmocka_unit_test(the_highest_of_numbered_exports_is_served),
        cmocka_unit_test(versions_change_under_load_without_a_lost_request),
        cmocka_unit_test(prompts_are_answered_as_they_are_wished),
        cmocka_unit_test(a_stream_tells_the_prediction_as_it_grows),
        cmocka_unit_test(streams_share_the_places_and_give_them_back),
        cmocka_unit_test(streams_have_deadlines_and_are_cut_at_the_end),
        cmocka_unit_test(many_texts_at_once_are_what_they_are_alone),
    };

    return cmocka_run_group_tests(tests, train_all, remove_all);
}
