/*
 * Looking at values: shapes, names, text; and the checks that infer functions share.
 */
#include "autodiff_internal.h"
#include <stdio.h>

const char rgmi_second[] = "a gradient itself; second derivatives of it are not provided";

rgm_cgraph *rgm_value_graph(const rgm_value *value)
{
    return value == NULL ? NULL : value->graph;
}
rgm_dtype rgm_value_dtype(const rgm_value *value)
{
    return value->s.dtype;
}
int rgm_value_rank(const rgm_value *value)
{
    return value->s.rank;
}
const rgm_dim *rgm_value_shape(const rgm_value *value)
{
    return value->s.shape;
}
bool rgm_value_is_pattern(const rgm_value *value)
{
    return value->s.is_pattern;
}
const char *rgm_value_name(const rgm_value *value)
{
    return value->name;
}
const rgm_op_type *rgm_value_op(const rgm_value *value)
{
    return value->type;
}
int rgm_value_input_count(const rgm_value *value)
{
    return value->inputs;
}
const rgm_attributes *rgm_value_attributes(const rgm_value *value)
{
    return &value->attributes;
}
rgm_tensor *rgm_value_constant(const rgm_value *value)
{
    return value->constant;
}
bool rgm_value_is_parameter(const rgm_value *value)
{
    return rgmi_is_stored(value->leaf);
}

bool rgm_value_is_trainable(const rgm_value *value)
{
    return value->leaf == RGMI_PARAMETER;
}
bool rgm_value_is_input(const rgm_value *value)
{
    return value->leaf == RGMI_INPUT;
}
int64_t rgm_value_number(const rgm_value *value)
{
    return value->id;
}
const char *rgm_value_scope(const rgm_value *value)
{
    return value->scope;
}

rgm_dim rgm_value_dim(const rgm_value *value, int axis)
{
    return value->s.shape[axis < 0 ? axis + value->s.rank : axis];
}

rgm_value *rgm_value_input(const rgm_value *value, int i)
{
    return i >= 0 && i < value->inputs ? value->in[i] : NULL;
}

void rgm_value_set_name(rgm_value *value, const char *name)
{
    if (value == NULL || value->leaf == RGMI_INPUT || rgmi_is_stored(value->leaf))
        return;
    value->name = rgm_arena_strdup(value->graph->arena, name);
    if (value->name == NULL)
        rgm_cgraph_fail(value->graph, RGM_ERR_NOMEM, "out of memory for a name");
}

const char *rgmi_shape_text(char *buffer, size_t size, const rgm_value *value)
{
    snprintf(buffer, size, "[");
    for (int i = 0; i < value->s.rank; i++) {
        size_t used = strlen(buffer);
        if (i > 0 && used + 1 < size)
            snprintf(buffer + used, size - used, ",");
        rgmi_dim_text(buffer, size, value->graph, value->s.shape[i]);
    }
    size_t used = strlen(buffer);
    if (used + 1 < size)
        snprintf(buffer + used, size - used, "]");
    return buffer;
}

const char *rgm_value_describe(const rgm_value *value, char *buffer, size_t size)
{
    char shape[RGMI_TEXT];

    if (value == NULL)
        snprintf(buffer, size, "(none)");
    else
        snprintf(buffer, size, "%s%s",
                 value->s.is_pattern ? "pattern" : rgm_dtype_name(value->s.dtype),
                 rgmi_shape_text(shape, sizeof shape, value));
    return buffer;
}

static rgm_status value_print(rgm_text *out, const rgm_value *value)
{
    static const char *const leaf[] = {"", "input", "constant", "parameter", "state"};
    char text[RGMI_TEXT];

    RGM_TRY(rgm_text_printf(out, "%%%lld = %s", (long long)value->id,
                            value->type != NULL ? value->type->name : leaf[value->leaf]));
    for (int i = 0; i < value->inputs; i++)
        RGM_TRY(rgm_text_printf(out, "%s%%%lld", i == 0 ? " " : ", ", (long long)value->in[i]->id));
    RGM_TRY(rgm_text_printf(out, " : %s", rgm_value_describe(value, text, sizeof text)));
    if (value->name != NULL)
        RGM_TRY(rgm_text_printf(out, " '%s'", value->name));
    if (value->scope != NULL)
        RGM_TRY(rgm_text_printf(out, " (%s)", value->scope));
    return rgm_text_printf(out, "\n");
}

rgm_status rgm_cgraph_print(rgm_text *out, const rgm_cgraph *graph)
{
    for (int64_t i = 0; i < graph->count; i++)
        RGM_TRY(value_print(out, graph->values[i]));
    return RGM_OK;
}

/* ---- checks ---- */

rgm_status rgmi_need_float(const rgm_value *x, const char *what)
{
    char text[RGMI_TEXT];

    if (x->s.is_pattern || !rgmi_is_float(x->s.dtype))
        return RGM_FAIL(RGM_ERR_DTYPE, "%s must be f32 or f64, is %s", what,
                        rgm_value_describe(x, text, sizeof text));
    return RGM_OK;
}

rgm_status rgmi_need_pattern(const rgm_value *p)
{
    char text[RGMI_TEXT];

    if (!p->s.is_pattern)
        return RGM_FAIL(RGM_ERR_ARG, "first input must be a pattern, is %s",
                        rgm_value_describe(p, text, sizeof text));
    return RGM_OK;
}

rgm_status rgmi_need_rank(const rgm_value *x, const char *what, int lowest)
{
    char text[RGMI_TEXT];

    if (x->s.is_pattern || x->s.rank < lowest)
        return RGM_FAIL(RGM_ERR_SHAPE, "%s needs at least %d axes, is %s", what, lowest,
                        rgm_value_describe(x, text, sizeof text));
    return RGM_OK;
}

rgm_status rgmi_same_shape(rgm_op_shape *out, rgm_value *x)
{
    *out = x->s;
    return RGM_OK;
}

rgm_status rgmi_rows_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                           const rgm_attributes *attributes)
{
    (void)inputs, (void)attributes;
    RGM_TRY(rgmi_need_float(in[0], "input"));
    RGM_TRY(rgmi_need_rank(in[0], "input", 1));
    return rgmi_same_shape(out, in[0]);
}

void rgmi_rows_of(int64_t *rows, int64_t *channels, const rgm_view *x)
{
    *channels = x->shape[x->rank - 1];
    *rows = *channels > 0 ? rgmi_view_count(x) / *channels : 0;
}

bool rgmi_shapes_equal(const rgm_value *a, const rgm_value *b)
{
    if (a->s.rank != b->s.rank || a->s.is_pattern != b->s.is_pattern)
        return false;
    for (int i = 0; i < a->s.rank; i++)
        if (a->s.shape[i] != b->s.shape[i])
            return false;
    return true;
}

int64_t rgmi_view_tail(const rgm_view *view, int axis)
{
    int64_t product = 1;

    for (int i = axis; i < view->rank; i++)
        product *= view->shape[i];
    return product;
}

int64_t rgmi_view_count(const rgm_view *view)
{
    return rgmi_view_tail(view, 0);
}
