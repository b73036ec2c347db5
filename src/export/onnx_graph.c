/*
 * Building an ONNX graph: memory, names, nodes and attributes. After a failure every function does
 * nothing, so that translators read as algebra.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx_internal.h"

int rgmi_onnx_type(rgm_dtype dtype)
{
    static const int types[] = {[RGM_F32] = ONNX_FLOAT,
                                [RGM_F64] = ONNX_DOUBLE,
                                [RGM_I32] = ONNX_INT32,
                                [RGM_I64] = ONNX_INT64,
                                [RGM_BOOL] = ONNX_BOOL};

    return dtype < RGM_STRING ? types[dtype] : 0;
}

rgm_status rgmi_onnx_dtype(rgm_dtype *out, int64_t type)
{
    for (int dtype = 0; dtype < RGM_STRING; dtype++)
        if (rgmi_onnx_type((rgm_dtype)dtype) == type) {
            *out = (rgm_dtype)dtype;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "ONNX element type %lld is not supported",
                    (long long)type);
}

/* ---- memory and failure -------------------------------------------------------------------- */

const char *rgmi_fail(rgmi_writer *w, rgm_status code, const char *format, ...)
{
    char text[512];
    va_list args;

    if (w->status != RGM_OK)
        return NULL;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    w->status = RGM_FAIL(code, "%s", text);
    return NULL;
}

void *rgmi_memory(rgmi_writer *w, size_t size)
{
    void *memory = w->status == RGM_OK ? rgm_arena_alloc(w->arena, size > 0 ? size : 1) : NULL;

    if (memory == NULL)
        rgmi_fail(w, RGM_ERR_NOMEM, "out of memory for the graph of the file");
    return memory;
}

