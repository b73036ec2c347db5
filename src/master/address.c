/*
 * Where jobs on other hosts find their master: a file of its folder, which they share. A Unix
 * socket is of one host, though its file is seen by all.
 */
#include "master_internal.h"

#include <regimen/http_client.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 ||
           strcmp(host, "localhost") == 0;
}

static bool is_any(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

rgm_status rgmi_address_url(char **out, const rgm_master *master)
{
    const char *to = master->options.listen, *colon = to != NULL ? strrchr(to, ':') : NULL;
    char host[256], own[256] = "";

    *out = NULL;
    if (colon == NULL || (size_t)(colon - to) >= sizeof host)
        return RGM_OK;
    snprintf(host, sizeof host, "%.*s", (int)(colon - to), to);
    if (is_loopback(host))
        return RGM_OK;
    gethostname(own, sizeof own - 1);
    if (is_any(host))
        return rgm_strprintf(out, "http://%s%s", own, colon);
    return rgm_strprintf(out, strchr(host, ':') != NULL ? "http://[%s]%s" : "http://%s%s", host,
                         colon);
}

rgm_status rgmi_address_write(const rgm_master *master)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *url = NULL, host[256] = "?";
    rgm_text text = {0};

    gethostname(host, sizeof host - 1);
    RGM_GO(rgmi_address_url(&url, master));
    RGM_GO(rgm_path_join(&path, master->options.folder, RGM_SERVICE_ADDRESS));
    RGM_GO(rgm_text_printf(&text, "%s\n%s\n", host, url != NULL ? url : ""));
    RGM_GO(rgm_file_save(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    rgm_free(url);
    return status;
}
