/*
 * Serving graphs of hooks: at every checkpoint one file for each receiver, of predictions
 * that need no labels.
 */
#include <stdio.h>
#include <string.h>

#include "hooks.h"

/* ---- what a prediction needs ----------------------------------------------------------------- */

typedef struct walk {
    rgm_map *seen;
    const rgm_value **open;
    int64_t count, capacity;
} walk;

static rgm_status visit(walk *w, const rgm_value *value)
{
    char key[32];

    snprintf(key, sizeof key, "%p", (const void *)value);
    if (value == NULL || rgm_map_has(w->seen, key))
        return RGM_OK;
    RGM_TRY(rgm_map_set(w->seen, key, w));
    RGM_TRY(RGM_RESERVE(w->open, w->capacity, w->count + 1));
    w->open[w->count++] = value;
    return RGM_OK;
}

/* What a value is made of outside of training. */
static rgm_status visit_inputs(walk *w, const rgm_value *value)
{
    const rgm_op_type *op = rgm_value_op(value);
    bool branches = op != NULL && strcmp(op->name, "when_training") == 0;

    for (int i = branches ? 1 : 0; op != NULL && i < rgm_value_input_count(value); i++)
        RGM_TRY(visit(w, rgm_value_input(value, i)));
    return RGM_OK;
}

rgm_status rgmi_hooks_check_prediction(const rgmi_hooks_task *task, const rgmi_output *output)
{
    rgm_status status = RGM_OK;
    walk w = {0};

    RGM_GO(rgm_map_create(&w.seen));
    RGM_GO(visit(&w, output->value));
    while (w.count > 0) {
        const rgm_value *value = w.open[--w.count];

        for (int64_t i = task->form.count - task->label_count; i < task->form.count; i++)
            if (value == task->inputs[i])
                RGM_GO(RGM_FAIL(RGM_ERR_CONFIG,
                                "the prediction '%s' is made of the label '%s', which nobody has "
                                "when it is asked for",
                                output->name, task->names[i]));
        RGM_GO(visit_inputs(&w, value));
    }
done:
    rgm_map_release(w.seen);
    rgm_free(w.open);
    return status;
}

/* ---- receivers ------------------------------------------------------------------------------- */

typedef struct serving {
    rgm_export_output outputs[RGMI_MAX_OUTPUTS];
    int64_t count;
} serving;

static void add(serving *s, const rgmi_output *output)
{
    s->outputs[s->count++] =
        (rgm_export_output){.name = output->name, .value = output->value, .kind = output->kind};
}

static rgm_status unknown(const rgmi_hooks_task *task, const char *receiver, const char *name)
{
    const char *names[RGMI_MAX_OUTPUTS];
    int64_t count = 0;

    for (int64_t i = 0; i < task->outputs.count; i++)
        if (task->outputs.items[i].is_prediction)
            names[count++] = task->outputs.items[i].name;
    return RGM_FAIL(RGM_ERR_CONFIG, "receiver '%s': there is no prediction '%s'%s", receiver, name,
                    rgm_did_you_mean(name, names, count, NULL, "there are ").text);
}

static rgm_status outputs_of(serving *s, const rgmi_hooks_task *task, int64_t r)
{
    const rgm_serving_receiver *receiver = &task->receivers[r];
    int64_t named = 0;

    s->count = 0;
    while (named < RGM_MAX_HEADS && receiver->predictions[named] != NULL)
        named++;
    for (int64_t i = 0; i < task->outputs.count && named == 0; i++)
        if (task->outputs.items[i].is_prediction)
            add(s, &task->outputs.items[i]);
    for (int64_t k = 0; k < named; k++) {
        int64_t i = 0;

        while (i < task->outputs.count &&
               (!task->outputs.items[i].is_prediction ||
                strcmp(task->outputs.items[i].name, receiver->predictions[k]) != 0))
            i++;
        if (i == task->outputs.count)
            return unknown(task, receiver->name, receiver->predictions[k]);
        add(s, &task->outputs.items[i]);
    }
    return s->count > 0 ? RGM_OK
                        : RGM_FAIL(RGM_ERR_CONFIG,
                                   "receiver '%s' has nothing to give: rgm_output_prediction() "
                                   "says what is predicted",
                                   receiver->name);
}

