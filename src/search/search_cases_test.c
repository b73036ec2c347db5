/*
 * The numbered acceptance cases 1 to 30 of PEDL and Determined, with their exact numbers:
 * upstream's own tests, fixtures and documented examples, and what an independent re-implementation
 * computed.
 */
#include "search_check.h"

static const char no_space[] = "hyperparameters: {}\n";

/* ---- 7.1 random numbers and sampling ------------------------------------------------------- */

static void case_1_words_and_units_of_seed_0(void **state)
{
    static const uint32_t words[] = {2357136044u, 2546248239u, 3071714933u, 3626093760u,
                                     2588848963u};
    static const double units[] = {0.5488135039273248, 0.7151893663724195, 0.6027633760716439,
                                   0.5448831829968969};
    rgm_mt19937 random;

    (void)state;
    rgm_mt19937_seed(&random, 0);
    for (int i = 0; i < 5; i++)
        CHECK_INT(words[i], rgm_mt19937_u32(&random));
    rgm_mt19937_seed(&random, 0);
    for (int i = 0; i < 4; i++)
        CHECK(rgm_mt19937_unit(&random) == units[i]);
}

static void case_2_bounded_of_seed_123(void **state)
{
    static const int64_t values[] = {66, 92, 98, 17, 83, 57, 86, 97, 96, 47, 73, 32, 46, 96, 25};
    rgm_mt19937 random;

    (void)state;
    rgm_mt19937_seed(&random, 123);
    for (int i = 0; i < 15; i++)
        CHECK_INT(values[i], rgm_mt19937_bounded(&random, 99));
}

static void case_3_uniform_of_seed_2(void **state)
{
    static const double values[] = {-0.5640050978579962, -0.9740737681721087, -0.45033752212129086};
    rgm_mt19937 random;

    (void)state;
    rgm_mt19937_seed(&random, 2);
    for (int i = 0; i < 3; i++)
        CHECK(rgm_mt19937_uniform(&random, -1, 0) == values[i]);
}

static void check_id(const char *expected, const uint8_t id[16])
{
    char text[40];
    int n = 0;

    for (int i = 0; i < 16; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s%02x",
                      i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
    CHECK_TEXT(expected, text);
}

static rgm_searcher *begin(const char *text, uint32_t seed)
{
    rgm_searcher *searcher;

    CHECK_OK(read_searcher(&searcher, text, seed));
    CHECK_OK(rgm_searcher_begin(searcher));
    return searcher;
}

static void case_4_request_id_and_seed_of_seed_0(void **state)
{
    rgm_searcher *searcher =
        begin("hyperparameters: {}\nsearcher: {name: single, metric: m, max_steps: 1}", 0);
    rgm_operation o;

    (void)state;
    CHECK(rgm_searcher_next(&o, searcher));
    check_id("ac0a7f8c-2faa-4497-b5a6-16b7c0cc21d8", o.request_id);
    CHECK_INT(441365315, o.seed);
    rgm_searcher_release(searcher);
}

static void case_5_samples_of_a_mixed_space(void **state)
{
    static const char text[] = "hyperparameters:\n"
                               "  cat: {type: categorical, vals: [0, 1, 2, 3, 4, 5, 6]}\n"
                               "  const: val\n"
                               "  double: {type: double, minval: 0, maxval: 100}\n"
                               "  int: {type: int, minval: 0, maxval: 100}\n"
                               "  log: {type: log, base: 10, minval: -2, maxval: 2}\n"
                               "searcher: {name: random, metric: m, max_trials: 3, max_steps: 1}\n";
    static const struct {
        uint32_t seed;
        const char *id;
        uint32_t trial_seed;
        int64_t cat, integer;
        double number, log;
    } rows[] = {
        {0, "c3767d8b-677d-45d8-89a4-746cd3dea19f", 626610453, 4, 64, 59.28446182250183,
         2.5766385746135883},
        {0, "8ccdcc45-3a39-4962-8142-487ae67daeca", 1340754471, 2, 70, 43.75872112626925,
         0.016859780231705836},
        {0, "48985f56-091b-4e16-9497-eea573082d05", 1581585360, 6, 37, 56.80445610939323,
         22.096070868729548},
        {42, "bcae4199-142c-4b98-a6d6-f02779182272", 669991378, 6, 14, 79.65429868602328,
         8.471801418819974},
        {42, "67eb9224-973e-44b5-82a0-a0a695064505", 242285876, 6, 87, 5.8083612168199465,
         0.21618942406574426},
        {42, "bf148c2e-bb93-41fe-9499-f32ea044139e", 1306710475, 1, 29, 72.19987722668247,
         0.07068974950624601},
        {999, "db29c2a3-9f1d-4817-99e0-4617b383f52f", 1426898448, 0, 97, 15.098865723253995,
         0.02995338165213404},
    };
    rgm_searcher *searcher = NULL;
    rgm_operation o;

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (i == 0 || rows[i].seed != rows[i - 1].seed) {
            rgm_searcher_release(searcher);
            searcher = begin(text, rows[i].seed);
        }
        do {
            CHECK(rgm_searcher_next(&o, searcher));
        } while (o.kind != RGM_ASK_CREATE);
        check_id(rows[i].id, o.request_id);
        CHECK_INT(rows[i].trial_seed, o.seed);
        CHECK_INT(rows[i].cat, o.values[0].choice);
        CHECK(o.values[2].number == rows[i].number);
        CHECK_INT(rows[i].integer, o.values[3].integer);
        CHECK_CLOSE(o.values[4].number, rows[i].log, 2.3e-16, 0);
    }
    rgm_searcher_release(searcher);
}

