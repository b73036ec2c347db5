/*
 * A source: which format it has, whose model it is, and its tensors by name.
 */
#include <stdio.h>
#include <string.h>

#include "model_import_internal.h"

static const rgmi_import_format *const formats[] = {&rgmi_import_huggingface, &rgmi_import_npz,
                                                    NULL};

/* ---- whose model it is ----------------------------------------------------------------------- */

static rgm_status unknown_family(const rgmi_import_source *source, const char *type)
{
    rgm_status status = RGM_OK;
    rgm_text known = {0};
    const rgmi_import_family *const *f = source->format->families;

    for (; *f != NULL; f++)
        for (const char *const *t = (*f)->types; *t != NULL; t++)
            RGM_GO(rgm_text_printf(&known, "%s%s", known.size > 0 ? ", " : "", *t));
    status = RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s: model_type is %s%s%s: read here are %s",
                      source->config.name, type != NULL ? "\"" : "",
                      type != NULL ? type : "missing", type != NULL ? "\"" : "", known.data);
done:
    rgm_text_clear(&known);
    return status;
}

static rgm_status find_family(rgmi_import_source *source)
{
    const rgmi_import_family *const *f = source->format->families;
    const char *type;

    RGM_TRY(rgmi_import_text(&type, &source->config, "model_type"));
    for (; type != NULL && *f != NULL; f++)
        for (const char *const *t = (*f)->types; *t != NULL; t++)
            if (strcmp(*t, type) == 0) {
                source->family = *f;
                source->type = *t;
                return RGM_OK;
            }
    return unknown_family(source, type);
}

/* ---- opening --------------------------------------------------------------------------------- */

static rgm_status find_format(rgmi_import_source *source)
{
    for (int i = 0; formats[i] != NULL && source->format == NULL; i++)
        if (formats[i]->fits(source->path))
            source->format = formats[i];
    if (source->format != NULL)
        return RGM_OK;
    if (!rgm_path_exists(source->path))
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no %s", source->path);
    return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                    "%s is nothing that can be imported: a folder of Hugging Face has config.json "
                    "and model.safetensors, a model of Marian is a file .npz",
                    source->path);
}

rgm_status rgmi_import_source_open(rgmi_import_source *out, const char *path)
{
    rgm_status status = RGM_OK;

    *out = (rgmi_import_source){.path = path};
    RGM_GO(rgm_map_create(&out->by_name));
    RGM_GO(find_format(out));
    RGM_GO(out->format->open(out));
    RGM_GO(find_family(out));
done:
    if (status != RGM_OK)
        rgmi_import_source_close(out);
    return status;
}

void rgmi_import_source_close(rgmi_import_source *source)
{
    if (source->format != NULL)
        source->format->close(source);
    for (int64_t i = 0; i < source->count; i++)
        rgm_free(source->tensors[i].name);
    rgm_free(source->tensors);
    rgm_map_release(source->by_name);
    rgmi_import_config_clear(&source->config);
    rgm_free(source->folder);
    *source = (rgmi_import_source){0};
}
