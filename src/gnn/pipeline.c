/*
 * From a provider's examples to batches: batch, parse and merge, processors, pad. All maps
 * keep order, so a seed fixes what is trained on.
 */
#include "encoders.h"
#include "learning.h"

/* Examples of one batch, all serialized or all graphs, to one merged graph. */
static rgm_status merge_examples(rgm_graph **out, const rgmi_pipeline *pipeline,
                                 rgm_element *const *examples, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_graph **graphs = NULL;
    rgm_str *bytes = NULL;
    const char **places = NULL;

    RGM_GO(RGM_NEW(graphs, count));
    RGM_GO(RGM_NEW(bytes, count));
    RGM_GO(RGM_NEW(places, count));
    for (int64_t i = 0; i < count; i++) {
        graphs[i] = rgm_element_pointer(examples[i], &rgm_graph_element);
        bytes[i].data = rgm_element_bytes(examples[i], &bytes[i].size);
        places[i] = rgm_element_origin(examples[i]);
        if (graphs[i] == NULL && bytes[i].data == NULL)
            RGM_GO(
                RGM_FAIL(RGM_ERR_DATA, "example %lld is neither bytes nor a graph", (long long)i));
        if ((graphs[i] == NULL) != (graphs[0] == NULL))
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "a batch mixes serialized examples and graphs"));
    }
    if (graphs[0] == NULL)
        RGM_GO(rgm_graph_decode_batch(out, pipeline->schema, bytes, count, NULL, places));
    else if (count == 1)
        *out = rgm_graph_retain(graphs[0]);
    else
        RGM_GO(rgm_graph_merge(out, graphs, count));
done:
    rgm_free(graphs);
    rgm_free(bytes);
    rgm_free(places);
    return status;
}

bool rgmi_pipeline_is_plain(const rgmi_pipeline *pipeline)
{
    for (int64_t i = 0; i < pipeline->processor_count; i++)
        if (!pipeline->processors[i].type->training_only)
            return false;
    return true;
}

rgm_status rgmi_pipeline_process(rgm_graph **out, const rgmi_pipeline *pipeline,
                                 rgm_element *const *examples, int64_t count, const rgm_rng *rng)
{
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL, *next;
    int64_t real;

    *out = NULL;
    RGM_GO(merge_examples(&graph, pipeline, examples, count));
    RGM_GO(rgm_graph_process(&next, graph, pipeline->processors, pipeline->processor_count, rng));
    rgmi_step_to(&graph, next);
    if (pipeline->padding != NULL &&
        !(pipeline->keeps_misfits && !rgm_graph_fits(graph, pipeline->padding))) {
        RGM_GO(rgm_graph_pad(&next, &real, graph, pipeline->padding));
        rgmi_step_to(&graph, next);
    }
    for (int64_t k = 0; k < pipeline->task_count; k++)
        RGM_GO(rgmi_graph_task_check_graph(pipeline->tasks[k], graph, pipeline->together,
                                           pipeline->judged));
    if (pipeline->input != NULL)
        RGM_GO(rgmi_features_finite(pipeline->input, graph));
    *out = graph;
    graph = NULL;
done:
    rgm_graph_release(graph);
    return status;
}

static rgm_status process_elements(rgm_element **out, const rgm_element *batch, const rgm_rng *rng,
                                   const rgmi_pipeline *pipeline)
{
    rgm_status status;
    int64_t count = rgm_element_get_kind(batch) == RGM_ELEMENT_LIST ? rgm_element_count(batch) : 1;
    rgm_element **examples;
    rgm_graph *graph = NULL;

    RGM_TRY(RGM_NEW(examples, count));
    for (int64_t i = 0; i < count; i++)
        examples[i] = rgm_element_get_kind(batch) == RGM_ELEMENT_LIST ? rgm_element_item(batch, i)
                                                                      : (rgm_element *)batch;
    status = rgmi_pipeline_process(&graph, pipeline, examples, count, rng);
    rgm_free(examples);
    if (status != RGM_OK)
        return status;
    status = rgm_element_create_pointer(out, &rgm_graph_element, graph);
    if (status != RGM_OK)
        rgm_graph_release(graph);
    return status;
}

static rgm_status process_batch(rgm_element **out, const rgm_element *batch,
                                const rgm_map_call *call, void *payload)
{
    (void)call;
    return process_elements(out, batch, NULL, payload);
}

/* The same of a batch that is learned from. */
static rgm_status draw_batch(rgm_element **out, const rgm_element *batch, const rgm_map_call *call,
                             void *payload)
{
    return process_elements(out, batch, &call->rng, payload);
}

static bool draws(const rgmi_pipeline *pipeline)
{
    return rgmi_processors_fixed(pipeline->processors, pipeline->processor_count) <
           pipeline->processor_count;
}

rgm_status rgmi_pipeline_dataset(rgm_dataset **out, rgmi_pipeline *pipeline,
                                 const rgm_provider *provider, bool training, int64_t batch_size,
                                 bool drop_remainder, bool endless, int threads)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    bool alone;

    RGM_GO(rgm_provider_dataset(&data, provider, training));
    /* One graph, the same each epoch: made once, given again and again, and no threads about it. */
    alone = rgm_dataset_count(data) == 1 && !rgmi_provider_is_batched(provider);
    if (!rgmi_provider_is_batched(provider))
        RGM_GO(rgm_dataset_batch(&data, batch_size, drop_remainder));
    RGM_GO(rgm_dataset_map(&data, training ? draw_batch : process_batch, pipeline, NULL,
                           alone ? 0 : threads));
    if (alone && !(training && draws(pipeline)))
        RGM_GO(rgm_dataset_cache(&data));
    if (endless)
        RGM_GO(rgm_dataset_repeat(&data, -1));
    if (!alone)
        RGM_GO(rgm_dataset_prefetch(&data, 2));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

rgm_status rgmi_pipeline_files(rgm_dataset **out, rgmi_pipeline *pipeline, const char *pattern,
                               int64_t batch_size)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;

    RGM_GO(rgm_dataset_list_files(&data, pattern));
    RGM_GO(rgm_dataset_read_tfrecords(&data, NULL));
    RGM_GO(rgm_dataset_batch(&data, batch_size, false));
    RGM_GO(rgm_dataset_map(&data, process_batch, pipeline, NULL, 0));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

rgm_status rgmi_pipeline_padding(rgmi_pipeline *pipeline, rgm_schema *schema,
                                 const rgm_provider *provider, const rgm_padding *padding,
                                 int64_t batch_size, uint64_t seed)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgmi_pipeline plain = {.schema = pipeline->schema,
                           .processors = pipeline->processors,
                           .processor_count = pipeline->processor_count};

    if (padding->kind == RGM_PADDING_NONE)
        return RGM_OK;
    if (rgmi_provider_is_batched(provider))
        return RGM_FAIL(RGM_ERR_CONFIG, "a provider of whole mini-batches cannot be padded");
    RGM_GO(rgm_provider_dataset(&data, provider, false));
    RGM_GO(rgm_dataset_map(&data, process_batch, &plain, NULL, 0));
    if (padding->kind == RGM_PADDING_TIGHT)
        RGM_GO(rgm_tight_padding(&pipeline->padding, schema, data, batch_size,
                                 padding->min_nodes_per_component));
    else
        RGM_GO(rgm_fit_or_skip_padding(&pipeline->padding, schema, data, batch_size,
                                       padding->min_nodes_per_component, padding->sample_size,
                                       padding->success_ratio, seed));
    pipeline->keeps_misfits = padding->kind == RGM_PADDING_FIT;
done:
    rgm_dataset_release(data);
    return status;
}
