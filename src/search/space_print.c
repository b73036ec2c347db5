/*
 * Values of a space as text, and back: one as YAML, all as JSON, and a known point out of a file.
 */
#include "search_internal.h"

#include <regimen/search_live.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

rgm_status rgm_space_print_value(rgm_text *out, const rgm_space *space, int64_t i,
                                 const rgm_hyper_value *value)
{
    const rgmi_item *item = space->order[i];

    if (!value->is_set)
        return RGM_OK;
    switch (item->shown.kind) {
    case RGM_HYPER_CONST:
    case RGM_HYPER_CATEGORICAL:
        return rgm_text_printf(out, "%s", item->shown.values.items[value->choice]);
    case RGM_HYPER_INT:
        return rgm_text_printf(out, "%lld", (long long)value->integer);
    default:
        return rgm_json_print_number(out, value->number);
    }
}

/* ---- JSON ---------------------------------------------------------------------------------- */

/* In a section `hyperparameters` a map with the key "type", and any other map, is no value. */
static bool needs_const(const char *key, const rgmi_item *item, const rgm_hyper_value *value)
{
    rgm_hyperparameter_kind kind = item->shown.kind;

    return strcmp(key, "type") == 0 ||
           ((kind == RGM_HYPER_CONST || kind == RGM_HYPER_CATEGORICAL) &&
            item->json[value->choice][0] == '{');
}

static rgm_status write_plain(rgm_json_writer *w, const char *key, const rgmi_item *item,
                              const rgm_hyper_value *value)
{
    if (item->shown.kind == RGM_HYPER_INT)
        return rgm_json_write_int(w, key, value->integer);
    if (item->shown.kind == RGM_HYPER_DOUBLE || item->shown.kind == RGM_HYPER_LOG)
        return rgm_json_write_number(w, key, value->number);
    return rgm_json_write_printed(w, key, item->json[value->choice]);
}

