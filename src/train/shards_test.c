/*
 * Steps of several shards in one process: they are worth one step of all their batches, whatever
 * the metrics keep; a continued run has the same bits; a bad shard changes nothing; and what cannot
 * be shared out is refused before the first step.
 */
#include "train_check.h"

static plane_setup sharded(int64_t shards, int64_t each)
{
    plane_setup s = make_plane_setup();

    s.finite = true;
    s.data.batch = 1;
    s.runtime.shards = shards;
    s.options.accumulation_steps = each;
    return s;
}

/* The weights of both, but for the number of batches that a state counts. */
static void check_close_weights(const rgm_trainer *a, const rgm_trainer *b)
{
    const rgm_parameters *p = rgm_trainer_parameters(a), *q = rgm_trainer_parameters(b);

    for (int64_t i = 0; i < rgm_parameters_count(p); i++)
        for (int64_t k = 0; k < rgm_tensor_count(rgm_parameters_tensor(p, i)); k++)
            if (rgm_parameters_trainable(p, i))
                CHECK_CLOSE(rgm_tensor_at(rgm_parameters_tensor(p, i), k),
                            rgm_tensor_at(rgm_parameters_tensor(q, i), k), 1e-6, 1e-7);
}

static double steps_of(const rgm_trainer *trainer)
{
    return rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(trainer), "steps"), 0);
}

/* 12 batches of one item, and 4 x 2 in a step: in the second step the last shards have none. */
static void shards_are_worth_as_many_batches_of_one_process(void **state)
{
    (void)state;
    for (int curves = 0; curves < 2; curves++) {
        plane_setup s = sharded(1, 8), t = sharded(4, 2);
        const rgm_logs *a, *b;
        rgm_trainer *one, *four;

        s.data.dropout = t.data.dropout = 0; /* it is drawn by shard */
        s.data.curves = t.data.curves = curves;
        CHECK_OK(open_plane(&one, &s));
        CHECK_OK(open_plane(&four, &t));
        CHECK_INT(2, rgm_trainer_pass_steps(four));
        for (int pass = 0; pass < 3; pass++) {
            CHECK_OK(rgm_trainer_train(one, RGM_TO_END, &a));
            CHECK_OK(rgm_trainer_train(four, RGM_TO_END, &b));
            CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 1e-6, 0);
            CHECK_CLOSE(rgm_logs_get(a, "accuracy"), rgm_logs_get(b, "accuracy"), 1e-12, 0);
            if (curves)
                CHECK_CLOSE(rgm_logs_get(a, "auc_roc"), rgm_logs_get(b, "auc_roc"), 1e-12, 0);
            CHECK_INT(ITEMS, rgm_trainer_items(four, RGM_TRAIN));
        }
        CHECK_INT(6, rgm_trainer_global_step(four));
        check_close_weights(one, four);
        CHECK_CLOSE(36, steps_of(one), 0, 0);
        CHECK_CLOSE(12, steps_of(four), 0, 0); /* in each step 2, the mean of its shards */
        rgm_trainer_release(one);
        rgm_trainer_release(four);
        clear_plane(&s.data);
        clear_plane(&t.data);
    }
}

/* Identical batches in every shard: only dropout can make their gradients differ. */
static void each_shard_draws_dropout_of_its_own(void **state)
{
    plane_setup s = sharded(1, 1), t = sharded(2, 1);
    rgm_trainer *one, *two, *again;

    (void)state;
    for (int i = 0; i < ITEMS; i++) {
        memcpy(rgm_tensor_f32(s.data.x) + i * WIDTH, (float[]){0.5, -1, 2}, WIDTH * sizeof(float));
        rgm_tensor_i64(s.data.label)[i] = 1;
    }
    rgm_tensor_set(t.data.x, s.data.x);
    rgm_tensor_set(t.data.label, s.data.label);
    for (int dropout = 0; dropout < 2; dropout++) {
        double a, b;

        s.data.dropout = t.data.dropout = dropout ? 0.5 : 0;
        CHECK_OK(open_plane(&one, &s));
        CHECK_OK(open_plane(&two, &t));
        CHECK_OK(open_plane(&again, &t));
        train_steps(one, 5);
        train_steps(two, 5);
        train_steps(again, 5);
        check_same_trainer("the same shards", two, again);
        a = rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(one), "logits/kernel"), 0);
        b = rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(two), "logits/kernel"), 0);
        if (dropout)
            CHECK(fabs(a - b) > 1e-3);
        else
            CHECK_CLOSE(a, b, 1e-6, 0);
        rgm_trainer_release(one);
        rgm_trainer_release(two);
        rgm_trainer_release(again);
    }
    clear_plane(&s.data);
    clear_plane(&t.data);
}

