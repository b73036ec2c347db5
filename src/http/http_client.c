/*
 * Requests by HTTP through libcurl: over the socket in a service's folder, or to a URL.
 */
#include <regimen/http_client.h>

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ANSWER_LIMIT = 1 << 30, CONNECT_SECONDS = 10, CALL_SECONDS = 600 };

struct rgm_http_client {
    char *folder, *url; /* one of them */
    CURL *curl;
    struct curl_slist *headers;
    int folder_fd;
    double seconds; /* that a call may take */
    bool (*stopped)(void *payload);
    void *payload;
};

/* ---- open and close ------------------------------------------------------------------------- */

static rgm_status prepare_curl(rgm_http_client *client, const char *token)
{
    char header[512];

    client->curl = curl_easy_init();
    client->headers = curl_slist_append(NULL, "Content-Type: application/json");
    if (client->curl == NULL || client->headers == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory preparing requests");
    if (client->url == NULL || token == NULL)
        return RGM_OK;
    snprintf(header, sizeof header, "Authorization: Bearer %.400s", token);
    struct curl_slist *more = curl_slist_append(client->headers, header);
    if (more == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory preparing requests");
    client->headers = more;
    return RGM_OK;
}

rgm_status rgm_http_client_open_folder(rgm_http_client **out, const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_http_client *client = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(client, 1));
    client->folder_fd = -1;
    RGM_GO(rgm_strdup(&client->folder, folder));
    RGM_GO(prepare_curl(client, NULL));
    *out = client;
    client = NULL;
done:
    rgm_http_client_close(client);
    return status;
}

rgm_status rgm_http_client_open_url(rgm_http_client **out, const char *url, const char *token)
{
    rgm_status status = RGM_OK;
    rgm_http_client *client = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(client, 1));
    client->folder_fd = -1;
    RGM_GO(rgm_strdup(&client->url, url));
    for (size_t n = strlen(url); n > 0 && url[n - 1] == '/'; n--)
        client->url[n - 1] = 0;
    RGM_GO(prepare_curl(client, token != NULL ? token : getenv("REGIMEN_TOKEN")));
    *out = client;
    client = NULL;
done:
    rgm_http_client_close(client);
    return status;
}

void rgm_http_client_close(rgm_http_client *client)
{
    if (client == NULL)
        return;
    curl_easy_cleanup(client->curl);
    curl_slist_free_all(client->headers);
    if (client->folder_fd >= 0)
        close(client->folder_fd);
    rgm_free(client->folder);
    rgm_free(client->url);
    rgm_free(client);
}

void rgm_http_client_limit(rgm_http_client *client, double seconds, bool (*stopped)(void *payload),
                           void *payload)
{
    client->seconds = seconds;
    client->stopped = stopped;
    client->payload = payload;
}

/* ---- HTTP ----------------------------------------------------------------------------------- */

static bool is_stopped(const rgm_http_client *client)
{
    return client->stopped != NULL && client->stopped(client->payload);
}

static int look_up(void *payload, curl_off_t total, curl_off_t now, curl_off_t up_total,
                   curl_off_t up_now)
{
    (void)total, (void)now, (void)up_total, (void)up_now;
    return is_stopped(payload) ? 1 : 0;
}

static size_t receive(char *data, size_t size, size_t count, void *payload)
{
    rgm_text *text = payload;

    if (text->size + (int64_t)(size * count) > ANSWER_LIMIT ||
        rgm_text_add(text, data, (int64_t)(size * count)) != RGM_OK)
        return 0;
    return size * count;
}

/* Where a socket may be; an address has room for 107 bytes, a descriptor of the folder always has.
 */
