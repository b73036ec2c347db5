/*
 * A caching allocator over a driver's memory. The driver gives segments; blocks are cut out of
 * them, best fit first, and what is freed is joined with its free neighbours and kept for the next
 * that asks. Everything on a device runs in the order of the calls, so a block may be given to the
 * next kernel while the one before still reads it.
 */
#include "device_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALIGNMENT     ((size_t)256)
#define SMALL         ((size_t)1 << 20) /* what is no larger shares segments of SMALL_SEGMENT */
#define SMALL_SEGMENT ((size_t)1 << 22) /* 4 MiB  */
#define LARGE_SEGMENT ((size_t)1 << 25) /* 32 MiB: the least that is taken for larger ones */

/* A stretch of a segment, free or not. The records are not counted by rgm_memory_used(): what stays
 * in a cache would look like a leak; `ticket` is counted, and is there while the block is in use.
 */
typedef struct block {
    struct block *before, *behind;           /* of the segment, by address */
    struct block *next_free, *previous_free; /* free ones only */
    struct block *next_used;                 /* of its place in the table, in use only */
    char *at;
    size_t size;
    void *ticket; /* NULL: free */
    bool small;   /* of a segment for small blocks */
} block;

enum { PLACES = 4096 };

struct rgmi_pool {
    const rgmi_driver *driver;
    void *state;
    rgmi_device_facts facts;
    rgm_device_memory memory;
    void (*before)(void *payload);
    void *payload;
    block *free;
    block *used[PLACES]; /* by address */
};

rgm_status rgmi_pool_create(rgmi_pool **out, const rgmi_driver *driver, void *state,
                            const rgmi_device_facts *facts)
{
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->driver = driver;
    (*out)->state = state;
    (*out)->facts = *facts;
    (*out)->memory.limit = facts->memory;
    (*out)->memory.cache = facts->cache;
    return RGM_OK;
}

static void unlink_free(rgmi_pool *pool, block *b)
{
    if (b->previous_free != NULL)
        b->previous_free->next_free = b->next_free;
    else
        pool->free = b->next_free;
    if (b->next_free != NULL)
        b->next_free->previous_free = b->previous_free;
}

static void link_free(rgmi_pool *pool, block *b)
{
    b->previous_free = NULL;
    b->next_free = pool->free;
    if (pool->free != NULL)
        pool->free->previous_free = b;
    pool->free = b;
}

static block **place_of(rgmi_pool *pool, const void *at)
{
    return &pool->used[((uintptr_t)at / ALIGNMENT * 0x9E3779B97F4A7C15u >> 32) % PLACES];
}

static bool is_whole_segment(const block *b)
{
    return b->before == NULL && b->behind == NULL;
}

static void give_segment(rgmi_pool *pool, block *b)
{
    unlink_free(pool, b);
    if (pool->before != NULL)
        pool->before(pool->payload);
    pool->driver->give(pool->state, b->at, b->size);
    pool->memory.held -= b->size;
    free(b);
}

void rgmi_pool_trim(rgmi_pool *pool)
{
    for (block *b = pool->free, *next; b != NULL; b = next) {
        next = b->next_free;
        if (is_whole_segment(b))
            give_segment(pool, b);
    }
}

void rgmi_pool_release(rgmi_pool *pool)
{
    if (pool == NULL)
        return;
    for (int i = 0; i < PLACES; i++)
        while (pool->used[i] != NULL)
            rgmi_pool_give(pool, pool->used[i]->at);
    rgmi_pool_trim(pool);
    rgm_free(pool);
}

/* ---- taking -------------------------------------------------------------------------------- */

/* The smallest free block that has room; of equal ones that which was freed last. */
static block *find_free(const rgmi_pool *pool, size_t size, bool small)
{
    block *best = NULL;

    for (block *b = pool->free; b != NULL; b = b->next_free)
        if (b->small == small && b->size >= size && (best == NULL || b->size < best->size))
            best = b;
    return best;
}

/* What could still be had at once, after what is held and whole has gone back: out of a free block,
 * or from the driver. */
static size_t would_fit(const rgmi_pool *pool, size_t largest, size_t available)
{
    const rgm_device_memory *m = &pool->memory;
    size_t more = m->limit > m->held ? m->limit - m->held : 0;

    if (available > 0 && more > available)
        more = available;
    if (more > pool->facts.largest)
        more = pool->facts.largest;
    return more > largest ? more : largest;
}

static rgm_status out_of_memory(const rgmi_pool *pool, size_t bytes)
{
    const rgm_device_memory *m = &pool->memory;
    size_t largest = 0, available = pool->driver->available(pool->state);
    char left[60] = "";

    if (available > 0)
        snprintf(left, sizeof left, ", which has %.1f MiB left", (double)available / 1048576);
    for (const block *b = pool->free; b != NULL; b = b->next_free)
        largest = b->size > largest ? b->size : largest;
    return RGM_FAIL(RGM_ERR_NOMEM,
                    "out of memory on %s: %.1f MiB wanted; %.1f MiB are in use, %.1f MiB are held "
                    "and free (the largest piece %.1f MiB), of %.1f MiB%s; at most %.1f MiB would "
                    "fit",
                    pool->facts.name, (double)bytes / 1048576, (double)m->used / 1048576,
                    (double)(m->held - m->used) / 1048576, (double)largest / 1048576,
                    (double)m->limit / 1048576, left,
                    (double)would_fit(pool, largest, available) / 1048576);
}

