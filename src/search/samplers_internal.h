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
    int64_t objectives;
    int64_t count, pending_count;
    double *points;   /* [count + pending_count, axis_count] by trial, pending ones behind */
    double *keys;     /* [count, objectives]                                               */
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
 * first, then bad ones. Several objectives: by non-domination, within a front the loneliest first
 * (crowding distance, Deb et al. 2002). Only the first `need` are in order then.
 *
 * @param order  [out] [count]
 *
 * Errors: RGM_ERR_NOMEM.
 */
rgm_status rgmi_history_rank(int64_t *order, const rgmi_history *history, int64_t level,
                             int64_t need);

/** How many trials of a length a model needs: BOHB's hyperparameters + 2, and `startup`. */
int64_t rgmi_enough(const rgmi_history *history, int64_t startup);

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