/* ---- simulated runs ------------------------------------------------------------------------ */

/* "searcher" options with metric and an empty space, simulated; *out is cleared by the caller. */
static void simulate(rgm_simulated *out, const char *options, const rgm_simulation *how)
{
    char text[600];
    rgm_searcher *searcher;

    snprintf(text, sizeof text, "%ssearcher: {metric: m, %s}\n", no_space, options);
    CHECK_OK(read_searcher(&searcher, text, 1));
    CHECK_OK(rgm_search_simulate(out, searcher, how));
    CHECK(rgm_searcher_progress(searcher) == 1 && rgm_searcher_is_over(searcher));
    rgm_searcher_release(searcher);
}

static void check_courses(const char *expected, const char *options, const rgm_simulation *how)
{
    rgm_simulated simulated;
    rgm_text text = {0};

    simulate(&simulated, options, how);
    print_courses(&text, &simulated);
    if (strcmp(expected, text.data) != 0)
        fail_msg("%s gave\n%s\nexpected\n%s", options, text.data, expected);
    rgm_text_clear(&text);
    rgm_simulated_clear(&simulated);
}

static void check_lengths(const char *expected, const char *options, const rgm_simulation *how)
{
    rgm_simulated simulated;
    rgm_text text = {0};

    simulate(&simulated, options, how);
    print_lengths(&text, &simulated);
    if (strcmp(expected, text.data) != 0)
        fail_msg("%s gave %s, expected %s", options, text.data, expected);
    rgm_text_clear(&text);
    rgm_simulated_clear(&simulated);
}

static void (*const all_metrics[])(double *, int64_t, int64_t, void *) = {NULL, by_trial,
                                                                          minus_trial};

/* Synchronous methods: the same courses whatever the metrics and the order. */
static void check_courses_always(const char *expected, const char *options)
{
    for (int m = 0; m < 3; m++)
        for (int order = RGM_IN_ORDER; order <= RGM_RANDOM_ORDER; order++)
            check_courses(expected, options,
                          &(rgm_simulation){.order = (rgm_simulation_order)order,
                                            .order_seed = (uint32_t)m,
                                            .metrics = all_metrics[m]});
}

static void check_lengths_always(const char *expected, const char *options)
{
    for (int m = 0; m < 3; m++)
        for (int order = RGM_IN_ORDER; order <= RGM_RANDOM_ORDER; order++)
            check_lengths(expected, options,
                          &(rgm_simulation){.order = (rgm_simulation_order)order,
                                            .order_seed = (uint32_t)m,
                                            .metrics = all_metrics[m]});
}

/* ---- 7.2 simple searchers ------------------------------------------------------------------ */

static void case_6_random_and_single(void **state)
{
    rgm_searcher *searcher;
    rgm_operation o;
    double metric = 0.5;

    (void)state;
    check_courses_always("4 x 3S V", "name: random, max_trials: 4, max_steps: 3");
    check_courses_always("4 x 3S V", "name: random, max_trials: 4, max_length: {steps: 3}");
    searcher = begin("hyperparameters: {}\nsearcher: {name: single, metric: m, max_steps: 10}", 1);
    CHECK(rgm_searcher_next(&o, searcher) && o.kind == RGM_ASK_CREATE);
    CHECK(rgm_searcher_next(&o, searcher) && o.kind == RGM_ASK_TRAIN && o.length == 10);
    CHECK(rgm_searcher_next(&o, searcher) && o.kind == RGM_ASK_VALIDATE && o.length == 10);
    CHECK(!rgm_searcher_next(&o, searcher));
    for (int64_t step = 1; step < 10; step++) { /* validations of the trial's own are not told */
        CHECK_OK(rgm_searcher_tell(searcher, &(rgm_search_event){RGM_TRAINED, 1, step, NULL}));
        CHECK_STATUS(RGM_ERR_ARG, rgm_searcher_tell(searcher, &(rgm_search_event){RGM_VALIDATED, 1,
                                                                                  step, &metric}));
    }
    CHECK_OK(rgm_searcher_tell(searcher, &(rgm_search_event){RGM_VALIDATED, 1, 10, &metric}));
    CHECK(rgm_searcher_next(&o, searcher) && o.kind == RGM_ASK_CLOSE);
    CHECK_OK(rgm_searcher_tell(searcher, &(rgm_search_event){RGM_CLOSED, 1, 0, NULL}));
    CHECK(rgm_searcher_next(&o, searcher) && o.kind == RGM_ASK_SHUTDOWN);
    rgm_searcher_release(searcher);
}

