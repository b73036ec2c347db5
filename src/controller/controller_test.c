/*
 * The trainer and the controller with a task that only counts: the exact order of calls, loops,
 * saves, evaluations and summaries.
 */
#include <check.h>

#include <regimen/controller_run.h>

/* ---- a task without a model ---------------------------------------------------------------- */

#define BATCHES 7

typedef struct counting {
    rgm_text calls; /* the calls of the task's functions, if `tell` */
    bool tell, endless;
    int64_t trained, validated;
    int64_t bad_step; /* its loss is NaN, the first `bad_times` times it is reached */
    int64_t bad_times;
    double bad_loss;
    int64_t initialized;
} counting;

static void tell(counting *t, const char *format, int64_t number)
{
    if (t->tell)
        CHECK_OK(rgm_text_printf(&t->calls, format, (long long)number));
}

static rgm_status count_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    rgm_tensor *numbers;
    rgm_status status;

    (void)state;
    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_tensor_arange(&numbers, BATCHES));
    status = rgm_dataset_from_tensors(out, &numbers, 1);
    rgm_tensor_release(numbers);
    if (status == RGM_OK && endless)
        status = rgm_dataset_repeat(out, -1);
    return status;
}

static rgm_status count_train(rgm_step *step, void *state)
{
    counting *t = state;

    tell(t, " train%lld", step->global_step);
    t->trained++;
    step->loss = (double)step->global_step;
    if (t->bad_times > 0 && step->global_step + 1 == t->bad_step) {
        t->bad_times--;
        step->loss = t->bad_loss;
    }
    return RGM_OK;
}

static rgm_status count_validate(rgm_step *step, void *state)
{
    counting *t = state;

    tell(t, " validate%lld", rgm_tensor_i64(rgm_element_tensor(step->inputs, 0))[0]);
    t->validated++;
    return RGM_OK;
}

static rgm_status count_aggregate(void **aggregate, const rgm_step *step, void *state)
{
    (void)step;
    tell(state, *aggregate == NULL ? " aggregate-first" : " aggregate", 0);
    if (*aggregate == NULL)
        RGM_TRY(RGM_NEW(*(int64_t **)aggregate, 1));
    (**(int64_t **)aggregate)++;
    return RGM_OK;
}

/* A score that is best at step 6: 10 - |6 - step|. */
static rgm_status count_reduce(rgm_logs *logs, void *aggregate, int64_t global_step, void *state)
{
    tell(state, " reduce%lld", global_step);
    RGM_TRY(rgm_logs_set(logs, "batches", (double)*(int64_t *)aggregate));
    return rgm_logs_set(logs, "quality/score", 10 - fabs(6.0 - (double)global_step));
}

static void count_release(void *aggregate, void *state)
{
    tell(state, " release", 0);
    rgm_free(aggregate);
}

static rgm_status count_initialize(rgm_parameters *parameters, void *state)
{
    (void)parameters;
    ((counting *)state)->initialized++;
    return RGM_OK;
}

static rgm_task counting_task(counting *t)
{
    return (rgm_task){.name = "counting",
                      .state = t,
                      .build_inputs = count_inputs,
                      .train_step = count_train,
                      .validation_step = count_validate,
                      .aggregate_logs = count_aggregate,
                      .reduce_aggregated_logs = count_reduce,
                      .release_aggregate = count_release,
                      .initialize = count_initialize};
}

/* ---- a run of it --------------------------------------------------------------------------- */

typedef struct run {
    counting task;
    rgm_trainer_options options;
    const rgm_action *train_actions, *eval_actions;
    int64_t action_count;
    const char *folder;
    bool read_only, finite;
    int64_t (*steps_per_loop)(int64_t step, void *payload);
    int64_t stop_at; /* the global step at which to stop; -1: never */
    bool stops_after_recovery;
    bool summaries; /* take them instead of the event files */
    rgm_text events, written;
    rgm_trainer *trainer;
    rgm_controller *controller;
} run;

static run new_run(const char *folder)
{
    run r = {.folder = folder, .stop_at = -1};

    rgm_trainer_defaults(&r.options);
    r.options.steps_per_loop = 3;
    r.options.checkpoint.every_seconds = 0;
    r.options.checkpoint.keep = 100;
    return r;
}

static void on_event(const rgm_event *event, void *payload)
{
    run *r = payload;

    if (r->stops_after_recovery && event->kind == RGM_EVENT_RECOVER)
        r->stop_at = event->step;
    CHECK_OK(rgm_text_printf(&r->events, "%s%s@%lld", r->events.size > 0 ? " " : "",
                             rgm_event_name(event->kind), (long long)event->step));
}

