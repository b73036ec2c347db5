/*
 * What stands in a trial's way and is not its own fault, and what is of no use to try again: starts
 * that fail, files of experiments that cannot be read, full disks, checkpoints that are gone,
 * metrics that are no numbers. One that cannot go on keeps no other waiting.
 */
#include "master_check.h"

#include <sqlite3.h>
#include <sys/stat.h>

static char folder[128], work_folder[160];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(work_folder, sizeof work_folder, "%s/work", folder);
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {
        "FAKE_TRIAL_FAIL",     "FAKE_TRIAL_HOPELESS", "FAKE_TRIAL_FULL", "FAKE_TRIAL_INFINITE",
        "FAKE_TRIAL_HANG",     "FAKE_TRIAL_MS",       "FAKE_TRIAL_BUSY", "FAKE_TRIAL_STAYS",
        "FAKE_TRIAL_UNLOADED", "FAKE_TRIAL_EXIT"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unsetenv(names[i]);
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

#define RANDOM_3 "{name: random, metric: valid.loss, max_trials: 3, max_steps: 3}"

/* Until an experiment is over, at most a minute. */
typedef struct end_of {
    int64_t id;
    double until;
} end_of;

static bool is_over(rgm_master *master, void *payload)
{
    const end_of *end = payload;
    rgm_work_state state = RGM_WORK_ACTIVE;
    char path[64];

    snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)end->id);
    rgm_json *e = ask(master, 200, "GET", path, NULL);
    CHECK(rgm_work_state_find(&state, text_member(e, "state")));
    rgm_json_release(e);
    if (rgm_now() > end->until)
        fail_msg("experiment %lld is not over in time", (long long)end->id);
    return rgm_work_is_over(state);
}

static void serve_until_over(rgm_master *master, int64_t id)
{
    CHECK_OK(rgm_master_serve(master, is_over, &(end_of){.id = id, .until = rgm_now() + 60}));
}

/* Until a trial waits with a reason that says this. */
typedef struct reason_of {
    int64_t trial;
    const char *says;
    double until;
} reason_of;

static bool is_told(rgm_master *master, void *payload)
{
    const reason_of *r = payload;
    rgm_json *queue = ask(master, 200, "GET", "/api/v1/queue", NULL);
    const rgm_json *items = member(queue, "queue");
    bool told = false;

    for (int64_t i = 0; i < rgm_json_count(items); i++)
        told = told || (int_member(rgm_json_at(items, i), "trial_id") == r->trial &&
                        strstr(text_member(rgm_json_at(items, i), "reason"), r->says) != NULL);
    rgm_json_release(queue);
    queue = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    told = told && (r->trial > 1 || strstr(text_member(queue, "waits"), r->says) != NULL);
    rgm_json_release(queue);
    if (rgm_now() > r->until)
        fail_msg("trial %lld does not say '%s' in time", (long long)r->trial, r->says);
    return told;
}

static void serve_until_told(rgm_master *master, int64_t trial, const char *says)
{
    reason_of r = {.trial = trial, .says = says, .until = rgm_now() + 60};

    CHECK_OK(rgm_master_serve(master, is_told, &r));
}

static void check_states(rgm_master *master, int64_t id, const char *state, int64_t completed)
{
    char path[64];

    snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)id);
    rgm_json *e = ask(master, 200, "GET", path, NULL);
    CHECK_TEXT(state, text_member(e, "state"));
    CHECK_INT(completed, completed > 0 ? int_member(e, "trials_by_state.COMPLETED") : 0);
    rgm_json_release(e);
}

static void change_database(const char *sql)
{
    char path[160];
    sqlite3 *connection;

    snprintf(path, sizeof path, "%s/master.db", folder);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &connection));
    CHECK_INT(SQLITE_OK, sqlite3_exec(connection, sql, NULL, NULL, NULL));
    sqlite3_close(connection);
}

/* ---- starts --------------------------------------------------------------------------------- */

