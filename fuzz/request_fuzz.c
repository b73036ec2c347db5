/*
 * A request from anywhere, as it comes out of the socket: a line with its method, one with its
 * path, headers, an empty line, the body. "Host: HOST" and "Authorization: TOKEN" stand for what is
 * ours, so that some get past the gate. Without the token nothing but a refusal is an answer.
 */
#include <regimen/web.h>

#include <stdio.h>
#include <string.h>

#include "target.h"

enum { HEADERS = 16 };

static rgm_web *web;
static char host[64], bearer[64];

/* Before anything is counted, and once: it listens. */
__attribute__((constructor)) static void open_web(void)
{
    const char *token;

    if (rgm_web_open(&web, &(rgm_web_options){.listen = "127.0.0.1:0"}) != RGM_OK)
        __builtin_trap();
    token = strstr(rgm_web_address(web), "token=") + strlen("token=");
    snprintf(bearer, sizeof bearer, "Bearer %s", token);
    snprintf(host, sizeof host, "%.*s", (int)strcspn(rgm_web_address(web) + 7, "/"),
             rgm_web_address(web) + 7);
}

__attribute__((destructor)) static void close_web(void)
{
    rgm_web_close(web);
}

/* The next line, ended in place; NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = *rest, *end = line != NULL ? strchr(line, '\n') : NULL;

    if (end != NULL)
        *end++ = 0;
    *rest = end;
    return line;
}

static bool read_header(rgm_header *out, char *line, bool *is_known)
{
    char *colon = strstr(line, ": ");

    if (colon == NULL)
        return false;
    *colon = 0;
    *out = (rgm_header){line, colon + 2};
    if (strcmp(line, "Host") == 0 && strcmp(colon + 2, "HOST") == 0)
        out->value = host;
    if (strcmp(line, "Authorization") == 0 && strcmp(colon + 2, "TOKEN") == 0) {
        out->value = bearer;
        *is_known = true;
    }
    return true;
}

static void check_target(const char *path)
{
    static const char *const patterns[] = {"/{id}/{id}", "/static/{name}", "/{hex}", "/{uuid}",
                                           "/api/v1/masters/{id}/{rest}"};
    rgm_path_values values;
    rgm_target target;

    if (rgm_target_read(&target, path) == RGM_OK) {
        for (int64_t i = 0; i < target.query_count; i++)
            if (rgm_target_value(&target, target.query[i].key, NULL) == NULL)
                __builtin_trap();
        for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++)
            if (rgm_path_fits(&values, patterns[i], target.path) &&
                (strstr(values.name, "/") != NULL || values.name[0] == '.' || values.ids[0] < 0))
                __builtin_trap();
    }
    rgm_target_clear(&target);
}

static void check_answer(const rgm_response *out, bool is_known)
{
    rgm_json *json;

    if (out->status < 200 || out->status > 599 || (!is_known && out->status < 400))
        __builtin_trap();
    if (out->type != NULL || out->body.size == 0)
        return;
    if (rgm_json_parse(&json, out->body.data, out->body.size, "answer") != RGM_OK)
        __builtin_trap();
    rgm_json_release(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_header headers[HEADERS];
    rgm_request request = {.headers = headers};
    bool is_known = false;
    rgm_response out;
    char *text, *rest, *line;

    if (size > 1 << 16 || rgm_strndup(&text, (const char *)data, size) != RGM_OK)
        return 0;
    rest = text;
    request.method = next_line(&rest);
    request.path = next_line(&rest);
    while (request.path != NULL && (line = next_line(&rest)) != NULL && line[0] != 0)
        if (request.header_count < HEADERS &&
            read_header(&headers[request.header_count], line, &is_known))
            request.header_count++;
    if (request.path != NULL) {
        request.body = rest;
        request.size = rest != NULL ? (int64_t)strlen(rest) : 0;
        check_target(request.path);
        rgm_web_handle(&out, web, &request);
        check_answer(&out, is_known);
        rgm_response_clear(&out);
    }
    rgm_free(text);
    rgm_error_reset();
    return 0;
}
