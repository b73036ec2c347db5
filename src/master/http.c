/*
 * Requests by HTTP/1.1 through libmicrohttpd: over the folder's Unix socket, which its owner alone
 * can open; over TCP, where asked for, with the token of the folder.
 */
#include "master_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECTIONS = 512, IDLE_SECONDS = 120, HEADER_BYTES = 64 << 10, BACKLOG = 128 };

/** What a daemon's thread works with: it may be asked before MHD_start_daemon() has returned. */
typedef struct entrance {
    rgm_master *master;
    bool needs_token;
} entrance;

struct rgmi_server {
    rgm_master *master;
    struct MHD_Daemon *local, *tcp;
    entrance at_local, at_tcp;
};

/* One request on its way in. */
typedef struct exchange {
    char *uri;
    rgm_text body;
    bool begun;   /* the headers were seen: what comes now is the body, then the end */
    bool refused; /* too large, or no memory: answered without being looked at       */
} exchange;

/* ---- answers -------------------------------------------------------------------------------- */

static void *begin_exchange(void *payload, const char *uri, struct MHD_Connection *connection)
{
    exchange *x = calloc(1, sizeof *x);

    (void)payload, (void)connection;
    if (x != NULL)
        x->uri = strdup(uri);
    return x;
}

static void end_exchange(void *payload, struct MHD_Connection *connection, void **state,
                         enum MHD_RequestTerminationCode code)
{
    exchange *x = *state;

    (void)payload, (void)connection, (void)code;
    if (x != NULL) {
        free(x->uri);
        rgm_text_clear(&x->body);
        free(x);
    }
    *state = NULL;
}

static enum MHD_Result reply(struct MHD_Connection *connection, int status, const rgm_text *body)
{
    static const char none[] = "{\"code\": \"RGM_ERR_NOMEM\", \"message\": \"out of memory\", "
                               "\"details\": null}";
    bool is_empty = body == NULL || body->size == 0;
    struct MHD_Response *response = MHD_create_response_from_buffer(
        is_empty ? sizeof none - 1 : (size_t)body->size, is_empty ? (char *)none : body->data,
        is_empty ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
    enum MHD_Result result;

    if (response == NULL)
        return MHD_NO;
    MHD_add_response_header(response, "Content-Type", "application/json");
    MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    MHD_add_response_header(response, "Cache-Control", "no-store");
    result = MHD_queue_response(connection, (unsigned)(is_empty ? 503 : status), response);
    MHD_destroy_response(response);
    return result;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, int status, const char *message)
{
    char text[256];
    rgm_text body = {.data = text};

    body.size =
        snprintf(text, sizeof text,
                 "{\"code\": \"RGM_ERR_ARG\", \"message\": \"%s\", \"details\": null}", message);
    return reply(connection, status, &body);
}

/* In a time that does not depend on where they differ. */
static bool is_same(const char *a, const char *b)
{
    size_t size = strlen(b);
    unsigned char differ = strlen(a) != size;

    for (size_t i = 0; i < size; i++)
        differ |= (unsigned char)(a[differ != 0 ? 0 : i] ^ b[i]);
    return differ == 0;
}

static bool may_ask(const entrance *at, struct MHD_Connection *connection)
{
    const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");

    return !at->needs_token ||
           (header != NULL && strncmp(header, "Bearer ", 7) == 0 && at->master->token != NULL &&
            is_same(header + 7, at->master->token));
}

static enum MHD_Result handle(void *payload, struct MHD_Connection *connection, const char *url,
                              const char *method, const char *version, const char *data,
                              size_t *size, void **state)
{
    const entrance *at = payload;
    exchange *x = *state;
    rgm_response response;

    (void)url, (void)version;
    if (x == NULL || x->uri == NULL)
        return MHD_NO;
    if (!x->begun) {
        x->begun = true;
        return MHD_YES;
    }
    if (*size > 0) {
        if (x->body.size + (int64_t)*size > RGMI_BODY_LIMIT ||
            rgm_text_add(&x->body, data, (int64_t)*size) != RGM_OK)
            x->refused = true;
        *size = 0;
        return MHD_YES;
    }
    if (!may_ask(at, connection))
        return refuse(connection, 401, "the token of the master's folder is needed");
    if (x->refused)
        return refuse(connection, 413, "the body is too large");
    rgm_master_handle(
        &response, at->master,
        &(rgm_request){
            .method = method, .path = x->uri, .body = x->body.data, .size = x->body.size});
    enum MHD_Result result = reply(connection, response.status, &response.body);
    rgm_response_clear(&response);
    return result;
}

/* ---- the socket ----------------------------------------------------------------------------- */

static rgm_status open_local(int *out, const rgm_master *master)
{
    struct sockaddr_un address;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *out = -1;
    if (fd < 0)
        return RGM_FAIL_SYSTEM("make", "socket");
    rgmi_socket_address(&address, master->folder_fd);
    if (unlinkat(master->folder_fd, "master.sock", 0) != 0 && errno != ENOENT)
        goto failed; /* one of an earlier master: the folder is ours by its lock */
    /* The socket's mode is the file's: nobody else can open it at any moment. */
    if (fchmod(fd, 0600) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0)
        goto failed;
    *out = fd;
    return RGM_OK;
failed:
    close(fd);
    return RGM_FAIL_SYSTEM("make the socket master.sock in", master->options.folder);
}

static rgm_status open_tcp(int *out, const char *listen_to)
{
    const char *colon = strrchr(listen_to, ':');
    struct addrinfo wanted = {.ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV},
                    *found = NULL;
    char host[128];
    int on = 1, code, fd;

    *out = -1;
    if (colon == NULL || colon == listen_to || (size_t)(colon - listen_to) >= sizeof host)
        return RGM_FAIL(RGM_ERR_ARG, "listen is '%s', not ADDRESS:PORT", listen_to);
    snprintf(host, sizeof host, "%.*s", (int)(colon - listen_to), listen_to);
    code = getaddrinfo(host, colon + 1, &wanted, &found);
    if (code != 0)
        return RGM_FAIL(RGM_ERR_ARG, "listen is '%s', not ADDRESS:PORT in numbers: %s", listen_to,
                        gai_strerror(code));
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        rgm_status status = RGM_FAIL_SYSTEM("listen at", listen_to);
        freeaddrinfo(found);
        if (fd >= 0)
            close(fd);
        return status;
    }
    freeaddrinfo(found);
    *out = fd;
    return RGM_OK;
}

