/*
 * Ranks under a real MPI, for comm_mpi_test.sh: comm_ranks WHAT [RANK].
 *
 *     values     each call once, values checked; prints a hash of what was summed over 4 shards
 *     die R      the ranks sum on and on; rank R kills itself
 *     stop R     the same, and rank R is stopped as by a debugger: it is silent
 *     fail R     rank R fails alone
 *     leave R    rank R ends without a word
 *
 * Prints "ready" when the ranks are there and, where something went wrong, one line of what the
 * rank was told, after how many seconds. Exits with 3 then.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <regimen/comm.h>

#define SIZE   100003
#define SHARDS 4

static float number(int64_t shard, int64_t i)
{
    return (float)sin((double)(shard * 977 + i) * 0.37) * (i % 7 == 0 ? 1e6F : 1.0F);
}

static rgm_status sum_shards(rgm_comm *comm, float *values, int64_t size)
{
    int64_t first, count;
    rgm_shard_sum *sum;

    RGM_TRY(rgm_comm_shards(&first, &count, comm, SHARDS));
    RGM_TRY(rgm_shard_sum_create(&sum, RGM_F32, size, count));
    for (int64_t shard = first; shard < first + count; shard++) {
        for (int64_t i = 0; i < size; i++)
            values[i] = number(shard, i);
        (void)rgm_shard_sum_add(sum, values);
    }
    rgm_shard_sum_release(sum);
    return RGM_OK;
}

static rgm_status check(bool condition, const char *what)
{
    return condition ? RGM_OK : RGM_FAIL(RGM_ERR_DATA, "%s", what);
}

static rgm_status tell(rgm_comm *comm)
{
    int rank = rgm_comm_rank(comm), size = rgm_comm_size(comm);
    uint64_t any = 1ull << rank, first = 1000 + (uint64_t)rank;
    rgm_comm_blocks blocks;
    char text[16] = "";

    RGM_TRY(rgm_comm_barrier(comm));
    if (rank == size - 1)
        snprintf(text, sizeof text, "from the last");
    RGM_TRY(rgm_comm_broadcast(comm, text, sizeof text, size - 1));
    RGM_TRY(check(strcmp(text, "from the last") == 0, "broadcast"));
    RGM_TRY(rgm_comm_decide(comm, &any, &first));
    RGM_TRY(check(any == (1ull << size) - 1 && first == 1000, "decide"));
    for (int root = RGM_COMM_ALL; root < size; root++) {
        RGM_TRY(rgm_comm_gather(&blocks, comm, "abcdefgh", (size_t)rank + 1, root));
        for (int i = 0; i < blocks.count; i++)
            RGM_TRY(
                check(blocks.begin[i + 1] - blocks.begin[i] == (size_t)i + 1 &&
                          memcmp(blocks.memory + blocks.begin[i], "abcdefgh", (size_t)i + 1) == 0,
                      "gather"));
        rgm_comm_blocks_clear(&blocks);
    }
    return RGM_OK;
}

static rgm_status values(rgm_comm *comm)
{
    rgm_comm_sum_request *small, *large;
    float *x = malloc(SIZE * sizeof *x), y[33];

    RGM_TRY(tell(comm));
    RGM_TRY(sum_shards(comm, x, SIZE));
    RGM_TRY(rgm_comm_sum_begin(&large, comm, x, SIZE, RGM_F32));
    RGM_TRY(sum_shards(comm, y, 33));
    RGM_TRY(rgm_comm_sum_begin(&small, comm, y, 33, RGM_F32));
    RGM_TRY(rgm_comm_sum_wait(&small));
    RGM_TRY(rgm_comm_sum_wait(&large));
    printf("sum %016llx %016llx\n", (unsigned long long)rgm_hash64(x, SIZE * sizeof *x),
           (unsigned long long)rgm_hash64(y, sizeof y));
    free(x);
    return RGM_OK;
}

/* One rank comes to grief in the third step. */
static rgm_status go_on(rgm_comm *comm, const char *what, int who)
{
    float *x = calloc(SIZE, sizeof *x);

    for (int step = 0;; step++) {
        if (step == 3 && rgm_comm_rank(comm) == who) {
            if (strcmp(what, "die") == 0)
                (void)raise(SIGKILL);
            else if (strcmp(what, "stop") == 0)
                (void)raise(SIGSTOP);
            else if (strcmp(what, "fail") == 0)
                return rgm_comm_fail(comm, RGM_FAIL(RGM_ERR_DATA, "shard 9 is empty"));
            else
                _exit(0);
        }
        RGM_TRY(rgm_comm_sum(comm, x, SIZE, RGM_F32));
        RGM_TRY(rgm_comm_decide(comm, NULL, NULL));
    }
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "values";
    rgm_comm *comm;
    rgm_status status = rgm_comm_open(&comm);
    double began;

    (void)signal(SIGTERM, SIG_IGN); /* mpirun's, when a rank has died: the others have to say so */
    if (status != RGM_OK) {
        printf("not opened: %s\n", rgm_error_message());
        return 3;
    }
    printf("ready %d of %d\n", rgm_comm_rank(comm), rgm_comm_size(comm));
    (void)fflush(stdout);
    began = rgm_now();
    status = strcmp(what, "values") == 0
                 ? values(comm)
                 : go_on(comm, what, count > 2 ? (int)strtol(arguments[2], NULL, 10) : 0);
    if (status != RGM_OK)
        printf("rank %d after %.1f s: %s\n", rgm_comm_rank(comm), rgm_now() - began,
               rgm_error_message());
    (void)fflush(stdout);
    rgm_comm_close(comm);
    return status == RGM_OK ? 0 : 3;
}
