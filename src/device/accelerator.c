/*
 * A device that is reached through a driver: what is the same for OpenCL and CUDA. One lock keeps
 * its calls apart, so threads may share it; what they queue runs in the order of their calls.
 */
#include "device_internal.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
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

/* Copies go through memory that the device reads by itself, so that the caller need not wait. */
enum { SLOTS = 4, SLOT_BYTES = 4 << 20, PIECE_BYTES = 128 << 10, LAST = 4 };

typedef struct slot {
    void *host, *handle; /* NULL: not yet */
    void *event;         /* behind its copies, NULL: none is under way */
    size_t used;
} slot;

/** The slots of one queue. */
typedef struct lane {
    rgm_device_queue queue;
    slot slots[SLOTS];
    int slot; /* that is being filled */
} lane;

typedef struct accelerator {
    rgm_device_type type; /* its own: named as the driver */
    const rgmi_driver *driver;
    void *state;
    rgmi_device_facts facts;
    char about[192];
    pthread_mutex_t lock;
    rgmi_pool *pool;
    lane lanes[2]; /* by queue */
    rgm_program *programs;
    rgmi_device_threads threads;         /* flags and errors of kernels, by thread */
    rgm_error lost;                      /* status RGM_OK: it is not; it stays     */
    const rgm_device_kernel *last[LAST]; /* that were launched, since the device was waited for */
    int64_t launched;
    bool waits;              /* after each launch */
    rgmi_recorder *recorder; /* holds launches back; NULL: each is launched at once */
} accelerator;

/* ---- errors -------------------------------------------------------------------------------- */

/* A driver's RGM_ERR_IO is the end of a device: nothing that is on it can be trusted. */
static rgm_status checked(accelerator *a, rgm_status status)
{
    char kernels[400] = "no kernel was running";
    size_t at = 0;

    if (status != RGM_ERR_IO || a->lost.status != RGM_OK)
        return status;
    for (int64_t i = a->launched < LAST ? 0 : a->launched - LAST; i < a->launched; i++) {
        const rgm_device_kernel *k = a->last[i % LAST];
        int n = snprintf(kernels + at, sizeof kernels - at, "%s%s of %s.dev",
                         at > 0 ? ", " : "the last kernels were ", k->name, k->program->name);
        at = n < 0 || (size_t)n >= sizeof kernels - at ? sizeof kernels - 1 : at + (size_t)n;
    }
    rgm_error_prefix(status, "%s is lost; %s%s", a->about, kernels,
                     a->launched > 1 && !a->waits
                         ? " (REGIMEN_DEVICE_WAIT=1 waits for each, and names the one)"
                         : "");
    rgm_error_save(&a->lost, status);
    a->lost.system = ENODEV;
    return rgm_error_restore(&a->lost);
}

/* The first error that this thread has not been told, told. */
static rgm_status tell(accelerator *a)
{
    if (a->lost.status != RGM_OK)
        return rgm_error_restore(&a->lost);
    return rgmi_device_threads_tell(&a->threads);
}

/* Locks, and says whether the device is still there. */
static rgm_status enter(accelerator **out, const rgm_device *device)
{
    *out = rgm_device_payload(device);
    pthread_mutex_lock(&(*out)->lock);
    return (*out)->lost.status != RGM_OK ? rgm_error_restore(&(*out)->lost) : RGM_OK;
}

static rgm_status leave(accelerator *a, rgm_status status)
{
    status = checked(a, status);
    pthread_mutex_unlock(&a->lock);
    return status;
}

/* ---- launches that are held back ------------------------------------------------------------ */

static rgm_status name_launch(rgm_status status, const rgmi_kernel_call *l)
{
    const rgm_device_kernel *kernel = l->tag;

    return rgm_error_prefix(status, "kernel %s of %s.dev, %lld groups of %d lanes", kernel->name,
                            kernel->program->name, (long long)l->groups, l->lanes);
}

/* They run before whatever else is queued; what fails is told later, as of any launch. They may be
 * of several threads, and behind one that failed none has run. */
static void flush(void *payload)
{
    accelerator *a = payload;
    const rgmi_kernel_call *failed;
    rgm_status status;

    if (a->recorder == NULL)
        return;
    status = rgmi_recorder_flush(&failed, a->recorder);
    if (status != RGM_OK) {
        if (failed != NULL)
            status = name_launch(status, failed);
        rgmi_device_threads_fault_all(&a->threads, checked(a, status));
    }
    rgmi_recorder_drop(a->recorder);
}

