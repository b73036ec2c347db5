/*
 * The server of the page: opened, at work, closed.
 */
#include "band.h"
#include "events.h"
#include "masters.h"
#include "tab.h"
#include "index.h"
#include "web_internal.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

enum { READERS = 2, CONNECTIONS = 512, HEADER_BYTES = 32 << 10, BODY_BYTES = 4 << 20 };
enum { ALL_BODY_BYTES = 16 << 20, IDLE_SECONDS = 60, REQUEST_SECONDS = 10, STREAMS = 128 };

/* ---- open and close ------------------------------------------------------------------------- */

static rgm_status keep_options(rgm_web *web, const rgm_web_options *options)
{
    RGM_TRY(RGM_NEW(web->folders, options->folder_count + 1));
    for (int64_t i = 0; i < options->folder_count; i++) {
        RGM_TRY(rgm_strdup(&web->folders[i], options->folders[i]));
        web->folder_count++;
    }
    if (options->master == NULL)
        return RGM_OK;
    return rgm_strdup(&web->master, options->master);
}

static rgm_status open_gate(rgm_web *web, const rgm_web_options *options)
{
    const char *listen = options->listen != NULL ? options->listen : "127.0.0.1:6006";
    char address[64];
    bool is_ours;
    int port;

    RGM_TRY(rgm_http_listen(&web->fd, listen));
    RGM_TRY(rgm_http_address(address, &port, web->fd));
    is_ours = rgm_http_is_loopback(address);
    if (!is_ours && !options->allow_remote)
        return RGM_FAIL(RGM_ERR_ARG,
                        "%s can be reached by others, and what they send is not encrypted: say "
                        "--allow-remote (allow_remote), or use a tunnel to 127.0.0.1",
                        listen);
    RGM_TRY(rgmi_gate_open(&web->gate, address, port, options->secrets));
    web->gate.read_only = options->read_only || (!is_ours && !options->allow_control);
    return rgm_strprintf(&web->address, "http://%s/?token=%s", address, web->gate.secrets.token);
}

rgm_status rgm_web_open(rgm_web **out, const rgm_web_options *options)
{
    const rgm_web_options none = {0};
    rgm_status status = RGM_OK;
    rgm_web *web = NULL;

    *out = NULL;
    if (options == NULL)
        options = &none;
    RGM_GO(RGM_NEW(web, 1));
    web->fd = -1;
    pthread_mutex_init(&web->lock, NULL);
    rgmi_profile_cache_open(&web->profiles);
    RGM_GO(keep_options(web, options));
    RGM_GO(open_gate(web, options));
    RGM_GO(rgmi_kept_cache_create(&web->kept, RGMI_CACHE_BYTES));
    RGM_GO(rgmi_band_cache_create(&web->bands));
    RGM_GO(rgmi_runs_open(&web->runs, options->folders, options->folder_count));
    RGM_GO(rgmi_masters_open(&web->masters, options->subject));
    RGM_GO(rgmi_notices_open(&web->events, web));
    *out = web;
    web = NULL;
done:
    rgm_web_close(web);
    return status;
}

void rgm_web_close(rgm_web *web)
{
    if (web == NULL)
        return;
    if (web->fd >= 0)
        close(web->fd);
    if (web->masters != NULL)
        rgmi_masters_stop(web->masters);
    rgmi_notices_close(web->events);
    rgmi_masters_close(web->masters);
    rgmi_importances_clear(web);
    pthread_mutex_destroy(&web->lock);
    rgmi_runs_close(web->runs);
    rgmi_kept_cache_release(web->kept);
    rgmi_band_cache_release(web->bands);
    rgmi_profile_cache_close(&web->profiles);
    for (int64_t i = 0; i < web->folder_count; i++)
        rgm_free(web->folders[i]);
    rgm_free(web->folders);
    rgm_free(web->master);
    rgm_free(web->address);
    rgm_free(web);
}

const char *rgm_web_address(const rgm_web *web)
{
    return web->address;
}

/* ---- at work -------------------------------------------------------------------------------- */

static bool admit(rgm_response *out, const rgm_request *request, void *payload)
{
    const rgm_web *web = payload;

    return rgmi_gate_admit(out, &web->gate, request, rgmi_route_is_page(request->path));
}

rgm_status rgm_web_serve(rgm_web *web, bool (*done)(void *payload), void *payload)
{
    int lanes[RGMI_WEB_LANES] = {[RGMI_READING] = READERS, [RGMI_COMPUTING] = 1};
    const struct timespec pause = {.tv_nsec = 100000000};
    const rgm_http_options options = {.connections = CONNECTIONS,
                                      .header_bytes = HEADER_BYTES,
                                      .body_bytes = BODY_BYTES,
                                      .all_body_bytes = ALL_BODY_BYTES,
                                      .idle_seconds = IDLE_SECONDS,
                                      .request_seconds = REQUEST_SECONDS,
                                      .streams = STREAMS,
                                      .lanes = lanes,
                                      .lane_count = sizeof lanes / sizeof *lanes};
    const rgm_http_service service = {.admit = admit,
                                      .lane = rgmi_route_lane,
                                      .answer = rgmi_route_answer,
                                      .payload = web,
                                      .headers = rgmi_gate_headers,
                                      .header_count = rgmi_gate_header_count};
    int fd = web->fd;

    for (int i = RGMI_ASKING; i < RGMI_WEB_LANES; i++)
        lanes[i] = 1; /* a master is asked one thing at a time */

    if (fd < 0)
        return RGM_FAIL(RGM_ERR_ARG, "the page was served already");
    web->fd = -1;
    RGM_TRY(rgm_http_start(&web->http, fd, &options, &service));
    rgmi_notices_set_server(web->events, web->http);
    while (!done(payload))
        nanosleep(&pause, NULL);
    rgmi_runs_stop(web->runs); /* answers that read much end with what they have */
    rgmi_masters_stop(web->masters);
    rgmi_notices_stop(web->events);
    rgm_http_stop(web->http);
    web->http = NULL;
    return RGM_OK;
}

void rgm_web_handle(rgm_response *out, rgm_web *web, const rgm_request *request)
{
    memset(out, 0, sizeof *out);
    if (admit(out, request, web))
        rgmi_route_answer(out, request, web);
}
