/* regimen data inspect, validate, stats: records read one by one, each decoded and looked at. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

#include <regimen/graph_file.h>

/* What is done with each graph; RGM_END ends the reading. */
typedef rgm_status look(void *payload, rgm_graph *graph, int64_t number);

/* The one graph of a graph file (NULL: not asked), and its schema. */
static rgm_status open_graph_file(rgm_graph **graph, rgm_schema **schema, const char *path)
{
    rgm_graph_data data;

    RGM_TRY(rgm_graph_data_open(&data, path));
    *schema = rgm_schema_retain(data.schema);
    if (graph != NULL)
        *graph = rgm_graph_retain(data.graphs[0]);
    rgm_graph_data_clear(&data);
    return RGM_OK;
}

/* PATH is a folder with schema.pbtxt and *.tfrecord, or files beside a schema given by --schema. */
static rgm_status open_schema(rgm_schema **out, const char *path, const char *schema)
{
    char *beside = NULL;
    const char *slash = strrchr(path, '/');
    rgm_status status;

    if (schema != NULL)
        return rgm_schema_load(out, schema);
    if (rgm_is_graph_file(path))
        return open_graph_file(NULL, out, path);
    if (!rgm_path_exists(path) && strpbrk(path, "*?[@") == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no data folder or file '%s'", path);
    if (rgm_path_is_folder(path))
        RGM_TRY(rgm_path_join(&beside, path, "schema.pbtxt"));
    else
        RGM_TRY(rgm_strprintf(&beside, "%.*sschema.pbtxt",
                              slash != NULL ? (int)(slash - path + 1) : 0, path));
    status = rgm_schema_load(out, beside);
    rgm_free(beside);
    return status;
}

static rgm_status open_records(rgm_iterator **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_dataset *data = NULL;
    char **paths = NULL;
    int64_t count = 0;

    RGM_GO(rgm_path_is_folder(path) ? rgm_tfrecord_folder(&paths, &count, path, "")
                                    : rgm_tfrecord_paths(&paths, &count, path));
    RGM_GO(rgm_dataset_from_paths(&data, (const char *const *)paths, count));
    RGM_GO(rgm_dataset_read_tfrecords(&data, NULL));
    RGM_GO(rgm_iterator_create(out, data, NULL));
done:
    rgm_names_release(paths, count);
    rgm_dataset_release(data);
    return status;
}

/* All of it is read, so that what is wrong in it is told. */
static rgm_status look_at_file(const char *path, look *visit, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_graph *graph = NULL;

    RGM_GO(open_graph_file(&graph, &schema, path));
    RGM_GO(rgm_graph_read_whole(graph));
    status = visit(payload, graph, 0);
done:
    rgm_graph_release(graph);
    rgm_schema_release(schema);
    return status == RGM_END ? RGM_OK : status;
}

static rgm_status look_at_records(const char *path, rgm_schema *schema, look *visit, void *payload)
{
    rgm_status status = RGM_OK;
    rgm_iterator *records = NULL;
    rgm_element *record = NULL;
    rgm_graph *graph = NULL;

    if (rgm_is_graph_file(path))
        return look_at_file(path, visit, payload);
    RGM_GO(open_records(&records, path));
    for (int64_t i = 0;; i++) {
        int64_t size;
        const void *data;

        RGM_GO(rgm_iterator_next(&record, records));
        data = rgm_element_bytes(record, &size);
        RGM_GO(rgm_graph_decode(&graph, schema, data, size, NULL, rgm_element_origin(record)));
        RGM_GO(visit(payload, graph, i));
        rgm_graph_release(graph);
        rgm_element_release(record);
        graph = NULL;
        record = NULL;
    }
done:
    rgm_graph_release(graph);
    rgm_element_release(record);
    rgm_iterator_release(records);
    return status == RGM_END ? RGM_OK : status;
}

/* ---- inspect ------------------------------------------------------------------------------- */

typedef struct inspection {
    int64_t first, count, items;
} inspection;

static rgm_status inspect(void *payload, rgm_graph *graph, int64_t number)
{
    const inspection *what = payload;
    rgm_text text = {0};
    rgm_status status;

    if (number < what->first)
        return RGM_OK;
    if (number >= what->first + what->count)
        return RGM_END;
    status = rgm_graph_print(&text, graph, what->items);
    if (status == RGM_OK) {
        printf("# record %lld\n", (long long)number);
        if (print_text(text.data) != EXIT_DONE)
            status = RGM_END;
    }
    rgm_text_clear(&text);
    return status;
}

int data_inspect(int argc, char **argv)
{
    const char *schema_path = NULL;
    inspection what = {.first = 0, .count = 1, .items = 8};
    text_list rest;
    const argument arguments[] = {
        {"schema", ARG_TEXT, &schema_path, "FILE",
         "schema.pbtxt; default: the one beside the records"},
        {"skip", ARG_INT, &what.first, "N", "records passed over"},
        {"count", ARG_INT, &what.count, "N", "records printed, default 1"},
        {"items", ARG_INT, &what.items, "N", "items of each set, default 8"},
        {0}};
    const usage how = {"data inspect DIR|FILES [--schema FILE] [--skip N] [--count N] [--items N]",
                       "Print graphs of a data folder or TFRecord files.", arguments, 1, 1};
    rgm_schema *schema = NULL;
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = open_schema(&schema, rest.items[0], schema_path);
    if (status == RGM_OK)
        status = look_at_records(rest.items[0], schema, inspect, &what);
    code = report(status);
    rgm_schema_release(schema);
    return code;
}

/* ---- validate ------------------------------------------------------------------------------ */

typedef struct validation {
    int64_t records;
    text_list allowed; /* features whose numbers may be NaN or infinite */
    bool no_sums;      /* a graph file without checksums of its sections */
    int64_t odd;       /* such numbers elsewhere ... */
    char first[320];   /* ... and where the first is */
} validation;

static const char *const pieces[] = {
    [RGM_CONTEXT_PIECE] = "context", [RGM_NODE_SET] = "nodes", [RGM_EDGE_SET] = "edges"};

/* Every feature of a set that has items; a reader may do without one, a sound record has all. */
static rgm_status check_features(const rgm_graph *graph, const rgm_set_schema *set)
{
    if (set->piece != RGM_CONTEXT_PIECE && rgm_graph_total(graph, set->piece, set->name) == 0)
        return RGM_OK;
    for (int64_t i = 0; i < set->feature_count; i++)
        if (rgm_graph_feature(graph, set->piece, set->name, set->features[i].name) == NULL)
            return RGM_FAIL(RGM_ERR_DATA, "%s%s%s lacks the feature '%s' of the schema",
                            pieces[set->piece], set->name != NULL ? "/" : "",
                            set->name != NULL ? set->name : "", set->features[i].name);
    return RGM_OK;
}

/* The item that value i of a feature is of. */
static int64_t item_of(const rgm_feature *feature, const rgm_feature_schema *schema, int64_t items,
                       int64_t i)
{
    int64_t count = rgm_tensor_count(feature->values), rows = rgm_tensor_dim(feature->values, 0);
    int64_t at = i / (count / rows), item = 0;

    if (schema->rank != 1 || schema->shape[0] >= 0)
        return rows == items ? at : -1; /* of several ragged dims only the row of values is told */
    while (at >= rgm_tensor_i64(feature->row_lengths[1])[item])
        at -= rgm_tensor_i64(feature->row_lengths[1])[item++];
    return item;
}

static bool is_allowed(const validation *v, const rgm_set_schema *set, const char *feature)
{
    size_t name = strlen(set->name);

    for (int64_t i = 0; i < v->allowed.count; i++) {
        const char *text = v->allowed.items[i];
        if (strcmp(text, feature) == 0 ||
            (strncmp(text, set->name, name) == 0 && text[name] == '.' &&
             strcmp(text + name + 1, feature) == 0))
            return true;
    }
    return false;
}

/* NaN and infinite numbers are counted over all records, and the first is kept. */
static void count_odd(validation *v, const rgm_graph *graph, const rgm_set_schema *set,
                      const rgm_feature_schema *schema, int64_t record)
{
    const rgm_feature *feature = rgm_graph_feature(graph, set->piece, set->name, schema->name);

    if (feature == NULL || (schema->dtype != RGM_F32 && schema->dtype != RGM_F64) ||
        is_allowed(v, set, schema->name))
        return;
    for (int64_t i = 0; i < rgm_tensor_count(feature->values); i++) {
        double value = rgm_tensor_at(feature->values, i);
        int64_t item;

        if (isfinite(value) || v->odd++ > 0)
            continue;
        item = item_of(feature, schema, rgm_graph_total(graph, set->piece, set->name), i);
        snprintf(v->first, sizeof v->first,
                 "record %lld: %s%s%.80s: feature '%.80s' of %s %lld is %g", (long long)record,
                 pieces[set->piece], set->piece != RGM_CONTEXT_PIECE ? "/" : "",
                 set->piece != RGM_CONTEXT_PIECE ? set->name : "", schema->name,
                 item < 0 ? "row" : "item",
                 (long long)(item < 0 ? i / (rgm_tensor_count(feature->values) /
                                             rgm_tensor_dim(feature->values, 0))
                                      : item),
                 value);
    }
}

static rgm_status validate(void *payload, rgm_graph *graph, int64_t number)
{
    const rgm_schema *schema = rgm_graph_schema(graph);
    validation *v = payload;
    char prefix[64];
    bool sums;

    RGM_TRY(rgm_graph_check_sums(&sums, graph));
    v->no_sums = rgm_graph_mapped_bytes(graph) > 0 && !sums;
    v->records++;
    for (int64_t i = 0; i < rgm_schema_set_count(schema); i++) {
        const rgm_set_schema *set = rgm_schema_set(schema, i);
        rgm_status status = check_features(graph, set);

        if (status == RGM_OK && set->piece == RGM_NODE_SET &&
            rgm_aux_prefix(set->name, prefix, sizeof prefix) != NULL &&
            strcmp(prefix, RGM_READOUT) == 0)
            status = rgm_graph_check_readout(graph, set->name);
        if (status != RGM_OK)
            return rgm_error_prefix(status, "record %lld", (long long)number);
        for (int64_t k = 0; k < set->feature_count; k++)
            count_odd(v, graph, set, &set->features[k], number);
    }
    return RGM_OK;
}

int data_validate(int argc, char **argv)
{
    const char *schema_path = NULL;
    text_list rest;
    validation v = {.records = 0};
    const argument arguments[] = {{"schema", ARG_TEXT, &schema_path, "FILE",
                                   "schema.pbtxt; default: the one beside the records"},
                                  {"allow-nan", ARG_LIST, &v.allowed, "NAME",
                                   "feature, or SET.FEATURE, that may be NaN or infinite, as "
                                   "labels that are missing; repeat"},
                                  {0}};
    const usage how = {
        "data validate DIR|FILES [--schema FILE] [--allow-nan NAME]...",
        "Check the schema, every record's checksum and encoding (of a graph file that of each\n"
        "section), that it has every feature of the schema, every edge's ends, and the readout's\n"
        "structure. The first mistake is told with its place; so is the first number that is NaN\n"
        "or infinite, with how many there are.",
        arguments, 1, 1};
    rgm_schema *schema = NULL;
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = open_schema(&schema, rest.items[0], schema_path);
    if (status == RGM_OK)
        status = look_at_records(rest.items[0], schema, validate, &v);
    if (status == RGM_OK && v.odd > 0)
        status = RGM_FAIL(RGM_ERR_DATA, "%s; of all records %lld numbers are NaN or infinite%s",
                          v.first, (long long)v.odd, " (--allow-nan NAME where that is meant)");
    if (status == RGM_OK)
        printf("%s records, no mistakes%s\n", grouped(v.records),
               v.no_sums ? "; its sections have no checksums: data import writes them" : "");
    code = status == RGM_OK ? print_text("") : report(status);
    rgm_schema_release(schema);
    return code;
}

/* ---- stats --------------------------------------------------------------------------------- */

static rgm_status count_graph(void *payload, rgm_graph *graph, int64_t number)
{
    (void)number;
    return rgm_stats_add(payload, graph);
}

int data_stats(int argc, char **argv)
{
    const char *schema_path = NULL;
    bool json = false;
    text_list rest;
    const argument arguments[] = {{"schema", ARG_TEXT, &schema_path, "FILE",
                                   "schema.pbtxt; default: the one beside the records"},
                                  {"json", ARG_FLAG, &json, NULL, "as one JSON object"},
                                  {0}};
    const usage how = {"data stats DIR|FILES [--schema FILE] [--json]",
                       "Counts and quantiles of every set and feature over all records.", arguments,
                       1, 1};
    rgm_schema *schema = NULL;
    rgm_stats *stats = NULL;
    rgm_text text = {0};
    rgm_status status;
    int code = EXIT_DONE;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    status = open_schema(&schema, rest.items[0], schema_path);
    if (status == RGM_OK)
        status = rgm_stats_create(&stats, schema);
    if (status == RGM_OK)
        status = look_at_records(rest.items[0], schema, count_graph, stats);
    if (status == RGM_OK)
        status = json ? rgm_stats_print_json(&text, stats) : rgm_stats_print(&text, stats);
    if (status == RGM_OK)
        code = json ? print_exact(text.data) : print_text(text.data);
    else
        code = report(status);
    rgm_text_clear(&text);
    rgm_stats_release(stats);
    rgm_schema_release(schema);
    return code;
}
