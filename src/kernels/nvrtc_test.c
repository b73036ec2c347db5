/*
 * Every source file for devices is CUDA C too: NVRTC makes machine code of it for three kinds of
 * GPUs, none of which need be here. With RGM_CASES=rest for those that are not tried every day.
 */
#include "gpu/gpu.h"
#include <check.h>

/* A compute capability and the type that is REAL. */
typedef struct form {
    int architecture;
    rgm_dtype real;
} form;

static void compile(const rgmi_gpu_source *source, const form *f)
{
    rgm_status status = rgm_program_check(source->name, source->text, f->real, f->architecture);

    if (status == RGM_ERR_UNSUPPORTED)
        SKIP(rgm_error_message());
    if (status != RGM_OK)
        fail_msg("compute_%d, %s: %s", f->architecture, rgm_dtype_name(f->real),
                 rgm_error_message());
}

static void every_source_compiles_for_cuda(void **state)
{
    static const form every_day[] = {{90, RGM_F32}, {90, RGM_F64}};
    static const form others[] = {{80, RGM_F32}, {100, RGM_F32}};
    const char *cases = getenv("RGM_CASES");
    const form *forms = cases != NULL && strcmp(cases, "rest") == 0 ? others : every_day;
    int64_t compiled = 0;

    (void)state;
    for (int s = 0; rgmi_gpu_sources[s] != NULL; s++)
        for (int f = 0; f < 2; f++) {
            compile(rgmi_gpu_sources[s], &forms[f]);
            compiled++;
        }
    CHECK(compiled > 0);
    print_message("NVRTC compiled %lld programs\n", (long long)compiled);
}

static void what_is_no_cuda_is_refused(void **state)
{
    static const char wrong[] =
        "KERNEL void f(FLAG)\n{\n    STOP_IF_RAISED;\n    unknown = 1;\n}\n";
    static const char large[] = "KERNEL void f(FLAG, MEMORY(y))\n{\n    LOCAL REAL x[20000];\n"
                                "    x[LANE] = 1;\n    BARRIER;\n    AT(REAL, y)[0] = x[1];\n}\n";
    rgm_status status = rgm_program_check("wrong", wrong, RGM_F32, 90);

    (void)state;
    if (status == RGM_ERR_UNSUPPORTED)
        SKIP(rgm_error_message());
    CHECK_INT(RGM_ERR_DATA, status);
    CHECK_MESSAGE("wrong.dev does not compile: wrong.dev(4)");
    CHECK_MESSAGE("unknown");
    CHECK_STATUS(RGM_ERR_DATA, rgm_program_check("large", large, RGM_F64, 90));
}

TESTS(cmocka_unit_test(every_source_compiles_for_cuda),
      cmocka_unit_test(what_is_no_cuda_is_refused))