static void create_in_a_folder_that_goes(rgm_master *master)
{
    char *config = search_config(RANDOM_3, ""), *body, more[256];

    CHECK_OK(rgm_folder_make(work_folder));
    snprintf(more, sizeof more, ", \"working_folder\": \"%s\"", work_folder);
    body = create_body(config, more);
    tell(master, 201, "POST", "/api/v1/experiments", body);
    CHECK_OK(rgm_folder_remove(work_folder));
    rgm_free(body);
    rgm_free(config);
}

static void an_experiment_whose_folder_is_gone_keeps_no_other_waiting(void **state)
{
    rgm_master *master = open_master(folder, 1);

    (void)state;
    create_in_a_folder_that_goes(master);
    create_experiment(master, RANDOM_3, "");
    serve_until_over(master, 2);
    check_states(master, 2, "COMPLETED", 3);
    check_states(master, 1, "ACTIVE", 0);
    serve_until_told(master, 1, "is not there");
    CHECK_OK(rgm_folder_make(work_folder));
    tell(master, 200, "POST", "/api/v1/experiments/1/activate", NULL); /* at once */
    serve_all(master, 60);
    check_states(master, 1, "COMPLETED", 3);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_INT(0, int_member(t, "restarts"));
    rgm_json_release(t);
    rgm_master_close(master);
}

static void a_trial_whose_folder_is_a_file_keeps_no_other_waiting(void **state)
{
    rgm_master *master = open_master(folder, 1);
    char path[160];

    (void)state;
    create_experiment(master, RANDOM_3, "");
    snprintf(path, sizeof path, "%s/1/1", folder);
    CHECK_OK(rgm_file_save(path, "", 0));
    create_experiment(master, RANDOM_3, "");
    serve_until_over(master, 2);
    serve_until_told(master, 1, path);
    rgm_json *trials = ask(master, 200, "GET", "/api/v1/experiments/1/trials", NULL);
    CHECK_TEXT("ACTIVE", text_member(trials, "trials.0.state"));
    CHECK_TEXT("COMPLETED", text_member(trials, "trials.1.state")); /* of its own experiment too */
    CHECK_TEXT("COMPLETED", text_member(trials, "trials.2.state"));
    rgm_json_release(trials);
    CHECK_INT(0, unlink(path));
    serve_all(master, 60);
    check_states(master, 1, "COMPLETED", 3);
    rgm_master_close(master);
}

/* As behind an upgrade: 1 and 2 have a searcher that there is not any more, and 1 a process of the
 * earlier master that ended. */
