/*
 * Which checkpoints go: cases 31 and 32 of the specification, who is never removed, odd metrics,
 * and random descriptions against the rule read literally.
 */
#include "check.h"
#include "garbage.h"

#define MOST 40

/* The ids that are kept, as text. */
static void check_kept(const char *ids, const rgmi_keeping *keeping,
                       const rgmi_kept_checkpoint *checkpoints, int64_t count)
{
    unsigned why[MOST];
    rgm_text text = {0};

    CHECK_OK(rgmi_garbage(why, keeping, checkpoints, count));
    for (int64_t i = 0; i < count; i++)
        if (why[i] != 0)
            CHECK_OK(rgm_text_printf(&text, "%s%lld", text.size > 0 ? " " : "",
                                     (long long)checkpoints[i].id));
    CHECK_TEXT(ids, text.data == NULL ? "" : text.data);
    rgm_text_clear(&text);
}

static void case_31_one_trial_of_ten(void **state)
{
    static const rgmi_keeping keeping = {3, 1, 2, true};
    rgmi_kept_checkpoint checkpoints[10];

    (void)state;
    for (int i = 0; i < 10; i++)
        checkpoints[i] = (rgmi_kept_checkpoint){
            .id = i + 1, .trial = 1, .step = i + 1, .metric = pow(0.9, i + 1)};
    check_kept("8 9 10", &keeping, checkpoints, 10);
    for (int i = 0; i < 10; i++)
        checkpoints[i].metric = i;
    check_kept("1 2 3 9 10", &keeping, checkpoints, 10);
}

static void case_32_two_trials(void **state)
{
    static const struct {
        int64_t experiment_best, trial_best, trial_latest;
        const char *kept;
    } cases[] = {
        {0, 0, 0, ""},
        {2, 0, 0, "7 8"},
        {5, 0, 0, "3 4 5 7 8"},
        {100, 0, 0, "3 4 5 7 8"},
        {0, 1, 0, "5 7"},
        {0, 0, 1, "5 10"},
        {2, 1, 0, "5 7 8"},
        {2, 0, 1, "5 7 8 10"},
        {0, 1, 1, "5 7 10"},
        {2, 1, 1, "5 7 8 10"},
        {0, 0, 3, "3 4 5 8 9 10"},
    };
    static const double metrics[10] = {NAN, NAN, .6, .5, .4, NAN, .2, .3, NAN, NAN};
    rgmi_kept_checkpoint checkpoints[10];

    (void)state;
    for (int i = 0; i < 10; i++)
        checkpoints[i] = (rgmi_kept_checkpoint){
            .id = i + 1, .trial = 1 + i / 5, .step = 1 + i % 5, .metric = metrics[i]};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgmi_keeping keeping = {cases[i].experiment_best, cases[i].trial_best,
                                cases[i].trial_latest, true};

        check_kept(cases[i].kept, &keeping, checkpoints, 10);
    }
}

static void what_somebody_needs_stays(void **state)
{
    static const rgmi_keeping nothing = {0, 0, 0, true};
    rgmi_kept_checkpoint checkpoints[] = {
        {.id = 1, .trial = 1, .step = 1, .metric = 3, .is_needed = true},
        {.id = 2, .trial = 1, .step = 2, .metric = 1},
        {.id = 3, .trial = 2, .step = 1, .metric = NAN, .is_needed = true},
    };
    unsigned why[3];

    (void)state;
    check_kept("1 3", &nothing, checkpoints, 3);
    CHECK_OK(rgmi_garbage(why, &nothing, checkpoints, 3));
    CHECK_INT(RGMI_KEPT_NEEDED, why[0]);
    CHECK_INT(0, why[1]);
}

