/*
 * The named experiments: rows that the build makes from configs/.
 */
#include "named.h"

#include <string.h>

const rgm_named_experiment *rgm_named_experiments(int64_t *count)
{
    *count = rgmi_named_experiment_count;
    return rgmi_named_experiments;
}

const rgm_named_experiment *rgm_named_experiment_find(const char *name)
{
    for (int64_t i = 0; i < rgmi_named_experiment_count; i++)
        if (strcmp(rgmi_named_experiments[i].name, name) == 0)
            return &rgmi_named_experiments[i];
    return NULL;
}
