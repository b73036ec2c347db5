/*
 * Updates on a device whose memory is not the host's: the bits of the CPU by every optimizer, a
 * number of waits that does not depend on the number of parameters, and no copy but of numbers.
 */
#include "far_device_check.h"
#include <regimen/device_tensor.h>
#include <regimen/optim.h>

#define ROWS    70
#define COLUMNS 41

/* A row of each type, with every slot it can have and each kind of clipping. */
static const char *const rows[] = {
    "{type: sgd, learning_rate: 0.1}",
    "{type: sgd, momentum: 0.9, nesterov: true, average: {decay: 0.9, start_step: 2}}",
    "{type: adam, weight_decay: 0.01, average: {decay: 0.9}}",
    "{type: adam, amsgrad: true, clip_value: 0.5, clip_norm: 2, average: {decay: 0.9}}",
    "{type: adamw, clip_value: 0.5, clip_global_norm: 2, rates: {bias: 0.5}}",
    "{type: lamb, weight_decay: 0.01, average: {decay: 0.9, dynamic: false}}",
    "{type: lamb, clip_value: 0.5, layer_adaptation_except: [bias]}",
    "{type: lars, classic_momentum: false, learning_rate: 5, average: {start_step: 12}}",
    "{type: lars, weight_decay: 0.1, clip_global_norm: 3, learning_rate: 5, average: {}}",
    "{type: rmsprop, centered: true, momentum: 0.9, average: {}}",
    "{type: adagrad, rates: {bias: 0}}",
    "{type: adafactor, min_dim_size_to_factor: 40, beta_1: 0.9, weight_decay: 0.1, average: {}}",
    "{type: adafactor, factored: false, multiply_by_parameter_scale: false, clip_norm: 1}",
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

/* "kernel" [ROWS, COLUMNS], "bias" [7], "empty" [0] and the state "seen" [2], with an optimizer. */
enum { TENSORS = 4 };
typedef struct problem {
    rgm_cgraph *graph;
    rgm_parameters *parameters;
    rgm_tensor *gradients[TENSORS], *there[TENSORS]; /* the host's; what the optimizer gets */
    rgm_arena *arena;
    rgm_optimizer *optimizer;
    rgm_device *device;
} problem;

static rgm_optimizer_options options_of(problem *x, const char *text)
{
    rgm_optimizer_options options;
    rgm_yaml *yaml;

    CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "a.yaml"));
    CHECK_OK(rgm_optimizer_options_read(&options, rgm_yaml_root(yaml), NULL, x->arena));
    rgm_yaml_release(yaml);
    return options;
}

static void open_problem(problem *x, rgm_device *device, rgm_dtype dtype, const char *row)
{
    static const int64_t kernel[] = {ROWS, COLUMNS}, bias = 7, empty = 0, seen = 2;
    const rgm_init init = {RGM_INIT_NORMAL, 1};

    *x = (problem){.device = device};
    CHECK_OK(rgm_arena_create(&x->arena));
    CHECK_OK(rgm_cgraph_create(&x->graph));
    CHECK(rgm_parameter(x->graph, "kernel", dtype, 2, kernel, init) != NULL);
    CHECK(rgm_parameter(x->graph, "bias", dtype, 1, &bias, init) != NULL);
    CHECK(rgm_parameter(x->graph, "empty", dtype, 1, &empty, init) != NULL);
    CHECK(rgm_state(x->graph, "seen", dtype, 1, &seen, init) != NULL);
    CHECK_OK(rgm_parameters_create(&x->parameters, x->graph, 3));
    for (int i = 0; i < TENSORS; i++) {
        const rgm_tensor *w = rgm_parameters_form(x->parameters, i);
        int rank = rgm_tensor_rank(w);

        CHECK_OK(rgm_tensor_create(&x->gradients[i], dtype, rank, rgm_tensor_shape(w)));
        CHECK_OK(rgm_device_tensor_create(&x->there[i], device, dtype, rank, rgm_tensor_shape(w)));
    }
    if (row == NULL)
        return;
    rgm_optimizer_options options = options_of(x, row);
    CHECK_OK(rgm_optimizer_create(&x->optimizer, &options, x->parameters));
}

