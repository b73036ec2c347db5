/*
 * The device that the process drives beside the CPU: whoever opens it again shares it.
 */
#include "device_internal.h"

#include <pthread.h>

static struct {
    pthread_mutex_t lock;
    rgm_device *device; /* NULL: none is open */
    const rgmi_driver *driver;
    int number, users;
} open_one = {.lock = PTHREAD_MUTEX_INITIALIZER};

rgm_status rgmi_device_shared(rgm_device **out, const rgmi_driver *driver, int number,
                              rgmi_device_make *make)
{
    rgm_status status = RGM_OK;

    pthread_mutex_lock(&open_one.lock);
    if (open_one.device == NULL) {
        status = make(&open_one.device, driver, number);
        open_one.driver = driver;
        open_one.number = number;
        open_one.users = 0;
    } else if (open_one.driver != driver || open_one.number != number) {
        status = RGM_ERR_BUSY;
    }
    if (status == RGM_OK)
        open_one.users++;
    *out = open_one.device;
    pthread_mutex_unlock(&open_one.lock);
    return status;
}

bool rgmi_device_is_kept(const rgm_device *device)
{
    bool kept = false;

    pthread_mutex_lock(&open_one.lock);
    if (device == open_one.device) {
        kept = --open_one.users > 0;
        if (!kept)
            open_one.device = NULL;
    }
    pthread_mutex_unlock(&open_one.lock);
    return kept;
}
