/*
 * The exporter "saved_model": every head of a trained run for TensorFlow, in the export folder
 * itself. Files that are not TensorFlow's own are in assets.extra, which TensorFlow leaves to
 * others.
 */
#include "run_internal.h"

static rgm_status save(const rgm_open_run *run, const char *export_dir, void *payload);

/* Whether Examples are parsed: as the options say, or those of the run's own exporter. */
static bool joins_examples(const rgm_open_run *run, const void *payload)
{
    const rgm_saved_model_exporter_options *o = payload;

    for (int64_t i = 0; i < run->options.exporter_count && o == NULL; i++)
        if (run->options.exporters[i].save == save)
            o = run->options.exporters[i].payload;
    return o != NULL && o->examples;
}

/* How its inputs come: of tables, which are those of Examples where these are parsed. */
static rgm_status inputs_of(rgm_onnx_options *options, const rgm_open_run *run, bool joins)
{
    RGM_TRY(rgmi_export_inputs(options, run, joins));
    if (joins && run->task.export_inputs == NULL)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "export: the task '%s' has no tables that Examples of graphs could have",
                        run->task.name);
    return RGM_OK;
}

static rgm_status check_as(const rgm_open_run *run, void *payload, bool joins)
{
    rgmi_outputs outputs;
    rgm_onnx_options options;

    if (run->task.exports != NULL)
        return RGM_FAIL(
            RGM_ERR_UNSUPPORTED,
            "export: the task '%s' exports graphs that feed each other, a SavedModel is "
            "one of them; its exporter is onnx",
            run->task.name);
    RGM_TRY(rgmi_export_outputs(&outputs, run, save, payload));
    RGM_TRY(inputs_of(&options, run, joins));
    return rgm_saved_model_check(rgm_trainer_graph(run->trainer),
                                 rgm_trainer_parameters(run->trainer), outputs.items, outputs.count,
                                 &options);
}

static rgm_status save_graph(const rgm_open_run *run, const char *export_dir, const char *extra,
                             const void *payload, bool joins)
{
    rgmi_outputs outputs;
    rgm_onnx_options options;
    char text[128];

    RGM_TRY(rgmi_export_outputs(&outputs, run, save, payload));
    RGM_TRY(inputs_of(&options, run, joins));
    rgmi_export_description(text, sizeof text, run);
    options.description = text;
    RGM_TRY(rgm_saved_model_save(export_dir, rgm_trainer_graph(run->trainer),
                                 rgm_trainer_parameters(run->trainer), outputs.items, outputs.count,
                                 &options));
    RGM_TRY(rgm_folder_make(extra));
    return rgmi_save_signature(run, extra, RGM_SAVED_MODEL_FILE, &outputs, &options);
}

static rgm_status save_as(const rgm_open_run *run, const char *export_dir, void *payload,
                          bool joins)
{
    rgm_status status = RGM_OK;
    char *extra = NULL;

    if (run->task.exports != NULL)
        return check_as(run, payload, joins); /* which says why not */
    RGM_GO(rgm_path_join(&extra, export_dir, "assets.extra"));
    RGM_GO(save_graph(run, export_dir, extra, payload, joins));
done:
    rgm_free(extra);
    return status;
}

static rgm_status check(const rgm_open_run *run, void *payload)
{
    return check_as(run, payload, joins_examples(run, payload));
}

static rgm_status save(const rgm_open_run *run, const char *export_dir, void *payload)
{
    return save_as(run, export_dir, payload, joins_examples(run, payload));
}

static rgm_status check_examples(const rgm_open_run *run, void *payload)
{
    return check_as(run, payload, true);
}

static rgm_status save_examples(const rgm_open_run *run, const char *export_dir, void *payload)
{
    return save_as(run, export_dir, payload, true);
}

#define RGM_OPTIONS rgm_saved_model_exporter_options
static const rgm_field fields[] = {
    RGM_LISTS_FIELD(output_names, "outputs to the names they shall have, {probabilities: p}"),
    RGM_BOOL_FIELD(examples, "it takes serialized Examples of graphs, and their tables by a second "
                             "signature"),
    {0}};
#undef RGM_OPTIONS

const rgm_exporter_type rgmi_saved_model_exporter = {
    .section = {.name = "saved_model",
                .help = "saved_model.pb: the same for TensorFlow, signature serving_default",
                .options_size = sizeof(rgm_saved_model_exporter_options),
                .fields = fields,
                .check = rgmi_check_output_names},
    .save = save,
    .check = check,
    .of_graph = true,
};

rgm_exporter rgm_saved_model_exporter(void)
{
    return (rgm_exporter){.name = "saved_model", .save = save, .check = check, .of_graph = true};
}

rgm_exporter rgm_saved_model_examples_exporter(void)
{
    return (rgm_exporter){
        .name = "saved_model", .save = save_examples, .check = check_examples, .of_graph = true};
}
