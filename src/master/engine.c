/*
 * States of jobs, by name.
 */
#include "engine.h"

static const char *const names[] = {
    [RGMI_JOB_PENDING] = "PENDING",     [RGMI_JOB_RUNNING] = "RUNNING",
    [RGMI_JOB_COMPLETED] = "COMPLETED", [RGMI_JOB_FAILED] = "FAILED",
    [RGMI_JOB_TIMEOUT] = "TIMEOUT",     [RGMI_JOB_PREEMPTED] = "PREEMPTED",
    [RGMI_JOB_NODE_FAIL] = "NODE_FAIL", [RGMI_JOB_OUT_OF_MEMORY] = "OUT_OF_MEMORY",
    [RGMI_JOB_CANCELLED] = "CANCELLED", [RGMI_JOB_GONE] = "GONE",
    [RGMI_JOB_UNKNOWN] = "UNKNOWN",
};

const char *rgmi_job_state_name(rgmi_job_state state)
{
    return (unsigned)state < sizeof names / sizeof *names ? names[state] : NULL;
}

bool rgmi_job_is_over(rgmi_job_state state)
{
    return state != RGMI_JOB_PENDING && state != RGMI_JOB_RUNNING && state != RGMI_JOB_UNKNOWN;
}
