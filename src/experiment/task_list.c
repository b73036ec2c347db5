/*
 * The one list of tasks, beside those on graphs, that an experiment file can name.
 */
#include <string.h>

#include <regimen/experiment.h>
#include <regimen/translation.h>

static const rgm_task_type *const types[] = {
    &rgm_record_classification,
    &rgm_translation,
};

const rgm_task_type *const *rgm_task_types(int64_t *count)
{
    *count = sizeof types / sizeof *types;
    return types;
}

const rgm_task_type *rgm_task_find(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i]->name, name) == 0)
            return types[i];
    return NULL;
}
