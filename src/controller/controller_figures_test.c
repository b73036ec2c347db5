/*
 * Files about a run for people: confusion matrices agree with the metrics, a kill changes no bytes,
 * figures of the process are right, and no failure of these files ends a run.
 */
#include "controller_internal.h"
#include "controller_check.h"

static rgm_status plane_of_two(rgm_task_model *out, rgm_scope *scope, void *state)
{
    RGM_TRY(plane_model(out, scope, state));
    out->heads[0].confusion = 2;
    out->heads[0].curves = RGM_CURVES_OF_CLASSES;
    return RGM_OK;
}

/* The same question with one logit: class 1 or not. */
static rgm_status plane_of_one(rgm_task_model *out, rgm_scope *scope, void *state)
{
    plane *p = state;
    rgm_head *head = &out->heads[0];
    rgm_dim shape[2];
    rgm_value *losses;

    RGM_TRY(plane_model(out, scope, state));
    head->confusion = 2;
    head->predictions = rgm_dense(scope, "one", p->x_value, 1);
    shape[0] = rgm_value_dim(head->predictions, 0);
    shape[1] = 1;
    losses = rgm_sigmoid_cross_entropy(head->predictions,
                                       rgm_cast(rgm_reshape(head->labels, 2, shape), RGM_F32));
    head->loss = rgm_weighted_mean(rgm_reshape(losses, 1, shape), NULL);
    out->loss = head->loss;
    head->metrics[0] = (rgm_metric){.type = &rgm_metric_binary_accuracy, .name = "accuracy"};
    return RGM_OK;
}

typedef struct figures_run {
    plane data;
    rgm_task task;
    rgm_run_options options;
    rgm_open_run *run;
    int64_t stop_at; /* step at which it is asked to stop; 0: never */
} figures_run;

static bool should_stop(void *payload)
{
    const figures_run *r = payload;

    return r->stop_at > 0 && r->run != NULL && rgm_run_steps(r->run) >= r->stop_at;
}

static figures_run make_run(const char *run_dir)
{
    figures_run r = {.data = make_plane(false)};

    r.options = rgm_run_options_default();
    r.options.optimizer = rgm_sgd(0.05, 0);
    r.options.trainer.train_steps = 12;
    r.options.trainer.steps_per_loop = 2;
    r.options.trainer.validation_interval = 4;
    r.options.trainer.checkpoint.every_steps = 2;
    r.options.runtime.threads = 1;
    r.options.runtime.seed = 3;
    r.options.run_dir = run_dir;
    return r;
}

static void complete(figures_run *r, rgm_status expected)
{
    r->task = plane_task(&r->data);
    r->task.build_model = plane_of_two;
    r->options.hooks.payload = r;
    r->options.hooks.should_stop = should_stop;
    r->run = NULL;
    CHECK_OK(rgm_run_open(&r->run, &r->task, &r->options));
    CHECK_STATUS(expected, rgm_run_complete(r->run));
    rgm_run_close(r->run);
    r->run = NULL;
}

static char *load(const char *folder, const char *name)
{
    char path[300], *data = NULL;
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
    return data;
}

/* ---- confusion ----------------------------------------------------------------------------- */

/* The accuracies in metrics.jsonl's lines of "valid", in order. */
typedef struct accuracies {
    int64_t steps[16];
    double values[16];
    int count;
} accuracies;

static rgm_status note_accuracy(const rgm_metrics_entry *entry, void *payload)
{
    accuracies *a = payload;

    for (int64_t i = 0; i < entry->count; i++)
        if (strcmp(entry->split, "valid") == 0 && strcmp(entry->numbers[i].name, "accuracy") == 0) {
            a->steps[a->count] = entry->step;
            a->values[a->count++] = entry->numbers[i].value;
        }
    return RGM_OK;
}

/* Compare every line of tables.jsonl with the accuracy of its step; returns how many items it
 * counts. */
