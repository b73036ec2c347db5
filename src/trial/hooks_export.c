/*
 * Serving graphs of hooks: in every checkpoint a folder for each receiver, of predictions that need
 * no labels.
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

rgm_status rgmi_hooks_needs(bool needed[RGMI_MAX_TENSORS], const rgmi_hooks_task *task,
                            const rgmi_output *output)
{
    rgm_status status = RGM_OK;
    walk w = {0};

    RGM_GO(rgm_map_create(&w.seen));
    RGM_GO(visit(&w, output->value));
    while (w.count > 0) {
        const rgm_value *value = w.open[--w.count];

        for (int64_t i = 0; i < task->form.count; i++)
            needed[i] |= value == task->inputs[i];
        RGM_GO(visit_inputs(&w, value));
    }
done:
    rgm_map_release(w.seen);
    rgm_free(w.open);
    return status;
}

rgm_status rgmi_hooks_check_prediction(const rgmi_hooks_task *task, const rgmi_output *output)
{
    bool needed[RGMI_MAX_TENSORS] = {false};

    RGM_TRY(rgmi_hooks_needs(needed, task, output));
    for (int64_t i = task->form.count - task->label_count; i < task->form.count; i++)
        if (needed[i])
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "the prediction '%s' is made of the label '%s', which nobody has "
                            "when it is asked for",
                            output->name, task->names[i]);
    return RGM_OK;
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

/* ---- formats --------------------------------------------------------------------------------- */

rgm_status rgmi_hooks_take_formats(rgmi_hooks_task *task, rgm_run_options *options)
{
    static const char *const names[] = {"onnx", "saved_model"};
    rgm_texts *formats = &options->trainer.checkpoint.exports;

    task->writes_onnx = formats->count == 0;
    if (task->receiver_count == 0) /* its checkpoints are like those of any run */
        return RGM_OK;
    for (int64_t i = 0; i < formats->count; i++) {
        const char *name = formats->items[i];

        if (strcmp(name, names[0]) == 0)
            task->writes_onnx = true;
        else if (strcmp(name, names[1]) == 0)
            task->writes_saved_model = true;
        else
            return RGM_FAIL(RGM_ERR_CONFIG,
                            "trainer.checkpoint.exports: receivers are not written as '%s'%s", name,
                            rgm_did_you_mean(name, names, 2, NULL, "there are ").text);
    }
    *formats = (rgm_texts){0};
    return RGM_OK;
}

static bool is_saved_model(const rgmi_hooks_task *task, int64_t r)
{
    return task->writes_saved_model || task->receivers[r].features != NULL;
}

static rgm_status check_one(const rgmi_hooks_task *task, const rgm_open_run *run, int64_t r)
{
    const rgm_trainer *trainer = rgm_run_trainer(run);
    rgm_onnx_options options = {.parsed = task->receivers[r].features};
    serving s;

    RGM_TRY(outputs_of(&s, task, r));
    if (task->writes_onnx)
        RGM_TRY(rgm_onnx_check(rgm_trainer_graph(trainer), rgm_trainer_parameters(trainer),
                               s.outputs, s.count, &options));
    return is_saved_model(task, r)
               ? rgm_saved_model_check(rgm_trainer_graph(trainer), rgm_trainer_parameters(trainer),
                                       s.outputs, s.count, &options)
               : RGM_OK;
}

/* Before the first step. */
static rgm_status check_receivers(const rgm_open_run *run, void *payload)
{
    const rgmi_hooks_task *task = payload;

    for (int64_t r = 0; r < task->receiver_count; r++)
        RGM_TRY(
            rgm_error_prefix(check_one(task, run, r), "receiver '%s'", task->receivers[r].name));
    return RGM_OK;
}

/* ---- files ----------------------------------------------------------------------------------- */

static rgm_status save_text(const char *folder, const char *name, const rgm_text *text)
{
    char *path = NULL;
    rgm_status status = rgm_path_join(&path, folder, name);

    if (status == RGM_OK)
        status = rgm_file_save_own(path, text->data, text->size);
    rgm_free(path);
    return status;
}

/* What the export layer is told of a receiver's graph. */
typedef struct source {
    rgm_cgraph *graph;
    const rgm_parameters *parameters;
    serving serving;
    rgm_onnx_options options;
} source;

static rgm_status save_onnx(const char *folder, const source *s)
{
    char *path = NULL;
    rgm_status status = rgm_path_join(&path, folder, "model.onnx");

    if (status == RGM_OK)
        status = rgm_onnx_save(path, s->graph, s->parameters, s->serving.outputs, s->serving.count,
                               &s->options);
    rgm_free(path);
    return status;
}

/* For who makes requests: of tensors, and of serialized Examples if they are parsed. */
static rgm_status save_signatures(const char *folder, const source *s, const rgmi_hooks_task *task,
                                  int64_t r)
{
    rgm_status status = RGM_OK;
    rgm_text signature = {0}, features = {0};

    RGM_GO(rgm_onnx_signature(&signature, task->writes_onnx ? "model.onnx" : RGM_SAVED_MODEL_FILE,
                              s->graph, s->parameters, s->serving.outputs, s->serving.count,
                              &s->options));
    RGM_GO(save_text(folder, "signature.json", &signature));
    if (s->options.parsed == NULL)
        goto done;
    RGM_GO(rgmi_hooks_print_features(&features, task, &task->receivers[r]));
    RGM_GO(save_text(folder, "examples.json", &features));
done:
    rgm_text_clear(&features);
    rgm_text_clear(&signature);
    return status;
}

static rgm_status save_into(const char *folder, const rgmi_hooks_task *task,
                            const rgm_open_run *run, int64_t r)
{
    const rgm_trainer *trainer = rgm_run_trainer(run);
    source s = {
        .graph = rgm_trainer_graph(trainer),
        .parameters = rgm_trainer_parameters(trainer),
        .options = {.description = task->hooks->name, .parsed = task->receivers[r].features}};

    RGM_TRY(outputs_of(&s.serving, task, r));
    if (task->writes_onnx)
        RGM_TRY(save_onnx(folder, &s));
    if (is_saved_model(task, r))
        RGM_TRY(rgm_saved_model_save(folder, s.graph, s.parameters, s.serving.outputs,
                                     s.serving.count, &s.options));
    RGM_TRY(save_signatures(folder, &s, task, r));
    return rgm_folder_sync(folder);
}

/* Written beside and given its name in one step: a folder of that name is whole. */
static rgm_status export_one(const rgmi_hooks_task *task, const rgm_open_run *run,
                             const char *folder, int64_t r)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *made = NULL;
    rgm_error error;

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
    if (status != RGM_OK && made != NULL && rgm_path_exists(made)) { /* a full disk, say */
        rgm_error_save(&error, status);
        (void)rgm_folder_remove(made);
        status = rgm_error_restore(&error);
    }
    rgm_free(made);
    rgm_free(path);
    return status;
}

static rgm_status save_receivers(const rgm_open_run *run, const char *folder, void *payload)
{
    const rgmi_hooks_task *task = payload;

    for (int64_t r = 0; r < task->receiver_count; r++)
        RGM_TRY(rgm_error_prefix(export_one(task, run, folder, r), "receiver '%s'",
                                 task->receivers[r].name));
    return RGM_OK;
}

rgm_exporter rgmi_hooks_exporter(rgmi_hooks_task *task)
{
    return (rgm_exporter){
        .name = "receivers", .save = save_receivers, .check = check_receivers, .payload = task};
}
