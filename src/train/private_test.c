/*
 * Differentially private training through the trainer: without noise and with a huge clipping norm
 * it equals plain training; every example is clipped; an empty draw is a step of noise; the account
 * is kept.
 */
#include "far_device_check.h"

#include <regimen/train.h>

#define ITEMS 40
#define WIDTH 3

typedef struct line {
    rgm_tensor *x, *y;
    rgm_value *x_value, *y_value;
    bool poisson;
    double rate, dropout;
    bool has_steps, has_no_model;       /* of its own                     */
    rgm_dataset *given;                 /* replaces the task's */
    bool hooked;                        /* batches come from a hook       */
    const rgm_trainer_options *options; /* NULL: defaults           */
    int64_t shards;
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
    head->predictions = rgm_dense(scope, "logits", rgm_dropout(scope, l->x_value, l->dropout), 2);
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

static rgm_status own_step(rgm_step *step, void *state)
{
    (void)state;
    return rgm_trainer_default_train_step(step);
}

static rgm_status next_inputs(rgm_element **out, rgm_iterator *iterator, void *payload)
{
    (void)payload;
    return rgm_iterator_next(out, iterator);
}

static rgm_status start(rgm_trainer **out, line *l, const rgm_privacy *privacy)
{
    rgm_task task = {.name = "line",
                     .state = l,
                     .build_model = l->has_no_model ? NULL : line_model,
                     .train_step = l->has_steps || l->has_no_model ? own_step : NULL,
                     .build_inputs = line_inputs,
                     .sampling = line_sampling,
                     .feeds = line_feeds};
    rgm_optimizer_options sgd = rgm_sgd(0.5, 0);
    rgm_trainer_options options;
    rgm_trainer_hooks hooks = {.next_train_inputs = l->hooked ? next_inputs : NULL};
    rgm_runtime_options runtime;
    rgm_trainer_setup setup = {.task = &task,
                               .options = &options,
                               .runtime = &runtime,
                               .optimizer = &sgd,
                               .endless = true,
                               .train_dataset = l->given,
                               .hooks = &hooks};

    rgm_trainer_defaults(&options);
    rgm_runtime_defaults(&runtime);
    runtime.shards = l->shards > 0 ? l->shards : 1;
    if (l->options != NULL)
        options = *l->options;
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

/* Poisson draws of 0.8 examples: a shard has one, several or none. The noise is the same, so steps
 * differ by the rounding of sums alone. */
static void shards_of_a_private_step_add_up_to_the_step(void **state)
{
    rgm_privacy privacy = {
        .clipping_norm = 0.5, .noise_multiplier = 2, .delta = 1e-3, .noise_seed = 5};

    (void)state;
    for (int64_t shards = 2; shards <= 8; shards *= 4)
        for (int full = 0; full < 2; full++) {
            line l = make_line(full ? 0.25 : 0.02, true);
            rgm_trainer *whole, *parts;
            const rgm_logs *a, *b;

            CHECK_OK(start(&whole, &l, &privacy));
            CHECK_OK(rgm_trainer_train(whole, 20, &a));
            l.shards = shards;
            CHECK_OK(start(&parts, &l, &privacy));
            CHECK_OK(rgm_trainer_train(parts, 20, &b));
            for (int64_t i = 0; i < 2 * WIDTH; i++)
                CHECK_CLOSE(weight(whole, i), weight(parts, i), 0, 1e-5);
            CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 0, 1e-5);
            CHECK(rgm_trainer_epsilon(whole) == rgm_trainer_epsilon(parts));
            CHECK(rgm_trainer_items(whole, RGM_TRAIN) == rgm_trainer_items(parts, RGM_TRAIN));
            rgm_trainer_release(whole);
            rgm_trainer_release(parts);
            clear_line(&l);
        }
}

/* 1 step of rate 0.5 without noise: the weights move by at most rate * C * drawn / expected. */
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
    rgm_privacy privacy = {
        .clipping_norm = 1, .noise_multiplier = 2, .delta = 1e-3, .noise_seed = 5};
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

    /* Stopped and continued with the same noise_seed: the same weights and the same account. */
    l.dropout = 0.5;
    rgm_trainer_release(whole);
    CHECK_OK(start(&whole, &l, &privacy));
    CHECK_OK(rgm_trainer_train(whole, 60, &logs));
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

enum { WEIGHTS = 2 * WIDTH, MOST_STEPS = 32 };

/* What steps on empty draws have added to the weights: only noise. */
typedef struct noises {
    double of[MOST_STEPS][WEIGHTS];
    int64_t count;
} noises;

static void take_steps(noises *n, rgm_trainer *trainer, int steps)
{
    const rgm_logs *logs;

    for (int k = 0; k < steps; k++, n->count++) {
        double *moved = n->of[n->count];

        for (int64_t i = 0; i < WEIGHTS; i++)
            moved[i] = -weight(trainer, i);
        CHECK_OK(rgm_trainer_train(trainer, 1, &logs));
        for (int64_t i = 0; i < WEIGHTS; i++)
            moved[i] += weight(trainer, i);
    }
}

static rgm_checkpoint *saved(const rgm_trainer *trainer, rgm_checkpoint_store *store)
{
    rgm_checkpoint *checkpoint;

    CHECK_OK(rgm_checkpoint_create(&checkpoint, rgm_trainer_global_step(trainer)));
    CHECK_OK(rgm_trainer_save_state(checkpoint, trainer));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_release(checkpoint);
    CHECK_OK(rgm_checkpoint_load_newest(&checkpoint, store));
    return checkpoint;
}

static void check_all_differ(const noises *n)
{
    for (int64_t a = 0; a < n->count; a++)
        for (int64_t b = 0; b < a; b++)
            for (int64_t i = 0; i < WEIGHTS; i++) /* noise of deviation 1; rounding is far below */
                CHECK(fabs(n->of[a][i] - n->of[b][i]) > 1e-6);
}

static void noise_of_steps_runs_resumes_and_ways_back_is_never_equal(void **state)
{
    line l = make_line(1e-9, true);
    /* 4e-8 examples are expected in a step, and the rate is 0.5. */
    rgm_privacy privacy = {.clipping_norm = 4e-8, .noise_multiplier = 2, .delta = 1e-3};
    noises n = {.count = 0};
    rgm_trainer *first, *again, *resumed;
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;
    char root[128];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    CHECK_OK(rgm_checkpoint_store_open(&store, root, NULL));
    CHECK_OK(start(&first, &l, &privacy));
    take_steps(&n, first, 3);
    checkpoint = saved(first, store);
    take_steps(&n, first, 3);
    CHECK_OK(rgm_trainer_restore_state(first, checkpoint)); /* back to step 3 */
    take_steps(&n, first, 3);
    CHECK_OK(start(&resumed, &l, &privacy));
    CHECK_OK(rgm_trainer_restore_state(resumed, checkpoint));
    take_steps(&n, resumed, 3);
    CHECK_OK(start(&again, &l, &privacy)); /* another run with the same runtime.seed */
    take_steps(&n, again, 3);
    check_all_differ(&n);

    /* A given seed repeats a run, but no step within it either. */
    privacy.noise_seed = 9;
    n.count = 0;
    rgm_trainer_release(first);
    CHECK_OK(start(&first, &l, &privacy));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_restore_state(first, checkpoint));
    CHECK_MESSAGE("begun with trainer.privacy.noise_seed 0 and cannot go on with 9");
    rgm_checkpoint_release(checkpoint);
    rgm_trainer_release(first);
    CHECK_OK(start(&first, &l, &privacy));
    take_steps(&n, first, 3);
    checkpoint = saved(first, store);
    take_steps(&n, first, 3);
    CHECK_OK(rgm_trainer_restore_state(first, checkpoint));
    take_steps(&n, first, 3);
    check_all_differ(&n);
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    rgm_trainer_release(first);
    rgm_trainer_release(again);
    rgm_trainer_release(resumed);
    clear_line(&l);
    CHECK_OK(rgm_folder_remove(root));
}

