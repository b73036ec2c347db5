/* OpenCL's device, if there is one (PoCL makes one of this processor): addresses, launches, errors.
 */
#include <check.h>
#include <regimen/device_program.h>

static rgm_device *device; /* NULL: there is none, `why` */
static char why[1024];

#define NEED_DEVICE                                                                                \
    do {                                                                                           \
        (void)state;                                                                               \
        if (device == NULL)                                                                        \
            SKIP(why);                                                                             \
    } while (0)

static const char source[] =
    "KERNEL void add(FLAG, MEMORY(y), MEMORY(x), long count, REAL scale)\n"
    "{\n"
    "    STOP_IF_RAISED;\n"
    "    for (long i = GROUP * LANES + LANE; i < count; i += GROUPS * LANES)\n"
    "        AT(REAL, y)[i] += scale * (HAS(x) ? AT(const REAL, x)[i] : 1);\n"
    "}\n"
    "KERNEL void fold(FLAG, MEMORY(y))\n"
    "{\n"
    "    LOCAL long part[64];\n"
    "    STOP_IF_RAISED;\n"
    "    part[LANE] = AT(const long, y)[LANE];\n"
    "    for (int w = LANES / 2; w > 0; w /= 2) {\n"
    "        BARRIER;\n"
    "        if (LANE < w)\n"
    "            part[LANE] += part[LANE + w];\n"
    "    }\n"
    "    if (LANE == 0)\n"
    "        AT(long, y)[0] = part[0];\n"
    "}\n";

static rgm_device_kernel *kernel_named(const char *name, rgm_dtype real)
{
    rgm_program *program;
    rgm_device_kernel *kernel;

    CHECK_OK(rgm_device_program(&program, device, "test", source, real));
    CHECK_OK(rgm_program_find(&kernel, device, program, name));
    return kernel;
}

static void launch_add(rgm_dtype real, void *y, void *x, int64_t count, double scale)
{
    rgm_argument arguments[] = {rgm_memory(y), rgm_memory(x), rgm_integer(count), rgm_real(scale)};

    rgm_device_launch(device, kernel_named("add", real), 2, 32, arguments, 4);
}

/* What an executor does: one block, and results anywhere in it. */
static void an_address_inside_a_block_is_an_address(void **state)
{
    enum { COUNT = 300 };
    double host[COUNT], back[COUNT];
    char *block;

    NEED_DEVICE;
    for (int i = 0; i < COUNT; i++)
        host[i] = i;
    CHECK_OK(rgm_device_allocate((void **)&block, device, 1 << 16));
    CHECK_OK(rgm_device_copy_to(device, block + 8, host, sizeof host));
    CHECK_OK(rgm_device_copy_to(device, block + (1 << 16) - sizeof host, host, sizeof host));
    launch_add(RGM_F64, block + 8, block + (1 << 16) - sizeof host, COUNT, 0.5);
    launch_add(RGM_F64, block + 8, NULL, COUNT - 1, 3);
    launch_add(RGM_F64, block + (1 << 16), block + 8, 0, 3); /* of nothing, just behind the block */
    CHECK_OK(rgm_device_copy_from(device, back, block + 8, sizeof back));
    for (int i = 0; i < COUNT; i++)
        CHECK_CLOSE(back[i], 1.5 * i + (i < COUNT - 1 ? 3 : 0), 0, 0);
    rgm_device_free(device, block);
}

static void a_group_shares_local_memory(void **state)
{
    int64_t numbers[64], sum = 0;
    void *memory;
    rgm_argument argument;

    NEED_DEVICE;
    for (int i = 0; i < 64; i++)
        sum += numbers[i] = i * i - 100;
    CHECK_OK(rgm_device_allocate(&memory, device, sizeof numbers));
    CHECK_OK(rgm_device_copy_to(device, memory, numbers, sizeof numbers));
    argument = rgm_memory(memory);
    rgm_device_launch(device, kernel_named("fold", RGM_F32), 1, 64, &argument, 1);
    CHECK_OK(rgm_device_copy_from(device, numbers, memory, sizeof *numbers));
    CHECK_INT(sum, numbers[0]);
    rgm_device_free(device, memory);
}