/* All points as "a b, a b". */
static void check_grid(const char *expected, const char *hyperparameters)
{
    char text[1000];
    rgm_text points = {0};
    rgm_searcher *searcher;
    rgm_operation o;

    snprintf(text, sizeof text,
             "hyperparameters:\n%ssearcher: {name: grid, metric: m, max_steps: 1}\n",
             hyperparameters);
    searcher = begin(text, 1);
    while (rgm_searcher_next(&o, searcher)) {
        const rgm_space *space = rgm_searcher_space(searcher);

        for (int64_t i = 0; o.kind == RGM_ASK_CREATE && i < rgm_space_count(space); i++) {
            CHECK_OK(rgm_text_printf(&points, "%s", i > 0 ? " " : points.size > 0 ? ", " : ""));
            CHECK_OK(rgm_space_print_value(&points, space, i, &o.values[i]));
        }
    }
    CHECK_TEXT(expected, points.data);
    rgm_text_clear(&points);
    rgm_searcher_release(searcher);
}

static void case_7_grids(void **state)
{
    rgm_searcher *searcher;

    (void)state;
    check_grid("0 0, 0 5, 0 10, 10 0, 10 5, 10 10, 20 0, 20 5, 20 10",
               "  a: {type: int, minval: 0, maxval: 20, count: 3}\n"
               "  b: {type: int, minval: 0, maxval: 10, count: 3}\n");
    check_grid("0 5 0, 0 5 5, 0 5 10, 20 5 0, 20 5 5, 20 5 10",
               "  a: {type: int, minval: 0, maxval: 20, count: 2}\n"
               "  b: {type: int, minval: 0, maxval: 10, count: 1}\n"
               "  c: {type: int, minval: 0, maxval: 10, count: 3}\n");
    check_grid("0, 1, 2, 3, 4", "  a: {type: int, minval: 0, maxval: 4, count: 5}\n");
    check_grid("-4, -3, -2", "  a: {type: int, minval: -4, maxval: -2, count: 3}\n");
    check_grid("0, 1, 2, 3", "  a: {type: int, minval: 0, maxval: 3, count: 100}\n");
    check_grid("0.5", "  a: {type: double, minval: 0, maxval: 1, count: 1}\n");
    check_grid("0.0001, 0.001, 0.01",
               "  a: {type: log, base: 10, minval: -4, maxval: -2, count: 3}\n");
    CHECK_OK(
        read_searcher(&searcher,
                      "hyperparameters: {a: {type: double, minval: 0, maxval: 1, count: 2000}}\n"
                      "searcher: {name: grid, metric: m, max_steps: 1}",
                      1));
    rgm_searcher_release(searcher);
    CHECK_STATUS(
        RGM_ERR_CONFIG,
        read_searcher(&searcher,
                      "hyperparameters: {a: {type: double, minval: 0, maxval: 1, count: 2001}}\n"
                      "searcher: {name: grid, metric: m, max_steps: 1}",
                      1));
    CHECK_MESSAGE("e.yaml:2:11: the grid has more than 2000 points");
}

/* ---- 7.3 synchronous halving --------------------------------------------------------------- */

static void case_8_async_halving(void **state)
{
    (void)state;
    check_courses_always("1 x 12S V 38S V 150S V 600S V\n1 x 12S V 38S V\n9 x 12S V",
                         "name: async_halving, num_rungs: 4, divisor: 4, target_trial_steps: 800, "
                         "step_budget: 480");
}

static void case_9_adaptive_of_two_brackets(void **state)
{
    static double metrics[] = {.1, .2, .3, NAN};
    rgm_simulated simulated;

    (void)state;
    simulate(&simulated,
             "name: adaptive, max_rungs: 2, divisor: 4, target_trial_steps: 32, step_budget: 64",
             &(rgm_simulation){.metrics = by_trial, .payload = metrics});
    CHECK_INT(3, simulated.trial_count);
    CHECK_TEXT("8S V 24S V", simulated.by_trial[0]);
    CHECK_TEXT("8S V", simulated.by_trial[1]);
    CHECK_TEXT("32S V", simulated.by_trial[2]);
    rgm_simulated_clear(&simulated);
}

