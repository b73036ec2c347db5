/*
 * Two runs in one process, stepping in turn: everything that each of them writes, from the caller's
 * thread, from threads of its pipeline and from its actions, is in its own log.txt and nowhere
 * else.
 */
#include <math.h>

#include "controller_check.h"

typedef struct talker {
    plane plane; /* first: the task's state */
    const char *name;
} talker;

/* In a thread of the map's pool. */
static rgm_status tell_from_map(rgm_element **out, const rgm_element *element,
                                const rgm_map_call *call, void *payload)
{
    rgm_log_write(RGM_LOG_INFO, "%s maps %lld", (const char *)payload, (long long)call->index);
    *out = rgm_element_retain(element);
    return RGM_OK;
}

/* In prefetch's thread. */
static rgm_status tell_from_prefetch(rgm_element **out, const rgm_element *element,
                                     const rgm_map_call *call, void *payload)
{
    rgm_log_write(RGM_LOG_INFO, "%s reads %lld", (const char *)payload, (long long)call->index);
    *out = rgm_element_retain(element);
    return RGM_OK;
}

static rgm_status talking_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    talker *t = state;
    rgm_tensor *tensors[] = {t->plane.x, t->plane.label};

    *out = NULL;
    if (mode == RGM_TEST)
        return RGM_OK;
    RGM_TRY(rgm_dataset_from_tensors(out, tensors, 2));
    RGM_TRY(rgm_dataset_map(out, tell_from_map, (void *)t->name, NULL, 2));
    RGM_TRY(rgm_dataset_batch(out, t->plane.batch, false));
    RGM_TRY(rgm_dataset_map(out, rgm_element_stack, NULL, NULL, 1));
    RGM_TRY(rgm_dataset_map(out, tell_from_prefetch, (void *)t->name, NULL, 1));
    if (endless)
        RGM_TRY(rgm_dataset_repeat(out, -1));
    return rgm_dataset_prefetch(out, 2);
}

static rgm_status tell_from_action(const rgm_logs *output, rgm_controller *controller,
                                   void *payload)
{
    (void)output;
    (void)controller;
    rgm_log_write(RGM_LOG_INFO, "%s acts", (const char *)payload);
    return RGM_OK;
}

typedef struct talking_run {
    talker talker;
    rgm_trainer *trainer;
    rgm_controller *controller;
    char folder[200];
} talking_run;

static void open_run(talking_run *run, plane_setup *s, const char *root, const char *name)
{
    const rgm_action action = {.name = "tell", .run = tell_from_action, .payload = (void *)name};
    rgm_task task;
    rgm_trainer_setup made = {.task = &task,
                              .options = &s->options,
                              .runtime = &s->runtime,
                              .optimizer = &s->optimizer,
                              .endless = true};
    rgm_controller_setup setup = {
        .options = &s->options, .train_actions = &action, .train_action_count = 1};

    run->talker = (talker){.plane = s->data, .name = name};
    task = plane_task(&run->talker.plane);
    task.build_inputs = talking_inputs;
    snprintf(run->folder, sizeof run->folder, "%s/%s", root, name);
    CHECK_OK(rgm_trainer_create(&run->trainer, &made));
    setup.trainer = run->trainer;
    setup.run_dir = run->folder;
    CHECK_OK(rgm_controller_create(&run->controller, &setup));
}

static int64_t count(const char *text, const char *what)
{
    int64_t found = 0;

    for (text = strstr(text, what); text != NULL; text = strstr(text + 1, what))
        found++;
    return found;
}

static void check_log(const talking_run *run, int64_t steps, const char *other)
{
    const char *const kinds[] = {"maps", "reads", "acts"};
    char path[256], what[64], *text;
    int64_t size;

    snprintf(path, sizeof path, "%s/log.txt", run->folder);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    for (int k = 0; k < 3; k++) {
        snprintf(what, sizeof what, " info %s %s", run->talker.name, kinds[k]);
        CHECK(count(text, what) >= 3);
    }
    CHECK_INT(steps, count(text, " info train | step:"));
    CHECK_INT(3, count(text, " info  eval | step:"));
    snprintf(what, sizeof what, "%s ", other);
    CHECK_INT(0, count(text, what));
    CHECK_INT(0, count(text, "between"));
    rgm_free(text);
}

