/*
 * A model for each op with a gradient, in several variants: for tests that walk the ops.
 */
#ifndef RGM_OP_CASES_CHECK_H
#define RGM_OP_CASES_CHECK_H

#include "autodiff_check.h"
#include "autodiff_internal.h"

typedef struct shape {
    int rank;
    int64_t size[4];
} shape;

static const shape shapes[] = {{0, {0}},       {1, {1}},         {1, {7}},    {2, {3, 4}},
                               {2, {0, 3}},    {2, {3, 0}},      {2, {1, 1}}, {3, {2, 3, 4}},
                               {3, {1, 0, 2}}, {4, {2, 1, 3, 2}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A case builds a value from fresh inputs; NULL: there is no such variant. */
typedef rgm_value *build_fn(lab *l, int variant);

#define UNARY(name, call, positive)                                                                \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant >= SHAPES)                                                                     \
            return NULL;                                                                           \
        const shape *s = &shapes[variant];                                                         \
        rgm_value *x = lab_input_of(l, s->rank, s->size, s->size, positive);                       \
        return call;                                                                               \
    }
UNARY(scale, rgm_scale(x, -1.5), false)
UNARY(shift, rgm_shift(x, 0.7), false)
UNARY(neg, rgm_neg(x), false)
UNARY(absolute, rgm_abs(x), false)
UNARY(square, rgm_square(x), false)
UNARY(root, rgm_sqrt(x), true)
UNARY(inverse_root, rgm_rsqrt(x), true)
UNARY(reciprocal, rgm_reciprocal(x), false)
UNARY(exponential, rgm_exp(x), false)
UNARY(logarithm, rgm_log(x), true)
UNARY(softplus, rgm_softplus(x), false)
UNARY(floor_at, rgm_floor_at(x, -0.1), false)
UNARY(relu, rgm_relu(x), false)
UNARY(leaky_relu, variant % 2 ? rgm_leaky_relu(x, 0.2) : rgm_leaky_relu(x, -0.3), false)
UNARY(elu, rgm_elu(x), false)
UNARY(sigmoid, rgm_sigmoid(x), false)
UNARY(hyperbolic, rgm_tanh(x), false)
UNARY(gelu, rgm_gelu(x), false)
UNARY(silu, rgm_silu(x), false)
UNARY(gelu_tanh, rgm_gelu_tanh(x), false)
UNARY(cast, rgm_cast(rgm_cast(x, RGM_F64), RGM_F64), false)
UNARY(dropout, rgm_dropout_op(x, 0.4, "stream"), false)
UNARY(item_dropout, rgm_item_dropout_op(x, 0.4, "stream"), false)

static rgm_value *numbered_dropout(lab *l, int variant)
{
    static const int64_t numbers[] = {7, 0, 1000003, 7, 8, 6, 5};
    rgm_attributes like = {.number[0] = 0.4, .text = "stream"};
    rgm_tensor *list;
    rgm_value *x, *y;

    if (variant >= 2 * SHAPES)
        return NULL;
    const shape *s = &shapes[variant / 2];
    if (s->rank == 0)
        s = &shapes[1];
    x = lab_input(l, s->rank, s->size);
    CHECK_OK(rgm_tensor_create_from(&list, RGM_I64, 1, s->size, numbers));
    y = rgmi_numbered_dropout(x, &like, variant % 2, list);
    rgm_tensor_release(list);
    return y;
}

/* Read twice, so that the passes make one op of dropout and sum. */
static rgm_value *dropped_sum(lab *l, int variant)
{
    if (variant >= 2 * SHAPES)
        return NULL;
    const shape *s = &shapes[variant / 2];
    rgm_value *x = lab_input(l, s->rank, s->size), *y = lab_input(l, s->rank, s->size);
    y = variant % 2 ? rgm_item_dropout_op(y, 0.4, "y") : rgm_dropout_op(y, 0.4, "y");
    y = rgm_add(x, y);
    return rgm_mul(y, rgm_dropout_op(y, 0.3, "z"));
}

UNARY(softmax, s->rank == 0 ? rgm_scale(x, 1) : rgm_softmax(x), false)
UNARY(log_softmax, s->rank == 0 ? rgm_scale(x, 1) : rgm_log_softmax(x), false)
UNARY(l2_normalize, s->rank == 0 ? rgm_scale(x, 1) : rgm_l2_normalize(x), false)
UNARY(mean_all, rgm_mean(x), false)
UNARY(sigmoid_cross_entropy,
      rgm_sigmoid_cross_entropy(x, lab_input_of(l, s->rank, s->size, s->size, true)), false)

/* Pairs of shapes that broadcast. */
static const shape left[] = {{0, {0}},       {1, {4}},       {2, {3, 4}},      {2, {3, 4}},
                             {2, {3, 1}},    {2, {0, 4}},    {2, {3, 4}},      {1, {1}},
                             {3, {2, 3, 4}}, {3, {2, 3, 4}}, {4, {2, 1, 3, 1}}};
static const shape right[] = {{0, {0}},    {1, {4}},       {1, {4}},         {0, {0}},
                              {2, {1, 4}}, {1, {4}},       {2, {3, 1}},      {1, {0}},
                              {2, {3, 1}}, {3, {2, 1, 4}}, {4, {1, 2, 3, 2}}};
enum { PAIRS = sizeof left / sizeof *left };
#define BINARY(name, call)                                                                         \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant >= 2 * PAIRS)                                                                  \
            return NULL;                                                                           \
        const shape *s = &left[variant / 2], *t = &right[variant / 2];                             \
        rgm_value *a = lab_input(l, s->rank, s->size), *b = lab_input(l, t->rank, t->size);        \
        if (variant % 2) {                                                                         \
            rgm_value *swap = a;                                                                   \
            a = b;                                                                                 \
            b = swap;                                                                              \
        }                                                                                          \
        return call;                                                                               \
    }
