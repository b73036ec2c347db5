/*
 * What tests of the page share: one that is open without a socket at work, and requests as a script
 * with the token sends them.
 */
#ifndef RGM_WEB_CHECK_H
#define RGM_WEB_CHECK_H

#include <check.h>
#include <regimen/web.h>

#include "web_internal.h"

static inline rgm_web *open_web(const char *const *folders, int64_t count, bool read_only)
{
    rgm_web *web;

    CHECK_OK(rgm_web_open(&web, &(rgm_web_options){.folders = folders,
                                                   .folder_count = count,
                                                   .listen = "127.0.0.1:0",
                                                   .read_only = read_only}));
    return web;
}

/* The answer to one more header; cleared by the caller. */
static inline rgm_response ask_with(rgm_web *web, const char *method, const char *path,
                                    const char *body, rgm_header more)
{
    char bearer[64];
    const rgm_header headers[] = {{"Host", web->gate.address}, {"Authorization", bearer}, more};
    rgm_response out;

    snprintf(bearer, sizeof bearer, "Bearer %s", web->gate.secrets.token);
    rgm_web_handle(&out, web,
                   &(rgm_request){.method = method,
                                  .path = path,
                                  .body = body,
                                  .size = body != NULL ? (int64_t)strlen(body) : 0,
                                  .headers = headers,
                                  .header_count = more.name != NULL ? 3 : 2});
    return out;
}

/* A request that must have this status; its body, for rgm_json_release(), NULL where it is no JSON.
 */
static inline rgm_json *ask_web(rgm_web *web, int status, const char *method, const char *path,
                                const char *body)
{
    rgm_response out = ask_with(web, method, path, body, (rgm_header){0});
    rgm_json *json = NULL;

    if (out.status != status)
        fail_msg("%s %s: %d, not %d: %s", method, path, out.status, status,
                 out.body.data != NULL ? out.body.data : "");
    if (out.body.size > 0)
        CHECK_OK(rgm_json_parse(&json, out.body.data, out.body.size, path));
    rgm_response_clear(&out);
    return json;
}

static inline void tell_web(rgm_web *web, int status, const char *method, const char *path,
                            const char *body)
{
    rgm_json_release(ask_web(web, status, method, path, body));
}

/* A header of an answer; NULL: it has none. */
static inline const char *answer_header(const rgm_response *out, const char *name)
{
    for (int64_t i = 0; i < out->header_count; i++)
        if (strcmp(out->headers[i].name, name) == 0)
            return out->headers[i].value;
    return NULL;
}

#endif
