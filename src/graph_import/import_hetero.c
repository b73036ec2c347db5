/*
 * OGB folders of several node and edge types: node counts in num-node-dict, relations named by
 * triplets, a folder for each. Node types without features stay latent: only their number is known.
 */
#include "import_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct node_type {
    char *name;
    int64_t count;
    rgmi_raw_feature features, labels;
} node_type;

/* One relation; with a reverse it makes two edge sets. */
typedef struct relation {
    char *source, *name, *target;
    char *edge_set, *reverse_set; /* reverse_set: NULL when not asked for */
    char *path;
    int64_t source_total, target_total;
    rgm_tensor *pairs;
    rgmi_raw_feature features;
} relation;

typedef struct heterogeneous {
    node_type *nodes;
    int64_t node_count;
    rgm_map *types; /* a name to its place in nodes + 1          */
    rgm_map *uses;  /* a relation's name to how many are called so */
    relation *relations;
    int64_t relation_count, relation_room;
} heterogeneous;

static void clear(heterogeneous *raw)
{
    for (int64_t i = 0; raw->nodes && i < raw->node_count; i++) {
        rgm_free(raw->nodes[i].name);
        rgmi_raw_feature_clear(&raw->nodes[i].features);
        rgmi_raw_feature_clear(&raw->nodes[i].labels);
    }
    for (int64_t i = 0; i < raw->relation_count; i++) {
        relation *r = &raw->relations[i];
        rgm_free(r->source);
        rgm_free(r->name);
        rgm_free(r->target);
        rgm_free(r->edge_set);
        rgm_free(r->reverse_set);
        rgm_free(r->path);
        rgm_tensor_release(r->pairs);
        rgmi_raw_feature_clear(&r->features);
    }
    rgm_free(raw->nodes);
    rgm_free(raw->relations);
    rgm_map_release(raw->types);
    rgm_map_release(raw->uses);
}

/* ---- node types ---- */

/* num-node-dict: a line of names, a line of counts. */
static rgm_status read_node_counts(heterogeneous *raw, const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    const rgm_str *fields;
    char *path = NULL;
    int64_t count;

    options.header = true;
    RGM_GO(rgm_map_create(&raw->types));
    RGM_GO(rgmi_raw_require(&path, folder, "num-node-dict"));
    RGM_GO(rgm_csv_reader_open(&reader, path, &options));
    status = rgm_csv_reader_next(&fields, &count, reader);
    if (status == RGM_END)
        status = RGM_FAIL(RGM_ERR_FORMAT, "%s: has names but no counts", path);
    RGM_GO(status);
    RGM_GO(RGM_NEW(raw->nodes, count));
    raw->node_count = count;
    for (int64_t i = 0; i < count; i++) {
        RGM_GO(rgm_strdup(&raw->nodes[i].name, rgm_csv_reader_column(reader, i)));
        if (!rgm_map_has(raw->types, raw->nodes[i].name))
            RGM_GO(rgm_map_set(raw->types, raw->nodes[i].name, (void *)(intptr_t)(i + 1)));
        RGM_GO(rgm_csv_reader_i64(&raw->nodes[i].count, reader, i));
        if (raw->nodes[i].count < 0 || raw->nodes[i].count > INT32_MAX) {
            status = RGM_FAIL(RGM_ERR_DATA, "%s:%lld: node set '%s' has %lld nodes", path,
                              (long long)rgm_csv_reader_line(reader), raw->nodes[i].name,
                              (long long)raw->nodes[i].count);
            goto done;
        }
    }
done:
    rgm_csv_reader_close(reader);
    rgm_free(path);
    return status;
}

static rgm_status read_node_files(node_type *type, const char *raw,
                                  const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    char *features = NULL, *labels = NULL, what[160];

    snprintf(what, sizeof what, "nodes of node set '%s' (num-node-dict)", type->name);
    RGM_GO(rgm_strprintf(&features, "%s/node-feat/%s", raw, type->name));
    RGM_GO(rgm_strprintf(&labels, "%s/node-label/%s", raw, type->name));
    RGM_GO(rgmi_raw_features(&type->features, features, "node-feat",
                             rgmi_sparse_below(options, RGM_NODE_SET, type->name)));
    RGM_GO(rgmi_raw_check_rows(&type->features, type->count, what));
    if (options->new_data)
        goto done;
    RGM_GO(rgmi_raw_labels(&type->labels, labels, "node-label", options->relabel, type->count));
    RGM_GO(rgmi_raw_check_rows(&type->labels, type->count, what));
done:
    rgm_free(features);
    rgm_free(labels);
    return status;
}

