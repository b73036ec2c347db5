/*
 * The section `hyperparameters` of an experiment file, and `constraints`: every mistake is found
 * and told, in one walk over the entries. What an entry says becomes an item; items are sorted by
 * name, level by level, and then put in order of drawing.
 */
#include "search_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_INT (INT64_C(1) << 53)

typedef struct reader {
    rgm_space *space;
    rgmi_mistakes mistakes;
    int64_t capacity; /* of space->items */
    char name[RGMI_LONGEST_NAME + 1];
} reader;

static rgm_status no_memory(void)
{
    return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the hyperparameters");
}

static rgm_status keep(const char **out, const reader *r, const char *text)
{
    *out = rgm_arena_strdup(r->space->arena, text != NULL ? text : "");
    return *out != NULL ? RGM_OK : no_memory();
}

/* ---- values -------------------------------------------------------------------------------- */

static bool is_null(const rgm_yaml_node *node)
{
    return node->kind == RGM_YAML_SCALAR && !node->quoted &&
           (node->text[0] == '\0' || strcmp(node->text, "null") == 0 ||
            strcmp(node->text, "~") == 0);
}

static rgm_status print_scalar_json(rgm_text *out, const rgm_yaml_node *node)
{
    int64_t whole;
    double number;

    if (is_null(node))
        return rgm_text_add(out, "null", 4);
    if (!node->quoted && (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0))
        return rgm_text_printf(out, "%s", node->text);
    if (rgm_yaml_int(&whole, node) == RGM_OK)
        return rgm_text_printf(out, "%lld", (long long)whole);
    if (rgm_yaml_float(&number, node) == RGM_OK)
        return rgm_json_print_number(out, number);
    return rgm_json_print_text(out, node->text);
}

/* Any YAML value as JSON. The parser allows 64 levels. */
static rgm_status print_json(rgm_text *out, const rgm_yaml_node *node)
{
    bool map = node->kind == RGM_YAML_MAP;

    if (node->kind == RGM_YAML_SCALAR)
        return print_scalar_json(out, node);
    RGM_TRY(rgm_text_add(out, map ? "{" : "[", 1));
    for (int64_t i = 0; i < node->count; i++) {
        if (i > 0)
            RGM_TRY(rgm_text_add(out, ", ", 2));
        if (map) {
            RGM_TRY(rgm_json_print_text(out, node->items[i]->key));
            RGM_TRY(rgm_text_add(out, ": ", 2));
        }
        RGM_TRY(print_json(out, node->items[i]));
    }
    return rgm_text_add(out, map ? "}" : "]", 1);
}

/* A const's value, or those of a category, in three writings each. */
static rgm_status keep_values(rgmi_item *item, const reader *r, rgm_yaml_node *const *nodes,
                              int64_t count)
{
    rgm_status status = RGM_OK;
    size_t size = (size_t)count * sizeof(const char *);
    const char **yaml = rgm_arena_alloc(r->space->arena, size);
    const char **json = rgm_arena_alloc(r->space->arena, size);
    const char **plain = rgm_arena_alloc(r->space->arena, size);
    rgm_text text = {0};

    if (yaml == NULL || json == NULL || plain == NULL)
        return no_memory();
    for (int64_t i = 0; i < count; i++) {
        text.size = 0;
        if (is_null(nodes[i]))
            RGM_GO(rgm_text_add(&text, "null", 4));
        else
            RGM_GO(rgm_yaml_print_flow(&text, nodes[i], false));
        RGM_GO(keep(&yaml[i], r, text.data));
        text.size = 0;
        RGM_GO(print_json(&text, nodes[i]));
        RGM_GO(keep(&json[i], r, text.data));
        if (nodes[i]->kind != RGM_YAML_SCALAR)
            plain[i] = "[...]";
        else if (!is_null(nodes[i]))
            RGM_GO(keep(&plain[i], r, nodes[i]->text));
    }
    item->shown.values = (rgm_texts){yaml, count};
    item->json = json;
    item->plain = plain;
done:
    rgm_text_clear(&text);
    return status;
}

/* ---- one hyperparameter -------------------------------------------------------------------- */

#define MISTAKE(r, node, ...) rgmi_mistake(&(r)->mistakes, rgm_yaml_fail((node), __VA_ARGS__))

