/*
 * An experiment told to people: what will run, and which keys there are.
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

rgm_status rgm_experiment_describe(rgm_text *out, const rgm_experiment *e)
{
    static const char *const types[] = {"", "", "a generated graph", ""};
    const char *data = e->data.path;

    if (data == NULL)
        data = e->data.type == RGMI_DATA_RECORDS ? e->data.train : types[e->data.type];
    return rgm_text_printf(out, "%s on %s", e->model->name, data);
}

static const char *kind_name(const rgm_field *field)
{
    static const char *const names[] = {
        [RGM_FIELD_INT] = "integer",
        [RGM_FIELD_FLOAT] = "number",
        [RGM_FIELD_BOOL] = "true or false",
        [RGM_FIELD_TEXT] = "text",
        [RGM_FIELD_CHOICE] = "choice",
        [RGM_FIELD_INTS] = "list of integers",
        [RGM_FIELD_FLOATS] = "list of numbers",
        [RGM_FIELD_TEXTS] = "list of texts",
        [RGM_FIELD_NUMBERS] = "map to numbers",
        [RGM_FIELD_GROUP] = "map",
        [RGM_FIELD_NODE] = "any",
    };

    return names[field->kind];
}

static rgm_status print_fields(rgm_text *out, const char *path, const rgm_field *fields)
{
    for (; fields->name != NULL; fields++) {
        if (fields->kind == RGM_FIELD_GROUP) {
            char below[128];

            snprintf(below, sizeof below, "%s.%s", path, fields->name);
            RGM_TRY(print_fields(out, below, fields->group));
            continue;
        }
        RGM_TRY(rgm_text_printf(out, "%s.%-*s ", path, (int)(40 - strlen(path)), fields->name));
        if (fields->kind == RGM_FIELD_CHOICE)
            for (int i = 0; fields->choices[i] != NULL; i++)
                RGM_TRY(rgm_text_printf(out, "%s%s", i > 0 ? "|" : "", fields->choices[i]));
        else
            RGM_TRY(rgm_text_printf(out, "%s", kind_name(fields)));
        RGM_TRY(rgm_text_printf(out, "; %s\n", fields->help != NULL ? fields->help : ""));
    }
    return RGM_OK;
}

static rgm_status print_typed(rgm_text *out, const char *section, const char *type,
                              const char *help, const rgm_field *fields)
{
    RGM_TRY(rgm_text_printf(out, "%s.type: %s%s%s\n", section, type, help != NULL ? "; " : "",
                            help != NULL ? help : ""));
    return print_fields(out, section, fields);
}

static rgm_status print_schedules(rgm_text *out)
{
    int64_t count;
    const rgm_schedule_type *const *types = rgm_schedule_types(&count);

    RGM_TRY(rgm_text_printf(out, "optimizer.learning_rate: a number, or a map with a type\n"));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(print_typed(out, "optimizer.learning_rate", types[i]->name, types[i]->help,
                            types[i]->fields));
    return RGM_OK;
}

static bool wanted(const char *section, const char *name)
{
    return section == NULL || strcmp(section, name) == 0;
}

rgm_status rgm_experiment_keys(rgm_text *out, const char *section)
{
    int64_t count;

    if (wanted(section, "data"))
        RGM_TRY(print_fields(out, "data", rgmi_data_fields));
    if (wanted(section, "task")) {
        const rgm_gnn_task_type *const *types = rgm_gnn_task_types(&count);

        for (int64_t i = 0; i < count; i++)
            RGM_TRY(print_typed(out, "task", types[i]->name, types[i]->help, types[i]->fields));
    }
    if (wanted(section, "model")) {
        const rgm_model_type *const *types = rgm_model_types(&count);

        for (int64_t i = 0; i < count; i++)
            RGM_TRY(print_typed(out, "model", types[i]->name, types[i]->help, types[i]->fields));
    }
    if (wanted(section, "optimizer")) {
        const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);

        for (int64_t i = 0; i < count; i++)
            RGM_TRY(
                print_typed(out, "optimizer", types[i]->name, types[i]->help, types[i]->fields));
        RGM_TRY(print_schedules(out));
    }
    if (wanted(section, "trainer"))
        RGM_TRY(print_fields(out, "trainer", rgm_trainer_fields));
    if (wanted(section, "runtime"))
        RGM_TRY(print_fields(out, "runtime", rgm_runtime_fields));
    if (wanted(section, "export"))
        RGM_TRY(rgm_text_printf(out, "export: a list of {type: onnx}; a model.onnx in the export "
                                     "folder\n"));
    if (out->size == 0)
        return RGM_FAIL(
            RGM_ERR_NOT_FOUND,
            "no section '%s'; there are data, task, model, optimizer, trainer, runtime, "
            "export",
            section);
    return RGM_OK;
}