BINARY(add, rgm_add(a, b))
BINARY(sub, rgm_sub(a, b))
BINARY(mul, rgm_mul(a, b))
BINARY(divide, rgm_div(a, b))
BINARY(maximum, rgm_maximum(a, b))
BINARY(minimum, rgm_minimum(a, b))

static rgm_value *matmul(lab *l, int variant)
{
    static const int64_t mkn[][3] = {{3, 4, 5}, {1, 1, 1}, {0, 3, 2},
                                     {3, 0, 2}, {3, 2, 0}, {2, 7, 1}};
    bool ta = variant & 1, tb = variant & 2, batch = variant & 4;
    int64_t a[3] = {2}, b[3] = {2};

    if (variant >= 6 * 8)
        return NULL;
    const int64_t *s = mkn[variant / 8];
    a[1] = s[ta ? 1 : 0], a[2] = s[ta ? 0 : 1];
    b[1] = s[tb ? 2 : 1], b[2] = s[tb ? 1 : 2];
    rgm_value *x = lab_input(l, batch ? 3 : 2, batch ? a : a + 1);
    rgm_value *y = lab_input(l, batch ? 3 : 2, batch ? b : b + 1);
    return rgm_matmul_t(x, y, ta, tb);
}

static rgm_value *reduce(lab *l, int variant)
{
    static const rgm_reduction kinds[] = {RGM_SUM, RGM_MEAN, RGM_MAX, RGM_MIN, RGM_PROD};
    static const shape some[] = {{1, {5}}, {2, {3, 4}}, {3, {2, 3, 4}}, {2, {1, 3}}, {2, {0, 3}}};
    int which = variant / 15, kind = variant / 3 % 5, axis = variant % 3;

    if (which >= 5)
        return NULL;
    const shape *s = &some[which];
    if (axis >= s->rank)
        axis = -1;
    if (s->size[axis < 0 ? axis + s->rank : axis] == 0)
        kind %= 2; /* no largest of none */
    return rgm_reduce(lab_input(l, s->rank, s->size), axis, kinds[kind]);
}

