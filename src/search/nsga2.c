/*
 * nsga2: the operators of NSGA-II (Deb, Pratap, Agarwal, Meyarivan 2002) on the trials that there
 * are. Parents are the `population` best of all results, by constrained non-domination and crowding
 * distance; with generations that is what NSGA-II keeps of parents and children. Two of them, each
 * the better of two by chance, are crossed and mutated. There are no generations to wait for: a
 * result counts from the next draw on, so trials at once lose nothing, and nothing is saved.
 */
#include "samplers_internal.h"
#include "search_internal.h"

#include <math.h>
#include <string.h>

enum { TRIES = 100 }; /* for constraints and for points that were tried; then what is left */

typedef enum crossover_kind { CROSS_SBX, CROSS_UNIFORM } crossover_kind;
static const char *const crossover_names[] = {"sbx", "uniform", NULL};

typedef struct nsga2_options {
    int64_t population;
    double crossover_probability, mutation_probability, eta;
    int crossover, start;
} nsga2_options;

#define RGM_OPTIONS nsga2_options
static const rgm_field nsga2_fields[] = {
    RGM_INT_FIELD(population, 2, 100000, "parents; so many trials are drawn before"),
    RGMI_START_FIELD,
    RGM_CHOICE_FIELD(crossover, crossover_names,
                     "numbers: near one of the parents' (simulated binary), or one of them"),
    RGM_FLOAT_FIELD(crossover_probability, 0, 1, "that a child has two parents"),
    RGM_FLOAT_FIELD(mutation_probability, 0, 1,
                    "of each hyperparameter; 0: 1 / how many there are"),
    RGM_FLOAT_FIELD(eta, 0.1, 1000, "how near to its parents a child is"),
    {0}};
#undef RGM_OPTIONS

static void nsga2_defaults(void *options)
{
    *(nsga2_options *)options = (nsga2_options){
        .population = 50, .crossover_probability = 0.9, .eta = 20, .start = RGMI_START_RANDOM};
}

/* ---- operators on one axis, of coordinates from 0 to 1 ------------------------------------- */

/* Simulated binary crossover: one of its two children, by chance. */
static double cross(double a, double b, double eta, rgm_mt19937 *random)
{
    double u = rgm_mt19937_unit(random), spread, sign = rgm_mt19937_unit(random) < 0.5 ? -1 : 1;

    spread = u < 0.5 ? pow(2 * u, 1 / (eta + 1)) : pow(1 / (2 * (1 - u)), 1 / (eta + 1));
    return 0.5 * (a + b) + sign * 0.5 * spread * (b - a);
}

/* Polynomial mutation: away from a bound it cannot go. */
static double mutate(double x, double eta, rgm_mt19937 *random)
{
    double u = rgm_mt19937_unit(random), power = eta + 1;

    if (u < 0.5)
        return x + pow(2 * u + (1 - 2 * u) * pow(1 - x, power), 1 / power) - 1;
    return x + 1 - pow(2 * (1 - u) + (2 * u - 1) * pow(x, power), 1 / power);
}

static double inside(double x)
{
    return x < 0 ? 0 : x > 1 ? 1 : x;
}

/* ---- a child ------------------------------------------------------------------------------- */

typedef struct breeding {
    const nsga2_options *options;
    rgmi_history history;
    int64_t *order; /* [count] best first */
    int64_t parents;
} breeding;

/* The better of two by chance. */
static const double *choose_parent(const breeding *b, rgm_mt19937 *random)
{
    uint64_t last = (uint64_t)b->parents - 1;
    int64_t one = (int64_t)rgm_mt19937_bounded(random, last);
    int64_t other = (int64_t)rgm_mt19937_bounded(random, last);

    return b->history.points + b->order[one < other ? one : other] * b->history.axis_count;
}

static double share_of(const rgmi_axis *axis, double coordinate)
{
    return (coordinate - axis->low) / (axis->high - axis->low);
}

