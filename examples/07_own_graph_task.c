/* A graph task of one's own: how many papers stand beside each one, by squared error. It is a row
 * of functions and options like the library's own kinds; any model can be trained on it. */
#include <stdio.h>

#include <regimen/graph_tasks.h>

typedef struct degree_options {
    const char *edge_set;
} degree_options;

/* One view, the graph as it is. Labels [asked] would be taken out of it; these are made of it. */
static rgm_status preprocess(rgm_graph_views *views, const rgm_graph_value *graph, const void *o)
{
    const char *edge_set = ((const degree_options *)o)->edge_set;
    rgm_value *edges = rgm_node_degree(graph, edge_set, RGM_TARGET, RGM_F32);
    rgm_value *degree = rgm_log(rgm_shift(edges, 1));

    views->count = 1;
    views->graphs[0] = graph;
    graph = rgm_with_feature(graph, RGM_NODE_SET, "nodes", "degree", degree);
    views->labels = rgm_structured_readout(graph, "seed", "degree", RGM_READOUT);
    return RGM_OK;
}

/* The states behind the model [asked, width] -> [asked, 1]. */
static rgm_status predict(rgm_head *outputs, int64_t *count, rgm_scope *scope,
                          const rgm_graph_views *views, const void *o)
{
    rgm_value *states =
        rgm_structured_readout(views->graphs[0], "seed", RGM_HIDDEN_STATE, RGM_READOUT);

    (void)o;
    *count = 1;
    outputs[0].predictions = rgm_dense(scope, outputs[0].name, states, 1);
    outputs[0].is_number = true;
    return RGM_OK;
}

static rgm_status losses(rgm_head *outputs, int64_t count, const void *o)
{
    rgm_value *error = rgm_sub(rgm_reduce(outputs[0].predictions, 1, RGM_SUM), outputs[0].labels);

    (void)count, (void)o;
    outputs[0].loss = rgm_weighted_mean(rgm_square(error), outputs[0].weights);
    return RGM_OK;
}

static const rgm_graph_task_type degree_regression = {
    .section = {.name = "degree_regression", .options_size = sizeof(degree_options)},
    .preprocess = preprocess,
    .predict = predict,
    .losses = losses,
};

int main(void)
{
    rgm_status status = RGM_OK;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_graph_data data = {0};
    rgm_mpnn_model_options model;
    rgm_open_run *run = NULL;

    citation.train_per_class = 100; /* these labels cost nothing */
    RGM_GO(rgm_generate_citation(&data, &citation));
    what.train_data = rgm_graph_data_provider(&data, "train");
    what.valid_data = rgm_graph_data_provider(&data, "valid");
    rgm_mpnn_model.section.defaults(&model);
    what.model_fn = rgm_mpnn_model.build;
    what.model_payload = &model;
    what.task = rgm_graph_task_create(&degree_regression, "degree", &(degree_options){"edges"});
    how.optimizer = rgm_adam(1e-2);
    how.trainer.epochs = 100;
    RGM_GO(rgm_run(&run, &what, &how));
    printf("squared error of log(1 + degree): %.3f\n", rgm_run_metric(run, "valid", "loss"));
done:
    if (status != RGM_OK)
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_run_close(run);
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    rgm_provider_release(what.valid_data);
    rgm_graph_data_clear(&data);
    return status != RGM_OK;
}
