/*
 * Predictors from an export's folder alone: they give the run's and the ONNX file's answers, for
 * several Examples at once and without labels; missing or damaged files, and files of another
 * model, are reported.
 */
#include <check.h>

#include <regimen/experiment.h>
#include <regimen/export.h>
#include <regimen/graph_tasks.h>

static const char graph_text[] =
    "data: {type: citation, node_set: paper, edge_set: cites,\n"
    "       citation: {nodes: 150, edges: 300, words: 40, words_per_node: 5, classes: 3,\n"
    "                  train_per_class: 5, valid: 30, test: 30}}\n"
    "task: {type: node_classification, class_names: [red, green, blue]}\n"
    "model: {type: graph_sage, hidden: [8], dropout: 0.5, input: {normalize: true}}\n"
    "optimizer: {type: adam, learning_rate: 0.01}\n"
    "trainer: {epochs: 3}\n"
    "export: [{type: onnx}]\n";

static char *path_of(const char *folder, const char *name)
{
    char *path;

    CHECK_OK(rgm_path_join(&path, folder, name));
    return path;
}

static void write_text(const char *folder, const char *name, const char *text)
{
    char *path = path_of(folder, name);

    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    rgm_free(path);
}

typedef struct trained {
    char folder[256], *export_dir;
    rgm_experiment *experiment;
    rgm_open_run *run;
} trained;

static void trained_open(trained *t, const char *text)
{
    rgm_run_options options;
    char *file, *run_dir;

    *t = (trained){.run = NULL};
    snprintf(t->folder, sizeof t->folder, "%s", check_folder());
    write_text(t->folder, "served.yaml", text);
    file = path_of(t->folder, "served.yaml");
    run_dir = path_of(t->folder, "run");
    CHECK_OK(rgm_experiment_load(&t->experiment, file, NULL, 0));
    CHECK_OK(rgm_experiment_prepare(&options, t->experiment, run_dir));
    CHECK_OK(rgm_experiment_open(&t->run, t->experiment, &options));
    CHECK_OK(rgm_run_complete(t->run));
    t->export_dir = path_of(run_dir, "export");
    rgm_free(file);
    rgm_free(run_dir);
}

static void trained_close(trained *t)
{
    rgm_run_close(t->run);
    rgm_experiment_release(t->experiment);
    rgm_free(t->export_dir);
    CHECK_OK(rgm_folder_remove(t->folder));
}

/* ---- Examples -------------------------------------------------------------------------------- */

enum { EXAMPLES = 3 };

/* Requests about other nodes of the run's own graph each time, without labels, as Examples. */
typedef struct questions {
    rgm_graph_data data;
    rgm_graph *graphs[EXAMPLES], *merged;
    rgm_text texts[EXAMPLES];
    rgm_str examples[EXAMPLES];
    int64_t asked;
} questions;

static void questions_open(questions *q)
{
    rgm_citation_options o = RGM_CITATION_OPTIONS_INIT;

    *q = (questions){.asked = 0};
    o.node_set = "paper", o.edge_set = "cites";
    o.nodes = 150, o.edges = 300, o.words = 40, o.words_per_node = 5, o.classes = 3;
    o.train_per_class = 5, o.valid = 30, o.test = 30, o.seed = 1;
    CHECK_OK(rgm_generate_citation(&q->data, &o));
    for (int64_t i = 0; i < EXAMPLES; i++) {
        int64_t numbers[] = {7 * i, 149 - i, 30 + i, 2 * i}, count = 1 + i;
        rgm_tensor *nodes;
        rgm_graph *graph;
        CHECK_OK(rgm_tensor_create_from(&nodes, RGM_I64, 1, &count, numbers));
        CHECK_OK(rgm_graph_with_readout(&graph, q->data.graphs[0], "_readout", "seed", "paper",
                                        nodes, "label"));
        CHECK_OK(
            rgm_graph_without_feature(&q->graphs[i], graph, RGM_NODE_SET, "_readout", "label"));
        rgm_graph_release(graph);
        rgm_tensor_release(nodes);
        CHECK_OK(rgm_graph_encode(&q->texts[i], q->graphs[i], NULL));
        q->examples[i] = (rgm_str){q->texts[i].data, q->texts[i].size};
        q->asked += count;
    }
    CHECK_OK(rgm_graph_merge(&q->merged, q->graphs, EXAMPLES));
}

