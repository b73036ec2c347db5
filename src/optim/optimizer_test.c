/*
 * Optimizers: hundred-step trajectories in double against plain loops written from the papers' and
 * PyTorch's formulas, clipping, the decay filter, slots saved and restored, and what is refused.
 */
#include <check.h>

#include <regimen/optim.h>

#define SIZE  7
#define STEPS 100

typedef struct fixture {
    rgm_cgraph *graph;
    rgm_parameters *parameters;
    rgm_tensor *gradients[3];
} fixture;

/* "a/kernel" [7], "a/bias" [2, 1] and "b/kernel" [1], in dtype. */
static void setup(fixture *f, rgm_dtype dtype)
{
    static const char *const names[] = {"a/kernel", "a/bias", "b/kernel"};
    static const int ranks[] = {1, 2, 1};
    static const int64_t shapes[][2] = {{SIZE, 0}, {2, 1}, {1, 0}};
    const rgm_init init = {RGM_INIT_NORMAL, 1};

    *f = (fixture){0};
    CHECK_OK(rgm_cgraph_create(&f->graph));
    for (int i = 0; i < 3; i++)
        CHECK(rgm_parameter(f->graph, names[i], dtype, ranks[i], shapes[i], init) != NULL);
    CHECK_OK(rgm_parameters_create(&f->parameters, f->graph, 5));
    for (int i = 0; i < 3; i++)
        CHECK_OK(rgm_tensor_create(&f->gradients[i], dtype, ranks[i], shapes[i]));
}

static void teardown(fixture *f)
{
    for (int i = 0; i < 3; i++)
        rgm_tensor_release(f->gradients[i]);
    rgm_parameters_release(f->parameters);
    rgm_cgraph_release(f->graph);
}

/* The gradient of a bowl with some noise, from w alone so that errors would grow. */
static double slope(double w, int64_t step, int64_t i)
{
    return w * (0.5 + (double)i) + sin((double)(step * 31 + i * 7));
}

static void fill_gradients(fixture *f, int64_t step)
{
    for (int p = 0; p < 3; p++) {
        const rgm_tensor *w = rgm_parameters_tensor(f->parameters, p);

        for (int64_t i = 0; i < rgm_tensor_count(w); i++)
            rgm_tensor_f64(f->gradients[p])[i] = slope(rgm_tensor_f64(w)[i], step, i + p);
    }
}

/* A plain parameter with its state, moved by formulas that know nothing of the library. */
typedef struct plain {
    double w, m, v;
} plain;
typedef void plain_step(plain *x, double g, int64_t step);

static void check_trajectory(const rgm_optimizer_options *options, plain_step *step_one)
{
    fixture f;
    rgm_optimizer *optimizer = NULL;
    plain x[3][SIZE] = {0};

    setup(&f, RGM_F64);
    for (int p = 0; p < 3; p++) {
        for (int64_t i = 0; i < rgm_tensor_count(f.gradients[p]); i++)
            x[p][i].w = rgm_tensor_f64(rgm_parameters_tensor(f.parameters, p))[i];
    }
    CHECK_OK(rgm_optimizer_create(&optimizer, options, f.parameters));
    for (int64_t step = 0; step < STEPS; step++) {
        fill_gradients(&f, step);
        CHECK_OK(rgm_optimizer_step(optimizer, f.parameters, f.gradients, step));
        for (int p = 0; p < 3; p++) {
            for (int64_t i = 0; i < rgm_tensor_count(f.gradients[p]); i++) {
                step_one(&x[p][i], slope(x[p][i].w, step, i + p), step);
                CHECK_CLOSE(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, p))[i], x[p][i].w,
                            1e-12, 1e-14);
            }
        }
    }
    rgm_optimizer_release(optimizer);
    teardown(&f);
}

/* torch.optim.SGD: b = momentum b + g (b_1 = g); w -= lr b. */
static void plain_momentum(plain *x, double g, int64_t step)
{
    x->m = step == 0 ? g : 0.9 * x->m + g;
    x->w -= 0.01 * x->m;
}

