/*
 * Trials that Slurm runs, with a cluster that is a script (tests/slurm_cluster.sh):
 * tests/slurm_test.sh does the same with a real one.
 */
#include "master_check.h"
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static const char searcher[] = "{name: random, metric: valid.loss, max_trials: 4, max_steps: 8}";
static const char more[] = "max_restarts: 0\nmin_checkpoint_period: 3\nmin_validation_period: 4\n";
static const char slurm[] = "max_restarts: 0\nmin_checkpoint_period: 3\nmin_validation_period: 4\n"
                            "resources: {max_slots: 2}\n"
                            "scheduler: {type: slurm, partition: fast, memory: 1G, setup: [\"echo "
                            "set up\"]}\n";
static char folder[128], cluster[128];

/* ---- the cluster ---------------------------------------------------------------------------- */

static int setup(void **state)
{
    static const char *const names[] = {"sbatch", "squeue", "sacct", "scancel"};
    char here[512], script[600], path[700];

    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(cluster, sizeof cluster, "%s", check_folder());
    CHECK(getcwd(here, sizeof here) != NULL);
    snprintf(script, sizeof script, "%s/tests/slurm_cluster.sh", here);
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s/%s", cluster, names[i]);
        CHECK_INT(0, symlink(script, path));
    }
    snprintf(path, sizeof path, "%s:/usr/bin:/bin", cluster);
    setenv("PATH", path, 1);
    setenv("FAKE_SLURM", cluster, 1);
    unsetenv("FAKE_TRIAL_MS");
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK && rgm_folder_remove(cluster) == RGM_OK ? 0 : -1;
}

static void put(const char *name, const char *text)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", cluster, name);
    if (text == NULL)
        unlink(path);
    else
        CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- what is waited for --------------------------------------------------------------------- */

static char *run_locally(void)
{
    rgm_master *master = open_master(folder, 2);
    char *text;

    create_experiment(master, searcher, more);
    serve_all(master, 60);
    text = summary(master, 1);
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));
    return text;
}

/* Until a count of an answer is 0. */
static void wait_for_none(rgm_master *master, const char *path, const char *count)
{
    for (int i = 0, left = 1; left > 0; i++) {
        rgm_json *answer = ask(master, 200, "GET", path, NULL);

        left = (int)int_member(answer, count);
        rgm_json_release(answer);
        CHECK(i < 1000);
        pause_ms(20);
    }
}

/* Until the queue's reason of a trial, by its place in it, has these words. */
static void wait_for_reason(rgm_master *master, int64_t at, const char *words)
{
    char name[64], last[512] = "";

    snprintf(name, sizeof name, "queue.%lld.reason", (long long)at);
    for (int i = 0; i < 1000; i++) {
        rgm_json *queue = ask(master, 200, "GET", "/api/v1/queue", NULL);

        snprintf(last, sizeof last, "%s", text_member(queue, name));
        rgm_json_release(queue);
        if (strstr(last, words) != NULL)
            return;
        pause_ms(20);
    }
    fail_msg("the reason is '%s', not '%s'", last, words);
}

static void wait_until_over(rgm_master *master)
{
    for (int i = 0; i < 3000 && !all_over(master, NULL); i++)
        pause_ms(20);
    CHECK(all_over(master, NULL));
}

