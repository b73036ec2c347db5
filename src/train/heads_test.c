/*
 * Two heads whose items are spread unevenly over the batches: the loss of a pass and the gradient
 * of an update are those of all items at once, however they are split into batches.
 */
#include "train_check.h"

/* The plane's classes twice; each head has its own weights. */
typedef struct twins {
    plane plane; /* first: its functions take it as their state */
    rgm_tensor *weights[2];
    rgm_value *weight_values[2];
    int64_t batch;
    bool adds_itself; /* build_losses: the trainer sees the heads as one */
    bool says_items;  /* loss_items, instead of weights, give the numbers that the losses are means
                         of */
    int64_t shards;
} twins;

static rgm_status twins_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    twins *t = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");

    *out = (rgm_task_model){.head_count = 2};
    t->plane.x_value = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, WIDTH});
    t->plane.label_value = rgm_input(graph, "label", RGM_I64, 1, &n);
    for (int h = 0; h < 2; h++) {
        rgm_head *head = &out->heads[h];

        snprintf(head->name, sizeof head->name, "head%d", h);
        t->weight_values[h] = rgm_input(graph, h == 0 ? "w0" : "w1", RGM_F32, 1, &n);
        head->predictions = rgm_dense(scope, head->name, t->plane.x_value, 2);
        head->labels = t->plane.label_value;
        head->weights = t->weight_values[h];
        head->loss = rgm_weighted_mean(rgm_softmax_cross_entropy(head->predictions, head->labels),
                                       head->weights);
        head->loss_weight = h == 0 ? 1 : 3;
        if (!t->says_items)
            continue;
        head->loss_items = rgm_reduce(head->weights, 0, RGM_SUM);
        head->weights = NULL;
    }
    rgm_scope_add_loss(scope, rgm_scalar(graph, RGM_F32, 0.5));
    return RGM_OK;
}

static rgm_status twins_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    twins *t = state;
    rgm_tensor *tensors[] = {t->plane.x, t->plane.label, t->weights[0], t->weights[1]};

    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, 4));
    RGM_TRY(rgm_dataset_batch(out, t->batch, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 2));
    return endless ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static rgm_status twins_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                              rgm_element *batch)
{
    twins *t = state;
    rgm_value *inputs[] = {t->plane.x_value, t->plane.label_value, t->weight_values[0],
                           t->weight_values[1]};

    return rgm_feed_tensors(feeds, capacity, count, inputs, 4, batch);
}

static rgm_value *add_up(const rgm_task_model *model, rgm_value *aux, void *state)
{
    (void)state;
    return rgm_add(rgm_add(model->heads[0].loss, rgm_scale(model->heads[1].loss, 3)), aux);
}

static twins make_twins(void)
{
    twins t = {.plane = make_plane(false), .batch = ITEMS};

    for (int h = 0; h < 2; h++)
        CHECK_OK(rgm_tensor_create(&t.weights[h], RGM_F32, 1, (int64_t[]){ITEMS}));
    for (int i = 0; i < ITEMS; i++) { /* 1, 4 and 3 of a batch of 4; all, none and 1 of it */
        rgm_tensor_f32(t.weights[0])[i] = i >= 3 && i != 11;
        rgm_tensor_f32(t.weights[1])[i] = i < 4 || i == 9;
    }
    return t;
}

static void clear_twins(twins *t)
{
    for (int h = 0; h < 2; h++)
        rgm_tensor_release(t->weights[h]);
    clear_plane(&t->plane);
}

static void open_shards(rgm_trainer **out, twins *t, int64_t batch, int64_t each, int64_t shards,
                        const char *loss_scale)
{
    rgm_optimizer_options sgd = rgm_sgd(0.5, 0);
    rgm_trainer_options options;
    rgm_runtime_options runtime;
    rgm_task task = {.name = "twins",
                     .state = t,
                     .build_model = twins_model,
                     .build_inputs = twins_inputs,
                     .feeds = twins_feeds};
    rgm_trainer_setup setup = {
        .task = &task, .options = &options, .runtime = &runtime, .optimizer = &sgd};

    rgm_trainer_defaults(&options);
    rgm_runtime_defaults(&runtime);
    options.train_steps = 10;
    options.accumulation_steps = each;
    runtime.shards = shards;
    runtime.loss_scale = loss_scale;
    t->batch = batch;
    if (t->adds_itself)
        task.build_losses = add_up;
    CHECK_OK(rgm_trainer_create(out, &setup));
}

static void open_twins(rgm_trainer **out, twins *t, int64_t batch, int64_t each,
                       const char *loss_scale)
{
    open_shards(out, t, batch, each, 1, loss_scale);
}

static double loss_of_a_pass(twins *t, int64_t batch)
{
    rgm_trainer *trainer;
    const rgm_logs *logs;
    double loss;

    open_twins(&trainer, t, batch, 1, NULL);
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    loss = rgm_logs_get(logs, "loss");
    rgm_trainer_release(trainer);
    return loss;
}

static void the_loss_of_a_pass_does_not_depend_on_its_batches(void **state)
{
    twins t = make_twins();
    double whole = loss_of_a_pass(&t, ITEMS);

    (void)state;
    CHECK(whole > 0.5);
    for (int said = 0; said < 2; said++) {
        t.says_items = said == 1;
        for (int64_t batch = 1; batch < ITEMS; batch++)
            CHECK_CLOSE(whole, loss_of_a_pass(&t, batch), 1e-6, 0);
    }
    t.says_items = false;
    t.adds_itself = true; /* the heads' shares of such a sum are unknown */
    CHECK_CLOSE(whole, loss_of_a_pass(&t, ITEMS), 1e-6, 0);
    CHECK(fabs(whole - loss_of_a_pass(&t, 4)) > 1e-3);
    clear_twins(&t);
}