static void shut_problem(problem *x)
{
    rgm_optimizer_release(x->optimizer);
    for (int i = 0; i < TENSORS; i++) {
        rgm_tensor_release(x->gradients[i]);
        rgm_tensor_release(x->there[i]);
    }
    rgm_parameters_release(x->parameters);
    rgm_cgraph_release(x->graph);
    rgm_arena_release(x->arena);
}

/* Other numbers in each step, now and then with large ones; on the problem's device. */
static void draw_gradients(problem *x, int step)
{
    for (int i = 0; i < TENSORS; i++) {
        rgm_rng rng = rgm_rng_stream(7, "gradient", (uint64_t)(step * TENSORS + i));

        for (int64_t k = 0; k < rgm_tensor_count(x->gradients[i]); k++)
            rgm_dtype_put((char *)rgm_tensor_data(x->gradients[i]) +
                              (size_t)k * rgm_dtype_size(rgm_tensor_dtype(x->gradients[i])),
                          rgm_tensor_dtype(x->gradients[i]),
                          (step % 3 == 2 ? 3 : 0.1) * rgm_rng_normal(&rng, (uint64_t)k));
        CHECK_OK(rgm_device_tensor_set(x->there[i], x->gradients[i]));
    }
}

static rgm_status take_step(problem *x, int step)
{
    draw_gradients(x, step);
    return rgm_optimizer_step(x->optimizer, x->parameters, x->there, step);
}

static void check_same(const char *what, const problem *a, const problem *b)
{
    CHECK_OK(rgm_parameters_to_host(b->parameters));
    CHECK_OK(rgm_optimizer_to_host(b->optimizer));
    for (int i = 0; i < TENSORS; i++)
        if (!rgm_tensor_equal(rgm_parameters_read(a->parameters, i),
                              rgm_parameters_read(b->parameters, i)))
            fail_msg("%s: %s differs", what, rgm_parameters_name(a->parameters, i));
    for (int64_t i = 0; i < rgm_optimizer_slot_count(a->optimizer); i++)
        if (!rgm_tensor_equal(rgm_optimizer_slot(a->optimizer, i).tensor,
                              rgm_optimizer_slot(b->optimizer, i).tensor))
            fail_msg("%s: %s differs", what, rgm_optimizer_slot(a->optimizer, i).name);
    CHECK(rgm_optimizer_gradient_norm(a->optimizer) == rgm_optimizer_gradient_norm(b->optimizer));
    CHECK(rgm_optimizer_parameter_norm(a->optimizer, 0) ==
          rgm_optimizer_parameter_norm(b->optimizer, 0));
}

/* Steps, an exchange with the averages, and steps again; what is read in between changes nothing.
 */
static void walk(rgm_dtype dtype, const char *row)
{
    problem here, there;

    open_problem(&here, rgm_device_cpu(), dtype, row);
    open_problem(&there, far.device, dtype, row);
    for (int step = 0; step < 8; step++) {
        CHECK_OK(take_step(&here, step));
        CHECK_OK(take_step(&there, step));
        if (step == 4) {
            CHECK_OK(rgm_optimizer_averages_swap(here.optimizer, here.parameters));
            CHECK_OK(rgm_optimizer_averages_swap(there.optimizer, there.parameters));
            check_same(row, &here, &there);
            CHECK_OK(rgm_optimizer_averages_swap(here.optimizer, here.parameters));
            CHECK_OK(rgm_optimizer_averages_swap(there.optimizer, there.parameters));
        }
    }
    check_same(row, &here, &there);
    rgm_optimizer_averages_reset(here.optimizer, here.parameters);
    rgm_optimizer_averages_reset(there.optimizer, there.parameters);
    CHECK_OK(take_step(&here, 8));
    CHECK_OK(take_step(&there, 8));
    check_same(row, &here, &there);
    shut_problem(&here);
    shut_problem(&there);
}

static void every_optimizer_has_the_bits_of_the_cpu(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROW_COUNT; r++) {
        walk(RGM_F32, rows[r]);
        walk(RGM_F64, rows[r]);
    }
}

