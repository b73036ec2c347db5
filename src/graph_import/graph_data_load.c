/*
 * Reading a folder of schema.pbtxt and TFRecord files. Files "graphs-*" are the shards of one list;
 * "train-*", "valid-*" and "test-*", as the sampler writes them, are three lists and a split of
 * them; files of other names are the shards of one list, too.
 */
#include "import_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct loading {
    rgm_graph_data *out;
    int64_t room;
} loading;

static rgm_status add_graph(loading *self, const uint8_t *data, int64_t size, const char *place)
{
    rgm_graph_data *out = self->out;

    RGM_TRY(RGM_RESERVE(out->graphs, self->room, out->graph_count + 1));
    RGM_TRY(rgm_graph_decode(&out->graphs[out->graph_count], out->schema, data, size, "", place));
    out->graph_count++;
    return RGM_OK;
}

/* The next record of a file; RGM_END. */
static rgm_status read_record(loading *self, rgm_tfrecord_reader *reader, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_text place = {0};
    const uint8_t *data;
    int64_t size, record = rgm_tfrecord_reader_record(reader);

    RGM_GO(rgm_tfrecord_reader_next(&data, &size, reader));
    RGM_GO(rgm_text_printf(&place, "%s: record %lld", path, (long long)record));
    RGM_GO(add_graph(self, data, size, place.data));
done:
    rgm_text_clear(&place);
    return status;
}

/* All records of a file, from the reader's place on. */
static rgm_status read_shard(loading *self, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_reader *reader = NULL;

    RGM_GO(rgm_tfrecord_reader_open(&reader, path, NULL));
    while ((status = read_record(self, reader, path)) == RGM_OK)
        ;
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgm_tfrecord_reader_close(reader);
    return status;
}

/* One record of every shard in turn, as they were written once. */
static rgm_status read_in_turns(loading *self, char *const *paths, int64_t count)
{
    rgm_status status = RGM_OK;
    rgm_tfrecord_reader **readers = NULL;
    int64_t open = count;

    RGM_GO(RGM_NEW(readers, count));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgm_tfrecord_reader_open(&readers[i], paths[i], NULL));
    while (open > 0) {
        for (int64_t i = 0; i < count; i++) {
            if (readers[i] == NULL)
                continue;
            status = read_record(self, readers[i], paths[i]);
            if (status == RGM_END) {
                status = RGM_OK;
                rgm_tfrecord_reader_close(readers[i]);
                readers[i] = NULL;
                open--;
            }
            RGM_GO(status);
        }
    }
done:
    for (int64_t i = 0; readers && i < count; i++)
        rgm_tfrecord_reader_close(readers[i]);
    rgm_free(readers);
    return status;
}

/* In the order in which they were written. */
static rgm_status read_shards(loading *self, const char *folder, char *const *paths, int64_t count)
{
    if (!rgm_folder_has(folder, RGM_SHARDS_FILE))
        return read_in_turns(self, paths, count);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(read_shard(self, paths[i]));
    return RGM_OK;
}

/* Files FOLDER/<prefix>*.tfrecord, or .tfrecord.gz; none is no error. *added is how many graphs
 * they held. */
static rgm_status read_files(loading *self, int64_t *added, const char *folder, const char *prefix)
{
    rgm_status status = RGM_OK;
    char **paths;
    int64_t count, before = self->out->graph_count;

    status = rgm_tfrecord_folder(&paths, &count, folder, prefix);
    if (status == RGM_ERR_NOT_FOUND) {
        rgm_error_reset();
        status = RGM_OK;
        goto done;
    }
    RGM_GO(status);
    RGM_GO(read_shards(self, folder, paths, count));
done:
    *added = status == RGM_OK ? self->out->graph_count - before : 0;
    rgm_names_release(paths, count);
    return status;
}

/* Numbers begin .. begin + count - 1. */
static rgm_status number_range(rgm_tensor **out, int64_t begin, int64_t count)
{
    RGM_TRY(rgm_tensor_create(out, RGM_I64, 1, &count));
    for (int64_t i = 0; i < count; i++)
        rgm_tensor_i64(*out)[i] = begin + i;
    return RGM_OK;
}

static rgm_status read_parts(loading *self, const char *folder)
{
    static const char *const prefixes[] = {"train-", "valid-", "test-"};
    rgm_graph_data *out = self->out;
    rgm_tensor **parts[] = {&out->train, &out->valid, &out->test};
    int64_t begin, added;

    for (int i = 0; i < 3; i++) {
        begin = out->graph_count;
        RGM_TRY(read_files(self, &added, folder, prefixes[i]));
        if (added > 0)
            RGM_TRY(number_range(parts[i], begin, added));
    }
    return RGM_OK;
}

/* The node set that a folder split/<split>/ speaks of, or NULL: it speaks of graphs. */
static rgm_status find_split_set(const char **set, const rgm_graph_data *data, const char *folder,
                                 const char *split)
{
    *set = NULL;
    for (int64_t i = 0; i < rgm_schema_set_count(data->schema); i++) {
        const rgm_set_schema *schema = rgm_schema_set(data->schema, i);
        bool has = false;
        if (schema->piece == RGM_NODE_SET)
            RGM_TRY(rgmi_split_speaks_of(&has, folder, split, schema->name));
        if (has) {
            *set = schema->name;
            return RGM_OK;
        }
    }
    return RGM_OK;
}

