/* What predictions rest on: the files that `regimen explain --keep` left in explanations/. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tab.h"

enum { LARGEST = 8 << 20, MOST_FILES = 500, MOST_PARTS = 300 };
static const char inner[] = "explanations", ending[] = ".json";

/* ---- which there are ------------------------------------------------------------------------- */

static bool is_explanation(const rgmi_kept_entry *entry)
{
    size_t size = strlen(entry->name);

    return !entry->is_folder && size > sizeof ending - 1 && size < 200 &&
           strcmp(entry->name + size - (sizeof ending - 1), ending) == 0;
}

static rgm_status put_stem(rgm_text *out, const char *name)
{
    return rgmi_put_text(out, name, (int64_t)(strlen(name) - (sizeof ending - 1)));
}

static bool is_named(const char *name, const char *stem)
{
    size_t size = strlen(stem);

    return strlen(name) == size + sizeof ending - 1 && memcmp(name, stem, size) == 0;
}

/* Their names; *chosen: the one of that name, else the newest; NULL: there is none. */
static rgm_status put_names(rgm_text *out, const rgmi_kept_entry **chosen,
                            const rgmi_kept_list *list, const char *wanted)
{
    int64_t count = 0;

    *chosen = NULL;
    RGM_TRY(rgm_text_printf(out, "\"names\":["));
    for (int64_t i = 0; i < list->count; i++) {
        const rgmi_kept_entry *entry = &list->entries[i];

        if (!is_explanation(entry))
            continue;
        if (wanted != NULL ? is_named(entry->name, wanted)
                           : *chosen == NULL || entry->time > (*chosen)->time)
            *chosen = entry;
        if (count++ >= MOST_FILES)
            continue;
        RGM_TRY(rgm_text_add(out, ",", count > 1));
        RGM_TRY(put_stem(out, entry->name));
    }
    RGM_TRY(rgm_text_printf(out, "],\"total\":%lld,\"name\":", (long long)count));
    return *chosen != NULL ? put_stem(out, (*chosen)->name) : rgmi_put_name(out, NULL);
}

/* ---- one ------------------------------------------------------------------------------------- */

static double number_at(const rgm_json *object, const char *key)
{
    double number = NAN;

    (void)rgm_json_number(&number, rgm_json_find(object, key));
    return number;
}

/* A whole number; -1: it is none. */
static int64_t whole_at(const rgm_json *object, const char *key)
{
    int64_t number;

    return rgm_json_int(&number, rgm_json_find(object, key)) ? number : -1;
}

static rgm_status put_texts(rgm_text *out, const rgm_json *object, const char *const *keys)
{
    for (int64_t i = 0; keys[i] != NULL; i++) {
        RGM_TRY(rgm_text_printf(out, "%s\"%s\":", i > 0 ? "," : "", keys[i]));
        RGM_TRY(rgmi_put_name(out, rgm_json_text(rgm_json_find(object, keys[i]))));
    }
    return RGM_OK;
}

static rgm_status put_numbers(rgm_text *out, const rgm_json *object, const char *const *keys)
{
    for (; *keys != NULL; keys++) {
        RGM_TRY(rgm_text_printf(out, ",\"%s\":", *keys));
        RGM_TRY(rgmi_put_number(out, number_at(object, *keys)));
    }
    return RGM_OK;
}

static rgm_status put_node(rgm_text *out, const rgm_json *node, int64_t nodes)
{
    static const char *const texts[] = {"set", "name", NULL};
    bool asked = false;

    (void)nodes;
    (void)rgm_json_bool(&asked, rgm_json_find(node, "asked"));
    RGM_TRY(put_texts(out, node, texts));
    return rgm_text_printf(out, ",\"asked\":%s", asked ? "true" : "false");
}

static rgm_status put_edge(rgm_text *out, const rgm_json *edge, int64_t nodes)
{
    static const char *const texts[] = {"set", NULL}, *const numbers[] = {"score", NULL};
    static const char *const ends[] = {"from", "to"};

    RGM_TRY(put_texts(out, edge, texts));
    for (int i = 0; i < 2; i++) {
        int64_t end = whole_at(edge, ends[i]);

        if (end < 0 || end >= nodes)
            return RGM_FAIL(RGM_ERR_FORMAT, "an edge has no node at its end '%s'", ends[i]);
        RGM_TRY(rgm_text_printf(out, ",\"%s\":%lld", ends[i], (long long)end));
    }
    return put_numbers(out, edge, numbers);
}