static rgm_status read_vals(rgmi_item *item, reader *r, const rgm_yaml_node *map)
{
    const rgm_yaml_node *vals = rgm_yaml_find(map, "vals");

    if (vals == NULL || vals->kind != RGM_YAML_LIST)
        return MISTAKE(r, vals != NULL ? vals : map, "'%s' needs vals, a list of its values",
                       r->name);
    if (vals->count == 0)
        return MISTAKE(r, vals, "'%s' must have at least one category", r->name);
    return keep_values(item, r, vals->items, vals->count);
}

static rgm_status read_bound(double *out, bool *there, reader *r, const rgm_yaml_node *map,
                             const char *key, bool whole)
{
    const rgm_yaml_node *node = rgm_yaml_find(map, key);
    int64_t integer = 0;
    rgm_status status;

    *there = false;
    if (node == NULL)
        return MISTAKE(r, map, "'%s' needs %s", r->name, key);
    status = whole ? rgm_yaml_int(&integer, node) : rgm_yaml_float(out, node);
    if (status == RGM_OK && whole) {
        *out = (double)integer;
        if (integer > LARGEST_INT || integer < -LARGEST_INT)
            status = rgm_yaml_fail(node, "'%s': %s is %s, but at most 2^53 in size is possible",
                                   r->name, key, node->text);
    }
    *there = status == RGM_OK;
    return rgmi_mistake(&r->mistakes, status);
}

static rgm_status check_range(rgmi_item *item, reader *r, const rgm_yaml_node *map)
{
    rgm_hyperparameter *h = &item->shown;
    double low, high;

    if (!(h->maxval > h->minval))
        return MISTAKE(r, rgm_yaml_find(map, "maxval"),
                       "'%s': maxval must be > minval, but %g is not > %g", r->name, h->maxval,
                       h->minval);
    rgmi_item_range(&low, &high, h);
    if (!isfinite(high - low) || (h->kind == RGM_HYPER_LOG && (!isfinite(high) || low == 0)))
        return MISTAKE(r, map, "'%s': its values leave the range of a double%s", r->name,
                       h->kind == RGM_HYPER_LOG ? "; minval and maxval are exponents" : "");
    return RGM_OK;
}

static rgm_status read_numbers(rgmi_item *item, reader *r, const rgm_yaml_node *map)
{
    rgm_hyperparameter *h = &item->shown;
    const rgm_yaml_node *count = rgm_yaml_find(map, "count");
    bool whole = h->kind == RGM_HYPER_INT, low, high, base = true;

    RGM_TRY(read_bound(&h->minval, &low, r, map, "minval", whole));
    RGM_TRY(read_bound(&h->maxval, &high, r, map, "maxval", whole));
    if (h->kind == RGM_HYPER_LOG) {
        RGM_TRY(read_bound(&h->base, &base, r, map, "base", false));
        if (base && h->base <= 0) {
            base = false;
            RGM_TRY(MISTAKE(r, rgm_yaml_find(map, "base"), "'%s': base is %g, but must be > 0",
                            r->name, h->base));
        }
    }
    if (low && high && base)
        RGM_TRY(check_range(item, r, map));
    if (count == NULL)
        return RGM_OK;
    if (rgm_yaml_int(&h->count, count) != RGM_OK)
        return rgmi_mistake(&r->mistakes, RGM_ERR_CONFIG);
    if (h->count < 1)
        return MISTAKE(r, count, "'%s': count is %s, but must be at least 1", r->name, count->text);
    return RGM_OK;
}

static const char *const keys_of[][8] = {
    [RGM_HYPER_CONST] = {"type", "when", "val", NULL},
    [RGM_HYPER_CATEGORICAL] = {"type", "when", "vals", NULL},
    [RGM_HYPER_INT] = {"type", "when", "minval", "maxval", "count", NULL},
    [RGM_HYPER_DOUBLE] = {"type", "when", "minval", "maxval", "count", NULL},
    [RGM_HYPER_LOG] = {"type", "when", "base", "minval", "maxval", "count", NULL},
};

static int64_t length_of(const char *const *names)
{
    int64_t count = 0;

    while (names[count] != NULL)
        count++;
    return count;
}

