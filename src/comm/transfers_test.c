/* What ranks do together, with ranks that are threads: values, bits, faults. */
#include <regimen/comm.h>

#include "fake_ranks_check.h"

/* cmocka's failures belong to the thread of the test: others record what was wrong. */
static atomic_int wrong;
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("%s:%d: rank %d: not true: %s (%s)\n", __FILE__, __LINE__,                 \
                        rgm_comm_rank(comm), #condition, rgm_error_message());                     \
            atomic_fetch_add(&wrong, 1);                                                           \
        }                                                                                          \
    } while (0)

static void check_ranks(int size, void (*work)(rgm_comm *comm, void *payload))
{
    fake_world *world = fake_ranks(size, work, NULL);

    atomic_store(&wrong, 0);
    CHECK_INT(size, fake_run_all(world));
    CHECK_INT(0, atomic_load(&wrong));
}

/* ---- what they tell each other ------------------------------------------------------------- */

static void tell(rgm_comm *comm, void *payload)
{
    int rank = rgm_comm_rank(comm), size = rgm_comm_size(comm);
    rgm_comm_times times;

    (void)payload;
    EXPECT(rgm_comm_barrier(comm) == RGM_OK);
    EXPECT(strlen(rgm_comm_members(comm)[size - 1].host) > 0);
    for (int root = 0; root < size; root++) {
        char text[100] = "";

        if (rank == root)
            snprintf(text, sizeof text, "from %d", root);
        EXPECT(rgm_comm_broadcast(comm, text, sizeof text, root) == RGM_OK);
        EXPECT(text[5] - '0' == root % 10 || root >= 10);
    }
    uint64_t any = 1ull << rank, first = 1000 + (uint64_t)rank;
    EXPECT(rgm_comm_decide(comm, &any, &first) == RGM_OK);
    EXPECT(any == (1ull << size) - 1);
    EXPECT(first == 1000);
    EXPECT(rgm_comm_decide(comm, NULL, &first) == RGM_OK);
    EXPECT(rgm_comm_broadcast(comm, &any, sizeof any, size) == RGM_ERR_ARG);
    rgm_comm_get_times(&times, comm);
    EXPECT(size == 1 ||
           times.transfers == size + 6); /* the hosts' names, where rank 0 listens, that all met */
}

/* Rank r has r bytes, of value r. */
static void gather(rgm_comm *comm, void *payload)
{
    int rank = rgm_comm_rank(comm), size = rgm_comm_size(comm);
    rgm_comm_blocks blocks;
    char mine[FAKE_RANKS];

    (void)payload;
    memset(mine, rank, sizeof mine);
    for (int root = RGM_COMM_ALL; root < size; root++) {
        EXPECT(rgm_comm_gather(&blocks, comm, mine, (size_t)rank, root) == RGM_OK);
        if (root != RGM_COMM_ALL && root != rank) {
            EXPECT(blocks.count == 0 && blocks.memory == NULL && blocks.begin == NULL);
            continue;
        }
        EXPECT(blocks.count == size && blocks.begin[0] == 0);
        for (int i = 0; i < size; i++) {
            EXPECT(blocks.begin[i + 1] - blocks.begin[i] == (size_t)i);
            for (size_t k = blocks.begin[i]; k < blocks.begin[i + 1]; k++)
                EXPECT(blocks.memory[k] == i);
        }
        rgm_comm_blocks_clear(&blocks);
    }
}

/* How many bytes rank `from` has for rank `to`: to some it has nothing. */
static size_t letter(int from, int to)
{
    return (from + to) % 3 == 2 ? 0 : (size_t)(from * 5 + to + 1);
}

