/*
 * Opens an ONNX file and runs it node by node. The file may come from anybody: everything is
 * checked before it is used, and what is unknown here is refused by name.
 */
#include <string.h>

#include "onnx_internal.h"
#include "onnx_run.h"

#define MAX_FILE (INT64_C(1) << 31)

struct rgm_onnx_model {
    Rgmi__Onnx__ModelProto *proto;
    rgm_map *initializers; /* name -> rgm_tensor *                             */
    rgm_map *last_use;     /* name -> last node that needs it, from 1 */
    int64_t initializer_bytes;
    char *path;
};

/* ---- protobuf-c's memory is ours, so that it is counted ------------------------------------- */

static void *allocate(void *out_of_memory, size_t size)
{
    void *memory = rgm_malloc(size);

    if (memory == NULL)
        *(bool *)out_of_memory = true;
    return memory;
}

static void give_back(void *out_of_memory, void *memory)
{
    (void)out_of_memory;
    rgm_free(memory);
}

static rgm_status unpack(Rgmi__Onnx__ModelProto **out, const void *data, int64_t size)
{
    bool out_of_memory = false;
    ProtobufCAllocator allocator = {allocate, give_back, &out_of_memory};

    *out = rgmi__onnx__model_proto__unpack(&allocator, (size_t)size, data);
    if (out_of_memory && *out != NULL) { /* it continues without what it could not copy */
        rgmi__onnx__model_proto__free_unpacked(*out, &allocator);
        *out = NULL;
    }
    if (out_of_memory)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the ONNX model");
    return *out != NULL ? RGM_OK : RGM_FAIL(RGM_ERR_FORMAT, "not an ONNX model, or a damaged one");
}

/* ---- open ---------------------------------------------------------------------------------- */

const rgmi_operator *rgmi_operator_find(const char *type)
{
    const rgmi_operator *const tables[] = {rgmi_elementwise_operators, rgmi_shape_operators,
                                           rgmi_index_operators, rgmi_reduce_operators,
                                           rgmi_image_operators};

    for (int t = 0; t < 5; t++)
        for (const rgmi_operator *row = tables[t]; row->type != NULL; row++)
            if (strcmp(row->type, type) == 0)
                return row;
    return NULL;
}

static const char *text_or(const char *text, const char *otherwise)
{
    return text != NULL ? text : otherwise;
}

static rgm_status check_attributes(const Rgmi__Onnx__NodeProto *node, const rgmi_operator *op,
                                   size_t number)
{
    for (size_t i = 0; i < node->n_attribute; i++) {
        const char *name = text_or(node->attribute[i]->name, "");
        bool known = false;

        for (size_t k = 0; k < sizeof op->attributes / sizeof *op->attributes; k++)
            known |= op->attributes[k] != NULL && strcmp(op->attributes[k], name) == 0;
        if (!known)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "node %zu: attribute '%s' of %s is not known here",
                            number, name, node->op_type);
    }
    return RGM_OK;
}

static bool is_standard(const char *domain)
{
    return domain == NULL || domain[0] == '\0' || strcmp(domain, "ai.onnx") == 0;
}

static rgm_status check_nodes(const Rgmi__Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_node; i++) {
        const Rgmi__Onnx__NodeProto *node = graph->node[i];
        const rgmi_operator *op = rgmi_operator_find(text_or(node->op_type, ""));

        if (op == NULL || !is_standard(node->domain))
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "node %zu: operator '%s%s%s' is not known here", i,
                            text_or(node->domain, ""), is_standard(node->domain) ? "" : ".",
                            text_or(node->op_type, ""));
        if (node->n_output != 1 || node->n_input < (size_t)op->least ||
            node->n_input > (size_t)op->most)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "node %zu: %s with %zu inputs and %zu outputs", i,
                            node->op_type, node->n_input, node->n_output);
        for (size_t k = 0; k < node->n_input; k++)
            if (k < (size_t)op->least && node->input[k][0] == '\0')
                return RGM_FAIL(RGM_ERR_FORMAT, "node %zu: input %zu of %s is absent", i, k,
                                node->op_type);
        RGM_TRY(check_attributes(node, op, i));
    }
    return RGM_OK;
}

