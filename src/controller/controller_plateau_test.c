/*
 * Compares the learning rate over a sequence of validations with a plain loop after Keras'
 * ReduceLROnPlateau, interrupted and not; and tests trainer.max_seconds, interrupted and not.
 */
#include <time.h>

#include "controller_check.h"

#define VALIDATIONS 16

/* No improvement, improvement below min_delta, NaN, improvement in a cooldown. */
static const double scores[VALIDATIONS] = {1,    0.9, 0.95, 0.895, 0.93, 0.91, NAN,  0.5,
                                           0.51, 0.6, 0.7,  0.52,  0.4,  0.41, 0.42, 0.43};

typedef struct scored {
    plane_setup *setup;
    plane own;
    rgm_trainer *trainer;
    rgm_controller *controller;
} scored;

/* The score of a validation depends on its step, so a continued run sees the same scores. */
static rgm_status add_score(rgm_logs *logs, rgm_trainer *trainer, rgm_mode mode, void *payload)
{
    (void)payload;
    if (mode == RGM_VALID)
        return rgm_logs_set(logs, "score",
                            scores[(rgm_trainer_global_step(trainer) / 2 - 1) % VALIDATIONS]);
    return RGM_OK;
}

static rgm_status open_scored(scored *s, const char *run)
{
    rgm_trainer_hooks hooks = {.eval_end = add_score};
    rgm_task task = plane_task(&s->own);
    rgm_trainer_setup made = {.task = &task,
                              .options = &s->setup->options,
                              .runtime = &s->setup->runtime,
                              .optimizer = &s->setup->optimizer,
                              .endless = true,
                              .hooks = &hooks};

    s->own = s->setup->data;
    RGM_TRY(rgm_trainer_create(&s->trainer, &made));
    return open_plane_controller(&s->controller, s->setup, s->trainer, run);
}

static void close_scored(scored *s)
{
    rgm_controller_release(s->controller);
    rgm_trainer_release(s->trainer);
}

/* Keras 2's on_epoch_end, with the rate as its optimizer's variable. */
static void expected_rates(double rates[VALIDATIONS], double rate, const rgm_trainer_plateau *o)
{
    double best = INFINITY;
    int64_t cooldown = 0, wait = 0;

    for (int i = 0; i < VALIDATIONS; i++) {
        if (cooldown > 0) {
            cooldown--;
            wait = 0;
        }
        if (scores[i] < best - o->min_delta) {
            best = scores[i];
            wait = 0;
        } else if (cooldown <= 0) {
            wait++;
            if (wait >= o->patience && rate > o->min_learning_rate) {
                rate = fmax(rate * o->factor, o->min_learning_rate);
                cooldown = o->cooldown;
                wait = 0;
            }
        }
        rates[i] = rate;
    }
}

static plane_setup plateau_setup(int64_t patience, int64_t cooldown)
{
    plane_setup s = make_plane_setup();

    s.optimizer = rgm_adam(0.1);
    s.options.steps_per_loop = 2;
    s.options.checkpoint.every_steps = 2;
    s.options.checkpoint.keep = 3;
    s.options.reduce_on_plateau = (rgm_trainer_plateau){.metric = "valid.score",
                                                        .mode = RGM_BEST_MIN,
                                                        .patience = patience,
                                                        .factor = 0.5,
                                                        .min_delta = 0.01,
                                                        .cooldown = cooldown,
                                                        .min_learning_rate = 0.02};
    return s;
}

static double rate_of(const rgm_trainer *trainer)
{
    return rgm_optimizer_rate(rgm_trainer_optimizer(trainer), rgm_trainer_updates(trainer));
}

static void the_rate_goes_down_as_keras_has_it(void **state)
{
    const rgm_logs *logs;

    (void)state;
    for (int64_t patience = 1; patience <= 3; patience++)
        for (int64_t cooldown = 0; cooldown <= 2; cooldown++) {
            plane_setup s = plateau_setup(patience, cooldown);
            double rates[VALIDATIONS];
            scored r = {.setup = &s};

            expected_rates(rates, 0.1, &s.options.reduce_on_plateau);
            CHECK(rates[VALIDATIONS - 1] < 0.1);
            CHECK_OK(open_scored(&r, NULL));
            for (int i = 0; i < VALIDATIONS; i++) {
                CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 2 * (i + 1), RGM_TO_END, 2,
                                                           &logs));
                CHECK_CLOSE(rates[i], rate_of(r.trainer), 1e-12, 0);
            }
            close_scored(&r);
            clear_plane(&s.data);
        }
}

