/* Nodes, attributes and constants of a TensorFlow graph, and the functions that translators
 * share. */
#include <string.h>

#include "saved_model_internal.h"

static char *writable(const char *text)
{
    return (char *)(uintptr_t)text; /* protobuf-c's structs are not const; packing only reads */
}

int rgmi_tf_dtype(rgm_dtype dtype)
{
    static const int types[] = {[RGM_F32] = 1, [RGM_F64] = 2,   [RGM_I32] = 3,
                                [RGM_I64] = 9, [RGM_BOOL] = 10, [RGM_STRING] = 7};

    return types[dtype];
}

Rgmi__Tf__TensorShapeProto *rgmi_tf_shape(rgmi_tf *t, int rank, const int64_t *sizes)
{
    Rgmi__Tf__TensorShapeProto *shape = rgmi_memory(&t->w, sizeof *shape);
    Rgmi__Tf__TensorShapeProto__Dim *dims = rgmi_memory(&t->w, (size_t)rank * sizeof *dims),
                                    **pointers =
                                        rgmi_memory(&t->w, (size_t)rank * sizeof *pointers);

    if (t->w.status != RGM_OK)
        return NULL;
    rgmi__tf__tensor_shape_proto__init(shape);
    for (int i = 0; i < rank; i++) {
        rgmi__tf__tensor_shape_proto__dim__init(&dims[i]);
        dims[i].has_size = 1;
        dims[i].size = sizes[i];
        pointers[i] = &dims[i];
    }
    shape->dim = pointers;
    shape->n_dim = (size_t)rank;
    return shape;
}

/* ---- nodes --------------------------------------------------------------------------------- */

