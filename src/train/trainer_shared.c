/*
 * Arrays of which each shard makes values, and the sums of these over shards.
 */
#include "trainer_internal.h"

rgm_status rgmi_shared_open(rgmi_shared *array, rgm_dtype dtype, int64_t shards)
{
    if (array->size == 0)
        return RGM_OK;
    if (dtype == RGM_F32) {
        float *values;

        RGM_TRY(RGM_NEW(values, array->size));
        array->values = values;
    } else if (dtype == RGM_BF16) {
        uint16_t *values;

        RGM_TRY(RGM_NEW(values, array->size));
        array->values = values;
    } else {
        double *values;

        RGM_TRY(RGM_NEW(values, array->size));
        array->values = values;
    }
    return rgm_shard_sum_create(&array->sum, dtype, array->size, shards);
}

void rgmi_shared_close(rgmi_shared *array)
{
    rgm_shard_sum_release(array->sum);
    rgm_free(array->values);
}