/* Stopped at each validation in turn, with an active cooldown or wait. */
static void a_plateau_resumes_to_the_same_bits(void **state)
{
    plane_setup s = plateau_setup(2, 1);
    scored whole = {.setup = &s}, parts = {.setup = &s};
    const rgm_logs *logs;
    char run[128];

    (void)state;
    CHECK_OK(open_scored(&whole, NULL));
    CHECK_OK(rgm_controller_train_and_evaluate(whole.controller, 32, RGM_TO_END, 2, &logs));
    snprintf(run, sizeof run, "%s", check_fast_folder());
    for (int i = 1; i <= VALIDATIONS; i++) {
        CHECK_OK(open_scored(&parts, run));
        CHECK_OK(rgm_controller_train_and_evaluate(parts.controller, 2 * i, RGM_TO_END, 2, &logs));
        if (i < VALIDATIONS)
            close_scored(&parts);
    }
    CHECK(rate_of(whole.trainer) < 0.1 && rate_of(whole.trainer) == rate_of(parts.trainer));
    check_same_trainer("plateau", whole.trainer, parts.trainer);
    CHECK(file_says(run, "log.txt",
                    "valid.score has not improved in 2 validations: the learning "
                    "rate goes from 0.1 to 0.05 at step 8"));
    close_scored(&whole);
    close_scored(&parts);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

/* As if the run had begun behind the validations that nobody watched: an improvement is one, and a
 * checkpoint that says nothing of plateaus does not say that 0 was the best. */
static void a_run_that_goes_on_with_a_plateau_begins_it(void **state)
{
    plane_setup s = plateau_setup(0, 0);
    scored parts = {.setup = &s};
    const rgm_logs *logs;
    char run[128];

    (void)state;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    CHECK_OK(open_scored(&parts, run));
    CHECK_OK(rgm_controller_train_and_evaluate(parts.controller, 2, RGM_TO_END, 2, &logs));
    close_scored(&parts);
    s.options.reduce_on_plateau.patience = 2;
    CHECK_OK(open_scored(&parts, run));
    for (int i = 2; i <= 7; i++) { /* 0.9 is the best of them */
        static const double rates[] = {0.1, 0.1, 0.05, 0.05, 0.025, 0.025};

        CHECK_OK(rgm_controller_train_and_evaluate(parts.controller, 2 * i, RGM_TO_END, 2, &logs));
        CHECK_CLOSE(rates[i - 2], rate_of(parts.trainer), 1e-12, 0);
    }
    close_scored(&parts);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

static void what_a_plateau_cannot_be_is_refused(void **state)
{
    plane_setup s = plateau_setup(2, 0);
    scored r = {.setup = &s};

    (void)state;
    s.options.reduce_on_plateau.factor = 1;
    CHECK_STATUS(RGM_ERR_CONFIG, open_scored(&r, NULL));
    CHECK_MESSAGE("trainer.reduce_on_plateau.factor");
    rgm_trainer_release(r.trainer);
    s.options.reduce_on_plateau.factor = 0.5;
    s.data.blind = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_scored(&r, NULL));
    CHECK_MESSAGE("trainer.reduce_on_plateau is set but there are no validation data");
    rgm_trainer_release(r.trainer);
    clear_plane(&s.data);
}

/* ---- schedules by epochs -----------------------------------------------------------------------
 */

/* Passes of 3 batches that repeat, `each` of them an update, stopped behind each of 8 steps. */
static void check_epochs(int64_t each)
{
    plane_setup s = plateau_setup(0, 0);
    scored parts = {.setup = &s};
    char run[128];

    s.options.reduce_on_plateau.metric = NULL;
    s.options.accumulation_steps = each;
    s.optimizer.learning_rate = rgm_schedule_exponential(0.1, 1, 0.5);
    s.optimizer.learning_rate.unit = RGM_UNIT_EPOCHS;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    for (int64_t i = 1; i <= 8; i++) {
        CHECK_OK(open_scored(&parts, run));
        CHECK_OK(rgm_controller_train(parts.controller, i));
        CHECK_CLOSE(rate_of(parts.trainer), 0.1 * pow(0.5, (double)(i * each / 3)), 1e-15, 0);
        close_scored(&parts);
    }
    CHECK(file_says(run, "log.txt",
                    each == 1
                        ? "behind epoch 2 the learning rate goes from 0.05 to 0.025 at step 6"
                        : "behind epoch 2 the learning rate goes from 0.05 to 0.025 at step 3"));
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(run));
}

