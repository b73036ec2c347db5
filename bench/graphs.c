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
    rgm_graph_task *task = rgm_node_multiclass("nodes", "label", classes);
    rgm_status status = task != NULL ? RGM_OK : RGM_ERR_NOMEM;
    rgm_head heads[RGM_MAX_HEADS];
    int64_t count = RGM_MAX_HEADS;
    rgm_graph_views views;

    RGM_GO(status);
    ((rgm_graph_classification_options *)rgm_graph_task_options(task))->head = RGM_HEAD_NONE;
    RGM_GO(rgm_graph_value_create(&t->root, graph, schema));
    RGM_GO(rgm_graph_task_views(&views, task, t->root));
    views.graphs[0] = model(scope, rgm_without_aux_features(views.graphs[0]), payload);
    RGM_GO(rgm_cgraph_status(graph));
    RGM_GO(rgm_graph_task_outputs(heads, &count, task, scope, &views, NULL));
    *loss = heads[0].loss;
    if (rgm_scope_loss(scope) != NULL)
        *loss = rgm_add(*loss, rgm_scope_loss(scope));
done:
    rgm_graph_task_release(task);
    return status;
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
