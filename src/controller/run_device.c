/*
 * The device of a run. Ranks of one host take one each, unless a number says which one all of them
 * share.
 */
#include <stdio.h>
#include <string.h>

#include "run_internal.h"

/* How many ranks of this one's host come before it. */
static int place_on_host(const rgm_comm *comm)
{
    const rgm_comm_member *members = rgm_comm_members(comm);
    int rank = rgm_comm_rank(comm), place = 0;

    for (int k = 0; k < rank; k++)
        place += strcmp(members[k].host, members[rank].host) == 0;
    return place;
}

static rgm_status refuse(const rgm_run_options *o, int place)
{
    if (place == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "runtime.device: %s", rgm_error_message());
    return RGM_FAIL(
        RGM_ERR_CONFIG,
        "runtime.device: %s; each rank of a host takes a device of its own, and this is "
        "number %d there: start fewer ranks on it, or say which device they share "
        "(--set runtime.device=%s:0)",
        rgm_error_message(), place + 1, o->runtime.device);
}

rgm_status rgmi_run_open_device(rgm_open_run *run)
{
    const rgm_run_options *o = &run->options;
    const char *name = o->runtime.device;
    bool ranks = o->comm != NULL && rgm_comm_size(o->comm) > 1;
    int place = 0;
    char own[64];
    rgm_status status;

    if (name == NULL || o->trainer.device != NULL)
        return RGM_OK;
    if (ranks && strcmp(name, "cpu") != 0 && strchr(name, ':') == NULL && rgm_device_is_name(name))
        place = place_on_host(o->comm);
    if (place > 0) {
        snprintf(own, sizeof own, "%s:%d", name, place);
        name = own;
    }
    status = rgm_device_open(&run->device, name);
    if (status == RGM_ERR_ARG || (status == RGM_ERR_NOT_FOUND && place > 0))
        return refuse(o, place);
    if (status != RGM_OK)
        return rgm_error_prefix(status,
                                "runtime.device (--set runtime.device=cpu computes without)");
    run->options.trainer.device = run->device;
    return RGM_OK;
}
