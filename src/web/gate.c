/*
 * The gate. Loopback alone keeps nobody out: any page that is open in a browser may send requests
 * here, and a name that is bound anew may lead here. So a request needs our host, the secret, and
 * an origin that is ours.
 */
#include "gate.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

const rgm_header rgmi_gate_headers[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
     "connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; "
     "frame-ancestors 'none'"},
    {"Referrer-Policy", "no-referrer"},
    {"X-Frame-Options", "DENY"},
    {"X-XSS-Protection", "0"}, /* what old browsers did under that name was a hole itself */
    {"Cross-Origin-Opener-Policy", "same-origin"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
};
const int64_t rgmi_gate_header_count = sizeof rgmi_gate_headers / sizeof *rgmi_gate_headers;

rgm_status rgmi_gate_open(rgmi_gate *gate, const char *address, int port,
                          const rgm_web_secrets *secrets)
{
    snprintf(gate->address, sizeof gate->address, "%s", address);
    gate->port = port;
    gate->is_any = strncmp(address, "0.0.0.0:", 8) == 0 || strncmp(address, "[::]:", 5) == 0;
    snprintf(gate->cookie, sizeof gate->cookie, "regimen_%d", port);
    if (secrets != NULL) {
        gate->secrets = *secrets;
        return RGM_OK;
    }
    RGM_TRY(rgm_random_hex(gate->secrets.token));
    return rgm_random_hex(gate->secrets.session);
}

static bool refuse(rgm_response *out, int code, const char *message)
{
    rgm_response_fail(out, code, RGM_FAIL(RGM_ERR_ARG, "%s", message), NULL);
    return false;
}

/* ---- host and origin ------------------------------------------------------------------------ */

/* "192.0.2.1" or "[2001:db8::1]": no name stands behind it that could be bound anew. */
static bool is_numeric(const char *host, size_t size)
{
    char text[64];
    unsigned char bytes[16];

    if (size >= sizeof text)
        return false;
    memcpy(text, host, size);
    text[size] = 0;
    if (size > 2 && text[0] == '[' && text[size - 1] == ']') {
        text[size - 1] = 0;
        return inet_pton(AF_INET6, text + 1, bytes) == 1;
    }
    return inet_pton(AF_INET, text, bytes) == 1;
}

static bool is_own_host(const rgmi_gate *gate, const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};
    char port[16], full[64];
    size_t size = strlen(host), end;

    snprintf(port, sizeof port, ":%d", gate->port);
    end = strlen(port);
    if (size > end && strcmp(host + size - end, port) == 0)
        size -= end;
    else if (gate->port != 80)
        return false;
    if (rgm_http_is_loopback(gate->address) || gate->is_any)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strlen(names[i]) == size && strncasecmp(names[i], host, size) == 0)
                return true;
    snprintf(full, sizeof full, "%.*s%s", (int)(size < 48 ? size : 48), host, port);
    return strcasecmp(full, gate->address) == 0 || (gate->is_any && is_numeric(host, size));
}

/* "http://" and the host that the request was sent to. */
static bool is_own_origin(const char *origin, const char *host)
{
    return strncasecmp(origin, "http://", 7) == 0 && strcasecmp(origin + 7, host) == 0;
}

/* ---- secrets -------------------------------------------------------------------------------- */

static bool has_bearer(const rgmi_gate *gate, const rgm_request *request)
{
    const char *header = rgm_request_header(request, "Authorization");

    return header != NULL && strncasecmp(header, "Bearer ", 7) == 0 &&
           rgm_same_secret(header + 7, gate->secrets.token);
}

static bool has_cookie(const rgmi_gate *gate, const rgm_request *request)
{
    const char *at = rgm_request_header(request, "Cookie");
    size_t size = strlen(gate->cookie);

    while (at != NULL && *at != 0) {
        size_t end = strcspn(at, ";");
        char value[33];

        if (strncmp(at, gate->cookie, size) == 0 && at[size] == '=' && end == size + 33) {
            memcpy(value, at + size + 1, 32);
            value[32] = 0;
            if (rgm_same_secret(value, gate->secrets.session))
                return true;
        }
        at += end;
        at += strspn(at, "; ");
    }
    return false;
}

/* The same address without the token, which is not to stay in a history or a bookmark. */
static bool exchange_token(rgm_response *out, const rgmi_gate *gate, const rgm_target *target)
{
    rgm_text where = {0};
    char cookie[128];
    const char *mark = "?";
    rgm_status status = rgm_text_printf(&where, "%s", target->path);

    for (int64_t i = 0; i < target->query_count && status == RGM_OK; i++) {
        if (strcmp(target->query[i].key, "token") == 0)
            continue;
        status = rgm_text_printf(&where, "%s", mark);
        mark = "&";
        for (int part = 0; part < 2 && status == RGM_OK; part++) {
            const char *c = part == 0 ? target->query[i].key : target->query[i].value;

            for (; *c != 0 && status == RGM_OK; c++)
                status = rgm_text_printf(&where, "%%%02X", (unsigned char)*c);
            if (part == 0 && status == RGM_OK)
                status = rgm_text_printf(&where, "=");
        }
    }
    snprintf(cookie, sizeof cookie, "%s=%s; HttpOnly; SameSite=Strict; Path=/", gate->cookie,
             gate->secrets.session);
    out->status = 303;
    out->type = "text/plain; charset=utf-8";
    if (status == RGM_OK)
        status = rgm_response_add_header(out, "Location", where.data);
    if (status == RGM_OK)
        status = rgm_response_add_header(out, "Set-Cookie", cookie);
    if (status != RGM_OK)
        rgm_response_fail(out, 0, status, NULL);
    rgm_text_clear(&where);
    return false;
}

