/*
 * regimen run --restarts N: a parent that has no part in the run but to start it again when it was
 * killed, crashed or was preempted. What is lost is what the last checkpoint does not have.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "verb_run.h"

#define LONGEST_WAIT 60 /* seconds between two starts */

static volatile sig_atomic_t child;   /* 0: none is under way */
static volatile sig_atomic_t signals; /* that the parent got  */

/*
 * A terminal's Ctrl-C, and what kills a whole job, reach the child as well: so the first signal is
 * passed on as SIGUSR1, which saves and stops like the others and does not count as the second of
 * its kind, which ends the child at once. A second one here does.
 */
static void pass_on(int number)
{
    int saved = errno;

    (void)number;
    signals++;
    if (child > 0)
        kill((pid_t)child, signals == 1 ? SIGUSR1 : SIGKILL);
    errno = saved;
}

static const int caught[] = {SIGINT, SIGTERM, SIGUSR1, SIGHUP};
#define CAUGHT (int)(sizeof caught / sizeof *caught)

static void handle_signals(void (*handler)(int))
{
    console_handle_signals(caught, CAUGHT, handler, 0);
}

/* 0 in the child, which ends with its parent; -1 when there can be none. Signals wait meanwhile. */
static pid_t start_child(void)
{
    pid_t parent = getpid(), pid;
    sigset_t set, before;

    sigemptyset(&set);
    for (int i = 0; i < CAUGHT; i++)
        sigaddset(&set, caught[i]);
    sigprocmask(SIG_BLOCK, &set, &before);
    pid = fork();
    if (pid == 0) {
        handle_signals(SIG_DFL);
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(EXIT_CONTINUE);
    } else if (pid > 0) {
        child = pid;
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return pid;
}

static int wait_for_child(void)
{
    int status = 0;

    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
        continue;
    child = 0;
    return status;
}

/* -1: no checkpoint yet. */
static int64_t newest_step(const char *run_dir)
{
    const rgm_checkpoint_store_options options = {.keep = 1, .read_only = true};
    rgm_checkpoint_store *store = NULL;
    int64_t *steps = NULL, count = 0, newest = -1;
    char *path = NULL;

    if (rgm_path_join(&path, run_dir, "ckpt") == RGM_OK &&
        rgm_checkpoint_store_open(&store, path, &options) == RGM_OK &&
        rgm_checkpoint_steps(&steps, &count, store) == RGM_OK && count > 0)
        newest = steps[count - 1];
    rgm_error_reset();
    rgm_free(steps);
    rgm_checkpoint_store_close(store);
    rgm_free(path);
    return newest;
}

static void describe(char text[160], int status)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (number == SIGKILL)
        snprintf(text, 160, "was killed by SIGKILL, as the system does when memory is short");
    else if (number != 0)
        snprintf(text, 160, "ended by signal %d (%s)", number, strsignal(number));
    else if (WEXITSTATUS(status) == EXIT_CONTINUE)
        snprintf(text, 160, "was stopped and has saved its state");
    else
        snprintf(text, 160, "failed with status %d", WEXITSTATUS(status));
}

/* How a start ended, as a shell tells it. */
static int code_of(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/*
 * Whether another start can help. Done is done; wrong usage or configuration stays wrong; who
 * signals this process wants it to end; and an error that is met without getting any further would
 * be met again.
 */
static bool is_final(int status, bool progress)
{
    int code = code_of(status);

    return code == EXIT_DONE || code == EXIT_USAGE || signals > 0 ||
           (code == EXIT_FAILED && !progress);
}

/* Seconds that double with each start in vain; a signal cuts them short. */
static void wait_before(int64_t vain)
{
    unsigned seconds = vain < 6 ? 1u << vain : LONGEST_WAIT;

    while (signals == 0 && (seconds = sleep(seconds)) > 0)
        continue;
}

int run_with_restarts(rgm_experiment *experiment, const run_request *request)
{
    int64_t vain = 0; /* starts in a row that left no newer checkpoint */

    handle_signals(pass_on);
    if (signals > 0) /* during the run before this one, of a series */
        return EXIT_CONTINUE;
    for (;;) {
        int64_t before = newest_step(request->run_dir), after;
        pid_t pid = start_child();
        char why[160];
        int status;

        if (pid < 0) {
            fprintf(stderr, "regimen: cannot start the run: %s\n", strerror(errno));
            return EXIT_FAILED;
        }
        if (pid == 0)
            return run_experiment(experiment, request);
        status = wait_for_child();
        after = newest_step(request->run_dir);
        if (is_final(status, after > before))
            return code_of(status);
        describe(why, status);
        vain = after > before ? 0 : vain + 1;
        if (vain > request->restarts) {
            say("gave up", "the run %s; %s starts in a row brought no new checkpoint", why,
                grouped(vain));
            return code_of(status);
        }
        say("restart", "the run %s; it is started again from %s%s", why,
            after < 0 ? "its beginning" : "step ", after < 0 ? "" : grouped(after));
        wait_before(vain);
        if (signals > 0)
            return EXIT_CONTINUE;
    }
}