static rgm_status check_graph(const Rgmi__Onnx__GraphProto *graph)
{
    for (size_t i = 0; i < graph->n_input; i++)
        if (text_or(graph->input[i]->name, "")[0] == '\0')
            return RGM_FAIL(RGM_ERR_FORMAT, "input %zu has no name", i);
    for (size_t i = 0; i < graph->n_output; i++)
        if (text_or(graph->output[i]->name, "")[0] == '\0')
            return RGM_FAIL(RGM_ERR_FORMAT, "output %zu has no name", i);
    if (graph->n_output == 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "the graph has no outputs");
    return check_nodes(graph);
}

static rgm_status check_model(const Rgmi__Onnx__ModelProto *model)
{
    if (model->graph == NULL || model->n_opset_import == 0)
        return RGM_FAIL(RGM_ERR_FORMAT, "not an ONNX model: no graph, or no operator set");
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const Rgmi__Onnx__OperatorSetIdProto *opset = model->opset_import[i];

        if (!is_standard(opset->domain))
            return RGM_FAIL(RGM_ERR_UNSUPPORTED, "operator set '%s' is not known here",
                            opset->domain);
        if (opset->version != RGMI_ONNX_OPSET)
            return RGM_FAIL(RGM_ERR_VERSION, "the file is of opset %lld, this reads opset %d",
                            (long long)opset->version, RGMI_ONNX_OPSET);
    }
    return check_graph(model->graph);
}

static rgm_status load_initializers(rgm_onnx_model *model)
{
    const Rgmi__Onnx__GraphProto *graph = model->proto->graph;

    RGM_TRY(rgm_map_create(&model->initializers));
    for (size_t i = 0; i < graph->n_initializer; i++) {
        const char *name = text_or(graph->initializer[i]->name, "");
        rgm_tensor *tensor;
        rgm_status status;

        if (name[0] == '\0' || rgm_map_has(model->initializers, name))
            return RGM_FAIL(RGM_ERR_FORMAT, "initializer %zu has no name of its own", i);
        RGM_TRY(rgmi_proto_tensor(&tensor, graph->initializer[i]));
        status = rgm_map_set(model->initializers, name, tensor);
        if (status != RGM_OK) {
            rgm_tensor_release(tensor);
            return status;
        }
        model->initializer_bytes += (int64_t)rgm_tensor_bytes(tensor);
    }
    return RGM_OK;
}

/* Outputs of the graph are needed to the end, so no node's list has them. */
static rgm_status find_last_uses(rgm_onnx_model *model)
{
    const Rgmi__Onnx__GraphProto *graph = model->proto->graph;

    RGM_TRY(rgm_map_create(&model->last_use));
    for (size_t i = 0; i < graph->n_node; i++)
        for (size_t k = 0; k < graph->node[i]->n_input; k++)
            RGM_TRY(
                rgm_map_set(model->last_use, graph->node[i]->input[k], (void *)(uintptr_t)(i + 1)));
    for (size_t i = 0; i < graph->n_output; i++)
        RGM_TRY(rgm_map_set(model->last_use, graph->output[i]->name, NULL));
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
    RGM_GO(unpack(&model->proto, data, size));
    RGM_GO(check_model(model->proto));
    RGM_GO(load_initializers(model));
    RGM_GO(find_last_uses(model));
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
    bool unused = false;
    ProtobufCAllocator allocator = {allocate, give_back, &unused};

    if (model == NULL)
        return;
    if (model->initializers != NULL)
        for (int64_t i = 0; i < rgm_map_count(model->initializers); i++)
            rgm_tensor_release(rgm_map_value(model->initializers, i));
    rgm_map_release(model->initializers);
    rgm_map_release(model->last_use);
    if (model->proto != NULL)
        rgmi__onnx__model_proto__free_unpacked(model->proto, &allocator);
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

const char *rgm_onnx_metadata(const rgm_onnx_model *model, const char *key)
{
    for (size_t i = 0; i < model->proto->n_metadata_props; i++) {
        const Rgmi__Onnx__StringStringEntryProto *entry = model->proto->metadata_props[i];

        if (strcmp(text_or(entry->key, ""), key) == 0)
            return text_or(entry->value, "");
    }
    return NULL;
}

static const Rgmi__Onnx__TypeProto__Tensor *type_of(const Rgmi__Onnx__ValueInfoProto *info)
{
    return info->type != NULL ? info->type->tensor_type : NULL;
}

rgm_status rgm_onnx_input_type(rgm_dtype *dtype, int *rank, int64_t *shape,
                               const rgm_onnx_model *model, int64_t i)
{
    const Rgmi__Onnx__ValueInfoProto *info = model->proto->graph->input[i];
    const Rgmi__Onnx__TypeProto__Tensor *type = type_of(info);

    if (type == NULL)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: input '%s' is no tensor", model->path, info->name);
    RGM_TRY(rgmi_onnx_dtype(dtype, type->elem_type));
    *rank = type->shape != NULL ? (int)type->shape->n_dim : -1;
    if (type->shape != NULL && type->shape->n_dim > RGM_MAX_RANK)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: input '%s' has rank %zu", model->path, info->name,
                        type->shape->n_dim);
    for (int k = 0; k < *rank; k++)
        shape[k] = type->shape->dim[k]->has_dim_value ? type->shape->dim[k]->dim_value : -1;
    return RGM_OK;
}

