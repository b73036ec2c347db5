/*
 * The page's files. A browser keeps them and asks each time whether they are still the same.
 */
#include "assets.h"
#include "web_internal.h"

#include <string.h>

static bool is_kept(const rgm_request *request, const char *tag)
{
    const char *header = rgm_request_header(request, "If-None-Match");

    return header != NULL && (strcmp(header, "*") == 0 || strstr(header, tag) != NULL);
}

static rgm_status show(rgmi_web_call *call, const char *name)
{
    const rgmi_asset *asset = rgmi_assets;

    while (asset->name != NULL && strcmp(asset->name, name) != 0)
        asset++;
    if (asset->name == NULL)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "the page has no file %s", name);
    RGM_TRY(rgm_response_add_header(call->out, "ETag", asset->tag));
    RGM_TRY(rgm_response_add_header(call->out, "Cache-Control", "no-cache"));
    call->out->type = asset->type;
    if (is_kept(call->request, asset->tag)) {
        call->out->status = 304;
        return RGM_OK;
    }
    call->out->constant = asset->data;
    call->out->constant_size = (int64_t)asset->size;
    return RGM_OK;
}

/* The same frame for each page, but for the modules that it asks for before its script does. */
rgm_status rgmi_show_index(rgmi_web_call *call)
{
    static const char *const pages[][2] = {{"/compare", "index_compare.html"},
                                           {"/runs/", "index_run.html"},
                                           {"/experiments/", "index_experiment.html"},
                                           {"/cluster", "index_cluster.html"}};

    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (strncmp(call->target.path, pages[i][0], strlen(pages[i][0])) == 0)
            return show(call, pages[i][1]);
    return show(call, "index_runs.html");
}

rgm_status rgmi_show_asset(rgmi_web_call *call)
{
    return show(call, call->values.name);
}