static void questions_close(questions *q)
{
    for (int i = 0; i < EXAMPLES; i++) {
        rgm_graph_release(q->graphs[i]);
        rgm_text_clear(&q->texts[i]);
    }
    rgm_graph_release(q->merged);
    rgm_graph_data_clear(&q->data);
}

static void check_close_tensors(const rgm_tensor *got, const rgm_tensor *want, double tolerance)
{
    CHECK_INT(rgm_tensor_rank(want), rgm_tensor_rank(got));
    CHECK_INT(rgm_tensor_count(want), rgm_tensor_count(got));
    for (int64_t i = 0; i < rgm_tensor_count(want); i++)
        CHECK_CLOSE(rgm_tensor_at(want, i), rgm_tensor_at(got, i), tolerance, tolerance);
}

/* The run's answer for the same nodes of the same graph; its readout has labels. */
static rgm_tensor *asked_of_run(const trained *t, const questions *q)
{
    int64_t numbers[16], n = 0;
    rgm_tensor *nodes, *answer;
    rgm_graph *graph, *processed;
    rgm_element *element;

    for (int64_t i = 0; i < EXAMPLES; i++) {
        const rgm_tensor *source = rgm_graph_source(q->graphs[i], "_readout/seed");
        for (int64_t k = 0; k < rgm_tensor_count(source); k++)
            numbers[n++] = rgm_tensor_at_int(source, k);
    }
    CHECK_OK(rgm_tensor_create_from(&nodes, RGM_I64, 1, &n, numbers));
    CHECK_OK(rgm_graph_with_readout(&graph, q->data.graphs[0], "_readout", "seed", "paper", nodes,
                                    "label"));
    CHECK_OK(rgm_element_create_pointer(&element, &rgm_graph_element, graph));
    CHECK_OK(rgm_graph_run_preprocess(&processed, t->run, &element, 1));
    CHECK_OK(rgm_graph_run_predict(&answer, t->run, 0, processed));
    rgm_graph_release(processed);
    rgm_element_release(element);
    rgm_tensor_release(nodes);
    return answer;
}

/* The ONNX file's second output, from the tables of all Examples together. */
static rgm_tensor *asked_of_file(const trained *t, const questions *q)
{
    char *path = path_of(t->export_dir, "model.onnx");
    rgm_named_tensor *tables;
    rgm_onnx_model *model;
    rgm_tensor *outputs[2];
    int64_t count;

    CHECK_OK(rgm_onnx_open(&model, path));
    CHECK_OK(rgm_graph_tables(&tables, &count, q->merged));
    CHECK_OK(rgm_onnx_run(outputs, model, tables, count));
    CHECK_TEXT("{\"classification_logits\": [\"red\", \"green\", \"blue\"], "
               "\"probabilities\": [\"red\", \"green\", \"blue\"]}",
               rgm_onnx_metadata(model, RGM_ONNX_CLASS_NAMES));
    rgm_onnx_inputs_release(tables, count);
    rgm_onnx_close(model);
    rgm_tensor_release(outputs[0]);
    rgm_free(path);
    return outputs[1];
}

static rgm_status ask_rows(rgm_answers *out, rgm_predictor *p, const rgm_tensor *rows)
{
    return rgm_predictor_ask(out, p,
                             &(rgm_questions){.count = rgm_tensor_dim(rows, 0), .rows = rows});
}

static rgm_status ask(rgm_answers *out, rgm_predictor *p, const rgm_str *texts, int64_t count)
{
    return rgm_predictor_ask(out, p, &(rgm_questions){.count = count, .texts = texts});
}

