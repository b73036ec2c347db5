/*
 * New graphs of runs that were trained on samples: subgraphs are drawn around the nodes that are
 * asked about as they were around those of the training part.
 */
#include "new_graphs.h"

/* Draws of new data have nothing to do with those of training, so a run and its export share one
 * seed. */
enum { SEED = 1 };

static rgm_status tree_provider(rgm_provider **out, const rgmi_learning *l, rgm_graph *graph,
                                const char *node_set, rgm_tensor *nodes)
{
    const rgmi_data_options *d = l->data;
    rgmi_graph_inputs in = {.data = {.schema = (rgm_schema *)rgm_graph_schema(graph)}};
    rgm_sampling_provider_options options = {
        .batch_size = d->sampling.store == RGMI_STORE_RECORDS ? 1 : d->batch_size,
        .once = d->sampling.once,
        .seed = SEED,
        .threads = l->threads};
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_sampling_spec(&in, d, node_set));
    options.spec = in.spec;
    *out = rgm_sampling_provider(graph, nodes, &options);
    if (*out == NULL)
        RGM_GO(rgm_error_prefix(RGM_ERR_DATA, "data.sampling"));
done:
    rgm_sampling_spec_release(in.spec);
    return status;
}

static rgm_status provider_of(rgm_provider **out, const rgmi_learning *l, rgm_graph *graph,
                              const char *node_set, rgm_tensor *nodes)
{
    const rgm_subgraph_source from = {
        .graph = graph, .node_set = node_set, .seeds = nodes, .seed = SEED};

    *out = NULL;
    if (l->data->sampling.type == RGMI_SAMPLING_TREE)
        return tree_provider(out, l, graph, node_set, nodes);
    return rgmi_sampler_asked_provider(out, &from, l->data, l->threads);
}

/* A sample that was drawn before has a readout of its own, which is asked about as it is. */
static bool asks_itself(const rgmi_new_graphs *self, const rgm_graph *graph, const char *readout)
{
    return self->items == NULL &&
           rgm_schema_find(rgm_graph_schema(graph), RGM_NODE_SET, readout) != NULL &&
           rgm_graph_total(graph, RGM_NODE_SET, readout) > 0;
}

bool rgmi_new_graph_is_sampled(const rgmi_new_graphs *self, const rgm_graph *graph)
{
    const rgmi_learning *l = self->learning;
    rgm_graph_question q;

    if (!self->alone || l->data == NULL || !rgmi_is_sampled(&l->data->sampling))
        return false;
    for (int64_t k = 0; k < l->task_count; k++)
        if (rgmi_question_of(&q, l, k) && q.key != NULL)
            return !asks_itself(self, graph, q.readout_set);
    return false;
}

rgm_status rgmi_new_graph_sample(rgm_dataset **out, rgmi_new_graphs *self, rgm_graph *graph)
{
    rgm_status status = RGM_OK;
    rgm_graph *fitting = NULL;
    rgm_tensor *nodes = NULL;
    const char *node_set;

    *out = NULL;
    RGM_GO(rgmi_new_graph_fit(&fitting, self, graph));
    RGM_GO(rgmi_new_graph_nodes(&nodes, &node_set, self, fitting));
    if (rgm_tensor_count(nodes) == 0)
        RGM_GO(
            RGM_FAIL(RGM_ERR_DATA, "%s has no node of '%s' to predict for", self->path, node_set));
    RGM_GO(rgm_unseen_values_add(self->unseen, fitting));
    RGM_GO(provider_of(&self->provider, self->learning, fitting, node_set, nodes));
    RGM_GO(rgm_provider_dataset(out, self->provider, false));
done:
    rgm_graph_release(fitting);
    rgm_tensor_release(nodes);
    return status;
}
