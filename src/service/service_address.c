/*
 * "HOST:PORT" as an endpoint of ZeroMQ, and the options of a service.
 */
#include "service_internal.h"

#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

static const char *const orders[] = {"recipe", "arrival", NULL};

#define RGM_OPTIONS rgm_service_options
const rgm_field rgm_service_fields[] = {
    RGM_TEXT_FIELD(address,
                   "HOST:PORT of the trainer, where workers (regimen data serve) find it; none: it "
                   "makes its batches itself"),
    RGM_TEXT_FIELD(key, "file that only those have who may join: regimen data key FILE makes it"),
    RGM_CHOICE_FIELD(order, orders,
                     "recipe: the batches of a run without workers, in their order; arrival: first "
                     "come, first served"),
    RGM_INT_FIELD(ahead, 1, 1 << 16, "batches under way or waiting, the most"),
    RGM_FLOAT_FIELD(silence, 1, 86400, "seconds without a word before a worker is given up"),
    RGM_FLOAT_FIELD(patience, 1, 1e9, "seconds that is waited without any worker, or a trainer"),
    {0}};
#undef RGM_OPTIONS

void rgm_service_defaults(rgm_service_options *options)
{
    *options = (rgm_service_options){.ahead = 16, .silence = 20, .patience = 600};
}

/* The host's length, without brackets; *port is what stands behind the colon. */
static rgm_status split(int *host_size, const char **host, const char **port, const char *address)
{
    const char *colon = strrchr(address, ':');
    char *end = NULL;
    long number = colon != NULL ? strtol(colon + 1, &end, 10) : -1;

    if (colon == NULL || colon == address || colon[1] < '0' || colon[1] > '9' || *end != '\0' ||
        number > 65535 || colon - address > 255)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.input_workers.address: '%s' is no HOST:PORT, such as node1:7700",
                        address);
    *host = address;
    *host_size = (int)(colon - address);
    *port = colon + 1;
    if (address[0] == '[' && colon[-1] == ']') {
        ++*host;
        *host_size -= 2;
    }
    return RGM_OK;
}

rgm_status rgm_service_check(const rgm_service_options *options)
{
    const char *host, *port;
    int size;

    if (options->address == NULL)
        return RGM_OK;
    RGM_TRY(split(&size, &host, &port, options->address));
    if (options->key == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.input_workers.address is set, but no key: anybody could join. "
                        "regimen data key FILE makes one, runtime.input_workers.key names it");
    return RGM_OK;
}

/* The number of a name, as text. */
static rgm_status look_up(char *out, size_t room, bool *six, const char *host)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
    int error = getaddrinfo(host, NULL, &hints, &found);

    if (error == 0)
        error = getnameinfo(found->ai_addr, found->ai_addrlen, out, (socklen_t)room, NULL, 0,
                            NI_NUMERICHOST);
    if (error != 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "runtime.input_workers.address: no host '%s': %s", host,
                        gai_strerror(error));
    *six = found->ai_family == AF_INET6;
    freeaddrinfo(found);
    return RGM_OK;
}

rgm_status rgmi_address_endpoint(char **out, const char *address, bool listens)
{
    const char *host, *port;
    char name[256], number[256];
    bool six = false;
    int size;

    *out = NULL;
    RGM_TRY(split(&size, &host, &port, address));
    snprintf(name, sizeof name, "%.*s", size, host);
    if (strcmp(name, "*") == 0 && !listens)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "runtime.input_workers.address is '%s': a worker needs the trainer's name "
                        "(--address HOST:PORT)",
                        address);
    if (strcmp(name, "*") == 0)
        snprintf(number, sizeof number, "*");
    else
        RGM_TRY(look_up(number, sizeof number, &six, name));
    return rgm_strprintf(out, six ? "tcp://[%s]:%s" : "tcp://%s:%s", number,
                         listens && strcmp(port, "0") == 0 ? "*" : port);
}
