/*
 * How kernels use threads: one OpenMP pool, one loop that hands out ranges of items, and a free list
 * of scratch memory. What an item is (a row, a tile, a block of a sum) is fixed by the kernel from
 * the shape, so who computes it changes nothing.
 */
#include "kernels_internal.h"

#include <omp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Below this much work, waking a thread costs more than it saves. */
#define SERIAL_NS 12000.0
/* Above this much, hand out small ranges as threads become free; below, one range each, so that a
 * thread finds in its cache what it wrote in the kernel before. */
#define DYNAMIC_NS 400000.0

static atomic_int thread_count;

void rgm_threads_set(int threads)
{
    atomic_store(&thread_count, threads < 1 ? 1 : threads);
}

int rgm_threads(void)
{
    int threads = atomic_load(&thread_count);

    return threads > 0 ? threads : omp_get_max_threads();
}

void rgmi_parallel(int64_t items, double item_ns, rgmi_range *work, void *payload)
{
    double total = (double)items * item_ns;
    int threads = rgm_threads();

    if (items <= 0)
        return;
    if (threads == 1 || items == 1 || total < SERIAL_NS || omp_in_parallel()) {
        work(payload, 0, items);
        return;
    }
    /* Always the whole team: libgomp ends and starts threads when its size changes. */
    if (total < DYNAMIC_NS) {
#pragma omp parallel num_threads(threads)
        {
            int64_t self = omp_get_thread_num(), team = omp_get_num_threads();
            int64_t begin = items * self / team, end = items * (self + 1) / team;
            if (begin < end)
                work(payload, begin, end);
        }
    } else {
        int64_t chunk = rgmi_max(1, items / ((int64_t)threads * 24));
        atomic_llong next = 0;
#pragma omp parallel num_threads(threads)
        for (;;) {
            int64_t begin = atomic_fetch_add(&next, chunk);
            if (begin >= items)
                break;
            work(payload, begin, rgmi_min(items, begin + chunk));
        }
    }
}

/* ---- scratch ------------------------------------------------------------------------------- */

/* The header of a buffer fills a cache line, so that the memory behind it stays aligned. */
typedef struct scratch {
    _Alignas(64) struct scratch *next;
    size_t size;
} scratch;

static pthread_mutex_t scratch_lock = PTHREAD_MUTEX_INITIALIZER;
static scratch *scratch_list;
static atomic_bool scratch_failing;

void *rgmi_scratch_take(size_t size)
{
    scratch *found = NULL, **link;

    if (atomic_load(&scratch_failing) || size > SIZE_MAX / 2)
        return NULL;
    pthread_mutex_lock(&scratch_lock);
    for (link = &scratch_list; *link; link = &(*link)->next) {
        /* Not one more than four times too large: it may be wanted by its own kind. */
        if ((*link)->size >= size && (*link)->size / 4 <= size + 4096) {
            found = *link;
            *link = found->next;
            break;
        }
    }
    pthread_mutex_unlock(&scratch_lock);
    if (found == NULL) {
        size = (size + 4095) & ~(size_t)4095;
        found = aligned_alloc(64, sizeof *found + size);
        if (found == NULL)
            return NULL;
        found->size = size;
    }
    return found + 1;
}

void rgmi_scratch_give(void *memory)
{
    scratch *buffer;

    if (memory == NULL)
        return;
    buffer = (scratch *)memory - 1;
    pthread_mutex_lock(&scratch_lock);
    buffer->next = scratch_list;
    scratch_list = buffer;
    pthread_mutex_unlock(&scratch_lock);
}

void rgmi_scratch_clear(void)
{
    scratch *list;

    pthread_mutex_lock(&scratch_lock);
    list = scratch_list;
    scratch_list = NULL;
    pthread_mutex_unlock(&scratch_lock);
    while (list) {
        scratch *next = list->next;
        free(list);
        list = next;
    }
}

void rgmi_scratch_fail(bool on)
{
    atomic_store(&scratch_failing, on);
}
