/*
 * Schedules against values worked out by hand, and their reading from YAML.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

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

static rgm_schedule of(const char *name, double initial)
{
    const rgm_schedule_type *type = rgm_schedule_find(name);

    CHECK(type != NULL);
    return rgm_schedule_default(type, initial);
}

static void inverse_time_divides_by_a_growing_number(void **state)
{
    rgm_schedule s = of("inverse_time", 1);

    (void)state;
    s.decay_steps = 10;
    s.decay_rate = 0.5;
    CHECK(rgm_schedule_rate(&s, 0) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 10), 1 / 1.5, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 25), 1 / 2.25, 1e-15, 0);
    s.staircase = true;
    CHECK_CLOSE(rgm_schedule_rate(&s, 25), 0.5, 1e-15, 0);
}

static void stepwise_takes_a_value_up_to_and_with_its_boundary(void **state)
{
    static const int64_t boundaries[] = {10, 20};
    static const double values[] = {1, 0.5, 0.25};
    rgm_schedule s = of("stepwise", 0);

    (void)state;
    s.boundaries = (rgm_ints){boundaries, 2};
    s.values = (rgm_floats){values, 3};
    CHECK(rgm_schedule_rate(&s, 0) == 1 && rgm_schedule_rate(&s, 10) == 1);
    CHECK(rgm_schedule_rate(&s, 11) == 0.5 && rgm_schedule_rate(&s, 20) == 0.5);
    CHECK(rgm_schedule_rate(&s, 21) == 0.25 && rgm_schedule_rate(&s, 1000) == 0.25);
    s.offset = 100;
    CHECK(rgm_schedule_rate(&s, 110) == 1 && rgm_schedule_rate(&s, 111) == 0.5);
}

static void polynomial_goes_to_its_end_and_may_begin_anew(void **state)
{
    rgm_schedule s = of("polynomial", 1);

    (void)state;
    s.decay_steps = 10;
    s.end = 0.1;
    CHECK(rgm_schedule_rate(&s, 0) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 5), 0.55, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 10), 0.1, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 15), 0.1, 1e-15, 0);
    s.power = 2;
    CHECK_CLOSE(rgm_schedule_rate(&s, 5), 0.9 * 0.25 + 0.1, 1e-15, 0);
    s.power = 1;
    s.cycle = true;
    CHECK(rgm_schedule_rate(&s, 0) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 10), 0.1, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 15), 0.9 * 0.25 + 0.1, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 20), 0.1, 1e-15, 0);
}

static void powers_of_the_step(void **state)
{
    rgm_schedule s = rgm_schedule_power(2, -0.5);

    (void)state;
    CHECK(rgm_schedule_rate(&s, 0) == 2 && rgm_schedule_rate(&s, 1) == 2);
    CHECK_CLOSE(rgm_schedule_rate(&s, 4), 1, 1e-15, 0);
    s = of("power_linear", 2);
    s.decay_steps = 100;
    s.linear_decay_fraction = 0.5;
    CHECK_CLOSE(rgm_schedule_rate(&s, 4), 1, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 50), 2 / sqrt(50), 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 64), 2.0 / 8 * 36 / 50, 1e-15, 0);
    CHECK(rgm_schedule_rate(&s, 100) == 0 && rgm_schedule_rate(&s, 1000) == 0);
    s = of("power_with_offset", 2);
    s.offset = 10;
    CHECK(rgm_schedule_rate(&s, 0) == 2 && rgm_schedule_rate(&s, 11) == 2);
    CHECK_CLOSE(rgm_schedule_rate(&s, 14), 1, 1e-15, 0);
    s.pre_offset_rate = 0.5;
    CHECK(rgm_schedule_rate(&s, 10) == 0.5 && rgm_schedule_rate(&s, 14) == 0.5);
    CHECK_CLOSE(rgm_schedule_rate(&s, 110), 0.2, 1e-15, 0);
}

static void step_cosine_falls_between_its_boundaries_and_holds_the_last_value(void **state)
{
    static const int64_t boundaries[] = {0, 10, 30};
    static const double values[] = {1, 0.5, 0.1};
    rgm_schedule s = of("step_cosine_with_offset", 0);

    (void)state;
    s.boundaries = (rgm_ints){boundaries, 3};
    s.values = (rgm_floats){values, 3};
    s.offset = 5;
    CHECK(rgm_schedule_rate(&s, 0) == 1 && rgm_schedule_rate(&s, 5) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 10), 0.75, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 15), 0.5, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 25), 0.3, 1e-15, 0);
    CHECK(rgm_schedule_rate(&s, 35) == 0.1 && rgm_schedule_rate(&s, 1000000) == 0.1);
}

static void before_its_offset_a_schedule_stands_at_its_beginning(void **state)
{
    rgm_schedule s = rgm_schedule_exponential(1, 10, 0.5);

    (void)state;
    s.offset = 100;
    CHECK(rgm_schedule_rate(&s, 0) == 1 && rgm_schedule_rate(&s, 100) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 110), 0.5, 1e-15, 0);
}

static void linear_warmup_meets_the_schedule_which_sees_the_true_step(void **state)
{
    rgm_schedule s = rgm_schedule_cosine(1, 8);
    double met;

    (void)state;
    s.warmup = (rgm_warmup){.steps = 4, .start = 0.2, .power = 1};
    met = 0.5; /* half of the cosine has passed */
    CHECK(rgm_schedule_rate(&s, 0) == 0.2);
    CHECK_CLOSE(rgm_schedule_rate(&s, 1), 0.2 + (met - 0.2) / 4, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 3), 0.2 + (met - 0.2) * 3 / 4, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 4), met, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 8), 0, 0, 1e-15);
}

