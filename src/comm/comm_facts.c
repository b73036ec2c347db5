/*
 * What there is for ranks, told to people: how this process was started, which MPI, and how fast
 * the ranks add.
 */
#include "comm_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MEASURE_SIZE  (4 << 20) /* numbers of a sum */
#define MEASURE_TIMES 4096      /* decisions at most */

void rgm_comm_get_facts(rgm_comm_facts *out, const rgm_comm *comm)
{
    static const char *const levels[] = {"single", "funneled", "serialized", "multiple"};
    rgmi_launcher launcher;
    const regimen_mpi *mpi;
    int level = comm->job.threads;

    *out = (rgm_comm_facts){.started = 1};
    rgmi_launcher_read(&launcher);
    out->started = launcher.size;
    snprintf(out->launcher, sizeof out->launcher, "%s",
             launcher.launcher != NULL ? launcher.launcher : "");
    if (rgmi_mpi_load(&mpi) == RGM_OK)
        mpi->library(out->mpi, sizeof out->mpi);
    else
        snprintf(out->missing, sizeof out->missing, "%.511s", rgm_error_message());
    if (comm->mpi != NULL)
        snprintf(out->threads, sizeof out->threads, "%s",
                 level >= 0 && level < 4 ? levels[level] : "unknown");
    rgmi_addresses_print(out->addresses, sizeof out->addresses);
}

int rgm_comm_launched(int *place)
{
    rgmi_launcher launcher;

    rgmi_launcher_read(&launcher);
    *place = launcher.rank;
    return launcher.size;
}

/* ---- how fast ------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Rank 0's clock says when it is enough. */
static rgm_status time_decisions(double *median, rgm_comm *comm, double *times, double seconds)
{
    double end = rgm_now() + seconds;
    int count = 0;

    for (uint64_t more = 1; more != 0 && count < MEASURE_TIMES; count++) {
        double before = rgm_now();

        more = rgm_now() < end;
        RGM_TRY(rgm_comm_decide(comm, NULL, &more));
        times[count] = rgm_now() - before;
    }
    qsort(times, (size_t)count, sizeof *times, by_size);
    *median = times[count / 2];
    return RGM_OK;
}

/* Each rank hands in its number + 1, which f32 adds exactly. */
static rgm_status time_sums(double *best, rgm_comm *comm, float *values, double seconds)
{
    float right = (float)comm->size * (float)(comm->size + 1) / 2;
    double end = rgm_now() + seconds;

    *best = 1e9;
    for (uint64_t more = 1; more != 0;) {
        double before;

        for (int64_t i = 0; i < MEASURE_SIZE; i++)
            values[i] = (float)(comm->rank + 1);
        RGM_TRY(rgm_comm_barrier(comm));
        before = rgm_now();
        RGM_TRY(rgm_comm_sum(comm, values, MEASURE_SIZE, RGM_F32));
        *best = rgm_now() - before < *best ? rgm_now() - before : *best;
        for (int64_t i = 0; i < MEASURE_SIZE; i++)
            if (values[i] != right)
                return rgm_comm_fail(
                    comm, RGM_FAIL(RGM_ERR_DATA,
                                   "the sum of 1 .. %d over the ranks is %g at number %lld, not %g",
                                   comm->size, (double)values[i], (long long)i, (double)right));
        more = rgm_now() < end;
        RGM_TRY(rgm_comm_decide(comm, NULL, &more));
    }
    return RGM_OK;
}

rgm_status rgm_comm_measure(rgm_comm_speed *out, rgm_comm *comm, double seconds)
{
    rgm_status status = RGM_OK;
    double *times = NULL, best;
    float *values = NULL;

    *out = (rgm_comm_speed){.bytes = MEASURE_SIZE * sizeof *values};
    RGM_GO(RGM_NEW(times, MEASURE_TIMES));
    RGM_GO(RGM_NEW(values, MEASURE_SIZE));
    RGM_GO(time_decisions(&out->decision, comm, times, seconds / 4));
    RGM_GO(time_sums(&best, comm, values, seconds * 3 / 4));
    out->bandwidth = (double)out->bytes / best;
done:
    rgm_free(times);
    rgm_free(values);
    return rgm_comm_fail(comm, status);
}
