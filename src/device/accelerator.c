/*
 * A device that is reached through a driver: what is the same for OpenCL and CUDA. One lock keeps
 * its calls apart, so threads may share it; what they queue runs in the order of their calls.
 */
#include "device_internal.h"

#include <pthread.h>
#include <string.h>

struct rgm_device_kernel {
    struct rgm_device_kernel *next; /* of its program */
    rgm_program *program;
    void *kernel; /* the driver's */
    char name[];
};

struct rgm_program {
    struct rgm_program *next; /* of its device */
    void *module;             /* the driver's */
    rgm_device_kernel *kernels;
    uint64_t hash; /* of the source */
    rgm_dtype real;
    char name[];
};

typedef struct accelerator {
    const rgmi_driver *driver;
    void *state;
    rgmi_device_facts facts;
    pthread_mutex_t lock;
    rgm_program *programs;
    const void *flag;
    rgm_error fault; /* status RGM_OK: none */
} accelerator;

/* ---- memory -------------------------------------------------------------------------------- */

static rgm_status allocate(void **out, rgm_device *device, size_t bytes)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status;

    pthread_mutex_lock(&a->lock);
    status = a->driver->take(out, a->state, bytes > 0 ? bytes : 1);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static void give_back(rgm_device *device, void *memory)
{
    accelerator *a = rgm_device_payload(device);

    pthread_mutex_lock(&a->lock);
    a->driver->give(a->state, memory, 0);
    pthread_mutex_unlock(&a->lock);
}

/* ---- copies -------------------------------------------------------------------------------- */

/* The first error that nobody has been told, told. */
static rgm_status tell(accelerator *a)
{
    rgm_status status = RGM_OK;

    if (a->fault.status != RGM_OK)
        status = rgm_error_restore(&a->fault);
    a->fault.status = RGM_OK;
    return status;
}

static rgm_status copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status;

    pthread_mutex_lock(&a->lock);
    status = a->driver->write(a->state, to, from, bytes);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static rgm_status copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status;

    pthread_mutex_lock(&a->lock);
    status = tell(a);
    if (status == RGM_OK)
        status = a->driver->read(a->state, to, from, bytes);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static rgm_status wait_for(rgm_device *device)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status, told;

    pthread_mutex_lock(&a->lock);
    status = a->driver->finish(a->state);
    told = tell(a);
    pthread_mutex_unlock(&a->lock);
    return told != RGM_OK ? told : status;
}

/* ---- programs ------------------------------------------------------------------------------ */