static void check_close_twins(const rgm_trainer *a, const rgm_trainer *b)
{
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(a)); i++) {
        const rgm_tensor *x = rgm_parameters_tensor(rgm_trainer_parameters(a), i);
        const rgm_tensor *y = rgm_parameters_tensor(rgm_trainer_parameters(b), i);

        for (int64_t k = 0; k < rgm_tensor_count(x); k++)
            CHECK_CLOSE(rgm_tensor_at(x, k), rgm_tensor_at(y, k), 1e-5, 1e-6);
    }
}

/* Also where the data end before the last shards, and the shards of an evaluation. */
static void a_step_of_several_shards_is_that_of_all_their_items(void **state)
{
    twins t = make_twins(), u = make_twins();

    (void)state;
    for (int form = 0; form < 12; form++) {
        int64_t shards = 2 << form % 2, batch = 1 + form % 3, each = form % 4 < 2 ? 3 : 6;
        rgm_trainer *whole, *parts;
        const rgm_logs *a, *b;

        u.says_items = form % 2 == 1;
        open_twins(&whole, &t, batch, shards * each, NULL);
        open_shards(&parts, &u, batch, each, shards, form % 5 == 0 ? "1024" : NULL);
        CHECK_INT(rgm_trainer_pass_steps(whole), rgm_trainer_pass_steps(parts));
        CHECK_OK(rgm_trainer_train(whole, RGM_TO_END, &a));
        CHECK_OK(rgm_trainer_train(parts, RGM_TO_END, &b));
        CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 1e-6, 0);
        CHECK_CLOSE(rgm_trainer_last_loss(whole), rgm_trainer_last_loss(parts), 1e-6, 0);
        check_close_twins(whole, parts);
        CHECK_OK(rgm_trainer_evaluate(whole, RGM_VALID, RGM_TO_END, &a));
        CHECK_OK(rgm_trainer_evaluate(parts, RGM_VALID, RGM_TO_END, &b));
        CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 1e-6, 0);
        rgm_trainer_release(whole);
        rgm_trainer_release(parts);
    }
    clear_twins(&t);
    clear_twins(&u);
}

static void an_update_of_several_batches_is_that_of_all_their_items(void **state)
{
    twins t = make_twins(), u = make_twins();

    (void)state;
    for (int scaled = 0; scaled < 2; scaled++)
        for (int64_t each = 2; each <= 5; each++) { /* with 5 the data end earlier */
            rgm_trainer *whole, *parts;
            const rgm_logs *a, *b;

            u.says_items = scaled == 1;
            open_twins(&whole, &t, ITEMS, 1, NULL);
            open_twins(&parts, &u, (ITEMS + each - 1) / each, each, scaled ? "1024" : NULL);
            CHECK_OK(rgm_trainer_train(whole, 1, &a));
            CHECK_OK(rgm_trainer_train(parts, 1, &b));
            CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 1e-6, 0);
            CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_trainer_last_loss(parts), 1e-6, 0);
            check_close_twins(whole, parts);
            rgm_trainer_release(whole);
            rgm_trainer_release(parts);
        }
    clear_twins(&t);
    clear_twins(&u);
}

static rgm_status open_and_train(rgm_trainer **out, twins *t)
{
    rgm_task task = {.name = "twins",
                     .state = t,
                     .build_model = twins_model,
                     .build_inputs = twins_inputs,
                     .feeds = twins_feeds};
    rgm_optimizer_options sgd = rgm_sgd(0.5, 0);
    rgm_trainer_options options;
    rgm_runtime_options runtime;
    rgm_trainer_setup setup = {
        .task = &task, .options = &options, .runtime = &runtime, .optimizer = &sgd};
    const rgm_logs *logs;
    rgm_status status;

    rgm_trainer_defaults(&options);
    rgm_runtime_defaults(&runtime);
    options.train_steps = 2;
    options.accumulation_steps = 2;
    runtime.shards = t->shards;
    RGM_TRY(rgm_trainer_create(out, &setup));
    status = rgm_trainer_train(*out, 1, &logs);
    if (status != RGM_OK)
        rgm_trainer_release(*out);
    return status;
}

static void accumulating_survives_every_failing_allocation(void **state)
{
    twins t = make_twins();
    rgm_trainer *trainer;

    (void)state;
    t.batch = 3;
    for (t.shards = 1; t.shards <= 2; t.shards++) {
        CHECK_OK(open_and_train(&trainer, &t)); /* work that is done once is done here */
        rgm_trainer_release(trainer);
        CHECK_EVERY_OOM(open_and_train(&trainer, &t), rgm_trainer_release(trainer));
    }
    clear_twins(&t);
}

TESTS(cmocka_unit_test(the_loss_of_a_pass_does_not_depend_on_its_batches),
      cmocka_unit_test(a_step_of_several_shards_is_that_of_all_their_items),
      cmocka_unit_test(an_update_of_several_batches_is_that_of_all_their_items),
      cmocka_unit_test(accumulating_survives_every_failing_allocation))
