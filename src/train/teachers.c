/*
 * Models that were trained before and teach another one.
 */
#include <regimen/train_teachers.h>

#define RGM_OPTIONS rgm_distillation_options
const rgm_field rgm_distillation_fields[] = {
    RGM_TEXTS_FIELD(teacher, "folder of a run or an export with the same tokenizers, or several: "
                             "training also follows the mean of their distributions"),
    RGM_FLOAT_FIELD(weight, 0, 1, "of the teacher's part of the loss; the labels have the rest"),
    RGM_FLOAT_FIELD(temperature, RGM_ABOVE_0, 1e6,
                    "logits of both are divided by it before they are compared"),
    {0}};
#undef RGM_OPTIONS

void rgm_trained_models_release(rgm_trained_model *models, int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        if (models[i].release != NULL)
            models[i].release(models[i].owner);
        models[i] = (rgm_trained_model){0};
    }
}

static rgm_status open_teacher(rgm_trained_model *out, const char *folder,
                               const rgm_task_setup *setup, const rgm_task_type *type)
{
    if (setup->open_model == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "nobody opens trained models here");
    RGM_TRY(setup->open_model(out, folder));
    out->name = folder;
    if (out->task->type == type)
        return RGM_OK;
    rgm_trained_models_release(out, 1);
    return RGM_FAIL(RGM_ERR_CONFIG, "it is no %s", type->name);
}

rgm_status rgm_teachers_open(rgm_trained_model *out, int64_t *count,
                             const rgm_distillation_options *options, const rgm_task_setup *setup,
                             const rgm_task_type *type)
{
    *count = 0;
    if (options->teacher.count > RGM_MOST_TEACHERS)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.distillation.teacher: %lld of them; at most %d",
                        (long long)options->teacher.count, RGM_MOST_TEACHERS);
    for (int64_t i = 0; i < options->teacher.count; i++) {
        const char *folder = options->teacher.items[i];
        rgm_status status = open_teacher(&out[i], folder, setup, type);

        if (status != RGM_OK) {
            rgm_error error;

            rgm_error_save(&error, status);
            rgm_trained_models_release(out, *count);
            *count = 0;
            return rgm_error_prefix(rgm_error_restore(&error), "task.distillation.teacher %s",
                                    folder);
        }
        ++*count;
    }
    return RGM_OK;
}
