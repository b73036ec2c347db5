/*
 * Inputs of a graph made of tables, as nodes of the file: what a library would do before it feeds
 * the graph. ONNX counts a negative index from the end, so every one that a user gives is looked
 * at: what is outside its range becomes an index that no tensor has, and whatever runs the file
 * says so.
 */
#include "onnx_internal.h"

/* An index that nothing has; a double holds it exactly. */
#define NOWHERE 4503599627370496.0 /* 2^52 */

static const char *number(rgmi_writer *w, int64_t value)
{
    return rgmi_scalar(w, RGM_I64, (double)value);
}

/* ---- asking ---------------------------------------------------------------------------------- */

const rgm_onnx_input *rgmi_input_form(const rgmi_writer *w, const rgm_value *input)
{
    for (int64_t i = 0; w->options != NULL && i < w->options->input_count; i++)
        if (w->options->inputs[i].input == input)
            return &w->options->inputs[i];
    return NULL;
}

void rgmi_ask_tables(rgmi_writer *w, const rgm_onnx_input *input)
{
    for (int i = 0; i < 2; i++)
        if (input->tables[i].name != NULL)
            rgmi_table(w, &input->tables[i]);
}

/* ---- sizes and indices ------------------------------------------------------------------------
 */

/* How many a vector has, a scalar. */
static const char *length_of(rgmi_writer *w, const char *x)
{
    return rgmi_node(w, "Squeeze", rgmi_node(w, "Shape", x, NULL, NULL), NULL, NULL);
}

static const char *nowhere_if(rgmi_writer *w, const char *condition, const char *x)
{
    return rgmi_node(w, "Where", condition, rgmi_scalar(w, RGM_I64, NOWHERE), x);
}

static const char *not_negative(rgmi_writer *w, const char *x)
{
    return nowhere_if(w, rgmi_node(w, "Greater", number(w, 0), x, NULL), x);
}

static const char *running_sum(rgmi_writer *w, const char *x)
{
    return rgmi_node(w, "CumSum", x, number(w, 0), NULL);
}

/* The row of each of `total` [1] entries where row i has lengths[i]: how many rows end before it.
 */
static const char *rows_of(rgmi_writer *w, const char *lengths, const char *total)
{
    const int64_t zero = 0, one = 1;
    const char *first = rgmi_vector(w, &zero, 1), *ends, *marks, *ones;

    ends = running_sum(w, not_negative(w, lengths));
    marks = rgmi_filled(w, rgmi_node(w, "Add", total, rgmi_vector(w, &one, 1), NULL), RGM_I64, 0);
    ones = rgmi_filled(w, rgmi_node(w, "Shape", lengths, NULL, NULL), RGM_I64, 1);
    marks = running_sum(w, rgmi_scatter(w, marks, ends, ones, 1, "add"));
    return rgmi_node_of(w, "Slice", (const char *[]){marks, first, total, first}, 4);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void make_ragged(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const char *columns = in->tables[0].name;

    name->rows = rows_of(w, in->tables[1].name, rgmi_node(w, "Shape", columns, NULL, NULL));
    name->columns = not_negative(w, columns);
}

static void make_kinds(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const rgm_onnx_table *table = &in->tables[0];
    const int64_t all = -1;
    int64_t each = 1;
    const char *x = table->name, *place, *wrong, *whole;

    for (int i = 1; i < table->rank; i++)
        each *= table->shape[i];
    if (table->dtype != RGM_I64)
        x = rgmi_cast(w, x, RGM_I64);
    if (table->rank > 1)
        x = rgmi_node(w, "Reshape", x, rgmi_vector(w, &all, 1), NULL);
    place = rgmi_range(w, length_of(w, x));
    wrong = rgmi_node(w, "Greater", number(w, 0), x, NULL);
    wrong = rgmi_node(w, "Or", wrong, rgmi_node(w, "Greater", x, number(w, in->values - 1), NULL),
                      NULL);
    name->rows = place;
    if (each > 1) {
        name->rows = rgmi_node(w, "Div", place, number(w, each), NULL);
        whole = rgmi_node(w, "Mul", name->rows, number(w, each), NULL);
        place = rgmi_node(w, "Sub", place, whole, NULL);
        place = rgmi_node(w, "Mul", place, number(w, in->values), NULL);
        x = rgmi_node(w, "Add", x, place, NULL);
    }
    name->columns = nowhere_if(w, wrong, x);
}

static void make_sizes(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const rgm_dim items = rgm_value_shape(in->input)[1];

    name->rows = rows_of(w, in->tables[0].name, rgmi_size(w, items));
    name->columns = rgmi_range(w, rgmi_size_scalar(w, items));
}

/* A group of nothing has no first item. */
static void make_firsts(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const char *sizes = in->tables[0].name,
               *starts = rgmi_node(w, "Sub", running_sum(w, sizes), sizes, NULL);

    name->rows = rgmi_range(w, length_of(w, sizes));
    name->columns = nowhere_if(w, rgmi_node(w, "Greater", number(w, 1), sizes, NULL), starts);
}

/* As many rows as entries. One that is named twice leaves another without, which stays nowhere. */
static void make_picks(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const char *rows = in->tables[0].name,
               *none = rgmi_filled(w, rgmi_node(w, "Shape", rows, NULL, NULL), RGM_I64, NOWHERE);

    name->rows = rgmi_range(w, length_of(w, rows));
    rows = not_negative(w, rows);
    name->columns = rgmi_scatter(w, none, rows, not_negative(w, in->tables[1].name), 1, "none");
}

void rgmi_make_input(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const rgm_value *value = in->input;

    w->hint = rgmi_text(w, "%s", rgm_value_name(value));
    if (w->hint == NULL)
        return;
    switch (in->form) {
    case RGM_FORM_DENSE:
        name->name = in->tables[0].name;
        break;
    case RGM_FORM_ENTRIES:
        name->rows = not_negative(w, in->tables[0].name);
        name->columns = not_negative(w, in->tables[1].name);
        break;
    case RGM_FORM_RAGGED:
        make_ragged(w, in, name);
        break;
    case RGM_FORM_KINDS:
        make_kinds(w, in, name);
        break;
    case RGM_FORM_SIZES:
        make_sizes(w, in, name);
        break;
    case RGM_FORM_FIRSTS:
        make_firsts(w, in, name);
        break;
    case RGM_FORM_PICKS:
        make_picks(w, in, name);
        break;
    case RGM_FORM_IDENTITY:
        name->rows = name->columns = rgmi_range(w, rgmi_size_scalar(w, rgm_value_shape(value)[0]));
        break;
    case RGM_FORM_ONES:
        name->name = rgmi_filled(w, rgmi_shape(w, rgm_value_shape(value), rgm_value_rank(value)),
                                 rgm_value_dtype(value), 1);
        break;
    }
}
