/*
 * Receivers that parse tf.train.Examples: what is exported, what is predicted of them against the
 * same numbers as tensors, and every Example that is refused.
 */
#include <check.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <regimen/trial_task.h>

#include "trial_internal.h"

enum { ROWS = 4, EXAMPLES = 3 };

static char folder[128];
static rgm_search_file *file;
static bool leaks; /* the prediction needs a tensor that no feature becomes */
static bool plain; /* it needs no words, and no receiver parses Examples */

/* ---- a trial of two numbers, words and a flag -------------------------------------------------
 */

static rgm_status rows(rgm_dataset **out, int64_t words)
{
    rgm_tensor *t[4] = {NULL};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_tensor_create(&t[0], RGM_F32, 2, (int64_t[]){ROWS, 2}));
    RGM_GO(rgm_tensor_create(&t[1], RGM_I32, 2, (int64_t[]){ROWS, words}));
    RGM_GO(rgm_tensor_create(&t[2], RGM_BOOL, 1, (int64_t[]){ROWS}));
    RGM_GO(rgm_tensor_create(&t[3], RGM_F32, 2, (int64_t[]){ROWS, 1}));
    for (int i = 0; i < 4; i++)
        memset(rgm_tensor_data(t[i]), 0, (size_t)rgm_tensor_bytes(t[i]));
    RGM_GO(rgm_dataset_from_tensors(out, t, 4));
    RGM_GO(rgm_dataset_batch(out, 2, false));
done:
    for (int i = 0; i < 4; i++)
        rgm_tensor_release(t[i]);
    return status;
}

static rgm_status make_data_loaders(rgm_data_loaders *out, const rgm_config *experiment,
                                    const rgm_config *hparams)
{
    static const char *const names[] = {"x", "words", "flag", "y", NULL};
    static const char *const varying[] = {"words/1", NULL};

    (void)experiment, (void)hparams;
    out->names = names;
    out->varying = varying;
    RGM_TRY(rows(&out->train, 3));
    return rows(&out->valid, 2);
}

/* flag * (x w + b + sum of words) */
static void build_graph(rgm_outputs *out, rgm_scope *scope, const rgm_record *record,
                        rgm_value *is_training, const rgm_config *hparams)
{
    rgm_value *words = rgm_cast(rgm_record_value(record, "words"), RGM_F32);
    rgm_value *flag = rgm_cast(rgm_record_value(record, "flag"), RGM_F32);
    rgm_value *y = rgm_record_value(record, "y");
    rgm_value *guess = rgm_dense(scope, "line", rgm_record_value(record, "x"), 1);

    (void)is_training, (void)hparams;
    if (!plain)
        guess = rgm_add(guess, rgm_as_rows(scope, rgm_reduce(words, 1, RGM_SUM)));
    guess = rgm_mul(guess, rgm_as_rows(scope, flag));
    rgm_output(out, "loss", rgm_mean(rgm_square(rgm_sub(guess, y))));
    rgm_output(out, "off", rgm_mean(rgm_abs(rgm_sub(guess, y))));
    rgm_output_prediction(out, "guess", leaks ? rgm_add(guess, y) : guess, RGM_OUTPUT_NUMBERS);
}

static rgm_optimizer_options optimizer(const rgm_config *hparams)
{
    return rgm_sgd(rgm_config_float(hparams, "rate"), 0);
}

static const double halves[] = {0.5, -1.5}, one[] = {1}, huge[] = {1e39};
static rgm_parsed_feature features[] = {
    {.input = "x", .key = "numbers", .defaults = halves, .default_count = 2},
    {.input = "words", .padding = 0},
    {.input = "flag", .defaults = one, .default_count = 1},
    {0}};

static rgm_status receivers(rgm_serving_receiver *out, int64_t *count, const rgm_config *hparams)
{
    (void)hparams;
    out[0] = (rgm_serving_receiver){.name = "raw"};
    out[1] = (rgm_serving_receiver){.name = "parsing", .features = features};
    *count = plain ? 1 : 2;
    return RGM_OK;
}

RGM_TRIAL(parsing, .make_data_loaders = make_data_loaders, .build_graph = build_graph,
          .optimizer = optimizer, .validation_metrics = {"off"},
          .build_serving_input_receiver_fns = receivers);

