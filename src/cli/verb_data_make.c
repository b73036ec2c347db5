/* regimen data sample, generate: new data folders from old ones, or from nothing but a seed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

#include <regimen/graph_import.h>
#include <regimen/graph_sampling.h>

/* ---- sample -------------------------------------------------------------------------------- */

/* "cites:10,<writes:5" to edge sets and sizes; `text` is cut up. */
static rgm_status parse_hops(const char **edge_sets, int64_t *sizes, int64_t *count, char *text)
{
    *count = 0;
    for (char *hop = text; hop != NULL && *hop != '\0';) {
        char *comma = strchr(hop, ','), *colon, *end;

        if (comma != NULL)
            *comma = '\0';
        colon = strrchr(hop, ':');
        if (colon == NULL || *count == 32)
            return RGM_FAIL(RGM_ERR_CONFIG, "--hops: '%s' is not edge_set:size", hop);
        sizes[*count] = strtoll(colon + 1, &end, 10);
        if (end == colon + 1 || *end != '\0' || sizes[*count] < 1)
            return RGM_FAIL(RGM_ERR_CONFIG, "--hops: '%s' is not a size", colon + 1);
        *colon = '\0';
        edge_sets[(*count)++] = hop;
        hop = comma != NULL ? comma + 1 : NULL;
    }
    return RGM_OK;
}

static rgm_status make_spec(rgm_sampling_spec **spec, const rgm_graph_data *data,
                            const char *spec_path, const char *hops, rgm_sample_strategy strategy)
{
    rgm_status status = RGM_OK;
    const char *edge_sets[32];
    int64_t sizes[32], count;
    char *text = NULL;

    if (spec_path != NULL)
        return rgm_sampling_spec_load(spec, spec_path, data->schema);
    if (data->split_set == NULL)
        return RGM_FAIL(
            RGM_ERR_CONFIG,
            "the data have no split of nodes to seed from; give --spec with --seeds all");
    RGM_GO(rgm_strdup(&text, hops));
    RGM_GO(parse_hops(edge_sets, sizes, &count, text));
    RGM_GO(rgm_sampling_spec_create(spec, data->schema, data->split_set, edge_sets, sizes, count,
                                    strategy));
done:
    rgm_free(text);
    return status;
}

/* The node numbers of a file, one a line, of 0 .. total - 1. */
static rgm_status listed_nodes(rgm_tensor **out, const char *path, int64_t total)
{
    rgm_status status = RGM_OK;
    rgm_tensor *rows = NULL;
    int64_t count;

    RGM_GO(rgm_csv_load(&rows, path, RGM_I64, NULL));
    count = rgm_tensor_dim(rows, 0);
    if (count == 0 || rgm_tensor_dim(rows, 1) != 1)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s: %s; --seeds takes one node number a line", path,
                        count == 0 ? "is empty" : "has several columns"));
    for (int64_t i = 0; i < count; i++)
        if (rgm_tensor_i64(rows)[i] < 0 || rgm_tensor_i64(rows)[i] >= total)
            RGM_GO(RGM_FAIL(RGM_ERR_DATA, "%s: %lld is out of range, there are %lld nodes", path,
                            (long long)rgm_tensor_i64(rows)[i], (long long)total));
    RGM_GO(rgm_tensor_reshape(out, rows, 1, &count));
done:
    rgm_tensor_release(rows);
    return status;
}

/* The seeds in one part: every node of the set, or those of a file. */
static rgm_status chosen_nodes(rgm_sample_part *part, rgm_tensor **nodes, const char *seeds,
                               const rgm_graph_data *data, const char *set)
{
    int64_t total = rgm_graph_total(data->graphs[0], RGM_NODE_SET, set);
    bool all = strcmp(seeds, "all") == 0;

    RGM_TRY(all ? rgm_tensor_arange(nodes, total) : listed_nodes(nodes, seeds, total));
    *part = (rgm_sample_part){all ? "all" : "seeds", *nodes};
    return RGM_OK;
}

typedef struct sample_arguments {
    const char *to, *spec, *hops, *strategy, *label, *seeds, *time, *seed_time, *shard;
    int64_t seed, threads, shards;
    bool gzip;
} sample_arguments;

static rgm_status strategy_of(rgm_sample_strategy *strategy, const char *name)
{
    static const char *const names[] = {"top_k", "uniform", "weighted", "latest_k"};

    for (int i = 0; i < 4; i++)
        if (strcmp(name, names[i]) == 0) {
            *strategy = (rgm_sample_strategy)i;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_CONFIG, "--strategy '%s' is none of uniform, weighted, top_k, latest_k",
                    name);
}

