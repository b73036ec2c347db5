/*
 * CSV tables named by a schema: one for each set, ids of any text. Rows are read one by one; node
 * ids are numbered in the order of their table, or, where a node set has no table, in the order in
 * which edges name them. Into memory all is read at once; into a graph file in two passes, one that
 * numbers the nodes and one that places features and edges, a block of rows at a time.
 */
#include "import_internal.h"

#include <string.h>

typedef struct table {
    const rgm_set_schema *set;
    rgm_csv_columns *features; /* in the schema's order; NULL: the set has no table */
    int64_t *column;           /* of each feature its place there; -1: no column has it */
    rgm_map *ids;              /* node sets: id to row + 1 */
    int64_t *ends[2];
    int64_t end_rooms[2], rows;
    int64_t held;     /* of the rows, those behind the last block that was written */
    int64_t dangling; /* rows left out: an end is no node */
} table;

typedef struct csv_import {
    const rgm_import_options *options;
    rgm_schema *schema;
    char *folder;
    table *tables; /* by set of the schema */
    int64_t table_count;
    rgm_text key;             /* a terminated copy of the id at hand */
    bool numbers;             /* this pass gives nodes their numbers */
    bool places;              /* it takes features and edges */
    rgm_graph_writer *writer; /* that gets them block by block; NULL: they stay in memory */
} csv_import;

/* A block of rows is written when it has so many, or texts and wide features make it this large. */
enum { BLOCK_ROWS = 65536, BLOCK_BYTES = 16 << 20 };

static void clear(csv_import *self)
{
    for (int64_t i = 0; self->tables && i < self->table_count; i++) {
        table *t = &self->tables[i];
        rgm_csv_columns_release(t->features);
        rgm_free(t->column);
        rgm_map_release(t->ids);
        rgm_free(t->ends[0]);
        rgm_free(t->ends[1]);
    }
    rgm_free(self->tables);
    rgm_free(self->folder);
    rgm_text_clear(&self->key);
    rgm_schema_release(self->schema);
}

static bool is_label(const csv_import *self, const char *feature)
{
    const rgm_texts *labels = &self->options->labels;

    if (self->options->new_data)
        return true;
    for (int64_t i = 0; i < labels->count; i++)
        if (strcmp(labels->items[i], feature) == 0)
            return true;
    return labels->count == 0 && strcmp(feature, "label") == 0;
}

/* The lowest integer stands for a label that is missing, and narrow types have no room for it. */
static bool is_narrow(const rgm_feature_schema *f)
{
    return (f->dtype == RGM_I32 || f->dtype == RGM_I64) &&
           strcmp(f->stored_type, "DT_INT32") != 0 && strcmp(f->stored_type, "DT_INT64") != 0;
}

static rgm_csv_column column_of(const csv_import *self, const rgm_feature_schema *f)
{
    rgm_csv_column column = {.name = f->name, .dtype = f->dtype, .list = f->rank > 0, .width = 1};

    if (self->options->new_data && strcmp(f->name, RGM_ITEM_NAME) == 0)
        column.name = "id";
    column.empty_is_missing = is_label(self, f->name) && !is_narrow(f);
    for (int k = 0; k < f->rank; k++)
        column.width *= f->shape[k];
    return column;
}

/* Whether the table's first file has a column for a feature; without `reader` all have. */
static rgm_status has_column(bool *out, const rgm_csv_reader *reader, const rgm_csv_column *column)
{
    rgm_status status;
    char *name = NULL;
    int64_t at;

    *out = true;
    if (reader == NULL)
        return RGM_OK;
    RGM_TRY(rgm_strprintf(&name, column->list ? "%s.0" : "%s", column->name));
    status = rgm_csv_reader_find(&at, reader, name);
    rgm_free(name);
    *out = status == RGM_OK;
    if (status != RGM_ERR_NOT_FOUND)
        return status;
    rgm_error_reset();
    return RGM_OK;
}