static void polynomial_warmup_begins_with_the_rate_of_step_one(void **state)
{
    rgm_schedule s = rgm_schedule_constant(2);

    (void)state;
    s.warmup = (rgm_warmup){.type = RGM_WARMUP_POLYNOMIAL, .steps = 10, .power = 2};
    CHECK_CLOSE(rgm_schedule_rate(&s, 0), 2 * 0.01, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 1), 2 * 0.01, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 5), 2 * 0.25, 1e-15, 0);
    CHECK(rgm_schedule_rate(&s, 10) == 2);
}

/* Vaswani et al. 2017 with the factor 2: published peaks of the model garden's configurations. */
static void power_with_warmup_peaks_where_the_transformer_does(void **state)
{
    rgm_schedule s = rgm_schedule_power(0.0625, -0.5);

    (void)state;
    s.warmup.steps = 16000;
    CHECK_CLOSE(rgm_schedule_rate(&s, 16000), 4.941059e-4, 1e-7, 0);
    CHECK(rgm_schedule_rate(&s, 0) == 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 8000), 4.941059e-4 / 2, 1e-7, 0);
    CHECK(rgm_schedule_rate(&s, 16001) < rgm_schedule_rate(&s, 16000));
    s.initial = 2 / sqrt(512);
    CHECK_CLOSE(rgm_schedule_rate(&s, 16000), 6.987713e-4, 1e-7, 0);
}

static void every_listed_schedule_is_found_by_its_name(void **state)
{
    int64_t count;
    const rgm_schedule_type *const *types = rgm_schedule_types(&count);

    (void)state;
    CHECK_INT(10, count);
    for (int64_t i = 0; i < count; i++)
        CHECK(rgm_schedule_find(types[i]->name) == types[i]);
    CHECK(rgm_schedule_find("zigzag") == NULL);
}

