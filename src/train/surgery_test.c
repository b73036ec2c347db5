/*
 * PCGrad: steps of conflicting losses equal those worked by hand and those of a plain C version of
 * the paper's algorithm 1. Parameters of only one loss, losses that layers add, and losses that
 * agree are treated as without it.
 */
#include "train_check.h"

enum { WIDE = 3, MOST_HEADS = 3 };
#define RATE 0.125

/* Head h: |w - to[h]|^2 / 2 for the shared w, and (u_h - 1)^2 / 2 for its own number, both 0 at
 * first; with `more`, layers add |w - l|^2 / 2. `of_gradient` replaces the first part by |d/dw |w -
 * to[h]|^2 / 2|^2 / 2, which is the same number, computed from a gradient that the model takes. */
typedef struct pulled {
    plane plane; /* first: its functions take it as their state */
    double to[MOST_HEADS][WIDE];
    int64_t heads;
    bool more, one_loss, of_gradient, alone;
} pulled;

static const double l_at[WIDE] = {0.25, 0.5, -1};

static rgm_value *away(rgm_value *w, const double *to)
{
    float numbers[WIDE];
    rgm_tensor *t;
    rgm_value *x;

    for (int i = 0; i < WIDE; i++)
        numbers[i] = (float)to[i];
    CHECK_OK(rgm_tensor_create_from(&t, RGM_F32, 1, (int64_t[]){WIDE}, numbers));
    x = rgm_constant(rgm_value_graph(w), t);
    rgm_tensor_release(t);
    return rgm_scale(rgm_sum(rgm_square(rgm_sub(w, x))), 0.5);
}

static rgm_value *pull(const pulled *t, rgm_value *w, int64_t h)
{
    rgm_value *loss = away(w, t->to[h]), *gradient;

    if (!t->of_gradient)
        return loss;
    CHECK_OK(rgm_cgraph_gradients(&gradient, loss, &w, 1));
    return rgm_scale(rgm_sum(rgm_square(gradient)), 0.5);
}

/* Replaces w if each head is `alone`. */
static rgm_value *own_of(rgm_scope *scope, int64_t h)
{
    const char *const names[MOST_HEADS] = {"w0", "w1", "w2"};

    return rgm_scope_parameter(scope, names[h], 1, (int64_t[]){WIDE},
                               (rgm_init){.kind = RGM_INIT_ZEROS});
}

static rgm_status pulled_model(rgm_task_model *out, rgm_scope *scope, void *state)
{
    const pulled *t = state;
    rgm_cgraph *graph = rgm_scope_graph(scope);
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    const rgm_init zeros = {.kind = RGM_INIT_ZEROS};
    rgm_value *w = rgm_scope_parameter(scope, "w", 1, (int64_t[]){WIDE}, zeros);

    *out = (rgm_task_model){.head_count = t->heads};
    ((pulled *)state)->plane.x_value = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, WIDTH});
    ((pulled *)state)->plane.label_value = rgm_input(graph, "label", RGM_I64, 1, &n);
    for (int64_t h = 0; h < t->heads; h++) {
        rgm_head *head = &out->heads[h];
        rgm_value *u;

        snprintf(head->name, sizeof head->name, "head%d", (int)h);
        u = rgm_scope_parameter(scope, head->name, 0, NULL, zeros);
        head->predictions = rgm_scale(t->plane.x_value, 1);
        head->labels = t->plane.label_value;
        head->loss_weight = h == 0 ? 1 : 2;
        if (h == 0 || !t->one_loss)
            head->loss = rgm_add(pull(t, t->alone ? own_of(scope, h) : w, h),
                                 rgm_scale(rgm_square(rgm_shift(u, -1)), 0.5));
    }
    if (t->more)
        rgm_scope_add_loss(scope, away(w, l_at));
    return RGM_OK;
}

static rgm_status open_pulled(rgm_trainer **out, pulled *t, bool surgery, const char *loss_scale)
{
    rgm_optimizer_options sgd = rgm_sgd(RATE, 0);
    rgm_trainer_options options;
    rgm_runtime_options runtime;
    rgm_task task = plane_task(&t->plane);
    rgm_trainer_setup setup = {.task = &task,
                               .options = &options,
                               .runtime = &runtime,
                               .optimizer = &sgd,
                               .endless = true};

    task.name = "pulled";
    task.state = t;
    task.build_model = pulled_model;
    rgm_trainer_defaults(&options);
    rgm_runtime_defaults(&runtime);
    options.train_steps = 10;
    options.gradient_surgery = surgery ? RGM_SURGERY_PCGRAD : RGM_SURGERY_NONE;
    runtime.loss_scale = loss_scale;
    return rgm_trainer_create(out, &setup);
}

/* ---- by hand ------------------------------------------------------------------------------- */

static double dot(const double *a, const double *b)
{
    double sum = 0;

    for (int i = 0; i < WIDE; i++)
        sum += a[i] * b[i];
    return sum;
}

static void step_by_hand(double *w, const pulled *t, bool surgery)
{
    double g[MOST_HEADS][WIDE], sum[WIDE] = {0};

    for (int64_t h = 0; h < t->heads; h++)
        for (int i = 0; i < WIDE; i++)
            g[h][i] = (h == 0 ? 1 : 2) * (w[i] - t->to[h][i]);
    for (int64_t h = 0; h < t->heads; h++) {
        double own[WIDE];

        memcpy(own, g[h], sizeof own);
        for (int64_t k = 1; k < t->heads && surgery; k++) {
            const double *other = g[(h + k) % t->heads];
            double along = dot(own, other);

            for (int i = 0; i < WIDE && along < 0; i++)
                own[i] -= along / dot(other, other) * other[i];
        }
        for (int i = 0; i < WIDE; i++)
            sum[i] += own[i];
    }
    for (int i = 0; i < WIDE; i++)
        w[i] -= RATE * (sum[i] + (t->more ? w[i] - l_at[i] : 0));
}

