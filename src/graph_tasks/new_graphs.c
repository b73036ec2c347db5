/*
 * Predicting for graphs that a user names: read in whatever form they have, made what the model was
 * trained on, asked about, and batched without a training part.
 */
#include <fnmatch.h>

#include "new_graphs.h"

void rgmi_new_graphs_release(rgmi_new_graphs *self)
{
    if (self == NULL)
        return;
    rgm_free(self->path);
    rgm_free(self->items);
    rgm_schema_release(self->schema);
    rgm_schema_release(self->from);
    rgm_schema_release(self->target);
    rgm_provider_release(self->provider);
    rgm_unseen_values_release(self->unseen);
    rgm_free(self);
}

static rgm_status create(rgmi_new_graphs **out, rgmi_learning *l, const rgm_new_data *data)
{
    rgm_status status = RGM_OK;
    rgmi_new_graphs *self = NULL;

    RGM_GO(RGM_NEW(self, 1));
    self->learning = l;
    self->pipeline = l->asked;
    RGM_GO(rgm_strdup(&self->path, data->files));
    if (data->items != NULL)
        RGM_GO(rgm_strdup(&self->items, data->items));
    RGM_GO(rgm_unseen_values_create(&self->unseen, l->learned));
    *out = self;
    self = NULL;
done:
    rgmi_new_graphs_release(self);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* What OGB's files become is what they became for the run, not what the new ones look like. */
static rgm_import_options import_options(const rgmi_learning *l)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;

    options.like = l->schema;
    options.node_set = rgmi_only_set(l->schema, RGM_NODE_SET);
    options.edge_set = rgmi_only_set(l->schema, RGM_EDGE_SET);
    if (l->data != NULL) {
        options.undirected = l->data->undirected;
        options.sparse_below = l->data->sparse_below;
    }
    if (options.edge_set != NULL && /* imported so, for the run */
        rgm_set_has_extra(rgm_schema_find(l->schema, RGM_EDGE_SET, options.edge_set), "directed",
                          "true"))
        options.undirected = false;
    return options;
}

static rgm_status read_graphs(rgm_dataset **out, rgmi_new_graphs *self)
{
    const rgm_import_options options = import_options(self->learning);
    rgm_status status = RGM_OK;
    rgm_graph_data data = {0};
    rgm_provider *provider = NULL;

    RGM_GO(rgm_new_graphs_load(&data, self->path, &options));
    self->alone = data.graph_count == 1 && rgm_graph_components(data.graphs[0]) == 1;
    self->sampled = rgmi_new_graph_is_sampled(self, self->alone ? data.graphs[0] : NULL);
    if (self->sampled) {
        RGM_GO(rgmi_new_graph_sample(out, self, data.graphs[0]));
        goto done;
    }
    provider = rgm_graphs_provider(data.graphs, data.graph_count, false);
    RGM_GO(provider != NULL ? rgm_provider_dataset(out, provider, false) : RGM_ERR_NOMEM);
done:
    rgm_provider_release(provider);
    rgm_graph_data_clear(&data);
    return status;
}

/* Beside the records where one is there, which knows more than the run's of what they have. */
static rgm_status find_schema(rgmi_new_graphs *self)
{
    rgm_status status = RGM_OK;
    const char *slash = strrchr(self->path, '/');
    char *beside = NULL;

    RGM_GO(rgm_strprintf(&beside, "%.*sschema.pbtxt",
                         slash != NULL ? (int)(slash - self->path) + 1 : 0, self->path));
    if (rgm_path_exists(beside))
        RGM_GO(rgm_schema_load(&self->schema, beside));
    else
        self->schema = rgm_schema_retain(self->learning->schema);
done:
    rgm_free(beside);
    return status;
}

static rgm_status read_records(rgm_dataset **out, rgmi_new_graphs *self)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;

    if (fnmatch("*.csv", self->path, 0) == 0 || fnmatch("*.csv.gz", self->path, 0) == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "%s: one table is no graph: name the folder of the tables and their "
                        "schema.pbtxt",
                        self->path));
    RGM_GO(find_schema(self));
    RGM_GO(rgm_dataset_list_files(&data, self->path));
    RGM_GO(rgm_dataset_read_tfrecords(&data, NULL));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

/* ---- batches ------------------------------------------------------------------------------- */

static rgm_status graph_of(rgm_graph **out, const rgm_element *example, const rgmi_new_graphs *self)
{
    rgm_graph *graph = rgm_element_pointer(example, &rgm_graph_element);
    const char *origin = rgm_element_origin(example);
    const void *bytes;
    int64_t size;

    if (graph != NULL) {
        *out = rgm_graph_retain(graph);
        return RGM_OK;
    }
    bytes = rgm_element_bytes(example, &size);
    return rgm_graph_decode(out, self->schema, bytes, size, "", origin != NULL ? origin : "");
}