rgmi_replays rgmi_accelerator_replays(const rgm_device *device)
{
    const accelerator *a = rgm_device_payload(device);

    return a->recorder != NULL ? rgmi_recorder_replays(a->recorder) : (rgmi_replays){0};
}

/* ---- memory -------------------------------------------------------------------------------- */

static rgm_status allocate(void **out, rgm_device *device, size_t bytes)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK)
        status = rgmi_pool_take(out, a->pool, bytes);
    return leave(a, status);
}

static void give_back(rgm_device *device, void *memory)
{
    accelerator *a;
    size_t bytes;

    (void)enter(&a, device);
    bytes = rgmi_pool_give(a->pool, memory);
    rgmi_device_threads_forget(&a->threads, memory, bytes);
    if (bytes == 0)
        rgmi_device_threads_fault(
            &a->threads, RGM_FAIL(RGM_ERR_ARG, "%p was not allocated on %s", memory, a->about));
    pthread_mutex_unlock(&a->lock);
}

static rgm_device_memory memory_of(rgm_device *device)
{
    accelerator *a;
    rgm_device_memory memory;

    (void)enter(&a, device);
    memory = rgmi_pool_memory(a->pool);
    pthread_mutex_unlock(&a->lock);
    return memory;
}

static void limit_memory(rgm_device *device, size_t bytes)
{
    accelerator *a;

    (void)enter(&a, device);
    rgmi_pool_limit(a->pool, bytes);
    pthread_mutex_unlock(&a->lock);
}

/* ---- copies -------------------------------------------------------------------------------- */

/* The slot that is filled next, once what it held before has arrived. */
static rgm_status next_slot(accelerator *a, lane *l)
{
    slot *s = &l->slots[l->slot];
    rgm_status status = RGM_OK;

    if (s->used > 0)
        RGM_TRY(a->driver->mark(&s->event, a->state, l->queue));
    l->slot = (l->slot + 1) % SLOTS;
    s = &l->slots[l->slot];
    if (s->event != NULL) {
        status = a->driver->reach(a->state, s->event);
        a->driver->forget(a->state, s->event);
    }
    s->event = NULL;
    s->used = 0;
    return status;
}

typedef struct pieces {
    char *to;
    const char *from;
    size_t bytes;
} pieces;

static void copy_pieces(void *payload, int64_t begin, int64_t end)
{
    const pieces *p = payload;
    size_t from = (size_t)begin * PIECE_BYTES, to = (size_t)end * PIECE_BYTES;

    memcpy(p->to + from, p->from + from, (to < p->bytes ? to : p->bytes) - from);
}

/* One thread fills a slot more slowly than the device reads one. */
static void fill_slot(char *to, const char *from, size_t bytes)
{
    pieces p = {to, from, bytes};

    rgm_parallel((int64_t)((bytes + PIECE_BYTES - 1) / PIECE_BYTES), PIECE_BYTES * 0.1, copy_pieces,
                 &p);
}

/* A slot with room for `least` bytes at its end. */
static rgm_status slot_with(slot **out, accelerator *a, lane *l, size_t least)
{
    *out = &l->slots[l->slot];
    if ((*out)->used + least > SLOT_BYTES) {
        RGM_TRY(next_slot(a, l));
        *out = &l->slots[l->slot];
    }
    return (*out)->host != NULL
               ? RGM_OK
               : a->driver->pin(&(*out)->host, &(*out)->handle, a->state, SLOT_BYTES);
}

/* What was filled in behind the used bytes. */
static rgm_status send_filled(accelerator *a, lane *l, slot *s, char *to, size_t bytes)
{
    RGM_TRY(a->driver->write(a->state, l->queue, to, (char *)s->host + s->used, bytes));
    s->used += (bytes + 63) / 64 * 64;
    return RGM_OK;
}

static rgm_status send(accelerator *a, rgm_device_queue queue, char *to, const char *from,
                       size_t bytes)
{
    lane *l = &a->lanes[queue];

    if (queue == RGM_DEVICE_KERNELS)
        flush(a);
    while (bytes > 0) {
        slot *s;
        size_t n;
        RGM_TRY(slot_with(&s, a, l, 1));
        n = SLOT_BYTES - s->used < bytes ? SLOT_BYTES - s->used : bytes;
        fill_slot((char *)s->host + s->used, from, n);
        RGM_TRY(send_filled(a, l, s, to, n));
        to += n;
        from += n;
        bytes -= n;
    }
    return RGM_OK;
}

