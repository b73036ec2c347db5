/*
 * device: where memory and kernels are. A device has memory of its own, copies between that and the
 * host's (the program's), and kernels that run in the order in which they were called. The CPU is
 * always there: its memory is the host's, and its kernels have run when their calls return. This
 * layer has no arithmetic: kernels has it.
 *
 *     rgm_executor_options options = {.device = rgm_device_cpu()};
 *     RGM_TRY(rgm_executor_create(&executor, graph, fetches, 1, &options));
 */
#ifndef REGIMEN_DEVICE_H
#define REGIMEN_DEVICE_H

#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device: a row of functions, and what they work on. */
typedef struct rgm_device rgm_device;
/** A table of kernels: see kernels.h. */
struct rgm_kernels;

/** Bytes of a device's memory. */
typedef struct rgm_device_memory {
    size_t limit; /* what may be held: all that the device has, or rgm_device_limit() */
    size_t held;  /* got from the driver; what is freed is kept for whoever asks next */
    size_t used;  /* of those: in blocks that are allocated                           */
    size_t peak;  /* the most that `used` has been                                    */
    size_t cache; /* bytes of the cache before it that all processors share; 0: unknown */
} rgm_device_memory;

/** What is queued runs in its order; COPIES runs beside KERNELS, which has all but what is said to
 * go there, or is the same one. */
typedef enum rgm_device_queue { RGM_DEVICE_KERNELS, RGM_DEVICE_COPIES } rgm_device_queue;

/** The functions of a second queue: those of rgm_device_copy_on() and its neighbours. */
typedef struct rgm_device_ahead {
    rgm_status (*copy)(rgm_device *device, void *to, const void *from, size_t bytes);
    rgm_status (*mark)(void **mark, rgm_device *device, rgm_device_queue queue);
    rgm_status (*follow)(rgm_device *device, rgm_device_queue queue, void *mark);
    void (*forget)(rgm_device *device, void *mark);
} rgm_device_ahead;

/**
 * A kind of device. Kernels and copies of one device run in the order of the calls, and may still
 * be under way when a call returns; only copy_from returns when the bytes are there. The next
 * copy_from or wait reports an error of a kernel.
 */
typedef struct rgm_device_type {
    const char *name; /* "cpu" */
    bool is_host;     /* its memory is the host's: the library leaves copies to and from it out */
    /** `bytes` of memory that no kernel uses, 64-byte aligned; *out is an address of the device. */
    rgm_status (*allocate)(void **out, rgm_device *device, size_t bytes);
    void (*free)(rgm_device *device, void *memory); /* takes NULL */
    /** Host to device, and back. The host's side may be changed when either returns. Within the
     * device a kernel copies. */
    rgm_status (*copy_to)(rgm_device *device, void *to, const void *from, size_t bytes);
    rgm_status (*copy_from)(rgm_device *device, void *to, const void *from, size_t bytes);
    /** copy_to of the elements of a tensor that was picked (rgm_tensor_pick()), for a device that
     * can do without their place in the memory of the host; NULL: they are gathered there. */
    rgm_status (*copy_rows)(rgm_device *device, rgm_device_queue queue, void *to,
                            const rgm_tensor *from);
    /** Return when all that was called before has run. */
    rgm_status (*wait)(rgm_device *device);
    /** The kernels that run here on elements of `dtype`, NULL: none; see rgm_kernels_for(). The
     * member is NULL for what the CPU computes, and for a device that compiles programs. */
    const struct rgm_kernels *(*kernels)(rgm_device *device, rgm_dtype dtype);
    /** How it compiles and launches source, NULL: not at all; see device_program.h. */
    const struct rgm_device_compiler *compiler;
    /** Its second queue; NULL: it has one. */
    const rgm_device_ahead *ahead;
    /** "opencl:0 (NVIDIA H100)"; NULL: `name` says all. */
    const char *(*about)(const rgm_device *device);
    /** What rgm_device_memory_of() gives, and the limit; NULL: unknown, and there is none. */
    rgm_device_memory (*memory)(rgm_device *device);
    void (*limit)(rgm_device *device, size_t bytes);
    /** What rgm_device_release() does first, NULL: nothing. */
    void (*release)(rgm_device *device);
} rgm_device_type;

/**
 * Open a device by its name:
 *     "cpu"
 *     "cuda:0"    of the GPUs that CUDA lists the one of that number
 *     "opencl:0"  of the devices that OpenCL lists, GPUs first
 *     "gpu:0"     of the GPUs that CUDA lists, and if there is none of those of OpenCL
 * "cuda", "opencl" and "gpu" alone: number 0. Release it with rgm_device_release(). A process
 * drives one device beside the CPU: the same one may be opened several times and is one device
 * then. Errors: RGM_ERR_ARG: no such name; RGM_ERR_UNSUPPORTED: what it needs is not installed,
 * with what was tried and what to install; RGM_ERR_NOT_FOUND: there are not so many; RGM_ERR_BUSY:
 * another device is open; RGM_ERR_IO: the driver refuses; RGM_ERR_NOMEM.
 */
