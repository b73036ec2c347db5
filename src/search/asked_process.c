/*
 * A searcher's process: started in a group of its own, its standard input a socket, so that a
 * process that has gone is an error of a write and no signal, its standard output a pipe.
 */
#include "asked.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_ANSWER = 1 << 20 };

/* ---- start and end -------------------------------------------------------------------------- */

static rgm_status spawn(rgmi_asked_process *p, const rgm_texts *command, const char *const *words,
                        const char *const *variables)
{
    int in[2] = {-1, -1}, out[2] = {-1, -1}, code;

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) != 0)
        return RGM_FAIL_SYSTEM("make a socket for", command->items[0]);
    if (pipe2(out, O_CLOEXEC) != 0) {
        rgm_status status = RGM_FAIL_SYSTEM("make a pipe for", command->items[0]);

        close(in[0]);
        close(in[1]);
        return status;
    }
    code = rgm_process_start(&p->pid, &(rgm_process_setup){.argv = words,
                                                           .environment = variables,
                                                           .in = in[1],
                                                           .out = out[1],
                                                           .error = STDERR_FILENO,
                                                           .group = RGM_GROUP_OWN});
    close(in[1]);
    close(out[1]);
    p->to = in[0];
    p->from = out[0];
    p->is_open = true;
    if (code == 0)
        return RGM_OK;
    p->pid = 0;
    if (code == ENOENT || code == EACCES || code == ENOEXEC)
        return RGM_FAIL(RGM_ERR_CONFIG, "searcher.command: '%s' %s", command->items[0],
                        code == ENOENT ? "is no program on the PATH, nor a path of one"
                                       : "may not be executed: chmod +x it, or put its interpreter "
                                         "before it");
    errno = code;
    return RGM_FAIL_SYSTEM("start", command->items[0]);
}

rgm_status rgmi_asked_start(rgmi_asked_process *p, const rgm_texts *command, uint32_t seed)
{
    const char **words = NULL, **variables = NULL;
    rgm_status status = RGM_OK;
    char own[40];

    *p = (rgmi_asked_process){0};
    snprintf(own, sizeof own, "REGIMEN_SEED=%lu", (unsigned long)seed);
    RGM_GO(rgm_environment_with(&variables, own));
    RGM_GO(RGM_NEW(words, command->count + 1));
    for (int64_t i = 0; i < command->count; i++)
        words[i] = command->items[i];
    RGM_GO(spawn(p, command, words, variables));
done:
    rgm_free(words);
    rgm_free(variables);
    if (status != RGM_OK)
        rgmi_asked_stop(p);
    return status;
}

/* 0: it was not there. */
static int end(rgmi_asked_process *p, int number)
{
    int how = 0;

    if (p->is_open) {
        close(p->to);
        close(p->from);
    }
    if (p->pid > 0) {
        kill(-p->pid, number);
        while (waitpid(p->pid, &how, 0) < 0 && errno == EINTR)
            ;
    }
    rgm_text_clear(&p->text);
    *p = (rgmi_asked_process){0};
    return how;
}

void rgmi_asked_stop(rgmi_asked_process *p)
{
    (void)end(p, SIGKILL);
}

/* It closed what it answers by: what it does now is of no use. */
void rgmi_asked_print_end(char out[64], rgmi_asked_process *p)
{
    siginfo_t info = {0};
    int how;

    for (int i = 0; i < 100 && info.si_pid == 0; i++) { /* its end is near */
        if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
            break;
        if (info.si_pid == 0)
            usleep(10000);
    }
    how = end(p, SIGKILL);
    if (info.si_pid == 0)
        snprintf(out, 64, "closed its output");
    else if (WIFSIGNALED(how))
        snprintf(out, 64, "was ended by signal %d", WTERMSIG(how));
    else
        snprintf(out, 64, "ended with exit code %d", WEXITSTATUS(how));
}

/* ---- lines ---------------------------------------------------------------------------------- */

