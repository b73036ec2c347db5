/*
 * Convolution as dense products. The taps of a block of places are laid side by side (im2col), one
 * row a place, and multiplied with the kernel while they are in the cache; a block is fixed by the
 * shape. The gradient of the input is a convolution again, with the kernel turned around, where the
 * stride is 1; else the product gives the taps' gradients, which are added where they came from,
 * image by image. The gradient of the kernel is a long sum over places: slices fixed by the shape,
 * added in order.
 */

#define CONV_PATCHES (96 * 1024) /* floats of a block of patches: they stay in L2     */
#define CONV_LEAST   64          /* places of a block                                 */
#define CONV_MOST    1024
#define CONV_SLICES  16                /* of the kernel's gradient                          */
#define CONV_PARTIAL (4 * 1024 * 1024) /* floats of all slices                              */

typedef struct conv_job {
    const rgm_conv2d_args *o;
    int64_t depth;         /* taps * channels: a row of patches                           */
    int64_t places, block; /* places in all, and of a block                               */
    int64_t group;         /* images of one task                                          */
    int64_t slices, slice; /* number of slices, and their places                          */
    float *turned;         /* the kernel with channels and filters exchanged              */
    float *partial;
    atomic_bool failed;
} conv_job;

static conv_job conv_plan(const rgm_conv2d_args *o)
{
    const rgm_window *w = &o->window;
    conv_job g = {.o = o, .places = rgmi_places(w)};

    g.depth = w->size[0] * w->size[1] * w->channels;
    g.block = CONV_PATCHES / rgmi_max(1, g.depth);
    g.block = rgmi_min(CONV_MOST, rgmi_max(CONV_LEAST, g.block));
    return g;
}

/* Every place sees its own pixel and no other: the images are the patches. */
static bool conv_is_product(const rgm_window *w)
{
    return w->size[0] * w->size[1] == 1 && w->stride[0] == 1 && w->stride[1] == 1 &&
           w->before[0] == 0 && w->before[1] == 0 && w->in[0] == w->out[0] && w->in[1] == w->out[1];
}

static inline void copy_floats(float *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        v_store_n(dst + i, v_load_n(src + i, n - i), n - i);
}

static inline void add_floats(float *dst, const float *src, int64_t n)
{
    for (int64_t i = 0; i < n; i += LANES)
        v_store_n(dst + i, v_add(v_load_n(dst + i, n - i), v_load_n(src + i, n - i)), n - i);
}

/* Taps [from, to) of place j are inside, and next to each other in memory. */
static inline void taps_inside(const rgm_window *w, int64_t j, int64_t *from, int64_t *to)
{
    int64_t first = j * w->stride[1] - w->before[1];

    *from = rgmi_min(w->size[1], rgmi_max(0, -first));
    *to = rgmi_max(*from, rgmi_min(w->size[1], w->in[1] - first));
}

static inline void conv_multiply(const rgm_conv2d_args *o, const rgm_matmul_args *multiply)
{
    (o->matmul ? o->matmul : matmul)(multiply);
}

/* The taps in one row of the window at place j: row [size[1]][channels] from image row x. */
static inline void row_patch(float *dst, const float *x, const rgm_window *w, int64_t j)
{
    int64_t from, to, n = w->channels;

    if (w->dilation[1] == 1) {
        taps_inside(w, j, &from, &to);
        memset(dst, 0, (size_t)(from * n) * sizeof(float));
        copy_floats(dst + from * n, x + (j * w->stride[1] - w->before[1] + from) * n,
                    (to - from) * n);
        memset(dst + to * n, 0, (size_t)((w->size[1] - to) * n) * sizeof(float));
        return;
    }
    for (int64_t t = 0; t < w->size[1]; t++) {
        int64_t c = rgmi_tap(w, 1, j, t);
        if (c < 0)
            memset(dst + t * n, 0, (size_t)n * sizeof(float));
        else
            copy_floats(dst + t * n, x + c * n, n);
    }
}

