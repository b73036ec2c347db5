/*
 * Providers of graphs in memory: any graphs, or one part of an imported data set. One big graph is
 * asked about the part's nodes through "_readout"; its tensors and patterns are shared between the
 * parts.
 */
#include "learning.h"
#include "processors.h"

typedef struct graphs_state {
    rgm_dataset *data;
    rgm_schema *schema; /* retained */
    bool shuffle;
    rgmi_draws draws;
} graphs_state;

static rgm_status graphs_dataset(rgm_dataset **out, void *state, bool training)
{
    const graphs_state *graphs = state;
    rgm_dataset *data = rgm_dataset_retain(graphs->data);

    if (training && rgm_dataset_count(data) > 1) {
        rgm_status status = rgmi_draws_order(&data, &graphs->draws, graphs->shuffle);

        if (status != RGM_OK) {
            rgm_dataset_release(data);
            return status;
        }
    }
    *out = data;
    return RGM_OK;
}

static rgm_schema *graphs_schema(void *state)
{
    return ((graphs_state *)state)->schema;
}

static rgm_status graphs_draw(void *state, const double *weights, int64_t count)
{
    graphs_state *graphs = state;

    return rgmi_draws_set(&graphs->draws, weights, count, rgm_dataset_count(graphs->data));
}

static void graphs_release(void *state)
{
    graphs_state *graphs = state;

    rgm_free(graphs->draws.weights);
    rgm_dataset_release(graphs->data);
    rgm_schema_release(graphs->schema);
    rgm_free(graphs);
}

static const rgm_provider_type graphs_type = {
    .name = "graphs",
    .dataset = graphs_dataset,
    .schema = graphs_schema,
    .in_memory = true,
    .draw = graphs_draw,
    .release = graphs_release,
};

static rgm_status elements_of(rgm_dataset **out, rgm_graph *const *graphs, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_element **elements = NULL;

    RGM_GO(RGM_NEW(elements, count));
    for (int64_t i = 0; i < count; i++) {
        status = rgm_element_create_pointer(&elements[i], &rgm_graph_element,
                                            rgm_graph_retain(graphs[i]));
        if (status != RGM_OK)
            rgm_graph_release(graphs[i]);
        RGM_GO(status);
    }
    RGM_GO(rgm_dataset_from_elements(out, elements, count));
done:
    for (int64_t i = 0; elements != NULL && i < count; i++)
        rgm_element_release(elements[i]);
    rgm_free(elements);
    return status;
}

rgm_provider *rgm_graphs_provider(rgm_graph *const *graphs, int64_t count, bool shuffle)
{
    graphs_state *state;
    rgm_provider *provider = NULL;

    if (count < 1) {
        RGM_FAIL(RGM_ERR_ARG, "a provider of no graphs");
        return NULL;
    }
    if (RGM_NEW(state, 1) != RGM_OK)
        return NULL;
    state->shuffle = shuffle;
    state->schema = rgm_schema_retain((rgm_schema *)rgm_graph_schema(graphs[0]));
    if (elements_of(&state->data, graphs, count) == RGM_OK)
        provider = rgm_provider_create(&graphs_type, state);
    if (provider == NULL)
        graphs_release(state);
    return provider;
}

/* ---- processed ----------------------------------------------------------------------------- */

/* The next of them; later ones take over the schema of the first. RGM_END: there is none. */
static rgm_status process_next(rgm_graph **out, rgm_iterator *examples, rgm_schema *schema,
                               const rgm_graph_processor *processors, int64_t count,
                               rgmi_processed *told)
{
    rgm_element *example = NULL;
    rgm_graph *processed = NULL;
    rgm_status status = rgm_iterator_next(&example, examples);

    *out = NULL;
    if (status != RGM_OK)
        return status;
    RGM_GO(rgmi_graph_process(&processed, rgm_element_pointer(example, &rgm_graph_element),
                              processors, count, NULL, told));
    if (schema == NULL)
        *out = rgm_graph_retain(processed);
    else
        RGM_GO(rgm_graph_with_schema(out, processed, schema));
done:
    rgm_graph_release(processed);
    rgm_element_release(example);
    return status;
}

static rgm_status process_graphs(rgm_graph **graphs, int64_t graph_count, rgm_iterator *examples,
                                 const rgm_graph_processor *processors, int64_t count,
                                 rgmi_processed *told)
{
    for (int64_t i = 0; i < graph_count; i++) {
        rgm_schema *first = i > 0 ? (rgm_schema *)rgm_graph_schema(graphs[0]) : NULL;
        rgm_status status = process_next(&graphs[i], examples, first, processors, count, told);

        if (status != RGM_OK)
            return rgm_error_prefix(status < 0 ? status : RGM_ERR_DATA, "graph %lld", (long long)i);
    }
    return RGM_OK;
}