static bool should_stop(void *payload)
{
    run *r = payload;

    return rgm_trainer_global_step(r->trainer) == r->stop_at;
}

static rgm_status on_summary(const char *split, int64_t step, const rgm_logs *logs, void *payload)
{
    run *r = payload;

    RGM_TRY(rgm_text_printf(&r->written, " %s@%lld", split, (long long)step));
    for (int64_t i = 0; i < logs->count; i++)
        if (strstr(logs->items[i].name, "_per_second") == NULL) /* depends on the machine */
            RGM_TRY(
                rgm_text_printf(&r->written, ":%s=%g", logs->items[i].name, logs->items[i].value));
    return RGM_OK;
}

static rgm_status open_run(run *r)
{
    rgm_task task = counting_task(&r->task);
    rgm_controller_hooks hooks = {.should_stop = should_stop,
                                  .steps_per_loop = r->steps_per_loop,
                                  .event = on_event,
                                  .summary = r->summaries ? on_summary : NULL,
                                  .payload = r};
    rgm_trainer_setup setup = {.task = &task, .options = &r->options, .endless = !r->finite};
    rgm_controller_setup control = {.options = &r->options,
                                    .run_dir = r->folder,
                                    .config = "test: 1\n",
                                    .read_only = r->read_only,
                                    .train_actions = r->train_actions,
                                    .train_action_count = r->train_actions ? r->action_count : 0,
                                    .eval_actions = r->eval_actions,
                                    .eval_action_count = r->eval_actions ? r->action_count : 0,
                                    .hooks = &hooks};

    RGM_TRY(rgm_trainer_create(&r->trainer, &setup));
    control.trainer = r->trainer;
    return rgm_controller_create(&r->controller, &control);
}

static void close_run(run *r)
{
    rgm_controller_release(r->controller);
    rgm_trainer_release(r->trainer);
    r->controller = NULL;
    r->trainer = NULL;
    rgm_text_clear(&r->events);
    rgm_text_clear(&r->written);
    rgm_text_clear(&r->task.calls);
}

static const char *events(const run *r)
{
    return r->events.data != NULL ? r->events.data : "";
}

/* Check only the events of one kind, for cases that are about them. */
static void check_only(const char *expected, const run *r, const char *kind)
{
    char found[600] = "";
    const char *at = events(r);
    size_t size = strlen(kind);

    while (*at != '\0') {
        const char *end = strchr(at, ' ');
        size_t length = end != NULL ? (size_t)(end - at) : strlen(at);

        if (strncmp(at, kind, size) == 0 && at[size] == '@')
            snprintf(found + strlen(found), sizeof found - strlen(found), "%s%.*s",
                     found[0] != '\0' ? " " : "", (int)(length - size - 1), at + size + 1);
        at += length + (end != NULL);
    }
    CHECK_TEXT(expected, found);
}

static char *test_folder(char *buffer, size_t size, const char *root, const char *name)
{
    snprintf(buffer, size, "%s/%s", root, name);
    return buffer;
}

/* ---- loops --------------------------------------------------------------------------------- */

static void training_runs_loops_up_to_an_absolute_step(void **state)
{
    run r = new_run(NULL);

    (void)state;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train(r.controller, 7));
    CHECK_TEXT(
        "initialize@0 loop_begin@0 loop_end@3 loop_begin@3 loop_end@6 loop_begin@6 loop_end@7",
        events(&r));
    CHECK_INT(7, r.task.trained);
    CHECK_OK(rgm_controller_train(r.controller, 7)); /* at the target: nothing */
    CHECK_OK(rgm_controller_train(r.controller, 5)); /* past it: nothing */
    CHECK_INT(7, r.task.trained);
    CHECK_OK(rgm_controller_train(r.controller, 9));
    CHECK_INT(9, r.task.trained);
    CHECK_INT(1, r.task.initialized);
    close_run(&r);
}

static int64_t growing_loops(int64_t step, void *payload)
{
    (void)payload;
    return step < 4 ? 2 : 5;
}

static int64_t no_loop(int64_t step, void *payload)
{
    (void)payload;
    return step - step;
}

static void the_length_of_a_loop_may_depend_on_the_step(void **state)
{
    run r = new_run(NULL);

    (void)state;
    r.steps_per_loop = growing_loops;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train(r.controller, 11));
    check_only("2 4 9 11", &r, "loop_end");
    close_run(&r);
    r = new_run(NULL);
    r.steps_per_loop = no_loop;
    CHECK_OK(open_run(&r));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_controller_train(r.controller, 4));
    close_run(&r);
}

