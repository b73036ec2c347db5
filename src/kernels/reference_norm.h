/* Batch norm: rows of the reference. Part of reference.h. */

/* Two passes, so that a large mean does not eat the variance. */
static void column_moments(const rgm_batch_norm_args *o, int64_t c)
{
    const REAL *x = o->x;
    double sum = 0, squares = 0, n = (double)rgmi_max(o->rows, 1);

    for (int64_t r = 0; r < o->rows; r++)
        sum += x[r * o->channels + c];
    for (int64_t r = 0; r < o->rows; r++) {
        double d = x[r * o->channels + c] - sum / n;
        squares += d * d;
    }
    ((REAL *)o->y)[c] = (REAL)(sum / n);
    ((REAL *)o->y)[o->channels + c] = (REAL)(squares / n);
}

static void batch_moments_columns(void *payload, int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end; c++)
        column_moments(payload, c);
}

static void batch_moments(const rgm_batch_norm_args *args)
{
    rgm_parallel(args->channels, 4 * (double)args->rows, batch_moments_columns, (void *)args);
}

/* What y is before the activation. */
static inline double normed(const rgm_batch_norm_args *o, int64_t r, int64_t c)
{
    const REAL *mean = o->moments, *variance = mean + o->channels;
    double z = (((const REAL *)o->x)[r * o->channels + c] - (double)mean[c]) /
               sqrt(variance[c] + o->epsilon);

    return z * ((const REAL *)o->gamma)[c] + ((const REAL *)o->beta)[c];
}

static void batch_norm_rows(void *payload, int64_t begin, int64_t end)
{
    const rgm_batch_norm_args *o = payload;

    for (int64_t r = begin; r < end; r++)
        for (int64_t c = 0; c < o->channels; c++) {
            double y = normed(o, r, c);
            ((REAL *)o->y)[r * o->channels + c] = (REAL)(o->relu && y < 0 ? 0 : y);
        }
}

static void batch_norm(const rgm_batch_norm_args *args)
{
    rgm_parallel(args->rows, 5 * (double)args->channels, batch_norm_rows, (void *)args);
}

static void column_grad(const rgm_batch_norm_args *o, int64_t c)
{
    const REAL *x = o->x, *dy = o->dy, *mean = o->moments, *variance = mean + o->channels;
    double factor = 1 / sqrt(variance[c] + o->epsilon), n = (double)rgmi_max(o->rows, 1);
    double dgamma = 0, dbeta = 0;

    for (int64_t r = 0; r < o->rows; r++) {
        int64_t i = r * o->channels + c;
        double dz = o->relu && !(normed(o, r, c) > 0) ? 0 : dy[i];
        dgamma += dz * (x[i] - mean[c]) * factor;
        dbeta += dz;
    }
    for (int64_t r = 0; r < o->rows; r++) {
        int64_t i = r * o->channels + c;
        double dz = o->relu && !(normed(o, r, c) > 0) ? 0 : dy[i];
        double z = (x[i] - mean[c]) * factor;
        ((REAL *)o->y)[i] =
            (REAL)(((const REAL *)o->gamma)[c] * factor * (dz - dbeta / n - z * dgamma / n));
    }
    ((REAL *)o->dgamma)[c] = (REAL)dgamma;
    ((REAL *)o->dbeta)[c] = (REAL)dbeta;
}

static void batch_norm_grad_columns(void *payload, int64_t begin, int64_t end)
{
    for (int64_t c = begin; c < end; c++)
        column_grad(payload, c);
}

static void batch_norm_grad(const rgm_batch_norm_args *args)
{
    rgm_parallel(args->channels, 12 * (double)args->rows, batch_norm_grad_columns, (void *)args);
}
