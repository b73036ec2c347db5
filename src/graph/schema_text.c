/*
 * GraphSchema text (TF-GNN's graph_schema.proto in protobuf text format) to a schema and back. What
 * a trainer has no use for (BigQuery sources, sample values) is read over; a misspelt field is an
 * error with its place.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph_internal.h"

typedef const rgm_pbtxt_field field;

#define NAMES(...)      ((const char *const[]){__VA_ARGS__})
#define NAME_COUNT(...) (int64_t)(sizeof(NAMES(__VA_ARGS__)) / sizeof(const char *))
#define CHECK_NAMES(doc, message, ...)                                                             \
    rgm_pbtxt_check_names(doc, message, NAMES(__VA_ARGS__), NAME_COUNT(__VA_ARGS__))

/* The last error was about the schema; say where in the text that was. */
static rgm_status at_field(const rgm_pbtxt *doc, field *at, rgm_status status)
{
    char message[RGM_MESSAGE_ROOM];

    if (status != RGM_ERR_ARG && status != RGM_ERR_DATA && status != RGM_ERR_NOT_FOUND)
        return status;
    snprintf(message, sizeof message, "%s", rgm_error_message());
    return rgm_pbtxt_fail(doc, at, "%s", message);
}

static rgm_status read_text(char **out, const rgm_pbtxt *doc, field *message, const char *name)
{
    field *found = rgm_pbtxt_find(message, name);
    const char *text;

    if (found == NULL)
        return RGM_OK;
    RGM_TRY(rgm_pbtxt_string(&text, doc, found));
    rgm_free(*out);
    *out = NULL;
    return rgm_strdup(out, text);
}

/* `entry` is key and value of a protobuf map. */
static rgm_status read_entry(const char **key, field **value, const rgm_pbtxt *doc, field *entry)
{
    field *found;

    RGM_TRY(rgm_pbtxt_message(doc, entry));
    RGM_TRY(CHECK_NAMES(doc, entry, "key", "value"));
    found = rgm_pbtxt_find(entry, "key");
    if (found == NULL)
        return rgm_pbtxt_fail(doc, entry, "%s without a key", entry->name);
    RGM_TRY(rgm_pbtxt_string(key, doc, found));
    *value = rgm_pbtxt_find(entry, "value");
    return *value == NULL ? RGM_OK : rgm_pbtxt_message(doc, *value);
}

/* A word of an enum, which protobuf also reads as a number: names [count] by number. */
static rgm_status read_enum(const char **out, const rgm_pbtxt *doc, field *value,
                            const char *(*name)(int64_t number))
{
    int64_t number;

    if (value->kind != RGM_PBTXT_NUMBER)
        return rgm_pbtxt_word(out, doc, value);
    RGM_TRY(rgm_pbtxt_int(&number, doc, value));
    *out = name(number);
    return *out != NULL
               ? RGM_OK
               : rgm_pbtxt_fail(doc, value, "%s %" PRId64 " is not known", value->name, number);
}

static const char *graph_type_of_number(int64_t number)
{
    static const char *const names[] = {"UNDEFINED", "FULL", "SUBGRAPH", "RANDOM_WALKS"};

    return number >= 0 && number < 4 ? names[number] : NULL;
}

/*
 * Entries of a map by key: of equal keys the last counts, as in protobuf, and that is told.
 * Released by the caller.
 */
static rgm_status last_entries(rgm_map **out, const rgm_pbtxt *doc, field *message,
                               const char *name)
{
    rgm_status status = RGM_OK;
    rgm_map *last = NULL;
    const char *key;
    field *value;

    *out = NULL;
    RGM_GO(rgm_map_create(&last));
    for (field *entry = rgm_pbtxt_find(message, name); entry; entry = rgm_pbtxt_find_next(entry)) {
        RGM_GO(read_entry(&key, &value, doc, entry));
        if (rgm_map_has(last, key))
            rgm_log_write(RGM_LOG_WARNING, "%s:%d: %s '%s' is there twice; the last one counts",
                          rgm_pbtxt_name(doc), entry->line, name, key);
        RGM_GO(rgm_map_set(last, key, (void *)(intptr_t)entry));
    }
    *out = last;
    last = NULL;
done:
    rgm_map_release(last);
    return status;
}

