/*
 * Makes a graph's inputs from tables, as nodes of the file: the work that a library would do before
 * feeding the graph. ONNX counts a negative index from the end, so every user's index is checked:
 * one out of range becomes an index that no tensor has, and the program that runs the file reports
 * it.
 */
#include <math.h>

#include "onnx_internal.h"

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
            rgmi_table_name(w, &input->tables[i]);
}

/* ---- sizes and indices ----------------------------------------------------------------------- */

/* The length of a vector, as a scalar. */
static const char *length_of(rgmi_writer *w, const char *x)
{
    return rgmi_node(w, "Squeeze", rgmi_node(w, "Shape", x, NULL, NULL), NULL, NULL);
}

static const char *nowhere_if(rgmi_writer *w, const char *condition, const char *x)
{
    return rgmi_node(w, "Where", condition, rgmi_scalar(w, RGM_I64, RGMI_NO_INDEX), x);
}

static const char *not_negative(rgmi_writer *w, const char *x)
{
    return nowhere_if(w, rgmi_node(w, "Greater", number(w, 0), x, NULL), x);
}

static const char *running_sum(rgmi_writer *w, const char *x)
{
    return rgmi_node(w, "CumSum", x, number(w, 0), NULL);
}

/* The row of each of `total` [1] entries, where row i has lengths[i]: the number of rows that end
 * before it. */
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

/* ---- searching ------------------------------------------------------------------------------- */

/* `keys` [1 << bits] of a search, with an unused one in front and the largest possible ones at the
 * end, so that every position of the search has a key. */
static const char *padded_keys(rgmi_writer *w, const rgm_onnx_search *s, int bits)
{
    int64_t size = INT64_C(1) << bits;
    double *numbers = rgmi_memory(w, (size_t)size * sizeof *numbers);
    int64_t *integers = rgmi_memory(w, (size_t)size * sizeof *integers);

    if (numbers == NULL || integers == NULL)
        return NULL;
    for (int64_t i = 0; i < size; i++) {
        bool is_key = i > 0 && i <= s->count;

        numbers[i] = is_key && s->numbers != NULL ? s->numbers[i - 1] : INFINITY;
        integers[i] = is_key && s->integers != NULL ? s->integers[i - 1] : INT64_MAX;
    }
    return s->numbers != NULL ? rgmi_numbers(w, RGM_F64, numbers, size)
                              : rgmi_numbers(w, RGM_I64, integers, size);
}

/* How many keys are <= each x, found bit by bit from the highest. */
static const char *rank_in(rgmi_writer *w, const char *x, const char *keys, int bits, int64_t count)
{
    const char *place = rgmi_filled(w, rgmi_node(w, "Shape", x, NULL, NULL), RGM_I64, 0);

    for (int bit = bits - 1; bit >= 0; bit--) {
        const char *next = rgmi_node(w, "Add", place, number(w, INT64_C(1) << bit), NULL);
        const char *key = rgmi_node(w, "Gather", keys, next, NULL);

        rgmi_int(w, "axis", 0);
        place = rgmi_node(w, "Where", rgmi_node(w, "Greater", key, x, NULL), place, next);
    }
    /* The largest possible x also passes the padding at the end. */
    return rgmi_node(w, "Min", place, number(w, count), NULL);
}

/* The column of each integer, which is that of its key. */
static const char *column_of_key(rgmi_writer *w, const rgm_onnx_search *s, const char *x,
                                 const char *place, const char *keys)
{
    int64_t *columns = rgmi_memory(w, (size_t)(s->count + 1) * sizeof *columns);
    const char *other =
        s->other >= 0 ? number(w, s->other) : rgmi_scalar(w, RGM_I64, RGMI_NO_INDEX);
    const char *one = number(w, 1), *found, *key;

    if (columns == NULL)
        return NULL;
    for (int64_t i = 0; i < s->count; i++)
        columns[i + 1] = s->columns[i];
    found = rgmi_node(w, "Gather", rgmi_numbers(w, RGM_I64, columns, s->count + 1), place, NULL);
    rgmi_int(w, "axis", 0);
    key = rgmi_node(w, "Gather", keys, place, NULL);
    rgmi_int(w, "axis", 0);
    found = rgmi_node(w, "Where", rgmi_node(w, "Equal", key, x, NULL), found, other);
    return rgmi_node(w, "Where", rgmi_node(w, "Greater", one, place, NULL), other, found);
}

/* The columns of the values x [n] of a table. */
static const char *searched(rgmi_writer *w, const rgm_onnx_search *s, const char *x)
{
    const char *nowhere = rgmi_scalar(w, RGM_I64, RGMI_NO_INDEX), *keys, *place;
    int bits = 1;

    while (INT64_C(1) << bits <= s->count)
        bits++;
    x = rgmi_cast(w, x, s->numbers != NULL ? RGM_F64 : RGM_I64);
    keys = padded_keys(w, s, bits);
    place = rank_in(w, x, keys, bits, s->count);
    if (s->numbers == NULL)
        return column_of_key(w, s, x, place, keys);
    return rgmi_node(w, "Where", rgmi_node(w, "Equal", x, x, NULL), place, nowhere);
}

/* ---- forms ----------------------------------------------------------------------------------- */

static void make_ragged(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const char *columns = in->tables[0].name;

    name->rows = rows_of(w, in->tables[1].name, rgmi_node(w, "Shape", columns, NULL, NULL));
    if (in->search != NULL)
        columns = searched(w, in->search, columns);
    else if (in->tables[0].dtype != RGM_I64)
        columns = rgmi_cast(w, columns, RGM_I64);
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
    if (table->dtype != RGM_I64 && in->search == NULL)
        x = rgmi_cast(w, x, RGM_I64);
    if (table->rank > 1)
        x = rgmi_node(w, "Reshape", x, rgmi_vector(w, &all, 1), NULL);
    if (in->search != NULL)
        x = searched(w, in->search, x);
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

/* Make one group with as many items as its size says. */
static void make_numbers(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const rgm_dim *shape = rgm_value_shape(in->input);
    const char *items = rgmi_size_scalar(w, shape[0]), *one = number(w, 1), *groups, *right;

    groups = length_of(w, in->tables[0].name);
    right = rgmi_node(w, "Equal", items, number(w, shape[1]), NULL);
    name->rows = rgmi_range(w, items);
    name->columns =
        rgmi_node(w, "Where", right, name->rows, rgmi_scalar(w, RGM_I64, RGMI_NO_INDEX));
    right = rgmi_node(w, "Equal", groups, one, NULL);
    name->columns =
        rgmi_node(w, "Where", right, name->columns, rgmi_scalar(w, RGM_I64, RGMI_NO_INDEX));
}

/* An empty group has no first item. */
static void make_firsts(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const char *sizes = in->tables[0].name,
               *starts = rgmi_node(w, "Sub", running_sum(w, sizes), sizes, NULL);

    name->rows = rgmi_range(w, length_of(w, sizes));
    name->columns = nowhere_if(w, rgmi_node(w, "Greater", number(w, 1), sizes, NULL), starts);
}

/* As many rows as entries. If one row is named twice, another has none and keeps the invalid
 * index. */
static void make_picks(rgmi_writer *w, const rgm_onnx_input *in, rgmi_name *name)
{
    const char *rows = in->tables[0].name,
               *none =
                   rgmi_filled(w, rgmi_node(w, "Shape", rows, NULL, NULL), RGM_I64, RGMI_NO_INDEX);

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
    case RGM_FORM_NUMBERS:
        make_numbers(w, in, name);
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
