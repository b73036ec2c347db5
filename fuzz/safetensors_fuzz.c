/*
 * A safetensors file from anywhere: open it, read every tensor.
 */
#include <regimen/tensor.h>

#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_safetensors *file = NULL;

    if (rgm_safetensors_open_memory(&file, data, (int64_t)size, "input") != RGM_OK)
        return 0;
    for (int64_t i = 0; i < rgm_safetensors_count(file); i++) {
        rgm_tensor *t = NULL;
        if (rgm_safetensors_get(&t, file, rgm_safetensors_name(file, i)) == RGM_OK &&
            rgm_tensor_bytes(t) > size * sizeof(rgm_str))
            __builtin_trap(); /* more data than the file has */
        rgm_tensor_release(t);
    }
    rgm_safetensors_metadata(file, "format");
    rgm_safetensors_close(file);
    return 0;
}