static rgm_status read_shape(int *rank, int64_t *shape, const rgm_pbtxt *doc, field *message)
{
    bool unknown = false;

    RGM_TRY(rgm_pbtxt_message(doc, message));
    RGM_TRY(CHECK_NAMES(doc, message, "dim", "unknown_rank"));
    if (rgm_pbtxt_find(message, "unknown_rank") != NULL)
        RGM_TRY(rgm_pbtxt_bool(&unknown, doc, rgm_pbtxt_find(message, "unknown_rank")));
    if (unknown)
        return rgm_pbtxt_fail(doc, message, "the rank of a feature must be known");
    for (field *dim = rgm_pbtxt_find(message, "dim"); dim != NULL; dim = rgm_pbtxt_find_next(dim)) {
        field *size;
        RGM_TRY(rgm_pbtxt_message(doc, dim));
        if (rgm_pbtxt_find(dim, "name") != NULL)
            return rgm_pbtxt_fail(doc, rgm_pbtxt_find(dim, "name"), "dims cannot have names");
        RGM_TRY(CHECK_NAMES(doc, dim, "size"));
        if (*rank == RGM_MAX_RANK - 1)
            return rgm_pbtxt_fail(doc, dim, "more than %d dims", RGM_MAX_RANK - 1);
        size = rgm_pbtxt_find(dim, "size");
        shape[*rank] = 0; /* proto: the default of an int64 */
        if (size != NULL)
            RGM_TRY(rgm_pbtxt_int(&shape[*rank], doc, size));
        if (shape[*rank] < -1)
            return rgm_pbtxt_fail(doc, size, "a dim is %" PRId64 "; -1 means ragged", shape[*rank]);
        (*rank)++;
    }
    return RGM_OK;
}

/* "one_hot:1433" */
static rgm_status read_vocabulary(int64_t *out, const rgm_pbtxt *doc, field *message,
                                  const char *source)
{
    char *end;
    long long number;

    if (source == NULL || strncmp(source, "one_hot:", 8) != 0)
        return RGM_OK;
    number = strtoll(source + 8, &end, 10);
    if (end == source + 8 || *end != '\0' || number < 1 || number > INT32_MAX)
        return rgm_pbtxt_fail(doc, rgm_pbtxt_find(message, "source"),
                              "source \"%s\" must be one_hot:<columns, 1 to 2147483647>", source);
    *out = number;
    return RGM_OK;
}

static rgm_status read_feature(rgm_schema *schema, const rgm_set_schema *set, const rgm_pbtxt *doc,
                               field *entry)
{
    rgm_feature_schema *feature;
    const char *name, *word = "DT_INVALID";
    field *value, *dtype;
    rgm_dtype memory = RGM_F32;
    int64_t shape[RGM_MAX_RANK], index = rgm_schema_index(schema, set->piece, set->name);
    int rank = 0;

    RGM_TRY(read_entry(&name, &value, doc, entry));
    dtype = value ? rgm_pbtxt_find(value, "dtype") : NULL;
    if (dtype == NULL)
        return rgm_pbtxt_fail(doc, entry, "feature '%s' has no dtype", name);
    RGM_TRY(CHECK_NAMES(doc, value, "description", "dtype", "shape", "source", "sample_values",
                        "example_values"));
    RGM_TRY(read_enum(&word, doc, dtype, rgmi_stored_of_number));
    RGM_TRY(at_field(doc, dtype, rgmi_stored_dtype(&memory, word)));
    if (rgm_pbtxt_find(value, "shape") != NULL)
        RGM_TRY(read_shape(&rank, shape, doc, rgm_pbtxt_find(value, "shape")));
    if (rank == 1 && shape[0] == 1)
        rgm_log_write(RGM_LOG_WARNING, "%s:%d: feature '%s' has shape [1]; a scalar has no dims",
                      rgm_pbtxt_name(doc), entry->line, name);
    RGM_TRY(
        at_field(doc, entry,
                 rgm_schema_add_feature(schema, set->piece, set->name, name, memory, rank, shape)));
    feature = &schema->sets[index]->features[set->feature_count - 1];
    rgm_free(feature->stored_type);
    feature->stored_type = NULL;
    RGM_TRY(rgm_strdup(&feature->stored_type, word));
    RGM_TRY(read_text(&feature->description, doc, value, "description"));
    RGM_TRY(read_text(&feature->source, doc, value, "source"));
    return read_vocabulary(&feature->vocabulary, doc, value, feature->source);
}

