/*
 * cma: CMA-ES over the numbers that no condition is on; choices and what has a condition are TPE's.
 * Nothing is saved: each draw plays the search again from its trials. Those say how many results
 * were there when each was drawn and in which order results came, and a trial's normals follow from
 * the seed and its number, so every distribution comes out as it was, to the last bit.
 *
 * Results are taken in as they come: so many of them as a generation has make the next one,
 * whichever generation they were drawn in. A point of an older one, or of the user, counts with its
 * distance cut as Hansen's "Injecting external solutions into CMA-ES" (2011) has it.
 */
#include "samplers_internal.h"
#include "search_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIES = 100,           /* for constraints; then the space's own draw                       */
    MOST_RESULTS = 10000,  /* further ones do not move the distribution: a draw has an end     */
    MOST_POPULATION = 1024 /* restarts double it as far                                        */
};

typedef struct cma_options {
    int64_t startup_trials, population;
    double sigma;
    int start;
} cma_options;

#define RGM_OPTIONS cma_options
static const rgm_field cma_fields[] = {
    RGM_INT_FIELD(startup_trials, 0, 1000000,
                  "trials drawn before; the distribution begins at the best of them"),
    RGMI_START_FIELD,
    RGM_INT_FIELD(population, 0, MOST_POPULATION,
                  "results that make a generation, above 1; 0: 4 + 3 log(hyperparameters)"),
    RGM_FLOAT_FIELD(sigma, 1e-6, 1, "deviation at the beginning, as a share of each range"),
    {0}};
#undef RGM_OPTIONS

static void cma_defaults(void *options)
{
    *(cma_options *)options =
        (cma_options){.startup_trials = 0, .sigma = 0.2, .start = RGMI_START_SOBOL};
}

static rgm_status cma_check(const void *options)
{
    return ((const cma_options *)options)->population != 1
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_CONFIG,
                          "'searcher.sampler.population' is 1, but must be 2 or more "
                          "(0: by the number of hyperparameters)");
}

/* ---- the search as it was ------------------------------------------------------------------ */

typedef struct replay {
    const cma_options *options;
    const rgm_searcher *searcher;
    rgmi_axis *axes;          /* [n] that are adapted */
    int64_t n, trials, first; /* first: how many trials came before the distribution */
    bool others;              /* the space has hyperparameters beside these */
    rgmi_cma model;
    int64_t run, serial, run_began;      /* serial: of distributions */
    double *x;                           /* [trials, n] */
    int64_t *born;                       /* [trials] the serial of the distribution; -1: of none */
    const rgmi_searched_trial **results; /* [result_count] as they came */
    int64_t *numbers;                    /* [result_count] of those trials, from 0 */
    int64_t result_count, taken;
    int64_t *pool; /* [MOST_POPULATION] places in results */
    int64_t pool_count;
    double *sorted; /* [MOST_POPULATION, n] */
} replay;

static double unit_of(const replay *r, int64_t trial, int64_t attempt, int64_t k)
{
    const int64_t key[] = {(int64_t)r->searcher->seed, trial, attempt, k};

    return ((double)(rgm_hash64(key, sizeof key) >> 11) + 0.5) * 0x1p-53;
}

static double normal_of(const replay *r, int64_t trial, int64_t attempt, int64_t k)
{
    const double two_pi = 6.28318530717958647692;

    return sqrt(-2 * log(unit_of(r, trial, attempt, 2 * k))) *
           cos(two_pi * unit_of(r, trial, attempt, 2 * k + 1));
}

/* A point of the present distribution for a trial: real numbers inside their range, by drawing
 * again, at last by cutting. */
static void sample(double *x, const replay *r, int64_t trial, int64_t attempt)
{
    double normals[RGMI_CMA_MOST] = {0};
    int64_t n = r->n, draws = 10 * n;
    bool inside = false;

    for (int64_t draw = 0; draw <= draws && !inside; draw++) {
        for (int64_t j = 0; j < n; j++)
            normals[j] = normal_of(r, trial, attempt * (draws + 1) + draw, j);
        rgmi_cma_point(x, &r->model, normals);
        inside = true;
        for (int64_t j = 0; j < n; j++)
            inside = inside && (r->model.cells[j] > 0 || (x[j] >= 0 && x[j] <= 1));
    }
    for (int64_t j = 0; j < n; j++)
        if (r->model.cells[j] == 0)
            x[j] = x[j] < 0 ? 0 : x[j] > 1 ? 1 : x[j];
}