/* Three parameters that move, one wait for the norms of their gradients, one behind the update,
 * one more where the norm is taken anew behind clip_value and one for norms of directions. */
static void a_step_waits_for_norms_and_copies_nothing_else(void **state)
{
    static const int waits[ROW_COUNT] = {2, 2, 2, 3, 3, 3, 3, 3, 3, 2, 2, 3, 3};
    problem x;

    (void)state;
    for (size_t r = 0; r < ROW_COUNT; r++) {
        int64_t moving = strstr(rows[r], "bias: 0}") != NULL ? 2 : 3, numbers = waits[r] * moving;

        if (strstr(rows[r], "lamb") || strstr(rows[r], "lars") || strstr(rows[r], "adafactor"))
            numbers += moving; /* two for each direction */
        open_problem(&x, far.device, RGM_F32, rows[r]);
        CHECK_OK(take_step(&x, 0));
        for (int step = 1; step < 4; step++) {
            draw_gradients(&x, step);
            int64_t copied = far.copied, waited = far.waits;
            CHECK_OK(rgm_optimizer_step(x.optimizer, x.parameters, x.there, step));
            CHECK_INT(waited + waits[r], far.waits);
            CHECK_INT(copied + numbers * (int64_t)sizeof(double), far.copied);
        }
        shut_problem(&x);
    }
}

/* Gradients of the host go to the weights on the device, and weights go to the gradients. */
static void gradients_may_lie_elsewhere(void **state)
{
    problem here, there;

    (void)state;
    open_problem(&here, rgm_device_cpu(), RGM_F32, rows[3]);
    open_problem(&there, far.device, RGM_F32, rows[3]);
    for (int step = 0; step < 6; step++) {
        CHECK_OK(take_step(&here, step));
        draw_gradients(&there, step);
        CHECK_OK(rgm_optimizer_step(there.optimizer, there.parameters,
                                    step % 2 == 1 ? there.gradients : there.there, step));
        check_same("mixed", &here, &there);
    }
    rgm_tensor *mixed[TENSORS] = {there.gradients[0], there.there[1]};
    rgm_tensor *same[TENSORS] = {here.gradients[0], here.there[1]};
    CHECK_OK(rgm_optimizer_step(here.optimizer, here.parameters, same, 6));
    CHECK_OK(rgm_optimizer_step(there.optimizer, there.parameters, mixed, 6));
    check_same("one of each", &here, &there);
    shut_problem(&here);
    shut_problem(&there);
}

/* A row of a program's own that touches elements gets those of the host. */
static int plain_slots(rgm_slot *slots, const rgm_optimizer_options *options, const rgm_tensor *w)
{
    (void)slots, (void)options, (void)w;
    return 0;
}

static void plain_step(const rgm_update *u)
{
    for (int64_t i = 0; i < u->count; i++)
        ((float *)u->w)[i] -= (float)u->rate * ((const float *)u->gradient)[i];
}

static void a_row_that_touches_elements_works_on_the_host(void **state)
{
    static const rgm_optimizer_type plain = {
        .name = "plain", .fields = rgm_optimizer_fields, .slots = plain_slots, .step = plain_step};
    problem here, there;

    (void)state;
    open_problem(&here, rgm_device_cpu(), RGM_F32, NULL);
    open_problem(&there, far.device, RGM_F32, NULL);
    rgm_optimizer_options options = rgm_optimizer_default(&plain, 0.1);
    options.average.decay = 0.5;
    CHECK_OK(rgm_optimizer_create(&here.optimizer, &options, here.parameters));
    CHECK_OK(rgm_optimizer_create(&there.optimizer, &options, there.parameters));
    for (int step = 0; step < 3; step++) {
        void *address; /* as an executor does */
        for (int i = 0; i < TENSORS; i++)
            CHECK_OK(rgm_parameters_on(&address, there.parameters, i, far.device, false));
        CHECK_OK(take_step(&here, step));
        CHECK_OK(take_step(&there, step));
    }
    check_same("plain", &here, &there);
    shut_problem(&here);
    shut_problem(&there);
}

/* ---- what goes wrong ----------------------------------------------------------------------- */

