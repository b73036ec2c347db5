/*
 * Mini-batches sampled in memory: the seeds in a new order each epoch, `batch_size` of them
 * together, each batch one graph in which shared nodes appear once. Which neighbours are drawn
 * depends on seed, epoch and batch alone, so the order of threads cannot matter.
 */
#include "learning.h"

typedef struct sampling_state {
    rgm_sampler *sampler;
    rgm_graph *graph;
    rgm_tensor *seeds;
    rgm_sampling_provider_options options; /* without the spec, which may go */
    char *seed_set, *label;
    rgm_graph *first; /* a sampled batch, for its schema */
} sampling_state;

/* How a map call asks: the state and whether neighbours are drawn anew each epoch. */
typedef struct sampling_call {
    const sampling_state *state;
    bool resample;
} sampling_call;

static rgm_status sample_batch(rgm_element **out, const rgm_element *list, const rgm_map_call *call,
                               void *payload)
{
    const sampling_call *how = payload;
    rgm_status status = RGM_OK;
    int64_t *nodes = NULL, count = rgm_element_count(list);
    rgm_graph *graph = NULL;
    uint64_t epoch = 0;

    if (how->resample)
        epoch = (uint64_t)rgm_rng_u32(&call->rng, 0) << 32 | rgm_rng_u32(&call->rng, 1);
    RGM_GO(RGM_NEW(nodes, count));
    for (int64_t i = 0; i < count; i++)
        nodes[i] = rgm_tensor_at_int(rgm_element_tensor(rgm_element_item(list, i), 0), 0);
    RGM_GO(rgm_sampler_batch(&graph, how->state->sampler, nodes, count, epoch, how->state->label));
    RGM_GO(rgm_element_create_pointer(out, &rgm_graph_element, graph));
    graph = NULL;
done:
    rgm_graph_release(graph);
    rgm_free(nodes);
    return status;
}

static rgm_status sampling_dataset(rgm_dataset **out, void *state, bool training)
{
    const sampling_state *sampling = state;
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    sampling_call *call = NULL;

    RGM_GO(RGM_NEW(call, 1));
    call->state = sampling;
    call->resample = training && sampling->options.resample;
    RGM_GO(rgm_dataset_from_tensors(&data, (rgm_tensor *const *)&sampling->seeds, 1));
    if (training && sampling->options.shuffle)
        RGM_GO(rgm_dataset_shuffle_all(&data));
    RGM_GO(rgm_dataset_batch(&data, sampling->options.batch_size,
                             training && sampling->options.drop_remainder));
    RGM_GO(rgm_dataset_map(&data, sample_batch, call, rgm_free, sampling->options.threads));
    call = NULL;
    *out = data;
    data = NULL;
done:
    rgm_free(call);
    rgm_dataset_release(data);
    return status;
}

/* All seeds' labels, without sampling around them. */
static rgm_status sampling_whole(rgm_graph **out, void *state)
{
    const sampling_state *sampling = state;

    *out = NULL;
    if (sampling->label == NULL)
        return RGM_OK;
    return rgm_graph_with_readout(out, sampling->graph, RGM_READOUT, "seed", sampling->seed_set,
                                  sampling->seeds, sampling->label);
}

static rgm_schema *sampling_schema(void *state)
{
    return (rgm_schema *)rgm_graph_schema(((sampling_state *)state)->first);
}

static void sampling_release(void *state)
{
    sampling_state *sampling = state;

    rgm_graph_release(sampling->first);
    rgm_sampler_release(sampling->sampler);
    rgm_graph_release(sampling->graph);
    rgm_tensor_release(sampling->seeds);
    rgm_free(sampling->seed_set);
    rgm_free(sampling->label);
    rgm_free(sampling);
}

static const rgm_provider_type sampling_type = {
    .name = "sampling",
    .dataset = sampling_dataset,
    .schema = sampling_schema,
    .batched = true,
    .whole = sampling_whole,
    .release = sampling_release,
};

static rgm_status sampling_fill(sampling_state *state, rgm_graph *graph, rgm_tensor *seeds,
                                const rgm_sampling_provider_options *options)
{
    if (options->batch_size < 1)
        return RGM_FAIL(RGM_ERR_ARG, "batch_size is %lld", (long long)options->batch_size);
    if (rgm_tensor_dtype(seeds) != RGM_I64 || rgm_tensor_count(seeds) < 1)
        return RGM_FAIL(RGM_ERR_ARG, "seeds must be at least one i64 node number");
    state->options = *options;
    state->options.spec = NULL;
    RGM_TRY(rgm_strdup(&state->seed_set, options->spec->seed_node_set));
    state->seeds = rgm_tensor_retain(seeds);
    state->graph = rgm_graph_retain(graph);
    if (options->label != NULL)
        RGM_TRY(rgm_strdup(&state->label, options->label));
    RGM_TRY(rgm_sampler_create(&state->sampler, graph, options->spec, options->seed));
    rgm_sampler_set_once(state->sampler, options->once);
    return rgm_sampler_batch(&state->first, state->sampler, rgm_tensor_i64(seeds), 1, 0,
                             state->label);
}

rgm_provider *rgm_sampling_provider(rgm_graph *graph, rgm_tensor *seeds,
                                    const rgm_sampling_provider_options *options)
{
    sampling_state *state;
    rgm_provider *provider = NULL;

    if (RGM_NEW(state, 1) != RGM_OK)
        return NULL;
    if (sampling_fill(state, graph, seeds, options) == RGM_OK)
        provider = rgm_provider_create(&sampling_type, state);
    if (provider == NULL)
        sampling_release(state);
    return provider;
}
