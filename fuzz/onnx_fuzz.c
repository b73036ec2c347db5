/*
 * An ONNX file from anywhere: open it and run it on small inputs of the types it asks for.
 */
#include <regimen/export.h>

#include "target.h"

enum { MOST_INPUTS = 8, MOST_OUTPUTS = 8 };

static rgm_status make_input(rgm_named_tensor *input, const rgm_onnx_model *model, int64_t i)
{
    rgm_dtype dtype;
    int64_t shape[RGM_MAX_RANK], count = 1;
    int rank;

    RGM_TRY(rgm_onnx_input_type(&dtype, &rank, shape, model, i));
    for (int k = 0; k < rank; k++) {
        shape[k] = shape[k] < 0 || shape[k] > 16 ? 3 : shape[k];
        count *= shape[k];
    }
    if (count > 4096)
        return RGM_ERR_ARG;
    input->name = rgm_onnx_input_name(model, i);
    return rgm_tensor_create(&input->tensor, dtype, rank < 0 ? 0 : rank, shape);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_onnx_model *model = NULL;
    rgm_named_tensor inputs[MOST_INPUTS] = {0};
    rgm_tensor *outputs[MOST_OUTPUTS] = {NULL};
    rgm_status status;

    if (rgm_onnx_open_memory(&model, data, (int64_t)size, "input") != RGM_OK)
        return 0;
    status =
        rgm_onnx_input_count(model) <= MOST_INPUTS && rgm_onnx_output_count(model) <= MOST_OUTPUTS
            ? RGM_OK
            : RGM_ERR_ARG;
    for (int64_t i = 0; status == RGM_OK && i < rgm_onnx_input_count(model); i++)
        status = make_input(&inputs[i], model, i);
    if (status == RGM_OK)
        status = rgm_onnx_run(outputs, model, inputs, rgm_onnx_input_count(model));
    if (rgm_memory_used() > (INT64_C(300) << 20) + 256 * (int64_t)size)
        __builtin_trap(); /* more than the bound */
    for (int i = 0; i < MOST_INPUTS; i++)
        rgm_tensor_release(inputs[i].tensor);
    for (int i = 0; i < MOST_OUTPUTS; i++)
        rgm_tensor_release(outputs[i]);
    rgm_onnx_close(model);
    return 0;
}
