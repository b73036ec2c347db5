/*
 * A task's functions and a trainer's hooks, one by one: their arguments, when they are called, and
 * what happens without them. bf16 against f32. And teachers, as tasks open them.
 */
#include "controller_check.h"

#include <regimen/train_teachers.h>

/* The plane with its own functions, which record their calls. */
typedef struct asked {
    plane plane; /* first: the plane's functions take it as their state */
    rgm_text calls;
    rgm_tensor *zeros;
    double aux; /* the argument of build_losses, read back through the loss */
} asked;

static void note(asked *a, const char *what)
{
    CHECK_OK(rgm_text_printf(&a->calls, " %s", what));
}

static rgm_status model_with_l2(rgm_task_model *out, rgm_scope *scope, void *state)
{
    RGM_TRY(plane_model(out, scope, state));
    rgm_scope_add_loss(scope, rgm_scalar(rgm_scope_graph(scope), RGM_F32, 100));
    return RGM_OK;
}

/* Ten times the first head's loss, and the layers' losses once. */
static rgm_value *own_losses(const rgm_task_model *model, rgm_value *aux, void *state)
{
    note(state, aux != NULL ? "losses+aux" : "losses");
    return rgm_add(rgm_scale(model->heads[0].loss, 10), aux);
}

static rgm_status own_metrics(rgm_task_metric *out, int64_t *count, const rgm_task_model *model,
                              bool training, void *state)
{
    (void)model;
    note(state, training ? "metrics-train" : "metrics-eval");
    out[0] = (rgm_task_metric){.metric = {.type = &rgm_metric_cross_entropy}};
    snprintf(out[0].metric.name, sizeof out[0].metric.name, training ? "train_xent" : "xent");
    *count = 1;
    return RGM_OK;
}

static void own_process(double *const *states, const rgm_task_metric *metrics, int64_t count,
                        const rgm_step *step, void *state)
{
    CHECK_INT(1, count);
    CHECK(step->predictions[0] != NULL && step->labels[0] != NULL);
    note(state, "process");
    rgm_metrics_update(states, metrics, count, step);
}

static void own_process_compiled(double *const *states, const rgm_task_metric *metrics,
                                 int64_t count, const rgm_step *step, void *state)
{
    CHECK_INT(1, count);
    CHECK_TEXT("accuracy", metrics[0].metric.name);
    note(state, "compiled");
    rgm_metrics_update(states, metrics, count, step);
}

static rgm_status own_train(rgm_step *step, void *state)
{
    note(state, "train");
    return rgm_trainer_default_train_step(step);
}

static rgm_status own_validate(rgm_step *step, void *state)
{
    note(state, "validate");
    return rgm_trainer_default_validation_step(step);
}

static rgm_status own_infer(rgm_step *step, void *state)
{
    note(state, "infer");
    return rgm_trainer_default_inference_step(step);
}

static rgm_status own_optimizer(rgm_optimizer **out, const rgm_optimizer_options *options,
                                const rgm_parameters *parameters, void *state)
{
    note(state, "optimizer");
    return rgm_optimizer_create(out, options, parameters);
}

static rgm_status make(rgm_trainer **out, const rgm_task *task, const rgm_trainer_hooks *hooks,
                       const rgm_runtime_options *runtime)
{
    rgm_optimizer_options sgd = rgm_sgd(0.01, 0);
    rgm_trainer_setup setup = {
        .task = task, .optimizer = &sgd, .endless = true, .hooks = hooks, .runtime = runtime};

    return rgm_trainer_create(out, &setup);
}

