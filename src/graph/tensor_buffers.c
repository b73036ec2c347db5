/*
 * Memory of large sampled tensors, kept for the next ones. A buffer has a header in front that
 * fills a cache line, so that what follows stays aligned, and comes back when the last reference to
 * its tensor goes, from whatever thread that is.
 */
#include "graph_internal.h"

/* Smaller tensors come from the heap without a page fault each. */
#define SMALLEST  65536
#define MOST_IDLE 16

typedef struct buffer {
    _Alignas(64) struct buffer *next;
    rgm_buffers *owner;
    size_t size;
} buffer;

struct rgm_buffers {
    atomic_int_fast64_t references; /* the sampler and every buffer in use */
    pthread_mutex_t lock;
    buffer *idle;
    int64_t idle_count;
    bool closed;
};

rgm_status rgm_buffers_create(rgm_buffers **out)
{
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->references = 1;
    pthread_mutex_init(&(*out)->lock, NULL);
    return RGM_OK;
}

static void forget(rgm_buffers *buffers)
{
    if (atomic_fetch_sub_explicit(&buffers->references, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&buffers->lock);
    rgm_free(buffers);
}

void rgm_buffers_close(rgm_buffers *buffers)
{
    buffer *idle;

    if (buffers == NULL)
        return;
    pthread_mutex_lock(&buffers->lock);
    buffers->closed = true;
    idle = buffers->idle;
    buffers->idle = NULL;
    pthread_mutex_unlock(&buffers->lock);
    while (idle) {
        buffer *next = idle->next;
        rgm_free(idle);
        idle = next;
    }
    forget(buffers);
}

static void give_back(void *payload)
{
    buffer *back = payload;
    rgm_buffers *owner = back->owner;

    pthread_mutex_lock(&owner->lock);
    if (!owner->closed && owner->idle_count < MOST_IDLE) {
        back->next = owner->idle;
        owner->idle = back;
        owner->idle_count++;
        back = NULL;
    }
    pthread_mutex_unlock(&owner->lock);
    rgm_free(back);
    forget(owner);
}

/* An idle buffer that is large enough but not much too large, or a new one with some room to spare.
 */
static buffer *take(rgm_buffers *buffers, size_t bytes)
{
    buffer *found = NULL;

    pthread_mutex_lock(&buffers->lock);
    for (buffer **link = &buffers->idle; *link && !found; link = &(*link)->next) {
        if ((*link)->size < bytes || (*link)->size / 2 > bytes)
            continue;
        found = *link;
        *link = found->next;
        buffers->idle_count--;
        break;
    }
    pthread_mutex_unlock(&buffers->lock);
    if (found == NULL) {
        size_t size = bytes + bytes / 8;
        if (size < bytes || (found = rgm_malloc(sizeof *found + size)) == NULL)
            return NULL;
        found->owner = buffers;
        found->size = size;
    }
    atomic_fetch_add_explicit(&buffers->references, 1, memory_order_relaxed);
    return found;
}

rgm_status rgm_buffers_tensor(rgm_tensor **out, rgm_buffers *buffers, rgm_dtype dtype, int rank,
                              const int64_t *shape)
{
    size_t bytes = rgm_dtype_size(dtype);
    void (*release)(void *payload) = rgm_free;
    void *memory, *payload;
    rgm_status status;

    *out = NULL;
    for (int i = 0; i < rank; i++)
        bytes *= (size_t)shape[i];
    if (bytes < SMALLEST) {
        memory = payload = rgm_malloc(bytes);
    } else {
        buffer *taken = take(buffers, bytes);
        payload = taken;
        memory = taken ? taken + 1 : NULL;
        release = give_back;
    }
    if (memory == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes of a sampled tensor", bytes);
    status = rgm_tensor_wrap(out, dtype, rank, shape, memory, release, payload);
    if (status != RGM_OK)
        release(payload);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