/* torch.optim.SGD(nesterov): w -= lr (g + momentum b), with weight_decay 0.1 in g. */
static void plain_nesterov(plain *x, double g, int64_t step)
{
    g += 0.1 * x->w;
    x->m = step == 0 ? g : 0.9 * x->m + g;
    x->w -= 0.01 * (g + 0.9 * x->m);
}

static void plain_descent(plain *x, double g, int64_t step)
{
    (void)step;
    x->w -= 0.01 * g;
}

/* Keras' Adam.update_step, epsilon outside the correction; L2 of 0.01 in the gradient. */
static void keras_adam(plain *x, double g, int64_t step)
{
    double t = (double)step + 1, alpha;

    g += 0.01 * x->w;
    alpha = 0.05 * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t));
    x->m += (g - x->m) * (1 - 0.9);
    x->v += (g * g - x->v) * (1 - 0.999);
    x->w -= alpha * x->m / (sqrt(x->v) + 1e-7);
}

/* torch.optim.Adam's single-tensor loop with eps = 0, where it and Keras must be the same. */
static void torch_adam(plain *x, double g, int64_t step)
{
    double t = (double)step + 1, denominator;

    x->m = 0.8 * x->m + (1 - 0.8) * g;
    x->v = 0.99 * x->v + (1 - 0.99) * g * g;
    denominator = sqrt(x->v) / sqrt(1 - pow(0.99, t));
    x->w -= 0.05 / (1 - pow(0.8, t)) * x->m / denominator;
}

/* torch.optim.AdamW: p *= 1 - lr weight_decay, then Adam; lr falls by half each ten steps. */
static void torch_adamw(plain *x, double g, int64_t step)
{
    double t = (double)step + 1, lr = 0.05 * pow(0.5, (double)step / 10);

    x->w *= 1 - lr * 0.2;
    x->m = 0.9 * x->m + (1 - 0.9) * g;
    x->v = 0.999 * x->v + (1 - 0.999) * g * g;
    x->w -= lr / (1 - pow(0.9, t)) * x->m / (sqrt(x->v) / sqrt(1 - pow(0.999, t)));
}

static void sgd_follows_pytorchs_formulas_for_a_hundred_steps(void **state)
{
    rgm_optimizer_options o = rgm_sgd(0.01, 0);

    (void)state;
    check_trajectory(&o, plain_descent);
    o = rgm_sgd(0.01, 0.9);
    check_trajectory(&o, plain_momentum);
    o.nesterov = true;
    o.weight_decay = 0.1;
    check_trajectory(&o, plain_nesterov);
}

static void adam_follows_keras_and_pytorchs_formulas_for_a_hundred_steps(void **state)
{
    rgm_optimizer_options o = rgm_adam(0.05);

    (void)state;
    o.weight_decay = 0.01;
    check_trajectory(&o, keras_adam);
    o = rgm_adam(0.05);
    o.beta_1 = 0.8;
    o.beta_2 = 0.99;
    o.epsilon = 0;
    check_trajectory(&o, torch_adam);
}

static void adamw_decays_by_the_scheduled_rate(void **state)
{
    rgm_optimizer_options o = rgm_adamw(0.05, 0.2);

    (void)state;
    o.learning_rate = rgm_schedule_exponential(0.05, 10, 0.5);
    o.epsilon = 0;
    check_trajectory(&o, torch_adamw);
}

/* 0 / 0 in the formula: no gradient has come to an element, as to an embedding that no batch has
 * read. An epsilon that is 0 in f32 is one, too. */
