/*
 * Cases of kernels of images: convolution and pooling.
 * Included by kernels_cases.h.
 */
#ifndef RGM_KERNELS_CASES_IMAGE_H
#define RGM_KERNELS_CASES_IMAGE_H

/* What same and valid padding give, and windows that reach far outside. */
static void draw_window(run *t, rgm_window *w, bool dilated)
{
    w->count = PICK(t, 0, 1, 2, 3, 7, 20);
    w->channels = PICK(t, 1, 2, 3, 8, 15, 16, 17, 33);
    for (int axis = 0; axis < 2; axis++) {
        int64_t reach, behind;

        w->in[axis] = PICK(t, 1, 2, 3, 5, 8, 11, 14);
        w->stride[axis] = PICK(t, 1, 1, 1, 2, 3);
        w->dilation[axis] = dilated ? PICK(t, 1, 1, 1, 2, 3) : 1;
        do {
            w->size[axis] = PICK(t, 1, 2, 3, 3, 5);
            reach = (w->size[axis] - 1) * w->dilation[axis];
            w->before[axis] = reach / w->dilation[axis] > 0 ? draw_below(t, reach + 1) : 0;
            behind = w->before[axis] > 0 ? draw_below(t, reach + 1) : 0;
        } while (w->in[axis] + w->before[axis] + behind <= reach || reach > w->in[axis]);
        w->out[axis] = (w->in[axis] + w->before[axis] + behind - reach - 1) / w->stride[axis] + 1;
    }
}

static int64_t pixels(const rgm_window *w)
{
    return w->count * w->in[0] * w->in[1] * w->channels;
}

/* Variants 0 and 1: a layer of a network, and one whose kernel is large beside its images. */
static void draw_conv2d(run *t, rgm_conv2d_args *o)
{
    rgm_window *w = &o->window;

    draw_window(t, w, true);
    o->filters = PICK(t, 1, 2, 7, 16, 17, 40);
    if (t->variant > 1)
        return;
    *w = (rgm_window){.count = 16,
                      .channels = t->variant == 0 ? 32 : 200,
                      .in = {8, 8},
                      .out = {8, 8},
                      .size = {3, 3},
                      .stride = {1, 1},
                      .dilation = {1, 1},
                      .before = {1, 1}};
    o->filters = t->variant == 0 ? 64 : 70;
}

static void conv2d_case(run *t)
{
    rgm_conv2d_args o = {.y = NULL};
    const rgm_window *w = &o.window;

    draw_conv2d(t, &o);
    o.x = in(t, pixels(w));
    o.w = in(t, w->size[0] * w->size[1] * w->channels * o.filters);
    o.y = out(t, rgmi_places(w) * o.filters, NULL);
    t->kernels->conv2d(&o);
}

static void conv2d_grad_input_case(run *t)
{
    rgm_conv2d_args o = {.y = NULL};
    const rgm_window *w = &o.window;

    draw_conv2d(t, &o);
    o.w = in(t, w->size[0] * w->size[1] * w->channels * o.filters);
    o.dy = in(t, rgmi_places(w) * o.filters);
    o.y = out(t, pixels(w), NULL);
    t->kernels->conv2d_grad_input(&o);
}

static void conv2d_grad_kernel_case(run *t)
{
    rgm_conv2d_args o = {.y = NULL};
    const rgm_window *w = &o.window;

    draw_conv2d(t, &o);
    o.x = in(t, pixels(w));
    o.dy = in(t, rgmi_places(w) * o.filters);
    o.y = out(t, w->size[0] * w->size[1] * w->channels * o.filters, NULL);
    t->kernels->conv2d_grad_kernel(&o);
}

static void max_pool2d_case(run *t)
{
    rgm_pool2d_args o = {.y = NULL};

    draw_window(t, &o.window, false);
    o.x = in(t, pixels(&o.window));
    o.y = out(t, rgmi_places(&o.window) * o.window.channels, NULL);
    t->kernels->max_pool2d(&o);
}

/* Half of the variants have ties: small whole numbers. */
static void max_pool2d_grad_case(run *t)
{
    rgm_pool2d_args o = {.y = NULL};
    void *x, *y;

    draw_window(t, &o.window, false);
    x = in(t, pixels(&o.window));
    for (int64_t i = 0; t->variant % 2 && i < pixels(&o.window); i++)
        put(t, x, i, floor(get(t, x, i)));
    o.dy = in(t, rgmi_places(&o.window) * o.window.channels);
    y = in(t, rgmi_places(&o.window) * o.window.channels);
    o.x = x;
    o.y = y;
    t->kernels->max_pool2d(&o);
    o.y_forward = y;
    o.y = out(t, pixels(&o.window), NULL);
    t->kernels->max_pool2d_grad(&o);
}

static void avg_pool2d_case(run *t)
{
    rgm_pool2d_args o = {.y = NULL};

    draw_window(t, &o.window, false);
    o.x = in(t, pixels(&o.window));
    o.y = out(t, rgmi_places(&o.window) * o.window.channels, NULL);
    t->kernels->avg_pool2d(&o);
}

static void avg_pool2d_grad_case(run *t)
{
    rgm_pool2d_args o = {.y = NULL};

    draw_window(t, &o.window, false);
    o.dy = in(t, rgmi_places(&o.window) * o.window.channels);
    o.y = out(t, pixels(&o.window), NULL);
    t->kernels->avg_pool2d_grad(&o);
}

#endif
