/*
 * A program's own rows in experiment files: named, checked, printed and resumed like the library's.
 */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <regimen/graph_tasks.h>
#include "experiment_internal.h"
#include "saved_model_check.h"

static const char *folder;

/* ---- an optimizer and a schedule: w -= rate * (gradient * gain + pull * m) ------------------- */

typedef struct pull_options {
    double gain;
    int64_t period;
    rgm_texts labels;
} pull_options;

static void pull_defaults(void *options)
{
    *(pull_options *)options = (pull_options){.gain = 1, .period = 3};
}

static rgm_status pull_check(const void *options)
{
    const pull_options *o = options;

    return o->gain * (double)o->period < 100
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "gain %g with period %lld is too much", o->gain,
                          (long long)o->period);
}

#define RGM_OPTIONS pull_options
static const rgm_field pull_fields[] = {RGM_FLOAT_FIELD(gain, 0, 50, "factor on the gradient"),
                                        RGM_INT_FIELD(period, 1, 1000, "updates"),
                                        RGM_TEXTS_FIELD(labels, "whatever"),
                                        {0}};
#undef RGM_OPTIONS

static const rgm_section_type pull_own = {"pull",        NULL,        sizeof(pull_options),
                                          pull_defaults, pull_fields, pull_check};

static const rgm_optimizer_type pull_type;

static void pull_set(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&pull_type, 0.05);
}

static int pull_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    (void)options;
    slots[0] = (rgm_slot){.name = "trail", .rank = rgm_tensor_rank(w)};
    memcpy(slots[0].shape, rgm_tensor_shape(w), (size_t)slots[0].rank * sizeof(int64_t));
    return 1;
}

static void pull_step(const rgm_update *u)
{
    const pull_options *o = u->options->own;
    float *w = u->w, *trail = u->slots[0];
    const float *g = u->gradient;

    for (int64_t i = 0; i < u->count; i++) {
        trail[i] = u->step % o->period == 0 ? g[i] : 0.5f * trail[i] + g[i];
        w[i] -= (float)(u->rate * o->gain * u->gradient_scale) * trail[i];
    }
}

static const rgm_optimizer_type pull_type = {.name = "pull",
                                             .help = "a trail that begins anew",
                                             .fields = rgm_optimizer_fields,
                                             .defaults = pull_set,
                                             .slots = pull_slots,
                                             .step = pull_step,
                                             .own = &pull_own};

typedef struct saw_options {
    int64_t teeth;
} saw_options;

static void saw_defaults(void *options)
{
    ((saw_options *)options)->teeth = 4;
}

#define RGM_OPTIONS saw_options
static const rgm_field saw_fields[] = {RGM_INT_FIELD(teeth, 1, 100, "updates of a tooth"), {0}};
#undef RGM_OPTIONS

static const rgm_section_type saw_own = {"saw",        NULL,       sizeof(saw_options),
                                         saw_defaults, saw_fields, NULL};

static double saw_rate(const rgm_schedule *schedule, double s)
{
    const saw_options *o = schedule->own;

    return schedule->initial * (1 - fmod(s, (double)o->teeth) / (double)o->teeth);
}

static const rgm_schedule_type saw_type = {
    "saw", "down and up again", rgm_schedule_fields, false, saw_rate, &saw_own};

/* ---- an exporter and an action --------------------------------------------------------------- */

typedef struct card_options {
    const char *title;
} card_options;

#define RGM_OPTIONS card_options
static const rgm_field card_fields[] = {RGM_TEXT_FIELD(title, "of the card"), {0}};
#undef RGM_OPTIONS

static rgm_status card_save(const rgm_open_run *run, const char *to, void *options)
{
    const card_options *o = options;
    char path[300], text[200];

    snprintf(path, sizeof path, "%s/card.txt", to);
    snprintf(text, sizeof text, "%s: %lld steps\n", o->title, (long long)rgm_run_steps(run));
    return rgm_file_save(path, text, (int64_t)strlen(text));
}

static rgm_status card_check(const rgm_open_run *run, void *options)
{
    (void)run;
    return ((card_options *)options)->title != NULL
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG, "a card needs a title");
}

static const rgm_exporter_type card_type = {
    .section = {"card", "a text", sizeof(card_options), NULL, card_fields, NULL},
    .save = card_save,
    .check = card_check};

static int counted;

static rgm_status count_run(const rgm_logs *output, rgm_controller *controller, void *options)
{
    (void)output, (void)controller;
    counted += (int)((const saw_options *)options)->teeth;
    return RGM_OK;
}

