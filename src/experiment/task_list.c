/*
 * The one place that knows every branch: the task types that an experiment file can name.
 */
#include <regimen/experiment.h>
#include <regimen/graph_tasks.h>
#include <regimen/language.h>
#include <regimen/record.h>
#include <regimen/translation.h>

static const rgm_task_type *const types[] = {
    &rgm_graph_learning,
    &rgm_record_classification,
    &rgm_translation,
    &rgm_language_model,
};

const rgm_task_type *const *rgm_task_types(int64_t *count)
{
    *count = sizeof types / sizeof *types;
    return types;
}