static void what_is_no_number_is_told_as_on_the_cpu(void **state)
{
    char message[2][256];

    (void)state;
    for (int i = 0; i < 2; i++) {
        problem x;

        open_problem(&x, i == 0 ? rgm_device_cpu() : far.device, RGM_F32, rows[5]);
        CHECK_OK(take_step(&x, 0));
        rgm_tensor_f32(x.gradients[1])[3] = NAN;
        CHECK_OK(rgm_device_tensor_set(x.there[1], x.gradients[1]));
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_optimizer_step(x.optimizer, x.parameters, x.there, 1));
        CHECK_MESSAGE("the gradient of 'bias' has a NaN or infinity at step 1");
        CHECK(!rgm_optimizer_is_spoiled(x.optimizer));
        CHECK_OK(take_step(&x, 1));
        rgm_tensor_f32(x.gradients[0])[3] = 1e30f;
        CHECK_OK(rgm_device_tensor_set(x.there[0], x.gradients[0]));
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_optimizer_step(x.optimizer, x.parameters, x.there, 2));
        snprintf(message[i], sizeof message[i], "%s", rgm_error_message());
        CHECK(rgm_optimizer_is_spoiled(x.optimizer));
        shut_problem(&x);
        open_problem(&x, i == 0 ? rgm_device_cpu() : far.device, RGM_F32, rows[0]);
        rgm_tensor_f32(rgm_parameters_tensor(x.parameters, 1))[2] = 3e38f;
        draw_gradients(&x, 0);
        rgm_tensor_f32(x.gradients[1])[2] = -3e38f;
        CHECK_OK(rgm_device_tensor_set(x.there[1], x.gradients[1]));
        rgm_optimizer_reduce_rate(x.optimizer, 1, 1);
        CHECK_OK(rgm_optimizer_step(x.optimizer, x.parameters, x.there, 0)); /* large, but finite */
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_optimizer_step(x.optimizer, x.parameters, x.there, 1));
        CHECK_MESSAGE("the update of 'bias' overflows");
        shut_problem(&x);
    }
    CHECK_TEXT(message[0], message[1]);
}

/* Before the update nothing has moved; behind it nobody knows how much has. */
static void an_update_that_breaks_off_is_spoiled(void **state)
{
    (void)state;
    for (int copy = 1; copy < 3; copy++) {
        problem x;

        open_problem(&x, far.device, RGM_F32, rows[0]);
        draw_gradients(&x, 0);
        far.breaks = copy; /* of the gradients' norms, and of what the weights have become */
        CHECK_STATUS(RGM_ERR_NOMEM, rgm_optimizer_step(x.optimizer, x.parameters, x.there, 0));
        CHECK_INT(copy == 2, rgm_optimizer_is_spoiled(x.optimizer));
        shut_problem(&x);
    }
}

static rgm_status make_and_step(problem *x, const rgm_optimizer_options *options)
{
    rgm_status status = RGM_OK;
    rgm_optimizer *optimizer = NULL;
    rgm_parameters *own = NULL;

    RGM_GO(rgm_parameters_copy(&own, x->parameters));
    RGM_GO(rgm_optimizer_create(&optimizer, options, own));
    RGM_GO(rgm_optimizer_step(optimizer, own, x->there, 0));
    RGM_GO(rgm_optimizer_step(optimizer, own, x->gradients, 1));
    RGM_GO(rgm_optimizer_averages_swap(optimizer, own));
done:
    rgm_optimizer_release(optimizer);
    rgm_parameters_release(own);
    return status;
}

static void every_allocation_may_fail(void **state)
{
    problem x;

    (void)state;
    open_problem(&x, far.device, RGM_F32, NULL);
    draw_gradients(&x, 0);
    rgm_optimizer_options options = options_of(&x, rows[11]);
    options.clip_value = 1;
    CHECK_EVERY_OOM(make_and_step(&x, &options), (void)0);
    shut_problem(&x);
}