static const rgm_action_type count_type = {
    {"count", "adds teeth", sizeof(saw_options), saw_defaults, saw_fields, NULL}, NULL, count_run};

/* ---- a model and a kind of task of graphs ---------------------------------------------------- */

static rgm_graph_model_type my_model;
static rgm_graph_task_type my_kind;

static const rgm_optimizer_type *const optimizers[] = {&pull_type, NULL};
static const rgm_schedule_type *const schedules[] = {&saw_type, NULL};
static const rgm_exporter_type *const exporters[] = {&card_type, NULL};
static const rgm_action_type *const actions[] = {&count_type, NULL};
static const rgm_extension_row models[] = {{&rgm_graph_learning, &my_model.section}, {0}};
static const rgm_extension_row kinds[] = {{&rgm_graph_learning, &my_kind.section}, {0}};
static const rgm_extensions own = {.optim = {optimizers, schedules},
                                   .models = models,
                                   .kinds = kinds,
                                   .exporters = exporters,
                                   .actions = actions};

static const char file[] =
    "data: {type: citation, citation: {nodes: 60, edges: 120, classes: 3, words: 20,\n"
    "       words_per_node: 4, train_per_class: 4, valid: 10, test: 10}}\n"
    "task: {type: my_task, node_set: nodes, num_classes: 3, head: none}\n"
    "model: {type: my_gcn, hidden: [8], output: 3}\n"
    "optimizer: {type: pull, gain: 2, labels: [a, b], clip_global_norm: 5,\n"
    "            learning_rate: {type: saw, initial: 0.2, teeth: 5}}\n"
    "trainer: {epochs: 6, checkpoint: {every_epochs: 1}}\n"
    "actions: {train: [{type: count, teeth: 2}], eval: [{type: count, teeth: 100}]}\n"
    "export: [{type: card, title: mine}, {type: weights, only: \"*kernel*\"}]\n";

static int setup(void **state)
{
    (void)state;
    folder = check_folder();
    my_model = rgm_gcn_model;
    my_model.section.name = "my_gcn";
    my_kind =
        *(const rgm_graph_task_type *)rgm_section_type_find(rgm_graph_tasks, "node_classification");
    my_kind.section.name = "my_task";
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder);
}

static const char *write_file(void)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/own.yaml", folder);
    CHECK_OK(rgm_file_save(path, file, (int64_t)strlen(file)));
    return path;
}

