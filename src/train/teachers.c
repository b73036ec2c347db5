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

static void release(rgm_trained_model *model)
{
    if (model->release != NULL)
        model->release(model->owner);
    *model = (rgm_trained_model){0};
}

rgm_status rgm_teachers_release(rgm_teachers *teachers, rgm_status status)
{
    rgm_error error;

    if (status < 0)
        rgm_error_save(&error, status);
    for (int64_t i = 0; i < teachers->count; i++)
        release(&teachers->models[i]);
    teachers->count = 0;
    return status < 0 ? rgm_error_restore(&error) : status;
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
    release(out);
    return RGM_FAIL(RGM_ERR_CONFIG, "it is no %s", type->name);
}

rgm_status rgm_teachers_open(rgm_teachers *out, const rgm_distillation_options *options,
                             const rgm_task_setup *setup, const rgm_task_type *type)
{
    *out = (rgm_teachers){.count = 0};
    if (setup->trained)
        return RGM_OK;
    if (options->teacher.count > RGM_MOST_TEACHERS)
        return RGM_FAIL(RGM_ERR_CONFIG, "task.distillation.teacher: %lld of them; at most %d",
                        (long long)options->teacher.count, RGM_MOST_TEACHERS);
    for (; out->count < options->teacher.count; out->count++) {
        const char *folder = options->teacher.items[out->count];
        rgm_status status = open_teacher(&out->models[out->count], folder, setup, type);

        if (status != RGM_OK)
            return rgm_error_prefix(rgm_teachers_release(out, status),
                                    "task.distillation.teacher %s", folder);
    }
    return RGM_OK;
}