static rgm_status read_features(rgm_schema *schema, rgm_set_schema *set, const rgm_pbtxt *doc,
                                field *message)
{
    rgm_status status = RGM_OK;
    rgm_map *entries = NULL;

    RGM_GO(last_entries(&entries, doc, message, "features"));
    for (int64_t i = 0; i < rgm_map_count(entries); i++)
        RGM_GO(read_feature(schema, set, doc, rgm_map_value(entries, i)));
done:
    rgm_map_release(entries);
    return status;
}

static rgm_status read_metadata(rgm_set_schema *set, const rgm_pbtxt *doc, field *message)
{
    field *metadata = rgm_pbtxt_find(message, "metadata"), *found;
    int64_t count = 0;

    if (metadata == NULL)
        return RGM_OK;
    RGM_TRY(rgm_pbtxt_message(doc, metadata));
    RGM_TRY(CHECK_NAMES(doc, metadata, "extra", "filename", "cardinality", "bigquery"));
    if (rgm_pbtxt_find(metadata, "bigquery") != NULL)
        rgm_log_write(RGM_LOG_WARNING, "set '%s': its BigQuery source is not kept", set->name);
    RGM_TRY(read_text(&set->filename, doc, metadata, "filename"));
    found = rgm_pbtxt_find(metadata, "cardinality");
    if (found != NULL)
        RGM_TRY(rgm_pbtxt_int(&set->cardinality, doc, found));
    for (found = rgm_pbtxt_find(metadata, "extra"); found; found = rgm_pbtxt_find_next(found))
        count++;
    RGM_TRY(RGM_NEW(set->extra, count));
    for (found = rgm_pbtxt_find(metadata, "extra"); found; found = rgm_pbtxt_find_next(found)) {
        rgm_key_value *extra = &set->extra[set->extra_count++];
        RGM_TRY(rgm_pbtxt_message(doc, found));
        RGM_TRY(CHECK_NAMES(doc, found, "key", "value"));
        RGM_TRY(read_text(&extra->key, doc, found, "key"));
        RGM_TRY(read_text(&extra->value, doc, found, "value"));
    }
    return RGM_OK;
}

static rgm_status read_texts(char ***out, int64_t *out_count, const rgm_pbtxt *doc, field *message,
                             const char *name)
{
    int64_t count = 0;

    for (field *f = rgm_pbtxt_find(message, name); f != NULL; f = rgm_pbtxt_find_next(f))
        count++;
    if (count == 0)
        return RGM_OK;
    RGM_TRY(RGM_NEW(*out, count));
    for (field *f = rgm_pbtxt_find(message, name); f != NULL; f = rgm_pbtxt_find_next(f)) {
        const char *text;
        RGM_TRY(rgm_pbtxt_string(&text, doc, f));
        RGM_TRY(rgm_strdup(&(*out)[*out_count], text));
        (*out_count)++;
    }
    return RGM_OK;
}

static rgm_status read_set(rgm_schema *schema, rgm_piece piece, const rgm_pbtxt *doc, field *entry)
{
    const char *name, *source = "", *target = "";
    field *value, *end;
    rgm_set_schema *set;

    RGM_TRY(read_entry(&name, &value, doc, entry));
    if (piece == RGM_NODE_SET) {
        if (value != NULL)
            RGM_TRY(CHECK_NAMES(doc, value, "description", "features", "context", "metadata"));
        RGM_TRY(at_field(doc, entry, rgm_schema_add_node_set(schema, name)));
    } else {
        if (value != NULL)
            RGM_TRY(CHECK_NAMES(doc, value, "description", "features", "source", "target",
                                "context", "metadata"));
        end = value ? rgm_pbtxt_find(value, "source") : NULL;
        if (end != NULL)
            RGM_TRY(rgm_pbtxt_string(&source, doc, end));
        end = value ? rgm_pbtxt_find(value, "target") : NULL;
        if (end != NULL)
            RGM_TRY(rgm_pbtxt_string(&target, doc, end));
        RGM_TRY(at_field(doc, entry, rgm_schema_add_edge_set(schema, name, source, target)));
    }
    if (value == NULL)
        return RGM_OK;
    set = schema->sets[rgm_schema_index(schema, piece, name)];
    RGM_TRY(read_text(&set->description, doc, value, "description"));
    RGM_TRY(read_features(schema, set, doc, value));
    RGM_TRY(read_texts(&set->context, &set->context_count, doc, value, "context"));
    return read_metadata(set, doc, value);
}

