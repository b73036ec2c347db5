/*
 * Masters as a whole: requests without one at work, experiments of fake trials from beginning to
 * end, states, failures, recovery.
 */
#include "master_check.h"
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>

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
    unsetenv("FAKE_TRIAL_FAIL");
    unsetenv("FAKE_TRIAL_MS");
    unsetenv("FAKE_TRIAL_INVALID");
    unsetenv("FAKE_TRIAL_REAL");
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

#define RANDOM_4 "{name: random, metric: valid.loss, max_trials: 4, max_steps: 3}"

static void a_search_of_four_trials_runs_to_its_end(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char path[128];

    (void)state;
    int64_t id = create_experiment(master, RANDOM_4, "");
    serve_all(master, 60);
    snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)id);
    rgm_json *e = ask(master, 200, "GET", path, NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    CHECK_INT(4, int_member(e, "trials"));
    CHECK_INT(4, int_member(e, "trials_by_state.COMPLETED"));
    CHECK_INT(120, int_member(e, "batches"));
    rgm_json_release(e);
    rgm_json *v = ask(master, 200, "GET", "/api/v1/trials/1/steps", NULL);
    CHECK_INT(3, int_member(v, "total"));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/experiments/1/checkpoints?best=1", NULL);
    CHECK_TEXT("COMPLETED", text_member(v, "checkpoints.0.state"));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL); /* each on one of two slots */
    CHECK_INT(4, int_member(v, "total"));
    CHECK(strspn(text_member(v, "runs.3.slots"), "01") == 1);
    CHECK(strcmp(text_member(v, "runs.3.start_time"), text_member(v, "runs.3.end_time")) < 0);
    rgm_json_release(v);
    rgm_master_close(master);
}

/* ---- states --------------------------------------------------------------------------------- */

static const char *state_of(rgm_master *master, int64_t id)
{
    static char text[64];
    char path[128];

    snprintf(path, sizeof path, "/api/v1/experiments/%lld", (long long)id);
    rgm_json *e = ask(master, 200, "GET", path, NULL);
    snprintf(text, sizeof text, "%s", text_member(e, "state"));
    rgm_json_release(e);
    return text;
}

static void states_follow_each_other_or_are_refused(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM_4, "");
    CHECK_TEXT("ACTIVE", state_of(master, 1));
    tell(master, 409, "POST", "/api/v1/experiments/1/archive", NULL);
    tell(master, 409, "DELETE", "/api/v1/experiments/1", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/pause", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/pause", NULL);
    CHECK_TEXT("PAUSED", state_of(master, 1));
    tell(master, 200, "POST", "/api/v1/experiments/1/activate", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/cancel", NULL);
    CHECK_TEXT("CANCELED", state_of(master, 1));
    tell(master, 409, "POST", "/api/v1/experiments/1/activate", NULL);
    tell(master, 409, "POST", "/api/v1/experiments/1/pause", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/archive", NULL);
    rgm_json *list = ask(master, 200, "GET", "/api/v1/experiments", NULL);
    CHECK_INT(0, int_member(list, "total"));
    rgm_json_release(list);
    tell(master, 200, "POST", "/api/v1/experiments/1/unarchive", NULL);
    tell(master, 200, "DELETE", "/api/v1/experiments/1", NULL);
    tell(master, 404, "GET", "/api/v1/experiments/1", NULL);
    tell(master, 404, "GET", "/api/v1/trials/1", NULL);
    CHECK_INT(2, create_experiment(master, RANDOM_4, "")); /* a number is never used again */
    tell(master, 200, "POST", "/api/v1/experiments/2/kill", NULL);
    CHECK_TEXT("CANCELED", state_of(master, 2));
    rgm_master_close(master);
}

static bool has_steps(rgm_master *master, void *payload)
{
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    bool has = int_member(e, "batches") >= *(int64_t *)payload;

    rgm_json_release(e);
    return has;
}

static void a_master_that_stops_leaves_checkpoints_to_go_on_from(void **state)
{
    int64_t some = 40;
    char *undisturbed, *got;
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM_4, "");
    serve_all(master, 60);
    undisturbed = summary(master, 1);
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));

    setenv("FAKE_TRIAL_MS", "20", 1);
    master = open_master(folder, 2);
    create_experiment(master, RANDOM_4, "");
    CHECK_OK(rgm_master_serve(master, has_steps, &some));
    CHECK_TEXT("ACTIVE", state_of(master, 1));
    rgm_json *about = ask(master, 200, "GET", "/api/v1/master", NULL);
    CHECK_INT(0, int_member(about, "processes"));
    CHECK_INT(0, int_member(about, "slots_taken"));
    rgm_json_release(about);
    rgm_json *trial = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    CHECK_INT(1, int_member(trial, "total"));
    rgm_json_release(trial);
    rgm_master_close(master);

    master = open_master(folder, 2);
    serve_all(master, 60);
    trial = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_INT(0, int_member(trial, "restarts"));
    rgm_json_release(trial);
    got = summary(master, 1);
    CHECK_TEXT(undisturbed, got);
    rgm_free(undisturbed);
    rgm_free(got);
    rgm_master_close(master);
}

