/*
 * Schedules against values worked out by hand, and their reading from YAML.
 */
#include "check.h"

#include <regimen/optim.h>

static void a_constant_rate_never_changes(void **state)
{
    rgm_schedule s = rgm_schedule_constant(0.01);

    (void)state;
    CHECK(rgm_schedule_rate(&s, 0) == 0.01);
    CHECK(rgm_schedule_rate(&s, INT64_C(1) << 40) == 0.01);
}

static void cosine_goes_from_peak_to_floor_and_stays(void **state)
{
    rgm_schedule s = rgm_schedule_cosine(2, 100);

    (void)state;
    s.floor = 0.1;
    CHECK(rgm_schedule_rate(&s, 0) == 2);
    CHECK_CLOSE(rgm_schedule_rate(&s, 50), 2 * (0.1 + 0.9 / 2), 1e-15, 0);
    /* cos(pi / 3) = 1/2 would be at a third; a quarter gives (1 + sqrt(1/2)) / 2. */
    CHECK_CLOSE(rgm_schedule_rate(&s, 25), 2 * (0.1 + 0.9 * (1 + sqrt(0.5)) / 2), 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 100), 0.2, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 100000), 0.2, 1e-15, 0);
}

static void exponential_decays_by_its_factor_each_period(void **state)
{
    rgm_schedule s = rgm_schedule_exponential(1, 10, 0.5);

    (void)state;
    CHECK(rgm_schedule_rate(&s, 0) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 10), 0.5, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 15), 0.5 * sqrt(0.5), 1e-15, 0);
    s.staircase = true;
    CHECK_CLOSE(rgm_schedule_rate(&s, 15), 0.5, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 39), 0.125, 1e-15, 0);
}

static void warmup_is_linear_and_the_decay_counts_from_its_end(void **state)
{
    rgm_schedule s = rgm_schedule_cosine(1, 100);

    (void)state;
    s.warmup_steps = 4;
    s.warmup_start = 0.2;
    CHECK(rgm_schedule_rate(&s, 0) == 0.2);
    CHECK_CLOSE(rgm_schedule_rate(&s, 1), 0.4, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 3), 0.8, 1e-15, 0);
    CHECK(rgm_schedule_rate(&s, 4) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 54), 0.5, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 104), 0, 0, 1e-15);
}

/* Options from `text`, which is the map `optimizer`. */
static rgm_status read_text(rgm_optimizer_options *options, const char *text, rgm_arena *arena)
{
    rgm_yaml *yaml = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "a.yaml"));
    RGM_GO(rgm_optimizer_options_read(options, rgm_yaml_root(yaml), arena));
done:
    rgm_yaml_release(yaml);
    return status;
}

static void options_are_read_with_their_types_defaults(void **state)
{
    rgm_optimizer_options o;
    rgm_arena *arena = NULL;

    (void)state;
    CHECK_OK(rgm_arena_create(&arena));
    CHECK_OK(rgm_optimizer_options_read(&o, NULL, arena));
    CHECK_TEXT("adam", o.type->name);
    CHECK_OK(read_text(&o,
                       "{type: adam, learning_rate: 1e-2, weight_decay: 5e-4, "
                       "weight_decay_only: ['conv1*'], clip_norm: 1}",
                       arena));
    CHECK(o.learning_rate.peak == 1e-2 && o.weight_decay == 5e-4 && o.clip_norm == 1);
    CHECK(o.beta_1 == 0.9 && o.beta_2 == 0.999 && o.epsilon == 1e-7);
    CHECK_TEXT("conv1*", o.weight_decay_only.items[0]);
    CHECK_OK(read_text(&o, "{type: adamw}", arena));
    CHECK(o.weight_decay == 4e-3);
    CHECK_OK(read_text(&o,
                       "{type: sgd, momentum: 0.9, nesterov: true, learning_rate: {type: "
                       "exponential, peak: 0.5, decay_rate: 0.9, staircase: true}}",
                       arena));
    CHECK(o.momentum == 0.9 && o.nesterov);
    CHECK_INT(RGM_SCHEDULE_EXPONENTIAL, o.learning_rate.type);
    CHECK(o.learning_rate.peak == 0.5 && o.learning_rate.staircase);
    rgm_arena_release(arena);
}

static void wrong_options_are_refused_with_their_place(void **state)
{
    static const char *const cases[][2] = {
        {"{learning_rate: 1}", "no 'type'"},
        {"{type: adan}", "did you mean 'adam'"},
        {"{type: zzzzzzzzz}", "there are sgd, adam and adamw"},
        {"{type: [adam]}", "should be a name"},
        {"[adam]", "should be a map"},
        {"{type: sgd, beta_1: 0.9}", "unknown key 'optimizer.beta_1'"},
        {"{type: adam, learning_rat: 1}", "did you mean 'optimizer.learning_rate'?"},
        {"{type: adam, beta_1: 1}", "optimizer.beta_1 is 1, but must be in [0, 1)"},
        {"{type: adam, learning_rate: -1}", "must be at least 0"},
        {"{type: adam, learning_rate: [1]}", "should be a number or a map"},
        {"{type: adam, learning_rate: fast}", "should be a number"},
        {"{type: adam, learning_rate: {type: cosin}}", "did you mean 'cosine'?"},
        {"{type: adam, learning_rate: {type: cosine, decay_rate: 0.5}}",
         "unknown key 'optimizer.learning_rate.decay_rate'"},
        {"{type: adam, learning_rate: {type: exponential, decay_rate: 0}}", "decay_rate is 0"},
        {"{type: sgd, nesterov: true}", "nesterov needs a momentum"},
    };
    rgm_optimizer_options o;
    rgm_arena *arena = NULL;

    (void)state;
    CHECK_OK(rgm_arena_create(&arena));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_STATUS(RGM_ERR_CONFIG, read_text(&o, cases[i][0], arena));
        CHECK_MESSAGE(cases[i][1]);
        CHECK_MESSAGE("a.yaml:1:");
    }
    rgm_arena_release(arena);
}

static void decay_steps_come_from_the_length_of_the_run(void **state)
{
    rgm_optimizer_options o = rgm_adam(1);

    (void)state;
    CHECK_OK(rgm_optimizer_options_resolve(&o, 0));
    o.learning_rate = rgm_schedule_cosine(1, 0);
    o.learning_rate.warmup_steps = 10;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_options_resolve(&o, 0));
    CHECK_OK(rgm_optimizer_options_resolve(&o, 110));
    CHECK_INT(100, o.learning_rate.decay_steps);
    CHECK_OK(rgm_optimizer_options_resolve(&o, 7));
    CHECK_INT(100, o.learning_rate.decay_steps);
    o.learning_rate.decay_steps = 0;
    CHECK_OK(rgm_optimizer_options_resolve(&o, 7));
    CHECK_INT(1, o.learning_rate.decay_steps);
}

TESTS(cmocka_unit_test(a_constant_rate_never_changes),
      cmocka_unit_test(cosine_goes_from_peak_to_floor_and_stays),
      cmocka_unit_test(exponential_decays_by_its_factor_each_period),
      cmocka_unit_test(warmup_is_linear_and_the_decay_counts_from_its_end),
      cmocka_unit_test(options_are_read_with_their_types_defaults),
      cmocka_unit_test(wrong_options_are_refused_with_their_place),
      cmocka_unit_test(decay_steps_come_from_the_length_of_the_run))
