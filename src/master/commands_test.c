/*
 * Schedulers of three commands: the ready tables of PBS, LSF and Kubernetes with a queue that is a
 * script (tests/queue_fake.sh), a table of one's own, and files that cannot be; pools and drained
 * slots, which stand in the same file of the master.
 */
#include "master_check.h"
#include "master_internal.h"
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

static const char searcher[] = "{name: random, metric: valid.loss, max_trials: 3, max_steps: 4}";
static char folder[128], queue[128];

static int setup(void **state)
{
    static const char *const names[] = {"qsub",  "qstat", "qdel",   "bsub",
                                        "bjobs", "bkill", "kubectl"};
    char here[512], script[600], path[700];

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(queue, sizeof queue, "%s", check_folder());
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(script, sizeof script, "%s/tests/queue_fake.sh", here);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", queue, names[i]);
        CHECK_INT(0, symlink(script, path));
    }
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", queue);
    setenv("PATH", path, 1);
    setenv("FAKE_QUEUE", queue, 1);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    unsetenv("FAKE_TRIAL_BUSY");
    unsetenv("FAKE_TRIAL_MS");
    unsetenv("FAKE_TRIAL_FAIL");
    return rgm_folder_make(folder) == RGM_OK && rgm_folder_remove(folder) == RGM_OK &&
                   rgm_folder_remove(queue) == RGM_OK
               ? 0
               : -1;
}

static void put(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", queue, name);
    if (text == NULL)
        unlink(path);
    else
        CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

static void put_master_file(const char *text)
{
    char path[256];

    CHECK_OK(rgm_folder_make(folder));
    snprintf(path, sizeof path, "%s/master.yaml", folder);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Until the queue's reason of a trial has these words. */
static void wait_for_reason(rgm_master *master, const char *words)
{
    char last[512] = "";

    for (int i = 0; i < 1500; i++) {
        rgm_json *waits = ask(master, 200, "GET", "/api/v1/queue", NULL);

        snprintf(last, sizeof last, "%s", text_member(waits, "queue.0.reason"));
        rgm_json_release(waits);
        if (strstr(last, words) != NULL)
            return;
        pause_ms(20);
    }
    fail_msg("the reason is '%s', not '%s'", last, words);
}

static char *run_locally(void)
{
    rgm_master *master = open_master(folder, 2);
    char *text;

    create_experiment(master, searcher, "");
    serve_all(master, 60);
    text = summary(master, 1);
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));
    return text;
}

static char *calls(void)
{
    char path[256], *text;
    int64_t size;

    snprintf(path, sizeof path, "%s/calls", queue);
    CHECK_OK(rgm_file_load(&text, &size, path, 1 << 20));
    return text;
}

/* ---- the ready tables ----------------------------------------------------------------------- */

static const struct ready {
    const char *name, *more, *submitted, *waits, *file;
} ready[] = {
    {"pbs", "partition: long, time: '4:00:00', options: [-V]",
     "-q long -l ncpus=1 -l walltime=4:00:00", "pbs job ", ""},
    {"lsf", "account: lab, memory: 4GB", "-P lab -n 1 -R span[hosts=1] -M 4GB -o /dev/null",
     "lsf job ", ""},
    {"kubectl", "setup: ['true']",
     "--image=regimen:1 --restart=Never --labels=app=regimen --namespace=lab --overrides={\"cpu\": "
     "1} --command -- /bin/sh /",
     "kubectl job ",
     "schedulers: {kubectl: {variables: {image: 'regimen:1', namespace: lab, overrides: "
     "'{\"cpu\": {slots}}'}}}\n"},
};

static char *more_of(const struct ready *r, const char *other)
{
    char *text;

    CHECK_OK(rgm_strprintf(&text, "resources: {max_slots: 2}\nscheduler: {type: %s, %s}\n%s",
                           r->name, r->more, other));
    return text;
}

