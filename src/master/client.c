/*
 * Requests to whoever owns a folder: over its socket to the master at work, else to one that is
 * opened for the call. Two that open one at the same moment take turns.
 */
#include "master_internal.h"

#include <regimen/http_client.h>
#include <regimen/search_rows.h>

#include <math.h>
#include <string.h>
#include <time.h>

enum { WAIT_SECONDS = 10 };

struct rgm_client {
    rgm_master_options options; /* of masters that it opens itself */
    char *folder;               /* NULL: of a URL                  */
    rgm_http_client *http;
    double seconds; /* that a call may take; 0: not said */
    bool (*stopped)(void *payload);
    void *payload;
};

/* ---- open and close ------------------------------------------------------------------------- */

rgm_status rgm_client_open(rgm_client **out, const char *where, const rgm_master_options *options)
{
    rgm_status status = RGM_OK;
    rgm_client *client = NULL;

    *out = NULL;
    if (where == NULL || where[0] == 0)
        return RGM_FAIL(RGM_ERR_ARG, "no folder and no address of a master");
    RGM_GO(RGM_NEW(client, 1));
    if (strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0) {
        RGM_GO(rgm_http_client_open_url(&client->http, where, NULL));
    } else {
        if (options != NULL)
            client->options = *options;
        RGM_GO(rgm_strdup(&client->folder, where));
        client->options.folder = client->folder;
        client->options.listen = NULL; /* it is for masters at work */
        client->options.trial_command = NULL;
        RGM_GO(rgm_http_client_open_folder(&client->http, where));
    }
    *out = client;
    client = NULL;
done:
    rgm_client_close(client);
    return status;
}

void rgm_client_close(rgm_client *client)
{
    if (client == NULL)
        return;
    rgm_http_client_close(client->http);
    rgm_free(client->folder);
    rgm_free(client);
}

void rgm_client_limit(rgm_client *client, double seconds, bool (*stopped)(void *payload),
                      void *payload)
{
    client->seconds = seconds;
    client->stopped = stopped;
    client->payload = payload;
    rgm_http_client_limit(client->http, seconds, stopped, payload);
}

/* ---- one's own ------------------------------------------------------------------------------ */

/* Who looks at a search loads none of its code, and starts none. */
static rgm_status ask_own(rgm_response *out, const rgm_client *client, const char *method,
                          const char *path, const char *body)
{
    rgm_master_options options = client->options;
    rgm_search_subject subject;
    rgm_search_rows rows;
    rgm_master *master;

    memset(out, 0, sizeof *out);
    if (strcmp(method, "GET") == 0 && options.subject != NULL && options.subject->rows != NULL) {
        subject = *options.subject;
        rows = *subject.rows;
        rows.objects = false;
        subject.rows = &rows;
        options.subject = &subject;
    }
    RGM_TRY(rgm_master_open(&master, &options));
    rgm_master_handle(out, master,
                      &(rgm_request){.method = method,
                                     .path = path,
                                     .body = body,
                                     .size = body != NULL ? (int64_t)strlen(body) : 0});
    rgm_master_close(master);
    return RGM_OK;
}

static rgm_status ask_anybody(rgm_response *out, rgm_client *client, const char *method,
                              const char *path, const char *body)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    double until =
        rgm_now() + (client->seconds > 0 ? fmin(client->seconds, WAIT_SECONDS) : WAIT_SECONDS);
    bool served;

    for (;;) {
        rgm_status status = rgm_http_client_ask(out, &served, client->http, method, path, body);

        if (served || status == RGM_ERR_NOMEM || client->folder == NULL)
            return status;
        rgm_response_clear(out);
        status = ask_own(out, client, method, path, body);
        if (status != RGM_ERR_BUSY || rgm_now() > until ||
            (client->stopped != NULL && client->stopped(client->payload)))
            return status;
        nanosleep(&pause, NULL); /* another call's master, or one that begins to listen */
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

rgm_status rgm_client_call(rgm_json **answer, rgm_client *client, const char *method,
                           const char *path, const char *body)
{
    rgm_status status = RGM_OK;
    rgm_response response = {0};

    if (answer != NULL)
        *answer = NULL;
    RGM_GO(ask_anybody(&response, client, method, path, body));
    RGM_GO(rgm_response_status(&response));
    if (answer != NULL)
        RGM_GO(rgm_json_parse(answer, response.body.data, response.body.size, "answer"));
done:
    rgm_response_clear(&response);
    return status;
}

rgm_status rgm_client_forward(rgm_response *out, rgm_client *client, const char *method,
                              const char *path, const char *body)
{
    rgm_status status = ask_anybody(out, client, method, path, body);

    if (status != RGM_OK)
        rgm_response_clear(out);
    return status;
}

bool rgm_client_is_served(rgm_client *client)
{
    rgm_response response;
    bool served;

    rgm_status status =
        rgm_http_client_ask(&response, &served, client->http, "GET", "/api/v1/requests", NULL);
    rgm_response_clear(&response);
    return status == RGM_OK && served;
}
