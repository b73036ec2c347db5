/*
 * What a request says: its query and its body.
 */
#include "requests.h"

#include <string.h>

const char *rgmi_call_query(const rgmi_call *call, const char *key)
{
    return rgm_target_value(&call->target, key, NULL);
}

rgm_status rgmi_call_query_int(int64_t *out, const rgmi_call *call, const char *key,
                               int64_t otherwise, int64_t low, int64_t high)
{
    return rgm_target_int(out, &call->target, key, otherwise, low, high);
}

rgm_status rgmi_call_text(const char **out, const rgmi_call *call, const char *key)
{
    const rgm_json *value = rgm_json_find(call->body, key);

    if (value == NULL)
        return RGM_OK;
    if (rgm_json_text(value) == NULL)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no text", key);
    *out = rgm_json_text(value);
    return RGM_OK;
}

rgm_status rgmi_call_int(int64_t *out, const rgmi_call *call, const char *key, int64_t low,
                         int64_t high)
{
    const rgm_json *value = rgm_json_find(call->body, key);
    int64_t number;

    if (value == NULL)
        return RGM_OK;
    if (!rgm_json_int(&number, value) || number < low || number > high)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no integer of %lld to %lld", key, (long long)low,
                        (long long)high);
    *out = number;
    return RGM_OK;
}

rgm_status rgmi_call_number(double *out, const rgmi_call *call, const char *key)
{
    const rgm_json *value = rgm_json_find(call->body, key);

    return value == NULL || rgm_json_number(out, value)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_ARG, "'%s' is no number", key);
}

rgm_status rgmi_call_bool(bool *out, const rgmi_call *call, const char *key)
{
    const rgm_json *value = rgm_json_find(call->body, key);

    return value == NULL || rgm_json_bool(out, value)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_ARG, "'%s' is neither true nor false", key);
}

rgm_status rgmi_call_keys(const rgmi_call *call, const char *const *known)
{
    rgm_json_entry entry = {0};
    int64_t count = 0;

    while (known[count] != NULL)
        count++;
    while (call->body != NULL && rgm_json_next(&entry, call->body)) {
        int64_t i = 0;

        while (i < count && strcmp(known[i], entry.key) != 0)
            i++;
        if (i == count)
            return RGM_FAIL(RGM_ERR_ARG, "unknown key '%s'%s", entry.key,
                            rgm_did_you_mean(entry.key, known, count, NULL, "there are ").text);
    }
    return RGM_OK;
}

rgm_status rgmi_call_page(int64_t *limit, int64_t *offset, const rgmi_call *call)
{
    RGM_TRY(rgmi_call_query_int(limit, call, "limit", 100, 0, 1000000));
    return rgmi_call_query_int(offset, call, "offset", 0, 0, INT64_MAX);
}
