/*
 * What is the same for every interface, on one that a test can break: its memory is the host's,
 * what is queued runs at once, and it fails when it is told to.
 */
#include "device_internal.h"
#include <check.h>
#include <regimen/device_tensor.h>
#include <errno.h>
#include <pthread.h>

enum { MEBI = 1 << 20 };

static struct fake {
    rgm_status fails; /* of the next call; RGM_OK: none does */
    size_t memory;    /* bytes in all                */
    size_t taken;
    int takes, compiled, launched, finished;
    bool damaged;            /* load() takes no binary */
    size_t written[2];       /* bytes, by queue            */
    int marks;               /* that nobody has forgotten  */
    const void *followed[2]; /* the last mark, by queue   */
    const void *flag;        /* of the last launch        */
    char queues[2];          /* marks are places of these  */
} fake;

static rgm_status may_fail(const char *doing)
{
    rgm_status status = fake.fails;

    fake.fails = RGM_OK;
    return status == RGM_OK ? RGM_OK : RGM_FAIL(status, "fake cannot %s", doing);
}

static rgm_status fake_count(int *out)
{
    *out = 1;
    return RGM_OK;
}

static rgm_status fake_facts(rgmi_device_facts *out, int number)
{
    (void)number;
    *out = (rgmi_device_facts){.name = "Fake 1",
                               .version = "1",
                               .has_doubles = false,
                               .memory = fake.memory,
                               .largest = fake.memory};
    return RGM_OK;
}

static rgm_status fake_open(void **state, int number)
{
    (void)number;
    *state = &fake;
    return may_fail("open");
}

static void fake_close(void *state)
{
    (void)state;
}

static rgm_status fake_take(void **out, void *state, size_t bytes)
{
    (void)state;
    if (fake.taken + bytes > fake.memory)
        return RGM_FAIL(RGM_ERR_NOMEM, "fake memory is spent");
    RGM_TRY(may_fail("allocate"));
    *out = aligned_alloc(256, (bytes + 255) / 256 * 256);
    fake.taken += bytes;
    fake.takes++;
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "no memory");
}

static void fake_give(void *state, void *memory, size_t bytes)
{
    (void)state;
    fake.taken -= bytes;
    free(memory);
}

static size_t fake_available(void *state)
{
    (void)state;
    return fake.memory - fake.taken;
}

static rgm_status fake_pin(void **host, void **handle, void *state, size_t bytes)
{
    (void)state;
    *handle = NULL;
    *host = malloc(bytes);
    return *host != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_NOMEM, "no memory");
}

static void fake_unpin(void *state, void *host, void *handle)
{
    (void)state, (void)handle;
    free(host);
}

static rgm_status fake_read(void *state, void *to, const void *from, size_t bytes)
{
    (void)state;
    RGM_TRY(may_fail("copy"));
    memcpy(to, from, bytes);
    return RGM_OK;
}

static rgm_status fake_write(void *state, rgm_device_queue queue, void *to, const void *from,
                             size_t bytes)
{
    fake.written[queue] += bytes;
    return fake_read(state, to, from, bytes);
}

static rgm_status fake_mark(void **event, void *state, rgm_device_queue queue)
{
    (void)state;
    RGM_TRY(may_fail("mark"));
    *event = &fake.queues[queue];
    fake.marks++;
    return RGM_OK;
}

static rgm_status fake_follow(void *state, rgm_device_queue queue, void *event)
{
    (void)state;
    fake.followed[queue] = event;
    return may_fail("follow");
}

static void fake_forget(void *state, void *event)
{
    (void)state, (void)event;
    fake.marks--;
}

static rgm_status fake_reach(void *state, void *event)
{
    (void)state, (void)event;
    return RGM_OK;
}

static rgm_status fake_finish(void *state)
{
    (void)state;
    fake.finished++;
    return may_fail("wait");
}

static void fake_options(char *out, size_t size, void *state, rgm_dtype real)
{
    (void)state, (void)real;
    snprintf(out, size, "none");
}

static rgm_status fake_compile(void **module, rgm_text *binary, void *state, const char *name,
                               const char *source, rgm_dtype real)
{
    (void)state, (void)name, (void)source, (void)real;
    RGM_TRY(may_fail("compile"));
    *module = &fake;
    fake.compiled++;
    return rgm_text_add(binary, "binary", 7);
}

