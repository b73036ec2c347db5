/*
 * The data section to providers: a whole graph asked about the split's nodes, many graphs, TFRecord
 * files, or subgraphs sampled around the split's nodes (into records below the run folder, or in
 * memory).
 */
#include <string.h>

#include "experiment_internal.h"

/* ---- sources ------------------------------------------------------------------------------- */

static rgm_status load_source(rgm_experiment *e)
{
    const rgmi_graph_data *d = &e->data;

    if (d->type == RGMI_DATA_CITATION) {
        rgm_citation_options options = d->citation;

        options.node_set = d->node_set;
        options.edge_set = d->edge_set;
        return rgm_generate_citation(&e->source, &options);
    }
    if (d->type == RGMI_DATA_FOLDER)
        return rgm_graph_data_load(&e->source, d->path, d->split);
    if (!rgm_path_is_folder(d->path))
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "data.path: there is no folder '%s'; name the data set's folder with --set "
                        "data.path=DIR",
                        d->path);
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;

    options.split = d->split;
    options.undirected = d->undirected;
    options.relabel = d->relabel;
    options.sparse_below = d->sparse_below;
    options.node_set = d->node_set;
    options.edge_set = d->edge_set;
    return rgm_import_ogb(&e->source, d->path, &options);
}

static rgm_tensor *part_nodes(const rgm_graph_data *source, int part)
{
    rgm_tensor *nodes[3] = {source->train, source->valid, source->test};

    return nodes[part];
}

static rgm_status whole_providers(rgm_experiment *e)
{
    for (int i = 0; i < 3; i++) {
        if (part_nodes(&e->source, i) == NULL)
            continue;
        e->providers[i] = rgm_graph_data_provider(&e->source, rgm_mode_name((rgm_mode)i));
        if (e->providers[i] == NULL)
            return rgm_error_prefix(RGM_ERR_DATA, "%s data", rgm_mode_name((rgm_mode)i));
    }
    return RGM_OK;
}

/* ---- records ------------------------------------------------------------------------------- */

static rgm_status records_provider(rgm_provider **out, const rgm_experiment *e, const char *pattern)
{
    rgm_tfrecord_provider_options options = {
        .file_pattern = pattern,
        .shuffle_filenames = e->data.shuffle_filenames,
        .examples_shuffle_size = e->data.shuffle_size,
        .cycle_length = e->data.cycle_length,
        .max_bad_records = e->data.max_bad_records,
    };

    *out = rgm_tfrecord_provider(&options);
    return *out != NULL ? RGM_OK : RGM_ERR_NOMEM;
}

static rgm_status open_records(rgm_experiment *e)
{
    const char *patterns[3] = {e->data.train, e->data.valid, e->data.test};

    RGM_TRY(rgm_schema_load(&e->schema, e->data.schema));
    for (int i = 0; i < 3; i++)
        if (patterns[i] != NULL)
            RGM_TRY(records_provider(&e->providers[i], e, patterns[i]));
    return RGM_OK;
}

/* ---- sampling ------------------------------------------------------------------------------ */

/* The only edge set of a homogeneous graph, walked from a node to those that it hears from. */
static rgm_status default_edge_set(const char **out, const rgm_experiment *e)
{
    const rgm_set_schema *only = NULL;

    for (int64_t i = 0; i < rgm_schema_set_count(e->source.schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(e->source.schema, i);

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

static rgm_status make_spec(rgm_experiment *e)
{
    const rgmi_sampling *s = &e->data.sampling;
    const char *edge_sets[RGMI_MAX_HOPS];

    if (e->source.split_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling needs one graph with a split of its nodes");
    for (int64_t i = 0; i < s->sizes.count; i++) {
        if (s->edge_sets.count > 0)
            edge_sets[i] = s->edge_sets.items[i];
        else
            RGM_TRY(default_edge_set(&edge_sets[i], e));
    }
    return rgm_sampling_spec_create(&e->spec, e->source.schema, e->source.split_set, edge_sets,
                                    s->sizes.items, s->sizes.count,
                                    (rgm_sample_strategy)s->strategy);
}

static const char *label_name(const rgm_experiment *e)
{
    return e->tasks[0].options.label;
}

/* Root-node subgraphs below the run folder, made once; then trained from as records. */
static rgm_status sample_to_records(rgm_experiment *e, const char *run_dir)
{
    rgm_status status = RGM_OK;
    rgm_sampler *sampler = NULL;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_sample_part seeds[3];
    char *folder = NULL, *schema = NULL, *pattern = NULL;
    int64_t count = 0;

    if (run_dir == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.store is records, which are kept in a run folder");
    RGM_GO(rgm_path_join(&folder, run_dir, "samples"));
    RGM_GO(rgm_path_join(&schema, folder, "schema.pbtxt"));
    for (int i = 0; i < 3; i++)
        if (part_nodes(&e->source, i) != NULL)
            seeds[count++] =
                (rgm_sample_part){rgm_mode_name((rgm_mode)i), part_nodes(&e->source, i)};
    if (!rgm_path_exists(schema)) {
        RGM_GO(
            rgm_sampler_create(&sampler, e->source.graphs[0], e->spec, (uint64_t)e->runtime.seed));
        options.run.readout = true;
        options.run.label = label_name(e);
        options.run.threads = (int)e->runtime.threads;
        RGM_GO(rgm_folder_make(run_dir));
        RGM_GO(rgm_sampler_save(sampler, seeds, count, folder, &options));
    }
    RGM_GO(rgm_schema_load(&e->schema, schema));
    for (int i = 0; i < 3; i++) {
        if (part_nodes(&e->source, i) == NULL)
            continue;
        rgm_free(pattern);
        pattern = NULL;
        RGM_GO(rgm_strprintf(&pattern, "%s/%s-*.tfrecord", folder, rgm_mode_name((rgm_mode)i)));
        RGM_GO(records_provider(&e->providers[i], e, pattern));
    }
done:
    rgm_sampler_release(sampler);
    rgm_free(folder);
    rgm_free(schema);
    rgm_free(pattern);
    return status;
}

static rgm_status sample_in_memory(rgm_experiment *e)
{
    rgm_sampling_provider_options options = {
        .spec = e->spec,
        .batch_size = e->data.batch_size,
        .label = label_name(e),
        .shuffle = true,
        .resample = e->data.sampling.resample,
        .seed = (uint64_t)e->runtime.seed,
        .threads = e->runtime.threads > 0 ? (int)e->runtime.threads : 2,
    };

    for (int i = 0; i < 3; i++) {
        if (part_nodes(&e->source, i) == NULL)
            continue;
        e->providers[i] =
            rgm_sampling_provider(e->source.graphs[0], part_nodes(&e->source, i), &options);
        if (e->providers[i] == NULL)
            return rgm_error_prefix(RGM_ERR_DATA, "%s data", rgm_mode_name((rgm_mode)i));
    }
    return RGM_OK;
}

rgm_status rgmi_graph_data_open(rgm_experiment *e, const char *run_dir)
{
    if (e->data.type == RGMI_DATA_RECORDS)
        return open_records(e);
    RGM_TRY(load_source(e));
    if (e->source.train == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "%s: the data have no training part", e->path);
    if (e->data.sampling.sizes.count == 0)
        return whole_providers(e);
    RGM_TRY(make_spec(e));
    return e->data.sampling.store == 0 ? sample_to_records(e, run_dir) : sample_in_memory(e);
}
