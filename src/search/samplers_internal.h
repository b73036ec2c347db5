/*
 * What the samplers and the importance share: hyperparameters as axes of numbers, trials as points
 * on them, and the models over those points. The models know neither spaces nor searchers, so that
 * tests can hold them against numbers known from elsewhere.
 */
#ifndef RGM_SEARCH_SAMPLERS_INTERNAL_H
#define RGM_SEARCH_SAMPLERS_INTERNAL_H

#include <regimen/search.h>

/* ---- axes and points (points.c) ------------------------------------------------------------ */

/**
 * A hyperparameter that varies. Its coordinate: the choice's number, the integer, the number, of a
 * log the exponent; NaN where the hyperparameter is not there.
 */
typedef struct rgmi_axis {
    rgm_hyperparameter_kind kind;
    int64_t choices;  /* categorical                                                */
    double low, high; /* int: half a step outside; double, log: the bounds          */
    int64_t place;    /* of the hyperparameter in its space                         */
    int64_t group;    /* those with the same condition share one, from 0            */
    bool conditional; /* it has a condition                                         */
    double base;      /* log                                                        */
} rgmi_axis;

/** Axes of what varies in a space, in its order; rgm_free(). Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_axes_create(rgmi_axis **out, int64_t *count, const rgm_space *space);
/** The coordinate of a value, and the value of a coordinate, which is brought inside the bounds. */
double rgmi_axis_coordinate(const rgmi_axis *axis, const rgm_hyper_value *value);
rgm_hyper_value rgmi_axis_value(const rgmi_axis *axis, double coordinate);
/** The value of a hyperparameter that does not vary. */
rgm_hyper_value rgmi_only_value(const rgm_hyperparameter *hyperparameter);

/** Of doubles, for qsort(). */
int rgmi_upwards(const void *a, const void *b);

/** Standard normal of two draws (Box-Muller). */
double rgmi_draw_normal(rgm_mt19937 *random);
/** Uniform on an axis. */
double rgmi_draw_axis(const rgmi_axis *axis, rgm_mt19937 *random);

/**
 * Trials as samplers see them. Observed: what was validated, exited or was invalid; pending: the
 * others. The last two kinds and whatever has a key that is no number are `bad`: worse than all.
 */
typedef struct rgmi_history {
    const rgm_space *space;
    rgmi_axis *axes;
    int64_t axis_count;
    int64_t objectives; /* that are aimed at */
    int64_t count, pending_count;
    double *points;   /* [count + pending_count, axis_count] by trial, pending ones behind */
    double *keys;     /* [count, objectives]                                               */
    double *broken;   /* [count] by how much bounds are broken, 0: they are kept           */
    int64_t *lengths; /* [count]                                                           */
    bool *bad;        /* [count]                                                           */
} rgmi_history;
/** Errors: RGM_ERR_NOMEM. Clear it in any case. */
rgm_status rgmi_history_read(rgmi_history *out, const rgm_searcher *searcher);
void rgmi_history_clear(rgmi_history *history);
/** The longest length that at least `enough` trials reached which are not bad; the shortest one
 * where they are fewer, 1 where there are none. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_history_level(int64_t *level, const rgmi_history *history, int64_t enough);
/**
 * Observed trials, best first: those that reached `level` (by keys), then the others, longer ones
 * first, then bad ones. Of one length those that break bounds follow those that keep them, by how
 * much (constrained domination, Deb et al. 2002). Several objectives: by non-domination, within a
 * front the loneliest first (crowding distance, Deb et al. 2002). Only the first `need` are in
 * order then.
 *
 * @param order  [out] [count]
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_history_rank(int64_t *order, const rgmi_history *history, int64_t level,
                             int64_t need);

/** How many trials of a length a model needs: BOHB's hyperparameters + 2, and `startup`. */
int64_t rgmi_enough(const rgmi_history *history, int64_t startup);

/* ---- Sobol' points (sobol.c) -------------------------------------------------------------------
 */

#define RGMI_SOBOL_DIMENSIONS 64
typedef struct rgmi_sobol {
    int64_t dimensions;
    uint32_t directions[RGMI_SOBOL_DIMENSIONS][32], seeds[RGMI_SOBOL_DIMENSIONS];
    bool scrambled;
} rgmi_sobol;
/** The first `dimensions`, at most RGMI_SOBOL_DIMENSIONS. Of another seed the points are others. */
void rgmi_sobol_begin(rgmi_sobol *out, int64_t dimensions, bool scrambled, uint32_t seed);
/** Point `index`, from 0: [dimensions] in [0, 1). */
void rgmi_sobol_point(double *point, const rgmi_sobol *sobol, uint32_t index);
/** The next trial's values: its number is the point's. Errors: RGM_ERR_CONFIG (constraints that
 * hardly ever hold), RGM_ERR_NOMEM. */
