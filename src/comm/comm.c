/*
 * A communicator: one process by itself. Its calls check what they would with several, and have
 * nothing to wait for.
 */
#include "comm_internal.h"

#include <string.h>

struct rgm_comm {
    int rank, size;
};

struct rgm_comm_sum_request {
    rgm_comm *comm;
};

rgm_comm *rgm_comm_self(void)
{
    static rgm_comm self = {.rank = 0, .size = 1};

    return &self;
}

rgm_status rgm_comm_open(rgm_comm **out)
{
    rgmi_launcher launch;

    *out = NULL;
    rgmi_launcher_read(&launch);
    if (launch.size > 1)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s started %d ranks, and this build has no MPI",
                        launch.launcher, launch.size);
    *out = rgm_comm_self();
    return RGM_OK;
}

void rgm_comm_close(rgm_comm *comm)
{
    (void)comm;
}

int rgm_comm_rank(const rgm_comm *comm)
{
    return comm->rank;
}

int rgm_comm_size(const rgm_comm *comm)
{
    return comm->size;
}

rgm_status rgm_comm_fail(rgm_comm *comm, rgm_status status)
{
    (void)comm;
    return status;
}

/* ---- what ranks tell each other ------------------------------------------------------------ */

rgm_status rgm_comm_barrier(rgm_comm *comm)
{
    (void)comm;
    return RGM_OK;
}

static rgm_status check_root(const rgm_comm *comm, int root)
{
    return root >= 0 && root < comm->size
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_ARG, "there is no rank %d of %d", root, comm->size);
}

rgm_status rgm_comm_broadcast(rgm_comm *comm, void *memory, size_t bytes, int root)
{
    (void)memory, (void)bytes;
    return check_root(comm, root);
}

void rgm_comm_blocks_clear(rgm_comm_blocks *blocks)
{
    rgm_free(blocks->memory);
    rgm_free(blocks->begin);
    *blocks = (rgm_comm_blocks){0};
}

rgm_status rgm_comm_gather(rgm_comm_blocks *out, rgm_comm *comm, const void *memory, size_t bytes,
                           int root)
{
    rgm_status status = RGM_OK;

    *out = (rgm_comm_blocks){0};
    if (root != RGM_COMM_ALL)
        RGM_GO(check_root(comm, root));
    RGM_GO(RGM_NEW(out->begin, comm->size + 1));
    out->memory = rgm_malloc(bytes);
    if (out->memory == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of %d ranks", bytes, comm->size));
    if (bytes > 0)
        memcpy(out->memory, memory, bytes);
    out->begin[1] = bytes;
    out->count = 1;
done:
    if (status != RGM_OK)
        rgm_comm_blocks_clear(out);
    return status;
}

rgm_status rgm_comm_decide(rgm_comm *comm, uint64_t *any, uint64_t *first)
{
    (void)comm, (void)any, (void)first;
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

rgm_status rgm_comm_sum(rgm_comm *comm, void *values, int64_t size, rgm_dtype dtype)
{
    rgm_comm_sum_request *request;

    RGM_TRY(rgm_comm_sum_begin(&request, comm, values, size, dtype));
    return rgm_comm_sum_wait(&request);
}

rgm_status rgm_comm_sum_begin(rgm_comm_sum_request **out, rgm_comm *comm, void *values,
                              int64_t size, rgm_dtype dtype)
{
    (void)comm, (void)values;
    *out = NULL;
    if ((dtype != RGM_F32 && dtype != RGM_F64) || size < 0)
        return RGM_FAIL(RGM_ERR_ARG, "a sum over ranks is of f32 or f64: not of %lld %s",
                        (long long)size, rgm_dtype_name(dtype));
    return RGM_OK;
}

rgm_status rgm_comm_sum_wait(rgm_comm_sum_request **request)
{
    *request = NULL;
    return RGM_OK;
}
