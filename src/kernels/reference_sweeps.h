/*
 * Sweeps over a parameter and its slots for the optimizers that nothing has asked a faster row of:
 * each rule in double, its results rounded once to REAL. What an element becomes depends on nothing
 * outside it, so threads change no bit. Included twice: see sweeps_f32.c.
 */
#ifndef REAL
#error "define REAL and PLAIN() before"
#endif

#include "kernels_internal.h"

#include <math.h>
#include <string.h>

#define ITEM 2048 /* elements of one item of the parallel loop */

/* Rows [begin, end) of items as elements, at most `count`. */
#define SWEEP(o, i, begin, end)                                                                    \
    for (int64_t i = (begin)*ITEM, last_ = rgmi_min((end)*ITEM, (o)->count); i < last_; i++)

static void sweep(int64_t count, rgm_range_work *work, const void *args)
{
    rgm_parallel(rgmi_blocks(count, ITEM), 6.0 * ITEM, work, (void *)(uintptr_t)args);
}

static void amsgrad_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_adam_args o = *(const rgm_adam_args *)payload;
    REAL *restrict w = o.w, *restrict m = o.m, *restrict v = o.v, *restrict v_max = o.v_max;
    const REAL *restrict gradient = o.gradient;

    SWEEP(&o, i, begin, end)
    {
        double x = (double)w[i], g = (double)gradient[i] * o.gradient_scale + o.l2 * x;
        double mean = o.beta1 * (double)m[i] + (1 - o.beta1) * g;
        double square = o.beta2 * (double)v[i] + (1 - o.beta2) * (g * g);
        double most = square > (double)v_max[i] ? square : (double)v_max[i];
        double root = sqrt(most) + o.epsilon;

        x -= o.weight_decay_rate * x;
        x -= o.rate * (mean / (root == 0 ? (double)INFINITY : root));
        w[i] = (REAL)x;
        m[i] = (REAL)mean;
        v[i] = (REAL)square;
        v_max[i] = (REAL)most;
    }
}

void PLAIN(amsgrad)(const rgm_adam_args *args)
{
    sweep(args->count, amsgrad_items, args);
}

static void rmsprop_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_rmsprop_args o = *(const rgm_rmsprop_args *)payload;
    REAL *restrict w = o.w, *restrict squares = o.square, *restrict means = o.mean;
    REAL *restrict steps = o.momentum;
    const REAL *restrict gradient = o.gradient;

    SWEEP(&o, i, begin, end)
    {
        double x = (double)w[i], g = (double)gradient[i] * o.gradient_scale + o.l2 * x, step;
        double square = o.rho * (double)squares[i] + (1 - o.rho) * (g * g), variance = square;

        if (means != NULL) {
            double mean = o.rho * (double)means[i] + (1 - o.rho) * g;
            variance -= mean * mean;
            variance = variance > 0 ? variance : 0; /* rounding may take it just below */
            means[i] = (REAL)mean;
        }
        step = g / (sqrt(variance) + o.epsilon);
        if (steps != NULL) {
            step = o.momentum_kept * (double)steps[i] + step;
            steps[i] = (REAL)step;
        }
        w[i] = (REAL)(x - o.rate * step);
        squares[i] = (REAL)square;
    }
}

void PLAIN(rmsprop)(const rgm_rmsprop_args *args)
{
    sweep(args->count, rmsprop_items, args);
}

static void adagrad_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_adagrad_args o = *(const rgm_adagrad_args *)payload;
    REAL *restrict w = o.w, *restrict sums = o.sum;
    const REAL *restrict gradient = o.gradient;

    SWEEP(&o, i, begin, end)
    {
        double x = (double)w[i], g = (double)gradient[i] * o.gradient_scale + o.l2 * x;
        double sum = (double)sums[i] + g * g;

        w[i] = (REAL)(x - o.rate * g / (sqrt(sum) + o.epsilon));
        sums[i] = (REAL)sum;
    }
}

void PLAIN(adagrad)(const rgm_adagrad_args *args)
{
    sweep(args->count, adagrad_items, args);
}

static void lamb_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_lamb_args o = *(const rgm_lamb_args *)payload;
    REAL *restrict y = o.y, *restrict m = o.m, *restrict v = o.v;
    const REAL *restrict w = o.w, *restrict gradient = o.gradient;

    SWEEP(&o, i, begin, end)
    {
        double x = (double)w[i], g = (double)gradient[i] * o.gradient_scale + o.l2 * x;
        double mean = o.beta1 * (double)m[i] + (1 - o.beta1) * g;
        double square = o.beta2 * (double)v[i] + (1 - o.beta2) * (g * g);

        y[i] = (REAL)(mean * o.m_correction / (sqrt(square * o.v_correction) + o.epsilon) +
                      o.weight_decay * x);
        m[i] = (REAL)mean;
        v[i] = (REAL)square;
    }
}

void PLAIN(lamb_direction)(const rgm_lamb_args *args)
{
    sweep(args->count, lamb_items, args);
}

static void lars_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_lars_args o = *(const rgm_lars_args *)payload;
    REAL *restrict y = o.y, *restrict m = o.m;
    const REAL *restrict w = o.w, *restrict gradient = o.gradient;

    SWEEP(&o, i, begin, end)
    {
        double g = (double)gradient[i] * o.gradient_scale + o.l2 * (double)w[i], mean;

        if (m == NULL) {
            y[i] = (REAL)g;
            continue;
        }
        mean = o.momentum * (double)m[i] + g;
        y[i] = (REAL)(o.nesterov ? o.momentum * mean + g : mean);
        m[i] = (REAL)mean;
    }
}

void PLAIN(lars_direction)(const rgm_lars_args *args)
{
    sweep(args->count, lars_items, args);
}

