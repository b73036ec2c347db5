/*
 * The rows for devices that compile programs, on one of them, against the CPU's double reference
 * over the table of cases; and two runs against each other, bit by bit.
 *
 *     gpu_kernels_test [KERNEL...]      only the cases of these kernels
 *     REGIMEN_DEVICE=cuda:0             on which device; opencl:0 otherwise
 *     RGM_CASES=all                     every variant of them; otherwise a third, and of map fewer
 *     RGM_CASES=small                   of those with little memory two for each KERNEL function,
 * in f32; the end says which functions ran: for oclgrind gpu_kernels_test race             a KERNEL
 * that is wrong: see scripts/check_devices.sh
 *
 * Cases keep everything in the host's memory. Here a block of theirs stands for a copy on the
 * device: it is sent there before a row is called and fetched when that has run, and a kernel that
 * is given an address in it gets that of the copy.
 */
#include "device_check.h"
#include "gpu/gpu.h"
#include "kernels_compare.h"

static struct lent_device {
    rgm_device *device, *real; /* ours, and that which computes */
    run *current;              /* whose memory it is */
    void *copy[256];
    int copies;
    const char *missing; /* the last row that was called and is not there */
    bool looks;          /* launches are noted, nothing runs                */
    bool is_new;         /* a KERNEL was among them that ran less than      */
    int wanted_runs;     /* so often                                       */
} lent;

/* The KERNELs that were found, and how often each ran; each program of `map` has one, and all cases
 * have some thousand. */
enum { FOUND = 8192 };
static struct {
    rgm_device_kernel *kernel;
    char name[64];
    int runs;
} found[FOUND];
static int found_count;

/* ---- a device in front of the device ------------------------------------------------------- */

static const void *address_there(const void *address)
{
    const run *t = lent.current;

    for (int i = 0; i < lent.copies; i++) {
        uintptr_t at = (uintptr_t)address - (uintptr_t)t->memory[i];
        if ((uintptr_t)address >= (uintptr_t)t->memory[i] && at <= t->bytes[i])
            return (char *)lent.copy[i] + at;
    }
    return address;
}

static rgm_status lent_allocate(void **out, rgm_device *device, size_t bytes)
{
    (void)device;
    return rgm_device_allocate(out, lent.real, bytes);
}

static void lent_free(rgm_device *device, void *memory)
{
    (void)device;
    rgm_device_free(lent.real, memory);
}

static rgm_status lent_copy_to(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    return rgm_device_copy_to(lent.real, (void *)(uintptr_t)address_there(to), from, bytes);
}

static rgm_status lent_copy_from(rgm_device *device, void *to, const void *from, size_t bytes)
{
    (void)device;
    return rgm_device_copy_from(lent.real, to, address_there(from), bytes);
}

/* A cache of which tests have more than fits, so that kernels go the way of large operands. */
static rgm_device_memory lent_memory(rgm_device *device)
{
    (void)device;
    return (rgm_device_memory){.cache = 32768};
}

static rgm_status lent_wait(rgm_device *device)
{
    (void)device;
    return rgm_device_wait(lent.real);
}

static rgm_status lent_program(rgm_program **out, rgm_device *device, const char *name,
                               const char *source, rgm_dtype dtype)
{
    (void)device;
    return rgm_device_program(out, lent.real, name, source, dtype);
}

static rgm_status lent_find(rgm_device_kernel **out, rgm_device *device, rgm_program *program,
                            const char *name)
{
    (void)device;
    RGM_TRY(rgm_program_find(out, lent.real, program, name));
    CHECK(found_count < FOUND);
    for (int i = 0; i < found_count; i++)
        if (strcmp(found[i].name, name) == 0)
            found[found_count].runs = found[i].runs;
    found[found_count].kernel = *out;
    snprintf(found[found_count++].name, sizeof found->name, "%s", name);
    return RGM_OK;
}

/* All that have the kernel's name: an element-wise program is a KERNEL each. */
static void note_launch(const rgm_device_kernel *kernel)
{
    const char *name = "";

    for (int i = 0; i < found_count; i++)
        if (found[i].kernel == kernel)
            name = found[i].name;
    for (int i = 0; i < found_count; i++)
        if (strcmp(found[i].name, name) == 0) {
            lent.is_new |= found[i].runs < lent.wanted_runs;
            found[i].runs += !lent.looks;
        }
}

static void lent_launch(rgm_device *device, rgm_device_kernel *kernel, int64_t groups, int lanes,
                        const rgm_argument *arguments, int count)
{
    rgm_argument there[RGM_ARGUMENTS];

    (void)device;
    CHECK(count <= RGM_ARGUMENTS);
    note_launch(kernel);
    if (lent.looks)
        return;
    for (int i = 0; i < count; i++) {
        there[i] = arguments[i];
        if (there[i].kind == RGM_ARGUMENT_MEMORY)
            there[i].value.memory = address_there(there[i].value.memory);
    }
    rgm_device_launch(lent.real, kernel, groups, lanes, there, count);
}