/* The coordinate of a child. NaN: neither parent has the hyperparameter. */
static double bred(const breeding *b, int64_t j, const double *mother, const double *father,
                   bool crosses, rgm_mt19937 *random)
{
    const nsga2_options *o = b->options;
    const rgmi_axis *axis = &b->history.axes[j];
    double x = mother[j], y = father[j], share;
    double chance =
        o->mutation_probability > 0 ? o->mutation_probability : 1.0 / (double)b->history.axis_count;
    bool swaps = crosses && rgm_mt19937_unit(random) < 0.5;
    bool mutates = rgm_mt19937_unit(random) < chance;

    if (isnan(x) || (swaps && !isnan(y) &&
                     (axis->kind == RGM_HYPER_CATEGORICAL || o->crossover == CROSS_UNIFORM)))
        x = y;
    if (isnan(x))
        return x;
    if (axis->kind == RGM_HYPER_CATEGORICAL)
        return mutates ? rgmi_draw_axis(axis, random) : x;
    share = share_of(axis, x);
    if (swaps && o->crossover == CROSS_SBX && !isnan(y))
        share = inside(cross(share, share_of(axis, y), o->eta, random));
    if (mutates)
        share = inside(mutate(share, o->eta, random));
    return axis->low + share * (axis->high - axis->low);
}

static void breed(rgm_hyper_value *values, const breeding *b, rgm_mt19937 *random)
{
    const rgmi_history *h = &b->history;
    const double *mother = choose_parent(b, random), *father = choose_parent(b, random);
    bool crosses = rgm_mt19937_unit(random) < b->options->crossover_probability;
    int64_t count = rgm_space_count(h->space), j = 0;

    memset(values, 0, (size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++) {
        bool varies = j < h->axis_count && h->axes[j].place == i;

        if (rgm_space_applies(h->space, i, values)) {
            double x = varies ? bred(b, j, mother, father, crosses, random) : NAN;

            if (!isnan(x))
                values[i] = rgmi_axis_value(&h->axes[j], x);
            else
                rgm_space_draw_one(&values[i], h->space, i, random);
        }
        j += varies;
    }
}

static bool was_tried(const rgm_searcher *searcher, const rgm_hyper_value *values)
{
    int64_t count = rgm_space_count(rgm_searcher_space(searcher));

    for (int64_t t = rgm_searcher_trial_count(searcher); t >= 1; t--)
        if (rgmi_values_are_same(values, rgm_searcher_trial(searcher, t)->values, count))
            return true;
    for (int64_t t = 0; t < searcher->earlier_count; t++)
        if (rgmi_values_are_same(values, searcher->earlier[t]->values, count))
            return true;
    return false;
}

static rgm_status nsga2_draw(rgm_hyper_value *values, const rgm_searcher *searcher,
                             const void *options, rgm_mt19937 *random)
{
    breeding b = {.options = options};
    rgm_status status = RGM_OK;
    bool found = false;
    int64_t level;

    RGM_GO(rgmi_history_read(&b.history, searcher));
    b.parents = b.options->population < b.history.count ? b.options->population : b.history.count;
    if (searcher->earlier_count + rgm_searcher_trial_count(searcher) < b.options->population ||
        b.parents < 2 || b.history.axis_count == 0) {
        RGM_GO(rgmi_start_draw(values, searcher, (rgmi_start)b.options->start, random));
        goto done;
    }
    RGM_GO(RGM_NEW(b.order, b.history.count + 1));
    RGM_GO(rgmi_history_level(&level, &b.history, b.parents));
    RGM_GO(rgmi_history_rank(b.order, &b.history, level, b.parents));
    for (int i = 0; i < TRIES && !found; i++) {
        breed(values, &b, random);
        found = rgm_space_holds(b.history.space, values, NULL) && !was_tried(searcher, values);
    }
    if (!found && !rgm_space_holds(b.history.space, values, NULL))
        RGM_GO(rgm_space_draw(values, b.history.space, random));
done:
    rgm_free(b.order);
    rgmi_history_clear(&b.history);
    return status;
}

const rgm_sampler_type rgmi_nsga2_sampler_type = {
    .section = {.name = "nsga2",
                .help = "children of the trials that no other beats (NSGA-II), for several metrics",
                .options_size = sizeof(nsga2_options),
                .defaults = nsga2_defaults,
                .fields = nsga2_fields},
    .draw = nsga2_draw,
};