static void case_10_adaptive_by_mode(void **state)
{
#define ADAPTIVE_16(mode)                                                                          \
    "name: adaptive, divisor: 4, max_rungs: 3, target_trial_steps: 16, step_budget: 160, "         \
    "mode: " mode
    (void)state;
    check_lengths_always("16:4 4:12 1:48", ADAPTIVE_16("aggressive"));
    check_lengths_always("16:4 4:15 1:24", ADAPTIVE_16("standard"));
    check_lengths_always("16:5 4:10 1:16", ADAPTIVE_16("conservative"));
}

static void case_11_adaptive_640(void **state)
{
    (void)state;
    check_courses_always("2 x 160S V 480S V\n1 x 40S V 120S V 480S V\n8 x 160S V\n"
                         "6 x 40S V 120S V\n23 x 40S V",
                         "name: adaptive, divisor: 4, max_rungs: 3, target_trial_steps: 640, "
                         "step_budget: 6000");
}

static void case_12_adaptive_of_five_rungs(void **state)
{
    (void)state;
    check_lengths_always("256:3 64:9 16:38 4:89 1:160",
                         "name: adaptive, divisor: 4, max_rungs: 5, target_trial_steps: 256, "
                         "step_budget: 2560");
}

static void case_13_adaptive_simple_of_eight(void **state)
{
    rgm_simulated simulated;
    rgm_text text = {0};

    (void)state;
    simulate(&simulated, "name: adaptive_simple, max_steps: 32, max_trials: 8",
             &(rgm_simulation){.metrics = by_trial});
    CHECK_TEXT("1S V 1S V 1S V 5S V 24S V", simulated.by_trial[0]);
    CHECK_TEXT("1S V 1S V 6S V 24S V", simulated.by_trial[3]);
    CHECK_TEXT("2S V 6S V 24S V", simulated.by_trial[6]);
    print_courses(&text, &simulated);
    CHECK_TEXT("1 x 1S V 1S V 1S V 5S V 24S V\n1 x 1S V 1S V 6S V 24S V\n1 x 2S V 6S V 24S V\n"
               "1 x 2S V\n4 x 1S V",
               text.data);
    rgm_text_clear(&text);
    rgm_simulated_clear(&simulated);
}

static void case_14_adaptive_simple_of_one(void **state)
{
    (void)state;
    check_courses_always(
        "1 x 1S V 1S V 1S V\n1 x 1S V 1S V\n1 x 1S V",
        "name: adaptive_simple, mode: conservative, max_rungs: 3, max_steps: 1, max_trials: 1");
}

static void case_15_adaptive_simple_of_a_hundred(void **state)
{
    (void)state;
    check_lengths_always("256:4 64:7 16:32 4:31 1:26",
                         "name: adaptive_simple, max_steps: 256, max_trials: 100");
}

static void case_16_adaptive_simple_by_mode(void **state)
{
    (void)state;
    check_lengths_always("64:21 16:16 4:13", "name: adaptive_simple, mode: conservative, "
                                             "max_rungs: 3, max_steps: 64, max_trials: 50");
    check_lengths_always("64:1 16:3 4:12", "name: adaptive_simple, mode: aggressive, max_rungs: 3, "
                                           "max_steps: 64, max_trials: 16");
}

/* ---- 7.4 asynchronous halving -------------------------------------------------------------- */

/* The plan's lines, as describe() tells them. */
static void check_plan(const char *expected, const char *options)
{
    char text[600];
    rgm_searcher *searcher;
    rgm_text plan = {0};

    snprintf(text, sizeof text, "%ssearcher: {metric: m, name: adaptive_asha, %s}\n", no_space,
             options);
    CHECK_OK(read_searcher(&searcher, text, 1));
    CHECK_OK(rgm_searcher_describe(&plan, searcher));
    if (strcmp(expected, plan.data) != 0)
        fail_msg("%s is planned as\n%s\nexpected\n%s", options, plan.data, expected);
    rgm_text_clear(&plan);
    rgm_searcher_release(searcher);
}

static void case_17_needs(void **state)
{
    (void)state;
    check_plan("bracket 1: 1 trials, 2 at a time, rungs at 1 (1), 2 (1), 5 (1), 10 (1) steps\n",
               "bracket_rungs: [4], divisor: 2, max_steps: 10, max_trials: 1");
    check_plan("bracket 1: 1 trials, 3 at a time, rungs at 1000 (1), 3000 (1), 9000 (1) steps\n",
               "bracket_rungs: [3], divisor: 3, max_steps: 9000, max_trials: 1");
    check_plan("bracket 1: 1 trials, 3 at a time, rungs at 100 (1), 300 (1), 900 (1) steps\n",
               "bracket_rungs: [3], divisor: 3, max_steps: 900, max_trials: 1");
}