static bool is_alphanumeric(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* TensorFlow's names have only letters, digits and _ . / -, and begin with a letter or digit. */
static const char *legal(rgmi_tf *t, const char *name)
{
    char *text = writable(rgmi_text(&t->w, "%s%s", is_alphanumeric(name[0]) ? "" : "x", name));

    for (char *c = text; c != NULL && *c != '\0'; c++)
        if (!is_alphanumeric(*c) && strchr("_./-", *c) == NULL)
            *c = '_';
    return text;
}

static const rgmi_tensor *output_of(rgmi_tf *t, const char *name, rgm_dtype dtype)
{
    rgmi_tensor *tensor = rgmi_memory(&t->w, sizeof *tensor);

    if (tensor != NULL)
        *tensor = (rgmi_tensor){.name = name, .dtype = dtype};
    return tensor;
}

const rgmi_tensor *rgmi_tf_node_of(rgmi_tf *t, const char *op, rgm_dtype dtype,
                                   const rgmi_tensor *const *in, int count)
{
    Rgmi__Tf__NodeDef *node = rgmi_memory(&t->w, sizeof *node);
    char **inputs = rgmi_memory(&t->w, (size_t)count * sizeof *inputs);
    const char *name;

    for (int i = 0; i < count; i++)
        if (t->w.status != RGM_OK || in[i] == NULL)
            return NULL;
    name = t->w.status == RGM_OK ? rgmi_fresh(&t->w, legal(t, t->w.hint)) : NULL;
    if (name == NULL)
        return NULL;
    rgmi__tf__node_def__init(node);
    for (int i = 0; i < count; i++)
        inputs[i] = writable(in[i]->name);
    node->name = writable(name);
    node->op = writable(op);
    node->input = inputs;
    node->n_input = (size_t)count;
    rgmi_add(&t->w, &t->w.nodes, node);
    return output_of(t, name, dtype);
}

const rgmi_tensor *rgmi_tf_node(rgmi_tf *t, const char *op, rgm_dtype dtype, const rgmi_tensor *a,
                                const rgmi_tensor *b, const rgmi_tensor *c)
{
    const rgmi_tensor *in[3] = {a, b, c};

    return rgmi_tf_node_of(t, op, dtype, in, b == NULL ? 1 : c == NULL ? 2 : 3);
}

/* ---- attributes ---------------------------------------------------------------------------- */

/* An attribute of the newest node; NULL on failure. */
static Rgmi__Tf__AttrValue *attribute(rgmi_tf *t, const char *name)
{
    Rgmi__Tf__NamedAttr *made = rgmi_memory(&t->w, sizeof *made), **all;
    Rgmi__Tf__AttrValue *value = rgmi_memory(&t->w, sizeof *value);
    Rgmi__Tf__NodeDef *node;

    if (t->w.status != RGM_OK)
        return NULL;
    node = t->w.nodes.items[t->w.nodes.count - 1];
    all = rgmi_memory(&t->w, (node->n_attr + 1) * sizeof *all);
    if (all == NULL)
        return NULL;
    if (node->n_attr > 0)
        memcpy(all, node->attr, node->n_attr * sizeof *all);
    rgmi__tf__named_attr__init(made);
    rgmi__tf__attr_value__init(value);
    made->key = writable(name);
    made->value = value;
    all[node->n_attr++] = made;
    node->attr = all;
    return value;
}

void rgmi_tf_type(rgmi_tf *t, const char *name, rgm_dtype dtype)
{
    Rgmi__Tf__AttrValue *a = attribute(t, name);

    if (a != NULL) {
        a->has_type = 1;
        a->type = rgmi_tf_dtype(dtype);
    }
}

void rgmi_tf_int(rgmi_tf *t, const char *name, int64_t value)
{
    Rgmi__Tf__AttrValue *a = attribute(t, name);

    if (a != NULL) {
        a->has_i = 1;
        a->i = value;
    }
}

void rgmi_tf_bool(rgmi_tf *t, const char *name, bool value)
{
    Rgmi__Tf__AttrValue *a = attribute(t, name);

    if (a != NULL) {
        a->has_b = 1;
        a->b = value;
    }
}

void rgmi_tf_float(rgmi_tf *t, const char *name, double value)
{
    Rgmi__Tf__AttrValue *a = attribute(t, name);

    if (a != NULL) {
        a->has_f = 1;
        a->f = (float)value;
    }
}

void rgmi_tf_text(rgmi_tf *t, const char *name, const char *value)
{
    Rgmi__Tf__AttrValue *a = attribute(t, name);

    if (a != NULL) {
        a->has_s = 1;
        a->s.data = (uint8_t *)writable(value);
        a->s.len = strlen(value);
    }
}

/* A list as an attribute; NULL on failure. */
static Rgmi__Tf__AttrValue__ListValue *list_of(rgmi_tf *t, const char *name)
{
    Rgmi__Tf__AttrValue__ListValue *list = rgmi_memory(&t->w, sizeof *list);
    Rgmi__Tf__AttrValue *a = attribute(t, name);

    if (a == NULL || list == NULL)
        return NULL;
    rgmi__tf__attr_value__list_value__init(list);
    a->list = list;
    return list;
}

void rgmi_tf_ints(rgmi_tf *t, const char *name, const int64_t *values, int count)
{
    Rgmi__Tf__AttrValue__ListValue *list = list_of(t, name);
    int64_t *copy = rgmi_memory(&t->w, (size_t)count * sizeof *copy);

    if (t->w.status != RGM_OK || list == NULL)
        return;
    memcpy(copy, values, (size_t)count * sizeof *copy);
    list->i = copy;
    list->n_i = (size_t)count;
}

void rgmi_tf_types(rgmi_tf *t, const char *name, const rgm_dtype *types, int count)
{
    Rgmi__Tf__AttrValue__ListValue *list = list_of(t, name);
    int32_t *copy = rgmi_memory(&t->w, (size_t)count * sizeof *copy);

    if (t->w.status != RGM_OK || list == NULL)
        return;
    for (int i = 0; i < count; i++)
        copy[i] = rgmi_tf_dtype(types[i]);
    list->type = copy;
    list->n_type = (size_t)count;
}

void rgmi_tf_shapes(rgmi_tf *t, const char *name, Rgmi__Tf__TensorShapeProto *const *shapes,
                    int count)
{
    Rgmi__Tf__AttrValue__ListValue *list = list_of(t, name);
    Rgmi__Tf__TensorShapeProto **copy = rgmi_memory(&t->w, (size_t)count * sizeof *copy);

    if (t->w.status != RGM_OK || list == NULL)
        return;
    if (count > 0)
        memcpy(copy, shapes, (size_t)count * sizeof *copy);
    list->shape = copy;
    list->n_shape = (size_t)count;
}

/* ---- leaves -------------------------------------------------------------------------------- */

const rgmi_tensor *rgmi_tf_placeholder(rgmi_tf *t, const char *name, rgm_dtype dtype, int rank,
                                       const int64_t *sizes)
{
    const rgmi_tensor *made;
    Rgmi__Tf__AttrValue *a;

    t->w.hint = name;
    made = rgmi_tf_node_of(t, "Placeholder", dtype, NULL, 0);
    rgmi_tf_type(t, "dtype", dtype);
    a = attribute(t, "shape");
    if (a != NULL)
        a->shape = rgmi_tf_shape(t, rank, sizes);
    return made;
}

/* A constant of that shape whose value is not there yet; *proto NULL on failure. */
static const rgmi_tensor *constant_of(Rgmi__Tf__TensorProto **proto, rgmi_tf *t, const char *name,
                                      rgm_dtype dtype, int rank, const int64_t *sizes)
{
    const char *hint = t->w.hint;
    const rgmi_tensor *made;
    Rgmi__Tf__AttrValue *a;

    *proto = rgmi_memory(&t->w, sizeof **proto);
    t->w.hint = name;
    made = rgmi_tf_node_of(t, "Const", dtype, NULL, 0);
    t->w.hint = hint;
    rgmi_tf_type(t, "dtype", dtype);
    a = attribute(t, "value");
    if (a == NULL || *proto == NULL) {
        *proto = NULL;
        return NULL;
    }
    rgmi__tf__tensor_proto__init(*proto);
    (*proto)->has_dtype = 1;
    (*proto)->dtype = rgmi_tf_dtype(dtype);
    (*proto)->tensor_shape = rgmi_tf_shape(t, rank, sizes);
    a->tensor = *proto;
    return made;
}

const rgmi_tensor *rgmi_tf_constant(rgmi_tf *t, const char *name, rgm_dtype dtype, int rank,
                                    const int64_t *sizes, const void *data, size_t bytes)
{
    Rgmi__Tf__TensorProto *proto;
    const rgmi_tensor *made = constant_of(&proto, t, name, dtype, rank, sizes);

    if (proto == NULL)
        return NULL;
    proto->has_tensor_content = 1;
    proto->tensor_content.data = (uint8_t *)(uintptr_t)data;
    proto->tensor_content.len = bytes;
    return made;
}

const rgmi_tensor *rgmi_tf_texts(rgmi_tf *t, const char *name, const char *const *texts, int count)
{
    const int64_t size = count;
    ProtobufCBinaryData *values = rgmi_memory(&t->w, (size_t)count * sizeof *values);
    Rgmi__Tf__TensorProto *proto;
    const rgmi_tensor *made = constant_of(&proto, t, name, RGM_STRING, 1, &size);

    if (proto == NULL || values == NULL)
        return NULL;
    for (int i = 0; i < count; i++)
        values[i] =
            (ProtobufCBinaryData){.data = (uint8_t *)writable(texts[i]), .len = strlen(texts[i])};
    proto->string_val = values;
    proto->n_string_val = (size_t)count;
    return made;
}

/* rank 0 or 1 */
static const rgmi_tensor *integers(rgmi_tf *t, const int64_t *values, int count, int rank)
{
    const char *key = rgmi_text(&t->w, rank == 0 ? "number" : "vector");
    const int64_t size = count;
    size_t bytes = (size_t)count * sizeof *values;
    int64_t *copy = rgmi_memory(&t->w, bytes);
    const rgmi_tensor *made;

    for (int i = 0; i < count; i++)
        key = rgmi_text(&t->w, "%s_%lld", key, (long long)values[i]);
    if (copy == NULL || key == NULL)
        return NULL;
    made = rgm_map_get(t->w.known, key);
    if (made != NULL)
        return made;
    if (count > 0)
        memcpy(copy, values, bytes);
    made = rgmi_tf_constant(t, rgmi_text(&t->w, "constant/%s", key), RGM_I64, rank, &size, copy,
                            bytes);
    if (made != NULL)
        t->w.status = rgm_map_set(t->w.known, key, (void *)(uintptr_t)made);
    return made;
}

const rgmi_tensor *rgmi_tf_number(rgmi_tf *t, int64_t value)
{
    return integers(t, &value, 1, 0);
}

const rgmi_tensor *rgmi_tf_vector(rgmi_tf *t, const int64_t *values, int count)
{
    return integers(t, values, count, 1);
}

/* ---- compositions -------------------------------------------------------------------------- */

const rgmi_tensor *rgmi_tf_concat(rgmi_tf *t, const rgmi_tensor *const *parts, int count,
                                  int64_t axis)
{
    const rgmi_tensor **in = rgmi_memory(&t->w, (size_t)(count + 1) * sizeof *in), *made;

    if (in == NULL || parts[0] == NULL)
        return NULL;
    if (count == 1) /* ConcatV2 refuses a single part */
        return parts[0];
    memcpy(in, parts, (size_t)count * sizeof *in);
    in[count] = rgmi_tf_number(t, axis);
    made = rgmi_tf_node_of(t, "ConcatV2", parts[0]->dtype, in, count + 1);
    rgmi_tf_int(t, "N", count);
    rgmi_tf_type(t, "T", parts[0]->dtype);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    return made;
}

/* [0, ..., x]: a mask says to take all of the axes before this one. */
static const rgmi_tensor *behind_zeros(rgmi_tf *t, const rgmi_tensor *x, int64_t axis)
{
    const int64_t zeros[RGM_MAX_RANK] = {0};
    const rgmi_tensor *front;

    if (axis == 0)
        return x;
    front = rgmi_tf_vector(t, zeros, (int)axis);
    return rgmi_tf_concat(t, (const rgmi_tensor *[]){front, x}, 2, 0);
}

const rgmi_tensor *rgmi_tf_slice(rgmi_tf *t, const rgmi_tensor *x, const rgmi_tensor *begin,
                                 const rgmi_tensor *end, int64_t axis)
{
    int64_t ones[RGM_MAX_RANK];
    const rgmi_tensor *in[4] = {x}, *made;

    for (int64_t i = 0; i <= axis; i++)
        ones[i] = 1;
    in[1] = behind_zeros(t, begin, axis);
    in[2] = behind_zeros(t, end, axis);
    in[3] = rgmi_tf_vector(t, ones, (int)axis + 1);
    if (x == NULL)
        return NULL;
    made = rgmi_tf_node_of(t, "StridedSlice", x->dtype, in, 4);
    rgmi_tf_type(t, "T", x->dtype);
    rgmi_tf_type(t, "Index", RGM_I64);
    rgmi_tf_int(t, "begin_mask", (1 << axis) - 1);
    rgmi_tf_int(t, "end_mask", (1 << axis) - 1);
    return made;
}

const rgmi_tensor *rgmi_tf_reshape(rgmi_tf *t, const rgmi_tensor *x, const rgmi_tensor *shape)
{
    const rgmi_tensor *made;

    if (x == NULL || shape == NULL)
        return NULL;
    made = rgmi_tf_node(t, "Reshape", x->dtype, x, shape, NULL);
    rgmi_tf_type(t, "T", x->dtype);
    rgmi_tf_type(t, "Tshape", RGM_I64);
    return made;
}

const rgmi_tensor *rgmi_tf_shape_of(rgmi_tf *t, const rgmi_tensor *x)
{
    const rgmi_tensor *made = rgmi_tf_node(t, "Shape", RGM_I64, x, NULL, NULL);

    if (x == NULL)
        return NULL;
    rgmi_tf_type(t, "T", x->dtype);
    rgmi_tf_type(t, "out_type", RGM_I64);
    return made;
}