static void with_epsilon_0_what_has_no_gradient_stays(void **state)
{
    (void)state;
    for (int k = 0; k < 12; k++) {
        rgm_optimizer_options o = k & 1 ? rgm_adamw(0.1, 0) : rgm_adam(0.1);
        rgm_optimizer *optimizer = NULL;
        rgm_tensor *g, *w;
        double before[SIZE];
        fixture f;

        setup(&f, k & 2 ? RGM_F32 : RGM_F64);
        o.amsgrad = k & 4;
        o.epsilon = k % 3 ? 0 : 1e-50;
        CHECK_OK(rgm_optimizer_create(&optimizer, &o, f.parameters));
        g = f.gradients[0];
        w = rgm_parameters_tensor(f.parameters, 0);
        for (int i = 0; i < SIZE; i++)
            before[i] = rgm_tensor_at(w, i);
        if (k & 2)
            rgm_tensor_f32(g)[3] = 2;
        else
            rgm_tensor_f64(g)[3] = 2;
        CHECK_OK(rgm_optimizer_step(optimizer, f.parameters, f.gradients, 0));
        for (int i = 0; i < SIZE; i++)
            CHECK_CLOSE(rgm_tensor_at(w, i), before[i] - (i == 3 ? 0.1 : 0), 0, i == 3 ? 1e-6 : 0);
        rgm_optimizer_release(optimizer);
        teardown(&f);
    }
}

static void clipping_scales_by_the_global_norm(void **state)
{
    rgm_optimizer_options o = rgm_sgd(1, 0);
    rgm_optimizer *optimizer = NULL;
    double before[2];
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    o.clip_global_norm = 1;
    CHECK_OK(rgm_optimizer_create(&optimizer, &o, f.parameters));
    CHECK(rgm_optimizer_gradient_norm(optimizer) == 0);
    rgm_tensor_f64(f.gradients[0])[2] = 3;
    rgm_tensor_f64(f.gradients[2])[0] = -4;
    before[0] = rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 0))[2];
    before[1] = rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 2))[0];
    CHECK_OK(rgm_optimizer_step(optimizer, f.parameters, f.gradients, 0));
    CHECK_CLOSE(rgm_optimizer_gradient_norm(optimizer), 5, 1e-15, 0);
    CHECK_CLOSE(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 0))[2], before[0] - 0.6, 1e-14,
                0);
    CHECK_CLOSE(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 2))[0], before[1] + 0.8, 1e-14,
                0);
    rgm_tensor_f64(f.gradients[0])[2] = 0.3;
    rgm_tensor_f64(f.gradients[2])[0] = 0;
    CHECK_OK(rgm_optimizer_step(optimizer, f.parameters, f.gradients, 1));
    CHECK_CLOSE(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 0))[2], before[0] - 0.9, 1e-14,
                0);
    rgm_optimizer_release(optimizer);
    teardown(&f);
}

static void only_parameters_that_the_patterns_name_decay(void **state)
{
    static const char *const only[] = {"a/*"}, *const except[] = {"*bias"};
    rgm_optimizer_options o = rgm_sgd(1, 0);
    rgm_optimizer *optimizer = NULL;
    double before[3];
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    o.weight_decay = 0.5;
    o.weight_decay_only = (rgm_texts){only, 1};
    o.weight_decay_except = (rgm_texts){except, 1};
    CHECK_OK(rgm_optimizer_create(&optimizer, &o, f.parameters));
    for (int p = 0; p < 3; p++)
        before[p] = rgm_tensor_f64(rgm_parameters_tensor(f.parameters, p))[0];
    CHECK_OK(rgm_optimizer_step(optimizer, f.parameters, f.gradients, 0));
    CHECK(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 0))[0] == before[0] * 0.5);
    CHECK(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 1))[0] == before[1]);
    CHECK(rgm_tensor_f64(rgm_parameters_tensor(f.parameters, 2))[0] == before[2]);
    rgm_optimizer_release(optimizer);
    teardown(&f);
}

