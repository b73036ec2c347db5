/*
 * Options from YAML: a table of fields says how the entries of a map fill a struct. Numbers are
 * read here and nowhere else, independent of the locale and with nothing left over: "1e-4" is a
 * number, "1_000", "0x10", "12 apples" and "nan" are not.
 */
#include "base_internal.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LARGEST_PATH 512

rgm_status rgm_yaml_fail(const rgm_yaml_node *node, const char *format, ...)
{
    char text[900];
    va_list arguments;

    va_start(arguments, format);
    rgmi_vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    if (node == NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s", text);
    /* What came from the command line or the environment has no line and column. */
    if (node->origin != NULL && (strncmp(node->origin, "--", 2) == 0 || node->origin[0] == '$'))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: %s", node->origin, text);
    return RGM_FAIL(RGM_ERR_CONFIG, "%s:%d:%d: %s", node->origin ? node->origin : "?", node->line,
                    node->column, text);
}

/* ---- scalars ------------------------------------------------------------------------------- */

/* What stands at a node, for "expected ..., got ...": text is cut so that messages stay readable.
 */
static const char *found(const rgm_yaml_node *node, char *buffer, size_t size)
{
    if (node->kind == RGM_YAML_LIST)
        return "a list";
    if (node->kind == RGM_YAML_MAP)
        return "a map";
    if (node->text[0] == 0 && !node->quoted)
        return "nothing";
    snprintf(buffer, size, "%s\"%.60s\"%s", node->quoted ? "the text " : "", node->text,
             strlen(node->text) > 60 ? "..." : "");
    return buffer;
}

static rgm_status expected(const rgm_yaml_node *node, const char *what)
{
    char buffer[96];

    if (node->key != NULL)
        return rgm_yaml_fail(node, "'%s' should be %s, but is %s", node->key, what,
                             found(node, buffer, sizeof buffer));
    return rgm_yaml_fail(node, "expected %s, got %s", what, found(node, buffer, sizeof buffer));
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* [+-] digits [. digits] [e [+-] digits], at least one digit before the exponent. */
static bool is_decimal(const char *text, bool whole)
{
    int digits = 0;

    text += *text == '+' || *text == '-';
    for (; is_digit(*text); text++)
        digits++;
    if (whole)
        return digits > 0 && *text == 0;
    if (*text == '.') {
        for (text++; is_digit(*text); text++)
            digits++;
    }
    if (digits == 0)
        return false;
    if (*text == 'e' || *text == 'E') {
        text++;
        text += *text == '+' || *text == '-';
        if (!is_digit(*text))
            return false;
        while (is_digit(*text))
            text++;
    }
    return *text == 0;
}

rgm_status rgm_yaml_int(int64_t *out, const rgm_yaml_node *node)
{
    long long number;

    *out = 0;
    if (node->kind != RGM_YAML_SCALAR || node->quoted || !is_decimal(node->text, true))
        return expected(node, "a whole number");
    errno = 0;
    number = strtoll(node->text, NULL, 10);
    if (errno == ERANGE)
        return rgm_yaml_fail(node, "%.40s does not fit into 64 bits", node->text);
    *out = number;
    return RGM_OK;
}

rgm_status rgm_yaml_float(double *out, const rgm_yaml_node *node)
{
    locale_t locale = rgmi_c_locale();
    double number;

    *out = 0;
    if (node->kind != RGM_YAML_SCALAR || node->quoted || !is_decimal(node->text, false))
        return expected(node, "a number");
    if (locale == (locale_t)0)
        return RGM_FAIL(RGM_ERR_NOMEM, "no memory for the C locale");
    number = strtod_l(node->text, NULL, locale);
    if (!isfinite(number))
        return rgm_yaml_fail(node, "%.40s is too large for a double", node->text);
    *out = number;
    return RGM_OK;
}

rgm_status rgm_yaml_bool(bool *out, const rgm_yaml_node *node)
{
    bool scalar = node->kind == RGM_YAML_SCALAR && !node->quoted;

    *out = scalar && strcmp(node->text, "true") == 0;
    if (!*out && !(scalar && strcmp(node->text, "false") == 0))
        return expected(node, "true or false");
    return RGM_OK;
}

/* ---- one field ----------------------------------------------------------------------------- */

static bool in_bounds(const rgm_field *field, double number)
{
    return (field->min == 0 && field->max == 0) || (number >= field->min && number <= field->max);
}

/* "at least 1", "above 0", "in [0, 1)". */
static const char *bounds_text(const rgm_field *field, char *buffer, size_t size)
{
    bool above = field->min == RGM_ABOVE_0, below = field->max == RGM_BELOW_1;
    double min = above ? 0 : field->min, max = below ? 1 : field->max;

    if (isinf(field->max))
        snprintf(buffer, size, "%s %g", above ? "above" : "at least", min);
    else if (isinf(field->min))
        snprintf(buffer, size, "%s %g", below ? "below" : "at most", max);
    else if (above || below)
        snprintf(buffer, size, "in %c%g, %g%c", above ? '(' : '[', min, max, below ? ')' : ']');
    else
        snprintf(buffer, size, "in %g .. %g", min, max);
    return buffer;
}

static rgm_status check_bounds(const rgm_field *field, const rgm_yaml_node *node, double number)
{
    char bounds[96];

    if (in_bounds(field, number))
        return RGM_OK;
    return rgm_yaml_fail(node, "'%s' is %s, but must be %s", node->key ? node->key : field->name,
                         node->text, bounds_text(field, bounds, sizeof bounds));
}

const char *rgm_field_choice(const rgm_field *field, int value)
{
    for (int i = 0; field->choices[i] != NULL; i++)
        if (value == (field->values != NULL ? field->values[i] : i))
            return field->choices[i];
    return NULL;
}

static rgm_status read_choice(int *out, const rgm_field *field, const rgm_yaml_node *node)
{
    bool scalar = node->kind == RGM_YAML_SCALAR;
    char shown[96];
    int64_t count = 0;

    for (; field->choices[count] != NULL; count++) {
        if (scalar && strcmp(node->text, field->choices[count]) == 0) {
            *out = field->values != NULL ? field->values[count] : (int)count;
            return RGM_OK;
        }
    }
    return rgm_yaml_fail(
        node, "'%s' cannot be %s%s", field->name, found(node, shown, sizeof shown),
        rgm_did_you_mean(scalar ? node->text : NULL, field->choices, count, NULL, "it is one of: ")
            .text);
}

static rgm_status read_ints(rgm_ints *out, const rgm_field *field, const rgm_yaml_node *node,
                            rgm_arena *arena)
{
    bool list = node->kind == RGM_YAML_LIST;
    int64_t count = list ? node->count : 1;
    int64_t *items = rgm_arena_alloc(arena, (size_t)(count > 0 ? count : 1) * sizeof *items);

    if (items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld numbers of '%s'", (long long)count,
                        field->name);
    for (int64_t i = 0; i < count; i++) {
        const rgm_yaml_node *item = list ? node->items[i] : node;

        RGM_TRY(rgm_yaml_int(&items[i], item));
        RGM_TRY(check_bounds(field, item, (double)items[i]));
    }
    *out = (rgm_ints){items, count};
    return RGM_OK;
}

static rgm_status read_floats(rgm_floats *out, const rgm_field *field, const rgm_yaml_node *node,
                              rgm_arena *arena)
{
    bool list = node->kind == RGM_YAML_LIST;
    int64_t count = list ? node->count : 1;
    double *items = rgm_arena_alloc(arena, (size_t)(count > 0 ? count : 1) * sizeof *items);

    if (items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld numbers of '%s'", (long long)count,
                        field->name);
    for (int64_t i = 0; i < count; i++) {
        const rgm_yaml_node *item = list ? node->items[i] : node;

        RGM_TRY(rgm_yaml_float(&items[i], item));
        RGM_TRY(check_bounds(field, item, items[i]));
    }
    *out = (rgm_floats){items, count};
    return RGM_OK;
}

static rgm_status read_numbers(rgm_numbers *out, const rgm_field *field, const rgm_yaml_node *node,
                               rgm_arena *arena)
{
    size_t room = (size_t)(node->count > 0 ? node->count : 1);
    const char **names = rgm_arena_alloc(arena, room * sizeof(const char *));
    double *values = rgm_arena_alloc(arena, room * sizeof *values);

    if (node->kind != RGM_YAML_MAP)
        return expected(node, "a map to numbers");
    if (names == NULL || values == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld numbers of '%s'",
                        (long long)node->count, field->name);
    for (int64_t i = 0; i < node->count; i++) {
        RGM_TRY(rgm_yaml_float(&values[i], node->items[i]));
        RGM_TRY(check_bounds(field, node->items[i], values[i]));
        names[i] = rgm_arena_strdup(arena, node->items[i]->key);
        if (names[i] == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a key of '%s'", field->name);
    }
    *out = (rgm_numbers){names, values, node->count};
    return RGM_OK;
}

static rgm_status read_text(const char **out, const rgm_yaml_node *node, rgm_arena *arena)
{
    if (node->kind != RGM_YAML_SCALAR || (node->text[0] == 0 && !node->quoted))
        return expected(node, "text");
    *out = rgm_arena_strdup(arena, node->text);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a text of %zu bytes", strlen(node->text));
    return RGM_OK;
}

static rgm_status read_texts(rgm_texts *out, const rgm_field *field, const rgm_yaml_node *node,
                             rgm_arena *arena)
{
    bool list = node->kind == RGM_YAML_LIST;
    int64_t count = list ? node->count : 1;
    const char **items =
        rgm_arena_alloc(arena, (size_t)(count > 0 ? count : 1) * sizeof(const char *));

    if (items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld texts of '%s'", (long long)count,
                        field->name);
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(read_text(&items[i], list ? node->items[i] : node, arena));
    *out = (rgm_texts){items, count};
    return RGM_OK;
}

static rgm_status read_lists(rgm_lists *out, const rgm_field *field, const rgm_yaml_node *node,
                             rgm_arena *arena)
{
    size_t room = (size_t)(node->count > 0 ? node->count : 1);
    const char **names = rgm_arena_alloc(arena, room * sizeof(const char *));
    rgm_texts *items = rgm_arena_alloc(arena, room * sizeof *items);

    if (node->kind != RGM_YAML_MAP)
        return expected(node, "a map to lists");
    if (names == NULL || items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld lists of '%s'",
                        (long long)node->count, field->name);
    for (int64_t i = 0; i < node->count; i++) {
        RGM_TRY(read_texts(&items[i], field, node->items[i], arena));
        names[i] = rgm_arena_strdup(arena, node->items[i]->key);
        if (names[i] == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a key of '%s'", field->name);
    }
    *out = (rgm_lists){names, items, node->count};
    return RGM_OK;
}

static rgm_status join_path(char path[LARGEST_PATH], const char *folder, const char *key)
{
    int size = folder != NULL && folder[0] != 0 ? snprintf(path, LARGEST_PATH, "%s.%s", folder, key)
                                                : snprintf(path, LARGEST_PATH, "%s", key);

    if (size >= LARGEST_PATH)
        return RGM_FAIL(RGM_ERR_CONFIG, "the path of key '%.60s...' has %d bytes, the limit is %d",
                        key, size, LARGEST_PATH - 1);
    return RGM_OK;
}

static rgm_status read_section(rgm_section *out, const rgm_field *field, const rgm_yaml_node *node,
                               const char *path, rgm_arena *arena)
{
    static const char *const type_key[] = {"type", NULL};
    const char **names, *name = NULL;
    void *options = NULL;
    int64_t count = 0;

    while (field->sections[count] != NULL)
        count++;
    names = rgm_arena_alloc(arena, (size_t)(count + 1) * sizeof *names);
    if (names == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the types of '%s'", field->name);
    for (int64_t i = 0; i < count; i++)
        names[i] = field->sections[i]->name;
    RGM_TRY(rgm_yaml_type(&name, node, path, names, count));
    *out = (rgm_section){.type = rgm_section_type_find(field->sections, name), .node = node};
    RGM_TRY(rgm_section_type_read(&options, out->type, node, path, type_key, arena));
    out->options = options;
    return RGM_OK;
}

static rgm_status read_sections(rgm_sections *out, const rgm_field *field,
                                const rgm_yaml_node *node, const char *path, rgm_arena *arena)
{
    rgm_section *items;

    if (node->kind != RGM_YAML_LIST)
        return expected(node, "a list of maps with a 'type'");
    items = rgm_arena_alloc(arena, (size_t)(node->count > 0 ? node->count : 1) * sizeof *items);
    if (items == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %lld sections of '%s'",
                        (long long)node->count, field->name);
    for (int64_t i = 0; i < node->count; i++)
        RGM_TRY(read_section(&items[i], field, node->items[i], path, arena));
    *out = (rgm_sections){items, node->count};
    return RGM_OK;
}

static rgm_status read_field(void *options, const rgm_field *field, const rgm_yaml_node *node,
                             const char *path, rgm_arena *arena)
{
    void *member = (char *)options + field->offset;
    char inside[LARGEST_PATH];
    int64_t whole;
    double number;

    switch (field->kind) {
    case RGM_FIELD_INT:
        RGM_TRY(rgm_yaml_int(&whole, node));
        RGM_TRY(check_bounds(field, node, (double)whole));
        *(int64_t *)member = whole;
        return RGM_OK;
    case RGM_FIELD_FLOAT:
        RGM_TRY(rgm_yaml_float(&number, node));
        RGM_TRY(check_bounds(field, node, number));
        *(double *)member = number;
        return RGM_OK;
    case RGM_FIELD_BOOL:
        return rgm_yaml_bool(member, node);
    case RGM_FIELD_TEXT:
        return read_text(member, node, arena);
    case RGM_FIELD_CHOICE:
        return read_choice(member, field, node);
    case RGM_FIELD_INTS:
        return read_ints(member, field, node, arena);
    case RGM_FIELD_FLOATS:
        return read_floats(member, field, node, arena);
    case RGM_FIELD_TEXTS:
        return read_texts(member, field, node, arena);
    case RGM_FIELD_NUMBERS:
        return read_numbers(member, field, node, arena);
    case RGM_FIELD_LISTS:
        return read_lists(member, field, node, arena);
    case RGM_FIELD_GROUP:
        RGM_TRY(join_path(inside, path, field->name));
        return rgm_options_read(member, field->group, node, inside, NULL, arena);
    case RGM_FIELD_SECTIONS:
        RGM_TRY(join_path(inside, path, field->name));
        return read_sections(member, field, node, inside, arena);
    case RGM_FIELD_NODE:
        *(const rgm_yaml_node **)member = node;
        return RGM_OK;
    }
    return RGM_FAIL(RGM_ERR_ARG, "field '%s' has kind %d, which does not exist", field->name,
                    (int)field->kind);
}

/* ---- a map --------------------------------------------------------------------------------- */

/* "unknown key 'trainer.epoch'; did you mean 'trainer.epochs'?", or the keys there are. */
static rgm_status unknown_key(const rgm_field *fields, const rgm_yaml_node *entry, const char *path,
                              const char *const *also, rgm_arena *arena)
{
    const char **names;
    char prefix[256] = "";
    int64_t own = 0, others = 0, count;

    if (path != NULL && path[0] != 0)
        snprintf(prefix, sizeof prefix, "%s.", path);
    while (fields[own].name != NULL)
        own++;
    while (also != NULL && also[others] != NULL)
        others++;
    count = own + others;
    names = rgm_arena_alloc(arena, (size_t)(count + 1) * sizeof *names);
    if (names == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the %lld keys of '%s'", (long long)count,
                        prefix);
    for (int64_t i = 0; i < count; i++)
        names[i] = i < own ? fields[i].name : also[i - own];
    return rgm_yaml_fail(
        entry, "unknown key '%s%.100s'%s", prefix, entry->key,
        rgm_did_you_mean(entry->key, names, count, prefix,
                         count == 0 ? "there are no keys here" : "the keys here are: ")
            .text);
}

static bool is_listed(const char *const *names, const char *name)
{
    for (; names != NULL && *names != NULL; names++) {
        if (strcmp(*names, name) == 0)
            return true;
    }
    return false;
}

rgm_status rgm_options_read(void *options, const rgm_field *fields, const rgm_yaml_node *map,
                            const char *path, const char *const *also, rgm_arena *arena)
{
    char shown[96];

    if (map == NULL)
        return RGM_OK;
    if (map->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(map, "'%s' should be a map of keys, but is %s",
                             path != NULL && path[0] != 0 ? path : "the file",
                             found(map, shown, sizeof shown));
    for (int64_t i = 0; i < map->count; i++) {
        const rgm_yaml_node *entry = map->items[i];
        const rgm_field *field = fields;

        while (field->name != NULL && strcmp(field->name, entry->key) != 0)
            field++;
        if (field->name != NULL)
            RGM_TRY(read_field(options, field, entry, path, arena));
        else if (!is_listed(also, entry->key))
            return unknown_key(fields, entry, path, also, arena);
    }
    return RGM_OK;
}

/* ---- options from a program ---------------------------------------------------------------- */

static rgm_status check_number(const rgm_field *field, double number, const char *path)
{
    char bounds[96];

    if (!isfinite(number))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s.%s is %g, but must be finite", path, field->name,
                        number);
    if (!in_bounds(field, number))
        return RGM_FAIL(RGM_ERR_CONFIG, "%s.%s is %g, but must be %s", path, field->name, number,
                        bounds_text(field, bounds, sizeof bounds));
    return RGM_OK;
}

static rgm_status check_sections(const rgm_sections *sections, const char *path)
{
    for (int64_t i = 0; i < sections->count; i++) {
        const rgm_section *section = &sections->items[i];

        if (section->type->fields != NULL && section->options != NULL)
            RGM_TRY(rgm_options_check(section->options, section->type->fields, path));
        if (section->type->check != NULL)
            RGM_TRY(section->type->check(section->options));
    }
    return RGM_OK;
}

static rgm_status check_field(const void *options, const rgm_field *field, const char *path)
{
    const void *member = (const char *)options + field->offset;
    const rgm_ints *ints = member;
    const rgm_floats *floats = member;
    const rgm_numbers *numbers = member;
    char inside[LARGEST_PATH];

    switch (field->kind) {
    case RGM_FIELD_INT:
        return check_number(field, (double)*(const int64_t *)member, path);
    case RGM_FIELD_FLOAT:
        return check_number(field, *(const double *)member, path);
    case RGM_FIELD_INTS:
        for (int64_t i = 0; i < ints->count; i++)
            RGM_TRY(check_number(field, (double)ints->items[i], path));
        return RGM_OK;
    case RGM_FIELD_FLOATS:
        for (int64_t i = 0; i < floats->count; i++)
            RGM_TRY(check_number(field, floats->items[i], path));
        return RGM_OK;
    case RGM_FIELD_NUMBERS:
        for (int64_t i = 0; i < numbers->count; i++)
            RGM_TRY(check_number(field, numbers->values[i], path));
        return RGM_OK;
    case RGM_FIELD_CHOICE:
        if (rgm_field_choice(field, *(const int *)member) == NULL)
            return RGM_FAIL(RGM_ERR_CONFIG, "%s.%s is %d, which does not exist", path, field->name,
                            *(const int *)member);
        return RGM_OK;
    case RGM_FIELD_GROUP:
        RGM_TRY(join_path(inside, path, field->name));
        return rgm_options_check(member, field->group, inside);
    case RGM_FIELD_SECTIONS:
        RGM_TRY(join_path(inside, path, field->name));
        return check_sections(member, inside);
    default:
        return RGM_OK;
    }
}

rgm_status rgm_options_check(const void *options, const rgm_field *fields, const char *path)
{
    for (; fields->name != NULL; fields++)
        RGM_TRY(check_field(options, fields, path));
    return RGM_OK;
}

/* ---- sections ------------------------------------------------------------------------------ */

const rgm_section_type *rgm_section_type_find(const rgm_section_type *const *types,
                                              const char *name)
{
    for (; *types != NULL; types++)
        if (strcmp((*types)->name, name) == 0)
            return *types;
    return NULL;
}

rgm_status rgm_yaml_type(const char **out, const rgm_yaml_node *section, const char *path,
                         const char *const *names, int64_t count)
{
    const rgm_yaml_node *type = rgm_yaml_find(section, "type");
    const char *text = type != NULL && type->kind == RGM_YAML_SCALAR ? type->text : "", *near;
    rgm_status status = RGM_OK;
    rgm_text list = {0};

    for (int64_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = names[i];
            return RGM_OK;
        }
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgm_text_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]));
    near = rgm_nearest_name(text, names, count);
    if (section->kind != RGM_YAML_MAP)
        status = rgm_yaml_fail(section, "'%s' should be a map of keys with 'type'", path);
    else if (type == NULL)
        status = rgm_yaml_fail(section, "%s.type is missing; it is one of %s", path, list.data);
    else if (near != NULL)
        status = rgm_yaml_fail(type, "%s.type '%s' is unknown; did you mean '%s'? It is one of %s",
                               path, text, near, list.data);
    else
        status =
            rgm_yaml_fail(type, "%s.type '%s' is unknown; it is one of %s", path, text, list.data);
done:
    rgm_text_clear(&list);
    return status;
}

rgm_status rgm_yaml_place(rgm_status status, const rgm_yaml_node *node)
{
    if (status == RGM_OK || node == NULL)
        return status;
    if (node->origin[0] == '-' || node->origin[0] == '$')
        return rgm_error_prefix(status, "%s", node->origin);
    return rgm_error_prefix(status, "%s:%d:%d", node->origin, node->line, node->column);
}

rgm_status rgm_section_type_read(void **out, const rgm_section_type *type, const rgm_yaml_node *map,
                                 const char *path, const char *const *also, rgm_arena *arena)
{
    if (type->options_size > 0) {
        *out = rgm_arena_alloc(arena, type->options_size);
        if (*out == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %zu bytes of options",
                            type->options_size);
        if (type->defaults != NULL)
            type->defaults(*out);
    }
    RGM_TRY(rgm_options_read(*out, type->fields, map, path, also, arena));
    return type->check != NULL ? rgm_yaml_place(type->check(*out), map) : RGM_OK;
}