static void own_functions_are_called_in_the_place_of_the_defaults(void **state)
{
    asked a = {.plane = make_plane(false)};
    rgm_task task = plane_task(&a.plane);
    rgm_trainer *trainer;
    const rgm_logs *logs;

    (void)state;
    a.plane.dropout = 0;
    a.plane.in_order = true;
    task.state = &a;
    task.build_model = model_with_l2;
    CHECK_OK(make(&trainer, &task, NULL, NULL)); /* the defaults: loss + aux */
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, 1, &logs));
    CHECK(rgm_logs_get(logs, "loss") > 100 && rgm_logs_get(logs, "loss") < 110);
    a.aux = rgm_logs_get(logs, "loss") - 100;
    CHECK_INT(2, logs->count);
    rgm_trainer_release(trainer);

    task.build_losses = own_losses;
    task.build_metrics = own_metrics;
    task.process_metrics = own_process;
    task.process_compiled_metrics = own_process_compiled;
    task.train_step = own_train;
    task.validation_step = own_validate;
    task.create_optimizer = own_optimizer;
    CHECK_OK(make(&trainer, &task, NULL, NULL));
    CHECK_TEXT(" losses+aux metrics-train metrics-eval metrics-eval metrics-eval optimizer",
               a.calls.data);
    rgm_text_clear(&a.calls);
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, 1, &logs));
    CHECK_CLOSE(100 + 10 * a.aux, rgm_logs_get(logs, "loss"), 1e-5, 0);
    CHECK_CLOSE(a.aux, rgm_logs_get(logs, "xent"), 1e-5, 0);
    CHECK(rgm_logs_has(logs, "accuracy") && !rgm_logs_has(logs, "train_xent"));
    CHECK_OK(rgm_trainer_train(trainer, 1, &logs));
    CHECK(rgm_logs_has(logs, "train_xent"));
    CHECK_TEXT(" validate compiled process train compiled process", a.calls.data);
    rgm_text_clear(&a.calls);

    task.inference_step = own_infer; /* calls the default: one run, with its loss */
    rgm_trainer_release(trainer);
    CHECK_OK(make(&trainer, &task, NULL, NULL));
    rgm_text_clear(&a.calls);
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, 1, &logs));
    CHECK_TEXT(" validate infer compiled process", a.calls.data);
    CHECK_CLOSE(100 + 10 * a.aux, rgm_logs_get(logs, "loss"), 1e-5, 0);
    CHECK_CLOSE(a.aux, rgm_logs_get(logs, "xent"), 1e-5, 0);
    rgm_trainer_release(trainer);
    rgm_text_clear(&a.calls);
    clear_plane(&a.plane);
}

/* Predicts class 0 for all items, and nothing else. */
static rgm_status infer_zeros(rgm_step *step, void *state)
{
    asked *a = state;

    CHECK(step->predictions[0] == NULL && isnan(step->loss));
    if (a->zeros == NULL)
        CHECK_OK(rgm_tensor_create(&a->zeros, RGM_F32, 2, (int64_t[]){a->plane.batch, 2}));
    step->predictions[0] = a->zeros;
    return RGM_OK;
}

/* Best weights and patience depend on a loss that inference_step does not set. */
static void an_inference_step_of_ones_own_leaves_the_loss_to_choose_by(void **state)
{
    asked a = {.plane = make_plane(false)};
    rgm_task task = plane_task(&a.plane);
    rgm_trainer_options options;
    rgm_controller_setup setup = {.options = &options};
    rgm_controller *controller;
    rgm_trainer *trainer;
    const rgm_logs *logs, *plain;
    double loss;

    (void)state;
    task.state = &a;
    rgm_trainer_defaults(&options);
    options.early_stopping.patience = 3;
    CHECK_OK(make(&trainer, &task, NULL, NULL));
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &plain));
    loss = rgm_logs_get(plain, "loss");
    rgm_trainer_release(trainer);
    task.inference_step = infer_zeros;
    CHECK_OK(make(&trainer, &task, NULL, NULL));
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK(rgm_logs_get(logs, "loss") == loss);
    CHECK_CLOSE(7.0 / 12, rgm_logs_get(logs, "accuracy"), 1e-9, 0); /* of its own predictions */
    setup.trainer = trainer;
    CHECK_OK(rgm_controller_create(&controller, &setup));
    CHECK_OK(rgm_controller_train_and_evaluate(controller, 4, RGM_TO_END, 2, &logs));
    CHECK(rgm_controller_best_step(controller) > 0);
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    rgm_tensor_release(a.zeros);
    clear_plane(&a.plane);
}

