/* Pools over images, some channels at a time: the taps of a place are as many vectors. */

/* Row `r` of the image that place row `line` (over all images) belongs to. */
static inline const float *pool_row(const float *x, const rgm_window *w, int64_t line, int64_t r)
{
    return x + (line / w->out[0] * w->in[0] + r) * w->in[1] * w->channels;
}

static inline double pool_cost(const rgm_window *w)
{
    return (double)(w->size[0] * w->size[1]) * (double)(w->channels + LANES) / 8;
}

/* One place: the largest of the taps inside (row by row), or their sum times `scale`. */
static inline void pool_place(float *y, const rgm_pool2d_args *o, int64_t line, int64_t j, bool max,
                              float scale)
{
    const rgm_window *w = &o->window;

    for (int64_t k = 0; k < w->channels; k += LANES) {
        int64_t left = w->channels - k;
        vf all = v_zero();
        bool any = false;
        for (int64_t t = 0; t < w->size[0]; t++) {
            int64_t r = rgmi_tap(w, 0, line % w->out[0], t);
            for (int64_t s = 0; r >= 0 && s < w->size[1]; s++) {
                int64_t c = rgmi_tap(w, 1, j, s);
                if (c < 0)
                    continue;
                vf x = v_load_n(pool_row(o->x, w, line, r) + c * w->channels + k, left);
                all = !any ? x : max ? v_max(x, all) : v_add(all, x);
                any = true;
            }
        }
        v_store_n(y + k, max ? all : v_mul(all, v_set1(scale)), left);
    }
}

static inline float pool_scale(const rgm_window *w, int64_t i, int64_t j)
{
    return 1 / (float)(rgmi_taps_inside(w, 0, i) * rgmi_taps_inside(w, 1, j));
}

static void max_pool2d_lines(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t line = begin; line < end; line++)
        for (int64_t j = 0; j < w->out[1]; j++)
            pool_place((float *)o->y + (line * w->out[1] + j) * w->channels, o, line, j, true, 1);
}

static void max_pool2d(const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count * w->out[0], pool_cost(w) * (double)w->out[1], max_pool2d_lines,
                 (void *)args);
}

static void avg_pool2d_lines(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t line = begin; line < end; line++)
        for (int64_t j = 0; j < w->out[1]; j++)
            pool_place((float *)o->y + (line * w->out[1] + j) * w->channels, o, line, j, false,
                       pool_scale(w, line % w->out[0], j));
}

static void avg_pool2d(const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count * w->out[0], pool_cost(w) * (double)w->out[1], avg_pool2d_lines,
                 (void *)args);
}

/* ---- gradients ---- */

/* dy of one place goes to the first tap that equals y: what is left of it is 0 afterwards. */
static inline void max_place_grad(const rgm_pool2d_args *o, int64_t line, int64_t j)
{
    const rgm_window *w = &o->window;
    int64_t place = (line * w->out[1] + j) * w->channels;

    for (int64_t k = 0; k < w->channels; k += LANES) {
        int64_t n = w->channels - k;
        vf y = v_load_n((const float *)o->y_forward + place + k, n);
        vf left = v_load_n((const float *)o->dy + place + k, n);
        for (int64_t t = 0; t < w->size[0]; t++) {
            int64_t r = rgmi_tap(w, 0, line % w->out[0], t);
            for (int64_t s = 0; r >= 0 && s < w->size[1]; s++) {
                int64_t c = rgmi_tap(w, 1, j, s);
                if (c < 0)
                    continue;
                const float *x = pool_row(o->x, w, line, r) + c * w->channels + k;
                float *dx = (float *)o->y + (x - (const float *)o->x);
                vm first = v_eq(v_load_n(x, n), y);
                v_store_n(dx, v_add(v_load_n(dx, n), v_select(first, left, v_zero())), n);
                left = v_select(first, v_zero(), left);
            }
        }
    }
}

/* An image's windows overlap: one after the other they add to its gradient. */
static void max_pool2d_grad_images(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;
    int64_t size = w->in[0] * w->in[1] * w->channels;

    memset((float *)o->y + begin * size, 0, (size_t)((end - begin) * size) * sizeof(float));
    for (int64_t line = begin * w->out[0]; line < end * w->out[0]; line++)
        for (int64_t j = 0; j < w->out[1]; j++)
            max_place_grad(o, line, j);
}

static void max_pool2d_grad(const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count, 2 * pool_cost(w) * (double)(w->out[0] * w->out[1]),
                 max_pool2d_grad_images, (void *)args);
}

/* dx of one pixel: its share of every window that it is in. */
static inline void avg_pixel_grad(const rgm_pool2d_args *o, int64_t line, int64_t c)
{
    const rgm_window *w = &o->window;
    int64_t image = line / w->in[0], pixel = (line * w->in[1] + c) * w->channels;

    for (int64_t k = 0; k < w->channels; k += LANES) {
        int64_t n = w->channels - k;
        vf sum = v_zero();
        for (int64_t t = 0; t < w->size[0]; t++) {
            int64_t i = rgmi_window_place(w, 0, line % w->in[0], t);
            for (int64_t s = 0; i >= 0 && s < w->size[1]; s++) {
                int64_t j = rgmi_window_place(w, 1, c, s);
                if (j < 0)
                    continue;
                int64_t place = (image * w->out[0] + i) * w->out[1] + j;
                sum = v_fma(v_load_n((const float *)o->dy + place * w->channels + k, n),
                            v_set1(pool_scale(w, i, j)), sum);
            }
        }
        v_store_n((float *)o->y + pixel + k, sum, n);
    }
}

static void avg_pool2d_grad_lines(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t line = begin; line < end; line++)
        for (int64_t c = 0; c < w->in[1]; c++)
            avg_pixel_grad(o, line, c);
}

static void avg_pool2d_grad(const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count * w->in[0], 2 * pool_cost(w) * (double)w->in[1], avg_pool2d_grad_lines,
                 (void *)args);
}
