/*
 * For tests of samplers: spaces and searchers from text, and the functions that searches are held
 * against each other by.
 */
#ifndef RGM_SEARCH_SAMPLERS_CHECK_H
#define RGM_SEARCH_SAMPLERS_CHECK_H

#include <check.h>
#include <regimen/search_rows.h>

static inline rgm_space *space_of(const char *text, const char *constraints)
{
    rgm_yaml *yaml, *rules = NULL;
    rgm_space *space;

    CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "space"));
    if (constraints != NULL)
        CHECK_OK(rgm_yaml_parse(&rules, constraints, (int64_t)strlen(constraints), "rules"));
    CHECK_OK(
        rgm_space_read(&space, rgm_yaml_root(yaml), rules != NULL ? rgm_yaml_root(rules) : NULL));
    rgm_yaml_release(yaml);
    rgm_yaml_release(rules);
    return space;
}

static inline rgm_status read_searcher(rgm_searcher **out, const char *section, rgm_space *space,
                                       uint32_t seed)
{
    rgm_yaml *yaml;
    rgm_status status;

    CHECK_OK(rgm_yaml_parse(&yaml, section, (int64_t)strlen(section), "searcher"));
    status = rgm_searcher_read(out, rgm_yaml_root(yaml), space, seed, NULL);
    rgm_yaml_release(yaml);
    return status;
}

/** A function to be minimised, over values in order of drawing. */
typedef struct problem {
    const char *name, *space;
    double (*metric)(const rgm_hyper_value *values);
    double least;
} problem;

/* Dixon & Szego 1978: three valleys. */
static inline double branin(const rgm_hyper_value *v)
{
    const double pi = 3.14159265358979323846;
    double x = v[0].number, y = v[1].number;
    double a = y - 5.1 / (4 * pi * pi) * x * x + 5 / pi * x - 6;

    return a * a + 10 * (1 - 1 / (8 * pi)) * cos(x) + 10;
}

static inline double hartmann(const rgm_hyper_value *v)
{
    static const double heights[] = {1, 1.2, 3, 3.2};
    static const double slopes[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                        {0.05, 10, 17, 0.1, 8, 14},
                                        {3, 3.5, 1.7, 10, 17, 8},
                                        {17, 8, 0.05, 10, 0.1, 14}};
    static const double places[4][6] = {{0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886},
                                        {0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991},
                                        {0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650},
                                        {0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381}};
    double sum = 0;

    for (int i = 0; i < 4; i++) {
        double far = 0;
        for (int j = 0; j < 6; j++)
            far += slopes[i][j] * (v[j].number - places[i][j]) * (v[j].number - places[i][j]);
        sum -= heights[i] * exp(-far);
    }
    return sum;
}

/* kind, layers, rate, width; dropout of kind gat, momentum of kind sage. The best kind, sage, is
 * only the best with a low momentum. */
static inline double conditional(const rgm_hyper_value *v)
{
    double rate = log10(v[2].number) + 2.5, sum = rate * rate;

    sum += 0.1 * fabs((double)v[1].integer - 5) + 0.005 * fabs((double)v[3].integer - 37);
    if (v[0].choice == 0)
        return sum + 1;
    if (v[0].choice == 1)
        return sum + 0.3 + 4 * (v[4].number - 0.8) * (v[4].number - 0.8);
    return sum + 0.2 + 4 * (v[5].number - 0.2) * (v[5].number - 0.2);
}

#define UNIT_DOUBLE "{type: double, minval: 0, maxval: 1"

static const problem problems[] = {
    {"Branin",
     "x: {type: double, minval: -5, maxval: 10}\ny: {type: double, minval: 0, maxval: 15}\n",
     branin, 0.397887},
    {"Hartmann 6",
     "a: " UNIT_DOUBLE "}\nb: " UNIT_DOUBLE "}\nc: " UNIT_DOUBLE "}\nd: " UNIT_DOUBLE
     "}\ne: " UNIT_DOUBLE "}\nf: " UNIT_DOUBLE "}\n",
     hartmann, -3.322368},
    {"conditional",
     "kind: {type: categorical, vals: [gcn, gat, sage]}\n"
     "layers: {type: int, minval: 1, maxval: 12}\n"
     "rate: {type: log, base: 10, minval: -5, maxval: 0}\n"
     "width: {type: int, minval: 8, maxval: 128}\n"
     "x1: " UNIT_DOUBLE ", when: kind == gat}\nx2: " UNIT_DOUBLE ", when: kind == sage}\n",
     conditional, 0.2},
};

typedef struct played {
    rgm_searcher *searcher;
    double (*metric)(const rgm_hyper_value *values);
} played;

static inline void play_metrics(double *metrics, int64_t trial, int64_t length, void *payload)
{
    const played *p = payload;

    (void)length;
    metrics[0] = p->metric(rgm_searcher_trial(p->searcher, trial)->values);
}

/** Run it; the lowest metric of all. */
static inline double play(const problem *p, const char *section, uint32_t seed)
{
    rgm_space *space = space_of(p->space, NULL);
    rgm_simulated simulated;
    double best = INFINITY;
    played game = {.metric = p->metric};

    CHECK_OK(read_searcher(&game.searcher, section, space, seed));
    CHECK_OK(rgm_search_simulate(
        &simulated, game.searcher,
        &(rgm_simulation){.metrics = play_metrics, .payload = &game, .order = RGM_IN_ORDER}));
    for (int64_t t = 1; t <= rgm_searcher_trial_count(game.searcher); t++) {
        double key = rgm_searcher_trial(game.searcher, t)->best_key;
        best = key < best ? key : best;
    }
    rgm_simulated_clear(&simulated);
    rgm_searcher_release(game.searcher);
    rgm_space_release(space);
    return best;
}

#endif
