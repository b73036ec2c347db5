/*
 * Writes an export's nodes as a SavedModel: leaves, each node by its row, without nodes that no
 * output needs, one signature, one file.
 */
#include <string.h>

#include "saved_model_internal.h"

/* TensorFlow 2.15.1, with which the tests read the files. Without this number in the graph, ops
 * would mean what they meant in the first release. */
#define PRODUCER   1645
#define TENSORFLOW "2.15.1"

static char *writable(const char *text)
{
    return (char *)(uintptr_t)text;
}

/* ---- the graph ----------------------------------------------------------------------------- */

/* Map the ONNX name to `made` from now on. */
static void remember(rgmi_tf *t, const char *onnx, const rgmi_tensor *made,
                     const Rgmi__Onnx__TensorProto *constant, const Rgmi__Onnx__NodeProto *node)
{
    rgmi_tensor *kept = rgmi_memory(&t->w, sizeof *kept);

    if (kept == NULL || made == NULL)
        return;
    *kept = *made;
    kept->constant = constant;
    kept->node = node;
    t->w.status = rgm_map_set(t->tensors, onnx, kept);
}

static rgm_dtype dtype_of(rgmi_tf *t, int32_t type)
{
    rgm_dtype dtype = RGM_F32;

    if (t->w.status == RGM_OK)
        t->w.status = rgmi_onnx_dtype(&dtype, type);
    return dtype;
}

static bool is_parsed(const rgmi_writer *from)
{
    return from->options != NULL &&
           (from->options->parsed != NULL || from->options->joins_examples);
}

/* What the file's inputs become: placeholders, or what a parser makes of `*examples`. */
static void add_inputs(rgmi_tf *t, const rgmi_writer *from, const rgmi_tensor **examples)
{
    const rgmi_tensor **made = rgmi_memory(&t->w, from->inputs.count * sizeof *made);
    int64_t sizes[RGM_MAX_RANK];

    if (made == NULL)
        return;
    if (is_parsed(from))
        *examples = from->options->joins_examples ? rgmi_tf_join(t, from, made)
                                                  : rgmi_tf_parse(t, from, made);
    for (size_t i = 0; i < from->inputs.count && t->w.status == RGM_OK; i++) {
        const Rgmi__Onnx__ValueInfoProto *info = from->inputs.items[i];
        rgm_dtype dtype = dtype_of(t, info->type->tensor_type->elem_type);
        int rank = rgmi_tf_sizes(sizes, info);

        if (!is_parsed(from))
            made[i] = rgmi_tf_placeholder(t, info->name, dtype, rank, sizes);
        remember(t, info->name, made[i], NULL, NULL);
    }
}

static void add_leaves(rgmi_tf *t, const rgmi_writer *from, const rgmi_tensor **examples)
{
    add_inputs(t, from, examples);
    for (size_t i = 0; i < from->initializers.count; i++) {
        const Rgmi__Onnx__TensorProto *p = from->initializers.items[i];
        const rgmi_tensor *made =
            rgmi_tf_constant(t, p->name, dtype_of(t, p->data_type), (int)p->n_dims, p->dims,
                             p->raw_data.data, p->raw_data.len);

        remember(t, p->name, made, p, NULL);
    }
}

static const rgmi_tf_row *row_of(const char *onnx)
{
    for (const rgmi_tf_row *row = rgmi_tf_rows; row->onnx != NULL; row++)
        if (strcmp(row->onnx, onnx) == 0)
            return row;
    return NULL;
}

static void translate(rgmi_tf *t, const Rgmi__Onnx__NodeProto *node)
{
    const rgmi_tf_row *row = row_of(node->op_type);
    rgmi_onnx_node s = {.node = node, .count = (int)node->n_input};

    if (row == NULL) {
        rgmi_fail(&t->w, RGM_ERR_UNSUPPORTED, "node '%s': TensorFlow has no form of %s here",
                  node->name, node->op_type);
        return;
    }
    s.op = row->op;
    s.in = rgmi_memory(&t->w, node->n_input * sizeof *s.in);
    if (s.in == NULL)
        return;
    for (size_t i = 0; i < node->n_input; i++)
        s.in[i] = rgm_map_get(t->tensors, node->input[i]);
    t->w.hint = node->output[0];
    remember(t, node->output[0], row->translate(t, &s), NULL, node);
}

/* ---- what is needed ------------------------------------------------------------------------ */

static const char *name_of(const rgmi_tf *t, const char *onnx)
{
    return ((const rgmi_tensor *)rgm_map_get(t->tensors, onnx))->name;
}

