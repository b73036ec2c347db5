/*
 * Every op of the table, exported and run by the interpreter, against the executor: both float
 * dtypes, fixed, varying and empty sizes. An op is either here or in the list of those without an
 * ONNX form, which must be refused by name.
 */
#include "onnx_check.h"

typedef struct shape {
    int rank;
    int64_t size[4];
} shape;

static const shape shapes[] = {{0, {0}},       {1, {7}},       {2, {3, 4}},
                               {2, {0, 3}},    {2, {3, 0}},    {2, {1, 1}},
                               {3, {2, 3, 4}}, {3, {1, 0, 2}}, {4, {2, 1, 3, 2}}};
enum { SHAPES = sizeof shapes / sizeof *shapes };

/* A case builds a value from fresh inputs; NULL: there is no such variant. */
typedef rgm_value *build_fn(lab *l, int variant);

/* Round the newest input x to whole numbers if `whole`, so that there are ties. */
static rgm_value *ties(lab *l, rgm_value *x, bool whole)
{
    rgm_tensor *t = l->feeds[l->count - 1].tensor;

    for (int64_t i = 0; whole && i < rgm_tensor_count(t); i++)
        lab_set(t, i, floor(rgm_tensor_at(t, i)));
    return x;
}

#define UNARY(name, call, positive)                                                                \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant >= SHAPES)                                                                     \
            return NULL;                                                                           \
        rgm_value *x = lab_numbers(l, shapes[variant].rank, shapes[variant].size, positive);       \
        return call;                                                                               \
    }
/* Ops that need an axis. */
#define ROWS(name, call, positive)                                                                 \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant + 1 >= SHAPES)                                                                 \
            return NULL;                                                                           \
        rgm_value *x =                                                                             \
            lab_numbers(l, shapes[variant + 1].rank, shapes[variant + 1].size, positive);          \
        return call;                                                                               \
    }
UNARY(scale, rgm_scale(x, -1.5), false)
UNARY(shift, rgm_shift(x, 0.1), false)
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
UNARY(sign, lab_find(lab_gradient(rgm_abs(x), x), "sign"), false)
UNARY(relu, rgm_relu(x), false)
UNARY(leaky_relu, variant % 2 ? rgm_leaky_relu(x, 0.2) : rgm_leaky_relu(x, -0.3), false)
UNARY(elu, rgm_elu(x), false)
UNARY(sigmoid, rgm_sigmoid(x), false)
UNARY(hyperbolic, rgm_tanh(x), false)
UNARY(gelu, rgm_gelu(x), false)
UNARY(silu, rgm_silu(x), false)
UNARY(gelu_tanh, rgm_gelu_tanh(x), false)
UNARY(stop_gradient, rgm_stop_gradient(x), false)
UNARY(when_training, rgm_when_training(rgm_softplus(x), rgm_neg(x)), false)
UNARY(dropout, rgm_dropout_op(x, 0.4, "stream"), false)
ROWS(item_dropout, rgm_item_dropout_op(x, 0.4, "stream"), false)
UNARY(copy, rgm_op(l->graph, lab_op("copy"), &x, 1, &(rgm_attributes){.text = NULL}), false)
UNARY(mean_of_all, rgm_mean(x), false)
ROWS(spread, lab_find(lab_gradient(rgm_square(rgm_sum(x)), x), "broadcast_to"), false)
UNARY(inverse_dim, rgm_mul(rgm_mean(x), lab_find(lab_gradient(rgm_mean(x), x), "inverse_dim")),
      false)
ROWS(softmax, rgm_softmax(x), false)
ROWS(log_softmax, rgm_log_softmax(x), false)
ROWS(l2_normalize, rgm_l2_normalize(variant % 2 ? rgm_scale(x, 0) : x), false)

/* Every pair of dtypes; numbers beyond the exact integers of a double are left out. */
static rgm_value *cast(lab *l, int variant)
{
    static const rgm_dtype dtypes[] = {RGM_F32, RGM_F64, RGM_I32, RGM_I64, RGM_BOOL};

    if (variant >= 25)
        return NULL;
    rgm_value *x = lab_input(l, 2, (int64_t[]){3, 4});
    return rgm_cast(rgm_cast(x, dtypes[variant / 5]), dtypes[variant % 5]);
}

static const shape left[] = {{0, {0}},       {1, {4}},         {2, {3, 4}}, {2, {3, 4}},
                             {2, {3, 1}},    {2, {0, 4}},      {2, {3, 4}}, {1, {1}},
                             {3, {2, 3, 4}}, {4, {2, 1, 3, 1}}};
static const shape right[] = {{0, {0}},       {1, {4}},         {1, {1}},    {0, {0}},
                              {2, {1, 4}},    {2, {0, 4}},      {2, {3, 1}}, {1, {0}},
                              {3, {2, 1, 4}}, {4, {2, 2, 1, 2}}};
