/*
 * kernels, arguments of the rows that move parameters: one sweep over a parameter w [count], its
 * gradient and the slots beside it, all of the table's dtype. Where g stands it is gradient *
 * gradient_scale + l2 * w. Adam and SGD, which most runs take, have fast rows; the others compute
 * in double whatever the dtype is, and round what they store.
 */
#ifndef REGIMEN_KERNELS_OPTIM_H
#define REGIMEN_KERNELS_OPTIM_H

#include <regimen/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Adam (Kingma & Ba 2015): m, v updated in place, w -= rate * m / (sqrt(v) + epsilon) with bias
 * correction folded into `rate` and epsilon outside it (Keras); decoupled weight decay (AdamW):
 * w -= weight_decay_rate * w first. amsgrad: the same by v_max, the largest v so far (Reddi et al.
 * 2018), which adam does not read. Where sqrt(v) + epsilon is 0, as of an element that no gradient
 * has come to, m moves nothing.
 */
typedef struct rgm_adam_args {
    void *w, *m, *v, *v_max;
    const void *gradient;
    int64_t count;
    double rate, beta1, beta2, epsilon, l2, weight_decay_rate, gradient_scale;
} rgm_adam_args;

/** m = momentum * m + g; w -= rate * (nesterov ? g + momentum * m : m). m NULL: no momentum. */
typedef struct rgm_sgd_args {
    void *w, *m;
    const void *gradient;
    int64_t count;
    double rate, momentum, l2, gradient_scale;
    bool nesterov;
} rgm_sgd_args;

/**
 * square = rho * square + (1 - rho) * g^2; mean, unless NULL, the same of g, and its square is
 * taken off; step = g / (sqrt(variance) + epsilon), through momentum * step before unless that is
 * NULL; w -= rate * step.
 */
typedef struct rgm_rmsprop_args {
    void *w, *square, *mean, *momentum;
    const void *gradient;
    int64_t count;
    double rate, rho, momentum_kept, epsilon, l2, gradient_scale;
} rgm_rmsprop_args;

/** sum += g^2; w -= rate * g / (sqrt(sum) + epsilon). */
typedef struct rgm_adagrad_args {
    void *w, *sum;
    const void *gradient;
    int64_t count;
    double rate, epsilon, l2, gradient_scale;
} rgm_adagrad_args;

/** m and v as Adam's; y [count] = m * m_correction / (sqrt(v * v_correction) + epsilon) +
 * weight_decay * w. */
typedef struct rgm_lamb_args {
    void *y, *m, *v;
    const void *w, *gradient;
    int64_t count;
    double beta1, beta2, m_correction, v_correction, epsilon, weight_decay, l2, gradient_scale;
} rgm_lamb_args;

/** m = momentum * m + g; y [count] = nesterov ? momentum * m + g : m. m NULL: y = g. */
typedef struct rgm_lars_args {
    void *y, *m;
    const void *w, *gradient;
    int64_t count;
    double momentum, l2, gradient_scale;
    bool nesterov;
} rgm_lars_args;

/**
 * y [count] = g / sqrt(v), v = keep * v + (1 - keep) * (g^2 + epsilon) (Shazeer & Stern 2018). With
 * `matrices` > 0 w is so many of [rows, columns], and v is kept as means over columns, row
 * [matrices, rows], and over rows, column [matrices, columns]: v = row * column / mean of row.
 */
typedef struct rgm_adafactor_args {
    void *y, *v, *row, *column;
    const void *w, *gradient;
    int64_t count, matrices, rows, columns;
    double keep, epsilon, l2, gradient_scale;
} rgm_adafactor_args;

/** step = length * direction, through m = beta1 * m + (1 - beta1) * step unless m is NULL;
 * w -= decay * w; w -= step. */
typedef struct rgm_adafactor_move_args {
    void *w, *m;
    const void *direction;
    int64_t count;
    double length, beta1, decay;
} rgm_adafactor_move_args;

/** y [count] = x, at most `limit` and at least -limit. */
typedef struct rgm_clip_args {
    void *y;
    const void *x;
    int64_t count;
    double limit;
} rgm_clip_args;

/** average [count] -= rest * (average - w): one that has arrived at w stays there exactly. */
typedef struct rgm_average_args {
    void *average;
    const void *w;
    int64_t count;
    double rest;
} rgm_average_args;

/** Exchange `bytes` of a and b, which do not overlap. */
typedef struct rgm_swap_args {
    void *a, *b;
    size_t bytes;
} rgm_swap_args;

#ifdef __cplusplus
}
#endif
#endif