static rgm_status compile(rgm_program **out, accelerator *a, const char *name, const char *source,
                          rgm_dtype real)
{
    rgm_text whole = {0};
    rgm_program *program = NULL;
    rgm_status status;

    if (real == RGM_F64 && !a->facts.has_doubles)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s has no doubles", a->facts.name);
    RGM_GO(
        rgm_text_printf(&whole, "%s\n#line 1 \"%s.dev\"\n%s", rgmi_device_prelude, name, source));
    program = rgm_calloc(1, sizeof *program + strlen(name) + 1);
    RGM_GO(program != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a program"));
    memcpy(program->name, name, strlen(name) + 1);
    program->hash = rgm_hash64(source, strlen(source));
    program->real = real;
    RGM_GO(a->driver->compile(&program->module, a->state, name, whole.data, real));
    program->next = a->programs;
    a->programs = *out = program;
done:
    if (status != RGM_OK)
        rgm_free(program);
    rgm_text_clear(&whole);
    return status;
}

static rgm_status program_for(rgm_program **out, rgm_device *device, const char *name,
                              const char *source, rgm_dtype real)
{
    accelerator *a = rgm_device_payload(device);
    uint64_t hash = rgm_hash64(source, strlen(source));
    rgm_status status = RGM_OK;
    rgm_program *p;

    pthread_mutex_lock(&a->lock);
    for (p = a->programs; p != NULL; p = p->next)
        if (p->hash == hash && p->real == real && strcmp(p->name, name) == 0)
            break;
    if (p != NULL)
        *out = p;
    else
        status = compile(out, a, name, source, real);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static rgm_status find_kernel(rgm_device_kernel **out, accelerator *a, rgm_program *program,
                              const char *name)
{
    rgm_device_kernel *k;
    rgm_status status;

    for (k = program->kernels; k != NULL; k = k->next)
        if (strcmp(k->name, name) == 0) {
            *out = k;
            return RGM_OK;
        }
    k = rgm_calloc(1, sizeof *k + strlen(name) + 1);
    if (k == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a kernel");
    memcpy(k->name, name, strlen(name) + 1);
    status = a->driver->find(&k->kernel, a->state, program->module, name);
    if (status != RGM_OK) {
        rgm_free(k);
        return rgm_error_prefix(status, "%s of %s.dev", name, program->name);
    }
    k->program = program;
    k->next = program->kernels;
    program->kernels = *out = k;
    return RGM_OK;
}

static rgm_status find(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                       const char *name)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status;

    pthread_mutex_lock(&a->lock);
    status = find_kernel(out, a, program, name);
    pthread_mutex_unlock(&a->lock);
    return status;
}

static void keep_fault(accelerator *a, rgm_status status)
{
    if (a->fault.status == RGM_OK)
        rgm_error_save(&a->fault, status);
}

static void launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                   const rgm_argument *arguments, int count)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status;

    pthread_mutex_lock(&a->lock);
    if (a->fault.status == RGM_OK) { /* what comes after an error would work on what is not there */
        status = a->driver->launch(a->state, kernel->kernel, groups, lanes, a->flag, arguments,
                                   count, kernel->program->real);
        if (status != RGM_OK)
            keep_fault(a, rgm_error_prefix(status, "kernel %s of %s.dev, %lld groups of %d lanes",
                                           kernel->name, kernel->program->name, (long long)groups,
                                           lanes));
    }
    pthread_mutex_unlock(&a->lock);
}

static void watch(rgm_device *device, const void *flag)
{
    accelerator *a = rgm_device_payload(device);

    pthread_mutex_lock(&a->lock);
    a->flag = flag;
    pthread_mutex_unlock(&a->lock);
}

static void fault(rgm_device *device, rgm_status status)
{
    accelerator *a = rgm_device_payload(device);

    pthread_mutex_lock(&a->lock);
    keep_fault(a, status);
    pthread_mutex_unlock(&a->lock);
}

/* ---- a device ------------------------------------------------------------------------------ */

static void close_accelerator(accelerator *a)
{
    if (a->state != NULL)
        (void)a->driver->finish(a->state);
    for (rgm_program *p = a->programs, *next; p != NULL; p = next) {
        next = p->next;
        for (rgm_device_kernel *k = p->kernels, *after; k != NULL; k = after) {
            after = k->next;
            a->driver->drop(a->state, k->kernel);
            rgm_free(k);
        }
        a->driver->unload(a->state, p->module);
        rgm_free(p);
    }
    a->driver->close(a->state);
    pthread_mutex_destroy(&a->lock);
    rgm_free(a);
}

static void release(rgm_device *device)
{
    close_accelerator(rgm_device_payload(device));
}

rgm_status rgmi_accelerator_open(rgm_device **out, const rgmi_driver *driver, int number)
{
    static const rgm_device_compiler compiler = {
        .program = program_for, .find = find, .launch = launch, .watch = watch, .fault = fault};
    static const rgm_device_type opencl = {.name = "opencl",
                                           .allocate = allocate,
                                           .free = give_back,
                                           .copy_to = copy_to,
                                           .copy_from = copy_from,
                                           .wait = wait_for,
                                           .compiler = &compiler,
                                           .release = release};
    accelerator *a;
    rgm_status status;

    *out = NULL;
    RGM_TRY(RGM_NEW(a, 1));
    a->driver = driver;
    pthread_mutex_init(&a->lock, NULL);
    RGM_GO(driver->facts(&a->facts, number));
    RGM_GO(driver->open(&a->state, number));
    RGM_GO(rgm_device_create(out, &opencl, a));
done:
    if (status != RGM_OK)
        close_accelerator(a);
    return status;
}
