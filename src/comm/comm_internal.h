/*
 * What the files of comm share. A rank has three threads:
 *
 *     the caller   hands in transfers (comm_calls.c, transfers.c) and waits for them
 *     the engine   makes all calls of MPI (mpi_engine.c): begins the transfers in their order, and
 *                  has several under way
 *     the watch    knows which ranks live (watch.c), by sockets of its own, since MPI says nothing
 *                  of a rank that is silent
 *
 * Whoever finds that the ranks cannot go on says so by rgmi_comm_break(). The engine then leaves
 * all transfers as they are, and every call returns that error.
 */
#ifndef RGM_COMM_INTERNAL_H
#define RGM_COMM_INTERNAL_H

#include <regimen/base_condition.h>
#include <regimen/comm.h>

#include <pthread.h>
#include <stdatomic.h>

#include "mpi_table.h"

/* ---- how this process was started ---------------------------------------------------------- */

/** What the environment that a launcher leaves says. */
typedef struct rgmi_launcher {
    const char *launcher; /* "mpirun (Open MPI)", NULL: none */
    int rank, size;       /* 0 of 1 without                  */
} rgmi_launcher;
void rgmi_launcher_read(rgmi_launcher *launcher);

/** The table of libregimen-mpi.so, which stays loaded. Errors: RGM_ERR_UNSUPPORTED. */
rgm_status rgmi_mpi_load(const regimen_mpi **out);

/* ---- transfers ----------------------------------------------------------------------------- */

static inline bool rgmi_is_summed(rgm_dtype dtype)
{
    return dtype == RGM_F32 || dtype == RGM_F64 || dtype == RGM_BF16;
}
/** out [size] = low + high, each of `dtype`; out may be either of them. */
void rgmi_add_arrays(void *out, const void *low, const void *high, int64_t size, rgm_dtype dtype);
/** As rgmi_add_arrays(), of elements of any kind. */
typedef void rgmi_combine(void *out, const void *low, const void *high, int64_t size,
                          rgm_dtype dtype);

#define RGMI_LEVELS 31 /* of the tree over ranks */

/** Something that the ranks do together; called a request where it is a sum. */
typedef struct rgm_comm_sum_request rgmi_transfer;

/** A kind of transfer: called at its beginning, and whenever all that it began is over; sets *over
 * at its end. */
typedef rgm_status rgmi_transfer_step(rgmi_transfer *transfer, bool *over);

struct rgm_comm_sum_request {
    rgm_comm *comm;
    rgmi_transfer *next; /* in the queue, among those under way, or among those that are free */
    rgmi_transfer_step *step;
    int64_t number; /* of all transfers, alike on every rank */
    double began;   /* rgm_now()                        */
    bool sums;      /* of a sum: its time counts apart  */
    bool over;      /* the engine has left it           */
    bool done;      /* and it came to its end           */

    /* what it works on */
    void *memory;       /* [size] elements                              */
    const void *source; /* of a gathering: this rank's                  */
    int64_t size;
    size_t element; /* bytes of one */
    rgm_dtype dtype;
    rgmi_combine *combine;
    const size_t *begin; /* of a gathering, [ranks + 1] */
    rgm_comm_mail mail;
    int root;

    /* how far it is */
    int stage;                                  /* transfers that were begun     */
    int64_t from[RGMI_LEVELS], to[RGMI_LEVELS]; /* the part at each level        */
    char *room;                                 /* what the partner sent         */
    size_t room_bytes;
    regimen_mpi_request *requests; /* [request_room]; outstanding: request_count */
    int64_t request_room;
    int request_count;
    int receives; /* the first so many requests are such */
};

rgmi_transfer_step rgmi_step_barrier, rgmi_step_broadcast, rgmi_step_gather_all, rgmi_step_gather;
rgmi_transfer_step rgmi_step_mail;
/** The tree over ranks by whole arrays, or by halves: the same bits. */
rgmi_transfer_step rgmi_step_whole, rgmi_step_halves;

/** A transfer with nothing in it but `requests` and `room_bytes` of room. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_transfer_create(rgmi_transfer **out, rgm_comm *comm, int64_t requests,
                                size_t room_bytes);
/** Collect `bytes` of each rank at `all` [ranks * bytes]. Errors: RGM_ERR_NOMEM, that which broke
 * the ranks. */
rgm_status rgmi_gather_all(void *all, rgm_comm *comm, const void *mine, size_t bytes);
/** Hand it to the engine. After this the transfer is the comm's, but for rgmi_transfer_wait(). */
void rgmi_transfer_begin(rgmi_transfer *transfer);
/** Wait for its end, and release it. Errors: that which broke the ranks. */
rgm_status rgmi_transfer_wait(rgmi_transfer *transfer);
/** Begin and wait. */
rgm_status rgmi_transfer_run(rgmi_transfer *transfer);

/** Seconds until `now` in which a sum was under way. Under the lock. */
double rgmi_sums_time(const rgm_comm *comm, double now);
/** A sum begins, or ends. Under the lock. */
void rgmi_sums_count(rgm_comm *comm, int more, double now);

/** Free those that wait to be used again. */
void rgmi_transfers_release(rgm_comm *comm);

/* ---- the ranks ----------------------------------------------------------------------------- */

typedef struct rgmi_watch rgmi_watch;

/** How long ranks wait, in seconds. */
typedef struct rgmi_patience {
    double beat;   /* between two signs of life                                      */
    double silent; /* without any a rank is lost                                     */
    double late;   /* a rank that others wait for is named, and then at 2, 4, .. times */
    double most;   /* and then the ranks break                                       */
    double slow;   /* between two looks at who is slow; twice as long after each word of it */
} rgmi_patience;
#define RGMI_PATIENCE ((rgmi_patience){1, 20, 25, 1800, 60})