static rgm_status take_graph(rgm_element **out, const rgm_element *example,
                             const rgm_map_call *call, void *payload)
{
    rgmi_new_graphs *self = payload;
    rgm_status status = RGM_OK;
    rgm_graph *graph = NULL, *fitting = NULL, *asked = NULL;

    (void)call;
    RGM_GO(graph_of(&graph, example, self));
    RGM_GO(rgmi_new_graph_fit(&fitting, self, graph));
    RGM_GO(rgmi_new_graph_ask(&asked, self, fitting));
    RGM_GO(rgm_element_create_pointer(out, &rgm_graph_element, asked));
    asked = NULL;
done:
    rgm_graph_release(graph);
    rgm_graph_release(fitting);
    rgm_graph_release(asked);
    return status;
}

/* What the model would refuse, too, is told with the file's name. */
static rgm_status take_batch(rgm_element **out, const rgm_element *batch, const rgm_map_call *call,
                             void *payload)
{
    const rgmi_new_graphs *self = payload;
    const rgm_graph *graph;
    rgm_status status;

    (void)call;
    *out = NULL;
    status = rgmi_pipeline_batch(out, batch, &self->pipeline);
    if (status == RGM_OK) {
        graph = rgm_element_pointer(*out, &rgm_graph_element);
        status = rgm_graph_check_values(self->learning->root, graph);
        if (status == RGM_OK)
            status = rgmi_learning_check_numbers(self->learning, graph);
        if (status == RGM_OK && !self->sampled) /* a node may be in several samples */
            status = rgm_unseen_values_add(self->unseen, graph);
    }
    if (status == RGM_OK)
        return RGM_OK;
    rgm_element_release(*out);
    *out = NULL;
    return rgm_error_prefix(status, "%s", self->path);
}

/* Nodes are known by their place: an embedding of each has only those that were trained with. */
static void tell_embeddings(const rgmi_learning *l, const char *path)
{
    if (l->inputs.entities.size > 0) /* their names are compared */
        return;
    for (int64_t i = 0; i < rgm_schema_set_count(l->schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(l->schema, i);
        int64_t nodes = set->piece == RGM_NODE_SET && rgm_set_feature(set, "#id") == NULL
                            ? rgm_learned_features_nodes(l->learned, set->name)
                            : -1;

        if (nodes >= 0)
            rgm_log_write(RGM_LOG_WARNING,
                          "%s: the model has an embedding of each of the %lld nodes of '%s' that "
                          "it was trained with: node i here is taken for node i there",
                          path, (long long)nodes, set->name);
    }
}

rgm_status rgmi_new_graphs_dataset(rgm_dataset **out, rgmi_learning *l, const rgm_new_data *files)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    rgmi_new_graphs *self;

    *out = NULL;
    rgmi_new_graphs_release(l->new_graphs);
    l->new_graphs = NULL;
    RGM_GO(create(&l->new_graphs, l, files));
    self = l->new_graphs;
    if (rgm_is_new_graphs(files->files))
        RGM_GO(read_graphs(&data, self));
    else
        RGM_GO(read_records(&data, self));
    if (self->items != NULL && !self->alone)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s names items of one graph, but %s is not one graph",
                        self->items, self->path));
    tell_embeddings(l, self->path);
    self->pipeline.together = self->alone;
    if (!self->sampled) {
        RGM_GO(rgm_dataset_map(&data, take_graph, self, NULL, 0));
        RGM_GO(rgmi_pipeline_batches(&data, &self->pipeline, l->batch_size));
    }
    RGM_GO(rgm_dataset_map(&data, take_batch, self, NULL, 0));
    *out = data;
    data = NULL;
done:
    rgm_dataset_release(data);
    return status;
}

/* Samplers number the nodes of what they draw. */
static bool has_samples(const rgm_schema *schema)
{
    for (int64_t i = 0; schema != NULL && i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);

        if (set->piece == RGM_NODE_SET && rgm_set_feature(set, "#id") != NULL)
            return true;
    }
    return false;
}

/* Whose neighbours a state was computed from, where training drew some. */
static rgm_status describe_sampling(rgm_text *out, const rgmi_new_graphs *self)
{
    const rgmi_learning *l = self->learning;

    if (self->sampled && !rgmi_sampling_judges_whole(&l->data->sampling))
        return rgm_text_printf(out, "sampled subgraphs were drawn around what is asked about, as "
                                    "in training\n");
    if (!self->sampled && (!self->alone || !has_samples(l->schema) || has_samples(self->from)))
        return RGM_OK;
    return rgm_text_printf(out, "whole all neighbours of a node were read; training drew some of "
                                "them\n");
}

rgm_status rgmi_new_graphs_describe(rgm_text *out, void *state)
{
    const rgmi_learning *l = state;

    if (l->new_graphs == NULL)
        return RGM_OK;
    RGM_TRY(describe_sampling(out, l->new_graphs));
    if (rgm_unseen_values_count(l->new_graphs->unseen) == 0)
        return RGM_OK;
    RGM_TRY(rgm_text_printf(out, "unseen "));
    RGM_TRY(rgm_unseen_values_describe(out, l->new_graphs->unseen));
    return rgm_text_printf(out, "\n");
}
