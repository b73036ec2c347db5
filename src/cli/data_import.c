/* regimen data import: raw CSV of others to our folders. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/graph.h>

static int64_t part_size(const rgm_tensor *part)
{
    return part != NULL ? rgm_tensor_count(part) : 0;
}

static rgm_status save(const rgm_graph_data *data, const char *to, bool file, int64_t shards,
                       bool gzip)
{
    rgm_graph_data_save_options options = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;

    options.shards = shards;
    options.gzip = gzip;
    if (file)
        RGM_TRY(rgm_graph_data_write(data, to, NULL));
    else
        RGM_TRY(rgm_graph_data_save(data, to, &options));
    say("data", "%s graphs in %s; split %s / %s / %s of %s", grouped(data->graph_count), to,
        grouped(part_size(data->train)), grouped(part_size(data->valid)),
        grouped(part_size(data->test)), data->split_set != NULL ? data->split_set : "graphs");
    return RGM_OK;
}

/* false: there is no such source. */
static bool import_of(rgm_status *status, rgm_graph_data *data, const char *source,
                      const char *path, const rgm_import_options *options)
{
    if (strcmp(source, "ogb") == 0)
        *status = rgm_import_ogb(data, path, options);
    else if (strcmp(source, "csv") == 0)
        *status = rgm_import_csv(data, path, options);
    else if (strcmp(source, "folder") == 0)
        *status = rgm_graph_data_load(data, path, options->split);
    else
        return false;
    return true;
}

int data_import(int argc, char **argv)
{
    const char *to = NULL, *format = "records", *split = NULL, *node_set = NULL, *edge_set = NULL;
    bool directed = false, relabel = false, gzip = false, skip_dangling = false;
    int64_t shards = 1;
    text_list rest, labels = {.count = 0};
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "new folder, or file (required)"},
        {"format", ARG_TEXT, &format, "NAME",
         "records (default): a folder; graph: one file of one graph, sampled from disk"},
        {"split", ARG_TEXT, &split, "NAME", "folder below split/; default: the only one"},
        {"node-set", ARG_TEXT, &node_set, "NAME",
         "ogb: name of a homogeneous graph's nodes; csv: node set of the split's ids"},
        {"edge-set", ARG_TEXT, &edge_set, "NAME", "ogb: name of its edges"},
        {"directed", ARG_FLAG, &directed, NULL, "ogb: do not add the reverse of each edge"},
        {"relabel", ARG_FLAG, &relabel, NULL, "ogb: number the distinct labels 0, 1, ..."},
        {"label", ARG_LIST, &labels, "NAME",
         "csv: a column whose empty cells are missing: -1, of floats NaN; repeat; default: label"},
        {"skip-dangling", ARG_FLAG, &skip_dangling, NULL,
         "leave out edges whose ends are no nodes, and tell how many"},
        {"shards", ARG_INT, &shards, "N", "TFRecord files, default 1"},
        {"gzip", ARG_FLAG, &gzip, NULL, "compress them"},
        {0}};
    const usage how = {
        "data import ogb PATH --to DIR [options] | data import csv SCHEMA.pbtxt --to DIR |\n"
        "       data import folder DIR --to FILE --format graph",
        "ogb: a folder of raw CSV in OGB's layout (homogeneous, graph-level, heterogeneous).\n"
        "csv: node and edge tables that metadata.filename of the schema's sets names\n"
        "(docs/gnn_start.md has one to copy);\n"
        "split/NAME/{train,valid,test}.csv beside the schema list ids.\n"
        "folder: a folder that was made by these, or a graph file.\n"
        "DIR gets schema.pbtxt, TFRecords of tf.train.Example, and the split. With --format graph\n"
        "--to is one file of one graph with its edges sorted by both ends and its split\n"
        "(docs/graph.md), which data.type folder maps instead of reading.",
        arguments, 2, 2};
    rgm_import_options options = RGM_IMPORT_OPTIONS_INIT;
    rgm_graph_data data = {0};
    rgm_status status;
    int code = arguments_read(&rest, &how, argc, argv);

    if (code != EXIT_DONE)
        return code < 0 ? EXIT_DONE : code;
    if (to == NULL)
        return usage_error("--to is missing: the new folder");
    if (strcmp(format, "records") != 0 && strcmp(format, "graph") != 0)
        return usage_error("--format '%s': it is records or graph", format);
    options.split = split;
    options.node_set = node_set;
    options.edge_set = edge_set;
    options.undirected = !directed;
    options.relabel = relabel;
    options.skip_dangling = skip_dangling;
    options.labels = (rgm_texts){labels.items, labels.count};
    if (!import_of(&status, &data, rest.items[0], rest.items[1], &options))
        return usage_error("import '%s': it is ogb, csv or folder", rest.items[0]);
    if (status == RGM_OK)
        status = save(&data, to, strcmp(format, "graph") == 0, shards, gzip);
    code = status == RGM_OK ? EXIT_DONE : report(status);
    rgm_graph_data_clear(&data);
    return code;
}
