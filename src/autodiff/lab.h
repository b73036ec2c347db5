/*
 * What this layer's tests share: a graph with its feeds (a lab), random inputs away from kinks,
 * runs in each mode, and the gradient check against central differences in double.
 */
#ifndef REGIMEN_AUTODIFF_LAB_H
#define REGIMEN_AUTODIFF_LAB_H

#include <check.h>
#include <regimen/autodiff.h>

enum { LAB_MAX = 24 };

typedef struct lab {
    rgm_cgraph *graph;
    rgm_dtype dtype;
    rgm_feed feeds[LAB_MAX];
    bool differentiable[LAB_MAX];
    int64_t count;
    uint64_t draws;
} lab;

static inline void lab_open(lab *l, rgm_dtype dtype)
{
    memset(l, 0, sizeof *l);
    l->dtype = dtype;
    CHECK_OK(rgm_cgraph_create(&l->graph));
}

static inline void lab_close(lab *l)
{
    for (int64_t i = 0; i < l->count; i++) {
        rgm_tensor_release(l->feeds[i].tensor);
        rgm_pattern_release(l->feeds[i].pattern);
    }
    rgm_cgraph_release(l->graph);
}

static inline double lab_uniform(lab *l)
{
    rgm_rng rng = rgm_rng_stream(7, "lab", 0);
    return rgm_rng_f64(&rng, l->draws++);
}

/* Magnitudes in [0.2, 2), random signs unless `positive`. */
static inline double lab_number(lab *l, bool positive)
{
    double magnitude = 0.2 + 1.8 * lab_uniform(l);
    return positive || lab_uniform(l) < 0.5 ? magnitude : -magnitude;
}

static inline void lab_set(rgm_tensor *tensor, int64_t i, double x)
{
    if (rgm_tensor_dtype(tensor) == RGM_F64)
        rgm_tensor_f64(tensor)[i] = x;
    else
        rgm_tensor_f32(tensor)[i] = (float)x;
}

static inline rgm_value *lab_feed(lab *l, rgm_value *input, rgm_tensor *tensor, bool differentiable)
{
    CHECK(l->count < LAB_MAX);
    l->feeds[l->count] = (rgm_feed){.input = input, .tensor = tensor};
    l->differentiable[l->count++] = differentiable;
    return input;
}

/* An input whose dims may be symbols, fed a random tensor of the given sizes. */
static inline rgm_value *lab_input_of(lab *l, int rank, const rgm_dim *dims, const int64_t *sizes,
                                      bool positive)
{
    char name[16];
    rgm_tensor *tensor;

    snprintf(name, sizeof name, "x%d", (int)l->count);
    CHECK_OK(rgm_tensor_create(&tensor, l->dtype, rank, sizes));
    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++)
        lab_set(tensor, i, lab_number(l, positive));
    return lab_feed(l, rgm_input(l->graph, name, l->dtype, rank, dims), tensor, true);
}

static inline rgm_value *lab_input(lab *l, int rank, const int64_t *sizes)
{
    return lab_input_of(l, rank, sizes, sizes, false);
}

static inline rgm_value *lab_positive(lab *l, int rank, const int64_t *sizes)
{
    return lab_input_of(l, rank, sizes, sizes, true);
}

/* Integers in 0..limit-1. */
static inline rgm_value *lab_index(lab *l, rgm_dtype dtype, int64_t count, int64_t limit)
{
    char name[16];
    rgm_tensor *tensor;

    snprintf(name, sizeof name, "i%d", (int)l->count);
    CHECK_OK(rgm_tensor_create(&tensor, dtype, 1, &count));
    for (int64_t i = 0; i < count; i++) {
        int64_t k = (int64_t)(lab_uniform(l) * (double)limit);
        if (dtype == RGM_I64)
            rgm_tensor_i64(tensor)[i] = k;
        else
            rgm_tensor_i32(tensor)[i] = (int32_t)k;
    }
    return lab_feed(l, rgm_input(l->graph, name, dtype, 1, &count), tensor, false);
}

/* A random pattern with repeats and, with luck, empty rows. */
static inline rgm_value *lab_pattern_of(lab *l, rgm_dim rows_dim, rgm_dim columns_dim,
                                        rgm_dim count_dim, int64_t rows, int64_t columns,
                                        int64_t count)
{
    char name[16];
    int64_t *row = malloc(sizeof(int64_t) * (size_t)(2 * count + 1)), *column = row + count;
    rgm_pattern *pattern;

    snprintf(name, sizeof name, "p%d", (int)l->count);
    for (int64_t i = 0; i < count; i++) {
        row[i] = (int64_t)(lab_uniform(l) * (double)rows);
        column[i] = (int64_t)(lab_uniform(l) * (double)columns);
    }
    CHECK_OK(rgm_pattern_create(&pattern, rows, columns, count, row, column));
    free(row);
    rgm_value *p = rgm_input_pattern(l->graph, name, rows_dim, columns_dim, count_dim);
    CHECK(l->count < LAB_MAX);
    l->feeds[l->count] = (rgm_feed){.input = p, .pattern = pattern};
    l->differentiable[l->count++] = false;
    return p;
}

