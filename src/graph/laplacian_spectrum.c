/*
 * The smooth eigenvectors of a component's normalised Laplacian: all of a small one at
 * once, the few smallest of a large one by subspace iteration with a Chebyshev filter (Zhou et
 * al. 2006), which finds eigenvalues that are there several times too. What belongs to eigenvalue 0
 * is known, D^1/2 on each connected piece, and is kept out.
 */
#include <math.h>
#include <string.h>

#include "edit.h"

/* ---- the Laplacian -------------------------------------------------------------------------- */

/* 1 / sqrt(degree), of a node without neighbours 0. */
static double weight(const rgmi_laplacian_graph *g, int64_t i)
{
    int64_t degree = g->start[i + 1] - g->start[i];

    return degree > 0 ? 1 / sqrt((double)degree) : 0;
}

/* y = L x */
static void multiply(double *y, const double *x, const rgmi_laplacian_graph *g, const double *w)
{
    for (int64_t i = 0; i < g->n; i++) {
        double sum = 0;

        for (int64_t k = g->start[i]; k < g->start[i + 1]; k++)
            sum += w[g->node[k]] * x[g->node[k]];
        y[i] = (w[i] > 0 ? x[i] : 0) - w[i] * sum;
    }
}

static double dot(const double *x, const double *y, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}

static void add_scaled(double *y, double by, const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        y[i] += by * x[i];
}

/* All of it at once; the first *trivial values are those of eigenvalue 0. */
static rgm_status small(double *values, double *vectors, int64_t *found,
                        const rgmi_laplacian_graph *g, const double *w, int64_t count)
{
    rgm_status status = RGM_OK;
    double *a = NULL, *all = NULL, *every = NULL, *work = NULL;
    int64_t trivial = 0;

    RGM_GO(RGM_NEW(a, g->n * g->n));
    RGM_GO(RGM_NEW(all, g->n * g->n));
    RGM_GO(RGM_NEW(every, g->n));
    RGM_GO(RGM_NEW(work, 3 * g->n));
    for (int64_t i = 0; i < g->n; i++) {
        a[i * g->n + i] = w[i] > 0;
        for (int64_t k = g->start[i]; k < g->start[i + 1]; k++)
            a[i * g->n + g->node[k]] = -w[i] * w[g->node[k]];
    }
    RGM_GO(rgm_symmetric_eigen(every, all, a, work, g->n));
    while (trivial < g->n && every[trivial] < 1e-9)
        trivial++;
    *found = g->n - trivial < count ? g->n - trivial : count;
    memcpy(values, every + trivial, (size_t)*found * sizeof *values);
    memcpy(vectors, all + trivial * g->n, (size_t)(*found * g->n) * sizeof *vectors);
done:
    rgm_free(a);
    rgm_free(all);
    rgm_free(every);
    rgm_free(work);
    return status;
}

/* ---- filtered subspace iteration ------------------------------------------------------------ */

typedef struct subspace {
    const rgmi_laplacian_graph *g;
    const double *w; /* [n]                                         */
    int64_t *piece;  /* [n] the connected piece of each node        */
    int64_t pieces;
    double *sums;      /* [pieces] of their null vectors              */
    int64_t n, width;  /* columns worked on                           */
    double *x;         /* [width, n]                                  */
    double *y, *z;     /* [n] of the filter; [width, n] of the turn   */
    double *h, *turns; /* [width, width]                              */
    double *values;    /* [width]                                     */
    double *work;      /* [3 width] of the turn                       */
} subspace;

static void subspace_clear(subspace *s)
{
    double *parts[] = {s->sums, s->x, s->y, s->z, s->h, s->turns, s->values, s->work};

    rgm_free(s->piece);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        rgm_free(parts[i]);
}