/* dst [end - begin][depth]: the taps of places begin to end. */
static void patches_of(float *dst, const rgm_window *w, const float *x, int64_t begin, int64_t end)
{
    int64_t row = w->size[1] * w->channels, line = w->in[1] * w->channels;

    for (int64_t p = begin; p < end; p++) {
        int64_t j = p % w->out[1], i = p / w->out[1] % w->out[0];
        const float *image = x + p / w->out[1] / w->out[0] * w->in[0] * line;
        for (int64_t t = 0; t < w->size[0]; t++, dst += row) {
            int64_t r = rgmi_tap(w, 0, i, t);
            if (r < 0)
                memset(dst, 0, (size_t)row * sizeof(float));
            else
                row_patch(dst, image + r * line, w, j);
        }
    }
}

/* ---- forward ---- */

static void conv_blocks(void *payload, int64_t begin, int64_t end)
{
    conv_job *g = payload;
    const rgm_conv2d_args *o = g->o;
    float *patches = rgmi_scratch_take((size_t)(g->block * g->depth) * sizeof(float));
    rgm_matmul_args multiply = {.a = patches,
                                .b = o->w,
                                .n = o->filters,
                                .k = g->depth,
                                .lda = g->depth,
                                .ldb = o->filters,
                                .ldc = o->filters,
                                .batch = 1};

    if (patches == NULL)
        atomic_store(&g->failed, true);
    for (int64_t b = begin; b < end && patches; b++) {
        int64_t from = b * g->block, to = rgmi_min(g->places, from + g->block);
        patches_of(patches, &o->window, o->x, from, to);
        multiply.c = (float *)o->y + from * o->filters;
        multiply.m = to - from;
        conv_multiply(o, &multiply);
    }
    rgmi_scratch_give(patches);
}

static bool conv_run(const rgm_conv2d_args *o)
{
    conv_job g = conv_plan(o);

    rgm_parallel(rgmi_blocks(g.places, g.block),
                 (double)(g.block * g.depth) * (double)o->filters / 20, conv_blocks, &g);
    return !atomic_load(&g.failed);
}

static void conv2d(const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    rgm_matmul_args multiply = {.c = args->y,
                                .a = args->x,
                                .b = args->w,
                                .m = rgmi_places(w),
                                .n = args->filters,
                                .k = w->channels,
                                .lda = w->channels,
                                .ldb = args->filters,
                                .ldc = args->filters,
                                .batch = 1};

    if (conv_is_product(w))
        conv_multiply(args, &multiply);
    else if (!conv_run(args))
        rgmi_reference_f32.conv2d(args);
}

/* ---- gradient of the input ---- */

/* turned [taps][filters][channels] of w [taps][channels][filters], the taps in reverse. */
static void kernel_turn(float *turned, const rgm_conv2d_args *o)
{
    int64_t taps = o->window.size[0] * o->window.size[1], n = o->window.channels;

    for (int64_t t = 0; t < taps; t++) {
        const float *from = (const float *)o->w + (taps - 1 - t) * n * o->filters;
        float *to = turned + t * n * o->filters;
        for (int64_t k = 0; k < n; k++)
            for (int64_t f = 0; f < o->filters; f++)
                to[f * n + k] = from[k * o->filters + f];
    }
}

/* Stride 1: dx is the convolution of dy with the kernel turned around. */
static void conv_input_by_conv(const rgm_conv2d_args *o, float *turned)
{
    rgm_conv2d_args back = *o;
    rgm_window *w = &back.window;

    kernel_turn(turned, o);
    back.x = o->dy;
    back.w = turned;
    back.filters = o->window.channels;
    w->channels = o->filters;
    for (int axis = 0; axis < 2; axis++) {
        w->in[axis] = o->window.out[axis];
        w->out[axis] = o->window.in[axis];
        w->before[axis] = (w->size[axis] - 1) * w->dilation[axis] - w->before[axis];
    }
    conv2d(&back);
}

