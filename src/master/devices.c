/*
 * Slots that are devices (resources.slot_type: gpu). They are looked for when the first search asks
 * for them, since that loads drivers; a master that was told which it has looks when it is opened.
 */
#include "master_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which there are ------------------------------------------------------------------------ */

static rgm_status add_name(rgm_master *master, const char *name, size_t size)
{
    char **last = &master->devices[master->device_count];

    RGM_TRY(rgm_strndup(last, name, size));
    master->device_count++;
    return RGM_OK;
}

void rgmi_devices_clear(rgm_master *master)
{
    for (int64_t i = 0; i < master->device_count; i++)
        rgm_free(master->devices[i]);
    rgm_free(master->devices);
    rgm_free(master->device_taken);
    master->devices = NULL;
    master->device_taken = NULL;
    master->device_count = 0;
}

rgm_status rgmi_devices_find(rgm_master *master)
{
    const rgm_search_subject *subject = master->options.subject;
    const char *list = master->options.devices != NULL ? master->options.devices : "gpu";
    rgm_text names = {0};
    rgm_status status = RGM_OK;
    int64_t most = 1;

    if (master->device_count > 0)
        return RGM_OK;
    if (subject == NULL || subject->devices == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "this master knows no devices for slots to be");
    RGM_GO(subject->devices(&names, list));
    for (const char *c = names.data; *c != 0; c++)
        most += *c == ',';
    RGM_GO(RGM_NEW(master->devices, most));
    RGM_GO(RGM_NEW(master->device_taken, most));
    for (const char *name = names.data; *name != 0; name += *name == ',') {
        RGM_GO(add_name(master, name, strcspn(name, ",")));
        name += strcspn(name, ",");
    }
done:
    rgm_text_clear(&names);
    if (status != RGM_OK)
        rgmi_devices_clear(master);
    return status;
}

/* ---- whether a search can have them --------------------------------------------------------- */

static bool is_interface(const char *device, const char *name)
{
    size_t size = strlen(name);

    return strncmp(device, name, size) == 0 && device[size] == ':';
}

/* runtime.device of the file is gpu, or says by which interface. */
static rgm_status check_interface(const rgm_master *master, const rgm_search_file *file)
{
    const rgm_yaml_node *runtime = rgm_search_file_section(file, "runtime");
    const rgm_yaml_node *node = rgm_yaml_find(runtime, "device");

    if (node == NULL || node->text == NULL || strcmp(node->text, "gpu") == 0)
        return RGM_OK;
    for (int64_t i = 0; i < master->device_count; i++)
        if (!is_interface(master->devices[i], node->text))
            return rgm_yaml_fail(node,
                                 "runtime.device is %s, and this master shares out %s: leave the "
                                 "key out, or tell the master which devices it has (--devices %s)",
                                 node->text, master->devices[i], node->text);
    return RGM_OK;
}

rgm_status rgmi_devices_check(rgm_master *master, const rgm_search_file *file)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);
    rgm_status status;

    if (o->resources.slot_type != RGM_SLOT_GPU || o->scheduler.type != RGM_SCHEDULER_LOCAL)
        return RGM_OK;
    status = rgmi_devices_find(master);
    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK)
        return RGM_FAIL(RGM_ERR_CONFIG, "resources.slot_type is gpu: %s", rgm_error_message());
    if (o->resources.slots_per_trial > master->device_count)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "resources.slots_per_trial is %lld with slot_type gpu, and this master has "
                        "%lld device%s (%s%s)",
                        (long long)o->resources.slots_per_trial, (long long)master->device_count,
                        master->device_count == 1 ? "" : "s", master->devices[0],
                        master->device_count > 1 ? ", ..." : "");
    return check_interface(master, file);
}

bool rgmi_slot_is_device(const char *slot_type)
{
    return strcmp(slot_type, rgm_slot_type_names[RGM_SLOT_GPU]) == 0;
}

/* ---- what a process has --------------------------------------------------------------------- */

rgm_status rgmi_devices_print(rgm_text *out, const rgm_master *master, const rgmi_process *p)
{
    for (int64_t i = 0; i < p->slot_count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%s", i > 0 ? "," : "", master->devices[p->slots[i]]));
    return RGM_OK;
}

/* Those that it had under an earlier master, as far as this one has them too. */
rgm_status rgmi_devices_take(rgm_master *master, rgmi_process *p, const char *names)
{
    if (*names != 0 && rgmi_devices_find(master) != RGM_OK) {
        rgm_log_write(RGM_LOG_WARNING, "trial %lld is at work on %s: %s", (long long)p->trial,
                      names, rgm_error_message());
        rgm_error_reset();
        return RGM_OK;
    }
    RGM_TRY(RGM_NEW(p->slots, master->device_count + 1));
    for (const char *name = names; *name != 0; name += *name == ',') {
        size_t size = strcspn(name, ",");

        for (int64_t i = 0; i < master->device_count; i++)
            if (strlen(master->devices[i]) == size &&
                strncmp(master->devices[i], name, size) == 0 && !master->device_taken[i]) {
                master->device_taken[i] = true;
                p->slots[p->slot_count++] = i;
            }
        name += size;
    }
    return RGM_OK;
}

/* ---- what it is told ------------------------------------------------------------------------ */

/* The number of a device of CUDA; -1: it is another's. */
static long number_of_cuda(const char *device)
{
    return is_interface(device, "cuda") ? strtol(device + strlen("cuda:"), NULL, 10) : -1;
}

/* The part of a list with commas that has a number; NULL: there are not so many. */
static const char *part_of(const char *list, long number, size_t *size)
{
    for (; number > 0; number--) {
        list += strcspn(list, ",");
        if (*list == 0)
            return NULL;
        list++;
    }
    *size = strcspn(list, ",");
    return list;
}

/* CUDA shows a process what this variable says, numbered anew. Where the master has one itself, its
 * numbers are places in that. */
rgm_status rgmi_devices_variable(char **out, const rgm_master *master, const rgmi_process *p)
{
    const char *own = getenv("CUDA_VISIBLE_DEVICES");
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    *out = NULL;
    for (int64_t i = 0; i < p->slot_count; i++) {
        long number = number_of_cuda(master->devices[p->slots[i]]);
        size_t size = 0;
        const char *part = own != NULL && number >= 0 ? part_of(own, number, &size) : NULL;

        if (number < 0)
            goto done; /* other interfaces have no such variable: the name says which */
        RGM_GO(rgm_text_printf(&text, "%s", i > 0 ? "," : "CUDA_VISIBLE_DEVICES="));
        RGM_GO(part != NULL ? rgm_text_add(&text, part, (int64_t)size)
                            : rgm_text_printf(&text, "%ld", number));
    }
    if (text.size > 0)
        RGM_GO(rgm_strdup(out, text.data));
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_devices_answer(rgm_text *out, const rgm_master *master, const rgmi_process *p)
{
    RGM_TRY(rgm_text_printf(out, ", \"devices\": ["));
    for (int64_t i = 0; i < p->slot_count && p->on_devices; i++) {
        const char *device = master->devices[p->slots[i]];
        bool renumbered = number_of_cuda(device) >= 0;

        RGM_TRY(renumbered
                    ? rgm_text_printf(out, "%s\"cuda:%lld\"", i > 0 ? ", " : "", (long long)i)
                    : rgm_text_printf(out, "%s\"%s\"", i > 0 ? ", " : "", device));
    }
    return rgm_text_add(out, "]", 1);
}