static void patterns_that_match_nothing_are_refused(void **state)
{
    static const char *const misspelt[] = {"*bais"};
    rgm_optimizer *optimizer = NULL;
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    for (int list = 0; list < 3; list++) {
        rgm_optimizer_options o = rgm_sgd(1, 0);
        rgm_texts *lists[] = {&o.weight_decay_only, &o.weight_decay_except,
                              &o.layer_adaptation_except};
        static const char *const keys[] = {"weight_decay_only", "weight_decay_except",
                                           "layer_adaptation_except"};
        char message[120];

        *lists[list] = (rgm_texts){misspelt, 1};
        snprintf(message, sizeof message, "optimizer.%s: '*bais' matches none of 3 parameters",
                 keys[list]);
        CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, f.parameters));
        CHECK_MESSAGE(message);
    }
    teardown(&f);
}

/* Where adapters are trained beside a model, its weights are states: what is asked of these alone
 * would be gone. An exception of a state loses nothing. */
static void patterns_of_states_alone_are_refused(void **state)
{
    static const char *const frozen[] = {"*/kernel"}, *const both[] = {"q/*"};
    static const double tenth[] = {0.1};
    rgm_cgraph *graph;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer = NULL;
    rgm_optimizer_options o = rgm_adamw(0.1, 0.1);
    const int64_t two = 2;

    (void)state;
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK(rgm_state(graph, "q/kernel", RGM_F32, 1, &two, (rgm_init){RGM_INIT_ONES, 0}) != NULL);
    CHECK(rgm_parameter(graph, "q/lora_a", RGM_F32, 1, &two, (rgm_init){RGM_INIT_ONES, 0}) != NULL);
    CHECK_OK(rgm_parameters_create(&parameters, graph, 5));
    o.weight_decay_only = (rgm_texts){frozen, 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, parameters));
    CHECK_MESSAGE("optimizer.weight_decay_only: '*/kernel' matches states alone, as 'q/kernel', "
                  "which no optimizer moves; leave it out, or name what is trained, as 'q/lora_a'");
    o = rgm_adamw(0.1, 0.1);
    o.rates = (rgm_numbers){frozen, tenth, 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, parameters));
    CHECK_MESSAGE("optimizer.rates: '*/kernel' matches states alone, as 'q/kernel'");
    o = rgm_adamw(0.1, 0.1);
    o.weight_decay_only = (rgm_texts){both, 1};
    o.weight_decay_except = (rgm_texts){frozen, 1};
    CHECK_OK(rgm_optimizer_create(&optimizer, &o, parameters));
    rgm_optimizer_release(optimizer);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(graph);
}

/* Weight decay moves whatever has a gradient tensor, zeros too: a state it must not. */
static void a_state_is_never_moved(void **state)
{
    rgm_cgraph *graph;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_optimizer_options o = rgm_sgd(0.1, 0);
    rgm_tensor *gradients[2];
    const int64_t two = 2;

    (void)state;
    CHECK_OK(rgm_cgraph_create(&graph));
    CHECK(rgm_state(graph, "s", RGM_F64, 1, &two, (rgm_init){RGM_INIT_ONES, 0}) != NULL);
    CHECK(rgm_parameter(graph, "w", RGM_F64, 1, &two, (rgm_init){RGM_INIT_ONES, 0}) != NULL);
    CHECK_OK(rgm_parameters_create(&parameters, graph, 5));
    for (int i = 0; i < 2; i++)
        CHECK_OK(rgm_tensor_create(&gradients[i], RGM_F64, 1, &two));
    o.weight_decay = 0.5;
    CHECK_OK(rgm_optimizer_create(&optimizer, &o, parameters));
    CHECK_OK(rgm_optimizer_step(optimizer, parameters, gradients, 0));
    CHECK(rgm_tensor_f64(rgm_parameters_tensor(parameters, 0))[1] == 1);
    CHECK(rgm_tensor_f64(rgm_parameters_tensor(parameters, 1))[1] < 1);
    for (int i = 0; i < 2; i++)
        rgm_tensor_release(gradients[i]);
    rgm_optimizer_release(optimizer);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(graph);
}