/* Add patches [end - begin][depth] where their taps are: the reverse of patches_of(). */
static void patches_add(float *dx, const rgm_window *w, const float *patches, int64_t begin,
                        int64_t end)
{
    int64_t row = w->size[1] * w->channels, line = w->in[1] * w->channels;

    for (int64_t p = begin; p < end; p++) {
        int64_t j = p % w->out[1], i = p / w->out[1] % w->out[0];
        float *image = dx + p / w->out[1] / w->out[0] * w->in[0] * line;
        for (int64_t t = 0; t < w->size[0]; t++, patches += row) {
            int64_t r = rgmi_tap(w, 0, i, t);
            for (int64_t s = 0; r >= 0 && s < w->size[1]; s++) {
                int64_t c = rgmi_tap(w, 1, j, s);
                if (c >= 0)
                    add_floats(image + r * line + c * w->channels, patches + s * w->channels,
                               w->channels);
            }
        }
    }
}

/* Gradients of the patches of places begin to end. */
static void patch_gradients(float *patches, const conv_job *g, int64_t begin, int64_t end)
{
    const rgm_conv2d_args *o = g->o;
    rgm_matmul_args multiply = {.c = patches,
                                .a = (const float *)o->dy + begin * o->filters,
                                .b = g->turned,
                                .m = end - begin,
                                .n = g->depth,
                                .k = o->filters,
                                .lda = o->filters,
                                .ldb = g->depth,
                                .ldc = g->depth,
                                .batch = 1};

    conv_multiply(o, &multiply);
}

static void conv_groups(void *payload, int64_t begin, int64_t end)
{
    conv_job *g = payload;
    const rgm_conv2d_args *o = g->o;
    const rgm_window *w = &o->window;
    int64_t size = w->in[0] * w->in[1] * w->channels, places = w->out[0] * w->out[1];
    float *patches = rgmi_scratch_take((size_t)(g->block * g->depth) * sizeof(float));

    if (patches == NULL)
        atomic_store(&g->failed, true);
    for (int64_t t = begin; t < end && patches; t++) {
        int64_t first = t * g->group, last = rgmi_min(w->count, first + g->group);
        memset((float *)o->y + first * size, 0, (size_t)((last - first) * size) * sizeof(float));
        for (int64_t p = first * places; p < last * places; p += g->block) {
            int64_t to = rgmi_min(last * places, p + g->block);
            patch_gradients(patches, g, p, to);
            patches_add(o->y, w, patches, p, to);
        }
    }
    rgmi_scratch_give(patches);
}

/* The kernel as [filters][taps * channels]: what dy is multiplied with. */
static void kernel_transpose(float *turned, const rgm_conv2d_args *o, int64_t depth)
{
    for (int64_t k = 0; k < depth; k++)
        for (int64_t f = 0; f < o->filters; f++)
            turned[f * depth + k] = ((const float *)o->w)[k * o->filters + f];
}

static bool conv_input_by_images(const rgm_conv2d_args *o, float *turned)
{
    conv_job g = conv_plan(o);
    int64_t places = o->window.out[0] * o->window.out[1];

    kernel_transpose(turned, o, g.depth);
    g.turned = turned;
    g.group = rgmi_max(1, g.block / rgmi_max(1, places));
    rgm_parallel(rgmi_blocks(o->window.count, g.group),
                 (double)(g.group * places * g.depth) * (double)o->filters / 20, conv_groups, &g);
    return !atomic_load(&g.failed);
}

static void conv2d_grad_input(const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    int64_t depth = w->size[0] * w->size[1] * w->channels;
    float *turned = rgmi_scratch_take((size_t)(depth * args->filters) * sizeof(float));
    bool done = turned != NULL;

    if (done && w->stride[0] == 1 && w->stride[1] == 1)
        conv_input_by_conv(args, turned);
    else if (done)
        done = conv_input_by_images(args, turned);
    rgmi_scratch_give(turned);
    if (!done)
        rgmi_reference_f32.conv2d_grad_input(args);
}

/* ---- gradient of the kernel ---- */

typedef struct patch_job {
    float *patches;
    const rgm_window *window;
    const float *x;
    int64_t from, depth;
} patch_job;

static void patch_places(void *payload, int64_t begin, int64_t end)
{
    const patch_job *g = payload;

    patches_of(g->patches + begin * g->depth, g->window, g->x, g->from + begin, g->from + end);
}

