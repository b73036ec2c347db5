/*
 * The ONNX exporter: every head of a trained run in one file, or what the task writes itself, with
 * the task's files beside it; and a check that another implementation (export's interpreter)
 * computes the same from it.
 */
#include <stdio.h>
#include <string.h>

#include "run_internal.h"

/* ---- files of one name ------------------------------------------------------------------------
 */

/* Hugging Face's form has weights of the name that predictors are served by, and a configuration of
 * the name that CTranslate2's has. */
#define FOREIGN_CONFIG    "config.json"
#define CTRANSLATE2_MODEL "model.bin"

static rgm_status save_onnx(const rgm_open_run *run, const char *export_dir, void *payload);
static rgm_status save_served(const rgm_open_run *run, const char *export_dir, void *options);
static rgm_status save_ctranslate2(const rgm_open_run *run, const char *export_dir, void *options);
static rgm_status save_huggingface(const rgm_open_run *run, const char *export_dir, void *options);

rgm_status rgmi_exporter_fits(const rgm_open_run *run, const rgm_exporter *exporter,
                              const char *folder)
{
    bool has_huggingface =
        rgm_folder_has(folder, FOREIGN_CONFIG) && !rgm_folder_has(folder, CTRANSLATE2_MODEL);
    const char *what = NULL;

    if (exporter->save == save_huggingface && rgm_folder_has(folder, RGM_SERVING_MODEL))
        what = RGM_SERVING_WEIGHTS;
    else if (exporter->save == save_huggingface && rgm_folder_has(folder, CTRANSLATE2_MODEL))
        what = FOREIGN_CONFIG;
    else if (exporter->save == save_ctranslate2 && has_huggingface)
        what = FOREIGN_CONFIG;
    else if ((exporter->save == save_served ||
              (exporter->save == save_onnx && run->task.exports == NULL &&
               run->task.save_serving != NULL)) &&
             has_huggingface)
        what = RGM_SERVING_WEIGHTS;
    if (what == NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s has an export of another format, whose %s this one would replace: remove "
                    "it, or name another folder",
                    folder, what);
}

/* ---- ONNX ------------------------------------------------------------------------------------ */

static rgm_status save_heads(const rgm_open_run *run, const char *folder, const char *path,
                             const rgm_onnx_exporter_options *o)
{
    rgmi_outputs outputs;
    rgm_onnx_options options;
    char text[128];

    RGM_TRY(rgmi_export_outputs(&outputs, run, save_onnx, o));
    RGM_TRY(rgmi_export_inputs(&options, run, false));
    rgmi_export_description(text, sizeof text, run);
    options.description = text;
    RGM_TRY(rgm_onnx_save(path, rgm_trainer_graph(run->trainer),
                          rgm_trainer_parameters(run->trainer), outputs.items, outputs.count,
                          &options));
    RGM_TRY(rgmi_save_signature(run, folder, rgm_run_onnx_file(run), &outputs, &options));
    return run->task.save_serving != NULL ? rgmi_save_serving(run, folder, false) : RGM_OK;
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

    RGM_GO(rgmi_exporter_fits(run, &(rgm_exporter){.save = save_onnx}, export_dir));
    RGM_GO(rgm_path_join(&path, export_dir, rgm_run_onnx_file(run)));
    RGM_GO(rgm_task_files_save(task, export_dir)); /* the task's own output may refer to them */
    RGM_GO(task->exports != NULL
               ? task->exports->save(export_dir, rgm_trainer_parameters(run->trainer), task->state)
               : save_heads(run, export_dir, path, payload));
done:
    rgm_free(path);
    return status;
}

static rgm_status check_onnx(const rgm_open_run *run, void *payload)
{
    const rgm_task_export *own = run->task.exports;
    const rgm_parameters *parameters = rgm_trainer_parameters(run->trainer);
    const rgm_onnx_exporter_options *o = payload;
    rgmi_outputs outputs;
    rgm_onnx_options options;

    if (own != NULL && o != NULL && o->output_names.count > 0)
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "export.output_names: the task '%s' names its outputs itself: %s",
                        run->task.name, own->file);
    if (own != NULL)
        return own->check != NULL ? own->check(parameters, run->task.state) : RGM_OK;
    RGM_TRY(rgmi_export_outputs(&outputs, run, save_onnx, o));
    RGM_TRY(rgmi_export_inputs(&options, run, false));
    return rgm_onnx_check(rgm_trainer_graph(run->trainer), parameters, outputs.items, outputs.count,
                          &options);
}

