/*
 * Networks of records learn: a training loop by hand over what the task builds (graph, optimizer, batches),
 * without the trainer.
 */
#include "check.h"

#include <regimen/optim.h>
#include <regimen/task.h>

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
    int64_t count;              /* parameters                      */
    rgm_iterator *batches;
    int64_t step;
} training;

static const rgm_record_network *network(const char *name)
{
    const rgm_network_type *const *networks = rgm_record_classification.networks;

    while (*networks != NULL && strcmp((*networks)->name, name) != 0)
        networks++;
    CHECK(*networks != NULL);
    return (const rgm_record_network *)*networks;
}

static void compile(training *t)
{
    rgm_executor_options training_run = {.training = true};
    rgm_value *fetches[MOST + 1], *wrt[MOST], *aux = rgm_scope_loss(t->scope);

    t->count = rgm_cgraph_parameter_count(t->graph);
    CHECK(t->count <= MOST);
    for (int64_t i = 0; i < t->count; i++)
        wrt[i] = rgm_cgraph_parameter(t->graph, i);
    fetches[0] = t->model.heads[0].loss;
    if (aux != NULL)
        fetches[0] = rgm_add(fetches[0], aux);
    CHECK_OK(rgm_cgraph_gradients(fetches + 1, fetches[0], wrt, t->count));
    CHECK_OK(rgm_executor_create(&t->train, t->graph, fetches, t->count + 1, &training_run));
    CHECK_OK(rgm_executor_create(&t->look, t->graph, &t->model.heads[0].predictions, 1, NULL));
}

static void open_training(training *t, const rgm_record_options *options, const char *name,
                          const void *network_options, double rate)
{
    rgm_optimizer_options adam = rgm_adam(rate);
    rgm_dataset *data;

    *t = (training){0};
    CHECK_OK(rgm_record_classification.create(&t->task, options, &network(name)->type,
                                              network_options, 1, 0));
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
    rgm_record_classification.release(&t->task);
}

/* Steps of training; the last one's loss. */
static double train(training *t, int64_t steps)
{
    rgm_tensor *fetched[MOST + 1];
    double loss = 0;

    for (int64_t end = t->step + steps; t->step < end; t->step++) {
        rgm_element *batch;
        rgm_feed feeds[2];
        int64_t count;

        CHECK_OK(rgm_iterator_next(&batch, t->batches));
        CHECK_OK(t->task.feeds(feeds, 2, &count, t->task.state, batch));
        CHECK_OK(rgm_executor_run(t->train, fetched, t->parameters, feeds, count, 1, (uint64_t)t->step));
        loss = rgm_tensor_at(fetched[0], 0);
        CHECK_OK(rgm_optimizer_step(t->optimizer, t->parameters, fetched + 1, t->step));
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

/* The digits, or NULL where they are absent. */
static const char *digits(rgm_record_options *o)
{
    static const int64_t shape[] = {8, 8, 1};

    rgm_record_classification.defaults(o);
    o->path = check_data("digits");
    o->train = "train.csv.gz";
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

static void the_parameters_of_a_perceptron_have_these_names(void **state)
{
    static const char *const names[] = {"hidden_0/kernel", "hidden_0/bias",
                                        "classification_logits/kernel",
                                        "classification_logits/bias"};
    const char *folder = check_folder();
    rgm_mlp_options mlp;
    rgm_record_options o;
    char path[128];
    training t;

    (void)state;
    snprintf(path, sizeof path, "%s/train.csv", folder);
    CHECK_OK(rgm_file_save(path, "1,2,0\n3,4,1\n", 12));
    rgm_record_classification.defaults(&o);
    o.path = folder;
    o.train = "train.csv";
    o.num_classes = 2;
    rgm_mlp_defaults(&mlp);
    mlp.hidden = (rgm_ints){(int64_t[]){5}, 1};
    open_training(&t, &o, "mlp", &mlp, 1e-3);
    CHECK_INT(4, t.count);
    for (int i = 0; i < 4; i++)
        CHECK_TEXT(names[i], rgm_parameters_name(t.parameters, i));
    close_training(&t);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_perceptron_learns_digits),
      cmocka_unit_test(the_parameters_of_a_perceptron_have_these_names))