/* ---- run ----------------------------------------------------------------------------------- */

#define LEAST_BYTES (INT64_C(256) << 20)
#define LEAST_WORK  (INT64_C(1) << 28)

/* A tensor during a run, retained; freeing it returns `charged` bytes to the budget. */
typedef struct made {
    rgm_tensor *tensor;
    int64_t charged;
} made;

typedef struct environment {
    const rgm_onnx_model *model;
    rgm_map *names; /* name -> made *: the caller's inputs and what nodes made */
    made *made;     /* [inputs + nodes] */
    int64_t count;
    rgm_tensor **in; /* of the node at work */
    int64_t in_capacity;
    rgmi_budget budget;
} environment;

static rgm_tensor *look_up(const environment *e, const char *name)
{
    const made *m = rgm_map_get(e->names, name);

    return m != NULL ? m->tensor : rgm_map_get(e->model->initializers, name);
}

/* Takes over `tensor`, also on failure. */
static rgm_status put(environment *e, const char *name, rgm_tensor *tensor, int64_t charged)
{
    made *m = &e->made[e->count++];

    *m = (made){tensor, charged};
    if (rgm_map_has(e->names, name) || rgm_map_has(e->model->initializers, name))
        return RGM_FAIL(RGM_ERR_FORMAT, "the name '%s' is given twice", name);
    return rgm_map_set(e->names, name, m);
}

static rgm_status check_input(const environment *e, int64_t i, const rgm_tensor *tensor)
{
    const char *name = rgm_onnx_input_name(e->model, i);
    rgm_dtype dtype;
    int64_t shape[RGM_MAX_RANK];
    int rank;
    bool fits;
    char text[64];

    RGM_TRY(rgm_onnx_input_type(&dtype, &rank, shape, e->model, i));
    rgm_tensor_describe(tensor, text, sizeof text);
    if (rgm_tensor_dtype(tensor) != dtype)
        return RGM_FAIL(RGM_ERR_DTYPE, "input '%s' is %s, the model takes %s", name, text,
                        rgm_dtype_name(dtype));
    fits = rgmi_sizes_are_sane(rgm_tensor_rank(tensor), rgm_tensor_shape(tensor)) &&
           (rank < 0 || rgm_tensor_rank(tensor) == rank);
    for (int k = 0; fits && k < rank; k++)
        fits = shape[k] < 0 || rgm_tensor_dim(tensor, k) == shape[k];
    return fits ? RGM_OK
                : RGM_FAIL(RGM_ERR_SHAPE, "input '%s' is %s, the model takes another shape", name,
                           text);
}

static rgm_status put_inputs(environment *e, const rgm_named_tensor *inputs, int64_t count)
{
    int64_t bytes = e->model->initializer_bytes;

    for (int64_t i = 0; i < rgm_onnx_input_count(e->model); i++) {
        const char *name = rgm_onnx_input_name(e->model, i);
        rgm_tensor *tensor = NULL;

        for (int64_t k = 0; k < count; k++)
            if (strcmp(inputs[k].name, name) == 0)
                tensor = inputs[k].tensor;
        if (tensor == NULL)
            return RGM_FAIL(RGM_ERR_NOT_FOUND, "input '%s' is not given", name);
        RGM_TRY(check_input(e, i, tensor));
        bytes += (int64_t)rgm_tensor_bytes(tensor);
        RGM_TRY(put(e, name, rgm_tensor_retain(tensor), 0));
    }
    bytes = bytes > INT64_C(1) << 40 ? INT64_C(1) << 40 : bytes;
    e->budget.bytes = LEAST_BYTES + (bytes << 6);
    e->budget.work = LEAST_WORK + (bytes << 18);
    return RGM_OK;
}