static rgm_status fake_load(void **module, void *state, const void *binary, int64_t size)
{
    (void)state;
    *module = &fake;
    return !fake.damaged && size == 7 && memcmp(binary, "binary", 7) == 0
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_DATA, "no binary");
}

static void fake_drop(void *state, void *what)
{
    (void)state, (void)what;
}

static rgm_status fake_find(void **kernel, void *state, void *module, const char *name)
{
    (void)state, (void)module;
    *kernel = &fake;
    return strcmp(name, "absent") != 0 ? RGM_OK : RGM_FAIL(RGM_ERR_NOT_FOUND, "no such KERNEL");
}

static rgm_status fake_launch(void *state, void *kernel, int64_t groups, int lanes,
                              const void *flag, const rgm_argument *arguments, int count,
                              rgm_dtype real)
{
    (void)state, (void)kernel, (void)groups, (void)lanes;
    (void)arguments, (void)count, (void)real;
    fake.flag = flag;
    fake.launched++;
    return may_fail("launch");
}

static const rgmi_driver driver = {.name = "fake",
                                   .count = fake_count,
                                   .facts = fake_facts,
                                   .open = fake_open,
                                   .close = fake_close,
                                   .take = fake_take,
                                   .give = fake_give,
                                   .available = fake_available,
                                   .pin = fake_pin,
                                   .unpin = fake_unpin,
                                   .write = fake_write,
                                   .read = fake_read,
                                   .mark = fake_mark,
                                   .reach = fake_reach,
                                   .follow = fake_follow,
                                   .forget = fake_forget,
                                   .finish = fake_finish,
                                   .options = fake_options,
                                   .compile = fake_compile,
                                   .load = fake_load,
                                   .unload = fake_drop,
                                   .find = fake_find,
                                   .drop = fake_drop,
                                   .launch = fake_launch};

/* A device of `mebis` MiB, and a folder of its own for what is compiled. */
static rgm_device *open_fake(size_t mebis)
{
    rgm_device *device;

    fake = (struct fake){.memory = mebis * MEBI};
    CHECK_OK(rgmi_accelerator_open(&device, &driver, 0));
    return device;
}

/* ---- memory -------------------------------------------------------------------------------- */

static void what_is_freed_is_there_for_the_next(void **state)
{
    rgm_device *device = open_fake(100);
    void *a, *b, *c, *d;

    (void)state;
    CHECK_OK(rgm_device_allocate(&a, device, 1000));
    CHECK_OK(rgm_device_allocate(&b, device, 0));
    CHECK_OK(rgm_device_allocate(&c, device, 1000));
    CHECK(a != b && b != c && (uintptr_t)a % 256 == 0 && (uintptr_t)b % 256 == 0);
    CHECK_INT(1, fake.takes); /* small ones share what the driver gave */
    CHECK_INT(1024 + 256 + 1024, rgm_device_memory_of(device).used);
    rgm_device_free(device, a);
    CHECK_OK(rgm_device_allocate(&d, device, 900));
    CHECK(d == a);
    rgm_device_free(device, b);
    rgm_device_free(device, d);
    rgm_device_free(device, c);
    CHECK_INT(0, rgm_device_memory_of(device).used);
    CHECK_INT(2304, rgm_device_memory_of(device).peak);
    CHECK_OK(rgm_device_allocate(&a, device, MEBI)); /* the neighbours are one block again */
    CHECK_INT(1, fake.takes);
    CHECK_INT(4 * MEBI, rgm_device_memory_of(device).held);
    rgm_device_free(device, a);
    rgm_device_release(device);
    CHECK_INT(0, fake.taken);
}

