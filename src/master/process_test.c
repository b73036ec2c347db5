/*
 * Whom a master takes for a trial's process, and what becomes of those that a trial starts.
 */
#include "master_check.h"
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/wait.h>

#define TOKEN "0123456789abcdef0123456789abcdef"

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
    unsetenv("FAKE_TRIAL_CHILD");
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* ---- who is one ----------------------------------------------------------------------------- */

/* A process that does nothing, started with that in its environment; when it is another program. */
static pid_t start_sleeper(char *variable)
{
    char *environment[] = {variable, NULL};
    char nothing;
    int ends[2];

    CHECK_INT(0, pipe2(ends, O_CLOEXEC));
    pid_t pid = fork();
    if (pid == 0) {
        execle("/bin/sleep", "sleep", "600", (char *)NULL, environment);
        _exit(127);
    }
    CHECK(pid > 0);
    close(ends[1]);
    CHECK_INT(0, read(ends[0], &nothing, 1)); /* closed by the exec */
    close(ends[0]);
    return pid;
}

static int64_t start_time(pid_t pid)
{
    char path[64], *text, *at;
    int64_t size, started = -1;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    CHECK_OK(rgm_file_load(&text, &size, path, 4096));
    at = strrchr(text, ')');
    for (int field = 2; at != NULL && field < 22; field++)
        at = strchr(at + 1, ' ');
    CHECK(at != NULL && sscanf(at, " %" SCNd64, &started) == 1);
    rgm_free(text);
    return started;
}

static void say_it_runs(pid_t pid)
{
    char path[160], sql[400];
    sqlite3 *connection;

    snprintf(path, sizeof path, "%s/master.db", folder);
    snprintf(sql, sizeof sql,
             "UPDATE trials SET run_token = '" TOKEN "', run_pid = %ld, run_started = %lld,"
             " run_slots = '0' WHERE id = 1",
             (long)pid, (long long)start_time(pid));
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &connection));
    CHECK_INT(SQLITE_OK, sqlite3_exec(connection, sql, NULL, NULL, NULL));
    sqlite3_close(connection);
}

/* Of the process that a row names; it is killed afterwards, whoever it is. */
static bool is_killed_with_its_trial(char *variable)
{
    rgm_master *master = open_master(folder, 1);
    bool killed = false;

    create_experiment(master, "{name: random, metric: valid.loss, max_trials: 1, max_steps: 2}",
                      "");
    rgm_master_close(master);
    pid_t pid = start_sleeper(variable);
    say_it_runs(pid);
    master = open_master(folder, 1);
    tell(master, 200, "POST", "/api/v1/experiments/1/kill", NULL);
    rgm_master_close(master);
    /* A signal that was sent comes before one that is sent now. */
    kill(pid, SIGTERM);
    int status;
    CHECK_INT(pid, waitpid(pid, &status, 0));
    killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    CHECK_OK(rgm_folder_remove(folder));
    CHECK_OK(rgm_folder_make(folder));
    return killed;
}

static void a_number_alone_makes_no_process_a_trials(void **state)
{
    char variable[256];

    (void)state;
    snprintf(variable, sizeof variable, "HOME=/");
    CHECK(!is_killed_with_its_trial(variable)); /* somebody's */
    snprintf(variable, sizeof variable, "REGIMEN_RUN=" TOKEN ":%s.old", folder);
    CHECK(!is_killed_with_its_trial(variable)); /* of the folder that this is a copy of */
    snprintf(variable, sizeof variable, "XREGIMEN_RUN=" TOKEN ":%s", folder);
    CHECK(!is_killed_with_its_trial(variable));
    snprintf(variable, sizeof variable, "REGIMEN_RUN=" TOKEN ":%s", folder);
    CHECK(is_killed_with_its_trial(variable));
}

/* ---- what one starts ------------------------------------------------------------------------ */

/* A process that has ended has no environment any more, whether somebody waits for it or not. */
static bool is_alive(int64_t pid)
{
    char path[64], byte;
    ssize_t size;

    snprintf(path, sizeof path, "/proc/%lld/environ", (long long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size = read(fd, &byte, 1);
    close(fd);
    return size > 0;
}

static void what_a_trial_leaves_running_ends_with_it(void **state)
{
    rgm_master *master = open_master(folder, 2);

    (void)state;
    setenv("FAKE_TRIAL_CHILD", "1", 1);
    create_experiment(master, "{name: random, metric: valid.loss, max_trials: 3, max_steps: 2}",
                      "");
    serve_all(master, 60);
    rgm_master_close(master);
    for (int trial = 1; trial <= 3; trial++) {
        char path[200], *text;
        int64_t size;

        snprintf(path, sizeof path, "%s/1/%d/child", folder, trial);
        CHECK_OK(rgm_file_load(&text, &size, path, 100));
        CHECK(strtol(text, NULL, 10) > 1);
        for (int i = 0; i < 1000 && is_alive(strtol(text, NULL, 10)); i++)
            usleep(10000); /* it is told to end, and takes its time */
        CHECK(!is_alive(strtol(text, NULL, 10)));
        rgm_free(text);
    }
}

TESTS(cmocka_unit_test_setup_teardown(a_number_alone_makes_no_process_a_trials, setup, teardown),
      cmocka_unit_test_setup_teardown(what_a_trial_leaves_running_ends_with_it, setup, teardown))
