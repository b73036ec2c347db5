/*
 * The default step: the effect of several batches in an update, the effect of the loss scale, and
 * which weights are evaluated and kept as best when the optimizer averages them.
 */
#include "controller_check.h"

#include "trainer_internal.h"

/* ---- several batches an update ------------------------------------------------------------- */

static void check_close_weights(const rgm_trainer *a, const rgm_trainer *b, double atol)
{
    const rgm_parameters *p = rgm_trainer_parameters(a), *q = rgm_trainer_parameters(b);

    for (int64_t i = 0; i < rgm_parameters_count(p); i++) {
        if (!rgm_parameters_trainable(p, i)) /* counts batches */
            continue;
        for (int64_t k = 0; k < rgm_tensor_count(rgm_parameters_tensor(p, i)); k++)
            CHECK_CLOSE(rgm_tensor_at(rgm_parameters_tensor(p, i), k),
                        rgm_tensor_at(rgm_parameters_tensor(q, i), k), 1e-6, atol);
    }
}

/* 12 items as batches of 5, 5 and 2 or as one; weights 0 to 2.5, the last batch of total weight
 * 0.5. */
static void several_batches_are_worth_one_of_all_their_items(void **state)
{
    rgm_trainer *one, *three;
    const rgm_logs *a, *b;

    (void)state;
    for (int weighted = 0; weighted < 2; weighted++) {
        plane_setup s = make_plane_setup();

        s.finite = true;
        s.data.dropout = 0; /* its draws are by batch */
        s.data.in_order = true;
        if (weighted) {
            CHECK_OK(rgm_tensor_create(&s.data.weight, RGM_F32, 1, (int64_t[]){ITEMS}));
            for (int i = 0; i < ITEMS; i++)
                rgm_tensor_f32(s.data.weight)[i] = i == 10   ? 0
                                                   : i == 11 ? 0.5f
                                                             : (float)(i % 6) / 2;
        }
        s.data.batch = ITEMS;
        CHECK_OK(open_plane(&one, &s));
        for (int pass = 0; pass < 3; pass++)
            CHECK_OK(rgm_trainer_train(one, RGM_TO_END, &a));
        s.data.batch = 5;
        s.options.accumulation_steps = 3;
        CHECK_OK(open_plane(&three, &s));
        CHECK_INT(1, rgm_trainer_pass_steps(three));
        for (int pass = 0; pass < 3; pass++)
            CHECK_OK(rgm_trainer_train(three, RGM_TO_END, &b));
        CHECK_INT(3, rgm_trainer_global_step(one));
        CHECK_INT(3, rgm_trainer_global_step(three));
        CHECK_CLOSE(rgm_logs_get(a, "loss"), rgm_logs_get(b, "loss"), 1e-6, 0);
        CHECK_CLOSE(rgm_logs_get(a, "accuracy"), rgm_logs_get(b, "accuracy"), 1e-12, 0);
        check_close_weights(one, three, 1e-7);
        rgm_trainer_release(one);
        rgm_trainer_release(three);
        clear_plane(&s.data);
    }
}

/* 3 batches of data and 2 an update; then 4 an update, which fails: its error is explained from
 * batches that still exist. */
static void data_that_end_inside_an_update_make_it_from_those_there_are(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;
    const rgm_logs *logs;

    (void)state;
    s.finite = true;
    s.options.accumulation_steps = 2;
    CHECK_OK(open_plane(&trainer, &s));
    train_steps(trainer, RGM_TO_END);
    CHECK_INT(2, rgm_trainer_global_step(trainer)); /* 2 batches, then 1 */
    CHECK_INT(1, rgm_trainer_passes(trainer));
    CHECK_INT(3, rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(trainer), "steps"), 0));
    rgm_trainer_release(trainer);
    s.options.accumulation_steps = 4;
    s.data.loss_weight = 1e30;
    s.runtime.loss_scale = "1e30";
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_trainer_train(trainer, 1, &logs));
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

