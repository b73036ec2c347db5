/*
 * The device of a test that compiles kernels: what REGIMEN_DEVICE names, else opencl:0, which PoCL
 * makes of this processor.
 */
#ifndef RGM_DEVICE_CHECK_H
#define RGM_DEVICE_CHECK_H

#include <check.h>
#include <regimen/device.h>

/** Open it. Where OpenCL or a driver of it is not installed, and nobody has named another device,
 * the program ends with 77 and says why; what else is wrong is a failure. */
static inline rgm_device *check_device(void)
{
    const char *name = getenv("REGIMEN_DEVICE");
    rgm_device *device;
    rgm_status status = rgm_device_open(&device, name != NULL ? name : "opencl:0");

    if (status == RGM_ERR_UNSUPPORTED && name == NULL) {
        print_message("SKIPPED: %s\n", rgm_error_message());
        exit(CHECK_SKIPPED);
    }
    if (status != RGM_OK) {
        print_message("%s\n", rgm_error_text());
        exit(1);
    }
    return device;
}

#endif
