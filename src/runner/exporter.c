/*
 * The ONNX exporter: every head of a trained run in one file, and a check that another implementation
 * (export's interpreter) computes the same from it.
 */
#include <math.h>
#include <string.h>

#include "runner_internal.h"

static rgm_status save_onnx(const rgm_run_result *result, const char *export_dir, void *payload)
{
    rgm_status status = RGM_OK;
    const rgm_task_model *model = rgm_run_trained_model(result);
    rgm_export_output outputs[RGM_MAX_HEADS];
    rgm_onnx_options options = {.description = "graph network trained by Regimen"};
    char *path = NULL;

    (void)payload;
    for (int64_t h = 0; h < model->head_count; h++)
        outputs[h] = (rgm_export_output){model->heads[h].name, model->heads[h].predictions};
    RGM_GO(rgm_path_join(&path, export_dir, "model.onnx"));
    RGM_GO(rgm_onnx_save(path, rgm_trainer_graph(rgm_run_trainer(result)),
                         rgm_trainer_parameters(rgm_run_trainer(result)), outputs,
                         model->head_count, &options));
done:
    rgm_free(path);
    return status;
}

rgm_exporter rgm_onnx_exporter(void)
{
    return (rgm_exporter){.name = "onnx", .save = save_onnx};
}

/* ---- verification -------------------------------------------------------------------------- */

typedef struct comparison {
    const rgm_run_result *run;
    rgm_onnx_model *model;
    int64_t head, output, batches, max_batches;
    rgm_export_check *check;
} comparison;

static rgm_status run_onnx(rgm_tensor **out, comparison *c, rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_feed feeds[512];
    rgm_named_tensor *inputs = NULL;
    rgm_tensor *outputs[RGM_MAX_HEADS] = {NULL};
    int64_t feed_count = 0, input_count = 0;

    RGM_GO(rgm_graph_feeds(feeds, 512, &feed_count, rgm_run_input(c->run), graph));
    RGM_GO(rgm_onnx_inputs(&inputs, &input_count, feeds, feed_count));
    RGM_GO(rgm_onnx_run(outputs, c->model, inputs, input_count));
    *out = outputs[c->output];
    outputs[c->output] = NULL;
done:
    rgm_onnx_inputs_release(inputs, input_count);
    for (int i = 0; i < RGM_MAX_HEADS; i++)
        rgm_tensor_release(outputs[i]);
    return status;
}

static rgm_status compare_batch(void *payload, rgm_graph *graph, const rgm_tensor *predictions)
{
    comparison *c = payload;
    rgm_tensor *theirs = NULL;

    if (c->batches++ >= c->max_batches)
        return RGM_END;
    RGM_TRY(run_onnx(&theirs, c, graph));
    if (rgm_tensor_count(theirs) != rgm_tensor_count(predictions)) {
        char a[64], b[64];

        rgm_tensor_describe(theirs, a, sizeof a);
        rgm_tensor_describe(predictions, b, sizeof b);
        rgm_tensor_release(theirs);
        return RGM_FAIL(RGM_ERR_SHAPE, "the exported graph gives %s, the model %s", a, b);
    }
    for (int64_t i = 0; i < rgm_tensor_count(theirs); i++) {
        double difference = fabs(rgm_tensor_at(theirs, i) - rgm_tensor_at(predictions, i));

        if (!(difference <= c->check->largest_difference))
            c->check->largest_difference = difference;
    }
    c->check->items += rgm_tensor_dim(predictions, 0);
    rgm_tensor_release(theirs);
    return RGM_OK;
}

rgm_status rgm_run_verify_onnx(rgm_export_check *check, const rgm_run_result *result,
                               const char *path, rgm_mode mode, int64_t max_batches)
{
    rgm_status status = RGM_OK;
    const rgm_task_model *model = rgm_run_trained_model(result);
    comparison c = {.run = result, .max_batches = max_batches, .check = check};

    *check = (rgm_export_check){0};
    RGM_GO(rgm_onnx_open(&c.model, path));
    for (c.head = 0; c.head < model->head_count; c.head++) {
        c.output = -1;
        for (int64_t i = 0; i < rgm_onnx_output_count(c.model); i++)
            if (strcmp(rgm_onnx_output_name(c.model, i), model->heads[c.head].name) == 0)
                c.output = i;
        if (c.output < 0)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s has no output '%s'", path,
                            model->heads[c.head].name));
        c.batches = 0;
        RGM_GO(rgm_run_predict_all(result, mode, c.head, compare_batch, &c));
    }
    if (!(check->largest_difference <= 1e-4))
        status = RGM_FAIL(RGM_ERR_DATA,
                          "%s: the exported graph differs from the model by %g on %lld items, more "
                          "than 1e-4",
                          path, check->largest_difference, (long long)check->items);
done:
    rgm_onnx_close(c.model);
    return status;
}