rgm_status rgmi_provider_process(rgm_provider **out, rgm_provider *provider,
                                 const rgm_graph_processor *processors, int64_t count,
                                 rgmi_processed *told)
{
    const graphs_state *state = rgmi_provider_state(provider, &graphs_type);
    rgm_status status = RGM_OK;
    rgm_iterator *examples = NULL;
    rgm_graph **graphs = NULL;
    int64_t graph_count = state != NULL ? rgm_dataset_count(state->data) : 0;

    *out = NULL;
    if (state == NULL || count == 0) {
        *out = rgm_provider_retain(provider);
        return RGM_OK;
    }
    RGM_GO(RGM_NEW(graphs, graph_count));
    RGM_GO(rgm_iterator_create(&examples, state->data, NULL));
    RGM_GO(process_graphs(graphs, graph_count, examples, processors, count, told));
    *out = rgm_graphs_provider(graphs, graph_count, state->shuffle);
    RGM_GO(*out != NULL ? RGM_OK : RGM_ERR_NOMEM);
    if (state->draws.weights != NULL)
        RGM_GO(rgm_provider_draw(*out, state->draws.weights, state->draws.count));
done:
    if (status != RGM_OK) {
        rgm_provider_release(*out);
        *out = NULL;
    }
    for (int64_t i = 0; graphs != NULL && i < graph_count; i++)
        rgm_graph_release(graphs[i]);
    rgm_free(graphs);
    rgm_iterator_release(examples);
    return status;
}

/* ---- parts of a data set ------------------------------------------------------------------- */

static rgm_status part_of(rgm_tensor **numbers, const rgm_graph_data *data, const char *part)
{
    if (strcmp(part, "train") == 0)
        *numbers = data->train;
    else if (strcmp(part, "valid") == 0)
        *numbers = data->valid;
    else if (strcmp(part, "test") == 0)
        *numbers = data->test;
    else
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is not a part: train, valid or test", part);
    if (*numbers == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "the data set's split has no part '%s'", part);
    return RGM_OK;
}

/* A label that the nodes lack is told by the task that wants it. */
rgm_status rgmi_asked_graph(rgm_graph **out, const rgm_graph_data *data, rgm_tensor *nodes,
                            const char *label)
{
    rgm_graph *asked = NULL;
    rgm_status status;
    const rgm_set_schema *set = rgm_schema_find(data->schema, RGM_NODE_SET, data->split_set);
    bool labelled = label != NULL && set != NULL && rgm_set_feature(set, label) != NULL;

    *out = NULL;
    RGM_TRY(rgm_graph_with_readout(&asked, data->graphs[0], RGM_READOUT, "seed", data->split_set,
                                   nodes, labelled ? label : NULL));
    if (!labelled) {
        *out = asked;
        return RGM_OK;
    }
    /* The label now stands on the readout; on the nodes it would be in the model's sight. */
    status = rgm_graph_without_feature(out, asked, RGM_NODE_SET, data->split_set, label);
    rgm_graph_release(asked);
    return status;
}

static rgm_status whole_graph(rgm_provider **out, const rgm_graph_data *data, rgm_tensor *nodes,
                              const char *label)
{
    rgm_graph *asked;

    RGM_TRY(rgmi_asked_graph(&asked, data, nodes, label));
    *out = rgm_graphs_provider(&asked, 1, false);
    rgm_graph_release(asked);
    return RGM_OK;
}

static rgm_status many_graphs(rgm_provider **out, const rgm_graph_data *data, rgm_tensor *numbers)
{
    int64_t count = rgm_tensor_count(numbers);
    rgm_graph **graphs;

    RGM_TRY(RGM_NEW(graphs, count));
    for (int64_t i = 0; i < count; i++)
        graphs[i] = data->graphs[rgm_tensor_i64(numbers)[i]];
    *out = rgm_graphs_provider(graphs, count, true);
    rgm_free(graphs);
    return RGM_OK;
}

rgm_provider *rgm_graph_data_provider(const rgm_graph_data *data, const char *part)
{
    return rgm_graph_data_provider_of(data, part, "label");
}

rgm_provider *rgm_graph_data_provider_of(const rgm_graph_data *data, const char *part,
                                         const char *label)
{
    rgm_provider *provider = NULL;
    rgm_tensor *numbers;

    if (part_of(&numbers, data, part) != RGM_OK)
        return NULL;
    if (data->split_set != NULL)
        whole_graph(&provider, data, numbers, label);
    else
        many_graphs(&provider, data, numbers);
    return provider;
}

rgm_provider *rgm_ogb_provider(const char *path, const char *split, const char *part)
{
    rgm_graph_data data = {0};
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_provider *provider;

    options.split = split;
    if (rgm_import_ogb(&data, path, &options) != RGM_OK)
        return NULL;
    provider = rgm_graph_data_provider(&data, part);
    rgm_graph_data_clear(&data);
    return provider;
}