/* Random sizes and order: no two blocks share a byte. */
static void blocks_never_overlap(void **state)
{
    enum { BLOCKS = 60, STEPS = 4000 };
    rgm_device *device = open_fake(400);
    rgm_rng rng = rgm_rng_stream(3, "pool", 0);
    unsigned char *block[BLOCKS] = {NULL};
    size_t size[BLOCKS];

    (void)state;
    for (uint64_t s = 0; s < STEPS; s++) {
        size_t at = rgm_rng_below(&rng, 4 * s, BLOCKS);
        if (block[at] != NULL) {
            for (size_t i = 0; i < size[at]; i += size[at] - 1)
                CHECK_INT(at, block[at][i]);
            rgm_device_free(device, block[at]);
            block[at] = NULL;
            continue;
        }
        size[at] =
            2 + (size_t)rgm_rng_below(&rng, 4 * s + 1,
                                      rgm_rng_below(&rng, 4 * s + 2, 8) == 0 ? 5 * MEBI : 9000);
        CHECK_OK(rgm_device_allocate((void **)&block[at], device, size[at]));
        block[at][0] = block[at][size[at] - 1] = (unsigned char)at;
    }
    CHECK(fake.takes < 40);
    rgm_device_release(device); /* with blocks in use */
    CHECK_INT(0, fake.taken);
}

static void memory_that_is_spent_says_what_there_is(void **state)
{
    rgm_device *device = open_fake(64);
    void *a, *b, *c;

    (void)state;
    CHECK_OK(rgm_device_allocate(&a, device, 10 * MEBI)); /* of 32 */
    CHECK_OK(rgm_device_allocate(&b, device, 32 * MEBI));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_allocate(&c, device, 30 * MEBI));
    CHECK_MESSAGE("Fake 1: 30.0 MiB wanted; 42.0 MiB are in use, 22.0 MiB are held and free (the "
                  "largest piece 22.0 MiB), of 64.0 MiB; at most 22.0 MiB would fit");
    rgm_device_free(device, b);
    CHECK_OK(rgm_device_allocate(&b, device, 30 * MEBI));
    rgm_device_free(device, b);
    /* What is kept and too small for this goes back first. */
    rgm_device_free(device, a);
    CHECK_OK(rgm_device_allocate(&a, device, 60 * MEBI));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_allocate(&c, device, 65 * MEBI));
    CHECK_MESSAGE("at most 64.0 MiB at once");
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_allocate(&c, device, SIZE_MAX));
    rgm_device_free(device, a);
    rgm_device_limit(device, 20 * MEBI);
    CHECK_INT(0, rgm_device_memory_of(device).held);
    CHECK_OK(rgm_device_allocate(&a, device, 12 * MEBI));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_allocate(&b, device, 12 * MEBI));
    rgm_device_limit(device, 0);
    CHECK_OK(rgm_device_allocate(&b, device, 12 * MEBI));
    rgm_device_release(device);
}

static void failing_allocations_leave_nothing(void **state)
{
    rgm_device *device;
    void *memory;

    (void)state;
    fake = (struct fake){.memory = 64 * MEBI};
    CHECK_EVERY_OOM(rgmi_accelerator_open(&device, &driver, 0), rgm_device_release(device));
    CHECK_OK(rgmi_accelerator_open(&device, &driver, 0));
    CHECK_EVERY_OOM(rgm_device_allocate(&memory, device, 5000), rgm_device_free(device, memory));
    rgm_device_release(device);
    fake.fails = RGM_ERR_IO;
    CHECK_STATUS(RGM_ERR_IO, rgmi_accelerator_open(&device, &driver, 0));
    CHECK(device == NULL);
}

static void what_was_not_allocated_is_not_freed(void **state)
{
    rgm_device *device = open_fake(64);
    char *memory;

    (void)state;
    CHECK_OK(rgm_device_allocate((void **)&memory, device, 5000));
    rgm_device_free(device, memory + 256);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("was not allocated on fake:0 (Fake 1)");
    CHECK_OK(rgm_device_wait(device));
    rgm_device_release(device);
}

/* ---- copies -------------------------------------------------------------------------------- */

