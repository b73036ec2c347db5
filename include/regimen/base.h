/*
 * base: what every layer stands on. Status and error trace, counted memory, text, map, random
 * numbers, eigenvalues, threads, files, JSON, YAML. Nothing here knows of tensors or models.
 * Nothing exits, aborts or prints; the only global state is the thread's error record, the memory
 * counters and the process' log.
 */
#ifndef REGIMEN_BASE_H
#define REGIMEN_BASE_H

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
    RGM_ERR_VERSION = -7,      /* a file is of a version this build does not read                */
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
/** Put "text: " before this thread's message (what was being done: a file, a set); returns
 * `status`. */
rgm_status rgm_error_prefix(rgm_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** The last error's message, "" if there was none. Valid until the next failure in this thread. */
const char *rgm_error_message(void);
/** Message and trace, a line each, for a person. Valid as above. */
const char *rgm_error_text(void);
void rgm_error_reset(void);

/** An error on its way from a worker thread to the thread that waits for it. */
typedef struct rgm_error {
    rgm_status status;
    char message[1024];
    char trace[2048];
} rgm_error;
/** Copy this thread's error out, or make a copied one this thread's; restore returns its status. */
void rgm_error_save(rgm_error *error, rgm_status status);
rgm_status rgm_error_restore(const rgm_error *error);

/** Record that the system refused (`error` is an errno value): "cannot <doing> '<path>': <why>". */
rgm_status rgm_error_system(int error, const char *file, int line, const char *function,
                            const char *doing, const char *path);

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
 * Memory aligned to 64 bytes, counted. NULL when there is none (no error is recorded: use the
 * RGM_NEW and RGM_RESERVE macros, which record one). calloc checks count * size for overflow; a
 * size of 0 gives a valid pointer. Release with rgm_free(), which takes NULL.
 */
void *rgm_malloc(size_t size);
void *rgm_calloc(int64_t count, size_t size);
void *rgm_realloc(void *memory, size_t size);
void rgm_free(void *memory);
/** Copies of text; RGM_ERR_NOMEM on failure. */
rgm_status rgm_strdup(char **out, const char *text);
rgm_status rgm_strndup(char **out, const char *text, size_t size);
rgm_status rgm_strprintf(char **out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** Bytes in use through the functions above, and the most there has been since the last reset. */
int64_t rgm_memory_used(void);
int64_t rgm_memory_peak(void);
void rgm_memory_reset_peak(void);
/** Resident set of the process, now and at its peak, in bytes (from the system; 0 if unknown). */
int64_t rgm_memory_resident(void);
int64_t rgm_memory_resident_peak(void);

/**
 * Tests: let the n-th allocation from now (0 = the next) fail, and every later one too when
 * `persistent`. n < 0 turns it off. rgm_memory_failures() counts the failures since.
 */
void rgm_memory_fail_at(int64_t n, bool persistent);
int64_t rgm_memory_failures(void);

/** p = count zeroed elements of p's type; RGM_ERR_NOMEM. Use inside RGM_TRY / RGM_GO. */
#define RGM_NEW(p, count)                                                                          \
    (((p) = rgm_calloc((count), sizeof *(p))) != NULL                                              \
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
/** An empty one. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_arena_create(rgm_arena **out);
void rgm_arena_release(rgm_arena *arena);
/** Zeroed, aligned to 16 bytes, NULL when out of memory. */
void *rgm_arena_alloc(rgm_arena *arena, size_t size);
char *rgm_arena_strdup(rgm_arena *arena, const char *text);

/* ---- text and map -------------------------------------------------------------------------- */

/** A growing text, always terminated once something was added. `{0}` is a valid empty one. */
typedef struct rgm_text {
    char *data;
    int64_t size;
    int64_t capacity;
} rgm_text;
void rgm_text_clear(rgm_text *text);
/** Append bytes, or what a format prints. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_text_add(rgm_text *text, const void *data, int64_t size);
rgm_status rgm_text_printf(rgm_text *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Text for people, on one line: control and direction characters (ESC, U+0080 to U+009F, U+202E,
 * ...) and what is no UTF-8 become visible escapes, so that a name from a file cannot steer a
 * terminal. Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_text_add_visible(rgm_text *text, const char *shown);
/** The same for several lines: line feeds and tabs stay. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_text_add_visible_lines(rgm_text *text, const char *shown);

/** Offset of the first byte that is not valid UTF-8, or -1. */
int64_t rgm_utf8_check(const void *data, int64_t size);
/** Bytes of the valid UTF-8 sequence at `text`, 0 when there is none; *code is its code point. */
int rgm_utf8_next(uint32_t *code, const char *text);

/** Of `names`, the one nearest to `name` by edit distance, or NULL when none is near. */
const char *rgm_nearest_name(const char *name, const char *const *names, int64_t count);
/** The end of a message; "" when there is nothing to say. */
typedef struct rgm_hint {
    char text[640];
} rgm_hint;
/**
 * What to say of a `name` (or NULL) that is none of `names`: "; did you mean 'b'?" where one is
 * near, with `prefix` (or NULL) before it; else "; <otherwise>a, b, c", and "" without `otherwise`.
 *
 *     RGM_FAIL(code, "no schedule '%s'%s", name,
 *              rgm_did_you_mean(name, names, count, NULL, "there are ").text);
 */
rgm_hint rgm_did_you_mean(const char *name, const char *const *names, int64_t count,
                          const char *prefix, const char *otherwise);

/** Text keys to pointers, in order of insertion. The map copies keys and does not own the values.
 */
typedef struct rgm_map rgm_map;
/** An empty one; what is set again under a key keeps its place. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_map_create(rgm_map **out);
void rgm_map_release(rgm_map *map);
rgm_status rgm_map_set(rgm_map *map, const char *key, void *value);
void *rgm_map_get(const rgm_map *map, const char *key); /* NULL if absent */
bool rgm_map_has(const rgm_map *map, const char *key);
int64_t rgm_map_count(const rgm_map *map);
const char *rgm_map_key(const rgm_map *map, int64_t i);
void *rgm_map_value(const rgm_map *map, int64_t i);

/** A number with its name: a metric, a figure of a checkpoint. */
typedef struct rgm_named_number {
    const char *name;
    double value;
} rgm_named_number;

/* ---- JSON ---------------------------------------------------------------------------------- */

/** A parsed value; what is found in it is borrowed from its root. */
typedef struct rgm_json rgm_json;
/**
 * Parse one value, strictly: UTF-8, no key twice, at most 2,048 levels. `name` is for messages.
 *
 * Errors: RGM_ERR_FORMAT "name:line:column: what", RGM_ERR_NOMEM.
 */
rgm_status rgm_json_parse(rgm_json **out, const char *data, int64_t size, const char *name);
void rgm_json_release(rgm_json *json);
/** The entry of an object; NULL: no such key, no object. */
const rgm_json *rgm_json_find(const rgm_json *object, const char *key);
/** Elements of an array, -1: it is none; and one of them, NULL: there is none at i. */
int64_t rgm_json_count(const rgm_json *array);
const rgm_json *rgm_json_at(const rgm_json *array, int64_t i);
bool rgm_json_is_object(const rgm_json *json);
/** NULL: it is no text. */
const char *rgm_json_text(const rgm_json *json);
/** false, and *out unchanged: it is no integer of 64 bits. NULL is none. */
bool rgm_json_int(int64_t *out, const rgm_json *json);
/** The same for true and false. */
bool rgm_json_bool(bool *out, const rgm_json *json);
/** The same for a number, or what rgm_json_print_number() makes of one: "nan", "inf", "-inf". */
bool rgm_json_number(double *out, const rgm_json *json);
/** An entry of an object; `{0}` is before the first. */
typedef struct rgm_json_entry {
    const char *key;
    const rgm_json *value;
    void *place;
} rgm_json_entry;
/** Go to the next entry, in the file's order; false at the end, or where there is no object. */
bool rgm_json_next(rgm_json_entry *entry, const rgm_json *object);

/** "text" in quotes; what is not UTF-8 becomes U+FFFD. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_json_print_text(rgm_text *out, const char *text);
/**
 * Shortest decimals that read back to the same double, always with '.' or 'e'; "nan", "inf" and
 * "-inf" in quotes, because JSON has no such numbers.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_json_print_number(rgm_text *out, double number);

/* ---- log and clock ------------------------------------------------------------------------- */

enum { RGM_LOG_ERROR, RGM_LOG_WARNING, RGM_LOG_INFO, RGM_LOG_DEBUG };
/** Where messages go, one call at a time, from any thread. */
typedef void rgm_log_sink(int level, const char *message, void *payload);
/**
 * A log with its sinks: a run has one, so that two runs of one process do not write into each
 * other's files. NULL is the process' own, whose sinks get what any thread writes.
 */
typedef struct rgm_logger rgm_logger;
/** One without a sink. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_logger_create(rgm_logger **out);
rgm_logger *rgm_logger_retain(rgm_logger *log);
void rgm_logger_release(rgm_logger *log);
/** No call of a sink runs any more when removing it returns. RGM_ERR_ARG: more than 32 sinks. */
rgm_status rgm_logger_add_sink(rgm_logger *log, rgm_log_sink *sink, void *payload);
void rgm_logger_remove_sink(rgm_logger *log, rgm_log_sink *sink, void *payload);
/**
 * From here on this thread works for `log`, until it enters the one that is returned again. Work
 * that is handed to other threads (a pool, a pipeline) takes the log along.
 */
rgm_logger *rgm_logger_enter(rgm_logger *log);
rgm_logger *rgm_logger_current(void);
/** To the sinks of this thread's log and of the process; dropped where there is none. */
void rgm_log_write(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));

double rgm_now(void);       /* seconds, monotonic            */
double rgm_wall_time(void); /* seconds since 1970, wall clock */

/* ---- random numbers ------------------------------------------------------------------------ */

/**
 * Philox4x32-10 (Salmon et al., SC'11): a function of (key, counter), no hidden state. A stream is
 * keyed by the run's seed and a name; `step` and the element index are the counter. So the same
 * draw comes out on any thread, after any resume.
 */
typedef struct rgm_rng {
    uint32_t key[2];
    uint64_t step; /* high half of the counter */
} rgm_rng;
rgm_rng rgm_rng_stream(uint64_t seed, const char *name, uint64_t step);
/** Four 32-bit words of block `block` of the stream. */
void rgm_rng_block(const rgm_rng *rng, uint64_t block, uint32_t out[4]);
/** Word `i` of the stream (word i % 4 of block i / 4). */
uint32_t rgm_rng_u32(const rgm_rng *rng, uint64_t i);
/** Uniform in [0, 1) with 24 / 53 random bits; element i. */
float rgm_rng_f32(const rgm_rng *rng, uint64_t i);
double rgm_rng_f64(const rgm_rng *rng, uint64_t i);
/** Standard normal (Box-Muller), element i. */
double rgm_rng_normal(const rgm_rng *rng, uint64_t i);
/** Uniform integer in [0, n), element i, n >= 1, without modulo bias worth 2^-32. */
uint64_t rgm_rng_below(const rgm_rng *rng, uint64_t i, uint64_t n);
/** order[0..n) = a uniformly random permutation of 0..n-1. */
void rgm_rng_permutation(const rgm_rng *rng, int64_t *order, int64_t n);

/**
 * A key for draws that nobody may foretell: the noise of private training. The stream is ChaCha20's
 * (Bernstein 2008), a function of (key, stream, block).
 */
typedef struct rgm_secret {
    uint32_t key[8];
} rgm_secret;
/** A key from the system's random source. RGM_ERR_IO: it gives none; *out is then zeros. */
rgm_status rgm_secret_draw(rgm_secret *out);
/** The same key for the same seed, so no secret from who knows the seed: to repeat a run. */
rgm_secret rgm_secret_from_seed(uint64_t seed);
/** Sixteen 32-bit words: block `block` of stream `stream`. */
void rgm_secret_block(const rgm_secret *secret, uint64_t stream, uint64_t block, uint32_t out[16]);
#define RGM_SECRET_NORMALS 8
/** The same block as standard normal numbers (Box-Muller). */
void rgm_secret_normals(const rgm_secret *secret, uint64_t stream, uint64_t block,
                        double out[RGM_SECRET_NORMALS]);

/* ---- eigenvalues --------------------------------------------------------------------------- */

/**
 * The eigenvectors of a symmetric matrix by Householder's reflections and implicitly shifted
 * rotations (Golub & Van Loan 2013, 8.3): about 4/3 n^3 steps for the values alone, 6 n^3 with
 * vectors. Values are within some 1e-15 of the largest one, whatever their own size. One thread,
 * no memory of its own, always the same bits.
 *
 * @param values   [out] [n], ascending
 * @param vectors  [out] [n, n], of length 1, by rows; NULL: values alone
 * @param a        [in] [n, n], destroyed
 * @param work     [3 n]
 *
 * Errors: RGM_ERR_NUMERIC (an entry that is no finite number).
 */
rgm_status rgm_symmetric_eigen(double *values, double *vectors, double *a, double *work, int64_t n);

/* ---- hashing ------------------------------------------------------------------------------- */

uint64_t rgm_hash64(const void *data, size_t size); /* XXH3 */
/** CRC-32C (Castagnoli), SSE4.2 with three streams where there is one; crc = 0 to begin. */
uint32_t rgm_crc32c(uint32_t crc, const void *data, size_t size);

/* ---- threads ------------------------------------------------------------------------------- */

/** Processors that this process may run on: its affinity mask, as taskset and Slurm set it. */
int rgm_processors(void);

/**
 * Threads that parallel loops may use from now on, >= 1, the caller's among them; at first
 * rgm_processors(). Does not change any result. Loops begun by several threads at once share one
 * pool: who finds it taken works alone.
 */
void rgm_threads_set(int threads);
int rgm_threads(void);

/** Items [begin, end) of some work; called from several threads at once. */
typedef void rgm_range_work(void *payload, int64_t begin, int64_t end);

/**
 * Run `work` over 0..items-1 on those threads, each item once, in any order: what an item is must
 * not depend on the number of threads, and items must not touch each other's results. `item_ns` is
 * a rough cost of one item in nanoseconds: work too small to pay for handing it out stays with the
 * caller. All arithmetic of the library is shared out by this loop; there is no other pool for it.
 */
void rgm_parallel(int64_t items, double item_ns, rgm_range_work *work, void *payload);

/** Threads for jobs that wait, on files and queues: those of the input pipeline. Arithmetic is
 * rgm_parallel()'s. */
typedef struct rgm_thread_pool rgm_thread_pool;
/** So many threads, at least 1. Errors: RGM_ERR_ARG, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_thread_pool_create(rgm_thread_pool **out, int threads);
/** Waits for what was submitted, then joins. */
void rgm_thread_pool_release(rgm_thread_pool *pool);
/** Run `work(payload)` in one of the threads, in order of submission. RGM_ERR_NOMEM. */
rgm_status rgm_thread_pool_submit(rgm_thread_pool *pool, void (*work)(void *payload),
                                  void *payload);

/** A bounded queue of pointers between threads. */
typedef struct rgm_queue rgm_queue;
/** Room for `capacity` items, at least 1. Errors: RGM_ERR_ARG, RGM_ERR_NOMEM. */
rgm_status rgm_queue_create(rgm_queue **out, int64_t capacity);
/** The items left inside are the caller's to drain before. */
void rgm_queue_release(rgm_queue *queue);
/** Wait for room / for an item. RGM_END once the queue is closed (pop: and empty); never fails. */
rgm_status rgm_queue_push(rgm_queue *queue, void *item);
rgm_status rgm_queue_pop(rgm_queue *queue, void **item);
/** RGM_END at once when empty; never fails. */
rgm_status rgm_queue_try_pop(rgm_queue *queue, void **item);
void rgm_queue_close(rgm_queue *queue);

/* ---- files --------------------------------------------------------------------------------- */

/** "folder/name", rgm_free() it: RGM_ERR_NOMEM. Whether there is anything, or a folder, at a path.
 */
rgm_status rgm_path_join(char **out, const char *folder, const char *name);
bool rgm_path_exists(const char *path);
bool rgm_path_is_folder(const char *path);
/**
 * RGM_ERR_IO when a named pipe lies in the place of a file: it may have no writer, and who opens it
 * would wait without end. Pipes of the caller, below /dev/ and /proc/ (/dev/stdin, /dev/fd/63), are
 * no error, nor is a path where nothing is.
 */
rgm_status rgm_path_refuse_pipe(const char *path);
/** mkdir -p. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM. */
rgm_status rgm_folder_make(const char *path);
/**
 * Names in a folder (without . and ..), sorted; release with rgm_names_release().
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_folder_list(char ***names, int64_t *count, const char *path);
void rgm_names_release(char **names, int64_t count);
/**
 * Remove a folder and what is in it; symbolic links are removed, never followed.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO.
 */
rgm_status rgm_folder_remove(const char *path);
rgm_status rgm_folder_sync(const char *path); /* fsync */
/**
 * Give the folder `made`, whose files are synced, the name `path` beside it, in one step, and sync
 * that. What stood there before has the name `made` afterwards, for the caller to remove.
 * Errors: RGM_ERR_IO, RGM_ERR_NOT_FOUND, RGM_ERR_NOMEM.
 */
rgm_status rgm_folder_publish(const char *made, const char *path);
/** Names that match a shell pattern, sorted; RGM_ERR_NOT_FOUND when none does. */
rgm_status rgm_glob(char ***names, int64_t *count, const char *pattern);

/** The whole file, no named pipe; data[size] is 0. RGM_ERR_FORMAT: more than max_size bytes. */
rgm_status rgm_file_load(char **data, int64_t *size, const char *path, int64_t max_size);
/** Written beside, synced, renamed, folder synced: afterwards the old content or the new, never
 * less. What a link leads to is saved, the link stays; a device or a pipe is written into.
 * RGM_ERR_IO for a folder. What killed processes left beside it is removed (rgm_path_sweep()). */
rgm_status rgm_file_save(const char *path, const void *data, int64_t size);
/**
 * The same for a file of a folder that is ours by a fixed name, as config.yaml of a run: what is no
 * plain file there is refused, so that nothing of somebody's is overwritten behind a link.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_file_save_own(const char *path, const void *data, int64_t size);
/**
 * Remove what processes of this machine that are gone have left beside `path`: its
 * path.tmp-<pid>-<number> of rgm_file_save() and path.partial-<pid>, a file or a folder. One that
 * cannot be removed is told to the log.
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgm_path_sweep(const char *path);
/**
 * Remove what killed processes left behind in rgm_file_save(): files named *.tmp-<pid>-<number>.
 * Only for who owns the folder: another process may be saving. One that cannot be removed is told
 * to the log.
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM.
 */
rgm_status rgm_folder_sweep(const char *path);
/**
 * Plain write of a new file, synced (O_EXCL): for folders that are renamed as a whole.
 * Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO.
 */
rgm_status rgm_file_create(const char *path, const void *data, int64_t size);
/**
 * All of `size` bytes to a descriptor, through EINTR and short writes; `path` is for the message.
 * Errors: RGM_ERR_IO.
 */
rgm_status rgm_write_all(int fd, const void *data, int64_t size, const char *path);
/**
 * fsync through EINTR. After a failure the file must not be synced again: the kernel may have
 * dropped the pages, and would report success.
 * Errors: RGM_ERR_IO.
 */
rgm_status rgm_sync(int fd, const char *path);

/** A file mapped for reading. A file truncated while mapped raises SIGBUS: see rgm_file_load(). */
typedef struct rgm_mapped_file {
    const uint8_t *data;
    int64_t size;
    bool is_guarded;  /* by rgm_file_map_guarded() */
    bool is_borrowed; /* the bytes are somebody else's: rgm_file_unmap() leaves them */
} rgm_mapped_file;
/** The whole file; an empty one is no error. Errors: RGM_ERR_NOT_FOUND, RGM_ERR_IO. */
rgm_status rgm_file_map(rgm_mapped_file *file, const char *path);
/**
 * The same of a file that stays mapped for long: what is cut off of it meanwhile, or cannot be
 * read, reads as zeros instead of ending the process, and rgm_mapped_file_is_cut() says so from
 * then on. So its reader believes nothing that it reads and asks before it tells a result. Each
 * call takes SIGBUS for the process if it has not; a signal that is of no such file goes to whom it
 * went before. A handler that a program sets later has to hand on what is not its own. Errors:
 * RGM_ERR_NOT_FOUND, RGM_ERR_IO, RGM_ERR_BUSY (256 are mapped so).
 */
rgm_status rgm_file_map_guarded(rgm_mapped_file *file, const char *path);
bool rgm_mapped_file_is_cut(const rgm_mapped_file *file);
void rgm_file_unmap(rgm_mapped_file *file);

/* ---- YAML ---------------------------------------------------------------------------------- */

typedef enum rgm_yaml_kind { RGM_YAML_SCALAR, RGM_YAML_LIST, RGM_YAML_MAP } rgm_yaml_kind;

/**
 * A node of a YAML document: plain data with the place it came from. Types are the schema's matter,
 * so scalars are text (`1e-4` and `no` are not guessed at). All nodes belong to their document.
 */
typedef struct rgm_yaml_node {
    rgm_yaml_kind kind;
    const char *key;    /* in a map: this entry's key, else NULL */
    const char *text;   /* scalar: its text                      */
    bool quoted;        /* scalar: in quotes or of several lines */
    int line, column;   /* 1-based                               */
    const char *origin; /* file name, "--set" or "$VARIABLE"     */
    struct rgm_yaml_node **items;
    int64_t count; /* of items                              */
} rgm_yaml_node;

typedef struct rgm_yaml rgm_yaml;
/**
 * Parse one document; an empty one is an empty map. At most 1 MiB, 64 levels and 100,000 values;
 * anchors, aliases, tags and duplicate keys are refused. Errors are RGM_ERR_CONFIG with
 * "name:line:column: ...".
 */
rgm_status rgm_yaml_parse(rgm_yaml **out, const char *text, int64_t size, const char *name);
rgm_status rgm_yaml_load(rgm_yaml **out, const char *path);
void rgm_yaml_release(rgm_yaml *yaml);
rgm_yaml_node *rgm_yaml_root(const rgm_yaml *yaml);
/** Child of a map by key, NULL if absent. */
rgm_yaml_node *rgm_yaml_find(const rgm_yaml_node *node, const char *key);
/**
 * Set the value at a dotted path ("trainer.epochs") to a YAML text, making maps on the way; the new
 * nodes' origin is `origin`. For --set and for overlays.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_yaml_set(rgm_yaml *yaml, const char *path, const char *value, const char *origin);
/**
 * Lay `over` upon `yaml`: maps merge, all else is replaced. `over` must outlive nothing: copied.
 * After RGM_ERR_NOMEM `yaml` is a document still, with part of `over` in it.
 */
rgm_status rgm_yaml_merge(rgm_yaml *yaml, const rgm_yaml *over);
/** The document as YAML text that parses to the same document. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_yaml_print(rgm_text *out, const rgm_yaml_node *node);
/** A node on one line, without its end: `3`, `"a b"`, `[1, 2]`, `{type: onnx}`. `inside` brackets,
 * or as a key, a comma or a bracket would end a text. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_yaml_print_flow(rgm_text *out, const rgm_yaml_node *node, bool inside);

/* ---- options from YAML ----------------------------------------------------------------------- */

/**
 * One key of an options struct: struct field = config key = documentation. A table of these, ended
 * by {0}, lets a map of an experiment file fill a struct whose defaults were set before.
 */
typedef enum rgm_field_kind {
    RGM_FIELD_INT,      /* int64_t                                              */
    RGM_FIELD_FLOAT,    /* double                                               */
    RGM_FIELD_BOOL,     /* bool: true or false                                  */
    RGM_FIELD_TEXT,     /* const char *                                         */
    RGM_FIELD_CHOICE,   /* an enum: one of choices                              */
    RGM_FIELD_INTS,     /* rgm_ints: a list, or one number                      */
    RGM_FIELD_FLOATS,   /* rgm_floats: a list, or one number                    */
    RGM_FIELD_TEXTS,    /* rgm_texts: a list, or one text                       */
    RGM_FIELD_NUMBERS,  /* rgm_numbers: a map of any keys to numbers            */
    RGM_FIELD_LISTS,    /* rgm_lists: a map of any keys to lists of texts       */
    RGM_FIELD_GROUP,    /* a struct inside, described by `group`                */
    RGM_FIELD_SECTIONS, /* rgm_sections: a list of maps with a `type` each     */
    RGM_FIELD_NODE      /* const rgm_yaml_node *: kept as it is, read by others */
} rgm_field_kind;

typedef struct rgm_ints {
    const int64_t *items;
    int64_t count;
} rgm_ints;
typedef struct rgm_floats {
    const double *items;
    int64_t count;
} rgm_floats;
typedef struct rgm_texts {
    const char *const *items;
    int64_t count;
} rgm_texts;
/** Numbers by name, in the file's order. */
typedef struct rgm_numbers {
    const char *const *names;
    const double *values;
    int64_t count;
} rgm_numbers;

/** Lists of texts by name, in the file's order. */
typedef struct rgm_lists {
    const char *const *names;
    const rgm_texts *items;
    int64_t count;
} rgm_lists;

/** One of a list of sections: what its `type` names, and its options. */
typedef struct rgm_section {
    const struct rgm_section_type *type;
    const void *options;       /* NULL: the type has none                            */
    const rgm_yaml_node *node; /* what was read of a file; NULL: a program filled it */
} rgm_section;
typedef struct rgm_sections {
    const rgm_section *items;
    int64_t count;
} rgm_sections;

/** Bounds that leave out the number itself: the first double above 0, the last below 1. */
#define RGM_ABOVE_0 0x1p-1074
#define RGM_BELOW_1 (1 - 0x1p-53)

typedef struct rgm_field {
    const char *name;
    rgm_field_kind kind;
    size_t offset;              /* of the member in the struct                    */
    double min, max;            /* numbers; no bounds when both are 0             */
    const char *const *choices; /* RGM_FIELD_CHOICE: ended by NULL ...            */
    const int *values;          /* ... and what they stand for; NULL: 0, 1, ...   */
    const struct rgm_field *group;
    const struct rgm_section_type *const *sections; /* RGM_FIELD_SECTIONS: ended by NULL */
    const char *help; /* one line; with the unit                        */
} rgm_field;

/*
 * Rows of a table whose key is the member's own name. RGM_OPTIONS is to be defined as the struct
 * around the table; a member of another type than the row's kind does not compile.
 *
 *     #define RGM_OPTIONS rgm_mlp_options
 *     static const rgm_field fields[] = {
 *         RGM_FLOAT_FIELD(dropout, 0, 0.999, "rate behind each layer"),
 *         {0}};
 *     #undef RGM_OPTIONS
 */
#define RGM_MEMBER_(member) (((RGM_OPTIONS *)0)->member)
#define RGM_AT_(member, ...)                                                                       \
    (offsetof(RGM_OPTIONS, member) + 0 * sizeof(_Generic(&RGM_MEMBER_(member), __VA_ARGS__ * : 0)))
#define RGM_ROW_(member, field_kind, at, text, ...)                                                \
    {                                                                                              \
        .name = #member, .kind = (field_kind), .offset = (at), .help = (text), __VA_ARGS__         \
    }
#define RGM_INT_FIELD(member, low, high, text)                                                     \
    RGM_ROW_(member, RGM_FIELD_INT, RGM_AT_(member, int64_t), text, .min = (low), .max = (high))
#define RGM_FLOAT_FIELD(member, low, high, text)                                                   \
    RGM_ROW_(member, RGM_FIELD_FLOAT, RGM_AT_(member, double), text, .min = (low), .max = (high))
#define RGM_BOOL_FIELD(member, text)                                                               \
    RGM_ROW_(member, RGM_FIELD_BOOL, RGM_AT_(member, bool), text, .group = NULL)
#define RGM_TEXT_FIELD(member, text)                                                               \
    RGM_ROW_(member, RGM_FIELD_TEXT, RGM_AT_(member, const char *), text, .group = NULL)
/** An enum, by the names of its values in order. */
#define RGM_CHOICE_FIELD(member, names, text) RGM_SOME_FIELD(member, names, NULL, text)
/** Some values of an enum, by their names. */
#define RGM_SOME_FIELD(member, names, which, text)                                                 \
    RGM_ROW_(member, RGM_FIELD_CHOICE,                                                             \
             offsetof(RGM_OPTIONS, member) +                                                       \
                 0 * sizeof(char[sizeof RGM_MEMBER_(member) == sizeof(int) ? 1 : -1]),             \
             text, .choices = (names), .values = (which))
#define RGM_INTS_FIELD(member, low, high, text)                                                    \
    RGM_ROW_(member, RGM_FIELD_INTS, RGM_AT_(member, rgm_ints), text, .min = (low), .max = (high))
#define RGM_FLOATS_FIELD(member, low, high, text)                                                  \
    RGM_ROW_(member, RGM_FIELD_FLOATS, RGM_AT_(member, rgm_floats), text, .min = (low),            \
             .max = (high))
#define RGM_TEXTS_FIELD(member, text)                                                              \
    RGM_ROW_(member, RGM_FIELD_TEXTS, RGM_AT_(member, rgm_texts), text, .group = NULL)
#define RGM_NUMBERS_FIELD(member, low, high, text)                                                 \
    RGM_ROW_(member, RGM_FIELD_NUMBERS, RGM_AT_(member, rgm_numbers), text, .min = (low),          \
             .max = (high))
#define RGM_LISTS_FIELD(member, text)                                                              \
    RGM_ROW_(member, RGM_FIELD_LISTS, RGM_AT_(member, rgm_lists), text, .group = NULL)
/** A struct inside with a table of its own. */
#define RGM_GROUP_FIELD(member, fields, text)                                                      \
    RGM_ROW_(member, RGM_FIELD_GROUP, offsetof(RGM_OPTIONS, member), text, .group = (fields))

/** A list of maps, each with the `type` of a row of `rows`. */
#define RGM_SECTIONS_FIELD(member, rows, text)                                                     \
    RGM_ROW_(member, RGM_FIELD_SECTIONS, RGM_AT_(member, rgm_sections), text, .sections = (rows))

/**
 * Fill `options` from the entries of `map` (NULL: nothing to do). Unknown key, wrong type, number
 * out of bounds: RGM_ERR_CONFIG with "origin:line:column: unknown key 'trian.epochs'; did you mean
 * 'trainer.epochs'?". `path` is the dotted path of `map` ("trainer"); keys listed in `also` (ended
 * by NULL, may be NULL) belong to somebody else and are passed over. Text and lists live in
 * `arena`.
 */
rgm_status rgm_options_read(void *options, const rgm_field *fields, const rgm_yaml_node *map,
                            const char *path, const char *const *also, rgm_arena *arena);
/**
 * The same bounds for options that a program filled in: every number of the table (lists and groups
 * too) is finite and within them, every choice is one. RGM_ERR_CONFIG "optimizer.beta_1 is 1, but
 * must be in [0, 1)".
 */
rgm_status rgm_options_check(const void *options, const rgm_field *fields, const char *path);
/** The name of a choice's value; NULL: it has none. */
const char *rgm_field_choice(const rgm_field *field, int value);
/** One scalar as a number: RGM_ERR_CONFIG with its place. "1e-4" is a number, underscores are not.
 */
rgm_status rgm_yaml_int(int64_t *out, const rgm_yaml_node *node);
rgm_status rgm_yaml_float(double *out, const rgm_yaml_node *node);
rgm_status rgm_yaml_bool(bool *out, const rgm_yaml_node *node);
/** RGM_ERR_CONFIG "origin:line:column: <text>". */
rgm_status rgm_yaml_fail(const rgm_yaml_node *node, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * One `type` of a section of an experiment file with the keys that then stand beside it. Rows of
 * models, kinds of tasks, exporters and actions begin with it and add functions.
 */
typedef struct rgm_section_type {
    const char *name;
    const char *help;
    size_t options_size;
    void (*defaults)(void *options); /* of zeroed options; NULL: zeros */
    const rgm_field *fields;
    /** RGM_ERR_CONFIG when options contradict each other or lack something; reads no data. May be
     * NULL. */
    rgm_status (*check)(const void *options);
} rgm_section_type;
/** Of a list that NULL ends; NULL if it has none of that name. */
const rgm_section_type *rgm_section_type_find(const rgm_section_type *const *types,
                                              const char *name);
/**
 * The `type` that the map of a section has, one of names [count]. RGM_ERR_CONFIG that lists them;
 * `path` is the section's.
 */
rgm_status rgm_yaml_type(const char **out, const rgm_yaml_node *section, const char *path,
                         const char *const *names, int64_t count);
/**
 * The options of a section by its row: made in `arena` with their defaults, read as by
 * rgm_options_read(), checked with the place of `map`. *out is NULL where the row has none.
 * Errors: RGM_ERR_CONFIG, RGM_ERR_NOMEM.
 */
rgm_status rgm_section_type_read(void **out, const rgm_section_type *type, const rgm_yaml_node *map,
                                 const char *path, const char *const *also, rgm_arena *arena);
/** What a check without a place found, with the place of a node; NULL: it has none. Errors: the
 * one that it is given. */
rgm_status rgm_yaml_place(rgm_status status, const rgm_yaml_node *node);

/** A text that is a decimal or "inf". */
bool rgm_number_parse(double *out, const char *text);

/* ---- rules between keys ---------------------------------------------------------------------- */

/** A key (and all below it) that says nothing unless `needs` holds: "trainer.train_steps == 0"; of
 * several with " or " between, one. Of several rows for a key all must. Behind "; " stands what is
 * set in its place, for who reads that it has no effect. */
typedef struct rgm_effect {
    const char *key, *needs;
} rgm_effect;

/**
 * What must hold where all of `when` do: "KEY RELATION KEY|CONSTANT" with ==, !=, <, <=, >, >=,
 * multiple_of, excludes (not both given). A rule or a condition whose first key there is not says
 * nothing. "ogb|folder" is either.
 */
typedef struct rgm_rule {
    const char *text;    /* "trainer.summary_interval multiple_of trainer.steps_per_loop" */
    const char *when[2]; /* NULL: always */
    const char *why;     /* may be NULL  */
} rgm_rule;

/** A key's value as rules see it; texts are borrowed. */
typedef struct rgm_rule_value {
    const char *text;          /* "3"; "[]", "[...]" for lists; NULL: not set    */
    const char *shown;         /* in messages; NULL: text                        */
    const char *where;         /* "FILE:line", "default"; NULL: not told         */
    const rgm_yaml_node *node; /* the place of messages about it; NULL: none     */
    bool given, is_list;       /* given: somebody set it                         */
} rgm_rule_value;

/** Whose keys rules are about. */
typedef struct rgm_rule_keys {
    bool (*find)(rgm_rule_value *out, const char *key, void *payload); /* false: there is none */
    /* For rgm_rule_check_text() alone: */
    bool (*looks_like_one)(const char *text);
    rgm_hint (*did_you_mean)(const char *text, void *payload);
    void *payload;
} rgm_rule_keys;

/** Whether a condition holds; `otherwise` where its first key there is not. NULL holds. */
bool rgm_rule_holds(const char *text, bool otherwise, const rgm_rule_keys *keys);
/** Every rule of a table that {0} ends. RGM_ERR_CONFIG: the first that does not hold, with both
 * values. */
rgm_status rgm_rules_check(const rgm_rule *rules, const rgm_rule_keys *keys);
/** Its form alone: RGM_ERR_CONFIG at its place when it is no rule or names a key that is not. */
rgm_status rgm_rule_check_form(const rgm_yaml_node *node, const rgm_rule_keys *keys);
/** A rule out of a file: RGM_ERR_CONFIG at its place when it does not hold or is none. */
rgm_status rgm_rule_check_text(const rgm_yaml_node *node, const char *why,
                               const rgm_rule_keys *keys);
/**
 * A table over options that a program filled in; what differs from `defaults` is given.
 * Errors: those of rgm_rules_check().
 */
rgm_status rgm_options_check_rules(const rgm_rule *rules, const void *options, const void *defaults,
                                   const rgm_field *fields, const char *path);

#ifdef __cplusplus
}
#endif
#endif