static rgm_status copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK)
        status = send(a, RGM_DEVICE_KERNELS, to, from, bytes);
    return leave(a, status);
}

/* Rows of a table on their way into a slot. */
typedef struct picking {
    char *to;
    const rgm_tensor *from;
    int64_t first; /* row of `from` */
    size_t each;
} picking;

static void pick_rows(void *payload, int64_t begin, int64_t end)
{
    const picking *p = payload;

    rgm_tensor_gather(p->to + (size_t)begin * p->each, p->from, p->first + begin, p->first + end);
}

static rgm_status send_rows(accelerator *a, rgm_device_queue queue, char *to,
                            const rgm_tensor *from, size_t each)
{
    lane *l = &a->lanes[queue];
    int64_t rows = rgm_tensor_dim(from, 0), n;

    if (queue == RGM_DEVICE_KERNELS)
        flush(a);
    for (int64_t i = 0; i < rows; i += n) {
        slot *s;
        RGM_TRY(slot_with(&s, a, l, each));
        n = (int64_t)((SLOT_BYTES - s->used) / each);
        n = n < rows - i ? n : rows - i;
        picking p = {(char *)s->host + s->used, from, i, each};
        rgm_parallel(n, (double)each * 0.2, pick_rows, &p);
        RGM_TRY(send_filled(a, l, s, to + (size_t)i * each, (size_t)n * each));
    }
    return RGM_OK;
}

static rgm_status copy_rows(rgm_device *device, rgm_device_queue queue, void *to,
                            const rgm_tensor *from)
{
    size_t bytes = rgm_tensor_bytes(from);
    size_t each = bytes > 0 ? bytes / (size_t)rgm_tensor_dim(from, 0) : 0;
    accelerator *a;
    rgm_status status;

    if (each > SLOT_BYTES)
        return rgm_device_copy_on(device, queue, to, rgm_tensor_data(from), bytes);
    status = enter(&a, device);
    if (status == RGM_OK && each > 0)
        status = send_rows(a, queue, to, from, each);
    return leave(a, status);
}

static rgm_status copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK) {
        flush(a);
        status = tell(a);
    }
    if (status == RGM_OK)
        status = a->driver->read(a->state, to, from, bytes);
    if (status == RGM_OK)
        a->launched = 0;
    return leave(a, status);
}

static rgm_status wait_for(rgm_device *device)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK) {
        flush(a);
        status = a->driver->finish(a->state);
    }
    if (status == RGM_OK) {
        a->launched = 0;
        status = tell(a);
    }
    return leave(a, status);
}

/* ---- the second queue ------------------------------------------------------------------------ */

static rgm_status copy_ahead(rgm_device *device, void *to, const void *from, size_t bytes)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK)
        status = send(a, RGM_DEVICE_COPIES, to, from, bytes);
    return leave(a, status);
}

static rgm_status mark(void **out, rgm_device *device, rgm_device_queue queue)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK && queue == RGM_DEVICE_KERNELS)
        flush(a);
    if (status == RGM_OK)
        status = a->driver->mark(out, a->state, queue);
    return leave(a, status);
}

static rgm_status follow(rgm_device *device, rgm_device_queue queue, void *event)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK && queue == RGM_DEVICE_KERNELS)
        flush(a);
    if (status == RGM_OK)
        status = a->driver->follow(a->state, queue, event);
    return leave(a, status);
}

static void forget(rgm_device *device, void *event)
{
    accelerator *a;

    (void)enter(&a, device);
    a->driver->forget(a->state, event);
    pthread_mutex_unlock(&a->lock);
}

/* ---- programs ------------------------------------------------------------------------------ */