/* More than all that is on its way at once; the source changes as soon as the call is back. */
static void copies_of_any_length_arrive(void **state)
{
    static const size_t sizes[] = {1, 63, 4 * MEBI - 1, 4 * MEBI, 4 * MEBI + 1, 21 * MEBI + 5};
    rgm_device *device = open_fake(100);
    unsigned char *from = malloc(22 * MEBI), *back = malloc(22 * MEBI);
    void *memory;

    (void)state;
    CHECK_OK(rgm_device_allocate(&memory, device, 22 * MEBI));
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        for (size_t i = 0; i < sizes[k]; i++)
            from[i] = (unsigned char)(i * 7919 >> 3 ^ k);
        CHECK_OK(rgm_device_copy_to(device, memory, from, sizes[k]));
        CHECK_OK(rgm_device_copy_from(device, back, memory, sizes[k]));
        CHECK(memcmp(from, back, sizes[k]) == 0);
        memset(from, 0, sizes[k]);
    }
    for (int i = 0; i < 100000; i++)
        CHECK_OK(rgm_device_copy_to(device, (int *)memory + i, &i, sizeof i));
    CHECK_OK(rgm_device_copy_from(device, back, memory, 100000 * sizeof(int)));
    for (int i = 0; i < 100000; i++)
        CHECK_INT(i, ((int *)(void *)back)[i]);
    free(from);
    free(back);
    rgm_device_release(device);
}