/* In the middle of a pass and of a loop, with lists of scores. */
static void a_continued_run_has_the_same_bits(void **state)
{
    plane_setup s = sharded(4, 1);
    const char *folder = check_fast_folder();
    rgm_trainer *whole, *first, *rest;
    rgm_checkpoint_store *store;
    rgm_checkpoint *checkpoint;
    const rgm_logs *a, *b;

    (void)state;
    s.data.curves = true;
    CHECK_OK(open_plane(&whole, &s));
    CHECK_OK(open_plane(&first, &s));
    CHECK_OK(open_plane(&rest, &s));
    CHECK_OK(rgm_trainer_train_loop_begin(first));
    CHECK_OK(rgm_trainer_train_step(first));
    CHECK_OK(rgm_checkpoint_create(&checkpoint, 1));
    CHECK_OK(rgm_trainer_save_state(checkpoint, first));
    CHECK_OK(rgm_checkpoint_store_open(&store, folder, NULL));
    CHECK_OK(rgm_checkpoint_save(store, checkpoint));
    rgm_checkpoint_release(checkpoint);
    CHECK_OK(rgm_checkpoint_load_newest(&checkpoint, store));
    CHECK_OK(rgm_trainer_restore_state(rest, checkpoint));
    CHECK_OK(rgm_trainer_train(whole, RGM_TO_END, &a));
    CHECK_OK(rgm_trainer_train(rest, RGM_TO_END, &b));
    CHECK_INT(3, rgm_trainer_global_step(rest));
    check_same_trainer("continued", whole, rest);
    for (int64_t i = 0; i < a->count; i++)
        CHECK(a->items[i].value == b->items[i].value);
    rgm_trainer_release(whole);
    rgm_trainer_release(first);
    rgm_trainer_release(rest);
    rgm_checkpoint_release(checkpoint);
    rgm_checkpoint_store_close(store);
    CHECK_OK(rgm_folder_remove(folder));
    clear_plane(&s.data);
}

/* Batch 5 is infinite, of the second of 4 shards in the second step. */
static void a_bad_shard_changes_nothing_and_the_data_go_on_behind_the_step(void **state)
{
    plane_setup s = sharded(4, 1);
    rgm_trainer *trainer, *fresh;
    rgm_element *next;

    (void)state;
    clear_plane(&s.data);
    s.data = make_plane(true);
    s.data.batch = 1;
    s.data.in_order = true;
    s.data.dropout = 0;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane(&fresh, &s));
    train_steps(fresh, 1);
    CHECK_OK(rgm_trainer_train_loop_begin(trainer));
    CHECK_OK(rgm_trainer_train_step(trainer));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_trainer_train_step(trainer));
    CHECK_MESSAGE("step 2");
    check_same_trainer("after a bad shard", fresh, trainer);
    CHECK_OK(rgm_trainer_next_inputs(&next, trainer));
    check_same_tensor("the next batch", "x", rgm_element_tensor(next, 0),
                      rgm_element_tensor(next, 0));
    CHECK_CLOSE(rgm_tensor_at(s.data.x, 8 * WIDTH), rgm_tensor_at(rgm_element_tensor(next, 0), 0),
                0, 0);
    rgm_element_release(next);
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    clear_plane(&s.data);
}

