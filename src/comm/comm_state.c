/*
 * What all threads of a rank know: who the others are, and whether the ranks are broken.
 */
#include "comm_internal.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TELL_S 1.0 /* for the watch to say why the ranks are broken */

const char *rgmi_rank_name(char out[96], const rgm_comm *comm, int rank)
{
    if (comm->members != NULL)
        snprintf(out, 96, "rank %d on %s", rank, comm->members[rank].host);
    else
        snprintf(out, 96, "rank %d", rank);
    return out;
}

bool rgm_comm_is_lost(rgm_comm *comm)
{
    bool lost;

    if (comm->mpi == NULL)
        return false;
    pthread_mutex_lock(&comm->lock);
    lost = comm->broken && comm->lost;
    pthread_mutex_unlock(&comm->lock);
    return lost;
}

rgm_status rgmi_comm_break(rgm_comm *comm, rgm_status status, bool lost)
{
    uint64_t one = 1;

    pthread_mutex_lock(&comm->lock);
    if (!comm->broken) {
        comm->broken = true;
        comm->lost = lost;
        rgm_error_save(&comm->error, status);
        (void)!write(comm->wake, &one, sizeof one);
        pthread_cond_broadcast(&comm->work);
        pthread_cond_broadcast(&comm->changed);
    }
    pthread_mutex_unlock(&comm->lock);
    return status;
}

void rgmi_comm_tell(rgm_comm *comm)
{
    double end = rgm_now() + TELL_S;

    pthread_mutex_lock(&comm->lock);
    while (comm->watch != NULL && comm->broken && !comm->told && rgm_now() < end) {
        struct timespec soon;

        rgm_deadline(&soon, 0.1);
        (void)pthread_cond_timedwait(&comm->changed, &comm->lock, &soon);
    }
    pthread_mutex_unlock(&comm->lock);
}

rgm_status rgmi_comm_broken(rgm_comm *comm)
{
    rgm_error error;

    pthread_mutex_lock(&comm->lock);
    error = comm->error;
    pthread_mutex_unlock(&comm->lock);
    return rgm_error_restore(&error);
}

rgm_status rgmi_mpi_check(rgm_comm *comm, int code, const char *doing)
{
    char words[512], name[96];

    if (code == 0)
        return RGM_OK;
    comm->mpi->error_text(code, words, sizeof words);
    return RGM_FAIL(RGM_ERR_IO, "%s: MPI cannot %s: %s", rgmi_rank_name(name, comm, comm->rank),
                    doing, words);
}
