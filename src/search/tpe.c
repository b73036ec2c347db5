/*
 * tpe: tree-structured Parzen estimators (Bergstra et al., NIPS 2011). Trials are split into the
 * best and the others; of some candidates drawn from the density of the best the one where that is
 * highest beside the density of the others is taken, one hyperparameter after the other as their
 * conditions allow. Bandwidths are Optuna's. Unlike there the best are the square root of all, each
 * weighs as much as it is better than the others' best (Watanabe 2023), and the others' kernels are
 * narrower: where nothing was tried counts as unknown sooner.
 *
 * Trials of several lengths are split as Falkner et al. (BOHB, ICML 2018) have it: those of the
 * longest length that enough of them reached come first.
 */
#include "samplers_internal.h"
#include "search_internal.h"

#include <math.h>
#include <string.h>

#define OTHERS_WIDTH 0.7 /* of hyperparameters that are modelled together */

typedef struct tpe_options {
    int64_t startup_trials, candidates, most_best;
    double gamma, prior_weight;
    bool multivariate, constant_liar;
    int start;
    /* Of bohb alone: */
    bool reference;          /* models as BOHB has them                    */
    double random_fraction;  /* of trials that are drawn without the model */
    double bandwidth_factor; /* of the kernels that candidates come from   */
} tpe_options;

#define RGM_OPTIONS tpe_options
static const rgm_field tpe_fields[] = {
    RGM_INT_FIELD(startup_trials, 1, 1000000, "trials drawn before the model is asked"),
    RGMI_START_FIELD,
    RGM_INT_FIELD(candidates, 1, 100000, "drawn for each hyperparameter, of which one is taken"),
    RGM_FLOAT_FIELD(gamma, 0, 1,
                    "share of the trials that is modelled as the best; 0: the square root of them"),
    RGM_INT_FIELD(most_best, 1, 1000000, "trials that are modelled as the best, at most"),
    RGM_FLOAT_FIELD(prior_weight, 1e-6, 1e6, "of the flat prior beside a trial's 1"),
    RGM_BOOL_FIELD(multivariate, "model hyperparameters of one condition together"),
    RGM_BOOL_FIELD(constant_liar, "trials that still run count among the worse ones"),
    {0}};
#undef RGM_OPTIONS

static void tpe_defaults(void *options)
{
    *(tpe_options *)options = (tpe_options){.startup_trials = 10,
                                            .candidates = 24,
                                            .most_best = 25,
                                            .prior_weight = 1,
                                            .bandwidth_factor = 1,
                                            .multivariate = true,
                                            .constant_liar = true};
}

/* Hyperparameters that are drawn together, with the densities of the best and the other trials. */
typedef struct group {
    const rgmi_axis **axes;
    int64_t axis_count;
    rgmi_parzen best, others;
    rgmi_parzen wide;           /* where draws of the best come from, if another than that */
    double log_volume;          /* of its real axes */
    double *candidate, *chosen; /* [axis_count] */
    bool built;
} group;

typedef struct tpe {
    const tpe_options *options;
    rgmi_history history;
    bool *is_best;     /* [count + pending_count]                                            */
    bool *is_out;      /* [count + pending_count] in neither half; NULL: none                */
    double *gains;     /* [count] how much better than the others' best; NULL: all count alike */
    group *groups;     /* [group_count]           */
    int64_t *group_of; /* [rgm_space_count()] -1: it does not vary */
    int64_t group_count;
} tpe;

/* The trial behind the best tells what is no gain. Metrics of other lengths or several objectives
 * cannot be subtracted. */
static rgm_status find_gains(tpe *t, const int64_t *order, int64_t count, int64_t level)
{
    const rgmi_history *h = &t->history;
    double most = 0;

    if (h->objectives > 1 || count == 0 || count == h->count)
        return RGM_OK;
    for (int64_t i = 0; i <= count; i++)
        if (h->bad[order[i]] || h->broken[order[i]] > 0 || h->lengths[order[i]] < level)
            return RGM_OK;
    RGM_TRY(RGM_NEW(t->gains, h->count));
    for (int64_t i = 0; i < count; i++) { /* halved: the difference of huge ones stays finite */
        t->gains[order[i]] = h->keys[order[count]] / 2 - h->keys[order[i]] / 2;
        most = t->gains[order[i]] > most ? t->gains[order[i]] : most;
    }
    for (int64_t i = 0; i < count; i++)
        t->gains[order[i]] = most > 0 ? t->gains[order[i]] / most : 1.0;
    return RGM_OK;
}

