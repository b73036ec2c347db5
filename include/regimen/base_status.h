/*
 * base: how a call reports success or failure (status, message, trace), and counted memory.
 */
#ifndef REGIMEN_BASE_STATUS_H
#define REGIMEN_BASE_STATUS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status -------------------------------------------------------------------------------- */

/** 0 done, < 0 error (a message and a trace are recorded for this thread), > 0 signal. */
typedef int rgm_status;

enum {
    RGM_OK = 0,
    RGM_END = 1,               /* signal: no more elements                                       */
    RGM_STOPPED = 2,           /* signal: stopped early on request, state saved                  */
    RGM_ERR_ARG = -1,          /* an argument is wrong: the caller's bug                         */
    RGM_ERR_SHAPE = -2,        /* shapes do not fit                                              */
    RGM_ERR_DTYPE = -3,        /* element types do not fit                                       */
    RGM_ERR_NOMEM = -4,        /* out of memory                                                  */
    RGM_ERR_IO = -5,           /* the system refused: message has path and errno text            */
    RGM_ERR_FORMAT = -6,       /* a file or record is malformed: message has file and place      */
    RGM_ERR_VERSION = -7,      /* a file has a version that this build does not read             */
    RGM_ERR_CONFIG = -8,       /* experiment file or option: message has file:line:column        */
    RGM_ERR_NOT_FOUND = -9,    /* no such file, key, feature or name                             */
    RGM_ERR_NUMERIC = -10,     /* NaN or infinity where a number was expected                    */
    RGM_ERR_UNSUPPORTED = -11, /* understood, but not possible with this build or model          */
    RGM_ERR_BUSY = -12,        /* somebody else holds it (run folder, file)                      */
    RGM_ERR_DATA = -13         /* data contradict each other: dangling edge, wrong length        */
};

/** "RGM_ERR_SHAPE" for -2. Never NULL. */
const char *rgm_status_name(rgm_status status);

/**
 * Record an error for this thread and return `code`. Use RGM_FAIL. The message is one line: control
 * characters (a name from a file may hold an escape sequence) are shown as \xNN.
 */
rgm_status rgm_error_set(rgm_status code, const char *file, int line, const char *function,
                         const char *format, ...) __attribute__((format(printf, 5, 6)));
/** Add one frame to this thread's trace; returns `status`. Use RGM_TRY or RGM_GO. */
rgm_status rgm_error_trace(rgm_status status, const char *file, int line, const char *function);
/** Put "text: " before this thread's message, to say what was being done (a file, a set); returns
 * `status`. */
