/*
 * What is used of CUDA's driver interface, declared here: nothing of it is needed to build. Objects
 * are pointers to what only the library knows, memory of the device is a 64-bit address.
 */
#ifndef RGM_CUDA_API_H
#define RGM_CUDA_API_H

#include <stddef.h>
#include <stdint.h>

/* name here, name in the library */
#define RGMI_CUDA_FUNCTIONS(F)                                                                     \
    F(cuInit, "cuInit", (unsigned))                                                                \
    F(cuDriverGetVersion, "cuDriverGetVersion", (int *))                                           \
    F(cuDeviceGetCount, "cuDeviceGetCount", (int *))                                               \
    F(cuDeviceGet, "cuDeviceGet", (int *, int))                                                    \
    F(cuDeviceGetName, "cuDeviceGetName", (char *, int, int))                                      \
    F(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t *, int))                                    \
    F(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *, int, int))                             \
    F(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (void **, int))                        \
    F(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int))                            \
    F(cuCtxSetCurrent, "cuCtxSetCurrent", (void *))                                                \
    F(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *, size_t *))                                       \
    F(cuMemAlloc, "cuMemAlloc_v2", (uint64_t *, size_t))                                           \
    F(cuMemFree, "cuMemFree_v2", (uint64_t))                                                       \
    F(cuMemHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned))                               \
    F(cuMemFreeHost, "cuMemFreeHost", (void *))                                                    \
    F(cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2", (uint64_t, const void *, size_t, void *))         \
    F(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2", (void *, uint64_t, size_t, void *))               \
    F(cuStreamCreate, "cuStreamCreate", (void **, unsigned))                                       \
    F(cuStreamDestroy, "cuStreamDestroy_v2", (void *))                                             \
    F(cuStreamSynchronize, "cuStreamSynchronize", (void *))                                        \
    F(cuStreamWaitEvent, "cuStreamWaitEvent", (void *, void *, unsigned))                          \
    F(cuEventCreate, "cuEventCreate", (void **, unsigned))                                         \
    F(cuEventRecord, "cuEventRecord", (void *, void *))                                            \
    F(cuEventSynchronize, "cuEventSynchronize", (void *))                                          \
    F(cuEventDestroy, "cuEventDestroy_v2", (void *))                                               \
    F(cuModuleLoadData, "cuModuleLoadData", (void **, const void *))                               \
    F(cuModuleUnload, "cuModuleUnload", (void *))                                                  \
    F(cuModuleGetFunction, "cuModuleGetFunction", (void **, void *, const char *))                 \
    F(cuLaunchKernel, "cuLaunchKernel",                                                            \
      (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,       \
       void **, void **))                                                                          \
    F(cuGetErrorName, "cuGetErrorName", (int, const char **))                                      \
    F(cuGetErrorString, "cuGetErrorString", (int, const char **))

/* Drivers before CUDA 11.4 lack some of these, and do without graphs. */
#define RGMI_CUDA_GRAPH_FUNCTIONS(F)                                                               \
    F(cuGraphCreate, "cuGraphCreate", (void **, unsigned))                                         \
    F(cuGraphDestroy, "cuGraphDestroy", (void *))                                                  \
    F(cuGraphAddKernelNode, "cuGraphAddKernelNode",                                                \
      (void **, void *, void *const *, size_t, const rgmi_cuda_node *))                            \
    F(cuGraphInstantiateWithFlags, "cuGraphInstantiateWithFlags",                                  \
      (void **, void *, unsigned long long))                                                       \
    F(cuGraphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams",                            \
      (void *, void *, const rgmi_cuda_node *))                                                    \
    F(cuGraphLaunch, "cuGraphLaunch", (void *, void *))                                            \
    F(cuGraphExecDestroy, "cuGraphExecDestroy", (void *))

/** CUDA_KERNEL_NODE_PARAMS of the functions above, which have no _v2 in their names. */
typedef struct rgmi_cuda_node {
    void *kernel;
    unsigned groups[3], lanes[3], shared;
    void **arguments, **extra;
} rgmi_cuda_node;

typedef struct rgmi_cuda_api {
#define RGMI_CUDA_MEMBER(name, symbol, arguments) int(*name) arguments;
    RGMI_CUDA_FUNCTIONS(RGMI_CUDA_MEMBER)
    RGMI_CUDA_GRAPH_FUNCTIONS(RGMI_CUDA_MEMBER)
#undef RGMI_CUDA_MEMBER
} rgmi_cuda_api;

enum {
    CUDA_ERROR_INVALID_VALUE = 1,
    CUDA_ERROR_OUT_OF_MEMORY = 2,
    CUDA_ERROR_NO_DEVICE = 100,
    CUDA_ERROR_INVALID_IMAGE = 200,
    CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
    CUDA_ERROR_INVALID_PTX = 218,
    CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
    CUDA_ERROR_NOT_FOUND = 500,
    CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
    CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = 38,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
    CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
    CU_STREAM_NON_BLOCKING = 1,
    CU_EVENT_DISABLE_TIMING = 2
};

#endif
