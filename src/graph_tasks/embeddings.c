/*
 * States of all nodes behind a trained base GNN. One graph goes through the model as a whole, or
 * round by round, so each layer is computed once for each node; of many graphs one by one.
 */
#include <regimen/graph_parts.h>

#include "learning.h"
#include "link_split.h"

enum { MOST_FEEDS = 512 };

typedef struct embedding {
    rgmi_learning *learning;
    const rgm_open_run *run;
    const char *node_set;
    rgm_value *states;
    rgm_executor *executor;
    const rgm_by_rounds_options *options; /* NULL: each graph as a whole */
    rgm_by_rounds *rounds;                /* NULL: no graph needed them yet */
    rgm_tensor *ids;                      /* of the graph at hand; NULL: none */
    rgm_graph_states_sink *sink;
    void *payload;
    int64_t graphs; /* done */
} embedding;

/* ---- which set ----------------------------------------------------------------------------- */

static bool has_states(const rgmi_learning *l, const rgm_set_schema *set)
{
    return set->piece == RGM_NODE_SET && !rgm_is_aux_set(set->name) &&
           rgm_has_feature(l->base, RGM_NODE_SET, set->name, RGM_HIDDEN_STATE);
}

/* The only set with states. */
static rgm_status only_set(const char **out, const rgmi_learning *l)
{
    *out = NULL;
    for (int64_t i = 0; i < rgm_schema_set_count(l->processed_schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(l->processed_schema, i);

        if (!has_states(l, set))
            continue;
        if (*out != NULL)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "node sets '%s', '%s' and maybe more have states: say which", *out,
                            set->name);
        *out = set->name;
    }
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_CONFIG, "no node set has states");
}

static rgm_status choose_set(const char **out, const rgmi_learning *l, const char *wanted)
{
    const rgm_set_schema *set;

    if (wanted == NULL)
        wanted = l->inputs.data.split_set;
    if (wanted == NULL)
        return only_set(out, l);
    set = rgm_schema_find(l->processed_schema, RGM_NODE_SET, wanted);
    if (set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "the data have no node set '%s'", wanted);
    if (!has_states(l, set))
        return RGM_FAIL(RGM_ERR_CONFIG, "the model makes no states of node set '%s'", wanted);
    *out = set->name;
    return RGM_OK;
}

static rgm_status begin(embedding *e, const rgm_open_run *run, const char *node_set)
{
    void *state;

    *e = (embedding){.run = run};
    RGM_TRY(rgm_task_state(&state, rgm_run_task(run), &rgm_graph_learning));
    e->learning = state;
    if (e->learning->base == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the run has no model");
    RGM_TRY(choose_set(&e->node_set, e->learning, node_set));
    e->states = rgm_node_feature(e->learning->base, e->node_set, RGM_HIDDEN_STATE);
    if (rgm_value_rank(e->states) == 2)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "states of node set '%s' are no rows of numbers",
                    e->node_set);
}

/* ---- one graph ----------------------------------------------------------------------------- */

static rgm_status compute(rgm_tensor **states, embedding *e, rgm_graph *graph)
{
    rgm_trainer *trainer = rgm_run_trainer(e->run);
    rgm_executor_options options = {.bf16 = rgm_trainer_bf16(trainer),
                                    .device = rgm_trainer_device(trainer)};
    rgm_feed feeds[MOST_FEEDS];
    int64_t count = 0;

    if (e->executor == NULL)
        RGM_TRY(
            rgm_executor_create(&e->executor, rgm_trainer_graph(trainer), &e->states, 1, &options));
    RGM_TRY(rgm_graph_feeds(feeds, MOST_FEEDS, &count, e->learning->root, graph));
    return rgm_executor_run(e->executor, states, rgm_trainer_parameters(trainer), feeds, count, 1,
                            0);
}