static void experiments_that_cannot_be_read_keep_no_other_waiting(void **state)
{
    rgm_master *master = open_master(folder, 1);

    (void)state;
    for (int i = 0; i < 3; i++)
        create_experiment(master, RANDOM_3, "");
    rgm_master_close(master);
    change_database("UPDATE experiments SET config = 'searcher: {name: gone}' WHERE id < 3;"
                    "UPDATE trials SET run_token = '0123456789abcdef0123456789abcdef',"
                    " run_slots = '0' WHERE id = 1");
    master = open_master(folder, 1);
    serve_until_over(master, 3);
    check_states(master, 3, "COMPLETED", 3);
    serve_until_told(master, 1, "searcher");
    tell(master, 500, "POST", "/api/v1/experiments/1/pause", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/2/cancel", NULL);
    check_states(master, 1, "CANCELED", 0);
    check_states(master, 2, "CANCELED", 0);
    tell(master, 200, "DELETE", "/api/v1/experiments/1", NULL);
    serve_all(master, 60);
    rgm_master_close(master);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void a_full_disk_is_no_failure_of_a_trial(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char path[160], *undisturbed, *got;

    (void)state;
    create_experiment(master, RANDOM_3, "max_restarts: 0\n");
    serve_all(master, 60);
    undisturbed = summary(master, 1);
    snprintf(path, sizeof path, "%s/full", folder);
    CHECK_OK(rgm_file_save(path, "", 0));
    setenv("FAKE_TRIAL_FULL", path, 1);
    create_experiment(master, RANDOM_3, "max_restarts: 0\n");
    serve_until_told(master, 4, "(2 tries so far): cannot write 'state': No space left on device");
    check_states(master, 2, "ACTIVE", 0);
    CHECK_INT(0, unlink(path));
    serve_all(master, 60);
    got = summary(master, 2);
    CHECK_TEXT(undisturbed, got);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/4", NULL);
    CHECK_INT(0, int_member(t, "restarts"));
    rgm_json_release(t);
    rgm_free(undisturbed);
    rgm_free(got);
    rgm_master_close(master);
}

/* A program that is replaced while a search runs cannot be loaded for a moment. */
static void a_program_that_cannot_be_loaded_is_no_failure_of_a_trial(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char path[160];

    (void)state;
    snprintf(path, sizeof path, "%s/unloaded", folder);
    CHECK_OK(rgm_file_save(path, "", 0));
    setenv("FAKE_TRIAL_UNLOADED", path, 1);
    create_experiment(master, RANDOM_3, "max_restarts: 0\n");
    serve_until_told(master, 1, "its program could not begin (exit code 127)");
    check_states(master, 1, "ACTIVE", 0);
    CHECK_INT(0, unlink(path));
    serve_all(master, 60);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(t, "state"));
    CHECK_INT(0, int_member(t, "restarts"));
    rgm_json_release(t);
    rgm_master_close(master);
}

static void what_cannot_be_opened_is_tried_once_and_says_why(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    setenv("FAKE_TRIAL_HOPELESS", "1", 1);
    create_experiment(master, RANDOM_3, "");
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("ERROR", text_member(e, "state"));
    CHECK_TEXT("none of its trials succeeded, and 3 failed; trial 1: there is no data for trial 1",
               text_member(e, "message"));
    rgm_json_release(e);
    e = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(3, int_member(e, "total")); /* one of each */
    rgm_json_release(e);
    rgm_master_close(master);
}

/* By its exit code a program says that no other try can succeed, or only that this one did not. */
static void an_exit_code_says_whether_to_try_again(void **state)
{
    static const struct {
        const char *code;
        int runs;
        const char *why;
    } ends[] = {
        {"2", 1, "its process ended with exit code 2, which says that no other try can succeed"},
        {"78", 1, "its process ended with exit code 78, which says"},
        {"3", 2, "failed 2 times, the last one: its process ended with exit code 3"},
    };
    rgm_master *master = open_master(folder, 2);
    char path[64];

    (void)state;
    for (int i = 0; i < 3; i++) {
        setenv("FAKE_TRIAL_EXIT", ends[i].code, 1);
        create_experiment(master, "{name: single, metric: valid.loss, max_steps: 3}",
                          "max_restarts: 1\n");
        serve_all(master, 60);
        snprintf(path, sizeof path, "/api/v1/trials/%d", i + 1);
        rgm_json *t = ask(master, 200, "GET", path, NULL);
        CHECK_TEXT("ERROR", text_member(t, "state"));
        CHECK(strncmp(ends[i].why, text_member(t, "message"), strlen(ends[i].why)) == 0);
        CHECK_INT(ends[i].runs, int_member(t, "restarts"));
        rgm_json_release(t);
    }
    rgm_master_close(master);
}

/* Every third trial cannot be opened: with replace_failed four others are trained. */
static void what_failed_for_good_gives_its_place_to_another(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    setenv("FAKE_TRIAL_HOPELESS", "3", 1);
    create_experiment(master,
                      "{name: random, metric: valid.loss, max_trials: 4, max_steps: 3, "
                      "max_concurrent_trials: 2, replace_failed: true}",
                      "");
    serve_all(master, 60);
    check_states(master, 1, "COMPLETED", 4);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_INT(5, int_member(e, "trials"));
    rgm_json_release(e);
    setenv("FAKE_TRIAL_HOPELESS", "1", 1); /* all: it is not tried without end */
    create_experiment(master,
                      "{name: random, metric: valid.loss, max_trials: 4, max_steps: 3, "
                      "max_concurrent_trials: 2, replace_failed: true}",
                      "");
    serve_all(master, 60);
    e = ask(master, 200, "GET", "/api/v1/experiments/2", NULL);
    CHECK_TEXT("ERROR", text_member(e, "state"));
    CHECK_INT(14, int_member(e, "trials"));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

static bool has_two_steps(rgm_master *master, void *payload)
{
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    bool has = int_member(t, "total") >= 2;

    rgm_json_release(t);
    if (rgm_now() > *(double *)payload)
        fail_msg("no two checkpoints in time");
    return has;
}

static void a_trial_without_its_newest_checkpoint_goes_on_from_an_older_one(void **state)
{
    static const char searcher[] = "{name: single, metric: valid.loss, max_steps: 6}";
    static const char more[] = "min_checkpoint_period: 1\nmax_restarts: 0\n";
    double until = rgm_now() + 60;
    rgm_master *master = open_master(folder, 1);
    char path[200], *undisturbed, *got;

    (void)state;
    create_experiment(master, searcher, more);
    serve_all(master, 60);
    undisturbed = summary(master, 1);
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));
    setenv("FAKE_TRIAL_MS", "20", 1);
    master = open_master(folder, 1);
    create_experiment(master, searcher, more);
    CHECK_OK(rgm_master_serve(master, has_two_steps, &until));
    rgm_json *list = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    int64_t count = int_member(list, "total");
    const rgm_json *newest = rgm_json_at(member(list, "checkpoints"), count - 1);
    snprintf(path, sizeof path, "%s/%s", folder, text_member(newest, "folder"));
    rgm_json_release(list);
    CHECK_OK(rgm_folder_remove(path));
    serve_all(master, 60);
    got = summary(master, 1);
    CHECK_TEXT(undisturbed, got);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_INT(0, int_member(t, "restarts"));
    rgm_json_release(t);
    rgm_free(undisturbed);
    rgm_free(got);
    rgm_master_close(master);
}

