/*
 * Who is let in: functions of a request's headers alone, so that a table can test them.
 */
#ifndef RGM_WEB_GATE_H
#define RGM_WEB_GATE_H

#include <regimen/web.h>

typedef struct rgmi_gate {
    char address[64]; /* where it listens: "127.0.0.1:6006"                         */
    int port;
    bool is_any; /* ... at all addresses: any in numbers is ours               */
    bool read_only;
    rgm_web_secrets secrets; /* the token: of the address, and of scripts; the session: of the
                                cookie                                                       */
    char cookie[24];         /* its name: "regimen_6006"                                     */
} rgmi_gate;

/** For an address of rgm_http_address(); `secrets` NULL: drawn. Errors: RGM_ERR_IO. */
rgm_status rgmi_gate_open(rgmi_gate *gate, const char *address, int port,
                          const rgm_web_secrets *secrets);
/**
 * Whether a request may be answered: its host is ours (a name that was bound to our address is
 * not), it comes from our own page or a script with the token, and nothing is changed where
 * nothing may be.
 *
 * @param out      [out] false: the answer
 * @param is_page  [in] the path is a page's: the token may stand in it, and is exchanged for the
 *                      cookie
 */
bool rgmi_gate_admit(rgm_response *out, const rgmi_gate *gate, const rgm_request *request,
                     bool is_page);
/** Headers of every answer. */
extern const rgm_header rgmi_gate_headers[];
extern const int64_t rgmi_gate_header_count;

#endif
