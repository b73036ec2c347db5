/*
 * Inputs of a SavedModel that are parsed from serialized tf.train.Examples: one ParseExampleV2 for
 * all of them, whose dense outputs are padded in TensorFlow as rgm_parsed_feature says. Behind it a
 * node with each input's own name and dtype, which the signature of tensors feeds.
 */
#include <string.h>

#include "saved_model_internal.h"

int rgmi_tf_sizes(int64_t *sizes, const Rgmi__Onnx__ValueInfoProto *info)
{
    const Rgmi__Onnx__TensorShapeProto *shape = info->type->tensor_type->shape;

    for (size_t i = 0; i < shape->n_dim; i++)
        sizes[i] = shape->dim[i]->has_dim_value ? shape->dim[i]->dim_value : -1;
    return (int)shape->n_dim;
}

/* One feature for the parser. */
typedef struct parsed {
    const rgm_parsed_feature *feature;
    rgm_dtype list, dtype; /* of the Example, f32 or i64; of the input */
    int rank;              /* without the axis of records              */
    int64_t sizes[RGM_MAX_RANK];
    bool varies;
} parsed;

static const rgm_parsed_feature *feature_of(const rgmi_writer *from, const char *input)
{
    const rgm_parsed_feature *f = from->options->parsed;

    while (f->input != NULL && strcmp(f->input, input) != 0)
        f++;
    return f->input != NULL ? f : NULL;
}

static int64_t values_of(const parsed *p)
{
    int64_t count = 1;

    for (int i = 0; i < p->rank; i++)
        count *= p->sizes[i];
    return count;
}

/* Whether an Example can have such an input, and the feature says no more than there is. */
static void check(rgmi_tf *t, const parsed *p, const char *input, int64_t records)
{
    if (records != -1)
        rgmi_fail(&t->w, RGM_ERR_CONFIG,
                  "the input '%s' has no axis of records, one for each Example", input);
    for (int i = 1; i < p->rank; i++)
        if (p->sizes[i] == -1)
            rgmi_fail(&t->w, RGM_ERR_CONFIG,
                      "axis %d of the input '%s' varies: of an Example only the first axis behind "
                      "that of records can",
                      i + 1, input);
    if (p->varies && p->feature->default_count > 0)
        rgmi_fail(&t->w, RGM_ERR_CONFIG,
                  "the input '%s' is a list of any length, whose missing feature is a list of "
                  "nothing: it has padding, no defaults",
                  input);
    else if (p->feature->default_count > 1 && p->feature->default_count != values_of(p))
        rgmi_fail(&t->w, RGM_ERR_CONFIG,
                  "the input '%s' has %lld defaults: it takes one for all values of a record, or "
                  "%lld",
                  input, (long long)p->feature->default_count, (long long)values_of(p));
}

static void describe(rgmi_tf *t, parsed *p, const rgmi_writer *from,
                     const Rgmi__Onnx__ValueInfoProto *info)
{
    int64_t sizes[RGM_MAX_RANK] = {0};
    int rank = rgmi_tf_sizes(sizes, info);

    *p = (parsed){.feature = feature_of(from, info->name), .rank = rank > 0 ? rank - 1 : 0};
    if (t->w.status != RGM_OK)
        return;
    if (p->feature == NULL) {
        rgmi_fail(&t->w, RGM_ERR_CONFIG,
                  "the graph takes the input '%s', for which no feature is parsed", info->name);
        return;
    }
    t->w.status = rgmi_onnx_dtype(&p->dtype, info->type->tensor_type->elem_type);
    p->list = p->dtype == RGM_F32 || p->dtype == RGM_F64 ? RGM_F32 : RGM_I64;
    if (p->rank > 0)
        memcpy(p->sizes, sizes + 1, (size_t)p->rank * sizeof *sizes);
    p->varies = p->rank > 0 && p->sizes[0] == -1;
    check(t, p, info->name, rank > 0 ? sizes[0] : 0);
}

