/*
 * States of jobs, by name, and what engines keep of their options.
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

rgm_status rgmi_text_keep(const char **out, rgm_arena *arena, const char *text)
{
    *out = text == NULL ? NULL : rgm_arena_strdup(arena, text);
    return text == NULL || *out != NULL ? RGM_OK
                                        : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: '%s'", text);
}

rgm_status rgmi_texts_keep(rgm_texts *out, rgm_arena *arena, const rgm_texts *list)
{
    const char **items = rgm_arena_alloc(arena, (size_t)(list->count + 1) * sizeof *items);

    if (items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a scheduler's options");
    for (int64_t i = 0; i < list->count; i++)
        RGM_TRY(rgmi_text_keep(&items[i], arena, list->items[i]));
    *out = (rgm_texts){items, list->count};
    return RGM_OK;
}