static void data_that_end_end_training_cleanly(void **state)
{
    run r = new_run(NULL);
    const rgm_logs *logs;

    (void)state;
    r.finite = true;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train(r.controller, 100));
    CHECK_INT(BATCHES, r.task.trained);
    check_only("3 6 7", &r, "loop_end");
    CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_VALID, 100, &logs)); /* shorter, no error */
    CHECK_INT(BATCHES, r.task.validated);
    CHECK_INT(BATCHES, rgm_logs_get(logs, "batches"));
    CHECK(!rgm_logs_has(logs, "loss")); /* no step had one */
    close_run(&r);
}

static void evaluation_cuts_loops_short_and_ends_the_run(void **state)
{
    run r = new_run(NULL);
    const rgm_logs *logs;

    (void)state;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 10, 2, 4, &logs));
    check_only("3 4 7 8 10", &r, "loop_end");
    check_only("4 8 10", &r, "eval_end");
    CHECK_INT(6, r.task.validated);
    CHECK_INT(2, rgm_logs_get(logs, "batches"));
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 10, -1, 4, &logs)); /* no work */
    CHECK(logs == NULL);
    CHECK_OK(
        rgm_controller_train_and_evaluate(r.controller, 12, -1, 0, &logs)); /* at the end only */
    check_only("4 8 10 12", &r, "eval_end");
    CHECK_INT(6 + BATCHES, r.task.validated);
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 23, 1, 5, &logs)); /* made longer */
    check_only("4 8 10 12 15 20 23", &r, "eval_end");
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 24, 1, INT64_MAX, &logs));
    check_only("4 8 10 12 15 20 23 24", &r, "eval_end");
    close_run(&r);
}

static void a_pass_calls_the_task_in_order(void **state)
{
    run r = new_run(NULL);
    const rgm_logs *logs;

    (void)state;
    r.task.tell = true;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_trainer_train(r.trainer, 2, &logs));
    CHECK_INT(0.5 * 2, rgm_logs_get(logs, "loss") * 2); /* (0 + 1) / 2 */
    CHECK_OK(rgm_trainer_evaluate(r.trainer, RGM_VALID, 2, &logs));
    CHECK_TEXT(" train0 train1 validate0 aggregate-first validate1 aggregate reduce2 release",
               r.task.calls.data);
    CHECK_OK(rgm_trainer_train(r.trainer, 1, &logs));
    CHECK_INT(2, rgm_logs_get(logs, "loss")); /* of this loop alone */
    close_run(&r);
}

/* ---- checkpoints --------------------------------------------------------------------------- */

static void checkpoints_come_at_the_first_loop_end_behind_their_interval(void **state)
{
    char root[128], folder[200];
    run r;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    r = new_run(test_folder(folder, sizeof folder, root, "run"));
    r.options.checkpoint.every_steps = 10;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train(r.controller, 32));
    check_only("12 21 30 32", &r, "save"); /* loops of 3; none after the first; one at the end */
    CHECK_OK(rgm_controller_train(r.controller, 32)); /* this state is already saved */
    CHECK_OK(rgm_controller_save(r.controller));
    check_only("12 21 30 32", &r, "save");
    close_run(&r);

    r = new_run(folder); /* the next process continues: 33, 36, 39, 42 */
    r.options.checkpoint.every_steps = 10;
    CHECK_OK(open_run(&r));
    CHECK_TEXT("restore@32", events(&r));
    CHECK_INT(0, r.task.initialized);
    CHECK_OK(rgm_controller_train(r.controller, 45));
    check_only("41 45", &r, "save"); /* loops begin where the last one ended */
    close_run(&r);

    r = new_run(test_folder(folder, sizeof folder, root, "seldom"));
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_save(r.controller)); /* requested: saved, whatever the interval */
    CHECK_OK(rgm_controller_train(r.controller, 6));
    check_only("0 6", &r, "save");
    close_run(&r);
    CHECK_OK(rgm_folder_remove(root));
}

