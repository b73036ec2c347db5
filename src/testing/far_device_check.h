/*
 * A device whose memory nobody may touch but its kernels and its copies: the pages are closed
 * unless one of these runs, so that whatever else reads or writes an element is ended by a signal.
 * Its kernels are the CPU's, in a wrapper each, which is made from the list of kernels.
 */
#ifndef RGM_FAR_DEVICE_CHECK_H
#define RGM_FAR_DEVICE_CHECK_H

#include <check.h>
#include <regimen/device.h>
#include <regimen/kernels.h>
#include <stdatomic.h>
#include <sys/mman.h>

enum { FAR_BYTES = 256 << 20, FAR_PAGES = 1 << 16 };

static struct far_device {
    rgm_device *device;
    char *memory;
    size_t used; /* all of it is free again when the last block is */
    size_t top;  /* pages behind it were never opened              */
    int64_t blocks;
    atomic_int inside;          /* calls that have the pages open */
    const rgm_index_flag *flag; /* of the last check              */
    bool raised;                /* no kernel does anything        */
    atomic_llong calls;         /* of kernels                      */
    int64_t copied;             /* bytes                           */
    int64_t waits;              /* copies to the host              */
    int64_t breaks;             /* copies to the host until one tells of a kernel; 0: none does */
    bool lost;                  /* every call but free says so     */
} far;

static int far_enter(void)
{
    if (atomic_fetch_add(&far.inside, 1) == 0)
        CHECK(mprotect(far.memory, far.top, PROT_READ | PROT_WRITE) == 0);
    return 0;
}

static void far_leave(const int *entered)
{
    (void)entered;
    if (atomic_fetch_sub(&far.inside, 1) == 1)
        CHECK(mprotect(far.memory, far.top, PROT_NONE) == 0);
}

#define FAR_INSIDE __attribute__((cleanup(far_leave), unused)) int entered_ = far_enter()

#define FAR_ROW(dtype, result, name)                                                               \
    if (far.raised)                                                                                \
        return (result)0;                                                                          \
    FAR_INSIDE;                                                                                    \
    atomic_fetch_add(&far.calls, 1);                                                               \
    return rgm_kernels_for(rgm_device_cpu(), dtype)->name(args)
#define FAR_F32(result, name, arguments)                                                           \
    static result far_f32_##name arguments                                                         \
    {                                                                                              \
        FAR_ROW(RGM_F32, result, name);                                                            \
    }
#define FAR_F64(result, name, arguments)                                                           \
    static result far_f64_##name arguments                                                         \
    {                                                                                              \
        FAR_ROW(RGM_F64, result, name);                                                            \
    }
#define FAR_BF16(result, name, arguments)                                                          \
    static result far_bf16_##name arguments                                                        \
    {                                                                                              \
        FAR_ROW(RGM_BF16, result, name);                                                           \
    }
RGM_KERNEL_LIST(FAR_F32, FAR_F32, FAR_F32)
RGM_KERNEL_LIST(FAR_F64, FAR_F64, FAR_F64)
RGM_KERNEL_LIST(FAR_BF16, FAR_BF16, FAR_BF16)

static void far_index_check(const rgm_index_args *args)
{
    if (far.raised)
        return;
    FAR_INSIDE;
    far.flag = args->flag;
    rgm_kernels_for(rgm_device_cpu(), RGM_F32)->index_check(args);
    far.raised = far.flag->raised != 0;
}

#define FAR_F32_ENTRY(result, name, arguments)  .name = far_f32_##name,
#define FAR_F64_ENTRY(result, name, arguments)  .name = far_f64_##name,
#define FAR_BF16_ENTRY(result, name, arguments) .name = far_bf16_##name,

static const rgm_kernels *far_kernels(rgm_device *device, rgm_dtype dtype)
{
    static rgm_kernels tables[3] = {
        {.isa = "far",
         .dtype = RGM_F32,
         RGM_KERNEL_LIST(FAR_F32_ENTRY, FAR_F32_ENTRY, FAR_F32_ENTRY)},
        {.isa = "far",
         .dtype = RGM_F64,
         RGM_KERNEL_LIST(FAR_F64_ENTRY, FAR_F64_ENTRY, FAR_F64_ENTRY)},
        {.isa = "far",
         .dtype = RGM_F32,
         RGM_KERNEL_LIST(FAR_BF16_ENTRY, FAR_BF16_ENTRY, FAR_BF16_ENTRY)},
    };

    (void)device;
    for (int i = 0; i < 3; i++)
        tables[i].index_check = far_index_check;
    return &tables[dtype == RGM_F64 ? 1 : (dtype == RGM_BF16 ? 2 : 0)];
}

static rgm_status far_check(void)
{
    return far.lost ? RGM_FAIL(RGM_ERR_IO, "the device far is lost") : RGM_OK;
}

/* Blocks are never used twice while any lives; each has a counted one of the host's, so that tests
 * of failing allocations and of leaks see it. */
static rgm_status far_allocate(void **out, rgm_device *device, size_t bytes)
{
    size_t size = (bytes + 127) / 64 * 64;
    void **block = rgm_malloc(1);

    (void)device;
    if (block == NULL || far.used + size + 64 > FAR_BYTES || far.lost) {
        rgm_free(block);
        RGM_TRY(far_check());
        return RGM_FAIL(RGM_ERR_NOMEM,
                        "out of memory: %zu bytes of the device far, of which %zu "
                        "are free",
                        bytes, FAR_BYTES - far.used);
    }
    if (far.top < far.used + size + 64)
        far.top = (far.used + size + 64 + FAR_PAGES) / FAR_PAGES * FAR_PAGES;
    FAR_INSIDE;
    *out = far.memory + far.used + 64;
    ((void **)*out)[-1] = block;
    far.used += size + 64;
    far.blocks++;
    return RGM_OK;
}

static void far_free(rgm_device *device, void *memory)
{
    (void)device;
    FAR_INSIDE;
    rgm_free(((void **)memory)[-1]);
    if (--far.blocks == 0)
        far.used = 0;
}

static rgm_status far_copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    RGM_TRY(far_check());
    FAR_INSIDE;
    memmove(to, from, bytes);
    far.copied += (int64_t)bytes;
    if (to == (const void *)far.flag)
        far.raised = far.flag->raised != 0;
    return RGM_OK;
}

static rgm_status far_copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    far.waits++;
    if (far.breaks > 0 && --far.breaks == 0)
        return RGM_FAIL(RGM_ERR_NOMEM, "a kernel of the device far had no memory");
    return far_copy_to(device, to, from, bytes);
}

static rgm_status far_wait(rgm_device *device)
{
    (void)device;
    return far_check();
}

static void far_open(void)
{
    static const rgm_device_type type = {
        .name = "far",
        .allocate = far_allocate,
        .free = far_free,
        .copy_to = far_copy_to,
        .copy_from = far_copy_from,
        .wait = far_wait,
        .kernels = far_kernels,
    };

    far.memory = mmap(NULL, FAR_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(far.memory != MAP_FAILED);
    CHECK_OK(rgm_device_create(&far.device, &type, NULL));
}

static void far_close(void)
{
    CHECK_INT(0, far.blocks);
    CHECK(munmap(far.memory, FAR_BYTES) == 0);
    rgm_device_release(far.device);
    far = (struct far_device){0};
}

static inline int open_far(void **state)
{
    (void)state;
    far_open();
    return 0;
}

static inline int shut_far(void **state)
{
    (void)state;
    far_close();
    return 0;
}

/** A test that has the device open. */
#define FAR(test) cmocka_unit_test_setup_teardown(test, open_far, shut_far)

#endif