/* Four batches of an item each, one of which is far off; all at weights that stay as they are. */
static plane_setup far_off(double *mean, double *worst)
{
    plane_setup s = sharded(1, 1);
    rgm_trainer *trainer;

    s.data.in_order = true;
    s.data.dropout = 0;
    s.optimizer = rgm_sgd(1e-30, 0);
    for (int i = 1; i < 3; i++) { /* alike but for the label: one of them is wrong */
        memcpy(rgm_tensor_f32(s.data.x) + i * WIDTH, (float[]){30, -20, 25}, WIDTH * sizeof(float));
        rgm_tensor_i64(s.data.label)[i] = i - 1;
    }
    *mean = *worst = 0;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(rgm_trainer_train_loop_begin(trainer));
    for (int i = 0; i < 4; i++) {
        CHECK_OK(rgm_trainer_train_step(trainer));
        *mean += rgm_trainer_last_loss(trainer) / 4;
        *worst = fmax(*worst, rgm_trainer_last_loss(trainer));
    }
    rgm_trainer_release(trainer);
    CHECK(*worst > 1.5 * *mean);
    return s;
}

/* Of four shards, and of four batches that are accumulated. */
static void the_bound_is_one_on_the_loss_of_a_whole_step(void **state)
{
    double mean, worst;
    plane_setup s = far_off(&mean, &worst);

    (void)state;
    for (int shards = 1; shards <= 4; shards += 3) {
        rgm_trainer *fresh, *within, *above;

        s.runtime.shards = shards;
        s.options.accumulation_steps = 4 / shards;
        s.options.recovery.loss_upper_bound = (mean + worst) / 2;
        CHECK_OK(open_plane(&within, &s));
        CHECK_OK(rgm_trainer_train_loop_begin(within));
        CHECK_OK(rgm_trainer_train_step(within));
        CHECK_CLOSE(mean, rgm_trainer_last_loss(within), 1e-6, 0);
        s.options.recovery.loss_upper_bound = 0.9 * mean;
        CHECK_OK(open_plane(&fresh, &s));
        CHECK_OK(open_plane(&above, &s));
        CHECK_OK(rgm_trainer_train_loop_begin(above));
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_trainer_train_step(above));
        CHECK_MESSAGE("above trainer.recovery.loss_upper_bound");
        check_same_weights("a step above the bound", fresh, above);
        rgm_trainer_release(within);
        rgm_trainer_release(fresh);
        rgm_trainer_release(above);
    }
    clear_plane(&s.data);
}

/* Gradients of bf16: near those of f32, and other numbers; the states are the same. */
static void gradients_of_bf16_are_near_those_of_f32(void **state)
{
    plane_setup s = sharded(4, 1), t = sharded(4, 1);
    rgm_trainer *wide, *narrow, *again;
    double most = 0;

    (void)state;
    t.runtime.gradient_exchange = RGM_EXCHANGE_BF16;
    s.optimizer = t.optimizer = rgm_sgd(0.1, 0);
    CHECK_OK(open_plane(&wide, &s));
    CHECK_OK(open_plane(&narrow, &t));
    CHECK_OK(open_plane(&again, &t));
    train_steps(wide, 1);
    train_steps(narrow, 1);
    train_steps(again, 1);
    check_same_trainer("the same shards", narrow, again);
    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(wide)); i++) {
        const rgm_tensor *a = rgm_parameters_tensor(rgm_trainer_parameters(wide), i);
        const rgm_tensor *b = rgm_parameters_tensor(rgm_trainer_parameters(narrow), i);

        for (int64_t k = 0; k < rgm_tensor_count(a); k++)
            most = fmax(most, fabs(rgm_tensor_at(a, k) - rgm_tensor_at(b, k)));
    }
    CHECK(most > 0 && most < 1e-3);
    CHECK_CLOSE(steps_of(wide), steps_of(narrow), 0, 0);
    rgm_trainer_release(wide);
    rgm_trainer_release(narrow);
    rgm_trainer_release(again);
    clear_plane(&s.data);
    clear_plane(&t.data);
}

static void a_pass_over_shards_is_the_whole_pass(void **state)
{
    (void)state;
    for (int64_t steps = -1; steps <= 6; steps += 7)
        for (int curves = 0; curves < 2; curves++) {
            plane_setup s = sharded(1, 1), t = sharded(4, 1);
            rgm_trainer *one, *four;
            const rgm_logs *a, *b;

            s.data.curves = t.data.curves = curves;
            CHECK_OK(open_plane(&one, &s));
            CHECK_OK(open_plane(&four, &t));
            CHECK_OK(rgm_trainer_evaluate(one, RGM_VALID, steps, &a));
            CHECK_OK(rgm_trainer_evaluate(four, RGM_VALID, steps, &b));
            CHECK_INT(a->count, b->count);
            for (int64_t i = 0; i < a->count; i++)
                CHECK_CLOSE(a->items[i].value, b->items[i].value, 1e-12, 0);
            CHECK_INT(rgm_trainer_items(one, RGM_VALID), rgm_trainer_items(four, RGM_VALID));
            CHECK_INT(rgm_trainer_eval_steps(one), rgm_trainer_eval_steps(four));
            rgm_trainer_release(one);
            rgm_trainer_release(four);
            clear_plane(&s.data);
            clear_plane(&t.data);
        }
}

