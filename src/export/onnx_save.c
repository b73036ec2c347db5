/*
 * Orders the values that the outputs need, names the leaves, translates each op once, and packs the
 * model.
 */
#include <string.h>

#include "onnx_internal.h"

/* ---- leaves -------------------------------------------------------------------------------- */

static void name_input(rgmi_writer *w, const rgm_value *value, rgmi_name *name)
{
    const char *text = rgm_value_name(value);
    rgm_dtype dtype = rgm_value_dtype(value);
    const rgm_onnx_input *form = rgmi_input_form(w, value);

    if (form != NULL) { /* filled in when all tables are there to take sizes from */
        rgmi_ask_tables(w, form);
        return;
    }
    if (rgm_value_is_pattern(value)) {
        const rgm_dim count = rgm_value_shape(value)[2];

        name->rows = rgmi_claim(w, rgmi_text(w, "%s.rows", text), "input");
        name->columns = rgmi_claim(w, rgmi_text(w, "%s.columns", text), "input");
        rgmi_value_info(w, &w->inputs, name->rows, RGM_I64, 1, &count, NULL);
        rgmi_value_info(w, &w->inputs, name->columns, RGM_I64, 1, &count, NULL);
        return;
    }
    if (rgmi_onnx_type(dtype) == 0)
        rgmi_fail(w, RGM_ERR_UNSUPPORTED, "input '%s' is text, which has no %s form here", text,
                  w->format);
    name->name = rgmi_claim(w, rgmi_text(w, "%s", text), "input");
    rgmi_value_info(w, &w->inputs, name->name, dtype, rgm_value_rank(value), rgm_value_shape(value),
                    NULL);
}

/* Parameters are looked up by name, and might be another graph's. */
static void check_parameter(rgmi_writer *w, const rgm_value *value, const rgm_tensor *tensor)
{
    bool fits = tensor != NULL && rgm_tensor_dtype(tensor) == rgm_value_dtype(value) &&
                rgm_tensor_rank(tensor) == rgm_value_rank(value);
    char is[64], wanted[128];

    for (int i = 0; fits && i < rgm_value_rank(value); i++)
        fits = rgm_tensor_dim(tensor, i) == rgm_value_dim(value, i);
    if (tensor == NULL)
        rgmi_fail(w, RGM_ERR_NOT_FOUND, "the parameters have no '%s'", rgm_value_name(value));
    else if (!fits)
        rgmi_fail(w, RGM_ERR_SHAPE, "parameter '%s' is %s, the graph has %s", rgm_value_name(value),
                  rgm_tensor_describe(tensor, is, sizeof is),
                  rgm_value_describe(value, wanted, sizeof wanted));
}

static void name_tensor(rgmi_writer *w, const rgm_value *value, rgmi_name *name)
{
    const rgm_tensor *tensor = rgm_value_constant(value);
    int64_t number = -1;

    if (rgm_value_is_parameter(value)) {
        if (w->parameters != NULL)
            number = rgm_parameters_number(w->parameters, rgm_value_name(value));
        tensor = number >= 0 ? rgm_parameters_read(w->parameters, number) : NULL;
        check_parameter(w, value, tensor);
        name->name = rgmi_claim(w, rgmi_text(w, "%s", rgm_value_name(value)), "parameter");
    } else {
        name->name = rgmi_fresh(w, rgmi_text(w, "constant_%lld", (long long)w->next++));
    }
    if (rgmi_onnx_type(rgm_value_dtype(value)) == 0)
        rgmi_fail(w, RGM_ERR_UNSUPPORTED, "a constant of text has no %s form here", w->format);
    if (w->status == RGM_OK)
        rgmi_initializer(w, name->name, tensor);
}

/* ---- ops ----------------------------------------------------------------------------------- */

