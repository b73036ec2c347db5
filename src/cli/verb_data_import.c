/* regimen data import: raw CSV of others to our folders. */
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/graph_import.h>

static int64_t part_size(const rgm_tensor *part)
{
    return part != NULL ? rgm_tensor_count(part) : 0;
}

static void tell(const rgm_graph_data *data, const char *to)
{
    if (data->train == NULL && data->valid == NULL && data->test == NULL) {
        say("data", "%s graphs in %s; no split", grouped(data->graph_count), to);
        return;
    }
    say("data", "%s graphs in %s; split %s / %s / %s of %s", grouped(data->graph_count), to,
        grouped(part_size(data->train)), grouped(part_size(data->valid)),
        grouped(part_size(data->test)), data->split_set != NULL ? data->split_set : "graphs");
}

/** What is imported, and how. */
typedef struct wanted {
    const char *path; /* of the source */
    rgm_import_options options;
    text_list valid, test; /* files of triples */
} wanted;

static rgm_triples_options triples_of(const wanted *w)
{
    return (rgm_triples_options){.train = {&w->path, 1},
                                 .valid = {w->valid.items, w->valid.count},
                                 .test = {w->test.items, w->test.count},
                                 .node_set = w->options.node_set,
                                 .edge_set = w->options.edge_set};
}

static rgm_status from_ogb(rgm_graph_data *data, const wanted *w)
{
    return rgm_import_ogb(data, w->path, &w->options);
}

static rgm_status from_csv(rgm_graph_data *data, const wanted *w)
{
    return rgm_import_csv(data, w->path, &w->options);
}

static rgm_status file_from_csv(const char *to, const wanted *w)
{
    return rgm_import_csv_file(to, w->path, &w->options, NULL);
}

static rgm_status from_triples(rgm_graph_data *data, const wanted *w)
{
    rgm_triples_options options = triples_of(w);

    return rgm_import_triples(data, &options);
}

static rgm_status file_from_triples(const char *to, const wanted *w)
{
    rgm_triples_options options = triples_of(w);

    return rgm_import_triples_file(to, &options, NULL);
}

static rgm_status from_folder(rgm_graph_data *data, const wanted *w)
{
    return rgm_graph_data_load(data, w->path, w->options.split);
}

/** What may be given with what: sources, then formats. */
enum { OGB = 1, CSV = 2, TRIPLES = 4, FOLDER = 8, ANY_SOURCE = 15, RECORDS = 16, GRAPH = 32 };

typedef struct source {
    const char *name;
    int bit;
    rgm_status (*load)(rgm_graph_data *data, const wanted *w);
    rgm_status (*write)(const char *to, const wanted *w); /* a graph file; NULL: what was loaded */
} source;
static const source sources[] = {{"ogb", OGB, from_ogb, NULL},
                                 {"csv", CSV, from_csv, file_from_csv},
                                 {"triples", TRIPLES, from_triples, file_from_triples},
                                 {"folder", FOLDER, from_folder, NULL}};

typedef struct format {
    const char *name;
    int bit;
} format;
static const format formats[] = {{"records", RECORDS}, {"graph", GRAPH}};

/* Options that not every source and format looks at; the others are for all. */
static const struct {
    const char *option;
    int with; /* at least one of its sources and one of its formats */
} uses[] = {{"split", OGB | CSV | FOLDER | RECORDS | GRAPH},
            {"node-set", OGB | CSV | TRIPLES | RECORDS | GRAPH},
            {"edge-set", OGB | TRIPLES | RECORDS | GRAPH},
            {"directed", OGB | RECORDS | GRAPH},
            {"relabel", OGB | RECORDS | GRAPH},
            {"label", CSV | RECORDS | GRAPH},
            {"skip-dangling", OGB | CSV | RECORDS | GRAPH},
            {"valid", TRIPLES | RECORDS | GRAPH},
            {"test", TRIPLES | RECORDS | GRAPH},
            {"shards", ANY_SOURCE | RECORDS},
            {"gzip", ANY_SOURCE | RECORDS}};

static const source *find_source(const char *name)
{
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++)
        if (strcmp(sources[i].name, name) == 0)
            return &sources[i];
    return NULL;
}

static const format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i].name, name) == 0)
            return &formats[i];
    return NULL;
}

static rgm_status import(const source *from, const wanted *w, const char *to, bool file,
                         const rgm_graph_data_save_options *options)
{
    rgm_graph_data data = {0};
    rgm_status status = RGM_OK;

    if (file && from->write != NULL) {
        RGM_GO(from->write(to, w));
        RGM_GO(rgm_graph_data_open(&data, to));
    } else {
        RGM_GO(from->load(&data, w));
        RGM_GO(file ? rgm_graph_data_write(&data, to, NULL)
                    : rgm_graph_data_save(&data, to, options));
    }
    tell(&data, to);
done:
    rgm_graph_data_clear(&data);
    return status;
}

/* ---- what is given in vain ------------------------------------------------------------------ */

enum { UNSAID = INT32_MIN }; /* a number that was not given */

static bool is_given(const argument *a)
{
    switch (a->kind) {
    case ARG_FLAG:
        return *(const bool *)a->value;
    case ARG_TEXT:
        return *(const char *const *)a->value != NULL;
    case ARG_LIST:
        return ((const text_list *)a->value)->count > 0;
    default:
        return *(const int64_t *)a->value != UNSAID;
    }
}

