/*
 * Learning-rate schedules: pure functions of the step, in double. No state, so nothing to save.
 */
#include "optim_internal.h"

#include <math.h>

rgm_schedule rgm_schedule_constant(double rate)
{
    return (rgm_schedule){.type = RGM_SCHEDULE_CONSTANT, .peak = rate, .decay_rate = 0.96};
}

rgm_schedule rgm_schedule_exponential(double peak, int64_t decay_steps, double decay_rate)
{
    return (rgm_schedule){.type = RGM_SCHEDULE_EXPONENTIAL,
                          .peak = peak,
                          .decay_steps = decay_steps,
                          .decay_rate = decay_rate};
}

rgm_schedule rgm_schedule_cosine(double peak, int64_t decay_steps)
{
    return (rgm_schedule){
        .type = RGM_SCHEDULE_COSINE, .peak = peak, .decay_steps = decay_steps, .decay_rate = 0.96};
}

static double exponential(const rgm_schedule *s, int64_t t)
{
    double periods = (double)t / (double)s->decay_steps;

    return s->peak * pow(s->decay_rate, s->staircase ? floor(periods) : periods);
}

static double cosine(const rgm_schedule *s, int64_t t)
{
    const double pi = 3.14159265358979323846;
    double u = (double)(t < s->decay_steps ? t : s->decay_steps) / (double)s->decay_steps;

    return s->peak * (s->floor + (1 - s->floor) * 0.5 * (1 + cos(pi * u)));
}

double rgm_schedule_rate(const rgm_schedule *s, int64_t step)
{
    if (step < s->warmup_steps)
        return s->warmup_start +
               (s->peak - s->warmup_start) * ((double)step / (double)s->warmup_steps);
    switch ((rgm_schedule_type)s->type) {
    case RGM_SCHEDULE_EXPONENTIAL:
        return exponential(s, step - s->warmup_steps);
    case RGM_SCHEDULE_COSINE:
        return cosine(s, step - s->warmup_steps);
    case RGM_SCHEDULE_CONSTANT:
        break;
    }
    return s->peak;
}