const char *rgmi_text(rgmi_writer *w, const char *format, ...)
{
    va_list args;
    char *text;
    int size;

    if (w->status != RGM_OK)
        return NULL;
    va_start(args, format);
    size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    text = rgmi_memory(w, (size_t)size + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

void rgmi_add(rgmi_writer *w, rgmi_list *list, void *item)
{
    if (w->status != RGM_OK || item == NULL)
        return;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity > 0 ? 2 * list->capacity : 16;
        void **items = rgmi_memory(w, capacity * sizeof *items);

        if (items == NULL)
            return;
        if (list->count > 0)
            memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
}

/* ---- names --------------------------------------------------------------------------------- */

static char *writable(const char *text)
{
    return (char *)(uintptr_t)text; /* protobuf-c's structs are not const; packing only reads */
}

const char *rgmi_claim(rgmi_writer *w, const char *name, const char *what)
{
    if (w->status != RGM_OK || name == NULL)
        return NULL;
    if (name[0] == '\0' || rgm_utf8_check(name, (int64_t)strlen(name)) >= 0)
        return rgmi_fail(w, RGM_ERR_ARG, "the %s '%s' has a name that is empty or not UTF-8", what,
                         name);
    if (rgm_map_has(w->used, name))
        return rgmi_fail(w, RGM_ERR_ARG,
                         "the %s '%s' would have the name of something else in the file", what,
                         name);
    w->status = rgm_map_set(w->used, name, writable(name));
    return w->status == RGM_OK ? name : NULL;
}

const char *rgmi_fresh(rgmi_writer *w, const char *base)
{
    const char *name = base;

    for (int64_t i = 2; name != NULL && rgm_map_has(w->used, name); i++)
        name = rgmi_text(w, "%s_%lld", base, (long long)i);
    return rgmi_claim(w, name, "node");
}

const char *rgmi_known_name(const rgmi_writer *w, const char *key)
{
    return key != NULL ? rgm_map_get(w->known, key) : NULL;
}

const char *rgmi_keep(rgmi_writer *w, const char *key, const char *name)
{
    if (w->status != RGM_OK || key == NULL || name == NULL)
        return NULL;
    w->status = rgm_map_set(w->known, key, writable(name));
    return w->status == RGM_OK ? name : NULL;
}

/* ---- nodes --------------------------------------------------------------------------------- */

const char *rgmi_node_of(rgmi_writer *w, const char *type, const char *const *inputs, int count)
{
    Rgmi__Onnx__NodeProto *node;
    const char *name;

    for (int i = 0; i < count; i++)
        if (w->status != RGM_OK || inputs[i] == NULL)
            return NULL;
    node = rgmi_memory(w, sizeof *node);
    if (node == NULL)
        return NULL;
    rgmi__onnx__node_proto__init(node);
    node->input = rgmi_memory(w, (size_t)count * sizeof *node->input);
    node->output = rgmi_memory(w, sizeof *node->output);
    name = rgmi_fresh(w, rgmi_text(w, "%s/%s_%lld", w->hint, type, (long long)w->next++));
    if (w->status != RGM_OK)
        return NULL;
    for (int i = 0; i < count; i++)
        node->input[node->n_input++] = writable(inputs[i]);
    node->output[node->n_output++] = writable(name);
    node->name = writable(name);
    node->op_type = writable(type);
    rgmi_add(w, &w->nodes, node);
    return name;
}

const char *rgmi_node(rgmi_writer *w, const char *type, const char *a, const char *b, const char *c)
{
    const char *inputs[3] = {a, b, c};

    return rgmi_node_of(w, type, inputs, b == NULL ? 1 : c == NULL ? 2 : 3);
}

Rgmi__Onnx__AttributeProto *rgmi_attribute(rgmi_writer *w, const char *name, int32_t type)
{
    Rgmi__Onnx__NodeProto *node;
    Rgmi__Onnx__AttributeProto *made = rgmi_memory(w, sizeof *made), **all;

    if (made == NULL)
        return NULL;
    node = w->nodes.items[w->nodes.count - 1];
    all = rgmi_memory(w, (node->n_attribute + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    if (node->n_attribute > 0)
        memcpy(all, node->attribute, node->n_attribute * sizeof *all);
    rgmi__onnx__attribute_proto__init(made);
    made->name = writable(name);
    made->has_type = 1;
    made->type = type;
    all[node->n_attribute++] = made;
    node->attribute = all;
    return made;
}

void rgmi_int(rgmi_writer *w, const char *name, int64_t value)
{
    Rgmi__Onnx__AttributeProto *a = rgmi_attribute(w, name, 2);

    if (a != NULL) {
        a->has_i = 1;
        a->i = value;
    }
}

void rgmi_float(rgmi_writer *w, const char *name, double value)
{
    Rgmi__Onnx__AttributeProto *a = rgmi_attribute(w, name, 1);

    if (a != NULL) {
        a->has_f = 1;
        a->f = (float)value;
    }
}

void rgmi_write_ints(rgmi_writer *w, const char *name, const int64_t *values, int64_t count)
{
    Rgmi__Onnx__AttributeProto *a = rgmi_attribute(w, name, 7);
    int64_t *copy = rgmi_memory(w, (size_t)count * sizeof *copy);

    if (a == NULL || copy == NULL)
        return;
    memcpy(copy, values, (size_t)count * sizeof *copy);
    a->ints = copy;
    a->n_ints = (size_t)count;
}

void rgmi_string(rgmi_writer *w, const char *name, const char *value)
{
    Rgmi__Onnx__AttributeProto *a = rgmi_attribute(w, name, 3);

    if (a != NULL) {
        a->has_s = 1;
        a->s.data = (uint8_t *)writable(value);
        a->s.len = strlen(value);
    }
}

/* ---- names of values ----------------------------------------------------------------------- */

const char *rgmi_key_of(char *key, size_t size, const rgm_value *value)
{
    snprintf(key, size, "%p", (const void *)value);
    return key;
}

static rgmi_name *find_name(rgmi_writer *w, const rgm_value *value)
{
    char key[32];

    return rgm_map_get(w->named, rgmi_key_of(key, sizeof key, value));
}

const char *rgmi_name_of(rgmi_writer *w, const rgm_value *value)
{
    const rgmi_name *name = w->status == RGM_OK ? find_name(w, value) : NULL;

    return name != NULL ? name->name : NULL;
}

const rgmi_name *rgmi_pattern_of(rgmi_writer *w, const rgm_value *value)
{
    return w->status == RGM_OK ? find_name(w, value) : NULL;
}

rgmi_name *rgmi_remember(rgmi_writer *w, const rgm_value *value)
{
    char key[32];
    rgmi_name *name = rgmi_memory(w, sizeof *name);

    if (name == NULL)
        return NULL;
    *name = (rgmi_name){.value = value};
    w->status = rgm_map_set(w->named, rgmi_key_of(key, sizeof key, value), name);
    rgmi_add(w, &w->translated, name);
    return w->status == RGM_OK ? name : NULL;
}
