/* The fast rows for AVX2 and FMA: see fast.h. */
#define LANES      8
#define FAST_TABLE rgmi_avx2_f32
#define FAST_ISA   "avx2"
#include "fast.h"