static rgmi_translator *translator_of(const char *op)
{
    const rgmi_translation *const tables[] = {rgmi_dense_translations, rgmi_image_translations,
                                              rgmi_sparse_translations};

    for (int t = 0; t < 3; t++)
        for (const rgmi_translation *row = tables[t]; row->op != NULL; row++)
            if (strcmp(row->op, op) == 0)
                return row->translate;
    return NULL;
}

static void translate(rgmi_writer *w, const rgm_value *value)
{
    const rgm_op_type *op = rgm_value_op(value);
    const char *scope = rgm_value_scope(value);
    /* Element-wise ops have many names; an attribute says what each does. */
    rgmi_translator *translator = translator_of(op->elementwise ? "(element-wise)" : op->name);
    rgmi_name *name;

    if (translator == NULL) {
        rgmi_fail(w, RGM_ERR_UNSUPPORTED, "op '%s'%s%s%s has no %s form", op->name,
                  scope != NULL ? " (in scope '" : "", scope != NULL ? scope : "",
                  scope != NULL ? "')" : "", w->format);
        return;
    }
    w->hint =
        rgmi_text(w, "%s%s%s", scope != NULL ? scope : "", scope != NULL ? "/" : "", op->name);
    name = rgmi_remember(w, value);
    if (name != NULL && w->hint != NULL)
        translator(w, value, name);
}

/* A file is for inference: of when_training(a, b) it only has b. */
static int first_input(const rgm_value *value)
{
    const rgm_op_type *op = rgm_value_op(value);

    return op != NULL && strcmp(op->name, "when_training") == 0 ? 1 : 0;
}

/* Depth first without recursion: order everything that `output` needs, inputs before their
 * users. */
static void order_below(rgmi_writer *w, rgmi_list *order, rgm_map *seen, const rgm_value *output)
{
    rgmi_list stack = {0};
    char key[32];

    rgmi_add(w, &stack, (void *)(uintptr_t)output);
    while (stack.count > 0 && w->status == RGM_OK) {
        rgm_value *top = stack.items[stack.count - 1];
        bool ready = true;

        if (rgm_map_has(seen, rgmi_key_of(key, sizeof key, top))) {
            stack.count--;
            continue;
        }
        for (int i = rgm_value_input_count(top) - 1; i >= first_input(top); i--)
            if (!rgm_map_has(seen, rgmi_key_of(key, sizeof key, rgm_value_input(top, i)))) {
                rgmi_add(w, &stack, rgm_value_input(top, i));
                ready = false;
            }
        if (ready && w->status == RGM_OK) {
            rgmi_add(w, order, top);
            w->status = rgm_map_set(seen, rgmi_key_of(key, sizeof key, top), top);
            stack.count--;
        }
    }
}

/* Leaves come first, so that sizes come from inputs and inner names avoid theirs. */
static void translate_all(rgmi_writer *w, const rgmi_list *order)
{
    for (size_t i = 0; i < order->count && w->status == RGM_OK; i++)
        if (rgm_value_is_input(order->items[i])) {
            rgmi_name *name = rgmi_remember(w, order->items[i]);

            if (name != NULL)
                name_input(w, order->items[i], name);
        }
    for (size_t i = 0; i < order->count && w->status == RGM_OK; i++)
        if (rgm_value_op(order->items[i]) == NULL && !rgm_value_is_input(order->items[i])) {
            rgmi_name *name = rgmi_remember(w, order->items[i]);

            if (name != NULL)
                name_tensor(w, order->items[i], name);
        }
    for (size_t i = 0; i < w->translated.count && w->status == RGM_OK; i++) {
        rgmi_name *name = w->translated.items[i];
        const rgm_onnx_input *form = rgmi_input_form(w, name->value);

        if (form != NULL)
            rgmi_make_input(w, form, name);
    }
    for (size_t i = 0; i < order->count && w->status == RGM_OK; i++)
        if (rgm_value_op(order->items[i]) != NULL)
            translate(w, order->items[i]);
}