/* Options from `text`, which is the map `optimizer`. */
static rgm_status read_text(rgm_optimizer_options *options, const char *text, rgm_arena *arena)
{
    rgm_yaml *yaml = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "a.yaml"));
    RGM_GO(rgm_optimizer_options_read(options, rgm_yaml_root(yaml), NULL, arena));
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
    CHECK_OK(rgm_optimizer_options_read(&o, NULL, NULL, arena));
    CHECK_TEXT("adam", o.type->name);
    CHECK_OK(read_text(&o,
                       "{type: adam, learning_rate: 1e-2, weight_decay: 5e-4, "
                       "weight_decay_only: ['conv1*'], clip_global_norm: 1}",
                       arena));
    CHECK(o.learning_rate.initial == 1e-2 && o.weight_decay == 5e-4 && o.clip_global_norm == 1);
    CHECK(o.beta_1 == 0.9 && o.beta_2 == 0.999 && o.epsilon == 1e-7);
    CHECK_TEXT("conv1*", o.weight_decay_only.items[0]);
    CHECK_OK(read_text(&o, "{type: adamw}", arena));
    CHECK(o.weight_decay == 4e-3);
    CHECK_OK(read_text(&o,
                       "{type: sgd, momentum: 0.9, nesterov: true, learning_rate: {type: "
                       "exponential, initial: 0.5, decay_rate: 0.9, staircase: true}}",
                       arena));
    CHECK(o.momentum == 0.9 && o.nesterov);
    CHECK_TEXT("exponential", o.learning_rate.type->name);
    CHECK(o.learning_rate.initial == 0.5 && o.learning_rate.staircase);
    CHECK_OK(read_text(&o,
                       "{type: lamb, learning_rate: {type: stepwise, boundaries: [10, 20], values: "
                       "[1, 0.5, 0.25], warmup: {type: polynomial, steps: 5, power: 2}}, rates: "
                       "{conv*: 0.1, '*bias': 0}, layer_adaptation_except: [], average: {}}",
                       arena));
    CHECK(o.epsilon == 1e-6 && o.average.decay == 0.99 && o.average.dynamic);
    CHECK(o.layer_adaptation_except.items != NULL && o.layer_adaptation_except.count == 0);
    CHECK_INT(2, o.rates.count);
    CHECK(o.rates.values[0] == 0.1 && o.rates.values[1] == 0);
    CHECK(rgm_schedule_rate(&o.learning_rate, 15) == 0.5);
    CHECK_CLOSE(rgm_schedule_rate(&o.learning_rate, 2), 0.16, 1e-15, 0);
    CHECK_OK(read_text(&o, "{type: sgd, average: {decay: 0.9, dynamic: false}}", arena));
    CHECK(o.average.decay == 0.9 && !o.average.dynamic);
    CHECK_OK(read_text(&o, "{type: sgd, average: {decay: 0}}", arena));
    CHECK(o.average.decay == 0);
    rgm_arena_release(arena);
}

static void wrong_options_are_refused_with_their_place(void **state)
{
    static const char *const cases[][2] = {
        {"{learning_rate: 1}", "no 'type'"},
        {"{type: adan}", "did you mean 'adam'"},
        {"{type: zzzzzzzzz}", "there are sgd, adam, adamw, lamb"},
        {"{type: [adam]}", "should be a name"},
        {"[adam]", "should be a map"},
        {"{type: sgd, beta_1: 0.9}", "unknown key 'optimizer.beta_1'"},
        {"{type: adam, learning_rat: 1}", "did you mean 'optimizer.learning_rate'?"},
        {"{type: adam, beta_1: 1}", "'beta_1' is 1, but must be in [0, 1)"},
        {"{type: rmsprop, epsilon: 0}", "'epsilon' is 0, but must be above 0"},
        {"{type: sgd, rates: {a: -1}}", "'a' is -1, but must be at least 0"},
        {"{type: sgd, rates: 0.1}", "should be a map to numbers"},
        {"{type: sgd, average: {decay: 1}}", "'decay' is 1, but must be in [0, 1)"},
        {"{type: sgd, average: {deca: 0.9}}", "did you mean 'optimizer.average.decay'?"},
        {"{type: sgd, clip_norm: 2, clip_global_norm: 3}",
         "optimizer.clip_norm is 2 and optimizer.clip_global_norm is 3"},
        {"{type: adafactor, decay_rate: 2}", "'decay_rate' is 2, but must be in (0, 1]"},
        {"{type: adam, learning_rate: -1}", "must be at least 0"},
        {"{type: adam, learning_rate: [1]}", "should be a number or a map"},
        {"{type: adam, learning_rate: fast}", "should be a number"},
        {"{type: adam, learning_rate: {type: cosin}}", "did you mean 'cosine'?"},
        {"{type: adam, learning_rate: {type: cosine, decay_rate: 0.5}}",
         "unknown key 'optimizer.learning_rate.decay_rate'"},
        {"{type: adam, learning_rate: {type: exponential, decay_rate: 0}}",
         "'decay_rate' is 0, but must be in (0, 1]"},
        {"{type: adam, learning_rate: {type: zzz}}", "there are constant, stepwise,"},
        {"{type: adam, learning_rate: {type: [cosine]}}", "should be a name"},
        {"{type: adam, learning_rate: {type: stepwise, values: [1, 2]}}",
         "stepwise takes one value more than boundaries; there are 0 boundaries and 2 values"},
        {"{type: adam, learning_rate: {type: stepwise, boundaries: [3, 3], values: [1, 2, 3]}}",
         "should ascend, but 3 comes after 3"},
        {"{type: adam, learning_rate: {type: step_cosine_with_offset}}",
         "takes a value for each boundary"},
        {"{type: adam, learning_rate: {warmup: {step: 3}}}",
         "did you mean 'optimizer.learning_rate.warmup.steps'?"},
        {"{type: adam, learning_rate: {warmup: {type: polynomial, steps: 3, start: 1}}}",
         "only a linear warmup has a start"},
        {"{type: adam, learning_rate: {warmup: {steps: 3, power: 2}}}",
         "only a polynomial warmup has a power"},
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
    o.learning_rate.offset = 10;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_options_resolve(&o, 0));
    CHECK_OK(rgm_optimizer_options_resolve(&o, 110));
    CHECK_INT(100, o.learning_rate.decay_steps);
    CHECK_OK(rgm_optimizer_options_resolve(&o, 7));
    CHECK_INT(100, o.learning_rate.decay_steps);
    o.learning_rate.decay_steps = 0;
    CHECK_OK(rgm_optimizer_options_resolve(&o, 7));
    CHECK_INT(1, o.learning_rate.decay_steps);
}

