/*
 * Masters and trials killed at random moments: the experiment ends with the trials, metrics and
 * best checkpoint of an undisturbed one, and every result was told to the searcher once. RGM_KILLS
 * is how many times each (10).
 */
#include <fcntl.h>
#include "master_check.h"
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static const char searcher[] = "{name: random, metric: valid.loss, max_trials: 12, max_steps: 8}";
static const char more[] = "max_restarts: 1000\nmin_checkpoint_period: 3\n"
                           "min_validation_period: 4\n";
static char folder[128];
static uint64_t draws;

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static int64_t kills(void)
{
    const char *text = getenv("RGM_KILLS");

    return text != NULL ? atol(text) : 10;
}

static void pause_ms(int64_t ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static int64_t draw(int64_t below)
{
    rgm_rng rng = rgm_rng_stream(11, "kill", 0);

    return (int64_t)rgm_rng_below(&rng, draws++, (uint64_t)below);
}

static pid_t start_lab(void)
{
    char *argv[] = {(char *)(uintptr_t)beside("master_lab"), folder, (char[]){"2"}, NULL};
    pid_t pid;

    CHECK_INT(0, posix_spawn(&pid, argv[0], NULL, NULL, argv, environ));
    return pid;
}

/* One of the trials' processes that the database knows, or 0. */
static pid_t find_trial(void)
{
    rgm_client *client;
    rgm_json *list = NULL;
    pid_t found = 0;

    CHECK_OK(rgm_client_open(&client, folder, NULL));
    if (rgm_client_call(&list, client, "GET", "/api/v1/experiments/1/trials?state=ACTIVE", NULL) ==
        RGM_OK) {
        const rgm_json *items = member(list, "trials");
        int64_t count = rgm_json_count(items), first = count > 0 ? draw(count) : 0, pid;

        for (int64_t i = 0; i < count && found == 0; i++)
            if (rgm_json_int(&pid, member(rgm_json_at(items, (first + i) % count), "pid")))
                found = (pid_t)pid;
    }
    rgm_json_release(list);
    rgm_client_close(client);
    return found;
}

static char *run_undisturbed(void)
{
    rgm_master *master = open_master(folder, 2);
    char *text;

    create_experiment(master, searcher, more);
    serve_all(master, 120);
    text = summary(master, 1);
    rgm_master_close(master);
    CHECK_OK(rgm_folder_remove(folder));
    return text;
}

static void check_events(rgm_master *master)
{
    rgm_json *events = ask(master, 200, "GET", "/api/v1/experiments/1/events?limit=1000", NULL);
    int64_t count[3][13] = {{0}};

    for (int64_t i = 0; i < rgm_json_count(member(events, "events")); i++) {
        const rgm_json *event = rgm_json_at(member(events, "events"), i);
        const char *kind = text_member(event, "kind");
        int at = strcmp(kind, "trained") == 0 ? 0 : strcmp(kind, "validated") == 0 ? 1 : 2;

        count[at][int_member(event, "trial")]++;
    }
    for (int kind = 0; kind < 3; kind++)
        for (int trial = 1; trial <= 12; trial++)
            CHECK_INT(1, count[kind][trial]);
    rgm_json_release(events);
}

/* kill: the master, or a trial of it. A master that ended by itself has ended the experiment. */
static void disturb(bool kills_master, bool kills_trials)
{
    int64_t done_master = 0, done_trials = 0, most = kills();
    bool over = false;
    int status;

    for (int turn = 0; !over && turn < 100000; turn++) {
        pid_t lab = start_lab();
        double until = rgm_now() + (double)(50 + draw(400)) / 1000;

        while (!over && (rgm_now() < until || !kills_master || done_master >= most)) {
            pid_t trial = kills_trials && done_trials < most ? find_trial() : 0;

            if (trial > 0 && kill(trial, SIGKILL) == 0)
                done_trials++;
            pause_ms(1 + draw(30));
            over = waitpid(lab, &status, WNOHANG) == lab;
        }
        if (!over) {
            kill(lab, SIGKILL);
            waitpid(lab, &status, 0);
            done_master++;
        }
    }
    CHECK(over && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    print_message("killed %lld masters, %lld trials\n", (long long)done_master,
                  (long long)done_trials);
    CHECK(!kills_master || done_master > 0);
    CHECK(!kills_trials || done_trials > 0);
}

static void ends_the_same(bool kills_master, bool kills_trials)
{
    char *undisturbed = run_undisturbed(), *got, ms[32];
    rgm_master *master = open_master(folder, 2);

    create_experiment(master, searcher, more);
    rgm_master_close(master);
    snprintf(ms, sizeof ms, "%lld", (long long)(2 + kills() * 3));
    setenv("FAKE_TRIAL_MS", ms, 1);
    disturb(kills_master, kills_trials);
    unsetenv("FAKE_TRIAL_MS");
    master = open_master(folder, 2);
    got = summary(master, 1);
    CHECK_TEXT(undisturbed, got);
    check_events(master);
    rgm_master_close(master);
    rgm_free(undisturbed);
    rgm_free(got);
}

static void masters_that_are_killed_lose_nothing(void **state)
{
    (void)state;
    ends_the_same(true, false);
}

static void trials_that_are_killed_lose_nothing(void **state)
{
    (void)state;
    ends_the_same(false, true);
}

static void both_killed_lose_nothing(void **state)
{
    (void)state;
    ends_the_same(true, true);
}

/* Nobody comes back: a trial's process waits as long as it was told to, and ends by itself. */
static void processes_without_a_master_end(void **state)
{
    rgm_master *master = open_master(folder, 2);
    struct pollfd look = {.fd = -1, .events = POLLIN};
    pid_t lab, trial = 0;
    int status;

    (void)state;
    create_experiment(master, searcher, more);
    rgm_master_close(master);
    setenv("FAKE_TRIAL_MS", "50", 1);
    setenv("RGM_ORPHAN_SECONDS", "1", 1);
    lab = start_lab();
    for (int i = 0; i < 1000 && trial == 0; i++) {
        pause_ms(10);
        trial = find_trial();
    }
    CHECK(trial > 0);
    look.fd = pidfd_open(trial, 0);
    CHECK(look.fd >= 0);
    kill(lab, SIGKILL);
    waitpid(lab, &status, 0);
    CHECK_INT(0, poll(&look, 1, 500));   /* it lives on at first */
    CHECK_INT(1, poll(&look, 1, 30000)); /* 10 s where it was not answered yet */
    close(look.fd);
    unsetenv("FAKE_TRIAL_MS");
    unsetenv("RGM_ORPHAN_SECONDS");
}

TESTS(cmocka_unit_test_setup_teardown(processes_without_a_master_end, setup, teardown),
      cmocka_unit_test_setup_teardown(masters_that_are_killed_lose_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(trials_that_are_killed_lose_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(both_killed_lose_nothing, setup, teardown))