/* The columns of a set's features. */
static rgm_status open_columns(const csv_import *self, table *t, const rgm_csv_reader *reader)
{
    rgm_status status = RGM_OK;
    const rgm_set_schema *set = t->set;
    rgm_csv_column *columns = NULL;
    int64_t count = 0;
    bool there;

    RGM_GO(RGM_NEW(columns, set->feature_count));
    RGM_GO(RGM_NEW(t->column, set->feature_count));
    for (int64_t i = 0; i < set->feature_count; i++) {
        const rgm_feature_schema *f = &set->features[i];

        if (rgm_feature_is_ragged(f))
            RGM_GO(
                RGM_FAIL(RGM_ERR_UNSUPPORTED,
                         "set '%s': feature '%s' has a ragged shape, which CSV tables cannot hold",
                         set->name, f->name));
        columns[count] = column_of(self, f);
        RGM_GO(has_column(&there, reader, &columns[count]));
        t->column[i] = there ? count++ : -1;
    }
    RGM_GO(rgm_csv_columns_create(&t->features, columns, count));
done:
    rgm_free(columns);
    return status;
}

/* NAME@N and patterns, of any kind of file; the caller frees all. */
static rgm_status table_paths(char **pattern, char ***paths, int64_t *count, const csv_import *self,
                              const table *t)
{
    if (t->set->filename[0] == '/')
        RGM_TRY(rgm_strdup(pattern, t->set->filename));
    else
        RGM_TRY(rgm_path_join(pattern, self->folder, t->set->filename));
    return rgm_tfrecord_paths(paths, count, *pattern);
}

/* The first file's header says which features new data have. */
static rgm_status open_new_columns(const csv_import *self, table *t)
{
    rgm_status status = RGM_OK;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    char *pattern = NULL, **paths = NULL;
    int64_t count = 0;

    options.header = true;
    if (t->set->piece == RGM_NODE_SET && rgm_set_feature(t->set, RGM_ITEM_NAME) == NULL)
        RGM_GO(rgm_schema_add_feature(self->schema, RGM_NODE_SET, t->set->name, RGM_ITEM_NAME,
                                      RGM_STRING, 0, NULL));
    RGM_GO(table_paths(&pattern, &paths, &count, self, t));
    RGM_GO(rgm_csv_reader_open(&reader, paths[0], &options));
    RGM_GO(open_columns(self, t, reader));
done:
    rgm_csv_reader_close(reader);
    rgm_names_release(paths, count);
    rgm_free(pattern);
    return status;
}

static rgm_status open_table(const csv_import *self, table *t, const rgm_set_schema *set)
{
    t->set = set;
    if (set->piece == RGM_NODE_SET)
        RGM_TRY(rgm_map_create(&t->ids));
    if (set->filename == NULL)
        return RGM_OK;
    return self->options->new_data ? open_new_columns(self, t) : open_columns(self, t, NULL);
}

/* ---- rows ---- */

/* The row of an id, from 0; -1 if there is none. */
static rgm_status look_up(int64_t *row, csv_import *self, const table *nodes, rgm_str id)
{
    *row = -1;
    if (id.size > 0 && memchr(id.data, '\0', (size_t)id.size) != NULL)
        return RGM_FAIL(RGM_ERR_DATA, "an id has a zero byte: '%.*s\\x00...'",
                        (int)strnlen(id.data, id.size < 64 ? (size_t)id.size : 64), id.data);
    self->key.size = 0;
    RGM_TRY(rgm_text_add(&self->key, id.data, id.size));
    *row = (int64_t)(intptr_t)rgm_map_get(nodes->ids, self->key.data) - 1;
    return RGM_OK;
}

static rgm_status add_id(table *nodes, const char *id, int64_t row)
{
    return rgm_map_set(nodes->ids, id, (void *)(intptr_t)(row + 1));
}

static rgm_status at_line(rgm_status status, const rgm_csv_reader *reader, const char *path)
{
    if (status == RGM_ERR_DATA)
        rgm_error_prefix(status, "%s:%lld", path, (long long)rgm_csv_reader_line(reader));
    return status;
}

/* The feature whose empty cell is why a row could not be read; NULL: it is another mistake. */
static const rgm_feature_schema *empty_feature(const csv_import *self, const table *t,
                                               const rgm_csv_reader *reader, const rgm_str *fields)
{
    for (int64_t i = 0; i < t->set->feature_count; i++) {
        const rgm_feature_schema *f = &t->set->features[i];
        int64_t at;

        if (f->rank == 0 && f->dtype != RGM_STRING && (!is_label(self, f->name) || is_narrow(f)) &&
            rgm_csv_reader_find(&at, reader, f->name) == RGM_OK && fields[at].size == 0)
            return f;
    }
    return NULL;
}