/* A job's script has the token of its run. */
static void check_private(const char *script)
{
    struct stat info;
    char *path;

    CHECK_OK(rgm_path_join(&path, folder, script));
    CHECK_INT(0, stat(path, &info));
    CHECK_INT(0700, info.st_mode & 0777);
    rgm_free(path);
}

static void a_search_is_the_same_as_on_this_machine(void **state)
{
    char *expected = run_locally();

    (void)state;
    for (size_t i = 0; i < sizeof ready / sizeof *ready; i++) {
        char *more = more_of(&ready[i], ""), *got, *said;
        rgm_master *master;

        put_master_file(ready[i].file);
        master = open_master(folder, 2);
        create_experiment(master, searcher, more);
        serve_all(master, 120);
        got = summary(master, 1);
        CHECK_TEXT(expected, got);
        said = calls();
        if (strstr(said, ready[i].submitted) == NULL)
            fail_msg("'%s' is not in\n%s", ready[i].submitted, said);
        check_private("1/1/job.sh");
        rgm_free(said);
        rgm_free(got);
        rgm_free(more);
        rgm_master_close(master);
        CHECK_OK(rgm_folder_remove(folder));
        put("calls", NULL);
    }
    rgm_free(expected);
}

/* A master that is killed while its jobs wait and another while they run: no job twice. */
static void a_master_that_is_killed_finds_its_jobs_again(void **state)
{
    char *expected = run_locally();

    (void)state;
    for (size_t i = 0; i < sizeof ready / sizeof *ready; i++) {
        char *more = more_of(&ready[i], ""), *got, *said;
        rgm_master *master;
        int submitted = 0, status;
        pid_t pid;

        put_master_file(ready[i].file);
        put("hold", "");
        pid = fork();
        if (pid == 0) {
            working_master w;

            master = open_master(folder, 2);
            create_experiment(master, searcher, more);
            begin_work(&w, master);
            wait_for_reason(master, " waits");
            raise(SIGKILL);
        }
        CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
        put("hold", NULL);
        master = open_master(folder, 2);
        serve_all(master, 120);
        got = summary(master, 1);
        CHECK_TEXT(expected, got);
        said = calls();
        for (const char *at = said; (at = strstr(at, "job.sh")) != NULL; at++)
            submitted++;
        CHECK_INT(3, submitted);
        rgm_free(said);
        rgm_free(got);
        rgm_free(more);
        rgm_master_close(master);
        CHECK_OK(rgm_folder_remove(folder));
        put("calls", NULL);
    }
    rgm_free(expected);
}

/* One that waits is cancelled, one that runs too, and no job is left. */
static void a_kill_cancels_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ready / sizeof *ready; i++) {
        char *more = more_of(&ready[i], ""), *said;
        rgm_master *master;
        working_master w;

        put_master_file(ready[i].file);
        put("hold", "");
        master = open_master(folder, 2);
        create_experiment(master, searcher, more);
        begin_work(&w, master);
        wait_for_reason(master, ready[i].waits);
        tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
        for (int k = 0; k < 1500 && !all_over(master, NULL); k++)
            pause_ms(20);
        CHECK(all_over(master, NULL));
        end_work(&w);
        said = calls();
        CHECK(strstr(said, i == 0   ? "qdel "
                           : i == 1 ? "bkill "
                                    : "kubectl delete pod rgm-") != NULL);
        rgm_free(said);
        put("hold", NULL);
        rgm_free(more);
        rgm_master_close(master);
        CHECK_OK(rgm_folder_remove(folder));
        put("calls", NULL);
    }
}