static void lent_watch(rgm_device *device, const void *flag)
{
    (void)device;
    if (!lent.looks)
        rgm_device_watch(lent.real, address_there(flag));
}

static void lent_fault(rgm_device *device, rgm_status status)
{
    (void)device;
    rgm_device_fault(lent.real, status);
}

/* ---- its tables: blocks there before each row, and back after it ---------------------------- */

static int lend(void)
{
    run *t = lent.current;

    for (lent.copies = 0; lent.copies < t->memories; lent.copies++) {
        int i = lent.copies;
        CHECK_OK(rgm_device_allocate(&lent.copy[i], lent.real, t->bytes[i]));
        CHECK_OK(rgm_device_copy_to(lent.real, lent.copy[i], t->memory[i], t->bytes[i]));
    }
    return 0;
}

static void give_back(const int *entered)
{
    run *t = lent.current;

    (void)entered;
    CHECK_OK(rgm_device_wait(lent.real));
    rgm_device_watch(lent.real, NULL); /* a flag goes with its case */
    for (int i = 0; i < lent.copies; i++) {
        CHECK_OK(rgm_device_copy_from(lent.real, t->memory[i], lent.copy[i], t->bytes[i]));
        rgm_device_free(lent.real, lent.copy[i]);
    }
    lent.copies = 0;
}

#define LENT_ROW(dtype, result, name)                                                              \
    if (rgmi_gpu_##name == NULL) {                                                                 \
        lent.missing = #name;                                                                      \
        return rgm_kernels_for(rgm_device_cpu(), dtype)->name(args);                               \
    }                                                                                              \
    if (lent.looks) {                                                                              \
        (void)rgm_kernels_for(lent.device, dtype)->name(args);                                     \
        return rgm_kernels_for(rgm_device_cpu(), dtype)->name(args);                               \
    }                                                                                              \
    __attribute__((cleanup(give_back), unused)) int entered_ = lend();                             \
    return rgm_kernels_for(lent.device, dtype)->name(args)
#define LENT_F32(result, name, arguments)                                                          \
    static result lent_f32_##name arguments                                                        \
    {                                                                                              \
        LENT_ROW(RGM_F32, result, name);                                                           \
    }
#define LENT_F64(result, name, arguments)                                                          \
    static result lent_f64_##name arguments                                                        \
    {                                                                                              \
        LENT_ROW(RGM_F64, result, name);                                                           \
    }
RGM_KERNEL_LIST(LENT_F32, LENT_F32, LENT_F32)
RGM_KERNEL_LIST(LENT_F64, LENT_F64, LENT_F64)

/* The case's flag is not among its blocks. */
static void lent_index_check(const rgm_index_args *args)
{
    rgm_index_args with = *args;

    with.flag = keep(lent.current, sizeof *with.flag);
    *with.flag = *args->flag;
    lent_f32_index_check(&with);
    *args->flag = *with.flag;
}

#define LENT_F32_ENTRY(result, name, arguments) .name = lent_f32_##name,
#define LENT_F64_ENTRY(result, name, arguments) .name = lent_f64_##name,

static rgm_kernels tables[2] = {
    {.isa = "device, f32",
     .dtype = RGM_F32,
     RGM_KERNEL_LIST(LENT_F32_ENTRY, LENT_F32_ENTRY, LENT_F32_ENTRY)},
    {.isa = "device, f64",
     .dtype = RGM_F64,
     RGM_KERNEL_LIST(LENT_F64_ENTRY, LENT_F64_ENTRY, LENT_F64_ENTRY)},
};

static rgm_status lent_open(void)
{
    static const rgm_device_compiler compiler = {.program = lent_program,
                                                 .find = lent_find,
                                                 .launch = lent_launch,
                                                 .watch = lent_watch,
                                                 .fault = lent_fault};
    static const rgm_device_type type = {.name = "lent",
                                         .allocate = lent_allocate,
                                         .free = lent_free,
                                         .copy_to = lent_copy_to,
                                         .copy_from = lent_copy_from,
                                         .wait = lent_wait,
                                         .memory = lent_memory,
                                         .compiler = &compiler};
    lent.real = check_device();
    RGM_TRY(rgm_device_create(&lent.device, &type, NULL));
    tables[0].index_check = tables[1].index_check = lent_index_check;
    return RGM_OK;
}

/* ---- the cases ----------------------------------------------------------------------------- */

/* Of every day every fifth variant, since cases take their options from a variant's remainders by
 * 2, 3 and 4. A variant of map is a program, which has to be compiled; behind the 200th each is one
 * code. */
static bool is_due(const kernel_case *c, int variant)
{
    const char *cases = getenv("RGM_CASES");

    if (cases != NULL && strcmp(cases, "all") == 0)
        return true;
    if (c->call == map_case)
        return variant >= 200 || variant % 20 == 0;
    return variant % 5 == 4 || c->variants < 5;
}

static bool is_small_run(void)
{
    const char *cases = getenv("RGM_CASES");

    return cases != NULL && strcmp(cases, "small") == 0;
}

