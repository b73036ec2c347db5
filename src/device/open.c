/*
 * Which devices there are, and opening one by its name. A process drives one beside the CPU.
 */
#include "device_internal.h"

#include <stdio.h>
#include <string.h>

/* CUDA first: what both reach is faster there. */
static const rgmi_driver *const drivers[] = {&rgmi_cuda, &rgmi_opencl};
enum { DRIVERS = sizeof drivers / sizeof *drivers };

/* ---- names --------------------------------------------------------------------------------- */

/* "opencl:12" is of OpenCL, 12; false: not a name of that kind. */
static bool split_name(const char *name, const char *kind, int *number)
{
    size_t length = strlen(kind);

    *number = 0;
    if (strncmp(name, kind, length) != 0)
        return false;
    if (name[length] == 0)
        return true;
    if (name[length] != ':' || name[length + 1] == 0 || strlen(name + length + 1) > 4)
        return false;
    for (const char *digit = name + length + 1; *digit != 0; digit++) {
        if (*digit < '0' || *digit > '9')
            return false;
        *number = 10 * *number + (*digit - '0');
    }
    return true;
}

static rgm_status too_few(const char *name, const char *kind, int count)
{
    if (count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "device '%s': %s lists none here", name, kind);
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "device '%s': %s lists %d here, %s:0 to %s:%d", name, kind,
                    count, kind, kind, count - 1);
}

/* The number-th GPU of a driver; *number goes down by those that it has otherwise. */
static rgm_status find_gpu(bool *found, const rgmi_driver *driver, int *number, int *which)
{
    rgmi_device_facts facts;
    int count;

    *found = false;
    RGM_TRY(driver->count(&count));
    for (*which = 0; *which < count; (*which)++) {
        RGM_TRY(driver->facts(&facts, *which));
        if (facts.is_gpu && (*number)-- == 0) {
            *found = true;
            return RGM_OK;
        }
    }
    return RGM_OK;
}

/* CUDA's GPUs have the numbers if there are any: OpenCL lists the same ones again. */
static rgm_status resolve_gpu(const rgmi_driver **driver, int *which, const char *name, int number)
{
    char why[2][500] = {"", ""};
    int asked = number;
    bool found;

    for (int d = 0; d < DRIVERS; d++) {
        number = asked;
        *driver = drivers[d];
        if (find_gpu(&found, drivers[d], &number, which) != RGM_OK)
            snprintf(why[d], sizeof why[d], "%s", rgm_error_message());
        else if (found)
            return RGM_OK;
        else if (number < asked)
            return too_few(name, "gpu", asked - number);
        else
            snprintf(why[d], sizeof why[d], "%s lists no GPU", drivers[d]->name);
    }
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "device '%s': there is no GPU here: %s; %s", name, why[0],
                    why[1]);
}

static rgm_status resolve(const rgmi_driver **driver, int *which, const char *name)
{
    int number, count;

    if (split_name(name, "gpu", &number))
        return resolve_gpu(driver, which, name, number);
    for (int d = 0; d < DRIVERS; d++) {
        rgm_status status;
        if (!split_name(name, drivers[d]->name, which))
            continue;
        *driver = drivers[d];
        status = drivers[d]->count(&count);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "device '%s'", name);
        return *which < count ? RGM_OK : too_few(name, drivers[d]->name, count);
    }
    return RGM_FAIL(
        RGM_ERR_ARG,
        "there is no device '%s': it is cpu, gpu, gpu:N, cuda:N or opencl:N, N from 0 on", name);
}

bool rgm_device_is_name(const char *name)
{
    int number;

    if (strcmp(name, "cpu") == 0 || split_name(name, "gpu", &number))
        return true;
    for (int d = 0; d < DRIVERS; d++)
        if (split_name(name, drivers[d]->name, &number))
            return true;
    return false;
}

rgm_status rgm_device_open(rgm_device **out, const char *name)
{
    const rgmi_driver *driver;
    int number;
    rgm_status status;

    *out = NULL;
    if (strcmp(name, "cpu") == 0) {
        *out = rgm_device_cpu();
        return RGM_OK;
    }
    RGM_TRY(resolve(&driver, &number, name));
    status = rgmi_device_shared(out, driver, number, rgmi_accelerator_open);
    if (status == RGM_ERR_BUSY) {
        status =
            RGM_FAIL(status, "device '%s': this process drives %s", name, rgm_device_about(*out));
        *out = NULL;
    }
    return status;
}

/* ---- what there is ------------------------------------------------------------------------- */

static void add_entry(rgm_device_entry *entries, int64_t most, int64_t *count,
                      const rgm_device_entry *entry)
{
    if (*count < most)
        entries[*count] = *entry;
    ++*count;
}

