/* A compute graph: y = x W with a symbolic batch, its loss, the gradient as graph, ten steps down.
 */
#include <stdio.h>

#include <regimen/autodiff.h>

static rgm_status descend(void)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;
    rgm_parameters *parameters = NULL;
    rgm_executor *executor = NULL;
    rgm_tensor *batch = NULL, *fetched[2];
    rgm_executor_options options = {.training = true};
    const float rows[] = {1, 0, 0, 1, 1, 1};

    RGM_GO(rgm_cgraph_create(&graph));
    rgm_dim n = rgm_cgraph_symbol(graph, "batch");
    rgm_value *x = rgm_input(graph, "x", RGM_F32, 2, (rgm_dim[]){n, 2});
    rgm_value *w = rgm_parameter(graph, "w", RGM_F32, 2, (int64_t[]){2, 1},
                                 (rgm_init){RGM_INIT_GLOROT_UNIFORM, 0});
    rgm_value *loss = rgm_mean(rgm_square(rgm_shift(rgm_matmul(x, w), -1)));
    rgm_value *gradient = NULL;

    RGM_GO(rgm_cgraph_status(graph)); /* the first mistake of any builder above */
    RGM_GO(rgm_cgraph_gradients(&gradient, loss, &w, 1));
    RGM_GO(rgm_executor_create(&executor, graph, (rgm_value *[]){loss, gradient}, 2, &options));
    RGM_GO(rgm_parameters_create(&parameters, graph, 7));
    RGM_GO(rgm_tensor_create_from(&batch, RGM_F32, 2, (int64_t[]){3, 2}, rows));
    rgm_feed feed = {.input = x, .tensor = batch};
    for (uint64_t step = 0; step < 10; step++) {
        float *weights = rgm_tensor_f32(rgm_parameters_find(parameters, "w"));

        RGM_GO(rgm_executor_run(executor, fetched, parameters, &feed, 1, 7, step));
        printf("step %d  loss %.4f\n", (int)step, rgm_tensor_at(fetched[0], 0));
        for (int i = 0; i < 2; i++)
            weights[i] -= 0.3f * rgm_tensor_f32(fetched[1])[i];
        rgm_parameters_touch(parameters);
    }
done:
    rgm_tensor_release(batch);
    rgm_executor_release(executor);
    rgm_parameters_release(parameters);
    rgm_cgraph_release(graph);
    return status;
}

int main(void)
{
    if (descend() != RGM_OK) {
        fprintf(stderr, "%s\n", rgm_error_text());
        return 1;
    }
    return 0;
}