/* Scripts that end with 3 before a trial speaks: so many failures, and the reason. */
static void jobs_that_fail_are_failures_of_their_trials(void **state)
{
    (void)state;
    put("refuse_script", "3\n");
    for (size_t i = 0; i < sizeof ready / sizeof *ready; i++) {
        char *more = more_of(&ready[i], "max_restarts: 1\n"), words[64];
        rgm_master *master;

        put_master_file(ready[i].file);
        master = open_master(folder, 2);
        create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}", more);
        serve_all(master, 120);
        rgm_json *e = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
        CHECK_TEXT("ERROR", text_member(e, "state"));
        CHECK_INT(2, int_member(e, "restarts"));
        snprintf(words, sizeof words, "failed 2 times, the last one: its %s job ", ready[i].name);
        CHECK(strstr(text_member(e, "message"), words) != NULL);
        CHECK(strstr(text_member(e, "message"), "FAILED") != NULL);
        CHECK(i == 2 || strstr(text_member(e, "message"), "exit status 3") != NULL);
        rgm_json_release(e);
        rgm_free(more);
        rgm_master_close(master);
        CHECK_OK(rgm_folder_remove(folder));
    }
}

static void a_scheduler_that_refuses_or_is_silent_is_told(void **state)
{
    char *more = more_of(&ready[0], "");
    rgm_master *master = open_master(folder, 2);
    working_master w;

    (void)state;
    put("refuse", "qsub: Unknown queue\n");
    create_experiment(master, searcher, more);
    begin_work(&w, master);
    wait_for_reason(master,
                    "pbs takes no job of it: qsub ended with status 1: qsub: Unknown queue");
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    put("refuse", NULL);
    put("down", "qsub: cannot connect to server head (errno=15010)\n");
    create_experiment(master, searcher, more);
    wait_for_reason(master, "cannot connect to server");
    put("down", NULL);
    for (int k = 0; k < 3000 && !all_over(master, NULL); k++)
        pause_ms(20);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/2", NULL);
    CHECK_INT(3, int_member(e, "trials_by_state.COMPLETED"));
    rgm_json_release(e);
    end_work(&w);
    rgm_free(more);
    rgm_master_close(master);
}

/* ---- a table of one's own ------------------------------------------------------------------- */

#define OWN                                                                                        \
    "schedulers:\n"                                                                                \
    "  night:\n"                                                                                   \
    "    submit: [qsub, -N, '{name}', -q, '{queue}', '{script}']\n"                                \
    "    submitted: '^([0-9]+)'\n"                                                                 \
    "    look: [qstat]\n"                                                                          \
    "    row: '^Job Id: ([0-9]+).*job_state=([A-Z])'\n"                                            \
    "    fields: [number, state]\n"                                                                \
    "    pending: [Q]\n"                                                                           \
    "    running: [R]\n"                                                                           \
    "    done: [F]\n"                                                                              \
    "    cancel: [qdel, '{job}']\n"

/* By numbers alone. One that the queue forgets twice has failed. */
static void a_table_of_ones_own_is_used(void **state)
{
    char *expected = run_locally(), *got;
    rgm_master *master;

    (void)state;
    put_master_file(OWN);
    master = open_master(folder, 2);
    create_experiment(master, searcher, "scheduler: {type: night, partition: dark}\n");
    serve_all(master, 120);
    got = summary(master, 1);
    CHECK_TEXT(expected, got);
    put("hold", "");
    put("forget", "");
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}",
                      "max_restarts: 0\nscheduler: {type: night, partition: dark}\n");
    serve_all(master, 120);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/2/trials", NULL);
    CHECK(strstr(text_member(e, "trials.0.message"), "night does not list it any more") != NULL);
    rgm_json_release(e);
    rgm_free(got);
    rgm_free(expected);
    rgm_master_close(master);
}

