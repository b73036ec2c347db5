/*
 * The loss of a student: how far its distribution is from the one of its teachers.
 */
#include <math.h>

#include <regimen/metrics.h>

static rgm_value *log_probabilities(rgm_value *logits, int64_t classes, double temperature)
{
    if (logits == NULL)
        return NULL;
    if (rgm_value_dim(logits, 1) != classes)
        logits = rgm_slice(logits, 1, 0, classes);
    return rgm_log_softmax(temperature != 1 ? rgm_scale(logits, 1 / temperature) : logits);
}

/* The mean of the teachers' distributions, and its logarithm. */
static rgm_value *teach(rgm_value **log_p, rgm_value *const *teachers, int64_t count,
                        int64_t classes, double temperature)
{
    rgm_value *p = NULL, *of_one = NULL;

    for (int64_t i = 0; i < count; i++) {
        of_one = rgm_stop_gradient(log_probabilities(teachers[i], classes, temperature));
        p = i == 0 ? rgm_exp(of_one) : rgm_add(p, rgm_exp(of_one));
    }
    if (count == 1) {
        *log_p = of_one;
        return p;
    }
    p = rgm_scale(p, 1 / (double)count);
    *log_p = rgm_log(rgm_floor_at(p, 1e-30));
    return p;
}

rgm_value *rgm_distillation_losses(rgm_value *logits, rgm_value *const *teachers, int64_t count,
                                   int64_t classes, double temperature)
{
    rgm_value *p, *log_p = NULL, *losses;

    if (logits == NULL)
        return NULL;
    if (!(temperature > 0 && isfinite(temperature)) || count < 1)
        return rgm_cgraph_fail(rgm_value_graph(logits), RGM_ERR_ARG,
                               "distillation: a temperature of %g and %lld teachers; it takes a "
                               "finite temperature above 0, and a teacher",
                               temperature, (long long)count);
    p = teach(&log_p, teachers, count, classes, temperature);
    losses = rgm_sub(log_p, log_probabilities(logits, classes, temperature));
    losses = rgm_reduce(rgm_mul(p, losses), 1, RGM_SUM);
    return temperature != 1 ? rgm_scale(losses, temperature * temperature) : losses;
}