static int64_t check_against_accuracy(const char *folder, int lines)
{
    char path[300], *data = load(folder, "tables.jsonl"), *line = data;
    accuracies a = {.count = 0};
    int64_t items = 0;

    snprintf(path, sizeof path, "%s/metrics.jsonl", folder);
    CHECK_OK(rgm_metrics_log_read(path, note_accuracy, &a));
    CHECK_INT(lines, a.count);
    for (int i = 0; i < lines; i++) {
        long long step, n[2][2];
        int used = 0;

        CHECK_INT(5, sscanf(line,
                            "{\"step\":%lld,\"split\":\"valid\",\"kind\":\"confusion\",\"label\":"
                            "\"logits\",\"classes\":null,\"counts\":[[%lld,%lld],[%lld,%lld]]}%n",
                            &step, &n[0][0], &n[0][1], &n[1][0], &n[1][1], &used));
        CHECK_INT('\n', line[used]);
        CHECK_INT(a.steps[i], step);
        items = n[0][0] + n[0][1] + n[1][0] + n[1][1];
        CHECK_CLOSE(a.values[i], (double)(n[0][0] + n[1][1]) / (double)items, 1e-12, 0);
        line += used + 1;
    }
    CHECK_TEXT("", line);
    rgm_free(data);
    return items;
}

static void each_validation_has_the_table_of_its_accuracy(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);

    (void)state;
    complete(&r, RGM_OK);
    CHECK_INT(ITEMS, check_against_accuracy(folder, 3));
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static void items_of_no_weight_are_not_counted(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);

    (void)state;
    CHECK_OK(rgm_tensor_create(&r.data.weight, RGM_F32, 1, (int64_t[]){ITEMS}));
    for (int i = 0; i < ITEMS; i++)
        rgm_tensor_f32(r.data.weight)[i] = i % 3 == 0 ? 0 : 1;
    complete(&r, RGM_OK);
    CHECK_INT(ITEMS - ITEMS / 3, check_against_accuracy(folder, 3));
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* Two counts of a pass with one logit: as many right ones as the binary accuracy says. */
static void one_logit_is_a_table_of_two(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_run_options options = rgm_run_options_default();
    rgm_open_run *run;
    const rgm_logs *logs;

    (void)state;
    task.build_model = plane_of_one;
    options.trainer.train_steps = 9;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    CHECK_OK(rgm_run_train(run, 9));
    for (int pass = 0; pass < 2; pass++) { /* the second is not added to the first */
        const int64_t *n;

        CHECK_OK(rgm_run_evaluate(run, RGM_VALID, RGM_TO_END, &logs));
        n = rgm_trainer_confusion(rgm_run_trainer(run), RGM_VALID, -1, 0);
        CHECK_INT(ITEMS, n[0] + n[1] + n[2] + n[3]);
        CHECK_CLOSE(rgm_logs_get(logs, "accuracy"), (double)(n[0] + n[3]) / ITEMS, 1e-12, 0);
    }
    rgm_run_close(run);
    clear_plane(&p);
}

static void too_many_classes_are_refused(void **state)
{
    rgm_classes classes = {.num_classes = RGM_MOST_CONFUSED};
    rgm_head head = {.name = "x"};

    (void)state;
    rgm_classes_add_metrics(&head, &classes);
    CHECK_INT(RGM_MOST_CONFUSED, head.confusion);
    classes.num_classes++;
    rgm_classes_add_metrics(&head, &classes);
    CHECK_INT(0, head.confusion);
}

/* ---- going on ------------------------------------------------------------------------------ */

static void append(const char *folder, const char *name, const char *text)
{
    char path[300];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "a");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

