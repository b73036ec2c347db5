/*
 * Walk the compute graph from the outputs down, translate each value once, and pack the model.
 */
#include <stdio.h>
#include <string.h>

#include "onnx_internal.h"

/* ---- names of values ----------------------------------------------------------------------- */

static const char *key_of(char *key, size_t size, const rgm_value *value)
{
    snprintf(key, size, "%p", (const void *)value);
    return key;
}

static rgmi_name *find(rgmi_writer *w, const rgm_value *value)
{
    char key[32];

    return rgm_map_get(w->named, key_of(key, sizeof key, value));
}

const char *rgmi_name_of(rgmi_writer *w, const rgm_value *value)
{
    const rgmi_name *name = w->status == RGM_OK ? find(w, value) : NULL;

    return name != NULL ? name->name : NULL;
}

const rgmi_name *rgmi_pattern_of(rgmi_writer *w, const rgm_value *value)
{
    return w->status == RGM_OK ? find(w, value) : NULL;
}

static rgmi_name *remember(rgmi_writer *w, const rgm_value *value)
{
    char key[32];
    rgmi_name *name = rgmi_memory(w, sizeof *name);

    if (name == NULL)
        return NULL;
    *name = (rgmi_name){.value = value};
    w->status = rgm_map_set(w->named, key_of(key, sizeof key, value), name);
    return w->status == RGM_OK ? name : NULL;
}

/* ---- leaves -------------------------------------------------------------------------------- */

static void name_pattern_input(rgmi_writer *w, const rgm_value *value, rgmi_name *name)
{
    const rgm_dim count = rgm_value_shape(value)[2];

    name->rows = rgmi_text(w, "%s.rows", rgm_value_name(value));
    name->columns = rgmi_text(w, "%s.columns", rgm_value_name(value));
    rgmi_input(w, name->rows, RGM_I64, 1, &count);
    rgmi_input(w, name->columns, RGM_I64, 1, &count);
}

static void name_leaf(rgmi_writer *w, const rgm_value *value, rgmi_name *name)
{
    rgm_tensor *tensor = rgm_value_constant(value);

    if (rgm_value_is_pattern(value)) {
        name_pattern_input(w, value, name);
        return;
    }
    if (rgm_value_is_input(value)) {
        name->name = rgmi_text(w, "%s", rgm_value_name(value));
        if (rgmi_onnx_type(rgm_value_dtype(value)) == 0)
            rgmi_fail(w, RGM_ERR_UNSUPPORTED, "input '%s' is text, which has no ONNX form here",
                      name->name);
        rgmi_input(w, name->name, rgm_value_dtype(value), rgm_value_rank(value),
                   rgm_value_shape(value));
        return;
    }
    if (rgm_value_is_parameter(value)) {
        tensor = rgm_parameters_find(w->parameters, rgm_value_name(value));
        name->name = rgmi_text(w, "%s", rgm_value_name(value));
    } else {
        name->name = rgmi_text(w, "constant_%lld", (long long)w->next++);
    }
    if (tensor == NULL)
        rgmi_fail(w, RGM_ERR_NOT_FOUND, "the parameters have no '%s'", name->name);
    else
        rgmi_initializer(w, name->name, tensor);
}

/* ---- ops ----------------------------------------------------------------------------------- */

static rgmi_translator *translator_of(const char *op)
{
    const rgmi_translation *const tables[] = {rgmi_dense_translations, rgmi_sparse_translations};

    for (int t = 0; t < 2; t++)
        for (const rgmi_translation *row = tables[t]; row->op != NULL; row++)
            if (strcmp(row->op, op) == 0)
                return row->translate;
    return NULL;
}

static void translate(rgmi_writer *w, const rgm_value *value)
{
    const rgm_op_type *op = rgm_value_op(value);
    const char *scope = rgm_value_scope(value);
    rgmi_translator *translator;
    rgmi_name *name;

    if (op == NULL) {
        name = remember(w, value);
        if (name != NULL)
            name_leaf(w, value, name);
        return;
    }
    /* All element-wise ops say what they are by attribute, under many names. */
    translator = translator_of(op->elementwise ? "map" : op->name);
    if (translator == NULL) {
        rgmi_fail(w, RGM_ERR_UNSUPPORTED, "op '%s'%s%s%s has no ONNX form", op->name,
                  scope != NULL ? " (in scope '" : "", scope != NULL ? scope : "",
                  scope != NULL ? "')" : "");
        return;
    }
    w->hint = rgmi_text(w, "%s%s%s", scope != NULL ? scope : "", scope != NULL ? "/" : "",
                        op->name);
    name = remember(w, value);
    if (name != NULL && w->hint != NULL)
        translator(w, value, name);
}

/* Depth first without recursion: a value is translated when all its inputs are. */
static void translate_below(rgmi_writer *w, const rgm_value *output)
{
    rgmi_list stack = {0};

    rgmi_add(w, &stack, (void *)(uintptr_t)output);
    while (stack.count > 0 && w->status == RGM_OK) {
        const rgm_value *top = stack.items[stack.count - 1];
        bool ready = true;

        if (find(w, top) != NULL) {
            stack.count--;
            continue;
        }
        for (int i = rgm_value_input_count(top) - 1; i >= 0; i--)
            if (find(w, rgm_value_input(top, i)) == NULL) {
                rgmi_add(w, &stack, rgm_value_input(top, i));
                ready = false;
            }
        if (ready) {
            translate(w, top);
            stack.count--;
        }
    }
}

