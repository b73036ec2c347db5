/*
 * A loss in training as the product's trainer runs it: gradients as graph, one executor, the
 * optimizer's sweep. No validation, no files.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>

rgm_status bench_training_begin(bench_training *t)
{
    RGM_TRY(rgm_cgraph_create(&t->graph));
    return rgm_scope_create(&t->scope, t->graph, RGM_F32);
}

/* The loss and the gradient of each parameter. */
static rgm_status make_fetches(bench_training *t, rgm_value *loss, int64_t parameters)
{
    rgm_status status = RGM_OK;
    rgm_value **wrt = NULL;

    RGM_GO(RGM_NEW(wrt, parameters));
    RGM_GO(RGM_NEW(t->fetches, parameters + 1));
    RGM_GO(RGM_NEW(t->fetched, parameters + 1));
    RGM_GO(RGM_NEW(t->stays, parameters + 1));
    for (int64_t i = 0; i < parameters; i++)
        t->stays[i + 1] = true;
    for (int64_t i = 0; i < parameters; i++)
        wrt[i] = rgm_cgraph_parameter(t->graph, i);
    t->fetches[0] = loss;
    RGM_GO(rgm_cgraph_gradients(t->fetches + 1, loss, wrt, parameters));
done:
    rgm_free(wrt);
    return status;
}

rgm_status bench_training_compile(bench_training *t, rgm_value *loss,
                                  const rgm_optimizer_options *optimizer, bool bf16, bool profile)
{
    int64_t parameters = rgm_cgraph_parameter_count(t->graph);

    RGM_TRY(rgm_cgraph_status(t->graph));
    RGM_TRY(rgm_parameters_create(&t->parameters, t->graph, 1));
    RGM_TRY(rgm_optimizer_create(&t->optimizer, optimizer, t->parameters));
    RGM_TRY(make_fetches(t, loss, parameters));
    const rgm_executor_options options = {.training = true,
                                          .bf16 = bf16,
                                          .device = bench_device,
                                          .stays = t->stays,
                                          .fixed_feeds = true};
    RGM_TRY(rgm_executor_create(&t->executor, t->graph, t->fetches, parameters + 1, &options));
    rgm_executor_profile(t->executor, profile);
    t->profile = profile;
    return RGM_OK;
}

rgm_status bench_training_step(bench_training *t, const rgm_feed *feeds, int64_t count,
                               int64_t step)
{
    double loss;

    RGM_TRY(
        rgm_executor_run(t->executor, t->fetched, t->parameters, feeds, count, 1, (uint64_t)step));
    loss = rgm_tensor_at(t->fetched[0], 0);
    if (!isfinite(loss))
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss of step %lld is %g", (long long)step, loss);
    return rgm_optimizer_step(t->optimizer, t->parameters, t->fetched + 1, step);
}

void bench_training_end(bench_training *t)
{
    rgm_text text = {0};

    if (t->profile && t->executor != NULL && rgm_executor_print(&text, t->executor) == RGM_OK)
        fprintf(stderr, "%s\n", text.data);
    rgm_text_clear(&text);
    rgm_executor_release(t->executor);
    rgm_optimizer_release(t->optimizer);
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_cgraph_release(t->graph);
    rgm_free(t->fetches);
    rgm_free(t->fetched);
    rgm_free(t->stays);
    *t = (bench_training){0};
}