/* States of the nodes from number `first` on. */
static rgm_status give_rows(const rgm_tensor *states, int64_t first, void *payload)
{
    const embedding *e = payload;
    rgm_graph_states given = {.graph = e->graphs, .first = first, .states = states};
    rgm_tensor *ids = NULL;
    rgm_status status;

    if (e->ids != NULL)
        RGM_TRY(rgm_tensor_slice(&ids, e->ids, first, first + rgm_tensor_dim(states, 0)));
    given.ids = ids;
    status = e->sink(&given, e->payload);
    rgm_tensor_release(ids);
    return status;
}

/* Whether a graph is larger than a chunk, in nodes of all sets. */
static bool is_large(const rgm_graph *graph, const rgm_by_rounds_options *rounds)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    int64_t nodes = 0;

    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++)
        if (rgm_schema_set(schema, i)->piece == RGM_NODE_SET)
            nodes += rgm_graph_total(graph, RGM_NODE_SET, rgm_schema_set(schema, i)->name);
    return rounds != NULL && nodes > rounds->chunk;
}

/* Once for all graphs: what it builds stays in the run's compute graph. */
static rgm_status open_rounds(embedding *e)
{
    rgm_by_rounds_options options = *e->options;

    if (e->rounds != NULL)
        return RGM_OK;
    options.bf16 = rgm_trainer_bf16(rgm_run_trainer(e->run));
    return rgm_by_rounds_open(&e->rounds, e->states, e->learning->root, &options);
}

static rgm_status give(embedding *e, rgm_graph *graph)
{
    const rgm_feature *id = rgm_graph_feature(graph, RGM_NODE_SET, e->node_set, "#id");
    rgm_tensor *states;
    rgm_status status;

    e->ids = id != NULL ? id->values : NULL;
    if (is_large(graph, e->options)) {
        RGM_TRY(open_rounds(e));
        status = rgm_by_rounds_run(give_rows, e, e->rounds, graph,
                                   rgm_trainer_parameters(rgm_run_trainer(e->run)));
    } else {
        RGM_TRY(compute(&states, e, graph));
        RGM_TRY(rgm_graph_check_uncut(graph)); /* of zeros states are made, too */
        status = give_rows(states, 0, e);
    }
    e->graphs++;
    return status;
}

/* What samplers keep of a node, its number, in a graph that was not sampled. */
static rgm_status add_ids(rgm_graph **graph, const rgm_schema *schema)
{
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_feature id = {0};
        rgm_graph *next = NULL;
        rgm_status status;
        int64_t n;

        if (set->piece != RGM_NODE_SET || rgm_set_feature(set, "#id") == NULL)
            continue;
        n = rgm_graph_total(*graph, RGM_NODE_SET, set->name);
        RGM_TRY(rgm_tensor_create(&id.values, RGM_I64, 1, &n));
        for (int64_t k = 0; k < n; k++)
            rgm_tensor_i64(id.values)[k] = k;
        status = rgm_graph_with_feature(&next, *graph, RGM_NODE_SET, set->name, "#id", &id);
        rgm_tensor_release(id.values);
        RGM_TRY(status);
        rgm_graph_release(*graph);
        *graph = next;
    }
    return RGM_OK;
}

/* The graph that all parts ask about, as the model was built for it. */
static rgm_status whole_graph(rgm_graph **out, const rgmi_learning *l)
{
    const rgm_graph_task *task = l->tasks[0];
    const char *label = task->type->label != NULL ? task->type->label(task->options) : NULL;
    rgm_status status;

    RGM_TRY(rgmi_asked_graph(out, &l->inputs.data, l->inputs.data.train, label));
    status = add_ids(out, l->processed_schema);
    if (status == RGM_OK)
        return RGM_OK;
    rgm_graph_release(*out);
    *out = NULL;
    return status;
}

/* ---- all graphs ---------------------------------------------------------------------------- */

/* Through the processors of the run, but as no task's items. */
static rgm_status process_and_give(embedding *e, rgm_graph *graph)
{
    rgmi_pipeline pipeline = e->learning->asked;
    rgm_graph *processed = NULL;
    rgm_element *element;
    rgm_status status =
        rgm_element_create_pointer(&element, &rgm_graph_element, rgm_graph_retain(graph));

    if (status != RGM_OK) {
        rgm_graph_release(graph);
        return status;
    }
    pipeline.task_count = 0;
    status = rgmi_pipeline_process(&processed, &pipeline, &element, 1, NULL);
    if (status == RGM_OK)
        status = give(e, processed);
    rgm_graph_release(processed);
    rgm_element_release(element);
    return status;
}

