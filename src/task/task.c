/*
 * What all tasks share: names of the modes, the weighted mean of per-item losses.
 */
#include <regimen/task.h>

const char *rgm_mode_name(rgm_mode mode)
{
    static const char *const names[] = {"train", "valid", "test"};

    return names[mode];
}

rgm_value *rgm_weighted_mean(rgm_value *x, rgm_value *weights)
{
    rgm_value *total;

    if (x == NULL)
        return NULL;
    if (weights == NULL)
        return rgm_mean(x);
    /* A batch of nothing but padding has total 0: its loss is 0, not NaN. */
    total = rgm_floor_at(rgm_sum(weights), 1e-12);
    return rgm_div(rgm_sum(rgm_mul(x, weights)), total);
}