/* Tensor [rows, width] of rows of a table [10, width], in memory that stays unwritten. */
static rgm_tensor *pick_rows(rgm_tensor **table, int64_t count, int64_t width, void *memory)
{
    rgm_tensor *rows, *some;

    CHECK_OK(rgm_tensor_create(table, RGM_F32, 2, (int64_t[]){10, width}));
    for (int64_t i = 0; i < 10 * width; i++)
        rgm_tensor_f32(*table)[i] = (float)i;
    CHECK_OK(rgm_tensor_create(&rows, RGM_I32, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i32(rows)[i] = (int32_t)(i * 7 % 10);
    CHECK_OK(rgm_tensor_wrap(&some, RGM_F32, 2, (int64_t[]){count, width}, memory, NULL, NULL));
    rgm_tensor_pick(some, *table, rows);
    rgm_tensor_release(rows);
    return some;
}

/* None, fewer and more than all that is on its way at once, and rows of which none fits there. */
static void rows_of_a_table_arrive_without_a_copy_of_their_own(void **state)
{
    static const struct {
        int64_t count, width;
        bool is_gathered;
    } cases[] = {{0, 3, false}, {5, 3, false}, {30000, 300, false}, {7, MEBI + 1, true}};
    rgm_device *device = open_fake(100);
    rgm_tensor *table, *some;
    void *memory;

    (void)state;
    CHECK_OK(rgm_device_allocate(&memory, device, 40 * MEBI));
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t bytes = (size_t)(cases[k].count * cases[k].width) * sizeof(float);
        char *own = calloc(bytes + 1, 1), *back = malloc(bytes + 1);

        some = pick_rows(&table, cases[k].count, cases[k].width, own);
        CHECK_OK(rgm_device_send(device, RGM_DEVICE_KERNELS, memory, some));
        CHECK_OK(rgm_device_copy_from(device, back, memory, bytes));
        CHECK(bytes == 0 || (own[bytes - 1] != 0) == cases[k].is_gathered);
        CHECK(memcmp(back, rgm_tensor_data(some), bytes) == 0);
        rgm_tensor_release(some);
        rgm_tensor_release(table);
        free(own);
        free(back);
    }
    some = pick_rows(&table, 5, 3, (float[15]){0});
    fake.fails = RGM_ERR_IO;
    CHECK_STATUS(RGM_ERR_IO, rgm_device_send(device, RGM_DEVICE_KERNELS, memory, some));
    CHECK(rgm_device_is_lost(device));
    rgm_tensor_release(some);
    rgm_tensor_release(table);
    rgm_device_release(device);
}

static void copies_ahead_go_to_a_queue_of_their_own(void **state)
{
    enum { BYTES = 9 * MEBI };
    rgm_device *device = open_fake(100);
    char *from = malloc(BYTES), *back = malloc(BYTES);
    void *memory, *ready = NULL;

    (void)state;
    for (unsigned i = 0; i < BYTES; i++)
        from[i] = (char)(i * 7919 >> 3);
    CHECK_OK(rgm_device_allocate(&memory, device, BYTES));
    CHECK_OK(rgm_device_copy_on(device, RGM_DEVICE_COPIES, memory, from, BYTES));
    CHECK_OK(rgm_device_copy_to(device, memory, from, 5));
    CHECK_INT(BYTES, fake.written[RGM_DEVICE_COPIES]);
    CHECK_INT(5, fake.written[RGM_DEVICE_KERNELS]);
    CHECK_OK(rgm_device_copy_from(device, back, memory, BYTES));
    CHECK(memcmp(from, back, BYTES) == 0);
    CHECK_OK(rgm_device_mark(&ready, device, RGM_DEVICE_COPIES));
    CHECK_OK(rgm_device_mark(&ready, device, RGM_DEVICE_COPIES)); /* the first is forgotten */
    CHECK(ready == &fake.queues[RGM_DEVICE_COPIES]);
    CHECK_INT(3, fake.marks); /* and two of slots that were filled */
    CHECK_OK(rgm_device_follow(device, RGM_DEVICE_KERNELS, &ready));
    CHECK(ready == NULL && fake.followed[RGM_DEVICE_KERNELS] == &fake.queues[RGM_DEVICE_COPIES]);
    CHECK_OK(rgm_device_follow(device, RGM_DEVICE_KERNELS, &ready)); /* no mark: nothing to do */
    CHECK_OK(rgm_device_mark(&ready, device, RGM_DEVICE_KERNELS));
    fake.fails = RGM_ERR_IO;
    CHECK_STATUS(RGM_ERR_IO, rgm_device_follow(device, RGM_DEVICE_COPIES, &ready));
    CHECK(ready == NULL && rgm_device_is_lost(device));
    CHECK_STATUS(RGM_ERR_IO, rgm_device_mark(&ready, device, RGM_DEVICE_COPIES));
    CHECK(ready == NULL);
    rgm_device_release(device);
    CHECK_INT(0, fake.marks);
    free(from);
    free(back);
}

/* ---- programs and errors ------------------------------------------------------------------- */

static rgm_device_kernel *kernel_named(rgm_device *device, const char *name)
{
    rgm_program *program;
    rgm_device_kernel *kernel;

    CHECK_OK(rgm_device_program(&program, device, "source", "of it", RGM_F32));
    CHECK_OK(rgm_program_find(&kernel, device, program, name));
    return kernel;
}

static void an_error_of_a_launch_is_told_once_and_names_it(void **state)
{
    rgm_device *device = open_fake(64);
    rgm_device_kernel *add = kernel_named(device, "add");
    rgm_argument many[RGM_ARGUMENTS + 1] = {{.kind = RGM_ARGUMENT_INTEGER}};
    float x;
    void *memory;

    (void)state;
    CHECK_OK(rgm_device_allocate(&memory, device, sizeof x));
    fake.fails = RGM_ERR_ARG;
    rgm_device_launch(device, add, 3, 64, NULL, 0);
    rgm_device_launch(device, kernel_named(device, "next"), 3, 64, NULL, 0);
    rgm_device_launch(device, add, 0, 64, NULL, 0);
    CHECK_INT(1, fake.launched); /* what comes behind an error does not run */
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_copy_from(device, &x, memory, sizeof x));
    CHECK_MESSAGE("kernel add of source.dev, 3 groups of 64 lanes: fake cannot launch");
    CHECK_OK(rgm_device_copy_from(device, &x, memory, sizeof x));
    rgm_device_launch(device, add, 3, 64, NULL, 0);
    CHECK_INT(2, fake.launched);
    rgm_device_launch(device, add, 3, 64, many, RGM_ARGUMENTS + 1);
    rgm_device_fault(device, RGM_FAIL(RGM_ERR_NOMEM, "a later one"));
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("49 arguments are more than 48");
    rgm_device_launch(device, add, (int64_t)INT32_MAX + 1, 64, NULL, 0);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("2147483648 groups of 64 lanes: too many groups");
    rgm_device_fault(device, RGM_FAIL(RGM_ERR_NOMEM, "no scratch memory"));
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_wait(device));
    CHECK_MESSAGE("no scratch memory");
    CHECK_OK(rgm_device_wait(device));
    CHECK(!rgm_device_is_lost(device));
    rgm_device_release(device);
}

