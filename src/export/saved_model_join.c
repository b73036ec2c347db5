/*
 * Inputs of a SavedModel that are the tables of graphs, parsed from serialized tf.train.Examples:
 * the tables of all Examples one behind another, in which the numbers of nodes are shifted by the
 * nodes of the Examples before, as rgm_graph_merge() does it. Examples of a request may come from
 * several clients, so each is held to its own nodes and rows: what is wrong in one is an error and
 * not a part of another.
 */
#include <string.h>

#include "saved_model_internal.h"

/* One feature of the parser: its values one behind another, and where each Example's begin. */
typedef struct joined {
    const char *key;
    rgm_dtype list, dtype;       /* of the Example, f32 or i64; of the table */
    const rgm_onnx_table *table; /* of the file; NULL: sizes that only counts asks for */
    const char *counts; /* the key of the sizes that its values are numbers in; NULL: none */
    const rgmi_tensor *values, *splits;
    const rgmi_tensor *bounds; /* of sizes and lengths: their sums where Examples begin and end */
} joined;

typedef struct joining {
    rgmi_tf *t;
    const rgm_onnx_options *options;
    joined *all;
    int count;
} joining;

static joined *find(const joining *j, const char *key)
{
    for (int i = 0; i < j->count; i++)
        if (strcmp(j->all[i].key, key) == 0)
            return &j->all[i];
    return NULL;
}

static const rgm_onnx_table *table_of(const rgmi_writer *from, const char *name)
{
    for (size_t i = 0; i < from->tables.count; i++) {
        const rgm_onnx_table *table = from->tables.items[i];

        if (strcmp(table->name, name) == 0)
            return table;
    }
    return NULL;
}

static void add(joining *j, const char *key, rgm_dtype dtype, const rgm_onnx_table *table)
{
    if (find(j, key) == NULL)
        j->all[j->count++] =
            (joined){.key = key,
                     .dtype = dtype,
                     .list = dtype == RGM_F32 || dtype == RGM_F64 ? RGM_F32 : RGM_I64,
                     .table = table,
                     .counts = table != NULL ? table->counts : NULL};
}

/* The inputs, and the sizes that the numbers of nodes among them are shifted by. */
static void collect(joining *j, const rgmi_writer *from)
{
    for (size_t i = 0; i < from->inputs.count; i++) {
        const Rgmi__Onnx__ValueInfoProto *info = from->inputs.items[i];
        const rgm_onnx_table *table = table_of(from, info->name);

        if (table == NULL) {
            rgmi_fail(&j->t->w, RGM_ERR_UNSUPPORTED,
                      "the graph takes the input '%s', which is no table of an Example",
                      info->name);
            return;
        }
        add(j, info->name, table->dtype, table);
    }
    for (int i = 0, count = j->count; i < count; i++)
        if (j->all[i].counts != NULL)
            add(j, j->all[i].counts, RGM_I64, NULL);
}

/* ---- the parser -------------------------------------------------------------------------------
 */

static const rgmi_tensor *output_of(joining *j, const rgmi_tensor *parser, int i, rgm_dtype dtype)
{
    rgmi_tensor *y = rgmi_memory(&j->t->w, sizeof *y);

    if (y == NULL || parser == NULL)
        return NULL;
    *y =
        (rgmi_tensor){.name = i == 0 ? parser->name : rgmi_text(&j->t->w, "%s:%d", parser->name, i),
                      .dtype = dtype};
    return y;
}