/* ---- batches that are completed -------------------------------------------------------------- */

static int completions, completed;

/* Lists, as they are before they are stacked. */
static rgm_status keep_list(rgm_element **out, const rgm_element *element, const rgm_map_call *call,
                            void *payload)
{
    (void)call, (void)payload;
    *out = rgm_element_retain((rgm_element *)element);
    return RGM_OK;
}

static rgm_status list_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    plane *p = state;
    rgm_tensor *tensors[] = {p->x, p->label};

    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, 2));
    if (mode == RGM_TRAIN)
        RGM_TRY(rgm_dataset_shuffle(out, 8));
    RGM_TRY(rgm_dataset_batch(out, p->batch, false));
    RGM_TRY(rgm_dataset_map(out, keep_list, NULL, NULL, 2));
    if (endless)
        RGM_TRY(rgm_dataset_repeat(out, -1));
    return rgm_dataset_prefetch(out, 2);
}

static rgm_status stack_all(rgm_element **batches, int64_t count, void *state)
{
    (void)state;
    completions++;
    for (int64_t i = 0; i < count; i++) {
        rgm_element *stacked;

        if (batches[i] == NULL)
            continue;
        RGM_TRY(rgm_element_stack(&stacked, batches[i], NULL, NULL));
        rgm_element_release(batches[i]);
        batches[i] = stacked;
        completed++;
    }
    return RGM_OK;
}

static rgm_status fail_to_complete(rgm_element **batches, int64_t count, void *state)
{
    (void)batches, (void)count, (void)state;
    return RGM_FAIL(RGM_ERR_DATA, "nobody has the rest");
}

static rgm_status open_lists(rgm_trainer **out, plane_setup *s, const rgm_task *lists)
{
    const rgm_trainer_setup setup = {
        .task = lists, .options = &s->options, .runtime = &s->runtime, .optimizer = &s->optimizer};

    return rgm_trainer_create(out, &setup);
}

/* 12 batches, 4 x 2 in a step: of the second step and of a pass of 6 batches the end is missing. */
static void batches_are_completed_a_step_and_a_round_at_once(void **state)
{
    plane_setup s = sharded(4, 2), t = sharded(4, 2);
    rgm_task lists = plane_task(&t.data);
    rgm_trainer *whole, *made;
    const rgm_logs *a, *b;

    (void)state;
    lists.build_inputs = list_inputs;
    lists.complete = stack_all;
    CHECK_OK(open_plane(&whole, &s));
    CHECK_OK(open_lists(&made, &t, &lists));
    completions = completed = 0;
    for (int pass = 0; pass < 2; pass++) {
        CHECK_OK(rgm_trainer_train(whole, RGM_TO_END, &a));
        CHECK_OK(rgm_trainer_train(made, RGM_TO_END, &b));
        CHECK(rgm_logs_get(a, "loss") == rgm_logs_get(b, "loss"));
    }
    check_same_trainer("completed", whole, made);
    CHECK_INT(4, completions);
    CHECK_INT(24, completed);
    for (int64_t steps = 6; steps >= -1; steps -= 7) {
        completions = 0;
        CHECK_OK(rgm_trainer_evaluate(whole, RGM_VALID, steps, &a));
        CHECK_OK(rgm_trainer_evaluate(made, RGM_VALID, steps, &b));
        CHECK(rgm_logs_get(a, "loss") == rgm_logs_get(b, "loss"));
        CHECK(rgm_logs_get(a, "accuracy") == rgm_logs_get(b, "accuracy"));
        CHECK_INT(steps > 0 ? 2 : 3, completions);
    }
    rgm_trainer_release(whole);
    rgm_trainer_release(made);
    clear_plane(&s.data);
    clear_plane(&t.data);
}

