/* From a graph to a trained model in one call. With the folder of Cora (or any OGB node data set)
 * as argument it trains on that, else on a generated citation graph. */
#include <stdio.h>

#include <regimen/graph_tasks.h>

/* Two rounds of graph convolution: words [papers, 1433] (sparse) -> logits [papers, 7]. */
static rgm_graph_value *two_layer_gcn(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *h = rgm_node_sparse_feature(graph, "nodes", "words");

    (void)payload;
    h = rgm_relu(rgm_gcn_conv(scope, "conv1", graph, "edges", h, 16));
    h = rgm_dropout(scope, h, 0.5);
    return rgm_with_state(graph, "nodes", rgm_gcn_conv(scope, "conv2", graph, "edges", h, 7));
}

int main(int argc, char **argv)
{
    rgm_graph_classification_options labels = RGM_GRAPH_CLASSIFICATION_OPTIONS_INIT;
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_open_run *run = NULL;
    rgm_graph_data data = {0};
    rgm_import_options import = RGM_IMPORT_OPTIONS_INIT;
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_status status = argc > 1 ? rgm_import_ogb(&data, argv[1], &import)
                                 : rgm_generate_citation(&data, &citation);

    if (status == RGM_OK) {
        what.train_data = rgm_graph_data_provider(&data, "train");
        what.valid_data = rgm_graph_data_provider(&data, "valid");
        what.model_fn = two_layer_gcn;
        labels.place.node_set = "nodes";
        labels.num_classes = 7;
        labels.head = RGM_HEAD_NONE; /* the states are the logits */
        what.task = rgm_graph_task_create(&rgm_node_classification, NULL, &labels);
        how.optimizer = rgm_adam(1e-2);
        how.trainer.epochs = 100;
        how.runtime.seed = 1;
        status = rgm_run(&run, &what, &how);
    }
    if (status == RGM_OK)
        printf("valid accuracy %.3f, best after %lld steps\n",
               rgm_run_metric(run, "valid", "accuracy"), (long long)rgm_run_best_step(run));
    else
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_run_close(run);
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    rgm_provider_release(what.valid_data);
    rgm_graph_data_clear(&data);
    return status == RGM_OK ? 0 : 1;
}
