/* Convolution and its gradients, as products: see conv.dev. */
#include "gpu_matmul.h"

enum { LANES = 256 };
#define MOST_PIXELS                                                                                \
    ((int64_t)1 << 30) /* of images in one launch: numbers of pixels are ints there */

RGMI_GPU_KERNEL(conv, conv_64x64);
RGMI_GPU_KERNEL(conv, conv_256x16);
RGMI_GPU_KERNEL(conv, conv_input_64x64);
RGMI_GPU_KERNEL(conv, conv_input_256x16);
RGMI_GPU_KERNEL(conv, conv_kernel_64x64);
RGMI_GPU_KERNEL(conv, conv_kernel_256x16);

/* Whether products are to be those of the table for bf16. */
static bool is_rounded(const rgm_conv2d_args *o)
{
    return o->matmul != NULL && o->matmul == rgmi_gpu_kernels(rgmi_gpu_device(), RGM_BF16)->matmul;
}

/* c [m, n] = or += a [m, k] * b [k, n], of which one is read through the window; real: RGM_BF16
 * rounds. */
static void launch(rgmi_gpu_kernel *narrow, rgmi_gpu_kernel *square, rgm_dtype real,
                   const rgm_matmul_args *o, const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    rgm_dtype table = real == RGM_BF16 ? RGM_F32 : real;
    size_t size = rgm_dtype_size(table);
    bool is_narrow = o->n <= 16;
    int64_t tiles = is_narrow ? rgmi_blocks(o->m, 256) * rgmi_blocks(o->n, 16)
                              : rgmi_blocks(o->m, 64) * rgmi_blocks(o->n, 64);
    int64_t slices;
    void *part = NULL;

    if (tiles == 0)
        return;
    slices = rgmi_gpu_slices(o, tiles, size);
    if (slices > 1 && (part = rgmi_gpu_take((size_t)(slices * o->m * o->n) * size)) == NULL)
        return;
    RGMI_LAUNCH(is_narrow ? narrow : square, table, tiles * slices, LANES, rgm_memory(o->c),
                rgm_memory(part), rgm_memory(o->a), rgm_memory(o->b), rgm_integer(o->m),
                rgm_integer(o->n), rgm_integer(o->k), rgm_integer(slices),
                rgm_integer(rgmi_gpu_slice_length(o->k, slices)), rgm_integer(o->accumulate),
                rgm_integer(real == RGM_BF16), rgm_integer(w->channels), rgm_integer(args->filters),
                rgm_integer(w->in[0]), rgm_integer(w->in[1]), rgm_integer(w->out[0]),
                rgm_integer(w->out[1]), rgm_integer(w->size[0]), rgm_integer(w->size[1]),
                rgm_integer(w->stride[0]), rgm_integer(w->stride[1]), rgm_integer(w->dilation[0]),
                rgm_integer(w->dilation[1]), rgm_integer(w->before[0]), rgm_integer(w->before[1]));
    if (slices > 1)
        rgmi_gpu_add_slices(table, o, slices, part);
    rgmi_gpu_give(part);
}

/* Pixels and places of an image, and how many images are done at once. */
typedef struct plan {
    int64_t in, out, taps, images;
    size_t size;
    rgm_dtype real;
} plan;

static plan plan_of(rgm_dtype real, const rgm_conv2d_args *o)
{
    const rgm_window *w = &o->window;
    plan p = {.in = w->in[0] * w->in[1],
              .out = w->out[0] * w->out[1],
              .taps = w->size[0] * w->size[1],
              .size = rgm_dtype_size(real),
              .real = real == RGM_F32 && is_rounded(o) ? RGM_BF16 : real};

    p.images = rgmi_max(1, MOST_PIXELS / rgmi_max(1, rgmi_max(p.in, p.out)));
    return p;
}

static void *numbers_from(const void *x, int64_t numbers, size_t size)
{
    return (char *)(uintptr_t)x + (size_t)numbers * size;
}

void rgmi_gpu_conv2d(rgm_dtype real, const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    plan p = plan_of(real, args);

    for (int64_t image = 0; image < w->count; image += p.images) {
        rgm_matmul_args o = {.c = numbers_from(args->y, image * p.out * args->filters, p.size),
                             .a = numbers_from(args->x, image * p.in * w->channels, p.size),
                             .b = args->w,
                             .m = rgmi_min(p.images, w->count - image) * p.out,
                             .n = args->filters,
                             .k = p.taps * w->channels,
                             .ldc = args->filters,
                             .batch = 1};
        launch(&conv_256x16, &conv_64x64, p.real, &o, args);
    }
}

void rgmi_gpu_conv2d_grad_input(rgm_dtype real, const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    plan p = plan_of(real, args);

    for (int64_t image = 0; image < w->count; image += p.images) {
        rgm_matmul_args o = {.c = numbers_from(args->y, image * p.in * w->channels, p.size),
                             .a = numbers_from(args->dy, image * p.out * args->filters, p.size),
                             .b = args->w,
                             .m = rgmi_min(p.images, w->count - image) * p.in,
                             .n = w->channels,
                             .k = p.taps * args->filters,
                             .ldc = w->channels,
                             .batch = 1};
        launch(&conv_input_256x16, &conv_input_64x64, p.real, &o, args);
    }
}

/* Of no images the gradient is 0: a product over a k of 0. */
void rgmi_gpu_conv2d_grad_kernel(rgm_dtype real, const rgm_conv2d_args *args)
{
    const rgm_window *w = &args->window;
    plan p = plan_of(real, args);
    int64_t image = 0;

    do {
        rgm_matmul_args o = {.c = args->y,
                             .a = numbers_from(args->x, image * p.in * w->channels, p.size),
                             .b = numbers_from(args->dy, image * p.out * args->filters, p.size),
                             .m = p.taps * w->channels,
                             .n = args->filters,
                             .k = rgmi_min(p.images, w->count - image) * p.out,
                             .ldc = args->filters,
                             .batch = 1,
                             .accumulate = image > 0};
        launch(&conv_kernel_256x16, &conv_kernel_64x64, p.real, &o, args);
        image += p.images;
    } while (image < w->count);
}