static rgm_status check_keys(reader *r, const rgm_yaml_node *map, rgm_hyperparameter_kind kind)
{
    const char *const *keys = keys_of[kind];

    for (int64_t i = 0; i < map->count; i++) {
        const char *key = map->items[i]->key;
        int64_t k = 0;

        while (keys[k] != NULL && strcmp(keys[k], key) != 0)
            k++;
        if (keys[k] == NULL)
            RGM_TRY(MISTAKE(r, map->items[i], "'%s' of type %s has no key '%.100s'%s", r->name,
                            rgm_hyperparameter_kind_names[kind], key,
                            rgm_did_you_mean(key, keys, k, NULL, "its keys are: ").text));
    }
    return RGM_OK;
}

static rgm_status add_item(rgmi_item **out, reader *r, const rgm_yaml_node *node)
{
    rgm_space *s = r->space;

    RGM_TRY(RGM_RESERVE(s->items, r->capacity, s->count + 1));
    *out = &s->items[s->count];
    **out = (rgmi_item){.node = node};
    RGM_TRY(keep(&(*out)->shown.name, r, r->name));
    s->count++;
    return RGM_OK;
}

static rgm_status read_when(rgmi_item *item, reader *r, const rgm_yaml_node *map)
{
    const rgm_yaml_node *when = rgm_yaml_find(map, "when");

    if (when == NULL)
        return RGM_OK;
    if (when->kind != RGM_YAML_SCALAR || when->text[0] == '\0')
        return MISTAKE(r, when, "'%s': when is a text such as \"model.type == gat\"", r->name);
    item->when_node = when;
    return keep(&item->shown.when, r, when->text);
}

static rgm_status read_typed(reader *r, const rgm_yaml_node *map, const rgm_yaml_node *type)
{
    const int64_t kinds = length_of(rgm_hyperparameter_kind_names);
    const rgm_yaml_node *val = rgm_yaml_find(map, "val");
    rgmi_item *item;
    int64_t kind = 0;

    while (kind < kinds && strcmp(rgm_hyperparameter_kind_names[kind], type->text) != 0)
        kind++;
    if (kind == kinds)
        return MISTAKE(
            r, type,
            "'%s' has no type '%.100s'%s; a hyperparameter that is called type is "
            "written type: {type: const, val: ...}",
            r->name, type->text,
            rgm_did_you_mean(type->text, rgm_hyperparameter_kind_names, kinds, NULL, "there are ")
                .text);
    RGM_TRY(add_item(&item, r, map));
    item->shown.kind = (rgm_hyperparameter_kind)kind;
    RGM_TRY(check_keys(r, map, item->shown.kind));
    RGM_TRY(read_when(item, r, map));
    if (kind == RGM_HYPER_CATEGORICAL)
        return read_vals(item, r, map);
    if (kind != RGM_HYPER_CONST)
        return read_numbers(item, r, map);
    if (val == NULL)
        return MISTAKE(r, map, "'%s' needs val", r->name);
    return keep_values(item, r, (rgm_yaml_node *const[]){(rgm_yaml_node *)(uintptr_t)val}, 1);
}

/* ---- entries ------------------------------------------------------------------------------- */

/* "a.b" behind r->name; false: it is no name, which was told. */
static rgm_status enter_name(bool *good, reader *r, size_t size, const rgm_yaml_node *node)
{
    const char *key = node->key;
    size_t length = strlen(key);
    bool empty =
        length == 0 || key[0] == '.' || key[length - 1] == '.' || strstr(key, "..") != NULL;

    *good = !empty && size + 1 + length <= RGMI_LONGEST_NAME;
    if (empty)
        return MISTAKE(r, node, "'%.100s' is no name of a hyperparameter: a part of it is empty",
                       key);
    if (!*good)
        return MISTAKE(r, node, "the name '%.60s...' is longer than %d bytes", key,
                       RGMI_LONGEST_NAME);
    snprintf(r->name + size, sizeof r->name - size, "%s%s", size > 0 ? "." : "", key);
    return RGM_OK;
}

