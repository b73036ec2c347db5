/*
 * What encoders learned of the training data: kept by set and feature, written to features.json and
 * read from it.
 */
#include <inttypes.h>

#include "encoders.h"

void rgmi_learned_clear(rgmi_learned *l)
{
    rgm_free(l->set);
    rgm_free(l->feature);
    rgm_tensor_release(l->texts);
    rgm_free(l->integers);
    rgm_free(l->counts);
    rgm_free(l->boundaries);
    rgm_free(l->offset);
    rgm_free(l->factor);
    *l = (rgmi_learned){.encoder = NULL};
}

rgm_status rgmi_learned_create(rgm_learned_features **out)
{
    RGM_TRY(RGM_NEW(*out, 1));
    atomic_init(&(*out)->references, 1);
    return RGM_OK;
}

rgm_learned_features *rgm_learned_features_retain(rgm_learned_features *learned)
{
    if (learned != NULL)
        atomic_fetch_add(&learned->references, 1);
    return learned;
}

void rgm_learned_features_release(rgm_learned_features *learned)
{
    if (learned == NULL || atomic_fetch_sub(&learned->references, 1) > 1)
        return;
    for (int64_t i = 0; i < learned->count; i++)
        rgmi_learned_clear(&learned->items[i]);
    rgm_free(learned->items);
    rgm_text_clear(&learned->text);
    rgm_free(learned);
}

int64_t rgm_learned_features_count(const rgm_learned_features *learned)
{
    return learned != NULL ? learned->count : 0;
}

const rgm_text *rgm_learned_features_text(const rgm_learned_features *learned)
{
    return &learned->text;
}

const rgmi_learned *rgmi_learned_find(const rgm_learned_features *learned, rgm_piece piece,
                                      const char *set, const char *feature)
{
    for (int64_t i = 0; learned != NULL && i < learned->count; i++) {
        const rgmi_learned *l = &learned->items[i];

        if (l->piece == piece && strcmp(l->set, set) == 0 &&
            (feature != NULL) == (l->feature != NULL) &&
            (feature == NULL || strcmp(l->feature, feature) == 0))
            return l;
    }
    return NULL;
}

int64_t rgm_learned_features_nodes(const rgm_learned_features *learned, const char *node_set)
{
    const rgmi_learned *l = rgmi_learned_find(learned, RGM_NODE_SET, node_set, NULL);

    return l != NULL ? l->nodes : -1;
}

rgm_status rgmi_learned_add(rgmi_learned **out, rgm_learned_features *learned, rgm_piece piece,
                            const char *set, const char *feature)
{
    rgmi_learned *l;

    RGM_TRY(RGM_RESERVE(learned->items, learned->capacity, learned->count + 1));
    l = &learned->items[learned->count++];
    *l = (rgmi_learned){.piece = piece, .nodes = -1};
    RGM_TRY(rgm_strdup(&l->set, set));
    if (feature != NULL)
        RGM_TRY(rgm_strdup(&l->feature, feature));
    *out = l;
    return RGM_OK;
}

/* ---- the file -------------------------------------------------------------------------------- */

static rgm_status print_place(rgm_text *out, const rgmi_learned *l)
{
    RGM_TRY(rgm_text_printf(out, "{\"%s\": ", l->piece == RGM_NODE_SET ? "node_set" : "edge_set"));
    RGM_TRY(rgm_json_print_text(out, l->set));
    if (l->feature != NULL) {
        RGM_TRY(rgm_text_printf(out, ", \"feature\": "));
        RGM_TRY(rgm_json_print_text(out, l->feature));
    }
    return rgm_text_printf(out, ", ");
}

rgm_status rgmi_learned_print(rgm_learned_features *learned)
{
    rgm_text *out = &learned->text;

    out->size = 0;
    RGM_TRY(rgm_text_printf(out, "{\"version\": 1, \"features\": {"));
    for (int64_t i = 0; i < learned->count; i++) {
        const rgmi_learned *l = &learned->items[i];

        RGM_TRY(rgm_text_printf(out, "%s\n \"%" PRId64 "\": ", i > 0 ? "," : "", i));
        RGM_TRY(print_place(out, l));
        if (l->encoder == NULL) {
            RGM_TRY(rgm_text_printf(out, "\"nodes\": %" PRId64 "}", l->nodes));
            continue;
        }
        RGM_TRY(rgm_text_printf(out, "\"%s\": ", l->encoder->key));
        RGM_TRY(l->encoder->print(out, l));
        RGM_TRY(rgm_text_printf(out, "}"));
    }
    return rgm_text_printf(out, "}}\n");
}