static rgm_status each_record(embedding *e, rgm_dataset *data)
{
    rgm_iterator_options options = RGM_ITERATOR_OPTIONS_INIT;
    rgm_status status = RGM_OK;
    rgm_iterator *iterator = NULL;
    rgm_element *batch = NULL;

    RGM_GO(rgm_iterator_create(&iterator, data, &options));
    while ((status = rgm_iterator_next(&batch, iterator)) == RGM_OK) {
        RGM_GO(give(e, rgm_element_pointer(batch, &rgm_graph_element)));
        rgm_element_release(batch);
        batch = NULL;
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_element_release(batch);
    rgm_iterator_release(iterator);
    return status;
}

static rgm_status each_part(embedding *e)
{
    rgmi_learning *l = e->learning;

    for (int mode = RGM_TRAIN; mode <= RGM_TEST; mode++) {
        rgm_dataset *data = NULL;
        rgm_status status;

        if (l->providers[mode] == NULL)
            continue;
        if (rgmi_provider_is_batched(l->providers[mode]))
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "the data are mini-batches in which a node may be many times; give the "
                            "graph that they are of to rgm_graph_run_embed()");
        status = rgmi_pipeline_dataset(&data, &l->unpadded[mode], l->providers[mode], false, 1,
                                       false, false, 0);
        if (status == RGM_OK)
            status = each_record(e, data);
        rgm_dataset_release(data);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* A graph whose edges are split asks about no node. */
static bool asks_about_nodes(const rgmi_learning *l)
{
    return l->inputs.data.graph_count == 1 && l->inputs.data.split_set != NULL &&
           l->inputs.edge_set == NULL;
}

rgm_status rgm_graph_run_embeddings(const rgm_open_run *run, const char *node_set,
                                    const rgm_by_rounds_options *rounds,
                                    rgm_graph_states_sink *sink, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_graph *whole = NULL, *linked;
    embedding e;

    RGM_TRY(begin(&e, run, node_set));
    e.options = rounds;
    e.sink = sink;
    e.payload = payload;
    linked = rgmi_links_whole(e.learning->providers[RGM_TRAIN]);
    if (linked != NULL) {
        whole = rgm_graph_retain(linked);
        RGM_GO(add_ids(&whole, e.learning->processed_schema));
        RGM_GO(process_and_give(&e, whole));
    } else if (asks_about_nodes(e.learning)) {
        RGM_GO(whole_graph(&whole, e.learning));
        RGM_GO(process_and_give(&e, whole));
    } else if (e.learning->inputs.data.graph_count > 0) {
        for (int64_t i = 0; i < e.learning->inputs.data.graph_count; i++)
            RGM_GO(process_and_give(&e, e.learning->inputs.data.graphs[i]));
    } else {
        RGM_GO(each_part(&e));
    }
done:
    rgm_graph_release(whole);
    rgm_by_rounds_close(e.rounds);
    rgm_executor_release(e.executor);
    return status;
}

rgm_status rgm_graph_run_embed(rgm_tensor **out, const rgm_open_run *run, const char *node_set,
                               rgm_graph *graph)
{
    rgm_tensor *states;
    rgm_status status;
    embedding e;

    *out = NULL;
    RGM_TRY(begin(&e, run, node_set));
    status = compute(&states, &e, graph);
    if (status == RGM_OK)
        status = rgm_tensor_copy(out, states);
    rgm_executor_release(e.executor);
    return status;
}

/* ---- what it takes ------------------------------------------------------------------------- */

/* The largest graph of the data, by what all its sets have together. */
static const rgm_graph *largest(const rgm_graph_data *data)
{
    const rgm_graph *found = NULL;
    int64_t most = -1;

    for (int64_t i = 0; i < data->graph_count; i++) {
        int64_t items = 0;

        for (int64_t k = 0; k < rgm_schema_set_count(data->schema); k++) {
            const rgm_set_schema *set = rgm_schema_set(data->schema, k);

            items += rgm_graph_total(data->graphs[i], set->piece, set->name);
        }
        if (items > most)
            found = data->graphs[i];
        most = items > most ? items : most;
    }
    return found;
}

/* How large a dim is at most: a set's, or, of what is derived, of edges and loops together. */
static int64_t at_most(const rgm_graph *graph, const rgm_cgraph *cgraph, rgm_dim dim)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    const char *name = rgm_cgraph_symbol_name(cgraph, dim);
    int64_t all = 0;

    if (dim >= 0)
        return dim;
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        int64_t n = rgm_graph_total(graph, set->piece, set->name);

        if (name != NULL && set->name != NULL && strchr(name, '/') != NULL &&
            strncmp(name, "context", 7) != 0 && strcmp(strchr(name, '/') + 1, set->name) == 0)
            return n;
        all += n;
    }
    return all;
}

