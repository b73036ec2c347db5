/*
 * The socket of a program's trial: connections, and lines of them. Each line is answered by one.
 */
#include "program_parts.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* In the run folder, or where its path is longer than that of a socket may be, in a folder of its
 * own. */
static rgm_status find_path(rgmi_program_socket *s, const char *run_dir)
{
    char folder[] = "/tmp/regimen-socket-XXXXXX";
    struct sockaddr_un address;

    RGM_TRY(rgm_path_join(&s->path, run_dir, "program.sock"));
    if (strlen(s->path) < sizeof address.sun_path) {
        unlink(s->path); /* of a process that was killed */
        return RGM_OK;
    }
    if (mkdtemp(folder) == NULL)
        return RGM_FAIL_SYSTEM("make", folder);
    RGM_TRY(rgm_strdup(&s->folder, folder));
    rgm_free(s->path);
    return rgm_path_join(&s->path, folder, "program.sock");
}

rgm_status rgmi_program_socket_open(rgmi_program_socket *s, const char *run_dir)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *s = (rgmi_program_socket){.fd = -1};
    for (int i = 0; i < RGMI_CONNECTIONS; i++)
        s->connections[i].fd = -1;
    RGM_TRY(find_path(s, run_dir));
    snprintf(address.sun_path, sizeof address.sun_path, "%s", s->path);
    s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 || bind(s->fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        listen(s->fd, RGMI_CONNECTIONS) != 0)
        return RGM_FAIL_SYSTEM("listen at", s->path);
    return RGM_OK;
}

static void drop(rgmi_speaker *c)
{
    if (c->fd >= 0)
        close(c->fd);
    rgm_text_clear(&c->text);
    *c = (rgmi_speaker){.fd = -1};
}

void rgmi_program_socket_close(rgmi_program_socket *s)
{
    for (int i = 0; i < RGMI_CONNECTIONS; i++)
        drop(&s->connections[i]);
    if (s->fd >= 0)
        close(s->fd);
    if (s->path != NULL)
        unlink(s->path);
    if (s->folder != NULL)
        rmdir(s->folder);
    rgm_free(s->path);
    rgm_free(s->folder);
    *s = (rgmi_program_socket){.fd = -1};
}

/* ---- lines ---------------------------------------------------------------------------------- */

char *rgmi_program_socket_line(rgmi_program_socket *s, int *connection)
{
    for (int i = 0; i < RGMI_CONNECTIONS; i++) {
        rgmi_speaker *c = &s->connections[i];
        char *end = c->text.size > 0 ? memchr(c->text.data, '\n', (size_t)c->text.size) : NULL;

        if (c->fd < 0 || end == NULL)
            continue;
        *end = '\0';
        c->waits = true;
        *connection = i;
        return c->text.data;
    }
    return NULL;
}

void rgmi_program_socket_answer(rgmi_program_socket *s, int connection, const rgm_text *answer)
{
    rgmi_speaker *c = &s->connections[connection];
    int64_t used = c->waits ? (int64_t)strlen(c->text.data) + 1 : 0;

    if (c->fd < 0 || !c->waits)
        return;
    memmove(c->text.data, c->text.data + used, (size_t)(c->text.size - used));
    c->text.size -= used;
    c->waits = false;
    for (int64_t sent = 0; sent < answer->size;) {
        ssize_t now = send(c->fd, answer->data + sent, (size_t)(answer->size - sent),
                           MSG_NOSIGNAL | MSG_DONTWAIT);

        if (now < 0 && errno == EINTR)
            continue;
        if (now <= 0) { /* it has gone, or reads nothing of what it asks for */
            drop(c);
            return;
        }
        sent += now;
    }
}

static rgm_status accept_one(rgmi_program_socket *s)
{
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    for (int i = 0; i < RGMI_CONNECTIONS && fd >= 0; i++)
        if (s->connections[i].fd < 0) {
            s->connections[i] = (rgmi_speaker){.fd = fd};
            fd = -1;
        }
    if (fd >= 0)
        close(fd);
    return RGM_OK;
}

/* Its next bytes; at its end it goes, with a line that is not whole. */
static rgm_status read_some(rgmi_speaker *c)
{
    char bytes[65536];
    ssize_t size = recv(c->fd, bytes, sizeof bytes, 0);

    if (size < 0 && (errno == EINTR || errno == EAGAIN))
        return RGM_OK;
    if (size <= 0 || c->text.size + size > RGMI_SAID_ROOM) {
        if (size > 0)
            rgm_log_write(RGM_LOG_WARNING, "the program sent a message of more than %d bytes",
                          (int)RGMI_SAID_ROOM);
        drop(c);
        return RGM_OK;
    }
    for (ssize_t i = 0; i < size; i++)
        if (bytes[i] == '\0')
            bytes[i] = ' '; /* lines are texts */
    return rgm_text_add(&c->text, bytes, size);
}

rgm_status rgmi_program_socket_wait(rgmi_program_socket *s, rgmi_program_process *p, double seconds)
{
    struct pollfd polled[RGMI_CONNECTIONS + 3];

    polled[0] = (struct pollfd){.fd = s->fd, .events = POLLIN};
    polled[1] = (struct pollfd){.fd = p->pidfd, .events = POLLIN};
    polled[2] = (struct pollfd){.fd = p->error_pipe, .events = POLLIN};
    for (int i = 0; i < RGMI_CONNECTIONS; i++) /* a negative descriptor is passed over */
        polled[3 + i] = (struct pollfd){.fd = s->connections[i].fd, .events = POLLIN};
    if (poll(polled, RGMI_CONNECTIONS + 3, seconds < 0 ? -1 : (int)ceil(1000 * seconds)) < 0)
        return errno == EINTR ? RGM_OK : RGM_FAIL_SYSTEM("wait for", s->path);
    if (polled[2].revents != 0)
        rgmi_program_read_errors(p);
    for (int i = 0; i < RGMI_CONNECTIONS; i++)
        if (polled[3 + i].fd >= 0 && polled[3 + i].revents != 0)
            RGM_TRY(read_some(&s->connections[i]));
    return polled[0].revents != 0 ? accept_one(s) : RGM_OK;
}
