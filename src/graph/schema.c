/*
 * The schema: which sets a graph has, how edge sets join node sets, and dtype and shape of every
 * feature. Built by calls or read from GraphSchema text (schema_text.c), checked in schema_check.c.
 */
#include <stdio.h>
#include <string.h>

#include "graph_internal.h"

/* From so many features on they are found in a map. */
enum { MANY_FEATURES = 16 };

/* A set with what only this file sees of it. Every set is one. */
typedef struct own_set {
    rgm_set_schema open;
    int64_t feature_capacity;
    rgm_map *by_name; /* of each feature name its first place + 1; NULL: look at them all */
} own_set;

static void feature_clear(rgm_feature_schema *feature)
{
    rgm_free(feature->name);
    rgm_free(feature->description);
    rgm_free(feature->source);
    rgm_free(feature->stored_type);
}

static void set_release(rgm_set_schema *set)
{
    if (set == NULL)
        return;
    for (int64_t i = 0; i < set->feature_count; i++)
        feature_clear(&set->features[i]);
    for (int64_t i = 0; i < set->context_count; i++)
        rgm_free(set->context[i]);
    for (int64_t i = 0; i < set->extra_count; i++) {
        rgm_free(set->extra[i].key);
        rgm_free(set->extra[i].value);
    }
    rgm_map_release(((own_set *)set)->by_name);
    rgm_free(set->features);
    rgm_free(set->context);
    rgm_free(set->extra);
    rgm_free(set->name);
    rgm_free(set->description);
    rgm_free(set->source);
    rgm_free(set->target);
    rgm_free(set->filename);
    rgm_free(set);
}

static rgm_status set_create(rgm_set_schema **out, rgm_piece piece, const char *name)
{
    own_set *own;
    rgm_set_schema *set;

    RGM_TRY(RGM_NEW(own, 1));
    set = &own->open;
    set->piece = piece;
    set->cardinality = -1;
    if (rgm_strdup(&set->name, name) < 0) {
        rgm_free(own);
        return RGM_ERR_NOMEM;
    }
    *out = set;
    return RGM_OK;
}

static rgm_map *names_of(const rgm_schema *schema, rgm_piece piece)
{
    return schema->names[piece == RGM_EDGE_SET];
}

/* Behind the last set of its piece. Takes the set over, also on failure. */
static rgm_status insert(rgm_schema *schema, rgm_set_schema *set)
{
    rgm_status status = RGM_RESERVE(schema->sets, schema->set_capacity, schema->set_count + 1);
    rgm_map *names = names_of(schema, set->piece);
    int64_t at = schema->set_count;

    if (status == RGM_OK && set->piece != RGM_CONTEXT_PIECE)
        status = rgm_map_set(names, set->name, (void *)(intptr_t)rgm_map_count(names));
    if (status < 0) {
        set_release(set);
        return status;
    }
    while (at > 0 && schema->sets[at - 1]->piece > set->piece)
        at--;
    memmove(&schema->sets[at + 1], &schema->sets[at],
            (size_t)(schema->set_count - at) * sizeof schema->sets[0]);
    schema->sets[at] = set;
    schema->set_count++;
    rgmi_codec_release(schema->codec);
    schema->codec = NULL;
    return RGM_OK;
}

rgm_status rgm_schema_create(rgm_schema **out)
{
    rgm_schema *schema;
    rgm_set_schema *context;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_TRY(RGM_NEW(schema, 1));
    schema->references = 1;
    pthread_mutex_init(&schema->lock, NULL);
    for (int i = 0; i < 2; i++)
        RGM_GO(rgm_map_create(&schema->names[i]));
    RGM_GO(set_create(&context, RGM_CONTEXT_PIECE, "context"));
    RGM_GO(insert(schema, context));
    *out = schema;
    schema = NULL;
done:
    rgm_schema_release(schema);
    return status;
}

rgm_schema *rgm_schema_retain(rgm_schema *schema)
{
    atomic_fetch_add_explicit(&schema->references, 1, memory_order_relaxed);
    return schema;
}

