/*
 * The open connections, and how long each has been without a whole request. libmicrohttpd closes
 * silent ones. It neither closes one that sends a byte now and then nor makes room for new ones:
 * this file does both by shutting down the socket, which libmicrohttpd then closes. Only the
 * polling thread runs this.
 */
#include "server_internal.h"

#include <math.h>
#include <stdlib.h>
#include <sys/socket.h>

static void cut(rgm_http *server, rgmi_connection *c)
{
    c->cut = true;
    c->until = 0;
    atomic_fetch_sub(&server->connection_count, 1);
    shutdown(c->fd, SHUT_RDWR);
}

/* Make room for one more: close the connection that has waited longest without a whole request, or
 * the newest one when all others are being answered. */
static void make_room(rgm_http *server)
{
    rgmi_connection *longest = NULL;

    for (rgmi_connection *c = server->connections; c != NULL; c = c->next)
        if (c->until > 0 && (longest == NULL || c->since < longest->since))
            longest = c;
    if (longest != NULL)
        cut(server, longest);
}

static void enter(rgm_http *server, struct MHD_Connection *connection, void **context)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    rgmi_connection *c = calloc(1, sizeof *c);

    *context = c;
    if (info == NULL || c == NULL)
        return; /* to be refused with its first request */
    c->fd = info->connect_fd;
    c->since = rgm_now();
    c->until = c->since + server->options.request_seconds;
    c->last = server->newest;
    if (server->newest != NULL)
        server->newest->next = c;
    else
        server->connections = c;
    server->newest = c;
    if (atomic_fetch_add(&server->connection_count, 1) >= server->options.connections)
        make_room(server);
}

static void leave(rgm_http *server, rgmi_connection *c)
{
    if (!c->cut)
        atomic_fetch_sub(&server->connection_count, 1);
    *(c->last != NULL ? &c->last->next : &server->connections) = c->next;
    *(c->next != NULL ? &c->next->last : &server->newest) = c->last;
    free(c);
}

void rgmi_connection_notify(void *payload, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode code)
{
    rgm_http *server = payload;

    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        enter(server, connection, context);
    } else if (*context != NULL) {
        leave(server, *context);
        *context = NULL;
    }
}

void rgmi_connection_begin(rgm_http *server, rgmi_connection *c)
{
    if (!c->cut)
        c->until = rgm_now() + server->options.request_seconds;
}

void rgmi_connection_whole(rgmi_connection *c)
{
    c->until = 0;
}

void rgmi_connection_idle(rgm_http *server, rgmi_connection *c)
{
    if (c->cut)
        return;
    c->since = rgm_now();
    c->until = c->since + fmax(server->options.idle_seconds, server->options.request_seconds);
}

void rgmi_connections_sweep(rgm_http *server, double now)
{
    for (rgmi_connection *c = server->connections; c != NULL; c = c->next)
        if (c->until > 0 && c->until <= now)
            cut(server, c);
}