/* The same of a merged Example: all that it asks about is one answer. */
static void an_example_of_several_components_has_all_their_answers(void **state)
{
    (void)state;
    trained t;
    questions q;
    rgm_predictor *p;
    rgm_answers all, by_run;
    rgm_text merged = {0};

    trained_open(&t, graph_text);
    questions_open(&q);
    CHECK_OK(rgm_graph_encode(&merged, q.merged, NULL));
    CHECK_OK(rgm_predictor_open(&p, t.export_dir, NULL, 0));
    rgm_str texts[] = {{merged.data, merged.size}, q.examples[2]};
    CHECK_OK(ask(&all, p, texts, 2));
    CHECK_INT(q.asked, all.begins[0][1]);
    CHECK_INT(q.asked + 3, all.begins[0][2]);
    rgm_predictor_release(p);
    rgm_run_close(t.run);
    t.run = NULL;
    char *run_dir = path_of(t.folder, "run");
    CHECK_OK(rgm_predictor_open(&p, run_dir, NULL, 0)); /* a run's folder is asked likewise */
    CHECK_OK(ask(&by_run, p, texts, 2));
    CHECK_INT(q.asked + 3, by_run.begins[1][2]);
    check_close_tensors(all.outputs[1], by_run.outputs[1], 1e-5);
    rgm_answers_clear(&by_run);
    rgm_answers_clear(&all);
    rgm_predictor_release(p);
    rgm_free(run_dir);
    rgm_text_clear(&merged);
    questions_close(&q);
    trained_close(&t);
}

static void a_predictor_answers_examples_as_run_and_file_do(void **state)
{
    (void)state;
    trained t;
    questions q;
    rgm_predictor *p;
    const rgm_export_output *about;
    rgm_question_form form;
    rgm_answers all, one;
    rgm_tensor *by_run, *by_file;

    trained_open(&t, graph_text);
    questions_open(&q);
    by_run = asked_of_run(&t, &q);
    by_file = asked_of_file(&t, &q);
    rgm_run_close(t.run); /* only the folder is needed */
    t.run = NULL;
    char *config = path_of(t.folder, "run/config.yaml");
    CHECK_INT(0, remove(config));
    CHECK_OK(rgm_predictor_open(&p, t.export_dir, NULL, 0));
    CHECK_OK(rgm_predictor_form(&form, p));
    CHECK_INT(RGM_QUESTIONS_EXAMPLES, form);
    CHECK_INT(RGM_FEATURE_INTS, rgm_predictor_example_kind(p, "nodes/paper.words"));
    CHECK_INT(RGM_FEATURE_NONE, rgm_predictor_example_kind(p, "nodes/paper.wrods"));
    CHECK_INT(2, rgm_predictor_outputs(&about, p));
    CHECK_TEXT("classification_logits", about[0].name);
    CHECK_INT(RGM_OUTPUT_LOGITS, about[0].kind);
    CHECK_TEXT("probabilities", about[1].name);
    CHECK_INT(RGM_OUTPUT_PROBABILITIES, about[1].kind);
    CHECK_INT(3, about[1].classes.count);
    CHECK_TEXT("blue", about[1].classes.items[2]);
    for (int times = 0; times < 2; times++) {
        CHECK_OK(ask(&all, p, q.examples, EXAMPLES));
        CHECK_INT(2, all.output_count);
        CHECK_INT(EXAMPLES, all.count);
        CHECK(!all.is_single && all.texts == NULL);
        for (int64_t i = 0; i <= EXAMPLES; i++) /* Example i asks about i + 1 nodes */
            CHECK_INT(i * (i + 1) / 2, all.begins[i % 2][i]);
        check_close_tensors(all.outputs[0], by_run, 1e-5);
        check_close_tensors(all.outputs[1], by_file, 1e-5);
        CHECK_OK(ask(&one, p, q.examples, 1)); /* one alone */
        CHECK_INT(1, rgm_tensor_dim(one.outputs[0], 0));
        for (int64_t u = 0; u < 3; u++)
            CHECK_CLOSE(rgm_tensor_at(by_run, u), rgm_tensor_at(one.outputs[0], u), 1e-5, 1e-5);
        rgm_answers_clear(&all);
        rgm_answers_clear(&one);
    }
    rgm_predictor_release(p);
    rgm_tensor_release(by_run);
    rgm_tensor_release(by_file);
    rgm_free(config);
    questions_close(&q);
    trained_close(&t);
}

