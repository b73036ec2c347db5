/*
 * The next token: what is left of the logits is what Transformers leaves, and a draw takes the
 * token in whose share of the probabilities it lies.
 */
#include <check.h>
#include <float.h>

#include <regimen/sequence_generate.h>

#include "sampling_reference.h"

enum { TOKENS = 12, BEFORE = 6, DRAWS = 997 };

static rgm_generate_options options_of(size_t i)
{
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;

    o.temperature = sampling_reference[i].temperature;
    o.top_k = sampling_reference[i].top_k;
    o.top_p = sampling_reference[i].top_p;
    o.min_p = sampling_reference[i].min_p;
    o.repetition_penalty = sampling_reference[i].penalty;
    return o;
}

/* The token in whose share a draw lies; -1: too near to a border to tell. */
static int64_t token_at(const double *shares, double draw)
{
    double sum = 0;

    for (int64_t id = 0; id < TOKENS; id++) {
        sum += shares[id];
        if (shares[id] > 0 && fabs(draw - sum) < 1e-6)
            return -1;
        if (draw < sum)
            return id;
    }
    return -1;
}

static void what_is_left_is_what_transformers_leaves(void **state)
{
    rgm_token_sampler *sampler;

    (void)state;
    CHECK_OK(rgm_token_sampler_create(&sampler, TOKENS));
    for (size_t i = 0; i < sizeof sampling_reference / sizeof *sampling_reference; i++) {
        rgm_generate_options o = options_of(i);

        for (int k = 0; k < DRAWS; k++) {
            double draw = (k + 0.5) / DRAWS;
            int64_t want = token_at(sampling_reference[i].left, draw);
            int32_t id;

            CHECK_OK(rgm_token_sampler_draw(&id, sampler, sampling_reference[i].logits, &o,
                                            sampling_reference[i].before, BEFORE, draw));
            if (want >= 0 && want != id)
                fail_msg("case %zu, draw %g: token %d, expected %lld", i, draw, id,
                         (long long)want);
        }
    }
    rgm_token_sampler_release(sampler);
}

static void temperature_zero_takes_the_best(void **state)
{
    static const float logits[4] = {1, 3, 3, -2};
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    rgm_token_sampler *sampler;
    int32_t id;

    (void)state;
    o.temperature = 0;
    CHECK_OK(rgm_token_sampler_create(&sampler, 4));
    CHECK_OK(rgm_token_sampler_draw(&id, sampler, logits, &o, NULL, 0, 0.99));
    CHECK_INT(1, id); /* of two that are as good the smaller id */
    o.repetition_penalty = 2;
    CHECK_OK(rgm_token_sampler_draw(&id, sampler, logits, &o, (const int32_t[]){1, 1}, 2, 0));
    CHECK_INT(2, id);
    rgm_token_sampler_release(sampler);
}

/* Logits over 1e-310 are infinite, and their differences no numbers. */
static void temperature_near_zero_takes_the_best(void **state)
{
    static const float logits[2][4] = {{1, 3, 2, -2}, {-7, -3, -4, -9}};
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    rgm_token_sampler *sampler;
    int32_t id;

    (void)state;
    CHECK_OK(rgm_token_sampler_create(&sampler, 4));
    for (int i = 0; i < 2; i++)
        for (o.temperature = 1e-310; o.temperature < 1e-3; o.temperature *= 1e100) {
            CHECK_OK(rgm_token_sampler_draw(&id, sampler, logits[i], &o, NULL, 0, 0.99));
            CHECK_INT(1, id);
        }
    rgm_token_sampler_release(sampler);
}

/* However large logits are: what is infinite then is said to be broken weights. */
static void penalties_within_bounds_keep_logits_finite(void **state)
{
    static const float logits[4] = {1, 0x1p127f, FLT_MAX, -FLT_MAX};
    static const int32_t before[4] = {0, 1, 2, 3};
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    rgm_token_sampler *sampler;
    int32_t id;

    (void)state;
    o.temperature = 0;
    CHECK_OK(rgm_token_sampler_create(&sampler, 4));
    for (o.repetition_penalty = 1e-6; o.repetition_penalty <= 1e6; o.repetition_penalty *= 1e6) {
        CHECK_OK(rgm_options_check(&o, rgm_generate_fields, "task.generate"));
        CHECK_OK(rgm_token_sampler_draw(&id, sampler, logits, &o, before, 4, 0));
        CHECK_INT(2, id);
    }
    rgm_token_sampler_release(sampler);
}

/* Equal logits at the border of top_k all stay, as torch.topk's threshold keeps them. */
static void ties_at_the_border_stay(void **state)
{
    static const float logits[4] = {1, 2, 1, 0};
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    rgm_token_sampler *sampler;
    bool seen[4] = {false};
    int32_t id;

    (void)state;
    o.top_k = 2;
    CHECK_OK(rgm_token_sampler_create(&sampler, 4));
    for (int k = 0; k < 100; k++) {
        CHECK_OK(rgm_token_sampler_draw(&id, sampler, logits, &o, NULL, 0, k / 100.0));
        seen[id] = true;
    }
    CHECK(seen[0] && seen[1] && seen[2] && !seen[3]);
    rgm_token_sampler_release(sampler);
}

static void broken_logits_are_told(void **state)
{
    float logits[3] = {1, NAN, 2};
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    rgm_token_sampler *sampler = NULL;
    int32_t id;

    (void)state;
    CHECK_EVERY_OOM(rgm_token_sampler_create(&sampler, 3), rgm_token_sampler_release(sampler));
    CHECK_OK(rgm_token_sampler_create(&sampler, 3));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_token_sampler_draw(&id, sampler, logits, &o, NULL, 0, 0.5));
    CHECK_MESSAGE("the logit of token 1 is nan");
    logits[0] = logits[1] = logits[2] = -INFINITY;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_token_sampler_draw(&id, sampler, logits, &o, NULL, 0, 0.5));
    CHECK_MESSAGE("no token has a finite logit");
    rgm_token_sampler_release(sampler);
}

/* A batch of no texts would never end. */
static void options_out_of_bounds_are_told(void **state)
{
    rgm_generate_options o = RGM_GENERATE_OPTIONS_INIT;
    const int32_t prompt[1] = {0}, *prompts = prompt;
    const int64_t length = 1;
    rgm_generated out;

    (void)state;
    o.batch_size = 0;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_generate(&out, NULL, NULL, &prompts, &length, 1, &o));
    CHECK_MESSAGE("task.generate.batch_size is 0");
    o = (rgm_generate_options)RGM_GENERATE_OPTIONS_INIT;
    o.top_p = NAN;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_generate(&out, NULL, NULL, &prompts, &length, 1, &o));
    CHECK_MESSAGE("task.generate.top_p is");
    o = (rgm_generate_options)RGM_GENERATE_OPTIONS_INIT;
    o.repetition_penalty = 1e-310; /* a logit divided by it is infinite */
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_generate(&out, NULL, NULL, &prompts, &length, 1, &o));
    CHECK_MESSAGE("task.generate.repetition_penalty is 1e-310");
    CHECK(out.ids == NULL);
}

TESTS(cmocka_unit_test(what_is_left_is_what_transformers_leaves),
      cmocka_unit_test(temperature_zero_takes_the_best),
      cmocka_unit_test(temperature_near_zero_takes_the_best),
      cmocka_unit_test(penalties_within_bounds_keep_logits_finite),
      cmocka_unit_test(ties_at_the_border_stay), cmocka_unit_test(broken_logits_are_told),
      cmocka_unit_test(options_out_of_bounds_are_told))
