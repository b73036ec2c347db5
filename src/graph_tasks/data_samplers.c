/*
 * data.sampling.type: the samplers that files can name, their keys, and providers made of them.
 * Training is on what they draw; validation and test too, or on the whole graph where a row judges
 * so. (type: tree has keys of its own, in data_fields.c.)
 */
#include "learning.h"

const char *const rgmi_sampling_type_names[] = {"tree",  "random_walk", "cluster",
                                                "saint", "shadow",      NULL};

/* By rgmi_sampling_type: the row and where its options stand in rgmi_sampling. */
static const struct {
    const rgm_subgraph_sampler_type *type;
    size_t options;
} samplers[] = {
    [RGMI_SAMPLING_RANDOM_WALK] = {&rgm_random_walk_sampler, offsetof(rgmi_sampling, random_walk)},
    [RGMI_SAMPLING_CLUSTER] = {&rgm_cluster_sampler, offsetof(rgmi_sampling, cluster)},
    [RGMI_SAMPLING_SAINT] = {&rgm_saint_sampler, offsetof(rgmi_sampling, saint)},
    [RGMI_SAMPLING_SHADOW] = {&rgm_shadow_sampler, offsetof(rgmi_sampling, shadow)},
};

/* ---- keys ---------------------------------------------------------------------------------- */

static const char *const saint_draws[] = {"node", "edge", "walk", NULL};
static const char *const shadow_draws[] = {"hops", "ppr", NULL};
const char *const rgmi_end_names[] = {"source", "target", NULL};

