/* Compares an exported model's results with the executor's. */
#include <math.h>
#include <string.h>

#include "onnx_internal.h"

rgm_status rgm_export_compare(rgm_export_check *check, const rgm_tensor *file,
                              const rgm_tensor *executor)
{
    char a[64], b[64];

    rgm_tensor_describe(file, a, sizeof a);
    rgm_tensor_describe(executor, b, sizeof b);
    if (strcmp(a, b) != 0)
        return RGM_FAIL(RGM_ERR_SHAPE, "the exported graph gives %s, the model %s", a, b);
    for (int64_t i = 0; i < rgm_tensor_count(file); i++) {
        double x = rgm_tensor_at(file, i), y = rgm_tensor_at(executor, i);
        double difference = x == y ? 0 : fabs(x - y) / fmax(1, fabs(y));

        difference = isnan(difference) ? INFINITY : difference;
        if (difference > check->largest_difference)
            check->largest_difference = difference;
    }
    return RGM_OK;
}
