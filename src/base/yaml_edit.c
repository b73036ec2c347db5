/*
 * Changes of a parsed YAML document: set a value at a dotted path, merge one document into another.
 * Depth stays at most RGMI_YAML_MAX_DEPTH, so walking a document by recursion is safe.
 */
#include "base_internal.h"

#include <string.h>

static rgm_status keep_text(const char **out, rgm_yaml *yaml, const char *text)
{
    *out = NULL;
    if (text != NULL && (*out = rgm_arena_strdup(yaml->arena, text)) == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for text of a document");
    return RGM_OK;
}

/* A copy of `from` in the document; `origin` is shared by neighbours, so it is copied once. */
static rgm_status copy_node(rgm_yaml_node **out, rgm_yaml *yaml, const rgm_yaml_node *from,
                            const char *from_origin, const char *origin)
{
    const char *mine = origin;
    rgm_yaml_node *node;

    if (from->origin != from_origin)
        RGM_TRY(keep_text(&mine, yaml, from->origin));
    RGM_TRY(rgmi_yaml_node(&node, yaml, from->kind, mine, from->line, from->column));
    node->quoted = from->quoted;
    RGM_TRY(keep_text(&node->key, yaml, from->key));
    RGM_TRY(keep_text(&node->text, yaml, from->text));
    for (int64_t i = 0; i < from->count; i++) {
        rgm_yaml_node *child;
        RGM_TRY(copy_node(&child, yaml, from->items[i], from->origin, mine));
        RGM_TRY(rgmi_yaml_append(yaml, node, child));
    }
    *out = node;
    return RGM_OK;
}

static int depth_of(const rgm_yaml_node *node)
{
    int deepest = 0;

    for (int64_t i = 0; i < node->count; i++) {
        int depth = depth_of(node->items[i]);
        if (depth > deepest)
            deepest = depth;
    }
    return node->kind == RGM_YAML_SCALAR ? 0 : 1 + deepest;
}

static bool is_nothing(const rgm_yaml_node *node)
{
    return node->kind == RGM_YAML_SCALAR && !node->quoted && node->text[0] == 0;
}

/* The name before the next dot of a path, in the arena; *rest is NULL after the last. */
static rgm_status next_name(const char **name, const char **rest, rgm_yaml *yaml, const char *path,
                            const char *whole, const char *origin)
{
    size_t n = strcspn(path, ".");
    char *copy;

    if (n == 0)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' is not a path such as trainer.epochs", origin,
                        whole);
    copy = rgm_arena_alloc(yaml->arena, n + 1);
    if (copy == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the path '%s'", whole);
    memcpy(copy, path, n);
    *name = copy;
    *rest = path[n] == '.' ? path + n + 1 : NULL;
    return RGM_OK;
}

static int64_t index_of(const rgm_yaml_node *map, const rgm_yaml_node *child)
{
    int64_t i = 0;

    while (map->items[i] != child)
        i++;
    return i;
}

/* Hang `value` under `name`, in place of what was there. The map counts as `origin`'s no more than
 * before: only the new node is. */
static rgm_status put_child(rgm_yaml *yaml, rgm_yaml_node *map, const char *name,
                            rgm_yaml_node *value)
{
    rgm_yaml_node *old = rgm_yaml_find(map, name);

    value->key = name;
    if (old != NULL)
        map->items[index_of(map, old)] = value;
    else
        RGM_TRY(rgmi_yaml_append(yaml, map, value));
    return RGM_OK;
}

/* Walk down `path` as far as there are maps, then hang the value with the maps that are missing.
 * All new nodes are made before the document is touched. */
static rgm_status set_value(rgm_yaml *yaml, const char *path, rgm_yaml_node *value,
                            const char *origin)
{
    rgm_yaml_node *map = yaml->root, *branch = NULL, *leaf = NULL, *child;
    const char *rest = path, *name = NULL, *first = NULL;
    int depth = 1;

    if (map->kind != RGM_YAML_MAP)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: cannot set '%s': the document is not a map", origin,
                        path);
    for (;; depth++) {
        RGM_TRY(next_name(&name, &rest, yaml, rest, path, origin));
        if (rest == NULL)
            break;
        child = rgm_yaml_find(leaf != NULL ? leaf : map, name);
        if (child != NULL && !is_nothing(child)) {
            if (child->kind != RGM_YAML_MAP)
                return RGM_FAIL(RGM_ERR_CONFIG, "%s: cannot set '%s': '%s' is a %s, not a map",
                                origin, path, name,
                                child->kind == RGM_YAML_LIST ? "list" : "value");
            map = child;
            continue;
        }
        RGM_TRY(rgmi_yaml_node(&child, yaml, RGM_YAML_MAP, origin, 1, 1));
        if (leaf != NULL)
            RGM_TRY(put_child(yaml, leaf, name, child));
        else {
            branch = child;
            first = name;
        }
        leaf = child;
    }
    if (depth + depth_of(value) > RGMI_YAML_MAX_DEPTH)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: '%s' makes more than %d levels", origin, path,
                        RGMI_YAML_MAX_DEPTH);
    if (leaf == NULL)
        return put_child(yaml, map, name, value);
    RGM_TRY(put_child(yaml, leaf, name, value));
    RGM_TRY(put_child(yaml, map, first, branch));
    return RGM_OK;
}

