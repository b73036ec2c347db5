/*
 * The collective calls. With one process each checks what it would with several, and is over.
 */
#include "comm_internal.h"

#include <stdio.h>
#include <string.h>

#define SMALL_BYTES 16384 /* arrays up to this are exchanged whole: fewer, longer messages */

#define SLOW_MOST_S 3600.0 /* between two looks at who is slow */
#define SLOW_SHARE  0.1    /* of the time that others wait for a rank: it is named */

rgm_status rgm_comm_fail(rgm_comm *comm, rgm_status status)
{
    rgm_error error;
    char name[96];

    if (comm->mpi == NULL || status >= 0)
        return status;
    rgm_error_save(&error, status);
    (void)rgmi_comm_break(
        comm, rgm_error_prefix(status, "%s", rgmi_rank_name(name, comm, comm->rank)), false);
    rgmi_comm_tell(comm);
    return rgm_error_restore(&error);
}

static rgm_status check_root(const rgm_comm *comm, int root)
{
    return root >= 0 && root < comm->size
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_ARG, "there is no rank %d of %d", root, comm->size);
}

rgm_status rgm_comm_barrier(rgm_comm *comm)
{
    rgmi_transfer *transfer;

    if (comm->size == 1)
        return RGM_OK;
    RGM_TRY(rgm_comm_fail(comm, rgmi_transfer_create(&transfer, comm, 1, 0)));
    transfer->step = rgmi_step_barrier;
    return rgmi_transfer_run(transfer);
}

rgm_status rgm_comm_broadcast(rgm_comm *comm, void *memory, size_t bytes, int root)
{
    rgmi_transfer *transfer;

    RGM_TRY(check_root(comm, root));
    if (comm->size == 1 || bytes == 0)
        return RGM_OK;
    RGM_TRY(rgm_comm_fail(comm, rgmi_transfer_create(&transfer, comm, 1, bytes)));
    transfer->step = rgmi_step_broadcast;
    transfer->memory = memory;
    transfer->size = (int64_t)bytes;
    transfer->root = root;
    return rgmi_transfer_run(transfer);
}

/* ---- gather -------------------------------------------------------------------------------- */

void rgm_comm_blocks_clear(rgm_comm_blocks *blocks)
{
    rgm_free(blocks->memory);
    rgm_free(blocks->begin);
    *blocks = (rgm_comm_blocks){0};
}

rgm_status rgmi_gather_all(void *all, rgm_comm *comm, const void *mine, size_t bytes)
{
    rgmi_transfer *transfer;

    RGM_TRY(rgmi_transfer_create(&transfer, comm, 1, bytes * (size_t)(comm->size + 1)));
    transfer->step = rgmi_step_gather_all;
    transfer->source = mine;
    transfer->memory = all;
    transfer->size = (int64_t)bytes;
    return rgmi_transfer_run(transfer);
}

/* begin[1 ..] of every rank's block. */
static rgm_status gather_sizes(size_t *begin, rgm_comm *comm, size_t bytes)
{
    if (comm->size == 1) {
        begin[1] = bytes;
        return RGM_OK;
    }
    RGM_TRY(rgmi_gather_all(begin + 1, comm, &bytes, sizeof bytes));
    for (int i = 0; i < comm->size; i++)
        begin[i + 1] += begin[i];
    return RGM_OK;
}

static rgm_status gather_blocks(rgm_comm_blocks *blocks, rgm_comm *comm, const void *memory,
                                size_t bytes, int root)
{
    rgmi_transfer *transfer;

    if (comm->size == 1) {
        if (bytes > 0)
            memcpy(blocks->memory, memory, bytes);
        return RGM_OK;
    }
    RGM_TRY(rgmi_transfer_create(&transfer, comm, comm->rank == root ? comm->size : 1, 0));
    transfer->step = rgmi_step_gather;
    transfer->source = memory;
    transfer->memory = blocks->memory;
    transfer->begin = blocks->begin;
    transfer->root = root;
    return rgmi_transfer_run(transfer);
}

