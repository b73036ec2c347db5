/*
 * The data section to providers: a whole graph asked about the split's nodes, many graphs, TFRecord
 * files, or subgraphs sampled around the split's nodes (into records below the run folder, or in
 * memory).
 */
#include "learning.h"
#include "link_split.h"

#include <stdio.h>

/* ---- whole graphs ---------------------------------------------------------------------------- */

static rgm_status import_ogb(rgm_graph_data *data, const rgmi_data_options *d, const char *split)
{
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;

    options.split = split;
    options.undirected = d->undirected;
    options.relabel = d->relabel;
    options.sparse_below = d->sparse_below;
    options.node_set = d->node_set;
    options.edge_set = d->edge_set;
    return rgm_import_ogb(data, d->path, &options);
}

static rgm_status load_split(rgm_graph_data *data, const rgmi_data_options *d, const char *split)
{
    rgm_citation_options citation = d->citation;
    bool folder = d->type == RGMI_DATA_FOLDER;

    if ((folder || d->type == RGMI_DATA_OGB) && !rgm_path_exists(d->path))
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "data.path: there is no folder '%s'; name the data set's folder with --set "
                        "data.path=DIR%s",
                        d->path, folder ? ", or make one by 'regimen data import'" : "");
    if (folder)
        return rgm_graph_data_load(data, d->path, split);
    if (d->type == RGMI_DATA_OGB)
        return import_ogb(data, d, split);
    if (d->type == RGMI_DATA_TRIPLES)
        return rgm_import_triples(
            data, &(rgm_triples_options){d->train, d->valid, d->test, d->node_set, d->edge_set});
    if (d->type == RGMI_DATA_EVENTS)
        return rgm_generate_events(data, &d->events);
    citation.node_set = d->node_set;
    citation.edge_set = d->edge_set;
    return rgm_generate_citation(data, &citation);
}

/* The feature that the asked nodes carry along on their readout; NULL: the first task has none. */
static const char *label_name(const rgm_task_setup *setup)
{
    const rgm_graph_task_type *type = (const rgm_graph_task_type *)setup->parts[0].type;

    return type->label != NULL ? type->label(setup->parts[0].options) : NULL;
}

static rgm_status load_graphs(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    char *split = NULL;

    RGM_GO(rgmi_graph_folds_split(&split, setup));
    RGM_GO(load_split(&in->data, setup->data, split));
    RGM_GO(rgmi_graph_folds_make(in, setup));
done:
    rgm_free(split);
    return status;
}

/* NULL: there is no such part, or nothing in it. */
static rgm_tensor *part_nodes(const rgm_graph_data *data, int part)
{
    rgm_tensor *nodes[3] = {data->train, data->valid, data->test};

    return nodes[part] != NULL && rgm_tensor_count(nodes[part]) > 0 ? nodes[part] : NULL;
}

/* Keys that speak of examples, in data that are one. */
static void tell_of_one_graph(const rgmi_data_options *d)
{
    if (d->batch_size > 1 || d->drop_remainder)
        rgm_log_write(RGM_LOG_WARNING,
                      "data.%s has no effect: the data are one graph, which is trained on as a "
                      "whole; data.sampling cuts mini-batches out of it",
                      d->batch_size > 1 ? "batch_size" : "drop_remainder");
}

/* Folds part what tasks ask about: of one graph that is learned from as a whole nobody asks. */
static void tell_of_equal_folds(const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    if (setup->folds.count == 0 || in->data.graph_count != 1)
        return;
    for (int64_t i = 0; i < setup->part_count; i++)
        if (((const rgm_graph_task_type *)setup->parts[i].type)->label != NULL)
            return;
    rgm_log_write(RGM_LOG_WARNING,
                  "trainer.folds: %s learns from all of the one graph and asks about no part of "
                  "it, so each fold is the same run; runtime.seeds repeats a run",
                  setup->parts[0].type->name);
}

static rgm_status whole_providers(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    tell_of_equal_folds(in, setup);
    if (in->data.split_set != NULL)
        tell_of_one_graph(setup->data);
    for (int i = 0; i < 3; i++) {
        if (part_nodes(&in->data, i) == NULL)
            continue;
        in->providers[i] =
            rgm_graph_data_provider_of(&in->data, rgm_mode_name((rgm_mode)i), label_name(setup));
        if (in->providers[i] == NULL)
            return rgm_error_prefix(RGM_ERR_DATA, "%s data", rgm_mode_name((rgm_mode)i));
    }
    return RGM_OK;
}

/* ---- records ------------------------------------------------------------------------------- */