rgm_status rgm_yaml_set(rgm_yaml *yaml, const char *path, const char *value, const char *origin)
{
    rgm_status status = RGM_OK;
    rgm_yaml *parsed = NULL;
    rgm_yaml_node *copy;
    const char *mine;

    RGM_GO(rgmi_yaml_parse(&parsed, value, (int64_t)strlen(value), origin, RGM_YAML_SCALAR));
    RGM_GO(keep_text(&mine, yaml, origin));
    RGM_GO(copy_node(&copy, yaml, parsed->root, parsed->root->origin, mine));
    RGM_GO(set_value(yaml, path, copy, mine));
done:
    rgm_yaml_release(parsed);
    return status;
}

/* Children of `over` found in `into` through a table: two maps of n keys cost n, not n squared. */
static rgm_status merge_map(rgm_yaml *yaml, rgm_yaml_node *into, const rgm_yaml_node *over,
                            const char *from_origin, const char *origin)
{
    rgm_status status = RGM_OK;
    rgm_map *places = NULL;

    RGM_GO(rgm_map_create(&places));
    for (int64_t i = 0; i < into->count; i++)
        RGM_GO(rgm_map_set(places, into->items[i]->key, (void *)(uintptr_t)(i + 1)));
    for (int64_t i = 0; i < over->count; i++) {
        const rgm_yaml_node *item = over->items[i];
        int64_t place = (int64_t)(uintptr_t)rgm_map_get(places, item->key) - 1; /* -1: new */
        rgm_yaml_node *copy;
        if (place >= 0 && into->items[place]->kind == RGM_YAML_MAP && item->kind == RGM_YAML_MAP) {
            RGM_GO(merge_map(yaml, into->items[place], item, from_origin, origin));
            continue;
        }
        RGM_GO(copy_node(&copy, yaml, item, from_origin, origin));
        if (place >= 0)
            into->items[place] = copy;
        else
            RGM_GO(rgmi_yaml_append(yaml, into, copy));
    }
done:
    rgm_map_release(places);
    return status;
}

rgm_status rgm_yaml_merge(rgm_yaml *yaml, const rgm_yaml *over)
{
    const rgm_yaml_node *root = over->root;
    const char *origin;
    rgm_yaml_node *copy;

    RGM_TRY(keep_text(&origin, yaml, root->origin));
    if (yaml->root->kind == RGM_YAML_MAP && root->kind == RGM_YAML_MAP) {
        RGM_TRY(merge_map(yaml, yaml->root, root, root->origin, origin));
        return RGM_OK;
    }
    RGM_TRY(copy_node(&copy, yaml, root, root->origin, origin));
    yaml->root = copy;
    return RGM_OK;
}