/* An output gets its own name by an Identity, whatever made it. */
static void add_output(rgmi_writer *w, const rgm_export_output *output)
{
    Rgmi__Onnx__NodeProto *node;
    rgmi_list kept = w->inputs;
    const char *inner = rgmi_name_of(w, output->value);

    w->hint = "output";
    if (rgmi_node(w, "Identity", inner, NULL, NULL) == NULL)
        return;
    node = w->nodes.items[w->nodes.count - 1];
    node->output[0] = (char *)(uintptr_t)output->name;
    /* Value infos of outputs are made like those of inputs. */
    w->inputs = w->outputs;
    rgmi_input(w, output->name, rgm_value_dtype(output->value), rgm_value_rank(output->value),
               rgm_value_shape(output->value));
    w->outputs = w->inputs;
    w->inputs = kept;
}

/* ---- the model ----------------------------------------------------------------------------- */

static void fill_graph(Rgmi__Onnx__GraphProto *graph, const rgmi_writer *w)
{
    rgmi__onnx__graph_proto__init(graph);
    graph->name = "regimen";
    graph->node = (Rgmi__Onnx__NodeProto **)w->nodes.items;
    graph->n_node = w->nodes.count;
    graph->initializer = (Rgmi__Onnx__TensorProto **)w->initializers.items;
    graph->n_initializer = w->initializers.count;
    graph->input = (Rgmi__Onnx__ValueInfoProto **)w->inputs.items;
    graph->n_input = w->inputs.count;
    graph->output = (Rgmi__Onnx__ValueInfoProto **)w->outputs.items;
    graph->n_output = w->outputs.count;
}

static rgm_status pack(const char *path, rgmi_writer *w, const rgm_onnx_options *options)
{
    rgm_status status = RGM_OK;
    Rgmi__Onnx__ModelProto model = RGMI__ONNX__MODEL_PROTO__INIT;
    Rgmi__Onnx__GraphProto graph;
    Rgmi__Onnx__OperatorSetIdProto opset = RGMI__ONNX__OPERATOR_SET_ID_PROTO__INIT,
                                   *opsets[1] = {&opset};
    rgmi_list metadata = {0};
    uint8_t *bytes = NULL;
    size_t size;

    fill_graph(&graph, w);
    opset.domain = "";
    opset.has_version = 1;
    opset.version = RGMI_ONNX_OPSET;
    model.has_ir_version = 1;
    model.ir_version = RGMI_ONNX_IR;
    model.producer_name = "regimen";
    model.producer_version = RGM_VERSION;
    model.graph = &graph;
    model.opset_import = opsets;
    model.n_opset_import = 1;
    if (options != NULL)
        model.doc_string = (char *)(uintptr_t)options->description;
    for (int64_t i = 0; options != NULL && i < options->metadata_count; i++) {
        Rgmi__Onnx__StringStringEntryProto *entry = rgmi_memory(w, sizeof *entry);

        if (entry == NULL)
            return w->status;
        rgmi__onnx__string_string_entry_proto__init(entry);
        entry->key = (char *)(uintptr_t)options->metadata[2 * i];
        entry->value = (char *)(uintptr_t)options->metadata[2 * i + 1];
        rgmi_add(w, &metadata, entry);
    }
    model.metadata_props = (Rgmi__Onnx__StringStringEntryProto **)metadata.items;
    model.n_metadata_props = metadata.count;
    size = rgmi__onnx__model_proto__get_packed_size(&model);
    if (size > INT32_MAX)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "the model takes %zu bytes, an ONNX file at most 2 GiB",
                        size);
    RGM_GO(RGM_NEW(bytes, (int64_t)size));
    rgmi__onnx__model_proto__pack(&model, bytes);
    RGM_GO(rgm_file_save(path, bytes, (int64_t)size));
done:
    rgm_free(bytes);
    return status;
}

rgm_status rgm_onnx_save(const char *path, rgm_cgraph *graph, const rgm_parameters *parameters,
                         const rgm_export_output *outputs, int64_t output_count,
                         const rgm_onnx_options *options)
{
    rgm_status status = RGM_OK;
    rgmi_writer w = {.graph = graph, .parameters = parameters, .hint = "regimen"};

    RGM_GO(rgm_cgraph_status(graph));
    RGM_GO(rgm_arena_create(&w.arena));
    RGM_GO(rgm_map_create(&w.named));
    RGM_GO(rgm_map_create(&w.constants));
    RGM_GO(rgm_map_create(&w.sizes));
    for (int64_t i = 0; i < output_count; i++) {
        translate_below(&w, outputs[i].value);
        add_output(&w, &outputs[i]);
    }
    RGM_GO(w.status);
    RGM_GO(pack(path, &w, options));
done:
    rgm_map_release(w.named);
    rgm_map_release(w.constants);
    rgm_map_release(w.sizes);
    rgm_arena_release(w.arena);
    return status;
}
