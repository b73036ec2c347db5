/*
 * http: an HTTP/1.1 server on libmicrohttpd, for any service: whole requests in; whole answers,
 * files or event streams out. Requests are parsed, limited and answered in this one place, both for
 * a master and for the page.
 *
 *     rgm_http_listen()    listen on a numeric address, never on all addresses by default
 *     rgm_http_start()     one thread polls; slow work is done in lanes beside it
 *     rgm_http_defer()     a request is answered later, by any thread
 *     rgm_target_read()    the path and the query of a request
 *     rgm_path_fits()      whether a path matches a row of a table, and the ids in it
 *
 * docs/http.md has the limits and says which thread waits for which.
 */
#ifndef REGIMEN_HTTP_H
#define REGIMEN_HTTP_H

#include <regimen/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- request and answer -------------------------------------------------------------------- */

typedef struct rgm_header {
    const char *name, *value;
} rgm_header;

/** A request whose answer comes later. */
typedef struct rgm_http_later rgm_http_later;

typedef struct rgm_request {
    const char *method;        /* "GET", "POST", "PATCH", "DELETE"                           */
    const char *path;          /* "/api/v1/experiments?limit=10", URL-encoded, as it was sent */
    const char *body;          /* NULL: none                                                 */
    int64_t size;              /* of body                                                    */
    const rgm_header *headers; /* [header_count] in their order; NULL: unknown               */
    int64_t header_count;
    rgm_http_later *later; /* for rgm_http_defer(); NULL: it must be answered at once */
} rgm_request;

/** The value of a request's header, its name in any case; NULL: it has none. */
const char *rgm_request_header(const rgm_request *request, const char *name);

/** The source of an event stream. The polling thread calls it: neither function may block. */
typedef struct rgm_http_stream {
    /** Write up to `room` bytes of events; 0: none now; -1: the stream is over. */
    int64_t (*read)(char *data, int64_t room, void *payload);
    /** Whether read() would return something. */
    bool (*is_ready)(void *payload);
    void (*close)(void *payload);
    void *payload; /* NULL: there is no stream */
} rgm_http_stream;

enum { RGM_RESPONSE_HEADERS = 8 };

/** An answer: one of a body, a constant, a file, a stream. `{0}` is a valid empty one. */
typedef struct rgm_response {
    int status;           /* of HTTP: 200, 201, 400, 404, 409, 503, ...                          */
    rgm_text body;        /* JSON; for errors {"code": ..., "message": ..., "details": ...}      */
    const char *type;     /* static text; NULL: "application/json"                               */
    const void *constant; /* [constant_size] bytes that outlive the server; NULL: none           */
    int64_t constant_size;
    int fd; /* above 0: a file, owned, read while it is sent; its first fd_size bytes           */
    int64_t fd_size;
    rgm_http_stream stream; /* owned: text/event-stream, open until it ends                     */
    rgm_header headers[RGM_RESPONSE_HEADERS]; /* names static, values owned                     */
    int64_t header_count;
} rgm_response;
void rgm_response_clear(rgm_response *response);
/** Add a header; the name is static, the value is copied. RGM_ERR_NOMEM; RGM_ERR_ARG: no room is
 * left, or the value has a control character. */
rgm_status rgm_response_add_header(rgm_response *response, const char *name, const char *value);
/**
 * Replace the answer by the error `status` of this thread.
 *
 * @param code     [in] of HTTP; 0: 404 for RGM_ERR_NOT_FOUND, 409 for RGM_ERR_BUSY, 507 for
 *                 RGM_ERR_IO where no space is left, 503 for others and RGM_ERR_NOMEM, 500 for
 *                 RGM_ERR_FORMAT, RGM_ERR_DATA and RGM_ERR_VERSION (a file of the service's, not
 *                 the request, which the caller knows), else 400
 * @param details  [in] lines for people; NULL: none
 *
 * Never fails: without memory the body is empty.
 */
void rgm_response_fail(rgm_response *response, int code, rgm_status status, const char *details);

/* ---- path and query ------------------------------------------------------------------------ */

enum { RGM_TARGET_VALUES = 64 };

/** A request's path, parsed. `{0}` is a valid empty one. */
typedef struct rgm_target {
    char *text;       /* the memory that the others point into                            */
    const char *path; /* without the query; as it was sent, with its %: matched, never decoded */
    struct {
        const char *key, *value; /* decoded: '+' is a space, %41 an 'A'; without NUL      */
    } query[RGM_TARGET_VALUES];
    int64_t query_count;
} rgm_target;

/**
 * @param sent  [in] rgm_request.path
 *
 * Errors: RGM_ERR_ARG (a bad % or %00 in the query, a key without a value, more than 64 of them),
 * RGM_ERR_NOMEM; *out then has only the path, or is empty.
 */
rgm_status rgm_target_read(rgm_target *out, const char *sent);
void rgm_target_clear(rgm_target *target);
/** The first value of a key; `otherwise` if the query lacks it. */
const char *rgm_target_value(const rgm_target *target, const char *key, const char *otherwise);
/** The i-th value of a key that may appear several times; NULL: there are no more. */
const char *rgm_target_value_at(const rgm_target *target, const char *key, int64_t i);
/** An integer of the query; `otherwise` if the query lacks it. RGM_ERR_ARG: not an integer, or not
 * within [low, high]. */
rgm_status rgm_target_int(int64_t *out, const rgm_target *target, const char *key,
                          int64_t otherwise, int64_t low, int64_t high);