/* Whether two runs of five steps without noise end with the same weights. */
static bool runs_agree(line *l, const rgm_privacy *privacy)
{
    rgm_trainer *trainers[2];
    const rgm_logs *logs;
    bool same = true;

    for (int k = 0; k < 2; k++) {
        CHECK_OK(start(&trainers[k], l, privacy));
        CHECK_OK(rgm_trainer_train(trainers[k], 5, &logs));
    }
    for (int64_t i = 0; i < WEIGHTS; i++)
        same = same && weight(trainers[0], i) == weight(trainers[1], i);
    rgm_trainer_release(trainers[0]);
    rgm_trainer_release(trainers[1]);
    return same;
}

static void samples_and_masks_are_secret_too(void **state)
{
    line l = make_line(0.25, true);
    rgm_privacy privacy = {.clipping_norm = 1, .delta = 1e-3};

    (void)state;
    CHECK(!runs_agree(&l, &privacy)); /* who was drawn */
    privacy.noise_seed = 7;
    CHECK(runs_agree(&l, &privacy));
    privacy.noise_seed = 0;
    privacy.sampling = RGM_PRIVACY_SHUFFLE;
    l.poisson = false;
    CHECK(runs_agree(&l, &privacy)); /* only the noise is random, and there is none */
    l.dropout = 0.5;
    CHECK(!runs_agree(&l, &privacy));
    clear_line(&l);
}

