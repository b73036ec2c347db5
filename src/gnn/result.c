/*
 * What a run leaves in memory: models, metrics, history; preprocessing and prediction with them.
 */
#include <math.h>
#include <string.h>

#include "runner_internal.h"

void rgm_run_result_release(rgm_run_result *run)
{
    if (run == NULL)
        return;
    for (int k = 0; k < RGM_MAX_HEADS; k++)
        rgm_executor_release(run->predictors[k]);
    rgm_controller_release(run->controller);
    rgm_trainer_release(run->trainer);
    rgm_graph_value_release(run->root);
    for (int mode = 0; mode < 3; mode++) {
        rgm_provider_release(run->providers[mode]);
        rgm_size_constraints_release(run->pipelines[mode].padding);
        rgm_logs_clear(&run->metrics[mode]);
    }
    rgm_schema_release(run->schema);
    rgm_schema_release(run->processed_schema);
    rgm_free(run->processors);
    rgm_names_release(run->exports, run->export_count);
    rgm_free(run);
}

/* ---- metrics ------------------------------------------------------------------------------- */

double rgm_run_metric(const rgm_run_result *result, const char *mode, const char *name)
{
    for (int m = 0; m < 3; m++)
        if (strcmp(rgm_mode_name((rgm_mode)m), mode) == 0)
            return rgm_logs_get(&result->metrics[m], name);
    return NAN;
}

const rgm_logs *rgm_run_metrics(const rgm_run_result *result, rgm_mode mode)
{
    return &result->metrics[mode];
}

int64_t rgm_run_history(const rgm_epoch_logs **epochs, const rgm_run_result *result)
{
    return rgm_controller_history(epochs, result->controller);
}

int64_t rgm_run_steps(const rgm_run_result *result)
{
    return rgm_trainer_global_step(result->trainer);
}

int64_t rgm_run_epochs(const rgm_run_result *result)
{
    return rgm_controller_epochs(result->controller);
}

int64_t rgm_run_best_step(const rgm_run_result *result)
{
    return rgm_controller_best_step(result->controller);
}

int64_t rgm_run_export_count(const rgm_run_result *result)
{
    return result->export_count;
}

const char *rgm_run_export(const rgm_run_result *result, int64_t i)
{
    return i >= 0 && i < result->export_count ? result->exports[i] : NULL;
}

/* ---- models -------------------------------------------------------------------------------- */

rgm_trainer *rgm_run_trainer(const rgm_run_result *result)
{
    return result->trainer;
}

rgm_controller *rgm_run_controller(const rgm_run_result *result)
{
    return result->controller;
}

const rgm_graph_value *rgm_run_input(const rgm_run_result *result)
{
    return result->root;
}

const rgm_graph_value *rgm_run_base_model(const rgm_run_result *result)
{
    return result->base;
}

const rgm_task_model *rgm_run_trained_model(const rgm_run_result *result)
{
    return rgm_trainer_model(result->trainer);
}

static rgm_status check_graph_run(const rgm_run_result *run)
{
    if (run->root != NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "task '%s' is no graph network", run->task.name);
}

rgm_status rgm_run_preprocess(rgm_graph **out, const rgm_run_result *result,
                              rgm_element *const *examples, int64_t count)
{
    rgmi_pipeline unpadded = result->pipelines[RGM_TRAIN];

    unpadded.padding = NULL;
    RGM_TRY(check_graph_run(result));
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "no examples");
    return rgmi_pipeline_process(out, &unpadded, examples, count);
}

/* Run head `head`; *predictions is borrowed until the next run. */
static rgm_status run_head(rgm_tensor **predictions, const rgm_run_result *result, int64_t head,
                           const rgm_feed *feeds, int64_t count)
{
    rgm_run_result *run = (rgm_run_result *)result; /* executors are made when first asked for */
    const rgm_task_model *model = rgm_trainer_model(run->trainer);

    if (head < 0 || head >= model->head_count)
        return RGM_FAIL(RGM_ERR_ARG, "head %lld of %lld", (long long)head,
                        (long long)model->head_count);
    if (run->predictors[head] == NULL) {
        rgm_executor_options options = {0};

        RGM_TRY(rgm_executor_create(&run->predictors[head], rgm_trainer_graph(run->trainer),
                                    &model->heads[head].predictions, 1, &options));
    }
    return rgm_executor_run(run->predictors[head], predictions,
                            rgm_trainer_parameters(run->trainer), feeds, count,
                            (uint64_t)run->runtime.seed, 0);
}

rgm_status rgmi_predict(rgm_tensor **out, const rgm_run_result *run, int64_t head,
                        const rgm_feed *feeds, int64_t count)
{
    rgm_tensor *predictions;

    *out = NULL;
    RGM_TRY(run_head(&predictions, run, head, feeds, count));
    return rgm_tensor_copy(out, predictions);
}

rgm_status rgm_run_predict(rgm_tensor **out, const rgm_run_result *result, int64_t head,
                           rgm_graph *graph)
{
    rgm_feed feeds[RGMI_MAX_FEEDS];
    int64_t count = 0;

    *out = NULL;
    RGM_TRY(check_graph_run(result));
    RGM_TRY(rgm_graph_feeds(feeds, RGMI_MAX_FEEDS, &count, result->root, graph));
    return rgmi_predict(out, result, head, feeds, count);
}

rgm_status rgmi_predict_batches(const rgm_run_result *run, rgm_mode mode, int64_t head,
                                rgmi_batch_sink *visit, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_iterator *iterator = NULL;
    rgm_element *batch = NULL;
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;

    options.seed = (uint64_t)run->runtime.seed;
    options.threads = (int)run->runtime.threads;
    RGM_GO(run->task.build_inputs(&data, run->task.state, mode, false));
    if (data == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "there are no %s data", rgm_mode_name(mode)));
    RGM_GO(rgm_iterator_create(&iterator, data, &options));
    while ((status = rgm_iterator_next(&batch, iterator)) == RGM_OK) {
        rgm_feed feeds[RGMI_MAX_FEEDS];
        int64_t count = 0;
        rgm_tensor *predictions;

        RGM_GO(run->task.feeds(feeds, RGMI_MAX_FEEDS, &count, run->task.state, batch));
        RGM_GO(run_head(&predictions, run, head, feeds, count));
        RGM_GO(visit(payload, batch, feeds, count, predictions));
        rgm_element_release(batch);
        batch = NULL;
    }
done:
    if (status == RGM_END) /* of the data, or because the visitor has seen enough */
        status = RGM_OK;
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    rgm_dataset_release(data);
    return status;
}

/* rgm_run_predict_all()'s visitor behind rgmi_predict_batches()'. */
typedef struct graph_sink {
    rgm_predict_sink *visit;
    void *payload;
    bool graphs;
} graph_sink;

static rgm_status visit_graph(void *payload, rgm_element *batch, const rgm_feed *feeds,
                              int64_t feed_count, const rgm_tensor *predictions)
{
    const graph_sink *sink = payload;

    (void)feeds;
    (void)feed_count;
    return sink->visit(sink->payload,
                       sink->graphs ? rgm_element_pointer(batch, &rgm_graph_element) : NULL,
                       predictions);
}

rgm_status rgm_run_predict_all(const rgm_run_result *result, rgm_mode mode, int64_t head,
                               rgm_predict_sink *visit, void *payload)
{
    graph_sink sink = {.visit = visit, .payload = payload, .graphs = result->root != NULL};

    return rgmi_predict_batches(result, mode, head, visit_graph, &sink);
}
