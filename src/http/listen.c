/*
 * Numeric addresses to listen on: no name is looked up, and there is no default address.
 */
#include <regimen/http.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 128 };

/* "[::1]:80", or "::1:80", which has always been accepted. */
static rgm_status read_address(struct addrinfo **out, const char *address)
{
    const char *colon = strrchr(address, ':'), *start = address;
    struct addrinfo wanted = {.ai_family = AF_UNSPEC,
                              .ai_socktype = SOCK_STREAM,
                              .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    char host[128];
    int code;

    if (colon == NULL || colon == address || (size_t)(colon - address) >= sizeof host ||
        strlen(colon) > 6 ||
        strtol(colon + 1, NULL, 10) > 65535) /* getaddrinfo() cuts 65,537 to 1 */
        return RGM_FAIL(RGM_ERR_ARG, "listen is '%s', not ADDRESS:PORT", address);
    size_t size = (size_t)(colon - address);
    if (address[0] == '[' && address[size - 1] == ']') {
        start++;
        size -= 2;
    }
    snprintf(host, sizeof host, "%.*s", (int)size, start);
    code = getaddrinfo(host, colon + 1, &wanted, out);
    if (code != 0)
        return RGM_FAIL(RGM_ERR_ARG, "listen is '%s', not ADDRESS:PORT in numbers: %s", address,
                        gai_strerror(code));
    return RGM_OK;
}

rgm_status rgm_http_listen(int *out, const char *address)
{
    struct addrinfo *found = NULL;
    int on = 1, fd;

    *out = -1;
    RGM_TRY(read_address(&found, address));
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        rgm_status status =
            errno == EADDRINUSE
                ? RGM_FAIL(
                      RGM_ERR_BUSY,
                      "cannot listen at '%s': another program does; choose another port (--listen)",
                      address)
                : RGM_FAIL_SYSTEM("listen at", address);
        freeaddrinfo(found);
        if (fd >= 0)
            close(fd);
        return status;
    }
    freeaddrinfo(found);
    *out = fd;
    return RGM_OK;
}

rgm_status rgm_http_address(char out[64], int *port, int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    char host[INET6_ADDRSTRLEN] = "";

    if (getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return RGM_FAIL_SYSTEM("look at", "the address of a socket");
    if (address.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&address;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof host);
        *port = ntohs(six->sin6_port);
        snprintf(out, 64, "[%s]:%d", host, *port);
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&address;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof host);
        *port = ntohs(four->sin_port);
        snprintf(out, 64, "%s:%d", host, *port);
    }
    return RGM_OK;
}

bool rgm_http_is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "[::1]:", 6) == 0;
}