static inline rgm_value *lab_pattern(lab *l, int64_t rows, int64_t columns, int64_t count)
{
    return lab_pattern_of(l, rows, columns, count, rows, columns, count);
}

/* Run once; the results are copies that the caller releases. */
static inline void lab_run(lab *l, rgm_tensor **results, rgm_value *const *fetches, int64_t count,
                           const rgm_executor_options *options, const rgm_parameters *parameters)
{
    rgm_executor *executor;
    rgm_tensor *borrowed[LAB_MAX];

    CHECK(count <= LAB_MAX);
    CHECK_OK(rgm_cgraph_status(l->graph));
    CHECK_OK(rgm_executor_create(&executor, l->graph, fetches, count, options));
    CHECK_OK(rgm_executor_run(executor, borrowed, parameters, l->feeds, l->count, 3, 5));
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(rgm_tensor_copy(&results[i], borrowed[i]));
    rgm_executor_release(executor);
}

/* loss = sum(y * r) with r a random input of y's shape that takes no part in the check. */
static inline rgm_value *lab_loss(lab *l, rgm_value *y)
{
    rgm_tensor *result, *r;
    rgm_executor_options plain = {.no_fusion = true, .training = true};

    CHECK_OK(rgm_cgraph_status(l->graph));
    lab_run(l, &result, &y, 1, &plain, NULL);
    CHECK_OK(rgm_tensor_create(&r, l->dtype, rgm_tensor_rank(result), rgm_tensor_shape(result)));
    for (int64_t i = 0; i < rgm_tensor_count(r); i++)
        lab_set(r, i, lab_number(l, false));
    rgm_tensor_release(result);
    rgm_value *weight =
        rgm_input(l->graph, "loss weights", l->dtype, rgm_value_rank(y), rgm_value_shape(y));
    lab_feed(l, weight, r, false);
    return rgm_sum(rgm_mul(y, weight));
}

static inline double lab_loss_at(lab *l, rgm_executor *executor, int64_t input, int64_t i,
                                 double delta)
{
    rgm_tensor *loss, *moved, *kept = l->feeds[input].tensor;

    CHECK_OK(rgm_tensor_copy(&moved, kept));
    lab_set(moved, i, rgm_tensor_at(moved, i) + delta);
    l->feeds[input].tensor = moved;
    CHECK_OK(rgm_executor_run(executor, &loss, NULL, l->feeds, l->count, 3, 5));
    double value = rgm_tensor_at(loss, 0);
    l->feeds[input].tensor = kept;
    rgm_tensor_release(moved);
    return value;
}

/* Every gradient of loss by every differentiable input against central differences. */
static inline void lab_check_gradient(lab *l, const char *what, rgm_value *loss,
                                      const rgm_executor_options *options)
{
    rgm_value *wrt[LAB_MAX], *gradients[LAB_MAX];
    rgm_tensor *results[LAB_MAX];
    rgm_executor *executor;
    int64_t of[LAB_MAX], n = 0;
    const double step = 1e-5;

    for (int64_t i = 0; i < l->count; i++)
        if (l->differentiable[i]) {
            of[n] = i;
            wrt[n++] = l->feeds[i].input;
        }
    CHECK_OK(rgm_cgraph_gradients(gradients, loss, wrt, n));
    lab_run(l, results, gradients, n, options, NULL);
    CHECK_OK(rgm_executor_create(&executor, l->graph, &loss, 1, options));
    for (int64_t k = 0; k < n; k++) {
        int64_t count = rgm_tensor_count(results[k]);
        double worst = 0, largest = 1e-3;
        CHECK_INT(rgm_tensor_count(l->feeds[of[k]].tensor), count);
        for (int64_t i = 0; i < count; i++) {
            double up = lab_loss_at(l, executor, of[k], i, step);
            double down = lab_loss_at(l, executor, of[k], i, -step);
            double numeric = (up - down) / (2 * step), got = rgm_tensor_at(results[k], i);
            largest = fmax(largest, fabs(numeric));
            if (!(fabs(numeric - got) <= worst))
                worst = isnan(got) ? INFINITY : fabs(numeric - got);
        }
        if (!(worst <= 1e-6 * largest))
            fail_msg("%s: gradient by input %d is off by %g, largest is %g", what, (int)of[k],
                     worst, largest);
        rgm_tensor_release(results[k]);
    }
    rgm_executor_release(executor);
}

#endif