static rgm_status read_sets(rgm_schema *schema, rgm_piece piece, const rgm_pbtxt *doc,
                            const char *name)
{
    rgm_status status = RGM_OK;
    rgm_map *entries = NULL;

    RGM_GO(last_entries(&entries, doc, rgm_pbtxt_root(doc), name));
    for (int64_t i = 0; i < rgm_map_count(entries); i++)
        RGM_GO(read_set(schema, piece, doc, rgm_map_value(entries, i)));
done:
    rgm_map_release(entries);
    return status;
}

static rgm_status read_info(rgm_schema *schema, const rgm_pbtxt *doc, field *info)
{
    field *type;
    const char *word;

    if (info == NULL)
        return RGM_OK;
    RGM_TRY(rgm_pbtxt_message(doc, info));
    RGM_TRY(CHECK_NAMES(doc, info, "graph_type", "root_set"));
    type = rgm_pbtxt_find(info, "graph_type");
    if (type != NULL) {
        RGM_TRY(read_enum(&word, doc, type, graph_type_of_number));
        RGM_TRY(rgm_strdup(&schema->graph_type, word));
    }
    return read_texts(&schema->root_sets, &schema->root_set_count, doc, info, "root_set");
}

static rgm_status read_schema(rgm_schema *schema, const rgm_pbtxt *doc)
{
    field *root = rgm_pbtxt_root(doc), *context;

    RGM_TRY(CHECK_NAMES(doc, root, "context", "node_sets", "edge_sets", "info"));
    context = rgm_pbtxt_find(root, "context");
    if (context != NULL) {
        RGM_TRY(rgm_pbtxt_message(doc, context));
        RGM_TRY(CHECK_NAMES(doc, context, "features", "metadata"));
        RGM_TRY(read_features(schema, schema->sets[0], doc, context));
        RGM_TRY(read_metadata(schema->sets[0], doc, context));
    }
    RGM_TRY(read_sets(schema, RGM_NODE_SET, doc, "node_sets"));
    RGM_TRY(read_sets(schema, RGM_EDGE_SET, doc, "edge_sets"));
    return read_info(schema, doc, rgm_pbtxt_find(root, "info"));
}

rgm_status rgm_schema_parse(rgm_schema **out, const char *text, int64_t size, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_schema *schema = NULL;
    rgm_pbtxt *doc = NULL;

    *out = NULL;
    RGM_GO(rgm_pbtxt_parse(&doc, text, size, name));
    RGM_GO(rgm_schema_create(&schema));
    RGM_GO(read_schema(schema, doc));
    status = rgm_schema_check(schema);
    if (status < 0) {
        rgm_error_prefix(status, "%s", name);
        goto done;
    }
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    rgm_pbtxt_release(doc);
    return status;
}

rgm_status rgm_schema_load(rgm_schema **out, const char *path)
{
    rgm_status status;
    char *text;
    int64_t size;

    *out = NULL;
    RGM_TRY(rgm_file_load(&text, &size, path, INT64_C(64) << 20));
    status = rgm_schema_parse(out, text, size, path);
    rgm_free(text);
    return status;
}

/* ---- writing ---- */

static rgm_status add_text(rgm_pbtxt *doc, rgm_pbtxt_field *message, const char *name,
                           const char *text)
{
    return text == NULL ? RGM_OK
                        : rgm_pbtxt_add_string(doc, message, name, text, (int64_t)strlen(text));
}

static rgm_status add_entry(rgm_pbtxt_field **value, rgm_pbtxt *doc, rgm_pbtxt_field *message,
                            const char *name, const char *key)
{
    rgm_pbtxt_field *entry;

    RGM_TRY(rgm_pbtxt_add_message(&entry, doc, message, name));
    RGM_TRY(add_text(doc, entry, "key", key));
    return rgm_pbtxt_add_message(value, doc, entry, "value");
}

