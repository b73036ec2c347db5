/*
 * Searches that are changed while they go on and after their ends: more trials, points, bounds,
 * trials that end on request, earlier searches to learn of. Masters are killed between the steps.
 */
#include "master_check.h"
#include <signal.h>
#include <sys/wait.h>

static char folder[128];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("FAKE_TRIAL_BUSY");
    unsetenv("FAKE_TRIAL_MS");
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

#define RANDOM(trials) "{name: random, metric: valid.loss, max_steps: 3, max_trials: " #trials "}"
#define TWO_AT_A_TIME(trials)                                                                      \
    "{name: random, metric: valid.loss, max_steps: 3, max_concurrent_trials: 2, "                  \
    "max_trials: " #trials "}"

static void tell_killed(const char *path, const char *body, int status)
{
    pid_t pid = fork();
    int how;

    CHECK(pid >= 0);
    if (pid == 0) { /* a master that is killed as soon as it has answered */
        rgm_master *master = open_master(folder, 2);
        rgm_response r;

        rgm_master_handle(
            &r, master,
            &(rgm_request){
                .method = "POST", .path = path, .body = body, .size = (int64_t)strlen(body)});
        if (r.status != status) {
            fprintf(stderr, "%s: %d %s\n", path, r.status, r.body.data);
            _exit(1);
        }
        raise(SIGKILL);
    }
    CHECK_INT(pid, waitpid(pid, &how, 0));
    CHECK(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
}

static void expect(rgm_master *master, const char *path, const char *name, const char *value)
{
    rgm_json *answer = ask(master, 200, "GET", path, NULL);

    CHECK_TEXT(value, text_member(answer, name));
    rgm_json_release(answer);
}

static void expect_count(rgm_master *master, const char *path, const char *name, int64_t value)
{
    rgm_json *answer = ask(master, 200, "GET", path, NULL);

    CHECK_INT(value, int_member(answer, name));
    rgm_json_release(answer);
}

/* What a search of that file comes to by itself, as experiment 1 of a folder of its own. */
static char *undisturbed(const char *searcher, const char *more)
{
    char own[160], *came_to;
    rgm_master_options options = {.folder = own,
                                  .slots = 2,
                                  .threads_per_slot = 1,
                                  .trial_command = fake_command(),
                                  .subject = &rgm_trial_subject};
    rgm_master *master;

    snprintf(own, sizeof own, "%s/alone", folder);
    CHECK_OK(rgm_master_open(&master, &options));
    create_experiment(master, searcher, more);
    serve_all(master, 60);
    came_to = summary(master, 1);
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(own));
    return came_to;
}

/* ---- more trials ---------------------------------------------------------------------------- */

#define CHANGE "/api/v1/experiments/1/change"
#define SIX    "{\"set\": {\"searcher.max_trials\": 6}}"

/* Whoever looks into the folder sees the search that goes on, and no trial warns of another. */
static void its_file_is_the_changed_one(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char path[200], *text;
    int64_t size;

    (void)state;
    create_experiment(master, RANDOM(3), "");
    tell(master, 200, "POST", CHANGE, SIX);
    snprintf(path, sizeof path, "%s/1/experiment.yaml", folder);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    CHECK(strstr(text, "max_trials: 6") != NULL);
    rgm_free(text);
    rgm_master_close(master);
}