static void conv_slices(void *payload, int64_t begin, int64_t end)
{
    conv_job *g = payload;
    const rgm_conv2d_args *o = g->o;
    float *patches = rgmi_scratch_take((size_t)(g->block * g->depth) * sizeof(float));
    patch_job job = {.patches = patches, .window = &o->window, .x = o->x, .depth = g->depth};

    if (patches == NULL)
        atomic_store(&g->failed, true);
    for (int64_t s = begin; s < end && patches; s++) {
        int64_t last = rgmi_min(g->places, (s + 1) * g->slice);
        rgm_matmul_args multiply = {.c = g->partial + s * g->depth * o->filters,
                                    .a = patches,
                                    .m = g->depth,
                                    .n = o->filters,
                                    .lda = g->depth,
                                    .ldb = o->filters,
                                    .ldc = o->filters,
                                    .batch = 1,
                                    .trans_a = true};
        for (int64_t p = s * g->slice; p < last; p += g->block) {
            multiply.k = rgmi_min(g->block, last - p);
            multiply.b = (const float *)o->dy + p * o->filters;
            multiply.accumulate = p > s * g->slice;
            job.from = p;
            rgm_parallel(multiply.k, (double)g->depth / 4, patch_places, &job);
            conv_multiply(o, &multiply);
        }
    }
    rgmi_scratch_give(patches);
}

static void slices_sum(void *payload, int64_t begin, int64_t end)
{
    const conv_job *g = payload;
    int64_t size = g->depth * g->o->filters;

    for (int64_t i = begin * RGMI_SUM_BLOCK; i < rgmi_min(size, end * RGMI_SUM_BLOCK); i += LANES) {
        int64_t left = rgmi_min(size, end * RGMI_SUM_BLOCK) - i;
        vf sum = v_load_n(g->partial + i, left);
        for (int64_t s = 1; s < g->slices; s++)
            sum = v_add(sum, v_load_n(g->partial + s * size + i, left));
        v_store_n((float *)g->o->y + i, sum, left);
    }
}

static bool conv_kernel_run(const rgm_conv2d_args *o)
{
    conv_job g = conv_plan(o);
    int64_t size = g.depth * o->filters;

    g.slices = rgmi_min(CONV_SLICES, rgmi_min(g.places / CONV_LEAST, CONV_PARTIAL / size));
    g.slices = rgmi_max(1, g.slices);
    g.slice = rgmi_blocks(g.places, g.slices);
    g.slices = rgmi_blocks(g.places, g.slice);
    g.partial = g.slices > 1 ? rgmi_scratch_take((size_t)(g.slices * size) * sizeof(float)) : o->y;
    if (g.partial == NULL)
        return false;
    rgm_parallel(g.slices, (double)(g.slice * g.depth) * (double)o->filters / 20, conv_slices, &g);
    if (g.slices > 1) {
        if (!atomic_load(&g.failed))
            rgm_parallel(rgmi_blocks(size, RGMI_SUM_BLOCK), (double)g.slices * RGMI_SUM_BLOCK / 8,
                         slices_sum, &g);
        rgmi_scratch_give(g.partial);
    }
    return !atomic_load(&g.failed);
}

static void conv2d_grad_kernel(const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    int64_t depth = w->size[0] * w->size[1] * w->channels;
    rgm_matmul_args multiply = {.c = args->y,
                                .a = args->x,
                                .b = args->dy,
                                .m = depth,
                                .n = args->filters,
                                .k = rgmi_places(w),
                                .lda = w->channels,
                                .ldb = args->filters,
                                .ldc = args->filters,
                                .batch = 1,
                                .trans_a = true};

    if (depth * args->filters == 0)
        return;
    if (rgmi_places(w) == 0)
        memset(args->y, 0, (size_t)(depth * args->filters) * sizeof(float));
    else if (conv_is_product(w))
        conv_multiply(args, &multiply);
    else if (!conv_kernel_run(args))
        rgmi_reference_f32.conv2d_grad_kernel(args);
}
