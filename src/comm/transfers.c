/*
 * Transfers from the caller's side: made, handed to the engine, waited for. Those that are over are
 * used again with their room, so that after the first step of a training nothing is allocated.
 */
#include "comm_internal.h"

#include <stdio.h>
#include <string.h>

#define STUCK_S                                                                                    \
    2.0 /* the engine leaves a transfer of broken ranks within this, or is stuck in MPI */
#define MEET_S 120.0 /* until the ranks know each other nobody watches                         */

static void release(rgmi_transfer *transfer)
{
    rgm_free(transfer->room);
    rgm_free(transfer->requests);
    rgm_free(transfer);
}

void rgmi_transfers_release(rgm_comm *comm)
{
    while (comm->free != NULL) {
        rgmi_transfer *transfer = comm->free;

        comm->free = transfer->next;
        release(transfer);
    }
}

/* One that is free: if possible one with enough room. */
static rgmi_transfer *take_free(rgm_comm *comm, size_t room_bytes)
{
    rgmi_transfer **at = &comm->free, *transfer;

    while (*at != NULL && (*at)->room_bytes < room_bytes)
        at = &(*at)->next;
    if (*at == NULL)
        at = &comm->free;
    transfer = *at;
    if (transfer != NULL)
        *at = transfer->next;
    return transfer;
}

rgm_status rgmi_transfer_create(rgmi_transfer **out, rgm_comm *comm, int64_t requests,
                                size_t room_bytes)
{
    rgm_status status = RGM_OK;
    rgmi_transfer *transfer = take_free(comm, room_bytes);

    *out = NULL;
    if (transfer == NULL)
        RGM_GO(RGM_NEW(transfer, 1));
    RGM_GO(RGM_RESERVE(transfer->requests, transfer->request_room, requests));
    if (transfer->room_bytes < room_bytes) {
        rgm_free(transfer->room);
        transfer->room_bytes = 0;
        transfer->room = rgm_malloc(room_bytes);
        if (transfer->room == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of another rank", room_bytes));
        transfer->room_bytes = room_bytes;
    }
    *transfer = (rgmi_transfer){.comm = comm,
                                .room = transfer->room,
                                .room_bytes = transfer->room_bytes,
                                .requests = transfer->requests,
                                .request_room = transfer->request_room};
    *out = transfer;
    transfer = NULL;
done:
    if (transfer != NULL)
        release(transfer);
    return status;
}

/* ---- how long sums are under way ------------------------------------------------------------ */

double rgmi_sums_time(const rgm_comm *comm, double now)
{
    return comm->times.sums + (comm->sums > 0 ? now - comm->sums_since : 0);
}

void rgmi_sums_count(rgm_comm *comm, int more, double now)
{
    comm->times.sums = rgmi_sums_time(comm, now);
    comm->sums_since = now;
    comm->sums += more;
}

/* ---- at work -------------------------------------------------------------------------------- */

void rgmi_transfer_begin(rgmi_transfer *transfer)
{
    rgm_comm *comm = transfer->comm;

    transfer->began = rgm_now();
    pthread_mutex_lock(&comm->lock);
    transfer->number = ++comm->entered;
    transfer->next = NULL;
    transfer->over = comm->broken;
    if (!comm->broken) {
        if (transfer->sums)
            rgmi_sums_count(comm, 1, transfer->began);
        *comm->queue_end = transfer;
        comm->queue_end = &transfer->next;
        pthread_cond_signal(&comm->work);
    }
    pthread_mutex_unlock(&comm->lock);
}

/* What the watch has to say goes to the log of whoever waits: a run has its own. */
static void tell_notice(rgm_comm *comm)
{
    char *notice = comm->notice;

    if (notice == NULL)
        return;
    comm->notice = NULL;
    pthread_mutex_unlock(&comm->lock);
    rgm_log_write(RGM_LOG_WARNING, "%s", notice);
    rgm_free(notice);
    pthread_mutex_lock(&comm->lock);
}

/* Under the lock. Returns false if the engine is stuck with the transfer. */
static bool wait_until_over(rgm_comm *comm, rgmi_transfer *transfer)
{
    double broken_since = 0;

    while (!transfer->over) {
        struct timespec until;
        double now = rgm_now();

        tell_notice(comm);
        if (comm->broken && broken_since == 0)
            broken_since = now;
        if (broken_since > 0 && now - broken_since > STUCK_S)
            return false;
        if (comm->watch == NULL && !comm->broken && now - comm->waiting_since > MEET_S) {
            pthread_mutex_unlock(&comm->lock);
            (void)rgmi_comm_break(comm,
                                  RGM_FAIL(RGM_ERR_IO,
                                           "rank %d of %d waits since %g s for the "
                                           "others to start",
                                           comm->rank, comm->size, MEET_S),
                                  true);
            pthread_mutex_lock(&comm->lock);
        }
        rgm_deadline(&until, 0.5);
        if (!transfer->over)
            (void)pthread_cond_timedwait(&comm->changed, &comm->lock, &until);
    }
    return true;
}

rgm_status rgmi_transfer_wait(rgmi_transfer *transfer)
{
    rgm_comm *comm = transfer->comm;
    double now, sums;
    bool done;

    pthread_mutex_lock(&comm->lock);
    comm->waiting_for = transfer->number;
    comm->waiting_since = rgm_now();
    sums = rgmi_sums_time(comm, comm->waiting_since);
    atomic_store(&comm->urgent, true);
    pthread_cond_signal(&comm->work);
    if (wait_until_over(comm, transfer)) {
        done = transfer->done;
        transfer->next = comm->free;
        comm->free = transfer;
    } else {
        done = false; /* MPI may still use the transfer: it is left alone */
    }
    tell_notice(comm);
    comm->waiting_for = 0;
    now = rgm_now();
    comm->times.waited += now - comm->waiting_since;
    comm->times.sums_shown += rgmi_sums_time(comm, now) - sums;
    atomic_store(&comm->urgent, false);
    pthread_mutex_unlock(&comm->lock);
    return done ? RGM_OK : rgmi_comm_broken(comm);
}

rgm_status rgmi_transfer_run(rgmi_transfer *transfer)
{
    rgmi_transfer_begin(transfer);
    return rgmi_transfer_wait(transfer);
}
