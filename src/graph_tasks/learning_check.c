/*
 * The data of a part before the first step: read, decoded and processed as they will be, held
 * against what the model takes and the tasks' labels. Graphs in memory are looked at one by one, of
 * sampled mini-batches one and the labels of all seeds, of records the first.
 */
#include <stdio.h>

#include "learning.h"

enum { MOST_FEEDS = 512 };

/* Values that have no column, numbers that are none. */
static rgm_status check_values(const rgmi_learning *learning, const rgm_graph *graph)
{
    if (learning->input != NULL)
        RGM_TRY(rgm_input_features_finite(learning->input, graph));
    return rgm_graph_check_values(learning->root, graph);
}

/* Whether the model reads the numbers of a feature: of integers it may read kinds, of which
 * encoders say what is one. */
static bool reads_numbers(const rgmi_learning *learning, const rgm_set_schema *set,
                          const rgm_feature_schema *feature)
{
    if (rgmi_learning_is_label(learning, set, feature->name))
        return false;
    return feature->dtype == RGM_F32 || feature->dtype == RGM_F64
               ? rgm_reads_feature(learning->root, set->piece, set->name, feature->name)
               : rgm_feeds_feature(learning->root, set->piece, set->name, feature->name);
}

rgm_status rgmi_learning_check_numbers(const rgmi_learning *learning, const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_CONTEXT_PIECE && rgm_is_aux_set(set->name))
            continue;
        for (int64_t k = 0; k < set->feature_count; k++)
            if (reads_numbers(learning, set, &set->features[k]))
                RGM_TRY(rgm_feature_finite(graph, set, &set->features[k]));
    }
    return RGM_OK;
}

static rgm_status check_graph(const rgmi_learning *learning, const rgm_graph *graph)
{
    RGM_TRY(check_values(learning, graph));
    RGM_TRY(rgmi_learning_check_numbers(learning, graph));
    for (int64_t k = 0; k < learning->task_count; k++)
        RGM_TRY(rgmi_graph_task_check_graph(learning->tasks[k], graph, false, true));
    return RGM_OK;
}

/* Labels alone: how many items belong together is a matter of the batches. */
static rgm_status check_labels(const rgmi_learning *learning, const rgm_graph *whole)
{
    for (int64_t k = 0; k < learning->task_count; k++) {
        const rgm_graph_task *task = learning->tasks[k];
        rgm_status status = RGM_OK;

        if (task->type->check_labels != NULL)
            status = task->type->check_labels(whole, task->options);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "%s", task->type->section.name);
    }
    return RGM_OK;
}

/* ---- records that were drawn the other way round --------------------------------------------- */

/* How many of an edge set's ends there are one of the nodes. */
static int64_t count_at_end(const rgm_tensor *ends, const rgm_tensor *nodes)
{
    int64_t count = 0;

    for (int64_t e = 0; e < rgm_tensor_count(ends); e++)
        for (int64_t i = 0; i < rgm_tensor_count(nodes); i++)
            count += rgm_tensor_at_int(ends, e) == rgm_tensor_at_int(nodes, i);
    return count;
}

/* Edges that have nodes of a set at their source, [0], and at their target. */
static void count_ends(int64_t counts[2], const rgm_graph *graph, const char *node_set,
                       const rgm_tensor *nodes)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    counts[RGM_SOURCE] = counts[RGM_TARGET] = 0;
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_EDGE_SET || rgm_is_aux_set(set->name))
            continue;
        if (strcmp(set->source, node_set) == 0)
            counts[RGM_SOURCE] += count_at_end(rgm_graph_source(graph, set->name), nodes);
        if (strcmp(set->target, node_set) == 0)
            counts[RGM_TARGET] += count_at_end(rgm_graph_target(graph, set->name), nodes);
    }
}

/* A sampler leaves most edges of the nodes that are asked about at the end that it began at: there
 * the model should hear. */
static void tell_of_unheard(const rgmi_learning *learning, const rgm_graph *graph)
{
    const char *const *ends = rgmi_end_names;
    const rgm_schema *schema = rgm_graph_schema(graph);
    const rgm_set_schema *readout;
    rgm_graph_question q;
    rgm_receivers at;
    int64_t counts[2];
    char name[256];

    if (learning->data == NULL || !rgmi_question_of(&q, learning, 0) || q.key == NULL)
        return;
    at = learning->data->sampling.receivers;
    snprintf(name, sizeof name, "%s/%s", q.readout_set, q.key);
    readout = rgm_schema_find(schema, RGM_EDGE_SET, name);
    if (at == RGM_AT_BOTH || readout == NULL ||
        rgm_set_feature(rgm_schema_find(schema, RGM_NODE_SET, readout->source), "#id") == NULL)
        return;
    count_ends(counts, graph, readout->source, rgm_graph_source(graph, name));
    if (counts[at] >= counts[1 - at])
        return;
    rgm_log_write(RGM_LOG_WARNING,
                  "the first example was drawn from the %s of edges, where '%s' has %lld, but "
                  "model.receiver is %s, where it has %lld: it hears little of what was drawn for "
                  "it; draw along %sEDGE_SET (regimen data sample), or let model.receiver be %s",
                  ends[1 - at], readout->source, (long long)counts[1 - at], ends[at],
                  (long long)counts[at], at == RGM_AT_TARGET ? "<" : "", ends[1 - at]);
}

/* ---- examples -------------------------------------------------------------------------------- */

