/* From a graph to a trained model in one call. With the folder of Cora (or any OGB node data set)
 * as argument it trains on that, else on a generated citation graph. */
#include <stdio.h>

#include <regimen/gnn.h>

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
    rgm_run_options run = RGM_RUN_OPTIONS_INIT;
    rgm_run_result *result = NULL;
    rgm_graph_data data = {0};
    rgm_import_options import = RGM_IMPORT_OPTIONS_INIT;
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_status status = argc > 1 ? rgm_import_ogb(&data, argv[1], &import)
                                 : rgm_generate_citation(&data, &citation);

    if (status == RGM_OK) {
        run.train_data = rgm_graph_data_provider(&data, "train");
        run.valid_data = rgm_graph_data_provider(&data, "valid");
        run.model_fn = two_layer_gcn;
        run.task = rgm_node_multiclass("nodes", "label", 7);
        run.task.options.head = 1; /* the states are the logits */
        run.optimizer = rgm_adam(1e-2);
        run.epochs = 100;
        run.runtime.seed = 1;
        status = rgm_run(&result, &run);
    }
    if (status == RGM_OK)
        printf("valid accuracy %.3f, best after %lld steps\n",
               rgm_run_metric(result, "valid", "accuracy"), (long long)rgm_run_best_step(result));
    else
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_run_result_release(result);
    rgm_provider_release(run.train_data);
    rgm_provider_release(run.valid_data);
    rgm_graph_data_clear(&data);
    return status == RGM_OK ? 0 : 1;
}