static rgm_status write_value(rgm_json_writer *w, const char *key, const rgmi_item *item,
                              const rgm_hyper_value *value, bool as_section)
{
    if (!as_section || !needs_const(key, item, value))
        return write_plain(w, key, item, value);
    RGM_TRY(rgm_json_open_object(w, key, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_text(w, "type", "const"));
    RGM_TRY(write_plain(w, "val", item, value));
    return rgm_json_close(w);
}

/* Bytes of the groups that two names share: "model." of model.heads and model.hidden. */
static size_t shared_groups(const char *a, const char *b)
{
    size_t shared = 0;

    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
        if (a[i] == '.')
            shared = i + 1;
    return shared;
}

static int levels(const char *name, size_t from)
{
    int count = 0;

    for (const char *at = name + from; (at = strchr(at, '.')) != NULL; at++)
        count++;
    return count;
}

/* In the groups of its name, of which those before `shared` are open. */
static rgm_status write_item(rgm_json_writer *w, const rgmi_item *item, size_t shared,
                             const rgm_hyper_value *value, bool as_section)
{
    char part[RGMI_LONGEST_NAME + 1];

    for (const char *at = item->shown.name + shared;;) {
        size_t size = strcspn(at, ".");

        snprintf(part, sizeof part, "%.*s", (int)size, at);
        if (at[size] == '\0')
            return write_value(w, part, item, value, as_section);
        RGM_TRY(rgm_json_open_object(w, part, RGM_JSON_SPACED));
        at += size + 1;
    }
}

static rgm_status print(rgm_text *out, const rgm_space *space, const rgm_hyper_value *values,
                        bool as_section)
{
    rgm_json_writer w = {.out = out};
    const char *last = NULL;

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    for (int64_t i = 0; i < space->count; i++) { /* by name: groups lie together */
        const rgmi_item *item = &space->items[i];
        size_t shared = last != NULL ? shared_groups(last, item->shown.name) : 0;

        if (!values[item->place].is_set)
            continue;
        for (int open = last != NULL ? levels(last, shared) : 0; open > 0; open--)
            RGM_TRY(rgm_json_close(&w));
        RGM_TRY(write_item(&w, item, shared, &values[item->place], as_section));
        last = item->shown.name;
    }
    while (w.depth > 0)
        RGM_TRY(rgm_json_close(&w));
    return RGM_OK;
}

rgm_status rgm_space_print_json(rgm_text *out, const rgm_space *space,
                                const rgm_hyper_value *values)
{
    return print(out, space, values, false);
}

rgm_status rgm_space_print_section(rgm_text *out, const rgm_space *space,
                                   const rgm_hyper_value *values)
{
    return print(out, space, values, true);
}

/* ---- known points -------------------------------------------------------------------------- */

typedef struct point {
    rgm_hyper_value *values;
    const rgm_space *space;
    rgmi_mistakes mistakes;
    const rgm_yaml_node **given; /* [count] by place */
    const rgm_hyper_value *base; /* [count] where nothing is given; NULL: none */
    bool any_bounds;             /* of a trial: they may have been others then */
    char name[RGMI_LONGEST_NAME + 1];
} point;

#define MISTAKE(p, node, ...) rgmi_mistake(&(p)->mistakes, rgm_yaml_fail((node), __VA_ARGS__))

static bool is_group(const rgm_space *space, const char *name)
{
    size_t size = strlen(name);

    for (int64_t i = 0; i < space->count; i++)
        if (strncmp(space->items[i].shown.name, name, size) == 0 &&
            space->items[i].shown.name[size] == '.')
            return true;
    return false;
}

static rgm_status unknown_name(point *p, const rgm_yaml_node *node)
{
    const char *names[1024];
    int64_t count = 0;

    if (rgmi_mistakes_hint(&p->mistakes))
        for (; count < p->space->count && count < 1024; count++)
            names[count] = p->space->items[count].shown.name;
    return MISTAKE(p, node, "there is no hyperparameter '%s'%s", p->name,
                   rgm_did_you_mean(p->name, names, count, NULL, NULL).text);
}

static rgm_status gather(point *p, const rgm_yaml_node *map, size_t size)
{
    for (int64_t i = 0; i < map->count; i++) {
        const rgm_yaml_node *node = map->items[i];
        const rgmi_item *item;

        if (size + 1 + strlen(node->key) > RGMI_LONGEST_NAME) {
            RGM_TRY(MISTAKE(p, node, "there is no hyperparameter '%.60s...'", node->key));
            continue;
        }
        snprintf(p->name + size, sizeof p->name - size, "%s%s", size > 0 ? "." : "", node->key);
        item = rgmi_space_item(p->space, p->name);
        if (item != NULL && p->given[item->place] != NULL)
            RGM_TRY(MISTAKE(p, node, "'%s' is given twice", p->name));
        else if (item != NULL)
            p->given[item->place] = node;
        else if (node->kind == RGM_YAML_MAP && is_group(p->space, p->name))
            RGM_TRY(gather(p, node, strlen(p->name)));
        else
            RGM_TRY(unknown_name(p, node));
        p->name[size] = '\0';
    }
    return RGM_OK;
}

/* A value of a category or const: the same YAML, or the same number. */
static rgm_status read_choice(point *p, rgm_hyper_value *value, const rgmi_item *item,
                              const rgm_yaml_node *node)
{
    rgm_status status = RGM_OK;
    const rgm_texts *values = &item->shown.values;
    rgm_text text = {0};
    double a, b;

    RGM_GO(rgm_yaml_print_flow(&text, node, false));
    for (int64_t i = 0; i < values->count; i++) {
        const char *plain = item->plain[i];
        bool scalar = node->kind == RGM_YAML_SCALAR && plain != NULL;

        if (strcmp(values->items[i], text.size > 0 ? text.data : "null") != 0 &&
            !(scalar && strcmp(plain, node->text) == 0) &&
            !(scalar && rgm_number_parse(&a, plain) && rgm_number_parse(&b, node->text) && a == b))
            continue;
        value->choice = i;
        goto done;
    }
    status =
        MISTAKE(p, node, "'%s' never is %.100s%s", item->shown.name, text.data,
                rgm_did_you_mean(text.data, values->items, values->count < 64 ? values->count : 64,
                                 NULL, "its values are: ")
                    .text);
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status read_number(point *p, rgm_hyper_value *value, const rgmi_item *item,
                              const rgm_yaml_node *node)
{
    bool whole = item->shown.kind == RGM_HYPER_INT;
    double low, high, number, slack;
    rgm_status status =
        whole ? rgm_yaml_int(&value->integer, node) : rgm_yaml_float(&value->number, node);

    if (status != RGM_OK)
        return rgmi_mistake(&p->mistakes, status);
    rgmi_item_range(&low, &high, &item->shown);
    number = whole ? (double)value->integer : value->number;
    /* base^minval is rarely what a person writes for it to the last bit. */
    slack = item->shown.kind == RGM_HYPER_LOG ? 1e-12 : 0;
    if (p->any_bounds || (number >= low * (1 - slack) && number <= high * (1 + slack)))
        return RGM_OK;
    return MISTAKE(p, node, "'%s' is %s, but must be in %g .. %g", item->shown.name, node->text,
                   low, high);
}

static rgm_status read_value(point *p, const rgm_yaml_node *map, int64_t i)
{
    const rgmi_item *item = p->space->order[i];
    const rgm_yaml_node *node = p->given[i];
    rgm_hyper_value *value = &p->values[i];

    *value = (rgm_hyper_value){.is_set = rgm_space_applies(p->space, i, p->values)};
    if (!value->is_set)
        return node == NULL ? RGM_OK
                            : MISTAKE(p, node, "'%s' is given, but is there only when %.200s",
                                      item->shown.name, item->shown.when);
    if (node == NULL && p->base != NULL && p->base[i].is_set) {
        *value = p->base[i];
        return RGM_OK;
    }
    if (node == NULL)
        return item->shown.kind == RGM_HYPER_CONST
                   ? RGM_OK
                   : MISTAKE(p, map, "the point says nothing of '%s'", item->shown.name);
    if (item->shown.kind == RGM_HYPER_CONST || item->shown.kind == RGM_HYPER_CATEGORICAL)
        return read_choice(p, value, item, node);
    return read_number(p, value, item, node);
}

static rgm_status read_point(point *p, const rgm_yaml_node *map)
{
    rgm_status status = RGM_OK;
    const char *broken;

    if (map->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(map, "a point is a map of hyperparameters to values");
    RGM_GO(RGM_NEW(p->given, p->space->count));
    RGM_GO(gather(p, map, 0));
    for (int64_t i = 0; i < p->space->count; i++)
        RGM_GO(read_value(p, map, i));
    if (p->mistakes.count == 0 && !p->any_bounds && !rgm_space_holds(p->space, p->values, &broken))
        RGM_GO(MISTAKE(p, map, "the point breaks the constraint '%.200s'", broken));
    status = rgmi_mistakes_tell(&p->mistakes);
done:
    rgm_text_clear(&p->mistakes.lines);
    rgm_free(p->given);
    return status;
}

rgm_status rgm_space_read_point(rgm_hyper_value *values, const rgm_space *space,
                                const rgm_yaml_node *map)
{
    return read_point(&(point){.values = values, .space = space}, map);
}

rgm_status rgm_space_read_trial(rgm_hyper_value *values, const rgm_space *space,
                                const rgm_yaml_node *map)
{
    return read_point(&(point){.values = values, .space = space, .any_bounds = true}, map);
}

rgm_status rgm_space_vary_point(rgm_hyper_value *values, const rgm_space *space,
                                const rgm_hyper_value *base, const rgm_yaml_node *map)
{
    return read_point(&(point){.values = values, .space = space, .base = base}, map);
}