void rgm_schema_release(rgm_schema *schema)
{
    if (schema == NULL ||
        atomic_fetch_sub_explicit(&schema->references, 1, memory_order_acq_rel) != 1)
        return;
    rgmi_codec_release(schema->codec);
    for (int64_t i = 0; i < schema->set_count; i++)
        set_release(schema->sets[i]);
    for (int64_t i = 0; i < schema->root_set_count; i++)
        rgm_free(schema->root_sets[i]);
    for (int i = 0; i < 2; i++)
        rgm_map_release(schema->names[i]);
    rgm_free(schema->root_sets);
    rgm_free(schema->graph_type);
    rgm_free(schema->sets);
    pthread_mutex_destroy(&schema->lock);
    rgm_free(schema);
}

/* ---- finding ---- */

int64_t rgm_schema_set_count(const rgm_schema *schema)
{
    return schema->set_count;
}

const rgm_set_schema *rgm_schema_set(const rgm_schema *schema, int64_t i)
{
    return i >= 0 && i < schema->set_count ? schema->sets[i] : NULL;
}

int64_t rgm_schema_index(const rgm_schema *schema, rgm_piece piece, const char *name)
{
    const rgm_map *names = names_of(schema, piece);
    int64_t before = piece == RGM_EDGE_SET ? rgm_map_count(names_of(schema, RGM_NODE_SET)) : 0;

    if (piece == RGM_CONTEXT_PIECE)
        return 0;
    if (name == NULL || !rgm_map_has(names, name))
        return -1;
    return 1 + before + (intptr_t)rgm_map_get(names, name);
}

rgm_hint rgm_schema_hint(const rgm_schema *schema, rgm_piece piece, const char *name)
{
    const char *names[64];
    int64_t count = 0;

    for (int64_t i = 1; i < schema->set_count && count < 64; i++)
        if (schema->sets[i]->piece == piece)
            names[count++] = schema->sets[i]->name;
    return rgm_did_you_mean(name, names, count, NULL, NULL);
}

rgm_status rgmi_set_require(int64_t *index, const rgm_schema *schema, rgm_piece piece,
                            const char *name)
{
    const char *kind = piece == RGM_NODE_SET ? "node set" : "edge set";

    *index = rgm_schema_index(schema, piece, name);
    if (*index >= 0)
        return RGM_OK;
    if (name == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "the name of the %s is missing", kind);
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "no %s '%s'%s", kind, name,
                    rgm_schema_hint(schema, piece, name).text);
}

const rgm_set_schema *rgm_schema_find(const rgm_schema *schema, rgm_piece piece, const char *name)
{
    int64_t i = rgm_schema_index(schema, piece, name);

    return i < 0 ? NULL : schema->sets[i];
}

int64_t rgm_set_feature_index(const rgm_set_schema *set, const char *name)
{
    const rgm_map *by_name = ((const own_set *)set)->by_name;

    if (name != NULL && by_name != NULL)
        return (intptr_t)rgm_map_get(by_name, name) - 1;
    for (int64_t i = 0; name != NULL && i < set->feature_count; i++)
        if (strcmp(set->features[i].name, name) == 0)
            return i;
    return -1;
}

rgm_status rgmi_feature_require(int64_t *index, const rgm_set_schema *set, const char *name)
{
    const char *names[64];
    char title[RGM_SET_TITLE];
    int64_t count = 0;

    *index = rgm_set_feature_index(set, name);
    if (*index >= 0)
        return RGM_OK;
    rgm_set_title(set, title, sizeof title);
    if (name == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "%s: the name of the feature is missing", title);
    for (; count < set->feature_count && count < 64; count++)
        names[count] = set->features[count].name;
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "%s has no feature '%s'%s", title, name,
                    rgm_did_you_mean(name, names, count, NULL, NULL).text);
}

const rgm_feature_schema *rgm_set_feature(const rgm_set_schema *set, const char *name)
{
    int64_t i = rgm_set_feature_index(set, name);

    return i < 0 ? NULL : &set->features[i];
}

