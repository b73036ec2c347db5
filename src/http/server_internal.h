/*
 * Shared by the server's files: server.c has the polling thread and the lanes, connections.c the
 * connections and their ages, exchange.c a request in progress.
 */
#ifndef RGM_HTTP_SERVER_INTERNAL_H
#define RGM_HTTP_SERVER_INTERNAL_H

#include <regimen/http.h>

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum { RGMI_LANES = 16, RGMI_HEADERS = 64 };

/** A connection, in a list of its server that only the polling thread uses. */
typedef struct rgmi_connection {
    struct rgmi_connection *next, *last;
    int fd;
    double until; /* when the request it waits for must be whole; 0: it is being answered */
    double since; /* since when it waits */
    bool cut;     /* it is being closed */
} rgmi_connection;

/** One request; rgm_request.later is this. */
typedef struct rgm_http_later rgmi_exchange;
struct rgm_http_later {
    struct rgm_http *server;
    struct MHD_Connection *connection;
    rgmi_connection *of;
    char *uri, *method;
    rgm_text body;
    rgm_header headers[RGMI_HEADERS];
    int64_t header_count;
    rgm_response response; /* once answered */
    bool begun;            /* the headers were seen: the body comes next, then the end */
    bool malformed;        /* headers: too many, one given twice that may not be, or a NUL */
    int refused;      /* what is answered to a body that is not read: 413, 503; 0: it is read */
    bool answered;    /* response is the answer, and the connection is resumed */
    int64_t counted;  /* bytes of the body, included in the server's count */
    bool deferred;    /* the lane's thread leaves the answer to rgm_http_answer() */
    atomic_int waits; /* of a deferred one: for the lane to be done with it, and for the answer */
};

/** An open stream, in a list of its server. */
typedef struct rgmi_stream {
    struct rgmi_stream *next, *last;
    struct rgm_http *server;
    struct MHD_Connection *connection;
    rgm_http_stream source;
    bool sleeps; /* its connection is suspended */
} rgmi_stream;

struct rgm_http {
    rgm_http_options options;
    rgm_http_service service;
    struct MHD_Daemon *daemon;
    int daemon_fd, wake_fd;
    pthread_t thread;
    bool has_thread;
    atomic_bool stops;
    int lane_threads[RGMI_LANES];
    rgm_thread_pool *lanes[RGMI_LANES]; /* created with their first request */
    rgmi_connection *connections, *newest;
    rgmi_stream *streams;
    atomic_llong connection_count, stream_count, deferred_count;
    int64_t bodies; /* bytes being read */
};

/* ---- connections.c -------------------------------------------------------------------------- */

void rgmi_connection_notify(void *payload, struct MHD_Connection *connection, void **context,
                            enum MHD_ConnectionNotificationCode code);
/** A request has begun, is whole, was answered. */
void rgmi_connection_begin(rgm_http *server, rgmi_connection *c);
void rgmi_connection_whole(rgmi_connection *c);
void rgmi_connection_idle(rgm_http *server, rgmi_connection *c);
/** Close those whose time is over. */
void rgmi_connections_sweep(rgm_http *server, double now);

/* ---- exchange.c ----------------------------------------------------------------------------- */

void *rgmi_exchange_begin(void *payload, const char *uri, struct MHD_Connection *connection);
void rgmi_exchange_end(void *payload, struct MHD_Connection *connection, void **state,
                       enum MHD_RequestTerminationCode code);
enum MHD_Result rgmi_exchange_handle(void *payload, struct MHD_Connection *connection,
                                     const char *url, const char *method, const char *version,
                                     const char *data, size_t *size, void **state);

/* ---- reply.c -------------------------------------------------------------------------------- */

/** Send an answer and take what it owns. `ends`: the connection closes after it. */
enum MHD_Result rgmi_reply(rgm_http *server, struct MHD_Connection *connection,
                           rgm_response *response, bool ends);
/** Wake streams that are ready, or all when the server stops. */
void rgmi_streams_wake(rgm_http *server);

/** Number of open connections and streams, for tests; either may be NULL. */
void rgmi_http_count(int64_t *connections, int64_t *streams, const rgm_http *server);

#endif