static bool three_run(rgm_master *master, void *payload)
{
    rgm_json *running = ask(master, 200, "GET", "/api/v1/running", NULL);
    bool three = int_member(running, "total") == 3 && rgm_now() < *(double *)payload;

    rgm_json_release(running);
    return three;
}

/* Looked at between two turns, with three of eight trials on three slots: one to two by weight. */
static bool shares_are_told(rgm_master *master, void *payload)
{
    if (!three_run(master, payload))
        return false;
    rgm_json *shares = ask(master, 200, "GET", "/api/v1/shares", NULL);
    CHECK_INT(2, int_member(shares, "total"));
    CHECK_INT(1, int_member(shares, "shares.0.share"));
    CHECK_INT(1, int_member(shares, "shares.0.held"));
    CHECK_INT(4, int_member(shares, "shares.0.demand"));
    CHECK_INT(2, int_member(shares, "shares.1.share"));
    CHECK_INT(2, int_member(shares, "shares.1.held"));
    CHECK_INT(2, int_member(shares, "shares.1.waits"));
    CHECK_INT(3, int_member(shares, "shares.1.demand")); /* of four trials max_slots takes three */
    rgm_json_release(shares);
    rgm_json *running = ask(master, 200, "GET", "/api/v1/running?limit=2&offset=1", NULL);
    CHECK_INT(3, int_member(running, "total"));
    CHECK_INT(2, rgm_json_count(member(running, "running")));
    CHECK_INT(2, int_member(running, "running.0.experiment_id"));
    CHECK_INT(1, int_member(running, "running.0.number"));
    CHECK(strlen(text_member(running, "running.0.slots")) == 1);
    CHECK(strncmp("20", text_member(running, "running.0.start_time"), 2) == 0);
    CHECK_TEXT("local", text_member(running, "running.0.engine"));
    CHECK(rgm_json_text(member(running, "running.0.job_state")) == NULL);
    rgm_json_release(running);
    return true;
}

static void what_runs_and_the_shares_are_told(void **state)
{
    double until = rgm_now() + 60;
    rgm_master *master = open_master(folder, 3);

    (void)state;
    rgm_json *none = ask(master, 200, "GET", "/api/v1/running", NULL);
    CHECK_INT(0, int_member(none, "total"));
    rgm_json_release(none);
    setenv("FAKE_TRIAL_MS", "200", 1);
    create_experiment(master, RANDOM_4, "");
    create_experiment(master, RANDOM_4, "resources: {weight: 2, max_slots: 3}\n");
    CHECK_OK(rgm_master_serve(master, shares_are_told, &until));
    unsetenv("FAKE_TRIAL_MS");
    none = ask(master, 200, "GET", "/api/v1/running", NULL);
    CHECK_INT(0, int_member(none, "total"));
    rgm_json_release(none);
    rgm_master_close(master);
}