rgm_status rgm_device_open(rgm_device **out, const char *name);
/** Whether it is such a name, of a device that may be here or not. */
bool rgm_device_is_name(const char *name);

/** A device that is there, or an interface that has none. */
typedef struct rgm_device_entry {
    char name[24];   /* what rgm_device_open() takes; of an interface without devices its name */
    char about[512]; /* "NVIDIA H100, 79.6 GiB, CUDA 13.0"; or why there is none, and what to do */
    bool is_there;
} rgm_device_entry;
/** What rgm_device_open() could open here, the CPU first, and why not more: `most` entries at most.
 * Opens nothing. Returns how many there are. */
int64_t rgm_device_list(rgm_device_entry *entries, int64_t most);
/**
 * The devices that a list says, one after the other: "cuda:0,cuda:2", "opencl", "gpu". What
 * rgm_device_open() takes may stand in it, but cpu; without a number it is all of that kind. Opens
 * nothing.
 *
 * @param names  [out] "cuda:0,cuda:1", each once, by interface and number; appended
 * @param list   [in] names with commas between them
 *
 * Errors: as rgm_device_open(), and RGM_ERR_ARG: one device twice. *names is then as before.
 */
rgm_status rgm_device_find(rgm_text *names, const char *list);

/** The CPU. There is one, it is never released, and any thread may use it. */
rgm_device *rgm_device_cpu(void);
/**
 * Create a device of a program's own kind; its functions work on `payload`. The device must outlive
 * what was made for it. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_device_create(rgm_device **out, const rgm_device_type *type, void *payload);
/** Release what rgm_device_open() opened or rgm_device_create() made, of which the payload stays
 * the caller's. Takes NULL; the CPU stays. */
void rgm_device_release(rgm_device *device);

/** The type and the payload that it was made with. */
const rgm_device_type *rgm_device_kind(const rgm_device *device);
void *rgm_device_payload(const rgm_device *device);
/** Whether the program may read and write its memory. */
bool rgm_device_is_host(const rgm_device *device);

/** Whether one of its functions has failed with RGM_ERR_IO: what was in its memory is gone. The
 * error's errno is ENODEV. */
bool rgm_device_is_lost(const rgm_device *device);
/** "cpu", "cuda:0 (NVIDIA H100)": for plans and logs. Lives as long as the device. */
const char *rgm_device_about(const rgm_device *device);
/** What is known of a device's memory; zeros: nothing, as of the CPU. */
rgm_device_memory rgm_device_memory_of(rgm_device *device);
/** Hold at most so many bytes, for a device that is shared; 0: as many as it has. What is in use
 * stays. Devices without a limit ignore it. */
void rgm_device_limit(rgm_device *device, size_t bytes);

/**
 * The functions of the row. `bytes` may be 0. Errors: RGM_ERR_NOMEM; RGM_ERR_IO if the device is
 * lost.
 */
rgm_status rgm_device_allocate(void **out, rgm_device *device, size_t bytes);
void rgm_device_free(rgm_device *device, void *memory);
rgm_status rgm_device_copy_to(rgm_device *device, void *to, const void *from, size_t bytes);
rgm_status rgm_device_copy_from(rgm_device *device, void *to, const void *from, size_t bytes);
rgm_status rgm_device_wait(rgm_device *device);

/**
 * Copies beside kernels. A device with one queue does them in their turn, and then marks are NULL.
 *
 *     RGM_TRY(rgm_device_copy_on(device, RGM_DEVICE_COPIES, to, from, bytes));
 *     RGM_TRY(rgm_device_mark(&ready, device, RGM_DEVICE_COPIES));
 *     ...
 *     RGM_TRY(rgm_device_follow(device, RGM_DEVICE_KERNELS, &ready)); // then kernels may read `to`
 *
 * Nobody waits here but queues. Memory at `to` must not be what a kernel that was queued before
 * uses, unless COPIES follows a mark behind that kernel: memory that was just allocated may be.
 * Errors: RGM_ERR_NOMEM; RGM_ERR_IO if the device is lost.
 */
rgm_status rgm_device_copy_on(rgm_device *device, rgm_device_queue queue, void *to,
                              const void *from, size_t bytes);
/** A mark behind what was queued; *mark, which takes NULL, is forgotten before. Errors: RGM_ERR_IO,
 * RGM_ERR_NOMEM. */
rgm_status rgm_device_mark(void **mark, rgm_device *device, rgm_device_queue queue);
/** What is queued from now on runs after what is before the mark, which is then forgotten: NULL.
 * Errors: RGM_ERR_IO. */
rgm_status rgm_device_follow(rgm_device *device, rgm_device_queue queue, void **mark);
/** Takes NULL, and leaves it. */
void rgm_device_forget(rgm_device *device, void **mark);

#ifdef __cplusplus
}
#endif
#endif