static void parse(joining *j, const rgmi_tensor *examples)
{
    rgmi_tf *t = j->t;
    const char **keys = rgmi_memory(&t->w, (size_t)j->count * sizeof *keys);
    rgm_dtype *lists = rgmi_memory(&t->w, (size_t)j->count * sizeof *lists);
    rgm_dtype *splits = rgmi_memory(&t->w, (size_t)j->count * sizeof *splits);
    const rgmi_tensor *in[5] = {examples}, *parser;

    if (t->w.status != RGM_OK)
        return;
    for (int i = 0; i < j->count; i++) {
        keys[i] = j->all[i].key;
        lists[i] = j->all[i].list;
        splits[i] = RGM_I64;
    }
    in[1] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/names", NULL, 0);
    in[2] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/sparse_keys", NULL, 0);
    in[3] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/dense_keys", NULL, 0);
    in[4] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/keys", keys, j->count);
    t->w.hint = RGMI_TF_EXAMPLES "/parse";
    parser = rgmi_tf_node_of(t, "ParseExampleV2", RGM_F32, in, 5);
    rgmi_tf_types(t, "Tdense", NULL, 0);
    rgmi_tf_shapes(t, "dense_shapes", NULL, 0);
    rgmi_tf_int(t, "num_sparse", 0);
    rgmi_tf_types(t, "sparse_types", NULL, 0);
    rgmi_tf_types(t, "ragged_value_types", lists, j->count);
    rgmi_tf_types(t, "ragged_split_types", splits, j->count);
    for (int i = 0; i < j->count; i++) {
        j->all[i].values = output_of(j, parser, i, j->all[i].list);
        j->all[i].splits = output_of(j, parser, j->count + i, RGM_I64);
    }
}

/* ---- numbers of nodes -------------------------------------------------------------------------
 */

static const rgmi_tensor *gathered(rgmi_tf *t, const rgmi_tensor *x, const rgmi_tensor *index)
{
    const rgmi_tensor *y = rgmi_tf_node(t, "GatherV2", RGM_I64, x, index, rgmi_tf_number(t, 0));

    rgmi_tf_type(t, "Tparams", RGM_I64);
    rgmi_tf_type(t, "Tindices", RGM_I64);
    rgmi_tf_type(t, "Taxis", RGM_I64);
    return y;
}

static const rgmi_tensor *binary(rgmi_tf *t, const char *op, const rgmi_tensor *a,
                                 const rgmi_tensor *b)
{
    const rgmi_tensor *y = rgmi_tf_node(t, op, RGM_I64, a, b, NULL);

    rgmi_tf_type(t, "T", RGM_I64);
    return y;
}

static const rgmi_tensor *compared(rgmi_tf *t, const char *op, const rgmi_tensor *a,
                                   const rgmi_tensor *b)
{
    const rgmi_tensor *y = rgmi_tf_node(t, op, RGM_BOOL, a, b, NULL);

    rgmi_tf_type(t, "T", RGM_I64);
    return y;
}

static const rgmi_tensor *chosen(rgmi_tf *t, const rgmi_tensor *condition, const rgmi_tensor *yes,
                                 const rgmi_tensor *no)
{
    const rgmi_tensor *y = rgmi_tf_node(t, "SelectV2", RGM_I64, condition, yes, no);

    rgmi_tf_type(t, "T", RGM_I64);
    return y;
}

/* The sum of all values before each Example, and of all: [examples + 1]. */
static const rgmi_tensor *bounds_of(joining *j, joined *sizes)
{
    const int64_t none = 0;
    rgmi_tf *t = j->t;
    const rgmi_tensor *axis = rgmi_tf_number(t, 0), *parts[2] = {rgmi_tf_vector(t, &none, 1)};
    const char *hint = t->w.hint;

    if (sizes->bounds != NULL)
        return sizes->bounds;
    t->w.hint = sizes->key;
    parts[1] = rgmi_tf_node(t, "Cumsum", RGM_I64, sizes->values, axis, NULL);
    rgmi_tf_type(t, "T", RGM_I64);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    parts[0] = rgmi_tf_concat(t, parts, 2, 0);
    sizes->bounds = gathered(t, parts[0], sizes->splits);
    t->w.hint = hint;
    return sizes->bounds;
}

static const rgmi_tensor *as_row(rgmi_tf *t, const rgmi_tensor *x)
{
    const int64_t row[] = {1, -1};

    return rgmi_tf_reshape(t, x, rgmi_tf_vector(t, row, 2));
}

/* 0, 1, ... for each value. */
static const rgmi_tensor *numbers_of(rgmi_tf *t, const rgmi_tensor *values)
{
    const int64_t none = 0, one = 1;
    const rgmi_tensor *shape = rgmi_tf_shape_of(t, values), *scalar = rgmi_tf_vector(t, NULL, 0);
    const rgmi_tensor *begin = rgmi_tf_vector(t, &none, 1), *end = rgmi_tf_vector(t, &one, 1);
    const rgmi_tensor *from = rgmi_tf_number(t, 0), *step = rgmi_tf_number(t, 1), *to, *y;

    to = rgmi_tf_slice(t, shape, begin, end, 0);
    to = rgmi_tf_reshape(t, to, scalar);
    y = rgmi_tf_node(t, "Range", RGM_I64, from, to, step);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    return y;
}