static rgm_value *reshape(lab *l, int variant)
{
    rgm_value *x = lab_input(l, 3, (int64_t[]){2, 3, variant == 2 ? 0 : 4});

    switch (variant) {
    case 0:
        return rgm_reshape(x, 2, (rgm_dim[]){6, RGM_INFER});
    case 1:
        return rgm_reshape(x, 1, (rgm_dim[]){24});
    case 2:
        return rgm_reshape(x, 2, (rgm_dim[]){0, 5});
    default:
        return NULL;
    }
}

static rgm_value *permute(lab *l, int variant)
{
    static const int axes[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}};

    if (variant >= 8)
        return NULL;
    return rgm_permute(lab_input(l, 3, (int64_t[]){2, 3, variant >= 4 ? 1 : 4}), axes[variant % 4]);
}

static rgm_value *concat(lab *l, int variant)
{
    int axis = variant % 3;
    int64_t size[3] = {2, 3, 4};
    rgm_value *x[3];

    if (variant >= 6)
        return NULL;
    for (int i = 0; i < 3; i++) {
        size[axis] = variant < 3 ? i + 1 : i; /* a part of size 0 too */
        x[i] = lab_input(l, 3, size);
    }
    x[1] = variant == 1 ? x[1] : rgm_scale(x[1], 2);
    return rgm_concat(x, 3, axis);
}

static rgm_value *slice(lab *l, int variant)
{
    if (variant >= 9)
        return NULL;
    rgm_value *x = lab_input(l, 3, (int64_t[]){4, 4, 4});
    if (variant >= 6) {
        rgm_dim some = rgm_cgraph_symbol(l->graph, "some");
        rgm_value *batch = lab_input_of(l, 1, &some, (int64_t[]){3}, false);
        x = rgm_slice_to(x, variant % 3, some);
        return rgm_add(x, rgm_sum(batch));
    }
    return rgm_slice(x, variant % 3, variant < 3 ? 1 : 2, variant < 3 ? 3 : 2);
}

static rgm_value *slice_twice(lab *l, int variant) /* its gradient's gradient: slice_grad */
{
    if (variant > 0)
        return NULL;
    rgm_value *x = lab_input(l, 2, (int64_t[]){4, 3}), *g;
    rgm_value *y = rgm_sum(rgm_square(rgm_slice(x, 0, 1, 3)));
    CHECK_OK(rgm_cgraph_gradients(&g, y, &x, 1));
    return g;
}

static rgm_value *broadcast_to(lab *l, int variant) /* as the gradient of sum makes it */
{
    if (variant > 0)
        return NULL;
    rgm_value *x = lab_input(l, 2, (int64_t[]){4, 3}), *g;
    rgm_value *y = rgm_sum(rgm_square(rgm_reduce(x, 1, RGM_SUM)));
    CHECK_OK(rgm_cgraph_gradients(&g, y, &x, 1));
    return g;
}

static rgm_value *cross_entropy(lab *l, int variant)
{
    static const int64_t size[][2] = {{5, 3}, {1, 1}, {0, 4}, {7, 2}};

    if (variant >= 4)
        return NULL;
    rgm_value *x = lab_input(l, 2, size[variant]);
    return rgm_softmax_cross_entropy(
        x, lab_index(l, variant % 2 ? RGM_I32 : RGM_I64, size[variant][0], size[variant][1]));
}

static rgm_value *smoothed_cross_entropy(lab *l, int variant)
{
    static const rgm_cross_entropy_options options[] = {
        {.smoothing = 0.1}, {.classes = 5}, {.classes = 5, .smoothing = 0.3}, {.classes = 1}};

    if (variant >= 4)
        return NULL;
    rgm_value *x = lab_input(l, 2, (int64_t[]){6, 8});
    return rgm_softmax_cross_entropy_with(
        x, lab_index(l, RGM_I64, 6, options[variant].classes ? options[variant].classes : 8),
        &options[variant]);
}