static const rgm_exporter_type onnx_type = {
    .section = {.name = "onnx",
                .help = "model.onnx: the model with its preprocessing, for ONNX runtimes",
                .options_size = sizeof(rgm_onnx_exporter_options),
                .fields = rgmi_output_names_fields,
                .check = rgmi_check_output_names},
    .save = save_onnx,
    .check = check_onnx,
    .of_graph = true,
};

/* ---- for predictors alone -------------------------------------------------------------------- */

/* In checkpoints there are no options. */
static bool is_int8(const rgm_predictor_exporter_options *o)
{
    return o != NULL && o->precision == RGM_WEIGHTS_INT8;
}

static rgm_status check_served(const rgm_open_run *run, void *options)
{
    if (run->task.save_serving == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "export: the task '%s' is not asked by predictors; its exporter is onnx",
                        run->task.name);
    if (is_int8(options) && run->task.int8_axis == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "export.precision: the task '%s' does not keep its weights in 8 bits",
                        run->task.name);
    return RGM_OK;
}

static rgm_status save_served(const rgm_open_run *run, const char *export_dir, void *options)
{
    RGM_TRY(rgmi_exporter_fits(run, &(rgm_exporter){.save = save_served}, export_dir));
    RGM_TRY(rgm_task_files_save(&run->task, export_dir));
    return rgmi_save_serving(run, export_dir, is_int8(options));
}

static const char *const precisions[] = {"f32", "int8", NULL};

#define RGM_OPTIONS rgm_predictor_exporter_options
static const rgm_field predictor_fields[] = {
    RGM_CHOICE_FIELD(precision, precisions,
                     "int8: matrices in 8 bits, a quarter of the size; what that changes on "
                     "validation data is written beside them"),
    {0}};
#undef RGM_OPTIONS

static const rgm_exporter_type predictor_type = {
    .section = {.name = "predictor",
                .help = "what rgm_predictor_open() serves, without model.onnx: also features that "
                        "ONNX cannot say",
                .options_size = sizeof(rgm_predictor_exporter_options),
                .fields = predictor_fields},
    .save = save_served,
    .check = check_served,
};

rgm_exporter rgm_predictor_exporter(rgm_predictor_exporter_options *options)
{
    return (rgm_exporter){
        .name = "predictor", .save = save_served, .check = check_served, .payload = options};
}

/* ---- another program's form, which the task writes ------------------------------------------- */

static const char ctranslate2[] = "ctranslate2", huggingface[] = "huggingface";

static rgm_status find_format(const rgm_task_format **out, const rgm_open_run *run,
                              const char *name)
{
    const rgm_task_format *f = run->task.formats;

    while (f != NULL && f->name != NULL && strcmp(f->name, name) != 0)
        f++;
    *out = f;
    if (f != NULL && f->name != NULL)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "export: the task '%s' has no form for the exporter %s",
                    run->task.name, name);
}

static rgm_status check_format(const rgm_open_run *run, const char *name)
{
    const rgm_task_format *f;

    RGM_TRY(find_format(&f, run, name));
    return f->check != NULL ? f->check(rgm_trainer_parameters(run->trainer), run->task.state)
                            : RGM_OK;
}

static rgm_status save_format(const rgm_open_run *run, const char *export_dir, const char *name)
{
    const rgm_task_format *f;

    RGM_TRY(find_format(&f, run, name));
    RGM_TRY(rgm_task_files_save(&run->task, export_dir));
    return f->save(export_dir, rgm_trainer_parameters(run->trainer), run->task.state);
}

static rgm_status check_ctranslate2(const rgm_open_run *run, void *options)
{
    (void)options;
    return check_format(run, ctranslate2);
}

static rgm_status save_ctranslate2(const rgm_open_run *run, const char *export_dir, void *options)
{
    (void)options;
    RGM_TRY(rgmi_exporter_fits(run, &(rgm_exporter){.save = save_ctranslate2}, export_dir));
    return save_format(run, export_dir, ctranslate2);
}

/* Whether others write into the folder that huggingface writes into, of the run or of a checkpoint.
 */
