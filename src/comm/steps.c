/*
 * What transfers do, transfer by transfer. A sum follows the levels of the tree over ranks: at
 * level k the partner of a rank is rank ^ 2^k, and both have then the sum of 2^(k+1) ranks. Small
 * arrays are exchanged whole, log2(ranks) times. Of large ones a rank goes on with a half at each
 * level, so that it sends and receives less than twice the array in all, and gets the other parts
 * on the way back (recursive halving and doubling: Thakur, Rabenseifner & Gropp 2005). Either way a
 * number is added to the same others in the same order.
 */
#include "comm_internal.h"

#include <string.h>

static rgm_status begun(rgmi_transfer *transfer, int code, const char *doing)
{
    RGM_TRY(rgmi_mpi_check(transfer->comm, code, doing));
    transfer->request_count++;
    return RGM_OK;
}

static int tag_of(const rgmi_transfer *transfer)
{
    return (int)(transfer->number %
                 (transfer->comm->job.tag_most < 30000 ? transfer->comm->job.tag_most : 30000));
}

static rgm_status send_to(rgmi_transfer *transfer, const void *memory, size_t bytes, int to)
{
    rgm_comm *comm = transfer->comm;

    comm->sent += (int64_t)bytes;
    return begun(transfer,
                 comm->mpi->send(comm->context, &transfer->requests[transfer->request_count],
                                 memory, bytes, to, tag_of(transfer)),
                 "send");
}

static rgm_status receive_from(rgmi_transfer *transfer, void *memory, size_t bytes, int from)
{
    rgm_comm *comm = transfer->comm;

    RGM_TRY(begun(transfer,
                  comm->mpi->receive(comm->context, &transfer->requests[transfer->request_count],
                                     memory, bytes, from, tag_of(transfer)),
                  "receive"));
    transfer->receives = transfer->request_count; /* they are begun before what is sent */
    return RGM_OK;
}

rgm_status rgmi_step_barrier(rgmi_transfer *transfer, bool *over)
{
    rgm_comm *comm = transfer->comm;

    *over = transfer->stage++ > 0;
    return *over ? RGM_OK
                 : begun(transfer, comm->mpi->barrier(comm->context, &transfer->requests[0]),
                         "wait for all");
}

/* MPI's own collectives cannot be given up, so they have the transfer's room and not the caller's
 * memory. */

/* `size` bytes. */
rgm_status rgmi_step_broadcast(rgmi_transfer *transfer, bool *over)
{
    rgm_comm *comm = transfer->comm;
    size_t bytes = (size_t)transfer->size;

    *over = transfer->stage++ > 0;
    if (*over) {
        memcpy(transfer->memory, transfer->room, bytes);
        return RGM_OK;
    }
    if (comm->rank == transfer->root)
        memcpy(transfer->room, transfer->memory, bytes);
    return begun(transfer,
                 comm->mpi->broadcast(comm->context, &transfer->requests[0], transfer->room, bytes,
                                      transfer->root),
                 "broadcast");
}

/* `size` bytes of each, behind this rank's in the room. */
rgm_status rgmi_step_gather_all(rgmi_transfer *transfer, bool *over)
{
    rgm_comm *comm = transfer->comm;
    size_t bytes = (size_t)transfer->size;

    *over = transfer->stage++ > 0;
    if (*over) {
        memcpy(transfer->memory, transfer->room + bytes, bytes * (size_t)comm->size);
        return RGM_OK;
    }
    memcpy(transfer->room, transfer->source, bytes);
    return begun(transfer,
                 comm->mpi->gather_all(comm->context, &transfer->requests[0], transfer->room,
                                       transfer->room + bytes, bytes),
                 "gather");
}

/* Of different sizes, to the root. */
rgm_status rgmi_step_gather(rgmi_transfer *transfer, bool *over)
{
    rgm_comm *comm = transfer->comm;
    const size_t *begin = transfer->begin;
    size_t mine = begin[comm->rank + 1] - begin[comm->rank];

    *over = transfer->stage++ > 0;
    if (*over)
        return RGM_OK;
    if (comm->rank != transfer->root)
        return mine > 0 ? send_to(transfer, transfer->source, mine, transfer->root) : RGM_OK;
    if (mine > 0)
        memcpy((char *)transfer->memory + begin[comm->rank], transfer->source, mine);
    for (int i = 0; i < comm->size; i++)
        if (i != comm->rank && begin[i + 1] > begin[i])
            RGM_TRY(receive_from(transfer, (char *)transfer->memory + begin[i],
                                 begin[i + 1] - begin[i], i));
    return RGM_OK;
}

