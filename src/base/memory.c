/*
 * Counted memory with a fault hook. Every block is aligned to 64 bytes (a cache line, and the
 * widest vector); blocks of 4 MiB and more are aligned to 2 MiB and may use huge pages, which
 * spares gathers over a large table most of their TLB misses. Sizes are what the allocator gave,
 * not what was asked for.
 */
#include "base_internal.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define ALIGNMENT 64
#define HUGE_FROM ((size_t)4 << 20)
#define HUGE_PAGE ((size_t)2 << 20)

static atomic_llong bytes_used, bytes_peak;

/* Fault hook: off unless `armed`, so a release build pays one relaxed load an allocation. */
static atomic_bool fault_armed, fault_persistent;
static atomic_llong fault_countdown, fault_count;

static bool fault_hits(void)
{
    long long left;

    if (!atomic_load_explicit(&fault_armed, memory_order_relaxed))
        return false;
    left = atomic_fetch_sub(&fault_countdown, 1);
    if (left > 0 || (left < 0 && !atomic_load(&fault_persistent)))
        return false;
    atomic_fetch_add(&fault_count, 1);
    return true;
}

static void count_bytes(long long bytes)
{
    long long now = atomic_fetch_add_explicit(&bytes_used, bytes, memory_order_relaxed) + bytes;
    long long peak = atomic_load_explicit(&bytes_peak, memory_order_relaxed);

    while (now > peak && !atomic_compare_exchange_weak_explicit(
                             &bytes_peak, &peak, now, memory_order_relaxed, memory_order_relaxed))
        continue;
}

void *rgm_malloc(size_t size)
{
    void *memory = NULL;
    bool huge = size >= HUGE_FROM;

    if (size > PTRDIFF_MAX || fault_hits())
        return NULL;
    if (posix_memalign(&memory, huge ? HUGE_PAGE : ALIGNMENT, size > 0 ? size : 1) != 0)
        return NULL;
#ifdef MADV_HUGEPAGE
    if (huge)
        (void)madvise(memory, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); /* a wish only */
#endif
    count_bytes((long long)malloc_usable_size(memory));
    return memory;
}

void *rgm_malloc_array(int64_t count, size_t size)
{
    size_t bytes;

    if (count < 0 || __builtin_mul_overflow((size_t)count, size, &bytes))
        return NULL;
    return rgm_malloc(bytes);
}

void *rgm_calloc(int64_t count, size_t size)
{
    void *memory = rgm_malloc_array(count, size);

    if (memory != NULL)
        memset(memory, 0, (size_t)count * size);
    return memory;
}

void *rgm_realloc(void *memory, size_t size)
{
    size_t have = memory != NULL ? malloc_usable_size(memory) : 0;
    void *larger;

    if (memory != NULL && size <= have && size >= have / 2)
        return memory;
    larger = rgm_malloc(size); /* realloc() would not keep the alignment */
    if (larger == NULL)
        return NULL;
    if (memory != NULL) {
        memcpy(larger, memory, have < size ? have : size);
        rgm_free(memory);
    }
    return larger;
}

void rgm_free(void *memory)
{
    if (memory == NULL)
        return;
    count_bytes(-(long long)malloc_usable_size(memory));
    free(memory);
}

rgm_status rgm_array_grow(void *array, int64_t *capacity, int64_t need, size_t element_size)
{
    int64_t larger = *capacity < 8 ? 8 : *capacity;
    size_t bytes;
    void *memory;

    while (larger < need && larger <= INT64_MAX / 2)
        larger *= 2;
    if (larger < need || __builtin_mul_overflow((size_t)larger, element_size, &bytes))
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld x %zu bytes", (long long)need,
                        element_size);
    memcpy(&memory, array, sizeof memory);
    memory = rgm_realloc(memory, bytes);
    if (memory == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes", bytes);
    memcpy(array, &memory, sizeof memory);
    *capacity = larger;
    return RGM_OK;
}

int64_t rgm_memory_used(void)
{
    return atomic_load(&bytes_used);
}

int64_t rgm_memory_peak(void)
{
    return atomic_load(&bytes_peak);
}

void rgm_memory_reset_peak(void)
{
    atomic_store(&bytes_peak, atomic_load(&bytes_used));
}

int64_t rgm_memory_resident(void)
{
    long long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");

    if (file == NULL)
        return 0;
    if (fscanf(file, "%*s %lld", &pages) != 1)
        pages = 0;
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

int64_t rgm_memory_resident_peak(void)
{
    struct rusage usage;

    return getrusage(RUSAGE_SELF, &usage) == 0 ? (int64_t)usage.ru_maxrss * 1024 : 0;
}

void rgm_memory_fail_at(int64_t n, bool persistent)
{
    atomic_store(&fault_armed, false);
    atomic_store(&fault_countdown, n);
    atomic_store(&fault_persistent, persistent);
    if (n >= 0) {
        atomic_store(&fault_count, 0);
        atomic_store(&fault_armed, true);
    }
}

int64_t rgm_memory_failures(void)
{
    return atomic_load(&fault_count);
}
