/*
 * What is used of OpenCL 1.2, declared here: nothing of it is needed to build. Objects are pointers
 * to what only the library knows; numbers are those of the specification (Khronos, OpenCL 1.2).
 */
#ifndef RGM_OPENCL_API_H
#define RGM_OPENCL_API_H

#include <stddef.h>
#include <stdint.h>

#define RGMI_OPENCL_FUNCTIONS(F)                                                                   \
    F(int32_t, clGetPlatformIDs, (uint32_t, void **, uint32_t *))                                  \
    F(int32_t, clGetPlatformInfo, (void *, uint32_t, size_t, void *, size_t *))                    \
    F(int32_t, clGetDeviceIDs, (void *, uint64_t, uint32_t, void **, uint32_t *))                  \
    F(int32_t, clGetDeviceInfo, (void *, uint32_t, size_t, void *, size_t *))                      \
    F(void *, clCreateContext,                                                                     \
      (const intptr_t *, uint32_t, void *const *, void *, void *, int32_t *))                      \
    F(int32_t, clReleaseContext, (void *))                                                         \
    F(void *, clCreateCommandQueue, (void *, void *, uint64_t, int32_t *))                         \
    F(int32_t, clReleaseCommandQueue, (void *))                                                    \
    F(void *, clCreateBuffer, (void *, uint64_t, size_t, void *, int32_t *))                       \
    F(int32_t, clReleaseMemObject, (void *))                                                       \
    F(int32_t, clEnqueueWriteBuffer,                                                               \
      (void *, void *, uint32_t, size_t, size_t, const void *, uint32_t, void *const *, void **))  \
    F(int32_t, clEnqueueReadBuffer,                                                                \
      (void *, void *, uint32_t, size_t, size_t, void *, uint32_t, void *const *, void **))        \
    F(void *, clEnqueueMapBuffer,                                                                  \
      (void *, void *, uint32_t, uint64_t, size_t, size_t, uint32_t, void *const *, void **,       \
       int32_t *))                                                                                 \
    F(int32_t, clEnqueueUnmapMemObject,                                                            \
      (void *, void *, void *, uint32_t, void *const *, void **))                                  \
    F(int32_t, clEnqueueMarkerWithWaitList, (void *, uint32_t, void *const *, void **))            \
    F(int32_t, clWaitForEvents, (uint32_t, void *const *))                                         \
    F(int32_t, clReleaseEvent, (void *))                                                           \
    F(int32_t, clFlush, (void *))                                                                  \
    F(void *, clCreateProgramWithBinary,                                                           \
      (void *, uint32_t, void *const *, const size_t *, const unsigned char *const *, int32_t *,   \
       int32_t *))                                                                                 \
    F(int32_t, clGetProgramInfo, (void *, uint32_t, size_t, void *, size_t *))                     \
    F(void *, clCreateProgramWithSource,                                                           \
      (void *, uint32_t, const char *const *, const size_t *, int32_t *))                          \
    F(int32_t, clBuildProgram, (void *, uint32_t, void *const *, const char *, void *, void *))    \
    F(int32_t, clGetProgramBuildInfo, (void *, void *, uint32_t, size_t, void *, size_t *))        \
    F(int32_t, clReleaseProgram, (void *))                                                         \
    F(void *, clCreateKernel, (void *, const char *, int32_t *))                                   \
    F(int32_t, clGetKernelInfo, (void *, uint32_t, size_t, void *, size_t *))                      \
    F(int32_t, clReleaseKernel, (void *))                                                          \
    F(int32_t, clSetKernelArg, (void *, uint32_t, size_t, const void *))                           \
    F(int32_t, clEnqueueNDRangeKernel,                                                             \
      (void *, void *, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,         \
       void *const *, void **))                                                                    \
    F(int32_t, clFinish, (void *))

typedef struct rgmi_opencl_api {
#define RGMI_OPENCL_MEMBER(result, name, arguments) result(*name) arguments;
    RGMI_OPENCL_FUNCTIONS(RGMI_OPENCL_MEMBER)
#undef RGMI_OPENCL_MEMBER
} rgmi_opencl_api;

enum {
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_KERNEL_NAME = -46,
    CL_PLATFORM_NOT_FOUND = -1001,
    CL_PLATFORM_VERSION = 0x0901,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_SINGLE_FP_CONFIG = 0x101B,
    CL_DEVICE_GLOBAL_MEM_CACHE_SIZE = 0x101E,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_KERNEL_NUM_ARGS = 0x1191
};

#define CL_DEVICE_TYPE_CPU                  ((uint64_t)1 << 1)
#define CL_DEVICE_TYPE_GPU                  ((uint64_t)1 << 2)
#define CL_DEVICE_TYPE_ALL                  ((uint64_t)0xFFFFFFFF)
#define CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT ((uint64_t)1 << 7)
#define CL_MAP_WRITE                        ((uint64_t)1 << 1)
#define CL_MEM_ALLOC_HOST_PTR               ((uint64_t)1 << 4)
#define CL_MEM_READ_WRITE                   ((uint64_t)1 << 0)

#endif
