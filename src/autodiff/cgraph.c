/*
 * The compute graph: values in the order they were built, names, the first failure. Builders return
 * NULL after a failure and take NULL, so that whoever builds a model checks once, at the end.
 */
#include "autodiff_internal.h"
#include <stdio.h>

rgm_status rgm_cgraph_create(rgm_cgraph **out)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *graph = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(graph, 1));
    graph->order = -1;
    RGM_GO(rgm_arena_create(&graph->arena));
    RGM_GO(rgm_map_create(&graph->names));
    *out = graph;
    graph = NULL;
done:
    rgm_cgraph_release(graph);
    return status;
}

/* A graph with the same symbols under the same numbers; their names stay `graph`'s. */
rgm_status rgmi_cgraph_create_like(rgm_cgraph **out, const rgm_cgraph *graph)
{
    rgm_status status = RGM_OK;
    rgm_cgraph *copy = NULL;

    *out = NULL;
    RGM_GO(rgm_cgraph_create(&copy));
    RGM_GO(RGM_RESERVE(copy->symbols, copy->symbol_capacity, graph->symbol_count));
    if (graph->symbol_count > 0)
        memcpy(copy->symbols, graph->symbols, (size_t)graph->symbol_count * sizeof *graph->symbols);
    copy->symbol_count = graph->symbol_count;
    *out = copy;
    copy = NULL;
done:
    rgm_cgraph_release(copy);
    return status;
}

void rgm_cgraph_release(rgm_cgraph *graph)
{
    if (graph == NULL)
        return;
    for (int64_t i = 0; i < graph->count; i++) {
        rgm_tensor_release(graph->values[i]->constant);
        rgm_tensor_release(graph->values[i]->attributes.tensor);
    }
    rgm_free(graph->values);
    rgm_free(graph->symbols);
    rgm_free(graph->parameters);
    rgm_free(graph->updates);
    rgm_free(graph->notes);
    rgm_map_release(graph->names);
    rgm_arena_release(graph->arena);
    rgm_free(graph);
}

void rgm_cgraph_set_scope(rgm_cgraph *graph, const char *path)
{
    if (graph == NULL)
        return;
    if (path == NULL || *path == 0) {
        graph->scope = NULL;
        return;
    }
    if (graph->scope != NULL && strcmp(graph->scope, path) == 0)
        return;
    graph->scope = rgm_arena_strdup(graph->arena, path);
    if (graph->scope == NULL)
        rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for scope '%s'", path);
}