static rgm_status open_trial(rgm_trial **trial, const char *run_dir)
{
    static rgm_hyper_value values[1];
    rgm_mt19937 random;

    rgm_mt19937_seed(&random, 1);
    RGM_TRY(rgm_space_draw(values, rgm_search_file_space(file), &random));
    return rgm_trial_open(trial, &(rgm_trial_setup){.file = file,
                                                    .hooks = &rgm_hooks_parsing,
                                                    .values = values,
                                                    .seed = 3,
                                                    .run_dir = run_dir});
}

static int setup(void **state)
{
    static const char search[] = "entrypoint: its-own\nhyperparameters: {rate: 0.1}\n"
                                 "searcher: {name: random, metric: off, max_trials: 2, "
                                 "max_length: 100}\nbatches_per_step: 1\n";

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    CHECK_OK(rgm_search_file_parse(&file, NULL, search, sizeof search - 1, "s.yaml", NULL));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rgm_search_file_release(file);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* ---- Examples ---------------------------------------------------------------------------------
 */

#define BYTES(text)                                                                                \
    (rgm_str)                                                                                      \
    {                                                                                              \
        text, sizeof text - 1                                                                      \
    }
#define FLOATS(name, n, ...)                                                                       \
    {                                                                                              \
        .key = BYTES(name), .kind = RGM_FEATURE_FLOATS, .count = n, .floats = (const float[])      \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }
#define INTS(name, n, ...)                                                                         \
    {                                                                                              \
        .key = BYTES(name), .kind = RGM_FEATURE_INTS, .count = n, .ints = (const int64_t[])        \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static rgm_str encoded(rgm_text *text, const rgm_example_field *fields, int64_t count)
{
    *text = (rgm_text){0};
    CHECK_OK(rgm_example_encode(text, fields, count));
    return (rgm_str){text->data, text->size};
}

/* Without a flag; without numbers and words; with everything, and more than is asked for. */
static void make_examples(rgm_str *out, rgm_text *texts)
{
    const rgm_example_field first[] = {FLOATS("numbers", 2, 1, 2), INTS("words", 1, 7)};
    const rgm_example_field second[] = {INTS("flag", 1, 5)};
    const rgm_example_field third[] = {FLOATS("numbers", 2, 3, 4), INTS("words", 3, 1, 2, 3),
                                       INTS("flag", 1, 0), FLOATS("y", 1, 9)};

    out[0] = encoded(&texts[0], first, 2);
    out[1] = encoded(&texts[1], second, 1);
    out[2] = encoded(&texts[2], third, 4);
}

static void clear(rgm_text *texts, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        rgm_text_clear(&texts[i]);
}

/* What the three must give, of the weights by hand. */
static void want(float out[EXAMPLES], const rgm_open_run *run)
{
    const rgm_parameters *parameters = rgm_trainer_parameters(rgm_run_trainer(run));
    const float *w = rgm_tensor_f32(rgm_parameters_find(parameters, "line/kernel"));
    float b = rgm_tensor_f32(rgm_parameters_find(parameters, "line/bias"))[0];

    out[0] = 1 * w[0] + 2 * w[1] + b + 7;
    out[1] = 0.5f * w[0] - 1.5f * w[1] + b;
    out[2] = 0;
}

/* What the run answers for Examples; one prediction each. */
static rgm_status ask(rgm_answers *out, rgm_open_run *run, const rgm_str *examples, int64_t count)
{
    rgm_predictor *predictor;
    rgm_status status;

    RGM_TRY(rgm_run_predictor(&predictor, run));
    status = rgm_predictor_ask(out, predictor, &(rgm_questions){.texts = examples, .count = count});
    rgm_predictor_release(predictor);
    return status;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void examples_give_what_their_tensors_give(void **state)
{
    rgm_text texts[EXAMPLES];
    rgm_str examples[EXAMPLES];
    float wanted[EXAMPLES];
    const rgm_task *task;
    rgm_element *batch;
    rgm_trial *trial;
    rgm_answers got;

    (void)state;
    CHECK_OK(open_trial(&trial, NULL));
    make_examples(examples, texts);
    CHECK_OK(ask(&got, rgm_trial_run(trial), examples, EXAMPLES));
    want(wanted, rgm_trial_run(trial));
    CHECK_INT(1, got.output_count);
    CHECK(got.is_single);
    for (int i = 0; i < EXAMPLES; i++)
        CHECK_CLOSE(rgm_tensor_f32(got.outputs[0])[i], wanted[i], 1e-6, 1e-6);
    rgm_answers_clear(&got);
    CHECK_STATUS(RGM_ERR_ARG, ask(&got, rgm_trial_run(trial), examples, 0));
    task = rgm_run_task(rgm_trial_run(trial));
    CHECK_EVERY_OOM(task->example_batch(&batch, task->state, examples, EXAMPLES),
                    rgm_element_release(batch));
    clear(texts, EXAMPLES);
    rgm_trial_close(trial);
}

/* A record has one prediction, and not a list of them. */
static void a_predictor_takes_them_as_records(void **state)
{
    rgm_text texts[EXAMPLES];
    rgm_str examples[EXAMPLES];
    rgm_question_form form;
    float wanted[EXAMPLES];
    rgm_predictor *predictor;
    rgm_answers got;
    rgm_tensor *rows;
    rgm_trial *trial;

    (void)state;
    CHECK_OK(open_trial(&trial, NULL));
    make_examples(examples, texts);
    want(wanted, rgm_trial_run(trial));
    CHECK_OK(rgm_run_predictor(&predictor, rgm_trial_run(trial)));
    CHECK_OK(rgm_predictor_form(&form, predictor));
    CHECK_INT(RGM_QUESTIONS_EXAMPLES, form);
    CHECK_OK(
        rgm_predictor_ask(&got, predictor, &(rgm_questions){.count = EXAMPLES, .texts = examples}));
    CHECK(got.is_single);
    CHECK_INT(1, got.output_count);
    for (int i = 0; i < EXAMPLES; i++)
        CHECK_CLOSE(rgm_tensor_f32(got.outputs[0])[i], wanted[i], 1e-6, 1e-6);
    rgm_answers_clear(&got);
    CHECK_INT(RGM_FEATURE_FLOATS, rgm_predictor_example_kind(predictor, "numbers"));
    CHECK_INT(RGM_FEATURE_INTS, rgm_predictor_example_kind(predictor, "flag"));
    CHECK_INT(RGM_FEATURE_NONE, rgm_predictor_example_kind(predictor, "x"));
    CHECK_OK(rgm_tensor_create_from(&rows, RGM_F32, 2, (int64_t[]){1, EXAMPLES}, wanted));
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_predictor_ask(&got, predictor, &(rgm_questions){.count = 1, .rows = rows}));
    rgm_predictor_release(predictor);
    rgm_tensor_release(rows);
    clear(texts, EXAMPLES);
    rgm_trial_close(trial);
}

static void check_nested(rgm_predictor *predictor, int rank, const int64_t *shape,
                         const double *row, rgm_status status, const char *message)
{
    rgm_answers got;
    rgm_tensor *rows;

    CHECK_OK(rgm_tensor_create_from(&rows, RGM_F64, rank, shape, row));
    CHECK_STATUS(status,
                 rgm_predictor_ask(&got, predictor, &(rgm_questions){.count = 1, .rows = rows}));
    CHECK_MESSAGE(message);
    rgm_tensor_release(rows);
}

static void check_row(rgm_predictor *predictor, int64_t width, const double *row, rgm_status status,
                      const char *message)
{
    check_nested(predictor, 2, (int64_t[]){1, width}, row, status, message);
}

/* Of x and flag alone: the prediction needs neither words nor y. */
static void without_features_it_takes_rows(void **state)
{
    const double values[2 * 3] = {0.5, -2, 1, 3, 4, 0};
    rgm_question_form form;
    rgm_predictor *predictor;
    rgm_tensor *rows, *weights;
    const rgm_task *task;
    rgm_element *batch;
    rgm_answers got;
    rgm_trial *trial;

    (void)state;
    plain = true;
    CHECK_OK(open_trial(&trial, NULL));
    CHECK_OK(rgm_run_predictor(&predictor, rgm_trial_run(trial)));
    CHECK_OK(rgm_predictor_form(&form, predictor));
    CHECK_INT(RGM_QUESTIONS_ROWS, form);
    CHECK_OK(rgm_tensor_create_from(&rows, RGM_F64, 2, (int64_t[]){2, 3}, values));
    CHECK_OK(rgm_predictor_ask(&got, predictor, &(rgm_questions){.count = 2, .rows = rows}));
    weights = rgm_parameters_find(rgm_trainer_parameters(rgm_run_trainer(rgm_trial_run(trial))),
                                  "line/kernel");
    CHECK(got.is_single);
    CHECK_CLOSE(rgm_tensor_f32(got.outputs[0])[0],
                0.5 * rgm_tensor_f32(weights)[0] - 2 * rgm_tensor_f32(weights)[1], 1e-6, 1e-6);
    CHECK(rgm_tensor_f32(got.outputs[0])[1] == 0);
    rgm_answers_clear(&got);
    task = rgm_run_task(rgm_trial_run(trial));
    CHECK_EVERY_OOM(task->row_batch(&batch, task->state, rows), rgm_element_release(batch));
    check_row(predictor, 2, values, RGM_ERR_SHAPE,
              "a row has 2 numbers, but 'parsing' takes 3: 2 of 'x', 1 of 'flag'");
    check_nested(predictor, 3, (int64_t[]){1, 3, 1}, values, RGM_ERR_SHAPE,
                 "rows are f64[1,3,1], but 'parsing' takes them flat, or of one tensor in its "
                 "shape: 2 of 'x', 1 of 'flag'");
    check_row(predictor, 3, (const double[]){1, 2, 0.5}, RGM_ERR_DATA,
              "row 0: 'flag': 0.5 is no value of bool");
    check_row(predictor, 3, (const double[]){1e300, 2, 1}, RGM_ERR_DATA, "1e+300 is no finite");
    rgm_predictor_release(predictor);
    rgm_tensor_release(rows);
    rgm_trial_close(trial);
    plain = false;
}

typedef struct seen {
    int64_t rows;
    float values[2 * 100];
} seen;

static rgm_status take(const rgm_prediction *p, void *payload)
{
    seen *s = payload;

    for (int64_t i = 0; i < rgm_tensor_dim(p->values, 0); i++)
        s->values[s->rows++] = rgm_tensor_f32(p->values)[i];
    return RGM_OK;
}

/* More than one batch, in the order of the file. */
static void a_file_of_examples_is_predicted_for(void **state)
{
    rgm_text texts[EXAMPLES];
    rgm_str examples[EXAMPLES];
    rgm_tfrecord_writer *writer;
    float wanted[EXAMPLES];
    char path[200];
    rgm_trial *trial;
    rgm_predictor *predictor;
    seen s = {0};

    (void)state;
    snprintf(path, sizeof path, "%s/new.tfrecord", folder);
    make_examples(examples, texts);
    CHECK_OK(rgm_tfrecord_writer_open(&writer, path, NULL));
    for (int i = 0; i < 100; i++)
        CHECK_OK(rgm_tfrecord_writer_add(writer, examples[i % EXAMPLES].data,
                                         examples[i % EXAMPLES].size));
    CHECK_OK(rgm_tfrecord_writer_finish(writer));
    rgm_tfrecord_writer_close(writer);
    CHECK_OK(open_trial(&trial, NULL));
    want(wanted, rgm_trial_run(trial));
    CHECK_OK(rgm_run_predictor(&predictor, rgm_trial_run(trial)));
    for (int i = 0; i < 2; i++) /* the file, and its folder */
        CHECK_OK(rgm_predictor_run_files(
            predictor, &(rgm_new_data){.files = i == 0 ? path : folder}, 0, take, &s));
    CHECK_INT(200, s.rows);
    for (int i = 0; i < 200; i++)
        CHECK_CLOSE(s.values[i], wanted[i % 100 % EXAMPLES], 1e-6, 1e-6);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_predictor_run_files(predictor, &(rgm_new_data){.files = path, .items = path},
                                         0, take, &s));
    rgm_predictor_release(predictor);
    clear(texts, EXAMPLES);
    rgm_trial_close(trial);
}

static void check_example(rgm_open_run *run, const rgm_example_field *fields, int64_t count,
                          rgm_status status, const char *message)
{
    rgm_text text;
    rgm_str example = encoded(&text, fields, count);
    rgm_answers got;

    CHECK_STATUS(status, ask(&got, run, &example, 1));
    CHECK_MESSAGE(message);
    rgm_text_clear(&text);
}

static void what_an_example_has_wrong_is_told(void **state)
{
    const rgm_example_field kind[] = {INTS("numbers", 2, 1, 2)};
    const rgm_example_field count[] = {FLOATS("numbers", 3, 1, 2, 3)};
    const rgm_example_field bytes[] = {
        {.key = BYTES("words"), .kind = RGM_FEATURE_BYTES, .count = 1, .bytes = &BYTES("seven")}};
    const rgm_example_field large[] = {INTS("words", 1, INT64_C(1) << 31)};
    const rgm_str damaged = BYTES("\x0a\xff\x01");
    rgm_answers got;
    rgm_trial *trial;
    rgm_open_run *run;

    (void)state;
    CHECK_OK(open_trial(&trial, NULL));
    run = rgm_trial_run(trial);
    check_example(run, kind, 1, RGM_ERR_DATA,
                  "example 0: the feature 'numbers' has integers, where floats become 'x'");
    check_example(run, count, 1, RGM_ERR_DATA,
                  "the feature 'numbers' has 3 values, but 'x' takes 2");
    check_example(run, bytes, 1, RGM_ERR_DATA, "has bytes, where integers become 'words'");
    check_example(run, large, 1, RGM_ERR_DATA, "2147483648 does not fit into an i32");
    CHECK_STATUS(RGM_ERR_FORMAT, ask(&got, run, &damaged, 1));
    CHECK_MESSAGE("example 0: tf.train.Example: byte");
    rgm_trial_close(trial);
    features[0].default_count = 0;
    CHECK_OK(open_trial(&trial, NULL));
    check_example(rgm_trial_run(trial), large, 0, RGM_ERR_NOT_FOUND,
                  "there is no feature 'numbers'");
    rgm_trial_close(trial);
    features[0].default_count = 2;
}

/* One of 100,000 words and 1,000 without any, a request of 100 KB: 100,000,000 words of padding. */
static void a_long_list_among_many_empty_ones_is_refused(void **state)
{
    enum { LONG = 100000, COUNT = 1000 };
    int64_t *words = rgm_malloc(LONG * sizeof *words);
    rgm_example_field list = {
        .key = BYTES("words"), .kind = RGM_FEATURE_INTS, .count = LONG, .ints = words};
    rgm_str examples[COUNT];
    rgm_answers got;
    rgm_trial *trial;
    rgm_text texts[2];

    (void)state;
    CHECK_OK(open_trial(&trial, NULL));
    for (int i = 0; i < LONG; i++)
        words[i] = 1;
    examples[0] = encoded(&texts[0], &list, 0);
    for (int i = 1; i < COUNT; i++)
        examples[i] = examples[0];
    examples[7] = encoded(&texts[1], &list, 1);
    CHECK_STATUS(RGM_ERR_DATA, ask(&got, rgm_trial_run(trial), examples, COUNT));
    CHECK_MESSAGE("example 7: the feature 'words' has 100000 values, to which the lists of 1000 ");
    CHECK_OK(ask(&got, rgm_trial_run(trial), &examples[7], 2));
    rgm_answers_clear(&got);
    clear(texts, 2);
    rgm_free(words);
    rgm_trial_close(trial);
}

static void check_refused(int at, rgm_parsed_feature feature, const char *message)
{
    const rgm_parsed_feature before = features[at];
    rgm_trial *trial;

    features[at] = feature;
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, NULL));
    CHECK_MESSAGE(message);
    features[at] = before;
}

