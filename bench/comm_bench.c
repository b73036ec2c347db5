/*
 * What ranks cost each other: a decision, sums of arrays of different sizes, and how much of a sum
 * is hidden behind arithmetic that goes on meanwhile. Run it under mpirun:
 *
 *     mpirun -n 2 build/bench/comm_bench [SECONDS]      for each figure; default 0.5
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <regimen/comm.h>

#define LARGEST (16 << 20) /* numbers */
#define BUCKETS 8
#define ROUNDS  20
#define BUCKET  (1 << 20) /* numbers, 4 MiB */

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Median seconds of a sum of `size` numbers, a decision if size is 0. Rank 0's clock says when it
 * is enough. */
static rgm_status time_sums(double *out, rgm_comm *comm, float *values, int64_t size,
                            double seconds)
{
    static double times[100000];
    double end = rgm_now() + seconds;
    int64_t count = 0;

    RGM_TRY(rgm_comm_barrier(comm));
    for (uint64_t any = 0, more = 1; more && count < 100000; count++) {
        double before = rgm_now();

        if (size > 0)
            RGM_TRY(rgm_comm_sum(comm, values, size, RGM_F32));
        else
            RGM_TRY(rgm_comm_decide(comm, &any, NULL));
        times[count] = rgm_now() - before;
        more = rgm_now() < end || count < 4;
        RGM_TRY(rgm_comm_decide(comm, &any, &more));
    }
    qsort(times, (size_t)count, sizeof *times, by_size);
    *out = times[count / 2];
    return RGM_OK;
}

/* Arithmetic that stays in the first cache, as a matrix product's does mostly. */
static double compute(double seconds, int64_t *rounds)
{
    static volatile float sink;
    float x[256] = {1};
    double begin = rgm_now();
    int64_t most = *rounds;

    *rounds = 0;
    while (most > 0 ? *rounds < most : rgm_now() - begin < seconds) {
        for (int k = 0; k < 2000; k++)
            for (int i = 0; i < 256; i++)
                x[i] = x[i] * 0.999F + 0.1F;
        ++*rounds;
    }
    sink = x[7];
    (void)sink;
    return rgm_now() - begin;
}

/* Eight buckets begun one after the other during arithmetic that alone takes as long as they do. */
static rgm_status time_overlap(rgm_comm *comm, float *values, bool print)
{
    rgm_comm_sum_request *requests[BUCKETS];
    double sums = 1e9, alone, both = 1e9, engine = 0;
    int64_t rounds = 0, part;
    rgm_comm_times before, after;

    for (int round = 0; round < ROUNDS; round++) {
        double begin = rgm_now();

        for (int i = 0; i < BUCKETS; i++)
            RGM_TRY(rgm_comm_sum_begin(&requests[i], comm, values + i * BUCKET, BUCKET, RGM_F32));
        for (int i = 0; i < BUCKETS; i++)
            RGM_TRY(rgm_comm_sum_wait(&requests[i]));
        sums = rgm_now() - begin < sums ? rgm_now() - begin : sums;
    }
    (void)compute(sums, &rounds);
    RGM_TRY(rgm_comm_broadcast(comm, &rounds, sizeof rounds, 0));
    alone = compute(0, &rounds);
    part = rounds / BUCKETS + 1;
    for (int round = 0; round < ROUNDS; round++) {
        double begin;

        RGM_TRY(rgm_comm_barrier(comm));
        rgm_comm_get_times(&before, comm);
        begin = rgm_now();
        for (int i = 0; i < BUCKETS; i++) {
            (void)compute(0, &part);
            RGM_TRY(rgm_comm_sum_begin(&requests[i], comm, values + i * BUCKET, BUCKET, RGM_F32));
        }
        for (int i = 0; i < BUCKETS; i++)
            RGM_TRY(rgm_comm_sum_wait(&requests[i]));
        if (rgm_now() - begin < both) {
            both = rgm_now() - begin;
            rgm_comm_get_times(&after, comm);
            engine = after.engine - before.engine;
        }
    }
    if (print)
        printf(
            "overlap  %d buckets of %d KiB: %.1f ms alone, arithmetic %.1f ms alone, both %.1f ms; "
            "%.0f %% hidden, the thread for MPI took %.1f ms\n",
            BUCKETS, BUCKET / 256, sums * 1e3, alone * 1e3, both * 1e3,
            100 * (alone + sums - both) / (sums < alone ? sums : alone), engine * 1e3);
    return RGM_OK;
}

static rgm_status measure(rgm_comm *comm, double seconds)
{
    float *values = calloc(LARGEST, sizeof *values);
    bool print = rgm_comm_rank(comm) == 0;
    double median;

    if (values == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory");
    if (print)
        printf("ranks    %d\n", rgm_comm_size(comm));
    if (rgm_comm_size(comm) == 1) {
        printf("one rank has nobody to sum with: mpirun -n 2 comm_bench\n");
        free(values);
        return RGM_OK;
    }
    RGM_TRY(time_sums(&median, comm, values, 0, seconds));
    if (print)
        printf("decide   %10.1f us\n", median * 1e6);
    for (int64_t size = 1; size <= LARGEST; size *= 16) {
        RGM_TRY(time_sums(&median, comm, values, size, seconds));
        if (print)
            printf("sum      %10.1f us  %9lld bytes  %6.2f GB/s of the array\n", median * 1e6,
                   (long long)size * 4, (double)size * 4e-9 / median);
    }
    RGM_TRY(time_overlap(comm, values, print));
    free(values);
    return RGM_OK;
}

int main(int count, char **arguments)
{
    rgm_comm *comm;
    rgm_status status = rgm_comm_open(&comm);

    if (status == RGM_OK)
        status = rgm_comm_fail(comm, measure(comm, count > 1 ? strtod(arguments[1], NULL) : 0.5));
    if (status != RGM_OK)
        fprintf(stderr, "comm_bench: %s\n", rgm_error_message());
    (void)fflush(stdout);
    rgm_comm_close(comm);
    return status == RGM_OK ? 0 : 1;
}
