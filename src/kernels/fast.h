/*
 * The fast rows, written once for LANES floats a vector and compiled for AVX2 and for AVX-512.
 * Needs LANES, FAST_TABLE and FAST_ISA. See vec.h.
 */
#ifndef LANES
#error "define LANES, FAST_TABLE and FAST_ISA before"
#endif

#include "kernels_internal.h"
#include "vec_math.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

/* Heads and rows of at most half a vector leave most of it empty: where there is a table with half
 * the lanes it takes them. On Zen 4 GAT's eight heads of eight are two to three times as fast so.
 */
#ifdef FAST_NARROW
#define NARROW_TAKES(width, call)                                                                  \
    do {                                                                                           \
        if ((width) <= LANES / 2) {                                                                \
            FAST_NARROW.call;                                                                      \
            return;                                                                                \
        }                                                                                          \
    } while (0)
#else
#define NARROW_TAKES(width, call) ((void)0)
#endif

#include "fast_finish.h"
#include "fast_transpose.h"
#include "fast_tile.h"
#include "fast_gemm.h"
#include "fast_spmm.h"
#include "fast_rows.h"
#include "fast_stream.h"
#include "fast_norm.h"
#include "fast_quads.h"
#include "fast_attention.h"
#include "fast_decoding.h"
#include "fast_edges.h"
#include "fast_graph.h"
#include "fast_map.h"
#include "fast_conv.h"
#include "fast_pool.h"

const rgm_kernels FAST_TABLE = {
    .isa = FAST_ISA, .dtype = RGM_F32, RGM_KERNEL_LIST(RGMI_ROW, RGMI_F32_ROW, RGMI_ANY_ROW)};
