/*
 * A program's own rows beside the library's: reading, printing and listing names all walk over both
 * here.
 */
#include <string.h>

#include "experiment_internal.h"

/* ---- walking ------------------------------------------------------------------------------- */

const rgm_task_type *rgmi_task_type(const rgm_extensions *own, int64_t i)
{
    int64_t count;
    const rgm_task_type *const *types = rgm_task_types(&count);

    if (i < count)
        return types[i];
    if (own == NULL || own->tasks == NULL)
        return NULL;
    for (int64_t k = 0; own->tasks[k] != NULL; k++)
        if (k == i - count)
            return own->tasks[k];
    return NULL;
}

/* Row i of a type's list, followed by the program's rows for it. */
static const rgm_section_type *row(const rgm_section_type *const *list,
                                   const rgm_extension_row *more, const rgm_task_type *type,
                                   int64_t i)
{
    for (; *list != NULL; list++)
        if (i-- == 0)
            return *list;
    for (; more != NULL && more->of != NULL; more++)
        if (more->of == type && i-- == 0)
            return more->row;
    return NULL;
}

const rgm_section_type *rgmi_kind(const rgm_extensions *own, const rgm_task_type *type, int64_t i)
{
    return row(type->tasks, own != NULL ? own->kinds : NULL, type, i);
}

const rgm_section_type *rgmi_model(const rgm_extensions *own, const rgm_task_type *type, int64_t i)
{
    return row(type->models, own != NULL ? own->models : NULL, type, i);
}

const rgm_exporter_type *rgmi_exporter(const rgm_extensions *own, int64_t i)
{
    for (const rgm_exporter_type *const *type = rgm_exporter_types; *type != NULL; type++)
        if (i-- == 0)
            return *type;
    for (int64_t k = 0; own != NULL && own->exporters != NULL && own->exporters[k] != NULL; k++)
        if (k == i)
            return own->exporters[k];
    return NULL;
}

const rgm_action_type *rgmi_action(const rgm_extensions *own, int64_t i)
{
    for (int64_t k = 0; own != NULL && own->actions != NULL && own->actions[k] != NULL; k++)
        if (k == i)
            return own->actions[k];
    return NULL;
}

/* ---- checks -------------------------------------------------------------------------------- */

static rgm_status check_row(const char *what, const rgm_section_type *row, bool functions)
{
    if (row == NULL || row->name == NULL || row->name[0] == '\0' || row->fields == NULL ||
        !functions)
        return RGM_FAIL(RGM_ERR_ARG,
                        "the %s '%s' of the program lacks a name, fields or a function", what,
                        row != NULL && row->name != NULL ? row->name : "");
    return RGM_OK;
}

static rgm_status check_name(const char *what, const rgm_section_type *row,
                             const rgm_section_type *other)
{
    if (row != other && strcmp(row->name, other->name) == 0)
        return RGM_FAIL(RGM_ERR_ARG, "two %ss are named '%s': give the program's own another name",
                        what, row->name);
    return RGM_OK;
}

/* Check a name of task.type, which must be unique over all task types. */
static rgm_status check_kind(const rgm_extensions *own, const rgm_section_type *kind)
{
    const rgm_task_type *type;
    const rgm_section_type *other;

    RGM_TRY(check_row("task", kind, true));
    for (int64_t i = 0; (type = rgmi_task_type(own, i)) != NULL; i++)
        for (int64_t k = 0; (other = rgmi_kind(own, type, k)) != NULL; k++)
            RGM_TRY(check_name("task", kind, other));
    return RGM_OK;
}

static rgm_status check_tasks(const rgm_extensions *own)
{
    for (int64_t i = 0; own->tasks != NULL && own->tasks[i] != NULL; i++) {
        const rgm_task_type *type = own->tasks[i];

        if (type->name == NULL || type->data == NULL || type->tasks == NULL ||
            type->models == NULL || type->create == NULL)
            return RGM_FAIL(
                RGM_ERR_ARG,
                "the task type '%s' of the program lacks a name, data, tasks, models or "
                "create",
                type->name != NULL ? type->name : "");
    }
    for (int64_t i = 0; own->tasks != NULL && own->tasks[i] != NULL; i++)
        for (int64_t k = 0; own->tasks[i]->tasks[k] != NULL; k++)
            RGM_TRY(check_kind(own, own->tasks[i]->tasks[k]));
    for (const rgm_extension_row *r = own->kinds; r != NULL && r->of != NULL; r++)
        RGM_TRY(check_kind(own, r->row));
    return RGM_OK;
}

static rgm_status check_models(const rgm_extensions *own)
{
    const rgm_section_type *other;

    for (const rgm_extension_row *r = own->models; r != NULL && r->of != NULL; r++) {
        RGM_TRY(check_row("model", r->row, true));
        for (int64_t k = 0; (other = rgmi_model(own, r->of, k)) != NULL; k++)
            RGM_TRY(check_name("model", r->row, other));
    }
    return RGM_OK;
}

static rgm_status check_exporters(const rgm_extensions *own)
{
    const rgm_exporter_type *other;

    for (int64_t i = 0; own->exporters != NULL && own->exporters[i] != NULL; i++) {
        const rgm_exporter_type *type = own->exporters[i];

        RGM_TRY(check_row("exporter", &type->section, type->save != NULL));
        for (int64_t k = 0; (other = rgmi_exporter(own, k)) != NULL; k++)
            RGM_TRY(check_name("exporter", &type->section, &other->section));
    }
    return RGM_OK;
}

static rgm_status check_actions(const rgm_extensions *own)
{
    for (int64_t i = 0; own->actions != NULL && own->actions[i] != NULL; i++) {
        const rgm_action_type *type = own->actions[i];

        RGM_TRY(check_row("action", &type->section, type->run != NULL));
        for (int64_t k = 0; k < i; k++)
            RGM_TRY(check_name("action", &type->section, &own->actions[k]->section));
    }
    return RGM_OK;
}

rgm_status rgmi_extensions_check(const rgm_extensions *own)
{
    if (own == NULL)
        return RGM_OK;
    RGM_TRY(rgm_optimizer_rows_check(&own->optim));
    RGM_TRY(check_tasks(own));
    RGM_TRY(check_models(own));
    RGM_TRY(check_exporters(own));
    return check_actions(own);
}
