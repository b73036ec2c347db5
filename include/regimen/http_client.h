/*
 * http: requests to a service. A service on this host answers on the socket in its folder, which
 * its owner alone can open; one that listens by TCP answers other hosts too, who know its token.
 *
 *     <folder>/master.sock      the socket: of one host, though all hosts may see the file
 *     <folder>/master.address   the host's name, and the URL for other hosts (empty: none)
 *     <folder>/token            what a request by TCP needs
 *
 *     rgm_http_client_open_folder(&client, folder);
 *     rgm_http_client_ask(&response, &served, client, "GET", "/api/v1/master", NULL);
 */
#ifndef REGIMEN_HTTP_CLIENT_H
#define REGIMEN_HTTP_CLIENT_H

#include <regimen/http.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Files of a service's folder. */
#define RGM_SERVICE_SOCKET  "master.sock"
#define RGM_SERVICE_ADDRESS "master.address"
#define RGM_SERVICE_TOKEN   "token"

typedef struct rgm_http_client rgm_http_client;
/** A client of the service in a folder, by its socket. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_http_client_open_folder(rgm_http_client **out, const char *folder);
/** A client of "http://HOST:PORT". token NULL: $REGIMEN_TOKEN. Errors: RGM_ERR_NOMEM. */
rgm_status rgm_http_client_open_url(rgm_http_client **out, const char *url, const char *token);
/**
 * A client of the service in a folder that several hosts share: by its socket on the service's own
 * host, by TCP with the folder's token on others.
 * Errors: RGM_ERR_IO (it does not listen for others), RGM_ERR_NOMEM, those of reading files.
 */
rgm_status rgm_http_client_find(rgm_http_client **out, const char *folder);
/** Takes NULL. */
void rgm_http_client_close(rgm_http_client *client);
/**
 * Bound every request from now on.
 *
 * @param seconds  [in] until a request is given up; 0: 600, as at first
 * @param stopped  [in] asked about once a second while a request waits: true gives it up; may be
 *                      NULL
 */
void rgm_http_client_limit(rgm_http_client *client, double seconds, bool (*stopped)(void *payload),
                           void *payload);
/**
 * Ask, and wait for the answer, of whatever status.
 *
 * @param out     [out] its status and body; rgm_response_clear()
 * @param served  [out] whether somebody answered; if not, the request was not, or not surely, taken
 * @param body    [in] JSON; NULL: none
 *
 * Errors: RGM_ERR_IO (nobody answers, or not in time), RGM_ERR_NOMEM. Threads: one call at a time.
 */
rgm_status rgm_http_client_ask(rgm_response *out, bool *served, rgm_http_client *client,
                               const char *method, const char *path, const char *body);
/** The same with a body of any bytes; body NULL: none. Errors: those of rgm_http_client_ask(). */
rgm_status rgm_http_client_send(rgm_response *out, bool *served, rgm_http_client *client,
                                const char *method, const char *path, const void *body,
                                int64_t size);
/** RGM_ERR_ARG where a URL is none of http:// or https:// with a host, its port cannot be, or it
 * has a user or a password; RGM_ERR_UNSUPPORTED: https:// without TLS; RGM_ERR_NOMEM. */
rgm_status rgm_http_check_url(const char *url);
/**
 * Post a body to a URL of anybody's, once: no redirect is followed, no proxy asked, a server's
 * certificate must be valid, and what it answers but for the status is not kept.
 *
 * @param status   [out] of HTTP
 * @param headers  [in] [header_count] beside Content-Type: application/json
 * @param seconds  [in] until it is given up
 * @param stopped  [in] asked about once a second: true gives it up; may be NULL
 *
 * Errors: RGM_ERR_IO (no answer, with the reason), RGM_ERR_ARG, RGM_ERR_NOMEM.
 */
rgm_status rgm_http_post(int *status, const char *url, const rgm_header *headers,
                         int64_t header_count, const char *body, double seconds,
                         bool (*stopped)(void *payload), void *payload);
/** Whether an answer says that nothing was done and may be later: 503, and 507 of a full disk. */
bool rgm_response_is_for_later(const rgm_response *response);
/** The error that an answer is, with its message; RGM_OK of one that is none. Errors: what the
 * answer says; RGM_ERR_IO (it does not say). */
rgm_status rgm_response_status(const rgm_response *response);

#ifdef __cplusplus
}
#endif
#endif
