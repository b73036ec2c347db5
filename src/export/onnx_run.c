/*
 * An ONNX file opened and run node by node. The file may be anybody's: everything is checked before it
 * is used, and what is not known here is refused by name.
 */
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

#define MAX_FILE (INT64_C(1) << 31)

struct rgm_onnx_model {
    Rgmi__Onnx__ModelProto *proto;
    rgm_map *initializers; /* name -> rgm_tensor * */
    char *path;
};

const rgmi_operator *rgmi_operator_find(const char *type)
{
    const rgmi_operator *const tables[] = {rgmi_elementwise_operators, rgmi_shape_operators,
                                           rgmi_reduce_operators};

    for (int t = 0; t < 3; t++)
        for (const rgmi_operator *row = tables[t]; row->type != NULL; row++)
            if (strcmp(row->type, type) == 0)
                return row;
    return NULL;
}

rgm_status rgmi_proto_tensor(rgm_tensor **out, const Rgmi__Onnx__TensorProto *proto)
{
    rgm_dtype dtype;
    int64_t count = 1;

    *out = NULL;
    RGM_TRY(rgmi_onnx_dtype(&dtype, proto->data_type));
    if (proto->n_dims > RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "tensor '%s' has rank %zu",
                        proto->name != NULL ? proto->name : "", proto->n_dims);
    for (size_t i = 0; i < proto->n_dims; i++)
        if (proto->dims[i] < 0 || __builtin_mul_overflow(count, proto->dims[i], &count))
            return RGM_FAIL(RGM_ERR_FORMAT, "tensor '%s' has an impossible shape",
                            proto->name != NULL ? proto->name : "");
    if (!proto->has_raw_data || count > MAX_FILE ||
        proto->raw_data.len != (size_t)count * rgm_dtype_size(dtype))
        return RGM_FAIL(RGM_ERR_FORMAT, "tensor '%s' has %zu bytes for %lld elements",
                        proto->name != NULL ? proto->name : "",
                        proto->has_raw_data ? proto->raw_data.len : 0, (long long)count);
    return rgm_tensor_create_from(out, dtype, (int)proto->n_dims, proto->dims, proto->raw_data.data);
}

/* ---- open ---------------------------------------------------------------------------------- */

static rgm_status check_nodes(const Rgmi__Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Rgmi__Onnx__NodeProto *node = graph->node[i];
        const rgmi_operator *op = node->op_type != NULL ? rgmi_operator_find(node->op_type) : NULL;

        if (op == NULL || (node->domain != NULL && node->domain[0] != '\0'))
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "node %zu: operator '%s' is not known here", i,
                            node->op_type != NULL ? node->op_type : "");
        if (node->n_output != 1 || (int)node->n_input < op->least || (int)node->n_input > op->most)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "node %zu: %s with %zu inputs and %zu outputs", i,
                            node->op_type, node->n_input, node->n_output);
    }
    for (size_t i = 0; i < graph->n_input; i++)
        if (graph->input[i]->name == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "input %zu has no name", i);
    for (size_t i = 0; i < graph->n_output; i++)
        if (graph->output[i]->name == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "output %zu has no name", i);
    return RGM_OK;
}

static rgm_status check_model(const Rgmi__Onnx__ModelProto *model)
{
    if (model == NULL || model->graph == NULL || model->n_opset_import == 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "not an ONNX model");
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Rgmi__Onnx__OperatorSetIdProto *opset = model->opset_import[i];

        if (opset->domain != NULL && opset->domain[0] != '\0')
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "operator set '%s' is not known here",
                            opset->domain);
        if (opset->version != RGMI_ONNX_OPSET)
            return RGM_FAIL(RGM_ERR_VERSION, "the file is of opset %lld, this reads opset %d",
                            (long long)opset->version, RGMI_ONNX_OPSET);
    }
    return check_nodes(model->graph);
}

static rgm_status load_initializers(rgm_onnx_model *model)
{
    const Rgmi__Onnx__GraphProto *graph = model->proto->graph;

    RGM_TRY(rgm_map_create(&model->initializers));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        rgm_tensor *tensor;
        rgm_status status;

        if (graph->initializer[i]->name == NULL ||
            rgm_map_has(model->initializers, graph->initializer[i]->name))
            return RGM_FAIL(RGM_ERR_FORMAT, "initializer %zu has no name of its own", i);
        RGM_TRY(rgmi_proto_tensor(&tensor, graph->initializer[i]));
        status = rgm_map_set(model->initializers, graph->initializer[i]->name, tensor);
        if (status != RGM_OK) {
            rgm_tensor_release(tensor);
            return status;
        }
    }
    return RGM_OK;
}

rgm_status rgm_onnx_open_memory(rgm_onnx_model **out, const void *data, int64_t size,
                                const char *name)
{
    rgm_onnx_model *model = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    RGM_GO(RGM_NEW(model, 1));
    RGM_GO(rgm_strdup(&model->path, name));
    model->proto = rgmi__onnx__model_proto__unpack(NULL, (size_t)size, data);
    RGM_GO(check_model(model->proto));
    RGM_GO(load_initializers(model));
    *out = model;
    model = NULL;
done:
    rgm_onnx_close(model);
    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "%s", name);
}