/* An example through its pipeline, which looks at labels, to what the model is fed. */
static rgm_status check_example(const rgmi_learning *learning, const rgmi_pipeline *of,
                                rgm_element *example)
{
    rgm_status status = RGM_OK;
    rgmi_pipeline pipeline = *of;
    rgm_feed feeds[MOST_FEEDS];
    rgm_graph *graph = NULL;
    int64_t count;

    pipeline.padding = NULL;
    RGM_GO(rgmi_pipeline_process(&graph, &pipeline, &example, 1, NULL));
    RGM_GO(rgmi_learning_check_numbers(learning, graph));
    if (of == &learning->pipelines[RGM_TRAIN] &&
        rgm_element_pointer(example, &rgm_graph_element) == NULL)
        tell_of_unheard(learning, graph);
    RGM_GO(rgm_graph_feeds(feeds, MOST_FEEDS, &count, learning->root, graph));
done:
    rgm_graph_release(graph);
    return status;
}

/* One of many in memory: of the first one's schema it would be fed likewise. What
 * processors make of it is seen when it is its turn. */
static rgm_status check_other(const rgmi_learning *learning, const rgmi_pipeline *pipeline,
                              rgm_element *example, const rgm_schema *first)
{
    rgm_graph *graph = rgm_element_pointer(example, &rgm_graph_element);

    if (graph == NULL || rgm_graph_schema(graph) != first)
        return check_example(learning, pipeline, example);
    return rgmi_pipeline_is_plain(pipeline) ? check_graph(learning, graph) : RGM_OK;
}

static rgm_status check_examples(const rgmi_learning *learning, const rgmi_pipeline *pipeline,
                                 const rgm_provider *provider)
{
    rgm_status status = RGM_OK;
    bool all = rgmi_provider_is_in_memory(provider);
    rgm_dataset *data = NULL;
    rgm_iterator *examples = NULL;
    rgm_element *example = NULL;
    const rgm_schema *first = NULL;
    int64_t count = 0;

    RGM_GO(rgm_provider_dataset(&data, provider, false));
    RGM_GO(rgm_iterator_create(&examples, data, NULL));
    while ((all || count == 0) && (status = rgm_iterator_next(&example, examples)) == RGM_OK) {
        rgm_graph *graph = rgm_element_pointer(example, &rgm_graph_element);

        status = first == NULL ? check_example(learning, pipeline, example)
                               : check_other(learning, pipeline, example, first);
        if (status == RGM_OK && all && graph != NULL)
            status = rgmi_pipeline_check_size(pipeline, graph);
        if (status != RGM_OK)
            status = all ? rgm_error_prefix(status, "graph %lld", (long long)count) : status;
        if (first == NULL && graph != NULL)
            first = rgm_graph_schema(graph);
        rgm_element_release(example);
        RGM_GO(status);
        count++;
    }
    if (status == RGM_END)
        status = count > 0 ? RGM_OK : RGM_FAIL(RGM_ERR_DATA, "there is nothing in them");
done:
    rgm_iterator_release(examples);
    rgm_dataset_release(data);
    return status;
}

static rgm_status check_own(void *payload, const rgm_graph *graph)
{
    const rgmi_learning *learning = payload;

    RGM_TRY(rgmi_learning_check_numbers(learning, graph));
    RGM_TRY(check_labels(learning, graph));
    return check_values(learning, graph);
}

/* A part numbers its items anew, so that nobody finds by these numbers what is wrong. */
static rgm_status tell_numbers(rgm_status status, const rgm_provider *provider)
{
    if (status == RGM_OK ||
        (!rgmi_provider_is_part(provider) && !rgmi_provider_is_sampled_part(provider)))
        return status;
    return rgm_error_prefix(status, "items as this rank's part numbers them (config check --data "
                                    "with data.type folder and the graph that was cut as "
                                    "data.path has their own numbers)");
}

static rgm_status check_provider(const rgmi_learning *learning, const rgmi_pipeline *pipeline,
                                 const rgm_provider *provider)
{
    rgm_status status;
    rgm_graph *whole;

    if (rgmi_provider_is_sampled_part(provider)) /* what it has itself; others check theirs */
        return rgmi_sampled_part_visit(provider, check_own, (void *)learning);
    RGM_TRY(check_examples(learning, pipeline, provider));
    if (!rgmi_pipeline_is_plain(pipeline))
        return RGM_OK;
    RGM_TRY(rgmi_provider_whole(&whole, provider));
    status = whole != NULL ? check_labels(learning, whole) : RGM_OK;
    if (status == RGM_OK && whole != NULL)
        status = check_values(learning, whole);
    rgm_graph_release(whole);
    return status;
}

static rgm_status check_part(const rgmi_learning *learning, const rgmi_pipeline *pipeline,
                             const rgm_provider *provider)
{
    return tell_numbers(check_provider(learning, pipeline, provider), provider);
}

rgm_status rgmi_learning_check_data(void *state, rgm_mode mode)
{
    const rgmi_learning *learning = state;

    RGM_TRY(check_part(learning, &learning->pipelines[mode], learning->providers[mode]));
    RGM_TRY(rgmi_learning_check_counts(learning, mode));
    for (int64_t i = 0; i < learning->set_count; i++) {
        const rgmi_graph_eval_data *set = &learning->sets[i];
        rgm_status status = RGM_OK;

        if (set->mode == mode)
            status = check_part(learning, &set->pipeline, set->provider);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "the set '%s'", set->name);
    }
    return RGM_OK;
}