static rgm_status start_daemon(struct MHD_Daemon **out, entrance *at, int fd)
{
    *out = MHD_start_daemon(MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL, 0, NULL, NULL, handle,
                            at, MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
                            (unsigned)CONNECTIONS, MHD_OPTION_CONNECTION_TIMEOUT,
                            (unsigned)IDLE_SECONDS, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
                            (size_t)HEADER_BYTES, MHD_OPTION_URI_LOG_CALLBACK, begin_exchange, NULL,
                            MHD_OPTION_NOTIFY_COMPLETED, end_exchange, NULL, MHD_OPTION_END);
    if (*out != NULL)
        return RGM_OK;
    close(fd);
    return RGM_FAIL(RGM_ERR_IO, "libmicrohttpd does not start");
}

/* ---- the token ------------------------------------------------------------------------------ */

/* Made once; who may read the folder's files as its owner may ask over TCP. */
static rgm_status read_token(rgm_master *master)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL, token[34];
    int64_t size;

    RGM_GO(rgm_path_join(&path, master->options.folder, "token"));
    if (!rgm_path_exists(path)) {
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            RGM_GO(RGM_FAIL_SYSTEM("create", path));
        status = rgmi_random_hex(token);
        token[32] = '\n';
        if (status == RGM_OK)
            status = rgm_write_all(fd, token, 33, path);
        close(fd);
        RGM_GO(status);
    }
    RGM_GO(rgm_file_load(&text, &size, path, 4096));
    text[strcspn(text, "\r\n")] = 0;
    if (strlen(text) < 32)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "'%s' has no token of 32 digits; remove it to get a new one", path));
    rgm_free(master->token);
    master->token = NULL;
    RGM_GO(rgm_strdup(&master->token, text));
done:
    rgm_free(text);
    rgm_free(path);
    return status;
}

/* ---- start and stop ------------------------------------------------------------------------- */

rgm_status rgmi_server_start(rgmi_server **out, rgm_master *master)
{
    rgm_status status = RGM_OK;
    rgmi_server *server = NULL;
    int fd;

    *out = NULL;
    RGM_GO(RGM_NEW(server, 1));
    server->master = master;
    server->at_local = (entrance){master, false};
    server->at_tcp = (entrance){master, true};
    if (master->options.listen != NULL) {
        RGM_GO(read_token(master));
        RGM_GO(open_tcp(&fd, master->options.listen));
        RGM_GO(start_daemon(&server->tcp, &server->at_tcp, fd));
    }
    RGM_GO(open_local(&fd, master));
    RGM_GO(start_daemon(&server->local, &server->at_local, fd));
    RGM_GO(rgmi_address_write(master));
    *out = server;
    server = NULL;
done:
    rgmi_server_stop(server);
    return status;
}

void rgmi_server_stop(rgmi_server *server)
{
    if (server == NULL)
        return;
    if (server->local != NULL) {
        unlinkat(server->master->folder_fd, "master.sock", 0);
        MHD_stop_daemon(server->local);
    }
    if (server->tcp != NULL)
        MHD_stop_daemon(server->tcp);
    rgm_free(server);
}