/* ---- relations ---- */

static int64_t count_of(const heterogeneous *raw, const char *name)
{
    intptr_t place = (intptr_t)rgm_map_get(raw->types, name);

    return place > 0 ? raw->nodes[place - 1].count : -1;
}

/* One more relation of that name. */
static rgm_status count_use(heterogeneous *raw, const char *name)
{
    return rgm_map_set(raw->uses, name, (void *)((intptr_t)rgm_map_get(raw->uses, name) + 1));
}

static rgm_status read_triplet(heterogeneous *raw, const rgm_str *fields, int64_t count,
                               const char *path, int64_t line)
{
    relation *r;

    if (count != 3)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s:%lld: has %lld fields, a triplet has 3", path,
                        (long long)line, (long long)count);
    RGM_TRY(RGM_RESERVE(raw->relations, raw->relation_room, raw->relation_count + 1));
    r = &raw->relations[raw->relation_count++];
    memset(r, 0, sizeof *r);
    RGM_TRY(rgm_strndup(&r->source, fields[0].data, (size_t)fields[0].size));
    RGM_TRY(rgm_strndup(&r->name, fields[1].data, (size_t)fields[1].size));
    RGM_TRY(rgm_strndup(&r->target, fields[2].data, (size_t)fields[2].size));
    r->source_total = count_of(raw, r->source);
    r->target_total = count_of(raw, r->target);
    if (r->source_total < 0 || r->target_total < 0)
        return RGM_FAIL(RGM_ERR_DATA, "%s:%lld: '%s' is no node set of num-node-dict", path,
                        (long long)line, r->source_total < 0 ? r->source : r->target);
    return count_use(raw, r->name);
}

static rgm_status read_triplets(heterogeneous *raw, const char *folder)
{
    static const char *const names[] = {"triplets", "triplet-list", "triplet-type-list"};
    rgm_status status = RGM_OK;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    const rgm_str *fields;
    char *path = NULL;
    int64_t count;

    options.ragged = true;
    RGM_GO(rgm_map_create(&raw->uses));
    for (int i = 0; i < 3 && path == NULL; i++)
        RGM_GO(rgmi_raw_find(&path, folder, names[i]));
    if (path == NULL)
        RGM_GO(rgmi_raw_require(&path, folder, names[0]));
    RGM_GO(rgm_csv_reader_open(&reader, path, &options));
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK)
        RGM_GO(read_triplet(raw, fields, count, path, rgm_csv_reader_line(reader)));
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_csv_reader_close(reader);
    rgm_free(path);
    return status;
}

/* By the relation alone, where no other triplet has the same. */
static rgm_status name_relation(heterogeneous *raw, relation *r, bool reverse)
{
    if ((intptr_t)rgm_map_get(raw->uses, r->name) == 1) /* alone */
        RGM_TRY(rgm_strdup(&r->edge_set, r->name));
    else
        RGM_TRY(rgm_strprintf(&r->edge_set, "%s___%s___%s", r->source, r->name, r->target));
    if (reverse)
        RGM_TRY(rgm_strprintf(&r->reverse_set, "rev_%s", r->edge_set));
    return RGM_OK;
}

static rgm_status read_relation_files(relation *r, const char *raw,
                                      const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *counts_path = NULL, what[160];
    rgm_tensor *counts = NULL;
    int64_t rows;

    RGM_GO(rgm_strprintf(&folder, "%s/relations/%s___%s___%s", raw, r->source, r->name, r->target));
    RGM_GO(rgmi_raw_require(&r->path, folder, "edge"));
    RGM_GO(rgmi_raw_ints(&r->pairs, r->path, 2));
    rows = rgm_tensor_dim(r->pairs, 0);
    RGM_GO(rgmi_raw_find(&counts_path, folder, "num-edge-list"));
    if (counts_path) {
        RGM_GO(rgmi_raw_ints(&counts, counts_path, 1));
        if (rgm_tensor_count(counts) != 1 || rgm_tensor_i64(counts)[0] != rows) {
            status = RGM_FAIL(RGM_ERR_DATA, "%s has %lld rows, but %s says otherwise", r->path,
                              (long long)rows, counts_path);
            goto done;
        }
    }
    snprintf(what, sizeof what, "edges of edge set '%s'", r->edge_set);
    RGM_GO(rgmi_raw_features(&r->features, folder, "edge-feat",
                             rgmi_sparse_below(options, RGM_EDGE_SET, r->edge_set)));
    RGM_GO(rgmi_raw_check_rows(&r->features, rows, what));
done:
    rgm_tensor_release(counts);
    rgm_free(counts_path);
    rgm_free(folder);
    return status;
}