/* ---- the best ------------------------------------------------------------------------------- */

static void an_infinite_metric_is_never_the_best(void **state)
{
    rgm_master *master = open_master(folder, 1);
    double best = 0;

    (void)state;
    setenv("FAKE_TRIAL_INFINITE", "2", 1);
    create_experiment(master, RANDOM_3, "checkpoint_policy: best\n");
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK(int_member(e, "best_trial.number") != 2);
    CHECK(rgm_json_number(&best, member(e, "best_trial.best_metric")) && isfinite(best));
    rgm_json_release(e);
    e = ask(master, 200, "GET", "/api/v1/experiments/1/checkpoints?best=10", NULL);
    CHECK(rgm_json_count(member(e, "checkpoints")) > 0);
    for (int64_t i = 0; i < rgm_json_count(member(e, "checkpoints")); i++)
        CHECK(int_member(rgm_json_at(member(e, "checkpoints"), i), "number") != 2);
    rgm_json_release(e);
    e = ask(master, 200, "GET", "/api/v1/trials/2", NULL);
    CHECK(rgm_json_text(member(e, "metric")) != NULL); /* "-inf", as it was */
    CHECK(!rgm_json_number(&best, member(e, "best_metric")));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* Trial 1 is validated at two steps, and none of them is left behind its failure at the third. */
static void a_validation_that_was_rolled_back_is_no_best(void **state)
{
    double best;
    rgm_master *master = open_master(folder, 1);

    (void)state;
    setenv("FAKE_TRIAL_FAIL", "3", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                      "min_validation_period: 1\ncheckpoint_policy: none\nmax_restarts: 1\n");
    serve_all(master, 60);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("ERROR", text_member(t, "state"));
    CHECK(!rgm_json_number(&best, member(t, "best_metric")));
    CHECK(!rgm_json_number(&best, member(t, "metric")));
    rgm_json_release(t);
    t = ask(master, 200, "GET", "/api/v1/trials/1/validations", NULL);
    CHECK_INT(0, int_member(t, "total"));
    rgm_json_release(t);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK(!rgm_json_is_object(member(e, "best_trial")));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* It keeps what it had at the checkpoint, and the search goes on to choose checkpoints by it. */
static void a_best_before_the_checkpoint_stays(void **state)
{
    double best = 0, first = 1;
    rgm_master *master = open_master(folder, 1);

    (void)state;
    setenv("FAKE_TRIAL_FAIL", "3", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                      "min_validation_period: 1\ncheckpoint_policy: best\nmax_restarts: 1\n");
    serve_all(master, 60);
    rgm_json *v = ask(master, 200, "GET", "/api/v1/trials/1/validations", NULL);
    CHECK_INT(2, int_member(v, "total"));
    CHECK(rgm_json_number(&first, member(v, "validations.1.metric")));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK(rgm_json_number(&best, member(v, "best_metric")) && best == first);
    rgm_json_release(v);
    rgm_master_close(master);
}

/* ---- bounds on time ------------------------------------------------------------------------- */

static void a_process_that_says_nothing_is_ended_and_begins_again(void **state)
{
    rgm_master *master = open_master(folder, 1);

    (void)state;
    setenv("FAKE_TRIAL_HANG", "1", 1);
    create_experiment(master, RANDOM_3, "limits: {silent_seconds: 2}\nmax_restarts: 1\n");
    serve_all(master, 60);
    check_states(master, 1, "COMPLETED", 3);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_INT(1, int_member(t, "restarts"));
    rgm_json_release(t);
    t = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(4, int_member(t, "total")); /* two of the first trial */
    rgm_json_release(t);
    rgm_master_close(master);
}

static void a_process_that_hangs_each_time_fails_with_the_reason(void **state)
{
    rgm_master *master = open_master(folder, 1);

    (void)state;
    setenv("FAKE_TRIAL_HANG", "1", 1);
    create_experiment(master, RANDOM_3, "limits: {silent_seconds: 2}\nmax_restarts: 0\n");
    serve_all(master, 60);
    check_states(master, 1, "COMPLETED", 2);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("ERROR", text_member(t, "state"));
    CHECK(strstr(text_member(t, "message"), "has said nothing and used no processor for ") != NULL);
    CHECK(strstr(text_member(t, "message"), "limits.silent_seconds is 2") != NULL);
    rgm_json_release(t);
    rgm_master_close(master);
}

/* The master hears of a step that takes long; when it has, the step may end. */
static bool lets_it_end_when_heard(rgm_master *master, void *payload)
{
    rgm_json *jobs = ask(master, 200, "GET", "/api/v1/running", NULL);
    const rgm_json *p = member(jobs, "running.0");
    double at_work = 0, silent = 0;

    if (rgm_json_number(&at_work, member(p, "at_work")) &&
        rgm_json_number(&silent, member(p, "silent")) && silent < at_work - 0.01)
        CHECK_OK(rgm_file_save(getenv("FAKE_TRIAL_BUSY"), "", 0));
    rgm_json_release(jobs);
    return all_over(master, payload);
}

static void what_works_for_long_is_heard_of_and_goes_on(void **state)
{
    rgm_master *master = open_master(folder, 1);
    double until = rgm_now() + 60;
    char go[160];

    (void)state;
    snprintf(go, sizeof go, "%s/go", folder);
    setenv("FAKE_TRIAL_BUSY", go, 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}",
                      "limits: {silent_seconds: 8}\nmax_restarts: 0\n");
    CHECK_OK(rgm_master_serve(master, lets_it_end_when_heard, &until));
    CHECK(rgm_path_exists(go));
    check_states(master, 1, "COMPLETED", 1);
    rgm_master_close(master);
}

/* One that waits for a second for what is told to end. */
static rgm_master *open_impatient(void)
{
    rgm_master_options options = {.folder = folder,
                                  .slots = 1,
                                  .threads_per_slot = 1,
                                  .trial_command = fake_command(),
                                  .stop_seconds = 1,
                                  .subject = &rgm_trial_subject};
    rgm_master *master;

    CHECK_OK(rgm_master_open(&master, &options));
    return master;
}

static void a_process_that_does_not_end_holds_its_slots_no_longer(void **state)
{
    rgm_master *master = open_impatient();

    (void)state;
    setenv("FAKE_TRIAL_STAYS", "1", 1);
    create_experiment(master, RANDOM_3, "limits: {silent_seconds: 0}\nmax_restarts: 0\n");
    serve_all(master, 60);
    check_states(master, 1, "COMPLETED", 3); /* it had done all that was asked of it */
    rgm_master_close(master);
}

static void wait_for_first_step(rgm_master *master)
{
    int64_t steps = 0;

    for (int i = 0; i < 3000 && steps == 0; i++) {
        rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);

        steps = int_member(t, "steps");
        rgm_json_release(t);
        usleep(20000);
    }
    CHECK(steps > 0);
}