/* Two at once, waited for from the last; each byte says who it is from, to whom and in which. */
static void mail(rgm_comm *comm, void *payload)
{
    int rank = rgm_comm_rank(comm), size = rgm_comm_size(comm);
    char out[2][FAKE_RANKS * 100], in[2][FAKE_RANKS * 100];
    size_t out_begin[FAKE_RANKS + 1] = {0}, in_begin[FAKE_RANKS + 1] = {0};
    rgm_comm_mail_request *requests[2];

    (void)payload;
    for (int k = 0; k < size; k++) {
        out_begin[k + 1] = out_begin[k] + letter(rank, k);
        in_begin[k + 1] = in_begin[k] + letter(k, rank);
        for (int i = 0; i < 2; i++)
            memset(out[i] + out_begin[k], rank * 16 + k + i, letter(rank, k));
    }
    for (int i = 0; i < 2; i++) {
        const rgm_comm_mail post = {out[i], out_begin, in[i], in_begin};

        EXPECT(rgm_comm_mail_begin(&requests[i], comm, &post) == RGM_OK);
    }
    for (int i = 1; i >= 0; i--) {
        EXPECT(rgm_comm_mail_wait(&requests[i]) == RGM_OK);
        EXPECT(requests[i] == NULL);
        for (int k = 0; k < size; k++)
            for (size_t at = in_begin[k]; at < in_begin[k + 1]; at++)
                EXPECT(in[i][at] == (char)(k * 16 + rank + i));
    }
}

/* The same letters, of sizes that the receiver does not know; twice, since rooms are used again. */
static void swap(rgm_comm *comm, void *payload)
{
    int rank = rgm_comm_rank(comm), size = rgm_comm_size(comm);
    size_t begin[FAKE_RANKS + 1] = {0};
    char out[FAKE_RANKS * 100];

    (void)payload;
    for (int k = 0; k < size; k++) {
        begin[k + 1] = begin[k] + letter(rank, k);
        memset(out + begin[k], rank * 16 + k, letter(rank, k));
    }
    for (int i = 0; i < 2; i++) {
        rgm_comm_blocks in;

        EXPECT(rgm_comm_swap(&in, comm, out, begin) == RGM_OK);
        EXPECT(in.count == size && in.begin[0] == 0);
        for (int k = 0; k < size; k++) {
            EXPECT(in.begin[k + 1] - in.begin[k] == letter(k, rank));
            for (size_t at = in.begin[k]; at < in.begin[k + 1]; at++)
                EXPECT(in.memory[at] == (char)(k * 16 + rank));
        }
        rgm_comm_blocks_clear(&in);
    }
}

static void a_rank_takes_of_itself_what_it_gives(void **state)
{
    const size_t two[2] = {0, 2}, three[2] = {0, 3};
    const rgm_comm_mail mail = {"ab", two, (char[3]){0}, three};
    rgm_comm_mail_request *request;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_comm_mail_begin(&request, rgm_comm_self(), &mail));
    CHECK(request == NULL);
}

static void every_rank_hears_every_other(void **state)
{
    (void)state;
    for (int size = 1; size <= 16; size *= 2) {
        check_ranks(size, tell);
        check_ranks(size, gather);
        check_ranks(size, mail);
        check_ranks(size, swap);
    }
}

/* ---- sums ---------------------------------------------------------------------------------- */

static float number(int64_t shard, int64_t i)
{
    return (float)sin((double)(shard * 977 + i) * 0.37) * (i % 7 == 0 ? 1e6F : 1.0F);
}

#define SHARDS 16
static const int64_t sizes[] = {1, 5, 4096, 4097, 20011};
#define SIZES ((int)(sizeof sizes / sizeof *sizes))

/* The bits that one rank gets; [SIZES][size] of the dtype. */
static void *expected[SIZES];
static rgm_dtype dtype;

static void *sum_shards(rgm_comm *comm, int64_t size)
{
    void *values = malloc((size_t)size * rgm_dtype_size(dtype));
    int64_t first, count;
    rgm_shard_sum *sum;

    EXPECT(rgm_comm_shards(&first, &count, comm, SHARDS) == RGM_OK);
    EXPECT(rgm_shard_sum_create(&sum, dtype, size, count) == RGM_OK);
    for (int64_t shard = first; shard < first + count; shard++) {
        for (int64_t i = 0; i < size; i++)
            if (dtype == RGM_BF16)
                ((uint16_t *)values)[i] = rgm_bf16_from(number(shard, i));
            else
                ((float *)values)[i] = number(shard, i);
        (void)rgm_shard_sum_add(sum, values);
    }
    rgm_shard_sum_release(sum);
    return values;
}