static void what_no_example_can_have_is_refused_before_the_first_step(void **state)
{
    rgm_trial *trial;

    (void)state;
    check_refused(0, (rgm_parsed_feature){.input = "xx"},
                  "receiver 'parsing': no tensor is named 'xx'");
    check_refused(0, (rgm_parsed_feature){.input = "flag"},
                  "receiver 'parsing': two features become 'flag'");
    check_refused(1, (rgm_parsed_feature){.input = "words", .defaults = one, .default_count = 1},
                  "it has padding, no defaults");
    check_refused(2, (rgm_parsed_feature){.input = "flag", .defaults = halves, .default_count = 2},
                  "'flag' has 2 defaults: it takes one for all values of a record, or 1");
    check_refused(2, (rgm_parsed_feature){.input = "flag", .defaults = halves, .default_count = 1},
                  "receiver 'parsing': 0.5 is no value of 'flag', which is bool");
    check_refused(1, (rgm_parsed_feature){.input = "words", .padding = 1e10},
                  "1e+10 is no value of 'words', which is i32");
    check_refused(0, (rgm_parsed_feature){.input = "x", .defaults = huge, .default_count = 1},
                  "1e+39 of 'x' is no 32-bit float");
    check_refused(2, (rgm_parsed_feature){.input = "y"},
                  "the graph takes the input 'flag', for which no feature is parsed");
    leaks = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_trial(&trial, NULL));
    CHECK_MESSAGE(
        "receiver 'parsing': SavedModel export: the graph takes the input 'y', for which");
    leaks = false;
}