/* Over, then changed by a master that is killed, and once more: the trials of a search of six. */
static void a_search_that_is_over_goes_on_with_more_trials(void **state)
{
    char *whole = undisturbed(RANDOM(6), ""), *came_to;
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM(3), "");
    serve_all(master, 60);
    expect(master, "/api/v1/experiments/1", "state", "COMPLETED");
    tell(master, 409, "POST", CHANGE, "{\"set\": {\"searcher.max_trials\": 2}}");
    expect(master, "/api/v1/experiments/1", "state", "COMPLETED"); /* nothing was done */
    rgm_master_close(master);
    tell_killed(CHANGE, "{\"set\": {\"searcher.max_trials\": \"5\"}}", 200);
    master = open_master(folder, 2);
    expect(master, "/api/v1/experiments/1", "state", "ACTIVE");
    serve_all(master, 60);
    rgm_master_close(master);
    tell_killed(CHANGE, SIX, 200);
    master = open_master(folder, 2);
    serve_all(master, 60);
    expect(master, "/api/v1/experiments/1", "state", "COMPLETED");
    expect_count(master, "/api/v1/experiments/1/changes", "total", 2);
    rgm_json *config = ask(master, 200, "GET", "/api/v1/experiments/1/config", NULL);
    CHECK(strstr(text_member(config, "config"), "max_trials: 6") != NULL);
    CHECK(strstr(text_member(config, "original"), "max_trials: 3") != NULL);
    rgm_json_release(config);
    came_to = summary(master, 1);
    CHECK_TEXT(whole, came_to);
    rgm_free(whole);
    rgm_free(came_to);
    rgm_master_close(master);
}

static bool has_batches(rgm_master *master, void *payload)
{
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    bool has = int_member(e, "batches") >= *(int64_t *)payload;

    rgm_json_release(e);
    return has;
}

static void a_search_is_changed_while_it_goes_on(void **state)
{
    char *whole = undisturbed(TWO_AT_A_TIME(6), ""), *came_to;
    rgm_master *master = open_master(folder, 2);
    int64_t some = 40;

    (void)state;
    create_experiment(master, TWO_AT_A_TIME(4), "");
    CHECK_OK(rgm_master_serve(master, has_batches, &some));
    rgm_master_close(master);
    tell_killed(CHANGE, SIX, 200);
    master = open_master(folder, 2);
    serve_all(master, 60);
    came_to = summary(master, 1);
    CHECK_TEXT(whole, came_to);
    rgm_free(whole);
    rgm_free(came_to);
    rgm_master_close(master);
}

/* Of 4 trials two rungs are planned, of 20 three: those that were there stay. */
static void halving_keeps_its_rungs(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(
        master, "{name: adaptive_asha, metric: valid.loss, max_steps: 16, max_trials: 4}", "");
    serve_all(master, 60);
    rgm_master_close(master);
    tell_killed(CHANGE, "{\"set\": {\"searcher.max_trials\": 20}}", 200);
    master = open_master(folder, 2);
    rgm_json *plan = ask(master, 200, "GET", "/api/v1/experiments/1/search", NULL);
    CHECK(strstr(text_member(plan, "plan"), "20 trials") != NULL);
    CHECK(strstr(text_member(plan, "plan"), "rungs at 4 (20), 16 (5)") != NULL);
    rgm_json_release(plan);
    serve_all(master, 120);
    expect_count(master, "/api/v1/experiments/1", "trials_by_state.COMPLETED", 20);
    rgm_master_close(master);
}

/* A search whose time was over has more of it: its trials go on where they were. Workloads take so
 * long that it has not reached its end. */
static void check_more_time(const char *searcher, const char *ms)
{
    char *whole = undisturbed(searcher, "limits: {search_seconds: 1000}\n"), *came_to;
    rgm_master *master = open_master(folder, 1);

    setenv("FAKE_TRIAL_MS", ms, 1);
    create_experiment(master, searcher, "limits: {search_seconds: 1}\n");
    serve_all(master, 60);
    expect(master, "/api/v1/experiments/1", "message",
           "its time is over: limits.search_seconds is 1");
    unsetenv("FAKE_TRIAL_MS");
    tell(master, 200, "POST", CHANGE, "{\"set\": {\"limits.search_seconds\": 1000}}");
    serve_all(master, 60);
    expect(master, "/api/v1/experiments/1", "state", "COMPLETED");
    expect(master, "/api/v1/experiments/1", "message", "(none)");
    came_to = summary(master, 1);
    CHECK_TEXT(whole, came_to);
    rgm_free(whole);
    rgm_free(came_to);
    tell(master, 409, "POST", CHANGE, "{\"set\": {\"limits.search_seconds\": 2000}}");
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));
    CHECK_OK(rgm_folder_make(folder));
}