/* 10,000 steps of 20 ms: they would take minutes. Its time is bounded when it has made one. */
static void a_trial_that_takes_too_long_saves_and_ends(void **state)
{
    rgm_master *master = open_master(folder, 1);
    working_master w;

    (void)state;
    setenv("FAKE_TRIAL_MS", "20", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 10000}", "");
    begin_work(&w, master);
    wait_for_first_step(master);
    tell(master, 200, "POST", "/api/v1/experiments/1/change",
         "{\"set\": {\"limits.trial_seconds\": 0.5}}");
    for (int i = 0; i < 3000 && !all_over(master, NULL); i++)
        usleep(20000);
    end_work(&w);
    check_states(master, 1, "CANCELED", 0);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("CANCELED", text_member(t, "state"));
    CHECK_TEXT("its time is over: limits.trial_seconds is 0.5", text_member(t, "message"));
    CHECK_INT(0, int_member(t, "restarts"));
    int64_t steps = int_member(t, "steps");
    CHECK(steps > 0 && steps < 10000);
    rgm_json_release(t);
    t = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    CHECK_INT(steps, int_member(t, "checkpoints.0.step_id")); /* nothing is lost */
    rgm_json_release(t);
    rgm_master_close(master);
}

static void a_search_that_takes_too_long_ends_with_what_it_has(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    setenv("FAKE_TRIAL_MS", "20", 1);
    create_experiment(master, "{name: random, metric: valid.loss, max_trials: 2000, max_steps: 2}",
                      "limits: {search_seconds: 1}\n");
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    CHECK_TEXT("its time is over: limits.search_seconds is 1", text_member(e, "message"));
    CHECK(int_member(e, "trials_by_state.COMPLETED") > 0);
    CHECK(int_member(e, "trials_by_state.CANCELED") > 0);
    CHECK(int_member(e, "best_trial.number") > 0);
    rgm_json_release(e);
    rgm_master_close(master);
}

