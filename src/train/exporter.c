/*
 * The ONNX exporter: every head of a trained run in one file, or what the task writes itself, the
 * task's files beside it, and a check that another implementation (export's interpreter) computes
 * the same from it.
 */
#include <stdio.h>
#include <string.h>

#include "run_internal.h"

/* Every head by its name. */
static int64_t outputs_of(rgm_export_output outputs[RGM_MAX_HEADS], const rgm_open_run *run)
{
    const rgm_task_model *model = rgm_trainer_model(run->trainer);

    for (int64_t h = 0; h < model->head_count; h++)
        outputs[h] = (rgm_export_output){model->heads[h].name, model->heads[h].predictions};
    return model->head_count;
}

static rgm_status save_heads(const rgm_open_run *run, const char *path)
{
    rgm_export_output outputs[RGM_MAX_HEADS];
    int64_t count = outputs_of(outputs, run);
    char text[128];
    rgm_onnx_options options = {.description = text};

    snprintf(text, sizeof text, "%s trained by Regimen",
             run->task.network != NULL ? run->task.network : "network");
    return rgm_onnx_save(path, rgm_trainer_graph(run->trainer),
                         rgm_trainer_parameters(run->trainer), outputs, count, &options);
}

const char *rgm_run_onnx_file(const rgm_open_run *run)
{
    return run->task.exports != NULL ? run->task.exports->file : "model.onnx";
}

static rgm_status save_onnx(const rgm_open_run *run, const char *export_dir, void *payload)
{
    rgm_status status = RGM_OK;
    const rgm_task *task = &run->task;
    char *path = NULL;

    (void)payload;
    RGM_GO(rgm_path_join(&path, export_dir, rgm_run_onnx_file(run)));
    RGM_GO(rgm_task_files_save(task, export_dir)); /* what the task writes may speak of them */
    RGM_GO(task->exports != NULL
               ? task->exports->save(export_dir, rgm_trainer_parameters(run->trainer), task->state)
               : save_heads(run, path));
done:
    rgm_free(path);
    return status;
}

static rgm_status check_onnx(const rgm_open_run *run, void *payload)
{
    const rgm_task_export *own = run->task.exports;
    const rgm_parameters *parameters = rgm_trainer_parameters(run->trainer);
    rgm_export_output outputs[RGM_MAX_HEADS];

    (void)payload;
    if (own != NULL)
        return own->check != NULL ? own->check(parameters, run->task.state) : RGM_OK;
    return rgm_onnx_check(rgm_trainer_graph(run->trainer), parameters, outputs,
                          outputs_of(outputs, run));
}

rgm_exporter rgm_onnx_exporter(void)
{
    return (rgm_exporter){.name = "onnx", .save = save_onnx, .check = check_onnx};
}

/* ---- verification -------------------------------------------------------------------------- */

typedef struct comparison {
    const rgm_open_run *run;
    rgm_onnx_model *model;
    int64_t head, output, batches, max_batches;
    rgm_export_check *check;
} comparison;

static rgm_status run_onnx(rgm_tensor **out, comparison *c, const rgm_feed *feeds,
                           int64_t feed_count)
{
    rgm_status status = RGM_OK;
    rgm_named_tensor *inputs = NULL;
    rgm_tensor **outputs = NULL;
    int64_t input_count = 0, output_count = rgm_onnx_output_count(c->model);

    RGM_GO(RGM_NEW(outputs, output_count));
    RGM_GO(rgm_onnx_inputs(&inputs, &input_count, feeds, feed_count));
    RGM_GO(rgm_onnx_run(outputs, c->model, inputs, input_count));
    *out = outputs[c->output];
    outputs[c->output] = NULL;
done:
    rgm_onnx_inputs_release(inputs, input_count);
    for (int64_t i = 0; outputs != NULL && i < output_count; i++)
        rgm_tensor_release(outputs[i]);
    rgm_free(outputs);
    return status;
}

static rgm_status compare_batch(const rgm_prediction *p, void *payload)
{
    comparison *c = payload;
    rgm_tensor *theirs = NULL;
    rgm_status status;

    if (c->batches++ >= c->max_batches)
        return RGM_END;
    RGM_TRY(run_onnx(&theirs, c, p->feeds, p->feed_count));
    status = rgm_export_compare(c->check, theirs, p->values);
    c->check->items += rgm_tensor_rank(p->values) > 0 ? rgm_tensor_dim(p->values, 0) : 1;
    rgm_tensor_release(theirs);
    return status;
}