/* The split's parts, or the chosen nodes of the seed set as one. */
static rgm_status seed_parts(rgm_sample_part parts[3], int64_t *count, rgm_tensor **all,
                             const rgm_graph_data *data, const char *seed_set, const char *seeds)
{
    rgm_tensor *split[3] = {data->train, data->valid, data->test};

    *count = 0;
    if (strcmp(seeds, "split") != 0) {
        *count = 1;
        return chosen_nodes(&parts[0], all, seeds, data, seed_set);
    }
    if (data->split_set == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the data have no split of nodes to seed from; --seeds all takes every "
                        "node of '%s'",
                        seed_set);
    if (strcmp(data->split_set, seed_set) != 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "the data's split is of '%s', but the sampling spec begins with '%s'; "
                        "--seeds all takes every node of that",
                        data->split_set, seed_set);
    for (int i = 0; i < 3; i++)
        if (split[i] != NULL)
            parts[(*count)++] = (rgm_sample_part){rgm_mode_name((rgm_mode)i), split[i]};
    return RGM_OK;
}

/* Times are looked at to rank edges, or to hold them against the seed's. */
static rgm_status check_time(const rgm_sampling_spec *spec, const char *time)
{
    bool read = time == NULL || spec->seed_time != NULL;

    for (int64_t i = 0; i < spec->op_count; i++)
        read = read || spec->ops[i].strategy == RGM_SAMPLE_LATEST_K;
    return read ? RGM_OK
                : RGM_FAIL(RGM_ERR_CONFIG,
                           "--time '%s' has no effect: edges are ranked by it with --strategy "
                           "latest_k, and held against the seed's with --seed-time",
                           time);
}

/* "2/4": the second of four processes. */
static rgm_status share_of(rgm_sampler_save_options *options, const char *text)
{
    char *end, *last;

    if (text == NULL)
        return RGM_OK;
    options->share = strtoll(text, &end, 10) - 1;
    options->shares = *end == '/' ? strtoll(end + 1, &last, 10) : 0;
    if (options->shares < 1 || *last != '\0' || options->share < 0 ||
        options->share >= options->shares)
        return RGM_FAIL(RGM_ERR_CONFIG, "--shard '%s' is not I/N with I from 1 to N", text);
    return RGM_OK;
}

static rgm_status sample_data(const rgm_graph_data *data, const sample_arguments *a)
{
    rgm_status status = RGM_OK;
    rgm_sampling_spec *spec = NULL;
    rgm_sampler *sampler = NULL;
    rgm_tensor *all = NULL;
    rgm_sample_strategy strategy;
    rgm_sampler_save_options options = RGM_SAMPLER_SAVE_OPTIONS_INIT;
    rgm_sample_part parts[3];
    int64_t count = 0, seeds = 0, files;
    double started = rgm_now(), seconds;

    if (data->graph_count != 1)
        RGM_GO(RGM_FAIL(RGM_ERR_DATA, "sampling takes one whole graph, the data have %lld",
                        (long long)data->graph_count));
    RGM_GO(strategy_of(&strategy, a->strategy != NULL ? a->strategy : "uniform"));
    RGM_GO(make_spec(&spec, data, a->spec, a->hops, strategy));
    if (a->time != NULL || a->seed_time != NULL)
        RGM_GO(rgm_sampling_spec_set_time(spec, a->time, a->seed_time, spec->up_to_seed, NULL, 0));
    RGM_GO(check_time(spec, a->time));
    RGM_GO(rgm_sampler_create(&sampler, data->graphs[0], spec, (uint64_t)a->seed));
    RGM_GO(seed_parts(parts, &count, &all, data, spec->seed_node_set, a->seeds));
    for (int64_t i = 0; i < count; i++)
        seeds += rgm_tensor_count(parts[i].nodes);
    options.run.label = a->label;
    options.run.threads = (int)a->threads;
    options.shards = a->shards;
    options.gzip = a->gzip;
    RGM_GO(share_of(&options, a->shard));
    RGM_GO(rgm_sampler_save(sampler, parts, count, a->to, &options));
    files = a->shards * count;
    if (!rgm_path_exists(a->to)) {
        say("data", "share %s of %lld files is below %s.sampling; %s appears with the last one",
            a->shard, (long long)files, a->to, a->to);
        goto done;
    }
    seconds = rgm_now() - started;
    say("data", "%s subgraphs in %s, %s seeds/s", grouped(seeds), a->to,
        grouped((int64_t)((double)seeds / (seconds > 0 ? seconds : 1))));
done:
    rgm_tensor_release(all);
    rgm_sampler_release(sampler);
    rgm_sampling_spec_release(spec);
    return status;
}

