/* The outputs of a model, for files and for predictors. */
#include <stdio.h>
#include <string.h>

#include "run_internal.h"

#define SIGNATURE_FILE "signature.json"

static void add_output(rgmi_outputs *list, const char *name, rgm_value *value, rgm_output_kind kind,
                       const rgm_head *head)
{
    list->values[list->count] = value;
    list->items[list->count++] = (rgm_export_output){
        .name = name, .value = value, .kind = kind, .classes = head->class_names};
}

void rgmi_outputs_of(rgmi_outputs *list, const rgm_task_model *model)
{
    const rgm_head *heads;

    *list = (rgmi_outputs){.heads = rgm_task_model_outputs(&heads, model)};
    for (int64_t h = 0; h < list->heads; h++) {
        const rgm_head *head = &heads[h];

        bool is_logit = head->probabilities != NULL || model->served != NULL;

        add_output(list, head->name, head->predictions,
                   head->is_number ? RGM_OUTPUT_NUMBERS
                   : is_logit      ? RGM_OUTPUT_LOGITS
                                   : RGM_OUTPUT_OTHER,
                   head);
    }
    for (int64_t h = 0; h < list->heads; h++) {
        const rgm_head *head = &heads[h];
        bool alone = list->heads == 1;

        if (head->probabilities == NULL)
            continue;
        snprintf(list->names[h], sizeof list->names[h], "%s%sprobabilities",
                 alone ? "" : head->name, alone ? "" : ".");
        add_output(list, list->names[h], head->probabilities, RGM_OUTPUT_PROBABILITIES, head);
    }
}

/* ---- for exporters of the graph ------------------------------------------------------------ */

/* The options of the run's exporter with this `save`; else of its first other exporter of a graph,
 * so that a file requested later has the same names; NULL: none. */
static const rgm_onnx_exporter_options *own_options(const rgm_open_run *run, rgmi_save *save)
{
    const rgm_exporter *other = NULL;

    for (int64_t i = 0; i < run->options.exporter_count; i++) {
        const rgm_exporter *exporter = &run->options.exporters[i];

        if (exporter->save == save)
            return exporter->payload;
        if (exporter->of_graph && other == NULL)
            other = exporter;
    }
    return other != NULL ? other->payload : NULL;
}

static int64_t find_output(const rgmi_outputs *list, const char *name)
{
    for (int64_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i].name, name) == 0)
            return i;
    return -1;
}

static rgm_status unknown_output(const rgmi_outputs *list, const char *name)
{
    const char *names[RGM_MAX_OUTPUTS];

    for (int64_t i = 0; i < list->count; i++)
        names[i] = list->items[i].name;
    return RGM_FAIL(RGM_ERR_CONFIG, "export.output_names: there is no output '%s'%s", name,
                    rgm_did_you_mean(name, names, list->count, NULL, "there are ").text);
}

/* Rename all at once, so that two outputs may exchange names. */
static rgm_status rename_outputs(rgmi_outputs *list, const rgm_lists *names)
{
    rgmi_outputs renamed = *list;

    for (int64_t i = 0; i < names->count; i++) {
        int64_t at = find_output(list, names->names[i]);

        if (at < 0)
            return unknown_output(list, names->names[i]);
        renamed.items[at].name = names->items[i].items[0];
    }
    for (int64_t i = 0; i < list->count; i++)
        list->items[i].name = renamed.items[i].name;
    for (int64_t i = 0; i < list->count; i++)
        if (find_output(list, list->items[i].name) < i)
            return RGM_FAIL(RGM_ERR_CONFIG, "export.output_names: two outputs are named '%s'",
                            list->items[i].name);
    return RGM_OK;
}

rgm_status rgmi_export_outputs(rgmi_outputs *list, const rgm_open_run *run, rgmi_save *save,
                               const rgm_onnx_exporter_options *o)
{
    rgmi_outputs_of(list, rgm_trainer_model(run->trainer));
    if (list->count == 0)
        return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                        "the task '%s' predicts nothing that could be exported", run->task.name);
    if (o == NULL)
        o = own_options(run, save);
    return o != NULL ? rename_outputs(list, &o->output_names) : RGM_OK;
}

rgm_status rgmi_export_inputs(rgm_onnx_options *options, const rgm_open_run *run,
                              bool joins_examples)
{
    *options = (rgm_onnx_options){.joins_examples = joins_examples};
    return run->task.export_inputs != NULL ? run->task.export_inputs(options, run->task.state)
                                           : RGM_OK;
}

void rgmi_export_description(char *text, size_t size, const rgm_open_run *run)
{
    snprintf(text, size, "%s trained by Regimen",
             run->task.network != NULL ? run->task.network : "network");
}

rgm_status rgmi_save_signature(const rgm_open_run *run, const char *folder, const char *file,
                               const rgmi_outputs *outputs, const rgm_onnx_options *options)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(rgm_onnx_signature(&text, file, rgm_trainer_graph(run->trainer),
                              rgm_trainer_parameters(run->trainer), outputs->items, outputs->count,
                              options));
    RGM_GO(rgm_path_join(&path, folder, SIGNATURE_FILE));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_free(path);
    rgm_text_clear(&text);
    return status;
}

/* Only one name each, although the table of lists accepts several. */
rgm_status rgmi_check_output_names(const void *options)
{
    const rgm_onnx_exporter_options *o = options;

    for (int64_t i = 0; i < o->output_names.count; i++)
        if (o->output_names.items[i].count != 1 || o->output_names.items[i].items[0][0] == '\0')
            return RGM_FAIL(RGM_ERR_CONFIG, "export.output_names.%s should be one name",
                            o->output_names.names[i]);
    return RGM_OK;
}

#define RGM_OPTIONS rgm_onnx_exporter_options
const rgm_field rgmi_output_names_fields[] = {
    RGM_LISTS_FIELD(output_names, "outputs to the names they shall have, {probabilities: p}"), {0}};
#undef RGM_OPTIONS
