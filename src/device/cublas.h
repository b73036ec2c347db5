/*
 * cuBLAS, NVIDIA's library of dense products, loaded where it is installed.
 */
#ifndef RGM_CUBLAS_H
#define RGM_CUBLAS_H

#include "device_internal.h"

/** A handle that queues to `stream` of the current context; NULL: the library is not there, or does
 * not begin. */
void *rgmi_cublas_open(void *stream);
void rgmi_cublas_close(void *handle); /* takes NULL */
/** RGM_ERR_UNSUPPORTED: there is no handle, or this product is none for it; nothing was done. */
rgm_status rgmi_cublas_multiply(void *handle, const rgm_product *product, rgm_dtype dtype);

#endif