static void by_epochs_the_rate_follows_passes_and_not_starts(void **state)
{
    (void)state;
    check_epochs(1);
    check_epochs(2);
}

/* ---- trainer.max_seconds --------------------------------------------------------------------- */

static rgm_status wait_a_little(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    (void)output;
    (void)controller;
    (void)payload;
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    return RGM_OK;
}

static rgm_status open_timed(rgm_controller **out, plane_setup *s, rgm_trainer *trainer,
                             const char *run)
{
    rgm_action slow = {.name = "wait", .run = wait_a_little};
    rgm_controller_setup made = {.trainer = trainer,
                                 .options = &s->options,
                                 .run_dir = run,
                                 .train_actions = &slow,
                                 .train_action_count = 1};

    return rgm_controller_create(out, &made);
}

/* When its time is over, a run ends as at its full length: validated, saved, finished; also when
 * started again. With more time it continues as if it had not ended. */
static void a_run_ends_when_its_time_is_over_and_goes_on_with_more(void **state)
{
    (void)state;
    for (int in_epochs = 0; in_epochs < 2; in_epochs++) {
        plane_setup s = make_plane_setup();
        rgm_trainer *trainer, *whole;
        rgm_controller *controller;
        const rgm_logs *logs, *none;
        char run[128];
        int64_t step;

        snprintf(run, sizeof run, "%s", check_fast_folder());
        s.options.train_steps = in_epochs ? 0 : 1000000;
        s.options.epochs = in_epochs ? 1000000 : 1;
        s.options.steps_per_epoch = in_epochs ? 4 : 0;
        s.options.steps_per_loop = 3;
        s.options.max_seconds = 0.05;
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_timed(&controller, &s, trainer, run));
        CHECK_OK(rgm_controller_run(controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
        CHECK(logs != NULL && isfinite(rgm_logs_get(logs, "loss")));
        CHECK(rgm_controller_finished(controller));
        step = rgm_trainer_global_step(trainer);
        CHECK(step > 0 && step < 200);
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
        CHECK(file_says(run, "log.txt", "trainer.max_seconds (0.05) are over"));

        CHECK_OK(open_plane(&trainer, &s)); /* the time of both starts counts */
        CHECK_OK(open_timed(&controller, &s, trainer, run));
        CHECK_OK(rgm_controller_run(controller, RGM_RUN_TRAIN_AND_EVAL, &none));
        CHECK_INT(step, rgm_controller_best_step(controller) >= 0 ? step : -1);
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);

        s.options.max_seconds = 0;
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_timed(&controller, &s, trainer, run));
        CHECK_INT(step, rgm_trainer_global_step(trainer));
        CHECK_OK(rgm_controller_train(controller, step + 5));
        CHECK_OK(open_plane(&whole, &s));
        train_steps(whole, step + 5);
        check_same_trainer("with more time", whole, trainer);
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
        rgm_trainer_release(whole);

        s.options.max_seconds = 0.05; /* which the first starts have used, whatever came between */
        CHECK_OK(open_plane(&trainer, &s));
        CHECK_OK(open_timed(&controller, &s, trainer, run));
        CHECK_OK(rgm_controller_run(controller, RGM_RUN_TRAIN_AND_EVAL, &none));
        CHECK_INT(step + 5, rgm_trainer_global_step(trainer));
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
        clear_plane(&s.data);
        CHECK_OK(rgm_folder_remove(run));
    }
}

TESTS(cmocka_unit_test(the_rate_goes_down_as_keras_has_it),
      cmocka_unit_test(a_plateau_resumes_to_the_same_bits),
      cmocka_unit_test(a_run_that_goes_on_with_a_plateau_begins_it),
      cmocka_unit_test(what_a_plateau_cannot_be_is_refused),
      cmocka_unit_test(by_epochs_the_rate_follows_passes_and_not_starts),
      cmocka_unit_test(a_run_ends_when_its_time_is_over_and_goes_on_with_more))
