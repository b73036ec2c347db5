/* One process: every call does what it does with several ranks, where there is nobody else. */
#include <check.h>
#include <regimen/comm.h>

static void alone(void)
{
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "SLURM_STEP_NUM_TASKS"};

    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
}

static void a_program_that_was_started_alone_is_rank_0_of_1(void **state)
{
    rgm_comm *comm, *again;

    (void)state;
    alone();
    CHECK_OK(rgm_comm_open(&comm));
    CHECK(comm == rgm_comm_self());
    CHECK_INT(0, rgm_comm_rank(comm));
    CHECK_INT(1, rgm_comm_size(comm));
    CHECK_OK(rgm_comm_open(&again));
    CHECK(again == comm);
    rgm_comm_close(again);
    rgm_comm_close(comm);
    rgm_comm_close(NULL);
    CHECK_INT(1, rgm_comm_size(rgm_comm_self()));
}

/* What a launcher says of its processes is read without MPI. */
static void the_launchers_word_is_enough_to_know_ones_place(void **state)
{
    int place = -1;

    (void)state;
    alone();
    CHECK_INT(1, rgm_comm_launched(&place));
    CHECK_INT(0, place);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    setenv("OMPI_COMM_WORLD_RANK", "2", 1);
    CHECK_INT(3, rgm_comm_launched(&place));
    CHECK_INT(2, place);
    alone();
}

static void one_rank_tells_itself(void **state)
{
    rgm_comm *comm = rgm_comm_self();
    rgm_comm_blocks blocks;
    uint64_t any = 6, first = 3;
    char text[] = "abc";

    (void)state;
    CHECK_OK(rgm_comm_barrier(comm));
    CHECK_OK(rgm_comm_broadcast(comm, text, sizeof text, 0));
    CHECK_TEXT("abc", text);
    CHECK_STATUS(RGM_ERR_ARG, rgm_comm_broadcast(comm, text, sizeof text, 1));
    CHECK_MESSAGE("no rank 1 of 1");
    CHECK_OK(rgm_comm_decide(comm, &any, &first));
    CHECK_INT(6, (int64_t)any);
    CHECK_INT(3, (int64_t)first);
    CHECK_OK(rgm_comm_decide(comm, NULL, NULL));
    for (int root = RGM_COMM_ALL; root <= 0; root++) {
        CHECK_OK(rgm_comm_gather(&blocks, comm, text, 3, root));
        CHECK_INT(1, blocks.count);
        CHECK_INT(0, (int64_t)blocks.begin[0]);
        CHECK_INT(3, (int64_t)blocks.begin[1]);
        CHECK(memcmp(blocks.memory, "abc", 3) == 0);
        rgm_comm_blocks_clear(&blocks);
    }
    CHECK_OK(rgm_comm_gather(&blocks, comm, NULL, 0, 0));
    CHECK_INT(0, (int64_t)blocks.begin[1]);
    rgm_comm_blocks_clear(&blocks);
    CHECK_STATUS(RGM_ERR_ARG, rgm_comm_gather(&blocks, comm, text, 3, 4));
    CHECK_INT(0, blocks.count);
    CHECK_EVERY_OOM(rgm_comm_gather(&blocks, comm, text, 3, 0), rgm_comm_blocks_clear(&blocks));
    CHECK_STATUS(RGM_ERR_DATA, rgm_comm_fail(comm, RGM_ERR_DATA));
}

static void the_sum_over_one_rank_is_its_own(void **state)
{
    rgm_comm *comm = rgm_comm_self();
    rgm_comm_sum_request *request;
    float values[3] = {1, 2, 3};

    (void)state;
    CHECK_OK(rgm_comm_sum(comm, values, 3, RGM_F32));
    CHECK_OK(rgm_comm_sum_begin(&request, comm, values, 3, RGM_F32));
    CHECK_OK(rgm_comm_sum_wait(&request));
    CHECK(request == NULL);
    CHECK_OK(rgm_comm_sum_wait(&request));
    CHECK(values[0] == 1 && values[1] == 2 && values[2] == 3);
    CHECK_STATUS(RGM_ERR_ARG, rgm_comm_sum(comm, values, 3, RGM_I64));
    CHECK_MESSAGE("i64");
    CHECK_STATUS(RGM_ERR_ARG, rgm_comm_sum_begin(&request, comm, values, -1, RGM_F32));
    CHECK(request == NULL);
}

static void one_rank_holds_all_shards(void **state)
{
    int64_t first, count;

    (void)state;
    CHECK_OK(rgm_comm_shards(&first, &count, rgm_comm_self(), 8));
    CHECK_INT(0, first);
    CHECK_INT(8, count);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_comm_shards(&first, &count, rgm_comm_self(), 6));
    CHECK_MESSAGE("such as 4");
    CHECK_INT(0, count);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_comm_shards(&first, &count, rgm_comm_self(), 0));
    CHECK_MESSAGE("such as 1");
}

TESTS(cmocka_unit_test(a_program_that_was_started_alone_is_rank_0_of_1),
      cmocka_unit_test(the_launchers_word_is_enough_to_know_ones_place),
      cmocka_unit_test(one_rank_tells_itself), cmocka_unit_test(the_sum_over_one_rank_is_its_own),
      cmocka_unit_test(one_rank_holds_all_shards))