static rgm_status records_provider(rgm_provider **out, const rgmi_data_options *d,
                                   const rgm_texts *files, const char *key)
{
    rgm_tfrecord_provider_options options = {
        .files = *files,
        .key = key,
        .shuffle_filenames = d->shuffle_filenames,
        .examples_shuffle_size = d->shuffle_size,
        .cycle_length = d->cycle_length,
        .max_bad_records = d->max_bad_records,
    };

    *out = rgm_tfrecord_provider(&options);
    return *out != NULL ? RGM_OK : RGM_ERR_NOMEM;
}

/* "0.7 train, 0.3 news; an epoch is train once": shares of what is drawn. */
static rgm_status tell_mix(rgm_text *out, const rgmi_data_options *d, const double *weights)
{
    double sum = 0;

    for (int64_t i = 0; i <= d->train_sets.count; i++)
        sum += weights[i];
    for (int64_t i = 0; i <= d->train_sets.count; i++)
        RGM_TRY(rgm_text_printf(out, "%s%.3g %s", i > 0 ? ", " : "", weights[i] / sum,
                                i > 0 ? d->train_sets.names[i - 1] : "train"));
    return rgm_text_printf(out, "; an epoch ends with train");
}

/* The provider of data.train becomes one of a mix. */
static rgm_status mix_in(rgmi_graph_inputs *in, const rgmi_data_options *d)
{
    const rgm_train_sets sets = {true, &d->train_sets, &d->weights};
    int64_t count = 1 + d->train_sets.count;
    rgm_provider **sources = NULL, *mix = NULL;
    double *weights = NULL;
    char *key = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_NEW(sources, count));
    RGM_GO(RGM_NEW(weights, count));
    sources[0] = rgm_provider_retain(in->providers[RGM_TRAIN]);
    weights[0] = rgm_train_sets_weight(&sets, "train");
    for (int64_t i = 1; i < count; i++) {
        const char *name = d->train_sets.names[i - 1];

        RGM_GO(rgm_strprintf(&key, "data.train_sets.%s", name));
        RGM_GO(records_provider(&sources[i], d, &d->train_sets.items[i - 1], key));
        rgm_free(key);
        key = NULL;
        weights[i] = rgm_train_sets_weight(&sets, name);
    }
    RGM_GO(tell_mix(&in->mix, d, weights));
    mix = rgm_mix_provider(sources, weights, count);
    if (mix == NULL)
        RGM_GO(RGM_ERR_NOMEM);
    rgm_provider_release(in->providers[RGM_TRAIN]);
    in->providers[RGM_TRAIN] = mix;
done:
    for (int64_t i = 0; sources != NULL && i < count; i++)
        rgm_provider_release(sources[i]);
    rgm_free(sources);
    rgm_free(weights);
    rgm_free(key);
    return status;
}

static rgm_status open_sets(rgmi_graph_inputs *in, const rgmi_data_options *d)
{
    const rgm_file_sets sets = {&d->valid_sets, &d->test_sets};
    rgm_eval_set told[RGM_MAX_EVAL_SETS];
    rgm_status status = RGM_OK;
    char *key = NULL;

    rgm_file_sets_list(told, &in->set_count, &sets);
    for (int64_t i = 0; status == RGM_OK && i < in->set_count; i++) {
        in->sets[i] = (rgm_graph_eval_set){.name = told[i].name, .mode = told[i].mode};
        RGM_TRY(rgm_file_sets_key(&key, &sets, i));
        status = records_provider(&in->sets[i].data, d, rgm_file_sets_files(&sets, i), key);
        rgm_free(key);
    }
    return status;
}

static rgm_status open_records(rgmi_graph_inputs *in, const rgmi_data_options *d)
{
    const rgm_texts *files[3] = {&d->train, &d->valid, &d->test};
    const char *keys[3] = {"data.train", "data.valid", "data.test"};

    RGM_TRY(rgm_schema_load(&in->schema, d->schema));
    for (int i = 0; i < 3; i++)
        if (files[i]->count > 0)
            RGM_TRY(records_provider(&in->providers[i], d, files[i], keys[i]));
    if (d->train_sets.count > 0)
        RGM_TRY(mix_in(in, d));
    return open_sets(in, d);
}

/* ---- sampling ------------------------------------------------------------------------------ */

/* What data.sampling asks for, of each part of the split. */
typedef struct drawing {
    rgm_sampler *sampler;
    rgm_sample_part seeds[3];
    int64_t count;
    rgm_sampler_save_options options;
} drawing;