/* "{typ: double, minval: 0, maxval: 1}": a group whose names are the keys of one hyperparameter. */
static bool lacks_type(const rgm_yaml_node *map)
{
    static const char *const keys[] = {"minval", "maxval", "vals", "val", "base", "when"};
    static const char *const type[] = {"type"};
    int64_t kinds = 0, alike = 0, known = 0;

    while (rgm_hyperparameter_kind_names[kinds] != NULL)
        kinds++;
    for (int64_t i = 0; i < map->count; i++) {
        const rgm_yaml_node *item = map->items[i];

        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            known += strcmp(item->key, keys[k]) == 0 && item->kind != RGM_YAML_MAP;
        known += strcmp(item->key, "vals") == 0 && item->kind == RGM_YAML_LIST; /* enough alone */
        for (int64_t k = 0; k < kinds && item->kind == RGM_YAML_SCALAR; k++)
            alike += strcmp(item->text, rgm_hyperparameter_kind_names[k]) == 0 &&
                     rgm_nearest_name(item->key, type, 1) != NULL;
    }
    return alike > 0 || known > 1;
}

/* All below a group whose name is r->name up to `size`. The parser allows 64 levels. */
static rgm_status read_group(reader *r, const rgm_yaml_node *map, size_t size)
{
    for (int64_t i = 0; i < map->count; i++) {
        rgm_yaml_node *node = map->items[i];
        const rgm_yaml_node *type = rgm_yaml_find(node, "type");
        rgmi_item *item;
        bool good;

        RGM_TRY(enter_name(&good, r, size, node));
        if (!good)
            continue;
        if (node->kind != RGM_YAML_MAP) {
            RGM_TRY(add_item(&item, r, node));
            RGM_TRY(keep_values(item, r, &node, 1));
        } else if (type != NULL && type->kind == RGM_YAML_SCALAR) {
            RGM_TRY(read_typed(r, node, type));
        } else if (node->count == 0) {
            RGM_TRY(MISTAKE(r, node, "the group '%s' is empty", r->name));
        } else if (lacks_type(node)) {
            RGM_TRY(MISTAKE(r, node,
                            "'%s' has keys of a hyperparameter, but no 'type': const, categorical, "
                            "int, double or log",
                            r->name));
        } else {
            RGM_TRY(read_group(r, node, strlen(r->name)));
        }
        r->name[size] = '\0';
    }
    return RGM_OK;
}

/* ---- order --------------------------------------------------------------------------------- */

/* By bytes, level by level: the end of a level is below every byte. */
static int compare_names(const void *a, const void *b)
{
    const rgmi_item *first = a, *second = b;
    const unsigned char *x = (const unsigned char *)first->shown.name;
    const unsigned char *y = (const unsigned char *)second->shown.name;
    int p, q;

    while (*x != '\0' && *x == *y) {
        x++;
        y++;
    }
    p = *x == '\0' ? -1 : *x == '.' ? 0 : *x;
    q = *y == '\0' ? -1 : *y == '.' ? 0 : *y;
    if (p != q)
        return p < q ? -1 : 1;
    if (first->node->line != second->node->line) /* equal names: in the order of the file */
        return first->node->line < second->node->line ? -1 : 1;
    return first->node->column < second->node->column ? -1 : 1;
}

static rgm_status check_pair(reader *r, const rgmi_item *a, const rgmi_item *b)
{
    const char *first = a->shown.name, *second = b->shown.name;
    size_t size = strlen(first);

    if (strcmp(first, second) == 0)
        return MISTAKE(r, b->node, "'%s' is there twice; the other is in line %d", second,
                       a->node->line);
    if (strncmp(first, second, size) == 0 && second[size] == '.')
        return MISTAKE(r, b->node,
                       "'%s' is there, but '%s' (line %d) is a hyperparameter and no "
                       "group",
                       second, first, a->node->line);
    return RGM_OK;
}

static rgm_status sort_items(reader *r)
{
    rgm_space *s = r->space;

    if (s->count > 0)
        qsort(s->items, (size_t)s->count, sizeof *s->items, compare_names);
    for (int64_t i = 1; i < s->count; i++)
        RGM_TRY(check_pair(r, &s->items[i - 1], &s->items[i]));
    for (int64_t i = 0; i < s->count; i++)
        RGM_TRY(rgm_map_set(s->names, s->items[i].shown.name, &s->items[i]));
    return RGM_OK;
}

/* ---- relations ----------------------------------------------------------------------------- */