rgm_status rgmi_sobol_draw(rgm_hyper_value *values, const rgm_searcher *searcher, bool scrambled,
                           rgm_mt19937 *random);

/** How samplers that learn begin. */
typedef enum rgmi_start { RGMI_START_RANDOM, RGMI_START_SOBOL } rgmi_start;
extern const char *const rgmi_start_names[]; /* ended by NULL */
rgm_status rgmi_start_draw(rgm_hyper_value *values, const rgm_searcher *searcher, rgmi_start start,
                           rgm_mt19937 *random);
/** A draw of tpe with its defaults. Errors: as rgm_space_draw(). */
rgm_status rgmi_tpe_draw_default(rgm_hyper_value *values, const rgm_searcher *searcher,
                                 rgm_mt19937 *random);
/** Its key, in the table of a sampler's options with a member `start` (int). */
#define RGMI_START_FIELD                                                                           \
    RGM_CHOICE_FIELD(start, rgmi_start_names, "trials before the model: random, or evenly spread")

/* ---- Parzen mixtures (parzen.c) ------------------------------------------------------------ */

/**
 * A mixture of products of kernels, one kernel for each observation and one for the prior, the
 * last. On a numeric axis a kernel is a normal cut at the bounds (of an int its mass over each
 * integer), on a categorical one the choice with the prior's weight spread over all.
 */
typedef struct rgmi_parzen {
    const rgmi_axis *const *axes; /* borrowed */
    int64_t axis_count;
    int64_t kernels;
    double prior_weight;
    double *weights;     /* [kernels] sum 1                                              */
    double *log_weights; /* [kernels]                                                    */
    double *means;       /* [axis_count, kernels] categorical: the choice; -1: the prior */
    double *deviations;  /* [axis_count, kernels]                                        */
    double *log_scales;  /* [axis_count, kernels] of the density (int: of the mass)      */
    double *scratch;     /* [kernels]                                                    */
} rgmi_parzen;

/** What is beside Optuna's form, which is a width of 1 and weights by age. */
typedef struct rgmi_parzen_form {
    double prior_weight;   /* of the prior beside an observation's 1, > 0                     */
    double width;          /* times the kernels' own, as far as the narrowest that there may be */
    const double *weights; /* [count] of the observations; NULL: by age                       */
    /** Kernel densities of BOHB: as wide as the normal reference rule says (1.06 deviations times
     * count^(-1 / (4 + axes))), at least a thousandth of the range; without the prior's kernel; all
     * weigh the same. `weights` is not looked at. */
    bool reference;
} rgmi_parzen_form;
/**
 * @param axes      [in] [axis_count] borrowed
 * @param points    [in] [count, axis_count] none is NaN, oldest first
 * @param form      [in] read during the call
 *
 * Errors: RGM_ERR_NOMEM. Clear it in any case.
 */
rgm_status rgmi_parzen_create(rgmi_parzen *out, const rgmi_axis *const *axes, int64_t axis_count,
                              const double *points, int64_t count, const rgmi_parzen_form *form);
void rgmi_parzen_clear(rgmi_parzen *parzen);
/** One point, [axis_count]. */
void rgmi_parzen_draw(double *point, const rgmi_parzen *parzen, rgm_mt19937 *random);
double rgmi_parzen_log_density(const rgmi_parzen *parzen, const double *point);

/* ---- Gaussian process (gp_model.c) --------------------------------------------------------- */

/**
 * Zero mean; covariance signal * matern52(r) + noise where i = j, r^2 the sum over columns of
 * (difference / length)^2, the difference of categories being 0 or 1.
 */
typedef struct rgmi_gp {
    int64_t count, width;
    const double *x;         /* [count, width] borrowed       */
    const bool *categorical; /* [width] borrowed              */
    double *logs;            /* [width + 2] logarithms of the lengths, of signal and noise */
    double *weights;         /* [width] of the squared differences */
    double *upper;           /* [count, count] U of K = U^T U */
    double *alpha;           /* [count] K^-1 y                */
    double jitter;           /* that was added to the diagonal */
} rgmi_gp;

/** Room for `count` points; `logs` are at the priors' modes. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_gp_create(rgmi_gp *out, const double *x, const bool *categorical, int64_t count,
                          int64_t width);
void rgmi_gp_clear(rgmi_gp *gp);
/**
 * Log of the posterior of `logs`, without the priors' constants: the marginal likelihood of y
 * [count]; lengths log-normal(sqrt 2 + ln(width) / 2, sqrt 3) (Hvarfner et al. 2024), signal
 * log-normal(1, 1), noise log-normal(-4, 1), each by its density over the number itself. Conditions
 * on y on the way.
 */