/* In its row when it is over, for the page; of a search that stops none there is none. */
static void what_stopping_early_saved_stays_in_the_row(void **state)
{
    rgm_master *master = open_master(folder, 2);
    int64_t saved, of;

    (void)state;
    create_experiment(master,
                      "{name: adaptive_asha, metric: valid.loss, max_trials: 9, max_steps: 9,"
                      " max_rungs: 3, divisor: 3, mode: aggressive}",
                      "");
    create_experiment(master, RANDOM_4, "");
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    saved = int_member(e, "saved");
    of = int_member(e, "saved_of");
    CHECK_INT(81, of);
    CHECK_INT(of - int_member(e, "batches") / 10, saved); /* ten a step */
    CHECK(saved > 0);
    CHECK_TEXT("steps", text_member(e, "saved_unit"));
    rgm_json_release(e);
    e = ask(master, 200, "GET", "/api/v1/experiments/2", NULL);
    CHECK_INT(0, int_member(e, "saved"));
    CHECK_INT(0, int_member(e, "saved_of"));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* ---- failures ------------------------------------------------------------------------------- */

/* Case 36: three runs in total, the second and third from the checkpoint at step 2. */
static void a_trial_that_always_fails_is_restarted_max_restarts_times(void **state)
{
    rgm_master *master = open_master(folder, 1);

    (void)state;
    setenv("FAKE_TRIAL_FAIL", "3", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 5}",
                      "min_checkpoint_period: 2\nmax_restarts: 2\n");
    serve_all(master, 60);
    CHECK_TEXT("ERROR", state_of(master, 1));
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("ERROR", text_member(t, "state"));
    CHECK_INT(3, int_member(t, "restarts"));
    CHECK_INT(2, int_member(t, "steps"));
    CHECK(strstr(text_member(t, "message"), "step 3 fails, as it was told to") != NULL);
    rgm_json_release(t);
    t = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(3, int_member(t, "total"));
    CHECK(text_member(t, "runs.2.end_time") != NULL);
    rgm_json_release(t);
    rgm_json *log = ask(master, 200, "GET", "/api/v1/trials/1/logs", NULL);
    const char *text = text_member(log, "text");
    for (int i = 0; i < 3; i++) {
        text = strstr(text, "step 3 fails");
        CHECK(text != NULL);
        text++;
    }
    rgm_json_release(log);
    rgm_master_close(master);
}

static void a_search_goes_on_without_a_trial_that_failed(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM_4, "max_restarts: 0\n");
    tell(master, 200, "POST", "/api/v1/trials/2/kill", NULL);
    tell(master, 409, "POST", "/api/v1/trials/2/kill", NULL);
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    CHECK_INT(3, int_member(e, "trials_by_state.COMPLETED"));
    CHECK_INT(1, int_member(e, "trials_by_state.CANCELED"));
    rgm_json_release(e);
    rgm_master_close(master);
}

static void invalid_hyperparameters_are_replaced(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    setenv("FAKE_TRIAL_INVALID", "3", 1);
    create_experiment(master, RANDOM_4, "");
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    CHECK_INT(4, int_member(e, "trials_by_state.COMPLETED"));
    CHECK_INT(1, int_member(e, "trials_by_state.ERROR"));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* Processes that die at any moment: the same trials, metrics and best checkpoint. */
static void trials_that_crash_end_as_those_that_do_not(void **state)
{
    static const char searcher[] =
        "{name: random, metric: valid.loss, max_trials: 6, max_steps: 6}";
    static const char more[] = "max_restarts: 1000\nmin_checkpoint_period: 1\n";
    char *undisturbed, *got;
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, searcher, more);
    serve_all(master, 60);
    undisturbed = summary(master, 1);
    setenv("FAKE_TRIAL_CRASH", "6", 1);
    create_experiment(master, searcher, more);
    serve_all(master, 120);
    unsetenv("FAKE_TRIAL_CRASH");
    got = summary(master, 2);
    CHECK_TEXT(undisturbed, got);
    rgm_json *list = ask(master, 200, "GET", "/api/v1/experiments/2/trials", NULL);
    int64_t restarts = 0;
    for (int64_t i = 0; i < 6; i++)
        restarts += int_member(rgm_json_at(member(list, "trials"), i), "restarts");
    CHECK(restarts > 0);
    rgm_json_release(list);
    rgm_json *events = ask(master, 200, "GET", "/api/v1/experiments/2/events?limit=1000", NULL);
    CHECK_INT(18, int_member(events, "total")); /* trained, validated, closed: once each */
    rgm_json_release(events);
    rgm_free(undisturbed);
    rgm_free(got);
    rgm_master_close(master);
}

/* ---- beginnings ----------------------------------------------------------------------------- */