const char *rgm_set_title(const rgm_set_schema *set, char *buffer, size_t size)
{
    if (set->piece == RGM_CONTEXT_PIECE)
        snprintf(buffer, size, "context");
    else
        snprintf(buffer, size, "%s set '%s'", set->piece == RGM_NODE_SET ? "node" : "edge",
                 set->name);
    return buffer;
}

bool rgm_feature_is_ragged(const rgm_feature_schema *feature)
{
    return rgm_feature_last_ragged(feature) > 0;
}

const char *rgm_schema_graph_type(const rgm_schema *schema)
{
    return schema->graph_type;
}

int64_t rgm_schema_root_set_count(const rgm_schema *schema)
{
    return schema->root_set_count;
}

const char *rgm_schema_root_set(const rgm_schema *schema, int64_t i)
{
    return i >= 0 && i < schema->root_set_count ? schema->root_sets[i] : NULL;
}

/* ---- adding ---- */

rgm_status rgm_schema_add_node_set(rgm_schema *schema, const char *name)
{
    rgm_set_schema *set;

    if (name == NULL || name[0] == '\0')
        return RGM_FAIL(RGM_ERR_ARG, "a node set needs a name");
    if (rgm_schema_index(schema, RGM_NODE_SET, name) >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "there is a node set '%s' already", name);
    RGM_TRY(set_create(&set, RGM_NODE_SET, name));
    return insert(schema, set);
}

rgm_status rgm_schema_add_edge_set(rgm_schema *schema, const char *name, const char *source,
                                   const char *target)
{
    rgm_set_schema *set;

    if (name == NULL || name[0] == '\0')
        return RGM_FAIL(RGM_ERR_ARG, "an edge set needs a name");
    if (rgm_schema_index(schema, RGM_EDGE_SET, name) >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "there is an edge set '%s' already", name);
    RGM_TRY(set_create(&set, RGM_EDGE_SET, name));
    if (rgm_strdup(&set->source, source ? source : "") < 0 ||
        rgm_strdup(&set->target, target ? target : "") < 0) {
        set_release(set);
        return RGM_ERR_NOMEM;
    }
    return insert(schema, set);
}

static rgm_status name_feature(rgm_map *by_name, const char *name, int64_t place)
{
    return rgm_map_has(by_name, name) ? RGM_OK
                                      : rgm_map_set(by_name, name, (void *)(intptr_t)(place + 1));
}

/* Put those that are there into a new map. */
static rgm_status name_features(own_set *own)
{
    rgm_status status = RGM_OK;
    rgm_map *by_name = NULL;

    RGM_GO(rgm_map_create(&by_name));
    for (int64_t i = 0; i < own->open.feature_count; i++)
        RGM_GO(name_feature(by_name, own->open.features[i].name, i));
    own->by_name = by_name;
    by_name = NULL;
done:
    rgm_map_release(by_name);
    return status;
}

/* Takes the feature over, also on failure. */
static rgm_status set_add_feature(rgm_set_schema *set, rgm_feature_schema *feature)
{
    own_set *own = (own_set *)set;
    rgm_status status = RGM_OK;

    RGM_GO(RGM_RESERVE(set->features, own->feature_capacity, set->feature_count + 1));
    if (own->by_name == NULL && set->feature_count >= MANY_FEATURES)
        RGM_GO(name_features(own));
    if (own->by_name != NULL)
        RGM_GO(name_feature(own->by_name, feature->name, set->feature_count));
    set->features[set->feature_count++] = *feature;
done:
    if (status != RGM_OK)
        feature_clear(feature);
    return status;
}

static rgm_status append_feature(rgm_schema *schema, int64_t set, rgm_feature_schema *feature)
{
    RGM_TRY(set_add_feature(schema->sets[set], feature));
    rgmi_codec_release(schema->codec);
    schema->codec = NULL;
    return RGM_OK;
}