static rgm_status put_feature(rgm_text *out, const rgm_json *feature, int64_t nodes)
{
    static const char *const texts[] = {"set", "feature", "item", NULL};
    static const char *const numbers[] = {"column", "score", NULL};

    (void)nodes;
    RGM_TRY(put_texts(out, feature, texts));
    return put_numbers(out, feature, numbers);
}

/* A list of objects, of which the first `most` are told. */
static rgm_status put_list(rgm_text *out, const char *key, const rgm_json *list, int64_t most,
                           int64_t nodes,
                           rgm_status (*put)(rgm_text *out, const rgm_json *one, int64_t nodes))
{
    int64_t count = rgm_json_count(list);

    RGM_TRY(rgm_text_printf(out, ",\"%s\":[", key));
    for (int64_t i = 0; i < count && i < most; i++) {
        RGM_TRY(rgm_text_printf(out, "%s{", i > 0 ? "," : ""));
        RGM_TRY(put(out, rgm_json_at(list, i), nodes));
        RGM_TRY(rgm_text_add(out, "}", 1));
    }
    return rgm_text_add(out, "]", 1);
}

/* Nodes are told that no edge told has, but not the other way round. */
static rgm_status put_explanation(rgm_text *out, const rgm_json *root)
{
    static const char *const texts[] = {"part", "output", "class", "method", "weights", NULL};
    static const char *const numbers[] = {"item", "node",       "step",          "value", "nothing",
                                          "left", "edge_total", "feature_total", NULL};
    const rgm_json *nodes = rgm_json_find(root, "nodes");
    int64_t count = rgm_json_count(nodes) < 2 * MOST_PARTS ? rgm_json_count(nodes) : 2 * MOST_PARTS;

    RGM_TRY(rgm_text_add(out, "{", 1));
    RGM_TRY(put_texts(out, root, texts));
    RGM_TRY(put_numbers(out, root, numbers));
    RGM_TRY(put_list(out, "nodes", nodes, count, count, put_node));
    RGM_TRY(put_list(out, "edges", rgm_json_find(root, "edges"), MOST_PARTS, count, put_edge));
    RGM_TRY(
        put_list(out, "features", rgm_json_find(root, "features"), MOST_PARTS, count, put_feature));
    return rgm_text_add(out, "}", 1);
}

static rgm_status load(rgm_text *out, const char *folder, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_json *root = NULL;
    char *path = NULL, *data = NULL;
    int64_t size;

    RGM_GO(rgm_strprintf(&path, "%s/%s", inner, name));
    RGM_GO(rgmi_kept_load(&data, &size, folder, path, LARGEST));
    RGM_GO(rgm_json_parse(&root, data, size, path));
    if (!rgm_json_is_object(root))
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s is no explanation", path));
    RGM_GO(put_explanation(out, root));
done:
    rgm_json_release(root);
    rgm_free(data);
    rgm_free(path);
    return status;
}

/* ---- all ------------------------------------------------------------------------------------- */

static rgm_status tell(rgm_text *out, const char *folder, const rgmi_kept_list *list,
                       const char *name, char **damage)
{
    const rgmi_kept_entry *chosen;
    rgm_text one = {0};
    rgm_status status = RGM_OK;

    RGM_GO(rgm_text_add(out, "{", 1));
    RGM_GO(put_names(out, &chosen, list, name));
    if (chosen != NULL)
        status = load(&one, folder, chosen->name);
    if (status != RGM_OK) {
        one.size = 0;
        RGM_GO(rgmi_note(damage, status));
    }
    RGM_GO(rgm_text_printf(out, ",\"explanation\":%s", one.size > 0 ? one.data : "null"));
done:
    rgm_text_clear(&one);
    return status;
}

rgm_status rgmi_tell_explanations(rgm_text *out, const char *folder, const char *name)
{
    rgmi_kept_list list = {0};
    char *damage = NULL;
    rgm_status status = rgmi_kept_list_load(&list, folder, inner);

    if (status != RGM_OK) {
        list = (rgmi_kept_list){0};
        RGM_GO(rgmi_note(&damage, status));
    }
    RGM_GO(tell(out, folder, &list, name, &damage));
    RGM_GO(rgmi_put_end(out, damage));
done:
    rgmi_kept_list_clear(&list);
    rgm_free(damage);
    return status;
}