rgm_status rgm_onnx_open(rgm_onnx_model **out, const char *path)
{
    char *bytes = NULL;
    int64_t size;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_file_load(&bytes, &size, path, MAX_FILE));
    status = rgm_onnx_open_memory(out, bytes, size, path);
    rgm_free(bytes);
    return status;
}

void rgm_onnx_close(rgm_onnx_model *model)
{
    if (model == NULL)
        return;
    if (model->initializers != NULL)
        for (int64_t i = 0; i < rgm_map_count(model->initializers); i++)
            rgm_tensor_release(rgm_map_value(model->initializers, i));
    rgm_map_release(model->initializers);
    if (model->proto != NULL)
        rgmi__onnx__model_proto__free_unpacked(model->proto, NULL);
    rgm_free(model->path);
    rgm_free(model);
}

int64_t rgm_onnx_input_count(const rgm_onnx_model *model)
{
    return (int64_t)model->proto->graph->n_input;
}

const char *rgm_onnx_input_name(const rgm_onnx_model *model, int64_t i)
{
    return model->proto->graph->input[i]->name;
}

int64_t rgm_onnx_output_count(const rgm_onnx_model *model)
{
    return (int64_t)model->proto->graph->n_output;
}

const char *rgm_onnx_output_name(const rgm_onnx_model *model, int64_t i)
{
    return model->proto->graph->output[i]->name;
}

/* ---- run ----------------------------------------------------------------------------------- */

/* Tensors by name during a run: the caller's inputs and what nodes made. */
typedef struct environment {
    const rgm_onnx_model *model;
    rgm_map *made; /* retained */
} environment;

static rgm_tensor *look_up(const environment *e, const char *name)
{
    rgm_tensor *tensor = rgm_map_get(e->made, name);

    return tensor != NULL ? tensor : rgm_map_get(e->model->initializers, name);
}

/* Takes over `tensor`, also on failure. */
static rgm_status put(environment *e, const char *name, rgm_tensor *tensor)
{
    rgm_status status = RGM_OK;

    if (look_up(e, name) != NULL)
        status = RGM_FAIL(RGM_ERR_FORMAT, "the name '%s' is given twice", name);
    else
        status = rgm_map_set(e->made, name, tensor);
    if (status != RGM_OK)
        rgm_tensor_release(tensor);
    return status;
}

static rgm_status put_inputs(environment *e, const rgm_named_tensor *inputs, int64_t count)
{
    const Rgmi__Onnx__GraphProto *graph = e->model->proto->graph;

    for (size_t i = 0; i < graph->n_input; i++) {
        const char *name = graph->input[i]->name;
        rgm_tensor *tensor = NULL;

        for (int64_t k = 0; k < count; k++)
            if (strcmp(inputs[k].name, name) == 0)
                tensor = inputs[k].tensor;
        if (tensor == NULL)
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "input '%s' is not given", name);
        if (graph->input[i]->type != NULL && graph->input[i]->type->tensor_type != NULL &&
            graph->input[i]->type->tensor_type->elem_type !=
                rgmi_onnx_type(rgm_tensor_dtype(tensor)))
            return RGM_FAIL(RGM_ERR_DTYPE, "input '%s' is %s", name,
                            rgm_dtype_name(rgm_tensor_dtype(tensor)));
        RGM_TRY(put(e, name, rgm_tensor_retain(tensor)));
    }
    return RGM_OK;
}

static rgm_status run_node(environment *e, const Rgmi__Onnx__NodeProto *node)
{
    rgmi_call call = {.node = node, .inputs = (int)node->n_input};
    rgm_status status;

    for (int i = 0; i < call.inputs; i++) {
        call.in[i] = look_up(e, node->input[i]);
        if (call.in[i] == NULL)
            return rgmi_call_fail(&call, RGM_ERR_FORMAT, "nothing is named '%s' before it",
                                  node->input[i]);
    }
    status = rgmi_operator_find(node->op_type)->run(&call);
    if (status != RGM_OK) {
        rgm_tensor_release(call.out);
        return status;
    }
    return put(e, node->output[0], call.out);
}

rgm_status rgm_onnx_run(rgm_tensor **outputs, const rgm_onnx_model *model,
                        const rgm_named_tensor *inputs, int64_t input_count)
{
    const Rgmi__Onnx__GraphProto *graph = model->proto->graph;
    rgm_status status = RGM_OK;
    environment e = {.model = model};

    for (size_t i = 0; i < graph->n_output; i++)
        outputs[i] = NULL;
    RGM_GO(rgm_map_create(&e.made));
    RGM_GO(put_inputs(&e, inputs, input_count));
    for (size_t i = 0; i < graph->n_node; i++)
        RGM_GO(run_node(&e, graph->node[i]));
    for (size_t i = 0; i < graph->n_output; i++) {
        rgm_tensor *made = look_up(&e, graph->output[i]->name);

        if (made == NULL)
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "no node makes the output '%s'",
                            graph->output[i]->name));
        outputs[i] = rgm_tensor_retain(made);
    }
done:
    if (status != RGM_OK)
        for (size_t i = 0; i < graph->n_output; i++) {
            rgm_tensor_release(outputs[i]);
            outputs[i] = NULL;
        }
    for (int64_t i = 0; e.made != NULL && i < rgm_map_count(e.made); i++)
        rgm_tensor_release(rgm_map_value(e.made, i));
    rgm_map_release(e.made);
    return status;
}