static rgm_status open_drawing(drawing *d, const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    *d = (drawing){.options = RGM_SAMPLER_SAVE_OPTIONS_INIT};
    for (int i = 0; i < 3; i++)
        if (part_nodes(&in->data, i) != NULL)
            d->seeds[d->count++] =
                (rgm_sample_part){rgm_mode_name((rgm_mode)i), part_nodes(&in->data, i)};
    RGM_TRY(rgm_sampler_create(&d->sampler, in->data.graphs[0], in->spec, setup->seed));
    rgm_sampler_set_once(d->sampler, ((const rgmi_data_options *)setup->data)->sampling.once);
    d->options.run.readout = true;
    d->options.run.label = label_name(setup);
    d->options.run.threads = setup->threads;
    return RGM_OK;
}

static rgm_status write_samples(const rgmi_graph_inputs *in, const char *folder,
                                const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    drawing d;

    RGM_GO(open_drawing(&d, in, setup));
    RGM_GO(rgm_folder_make(setup->run_dir));
    RGM_GO(rgm_sampler_save(d.sampler, d.seeds, d.count, folder, &d.options));
done:
    rgm_sampler_release(d.sampler);
    return status;
}

/* Whether the run's samples are those that the file and --set now ask for, of these data. */
static rgm_status are_asked_for(bool *same, const rgmi_graph_inputs *in, const char *folder,
                                const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    drawing d;

    *same = false;
    RGM_GO(open_drawing(&d, in, setup));
    RGM_GO(rgm_sampler_saved(same, d.sampler, d.seeds, d.count, folder, &d.options));
done:
    rgm_sampler_release(d.sampler);
    return status;
}

static rgm_status sample_in_memory(rgmi_graph_inputs *in, const rgm_task_setup *setup,
                                   int64_t batch_size)
{
    const rgmi_data_options *d = setup->data;
    rgm_sampling_provider_options options = {
        .spec = in->spec,
        .batch_size = batch_size,
        .label = label_name(setup),
        .shuffle = true,
        .drop_remainder = d->drop_remainder,
        .resample = d->sampling.resample,
        .once = d->sampling.once,
        .seed = setup->seed,
        .threads = setup->threads,
    };

    for (int i = 0; i < 3; i++) {
        if (part_nodes(&in->data, i) == NULL)
            continue;
        in->providers[i] =
            rgm_sampling_provider(in->data.graphs[0], part_nodes(&in->data, i), &options);
        if (in->providers[i] == NULL)
            return rgm_error_prefix(RGM_ERR_DATA, "%s data", rgm_mode_name((rgm_mode)i));
    }
    return RGM_OK;
}

static rgm_status read_samples(rgmi_graph_inputs *in, const char *folder,
                               const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    char *path = NULL, prefix[16];

    RGM_GO(rgm_path_join(&path, folder, "schema.pbtxt"));
    RGM_GO(rgm_schema_load(&in->schema, path));
    for (int i = 0; i < 3 && status == RGM_OK; i++) {
        char **files;
        int64_t count;

        if (part_nodes(&in->data, i) == NULL)
            continue;
        snprintf(prefix, sizeof prefix, "%s-", rgm_mode_name((rgm_mode)i));
        RGM_GO(rgm_tfrecord_folder(&files, &count, folder, prefix));
        status = records_provider(&in->providers[i], setup->data,
                                  &(rgm_texts){(const char *const *)files, count}, NULL);
        rgm_names_release(files, count);
    }
done:
    rgm_free(path);
    return status;
}

/* A run that is only looked at, maybe of other data or with other keys than it was trained:
 * subgraphs as its own, one a seed, but of what is asked for now. */
static rgm_status look_elsewhere(rgmi_graph_inputs *in, const char *folder,
                                 const rgm_task_setup *setup)
{
    const char *what = "was drawn from other data, or with other keys of data.sampling";
    bool of_before;

    RGM_TRY(rgm_samples_of_before(&of_before, folder));
    if (!rgm_path_is_folder(folder))
        what = "is not there";
    else if (of_before || !rgm_folder_has(folder, "sampling.txt"))
        what = "was drawn by an earlier version, which did not keep of which data";
    rgm_log_write(
        RGM_LOG_WARNING,
        "%s %s: subgraphs are drawn anew, as data and data.sampling say, and kept nowhere", folder,
        what);
    return sample_in_memory(in, setup, 1);
}