static void warm_start_fork_and_continue_begin_with_what_there_is(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    create_experiment(master, RANDOM_4, "");
    serve_all(master, 60);
    tell(master, 201, "POST", "/api/v1/trials/1/continue", "{\"max_length\": {\"steps\": 2}}");
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/5", NULL);
    rgm_json *from = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    CHECK_TEXT(text_member(from, "checkpoints.0.uuid"), text_member(t, "source_checkpoint_uuid"));
    rgm_json_release(from);
    from = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    double a = 0, b = 1;
    CHECK(rgm_json_number(&a, member(member(t, "hyperparameters.optimizer"), "learning_rate")));
    CHECK(rgm_json_number(&b, member(member(from, "hyperparameters.optimizer"), "learning_rate")));
    CHECK(a == b);
    rgm_json_release(t);
    rgm_json_release(from);
    tell(master, 201, "POST", "/api/v1/experiments/1/fork", "{\"description\": \"again\"}");
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/3", NULL);
    CHECK_INT(1, int_member(e, "parent_id"));
    CHECK_TEXT("again", text_member(e, "description"));
    rgm_json_release(e);
    tell(master, 409, "DELETE", "/api/v1/experiments/1", NULL); /* trial 5 begins with it */
    serve_all(master, 60);
    tell(master, 200, "DELETE", "/api/v1/experiments/1", NULL);
    char *config = search_config("{name: single, metric: valid.loss, max_steps: 1, "
                                 "source_trial_id: 77}",
                                 "");
    char *body = create_body(config, "");
    e = ask(master, 422, "POST", "/api/v1/experiments", body);
    CHECK(strstr(text_member(e, "message"), "there is no trial 77") != NULL);
    rgm_json_release(e);
    rgm_free(body);
    rgm_free(config);
    rgm_master_close(master);
}

/* A constraint may name a hyperparameter that a trial lacks, as its condition does not hold. */
static void a_trial_without_all_hyperparameters_is_continued(void **state)
{
    rgm_master *master = open_master(folder, 2);
    char *body = create_body(
        "data: {path: data/digits, train: train.csv.gz, batch_size: 64}\n"
        "task: {type: classification, num_classes: 10}\n"
        "model: {type: mlp, hidden: [16]}\n"
        "optimizer: {learning_rate: 1e-3}\n"
        "trainer: {epochs: 1}\n"
        "hyperparameters:\n"
        "  optimizer.type: {type: categorical, vals: [adam, sgd]}\n"
        "  optimizer.momentum: {type: double, minval: 0.1, maxval: 0.9, when: optimizer.type == "
        "sgd}\n"
        "  model.dropout: {type: double, minval: 0, maxval: 0.9}\n"
        "constraints: [model.dropout <= optimizer.momentum]\n"
        "searcher: {name: random, metric: valid.loss, max_trials: 1, max_steps: 1,\n"
        "  points: [{optimizer.type: adam, model.dropout: 0.5}]}\n",
        "");

    (void)state;
    tell(master, 201, "POST", "/api/v1/experiments", body);
    serve_all(master, 60);
    tell(master, 201, "POST", "/api/v1/trials/1/continue", "{\"max_length\": {\"steps\": 2}}");
    serve_all(master, 60);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/2", NULL);
    CHECK_TEXT("COMPLETED", text_member(t, "state"));
    rgm_json_release(t);
    rgm_free(body);
    rgm_master_close(master);
}

/* Four checkpoints, of which the latest is the only one that was validated. */
static void checkpoints_that_are_not_kept_are_removed(void **state)
{
    rgm_master *master = open_master(folder, 1);
    char path[256];

    (void)state;
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                      "min_checkpoint_period: 1\n");
    serve_all(master, 60);
    rgm_json *list = ask(master, 200, "GET", "/api/v1/trials/1/checkpoints", NULL);
    CHECK_INT(4, int_member(list, "total"));
    for (int i = 0; i < 4; i++) {
        const rgm_json *c = rgm_json_at(member(list, "checkpoints"), i);

        CHECK_TEXT(i < 3 ? "DELETED" : "COMPLETED", text_member(c, "state"));
        snprintf(path, sizeof path, "%s/%s", folder, text_member(c, "folder"));
        CHECK(rgm_path_exists(path) == (i == 3));
    }
    rgm_json_release(list);
    tell(master, 200, "PATCH", "/api/v1/experiments/1",
         "{\"save_trial_best\": 0, \"save_trial_latest\": 0}");
    list = ask(master, 200, "POST", "/api/v1/experiments/1/collect", "{\"preview\": true}");
    CHECK_INT(1, int_member(list, "removed"));
    rgm_json_release(list);
    CHECK(rgm_path_exists(path));
    tell(master, 200, "POST", "/api/v1/experiments/1/collect", NULL);
    CHECK(!rgm_path_exists(path));
    list = ask(master, 200, "POST", "/api/v1/experiments/1/collect", NULL);
    CHECK_INT(0, int_member(list, "removed"));
    rgm_json_release(list);
    rgm_master_close(master);
}

