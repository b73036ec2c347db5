/*
 * Who may ask a master: over the folder's Unix socket, which its owner alone can open; over TCP,
 * where asked for, with the token of the folder.
 */
#include "master_internal.h"

#include <regimen/http_client.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128 };

struct rgmi_server {
    rgm_master *master;
    rgm_http *local, *tcp;
};

/* ---- answers -------------------------------------------------------------------------------- */

/* Why a request is not answered that comes over TCP with a token of this scope; NULL: it is. */
static const char *refusal(rgmi_scope scope, const rgm_request *request)
{
    static const char tokens[] = "/api/v1/tokens", webhooks[] = "/api/v1/webhooks";

    if (scope == RGMI_SCOPE_NONE)
        return "the token of the master's folder is needed, or one that it made and that is not "
               "over";
    if (scope < RGMI_SCOPE_OWNER && strncmp(request->path, tokens, strlen(tokens)) == 0)
        return "tokens are made and looked at with the token of the master's folder alone";
    if (scope == RGMI_SCOPE_READ && strcmp(request->method, "GET") != 0)
        return "this token may look at things, and change none: its scope is read";
    if (scope == RGMI_SCOPE_READ && strncmp(request->path, webhooks, strlen(webhooks)) == 0)
        return "whoever knows a webhook's URL can write there: a token whose scope is read does "
               "not look at them";
    return NULL;
}

/* What comes over TCP. */
static bool may_ask(rgm_response *out, const rgm_request *request, void *payload)
{
    const char *header = rgm_request_header(request, "Authorization"), *why;
    rgmi_scope scope = RGMI_SCOPE_NONE;

    if (header != NULL && strncmp(header, "Bearer ", 7) == 0)
        scope = rgmi_token_scope(payload, header + 7);
    why = refusal(scope, request);
    if (why == NULL)
        return true;
    rgm_response_fail(out, scope == RGMI_SCOPE_NONE ? 401 : 403, RGM_FAIL(RGM_ERR_ARG, "%s", why),
                      NULL);
    return false;
}

static void answer(rgm_response *out, const rgm_request *request, void *payload)
{
    rgm_master_handle(out, payload, request);
}

static rgm_status start(rgm_http **out, rgm_master *master, int fd, bool needs_token)
{
    return rgm_http_start(out, fd, &(rgm_http_options){.body_bytes = RGMI_BODY_LIMIT},
                          &(rgm_http_service){.admit = needs_token ? may_ask : NULL,
                                              .answer = answer,
                                              .payload = master});
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
    if (unlinkat(master->folder_fd, RGM_SERVICE_SOCKET, 0) != 0 && errno != ENOENT)
        goto failed; /* one of an earlier master: the folder is ours by its lock */
    /* The socket's mode is the file's: nobody else can open it at any moment. */
    if (fchmod(fd, 0600) != 0 || bind(fd, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(fd, BACKLOG) != 0)
        goto failed;
    *out = fd;
    return RGM_OK;
failed:
    close(fd);
    return RGM_FAIL_SYSTEM("make the socket " RGM_SERVICE_SOCKET " in", master->options.folder);
}

/* ---- the token ------------------------------------------------------------------------------ */

/* Into an empty file: a new one, or one that a full disk or a sudden end has left so. */
static rgm_status fill_token(int fd, const char *path)
{
    char token[34];
    rgm_status status;

    RGM_TRY(rgm_random_hex(token));
    token[32] = '\n';
    if (fchmod(fd, 0600) != 0)
        return RGM_FAIL_SYSTEM("keep to its owner", path);
    status = rgm_write_all(fd, token, 33, path);
    if (status != RGM_OK && ftruncate(fd, 0) != 0)
        errno = 0; /* what is left is told the next time */
    return status;
}

static rgm_status make_token(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    rgm_status status = RGM_OK;
    struct stat info;

    if (fd < 0)
        return RGM_FAIL_SYSTEM("create", path);
    if (fstat(fd, &info) != 0)
        status = RGM_FAIL_SYSTEM("examine", path);
    else if (S_ISREG(info.st_mode) && info.st_size == 0)
        status = fill_token(fd, path);
    close(fd);
    return status;
}

/* Made once; who may read the folder's files as its owner may ask over TCP. */
static rgm_status read_token(rgm_master *master)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, master->options.folder, RGM_SERVICE_TOKEN));
    RGM_GO(make_token(path));
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

static rgm_status check_address(const rgm_master *master, int fd)
{
    char address[64];
    int port;

    RGM_TRY(rgm_http_address(address, &port, fd));
    return master->options.allow_remote || rgm_http_is_loopback(address)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_ARG,
                          "%s can be reached by others, and what they send is not encrypted: say "
                          "--allow-remote (allow_remote), or use a tunnel to 127.0.0.1",
                          master->options.listen);
}

static rgm_status start_tcp(rgmi_server *server, rgm_master *master)
{
    rgm_status status;
    int fd;

    RGM_TRY(read_token(master));
    RGM_TRY(rgm_http_listen(&fd, master->options.listen));
    status = check_address(master, fd);
    if (status != RGM_OK) {
        close(fd);
        return status;
    }
    return start(&server->tcp, master, fd, true);
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
    if (master->options.listen != NULL)
        RGM_GO(start_tcp(server, master));
    RGM_GO(open_local(&fd, master));
    RGM_GO(start(&server->local, master, fd, false));
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
        unlinkat(server->master->folder_fd, RGM_SERVICE_SOCKET, 0);
        rgm_http_stop(server->local);
    }
    rgm_http_stop(server->tcp);
    rgm_free(server);
}