static void files_that_cannot_be_are_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } files[] = {
        {"schedulers: {a: {submit: [x]}}\n", "needs 'look', a list of words"},
        {"schedulers: {a: {table: pbs, submit: [qsub, '{slot}']}}\n",
         "there is no variable {slot}; did you mean 'slots'"},
        {"schedulers: {a: {table: pbs, row: '('}}\n", "'row' is no regular expression"},
        {"schedulers: {a: {table: pbs, fields: [number, status]}}\n", "'fields' has 'status'"},
        {"schedulers: {a: {table: pbs, fields: [name]}}\n", "'fields' has no state"},
        {"schedulers: {a: {table: pbs, row: '^(.)$'}}\n", "'row' has 1 groups for 3 fields"},
        {"schedulers: {a: {table: sge}}\n", "there is no table 'sge'"},
        {"schedulers: {a: {table: pbs, sumbit: [a]}}\n", "did you mean"},
        {"schedulers: {slurm: {table: pbs}}\n", "neither local nor slurm"},
        {"pools: {a: {slots: [0, 2]}}\n", "has slot 2, but the master has 0 to 1"},
        {"pools: {a: {slots: [0]}, b: {slots: [0]}}\n", "slot 0 is in two pools"},
        {"pools: {a: {}}\n", "has no slots"},
        {"pool: {a: {slots: [0]}}\n", "unknown key 'pool'"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        rgm_master_options options = {.folder = folder, .slots = 2, .threads_per_slot = 1};
        rgm_master *master = NULL;

        put_master_file(files[i].text);
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_master_open(&master, &options));
        CHECK_MESSAGE(files[i].why);
        CHECK_MESSAGE("master.yaml:1:");
    }
}

static rgm_status load_machines(void)
{
    rgmi_machines *machines = NULL;
    rgm_status status = rgmi_machines_load(&machines, folder, 2);

    rgmi_machines_release(machines);
    return status;
}

static void memory_that_runs_out_is_told(void **state)
{
    (void)state;
    put_master_file(OWN "pools: {a: {slots: [1]}}\n");
    CHECK_EVERY_OOM(load_machines(), (void)0);
}

static void refuse_experiment(rgm_master *master, const char *more, const char *why)
{
    char *config = search_config(searcher, more), *body = create_body(config, "");
    rgm_response r;

    rgm_master_handle(&r, master,
                      &(rgm_request){.method = "POST",
                                     .path = "/api/v1/experiments",
                                     .body = body,
                                     .size = (int64_t)strlen(body)});
    CHECK_INT(422, r.status);
    if (strstr(r.body.data, why) == NULL)
        fail_msg("'%s' is not in %s", why, r.body.data);
    rgm_response_clear(&r);
    rgm_free(body);
    rgm_free(config);
}

static void experiments_that_could_not_run_are_refused(void **state)
{
    rgm_master *master;

    (void)state;
    put_master_file("pools: {a: {slots: [1]}}\n"
                    "schedulers: {b: {table: pbs, submit: [no_such_program, '{script}']}}\n");
    master = open_master(folder, 2);
    refuse_experiment(master, "scheduler: {type: pps}\n", "no scheduler 'pps'; did you mean 'pbs'");
    refuse_experiment(master, "scheduler: {type: b}\n", "there is no program 'no_such_program'");
    refuse_experiment(master, "resources: {pool: b}\n", "there is no pool 'b'");
    refuse_experiment(master, "resources: {pool: a, slots_per_trial: 2}\n", "pool 'a' has 1");
    refuse_experiment(master, "resources: {pool: a}\nscheduler: {type: pbs}\n",
                      "resources.pool is of the slots of this machine");
    refuse_experiment(master, "resources: {slots_per_trial: 2}\n",
                      "and 1 of this master's are in no pool; no pool has so many");
    rgm_master_close(master);
    put_master_file("pools: {a: {slots: [0]}, large: {slots: [1, 2]}}\n");
    master = open_master(folder, 3);
    refuse_experiment(master, "resources: {slots_per_trial: 2}\n",
                      "and 0 of this master's are in no pool; so many has resources.pool: large");
    rgm_master_close(master);
}

/* ---- pools and drained slots ---------------------------------------------------------------- */