/* The node of an input: of "parser:3" that is "parser". */
static rgm_status need(rgm_map *needed, const char *input)
{
    char *name = NULL;
    rgm_status status = rgm_strndup(&name, input, strcspn(input, ":"));

    if (status == RGM_OK)
        status = rgm_map_set(needed, name, needed);
    rgm_free(name);
    return status;
}

/* Backwards, since a node comes after what it needs. Inputs stay: callers pass them. */
static rgm_status drop_unneeded(rgmi_tf *t, const rgmi_writer *from)
{
    Rgmi__Tf__NodeDef **nodes = (Rgmi__Tf__NodeDef **)t->w.nodes.items;
    size_t count = t->w.nodes.count, kept = 0;
    rgm_status status = RGM_OK;
    rgm_map *needed = NULL;

    RGM_GO(rgm_map_create(&needed));
    for (size_t i = 0; i < from->outputs.count; i++) {
        const Rgmi__Onnx__ValueInfoProto *info = from->outputs.items[i];

        RGM_GO(rgm_map_set(needed, name_of(t, info->name), t));
    }
    for (size_t i = count; i-- > 0;) {
        if (strcmp(nodes[i]->op, "Placeholder") != 0 && !rgm_map_has(needed, nodes[i]->name)) {
            nodes[i] = NULL;
            continue;
        }
        for (size_t k = 0; k < nodes[i]->n_input; k++)
            RGM_GO(need(needed, nodes[i]->input[k]));
    }
    for (size_t i = 0; i < count; i++)
        if (nodes[i] != NULL)
            nodes[kept++] = nodes[i];
    t->w.nodes.count = kept;
done:
    rgm_map_release(needed);
    return status;
}

/* ---- signatures ---------------------------------------------------------------------------- */

static void add_entry(rgmi_tf *t, rgmi_list *list, char *key, const char *node, rgm_dtype dtype,
                      int rank, const int64_t *sizes)
{
    Rgmi__Tf__NamedInfo *named = rgmi_memory(&t->w, sizeof *named);
    Rgmi__Tf__TensorInfo *info = rgmi_memory(&t->w, sizeof *info);

    if (t->w.status != RGM_OK)
        return;
    rgmi__tf__named_info__init(named);
    rgmi__tf__tensor_info__init(info);
    info->name = writable(rgmi_text(&t->w, "%s:0", node));
    info->has_dtype = 1;
    info->dtype = rgmi_tf_dtype(dtype);
    info->tensor_shape = rgmi_tf_shape(t, rank, sizes);
    named->key = key;
    named->value = info;
    rgmi_add(&t->w, list, named);
}

static void add_info(rgmi_tf *t, rgmi_list *list, const Rgmi__Onnx__ValueInfoProto *of)
{
    rgm_dtype dtype = dtype_of(t, of->type->tensor_type->elem_type);
    int64_t sizes[RGM_MAX_RANK];
    int rank = rgmi_tf_sizes(sizes, of);

    add_entry(t, list, of->name, name_of(t, of->name), dtype, rank, sizes);
}

/* Of serialized Examples where there are some, else of tensors. */
static void fill_signature(rgmi_tf *t, Rgmi__Tf__SignatureDef *signature, const rgmi_writer *from,
                           const rgmi_tensor *examples)
{
    rgmi_list inputs = {0}, outputs = {0};

    rgmi__tf__signature_def__init(signature);
    if (examples != NULL)
        add_entry(t, &inputs, RGMI_TF_EXAMPLES, examples->name, RGM_STRING, 1, (int64_t[]){-1});
    for (size_t i = 0; i < from->inputs.count && examples == NULL; i++)
        add_info(t, &inputs, from->inputs.items[i]);
    for (size_t i = 0; i < from->outputs.count; i++)
        add_info(t, &outputs, from->outputs.items[i]);
    signature->inputs = (Rgmi__Tf__NamedInfo **)inputs.items;
    signature->n_inputs = inputs.count;
    signature->outputs = (Rgmi__Tf__NamedInfo **)outputs.items;
    signature->n_outputs = outputs.count;
    signature->method_name = "tensorflow/serving/predict";
}

/* ---- the file ------------------------------------------------------------------------------ */