static rgm_status verify_heads(rgm_export_check *check, const rgm_open_run *run, const char *path,
                               rgm_mode mode, int64_t max_batches)
{
    rgm_status status = RGM_OK;
    const rgm_task_model *model = rgm_trainer_model(run->trainer);
    comparison c = {.run = run, .max_batches = max_batches, .check = check};

    RGM_GO(rgm_onnx_open(&c.model, path));
    for (c.head = 0; c.head < model->head_count; c.head++) {
        c.output = -1;
        for (int64_t i = 0; i < rgm_onnx_output_count(c.model); i++)
            if (strcmp(rgm_onnx_output_name(c.model, i), model->heads[c.head].name) == 0)
                c.output = i;
        if (c.output < 0)
            RGM_GO(
                RGM_FAIL(RGM_ERR_DATA, "%s has no output '%s'", path, model->heads[c.head].name));
        c.batches = 0;
        RGM_GO(rgm_run_predict(run, mode, c.head, compare_batch, &c));
    }
done:
    rgm_onnx_close(c.model);
    return status;
}

rgm_status rgm_run_verify_onnx(rgm_export_check *check, const rgm_open_run *run, const char *folder,
                               rgm_mode mode, int64_t max_batches)
{
    rgm_status status = RGM_OK;
    const rgm_task *task = &run->task;
    char *path = NULL;

    *check = (rgm_export_check){0};
    RGM_GO(rgm_path_join(&path, folder, rgm_run_onnx_file(run)));
    RGM_GO(task->exports != NULL
               ? task->exports->verify(check, folder, rgm_trainer_parameters(run->trainer), mode,
                                       max_batches, task->state)
               : verify_heads(check, run, path, mode, max_batches));
    if (check->items == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "%s: the %s data are empty, nothing was compared", path,
                        rgm_mode_name(mode)));
    if (check->largest_difference > 1e-4)
        status = RGM_FAIL(RGM_ERR_DATA,
                          "%s: the exported graph differs from the model by %g on %lld items, more "
                          "than 1e-4",
                          path, check->largest_difference, (long long)check->items);
done:
    rgm_free(path);
    return status;
}

/* ---- inputs and outputs for another runtime -------------------------------------------------- */

typedef struct dump {
    const rgm_open_run *run;
    const char *folder;
    int64_t batches;
} dump;

static rgm_status save_tensors(const dump *d, const char *kind, const rgm_named_tensor *tensors,
                               int64_t count)
{
    char *name = NULL, *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_strprintf(&name, "%s-%lld.safetensors", kind, (long long)d->batches));
    RGM_GO(rgm_path_join(&path, d->folder, name));
    RGM_GO(rgm_safetensors_save(path, tensors, count, NULL, 0));
done:
    rgm_free(path);
    rgm_free(name);
    return status;
}

static rgm_status dump_batch(const rgm_prediction *p, void *payload)
{
    dump *d = payload;
    rgm_status status = RGM_OK;
    const rgm_task_model *model = rgm_trainer_model(d->run->trainer);
    rgm_named_tensor *inputs = NULL, outputs[RGM_MAX_HEADS] = {0};
    int64_t input_count = 0;

    RGM_GO(rgm_onnx_inputs(&inputs, &input_count, p->feeds, p->feed_count));
    for (int64_t h = 0; h < model->head_count; h++) {
        outputs[h].name = model->heads[h].name;
        RGM_GO(rgm_run_predict_feeds(&outputs[h].tensor, d->run, h, p->feeds, p->feed_count));
    }
    RGM_GO(save_tensors(d, "inputs", inputs, input_count));
    RGM_GO(save_tensors(d, "outputs", outputs, model->head_count));
    d->batches++;
done:
    for (int h = 0; h < RGM_MAX_HEADS; h++)
        rgm_tensor_release(outputs[h].tensor);
    rgm_onnx_inputs_release(inputs, input_count);
    return status;
}

rgm_status rgm_run_dump_onnx(int64_t *batches, const rgm_open_run *run, const char *folder,
                             rgm_mode mode)
{
    dump d = {.run = run, .folder = folder};

    *batches = 0;
    if (run->task.exports != NULL)
        return RGM_FAIL(
            RGM_ERR_UNSUPPORTED,
            "the task '%s' exports graphs that feed each other; there are no inputs of one "
            "graph to dump",
            run->task.name);
    RGM_TRY(rgm_folder_make(folder));
    RGM_TRY(rgm_run_predict(run, mode, 0, dump_batch, &d));
    *batches = d.batches;
    return RGM_OK;
}