static void check_slots_of(rgm_master *master, const char *path, const char *slots)
{
    rgm_json *runs = ask(master, 200, "GET", path, NULL);

    CHECK(rgm_json_count(member(runs, "runs")) > 0);
    for (int64_t i = 0; i < rgm_json_count(member(runs, "runs")); i++) {
        const char *had = text_member(rgm_json_at(member(runs, "runs"), i), "slots");

        if (strcmp(had, slots) != 0)
            fail_msg("%s: a trial had slots %s, not %s", path, had, slots);
    }
    rgm_json_release(runs);
}

static void pools_have_slots_of_their_own(void **state)
{
    rgm_master *master;

    (void)state;
    put_master_file("pools: {a: {slots: [1]}, b: {slots: [2]}}\n");
    master = open_master(folder, 3);
    create_experiment(master, searcher, "resources: {pool: a}\n");
    create_experiment(master, searcher, "resources: {pool: b}\n");
    create_experiment(master, searcher, "");
    serve_all(master, 60);
    check_slots_of(master, "/api/v1/experiments/1/runs", "1");
    check_slots_of(master, "/api/v1/experiments/2/runs", "2");
    check_slots_of(master, "/api/v1/experiments/3/runs", "0");
    create_experiment(master, searcher, "resources: {pool: b}\n");
    rgm_master_close(master);
    put_master_file("pools: {a: {slots: [1]}}\n"); /* and b is there no more */
    master = open_master(folder, 3);
    working_master w;
    begin_work(&w, master);
    wait_for_reason(master, "there is no pool 'b'; there are a");
    end_work(&w);
    rgm_master_close(master);
    put_master_file("pools: {b: {slots: [0]}}\n");
    master = open_master(folder, 3);
    serve_all(master, 60);
    check_slots_of(master, "/api/v1/experiments/4/runs", "0");
    rgm_master_close(master);
}

static void drained_slots_get_no_trial(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    tell(master, 400, "POST", "/api/v1/slots/drain", "{}");
    tell(master, 400, "POST", "/api/v1/slots/drain", "{\"slots\": [2]}");
    tell(master, 404, "POST", "/api/v1/slots/drain", "{\"pool\": \"a\"}");
    tell(master, 200, "POST", "/api/v1/slots/drain", "{\"slots\": [0]}");
    create_experiment(master, searcher, "");
    rgm_master_close(master);
    master = open_master(folder, 2); /* which knows of it */
    serve_all(master, 60);
    check_slots_of(master, "/api/v1/experiments/1/runs", "1");
    rgm_json *slots = ask(master, 200, "GET", "/api/v1/slots", NULL);
    CHECK_TEXT("drained", text_member(slots, "slots.0.state"));
    CHECK_TEXT("free", text_member(slots, "slots.1.state"));
    rgm_json_release(slots);
    tell(master, 200, "POST", "/api/v1/slots/drain", "{\"pool\": \"\"}");
    create_experiment(master, searcher, "");
    working_master w;
    begin_work(&w, master);
    wait_for_reason(master, "needs 1 slot: 0 are there, and the others are drained or held by");
    tell(master, 200, "POST", "/api/v1/slots/enable", "{\"slots\": [0]}");
    for (int k = 0; k < 3000 && !all_over(master, NULL); k++)
        pause_ms(20);
    end_work(&w);
    check_slots_of(master, "/api/v1/experiments/2/runs", "0");
    rgm_master_close(master);
}

