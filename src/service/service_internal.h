/*
 * What the files of the service layer share: ZeroMQ as a table of functions, keys, messages, and
 * the trainer's list of places and workers.
 */
#ifndef RGMI_SERVICE_INTERNAL_H
#define RGMI_SERVICE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include <regimen/service.h>

/* ---- zmq_library.c --------------------------------------------------------------------------- */

/** ZeroMQ's C interface, as far as it is used; it has been the same since 4.0. */
typedef struct rgmi_poll_item {
    void *socket;
    int fd;
    short events, revents;
} rgmi_poll_item;
typedef struct rgmi_zmq {
    void (*version)(int *major, int *minor, int *patch);
    int (*has)(const char *capability);
    int (*error)(void);
    const char *(*text)(int error);
    void *(*ctx_new)(void);
    int (*ctx_term)(void *context);
    void *(*socket)(void *context, int type);
    int (*close)(void *socket);
    int (*setsockopt)(void *socket, int option, const void *value, size_t size);
    int (*getsockopt)(void *socket, int option, void *value, size_t *size);
    int (*bind)(void *socket, const char *address);
    int (*connect)(void *socket, const char *address);
    int (*send)(void *socket, const void *data, size_t size, int flags);
    int (*poll)(rgmi_poll_item *items, int count, long timeout_ms);
    int (*msg_init)(void *message);
    int (*msg_recv)(void *message, void *socket, int flags);
    int (*msg_close)(void *message);
    void *(*msg_data)(void *message);
    size_t (*msg_size)(const void *message);
    int (*curve_keypair)(char *public_key, char *secret_key);
    int (*curve_public)(char *public_key, const char *secret_key);
    uint8_t *(*z85_decode)(uint8_t *out, const char *text);
} rgmi_zmq;

enum { RGMI_ZMQ_REP = 4, RGMI_ZMQ_DEALER = 5, RGMI_ZMQ_ROUTER = 6 };
enum {
    RGMI_ZMQ_RCVMORE = 13,
    RGMI_ZMQ_LINGER = 17,
    RGMI_ZMQ_RECONNECT_IVL = 18,
    RGMI_ZMQ_RECONNECT_IVL_MAX = 21,
    RGMI_ZMQ_MAXMSGSIZE = 22,
    RGMI_ZMQ_SNDHWM = 23,
    RGMI_ZMQ_RCVHWM = 24,
    RGMI_ZMQ_LAST_ENDPOINT = 32,
    RGMI_ZMQ_ROUTER_MANDATORY = 33,
    RGMI_ZMQ_IMMEDIATE = 39,
    RGMI_ZMQ_IPV6 = 42,
    RGMI_ZMQ_CURVE_SERVER = 47,
    RGMI_ZMQ_CURVE_PUBLICKEY = 48,
    RGMI_ZMQ_CURVE_SECRETKEY = 49,
    RGMI_ZMQ_CURVE_SERVERKEY = 50,
    RGMI_ZMQ_ZAP_DOMAIN = 55
};
enum { RGMI_ZMQ_DONTWAIT = 1, RGMI_ZMQ_SNDMORE = 2, RGMI_ZMQ_POLLIN = 1 };

/** A message of ZeroMQ. */
typedef union rgmi_frame {
    uint8_t bytes[64];
    void *aligned;
} rgmi_frame;

/** Load it once. RGM_ERR_UNSUPPORTED: it is not there, or has no CURVE. */
rgm_status rgmi_zmq_load(const rgmi_zmq **out);
rgm_status rgmi_zmq_failed(const rgmi_zmq *zmq, const char *doing, const char *what);
rgm_status rgmi_zmq_set_int(const rgmi_zmq *zmq, void *socket, int option, int value);

/* ---- service_key.c, service_address.c -------------------------------------------------------- */

