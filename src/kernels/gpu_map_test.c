/*
 * What element-wise programs become on a device: how many programs, and what they are given. The
 * device here compiles nothing, it counts.
 */
#include "gpu/gpu.h"
#include <check.h>

static struct {
    int programs, launches, arguments, faults;
    bool refuses; /* to compile */
    char source[32768];
    rgm_argument argument[RGM_ARGUMENTS];
    int64_t groups;
} seen;

static rgm_status compile(rgm_program **out, rgm_device *device, const char *name,
                          const char *source, rgm_dtype dtype)
{
    (void)device;
    (void)name;
    (void)dtype;
    if (seen.refuses)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: a test's");
    seen.programs++;
    snprintf(seen.source, sizeof seen.source, "%s", source);
    *out = (rgm_program *)&seen;
    return RGM_OK;
}

static rgm_status find(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                       const char *name)
{
    (void)device;
    (void)program;
    CHECK_TEXT("map", name);
    *out = (rgm_device_kernel *)&seen;
    return RGM_OK;
}

static void launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                   const rgm_argument *arguments, int count)
{
    (void)device;
    (void)kernel;
    CHECK(count <= RGM_ARGUMENTS && lanes == 256);
    seen.launches++;
    seen.groups = groups;
    seen.arguments = count;
    memcpy(seen.argument, arguments, (size_t)count * sizeof *arguments);
}

static void fault(rgm_device *of, rgm_status status)
{
    (void)of;
    CHECK_INT(RGM_ERR_NOMEM, status);
    seen.faults++;
}

static const rgm_device_compiler compiler = {
    .program = compile, .find = find, .launch = launch, .fault = fault};
static const rgm_device_type type = {.name = "counts", .compiler = &compiler};
static rgm_device *device;

static int start(void **state)
{
    (void)state;
    memset(&seen, 0, sizeof seen);
    return rgm_device_create(&device, &type, NULL) != RGM_OK;
}

static int stop(void **state)
{
    (void)state;
    rgm_device_release(device);
    return 0;
}

static const rgm_kernels *table(void)
{
    return rgm_kernels_for(device, RGM_F32);
}

/* y [rows, columns] = (x + bias [columns]) * constant; addresses that nobody reads. */
static rgm_map_args scaled_sum(int64_t rows, int64_t columns, double constant)
{
    return (rgm_map_args){
        .y = (void *)4096,
        .rank = 2,
        .shape = {rows, columns},
        .inputs = 2,
        .input = {(void *)8192, (void *)16384},
        .stride = {{columns, 1}, {0, 1}},
        .steps = 2,
        .step = {{RGM_MAP_ADD, 0, 1, 0}, {RGM_MAP_SCALE, 2, 0, constant}},
    };
}

static void a_form_is_compiled_once(void **state)
{
    rgm_map_args first = scaled_sum(10, 8, 0.5), other = scaled_sum(77, 64, 0.25);

    (void)state;
    table()->map(&first);
    CHECK_INT(1, seen.programs);
    CHECK_INT(RGM_ARGUMENT_REAL, seen.argument[4].kind);
    CHECK(seen.argument[4].value.real == 0.5);
    table()->map(&other);
    CHECK_INT(1, seen.programs);
    CHECK_INT(2, seen.launches);
    CHECK_INT(77 * 64, seen.argument[1].value.integer);
    CHECK(seen.argument[4].value.real == 0.25);
    other.step[0].code = RGM_MAP_SUB;
    table()->map(&other);
    CHECK_INT(2, seen.programs);
    rgm_kernels_for(device, RGM_F64)->map(&other);
    CHECK_INT(3, seen.programs);
}

static void another_device_compiles_again(void **state)
{
    rgm_map_args args = scaled_sum(10, 8, 0.5);

    (void)state;
    table()->map(&args);
    rgm_device_release(device);
    CHECK_OK(rgm_device_create(&device, &type, NULL));
    table()->map(&args);
    CHECK_INT(2, seen.programs);
}