/* What a start that came to nothing has left is of its keys, and of its data. */
static rgm_status drop_others(const rgmi_graph_inputs *in, const char *folder,
                              const rgm_task_setup *setup)
{
    bool same;

    RGM_TRY(are_asked_for(&same, in, folder, setup));
    if (same)
        return RGM_OK;
    rgm_log_write(RGM_LOG_WARNING,
                  "%s was drawn from other data, or with other keys, by a start that saved "
                  "nothing: it is drawn anew",
                  folder);
    return rgm_folder_remove(folder);
}

static rgm_status make_samples(const rgmi_graph_inputs *in, const char *folder,
                               const rgm_task_setup *setup)
{
    if (!setup->begun && rgm_folder_has(folder, "schema.pbtxt"))
        RGM_TRY(drop_others(in, folder, setup));
    return rgm_folder_has(folder, "schema.pbtxt") ? RGM_OK : write_samples(in, folder, setup);
}

/* Root-node subgraphs below the run folder, made once; then trained from as records. */
static rgm_status sample_to_records(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    rgm_status status = RGM_OK;
    bool same = true;
    char *folder = NULL;

    if (setup->run_dir == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling.store is records, which are kept in a run folder");
    RGM_GO(rgm_path_join(&folder, setup->run_dir, "samples"));
    RGM_GO(setup->trained ? are_asked_for(&same, in, folder, setup)
                          : make_samples(in, folder, setup));
    RGM_GO(same ? read_samples(in, folder, setup) : look_elsewhere(in, folder, setup));
done:
    rgm_free(folder);
    return status;
}

/* ---- links ----------------------------------------------------------------------------------- */

static bool is_of_links(const rgm_task_part *part)
{
    return part->type == &rgm_link_prediction.section;
}

/* Links leave the edges that every task would see, so no other task shares the graph. */
static rgm_status check_links(const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;

    if (setup->part_count > 1)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "task '%s' of several is link_prediction: links are predicted alone",
                        setup->parts[0].name);
    if (rgmi_is_sampled(&d->sampling) &&
        (d->sampling.type != RGMI_SAMPLING_TREE || d->sampling.store != RGMI_STORE_MEMORY))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "data.sampling: around links trees of neighbours are drawn anew for each "
                        "step: type tree, store memory");
    if (setup->folds.count > 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "trainer.folds: links are not split into folds; runtime.seeds repeats a "
                        "run");
    if (in->data.graph_count != 1)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "data.path: %lld graphs; links are predicted in one graph",
                        (long long)in->data.graph_count);
    return RGM_OK;
}

/* A name a line. */
static rgm_status list_names(rgm_text *out, const rgm_feature *names)
{
    const rgm_str *texts = rgm_tensor_data(names->values);

    for (int64_t i = 0; i < rgm_tensor_count(names->values); i++) {
        RGM_TRY(rgm_text_add(out, texts[i].data, texts[i].size));
        RGM_TRY(rgm_text_add(out, "\n", 1));
    }
    return RGM_OK;
}

/* Triples say themselves which relation and part each is of. A weight is a name's as long as the
 * names stay in their order, so a run keeps them. */
static rgm_status open_triples(rgmi_graph_inputs *in, rgm_link_options *options)
{
    const rgm_graph *graph = in->data.graphs[0];
    const char *set = rgm_schema_set(in->data.schema, 1)->name;

    options->relation = "relation";
    options->split = "part";
    RGM_TRY(list_names(&in->entities, rgm_graph_feature(graph, RGM_NODE_SET, set, "name")));
    return list_names(&in->relations,
                      rgm_graph_feature(graph, RGM_CONTEXT_PIECE, NULL, RGM_RELATION_NAMES));
}

/* Of the nodes at the first link set's source, which are at all ends where links are sampled. */
static rgm_status sample_links(rgmi_graph_inputs *in, rgm_link_split *split,
                               const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;
    rgm_link_sampling options = {
        .once = d->sampling.once, .resample = d->sampling.resample, .seed = setup->seed};

    RGM_TRY(rgmi_sampling_spec(in, d, rgmi_link_source(split)));
    options.spec = in->spec;
    return rgm_link_split_sample(split, &options);
}

static rgm_status link_providers(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;
    rgm_link_options options = d->links;
    rgm_link_split *split = NULL;
    rgm_status status = RGM_OK;

    RGM_TRY(check_links(in, setup));
    options.threads = setup->threads;
    if (d->type == RGMI_DATA_TRIPLES)
        RGM_GO(open_triples(in, &options));
    RGM_GO(rgm_link_split_create(&split, in->data.graphs[0], &options));
    if (rgmi_is_sampled(&d->sampling))
        RGM_GO(sample_links(in, split, setup));
    for (int i = 0; i < 3; i++) {
        if (rgm_link_split_count(split, (rgm_mode)i) == 0)
            continue;
        in->providers[i] = rgm_link_provider(split, (rgm_mode)i);
        if (in->providers[i] == NULL)
            RGM_GO(rgm_error_prefix(RGM_ERR_DATA, "%s data", rgm_mode_name((rgm_mode)i)));
    }
done:
    rgm_link_split_release(split);
    return status;
}