static rgm_hyper_value value_at(const replay *r, int64_t j, double x)
{
    const rgmi_axis *axis = &r->axes[j];

    if (axis->kind == RGM_HYPER_INT)
        return (rgm_hyper_value){
            .is_set = true, .integer = (int64_t)(axis->low + 0.5) + rgmi_cma_cell(&r->model, j, x)};
    return rgmi_axis_value(axis, axis->low + x * (axis->high - axis->low));
}

static bool is_trial(const replay *r, const double *x, const rgm_hyper_value *values)
{
    for (int64_t j = 0; j < r->n; j++) {
        const rgm_hyper_value *v = &values[r->axes[j].place];
        rgm_hyper_value want = value_at(r, j, x[j]);

        if (v->integer != want.integer || v->number != want.number)
            return false;
    }
    return true;
}

/* No distribution has drawn it: it is where it is. */
static void take_point(replay *r, int64_t trial)
{
    const rgm_hyper_value *values = r->searcher->trials[trial]->values;

    r->born[trial] = -1;
    for (int64_t j = 0; j < r->n; j++) {
        const rgmi_axis *axis = &r->axes[j];

        r->x[trial * r->n + j] = (rgmi_axis_coordinate(axis, &values[axis->place]) - axis->low) /
                                 (axis->high - axis->low);
    }
}

/* Where a trial was drawn, before it was rounded, if this distribution has drawn it. */
static void find_point(replay *r, int64_t trial)
{
    const rgm_hyper_value *values = r->searcher->trials[trial]->values;
    int64_t tries = r->searcher->space->constraint_count > 0 ? TRIES : 1;
    double *x = r->x + trial * r->n;

    r->born[trial] = r->serial;
    for (int64_t attempt = 0; attempt < tries; attempt++) {
        sample(x, r, trial, attempt);
        if (is_trial(r, x, values))
            return;
    }
    take_point(r, trial);
}

/* ---- distributions ------------------------------------------------------------------------- */

static bool is_bad(const rgm_search_trial *trial)
{
    return trial->exited || trial->invalid || !isfinite(trial->keys[0]);
}

/* Longer ones first, as halving sends the better ones on; then by metric. */
static bool is_better(const replay *r, int64_t one, int64_t other)
{
    const rgm_search_trial *a = &r->results[one]->seen, *b = &r->results[other]->seen;

    if (is_bad(a) || is_bad(b))
        return !is_bad(a) && is_bad(b);
    if (a->length != b->length)
        return a->length > b->length;
    return rgm_search_key(r->searcher, r->numbers[one] + 1) <
           rgm_search_key(r->searcher, r->numbers[other] + 1);
}

/* The best result of those that came before the distribution; -1: there is none. */
static int64_t best_of_start(const replay *r)
{
    int64_t best = -1;

    for (int64_t i = 0; i < r->taken; i++)
        if (r->numbers[i] < r->first && !is_bad(&r->results[i]->seen) &&
            (best < 0 || is_better(r, i, best)))
            best = i;
    return best;
}

static rgm_status begin_run(replay *r)
{
    double mean[RGMI_CMA_MOST];
    int64_t cells[RGMI_CMA_MOST], best = r->run == 0 ? best_of_start(r) : -1, population;
    const rgm_hyper_value *values = best >= 0 ? r->results[best]->values : NULL;

    for (int64_t j = 0; j < r->n; j++) {
        const rgmi_axis *axis = &r->axes[j];
        double range = axis->high - axis->low;

        cells[j] = axis->kind == RGM_HYPER_INT ? (int64_t)nearbyint(range) : 0;
        mean[j] = r->run > 0 ? unit_of(r, -r->run, 0, j) : 0.5;
        if (values != NULL)
            mean[j] = (rgmi_axis_coordinate(axis, &values[axis->place]) - axis->low) / range;
    }
    population = r->options->population > 0 ? r->options->population
                                            : 4 + (int64_t)floor(3 * log((double)r->n));
    for (int64_t i = 0; i < r->run && population < MOST_POPULATION; i++)
        population *= 2;
    rgmi_cma_clear(&r->model);
    r->run_began = ++r->serial;
    r->pool_count = 0;
    return rgmi_cma_create(&r->model, r->n,
                           population < MOST_POPULATION ? population : MOST_POPULATION, mean,
                           r->options->sigma, cells);
}