static rgm_status add_features(csv_import *self, table *t, const rgm_csv_reader *reader,
                               const rgm_str *fields)
{
    rgm_status status = rgm_csv_columns_add(t->features, reader);
    const rgm_feature_schema *f;
    rgm_error error;

    if (status != RGM_ERR_FORMAT)
        return status;
    rgm_error_save(&error, status);
    f = empty_feature(self, t, reader, fields);
    if (f == NULL)
        return rgm_error_restore(&error);
    if (is_label(self, f->name))
        return RGM_FAIL(status,
                        "%s; fill it in, or declare label '%s' as DT_INT64: %s has no number to "
                        "say that one is missing",
                        error.message, f->name, f->stored_type);
    return RGM_FAIL(status,
                    "%s; fill it in, or name '%s' among the labels (--label): empty then says that "
                    "it is missing",
                    error.message, f->name);
}

static rgm_status read_id(csv_import *self, table *t, const rgm_csv_reader *reader,
                          const char *path, rgm_str id)
{
    int64_t row;

    if (id.size == 0)
        return RGM_FAIL(RGM_ERR_DATA, "%s:%lld: the id is empty", path,
                        (long long)rgm_csv_reader_line(reader));
    RGM_TRY(at_line(look_up(&row, self, t, id), reader, path));
    if (row >= 0)
        return RGM_FAIL(RGM_ERR_DATA, "%s:%lld: id '%.*s' is also row %lld of node set '%s'", path,
                        (long long)rgm_csv_reader_line(reader), (int)(id.size < 64 ? id.size : 64),
                        id.data, (long long)row, t->set->name);
    return add_id(t, self->key.data, t->rows);
}

/* The end of an edge; an id that a node set without a table does not know yet is a new node. *known
 * becomes false where the row is to be left out. */
static rgm_status read_end(bool *known, csv_import *self, table *t, int end,
                           const rgm_csv_reader *reader, const char *path, rgm_str id)
{
    const char *name = end == RGM_SOURCE ? t->set->source : t->set->target;
    table *nodes = &self->tables[rgm_schema_index(self->schema, RGM_NODE_SET, name)];
    int64_t row;

    RGM_TRY(at_line(look_up(&row, self, nodes, id), reader, path));
    if (row < 0 && nodes->set->filename == NULL && id.size > 0) {
        row = nodes->rows++;
        RGM_TRY(add_id(nodes, self->key.data, row));
    }
    *known = *known && row >= 0;
    if (row < 0 && self->options->skip_dangling)
        return RGM_OK;
    if (row < 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s:%lld: edge set '%s': row %lld: %s '%.*s' is no id of node set '%s'; "
                        "skip_dangling leaves such edges out",
                        path, (long long)rgm_csv_reader_line(reader), t->set->name,
                        (long long)t->rows, end == RGM_SOURCE ? "source" : "target",
                        (int)(id.size < 64 ? id.size : 64), id.data, name);
    if (!self->places)
        return RGM_OK;
    RGM_TRY(RGM_RESERVE(t->ends[end], t->end_rooms[end], t->held + 1));
    t->ends[end][t->held] = row;
    return RGM_OK;
}

/* Feature i of the rows that are held, in the schema's shape. */
static rgm_status feature_tensor(rgm_tensor **out, const table *t, int64_t i)
{
    rgm_status status = RGM_OK;
    const rgm_feature_schema *f = &t->set->features[i];
    int64_t shape[RGM_MAX_RANK] = {t->held};
    rgm_tensor *cells = NULL;

    for (int k = 0; k < f->rank; k++)
        shape[k + 1] = f->shape[k];
    RGM_GO(rgm_csv_columns_take(&cells, t->features, t->column[i]));
    RGM_GO(rgm_tensor_reshape(out, cells, f->rank + 1, shape));
done:
    rgm_tensor_release(cells);
    return status;
}