static void what_is_not_completed_is_told(void **state)
{
    plane_setup s = sharded(4, 1);
    rgm_task lists = plane_task(&s.data);
    rgm_trainer *trainer;
    const rgm_logs *logs;

    (void)state;
    lists.build_inputs = list_inputs;
    lists.complete = fail_to_complete;
    CHECK_OK(open_lists(&trainer, &s, &lists));
    CHECK_STATUS(RGM_ERR_DATA, rgm_trainer_train(trainer, 1, &logs));
    CHECK_MESSAGE("nobody has the rest");
    CHECK_STATUS(RGM_ERR_DATA, rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    rgm_trainer_release(trainer);
    s.runtime.shards = 1;
    CHECK_STATUS(RGM_ERR_CONFIG, open_lists(&trainer, &s, &lists));
    CHECK_MESSAGE(
        "runtime.shards is 1, but batches of task 'plane' are completed by all processes, "
        "several at once: set runtime.shards to 2 or more");
    s.runtime.shards = 4;
    s.options.validation_steps = 2;
    s.options.validation_continues = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_lists(&trainer, &s, &lists));
    CHECK_MESSAGE("which trainer.validation_continues does not go with");
    clear_plane(&s.data);
}

/* ---- refusals -------------------------------------------------------------------------------- */

static rgm_status own_step(rgm_step *step, void *state)
{
    (void)state;
    return rgm_trainer_default_train_step(step);
}

static rgm_status aggregate(void **out, const rgm_step *step, void *state)
{
    (void)out, (void)step, (void)state;
    return RGM_OK;
}

static rgm_status reduce(rgm_logs *logs, void *out, int64_t step, void *state)
{
    (void)logs, (void)out, (void)step, (void)state;
    return RGM_OK;
}

static void what_has_no_shards_is_refused_before_the_first_step(void **state)
{
    plane_setup s = sharded(2, 1);
    rgm_task task = plane_task(&s.data);
    rgm_trainer_setup setup = {
        .task = &task, .options = &s.options, .runtime = &s.runtime, .optimizer = &s.optimizer};
    rgm_trainer *trainer;

    (void)state;
    task.train_step = own_step;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
    CHECK_MESSAGE("runtime.shards is 2, but task 'plane' has a train_step of its own");
    task.train_step = NULL;
    task.aggregate_logs = aggregate;
    task.reduce_aggregated_logs = reduce;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
    CHECK_MESSAGE("cannot be merged: set runtime.shards: 1");
    task.aggregate_logs = NULL;
    s.runtime.gradient_exchange = RGM_EXCHANGE_BF16;
    s.options.privacy.clipping_norm = 1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
    CHECK_MESSAGE("set runtime.gradient_exchange: f32");
    s.runtime.gradient_exchange = RGM_EXCHANGE_F32;
    s.options.privacy.clipping_norm = 0;
    s.data.batch = ITEMS;
    for (int endless = 0; endless < 2; endless++) {
        setup.endless = endless;
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
        CHECK_MESSAGE("a pass over the training data is 1 batch");
    }
    s.data.batch = 1;
    for (int64_t shards = 3; shards <= 2048; shards += 2045) {
        s.runtime.shards = shards;
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
        CHECK_MESSAGE("runtime.shards");
    }
    clear_plane(&s.data);
}

TESTS(cmocka_unit_test(shards_are_worth_as_many_batches_of_one_process),
      cmocka_unit_test(each_shard_draws_dropout_of_its_own),
      cmocka_unit_test(a_continued_run_has_the_same_bits),
      cmocka_unit_test(a_bad_shard_changes_nothing_and_the_data_go_on_behind_the_step),
      cmocka_unit_test(the_bound_is_one_on_the_loss_of_a_whole_step),
      cmocka_unit_test(gradients_of_bf16_are_near_those_of_f32),
      cmocka_unit_test(a_pass_over_shards_is_the_whole_pass),
      cmocka_unit_test(batches_are_completed_a_step_and_a_round_at_once),
      cmocka_unit_test(what_is_not_completed_is_told),
      cmocka_unit_test(what_has_no_shards_is_refused_before_the_first_step))