/* One hangs, one loops: neither asks for more, so that nobody could tell them to end. */
static void what_works_on_behind_the_end_of_its_search_is_ended(void **state)
{
    char never[160];

    (void)state;
    for (int loops = 0; loops < 2; loops++) {
        rgm_master *master = open_impatient();
        rgm_json *t;

        snprintf(never, sizeof never, "%s/never", folder);
        CHECK_INT(0,
                  loops ? setenv("FAKE_TRIAL_BUSY", never, 1) : setenv("FAKE_TRIAL_HANG", "1", 1));
        create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                          "limits: {search_seconds: 1, silent_seconds: 0}\n");
        serve_all(master, 60);
        t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
        CHECK_TEXT("CANCELED", text_member(t, "state"));
        CHECK_INT(0, int_member(t, "restarts"));
        rgm_json_release(t);
        t = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
        CHECK_TEXT("its time is over: limits.search_seconds is 1", text_member(t, "message"));
        rgm_json_release(t);
        rgm_master_close(master);
        unsetenv("FAKE_TRIAL_HANG");
        CHECK_OK(rgm_folder_remove(folder));
        CHECK_OK(rgm_folder_make(folder));
    }
}

/* Whoever does not want to wait for it. */
static bool kill_when_over(rgm_master *master, void *payload)
{
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);

    if (strcmp(text_member(e, "state"), "STOPPING_COMPLETED") == 0)
        tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    rgm_json_release(e);
    return all_over(master, payload);
}

