/* The words for element types in a schema, and what lies in memory for each. */
#include <string.h>

#include "graph_internal.h"

typedef struct stored {
    const char *name;
    int number; /* in tensorflow.DataType, for enums written as numbers */
    rgm_dtype dtype;
    bool bounded; /* integers narrower than the memory holds */
    int64_t lowest, highest;
} stored;

/* The first row of a dtype is the word it is written with. */
static const stored stored_types[] = {
    {"DT_FLOAT", 1, RGM_F32, false, 0, 0},
    {"DT_DOUBLE", 2, RGM_F64, false, 0, 0},
    {"DT_INT32", 3, RGM_I32, true, INT32_MIN, INT32_MAX},
    {"DT_INT64", 9, RGM_I64, false, 0, 0},
    {"DT_BOOL", 10, RGM_BOOL, false, 0, 0},
    {"DT_STRING", 7, RGM_STRING, false, 0, 0},
    {"DT_UINT8", 4, RGM_I32, true, 0, UINT8_MAX},
    {"DT_INT8", 6, RGM_I32, true, INT8_MIN, INT8_MAX},
    {"DT_UINT16", 17, RGM_I32, true, 0, UINT16_MAX},
    {"DT_INT16", 5, RGM_I32, true, INT16_MIN, INT16_MAX},
    {"DT_UINT32", 22, RGM_I64, true, 0, UINT32_MAX},
    {"DT_UINT64", 23, RGM_I64, false, 0, 0}, /* keeps its bit pattern */
    {"DT_HALF", 19, RGM_F32, false, 0, 0},
    {"DT_BFLOAT16", 14, RGM_F32, false, 0, 0},
};
#define STORED_COUNT ((int64_t)(sizeof stored_types / sizeof stored_types[0]))

static const stored *find_stored(const char *name)
{
    for (int64_t i = 0; name != NULL && i < STORED_COUNT; i++)
        if (strcmp(stored_types[i].name, name) == 0)
            return &stored_types[i];
    return NULL;
}

const char *rgmi_stored_type(rgm_dtype dtype)
{
    for (int64_t i = 0; i < STORED_COUNT; i++)
        if (stored_types[i].dtype == dtype)
            return stored_types[i].name;
    return "DT_INVALID";
}

const char *rgmi_stored_of_number(int64_t number)
{
    for (int64_t i = 0; i < STORED_COUNT; i++)
        if (stored_types[i].number == number)
            return stored_types[i].name;
    return NULL;
}

bool rgmi_stored_find(rgm_dtype *out, const char *name)
{
    const stored *type = find_stored(name);

    if (type != NULL)
        *out = type->dtype;
    return type != NULL;
}

rgm_status rgmi_stored_dtype(rgm_dtype *out, const char *name)
{
    const char *names[STORED_COUNT];

    if (rgmi_stored_find(out, name))
        return RGM_OK;
    for (int64_t i = 0; i < STORED_COUNT; i++)
        names[i] = stored_types[i].name;
    return RGM_FAIL(RGM_ERR_DATA, "no such dtype for a feature: %s%s", name,
                    rgm_did_you_mean(name, names, STORED_COUNT, NULL, NULL).text);
}

bool rgmi_stored_range(int64_t *lowest, int64_t *highest, const char *stored_type)
{
    const stored *type = find_stored(stored_type);

    if (type == NULL || !type->bounded)
        return false;
    *lowest = type->lowest;
    *highest = type->highest;
    return true;
}
