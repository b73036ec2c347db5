/*
 * Learning-rate schedules: pure functions of the step, in double. No state, so nothing to save. A
 * new one is a function, its keys and a row here.
 */
#include "optim_internal.h"

#include <math.h>
#include <string.h>

/* ---- rates; s >= 0 counts from the schedule's offset --------------------------------------- */

static double constant(const rgm_schedule *o, double s)
{
    (void)s;
    return o->initial;
}

static double stepwise(const rgm_schedule *o, double s)
{
    int64_t i = 0;

    while (i < o->boundaries.count &&
           (o->unit == RGM_UNIT_EPOCHS ? s >= (double)o->boundaries.items[i]
                                       : s > (double)o->boundaries.items[i]))
        i++;
    return o->values.items[i];
}

/* How many times decay_steps have passed. */
static double periods(const rgm_schedule *o, double s)
{
    double passed = s / (double)o->decay_steps;

    return o->staircase ? floor(passed) : passed;
}

static double exponential(const rgm_schedule *o, double s)
{
    return o->initial * pow(o->decay_rate, periods(o, s));
}

static double inverse_time(const rgm_schedule *o, double s)
{
    return o->initial / (1 + o->decay_rate * periods(o, s));
}

static double polynomial(const rgm_schedule *o, double s)
{
    double d = (double)o->decay_steps;

    if (o->cycle)
        d *= fmax(1, ceil(s / d));
    return (o->initial - o->end) * pow(1 - fmin(s, d) / d, o->power) + o->end;
}

/* 1 at u = 0, 0 at u = 1. */
static double half_cosine(double u)
{
    const double pi = 3.14159265358979323846;

    return 0.5 * (1 + cos(pi * u));
}

static double cosine(const rgm_schedule *o, double s)
{
    double d = (double)o->decay_steps;

    return o->initial * (o->floor + (1 - o->floor) * half_cosine(fmin(s, d) / d));
}

static double power(const rgm_schedule *o, double s)
{
    return o->initial * pow(fmax(s, 1), o->power);
}

static double power_linear(const rgm_schedule *o, double s)
{
    double d = (double)o->decay_steps;
    double left = (d - s) / (d * o->linear_decay_fraction);

    return power(o, s) * fmax(0, fmin(1, left));
}

static double power_with_offset(const rgm_schedule *o, double s)
{
    double before = o->pre_offset_rate > 0 ? o->pre_offset_rate : o->initial;

    return s <= 0 ? before : fmin(before, power(o, s));
}

/* The model garden's divides by zero after the last boundary; here the last value holds. */
static double step_cosine(const rgm_schedule *o, double s)
{
    const int64_t *at = o->boundaries.items;
    const double *values = o->values.items;
    int64_t i = 0, last = o->values.count - 1;
    double u;

    if (s <= (double)at[0])
        return values[0];
    while (i < last && s >= (double)at[i + 1])
        i++;
    if (i == last)
        return values[last];
    u = (s - (double)at[i]) / (double)(at[i + 1] - at[i]);
    return values[i + 1] + (values[i] - values[i + 1]) * half_cosine(u);
}

/* ---- keys ---------------------------------------------------------------------------------- */

static const char *const warmup_types[] = {"linear", "polynomial", NULL};

#define RGM_OPTIONS rgm_warmup
static const rgm_field warmup_fields[] = {
    RGM_CHOICE_FIELD(
        type, warmup_types,
        "linear: from start; polynomial: (step / steps) ^ power of the rate at its end"),
    RGM_INT_FIELD(steps, 0, INFINITY, "steps of it; 0: none"),
    RGM_FLOAT_FIELD(start, 0, INFINITY, "linear: rate of step 0"),
    RGM_FLOAT_FIELD(power, RGM_ABOVE_0, INFINITY, "polynomial: the exponent"),
    {0}};
#undef RGM_OPTIONS

static const char *const units[] = {"updates", "epochs", NULL};

#define RGM_OPTIONS rgm_schedule
#define WARMUP      RGM_GROUP_FIELD(warmup, warmup_fields, "the first steps")
#define UNIT                                                                                       \
    RGM_CHOICE_FIELD(                                                                              \
        unit, units,                                                                               \
        "what offset, decay_steps and boundaries count; epochs: whole ones, at whose "             \
        "ends alone the rate moves"),                                                              \
        RGM_INT_FIELD(epoch_updates, 0, INFINITY,                                                  \
                      "unit epochs: updates of an epoch; 0: one pass over the training data")