static void check_steps(pulled *t, bool surgery, const char *loss_scale)
{
    double w[WIDE] = {0}, u[2] = {0};
    const rgm_parameters *parameters;
    rgm_trainer *trainer;

    CHECK_OK(open_pulled(&trainer, t, surgery, loss_scale));
    for (int step = 0; step < 4; step++) {
        train_steps(trainer, 1);
        step_by_hand(w, t, surgery);
        for (int h = 0; h < 2; h++)
            u[h] -= RATE * (h == 0 ? 1 : 2) * (u[h] - 1);
        parameters = rgm_trainer_parameters(trainer);
        for (int i = 0; i < WIDE; i++)
            CHECK_CLOSE(rgm_tensor_at(rgm_parameters_find(parameters, "w"), i), w[i], 1e-5, 1e-6);
        CHECK_CLOSE(rgm_tensor_at(rgm_parameters_find(parameters, "head0"), 0), u[0], 1e-6, 0);
        CHECK_CLOSE(rgm_tensor_at(rgm_parameters_find(parameters, "head1"), 0), u[1], 1e-6, 0);
    }
    rgm_trainer_release(trainer);
}

/* ---- tests --------------------------------------------------------------------------------- */

static pulled make_pulled(int64_t heads)
{
    return (pulled){.plane = make_plane(false),
                    .to = {{1, 0, 0.5}, {-0.5, 0.5, 0}, {-0.25, -1, 0.75}},
                    .heads = heads};
}

/* Gradients (-1, 0) and (1, -1) become (-1/2, -1/2) and (0, -1). */
static void two_that_are_against_each_other_are_projected(void **state)
{
    pulled t = make_pulled(2);
    rgm_trainer *trainer;
    const rgm_tensor *w;

    (void)state;
    memcpy(t.to[0], (double[WIDE]){1, 0, 0}, sizeof t.to[0]);
    memcpy(t.to[1], (double[WIDE]){-0.5, 0.5, 0}, sizeof t.to[1]); /* its loss weighs 2 */
    CHECK_OK(open_pulled(&trainer, &t, true, NULL));
    train_steps(trainer, 1);
    w = rgm_parameters_find(rgm_trainer_parameters(trainer), "w");
    CHECK_CLOSE(rgm_tensor_at(w, 0), RATE * 0.5, 1e-6, 0);
    CHECK_CLOSE(rgm_tensor_at(w, 1), RATE * 1.5, 1e-6, 0);
    CHECK_CLOSE(rgm_tensor_at(w, 2), 0, 0, 1e-7);
    rgm_trainer_release(trainer);
    clear_plane(&t.plane);
}

static void steps_are_those_of_the_paper(void **state)
{
    (void)state;
    for (int form = 0; form < 32; form++) {
        pulled t = make_pulled(form & 1 ? 3 : 2);

        t.more = form & 2;
        t.of_gradient = form & 16;
        check_steps(&t, form & 4, form & 8 ? "1024" : NULL);
        clear_plane(&t.plane);
    }
}

/* No gradients conflict, so nothing is removed. */
static void those_that_agree_are_added(void **state)
{
    pulled t = make_pulled(2);
    double w[2][WIDE] = {{0}};

    (void)state;
    memcpy(t.to[1], (double[WIDE]){1, 1, 0.5}, sizeof t.to[1]);
    for (int surgery = 0; surgery < 2; surgery++) {
        step_by_hand(w[surgery], &t, surgery == 1);
        check_steps(&t, surgery == 1, NULL);
    }
    for (int i = 0; i < WIDE; i++)
        CHECK_CLOSE(w[0][i], w[1][i], 0, 0);
    clear_plane(&t.plane);
}

static void one_loss_is_refused(void **state)
{
    pulled t = make_pulled(2);
    rgm_trainer *trainer;

    (void)state;
    t.one_loss = true;
    CHECK_STATUS(RGM_ERR_CONFIG, open_pulled(&trainer, &t, true, NULL));
    CHECK_MESSAGE("pcgrad is between the losses of several tasks, but there is one");
    clear_plane(&t.plane);
}

static void count_warnings(int level, const char *message, void *payload)
{
    *(int *)payload += level == RGM_LOG_WARNING &&
                       strstr(message, "no two tasks' losses depend on the same") != NULL;
}

/* An error before the first step: heads share nothing that gradients could conflict over. */
static void heads_that_share_nothing_are_told(void **state)
{
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        pulled t = make_pulled(2);
        rgm_trainer *trainer;
        int warnings = 0;

        t.alone = alone;
        CHECK_OK(rgm_logger_add_sink(NULL, count_warnings, &warnings));
        CHECK_OK(open_pulled(&trainer, &t, true, NULL));
        rgm_logger_remove_sink(NULL, count_warnings, &warnings);
        CHECK_INT(alone, warnings);
        train_steps(trainer, 1);
        if (alone)
            for (int i = 0; i < WIDE; i++)
                CHECK_CLOSE(
                    rgm_tensor_at(rgm_parameters_find(rgm_trainer_parameters(trainer), "w1"), i),
                    RATE * 2 * t.to[1][i], 1e-6, 1e-7);
        rgm_trainer_release(trainer);
        clear_plane(&t.plane);
    }
}

TESTS(cmocka_unit_test(two_that_are_against_each_other_are_projected),
      cmocka_unit_test(steps_are_those_of_the_paper), cmocka_unit_test(those_that_agree_are_added),
      cmocka_unit_test(one_loss_is_refused), cmocka_unit_test(heads_that_share_nothing_are_told))