/* As far from the mean as a point of this distribution would hardly be. */
static void cut(double *x, const replay *r)
{
    double n = (double)r->n, most = sqrt(n) + 2 * n / (n + 2);
    double distance = rgmi_cma_distance(&r->model, x);

    for (int64_t j = 0; j < r->n && distance > most; j++)
        x[j] = r->model.mean[j] + (x[j] - r->model.mean[j]) * most / distance;
}

/* The pool is sorted, best first; the older of equal ones. Results in which nothing is finite say
 * nothing. */
static rgm_status update(replay *r)
{
    bool all_bad = true;

    for (int64_t i = 0; i < r->pool_count; i++) {
        int64_t number = r->numbers[r->pool[i]];

        all_bad = all_bad && is_bad(&r->results[r->pool[i]]->seen);
        memcpy(r->sorted + i * r->n, r->x + number * r->n, (size_t)r->n * sizeof *r->x);
        if (r->born[number] != r->serial)
            cut(r->sorted + i * r->n, r);
    }
    r->pool_count = 0;
    if (all_bad)
        return RGM_OK;
    rgmi_cma_update(&r->model, r->sorted);
    r->serial++;
    if (!rgmi_cma_is_over(&r->model))
        return RGM_OK;
    r->run++;
    return begin_run(r);
}

/* One that came before the distribution, and whose result comes behind its beginning, is a point
 * as others are. */
static rgm_status take(replay *r, int64_t place)
{
    int64_t at = r->pool_count, number = r->numbers[place];

    if (r->born[number] >= 0 && r->born[number] < r->run_began)
        return RGM_OK;
    for (; at > 0 && is_better(r, place, r->pool[at - 1]); at--)
        r->pool[at] = r->pool[at - 1];
    r->pool[at] = place;
    return ++r->pool_count == r->model.population ? update(r) : RGM_OK;
}

/* As far as so many results were there, those among them that are outside of today's bounds. */
static rgm_status advance(replay *r, int64_t results)
{
    for (; r->taken < r->result_count && r->results[r->taken]->told <= results; r->taken++)
        if (r->model.n > 0)
            RGM_TRY(take(r, r->taken));
    return RGM_OK;
}

/* ---- reading and playing ------------------------------------------------------------------- */

static rgm_status find_axes(rgmi_axis **out, int64_t *n, bool *others, const rgm_space *space)
{
    int64_t count;

    RGM_TRY(rgmi_axes_create(out, &count, space));
    *n = 0;
    *others = false;
    for (int64_t j = 0; j < count; j++) {
        rgmi_axis *axis = &(*out)[j];

        if (axis->conditional || axis->kind == RGM_HYPER_CATEGORICAL)
            *others = true;
        else
            (*out)[(*n)++] = *axis;
    }
    return RGM_OK;
}

typedef struct place_told {
    int64_t told, number;
} place_told;