static void an_open_folder_belongs_to_one_master(void **state)
{
    rgm_master *master = open_master(folder, 2), *second;
    rgm_master_options options = {.folder = folder};
    char pid[32], lock[160];

    (void)state;
    CHECK_STATUS(RGM_ERR_BUSY, rgm_master_open(&second, &options));
    snprintf(pid, sizeof pid, "process %ld on ", (long)getpid());
    CHECK_MESSAGE(pid);
    snprintf(lock, sizeof lock, "%s/master.lock", folder);
    CHECK_INT(0, unlink(lock));
    CHECK_STATUS(RGM_ERR_BUSY, rgm_master_open(&second, &options));
    CHECK_MESSAGE("in use by another master");
    rgm_master_close(master);
    CHECK_OK(rgm_master_open(&second, &options));
    rgm_master_close(second);
}

/* Trials of a database that is lost stay what they are: a new experiment has another number. */
static void no_experiment_gets_the_folder_of_one_that_is_forgotten(void **state)
{
    static const char *const lost[] = {"master.db", "master.db-wal", "master.db-shm"};
    rgm_master *master = open_master(folder, 2);
    char path[200];

    (void)state;
    CHECK_INT(1, create_experiment(master, RANDOM_4, ""));
    serve_all(master, 60);
    rgm_master_close(master);
    for (int i = 0; i < 3; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, lost[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/7/x", folder); /* no trial's */
    CHECK_OK(rgm_folder_make(path));
    master = open_master(folder, 2);
    CHECK_INT(2, create_experiment(master, RANDOM_4, ""));
    serve_all(master, 60);
    rgm_master_close(master);
    for (int experiment = 1; experiment <= 2; experiment++) {
        snprintf(path, sizeof path, "%s/%d/4/ckpt/step-00000030/state", folder, experiment);
        CHECK(rgm_path_exists(path));
    }
}

/* ---- telling twice -------------------------------------------------------------------------- */

/* Of the run of a trial, as the database has it; NULL: none. */
static char *run_token(int64_t trial)
{
    char path[160], *token = NULL;
    sqlite3 *connection;
    sqlite3_stmt *statement;

    snprintf(path, sizeof path, "%s/master.db", folder);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &connection));
    CHECK_INT(SQLITE_OK, sqlite3_prepare_v2(connection, "SELECT run_token FROM trials WHERE id = ?",
                                            -1, &statement, NULL));
    sqlite3_bind_int64(statement, 1, trial);
    if (sqlite3_step(statement) == SQLITE_ROW && sqlite3_column_text(statement, 0) != NULL)
        CHECK_OK(rgm_strdup(&token, (const char *)sqlite3_column_text(statement, 0)));
    sqlite3_finalize(statement);
    sqlite3_close(connection);
    return token;
}

/* What a process would do by hand: each answer is asked for twice, as if it had been lost. */
static void a_result_that_is_told_twice_counts_once(void **state)
{
    static const char step[] =
        "{\"run\": \"%s\", \"completed\": {\"kind\": \"%s\", \"step\": %lld, "
        "\"batches\": %lld, \"metrics\": {\"loss\": 0.5}, \"checkpoint\": "
        "\"ckpt/a\", \"resources\": {\"ckpt/a/w\": 5}}}";
    rgm_master_options options = {.folder = folder,
                                  .slots = 1,
                                  .threads_per_slot = 1,
                                  .stop_seconds = 0.2,
                                  .trial_command =
                                      (const char *const[]){"sh", "-c", "sleep 30", NULL}};
    char body[512], *token;
    rgm_master *master;
    working_master w;

    (void)state;
    CHECK_OK(rgm_master_open(&master, &options));
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 3}", "");
    begin_work(&w, master);
    token = NULL;
    for (int i = 0; i < 500 && token == NULL; i++) {
        usleep(10000);
        token = run_token(1);
    }
    CHECK(token != NULL);
    snprintf(body, sizeof body, "{\"run\": \"%s\"}", token);
    rgm_json *next = ask(master, 200, "POST", "/api/v1/trials/1/workload", body);
    for (int turn = 0; strcmp(text_member(next, "workload.kind"), "TERMINATE") != 0; turn++) {
        CHECK(turn < 10);
        snprintf(body, sizeof body, step, token, text_member(next, "workload.kind"),
                 (long long)int_member(next, "workload.step"),
                 (long long)int_member(next, "workload.batches"));
        rgm_json_release(next);
        next = ask(master, 200, "POST", "/api/v1/trials/1/workload", body);
        rgm_json *again = ask(master, 200, "POST", "/api/v1/trials/1/workload", body);
        CHECK_TEXT(text_member(next, "workload.kind"), text_member(again, "workload.kind"));
        CHECK_INT(int_member(next, "workload.step"), int_member(again, "workload.step"));
        rgm_json_release(again);
    }
    rgm_json_release(next);
    rgm_json *rows = ask(master, 200, "GET", "/api/v1/trials/1/steps", NULL);
    CHECK_INT(3, int_member(rows, "total"));
    rgm_json_release(rows);
    rows = ask(master, 200, "GET", "/api/v1/experiments/1/events", NULL);
    CHECK_INT(3, int_member(rows, "total")); /* trained, validated, closed */
    rgm_json_release(rows);
    snprintf(body, sizeof body, "{\"run\": \"%032d\"}", 7);
    tell(master, 410, "POST", "/api/v1/trials/1/workload", body);
    end_work(&w);
    rgm_free(token);
    rgm_master_close(master);
}