enum { PAIRS = sizeof left / sizeof *left };
#define BINARY(name, call)                                                                         \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant >= 2 * PAIRS)                                                                  \
            return NULL;                                                                           \
        const shape *s = variant % 2 ? &left[variant / 2] : &right[variant / 2];                   \
        const shape *t = variant % 2 ? &right[variant / 2] : &left[variant / 2];                   \
        rgm_value *a = ties(l, lab_input(l, s->rank, s->size), variant > PAIRS);                   \
        rgm_value *b = ties(l, lab_input(l, t->rank, t->size), variant > PAIRS);                   \
        return call;                                                                               \
    }
BINARY(add, rgm_add(a, b))
BINARY(sub, rgm_sub(a, b))
BINARY(mul, rgm_mul(a, b))
BINARY(divide, rgm_div(a, rgm_shift(rgm_square(b), 0.5)))
BINARY(maximum, rgm_maximum(a, b))
BINARY(minimum, rgm_minimum(a, b))
BINARY(greater, rgm_greater(a, b))
BINARY(equal, rgm_equal(a, b))

static rgm_value *equal_indices(lab *l, int variant)
{
    rgm_dtype dtype = variant % 2 ? RGM_I32 : RGM_I64;

    return variant >= 2 ? NULL : rgm_equal(lab_index(l, dtype, 20, 3), lab_index(l, dtype, 20, 3));
}