double rgmi_gp_log_posterior(rgmi_gp *gp, const double *y);
/** Its gradient by `logs` [width + 2], of one just computed. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_gp_gradient(double *gradient, const rgmi_gp *gp);
/** Set `logs` to where that is highest, by BFGS from the priors' modes. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_gp_fit(rgmi_gp *gp, const double *y);
/** Factor K and solve for y [count]. Never fails: jitter grows until K can be factored. */
void rgmi_gp_condition(rgmi_gp *gp, const double *y);
/** Mean and variance (without noise) [count] at points [count, width]. Errors: RGM_ERR_NOMEM. */
rgm_status rgmi_gp_predict(double *means, double *variances, const rgmi_gp *gp,
                           const double *points, int64_t count);
/** log of the expected improvement below `best` of a normal: exact to the last digits however
 * unlikely it is (Ament et al. 2023). */
double rgmi_log_expected_improvement(double best, double mean, double variance);

/* ---- covariance matrix adaptation (cma_model.c) --------------------------------------------- */

#define RGMI_CMA_MOST 50 /* axes: an update takes O(n^3) */

/**
 * CMA-ES (Hansen, "The CMA Evolution Strategy: A Tutorial", 2016) with active covariance update, on
 * the unit box. Axes of integers have a margin (CMA-ES with Margin, Hamano et al. 2022): the
 * integers beside the likeliest keep a probability, however small sigma becomes.
 */
typedef struct rgmi_cma {
    int64_t n, population, parents;
    double *weights; /* [population] of the best first; negative behind the parents   */
    double mu_eff, c1, c_mu, c_sigma, d_sigma, c_c, chi_n;
    int64_t *cells; /* [n] integers of an axis, of equal width in [0, 1]; 0: real    */
    double margin;
    int64_t generation;
    double sigma;
    double *mean, *path_sigma, *path_c, *a; /* [n]; a: of integers, widens their spread     */
    double *c, *b, *d; /* [n, n] covariance and its eigenvectors, [n] roots of its eigenvalues */
    double *scratch;   /* [population, n] and [3 n] */
} rgmi_cma;
/**
 * @param n           [in] 1..RGMI_CMA_MOST
 * @param population  [in] of a generation, above 1; 0: 4 + floor(3 log n)
 * @param mean        [in] [n] in [0, 1]
 * @param cells       [in] [n] above 1, or 0
 *
 * Errors: RGM_ERR_NOMEM. Clear it in any case.
 */
rgm_status rgmi_cma_create(rgmi_cma *out, int64_t n, int64_t population, const double *mean,
                           double sigma, const int64_t *cells);
void rgmi_cma_clear(rgmi_cma *cma);
/** The point that normals [n] make: mean + sigma B D normals. */
void rgmi_cma_point(double *x, const rgmi_cma *cma, const double *normals);
/** The integer, from 0, that an axis of cells has at x. */
int64_t rgmi_cma_cell(const rgmi_cma *cma, int64_t axis, double x);
/** How far a point lies from the mean, in deviations of its direction. */
double rgmi_cma_distance(const rgmi_cma *cma, const double *x);
/** Take in a generation: points [population, n], best first. */
void rgmi_cma_update(rgmi_cma *cma, const double *points);
/** Whether nothing more comes of it: no axis spreads any more, or the matrix is degenerate. */
bool rgmi_cma_is_over(const rgmi_cma *cma);

/* ---- forests (forest.c, importance.c) ------------------------------------------------------ */

/** What trees are grown over. */
typedef struct rgmi_table {
    const rgmi_axis *axes; /* [axis_count] */
    int64_t axis_count, count;
    const double
        *x; /* [count, axis_count] numeric: 0..1 of the axis; categorical: the choice; NaN */
    const double *y; /* [count] */
} rgmi_table;

/**
 * A regression tree's leaves as boxes. A numeric axis is 0..1, and those that lack it lie beside
 * it; a categorical axis has a place for each choice and one behind them for those that lack it.
 */
typedef struct rgmi_forest_tree {
    int64_t leaf_count, axis_count;
    int64_t places;       /* of all categorical axes together                     */
    double *values;       /* [leaf_count] means                                   */
    double *lows, *highs; /* [leaf_count, axis_count] numeric                     */
    bool *lacking;        /* [leaf_count, axis_count] numeric: takes who lacks it */
    bool *sets;           /* [leaf_count, places] the choices that it takes       */
} rgmi_forest_tree;

/** Over rows [count], at least one, of a table with at least one axis. Errors: RGM_ERR_NOMEM. Clear
 * it in any case. */
rgm_status rgmi_tree_grow(rgmi_forest_tree *out, const rgmi_table *table, const int64_t *rows,
                          int64_t count);
void rgmi_tree_clear(rgmi_forest_tree *tree);
/** Of the variance of 64 bagged trees the shares that are each axis' alone, [axis_count]. Errors:
 * RGM_ERR_NOMEM. */
rgm_status rgmi_forest_shares(double *shares, const rgmi_table *table, uint32_t seed);

#endif