#define INITIAL RGM_FLOAT_FIELD(initial, 0, INFINITY, "rate at the start")
#define OFFSET  RGM_INT_FIELD(offset, 0, INFINITY, "step that counts as the first")
#define DECAY_STEPS                                                                                \
    RGM_INT_FIELD(decay_steps, 0, INFINITY, "length of the decay; 0: to the end of the run")
#define STAIRCASE  RGM_BOOL_FIELD(staircase, "decay in jumps")
#define POWER      RGM_FLOAT_FIELD(power, 0, 0, "exponent of the step")
#define BOUNDARIES RGM_INTS_FIELD(boundaries, 0, INFINITY, "steps, ascending")

const rgm_field rgm_schedule_fields[] = {INITIAL, DECAY_STEPS, OFFSET, UNIT, WARMUP, {0}};

static const rgm_field constant_fields[] = {INITIAL, WARMUP, {0}};
static const rgm_field stepwise_fields[] = {
    BOUNDARIES,
    RGM_FLOATS_FIELD(values, 0, INFINITY, "rates up to each boundary, and one for the rest"),
    OFFSET,
    UNIT,
    WARMUP,
    {0},
};
static const rgm_field exponential_fields[] = {
    INITIAL,
    DECAY_STEPS,
    RGM_FLOAT_FIELD(decay_rate, RGM_ABOVE_0, 1, "factor of each decay_steps, in (0, 1]"),
    STAIRCASE,
    OFFSET,
    UNIT,
    WARMUP,
    {0},
};
static const rgm_field inverse_time_fields[] = {
    INITIAL,
    DECAY_STEPS,
    RGM_FLOAT_FIELD(decay_rate, 0, INFINITY, "growth of the divisor in each decay_steps"),
    STAIRCASE,
    OFFSET,
    UNIT,
    WARMUP,
    {0},
};
static const rgm_field polynomial_fields[] = {
    INITIAL,
    DECAY_STEPS,
    RGM_FLOAT_FIELD(end, 0, INFINITY, "last rate"),
    RGM_FLOAT_FIELD(power, RGM_ABOVE_0, INFINITY, "exponent; 1: a straight line"),
    RGM_BOOL_FIELD(cycle, "begin anew, lower, at each end"),
    OFFSET,
    UNIT,
    WARMUP,
    {0},
};
static const rgm_field cosine_fields[] = {
    INITIAL, DECAY_STEPS, RGM_FLOAT_FIELD(floor, 0, 1, "last rate as a fraction of initial"),
    OFFSET,  UNIT,        WARMUP,
    {0},
};
static const rgm_field power_fields[] = {INITIAL, POWER, UNIT, WARMUP, {0}};
static const rgm_field power_linear_fields[] = {
    INITIAL,
    POWER,
    DECAY_STEPS,
    RGM_FLOAT_FIELD(linear_decay_fraction, RGM_ABOVE_0, 1,
                    "last part of decay_steps, in which the rate also goes down to 0 in a line"),
    OFFSET,
    UNIT,
    WARMUP,
    {0},
};
static const rgm_field power_with_offset_fields[] = {
    INITIAL, POWER,
    OFFSET,  RGM_FLOAT_FIELD(pre_offset_rate, 0, INFINITY, "rate up to offset; 0: initial"),
    UNIT,    WARMUP,
    {0},
};
static const rgm_field step_cosine_fields[] = {
    BOUNDARIES, RGM_FLOATS_FIELD(values, 0, INFINITY, "rates at the boundaries, as many"),
    OFFSET,     UNIT,
    WARMUP,     {0},
};
#undef RGM_OPTIONS

/* ---- rows ---------------------------------------------------------------------------------- */

static const rgm_schedule_type rows[] = {
    {"constant", "one rate", constant_fields, false, constant, NULL},
    {"stepwise", "a value between each two boundaries", stepwise_fields, false, stepwise, NULL},
    {"exponential", "a factor each decay_steps", exponential_fields, true, exponential, NULL},
    {"inverse_time", "one over a growing divisor", inverse_time_fields, true, inverse_time, NULL},
    {"polynomial", "down to end by a power of the time left", polynomial_fields, true, polynomial,
     NULL},
    {"cosine", "half a cosine down to floor", cosine_fields, true, cosine, NULL},
    {"power", "a power of the step", power_fields, false, power, NULL},
    {"power_linear", "a power of the step, at last down to 0", power_linear_fields, true,
     power_linear, NULL},
    {"power_with_offset", "a power of the step after offset", power_with_offset_fields, false,
     power_with_offset, NULL},
    {"step_cosine_with_offset", "half cosines between values at boundaries", step_cosine_fields,
     false, step_cosine, NULL},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

const rgm_schedule_type *const *rgm_schedule_types(int64_t *count)
{
    static const rgm_schedule_type *const types[] = {&rows[0], &rows[1], &rows[2], &rows[3],
                                                     &rows[4], &rows[5], &rows[6], &rows[7],
                                                     &rows[8], &rows[9]};

    _Static_assert(sizeof types / sizeof *types == ROW_COUNT, "a row is not listed");
    *count = (int64_t)ROW_COUNT;
    return types;
}

const rgm_schedule_type *rgm_schedule_find(const char *name)
{
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].name, name) == 0)
            return &rows[i];
    }
    return NULL;
}

