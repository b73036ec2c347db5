/*
 * Differentially private training through the trainer: without noise and with a huge clipping norm
 * it is plain training; every example is clipped; an empty draw is a step of noise; the account is
 * kept.
 */
#include <check.h>

#include <regimen/train.h>

#define ITEMS 40
#define WIDTH 3

typedef struct line {
    rgm_tensor *x, *y;
    rgm_value *x_value, *y_value;
    bool poisson;
    double rate;
} line;

static rgm_status line_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    line *l = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    rgm_head *head = &out->heads[0];

    *out = (rgm_task_model){.head_count = 1};
    l->x_value = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, WIDTH});
    l->y_value = rgm_input(graph, "y", RGM_I64, 1, &n);
    head->predictions = rgm_dense(scope, "logits", l->x_value, 2);
    head->labels = l->y_value;
    head->loss = rgm_mean(rgm_softmax_cross_entropy(head->predictions, head->labels));
    head->loss_weight = 1;
    head->metrics[0] = (rgm_metric){.type = &rgm_metric_accuracy, .name = "accuracy"};
    head->metric_count = 1;
    return RGM_OK;
}

static rgm_status line_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    line *l = state;
    rgm_tensor *tensors[] = {l->x, l->y};

    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, 2));
    if (mode == RGM_TRAIN && l->poisson)
        RGM_TRY(rgm_dataset_poisson(out, l->rate));
    else
        RGM_TRY(rgm_dataset_batch(out, mode == RGM_TRAIN ? (int64_t)(l->rate * ITEMS) : 10, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 0));
    return endless ? rgm_dataset_repeat(out, -1) : RGM_OK;
}

static rgm_status line_feeds(rgm_feed *feeds, int64_t capacity, int64_t *count, void *state,
                             rgm_element *batch)
{
    line *l = state;

    CHECK(capacity >= 2);
    feeds[0] = (rgm_feed){.input = l->x_value, .tensor = rgm_element_tensor(batch, 0)};
    feeds[1] = (rgm_feed){.input = l->y_value, .tensor = rgm_element_tensor(batch, 1)};
    *count = 2;
    return RGM_OK;
}

static rgm_status line_sampling(rgm_sampling *out, void *state)
{
    line *l = state;

    *out = (rgm_sampling){.examples = ITEMS, .rate = l->rate, .poisson = l->poisson};
    return RGM_OK;
}

static line make_line(double rate, bool poisson)
{
    line l = {.rate = rate, .poisson = poisson};

    CHECK_OK(rgm_tensor_create(&l.x, RGM_F32, 2, (int64_t[]){ITEMS, WIDTH}));
    CHECK_OK(rgm_tensor_create(&l.y, RGM_I64, 1, (int64_t[]){ITEMS}));
    for (int i = 0; i < ITEMS; i++) {
        for (int k = 0; k < WIDTH; k++)
            rgm_tensor_f32(l.x)[i * WIDTH + k] = (float)((i * 7 + k * 5) % 11) / 5 - 1;
        rgm_tensor_i64(l.y)[i] = rgm_tensor_f32(l.x)[i * WIDTH] > 0;
    }
    return l;
}

static void clear_line(line *l)
{
    rgm_tensor_release(l->x);
    rgm_tensor_release(l->y);
}

static rgm_status start(rgm_trainer **out, line *l, const rgm_privacy *privacy)
{
    rgm_task task = {.name = "line",
                     .state = l,
                     .build_model = line_model,
                     .build_inputs = line_inputs,
                     .sampling = line_sampling,
                     .feeds = line_feeds};
    rgm_optimizer_options sgd = rgm_sgd(0.5, 0);
    rgm_trainer_options options;
    rgm_trainer_setup setup = {
        .task = &task, .options = &options, .optimizer = &sgd, .endless = true};

    rgm_trainer_defaults(&options);
    if (privacy != NULL)
        options.privacy = *privacy;
    return rgm_trainer_create(out, &setup);
}

static double weight(const rgm_trainer *trainer, int64_t i)
{
    return rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel"), i);
}