/* From disk, or compiled and saved there. */
static rgm_status make_module(void **module, accelerator *a, const char *name, const char *source,
                              rgm_dtype real)
{
    rgm_text whole = {0}, key = {0}, binary = {0};
    char options[256];
    rgm_status status;

    a->driver->options(options, sizeof options, a->state, real);
    RGM_GO(rgmi_whole_source(&whole, name, source));
    RGM_GO(rgm_text_printf(&key, "%s\n%s\n%s\n%s\n%s", a->driver->name, a->facts.name,
                           a->facts.version, options, whole.data));
    if (rgmi_program_cache_load(&binary, key.data) &&
        a->driver->load(module, a->state, binary.data, binary.size) == RGM_OK)
        goto done;
    rgm_text_clear(&binary);
    RGM_GO(a->driver->compile(module, &binary, a->state, name, whole.data, real));
    rgmi_program_cache_save(key.data, &binary);
done:
    rgm_text_clear(&binary);
    rgm_text_clear(&key);
    rgm_text_clear(&whole);
    return status;
}

static rgm_status make_program(rgm_program **out, accelerator *a, const char *name,
                               const char *source, rgm_dtype real)
{
    rgm_program *program;
    rgm_status status;

    if (real == RGM_F64 && !a->facts.has_doubles)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s computes no doubles", a->about);
    program = rgm_calloc(1, sizeof *program + strlen(name) + 1);
    if (program == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: program %s", name);
    memcpy(program->name, name, strlen(name) + 1);
    program->hash = rgm_hash64(source, strlen(source));
    program->real = real;
    status = make_module(&program->module, a, name, source, real);
    if (status != RGM_OK) {
        rgm_free(program);
        return rgm_error_prefix(status, "%s", a->about);
    }
    program->next = a->programs;
    a->programs = *out = program;
    return RGM_OK;
}

static rgm_status program_for(rgm_program **out, rgm_device *device, const char *name,
                              const char *source, rgm_dtype real)
{
    accelerator *a;
    uint64_t hash = rgm_hash64(source, strlen(source));
    rgm_status status = enter(&a, device);
    rgm_program *p;

    for (p = a->programs; p != NULL; p = p->next)
        if (p->hash == hash && p->real == real && strcmp(p->name, name) == 0)
            break;
    if (p != NULL)
        *out = p;
    else if (status == RGM_OK)
        status = make_program(out, a, name, source, real);
    return leave(a, status);
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
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: kernel %s", name);
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
    accelerator *a;
    rgm_status status = enter(&a, device);

    if (status == RGM_OK)
        status = find_kernel(out, a, program, name);
    return leave(a, status);
}

/* At once, or held back. */
static rgm_status launch_now(accelerator *a, const rgmi_kernel_call *l)
{
    if (l->count > RGM_ARGUMENTS)
        return RGM_FAIL(RGM_ERR_ARG, "%d arguments are more than %d", l->count, RGM_ARGUMENTS);
    if (l->groups > INT32_MAX) /* kernels count them in 32 bits */
        return RGM_FAIL(RGM_ERR_ARG, "too many groups");
    if (a->recorder != NULL) {
        if (rgmi_recorder_is_full(a->recorder))
            flush(a);
        return rgmi_recorder_add(a->recorder, l);
    }
    RGM_TRY(a->driver->launch(a->state, l->kernel, l->groups, l->lanes, l->flag, l->arguments,
                              l->count, l->real));
    return a->waits ? a->driver->finish(a->state) : RGM_OK;
}

static void launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                   const rgm_argument *arguments, int count)
{
    accelerator *a;
    rgm_status status = enter(&a, device);

    /* What comes behind a kernel that could not run would work on what is not there. */
    if (status == RGM_OK && !rgmi_device_threads_have_fault(&a->threads)) {
        const rgmi_kernel_call l = {.kernel = kernel->kernel,
                                    .groups = groups,
                                    .lanes = lanes,
                                    .count = count,
                                    .flag = rgmi_device_threads_flag(&a->threads),
                                    .arguments = arguments,
                                    .real = kernel->program->real,
                                    .tag = kernel};
        a->last[a->launched++ % LAST] = kernel;
        status = launch_now(a, &l);
        if (status != RGM_OK)
            rgmi_device_threads_fault(&a->threads, checked(a, name_launch(status, &l)));
        else if (a->waits)
            a->launched = 0;
    }
    pthread_mutex_unlock(&a->lock);
}

