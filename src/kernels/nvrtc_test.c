/*
 * Every source file for devices is CUDA C too: NVRTC makes machine code of it for three kinds of
 * GPUs, none of which need be here.
 */
#include "gpu/gpu.h"
#include <check.h>

static void every_source_compiles_for_cuda(void **state)
{
    static const int architectures[] = {80, 90, 100};
    int64_t compiled = 0;

    (void)state;
    for (int s = 0; rgmi_gpu_sources[s] != NULL; s++)
        for (int a = 0; a < 3; a++)
            for (int wide = 0; wide < 1 + (architectures[a] == 90); wide++) {
                rgm_status status =
                    rgm_program_check(rgmi_gpu_sources[s]->name, rgmi_gpu_sources[s]->text,
                                      wide ? RGM_F64 : RGM_F32, architectures[a]);
                if (status == RGM_ERR_UNSUPPORTED)
                    SKIP(rgm_error_message());
                if (status != RGM_OK)
                    fail_msg("compute_%d, %s: %s", architectures[a], wide ? "f64" : "f32",
                             rgm_error_message());
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
