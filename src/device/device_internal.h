/*
 * What the files of the device layer share: a driver is the row by which one interface (OpenCL,
 * CUDA) is reached; an accelerator is an open device with what is the same for all of them: its
 * memory pool, its programs, the flag that it watches, the first error that nobody has been told.
 */
#ifndef RGM_DEVICE_INTERNAL_H
#define RGM_DEVICE_INTERNAL_H

#include <regimen/device_program.h>

/** The words of device source: src/device/prelude.dev. */
extern const char rgmi_device_prelude[];

/** What the interface says of a device. */
typedef struct rgmi_device_facts {
    char name[128];    /* as its maker calls it */
    char version[128]; /* of the interface, the driver and the compiler: what compiled code hangs on
                        */
    bool is_gpu, has_doubles;
    size_t memory;  /* bytes in all */
    size_t largest; /* bytes of the largest single allocation */
} rgmi_device_facts;

/**
 * An interface. `state` is its own, of one open device. Everything that is queued runs in the order
 * of the calls. Errors: RGM_ERR_NOMEM; RGM_ERR_IO: the device is lost, or the driver refuses;
 * further ones where a line says so.
 */
typedef struct rgmi_driver {
    const char *name;
    /** How many devices there are; facts and names follow the same numbers. RGM_ERR_UNSUPPORTED:
     * the libraries are not there, with what was tried. */
    rgm_status (*count)(int *out);
    rgm_status (*facts)(rgmi_device_facts *out, int number);
    rgm_status (*open)(void **state, int number);
    void (*close)(void *state);
    /** Memory at 256-byte aligned addresses that name it to the other functions; an address inside
     * it, or just behind, does too. */
    rgm_status (*take)(void **out, void *state, size_t bytes);
    void (*give)(void *state, void *memory, size_t bytes);
    rgm_status (*write)(void *state, void *to, const void *from, size_t bytes);
    rgm_status (*read)(void *state, void *to, const void *from, size_t bytes);
    rgm_status (*finish)(void *state);
    /** `name` of messages; RGM_ERR_DATA: the compiler's words. */
    rgm_status (*compile)(void **module, void *state, const char *name, const char *source,
                          rgm_dtype real);
    void (*unload)(void *state, void *module);
    /** RGM_ERR_NOT_FOUND. */
    rgm_status (*find)(void **kernel, void *state, void *module, const char *name);
    void (*drop)(void *state, void *kernel);
    rgm_status (*launch)(void *state, void *kernel, int64_t groups, int lanes, const void *flag,
                         const rgm_argument *arguments, int count, rgm_dtype real);
} rgmi_driver;

extern const rgmi_driver rgmi_opencl;

/** Open a driver's device as a rgm_device, which its release closes. */
rgm_status rgmi_accelerator_open(rgm_device **out, const rgmi_driver *driver, int number);

#endif