/* Item 5 is infinite: its batch is the second of the first update, and the last of the data. */
static void a_bad_batch_inside_an_update_changes_nothing(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer, *fresh;
    const rgm_logs *logs;

    (void)state;
    clear_plane(&s.data);
    s.data = make_plane(true);
    s.data.dropout = 0;
    s.data.in_order = true;
    s.finite = true;
    s.data.batch = 5; /* 5, 5 (with the bad one), 2 */
    s.options.accumulation_steps = 3;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane(&fresh, &s));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_trainer_train(trainer, 1, &logs));
    CHECK_MESSAGE("step 1");
    check_same_trainer("after a bad batch", fresh, trainer);
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    clear_plane(&s.data);
}

/* ---- loss scale ------------------------------------------------------------------------------ */

static void a_loss_scale_that_is_a_power_of_two_changes_no_bit(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *plain, *scaled;

    (void)state;
    s.optimizer = rgm_adam(0.05);
    for (int64_t each = 1; each <= 3; each += 2) {
        s.options.accumulation_steps = each;
        s.runtime.loss_scale = NULL;
        CHECK_OK(open_plane(&plain, &s));
        s.runtime.loss_scale = "1024";
        CHECK_OK(open_plane(&scaled, &s));
        train_steps(plain, 20);
        train_steps(scaled, 20);
        check_same_weights("loss scale 1024", plain, scaled);
        rgm_trainer_release(plain);
        rgm_trainer_release(scaled);
    }
    clear_plane(&s.data);
}

static void a_dynamic_scale_halves_on_overflow_and_skips_and_grows_again(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer, *fresh;
    double scale = 32768;
    int64_t skipped = 0;

    (void)state;
    s.data.loss_weight = 1e35; /* times the first scale it exceeds the range of f32 */
    s.optimizer = rgm_sgd(1e-37, 0);
    s.runtime.loss_scale = "dynamic";
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane(&fresh, &s));
    while (rgm_trainer_updates(trainer) == 0) {
        train_steps(trainer, 1);
        if (rgm_trainer_updates(trainer) > 0)
            break;
        skipped++;
        scale /= 2;
        CHECK(trainer->loss_scale.scale == scale);
        CHECK_INT(skipped, rgm_trainer_global_step(trainer));
        CHECK(memcmp(rgm_tensor_data(
                         rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel")),
                     rgm_tensor_data(
                         rgm_parameters_find(rgm_trainer_parameters(fresh), "logits/kernel")),
                     sizeof(float) * WIDTH * 2) == 0);
        CHECK(skipped < 20);
    }
    CHECK(skipped > 0);
    CHECK(isfinite(rgm_trainer_last_loss(trainer)));
    /* Batches differ, so the scale may still be too large for one of them: count from the last
     * change. */
    train_steps(trainer, 50);
    scale = trainer->loss_scale.scale;
    train_steps(trainer, 2000 - trainer->loss_scale.good_steps - 1);
    CHECK(trainer->loss_scale.scale == scale);
    CHECK_INT(1999, trainer->loss_scale.good_steps);
    train_steps(trainer, 1);
    CHECK(trainer->loss_scale.scale == 2 * scale);
    CHECK_INT(0, trainer->loss_scale.good_steps);
    CHECK_INT(rgm_trainer_global_step(trainer) - rgm_trainer_updates(trainer),
              (int64_t)round(log2(32768 / scale)));
    rgm_trainer_release(trainer);
    rgm_trainer_release(fresh);
    clear_plane(&s.data);
}

/* ---- averages -------------------------------------------------------------------------------- */

static double valid_loss(rgm_trainer *trainer)
{
    const rgm_logs *logs;

    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    return rgm_logs_get(logs, "loss");
}

