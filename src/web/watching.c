/*
 * What is looked at: folders with their runs, and the masters in them by number.
 */
#include "masters.h"
#include "index.h"
#include "web_internal.h"

#include <time.h>

#define WALK_SECONDS 2.0 /* that a request waits for the first look at the folders */

void rgmi_web_refresh(rgm_web *web)
{
    if (rgmi_runs_refresh(web->runs) != RGM_OK)
        rgm_error_reset(); /* no memory, or a folder that has gone: it is looked at again */
    rgmi_web_find_masters(web, 0);
}

int64_t rgmi_web_version(rgm_web *web, const char *hex)
{
    return rgmi_runs_version(web->runs, hex);
}

static bool set_masters(rgm_web *web, int64_t id)
{
    const char *const *folders;
    int64_t count = rgmi_runs_masters(web->runs, &folders);

    for (int64_t i = 0; i < count; i++)
        (void)rgmi_masters_set(web->masters, i + 1, folders[i]);
    if (web->master != NULL)
        (void)rgmi_masters_set(web->masters, RGMI_MASTER_OF_URL, web->master);
    return id > 0 && rgmi_masters_has(web->masters, id);
}

void rgmi_web_find_masters(rgm_web *web, int64_t id)
{
    const struct timespec pause = {.tv_nsec = 5000000};
    double until = rgm_now() + WALK_SECONDS;
    int64_t found, read;
    bool walked = false;

    while (!walked && rgm_now() < until) {
        rgmi_runs_counts(&found, &read, &walked, web->runs);
        if (set_masters(web, id))
            return;
        if (!walked)
            nanosleep(&pause, NULL);
    }
}
