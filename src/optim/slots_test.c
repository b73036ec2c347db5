/*
 * What every optimizer must do alike: go on with the same bits after a restore and on any number of
 * threads, survive failing allocations, leave frozen parameters and states alone, and exchange
 * weights and averages exactly.
 */
#include <check.h>

#include <regimen/kernels.h>
#include <regimen/optim.h>

#define ROWS    300
#define COLUMNS 70
#define MOST    64

/* A row of each type, with every slot it can have. */
static const char *const rows[] = {
    "{type: sgd, momentum: 0.9, nesterov: true, average: {decay: 0.9}}",
    "{type: adam, weight_decay: 0.01, average: {decay: 0.9}}",
    "{type: adam, amsgrad: true, clip_value: 0.5, clip_norm: 2, average: {decay: 0.9}}",
    "{type: adamw, learning_rate: {type: cosine, initial: 1e-2, decay_steps: 20}, average: {}}",
    "{type: lamb, weight_decay: 0.01, average: {decay: 0.9, dynamic: false}}",
    "{type: lars, classic_momentum: false, learning_rate: 5, average: {start_step: 12}}",
    "{type: lars, weight_decay: 0.1, clip_global_norm: 3, learning_rate: 5, average: {}}",
    "{type: rmsprop, centered: true, momentum: 0.9, average: {}}",
    "{type: adagrad, average: {}}",
    "{type: adafactor, min_dim_size_to_factor: 60, beta_1: 0.9, average: {}}",
    "{type: adafactor, factored: false, average: {}}",
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

typedef struct problem {
    rgm_cgraph *graph;
    rgm_parameters *parameters;
    rgm_tensor *gradients[3];
    rgm_arena *arena;
} problem;

/* "kernel" [ROWS, COLUMNS], "bias" [7], and the state "seen" [2]. */
static void setup(problem *x, rgm_dtype dtype)
{
    static const int64_t kernel[] = {ROWS, COLUMNS}, bias = 7, seen = 2;
    const rgm_init init = {RGM_INIT_NORMAL, 1};

    *x = (problem){0};
    CHECK_OK(rgm_cgraph_create(&x->graph));
    CHECK(rgm_parameter(x->graph, "kernel", dtype, 2, kernel, init) != NULL);
    CHECK(rgm_parameter(x->graph, "bias", dtype, 1, &bias, init) != NULL);
    CHECK(rgm_state(x->graph, "seen", dtype, 1, &seen, init) != NULL);
    CHECK_OK(rgm_parameters_create(&x->parameters, x->graph, 3));
    for (int p = 0; p < 3; p++) {
        const rgm_tensor *w = rgm_parameters_tensor(x->parameters, p);

        CHECK_OK(
            rgm_tensor_create(&x->gradients[p], dtype, rgm_tensor_rank(w), rgm_tensor_shape(w)));
    }
    CHECK_OK(rgm_arena_create(&x->arena));
}

static void teardown(problem *x)
{
    for (int p = 0; p < 3; p++)
        rgm_tensor_release(x->gradients[p]);
    rgm_arena_release(x->arena);
    rgm_parameters_release(x->parameters);
    rgm_cgraph_release(x->graph);
}

static rgm_optimizer_options options_of(problem *x, const char *text)
{
    rgm_optimizer_options options;
    rgm_yaml *yaml = NULL;

    CHECK_OK(rgm_yaml_parse(&yaml, text, (int64_t)strlen(text), "a.yaml"));
    CHECK_OK(rgm_optimizer_options_read(&options, rgm_yaml_root(yaml), NULL, x->arena));
    rgm_yaml_release(yaml);
    return options;
}

static rgm_optimizer *optimizer_of(problem *x, const char *text)
{
    rgm_optimizer_options options = options_of(x, text);
    rgm_optimizer *optimizer = NULL;

    CHECK_OK(rgm_optimizer_create(&optimizer, &options, x->parameters));
    return optimizer;
}

/* Updates begin .. end - 1, with gradients that depend on the weights, so that errors would grow.
 */
static void train(problem *x, rgm_optimizer *optimizer, int64_t begin, int64_t end)
{
    for (int64_t step = begin; step < end; step++) {
        for (int p = 0; p < 3; p++) {
            const rgm_tensor *w = rgm_parameters_tensor(x->parameters, p);

            for (int64_t i = 0; i < rgm_tensor_count(w); i++) {
                double g = rgm_tensor_at(w, i) * (0.5 + (double)(i % 7)) +
                           sin((double)(step * 31 + i * 7 + p));

                if (rgm_tensor_dtype(w) == RGM_F32)
                    rgm_tensor_f32(x->gradients[p])[i] = (float)g;
                else
                    rgm_tensor_f64(x->gradients[p])[i] = g;
            }
        }
        CHECK_OK(rgm_optimizer_step(optimizer, x->parameters, x->gradients, step));
    }
}

/* All weights and slots, for comparing. */
typedef struct snapshot {
    rgm_tensor *tensors[MOST];
    int64_t count;
} snapshot;

static rgm_tensor *tensor_of(const problem *x, const rgm_optimizer *optimizer, int64_t i)
{
    return i < 3 ? rgm_parameters_tensor(x->parameters, i)
                 : rgm_optimizer_slot(optimizer, i - 3).tensor;
}

static snapshot take(const problem *x, const rgm_optimizer *optimizer)
{
    snapshot s = {.count = 3 + rgm_optimizer_slot_count(optimizer)};

    CHECK(s.count <= MOST);
    for (int64_t i = 0; i < s.count; i++)
        CHECK_OK(rgm_tensor_copy(&s.tensors[i], tensor_of(x, optimizer, i)));
    return s;
}

static void drop(snapshot *s)
{
    for (int64_t i = 0; i < s->count; i++)
        rgm_tensor_release(s->tensors[i]);
}

static void check_same(const snapshot *s, const problem *x, const rgm_optimizer *optimizer,
                       const char *what)
{
    CHECK_INT(s->count, 3 + rgm_optimizer_slot_count(optimizer));
    for (int64_t i = 0; i < s->count; i++) {
        if (!rgm_tensor_equal(s->tensors[i], tensor_of(x, optimizer, i)))
            fail_msg("%s: %s has other bits", what,
                     i < 3 ? rgm_parameters_name(x->parameters, i)
                           : rgm_optimizer_slot(optimizer, i - 3).name);
    }
}

static void put_weights(const snapshot *s, problem *x)
{
    for (int p = 0; p < 3; p++)
        memcpy(rgm_tensor_data(rgm_parameters_tensor(x->parameters, p)),
               rgm_tensor_data(s->tensors[p]), rgm_tensor_bytes(s->tensors[p]));
}

/* ---- the same bits ---- */

static void save_slots(const rgm_optimizer *optimizer, const char *path)
{
    rgm_named_tensor slots[MOST];
    int64_t count = rgm_optimizer_slot_count(optimizer);

    CHECK(count <= MOST);
    for (int64_t i = 0; i < count; i++)
        slots[i] = rgm_optimizer_slot(optimizer, i);
    remove(path);
    CHECK_OK(rgm_safetensors_save(path, slots, count, NULL, 0));
}

static void check_resume(const char *text, rgm_dtype dtype, const char *path)
{
    rgm_optimizer *first, *second;
    rgm_safetensors *file = NULL;
    snapshot middle, end;
    problem x;

    setup(&x, dtype);
    first = optimizer_of(&x, text);
    train(&x, first, 0, 10);
    save_slots(first, path);
    middle = take(&x, first);
    train(&x, first, 10, 20);
    end = take(&x, first);
    CHECK(!rgm_tensor_equal(middle.tensors[0], end.tensors[0]));
    put_weights(&middle, &x);
    second = optimizer_of(&x, text);
    CHECK_OK(rgm_safetensors_open(&file, path));
    CHECK_OK(rgm_optimizer_restore(second, file));
    train(&x, second, 10, 20);
    check_same(&end, &x, second, text);
    rgm_safetensors_close(file);
    drop(&middle);
    drop(&end);
    rgm_optimizer_release(first);
    rgm_optimizer_release(second);
    teardown(&x);
}

static void every_type_goes_on_with_the_same_bits_after_a_restore(void **state)
{
    const char *folder = check_folder();
    char path[128];

    (void)state;
    snprintf(path, sizeof path, "%s/slots.safetensors", folder);
    for (size_t i = 0; i < ROW_COUNT; i++) {
        check_resume(rows[i], RGM_F32, path);
        check_resume(rows[i], RGM_F64, path);
    }
    CHECK_OK(rgm_folder_remove(folder));
}

/* ---- a part of the parameters ---- */

#define PART_STEPS 6

/* What another process would send: the weights that one process alone has after each update. */
typedef struct others {
    rgm_tensor *weights[PART_STEPS][3];
    int own, step;
    rgm_status answer;
} others;

static rgm_status bring(rgm_status status, rgm_parameters *parameters, void *payload)
{
    others *o = payload;

    RGM_TRY(status);
    RGM_TRY(o->answer);
    for (int p = 0; p < 2; p++)
        if (p != o->own)
            rgm_tensor_set(rgm_parameters_tensor(parameters, p), o->weights[o->step][p]);
    o->step++;
    return RGM_OK;
}

/* A process that moves parameter `own` alone has its bits, all averages, and no other slots. */
static void check_part(const char *text, int own, others *o, const snapshot *whole)
{
    bool mine[3] = {own == 0, own == 1, false};
    rgm_optimizer *optimizer;
    problem x;

    setup(&x, RGM_F32);
    optimizer = optimizer_of(&x, text);
    o->own = own;
    o->step = 0;
    rgm_optimizer_take_part(optimizer, &(rgm_optimizer_part){mine, bring, o});
    train(&x, optimizer, 0, PART_STEPS);
    for (int64_t i = 0; i < rgm_optimizer_slot_count(optimizer); i++) {
        rgm_named_tensor slot = rgm_optimizer_slot(optimizer, i);
        int64_t owner = rgm_optimizer_slot_owner(optimizer, i);

        CHECK_INT(strncmp(slot.name, "average/", 8) == 0, owner < 0);
        CHECK_INT(owner >= 0 && owner != own, slot.tensor == NULL);
        if (slot.tensor == NULL)
            CHECK_OK(rgm_optimizer_lend_slot(optimizer, i, rgm_tensor_data(whole->tensors[3 + i])));
        else
            CHECK_STATUS(RGM_ERR_ARG, rgm_optimizer_lend_slot(optimizer, i, NULL));
    }
    check_same(whole, &x, optimizer, text);
    for (int64_t i = 0; i < rgm_optimizer_slot_count(optimizer); i++)
        if (rgm_optimizer_slot_owner(optimizer, i) == 1 - own) {
            CHECK_OK(rgm_optimizer_lend_slot(optimizer, i, NULL));
            CHECK(rgm_optimizer_slot(optimizer, i).tensor == NULL);
        }
    o->answer = RGM_ERR_NUMERIC; /* of another process: the weights that were moved are spoiled */
    CHECK_STATUS(RGM_ERR_NUMERIC,
                 rgm_optimizer_step(optimizer, x.parameters, x.gradients, PART_STEPS));
    CHECK(rgm_optimizer_is_spoiled(optimizer));
    o->answer = RGM_OK;
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

static void a_part_of_the_parameters_has_the_bits_of_all(void **state)
{
    (void)state;
    for (size_t r = 0; r < ROW_COUNT; r++) {
        others o = {.answer = RGM_OK};
        rgm_optimizer *optimizer;
        snapshot whole;
        problem x;

        setup(&x, RGM_F32);
        optimizer = optimizer_of(&x, rows[r]);
        for (int step = 0; step < PART_STEPS; step++) {
            train(&x, optimizer, step, step + 1);
            for (int p = 0; p < 3; p++)
                CHECK_OK(
                    rgm_tensor_copy(&o.weights[step][p], rgm_parameters_tensor(x.parameters, p)));
        }
        whole = take(&x, optimizer);
        for (int own = 0; own < 2; own++)
            check_part(rows[r], own, &o, &whole);
        drop(&whole);
        for (int step = 0; step < PART_STEPS; step++)
            for (int p = 0; p < 3; p++)
                rgm_tensor_release(o.weights[step][p]);
        rgm_optimizer_release(optimizer);
        teardown(&x);
    }
}

static void threads_change_no_bit(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        snapshot one = {0};

        for (int threads = 1; threads <= 3; threads++) {
            rgm_optimizer *optimizer;
            problem x;

            rgm_threads_set(threads);
            setup(&x, RGM_F32);
            optimizer = optimizer_of(&x, rows[i]);
            train(&x, optimizer, 0, 3);
            if (threads == 1)
                one = take(&x, optimizer);
            else
                check_same(&one, &x, optimizer, rows[i]);
            rgm_optimizer_release(optimizer);
            teardown(&x);
        }
        drop(&one);
    }
}

/* Single precision walks beside double precision, whatever the type. */
static void f32_and_f64_agree(void **state)
{
    (void)state;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        problem narrow, wide;
        rgm_optimizer *a, *b;

        setup(&narrow, RGM_F32);
        setup(&wide, RGM_F64);
        for (int p = 0; p < 3; p++) {
            const rgm_tensor *from = rgm_parameters_tensor(narrow.parameters, p);

            for (int64_t k = 0; k < rgm_tensor_count(from); k++)
                rgm_tensor_f64(rgm_parameters_tensor(wide.parameters, p))[k] =
                    rgm_tensor_at(from, k);
        }
        a = optimizer_of(&narrow, rows[i]);
        b = optimizer_of(&wide, rows[i]);
        train(&narrow, a, 0, 5);
        train(&wide, b, 0, 5);
        for (int64_t k = 0; k < ROWS * COLUMNS; k++)
            CHECK_CLOSE(rgm_tensor_at(rgm_parameters_tensor(narrow.parameters, 0), k),
                        rgm_tensor_at(rgm_parameters_tensor(wide.parameters, 0), k), 1e-4, 1e-4);
        rgm_optimizer_release(a);
        rgm_optimizer_release(b);
        teardown(&narrow);
        teardown(&wide);
    }
}

