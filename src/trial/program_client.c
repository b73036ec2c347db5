/*
 * The program's side of its trial's socket, for the verbs of the command: a line, and its answer.
 */
#include <regimen/trial_program.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ANSWER_ROOM = 1 << 20 };

static rgm_status connect_to(int *fd, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *fd = -1;
    if (strlen(path) >= sizeof address.sun_path)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s is no path of a socket: '%s'", RGM_PROGRAM_SOCKET,
                        path);
    snprintf(address.sun_path, sizeof address.sun_path, "%s", path);
    *fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || connect(*fd, (const struct sockaddr *)&address, sizeof address) != 0)
        return rgm_error_prefix(RGM_FAIL_SYSTEM("reach the trial at", path),
                                "the trial of this process is over, or its master has gone");
    return RGM_OK;
}

static rgm_status send_line(int fd, const char *message, const char *path)
{
    rgm_text line = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_printf(&line, "%s\n", message));
    for (int64_t sent = 0; sent < line.size;) {
        ssize_t now = send(fd, line.data + sent, (size_t)(line.size - sent), MSG_NOSIGNAL);

        if (now < 0 && errno == EINTR)
            continue;
        if (now < 0)
            RGM_GO(RGM_FAIL_SYSTEM("write to", path));
        sent += now;
    }
done:
    rgm_text_clear(&line);
    return status;
}

static rgm_status receive_line(rgm_text *out, int fd, const char *path)
{
    char bytes[4096];

    while (out->size < ANSWER_ROOM) {
        ssize_t size = recv(fd, bytes, sizeof bytes, 0);

        if (size < 0 && errno == EINTR)
            continue;
        if (size < 0)
            return RGM_FAIL_SYSTEM("read from", path);
        if (size == 0)
            return RGM_FAIL(RGM_ERR_IO, "the trial of this process ended before it answered");
        RGM_TRY(rgm_text_add(out, bytes, size));
        if (bytes[size - 1] == '\n')
            return RGM_OK;
    }
    return RGM_FAIL(RGM_ERR_FORMAT, "%s gives an answer without an end", path);
}

rgm_status rgm_program_ask(rgm_json **answer, const char *message)
{
    const char *path = getenv(RGM_PROGRAM_SOCKET), *error;
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    int fd = -1;

    *answer = NULL;
    if (path == NULL || path[0] == '\0')
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "this process belongs to no trial: %s is not set. A search file with "
                        "`entrypoint: [a, command]` starts a program as a trial",
                        RGM_PROGRAM_SOCKET);
    RGM_GO(connect_to(&fd, path));
    RGM_GO(send_line(fd, message, path));
    RGM_GO(receive_line(&text, fd, path));
    RGM_GO(rgm_json_parse(answer, text.data, text.size, "answer"));
    error = rgm_json_text(rgm_json_find(*answer, "error"));
    if (error != NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s", error));
done:
    if (fd >= 0)
        close(fd);
    rgm_text_clear(&text);
    if (status != RGM_OK) {
        rgm_json_release(*answer);
        *answer = NULL;
    }
    return status;
}