static rgm_status send_line(const rgmi_asked_process *p, const rgm_text *line, double until)
{
    for (int64_t sent = 0; sent < line->size;) {
        ssize_t now = send(p->to, line->data + sent, (size_t)(line->size - sent),
                           MSG_NOSIGNAL | MSG_DONTWAIT);
        struct pollfd polled = {.fd = p->to, .events = POLLOUT};
        double left = until - rgm_now();

        if (now > 0)
            sent += now;
        else if (errno == EPIPE || errno == ECONNRESET)
            return RGM_END;
        else if (errno != EAGAIN && errno != EINTR)
            return RGM_FAIL_SYSTEM("write to", "the searcher's program");
        else if (left <= 0)
            return RGM_ERR_BUSY;
        else
            (void)poll(&polled, 1, (int)(1000 * left) + 1);
    }
    return RGM_OK;
}

/* Its next bytes. */
static rgm_status read_some(rgmi_asked_process *p, double until)
{
    struct pollfd polled = {.fd = p->from, .events = POLLIN};
    double left = until - rgm_now();
    char bytes[65536];
    ssize_t size;

    if (left <= 0)
        return RGM_ERR_BUSY;
    if (poll(&polled, 1, (int)(1000 * left) + 1) <= 0)
        return RGM_OK;
    size = read(p->from, bytes, sizeof bytes);
    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return RGM_OK;
    if (size <= 0)
        return RGM_END;
    if (p->text.size + size > LONGEST_ANSWER)
        return RGM_FAIL(RGM_ERR_CONFIG, "the searcher's program answers by more than %d bytes",
                        (int)LONGEST_ANSWER);
    return rgm_text_add(&p->text, bytes, size);
}

/* One line is one answer: a second one would be taken for that to the next line. */
static rgm_status refuse_more(const rgmi_asked_process *p, int64_t from)
{
    int64_t size = p->text.size - from;

    return size == 0 ? RGM_OK
                     : RGM_FAIL(RGM_ERR_CONFIG,
                                "the searcher's program answers a line by more than one, the next "
                                "begins '%.*s': what is no answer goes to its standard error",
                                (int)(size < 100 ? size : 100), p->text.data + from);
}

/* What it wrote behind its last answer, nobody asked for. */
static rgm_status check_silence(rgmi_asked_process *p)
{
    struct pollfd polled = {.fd = p->from, .events = POLLIN};

    if (poll(&polled, 1, 0) != 1 || (polled.revents & POLLIN) == 0)
        return RGM_OK;
    RGM_TRY(read_some(p, rgm_now() + 1));
    return refuse_more(p, 0);
}

static rgm_status take_answer(rgm_json **answer, int64_t *hash, rgmi_asked_process *p,
                              const char *end)
{
    int64_t size = end - p->text.data;
    rgm_status status;

    *hash = (int64_t)(rgm_hash64(p->text.data, (size_t)size) >> 1);
    status = rgm_json_parse_relaxed(answer, p->text.data, size, "answer");
    if (status == RGM_OK && !rgm_json_is_object(*answer))
        status = RGM_FAIL(RGM_ERR_FORMAT, "answer: it is no object");
    if (status == RGM_ERR_FORMAT)
        status = RGM_FAIL(RGM_ERR_CONFIG,
                          "the searcher's program answers '%.*s%s', which is no line of JSON: %s",
                          (int)(size < 200 ? size : 200), p->text.data, size < 200 ? "" : "...",
                          rgm_error_message());
    if (status == RGM_OK)
        status = refuse_more(p, size + 1);
    p->text.size = 0;
    return status;
}

rgm_status rgmi_asked_say(rgm_json **answer, int64_t *hash, rgmi_asked_process *p,
                          const rgm_text *line, double seconds)
{
    double until = rgm_now() + seconds;
    rgm_status status = check_silence(p);
    char *end = NULL;

    *answer = NULL;
    if (status == RGM_OK)
        status = send_line(p, line, until);
    while (status == RGM_OK && end == NULL) {
        status = read_some(p, until);
        if (p->text.size > 0)
            end = memchr(p->text.data, '\n', (size_t)p->text.size);
    }
    if (status == RGM_OK)
        status = take_answer(answer, hash, p, end);
    if (status == RGM_ERR_BUSY)
        status = RGM_FAIL(RGM_ERR_CONFIG,
                          "the searcher's program has not answered within %g s "
                          "(searcher.answer_seconds): %.*s",
                          seconds, (int)(line->size - 1), line->data);
    if (status != RGM_OK) {
        rgm_json_release(*answer);
        *answer = NULL;
    }
    return status;
}