/* All of them under way at once, waited for from the last. */
static void sum(rgm_comm *comm, void *payload)
{
    rgm_comm_sum_request *requests[SIZES];
    void *values[SIZES];

    (void)payload;
    for (int round = 0; round < 3; round++) {
        for (int k = 0; k < SIZES; k++) {
            values[k] = sum_shards(comm, sizes[k]);
            EXPECT(rgm_comm_sum_begin(&requests[k], comm, values[k], sizes[k], dtype) == RGM_OK);
        }
        for (int k = SIZES - 1; k >= 0; k--) {
            EXPECT(rgm_comm_sum_wait(&requests[k]) == RGM_OK);
            EXPECT(requests[k] == NULL);
            EXPECT(memcmp(values[k], expected[k], (size_t)sizes[k] * rgm_dtype_size(dtype)) == 0);
            free(values[k]);
        }
    }
    EXPECT(rgm_comm_sum(comm, NULL, 0, dtype) == RGM_OK);
}

static void any_number_of_ranks_gives_the_same_bits(void **state)
{
    const rgm_dtype dtypes[] = {RGM_F32, RGM_BF16};

    (void)state;
    for (int d = 0; d < 2; d++) {
        dtype = dtypes[d];
        for (int k = 0; k < SIZES; k++)
            expected[k] = sum_shards(rgm_comm_self(), sizes[k]);
        for (int size = 1; size <= 16; size *= 2)
            check_ranks(size, sum);
        for (int k = 0; k < SIZES; k++)
            free(expected[k]);
    }
}

static _Atomic(rgm_comm *) rank_0; /* when it is about to wait at the barrier */

static bool waits(rgm_comm *comm)
{
    bool result;

    if (comm == NULL)
        return false;
    pthread_mutex_lock(&comm->lock);
    result = comm->waiting_for > 0;
    pthread_mutex_unlock(&comm->lock);
    return result;
}

/* Rank 0 waits at the barrier while its sum is under way, since the others begin it only then. */
static void time_a_sum_that_shows(rgm_comm *comm, float *values, int64_t size)
{
    bool is_rank_0 = rgm_comm_rank(comm) == 0;
    rgm_comm_sum_request *request;
    rgm_comm_times before, after;
    double hidden, until = rgm_now() + 30;

    rgm_comm_get_times(&before, comm);
    if (is_rank_0)
        atomic_store(&rank_0, comm);
    while (!is_rank_0 && !waits(atomic_load(&rank_0)) && rgm_now() < until)
        usleep(1000);
    EXPECT(rgm_comm_sum_begin(&request, comm, values, size, RGM_F32) == RGM_OK);
    EXPECT(rgm_comm_barrier(comm) == RGM_OK);
    EXPECT(rgm_comm_sum_wait(&request) == RGM_OK);
    rgm_comm_get_times(&after, comm);
    hidden = rgm_comm_hidden(&before, &after);
    EXPECT(after.sums_shown <= after.sums - before.sums);
    EXPECT(hidden >= 0 && hidden <= 1);
    EXPECT(!is_rank_0 || (after.sums_shown > 0 && hidden < 1));
}

/* A sum that is over before anybody waits for it is hidden, one that is waited for is not; so is
 * one that is under way while something else is waited for. */
static void time_sums(rgm_comm *comm, void *payload)
{
    enum { SIZE = 100000 };
    float *values = calloc(SIZE, sizeof *values);
    rgm_comm_sum_request *request;
    rgm_comm_times before, after;
    double until = rgm_now() + 30;

    (void)payload;
    rgm_comm_get_times(&before, comm);
    EXPECT(before.sums == 0 && isnan(rgm_comm_hidden(&before, &before)));
    EXPECT(rgm_comm_sum_begin(&request, comm, values, SIZE, RGM_F32) == RGM_OK);
    do {
        rgm_comm_get_times(&after, comm);
    } while (after.transfers == before.transfers && rgm_now() < until);
    EXPECT(after.sums > 0 && rgm_comm_hidden(&before, &after) == 1);
    EXPECT(rgm_comm_sum_wait(&request) == RGM_OK);
    rgm_comm_get_times(&before, comm);
    EXPECT(before.sums == after.sums && before.sums_shown == 0);
    time_a_sum_that_shows(comm, values, SIZE);
    free(values);
}

static void the_hidden_share_of_sums_is_measured(void **state)
{
    rgm_comm_times times;

    (void)state;
    for (int size = 2; size <= 4; size *= 2) {
        atomic_store(&rank_0, NULL);
        check_ranks(size, time_sums);
    }
    rgm_comm_get_times(&times, rgm_comm_self());
    CHECK(isnan(rgm_comm_hidden(&times, &times)));
}

