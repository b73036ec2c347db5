/*
 * Asking a master by HTTP, and the answer as it comes.
 */
#ifndef RGM_MASTER_CLIENT_H
#define RGM_MASTER_CLIENT_H

#include <regimen/master.h>

/**
 * Ask the master that is at work, never one of one's own. *served tells whether somebody answered;
 * if not, RGM_ERR_IO, and the request was not, or not surely, taken.
 */
rgm_status rgmi_client_ask(rgm_response *out, bool *served, rgm_client *client, const char *method,
                           const char *path, const char *body);
/** As rgm_client_open() of a URL, with this token; NULL: that of $REGIMEN_TOKEN. */
rgm_status rgmi_client_open_url(rgm_client **out, const char *url, const char *token);
/** The error that an answer is, RGM_OK of one that is none. */
rgm_status rgmi_response_status(const rgm_response *response);

/* ---- connect.c ------------------------------------------------------------------------------ */

/** A client of the master of a folder: by its socket on its own host, by TCP with the folder's
 * token on others. Errors: RGM_ERR_IO (it does not listen for others), those of
 * rgm_client_open(). */
rgm_status rgmi_address_connect(rgm_client **out, const char *folder);

#endif
