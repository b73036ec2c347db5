/*
 * The list of optimizers. A new one is a file with a row, and a line here.
 */
#include "optim_internal.h"

#include <string.h>

static const rgm_optimizer_type *const types[] = {
    &rgmi_sgd_type,  &rgmi_adam_type,    &rgmi_adamw_type,   &rgmi_lamb_type,
    &rgmi_lars_type, &rgmi_rmsprop_type, &rgmi_adagrad_type, &rgmi_adafactor_type,
};

const rgm_optimizer_type *const *rgm_optimizer_types(int64_t *count)
{
    *count = (int64_t)(sizeof types / sizeof *types);
    return types;
}

const rgm_optimizer_type *rgm_optimizer_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    }
    return NULL;
}