static void sum_doubles(rgm_comm *comm, void *payload)
{
    double values[5000];
    int rank = rgm_comm_rank(comm);

    (void)payload;
    for (int i = 0; i < 5000; i++)
        values[i] = ldexp(1, -50) * (rank + 1) + i;
    EXPECT(rgm_comm_sum(comm, values, 5000, RGM_F64) == RGM_OK);
    for (int i = 0; i < 5000; i += 999)
        EXPECT(values[i] == (ldexp(1, -50) * 1 + i + (ldexp(1, -50) * 2 + i)) +
                                (ldexp(1, -50) * 3 + i + (ldexp(1, -50) * 4 + i)));
}

static void doubles_are_added_as_doubles(void **state)
{
    (void)state;
    check_ranks(4, sum_doubles);
}

static void ask_for_shards(rgm_comm *comm, void *payload)
{
    int64_t first, count;

    (void)payload;
    EXPECT(rgm_comm_shards(&first, &count, comm, 8) == RGM_OK);
    EXPECT(count == 2 && first == 2 * rgm_comm_rank(comm));
    EXPECT(rgm_comm_shards(&first, &count, comm, 2) == RGM_ERR_CONFIG);
    EXPECT(strstr(rgm_error_message(), "use 4 shards or more, or 2 ranks or fewer") != NULL);
}

static void each_rank_has_its_shards(void **state)
{
    (void)state;
    check_ranks(4, ask_for_shards);
}

static void never(rgm_comm *comm, void *payload)
{
    (void)payload;
    EXPECT(comm == NULL);
}

static void three_ranks_are_refused(void **state)
{
    fake_world *world = fake_ranks(3, never, NULL);

    (void)state;
    atomic_store(&wrong, 0);
    CHECK_INT(3, fake_run_all(world)); /* and all end MPI */
    CHECK_INT(0, atomic_load(&wrong));
}

/* ---- memory -------------------------------------------------------------------------------- */

static rgm_status create(rgm_comm **out, fake_rank *self)
{
    *out = NULL;
    self->collectives = 0;
    memset(self->requests, 0, sizeof self->requests);
    return rgmi_comm_create(out, &fake_mpi, self, &self->patience);
}

static void memory_that_is_not_there_is_an_error(void **state)
{
    fake_world *world = fake_ranks(1, never, NULL);
    rgm_comm *comm;

    (void)state;
    CHECK_EVERY_OOM(create(&comm, &world->ranks[0]), rgmi_comm_release(comm));
    world->size = 0; /* none runs */
    (void)fake_run_all(world);
}

/* ---- faults -------------------------------------------------------------------------------- */

/* Every rank sums for as long as it can. Returns the error that stopped it. */
static void sum_on(rgm_comm *comm, char message[256], rgm_status *status)
{
    float *values = calloc(20000, sizeof(float));

    do
        *status = rgm_comm_sum(comm, values, 20000, RGM_F32);
    while (*status == RGM_OK);
    snprintf(message, 256, "%s", rgm_error_message());
    EXPECT(rgm_comm_barrier(comm) == *status); /* and so does every later call */
    free(values);
}

static void hear_of_a_cut_wire(rgm_comm *comm, void *payload)
{
    char message[256];
    rgm_status status;

    (void)payload;
    sum_on(comm, message, &status);
    EXPECT(status == RGM_ERR_IO);
    EXPECT(strstr(message, "rank 2 on ") != NULL && strstr(message, "the wire is cut") != NULL);
}

static void an_error_of_mpi_reaches_every_rank(void **state)
{
    fake_world *world = fake_ranks(4, hear_of_a_cut_wire, NULL);

    (void)state;
    world->ranks[2].fail_at = 31;
    atomic_store(&wrong, 0);
    CHECK_INT(4, fake_run_all(world));
    CHECK_INT(0, atomic_load(&wrong));
}

static void one_fails(rgm_comm *comm, void *payload)
{
    char message[256];
    rgm_status status;

    (void)payload;
    if (rgm_comm_rank(comm) == 3) {
        status = RGM_FAIL(RGM_ERR_DATA, "shard 9 is empty");
        EXPECT(rgm_comm_fail(comm, status) == RGM_ERR_DATA);
        EXPECT(rgm_comm_barrier(comm) == RGM_ERR_DATA);
        return;
    }
    sum_on(comm, message, &status);
    EXPECT(status == RGM_ERR_DATA);
    EXPECT(strstr(message, "rank 3 on ") == message);
    EXPECT(!rgm_comm_is_lost(comm)); /* it would fail again */
    EXPECT(strstr(message, ": shard 9 is empty") != NULL);
}

