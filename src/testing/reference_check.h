/*
 * Shared by tests that compare a model's values and gradients with a fixture that PyTorch made:
 * tests/oracle/seq2seq_reference.py says what its lines are.
 */
#ifndef RGM_REFERENCE_CHECK_H
#define RGM_REFERENCE_CHECK_H

#include <check.h>
#include <math.h>
#include <regimen/tensor.h>
#include <stdio.h>
#include <string.h>

/* The lines of one model in a fixture. */
typedef struct reference_lines {
    FILE *file;
    char line[1024];
    const char *name; /* of the line, and what it has */
    double want[7];
} reference_lines;

static inline void lines_open(reference_lines *l, const char *fixture, const char *model)
{
    char begin[128];

    l->file = fopen(fixture, "r");
    CHECK(l->file != NULL);
    snprintf(begin, sizeof begin, "model %s\n", model);
    do
        CHECK(fgets(l->line, sizeof l->line, l->file) != NULL);
    while (strcmp(l->line, begin) != 0);
}

/* False behind the model's last line; the file is closed then. */
static inline bool lines_next(reference_lines *l)
{
    char *at;

    if (fgets(l->line, sizeof l->line, l->file) == NULL || strncmp(l->line, "model ", 6) == 0) {
        fclose(l->file);
        return false;
    }
    at = strchr(l->line, ' ');
    CHECK(at != NULL);
    *at++ = '\0';
    l->name = l->line;
    for (int i = 0; i < 7; i++)
        l->want[i] = strtod(at, &at);
    return true;
}

/* The first four numbers and three sums with weights of their own, of `count` picked numbers. */
static inline void figures(double *out, double *largest, const rgm_tensor *x, const int64_t *picked,
                           int64_t count)
{
    static const double k[3] = {1, 2.3, 3.1};

    memset(out, 0, 7 * sizeof *out);
    *largest = 0;
    for (int64_t i = 0; i < count; i++) {
        double v = rgm_tensor_at(x, picked != NULL ? picked[i] : i);
        if (i < 4)
            out[i] = v;
        *largest = fmax(*largest, fabs(v));
        for (int s = 0; s < 3; s++)
            out[4 + s] += v * sin(k[s] * (double)i + k[s]);
    }
}

static inline void compare(const char *what, const double *want, const double *got, double largest,
                           int64_t count, double tolerance)
{
    for (int i = 0; i < 7; i++) {
        double scale = fmax(largest, 1e-3) * (i < 4 ? 1 : sqrt((double)count));
        if (!(fabs(want[i] - got[i]) <= tolerance * scale))
            fail_msg("%s, figure %d: %.9g, PyTorch has %.9g", what, i, got[i], want[i]);
    }
}

/* All numbers of a tensor. */
static inline void compare_all(const char *what, const double *want, const rgm_tensor *x,
                               double tolerance)
{
    int64_t count = rgm_tensor_count(x);
    double got[7], largest;

    figures(got, &largest, x, NULL, count);
    compare(what, want, got, largest, count, tolerance);
}

#endif