static void runs_in_turn_keep_their_logs_apart(void **state)
{
    char root[128];
    plane_setup s = make_plane_setup();
    talking_run left, right;
    const rgm_logs *logs;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    open_run(&left, &s, root, "left");
    open_run(&right, &s, root, "right");
    for (int64_t step = 1; step <= 3; step++) {
        CHECK_OK(rgm_controller_train(left.controller, step));
        CHECK_OK(rgm_controller_train(right.controller, step));
        CHECK_OK(rgm_controller_evaluate(left.controller, RGM_VALID, RGM_TO_END, &logs));
        rgm_log_write(RGM_LOG_INFO, "between");
        CHECK_OK(rgm_controller_evaluate(right.controller, RGM_VALID, RGM_TO_END, &logs));
    }
    CHECK(rgm_logger_current() == NULL);
    rgm_controller_release(
        left.controller); /* its pipeline continues until its trainer is released */
    CHECK_OK(rgm_controller_train(right.controller, 4));
    rgm_controller_release(right.controller);
    rgm_trainer_release(left.trainer);
    rgm_trainer_release(right.trainer);
    check_log(&left, 3, "right");
    check_log(&right, 4, "left");
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

static void count_messages(int level, const char *message, void *payload)
{
    (void)level;
    (void)message;
    ++*(int64_t *)payload;
}

static rgm_status tell_from_exporter(const rgm_open_run *run, const char *folder, void *payload)
{
    (void)run;
    (void)folder;
    rgm_log_write(RGM_LOG_INFO, "%s exports", (const char *)payload);
    return RGM_OK;
}

/* Also final metrics and exports, which are made outside the controller. */
static void all_that_a_run_writes_until_its_end_is_in_its_log(void **state)
{
    char root[128], run_dir[200], path[256], *text;
    plane_setup s = make_plane_setup();
    talker own = {.plane = s.data, .name = "only"};
    rgm_task task = plane_task(&own.plane);
    const rgm_exporter exporter = {
        .name = "tell", .save = tell_from_exporter, .payload = (void *)own.name};
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;
    rgm_open_run *run;
    int64_t size, before, written = 0;

    (void)state;
    snprintf(root, sizeof root, "%s", check_fast_folder());
    snprintf(run_dir, sizeof run_dir, "%s/run", root);
    task.build_inputs = talking_inputs;
    options.trainer = s.options;
    options.runtime = s.runtime;
    options.trainer.train_steps = 3;
    options.run_dir = run_dir;
    options.exporters = &exporter;
    options.exporter_count = 1;
    CHECK_OK(rgm_run_open(&run, &task, &options));
    snprintf(path, sizeof path, "%s/log.txt", run_dir);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    before = count(text, "\n");
    rgm_free(text);
    CHECK_OK(rgm_logger_add_sink(NULL, count_messages, &written));
    CHECK_OK(rgm_run_complete(run));
    CHECK_OK(rgm_run_export(run, NULL));
    CHECK(rgm_logger_current() == NULL);
    rgm_logger_remove_sink(NULL, count_messages, &written);
    rgm_run_close(run);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    CHECK_INT(2, count(text, "only exports"));
    /* A pass over a part maps twelve items; prefetching may have been about to write. */
    CHECK(written > 24 && count(text, "\n") >= before + written - 2);
    rgm_free(text);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(root));
}

typedef struct rate_seen {
    rgm_trainer *trainer;
    double items_a_step;
} rate_seen;

static bool stops_at_seven(void *payload)
{
    return rgm_trainer_global_step(((rate_seen *)payload)->trainer) == 7;
}

static void note_rate(const rgm_event *event, void *payload)
{
    rate_seen *seen = payload;

    if (event->kind == RGM_EVENT_LOOP_END && rgm_logs_has(event->logs, "steps_per_second"))
        seen->items_a_step = rgm_logs_get(event->logs, "examples_per_second") /
                             rgm_logs_get(event->logs, "steps_per_second");
}

/* A loop of 10 steps of 4 items, stopped after 7: the second start has seen 12 items, not 40. */
static void a_rate_counts_what_was_seen_since_the_start(void **state)
{
    char folder[128];
    plane_setup s = make_plane_setup();
    rate_seen seen = {.items_a_step = NAN};
    rgm_controller_hooks hooks = {
        .should_stop = stops_at_seven, .event = note_rate, .payload = &seen};
    rgm_controller_setup setup = {.options = &s.options, .run_dir = folder, .hooks = &hooks};

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_fast_folder());
    s.options.steps_per_loop = 10;
    for (int start = 0; start < 2; start++) {
        rgm_controller *controller;

        CHECK_OK(open_plane(&seen.trainer, &s));
        setup.trainer = seen.trainer;
        CHECK_OK(rgm_controller_create(&controller, &setup));
        CHECK_STATUS(start == 0 ? RGM_STOPPED : RGM_OK, rgm_controller_train(controller, 10));
        rgm_controller_release(controller);
        rgm_trainer_release(seen.trainer);
        hooks.should_stop = NULL;
    }
    CHECK(fabs(seen.items_a_step - 4) < 1e-6);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(folder));
}