static void a_lost_device_stays_lost_and_says_what_ran(void **state)
{
    rgm_device *device = open_fake(64);
    rgm_device_kernel *add = kernel_named(device, "add");
    char byte = 0;
    void *memory, *more;

    (void)state;
    CHECK_OK(rgm_device_allocate(&memory, device, 1));
    rgm_device_launch(device, kernel_named(device, "old"), 1, 1, NULL, 0);
    CHECK_OK(rgm_device_wait(device));
    rgm_device_launch(device, add, 1, 1, NULL, 0);
    rgm_device_launch(device, kernel_named(device, "next"), 1, 1, NULL, 0);
    fake.fails = RGM_ERR_IO;
    CHECK_STATUS(RGM_ERR_IO, rgm_device_wait(device));
    CHECK_MESSAGE("fake:0 (Fake 1) is lost; the last kernels were add of source.dev, next of "
                  "source.dev (REGIMEN_DEVICE_WAIT=1 waits for each, and names the one): fake "
                  "cannot wait");
    CHECK(rgm_error_is_of_the_machine()); /* the same work may succeed elsewhere */
    CHECK(rgm_device_is_lost(device));
    CHECK_STATUS(RGM_ERR_IO, rgm_device_copy_to(device, memory, &byte, 1));
    CHECK_STATUS(RGM_ERR_IO, rgm_device_copy_from(device, &byte, memory, 1));
    CHECK_STATUS(RGM_ERR_IO, rgm_device_allocate(&more, device, 1));
    rgm_device_launch(device, add, 1, 1, NULL, 0);
    CHECK_INT(3, fake.launched);
    CHECK_MESSAGE("is lost");
    rgm_device_free(device, memory);
    rgm_device_release(device);
}

static void every_kernel_is_waited_for_when_that_is_asked(void **state)
{
    rgm_device *device;
    rgm_device_kernel *add;

    (void)state;
    setenv("REGIMEN_DEVICE_WAIT", "1", 1);
    device = open_fake(64);
    unsetenv("REGIMEN_DEVICE_WAIT");
    add = kernel_named(device, "add");
    rgm_device_launch(device, add, 1, 1, NULL, 0);
    rgm_device_launch(device, add, 1, 1, NULL, 0);
    CHECK_INT(2, fake.finished);
    fake.fails = RGM_ERR_IO;
    rgm_device_launch(device, add, 5, 1, NULL, 0);
    CHECK_STATUS(RGM_ERR_IO, rgm_device_wait(device));
    CHECK_MESSAGE("is lost; the last kernels were add of source.dev: kernel add of source.dev, 5 "
                  "groups");
    rgm_device_release(device);
}

static void programs_are_compiled_once(void **state)
{
    rgm_device *device = open_fake(64);
    rgm_program *a, *b;
    rgm_device_kernel *kernel;

    (void)state;
    CHECK_OK(rgm_device_program(&a, device, "source", "one of its own", RGM_F32));
    CHECK_OK(rgm_device_program(&b, device, "source", "one of its own", RGM_F32));
    CHECK(a == b);
    CHECK_OK(rgm_device_program(&b, device, "source", "another", RGM_F32));
    CHECK(a != b);
    CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                 rgm_device_program(&b, device, "source", "one of its own", RGM_F64));
    CHECK_MESSAGE("computes no doubles");
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_program_find(&kernel, device, a, "absent"));
    CHECK_MESSAGE("absent of source.dev: no such KERNEL");
    CHECK(kernel == NULL);
    rgm_device_release(device);
}

/* ---- programs on disk ---------------------------------------------------------------------- */

static void get(const char *source)
{
    rgm_device *device;
    rgm_program *program;

    CHECK_OK(rgmi_accelerator_open(&device, &driver, 0));
    CHECK_OK(rgm_device_program(&program, device, "kept", source, RGM_F32));
    rgm_device_release(device);
}