static void swap_averages(rgm_trainer *trainer)
{
    CHECK_OK(rgm_optimizer_averages_swap(rgm_trainer_optimizer(trainer),
                                         rgm_trainer_parameters(trainer)));
}

/* Weights of `to` := averages of `from`, or its weights if there are no averages. */
static void copy_averages(rgm_trainer *to, rgm_trainer *from)
{
    const rgm_optimizer *optimizer = rgm_trainer_optimizer(from);
    char name[128];

    for (int64_t i = 0; i < rgm_parameters_count(rgm_trainer_parameters(to)); i++) {
        rgm_tensor *w = rgm_parameters_tensor(rgm_trainer_parameters(to), i);
        const rgm_tensor *average = rgm_parameters_tensor(rgm_trainer_parameters(from), i);

        snprintf(name, sizeof name, "average/%s",
                 rgm_parameters_name(rgm_trainer_parameters(to), i));
        for (int64_t k = 0; k < rgm_optimizer_slot_count(optimizer); k++)
            if (strcmp(rgm_optimizer_slot(optimizer, k).name, name) == 0)
                average = rgm_optimizer_slot(optimizer, k).tensor;
        memcpy(rgm_tensor_data(w), rgm_tensor_data((rgm_tensor *)average), rgm_tensor_bytes(w));
    }
    rgm_parameters_touch(rgm_trainer_parameters(to));
}

static void averages_are_what_is_evaluated(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *plain, *same, *averaged;
    double loss;

    (void)state;
    CHECK_OK(open_plane(&plain, &s));
    CHECK_OK(open_plane(&same, &s));
    s.optimizer.average = (rgm_average){0.9, 0, false};
    CHECK_OK(open_plane(&averaged, &s));
    train_steps(plain, 8);
    train_steps(averaged, 8);
    loss = valid_loss(averaged);
    CHECK(loss != valid_loss(plain));
    copy_averages(same, averaged);
    CHECK(loss == valid_loss(same));
    check_same_weights("evaluation puts the trained weights back", plain, averaged);
    rgm_trainer_release(plain);
    rgm_trainer_release(same);
    rgm_trainer_release(averaged);
    clear_plane(&s.data);
}

