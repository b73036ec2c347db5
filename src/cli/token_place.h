/* Where the token of a server is kept over its restarts. */
#ifndef RGM_CLI_TOKEN_PLACE_H
#define RGM_CLI_TOKEN_PLACE_H

#include <regimen/base.h>

/**
 * $XDG_STATE_HOME/regimen/serve-127.0.0.1-6006, or below ~/.local/state without it.
 *
 * @param path    [out] NULL: there is no such folder, or the port is another one at each start, and
 *                with it the address; rgm_free()
 * @param verb    [in] "serve"
 * @param listen  [in] "127.0.0.1:6006"
 */
rgm_status token_place(char **path, const char *verb, const char *listen);

#endif