/** What ranks decide with; `least` and `most` are the times that one waited since the last. */
typedef struct rgmi_ranks_decision {
    uint64_t any, first;
    double least, most;
    int64_t slowest; /* the rank that waited least */
} rgmi_ranks_decision;

struct rgm_comm {
    int rank, size, levels; /* size is 2^levels                 */
    const regimen_mpi *mpi; /* NULL: one process by itself      */
    void *context;          /* of the table                     */
    regimen_mpi_job job;
    rgm_comm_member *members; /* [size] */
    rgmi_patience patience;
    rgmi_watch *watch;
    rgm_thread_pool *threads; /* engine and watch */

    /* the caller's */
    rgmi_transfer *free;
    rgmi_ranks_decision decision;
    double decided; /* times.waited at the last decision                */
    double *slow;   /* rank 0: [size] seconds that others waited for it */
    double slow_since, slow_window;

    /* the engine's */
    int64_t sent; /* bytes */

    pthread_mutex_t lock; /* of all that follows */
    pthread_cond_t work, changed;
    rgmi_transfer *queue, **queue_end; /* handed in, and not yet taken          */
    int64_t entered;                   /* transfers that this rank has begun         */
    int64_t waiting_for;               /* the caller waits for it; 0: computes  */
    double waiting_since;
    bool started, closing, stopped; /* the engine                            */
    bool broken, lost;              /* nothing goes on; since a rank is gone */
    bool told;                      /* and the watch has said so             */
    bool receives;                  /* MPI may still write where nobody keeps memory */
    int wake;                       /* an event that wakes the watch         */
    rgm_error error;                /* why                                   */
    char *notice;                   /* that the caller shall log             */
    rgm_comm_times times;
    int sums;           /* that are under way                        */
    double sums_since;  /* when the first of them began              */
    atomic_bool urgent; /* the caller waits, so the engine does not sleep */
};

/**
 * The ranks that a table of functions reaches. Errors: those of rgm_comm_open().
 * Collective: every rank calls it.
 */
rgm_status rgmi_comm_create(rgm_comm **out, const regimen_mpi *mpi, void *context,
                            const rgmi_patience *patience);
void rgmi_comm_release(rgm_comm *comm);
/** Keep this thread's error, unless there was one before, and wake whoever waits. `lost`: a rank is
 * gone, so MPI cannot be ended. Returns `status`. */
rgm_status rgmi_comm_break(rgm_comm *comm, rgm_status status, bool lost);
/** Wait until the watch has told the others that the ranks are broken, or a second. */
void rgmi_comm_tell(rgm_comm *comm);
/** Why the ranks are broken, as this thread's error. */
rgm_status rgmi_comm_broken(rgm_comm *comm);
/** "rank 3 on node7". */
const char *rgmi_rank_name(char out[96], const rgm_comm *comm, int rank);
/** An error if `code`, MPI's, is one. */
rgm_status rgmi_mpi_check(rgm_comm *comm, int code, const char *doing);

/** The engine's thread, from MPI's start to its end. */
void rgmi_engine_run(void *comm);

/* ---- the watch ----------------------------------------------------------------------------- */

/** What sockets carry between rank 0 and each other. */
typedef struct rgmi_message {
    uint32_t magic;
    int32_t kind;    /* below                                       */
    int32_t rank;    /* of the sender                               */
    int32_t status;  /* FAIL                                        */
    int32_t system;  /* FAIL: errno                                 */
    int32_t lost;    /* FAIL: a rank is gone                        */
    int64_t entered; /* BEAT, LEAVE: transfers that the sender has begun */
    int64_t waiting_for;
    double waiting; /* BEAT: how long its caller has waited, s */
    char text[464]; /* HELLO, FAIL, NOTE                       */
} rgmi_message;
#define RGMI_MESSAGE_MAGIC 0x72676d31u
enum { RGMI_HELLO = 1, RGMI_BEAT, RGMI_FAIL, RGMI_LEAVE, RGMI_NOTE };
/** Write one whole, within a second. Returns false if that is not possible. */
bool rgmi_message_send(int fd, const rgmi_message *message);

/**
 * Connect rank 0 with each other. fds: [size], on rank 0 those of the others, elsewhere only
 * fds[0]; -1 where there is no connection, of which the log tells. Errors: RGM_ERR_IO,
 * RGM_ERR_NOMEM. Collective: every rank calls it.
 */
rgm_status rgmi_meet(int *fds, rgm_comm *comm);
/** Interfaces that are up, with their addresses, loopback last: "eth0 192.0.2.2, lo 127.0.0.1". */
void rgmi_addresses_print(char *text, size_t room);

/** Errors: those of rgmi_meet(). Collective: every rank calls it. */
rgm_status rgmi_watch_create(rgmi_watch **out, rgm_comm *comm);
/** Its thread must have ended. */
void rgmi_watch_release(rgmi_watch *watch);
/** Its thread, until rgmi_watch_stop(). */
void rgmi_watch_run(void *watch);
void rgmi_watch_stop(rgmi_watch *watch);
/** After that, where the ranks are broken: wait until the others have left as well, or a second. A
 * launcher kills the others when the first ends, and each has something to say. (After the loss of
 * a rank it kills them anyway.) */
void rgmi_watch_linger(rgmi_watch *watch);
/** Tell the others that this rank leaves after its last transfer. */
void rgmi_watch_leave(rgmi_watch *watch);

#endif