static rgm_status find_socket(char *path, size_t room, rgm_http_client *client)
{
    if (client->folder_fd < 0)
        client->folder_fd = open(client->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (client->folder_fd < 0)
        return RGM_FAIL_SYSTEM("open", client->folder);
    snprintf(path, room, "/proc/self/fd/%d/" RGM_SERVICE_SOCKET, client->folder_fd);
    return RGM_OK;
}

static void set_request(rgm_http_client *client, const char *url, const char *socket_path,
                        const char *method, const void *body, int64_t size)
{
    CURL *curl = client->curl;

    curl_easy_reset(curl); /* keeps its connections */
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
    curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_SECONDS);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS,
                     (long)(1e3 * (client->seconds > 0 ? client->seconds : CALL_SECONDS)));
    curl_easy_setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, look_up);
    curl_easy_setopt(curl, CURLOPT_XFERINFODATA, client);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, client->headers);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (socket_path != NULL)
        curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, socket_path);
    if (body != NULL || strcmp(method, "GET") != 0) {
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body != NULL ? body : "");
        curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)size);
    }
}

rgm_status rgm_http_client_ask(rgm_response *out, bool *served, rgm_http_client *client,
                               const char *method, const char *path, const char *body)
{
    return rgm_http_client_send(out, served, client, method, path, body,
                                body != NULL ? (int64_t)strlen(body) : 0);
}

rgm_status rgm_http_client_send(rgm_response *out, bool *served, rgm_http_client *client,
                                const char *method, const char *path, const void *body,
                                int64_t size)
{
    rgm_status status = RGM_OK;
    char socket_path[64], *url = NULL;
    long code = 0;
    CURLcode result;

    memset(out, 0, sizeof *out);
    *served = false;
    if (client->url == NULL)
        RGM_TRY(find_socket(socket_path, sizeof socket_path, client));
    RGM_GO(rgm_strprintf(&url, "%s%s", client->url != NULL ? client->url : "http://master", path));
    set_request(client, url, client->url == NULL ? socket_path : NULL, method, body, size);
    curl_easy_setopt(client->curl, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(client->curl, CURLOPT_WRITEDATA, &out->body);
    result = curl_easy_perform(client->curl);
    if (result == CURLE_OUT_OF_MEMORY)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory asking the master"));
    /* A connection that broke after it stood: the master may have done what it was asked. */
    *served = result != CURLE_COULDNT_CONNECT && result != CURLE_COULDNT_RESOLVE_HOST;
    if (result != CURLE_OK)
        RGM_GO(RGM_FAIL(RGM_ERR_IO, "no answer from %s: %s",
                        client->url != NULL ? client->url : client->folder,
                        curl_easy_strerror(result)));
    curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &code);
    out->status = (int)code;
done:
    rgm_free(url);
    return status;
}

/* ---- to anybody ----------------------------------------------------------------------------- */

static bool has_tls(void)
{
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SSL) != 0;
}

/* What libcurl makes of it: a port that there is, and neither user nor password, which lists and
 * logs would show. */
static rgm_status check_parts(const char *url)
{
    static const CURLUPart secret[] = {CURLUPART_USER, CURLUPART_PASSWORD};
    CURLU *parts = curl_url();
    CURLUcode code = parts != NULL ? curl_url_set(parts, CURLUPART_URL, url, 0) : CURLUE_OK;
    bool has_secret = false;

    for (size_t i = 0; i < sizeof secret / sizeof *secret && code == CURLUE_OK; i++) {
        char *text = NULL;

        has_secret =
            has_secret || (parts != NULL && curl_url_get(parts, secret[i], &text, 0) == CURLUE_OK);
        curl_free(text);
    }
    curl_url_cleanup(parts);
    if (parts == NULL || code == CURLUE_OUT_OF_MEMORY)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for a URL");
    if (code != CURLUE_OK)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no URL: its host or its port cannot be", url);
    if (has_secret)
        return RGM_FAIL(RGM_ERR_ARG, "a URL with a user or a password would show them in lists and "
                                     "logs: leave out what is before '@'");
    return RGM_OK;
}

