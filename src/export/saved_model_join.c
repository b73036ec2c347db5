/*
 * Inputs of a SavedModel that are the tables of graphs, parsed from serialized tf.train.Examples:
 * the tables of all Examples one behind another, in which the numbers of nodes are shifted by the
 * nodes of the Examples before, as rgm_graph_merge() does it.
 */
#include <string.h>

#include "saved_model_internal.h"

/* One feature of the parser: its values one behind another, and where each Example's begin. */
typedef struct joined {
    const char *key;
    rgm_dtype list, dtype; /* of the Example, f32 or i64; of the table */
    const char *counts;    /* the key of the sizes that its values are numbers in; NULL: none */
    const rgmi_tensor *values, *splits;
    const rgmi_tensor *begins; /* of sizes: how many there are before each Example; or NULL */
} joined;

typedef struct joining {
    rgmi_tf *t;
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

static void add(joining *j, const char *key, rgm_dtype dtype, const char *counts)
{
    if (find(j, key) == NULL)
        j->all[j->count++] =
            (joined){.key = key,
                     .dtype = dtype,
                     .list = dtype == RGM_F32 || dtype == RGM_F64 ? RGM_F32 : RGM_I64,
                     .counts = counts};
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
        add(j, info->name, table->dtype, table->counts);
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

/* How many nodes the Examples before each one have: [examples]. Of sizes, whose sums are looked up
 * where an Example's sizes begin. */
static const rgmi_tensor *begins_of(joining *j, joined *sizes)
{
    const int64_t none = 0, last = -1;
    rgmi_tf *t = j->t;
    const rgmi_tensor *begin = rgmi_tf_vector(t, &none, 1), *end = rgmi_tf_vector(t, &last, 1);
    const rgmi_tensor *axis = rgmi_tf_number(t, 0), *parts[2] = {begin}, *firsts, *sums;

    if (sizes->begins != NULL)
        return sizes->begins;
    t->w.hint = sizes->key;
    parts[1] = rgmi_tf_node(t, "Cumsum", RGM_I64, sizes->values, axis, NULL);
    rgmi_tf_type(t, "T", RGM_I64);
    rgmi_tf_type(t, "Tidx", RGM_I64);
    sums = rgmi_tf_concat(t, parts, 2, 0);
    firsts = rgmi_tf_slice(t, sizes->splits, begin, end, 0);
    sizes->begins = gathered(t, sums, firsts);
    return sizes->begins;
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

/* The Example of each value: that whose part it lies in. */
static const rgmi_tensor *examples_of(joining *j, const joined *f)
{
    const int64_t all = -1;
    rgmi_tf *t = j->t;
    const rgmi_tensor *one = rgmi_tf_number(t, 1), *flat = rgmi_tf_vector(t, &all, 1), *splits,
                      *numbers, *y;

    splits = as_row(t, f->splits);
    numbers = numbers_of(t, f->values);
    numbers = as_row(t, numbers);
    y = rgmi_tf_node(t, "UpperBound", RGM_I64, splits, numbers, NULL);
    rgmi_tf_type(t, "T", RGM_I64);
    rgmi_tf_type(t, "out_type", RGM_I64);
    y = rgmi_tf_reshape(t, y, flat);
    return binary(t, "Sub", y, one);
}

/* ---- inputs -----------------------------------------------------------------------------------
 */

/* In the table's dtype and shape, by a node of the input's name. */
static const rgmi_tensor *input_of(joining *j, const Rgmi__Onnx__ValueInfoProto *info)
{
    rgmi_tf *t = j->t;
    joined *f = find(j, info->name);
    const rgmi_tensor *y = f->values, *begins, *rows;
    int64_t sizes[RGM_MAX_RANK];
    int rank = rgmi_tf_sizes(sizes, info);

    t->w.hint = RGMI_TF_EXAMPLES "/join";
    if (f->counts != NULL) {
        begins = begins_of(j, find(j, f->counts));
        rows = examples_of(j, f);
        begins = gathered(t, begins, rows);
        y = binary(t, "AddV2", y, begins);
    }
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
    joining j = {.t = t};
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
