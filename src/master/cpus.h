/*
 * Which processors make a slot: those that this process may run on, whole cores to one slot where
 * there are enough, and no slot across two packages where that can be helped.
 */
#ifndef RGM_MASTER_CPUS_H
#define RGM_MASTER_CPUS_H

#include <regimen/base.h>

#include <sys/types.h>

/** A processor as the system counts them; those of one core have the same `core`. */
typedef struct rgmi_cpu {
    int cpu, core, package;
} rgmi_cpu;

/** A run of processors of rgmi_slots. */
typedef struct rgmi_cpu_slot {
    int64_t first, count;
} rgmi_cpu_slot;

/** `{0}` is an empty one. */
typedef struct rgmi_slots {
    rgmi_cpu *cpus; /* by package, core and number */
    int64_t num_cpus;
    rgmi_cpu_slot *slots;
    int64_t num_slots;
    int64_t threads;   /* that a slot is told to use                                          */
    bool is_overdrawn; /* more threads than processors: every slot has all processors         */
} rgmi_slots;
void rgmi_slots_clear(rgmi_slots *slots);

/**
 * The processors that this process may run on.
 *
 * @param cpus    [out, owned] rgm_free() it
 * @param folder  [in] where the system tells of cores: "/sys/devices/system/cpu"; a processor of
 * which nothing is told there is a core of its own
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_cpus_find(rgmi_cpu **cpus, int64_t *count, const char *folder);

/**
 * Divide processors among slots.
 *
 * @param out      [out, owned] cleared with rgmi_slots_clear()
 * @param slots    [in] 0: processors / threads, at least 1
 * @param threads  [in] of a slot; 0: processors / slots, at least 1; both 0: slots of one thread
 *
 * Errors: RGM_ERR_ARG (below 0, no processor, absurdly many), RGM_ERR_NOMEM; *out is then empty.
 */
rgm_status rgmi_slots_divide(rgmi_slots *out, const rgmi_cpu *cpus, int64_t count, int64_t slots,
                             int64_t threads);

/**
 * Keep a process to the processors of its slots: its main thread, and those that this one starts
 * later.
 *
 * @param pid  [in] 0: the calling thread, whose children have the same
 *
 * Errors: RGM_ERR_NOT_FOUND (no such process), RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgmi_slots_bind(const rgmi_slots *slots, const int64_t *which, int64_t count, pid_t pid);

#endif
