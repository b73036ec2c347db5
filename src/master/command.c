/*
 * A program run to its end.
 */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ERROR 4096

void rgmi_outcome_clear(rgmi_outcome *outcome)
{
    rgm_text_clear(&outcome->out);
    rgm_text_clear(&outcome->error);
    *outcome = (rgmi_outcome){0};
}

/* ---- its start ---- */

typedef struct running_command {
    const rgmi_command *command;
    pid_t pid;  /* 0: it does not run                       */
    int fds[2]; /* its standard output and error, or -1     */
    double deadline;
} running_command;

static rgm_status start(running_command *run)
{
    const char *name = run->command->argv[0];
    int out[2], error[2], failed;

    if (pipe2(out, O_CLOEXEC) != 0)
        return RGM_FAIL_SYSTEM("make a pipe for", name);
    if (pipe2(error, O_CLOEXEC) != 0) {
        rgm_status status = RGM_FAIL_SYSTEM("make a pipe for", name);

        close(out[0]);
        close(out[1]);
        return status;
    }
    failed =
        rgm_process_start(&run->pid, &(rgm_process_setup){.argv = run->command->argv,
                                                          .environment = run->command->environment,
                                                          .out = out[1],
                                                          .error = error[1],
                                                          .is_closed = true});
    close(out[1]);
    close(error[1]);
    run->fds[0] = out[0];
    run->fds[1] = error[0];
    if (failed == 0)
        return RGM_OK;
    run->pid = 0;
    errno = failed;
    return failed == ENOENT
               ? RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no program '%s' on the PATH", name)
               : RGM_FAIL_SYSTEM("run", name);
}

/* ---- what it prints ---- */

/* One reading; the end closes it. Of errors the first part is enough. */
static rgm_status take(running_command *run, int i, rgmi_outcome *out)
{
    char buffer[65536];
    ssize_t size = read(run->fds[i], buffer, sizeof buffer);

    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return RGM_OK;
    if (size <= 0) {
        close(run->fds[i]);
        run->fds[i] = -1;
        return RGM_OK;
    }
    if (i == 0 && size > run->command->max_size - out->out.size)
        return RGM_FAIL(RGM_ERR_IO, "%s printed more than %lld bytes", run->command->argv[0],
                        (long long)run->command->max_size);
    if (i == 1 && size > MAX_ERROR - out->error.size)
        size = MAX_ERROR - out->error.size;
    return rgm_text_add(i == 0 ? &out->out : &out->error, buffer, size);
}

static rgm_status too_late(const running_command *run)
{
    return RGM_FAIL(RGM_ERR_IO, "%s has not answered within %g s", run->command->argv[0],
                    run->command->seconds);
}

static rgm_status listen_to(running_command *run, rgmi_outcome *out)
{
    while (run->fds[0] >= 0 || run->fds[1] >= 0) {
        struct pollfd polled[2] = {{.fd = run->fds[0], .events = POLLIN},
                                   {.fd = run->fds[1], .events = POLLIN}};
        double left = run->deadline - rgm_now();

        if (left <= 0)
            return too_late(run);
        if (poll(polled, 2, left > 1000 ? 1000000 : (int)(left * 1000) + 1) < 0 && errno != EINTR)
            return RGM_FAIL_SYSTEM("listen to", run->command->argv[0]);
        for (int i = 0; i < 2; i++)
            if (run->fds[i] >= 0 && polled[i].revents != 0)
                RGM_TRY(take(run, i, out));
    }
    return RGM_OK;
}

/* It closed what it prints to; its end is near, or it hangs. */
static rgm_status wait_for(running_command *run, int *exit_status)
{
    int how;

    for (int nap = 1000;; nap = nap < 50000 ? nap * 2 : nap) {
        pid_t ended = waitpid(run->pid, &how, WNOHANG);

        if (ended == run->pid)
            break;
        if (ended < 0 && errno != EINTR) {
            run->pid = 0;
            return RGM_FAIL_SYSTEM("learn how it ended:", run->command->argv[0]);
        }
        if (rgm_now() > run->deadline)
            return too_late(run);
        usleep((useconds_t)nap);
    }
    run->pid = 0;
    *exit_status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
    return RGM_OK;
}

static void put_an_end_to(running_command *run)
{
    for (int i = 0; i < 2; i++)
        if (run->fds[i] >= 0)
            close(run->fds[i]);
    if (run->pid <= 0)
        return;
    kill(run->pid, SIGKILL);
    while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
        ;
}

rgm_status rgmi_command_run(rgmi_outcome *out, const rgmi_command *command)
{
    rgm_status status = RGM_OK;
    running_command run = {
        .command = command, .fds = {-1, -1}, .deadline = rgm_now() + command->seconds};

    *out = (rgmi_outcome){0};
    RGM_GO(rgm_text_add(&out->out, "", 0)); /* an empty text is text, too */
    RGM_GO(rgm_text_add(&out->error, "", 0));
    RGM_GO(start(&run));
    RGM_GO(listen_to(&run, out));
    RGM_GO(wait_for(&run, &out->exit_status));
done:
    put_an_end_to(&run);
    if (status != RGM_OK)
        rgmi_outcome_clear(out);
    return status;
}

/* What goes before the last line are steps. */
rgm_status rgmi_command_fail(rgm_status status, const char *program, const rgmi_outcome *out)
{
    const char *said = out->error.data != NULL ? out->error.data : "";
    int64_t end = out->error.data != NULL ? out->error.size : 0, begin;

    while (end > 0 && said[end - 1] == '\n')
        end--;
    for (begin = end; begin > 0 && said[begin - 1] != '\n'; begin--)
        ;
    return RGM_FAIL(status, "%s ended with status %d: %.*s", program, out->exit_status,
                    (int)(end - begin), said + begin);
}