/* ---- schedules ----------------------------------------------------------------------------- */

rgm_schedule rgm_schedule_default(const rgm_schedule_type *type, double initial)
{
    bool exponential_one = type->rate == exponential, polynomial_one = type->rate == polynomial;

    return (rgm_schedule){.type = type,
                          .initial = initial,
                          .decay_rate = exponential_one ? 0.96 : 1,
                          .end = 1e-4,
                          .power = polynomial_one ? 1 : -0.5,
                          .linear_decay_fraction = 0.1,
                          .warmup = {.power = 1}};
}

rgm_schedule rgm_schedule_constant(double rate)
{
    return rgm_schedule_default(rgm_schedule_find("constant"), rate);
}

rgm_schedule rgm_schedule_exponential(double initial, int64_t decay_steps, double decay_rate)
{
    rgm_schedule s = rgm_schedule_default(rgm_schedule_find("exponential"), initial);

    s.decay_steps = decay_steps;
    s.decay_rate = decay_rate;
    return s;
}

rgm_schedule rgm_schedule_cosine(double initial, int64_t decay_steps)
{
    rgm_schedule s = rgm_schedule_default(rgm_schedule_find("cosine"), initial);

    s.decay_steps = decay_steps;
    return s;
}

rgm_schedule rgm_schedule_power(double initial, double exponent)
{
    rgm_schedule s = rgm_schedule_default(rgm_schedule_find("power"), initial);

    s.power = exponent;
    return s;
}

int64_t rgm_schedule_epochs(const rgm_schedule *o, int64_t step)
{
    if (o->unit != RGM_UNIT_EPOCHS || (o->epoch_updates == 0 && o->pass_batches == 0))
        return -1;
    if (o->epoch_updates > 0)
        return step / o->epoch_updates;
    return step / o->pass_batches * o->update_batches +
           step % o->pass_batches * o->update_batches / o->pass_batches;
}

static double rate_without_warmup(const rgm_schedule *o, int64_t step)
{
    int64_t at = o->unit == RGM_UNIT_EPOCHS ? rgm_schedule_epochs(o, step) : step;

    return o->type->rate(o, at > o->offset ? (double)(at - o->offset) : 0);
}

double rgm_schedule_rate(const rgm_schedule *o, int64_t step)
{
    const rgm_warmup *w = &o->warmup;
    double passed, last;

    if (step >= w->steps)
        return rate_without_warmup(o, step);
    last = rate_without_warmup(o, w->steps);
    if (w->type == RGM_WARMUP_POLYNOMIAL)
        return last * pow(fmax((double)step, 1) / (double)w->steps, w->power);
    passed = (double)step / (double)w->steps;
    return w->start + passed * (last - w->start);
}

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_status check_boundaries(const rgm_schedule *o)
{
    int64_t wanted = o->boundaries.count + (o->type->rate == stepwise);

    if (o->values.count != wanted || wanted < 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate: %s takes %s; there are %lld boundaries and %lld "
                        "values",
                        o->type->name,
                        o->type->rate == stepwise ? "one value more than boundaries"
                                                  : "a value for each boundary",
                        (long long)o->boundaries.count, (long long)o->values.count);
    for (int64_t i = 1; i < o->boundaries.count; i++) {
        if (o->boundaries.items[i] <= o->boundaries.items[i - 1])
            return RGM_FAIL(
                RGM_ERR_CONFIG,
                "optimizer.learning_rate.boundaries should ascend, but %lld comes after "
                "%lld",
                (long long)o->boundaries.items[i], (long long)o->boundaries.items[i - 1]);
    }
    return RGM_OK;
}

