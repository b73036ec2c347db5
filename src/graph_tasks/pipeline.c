/*
 * From a provider's examples to batches: batch, parse and merge, processors, pad. All maps
 * keep order, so a seed fixes what is trained on.
 */
#include <math.h>

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
        RGM_GO(rgm_input_features_finite(pipeline->input, graph));
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

/* The same where a thread that is not the trainer's makes the batch. */
static rgm_status draw_ahead(rgm_element **out, const rgm_element *batch, const rgm_map_call *call,
                             void *payload)
{
    const rgmi_pipeline *pipeline = payload;

    RGM_TRY(draw_batch(out, batch, call, payload));
    rgmi_feeds_ahead_make(pipeline->ahead, rgm_element_pointer(*out, &rgm_graph_element));
    return RGM_OK;
}

static bool draws(const rgmi_pipeline *pipeline)
{
    return rgmi_processors_fixed(pipeline->processors, pipeline->processor_count) <
           pipeline->processor_count;
}

/* ---- batches ------------------------------------------------------------------------------- */

enum { NODES, EDGES, SCALES };

/* Items of all node sets and of all edge sets, auxiliary ones apart. */
static void sizes_of(int64_t sizes[SCALES], const rgm_graph *graph)
{
    const rgm_schema *schema = rgm_graph_schema(graph);

    sizes[NODES] = sizes[EDGES] = 0;
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece != RGM_CONTEXT_PIECE && !rgm_is_aux_set(set->name))
            sizes[set->piece == RGM_EDGE_SET ? EDGES : NODES] +=
                rgm_graph_total(graph, set->piece, set->name);
    }
}

/* What of the two has a bound, in this order. */
static rgm_budgets budgets_of(rgmi_pipeline *pipeline, int64_t batch_size)
{
    const int64_t limits[SCALES] = {pipeline->batch_nodes, pipeline->batch_edges};
    static const char *const names[SCALES] = {"nodes", "edges"};
    rgm_budgets b = {.elements = batch_size > 1 ? batch_size : 0, .payload = pipeline};

    for (int i = 0; i < SCALES; i++)
        if (limits[i] > 0) {
            b.limits[b.count] = limits[i];
            b.names[b.count++] = names[i];
        }
    return b;
}

static rgm_status weigh(int64_t *weights, const rgm_element *element, void *payload)
{
    const rgmi_pipeline *pipeline = payload;
    const rgm_graph *graph = rgm_element_pointer(element, &rgm_graph_element);
    int64_t sizes[SCALES], count = 0;

    if (graph == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "an example is no graph");
    sizes_of(sizes, graph);
    if (pipeline->batch_nodes > 0)
        weights[count++] = sizes[NODES];
    if (pipeline->batch_edges > 0)
        weights[count++] = sizes[EDGES];
    return RGM_OK;
}

rgm_status rgmi_pipeline_check_size(const rgmi_pipeline *pipeline, const rgm_graph *graph)
{
    int64_t sizes[SCALES];

    sizes_of(sizes, graph);
    if (pipeline->batch_nodes > 0 && sizes[NODES] > pipeline->batch_nodes)
        return RGM_FAIL(RGM_ERR_DATA, "it has %lld nodes, more than a batch (batch_nodes is %lld)",
                        (long long)sizes[NODES], (long long)pipeline->batch_nodes);
    if (pipeline->batch_edges > 0 && sizes[EDGES] > pipeline->batch_edges)
        return RGM_FAIL(RGM_ERR_DATA, "it has %lld edges, more than a batch (batch_edges is %lld)",
                        (long long)sizes[EDGES], (long long)pipeline->batch_edges);
    return RGM_OK;
}

static rgm_status decode_one(rgm_element **out, const rgm_element *example,
                             const rgm_map_call *call, void *payload)
{
    const rgmi_pipeline plain = {.schema = ((const rgmi_pipeline *)payload)->schema};

    if (rgm_element_pointer(example, &rgm_graph_element) != NULL) {
        *out = rgm_element_retain((rgm_element *)example);
        return RGM_OK;
    }
    (void)call;
    return process_elements(out, example, NULL, &plain);
}

