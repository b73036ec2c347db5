/*
 * http: requests by HTTP/1.1 through libmicrohttpd, for whoever answers them: whole requests in,
 * whole answers, files or event streams out. A request is taken apart, limited and answered in one
 * place, whether a master or a page stands behind it.
 *
 *     rgm_http_listen()    an address in numbers, never all of them by default
 *     rgm_http_start()     one thread that polls; what takes long is done in lanes beside it
 *     rgm_target_read()    the path and the query of a request
 *     rgm_path_fits()      which row of a table a path is, and the ids in it
 *
 * docs/http.md has the limits and who waits for whom.
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

typedef struct rgm_request {
    const char *method;        /* "GET", "POST", "PATCH", "DELETE"                           */
    const char *path;          /* "/api/v1/experiments?limit=10", URL-encoded, as it was sent */
    const char *body;          /* NULL: none                                                 */
    int64_t size;              /* of body                                                    */
    const rgm_header *headers; /* [header_count] in their order; NULL: nothing is known of them */
    int64_t header_count;
} rgm_request;

/** The value of a request's header, its name in any case; NULL: it has none. */
const char *rgm_request_header(const rgm_request *request, const char *name);

/** What a stream of events sends, asked from the thread that polls: neither may wait. */
typedef struct rgm_http_stream {
    /** Up to `room` bytes of events; 0: there is nothing now; -1: it is over. */
    int64_t (*read)(char *data, int64_t room, void *payload);
    /** Whether read() would give something. */
    bool (*is_ready)(void *payload);
    void (*close)(void *payload);
    void *payload; /* NULL: there is no stream */
} rgm_http_stream;

enum { RGM_RESPONSE_HEADERS = 8 };

/** An answer. `{0}` is a valid empty one. It has one of a body, a constant, a file, a stream. */
typedef struct rgm_response {
    int status;           /* as HTTP's: 200, 201, 400, 404, 409, 503, ...                        */
    rgm_text body;        /* JSON; of errors {"code": ..., "message": ..., "details": ...}       */
    const char *type;     /* static text; NULL: "application/json"                               */
    const void *constant; /* [constant_size] bytes that outlive the server; NULL: none           */
    int64_t constant_size;
    int fd; /* above 0: of a file, owned, read as it is sent; its first fd_size bytes           */
    int64_t fd_size;
    rgm_http_stream stream; /* owned: text/event-stream, open until it is over                  */
    rgm_header headers[RGM_RESPONSE_HEADERS]; /* names static, values owned                     */
    int64_t header_count;
} rgm_response;
void rgm_response_clear(rgm_response *response);
/** One header more; the name is static, the value copied. RGM_ERR_NOMEM; RGM_ERR_ARG: there is no
 * room, or the value has a control character. */
rgm_status rgm_response_add_header(rgm_response *response, const char *name, const char *value);
/**
 * Make it the error `status` of this thread, whatever it was before.
 *
 * @param code     [in] of HTTP; 0: what rgm_http_code() says of `status`
 * @param details  [in] lines for people; NULL: none
 *
 * Never fails: without memory the body is empty.
 */
void rgm_response_fail(rgm_response *response, int code, rgm_status status, const char *details);
/** 404 of RGM_ERR_NOT_FOUND, 409 of RGM_ERR_BUSY, 503 of RGM_ERR_IO and RGM_ERR_NOMEM, else 400. */
int rgm_http_code(rgm_status status);

/* ---- path and query ------------------------------------------------------------------------ */

enum { RGM_TARGET_VALUES = 64 };

/** A request's path taken apart. `{0}` is a valid empty one. */
typedef struct rgm_target {
    char *text;       /* what the others point into                                       */
    const char *path; /* without the query; as it was sent, with its %: it is matched, not read */
    struct {
        const char *key, *value; /* decoded: '+' is a space, %41 an 'A'; without NUL      */
    } query[RGM_TARGET_VALUES];
    int64_t query_count;
} rgm_target;

/**
 * @param sent  [in] rgm_request.path
 *
 * Errors: RGM_ERR_ARG (a bad % or %00 in the query, a key without a value, more than 64 of them),
 * RGM_ERR_NOMEM; *out is then its path alone, or empty.
 */
rgm_status rgm_target_read(rgm_target *out, const char *sent);
void rgm_target_clear(rgm_target *target);
/** The first value of a key; `otherwise` where it is not given. */
const char *rgm_target_value(const rgm_target *target, const char *key, const char *otherwise);
/** The i-th value of a key that may be given several times; NULL: there are no more. */
const char *rgm_target_value_at(const rgm_target *target, const char *key, int64_t i);
/** An integer of the query; `otherwise` where it is not given. RGM_ERR_ARG: it is none, or not
 * within [low, high]. */
rgm_status rgm_target_int(int64_t *out, const rgm_target *target, const char *key,
                          int64_t otherwise, int64_t low, int64_t high);