static void a_device_that_is_full_or_lost_is_named_before_anything_moves(void **state)
{
    problem x, before;

    (void)state;
    open_problem(&before, rgm_device_cpu(), RGM_F32, rows[2]);
    open_problem(&x, far.device, RGM_F32, rows[2]);
    draw_gradients(&x, 0);
    size_t used = far.used;
    far.used = FAR_BYTES - 2 * 4 * ROWS * COLUMNS; /* for the weight, not for its slots */
    CHECK_STATUS(RGM_ERR_NOMEM, rgm_optimizer_step(x.optimizer, x.parameters, x.there, 0));
    CHECK_MESSAGE("slot 'adam/");
    CHECK_MESSAGE("kernel': out of memory: 11480 bytes of the device far, of which");
    far.used = used;
    check_same("full", &before, &x);
    CHECK_OK(take_step(&x, 0));
    far.lost = true;
    CHECK_STATUS(RGM_ERR_IO, rgm_optimizer_step(x.optimizer, x.parameters, x.there, 1));
    CHECK_STATUS(RGM_ERR_IO, rgm_optimizer_to_host(x.optimizer));
    CHECK_MESSAGE("slot 'adam/m/kernel': the device far is lost");
    CHECK(isnan(rgm_tensor_f32(rgm_optimizer_slot(x.optimizer, 0).tensor)[0]));
    CHECK(rgm_device_is_lost(far.device));
    far.lost = false;
    shut_problem(&x);
    shut_problem(&before);
}

/* ---- private gradients ---------------------------------------------------------------------- */

static void clipped_sums_and_noise_are_those_of_the_cpu(void **state)
{
    rgm_secret secret = rgm_secret_from_seed(5);
    rgm_tensor *sums[2][TENSORS];
    double norm[2];
    problem x[2];

    (void)state;
    for (int i = 0; i < 2; i++) {
        open_problem(&x[i], i == 0 ? rgm_device_cpu() : far.device, RGM_F32, NULL);
        draw_gradients(&x[i], 0);
        for (int k = 0; k < TENSORS; k++) {
            sums[i][k] = x[i].there[k];
            x[i].there[k] = NULL;
            CHECK_OK(rgm_device_tensor_create(&x[i].there[k], x[i].device, RGM_F32,
                                              rgm_tensor_rank(sums[i][k]),
                                              rgm_tensor_shape(sums[i][k])));
        }
        for (int step = 1; step < 4; step++) {
            draw_gradients(&x[i], step);
            CHECK_OK(rgm_privacy_clip_add(sums[i], x[i].there, TENSORS, 1.5, &norm[i]));
        }
        CHECK_OK(rgm_privacy_noise(sums[i], TENSORS, 0.3, 0.25, &secret, 3));
    }
    CHECK(norm[0] == norm[1] && norm[0] > 1.5);
    for (int k = 0; k < TENSORS; k++) {
        CHECK_OK(rgm_device_tensor_set(x[1].gradients[k], sums[1][k]));
        CHECK(rgm_tensor_equal(sums[0][k], x[1].gradients[k]));
    }
    CHECK_STATUS(RGM_ERR_ARG, rgm_privacy_clip_add(sums[0], x[1].there, TENSORS, 1, NULL));
    rgm_tensor_f32(x[1].gradients[1])[0] = INFINITY;
    CHECK_OK(rgm_device_tensor_set(x[1].there[1], x[1].gradients[1]));
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_privacy_clip_add(sums[1], x[1].there, TENSORS, 1, NULL));
    CHECK_MESSAGE("gradient 1 of an example");
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < TENSORS; k++)
            rgm_tensor_release(sums[i][k]);
        shut_problem(&x[i]);
    }
}

TESTS(FAR(every_optimizer_has_the_bits_of_the_cpu),
      FAR(a_step_waits_for_norms_and_copies_nothing_else), FAR(gradients_may_lie_elsewhere),
      FAR(a_row_that_touches_elements_works_on_the_host),
      FAR(what_is_no_number_is_told_as_on_the_cpu), FAR(an_update_that_breaks_off_is_spoiled),
      FAR(every_allocation_may_fail),
      FAR(a_device_that_is_full_or_lost_is_named_before_anything_moves),
      FAR(clipped_sums_and_noise_are_those_of_the_cpu))