static void ties_and_odd_metrics(void **state)
{
    rgmi_keeping keeping = {1, 0, 0, true};
    rgmi_kept_checkpoint checkpoints[] = {
        {.id = 4, .trial = 1, .step = 1, .metric = 1},
        {.id = 2, .trial = 2, .step = 1, .metric = 1}, /* the earlier id of equals */
        {.id = 5, .trial = 1, .step = 2, .metric = INFINITY},
        {.id = 6, .trial = 1, .step = 3, .metric = NAN},
    };

    (void)state;
    check_kept("2", &keeping, checkpoints, 4);
    keeping.experiment_best = 4;
    check_kept("4 2", &keeping, checkpoints, 4); /* what is not finite is never among the best */
    keeping = (rgmi_keeping){1, 0, 0, false};
    check_kept("2", &keeping, checkpoints, 4);
    keeping = (rgmi_keeping){0, 0, -1, true};
    CHECK_STATUS(RGM_ERR_ARG, rgmi_garbage(NULL, &keeping, checkpoints, 4));
    CHECK_MESSAGE("save_trial_latest -1");
}

/* The rule, read off the specification: ranks counted one by one. */
static bool goes(const rgmi_kept_checkpoint *all, int64_t n, int64_t i, const rgmi_keeping *k)
{
    int64_t experiment = 1, trial = 1, latest = 1;

    for (int64_t j = 0; j < n; j++) {
        double d =
            k->smaller_is_better ? all[j].metric - all[i].metric : all[i].metric - all[j].metric;
        bool better = d < 0 || (d == 0 && all[j].id < all[i].id) ||
                      (isnan(all[i].metric) && !isnan(all[j].metric));

        experiment += better;
        trial += better && all[j].trial == all[i].trial;
        latest += all[j].trial == all[i].trial && all[j].step > all[i].step;
    }
    return !all[i].is_needed && latest > k->trial_latest &&
           (isnan(all[i].metric) || (experiment > k->experiment_best && trial > k->trial_best));
}

static void random_experiments_follow_the_rule(void **state)
{
    rgm_rng rng = rgm_rng_stream(5, "checkpoints", 0);
    uint64_t at = 0;

    (void)state;
    for (int round = 0; round < 2000; round++) {
        rgmi_kept_checkpoint all[MOST];
        unsigned why[MOST];
        int64_t n = (int64_t)rgm_rng_below(&rng, at++, MOST), steps[8] = {0};
        rgmi_keeping keeping = {.smaller_is_better = rgm_rng_below(&rng, at++, 2) == 0};

        keeping.experiment_best = (int64_t)rgm_rng_below(&rng, at++, 6);
        keeping.trial_best = (int64_t)rgm_rng_below(&rng, at++, 4);
        keeping.trial_latest = (int64_t)rgm_rng_below(&rng, at++, 4);
        for (int64_t i = 0; i < n; i++) {
            int64_t trial = (int64_t)rgm_rng_below(&rng, at++, 8);
            bool has_metric = rgm_rng_below(&rng, at++, 4) > 0;

            all[i] = (rgmi_kept_checkpoint){.id = (i * 7) % 41, .trial = trial, .metric = NAN};
            all[i].step = ++steps[trial];
            all[i].is_needed = rgm_rng_below(&rng, at++, 12) == 0;
            if (has_metric)
                all[i].metric = (double)rgm_rng_below(&rng, at++, 6);
        }
        CHECK_OK(rgmi_garbage(why, &keeping, all, n));
        for (int64_t i = 0; i < n; i++)
            CHECK_INT(goes(all, n, i, &keeping), why[i] == 0);
    }
}

static void without_memory_nothing_is_said(void **state)
{
    static const rgmi_kept_checkpoint checkpoints[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
    static const rgmi_keeping keeping = {1, 1, 1, true};
    unsigned why[3];

    (void)state;
    CHECK_EVERY_OOM(rgmi_garbage(why, &keeping, checkpoints, 3), (void)0);
}

TESTS(cmocka_unit_test(case_31_one_trial_of_ten), cmocka_unit_test(case_32_two_trials),
      cmocka_unit_test(what_somebody_needs_stays), cmocka_unit_test(ties_and_odd_metrics),
      cmocka_unit_test(random_experiments_follow_the_rule),
      cmocka_unit_test(without_memory_nothing_is_said))
