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

/* ---- the step ------------------------------------------------------------------------------ */

/* The direction goes into the scratch array. */
static bool adafactor_direction(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;
    matrices shape = matrices_of(o, u->rank, u->shape);
    bool factored = shape.count > 0;
    double t = fmax(1, (double)(u->step + 1 - o->step_offset));

    u->kernels->adafactor_direction(&(rgm_adafactor_args){
        .y = u->scratch,
        .v = factored ? NULL : u->slots[0],
        .row = factored ? u->slots[0] : NULL,
        .column = factored ? u->slots[1] : NULL,
        .w = u->w,
        .gradient = u->gradient,
        .count = u->count,
        .matrices = shape.count,
        .rows = shape.rows,
        .columns = shape.columns,
        .keep = 1 - pow(t, -o->decay_rate),
        .epsilon = o->epsilon_1,
        .gradient_scale = u->gradient_scale,
    });
    return o->multiply_by_parameter_scale || o->clipping_threshold > 0;
}

static void adafactor_step(const rgm_update *u)
{
    const rgm_optimizer_options *o = u->options;
    bool factored = matrices_of(o, u->rank, u->shape).count > 0;
    double root = sqrt((double)u->count);
    rgm_adafactor_move_args move = {.w = u->w,
                                    .m = o->beta_1 != 0 ? u->slots[factored ? 2 : 1] : NULL,
                                    .direction = u->scratch,
                                    .count = u->count,
                                    .length = u->rate,
                                    .beta1 = o->beta_1,
                                    .decay = u->rate * u->weight_decay};

    if (o->multiply_by_parameter_scale)
        move.length *= fmax(o->epsilon_2, u->w_norm / root);
    if (o->clipping_threshold > 0)
        move.length /= fmax(1, u->direction_norm / root / o->clipping_threshold);
    u->kernels->adafactor_move(&move);
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
    .defaults = adafactor_defaults,
    .slots = adafactor_slots,
    .direction = adafactor_direction,
    .step = adafactor_step,
    .on_device = true,
};
