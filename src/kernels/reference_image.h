/* Reference rows over images: convolution and pools. Part of reference.h. */

/* ---- convolution ---- */

static void conv2d_places(void *payload, int64_t begin, int64_t end)
{
    const rgm_conv2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t p = begin; p < end; p++) {
        int64_t image = p / (w->out[0] * w->out[1]), i = p / w->out[1] % w->out[0],
                j = p % w->out[1];
        const REAL *x = (const REAL *)o->x + image * w->in[0] * w->in[1] * w->channels;
        for (int64_t f = 0; f < o->filters; f++) {
            double sum = 0;
            for (int64_t t = 0; t < w->size[0] * w->size[1]; t++) {
                int64_t r = rgmi_tap(w, 0, i, t / w->size[1]);
                int64_t c = rgmi_tap(w, 1, j, t % w->size[1]);
                if (r < 0 || c < 0)
                    continue;
                const REAL *pixel = x + (r * w->in[1] + c) * w->channels;
                const REAL *kernel = (const REAL *)o->w + t * w->channels * o->filters + f;
                for (int64_t k = 0; k < w->channels; k++)
                    sum += (double)pixel[k] * kernel[k * o->filters];
            }
            ((REAL *)o->y)[p * o->filters + f] = (REAL)sum;
        }
    }
}

static inline double conv2d_cost(const rgm_conv2d_args *o)
{
    const rgm_window *w = &o->window;

    return (double)(w->size[0] * w->size[1] * w->channels) * (double)o->filters;
}

static void conv2d(const rgm_conv2d_args *args)
{
    rgm_parallel(rgmi_places(&args->window), conv2d_cost(args), conv2d_places, (void *)args);
}

static void conv2d_grad_pixels(void *payload, int64_t begin, int64_t end)
{
    const rgm_conv2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t p = begin; p < end; p++) {
        int64_t image = p / (w->in[0] * w->in[1]), r = p / w->in[1] % w->in[0], c = p % w->in[1];
        const REAL *dy = (const REAL *)o->dy + image * w->out[0] * w->out[1] * o->filters;
        for (int64_t k = 0; k < w->channels; k++) {
            double sum = 0;
            for (int64_t t = 0; t < w->size[0] * w->size[1]; t++) {
                int64_t i = rgmi_window_place(w, 0, r, t / w->size[1]);
                int64_t j = rgmi_window_place(w, 1, c, t % w->size[1]);
                if (i < 0 || j < 0)
                    continue;
                const REAL *kernel = (const REAL *)o->w + (t * w->channels + k) * o->filters;
                for (int64_t f = 0; f < o->filters; f++)
                    sum += (double)kernel[f] * dy[(i * w->out[1] + j) * o->filters + f];
            }
            ((REAL *)o->y)[p * w->channels + k] = (REAL)sum;
        }
    }
}

static void conv2d_grad_input(const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count * w->in[0] * w->in[1], conv2d_cost(args), conv2d_grad_pixels,
                 (void *)args);
}

static void conv2d_grad_taps(void *payload, int64_t begin, int64_t end)
{
    const rgm_conv2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t at = begin; at < end; at++) {
        int64_t t = at / w->channels, k = at % w->channels;
        for (int64_t f = 0; f < o->filters; f++) {
            double sum = 0;
            for (int64_t p = 0; p < rgmi_places(w); p++) {
                int64_t image = p / (w->out[0] * w->out[1]);
                int64_t r = rgmi_tap(w, 0, p / w->out[1] % w->out[0], t / w->size[1]);
                int64_t c = rgmi_tap(w, 1, p % w->out[1], t % w->size[1]);
                if (r < 0 || c < 0)
                    continue;
                int64_t pixel = (image * w->in[0] + r) * w->in[1] + c;
                sum += (double)((const REAL *)o->x)[pixel * w->channels + k] *
                       ((const REAL *)o->dy)[p * o->filters + f];
            }
            ((REAL *)o->y)[at * o->filters + f] = (REAL)sum;
        }
    }
}

static void conv2d_grad_kernel(const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->size[0] * w->size[1] * w->channels,
                 (double)rgmi_places(w) * (double)args->filters, conv2d_grad_taps, (void *)args);
}

/* ---- pools ---- */

/* The pixel, counted over all images, of tap t of place p; -1: outside. */
static inline int64_t pool_pixel(const rgm_window *w, int64_t p, int64_t t)
{
    int64_t r = rgmi_tap(w, 0, p / w->out[1] % w->out[0], t / w->size[1]);
    int64_t c = rgmi_tap(w, 1, p % w->out[1], t % w->size[1]);

    return r < 0 || c < 0 ? -1 : (p / w->out[1] / w->out[0] * w->in[0] + r) * w->in[1] + c;
}

