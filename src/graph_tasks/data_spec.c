/*
 * What data.sampling of type tree follows: a spec that is written out, or its keys as one.
 */
#include "learning.h"

/* The only edge set of a homogeneous graph, walked from a node to those that it hears from. */
static rgm_status default_edge_set(const char **out, const rgm_schema *schema)
{
    const rgm_set_schema *only = NULL;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET)
            continue;
        if (only != NULL)
            return RGM_FAIL(
                RGM_ERR_CONFIG,
                "data.sampling.edge_sets is needed: there are '%s', '%s' and maybe more",
                only->name, set->name);
        only = set;
    }
    if (only == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling: the data have no edge set");
    *out = only->name;
    return RGM_OK;
}

/* A spec that is written out: its text, or the file that has it. */
static rgm_status read_spec(rgmi_graph_inputs *in, const char *spec, const char *node_set)
{
    if (strstr(spec, "seed_op") != NULL)
        RGM_TRY(rgm_sampling_spec_parse(&in->spec, spec, (int64_t)strlen(spec),
                                        "data.sampling.spec", in->data.schema));
    else
        RGM_TRY(rgm_sampling_spec_load(&in->spec, spec, in->data.schema));
    if (strcmp(in->spec->seed_node_set, node_set) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.spec begins with node set '%s', but what is asked about is "
                        "of '%s'",
                        in->spec->seed_node_set, node_set);
    return RGM_OK;
}

/* A spec of one hop after the other. */
static rgm_status hops_to_spec(rgmi_graph_inputs *in, const rgmi_sampling *s, const char *node_set)
{
    const char *edge_sets[RGMI_MAX_HOPS];

    for (int64_t i = 0; i < s->sizes.count; i++) {
        if (s->edge_sets.count > 0)
            edge_sets[i] = s->edge_sets.items[i];
        else
            RGM_TRY(default_edge_set(&edge_sets[i], in->data.schema));
    }
    return rgm_sampling_spec_create(&in->spec, in->data.schema, node_set, edge_sets, s->sizes.items,
                                    s->sizes.count, s->strategy);
}

rgm_status rgmi_sampling_spec(rgmi_graph_inputs *in, const rgmi_sampling *s, const char *node_set)
{
    const char *time = s->time_feature_name;

    if (node_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling needs one graph with a split of its nodes");
    RGM_TRY(s->spec != NULL ? read_spec(in, s->spec, node_set) : hops_to_spec(in, s, node_set));
    if (s->weight_feature_name != NULL)
        RGM_TRY(rgm_sampling_spec_set_weight(in->spec, s->weight_feature_name));
    if (time == NULL && s->seed_time_feature_name == NULL)
        return RGM_OK;
    return rgm_sampling_spec_set_time(in->spec, time != NULL ? time : "time",
                                      s->seed_time_feature_name, s->up_to_seed,
                                      s->always_there.items, s->always_there.count);
}