static bool has_company(const rgm_run_options *o)
{
    const rgm_texts *names = &o->trainer.checkpoint.exports;
    bool found = false;

    for (int64_t i = 0; i < o->exporter_count && o->exporter_count > 1; i++)
        found = found || o->exporters[i].save == save_huggingface;
    for (int64_t i = 0; i < names->count && names->count > 1; i++)
        found = found || strcmp(names->items[i], huggingface) == 0;
    return found;
}

static rgm_status check_huggingface(const rgm_open_run *run, void *options)
{
    (void)options;
    if (run->task.save_serving != NULL && has_company(&run->options))
        return RGM_FAIL(RGM_ERR_CONFIG,
                        "export: huggingface and other exporters write " RGM_SERVING_WEIGHTS
                        " or config.json both: `regimen export --to` writes each in a folder of "
                        "its own");
    return check_format(run, huggingface);
}

static rgm_status save_huggingface(const rgm_open_run *run, const char *export_dir, void *options)
{
    (void)options;
    RGM_TRY(rgmi_exporter_fits(run, &(rgm_exporter){.save = save_huggingface}, export_dir));
    return save_format(run, export_dir, huggingface);
}

static const rgm_field no_fields[] = {{0}};

static const rgm_exporter_type ctranslate2_type = {
    .section = {.name = ctranslate2,
                .help = "a translation model as CTranslate2 4 reads it",
                .fields = no_fields},
    .save = save_ctranslate2,
    .check = check_ctranslate2,
};

static const rgm_exporter_type huggingface_type = {
    .section = {.name = huggingface,
                .help = "a language model as Transformers of Hugging Face loads it",
                .fields = no_fields},
    .save = save_huggingface,
    .check = check_huggingface,
};

rgm_exporter rgm_huggingface_exporter(void)
{
    return (rgm_exporter){
        .name = huggingface, .save = save_huggingface, .check = check_huggingface};
}

rgm_exporter rgm_ctranslate2_exporter(void)
{
    return (rgm_exporter){
        .name = ctranslate2, .save = save_ctranslate2, .check = check_ctranslate2};
}

const rgm_exporter_type *const rgm_exporter_types[] = {&onnx_type,
                                                       &rgmi_saved_model_exporter,
                                                       &predictor_type,
                                                       &rgmi_weights_exporter,
                                                       &ctranslate2_type,
                                                       &huggingface_type,
                                                       NULL};

rgm_exporter rgm_onnx_exporter(void)
{
    return (rgm_exporter){.name = "onnx", .save = save_onnx, .check = check_onnx, .of_graph = true};
}

/* ---- the model beside the file --------------------------------------------------------------- */

/* The outputs of the file, as the executor computes them. */
typedef struct all_outputs {
    const rgm_open_run *run;
    rgmi_outputs list;
    rgm_executor *executor;
    rgm_tensor *values[RGM_MAX_OUTPUTS]; /* of the last batch, borrowed from the executor */
} all_outputs;

static rgm_status all_outputs_open(all_outputs *all, const rgm_open_run *run,
                                   const rgm_exporter *names)
{
    const rgm_executor_options evaluation = {0};

    *all = (all_outputs){.run = run};
    RGM_TRY(rgmi_export_outputs(&all->list, run, names->save, names->payload));
    return rgm_executor_create(&all->executor, rgm_trainer_graph(run->trainer), all->list.values,
                               all->list.count, &evaluation);
}

static rgm_status all_outputs_run(all_outputs *all, const rgm_prediction *p)
{
    return rgm_executor_run(all->executor, all->values, rgm_trainer_parameters(all->run->trainer),
                            p->feeds, p->feed_count, (uint64_t)all->run->options.runtime.seed, 0);
}

static rgm_status tables_of(rgm_named_tensor **tables, int64_t *count, const rgm_open_run *run,
                            const rgm_prediction *p)
{
    if (run->task.export_tables != NULL)
        return run->task.export_tables(tables, count, run->task.state, p->batch);
    return rgm_onnx_inputs(tables, count, p->feeds, p->feed_count);
}

/* ---- verification -------------------------------------------------------------------------- */

typedef struct comparison {
    all_outputs all;
    rgm_onnx_model *model;
    int64_t place[RGM_MAX_OUTPUTS]; /* index of each output in the file */
    int64_t batches, max_batches;
    rgm_export_check *check;
} comparison;