/* The number of the Example behind that of each value, in whose part it lies. */
static const rgmi_tensor *next_examples(joining *j, const joined *f)
{
    const int64_t all = -1;
    rgmi_tf *t = j->t;
    const rgmi_tensor *flat = rgmi_tf_vector(t, &all, 1), *splits, *numbers, *y;

    splits = as_row(t, f->splits);
    numbers = numbers_of(t, f->values);
    numbers = as_row(t, numbers);
    y = rgmi_tf_node(t, "UpperBound", RGM_I64, splits, numbers, NULL);
    rgmi_tf_type(t, "T", RGM_I64);
    rgmi_tf_type(t, "out_type", RGM_I64);
    return rgmi_tf_reshape(t, y, flat);
}

/* Numbers of nodes over all Examples from those of each. What is no node of its own Example becomes
 * an index that no tensor has. */
static const rgmi_tensor *shifted(joining *j, const joined *f, const rgmi_tensor *numbers)
{
    rgmi_tf *t = j->t;
    const rgmi_tensor *bounds = bounds_of(j, find(j, f->counts)), *next = next_examples(j, f);
    const rgmi_tensor *zero = rgmi_tf_number(t, 0), *one = rgmi_tf_number(t, 1), *begin, *count,
                      *wrong[2], *y;

    begin = binary(t, "Sub", next, one);
    begin = gathered(t, bounds, begin);
    count = gathered(t, bounds, next);
    count = binary(t, "Sub", count, begin);
    wrong[0] = compared(t, "Less", numbers, zero);
    wrong[1] = compared(t, "GreaterEqual", numbers, count);
    wrong[0] = rgmi_tf_node(t, "LogicalOr", RGM_BOOL, wrong[0], wrong[1], NULL);
    y = binary(t, "AddV2", numbers, begin);
    return chosen(t, wrong[0], rgmi_tf_number(t, (int64_t)RGMI_NO_INDEX), y);
}

/* ---- rows -------------------------------------------------------------------------------------
 */

/* Values of one row; 0: that varies. */
static int64_t width_of(const rgm_onnx_table *table)
{
    int64_t width = 1;

    for (int i = 1; i < table->rank; i++)
        width *= table->shape[i] > 0 ? table->shape[i] : 0;
    return width;
}

/* The table whose values, summed, are the number of rows of another: lengths of lists, or #size. */
static joined *lengths_of(const joining *j, const rgm_onnx_table *table)
{
    const rgm_onnx_options *o = j->options;

    for (int64_t i = 0; i < o->input_count; i++)
        if (o->inputs[i].form == RGM_FORM_RAGGED &&
            strcmp(o->inputs[i].tables[0].name, table->name) == 0)
            return find(j, o->inputs[i].tables[1].name);
    for (int64_t i = 0; i < o->size_count; i++)
        if (o->sizes[i].dim == table->shape[0] && !o->sizes[i].is_count)
            return find(j, o->sizes[i].table.name);
    return NULL;
}

/* Where the rows of f begin and end in each Example by what else tells it: its lengths, or else the
 * first table of such rows, whose rows have *width values. NULL: nothing else does. */
static const rgmi_tensor *row_bounds(int64_t *width, joining *j, const joined *f)
{
    joined *lengths = lengths_of(j, f->table);

    *width = 1;
    if (lengths != NULL)
        return bounds_of(j, lengths);
    for (int i = 0; i < j->count; i++) {
        const joined *other = &j->all[i];

        if (other->table == NULL || other->table->shape[0] != f->table->shape[0])
            continue;
        *width = width_of(other->table);
        return other == f ? NULL : other->splits;
    }
    return NULL;
}

static const rgmi_tensor *times(rgmi_tf *t, const rgmi_tensor *x, int64_t factor)
{
    return factor == 1 ? x : binary(t, "Mul", x, rgmi_tf_number(t, factor));
}

static bool is_of_components(const joining *j, const rgm_onnx_table *table)
{
    for (int64_t i = 0; i < j->options->size_count; i++)
        if (j->options->sizes[i].is_count && j->options->sizes[i].dim == table->shape[0])
            return true;
    return false;
}

