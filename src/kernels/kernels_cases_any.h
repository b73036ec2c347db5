/*
 * Cases of the kernels that have one row for every table, or the reference rows alone. Where all
 * tables have the same row, comparing them would say nothing, so the case holds the row to a loop
 * of its own.
 */
#ifndef RGM_KERNELS_CASES_ANY_H
#define RGM_KERNELS_CASES_ANY_H

static int64_t index_value(const void *index, rgm_dtype dtype, int64_t i)
{
    return dtype == RGM_I32 ? ((const int32_t *)index)[i] : ((const int64_t *)index)[i];
}

static unsigned char *draw_bytes(run *t, int64_t n)
{
    unsigned char *bytes = keep(t, (size_t)n);

    for (int64_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)draw(t);
    return bytes;
}

/* An output of n bytes; show_bytes() gives them to the comparison once they are written. */
static unsigned char *bytes_out(run *t, int64_t n)
{
    unsigned char *bytes = keep(t, (size_t)n + 2 * GUARD);

    memset(bytes, 0x5a, (size_t)n + 2 * GUARD);
    return bytes + GUARD;
}

static void show_bytes(run *t, const unsigned char *bytes, int64_t n)
{
    void *numbers = out(t, n, NULL);

    for (int k = 0; k < GUARD; k++)
        CHECK(bytes[k - GUARD] == 0x5a && bytes[n + k] == 0x5a);
    for (int64_t i = 0; i < n; i++)
        put(t, numbers, i, bytes[i]);
}

static void gather_bytes_case(run *t)
{
    rgm_gather_args o = {.channels = PICK(t, 1, 4, 8, 12, 80), .count = draw_rows(t)};
    const unsigned char *x = draw_bytes(t, 50 * o.channels);
    unsigned char *y = bytes_out(t, o.count * o.channels);

    o.index_dtype = draw_bool(t) ? RGM_I32 : RGM_I64;
    o.index = draw_index(t, o.count, 50, o.index_dtype);
    o.x = x;
    o.y = y;
    t->kernels->gather_bytes(&o);
    for (int64_t i = 0; i < o.count * o.channels; i++) {
        int64_t row = index_value(o.index, o.index_dtype, i / o.channels);
        CHECK_INT(x[row * o.channels + i % o.channels], y[i]);
    }
    show_bytes(t, y, o.count * o.channels);
}

/* From none to three entries outside: the flag names the first. */
static void index_check_case(run *t)
{
    rgm_index_args o = {.count = draw_rows(t), .least = PICK(t, 0, 0, 3), .limit = 40};
    int64_t outside[] = {-1, 40, 1000, INT32_MIN}, first;
    rgm_index_flag flag = {0};
    void *index;

    if (t->variant == 4) /* more than one group of lanes looks at */
        o.count = 20000;
    first = o.count;
    o.index_dtype = draw_bool(t) ? RGM_I32 : RGM_I64;
    o.index = index = draw_index(t, o.count, 40 - o.least, o.index_dtype);
    for (int64_t i = 0; i < o.count; i++) {
        int64_t value = o.least + index_value(index, o.index_dtype, i);
        if (t->variant % 3 > 0 && draw_below(t, t->variant == 4 ? 9000 : 200) == 0) {
            value = outside[draw_below(t, 4)];
            first = i < first ? i : first;
        }
        if (o.index_dtype == RGM_I32)
            ((int32_t *)index)[i] = (int32_t)value;
        else
            ((int64_t *)index)[i] = value;
    }
    o.op = 7;
    o.flag = &flag;
    t->kernels->index_check(&o);
    CHECK_INT(first < o.count, flag.raised);
    if (first == o.count)
        return;
    CHECK_INT(7, flag.op);
    CHECK_INT(first, flag.at);
    CHECK_INT(index_value(index, o.index_dtype, first), flag.index);
    o.op = 8; /* a flag that is up stays as it is */
    t->kernels->index_check(&o);
    CHECK_INT(7, flag.op);
}

static void degree_case(run *t)
{
    static const rgm_dtype dtypes[] = {RGM_F32, RGM_F64, RGM_I32, RGM_I64};
    rgm_degree_args o = {.dtype = dtypes[t->variant % 4]};
    int64_t rows = draw_rows(t);
    void *numbers = out(t, rows, NULL);

    o.csr = draw_csr(t, rows, 40, 3);
    o.y = keep(t, (size_t)rows * 8);
    t->kernels->degree(&o);
    for (int64_t i = 0; i < rows; i++) {
        double y = o.dtype == RGM_F32   ? ((float *)o.y)[i]
                   : o.dtype == RGM_F64 ? ((double *)o.y)[i]
                                        : (double)index_value(o.y, o.dtype, i);
        CHECK(y == (double)(o.csr->row_start[i + 1] - o.csr->row_start[i]));
        put(t, numbers, i, y);
    }
}