/* The page where a token is typed; its form leads to the same address with the token in it. A form
 * puts its fields in the place of the query, so what that had is among them. */
#define LOGIN(word)                                                                                \
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"                            \
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"                     \
    "<meta name=\"color-scheme\" content=\"light dark\"><title>Regimen</title>"                    \
    "<link rel=\"stylesheet\" href=\"/static/style.css\"></head><body><main class=\"login\">"      \
    "<h1>Regimen</h1>" word                                                                        \
    "<p>The address that <code>regimen serve</code> printed has a token in it: open that, or "     \
    "enter what stands behind <code>token=</code>.</p><form method=\"get\">"
#define LOGIN_END                                                                                  \
    "<label for=\"token\">Token</label> <input id=\"token\" name=\"token\" type=\"password\" "     \
    "required autofocus autocomplete=\"current-password\" minlength=\"32\" maxlength=\"32\"> "     \
    "<button class=\"main\">Enter</button></form></main></body></html>\n"

/* Text within quotes of HTML: of what is not a letter or a digit its number. */
static rgm_status add_quoted(rgm_text *out, const char *text)
{
    for (const char *c = text; *c != 0; c++)
        if (((unsigned char)*c & 0x80) != 0 || isalnum((unsigned char)*c))
            RGM_TRY(rgm_text_add(out, c, 1));
        else
            RGM_TRY(rgm_text_printf(out, "&#%d;", *c));
    return RGM_OK;
}

static rgm_status add_fields(rgm_text *out, const rgm_target *target)
{
    for (int64_t i = 0; i < target->query_count; i++) {
        if (strcmp(target->query[i].key, "token") == 0)
            continue;
        RGM_TRY(rgm_text_printf(out, "<input type=\"hidden\" name=\""));
        RGM_TRY(add_quoted(out, target->query[i].key));
        RGM_TRY(rgm_text_printf(out, "\" value=\""));
        RGM_TRY(add_quoted(out, target->query[i].value));
        RGM_TRY(rgm_text_printf(out, "\">"));
    }
    return RGM_OK;
}

/* target NULL: no page was asked for. */
static bool ask_for_token(rgm_response *out, const rgm_target *target, bool has_wrong)
{
    static const char first[] = LOGIN("");
    static const char again[] =
        LOGIN("<p role=\"alert\" class=\"is-bad\">This is not this server's token: it has drawn "
              "another, or a letter is wrong.</p>");

    rgm_text page = {0};
    rgm_status status;

    if (target == NULL)
        return refuse(out, 401,
                      "the token is missing or another one was drawn: open the address that "
                      "'regimen serve' printed, or send 'Authorization: Bearer TOKEN'");
    status = rgm_text_printf(&page, "%s", has_wrong ? again : first);
    if (status == RGM_OK)
        status = add_fields(&page, target);
    if (status == RGM_OK)
        status = rgm_text_printf(&page, "%s", LOGIN_END);
    *out = (rgm_response){.status = 401, .type = "text/html; charset=utf-8", .body = page};
    if (status != RGM_OK)
        rgm_response_fail(out, 0, status, NULL);
    return false;
}

/* Whether the secret came with it; else *out is what is answered. */
static bool is_known(rgm_response *out, const rgmi_gate *gate, const rgm_request *request,
                     bool is_page)
{
    const char *token = NULL;
    rgm_target target;
    bool has_token, has_wrong, known;

    if (has_bearer(gate, request) || strcmp(request->path, "/static/style.css") == 0)
        return true; /* the page that asks for the token has the style, too */
    if (!is_page)
        return has_cookie(gate, request) || ask_for_token(out, NULL, false);
    if (rgm_target_read(&target, request->path) == RGM_OK)
        token = rgm_target_value(&target, "token", NULL);
    has_token = rgm_same_secret(token, gate->secrets.token);
    has_wrong = token != NULL;
    if (has_token)
        exchange_token(out, gate, &target);
    known = !has_token && (has_cookie(gate, request) || ask_for_token(out, &target, has_wrong));
    rgm_target_clear(&target);
    return known;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* A browser tells whose page a request comes from; a script with the token need not. */
static bool comes_from_us(rgm_response *out, const rgm_request *request, bool changes, bool bearer)
{
    const char *origin = rgm_request_header(request, "Origin");
    const char *site = rgm_request_header(request, "Sec-Fetch-Site");

    if (origin != NULL && !is_own_origin(origin, rgm_request_header(request, "Host")))
        return refuse(out, 403, "the request comes from a page of another origin");
    if (site != NULL && strcmp(site, "same-origin") != 0 && (changes || strcmp(site, "none") != 0))
        return refuse(out, 403, "the request comes from a page of another site");
    if (changes && origin == NULL && !bearer)
        return refuse(out, 403, "a request that changes something needs its Origin");
    return true;
}

bool rgmi_gate_admit(rgm_response *out, const rgmi_gate *gate, const rgm_request *request,
                     bool is_page)
{
    const char *host = rgm_request_header(request, "Host");
    bool changes = strcmp(request->method, "GET") != 0 && strcmp(request->method, "HEAD") != 0;

    if (host == NULL || !is_own_host(gate, host))
        return refuse(out, 421,
                      "the request was sent to another host: use the address that 'regimen serve' "
                      "printed, with its port (through a tunnel, the same port on both sides)");
    if ((changes || !is_page) && !comes_from_us(out, request, changes, has_bearer(gate, request)))
        return false;
    if (!is_known(out, gate, request, is_page && !changes))
        return false;
    if (changes && gate->read_only)
        return refuse(out, 403,
                      "this page was started to be read only (--read-only, or an address for "
                      "others without --allow-control): nothing is changed through it");
    return true;
}