static void kernels_do_nothing_once_the_flag_is_up(void **state)
{
    float x[3] = {1, 2, 3};
    int64_t flag[2] = {0, 0};
    char *memory;

    NEED_DEVICE;
    CHECK_OK(rgm_device_allocate((void **)&memory, device, 64));
    CHECK_OK(rgm_device_copy_to(device, memory, x, sizeof x));
    CHECK_OK(rgm_device_copy_to(device, memory + 32, flag, sizeof flag));
    rgm_device_watch(device, memory + 40);
    launch_add(RGM_F32, memory, NULL, 3, 1);
    flag[1] = 1;
    CHECK_OK(rgm_device_copy_to(device, memory + 32, flag, sizeof flag));
    launch_add(RGM_F32, memory, NULL, 3, 10);
    rgm_device_watch(device, NULL);
    launch_add(RGM_F32, memory, NULL, 3, 100);
    CHECK_OK(rgm_device_copy_from(device, x, memory, sizeof x));
    for (int i = 0; i < 3; i++)
        CHECK_CLOSE(x[i], i + 102, 0, 0);
    rgm_device_watch(device, memory + 40);
    rgm_device_free(device, memory); /* and the flag with it: what lies there then is none */
    CHECK_OK(rgm_device_allocate((void **)&memory, device, 64));
    CHECK_OK(rgm_device_copy_to(device, memory, x, sizeof x));
    launch_add(RGM_F32, memory, NULL, 3, 1000);
    CHECK_OK(rgm_device_copy_from(device, x, memory, sizeof x));
    CHECK_CLOSE(x[0], 1102, 0, 0);
    rgm_device_free(device, memory);
}

static void what_the_compiler_says_has_file_and_line(void **state)
{
    rgm_program *program;
    rgm_device_kernel *kernel;

    NEED_DEVICE;
    CHECK_STATUS(RGM_ERR_DATA,
                 rgm_device_program(&program, device, "wrong",
                                    "KERNEL void f(FLAG)\n{\n    unknown = 1;\n}\n", RGM_F32));
    CHECK_MESSAGE("wrong.dev does not compile");
    CHECK_MESSAGE("wrong.dev:3");
    CHECK_MESSAGE("unknown");
    CHECK(program == NULL);
    CHECK_OK(rgm_device_program(&program, device, "test", source, RGM_F32));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_program_find(&kernel, device, program, "absent"));
    CHECK_MESSAGE("absent of test.dev");
}

static void wrong_arguments_are_errors(void **state)
{
    rgm_argument memory = rgm_memory(&why), number = rgm_real(3);
    char byte = 0;
    void *block;

    NEED_DEVICE;
    rgm_device_launch(device, kernel_named("fold", RGM_F32), 1, 64, &memory, 1);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("kernel fold of test.dev, 1 groups of 64 lanes: argument 0: 0 bytes at");
    CHECK_MESSAGE("are no memory of the device");
    rgm_device_launch(device, kernel_named("add", RGM_F32), 1, 64, &memory, 0);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("0 arguments, which are not all that it takes");
    rgm_device_launch(device, kernel_named("add", RGM_F32), 1, 64, &number, 1);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("argument 0: OpenCL cannot give a number (REAL) to a kernel: the argument "
                  "is of another kind");
    CHECK_OK(rgm_device_allocate(&block, device, 1));
    rgm_device_launch(device, kernel_named("fold", RGM_F32), 1, 1 << 20,
                      &(rgm_argument){RGM_ARGUMENT_MEMORY, {.memory = block}}, 1);
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_wait(device));
    CHECK_MESSAGE("too many lanes");
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_copy_to(device, &why, &byte, 1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_device_copy_from(device, &byte, &why, 1));
    rgm_device_free(device, block);
    CHECK_OK(rgm_device_wait(device));
}

