/*
 * A device is its row of functions with what they work on; and the CPU, whose memory is the host's.
 */
#include <regimen/device.h>

#include <string.h>

struct rgm_device {
    const rgm_device_type *type;
    void *payload;
};

/* ---- the CPU ------------------------------------------------------------------------------- */

static rgm_status cpu_allocate(void **out, rgm_device *device, size_t bytes)
{
    (void)device;
    *out = rgm_malloc(bytes);
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %zu bytes", bytes);
}

static void cpu_free(rgm_device *device, void *memory)
{
    (void)device;
    rgm_free(memory);
}

static rgm_status cpu_copy(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    memcpy(to, from, bytes);
    return RGM_OK;
}

static rgm_status cpu_wait(rgm_device *device)
{
    (void)device;
    return RGM_OK;
}

rgm_device *rgm_device_cpu(void)
{
    static const rgm_device_type type = {
        .name = "cpu",
        .is_host = true,
        .allocate = cpu_allocate,
        .free = cpu_free,
        .copy_to = cpu_copy,
        .copy_from = cpu_copy,
        .wait = cpu_wait,
    };
    static rgm_device cpu = {.type = &type};

    return &cpu;
}

/* ---- any device ---------------------------------------------------------------------------- */

rgm_status rgm_device_create(rgm_device **out, const rgm_device_type *type, void *payload)
{
    *out = NULL;
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->type = type;
    (*out)->payload = payload;
    return RGM_OK;
}

void rgm_device_release(rgm_device *device)
{
    if (device != rgm_device_cpu())
        rgm_free(device);
}

const rgm_device_type *rgm_device_kind(const rgm_device *device)
{
    return device->type;
}

void *rgm_device_payload(const rgm_device *device)
{
    return device->payload;
}

bool rgm_device_is_host(const rgm_device *device)
{
    return device->type->is_host;
}

rgm_status rgm_device_allocate(void **out, rgm_device *device, size_t bytes)
{
    *out = NULL;
    return device->type->allocate(out, device, bytes);
}

void rgm_device_free(rgm_device *device, void *memory)
{
    if (memory != NULL)
        device->type->free(device, memory);
}

rgm_status rgm_device_copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    return bytes > 0 ? device->type->copy_to(device, to, from, bytes) : RGM_OK;
}

rgm_status rgm_device_copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    return bytes > 0 ? device->type->copy_from(device, to, from, bytes) : RGM_OK;
}

rgm_status rgm_device_wait(rgm_device *device)
{
    return device->type->wait(device);
}