/* "ogb, csv and folder": the sources of `with`. */
static void name_sources(char text[64], int with)
{
    size_t count = sizeof sources / sizeof *sources, size = 0;
    int left = with & ANY_SOURCE;

    text[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if ((left & sources[i].bit) == 0)
            continue;
        left &= ~sources[i].bit;
        size += (size_t)snprintf(text + size, 64 - size, "%s%s", sources[i].name,
                                 left == 0                  ? ""
                                 : (left & (left - 1)) == 0 ? " and "
                                                            : ", ");
    }
}

static int check_uses(const source *from, const format *to, const argument *arguments)
{
    for (const argument *a = arguments; a->name != NULL; a++)
        for (size_t i = 0; i < sizeof uses / sizeof *uses; i++) {
            char names[64];

            if (strcmp(uses[i].option, a->name) != 0 || !is_given(a))
                continue;
            name_sources(names, uses[i].with);
            if ((uses[i].with & from->bit) == 0)
                return usage_error("import %s: --%s has no effect, it is for %s", from->name,
                                   a->name, names);
            if ((uses[i].with & to->bit) == 0)
                return usage_error("--format %s: --%s has no effect, it is for records", to->name,
                                   a->name);
        }
    return EXIT_DONE;
}

static int check(const source *from, const char *name, const char *to, const char *format_name,
                 const argument *arguments)
{
    const format *as = find_format(format_name);

    if (to == NULL)
        return usage_error("--to is missing: the new folder");
    if (as == NULL)
        return usage_error("--format '%s': it is records or graph", format_name);
    if (from == NULL)
        return usage_error("import '%s': it is ogb, csv, triples or folder", name);
    return check_uses(from, as, arguments);
}

int data_import(int argc, char **argv)
{
    const char *to = NULL, *format_name = "records";
    bool directed = false;
    int64_t shards = UNSAID;
    rgm_graph_data_save_options save = RGM_GRAPH_DATA_SAVE_OPTIONS_INIT;
    wanted w = {.options = RGM_IMPORT_OPTIONS_INIT};
    text_list rest, labels = {.count = 0};
    const argument arguments[] = {
        {"to", ARG_TEXT, &to, "DIR", "new folder, or file (required)"},
        {"format", ARG_TEXT, &format_name, "NAME",
         "records (default): a folder; graph: one file of one graph, sampled from disk"},
        {"split", ARG_TEXT, &w.options.split, "NAME", "ogb, csv, folder: one of several splits"},
        {"node-set", ARG_TEXT, &w.options.node_set, "NAME",
         "ogb, triples: name of the only node set; of several, and csv: that of the split"},
        {"edge-set", ARG_TEXT, &w.options.edge_set, "NAME",
         "ogb, triples: name of the only edge set"},
        {"directed", ARG_FLAG, &directed, NULL, "ogb: do not add the reverse of each edge"},
        {"relabel", ARG_FLAG, &w.options.relabel, NULL,
         "ogb: number the distinct labels 0, 1, ..."},
        {"label", ARG_LIST, &labels, "NAME",
         "csv: a column whose empty cells are labels that are missing; repeat; default: label"},
        {"skip-dangling", ARG_FLAG, &w.options.skip_dangling, NULL,
         "ogb, csv: leave out edges whose ends are no nodes, and tell how many"},
        {"valid", ARG_LIST, &w.valid, "FILE", "triples: files to validate on; repeat"},
        {"test", ARG_LIST, &w.test, "FILE", "triples: files to test on; repeat"},
        {"shards", ARG_INT, &shards, "N", "records: TFRecord files, default 1"},
        {"gzip", ARG_FLAG, &save.gzip, NULL, "records: compress them"},
        {0}};
    const usage how = {
        "data import ogb PATH --to DIR [options] | data import csv SCHEMA.pbtxt --to DIR |\n"
        "       data import triples TRAIN [--valid FILE] [--test FILE] --to DIR |\n"
        "       data import folder DIR --to FILE --format graph",
        "ogb: a folder of raw CSV in OGB's layout (homogeneous, graph-level, heterogeneous).\n"
        "csv: node and edge tables that metadata.filename of the schema's sets names\n"
        "(docs/graph_tasks_start.md has one to copy);\n"
        "split/NAME/{train,valid,test}.csv beside the schema list ids.\n"
        "triples: lines head<TAB>relation<TAB>tail; edges have features relation and part.\n"
        "folder: a folder that was made by these, or a graph file.\n"
        "DIR gets schema.pbtxt, TFRecords of tf.train.Example, and the split. With --format graph\n"
        "--to is one file of one graph with its edges sorted by both ends and its split\n"
        "(docs/graph.md), which data.type folder maps instead of reading; csv and triples may\n"
        "then be larger than memory.",
        arguments, 2, 2};
    const source *from;
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    from = find_source(rest.items[0]);
    code = check(from, rest.items[0], to, format_name, arguments);
    if (code != EXIT_DONE)
        return code;
    save.shards = shards != UNSAID ? shards : save.shards;
    w.path = rest.items[1];
    w.options.undirected = !directed;
    w.options.labels = (rgm_texts){labels.items, labels.count};
    status = import(from, &w, to, strcmp(format_name, "graph") == 0, &save);
    return report(status);
}