#define ASHA_9000(more)                                                                            \
    "name: adaptive_asha, bracket_rungs: [3], divisor: 3, max_steps: 9000, max_trials: 12, " more

static void check_by_trial(const int64_t *thousands, const char *options, const rgm_simulation *how)
{
    static const char *const courses[] = {
        [1] = "1000S V", [3] = "1000S V 2000S V", [9] = "1000S V 2000S V 6000S V"};
    rgm_simulated simulated;

    simulate(&simulated, options, how);
    CHECK_INT(12, simulated.trial_count);
    for (int i = 0; i < 12; i++)
        CHECK_TEXT(courses[thousands[i]], simulated.by_trial[i]);
    rgm_simulated_clear(&simulated);
}

static void case_18_promotion(void **state)
{
    static double metrics[] = {.10, .11, .12, .01, .02, .03, .04, .05, .06, .07, .08, .09, NAN};
    const rgm_simulation constant = {.order = RGM_IN_ORDER}, rising = {.metrics = by_trial};

    (void)state;
#define PEDL_9000(more) ASHA_9000("rule: pedl, max_concurrent_trials: " more)
    check_lengths("9000:1 3000:3 1000:8", PEDL_9000("9"), &constant);
    check_lengths("9000:1 3000:3 1000:8", PEDL_9000("9"), &rising);
    check_lengths("9000:1 3000:3 1000:8", PEDL_9000("3"), &constant);
    check_lengths("9000:1 3000:3 1000:8", PEDL_9000("3"), &rising);
    check_by_trial((const int64_t[]){3, 1, 1, 9, 3, 3, 3, 1, 1, 1, 1, 1}, PEDL_9000("3"),
                   &(rgm_simulation){.metrics = by_trial, .payload = metrics});
}