/** One pair of keys for all who belong together: who knows it is a member. */
typedef struct rgmi_key {
    char open[41], secret[41]; /* Z85                                    */
    uint8_t open_bytes[32];    /* what ZeroMQ reports of who comes       */
} rgmi_key;
rgm_status rgmi_key_load(rgmi_key *out, const char *path, const rgmi_zmq *zmq);

/** "tcp://HOST:PORT" to listen at or to connect to; freed by the caller. Host names are looked up
 * for the listener, as ZeroMQ only takes numbers there. */
rgm_status rgmi_address_endpoint(char **out, const char *address, bool listens);

/* ---- service_message.c ----------------------------------------------------------------------- */

enum { RGMI_SERVICE_PROTOCOL = 1 };
#define RGMI_MOST_MESSAGE                                                                          \
    (INT64_C(1) << 30) /* bytes of a batch with all that travels beside it                         \
                        */

typedef enum rgmi_saying_kind {
    /* of a worker */
    RGMI_SAY_HELLO, /* name, version, identity, recipe, threads              */
    RGMI_SAY_MADE,  /* session, number, status, text, position, element      */
    RGMI_SAY_ALIVE,
    RGMI_SAY_LEAVE,
    /* of the trainer */
    RGMI_SAY_WHO,    /* say hello: you are not known here                    */
    RGMI_SAY_REFUSE, /* text                                                 */
    RGMI_SAY_OPEN,   /* session, number, position: number is the first behind the position */
    RGMI_SAY_MAKE,   /* session, number                                      */
    RGMI_SAY_PING,
    RGMI_SAY_CLOSE, /* no more is wanted */
    RGMI_SAY_KINDS
} rgmi_saying_kind;

/** Any message; what a kind does not have is zero. Texts are borrowed. */
typedef struct rgmi_saying {
    rgmi_saying_kind kind;
    int64_t session, number;
    int64_t status;  /* of a batch: RGM_OK, an error's, or RGM_END: there is no `number` */
    int64_t counted; /* of an error: it takes the place of the batch       */
    int64_t threads, protocol;
    int64_t busy_us, idle_us; /* of a batch: to make it, and before that without work */
    rgm_str name, version, identity, recipe, text, position, element;
} rgmi_saying;
rgm_status rgmi_saying_put(rgm_text *out, const rgmi_saying *message);
/** RGM_ERR_FORMAT. */
rgm_status rgmi_saying_get(rgmi_saying *out, const void *data, int64_t size);

/** What a batch is, whoever made it. */
uint64_t rgmi_made_hash(int64_t status, rgm_str element);

/* ---- the trainer's places: service_places.c -------------------------------------------------- */

typedef enum rgmi_place_state {
    RGMI_PLACE_FREE,      /* nobody makes it  */
    RGMI_PLACE_UNDER_WAY, /* a worker does    */
    RGMI_PLACE_MADE,      /* the trainer may have it */
    RGMI_PLACE_GIVEN
} rgmi_place_state;

typedef struct rgmi_service_place {
    rgmi_place_state state;
    int64_t worker;  /* who makes it, by rgmi_worker.id      */
    int64_t arrival; /* among all that were made             */
    rgm_status status;
    bool counted;
    rgm_element *element;
    char *error;
    rgm_text after;
} rgmi_service_place;

/** The numbers from `low` on that are wanted now, at most `ahead` of them, and what is there of
 * them. */
typedef struct rgmi_service_places {
    rgmi_service_place *items; /* [ahead], number n at n % ahead */
    int64_t ahead;
    int64_t low;    /* the lowest that the trainer has not got */
    int64_t end;    /* of the data, as the first worker says; INT64_MAX: none has said it */
    int64_t *given; /* that were given before the beginning, ascending */
    int64_t given_count;
    int64_t arrivals;
    rgm_text base; /* a position, behind which number `base_number` is the next */
    int64_t base_number;
} rgmi_service_places;
rgm_status rgmi_places_create(rgmi_service_places *places, int64_t ahead);
void rgmi_places_clear(rgmi_service_places *places);
rgm_status rgmi_places_begin(rgmi_service_places *places, const rgm_text *position, int64_t first,
                             const int64_t *given, int64_t count);