static void a_decay_pattern_that_matches_nothing_is_refused(void **state)
{
    static const char *const only[] = {"a/kernal"};
    rgm_optimizer_options o = rgm_adam(1);
    rgm_optimizer *optimizer = NULL;
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    o.weight_decay_only = (rgm_texts){only, 1};
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, f.parameters));
    CHECK(optimizer == NULL);
    CHECK_MESSAGE("'a/kernal' matches none of 3 parameters; one is named a/kernel");
    o = rgm_adam(1);
    o.learning_rate = rgm_schedule_cosine(1, 0);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, f.parameters));
    CHECK_MESSAGE("decay_steps");
    o = rgm_adam(NAN);
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_optimizer_create(&optimizer, &o, f.parameters));
    teardown(&f);
}

static void a_bad_gradient_is_named_and_changes_nothing(void **state)
{
    rgm_optimizer_options o = rgm_adam(1);
    rgm_optimizer *optimizer = NULL;
    rgm_tensor *before = NULL, *other = NULL, *swapped[3];
    int64_t four = 4;
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    CHECK_OK(rgm_optimizer_create(&optimizer, &o, f.parameters));
    CHECK_OK(rgm_tensor_copy(&before, rgm_parameters_tensor(f.parameters, 0)));
    rgm_tensor_f64(f.gradients[0])[0] = 1;
    rgm_tensor_f64(f.gradients[2])[0] = NAN;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_optimizer_step(optimizer, f.parameters, f.gradients, 12));
    CHECK_MESSAGE("'b/kernel' has a NaN or infinity at step 12");
    rgm_tensor_f64(f.gradients[2])[0] = 1e200;
    CHECK_STATUS(RGM_ERR_NUMERIC, rgm_optimizer_step(optimizer, f.parameters, f.gradients, 1));
    CHECK_MESSAGE("norm overflows");
    memcpy(swapped, f.gradients, sizeof swapped);
    CHECK_OK(rgm_tensor_create(&other, RGM_F64, 1, &four));
    swapped[2] = other;
    CHECK_STATUS(RGM_ERR_SHAPE, rgm_optimizer_step(optimizer, f.parameters, swapped, 1));
    CHECK_MESSAGE("'b/kernel' is f64[4], but should be f64[1]");
    CHECK_STATUS(RGM_ERR_ARG, rgm_optimizer_step(optimizer, f.parameters, f.gradients, -1));
    CHECK_STATUS(RGM_ERR_ARG, rgm_optimizer_step(optimizer, f.parameters, f.gradients, INT64_MAX));
    CHECK(rgm_tensor_equal(before, rgm_parameters_tensor(f.parameters, 0)));
    rgm_tensor_release(before);
    rgm_tensor_release(other);
    rgm_optimizer_release(optimizer);
    teardown(&f);
}

/* The rate carries a weight, or the gradient's square a slot, beyond the largest float. */
static void an_update_that_overflows_is_named(void **state)
{
    int64_t count;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);

    (void)state;
    for (int64_t t = 0; t < 2 * count; t++) {
        bool slot = t >= count;
        rgm_optimizer_options o = {.type = types[t % count]};
        rgm_optimizer *optimizer;
        fixture f;

        if (slot && strcmp(o.type->name, "adam") != 0)
            continue;
        o.type->defaults(&o);
        o.learning_rate = rgm_schedule_constant(slot ? 1e-3 : 1e42);
        setup(&f, RGM_F32);
        for (int p = 0; p < 3; p++)
            rgm_tensor_f32(f.gradients[p])[0] = slot && p == 1 ? 1e25F : 1;
        CHECK_OK(rgm_optimizer_create(&optimizer, &o, f.parameters));
        CHECK(!rgm_optimizer_is_spoiled(optimizer));
        CHECK_STATUS(RGM_ERR_NUMERIC, rgm_optimizer_step(optimizer, f.parameters, f.gradients, 1));
        CHECK_MESSAGE(slot ? "the update of 'a/bias' overflows"
                           : "the update of 'a/kernel' overflows: its rate is 1e+42");
        CHECK(rgm_optimizer_is_spoiled(optimizer));
        rgm_optimizer_release(optimizer);
        teardown(&f);
    }
}