/* An Example with the field `key` as floats, or left out with its row lengths. */
static rgm_text changed(const rgm_str *example, const char *key, bool as_floats)
{
    static const float some[4096];
    rgm_example_field fields[32];
    rgm_example *decoded;
    rgm_text out = {0};
    int64_t n = 0;

    CHECK_OK(rgm_example_create(&decoded));
    CHECK_OK(rgm_example_decode(decoded, example->data, example->size));
    CHECK(rgm_example_find(decoded, key) != NULL);
    for (int64_t i = 0; i < rgm_example_count(decoded); i++) {
        fields[n] = *rgm_example_feature(decoded, i);
        bool begins = fields[n].key.size >= (int64_t)strlen(key) &&
                      memcmp(fields[n].key.data, key, strlen(key)) == 0;
        if (!begins || (as_floats && fields[n].key.size > (int64_t)strlen(key))) {
            n++;
        } else if (as_floats) {
            fields[n].kind = RGM_FEATURE_FLOATS;
            fields[n].floats = some;
            n++;
        }
    }
    CHECK_OK(rgm_example_encode(&out, fields, n));
    rgm_example_release(decoded);
    return out;
}

static void wrong_examples_are_refused_by_place_and_reason(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        bool as_floats;
        rgm_status status;
        const char *part;
    } wrong[] = {
        {"nodes/paper.words", false, RGM_ERR_DATA, "words"},
        {"nodes/paper.words", true, RGM_ERR_DATA,
         "example 1: 'nodes/paper.words' is a float_list, expected int64_list"},
        {"edges/cites.#source", false, RGM_ERR_DATA,
         "example 1: 'edges/cites.#source' has 0 values for"},
    };
    trained t;
    questions q;
    rgm_predictor *p;
    rgm_answers got;

    trained_open(&t, graph_text);
    questions_open(&q);
    CHECK_OK(rgm_predictor_open(&p, t.export_dir, NULL, 0));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rgm_text text = changed(&q.examples[1], wrong[i].key, wrong[i].as_floats);
        rgm_str examples[EXAMPLES] = {q.examples[0], {text.data, text.size}, q.examples[2]};
        CHECK_STATUS(wrong[i].status, ask(&got, p, examples, EXAMPLES));
        CHECK_MESSAGE(wrong[i].part);
        if (i == 0) { /* in all of them it is absent, not only in one */
            examples[0] = examples[1];
            CHECK_STATUS(RGM_ERR_NOT_FOUND, ask(&got, p, examples, 2));
            CHECK_MESSAGE("node set 'paper': feature 'words' is asked for by the model but absent");
        }
        rgm_text_clear(&text);
    }
    rgm_str cut[2] = {q.examples[0], {q.examples[1].data, q.examples[1].size / 2}};
    CHECK(ask(&got, p, cut, 2) < 0);
    CHECK_MESSAGE("example 1: ");
    CHECK_STATUS(RGM_ERR_ARG, ask(&got, p, cut, 0));
    int64_t shape[2] = {1, 4};
    rgm_tensor *rows;
    CHECK_OK(rgm_tensor_create(&rows, RGM_F32, 2, shape));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, ask_rows(&got, p, rows));
    CHECK_MESSAGE("takes examples, no rows of numbers");
    CHECK_OK(ask(&got, p, q.examples, EXAMPLES)); /* it goes on */
    rgm_answers_clear(&got);
    rgm_tensor_release(rows);
    rgm_predictor_release(p);
    questions_close(&q);
    trained_close(&t);
}

/* ---- folders --------------------------------------------------------------------------------- */

static rgm_status open_and_close(const char *folder)
{
    rgm_predictor *p;

    RGM_TRY(rgm_predictor_open(&p, folder, NULL, 0));
    rgm_predictor_release(p);
    return RGM_OK;
}