/* All trials did what they do locally, and none failed in between. */
static void check_same(rgm_master *master, char *expected)
{
    char *got = summary(master, 1);
    rgm_json *trials = ask(master, 200, "GET", "/api/v1/experiments/1/trials", NULL);

    CHECK_TEXT(expected, got);
    for (int i = 0; i < 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "trials.%d.restarts", i);
        CHECK_INT(0, int_member(trials, name));
    }
    rgm_json_release(trials);
    rgm_free(got);
    rgm_free(expected);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void a_search_is_the_same_as_on_this_machine(void **state)
{
    char *expected = run_locally(), path[256], *calls, host[256] = "", words[300];
    rgm_master *master = open_master(folder, 2);
    int64_t size;

    (void)state;
    create_experiment(master, searcher, slurm);
    serve_all(master, 60);
    check_same(master, expected);
    rgm_json *v = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(4, int_member(v, "total"));
    CHECK(atol(text_member(v, "runs.0.slots")) >= 2); /* none of the machine's 0 and 1 */
    rgm_json_release(v);
    v = ask(master, 200, "GET", "/api/v1/trials/1/logs", NULL);
    CHECK(strncmp(text_member(v, "text"), "set up\n", 7) == 0);
    rgm_json_release(v);
    snprintf(path, sizeof path, "%s/calls", cluster);
    CHECK_OK(rgm_file_load(&calls, &size, path, 1 << 20));
    CHECK(strstr(calls, "--partition=fast") != NULL && strstr(calls, "--mem=1G") != NULL);
    gethostname(host, sizeof host - 1);
    host[strcspn(host, ".")] = 0;
    snprintf(words, sizeof words, "--nodelist=%s ", host); /* nobody else reaches the socket */
    CHECK(strstr(calls, words) != NULL);
    rgm_free(calls);
    rgm_master_close(master);
}