/* The files for tests/oracle/saved_model.sh, which asks for them. */
static void keep_for_tensorflow(const char *checkpoint)
{
    static const char *const names[] = {"saved_model.pb", "examples.json"};
    const char *to = getenv("RGM_PARSING_DUMP");
    char path[400], *data;
    int64_t size;

    if (to == NULL)
        return;
    CHECK_OK(rgm_folder_make(to));
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/run/%s/parsing/%s", folder, checkpoint, names[i]);
        CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
        snprintf(path, sizeof path, "%s/%s", to, names[i]);
        CHECK_OK(rgm_file_save(path, data, size));
        rgm_free(data);
    }
}

static void a_checkpoint_has_both_forms(void **state)
{
    static const char *const wanted[] = {"raw/model.onnx", "parsing/model.onnx",
                                         "parsing/signature.json", "parsing/saved_model.pb",
                                         "parsing/examples.json"};
    rgm_workload_result r;
    rgm_trial *trial;
    char path[300], *text;
    int64_t found = 0, size;

    (void)state;
    snprintf(path, sizeof path, "%s/run", folder);
    CHECK_OK(open_trial(&trial, path));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_RUN_STEP, 1, 1}, &r));
    CHECK_OK(rgm_trial_do(trial, &(rgm_workload){RGM_CHECKPOINT_MODEL, 1, 1}, &r));
    for (int64_t i = 0; i < r.file_count; i++) {
        for (size_t k = 0; k < sizeof wanted / sizeof *wanted; k++)
            found += strcmp(r.files[i].path, wanted[k]) == 0;
        CHECK(strcmp(r.files[i].path, "raw/saved_model.pb") != 0);
    }
    CHECK_INT(sizeof wanted / sizeof *wanted, found);
    snprintf(path, sizeof path, "%s/run/%s/parsing/examples.json", folder, r.checkpoint);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 16));
    CHECK(strstr(text, "{\"key\": \"numbers\", \"list\": \"float\", \"tensor\": \"x\", "
                       "\"shape\": [2], \"required\": false, \"default\": [0.5, -1.5]}") != NULL);
    CHECK(strstr(text, "{\"key\": \"words\", \"list\": \"int64\", \"tensor\": \"words\", "
                       "\"shape\": [-1], \"padding\": 0.0}") != NULL);
    rgm_free(text);
    keep_for_tensorflow(r.checkpoint);
    rgm_trial_close(trial);
}