static rgm_value *attention(lab *l, int variant)
{
    static const int64_t size[][3] = {{3, 3, 4},  {2, 5, 6}, {1, 1, 2},
                                      {5, 70, 4}, {0, 3, 2}, {3, 0, 2}};
    rgm_attention_options options = {
        .heads = 2, .causal = variant & 1, .dropout = variant & 2 ? 0.4 : 0};

    if (variant >= 8 * 6)
        return NULL;
    const int64_t *s = size[variant / 8];
    rgm_value *q = lab_input(l, 3, (int64_t[]){2, s[0], s[2]});
    rgm_value *k = lab_input(l, 3, (int64_t[]){2, s[1], s[2]});
    rgm_value *v = lab_input(l, 3, (int64_t[]){2, s[1], s[2]});
    if (variant & 4)
        options.key = rgm_reshape(lab_index(l, RGM_I64, 2 * s[1], 4), 2, (rgm_dim[]){2, s[1]});
    if (variant % 3 == 0)
        options.scale = 0.7;
    return rgm_attention(q, k, v, &options);
}

/* Groups that share keys, windows, segments, slopes, and a bias by distance, which is learned. */
static rgm_value *attention_of_today(lab *l, int variant)
{
    /* queries, keys, heads, heads of keys, depth, window, reach */
    static const int64_t size[][7] = {{4, 4, 4, 2, 2, 0, 2},
                                      {3, 5, 2, 1, 3, 2, 0},
                                      {5, 70, 2, 1, 2, 4, 3},
                                      {4, 2, 2, 2, 1, 3, 1}};
    rgm_attention_options o = {.causal = variant & 1, .dropout = variant & 2 ? 0.4 : 0};

    if (variant >= 8 * 4)
        return NULL;
    const int64_t *s = size[variant / 8];
    o.heads = s[2];
    o.kv_heads = s[3];
    o.window = s[5];
    rgm_value *q = lab_input(l, 3, (int64_t[]){2, s[0], s[2] * s[4]});
    rgm_value *k = lab_input(l, 3, (int64_t[]){2, s[1], s[3] * s[4]});
    rgm_value *v = lab_input(l, 3, (int64_t[]){2, s[1], s[3] * s[4]});
    if (variant & 4) {
        o.key = rgm_reshape(lab_index(l, RGM_I64, 2 * s[1], 3), 2, (rgm_dim[]){2, s[1]});
        o.query = rgm_reshape(lab_index(l, RGM_I64, 2 * s[0], 3), 2, (rgm_dim[]){2, s[0]});
    }
    if (variant % 3 != 1)
        o.bias = lab_input(l, 2, (int64_t[]){s[2], 2 * s[6] + 1});
    if (variant % 3 != 2) {
        rgm_tensor *list;
        CHECK_OK(rgm_tensor_create(&list, l->dtype, 1, &s[2]));
        for (int64_t h = 0; h < s[2]; h++)
            lab_set(list, h, 0.5 / (double)(1 + h));
        o.slope = rgm_constant(l->graph, list);
        rgm_tensor_release(list);
    }
    return rgm_attention(q, k, v, &o);
}

static const shape norm_shapes[] = {
    {2, {3, 4}}, {2, {1, 5}}, {3, {2, 3, 17}}, {2, {0, 4}}, {1, {6}}};

static rgm_value *layer_norm(lab *l, int variant)
{
    if (variant >= 5)
        return NULL;
    const shape *s = &norm_shapes[variant];
    int64_t channels = s->size[s->rank - 1];
    rgm_value *x = lab_input(l, s->rank, s->size), *gamma = lab_input(l, 1, &channels);
    return rgm_layer_norm_op(x, gamma, lab_input(l, 1, &channels), 1e-3);
}

