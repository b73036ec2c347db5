/*
 * Networks of records learn: a hand-written training loop over the task's graph, optimizer and
 * batches, without the trainer.
 */
#include <check.h>

#include <regimen/optim.h>
#include <regimen/record.h>

enum { MOST = 64 };

/* A task being trained. */
typedef struct training {
    rgm_task task;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_task_model model;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *train, *look; /* loss and gradients; predictions */
    int64_t count, updates;     /* parameters; states of batch norms that move */
    rgm_iterator *batches;
    int64_t step;
} training;

/* A list of one file, which lives as long as the name. */
static rgm_texts one_file(const char *name)
{
    static const char *names[16];
    static int next;
    const char **at = &names[next++ % 16];

    *at = name;
    return (rgm_texts){at, 1};
}

static const rgm_record_network *network(const char *name)
{
    const rgm_section_type *found = rgm_section_type_find(rgm_record_networks, name);

    CHECK(found != NULL);
    return (const rgm_record_network *)found;
}

static void compile(training *t)
{
    rgm_executor_options training_run = {.training = true};
    rgm_value *fetches[2 * MOST + 1], *wrt[MOST], *aux = rgm_scope_loss(t->scope);

    t->count = rgm_cgraph_parameter_count(t->graph);
    t->updates = rgm_cgraph_update_count(t->graph);
    CHECK(t->count <= MOST && t->updates <= MOST);
    for (int64_t i = 0; i < t->count; i++)
        wrt[i] = rgm_cgraph_parameter(t->graph, i);
    fetches[0] = t->model.heads[0].loss;
    if (aux != NULL)
        fetches[0] = rgm_add(fetches[0], aux);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, t->count));
    for (int64_t i = 0; i < t->updates; i++)
        fetches[1 + t->count + i] = rgm_cgraph_update_next(t->graph, i);
    CHECK_OK(rgm_executor_create(&t->train, t->graph, fetches, 1 + t->count + t->updates,
                                 &training_run));
    CHECK_OK(rgm_executor_create(&t->look, t->graph, &t->model.heads[0].predictions, 1, NULL));
}

