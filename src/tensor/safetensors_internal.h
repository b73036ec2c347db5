/*
 * The checked header of a safetensors file, without its data.
 */
#ifndef RGM_SAFETENSORS_INTERNAL_H
#define RGM_SAFETENSORS_INTERNAL_H

#include <regimen/tensor.h>

#define RGMI_HEADER_MAX ((int64_t)100000000)

typedef struct rgmi_st_tensor {
    const char *name; /* in the arena, without NUL inside */
    rgm_dtype dtype;
    bool half; /* f16 in the file, dtype is RGM_F32 */
    int rank;
    int64_t shape[RGM_MAX_RANK];
    int64_t begin, end; /* bytes behind the header */
} rgmi_st_tensor;

typedef struct rgmi_st_header {
    rgm_arena *arena;
    rgmi_st_tensor *tensors; /* in the order of the file's header */
    int64_t count, capacity;
    rgm_map *by_name;  /* name -> index + 1 */
    rgm_map *metadata; /* key -> text in the arena */
} rgmi_st_header;

/**
 * Read and check the JSON of a header whose data are `data_size` bytes long. `name` is the file's.
 * Clear the result with rgmi_st_header_clear(), also after an error.
 */
rgm_status rgmi_st_header_read(rgmi_st_header *header, const char *json, int64_t size,
                               int64_t data_size, const char *name);
void rgmi_st_header_clear(rgmi_st_header *header);

/** safetensors' name of a dtype ("F32"), or NULL. */
const char *rgmi_st_dtype_name(rgm_dtype dtype);

#endif