static void a_search_whose_time_was_over_goes_on(void **state)
{
    (void)state;
    check_more_time(RANDOM(6), "150");
}

/* Searchers that take no other change. */
static void a_planned_search_whose_time_was_over_goes_on(void **state)
{
    (void)state;
    check_more_time("{name: adaptive_simple, metric: valid.loss, max_steps: 8, max_trials: 6, "
                    "max_rungs: 2}",
                    "150");
    check_more_time("{name: pbt, metric: valid.loss, population_size: 3, num_rounds: 3, "
                    "steps_per_round: 2, replace_function: {truncate_fraction: 0.4}}",
                    "150");
    check_more_time("{name: pbt, metric: valid.loss, population_size: 3, num_rounds: 3, "
                    "steps_per_round: 2, replace_function: {truncate_fraction: 0.4}}",
                    "70");
}

/* ---- bounds --------------------------------------------------------------------------------- */

#define RATE "hyperparameters.optimizer.learning_rate"

static void bounds_are_changed_and_trials_keep_their_values(void **state)
{
    rgm_master *master = open_master(folder, 2);
    int64_t some = 20, outside = 0, created;

    (void)state;
    setenv("FAKE_TRIAL_MS", "20", 1);
    create_experiment(master, TWO_AT_A_TIME(10), "");
    CHECK_OK(rgm_master_serve(master, has_batches, &some)); /* two are at work */
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    created = int_member(e, "trials");
    rgm_json_release(e);
    tell(master, 422, "POST", CHANGE, "{\"set\": {\"" RATE ".minval\": 0}}");
    tell(master, 422, "POST", CHANGE, "{\"set\": {\"" RATE ".type\": \"double\"}}");
    rgm_master_close(master);
    tell_killed(CHANGE, "{\"set\": {\"" RATE ".maxval\": -3.5, \"" RATE ".minval\": -4}}", 200);
    master = open_master(folder, 2);
    serve_all(master, 60);
    expect_count(master, "/api/v1/experiments/1", "trials_by_state.COMPLETED", 10);
    rgm_json *trials = ask(master, 200, "GET", "/api/v1/experiments/1/trials", NULL);
    for (int64_t i = 0; i < 10; i++) {
        const rgm_json *t = rgm_json_at(member(trials, "trials"), i);
        double rate;

        CHECK(rgm_json_number(&rate,
                              member(member(t, "hyperparameters.optimizer"), "learning_rate")));
        outside += rate > 0.000317;
        CHECK(i < created || rate <= 0.000317);
    }
    CHECK(outside > 0);
    rgm_json_release(trials);
    rgm_master_close(master);
}

/* ---- a point -------------------------------------------------------------------------------- */

static bool thirteenth_is_over(rgm_master *master, void *payload)
{
    rgm_json *trial = ask(master, 200, "GET", "/api/v1/trials/13", NULL);
    bool over = strcmp(text_member(trial, "state"), "COMPLETED") == 0;

    if (rgm_now() > *(double *)payload)
        fail_msg("trial 13 is not over in time: it is %s at %lld batches: %s",
                 text_member(trial, "state"), (long long)int_member(trial, "batches"),
                 text_member(trial, "message"));
    rgm_json_release(trial);
    return over;
}

static void a_point_starts_before_those_that_wait(void **state)
{
    rgm_master *master = open_master(folder, 1);
    double until = rgm_now() + 20;

    (void)state;
    create_experiment(master, RANDOM(12), "");
    rgm_master_close(master);
    tell_killed("/api/v1/experiments/1/try", "{\"values\": {\"optimizer.learning_rate\": 0.02}}",
                200);
    master = open_master(folder, 1);
    expect_count(master, "/api/v1/experiments/1", "trials", 13);
    CHECK_OK(rgm_master_serve(master, thirteenth_is_over, &until));
    expect(master, "/api/v1/trials/12", "state", "ACTIVE");
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/13", NULL);
    double rate;
    CHECK(rgm_json_number(&rate, member(member(t, "hyperparameters.optimizer"), "learning_rate")));
    CHECK(rate == 0.02);
    rgm_json_release(t);
    serve_all(master, 60);
    expect_count(master, "/api/v1/experiments/1", "trials_by_state.COMPLETED", 13);
    rgm_master_close(master);
}

