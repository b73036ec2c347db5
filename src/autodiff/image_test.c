/*
 * Convolution and pools by hand: where TensorFlow's padding lies, what padding counts for, which of
 * equal numbers is the largest, and what is said of shapes that do not fit. Gradients are in
 * op_gradient_test.c.
 */
#include "autodiff_internal.h"
#include "autodiff_check.h"

/* One image [1, height, width, 1] of the given numbers, under a batch size that is a symbol. */
static rgm_value *image(lab *l, int64_t height, int64_t width, const double *numbers)
{
    rgm_tensor *tensor;

    CHECK_OK(rgm_tensor_create(&tensor, l->dtype, 4, (int64_t[]){1, height, width, 1}));
    for (int64_t i = 0; i < height * width; i++)
        lab_set(tensor, i, numbers[i]);
    return lab_feed(l,
                    rgm_input(l->graph, "image", l->dtype, 4,
                              (rgm_dim[]){rgm_cgraph_symbol(l->graph, "batch"), height, width, 1}),
                    tensor, true);
}

static rgm_value *ones(lab *l, int64_t height, int64_t width)
{
    rgm_tensor *tensor;
    rgm_value *value;

    CHECK_OK(rgm_tensor_create(&tensor, l->dtype, 4, (int64_t[]){height, width, 1, 1}));
    for (int64_t i = 0; i < height * width; i++)
        lab_set(tensor, i, 1);
    value = rgm_constant(l->graph, tensor);
    rgm_tensor_release(tensor);
    return value;
}

static void check_numbers(lab *l, rgm_value *y, int64_t count, const double *want)
{
    rgm_tensor *result;

    lab_run(l, &result, &y, 1, NULL, NULL);
    CHECK_INT(count, rgm_tensor_count(result));
    for (int64_t i = 0; i < count; i++)
        CHECK_CLOSE(rgm_tensor_at(result, i), want[i], 1e-6, 0);
    rgm_tensor_release(result);
}

static const double row[] = {1, 2, 3, 4};
static const double square[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};

static void padding_lies_where_tensorflow_puts_it(void **state)
{
    lab l;
    const rgm_conv2d_options same = {.padding = RGM_PAD_SAME};
    const rgm_conv2d_options steps = {.padding = RGM_PAD_SAME, .stride = {1, 2}};
    const rgm_conv2d_options apart = {.padding = RGM_PAD_SAME, .dilation = {1, 2}};

    (void)state;
    for (int dtype = 0; dtype < 2; dtype++) {
        lab_open(&l, dtype ? RGM_F64 : RGM_F32);
        rgm_value *x = image(&l, 1, 4, row);
        check_numbers(&l, rgm_conv2d(x, ones(&l, 1, 2), NULL), 3, (double[]){3, 5, 7});
        check_numbers(&l, rgm_conv2d(x, ones(&l, 1, 2), &same), 4, (double[]){3, 5, 7, 4});
        check_numbers(&l, rgm_conv2d(x, ones(&l, 1, 3), &same), 4, (double[]){3, 6, 9, 7});
        check_numbers(&l, rgm_conv2d(x, ones(&l, 1, 3), &steps), 2, (double[]){6, 7});
        check_numbers(&l, rgm_conv2d(x, ones(&l, 1, 3), &apart), 4, (double[]){4, 6, 4, 6});
        lab_close(&l);
        lab_open(&l, dtype ? RGM_F64 : RGM_F32);
        check_numbers(&l, rgm_conv2d(image(&l, 3, 3, square), ones(&l, 3, 3), &same), 9,
                      (double[]){12, 21, 16, 27, 45, 33, 24, 39, 28});
        lab_close(&l);
    }
}

