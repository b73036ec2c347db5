/*
 * Lists every key of an experiment: those of the document with its values, and the tables' other
 * keys with the options' values, which are the defaults.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

/* ---- nodes --------------------------------------------------------------------------------- */

static rgm_status new_node(rgm_yaml_node **out, rgm_experiment *e, rgm_yaml_kind kind,
                           int64_t count)
{
    rgm_yaml_node *node = rgm_arena_alloc(e->arena, sizeof *node);

    *out = node;
    if (node == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the list of values");
    node->kind = kind;
    node->origin = "default";
    node->count = count;
    if (count > 0) {
        node->items = rgm_arena_alloc(e->arena, (size_t)count * sizeof *node->items);
        if (node->items == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the list of values");
    }
    return RGM_OK;
}

static rgm_status text_node(rgm_yaml_node **out, rgm_experiment *e, const char *text, bool quoted)
{
    RGM_TRY(new_node(out, e, RGM_YAML_SCALAR, 0));
    (*out)->quoted = quoted;
    (*out)->text = rgm_arena_strdup(e->arena, text);
    if ((*out)->text == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the list of values");
    return RGM_OK;
}

static rgm_status int_node(rgm_yaml_node **out, rgm_experiment *e, int64_t number)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)number);
    return text_node(out, e, text, false);
}

/* The shortest decimal that reads back to the same number. */
static rgm_status float_node(rgm_yaml_node **out, rgm_experiment *e, double number)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    double again;

    if (fabs(number) < 1e9 && number == floor(number))
        return int_node(out, e, (int64_t)number);
    for (int digits = 1; digits <= 17; digits++) {
        rgm_text_clear(&text);
        RGM_GO(rgm_text_printf(&text, "%.*g", digits, number));
        if (rgm_number_parse(&again, text.data) && again == number)
            break;
    }
    RGM_GO(text_node(out, e, text.data, false));
done:
    rgm_text_clear(&text);
    return status;
}

/* Makes the node of item i of a list. */
typedef rgm_status item_node(rgm_yaml_node **out, rgm_experiment *e, const void *list, int64_t i);

static rgm_status int_item(rgm_yaml_node **out, rgm_experiment *e, const void *list, int64_t i)
{
    return int_node(out, e, ((const rgm_ints *)list)->items[i]);
}

static rgm_status float_item(rgm_yaml_node **out, rgm_experiment *e, const void *list, int64_t i)
{
    return float_node(out, e, ((const rgm_floats *)list)->items[i]);
}

static rgm_status text_item(rgm_yaml_node **out, rgm_experiment *e, const void *list, int64_t i)
{
    return text_node(out, e, ((const rgm_texts *)list)->items[i], true);
}

static rgm_status list_node(rgm_yaml_node **out, rgm_experiment *e, const void *list, int64_t count,
                            item_node *item)
{
    RGM_TRY(new_node(out, e, RGM_YAML_LIST, count));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(item(&(*out)->items[i], e, list, i));
    return RGM_OK;
}

/* ---- the list ------------------------------------------------------------------------------ */

const char *rgmi_place_text(rgm_arena *arena, const rgm_yaml_node *node)
{
    char text[600];

    if (strncmp(node->origin, "--set ", 6) == 0)
        return "--set";
    if (node->origin[0] == '$' || node->origin[0] == '-')
        return node->origin;
    snprintf(text, sizeof text, "%s:%d", node->origin, node->line);
    return rgm_arena_strdup(arena, text);
}