/* Fewer trials than are left for the points that wait, or more points, would leave one out without
 * a word. */
static void a_point_that_waits_keeps_its_place(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, TWO_AT_A_TIME(4), "");
    tell(master, 200, "POST", "/api/v1/experiments/1/try",
         "{\"values\": {\"optimizer.learning_rate\": 0.01}}");
    rgm_json *refused = ask(master, 422, "POST", "/api/v1/experiments/1/change",
                            "{\"set\": {\"searcher.max_trials\": 2}}");
    CHECK(strstr(text_member(refused, "message"), "1 point of experiment 1 waits to be tried: "
                                                  "searcher.max_trials is to be 1 higher") != NULL);
    rgm_json_release(refused);
    refused = ask(master, 422, "POST", "/api/v1/experiments/1/change",
                  "{\"set\": {\"searcher.points\": \"[{optimizer.learning_rate: 0.01}, "
                  "{optimizer.learning_rate: 0.02}, {optimizer.learning_rate: 0.03}]\"}}");
    CHECK(strstr(text_member(refused, "message"), "3 points of experiment 1 wait to be tried: "
                                                  "searcher.max_trials is to be 1 higher") != NULL);
    rgm_json_release(refused);
    tell(master, 200, "POST", "/api/v1/experiments/1/change",
         "{\"set\": {\"searcher.max_trials\": 3}}");
    tell(master, 200, "POST", "/api/v1/trials/1/stop", NULL);
    serve_all(master, 60);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/3", NULL);
    double rate = 0;
    rgm_json_number(&rate, member(member(t, "hyperparameters.optimizer"), "learning_rate"));
    CHECK(rate == 0.01);
    rgm_json_release(t);
    rgm_master_close(master);
}

static void a_point_takes_up_a_search_that_is_over(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, TWO_AT_A_TIME(2), "");
    serve_all(master, 60);
    tell(master, 422, "POST", "/api/v1/experiments/1/try",
         "{\"values\": {\"optimizer.learning_rate\": 7}}");
    tell(master, 422, "POST", "/api/v1/experiments/1/try", "{\"values\": {\"rate\": 0.1}}");
    tell(master, 404, "POST", "/api/v1/experiments/1/try", "{\"values\": {}, \"like\": 9}");
    tell(master, 404, "POST", "/api/v1/experiments/2/try", "{\"values\": {}}");
    rgm_json *made = ask(master, 200, "POST", "/api/v1/experiments/1/try",
                         "{\"values\": {\"optimizer.learning_rate\": \"0.01\"}}");
    CHECK_INT(3, int_member(made, "number"));
    rgm_json_release(made);
    serve_all(master, 60);
    tell(master, 200, "POST", "/api/v1/experiments/1/try", "{\"values\": {}, \"like\": 3}");
    serve_all(master, 60);
    expect_count(master, "/api/v1/experiments/1", "trials_by_state.COMPLETED", 4);
    rgm_master_close(master);
}

/* ---- the end of one trial ------------------------------------------------------------------- */