/* Two runs at the same step, with different secrets, save the same about the data. */
static void a_checkpoint_holds_nothing_of_the_secret(void **state)
{
    line l = make_line(0.25, true);
    rgm_privacy privacy = {.clipping_norm = 1, .noise_multiplier = 1, .delta = 1e-3};
    rgm_checkpoint *checkpoints[2];
    const rgm_logs *logs;
    rgm_str data[2];

    (void)state;
    for (int k = 0; k < 2; k++) {
        rgm_trainer *trainer;

        CHECK_OK(start(&trainer, &l, &privacy));
        CHECK_OK(rgm_trainer_train(trainer, 3, &logs));
        CHECK_OK(rgm_checkpoint_create(&checkpoints[k], 3));
        CHECK_OK(rgm_trainer_save_state(checkpoints[k], trainer));
        CHECK_OK(
            rgm_checkpoint_get_keys(checkpoints[k], &(rgm_key_place){RGM_KEY_DATA, &data[k]}, 1));
        rgm_trainer_release(trainer);
    }
    CHECK(data[0].size > 0 && data[0].size == data[1].size);
    CHECK(memcmp(data[0].data, data[1].data, (size_t)data[0].size) == 0);
    rgm_checkpoint_release(checkpoints[0]);
    rgm_checkpoint_release(checkpoints[1]);
    clear_line(&l);
}

static void what_was_spent_stays_spent_on_the_way_back(void **state)
{
    line l = make_line(0.25, true);
    rgm_privacy privacy = {.clipping_norm = 1, .noise_multiplier = 1, .delta = 1e-3};
    rgm_privacy_accountant alone = {0};
    rgm_trainer *trainer;
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;
    const rgm_logs *logs;
    char root[128];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    CHECK_OK(rgm_checkpoint_store_open(&store, root, NULL));
    CHECK_OK(start(&trainer, &l, &privacy));
    CHECK_OK(rgm_trainer_train(trainer, 4, &logs));
    checkpoint = saved(trainer, store);
    CHECK_OK(rgm_trainer_train(trainer, 6, &logs));
    CHECK_OK(rgm_trainer_restore_state(trainer, checkpoint));
    CHECK_OK(rgm_trainer_train(trainer, 6, &logs));
    CHECK_OK(rgm_privacy_step(&alone, 1, 0.25, 16));
    CHECK_CLOSE(rgm_privacy_epsilon(&alone, 1e-3), rgm_logs_get(logs, "privacy_epsilon"), 0, 1e-9);
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    rgm_trainer_release(trainer);
    clear_line(&l);
    CHECK_OK(rgm_folder_remove(root));
}

/* Options of a run of so many steps, with the noise that its target needs. */
static rgm_trainer_options targeted(int64_t steps)
{
    rgm_trainer_options options;

    rgm_trainer_defaults(&options);
    options.train_steps = steps;
    options.privacy = (rgm_privacy){.clipping_norm = 1, .target_epsilon = 3, .delta = 1e-3};
    return options;
}

static void noise_for_a_target_makes_a_run_of_that_epsilon(void **state)
{
    line l = make_line(0.25, true);
    rgm_trainer_options options = targeted(20), longer = targeted(30), endless = targeted(0);
    rgm_trainer *trainer, *resumed;
    rgm_privacy_report report;
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;
    const rgm_logs *logs;
    char root[128];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    CHECK_OK(rgm_checkpoint_store_open(&store, root, NULL));
    l.options = &options;
    CHECK_OK(start(&trainer, &l, NULL));
    CHECK(rgm_trainer_privacy(&report, trainer) && report.epsilon == 0 && report.steps == 20);
    CHECK_CLOSE(report.planned, 3, 0, 1e-6);
    CHECK_OK(rgm_trainer_train(trainer, 12, &logs));
    checkpoint = saved(trainer, store);
    CHECK_OK(rgm_trainer_train(trainer, 8, &logs));
    CHECK_CLOSE(rgm_trainer_epsilon(trainer), 3, 0, 1e-6);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_train(trainer, 1, &logs));
    CHECK_MESSAGE("trainer.privacy.target_epsilon is 3: 3 is spent at step 20");
    rgm_trainer_release(trainer);

    CHECK_OK(start(&resumed, &l, NULL));
    CHECK_OK(rgm_trainer_restore_state(resumed, checkpoint));
    CHECK_OK(rgm_trainer_train(resumed, 8, &logs));
    CHECK_CLOSE(rgm_trainer_epsilon(resumed), 3, 0, 1e-6);
    rgm_trainer_release(resumed);
    l.options = &longer; /* its first 12 steps had too little noise for 30 */
    CHECK_OK(start(&resumed, &l, NULL));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_restore_state(resumed, checkpoint));
    CHECK_MESSAGE("18 more steps");
    rgm_trainer_release(resumed);
    l.options = &endless;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, NULL));
    CHECK_MESSAGE("how many steps the run has is not known");
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    clear_line(&l);
    CHECK_OK(rgm_folder_remove(root));
}