/* The largest of an export's files may have a byte less than it needs, as on a full disk. */
static void an_export_that_fails_leaves_nothing(void **state)
{
    const struct sigaction ignored = {.sa_handler = SIG_IGN};
    struct rlimit before, small;
    char path[400], whole[300], full[300];
    struct stat found;
    rgm_run_options options;
    rgm_trial_task *task;
    rgm_open_run *run;
    rgm_status status;

    (void)state;
    snprintf(path, sizeof path, "%s/full", folder);
    snprintf(whole, sizeof whole, "%s/whole-export", folder);
    snprintf(full, sizeof full, "%s/full-export", folder);
    CHECK_OK(rgm_trial_task_create(&task, file, &rgm_hooks_parsing));
    CHECK_OK(rgm_trial_task_prepare(&options, task, path));
    CHECK_OK(rgm_trial_task_open(&run, task, &options));
    CHECK_OK(rgm_run_export(run, whole));
    snprintf(path, sizeof path, "%s/parsing/saved_model.pb", whole);
    CHECK_INT(0, stat(path, &found));
    CHECK_INT(0, sigaction(SIGXFSZ, &ignored, NULL));
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &before));
    small = (struct rlimit){(rlim_t)found.st_size - 1, before.rlim_max};
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &small));
    status = rgm_run_export(run, full);
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &before));
    CHECK_STATUS(RGM_ERR_IO, status);
    CHECK_MESSAGE("receiver 'parsing'");
    snprintf(path, sizeof path, "%s/parsing.partial", full);
    CHECK(!rgm_path_exists(path));
    CHECK_OK(rgm_run_export(run, full));
    snprintf(path, sizeof path, "%s/parsing/saved_model.pb", full);
    CHECK(rgm_path_exists(path));
    rgm_run_close(run);
    rgm_trial_task_release(task);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_give_what_their_tensors_give),
        cmocka_unit_test(a_predictor_takes_them_as_records),
        cmocka_unit_test(without_features_it_takes_rows),
        cmocka_unit_test(a_file_of_examples_is_predicted_for),
        cmocka_unit_test(what_an_example_has_wrong_is_told),
        cmocka_unit_test(a_long_list_among_many_empty_ones_is_refused),
        cmocka_unit_test(what_no_example_can_have_is_refused_before_the_first_step),
        cmocka_unit_test(a_checkpoint_has_both_forms),
        cmocka_unit_test(an_export_that_fails_leaves_nothing)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