/* An Identity gives an output its own name, whatever made it. */
static void add_output(rgmi_writer *w, const rgm_export_output *output)
{
    Rgmi__Onnx__NodeProto *node;

    w->hint = "output";
    if (rgmi_node(w, "Identity", rgmi_name_of(w, output->value), NULL, NULL) == NULL)
        return;
    node = w->nodes.items[w->nodes.count - 1];
    node->output[0] = (char *)(uintptr_t)output->name;
    rgmi_value_info(w, &w->outputs, output->name, rgm_value_dtype(output->value),
                    rgm_value_rank(output->value), rgm_value_shape(output->value),
                    rgm_output_kind_names[output->kind]);
}

static rgm_status check_outputs(rgmi_writer *w, const rgm_export_output *outputs, int64_t count)
{
    if (count < 1)
        return RGM_FAIL(RGM_ERR_ARG, "a graph to export needs an output");
    for (int64_t i = 0; i < count; i++) {
        const rgm_export_output *o = &outputs[i];

        if (o->name == NULL || o->value == NULL || rgm_value_graph(o->value) != w->graph)
            return RGM_FAIL(RGM_ERR_ARG, "output %lld is no named value of the graph",
                            (long long)i);
        if (rgm_value_is_pattern(o->value))
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "output '%s' is a sparse pattern", o->name);
        rgmi_claim(w, o->name, "output");
    }
    return w->status;
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

static void add_metadata(rgmi_writer *w, rgmi_list *list, const char *key, const char *value)
{
    Rgmi__Onnx__StringStringEntryProto *entry = rgmi_memory(w, sizeof *entry);

    if (entry == NULL)
        return;
    rgmi__onnx__string_string_entry_proto__init(entry);
    entry->key = (char *)(uintptr_t)key;
    entry->value = (char *)(uintptr_t)value;
    rgmi_add(w, list, entry);
}

/* For users of the file without its signature. */
static void add_class_names(rgmi_writer *w, rgmi_list *list, const rgm_export_output *outputs,
                            int64_t count)
{
    rgm_text text = {0};
    rgm_status status = rgmi_class_names_print(&text, outputs, count);

    if (status != RGM_OK)
        w->status = status;
    else if (text.size > 0)
        add_metadata(w, list, RGM_ONNX_CLASS_NAMES, rgmi_text(w, "%s", text.data));
    rgm_text_clear(&text);
}

static void fill_model(Rgmi__Onnx__ModelProto *model, rgmi_writer *w, const rgmi_export *e)
{
    const rgm_onnx_options *options = w->options;
    rgmi_list metadata = {0};

    model->has_ir_version = 1;
    model->ir_version = RGMI_ONNX_IR;
    model->producer_name = "regimen";
    model->producer_version = RGM_VERSION;
    if (options != NULL)
        model->doc_string = (char *)(uintptr_t)options->description;
    for (int64_t i = 0; options != NULL && i < options->metadata_count; i++) {
        const char *const *pair = options->metadata + 2 * i;

        if (strcmp(pair[0], RGM_ONNX_CLASS_NAMES) == 0)
            rgmi_fail(w, RGM_ERR_ARG, "metadata '%s' are made of the outputs' classes", pair[0]);
        add_metadata(w, &metadata, pair[0], pair[1]);
    }
    add_class_names(w, &metadata, e->outputs, e->output_count);
    model->metadata_props = (Rgmi__Onnx__StringStringEntryProto **)metadata.items;
    model->n_metadata_props = metadata.count;
}