static bool multiply(rgm_device *device, const rgm_product *product, rgm_dtype dtype)
{
    accelerator *a = rgm_device_payload(device);
    rgm_status status;

    if (a->driver->multiply == NULL)
        return false;
    status = enter(&a, device);
    if (status == RGM_OK)
        flush(a);
    if (status == RGM_OK && !rgmi_device_threads_have_fault(&a->threads)) {
        status = a->driver->multiply(a->state, product, dtype);
        if (status == RGM_OK && a->waits)
            status = a->driver->finish(a->state);
        if (status != RGM_OK && status != RGM_ERR_UNSUPPORTED)
            rgmi_device_threads_fault(&a->threads, checked(a, status));
    }
    pthread_mutex_unlock(&a->lock);
    return status != RGM_ERR_UNSUPPORTED;
}

static void watch(rgm_device *device, const void *flag)
{
    accelerator *a;

    (void)enter(&a, device);
    rgmi_device_threads_watch(&a->threads, flag);
    pthread_mutex_unlock(&a->lock);
}

static void fault(rgm_device *device, rgm_status status)
{
    accelerator *a = rgm_device_payload(device);

    pthread_mutex_lock(&a->lock);
    rgmi_device_threads_fault(&a->threads, status);
    pthread_mutex_unlock(&a->lock);
}

/* ---- a device ------------------------------------------------------------------------------ */

static void close_slots(accelerator *a)
{
    for (int i = 0; i < 2 * SLOTS; i++) {
        slot *s = &a->lanes[i / SLOTS].slots[i % SLOTS];

        if (s->event != NULL)
            a->driver->forget(a->state, s->event);
        if (s->host != NULL)
            a->driver->unpin(a->state, s->host, s->handle);
    }
}

static void close_accelerator(accelerator *a)
{
    rgmi_recorder_release(a->recorder);
    a->recorder = NULL;
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
    close_slots(a);
    rgmi_pool_release(a->pool);
    if (a->state != NULL)
        a->driver->close(a->state);
    rgmi_device_threads_clear(&a->threads);
    pthread_mutex_destroy(&a->lock);
    rgm_free(a);
}

static void release(rgm_device *device)
{
    close_accelerator(rgm_device_payload(device));
}

static const char *about(const rgm_device *device)
{
    return ((accelerator *)rgm_device_payload(device))->about;
}

rgm_status rgmi_accelerator_open(rgm_device **out, const rgmi_driver *driver, int number)
{
    static const rgm_device_compiler compiler = {.program = program_for,
                                                 .find = find,
                                                 .launch = launch,
                                                 .watch = watch,
                                                 .fault = fault,
                                                 .multiply = multiply};
    static const rgm_device_ahead ahead = {
        .copy = copy_ahead, .mark = mark, .follow = follow, .forget = forget};
    const rgm_device_type type = {.name = driver->name,
                                  .allocate = allocate,
                                  .free = give_back,
                                  .copy_to = copy_to,
                                  .copy_from = copy_from,
                                  .copy_rows = copy_rows,
                                  .wait = wait_for,
                                  .compiler = &compiler,
                                  .ahead = &ahead,
                                  .about = about,
                                  .memory = memory_of,
                                  .limit = limit_memory,
                                  .release = release};
    const char *waits = getenv("REGIMEN_DEVICE_WAIT"), *replays = getenv("REGIMEN_DEVICE_REPLAY");
    bool replay = driver->replays ? replays == NULL || strcmp(replays, "0") != 0
                                  : replays != NULL && strcmp(replays, "1") == 0;
    accelerator *a;
    rgm_status status;

    *out = NULL;
    RGM_TRY(RGM_NEW(a, 1));
    a->type = type;
    a->driver = driver;
    a->lanes[RGM_DEVICE_COPIES].queue = RGM_DEVICE_COPIES;
    a->waits = waits != NULL && strcmp(waits, "1") == 0;
    pthread_mutex_init(&a->lock, NULL);
    RGM_GO(rgmi_device_threads_create(&a->threads));
    RGM_GO(driver->facts(&a->facts, number));
    snprintf(a->about, sizeof a->about, "%s:%d (%s)", driver->name, number, a->facts.name);
    RGM_GO(driver->open(&a->state, number));
    RGM_GO(rgmi_pool_create(&a->pool, driver, a->state, &a->facts));
    if (replay && !a->waits) {
        RGM_GO(rgmi_recorder_create(&a->recorder, driver, a->state));
        rgmi_pool_before_give(a->pool, flush, a);
    }
    RGM_GO(rgm_device_create(out, &a->type, a));
done:
    if (status != RGM_OK)
        close_accelerator(a);
    return status;
}
