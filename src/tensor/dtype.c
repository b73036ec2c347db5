/* Element types: sizes and names, in one table. */
#include <string.h>

#include <regimen/tensor.h>

static const struct {
    const char *name;
    size_t size;
} dtypes[RGM_DTYPE_COUNT] = {
    [RGM_F32] = {"f32", 4},  [RGM_F64] = {"f64", 8},   [RGM_I32] = {"i32", 4},
    [RGM_I64] = {"i64", 8},  [RGM_BOOL] = {"bool", 1}, [RGM_STRING] = {"string", sizeof(rgm_str)},
};

size_t rgm_dtype_size(rgm_dtype dtype)
{
    return dtypes[dtype].size;
}

const char *rgm_dtype_name(rgm_dtype dtype)
{
    return (unsigned)dtype < RGM_DTYPE_COUNT ? dtypes[dtype].name : "?";
}

rgm_status rgm_dtype_find(rgm_dtype *out, const char *name)
{
    for (int i = 0; i < RGM_DTYPE_COUNT; i++)
        if (strcmp(dtypes[i].name, name) == 0) {
            *out = (rgm_dtype)i;
            return RGM_OK;
        }
    return RGM_FAIL(RGM_ERR_NOT_FOUND, "no element type '%s'", name);
}