/* path NULL: only check whether it could be written. */
static rgm_status pack(const char *path, rgmi_writer *w, const rgmi_export *e)
{
    rgm_status status = RGM_OK;
    Rgmi__Onnx__ModelProto model = RGMI__ONNX__MODEL_PROTO__INIT;
    Rgmi__Onnx__GraphProto graph;
    Rgmi__Onnx__OperatorSetIdProto opset = RGMI__ONNX__OPERATOR_SET_ID_PROTO__INIT,
                                   *opsets[1] = {&opset};
    uint8_t *bytes = NULL;
    size_t size;

    fill_graph(&graph, w);
    fill_model(&model, w, e);
    RGM_GO(w->status);
    opset.domain = "";
    opset.has_version = 1;
    opset.version = RGMI_ONNX_OPSET;
    model.graph = &graph;
    model.opset_import = opsets;
    model.n_opset_import = 1;
    size = rgmi__onnx__model_proto__get_packed_size(&model);
    if (size > INT32_MAX)
        RGM_GO(RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the model takes %zu bytes, an ONNX file at most 2 GiB", size));
    if (path == NULL)
        goto done;
    RGM_GO(RGM_NEW(bytes, (int64_t)size));
    rgmi__onnx__model_proto__pack(&model, bytes);
    RGM_GO(rgm_file_save_own(path, bytes, (int64_t)size));
done:
    rgm_free(bytes);
    return status;
}

static rgm_status make_nodes(rgmi_writer *w, const rgmi_export *e)
{
    rgm_status status = RGM_OK;
    rgmi_list order = {0};
    rgm_map *seen = NULL;

    RGM_GO(rgm_map_create(&seen));
    RGM_GO(check_outputs(w, e->outputs, e->output_count));
    for (int64_t i = 0; i < e->output_count; i++)
        order_below(w, &order, seen, e->outputs[i].value);
    translate_all(w, &order);
    for (int64_t i = 0; i < e->output_count; i++)
        add_output(w, &e->outputs[i]);
    RGM_GO(w->status);
done:
    rgm_map_release(seen);
    return status;
}

rgm_status rgmi_export_as(const char *format, rgmi_finish *finish, const char *path,
                          const rgmi_export *e)
{
    rgm_status status = RGM_OK;
    rgmi_writer w = {.graph = e->graph,
                     .parameters = e->parameters,
                     .options = e->options,
                     .format = format,
                     .hint = "regimen"};

    RGM_GO(rgm_cgraph_status(e->graph));
    if (e->parameters != NULL)
        RGM_GO(rgm_parameters_to_host(e->parameters));
    RGM_GO(rgm_arena_create(&w.arena));
    RGM_GO(rgm_map_create(&w.named));
    RGM_GO(rgm_map_create(&w.used));
    RGM_GO(rgm_map_create(&w.known));
    RGM_GO(make_nodes(&w, e));
    RGM_GO(finish(path, &w, e));
done:
    rgm_map_release(w.named);
    rgm_map_release(w.used);
    rgm_map_release(w.known);
    rgm_arena_release(w.arena);
    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "%s export", format);
}

rgm_status rgm_onnx_save(const char *path, rgm_cgraph *graph, const rgm_parameters *parameters,
                         const rgm_export_output *outputs, int64_t output_count,
                         const rgm_onnx_options *options)
{
    return rgmi_export_as("ONNX", pack, path,
                          &(rgmi_export){graph, parameters, outputs, output_count, options, NULL});
}

rgm_status rgm_onnx_check(rgm_cgraph *graph, const rgm_parameters *parameters,
                          const rgm_export_output *outputs, int64_t output_count,
                          const rgm_onnx_options *options)
{
    return rgmi_export_as("ONNX", pack, NULL,
                          &(rgmi_export){graph, parameters, outputs, output_count, options, NULL});
}

/* `file` is the file's name as the JSON gives it. */
static rgm_status print_signature(const char *file, rgmi_writer *w, const rgmi_export *e)
{
    RGM_TRY(pack(NULL, w, e));
    return rgmi_signature_print(e->signature, file, w, e->outputs, e->output_count);
}

rgm_status rgm_onnx_signature(rgm_text *out, const char *file, rgm_cgraph *graph,
                              const rgm_parameters *parameters, const rgm_export_output *outputs,
                              int64_t output_count, const rgm_onnx_options *options)
{
    return rgmi_export_as("ONNX", print_signature, file,
                          &(rgmi_export){graph, parameters, outputs, output_count, options, out});
}
