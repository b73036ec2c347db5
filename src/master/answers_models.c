/*
 * The registry in the master's folder: models with their versions.
 */
#include "requests.h"

#include <regimen/registry.h>

static rgm_status print_version(rgm_json_writer *w, const rgm_model_version *v)
{
    int64_t bytes = 0;
    rgm_text time = {0};
    rgm_status status;

    for (int64_t i = 0; i < v->file_count; i++)
        bytes += v->files[i].size;
    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_TRY(rgm_json_write_int(w, "version", v->number));
    RGM_TRY(rgm_json_write_text(w, "stage", rgm_model_stage_names[v->stage]));
    status = rgmi_print_time(&time, v->created);
    if (status == RGM_OK)
        status = rgm_json_write_printed(w, "time", time.data);
    rgm_text_clear(&time);
    RGM_TRY(status);
    RGM_TRY(rgm_json_write_text(w, "source", v->source));
    RGM_TRY(rgm_json_write_text(w, "note", v->note));
    RGM_TRY(rgm_json_write_int(w, "files", v->file_count));
    RGM_TRY(rgm_json_write_int(w, "bytes", bytes));
    RGM_TRY(rgm_json_open_object(w, "metrics", RGM_JSON_SPACED));
    for (int64_t i = 0; i < v->metric_count; i++)
        RGM_TRY(rgm_json_write_number(w, v->metrics[i].name, v->metrics[i].value));
    RGM_TRY(rgm_json_close(w));
    return rgm_json_close(w);
}

static rgm_status print_model(rgm_json_writer *w, const char *registry, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_model model = {0};

    RGM_TRY(rgm_model_load(&model, registry, name));
    RGM_GO(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_write_text(w, "name", name));
    RGM_GO(rgm_json_open_list(w, "versions", RGM_JSON_SPACED));
    for (int64_t i = 0; i < model.count; i++)
        RGM_GO(print_version(w, &model.versions[i]));
    RGM_GO(rgm_json_close(w));
    RGM_GO(rgm_json_close(w));
done:
    rgm_model_clear(&model);
    return status;
}

rgm_status rgmi_answer_models(rgmi_call *call)
{
    rgm_json_writer w = {.out = call->out};
    int64_t count = 0, limit, offset;
    rgm_status status = RGM_OK;
    char *registry = NULL, **names = NULL;

    RGM_GO(rgmi_call_page(&limit, &offset, call));
    RGM_GO(rgm_path_join(&registry, call->master->options.folder, "registry"));
    RGM_GO(rgm_registry_names(&names, &count, registry));
    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_SPACED));
    RGM_GO(rgm_json_open_list(&w, "models", RGM_JSON_SPACED));
    for (int64_t i = offset; i < count && i - offset < limit; i++)
        RGM_GO(print_model(&w, registry, names[i]));
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_json_write_int(&w, "offset", offset));
    RGM_GO(rgm_json_write_int(&w, "limit", limit));
    RGM_GO(rgm_json_write_int(&w, "total", count));
    RGM_GO(rgm_json_close(&w));
done:
    rgm_names_release(names, count);
    rgm_free(registry);
    return status;
}