/* The other side of "model.type == gta": a value that the hyperparameter can have. */
static rgm_status check_constant(reader *r, const rgmi_hyper_relation *relation,
                                 const rgm_yaml_node *node)
{
    const rgmi_item *item = relation->names[0];
    const rgm_texts *values = &item->shown.values;
    const char *sign = strpbrk(relation->text, "=!<>"), *right;
    bool ordered = sign == NULL || *sign == '<' || *sign == '>';
    double number;

    if (relation->name_count != 1)
        return RGM_OK;
    right = sign != NULL ? sign : strstr(relation->text, " multiple_of ");
    right += sign != NULL ? strspn(sign, "=!<>") : strlen(" multiple_of ");
    right += strspn(right, " ");
    if (rgm_number_parse(&number, right))
        return RGM_OK;
    if (ordered || values->count == 0)
        return MISTAKE(r, node, "'%.200s': '%.100s' is neither a hyperparameter nor a number",
                       relation->text, right);
    if (strcmp(right, "null") == 0 || strchr(right, '|') != NULL)
        return RGM_OK;
    for (int64_t i = 0; i < values->count; i++)
        if (item->plain[i] != NULL && strcmp(item->plain[i], right) == 0)
            return RGM_OK;
    return MISTAKE(r, node, "'%.200s': '%s' never is '%.100s'%s", relation->text, item->shown.name,
                   right,
                   rgm_did_you_mean(right, values->items, values->count < 64 ? values->count : 64,
                                    NULL, "its values are: ")
                       .text);
}

/* One relation; *out is left without a text where it is wrong, which was told. */
static rgm_status read_relation(rgmi_hyper_relation *out, reader *r, const rgm_yaml_node *node,
                                const char *text)
{
    rgmi_space_keys keys = {.space = r->space};
    const rgm_rule_keys rule_keys = rgmi_space_rule_keys(&keys);
    rgm_yaml_node part = *node;
    rgm_status status;

    part.text = text;
    status = rgm_rule_check_form(&part, &rule_keys);
    if (status != RGM_OK)
        return rgmi_mistake(&r->mistakes, status);
    *out = (rgmi_hyper_relation){.text = text, .name_count = keys.found_count};
    memcpy(out->names, keys.found, sizeof out->names);
    return check_constant(r, out, node);
}

/* "a == 1 or b == 2": one relation each. */
static rgm_status read_condition(rgmi_item *item, reader *r)
{
    static const char or [] = " or ";
    int64_t count = 1;
    char *text;

    for (const char *at = item->shown.when; (at = strstr(at, or)) != NULL; at += strlen(or))
        count++;
    text = rgm_arena_strdup(r->space->arena, item->shown.when);
    item->when = rgm_arena_alloc(r->space->arena, (size_t)count * sizeof *item->when);
    if (item->when == NULL || text == NULL)
        return no_memory();
    for (int64_t i = 0; i < count; i++) {
        char *end = strstr(text, or);

        if (end != NULL)
            *end = '\0';
        RGM_TRY(read_relation(&item->when[i], r, item->when_node, text));
        if (end != NULL)
            text = end + strlen(or);
    }
    item->when_count = count;
    return RGM_OK;
}

static rgm_status read_constraints(reader *r, const rgm_yaml_node *list)
{
    rgm_space *s = r->space;

    if (list == NULL)
        return RGM_OK;
    if (list->kind != RGM_YAML_LIST)
        return MISTAKE(r, list,
                       "constraints is a list of texts such as \"model.heads <= model.hidden\"");
    s->constraints = rgm_arena_alloc(s->arena, (size_t)(list->count + 1) * sizeof *s->constraints);
    if (s->constraints == NULL)
        return no_memory();
    for (int64_t i = 0; i < list->count; i++) {
        const rgm_yaml_node *item = list->items[i];
        const char *text;

        if (item->kind != RGM_YAML_SCALAR) {
            RGM_TRY(MISTAKE(r, item,
                            "a constraint is a text such as \"model.heads <= "
                            "model.hidden\""));
            continue;
        }
        RGM_TRY(keep(&text, r, item->text));
        RGM_TRY(read_relation(&s->constraints[s->constraint_count], r, item, text));
        s->constraint_count++;
    }
    return RGM_OK;
}

/* ---- order of drawing ---------------------------------------------------------------------- */

/* The next item that a condition names, of 2 k + 0..1 for its k-th relation; NULL: there are no
 * more. */
static rgmi_item *next_named(int64_t *next, const rgm_space *s, const rgmi_item *item)
{
    while (*next < 2 * item->when_count) {
        const rgmi_hyper_relation *relation = &item->when[*next / 2];
        int side = (int)(*next % 2);

        (*next)++;
        if (side < relation->name_count)
            return &s->items[relation->names[side] - s->items];
    }
    return NULL;
}

