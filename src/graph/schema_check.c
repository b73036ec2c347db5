/*
 * What makes a schema sound: TF-GNN's validate_schema and its rules for auxiliary and readout sets.
 */
#include <stdio.h>
#include <string.h>

#include "graph_internal.h"

/* ---- auxiliary names ---- */

static bool is_word(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

const char *rgm_aux_prefix(const char *set_name, char *buffer, size_t size)
{
    size_t length = 1;

    if (set_name == NULL || set_name[0] == '\0' || strchr("_#!%.^~", set_name[0]) == NULL)
        return NULL;
    while (is_word(set_name[length]))
        length++;
    snprintf(buffer, size, "%.*s", (int)length, set_name);
    return buffer;
}

bool rgm_is_aux_set(const char *set)
{
    char prefix[128];

    return rgm_aux_prefix(set, prefix, sizeof prefix) != NULL;
}

/* Length of "_readout" or "_readout:word" at the start of a name; 0 for others. */
static size_t readout_length(const char *name)
{
    size_t length = strlen(RGM_READOUT);

    if (strncmp(name, RGM_READOUT, length) != 0)
        return 0;
    if (name[length] == ':' && is_word(name[length + 1]))
        for (length++; is_word(name[length]);)
            length++;
    return length;
}

bool rgm_is_readout_set(const char *name)
{
    size_t length = readout_length(name);

    return length > 0 && name[length] == '\0';
}

bool rgm_readout_name(size_t *set_length, size_t *key_begin, size_t *key_length, const char *name)
{
    size_t length = readout_length(name), key = 0;

    if (length == 0 || name[length] != '/')
        return false;
    while (is_word(name[length + 1 + key]))
        key++;
    if (key == 0 || (name[length + 1 + key] != '\0' && name[length + 1 + key] != '/'))
        return false;
    *set_length = length;
    *key_begin = length + 1;
    *key_length = key;
    return true;
}

const char *rgm_shadow_of(const char *node_set)
{
    return strncmp(node_set, "_shadow/", 8) == 0 ? node_set + 8 : NULL;
}

/* ---- checks ---- */

/** Values of an item behind its ragged dims: a schema's word, for which memory is taken. */
static rgm_status check_width(const rgm_feature_schema *feature, const char *title)
{
    int64_t width = 1;

    for (int i = 0; i < feature->rank; i++)
        if (feature->shape[i] > 0 &&
            (__builtin_mul_overflow(width, feature->shape[i], &width) || width > RGMI_WIDEST))
            return RGM_FAIL(RGM_ERR_DATA,
                            "%s: feature '%s': its dims make more than %lld values an item", title,
                            feature->name, (long long)RGMI_WIDEST);
    return RGM_OK;
}

static rgm_status check_feature(const rgm_set_schema *set, const rgm_feature_schema *feature)
{
    char title[RGM_SET_TITLE];
    rgm_dtype dtype;

    rgm_set_title(set, title, sizeof title);
    if (feature->name[0] == '#' && strcmp(feature->name, "#id") != 0 &&
        strcmp(feature->name, "#weight") != 0 && strcmp(feature->name, RGM_ITEM_NAME) != 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: feature name '%s' is reserved ('#id', '" RGM_ITEM_NAME
                        "' and '#weight' are allowed)",
                        title, feature->name);
    if (!rgmi_stored_find(&dtype, feature->stored_type))
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' has no dtype that can be stored: %s", title,
                        feature->name, feature->stored_type ? feature->stored_type : "none");
    if (dtype != feature->dtype)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' is stored as %s but %s in memory", title,
                        feature->name, feature->stored_type, rgm_dtype_name(feature->dtype));
    for (int i = 0; i < feature->rank; i++)
        if (feature->shape[i] < -1)
            return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s': dim %d is %lld; -1 means ragged",
                            title, feature->name, i, (long long)feature->shape[i]);
    RGM_TRY(check_width(feature, title));
    if (feature->vocabulary < 0 || feature->vocabulary > INT32_MAX ||
        (feature->vocabulary > 0 &&
         (feature->dtype != RGM_I64 || feature->rank != 1 || feature->shape[0] != -1)))
        return RGM_FAIL(RGM_ERR_DATA,
                        "%s: one_hot feature '%s' must be DT_INT64 of shape [-1] "
                        "with 1 to 2147483647 columns",
                        title, feature->name);
    return RGM_OK;
}

