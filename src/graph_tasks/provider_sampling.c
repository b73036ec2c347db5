/*
 * Mini-batches sampled in memory: what a sampler goes over (seeds, clusters, draws) in a new order
 * each epoch, `batch_size` of them together. What is drawn depends on seed, epoch and batch alone,
 * so the order of threads cannot matter.
 */
#include "learning.h"

typedef struct sampling_state {
    rgm_subgraph_sampler *sampler;
    rgm_subgraph_provider_options options;
    rgm_graph *first; /* a sampled batch, for its schema */
    rgmi_draws draws;
} sampling_state;

/* How a map call asks: the state and whether neighbours are drawn anew each epoch. */
typedef struct sampling_call {
    const sampling_state *state;
    bool resample;
} sampling_call;

rgm_status rgmi_units_of(int64_t **units, uint64_t *epoch, const rgm_element *list,
                         const rgm_map_call *call, bool resample)
{
    int64_t count = rgm_element_count(list);

    *epoch = 0;
    if (resample)
        *epoch = (uint64_t)rgm_rng_u32(&call->rng, 0) << 32 | rgm_rng_u32(&call->rng, 1);
    RGM_TRY(RGM_NEW(*units, count));
    for (int64_t i = 0; i < count; i++)
        (*units)[i] = rgm_tensor_at_int(rgm_element_tensor(rgm_element_item(list, i), 0), 0);
    return RGM_OK;
}

static rgm_status sample_batch(rgm_element **out, const rgm_element *list, const rgm_map_call *call,
                               void *payload)
{
    const sampling_call *how = payload;
    rgm_status status = RGM_OK;
    int64_t *nodes = NULL;
    rgm_graph *graph = NULL;
    uint64_t epoch;

    RGM_GO(rgmi_units_of(&nodes, &epoch, list, call, how->resample));
    RGM_GO(rgm_subgraph_sampler_draw(&graph, how->state->sampler, nodes, rgm_element_count(list),
                                     epoch));
    RGM_GO(rgm_element_create_pointer(out, &rgm_graph_element, graph));
    graph = NULL;
done:
    rgm_graph_release(graph);
    rgm_free(nodes);
    return status;
}

rgm_status rgmi_units_dataset(rgm_dataset **out, rgm_tensor *units, const rgmi_draws *draws,
                              const rgm_subgraph_provider_options *options, bool training,
                              rgm_map_function *function, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;

    *out = NULL;
    RGM_GO(rgm_dataset_from_tensors(&data, &units, 1));
    if (training)
        RGM_GO(rgmi_draws_order(&data, draws, options->shuffle));
    RGM_GO(rgm_dataset_batch(&data, options->batch_size, training && options->drop_remainder));
    RGM_GO(rgm_dataset_map_each(&data, function, payload, rgm_free, options->threads));
    payload = NULL;
    *out = data;
    data = NULL;
done:
    rgm_free(payload);
    rgm_dataset_release(data);
    return status;
}

static rgm_status sampling_dataset(rgm_dataset **out, void *state, bool training)
{
    const sampling_state *sampling = state;
    sampling_call *call;

    *out = NULL;
    RGM_TRY(RGM_NEW(call, 1));
    call->state = sampling;
    call->resample = training && sampling->options.resample;
    return rgmi_units_dataset(out, rgm_subgraph_sampler_units(sampling->sampler), &sampling->draws,
                              &sampling->options, training, sample_batch, call);
}

/* All seeds' labels, without sampling around them. */
static rgm_status sampling_whole(rgm_graph **out, void *state)
{
    return rgm_subgraph_sampler_whole(out, ((const sampling_state *)state)->sampler, NULL);
}

static rgm_schema *sampling_schema(void *state)
{
    return (rgm_schema *)rgm_graph_schema(((sampling_state *)state)->first);
}

static rgm_status sampling_draw(void *state, const double *weights, int64_t count)
{
    sampling_state *sampling = state;

    return rgmi_draws_set(&sampling->draws, weights, count,
                          rgm_tensor_count(rgm_subgraph_sampler_units(sampling->sampler)));
}

static void sampling_release(void *state)
{
    sampling_state *sampling = state;

    rgm_free(sampling->draws.weights);
    rgm_graph_release(sampling->first);
    rgm_subgraph_sampler_release(sampling->sampler);
    rgm_free(sampling);
}

static const rgm_provider_type sampling_type = {
    .name = "sampling",
    .dataset = sampling_dataset,
    .schema = sampling_schema,
    .batched = true,
    .whole = sampling_whole,
    .draw = sampling_draw,
    .release = sampling_release,
};

static rgm_status sampling_fill(sampling_state *state, rgm_subgraph_sampler *sampler,
                                const rgm_subgraph_provider_options *options)
{
    if (options->batch_size < 1)
        return RGM_FAIL(RGM_ERR_ARG, "batch_size is %lld", (long long)options->batch_size);
    state->options = *options;
    state->sampler = rgm_subgraph_sampler_retain(sampler);
    return rgm_subgraph_sampler_draw(&state->first, sampler,
                                     rgm_tensor_i64(rgm_subgraph_sampler_units(sampler)), 1, 0);
}

rgm_provider *rgm_subgraph_provider(rgm_subgraph_sampler *sampler,
                                    const rgm_subgraph_provider_options *options)
{
    sampling_state *state;
    rgm_provider *provider = NULL;

    if (RGM_NEW(state, 1) != RGM_OK)
        return NULL;
    if (sampling_fill(state, sampler, options) == RGM_OK)
        provider = rgm_provider_create(&sampling_type, state);
    if (provider == NULL)
        sampling_release(state);
    return provider;
}

rgm_provider *rgm_sampling_provider(rgm_graph *graph, rgm_tensor *seeds,
                                    const rgm_sampling_provider_options *options)
{
    const rgm_tree_sampler_options tree = {.spec = options->spec, .once = options->once};
    const rgm_subgraph_source from = {.graph = graph,
                                      .node_set = options->spec->seed_node_set,
                                      .seeds = seeds,
                                      .label = options->label,
                                      .seed = options->seed};
    const rgm_subgraph_provider_options batches = {.batch_size = options->batch_size,
                                                   .shuffle = options->shuffle,
                                                   .drop_remainder = options->drop_remainder,
                                                   .resample = options->resample,
                                                   .threads = options->threads};
    rgm_subgraph_sampler *sampler;
    rgm_provider *provider;

    if (rgm_subgraph_sampler_create(&sampler, &rgm_tree_sampler, &from, &tree) != RGM_OK)
        return NULL;
    provider = rgm_subgraph_provider(sampler, &batches);
    rgm_subgraph_sampler_release(sampler);
    return provider;
}
