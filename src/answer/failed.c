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

void rgmi_answer_fail(rgm_response *out, int code, rgm_status status)
{
    rgm_text *body = &out->body;

    rgm_response_clear(out);
    out->status = code > 0 ? code : code_of(status);
    if (rgm_text_printf(body, "{\"error\": ") != RGM_OK ||
        rgm_json_print_text(body, rgm_error_message()) != RGM_OK ||
        rgm_text_printf(body, ", \"code\": \"%s\"}\n", rgm_status_name(status)) != RGM_OK)
        rgm_text_clear(body); /* 503 with an empty body */
    if (out->status == 503)
        (void)rgm_response_add_header(out, "Retry-After", "1");
}