static void open_training(training *t, const rgm_record_options *options, const char *name,
                          const void *network_options, double rate)
{
    rgm_optimizer_options adam = rgm_adam(rate);
    rgm_dataset *data;

    *t = (training){0};
    CHECK_OK(
        rgm_record_classification_create(&t->task, options, network(name), network_options, 1, 0));
    CHECK_OK(rgm_cgraph_create(&t->graph));
    CHECK_OK(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    CHECK_OK(t->task.build_model(&t->model, t->scope, t->task.state));
    compile(t);
    CHECK_OK(rgm_parameters_create(&t->parameters, t->graph, 1));
    CHECK_OK(rgm_optimizer_create(&t->optimizer, &adam, t->parameters));
    CHECK_OK(t->task.build_inputs(&data, t->task.state, RGM_TRAIN, true));
    CHECK_OK(rgm_iterator_create(&t->batches, data, NULL));
    rgm_dataset_release(data);
}

static void close_training(training *t)
{
    rgm_iterator_release(t->batches);
    rgm_executor_release(t->train);
    rgm_executor_release(t->look);
    rgm_optimizer_release(t->optimizer);
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_cgraph_release(t->graph);
    rgm_task_release(&t->task);
}

/* Train some steps; returns the last one's loss. */
static double train(training *t, int64_t steps)
{
    rgm_tensor *fetched[2 * MOST + 1];
    double loss = 0;

    for (int64_t end = t->step + steps; t->step < end; t->step++) {
        rgm_element *batch;
        rgm_feed feeds[2];
        int64_t count;

        CHECK_OK(rgm_iterator_next(&batch, t->batches));
        CHECK_OK(t->task.feeds(feeds, 2, &count, t->task.state, batch));
        CHECK_OK(
            rgm_executor_run(t->train, fetched, t->parameters, feeds, count, 1, (uint64_t)t->step));
        loss = rgm_tensor_at(fetched[0], 0);
        CHECK_OK(rgm_optimizer_step(t->optimizer, t->parameters, fetched + 1, t->step));
        CHECK_OK(rgm_parameters_update(t->parameters, t->graph, fetched + 1 + t->count));
        rgm_element_release(batch);
    }
    return loss;
}

/* A metric of the task's head over a whole part. */
static double measure(training *t, rgm_mode mode, const char *name)
{
    const rgm_head *head = &t->model.heads[0];
    const rgm_metric *metric = NULL;
    rgm_iterator *iterator;
    rgm_element *batch;
    rgm_dataset *data;
    double state[2] = {0};

    for (int64_t i = 0; i < head->metric_count; i++)
        if (strcmp(head->metrics[i].name, name) == 0)
            metric = &head->metrics[i];
    CHECK(metric != NULL && metric->type->state_size(metric) == 2);
    CHECK_OK(t->task.build_inputs(&data, t->task.state, mode, false));
    CHECK_OK(rgm_iterator_create(&iterator, data, NULL));
    while (rgm_iterator_next(&batch, iterator) == RGM_OK) {
        rgm_metric_batch view = {.labels = rgm_element_tensor(batch, 1)};
        rgm_tensor *predictions;
        rgm_feed feeds[2];
        int64_t count;

        CHECK_OK(t->task.feeds(feeds, 2, &count, t->task.state, batch));
        CHECK_OK(rgm_executor_run(t->look, &predictions, t->parameters, feeds, count, 1, 0));
        view.predictions = predictions;
        metric->type->update(state, metric, &view);
        rgm_element_release(batch);
    }
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    return metric->type->result(state, metric);
}

/* ---- learning -------------------------------------------------------------------------------- */

/* The digits, or NULL if the data are missing. */
static const char *digits(rgm_record_options *o)
{
    static const int64_t shape[] = {8, 8, 1};

    rgm_record_defaults(o);
    o->path = check_data("digits");
    o->train = one_file("train.csv.gz");
    o->num_classes = 10;
    o->scale = 16;
    o->shape = (rgm_ints){shape, 3};
    o->batch_size = 64;
    o->valid_fraction = 0.1;
    return o->path;
}

static void a_perceptron_learns_digits(void **state)
{
    rgm_record_options o;
    rgm_mlp_options mlp;
    training t;

    (void)state;
    if (digits(&o) == NULL)
        SKIP("REGIMEN_DATA has no digits");
    rgm_mlp_defaults(&mlp);
    o.label_smoothing = 0.1;
    mlp.dropout = 0.2;
    open_training(&t, &o, "mlp", &mlp, 1e-3);
    CHECK(measure(&t, RGM_VALID, "accuracy") < 0.3);
    train(&t, 500);
    CHECK(measure(&t, RGM_VALID, "accuracy") > 0.95);
    CHECK(measure(&t, RGM_VALID, "cross_entropy") < 0.3);
    close_training(&t);
}

/* A whole part of 32 records in one batch, repeated. */
static void a_convolutional_network_learns_32_digits_by_heart(void **state)
{
    rgm_record_options o;
    rgm_cnn_options cnn;
    training t;

    (void)state;
    if (digits(&o) == NULL)
        SKIP("REGIMEN_DATA has no digits");
    for (int norm = 0; norm < 2; norm++) {
        digits(&o);
        o.shuffle = false;
        o.batch_size = 32;
        o.valid_fraction = 1 - 32.0 / 3823;
        rgm_cnn_defaults(&cnn);
        cnn.batch_norm = norm == 1;
        open_training(&t, &o, "cnn", &cnn, 1e-2);
        CHECK(train(&t, 1) > 1.5);
        CHECK(train(&t, 99) < 0.01);
        CHECK_CLOSE(measure(&t, RGM_TRAIN, "accuracy"), 1, 0, 0);
        CHECK(measure(&t, RGM_TRAIN, "cross_entropy") < 0.01);
        close_training(&t);
    }
}

static void a_convolutional_network_learns_digits(void **state)
{
    rgm_record_options o;
    rgm_cnn_options cnn;
    training t;

    (void)state;
    if (digits(&o) == NULL)
        SKIP("REGIMEN_DATA has no digits");
    rgm_cnn_defaults(&cnn);
    cnn.channels = (rgm_ints){(int64_t[]){8, 16}, 2};
    cnn.batch_norm = true;
    cnn.dropout = 0.2;
    o.shape.count = 2; /* one channel */
    o.label_smoothing = 0.1;
    open_training(&t, &o, "cnn", &cnn, 3e-3);
    train(&t, 400);
    CHECK(measure(&t, RGM_VALID, "accuracy") > 0.96);
    close_training(&t);
}

/* ---- what the networks are ------------------------------------------------------------------- */

/* Trains `name` on a file of two records of four numbers and compares the parameters' names. */
static void check_names(const char *name, const void *options, const char *const *names,
                        int64_t count)
{
    static const int64_t shape[] = {2, 2, 1};
    const char *folder = check_folder();
    rgm_record_options o;
    char path[128];
    training t;

    snprintf(path, sizeof path, "%s/train.csv", folder);
    CHECK_OK(rgm_file_save(path, "1,2,3,4,0\n5,6,7,8,1\n", 20));
    rgm_record_defaults(&o);
    o.path = folder;
    o.train = one_file("train.csv");
    o.shape = (rgm_ints){shape, 3};
    o.num_classes = 2;
    open_training(&t, &o, name, options, 1e-3);
    CHECK(isfinite(train(&t, 1)));
    CHECK_INT(count, t.count);
    for (int64_t i = 0; i < count; i++)
        CHECK_TEXT(names[i], rgm_parameters_name(t.parameters, i));
    close_training(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

static void the_parameters_have_these_names(void **state)
{
    static const char *const plain[] = {"hidden_0/kernel", "hidden_0/bias",
                                        "classification_logits/kernel",
                                        "classification_logits/bias"};
    static const char *const normed[] = {"conv_0/kernel",
                                         "conv_0/norm/gamma",
                                         "conv_0/norm/beta",
                                         "conv_0/norm/moving_mean",
                                         "conv_0/norm/moving_variance",
                                         "hidden_0/kernel",
                                         "hidden_0/norm/gamma",
                                         "hidden_0/norm/beta",
                                         "hidden_0/norm/moving_mean",
                                         "hidden_0/norm/moving_variance",
                                         "classification_logits/kernel",
                                         "classification_logits/bias"};
    static const char *const listed[] = {"conv_0/kernel",
                                         "conv_0/bias",
                                         "dense_2/kernel",
                                         "dense_2/bias",
                                         "classification_logits/kernel",
                                         "classification_logits/bias"};
    rgm_mlp_options mlp;
    rgm_cnn_options cnn;

    (void)state;
    rgm_mlp_defaults(&mlp);
    mlp.hidden.count = 1;
    check_names("mlp", &mlp, plain, 4);
    rgm_cnn_defaults(&cnn);
    cnn.channels.count = 1;
    cnn.batch_norm = true;
    check_names("cnn", &cnn, normed, 12);
    check_names("layers",
                &(rgm_layers_network_options){
                    .layers = {(const char *const[]){"conv 2 2", "flatten", "dense 3 relu"}, 3}},
                listed, 6);
}

static void lists_that_are_no_network_are_refused(void **state)
{
    static const struct {
        const char *layers[2], *message;
        int64_t count;
    } cases[] = {{{NULL}, "model.layers lists no layer", 0},
                 {{"flatten", "dens 3"}, "model.layers: layer 1: 'dens 3': there is no layer", 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_layers_network_options options = {.layers = {cases[i].layers, cases[i].count}};

        CHECK_STATUS(RGM_ERR_CONFIG, rgm_layers_network.section.check(&options));
        CHECK_MESSAGE(cases[i].message);
    }
}

static void l2_adds_the_squares_of_every_kernel_to_the_loss(void **state)
{
    rgm_cnn_options cnn;
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_executor *executor;
    rgm_value *loss;
    rgm_tensor *got;
    double sum = 0;

    (void)state;
    rgm_cnn_defaults(&cnn);
    cnn.l2 = 0.5;
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK_OK(rgm_scope_create(&scope, graph, RGM_F64));
    CHECK(rgm_cnn(scope, rgm_input(graph, "x", RGM_F64, 4, (rgm_dim[]){2, 8, 8, 1}), &cnn) != NULL);
    loss = rgm_scope_loss(scope);
    CHECK_OK(rgm_parameters_create(&parameters, graph, 1));
    CHECK_OK(rgm_executor_create(&executor, graph, &loss, 1, NULL));
    CHECK_OK(rgm_executor_run(executor, &got, parameters, NULL, 0, 0, 0));
    for (int64_t p = 0; p < rgm_parameters_count(parameters); p++)
        if (strstr(rgm_parameters_name(parameters, p), "kernel") != NULL)
            for (int64_t i = 0; i < rgm_tensor_count(rgm_parameters_tensor(parameters, p)); i++)
                sum += pow(rgm_tensor_at(rgm_parameters_tensor(parameters, p), i), 2);
    CHECK_CLOSE(rgm_tensor_at(got, 0), 0.5 * sum, 1e-12, 0);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
}

static void rows_are_no_images(void **state)
{
    const char *folder = check_folder();
    rgm_record_options o;
    rgm_cnn_options cnn;
    rgm_task_model model = {0};
    rgm_cgraph *graph;
    rgm_scope *scope;
    rgm_task task;
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/train.csv", folder);
    CHECK_OK(rgm_file_save(path, "1,2,0\n3,4,1\n", 12));
    rgm_record_defaults(&o);
    o.path = folder;
    o.train = one_file("train.csv");
    o.num_classes = 2;
    rgm_cnn_defaults(&cnn);
    CHECK_OK(rgm_record_classification_create(&task, &o, network("cnn"), &cnn, 1, 0));
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK_OK(rgm_scope_create(&scope, graph, RGM_F32));
    CHECK_STATUS(RGM_ERR_CONFIG, task.build_model(&model, scope, task.state));
    CHECK_MESSAGE("data.shape must be");
    rgm_scope_release(scope);
    rgm_cgraph_release(graph);
    rgm_task_release(&task);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_perceptron_learns_digits),
      cmocka_unit_test(a_convolutional_network_learns_32_digits_by_heart),
      cmocka_unit_test(a_convolutional_network_learns_digits),
      cmocka_unit_test(lists_that_are_no_network_are_refused),
      cmocka_unit_test(the_parameters_have_these_names),
      cmocka_unit_test(l2_adds_the_squares_of_every_kernel_to_the_loss),
      cmocka_unit_test(rows_are_no_images))
