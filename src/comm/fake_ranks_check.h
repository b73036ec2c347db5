/*
 * Ranks that are threads of one test program: a table of mpi_table.h whose messages go through a
 * list in memory. So what comm does with 2, 4, 8 ranks runs without MPI, under the thread
 * sanitizer, and with faults at a call that the test chooses.
 */
#ifndef RGM_FAKE_RANKS_CHECK_H
#define RGM_FAKE_RANKS_CHECK_H

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "comm_internal.h"

#define FAKE_RANKS    16
#define FAKE_REQUESTS 256
#define FAKE_ERROR    17

typedef struct fake_message {
    struct fake_message *next;
    int from, to, tag;
    size_t bytes;
    char data[];
} fake_message;

/* Something that all ranks call, the k-th of each. */
typedef struct fake_collective {
    int arrived;
    size_t bytes;
    char *data; /* [ranks * bytes] */
} fake_collective;

typedef struct fake_request {
    bool used, is_receive, is_broadcast, is_gather, is_given_up;
    void *memory;
    size_t bytes;
    int from, tag, delay, root;
    int64_t collective; /* -1: a message */
} fake_request;

typedef struct fake_world fake_world;
typedef struct fake_rank {
    fake_world *world;
    int rank;
    int64_t collectives, calls, fail_at; /* the number of a call that fails, -1: none */
    uint32_t delays;                     /* a small generator: how long each takes    */
    fake_request requests[FAKE_REQUESTS];
    /* the test's */
    void (*work)(rgm_comm *comm, void *payload);
    void *payload;
    rgmi_patience patience;
    rgm_status status; /* of opening */
} fake_rank;

struct fake_world {
    pthread_mutex_t lock;
    int size;
    int64_t most_collectives;
    fake_collective *collectives;
    fake_message *messages, **end;
    atomic_int stopped;
    bool never_gives_up; /* every message that is waited for is coming in already */
    atomic_int dangling; /* receives under way when MPI was stopped: it may still write */
    fake_rank ranks[FAKE_RANKS];
};

static int fake_start(void *context, regimen_mpi_job *job)
{
    fake_rank *self = context;

    job->rank = self->rank;
    job->size = self->world->size;
    job->threads = 1;
    job->tag_most = 32767;
    return 0;
}

static int fake_stop(void *context)
{
    fake_rank *self = context;

    for (int i = 0; i < FAKE_REQUESTS; i++)
        atomic_fetch_add(&self->world->dangling,
                         self->requests[i].used && self->requests[i].is_receive);
    atomic_fetch_add(&self->world->stopped, 1);
    return 0;
}

/* A free request, or an error where the test wants one. Under the lock. */
static int fake_new(fake_rank *self, regimen_mpi_request *out, fake_request request)
{
    int i = 0;

    *out = 0;
    if (self->calls++ == self->fail_at)
        return FAKE_ERROR;
    while (i < FAKE_REQUESTS && self->requests[i].used)
        i++;
    if (i == FAKE_REQUESTS)
        return FAKE_ERROR + 1;
    self->delays = self->delays * 1664525u + 1013904223u;
    request.used = true;
    request.delay = (int)(self->delays >> 29);
    self->requests[i] = request;
    *out = (regimen_mpi_request)i + 1;
    return 0;
}

static int fake_send(void *context, regimen_mpi_request *out, const void *memory, size_t bytes,
                     int to, int tag)
{
    fake_rank *self = context;
    fake_world *world = self->world;
    fake_message *message = malloc(sizeof *message + bytes);
    int code;

    *message = (fake_message){.from = self->rank, .to = to, .tag = tag, .bytes = bytes};
    memcpy(message->data, memory, bytes);
    pthread_mutex_lock(&world->lock);
    code = fake_new(self, out, (fake_request){.collective = -1});
    if (code == 0) {
        *world->end = message;
        world->end = &message->next;
    } else {
        free(message);
    }
    pthread_mutex_unlock(&world->lock);
    return code;
}

static int fake_receive(void *context, regimen_mpi_request *out, void *memory, size_t bytes,
                        int from, int tag)
{
    fake_rank *self = context;
    fake_request request = {.is_receive = true,
                            .memory = memory,
                            .bytes = bytes,
                            .from = from,
                            .tag = tag,
                            .collective = -1};
    int code;

    pthread_mutex_lock(&self->world->lock);
    code = fake_new(self, out, request);
    pthread_mutex_unlock(&self->world->lock);
    return code;
}

/* `mine` goes to the place of this rank; a rank that has nothing to give passes NULL. */
static int fake_join(fake_rank *self, regimen_mpi_request *out, fake_request request,
                     const void *mine)
{
    fake_world *world = self->world;
    fake_collective *all;
    int code;

    pthread_mutex_lock(&world->lock);
    request.collective = self->collectives++;
    assert_true(request.collective < world->most_collectives);
    all = &world->collectives[request.collective];
    if (all->data == NULL) {
        all->bytes = request.bytes;
        all->data = malloc((size_t)world->size * request.bytes + 1);
    }
    assert_int_equal(all->bytes, request.bytes); /* all call the same */
    if (mine != NULL)
        memcpy(all->data + (size_t)self->rank * request.bytes, mine, request.bytes);
    all->arrived++;
    code = fake_new(self, out, request);
    pthread_mutex_unlock(&world->lock);
    return code;
}

static int fake_barrier(void *context, regimen_mpi_request *out)
{
    return fake_join(context, out, (fake_request){0}, NULL);
}