/* Nodes of types without rows of their own are but numbers in num-node-dict. */
static rgm_status check_nodes(const heterogeneous *raw, const char *folder)
{
    int64_t declared = 0, ends = 0;

    for (int64_t i = 0; i < raw->node_count; i++)
        if (raw->nodes[i].features.path == NULL && raw->nodes[i].labels.path == NULL)
            declared += raw->nodes[i].count;
    for (int64_t i = 0; i < raw->relation_count; i++)
        ends += rgm_tensor_count(raw->relations[i].pairs);
    RGM_TRY(rgm_graph_check_declared(declared, ends * (int64_t)sizeof(int64_t), folder));
    return RGM_OK;
}

/* ---- schema and graph ---- */

static rgm_status make_schema(rgm_schema **out, const heterogeneous *raw)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;

    RGM_GO(rgm_schema_create(&schema));
    for (int64_t i = 0; i < raw->node_count; i++) {
        const node_type *type = &raw->nodes[i];
        RGM_GO(rgm_schema_add_node_set(schema, type->name));
        RGM_GO(rgmi_raw_declare(schema, RGM_NODE_SET, type->name, &type->features));
        RGM_GO(rgmi_raw_declare(schema, RGM_NODE_SET, type->name, &type->labels));
    }
    for (int64_t i = 0; i < raw->relation_count; i++) {
        const relation *r = &raw->relations[i];
        RGM_GO(rgm_schema_add_edge_set(schema, r->edge_set, r->source, r->target));
        RGM_GO(rgmi_raw_declare(schema, RGM_EDGE_SET, r->edge_set, &r->features));
        if (r->reverse_set == NULL)
            continue;
        RGM_GO(rgm_schema_add_edge_set(schema, r->reverse_set, r->target, r->source));
        RGM_GO(rgmi_raw_declare(schema, RGM_EDGE_SET, r->reverse_set, &r->features));
    }
    RGM_GO(rgm_schema_check(schema));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

static rgm_status give_whole(rgm_graph_builder *builder, const char *set,
                             const rgmi_raw_feature *feature)
{
    if (feature->path == NULL)
        return RGM_OK;
    return rgm_graph_builder_feature(builder, RGM_NODE_SET, set, feature->schema.name,
                                     &feature->value);
}

/* The relation's pairs with their columns exchanged. */
static rgm_status exchange(rgm_tensor **out, const rgm_tensor *pairs)
{
    const int64_t *from = rgm_tensor_i64(pairs);
    int64_t *to;

    RGM_TRY(rgm_tensor_create(out, RGM_I64, 2, rgm_tensor_shape(pairs)));
    to = rgm_tensor_i64(*out);
    for (int64_t i = 0; i < rgm_tensor_dim(pairs, 0); i++) {
        to[2 * i] = from[2 * i + 1];
        to[2 * i + 1] = from[2 * i];
    }
    return RGM_OK;
}

static rgm_status give_relation(rgm_graph_builder *builder, const relation *r,
                                const rgm_tensor *pairs, bool reversed,
                                const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_edge_form form = {.path = r->path, .sort = options->sort_edges};
    int64_t dangling = 0;
    rgmi_raw_edges edges = {0};
    rgm_feature ordered;

    form.edge_set = reversed ? r->reverse_set : r->edge_set;
    form.source_set = reversed ? r->target : r->source;
    form.target_set = reversed ? r->source : r->target;
    form.source_total = reversed ? r->target_total : r->source_total;
    form.target_total = reversed ? r->source_total : r->target_total;
    form.dangling = options->skip_dangling ? &dangling : NULL;
    RGM_GO(rgmi_raw_edges_make(&edges, pairs, 0, rgm_tensor_dim(pairs, 0), &form));
    rgmi_tell_dangling(r->path, form.edge_set, dangling);
    RGM_GO(rgm_graph_builder_sizes(builder, RGM_EDGE_SET, form.edge_set, &edges.count));
    RGM_GO(rgm_graph_builder_edges(builder, form.edge_set, edges.source, edges.target));
    if (r->features.path) {
        RGM_GO(rgm_feature_take(&ordered, &r->features.schema, &r->features.value, edges.rows,
                                edges.count));
        RGM_GO(rgmi_builder_take(builder, RGM_EDGE_SET, form.edge_set, r->features.schema.name,
                                 &ordered));
    }
done:
    rgmi_raw_edges_clear(&edges);
    return status;
}