/* Numbers the connected pieces, breadth first. */
static rgm_status find_pieces(int64_t *piece, int64_t *pieces, const rgmi_laplacian_graph *g)
{
    int64_t *queue, head = 0, tail = 0;

    RGM_TRY(RGM_NEW(queue, g->n));
    *pieces = 0;
    for (int64_t i = 0; i < g->n; i++)
        piece[i] = -1;
    for (int64_t i = 0; i < g->n; i++) {
        if (piece[i] >= 0)
            continue;
        piece[i] = (*pieces)++;
        queue[tail++] = i;
        for (; head < tail; head++)
            for (int64_t k = g->start[queue[head]]; k < g->start[queue[head] + 1]; k++)
                if (piece[g->node[k]] < 0) {
                    piece[g->node[k]] = piece[i];
                    queue[tail++] = g->node[k];
                }
    }
    rgm_free(queue);
    return RGM_OK;
}

/* Entry i of the vector of eigenvalue 0 on its piece, not yet of length 1. */
static double null_entry(const subspace *s, int64_t i)
{
    return s->w[i] > 0 ? 1 / s->w[i] : 1;
}

/* x without what belongs to eigenvalue 0. */
static void keep_out_null(const subspace *s, double *x, const double *lengths)
{
    memset(s->sums, 0, (size_t)s->pieces * sizeof *s->sums);
    for (int64_t i = 0; i < s->n; i++)
        s->sums[s->piece[i]] += x[i] * null_entry(s, i) / lengths[s->piece[i]];
    for (int64_t i = 0; i < s->n; i++)
        x[i] -= s->sums[s->piece[i]] * null_entry(s, i);
}

/* Columns of length 1, orthogonal to each other and to the null vectors. */
static void orthonormalise(const subspace *s, const double *lengths)
{
    for (int64_t k = 0; k < s->width; k++) {
        double *x = s->x + k * s->n, length;

        for (int twice = 0; twice < 2; twice++) {
            keep_out_null(s, x, lengths);
            for (int64_t j = 0; j < k; j++)
                add_scaled(x, -dot(x, s->x + j * s->n, s->n), s->x + j * s->n, s->n);
            length = sqrt(dot(x, x, s->n));
            for (int64_t i = 0; i < s->n && length > 0; i++)
                x[i] /= length;
        }
    }
}

/* The columns turned to the best approximations in their space. */
static rgm_status rayleigh_ritz(subspace *s)
{
    for (int64_t k = 0; k < s->width; k++) {
        multiply(s->y, s->x + k * s->n, s->g, s->w);
        for (int64_t j = 0; j <= k; j++)
            s->h[k * s->width + j] = s->h[j * s->width + k] = dot(s->y, s->x + j * s->n, s->n);
    }
    RGM_TRY(rgm_symmetric_eigen(s->values, s->turns, s->h, s->work, s->width));
    memset(s->z, 0, (size_t)(s->width * s->n) * sizeof *s->z);
    for (int64_t k = 0; k < s->width; k++)
        for (int64_t j = 0; j < s->width; j++)
            add_scaled(s->z + k * s->n, s->turns[k * s->width + j], s->x + j * s->n, s->n);
    memcpy(s->x, s->z, (size_t)(s->width * s->n) * sizeof *s->z);
    return RGM_OK;
}

/* |L x - value x| of the first `count` columns. */
static double residual(subspace *s, int64_t count)
{
    double most = 0;

    for (int64_t k = 0; k < count; k++) {
        const double *x = s->x + k * s->n;
        double size;

        multiply(s->y, x, s->g, s->w);
        add_scaled(s->y, -s->values[k], x, s->n);
        size = sqrt(dot(s->y, s->y, s->n));
        most = size > most ? size : most;
    }
    return most;
}

/* x = T(L) x with the Chebyshev polynomial that is small on [low, 2]. */
static void filter(subspace *s, double *x, double low)
{
    enum { DEGREE = 24 };
    double centre = (2 + low) / 2, half = (2 - low) / 2, *before = x, *now = s->y, *next = s->z;

    multiply(now, before, s->g, s->w);
    for (int64_t i = 0; i < s->n; i++)
        now[i] = (now[i] - centre * before[i]) / half;
    for (int d = 1; d < DEGREE; d++) {
        double *free = before;

        multiply(next, now, s->g, s->w);
        for (int64_t i = 0; i < s->n; i++)
            next[i] = 2 * (next[i] - centre * now[i]) / half - before[i];
        before = now;
        now = next;
        next = free;
    }
    if (now != x)
        memcpy(x, now, (size_t)s->n * sizeof *x);
}