rgm_status rgm_comm_gather(rgm_comm_blocks *out, rgm_comm *comm, const void *memory, size_t bytes,
                           int root)
{
    rgm_status status = RGM_OK;
    bool all = root == RGM_COMM_ALL, mine;
    size_t total;

    *out = (rgm_comm_blocks){0};
    if (!all)
        RGM_TRY(check_root(comm, root));
    root = all ? 0 : root;
    mine = all || comm->rank == root;
    RGM_GO(RGM_NEW(out->begin, comm->size + 1));
    RGM_GO(gather_sizes(out->begin, comm, bytes));
    total = out->begin[comm->size];
    if (mine) {
        out->memory = rgm_malloc(total);
        if (out->memory == NULL)
            RGM_GO(
                RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of %d ranks", total, comm->size));
    }
    RGM_GO(gather_blocks(out, comm, memory, bytes, root));
    if (all)
        RGM_GO(rgm_comm_broadcast(comm, out->memory, total, root));
    out->count = comm->size;
done:
    if (status != RGM_OK || !mine)
        rgm_comm_blocks_clear(out);
    return rgm_comm_fail(comm, status);
}

/* ---- mail ----------------------------------------------------------------------------------- */

/* What a rank has for itself needs no transfer. */
static rgm_status keep_own(const rgm_comm_mail *mail, int rank)
{
    size_t out = mail->out_begin[rank], in = mail->in_begin[rank];
    size_t bytes = mail->out_begin[rank + 1] - out;

    if (mail->in_begin[rank + 1] - in != bytes)
        return RGM_FAIL(RGM_ERR_ARG, "a rank sends %zu bytes to itself and takes %zu", bytes,
                        mail->in_begin[rank + 1] - in);
    if (bytes > 0)
        memcpy((char *)mail->in + in, (const char *)mail->out + out, bytes);
    return RGM_OK;
}

rgm_status rgm_comm_mail_begin(rgm_comm_mail_request **out, rgm_comm *comm,
                               const rgm_comm_mail *mail)
{
    rgmi_transfer *transfer;

    *out = NULL;
    RGM_TRY(rgm_comm_fail(comm, keep_own(mail, comm->rank)));
    if (comm->size == 1)
        return RGM_OK;
    RGM_TRY(rgm_comm_fail(comm, rgmi_transfer_create(&transfer, comm, 2 * comm->size, 0)));
    transfer->step = rgmi_step_mail;
    transfer->mail = *mail;
    rgmi_transfer_begin(transfer);
    *out = transfer;
    return RGM_OK;
}

rgm_status rgm_comm_mail_wait(rgm_comm_mail_request **request)
{
    rgm_comm_mail_request *transfer = *request;

    *request = NULL;
    return transfer != NULL ? rgmi_transfer_wait(transfer) : RGM_OK;
}

/* ---- swap ----------------------------------------------------------------------------------- */

static rgm_status post(rgm_comm *comm, const void *out, const size_t *out_begin, void *in,
                       const size_t *in_begin)
{
    const rgm_comm_mail mail = {out, out_begin, in, in_begin};
    rgm_comm_mail_request *request;

    RGM_TRY(rgm_comm_mail_begin(&request, comm, &mail));
    return rgm_comm_mail_wait(&request);
}

/* in_begin [ranks + 1] of what the others have for this rank. */
static rgm_status swap_sizes(size_t *in_begin, rgm_comm *comm, const size_t *begin)
{
    rgm_status status = RGM_OK;
    size_t *sizes = NULL, *places = NULL;

    RGM_GO(RGM_NEW(sizes, comm->size));
    RGM_GO(RGM_NEW(places, comm->size + 1));
    for (int i = 0; i < comm->size; i++) {
        sizes[i] = begin[i + 1] - begin[i];
        places[i + 1] = (size_t)(i + 1) * sizeof *sizes;
    }
    RGM_GO(post(comm, sizes, places, in_begin + 1, places));
    for (int i = 0; i < comm->size; i++)
        in_begin[i + 1] += in_begin[i];
done:
    rgm_free(sizes);
    rgm_free(places);
    return status;
}

rgm_status rgm_comm_swap(rgm_comm_blocks *out, rgm_comm *comm, const void *memory,
                         const size_t *begin)
{
    rgm_status status = RGM_OK;
    size_t total;

    *out = (rgm_comm_blocks){0};
    RGM_GO(RGM_NEW(out->begin, comm->size + 1));
    RGM_GO(swap_sizes(out->begin, comm, begin));
    total = out->begin[comm->size];
    out->memory = rgm_malloc(total);
    if (out->memory == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of %d ranks", total, comm->size));
    RGM_GO(post(comm, memory, begin, out->memory, out->begin));
    out->count = comm->size;
done:
    if (status != RGM_OK)
        rgm_comm_blocks_clear(out);
    return rgm_comm_fail(comm, status);
}

/* ---- decide -------------------------------------------------------------------------------- */

static void combine_decisions(void *out, const void *low, const void *high, int64_t size,
                              rgm_dtype dtype)
{
    const rgmi_ranks_decision *a = low, *b = high;
    rgmi_ranks_decision both = {.any = a->any | b->any,
                                .first = a->first,
                                .least = a->least <= b->least ? a->least : b->least,
                                .most = a->most >= b->most ? a->most : b->most,
                                .slowest = a->least <= b->least ? a->slowest : b->slowest};

    (void)size, (void)dtype;
    *(rgmi_ranks_decision *)out = both;
}

/* Name the rank that others wait for, if they do so for long. */
static void watch_for_slow(rgm_comm *comm)
{
    const rgmi_ranks_decision *decision = &comm->decision;
    double now = rgm_now(), window = now - comm->slow_since;
    char name[96];
    int slowest = 0;

    comm->slow[decision->slowest] += decision->most - decision->least;
    if (window < comm->slow_window)
        return;
    for (int i = 1; i < comm->size; i++)
        if (comm->slow[i] > comm->slow[slowest])
            slowest = i;
    if (comm->slow[slowest] > SLOW_SHARE * window) {
        rgm_log_write(RGM_LOG_WARNING,
                      "%s is slow: the others waited for it %.0f s of the last %.0f s",
                      rgmi_rank_name(name, comm, slowest), comm->slow[slowest], window);
        comm->slow_window =
            comm->slow_window * 2 < SLOW_MOST_S ? comm->slow_window * 2 : SLOW_MOST_S;
    }
    memset(comm->slow, 0, (size_t)comm->size * sizeof *comm->slow);
    comm->slow_since = now;
}

rgm_status rgm_comm_decide(rgm_comm *comm, uint64_t *any, uint64_t *first)
{
    rgmi_ranks_decision *decision = &comm->decision;
    double waited;
    rgmi_transfer *transfer;

    if (comm->size == 1)
        return RGM_OK;
    RGM_TRY(rgm_comm_fail(comm, rgmi_transfer_create(&transfer, comm, 2, sizeof *decision)));
    pthread_mutex_lock(&comm->lock);
    waited = comm->times.waited - comm->decided;
    comm->decided = comm->times.waited;
    pthread_mutex_unlock(&comm->lock);
    *decision = (rgmi_ranks_decision){.any = any != NULL ? *any : 0,
                                      .first = first != NULL ? *first : 0,
                                      .least = waited,
                                      .most = waited,
                                      .slowest = comm->rank};
    transfer->step = rgmi_step_whole;
    transfer->memory = decision;
    transfer->size = 1;
    transfer->element = sizeof *decision;
    transfer->combine = combine_decisions;
    RGM_TRY(rgmi_transfer_run(transfer));
    if (any != NULL)
        *any = decision->any;
    if (first != NULL)
        *first = decision->first;
    if (comm->slow != NULL)
        watch_for_slow(comm);
    return RGM_OK;
}

/* ---- sums ---------------------------------------------------------------------------------- */

rgm_status rgm_comm_shards(int64_t *first, int64_t *count, const rgm_comm *comm, int64_t shards)
{
    int64_t below = 1;

    *first = *count = 0;
    while (below <= shards / 2)
        below *= 2;
    if (shards != below)
        return RGM_FAIL(RGM_ERR_CONFIG, "%lld shards: use a power of two, such as %lld",
                        (long long)shards, (long long)below);
    if (shards < comm->size)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%lld shards for %d ranks: each rank holds at least one, so use %d shards "
                        "or more, or %lld ranks or fewer",
                        (long long)shards, comm->size, comm->size, (long long)shards);
    *count = shards / comm->size;
    *first = *count * comm->rank;
    return RGM_OK;
}

rgm_status rgm_comm_sum_begin(rgm_comm_sum_request **out, rgm_comm *comm, void *values,
                              int64_t size, rgm_dtype dtype)
{
    size_t element = rgm_dtype_size(dtype), bytes = (size_t)size * element;
    bool small = bytes <= SMALL_BYTES;
    rgmi_transfer *transfer;

    *out = NULL;
    if (!rgmi_is_summed(dtype) || size < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a sum over ranks is of f32, f64 or bf16: not of %lld %s",
                        (long long)size, rgm_dtype_name(dtype));
    if (comm->size == 1 || size == 0)
        return RGM_OK;
    /* the larger half of an odd number */
    RGM_TRY(rgm_comm_fail(
        comm, rgmi_transfer_create(&transfer, comm, 2,
                                   small ? bytes : (bytes / element + 1) / 2 * element)));
    transfer->step = small ? rgmi_step_whole : rgmi_step_halves;
    transfer->memory = values;
    transfer->size = size;
    transfer->element = element;
    transfer->dtype = dtype;
    transfer->combine = rgmi_add_arrays;
    transfer->sums = true;
    rgmi_transfer_begin(transfer);
    *out = transfer;
    return RGM_OK;
}

rgm_status rgm_comm_sum_wait(rgm_comm_sum_request **request)
{
    rgm_comm_sum_request *transfer = *request;

    *request = NULL;
    return transfer != NULL ? rgmi_transfer_wait(transfer) : RGM_OK;
}

rgm_status rgm_comm_sum(rgm_comm *comm, void *values, int64_t size, rgm_dtype dtype)
{
    rgm_comm_sum_request *request;

    RGM_TRY(rgm_comm_sum_begin(&request, comm, values, size, dtype));
    return rgm_comm_sum_wait(&request);
}