/* What stands in for a feature that is not there: nothing, a record's values, or the padding. */
static const rgmi_tensor *default_of(rgmi_tf *t, const parsed *p)
{
    const rgm_parsed_feature *f = p->feature;
    bool required = f->default_count == 0 && !p->varies;
    int64_t none = 0, count = required ? 0 : p->varies ? 1 : values_of(p);
    size_t size = p->list == RGM_F32 ? sizeof(float) : sizeof(int64_t);
    void *data = rgmi_memory(&t->w, (size_t)count * size);
    const char *name = rgmi_text(&t->w, RGMI_TF_EXAMPLES "/default/%s", f->input);

    if (data == NULL || name == NULL)
        return NULL;
    for (int64_t i = 0; i < count; i++) {
        double value = p->varies ? f->padding : f->defaults[f->default_count > 1 ? i : 0];

        if (p->list == RGM_F32)
            ((float *)data)[i] = (float)value;
        else
            ((int64_t *)data)[i] = (int64_t)value;
    }
    if (required)
        return rgmi_tf_constant(t, name, p->list, 1, &none, data, 0);
    return rgmi_tf_constant(t, name, p->list, p->varies ? 0 : p->rank, p->sizes, data,
                            (size_t)count * size);
}

/* The parser, whose output i is feature i. */
static const rgmi_tensor *parser(rgmi_tf *t, const rgmi_tensor *examples, const parsed *all,
                                 int count)
{
    const char **keys = rgmi_memory(&t->w, (size_t)count * sizeof *keys);
    rgm_dtype *types = rgmi_memory(&t->w, (size_t)count * sizeof *types);
    Rgmi__Tf__TensorShapeProto **shapes = rgmi_memory(&t->w, (size_t)count * sizeof *shapes);
    const rgmi_tensor **in = rgmi_memory(&t->w, (size_t)(count + 5) * sizeof *in), *y;

    if (t->w.status != RGM_OK)
        return NULL;
    for (int i = 0; i < count; i++) {
        keys[i] = all[i].feature->key != NULL ? all[i].feature->key : all[i].feature->input;
        types[i] = all[i].list;
        shapes[i] = rgmi_tf_shape(t, all[i].rank, all[i].sizes);
        in[5 + i] = default_of(t, &all[i]);
    }
    in[0] = examples;
    in[1] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/names", NULL, 0);
    in[2] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/sparse_keys", NULL, 0);
    in[3] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/keys", keys, count);
    in[4] = rgmi_tf_texts(t, RGMI_TF_EXAMPLES "/ragged_keys", NULL, 0);
    t->w.hint = RGMI_TF_EXAMPLES "/parse";
    y = rgmi_tf_node_of(t, "ParseExampleV2", RGM_F32, in, count + 5);
    rgmi_tf_types(t, "Tdense", types, count);
    rgmi_tf_shapes(t, "dense_shapes", shapes, count);
    rgmi_tf_int(t, "num_sparse", 0);
    rgmi_tf_types(t, "sparse_types", NULL, 0);
    rgmi_tf_types(t, "ragged_value_types", NULL, 0);
    rgmi_tf_types(t, "ragged_split_types", NULL, 0);
    return y;
}

/* A feature in its input's dtype, by a node of the input's name. */
static const rgmi_tensor *input_of(rgmi_tf *t, const rgmi_tensor *parser, const parsed *p, int i)
{
    const rgmi_tensor from = {.name = i == 0 ? parser->name
                                             : rgmi_text(&t->w, "%s:%d", parser->name, i),
                              .dtype = p->list};
    const rgmi_tensor *y;

    if (t->w.status != RGM_OK)
        return NULL;
    t->w.hint = p->feature->input;
    y = rgmi_tf_node(t, p->list == p->dtype ? "Identity" : "Cast", p->dtype, &from, NULL, NULL);
    if (p->list == p->dtype) {
        rgmi_tf_type(t, "T", p->dtype);
    } else {
        rgmi_tf_type(t, "SrcT", p->list);
        rgmi_tf_type(t, "DstT", p->dtype);
    }
    return y;
}

const rgmi_tensor *rgmi_tf_parse(rgmi_tf *t, const rgmi_writer *from, const rgmi_tensor **made)
{
    int count = (int)from->inputs.count;
    parsed *all = rgmi_memory(&t->w, (size_t)count * sizeof *all);
    const rgmi_tensor *examples, *y;

    if (all == NULL)
        return NULL;
    if (count == 0)
        rgmi_fail(&t->w, RGM_ERR_CONFIG, "the graph takes no input that could be parsed");
    for (int i = 0; i < count; i++)
        describe(t, &all[i], from, from->inputs.items[i]);
    if (t->w.status != RGM_OK)
        return NULL;
    examples = rgmi_tf_placeholder(t, RGMI_TF_EXAMPLES, RGM_STRING, 1, (int64_t[]){-1});
    y = parser(t, examples, all, count);
    for (int i = 0; i < count && y != NULL; i++)
        made[i] = input_of(t, y, &all[i], i);
    return examples;
}