static void no_noise_and_no_clipping_is_plain_training(void **state)
{
    line l = make_line(0.25, false);
    rgm_privacy privacy = {.clipping_norm = 1e6, .delta = 1e-3, .sampling = RGM_PRIVACY_SHUFFLE};
    rgm_trainer *plain, *private;
    const rgm_logs *a, *b;

    (void)state;
    CHECK_OK(start(&plain, &l, NULL));
    CHECK_OK(rgm_trainer_train(plain, 20, &a));
    CHECK_OK(start(&private, &l, &privacy));
    CHECK_OK(rgm_trainer_train(private, 20, &b));
    for (int64_t i = 0; i < 2 * WIDTH; i++)
        CHECK_CLOSE(weight(plain, i), weight(private, i), 0, 1e-6);
    CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 0, 1e-6);
    CHECK_CLOSE(rgm_logs_get(a, "accuracy"), rgm_logs_get(b, "accuracy"), 0, 1e-12);
    CHECK(isinf(rgm_logs_get(b, "privacy_epsilon"))); /* without noise nothing is promised */
    rgm_trainer_release(plain);
    rgm_trainer_release(private);
    clear_line(&l);
}

/* 1 step of rate 0.5 with no noise: the weights move by at most rate * C * drawn / expected. */
static void every_example_moves_the_weights_by_a_bounded_amount(void **state)
{
    line l = make_line(0.25, false);
    rgm_privacy privacy = {.clipping_norm = 1e-3, .delta = 1e-3, .sampling = RGM_PRIVACY_SHUFFLE};
    rgm_trainer *trainer;
    const rgm_logs *logs;
    double before[2 * WIDTH], moved = 0;

    (void)state;
    CHECK_OK(start(&trainer, &l, &privacy));
    for (int64_t i = 0; i < 2 * WIDTH; i++)
        before[i] = weight(trainer, i);
    CHECK_OK(rgm_trainer_train(trainer, 1, &logs));
    for (int64_t i = 0; i < 2 * WIDTH; i++)
        moved += (weight(trainer, i) - before[i]) * (weight(trainer, i) - before[i]);
    CHECK(sqrt(moved) > 0 && sqrt(moved) <= 0.5 * 1e-3 * 1.0001);
    rgm_trainer_release(trainer);
    clear_line(&l);
}

static void poisson_draws_may_be_empty_and_the_account_is_kept(void **state)
{
    line l = make_line(0.02, true); /* 0.8 examples a step: empty in 45 % of them */
    rgm_privacy privacy = {.clipping_norm = 1, .noise_multiplier = 2, .delta = 1e-3};
    rgm_privacy_accountant alone = {0};
    rgm_trainer *whole, *first, *second;
    rgm_checkpoint *checkpoint;
    char root[128];
    rgm_checkpoint_store *store;
    const rgm_logs *logs;
    double epsilon;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    CHECK_OK(start(&whole, &l, &privacy));
    CHECK_OK(rgm_trainer_train(whole, 60, &logs));
    epsilon = rgm_logs_get(logs, "privacy_epsilon");
    CHECK_OK(rgm_privacy_step(&alone, 2, 0.02, 60));
    CHECK_CLOSE(rgm_privacy_epsilon(&alone, 1e-3), epsilon, 0, 1e-9);
    CHECK(isfinite(rgm_logs_get(logs, "loss")));

    /* Stopped and continued: the same weights and the same account. */
    CHECK_OK(start(&first, &l, &privacy));
    CHECK_OK(rgm_trainer_train(first, 25, &logs));
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 25));
    CHECK_OK(rgm_trainer_save_state(checkpoint, first));
    CHECK_OK(rgm_checkpoint_store_open(&store, root, NULL));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_release(checkpoint);
    CHECK_OK(rgm_checkpoint_load_newest(&checkpoint, store));
    CHECK_OK(start(&second, &l, &privacy));
    CHECK_OK(rgm_trainer_restore_state(second, checkpoint));
    CHECK_OK(rgm_trainer_train(second, 35, &logs));
    CHECK(epsilon == rgm_logs_get(logs, "privacy_epsilon"));
    for (int64_t i = 0; i < 2 * WIDTH; i++)
        CHECK(weight(whole, i) == weight(second, i));
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    rgm_trainer_release(whole);
    rgm_trainer_release(first);
    rgm_trainer_release(second);
    clear_line(&l);
    CHECK_OK(rgm_folder_remove(root));
}

static void what_would_break_the_promise_is_refused(void **state)
{
    line l = make_line(0.25, false);
    rgm_privacy privacy = {.clipping_norm = 1, .noise_multiplier = 1, .delta = 1e-3};
    rgm_trainer *trainer;

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("poisson");
    privacy.sampling = RGM_PRIVACY_SHUFFLE;
    privacy.delta = 0.1;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("1 / 40");
    clear_line(&l);
}

TESTS(cmocka_unit_test(no_noise_and_no_clipping_is_plain_training),
      cmocka_unit_test(every_example_moves_the_weights_by_a_bounded_amount),
      cmocka_unit_test(poisson_draws_may_be_empty_and_the_account_is_kept),
      cmocka_unit_test(what_would_break_the_promise_is_refused))