static rgm_status read_split_lists(rgm_graph_data *out, const char *folder, const char *split)
{
    const char *set;
    bool has_lists;

    RGM_TRY(rgmi_split_check(&has_lists, folder, split, out->schema));
    RGM_TRY(find_split_set(&set, out, folder, split));
    if (set == NULL)
        return rgmi_read_split(out, folder, split, NULL, out->graph_count, NULL);
    if (out->graph_count != 1)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: the split is of nodes of '%s', but there are %lld graphs", folder, set,
                        (long long)out->graph_count);
    RGM_TRY(rgm_strdup(&out->split_set, set));
    return rgmi_read_split(out, folder, split, set,
                           rgm_graph_total(out->graphs[0], RGM_NODE_SET, set), NULL);
}

static rgm_status load(rgm_graph_data *out, const char *folder, const char *split, bool splits)
{
    rgm_status status = RGM_OK;
    loading self = {.out = out};
    char *schema = NULL;
    int64_t added;

    RGM_GO(rgm_path_join(&schema, folder, "schema.pbtxt"));
    RGM_GO(rgm_schema_load(&out->schema, schema));
    RGM_GO(read_files(&self, &added, folder, "graphs-"));
    if (added > 0) {
        if (splits)
            RGM_GO(read_split_lists(out, folder, split));
        goto done;
    }
    RGM_GO(read_parts(&self, folder));
    if (out->graph_count > 0) {
        if (split != NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                            "%s: there is no split '%s', but the files train-*, valid-* and test-* "
                            "themselves",
                            folder, split));
        goto done;
    }
    RGM_GO(read_files(&self, &added, folder, ""));
    if (added == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "%s: there are no records in *.tfrecord or *.tfrecord.gz", folder));
    if (splits)
        RGM_GO(read_split_lists(out, folder, split));
done:
    rgm_free(schema);
    return status;
}

/* A graph file has one split. */
static rgm_status open_file(rgm_graph_data *out, const char *path, const char *split)
{
    RGM_TRY(rgm_graph_data_open(out, path));
    if (split == NULL || (out->split_name != NULL && strcmp(split, out->split_name) == 0))
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: there is no split '%s', but %s%s%s", path, split,
                    out->split_name != NULL ? "'" : "",
                    out->split_name != NULL ? out->split_name : "one without a name",
                    out->split_name != NULL ? "'" : "");
}

rgm_status rgm_graph_data_load(rgm_graph_data *out, const char *folder, const char *split)
{
    rgm_status status;

    memset(out, 0, sizeof *out);
    status =
        rgm_is_graph_file(folder) ? open_file(out, folder, split) : load(out, folder, split, true);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}

/* ---- new data -------------------------------------------------------------------------------- */

typedef enum form { NO_FORM, TABLES, EXAMPLES, GRAPH_FILE, OGB_FOLDER } form;

static rgm_status has_records(bool *out, const char *folder)
{
    char **paths;
    int64_t count;
    rgm_status status = rgm_tfrecord_folder(&paths, &count, folder, "");

    rgm_names_release(paths, count);
    *out = status == RGM_OK || status == RGM_ERR_DATA; /* who loads them tells what is wrong */
    if (status != RGM_ERR_NOT_FOUND && status != RGM_ERR_DATA)
        return status;
    rgm_error_reset();
    return RGM_OK;
}

/* *schema: that of tables. */
static rgm_status form_of_folder(form *out, char **schema, const char *path)
{
    rgm_status status = RGM_OK;
    char *raw = NULL;
    bool records = false;

    RGM_GO(rgm_path_join(schema, path, "schema.pbtxt"));
    RGM_GO(rgm_path_join(&raw, path, "raw"));
    if (rgm_path_exists(*schema))
        RGM_GO(has_records(&records, path));
    *out = rgm_path_exists(*schema)  ? records ? EXAMPLES : TABLES
           : rgm_path_is_folder(raw) ? OGB_FOLDER
                                     : NO_FORM;
done:
    rgm_free(raw);
    return status;
}

static bool is_schema_file(const char *path)
{
    size_t size = strlen(path);

    return size > 6 && strcmp(path + size - 6, ".pbtxt") == 0;
}

static rgm_status form_of(form *out, char **schema, const char *path)
{
    *out = NO_FORM;
    if (rgm_path_is_folder(path))
        return form_of_folder(out, schema, path);
    if (is_schema_file(path)) {
        *out = TABLES;
        return rgm_strdup(schema, path);
    }
    if (rgm_is_graph_file(path))
        *out = GRAPH_FILE;
    return RGM_OK;
}

bool rgm_is_new_graphs(const char *path)
{
    return rgm_path_is_folder(path) || is_schema_file(path) || rgm_is_graph_file(path);
}

rgm_status rgm_new_graphs_load(rgm_graph_data *out, const char *path,
                               const rgm_import_options *options)
{
    rgm_import_options defaults = RGM_IMPORT_OPTIONS_INIT;
    rgm_import_options asked = options != NULL ? *options : defaults;
    rgm_status status = RGM_OK;
    char *schema = NULL;
    form is;

    memset(out, 0, sizeof *out);
    asked.new_data = true;
    RGM_GO(form_of(&is, &schema, path));
    if (is == TABLES)
        RGM_GO(rgm_import_csv(out, schema, &asked));
    else if (is == EXAMPLES)
        RGM_GO(load(out, path, NULL, false));
    else if (is == GRAPH_FILE)
        RGM_GO(open_file(out, path, NULL));
    else if (is == OGB_FOLDER)
        RGM_GO(rgm_import_ogb(out, path, &asked));
    else
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "%s: neither a schema.pbtxt, beside CSV tables or records of Examples, nor "
                        "a folder raw in OGB's layout is there",
                        path));
done:
    rgm_free(schema);
    if (status != RGM_OK)
        rgm_graph_data_clear(out);
    return status;
}
