/* The fast rows for AVX-512: see fast.h. */
#define LANES       16
#define FAST_TABLE  rgmi_avx512_f32
#define FAST_ISA    "avx512"
#define FAST_NARROW rgmi_avx2_f32
#include "fast.h"