static double last_seconds(const char *folder, int *lines)
{
    char *data = load(folder, "system.jsonl");
    double seconds = -1;

    *lines = 0;
    for (char *line = data; *line != '\0'; line = strchr(line, '\n') + 1, ++*lines)
        CHECK_INT(1, sscanf(strstr(line, "\"seconds\":"), "\"seconds\":%lf", &seconds));
    rgm_free(data);
    return seconds;
}

static void a_run_that_was_killed_goes_on_to_the_same_tables(void **state)
{
    char root[128], whole[200], parts[160];
    figures_run r;
    double before, after;
    int lines, more;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(whole, sizeof whole, "%s/whole", root);
    snprintf(parts, sizeof parts, "%s/parts", root);
    r = make_run(whole);
    complete(&r, RGM_OK);
    clear_plane(&r.data);
    r = make_run(parts);
    r.stop_at = 6;
    complete(&r, RGM_STOPPED);
    before = last_seconds(parts, &lines);
    CHECK(before > 0 && lines >= 1);
    /* Lines after the last checkpoint, as if it had been killed then. */
    append(parts, "tables.jsonl", "{\"step\":8,\"split\":\"valid\",\"kind\":\"confusion\"}\n{\"st");
    append(parts, "score_curves.jsonl",
           "{\"step\":8,\"split\":\"valid\",\"kind\":\"score_curves\"}\n{\"st");
    append(parts, "system.jsonl", "{\"time\":1,\"sec");
    r.stop_at = 0;
    complete(&r, RGM_OK);
    check_same_file(whole, parts, "tables.jsonl");
    check_same_file(whole, parts, "score_curves.jsonl");
    check_same_file(whole, parts, "metrics.jsonl");
    after = last_seconds(parts, &more);
    CHECK(after > before && more > lines);
    /* A folder from before these files existed continues as well. */
    clear_plane(&r.data);
    r = make_run(parts);
    r.options.trainer.train_steps = 16;
    for (int i = 0; i < 2; i++) {
        snprintf(whole, sizeof whole, "%s/%s", parts, i ? "tables.jsonl" : "system.jsonl");
        CHECK_OK(rgm_folder_remove(whole));
    }
    complete(&r, RGM_OK);
    CHECK(file_says(parts, "tables.jsonl", "{\"step\":16,"));
    CHECK(!file_says(parts, "tables.jsonl", "{\"step\":12,"));
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(root));
}

/* Only of the last validation, both classes, whose areas are one and the same when there are two.
 */
static void curves_are_those_of_the_last_validation(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);
    char *data, *area;
    double areas[2] = {0};

    (void)state;
    complete(&r, RGM_OK);
    data = load(folder, "score_curves.jsonl");
    area = data;
    for (int i = 0; i < 2; i++) {
        area = strstr(area + 1, "\"roc_area\":");
        CHECK(area != NULL && sscanf(area, "\"roc_area\":%lf", &areas[i]) == 1);
    }
    CHECK(areas[0] > 0.5 && areas[0] < 1 + 1e-12);
    CHECK_CLOSE(areas[0], areas[1], 1e-12, 0);
    CHECK(strncmp(data,
                  "{\"step\":12,\"split\":\"valid\",\"kind\":\"score_curves\",\"label\":"
                  "\"logits\",\"curves\":[{\"name\":\"0\",",
                  88) == 0);
    CHECK(strchr(data, '\n') == data + strlen(data) - 1); /* one line */
    rgm_free(data);
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* At most one line a second, however many loops; the last one at the end. */
static void figures_are_few_and_end_with_the_run(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);
    double began = rgm_now();
    char *data;
    int lines;

    (void)state;
    complete(&r, RGM_OK);
    CHECK(last_seconds(folder, &lines) <= rgm_now() - began);
    CHECK(lines >= 2 && lines <= 2 + (int)(rgm_now() - began));
    data = load(folder, "system.jsonl");
    CHECK(strstr(data, "\"step\":2,") != NULL && strstr(data, "\"step\":12,") != NULL);
    CHECK(strstr(data, "_per_second\":null") == NULL && strstr(data, "\"threads\":1}") != NULL);
    rgm_free(data);
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- model.json ---------------------------------------------------------------------------- */

