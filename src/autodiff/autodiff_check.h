/* Running a lab, and the check of its gradients against central differences in double. */
#ifndef RGM_AUTODIFF_CHECK_H
#define RGM_AUTODIFF_CHECK_H

#include <lab.h>

/* Run once; the results are copies that the caller releases. */
static inline void lab_run(lab *l, rgm_tensor **results, rgm_value *const *fetches, int64_t count,
                           const rgm_executor_options *options, const rgm_parameters *parameters)
{
    rgm_executor *executor;
    rgm_tensor *borrowed[LAB_MAX];

    CHECK(count <= LAB_MAX);
    CHECK_OK(rgm_cgraph_status(l->graph));
    CHECK_OK(rgm_executor_create(&executor, l->graph, fetches, count, options));
    CHECK_OK(rgm_executor_run(executor, borrowed, parameters, l->feeds, l->count, 3, 5));
    for (int64_t i = 0; i < count; i++)
        CHECK_OK(rgm_tensor_copy(&results[i], borrowed[i]));
    rgm_executor_release(executor);
}

/* loss = sum(y * r) with r a random input of y's shape that takes no part in the check. */
static inline rgm_value *lab_loss(lab *l, rgm_value *y)
{
    rgm_tensor *result, *r;
    rgm_executor_options plain = {.no_fusion = true, .training = true};

    CHECK_OK(rgm_cgraph_status(l->graph));
    lab_run(l, &result, &y, 1, &plain, NULL);
    CHECK_OK(rgm_tensor_create(&r, l->dtype, rgm_tensor_rank(result), rgm_tensor_shape(result)));
    for (int64_t i = 0; i < rgm_tensor_count(r); i++)
        lab_set(r, i, lab_number(l, false));
    rgm_tensor_release(result);
    rgm_value *weight =
        rgm_input(l->graph, "loss weights", l->dtype, rgm_value_rank(y), rgm_value_shape(y));
    lab_feed(l, weight, r, false);
    return rgm_sum(rgm_mul(y, weight));
}

static inline double lab_loss_at(lab *l, rgm_executor *executor, int64_t input, int64_t i,
                                 double delta)
{
    rgm_tensor *loss, *moved, *kept = l->feeds[input].tensor;

    CHECK_OK(rgm_tensor_copy(&moved, kept));
    lab_set(moved, i, rgm_tensor_at(moved, i) + delta);
    l->feeds[input].tensor = moved;
    CHECK_OK(rgm_executor_run(executor, &loss, NULL, l->feeds, l->count, 3, 5));
    double value = rgm_tensor_at(loss, 0);
    l->feeds[input].tensor = kept;
    rgm_tensor_release(moved);
    return value;
}

/* Every gradient of loss by every differentiable input against central differences. */
static inline void lab_check_gradient(lab *l, const char *what, rgm_value *loss,
                                      const rgm_executor_options *options)
{
    rgm_value *wrt[LAB_MAX] = {NULL}, *gradients[LAB_MAX];
    rgm_tensor *results[LAB_MAX];
    rgm_executor *executor;
    int64_t of[LAB_MAX], n = 0;
    const double step = 1e-5;

    for (int64_t i = 0; i < l->count; i++)
        if (l->differentiable[i]) {
            of[n] = i;
            wrt[n++] = l->feeds[i].input;
        }
    CHECK_OK(rgm_cgraph_gradients(gradients, loss, wrt, n));
    lab_run(l, results, gradients, n, options, NULL);
    CHECK_OK(rgm_executor_create(&executor, l->graph, &loss, 1, options));
    for (int64_t k = 0; k < n; k++) {
        int64_t count = rgm_tensor_count(results[k]);
        double worst = 0, largest = 1e-3;
        CHECK_INT(rgm_tensor_count(l->feeds[of[k]].tensor), count);
        for (int64_t i = 0; i < count; i++) {
            double up = lab_loss_at(l, executor, of[k], i, step);
            double down = lab_loss_at(l, executor, of[k], i, -step);
            double numeric = (up - down) / (2 * step), got = rgm_tensor_at(results[k], i);
            largest = fmax(largest, fabs(numeric));
            if (!(fabs(numeric - got) <= worst))
                worst = isnan(got) ? INFINITY : fabs(numeric - got);
        }
        if (!(worst <= 1e-6 * largest))
            fail_msg("%s: gradient by input %d is off by %g, largest is %g", what, (int)of[k],
                     worst, largest);
        rgm_tensor_release(results[k]);
    }
    rgm_executor_release(executor);
}

#endif