rgm_status rgm_error_prefix(rgm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** The message of the last error, "" if there was none. Valid until the next failure in this
 * thread. */
const char *rgm_error_message(void);
/** The message and the trace, one line each, to show to a person. Valid as above. */
const char *rgm_error_text(void);
void rgm_error_reset(void);

/** Bytes of a message with the zero behind it. A longer one is cut in the middle, and says so. */
#define RGM_MESSAGE_ROOM 1024

/** An error that a worker thread passes to the thread that waits for it. */
typedef struct rgm_error {
    rgm_status status;
    int system; /* errno, where the system refused; 0: it did not */
    char message[RGM_MESSAGE_ROOM];
    char trace[2048];
} rgm_error;
/** Copy this thread's error, or make a copied error this thread's own; restore returns its status.
 */
void rgm_error_save(rgm_error *error, rgm_status status);
rgm_status rgm_error_restore(const rgm_error *error);

/** Record that the system refused (`error` is an errno value): "cannot <doing> '<path>': <why>". */
rgm_status rgm_error_system(int error, const char *file, int line, const char *function,
                            const char *doing, const char *path);

/**
 * Whether this thread's last error is a fault of the machine and not of what was asked of it: no
 * space or no quota left, a device that fails or is read-only, a file system that went away, too
 * many open files. The same work may succeed there later, and elsewhere now.
 */
bool rgm_error_is_of_the_machine(void);
/** The first two of these: no space, or no quota, is left. */
bool rgm_error_is_of_space(void);

/** Record an error; its value is `code` itself, so that the compiler sees that it is not RGM_OK. */
#define RGM_FAIL(code, ...)                                                                        \
    rgm_second_(rgm_error_set((code), __FILE__, __LINE__, __func__, __VA_ARGS__), (code))
static inline rgm_status rgm_second_(rgm_status first, rgm_status second)
{
    (void)first;
    return second;
}
/** After a failed system call: RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM or RGM_ERR_IO, by errno. */
#define RGM_FAIL_SYSTEM(doing, path)                                                               \
    rgm_error_system(errno, __FILE__, __LINE__, __func__, (doing), (path))

/** Return at once on an error or signal; for functions with nothing to free. */
#define RGM_TRY(call)                                                                              \
    do {                                                                                           \
        rgm_status rgm_try_ = (call);                                                              \
        if (rgm_try_ != RGM_OK)                                                                    \
            return rgm_error_trace(rgm_try_, __FILE__, __LINE__, __func__);                        \
    } while (0)

/** Set `status` and go to `done:` on an error or signal; for functions with something to free. */
#define RGM_GO(call)                                                                               \
    do {                                                                                           \
        status = (call);                                                                           \
        if (status != RGM_OK) {                                                                    \
            rgm_error_trace(status, __FILE__, __LINE__, __func__);                                 \
            goto done;                                                                             \
        }                                                                                          \
    } while (0)

/* ---- memory -------------------------------------------------------------------------------- */

/**
 * Counted memory, aligned to 64 bytes. NULL when there is none (no error is recorded: use the
 * RGM_NEW and RGM_RESERVE macros, which record one). calloc and malloc_array check count * size for
 * overflow; a size of 0 gives a valid pointer. Release with rgm_free(), which takes NULL.
 */
void *rgm_malloc(size_t size);
void *rgm_calloc(int64_t count, size_t size);
void *rgm_malloc_array(int64_t count, size_t size);
void *rgm_realloc(void *memory, size_t size);
void rgm_free(void *memory);
/** Copies of text; RGM_ERR_NOMEM on failure. */
rgm_status rgm_strdup(char **out, const char *text);
rgm_status rgm_strndup(char **out, const char *text, size_t size);
rgm_status rgm_strprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Bytes in use through the functions above, and their maximum since the last reset. */
int64_t rgm_memory_used(void);
int64_t rgm_memory_peak(void);
void rgm_memory_reset_peak(void);
/** Resident set of the process, now and at its peak, in bytes, as the system reports it; 0 if
 * unknown. */
int64_t rgm_memory_resident(void);
int64_t rgm_memory_resident_peak(void);

/**
 * For tests: make the n-th allocation from now on fail (0 = the next), and every later one too when
 * `persistent`. n < 0 turns this off. rgm_memory_failures() counts the failures since then.
 */
void rgm_memory_fail_at(int64_t n, bool persistent);
int64_t rgm_memory_failures(void);

/** Set p to `count` zeroed elements of its type; RGM_ERR_NOMEM. Use inside RGM_TRY / RGM_GO. */
#define RGM_NEW(p, count)                                                                          \
    (((p) = rgm_calloc((count), sizeof *(p))) != NULL                                              \
         ? RGM_OK                                                                                  \
         : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld x %zu bytes", (long long)(count),          \
                    sizeof *(p)))
/** The same with elements of no value, for memory that is written before it is read. */
#define RGM_NEW_RAW(p, count)                                                                      \
    (((p) = rgm_malloc_array((count), sizeof *(p))) != NULL                                        \
         ? RGM_OK                                                                                  \
         : RGM_FAIL(RGM_ERR_NOMEM, "out of memory: %lld x %zu bytes", (long long)(count),          \
                    sizeof *(p)))

/**
 * Make room for `need` elements in the growing array p of `capacity` elements (int64_t lvalue).
 * Geometric growth; p is unchanged on failure. Use inside RGM_TRY / RGM_GO.
 */
#define RGM_RESERVE(p, capacity, need)                                                             \
    ((need) <= (capacity) ? RGM_OK : rgm_array_grow((void *)&(p), &(capacity), (need), sizeof *(p)))
/** What RGM_RESERVE() calls. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_array_grow(void *array, int64_t *capacity, int64_t need, size_t element_size);

/** A bump allocator: many small objects with one lifetime. */
typedef struct rgm_arena rgm_arena;
/** An empty arena. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_arena_create(rgm_arena **out);
void rgm_arena_release(rgm_arena *arena);
/** Zeroed, aligned to 16 bytes, NULL when out of memory. */
void *rgm_arena_alloc(rgm_arena *arena, size_t size);
char *rgm_arena_strdup(rgm_arena *arena, const char *text);

#ifdef __cplusplus
}
#endif
#endif