static rgm_json *load_model(const char *folder)
{
    char *data = load(folder, "model.json");
    rgm_json *json;

    CHECK_OK(rgm_json_parse(&json, data, (int64_t)strlen(data), "model.json"));
    rgm_free(data);
    return json;
}

static int64_t integer_of(const rgm_json *json, const char *key)
{
    int64_t value = -1;

    CHECK(rgm_json_int(&value, rgm_json_find(json, key)));
    return value;
}

/* Two layers in sequence after a norm. A penalty reads the first kernel too, and so does the
 * result, through a third layer. */
static rgm_status plane_of_layers(rgm_task_model *out, rgm_scope *scope, void *state)
{
    plane *p = state;
    rgm_dense_options dense = RGM_DENSE_OPTIONS_INIT;
    rgm_head *head = &out->heads[0];
    rgm_value *x;

    RGM_TRY(plane_model(out, scope, state));
    dense.l2 = 1e-3;
    x = rgm_dense_with(scope, "first", p->x_value, 5, &dense);
    x = rgm_layer_norm(scope, "norm", rgm_relu(x));
    head->predictions = rgm_dense(scope, "second", x, 2);
    rgm_dense_with(scope, "first", rgm_dense(scope, "third", head->predictions, 3), 5, &dense);
    head->loss =
        rgm_weighted_mean(rgm_softmax_cross_entropy(head->predictions, head->labels), NULL);
    return RGM_OK;
}

static const rgm_json *layer_named(const rgm_json *model, const char *name)
{
    const rgm_json *layers = rgm_json_find(model, "layers");

    for (int64_t i = 0; i < rgm_json_count(layers); i++)
        if (strcmp(rgm_json_text(rgm_json_find(rgm_json_at(layers, i), "name")), name) == 0)
            return rgm_json_at(layers, i);
    fail_msg("no layer '%s'", name);
    return NULL;
}

static void check_layer(const rgm_json *model, const char *name, const char *kind,
                        int64_t parameters, const char *input)
{
    const rgm_json *layer = layer_named(model, name), *inputs = rgm_json_find(layer, "inputs");

    CHECK_TEXT(kind, rgm_json_text(rgm_json_find(layer, "kind")));
    CHECK_INT(parameters, integer_of(layer, "parameters"));
    CHECK_INT(input != NULL, rgm_json_count(inputs));
    if (input != NULL)
        CHECK_TEXT(input, rgm_json_text(rgm_json_at(inputs, 0)));
}