static rgm_status compare_outputs(comparison *c, rgm_tensor *const *theirs)
{
    for (int64_t i = 0; i < c->all.list.count; i++) {
        const rgm_tensor *ours = c->all.values[i];
        rgm_status status = rgm_export_compare(c->check, theirs[c->place[i]], ours);

        if (status != RGM_OK)
            return rgm_error_prefix(status, "output '%s'", c->all.list.items[i].name);
        if (i < c->all.list.heads)
            c->check->items += rgm_tensor_rank(ours) > 0 ? rgm_tensor_dim(ours, 0) : 1;
    }
    return RGM_OK;
}

static rgm_status compare_batch(const rgm_prediction *p, void *payload)
{
    comparison *c = payload;
    rgm_status status = RGM_OK;
    rgm_named_tensor *tables = NULL;
    rgm_tensor **theirs = NULL;
    int64_t table_count = 0, output_count = rgm_onnx_output_count(c->model);

    if (c->batches++ >= c->max_batches)
        return RGM_END;
    RGM_GO(RGM_NEW(theirs, output_count));
    RGM_GO(tables_of(&tables, &table_count, c->all.run, p));
    RGM_GO(rgm_onnx_run(theirs, c->model, tables, table_count));
    RGM_GO(all_outputs_run(&c->all, p));
    RGM_GO(compare_outputs(c, theirs));
done:
    rgm_onnx_inputs_release(tables, table_count);
    for (int64_t i = 0; theirs != NULL && i < output_count; i++)
        rgm_tensor_release(theirs[i]);
    rgm_free(theirs);
    return status;
}

static rgm_status find_outputs(comparison *c, const char *path)
{
    for (int64_t k = 0; k < c->all.list.count; k++) {
        const char *name = c->all.list.items[k].name;

        c->place[k] = -1;
        for (int64_t i = 0; i < rgm_onnx_output_count(c->model); i++)
            if (strcmp(rgm_onnx_output_name(c->model, i), name) == 0)
                c->place[k] = i;
        if (c->place[k] < 0)
            return RGM_FAIL(RGM_ERR_DATA, "%s has no output '%s'", path, name);
    }
    return RGM_OK;
}

static rgm_status verify_heads(rgm_export_check *check, const rgm_open_run *run, const char *path,
                               rgm_mode mode, int64_t max_batches)
{
    rgm_status status = RGM_OK;
    comparison c = {.max_batches = max_batches, .check = check};
    const rgm_exporter names = rgm_onnx_exporter();

    RGM_GO(all_outputs_open(&c.all, run, &names));
    RGM_GO(rgm_onnx_open(&c.model, path));
    RGM_GO(find_outputs(&c, path));
    RGM_GO(rgm_run_predict(run, mode, 0, compare_batch, &c));
done:
    rgm_onnx_close(c.model);
    rgm_executor_release(c.all.executor);
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
    all_outputs all;
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
    rgm_named_tensor *tables = NULL, outputs[RGM_MAX_OUTPUTS];
    int64_t table_count = 0;

    RGM_GO(tables_of(&tables, &table_count, d->all.run, p));
    RGM_GO(all_outputs_run(&d->all, p));
    for (int64_t i = 0; i < d->all.list.count; i++)
        outputs[i] = (rgm_named_tensor){d->all.list.items[i].name, d->all.values[i]};
    RGM_GO(save_tensors(d, "inputs", tables, table_count));
    RGM_GO(save_tensors(d, "outputs", outputs, d->all.list.count));
    d->batches++;
done:
    rgm_onnx_inputs_release(tables, table_count);
    return status;
}

rgm_status rgm_run_dump_onnx(int64_t *batches, const rgm_open_run *run, const char *folder,
                             rgm_mode mode, const rgm_exporter *exporter)
{
    rgm_status status = RGM_OK;
    dump d = {.folder = folder};

    *batches = 0;
    if (run->task.exports != NULL)
        return RGM_FAIL(
            RGM_ERR_UNSUPPORTED,
            "the task '%s' exports graphs that feed each other; there are no inputs of one "
            "graph to dump",
            run->task.name);
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(all_outputs_open(&d.all, run, exporter));
    RGM_GO(rgm_run_predict(run, mode, 0, dump_batch, &d));
    *batches = d.batches;
done:
    rgm_executor_release(d.all.executor);
    return status;
}