static void a_rank_that_fails_tells_why(void **state)
{
    (void)state;
    check_ranks(4, one_fails);
}

static bool receives(fake_world *world, int rank)
{
    bool any = false;

    pthread_mutex_lock(&world->lock);
    for (int i = 0; i < FAKE_REQUESTS; i++)
        any = any ||
              (world->ranks[rank].requests[i].used && world->ranks[rank].requests[i].is_receive);
    pthread_mutex_unlock(&world->lock);
    return any;
}

/* Rank 1 waits for what rank 0 never sends, and has its memory back when it hears so. */
static void one_waits(rgm_comm *comm, void *payload)
{
    fake_world **world = payload;
    float *values = calloc(20000, sizeof(float));
    rgm_status status = RGM_OK;

    while (rgm_comm_rank(comm) == 0 && !receives(*world, 1))
        usleep(1000);
    if (rgm_comm_rank(comm) == 0)
        EXPECT(rgm_comm_fail(comm, RGM_FAIL(RGM_ERR_DATA, "shard 9 is empty")) == RGM_ERR_DATA);
    else
        status = rgm_comm_sum(comm, values, 20000, RGM_F32);
    EXPECT(status == (rgm_comm_rank(comm) == 0 ? RGM_OK : RGM_ERR_DATA));
    free(values);
}

static void mpi_does_not_end_while_it_may_write(void **state)
{
    fake_world *world = fake_ranks(2, one_waits, &world);

    (void)state;
    atomic_store(&wrong, 0);
    CHECK_INT(2, fake_run_all(world)); /* what never comes is given up */
    world = fake_ranks(2, one_waits, &world);
    world->never_gives_up = true;
    CHECK_INT(1, fake_run_all(world));
    CHECK_INT(0, atomic_load(&wrong));
}

/* A rank that ends the run one transfer too early. */
static void one_leaves(rgm_comm *comm, void *payload)
{
    const int *leaver = payload;
    char name[20];

    if (rgm_comm_rank(comm) == *leaver)
        return;
    snprintf(name, sizeof name, "rank %d on ", *leaver);
    EXPECT(rgm_comm_barrier(comm) == RGM_ERR_ARG);
    EXPECT(strstr(rgm_error_message(), name) != NULL);
    EXPECT(strstr(rgm_error_message(), "has closed its communicator") != NULL);
}

/* Rank 0, too, which looks for others alone. */
static void a_rank_that_leaves_too_early_is_named(void **state)
{
    (void)state;
    for (int leaver = 0; leaver < 2; leaver++) {
        atomic_store(&wrong, 0);
        CHECK_INT(4, fake_run_all(fake_ranks(4, one_leaves, &leaver)));
        CHECK_INT(0, atomic_load(&wrong));
    }
}

/* ---- late ranks ---------------------------------------------------------------------------- */

static atomic_int notices;

static void keep_notice(int level, const char *message, void *payload)
{
    (void)payload;
    if (level == RGM_LOG_WARNING && strstr(message, "for rank 1 on ") != NULL &&
        strstr(message, "whose process lives") != NULL)
        atomic_fetch_add(&notices, 1);
}

/* Rank 1 comes when somebody has been told that it is late. */
static void one_is_late(rgm_comm *comm, void *payload)
{
    (void)payload;
    if (rgm_comm_rank(comm) == 1)
        while (atomic_load(&notices) == 0)
            usleep(1000);
    EXPECT(rgm_comm_barrier(comm) == RGM_OK);
    EXPECT(!rgm_comm_is_lost(comm));
}

static void a_late_rank_is_named_and_waited_for(void **state)
{
    fake_world *world = fake_ranks(4, one_is_late, NULL);

    (void)state;
    for (int i = 0; i < 4; i++)
        world->ranks[i].patience = (rgmi_patience){0.01, 1000, 0.05, 1000, 60};
    atomic_store(&wrong, 0);
    atomic_store(&notices, 0);
    CHECK_OK(rgm_logger_add_sink(NULL, keep_notice, NULL));
    CHECK_INT(4, fake_run_all(world));
    rgm_logger_remove_sink(NULL, keep_notice, NULL);
    CHECK_INT(0, atomic_load(&wrong));
    CHECK(atomic_load(&notices) >= 1);
}