static void what_was_compiled_is_read_the_next_time(void **state)
{
    const char *home = getenv("XDG_CACHE_HOME");
    char folder[100], **names, *path, *data;
    int64_t count, size;

    (void)state;
    fake = (struct fake){.memory = 64 * MEBI};
    snprintf(folder, sizeof folder, "%s/regimen/programs", home);
    CHECK_OK(rgm_folder_remove(folder));
    get("x");
    get("x");
    CHECK_INT(1, fake.compiled);
    get("y");
    CHECK_INT(2, fake.compiled);
    CHECK_OK(rgm_folder_list(&names, &count, folder));
    CHECK_INT(2, count);
    for (int64_t i = 0; i < count; i++) {
        CHECK_OK(rgm_path_join(&path, folder, names[i]));
        CHECK_OK(rgm_file_load(&data, &size, path, 1 << 20));
        data[i == 0 ? size - 1 : 40] ^= 1; /* a damaged binary, a damaged key */
        CHECK_OK(rgm_file_save(path, data, i == 0 ? size : size - 30));
        rgm_free(data);
        rgm_free(path);
    }
    rgm_names_release(names, count);
    get("x");
    get("y");
    CHECK_INT(4, fake.compiled);
    get("x");
    get("y");
    CHECK_INT(4, fake.compiled); /* whole again */
    fake.damaged = true;         /* whole, and yet not what the driver wants */
    get("x");
    CHECK_INT(5, fake.compiled);
}

static void a_folder_that_cannot_be_made_is_no_error(void **state)
{
    const char *home = getenv("XDG_CACHE_HOME");
    char file[80], *kept;

    (void)state;
    fake = (struct fake){.memory = 64 * MEBI};
    CHECK_OK(rgm_strdup(&kept, home));
    snprintf(file, sizeof file, "%s/file", home);
    CHECK_OK(rgm_file_save(file, "", 0));
    setenv("XDG_CACHE_HOME", file, 1);
    get("z");
    get("z");
    CHECK_INT(2, fake.compiled);
    setenv("XDG_CACHE_HOME", kept, 1);
    rgm_free(kept);
}

/* ---- threads ------------------------------------------------------------------------------- */

static void *use(void *device)
{
    static const char text[5000];
    char back[5000];
    void *memory;
    intptr_t wrong = 0;

    for (int i = 0; i < 300; i++) {
        wrong += rgm_device_allocate(&memory, device, sizeof text) != RGM_OK;
        wrong += rgm_device_copy_to(device, memory, text, sizeof text) != RGM_OK;
        wrong += rgm_device_copy_from(device, back, memory, sizeof text) != RGM_OK;
        wrong += memcmp(text, back, sizeof text) != 0;
        rgm_device_free(device, memory);
    }
    return (void *)wrong;
}

static void threads_may_share_a_device(void **state)
{
    rgm_device *device = open_fake(64);
    pthread_t threads[3];
    void *wrong;

    (void)state;
    for (int i = 0; i < 3; i++)
        CHECK(pthread_create(&threads[i], NULL, use, device) == 0);
    for (int i = 0; i < 3; i++) {
        CHECK(pthread_join(threads[i], &wrong) == 0);
        CHECK(wrong == NULL);
    }
    CHECK_INT(0, rgm_device_memory_of(device).used);
    rgm_device_release(device);
}

/* A thread whose first kernel cannot be queued, between two that the test lets it go on at. */
typedef struct other_thread {
    rgm_device *device;
    rgm_device_kernel *kernel;
    const void *flag;
    pthread_barrier_t failed, asks;
    char told[512];
} other_thread;

static void *fail_in_between(void *payload)
{
    other_thread *t = payload;

    rgm_device_watch(t->device, t->flag);
    fake.fails = RGM_ERR_NOMEM;
    rgm_device_launch(t->device, t->kernel, 2, 64, NULL, 0);
    pthread_barrier_wait(&t->failed);
    pthread_barrier_wait(&t->asks);
    rgm_device_launch(t->device, t->kernel, 7, 64, NULL, 0); /* behind what was not queued */
    if (rgm_device_wait(t->device) == RGM_ERR_NOMEM)
        snprintf(t->told, sizeof t->told, "%s", rgm_error_message());
    rgm_device_launch(t->device, t->kernel, 7, 64, NULL, 0);
    return (void *)(intptr_t)(rgm_device_wait(t->device) != RGM_OK || fake.flag != t->flag);
}

static void *read_one(void *payload)
{
    other_thread *t = payload;
    char byte;

    return (void *)(intptr_t)rgm_device_copy_from(t->device, &byte, t->flag, 1);
}