/* What is held goes into the graph file. */
static rgm_status write_block(const csv_import *self, table *t)
{
    if (t->set->piece == RGM_EDGE_SET && t->held > 0)
        RGM_TRY(rgm_graph_writer_edges(self->writer, t->set->name, t->ends[RGM_SOURCE],
                                       t->ends[RGM_TARGET], t->held));
    for (int64_t i = 0; i < t->set->feature_count; i++) {
        rgm_feature value = {0};
        rgm_status status = feature_tensor(&value.values, t, i);

        if (status == RGM_OK)
            status = rgm_graph_writer_feature(self->writer, t->set->piece, t->set->name,
                                              t->set->features[i].name, &value);
        rgm_feature_clear(&value);
        RGM_TRY(status);
    }
    t->held = 0;
    return RGM_OK;
}

static bool is_full(const table *t)
{
    return t->held == BLOCK_ROWS || rgm_csv_columns_bytes(t->features) >= BLOCK_BYTES;
}

static bool is_reversed(const rgm_set_schema *set)
{
    for (int64_t i = 0; i < set->extra_count; i++)
        if (strcmp(set->extra[i].key, "edge_type") == 0 &&
            strcmp(set->extra[i].value, "reversed") == 0)
            return true;
    return false;
}

/* One row of this pass. */
static rgm_status read_row(csv_import *self, table *t, const rgm_csv_reader *reader,
                           const char *path, const rgm_str *fields, int64_t id,
                           const int64_t ends[2])
{
    bool known = true;

    if (id >= 0 && self->numbers)
        RGM_TRY(read_id(self, t, reader, path, fields[id]));
    for (int end = 0; end < 2 && ends[end] >= 0; end++)
        RGM_TRY(read_end(&known, self, t, end, reader, path, fields[ends[end]]));
    t->rows += known && (id < 0 || self->numbers);
    if (!self->places)
        return RGM_OK;
    if (known)
        RGM_TRY(add_features(self, t, reader, fields));
    t->held += known;
    t->dangling += !known;
    return self->writer != NULL && is_full(t) ? write_block(self, t) : RGM_OK;
}

static rgm_status read_file(csv_import *self, table *t, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_csv_options options = RGM_CSV_OPTIONS_INIT;
    rgm_csv_reader *reader = NULL;
    const rgm_str *fields;
    int64_t count, id = -1, ends[2] = {-1, -1};

    options.header = true;
    RGM_GO(rgm_csv_reader_open(&reader, path, &options));
    if (t->set->piece == RGM_NODE_SET)
        RGM_GO(rgm_csv_reader_find(&id, reader, "id"));
    if (t->set->piece == RGM_EDGE_SET) {
        bool reversed = is_reversed(t->set);
        RGM_GO(rgm_csv_reader_find(&ends[RGM_SOURCE], reader, reversed ? "target" : "source"));
        RGM_GO(rgm_csv_reader_find(&ends[RGM_TARGET], reader, reversed ? "source" : "target"));
    }
    RGM_GO(rgm_csv_columns_find(t->features, reader));
    while ((status = rgm_csv_reader_next(&fields, &count, reader)) == RGM_OK)
        RGM_GO(read_row(self, t, reader, path, fields, id, ends));
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_csv_reader_close(reader);
    return status;
}

static rgm_status read_table(csv_import *self, table *t)
{
    rgm_status status = RGM_OK;
    char *pattern = NULL, **paths = NULL;
    int64_t count = 0;

    if (t->set->filename == NULL)
        return RGM_OK;
    RGM_GO(table_paths(&pattern, &paths, &count, self, t));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(read_file(self, t, paths[i]));
    if (self->places && t->set->piece == RGM_EDGE_SET)
        rgmi_tell_dangling(pattern, t->set->name, t->dangling);
    if (self->places && t->set->piece == RGM_CONTEXT_PIECE && t->rows != 1) {
        status = RGM_FAIL(RGM_ERR_DATA, "%s: the context has one row, this has %lld", pattern,
                          (long long)t->rows);
        goto done;
    }
done:
    rgm_names_release(paths, count);
    rgm_free(pattern);
    return status;
}

/* ---- the graph ---- */