rgm_status rgmi_hooks_export_check(rgmi_hooks_task *task, const rgm_open_run *run)
{
    const rgm_trainer *trainer = rgm_run_trainer(run);
    rgm_onnx_options options = {0};
    serving s;

    for (int64_t r = 0; r < task->receiver_count; r++) {
        RGM_TRY(outputs_of(&s, task, r));
        RGM_TRY(rgm_error_prefix(rgm_onnx_check(rgm_trainer_graph(trainer),
                                                rgm_trainer_parameters(trainer), s.outputs, s.count,
                                                &options),
                                 "receiver '%s'", task->receivers[r].name));
    }
    return RGM_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static rgm_status save_into(const char *folder, const rgmi_hooks_task *task,
                            const rgm_open_run *run, int64_t r)
{
    const rgm_trainer *trainer = rgm_run_trainer(run);
    rgm_onnx_options options = {.description = task->hooks->name};
    rgm_status status = RGM_OK;
    rgm_text signature = {0};
    char *model = NULL, *path = NULL;
    serving s;

    RGM_GO(outputs_of(&s, task, r));
    RGM_GO(rgm_path_join(&model, folder, "model.onnx"));
    RGM_GO(rgm_onnx_save(model, rgm_trainer_graph(trainer), rgm_trainer_parameters(trainer),
                         s.outputs, s.count, &options));
    RGM_GO(rgm_onnx_signature(&signature, "model.onnx", rgm_trainer_graph(trainer),
                              rgm_trainer_parameters(trainer), s.outputs, s.count, &options));
    RGM_GO(rgm_path_join(&path, folder, "signature.json"));
    RGM_GO(rgm_file_save_own(path, signature.data, signature.size));
    RGM_GO(rgm_folder_sync(folder));
done:
    rgm_text_clear(&signature);
    rgm_free(path);
    rgm_free(model);
    return status;
}

/* Written beside and given its name in one step: a folder of that name is whole. */
static rgm_status export_one(rgmi_hooks_task *task, const rgm_open_run *run, const char *folder,
                             int64_t r)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *made = NULL;

    RGM_GO(rgm_path_join(&path, folder, task->receivers[r].name));
    RGM_GO(rgm_strprintf(&made, "%s.partial", path));
    if (rgm_path_exists(made))
        RGM_GO(rgm_folder_remove(made));
    RGM_GO(rgm_folder_make(made));
    RGM_GO(save_into(made, task, run, r));
    RGM_GO(rgm_folder_publish(made, path));
    if (rgm_path_exists(made))
        RGM_GO(rgm_folder_remove(made));
done:
    rgm_free(made);
    rgm_free(path);
    return status;
}

rgm_status rgmi_hooks_export(rgmi_hooks_task *task, const rgm_open_run *run, const char *folder)
{
    for (int64_t r = 0; r < task->receiver_count; r++)
        RGM_TRY(rgm_error_prefix(export_one(task, run, folder, r), "receiver '%s'",
                                 task->receivers[r].name));
    return RGM_OK;
}

/* ---- of a run without a search -----------------------------------------------------------------
 */

static rgm_status save_receivers(const rgm_open_run *run, const char *folder, void *payload)
{
    return rgmi_hooks_export(payload, run, folder);
}

static rgm_status check_receivers(const rgm_open_run *run, void *payload)
{
    return rgmi_hooks_export_check(payload, run);
}

rgm_exporter rgmi_hooks_exporter(rgmi_hooks_task *task)
{
    return (rgm_exporter){
        .name = "receivers", .save = save_receivers, .check = check_receivers, .payload = task};
}