static void what_waits_says_why_and_can_be_stopped(void **state)
{
    rgm_master *master = open_master(folder, 1);
    working_master w;

    (void)state;
    put("hold", "");
    begin_work(&w, master);
    create_experiment(master, searcher, slurm);
    wait_for_reason(master, 0, "Slurm job 1 waits: Resources");
    wait_for_reason(master, 1, "Slurm job 2 waits: Resources");
    wait_for_reason(master, 2, "its experiment is at max_slots 2");
    rgm_json *queue = ask(master, 200, "GET", "/api/v1/queue?limit=2&offset=1", NULL);
    CHECK_INT(4, int_member(queue, "total"));
    CHECK_INT(2, rgm_json_count(member(queue, "queue")));
    CHECK_INT(3, int_member(queue, "queue.1.number"));
    rgm_json_release(queue);
    rgm_json *jobs = ask(master, 200, "GET", "/api/v1/running", NULL);
    CHECK_INT(2, int_member(jobs, "total"));
    CHECK_INT(2, int_member(jobs, "running.1.job"));
    CHECK_TEXT("PENDING", text_member(jobs, "running.1.job_state"));
    CHECK_TEXT("Resources", text_member(jobs, "running.1.job_reason"));
    CHECK_TEXT("slurm", text_member(jobs, "running.1.engine"));
    rgm_json_release(jobs);
    tell(master, 200, "POST", "/api/v1/trials/1/kill", NULL);
    wait_for_reason(master, 1, "Slurm job 3 waits"); /* trial 3 has the first one's place */
    tell(master, 200, "POST", "/api/v1/experiments/1/pause", NULL);
    wait_for_none(master, "/api/v1/running", "total");
    put("hold", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/activate", NULL);
    wait_until_over(master);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    CHECK_INT(3, int_member(e, "trials_by_state.COMPLETED"));
    CHECK_INT(1, int_member(e, "trials_by_state.CANCELED"));
    rgm_json_release(e);
    end_work(&w);
    rgm_master_close(master);
}

static void what_slurm_refuses_is_told(void **state)
{
    rgm_master *master = open_master(folder, 1);
    char *config = search_config(searcher, "scheduler: {type: slurm, options: [--array=1-9]}\n");
    char *body = create_body(config, "");
    working_master w;

    (void)state;
    rgm_json *answer = ask(master, 422, "POST", "/api/v1/experiments", body);
    CHECK(strstr(text_member(answer, "message"), "'--array=1-9' is not for trials") != NULL);
    rgm_json_release(answer);
    rgm_free(body);
    rgm_free(config);
    put("refuse", "sbatch: error: Batch job submission failed: Invalid partition name specified\n");
    begin_work(&w, master);
    create_experiment(master, searcher, slurm);
    wait_for_reason(master, 0,
                    "Slurm takes no job of it: sbatch ended with status 1: sbatch: "
                    "error: Batch job submission failed: Invalid partition name");
    put("refuse", "sbatch: error: Batch job submission failed: Unable to contact slurm "
                  "controller (connect failure)\n");
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    wait_until_over(master);
    end_work(&w);
    setenv("PATH", "/usr/sbin:/sbin", 1);
    config = search_config(searcher, slurm);
    body = create_body(config, "");
    if (access("/usr/sbin/sbatch", X_OK) != 0) {
        answer = ask(master, 422, "POST", "/api/v1/experiments", body);
        CHECK(strstr(text_member(answer, "message"), "no program 'sbatch'") != NULL);
        rgm_json_release(answer);
    }
    rgm_free(body);
    rgm_free(config);
    rgm_master_close(master);
}

/* Until what is said of a job in the list of what runs has these words. */
static void wait_for_job(rgm_master *master, int64_t job, const char *words)
{
    char last[512] = "";

    for (int i = 0; i < 1000; i++) {
        rgm_json *answer = ask(master, 200, "GET", "/api/v1/running", NULL);
        const rgm_json *list = member(answer, "running");

        for (int64_t k = 0; k < rgm_json_count(list); k++)
            if (int_member(rgm_json_at(list, k), "job") == job) {
                const char *said = rgm_json_text(member(rgm_json_at(list, k), "job_reason"));

                snprintf(last, sizeof last, "%s", said != NULL ? said : "");
            }
        rgm_json_release(answer);
        if (strstr(last, words) != NULL)
            return;
        pause_ms(20);
    }
    fail_msg("job %lld: '%s', not '%s'", (long long)job, last, words);
}

/* While Slurm ends no job the others are looked at and begin, and it is asked again. */
static void what_is_not_ended_is_told_and_asked_for_again(void **state)
{
    static const char silent[] = "scancel: error: Kill job error on job id 1: Unable to contact "
                                 "slurm controller (connect failure)\n";
    rgm_master *master = open_master(folder, 1);
    working_master w;

    (void)state;
    put("hold", "");
    put("spare", silent);
    begin_work(&w, master);
    create_experiment(master, searcher, slurm);
    wait_for_reason(master, 0, "Slurm job 1 waits: Resources");
    wait_for_reason(master, 1, "Slurm job 2 waits: Resources");
    tell(master, 200, "POST", "/api/v1/trials/1/kill", NULL);
    wait_for_job(master, 1, "it is not killed: scancel ended with status 1: scancel: error: Kill");
    put("jobs/2/lost", "");
    put("jobs/2/cancelled", "");
    wait_for_reason(master, 1, "Slurm job 3 waits: Resources"); /* trial 2 again */
    tell(master, 200, "POST", "/api/v1/experiments/1/pause", NULL);
    wait_for_job(master, 3, "it is not stopped: scancel ended with status 1");
    put("spare", NULL);
    wait_for_none(master, "/api/v1/running", "total");
    put("hold", NULL);
    tell(master, 200, "POST", "/api/v1/experiments/1/activate", NULL);
    wait_until_over(master);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_INT(3, int_member(e, "trials_by_state.COMPLETED"));
    CHECK_INT(1, int_member(e, "trials_by_state.CANCELED"));
    rgm_json_release(e);
    end_work(&w);
    rgm_master_close(master);
}

/* Slurm says that they run, and nothing is ever heard of their processes. */
static void a_job_that_never_speaks_is_ended_with_the_reason(void **state)
{
    rgm_master *master = open_master(folder, 1);
    rgm_json *t;

    (void)state;
    put("mute", "");
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}",
                      "limits: {silent_seconds: 1}\nmax_restarts: 1\nscheduler: {type: slurm}\n");
    serve_all(master, 60);
    t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK_TEXT("ERROR", text_member(t, "state"));
    CHECK_INT(2, int_member(t, "restarts"));
    CHECK(strstr(text_member(t, "message"), "its Slurm job 2 has run for ") != NULL);
    CHECK(strstr(text_member(t, "message"), "its process never spoke") != NULL);
    CHECK(strstr(text_member(t, "message"), "limits.silent_seconds is 1") != NULL);
    rgm_json_release(t);
    rgm_master_close(master);
}

