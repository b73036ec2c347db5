/*
 * Encoders learn from the training part: one pass over its graphs, before the first step, and how
 * many nodes there are where they are known by their numbers.
 */
#include "learning.h"
#include "link_split.h"

/* The graph that all examples are cut out of; *out is NULL, and *why what they are instead. */
static rgm_status one_graph(rgm_graph **out, const char **why, const rgm_provider *provider)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_iterator *examples = NULL;
    rgm_element *example = NULL;

    RGM_TRY(rgmi_provider_whole(out, provider));
    *why = "metadata.cardinality of its node set is not in the part";
    if (*out != NULL || rgmi_provider_is_sampled_part(provider))
        return RGM_OK;
    RGM_GO(rgm_provider_dataset(&data, provider, false));
    *why = "the data are read as they come, and metadata.cardinality of its node set is not "
           "there with the feature #id";
    if (!rgmi_provider_is_in_memory(provider))
        goto done;
    *why = "metadata.cardinality of its node set is not in the part";
    if (rgmi_provider_is_part(provider)) /* the schema says how many the whole graph has */
        goto done;
    *why = "the data are several graphs, each of which has its own nodes";
    if (rgm_dataset_count(data) != 1)
        goto done;
    RGM_GO(rgm_iterator_create(&examples, data, NULL));
    RGM_GO(rgm_iterator_next(&example, examples));
    *out = rgm_graph_retain(rgm_element_pointer(example, &rgm_graph_element));
    *why = "the graph has several components";
    if (*out != NULL && rgm_graph_components(*out) != 1) {
        rgm_graph_release(*out);
        *out = NULL;
    }
done:
    rgm_element_release(example);
    rgm_iterator_release(examples);
    rgm_dataset_release(data);
    return status;
}

static rgm_status count_nodes(rgm_feature_learner *learner, const rgm_provider *provider)
{
    rgm_graph *whole = NULL;
    const char *why = NULL;
    rgm_status status = one_graph(&whole, &why, provider);

    if (status == RGM_OK)
        status = rgm_feature_learner_count(learner, whole, why);
    rgm_graph_release(whole);
    return status;
}

static rgm_status look_at(void *learner, const rgm_graph *graph)
{
    return rgm_feature_learner_add(learner, graph);
}

rgm_status rgmi_features_learn(rgm_learned_features **out, const rgm_input_options *options,
                               const rgm_schema *schema, const rgmi_pipeline *pipeline,
                               const rgm_provider *provider)
{
    rgm_status status = RGM_OK;
    rgm_feature_learner *learner = NULL;
    rgm_provider *links = NULL;

    *out = NULL;
    RGM_GO(rgm_feature_learner_create(&learner, options, schema));
    if (rgm_feature_learner_looks(learner) &&
        (rgmi_provider_is_part(provider) || rgmi_provider_is_sampled_part(provider)))
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED, "data.type is parts, and model.input learns of the "
                                             "features of the whole graph: encode them before it "
                                             "is cut"));
    if (rgm_feature_learner_looks(learner)) { /* of links not at what one step draws */
        RGM_GO(rgmi_links_training(&links, provider));
        RGM_GO(rgmi_pipeline_visit(pipeline, links != NULL ? links : provider, look_at, learner));
    }
    if (rgm_feature_learner_counts(learner))
        RGM_GO(count_nodes(learner, provider));
    RGM_GO(rgm_feature_learner_finish(out, learner));
done:
    rgm_provider_release(links);
    rgm_feature_learner_release(learner);
    return status;
}

rgm_status rgm_learned_features_create(rgm_learned_features **out, const rgm_input_options *options,
                                       const rgm_schema *schema, const rgm_provider *train)
{
    const rgmi_pipeline pipeline = {.schema = (rgm_schema *)schema};

    return rgmi_features_learn(out, options, schema, &pipeline, train);
}