/* By a number of examples, or by their sizes, of which the decoded graph tells. */
static rgm_status batch(rgm_dataset **data, rgmi_pipeline *pipeline, int64_t batch_size,
                        bool drop_remainder, int threads)
{
    rgm_budgets budgets = budgets_of(pipeline, batch_size);

    if (budgets.count == 0)
        return rgm_dataset_batch(data, batch_size, drop_remainder);
    budgets.weigh = weigh;
    RGM_TRY(rgm_dataset_map(data, decode_one, pipeline, NULL, threads));
    return rgm_dataset_batch_within(data, &budgets);
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
    alone = (rgm_dataset_count(data) == 1 || rgmi_provider_is_part(provider)) &&
            !rgmi_provider_is_batched(provider);
    /* What is in memory is there already: handing it to a thread costs more than the call. */
    if (!rgmi_provider_is_batched(provider))
        RGM_GO(batch(&data, pipeline, batch_size, drop_remainder,
                     alone || rgmi_provider_is_in_memory(provider) ? 0 : threads));
    RGM_GO(rgm_dataset_map_each(&data,
                                rgmi_provider_is_sampled_part(provider) ? rgmi_sampled_part_batch
                                : training && !alone && threads > 0     ? draw_ahead
                                : training                              ? draw_batch
                                                                        : process_batch,
                                pipeline, NULL, alone ? 0 : threads));
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

rgm_status rgmi_pipeline_batches(rgm_dataset **data, rgmi_pipeline *pipeline, int64_t batch_size)
{
    return batch(data, pipeline, batch_size, false, 0);
}

rgm_status rgmi_pipeline_batch(rgm_element **out, const rgm_element *batch,
                               const rgmi_pipeline *pipeline)
{
    return process_elements(out, batch, NULL, pipeline);
}

static const char components[] = "components"; /* the total of no set */

/* A batch has no more of a set than the budget of all, and in each padding component that takes a
 * missing graph's place the least that one must have. */
static rgm_status pad_to_budgets(rgm_size_constraints *limit, const rgm_schema *schema,
                                 const rgmi_pipeline *pipeline, int64_t batch_size, int64_t least)
{
    int64_t each = least > 1 ? least : 1;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        bool edges = set->piece == RGM_EDGE_SET;
        int64_t budget = edges ? pipeline->batch_edges : pipeline->batch_nodes;
        int64_t most = edges ? budget : budget + (batch_size + 1) * each;

        if (set->piece == RGM_CONTEXT_PIECE || rgm_is_aux_set(set->name) || budget == 0)
            continue;
        if (rgm_size_constraints_get(limit, set->piece, set->name) > most)
            RGM_TRY(
                rgm_size_constraints_set(limit, set->piece, set->name, most, edges ? 0 : least));
    }
    return RGM_OK;
}

static rgm_status unknown_total(const rgm_schema *schema, const char *name, const char *key)
{
    int64_t sets = rgm_schema_set_count(schema), count = 0;
    const char **names;
    rgm_hint hint;

    RGM_TRY(RGM_NEW(names, sets + 1));
    names[count++] = components;
    for (int64_t i = 0; i < sets; i++)
        if (rgm_schema_set(schema, i)->piece != RGM_CONTEXT_PIECE)
            names[count++] = rgm_schema_set(schema, i)->name;
    hint = rgm_did_you_mean(name, names, count, NULL, "there are ");
    rgm_free(names);
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s.totals.%s: that is neither a set of the graphs that a model sees nor "
                    "'components'%s",
                    key, name, hint.text);
}

/* least: what the largest example has, with padding's own place; NULL: batches may be too large. */
static rgm_status check_total(const rgm_size_constraints *least, rgm_piece piece, const char *set,
                              double total, int64_t batch_size, const char *key)
{
    const char *name = set != NULL ? set : components;
    int64_t needed = least == NULL ? 0 : rgm_size_constraints_get(least, piece, set);

    if (!(total >= 0 && total <= INT32_MAX) || total != floor(total))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s.totals.%s is %g: a number of items is whole", key, name,
                        total);
    if (least != NULL && set == NULL && (int64_t)total <= batch_size)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s.totals.%s is %lld, but must be above the batch size (%lld): what is "
                        "padded is a component too",
                        key, name, (long long)total, (long long)batch_size);
    if ((int64_t)total < needed)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "%s.totals.%s is %lld, but the largest example and padding need %lld: no "
                        "batch with it would be padded",
                        key, name, (long long)total, (long long)needed);
    return RGM_OK;
}

