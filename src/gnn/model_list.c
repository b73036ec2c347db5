/*
 * The one list of models that an experiment file can name.
 */
#include "gnn_internal.h"

static const rgm_model_type *const models[] = {
    &rgmi_gcn_model,
    &rgmi_gat_model,
    &rgmi_sage_model,
    &rgmi_mpnn_model,
};

const rgm_model_type *const *rgm_model_types(int64_t *count)
{
    *count = (int64_t)(sizeof models / sizeof *models);
    return models;
}

const rgm_model_type *rgm_model_find(const char *name)
{
    for (size_t i = 0; name != NULL && i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i]->name, name) == 0)
            return models[i];
    return NULL;
}
