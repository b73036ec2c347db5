/* A run's parts: the pipeline from examples to graphs, the model of all tasks, the trainer. */
#ifndef RGM_RUNNER_INTERNAL_H
#define RGM_RUNNER_INTERNAL_H

#include <regimen/gnn.h>

#define RGMI_MAX_FEEDS 512

/** What the input pipeline of one mode needs while it runs. */
typedef struct rgmi_pipeline {
    rgm_schema *schema; /* of one example */
    const rgm_feature_processor *processors;
    int64_t processor_count;
    rgm_size_constraints *padding; /* NULL: none          */
    bool skip_misfits;             /* fit or skip         */
} rgmi_pipeline;

rgm_status rgmi_pipeline_process(rgm_graph **out, const rgmi_pipeline *pipeline,
                                 rgm_element *const *examples, int64_t count);
/** provider's examples to batches; see runner.h. threads: parallel maps. */
rgm_status rgmi_pipeline_dataset(rgm_dataset **out, rgmi_pipeline *pipeline,
                                 const rgm_provider *provider, rgm_mode mode, int64_t batch_size,
                                 bool drop_remainder, bool endless, int threads);
rgm_status rgmi_pipeline_padding(rgmi_pipeline *pipeline, const rgm_provider *provider,
                                 const rgm_padding *padding, int64_t batch_size, uint64_t seed);
/** Schema behind the processors, learnt from the provider's first example. */
rgm_status rgmi_pipeline_schema(rgm_schema **out, rgmi_pipeline *pipeline,
                                const rgm_provider *provider);

bool rgmi_provider_is_batched(const rgm_provider *provider);

struct rgm_run_result {
    rgm_provider *providers[3]; /* by rgm_mode */
    rgmi_pipeline pipelines[3];
    rgm_schema *schema, *processed_schema;
    rgm_feature_processor *processors;
    rgm_gnn_task tasks[RGM_MAX_HEADS];
    double loss_weights[RGM_MAX_HEADS];
    int64_t task_count;
    rgm_model_fn *model_fn;
    void *model_payload;
    int64_t batch_size;
    bool drop_remainder;
    rgm_runtime_options runtime;

    rgm_graph_value *root;
    const rgm_graph_value *base; /* behind the GNN, of task 0 */
    rgm_task task;
    rgm_trainer *trainer;
    rgm_controller *controller;
    rgm_executor *predictors[RGM_MAX_HEADS];

    rgm_logs metrics[3];
    char **exports;
    int64_t export_count;
};

/** The task that the trainer sees; its state is the result. */
rgm_status rgmi_build_model(rgm_task_model *out, rgm_scope *scope, void *result);

/** A copy of head `head`'s predictions for what is fed. */
rgm_status rgmi_predict(rgm_tensor **out, const rgm_run_result *run, int64_t head,
                        const rgm_feed *feeds, int64_t count);
/** One pass over a part's batches, each with its feeds and predictions; the visitor may end it by
 * RGM_END. */
typedef rgm_status rgmi_batch_sink(void *payload, rgm_element *batch, const rgm_feed *feeds,
                                   int64_t feed_count, const rgm_tensor *predictions);
rgm_status rgmi_predict_batches(const rgm_run_result *run, rgm_mode mode, int64_t head,
                                rgmi_batch_sink *visit, void *payload);

#endif
