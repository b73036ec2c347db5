/*
 * A slower network than this machine's memory, to be preloaded: each message that a rank sends
 * takes SLOW_US microseconds and its bytes at SLOW_GBS GB/s before MPI gets it (MPI's profiling
 * interface). It shows whether the cost model of docs/comm.md holds for other figures than those of
 * one machine.
 *
 *     mpirun -n 4 -x LD_PRELOAD=build/bench/slow_network.so -x SLOW_US=200 -x SLOW_GBS=0.5
 * comm_bench
 */
#include <mpi.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int MPI_Isend(const void *memory, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    const char *us = getenv("SLOW_US"), *rate = getenv("SLOW_GBS");
    int size = 1, code = PMPI_Type_size(type, &size);
    double seconds = us != NULL ? strtod(us, NULL) * 1e-6 : 0;
    double end;

    if (code != MPI_SUCCESS)
        return code;
    if (rate != NULL)
        seconds += (double)count * size / (strtod(rate, NULL) * 1e9);
    end = now() + seconds;
    while (now() < end) {
        double left = end - now();

        if (left > 1e-4) /* naps are rough, so the end is waited for awake */
            nanosleep(
                &(struct timespec){(time_t)(left - 1e-4), (long)((left - 1e-4) * 1e9) % 1000000000},
                NULL);
    }
    return PMPI_Isend(memory, count, type, to, tag, comm, request);
}