static void epochs_are_loops_that_may_be_a_pass(void **state)
{
    char root[128], folder[200];
    run r;
    const rgm_logs *logs;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    r = new_run(test_folder(folder, sizeof folder, root, "run"));
    r.finite = true;
    r.options.epochs = 4;
    r.options.validation_freq = 2;
    r.options.checkpoint.every_epochs = 3;
    r.options.checkpoint.every_steps = 10; /* inside epochs too */
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_run(r.controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
    check_only("7 14 21 28", &r, "loop_end");
    check_only("14 28", &r, "eval_end");
    check_only("10 20 21 28", &r, "save");
    CHECK_INT(4, rgm_controller_epochs(r.controller));
    CHECK_INT(4, rgm_trainer_passes(r.trainer));
    close_run(&r);
    CHECK_OK(rgm_folder_remove(root));
}

static void compare(const char *a, const char *b, const char *name)
{
    char path[300];
    char *data[2];
    int64_t size[2];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", i == 0 ? a : b, name);
        CHECK_OK(rgm_file_load(&data[i], &size[i], path, 1 << 24));
    }
    CHECK_INT(size[0], size[1]);
    if (memcmp(data[0], data[1], (size_t)size[0]) != 0)
        fail_msg("%s differs between %s and %s:\n%s%s", name, a, b, data[0], data[1]);
    rgm_free(data[0]);
    rgm_free(data[1]);
}

/* Stopped between any two steps, inside loops too, and continued: the same loops, saves, bytes. */
static void a_signal_between_steps_saves_and_the_run_goes_on_where_it_was(void **state)
{
    char root[128], whole[200], parts[200];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    test_folder(whole, sizeof whole, root, "whole");
    for (int64_t stop = -1; stop < 20; stop++) {
        run r = new_run(stop < 0 ? whole : test_folder(parts, sizeof parts, root, "parts"));
        char name[64];

        r.options.checkpoint.every_steps = 5;
        r.stop_at = stop;
        if (stop >= 0) {
            CHECK_OK(open_run(&r));
            CHECK_STATUS(RGM_STOPPED,
                         rgm_controller_train_and_evaluate(r.controller, 20, -1, 8, NULL));
            CHECK_INT(stop, rgm_trainer_global_step(r.trainer));
            close_run(&r);
            r.stop_at = -1;
        }
        CHECK_OK(open_run(&r));
        CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 20, -1, 8, NULL));
        close_run(&r);
        if (stop < 0)
            continue;
        compare(whole, parts, "metrics.jsonl");
        for (int k = 0; k < 3; k++) {
            static const char *const files[] = {"manifest.json", "data.bin", "sums.bin"};

            snprintf(name, sizeof name, "ckpt/step-00000020/%s", files[k]);
            compare(whole, parts, name);
        }
        for (int step = 6; step < 20; step++) { /* the steps in between: at the same steps */
            char path[2][300];

            snprintf(path[0], sizeof path[0], "%s/ckpt/step-%08d", whole, step);
            snprintf(path[1], sizeof path[1], "%s/ckpt/step-%08d", parts, step);
            if (step != stop)
                CHECK_INT(rgm_path_exists(path[0]), rgm_path_exists(path[1]));
        }
        CHECK_OK(rgm_folder_remove(parts));
    }
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- actions and summaries ----------------------------------------------------------------- */

static rgm_status note(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    (void)controller;
    return rgm_text_printf(payload, " action:%g", rgm_logs_get(output, "loss"));
}

static bool late(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    (void)output;
    (void)payload;
    return rgm_trainer_global_step(rgm_controller_trainer(controller)) > 3;
}

static rgm_status refuse(const rgm_logs *output, rgm_controller *controller, void *payload)
{
    (void)output;
    (void)controller;
    (void)payload;
    return RGM_FAIL(RGM_ERR_DATA, "not this one");
}

static void actions_run_before_the_checkpoint_and_may_end_the_run(void **state)
{
    char root[128], folder[200];
    run r;
    rgm_action actions[2] = {{.name = "note", .condition = late, .run = note},
                             {.name = "refuse", .condition = late, .run = refuse}};

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    r = new_run(test_folder(folder, sizeof folder, root, "run"));
    actions[0].payload = &r.events;
    r.train_actions = actions;
    r.action_count = 1;
    r.options.checkpoint.every_steps = 3;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train(r.controller, 6));
    CHECK_TEXT(
        "initialize@0 loop_begin@0 loop_end@3 save@3 loop_begin@3 action:4 loop_end@6 save@6",
        events(&r));
    close_run(&r);
    r.action_count = 2;
    CHECK_OK(open_run(&r));
    CHECK_STATUS(RGM_ERR_DATA, rgm_controller_train(r.controller, 12));
    CHECK_MESSAGE("action 'refuse'");
    check_only("", &r, "save"); /* a state that an action refuses is not saved */
    close_run(&r);
    CHECK_OK(rgm_folder_remove(root));
}

static void summaries_come_each_loop_and_at_their_interval(void **state)
{
    run r = new_run(NULL);

    (void)state;
    r.summaries = true;
    r.options.summary_interval = 6;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 6, 1, 0, NULL));
    CHECK_TEXT(" train@3:loss=1 train@6:batch_loss=5 train@6:loss=4"
               " valid@6:batches=1:quality/score=10",
               r.written.data);
    check_only("6", &r, "summary");
    close_run(&r);
}