static atomic_int waiting;

/* It is rank 0: first of all that are late, however late the others are; and what ends them it
 * knows before they do. */
static void one_never_comes(rgm_comm *comm, void *payload)
{
    (void)payload;
    if (rgm_comm_rank(comm) == 0) {
        while (atomic_load(&waiting) > 0) /* for those that wait for it */
            usleep(1000);
        EXPECT(rgm_comm_barrier(comm) == RGM_ERR_IO);
        return;
    }
    EXPECT(rgm_comm_barrier(comm) == RGM_ERR_IO);
    EXPECT(strstr(rgm_error_message(), "for rank 0 on ") != NULL);
    EXPECT(rgm_comm_is_lost(comm));
    atomic_fetch_sub(&waiting, 1);
}

static void a_rank_that_never_comes_ends_the_others(void **state)
{
    fake_world *world = fake_ranks(4, one_never_comes, NULL);

    (void)state;
    for (int i = 0; i < 4; i++)
        world->ranks[i].patience = (rgmi_patience){0.01, 1000, 0.05, 0.2, 60};
    atomic_store(&wrong, 0);
    atomic_store(&waiting, 3);
    CHECK_INT(0, fake_run_all(world)); /* MPI's end would wait for it as well */
    CHECK_INT(0, atomic_load(&wrong));
}

/* ---- slow ranks ---------------------------------------------------------------------------- */

static void count_slow(int level, const char *message, void *payload)
{
    (void)payload;
    if (level == RGM_LOG_WARNING && strstr(message, "rank 1 on ") == message &&
        strstr(message, " is slow: the others waited for it ") != NULL)
        atomic_fetch_add(&notices, 1);
}

static void one_is_slow(rgm_comm *comm, void *payload)
{
    (void)payload;
    for (int i = 0; i < 60; i++) {
        if (rgm_comm_rank(comm) == 1)
            usleep(5000);
        EXPECT(rgm_comm_decide(comm, NULL, NULL) == RGM_OK);
    }
}

/* At the end of its own time, however soon a late one is named. */
static void a_slow_rank_is_named_in_time(void **state)
{
    static const rgmi_patience soon = {0.01, 1000, 1000, 2000, 0.1},
                               later = {0.01, 1000, 0.01, 2000, 1000};

    (void)state;
    for (int way = 0; way < 2; way++) {
        fake_world *world = fake_ranks(2, one_is_slow, NULL);

        for (int i = 0; i < 2; i++)
            world->ranks[i].patience = way == 0 ? soon : later;
        atomic_store(&wrong, 0);
        atomic_store(&notices, 0);
        CHECK_OK(rgm_logger_add_sink(NULL, count_slow, NULL));
        CHECK_INT(2, fake_run_all(world));
        rgm_logger_remove_sink(NULL, count_slow, NULL);
        CHECK_INT(0, atomic_load(&wrong));
        CHECK((atomic_load(&notices) > 0) == (way == 0));
    }
}

TESTS(cmocka_unit_test(every_rank_hears_every_other),
      cmocka_unit_test(a_rank_takes_of_itself_what_it_gives),
      cmocka_unit_test(any_number_of_ranks_gives_the_same_bits),
      cmocka_unit_test(the_hidden_share_of_sums_is_measured),
      cmocka_unit_test(doubles_are_added_as_doubles), cmocka_unit_test(each_rank_has_its_shards),
      cmocka_unit_test(three_ranks_are_refused),
      cmocka_unit_test(memory_that_is_not_there_is_an_error),
      cmocka_unit_test(an_error_of_mpi_reaches_every_rank),
      cmocka_unit_test(a_rank_that_fails_tells_why),
      cmocka_unit_test(mpi_does_not_end_while_it_may_write),
      cmocka_unit_test(a_rank_that_leaves_too_early_is_named),
      cmocka_unit_test(a_late_rank_is_named_and_waited_for),
      cmocka_unit_test(a_rank_that_never_comes_ends_the_others),
      cmocka_unit_test(a_slow_rank_is_named_in_time))
