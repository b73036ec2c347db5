/*
 * Queues of kernels that come again, recorded and replayed. Launches are held back until something
 * else is asked of the device. A row of them that has come before, the same kernels in the same
 * order, is then the driver's graph: what differs in arguments is set, and all of it runs by one
 * call. Every launch is compared with the recorded one, so nothing has to be known of who launches.
 */
#include "device_internal.h"

#include <string.h>

enum { MOST_ROWS = 64, MOST_LAUNCHES = 4096, LEAST = 2 };

/* Launches whose arguments are in one array, [count][RGM_ARGUMENTS]. */
typedef struct row {
    rgmi_kernel_call *launches;
    rgm_argument *arguments;
    int64_t count, capacity, argument_capacity;
    uint64_t hash; /* of the kernels */
    void *graph;   /* the driver's; NULL: it came once */
    uint64_t used;
} row;

struct rgmi_recorder {
    const rgmi_driver *driver;
    void *state;
    row pending, rows[MOST_ROWS];
    int64_t count;
    uint64_t clock;
    rgmi_replays replays;
};

rgm_status rgmi_recorder_create(rgmi_recorder **out, const rgmi_driver *driver, void *state)
{
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->driver = driver;
    (*out)->state = state;
    return RGM_OK;
}

static void row_clear(row *r, const rgmi_recorder *recorder)
{
    if (r->graph != NULL)
        recorder->driver->graph_free(recorder->state, r->graph);
    rgm_free(r->launches);
    rgm_free(r->arguments);
    *r = (row){0};
}

void rgmi_recorder_release(rgmi_recorder *recorder)
{
    if (recorder == NULL)
        return;
    row_clear(&recorder->pending, recorder);
    for (int64_t i = 0; i < recorder->count; i++)
        row_clear(&recorder->rows[i], recorder);
    rgm_free(recorder);
}

rgmi_replays rgmi_recorder_replays(const rgmi_recorder *recorder)
{
    return recorder->replays;
}

/* ---- holding back ---------------------------------------------------------------------------- */

/* Arrays may have moved. */
static void point_at_arguments(row *r)
{
    for (int64_t i = 0; i < r->count; i++)
        r->launches[i].arguments = r->arguments + i * RGM_ARGUMENTS;
}

rgm_status rgmi_recorder_add(rgmi_recorder *recorder, const rgmi_kernel_call *launch)
{
    row *r = &recorder->pending;
    uint64_t mixed[3] = {r->hash, (uintptr_t)launch->kernel, (uint64_t)launch->count};

    RGM_TRY(RGM_RESERVE(r->launches, r->capacity, r->count + 1));
    RGM_TRY(RGM_RESERVE(r->arguments, r->argument_capacity, (r->count + 1) * RGM_ARGUMENTS));
    r->launches[r->count] = *launch;
    for (int i = 0; i < launch->count; i++)
        r->arguments[r->count * RGM_ARGUMENTS + i] = launch->arguments[i];
    r->count++;
    point_at_arguments(r);
    r->hash = rgm_hash64(mixed, sizeof mixed);
    return RGM_OK;
}

bool rgmi_recorder_is_full(const rgmi_recorder *recorder)
{
    return recorder->pending.count >= MOST_LAUNCHES;
}

/* ---- rows that come again -------------------------------------------------------------------- */

static bool same_argument(const rgm_argument *a, const rgm_argument *b)
{
    if (a->kind != b->kind)
        return false;
    if (a->kind == RGM_ARGUMENT_MEMORY)
        return a->value.memory == b->value.memory;
    return memcmp(&a->value, &b->value, sizeof a->value.integer) == 0; /* all bits of a real */
}

static bool same_launch(const rgmi_kernel_call *a, const rgmi_kernel_call *b)
{
    if (a->groups != b->groups || a->lanes != b->lanes || a->flag != b->flag)
        return false;
    for (int i = 0; i < a->count; i++)
        if (!same_argument(&a->arguments[i], &b->arguments[i]))
            return false;
    return true;
}

static bool same_kernels(const row *a, const row *b)
{
    if (a->hash != b->hash || a->count != b->count)
        return false;
    for (int64_t i = 0; i < a->count; i++)
        if (a->launches[i].kernel != b->launches[i].kernel ||
            a->launches[i].count != b->launches[i].count)
            return false;
    return true;
}

static row *find_row(rgmi_recorder *recorder)
{
    for (int64_t i = 0; i < recorder->count; i++)
        if (same_kernels(&recorder->rows[i], &recorder->pending))
            return &recorder->rows[i];
    return NULL;
}