static int by_told(const void *a, const void *b)
{
    const place_told *x = a, *y = b;

    if (x->told != y->told)
        return x->told < y->told ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static rgm_status read_results(replay *r)
{
    place_told *places;

    RGM_TRY(RGM_NEW(places, r->trials));
    for (int64_t i = 0; i < r->trials; i++) {
        int64_t told = r->searcher->trials[i]->told;

        if (told > 0 && told <= MOST_RESULTS && !r->searcher->trials[i]->seen.outside)
            places[r->result_count++] = (place_told){told, i};
    }
    if (r->result_count > 0)
        qsort(places, (size_t)r->result_count, sizeof *places, by_told);
    for (int64_t i = 0; i < r->result_count; i++) {
        r->numbers[i] = places[i].number;
        r->results[i] = r->searcher->trials[places[i].number];
    }
    rgm_free(places);
    return RGM_OK;
}

static rgm_status open_replay(replay *r)
{
    const rgm_searcher *s = r->searcher;

    RGM_TRY(find_axes(&r->axes, &r->n, &r->others, s->space));
    r->trials = s->trial_count;
    r->first =
        r->options->startup_trials > s->first_points ? r->options->startup_trials : s->first_points;
    RGM_TRY(RGM_NEW(r->x, r->trials * r->n + 1));
    RGM_TRY(RGM_NEW(r->born, r->trials + 1));
    RGM_TRY(RGM_NEW(r->results, r->trials + 1));
    RGM_TRY(RGM_NEW(r->numbers, r->trials + 1));
    RGM_TRY(RGM_NEW(r->pool, MOST_POPULATION));
    RGM_TRY(RGM_NEW(r->sorted, MOST_POPULATION * r->n + 1));
    return read_results(r);
}

static void close_replay(replay *r)
{
    rgmi_cma_clear(&r->model);
    rgm_free(r->axes);
    rgm_free(r->x);
    rgm_free(r->born);
    rgm_free((void *)r->results);
    rgm_free(r->numbers);
    rgm_free(r->pool);
    rgm_free(r->sorted);
}

/* Up to the trial that is to be drawn. */
static rgm_status play(replay *r)
{
    for (int64_t i = 0; i <= r->trials; i++) {
        bool last = i == r->trials;
        const rgmi_searched_trial *t = last ? NULL : r->searcher->trials[i];
        bool counts = t != NULL && t->told > 0 && t->told <= MOST_RESULTS;

        RGM_TRY(advance(r, last ? INT64_MAX : t->known));
        if (i >= r->first && r->model.n == 0)
            RGM_TRY(begin_run(r));
        if (counts && i < r->first)
            take_point(r, i);
        else if (counts)
            find_point(r, i);
    }
    return RGM_OK;
}

/* ---- drawing ------------------------------------------------------------------------------- */

/* `values` has TPE's where there are others, or nothing. What the numbers' conditions say holds. */
static void set_values(rgm_hyper_value *values, const replay *r, const double *x,
                       rgm_mt19937 *random)
{
    const rgm_space *space = r->searcher->space;

    for (int64_t j = 0; j < r->n; j++)
        values[r->axes[j].place] = value_at(r, j, x[j]);
    for (int64_t i = 0; i < space->count; i++)
        if (!rgm_space_applies(space, i, values))
            values[i] = (rgm_hyper_value){0};
        else if (!values[i].is_set)
            rgm_space_draw_one(&values[i], space, i, random);
}

static rgm_status draw_point(rgm_hyper_value *values, bool *found, const replay *r,
                             rgm_mt19937 *random)
{
    const rgm_space *space = r->searcher->space;
    double x[RGMI_CMA_MOST];

    memset(values, 0, (size_t)space->count * sizeof *values);
    for (int64_t attempt = 0; attempt < TRIES && !*found; attempt++) {
        if (r->others && attempt % 10 == 0)
            RGM_TRY(rgmi_tpe_draw_default(values, r->searcher, random));
        sample(x, r, r->trials, attempt);
        set_values(values, r, x, random);
        *found = rgm_space_holds(space, values, NULL);
    }
    return RGM_OK;
}

static rgm_status cma_draw(rgm_hyper_value *values, const rgm_searcher *searcher,
                           const void *options, rgm_mt19937 *random)
{
    replay r = {.options = options, .searcher = searcher};
    rgm_status status = RGM_OK;
    bool found = false;

    if (searcher->trial_count < r.options->startup_trials)
        return rgmi_start_draw(values, searcher, (rgmi_start)r.options->start, random);
    RGM_GO(open_replay(&r));
    if (r.n > 0) {
        RGM_GO(play(&r));
        RGM_GO(draw_point(values, &found, &r, random));
    }
    if (!found)
        RGM_GO(rgm_space_draw(values, searcher->space, random));
done:
    close_replay(&r);
    return status;
}

static rgm_status cma_prepare(const rgm_searcher *searcher, const void *options,
                              const rgm_yaml_node *section)
{
    rgmi_axis *axes = NULL;
    rgm_status status = RGM_OK;
    bool others;
    int64_t n;

    (void)options;
    RGM_GO(find_axes(&axes, &n, &others, searcher->space));
    if (searcher->aim_count > 1)
        RGM_GO(rgm_yaml_fail(section,
                             "sampler 'cma' looks at one metric, and there are %lld: take "
                             "nsga2, tpe or gp",
                             (long long)searcher->aim_count));
    if (n == 0 || n > RGMI_CMA_MOST)
        RGM_GO(rgm_yaml_fail(section,
                             "sampler 'cma' adapts 1 to %d hyperparameters of int, double or log "
                             "without a condition, and there are %lld: take tpe",
                             RGMI_CMA_MOST, (long long)n));
done:
    rgm_free(axes);
    return status;
}

const rgm_sampler_type rgmi_cma_sampler_type = {
    .section = {.name = "cma",
                .help = "from a normal distribution that adapts to the best trials (CMA-ES)",
                .options_size = sizeof(cma_options),
                .defaults = cma_defaults,
                .check = cma_check,
                .fields = cma_fields},
    .draw = cma_draw,
    .prepare = cma_prepare,
};
