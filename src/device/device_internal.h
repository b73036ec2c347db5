/*
 * What the files of the device layer share. A driver is the row by which one interface (OpenCL,
 * CUDA) is reached. An accelerator is an open device of a driver, with what is the same for all of
 * them: its memory pool, its programs, copies on their way, the first error that nobody was told.
 */
#ifndef RGM_DEVICE_INTERNAL_H
#define RGM_DEVICE_INTERNAL_H

#include <regimen/device_program.h>

/** The words of device source: src/device/prelude.dev. */
extern const char rgmi_device_prelude[];

/** What an interface says of a device. */
typedef struct rgmi_device_facts {
    char name[128];    /* as its maker calls it */
    char version[192]; /* of interface, driver and compiler: what compiled code depends on */
    bool is_gpu, has_doubles;
    size_t memory;  /* bytes in all */
    size_t largest; /* bytes of the largest single allocation */
    size_t cache;   /* bytes of the cache that all processors share; 0: unknown */
} rgmi_device_facts;

/** A kernel with all that it is given. */
typedef struct rgmi_kernel_call {
    void *kernel; /* the driver's */
    int64_t groups;
    int lanes, count;
    const void *flag;
    const rgm_argument *arguments; /* [count] */
    rgm_dtype real;
    const void *tag; /* of whoever launches */
} rgmi_kernel_call;

/**
 * An interface. `state` is its own, of one open device. What is queued runs in the order of the
 * calls; what says `queue` may go to the second one. Errors: RGM_ERR_NOMEM; RGM_ERR_IO: the device
 * is lost; RGM_ERR_ARG: it refuses what it was given; others where a line says so.
 */
typedef struct rgmi_driver {
    const char *name;
    /** How many devices there are. RGM_ERR_UNSUPPORTED: the libraries are not there, with what was
     * tried and what to install. */
    rgm_status (*count)(int *out);
    rgm_status (*facts)(rgmi_device_facts *out, int number);
    rgm_status (*open)(void **state, int number);
    void (*close)(void *state);

    /** Memory at a 256-byte aligned address that no other has; an address inside it or just behind
     * it means it to the other functions. give: what take gave, of that size. */
    rgm_status (*take)(void **out, void *state, size_t bytes);
    void (*give)(void *state, void *memory, size_t bytes);
    /** Bytes that the device has left for anybody; 0: it does not say. */
    size_t (*available)(void *state);

    /** Memory of the host that the device reads by itself, for write(). */
    rgm_status (*pin)(void **host, void **handle, void *state, size_t bytes);
    void (*unpin)(void *state, void *host, void *handle);
    /** Queue a copy from pinned memory. */
    rgm_status (*write)(void *state, rgm_device_queue queue, void *to, const void *from,
                        size_t bytes);
    /** Copy to any memory of the host, and wait for it. */
    rgm_status (*read)(void *state, void *to, const void *from, size_t bytes);
    /** An event behind what was queued, to be forgotten. reach() waits for it; follow() lets the
     * queue wait. */
    rgm_status (*mark)(void **event, void *state, rgm_device_queue queue);
    rgm_status (*reach)(void *state, void *event);
    rgm_status (*follow)(void *state, rgm_device_queue queue, void *event);
    void (*forget)(void *state, void *event);
    rgm_status (*finish)(void *state); /* both queues */

    /** What else `compile` would be given, to tell its results apart. */
    void (*options)(char *out, size_t size, void *state, rgm_dtype real);
    /** The module, and in `binary` what load() would make it of. RGM_ERR_DATA: the compiler's
     * words; RGM_ERR_UNSUPPORTED: there is no compiler. */
    rgm_status (*compile)(void **module, rgm_text *binary, void *state, const char *name,
                          const char *source, rgm_dtype real);
    /** RGM_ERR_DATA: not such a binary. */
    rgm_status (*load)(void **module, void *state, const void *binary, int64_t size);
    void (*unload)(void *state, void *module);
    rgm_status (*find)(void **kernel, void *state, void *module, const char *name); /* NOT_FOUND */
    void (*drop)(void *state, void *kernel);
    rgm_status (*launch)(void *state, void *kernel, int64_t groups, int lanes, const void *flag,
                         const rgm_argument *arguments, int count, rgm_dtype real);
    /** Launches, [count], that are one object and run by one call, in their order; set() gives one
     * other groups, lanes, flag and arguments, not another kernel. NULL: it has none.
     * RGM_ERR_UNSUPPORTED: not these. */
    rgm_status (*graph_make)(void **graph, void *state, const rgmi_kernel_call *launches,
                             int64_t count);
    rgm_status (*graph_set)(void *state, void *graph, int64_t i, const rgmi_kernel_call *launch);
    rgm_status (*graph_run)(void *state, void *graph);
    void (*graph_free)(void *state, void *graph);
    bool replays; /* such graphs save time: made unless REGIMEN_DEVICE_REPLAY is 0; else if it is 1
                   */
    /** NULL: never. RGM_ERR_UNSUPPORTED: not this one; nothing was done. */
    rgm_status (*multiply)(void *state, const rgm_product *product, rgm_dtype dtype);
} rgmi_driver;

extern const rgmi_driver rgmi_opencl;
extern const rgmi_driver rgmi_cuda;

/** Open a driver's device; rgm_device_release() closes it. */
rgm_status rgmi_accelerator_open(rgm_device **out, const rgmi_driver *driver, int number);

