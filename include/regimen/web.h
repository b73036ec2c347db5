/*
 * web: the page. A server for browsers that shows run folders and masters, to watch, compare and
 * steer them.
 *
 *     rgm_web_open()     listen, begin to read the folders
 *     rgm_web_address()  "http://127.0.0.1:6006/?token=...", to be told to the user once
 *     rgm_web_serve()    until told to stop
 *     rgm_web_handle()   a request without a socket: what tests and fuzzing ask
 *
 * docs/web.md has the requests, who may ask, and what is kept.
 */
#ifndef REGIMEN_WEB_H
#define REGIMEN_WEB_H

#include <regimen/http.h>
#include <regimen/search_file.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rgm_web rgm_web;

/** What lets somebody in: the token in the address, and what the browser keeps instead of it. */
typedef struct rgm_web_secrets {
    char token[33], session[33]; /* 32 hexadecimal digits */
} rgm_web_secrets;
/**
 * Those of a file that its owner alone can read; drawn, and kept there, where there is no such file
 * or others could read or change it. So an address stays good over restarts.
 *
 * @param path   [in] folders on the way are made; a link there is replaced, not followed
 * @param fresh  [in] draw them in any case: addresses given out before are then worth nothing
 *
 * Errors: RGM_ERR_IO (it cannot be kept: *out is drawn all the same), RGM_ERR_NOMEM.
 */
rgm_status rgm_web_secrets_load(rgm_web_secrets *out, const char *path, bool fresh);

/**
 * Those of a file of the user's own: the token in its first line, 32 hexadecimal digits
 * (`openssl rand -hex 16`); what browsers keep in the second, else it follows from the token.
 *
 * Errors: RGM_ERR_NOT_FOUND (there is no such file), RGM_ERR_ARG (others can read or write it, it
 * is a link, or has no token), RGM_ERR_IO.
 */
rgm_status rgm_web_secrets_read(rgm_web_secrets *out, const char *path);
/** Of the same kind of file the first line alone, whatever it has: another server's token. Errors:
 * those of rgm_web_secrets_read(). */
enum { RGM_WEB_TOKEN = 65 };
rgm_status rgm_web_token_read(char out[RGM_WEB_TOKEN], const char *path);

typedef struct rgm_web_options {
    /** [folder_count] run folders, folders of run folders (4 levels deep), folders of masters (with
     * master.db). One that is not there yet is shown once it is, if the folder above it is there.
     */
    const char *const *folders;
    int64_t folder_count;
    const char *master; /* "http://HOST:PORT", with the token of $REGIMEN_TOKEN; NULL: those of the
                           folders alone                                                     */
    const char *listen; /* "127.0.0.1:6006"; port 0: any that is free; NULL: 127.0.0.1:6006   */
    bool allow_remote;  /* an address that others can reach: refused without                  */
    bool read_only;     /* nothing is steered; so it is at an address for others ...          */
    bool allow_control; /* ... without this                                                   */
    const rgm_web_secrets *secrets;    /* NULL: drawn for this server alone                     */
    const rgm_search_subject *subject; /* as in rgm_master_options, for the masters that the page
                                          opens to ask them; borrowed                        */
} rgm_web_options;

/**
 * Listen; nothing is answered before rgm_web_serve().
 *
 * @param options  [in] copied; NULL: the defaults, of no folders
 *
 * Errors: RGM_ERR_ARG (no address in numbers; one that others can reach, without allow_remote),
 * RGM_ERR_BUSY (another program listens there), RGM_ERR_NOT_FOUND (no such folder), RGM_ERR_IO,
 * RGM_ERR_NOMEM; *out is then NULL.
 */
rgm_status rgm_web_open(rgm_web **out, const rgm_web_options *options);
/** The address with the token. Valid as long as `web`. */
const char *rgm_web_address(const rgm_web *web);
/**
 * Answer requests until `done`, which is called ten times a second, returns true. Requests under
 * way are then still answered, and streams are closed; this takes less than a second.
 *
 * Errors: RGM_ERR_IO, RGM_ERR_NOMEM. Threads: one call at a time.
 */
rgm_status rgm_web_serve(rgm_web *web, bool (*done)(void *payload), void *payload);
/**
 * Answer a request as if it had come from the socket: its headers decide whether it is allowed.
 *
 * @param out  [out] cleared with rgm_response_clear()
 *
 * Threads: any, several at once.
 */
void rgm_web_handle(rgm_response *out, rgm_web *web, const rgm_request *request);
void rgm_web_close(rgm_web *web);

#ifdef __cplusplus
}
#endif
#endif