static rgm_status split(tpe *t)
{
    rgmi_history *h = &t->history;
    int64_t *order = NULL, level, count;
    rgm_status status = RGM_OK;

    count = (int64_t)ceil(t->options->gamma > 0 ? t->options->gamma * (double)h->count
                                                : sqrt((double)h->count));
    count = count < t->options->most_best ? count : t->options->most_best;
    count = count < h->count ? count : h->count;
    RGM_GO(rgmi_history_level(&level, h, rgmi_enough(h, t->options->startup_trials)));
    RGM_GO(RGM_NEW(t->is_best, h->count + h->pending_count + 1));
    RGM_GO(RGM_NEW(order, h->count + 1));
    RGM_GO(rgmi_history_rank(order, h, level, count));
    for (int64_t i = 0; i < count; i++)
        t->is_best[order[i]] = !h->bad[order[i]];
    RGM_GO(find_gains(t, order, count, level));
done:
    rgm_free(order);
    return status;
}

/* BOHB's halves: of the longest length that 2 (hyperparameters + 1) trials reached the best gamma
 * and the others, each at least hyperparameters + 1. *enough is false where no length is. */
static rgm_status split_by_length(tpe *t, bool *enough)
{
    rgmi_history *h = &t->history;
    int64_t *order = NULL, level, least = h->axis_count + 1, usable = 0, count;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_history_level(&level, h, 2 * least));
    RGM_GO(RGM_NEW(t->is_best, h->count + h->pending_count + 1));
    RGM_GO(RGM_NEW(t->is_out, h->count + h->pending_count + 1));
    RGM_GO(RGM_NEW(order, h->count + 1));
    for (int64_t i = 0; i < h->count + h->pending_count; i++) {
        t->is_out[i] = i >= h->count || h->bad[i] || h->lengths[i] < level;
        usable += !t->is_out[i];
    }
    *enough = usable >= 2 * least;
    count = (int64_t)(t->options->gamma * (double)usable);
    count = count > least ? count : least;
    RGM_GO(rgmi_history_rank(order, h, level, count));
    for (int64_t i = 0; i < count && *enough; i++)
        t->is_best[order[i]] = true;
done:
    rgm_free(order);
    return status;
}

static rgm_status make_groups(tpe *t)
{
    const rgmi_history *h = &t->history;

    RGM_TRY(RGM_NEW(t->groups, h->axis_count + 1));
    RGM_TRY(RGM_NEW(t->group_of, rgm_space_count(h->space) + 1));
    for (int64_t i = 0; i < rgm_space_count(h->space); i++)
        t->group_of[i] = -1;
    for (int64_t j = 0; j < h->axis_count; j++) {
        int64_t number = t->options->multivariate ? h->axes[j].group : j;
        group *g = &t->groups[number];
        t->group_of[h->axes[j].place] = number;
        t->group_count = number < t->group_count ? t->group_count : number + 1;
        if (g->axes == NULL) {
            RGM_TRY(RGM_NEW(g->axes, h->axis_count));
            RGM_TRY(RGM_NEW(g->candidate, h->axis_count));
            RGM_TRY(RGM_NEW(g->chosen, h->axis_count));
        }
        g->axes[g->axis_count++] = &h->axes[j];
        if (h->axes[j].kind == RGM_HYPER_DOUBLE || h->axes[j].kind == RGM_HYPER_LOG)
            g->log_volume += log(fabs(h->axes[j].high - h->axes[j].low));
    }
    return RGM_OK;
}

static void clear(tpe *t)
{
    for (int64_t i = 0; i < t->group_count; i++) {
        rgmi_parzen_clear(&t->groups[i].best);
        rgmi_parzen_clear(&t->groups[i].others);
        rgmi_parzen_clear(&t->groups[i].wide);
        rgm_free((void *)t->groups[i].axes);
        rgm_free(t->groups[i].candidate);
        rgm_free(t->groups[i].chosen);
    }
    rgm_free(t->groups);
    rgm_free(t->group_of);
    rgm_free(t->is_best);
    rgm_free(t->is_out);
    rgm_free(t->gains);
    rgmi_history_clear(&t->history);
}