static void a_parameter_without_gradient_stays(void **state)
{
    rgm_optimizer_options o = rgm_adamw(1, 0.5);
    rgm_optimizer *optimizer = NULL;
    rgm_tensor *some[3], *before = NULL;
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    fill_gradients(&f, 0);
    CHECK_OK(rgm_optimizer_create(&optimizer, &o, f.parameters));
    CHECK_OK(rgm_tensor_copy(&before, rgm_parameters_tensor(f.parameters, 0)));
    memcpy(some, f.gradients, sizeof some);
    some[0] = NULL;
    CHECK_OK(rgm_optimizer_step(optimizer, f.parameters, some, 0));
    CHECK(rgm_tensor_equal(before, rgm_parameters_tensor(f.parameters, 0)));
    rgm_tensor_release(before);
    rgm_optimizer_release(optimizer);
    teardown(&f);
}

/* ---- slots ---- */

static const char *slot_path(const char *folder)
{
    static char path[128];

    snprintf(path, sizeof path, "%s/slots.safetensors", folder);
    remove(path);
    return path;
}

static void save_slots(const rgm_optimizer *optimizer, const char *path)
{
    rgm_named_tensor slots[8];
    int64_t count = rgm_optimizer_slot_count(optimizer);

    CHECK(count <= 8);
    for (int64_t i = 0; i < count; i++)
        slots[i] = rgm_optimizer_slot(optimizer, i);
    CHECK_OK(rgm_safetensors_save(path, slots, count, NULL, 0));
}

static void a_restored_optimizer_goes_on_with_the_same_bits(void **state)
{
    const char *folder = check_folder(), *path = slot_path(folder);
    rgm_optimizer_options o = rgm_adam(0.05);
    rgm_optimizer *first = NULL, *second = NULL;
    rgm_safetensors *file = NULL;
    rgm_tensor *saved[3], *end[3];
    fixture f;

    (void)state;
    setup(&f, RGM_F64);
    CHECK_OK(rgm_optimizer_create(&first, &o, f.parameters));
    CHECK_INT(6, rgm_optimizer_slot_count(first));
    CHECK_TEXT("adam/m/a/kernel", rgm_optimizer_slot(first, 0).name);
    CHECK_TEXT("adam/v/b/kernel", rgm_optimizer_slot(first, 5).name);
    for (int64_t step = 0; step < 20; step++) {
        if (step == 10) {
            save_slots(first, path);
            for (int p = 0; p < 3; p++)
                CHECK_OK(rgm_tensor_copy(&saved[p], rgm_parameters_tensor(f.parameters, p)));
        }
        fill_gradients(&f, step);
        CHECK_OK(rgm_optimizer_step(first, f.parameters, f.gradients, step));
    }
    for (int p = 0; p < 3; p++) {
        rgm_tensor *w = rgm_parameters_tensor(f.parameters, p);

        CHECK_OK(rgm_tensor_copy(&end[p], w));
        memcpy(rgm_tensor_data(w), rgm_tensor_data(saved[p]), rgm_tensor_bytes(w));
    }
    CHECK_OK(rgm_optimizer_create(&second, &o, f.parameters));
    CHECK_OK(rgm_safetensors_open(&file, path));
    CHECK_OK(rgm_optimizer_restore(second, file));
    for (int64_t step = 10; step < 20; step++) {
        fill_gradients(&f, step);
        CHECK_OK(rgm_optimizer_step(second, f.parameters, f.gradients, step));
    }
    for (int p = 0; p < 3; p++) {
        CHECK(rgm_tensor_equal(end[p], rgm_parameters_tensor(f.parameters, p)));
        rgm_tensor_release(end[p]);
        rgm_tensor_release(saved[p]);
    }
    rgm_safetensors_close(file);
    rgm_optimizer_release(first);
    rgm_optimizer_release(second);
    teardown(&f);
    CHECK_OK(rgm_folder_remove(folder));
}