/* A trial on a slot that is drained saves, ends, and goes on on the other. */
static void a_trial_leaves_a_slot_that_is_drained(void **state)
{
    rgm_master *master = open_master(folder, 2);
    working_master w;
    char busy[200];
    bool draining = false;

    (void)state;
    snprintf(busy, sizeof busy, "%s/busy", folder);
    setenv("FAKE_TRIAL_BUSY", busy, 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 4}", "");
    begin_work(&w, master);
    for (int i = 0; i < 1500 && !draining; i++) {
        rgm_json *slots = ask(master, 200, "GET", "/api/v1/slots", NULL);

        draining = strcmp(text_member(slots, "slots.0.state"), "taken") == 0;
        rgm_json_release(slots);
        pause_ms(20);
    }
    CHECK(draining);
    rgm_json *slots =
        ask(master, 200, "POST", "/api/v1/slots/drain", "{\"slots\": [0], \"stop\": true}");
    CHECK_TEXT("draining", text_member(slots, "slots.0.state"));
    rgm_json_release(slots);
    CHECK_OK(rgm_file_save(busy, "", 0));
    for (int k = 0; k < 3000 && !all_over(master, NULL); k++)
        pause_ms(20);
    end_work(&w);
    rgm_json *runs = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(2, int_member(runs, "total"));
    CHECK_TEXT("0", text_member(runs, "runs.0.slots"));
    CHECK_TEXT("1", text_member(runs, "runs.1.slots"));
    rgm_json_release(runs);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(t, "state"));
    CHECK_INT(0, int_member(t, "restarts"));
    rgm_json_release(t);
    rgm_master_close(master);
}

/* Until the slots of an answer are taken, as many as that. */
static void wait_for_taken(rgm_master *master, int64_t slots)
{
    for (int i = 0, taken = 0; taken < slots; i++) {
        rgm_json *answer = ask(master, 200, "GET", "/api/v1/master", NULL);

        taken = (int)int_member(answer, "slots_taken");
        rgm_json_release(answer);
        CHECK(i < 1500);
        pause_ms(20);
    }
}

static void create(const char *of, const char *more, int64_t slots)
{
    rgm_master *master = open_master(folder, slots);

    create_experiment(master, of, more);
    rgm_master_close(master);
}

/* A master that is killed when trials hold so many slots of all: they go on. */
static void leave_at_work(int64_t slots, int64_t all)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        rgm_master *master = open_master(folder, all);
        working_master w;

        begin_work(&w, master);
        wait_for_taken(master, slots);
        raise(SIGKILL);
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status));
}

static void wait_for_reason_of_next(const char *file, const char *words)
{
    rgm_master *master;
    working_master w;

    put_master_file(file);
    master = open_master(folder, 3);
    begin_work(&w, master);
    wait_for_reason(master, words);
    end_work(&w);
    rgm_master_close(master);
}

/* Of the slots that are shared out, which are not the machine's. */
static void what_is_too_wide_for_its_pool_says_so(void **state)
{
    (void)state;
    put_master_file("pools: {a: {slots: [1, 2]}}\n");
    create(searcher, "resources: {pool: a, slots_per_trial: 2}\n", 3);
    wait_for_reason_of_next("pools: {a: {slots: [1]}}\n",
                            "needs 2 slots, pool 'a' has 1: it can never start");
    CHECK_OK(rgm_folder_remove(folder));
    create(searcher, "resources: {slots_per_trial: 3}\n", 3);
    wait_for_reason_of_next("pools: {a: {slots: [1]}}\n",
                            "needs 3 slots, 2 are in no pool, and it names none: it can never "
                            "start");
}

/* Trials that were taken up under other pools keep their slots until they end. */
static void slots_that_another_pools_trials_hold_are_waited_for(void **state)
{
    char busy[200];
    rgm_master *master;
    working_master w;

    (void)state;
    snprintf(busy, sizeof busy, "%s/busy", folder);
    setenv("FAKE_TRIAL_BUSY", busy, 1);
    create("{name: random, metric: valid.loss, max_trials: 2, max_steps: 4}", "", 2);
    leave_at_work(2, 2);
    put_master_file("pools: {large: {slots: [1]}}\n");
    master = open_master(folder, 2);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 1}",
                      "resources: {pool: large}\n");
    begin_work(&w, master);
    wait_for_reason(master, "needs 1 slot: 0 are there, and the others are drained or held by "
                            "trials of another pool");
    CHECK_OK(rgm_file_save(busy, "", 0));
    for (int k = 0; k < 3000 && !all_over(master, NULL); k++)
        pause_ms(20);
    end_work(&w);
    check_slots_of(master, "/api/v1/experiments/2/runs", "1");
    rgm_json *runs = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(2, int_member(runs, "total"));
    rgm_json_release(runs);
    rgm_master_close(master);
}