static void copy_case(run *t)
{
    rgm_copy_args o = {.outer = PICK(t, 0, 1, 1, 7, 300),
                       .size = (size_t)PICK(t, 0, 1, 4, 60, 64, 512, 999)};
    const unsigned char *x;
    unsigned char *y;

    if (t->variant % 2) {
        o.zeros_before = (size_t)PICK(t, 0, 3, 64);
        o.zeros_behind = (size_t)PICK(t, 0, 5, 64);
    }
    o.x_step = o.size + (size_t)PICK(t, 0, 0, 8, 16);
    o.y_step = o.zeros_before + o.size + o.zeros_behind + (size_t)PICK(t, 0, 0, 4, 16);
    o.x = x = draw_bytes(t, o.outer * (int64_t)o.x_step);
    o.y = y = bytes_out(t, o.outer * (int64_t)o.y_step);
    t->kernels->copy(&o);
    for (size_t i = 0; i < (size_t)o.outer * o.y_step; i++) {
        size_t at = i % o.y_step, block = i / o.y_step;
        unsigned char want = 0x5a;
        if (at < o.zeros_before + o.size + o.zeros_behind)
            want = 0;
        if (at >= o.zeros_before && at < o.zeros_before + o.size)
            want = x[block * o.x_step + at - o.zeros_before];
        CHECK_INT(want, y[i]);
    }
    show_bytes(t, y, o.outer * (int64_t)o.y_step);
}

/* An image of x under a random order of its axes; sizes of the element from 1 to 8. */
static void permute_case(run *t)
{
    rgm_permute_args o = {.rank = 1 + (int)draw_below(t, 4), .size = (size_t)PICK(t, 1, 4, 4, 8)};
    int64_t count = 1, step[RGM_MAX_RANK];
    const unsigned char *x;
    unsigned char *y;

    for (int i = 0; i < o.rank; i++)
        o.shape[i] = PICK(t, 1, 2, 3, 7, 16, t->variant % 9 ? 20 : 0);
    for (int i = 0; i < o.rank; i++) { /* axis i of y is one of x's that none has been */
        int at = (int)draw_below(t, i + 1);
        memmove(step + at + 1, step + at, (size_t)(i - at) * sizeof *step);
        step[at] = i;
    }
    for (int i = 0; i < o.rank; i++) {
        o.stride[step[i]] = count;
        count *= o.shape[step[i]];
    }
    o.x = x = draw_bytes(t, count * (int64_t)o.size);
    o.y = y = bytes_out(t, count * (int64_t)o.size);
    if (count > 0)
        t->kernels->permute(&o);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, from = 0;
        for (int axis = o.rank - 1; axis >= 0; axis--) {
            from += rest % o.shape[axis] * o.stride[axis];
            rest /= o.shape[axis];
        }
        CHECK(memcmp(y + i * (int64_t)o.size, x + from * (int64_t)o.size, o.size) == 0);
    }
    show_bytes(t, y, count * (int64_t)o.size);
}

static double number_of(const void *x, rgm_dtype dtype, int64_t i)
{
    switch (dtype) {
    case RGM_F32:
        return ((const float *)x)[i];
    case RGM_F64:
        return ((const double *)x)[i];
    case RGM_I32:
        return ((const int32_t *)x)[i];
    case RGM_I64:
        return (double)((const int64_t *)x)[i];
    default:
        return ((const uint8_t *)x)[i];
    }
}

/* Every pair of dtypes; floats beyond every integer, NaN among them. */
static void cast_case(run *t)
{
    static const rgm_dtype dtypes[] = {RGM_F32, RGM_F64, RGM_I32, RGM_I64, RGM_BOOL};
    static const double odd[] = {NAN, INFINITY, -INFINITY, 3e9, -3e9, 1e19, -1e19, -0.0, 1.99};
    rgm_cast_args o = {.from = dtypes[t->variant % 5], .to = dtypes[t->variant / 5 % 5]};
    void *x, *numbers;

    o.count = PICK(t, 0, 1, 37, 300);
    o.x = x = keep(t, (size_t)o.count * 8);
    o.y = keep(t, (size_t)o.count * 8);
    for (int64_t i = 0; i < o.count; i++) {
        double value = draw_bool(t) ? odd[draw_below(t, 9)] : floor(100 * draw_number(t));
        if (o.from == RGM_F32)
            ((float *)x)[i] = (float)value;
        else if (o.from == RGM_F64)
            ((double *)x)[i] = value;
        else if (o.from == RGM_I32)
            ((int32_t *)x)[i] = (int32_t)draw(t);
        else if (o.from == RGM_I64)
            ((int64_t *)x)[i] = (int64_t)draw(t) - 1000;
        else
            ((uint8_t *)x)[i] = draw_bool(t);
    }
    numbers = out(t, o.count, NULL);
    t->kernels->cast(&o);
    for (int64_t i = 0; i < o.count; i++) {
        double from = number_of(x, o.from, i), y = number_of(o.y, o.to, i), want = from;
        if (o.to == RGM_F32)
            want = (float)from;
        else if (o.to == RGM_BOOL)
            want = from != 0;
        else if (o.to != RGM_F64)
            want = isnan(from)       ? 0
                   : o.to == RGM_I32 ? fmin(fmax(trunc(from), INT32_MIN), INT32_MAX)
                                     : fmin(fmax(trunc(from), -0x1p63), 0x1p63);
        if (o.to == RGM_I32 && o.from == RGM_I64 && fabs(from) > INT32_MAX)
            continue; /* as C does it */
        CHECK(y == want || (isnan(y) && isnan(want)));
        put(t, numbers, i, isfinite(y) ? y : 7);
    }
}