/* Where the run of a trial stands in a timeline; "": it has not begun, or is over. */
static void find_lane(char lane[32], rgm_master *master, int64_t trial)
{
    rgm_json *v = ask(master, 200, "GET", "/api/v1/running", NULL);

    lane[0] = 0;
    for (int64_t i = 0; i < rgm_json_count(member(v, "running")); i++) {
        const rgm_json *row = rgm_json_at(member(v, "running"), i);
        const char *slots = rgm_json_text(member(row, "slots"));

        if (int_member(row, "trial_id") == trial && slots != NULL)
            snprintf(lane, 32, "%s", slots);
    }
    rgm_json_release(v);
}

static void wait_for_lane(char lane[32], rgm_master *master, int64_t trial)
{
    for (int i = 0; i < 1000; i++) {
        find_lane(lane, master, trial);
        if (lane[0] != 0)
            return;
        pause_ms(20);
    }
    fail_msg("trial %lld has not begun in time", (long long)trial);
}

/* Of three, the first of which ends while the second goes on. */
static void jobs_at_a_time_have_lanes_of_their_own(void **state)
{
    rgm_master *master = open_master(folder, 1);
    char second[32], third[32], now[32];
    working_master w;

    (void)state;
    setenv("FAKE_TRIAL_MS", "3000", 1);
    begin_work(&w, master);
    create_experiment(master, searcher, slurm);
    wait_for_lane(third, master, 1);
    wait_for_lane(second, master, 2);
    tell(master, 200, "POST", "/api/v1/trials/1/kill", NULL);
    wait_for_lane(third, master, 3);
    find_lane(now, master, 2);
    CHECK_TEXT(second, now); /* it still runs */
    CHECK(strcmp(second, third) != 0);
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    wait_until_over(master);
    end_work(&w);
    rgm_master_close(master);
}

/* Its search has no trial at work, and says why; a bound on the time of work is not met. */
static void a_job_that_waits_is_not_at_work(void **state)
{
    rgm_master *master = open_master(folder, 1);
    working_master w;
    rgm_json *e;

    (void)state;
    put("hold", "");
    begin_work(&w, master);
    create_experiment(master, searcher, "limits: {search_seconds: 1}\nscheduler: {type: slurm}\n");
    wait_for_reason(master, 3, "Slurm job 4 waits: Resources");
    pause_ms(2500);
    e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("ACTIVE", text_member(e, "state"));
    CHECK_INT(0, int_member(e, "running"));
    CHECK(strstr(text_member(e, "waits"), "waits: Resources") != NULL);
    rgm_json_release(e);
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    wait_until_over(master);
    end_work(&w);
    rgm_master_close(master);
}

/* The number of a job that runs, 0: none does. */
static int64_t find_running(rgm_master *master, int64_t *out_steps)
{
    rgm_json *list = ask(master, 200, "GET", "/api/v1/experiments/1/trials?state=ACTIVE", NULL);
    const rgm_json *items = member(list, "trials");
    int64_t job = 0, steps = 0;

    for (int64_t i = 0; i < rgm_json_count(items); i++)
        if (rgm_json_int(&steps, member(rgm_json_at(items, i), "steps")) && steps > 2 &&
            rgm_json_int(&job, member(rgm_json_at(items, i), "job")))
            break;
    rgm_json_release(list);
    *out_steps = steps;
    return job;
}

/* The number of a job whose process has taken a step: it hears signals by now. */
static int64_t wait_for_working(rgm_master *master)
{
    int64_t first = 0, begun = 0, job, steps;

    while ((job = find_running(master, &steps)) == 0 || job != first || steps <= begun) {
        if (job != first) {
            first = job;
            begun = steps;
        }
        pause_ms(10);
    }
    return job;
}

static void a_lost_node_and_a_told_end_are_no_failures(void **state)
{
    char *expected = run_locally(), name[64], path[256], *pid;
    rgm_master *master = open_master(folder, 1);
    working_master w;
    int64_t size;

    (void)state;
    setenv("FAKE_TRIAL_MS", "60", 1);
    begin_work(&w, master);
    create_experiment(master, searcher, slurm);
    for (int signal_number = SIGKILL; signal_number != 0;
         signal_number = signal_number == SIGKILL ? SIGTERM : 0) {
        int64_t job = wait_for_working(master), steps;

        if (signal_number == SIGKILL) {
            snprintf(name, sizeof name, "jobs/%lld/lost", (long long)job);
            put(name, "");
        }
        snprintf(path, sizeof path, "%s/jobs/%lld/pid", cluster, (long long)job);
        CHECK_OK(rgm_file_load(&pid, &size, path, 100));
        CHECK_INT(0, kill((pid_t)atol(pid), signal_number)); /* SIGTERM: its time is nearly over */
        rgm_free(pid);
        while (find_running(master, &steps) == job)
            pause_ms(10);
    }
    wait_until_over(master);
    check_same(master, expected);
    rgm_json *runs = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(6, int_member(runs, "total"));
    rgm_json_release(runs);
    end_work(&w);
    rgm_master_close(master);
}