static double bytes_of(const rgm_value *v, const rgm_graph *graph, const rgm_cgraph *cgraph)
{
    enum { ENTRY = 24 }; /* of a pattern in both directions */
    double count = 1;

    if (rgm_value_op(v) == NULL)
        return 0; /* data and weights */
    if (rgm_value_is_pattern(v))
        return ENTRY * (double)at_most(graph, cgraph, rgm_value_dim(v, 2));
    for (int i = 0; i < rgm_value_rank(v); i++)
        count *= (double)at_most(graph, cgraph, rgm_value_dim(v, i));
    return count * (double)rgm_dtype_size(rgm_value_dtype(v));
}

/* Every value that the states need, once. */
static rgm_status bound_memory(int64_t *bytes, const embedding *e, const rgm_graph *graph)
{
    rgm_cgraph *cgraph = rgm_trainer_graph(rgm_run_trainer(e->run));
    int64_t count = rgm_value_number(e->states) + 1;
    double sum = 0;
    bool *needed;

    RGM_TRY(RGM_NEW(needed, count));
    needed[count - 1] = true;
    for (int64_t i = count - 1; i >= 0; i--) { /* inputs stand before what is made of them */
        rgm_value *v = rgm_cgraph_value(cgraph, i);

        if (!needed[i] || v == NULL)
            continue;
        sum += bytes_of(v, graph, cgraph);
        for (int k = 0; k < rgm_value_input_count(v); k++)
            needed[rgm_value_number(rgm_value_input(v, k))] = true;
    }
    rgm_free(needed);
    *bytes = sum < 9e18 ? (int64_t)sum : INT64_MAX;
    return RGM_OK;
}

rgm_status rgm_graph_run_embeddings_plan(rgm_embeddings_plan *out, const rgm_open_run *run,
                                         const char *node_set, const rgm_by_rounds_options *rounds)
{
    const rgm_graph_data *data;
    embedding e;

    *out = (rgm_embeddings_plan){.graphs = -1, .nodes = -1, .bytes = -1, .kept = -1};
    RGM_TRY(begin(&e, run, node_set));
    data = &e.learning->inputs.data;
    out->node_set = e.node_set;
    out->width = rgm_value_dim(e.states, 1);
    if (data->graph_count == 0)
        return RGM_OK;
    out->graphs = data->graph_count;
    out->nodes = 0;
    for (int64_t i = 0; i < data->graph_count; i++)
        out->nodes += rgm_graph_total(data->graphs[i], RGM_NODE_SET, e.node_set);
    if (is_large(largest(data), rounds) && rgmi_pipeline_is_plain(&e.learning->asked)) {
        rgm_status status;

        e.options = rounds;
        RGM_TRY(open_rounds(&e));
        status = rgm_by_rounds_bytes(&out->kept, e.rounds, (rgm_graph *)largest(data));
        rgm_by_rounds_close(e.rounds);
        return status;
    }
    return bound_memory(&out->bytes, &e, largest(data));
}