/* Sizes that were given, in the place of those that were found. A name may be that of a node set
 * and of an edge set. */
static rgm_status set_totals(rgm_size_constraints *limit, const rgm_size_constraints *least,
                             const rgm_schema *schema, const rgm_padding *padding,
                             int64_t batch_size, const char *key)
{
    static const rgm_piece pieces[3] = {RGM_CONTEXT_PIECE, RGM_NODE_SET, RGM_EDGE_SET};

    for (int64_t i = 0; i < padding->totals.count; i++) {
        const char *name = padding->totals.names[i];
        double total = padding->totals.values[i];
        bool found = false;

        for (int k = 0; k < 3; k++) {
            const char *set = k == 0 ? NULL : name;

            if (k == 0 ? strcmp(name, components) != 0
                       : rgm_schema_find(schema, pieces[k], name) == NULL)
                continue;
            found = true;
            RGM_TRY(check_total(least, pieces[k], set, total, batch_size, key));
            RGM_TRY(rgm_size_constraints_set(limit, pieces[k], set, (int64_t)total,
                                             k == 1 ? padding->min_nodes_per_component : 0));
        }
        if (!found)
            return unknown_total(schema, name, key);
    }
    return RGM_OK;
}

/* What one example has at most, where all of them are to fit. */
static rgm_status find_least(rgm_size_constraints **out, rgm_schema *schema, rgm_dataset *data,
                             const rgm_padding *padding)
{
    *out = NULL;
    if (padding->kind != RGM_PADDING_TIGHT || padding->totals.count == 0)
        return RGM_OK;
    return rgm_tight_padding(out, schema, data, 1, padding->min_nodes_per_component);
}

rgm_status rgmi_pipeline_padding(rgmi_pipeline *pipeline, rgm_schema *schema,
                                 const rgm_provider *provider, const rgm_padding *padding,
                                 int64_t batch_size, uint64_t seed, const char *key)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgm_size_constraints *least = NULL;
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
    if (pipeline->batch_nodes > 0 || pipeline->batch_edges > 0)
        RGM_GO(pad_to_budgets(pipeline->padding, schema, pipeline, batch_size,
                              padding->min_nodes_per_component));
    RGM_GO(find_least(&least, schema, data, padding));
    RGM_GO(set_totals(pipeline->padding, least, schema, padding, batch_size, key));
    pipeline->has_totals = padding->totals.count > 0;
    pipeline->keeps_misfits = padding->kind == RGM_PADDING_FIT || pipeline->has_totals;
done:
    rgm_dataset_release(data);
    rgm_size_constraints_release(least);
    return status;
}

static rgm_status visit_examples(const rgmi_pipeline *of, const rgm_provider *provider,
                                 rgmi_graph_visitor *visit, void *payload)
{
    rgm_status status = RGM_OK;
    rgmi_pipeline pipeline = {
        .schema = of->schema, .processors = of->processors, .processor_count = of->processor_count};
    rgm_dataset *data = NULL;
    rgm_iterator *examples = NULL;
    rgm_element *example = NULL;
    rgm_graph *graph = NULL;

    RGM_GO(rgm_provider_dataset(&data, provider, false));
    RGM_GO(rgm_iterator_create(&examples, data, NULL));
    while ((status = rgm_iterator_next(&example, examples)) == RGM_OK) {
        RGM_GO(rgmi_pipeline_process(&graph, &pipeline, &example, 1, NULL));
        RGM_GO(visit(payload, graph));
        rgm_graph_release(graph);
        rgm_element_release(example);
        graph = NULL;
        example = NULL;
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_graph_release(graph);
    rgm_element_release(example);
    rgm_iterator_release(examples);
    rgm_dataset_release(data);
    return status;
}

rgm_status rgmi_pipeline_visit(const rgmi_pipeline *pipeline, const rgm_provider *provider,
                               rgmi_graph_visitor *visit, void *payload)
{
    rgm_graph *whole = NULL;
    rgm_status status;

    if (rgmi_pipeline_is_plain(pipeline))
        RGM_TRY(rgmi_provider_whole(&whole, provider));
    if (whole == NULL)
        return visit_examples(pipeline, provider, visit, payload);
    status = visit(payload, whole);
    rgm_graph_release(whole);
    return status;
}
