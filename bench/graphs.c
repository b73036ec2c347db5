/*
 * A model on graphs in training: labels are read through the readout, graphs are fed as they are.
 */
#include "bench.h"

struct bench_graph_training {
    bench_training training;
    rgm_graph_value *root;
};

static rgm_status build_loss(rgm_value **loss, bench_graph_training *t, rgm_schema *schema,
                             rgm_model_fn *model, void *payload, int64_t classes)
{
    rgm_cgraph *graph = t->training.graph;
    rgm_scope *scope = t->training.scope;
    rgm_gnn_task task = rgm_node_multiclass("nodes", "label", classes);
    rgm_head head = {.loss_weight = 1};
    const rgm_graph_value *in, *out;

    task.options.head = 1; /* the model's states are the logits */
    RGM_TRY(rgm_graph_value_create(&t->root, graph, schema));
    RGM_TRY(rgm_gnn_task_preprocess(&in, &head.labels, &task, t->root));
    out = model(scope, rgm_without_aux_features(in), payload);
    RGM_TRY(rgm_cgraph_status(graph));
    head.predictions = rgm_gnn_task_predict(&task, scope, out);
    RGM_TRY(rgm_cgraph_status(graph));
    RGM_TRY(rgm_gnn_task_judge(&head, &task));
    *loss = head.loss;
    if (rgm_scope_loss(scope) != NULL)
        *loss = rgm_add(*loss, rgm_scope_loss(scope));
    return RGM_OK;
}

rgm_status bench_graphs_open(bench_graph_training **out, rgm_schema *schema, rgm_model_fn *model,
                             void *payload, int64_t classes, const rgm_optimizer_options *optimizer,
                             bool profile)
{
    rgm_status status = RGM_OK;
    bench_graph_training *t = NULL;
    rgm_value *loss;

    *out = NULL;
    RGM_GO(RGM_NEW(t, 1));
    RGM_GO(bench_training_begin(&t->training));
    RGM_GO(build_loss(&loss, t, schema, model, payload, classes));
    RGM_GO(bench_training_compile(&t->training, loss, optimizer, false, profile));
    *out = t;
    t = NULL;
done:
    bench_graphs_close(t);
    return status;
}

rgm_status bench_graphs_step(bench_graph_training *t, rgm_graph *graph, int64_t step)
{
    rgm_feed feeds[32];
    int64_t count = 0;

    RGM_TRY(rgm_graph_feeds(feeds, 32, &count, t->root, graph));
    return bench_training_step(&t->training, feeds, count, step);
}

void bench_graphs_close(bench_graph_training *t)
{
    if (t == NULL)
        return;
    rgm_graph_value_release(t->root);
    bench_training_end(&t->training);
    rgm_free(t);
}
