/*
 * What the tests of compute graphs share, run or exported: a graph with its feeds (a lab) and
 * random inputs away from kinks.
 */
#ifndef RGM_TESTING_LAB_H
#define RGM_TESTING_LAB_H

#include <check.h>
#include <regimen/autodiff.h>

enum { LAB_MAX = 24 };

typedef struct lab {
    rgm_cgraph *graph;
    rgm_dtype dtype;
    bool symbolic; /* outermost sizes are symbols, one for each size */
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

/* The dim of an outermost axis. */
static inline rgm_dim lab_dim(lab *l, int64_t size)
{
    char name[32];

    snprintf(name, sizeof name, "n%lld", (long long)size);
    return l->symbolic && size != 1 ? rgm_cgraph_symbol(l->graph, name) : size;
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

static inline rgm_value *lab_numbers(lab *l, int rank, const int64_t *sizes, bool positive)
{
    rgm_dim dims[RGM_MAX_RANK] = {0};

    for (int i = 0; i < rank; i++)
        dims[i] = i == 0 ? lab_dim(l, sizes[i]) : sizes[i];
    return lab_input_of(l, rank, dims, sizes, positive);
}

static inline rgm_value *lab_input(lab *l, int rank, const int64_t *sizes)
{
    return lab_numbers(l, rank, sizes, false);
}

static inline rgm_value *lab_positive(lab *l, int rank, const int64_t *sizes)
{
    return lab_numbers(l, rank, sizes, true);
}

/* Integers in 0..limit-1. */
static inline rgm_value *lab_integers(lab *l, rgm_dtype dtype, int rank, const rgm_dim *dims,
                                      const int64_t *sizes, int64_t limit)
{
    char name[16];
    rgm_tensor *tensor;

    snprintf(name, sizeof name, "i%d", (int)l->count);
    CHECK_OK(rgm_tensor_create(&tensor, dtype, rank, sizes));
    for (int64_t i = 0; i < rgm_tensor_count(tensor); i++) {
        int64_t k = (int64_t)(lab_uniform(l) * (double)limit);
        if (dtype == RGM_I64)
            rgm_tensor_i64(tensor)[i] = k;
        else
            rgm_tensor_i32(tensor)[i] = (int32_t)k;
    }
    return lab_feed(l, rgm_input(l->graph, name, dtype, rank, dims), tensor, false);
}

static inline rgm_value *lab_index(lab *l, rgm_dtype dtype, int64_t count, int64_t limit)
{
    rgm_dim dim = lab_dim(l, count);

    return lab_integers(l, dtype, 1, &dim, &count, limit);
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
    return lab_pattern_of(l, lab_dim(l, rows), lab_dim(l, columns), lab_dim(l, count), rows,
                          columns, count);
}

#endif