static void check_folder_refused(const char *folder, const char *name, const char *text,
                                 rgm_status status, const char *part)
{
    char *path = path_of(folder, name), *old;
    int64_t size;

    CHECK_OK(rgm_file_load(&old, &size, path, 1 << 24));
    if (text != NULL)
        CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    else
        CHECK_INT(0, remove(path));
    CHECK_STATUS(status, open_and_close(folder));
    CHECK_MESSAGE(part);
    for (int64_t cut = 0; cut < size; cut += 1 + size / 40) { /* any beginning of it */
        CHECK_OK(rgm_file_save(path, old, cut));
        (void)open_and_close(folder);
    }
    CHECK_OK(rgm_file_save(path, old, size));
    CHECK_OK(open_and_close(folder));
    rgm_free(old);
    rgm_free(path);
}

#define TASK "task: {type: node_classification, num_classes: 3}\n"
static void folders_that_are_not_whole_are_refused(void **state)
{
    (void)state;
    trained t;

    trained_open(&t, graph_text);
    const char *f = t.export_dir;
    CHECK_OK(open_and_close(f));
    check_folder_refused(f, "model.yaml", NULL, RGM_ERR_NOT_FOUND, "has no model.yaml");
    check_folder_refused(f, "model.yaml", "version: 2\n" TASK, RGM_ERR_VERSION, "is of version 2");
    check_folder_refused(f, "model.yaml", TASK "model: {type: gcn}\ndata: {}\n", RGM_ERR_CONFIG,
                         "'version' is missing");
    check_folder_refused(f, "model.yaml", "version: 1\ntrainer: {epochs: 3}\n", RGM_ERR_CONFIG,
                         "unknown section 'trainer'");
    check_folder_refused(f, "model.yaml",
                         "version: 1\n" TASK "model: {type: graph_sage, hidden: [1000000]}\n"
                         "data: {}\n",
                         RGM_ERR_SHAPE, "the model has");
    check_folder_refused(f, "model.yaml",
                         "version: 1\n" TASK "model: {type: gcn, hidden: [8]}\ndata: {}\n",
                         RGM_ERR_NOT_FOUND, "conv_");
    check_folder_refused(
        f, "model.yaml",
        "version: 1\ntask: {type: translation}\nmodel: {type: seq2seq_transformer}\n"
        "data: {}\n",
        RGM_ERR_NOT_FOUND, "keeps no tokenizer.model");
    check_folder_refused(f, "schema.pbtxt", "node_sets { key: 'paper' value { } }\n",
                         RGM_ERR_CONFIG, "_readout");
    check_folder_refused(f, "schema.pbtxt", NULL, RGM_ERR_NOT_FOUND, "schema.pbtxt");
    check_folder_refused(f, "model.safetensors", "no weights", RGM_ERR_FORMAT, "model.safetensors");
    CHECK_EVERY_OOM(open_and_close(f), (void)0);
    trained_close(&t);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { ROWS = 40 };

static double cell(int row, int column)
{
    return (row * 7 + column * 3) % 16;
}

static void write_rows(const char *folder)
{
    rgm_text text = {0};

    for (int r = 0; r < ROWS; r++)
        CHECK_OK(rgm_text_printf(&text, "%d,%g,%g,%g,%g\n", r % 3, cell(r, 0), cell(r, 1),
                                 cell(r, 2), cell(r, 3)));
    write_text(folder, "rows.csv", text.data);
    rgm_text_clear(&text);
}

static rgm_status keep_batch(const rgm_prediction *p, void *payload)
{
    rgm_tensor **kept = payload;

    RGM_TRY(rgm_tensor_copy(&kept[0], p->values));
    return rgm_tensor_copy(&kept[1], p->probabilities);
}

static void a_predictor_answers_rows_as_the_run_does(void **state)
{
    (void)state;
    trained t;
    rgm_text yaml = {0};
    rgm_predictor *p;
    rgm_answers got;
    rgm_tensor *want[2], *rows, *wide;
    int64_t shape[3] = {ROWS, 2, 2};

    char data[256];
    snprintf(data, sizeof data, "%s", check_folder());
    write_rows(data);
    CHECK_OK(rgm_text_printf(
        &yaml,
        "data: {path: \"%s\", train: rows.csv, test: rows.csv, label: first, scale: 16,\n"
        "       shape: [2, 2], batch_size: 64}\n"
        "task: {type: classification, num_classes: 3}\n"
        "model: {type: mlp, hidden: [6], batch_norm: true}\n"
        "optimizer: {type: adam, learning_rate: 0.01}\ntrainer: {epochs: 3}\n"
        "export: [{type: onnx}]\n",
        data));
    trained_open(&t, yaml.data);
    CHECK_OK(rgm_run_predict(t.run, RGM_TEST, 0, keep_batch, want));
    CHECK_OK(rgm_predictor_open(&p, t.export_dir, NULL, 0));
    CHECK_OK(rgm_tensor_create(&rows, RGM_F64, 3, shape));
    for (int i = 0; i < ROWS * 4; i++)
        ((double *)rgm_tensor_data(rows))[i] = cell(i / 4, i % 4);
    CHECK_OK(ask_rows(&got, p, rows));
    CHECK(got.is_single);
    CHECK_INT(ROWS, got.begins[1][ROWS]);
    check_close_tensors(got.outputs[0], want[0], 1e-5);
    check_close_tensors(got.outputs[1], want[1], 1e-5);
    rgm_answers_clear(&got);
    shape[1] = 1, shape[2] = 4; /* the same numbers, but not as a record has them */
    CHECK_OK(rgm_tensor_create_from(&wide, RGM_F64, 3, shape, rgm_tensor_data(rows)));
    CHECK_STATUS(RGM_ERR_SHAPE, ask_rows(&got, p, wide));
    CHECK_MESSAGE("1,4], but a record has 4 numbers, flat or of the shape [2, 2]");
    rgm_tensor_release(wide);
    shape[1] = 4; /* flat too */
    CHECK_OK(rgm_tensor_create_from(&wide, RGM_F64, 2, shape, rgm_tensor_data(rows)));
    CHECK_OK(ask_rows(&got, p, wide));
    check_close_tensors(got.outputs[0], want[0], 1e-5);
    rgm_answers_clear(&got);
    ((double *)rgm_tensor_data(wide))[9] = NAN;
    CHECK_STATUS(RGM_ERR_DATA, ask_rows(&got, p, wide));
    CHECK_MESSAGE("row 2 has nan");
    rgm_tensor_release(wide);
    shape[1] = 3;
    CHECK_OK(rgm_tensor_create(&wide, RGM_F32, 2, shape));
    CHECK_STATUS(RGM_ERR_SHAPE, ask_rows(&got, p, wide));
    CHECK_MESSAGE("a record has 4 numbers");
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, ask(&got, p, &(rgm_str){"", 0}, 1));
    rgm_tensor_release(wide);
    rgm_tensor_release(rows);
    rgm_tensor_release(want[0]);
    rgm_tensor_release(want[1]);
    rgm_predictor_release(p);
    rgm_text_clear(&yaml);
    trained_close(&t);
    CHECK_OK(rgm_folder_remove(data));
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* max_length, which an export does not keep, is above the other one by default. */
static const char reverse_text[] =
    "data: {reverse: {vocabulary: 10, min_length: 1, max_length: 6, train: 60, valid: 6},\n"
    "       batch_tokens: 128, batch_shapes: 4, max_length: 40}\n"
    "task: {type: translation, search: {beam_size: 3, n_best: 2}}\n"
    "model: {type: seq2seq_transformer, embedding_width: 8, max_positions: 40,\n"
    "        encoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16},\n"
    "        decoder: {num_layers: 1, num_attention_heads: 2, intermediate_size: 16}}\n"
    "optimizer: {type: adam, learning_rate: 0.01}\ntrainer: {epochs: 1}\n"
    "export: [{type: predictor}]\n";

static rgm_status ask_afresh(rgm_answers *out, const char *folder, const rgm_str *lines)
{
    rgm_predictor *p;
    rgm_status status;

    RGM_TRY(rgm_predictor_open(&p, folder, NULL, 0));
    status = ask(out, p, lines, 2);
    rgm_predictor_release(p);
    return status;
}

static void a_predictor_answers_lines_as_the_run_does(void **state)
{
    (void)state;
    const char *const wrong[] = {"task.search.beam_sise=1"};
    const char *const greedy[] = {"task.search.beam_size=1", "task.search.n_best=1"};
    const rgm_str lines[] = {{"3 4 5", 5}, {"", 0}, {"9 2", 3}, {"3 x", 3}};
    const char *const wishes[] = {NULL, "{\"prefix\": \"7 8\", \"alignment\": \"words\"}"};
    const char *const bad[] = {NULL, "{\"required\": [\"4\"]}"};
    const rgm_export_output *about;
    rgm_predictor *of_export, *of_run, *alone, *none;
    rgm_answers got, want;
    trained t;

    trained_open(&t, reverse_text);
    CHECK_OK(rgm_predictor_open(&of_export, t.export_dir, NULL, 0));
    CHECK_OK(rgm_run_predictor(&of_run, t.run));
    CHECK_INT(4, rgm_predictor_outputs(&about, of_export));
    CHECK_TEXT("score", about[0].name);
    CHECK_OK(ask(&got, of_export, lines, 3));
    CHECK_OK(ask(&want, of_run, lines, 3));
    CHECK_INT(3, got.count);
    CHECK(!got.is_single);
    CHECK_INT(1, got.begins[1][2] - got.begins[1][1]); /* of no words one translation */
    CHECK_TEXT("", got.texts[got.begins[0][1]]);
    CHECK_INT(want.begins[0][3], got.begins[0][3]);
    for (int64_t i = 0; i < want.begins[0][3]; i++) {
        CHECK_TEXT(want.texts[i], got.texts[i]);
        CHECK_CLOSE(rgm_tensor_at(want.outputs[0], i), rgm_tensor_at(got.outputs[0], i), 0, 0);
    }
    rgm_answers_clear(&got);
    CHECK_STATUS(RGM_ERR_DATA, ask(&got, of_export, lines, 4));
    CHECK_MESSAGE("'x' is no token");
    CHECK_INT(3, got.count); /* those before it */
    CHECK_TEXT(want.texts[0], got.texts[0]);
    rgm_answers_clear(&got);
    CHECK_EVERY_OOM(ask_afresh(&got, t.export_dir, lines), rgm_answers_clear(&got));
    CHECK_OK(rgm_predictor_open(&alone, t.export_dir, greedy, 2));
    CHECK_OK(ask(&got, alone, lines, 1));
    CHECK(got.is_single);
    rgm_answers_clear(&got);
    rgm_answers_clear(&want);
    CHECK_OK(rgm_predictor_ask(&got, alone,
                               &(rgm_questions){.count = 2, .texts = lines + 1, .wishes = wishes}));
    CHECK_TEXT("", got.texts[0]);
    CHECK_INT(0, strncmp(got.texts[1], "7 8", 3));
    CHECK(got.alignments[0] == NULL && strchr(got.alignments[1], '-') != NULL);
    rgm_answers_clear(&got);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_predictor_ask(
                     &got, alone, &(rgm_questions){.count = 2, .texts = lines + 1, .wishes = bad}));
    CHECK_MESSAGE("required texts need task.search.beam_size of 2");
    CHECK_INT(1, got.count); /* the one before it */
    rgm_answers_clear(&got);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_predictor_open(&none, t.export_dir, wrong, 1));
    CHECK_MESSAGE("beam_size");
    rgm_predictor_release(alone);
    rgm_predictor_release(of_run);
    rgm_predictor_release(of_export);
    check_folder_refused(t.export_dir, "model.safetensors", "no weights", RGM_ERR_FORMAT,
                         "model.safetensors");
    trained_close(&t);
}

TESTS(cmocka_unit_test(a_predictor_answers_examples_as_run_and_file_do),
      cmocka_unit_test(an_example_of_several_components_has_all_their_answers),
      cmocka_unit_test(a_predictor_answers_lines_as_the_run_does),
      cmocka_unit_test(wrong_examples_are_refused_by_place_and_reason),
      cmocka_unit_test(folders_that_are_not_whole_are_refused),
      cmocka_unit_test(a_predictor_answers_rows_as_the_run_does))