/* A validation without a loss: refused if something depends on it, else reported. */
static rgm_status validate_nothing(rgm_step *step, void *state)
{
    (void)step;
    (void)state;
    return RGM_OK;
}

static void a_validation_without_a_loss_cannot_choose(void **state)
{
    asked a = {.plane = make_plane(false)};
    rgm_task task = plane_task(&a.plane);
    const rgm_logs *logs;
    char run[128];

    (void)state;
    task.state = &a;
    task.validation_step = validate_nothing;
    snprintf(run, sizeof run, "%s", check_fast_folder());
    for (int patience = 0; patience < 2; patience++) {
        rgm_trainer_options options;
        rgm_controller_setup setup = {.options = &options, .run_dir = patience ? NULL : run};
        rgm_controller *controller;
        rgm_trainer *trainer;

        rgm_trainer_defaults(&options);
        options.early_stopping.patience = patience;
        CHECK_OK(make(&trainer, &task, NULL, NULL));
        setup.trainer = trainer;
        CHECK_OK(rgm_controller_create(&controller, &setup));
        CHECK_STATUS(patience ? RGM_ERR_CONFIG : RGM_OK,
                     rgm_controller_train_and_evaluate(controller, 4, RGM_TO_END, 2, &logs));
        if (patience)
            CHECK_MESSAGE("trainer.checkpoint.best.metric: 'valid.loss'");
        else
            CHECK(file_says(run, "log.txt", "validation gives no valid.loss"));
        rgm_controller_release(controller);
        rgm_trainer_release(trainer);
    }
    clear_plane(&a.plane);
    CHECK_OK(rgm_folder_remove(run));
}

/* ---- hooks --------------------------------------------------------------------------------- */

typedef struct hooked {
    rgm_text calls;
    int64_t batches; /* for training, before its data end */
} hooked;

static void hear(hooked *h, const char *what)
{
    CHECK_OK(rgm_text_printf(&h->calls, " %s", what));
}

static rgm_status loop_begin(rgm_trainer *trainer, void *payload)
{
    CHECK_INT(-1, rgm_trainer_loop_step(trainer)); /* not yet */
    hear(payload, "begin");
    return RGM_OK;
}

static rgm_status limited(rgm_element **out, rgm_iterator *iterator, void *payload)
{
    hooked *h = payload;

    hear(h, "next");
    if (h->batches-- == 0)
        return RGM_END;
    return rgm_iterator_next(out, iterator);
}

static rgm_status loop_end(rgm_logs *logs, rgm_trainer *trainer, void *payload)
{
    (void)trainer;
    hear(payload, "end");
    return rgm_logs_set(logs, "mine", 7);
}

static rgm_status pass_begin(rgm_trainer *trainer, rgm_mode mode, void *payload)
{
    (void)trainer;
    CHECK_INT(RGM_VALID, mode);
    hear(payload, "eval-begin");
    return RGM_OK;
}

/* The number of the batch is passed beside the model's feeds. */
static rgm_status with_extra(rgm_element **out, rgm_element **extra, rgm_iterator *iterator,
                             void *payload)
{
    char name[32];

    (void)payload;
    RGM_TRY(rgm_iterator_next(out, iterator));
    snprintf(name, sizeof name, "id%lld", (long long)rgm_iterator_position(iterator));
    return rgm_element_create_bytes(extra, name, (int64_t)strlen(name));
}