static rgm_status add_value(rgm_experiment *e, const char *key, const rgm_yaml_node *node,
                            bool given, bool writable)
{
    rgm_experiment_value *value;

    RGM_TRY(RGM_RESERVE(e->values, e->value_capacity, e->value_count + 1));
    value = &e->values[e->value_count++];
    *value = (rgm_experiment_value){.value = node, .given = given, .writable = writable};
    value->key = rgm_arena_strdup(e->arena, key);
    value->origin = given ? rgmi_place_text(e->arena, node) : "default";
    if (value->key == NULL || value->origin == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the list of values");
    return RGM_OK;
}

static rgm_status join(char path[256], const char *folder, const char *name)
{
    if (snprintf(path, 256, "%s%s%s", folder, folder[0] != '\0' ? "." : "", name) >= 256)
        return RGM_FAIL(RGM_ERR_CONFIG, "the key '%.40s...%s' is longer than 255 bytes", folder,
                        name);
    return RGM_OK;
}

/* Add the values of a document, down to its scalars and lists. */
static rgm_status add_given(rgm_experiment *e, const char *path, const rgm_yaml_node *node)
{
    char below[256];

    if (node->kind != RGM_YAML_MAP || node->count == 0)
        return add_value(e, path, node, true, true);
    for (int64_t i = 0; i < node->count; i++) {
        RGM_TRY(join(below, path, node->items[i]->key));
        RGM_TRY(add_given(e, below, node->items[i]));
    }
    return RGM_OK;
}

static bool in_bounds(const rgm_field *field, double number)
{
    return isfinite(number) &&
           ((field->min == 0 && field->max == 0) || (number >= field->min && number <= field->max));
}

static rgm_status default_node(rgm_yaml_node **out, bool *writable, rgm_experiment *e,
                               const rgm_field *field, const void *member)
{
    *out = NULL;
    *writable = true;
    switch (field->kind) {
    case RGM_FIELD_INT:
        *writable = in_bounds(field, (double)*(const int64_t *)member);
        return int_node(out, e, *(const int64_t *)member);
    case RGM_FIELD_FLOAT:
        *writable = in_bounds(field, *(const double *)member);
        return float_node(out, e, *(const double *)member);
    case RGM_FIELD_BOOL:
        return text_node(out, e, *(const bool *)member ? "true" : "false", false);
    case RGM_FIELD_CHOICE:
        return text_node(out, e, rgm_field_choice(field, *(const int *)member), false);
    case RGM_FIELD_TEXT:
        *writable = *(const char *const *)member != NULL;
        return *writable ? text_node(out, e, *(const char *const *)member, true) : RGM_OK;
    case RGM_FIELD_INTS:
        return list_node(out, e, member, ((const rgm_ints *)member)->count, int_item);
    case RGM_FIELD_FLOATS:
        return list_node(out, e, member, ((const rgm_floats *)member)->count, float_item);
    case RGM_FIELD_TEXTS:
        /* A missing list is not always the same as an empty one. */
        *writable = ((const rgm_texts *)member)->items != NULL;
        return list_node(out, e, member, ((const rgm_texts *)member)->count, text_item);
    case RGM_FIELD_SECTIONS: /* a file has no place for a program's options */
        *writable = ((const rgm_sections *)member)->count == 0;
        return new_node(out, e, RGM_YAML_LIST, 0);
    default:
        *writable = false;
        return RGM_OK;
    }
}

/* Add a default map to numbers, entry by entry. */
static rgm_status add_numbers(rgm_experiment *e, const char *path, const rgm_numbers *numbers)
{
    rgm_yaml_node *node;
    char key[256];

    for (int64_t i = 0; i < numbers->count; i++) {
        RGM_TRY(join(key, path, numbers->names[i]));
        RGM_TRY(float_node(&node, e, numbers->values[i]));
        RGM_TRY(add_value(e, key, node, false, true));
    }
    return numbers->count > 0 ? RGM_OK : add_value(e, path, NULL, false, false);
}

/* Add a section by its table; keys that the table lacks (`type`) come from the document. */
static rgm_status add_fields(rgm_experiment *e, const char *path, const rgm_field *fields,
                             const void *options, const rgm_yaml_node *section)
{
    char key[256];

    for (; fields->name != NULL; fields++) {
        const rgm_yaml_node *given = rgm_yaml_find(section, fields->name);
        const void *member = (const char *)options + fields->offset;
        rgm_yaml_node *node;
        bool writable;

        RGM_TRY(join(key, path, fields->name));
        if (fields->kind == RGM_FIELD_GROUP) {
            RGM_TRY(add_fields(e, key, fields->group, member, given));
        } else if (given != NULL) {
            RGM_TRY(add_given(e, key, given));
        } else if (fields->kind == RGM_FIELD_NUMBERS) {
            RGM_TRY(add_numbers(e, key, member));
        } else {
            RGM_TRY(default_node(&node, &writable, e, fields, member));
            RGM_TRY(add_value(e, key, node, false, writable));
        }
    }
    return RGM_OK;
}

/* The same, after the keys that the table lacks: `type`, `loss_weight`. */
static rgm_status add_typed(rgm_experiment *e, const char *path, const rgm_field *fields,
                            const void *options, const rgm_yaml_node *section)
{
    static const char *const before[] = {"type", "loss_weight"};
    char key[256];

    for (size_t i = 0; i < sizeof before / sizeof *before; i++) {
        const rgm_yaml_node *given = rgm_yaml_find(section, before[i]);

        RGM_TRY(join(key, path, before[i]));
        if (given != NULL)
            RGM_TRY(add_given(e, key, given));
    }
    return add_fields(e, path, fields, options, section);
}

/* ---- sections ------------------------------------------------------------------------------ */

static rgm_status add_parts(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *one = rgm_yaml_find(root, "task"), *many = rgm_yaml_find(root, "tasks");
    const rgm_task_part *parts = e->setup.parts;
    char path[256];

    if (one != NULL)
        return add_typed(e, "task", parts[0].type->fields, parts[0].options, one);
    for (int64_t i = 0; i < e->setup.part_count; i++) {
        RGM_TRY(join(path, "tasks", parts[i].name));
        RGM_TRY(add_typed(e, path, parts[i].type->fields, parts[i].options, many->items[i]));
    }
    return RGM_OK;
}

static rgm_status add_type(rgm_experiment *e, const char *key, const rgm_yaml_node *section,
                           const char *name)
{
    const rgm_yaml_node *given = rgm_yaml_find(section, "type");
    rgm_yaml_node *node;

    if (given != NULL)
        return add_given(e, key, given);
    RGM_TRY(text_node(&node, e, name, false));
    return add_value(e, key, node, false, true);
}

/* Add a number, or a schedule by its own table. */
static rgm_status add_rate(rgm_experiment *e, const rgm_yaml_node *given)
{
    const rgm_schedule *schedule = &e->optimizer.learning_rate;
    const char *key = "optimizer.learning_rate";
    rgm_yaml_node *node;

    if (given != NULL && given->kind == RGM_YAML_MAP) {
        RGM_TRY(add_type(e, "optimizer.learning_rate.type", given, schedule->type->name));
        RGM_TRY(add_fields(e, key, schedule->type->fields, schedule, given));
        return schedule->type->own != NULL
                   ? add_fields(e, key, schedule->type->own->fields, schedule->own, given)
                   : RGM_OK;
    }
    if (given != NULL)
        return add_given(e, key, given);
    RGM_TRY(float_node(&node, e, schedule->initial));
    return add_value(e, key, node, false, true);
}

static rgm_status add_optimizer(rgm_experiment *e, const rgm_yaml_node *section)
{
    const rgm_optimizer_options *o = &e->optimizer;

    RGM_TRY(add_type(e, "optimizer.type", section, o->type->name));
    RGM_TRY(add_rate(e, rgm_yaml_find(section, "learning_rate")));
    RGM_TRY(add_fields(e, "optimizer", o->type->fields, o, section));
    return o->type->own != NULL ? add_fields(e, "optimizer", o->type->own->fields, o->own, section)
                                : RGM_OK;
}

static rgm_status add_list(rgm_experiment *e, const char *name, const rgm_yaml_node *root)
{
    const rgm_yaml_node *given = rgm_yaml_find(root, name);
    rgm_yaml_node *none;

    if (given != NULL)
        return add_value(e, name, given, true, true);
    RGM_TRY(new_node(&none, e, RGM_YAML_LIST, 0));
    return add_value(e, name, none, false, true);
}

rgm_status rgmi_values_collect(rgm_experiment *e)
{
    const rgm_yaml_node *root = rgm_yaml_root(e->yaml);
    const rgm_yaml_node *data = rgm_yaml_find(root, "data"), *model = rgm_yaml_find(root, "model");

    if (e->description[0] != '\0')
        RGM_TRY(add_given(e, "description", rgm_yaml_find(root, "description")));
    RGM_TRY(add_fields(e, "data", e->type->data->fields, e->setup.data, data));
    RGM_TRY(add_parts(e, root));
    RGM_TRY(add_typed(e, "model", e->setup.model->fields, e->setup.model_options, model));
    RGM_TRY(add_optimizer(e, rgm_yaml_find(root, "optimizer")));
    RGM_TRY(
        add_fields(e, "trainer", rgm_trainer_fields, &e->trainer, rgm_yaml_find(root, "trainer")));
    RGM_TRY(
        add_fields(e, "runtime", rgm_runtime_fields, &e->runtime, rgm_yaml_find(root, "runtime")));
    RGM_TRY(add_list(e, "export", root));
    if (rgm_yaml_find(root, "actions") != NULL)
        RGM_TRY(add_given(e, "actions", rgm_yaml_find(root, "actions")));
    return add_list(e, "restrictions", root);
}

int64_t rgm_experiment_values(const rgm_experiment_value **values, const rgm_experiment *experiment)
{
    *values = experiment->values;
    return experiment->value_count;
}

const rgm_experiment_value *rgm_experiment_find(const rgm_experiment *experiment, const char *key)
{
    for (int64_t i = 0; i < experiment->value_count; i++)
        if (strcmp(experiment->values[i].key, key) == 0)
            return &experiment->values[i];
    return NULL;
}