/* The pending launches and the row's change places, so that those that run are the row's. */
static void exchange(row *a, row *b)
{
    row c = *a;

    *a = *b;
    *b = c;
    point_at_arguments(a);
    point_at_arguments(b);
}

/* In the place of the one that was not used for longest, when there are many. */
static void remember(rgmi_recorder *recorder)
{
    row *place = &recorder->rows[0];

    if (recorder->count < MOST_ROWS) {
        place = &recorder->rows[recorder->count++];
    } else {
        for (int64_t i = 1; i < MOST_ROWS; i++)
            if (recorder->rows[i].used < place->used)
                place = &recorder->rows[i];
        row_clear(place, recorder);
    }
    *place = recorder->pending;
    recorder->pending = (row){0};
    place->used = ++recorder->clock;
}

/* ---- running -----------------------------------------------------------------------------------
 */

static rgm_status launch_one(const rgmi_recorder *recorder, const rgmi_kernel_call *l)
{
    return recorder->driver->launch(recorder->state, l->kernel, l->groups, l->lanes, l->flag,
                                    l->arguments, l->count, l->real);
}

static rgm_status launch_each(const rgmi_kernel_call **failed, rgmi_recorder *recorder)
{
    const row *r = &recorder->pending;
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < r->count && status == RGM_OK; i++) {
        status = launch_one(recorder, &r->launches[i]);
        if (status != RGM_OK)
            *failed = &r->launches[i];
    }
    return status;
}

/* What differs from the last time is set. */
static rgm_status set_and_run(const rgmi_kernel_call **failed, rgmi_recorder *recorder,
                              const row *r)
{
    const row *now = &recorder->pending;

    for (int64_t i = 0; i < now->count; i++) {
        if (same_launch(&r->launches[i], &now->launches[i]))
            continue;
        *failed = &now->launches[i];
        RGM_TRY(recorder->driver->graph_set(recorder->state, r->graph, i, &now->launches[i]));
        recorder->replays.set++;
    }
    *failed = &now->launches[now->count - 1];
    RGM_TRY(recorder->driver->graph_run(recorder->state, r->graph));
    recorder->replays.runs++;
    return RGM_OK;
}

/* Of a graph that could not be set nobody knows what it has: it goes. */
static rgm_status replay(const rgmi_kernel_call **failed, rgmi_recorder *recorder, row *r)
{
    rgm_status status = set_and_run(failed, recorder, r);
    void *graph = r->graph;

    r->graph = NULL;
    if (status != RGM_OK) {
        recorder->driver->graph_free(recorder->state, graph);
        return status;
    }
    exchange(r, &recorder->pending);
    r->graph = graph;
    return RGM_OK;
}

/* A row that comes for the second time. One whose graph cannot be made is launched as before. */
static rgm_status record(const rgmi_kernel_call **failed, rgmi_recorder *recorder, row *r)
{
    const rgmi_driver *driver = recorder->driver;
    const row *now = &recorder->pending;
    rgm_status status;

    status = driver->graph_make(&r->graph, recorder->state, now->launches, now->count);
    if (status == RGM_ERR_UNSUPPORTED || status == RGM_ERR_ARG) {
        rgm_error_reset();
        return launch_each(failed, recorder);
    }
    *failed = &now->launches[0];
    RGM_TRY(status);
    recorder->replays.made++;
    exchange(r, &recorder->pending);
    r->graph = recorder->pending.graph;
    recorder->pending.graph = NULL;
    *failed = &r->launches[r->count - 1];
    RGM_TRY(driver->graph_run(recorder->state, r->graph));
    recorder->replays.runs++;
    return RGM_OK;
}

rgm_status rgmi_recorder_flush(const rgmi_kernel_call **failed, rgmi_recorder *recorder)
{
    rgm_status status;
    row *r;

    *failed = NULL;
    if (recorder->pending.count == 0)
        return RGM_OK;
    r = recorder->pending.count >= LEAST && recorder->driver->graph_make != NULL
            ? find_row(recorder)
            : NULL;
    if (r == NULL)
        status = launch_each(failed, recorder);
    else
        status = r->graph != NULL ? replay(failed, recorder, r) : record(failed, recorder, r);
    if (r != NULL)
        r->used = ++recorder->clock;
    else if (status == RGM_OK && recorder->pending.count >= LEAST)
        remember(recorder);
    if (status == RGM_OK)
        *failed = NULL;
    return status;
}

void rgmi_recorder_drop(rgmi_recorder *recorder)
{
    recorder->pending.count = 0;
    recorder->pending.hash = 0;
}