/* It is in its first step when it is told; a master that is killed meanwhile changes nothing. */
static void a_trial_that_is_stopped_counts_as_what_it_reached(void **state)
{
    rgm_master *master = open_master(folder, 2);
    working_master w;
    char busy[160];

    (void)state;
    snprintf(busy, sizeof busy, "%s/busy", folder);
    setenv("FAKE_TRIAL_BUSY", busy, 1);
    create_experiment(master, TWO_AT_A_TIME(3), "");
    begin_work(&w, master);
    for (int i = 0; i < 1000; i++) { /* until both are at work */
        rgm_json *running = ask(master, 200, "GET", "/api/v1/running", NULL);
        int64_t count = rgm_json_count(member(running, "running"));

        rgm_json_release(running);
        if (count == 2)
            break;
        usleep(10000);
    }
    tell(master, 200, "POST", "/api/v1/trials/1/stop", NULL);
    tell(master, 200, "POST", "/api/v1/trials/1/stop", NULL); /* as often as one likes */
    CHECK_OK(rgm_file_save(busy, "", 0));
    end_work(&w);
    rgm_master_close(master);
    master = open_master(folder, 2);
    serve_all(master, 60);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(t, "state"));
    CHECK_TEXT("stopped on request at 10 batches", text_member(t, "message"));
    CHECK_INT(10, int_member(t, "batches"));
    CHECK_INT(0, int_member(t, "restarts"));
    rgm_json_release(t);
    expect_count(master, "/api/v1/trials/1/validations", "total", 1);
    expect_count(master, "/api/v1/trials/2/steps", "total", 3);
    rgm_json *events = ask(master, 200, "GET", "/api/v1/experiments/1/events", NULL);
    bool told = false;
    for (int64_t i = 0; i < rgm_json_count(member(events, "events")); i++) {
        const rgm_json *event = rgm_json_at(member(events, "events"), i);

        if (strcmp(text_member(event, "kind"), "ended") == 0) {
            told = true;
            CHECK_INT(1, int_member(event, "length"));
            CHECK_INT(1, rgm_json_count(member(event, "metrics")));
        }
    }
    CHECK(told);
    rgm_json_release(events);
    tell(master, 409, "POST", "/api/v1/trials/1/stop", NULL);
    rgm_master_close(master);
}

/* It waits for its turn, and has done nothing; and one that has done two of its steps. */
static void a_trial_without_a_process_is_stopped(void **state)
{
    rgm_master *master = open_master(folder, 1);
    int64_t some = 20;

    (void)state;
    setenv("FAKE_TRIAL_MS", "100", 1);
    create_experiment(master, RANDOM(3), "");
    CHECK_OK(rgm_master_serve(master, has_batches, &some));
    rgm_master_close(master);
    unsetenv("FAKE_TRIAL_MS");
    tell_killed("/api/v1/trials/1/stop", "{}", 200);
    tell_killed("/api/v1/trials/3/stop", "{}", 200);
    master = open_master(folder, 1);
    expect(master, "/api/v1/trials/3", "state", "CANCELED");
    serve_all(master, 60);
    expect(master, "/api/v1/experiments/1", "state", "COMPLETED");
    expect(master, "/api/v1/trials/1", "state", "COMPLETED");
    expect_count(master, "/api/v1/trials/2", "batches", 30);
    rgm_master_close(master);
}

/* ---- an earlier search ---------------------------------------------------------------------- */

#define LEARNS(source)                                                                             \
    "{name: random, metric: valid.loss, max_steps: 3, max_trials: 4, max_concurrent_trials: 1, "   \
    "sampler: {type: gp, startup_trials: 5}, source_experiment: " #source "}"

static void an_earlier_search_is_learned_of_after_it_is_gone(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char *first, *again;

    (void)state;
    create_experiment(master, RANDOM(12), "");
    serve_all(master, 60);
    CHECK_INT(2, create_experiment(master, LEARNS(1), ""));
    serve_all(master, 60);
    first = summary(master, 2);
    CHECK_INT(3, create_experiment(master, LEARNS(1), ""));
    expect_count(master, "/api/v1/experiments/3", "earlier", 12);
    tell(master, 200, "DELETE", "/api/v1/experiments/1", NULL);
    rgm_master_close(master);
    master = open_master(folder, 2);
    serve_all(master, 60);
    again = summary(master, 3);
    CHECK_TEXT(first, again);
    rgm_free(first);
    rgm_free(again);
    rgm_master_close(master);
}

