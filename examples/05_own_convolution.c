/* A convolution of one's own: each paper takes the gated maximum of its neighbours' messages. It is
 * used like those of the library, differentiated, fused, and exported like them. */
#include <stdio.h>

#include <regimen/graph_tasks.h>

/* max over edges of sigmoid(W_g h_r + b) * (W_m h_s), [nodes, units]. */
static rgm_value *gated_max(rgm_scope *scope, const rgm_graph_value *graph, rgm_value *h,
                            int64_t units)
{
    rgm_value *edges = rgm_adjacency(graph, "edges", RGM_TARGET); /* rows hear, columns send */
    rgm_value *message = rgm_broadcast_columns(edges, rgm_dense(scope, "message", h, units));
    rgm_value *gate = rgm_broadcast_rows(edges, rgm_sigmoid(rgm_dense(scope, "gate", h, units)));

    return rgm_pool_rows(edges, rgm_mul(gate, message), RGM_MAX_NO_INF);
}

static rgm_graph_value *model(rgm_scope *scope, const rgm_graph_value *graph, void *payload)
{
    rgm_value *words = rgm_node_sparse_feature(graph, "nodes", "words");
    rgm_value *h = rgm_relu(rgm_dense_sparse(scope, "words", words, NULL, 32, NULL));

    (void)payload;
    h = rgm_add(h, gated_max(rgm_scope_enter(scope, "round1"), graph, h, 32));
    return rgm_with_state(graph, "nodes", rgm_dropout(scope, h, 0.5));
}

int main(void)
{
    rgm_graph_learning_options what = RGM_GRAPH_LEARNING_OPTIONS_INIT;
    rgm_run_options how = RGM_RUN_OPTIONS_INIT;
    rgm_open_run *run = NULL;
    rgm_graph_data data = {0};
    rgm_citation_options citation = RGM_CITATION_OPTIONS_INIT;
    rgm_status status = rgm_generate_citation(&data, &citation);

    if (status == RGM_OK) {
        what.train_data = rgm_graph_data_provider(&data, "train");
        what.valid_data = rgm_graph_data_provider(&data, "valid");
        what.model_fn = model;
        what.task = rgm_node_multiclass("nodes", "label", 7);
        how.optimizer = rgm_adam(1e-2);
        how.trainer.epochs = 30;
        status = rgm_run(&run, &what, &how);
    }
    if (status == RGM_OK)
        printf("valid accuracy %.3f\n", rgm_run_metric(run, "valid", "accuracy"));
    else
        fprintf(stderr, "%s\n", rgm_error_text());
    rgm_run_close(run);
    rgm_graph_task_release(what.task);
    rgm_provider_release(what.train_data);
    rgm_provider_release(what.valid_data);
    rgm_graph_data_clear(&data);
    return status == RGM_OK ? 0 : 1;
}