/* Depth first from `root`, without recursion: `path` are the items on the way, `next` what of their
 * conditions is looked at next. place: -1 not seen, -2 on the way. */
static rgm_status place_item(reader *r, rgmi_item *root, rgmi_item **path, int64_t *next,
                             int64_t *placed)
{
    rgm_space *s = r->space;
    int64_t depth = 0;

    path[0] = root;
    next[0] = 0;
    root->place = -2;
    while (depth >= 0) {
        rgmi_item *item = path[depth], *need = next_named(&next[depth], s, item);

        if (need == NULL) {
            item->place = *placed;
            s->order[(*placed)++] = item;
            depth--;
        } else if (need->place == -2) {
            RGM_TRY(MISTAKE(r, item->when_node,
                            "the condition of '%s' leads back to '%s' in a circle",
                            item->shown.name, need->shown.name));
        } else if (need->place == -1) {
            need->place = -2;
            path[++depth] = need;
            next[depth] = 0;
        }
    }
    return RGM_OK;
}

static rgm_status order_items(reader *r)
{
    rgm_status status = RGM_OK;
    rgm_space *s = r->space;
    rgmi_item **path = NULL;
    int64_t *next = NULL, placed = 0;

    s->order = rgm_arena_alloc(s->arena, (size_t)(s->count + 1) * sizeof(rgmi_item *));
    if (s->order == NULL)
        return no_memory();
    RGM_GO(RGM_NEW(path, s->count + 1));
    RGM_GO(RGM_NEW(next, s->count + 1));
    for (int64_t i = 0; i < s->count; i++)
        s->items[i].place = -1;
    for (int64_t i = 0; i < s->count; i++)
        if (s->items[i].place == -1)
            RGM_GO(place_item(r, &s->items[i], path, next, &placed));
done:
    rgm_free(path);
    rgm_free(next);
    return status;
}

/* ---- all of it ----------------------------------------------------------------------------- */

static rgm_status hash_sources(rgm_space *s, const rgm_yaml_node *a, const rgm_yaml_node *b)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgm_text_add(&text, "", 0));
    if (a != NULL)
        RGM_GO(rgm_yaml_print_flow(&text, a, false));
    RGM_GO(rgm_text_add(&text, "\n", 1));
    if (b != NULL)
        RGM_GO(rgm_yaml_print_flow(&text, b, false));
    s->hash = rgm_hash64(text.data, (size_t)text.size);
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status read_all(reader *r, const rgm_yaml_node *hyperparameters,
                           const rgm_yaml_node *constraints)
{
    rgm_space *s = r->space;

    if (hyperparameters != NULL && hyperparameters->kind != RGM_YAML_MAP)
        RGM_TRY(MISTAKE(r, hyperparameters, "hyperparameters is a map of names to what they are"));
    else if (hyperparameters != NULL)
        RGM_TRY(read_group(r, hyperparameters, 0));
    RGM_TRY(sort_items(r));
    for (int64_t i = 0; i < s->count; i++)
        if (s->items[i].when_node != NULL)
            RGM_TRY(read_condition(&s->items[i], r));
    RGM_TRY(order_items(r));
    RGM_TRY(read_constraints(r, constraints));
    return hash_sources(s, hyperparameters, constraints);
}

rgm_status rgm_space_read(rgm_space **out, const rgm_yaml_node *hyperparameters,
                          const rgm_yaml_node *constraints)
{
    rgm_status status = RGM_OK;
    reader r = {0};

    *out = NULL;
    RGM_GO(RGM_NEW(r.space, 1));
    atomic_init(&r.space->references, 1);
    RGM_GO(rgm_arena_create(&r.space->arena));
    RGM_GO(rgm_map_create(&r.space->names));
    RGM_GO(read_all(&r, hyperparameters, constraints));
    RGM_GO(rgmi_mistakes_tell(&r.mistakes));
    for (int64_t i = 0; i < r.space->count; i++)
        r.space->items[i].node = r.space->items[i].when_node = NULL;
    *out = r.space;
    r.space = NULL;
done:
    rgm_text_clear(&r.mistakes.lines);
    rgm_space_release(r.space);
    return status;
}