#define RGM_OPTIONS rgm_random_walk_options
const rgm_field rgmi_random_walk_fields[] = {
    RGM_INTS_FIELD(sizes, 1, 1e6, "neighbours kept at each hop; default: [10]"),
    RGM_INT_FIELD(walks, 1, 1e6, "from each node"),
    RGM_INT_FIELD(length, 1, 1e6, "steps of a walk"),
    RGM_FLOAT_FIELD(restart, 0, 0.999, "probability that it starts over before a step"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_cluster_options
const rgm_field rgmi_cluster_fields[] = {
    RGM_INT_FIELD(parts, 1, 1e9, "that the graph is cut into; data.batch_size of them are a batch"),
    RGM_FLOAT_FIELD(balance, 1, 1e6, "nodes of the largest part over an even share, at most"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_saint_options
const rgm_field rgmi_saint_fields[] = {
    RGM_CHOICE_FIELD(draw, saint_draws, "what a subgraph is made of"),
    RGM_INT_FIELD(budget, 1, 1e9, "nodes, pairs of neighbours or roots of walks drawn for each"),
    RGM_INT_FIELD(length, 1, 1e6, "steps of a walk"),
    RGM_INT_FIELD(steps, 0, 1e9, "subgraphs an epoch; 0: with about as many nodes as the graph"),
    RGM_INT_FIELD(walks, 1, 1e6, "walks counted from each node for the weights"),
    RGM_CHOICE_FIELD(receiver, rgmi_end_names, "the end of an edge whose mean its weight is for"),
    {0}};
#undef RGM_OPTIONS

#define RGM_OPTIONS rgm_shadow_options
const rgm_field rgmi_shadow_fields[] = {
    RGM_CHOICE_FIELD(draw, shadow_draws, "hops of neighbours, or the highest PageRanks"),
    RGM_INT_FIELD(hops, 1, 1e3, "around each node"),
    RGM_INT_FIELD(neighbors, 1, 1e9, "of each node at each hop"),
    RGM_INT_FIELD(budget, 1, 1e9, "nodes of a subgraph"),
    RGM_FLOAT_FIELD(teleport, 1e-6, 0.999, "of the PageRank"),
    RGM_FLOAT_FIELD(epsilon, 1e-12, 1, "its error, for each neighbour of a node"),
    {0}};
#undef RGM_OPTIONS

rgm_status rgmi_samplers_check(const rgmi_sampling *sampling)
{
    const char *name = rgmi_sampling_type_names[sampling->type];

    if (sampling->type == RGMI_SAMPLING_TREE)
        return RGM_OK;
    if (sampling->seed_time_feature_name != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.seed_time_feature_name keeps edges of the future out of "
                        "trees; type %s takes edges of any time",
                        name);
    if (sampling->sizes.count > 0 || sampling->spec != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.%s says which neighbours a tree has; type %s has keys of "
                        "its own, data.sampling.%s",
                        sampling->spec != NULL ? "spec" : "sizes", name, name);
    return RGM_OK;
}

/* ---- providers ----------------------------------------------------------------------------- */

static rgm_status open_sampler(rgm_subgraph_sampler **sampler, const rgm_subgraph_source *from,
                               const rgmi_sampling *s)
{
    return rgm_subgraph_sampler_create(sampler, samplers[s->type].type, from,
                                       (const char *)s + samplers[s->type].options);
}

static rgm_status draws_provider(rgm_provider **out, rgm_subgraph_sampler *sampler,
                                 const rgmi_data_options *d, int threads)
{
    const rgm_subgraph_provider_options batches = {.batch_size = d->batch_size,
                                                   .shuffle = true,
                                                   .drop_remainder = d->drop_remainder,
                                                   .resample = d->sampling.resample,
                                                   .threads = threads};

    *out = rgm_subgraph_provider(sampler, &batches);
    return *out != NULL ? RGM_OK : rgm_error_prefix(RGM_ERR_DATA, "data.sampling");
}

static rgm_status graph_provider(rgm_provider **out, rgm_graph *graph)
{
    *out = rgm_graphs_provider(&graph, 1, false);
    rgm_graph_release(graph);
    return *out != NULL ? RGM_OK : rgm_error_prefix(RGM_ERR_NOMEM, "the whole graph");
}

static rgm_status whole_provider(rgm_provider **out, const rgm_subgraph_sampler *sampler,
                                 rgm_tensor *nodes)
{
    rgm_graph *graph;

    RGM_TRY(rgm_subgraph_sampler_whole(&graph, sampler, nodes));
    return graph_provider(out, graph);
}

/* Of a row that adds nothing to the whole graph: what its draws need of a graph is not asked for,
 * such as nodes for each cluster. */
static rgm_status plain_provider(rgm_provider **out, const rgm_subgraph_source *from)
{
    rgm_graph *graph;

    RGM_TRY(rgm_graph_with_readout(&graph, from->graph, RGM_READOUT, "seed", from->node_set,
                                   from->seeds, NULL));
    return graph_provider(out, graph);
}

bool rgmi_sampling_judges_whole(const rgmi_sampling *s)
{
    return s->type != RGMI_SAMPLING_TREE && samplers[s->type].type->judges_whole;
}

rgm_status rgmi_sampler_asked_provider(rgm_provider **out, const rgm_subgraph_source *from,
                                       const rgmi_data_options *d, int threads)
{
    rgm_subgraph_sampler *sampler;
    rgm_status status;

    *out = NULL;
    if (rgmi_sampling_judges_whole(&d->sampling) && samplers[d->sampling.type].type->dress == NULL)
        return plain_provider(out, from);
    RGM_TRY(open_sampler(&sampler, from, &d->sampling));
    status = rgmi_sampling_judges_whole(&d->sampling) ? whole_provider(out, sampler, from->seeds)
                                                      : draws_provider(out, sampler, d, threads);
    rgm_subgraph_sampler_release(sampler);
    return status;
}

rgm_status rgmi_samplers_open(rgmi_graph_inputs *in, const rgm_task_setup *setup, const char *label)
{
    const rgmi_data_options *d = setup->data;
    rgm_tensor *const parts[3] = {in->data.train, in->data.valid, in->data.test};
    rgm_subgraph_source from = {.graph = in->data.graphs[0],
                                .node_set = in->data.split_set,
                                .seeds = in->data.train,
                                .label = label,
                                .seed = setup->seed};
    rgm_subgraph_sampler *trained_on = NULL, *sampler = NULL;
    rgm_status status = RGM_OK;

    if (in->data.split_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling needs one graph with a split of its nodes");
    RGM_GO(open_sampler(&trained_on, &from, &d->sampling));
    RGM_GO(draws_provider(&in->providers[RGM_TRAIN], trained_on, d, setup->threads));
    for (int i = RGM_VALID; i <= RGM_TEST; i++) {
        if (parts[i] == NULL || rgm_tensor_count(parts[i]) == 0)
            continue;
        if (rgmi_sampling_judges_whole(&d->sampling)) {
            RGM_GO(whole_provider(&in->providers[i], trained_on, parts[i]));
            continue;
        }
        from.seeds = parts[i];
        RGM_GO(open_sampler(&sampler, &from, &d->sampling));
        RGM_GO(draws_provider(&in->providers[i], sampler, d, setup->threads));
        rgm_subgraph_sampler_release(sampler);
        sampler = NULL;
    }
done:
    rgm_subgraph_sampler_release(trained_on);
    rgm_subgraph_sampler_release(sampler);
    return status;
}