static rgm_status give_edges(rgm_graph_builder *builder, const table *t)
{
    rgm_status status = RGM_OK;
    rgm_tensor *ends[2] = {NULL, NULL};

    for (int end = 0; end < 2; end++) {
        RGM_GO(rgm_tensor_create(&ends[end], RGM_I64, 1, &t->rows));
        if (t->rows > 0)
            memcpy(rgm_tensor_data(ends[end]), t->ends[end], (size_t)t->rows * sizeof(int64_t));
    }
    RGM_GO(rgm_graph_builder_edges(builder, t->set->name, ends[0], ends[1]));
done:
    rgm_tensor_release(ends[0]);
    rgm_tensor_release(ends[1]);
    return status;
}

static rgm_status give_table(rgm_graph_builder *builder, const table *t)
{
    if (t->set->piece != RGM_CONTEXT_PIECE)
        RGM_TRY(rgm_graph_builder_sizes(builder, t->set->piece, t->set->name, &t->rows));
    if (t->set->piece == RGM_EDGE_SET)
        RGM_TRY(give_edges(builder, t));
    for (int64_t i = 0; t->set->filename && i < t->set->feature_count; i++) {
        rgm_feature value = {0};

        if (t->column[i] < 0)
            continue;
        RGM_TRY(feature_tensor(&value.values, t, i));
        RGM_TRY(rgmi_builder_take(builder, t->set->piece, t->set->name, t->set->features[i].name,
                                  &value));
    }
    return RGM_OK;
}

static rgm_status make_graph(rgm_graph_data *out, const csv_import *self)
{
    rgm_status status = RGM_OK;
    rgm_graph_builder *builder = NULL;

    RGM_GO(rgm_graph_builder_create(&builder, self->schema, 1));
    for (int64_t i = 0; i < self->table_count; i++)
        RGM_GO(give_table(builder, &self->tables[i]));
    RGM_GO(RGM_NEW(out->graphs, 1));
    out->graph_count = 1;
    RGM_GO(rgm_graph_builder_finish(&out->graphs[0], builder));
    out->schema = rgm_schema_retain(self->schema);
done:
    rgm_graph_builder_release(builder);
    return status;
}

/* The node set that the split beside the schema speaks of: the one named, or with a folder there,
 * or the only one with a table. NULL: there is no telling. */
static rgm_status find_split_nodes(const table **out, const csv_import *self)
{
    const char *split = self->options->split, *wanted = self->options->node_set;
    int64_t tables = 0;

    *out = NULL;
    for (int64_t i = 0; i < self->table_count; i++) {
        const table *t = &self->tables[i];
        bool has = false;

        if (t->set->piece != RGM_NODE_SET)
            continue;
        if (wanted == NULL)
            RGM_TRY(rgmi_split_speaks_of(&has, self->folder, split, t->set->name));
        if (has || (wanted != NULL && strcmp(wanted, t->set->name) == 0)) {
            *out = t;
            return RGM_OK;
        }
        tables += t->set->filename != NULL;
        if (t->set->filename != NULL)
            *out = t;
    }
    if (tables != 1 || wanted != NULL)
        *out = NULL;
    return RGM_OK;
}

static rgm_status read_split(rgm_graph_data *out, const csv_import *self)
{
    const table *nodes;
    bool has_lists;

    if (self->options->new_data)
        return RGM_OK;
    RGM_TRY(rgmi_split_check(&has_lists, self->folder, self->options->split, self->schema));
    if (!has_lists)
        return RGM_OK;
    RGM_TRY(find_split_nodes(&nodes, self));
    if (nodes == NULL)
        return rgmi_split_is_nobodys(self->folder, self->options->node_set);
    RGM_TRY(rgm_strdup(&out->split_set, nodes->set->name));
    return rgmi_read_split(out, self->folder, self->options->split, nodes->set->name, nodes->rows,
                           nodes->ids);
}

