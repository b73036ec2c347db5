/*
 * Element-wise programs over views: broadcasting by strides, axes merged where that is possible, so
 * that the kernel sees as few and as long axes as there are. Also the fused op `map`, which only
 * the executor's passes build.
 */
#include "autodiff_internal.h"

void rgmi_strides_of(int64_t *stride, const rgm_view *in, const rgm_view *out)
{
    int64_t step = 1;

    for (int axis = out->rank - 1, i = in->rank - 1; axis >= 0; axis--, i--) {
        int64_t size = i >= 0 ? in->shape[i] : 1;
        stride[axis] = size == 1 && out->shape[axis] != 1 ? 0 : step;
        if (i < 0)
            stride[axis] = 0;
        step *= size;
    }
}

/* Merge axis `axis` into the one before it when every input walks through both as one. */
static bool mergeable(const rgm_map_args *args, int axis)
{
    for (int i = 0; i < args->inputs; i++)
        if (args->stride[i][axis - 1] != args->stride[i][axis] * args->shape[axis])
            return false;
    return true;
}

static void axes_merge(rgm_map_args *args)
{
    int rank = 0;

    for (int axis = 0; axis < args->rank; axis++) { /* drop axes of size 1 */
        if (args->shape[axis] == 1)
            continue;
        args->shape[rank] = args->shape[axis];
        for (int i = 0; i < args->inputs; i++)
            args->stride[i][rank] = args->stride[i][axis];
        rank++;
    }
    args->rank = rank;
    for (int axis = rank - 1; axis > 0; axis--) {
        if (!mergeable(args, axis))
            continue;
        args->shape[axis - 1] *= args->shape[axis];
        for (int i = 0; i < args->inputs; i++)
            args->stride[i][axis - 1] = args->stride[i][axis];
        for (int next = axis; next + 1 < args->rank; next++) {
            args->shape[next] = args->shape[next + 1];
            for (int i = 0; i < args->inputs; i++)
                args->stride[i][next] = args->stride[i][next + 1];
        }
        args->rank--;
    }
    if (args->rank == 0) {
        args->rank = 1;
        args->shape[0] = 1;
        for (int i = 0; i < args->inputs; i++)
            args->stride[i][0] = 0;
    }
}

void rgmi_map_run(const rgm_kernels *kernels, const rgm_view *out, const rgm_view *in,
                  const rgmi_program *program)
{
    rgm_map_args args;

    args.y = out->data;
    args.rank = out->rank;
    args.inputs = program->inputs;
    args.steps = program->steps;
    for (int axis = 0; axis < out->rank; axis++) {
        args.shape[axis] = out->shape[axis];
        if (out->shape[axis] == 0)
            return;
    }
    for (int i = 0; i < program->inputs; i++) {
        args.input[i] = in[i].data;
        rgmi_strides_of(args.stride[i], &in[i], out);
    }
    memcpy(args.step, program->step, (size_t)program->steps * sizeof *program->step);
    axes_merge(&args);
    kernels->map(&args);
}

/* ---- the fused op ---- */

const rgmi_program *rgmi_map_program(const rgm_value *value)
{
    return rgm_tensor_data(value->attributes.tensor);
}

static rgm_status map_infer(rgm_op_shape *out, rgm_value *const *in, int inputs,
                            const rgm_attributes *attributes)
{
    (void)in;
    (void)inputs;
    out->dtype = (rgm_dtype)attributes->integer[7];
    out->rank = (int)attributes->integer[6];
    for (int i = 0; i < out->rank; i++)
        out->shape[i] = attributes->integer[i];
    return RGM_OK;
}

static rgm_status map_forward(rgm_op_run *run)
{
    rgmi_map_run(run->kernels, run->out, run->in, rgm_tensor_data(run->attributes->tensor));
    return RGM_OK;
}

const rgm_op_type rgmi_map_op_type = {
    .name = "map",
    .arity = -1,
    .infer = map_infer,
    .forward = map_forward,
    .no_gradient = "made by the executor, after gradients",
    .in_place = true,
};

rgm_value *rgmi_map_fused(rgm_value *const *in, const rgmi_program *program, int rank,
                          const rgm_dim *shape, rgm_cgraph *graph, rgm_dtype dtype)
{
    rgm_attributes attributes = {.integer[6] = rank, .integer[7] = dtype};
    int64_t size = sizeof *program;

    for (int i = 0; i < rank; i++)
        attributes.integer[i] = shape[i];
    if (rgm_tensor_create_from(&attributes.tensor, RGM_BOOL, 1, &size, program) != RGM_OK)
        return rgm_cgraph_fail(graph, RGM_ERR_NOMEM, "map: out of memory");
    rgm_value *value = rgm_op(graph, &rgmi_map_op_type, in, program->inputs, &attributes);
    rgm_tensor_release(attributes.tensor);
    return value;
}