static void case_19_stopping(void **state)
{
    static double metrics[] = {.01, .02, .03, .04, NAN};

    (void)state;
    check_by_trial((const int64_t[]){9, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
                   ASHA_9000("stop_once: true, max_concurrent_trials: 2"),
                   &(rgm_simulation){.metrics = by_trial});
    check_by_trial((const int64_t[]){9, 9, 9, 9, 1, 1, 3, 9, 1, 1, 3, 9},
                   ASHA_9000("stop_once: true, max_concurrent_trials: 9, smaller_is_better: false"),
                   &(rgm_simulation){.metrics = by_trial, .payload = metrics});
}

static void case_20_stopping_of_ten(void **state)
{
#define STOP_900                                                                                   \
    "name: adaptive_asha, stop_once: true, bracket_rungs: [3], divisor: 3, max_steps: 900, "       \
    "max_trials: 10, max_concurrent_trials: 3"
    (void)state;
    check_lengths("900:1 100:9", STOP_900, &(rgm_simulation){.metrics = by_trial});
    check_lengths("900:10", STOP_900, &(rgm_simulation){.metrics = minus_trial});
}

static void case_21_trials_and_concurrency_of_brackets(void **state)
{
    (void)state;
    check_plan("bracket 1: 12 trials, 3 at a time, rungs at 11 (12), 33 (4), 100 (1) steps\n"
               "bracket 2: 5 trials, 3 at a time, rungs at 33 (5), 100 (1) steps\n"
               "bracket 3: 3 trials, 3 at a time, rungs at 100 (3) steps\n",
               "bracket_rungs: [3, 2, 1], divisor: 3, max_steps: 100, max_trials: 20");
    check_plan(
        "bracket 1: 35 trials, 8 at a time, rungs at 3 (35), 11 (11), 33 (3), 100 (1) steps\n"
        "bracket 2: 15 trials, 7 at a time, rungs at 11 (15), 33 (5), 100 (1) steps\n",
        "bracket_rungs: [3, 4], divisor: 3, max_steps: 100, max_trials: 50, "
        "max_concurrent_trials: 15");
    check_plan("bracket 1: 37 trials, 13 at a time, rungs at 6 (37), 25 (9), 100 (2) steps\n"
               "bracket 2: 13 trials, 13 at a time, rungs at 25 (13), 100 (3) steps\n",
               "bracket_rungs: [3, 2], max_steps: 100, max_trials: 50");
    check_plan("bracket 1: 70 trials, 4 at a time, rungs at 1 (70), 6 (17), 25 (4), 100 (1) steps\n"
               "bracket 2: 22 trials, 4 at a time, rungs at 6 (22), 25 (5), 100 (1) steps\n"
               "bracket 3: 8 trials, 3 at a time, rungs at 25 (8), 100 (2) steps\n",
               "bracket_rungs: [4, 3, 2], max_steps: 100, max_trials: 100, "
               "max_concurrent_trials: 11");
}

static void case_22_brackets_of_adaptive_asha(void **state)
{
    (void)state;
    check_plan("bracket 1: 7 trials, 1 at a time, rungs at 25 (7), 100 (1) steps\n"
               "bracket 2: 3 trials, 1 at a time, rungs at 100 (3) steps\n",
               "mode: standard, max_steps: 100, max_trials: 10, max_concurrent_trials: 2");
    check_plan("bracket 1: 7 trials, 2 at a time, rungs at 111 (7), 333 (2), 1000 (1) batches\n"
               "bracket 2: 2 trials, 2 at a time, rungs at 333 (2), 1000 (1) batches\n"
               "bracket 3: 1 trials, 1 at a time, rungs at 1000 (1) batches\n",
               "mode: conservative, max_length: {batches: 1000}, max_trials: 10, divisor: 3, "
               "max_concurrent_trials: 5");
    check_plan("bracket 1: 7 trials, 8 at a time, rungs at 100 (7), 300 (2), 900 (1) steps\n"
               "bracket 2: 3 trials, 8 at a time, rungs at 300 (3), 900 (1) steps\n",
               "mode: standard, max_steps: 900, max_trials: 10, divisor: 3, "
               "max_concurrent_trials: 16");
}

/* Trials by the rung where the plan ends them: "900:2 300:3", from describe(). */
static void check_ends(const char *expected, const char *options)
{
    char text[600];
    int64_t lengths[16] = {0}, trials[16] = {0}, count = 0;
    rgm_searcher *searcher;
    rgm_text plan = {0}, got = {0};

    snprintf(text, sizeof text, "%ssearcher: {metric: m, %s}\n", no_space, options);
    CHECK_OK(read_searcher(&searcher, text, 1));
    CHECK_OK(rgm_searcher_describe(&plan, searcher));
    for (char *at = plan.data; (at = strstr(at, "rungs at ")) != NULL;) {
        int64_t before = -1;
        char *end = strchr(at, '\n');

        for (at += strlen("rungs at "); at < end;) { /* "100 (7), 300 (2), 900 (1) steps" */
            int64_t length = strtoll(at, &at, 10), reach = strtoll(at + 2, &at, 10), i = 0;

            while (i < count && lengths[i] != length)
                i++;
            count += i == count;
            lengths[i] = length;
            trials[i] += reach;
            if (before >= 0)
                trials[before] -= reach;
            before = i;
            at += *(at + 1) == ',' ? 3 : end - at;
        }
    }
    for (int64_t i = count - 1; i >= 0; i--) /* the first bracket has all rungs, ascending */
        CHECK_OK(rgm_text_printf(&got, "%s%lld:%lld", got.size > 0 ? " " : "",
                                 (long long)lengths[i], (long long)trials[i]));
    CHECK_TEXT(expected, got.data);
    rgm_text_clear(&plan);
    rgm_text_clear(&got);
    rgm_searcher_release(searcher);
}

/* The plan, which is what promotion makes of metrics that get worse from trial to trial; and where
 * PEDL's differs: of fewer trials than the divisor nobody is promoted, while the plan has one go
 * on.
 */
static void case_23_previews(void **state)
{
    static const struct {
        const char *options, *planned, *promoted;
    } cases[] = {
        {"name: adaptive_asha, mode: standard, max_steps: 900, max_trials: 10, divisor: 3",
         "900:2 300:3 100:5", "900:1 300:4 100:5"},
        {"name: adaptive_asha, mode: standard, max_steps: 1000, max_trials: 100",
         "1000:4 250:13 62:30 15:53", NULL},
        {"name: adaptive_asha, mode: standard, max_steps: 1000, max_trials: 100, "
         "max_concurrent_trials: 16",
         "1000:4 250:13 62:30 15:53", NULL},
        {"name: adaptive_asha, mode: aggressive, max_steps: 1000, max_trials: 100",
         "1000:1 250:5 62:19 15:75", NULL},
        {"name: adaptive_asha, mode: conservative, max_steps: 1000, max_trials: 100",
         "1000:8 250:13 62:28 15:51", NULL},
        {"name: adaptive_asha, mode: standard, max_steps: 1000, max_trials: 500",
         "1000:4 250:16 62:65 15:149 3:266", NULL},
        {"name: adaptive_asha, mode: standard, max_steps: 6400, max_trials: 128",
         "6400:4 1600:18 400:39 100:67", NULL},
        {"name: adaptive_asha, mode: standard, max_steps: 937, max_trials: 16", "937:2 234:5 58:9",
         "937:1 234:6 58:9"},
    };
    const rgm_simulation rising = {.metrics = by_trial};
    char options[300];

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *of_pedl = cases[i].promoted != NULL ? cases[i].promoted : cases[i].planned;
        snprintf(options, sizeof options, "rule: stop, %s", cases[i].options);
        check_ends(cases[i].planned, options);
        check_ends(cases[i].planned, cases[i].options);
        check_lengths(cases[i].planned, cases[i].options, &rising);
        snprintf(options, sizeof options, "rule: pedl, %s", cases[i].options);
        check_ends(of_pedl, options);
        check_lengths(of_pedl, options, &rising);
    }
    for (int concurrent = 1; concurrent <= 12; concurrent++) { /* every later trial is better */
        snprintf(options, sizeof options, PEDL_9000("%d"), concurrent);
        check_lengths("9000:8 3000:2 1000:2", options, &(rgm_simulation){.metrics = minus_trial});
    }
    /* The largest k with d^k <= L, where doubles of logarithms fall short: as upstream would not.
     */
    check_plan("bracket 1: 1000 trials, 1000 at a time, rungs at 1 (1000), 10 (100), 100 (10), "
               "1000 (1) steps\n",
               "mode: aggressive, divisor: 10, max_steps: 1000, max_trials: 1000");
    check_plan("bracket 1: 243 trials, 243 at a time, rungs at 1 (243), 3 (81), 9 (27), 27 (9), 81 "
               "(3), 243 (1) steps\n",
               "mode: aggressive, divisor: 3, max_steps: 243, max_trials: 243, max_rungs: 9");
}

