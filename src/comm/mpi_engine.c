/*
 * The engine: the thread of a rank that makes all calls of MPI (MPI_THREAD_FUNNELED). It begins
 * transfers in the order in which the caller handed them in, and takes each one step further when
 * what it began is over. MPI makes no progress by itself, so somebody has to ask: this thread does,
 * all the time while the caller waits, and now and then while the caller computes.
 */
#include "comm_internal.h"

#include <sched.h>
#include <time.h>

#define SPIN_S                                                                                     \
    2e-3           /* asked without a pause, but for other threads, so long after the last step    \
                    */
#define NAP_S 3e-5 /* between two questions after that                                          */
#define COMPUTE_S                                                                                  \
    1e-4             /* while the caller computes                                                 */
#define FINISH_S 0.5 /* for what was begun when the ranks broke; below STUCK_S */
#define MOVED_S  2e-5 /* a question that took longer has moved bytes: ask again */

static double processor_time(void)
{
    struct timespec time;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static bool is_broken(rgm_comm *comm)
{
    bool broken;

    pthread_mutex_lock(&comm->lock);
    broken = comm->broken;
    pthread_mutex_unlock(&comm->lock);
    return broken;
}

/* Take a transfer further. Sets *moved if there was anything to do. */
static rgm_status advance(rgmi_transfer *transfer, bool *over, bool *moved)
{
    rgm_comm *comm = transfer->comm;
    int ready = 1;

    *over = false;
    if (transfer->request_count > 0) {
        double before = rgm_now();

        RGM_TRY(rgmi_mpi_check(
            comm,
            comm->mpi->test(comm->context, transfer->request_count, transfer->requests, &ready),
            "transfer"));
        if (!ready) {
            *moved = *moved || rgm_now() - before > MOVED_S;
            return RGM_OK;
        }
        transfer->request_count = transfer->receives = 0;
    }
    if (is_broken(comm)) /* its memory may have been the caller's again since the question */
        return RGM_OK;
    *moved = true;
    return transfer->step(transfer, over);
}

/* A transfer has come to its end, or is left: *at, in the list. */
static void leave(rgmi_transfer **at, bool done)
{
    rgmi_transfer *transfer = *at;
    rgm_comm *comm = transfer->comm;
    double now = rgm_now();

    *at = transfer->next;
    pthread_mutex_lock(&comm->lock);
    transfer->over = true;
    transfer->done = done;
    if (transfer->sums)
        rgmi_sums_count(comm, -1, now);
    comm->times.under_way += now - transfer->began;
    comm->times.engine = processor_time();
    comm->times.bytes = comm->sent;
    comm->times.transfers++;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}

/* Ask for each transfer. A step can have nothing to transfer, so it is called again at once. */
static rgm_status advance_all(rgmi_transfer **active, bool *moved)
{
    rgmi_transfer **at = active;

    *moved = false;
    while (*at != NULL) {
        bool over;

        RGM_TRY(advance(*at, &over, moved));
        if (over)
            leave(at, true);
        else
            at = &(*at)->next;
    }
    return RGM_OK;
}

static void pause_engine(rgm_comm *comm, double idle)
{
    struct timespec until;

    if (atomic_load(&comm->urgent)) {
        if (idle < SPIN_S)
            sched_yield();
        else
            nanosleep(&(struct timespec){.tv_nsec = (long)(NAP_S * 1e9)}, NULL);
        return;
    }
    rgm_deadline(&until, COMPUTE_S);
    pthread_mutex_lock(&comm->lock);
    if (comm->queue == NULL && !comm->broken && !atomic_load(&comm->urgent))
        (void)pthread_cond_timedwait(&comm->work, &comm->lock, &until);
    pthread_mutex_unlock(&comm->lock);
}

/* Put what was handed in behind `active`; without anything at work wait for it. Returns false at
 * the end. */
static bool take_transfers(rgm_comm *comm, rgmi_transfer **active)
{
    rgmi_transfer **end = active;
    bool more;

    pthread_mutex_lock(&comm->lock);
    while (*active == NULL && comm->queue == NULL && !comm->closing && !comm->broken)
        pthread_cond_wait(&comm->work, &comm->lock);
    while (*end != NULL)
        end = &(*end)->next;
    *end = comm->queue;
    comm->queue = NULL;
    comm->queue_end = &comm->queue;
    more = !comm->broken && (!comm->closing || *active != NULL);
    pthread_mutex_unlock(&comm->lock);
    return more;
}

/* Whether some of it is under way after the time for it, or an error of MPI. */
static bool goes_on(rgm_comm *comm, rgmi_transfer *active)
{
    double until = rgm_now() + FINISH_S;
    bool more;

    do {
        more = false;
        for (rgmi_transfer *t = active; t != NULL; t = t->next) {
            int ready = 1;

            if (t->request_count > 0 &&
                comm->mpi->test(comm->context, t->request_count, t->requests, &ready) != 0)
                return true;
            if (ready)
                t->request_count = t->receives = 0;
            more = more || !ready;
        }
        sched_yield();
    } while (more && rgm_now() < until);
    return more;
}

/* Whether a message can still come in for a transfer. */
static bool can_receive(const rgmi_transfer *active)
{
    for (; active != NULL; active = active->next)
        for (int i = 0; i < active->receives; i++)
            if (active->requests[i] != 0)
                return true;
    return false;
}

/* What all ranks had begun comes to its end before MPI does, whose end does not bear it. Nothing
 * new is begun, and what waits for a rank that never came is given up: the callers have their
 * memory back from here on, and MPI would write to it when it is asked next. A message that is
 * neither there by now nor can be refused leaves MPI without an end, since only being asked moves
 * it. */
static void finish(rgm_comm *comm, rgmi_transfer *active)
{
    bool receives;

    if (active == NULL || rgm_comm_is_lost(comm) || !goes_on(comm, active))
        return;
    for (rgmi_transfer *t = active; t != NULL; t = t->next)
        (void)comm->mpi->cancel(comm->context, t->receives, t->requests);
    (void)goes_on(comm, active);
    receives = can_receive(active);
    pthread_mutex_lock(&comm->lock);
    comm->receives = receives;
    pthread_mutex_unlock(&comm->lock);
}

static void work(rgm_comm *comm)
{
    rgmi_transfer *active = NULL;
    double last = rgm_now();
    bool moved;

    while (take_transfers(comm, &active)) {
        rgm_status status = advance_all(&active, &moved);

        if (status != RGM_OK)
            (void)rgmi_comm_break(comm, status, false);
        else if (moved)
            last = rgm_now();
        else
            pause_engine(comm, rgm_now() - last);
    }
    finish(comm, active);
    while (active != NULL)
        leave(&active, false);
}

static rgm_status start(rgm_comm *comm)
{
    int code = comm->mpi->start(comm->context, &comm->job);

    if (code < 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s", comm->job.refusal);
    RGM_TRY(rgmi_mpi_check(comm, code, "start"));
    pthread_mutex_lock(&comm->lock);
    comm->rank = comm->job.rank;
    comm->size = comm->job.size;
    comm->started = true;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
    return RGM_OK;
}

void rgmi_engine_run(void *payload)
{
    rgm_comm *comm = payload;
    rgm_status status = start(comm);
    bool finish;

    if (status != RGM_OK)
        (void)rgmi_comm_break(comm, status, false);
    else
        work(comm);
    pthread_mutex_lock(&comm->lock);
    while (comm->broken && !comm->closing) /* the caller still has to say what the ranks do next */
        pthread_cond_wait(&comm->work, &comm->lock);
    finish = comm->started && !comm->lost && !comm->receives;
    pthread_mutex_unlock(&comm->lock);
    if (finish)
        (void)comm->mpi->stop(comm->context);
    pthread_mutex_lock(&comm->lock);
    comm->stopped = true;
    pthread_cond_broadcast(&comm->changed);
    pthread_mutex_unlock(&comm->lock);
}