static void slots_of_another_optimizer_are_refused(void **state)
{
    const char *folder = check_folder(), *path = slot_path(folder);
    rgm_optimizer_options adam = rgm_adam(0.05), sgd = rgm_sgd(1, 0.5), plain_sgd = rgm_sgd(1, 0);
    rgm_optimizer *from = NULL, *to = NULL;
    rgm_safetensors *file = NULL;
    fixture f, g;

    (void)state;
    setup(&f, RGM_F64);
    setup(&g, RGM_F32);
    CHECK_OK(rgm_optimizer_create(&from, &adam, f.parameters));
    save_slots(from, path);
    CHECK_OK(rgm_safetensors_open(&file, path));
    CHECK_OK(rgm_optimizer_create(&to, &sgd, f.parameters));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgm_optimizer_restore(to, file));
    CHECK_MESSAGE("sgd/momentum/a/kernel");
    rgm_optimizer_release(to);
    CHECK_OK(rgm_optimizer_create(&to, &plain_sgd, f.parameters));
    CHECK_INT(0, rgm_optimizer_slot_count(to));
    CHECK_STATUS(RGM_ERR_DATA, rgm_optimizer_restore(to, file));
    CHECK_MESSAGE("adam/");
    rgm_optimizer_release(to);
    CHECK_OK(rgm_optimizer_create(&to, &adam, g.parameters));
    CHECK_STATUS(RGM_ERR_DTYPE, rgm_optimizer_restore(to, file));
    rgm_optimizer_release(to);
    rgm_safetensors_close(file);
    rgm_optimizer_release(from);
    teardown(&f);
    teardown(&g);
    CHECK_OK(rgm_folder_remove(folder));
}

static void creating_survives_every_failing_allocation(void **state)
{
    rgm_optimizer_options o = rgm_adam(0.05);
    rgm_optimizer *optimizer = NULL;
    fixture f;

    (void)state;
    setup(&f, RGM_F32);
    CHECK_EVERY_OOM(rgm_optimizer_create(&optimizer, &o, f.parameters),
                    rgm_optimizer_release(optimizer));
    teardown(&f);
}

static void every_listed_type_is_found_by_its_name(void **state)
{
    int64_t count;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);
    rgm_optimizer_options o;

    (void)state;
    for (int64_t i = 0; i < count; i++) {
        CHECK(rgm_optimizer_find(types[i]->name) == types[i]);
        types[i]->defaults(&o);
        CHECK(o.type == types[i]);
    }
    CHECK(rgm_optimizer_find("lion") == NULL);
}

TESTS(cmocka_unit_test(sgd_follows_pytorchs_formulas_for_a_hundred_steps),
      cmocka_unit_test(adam_follows_keras_and_pytorchs_formulas_for_a_hundred_steps),
      cmocka_unit_test(adamw_decays_by_the_scheduled_rate),
      cmocka_unit_test(with_epsilon_0_what_has_no_gradient_stays),
      cmocka_unit_test(clipping_scales_by_the_global_norm),
      cmocka_unit_test(only_parameters_that_the_patterns_name_decay),
      cmocka_unit_test(patterns_that_match_nothing_are_refused),
      cmocka_unit_test(patterns_of_states_alone_are_refused),
      cmocka_unit_test(a_state_is_never_moved),
      cmocka_unit_test(a_decay_pattern_that_matches_nothing_is_refused),
      cmocka_unit_test(a_bad_gradient_is_named_and_changes_nothing),
      cmocka_unit_test(an_update_that_overflows_is_named),
      cmocka_unit_test(a_parameter_without_gradient_stays),
      cmocka_unit_test(a_restored_optimizer_goes_on_with_the_same_bits),
      cmocka_unit_test(slots_of_another_optimizer_are_refused),
      cmocka_unit_test(creating_survives_every_failing_allocation),
      cmocka_unit_test(every_listed_type_is_found_by_its_name))