static rgm_status check_features(const rgm_schema *schema, const rgm_set_schema *set)
{
    char title[RGM_SET_TITLE];

    rgm_set_title(set, title, sizeof title);
    for (int64_t i = 0; i < set->feature_count; i++) {
        RGM_TRY(check_feature(set, &set->features[i]));
        if (rgm_set_feature_index(set, set->features[i].name) != i)
            return RGM_FAIL(RGM_ERR_DATA, "%s: two features '%s'", title, set->features[i].name);
    }
    for (int64_t i = 0; i < set->context_count; i++)
        if (rgm_set_feature_index(schema->sets[0], set->context[i]) < 0)
            return RGM_FAIL(RGM_ERR_DATA, "%s refers to context feature '%s', which is not there",
                            title, set->context[i]);
    return RGM_OK;
}

/* No two edge sets of one readout key read the same node set; `readers` has those seen so far. */
static rgm_status check_one_reader(rgm_map *readers, rgm_set_schema *set, size_t key_end)
{
    rgm_status status;
    char *key;
    const rgm_set_schema *other;

    RGM_TRY(rgm_strprintf(&key, "%.*s %s", (int)key_end, set->name, set->source));
    other = rgm_map_get(readers, key);
    if (other != NULL)
        status = RGM_FAIL(RGM_ERR_DATA, "edge sets '%s' and '%s' both read node set '%s'",
                          other->name, set->name, set->source);
    else
        status = rgm_map_set(readers, key, set);
    rgm_free(key);
    return status;
}

/* A readout edge set goes to its readout set, and no two of one key read the same node set. */
static rgm_status check_readout_edges(rgm_map *readers, rgm_set_schema *set)
{
    size_t set_length, key_begin, key_length;

    if (!rgm_readout_name(&set_length, &key_begin, &key_length, set->name))
        return RGM_FAIL(RGM_ERR_DATA,
                        "edge set '%s': a readout edge set is named "
                        "\"%s[:name]/key[/suffix]\" with a key of A-Z a-z 0-9 _",
                        set->name, RGM_READOUT);
    if (strlen(set->target) != set_length || strncmp(set->target, set->name, set_length) != 0)
        return RGM_FAIL(RGM_ERR_DATA, "edge set '%s' must have target '%.*s', not '%s'", set->name,
                        (int)set_length, set->name, set->target);
    return check_one_reader(readers, set, key_begin + key_length);
}

static rgm_status check_ends(const rgm_schema *schema, const rgm_set_schema *set)
{
    const char *ends[2] = {set->source, set->target};

    for (int i = 0; i < 2; i++) {
        if (ends[i] == NULL || ends[i][0] == '\0')
            return RGM_FAIL(RGM_ERR_DATA, "edge set '%s' has no %s", set->name,
                            i == 0 ? "source" : "target");
        if (rgm_schema_index(schema, RGM_NODE_SET, ends[i]) < 0)
            return RGM_FAIL(RGM_ERR_DATA, "edge set '%s': %s node set '%s' is not there", set->name,
                            i == 0 ? "source" : "target", ends[i]);
    }
    if (rgm_is_readout_set(set->target) && readout_length(set->name) == 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "edge set '%s' ends at readout set '%s': it must be named "
                        "\"%s/key\"",
                        set->name, set->target, set->target);
    return RGM_OK;
}