static rgm_status write_feature(rgm_pbtxt *doc, rgm_pbtxt_field *message,
                                const rgm_feature_schema *feature)
{
    rgm_pbtxt_field *value, *shape, *dim;

    RGM_TRY(add_entry(&value, doc, message, "features", feature->name));
    RGM_TRY(add_text(doc, value, "description", feature->description));
    RGM_TRY(rgm_pbtxt_add_word(doc, value, "dtype", feature->stored_type));
    if (feature->rank > 0) {
        RGM_TRY(rgm_pbtxt_add_message(&shape, doc, value, "shape"));
        for (int i = 0; i < feature->rank; i++) {
            RGM_TRY(rgm_pbtxt_add_message(&dim, doc, shape, "dim"));
            RGM_TRY(rgm_pbtxt_add_int(doc, dim, "size", feature->shape[i]));
        }
    }
    return add_text(doc, value, "source", feature->source);
}

static rgm_status write_metadata(rgm_pbtxt *doc, rgm_pbtxt_field *message,
                                 const rgm_set_schema *set)
{
    rgm_pbtxt_field *metadata, *extra;

    if (set->filename == NULL && set->cardinality < 0 && set->extra_count == 0)
        return RGM_OK;
    RGM_TRY(rgm_pbtxt_add_message(&metadata, doc, message, "metadata"));
    for (int64_t i = 0; i < set->extra_count; i++) {
        RGM_TRY(rgm_pbtxt_add_message(&extra, doc, metadata, "extra"));
        RGM_TRY(add_text(doc, extra, "key", set->extra[i].key));
        RGM_TRY(add_text(doc, extra, "value", set->extra[i].value));
    }
    RGM_TRY(add_text(doc, metadata, "filename", set->filename));
    return set->cardinality < 0 ? RGM_OK
                                : rgm_pbtxt_add_int(doc, metadata, "cardinality", set->cardinality);
}

static rgm_status write_set(rgm_pbtxt *doc, const rgm_set_schema *set)
{
    rgm_pbtxt_field *root = rgm_pbtxt_root(doc), *value;

    if (set->piece == RGM_CONTEXT_PIECE) {
        if (set->feature_count == 0 && set->filename == NULL && set->cardinality < 0 &&
            set->extra_count == 0)
            return RGM_OK;
        RGM_TRY(rgm_pbtxt_add_message(&value, doc, root, "context"));
    } else {
        RGM_TRY(add_entry(&value, doc, root, set->piece == RGM_NODE_SET ? "node_sets" : "edge_sets",
                          set->name));
    }
    RGM_TRY(add_text(doc, value, "description", set->description));
    for (int64_t i = 0; i < set->feature_count; i++)
        RGM_TRY(write_feature(doc, value, &set->features[i]));
    RGM_TRY(add_text(doc, value, "source", set->source));
    RGM_TRY(add_text(doc, value, "target", set->target));
    for (int64_t i = 0; i < set->context_count; i++)
        RGM_TRY(add_text(doc, value, "context", set->context[i]));
    return write_metadata(doc, value, set);
}

static rgm_status write_info(rgm_pbtxt *doc, const rgm_schema *schema)
{
    rgm_pbtxt_field *info;

    if (schema->graph_type == NULL && schema->root_set_count == 0)
        return RGM_OK;
    RGM_TRY(rgm_pbtxt_add_message(&info, doc, rgm_pbtxt_root(doc), "info"));
    if (schema->graph_type != NULL)
        RGM_TRY(rgm_pbtxt_add_word(doc, info, "graph_type", schema->graph_type));
    for (int64_t i = 0; i < schema->root_set_count; i++)
        RGM_TRY(add_text(doc, info, "root_set", schema->root_sets[i]));
    return RGM_OK;
}

rgm_status rgm_schema_print(rgm_text *out, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_pbtxt *doc = NULL;

    RGM_GO(rgm_pbtxt_create(&doc));
    for (int64_t i = 0; i < schema->set_count; i++)
        RGM_GO(write_set(doc, schema->sets[i]));
    RGM_GO(write_info(doc, schema));
    RGM_GO(rgm_pbtxt_print(out, rgm_pbtxt_root(doc)));
done:
    rgm_pbtxt_release(doc);
    return status;
}

rgm_status rgm_schema_save(const rgm_schema *schema, const char *path)
{
    rgm_text text = {0};
    rgm_status status = rgm_schema_print(&text, schema);

    if (status == RGM_OK)
        status = rgm_file_save(path, text.data, text.size);
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_schema_save_in(const rgm_schema *schema, const char *folder)
{
    char *path = NULL;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, folder, "schema.pbtxt"));
    status = rgm_schema_save(schema, path);
    rgm_free(path);
    return rgm_error_trace(status, __FILE__, __LINE__, __func__);
}