static void padding_counts_for_no_pool(void **state)
{
    lab l;
    const rgm_pool2d_options same = {.size = {1, 2}, .stride = {1, 1}, .padding = RGM_PAD_SAME};
    const double below[] = {-1, -2, -3, -4};

    (void)state;
    lab_open(&l, RGM_F32);
    rgm_value *x = image(&l, 1, 4, below);
    check_numbers(&l, rgm_avg_pool2d(x, &same), 4, (double[]){-1.5, -2.5, -3.5, -4});
    check_numbers(&l, rgm_max_pool2d(x, &same), 4, (double[]){-1, -2, -3, -4});
    check_numbers(&l, rgm_global_avg_pool2d(x), 1, (double[]){-2.5});
    lab_close(&l);
    lab_open(&l, RGM_F32);
    x = image(&l, 3, 3, square);
    check_numbers(&l, rgm_max_pool2d(x, NULL), 1, (double[]){5});
    check_numbers(&l, rgm_avg_pool2d(x, NULL), 1, (double[]){3});
    lab_close(&l);
}

static void the_first_of_equal_numbers_gets_the_gradient(void **state)
{
    lab l;
    rgm_value *g;
    const double level[] = {7, 7, 7, 7};
    const rgm_pool2d_options overlapping = {.size = {1, 2}, .stride = {1, 1}};

    (void)state;
    for (int dtype = 0; dtype < 2; dtype++) {
        lab_open(&l, dtype ? RGM_F64 : RGM_F32);
        rgm_value *x = image(&l, 1, 4, level);
        CHECK_OK(rgm_cgraph_gradients(&g, rgm_sum(rgm_max_pool2d(x, &overlapping)), &x, 1));
        check_numbers(&l, g, 4, (double[]){1, 1, 1, 0});
        lab_close(&l);
    }
}

#define FAILS(part, expression)                                                                    \
    do {                                                                                           \
        lab l;                                                                                     \
        lab_open(&l, RGM_F32);                                                                     \
        rgm_value *x = lab_input(&l, 4, (int64_t[]){2, 5, 4, 3});                                  \
        (void)x;                                                                                   \
        CHECK((expression) == NULL);                                                               \
        CHECK(rgm_cgraph_status(l.graph) != RGM_OK);                                               \
        CHECK_MESSAGE(part);                                                                       \
        lab_close(&l);                                                                             \
    } while (0)

static void mistakes_are_told_with_their_sizes(void **state)
{
    const rgm_pool2d_options backwards = {.size = {2, 2}, .stride = {-1, 2}};

    (void)state;
    FAILS("conv2d: channels differ: images [2,5,4,3], kernel [3,3,2,7]",
          rgm_conv2d(x, lab_input(&l, 4, (int64_t[]){3, 3, 2, 7}), NULL));
    FAILS("conv2d: height 5 is less than the window's 6; pad it (same)",
          rgm_conv2d(x, lab_input(&l, 4, (int64_t[]){6, 3, 3, 7}), NULL));
    FAILS("conv2d: kernel must be [height, width, in, out], is [3,7]",
          rgm_conv2d(x, lab_input(&l, 2, (int64_t[]){3, 7}), NULL));
    FAILS("max_pool2d: input must be [n, height, width, channels]",
          rgm_max_pool2d(lab_input(&l, 2, (int64_t[]){3, 7}), NULL));
    FAILS("avg_pool2d: height: stride -1, window 2 and dilation 1 are at least 1",
          rgm_avg_pool2d(x, &backwards));
    FAILS("global_avg_pool2d: takes [n, height, width, channels], got f32[3,7]",
          rgm_global_avg_pool2d(lab_input(&l, 2, (int64_t[]){3, 7})));
    FAILS("with static sizes but n",
          rgm_avg_pool2d(rgm_input(l.graph, "s", RGM_F32, 4,
                                   (rgm_dim[]){1, rgm_cgraph_symbol(l.graph, "h"), 1, 1}),
                         NULL));
}

TESTS(cmocka_unit_test(padding_lies_where_tensorflow_puts_it),
      cmocka_unit_test(padding_counts_for_no_pool),
      cmocka_unit_test(the_first_of_equal_numbers_gets_the_gradient),
      cmocka_unit_test(mistakes_are_told_with_their_sizes))
