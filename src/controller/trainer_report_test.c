/*
 * Norms and operations by layer: compared with plain computations, over an interruption, and absent
 * unless requested.
 */
#include <math.h>

#include "controller_internal.h"
#include "controller_check.h"

static double plain_norm(rgm_tensor *const *tensors, int64_t count)
{
    double squares = 0;

    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; tensors[i] != NULL && k < rgm_tensor_count(tensors[i]); k++)
            squares += rgm_tensor_at(tensors[i], k) * rgm_tensor_at(tensors[i], k);
    return sqrt(squares);
}

/* Of the last update's gradients. */
static double last_norm(const rgm_trainer *trainer)
{
    int64_t count = rgm_parameters_count(rgm_trainer_parameters(trainer));
    rgm_tensor *gradients[8];
    double norm;

    CHECK(count <= 8);
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(rgm_trainer_last_gradient(&gradients[i], trainer, i));
    norm = plain_norm(gradients, count);
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_release(gradients[i]);
    return norm;
}

static void norms_are_the_means_of_the_steps_and_those_of_the_weights(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_tensor *weights[8] = {NULL};
    const rgm_parameters *p;
    const rgm_logs *logs;
    rgm_trainer *trainer;
    double gradients = 0, flops = 0;

    (void)state;
    s.options.norms = s.options.flops = true;
    s.optimizer.clip_value = 0.01; /* norms are those before clipping */
    s.optimizer.clip_global_norm = 0.01;
    CHECK_OK(open_plane(&trainer, &s));
    p = rgm_trainer_parameters(trainer);
    CHECK_OK(rgm_trainer_train_loop_begin(trainer));
    for (int step = 0; step < 5; step++) {
        CHECK_OK(rgm_trainer_train_step(trainer));
        gradients += last_norm(trainer);
        flops += (double)rgm_executor_flops(rgm_trainer_executor(trainer, RGM_TRAIN));
    }
    CHECK_OK(rgm_trainer_train_loop_end(trainer, &logs));
    for (int64_t i = 0; i < rgm_parameters_count(p); i++) /* a state is no weight */
        weights[i] = rgm_parameters_trainable(p, i) ? rgm_parameters_tensor(p, i) : NULL;
    CHECK(gradients > 0 && flops > 48 * 5);
    CHECK_CLOSE(rgm_logs_get(logs, "gradient_norm"), gradients / 5, 1e-6, 0);
    CHECK_CLOSE(rgm_logs_get(logs, "gradient_norm.logits"), gradients / 5, 1e-6, 0);
    CHECK_CLOSE(rgm_logs_get(logs, "weight_norm"), plain_norm(weights, 8), 1e-6, 0);
    CHECK_CLOSE(rgm_logs_get(logs, "weight_norm.logits"), plain_norm(weights, 8), 1e-6, 0);
    CHECK_CLOSE(rgm_logs_get(logs, "flops_per_step"), flops / 5, 1e-15, 0);
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

static void a_run_tells_the_same_over_an_interruption(void **state)
{
    const char *folder = check_fast_folder();
    char whole[200], halves[200];

    (void)state;
    snprintf(whole, sizeof whole, "%s/whole", folder);
    snprintf(halves, sizeof halves, "%s/halves", folder);
    for (int cut = 0; cut < 2; cut++) {
        plane_setup s = make_plane_setup();
        rgm_trainer *trainer;
        rgm_controller *c;

        s.options.norms = s.options.flops = true;
        s.options.steps_per_loop = 4;
        for (int part = 1 - cut; part < 2; part++) {
            bool done;
            const rgm_logs *logs;

            CHECK_OK(open_plane(&trainer, &s));
            CHECK_OK(open_plane_controller(&c, &s, trainer, cut ? halves : whole));
            if (part == 0) { /* two steps of the loop are done when the run ends */
                CHECK_OK(rgm_trainer_train_loop_begin(trainer));
                CHECK_OK(rgm_trainer_train_step(trainer));
                CHECK_OK(rgm_trainer_train_step(trainer));
                CHECK_OK(rgm_controller_save(c));
            } else {
                rgm_logger *before = rgmi_enter(c);

                CHECK_OK(rgmi_leave(before, rgmi_run_loop(c, 4, &done, &logs)));
                CHECK(done && rgm_logs_has(logs, "gradient_norm"));
                CHECK_OK(rgm_controller_save(c));
            }
            rgm_controller_release(c);
            rgm_trainer_release(trainer);
        }
        clear_plane(&s.data);
    }
    check_same_file(whole, halves, "metrics.jsonl");
    CHECK(file_says(whole, "metrics.jsonl", "\"flops_per_step\""));
    CHECK(file_says(whole, "log.txt", "of one batch, forward and backward"));
    CHECK(file_says(whole, "log.txt", "  logits"));
}

/* The logs of each loop's end: rates, and what they are made of. */
static void compare_rates(const rgm_event *event, void *payload)
{
    double rate, steps;

    if (event->kind != RGM_EVENT_LOOP_END)
        return;
    ++*(int64_t *)payload;
    rate = rgm_logs_get(event->logs, "gflops_per_second");
    steps = rgm_logs_get(event->logs, "steps_per_second");
    CHECK(rate > 0);
    CHECK_CLOSE(rate, rgm_logs_get(event->logs, "flops_per_step") * steps / 1e9, 1e-9, 0);
    CHECK_CLOSE(rgm_logs_get(event->logs, "mfu"), rate / 250, 1e-12, 0);
}

static void operations_a_second_are_a_share_of_the_peak(void **state)
{
    plane_setup s = make_plane_setup();
    int64_t loops = 0;
    rgm_controller_hooks hooks = {.event = compare_rates, .payload = &loops};
    rgm_controller_setup setup = {.options = &s.options, .hooks = &hooks};
    rgm_controller *c;

    (void)state;
    s.options.flops = true;
    s.options.train_steps = 8;
    s.options.steps_per_loop = 4;
    s.runtime.peak_gflops = 250;
    CHECK_OK(open_plane(&setup.trainer, &s));
    CHECK_OK(rgm_controller_create(&c, &setup));
    CHECK_OK(rgm_controller_train(c, 8));
    CHECK_INT(2, loops);
    rgm_controller_release(c);
    rgm_trainer_release(setup.trainer);
    clear_plane(&s.data);
}

static void nothing_is_told_unasked(void **state)
{
    plane_setup s = make_plane_setup();
    const rgm_logs *logs;
    rgm_trainer *trainer;

    (void)state;
    CHECK_OK(open_plane(&trainer, &s));
    CHECK_OK(rgm_trainer_train(trainer, 2, &logs));
    CHECK(!rgm_logs_has(logs, "flops_per_step") && !rgm_logs_has(logs, "gradient_norm") &&
          !rgm_logs_has(logs, "weight_norm"));
    rgm_trainer_release(trainer);
    clear_plane(&s.data);
}

static void a_failing_allocation_is_told(void **state)
{
    plane_setup s = make_plane_setup();
    rgm_trainer *trainer;

    (void)state;
    s.options.norms = true;
    CHECK_EVERY_OOM(open_plane(&trainer, &s), rgm_trainer_release(trainer));
    clear_plane(&s.data);
}

TESTS(cmocka_unit_test(norms_are_the_means_of_the_steps_and_those_of_the_weights),
      cmocka_unit_test(a_run_tells_the_same_over_an_interruption),
      cmocka_unit_test(operations_a_second_are_a_share_of_the_peak),
      cmocka_unit_test(nothing_is_told_unasked), cmocka_unit_test(a_failing_allocation_is_told))