/* ---- Adafactor ----------------------------------------------------------------------------- */

static void adafactor_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_adafactor_args o = *(const rgm_adafactor_args *)payload;
    REAL *restrict y = o.y, *restrict v = o.v;
    const REAL *restrict w = o.w, *restrict gradient = o.gradient;

    SWEEP(&o, i, begin, end)
    {
        double g = (double)gradient[i] * o.gradient_scale + o.l2 * (double)w[i];
        double square = o.keep * (double)v[i] + (1 - o.keep) * (g * g + o.epsilon);

        y[i] = (REAL)(g / sqrt(square));
        v[i] = (REAL)square;
    }
}

static double squared(const rgm_adafactor_args *o, int64_t i)
{
    double g = (double)((const REAL *)o->gradient)[i] * o->gradient_scale;

    return g * g + o->epsilon;
}

static void move_moment(const rgm_adafactor_args *o, void *moments, int64_t i, double mean)
{
    REAL *moment = (REAL *)moments + i;

    *moment = (REAL)(o->keep * (double)*moment + (1 - o->keep) * mean);
}

static void row_means(void *payload, int64_t begin, int64_t end)
{
    const rgm_adafactor_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        double sum = 0;

        for (int64_t c = 0; c < o->columns; c++)
            sum += squared(o, r * o->columns + c);
        move_moment(o, o->row, r, sum / (double)o->columns);
    }
}

#define COLUMN_BLOCK 64

static void column_means(void *payload, int64_t begin, int64_t end)
{
    const rgm_adafactor_args *o = payload;
    int64_t rows = o->rows, columns = o->columns, blocks = rgmi_blocks(columns, COLUMN_BLOCK);

    for (int64_t item = begin; item < end; item++) {
        int64_t matrix = item / blocks, first = item % blocks * COLUMN_BLOCK;
        int64_t n = rgmi_min(columns - first, COLUMN_BLOCK);
        double sums[COLUMN_BLOCK] = {0};

        for (int64_t r = 0; r < rows; r++)
            for (int64_t c = 0; c < n; c++)
                sums[c] += squared(o, (matrix * rows + r) * columns + first + c);
        for (int64_t c = 0; c < n; c++)
            move_moment(o, o->column, matrix * columns + first + c, sums[c] / (double)rows);
    }
}

static double mean_of(const REAL *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i];
    return sum / (double)n;
}

/* y = gradient / sqrt(row * column / mean of the matrix's rows), an item a row. */
static void divide(void *payload, int64_t begin, int64_t end)
{
    const rgm_adafactor_args *o = payload;
    const REAL *rows = o->row, *columns = o->column, *gradient = o->gradient;
    REAL *y = o->y;
    double mean = 0;

    for (int64_t item = begin; item < end; item++) {
        int64_t matrix = item / o->rows;
        double row = (double)rows[item];

        if (item == begin || item % o->rows == 0)
            mean = mean_of(rows + matrix * o->rows, o->rows);
        for (int64_t c = 0; c < o->columns; c++) {
            int64_t i = item * o->columns + c;
            double v = row * (double)columns[matrix * o->columns + c] / mean;

            y[i] = (REAL)((double)gradient[i] * o->gradient_scale / sqrt(v));
        }
    }
}

void PLAIN(adafactor_direction)(const rgm_adafactor_args *args)
{
    int64_t rows = args->matrices * args->rows;
    int64_t blocks = args->matrices * rgmi_blocks(args->columns, COLUMN_BLOCK);
    void *o = (void *)(uintptr_t)args;

    if (args->matrices == 0) {
        sweep(args->count, adafactor_items, args);
        return;
    }
    rgm_parallel(rows, 2.0 * (double)args->columns, row_means, o);
    rgm_parallel(blocks, 2.0 * COLUMN_BLOCK * (double)args->rows, column_means, o);
    rgm_parallel(rows, 6.0 * (double)args->columns, divide, o);
}

static void adafactor_move_items(void *payload, int64_t begin, int64_t end)
{
    const rgm_adafactor_move_args o = *(const rgm_adafactor_move_args *)payload;
    REAL *restrict w = o.w, *restrict m = o.m;
    const REAL *restrict direction = o.direction;

    SWEEP(&o, i, begin, end)
    {
        double x = (double)w[i], step = o.length * (double)direction[i];

        if (m != NULL) {
            step = o.beta1 * (double)m[i] + (1 - o.beta1) * step;
            m[i] = (REAL)step;
        }
        x -= o.decay * x;
        w[i] = (REAL)(x - step);
    }
}

void PLAIN(adafactor_move)(const rgm_adafactor_move_args *args)
{
    sweep(args->count, adafactor_move_items, args);
}

/* ---- around the step ----------------------------------------------------------------------- */

static void clip_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_clip_args *o = payload;
    const REAL *restrict from = o->x;
    REAL *restrict to = o->y, limit = (REAL)o->limit;

    for (int64_t i = begin; i < end; i++) {
        REAL x = from[i] < limit ? from[i] : limit;
        to[i] = x > -limit ? x : -limit;
    }
}

void PLAIN(clip)(const rgm_clip_args *args)
{
    rgm_parallel(args->count, 1, clip_range, (void *)(uintptr_t)args);
}

static void average_range(void *payload, int64_t begin, int64_t end)
{
    const rgm_average_args *o = payload;
    REAL *restrict average = o->average;
    const REAL *restrict w = o->w;
    double rest = o->rest;

    for (int64_t i = begin; i < end; i++)
        average[i] = (REAL)((double)average[i] - rest * ((double)average[i] - (double)w[i]));
}

void PLAIN(average)(const rgm_average_args *args)
{
    rgm_parallel(args->count, 1, average_range, (void *)(uintptr_t)args);
}