static void what_would_break_the_promise_is_refused(void **state)
{
    line l = make_line(0.25, false);
    rgm_privacy privacy = {.clipping_norm = 1, .noise_multiplier = 1, .delta = 1e-3};
    rgm_trainer_options options;
    rgm_trainer *trainer;

    (void)state;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("poisson");
    privacy.sampling = RGM_PRIVACY_SHUFFLE;
    privacy.delta = 0.1;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("1 / 40");
    privacy.delta = 1e-3;
    rgm_trainer_defaults(&options);
    l.options = &options;
    options.recovery.policy = RGM_RECOVER_ROLLBACK;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("trainer.recovery.policy is rollback, but must be stop");
    rgm_trainer_defaults(&options);
    options.recovery.loss_upper_bound = 10;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("trainer.recovery.loss_upper_bound is 10, but must be inf");
    rgm_trainer_defaults(&options);
    options.accumulation_steps = 2;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("trainer.accumulation_steps is 2, but must be 1");
    clear_line(&l);
}

static void what_would_not_be_private_is_refused(void **state)
{
    line l = make_line(0.25, true);
    rgm_privacy privacy = {.clipping_norm = 1, .noise_multiplier = 1, .delta = 1e-3};
    rgm_trainer *trainer;

    (void)state;
    l.has_steps = true;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("a train_step of its own");
    l.has_steps = false;
    l.has_no_model = true;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    l.has_no_model = false;
    l.hooked = true;
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("batches come from a hook");
    l.hooked = false;
    CHECK_OK(line_inputs(&l.given, &l, RGM_TRAIN, true));
    CHECK_STATUS(RGM_ERR_CONFIG, start(&trainer, &l, &privacy));
    CHECK_MESSAGE("a train_dataset is given");
    rgm_dataset_release(l.given);
    l.given = NULL;
    CHECK_OK(start(&trainer, &l, &privacy));
    CHECK_OK(line_inputs(&l.given, &l, RGM_TRAIN, true));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_set_train_dataset(trainer, l.given));
    CHECK_MESSAGE("cannot be exchanged");
    rgm_dataset_release(l.given);
    rgm_trainer_release(trainer);
    clear_line(&l);
}

/* ---- on a device ------------------------------------------------------------------------------
 */

/* Each example is clipped and added there; the noise comes from the host, where the secret is. */
static void a_device_gives_the_bits_of_the_cpu(void **state)
{
    rgm_privacy privacy = {
        .clipping_norm = 0.5, .noise_multiplier = 2, .delta = 1e-3, .noise_seed = 5};
    rgm_trainer_options options;
    rgm_trainer *trainers[2];
    const rgm_logs *logs[2];
    line l = make_line(0.25, true);

    (void)state;
    far_open();
    rgm_trainer_defaults(&options);
    l.options = &options;
    for (int i = 0; i < 2; i++) {
        options.device = i == 0 ? NULL : far.device;
        CHECK_OK(start(&trainers[i], &l, &privacy));
        CHECK_OK(rgm_trainer_train(trainers[i], 20, &logs[i]));
    }
    CHECK(rgm_logs_get(logs[0], "loss") == rgm_logs_get(logs[1], "loss"));
    for (int64_t i = 0; i < 2 * WIDTH; i++)
        CHECK(weight(trainers[0], i) == weight(trainers[1], i));
    for (int i = 0; i < 2; i++)
        rgm_trainer_release(trainers[i]);
    clear_line(&l);
    far_close();
}

TESTS(cmocka_unit_test(a_device_gives_the_bits_of_the_cpu),
      cmocka_unit_test(no_noise_and_no_clipping_is_plain_training),
      cmocka_unit_test(every_example_moves_the_weights_by_a_bounded_amount),
      cmocka_unit_test(shards_of_a_private_step_add_up_to_the_step),
      cmocka_unit_test(poisson_draws_may_be_empty_and_the_account_is_kept),
      cmocka_unit_test(noise_of_steps_runs_resumes_and_ways_back_is_never_equal),
      cmocka_unit_test(samples_and_masks_are_secret_too),
      cmocka_unit_test(a_checkpoint_holds_nothing_of_the_secret),
      cmocka_unit_test(what_was_spent_stays_spent_on_the_way_back),
      cmocka_unit_test(noise_for_a_target_makes_a_run_of_that_epsilon),
      cmocka_unit_test(what_would_break_the_promise_is_refused),
      cmocka_unit_test(what_would_not_be_private_is_refused))