rgm_status rgm_http_check_url(const char *url)
{
    bool is_secure = strncmp(url, "https://", 8) == 0;
    const char *host = url + (is_secure ? 8 : 7);

    if (!is_secure && strncmp(url, "http://", 7) != 0)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no URL: http://HOST... or https://HOST...", url);
    if (host[strcspn(host, "/?#")] == *host || strlen(url) > 2000 ||
        url[strcspn(url, " \t\r\n\"<>\\^`{|}")] != 0)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no URL: it has no host, or odd characters", url);
    RGM_TRY(check_parts(url));
    return !is_secure || has_tls()
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_UNSUPPORTED, "the libcurl of this program has no TLS, which "
                                               "https:// needs");
}

static size_t ignore(char *data, size_t size, size_t count, void *payload)
{
    (void)data, (void)payload;
    return size * count;
}

static rgm_status add_headers(rgm_http_client *client, const rgm_header *headers, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        char *line;
        struct curl_slist *more;

        if (headers[i].value[strcspn(headers[i].value, "\r\n")] != 0)
            return RGM_FAIL(RGM_ERR_ARG, "the header %s has a line break", headers[i].name);
        RGM_TRY(rgm_strprintf(&line, "%s: %s", headers[i].name, headers[i].value));
        more = curl_slist_append(client->headers, line);
        rgm_free(line);
        if (more == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory preparing requests");
        client->headers = more;
    }
    return RGM_OK;
}

rgm_status rgm_http_post(int *http_status, const char *url, const rgm_header *headers,
                         int64_t header_count, const char *body, double seconds,
                         bool (*stopped)(void *payload), void *payload)
{
    rgm_status status = RGM_OK;
    rgm_http_client client = {
        .folder_fd = -1, .seconds = seconds, .stopped = stopped, .payload = payload};
    long code = 0;

    *http_status = 0;
    RGM_GO(rgm_http_check_url(url));
    RGM_GO(prepare_curl(&client, NULL)); /* no token: it is a secret of other services */
    RGM_GO(add_headers(&client, headers, header_count));
    set_request(&client, url, NULL, "POST", body, (int64_t)strlen(body));
    curl_easy_setopt(client.curl, CURLOPT_WRITEFUNCTION, ignore);
    CURLcode result = curl_easy_perform(client.curl);
    if (result != CURLE_OK) /* paths of such URLs are secrets: a log has none */
        RGM_GO(RGM_FAIL(result == CURLE_OUT_OF_MEMORY ? RGM_ERR_NOMEM : RGM_ERR_IO,
                        "no answer from %.*s: %s", (int)(8 + strcspn(url + 8, "/?#")), url,
                        curl_easy_strerror(result)));
    curl_easy_getinfo(client.curl, CURLINFO_RESPONSE_CODE, &code);
    *http_status = (int)code;
done:
    curl_easy_cleanup(client.curl);
    curl_slist_free_all(client.headers);
    return status;
}

/* ---- answers -------------------------------------------------------------------------------- */

bool rgm_response_is_for_later(const rgm_response *r)
{
    return r->status == 503 || r->status == 507;
}

rgm_status rgm_response_status(const rgm_response *r)
{
    rgm_json *json = NULL;
    rgm_status status = RGM_ERR_IO;
    const char *code, *message;

    if (r->status >= 200 && r->status < 300)
        return RGM_OK;
    if (r->body.size == 0 || rgm_json_parse(&json, r->body.data, r->body.size, "answer") != RGM_OK)
        return RGM_FAIL(RGM_ERR_IO, "the master answers %d", r->status);
    code = rgm_json_text(rgm_json_find(json, "code"));
    message = rgm_json_text(rgm_json_find(json, "message"));
    for (rgm_status s = RGM_ERR_ARG; s >= RGM_ERR_DATA; s--)
        if (code != NULL && strcmp(rgm_status_name(s), code) == 0)
            status = s;
    status = RGM_FAIL(status, "%s", message != NULL ? message : "the master gives no reason");
    rgm_json_release(json);
    return status;
}