/* ---- best, early stopping ------------------------------------------------------------------ */

static void the_best_are_found_kept_and_spared(void **state)
{
    char root[128], folder[200], path[300];
    run r;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    r = new_run(test_folder(folder, sizeof folder, root, "run"));
    r.options.checkpoint.keep = 1;
    r.options.checkpoint.best = (rgm_trainer_best){
        .metric = "valid.quality/score", .mode = RGM_BEST_MAX, .keep = 2, .save = true};
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 20, -1, 2, NULL));
    CHECK_INT(6, rgm_controller_best_step(r.controller));
    CHECK_INT(10, rgm_controller_best_value(r.controller));
    check_only("2 4 6", &r, "new_best");
    close_run(&r);
    for (int step = 2; step <= 20; step += 2) { /* 6, then 4 (before 8: ties go to the older), 20 */
        snprintf(path, sizeof path, "%s/ckpt/step-%08d", folder, step);
        CHECK_INT(step == 4 || step == 6 || step == 20, rgm_path_exists(path));
    }
    snprintf(path, sizeof path, "%s/best/step-00000006/manifest.json", folder);
    CHECK(rgm_path_exists(path));
    snprintf(path, sizeof path, "%s/best/info.json", folder);
    CHECK(rgm_path_exists(path));
    CHECK_OK(rgm_folder_remove(root));
}

static void training_stops_when_it_gets_no_better(void **state)
{
    run r = new_run(NULL);

    (void)state;
    r.options.checkpoint.best =
        (rgm_trainer_best){.metric = "valid.quality/score", .mode = RGM_BEST_MAX};
    r.options.early_stopping.patience = 2;
    CHECK_OK(open_run(&r));
    CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 100, 1, 2, NULL));
    check_only("2 4 6 8 10", &r, "eval_end");
    CHECK(rgm_controller_finished(r.controller));
    close_run(&r);
    r = new_run(NULL);
    r.options.checkpoint.best = (rgm_trainer_best){.metric = "valid.nothing", .mode = RGM_BEST_MAX};
    CHECK_OK(open_run(&r)); /* this task's numbers are known only after a validation */
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_controller_evaluate(r.controller, RGM_VALID, 1, NULL));
    CHECK_MESSAGE("valid.nothing");
    close_run(&r);
    r = new_run(NULL); /* a missing metric does not count as one that does not improve */
    r.options.checkpoint.best.metric = "valid.quality/score";
    r.options.early_stopping = (rgm_trainer_stopping){.metric = "valid.nothing", .patience = 2};
    CHECK_OK(open_run(&r));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_controller_evaluate(r.controller, RGM_VALID, 1, NULL));
    CHECK_MESSAGE("trainer.early_stopping.metric: 'valid.nothing' is not a validation metric");
    close_run(&r);
}

/* Early stopping between two validations of an epoch, at step 10, whole or stopped before. */
static void training_stops_inside_an_epoch(void **state)
{
    char root[128], whole[200], parts[200];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    test_folder(whole, sizeof whole, root, "whole");
    test_folder(parts, sizeof parts, root, "parts");
    for (int64_t stop = -1; stop < 10; stop += 4) {
        run r = new_run(stop < 0 ? whole : parts);
        const rgm_logs *logs;

        r.options.epochs = 3;
        r.options.steps_per_epoch = 20;
        r.options.validation_per_epoch = 10;
        r.options.checkpoint.best =
            (rgm_trainer_best){.metric = "valid.quality/score", .mode = RGM_BEST_MAX};
        r.options.early_stopping.patience = 2;
        r.stop_at = stop;
        CHECK_OK(open_run(&r));
        if (stop >= 0)
            CHECK_STATUS(RGM_STOPPED,
                         rgm_controller_run(r.controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
        r.stop_at = -1;
        if (stop < 0 || stop == 7)
            CHECK_OK(rgm_controller_run(r.controller, RGM_RUN_TRAIN_AND_EVAL, &logs));
        if (stop < 0) {
            check_only("2 4 6 8 10", &r, "eval_end");
            check_only("10", &r, "stop");
            check_only("", &r, "loop_end");
        }
        CHECK_INT(stop == 3 ? 3 : 10, rgm_trainer_global_step(r.trainer));
        close_run(&r);
    }
    compare(whole, parts, "metrics.jsonl");
    compare(whole, parts, "ckpt/step-00000010/manifest.json");
    CHECK_OK(rgm_folder_remove(root));
}

/* The step after which the score, 6 8 10 8 6 at steps 2 4 6 8 10, was no better for two
 * validations. */
static const char *stops_behind(rgm_best_mode best, const char *metric, rgm_best_mode mode)
{
    static char text[64];
    run r = new_run(NULL);

    r.options.checkpoint.best = (rgm_trainer_best){.metric = "valid.quality/score", .mode = best};
    r.options.early_stopping =
        (rgm_trainer_stopping){.metric = metric, .mode = mode, .patience = 2};
    if (open_run(&r) != RGM_OK) {
        snprintf(text, sizeof text, "refused");
    } else {
        CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 100, 1, 2, NULL));
        snprintf(text, sizeof text, "%lld",
                 (long long)rgm_trainer_global_step(rgm_controller_trainer(r.controller)));
    }
    close_run(&r);
    return text;
}