static void each_thread_has_its_flag_and_its_errors(void **state)
{
    rgm_device *device = open_fake(64);
    rgm_device_kernel *kernel = kernel_named(device, "add");
    other_thread other = {.device = device, .kernel = kernel};
    pthread_t thread, reader;
    char *own, *others, byte;
    void *result;

    (void)state;
    CHECK_OK(rgm_device_allocate((void **)&own, device, 64));
    CHECK_OK(rgm_device_allocate((void **)&others, device, 64));
    other.flag = others + 8;
    CHECK(pthread_barrier_init(&other.failed, NULL, 2) == 0);
    CHECK(pthread_barrier_init(&other.asks, NULL, 2) == 0);
    rgm_device_watch(device, own);
    CHECK(pthread_create(&thread, NULL, fail_in_between, &other) == 0);
    pthread_barrier_wait(&other.failed);
    CHECK(fake.flag == other.flag && fake.launched == 1);
    rgm_device_launch(device, kernel, 3, 64, NULL, 0); /* is no matter of this one */
    CHECK(fake.flag == own && fake.launched == 2);
    CHECK_OK(rgm_device_copy_from(device, &byte, own, 1));
    /* Who has launched nothing may be reading what those kernels were to make. */
    for (int i = 0; i < 2; i++) {
        CHECK(pthread_create(&reader, NULL, read_one, &other) == 0);
        CHECK(pthread_join(reader, &result) == 0);
        CHECK_INT(i == 0 ? RGM_ERR_NOMEM : RGM_OK, (intptr_t)result);
    }
    pthread_barrier_wait(&other.asks);
    CHECK(pthread_join(thread, &result) == 0);
    CHECK(result == NULL && fake.launched == 3);
    if (strstr(other.told, "kernel add of source.dev, 2 groups of 64 lanes") == NULL)
        fail_msg("the thread was told '%s'", other.told);
    rgm_device_free(device, own);
    rgm_device_launch(device, kernel, 1, 64, NULL, 0);
    CHECK(fake.flag == NULL);
    rgm_device_free(device, others);
    pthread_barrier_destroy(&other.failed);
    pthread_barrier_destroy(&other.asks);
    rgm_device_release(device);
}

/* So many threads that have ended leave no more than a few entries, and no flag of theirs. */
static void *launch_once(void *payload)
{
    other_thread *t = payload;

    rgm_device_launch(t->device, t->kernel, 1, 64, NULL, 0);
    return (void *)(intptr_t)(fake.flag != NULL || rgm_device_wait(t->device) != RGM_OK);
}

static void threads_that_have_ended_leave_nothing(void **state)
{
    rgm_device *device = open_fake(64);
    other_thread other = {.device = device, .kernel = kernel_named(device, "add")};
    pthread_t thread;
    void *result;

    (void)state;
    for (int i = 0; i < 300; i++) {
        CHECK(pthread_create(&thread, NULL, launch_once, &other) == 0);
        CHECK(pthread_join(thread, &result) == 0 && result == NULL);
    }
    rgm_device_release(device);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_freed_is_there_for_the_next),
        cmocka_unit_test(blocks_never_overlap),
        cmocka_unit_test(memory_that_is_spent_says_what_there_is),
        cmocka_unit_test(failing_allocations_leave_nothing),
        cmocka_unit_test(what_was_not_allocated_is_not_freed),
        cmocka_unit_test(copies_of_any_length_arrive),
        cmocka_unit_test(rows_of_a_table_arrive_without_a_copy_of_their_own),
        cmocka_unit_test(copies_ahead_go_to_a_queue_of_their_own),
        cmocka_unit_test(an_error_of_a_launch_is_told_once_and_names_it),
        cmocka_unit_test(a_lost_device_stays_lost_and_says_what_ran),
        cmocka_unit_test(every_kernel_is_waited_for_when_that_is_asked),
        cmocka_unit_test(programs_are_compiled_once),
        cmocka_unit_test(what_was_compiled_is_read_the_next_time),
        cmocka_unit_test(a_folder_that_cannot_be_made_is_no_error),
        cmocka_unit_test(threads_may_share_a_device),
        cmocka_unit_test(each_thread_has_its_flag_and_its_errors),
        cmocka_unit_test(threads_that_have_ended_leave_nothing),
    };
    const char *folder = check_folder();
    int failed;

    setenv("XDG_CACHE_HOME", folder, 1);
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0)
        CHECK_OK(rgm_folder_remove(folder));
    return failed;
}