/** What a path says where its pattern has braces. */
typedef struct rgm_path_values {
    int64_t ids[2];   /* of {id}, in their order; 0: the path has none       */
    char hex[17];     /* of {hex}; "": none                                  */
    char uuid[37];    /* of {uuid}                                           */
    char name[65];    /* of {name}                                           */
    const char *rest; /* of {rest}: within the path; NULL: none             */
} rgm_path_values;

/**
 * Whether a path is what a pattern says: "{id}" takes a number above 0 without leading zeros,
 * "{hex}" 16 small hexadecimal digits, "{uuid}" a UUID, "{name}" up to 64 of a-z, A-Z, 0-9, '_',
 * '-' and '.', the first no '.', and "{rest}" at the end all that follows. All else of a path is
 * matched byte by byte, so nothing of it but these ever is data.
 *
 * @param values  [out] valid where it fits
 */
bool rgm_path_fits(rgm_path_values *values, const char *pattern, const char *path);

/* ---- secrets ------------------------------------------------------------------------------- */

/** 32 hexadecimal digits of the system's random source. Errors: RGM_ERR_IO. */
rgm_status rgm_random_hex(char out[33]);
/** Whether two texts are the same, in a time that does not depend on where they differ; NULL is
 * the same as nothing. */
bool rgm_same_secret(const char *a, const char *b);

/* ---- server -------------------------------------------------------------------------------- */

/** 0 is the default where one is told. */
typedef struct rgm_http_options {
    /** Connections; when one more comes, the one goes that has waited longest without a whole
     * request. 0: 512. */
    int64_t connections;
    int64_t connections_per_address; /* 0: as many                                             */
    int64_t header_bytes;            /* of a request, with its first line; 0: 64 KiB           */
    int64_t body_bytes;              /* of a request; 0: 16 MiB                                */
    int64_t all_body_bytes;          /* of all requests that are being read; 0: 64 MiB         */
    double idle_seconds;    /* a connection may be silent, or not read its answer; 0: 120      */
    double request_seconds; /* from a connection's first byte, or a request's first line, until the
                               request is whole; 0: 120                                       */
    int64_t streams;        /* open at once; 0: 128                                            */
    /** [lane_count] threads of each lane, at most 16 lanes. Requests of a lane are begun in their
     * order; no lane waits for another, and the thread that polls for none. NULL: no lanes. */
    const int *lanes;
    int64_t lane_count;
} rgm_http_options;

/** Who answers. */
typedef struct rgm_http_service {
    /**
     * Look at the method, the path and the headers, before any of the body is read. false: *out is
     * the answer, and the connection ends. NULL: all may ask. Called by the thread that polls.
     */
    bool (*admit)(rgm_response *out, const rgm_request *request, void *payload);
    /** The lane for a request that was admitted, from 0; -1: it is answered by the thread that
     * polls. NULL: -1. */
    int64_t (*lane)(const rgm_request *request, void *payload);
    /** Answer it; *out is empty. What `request` points to is gone when it returns. */
    void (*answer)(rgm_response *out, const rgm_request *request, void *payload);
    void *payload;
    const rgm_header *headers; /* [header_count] static, of every answer */
    int64_t header_count;
} rgm_http_service;

typedef struct rgm_http rgm_http;

/**
 * Listen.
 *
 * @param out      [out] a descriptor, for rgm_http_start()
 * @param address  [in] "127.0.0.1:8080", "[::1]:8080"; port 0: any that is free
 *
 * Errors: RGM_ERR_ARG (it is no address in numbers with a port), RGM_ERR_BUSY (somebody listens
 * there), RGM_ERR_IO.
 */
rgm_status rgm_http_listen(int *out, const char *address);
/** "127.0.0.1:8080" or "[::1]:8080" of a descriptor that listens by TCP; *port is its port.
 * Errors: RGM_ERR_IO. */
rgm_status rgm_http_address(char out[64], int *port, int fd);
/** Whether an address of rgm_http_address() is of this machine alone: 127.0.0.0/8 or ::1. */
bool rgm_http_is_loopback(const char *address);

/**
 * Answer requests from a socket that listens, until rgm_http_stop().
 *
 * @param fd       [in] taken, whatever becomes of it
 * @param options  [in] NULL: the defaults
 * @param service  [in] copied
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_http_start(rgm_http **out, int fd, const rgm_http_options *options,
                          const rgm_http_service *service);
/** Streams that are ready are read now. Threads: any, until rgm_http_stop() is called. */
void rgm_http_wake(rgm_http *server);
/** Connections and streams that are open at the moment, for tests and watching; may be NULL. */
void rgm_http_count(int64_t *connections, int64_t *streams, const rgm_http *server);
/** Stop listening; what is being answered is, what waits is told 503, streams are closed. */
void rgm_http_stop(rgm_http *server);

#ifdef __cplusplus
}
#endif
#endif
