/* The CPU's row, and a device of a program's own that counts what is asked of it. */
#include <check.h>
#include <regimen/device.h>

static void the_cpu_is_one_and_its_memory_is_the_hosts(void **state)
{
    rgm_device *cpu = rgm_device_cpu();
    float x[3] = {1, 2, 3}, y[3] = {0};
    void *memory;

    (void)state;
    CHECK(cpu == rgm_device_cpu());
    CHECK(rgm_device_is_host(cpu));
    CHECK_TEXT("cpu", rgm_device_kind(cpu)->name);
    CHECK_OK(rgm_device_allocate(&memory, cpu, sizeof x));
    CHECK_INT(0, (int64_t)((uintptr_t)memory % 64));
    CHECK_OK(rgm_device_copy_to(cpu, memory, x, sizeof x));
    CHECK_OK(rgm_device_wait(cpu));
    CHECK_OK(rgm_device_copy_from(cpu, y, memory, sizeof x));
    CHECK(memcmp(x, y, sizeof x) == 0);
    rgm_device_free(cpu, memory);
    rgm_device_free(cpu, NULL);
    rgm_device_release(cpu);
    CHECK(rgm_device_is_host(rgm_device_cpu()));
}

static void memory_that_is_not_there_is_an_error(void **state)
{
    void *memory;

    (void)state;
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_allocate(&memory, rgm_device_cpu(), SIZE_MAX));
    CHECK(memory == NULL);
    CHECK_EVERY_OOM(rgm_device_allocate(&memory, rgm_device_cpu(), 100),
                    rgm_device_free(rgm_device_cpu(), memory));
}

static rgm_status count_copy(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)to, (void)from;
    *(size_t *)rgm_device_payload(device) += bytes;
    return RGM_OK;
}

static rgm_status lose(rgm_device *device)
{
    (void)device;
    return RGM_FAIL(RGM_ERR_IO, "the device is lost");
}

static void a_device_of_a_programs_own_is_asked(void **state)
{
    static const rgm_device_type type = {.name = "counter", .copy_to = count_copy, .wait = lose};
    size_t copied = 0;
    rgm_device *device;

    (void)state;
    CHECK_OK(rgm_device_create(&device, &type, &copied));
    CHECK(!rgm_device_is_host(device));
    CHECK_OK(rgm_device_copy_to(device, NULL, NULL, 0)); /* of nothing it is not asked */
    CHECK_OK(rgm_device_copy_to(device, &copied, &type, 5));
    CHECK_OK(rgm_device_copy_to(device, &copied, &type, 2));
    CHECK_INT(7, (int64_t)copied);
    CHECK(!rgm_device_is_lost(device));
    CHECK_STATUS(RGM_ERR_IO, rgm_device_wait(device));
    CHECK(rgm_device_is_lost(device) && !rgm_device_is_lost(rgm_device_cpu()));
    rgm_device_release(device);
    CHECK_EVERY_OOM(rgm_device_create(&device, &type, NULL), rgm_device_release(device));
}

TESTS(cmocka_unit_test(the_cpu_is_one_and_its_memory_is_the_hosts),
      cmocka_unit_test(memory_that_is_not_there_is_an_error),
      cmocka_unit_test(a_device_of_a_programs_own_is_asked))