/* What is said of a schedule in a run of `updates`; "" nothing, NULL an error. */
static const char *remark_on(const rgm_schedule *schedule, int64_t updates)
{
    static char kept[512];
    rgm_text text = {0};

    snprintf(kept, sizeof kept, "%s",
             rgm_schedule_check_run(&text, schedule, updates) != RGM_OK ? rgm_error_message()
             : text.size > 0                                            ? text.data
                                                                        : "");
    rgm_text_clear(&text);
    return kept;
}

static void a_schedule_that_would_learn_nothing_is_refused(void **state)
{
    rgm_schedule s = rgm_schedule_cosine(1, 60);

    (void)state;
    s.warmup.steps = 100;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_schedule_check_run(NULL, &s, 60));
    CHECK_MESSAGE("warmup.steps is 100, but must be below the update at which the decay ends (60): "
                  "the warmup would lead to the last rate, 0");
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_schedule_check_run(NULL, &s, 0));
    s.warmup.steps = 60;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_schedule_check_run(NULL, &s, 1000));
    s.warmup.steps = 59;
    CHECK_OK(rgm_schedule_check_run(NULL, &s, 60));
    s.offset = 41;
    s.warmup.steps = 100;
    CHECK_OK(rgm_schedule_check_run(NULL, &s, 101));
    s.decay_steps = 0; /* as long as the run, which is not known */
    CHECK_OK(rgm_schedule_check_run(NULL, &s, 0));
    s = rgm_schedule_constant(0);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_schedule_check_run(NULL, &s, 5));
    CHECK_MESSAGE("is 0 in each of the run's 5 updates");
    s = rgm_schedule_exponential(1, 10, 0.5); /* goes on behind decay_steps */
    s.warmup.steps = 20;
    CHECK_OK(rgm_schedule_check_run(NULL, &s, 100));
}

static void a_schedule_of_another_length_than_the_run_is_remarked(void **state)
{
    rgm_schedule s = rgm_schedule_cosine(1, 1000);

    (void)state;
    CHECK(strcmp(remark_on(&s, 1000), "") == 0);
    CHECK(strcmp(remark_on(&s, 501), "") == 0);
    CHECK(strstr(remark_on(&s, 500), "decays until update 1000, but the run has 500") != NULL);
    CHECK(strcmp(remark_on(&s, 1001), "") == 0);
    CHECK(strstr(remark_on(&s, 1200), "is 0 from update 1000 on: the last 200 of the run's 1200") !=
          NULL);
    s.floor = 0.1;
    CHECK(strcmp(remark_on(&s, 5000), "") == 0);
    s.warmup.steps = 30;
    CHECK(strstr(remark_on(&s, 30), "the run has 30 updates: it ends before its warmup") != NULL);
    s = rgm_schedule_power(1, -0.5);
    CHECK(strcmp(remark_on(&s, 5), "") == 0);
}

/* PyTorch's MultiStepLR(milestones=[2, 3]), StepLR(2) and CosineAnnealingLR(4), stepped behind each
 * epoch of 5 updates. */
