/*
 * Descriptions of an experiment for people: what will run, and which keys there are.
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

/* The text of a key if the key has an effect, else NULL. */
static const char *effective(const rgm_experiment *e, const char *key)
{
    const rgm_experiment_value *value = rgm_experiment_find(e, key);

    if (value == NULL || value->value == NULL || value->unused != NULL ||
        value->value->kind != RGM_YAML_SCALAR)
        return NULL;
    return value->value->text;
}

rgm_status rgm_experiment_describe(rgm_text *out, const rgm_experiment *e)
{
    const char *model = e->setup.model->name;
    const char *data = effective(e, "data.path");

    if (data == NULL)
        data = effective(e, "data.train");
    if (data != NULL)
        return rgm_text_printf(out, "%s on %s", model, data);
    data = effective(e, "data.type");
    if (data != NULL)
        return rgm_text_printf(out, "%s on %s data", model, data);
    return rgm_text_printf(out, "%s for %s", model, effective(e, "task.type"));
}

static rgm_status print_typed(rgm_text *out, const char *section, const char *type,
                              const char *help, const rgm_field *fields)
{
    RGM_TRY(rgm_text_printf(out, "%s.type: %s%s%s\n", section, type, help != NULL ? "; " : "",
                            help != NULL ? help : ""));
    return rgm_options_print_help(out, section, fields);
}

/* ---- by section ---------------------------------------------------------------------------- */

/* "graph networks", or "task.type: translation" for a type with only that task. */
static rgm_status print_whose(rgm_text *out, const char *section, const rgm_task_type *type)
{
    if (type->tasks[1] == NULL)
        return rgm_text_printf(out, "%s, for task.type: %s\n", section, type->tasks[0]->name);
    return rgm_text_printf(out, "%s, for %ss\n", section, type->name);
}

static rgm_status print_data(rgm_text *out, const rgm_extensions *own)
{
    const rgm_task_type *type;

    for (int64_t i = 0; (type = rgmi_task_type(own, i)) != NULL; i++) {
        RGM_TRY(print_whose(out, "data", type));
        RGM_TRY(rgm_options_print_help(out, "data", type->data->fields));
    }
    return RGM_OK;
}

static rgm_status print_row(rgm_text *out, const char *section, const rgm_section_type *row)
{
    return print_typed(out, section, row->name, row->help, row->fields);
}

static rgm_status print_tasks(rgm_text *out, const rgm_extensions *own)
{
    const rgm_task_type *type;
    const rgm_section_type *row;

    for (int64_t i = 0; (type = rgmi_task_type(own, i)) != NULL; i++)
        for (int64_t k = 0; (row = rgmi_kind(own, type, k)) != NULL; k++)
            RGM_TRY(print_row(out, "task", row));
    return RGM_OK;
}

static rgm_status print_models(rgm_text *out, const rgm_extensions *own)
{
    const rgm_task_type *type;
    const rgm_section_type *row;

    for (int64_t i = 0; (type = rgmi_task_type(own, i)) != NULL; i++) {
        if (type->tasks[1] == NULL) /* for other types the names tell */
            RGM_TRY(print_whose(out, "model", type));
        for (int64_t k = 0; (row = rgmi_model(own, type, k)) != NULL; k++)
            RGM_TRY(print_row(out, "model", row));
    }
    return RGM_OK;
}

/* Print the keys that every row of a kind has, and those of its own struct. */
static rgm_status print_with_own(rgm_text *out, const char *section, const char *name,
                                 const char *help, const rgm_field *fields,
                                 const rgm_section_type *own)
{
    RGM_TRY(print_typed(out, section, name, help, fields));
    return own != NULL ? rgm_options_print_help(out, section, own->fields) : RGM_OK;
}

static rgm_status print_optimizer(rgm_text *out, const rgm_optimizer_type *type)
{
    return print_with_own(out, "optimizer", type->name, type->help, type->fields, type->own);
}

static rgm_status print_schedule(rgm_text *out, const rgm_schedule_type *type)
{
    return print_with_own(out, "optimizer.learning_rate", type->name, type->help, type->fields,
                          type->own);
}

static rgm_status print_optimizers(rgm_text *out, const rgm_extensions *own)
{
    int64_t count;
    const rgm_optimizer_type *const *types = rgm_optimizer_types(&count);
    const rgm_optimizer_type *const *more = own != NULL ? own->optim.optimizers : NULL;
    const rgm_schedule_type *const *schedules;
    const rgm_schedule_type *const *more_schedules = own != NULL ? own->optim.schedules : NULL;

    for (int64_t i = 0; i < count; i++)
        RGM_TRY(print_optimizer(out, types[i]));
    for (; more != NULL && *more != NULL; more++)
        RGM_TRY(print_optimizer(out, *more));
    schedules = rgm_schedule_types(&count);
    RGM_TRY(rgm_text_printf(out, "optimizer.learning_rate: a number, or a map with a type\n"));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(print_schedule(out, schedules[i]));
    for (; more_schedules != NULL && *more_schedules != NULL; more_schedules++)
        RGM_TRY(print_schedule(out, *more_schedules));
    return RGM_OK;
}

static rgm_status print_trainer(rgm_text *out, const rgm_extensions *own)
{
    (void)own;
    return rgm_options_print_help(out, "trainer", rgm_trainer_fields);
}

static rgm_status print_runtime(rgm_text *out, const rgm_extensions *own)
{
    (void)own;
    return rgm_options_print_help(out, "runtime", rgm_runtime_fields);
}

static rgm_status print_export(rgm_text *out, const rgm_extensions *own)
{
    const rgm_exporter_type *type;

    RGM_TRY(rgm_text_printf(out, "export: a list of maps with a type, for each export folder\n"));
    for (int64_t i = 0; (type = rgmi_exporter(own, i)) != NULL; i++)
        RGM_TRY(print_row(out, "export", &type->section));
    return RGM_OK;
}

static rgm_status print_actions(rgm_text *out, const rgm_extensions *own)
{
    const rgm_action_type *type;

    RGM_TRY(rgm_text_printf(out, "actions.train, actions.eval: lists of maps with a type that the "
                                 "program gives\n"));
    for (int64_t i = 0; (type = rgmi_action(own, i)) != NULL; i++)
        RGM_TRY(print_row(out, "actions", &type->section));
    return RGM_OK;
}

static rgm_status print_restrictions(rgm_text *out, const rgm_extensions *own)
{
    (void)own;
    return rgm_text_printf(out,
                           "restrictions: a list of texts, \"KEY RELATION KEY|CONSTANT\", with "
                           "==, !=, <, <=, >, >=, multiple_of\n");
}

rgm_status rgm_experiment_keys(rgm_text *out, const char *section, const rgm_extensions *own)
{
    static const struct {
        const char *name;
        rgm_status (*print)(rgm_text *out, const rgm_extensions *own);
    } sections[] = {{"data", print_data},
                    {"task", print_tasks},
                    {"model", print_models},
                    {"optimizer", print_optimizers},
                    {"trainer", print_trainer},
                    {"runtime", print_runtime},
                    {"export", print_export},
                    {"actions", print_actions},
                    {"restrictions", print_restrictions}};
    bool found = false;

    RGM_TRY(rgmi_extensions_check(own));
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (section == NULL || strcmp(section, sections[i].name) == 0) {
            RGM_TRY(sections[i].print(out, own));
            found = true;
        }
    if (!found)
        return RGM_FAIL(
            RGM_ERR_NOT_FOUND,
            "no section '%s'; there are data, task, model, optimizer, trainer, runtime, "
            "export, actions, restrictions",
            section);
    return RGM_OK;
}