static void a_search_that_cannot_be_learned_of_is_refused(void **state)
{
    static const struct {
        const char *searcher, *why;
    } files[] = {
        {LEARNS(9), "there is no experiment 9"},
        {LEARNS(1), "has no trial that was validated"},
        {"{name: random, metric: valid.loss, max_steps: 3, max_trials: 4, source_experiment: 1}",
         "for a sampler that learns"},
        {"{name: random, metric: valid.loss, max_steps: 3, max_trials: 4, sampler: sobol, "
         "source_experiment: 1}",
         "for a sampler that learns"},
        {"{name: random, metric: valid.loss, max_steps: 3, max_trials: 4, sampler: cma, "
         "max_concurrent_trials: 1, source_experiment: 1}",
         "tpe, gp, bohb or nsga2"},
    };
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM(3), "");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char *config = search_config(files[i].searcher, ""), *body = create_body(config, "");
        rgm_response r;

        rgm_master_handle(&r, master,
                          &(rgm_request){.method = "POST",
                                         .path = "/api/v1/experiments",
                                         .body = body,
                                         .size = (int64_t)strlen(body)});
        CHECK_INT(422, r.status);
        CHECK(strstr(r.body.data, files[i].why) != NULL);
        rgm_response_clear(&r);
        rgm_free(body);
        rgm_free(config);
    }
    rgm_master_close(master);
}

/* ---- a source that is gone ------------------------------------------------------------------- */

static void a_search_whose_source_is_gone_is_not_taken_up(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char path[100];

    (void)state;
    create_experiment(master, RANDOM(1), "");
    serve_all(master, 60);
    create_experiment(master,
                      "{name: random, metric: valid.loss, max_steps: 3, max_trials: 2, "
                      "source_trial_id: 1}",
                      "");
    rgm_json *list = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    snprintf(path, sizeof path, "/api/v1/checkpoints/%s", text_member(list, "checkpoints.0.uuid"));
    rgm_json_release(list);
    tell(master, 409, "DELETE", path, NULL);
    tell(master, 409, "DELETE", "/api/v1/experiments/1", NULL);
    serve_all(master, 60);
    tell(master, 200, "DELETE", "/api/v1/experiments/1", NULL);
    for (int restarted = 0; restarted < 2; restarted++) {
        rgm_json *refused = ask(master, 409, "POST", "/api/v1/experiments/2/change",
                                "{\"set\": {\"searcher.max_trials\": 4}}");

        CHECK(strstr(text_member(refused, "message"), "begin with is gone (/") != NULL);
        rgm_json_release(refused);
        tell(master, 409, "POST", "/api/v1/experiments/2/try",
             "{\"values\": {\"optimizer.learning_rate\": 0.02}}");
        expect(master, "/api/v1/experiments/2", "state", "COMPLETED");
        expect(master, "/api/v1/trials/3", "source_checkpoint_uuid", "(none)");
        rgm_master_close(master);
        master = open_master(folder, 2);
    }
    rgm_master_close(master);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TESTS(cmocka_unit_test_setup_teardown(its_file_is_the_changed_one, setup, teardown),
      TEST(a_search_that_is_over_goes_on_with_more_trials),
      TEST(a_search_is_changed_while_it_goes_on), TEST(halving_keeps_its_rungs),
      TEST(a_search_whose_time_was_over_goes_on),
      TEST(a_planned_search_whose_time_was_over_goes_on),
      TEST(bounds_are_changed_and_trials_keep_their_values),
      TEST(a_point_starts_before_those_that_wait), TEST(a_point_that_waits_keeps_its_place),
      TEST(a_point_takes_up_a_search_that_is_over),
      TEST(a_trial_that_is_stopped_counts_as_what_it_reached),
      TEST(a_trial_without_a_process_is_stopped),
      TEST(an_earlier_search_is_learned_of_after_it_is_gone),
      TEST(a_search_that_cannot_be_learned_of_is_refused),
      TEST(a_search_whose_source_is_gone_is_not_taken_up))