static void a_search_that_ends_can_be_killed(void **state)
{
    rgm_master *master = open_master(folder, 1); /* which would wait for 20 s */
    double until = rgm_now() + 60, begin = rgm_now();

    (void)state;
    setenv("FAKE_TRIAL_HANG", "1", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                      "limits: {search_seconds: 1, silent_seconds: 0}\n");
    CHECK_OK(rgm_master_serve(master, kill_when_over, &until));
    check_states(master, 1, "CANCELED", 0);
    CHECK(rgm_now() - begin < 15);
    rgm_master_close(master);
}

static bool cancel_when_it_hangs(rgm_master *master, void *payload)
{
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    char hangs[200];

    snprintf(hangs, sizeof hangs, "%s/1/1/hung", folder);
    if (strcmp(text_member(e, "state"), "ACTIVE") == 0 && rgm_path_exists(hangs))
        tell(master, 200, "POST", "/api/v1/experiments/1/cancel", NULL);
    rgm_json_release(e);
    return all_over(master, payload);
}

/* It was told to end, and has not when stop_seconds are over. */
static void a_search_that_is_canceled_waits_for_none_that_hangs(void **state)
{
    rgm_master *master = open_impatient();
    double until = rgm_now() + 60;

    (void)state;
    setenv("FAKE_TRIAL_HANG", "1", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                      "limits: {silent_seconds: 0}\n");
    CHECK_OK(rgm_master_serve(master, cancel_when_it_hangs, &until));
    check_states(master, 1, "CANCELED", 0);
    rgm_master_close(master);
}

/* ---- alone ---------------------------------------------------------------------------------- */

static void a_search_that_is_served_alone_leaves_the_others(void **state)
{
    int64_t *left, count;
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM_3, "");
    create_experiment(master, RANDOM_3, "");
    tell(master, 200, "POST", "/api/v1/experiments/2/pause", NULL);
    create_experiment(master, RANDOM_3, "");
    CHECK_OK(rgm_master_serve_alone(&left, &count, master, 3));
    CHECK_INT(1, count);
    CHECK_INT(1, left[0]);
    rgm_free(left);
    serve_until_over(master, 3);
    serve_until_told(master, 1, "serves another search alone");
    rgm_json *runs = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(0, int_member(runs, "total"));
    rgm_json_release(runs);
    tell(master, 200, "POST", "/api/v1/experiments/1/activate", NULL);
    serve_until_over(master, 1);
    check_states(master, 1, "COMPLETED", 3);
    check_states(master, 2, "PAUSED", 0);
    rgm_master_close(master);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
TESTS(TEST(an_experiment_whose_folder_is_gone_keeps_no_other_waiting),
      TEST(a_trial_whose_folder_is_a_file_keeps_no_other_waiting),
      TEST(experiments_that_cannot_be_read_keep_no_other_waiting),
      TEST(a_full_disk_is_no_failure_of_a_trial),
      TEST(what_works_on_behind_the_end_of_its_search_is_ended),
      TEST(a_search_that_ends_can_be_killed),
      TEST(a_search_that_is_canceled_waits_for_none_that_hangs),
      TEST(a_program_that_cannot_be_loaded_is_no_failure_of_a_trial),
      TEST(what_cannot_be_opened_is_tried_once_and_says_why),
      TEST(an_exit_code_says_whether_to_try_again),
      TEST(what_failed_for_good_gives_its_place_to_another),
      TEST(a_trial_without_its_newest_checkpoint_goes_on_from_an_older_one),
      TEST(an_infinite_metric_is_never_the_best),
      TEST(a_process_that_says_nothing_is_ended_and_begins_again),
      TEST(a_process_that_hangs_each_time_fails_with_the_reason),
      TEST(what_works_for_long_is_heard_of_and_goes_on),
      TEST(a_process_that_does_not_end_holds_its_slots_no_longer),
      TEST(a_trial_that_takes_too_long_saves_and_ends),
      TEST(a_search_that_takes_too_long_ends_with_what_it_has),
      TEST(a_search_that_is_served_alone_leaves_the_others),
      TEST(a_validation_that_was_rolled_back_is_no_best), TEST(a_best_before_the_checkpoint_stays))
