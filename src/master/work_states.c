/*
 * States of experiments and trials, and which follows which: PEDL's, and STOPPING_KILLED.
 */
#include "master_internal.h"

#include <string.h>

#define NAME(state) [RGM_WORK_##state] = RGMI_NAME_##state
const char *const rgm_work_state_names[] = {
    NAME(ACTIVE),
    NAME(PAUSED),
    NAME(STOPPING_COMPLETED),
    NAME(STOPPING_CANCELED),
    NAME(STOPPING_KILLED),
    NAME(STOPPING_ERROR),
    NAME(COMPLETED),
    NAME(CANCELED),
    NAME(ERROR),
    NAME(DELETED),
    NULL,
};

bool rgm_work_state_find(rgm_work_state *out, const char *name)
{
    for (int i = 0; name != NULL && rgm_work_state_names[i] != NULL; i++)
        if (strcmp(rgm_work_state_names[i], name) == 0) {
            *out = (rgm_work_state)i;
            return true;
        }
    return false;
}

bool rgm_work_is_over(rgm_work_state state)
{
    return state >= RGM_WORK_COMPLETED;
}

enum {
    ACTIVE = 1 << RGM_WORK_ACTIVE,
    PAUSED = 1 << RGM_WORK_PAUSED,
    STOPPING = 1 << RGM_WORK_STOPPING_COMPLETED | 1 << RGM_WORK_STOPPING_CANCELED |
               1 << RGM_WORK_STOPPING_KILLED | 1 << RGM_WORK_STOPPING_ERROR
};

static const int following[RGM_WORK_DELETED + 1] = {
    [RGM_WORK_ACTIVE] = PAUSED | STOPPING,
    [RGM_WORK_PAUSED] = ACTIVE | STOPPING,
    [RGM_WORK_STOPPING_COMPLETED] =
        1 << RGM_WORK_COMPLETED | 1 << RGM_WORK_STOPPING_ERROR | 1 << RGM_WORK_STOPPING_KILLED,
    [RGM_WORK_STOPPING_CANCELED] =
        1 << RGM_WORK_CANCELED | 1 << RGM_WORK_STOPPING_ERROR | 1 << RGM_WORK_STOPPING_KILLED,
    [RGM_WORK_STOPPING_KILLED] = 1 << RGM_WORK_CANCELED | 1 << RGM_WORK_STOPPING_ERROR,
    [RGM_WORK_STOPPING_ERROR] = 1 << RGM_WORK_ERROR | 1 << RGM_WORK_STOPPING_KILLED,
};

bool rgmi_state_follows(rgm_work_state from, rgm_work_state to)
{
    return (following[from] >> to & 1) != 0;
}

rgm_status rgmi_state_read(rgm_work_state *out, const char *name)
{
    if (rgm_work_state_find(out, name))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_DATA, "the database has a state '%s'", name != NULL ? name : "");
}