/* Equal elements move equally, wherever the blocks of a sweep end. */
static void no_element_is_left_out_of_a_sweep(void **state)
{
    static const int64_t sizes[] = {1, 255, 256, 257, 2047, 2048, 2049};
    const rgm_init ones = {RGM_INIT_ONES, 0};

    (void)state;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        problem x = {0};
        rgm_optimizer *optimizer;
        const double *w;

        CHECK_OK(rgm_cgraph_create(&x.graph));
        CHECK(rgm_parameter(x.graph, "w", RGM_F64, 1, &sizes[s], ones) != NULL);
        CHECK_OK(rgm_parameters_create(&x.parameters, x.graph, 1));
        CHECK_OK(rgm_tensor_copy(&x.gradients[0], rgm_parameters_tensor(x.parameters, 0)));
        CHECK_OK(rgm_arena_create(&x.arena));
        optimizer = optimizer_of(&x, "{type: adagrad, learning_rate: 1}");
        CHECK_OK(rgm_optimizer_step(optimizer, x.parameters, x.gradients, 0));
        w = rgm_tensor_f64(rgm_parameters_tensor(x.parameters, 0));
        for (int64_t i = 0; i < sizes[s]; i++)
            CHECK_CLOSE(w[i], 1 - 1 / (sqrt(1.1) + 1e-7), 1e-13, 0);
        rgm_optimizer_release(optimizer);
        teardown(&x);
    }
}