/* Forward costs as much as a validation of as many items; the total is the executor's. */
static void a_model_is_told_with_what_a_batch_costs(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);
    rgm_json *model;
    const rgm_json *flops, *layer, *tensor;
    const rgm_logs *logs;
    rgm_trainer *trainer;

    (void)state;
    r.data.dropout = 0;
    r.task = plane_task(&r.data);
    r.task.build_model = plane_of_layers;
    CHECK_OK(rgm_run_open(&r.run, &r.task, &r.options));
    trainer = rgm_run_trainer(r.run);
    model = load_model(folder);
    CHECK(rgm_json_find(model, "flops") != NULL);
    CHECK(rgm_json_find(rgm_json_find(model, "flops"), "step") == NULL); /* not known yet */
    rgm_json_release(model);
    CHECK_OK(rgm_run_train(r.run, 4));
    model = load_model(folder);
    CHECK_INT(rgm_parameters_total(rgm_trainer_parameters(trainer)),
              integer_of(model, "parameters"));
    CHECK_INT(integer_of(model, "parameters") - 1,
              integer_of(model, "trainable")); /* "steps" is a state */
    flops = rgm_json_find(model, "flops");
    CHECK_INT(rgm_executor_flops(rgm_trainer_executor(trainer, RGM_TRAIN)),
              integer_of(flops, "step"));
    CHECK_OK(rgm_run_evaluate(r.run, RGM_VALID, RGM_TO_END, &logs));
    /* and the next value of the state, which a validation does not need */
    CHECK_INT(rgm_executor_flops(rgm_trainer_executor(trainer, RGM_VALID)) + 1,
              integer_of(flops, "forward"));
    CHECK(integer_of(flops, "forward") > 2 * 4 * (3 * 5 + 5 * 2));
    CHECK(integer_of(flops, "forward") < integer_of(flops, "step") / 2);
    flops = rgm_json_find(rgm_json_find(rgm_json_find(flops, "batch"), "inputs"), "x");
    CHECK_INT(2, rgm_json_count(flops));
    check_layer(model, "first", "matmul", 20, NULL);
    check_layer(model, "norm", "layer_norm", 10, "first");
    check_layer(model, "second", "matmul", 12, "norm");
    check_layer(model, "third", "matmul", 9, "second");
    layer = layer_named(model, "second");
    CHECK(integer_of(layer, "flops") >= 3 * 2 * 4 * 5 * 2); /* forward, and both gradients */
    tensor = rgm_json_at(rgm_json_find(layer, "tensors"), 0);
    CHECK_TEXT("second/kernel", rgm_json_text(rgm_json_find(tensor, "name")));
    CHECK_INT(10, integer_of(tensor, "count"));
    CHECK_INT(2, rgm_json_count(rgm_json_find(tensor, "shape")));
    rgm_json_release(model);
    CHECK(!rgm_run_controller(r.run)->describes); /* later batches are not described */
    rgm_run_close(r.run);
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A convolution's way: the norm stands inside the layer, and the activation behind it too. */
static rgm_value *normed(rgm_scope *scope, const char *name, rgm_value *x)
{
    rgm_scope *layer;

    x = rgm_dense(scope, name, x, 4);
    layer = rgm_scope_enter(scope, name);
    return rgm_relu(rgm_batch_norm(layer, "norm", x, NULL));
}

static rgm_status plane_of_norms(rgm_task_model *out, rgm_scope *scope, void *state)
{
    plane *p = state;
    rgm_head *head = &out->heads[0];
    rgm_value *x, *first;

    RGM_TRY(plane_model(out, scope, state));
    first = normed(scope, "first", p->x_value);
    x = rgm_add(normed(scope, "second", first), first);
    head->predictions = rgm_dense(scope, "third", x, 2);
    head->loss =
        rgm_weighted_mean(rgm_softmax_cross_entropy(head->predictions, head->labels), NULL);
    return RGM_OK;
}

/* What is behind a norm reads the norm and not the layer in which it stands. */
static void norms_inside_layers_lead_on(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);
    rgm_json *model;

    (void)state;
    r.task = plane_task(&r.data);
    r.task.build_model = plane_of_norms;
    CHECK_OK(rgm_run_open(&r.run, &r.task, &r.options));
    model = load_model(folder);
    check_layer(model, "first", "matmul", 16, NULL);
    check_layer(model, "first/norm", "batch_norm", 16, "first");
    check_layer(model, "second", "matmul", 20, "first/norm");
    check_layer(model, "second/norm", "batch_norm", 16, "second");
    CHECK_INT(2, rgm_json_count(rgm_json_find(layer_named(model, "third"), "inputs")));
    CHECK_TEXT("first/norm",
               rgm_json_text(rgm_json_at(rgm_json_find(layer_named(model, "third"), "inputs"), 0)));
    CHECK_TEXT("second/norm",
               rgm_json_text(rgm_json_at(rgm_json_find(layer_named(model, "third"), "inputs"), 1)));
    rgm_json_release(model);
    rgm_run_close(r.run);
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status twice(rgm_step *step, void *state)
{
    rgm_tensor *const *gradients;

    (void)state;
    for (int i = 0; i < 2; i++) {
        RGM_TRY(rgm_trainer_compute_gradients(step, step->inputs, &gradients));
        RGM_TRY(rgm_trainer_apply_gradients(step, gradients));
    }
    return RGM_OK;
}

