/* Where the token of a server is kept over its restarts: a file of the user's for each address. */
#include <stdlib.h>
#include <string.h>

#include "token_place.h"

rgm_status token_place(char **path, const char *verb, const char *listen)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool named = state != NULL && state[0] == '/';
    const char *port = strrchr(listen, ':');
    char *name = NULL;
    rgm_status status = RGM_OK;

    *path = NULL;
    if (port == NULL || strcmp(port, ":0") == 0 || (!named && (home == NULL || home[0] != '/')))
        return RGM_OK;
    RGM_GO(rgm_strdup(&name, listen));
    for (char *at = name; (at = strpbrk(at, "/:[]")) != NULL;)
        *at = '-';
    status = named ? rgm_strprintf(path, "%s/regimen/%s-%s", state, verb, name)
                   : rgm_strprintf(path, "%s/.local/state/regimen/%s-%s", home, verb, name);
done:
    rgm_free(name);
    return status;
}