rgm_status rgm_schema_add_feature(rgm_schema *schema, rgm_piece piece, const char *set,
                                  const char *feature, rgm_dtype dtype, int rank,
                                  const int64_t *shape)
{
    rgm_feature_schema added = {.dtype = dtype, .rank = rank};
    char title[RGM_SET_TITLE];
    int64_t index;

    RGM_TRY(rgmi_set_require(&index, schema, piece, set));
    rgm_set_title(schema->sets[index], title, sizeof title);
    if (feature == NULL || feature[0] == '\0')
        return RGM_FAIL(RGM_ERR_ARG, "%s: a feature needs a name", title);
    if (rgm_set_feature_index(schema->sets[index], feature) >= 0)
        return RGM_FAIL(RGM_ERR_ARG, "%s: there is a feature '%s' already", title, feature);
    if (rank < 0 || rank > RGM_MAX_RANK - 1)
        return RGM_FAIL(RGM_ERR_ARG, "%s: feature '%s' of rank %d, at most %d are possible", title,
                        feature, rank, RGM_MAX_RANK - 1);
    for (int i = 0; i < rank; i++)
        added.shape[i] = shape[i];
    if (rgm_strdup(&added.name, feature) < 0 ||
        rgm_strdup(&added.stored_type, rgmi_stored_type(dtype)) < 0) {
        feature_clear(&added);
        return RGM_ERR_NOMEM;
    }
    return append_feature(schema, index, &added);
}

rgm_status rgm_schema_set_one_hot(rgm_schema *schema, rgm_piece piece, const char *set,
                                  const char *feature, int64_t vocabulary)
{
    rgm_feature_schema *found;
    int64_t index, place;
    char *source;

    RGM_TRY(rgmi_set_require(&index, schema, piece, set));
    RGM_TRY(rgmi_feature_require(&place, schema->sets[index], feature));
    found = &schema->sets[index]->features[place];
    if (found->dtype != RGM_I64 || found->rank != 1 || found->shape[0] != -1)
        return RGM_FAIL(RGM_ERR_ARG, "feature '%s' is not i64 of shape [-1]", feature);
    if (vocabulary < 1 || vocabulary > INT32_MAX)
        return RGM_FAIL(RGM_ERR_ARG, "feature '%s': a vocabulary of %lld columns", feature,
                        (long long)vocabulary);
    RGM_TRY(rgm_strprintf(&source, "one_hot:%lld", (long long)vocabulary));
    rgm_free(found->source);
    found->source = source;
    found->vocabulary = vocabulary;
    return RGM_OK;
}

rgm_status rgm_schema_set_metadata(rgm_schema *schema, rgm_piece piece, const char *set,
                                   const char *filename, int64_t cardinality)
{
    rgm_set_schema *found;
    char *copy = NULL;
    int64_t index;

    RGM_TRY(rgmi_set_require(&index, schema, piece, set));
    found = schema->sets[index];
    if (filename != NULL)
        RGM_TRY(rgm_strdup(&copy, filename));
    rgm_free(found->filename);
    found->filename = copy;
    found->cardinality = cardinality;
    return RGM_OK;
}

rgm_status rgm_schema_add_extra(rgm_schema *schema, rgm_piece piece, const char *set,
                                const char *key, const char *value)
{
    rgm_key_value *extra;
    rgm_set_schema *found;
    int64_t index, capacity;

    RGM_TRY(rgmi_set_require(&index, schema, piece, set));
    found = schema->sets[index];
    capacity = found->extra_count;
    RGM_TRY(RGM_RESERVE(found->extra, capacity, found->extra_count + 1));
    extra = &found->extra[found->extra_count++];
    *extra = (rgm_key_value){0};
    RGM_TRY(rgm_strdup(&extra->key, key));
    return rgm_strdup(&extra->value, value);
}

bool rgm_set_has_extra(const rgm_set_schema *set, const char *key, const char *value)
{
    for (int64_t i = 0; i < set->extra_count; i++)
        if (strcmp(set->extra[i].key, key) == 0 && strcmp(set->extra[i].value, value) == 0)
            return true;
    return false;
}

/* ---- copying ---- */