/* ---- with a model --------------------------------------------------------------------------- */

static void trials_with_a_model_are_run_folders(void **state)
{
    const char *data = check_data("digits");
    rgm_text config = {0};
    rgm_master *master;
    double accuracy = 0;

    (void)state;
    if (data == NULL)
        SKIP("no data/digits");
    CHECK_OK(rgm_text_printf(
        &config,
        "data: {path: %s, train: train.csv.gz, valid_fraction: 0.1, scale: 16, batch_size: 64}\n"
        "task: {type: classification, num_classes: 10}\nmodel: {type: mlp, hidden: [16]}\n"
        "optimizer: {type: adam, learning_rate: 1e-3}\ntrainer: {epochs: 1}\n"
        "hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -3, maxval: "
        "-2}}\n"
        "searcher: {name: random, metric: valid.accuracy, smaller_is_better: false, max_trials: 2,"
        " max_steps: 2}\nbatches_per_step: 50\n",
        data));
    char *body = create_body(config.data, "");
    setenv("FAKE_TRIAL_REAL", "1", 1);
    master = open_master(folder, 2);
    tell(master, 201, "POST", "/api/v1/experiments", body);
    serve_all(master, 120);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    if (strcmp(text_member(e, "state"), "COMPLETED") != 0) {
        rgm_json *log = ask(master, 200, "GET", "/api/v1/trials/1/logs", NULL);
        fail_msg("it is %s: %s", text_member(e, "state"), text_member(log, "text"));
    }
    CHECK(rgm_json_number(&accuracy, member(e, "best_trial.best_metric")));
    CHECK(accuracy > 0.5);
    rgm_json_release(e);
    char path[256];
    snprintf(path, sizeof path, "%s/1/2/config.yaml", folder);
    CHECK(rgm_path_exists(path));
    rgm_text_clear(&config);
    rgm_free(body);
    rgm_master_close(master);
}

TESTS(cmocka_unit_test_setup_teardown(a_result_that_is_told_twice_counts_once, setup, teardown),
      cmocka_unit_test_setup_teardown(trials_with_a_model_are_run_folders, setup, teardown),
      cmocka_unit_test_setup_teardown(a_search_of_four_trials_runs_to_its_end, setup, teardown),
      cmocka_unit_test_setup_teardown(states_follow_each_other_or_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(what_runs_and_the_shares_are_told, setup, teardown),
      cmocka_unit_test_setup_teardown(a_master_that_stops_leaves_checkpoints_to_go_on_from, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(what_stopping_early_saved_stays_in_the_row, setup, teardown),
      cmocka_unit_test_setup_teardown(a_trial_that_always_fails_is_restarted_max_restarts_times,
                                      setup, teardown),
      cmocka_unit_test_setup_teardown(a_search_goes_on_without_a_trial_that_failed, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(invalid_hyperparameters_are_replaced, setup, teardown),
      cmocka_unit_test_setup_teardown(trials_that_crash_end_as_those_that_do_not, setup, teardown),
      cmocka_unit_test_setup_teardown(warm_start_fork_and_continue_begin_with_what_there_is, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_trial_without_all_hyperparameters_is_continued, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(checkpoints_that_are_not_kept_are_removed, setup, teardown),
      cmocka_unit_test_setup_teardown(no_experiment_gets_the_folder_of_one_that_is_forgotten, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(an_open_folder_belongs_to_one_master, setup, teardown))