int data_sample(int argc, char **argv)
{
    sample_arguments a = {.seeds = "split", .seed = 1, .shards = 1};
    text_list rest;
    const argument arguments[] = {
        {"to", ARG_TEXT, &a.to, "DIR", "new folder (required)"},
        {"spec", ARG_TEXT, &a.spec, "FILE", "sampling spec in proto text, or"},
        {"hops", ARG_TEXT, &a.hops, "LIST",
         "e.g. '<cites:10,<cites:5' from the split's node set; '<' follows edges from their "
         "target, "
         "where a model hears them unless model.receiver is source"},
        {"strategy", ARG_TEXT, &a.strategy, "NAME",
         "of --hops: uniform (default), weighted, top_k, latest_k"},
        {"time", ARG_TEXT, &a.time, "NAME", "edge feature that says when, default time"},
        {"seed-time", ARG_TEXT, &a.seed_time, "NAME",
         "feature of the seeds: no edge that is not earlier is taken"},
        {"seeds", ARG_TEXT, &a.seeds, "WHICH",
         "split (default): its parts; all: every node; or a file of node numbers"},
        {"label", ARG_TEXT, &a.label, "NAME", "feature of the seed moved to _readout"},
        {"seed", ARG_INT, &a.seed, "N", "of the draws, default 1"},
        {"threads", ARG_INT, &a.threads, "N", "default: all; changes no byte"},
        {"shards", ARG_INT, &a.shards, "N", "files of each part, default 1; a kill costs one"},
        {"shard", ARG_TEXT, &a.shard, "I/N", "be process I of N: every Nth file, from the Ith"},
        {"gzip", ARG_FLAG, &a.gzip, NULL, "compress them"},
        {0}};
    const usage how = {
        "data sample DIR --to DIR (--spec FILE | --hops LIST) [options]",
        "Sample the subgraph around each seed node of a whole graph: one Example each,\n"
        "the seed first, with _readout. Without replacement; the same bytes for any\n"
        "number of threads and processes. Killed, the same command goes on.",
        arguments, 1, 1};
    rgm_graph_data data = {0};
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (a.to == NULL || (a.spec == NULL) == (a.hops == NULL))
        return usage_error("--to and exactly one of --spec and --hops are needed");
    if (a.spec != NULL && a.strategy != NULL)
        return usage_error("--strategy is of --hops; each op of a --spec says its own");
    status = rgm_graph_data_load(&data, rest.items[0], NULL);
    if (status == RGM_OK)
        status = sample_data(&data, &a);
    code = report(status);
    rgm_graph_data_clear(&data);
    return code;
}

/* ---- generate ------------------------------------------------------------------------------ */

static rgm_status random_graphs(const char *schema_path, const char *to, int64_t count,
                                uint64_t seed)
{
    rgm_status status = RGM_OK;
    rgm_graph_data data = {0};
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;

    RGM_GO(rgm_schema_load(&data.schema, schema_path));
    RGM_GO(RGM_NEW(data.graphs, count));
    for (; data.graph_count < count; data.graph_count++)
        RGM_GO(rgm_generate_graph(&data.graphs[data.graph_count], data.schema, seed,
                                  (uint64_t)data.graph_count));
    RGM_GO(rgm_graph_data_save(&data, to, &options));
done:
    rgm_graph_data_clear(&data);
    return status;
}

static rgm_status citation_graph(const rgm_citation_options *citation, const char *to)
{
    rgm_graph_data data = {0};
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    rgm_status status = rgm_generate_citation(&data, citation);

    if (status == RGM_OK)
        status = rgm_graph_data_save(&data, to, &options);
    rgm_graph_data_clear(&data);
    return status;
}

int data_generate(int argc, char **argv)
{
    rgm_citation_options c = RGM_CITATION_OPTIONS_INIT;
    const char *to = NULL, *schema = NULL;
    int64_t count = 1, seed = 1;
    text_list rest;
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "new folder (required)"},
        {"seed", ARG_INT, &seed, "N", "default 1"},
        {"nodes", ARG_INT, &c.nodes, "N", "citation: papers, default 2708"},
        {"edges", ARG_INT, &c.edges, "N", "citation: citations, stored both ways"},
        {"classes", ARG_INT, &c.classes, "N", "citation: planted communities"},
        {"words", ARG_INT, &c.words, "N", "citation: vocabulary"},
        {"words-per-node", ARG_INT, &c.words_per_node, "N", "citation: mean words of a paper"},
        {"dense", ARG_INT, &c.dense, "N", "citation: dense features of that width, no words"},
        {"homophily", ARG_FLOAT, &c.homophily, "X", "citation: share of edges inside a community"},
        {"noise", ARG_FLOAT, &c.noise, "X", "citation: share of words that say nothing"},
        {"train-per-class", ARG_INT, &c.train_per_class, "N", "citation: training labels"},
        {"valid", ARG_INT, &c.valid, "N", "citation: validation nodes"},
        {"test", ARG_INT, &c.test, "N", "citation: test nodes"},
        {"schema", ARG_TEXT, &schema, "FILE", "random: schema.pbtxt"},
        {"count", ARG_INT, &count, "N", "random: graphs, default 1"},
        {0}};
    const usage how = {"data generate citation|random --to DIR [options]",
                       "citation: planted communities, sparse word features, power-law degrees.\n"
                       "random: graphs of a schema with random sizes and values.",
                       arguments, 1, 1};
    rgm_status status;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (to == NULL || seed < 0 || count < 1)
        return usage_error("--to is needed; --seed at least 0, --count at least 1");
    c.seed = seed;
    if (strcmp(rest.items[0], "citation") == 0)
        status = citation_graph(&c, to);
    else if (strcmp(rest.items[0], "random") == 0 && schema != NULL)
        status = random_graphs(schema, to, count, (uint64_t)seed);
    else
        return usage_error("generate citation, or random with --schema");
    if (status != RGM_OK)
        return report(status);
    say("data", "%s", to);
    return EXIT_DONE;
}