rgm_status rgmi_schedule_check(const rgm_schedule *o)
{
    if (o->type == NULL)
        return RGM_FAIL(RGM_ERR_ARG,
                        "the schedule has no type; begin with rgm_schedule_constant()");
    RGM_TRY(rgm_options_check(o, o->type->fields, "optimizer.learning_rate"));
    RGM_TRY(rgmi_own_check(o->type->own, o->own, "optimizer.learning_rate"));
    if (o->type->rate == stepwise || o->type->rate == step_cosine)
        RGM_TRY(check_boundaries(o));
    if (o->warmup.type == RGM_WARMUP_POLYNOMIAL && o->warmup.start != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate.warmup.start is %g, but only a linear warmup has "
                        "a start",
                        o->warmup.start);
    if (o->warmup.type != RGM_WARMUP_POLYNOMIAL && o->warmup.power != 1)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate.warmup.power is %g, but only a polynomial warmup "
                        "has a power",
                        o->warmup.power);
    return RGM_OK;
}

/* ---- against a run -------------------------------------------------------------------------- */

/* The first update at which the schedule has counted so far. */
static int64_t first_update(const rgm_schedule *o, int64_t count)
{
    int64_t each = o->epoch_updates > 0 ? o->epoch_updates : o->pass_batches, updates;
    int64_t batches = o->epoch_updates > 0 ? 1 : o->update_batches;

    if (o->unit != RGM_UNIT_EPOCHS)
        return count;
    return __builtin_mul_overflow(count, each, &updates) || updates > INT64_MAX - batches
               ? INT64_MAX
               : (updates + batches - 1) / batches;
}

/* The update from which the rate stays what it is then; INT64_MAX: it never does. */
static int64_t end_of(const rgm_schedule *o)
{
    bool ends = o->type->rate == cosine || o->type->rate == power_linear ||
                (o->type->rate == polynomial && !o->cycle);

    if (!ends || o->decay_steps > INT64_MAX - o->offset)
        return INT64_MAX;
    return first_update(o, o->offset + o->decay_steps);
}

/* Whether any of the run's updates has a rate; a run is looked at as far as its schedule moves. */
static bool moves(const rgm_schedule *o, int64_t updates)
{
    enum { MOST = 1 << 20 };

    for (int64_t i = 0; i < updates && i < MOST; i++)
        if (rgm_schedule_rate(o, i) != 0)
            return true;
    return updates > MOST;
}

static rgm_status remark_on(rgm_text *out, const rgm_schedule *o, int64_t updates)
{
    int64_t end = end_of(o);

    if (o->warmup.steps >= updates)
        return rgm_text_printf(out,
                               "optimizer.learning_rate.warmup.steps is %lld, but the run has %lld "
                               "updates: it ends before its warmup does",
                               (long long)o->warmup.steps, (long long)updates);
    if (end < INT64_MAX && end / 2 >= updates)
        return rgm_text_printf(out,
                               "optimizer.learning_rate decays until update %lld, but the run has "
                               "%lld: it ends at the rate %g (without decay_steps the decay is as "
                               "long as the run)",
                               (long long)end, (long long)updates,
                               rgm_schedule_rate(o, updates - 1));
    if (end < updates - 1 && rgm_schedule_rate(o, end) == 0)
        return rgm_text_printf(out,
                               "optimizer.learning_rate is 0 from update %lld on: the last %lld of "
                               "the run's %lld updates change nothing (without decay_steps the "
                               "decay is as long as the run)",
                               (long long)end, (long long)(updates - end), (long long)updates);
    return RGM_OK;
}

rgm_status rgm_schedule_check_run(rgm_text *remark, const rgm_schedule *o, int64_t updates)
{
    bool decay_known = !o->type->decays || o->decay_steps > 0;

    if (o->unit == RGM_UNIT_EPOCHS && rgm_schedule_epochs(o, 0) < 0)
        return RGM_OK; /* nothing is known before the data are */
    if (decay_known && o->warmup.steps > 0 && o->warmup.steps >= end_of(o))
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "optimizer.learning_rate.warmup.steps is %lld, but must be below the update "
            "at which the decay ends (%lld): the warmup would lead to the last rate, %g",
            (long long)o->warmup.steps, (long long)end_of(o), rgm_schedule_rate(o, end_of(o)));
    if (!decay_known || updates < 1)
        return RGM_OK;
    if (!moves(o, updates))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "optimizer.learning_rate is 0 in each of the run's %lld updates: nothing "
                        "would be learnt",
                        (long long)updates);
    return remark != NULL ? remark_on(remark, o, updates) : RGM_OK;
}