/* Angles of `places` places; cosines first. */
static rgm_value *rotary_table(lab *l, int64_t places, int64_t depth)
{
    rgm_tensor *table;
    rgm_value *value;

    CHECK_OK(rgm_tensor_create(&table, l->dtype, 2, (int64_t[]){places, depth}));
    for (int64_t i = 0; i < places * depth / 2; i++) {
        int64_t at = i / (depth / 2) * depth + i % (depth / 2);
        lab_set(table, at, cos(0.7 * (double)i));
        lab_set(table, at + depth / 2, sin(0.7 * (double)i));
    }
    value = rgm_constant(l->graph, table);
    rgm_tensor_release(table);
    return value;
}

/* Positions of all rows, and fewer that repeat. */
static rgm_value *rotary(lab *l, int variant)
{
    static const int64_t some[][4] = {{4, 4, 1, 2}, {6, 3, 2, 4}, {3, 1, 2, 6}, {0, 2, 1, 4}};

    if (variant >= 4)
        return NULL;
    const int64_t *s = some[variant]; /* rows, positions, heads, depth */
    rgm_value *x = lab_input(l, 2, (int64_t[]){s[0], s[2] * s[3]});
    rgm_value *table = rotary_table(l, 5, s[3]);
    return rgm_rotary(x, table, lab_index(l, RGM_I64, s[1], 5), s[2]);
}

static rgm_value *rms_norm(lab *l, int variant)
{
    if (variant >= 5)
        return NULL;
    const shape *s = &norm_shapes[variant];
    rgm_value *x = lab_input(l, s->rank, s->size);
    return rgm_rms_norm_op(x, lab_input(l, 1, &s->size[s->rank - 1]), 1e-3);
}

/* Also with relu behind it, which the passes take into the norm and its gradient. */
static rgm_value *batch_norm(lab *l, int variant)
{
    static const shape some[] = {{2, {4, 3}}, {2, {1, 5}}, {4, {2, 3, 2, 17}}, {2, {0, 4}}};

    if (variant >= 8)
        return NULL;
    const shape *s = &some[variant / 2];
    int64_t channels = s->size[s->rank - 1];
    rgm_value *x = lab_input(l, s->rank, s->size), *gamma = lab_input(l, 1, &channels);
    rgm_value *y = rgm_batch_norm_op(x, gamma, lab_input(l, 1, &channels), 1e-3);
    return variant % 2 ? rgm_relu(y) : y;
}

/* rows, columns, entries */
static const int64_t graphs[][3] = {{4, 5, 9}, {1, 1, 1}, {3, 2, 0}, {6, 6, 13}};
enum { GRAPHS = 4 };

static rgm_value *spmm(lab *l, int variant)
{
    int64_t heads = variant & 1 ? 2 : 1, channels = 4;

    if (variant >= 16 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 16];
    bool square = g[0] == g[1];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    rgm_value *x = variant & 8 ? lab_input(l, 3, (int64_t[]){g[1], 2, 3})
                               : lab_input(l, 2, (int64_t[]){g[1], channels});
    rgm_spmm_options options = {.mean = variant & 2};
    if (variant & 4) {
        options.row_scale = lab_input(l, 1, &g[0]);
        options.column_scale = lab_input(l, 1, &g[1]);
    }
    if (square && variant % 3 == 0)
        options.self_loop = true;
    else if (variant % 5 != 0)
        options.weight =
            heads == 1 ? lab_input(l, 1, &g[2]) : lab_input(l, 2, (int64_t[]){g[2], heads});
    return rgm_spmm(p, x, &options);
}

static rgm_value *broadcast_rows(lab *l, int variant)
{
    if (variant >= 2 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 2];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    if (variant % 2)
        p = rgm_transpose_pattern(p);
    return rgm_broadcast_rows(p, lab_input(l, 2, (int64_t[]){g[variant % 2], 3}));
}