/* The tables that their schema names, opened. */
static rgm_status open_tables(csv_import *self, const char *schema_path)
{
    rgm_status status;
    char *slash;

    if (rgm_path_is_folder(schema_path))
        return RGM_FAIL(RGM_ERR_IO,
                        "the tables' schema: '%s' is a folder; name the schema in it, such as "
                        "%s/schema.pbtxt (regimen init experiment writes one)",
                        schema_path, schema_path);
    status = rgm_schema_load(&self->schema, schema_path);
    if (status != RGM_OK)
        return rgm_error_prefix(status, "the tables' schema");
    RGM_TRY(rgm_strdup(&self->folder, schema_path));
    slash = strrchr(self->folder, '/');
    if (slash)
        slash[slash == self->folder] = 0;
    else
        memcpy(self->folder, ".", strlen(self->folder) > 0 ? 2 : 1);
    RGM_TRY(RGM_NEW(self->tables, rgm_schema_set_count(self->schema)));
    for (int64_t i = 0; i < rgm_schema_set_count(self->schema); i++) {
        self->tables[i].set = rgm_schema_set(self->schema, i);
        self->table_count = i + 1;
        RGM_TRY(open_table(self, &self->tables[i], self->tables[i].set));
    }
    return RGM_OK;
}

static rgm_status import(rgm_graph_data *out, csv_import *self, const char *schema_path)
{
    self->numbers = self->places = true;
    RGM_TRY(open_tables(self, schema_path));
    for (int64_t i = 0; i < self->table_count; i++) /* edges come last and find their nodes */
        RGM_TRY(read_table(self, &self->tables[i]));
    RGM_TRY(make_graph(out, self));
    return read_split(out, self);
}

rgm_status rgm_import_csv(rgm_graph_data *out, const char *schema_path,
                          const rgm_import_options *options)
{
    rgm_import_options defaults = RGM_IMPORT_OPTIONS_INIT;
    csv_import self = {.options = options != NULL ? options : &defaults};
    rgm_status status;

    memset(out, 0, sizeof *out);
    status = import(out, &self, schema_path);
    clear(&self);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* ---- into a graph file ---- */

/* Whether an edge table can name a node that no table has. */
static bool names_nodes(const csv_import *self, const table *t)
{
    const char *ends[2] = {t->set->source, t->set->target};

    for (int end = 0; end < 2 && t->set->piece == RGM_EDGE_SET; end++)
        if (rgm_schema_find(self->schema, RGM_NODE_SET, ends[end])->filename == NULL)
            return true;
    return false;
}

static rgm_status number_nodes(csv_import *self)
{
    self->numbers = true;
    for (int64_t i = 0; i < self->table_count; i++)
        if (self->tables[i].set->piece == RGM_NODE_SET || names_nodes(self, &self->tables[i]))
            RGM_TRY(read_table(self, &self->tables[i]));
    self->numbers = false;
    return RGM_OK;
}

static rgm_status place_rows(csv_import *self)
{
    self->places = true;
    for (int64_t i = 0; i < self->table_count; i++) {
        table *t = &self->tables[i];

        if (t->set->piece == RGM_NODE_SET)
            RGM_TRY(rgm_graph_writer_items(self->writer, t->set->name, t->rows));
        else
            t->rows = 0; /* of edges they are counted again */
    }
    for (int64_t i = 0; i < self->table_count; i++) {
        RGM_TRY(read_table(self, &self->tables[i]));
        if (self->tables[i].set->filename != NULL) /* also where no row is: a feature is there */
            RGM_TRY(write_block(self, &self->tables[i]));
    }
    return RGM_OK;
}

static rgm_status write_split(csv_import *self)
{
    rgm_graph_data data = {0};
    rgm_status status = read_split(&data, self);
    rgm_tensor *const parts[3] = {data.train, data.valid, data.test};

    if (status == RGM_OK && data.split_set != NULL)
        status = rgm_graph_writer_split(self->writer, data.split_set, data.split_name, parts);
    rgm_graph_data_clear(&data);
    return status;
}

rgm_status rgm_import_csv_file(const char *file, const char *schema_path,
                               const rgm_import_options *options,
                               const rgm_graph_writer_options *writer)
{
    rgm_import_options defaults = RGM_IMPORT_OPTIONS_INIT;
    csv_import self = {.options = options != NULL ? options : &defaults};
    rgm_status status = RGM_OK;

    RGM_GO(open_tables(&self, schema_path));
    RGM_GO(number_nodes(&self));
    RGM_GO(rgm_graph_writer_open(&self.writer, file, self.schema, writer));
    RGM_GO(place_rows(&self));
    RGM_GO(write_split(&self));
    RGM_GO(rgm_graph_writer_finish(self.writer));
done:
    rgm_graph_writer_release(self.writer);
    clear(&self);
    return status;
}
