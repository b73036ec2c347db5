/*
 * Which processors make a slot.
 */
#include "cpus.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CPUS  65536
#define MAX_SLOTS 1000000

void rgmi_slots_clear(rgmi_slots *slots)
{
    rgm_free(slots->cpus);
    rgm_free(slots->slots);
    *slots = (rgmi_slots){0};
}

/* ---- what the system tells ---- */

/* The first number of a small file ("0,64", "0-1", "3"); *out stays where there is none. Errors:
 * RGM_ERR_NOMEM. */
static rgm_status read_number(int *out, const char *folder, int cpu, const char *name)
{
    char *path = NULL, *data = NULL, *end;
    int64_t size;
    long value;
    rgm_status status;

    RGM_TRY(rgm_strprintf(&path, "%s/cpu%d/topology/%s", folder, cpu, name));
    status = rgm_file_load(&data, &size, path, 4096);
    rgm_free(path);
    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK) {
        rgm_error_reset();
        return RGM_OK;
    }
    errno = 0;
    value = strtol(data, &end, 10);
    if (end != data && errno == 0 && value >= 0 && value <= MAX_CPUS)
        *out = (int)value;
    rgm_free(data);
    return RGM_OK;
}

/* The processors of the affinity mask; a mask of the kernel may be larger than CPU_SETSIZE. */
static rgm_status find_allowed(cpu_set_t **out, size_t *most)
{
    for (size_t n = CPU_SETSIZE; n <= MAX_CPUS; n *= 2) {
        cpu_set_t *set = rgm_calloc(1, CPU_ALLOC_SIZE(n));

        if (set == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a set of %zu processors", n);
        if (sched_getaffinity(0, CPU_ALLOC_SIZE(n), set) == 0) {
            *out = set;
            *most = n;
            return RGM_OK;
        }
        rgm_free(set);
        if (errno != EINVAL)
            break;
    }
    return RGM_FAIL_SYSTEM("ask for", "the processors of this process");
}

rgm_status rgmi_cpus_find(rgmi_cpu **cpus, int64_t *count, const char *folder)
{
    rgm_status status = RGM_OK;
    cpu_set_t *set = NULL;
    size_t most = 0;

    *cpus = NULL;
    *count = 0;
    RGM_GO(find_allowed(&set, &most));
    RGM_GO(RGM_NEW(*cpus, CPU_COUNT_S(CPU_ALLOC_SIZE(most), set)));
    for (int cpu = 0; cpu < (int)most; cpu++) {
        rgmi_cpu *next = &(*cpus)[*count];

        if (!CPU_ISSET_S((size_t)cpu, CPU_ALLOC_SIZE(most), set))
            continue;
        *next = (rgmi_cpu){.cpu = cpu, .core = cpu};
        /* The first of a core's processors names it: numbers of cores repeat in other packages. */
        RGM_GO(read_number(&next->core, folder, cpu, "thread_siblings_list"));
        RGM_GO(read_number(&next->core, folder, cpu, "core_cpus_list"));
        RGM_GO(read_number(&next->package, folder, cpu, "physical_package_id"));
        ++*count;
    }
done:
    rgm_free(set);
    if (status != RGM_OK) {
        rgm_free(*cpus);
        *cpus = NULL;
    }
    return status;
}

/* ---- division ---- */

static int compare_cpus(const void *left, const void *right)
{
    const rgmi_cpu *a = left, *b = right;

    if (a->package != b->package)
        return a->package < b->package ? -1 : 1;
    if (a->core != b->core)
        return a->core < b->core ? -1 : 1;
    return a->cpu < b->cpu ? -1 : a->cpu > b->cpu;
}

/* Where the core, or package, that holds processor i ends. */
static int64_t end_of(const rgmi_slots *slots, int64_t i, bool package)
{
    int64_t end = i + 1;

    while (end < slots->num_cpus && slots->cpus[end].package == slots->cpus[i].package &&
           (package || slots->cpus[end].core == slots->cpus[i].core))
        end++;
    return end;
}

static int64_t count_cores(const rgmi_slots *slots, int64_t from, int64_t end)
{
    int64_t cores = 0;

    for (; from < end; from = end_of(slots, from, false))
        cores++;
    return cores;
}

/* So many threads from processor `from` on: each its core (`whole`), or its processor. */
static int64_t end_of_slot(const rgmi_slots *slots, int64_t from, int64_t threads, bool whole)
{
    if (!whole)
        return from + threads;
    while (threads-- > 0)
        from = end_of(slots, from, false);
    return from;
}

/* Room for threads from `from` to `end`. */
static int64_t room(const rgmi_slots *slots, int64_t from, int64_t end, bool whole)
{
    return whole ? count_cores(slots, from, end) : end - from;
}

/* A slot that would lie across two packages begins in the next one, if those behind still fit. */
static void divide(rgmi_slots *slots, bool whole)
{
    int64_t at = 0;

    for (int64_t s = 0; s < slots->num_slots; s++) {
        int64_t package = end_of(slots, at, true), fits, needed;

        fits = room(slots, at, package, whole);
        needed = (slots->num_slots - s) * slots->threads;
        if (fits < slots->threads && room(slots, package, slots->num_cpus, whole) >= needed)
            at = package;
        slots->slots[s].first = at;
        at = end_of_slot(slots, at, slots->threads, whole);
        slots->slots[s].count = at - slots->slots[s].first;
    }
}

static rgm_status choose_numbers(rgmi_slots *slots, int64_t count, int64_t threads)
{
    int64_t n = slots->num_cpus;

    if (count < 0 || threads < 0 || count > MAX_SLOTS || threads > MAX_SLOTS || n < 1)
        return RGM_FAIL(RGM_ERR_ARG, "%lld slots of %lld threads on %lld processors",
                        (long long)count, (long long)threads, (long long)n);
    if (count == 0)
        count = threads == 0 ? n : threads > n ? 1 : n / threads;
    if (threads == 0)
        threads = count > n ? 1 : n / count;
    slots->num_slots = count;
    slots->threads = threads;
    slots->is_overdrawn = count * threads > n;
    return RGM_OK;
}

rgm_status rgmi_slots_divide(rgmi_slots *out, const rgmi_cpu *cpus, int64_t count, int64_t slots,
                             int64_t threads)
{
    rgm_status status = RGM_OK;

    *out = (rgmi_slots){.num_cpus = count};
    RGM_GO(choose_numbers(out, slots, threads));
    RGM_GO(RGM_NEW(out->cpus, count));
    RGM_GO(RGM_NEW(out->slots, out->num_slots));
    memcpy(out->cpus, cpus, (size_t)count * sizeof *cpus);
    qsort(out->cpus, (size_t)count, sizeof *out->cpus, compare_cpus);
    if (out->is_overdrawn)
        for (int64_t s = 0; s < out->num_slots; s++)
            out->slots[s] = (rgmi_cpu_slot){.count = count};
    else
        divide(out, count_cores(out, 0, count) >= out->num_slots * out->threads);
done:
    if (status != RGM_OK)
        rgmi_slots_clear(out);
    return status;
}

rgm_status rgmi_slots_bind(const rgmi_slots *slots, const int64_t *which, int64_t count, pid_t pid)
{
    cpu_set_t *set = rgm_calloc(1, CPU_ALLOC_SIZE(MAX_CPUS + 1));
    rgm_status status = RGM_OK;

    if (set == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a set of processors");
    for (int64_t i = 0; i < count; i++) {
        const rgmi_cpu_slot *slot = &slots->slots[which[i]];

        for (int64_t k = 0; k < slot->count; k++)
            CPU_SET_S((size_t)slots->cpus[slot->first + k].cpu, CPU_ALLOC_SIZE(MAX_CPUS + 1), set);
    }
    if (sched_setaffinity(pid, CPU_ALLOC_SIZE(MAX_CPUS + 1), set) != 0)
        status = errno == ESRCH ? RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no process %d", (int)pid)
                                : RGM_FAIL_SYSTEM("choose", "the processors of a process");
    rgm_free(set);
    return status;
}