/* A new segment as a free block. What is held and whole is given back when there is no room. */
static rgm_status add_segment(rgmi_pool *pool, size_t size, bool small)
{
    size_t least = small ? SMALL_SEGMENT : LARGE_SEGMENT, wanted = size < least ? least : size;
    const rgm_device_memory *m = &pool->memory;
    rgm_status status = RGM_ERR_NOMEM;
    block *b;

    if (size > pool->facts.largest)
        return RGM_FAIL(
            RGM_ERR_NOMEM,
            "out of memory on %s: %.1f MiB wanted; it allocates at most %.1f MiB at once",
            pool->facts.name, (double)size / 1048576, (double)pool->facts.largest / 1048576);
    b = calloc(1, sizeof *b);
    if (b == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes", sizeof *b);
    for (int tries = 0; tries < 3 && status == RGM_ERR_NOMEM; tries++) {
        if (tries == 1)
            rgmi_pool_trim(pool);
        if (tries == 2 || wanted > pool->facts.largest)
            wanted = size; /* not a byte more */
        if (m->held <= m->limit && wanted <= m->limit - m->held)
            status = pool->driver->take((void **)&b->at, pool->state, wanted);
    }
    if (status != RGM_OK) {
        free(b);
        return status == RGM_ERR_NOMEM ? out_of_memory(pool, size) : status;
    }
    b->size = wanted;
    b->small = small;
    pool->memory.held += wanted;
    link_free(pool, b);
    return RGM_OK;
}

/* What is behind the first `size` bytes of a block becomes a free one of its own. */
static void split(rgmi_pool *pool, block *b, size_t size)
{
    block *rest;

    if (b->size - size < (b->small ? ALIGNMENT : SMALL))
        return;
    rest = calloc(1, sizeof *rest);
    if (rest == NULL)
        return; /* then it stays whole */
    *rest = (block){.before = b,
                    .behind = b->behind,
                    .at = b->at + size,
                    .size = b->size - size,
                    .small = b->small};
    if (b->behind != NULL)
        b->behind->before = rest;
    b->behind = rest;
    b->size = size;
    link_free(pool, rest);
}

rgm_status rgmi_pool_take(void **out, rgmi_pool *pool, size_t bytes)
{
    size_t size;
    bool small;
    void *ticket;
    block *b;

    if (bytes > SIZE_MAX / 2)
        return out_of_memory(pool, bytes);
    size = (bytes + (bytes == 0) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    small = size <= SMALL;
    ticket = rgm_malloc(1);
    if (ticket == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: the record of a block");
    b = find_free(pool, size, small);
    if (b == NULL) {
        rgm_status status = add_segment(pool, size, small);
        if (status != RGM_OK) {
            rgm_free(ticket);
            return status;
        }
        b = pool->free;
    }
    unlink_free(pool, b);
    split(pool, b, size);
    b->ticket = ticket;
    b->next_used = *place_of(pool, b->at);
    *place_of(pool, b->at) = b;
    pool->memory.used += b->size;
    if (pool->memory.used > pool->memory.peak)
        pool->memory.peak = pool->memory.used;
    *out = b->at;
    return RGM_OK;
}

/* ---- giving back --------------------------------------------------------------------------- */

/* `b` swallows the block behind it. */
static void join(block *b)
{
    block *behind = b->behind;

    b->size += behind->size;
    b->behind = behind->behind;
    if (b->behind != NULL)
        b->behind->before = b;
    free(behind);
}

size_t rgmi_pool_give(rgmi_pool *pool, const void *memory)
{
    block **link = place_of(pool, memory), *b;
    size_t bytes;

    while (*link != NULL && (*link)->at != memory)
        link = &(*link)->next_used;
    b = *link;
    if (b == NULL)
        return 0;
    bytes = b->size;
    *link = b->next_used;
    rgm_free(b->ticket);
    b->ticket = NULL;
    pool->memory.used -= bytes;
    if (b->behind != NULL && b->behind->ticket == NULL) {
        unlink_free(pool, b->behind);
        join(b);
    }
    if (b->before != NULL && b->before->ticket == NULL) {
        b = b->before;
        unlink_free(pool, b);
        join(b);
    }
    link_free(pool, b);
    return bytes;
}

/* ---- what there is ------------------------------------------------------------------------- */

void rgmi_pool_limit(rgmi_pool *pool, size_t bytes)
{
    pool->memory.limit = bytes > 0 ? bytes : pool->facts.memory;
    if (pool->memory.held > pool->memory.limit)
        rgmi_pool_trim(pool);
}

rgm_device_memory rgmi_pool_memory(const rgmi_pool *pool)
{
    return pool->memory;
}

void rgmi_pool_before_give(rgmi_pool *pool, void (*before)(void *payload), void *payload)
{
    pool->before = before;
    pool->payload = payload;
}