static rgm_status collect(void **aggregate, const rgm_step *step, void *payload)
{
    int64_t size;
    const char *extra = rgm_element_bytes(step->extra, &size);
    char heard[40];

    *aggregate = payload; /* not NULL: something is aggregated */
    snprintf(heard, sizeof heard, "%.*s:%lld", (int)size, extra,
             (long long)rgm_tensor_dim(step->predictions[0], 0));
    hear(payload, heard);
    return RGM_OK;
}

static rgm_status pass_end(rgm_logs *logs, rgm_trainer *trainer, rgm_mode mode, void *payload)
{
    (void)trainer;
    (void)mode;
    hear(payload, "eval-end");
    return rgm_logs_set(logs, "score", 3);
}

static void hooks_stand_between_the_steps(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    hooked h = {.batches = 2};
    rgm_trainer_hooks hooks = {.train_loop_begin = loop_begin,
                               .next_train_inputs = limited,
                               .train_loop_end = loop_end,
                               .eval_begin = pass_begin,
                               .next_eval_inputs = with_extra,
                               .eval_reduce = collect,
                               .eval_end = pass_end,
                               .payload = &h};
    rgm_trainer *trainer;
    const rgm_logs *logs;

    (void)state;
    CHECK_OK(make(&trainer, &task, &hooks, NULL));
    CHECK_OK(rgm_trainer_train(trainer, 5, &logs));
    CHECK_INT(2, rgm_trainer_global_step(trainer));
    CHECK_INT(7, rgm_logs_get(logs, "mine"));
    CHECK_TEXT(" begin next next next end", h.calls.data);
    rgm_text_clear(&h.calls);
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK_TEXT(" eval-begin id1:4 id2:4 id3:4 eval-end", h.calls.data);
    CHECK_INT(3, rgm_logs_get(logs, "score"));
    rgm_text_clear(&h.calls);
    rgm_trainer_release(trainer);
    clear_plane(&p);
}

/* ---- data sets from outside ---------------------------------------------------------------- */

static void data_sets_can_be_given_and_exchanged(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    rgm_optimizer_options sgd = rgm_sgd(0.1, 0);
    rgm_dataset *once = NULL, *half = NULL;
    rgm_trainer_setup setup = {.task = &task, .optimizer = &sgd};
    rgm_trainer *trainer;
    const rgm_logs *logs;

    (void)state;
    CHECK_OK(plane_inputs(&once, &p, RGM_TRAIN, false));
    CHECK_OK(plane_inputs(&half, &p, RGM_VALID, false));
    CHECK_OK(rgm_dataset_take(&half, 1));
    setup.train_dataset = half;
    CHECK_OK(rgm_trainer_create(&trainer, &setup));
    CHECK_OK(rgm_trainer_train(trainer, RGM_TO_END, &logs));
    CHECK_INT(1, rgm_trainer_global_step(trainer));
    CHECK_OK(rgm_trainer_set_train_dataset(trainer, once));
    CHECK_OK(rgm_trainer_train(trainer, RGM_TO_END, &logs));
    CHECK_INT(4, rgm_trainer_global_step(trainer));
    CHECK_OK(rgm_trainer_set_validation_dataset(trainer, half));
    CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_set_train_dataset(trainer, NULL));
    rgm_trainer_release(trainer);
    rgm_dataset_release(once);
    rgm_dataset_release(half);
    clear_plane(&p);
}

/* ---- precision ----------------------------------------------------------------------------- */

/* Products of operands with 8 bits: the loss after 60 steps is within 2 % of f32's. */
static void bf16_trains_as_f32_within_its_bound(void **state)
{
    plane p = make_plane(false);
    rgm_task task = plane_task(&p);
    double loss[2];

    (void)state;
    p.dropout = 0;
    for (int bf16 = 0; bf16 < 2; bf16++) {
        rgm_runtime_options runtime;
        rgm_trainer *trainer;
        const rgm_logs *logs;

        rgm_runtime_defaults(&runtime);
        runtime.mixed_precision = bf16 ? RGM_MIXED_BF16 : RGM_MIXED_NONE;
        CHECK_OK(make(&trainer, &task, NULL, &runtime));
        CHECK_OK(rgm_trainer_train(trainer, 60, &logs));
        CHECK_OK(rgm_trainer_evaluate(trainer, RGM_VALID, RGM_TO_END, &logs));
        loss[bf16] = rgm_logs_get(logs, "loss");
        CHECK_INT(RGM_F32,
                  rgm_tensor_dtype(rgm_parameters_tensor(rgm_trainer_parameters(trainer), 0)));
        rgm_trainer_release(trainer);
    }
    CHECK_CLOSE(loss[0], loss[1], 0.02, 0);
    clear_plane(&p);
}