static rgm_status copy_text(char **out, const char *text)
{
    *out = NULL;
    return text == NULL ? RGM_OK : rgm_strdup(out, text);
}

static rgm_status copy_feature(rgm_feature_schema *out, const char *name,
                               const rgm_feature_schema *from)
{
    rgm_status status = RGM_OK;

    *out = *from;
    out->name = out->description = out->source = out->stored_type = NULL;
    RGM_GO(rgm_strdup(&out->name, name));
    RGM_GO(copy_text(&out->description, from->description));
    RGM_GO(copy_text(&out->source, from->source));
    RGM_GO(copy_text(&out->stored_type, from->stored_type));
done:
    if (status < 0)
        feature_clear(out);
    return status;
}

rgm_status rgm_schema_add_feature_copy(rgm_schema *schema, int64_t set, const char *name,
                                       const rgm_feature_schema *feature)
{
    rgm_feature_schema copy;

    RGM_TRY(copy_feature(&copy, name, feature));
    return append_feature(schema, set, &copy);
}

void rgmi_schema_drop_feature(rgm_schema *schema, int64_t set, int64_t feature)
{
    rgm_set_schema *of = schema->sets[set];
    own_set *own = (own_set *)of;
    bool many = own->by_name != NULL;

    feature_clear(&of->features[feature]);
    memmove(&of->features[feature], &of->features[feature + 1],
            (size_t)(of->feature_count - feature - 1) * sizeof of->features[0]);
    of->feature_count--;
    rgm_map_release(own->by_name);
    own->by_name = NULL;
    if (many && name_features(own) != RGM_OK)
        rgm_error_reset(); /* they are looked for one by one then */
    rgmi_codec_release(schema->codec);
    schema->codec = NULL;
}

static rgm_status copy_set(rgm_set_schema *out, const rgm_set_schema *from)
{
    RGM_TRY(copy_text(&out->description, from->description));
    RGM_TRY(copy_text(&out->source, from->source));
    RGM_TRY(copy_text(&out->target, from->target));
    RGM_TRY(copy_text(&out->filename, from->filename));
    out->cardinality = from->cardinality;
    for (int64_t i = 0; i < from->feature_count; i++) {
        rgm_feature_schema feature;
        RGM_TRY(copy_feature(&feature, from->features[i].name, &from->features[i]));
        RGM_TRY(set_add_feature(out, &feature));
    }
    RGM_TRY(RGM_NEW(out->context, from->context_count));
    for (; out->context_count < from->context_count; out->context_count++)
        RGM_TRY(rgm_strdup(&out->context[out->context_count], from->context[out->context_count]));
    RGM_TRY(RGM_NEW(out->extra, from->extra_count));
    while (out->extra_count < from->extra_count) {
        const rgm_key_value *extra = &from->extra[out->extra_count];
        rgm_key_value *copy = &out->extra[out->extra_count++];
        RGM_TRY(copy_text(&copy->key, extra->key));
        RGM_TRY(copy_text(&copy->value, extra->value));
    }
    return RGM_OK;
}

rgm_status rgm_schema_copy(rgm_schema **out, const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_schema *copy = NULL;

    *out = NULL;
    RGM_GO(rgm_schema_create(&copy));
    RGM_GO(copy_text(&copy->graph_type, schema->graph_type));
    RGM_GO(RGM_NEW(copy->root_sets, schema->root_set_count));
    for (; copy->root_set_count < schema->root_set_count; copy->root_set_count++)
        RGM_GO(rgm_strdup(&copy->root_sets[copy->root_set_count],
                          schema->root_sets[copy->root_set_count]));
    RGM_GO(copy_set(copy->sets[0], schema->sets[0]));
    for (int64_t i = 1; i < schema->set_count; i++) {
        rgm_set_schema *set;
        RGM_GO(set_create(&set, schema->sets[i]->piece, schema->sets[i]->name));
        RGM_GO(insert(copy, set));
        RGM_GO(copy_set(set, schema->sets[i]));
    }
    *out = copy;
    copy = NULL;
done:
    rgm_schema_release(copy);
    return status;
}