static rgm_status subspace_init(subspace *s, const rgmi_laplacian_graph *g, const double *w,
                                int64_t width)
{
    const rgm_rng rng = rgm_rng_stream(1, "laplacian", 0);

    *s = (subspace){.g = g, .w = w, .n = g->n, .width = width};
    RGM_TRY(RGM_NEW(s->piece, s->n));
    RGM_TRY(find_pieces(s->piece, &s->pieces, g));
    if (s->width > s->n - s->pieces)
        s->width = s->n - s->pieces;
    RGM_TRY(RGM_NEW(s->sums, s->pieces));
    RGM_TRY(RGM_NEW(s->x, width * s->n));
    RGM_TRY(RGM_NEW(s->y, s->n));
    RGM_TRY(RGM_NEW(s->z, width * s->n));
    RGM_TRY(RGM_NEW(s->h, width * width));
    RGM_TRY(RGM_NEW(s->turns, width * width));
    RGM_TRY(RGM_NEW(s->values, width));
    RGM_TRY(RGM_NEW(s->work, 3 * width));
    for (int64_t i = 0; i < s->width * s->n; i++)
        s->x[i] = rgm_rng_normal(&rng, (uint64_t)i);
    return RGM_OK;
}

/* Squared lengths of the null vectors. */
static rgm_status null_lengths(double **lengths, const subspace *s)
{
    RGM_TRY(RGM_NEW(*lengths, s->pieces));
    for (int64_t i = 0; i < s->n; i++)
        (*lengths)[s->piece[i]] += null_entry(s, i) * null_entry(s, i);
    return RGM_OK;
}

static rgm_status large(double *values, double *vectors, int64_t *found,
                        const rgmi_laplacian_graph *g, const double *w, int64_t count)
{
    const int most_rounds = 400, spare = 12;
    rgm_status status = RGM_OK;
    subspace s = {0};
    double *lengths = NULL, error = INFINITY;

    RGM_GO(subspace_init(&s, g, w, count + spare));
    RGM_GO(null_lengths(&lengths, &s));
    *found = count < s.width ? count : s.width;
    orthonormalise(&s, lengths);
    RGM_GO(rayleigh_ritz(&s));
    for (int round = 0; round < most_rounds && (error = residual(&s, *found)) > 1e-7; round++) {
        double low = s.values[s.width - 1];

        for (int64_t k = 0; k < s.width && low < 2; k++)
            filter(&s, s.x + k * s.n, low);
        orthonormalise(&s, lengths);
        RGM_GO(rayleigh_ritz(&s));
    }
    if (error > 1e-5)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%lld eigenvectors of %lld nodes are still off by %.1g after %d rounds: "
                        "their eigenvalues lie too close together",
                        (long long)*found, (long long)s.n, error, most_rounds));
    memcpy(values, s.values, (size_t)*found * sizeof *values);
    memcpy(vectors, s.x, (size_t)(*found * s.n) * sizeof *vectors);
done:
    subspace_clear(&s);
    rgm_free(lengths);
    return status;
}

rgm_status rgmi_spectrum(double *values, double *vectors, int64_t *found,
                         const rgmi_laplacian_graph *g, int64_t count, int64_t dense)
{
    rgm_status status;
    double *w;

    *found = 0;
    if (g->n == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(w, g->n));
    for (int64_t i = 0; i < g->n; i++)
        w[i] = weight(g, i);
    if (g->n <= dense || g->n <= 3 * count)
        status = small(values, vectors, found, g, w, count);
    else
        status = large(values, vectors, found, g, w, count);
    rgm_free(w);
    return status;
}