rgm_value *rgmi_value_new(rgm_cgraph *graph)
{
    rgm_value *value = rgm_arena_alloc(graph->arena, sizeof *value);

    if (value == NULL || RGM_RESERVE(graph->values, graph->capacity, graph->count + 1) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for a value");
    value->graph = graph;
    value->id = graph->count;
    value->order = graph->order >= 0 ? graph->order : value->id;
    value->scope = graph->scope;
    value->index = -1;
    value->block = graph->block_depth > 0 ? graph->blocks : 0;
    value->again = graph->again;
    graph->values[graph->count++] = value;
    return value;
}

void rgm_cgraph_block_begin(rgm_cgraph *graph)
{
    if (graph != NULL && graph->block_depth++ == 0)
        graph->blocks++;
}

void rgm_cgraph_block_end(rgm_cgraph *graph)
{
    if (graph != NULL && graph->block_depth > 0)
        graph->block_depth--;
}

int64_t rgm_cgraph_blocks(const rgm_cgraph *graph)
{
    return graph->blocks;
}

void rgm_cgraph_recompute(rgm_cgraph *graph, bool on)
{
    graph->recompute = on;
}

/* ---- leaves -------------------------------------------------------------------------------- */

static bool leaf_agrees(const rgm_value *value, rgmi_leaf leaf, const rgm_op_shape *s)
{
    return value->leaf == leaf && value->s.is_pattern == s->is_pattern &&
           value->s.dtype == s->dtype && value->s.rank == s->rank &&
           memcmp(value->s.shape, s->shape, sizeof s->shape) == 0;
}

/* The leaf of that name: the one there is, when it agrees, or a new one. */
static rgm_value *leaf_named(rgm_cgraph *graph, const char *name, rgmi_leaf leaf,
                             const rgm_op_shape *s)
{
    if (graph == NULL || graph->error.status != RGM_OK)
        return NULL;
    if (name == NULL || *name == 0)
        return rgm_cgraph_fail(graph, RGM_ERR_ARG, "an input or parameter needs a name");
    rgm_value *value = rgm_map_get(graph->names, name);
    if (value != NULL) {
        char had[RGMI_TEXT];
        if (leaf_agrees(value, leaf, s))
            return value;
        return rgm_cgraph_fail(graph, RGM_ERR_SHAPE, "'%s' is there already as %s %s", name,
                               value->leaf == RGMI_INPUT   ? "input"
                               : value->leaf == RGMI_STATE ? "state"
                                                           : "parameter",
                               rgm_value_describe(value, had, sizeof had));
    }
    value = rgmi_value_new(graph);
    if (value == NULL)
        return NULL;
    value->leaf = leaf;
    value->s = *s;
    value->name = rgm_arena_strdup(graph->arena, name);
    if (value->name == NULL || rgm_map_set(graph->names, name, value) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for '%s'", name);
    return value;
}

static bool shape_set(rgm_op_shape *s, rgm_cgraph *graph, const char *name, int rank,
                      const rgm_dim *shape)
{
    if (graph == NULL)
        return false;
    if (rank < 0 || rank > RGM_MAX_RANK) {
        rgm_cgraph_fail(graph, RGM_ERR_ARG, "'%s' has rank %d, the highest is %d", name, rank,
                        RGM_MAX_RANK);
        return false;
    }
    s->rank = rank;
    for (int i = 0; i < rank; i++) {
        if (shape[i] < -graph->symbol_count) {
            rgm_cgraph_fail(graph, RGM_ERR_ARG, "'%s': shape[%d] is no symbol of this graph", name,
                            i);
            return false;
        }
        s->shape[i] = shape[i];
    }
    return true;
}

rgm_value *rgm_input(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                     const rgm_dim *shape)
{
    rgm_op_shape s = {.dtype = dtype};

    if (!shape_set(&s, graph, name, rank, shape))
        return NULL;
    if (dtype >= RGM_STRING)
        return rgm_cgraph_fail(graph, RGM_ERR_DTYPE, "input '%s': %s cannot enter a graph", name,
                               rgm_dtype_name(dtype));
    rgm_value *value = leaf_named(graph, name, RGMI_INPUT, &s);
    if (value != NULL && value->index < 0)
        value->index = graph->input_count++;
    return value;
}

rgm_value *rgm_input_pattern(rgm_cgraph *graph, const char *name, rgm_dim rows, rgm_dim columns,
                             rgm_dim count)
{
    rgm_op_shape s = {.is_pattern = true, .dtype = RGM_I32};

    if (!shape_set(&s, graph, name, 3, (rgm_dim[]){rows, columns, count}))
        return NULL;
    rgm_value *value = leaf_named(graph, name, RGMI_INPUT, &s);
    if (value != NULL && value->index < 0)
        value->index = graph->input_count++;
    return value;
}

rgm_value *rgm_constant(rgm_cgraph *graph, rgm_tensor *tensor)
{
    if (graph == NULL || graph->error.status != RGM_OK)
        return NULL;
    if (tensor == NULL || rgm_tensor_dtype(tensor) >= RGM_STRING)
        return rgm_cgraph_fail(graph, RGM_ERR_ARG, "constant: a numeric tensor is needed");
    rgm_value *value = rgmi_value_new(graph);
    if (value == NULL)
        return NULL;
    value->leaf = RGMI_CONSTANT;
    value->s.dtype = rgm_tensor_dtype(tensor);
    value->s.rank = rgm_tensor_rank(tensor);
    for (int i = 0; i < value->s.rank; i++)
        value->s.shape[i] = rgm_tensor_shape(tensor)[i];
    value->constant = rgm_tensor_retain(tensor);
    return value;
}

rgm_value *rgm_scalar(rgm_cgraph *graph, rgm_dtype dtype, double number)
{
    rgm_tensor *tensor = NULL;

    if (graph == NULL || graph->error.status != RGM_OK)
        return NULL;
    if (dtype >= RGM_STRING)
        return rgm_cgraph_fail(graph, RGM_ERR_DTYPE, "scalar: a numeric dtype is needed");
    if (rgm_tensor_create(&tensor, dtype, 0, NULL) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for a scalar");
    rgm_dtype_put(rgm_tensor_data(tensor), dtype, number);
    rgm_value *value = rgm_constant(graph, tensor);
    rgm_tensor_release(tensor);
    return value;
}

/* Whether elements and bytes can be counted. */
static bool is_countable(const rgm_op_shape *s)
{
    int64_t bytes = (int64_t)rgm_dtype_size(s->dtype);

    for (int i = 0; i < s->rank; i++)
        if (__builtin_mul_overflow(bytes, s->shape[i], &bytes))
            return false;
    return true;
}

static rgm_value *stored(rgm_cgraph *graph, rgmi_leaf leaf, const char *name, rgm_dtype dtype,
                         int rank, const int64_t *shape, rgm_init init)
{
    rgm_op_shape s = {.dtype = dtype};

    if (!shape_set(&s, graph, name, rank, shape))
        return NULL;
    for (int i = 0; i < rank; i++)
        if (shape[i] < 0)
            return rgm_cgraph_fail(graph, RGM_ERR_SHAPE, "parameter '%s': shape[%d] must be static",
                                   name, i);
    if (!rgmi_is_float(dtype))
        return rgm_cgraph_fail(graph, RGM_ERR_DTYPE, "parameter '%s' is %s, not f32 or f64", name,
                               rgm_dtype_name(dtype));
    if (!is_countable(&s)) {
        const rgm_value large = {.graph = graph, .s = s};
        char text[RGMI_TEXT];
        return rgm_cgraph_fail(graph, RGM_ERR_SHAPE, "parameter '%s', %s, is too large", name,
                               rgm_value_describe(&large, text, sizeof text));
    }
    rgm_value *value = leaf_named(graph, name, leaf, &s);
    if (value == NULL || value->index >= 0)
        return value;
    if (RGM_RESERVE(graph->parameters, graph->parameter_capacity, graph->parameter_count + 1) !=
        RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for '%s'", name);
    value->init = init;
    value->index = graph->parameter_count;
    graph->parameters[graph->parameter_count++] = value;
    return value;
}

rgm_value *rgm_parameter(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                         const int64_t *shape, rgm_init init)
{
    return stored(graph, RGMI_PARAMETER, name, dtype, rank, shape, init);
}

rgm_value *rgm_state(rgm_cgraph *graph, const char *name, rgm_dtype dtype, int rank,
                     const int64_t *shape, rgm_init init)
{
    return stored(graph, RGMI_STATE, name, dtype, rank, shape, init);
}

int64_t rgm_cgraph_parameter_count(const rgm_cgraph *graph)
{
    return graph->parameter_count;
}

rgm_value *rgm_cgraph_parameter(const rgm_cgraph *graph, int64_t i)
{
    return i >= 0 && i < graph->parameter_count ? graph->parameters[i] : NULL;
}

int64_t rgm_cgraph_forward_count(const rgm_cgraph *graph)
{
    return graph->forward_count > 0 ? graph->forward_count : graph->count;
}

rgm_value *rgm_cgraph_value(const rgm_cgraph *graph, int64_t number)
{
    return number >= 0 && number < graph->count ? graph->values[number] : NULL;
}

/* ---- updates of states --------------------------------------------------------------------- */

void rgm_cgraph_note(rgm_cgraph *graph, const rgm_note *note)
{
    const char *where;

    if (graph == NULL || graph->error.status != RGM_OK || note->value == NULL)
        return;
    where = rgm_arena_strdup(graph->arena, note->where);
    if (where == NULL ||
        RGM_RESERVE(graph->notes, graph->note_capacity, graph->note_count + 1) != RGM_OK) {
        rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for a note");
        return;
    }
    graph->notes[graph->note_count] = *note;
    graph->notes[graph->note_count++].where = where;
}

int64_t rgm_cgraph_note_count(const rgm_cgraph *graph)
{
    return graph->note_count;
}

const rgm_note *rgm_cgraph_note_at(const rgm_cgraph *graph, int64_t i)
{
    return &graph->notes[i];
}

void rgm_cgraph_update(rgm_cgraph *graph, rgm_value *state, rgm_value *next)
{
    char want[RGMI_TEXT], got[RGMI_TEXT];

    if (graph == NULL || graph->error.status != RGM_OK || state == NULL || next == NULL)
        return;
    if (state->graph != graph || next->graph != graph || state->leaf != RGMI_STATE) {
        rgm_cgraph_fail(graph, RGM_ERR_ARG, "update: needs a state and a value of this graph");
        return;
    }
    if (next->type == NULL || next->s.is_pattern || next->s.dtype != state->s.dtype ||
        !rgmi_shapes_equal(next, state)) {
        rgm_cgraph_fail(graph, RGM_ERR_SHAPE, "update: state '%s' is %s, its next value is %s%s",
                        state->name, rgm_value_describe(state, want, sizeof want),
                        next->type == NULL ? "no result of an op: " : "",
                        rgm_value_describe(next, got, sizeof got));
        return;
    }
    if (state->next == NULL) {
        if (RGM_RESERVE(graph->updates, graph->update_capacity, graph->update_count + 1) !=
            RGM_OK) {
            rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "out of memory for an update");
            return;
        }
        graph->updates[graph->update_count++] = state;
    }
    state->next = next;
}

rgm_value *rgm_cgraph_state_next(rgm_cgraph *graph, rgm_value *state)
{
    if (graph == NULL || state == NULL)
        return NULL;
    return state->next != NULL ? state->next : state;
}

int64_t rgm_cgraph_update_count(const rgm_cgraph *graph)
{
    return graph->update_count;
}

rgm_value *rgm_cgraph_update_state(const rgm_cgraph *graph, int64_t i)
{
    return i >= 0 && i < graph->update_count ? graph->updates[i] : NULL;
}

rgm_value *rgm_cgraph_update_next(const rgm_cgraph *graph, int64_t i)
{
    return i >= 0 && i < graph->update_count ? graph->updates[i]->next : NULL;
}

/* ---- ops ----------------------------------------------------------------------------------- */

static rgm_value *op_fail(rgm_cgraph *graph, const rgm_op_type *type, rgm_status code)
{
    char message[RGM_MESSAGE_ROOM];

    snprintf(message, sizeof message, "%s", rgm_error_message());
    if (graph->scope != NULL)
        return rgm_cgraph_fail(graph, code, "%s: %s (in scope '%s')", type->name, message,
                               graph->scope);
    return rgm_cgraph_fail(graph, code, "%s: %s", type->name, message);
}

static bool attributes_copy(rgm_value *value, const rgm_attributes *attributes)
{
    if (attributes == NULL)
        return true;
    value->attributes = *attributes;
    value->attributes.tensor = NULL;
    if (attributes->text != NULL) {
        value->attributes.text = rgm_arena_strdup(value->graph->arena, attributes->text);
        if (value->attributes.text == NULL)
            return false;
    }
    if (attributes->tensor != NULL)
        value->attributes.tensor = rgm_tensor_retain(attributes->tensor);
    return true;
}

rgm_value *rgm_op(rgm_cgraph *graph, const rgm_op_type *type, rgm_value *const *in, int inputs,
                  const rgm_attributes *attributes)
{
    static const rgm_attributes none;
    rgm_op_shape shape;

    if (graph == NULL || graph->error.status != RGM_OK)
        return NULL;
    for (int i = 0; i < inputs; i++) {
        if (in[i] == NULL)
            return NULL;
        if (in[i]->graph != graph) {
            RGM_FAIL(RGM_ERR_ARG, "input %d belongs to another graph", i);
            return op_fail(graph, type, RGM_ERR_ARG);
        }
    }
    if (type->arity >= 0 && type->arity != inputs) {
        RGM_FAIL(RGM_ERR_ARG, "takes %d inputs, got %d", type->arity, inputs);
        return op_fail(graph, type, RGM_ERR_ARG);
    }
    memset(&shape, 0, sizeof shape);
    rgm_status status = type->infer(&shape, in, inputs, attributes != NULL ? attributes : &none);
    if (status != RGM_OK)
        return op_fail(graph, type, status);
    if (graph->error.status != RGM_OK) /* of a size that was computed */
        return NULL;
    rgm_value *value = rgmi_value_new(graph);
    if (value == NULL)
        return NULL;
    value->type = type;
    value->s = shape;
    value->inputs = inputs;
    value->in =
        rgm_arena_alloc(graph->arena, (size_t)(inputs > 0 ? inputs : 1) * sizeof *value->in);
    if (value->in == NULL || !attributes_copy(value, attributes))
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "%s: out of memory", type->name);
    for (int i = 0; i < inputs; i++)
        value->in[i] = in[i];
    return value;
}

rgm_value *rgmi_op1(const rgm_op_type *type, rgm_value *a, const rgm_attributes *attributes)
{
    return a == NULL ? NULL : rgm_op(a->graph, type, &a, 1, attributes);
}

rgm_value *rgmi_op2(const rgm_op_type *type, rgm_value *a, rgm_value *b,
                    const rgm_attributes *attributes)
{
    return a == NULL ? NULL : rgm_op(a->graph, type, (rgm_value *[]){a, b}, 2, attributes);
}

rgm_value *rgmi_op3(const rgm_op_type *type, rgm_value *a, rgm_value *b, rgm_value *c,
                    const rgm_attributes *attributes)
{
    return a == NULL ? NULL : rgm_op(a->graph, type, (rgm_value *[]){a, b, c}, 3, attributes);
}

rgm_value *rgmi_op4(const rgm_op_type *type, rgm_value *a, rgm_value *b, rgm_value *c, rgm_value *d,
                    const rgm_attributes *attributes)
{
    return a == NULL ? NULL : rgm_op(a->graph, type, (rgm_value *[]){a, b, c, d}, 4, attributes);
}
