/*
 * When a run reached which step: seconds of training, for curves over time.
 */
#ifndef RGM_WEB_CURVE_CLOCK_H
#define RGM_WEB_CURVE_CLOCK_H

#include <regimen/base.h>

/** Steps, ascending, with the seconds of training at which they were reached; `{0}`: none yet. */
typedef struct rgmi_clock {
    int64_t *steps;
    double *seconds;
    int64_t count, step_capacity, second_capacity;
    int64_t offset; /* bytes of system.jsonl that were looked at */
    uint64_t device, inode;
} rgmi_clock;

/**
 * What system.jsonl of a run folder has more than was looked at; all of it, if it is another file.
 * At most 1 MiB or 2,000 lines of it are read, whatever its size. A file that cannot be read tells
 * no times. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_clock_read(rgmi_clock *clock, const char *folder);
/** Seconds at a step: on the line between two that are known. Of a clock that has any. */
double rgmi_clock_at(const rgmi_clock *clock, int64_t step);
void rgmi_clock_clear(rgmi_clock *clock);

#endif