/* ---- teachers ----------------------------------------------------------------------------------
 */

static const rgm_task_type kind = {.name = "kind"}, another_kind = {.name = "another"};
static const rgm_task task_of_kind = {.type = &kind}, task_of_another = {.type = &another_kind};
static int opened, released;

static void release_teacher(void *owner)
{
    (void)owner;
    released++;
    rgm_error_reset(); /* what it does may fail, or not */
}

static rgm_status open_teacher(rgm_trained_model *out, const char *folder)
{
    if (strcmp(folder, "gone") == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "no such run");
    *out =
        (rgm_trained_model){.task = strcmp(folder, "other") == 0 ? &task_of_another : &task_of_kind,
                            .release = release_teacher};
    opened++;
    return RGM_OK;
}

static void teachers_come_all_or_none(void **state)
{
    const char *folders[RGM_MOST_TEACHERS + 1] = {"one", "two", "gone"};
    rgm_distillation_options options = RGM_DISTILLATION_OPTIONS_INIT;
    rgm_task_setup setup = {.open_model = open_teacher};
    rgm_teachers teachers;

    (void)state;
    options.teacher = (rgm_texts){folders, 3};
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_teachers_open(&teachers, &options, &setup, &kind));
    CHECK_MESSAGE("task.distillation.teacher gone: no such run");
    CHECK(teachers.count == 0 && opened == 2 && released == 2);
    folders[2] = "other";
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_teachers_open(&teachers, &options, &setup, &kind));
    CHECK_MESSAGE("task.distillation.teacher other: it is no kind");
    CHECK(teachers.count == 0 && opened == 5 && released == 5);
    options.teacher.count = 2;
    CHECK_OK(rgm_teachers_open(&teachers, &options, &setup, &kind));
    CHECK_INT(2, teachers.count);
    CHECK_TEXT("two", teachers.models[1].name);
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_teachers_release(&teachers, RGM_FAIL(RGM_ERR_DATA, "it cannot be made")));
    CHECK_MESSAGE("it cannot be made");
    CHECK(teachers.count == 0 && opened == 7 && released == 7);
    setup.trained = true;
    CHECK_OK(rgm_teachers_open(&teachers, &options, &setup, &kind));
    CHECK(teachers.count == 0 && opened == 7);
    setup.trained = false;
    options.teacher.count = RGM_MOST_TEACHERS + 1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_teachers_open(&teachers, &options, &setup, &kind));
    CHECK_MESSAGE("task.distillation.teacher: 9 of them; at most 8");
    setup.open_model = NULL;
    options.teacher.count = 1;
    CHECK_STATUS(RGM_ERR_UNSUPPORTED, rgm_teachers_open(&teachers, &options, &setup, &kind));
}

TESTS(cmocka_unit_test(own_functions_are_called_in_the_place_of_the_defaults),
      cmocka_unit_test(an_inference_step_of_ones_own_leaves_the_loss_to_choose_by),
      cmocka_unit_test(a_validation_without_a_loss_cannot_choose),
      cmocka_unit_test(hooks_stand_between_the_steps),
      cmocka_unit_test(data_sets_can_be_given_and_exchanged),
      cmocka_unit_test(bf16_trains_as_f32_within_its_bound),
      cmocka_unit_test(teachers_come_all_or_none))