static void add_device(rgm_device_entry *entries, int64_t most, int64_t *count,
                       const rgmi_driver *driver, int number)
{
    rgm_device_entry entry = {.is_there = true};
    rgmi_device_facts facts;

    snprintf(entry.name, sizeof entry.name, "%s:%d", driver->name, number);
    if (driver->facts(&facts, number) != RGM_OK) {
        entry.is_there = false;
        snprintf(entry.about, sizeof entry.about, "%s", rgm_error_message());
    } else {
        snprintf(entry.about, sizeof entry.about, "%s, %s, %.1f GiB, %s%s", facts.name,
                 facts.is_gpu ? "GPU" : "no GPU", (double)facts.memory / 1073741824, facts.version,
                 facts.has_doubles ? "" : ", no doubles");
    }
    add_entry(entries, most, count, &entry);
}

int64_t rgm_device_list(rgm_device_entry *entries, int64_t most)
{
    int64_t count = 0;
    rgm_device_entry cpu = {.name = "cpu", .is_there = true};
    int devices;

    snprintf(cpu.about, sizeof cpu.about, "%d processors", rgm_processors());
    add_entry(entries, most, &count, &cpu);
    for (int d = 0; d < DRIVERS; d++) {
        rgm_device_entry none = {.is_there = false};
        rgm_status status = drivers[d]->count(&devices);
        for (int i = 0; status == RGM_OK && i < devices; i++)
            add_device(entries, most, &count, drivers[d], i);
        if (status == RGM_OK && devices > 0)
            continue;
        snprintf(none.name, sizeof none.name, "%s", drivers[d]->name);
        snprintf(none.about, sizeof none.about, "%s",
                 status == RGM_OK ? "lists no device" : rgm_error_message());
        add_entry(entries, most, &count, &none);
    }
    return count;
}

/* ---- lists --------------------------------------------------------------------------------- */

enum { MOST_NUMBER = 256 };

/* Which devices a list has named so far. */
typedef struct chosen_devices {
    bool has[DRIVERS][MOST_NUMBER];
} chosen_devices;

static rgm_status choose(chosen_devices *chosen, const char *name)
{
    const rgmi_driver *driver;
    int number, d = 0;

    RGM_TRY(resolve(&driver, &number, name));
    while (drivers[d] != driver)
        d++;
    if (number >= MOST_NUMBER)
        return RGM_FAIL(RGM_ERR_ARG, "device '%s': a list has numbers below %d", name,
                        (int)MOST_NUMBER);
    if (chosen->has[d][number])
        return RGM_FAIL(RGM_ERR_ARG, "device '%s:%d' is twice in the list", driver->name, number);
    chosen->has[d][number] = true;
    return RGM_OK;
}

/* All of a kind, of which there is one at least. */
static rgm_status choose_all(chosen_devices *chosen, const char *kind)
{
    char name[48];
    rgm_status status;

    RGM_TRY(choose(chosen, kind));
    for (int i = 1; i < MOST_NUMBER; i++) {
        snprintf(name, sizeof name, "%s:%d", kind, i);
        status = choose(chosen, name);
        if (status == RGM_ERR_NOT_FOUND) { /* there are not so many */
            rgm_error_reset();
            return RGM_OK;
        }
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status choose_item(chosen_devices *chosen, const char *item, size_t size)
{
    char name[32];

    snprintf(name, sizeof name, "%.*s", (int)size, item);
    if (size >= sizeof name || strcmp(name, "cpu") == 0 || !rgm_device_is_name(name))
        return RGM_FAIL(RGM_ERR_ARG,
                        "'%.*s' is no device for a list: it has gpu, cuda, opencl, with a number "
                        "(cuda:0) or without (all of them), and commas between them",
                        (int)(size < 60 ? size : 60), item);
    return strchr(name, ':') != NULL ? choose(chosen, name) : choose_all(chosen, name);
}

rgm_status rgm_device_find(rgm_text *names, const char *list)
{
    chosen_devices chosen = {0};
    int64_t before = names->size;
    rgm_status status = RGM_OK;

    for (const char *item = list;; item++) {
        size_t size = strcspn(item, ",");

        RGM_TRY(choose_item(&chosen, item, size));
        item += size;
        if (*item == 0)
            break;
    }
    for (int d = 0; d < DRIVERS; d++)
        for (int i = 0; i < MOST_NUMBER && status == RGM_OK; i++)
            if (chosen.has[d][i])
                status = rgm_text_printf(names, "%s%s:%d", names->size > before ? "," : "",
                                         drivers[d]->name, i);
    if (status != RGM_OK && names->data != NULL) {
        names->size = before;
        names->data[before] = 0;
    }
    return status;
}