/* Drop the tensors that no later node needs. */
static void drop_inputs(environment *e, const Rgmi__Onnx__NodeProto *node, size_t number)
{
    for (size_t i = 0; i < node->n_input; i++) {
        made *m = rgm_map_get(e->names, node->input[i]);

        if (m == NULL || m->tensor == NULL ||
            (uintptr_t)rgm_map_get(e->model->last_use, node->input[i]) != number)
            continue;
        rgm_tensor_release(m->tensor);
        m->tensor = NULL;
        e->budget.bytes += m->charged;
    }
}

/* A view is charged like a copy, since its memory may outlive the original. */
static rgm_status charge(environment *e, const rgmi_onnx_call *call)
{
    int64_t bytes = (int64_t)rgm_tensor_bytes(call->out);

    if (bytes > e->budget.bytes)
        return rgmi_call_fail(call, RGM_ERR_UNSUPPORTED,
                              "a result of %lld bytes is more than inputs of this size are granted "
                              "here",
                              (long long)bytes);
    e->budget.bytes -= bytes;
    return RGM_OK;
}

static rgm_status run_node(environment *e, const Rgmi__Onnx__NodeProto *node)
{
    rgmi_onnx_call call = {.node = node, .inputs = (int)node->n_input, .budget = &e->budget};
    rgm_status status;

    RGM_TRY(RGM_RESERVE(e->in, e->in_capacity, (int64_t)node->n_input));
    call.in = e->in;
    for (size_t i = 0; i < node->n_input; i++) {
        call.in[i] = look_up(e, node->input[i]);
        if (call.in[i] == NULL && node->input[i][0] != '\0')
            return rgmi_call_fail(&call, RGM_ERR_FORMAT, "nothing is named '%s' before it",
                                  node->input[i]);
    }
    status = rgmi_operator_find(node->op_type)->run(&call);
    if (status == RGM_OK)
        status = charge(e, &call);
    if (status != RGM_OK) {
        rgm_tensor_release(call.out);
        return status;
    }
    return put(e, node->output[0], call.out, (int64_t)rgm_tensor_bytes(call.out));
}

static rgm_status run_graph(rgm_tensor **outputs, environment *e, const rgm_named_tensor *inputs,
                            int64_t input_count)
{
    const Rgmi__Onnx__GraphProto *graph = e->model->proto->graph;

    RGM_TRY(rgm_map_create(&e->names));
    RGM_TRY(RGM_NEW(e->made, (int64_t)(graph->n_input + graph->n_node)));
    RGM_TRY(put_inputs(e, inputs, input_count));
    for (size_t i = 0; i < graph->n_node; i++) {
        RGM_TRY(run_node(e, graph->node[i]));
        drop_inputs(e, graph->node[i], i + 1);
    }
    for (size_t i = 0; i < graph->n_output; i++) {
        rgm_tensor *found = look_up(e, graph->output[i]->name);

        if (found == NULL)
            return RGM_FAIL(RGM_ERR_FORMAT, "no node makes the output '%s'",
                            graph->output[i]->name);
        outputs[i] = rgm_tensor_retain(found);
    }
    return RGM_OK;
}

rgm_status rgm_onnx_run(rgm_tensor **outputs, const rgm_onnx_model *model,
                        const rgm_named_tensor *inputs, int64_t input_count)
{
    size_t output_count = model->proto->graph->n_output;
    environment e = {.model = model};
    rgm_status status;

    for (size_t i = 0; i < output_count; i++)
        outputs[i] = NULL;
    status = run_graph(outputs, &e, inputs, input_count);
    for (size_t i = 0; status != RGM_OK && i < output_count; i++) {
        rgm_tensor_release(outputs[i]);
        outputs[i] = NULL;
    }
    for (int64_t i = 0; i < e.count; i++)
        rgm_tensor_release(e.made[i].tensor);
    rgm_free(e.made);
    rgm_free(e.in);
    rgm_map_release(e.names);
    return status == RGM_OK ? RGM_OK : rgm_error_prefix(status, "%s", model->path);
}