static rgm_value *matmul(lab *l, int variant)
{
    static const int64_t mkn[][3] = {{3, 4, 5}, {1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {3, 2, 0}};
    bool ta = variant & 1, tb = variant & 2, batch = variant & 4, bias = variant & 8;
    int64_t a[3] = {2}, b[3] = {2};

    if (variant >= 5 * 16)
        return NULL;
    const int64_t *s = mkn[variant / 16];
    a[1] = s[ta ? 1 : 0], a[2] = s[ta ? 0 : 1];
    b[1] = s[tb ? 2 : 1], b[2] = s[tb ? 1 : 2];
    rgm_value *x = lab_input(l, batch ? 3 : 2, batch ? a : a + 1);
    l->symbolic = false; /* a varying inner size would be the other side's */
    rgm_value *y = lab_input(l, batch ? 3 : 2, batch ? b : b + 1);
    if (rgm_value_dim(x, ta ? -2 : -1) < 0 || batch)
        return rgm_matmul_t(lab_input(l, batch ? 3 : 2, batch ? a : a + 1), y, ta, tb);
    if (!bias)
        return rgm_matmul_t(x, y, ta, tb);
    rgm_attributes attributes = {.integer = {ta, tb, RGM_ACT_LEAKY_RELU}, .number[0] = 0.1};
    return rgm_op(l->graph, lab_op("matmul"), (rgm_value *[]){x, y, lab_input(l, 1, &s[2])}, 3,
                  &attributes);
}

static rgm_value *reduce(lab *l, int variant)
{
    static const shape some[] = {{1, {5}}, {2, {3, 4}}, {3, {2, 3, 4}}, {2, {0, 3}}, {2, {3, 0}}};
    int which = variant / 21, kind = variant / 3 % 7, axis = variant % 3;

    if (which >= 5)
        return NULL;
    const shape *s = &some[which];
    return rgm_reduce(lab_input(l, s->rank, s->size), axis < s->rank ? axis : -1,
                      (rgm_reduction)kind);
}

static rgm_value *argmax(lab *l, int variant)
{
    static const shape some[] = {{1, {5}}, {2, {6, 3}}, {3, {2, 3, 4}}, {2, {0, 3}}};

    return variant >= 4
               ? NULL
               : rgm_argmax(ties(l, lab_input(l, some[variant].rank, some[variant].size), true));
}

static rgm_value *reshape(lab *l, int variant)
{
    rgm_value *x;

    switch (variant) {
    case 0:
        x = lab_input(l, 3, (int64_t[]){6, 4, 2});
        return rgm_reshape(x, 2, (rgm_dim[]){lab_dim(l, 6), 8});
    case 1:
        x = lab_input(l, 3, (int64_t[]){6, 4, 2});
        return rgm_reshape(x, 2, (rgm_dim[]){RGM_INFER, 4});
    case 2:
        x = lab_input(l, 2, (int64_t[]){0, 8});
        return rgm_reshape(x, 3, (rgm_dim[]){lab_dim(l, 0), 2, 4});
    case 3:
        x = lab_input(l, 2, (int64_t[]){5, 0});
        return rgm_reshape(x, 3, (rgm_dim[]){lab_dim(l, 5), 0, 7});
    case 4:
        x = lab_input(l, 2, (int64_t[]){1, 1});
        return rgm_reshape(x, 0, NULL);
    case 5: /* two varying sizes swap places, with an axis between them */
        l->symbolic = true;
        x = rgm_permute(rgm_matmul(lab_input(l, 2, (int64_t[]){3, 2}),
                                   rgm_permute(lab_input(l, 2, (int64_t[]){5, 2}), (int[]){1, 0})),
                        (int[]){0, 1});
        return rgm_reshape(x, 3, (rgm_dim[]){lab_dim(l, 3), 1, lab_dim(l, 5)});
    default:
        return NULL;
    }
}

static rgm_value *permute(lab *l, int variant)
{
    static const int axes[][3] = {{0, 1, 2}, {2, 1, 0}, {1, 2, 0}, {0, 2, 1}};

    if (variant >= 8)
        return NULL;
    return rgm_permute(lab_input(l, 3, (int64_t[]){2, 3, variant >= 4 ? 0 : 4}), axes[variant % 4]);
}

static rgm_value *concat(lab *l, int variant)
{
    enum { PARTS = 20 };
    int axis = variant % 3;
    int64_t size[3] = {2, 3, 4};
    rgm_value *x[PARTS];

    if (variant >= 6)
        return NULL;
    for (int i = 0; i < PARTS; i++) {
        size[axis] = i % 3;
        x[i] = lab_input(l, 3, size);
    }
    return rgm_concat(x, variant < 3 ? PARTS : 1 + variant % 3, axis);
}

static rgm_value *slice(lab *l, int variant)
{
    if (variant >= 6)
        return NULL;
    l->symbolic = variant % 3 > 0 && l->symbolic;
    rgm_value *x = lab_input(l, 3, (int64_t[]){4, 4, 4});
    return rgm_slice(x, variant % 3, variant < 3 ? 1 : 2, variant < 3 ? 3 : 2);
}

/* As many rows as a batch has: of a table's sides, and after another's, as gradients of a concat
 * take them. */
static rgm_value *slice_varying(lab *l, int variant)
{
    int64_t sizes[2] = {variant % 3, variant / 3};
    const int64_t table_size[2] = {4, 4};

    if (variant >= 9)
        return NULL;
    rgm_value *a = lab_input(l, 1, &sizes[0]), *b = lab_input(l, 1, &sizes[1]), *y;
    rgm_value *table = lab_input_of(l, 2, table_size, table_size, false);
    rgm_attributes behind = {.integer = {0, rgm_value_dim(a, 0), rgm_value_dim(b, 0)}};
    y = rgm_concat((rgm_value *[]){a, b}, 2, 0);
    y = rgm_op(l->graph, lab_op("slice"), &y, 1, &behind);
    table = rgm_slice_to(rgm_slice_to(table, 1, rgm_value_dim(b, 0)), 0, rgm_value_dim(a, 0));
    return rgm_concat((rgm_value *[]){y, rgm_reshape(table, 1, (rgm_dim[]){RGM_INFER})}, 2, 0);
}

static rgm_value *layer_norm(lab *l, int variant)
{
    static const shape some[] = {{2, {3, 4}}, {2, {1, 5}}, {3, {2, 3, 17}}, {2, {0, 4}}};

    if (variant >= 8)
        return NULL;
    const shape *s = &some[variant % 4];
    int64_t width = s->size[s->rank - 1];
    rgm_value *x = lab_input(l, s->rank, s->size), *residual = lab_input(l, s->rank, s->size);
    bool symbolic = l->symbolic;
    l->symbolic = false;
    rgm_value *gamma = lab_input(l, 1, &width), *beta = lab_input(l, 1, &width);
    l->symbolic = symbolic;
    if (variant < 4)
        return rgm_layer_norm_op(x, gamma, beta, 1e-3);
    return rgm_op(l->graph, lab_op("layer_norm"), (rgm_value *[]){x, gamma, beta, residual}, 4,
                  &(rgm_attributes){.number[0] = 1e-3});
}

static rgm_value *rms_norm(lab *l, int variant)
{
    static const shape some[] = {{2, {3, 4}}, {2, {1, 5}}, {3, {2, 3, 17}}, {2, {0, 4}}};

    if (variant >= 4)
        return NULL;
    const shape *s = &some[variant];
    rgm_value *x = lab_input(l, s->rank, s->size);
    bool symbolic = l->symbolic;
    l->symbolic = false;
    rgm_value *gamma = lab_input(l, 1, &s->size[s->rank - 1]);
    l->symbolic = symbolic;
    return rgm_rms_norm_op(x, gamma, 1e-3);
}

/* Only the moments, or the norm with them. */
static rgm_value *batch_norm(lab *l, int variant)
{
    static const shape some[] = {
        {2, {4, 3}}, {2, {1, 5}}, {4, {2, 3, 2, 7}}, {2, {0, 4}}, {4, {2, 3, 2, 0}}};

    if (variant >= 10)
        return NULL;
    const shape *s = &some[variant / 2];
    int64_t width = s->size[s->rank - 1];
    bool symbolic = l->symbolic;
    rgm_value *x = lab_input(l, s->rank, s->size);
    l->symbolic = false;
    rgm_value *gamma = lab_input(l, 1, &width), *beta = lab_input(l, 1, &width);
    l->symbolic = symbolic;
    return variant % 2 ? rgm_batch_norm_op(x, gamma, beta, 1e-3) : rgm_batch_moments(x);
}

/* ---- images ---- */

static const int64_t images[][4] = {{2, 5, 4, 3}, {1, 6, 7, 1}, {0, 4, 4, 2}};
enum { IMAGES = sizeof images / sizeof *images };

static rgm_value *conv2d(lab *l, int variant)
{
    static const rgm_conv2d_options options[] = {{.padding = RGM_PAD_SAME},
                                                 {.padding = RGM_PAD_SAME, .stride = {2, 3}},
                                                 {.padding = RGM_PAD_SAME, .dilation = {2, 1}},
                                                 {.stride = {2, 1}}};

    if (variant >= 4 * IMAGES)
        return NULL;
    const int64_t *s = images[variant / 4];
    rgm_value *x = lab_input(l, 4, s);
    l->symbolic = false;
    return rgm_conv2d(x, lab_input(l, 4, (int64_t[]){3, 2, s[3], 4}), &options[variant % 4]);
}

static const rgm_pool2d_options pools[] = {
    {.size = {2, 2}},
    {.size = {2, 2}, .padding = RGM_PAD_SAME},
    {.size = {3, 2}, .stride = {1, 3}, .padding = RGM_PAD_SAME}};
#define POOL(name, call)                                                                           \
    static rgm_value *name(lab *l, int variant)                                                    \
    {                                                                                              \
        if (variant >= 3 * IMAGES)                                                                 \
            return NULL;                                                                           \
        return call(lab_input(l, 4, images[variant / 3]), &pools[variant % 3]);                    \
    }
POOL(max_pool2d, rgm_max_pool2d)
POOL(avg_pool2d, rgm_avg_pool2d)

/* ---- sparse ---- */

static const int64_t extents[][3] = {{5, 7, 20}, {7, 5, 6}, {4, 4, 0},
                                     {0, 3, 0},  {1, 1, 1}, {6, 6, 9}};
enum { EXTENTS = sizeof extents / sizeof *extents };

static rgm_value *pattern(lab *l, int which)
{
    return lab_pattern(l, extents[which][0], extents[which][1], extents[which][2]);
}

/* An input with the given number of rows and width channels; a width < 0: [rows]. */
static rgm_value *rows(lab *l, int64_t count, int64_t heads, int64_t depth)
{
    if (heads > 0)
        return lab_input(l, 3, (int64_t[]){count, heads, depth});
    return lab_input(l, depth > 0 ? 2 : 1, (int64_t[]){count, depth});
}

static rgm_value *degree(lab *l, int variant)
{
    if (variant >= 4 * EXTENTS)
        return NULL;
    return rgm_degree(pattern(l, variant / 4), (rgm_dtype)(variant % 4));
}

static rgm_value *transpose_pattern(lab *l, int variant)
{
    if (variant >= EXTENTS)
        return NULL;
    rgm_value *p = pattern(l, variant);
    return rgm_spmm(rgm_transpose_pattern(p), rows(l, extents[variant][0], 0, 3), NULL);
}

static rgm_value *add_self_loops(lab *l, int variant)
{
    static const int64_t nodes[] = {4, 6, 0, 1};

    if (variant >= 8)
        return NULL;
    int64_t n = nodes[variant / 2];
    rgm_value *p = rgm_add_self_loops(lab_pattern(l, n, n, n > 0 ? 9 : 0));
    if (variant % 2)
        return rgm_spmm(p, rows(l, n, 0, 3), NULL);
    return rgm_pool_rows(p, rgm_broadcast_columns(p, rows(l, n, 0, 2)), RGM_MAX);
}

static rgm_value *broadcast_rows(lab *l, int variant)
{
    if (variant >= 3 * EXTENTS)
        return NULL;
    return rgm_broadcast_rows(pattern(l, variant / 3), rows(l, extents[variant / 3][0],
                                                            variant % 3 == 2 ? 2 : 0, variant % 3));
}

static rgm_value *broadcast_columns(lab *l, int variant)
{
    if (variant >= 3 * EXTENTS)
        return NULL;
    return rgm_broadcast_columns(
        pattern(l, variant / 3),
        rows(l, extents[variant / 3][1], variant % 3 == 2 ? 2 : 0, variant % 3));
}

static rgm_value *pool_rows(lab *l, int variant)
{
    int which = variant / 21, kind = variant / 3 % 7, form = variant % 3;

    if (which >= EXTENTS)
        return NULL;
    rgm_value *x = rows(l, extents[which][2], form == 2 ? 2 : 0, form);
    return rgm_pool_rows(pattern(l, which), x, (rgm_reduction)kind);
}

/* A maximum and a softmax must accept -inf. */
static rgm_value *pool_infinities(lab *l, int variant)
{
    if (variant >= 6)
        return NULL;
    rgm_value *x = rgm_log(rgm_relu(lab_input(l, 2, (int64_t[]){30, 3}))); /* log 0 */
    rgm_value *p = lab_pattern(l, 12, 5, 30);
    static const rgm_reduction kinds[] = {RGM_MAX, RGM_MAX_NO_INF, RGM_MIN, RGM_MIN_NO_INF,
                                          RGM_SUM};
    return variant == 5 ? rgm_softmax_rows(p, x) : rgm_pool_rows(p, x, kinds[variant]);
}

static rgm_value *softmax_rows(lab *l, int variant)
{
    int which = variant / 3, form = variant % 3;

    if (which >= EXTENTS)
        return NULL;
    rgm_value *x = rgm_scale(rows(l, extents[which][2], form == 2 ? 2 : 0, form), 40);
    return rgm_softmax_rows(pattern(l, which), x);
}

static rgm_value *spmm(lab *l, int variant)
{
    int which = variant / 32, flags = variant % 32;

    if (which >= EXTENTS)
        return NULL;
    const int64_t *e = extents[which];
    rgm_value *p = pattern(l, which), *x = rows(l, e[1], flags & 16 ? 2 : 0, flags & 16 ? 3 : 6);
    rgm_spmm_options o = {.mean = flags & 8};
    if (flags & 1)
        o.weight = flags & 2 ? rows(l, e[2], 0, 2) : rows(l, e[2], 0, 0);
    if (flags & 2)
        o.row_scale = rows(l, e[0], 0, 0);
    if (flags & 4)
        o.column_scale = rows(l, e[1], 0, 0);
    o.self_loop = !(flags & 1) && e[0] == e[1] && (flags & 4);
    return rgm_spmm(p, x, &o);
}

/* With what the executor's passes fold into it. */
static rgm_value *spmm_whole(lab *l, int variant)
{
    if (variant >= 3)
        return NULL;
    rgm_value *p = pattern(l, 0),
              *x = variant == 1 ? rows(l, 7, 2, 3) : rows(l, 7, 0, variant == 2 ? 0 : 6);
    int64_t channels = variant == 2 ? 1 : 6;
    l->symbolic = false;
    rgm_value *in[] = {p, x, lab_input(l, 1, &channels)};
    return rgm_op(l->graph, lab_op("spmm"), in, 3,
                  &(rgm_attributes){.integer = {8, 0, RGM_ACT_RELU}});
}

/* Heads of one channel, one head, and no channels. */
static rgm_value *spmm_heads(lab *l, int variant)
{
    static const int64_t heads[] = {6, 1, 3, 2}, channels[] = {6, 6, 6, 0};

    if (variant >= 4)
        return NULL;
    rgm_spmm_options o = {.weight = lab_input(l, 2, (int64_t[]){20, heads[variant]})};
    return rgm_spmm(pattern(l, 0), lab_input(l, 2, (int64_t[]){7, channels[variant]}), &o);
}

static rgm_value *sddmm(lab *l, int variant)
{
    if (variant >= EXTENTS)
        return NULL;
    const int64_t *e = extents[variant];
    return rgm_sddmm(pattern(l, variant), rows(l, e[0], 2, 3), rows(l, e[1], 2, 3));
}

static rgm_value *gatv2_score(lab *l, int variant)
{
    if (variant >= EXTENTS)
        return NULL;
    const int64_t *e = extents[variant];
    rgm_value *p = pattern(l, variant), *q = rows(l, e[0], 2, 3), *v = rows(l, e[1], 2, 3);
    l->symbolic = false;
    return rgm_gatv2_score(p, q, v, lab_input(l, 2, (int64_t[]){2, 3}), 0.2);
}

static rgm_value *gather(lab *l, int variant)
{
    if (variant >= 6)
        return NULL;
    rgm_value *x = rows(l, 5, variant % 3 == 2 ? 2 : 0, variant % 3);
    return rgm_gather(x, lab_index(l, variant % 2 ? RGM_I32 : RGM_I64, variant == 5 ? 0 : 9, 5));
}

/*
 * Batch, queries, keys, heads, depth: rows that see nothing (masked, or fewer keys than causal
 * queries), one query, no queries and no batch. In the symbolic graphs all sizes vary.
 */
static rgm_value *attention(lab *l, int variant)
{
    static const int64_t some[][5] = {{2, 3, 5, 2, 4}, {3, 4, 4, 1, 3}, {1, 5, 2, 3, 1},
                                      {2, 1, 6, 2, 2}, {3, 0, 2, 1, 2}, {0, 2, 3, 2, 1}};
    int which = variant / 8, mask = variant % 4;

    if (which >= (int)(sizeof some / sizeof *some))
        return NULL;
    const int64_t *s = some[which], size[4] = {s[0], s[1], s[2], s[3] * s[4]};
    rgm_dim batch = lab_dim(l, s[0]), queries = lab_dim(l, s[1]), keys = lab_dim(l, s[2]);
    rgm_attention_options o = {.heads = s[3], .causal = variant & 4, .scale = mask == 3 ? 2.5 : 0};
    rgm_value *x[3];
    for (int i = 0; i < 3; i++) {
        int64_t sizes[3] = {size[0], i == 0 ? size[1] : size[2], size[3]};
        rgm_dim dims[3] = {batch, i == 0 ? queries : keys, size[3]};
        x[i] = lab_input_of(l, 3, dims, sizes, false);
    }
    if (mask > 0) /* two of three seen; one of two; none when there is one sentence */
        o.key = lab_integers(l, mask == 2 ? RGM_I32 : RGM_I64, 2, (rgm_dim[]){batch, keys},
                             (int64_t[]){s[0], s[2]}, mask == 3 && s[0] == 1 ? 1 : 4 - mask);
    return rgm_attention(x[0], x[1], x[2], &o);
}

/*
 * Batch, queries, keys, heads, heads of keys, depth: groups that share keys, windows, segments, and
 * what distances add; more queries than keys, one query, and none.
 */
static rgm_value *attention_of_today(lab *l, int variant)
{
    static const int64_t some[][6] = {{2, 5, 5, 4, 2, 4},
                                      {1, 3, 6, 2, 1, 3},
                                      {2, 4, 2, 2, 2, 1},
                                      {2, 1, 6, 4, 1, 2},
                                      {3, 0, 2, 2, 1, 2}};
    int which = variant / 8, add = variant % 8;

    if (which >= (int)(sizeof some / sizeof *some))
        return NULL;
    const int64_t *s = some[which];
    rgm_dim batch = lab_dim(l, s[0]), queries = lab_dim(l, s[1]), keys = lab_dim(l, s[2]);
    rgm_attention_options o = {.heads = s[3], .kv_heads = s[4], .causal = variant & 1};
    rgm_value *x[3];
    for (int i = 0; i < 3; i++) {
        int64_t sizes[3] = {s[0], i == 0 ? s[1] : s[2], s[i == 0 ? 3 : 4] * s[5]};
        x[i] =
            lab_input_of(l, 3, (rgm_dim[]){batch, i == 0 ? queries : keys, sizes[2]}, sizes, false);
    }
    bool symbolic = l->symbolic;
    l->symbolic = false;
    if (add & 1)
        o.window = 2;
    if (add & 2)
        o.slope = lab_positive(l, 1, &s[3]);
    if (add & 4)
        o.bias = lab_input(l, 2, (int64_t[]){s[3], 5});
    l->symbolic = symbolic;
    if (add % 3 == 1) {
        o.key = lab_integers(l, RGM_I64, 2, (rgm_dim[]){batch, keys}, (int64_t[]){s[0], s[2]}, 3);
        o.query =
            lab_integers(l, RGM_I64, 2, (rgm_dim[]){batch, queries}, (int64_t[]){s[0], s[1]}, 3);
    }
    return rgm_attention(x[0], x[1], x[2], &o);
}

/* Positions of all rows, and fewer that repeat. */
static rgm_value *rotary(lab *l, int variant)
{
    static const int64_t some[][4] = {{4, 4, 1, 2}, {6, 3, 2, 4}, {3, 1, 2, 6}, {0, 2, 1, 4}};

    if (variant >= 4)
        return NULL;
    const int64_t *s = some[variant]; /* rows, positions, heads, depth */
    rgm_dim rows = lab_dim(l, s[0]), places = s[0] == s[1] ? rows : lab_dim(l, s[1]);
    int64_t size[2] = {s[0], s[2] * s[3]}, depth = s[3];
    rgm_value *x = lab_input_of(l, 2, (rgm_dim[]){rows, size[1]}, size, false), *table;
    rgm_value *at = lab_integers(l, RGM_I64, 1, &places, &s[1], 5);
    bool symbolic = l->symbolic;
    l->symbolic = false;
    table = lab_input(l, 2, (int64_t[]){5, depth});
    l->symbolic = symbolic;
    return rgm_rotary(x, table, at, s[2]);
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
    {"greater", greater},
    {"equal", equal},
    {"equal", equal_indices},
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
    {"sign", sign},
    {"relu", relu},
    {"leaky_relu", leaky_relu},
    {"elu", elu},
    {"sigmoid", sigmoid},
    {"tanh", hyperbolic},
    {"gelu", gelu},
    {"silu", silu},
    {"gelu_tanh", gelu_tanh},
    {"cast", cast},
    {"stop_gradient", stop_gradient},
    {"when_training", when_training},
    {"dropout", dropout},
    {"item_dropout", item_dropout},
    {"copy", copy},
    {"reshape", reshape},
    {"permute", permute},
    {"concat", concat},
    {"slice", slice},
    {"broadcast_to", spread},
    {"inverse_dim", inverse_dim},
    {"matmul", matmul},
    {"reduce", reduce},
    {"reduce", mean_of_all},
    {"argmax", argmax},
    {"softmax", softmax},
    {"log_softmax", log_softmax},
    {"layer_norm", layer_norm},
    {"rms_norm", rms_norm},
    {"batch_moments", batch_norm},
    {"batch_norm", batch_norm},
    {"l2_normalize", l2_normalize},
    {"conv2d", conv2d},
    {"max_pool2d", max_pool2d},
    {"avg_pool2d", avg_pool2d},
    {"degree", degree},
    {"transpose_pattern", transpose_pattern},
    {"add_self_loops", add_self_loops},
    {"broadcast_rows", broadcast_rows},
    {"broadcast_columns", broadcast_columns},
    {"pool_rows", pool_rows},
    {"pool_rows", pool_infinities},
    {"softmax_rows", softmax_rows},
    {"spmm", spmm},
    {"spmm", spmm_whole},
    {"spmm", spmm_heads},
    {"sddmm", sddmm},
    {"gatv2_score", gatv2_score},
    {"gather", gather},
    {"attention", attention},
    {"attention", attention_of_today},
    {"rotary", rotary},
    {"slice", slice_varying},
};
enum { CASES = sizeof cases / sizeof *cases };

/* The number of cases of its op before case c: oracles know graphs by this name, whatever other ops
 * are added. */
static int number_of(int c)
{
    int before = 0;

    for (int i = 0; i < c; i++)
        before += strcmp(cases[i].op, cases[c].op) == 0;
    return before;
}

/* Returns the number of variants. */
static int check_case(int c, rgm_dtype dtype, bool symbolic)
{
    char what[128];
    lab l;

    for (int variant = 0;; variant++) {
        lab_open(&l, dtype);
        l.symbolic = symbolic;
        rgm_value *y = cases[c].build(&l, variant);
        CHECK_OK(rgm_cgraph_status(l.graph));
        if (y != NULL) {
            snprintf(what, sizeof what, "%s.%d-%d-%s-%s", cases[c].op, number_of(c), variant,
                     rgm_dtype_name(dtype), symbolic ? "varying" : "fixed");
            lab_check(y, NULL, l.feeds, l.count, what, dtype == RGM_F64 ? 1e-7 : 2e-6);
        }
        lab_close(&l);
        if (y == NULL)
            return variant;
    }
}

static void every_op_means_the_same_in_the_file(void **state)
{
    (void)state;
    for (int c = 0; c < CASES; c++)
        for (int d = 0; d < 2; d++)
            for (int symbolic = 0; symbolic < 2; symbolic++)
                if (check_case(c, d ? RGM_F64 : RGM_F32, symbolic) == 0)
                    fail_msg("case %d (%s) has no variants", c, cases[c].op);
}

/* ---- ops without a form ---- */

static rgm_value *without_form(lab *l, const char *op)
{
    rgm_value *x = lab_positive(l, 2, (int64_t[]){4, 3}), *y = NULL;
    rgm_value *p = lab_pattern(l, 4, 4, 6), *entries = lab_input(l, 2, (int64_t[]){6, 3});
    rgm_value *q = lab_input(l, 3, (int64_t[]){4, 1, 3}), *labels = lab_index(l, RGM_I64, 4, 3);
    rgm_value *width = lab_input(l, 1, (int64_t[]){3}), *a = lab_input(l, 2, (int64_t[]){1, 3});
    rgm_value *ways[] = {rgm_gelu(x),
                         rgm_silu(x),
                         rgm_gelu_tanh(x),
                         rgm_relu(x),
                         rgm_leaky_relu(x, 0.1),
                         rgm_elu(x),
                         rgm_sigmoid(x),
                         rgm_tanh(x),
                         rgm_slice(x, 1, 0, 2),
                         rgm_reduce(x, 1, RGM_PROD),
                         rgm_softmax(x),
                         rgm_log_softmax(x),
                         rgm_softmax_cross_entropy(x, labels),
                         rgm_layer_norm_op(x, width, width, 1e-3),
                         rgm_rms_norm_op(x, width, 1e-3),
                         rgm_batch_norm_op(x, width, width, 1e-3),
                         rgm_l2_normalize(x),
                         rgm_gather(x, labels)};

    for (size_t i = 0; i < sizeof ways / sizeof *ways && y == NULL; i++) {
        y = lab_find(ways[i], op);
        y = y != NULL ? y : lab_find(lab_gradient(ways[i], x), op);
    }
    if (y == NULL)
        y = lab_find(lab_gradient(rgm_pool_rows(p, entries, RGM_MAX), entries), op);
    if (y == NULL)
        y = lab_find(lab_gradient(rgm_softmax_rows(p, entries), entries), op);
    rgm_value *to[] = {q, rgm_scale(q, 1), a};
    for (int i = 0; i < 3 && y == NULL; i++)
        y = lab_find(lab_gradient(rgm_gatv2_score(p, to[0], to[1], a, 0.2), to[i]), op);
    rgm_value *image = lab_input(l, 4, (int64_t[]){1, 4, 4, 2});
    rgm_value *kernel = lab_input(l, 4, (int64_t[]){3, 3, 2, 2});
    rgm_value *seen[] = {rgm_conv2d(image, kernel, NULL), rgm_max_pool2d(image, NULL),
                         rgm_avg_pool2d(image, NULL)};
    for (int i = 0; i < 4 && y == NULL; i++)
        y = lab_find(lab_gradient(seen[i % 3], i < 3 ? image : kernel), op);
    if (y != NULL && rgm_value_is_pattern(y)) /* cannot be an output itself */
        y = rgm_pool_rows(y, x, RGM_SUM);
    if (strcmp(op, "by_rows") == 0)
        y = rgm_by_rows(x, 1, 0);
    if (strcmp(op, "attention_grad") == 0) /* any value in place of attention's own */
        y = rgm_op(l->graph, lab_op(op), (rgm_value *[]){q, q, q, q, q}, 5,
                   &(rgm_attributes){.integer = {1, 0, 0, 1}});
    if (strcmp(op, "map") == 0)
        y = rgm_op(l->graph, lab_op(op), &x, 1, &(rgm_attributes){.integer = {4, 3, [6] = 2}});
    if (strcmp(op, "sum_squares") == 0)
        y = rgm_op(l->graph, lab_op(op), &x, 1, &(rgm_attributes){.text = NULL});
    if (strcmp(op, "product_sum") == 0)
        y = rgm_op(l->graph, lab_op(op), (rgm_value *[]){x, x}, 2,
                   &(rgm_attributes){.integer = {0}});
    if (strcmp(op, "masked_softmax") == 0)
        y = rgm_op(l->graph, lab_op(op), &x, 1, &(rgm_attributes){.number[0] = 1});
    if (strcmp(op, "matmul_add") == 0)
        y = rgm_op(l->graph, lab_op(op), (rgm_value *[]){lab_input(l, 2, (int64_t[]){4, 4}), x, x},
                   3, &(rgm_attributes){.integer = {0, 1}});
    if (strcmp(op, "dropout_add") == 0)
        y = rgm_op(l->graph, lab_op(op), (rgm_value *[]){x, x}, 2, &(rgm_attributes){.text = NULL});
    if (strcmp(op, "numbered_dropout") == 0) /* of a part; a whole graph is exported */
        y = rgm_op(l->graph, lab_op(op),
                   (rgm_value *[]){x, rgm_input(l->graph, "n", RGM_I64, 1, (rgm_dim[]){4})}, 2,
                   &(rgm_attributes){.text = "s"});
    if (strcmp(op, "matmul_pack") == 0)
        y = rgm_op(l->graph, lab_op(op), &x, 1, &(rgm_attributes){.integer = {0, 16}});
    if (strcmp(op, "matmul_packed") == 0)
        y = rgm_op(l->graph, lab_op(op), (rgm_value *[]){x, x}, 2,
                   &(rgm_attributes){.integer = {[3] = 2}});
    if (strcmp(op, "attention_rows") == 0)
        y = rgm_attention_rows(q, x, x, rgm_input(l->graph, "rows", RGM_I64, 2, (rgm_dim[]){4, 3}),
                               NULL, NULL, NULL, &(rgm_attention_options){.heads = 1});
    if (strcmp(op, "spmm_add") == 0)
        y = rgm_op(l->graph, lab_op(op), (rgm_value *[]){x, p, x}, 3,
                   &(rgm_attributes){.text = NULL});
    return y;
}

static void ops_without_an_onnx_form_say_so_by_name(void **state)
{
    (void)state;
    int64_t count, refused = 0;
    const rgm_op_type *const *types = rgm_op_types(&count);

    for (int64_t i = 0; i < count; i++) {
        bool has_form = false;
        char part[128];
        lab l;
        for (int c = 0; c < CASES; c++)
            has_form |= strcmp(cases[c].op, types[i]->name) == 0;
        if (has_form)
            continue;
        lab_open(&l, RGM_F32);
        rgm_cgraph_set_scope(l.graph, "here");
        rgm_value *y = without_form(&l, types[i]->name);
        CHECK_OK(rgm_cgraph_status(l.graph));
        if (y == NULL)
            fail_msg("op '%s' has neither a case nor an example here", types[i]->name);
        rgm_export_output output = {.name = "y", .value = y};
        snprintf(part, sizeof part, "op '%s%s'", types[i]->elementwise ? "here/" : "",
                 types[i]->name);
        CHECK_STATUS(RGM_ERR_UNSUPPORTED,
                     rgm_onnx_save("/nowhere/model.onnx", l.graph, NULL, &output, 1, NULL));
        CHECK_MESSAGE(part);
        CHECK_MESSAGE("here");
        CHECK_MESSAGE("no ONNX form");
        lab_close(&l);
        refused++;
    }
    CHECK(refused > 15);
}

TESTS(cmocka_unit_test(every_op_means_the_same_in_the_file),
      cmocka_unit_test(ops_without_an_onnx_form_say_so_by_name))
