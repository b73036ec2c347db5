/*
 * The sixteen-lane rows on pairs of AVX2 registers, for tests only: so the code that AVX-512 runs
 * is checked on machines without it. See vec16_pairs.h.
 */
#define LANES      16
#define FAST_TABLE rgmi_emulated_f32
#define FAST_ISA   "sixteen lanes, emulated"
/* Few enough that a gradient of attention keeps its scores in some cases and not in others. */
#define KEPT_SCORES 8192
#include "kernels_internal.h"
extern const rgm_kernels FAST_TABLE;
#include "fast.h"