static int fake_broadcast(void *context, regimen_mpi_request *out, void *memory, size_t bytes,
                          int root)
{
    fake_rank *self = context;
    fake_request request = {.memory = memory, .bytes = bytes, .is_broadcast = true, .root = root};

    return fake_join(self, out, request, self->rank == root ? memory : NULL);
}

static int fake_gather_all(void *context, regimen_mpi_request *out, const void *mine, void *all,
                           size_t bytes)
{
    return fake_join(context, out, (fake_request){.memory = all, .bytes = bytes, .is_gather = true},
                     mine);
}

/* Under the lock: has it come to its end? */
static bool fake_is_over(fake_rank *self, fake_request *request)
{
    fake_world *world = self->world;

    if (request->delay-- > 0)
        return false;
    if (request->collective >= 0) {
        const fake_collective *all = &world->collectives[request->collective];

        if (all->arrived < world->size)
            return false;
        if (request->is_broadcast && self->rank != request->root)
            memcpy(request->memory, all->data + (size_t)request->root * request->bytes,
                   request->bytes);
        if (request->is_gather)
            memcpy(request->memory, all->data, (size_t)world->size * request->bytes);
        return true;
    }
    if (!request->is_receive || request->is_given_up)
        return true;
    for (fake_message **at = &world->messages; *at != NULL; at = &(*at)->next) {
        fake_message *message = *at;

        if (message->to != self->rank || message->from != request->from ||
            message->tag != request->tag)
            continue;
        assert_int_equal(message->bytes, request->bytes);
        memcpy(request->memory, message->data, message->bytes);
        *at = message->next;
        if (world->end == &message->next)
            world->end = at;
        free(message);
        return true;
    }
    return false;
}

static int fake_test(void *context, int count, regimen_mpi_request *requests, int *over)
{
    fake_rank *self = context;

    *over = 1;
    pthread_mutex_lock(&self->world->lock);
    for (int i = 0; i < count; i++) {
        if (requests[i] == 0)
            continue;
        fake_request *request = &self->requests[requests[i] - 1];
        if (fake_is_over(self, request)) {
            request->used = false;
            requests[i] = 0;
        } else {
            *over = 0;
        }
    }
    pthread_mutex_unlock(&self->world->lock);
    return 0;
}

static int fake_cancel(void *context, int count, regimen_mpi_request *requests)
{
    fake_rank *self = context;

    pthread_mutex_lock(&self->world->lock);
    for (int i = 0; i < count; i++)
        if (requests[i] != 0) {
            fake_request *request = &self->requests[requests[i] - 1];

            assert_true(request->used && request->is_receive);
            request->is_given_up = !self->world->never_gives_up;
        }
    pthread_mutex_unlock(&self->world->lock);
    return 0;
}

static void fake_error_text(int code, char *text, size_t room)
{
    snprintf(text, room, "the wire is cut (%d)", code);
}

static void fake_library(char *text, size_t room)
{
    snprintf(text, room, "threads");
}

static const regimen_mpi fake_mpi = {
    .abi = REGIMEN_MPI_ABI,
    .start = fake_start,
    .stop = fake_stop,
    .send = fake_send,
    .receive = fake_receive,
    .barrier = fake_barrier,
    .broadcast = fake_broadcast,
    .gather_all = fake_gather_all,
    .test = fake_test,
    .cancel = fake_cancel,
    .error_text = fake_error_text,
    .library = fake_library,
};

static void *fake_run(void *payload)
{
    fake_rank *self = payload;
    rgm_comm *comm;

    self->status = rgmi_comm_create(&comm, &fake_mpi, self, &self->patience);
    if (self->status == RGM_OK) {
        self->work(comm, self->payload);
        rgmi_comm_release(comm);
    }
    return NULL;
}

/* Prepared ranks, on which a test may still choose faults. */
static fake_world *fake_ranks(int size, void (*work)(rgm_comm *comm, void *payload), void *payload)
{
    fake_world *world = calloc(1, sizeof *world);

    assert_non_null(world);
    pthread_mutex_init(&world->lock, NULL);
    world->size = size;
    world->most_collectives = 4096;
    world->collectives = calloc((size_t)world->most_collectives, sizeof *world->collectives);
    world->end = &world->messages;
    for (int i = 0; i < size; i++)
        world->ranks[i] = (fake_rank){.world = world,
                                      .rank = i,
                                      .fail_at = -1,
                                      .delays = (uint32_t)i * 77 + 5,
                                      .work = work,
                                      .payload = payload,
                                      .patience = RGMI_PATIENCE};
    return world;
}

/* Run them to their ends. Returns how many ended MPI as they should. */
static int fake_run_all(fake_world *world)
{
    pthread_t threads[FAKE_RANKS];
    int stopped;

    for (int i = 0; i < world->size; i++)
        assert_int_equal(0, pthread_create(&threads[i], NULL, fake_run, &world->ranks[i]));
    for (int i = 0; i < world->size; i++)
        pthread_join(threads[i], NULL);
    stopped = atomic_load(&world->stopped);
    assert_int_equal(0, atomic_load(&world->dangling));
    while (world->messages != NULL) {
        fake_message *message = world->messages;

        world->messages = message->next;
        free(message);
    }
    for (int64_t i = 0; i < world->most_collectives; i++)
        free(world->collectives[i].data);
    free(world->collectives);
    pthread_mutex_destroy(&world->lock);
    free(world);
    return stopped;
}

#endif