static rgm_status make_graph(rgm_graph **out, rgm_schema *schema, const heterogeneous *raw,
                             const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    rgm_graph_builder *builder = NULL;
    rgm_tensor *exchanged = NULL;

    RGM_GO(rgm_graph_builder_create(&builder, schema, 1));
    for (int64_t i = 0; i < raw->node_count; i++) {
        const node_type *type = &raw->nodes[i];
        RGM_GO(rgm_graph_builder_sizes(builder, RGM_NODE_SET, type->name, &type->count));
        RGM_GO(give_whole(builder, type->name, &type->features));
        RGM_GO(give_whole(builder, type->name, &type->labels));
    }
    for (int64_t i = 0; i < raw->relation_count; i++) {
        const relation *r = &raw->relations[i];
        RGM_GO(give_relation(builder, r, r->pairs, false, options));
        if (r->reverse_set == NULL)
            continue;
        RGM_GO(exchange(&exchanged, r->pairs));
        RGM_GO(give_relation(builder, r, exchanged, true, options));
        rgm_tensor_release(exchanged);
        exchanged = NULL;
    }
    RGM_GO(rgm_graph_builder_finish(out, builder));
done:
    rgm_tensor_release(exchanged);
    rgm_graph_builder_release(builder);
    return status;
}

/* The node set of the split: the one named, or with a folder there, or the only labelled one. NULL:
 * there is no telling. */
static rgm_status find_split_nodes(const node_type **out, const heterogeneous *raw,
                                   const char *path, const rgm_import_options *options)
{
    const char *wanted = options->node_set;
    int64_t labelled = 0;

    *out = NULL;
    for (int64_t i = 0; i < raw->node_count; i++) {
        const node_type *type = &raw->nodes[i];
        bool has = false;

        if (wanted == NULL)
            RGM_TRY(rgmi_split_speaks_of(&has, path, options->split, type->name));
        if (has || (wanted != NULL && strcmp(wanted, type->name) == 0)) {
            *out = type;
            return RGM_OK;
        }
        labelled += type->labels.path != NULL;
        if (type->labels.path != NULL)
            *out = type;
    }
    if (labelled != 1 || wanted != NULL)
        *out = NULL;
    return RGM_OK;
}

static rgm_status read_split(rgm_graph_data *out, const heterogeneous *raw, const char *path,
                             const rgm_import_options *options)
{
    const node_type *nodes;
    bool has_lists;

    RGM_TRY(rgmi_split_check(&has_lists, path, options->split, out->schema));
    RGM_TRY(find_split_nodes(&nodes, raw, path, options));
    if (nodes == NULL && (has_lists || options->node_set != NULL))
        return rgmi_split_is_nobodys(path, options->node_set);
    if (nodes == NULL)
        return RGM_OK;
    RGM_TRY(rgm_strdup(&out->split_set, nodes->name));
    return rgmi_read_split(out, path, options->split, nodes->name, nodes->count, NULL);
}

rgm_status rgmi_import_heterogeneous(rgm_graph_data *out, const char *path, const char *folder,
                                     const rgm_import_options *options)
{
    rgm_status status = RGM_OK;
    heterogeneous raw = {0};

    RGM_GO(read_node_counts(&raw, folder));
    for (int64_t i = 0; i < raw.node_count; i++)
        RGM_GO(read_node_files(&raw.nodes[i], folder, options));
    RGM_GO(read_triplets(&raw, folder));
    for (int64_t i = 0; i < raw.relation_count; i++) {
        RGM_GO(name_relation(&raw, &raw.relations[i], options->undirected));
        RGM_GO(read_relation_files(&raw.relations[i], folder, options));
    }
    RGM_GO(check_nodes(&raw, folder));
    RGM_GO(make_schema(&out->schema, &raw));
    RGM_GO(RGM_NEW(out->graphs, 1));
    out->graph_count = 1;
    RGM_GO(make_graph(&out->graphs[0], out->schema, &raw, options));
    if (!options->new_data)
        RGM_GO(read_split(out, &raw, path, options));
done:
    clear(&raw);
    return status;
}