static rgm_status parse_learned(rgmi_learned *l, const rgm_json *json)
{
    if (l->feature == NULL)
        return rgm_json_int(&l->nodes, rgm_json_find(json, "nodes")) && l->nodes >= 0
                   ? RGM_OK
                   : RGM_FAIL(RGM_ERR_FORMAT, "no number of \"nodes\"");
    for (int k = 0; rgmi_encoders[k] != NULL; k++) {
        const rgm_json *found = rgm_json_find(json, rgmi_encoders[k]->key);

        if (found == NULL || rgmi_encoders[k]->parse == NULL)
            continue;
        l->encoder = rgmi_encoders[k];
        return l->encoder->parse(l, found);
    }
    return RGM_FAIL(RGM_ERR_FORMAT, "no encoder that is known here");
}

static rgm_status parse_entry(rgm_learned_features *learned, const rgm_json *json)
{
    const char *nodes = rgm_json_text(rgm_json_find(json, "node_set")),
               *edges = rgm_json_text(rgm_json_find(json, "edge_set")),
               *feature = rgm_json_text(rgm_json_find(json, "feature"));
    rgm_piece piece = nodes != NULL ? RGM_NODE_SET : RGM_EDGE_SET;
    const char *set = nodes != NULL ? nodes : edges;
    rgmi_learned *l;

    if (set == NULL || (nodes != NULL && edges != NULL))
        return RGM_FAIL(RGM_ERR_FORMAT, "needs \"node_set\" or \"edge_set\"");
    if (rgmi_learned_find(learned, piece, set, feature) != NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "is there twice");
    RGM_TRY(rgmi_learned_add(&l, learned, piece, set, feature));
    return parse_learned(l, json);
}

static rgm_status parse_all(rgm_learned_features *learned, const rgm_json *json, const char *path)
{
    rgm_json_entry entry = {0};
    int64_t version;

    if (!rgm_json_int(&version, rgm_json_find(json, "version")))
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: no \"version\"", path);
    if (version != 1)
        return RGM_FAIL(RGM_ERR_VERSION, "%s is of version %" PRId64 ", known is 1", path, version);
    while (rgm_json_next(&entry, rgm_json_find(json, "features"))) {
        rgm_status status = parse_entry(learned, entry.value);

        if (status != RGM_OK)
            return rgm_error_prefix(status, "%s: features, '%s'", path, entry.key);
    }
    return rgmi_learned_print(learned);
}

rgm_status rgm_learned_features_load(rgm_learned_features **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_learned_features *learned = NULL;
    rgm_mapped_file map = {0};
    rgm_json *json = NULL;

    *out = NULL;
    RGM_TRY(rgm_file_map(&map, path));
    RGM_GO(rgm_json_parse(&json, (const char *)map.data, map.size, path));
    RGM_GO(rgmi_learned_create(&learned));
    RGM_GO(parse_all(learned, json, path));
    *out = learned;
    learned = NULL;
done:
    rgm_learned_features_release(learned);
    rgm_json_release(json);
    rgm_file_unmap(&map);
    return status;
}

rgm_status rgm_learned_features_save(const rgm_learned_features *learned, const char *path)
{
    return rgm_file_save_own(path, learned->text.data, learned->text.size);
}

/* ---- for people ------------------------------------------------------------------------------ */

rgm_status rgm_learned_features_describe(rgm_text *out, const rgm_learned_features *learned)
{
    for (int64_t i = 0; i < learned->count; i++) {
        const rgmi_learned *l = &learned->items[i];

        RGM_TRY(rgm_text_printf(out, "%s", i > 0 ? ", " : " "));
        RGM_TRY(rgm_text_add_visible(out, l->set));
        if (l->encoder == NULL) {
            RGM_TRY(rgm_text_printf(out, ": an embedding of each of %" PRId64 " nodes", l->nodes));
            continue;
        }
        RGM_TRY(rgm_text_printf(out, "."));
        RGM_TRY(rgm_text_add_visible(out, l->feature));
        RGM_TRY(rgm_text_printf(out, ": "));
        RGM_TRY(l->encoder->describe(out, l));
    }
    return RGM_OK;
}