static void masters_that_are_killed_find_their_jobs(void **state)
{
    char *expected = run_locally();
    char *argv[] = {(char *)(uintptr_t)beside("master_lab"), folder, (char[]){"2"}, NULL};
    rgm_master *master = open_master(folder, 2);
    int status = -1, killed = 0;
    bool over = false;

    (void)state;
    create_experiment(master, searcher, slurm);
    rgm_master_close(master);
    setenv("FAKE_TRIAL_MS", "60", 1);
    for (int turn = 0; !over; turn++) {
        pid_t lab;

        CHECK_INT(0, posix_spawn(&lab, argv[0], NULL, NULL, argv, environ));
        for (int waited = 0; !over && (turn >= 6 || waited < 30 + 50 * turn); waited++) {
            pause_ms(10);
            over = waitpid(lab, &status, WNOHANG) == lab;
        }
        if (!over) {
            kill(lab, SIGKILL);
            waitpid(lab, &status, 0);
            killed++;
        }
    }
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK(killed >= 2);
    master = open_master(folder, 2);
    check_same(master, expected);
    rgm_json *runs = ask(master, 200, "GET", "/api/v1/experiments/1/runs", NULL);
    CHECK_INT(4, int_member(runs, "total")); /* no run was lost */
    rgm_json_release(runs);
    rgm_master_close(master);
}

static void jobs_of_other_hosts_come_by_tcp(void **state)
{
    char *expected = run_locally(), listen[64], path[256], address[128];
    rgm_master_options options = {.folder = folder,
                                  .slots = 1,
                                  .threads_per_slot = 1,
                                  .trial_command = fake_command(),
                                  .listen = listen,
                                  .orphan_seconds = 30};
    rgm_master *master;
    working_master w;

    (void)state;
    put("hold", "");
    snprintf(listen, sizeof listen, "127.0.0.1:%d", 20000 + getpid() % 20000);
    CHECK_OK(rgm_master_open(&master, &options));
    begin_work(&w, master);
    create_experiment(master, searcher, slurm);
    snprintf(path, sizeof path, "%s/master.address", folder);
    snprintf(address, sizeof address, "elsewhere\nhttp://%s\n", listen);
    CHECK_OK(rgm_file_save(path, address, (int64_t)strlen(address)));
    snprintf(path, sizeof path, "%s/master.sock", folder);
    CHECK_INT(0, unlink(path));
    put("hold", NULL);
    wait_until_over(master);
    check_same(master, expected);
    end_work(&w);
    rgm_master_close(master);
}

TESTS(cmocka_unit_test_setup_teardown(a_search_is_the_same_as_on_this_machine, setup, teardown),
      cmocka_unit_test_setup_teardown(what_waits_says_why_and_can_be_stopped, setup, teardown),
      cmocka_unit_test_setup_teardown(what_slurm_refuses_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_not_ended_is_told_and_asked_for_again, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_job_that_never_speaks_is_ended_with_the_reason, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(jobs_at_a_time_have_lanes_of_their_own, setup, teardown),
      cmocka_unit_test_setup_teardown(a_job_that_waits_is_not_at_work, setup, teardown),
      cmocka_unit_test_setup_teardown(a_lost_node_and_a_told_end_are_no_failures, setup, teardown),
      cmocka_unit_test_setup_teardown(masters_that_are_killed_find_their_jobs, setup, teardown),
      cmocka_unit_test_setup_teardown(jobs_of_other_hosts_come_by_tcp, setup, teardown))