static void early_stopping_hears_which_way_its_metric_is_better(void **state)
{
    const char *score = "valid.quality/score";

    (void)state;
    CHECK(strcmp(stops_behind(RGM_BEST_MAX, NULL, RGM_BEST_AUTO), "10") == 0);
    CHECK(strcmp(stops_behind(RGM_BEST_MIN, NULL, RGM_BEST_AUTO), "6") == 0);
    CHECK(strcmp(stops_behind(RGM_BEST_MIN, score, RGM_BEST_AUTO), "6") == 0);
    CHECK(strcmp(stops_behind(RGM_BEST_MIN, score, RGM_BEST_MIN), "6") == 0);
    CHECK(strcmp(stops_behind(RGM_BEST_MIN, score, RGM_BEST_MAX), "refused") == 0);
    CHECK_MESSAGE("trainer.early_stopping.mode is max, but the best valid.quality/score is the "
                  "smallest one");
}

static void a_new_best_is_tested_then_committed(void **state)
{
    char root[128], file[200];
    rgm_new_best *best;
    rgm_logs logs = {0};
    bool is_best;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    test_folder(file, sizeof file, root, "not/there/yet/best.json");
    CHECK_OK(rgm_new_best_create(&best, "score", true, file));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_new_best_test(&is_best, best, &logs));
    CHECK_OK(rgm_logs_set(&logs, "score", NAN));
    CHECK_OK(rgm_new_best_commit(&is_best, best, &logs));
    CHECK(!is_best); /* NaN is never best */
    CHECK_OK(rgm_logs_set(&logs, "score", INFINITY));
    CHECK_OK(rgm_new_best_commit(&is_best, best, &logs));
    CHECK(!is_best); /* nor a number that a JSON file could not store */
    CHECK_OK(rgm_logs_set(&logs, "score", 0.5));
    CHECK_OK(rgm_new_best_test(&is_best, best, &logs));
    CHECK(is_best && isnan(rgm_new_best_value(best)));
    CHECK_OK(rgm_new_best_commit(&is_best, best, &logs));
    CHECK(is_best);
    CHECK_OK(rgm_new_best_commit(&is_best, best, &logs));
    CHECK(!is_best); /* strictly better */
    rgm_new_best_release(best);
    CHECK_OK(rgm_new_best_create(&best, "score", true, file)); /* over a restart */
    CHECK_OK(rgm_logs_set(&logs, "score", 0.4));
    CHECK_OK(rgm_new_best_commit(&is_best, best, &logs));
    CHECK(!is_best && rgm_new_best_value(best) == 0.5);
    rgm_new_best_release(best);
    CHECK_OK(rgm_file_save(file, "[]", 2));
    CHECK_STATUS(RGM_ERR_FORMAT, rgm_new_best_create(&best, "score", true, file));
    rgm_logs_clear(&logs);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- recovery ------------------------------------------------------------------------------ */

static void a_bad_step_stops_is_skipped_or_rolled_back(void **state)
{
    char root[128], folder[200];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    for (int policy = RGM_RECOVER_STOP; policy <= RGM_RECOVER_ROLLBACK; policy++)
        for (int blow_up = 0; blow_up < 2; blow_up++) {
            run r = new_run(test_folder(folder, sizeof folder, root, "run"));

            r.options.checkpoint.every_steps = 3;
            r.options.recovery =
                (rgm_trainer_recovery){.policy = (rgm_recovery_policy)policy,
                                       .loss_upper_bound = blow_up ? 1e6 : INFINITY,
                                       .max_tries = 2};
            r.task.bad_step = 8;
            r.task.bad_times = 2;
            r.task.bad_loss = blow_up ? 1e7 : (double)NAN;
            CHECK_OK(open_run(&r));
            if (policy == RGM_RECOVER_STOP) {
                CHECK_STATUS(RGM_ERR_NUMERIC, rgm_controller_train(r.controller, 12));
                CHECK_MESSAGE("step 8");
                check_only("3 6", &r, "save");
            } else {
                CHECK_OK(rgm_controller_train(r.controller, 12));
                CHECK_INT(12, rgm_trainer_global_step(r.trainer));
                check_only(policy == RGM_RECOVER_SKIP ? "8" : "6 6", &r, "recover");
                check_only("3 6 9 12", &r, "save"); /* never a bad state */
            }
            close_run(&r);
            CHECK_OK(rgm_folder_remove(folder));
        }
    CHECK_OK(rgm_folder_remove(root));
}

