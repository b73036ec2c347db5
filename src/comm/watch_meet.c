/*
 * How rank 0 and the others find each other by TCP: rank 0 listens at a port that the system
 * chooses, and says by MPI where, and a token. Whoever connects shows the token; nobody listens
 * any more when all are there.
 */
#include "comm_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES 16
#define CONNECT_S 3.0  /* for one address                  */
#define ACCEPT_S  20.0 /* until all others have connected  */
#define HELLO_S   2.0  /* for who has connected to show it */

/** Where rank 0 listens. */
typedef struct meeting {
    char token[40];
    int32_t port, count;
    struct sockaddr_storage addresses[ADDRESSES]; /* without port */
} meeting;

/* ---- messages ------------------------------------------------------------------------------ */

bool rgmi_message_send(int fd, const rgmi_message *message)
{
    const char *bytes = (const char *)message;
    size_t size = 0;

    while (size < sizeof *message) {
        ssize_t sent = send(fd, bytes + size, sizeof *message - size, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (sent > 0) {
            size += (size_t)sent;
        } else if (sent < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = fd, .events = POLLOUT};

            if (poll(&room, 1, 1000) <= 0)
                return false;
        } else if (sent < 0 && errno != EINTR) {
            return false;
        }
    }
    return true;
}

/* One whole message within `seconds`. */
static bool receive_message(int fd, rgmi_message *message, double seconds)
{
    double until = rgm_now() + seconds;
    size_t size = 0;

    while (size < sizeof *message) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        double left = until - rgm_now();
        ssize_t got;

        if (left <= 0 || poll(&ready, 1, (int)(left * 1e3) + 1) < 0)
            return false;
        got = recv(fd, (char *)message + size, sizeof *message - size, MSG_DONTWAIT);
        if (got > 0)
            size += (size_t)got;
        else if (got == 0 || (errno != EAGAIN && errno != EINTR))
            return false;
    }
    return message->magic == RGMI_MESSAGE_MAGIC;
}

static bool say_hello(int fd, const rgm_comm *comm, const meeting *m)
{
    rgmi_message hello = {
        .magic = RGMI_MESSAGE_MAGIC, .kind = RGMI_HELLO, .rank = (int32_t)comm->rank};

    memcpy(hello.text, m->token, sizeof m->token);
    return rgmi_message_send(fd, &hello);
}

static bool is_hello(const rgmi_message *message, const meeting *m)
{
    return message->kind == RGMI_HELLO && memcmp(message->text, m->token, sizeof m->token) == 0;
}

/* ---- rank 0 -------------------------------------------------------------------------------- */

/* At every address of this host, by IPv6 and IPv4 if it has both. */
static rgm_status listen_anywhere(int *out, int32_t *port, int backlog)
{
    struct sockaddr_storage address = {0};
    socklen_t size = sizeof address;
    int off = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    address.ss_family = AF_INET6; /* any address, any port: zeros */
    if (fd < 0 || setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) != 0 ||
        bind(fd, (struct sockaddr *)&address, sizeof(struct sockaddr_in6)) != 0) {
        if (fd >= 0)
            close(fd);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        address.ss_family = AF_INET;
        if (fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof(struct sockaddr_in)) != 0) {
            close(fd);
            fd = -1;
        }
    }
    *out = fd;
    if (fd < 0 || listen(fd, backlog) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &size) != 0)
        return RGM_FAIL_SYSTEM("listen at", "a port of this host");
    *port = ntohs(address.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&address)->sin6_port
                                                : ((struct sockaddr_in *)&address)->sin_port);
    return RGM_OK;
}

/* Whether others may reach this host by it (loopback: ranks beside this one). */
static bool is_usable(const struct ifaddrs *i, bool loopback)
{
    int family = i->ifa_addr != NULL ? i->ifa_addr->sa_family : AF_UNSPEC;

    return (family == AF_INET || family == AF_INET6) && (i->ifa_flags & IFF_UP) != 0 &&
           ((i->ifa_flags & IFF_LOOPBACK) != 0) == loopback &&
           !(family == AF_INET6 &&
             IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr));
}

static socklen_t address_size(const struct sockaddr *address)
{
    return address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
}

/* Loopback is the last. */
static rgm_status find_addresses(meeting *m)
{
    struct ifaddrs *all;

    if (getifaddrs(&all) != 0)
        return RGM_FAIL_SYSTEM("list", "network interfaces");
    for (int loopback = 0; loopback < 2; loopback++)
        for (struct ifaddrs *i = all; i != NULL && m->count < ADDRESSES; i = i->ifa_next)
            if (is_usable(i, loopback == 1))
                memcpy(&m->addresses[m->count++], i->ifa_addr, address_size(i->ifa_addr));
    freeifaddrs(all);
    return RGM_OK;
}