/** The place of a number from `low` on, also behind the end; NULL: it is given, or too far. */
rgmi_service_place *rgmi_places_at(const rgmi_service_places *places, int64_t number);
/** The lowest number before the end that nobody makes; -1: there is none. */
int64_t rgmi_places_free(const rgmi_service_places *places);
/** The number that the trainer may have next; -1: none yet. */
int64_t rgmi_places_ready(const rgmi_service_places *places, rgm_service_order order);
/** Give a made place to the trainer, with the text of its error (owned), and whether that stands in
 * the place of an element. */
void rgmi_places_give(rgm_made *out, char **error, bool *counted, rgmi_service_places *places,
                      int64_t number);
/** Whether no number from `end` on was made or given: else who says that there is no element `end`
 * has other data. */
bool rgmi_places_may_end(const rgmi_service_places *places, int64_t end);
/** What a worker was making is free again; returns how many. */
int64_t rgmi_places_drop(rgmi_service_places *places, int64_t worker);
void rgmi_places_count(int64_t counts[4], const rgmi_service_places *places); /* by state */

/* ---- the trainer's side: service.c, service_thread.c, service_report.c ------------------------
 */

enum { RGMI_ROUTE = 64, RGMI_WORKER_NAME = 128, RGMI_MOST_WORKERS = 4096 };

typedef enum rgmi_worker_state {
    RGMI_WORKER_TRIED, /* it makes the first batch, to be compared */
    RGMI_WORKER_AT_WORK,
    RGMI_WORKER_GONE,
    RGMI_WORKER_REFUSED
} rgmi_worker_state;

typedef struct rgmi_worker {
    int64_t id;
    uint8_t route[RGMI_ROUTE]; /* ZeroMQ's name for its connection */
    int64_t route_size;
    char name[RGMI_WORKER_NAME]; /* "node7:4711" */
    char why[256];               /* it was refused or is gone */
    rgmi_worker_state state;
    int64_t threads, session; /* that it was told */
    int64_t end, asked_end;   /* of its data in that session, INT64_MAX: it has not said; and the
                                 number that it was asked about, -1: none */
    int64_t under_way, made, bytes;
    double heard, busy, idle; /* seconds */
} rgmi_worker;

struct rgm_service {
    rgm_service_options options;
    const char *identity;
    const rgm_element_type *const *types;
    char *report;
    bool (*should_stop)(void *payload);
    void *payload;
    const rgmi_zmq *zmq;
    rgmi_key key;
    rgm_maker maker;
    char *address;
    void *context, *router, *zap;
    int wake; /* eventfd: the trainer wants something of the thread */
    pthread_t thread;
    rgm_logger *log;
    bool has_thread, has_lock;
    atomic_bool closing;

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t changed;
    rgmi_service_places places;
    bool wanted;     /* an iterator wants batches */
    int64_t session; /* of the iterator           */
    rgm_text recipe;
    rgm_text probe; /* where the first batch of all is, and ..             */
    int64_t probe_number;
    uint64_t probe_hash; /* .. what it must be */
    rgm_element *like;   /* that batch: others must have its form; NULL: it was an error */
    bool has_probe;
    rgmi_worker *workers; /* gone ones, too, so that a report can tell */
    int64_t worker_count, worker_capacity, next_id;
    rgm_service_counts counts;
    double waits_since; /* the trainer waits; 0: it does not */
    double opened, next_report;
    bool report_failed;
    rgm_status failed; /* the thread has ended by an error */
    rgm_error failure;
};

void *rgmi_service_run(void *service); /* the thread */
/** Write setup.report; called with the lock. */
void rgmi_service_report(rgm_service *service, double now);
bool rgmi_service_is_at_work(const rgmi_worker *worker);
/** Whether all was given up to the end of the data, and each worker has said that theirs end there.
 * Called with the lock. */
bool rgmi_service_has_ended(const rgm_service *service);

#endif