/* A loss scale's overflow leaves both the weights and their averages, which differ by then. */
static void a_skipped_step_moves_no_average(void **state)
{
    plane_setup s = make_plane_setup();
    float weights[2 * WIDTH], averages[2 * WIDTH];
    rgm_trainer *trainer;
    const float *kernel;
    int64_t updates;

    (void)state;
    s.optimizer = rgm_sgd(1e-4, 0);
    s.optimizer.average = (rgm_average){0.9, 0, false};
    s.runtime.loss_scale = "dynamic";
    s.data.loss_weight = 1e3;
    CHECK_OK(open_plane(&trainer, &s));
    train_steps(trainer, 8);
    updates = rgm_trainer_updates(trainer);
    CHECK_INT(8, updates);
    kernel = rgm_tensor_f32(rgm_parameters_find(rgm_trainer_parameters(trainer), "logits/kernel"));
    memcpy(weights, kernel, sizeof weights);
    swap_averages(trainer);
    memcpy(averages, kernel, sizeof averages);
    swap_averages(trainer);
    CHECK(memcmp(weights, averages, sizeof weights) != 0);

    trainer->loss_scale.scale = 0x1p127; /* times the loss it is infinite */
    rgm_tensor_release(trainer->loss_scale.tensor);
    rgm_tensor_release(trainer->loss_scale.inverse);
    trainer->loss_scale.tensor = trainer->loss_scale.inverse = NULL;
    train_steps(trainer, 1);
    CHECK_INT(updates, rgm_trainer_updates(trainer));
    CHECK(memcmp(weights, kernel, sizeof weights) == 0);
    swap_averages(trainer);
    CHECK(memcmp(averages, kernel, sizeof averages) == 0);
    swap_averages(trainer);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

/* Two outdated results were possible: the last averages, and weights that are not averaged. */
static void the_best_weights_are_the_averages_that_were_evaluated(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;
    rgm_controller *controller;
    const rgm_logs *logs;

    (void)state;
    for (int i = 0; i < ITEMS;
         i += 3) /* what no plane divides, and steps that are too long for it */
        rgm_tensor_i64(s.data.label)[i] ^= 1;
    s.optimizer = rgm_sgd(10, 0);
    s.optimizer.average = (rgm_average){0.5, 0, false};
    s.options.train_steps = 20;
    s.options.validation_interval = 1;
    s.options.restore_best_weights = RGM_RESTORE_FALSE;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(open_plane_controller(&controller, &s, trainer, NULL));
    CHECK_OK(rgm_controller_run(controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
    CHECK(rgm_controller_best_step(controller) < 20);
    CHECK(rgm_controller_best_value(controller) < valid_loss(trainer));
    CHECK_OK(rgm_controller_restore_best(controller));
    CHECK(rgm_controller_best_value(controller) == valid_loss(trainer));
    CHECK(rgm_controller_best_value(controller) == valid_loss(trainer));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

/* Without validation there is no best: the averages are left for use. */
static void a_finished_run_leaves_its_averages(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_optimizer_options sgd = rgm_sgd(0.5, 0);
    rgm_trainer_options options;
    rgm_trainer_setup setup = {.task = &task,
                               .options = &options,
                               .optimizer = &sgd,
                               .no_data = {[RGM_VALID] = true, [RGM_TEST] = true}};
    rgm_trainer *trainer;
    rgm_controller *controller;
    rgm_controller_setup control = {.options = &options};
    const rgm_logs *logs;
    float averages[2 * WIDTH];
    rgm_parameters *parameters;
    rgm_tensor *kernel;

    (void)state;
    sgd.average.decay = 0.9;
    rgm_trainer_defaults(&options);
    options.epochs = 3;
    CHECK_OK(rgm_trainer_create(&trainer, &setup));
    control.trainer = trainer;
    CHECK_OK(rgm_controller_create(&controller, &control));
    CHECK_OK(rgm_controller_run(controller, RGM_RUN_TRAIN, &logs));
    parameters = rgm_trainer_parameters(trainer);
    kernel = rgm_parameters_find(parameters, "logits/kernel");
    memcpy(averages, rgm_tensor_f32(kernel), sizeof averages);
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);

    CHECK_OK(rgm_trainer_create(&trainer, &setup));
    for (int epoch = 0; epoch < 3; epoch++)
        CHECK_OK(rgm_trainer_train(trainer, RGM_TO_END, &logs));
    parameters = rgm_trainer_parameters(trainer);
    kernel = rgm_parameters_find(parameters, "logits/kernel");
    CHECK(memcmp(averages, rgm_tensor_f32(kernel), sizeof averages) != 0);
    CHECK_OK(rgm_optimizer_averages_swap(rgm_trainer_optimizer(trainer), parameters));
    CHECK(memcmp(averages, rgm_tensor_f32(kernel), sizeof averages) == 0);
    rgm_trainer_release(trainer);
    clear_plane(&p);
}

TESTS(cmocka_unit_test(a_finished_run_leaves_its_averages),
      cmocka_unit_test(several_batches_are_worth_one_of_all_their_items),
      cmocka_unit_test(data_that_end_inside_an_update_make_it_from_those_there_are),
      cmocka_unit_test(a_bad_batch_inside_an_update_changes_nothing),
      cmocka_unit_test(a_loss_scale_that_is_a_power_of_two_changes_no_bit),
      cmocka_unit_test(a_dynamic_scale_halves_on_overflow_and_skips_and_grows_again),
      cmocka_unit_test(averages_are_what_is_evaluated),
      cmocka_unit_test(a_skipped_step_moves_no_average),
      cmocka_unit_test(the_best_weights_are_the_averages_that_were_evaluated))