static void recovery_is_not_tried_for_ever(void **state)
{
    run r = new_run(NULL);

    (void)state;
    r.options.recovery = (rgm_trainer_recovery){
        .policy = RGM_RECOVER_ROLLBACK, .loss_upper_bound = INFINITY, .max_tries = 3};
    r.task.bad_step = 5;
    r.task.bad_times = 1000;
    r.task.bad_loss = NAN;
    CHECK_OK(open_run(&r));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_controller_train(r.controller, 12));
    CHECK_MESSAGE("max_tries is 3");
    check_only("0 0 0", &r, "recover"); /* without a checkpoint: to the start */
    close_run(&r);
}

/* Back from step 10 to the checkpoint of step 6, which has the validation of step 4 as the last. */
static void validations_that_a_rollback_took_back_are_made_again(void **state)
{
    char root[128], back[200], whole[200];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    test_folder(back, sizeof back, root, "back");
    test_folder(whole, sizeof whole, root, "whole");
    for (int bad = 0; bad < 2; bad++) {
        run r = new_run(bad ? back : whole);

        r.options.checkpoint.every_steps = 6;
        r.options.recovery = (rgm_trainer_recovery){
            .policy = RGM_RECOVER_ROLLBACK, .loss_upper_bound = INFINITY, .max_tries = 1};
        r.task.bad_step = 11;
        r.task.bad_times = bad;
        r.task.bad_loss = NAN;
        CHECK_OK(open_run(&r));
        CHECK_OK(rgm_controller_train_and_evaluate(r.controller, 12, 1, 2, NULL));
        check_only(bad ? "6" : "", &r, "recover");
        check_only(bad ? "2 4 6 8 10 6 8 10 12" : "2 4 6 8 10 12", &r, "eval_end");
        check_only(bad ? "2 4 6 8 10 8 10 12" : "2 4 6 8 10 12", &r, "loop_end");
        close_run(&r);
    }
    compare(whole, back, "metrics.jsonl");
    CHECK_OK(rgm_folder_remove(root));
}

static bool has_in(const char *folder, const char *name)
{
    char path[300];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return rgm_path_exists(path);
}

