/*
 * A device is its row of functions with what they work on; and the CPU, whose memory is the host's.
 */
#include "device_internal.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

struct rgm_device {
    const rgm_device_type *type;
    void *payload;
    uint64_t opened;
    atomic_bool lost;
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
    static atomic_uint_fast64_t opened;

    *out = NULL;
    RGM_TRY(RGM_NEW(*out, 1));
    (*out)->opened = atomic_fetch_add(&opened, 1) + 1;
    (*out)->type = type;
    (*out)->payload = payload;
    return RGM_OK;
}

void rgm_device_release(rgm_device *device)
{
    if (device == NULL || device == rgm_device_cpu() || rgmi_device_is_kept(device))
        return;
    if (device->type->release != NULL)
        device->type->release(device);
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

bool rgm_device_is_lost(const rgm_device *device)
{
    return atomic_load(&device->lost);
}

/* A lost device is a fault of the machine: so processes elsewhere know it, too. */
static rgm_status told(rgm_device *device, rgm_status status)
{
    rgm_error error;

    if (status != RGM_ERR_IO)
        return status;
    atomic_store(&device->lost, true);
    rgm_error_save(&error, status);
    error.system = ENODEV;
    return rgm_error_restore(&error);
}

const char *rgm_device_about(const rgm_device *device)
{
    return device->type->about != NULL ? device->type->about(device) : device->type->name;
}

rgm_device_memory rgm_device_memory_of(rgm_device *device)
{
    return device->type->memory != NULL ? device->type->memory(device) : (rgm_device_memory){0};
}

void rgm_device_limit(rgm_device *device, size_t bytes)
{
    if (device->type->limit != NULL)
        device->type->limit(device, bytes);
}

rgm_status rgm_device_allocate(void **out, rgm_device *device, size_t bytes)
{
    *out = NULL;
    return told(device, device->type->allocate(out, device, bytes));
}

void rgm_device_free(rgm_device *device, void *memory)
{
    if (memory != NULL)
        device->type->free(device, memory);
}

rgm_status rgm_device_copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    return bytes > 0 ? told(device, device->type->copy_to(device, to, from, bytes)) : RGM_OK;
}

rgm_status rgm_device_copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    return bytes > 0 ? told(device, device->type->copy_from(device, to, from, bytes)) : RGM_OK;
}

rgm_status rgmi_device_copy_rows(rgm_device *device, rgm_device_queue queue, void *to,
                                 const rgm_tensor *from)
{
    return told(device, device->type->copy_rows(device, queue, to, from));
}

rgm_status rgm_device_wait(rgm_device *device)
{
    return told(device, device->type->wait(device));
}

/* ---- a second queue -------------------------------------------------------------------------- */

rgm_status rgm_device_copy_on(rgm_device *device, rgm_device_queue queue, void *to,
                              const void *from, size_t bytes)
{
    if (device->type->ahead == NULL || queue == RGM_DEVICE_KERNELS || bytes == 0)
        return rgm_device_copy_to(device, to, from, bytes);
    return told(device, device->type->ahead->copy(device, to, from, bytes));
}

void rgm_device_forget(rgm_device *device, void **mark)
{
    if (*mark != NULL)
        device->type->ahead->forget(device, *mark);
    *mark = NULL;
}

rgm_status rgm_device_mark(void **mark, rgm_device *device, rgm_device_queue queue)
{
    rgm_device_forget(device, mark);
    if (device->type->ahead == NULL)
        return RGM_OK;
    return told(device, device->type->ahead->mark(mark, device, queue));
}

rgm_status rgm_device_follow(rgm_device *device, rgm_device_queue queue, void **mark)
{
    rgm_status status = RGM_OK;

    if (*mark != NULL)
        status = told(device, device->type->ahead->follow(device, queue, *mark));
    rgm_device_forget(device, mark);
    return status;
}

/* ---- programs ------------------------------------------------------------------------------- */

uint64_t rgm_device_opened(const rgm_device *device)
{
    return device->opened;
}

rgm_status rgm_device_program(rgm_program **out, rgm_device *device, const char *name,
                              const char *source, rgm_dtype dtype)
{
    *out = NULL;
    if (device->type->compiler == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: a device of kind %s compiles no programs", name,
                        device->type->name);
    return device->type->compiler->program(out, device, name, source, dtype);
}

rgm_status rgm_program_find(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                            const char *name)
{
    *out = NULL;
    return device->type->compiler->find(out, device, program, name);
}

void rgm_device_launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                       const rgm_argument *arguments, int count)
{
    if (groups > 0)
        device->type->compiler->launch(device, kernel, groups, lanes, arguments, count);
}

void rgm_device_watch(rgm_device *device, const void *flag)
{
    device->type->compiler->watch(device, flag);
}

void rgm_device_fault(rgm_device *device, rgm_status status)
{
    device->type->compiler->fault(device, status);
}

bool rgm_device_multiply(rgm_device *device, const rgm_product *product, rgm_dtype dtype)
{
    return device->type->compiler->multiply != NULL &&
           device->type->compiler->multiply(device, product, dtype);
}