static rgm_status write_file(const char *folder, const Rgmi__Tf__SavedModel *model, size_t size)
{
    rgm_status status = RGM_OK;
    uint8_t *bytes = NULL;
    char *path = NULL;

    RGM_GO(RGM_NEW(bytes, (int64_t)size));
    rgmi__tf__saved_model__pack(model, bytes);
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(rgm_path_join(&path, folder, RGM_SAVED_MODEL_FILE));
    RGM_GO(rgm_file_save_own(path, bytes, (int64_t)size));
done:
    rgm_free(path);
    rgm_free(bytes);
    return status;
}

/* folder NULL: only check whether it could be written. */
static rgm_status pack(const char *folder, rgmi_tf *t, const rgmi_writer *from,
                       const rgmi_tensor *examples)
{
    Rgmi__Tf__SavedModel model = RGMI__TF__SAVED_MODEL__INIT;
    Rgmi__Tf__MetaGraphDef meta = RGMI__TF__META_GRAPH_DEF__INIT, *metas[] = {&meta};
    Rgmi__Tf__MetaInfoDef info = RGMI__TF__META_INFO_DEF__INIT;
    Rgmi__Tf__GraphDef graph = RGMI__TF__GRAPH_DEF__INIT;
    Rgmi__Tf__VersionDef version = RGMI__TF__VERSION_DEF__INIT;
    Rgmi__Tf__SignatureDef signature, of_tensors;
    Rgmi__Tf__NamedSignature named = RGMI__TF__NAMED_SIGNATURE__INIT, second = named;
    Rgmi__Tf__NamedSignature *all[] = {&named, &second};
    char *tags[] = {"serve"};
    size_t size;

    fill_signature(t, &signature, from, examples);
    fill_signature(t, &of_tensors, from, NULL);
    RGM_TRY(t->w.status);
    version.has_producer = 1;
    version.producer = PRODUCER;
    graph.node = (Rgmi__Tf__NodeDef **)t->w.nodes.items;
    graph.n_node = t->w.nodes.count;
    graph.versions = &version;
    info.meta_graph_version = from->options != NULL ? writable(from->options->description) : NULL;
    info.tags = tags;
    info.n_tags = 1;
    info.tensorflow_version = TENSORFLOW;
    named.key = "serving_default";
    named.value = &signature;
    second.key = "tensors";
    second.value = &of_tensors;
    meta = (Rgmi__Tf__MetaGraphDef){.base = meta.base,
                                    .meta_info_def = &info,
                                    .graph_def = &graph,
                                    .signature_def = all,
                                    .n_signature_def = examples != NULL ? 2 : 1};
    model.has_saved_model_schema_version = 1;
    model.saved_model_schema_version = 1;
    model.meta_graphs = metas;
    model.n_meta_graphs = 1;
    size = rgmi__tf__saved_model__get_packed_size(&model);
    if (size > INT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the model takes %zu bytes, a SavedModel with its weights at most 2 GiB",
                        size);
    return folder != NULL ? write_file(folder, &model, size) : RGM_OK;
}

static rgm_status finish(const char *folder, rgmi_writer *from, const rgmi_export *e)
{
    rgm_status status = RGM_OK;
    rgmi_tf t = {.w = {.arena = from->arena}};
    const rgmi_tensor *examples = NULL;

    (void)e; /* the nodes have everything */
    RGM_GO(rgm_map_create(&t.w.used));
    RGM_GO(rgm_map_create(&t.w.known));
    RGM_GO(rgm_map_create(&t.tensors));
    add_leaves(&t, from, &examples);
    for (size_t i = 0; i < from->nodes.count && t.w.status == RGM_OK; i++)
        translate(&t, from->nodes.items[i]);
    RGM_GO(t.w.status);
    RGM_GO(drop_unneeded(&t, from));
    RGM_GO(pack(folder, &t, from, examples));
done:
    rgm_map_release(t.w.used);
    rgm_map_release(t.w.known);
    rgm_map_release(t.tensors);
    return status;
}

rgm_status rgm_saved_model_save(const char *folder, rgm_cgraph *graph,
                                const rgm_parameters *parameters, const rgm_export_output *outputs,
                                int64_t output_count, const rgm_onnx_options *options)
{
    return rgmi_export_as("SavedModel", finish, folder,
                          &(rgmi_export){graph, parameters, outputs, output_count, options, NULL});
}

rgm_status rgm_saved_model_check(rgm_cgraph *graph, const rgm_parameters *parameters,
                                 const rgm_export_output *outputs, int64_t output_count,
                                 const rgm_onnx_options *options)
{
    return rgmi_export_as("SavedModel", finish, NULL,
                          &(rgmi_export){graph, parameters, outputs, output_count, options, NULL});
}