static rgm_status check_node_set(const rgm_schema *schema, const rgm_set_schema *set)
{
    const char *shadowed = rgm_shadow_of(set->name);

    if (readout_length(set->name) > 0 && !rgm_is_readout_set(set->name))
        return RGM_FAIL(RGM_ERR_DATA,
                        "node set '%s': a readout set is named \"%s\" or "
                        "\"%s:name\" with a name of A-Z a-z 0-9 _",
                        set->name, RGM_READOUT, RGM_READOUT);
    if (shadowed == NULL)
        return RGM_OK;
    if (rgm_schema_index(schema, RGM_EDGE_SET, shadowed) < 0)
        return RGM_FAIL(RGM_ERR_DATA,
                        "node set '%s' is the shadow of edge set '%s', which is "
                        "not there",
                        set->name, shadowed);
    if (set->feature_count > 0)
        return RGM_FAIL(RGM_ERR_DATA, "node set '%s' is a shadow and can have no feature '%s'",
                        set->name, set->features[0].name);
    return RGM_OK;
}

static rgm_status check_set(rgm_map *readers, const rgm_schema *schema, rgm_set_schema *set)
{
    if (set->name[0] == '\0')
        return RGM_FAIL(RGM_ERR_DATA, "%s set without a name",
                        set->piece == RGM_NODE_SET ? "a node" : "an edge");
    RGM_TRY(check_features(schema, set));
    if (set->piece == RGM_NODE_SET)
        RGM_TRY(check_node_set(schema, set));
    if (set->piece == RGM_EDGE_SET) {
        RGM_TRY(check_ends(schema, set));
        if (readout_length(set->name) > 0)
            RGM_TRY(check_readout_edges(readers, set));
    }
    return RGM_OK;
}

rgm_status rgm_schema_check(const rgm_schema *schema)
{
    rgm_status status = RGM_OK;
    rgm_map *readers = NULL; /* by readout key and node set */

    RGM_GO(rgm_map_create(&readers));
    for (int64_t i = 0; i < schema->set_count; i++)
        RGM_GO(check_set(readers, schema, schema->sets[i]));
    for (int64_t i = 0; i < schema->root_set_count; i++)
        if (rgm_schema_index(schema, RGM_NODE_SET, schema->root_sets[i]) < 0)
            RGM_GO(
                RGM_FAIL(RGM_ERR_DATA, "info.root_set '%s' is no node set", schema->root_sets[i]));
done:
    rgm_map_release(readers);
    return status;
}

static rgm_status check_has_feature(const rgm_set_schema *set, const rgm_feature_schema *required)
{
    char title[RGM_SET_TITLE];
    const rgm_feature_schema *actual;
    int64_t index;

    rgm_set_title(set, title, sizeof title);
    RGM_TRY(rgmi_feature_require(&index, set, required->name));
    actual = &set->features[index];
    if (actual->dtype != required->dtype)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' is %s, expected %s", title, required->name,
                        rgm_dtype_name(actual->dtype), rgm_dtype_name(required->dtype));
    if (actual->rank != required->rank)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' has rank %d, expected %d", title,
                        required->name, actual->rank, required->rank);
    for (int i = 0; i < required->rank; i++)
        if (actual->shape[i] != required->shape[i])
            return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s': dim %d is %lld, expected %lld", title,
                            required->name, i, (long long)actual->shape[i],
                            (long long)required->shape[i]);
    if (actual->vocabulary != required->vocabulary)
        return RGM_FAIL(RGM_ERR_DATA, "%s: feature '%s' has %lld one_hot columns, expected %lld",
                        title, required->name, (long long)actual->vocabulary,
                        (long long)required->vocabulary);
    return RGM_OK;
}

rgm_status rgm_schema_check_has(const rgm_schema *actual, const rgm_schema *required)
{
    for (int64_t i = 0; i < required->set_count; i++) {
        const rgm_set_schema *want = required->sets[i], *have;
        int64_t index;
        RGM_TRY(rgmi_set_require(&index, actual, want->piece, want->name));
        have = actual->sets[index];
        if (want->piece == RGM_EDGE_SET &&
            (strcmp(want->source, have->source) != 0 || strcmp(want->target, have->target) != 0))
            return RGM_FAIL(RGM_ERR_DATA,
                            "edge set '%s' goes from '%s' to '%s', expected '%s' to "
                            "'%s'",
                            want->name, have->source, have->target, want->source, want->target);
        for (int64_t j = 0; j < want->feature_count; j++)
            RGM_TRY(check_has_feature(have, &want->features[j]));
    }
    return RGM_OK;
}