static inline double pool_cost(const rgm_window *w)
{
    return (double)(w->size[0] * w->size[1]) * (double)w->channels;
}

static void max_pool2d_places(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t p = begin; p < end; p++)
        for (int64_t k = 0; k < w->channels; k++) {
            REAL most = 0;
            bool any = false;
            for (int64_t t = 0; t < w->size[0] * w->size[1]; t++) {
                int64_t pixel = pool_pixel(w, p, t);
                if (pixel < 0)
                    continue;
                REAL x = ((const REAL *)o->x)[pixel * w->channels + k];
                most = !any || x > most ? x : most;
                any = true;
            }
            ((REAL *)o->y)[p * w->channels + k] = most;
        }
}

static void max_pool2d(const rgm_pool2d_args *args)
{
    rgm_parallel(rgmi_places(&args->window), pool_cost(&args->window), max_pool2d_places,
                 (void *)args);
}

/* An image's windows overlap: one after the other they add to its gradient. */
static void max_pool2d_grad_images(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;
    int64_t size = w->in[0] * w->in[1] * w->channels, places = w->out[0] * w->out[1];
    REAL *dx = o->y;

    memset(dx + begin * size, 0, (size_t)((end - begin) * size) * sizeof(REAL));
    for (int64_t p = begin * places; p < end * places; p++)
        for (int64_t k = 0; k < w->channels; k++) {
            REAL most = ((const REAL *)o->y_forward)[p * w->channels + k];
            for (int64_t t = 0; t < w->size[0] * w->size[1]; t++) {
                int64_t pixel = pool_pixel(w, p, t);
                if (pixel < 0 || ((const REAL *)o->x)[pixel * w->channels + k] != most)
                    continue;
                dx[pixel * w->channels + k] += ((const REAL *)o->dy)[p * w->channels + k];
                break;
            }
        }
}

static void max_pool2d_grad(const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count, pool_cost(w) * (double)(w->out[0] * w->out[1]), max_pool2d_grad_images,
                 (void *)args);
}

static inline double pool_inside(const rgm_window *w, int64_t i, int64_t j)
{
    return (double)(rgmi_taps_inside(w, 0, i) * rgmi_taps_inside(w, 1, j));
}

static void avg_pool2d_places(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t p = begin; p < end; p++) {
        double inside = pool_inside(w, p / w->out[1] % w->out[0], p % w->out[1]);
        for (int64_t k = 0; k < w->channels; k++) {
            double sum = 0;
            for (int64_t t = 0; t < w->size[0] * w->size[1]; t++) {
                int64_t pixel = pool_pixel(w, p, t);
                sum += pixel < 0 ? 0 : ((const REAL *)o->x)[pixel * w->channels + k];
            }
            ((REAL *)o->y)[p * w->channels + k] = (REAL)(sum / inside);
        }
    }
}

static void avg_pool2d(const rgm_pool2d_args *args)
{
    rgm_parallel(rgmi_places(&args->window), pool_cost(&args->window), avg_pool2d_places,
                 (void *)args);
}

static void avg_pool2d_grad_pixels(void *payload, int64_t begin, int64_t end)
{
    const rgm_pool2d_args *o = payload;
    const rgm_window *w = &o->window;

    for (int64_t p = begin; p < end; p++) {
        int64_t image = p / (w->in[0] * w->in[1]), r = p / w->in[1] % w->in[0], c = p % w->in[1];
        const REAL *dy = (const REAL *)o->dy + image * w->out[0] * w->out[1] * w->channels;
        for (int64_t k = 0; k < w->channels; k++) {
            double sum = 0;
            for (int64_t t = 0; t < w->size[0] * w->size[1]; t++) {
                int64_t i = rgmi_window_place(w, 0, r, t / w->size[1]);
                int64_t j = rgmi_window_place(w, 1, c, t % w->size[1]);
                if (i >= 0 && j >= 0)
                    sum += dy[(i * w->out[1] + j) * w->channels + k] / pool_inside(w, i, j);
            }
            ((REAL *)o->y)[p * w->channels + k] = (REAL)sum;
        }
    }
}

static void avg_pool2d_grad(const rgm_pool2d_args *args)
{
    const rgm_window *w = &args->window;

    rgm_parallel(w->count * w->in[0] * w->in[1], pool_cost(w), avg_pool2d_grad_pixels,
                 (void *)args);
}
