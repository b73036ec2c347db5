/*
 * Where the service of a folder is found: by its socket on the same host, by TCP from others.
 */
#include <regimen/http_client.h>

#include <string.h>
#include <unistd.h>

enum { FILE_LIMIT = 4096 };

/* The first line of a file, and the rest behind it. */
static rgm_status load_lines(char **line, char **rest, const char *folder, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL;
    int64_t size;

    *line = NULL;
    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(rgm_file_load(line, &size, path, FILE_LIMIT));
    *rest = *line + strcspn(*line, "\n");
    if (**rest != 0)
        *(*rest)++ = 0;
    (*rest)[strcspn(*rest, "\n")] = 0;
done:
    rgm_free(path);
    return status;
}

rgm_status rgm_http_client_find(rgm_http_client **out, const char *folder)
{
    rgm_status status = RGM_OK;
    char *host = NULL, *url, *token = NULL, *rest, own[256] = "?";

    *out = NULL;
    gethostname(own, sizeof own - 1);
    status = load_lines(&host, &url, folder, RGM_SERVICE_ADDRESS);
    if (status == RGM_ERR_NOMEM)
        return status;
    if (status != RGM_OK || strcmp(host, own) == 0) {
        rgm_error_reset();
        status = rgm_http_client_open_folder(out, folder);
        goto done;
    }
    if (url[0] == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_IO,
                        "the master of '%s' is at work on %s and this is %s: it must be started "
                        "with --listen HOST:PORT for trials to reach it",
                        folder, host, own));
    RGM_GO(load_lines(&token, &rest, folder, RGM_SERVICE_TOKEN));
    RGM_GO(rgm_http_client_open_url(out, url, token));
done:
    rgm_free(host);
    rgm_free(token);
    return status;
}