static rgm_status load(rgm_experiment **out, const rgm_extensions *rows, const char *set)
{
    rgm_experiment_layers layers = {
        .name = write_file(), .sets = &set, .set_count = set != NULL, .own = rows};

    return rgm_experiment_load_layers(out, &layers);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void refuse(const char *set, const char *message)
{
    rgm_experiment *e = NULL;

    CHECK_STATUS(RGM_ERR_CONFIG, load(&e, &own, set));
    CHECK_MESSAGE(message);
}

static void keys_of_own_rows_are_checked_like_the_library_s(void **state)
{
    rgm_experiment *e = NULL;

    (void)state;
    refuse("optimizer.type=pul", "unknown optimizer 'pul'; did you mean 'pull'?");
    refuse("optimizer.gian=3", "unknown key 'optimizer.gian'; did you mean 'optimizer.gain'?");
    refuse("optimizer.clip_nrm=3", "did you mean 'optimizer.clip_norm'?");
    refuse("optimizer.gain=51", "'gain' is 51, but must be in 0 .. 50");
    refuse("optimizer.period=90", "own.yaml:5:12: gain 2 with period 90 is too much");
    refuse("optimizer.learning_rate.type=swa", "unknown schedule 'swa'; did you mean 'saw'?");
    refuse("optimizer.learning_rate.tooth=1", "did you mean 'optimizer.learning_rate.teeth'?");
    refuse("optimizer.learning_rate.teeth=0", "'teeth' is 0, but must be in 1 .. 100");
    refuse("export=[{type: crad}]", "export.type 'crad' is unknown; did you mean 'card'?");
    refuse("export=[{type: card, tilte: x}]", "did you mean 'export.title'?");
    refuse("actions.train=[{type: cuont}]", "did you mean 'count'?");
    refuse("actions.valid=[]", "unknown key 'actions.valid'");
    refuse("model.type=my_gnc", "did you mean 'my_gcn'?");
    refuse("task.type=my_tusk", "did you mean 'my_task'?");
    CHECK_STATUS(RGM_ERR_CONFIG, load(&e, NULL, NULL)); /* a program without such rows */
    CHECK_MESSAGE("task.type 'my_task' is unknown");
    CHECK_STATUS(RGM_ERR_CONFIG, load(&e, NULL, "task.type=node_classification"));
    CHECK_MESSAGE("model.type 'my_gcn' is unknown");
}

static void own_rows_are_printed_like_the_library_s(void **state)
{
    rgm_experiment *e = NULL;
    rgm_text text = {0}, again = {0};
    char path[200];

    (void)state;
    CHECK_OK(load(&e, &own, NULL));
    CHECK_TEXT("2", rgm_experiment_find(e, "optimizer.gain")->value->text);
    CHECK_TEXT("default", rgm_experiment_find(e, "optimizer.period")->origin);
    CHECK_TEXT("5", rgm_experiment_find(e, "optimizer.learning_rate.teeth")->value->text);
    CHECK_OK(rgm_experiment_print(&text, e));
    rgm_experiment_release(e);
    snprintf(path, sizeof path, "%s/printed.yaml", folder);
    CHECK_OK(rgm_file_save(path, text.data, text.size));
    CHECK_OK(rgm_experiment_load_layers(&e, &(rgm_experiment_layers){.name = path, .own = &own}));
    CHECK_OK(rgm_experiment_print(&again, e));
    CHECK(strstr(again.data, "  period: 3") != NULL && strstr(again.data, "type: pull") != NULL);
    rgm_experiment_release(e);
    text.size = 0;
    CHECK_OK(rgm_experiment_keys(&text, "optimizer", &own));
    CHECK(strstr(text.data, "optimizer.type: pull; a trail that begins anew") != NULL);
    CHECK(strstr(text.data, "optimizer.gain") != NULL && strstr(text.data, ".teeth") != NULL);
    text.size = 0;
    CHECK_OK(rgm_experiment_keys(&text, NULL, &own));
    CHECK(strstr(text.data, "model.type: my_gcn") != NULL &&
          strstr(text.data, "task.type: my_task") != NULL &&
          strstr(text.data, "export.type: card; a text") != NULL &&
          strstr(text.data, "actions.type: count") != NULL);
    rgm_text_clear(&text);
    rgm_text_clear(&again);
}

/* Train so many epochs in a run folder. */
static void run_to(const char *name, const char *epochs)
{
    rgm_experiment *e = NULL;
    rgm_run_options options;
    rgm_open_run *run = NULL;
    char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(load(&e, &own, epochs));
    CHECK_OK(rgm_experiment_prepare(&options, e, path));
    CHECK_OK(rgm_experiment_open(&run, e, &options));
    CHECK_OK(rgm_run_complete(run));
    rgm_run_close(run);
    rgm_experiment_release(e);
}

static void check_same_file(const char *name)
{
    char path[2][300], *data[2];
    int64_t size[2];

    for (int i = 0; i < 2; i++) {
        snprintf(path[i], sizeof path[i], "%s/%s/%s", folder, i == 0 ? "whole" : "halves", name);
        CHECK_OK(rgm_file_load(&data[i], &size[i], path[i], 1 << 24));
    }
    CHECK_INT(size[0], size[1]);
    CHECK(memcmp(data[0], data[1], (size_t)size[0]) == 0);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

static void a_run_of_own_rows_trains_and_resumes_and_exports(void **state)
{
    rgm_safetensors *slots = NULL, *weights = NULL;
    char path[300], *text;
    int64_t size;
    int before;

    (void)state;
    counted = 0;
    run_to("whole", "trainer.epochs=6");
    CHECK_INT(counted, 6 * 2 + 6 * 100);
    before = counted;
    run_to("halves", "trainer.epochs=3");
    run_to("halves", "trainer.epochs=6");
    CHECK_INT(counted - before, 6 * 2 + 6 * 100);
    check_same_file("metrics.jsonl");
    check_same_file("ckpt/step-00000006/slots.safetensors");
    check_same_file("ckpt/step-00000006/weights.safetensors");
    check_same_file("export/card.txt");
    check_same_file("export/weights.safetensors");
    snprintf(path, sizeof path, "%s/whole/ckpt/step-00000006/slots.safetensors", folder);
    CHECK_OK(rgm_safetensors_open(&slots, path));
    CHECK(rgm_safetensors_count(slots) > 0 &&
          strncmp(rgm_safetensors_name(slots, 0), "pull/trail/", 11) == 0);
    rgm_safetensors_close(slots);
    snprintf(path, sizeof path, "%s/whole/export/card.txt", folder);
    CHECK_OK(rgm_file_load(&text, &size, path, 1000));
    CHECK_TEXT("mine: 6 steps\n", text);
    rgm_free(text);
    snprintf(path, sizeof path, "%s/whole/export/weights.safetensors", folder);
    CHECK_OK(rgm_safetensors_open(&weights, path));
    CHECK(rgm_safetensors_count(weights) > 0);
    for (int64_t i = 0; i < rgm_safetensors_count(weights); i++)
        CHECK(strstr(rgm_safetensors_name(weights, i), "kernel") != NULL);
    rgm_safetensors_close(weights);
}

static void what_an_exporter_cannot_do_is_told_before_the_first_step(void **state)
{
    const char *sets[] = {"export=[{type: card}]",
                          "export=[{type: weights, except: [\"*kernel*\", biases]}]",
                          "export=[{type: onnx, output_names: {logits: scores}}]",
                          "export=[{type: saved_model, output_names: {logits: scores}}]"};
    const char *messages[] = {"exporter 'card': a card needs a title",
                              "exporter 'weights': export.except: 'biases' matches none of",
                              "exporter 'onnx': export.output_names: there is no output 'logits'",
                              "exporter 'saved_model': export.output_names: there is no output"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        rgm_experiment *e = NULL;

        CHECK_OK(load(&e, &own, sets[i]));
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_experiment_check(e, true));
        CHECK_MESSAGE(messages[i]);
        rgm_experiment_release(e);
    }
}

static void outputs_of_the_onnx_file_have_the_names_that_were_asked_for(void **state)
{
    rgm_experiment *e = NULL;
    rgm_run_options options;
    rgm_open_run *run = NULL;
    rgm_onnx_model *model = NULL;
    rgm_export_check check;
    char path[200], set[200];

    (void)state;
    CHECK_OK(load(&e, &own, NULL));
    CHECK_OK(rgm_experiment_prepare(&options, e, NULL));
    CHECK_OK(rgm_experiment_open(&run, e, &options));
    snprintf(set, sizeof set,
             "export=[{type: onnx, output_names: {%s: scores, probabilities: p}}, "
             "{type: weights}]",
             rgm_run_model(run)->heads[0].name);
    rgm_run_close(run);
    rgm_experiment_release(e);
    run_to("named", set);
    snprintf(path, sizeof path, "%s/named/export/model.onnx", folder);
    CHECK_OK(rgm_onnx_open(&model, path));
    CHECK_INT(rgm_onnx_output_count(model), 2);
    CHECK_TEXT("scores", rgm_onnx_output_name(model, 0));
    CHECK_TEXT("p", rgm_onnx_output_name(model, 1));
    rgm_onnx_close(model);
    snprintf(path, sizeof path, "%s/named", folder);
    CHECK_OK(load(&e, &own, set));
    CHECK_OK(rgm_experiment_prepare_trained(&options, e, path));
    options.read_only = true;
    CHECK_OK(rgm_experiment_open(&run, e, &options));
    CHECK_OK(rgm_run_export(run, folder));
    CHECK_OK(rgm_run_verify_onnx(&check, run, folder, RGM_TEST, 8));
    CHECK(check.items > 0);
    rgm_run_close(run);
    rgm_experiment_release(e);
    CHECK_STATUS(RGM_ERR_CONFIG,
                 load(&e, &own, "export=[{type: onnx, output_names: {a: [b, c]}}]"));
    CHECK_MESSAGE("export.output_names.a should be one name");
    CHECK_STATUS(RGM_ERR_CONFIG, load(&e, &own, "export=[{type: weights, file: a/b}]"));
    CHECK_MESSAGE("export.file 'a/b' should be the name of a file");
}

static void a_saved_model_stands_beside_the_onnx_file_with_names_of_its_own(void **state)
{
    char path[300], *text;
    int64_t size;
    saved_graph g;
    wire info;

    (void)state;
    run_to("saved", "export=[{type: onnx}, "
                    "{type: saved_model, output_names: {probabilities: \"of classes\"}}]");
    snprintf(path, sizeof path, "%s/saved/export", folder);
    saved_graph_open(&g, path);
    CHECK(wire_entry(g.signature, 2, "of classes", &info));
    CHECK(!wire_entry(g.signature, 2, "probabilities", &info));
    CHECK(wire_entry(g.signature, 1, "edges/edges.#source", &info));
    saved_graph_close(&g);
    snprintf(path, sizeof path, "%s/saved/export/assets.extra/signature.json", folder);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    CHECK(strstr(text, "\"file\": \"saved_model.pb\"") != NULL);
    CHECK(strstr(text, "\"name\": \"of classes\"") != NULL);
    rgm_free(text);
    snprintf(path, sizeof path, "%s/saved/export/signature.json", folder);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    CHECK(strstr(text, "\"file\": \"model.onnx\"") != NULL);
    CHECK(strstr(text, "\"name\": \"probabilities\"") != NULL);
    rgm_free(text);
}

static void refuse_rows(const rgm_extensions *rows, const char *message)
{
    rgm_experiment *e = NULL;
    rgm_text text = {0};

    CHECK_STATUS(RGM_ERR_ARG, load(&e, rows, NULL));
    CHECK_MESSAGE(message);
    CHECK_STATUS(RGM_ERR_ARG, rgm_experiment_keys(&text, NULL, rows));
    rgm_text_clear(&text);
}

static void rows_that_collide_or_lack_something_are_refused(void **state)
{
    rgm_optimizer_type adam = pull_type, keyed = pull_type, empty = {.name = "empty"};
    rgm_schedule_type cosine = saw_type;
    rgm_exporter_type onnx = card_type;
    rgm_graph_model_type gcn = my_model;
    rgm_section_type twice = pull_own;
    const rgm_optimizer_type *a[] = {&adam, NULL}, *b[] = {&pull_type, &pull_type, NULL},
                             *c[] = {&empty, NULL}, *d[] = {&keyed, NULL};
    const rgm_schedule_type *s[] = {&cosine, NULL};
    const rgm_exporter_type *x[] = {&onnx, NULL};
    const rgm_extension_row m[] = {{&rgm_graph_learning, &gcn.section}, {0}};

    (void)state;
    adam.name = "adam";
    cosine.name = "cosine";
    onnx.section.name = "onnx";
    gcn.section.name = "gcn";
    twice.fields = rgm_optimizer_fields;
    keyed.own = &twice;
    refuse_rows(&(rgm_extensions){.optim = {a, NULL}},
                "two optimizers are named 'adam', one of them the library's");
    refuse_rows(&(rgm_extensions){.optim = {b, NULL}}, "two optimizers are named 'pull'");
    refuse_rows(&(rgm_extensions){.optim = {c, NULL}},
                "the optimizer 'empty' of the program lacks");
    refuse_rows(&(rgm_extensions){.optim = {d, NULL}}, "has the key 'rates' twice");
    refuse_rows(&(rgm_extensions){.optim = {NULL, s}}, "two schedules are named 'cosine'");
    refuse_rows(&(rgm_extensions){.exporters = x}, "two exporters are named 'onnx'");
    refuse_rows(&(rgm_extensions){.models = m}, "two models are named 'gcn'");
}

static void own_options_that_a_c_program_leaves_out_are_asked_for(void **state)
{
    rgm_optimizer_options options = rgm_optimizer_default(&pull_type, 0.1);
    rgm_optimizer *optimizer = NULL;
    rgm_cgraph *graph = NULL;
    rgm_parameters *parameters = NULL;
    pull_options mine = {.gain = 1, .period = 2};

    (void)state;
    CHECK_OK(rgm_cgraph_create(&graph));
    (void)rgm_parameter(graph, "w", RGM_F32, 1, (int64_t[]){4}, (rgm_init){RGM_INIT_ONES, 0});
    CHECK_OK(rgm_parameters_create(&parameters, graph, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_optimizer_create(&optimizer, &options, parameters));
    CHECK_MESSAGE("optimizer.type 'pull' has options of its own");
    options.own = &mine;
    CHECK_OK(rgm_optimizer_create(&optimizer, &options, parameters));
    mine.gain = 7; /* they were copied */
    CHECK(((const pull_options *)rgm_optimizer_settings(optimizer)->own)->gain == 1);
    rgm_optimizer_release(optimizer);
    mine.gain = 51;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &options, parameters));
    rgm_parameters_release(parameters);
    rgm_cgraph_release(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_own_rows_are_checked_like_the_library_s),
        cmocka_unit_test(own_rows_are_printed_like_the_library_s),
        cmocka_unit_test(a_run_of_own_rows_trains_and_resumes_and_exports),
        cmocka_unit_test(what_an_exporter_cannot_do_is_told_before_the_first_step),
        cmocka_unit_test(outputs_of_the_onnx_file_have_the_names_that_were_asked_for),
        cmocka_unit_test(a_saved_model_stands_beside_the_onnx_file_with_names_of_its_own),
        cmocka_unit_test(rows_that_collide_or_lack_something_are_refused),
        cmocka_unit_test(own_options_that_a_c_program_leaves_out_are_asked_for)};

    return cmocka_run_group_tests(tests, setup, teardown);
}