/* Four at a time where everything lies so: not with seven columns, nor from an odd place. */
static void quads_are_taken_where_they_lie_so(void **state)
{
    rgm_map_args args = scaled_sum(10, 8, 0.5);

    (void)state;
    table()->map(&args);
    CHECK(strstr(seen.source, "AT(QUAD, y)[i]") != NULL);
    args = scaled_sum(10, 7, 0.5);
    table()->map(&args);
    CHECK(strstr(seen.source, "AT(QUAD, y)[i]") == NULL);
    args = scaled_sum(10, 8, 0.5);
    args.input[1] = (void *)8196;
    table()->map(&args);
    CHECK_INT(2, seen.programs); /* that of seven columns takes them one by one, too */
    args.input[1] = (void *)8192;
    args.stride[1][0] = 8; /* whole: any number of elements, the last ones by themselves */
    args.shape[0] = 1;
    args.shape[1] = args.stride[0][0] = 1003;
    table()->map(&args);
    CHECK(strstr(seen.source, "AT(QUAD, y)[i]") != NULL && strstr(seen.source, "tail") != NULL);
    CHECK_INT(1, seen.groups);
}

/* Six inputs that each walk their own way, and six constants: with shape and strides they are too
 * many arguments. */
static void many_strides_stand_in_the_source(void **state)
{
    rgm_map_args args = {.y = (void *)4096, .rank = 6, .inputs = 6, .steps = 11};

    (void)state;
    for (int axis = 0; axis < 6; axis++)
        args.shape[axis] = 3;
    for (int k = 0; k < 6; k++) {
        args.input[k] = (void *)8192;
        for (int axis = 0; axis < 6; axis++)
            args.stride[k][axis] = axis == k ? 0 : 100 * axis + 7;
        args.step[k] = (rgm_map_step){RGM_MAP_SCALE, (int8_t)k, 0, k};
        if (k > 0)
            args.step[5 + k] =
                (rgm_map_step){RGM_MAP_ADD, (int8_t)(k == 1 ? 6 : 10 + k), (int8_t)(6 + k), 0};
    }
    table()->map(&args);
    CHECK_INT(2 + 6 + 6, seen.arguments);
    CHECK(seen.argument[2 + 6 + 5].value.real == 5);
    CHECK(strstr(seen.source, "= 507L;") != NULL);
    args.stride[0][5]++;
    table()->map(&args);
    CHECK_INT(2, seen.programs);
}

/* The device is told of each launch that is left out, and not of the first alone. */
static void what_cannot_be_compiled_is_asked_for_again(void **state)
{
    rgm_map_args args = scaled_sum(10, 8, 0.5);
    rgm_fill_args fill = {(void *)4096, 10, 1};

    (void)state;
    seen.refuses = true;
    for (int i = 1; i < 3; i++) {
        table()->map(&args);
        table()->fill(&fill);
        CHECK_INT(2 * i, seen.faults);
    }
    CHECK_INT(0, seen.launches);
    seen.refuses = false;
    table()->map(&args);
    CHECK_INT(1, seen.launches);
    CHECK_INT(4, seen.faults);
}

static void nothing_is_launched_for_nothing(void **state)
{
    rgm_map_args args = scaled_sum(0, 8, 0.5);

    (void)state;
    table()->map(&args);
    CHECK_INT(0, seen.programs);
    CHECK_INT(0, seen.launches);
}

TESTS(cmocka_unit_test_setup_teardown(a_form_is_compiled_once, start, stop),
      cmocka_unit_test_setup_teardown(another_device_compiles_again, start, stop),
      cmocka_unit_test_setup_teardown(quads_are_taken_where_they_lie_so, start, stop),
      cmocka_unit_test_setup_teardown(many_strides_stand_in_the_source, start, stop),
      cmocka_unit_test_setup_teardown(what_cannot_be_compiled_is_asked_for_again, start, stop),
      cmocka_unit_test_setup_teardown(nothing_is_launched_for_nothing, start, stop))
