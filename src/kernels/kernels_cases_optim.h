/*
 * Cases of the kernels that move parameters. A part of kernels_cases.h.
 */
#ifndef RGM_KERNELS_CASES_OPTIM_H
#define RGM_KERNELS_CASES_OPTIM_H

static int64_t draw_count(run *t)
{
    return PICK(t, 0, 1, 7, 8, 9, 1000, 2047, 2048, 2049, 50001);
}

/* Elements that no gradient has come to, and no epsilon to divide by. */
static void draw_untouched(run *t, rgm_adam_args *o, void *gradient)
{
    if (!draw_bool(t))
        return;
    o->epsilon = o->l2 = 0;
    for (int64_t i = 0; i < o->count; i += 3) {
        put(t, gradient, i, 0);
        put(t, o->v, i, 0);
        if (o->v_max != NULL)
            put(t, o->v_max, i, 0);
    }
}

static void adam_case(run *t)
{
    rgm_adam_args o = {.count = draw_count(t),
                       .rate = 1e-2,
                       .beta1 = 0.9,
                       .beta2 = 0.999,
                       .epsilon = 1e-7,
                       .gradient_scale = 0.5};
    void *v = in(t, o.count), *gradient;

    for (int64_t i = 0; i < o.count; i++)
        put(t, v, i, fabs(get(t, v, i)) + 0.01);
    o.l2 = draw_bool(t) ? 0.01 : 0;
    o.weight_decay_rate = draw_bool(t) ? 0.02 : 0;
    o.gradient = gradient = in(t, o.count);
    o.w = out(t, o.count, NULL);
    o.m = out(t, o.count, NULL);
    o.v = out(t, o.count, v);
    draw_untouched(t, &o, gradient);
    t->kernels->adam(&o);
}

static void sgd_case(run *t)
{
    rgm_sgd_args o = {.count = draw_count(t), .rate = 0.1, .momentum = 0.9, .gradient_scale = 2};

    o.l2 = draw_bool(t) ? 0.01 : 0;
    o.nesterov = draw_bool(t);
    o.gradient = in(t, o.count);
    o.w = out(t, o.count, NULL);
    o.m = draw_bool(t) ? out(t, o.count, NULL) : NULL;
    t->kernels->sgd(&o);
}

/* A slot that is nowhere below 0. */
static void *squares_out(run *t, int64_t count)
{
    void *v = in(t, count);

    for (int64_t i = 0; i < count; i++)
        put(t, v, i, fabs(get(t, v, i)) + 0.01);
    return out(t, count, v);
}

static void amsgrad_case(run *t)
{
    rgm_adam_args o = {.count = draw_count(t),
                       .rate = 1e-2,
                       .beta1 = 0.9,
                       .beta2 = 0.999,
                       .epsilon = 1e-7,
                       .gradient_scale = 0.5};
    void *gradient;

    o.l2 = draw_bool(t) ? 0.01 : 0;
    o.weight_decay_rate = draw_bool(t) ? 0.02 : 0;
    o.gradient = gradient = in(t, o.count);
    o.w = out(t, o.count, NULL);
    o.m = out(t, o.count, NULL);
    o.v = squares_out(t, o.count);
    o.v_max = squares_out(t, o.count);
    draw_untouched(t, &o, gradient);
    t->kernels->amsgrad(&o);
}

static void rmsprop_case(run *t)
{
    rgm_rmsprop_args o = {.count = draw_count(t),
                          .rate = 1e-2,
                          .rho = 0.9,
                          .momentum_kept = 0.8,
                          .epsilon = 1e-3,
                          .gradient_scale = 0.5};

    o.l2 = draw_bool(t) ? 0.01 : 0;
    o.gradient = in(t, o.count);
    o.w = out(t, o.count, NULL);
    o.square = squares_out(t, o.count);
    o.momentum = draw_bool(t) ? out(t, o.count, NULL) : NULL;
    if (draw_bool(t)) { /* a mean whose square is no larger */
        void *zero = keep(t, (size_t)o.count * element(t));
        o.mean = out(t, o.count, zero);
    }
    t->kernels->rmsprop(&o);
}

