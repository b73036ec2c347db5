/*
 * Processes: what one is started with, and names that tell whether one still runs.
 */
#include <check.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a shell prints of a script, and how it ended. */
static int run(char *out, size_t room, const char *script, rgm_process_setup setup)
{
    const char *words[] = {"sh", "-c", script, NULL};
    int ends[2], how;
    ssize_t size;
    pid_t pid;

    CHECK_INT(0, pipe2(ends, O_CLOEXEC));
    setup.argv = words;
    setup.out = setup.error = ends[1];
    CHECK_INT(0, rgm_process_start(&pid, &setup));
    close(ends[1]);
    for (size_t used = 0; (size = read(ends[0], out + used, room - 1 - used)) > 0;)
        out[used += (size_t)size] = '\0';
    close(ends[0]);
    CHECK_INT(pid, waitpid(pid, &how, 0));
    return how;
}

static void a_process_has_what_it_is_started_with(void **state)
{
    const char *variables[] = {"WORD=a b", "PATH=/usr/bin:/bin", NULL}, *nothing[] = {"", NULL};
    char out[200], script[80];
    int open_fd = dup(0), ends[2];
    pid_t pid;

    (void)state;
    CHECK_INT(0, run(out, sizeof out, "echo \"$WORD\"; pwd; wc -c",
                     (rgm_process_setup){.environment = variables, .folder = "/"}));
    CHECK_TEXT("a b\n/\n0\n", out);
    CHECK_INT(0, pipe2(ends, O_CLOEXEC));
    CHECK_INT(5, write(ends[1], "hello", 5));
    close(ends[1]);
    CHECK_INT(0, run(out, sizeof out, "cat", (rgm_process_setup){.in = ends[0]}));
    CHECK_TEXT("hello", out);
    close(ends[0]);
    snprintf(script, sizeof script, "[ -e /proc/self/fd/%d ] && echo open || echo closed", open_fd);
    CHECK_INT(0, run(out, sizeof out, script, (rgm_process_setup){0}));
    CHECK_TEXT("open\n", out);
    CHECK_INT(0, run(out, sizeof out, script, (rgm_process_setup){.is_closed = true}));
    CHECK_TEXT("closed\n", out);
    close(open_fd);
    nothing[0] = "/nowhere/at/all";
    CHECK_INT(ENOENT, rgm_process_start(&pid, &(rgm_process_setup){.argv = nothing}));
}

static void no_signal_is_ignored_or_blocked_in_it(void **state)
{
    sigset_t all, before;
    char out[80];

    (void)state;
    signal(SIGPIPE, SIG_IGN);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    CHECK_INT(SIGPIPE, run(out, sizeof out, "kill -PIPE $$", (rgm_process_setup){0}));
    sigprocmask(SIG_SETMASK, &before, NULL);
    signal(SIGPIPE, SIG_DFL);
}

static void a_group_of_its_own_has_its_number(void **state)
{
    const char *words[] = {"sleep", "60", NULL};
    pid_t pid;

    (void)state;
    CHECK_INT(0,
              rgm_process_start(&pid, &(rgm_process_setup){.argv = words, .group = RGM_GROUP_OWN}));
    CHECK_INT(pid, getpgid(pid));
    CHECK_INT(0, kill(-pid, SIGKILL));
    CHECK_INT(pid, waitpid(pid, NULL, 0));
    CHECK_INT(0, rgm_process_start(
                     &pid, &(rgm_process_setup){.argv = words, .group = RGM_GROUP_SESSION}));
    CHECK_INT(pid, getsid(pid));
    CHECK_INT(0, kill(pid, SIGKILL));
    CHECK_INT(pid, waitpid(pid, NULL, 0));
}

/* The name of a child that has one, and lives until the pipe is closed. */
static pid_t begin_named(char name[RGM_PROCESS_NAME_ROOM], int *lives)
{
    int said[2], held[2];
    pid_t pid;

    CHECK_INT(0, pipe2(said, O_CLOEXEC));
    CHECK_INT(0, pipe2(held, O_CLOEXEC));
    pid = fork();
    if (pid == 0) {
        char own[RGM_PROCESS_NAME_ROOM] = "", byte;

        rgm_process_name(own);
        close(held[1]);
        _exit(write(said[1], own, sizeof own) < 0 || read(held[0], &byte, 1) != 0);
    }
    close(said[1]);
    close(held[0]);
    CHECK_INT(RGM_PROCESS_NAME_ROOM, read(said[0], name, RGM_PROCESS_NAME_ROOM));
    close(said[0]);
    *lives = held[1];
    return pid;
}

static void a_name_tells_whether_its_process_runs(void **state)
{
    char name[RGM_PROCESS_NAME_ROOM], other[RGM_PROCESS_NAME_ROOM + 8];
    siginfo_t info;
    int lives;
    pid_t pid;

    (void)state;
    rgm_process_name(name);
    CHECK(!rgm_process_has_ended(name));
    CHECK(rgm_process_began(getpid()) > 0);
    CHECK_INT(-1, rgm_process_began(-1));
    pid = begin_named(name, &lives);
    CHECK(!rgm_process_has_ended(name));
    close(lives);
    CHECK_INT(0, waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT));
    CHECK(rgm_process_has_ended(name)); /* nobody has asked how it ended yet */
    CHECK_INT(pid, waitpid(pid, NULL, 0));
    CHECK(rgm_process_has_ended(name));
    snprintf(other, sizeof other, "x%s", name); /* another host's */
    CHECK(!rgm_process_has_ended(other));
    CHECK(!rgm_process_has_ended(""));
    CHECK(!rgm_process_has_ended("a/b"));
}

/* The variable is there once, whether it was set before or not; the others are as they were. */
static void an_environment_has_one_variable_more(void **state)
{
    const char **variables;
    char out[200];

    (void)state;
    CHECK_INT(0, setenv("RGM_WORD", "old", 1));
    CHECK_INT(0, setenv("RGM_WORDS", "kept", 1));
    CHECK_OK(rgm_environment_with(&variables, "RGM_WORD=new"));
    CHECK_INT(0, run(out, sizeof out, "env | grep -c ^RGM_WORD=; echo $RGM_WORD $RGM_WORDS",
                     (rgm_process_setup){.environment = variables}));
    CHECK_TEXT("1\nnew kept\n", out);
    rgm_free(variables);
    CHECK_INT(0, unsetenv("RGM_WORD"));
    CHECK_EVERY_OOM(rgm_environment_with(&variables, "RGM_WORD=new"), rgm_free(variables));
    CHECK_INT(0, unsetenv("RGM_WORDS"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_has_what_it_is_started_with),
        cmocka_unit_test(no_signal_is_ignored_or_blocked_in_it),
        cmocka_unit_test(a_group_of_its_own_has_its_number),
        cmocka_unit_test(an_environment_has_one_variable_more),
        cmocka_unit_test(a_name_tells_whether_its_process_runs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
