/* The requests about one run: its folder is looked up by its id, the query becomes arguments. */
#include <string.h>

#include "tab.h"
#include "index.h"
#include "web_internal.h"

/* The run of the path, as a folder; rgm_free(*folder). */
static rgm_status folder_of(char **folder, rgmi_web_call *call)
{
    return rgmi_runs_folder(folder, call->web->runs, call->hex);
}

/* An answer that takes the folder alone. */
static rgm_status tell(rgmi_web_call *call, rgm_status (*told)(rgm_text *out, const char *folder))
{
    char *folder = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(folder_of(&folder, call));
    RGM_GO(told(&call->out->body, folder));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_show_run_config(rgmi_web_call *call)
{
    return tell(call, rgmi_tell_config);
}

rgm_status rgmi_show_run_checkpoints(rgmi_web_call *call)
{
    return tell(call, rgmi_tell_checkpoints);
}

rgm_status rgmi_show_run_exports(rgmi_web_call *call)
{
    return tell(call, rgmi_tell_exports);
}

rgm_status rgmi_show_run_system(rgmi_web_call *call)
{
    return tell(call, rgmi_tell_system);
}

rgm_status rgmi_show_run_model(rgmi_web_call *call)
{
    return tell(call, rgmi_tell_model);
}

rgm_status rgmi_show_run_profile(rgmi_web_call *call)
{
    char *folder = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_tell_profile(&call->out->body, folder, &call->web->profiles));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_show_run_scores(rgmi_web_call *call)
{
    return tell(call, rgmi_tell_scores);
}

rgm_status rgmi_show_run_logs(rgmi_web_call *call)
{
    const rgm_target *t = &call->target;
    rgmi_log_query query = {.file = rgm_target_value(t, "file", NULL),
                            .find = rgm_target_value(t, "q", NULL)};
    char *folder = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_target_int(&query.offset, t, "offset", 0, 0, INT64_MAX / 2));
    RGM_GO(rgm_target_int(&query.limit, t, "limit", 0, 1, RGMI_TOLD_TEXT));
    RGM_GO(rgm_target_int(&query.tail, t, "tail", 0, 1, INT64_MAX / 2));
    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_tell_logs(&call->out->body, folder, &query));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_show_run_histograms(rgmi_web_call *call)
{
    char *folder = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_tell_histograms(&call->out->body, folder, call->web->kept,
                                rgm_target_value(&call->target, "tag", NULL)));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_show_run_samples(rgmi_web_call *call)
{
    char *folder = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_tell_samples(&call->out->body, folder, call->web->kept));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_show_run_explanations(rgmi_web_call *call)
{
    char *folder = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_tell_explanations(&call->out->body, folder,
                                  rgm_target_value(&call->target, "name", NULL)));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_show_run_confusion(rgmi_web_call *call)
{
    const rgm_target *t = &call->target;
    char *folder = NULL;
    int64_t step;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_target_int(&step, t, "step", -1, 0, INT64_MAX));
    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_tell_confusion(&call->out->body, folder, call->web->kept,
                               rgm_target_value(t, "split", NULL),
                               rgm_target_value(t, "label", NULL), step));
done:
    rgm_free(folder);
    return status;
}

/* Sent from the file as it is read, and only ever to be saved. */
rgm_status rgmi_show_run_export(rgmi_web_call *call)
{
    rgmi_kept_file file = {.fd = -1};
    char *folder = NULL, *name = NULL, *disposition = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(folder_of(&folder, call));
    RGM_GO(rgmi_open_export(&file, &name, folder, call->id));
    RGM_GO(rgm_strprintf(&disposition, "attachment; filename=\"%s\"", name));
    RGM_GO(rgm_response_add_header(call->out, "Content-Disposition", disposition));
    call->out->type = "application/octet-stream";
    call->out->fd = file.fd;
    call->out->fd_size = file.size;
    file.fd = -1;
done:
    rgmi_kept_close(&file);
    rgm_free(folder);
    rgm_free(name);
    rgm_free(disposition);
    return status;
}
