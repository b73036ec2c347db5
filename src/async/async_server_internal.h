/* The server's parts: the run's thread, and the threads that answer workers. */
#ifndef RGM_ASYNC_SERVER_INTERNAL_H
#define RGM_ASYNC_SERVER_INTERNAL_H

#include "async_internal.h"
#include "ledger.h"

#include <pthread.h>
#include <regimen/http.h>
#include <stdatomic.h>

enum {
    RGMI_WORKERS = 64, /* at a time: each may wait in a thread of the server's */
    RGMI_EVERY = 16    /* turns between two positions of the data that workers tell */
};

typedef struct rgmi_visitor {
    int64_t id; /* of this visit: a worker that comes again is another one */
    int64_t pid;
    bool is_here; /* a process of this host, which can be asked whether it lives */
    char host[64];
    double seen;     /* when it last asked something, or said that it lives */
    double worked;   /* when it last asked for a turn or for weights: both are its main thread's */
    bool hangs;      /* it lives, and its main thread has been silent for too long */
    int64_t updates; /* that it has handed in */
    bool told;       /* how the run ended */
} rgmi_visitor;

/** What the requests of workers come to. */
typedef enum rgmi_phase { RGMI_OPENING, RGMI_TRAINING, RGMI_ENDED } rgmi_phase;

struct rgm_async_server {
    rgm_async_options options;
    char *folder, *url;
    char token[33];
    rgm_http *http;
    bool has_address; /* the folder has it */
    rgm_trainer_hooks hooks;

    rgm_trainer *trainer; /* borrowed, from admit on */
    rgmi_tables tables;
    rgm_tensor **gradients; /* [parameters] as they were decoded last */
    char *about;
    bool applies;            /* the run's thread makes an update; its own */
    rgm_logger *_Atomic log; /* the run's, from its first step on; owned */

    pthread_mutex_t lock;
    pthread_cond_t for_run, for_workers;
    /* under the lock */
    rgmi_phase phase;
    rgmi_answer_kind end; /* in the last phase */
    char *message;
    bool open; /* the run's thread waits: weights may be read, and turns begun */
    rgmi_ledger ledger;
    rgmi_visitor *visitors;
    int64_t visitor_count, visitor_capacity, last_visitor;
    int64_t late;       /* that came when it was over */
    double looked;      /* for lost workers */
    double longest;     /* seconds between two requests of a main thread that handed in */
    double alone_since; /* when the last worker went, or the run began to wait */
    bool gave_up;       /* nobody will come */
    bool abandoned;     /* the run was asked to stop for want of workers */
    char *why;
    double told_alone; /* when the log was last told of waiting */
    int64_t moved;     /* the trainer's count of updates when the run's thread was last here */
    rgm_async_report report;
};

/* async_answers.c */
void rgmi_server_answer(rgm_response *out, const rgm_request *request, void *server);
bool rgmi_server_admit(rgm_response *out, const rgm_request *request, void *server);
int64_t rgmi_server_lane(const rgm_request *request, void *server);

/* async_visitors.c, with the lock */
void rgmi_server_drop_visitor(rgm_async_server *server, int64_t at);
/** Whether there is a worker that does not hang. */
bool rgmi_server_has_workers(const rgm_async_server *server);
/** Give the turns of those that have ended, are silent or hang to others. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_server_forget_lost(rgm_async_server *server);
/** Whether the run is to stop because nobody works on it: server->abandoned. The log tells of
 * waiting. */
void rgmi_server_look_for_workers(rgm_async_server *server);

/* async_wait.c */
void rgmi_server_init_waiting(rgm_async_server *server);
/* with the lock: */
/** Wait on a condition for so many seconds at most. */
void rgmi_server_wait(rgm_async_server *server, pthread_cond_t *condition, double seconds);

#endif