/* Weights of sum n, so that the prior keeps its share. */
static const double *settle_weights(double *weights, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += weights[i];
    for (int64_t i = 0; i < n && sum > 0; i++)
        weights[i] *= (double)n / sum;
    return sum > 0 ? weights : NULL;
}

/* The density of one half over a group, of the trials that have its hyperparameters. */
static rgm_status build_half(rgmi_parzen *out, const tpe *t, const group *g, bool best,
                             double width, double *points, double *weights)
{
    const rgmi_history *h = &t->history;
    rgmi_parzen_form form = {.prior_weight = t->options->prior_weight,
                             .width = width,
                             .reference = t->options->reference};
    int64_t rows = h->count + (t->options->constant_liar ? h->pending_count : 0), n = 0;

    for (int64_t i = 0; i < rows; i++) {
        bool has_all = true;
        if (t->is_best[i] != best || (t->is_out != NULL && t->is_out[i]))
            continue;
        for (int64_t j = 0; j < g->axis_count; j++) {
            double x = h->points[i * h->axis_count + (g->axes[j] - h->axes)];
            points[n * g->axis_count + j] = x;
            has_all = has_all && !isnan(x);
        }
        weights[n] = best && t->gains != NULL ? t->gains[i] : 0.0;
        n += has_all;
    }
    form.weights = settle_weights(weights, n);
    return rgmi_parzen_create(out, g->axes, g->axis_count, points, n, &form);
}

static rgm_status build(tpe *t, group *g)
{
    rgm_status status = RGM_OK;
    int64_t rows = t->history.count + t->history.pending_count;
    double *points = NULL, *weights = NULL;
    bool narrow = t->options->multivariate && !t->options->reference;

    g->built = true;
    RGM_GO(RGM_NEW(points, rows * g->axis_count + 1));
    RGM_GO(RGM_NEW(weights, rows + 1));
    RGM_GO(build_half(&g->best, t, g, true, 1, points, weights));
    if (t->options->bandwidth_factor != 1)
        RGM_GO(build_half(&g->wide, t, g, true, t->options->bandwidth_factor, points, weights));
    RGM_GO(build_half(&g->others, t, g, false, narrow ? OTHERS_WIDTH : 1, points, weights));
done:
    rgm_free(points);
    rgm_free(weights);
    return status;
}

static void set_group(rgm_hyper_value *values, const group *g, const double *point)
{
    for (int64_t j = 0; j < g->axis_count; j++)
        values[g->axes[j]->place] = rgmi_axis_value(g->axes[j], point[j]);
}

/* Kernels without a prior are nothing far away: 1e-32 there, as in BOHB. */
static double log_density(const tpe *t, const group *g, const rgmi_parzen *half)
{
    const double least = -73.68272297580947; /* log 1e-32, over the unit cube */
    double density = rgmi_parzen_log_density(half, g->candidate);

    return t->options->reference ? fmax(density, least - g->log_volume) : density;
}

/* The best of the candidates that break no constraint with what is set so far; false: all do. */
static bool draw_group(rgm_hyper_value *values, const tpe *t, const group *g, rgm_mt19937 *random)
{
    double best = -INFINITY;
    bool found = false;

    for (int64_t c = 0; c < t->options->candidates; c++) {
        rgmi_parzen_draw(g->candidate, t->options->bandwidth_factor != 1 ? &g->wide : &g->best,
                         random);
        set_group(values, g, g->candidate);
        if (!rgm_space_holds(t->history.space, values, NULL))
            continue;
        double score = log_density(t, g, &g->best) - log_density(t, g, &g->others);
        if (!found || score > best) {
            best = score;
            found = true;
            memcpy(g->chosen, g->candidate, (size_t)g->axis_count * sizeof *g->chosen);
        }
    }
    if (found)
        set_group(values, g, g->chosen);
    return found;
}

/* One point; *found is false where no candidate kept the constraints. */
static rgm_status draw_point(rgm_hyper_value *values, bool *found, tpe *t, rgm_mt19937 *random)
{
    const rgm_space *space = t->history.space;
    int64_t count = rgm_space_count(space);

    memset(values, 0, (size_t)count * sizeof *values);
    *found = true;
    for (int64_t i = 0; i < count && *found; i++) {
        if (values[i].is_set || !rgm_space_applies(space, i, values))
            continue;
        if (t->group_of[i] < 0) {
            values[i] = rgmi_only_value(rgm_space_at(space, i));
            continue;
        }
        group *g = &t->groups[t->group_of[i]];
        if (!g->built)
            RGM_TRY(build(t, g));
        *found = draw_group(values, t, g, random);
    }
    *found = *found && rgm_space_holds(space, values, NULL);
    return RGM_OK;
}