static void more_than_there_is_is_an_error(void **state)
{
    rgm_device_memory all;
    void *block;

    NEED_DEVICE;
    all = rgm_device_memory_of(device);
    CHECK(all.limit > 0);
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_device_allocate(&block, device, all.limit + 1));
    CHECK_MESSAGE("out of memory on");
}

/* ---- names --------------------------------------------------------------------------------- */

static void a_device_opened_twice_is_one(void **state)
{
    rgm_device *again;

    NEED_DEVICE;
    CHECK_OK(rgm_device_open(&again, "opencl"));
    CHECK(again == device);
    rgm_device_release(again);
    CHECK_OK(rgm_device_wait(device));
    CHECK(strncmp(rgm_device_about(device), "opencl:0 (", 10) == 0);
    CHECK_TEXT("opencl", rgm_device_kind(device)->name);
}

static void names_that_are_none_are_refused(void **state)
{
    static const char *const names[] = {
        "", "gpu:", "gpu:x", "gpu:-1", "gpu:0 ", "opencl:99999", "GPU", "cuda:1:2", "cpu:0"};
    rgm_device *other;

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_STATUS(RGM_ERR_ARG, rgm_device_open(&other, names[i]));
        CHECK_MESSAGE("it is cpu, gpu, gpu:N, cuda:N or opencl:N");
        CHECK(other == NULL);
        CHECK(!rgm_device_is_name(names[i]));
    }
    CHECK(rgm_device_is_name("cpu") && rgm_device_is_name("gpu") && rgm_device_is_name("cuda:12"));
    CHECK_OK(rgm_device_open(&other, "cpu"));
    CHECK(other == rgm_device_cpu());
    rgm_device_release(other);
    if (device == NULL)
        SKIP(why);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_device_open(&other, "opencl:999"));
    CHECK_MESSAGE("device 'opencl:999': opencl lists");
}

/* Each interface is there with its devices, or with the reason that there are none. */
static void what_there_is_is_listed(void **state)
{
    rgm_device_entry entries[40], one[1];
    int64_t count = rgm_device_list(entries, 40);
    int cuda = 0, opencl = 0;

    (void)state;
    CHECK(count >= 3 && count <= 40);
    CHECK_INT(count, rgm_device_list(one, 1));
    CHECK_TEXT("cpu", one[0].name);
    CHECK_TEXT("cpu", entries[0].name);
    CHECK(entries[0].is_there);
    for (int64_t i = 0; i < count; i++) {
        CHECK(entries[i].about[0] != 0);
        cuda += strncmp(entries[i].name, "cuda", 4) == 0;
        opencl += strncmp(entries[i].name, "opencl", 6) == 0;
        CHECK(entries[i].is_there == (i == 0 || strchr(entries[i].name, ':') != NULL));
    }
    CHECK(cuda >= 1 && opencl >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_inside_a_block_is_an_address),
        cmocka_unit_test(a_group_shares_local_memory),
        cmocka_unit_test(kernels_do_nothing_once_the_flag_is_up),
        cmocka_unit_test(what_the_compiler_says_has_file_and_line),
        cmocka_unit_test(wrong_arguments_are_errors),
        cmocka_unit_test(more_than_there_is_is_an_error),
        cmocka_unit_test(a_device_opened_twice_is_one),
        cmocka_unit_test(names_that_are_none_are_refused),
        cmocka_unit_test(what_there_is_is_listed),
    };
    int failed;
    bool none;

    if (rgm_device_open(&device, "opencl:0") != RGM_OK)
        snprintf(why, sizeof why, "%s", rgm_error_message());
    failed = cmocka_run_group_tests(tests, NULL, NULL);
    none = device == NULL;
    rgm_device_release(device);
    return failed == 0 && none ? CHECK_SKIPPED : failed;
}