static void case_24_stopping_is_no_plan(void **state)
{
#define STOP_1000                                                                                  \
    "name: adaptive_asha, stop_once: true, mode: standard, max_steps: 1000, max_trials: 100, "     \
    "max_concurrent_trials: 16"
    (void)state;
    check_lengths("1000:3 250:7 62:21 15:69", STOP_1000, &(rgm_simulation){.metrics = by_trial});
    check_lengths("1000:100", STOP_1000, &(rgm_simulation){.metrics = minus_trial});
}

/* ---- 7.5 population based training --------------------------------------------------------- */

#define PBT(population, rounds, steps, fraction)                                                   \
    "name: pbt, population_size: " #population ", num_rounds: " #rounds                            \
    ", steps_per_round: " #steps ", replace_function: {truncate_fraction: " #fraction "}"
#define LARGER ", smaller_is_better: false"

static void case_25_pbt_of_two(void **state)
{
    (void)state;
    check_courses("1 x 2S V C 2S V\n2 x 2S V", PBT(2, 2, 2, .5) LARGER,
                  &(rgm_simulation){.metrics = by_trial});
}

static void case_26_pbt_without_replacing(void **state)
{
    (void)state;
    check_courses_always("3 x 4S V 4S V 4S V 4S V", PBT(3, 4, 4, 0));
}

static void case_27_pbt_of_four(void **state)
{
    (void)state;
    for (int order = RGM_IN_ORDER; order <= RGM_RANDOM_ORDER; order++) {
        const rgm_simulation how = {.order = (rgm_simulation_order)order, .metrics = by_trial};

        check_courses("14 x 5S V C 5S V\n4 x 5S V", PBT(4, 8, 5, .5) LARGER, &how);
        check_courses("2 x 5S V C 5S V C 5S V C 5S V C 5S V C 5S V C 5S V C 5S V\n16 x 5S V",
                      PBT(4, 8, 5, .5), &how);
    }
}

static void case_28_pbt_by_trial(void **state)
{
    static double metrics[] = {.5, .6, .1, .2, .3, NAN};
    rgm_simulated simulated;
    static const char *const courses[] = {"2S V C 2S V", "2S V", "2S V C 2S V C 2S V", "2S V",
                                          "2S V"};

    (void)state;
    simulate(&simulated, PBT(2, 4, 2, .5),
             &(rgm_simulation){.metrics = by_trial, .payload = metrics});
    CHECK_INT(5, simulated.trial_count);
    for (int i = 0; i < 5; i++)
        CHECK_TEXT(courses[i], simulated.by_trial[i]);
    rgm_simulated_clear(&simulated);
}

/* Trials by the number of rounds and checkpoints of their course. */
static int64_t count_rounds(const rgm_simulated *simulated, int64_t rounds, int64_t checkpoints)
{
    int64_t count = 0;

    for (int64_t i = 0; i < simulated->trial_count; i++) {
        int64_t v = 0, c = 0;

        for (const char *at = simulated->by_trial[i]; *at != '\0'; at++) {
            v += *at == 'V';
            c += *at == 'C';
        }
        count += v == rounds && c == checkpoints;
    }
    return count;
}

