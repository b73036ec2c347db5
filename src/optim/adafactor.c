/*
 * Adafactor (Shazeer & Stern 2018, algorithms 4 to 6): Adam whose second moments of a matrix are
 * kept as one vector for its rows and one for its columns, with a decay that grows to 1, the
 * update's root mean square clipped, and the rate in proportion to the parameter's. The last two
 * axes are the matrix; those before it number the matrices.
 */
#include "optim_internal.h"

#include <math.h>

/* The matrices of a parameter; count is 0 when it is not factored. */
typedef struct matrices {
    int64_t count, rows, columns;
} matrices;

static matrices matrices_of(const rgm_optimizer_options *o, int rank, const int64_t *shape)
{
    matrices m = {1, 0, 0};
    int64_t least = o->min_dim_size_to_factor;

    if (!o->factored || rank < 2 || shape[rank - 1] < least || shape[rank - 2] < least)
        return (matrices){0};
    m.rows = shape[rank - 2];
    m.columns = shape[rank - 1];
    for (int axis = 0; axis < rank - 2; axis++)
        m.count *= shape[axis];
    return m;
}

static int adafactor_slots(rgm_slot *slots, const rgm_optimizer_options *o, const rgm_tensor *w)
{
    int rank = rgm_tensor_rank(w), count = 0;

    if (matrices_of(o, rank, rgm_tensor_shape(w)).count > 0) {
        slots[0] = rgmi_slot_like("row", w, 0);
        slots[0].rank = rank - 1;
        slots[1] = rgmi_slot_like("column", w, 0);
        slots[1].rank = rank - 1;
        slots[1].shape[rank - 2] = slots[1].shape[rank - 1];
        count = 2;
    } else {
        slots[count++] = rgmi_slot_like("v", w, 0);
    }
    if (o->beta_1 != 0)
        slots[count++] = rgmi_slot_like("m", w, 0);
    return count;
}

/* ---- second moments ------------------------------------------------------------------------ */

typedef struct factors {
    const rgm_update *u;
    matrices shape;
    double keep;  /* of the moments so far: the paper's beta_2t */
    void *row;    /* [count, rows]    */
    void *column; /* [count, columns] */
} factors;

static double squared(const rgm_update *u, int64_t i)
{
    double g = rgmi_load(u->gradient, u->dtype, i) * u->gradient_scale;

    return g * g + u->options->epsilon_1;
}

static void move_moment(const factors *f, void *moments, int64_t i, double mean)
{
    rgm_dtype dtype = f->u->dtype;

    rgmi_store(moments, dtype, i, f->keep * rgmi_load(moments, dtype, i) + (1 - f->keep) * mean);
}

static void row_means(void *payload, int64_t begin, int64_t end)
{
    const factors *f = payload;
    int64_t columns = f->shape.columns;

    for (int64_t r = begin; r < end; r++) {
        double sum = 0;

        for (int64_t c = 0; c < columns; c++)
            sum += squared(f->u, r * columns + c);
        move_moment(f, f->row, r, sum / (double)columns);
    }
}

#define COLUMN_BLOCK 64

static void column_means(void *payload, int64_t begin, int64_t end)
{
    const factors *f = payload;
    int64_t rows = f->shape.rows, columns = f->shape.columns;
    int64_t blocks = (columns + COLUMN_BLOCK - 1) / COLUMN_BLOCK;

    for (int64_t item = begin; item < end; item++) {
        int64_t matrix = item / blocks, first = item % blocks * COLUMN_BLOCK;
        int64_t n = columns - first < COLUMN_BLOCK ? columns - first : COLUMN_BLOCK;
        double sums[COLUMN_BLOCK] = {0};

        for (int64_t r = 0; r < rows; r++) {
            for (int64_t c = 0; c < n; c++)
                sums[c] += squared(f->u, (matrix * rows + r) * columns + first + c);
        }
        for (int64_t c = 0; c < n; c++)
            move_moment(f, f->column, matrix * columns + first + c, sums[c] / (double)rows);
    }
}

static double mean_of(const void *x, rgm_dtype dtype, int64_t begin, int64_t n)
{
    double sum = 0;

    for (int64_t i = begin; i < begin + n; i++)
        sum += rgmi_load(x, dtype, i);
    return sum / (double)n;
}

/* scratch = gradient / sqrt(row * column / mean of the matrix's rows), an item a row. */
static void divide(void *payload, int64_t begin, int64_t end)
{
    const factors *f = payload;
    const rgm_update *u = f->u;
    int64_t rows = f->shape.rows, columns = f->shape.columns;
    double mean = 0;

    for (int64_t item = begin; item < end; item++) {
        int64_t matrix = item / rows;
        double row = rgmi_load(f->row, u->dtype, item);

        if (item == begin || item % rows == 0)
            mean = mean_of(f->row, u->dtype, matrix * rows, rows);
        for (int64_t c = 0; c < columns; c++) {
            int64_t i = item * columns + c;
            double v = row * rgmi_load(f->column, u->dtype, matrix * columns + c) / mean;

            rgmi_store(u->scratch, u->dtype, i,
                       rgmi_load(u->gradient, u->dtype, i) * u->gradient_scale / sqrt(v));
        }
    }
}