/* ---- edges --------------------------------------------------------------------------------- */

static rgm_status edges_of_one(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;

    if (rgmi_is_sampled(&d->sampling))
        return RGM_FAIL(RGM_ERR_CONFIG, "data.sampling is around nodes, but data.edge_split asks "
                                        "about edges of the whole graph");
    tell_of_one_graph(d);
    return rgmi_edge_providers(in, setup);
}

/* Labels of edges are no node's: every part of a split of nodes would have all of them. */
static rgm_status check_parted(const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgm_graph_task_type *type = (const rgm_graph_task_type *)setup->parts[0].type;

    if (type->edge_set == NULL || in->data.graph_count != 1 ||
        (in->data.split_set == NULL && in->data.train != NULL))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "data.edge_split: say which edges are judged on, valid: 0.1 and test: 0.1, or "
                    "feature; the data are one graph%s",
                    in->data.split_set != NULL ? " with a split of nodes" : "");
}

/* Seeds with times have a component each, and so a list of one. */
static rgm_status check_lists(const rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    for (int64_t i = 0; i < setup->part_count && in->spec->seed_time != NULL; i++)
        if (((const rgm_graph_task_type *)setup->parts[i].type)->ranks)
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "data.sampling: seeds have the time '%s', so that each would be alone "
                            "in a component, and %s learns the order of a component's nodes",
                            in->spec->seed_time, setup->parts[i].type->name);
    return RGM_OK;
}

static rgm_status open_providers(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    const rgmi_data_options *d = setup->data;

    if (d->type == RGMI_DATA_RECORDS)
        return open_records(in, d);
    if (d->type == RGMI_DATA_PARTS)
        return rgmi_parts_open(in, setup, label_name(setup));
    RGM_TRY(load_graphs(in, setup));
    for (int64_t i = 0; i < setup->part_count; i++)
        if (is_of_links(&setup->parts[i]))
            return link_providers(in, setup);
    if (rgmi_splits_edges(&d->edge_split))
        return edges_of_one(in, setup);
    RGM_TRY(check_parted(in, setup));
    if (part_nodes(&in->data, RGM_TRAIN) == NULL)
        return RGM_FAIL(RGM_ERR_DATA, "%s",
                        in->data.train == NULL
                            ? "the data have no training part: list it in split/NAME/train.csv "
                              "beside what is imported, or let trainer.folds make parts"
                            : "the data's training part is empty");
    if (!rgmi_is_sampled(&d->sampling))
        return whole_providers(in, setup);
    if (d->sampling.type != RGMI_SAMPLING_TREE)
        return rgmi_samplers_open(in, setup, label_name(setup));
    RGM_TRY(rgmi_sampling_spec(in, d, in->data.split_set));
    RGM_TRY(check_lists(in, setup));
    return d->sampling.store == RGMI_STORE_RECORDS && !setup->dry
               ? sample_to_records(in, setup)
               : sample_in_memory(in, setup, d->batch_size);
}

rgm_status rgmi_graph_inputs_open(rgmi_graph_inputs *in, const rgm_task_setup *setup)
{
    RGM_TRY(open_providers(in, setup));
    return ((const rgmi_data_options *)setup->data)->balance == RGMI_BALANCE_CLASSES
               ? rgmi_graph_inputs_balance(in, setup)
               : RGM_OK;
}

void rgmi_graph_inputs_clear(rgmi_graph_inputs *in)
{
    for (int i = 0; i < 3; i++)
        rgm_provider_release(in->providers[i]);
    for (int64_t i = 0; i < in->set_count; i++)
        rgm_provider_release(in->sets[i].data);
    rgm_graph_data_clear(&in->data);
    rgmi_parts_close(in);
    rgm_schema_release(in->schema);
    rgm_sampling_spec_release(in->spec);
    rgm_free(in->edge_parts);
    rgm_text_clear(&in->entities);
    rgm_text_clear(&in->relations);
    rgm_text_clear(&in->mix);
    rgm_text_clear(&in->folds);
    rgm_text_clear(&in->balance);
    *in = (rgmi_graph_inputs){0};
}