static void equal_case(run *t)
{
    static const rgm_dtype dtypes[] = {RGM_I32, RGM_I64, RGM_BOOL};
    rgm_equal_args o = {.dtype = dtypes[t->variant % 3], .rank = (int)draw_below(t, 4)};
    int64_t count = 1, whole[2] = {1, 1};
    void *numbers;

    for (int axis = 0; axis < o.rank; axis++)
        count *= o.shape[axis] = PICK(t, 1, 2, 5, 16, 31, t->variant % 8 ? 7 : 0);
    for (int k = 0; k < 2; k++)
        for (int axis = o.rank - 1; axis >= 0; axis--) {
            o.stride[k][axis] = draw_below(t, 4) == 0 ? 0 : whole[k];
            whole[k] *= o.stride[k][axis] ? o.shape[axis] : 1;
        }
    for (int k = 0; k < 2; k++) {
        void *x =
            o.dtype == RGM_BOOL ? keep(t, (size_t)whole[k]) : draw_index(t, whole[k], 3, o.dtype);
        for (int64_t i = 0; o.dtype == RGM_BOOL && i < whole[k]; i++)
            ((uint8_t *)x)[i] = draw_bool(t);
        *(k ? &o.b : &o.a) = x;
    }
    o.y = keep(t, (size_t)count * sizeof *o.y);
    numbers = out(t, count, NULL);
    t->kernels->equal(&o);
    for (int64_t i = 0; i < count; i++) {
        int64_t rest = i, at[2] = {0, 0};
        for (int axis = o.rank - 1; axis >= 0; rest /= o.shape[axis--])
            for (int k = 0; k < 2; k++)
                at[k] += rest % o.shape[axis] * o.stride[k][axis];
        CHECK(o.y[i] == (number_of(o.a, o.dtype, at[0]) == number_of(o.b, o.dtype, at[1])));
        put(t, numbers, i, o.y[i]);
    }
}

static void fill_case(run *t)
{
    int64_t count = draw_rows(t);
    double value = draw_number(t);

    t->kernels->fill(&(rgm_fill_args){out(t, count, NULL), count, value});
}

static void reduce_prod_grad_case(run *t)
{
    rgm_reduce_args o = {
        .outer = PICK(t, 0, 1, 3, 40), .axis = PICK(t, 0, 1, 2, 9), .inner = PICK(t, 1, 1, 5, 17)};
    void *x = in(t, o.outer * o.axis * o.inner);

    for (int64_t i = 0; i < o.outer * o.axis * o.inner; i++)
        if (draw_below(t, 6) == 0)
            put(t, x, i, 0);
    o.x = x;
    o.dy = in(t, o.outer * o.inner);
    o.y = out(t, o.outer * o.axis * o.inner, NULL);
    t->kernels->reduce_prod_grad(&o);
}

static void argmax_case(run *t)
{
    rgm_argmax_args o = {.rows = draw_rows(t), .channels = draw_channels(t)};
    void *x = in(t, o.rows * o.channels), *numbers;

    for (int64_t i = 0; i < o.rows * o.channels && t->variant % 3 == 0; i++)
        put(t, x, i, floor(3 * get(t, x, i))); /* equal ones */
    o.x = x;
    o.y = keep(t, (size_t)o.rows * sizeof *o.y);
    numbers = out(t, o.rows, NULL);
    t->kernels->argmax(&o);
    for (int64_t i = 0; i < o.rows; i++)
        put(t, numbers, i, (double)o.y[i]);
}

static rgm_l2_normalize_args l2_normalize_args(run *t)
{
    rgm_l2_normalize_args o = {.rows = draw_rows(t), .channels = draw_channels(t)};
    void *x = in(t, o.rows * o.channels);

    for (int64_t i = 0; i < o.channels && o.rows > 2; i++)
        put(t, x, 2 * o.channels + i, 0);
    o.x = x;
    return o;
}

static void l2_normalize_case(run *t)
{
    rgm_l2_normalize_args o = l2_normalize_args(t);

    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->l2_normalize(&o);
}

static void l2_normalize_grad_case(run *t)
{
    rgm_l2_normalize_args o = l2_normalize_args(t);

    o.y_forward = in(t, o.rows * o.channels); /* any, so that rows of one number give more than 0 */
    o.dy = in(t, o.rows * o.channels);
    o.y = out(t, o.rows * o.channels, NULL);
    t->kernels->l2_normalize_grad(&o);
}

#endif
