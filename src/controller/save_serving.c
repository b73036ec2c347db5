/*
 * Saves an export's files for predictors: the weights, the task's own files and, for a run with an
 * experiment file, its sections that define the model, without paths of this machine.
 */
#include <string.h>

#include "run_internal.h"

static bool makes_model(const char *section)
{
    static const char *const sections[] = {"task", "tasks", "model", NULL};

    for (int i = 0; sections[i] != NULL; i++)
        if (strcmp(section, sections[i]) == 0)
            return true;
    return false;
}

static rgm_status print_sections(rgm_text *out, const rgm_yaml_node *root)
{
    rgm_status status = RGM_OK;
    rgm_yaml_node part = *root;

    part.count = 0;
    RGM_TRY(RGM_NEW(part.items, root->count));
    for (int64_t i = 0; i < root->count; i++)
        if (makes_model(root->items[i]->key))
            part.items[part.count++] = root->items[i];
    status = rgm_yaml_print(out, &part);
    rgm_free(part.items);
    return status;
}

/* Teachers are folders of this machine, which only training reads. */
static void leave_teachers_out(rgm_yaml_node *root)
{
    rgm_yaml_node *task = rgm_yaml_find(root, "task");
    int64_t kept = 0;

    for (int64_t i = 0; task != NULL && i < task->count; i++)
        if (task->kind != RGM_YAML_MAP || strcmp(task->items[i]->key, "distillation") != 0)
            task->items[kept++] = task->items[i];
    if (task != NULL)
        task->count = kept;
}

static rgm_status save_model(const rgm_open_run *run, const char *folder, const rgm_text *data)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    rgm_text text = {0};
    char *path = NULL;
    const char *config = run->options.config;

    RGM_GO(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), "config"));
    leave_teachers_out(rgm_yaml_root(yaml));
    RGM_GO(rgm_text_printf(&text, "version: 1\n"));
    RGM_GO(print_sections(&text, rgm_yaml_root(yaml)));
    RGM_GO(rgm_text_printf(&text, data->size > 0 ? "data:\n%s" : "data: {}\n%s",
                           data->size > 0 ? data->data : ""));
    RGM_GO(rgm_path_join(&path, folder, RGM_SERVING_MODEL));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    rgm_yaml_release(yaml);
    return status;
}

/* What 8 bits change, measured on validation data, beside the weights. */
static rgm_status save_quality(const rgm_open_run *run, const char *folder)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    if (run->task.judge_int8 == NULL)
        return RGM_OK;
    RGM_GO(run->task.judge_int8(&text, rgm_trainer_parameters(run->trainer), run->task.state));
    RGM_GO(rgm_path_join(&path, folder, RGM_SERVING_QUALITY));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_save_serving(const rgm_open_run *run, const char *folder, bool int8)
{
    rgm_status status = RGM_OK;
    const rgm_parameters *trained = rgm_trainer_parameters(run->trainer);
    rgm_parameters *others = NULL;
    rgm_text data = {0};

    RGM_GO(run->task.save_serving(&data, folder, run->task.state));
    if (run->task.serving_weights != NULL)
        RGM_GO(run->task.serving_weights(&others, trained, run->task.state));
    RGM_GO(rgmi_serving_weights_save(folder, others != NULL ? others : trained,
                                     int8 ? run->task.int8_axis : NULL));
    if (int8)
        RGM_GO(save_quality(run, folder));
    if (run->options.config != NULL)
        RGM_GO(save_model(run, folder, &data));
done:
    rgm_parameters_release(others);
    rgm_text_clear(&data);
    return status;
}