static void factored_direction(const rgm_update *u, matrices shape, double keep)
{
    factors f = {u, shape, keep, u->slots[0], u->slots[1]};
    int64_t rows = shape.count * shape.rows;
    int64_t blocks = (shape.columns + COLUMN_BLOCK - 1) / COLUMN_BLOCK;

    rgm_parallel(rows, 2.0 * (double)shape.columns, row_means, &f);
    rgm_parallel(shape.count * blocks, 2.0 * COLUMN_BLOCK * (double)shape.rows, column_means, &f);
    rgm_parallel(rows, 6.0 * (double)shape.columns, divide, &f);
}

typedef struct plain_constants {
    double keep, epsilon;
} plain_constants;

static void plain_rule(double *const *x, const double *g, int64_t n, const void *constants)
{
    const plain_constants *c = constants;
    double *v = x[1], *u = x[2];

    for (int64_t i = 0; i < n; i++) {
        v[i] = c->keep * v[i] + (1 - c->keep) * (g[i] * g[i] + c->epsilon);
        u[i] = g[i] / sqrt(v[i]);
    }
}

/* ---- the step ------------------------------------------------------------------------------ */

typedef struct move_constants {
    double length, beta_1, decay;
} move_constants;

static void move_rule(double *const *x, const double *g, int64_t n, const void *constants)
{
    const move_constants *c = constants;
    double *w = x[0], *u = x[1], *m = c->beta_1 != 0 ? x[2] : NULL;

    (void)g;
    for (int64_t i = 0; i < n; i++) {
        double step = c->length * u[i];

        if (m != NULL)
            step = m[i] = c->beta_1 * m[i] + (1 - c->beta_1) * step;
        w[i] -= c->decay * w[i];
        w[i] -= step;
    }
}

static double root_mean_square(const rgm_update *u, const void *x)
{
    return rgmi_norm(u, x) / sqrt((double)u->count);
}

static void adafactor_step(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;
    matrices shape = matrices_of(o, u->rank, u->shape);
    double t = fmax(1, (double)(u->step + 1 - o->step_offset)), keep = 1 - pow(t, -o->decay_rate);
    plain_constants plain = {keep, o->epsilon_1};
    move_constants move = {.beta_1 = o->beta_1, .decay = u->rate * u->weight_decay};

    if (shape.count > 0)
        factored_direction(u, shape, keep);
    else
        rgmi_sweep_run(&(rgmi_sweep){.update = u,
                                     .rule = plain_rule,
                                     .constants = &plain,
                                     .arrays = {u->w, u->slots[0], u->scratch},
                                     .array_count = 3});
    move.length = u->rate;
    if (o->multiply_by_parameter_scale)
        move.length *= fmax(o->epsilon_2, root_mean_square(u, u->w));
    if (o->clipping_threshold > 0)
        move.length /= fmax(1, root_mean_square(u, u->scratch) / o->clipping_threshold);
    rgmi_sweep_run(&(rgmi_sweep){.update = u,
                                 .rule = move_rule,
                                 .constants = &move,
                                 .arrays = {u->w, u->scratch, u->slots[shape.count > 0 ? 2 : 1]},
                                 .array_count = o->beta_1 != 0 ? 3 : 2});
}

static void adafactor_defaults(rgm_optimizer_options *options)
{
    *options = rgm_optimizer_default(&rgmi_adafactor_type, 1e-2);
    options->factored = true;
    options->multiply_by_parameter_scale = true;
    options->min_dim_size_to_factor = 128;
    options->decay_rate = 0.8;
    options->clipping_threshold = 1;
    options->epsilon_1 = 1e-30;
    options->epsilon_2 = 1e-3;
}

#define RGM_OPTIONS rgm_optimizer_options
static const rgm_field adafactor_fields[] = {
    RGMI_OPTIMIZER_FIELDS,
    RGM_BOOL_FIELD(factored, "keep second moments of matrices by row and column"),
    RGM_INT_FIELD(min_dim_size_to_factor, 1, INFINITY, "smallest side that is factored"),
    RGM_BOOL_FIELD(multiply_by_parameter_scale,
                   "the rate is relative to the root mean square of w"),
    RGMI_FRACTION(beta_1, "decay of the mean of steps, in [0, 1); 0: none"),
    RGM_FLOAT_FIELD(decay_rate, RGM_ABOVE_0, 1,
                    "second moments of step t keep 1 - t ^ -decay_rate"),
    RGM_INT_FIELD(step_offset, 0, INFINITY, "step from which that t counts"),
    RGMI_NUMBER(clipping_threshold, "largest root mean square of an update; 0: no limit"),
    RGM_FLOAT_FIELD(epsilon_1, RGM_ABOVE_0, INFINITY, "added to squared gradients"),
    RGMI_NUMBER(epsilon_2, "smallest root mean square of w that counts"),
    RGMI_NUMBER(weight_decay, "decoupled: w -= learning_rate * weight_decay * w"),
    {0},
};
#undef RGM_OPTIONS

const rgm_optimizer_type rgmi_adafactor_type = {
    .name = "adafactor",
    .help = "Adam with second moments by row and column",
    .fields = adafactor_fields,
    .scratch = true,
    .defaults = adafactor_defaults,
    .slots = adafactor_slots,
    .step = adafactor_step,
};