static void case_29_pbt_of_many(void **state)
{
    rgm_simulated s;

    (void)state;
    simulate(&s, PBT(9, 3, 6, .2), &(rgm_simulation){.metrics = by_trial});
    CHECK_INT(11, s.trial_count);
    CHECK(count_rounds(&s, 3, 0) == 7 && count_rounds(&s, 3, 2) == 1 &&
          count_rounds(&s, 1, 0) == 3);
    rgm_simulated_clear(&s);
    simulate(&s, PBT(40, 5, 10, .2), &(rgm_simulation){.metrics = by_trial});
    CHECK_INT(72, s.trial_count);
    CHECK(count_rounds(&s, 5, 0) == 24 && count_rounds(&s, 5, 4) == 8 &&
          count_rounds(&s, 1, 0) == 40);
    rgm_simulated_clear(&s);
}

/* What exploring makes of a value: clones of runs with many seeds are among `low`, `high`, both. */
static void check_explored(const char *space, double value, double less, double more)
{
    bool seen_less = false, seen_more = false;
    double metric = 0;

    for (uint32_t seed = 0; seed < 20; seed++) {
        char text[600];
        rgm_searcher *searcher;
        const rgm_search_trial *clone;
        double got;

        snprintf(text, sizeof text,
                 "hyperparameters: {x: %s}\nsearcher: {metric: m, " PBT(
                     2, 2, 1, .5) ", explore_function: {resample_probability: 0, perturb_factor: "
                                  "0.2}, points: [{x: %g}, {x: %g}]}",
                 space, value, value);
        searcher = begin(text, seed);
        for (int64_t t = 1; t <= 2; t++)
            CHECK_OK(
                rgm_searcher_tell(searcher, &(rgm_search_event){RGM_VALIDATED, t, 1, &metric}));
        clone = rgm_searcher_trial(searcher, 3);
        CHECK(clone != NULL);
        got = rgm_space_at(rgm_searcher_space(searcher), 0)->kind == RGM_HYPER_INT
                  ? (double)clone->values[0].integer
                  : clone->values[0].number;
        CHECK(got == less || got == more);
        seen_less = seen_less || got == less;
        seen_more = seen_more || got == more;
        rgm_searcher_release(searcher);
    }
    CHECK(seen_less && seen_more);
}

static void case_30_explore(void **state)
{
    (void)state;
    check_explored("{type: int, minval: 0, maxval: 100}", 10, 8, 12);
    check_explored("{type: int, minval: 0, maxval: 100}", 1, 0, 2);
    check_explored("{type: double, minval: 0, maxval: 100}", 90, 72, 100);
    check_explored("{type: log, base: 10, minval: 0, maxval: 2}", 100, 80, 100);
}

TESTS(cmocka_unit_test(case_1_words_and_units_of_seed_0),
      cmocka_unit_test(case_2_bounded_of_seed_123), cmocka_unit_test(case_3_uniform_of_seed_2),
      cmocka_unit_test(case_4_request_id_and_seed_of_seed_0),
      cmocka_unit_test(case_5_samples_of_a_mixed_space), cmocka_unit_test(case_6_random_and_single),
      cmocka_unit_test(case_7_grids), cmocka_unit_test(case_8_async_halving),
      cmocka_unit_test(case_9_adaptive_of_two_brackets), cmocka_unit_test(case_10_adaptive_by_mode),
      cmocka_unit_test(case_11_adaptive_640), cmocka_unit_test(case_12_adaptive_of_five_rungs),
      cmocka_unit_test(case_13_adaptive_simple_of_eight),
      cmocka_unit_test(case_14_adaptive_simple_of_one),
      cmocka_unit_test(case_15_adaptive_simple_of_a_hundred),
      cmocka_unit_test(case_16_adaptive_simple_by_mode), cmocka_unit_test(case_17_needs),
      cmocka_unit_test(case_18_promotion), cmocka_unit_test(case_19_stopping),
      cmocka_unit_test(case_20_stopping_of_ten),
      cmocka_unit_test(case_21_trials_and_concurrency_of_brackets),
      cmocka_unit_test(case_22_brackets_of_adaptive_asha), cmocka_unit_test(case_23_previews),
      cmocka_unit_test(case_24_stopping_is_no_plan), cmocka_unit_test(case_25_pbt_of_two),
      cmocka_unit_test(case_26_pbt_without_replacing), cmocka_unit_test(case_27_pbt_of_four),
      cmocka_unit_test(case_28_pbt_by_trial), cmocka_unit_test(case_29_pbt_of_many),
      cmocka_unit_test(case_30_explore))