static void by_epochs_the_rate_moves_at_their_ends_alone(void **state)
{
    static const int64_t bounds[] = {2, 3};
    static const double rates[] = {1, 0.1, 0.01};
    rgm_schedule s = of("stepwise", 0);

    (void)state;
    s.boundaries = (rgm_ints){bounds, 2};
    s.values = (rgm_floats){rates, 3};
    s.unit = RGM_UNIT_EPOCHS;
    s.epoch_updates = 5;
    for (int64_t i = 0; i < 30; i++) {
        CHECK(rgm_schedule_rate(&s, i) == (i < 10 ? 1 : i < 15 ? 0.1 : 0.01));
        CHECK_INT(i / 5, rgm_schedule_epochs(&s, i));
    }
    s = rgm_schedule_exponential(1, 2, 0.5);
    s.staircase = true;
    s.unit = RGM_UNIT_EPOCHS;
    s.epoch_updates = 5;
    CHECK(rgm_schedule_rate(&s, 9) == 1 && rgm_schedule_rate(&s, 10) == 0.5);
    CHECK(rgm_schedule_rate(&s, 19) == 0.5 && rgm_schedule_rate(&s, 20) == 0.25);
    s = rgm_schedule_cosine(1, 4);
    s.unit = RGM_UNIT_EPOCHS;
    s.epoch_updates = 5;
    CHECK(rgm_schedule_rate(&s, 4) == 1);
    CHECK_CLOSE(rgm_schedule_rate(&s, 5), (1 + sqrt(0.5)) / 2, 1e-15, 0);
    CHECK_CLOSE(rgm_schedule_rate(&s, 14), 0.5, 1e-15, 0);
    s.warmup.steps = 4; /* of updates */
    CHECK(rgm_schedule_rate(&s, 1) == 0.25 && rgm_schedule_rate(&s, 4) == 1);
}

/* A pass of 7 batches, 2 of them an update: epochs end behind 3.5 updates. */
static void an_epoch_need_not_be_whole_updates(void **state)
{
    rgm_optimizer_options o = rgm_adam(1);
    rgm_schedule *s = &o.learning_rate;

    (void)state;
    *s = rgm_schedule_cosine(1, 0);
    s->unit = RGM_UNIT_EPOCHS;
    CHECK_INT(-1, rgm_schedule_epochs(s, 3));
    CHECK_OK(rgm_optimizer_options_resolve(&o, 14)); /* nothing is known yet */
    CHECK_INT(0, s->decay_steps);
    CHECK_OK(rgm_schedule_check_run(NULL, s, 14));
    s->pass_batches = 7;
    s->update_batches = 2;
    CHECK_INT(0, rgm_schedule_epochs(s, 3));
    CHECK_INT(1, rgm_schedule_epochs(s, 4));
    CHECK_INT(1, rgm_schedule_epochs(s, 6));
    CHECK_INT(2, rgm_schedule_epochs(s, 7));
    CHECK_INT(2 * (INT64_MAX / 8) / 7, rgm_schedule_epochs(s, INT64_MAX / 8));
    CHECK_OK(rgm_optimizer_options_resolve(&o, 14));
    CHECK_INT(4, s->decay_steps);
    CHECK(strstr(remark_on(s, 7), "decays until update 14, but the run has 7") != NULL);
    CHECK(strstr(remark_on(s, 20), "is 0 from update 14 on") != NULL);
}

TESTS(cmocka_unit_test(a_constant_rate_never_changes),
      cmocka_unit_test(cosine_goes_from_peak_to_floor_and_stays),
      cmocka_unit_test(exponential_decays_by_its_factor_each_period),
      cmocka_unit_test(inverse_time_divides_by_a_growing_number),
      cmocka_unit_test(stepwise_takes_a_value_up_to_and_with_its_boundary),
      cmocka_unit_test(polynomial_goes_to_its_end_and_may_begin_anew),
      cmocka_unit_test(powers_of_the_step),
      cmocka_unit_test(step_cosine_falls_between_its_boundaries_and_holds_the_last_value),
      cmocka_unit_test(before_its_offset_a_schedule_stands_at_its_beginning),
      cmocka_unit_test(linear_warmup_meets_the_schedule_which_sees_the_true_step),
      cmocka_unit_test(polynomial_warmup_begins_with_the_rate_of_step_one),
      cmocka_unit_test(power_with_warmup_peaks_where_the_transformer_does),
      cmocka_unit_test(every_listed_schedule_is_found_by_its_name),
      cmocka_unit_test(options_are_read_with_their_types_defaults),
      cmocka_unit_test(wrong_options_are_refused_with_their_place),
      cmocka_unit_test(decay_steps_come_from_the_length_of_the_run),
      cmocka_unit_test(a_schedule_that_would_learn_nothing_is_refused),
      cmocka_unit_test(a_schedule_of_another_length_than_the_run_is_remarked),
      cmocka_unit_test(by_epochs_the_rate_moves_at_their_ends_alone),
      cmocka_unit_test(an_epoch_need_not_be_whole_updates))