/* Whether each Example has a value: every one has a component. */
static const rgmi_tensor *are_there(rgmi_tf *t, const joined *f)
{
    const int64_t zero = 0, one = 1, last = -1, all = INT64_MAX;
    const rgmi_tensor *from = rgmi_tf_vector(t, &zero, 1), *to = rgmi_tf_vector(t, &last, 1),
                      *begins, *ends;

    begins = rgmi_tf_slice(t, f->splits, from, to, 0);
    from = rgmi_tf_vector(t, &one, 1);
    to = rgmi_tf_vector(t, &all, 1);
    ends = rgmi_tf_slice(t, f->splits, from, to, 0);
    return compared(t, "Less", begins, ends);
}

/* Whether each Example has as many rows of f as of what goes with it: of other Examples' rows the
 * joined table would make its own. NULL: nothing goes with it. */
static const rgmi_tensor *rows_fit(joining *j, const joined *f)
{
    rgmi_tf *t = j->t;
    int64_t width = width_of(f->table), other;
    const rgmi_tensor *bounds = row_bounds(&other, j, f), *got;

    if (bounds == NULL)
        return is_of_components(j, f->table) ? are_there(t, f) : NULL;
    if (width == 0 || other == 0)
        return NULL;
    bounds = times(t, bounds, width);
    got = times(t, f->splits, other);
    return compared(t, "Equal", got, bounds);
}

/* The values of f: where its rows do not fit, more of them than there are, which is an error. (A
 * shape that cannot be is none: TensorFlow leaves out a Reshape from a vector to a vector.) */
static const rgmi_tensor *values_of(joining *j, const joined *f)
{
    const int64_t first = 0, all = -1, none = (int64_t)RGMI_NO_INDEX;
    rgmi_tf *t = j->t;
    const rgmi_tensor *fit = rows_fit(j, f), *begin = rgmi_tf_vector(t, &first, 1), *size, *y;

    if (fit == NULL)
        return f->values;
    fit = rgmi_tf_node(t, "All", RGM_BOOL, fit, begin, NULL);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    size = rgmi_tf_vector(t, &all, 1);
    size = chosen(t, fit, size, rgmi_tf_vector(t, &none, 1));
    y = rgmi_tf_node(t, "Slice", f->list, f->values, begin, size);
    rgmi_tf_type(t, "T", f->list);
    rgmi_tf_type(t, "Index", RGM_I64);
    return y;
}

/* ---- inputs -----------------------------------------------------------------------------------
 */

/* In the table's dtype and shape, by a node of the input's name. */
static const rgmi_tensor *input_of(joining *j, const Rgmi__Onnx__ValueInfoProto *info)
{
    rgmi_tf *t = j->t;
    const joined *f = find(j, info->name);
    const rgmi_tensor *y;
    int64_t sizes[RGM_MAX_RANK];
    int rank = rgmi_tf_sizes(sizes, info);

    t->w.hint = RGMI_TF_EXAMPLES "/join";
    y = values_of(j, f);
    if (f->counts != NULL)
        y = shifted(j, f, y);
    if (f->list != f->dtype && y != NULL) {
        y = rgmi_tf_node(t, "Cast", f->dtype, y, NULL, NULL);
        rgmi_tf_type(t, "SrcT", f->list);
        rgmi_tf_type(t, "DstT", f->dtype);
    }
    t->w.hint = info->name;
    return rgmi_tf_reshape(t, y, rgmi_tf_vector(t, sizes, rank));
}

const rgmi_tensor *rgmi_tf_join(rgmi_tf *t, const rgmi_writer *from, const rgmi_tensor **made)
{
    joining j = {.t = t, .options = from->options};
    const rgmi_tensor *examples;

    j.all = rgmi_memory(&t->w, 2 * from->inputs.count * sizeof *j.all);
    if (j.all == NULL)
        return NULL;
    collect(&j, from);
    examples = rgmi_tf_placeholder(t, RGMI_TF_EXAMPLES, RGM_STRING, 1, (int64_t[]){-1});
    parse(&j, examples);
    for (size_t i = 0; i < from->inputs.count && t->w.status == RGM_OK; i++)
        made[i] = input_of(&j, from->inputs.items[i]);
    return examples;
}