enum { TRIES = 100 }; /* then the space's own draw, which tries 10,000 times and says why not */

static rgm_status tpe_draw(rgm_hyper_value *values, const rgm_searcher *searcher,
                           const void *options, rgm_mt19937 *random)
{
    tpe t = {.options = options};
    rgm_status status = RGM_OK;
    bool found = false;

    RGM_GO(rgmi_history_read(&t.history, searcher));
    if (t.history.count >= t.options->startup_trials) {
        RGM_GO(split(&t));
        RGM_GO(make_groups(&t));
        for (int i = 0; i < TRIES && !found; i++)
            RGM_GO(draw_point(values, &found, &t, random));
    } else {
        RGM_GO(rgmi_start_draw(values, searcher, (rgmi_start)t.options->start, random));
        found = true;
    }
    if (!found)
        RGM_GO(rgm_space_draw(values, t.history.space, random));
done:
    clear(&t);
    return status;
}

rgm_status rgmi_tpe_draw_default(rgm_hyper_value *values, const rgm_searcher *searcher,
                                 rgm_mt19937 *random)
{
    tpe_options options;

    tpe_defaults(&options);
    return tpe_draw(values, searcher, &options, random);
}

const rgm_sampler_type rgmi_tpe_sampler_type = {
    .section = {.name = "tpe",
                .help = "where good trials were denser than the others (Parzen estimators)",
                .options_size = sizeof(tpe_options),
                .defaults = tpe_defaults,
                .fields = tpe_fields},
    .draw = tpe_draw,
};

/* ---- bohb ---------------------------------------------------------------------------------- */

#define RGM_OPTIONS tpe_options
static const rgm_field bohb_fields[] = {
    RGM_FLOAT_FIELD(random_fraction, 0, 1, "of the trials that are drawn without the model"),
    RGM_FLOAT_FIELD(gamma, 1e-6, 1, "share of a length's trials that is modelled as the best"),
    RGM_INT_FIELD(candidates, 1, 100000, "drawn for each trial, of which one is taken"),
    RGM_FLOAT_FIELD(bandwidth_factor, 1e-3, 1e3,
                    "how much wider than the model the kernels are that candidates come from"),
    RGMI_START_FIELD,
    {0}};
#undef RGM_OPTIONS

static void bohb_defaults(void *options)
{
    *(tpe_options *)options = (tpe_options){.candidates = 64,
                                            .gamma = 0.15,
                                            .prior_weight = 1,
                                            .multivariate = true,
                                            .reference = true,
                                            .random_fraction = 1.0 / 3,
                                            .bandwidth_factor = 3};
}

static rgm_status bohb_draw(rgm_hyper_value *values, const rgm_searcher *searcher,
                            const void *options, rgm_mt19937 *random)
{
    tpe t = {.options = options};
    rgm_status status = RGM_OK;
    bool found = false, enough;

    RGM_GO(rgmi_history_read(&t.history, searcher));
    RGM_GO(split_by_length(&t, &enough));
    if (!enough) {
        RGM_GO(rgmi_start_draw(values, searcher, (rgmi_start)t.options->start, random));
        found = true;
    } else if (rgm_mt19937_unit(random) >= t.options->random_fraction) {
        RGM_GO(make_groups(&t));
        for (int i = 0; i < TRIES && !found; i++)
            RGM_GO(draw_point(values, &found, &t, random));
    }
    if (!found)
        RGM_GO(rgm_space_draw(values, t.history.space, random));
done:
    clear(&t);
    return status;
}

const rgm_sampler_type rgmi_bohb_sampler_type = {
    .section = {.name = "bohb",
                .help =
                    "as tpe by BOHB's rules: kernel densities of the longest length that enough "
                    "trials reached",
                .options_size = sizeof(tpe_options),
                .defaults = bohb_defaults,
                .fields = bohb_fields},
    .draw = bohb_draw,
};
