/*
 * A model in training as the product's trainer runs it: labels read through the readout, loss,
 * gradients as graph, one executor, the optimizer's sweep. No validation, no files.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>

struct bench_training {
    rgm_cgraph *graph;
    rgm_graph_value *root;
    rgm_scope *scope;
    rgm_parameters *parameters;
    rgm_optimizer *optimizer;
    rgm_executor *executor;
    rgm_value **fetches;
    rgm_tensor **fetched;
    int64_t parameter_count;
    bool profile;
};

static rgm_status build_loss(rgm_value **loss, bench_training *t, rgm_schema *schema,
                             rgm_model_fn *model, void *payload, int64_t classes)
{
    rgm_gnn_task task = rgm_node_multiclass("nodes", "label", classes);
    rgm_head head = {.loss_weight = 1};
    const rgm_graph_value *in, *out;

    task.options.head = 1; /* the model's states are the logits */
    RGM_TRY(rgm_graph_value_create(&t->root, t->graph, schema));
    RGM_TRY(rgm_gnn_task_preprocess(&in, &head.labels, &task, t->root));
    out = model(t->scope, rgm_without_aux_features(in), payload);
    RGM_TRY(rgm_cgraph_status(t->graph));
    head.predictions = rgm_gnn_task_predict(&task, t->scope, out);
    RGM_TRY(rgm_cgraph_status(t->graph));
    RGM_TRY(rgm_gnn_task_judge(&head, &task));
    *loss = head.loss;
    if (rgm_scope_loss(t->scope) != NULL)
        *loss = rgm_add(*loss, rgm_scope_loss(t->scope));
    return rgm_cgraph_status(t->graph);
}

static rgm_status compile(bench_training *t, rgm_value *loss)
{
    rgm_status status = RGM_OK;
    rgm_executor_options options = {.training = true};
    rgm_value **wrt = NULL;
    int64_t count = rgm_cgraph_parameter_count(t->graph);

    RGM_GO(RGM_NEW(wrt, count));
    RGM_GO(RGM_NEW(t->fetches, count + 1));
    RGM_GO(RGM_NEW(t->fetched, count + 1));
    for (int64_t i = 0; i < count; i++)
        wrt[i] = rgm_cgraph_parameter(t->graph, i);
    t->parameter_count = count;
    t->fetches[0] = loss;
    RGM_GO(rgm_cgraph_gradients(t->fetches + 1, loss, wrt, count));
    RGM_GO(rgm_executor_create(&t->executor, t->graph, t->fetches, count + 1, &options));
    rgm_executor_profile(t->executor, t->profile);
done:
    rgm_free(wrt);
    return status;
}

rgm_status bench_training_open(bench_training **out, rgm_schema *schema, rgm_model_fn *model,
                               void *payload, int64_t classes,
                               const rgm_optimizer_options *optimizer, bool profile)
{
    rgm_status status = RGM_OK;
    bench_training *t = NULL;
    rgm_value *loss;

    *out = NULL;
    RGM_GO(RGM_NEW(t, 1));
    t->profile = profile;
    RGM_GO(rgm_cgraph_create(&t->graph));
    RGM_GO(rgm_scope_create(&t->scope, t->graph, RGM_F32));
    RGM_GO(build_loss(&loss, t, schema, model, payload, classes));
    RGM_GO(rgm_parameters_create(&t->parameters, t->graph, 1));
    RGM_GO(rgm_optimizer_create(&t->optimizer, optimizer, t->parameters));
    RGM_GO(compile(t, loss));
    *out = t;
    t = NULL;
done:
    bench_training_close(t);
    return status;
}

rgm_status bench_training_step(bench_training *t, rgm_graph *graph, int64_t step)
{
    rgm_feed feeds[32];
    int64_t count = 0;
    double loss;

    RGM_TRY(rgm_graph_feeds(feeds, 32, &count, t->root, graph));
    RGM_TRY(
        rgm_executor_run(t->executor, t->fetched, t->parameters, feeds, count, 1, (uint64_t)step));
    loss = rgm_tensor_at(t->fetched[0], 0);
    if (!isfinite(loss))
        return RGM_FAIL(RGM_ERR_NUMERIC, "the loss of step %lld is %g", (long long)step, loss);
    return rgm_optimizer_step(t->optimizer, t->parameters, t->fetched + 1, step);
}

void bench_training_close(bench_training *t)
{
    rgm_text text = {0};

    if (t == NULL)
        return;
    if (t->profile && t->executor != NULL && rgm_executor_print(&text, t->executor) == RGM_OK)
        fprintf(stderr, "%s\n", text.data);
    rgm_text_clear(&text);
    rgm_executor_release(t->executor);
    rgm_optimizer_release(t->optimizer);
    rgm_parameters_release(t->parameters);
    rgm_scope_release(t->scope);
    rgm_graph_value_release(t->root);
    rgm_cgraph_release(t->graph);
    rgm_free(t->fetches);
    rgm_free(t->fetched);
    rgm_free(t);
}
