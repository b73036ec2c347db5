/*
 * Plain requests and answers, answers to errors, and the secrets that come with requests.
 */
#include <regimen/http.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <unistd.h>

const char *rgm_request_header(const rgm_request *request, const char *name)
{
    for (int64_t i = 0; i < request->header_count; i++)
        if (strcasecmp(request->headers[i].name, name) == 0)
            return request->headers[i].value;
    return NULL;
}

/* ---- answers -------------------------------------------------------------------------------- */

void rgm_response_clear(rgm_response *response)
{
    rgm_text_clear(&response->body);
    if (response->fd > 0)
        close(response->fd);
    if (response->stream.payload != NULL && response->stream.close != NULL)
        response->stream.close(response->stream.payload);
    for (int64_t i = 0; i < response->header_count; i++)
        rgm_free((void *)(uintptr_t)response->headers[i].value);
    memset(response, 0, sizeof *response);
}

rgm_status rgm_response_add_header(rgm_response *response, const char *name, const char *value)
{
    char *copy;

    if (response->header_count == RGM_RESPONSE_HEADERS)
        return RGM_FAIL(RGM_ERR_ARG, "an answer has no room for the header %s", name);
    for (const char *c = value; *c != 0; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            return RGM_FAIL(RGM_ERR_ARG, "the header %s has a control character", name);
    RGM_TRY(rgm_strdup(&copy, value));
    response->headers[response->header_count++] = (rgm_header){name, copy};
    return RGM_OK;
}

static int code_of(rgm_status status)
{
    switch (status) {
    case RGM_ERR_NOT_FOUND:
        return 404;
    case RGM_ERR_BUSY:
        return 409;
    case RGM_ERR_IO:
        return rgm_error_is_of_space() ? 507 : 503;
    case RGM_ERR_NOMEM:
        return 503;
    case RGM_ERR_FORMAT:
    case RGM_ERR_DATA:
    case RGM_ERR_VERSION:
        return 500; /* of what is kept here: a service looks at its requests by itself */
    default:
        return 400;
    }
}

void rgm_response_fail(rgm_response *response, int code, rgm_status status, const char *details)
{
    rgm_text *body = &response->body;

    rgm_response_clear(response);
    response->status = code > 0 ? code : code_of(status);
    if (rgm_text_printf(body, "{\"code\": \"%s\", \"message\": ", rgm_status_name(status)) !=
            RGM_OK ||
        rgm_json_print_text(body, rgm_error_message()) != RGM_OK ||
        rgm_text_printf(body, ", \"details\": ") != RGM_OK ||
        (details != NULL ? rgm_json_print_text(body, details) : rgm_text_printf(body, "null")) !=
            RGM_OK ||
        rgm_text_printf(body, "}") != RGM_OK)
        rgm_text_clear(body); /* 503 with an empty body */
}

/* ---- secrets -------------------------------------------------------------------------------- */

rgm_status rgm_random_hex(char out[33])
{
    uint8_t bytes[16];

    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return RGM_FAIL_SYSTEM("read", "getrandom()");
    for (int i = 0; i < 16; i++)
        snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    return RGM_OK;
}

bool rgm_same_secret(const char *a, const char *b)
{
    if (a == NULL || b == NULL)
        return false;
    size_t size = strlen(b);
    bool fits = strlen(a) == size;
    const char *with = fits ? a : b;
    unsigned char differ = !fits;

    for (size_t i = 0; i < size; i++)
        differ |= (unsigned char)(with[i] ^ b[i]);
    return differ == 0;
}