static void creating_any_type_survives_every_failing_allocation(void **state)
{
    static const char *const stepwise = "{type: lamb, clip_value: 1, learning_rate: {type: "
                                        "stepwise, boundaries: 3, values: [1, 2]}}";

    (void)state;
    for (size_t i = 0; i <= ROW_COUNT; i++) {
        rgm_optimizer *optimizer = NULL;
        rgm_optimizer_options options;
        problem x;

        setup(&x, RGM_F32);
        options = options_of(&x, i < ROW_COUNT ? rows[i] : stepwise);
        CHECK_EVERY_OOM(rgm_optimizer_create(&optimizer, &options, x.parameters),
                        rgm_optimizer_release(optimizer));
        teardown(&x);
    }
}

static void options_are_not_needed_after_creation(void **state)
{
    rgm_optimizer *optimizer;
    problem x;

    (void)state;
    setup(&x, RGM_F32);
    optimizer = optimizer_of(&x, "{type: sgd, rates: {bias: 0.5}, learning_rate: {type: stepwise, "
                                 "boundaries: [3, 5], values: [1, 0.5, 0.25]}}");
    rgm_arena_release(x.arena);
    x.arena = NULL;
    CHECK(rgm_optimizer_rate(optimizer, 3) == 1 && rgm_optimizer_rate(optimizer, 5) == 0.5);
    CHECK(rgm_optimizer_rate(optimizer, 6) == 0.25);
    train(&x, optimizer, 0, 1);
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

/* ---- names ---- */

static void a_frozen_parameter_and_a_state_keep_their_bits_and_have_no_slots(void **state)
{
    rgm_optimizer *optimizer;
    snapshot before;
    double sum = 0;
    problem x;

    (void)state;
    setup(&x, RGM_F64);
    optimizer = optimizer_of(&x, "{type: adamw, rates: {ker*: 0, '*': 1}, average: {}}");
    CHECK_INT(3, rgm_optimizer_slot_count(optimizer));
    CHECK_TEXT("adamw/m/bias", rgm_optimizer_slot(optimizer, 0).name);
    CHECK_TEXT("average/bias", rgm_optimizer_slot(optimizer, 2).name);
    before = take(&x, optimizer);
    train(&x, optimizer, 0, 3);
    CHECK(rgm_tensor_equal(before.tensors[0], rgm_parameters_tensor(x.parameters, 0)));
    CHECK(!rgm_tensor_equal(before.tensors[1], rgm_parameters_tensor(x.parameters, 1)));
    CHECK(rgm_tensor_equal(before.tensors[2], rgm_parameters_tensor(x.parameters, 2)));
    for (int i = 0; i < 7; i++)
        sum += rgm_tensor_at(x.gradients[1], i) * rgm_tensor_at(x.gradients[1], i);
    CHECK_CLOSE(rgm_optimizer_gradient_norm(optimizer), sqrt(sum), 1e-14, 0);
    /* Nobody looks at a gradient that moves nothing. */
    rgm_tensor_f64(x.gradients[0])[5] = NAN;
    CHECK_OK(rgm_optimizer_step(optimizer, x.parameters, x.gradients, 3));
    drop(&before);
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

static void the_first_pattern_that_fits_scales_the_rate(void **state)
{
    rgm_optimizer *optimizer;
    snapshot before;
    problem x;

    (void)state;
    setup(&x, RGM_F64);
    optimizer = optimizer_of(&x, "{type: sgd, learning_rate: 0.5, rates: {bias: 0.1, '*': 2}}");
    before = take(&x, optimizer);
    train(&x, optimizer, 0, 1);
    for (int p = 0; p < 2; p++)
        CHECK_CLOSE(rgm_tensor_at(rgm_parameters_tensor(x.parameters, p), 3),
                    rgm_tensor_at(before.tensors[p], 3) -
                        (p == 0 ? 1 : 0.05) * rgm_tensor_at(x.gradients[p], 3),
                    1e-14, 0);
    CHECK(rgm_optimizer_rate(optimizer, 0) == 0.5);
    drop(&before);
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

static void an_excluded_parameter_takes_no_trust_ratio(void **state)
{
    static const char *const texts[] = {
        "{type: lars, learning_rate: 0.5, momentum: 0, layer_adaptation_except: bias}",
        "{type: lars, learning_rate: 0.5, momentum: 0, weight_decay: 0.1, weight_decay_except: "
        "bias}",
        "{type: lars, learning_rate: 0.5, momentum: 0, weight_decay_except: bias, "
        "layer_adaptation_except: []}",
    };

    (void)state;
    for (int i = 0; i < 3; i++) {
        rgm_optimizer *optimizer;
        snapshot before;
        double plain;
        problem x;

        setup(&x, RGM_F64);
        optimizer = optimizer_of(&x, texts[i]);
        before = take(&x, optimizer);
        train(&x, optimizer, 0, 1);
        plain = rgm_tensor_at(before.tensors[1], 2) - 0.5 * rgm_tensor_at(x.gradients[1], 2);
        CHECK((fabs(rgm_tensor_at(rgm_parameters_tensor(x.parameters, 1), 2) - plain) < 1e-14) ==
              (i < 2));
        drop(&before);
        rgm_optimizer_release(optimizer);
        teardown(&x);
    }
}

static void adafactor_keeps_a_row_and_a_column_of_a_large_matrix(void **state)
{
    rgm_optimizer *optimizer;
    problem x;

    (void)state;
    setup(&x, RGM_F32);
    optimizer = optimizer_of(&x, "{type: adafactor, min_dim_size_to_factor: 70}");
    CHECK_INT(3, rgm_optimizer_slot_count(optimizer));
    CHECK_TEXT("adafactor/row/kernel", rgm_optimizer_slot(optimizer, 0).name);
    CHECK_INT(ROWS, rgm_tensor_count(rgm_optimizer_slot(optimizer, 0).tensor));
    CHECK_TEXT("adafactor/column/kernel", rgm_optimizer_slot(optimizer, 1).name);
    CHECK_INT(COLUMNS, rgm_tensor_count(rgm_optimizer_slot(optimizer, 1).tensor));
    CHECK_TEXT("adafactor/v/bias", rgm_optimizer_slot(optimizer, 2).name);
    rgm_optimizer_release(optimizer);
    optimizer = optimizer_of(&x, "{type: adafactor, min_dim_size_to_factor: 71}");
    CHECK_INT(2, rgm_optimizer_slot_count(optimizer));
    CHECK_TEXT("adafactor/v/kernel", rgm_optimizer_slot(optimizer, 0).name);
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

static void what_no_optimizer_can_work_with_is_refused(void **state)
{
    static const char *const names[] = {"kernal"}, *const all[] = {"*"};
    static const double values[] = {0.5}, none[] = {0};
    rgm_optimizer *optimizer = NULL;
    rgm_optimizer_options o = rgm_adam(1);
    problem x;

    (void)state;
    setup(&x, RGM_F32);
    o.rates = (rgm_numbers){names, values, 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, x.parameters));
    CHECK_MESSAGE("optimizer.rates: 'kernal' matches none of 3 parameters; one is named kernel");
    o.rates = (rgm_numbers){all, none, 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, x.parameters));
    CHECK_MESSAGE("optimizer.rates has the factor 0 for each of 2 parameters: nothing would be");
    o = rgm_adam(1);
    o.beta_2 = 1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, x.parameters));
    CHECK_MESSAGE("optimizer.beta_2 is 1, but must be in [0, 1)");
    o = rgm_adam(1);
    o.clip_norm = 1.5;
    o.clip_global_norm = 2.5;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, x.parameters));
    CHECK_MESSAGE("optimizer.clip_norm is 1.5 and optimizer.clip_global_norm is 2.5");
    o = rgm_adam(1);
    o.learning_rate.warmup.steps = -1;
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, x.parameters));
    CHECK_MESSAGE("optimizer.learning_rate.warmup.steps is -1");
    CHECK(optimizer == NULL);
    teardown(&x);
}