/* From each rank to each other: what is received is asked for first, so that nothing waits. */
rgm_status rgmi_step_mail(rgmi_transfer *transfer, bool *over)
{
    const rgm_comm_mail *mail = &transfer->mail;
    int size = transfer->comm->size, rank = transfer->comm->rank;

    *over = transfer->stage++ > 0;
    for (int k = 1; k < size && !*over; k++) {
        int from = (rank + size - k) % size;
        size_t begin = mail->in_begin[from], end = mail->in_begin[from + 1];

        if (end > begin)
            RGM_TRY(receive_from(transfer, (char *)mail->in + begin, end - begin, from));
    }
    for (int k = 1; k < size && !*over; k++) {
        int to = (rank + k) % size;
        size_t begin = mail->out_begin[to], end = mail->out_begin[to + 1];

        if (end > begin)
            RGM_TRY(send_to(transfer, (const char *)mail->out + begin, end - begin, to));
    }
    return RGM_OK;
}

/* ---- the tree over ranks ------------------------------------------------------------------- */

static char *at(const rgmi_transfer *transfer, int64_t element)
{
    return (char *)transfer->memory + (size_t)element * transfer->element;
}

/* Add what the partner at `level` sent to elements [from, to): the lower rank's part first. */
static void combine(rgmi_transfer *transfer, int level, int64_t from, int64_t to)
{
    char *mine = at(transfer, from);
    bool low = (transfer->comm->rank >> level & 1) == 0;

    transfer->combine(mine, low ? mine : transfer->room, low ? transfer->room : mine, to - from,
                      transfer->dtype);
}

rgm_status rgmi_step_whole(rgmi_transfer *transfer, bool *over)
{
    int level = transfer->stage++, partner = transfer->comm->rank ^ 1 << level;
    size_t bytes = (size_t)transfer->size * transfer->element;

    if (level > 0)
        combine(transfer, level - 1, 0, transfer->size);
    *over = level == transfer->comm->levels;
    if (*over)
        return RGM_OK;
    RGM_TRY(receive_from(transfer, transfer->room, bytes, partner));
    return send_to(transfer, transfer->memory, bytes, partner);
}

/* Down: at each level the part [from, to) is halved, and the lower rank goes on with the lower
 * half. */
static rgm_status halve(rgmi_transfer *transfer, int level)
{
    int partner = transfer->comm->rank ^ 1 << level;
    int64_t from = level > 0 ? transfer->from[level - 1] : 0, middle;
    int64_t to = level > 0 ? transfer->to[level - 1] : transfer->size;
    bool low = partner > transfer->comm->rank;

    middle = from + (to - from) / 2;
    transfer->from[level] = low ? from : middle;
    transfer->to[level] = low ? middle : to;
    RGM_TRY(receive_from(transfer, transfer->room,
                         (size_t)(transfer->to[level] - transfer->from[level]) * transfer->element,
                         partner));
    return low ? send_to(transfer, at(transfer, middle), (size_t)(to - middle) * transfer->element,
                         partner)
               : send_to(transfer, at(transfer, from), (size_t)(middle - from) * transfer->element,
                         partner);
}

/* Up again: each has the whole sum of its part, and the partner that of the other half. */
static rgm_status join(rgmi_transfer *transfer, int level)
{
    int partner = transfer->comm->rank ^ 1 << level;
    int64_t from = transfer->from[level], to = transfer->to[level];
    bool low = partner > transfer->comm->rank;
    int64_t other_from = low ? to : level > 0 ? transfer->from[level - 1] : 0;
    int64_t other_to = !low ? from : level > 0 ? transfer->to[level - 1] : transfer->size;

    RGM_TRY(receive_from(transfer, at(transfer, other_from),
                         (size_t)(other_to - other_from) * transfer->element, partner));
    return send_to(transfer, at(transfer, from), (size_t)(to - from) * transfer->element, partner);
}

rgm_status rgmi_step_halves(rgmi_transfer *transfer, bool *over)
{
    int levels = transfer->comm->levels, stage = transfer->stage++;

    if (stage > 0 && stage <= levels)
        combine(transfer, stage - 1, transfer->from[stage - 1], transfer->to[stage - 1]);
    *over = stage == 2 * levels;
    if (*over)
        return RGM_OK;
    return stage < levels ? halve(transfer, stage) : join(transfer, 2 * levels - 1 - stage);
}