/* Whether a variant has at most so many bytes and launches what has run less often than wanted. */
static bool is_due_small(const kernel_case *c, const run *want, int variant, size_t most)
{
    size_t bytes = 0;
    run look;

    for (int i = 0; i < want->memories; i++)
        bytes += want->bytes[i];
    if (bytes > most)
        return false;
    lent.looks = true;
    lent.is_new = false;
    lent.current = &look;
    run_case(&look, c, &tables[0], variant);
    run_clear(&look);
    lent.looks = false;
    return lent.is_new;
}

/* Once more: what was written has the same bits. */
static void check_again(const kernel_case *c, const rgm_kernels *table, const run *first)
{
    run again;

    lent.current = &again;
    run_case(&again, c, table, first->variant);
    for (int k = 0; k < first->outs; k++)
        if (memcmp(first->out[k], again.out[k], (size_t)first->out_count[k] * element(first)) != 0)
            fail_msg("%s (%s) variant %d: another run has other bits", c->name, table->isa,
                     first->variant);
    run_clear(&again);
}

static void agrees_with_the_double_reference(void **state)
{
    const kernel_case *c = *state;
    const rgm_kernels *f64 = rgm_kernels_for(rgm_device_cpu(), RGM_F64);
    run want, got;

    lent.missing = NULL;
    for (int v = 0; v < c->variants; v++)
        for (int table = 0; table < 2 && is_due(c, v); table++) {
            run_case(&want, c, f64, v);
            lent.current = &got;
            run_case(&got, c, &tables[table], v);
            if (lent.missing == NULL)
                compare(&got, &want, c);
            if (lent.missing == NULL && v % 4 == 1)
                check_again(c, &tables[table], &got);
            run_clear(&want);
            run_clear(&got);
            if (lent.missing != NULL) {
                print_message("MISSING  row %s\n", lent.missing);
                skip();
            }
        }
}

/* Twice what little memory suffices for, then once what has not run yet: oclgrind looks at each
 * access. */
static void small_variants_agree(void **state)
{
    static const size_t most[] = {150000, 1500000};
    const kernel_case *c = *state;
    run want, got;

    lent.looks = false; /* of a case that broke off */
    for (int i = 0; i < 2 * c->variants; i++) {
        int v = i % c->variants, pass = i / c->variants;
        lent.wanted_runs = 2 - pass;
        run_case(&want, c, rgm_kernels_for(rgm_device_cpu(), RGM_F64), v);
        if (is_due_small(c, &want, v, most[pass])) {
            lent.current = &got;
            run_case(&got, c, &tables[0], v);
            compare(&got, &want, c);
            run_clear(&got);
        }
        run_clear(&want);
    }
}

/* Each lane writes another number to one place: who looks at accesses has to tell of it. */
static int race(void)
{
    static const char source[] = "KERNEL void race(FLAG, MEMORY(y))\n{\n    STOP_IF_RAISED;\n"
                                 "    AT(long, y)[0] = GROUP * LANES + LANE;\n}\n";
    rgm_program *program;
    rgm_device_kernel *kernel;
    int64_t *y;

    CHECK_OK(rgm_device_program(&program, lent.real, "race", source, RGM_F32));
    CHECK_OK(rgm_program_find(&kernel, lent.real, program, "race"));
    CHECK_OK(rgm_device_allocate((void **)&y, lent.real, sizeof *y));
    rgm_device_launch(lent.real, kernel, 4, 16, &(rgm_argument){.value.memory = y}, 1);
    CHECK_OK(rgm_device_wait(lent.real));
    rgm_device_free(lent.real, y);
    return 0;
}

static void tell_runs(void)
{
    for (int i = 0; i < found_count; i++)
        print_message("RAN %s %d\n", found[i].name, found[i].runs);
}

static bool is_wanted(const char *name, char **names)
{
    if (*names == NULL)
        return true;
    while (*names != NULL)
        if (strcmp(*names++, name) == 0)
            return true;
    return false;
}

int main(int argc, char **argv)
{
    struct CMUnitTest tests[CASES];
    size_t count = 0;
    int failed;

    if (lent_open() != RGM_OK) {
        print_message("%s\n", rgm_error_message());
        return 1;
    }
    if (argc == 2 && strcmp(argv[1], "race") == 0) {
        failed = race();
        rgm_device_release(lent.device);
        rgm_device_release(lent.real);
        return failed;
    }
    for (int64_t c = 0; c < CASES; c++)
        if (is_wanted(kernel_cases[c].name, argv + 1))
            tests[count++] =
                (struct CMUnitTest){.name = kernel_cases[c].name,
                                    .test_func = is_small_run() ? small_variants_agree
                                                                : agrees_with_the_double_reference,
                                    .initial_state = (void *)(uintptr_t)&kernel_cases[c]};
    failed = _cmocka_run_group_tests("kernels on a device", tests, count, NULL, NULL);
    if (is_small_run())
        tell_runs();
    rgm_device_release(lent.device);
    rgm_device_release(lent.real);
    return failed;
}
