/*
 * What the files of registry share among themselves.
 */
#ifndef RGM_REGISTRY_INTERNAL_H
#define RGM_REGISTRY_INTERNAL_H

#include <regimen/registry.h>

/** Files of a version, bytes of model.json. */
enum { RGMI_MOST_FILES = 100000, RGMI_MOST_MODEL_BYTES = 64 << 20 };

/** RGM_ERR_ARG: no model or template can have this name. */
rgm_status rgmi_model_check_name(const char *name);
/** Whether a file of a version may have this name: a path below a folder that cannot lead out of
 * it. */
bool rgmi_model_is_inner(const char *name);
/** <registry>/models/<name>/<last>; last NULL: the name's folder. rgm_free() it. */
rgm_status rgmi_model_place(char **out, const char *registry, const char *name, const char *last);
/** The folder of a version; rgm_free() it. */
rgm_status rgmi_model_folder(char **out, const char *registry, const char *name, int64_t number);

/** model.json to a model. `name` is the folder's. Errors: RGM_ERR_FORMAT, RGM_ERR_VERSION,
 * RGM_ERR_NOMEM. */
rgm_status rgmi_model_parse(rgm_model *out, const char *data, int64_t size, const char *path,
                            const char *name);
rgm_status rgmi_model_print(rgm_text *out, const rgm_model *model);
/** What one version holds. */
void rgmi_model_version_clear(rgm_model_version *version);
/** The version with a number; NULL: there is none. */
rgm_model_version *rgmi_model_version_at(const rgm_model *model, int64_t number);

#endif
