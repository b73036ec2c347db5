/*
 * Scratch memory of kernels: a free list that every thread of a kernel may take from, so that a
 * training step allocates nothing.
 */
#include "kernels_internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE    ((size_t)1 << 21)
#define SCRATCH_HUGE ((size_t)1 << 19) /* scratch from here on is in huge pages */

/* The header of a buffer fills a cache line, so that the memory behind it stays aligned. */
typedef struct scratch {
    _Alignas(64) struct scratch *next;
    size_t size;
} scratch;

static pthread_mutex_t scratch_lock = PTHREAD_MUTEX_INITIALIZER;
static scratch *scratch_list;
static atomic_bool scratch_failing;
static pthread_once_t scratch_once = PTHREAD_ONCE_INIT;

/* In the child of a fork: whoever held the lock is not there. */
static void scratch_unlock(void)
{
    pthread_mutex_init(&scratch_lock, NULL);
}

static void scratch_prepare(void)
{
    (void)pthread_atfork(NULL, NULL, scratch_unlock);
}

/* Packed matrices are read by every thread again and again, a row or panel to a page: large ones
 * take huge pages, of which the TLB holds them all. */
static scratch *scratch_allocate(size_t size)
{
    size_t page = size < SCRATCH_HUGE ? 4096 : HUGE_PAGE,
           whole = (sizeof(scratch) + size + page - 1) / page * page;
    scratch *made = aligned_alloc(size < SCRATCH_HUGE ? 64 : page, whole);

    if (made == NULL)
        return NULL;
    made->size = whole - sizeof *made;
#ifdef MADV_HUGEPAGE
    if (page == HUGE_PAGE)
        (void)madvise(made, whole, MADV_HUGEPAGE); /* a wish only */
#endif
    return made;
}

void *rgmi_scratch_take(size_t size)
{
    scratch *found = NULL, **link;

    if (atomic_load(&scratch_failing) || size > SIZE_MAX / 2)
        return NULL;
    pthread_once(&scratch_once, scratch_prepare);
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
        found = scratch_allocate(size);
        if (found == NULL)
            return NULL;
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
