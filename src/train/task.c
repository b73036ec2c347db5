/*
 * Shared by all tasks: names of the modes, metrics' view of a step, the files that travel with the
 * weights.
 */
#include <string.h>

#include <regimen/train.h>

const char *rgm_mode_name(rgm_mode mode)
{
    return rgm_split_names[mode];
}

int64_t rgm_task_model_outputs(const rgm_head **outputs, const rgm_task_model *model)
{
    *outputs = model->served != NULL ? model->served : model->heads;
    return model->served != NULL ? model->served_count : model->head_count;
}

rgm_status rgm_feed_tensors(rgm_feed *feeds, int64_t capacity, int64_t *count,
                            rgm_value *const *inputs, int64_t input_count, rgm_element *batch)
{
    if (capacity < input_count)
        return RGM_FAIL(RGM_ERR_ARG, "room for %lld feeds, %lld are needed", (long long)capacity,
                        (long long)input_count);
    *count = 0;
    for (int64_t i = 0; i < input_count; i++)
        if (inputs[i] != NULL)
            feeds[(*count)++] =
                (rgm_feed){.input = inputs[i], .tensor = rgm_element_tensor(batch, i)};
    return RGM_OK;
}

void rgm_metrics_update(double *const *states, const rgm_task_metric *metrics, int64_t count,
                        const rgm_step *step)
{
    for (int64_t i = 0; i < count; i++) {
        int64_t head = metrics[i].head;
        rgm_metric_batch batch = {.predictions = step->predictions[head],
                                  .labels = step->labels[head],
                                  .weights = step->weights[head],
                                  .lists = step->lists[head]};

        if (batch.predictions != NULL &&
            (batch.labels != NULL || metrics[i].metric.type->of_states))
            metrics[i].metric.type->update(states[i], &metrics[i].metric, &batch);
    }
}

/* ---- files --------------------------------------------------------------------------------- */

typedef rgm_status file_visitor(const rgm_task_file *file, const char *path, const char *folder);

static rgm_status visit_files(const rgm_task *task, const char *folder, file_visitor *visit)
{
    rgm_task_file files[RGM_MAX_TASK_FILES];
    int64_t count = 0;

    if (task->files != NULL)
        task->files(files, &count, task->state);
    for (int64_t i = 0; i < count; i++) {
        rgm_status status;
        char *path;

        RGM_TRY(rgm_path_join(&path, folder, files[i].name));
        status = visit(&files[i], path, folder);
        rgm_free(path);
        RGM_TRY(status);
    }
    return RGM_OK;
}

/* *kept: bytes of the existing file, -1 when there is none. */
static rgm_status compare(bool *same, int64_t *kept, const rgm_task_file *file, const char *path)
{
    rgm_mapped_file map;

    *same = false;
    *kept = -1;
    if (!rgm_path_exists(path))
        return RGM_OK;
    RGM_TRY(rgm_file_map(&map, path));
    *kept = map.size;
    *same = map.size == file->size &&
            (map.size == 0 || memcmp(map.data, file->data, (size_t)map.size) == 0);
    rgm_file_unmap(&map);
    return RGM_OK;
}

static rgm_status save_file(const rgm_task_file *file, const char *path, const char *folder)
{
    bool same;
    int64_t kept;

    (void)folder;
    RGM_TRY(compare(&same, &kept, file, path));
    return same ? RGM_OK : rgm_file_save_own(path, file->data, file->size);
}

static rgm_status check_file(const rgm_task_file *file, const char *path, const char *folder)
{
    bool same;
    int64_t kept;

    RGM_TRY(compare(&same, &kept, file, path));
    if (same || kept < 0 || file->may_differ)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s was begun with another %s (%lld bytes) than now (%s, %lld bytes), with "
                    "which its weights "
                    "mean nothing. Put the old one back, %s is a copy, or take another run folder",
                    folder, file->name, (long long)kept, file->origin, (long long)file->size, path);
}

rgm_status rgm_task_files_save(const rgm_task *task, const char *folder)
{
    return visit_files(task, folder, save_file);
}

rgm_status rgm_task_files_check(const rgm_task *task, const char *folder)
{
    return visit_files(task, folder, check_file);
}

/* ---- types --------------------------------------------------------------------------------- */

rgm_status rgm_task_type_check_privacy(const rgm_task_type *type, const rgm_privacy *privacy)
{
    if (privacy->clipping_norm > 0 && type != NULL && type->no_privacy != NULL)
        return RGM_FAIL(RGM_ERR_CONFIG, "trainer.privacy: no privacy for a %s: %s", type->name,
                        type->no_privacy);
    return RGM_OK;
}

void rgm_task_release(rgm_task *task)
{
    if (task->type != NULL)
        task->type->release(task);
    *task = (rgm_task){0};
}

rgm_status rgm_task_state(void **state, const rgm_task *task, const rgm_task_type *type)
{
    *state = task->type == type ? task->state : NULL;
    if (task->type == type)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "task '%s' is no %s", task->name, type->name);
}
