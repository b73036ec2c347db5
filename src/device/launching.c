/*
 * What each thread that launches has of a device: the flag that its kernels watch, and the first
 * error that it was not told. Two threads may so run executors of one device: an index outside in
 * the one, or a kernel that could not be queued, is no matter of the other.
 */
#include "device_internal.h"

#include <stdatomic.h>

enum { KEPT = 64 /* entries that say nothing, of threads that may have ended */ };

struct rgmi_device_thread {
    rgmi_device_thread *next;
    uint64_t thread;
    const void *flag; /* NULL: its kernels always run */
    rgm_error fault;  /* status RGM_OK: none          */
    bool told_others; /* a thread that has never launched anything was told of it */
};

/* A number that no other thread has, not one that has ended either. */
static uint64_t this_thread(void)
{
    static _Thread_local uint64_t number;
    static atomic_ullong last;

    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

static rgmi_device_thread *find(const rgmi_device_threads *all)
{
    uint64_t thread = this_thread();
    rgmi_device_thread *l = all->first;

    while (l != NULL && l->thread != thread)
        l = l->next;
    return l;
}

/* One that says nothing, for another thread: where there are many. */
static rgmi_device_thread *take_over(const rgmi_device_threads *all)
{
    rgmi_device_thread *l = all->count >= KEPT ? all->first : NULL;

    while (l != NULL && (l->flag != NULL || l->fault.status != RGM_OK))
        l = l->next;
    return l;
}

/* Without memory for one of its own a thread has that of all such threads: no error and no flag is
 * lost. */
static rgmi_device_thread *make(rgmi_device_threads *all)
{
    rgmi_device_thread *l = find(all);

    if (l == NULL)
        l = take_over(all);
    if (l == NULL) {
        l = rgm_calloc(1, sizeof *l);
        if (l == NULL)
            return all->common;
        l->next = all->first;
        all->first = l;
        all->count++;
    }
    l->thread = this_thread();
    return l;
}

rgm_status rgmi_device_threads_create(rgmi_device_threads *all)
{
    return RGM_NEW(all->common, 1);
}

void rgmi_device_threads_clear(rgmi_device_threads *all)
{
    for (rgmi_device_thread *l = all->first, *next; l != NULL; l = next) {
        next = l->next;
        rgm_free(l);
    }
    rgm_free(all->common);
    *all = (rgmi_device_threads){0};
}

void rgmi_device_threads_watch(rgmi_device_threads *all, const void *flag)
{
    make(all)->flag = flag;
}

const void *rgmi_device_threads_flag(rgmi_device_threads *all)
{
    return make(all)->flag;
}

static void forget_in(rgmi_device_thread *l, const void *memory, size_t bytes)
{
    if ((uintptr_t)l->flag - (uintptr_t)memory < bytes)
        l->flag = NULL;
}

void rgmi_device_threads_forget(rgmi_device_threads *all, const void *memory, size_t bytes)
{
    for (rgmi_device_thread *l = all->first; l != NULL; l = l->next)
        forget_in(l, memory, bytes);
    forget_in(all->common, memory, bytes);
}

static void keep(rgmi_device_thread *l, rgm_status status)
{
    if (l->fault.status != RGM_OK)
        return;
    rgm_error_save(&l->fault, status);
    l->told_others = false;
}

void rgmi_device_threads_fault(rgmi_device_threads *all, rgm_status status)
{
    keep(make(all), status);
}

void rgmi_device_threads_fault_all(rgmi_device_threads *all, rgm_status status)
{
    for (rgmi_device_thread *l = all->first; l != NULL; l = l->next)
        keep(l, status);
    keep(all->common, status);
}

bool rgmi_device_threads_have_fault(const rgmi_device_threads *all)
{
    const rgmi_device_thread *l = find(all);

    return (l != NULL ? l : all->common)->fault.status != RGM_OK;
}

static rgm_status tell(rgmi_device_thread *l)
{
    rgm_status status = l->fault.status != RGM_OK ? rgm_error_restore(&l->fault) : RGM_OK;

    l->fault.status = RGM_OK;
    return status;
}

rgm_status rgmi_device_threads_tell(rgmi_device_threads *all)
{
    rgmi_device_thread *own = find(all);

    if (own != NULL)
        return tell(own);
    for (rgmi_device_thread *l = all->first; l != NULL; l = l->next)
        if (l->fault.status != RGM_OK && !l->told_others) {
            l->told_others = true;
            return rgm_error_restore(&l->fault);
        }
    return tell(all->common);
}
