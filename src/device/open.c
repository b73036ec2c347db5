/*
 * Which devices there are, and opening one by its name.
 */
#include "device_internal.h"

#include <stdlib.h>
#include <string.h>

rgm_status rgm_device_open(rgm_device **out, const char *name)
{
    static const rgmi_driver *const drivers[] = {&rgmi_opencl};
    const char *colon = strchr(name, ':');
    size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    char *end = NULL;
    long number = colon != NULL ? strtol(colon + 1, &end, 10) : 0;
    int count;

    *out = NULL;
    if (strcmp(name, "cpu") == 0) {
        *out = rgm_device_cpu();
        return RGM_OK;
    }
    for (size_t d = 0; d < sizeof drivers / sizeof *drivers; d++) {
        if (strlen(drivers[d]->name) != length || strncmp(name, drivers[d]->name, length) != 0)
            continue;
        RGM_TRY(drivers[d]->count(&count));
        if (colon != NULL && (*end != 0 || end == colon + 1 || number < 0 || number >= count))
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "device '%s': %s has %d devices, numbers from 0",
                            name, drivers[d]->name, count);
        return rgmi_accelerator_open(out, drivers[d], (int)number);
    }
    return RGM_FAIL(RGM_ERR_ARG, "device '%s' is none of cpu, opencl:NUMBER", name);
}