void rgmi_addresses_print(char *text, size_t room)
{
    char host[INET6_ADDRSTRLEN];
    struct ifaddrs *all;
    size_t size = 0;

    text[0] = '\0';
    if (getifaddrs(&all) != 0)
        return;
    for (int loopback = 0; loopback < 2; loopback++)
        for (struct ifaddrs *i = all; i != NULL && size < room; i = i->ifa_next)
            if (is_usable(i, loopback == 1) &&
                getnameinfo(i->ifa_addr, address_size(i->ifa_addr), host, sizeof host, NULL, 0,
                            NI_NUMERICHOST) == 0)
                size += (size_t)snprintf(text + size, room - size, "%s%s %s", size > 0 ? ", " : "",
                                         i->ifa_name, host);
    freeifaddrs(all);
}

static rgm_status draw_token(char token[40])
{
    rgm_secret secret;

    RGM_TRY(rgm_secret_draw(&secret));
    snprintf(token, 40, "%08x%08x%08x%08x", secret.key[0], secret.key[1], secret.key[2],
             secret.key[3]);
    return RGM_OK;
}

/* Let the others in, until all are there or the time is over. */
static void accept_all(int *fds, const rgm_comm *comm, int listening, const meeting *m)
{
    double until = rgm_now() + ACCEPT_S;
    int missing = comm->size - 1;

    while (missing > 0 && rgm_now() < until) {
        struct pollfd ready = {.fd = listening, .events = POLLIN};
        rgmi_message hello;
        int fd;

        if (poll(&ready, 1, 500) <= 0)
            continue;
        fd = accept4(listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0)
            continue;
        if (receive_message(fd, &hello, HELLO_S) && is_hello(&hello, m) && hello.rank > 0 &&
            hello.rank < comm->size && fds[hello.rank] < 0 && say_hello(fd, comm, m)) {
            fds[hello.rank] = fd;
            missing--;
        } else {
            close(fd); /* a stranger */
        }
    }
}

/* ---- the others ---------------------------------------------------------------------------- */

static int connect_to(const struct sockaddr_storage *address, int32_t port)
{
    struct sockaddr_storage at = *address;
    bool six = at.ss_family == AF_INET6;
    int fd = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), error = 0;
    struct pollfd ready = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof error;

    if (fd < 0)
        return -1;
    if (six)
        ((struct sockaddr_in6 *)&at)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)&at)->sin_port = htons((uint16_t)port);
    if (connect(fd, (struct sockaddr *)&at,
                six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in)) == 0)
        return fd;
    if (errno == EINPROGRESS && poll(&ready, 1, (int)(CONNECT_S * 1e3)) == 1 &&
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0)
        return fd;
    close(fd);
    return -1;
}

/* The first address where somebody knows the token. */
static int find_rank_0(const rgm_comm *comm, const meeting *m)
{
    for (int i = 0; i < m->count; i++) {
        int fd = connect_to(&m->addresses[i], m->port);
        rgmi_message hello;

        if (fd < 0)
            continue;
        if (say_hello(fd, comm, m) && receive_message(fd, &hello, ACCEPT_S) && is_hello(&hello, m))
            return fd;
        close(fd);
    }
    return -1;
}

/* ---- both ---------------------------------------------------------------------------------- */

static void tell_missing(const int *fds, const rgm_comm *comm)
{
    char name[96];

    for (int i = 0; i < comm->size; i++)
        if (fds[i] < 0 && i != comm->rank && (i == 0 || comm->rank == 0))
            rgm_log_write(RGM_LOG_WARNING,
                          "no TCP connection between rank 0 on %s and %s: if one of the two dies, "
                          "the other does not notice",
                          comm->members[0].host,
                          rgmi_rank_name(name, comm, i == 0 ? comm->rank : i));
}

rgm_status rgmi_meet(int *fds, rgm_comm *comm)
{
    rgm_status status = RGM_OK;
    meeting m = {{0}, 0, 0, {{0}}};
    int listening = -1, on = 1;

    for (int i = 0; i < comm->size; i++)
        fds[i] = -1;
    if (comm->rank == 0) {
        RGM_GO(listen_anywhere(&listening, &m.port, comm->size));
        RGM_GO(find_addresses(&m));
        RGM_GO(draw_token(m.token));
    }
    RGM_GO(rgm_comm_broadcast(comm, &m, sizeof m, 0));
    if (comm->rank == 0)
        accept_all(fds, comm, listening, &m);
    else
        fds[0] = find_rank_0(comm, &m);
    for (int i = 0; i < comm->size; i++)
        if (fds[i] >= 0)
            (void)setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    tell_missing(fds, comm);
    /* While rank 0 waits for one that cannot reach it, the others would hear nothing of it. */
    RGM_GO(rgm_comm_barrier(comm));
done:
    if (listening >= 0)
        close(listening);
    return status;
}