static char *load_in(const char *folder, const char *name)
{
    char path[256], *text;
    int64_t size;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 22));
    return text;
}

/* 32 lines, 32 of every second loop, 32 of every fourth, then of every eighth. */
static void a_long_run_has_a_bounded_log(void **state)
{
    char folder[128], *text;
    plane_setup s = make_plane_setup();
    rgm_controller_setup setup = {.options = &s.options, .run_dir = folder};
    rgm_controller *controller;
    rgm_trainer *trainer;

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_fast_folder());
    s.options.steps_per_loop = 1;
    CHECK_OK(open_plane(&trainer, &s));
    setup.trainer = trainer;
    CHECK_OK(rgm_controller_create(&controller, &setup));
    CHECK_OK(rgm_controller_train(controller, 400));
    rgm_controller_release(controller);
    rgm_trainer_release(trainer);
    text = load_in(folder, "log.txt");
    CHECK_INT(32 + 32 + 32 + 22, count(text, " info train | step:"));
    CHECK_INT(1, count(text, " train | step:    393 |"));
    CHECK_INT(0, count(text, " train | step:    395 |"));
    CHECK_INT(1, count(text, " info checkpoint | step:    400"));
    CHECK_INT(1, count(text, " info end | step:    400 | "));
    rgm_free(text);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(folder));
}

/* A plane with test data, and warnings of before its run is open. */
static rgm_status tested_inputs(rgm_dataset **out, void *state, rgm_mode mode, bool endless)
{
    if (mode == RGM_TEST)
        rgm_log_write(RGM_LOG_WARNING, "two rows are left out");
    return plane_inputs(out, state, mode == RGM_TEST ? RGM_VALID : mode, endless);
}

static const rgm_json *in(const rgm_json *json, const char *a, const char *b)
{
    json = rgm_json_find(json, a);
    return b != NULL ? rgm_json_find(json, b) : json;
}

static void check_result(const char *folder, const char *how, const char *part)
{
    char *text = load_in(folder, "result.json");
    double accuracy = -1, loss = -1;
    int64_t step = -1;
    rgm_json *json;

    CHECK_OK(rgm_json_parse(&json, text, (int64_t)strlen(text), "result.json"));
    CHECK_TEXT(how, rgm_json_text(in(json, "state", NULL)));
    CHECK(rgm_json_int(&step, in(json, "step", NULL)));
    CHECK_INT(6, step);
    CHECK(rgm_json_number(&loss, in(json, "best", "value")));
    CHECK_TEXT("valid.loss", rgm_json_text(in(json, "best", "metric")));
    CHECK(rgm_json_number(&accuracy, rgm_json_find(in(json, "final", part), "accuracy")));
    CHECK(accuracy > 0 && isfinite(loss));
    CHECK_TEXT("two rows are left out",
               rgm_json_text(rgm_json_at(in(json, "warnings", "first"), 0)));
    rgm_json_release(json);
    rgm_free(text);
}

static void what_a_run_has_found_out_is_kept(void **state)
{
    char folder[128], *metrics[2], *log;
    plane_setup s = make_plane_setup();
    rgm_task task = plane_task(&s.data);
    rgm_run_options options = RGM_RUN_OPTIONS_INIT;
    rgm_open_run *run;

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_fast_folder());
    task.build_inputs = tested_inputs;
    options.trainer = s.options;
    options.runtime = s.runtime;
    options.trainer.train_steps = 6;
    options.run_dir = folder;
    for (int start = 0; start < 2; start++) { /* again: the same bytes */
        CHECK_OK(rgm_run_open(&run, &task, &options));
        CHECK_OK(rgm_run_complete(run));
        rgm_run_close(run);
        check_result(folder, "finished", "test");
        metrics[start] = load_in(folder, "metrics.jsonl");
        CHECK_INT(1, count(metrics[start], "{\"split\":\"test\",\"step\":6,"));
    }
    CHECK_TEXT(metrics[0], metrics[1]);
    log = load_in(folder, "log.txt");
    CHECK_INT(2, count(log, " warning two rows are left out\n"));
    CHECK_INT(2, count(log, " info  test | step:      6 | loss "));
    CHECK_INT(2, count(log, " info end | step:      6 | finished after "));
    CHECK_INT(1, count(log, " info restore | step:      6 |"));
    rgm_free(log);
    rgm_free(metrics[0]);
    rgm_free(metrics[1]);
    clear_plane(&s.data);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(a_long_run_has_a_bounded_log),
      cmocka_unit_test(what_a_run_has_found_out_is_kept),
      cmocka_unit_test(a_rate_counts_what_was_seen_since_the_start),
      cmocka_unit_test(runs_in_turn_keep_their_logs_apart),
      cmocka_unit_test(all_that_a_run_writes_until_its_end_is_in_its_log))
