/*
 * Rows that every table of the element type has: nothing has asked for a faster one. PLAIN() names
 * them, as `rgmi_f32_argmax`, for the tables of the vector units.
 */

void PLAIN(fill)(const rgm_fill_args *args)
{
    for (int64_t i = 0; i < args->count; i++)
        ((REAL *)args->y)[i] = (REAL)args->value;
}

static void argmax_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_argmax_args *o = payload;

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * o->channels;
        int64_t best = 0;
        for (int64_t c = 1; c < o->channels; c++)
            if (x[c] > x[best])
                best = c;
        o->y[r] = best;
    }
}

void PLAIN(argmax)(const rgm_argmax_args *args)
{
    rgm_parallel(args->rows, 3 + (double)args->channels, argmax_rows, (void *)args);
}

static void prod_grad_outer(void *payload, int64_t begin, int64_t end)
{
    const rgm_reduce_args *o = payload;

    for (int64_t i = begin; i < end; i++) {
        int64_t outer = i / o->inner, c = i % o->inner;
        const REAL *x = (const REAL *)o->x + outer * o->axis * o->inner + c;
        REAL *dx = (REAL *)o->y + outer * o->axis * o->inner + c;
        REAL before = ((const REAL *)o->dy)[i], behind = 1;
        for (int64_t k = 0; k < o->axis; k++) {
            dx[k * o->inner] = before;
            before *= x[k * o->inner];
        }
        for (int64_t k = o->axis - 1; k >= 0; k--) {
            dx[k * o->inner] *= behind;
            behind *= x[k * o->inner];
        }
    }
}

void PLAIN(reduce_prod_grad)(const rgm_reduce_args *args)
{
    rgm_parallel(args->outer * args->inner, 4 * (double)args->axis, prod_grad_outer, (void *)args);
}

/* Sums run over eight lanes, so that the compiler may use vectors without changing their order. */
static REAL dot(const REAL *a, const REAL *b, int64_t n)
{
    REAL lane[8] = {0};
    int64_t i = 0;

    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            lane[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        lane[i & 7] += a[i] * b[i];
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static REAL inverse_length(const REAL *x, int64_t n)
{
    REAL squares = dot(x, x, n);

    return squares > 0 ? 1 / R(sqrt)(squares) : 0;
}

static void l2_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_l2_normalize_args *o = payload;
    int64_t n = o->channels;

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * n;
        REAL *y = (REAL *)o->y + r * n, inverse = inverse_length(x, n);
        for (int64_t i = 0; i < n; i++)
            y[i] = x[i] * inverse;
    }
}

void PLAIN(l2_normalize)(const rgm_l2_normalize_args *args)
{
    rgm_parallel(args->rows, 10 + (double)args->channels, l2_rows, (void *)args);
}

static void l2_grad_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_l2_normalize_args *o = payload;
    int64_t n = o->channels;

    for (int64_t r = begin; r < end; r++) {
        const REAL *x = (const REAL *)o->x + r * n, *y = (const REAL *)o->y_forward + r * n;
        const REAL *dy = (const REAL *)o->dy + r * n;
        REAL *dx = (REAL *)o->y + r * n, inverse = inverse_length(x, n), along = dot(y, dy, n);
        for (int64_t i = 0; i < n; i++)
            dx[i] = (dy[i] - along * y[i]) * inverse;
    }
}

void PLAIN(l2_normalize_grad)(const rgm_l2_normalize_args *args)
{
    rgm_parallel(args->rows, 12 + 2 * (double)args->channels, l2_grad_rows, (void *)args);
}