/* What an earlier process of the trial wrote is no word of one that was taken up. */
static void a_log_of_before_drains_no_slot(void **state)
{
    static const char word[] = "uncorrectable ECC error\n";
    char path[256];
    rgm_master *master;

    (void)state;
    setenv("FAKE_TRIAL_MS", "600", 1);
    setenv("FAKE_TRIAL_FAIL", "4", 1);
    create("{name: single, metric: valid.loss, max_steps: 8}",
           "max_restarts: 0\nlogs: {drain: [uncorrectable ECC], fatal: [ECC]}\n", 2);
    snprintf(path, sizeof path, "%s/1/1", folder);
    CHECK_OK(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/1/1/trial.log", folder);
    CHECK_OK(rgm_file_save(path, word, (int64_t)strlen(word)));
    leave_at_work(1, 2);
    master = open_master(folder, 2);
    serve_all(master, 60);
    rgm_json *v = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK(strstr(text_member(v, "message"), "step 4 fails, as it was told to") != NULL);
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/slots", NULL);
    CHECK_TEXT("free", text_member(v, "slots.0.state"));
    CHECK_TEXT("free", text_member(v, "slots.1.state"));
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(1, int_member(v, "total"));
    rgm_json_release(v);
    rgm_master_close(master);
}

/* Trials that go on on drained slots count in max_slots. */
static void drained_slots_count_in_max_slots(void **state)
{
    rgm_master *master = open_master(folder, 4);
    char busy[200];
    working_master w;

    (void)state;
    snprintf(busy, sizeof busy, "%s/busy", folder);
    setenv("FAKE_TRIAL_BUSY", busy, 1);
    create_experiment(master, searcher, "resources: {max_slots: 2}\n");
    begin_work(&w, master);
    wait_for_taken(master, 2);
    tell(master, 200, "POST", "/api/v1/slots/drain", "{\"slots\": [0, 1]}");
    wait_for_reason(master, "its experiment is at max_slots 2");
    for (int i = 0; i < 20; i++) { /* turns in which a third might begin */
        rgm_json *v = ask(master, 200, "GET", "/api/v1/master", NULL);

        CHECK_INT(2, int_member(v, "slots_taken"));
        rgm_json_release(v);
        pause_ms(20);
    }
    CHECK_OK(rgm_file_save(busy, "", 0));
    for (int k = 0; k < 3000 && !all_over(master, NULL); k++)
        pause_ms(20);
    CHECK(all_over(master, NULL));
    end_work(&w);
    rgm_master_close(master);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

TESTS(TEST(a_search_is_the_same_as_on_this_machine),
      TEST(a_master_that_is_killed_finds_its_jobs_again), TEST(a_kill_cancels_jobs),
      TEST(jobs_that_fail_are_failures_of_their_trials),
      TEST(a_scheduler_that_refuses_or_is_silent_is_told), TEST(a_table_of_ones_own_is_used),
      TEST(files_that_cannot_be_are_refused), TEST(memory_that_runs_out_is_told),
      TEST(experiments_that_could_not_run_are_refused), TEST(pools_have_slots_of_their_own),
      TEST(drained_slots_get_no_trial), TEST(a_trial_leaves_a_slot_that_is_drained),
      TEST(what_is_too_wide_for_its_pool_says_so), TEST(drained_slots_count_in_max_slots),
      TEST(slots_that_another_pools_trials_hold_are_waited_for),
      TEST(a_log_of_before_drains_no_slot))