/** The parts of a path at its pattern's braces. */
typedef struct rgm_path_values {
    int64_t ids[2];   /* of {id}, in their order; 0: the path has none       */
    char hex[17];     /* of {hex}; "": none                                  */
    char uuid[37];    /* of {uuid}                                           */
    char name[65];    /* of {name}                                           */
    const char *rest; /* of {rest}: within the path; NULL: none             */
} rgm_path_values;

/**
 * Whether a path matches a pattern. "{id}" takes a number above 0 without leading zeros, "{hex}" 16
 * lower-case hexadecimal digits, "{uuid}" a UUID, "{name}" up to 64 of a-z, A-Z, 0-9, '_', '-' and
 * '.', not beginning with '.', and "{rest}", at the end, everything that follows. What is taken
 * ends at the next '/', or at the byte behind the braces ("{name}:predict"). All other bytes of a
 * path must equal the pattern's, so only these parts are ever data.
 *
 * @param values  [out] valid when the path matches
 */
bool rgm_path_fits(rgm_path_values *values, const char *pattern, const char *path);

/* ---- secrets ------------------------------------------------------------------------------- */

/** 32 hexadecimal digits from the system's random source. Errors: RGM_ERR_IO. */
rgm_status rgm_random_hex(char out[33]);
/** Whether two texts are equal, in a time that does not depend on where they differ; NULL equals
 * nothing. */
bool rgm_same_secret(const char *a, const char *b);

/* ---- server -------------------------------------------------------------------------------- */

/** 0 means the default, where a default is given. */
typedef struct rgm_http_options {
    /** Most connections. When one more comes, the connection that has waited longest without a
     * whole request is closed. 0: 512. */
    int64_t connections;
    int64_t connections_per_address; /* 0: as `connections`                                    */
    int64_t header_bytes;            /* of a request, with its first line; 0: 64 KiB           */
    int64_t body_bytes;              /* of a request, else 413; 0: 16 MiB                      */
    int64_t all_body_bytes;          /* of all that are read or answered, else 503; 0: 64 MiB  */
    double idle_seconds;    /* a connection may be silent, or leave its answer unread; 0: 120  */
    double request_seconds; /* from a connection's first byte, or a request's first line, until the
                               request is whole; 0: 120                                       */
    int64_t streams;        /* open at once; 0: 128                                            */
    /** [lane_count] threads of each lane, at most 16 lanes. A lane starts its requests in the
     * order of arrival. No lane waits for another, and the polling thread waits for none. NULL: no
     * lanes. */
    const int *lanes;
    int64_t lane_count;
} rgm_http_options;

/** The functions that answer requests. */
typedef struct rgm_http_service {
    /**
     * Look at method, path and headers before any of the body is read. false: *out is the answer,
     * and the connection is closed. NULL: every request is admitted. Called by the polling thread.
     */
    bool (*admit)(rgm_response *out, const rgm_request *request, void *payload);
    /** The lane for an admitted request, from 0; -1: the polling thread answers it. NULL: -1. */
    int64_t (*lane)(const rgm_request *request, void *payload);
    /** Answer the request; *out is empty. `request` is valid only during the call. */
    void (*answer)(rgm_response *out, const rgm_request *request, void *payload);
    void *payload;
    const rgm_header *headers; /* [header_count] static, added to every answer */
    int64_t header_count;
} rgm_http_service;

typedef struct rgm_http rgm_http;

/**
 * Listen.
 *
 * @param out      [out] a descriptor, for rgm_http_start()
 * @param address  [in] "127.0.0.1:8080", "[::1]:8080"; port 0: any free port
 *
 * Errors: RGM_ERR_ARG (not a numeric address with a port), RGM_ERR_BUSY (another process listens
 * there), RGM_ERR_IO.
 */
rgm_status rgm_http_listen(int *out, const char *address);
/** The address, "127.0.0.1:8080" or "[::1]:8080", of a descriptor that listens on TCP, and its
 * port. Errors: RGM_ERR_IO. */
rgm_status rgm_http_address(char out[64], int *port, int fd);
/** Whether an address of rgm_http_address() is a loopback address: 127.0.0.0/8 or ::1. */
bool rgm_http_is_loopback(const char *address);

/**
 * Answer requests on a listening socket until rgm_http_stop().
 *
 * @param fd       [in] taken over, also after an error
 * @param options  [in] NULL: the defaults
 * @param service  [in] copied
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_http_start(rgm_http **out, int fd, const rgm_http_options *options,
                          const rgm_http_service *service);
/**
 * Answer a request later, in a service's `answer`, of a request in a lane: what it leaves in its
 * response is then not sent, and the lane goes on with the next one. The body and the headers of
 * the request stay until rgm_http_answer(), which must come, before rgm_http_stop() can return.
 *
 * @return NULL: the request must be answered at once
 */
rgm_http_later *rgm_http_defer(const rgm_request *request);
/** Send the answer of a deferred request, once. Takes what `response` owns. Threads: any. */
void rgm_http_answer(rgm_http_later *later, rgm_response *response);
/** Read the streams that are ready now. Threads: any, until rgm_http_stop() is called. */
void rgm_http_wake(rgm_http *server);
/** Stop listening. Running and deferred answers are finished, waiting requests get 503, streams are
 * closed. */
void rgm_http_stop(rgm_http *server);

#ifdef __cplusplus
}
#endif
#endif