static rgm_value *broadcast_columns(lab *l, int variant)
{
    if (variant >= 2 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 2];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    if (variant % 2)
        p = rgm_transpose_pattern(p);
    return rgm_broadcast_columns(p, lab_input(l, 2, (int64_t[]){g[1 - variant % 2], 3}));
}

static rgm_value *pool_rows(lab *l, int variant)
{
    static const rgm_reduction kinds[] = {RGM_SUM, RGM_MEAN, RGM_MAX_NO_INF, RGM_MIN_NO_INF,
                                          RGM_PROD};

    if (variant >= 10 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 10];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    if (variant % 2)
        p = rgm_transpose_pattern(p);
    return rgm_pool_rows(p, lab_input(l, 2, (int64_t[]){g[2], 3}), kinds[variant / 2 % 5]);
}

static rgm_value *softmax_rows(lab *l, int variant)
{
    if (variant >= 2 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 2];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    if (variant % 2)
        p = rgm_transpose_pattern(p);
    return rgm_softmax_rows(p, lab_input(l, 2, (int64_t[]){g[2], 2}));
}

static rgm_value *sddmm(lab *l, int variant)
{
    if (variant >= 2 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 2];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    int swap = variant % 2;
    if (swap)
        p = rgm_transpose_pattern(p);
    rgm_value *a = lab_input(l, 3, (int64_t[]){g[swap], 2, 3});
    return rgm_sddmm(p, a, lab_input(l, 3, (int64_t[]){g[1 - swap], 2, 3}));
}

static rgm_value *gatv2_score(lab *l, int variant)
{
    if (variant >= 2 * GRAPHS)
        return NULL;
    const int64_t *g = graphs[variant / 2];
    rgm_value *p = lab_pattern(l, g[0], g[1], g[2]);
    int swap = variant % 2;
    if (swap)
        p = rgm_transpose_pattern(p);
    rgm_value *q = lab_input(l, 3, (int64_t[]){g[swap], 2, 3});
    rgm_value *v = lab_input(l, 3, (int64_t[]){g[1 - swap], 2, 3});
    return rgm_gatv2_score(p, q, v, lab_input(l, 2, (int64_t[]){2, 3}), 0.2);
}

static rgm_value *gather(lab *l, int variant)
{
    static const int64_t size[][2] = {
        {5, 9}, {1, 3}, {4, 0}}; /* rows, taken: repeats are certain */

    if (variant >= 6)
        return NULL;
    const int64_t *s = size[variant / 2];
    rgm_value *x = lab_input(l, 2, (int64_t[]){s[0], 3});
    return rgm_gather(x, lab_index(l, variant % 2 ? RGM_I32 : RGM_I64, s[1], s[0]));
}

/* ---- images: odd sizes, strides that leave a rest, windows larger than the stride ---- */

static const int64_t images[][4] = {{2, 5, 4, 3}, {1, 1, 3, 2}, {3, 6, 7, 1}, {0, 4, 4, 2}};
enum { IMAGES = sizeof images / sizeof *images };

static rgm_value *conv2d(lab *l, int variant)
{
    static const int64_t kernel[][2] = {{3, 3}, {1, 1}, {1, 2}, {2, 3}};
    static const rgm_conv2d_options options[] = {
        {.padding = RGM_PAD_SAME},
        {.padding = RGM_PAD_SAME, .stride = {2, 2}},
        {.padding = RGM_PAD_SAME, .stride = {1, 3}, .dilation = {2, 1}},
        {.padding = RGM_PAD_SAME, .dilation = {1, 2}},
        {.stride = {2, 1}}};
    enum { OPTIONS = sizeof options / sizeof *options };
    const int64_t *s = images[variant / OPTIONS % IMAGES], *k = kernel[variant / OPTIONS / IMAGES];

    if (variant >= 4 * OPTIONS * IMAGES)
        return NULL;
    if (variant % OPTIONS == 4 && (s[1] < k[0] || s[2] < k[1]))
        s = images[0];
    rgm_value *x = lab_input(l, 4, s);
    return rgm_conv2d(x, lab_input(l, 4, (int64_t[]){k[0], k[1], s[3], 2}),
                      &options[variant % OPTIONS]);
}

