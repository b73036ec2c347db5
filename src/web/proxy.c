/*
 * Requests that are a master's: handed to it as they are, and its answer back. Its own table says
 * what there is; what trials' processes ask is not for pages.
 */
#include "masters.h"
#include "web_internal.h"

#include <string.h>

/* The requests by which a trial's process speaks to its master: who asks them becomes that trial.
 */
static bool is_of_a_trial(const char *path)
{
    static const char *const patterns[] = {"trials/{id}/workload", "trials/{id}/failed",
                                           "trials/{id}/alive", "trials/{id}/run"};
    rgm_path_values values;

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
        if (rgm_path_fits(&values, patterns[i], path))
            return true;
    return false;
}

/* What a master keeps from tokens that may look at things alone: whoever knows a webhook's URL can
 * write there. */
static bool is_secret(const char *path)
{
    static const char *const secret[] = {"tokens", "webhooks"};

    for (size_t i = 0; i < sizeof secret / sizeof *secret; i++)
        if (strncmp(path, secret[i], strlen(secret[i])) == 0)
            return true;
    return false;
}

/* Visible ASCII, without what would end a path or lead out of it. */
static bool is_plain(const char *rest)
{
    for (const char *c = rest; *c != 0; c++)
        if (*c <= ' ' || *c >= 0x7f || *c == '#' || *c == '\\')
            return false;
    return true;
}

static bool is_path(const char *path)
{
    return strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-/") ==
               strlen(path) &&
           strstr(path, "//") == NULL;
}

static rgm_status forward(rgmi_web_call *call, const char *method, const char *path)
{
    const rgm_request *request = call->request;
    rgm_status status = RGM_OK;
    rgm_response answer = {0};
    char *body = NULL;

    if (request->size > 0)
        RGM_GO(rgm_strndup(&body, request->body, (size_t)request->size));
    RGM_GO(rgmi_masters_ask(&answer, call->web->masters, call->id, method, path, body));
    if (answer.status == 401) { /* the page itself is known; it is the server that is not */
        call->out->status = 502;
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "the master does not know the token that this server sends: "
                                    "start it with the master's in $REGIMEN_TOKEN"));
    }
    call->out->status = answer.status;
    call->out->body = answer.body;
    answer.body = (rgm_text){0};
done:
    rgm_response_clear(&answer);
    rgm_free(body);
    return status;
}

rgm_status rgmi_show_master(rgmi_web_call *call)
{
    static const char *const methods[] = {"GET", "POST", "PATCH", "DELETE"};
    const char *sent = call->request->method, *method = NULL;
    const char *query = strchr(call->request->path, '?');
    rgm_status status = RGM_OK;
    char *path = NULL;

    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
        if (strcmp(methods[i], strcmp(sent, "HEAD") == 0 ? "GET" : sent) == 0)
            method = methods[i];
    if (method == NULL) {
        call->out->status = 405;
        RGM_TRY(rgm_response_add_header(call->out, "Allow", "GET, HEAD, POST, PATCH, DELETE"));
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no such request of a master");
    }
    if (!is_path(call->values.rest) || (query != NULL && !is_plain(query)))
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "a master has no such request");
    if (is_of_a_trial(call->values.rest)) {
        call->out->status = 403;
        return RGM_FAIL(RGM_ERR_ARG, "this request is for trials' processes alone");
    }
    if (call->web->gate.read_only && is_secret(call->values.rest)) {
        call->out->status = 403;
        return RGM_FAIL(RGM_ERR_ARG, "whoever knows a webhook's URL can write there: a page that "
                                     "is read only shows neither webhooks nor tokens");
    }
    rgmi_web_find_masters(call->web, call->id);
    RGM_GO(rgm_strprintf(&path, "/api/v1/%s%s", call->values.rest, query != NULL ? query : ""));
    RGM_GO(forward(call, method, path));
done:
    rgm_free(path);
    return status;
}