/** The function of the device's row, which is not NULL. */
rgm_status rgmi_device_copy_rows(rgm_device *device, rgm_device_queue queue, void *to,
                                 const rgm_tensor *from);

/** Makes a driver's device. */
typedef rgm_status rgmi_device_make(rgm_device **out, const rgmi_driver *driver, int number);
/** The device that the process drives: made, or shared with who made it. RGM_ERR_BUSY, without a
 * message: it drives another, which is *out. */
rgm_status rgmi_device_shared(rgm_device **out, const rgmi_driver *driver, int number,
                              rgmi_device_make *make);
/** Takes one user from a device that rgm_device_open() opened; whether others are left. */
bool rgmi_device_is_kept(const rgm_device *device);

/** Add to `out` what is compiled: `source` behind the prelude, its lines numbered as `name`.dev. */
rgm_status rgmi_whole_source(rgm_text *out, const char *name, const char *source);
/** The compiler's words from its first error on, as one line. `text` is changed. */
const char *rgmi_compiler_words(char *text);

/* ---- threads that launch ------------------------------------------------------------------- */

typedef struct rgmi_device_thread rgmi_device_thread;
/** What each thread has of a device; under a lock of whoever has it. `{0}` is none. */
typedef struct rgmi_device_threads {
    rgmi_device_thread *first, *common;
    int64_t count;
} rgmi_device_threads;
rgm_status rgmi_device_threads_create(rgmi_device_threads *all);
void rgmi_device_threads_clear(rgmi_device_threads *all);
/** The flag that kernels which the calling thread launches from now on watch; NULL: none. */
void rgmi_device_threads_watch(rgmi_device_threads *all, const void *flag);
const void *rgmi_device_threads_flag(rgmi_device_threads *all);
/** Memory is freed: whatever comes to lie there is nobody's flag. */
void rgmi_device_threads_forget(rgmi_device_threads *all, const void *memory, size_t bytes);
/** An error of the calling thread's, or of all that have launched; the first one stands. */
void rgmi_device_threads_fault(rgmi_device_threads *all, rgm_status status);
void rgmi_device_threads_fault_all(rgmi_device_threads *all, rgm_status status);
bool rgmi_device_threads_have_fault(const rgmi_device_threads *all);
/** The calling thread's error, told once. A thread that has launched nothing and reads what others
 * made is told of theirs, which they are told nevertheless. */
rgm_status rgmi_device_threads_tell(rgmi_device_threads *all);

/* ---- pool ---------------------------------------------------------------------------------- */

/** A caching allocator over a driver's memory; one thread at a time. */
typedef struct rgmi_pool rgmi_pool;
rgm_status rgmi_pool_create(rgmi_pool **out, const rgmi_driver *driver, void *state,
                            const rgmi_device_facts *facts);
/** Gives everything back, blocks in use as well. Takes NULL. */
void rgmi_pool_release(rgmi_pool *pool);
/** 256-byte aligned. RGM_ERR_NOMEM with what was wanted, is in use, held and free. */
rgm_status rgmi_pool_take(void **out, rgmi_pool *pool, size_t bytes);
/** How long the block was; 0: none that is in use begins there. */
size_t rgmi_pool_give(rgmi_pool *pool, const void *memory);
/** Give the driver what it gave and no block is in. */
void rgmi_pool_trim(rgmi_pool *pool);
/** At most so many bytes of the driver; 0: what the device has. */
void rgmi_pool_limit(rgmi_pool *pool, size_t bytes);
rgm_device_memory rgmi_pool_memory(const rgmi_pool *pool);

/** Called before a segment goes back to the driver; NULL: nobody is asked. */
void rgmi_pool_before_give(rgmi_pool *pool, void (*before)(void *payload), void *payload);

/* ---- recorded queues ----------------------------------------------------------------------- */

/** Launches that are held back, and rows of them that have come before; one thread at a time. */
typedef struct rgmi_recorder rgmi_recorder;
/** What was saved so far: graphs made, their runs, launches of those that had to be set. */
typedef struct rgmi_replays {
    int64_t made, runs, set;
} rgmi_replays;
rgm_status rgmi_recorder_create(rgmi_recorder **out, const rgmi_driver *driver, void *state);
/** What is held back is not run. Takes NULL. */
void rgmi_recorder_release(rgmi_recorder *recorder);
/** Hold a launch back. RGM_ERR_NOMEM: it is not. */
rgm_status rgmi_recorder_add(rgmi_recorder *recorder, const rgmi_kernel_call *launch);
bool rgmi_recorder_is_full(const rgmi_recorder *recorder);
/** Run what is held back. *failed: the launch that could not, until rgmi_recorder_drop(), which
 * must follow. */
rgm_status rgmi_recorder_flush(const rgmi_kernel_call **failed, rgmi_recorder *recorder);
void rgmi_recorder_drop(rgmi_recorder *recorder);
rgmi_replays rgmi_recorder_replays(const rgmi_recorder *recorder);
/** Of an accelerator; zeros where nothing is recorded. */
rgmi_replays rgmi_accelerator_replays(const rgm_device *device);

/* ---- programs on disk ---------------------------------------------------------------------- */

/** What was saved under `key`, in *binary (rgm_text_clear() releases it); false: nothing, or not
 * whole. */
bool rgmi_program_cache_load(rgm_text *binary, const char *key);
/** Save it for the next process; what cannot be saved is left out. */
void rgmi_program_cache_save(const char *key, const rgm_text *binary);

#endif
