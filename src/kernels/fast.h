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
#include "fast_gemm.h"
#include "fast_spmm.h"
#include "fast_rows.h"
#include "fast_stream.h"
#include "fast_attention.h"
#include "fast_decoding.h"
#include "fast_graph.h"
#include "fast_map.h"
#include "fast_conv.h"
#include "fast_pool.h"

const rgm_kernels FAST_TABLE = {
    .isa = FAST_ISA,
    .dtype = RGM_F32,
    .matmul = matmul,
    .matmul_pack = matmul_pack,
    .spmm = spmm,
    .sddmm = sddmm,
    .gatv2_score = gatv2_score,
    .gatv2_grad_q = gatv2_grad_q,
    .gatv2_grad_v = gatv2_grad_v,
    .gatv2_grad_a = gatv2_grad_a,
    .segment_reduce = segment_reduce,
    .segment_reduce_grad = segment_reduce_grad,
    .segment_softmax = segment_softmax,
    .segment_softmax_grad = segment_softmax_grad,
    .gather = gather,
    .map = map,
    .dropout = dropout,
    .reduce = reduce,
    .softmax = softmax,
    .softmax_grad = softmax_grad,
    .cross_entropy = cross_entropy,
    .cross_entropy_grad = cross_entropy_grad,
    .attention = attention,
    .attention_grad = attention_grad,
    .attention_rows = attention_rows,
    .top_log_softmax = top_log_softmax,
    .layer_norm = layer_norm,
    .layer_norm_grad = layer_norm_grad,
    .conv2d = conv2d,
    .conv2d_grad_input = conv2d_grad_input,
    .conv2d_grad_kernel = conv2d_grad_kernel,
    .max_pool2d = max_pool2d,
    .max_pool2d_grad = max_pool2d_grad,
    .avg_pool2d = avg_pool2d,
    .avg_pool2d_grad = avg_pool2d_grad,
    .adam = adam,
    .sgd = sgd,
    .sum_of_squares = sum_of_squares,
    .all_finite = all_finite,
};