/* The cost of one run of the model is not that of such a step. */
static void a_step_of_its_own_has_no_known_cost(void **state)
{
    const char *folder = check_folder();
    figures_run r = make_run(folder);
    rgm_json *model;

    (void)state;
    r.task = plane_task(&r.data);
    r.task.train_step = twice;
    CHECK_OK(rgm_run_open(&r.run, &r.task, &r.options));
    CHECK_OK(rgm_run_train(r.run, 4));
    rgm_run_close(r.run);
    model = load_model(folder);
    CHECK_INT(9, integer_of(model, "parameters"));
    CHECK(rgm_json_find(rgm_json_find(model, "flops"), "step") == NULL);
    rgm_json_release(model);
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static rgm_status describe(const rgm_trainer *trainer)
{
    rgm_text text = {0};
    rgm_status status = rgm_trainer_describe_model(&text, trainer, "{}");

    rgm_text_clear(&text);
    return status;
}

static void describing_survives_every_failing_allocation(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;

    (void)state;
    s.data.no_threads = true;
    CHECK_OK(open_plane(&trainer, &s));
    train_steps(trainer, 2);
    CHECK_OK(describe(trainer)); /* work that is done once is done by now */
    CHECK_EVERY_OOM(describe(trainer), (void)0);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

/* ---- what cannot be written ---------------------------------------------------------------- */

static int count_of(const char *text, const char *what)
{
    int count = 0;

    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

static void what_cannot_be_written_is_told_once_and_ends_nothing(void **state)
{
    char root[128], all[160], hurt[160], path[200], *log;
    figures_run r;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(all, sizeof all, "%s/whole", root);
    snprintf(hurt, sizeof hurt, "%s/hurt", root);
    r = make_run(all);
    complete(&r, RGM_OK);
    clear_plane(&r.data);
    r = make_run(hurt);
    for (int i = 0; i < 3; i++) { /* folders where the files belong, one with a file in it */
        static const char *const names[] = {"system.jsonl", "tables.jsonl", "model.json/x"};

        snprintf(path, sizeof path, "%s/%s", hurt, names[i]);
        CHECK_OK(rgm_folder_make(path));
    }
    complete(&r, RGM_OK);
    check_same_file(all, hurt, "metrics.jsonl");
    check_same_file(all, hurt, "ckpt/step-00000012/weights.safetensors");
    log = load(hurt, "log.txt");
    CHECK_INT(3, count_of(log, ": the run goes on without it\n"));
    CHECK_INT(1, count_of(log, "/model.json"));
    CHECK_INT(1, count_of(log, "/system.jsonl"));
    CHECK_INT(1, count_of(log, "/tables.jsonl"));
    rgm_free(log);
    clear_plane(&r.data);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(each_validation_has_the_table_of_its_accuracy),
      cmocka_unit_test(items_of_no_weight_are_not_counted),
      cmocka_unit_test(one_logit_is_a_table_of_two), cmocka_unit_test(too_many_classes_are_refused),
      cmocka_unit_test(a_run_that_was_killed_goes_on_to_the_same_tables),
      cmocka_unit_test(curves_are_those_of_the_last_validation),
      cmocka_unit_test(figures_are_few_and_end_with_the_run),
      cmocka_unit_test(a_model_is_told_with_what_a_batch_costs),
      cmocka_unit_test(norms_inside_layers_lead_on),
      cmocka_unit_test(a_step_of_its_own_has_no_known_cost),
      cmocka_unit_test(describing_survives_every_failing_allocation),
      cmocka_unit_test(what_cannot_be_written_is_told_once_and_ends_nothing))