static void adagrad_case(run *t)
{
    rgm_adagrad_args o = {
        .count = draw_count(t), .rate = 1e-2, .epsilon = 1e-7, .gradient_scale = 0.5};

    o.l2 = draw_bool(t) ? 0.01 : 0;
    o.gradient = in(t, o.count);
    o.w = out(t, o.count, NULL);
    o.sum = squares_out(t, o.count);
    t->kernels->adagrad(&o);
}

static void lamb_direction_case(run *t)
{
    rgm_lamb_args o = {.count = draw_count(t),
                       .beta1 = 0.9,
                       .beta2 = 0.999,
                       .m_correction = 1.5,
                       .v_correction = 3,
                       .epsilon = 1e-6,
                       .gradient_scale = 0.5};

    o.weight_decay = draw_bool(t) ? 0.01 : 0;
    o.w = in(t, o.count);
    o.gradient = in(t, o.count);
    o.m = out(t, o.count, NULL);
    o.v = squares_out(t, o.count);
    o.y = out(t, o.count, NULL);
    t->kernels->lamb_direction(&o);
}

static void lars_direction_case(run *t)
{
    rgm_lars_args o = {.count = draw_count(t), .momentum = 0.9, .gradient_scale = 2};

    o.l2 = draw_bool(t) ? 0.01 : 0;
    o.nesterov = draw_bool(t);
    o.w = in(t, o.count);
    o.gradient = in(t, o.count);
    o.m = draw_bool(t) ? out(t, o.count, NULL) : NULL;
    o.y = out(t, o.count, NULL);
    t->kernels->lars_direction(&o);
}

static void adafactor_direction_case(run *t)
{
    rgm_adafactor_args o = {.keep = 0.7, .epsilon = 1e-8, .gradient_scale = 0.5};

    if (draw_bool(t)) {
        o.matrices = PICK(t, 1, 1, 2, 5);
        o.rows = PICK(t, 1, 2, 9, 130);
        o.columns = PICK(t, 1, 3, 63, 64, 65, 200);
        o.count = o.matrices * o.rows * o.columns;
        o.row = squares_out(t, o.matrices * o.rows);
        o.column = squares_out(t, o.matrices * o.columns);
    } else {
        o.count = draw_count(t);
        o.v = squares_out(t, o.count);
    }
    o.w = in(t, o.count);
    o.gradient = in(t, o.count);
    o.y = out(t, o.count, NULL);
    t->kernels->adafactor_direction(&o);
}

static void adafactor_move_case(run *t)
{
    rgm_adafactor_move_args o = {.count = draw_count(t), .length = 0.03, .beta1 = 0.9};

    o.decay = draw_bool(t) ? 0.01 : 0;
    o.direction = in(t, o.count);
    o.w = out(t, o.count, NULL);
    o.m = draw_bool(t) ? out(t, o.count, NULL) : NULL;
    t->kernels->adafactor_move(&o);
}

static void clip_case(run *t)
{
    rgm_clip_args o = {.count = draw_count(t), .limit = 0.4};

    o.x = in(t, o.count);
    o.y = out(t, o.count, NULL);
    t->kernels->clip(&o);
}

static void average_case(run *t)
{
    rgm_average_args o = {.count = draw_count(t), .rest = 0.1};

    o.w = in(t, o.count);
    o.average = out(t, o.count, draw_bool(t) ? o.w : NULL);
    t->kernels->average(&o);
}

static void swap_case(run *t)
{
    int64_t n = PICK(t, 0, 1, 7, 16, 60, 1000, 2047, 4096, 50001);
    unsigned char *a = bytes_out(t, n), *b = bytes_out(t, n);

    for (int64_t i = 0; i < n; i++) {
        a[i] = (unsigned char)draw(t);
        b[i] = (unsigned char)draw(t);
    }
    t->kernels->swap(&(rgm_swap_args){a, b, (size_t)n});
    show_bytes(t, a, n);
    show_bytes(t, b, n);
}

#endif
