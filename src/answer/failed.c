/*
 * Answers to what cannot be answered: {"error": ..., "code": ...}, as clients of TensorFlow Serving
 * read it.
 */
#include "answer_internal.h"

static int code_of(rgm_status status)
{
    switch (status) {
    case RGM_ERR_NOMEM:
        return 503;
    case RGM_ERR_NOT_FOUND: /* a feature that an Example lacks */
    case RGM_ERR_ARG:
    case RGM_ERR_DATA:
    case RGM_ERR_DTYPE:
    case RGM_ERR_FORMAT:
    case RGM_ERR_SHAPE:
    case RGM_ERR_UNSUPPORTED:
        return 400;
    default:
        return 500;
    }
}

rgm_status rgmi_failure_print(rgm_text *out, rgm_status status)
{
    RGM_TRY(rgm_text_printf(out, "{\"error\": "));
    RGM_TRY(rgm_json_print_text(out, rgm_error_message()));
    return rgm_text_printf(out, ", \"code\": \"%s\"}", rgm_status_name(status));
}

void rgmi_answer_fail(rgm_response *out, int code, rgm_status status)
{
    rgm_text *body = &out->body;

    rgm_response_clear(out);
    out->status = code > 0 ? code : code_of(status);
    if (rgmi_failure_print(body, status) != RGM_OK || rgm_text_add(body, "\n", 1) != RGM_OK)
        rgm_text_clear(body); /* 503 with an empty body */
    if (out->status == 503)
        (void)rgm_response_add_header(out, "Retry-After", "1");
}