/* The best, of step 6, goes with the course that is dropped. */
static void the_best_that_a_rollback_took_back_is_set_aside(void **state)
{
    char root[128], folder[200];

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    for (int saved = 0; saved < 2; saved++) {
        run r = new_run(test_folder(folder, sizeof folder, root, "run"));

        r.options.steps_per_loop = 5;
        r.options.checkpoint.every_steps = saved ? 5 : 0;
        r.options.checkpoint.best =
            (rgm_trainer_best){.metric = "valid.quality/score", .mode = RGM_BEST_MAX, .save = true};
        r.options.recovery = (rgm_trainer_recovery){
            .policy = RGM_RECOVER_ROLLBACK, .loss_upper_bound = INFINITY, .max_tries = 1};
        r.task.bad_step = 7;
        r.task.bad_times = 1;
        r.task.bad_loss = NAN;
        r.stops_after_recovery = true;
        CHECK_OK(open_run(&r));
        CHECK_STATUS(RGM_STOPPED, rgm_controller_train_and_evaluate(r.controller, 20, -1, 6, NULL));
        check_only("6", &r, "new_best");
        check_only(saved ? "5" : "0", &r, "recover");
        CHECK_INT(-1, rgm_controller_best_step(r.controller));
        close_run(&r);
        CHECK(!has_in(folder, "best/info.json"));
        CHECK(!has_in(folder, "best/step-00000006"));
        CHECK(has_in(folder, "best/step-00000006.rolled-back"));
        CHECK_OK(rgm_folder_remove(folder));
    }
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- following a run ----------------------------------------------------------------------- */

static bool count_timeouts(void *payload)
{
    return ++*(int *)payload == 3;
}

static void an_evaluator_follows_a_run_folder(void **state)
{
    char root[128], folder[200], path[300];
    run trainer, evaluator;
    const rgm_logs *logs;
    int timeouts = 0;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    trainer = new_run(test_folder(folder, sizeof folder, root, "run"));
    evaluator = new_run(folder);
    evaluator.read_only = true;
    CHECK_OK(open_run(&evaluator)); /* before there is anything to evaluate */
    CHECK_OK(rgm_controller_evaluate_continuously(evaluator.controller, 2, 6, 0, count_timeouts,
                                                  &timeouts, &logs));
    CHECK_INT(3, timeouts);
    CHECK(logs == NULL);
    CHECK_OK(open_run(&trainer));
    CHECK_OK(
        rgm_controller_train(trainer.controller, 6)); /* and the trainer still holds the folder */
    CHECK_OK(
        rgm_controller_evaluate_continuously(evaluator.controller, 2, 6, -1, NULL, NULL, &logs));
    CHECK_INT(10, rgm_logs_get(logs, "quality/score"));
    check_only("6", &evaluator, "eval_end");
    snprintf(path, sizeof path, "%s/continuous_eval/metrics.jsonl", folder);
    CHECK(rgm_path_exists(path));
    CHECK_STATUS(RGM_ERR_ARG, rgm_controller_evaluate_continuously(trainer.controller, 2, 6, -1,
                                                                   NULL, NULL, &logs));
    close_run(&evaluator);
    close_run(&trainer);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- errors -------------------------------------------------------------------------------- */

static void what_is_missing_or_contradicts_is_named(void **state)
{
    run r = new_run(NULL);
    rgm_task task = counting_task(&r.task);
    rgm_trainer_setup setup = {.task = &task};
    rgm_trainer *trainer;
    const rgm_logs *logs;

    (void)state;
    task.train_step = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
    CHECK_MESSAGE("train_step");
    task = counting_task(&r.task);
    task.build_inputs = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
    CHECK_MESSAGE("build_inputs");
    task = counting_task(&r.task);
    task.reduce_aggregated_logs = NULL;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_trainer_create(&trainer, &setup));
    CHECK_MESSAGE("reduce_aggregated_logs");
    r.options.steps_per_loop = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, open_run(&r));
    CHECK_MESSAGE("steps_per_loop");
    close_run(&r);
    r.options.steps_per_loop = 4;
    r.options.summary_interval = 6;
    r.options.train_steps = 12;
    CHECK_STATUS(RGM_ERR_CONFIG, open_run(&r));
    CHECK_MESSAGE("summary_interval is 6, but must be a multiple of trainer.steps_per_loop, "
                  "which is 4");
    close_run(&r);
    r.options.summary_interval = -1;
    CHECK_OK(open_run(&r));
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_train(r.trainer, RGM_TO_END, &logs));
    CHECK_MESSAGE("never end");
    CHECK_STATUS(RGM_ERR_ARG, rgm_trainer_train_step(r.trainer));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_controller_restore(r.controller, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgm_controller_train(r.controller, -1));
    close_run(&r);
}

TESTS(cmocka_unit_test(training_runs_loops_up_to_an_absolute_step),
      cmocka_unit_test(the_length_of_a_loop_may_depend_on_the_step),
      cmocka_unit_test(data_that_end_end_training_cleanly),
      cmocka_unit_test(evaluation_cuts_loops_short_and_ends_the_run),
      cmocka_unit_test(a_pass_calls_the_task_in_order),
      cmocka_unit_test(checkpoints_come_at_the_first_loop_end_behind_their_interval),
      cmocka_unit_test(epochs_are_loops_that_may_be_a_pass),
      cmocka_unit_test(a_signal_between_steps_saves_and_the_run_goes_on_where_it_was),
      cmocka_unit_test(actions_run_before_the_checkpoint_and_may_end_the_run),
      cmocka_unit_test(summaries_come_each_loop_and_at_their_interval),
      cmocka_unit_test(the_best_are_found_kept_and_spared),
      cmocka_unit_test(training_stops_when_it_gets_no_better),
      cmocka_unit_test(training_stops_inside_an_epoch),
      cmocka_unit_test(early_stopping_hears_which_way_its_metric_is_better),
      cmocka_unit_test(a_new_best_is_tested_then_committed),
      cmocka_unit_test(a_bad_step_stops_is_skipped_or_rolled_back),
      cmocka_unit_test(recovery_is_not_tried_for_ever),
      cmocka_unit_test(validations_that_a_rollback_took_back_are_made_again),
      cmocka_unit_test(the_best_that_a_rollback_took_back_is_set_aside),
      cmocka_unit_test(an_evaluator_follows_a_run_folder),
      cmocka_unit_test(what_is_missing_or_contradicts_is_named))
