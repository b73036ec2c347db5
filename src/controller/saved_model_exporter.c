/*
 * The exporter "saved_model": every head of a trained run for TensorFlow, in the export folder
 * itself. Files that are not TensorFlow's own are in assets.extra, which TensorFlow leaves to
 * others.
 */
#include "run_internal.h"

static rgm_status save(const rgm_open_run *run, const char *export_dir, void *payload);

static rgm_status check(const rgm_open_run *run, void *payload)
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
    RGM_TRY(rgmi_export_inputs(&options, run));
    return rgm_saved_model_check(rgm_trainer_graph(run->trainer),
                                 rgm_trainer_parameters(run->trainer), outputs.items, outputs.count,
                                 &options);
}

static rgm_status save_graph(const rgm_open_run *run, const char *export_dir, const char *extra,
                             const rgm_onnx_exporter_options *o)
{
    rgmi_outputs outputs;
    rgm_onnx_options options;
    char text[128];

    RGM_TRY(rgmi_export_outputs(&outputs, run, save, o));
    RGM_TRY(rgmi_export_inputs(&options, run));
    rgmi_export_description(text, sizeof text, run);
    options.description = text;
    RGM_TRY(rgm_saved_model_save(export_dir, rgm_trainer_graph(run->trainer),
                                 rgm_trainer_parameters(run->trainer), outputs.items, outputs.count,
                                 &options));
    RGM_TRY(rgm_folder_make(extra));
    return rgmi_save_signature(run, extra, RGM_SAVED_MODEL_FILE, &outputs, &options);
}

static rgm_status save(const rgm_open_run *run, const char *export_dir, void *payload)
{
    rgm_status status = RGM_OK;
    char *extra = NULL;

    if (run->task.exports != NULL)
        return check(run, payload); /* which says why not */
    RGM_GO(rgm_path_join(&extra, export_dir, "assets.extra"));
    RGM_GO(save_graph(run, export_dir, extra, payload));
done:
    rgm_free(extra);
    return status;
}

const rgm_exporter_type rgmi_saved_model_exporter = {
    .section = {.name = "saved_model",
                .help = "saved_model.pb: the same for TensorFlow, signature serving_default",
                .options_size = sizeof(rgm_onnx_exporter_options),
                .fields = rgmi_output_names_fields,
                .check = rgmi_check_output_names},
    .save = save,
    .check = check,
    .of_graph = true,
};

rgm_exporter rgm_saved_model_exporter(void)
{
    return (rgm_exporter){.name = "saved_model", .save = save, .check = check, .of_graph = true};
}