/* ---- averages ---- */

static void swapping_twice_restores_every_bit(void **state)
{
    rgm_optimizer *optimizer;
    snapshot before;
    problem x;

    (void)state;
    setup(&x, RGM_F32);
    optimizer = optimizer_of(&x, "{type: sgd, learning_rate: 0.1, average: {}}");
    CHECK(rgm_optimizer_has_averages(optimizer));
    train(&x, optimizer, 0, 5);
    before = take(&x, optimizer); /* kernel, bias, seen, and the averages of two */
    CHECK_INT(5, before.count);
    CHECK(!rgm_tensor_equal(before.tensors[0], before.tensors[3]));
    CHECK_OK(rgm_optimizer_averages_swap(optimizer, x.parameters));
    CHECK(rgm_tensor_equal(before.tensors[3], rgm_parameters_tensor(x.parameters, 0)));
    CHECK(rgm_tensor_equal(before.tensors[4], rgm_parameters_tensor(x.parameters, 1)));
    CHECK(rgm_tensor_equal(before.tensors[2], rgm_parameters_tensor(x.parameters, 2)));
    CHECK_STATUS(RGM_ERR_ARG, rgm_optimizer_step(optimizer, x.parameters, x.gradients, 5));
    CHECK_MESSAGE("swap them back");
    CHECK_OK(rgm_optimizer_averages_swap(optimizer, x.parameters));
    check_same(&before, &x, optimizer, "after two swaps");
    train(&x, optimizer, 5, 6);
    drop(&before);
    rgm_optimizer_release(optimizer);
    optimizer = optimizer_of(&x, "{type: sgd}");
    CHECK(!rgm_optimizer_has_averages(optimizer));
    CHECK_OK(rgm_optimizer_averages_swap(optimizer, x.parameters));
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

static void averages_start_at_the_weights_of_the_first_update(void **state)
{
    rgm_optimizer *optimizer;
    rgm_tensor *w;
    problem x;

    (void)state;
    setup(&x, RGM_F64);
    optimizer =
        optimizer_of(&x, "{type: sgd, learning_rate: 1, average: {decay: 0.75, dynamic: false}}");
    w = rgm_parameters_tensor(x.parameters, 1);
    CHECK(rgm_tensor_equal(w, rgm_optimizer_slot(optimizer, 1).tensor));
    rgm_tensor_f64(w)[0] = 10; /* as a loaded weight would be */
    rgm_tensor_f64(x.gradients[1])[0] = 4;
    CHECK_OK(rgm_optimizer_step(optimizer, x.parameters, x.gradients, 0));
    CHECK(rgm_tensor_f64(w)[0] == 6);
    CHECK(rgm_tensor_f64(rgm_optimizer_slot(optimizer, 1).tensor)[0] == 9);
    rgm_optimizer_release(optimizer);
    teardown(&x);
}

TESTS(cmocka_unit_test(every_type_goes_on_with_the_same_bits_after_a_restore),
      cmocka_unit_test(a_part_of_the_parameters_has_the_bits_of_all),
      cmocka_unit_test(threads_change_no_bit), cmocka_unit_test(f32_and_f64_agree),
      cmocka_unit_test(no_element_is_left_out_of_a_sweep),
      cmocka_unit_test(creating_any_type_survives_every_failing_allocation),
      cmocka_unit_test(options_are_not_needed_after_creation),
      cmocka_unit_test(a_frozen_parameter_and_a_state_keep_their_bits_and_have_no_slots),
      cmocka_unit_test(the_first_pattern_that_fits_scales_the_rate),
      cmocka_unit_test(an_excluded_parameter_takes_no_trust_ratio),
      cmocka_unit_test(adafactor_keeps_a_row_and_a_column_of_a_large_matrix),
      cmocka_unit_test(what_no_optimizer_can_work_with_is_refused),
      cmocka_unit_test(swapping_twice_restores_every_bit),
      cmocka_unit_test(averages_start_at_the_weights_of_the_first_update))