static const rgm_pool2d_options pools[] = {
    {.size = {2, 2}, .padding = RGM_PAD_SAME},
    {.size = {3, 3}, .stride = {2, 1}, .padding = RGM_PAD_SAME},
    {.size = {1, 2}},
    {.size = {1, 3}, .stride = {1, 2}}};
enum { POOLS = sizeof pools / sizeof *pools };
#define POOL(name, call)                                                                           \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant >= POOLS * IMAGES)                                                             \
            return NULL;                                                                           \
        return call(lab_input(l, 4, images[variant / POOLS]), &pools[variant % POOLS]);            \
    }
POOL(max_pool2d, rgm_max_pool2d)
POOL(avg_pool2d, rgm_avg_pool2d)

static rgm_value *global_avg_pool2d(lab *l, int variant)
{
    return variant < IMAGES ? rgm_global_avg_pool2d(lab_input(l, 4, images[variant])) : NULL;
}

static rgm_value *when_training(lab *l, int variant)
{
    if (variant >= 1)
        return NULL;
    rgm_value *x = lab_input(l, 2, (int64_t[]){2, 3});
    rgm_value *training = rgm_exp(x);
    return rgm_when_training(training, rgm_neg(x));
}

static const struct {
    const char *op;
    build_fn *build;
} cases[] = {
    {"add", add},
    {"sub", sub},
    {"mul", mul},
    {"div", divide},
    {"maximum", maximum},
    {"minimum", minimum},
    {"scale", scale},
    {"shift", shift},
    {"neg", neg},
    {"abs", absolute},
    {"square", square},
    {"sqrt", root},
    {"rsqrt", inverse_root},
    {"reciprocal", reciprocal},
    {"exp", exponential},
    {"log", logarithm},
    {"softplus", softplus},
    {"floor_at", floor_at},
    {"relu", relu},
    {"leaky_relu", leaky_relu},
    {"elu", elu},
    {"sigmoid", sigmoid},
    {"tanh", hyperbolic},
    {"gelu", gelu},
    {"silu", silu},
    {"gelu_tanh", gelu_tanh},
    {"cast", cast},
    {"dropout", dropout},
    {"item_dropout", item_dropout},
    {"numbered_dropout", numbered_dropout},
    {"dropout", dropped_sum},
    {"when_training", when_training},
    {"reshape", reshape},
    {"permute", permute},
    {"concat", concat},
    {"slice", slice},
    {"slice_grad", slice_twice},
    {"broadcast_to", broadcast_to},
    {"matmul", matmul},
    {"reduce", reduce},
    {"reduce", mean_all},
    {"softmax", softmax},
    {"log_softmax", log_softmax},
    {"softmax_cross_entropy", cross_entropy},
    {"softmax_cross_entropy", smoothed_cross_entropy},
    {"attention", attention},
    {"attention", attention_of_today},
    {"softplus", sigmoid_cross_entropy},
    {"layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"rotary", rotary},
    {"batch_norm", batch_norm},
    {"l2_normalize", l2_normalize},
    {"conv2d", conv2d},
    {"max_pool2d", max_pool2d},
    {"avg_pool2d", avg_pool2d},
    {"reduce", global_avg_pool2d},
    {"spmm", spmm},
    {"broadcast_rows", broadcast_rows},
    {"broadcast_columns", broadcast_columns},
    {"pool_rows", pool_rows},
    {"softmax_rows", softmax_rows},
    {"sddmm", sddmm},
    {"gatv2_score", gatv2_score},
    {"gather", gather},
};
enum { CASES = sizeof cases / sizeof *cases };

#endif
