/*
 * The sections of an experiment file. task.type decides what data, task and model are made of: a
 * graph network, or a task that brings tables of its own.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

#define MAX_NAMES 128

const char *const rgmi_section_names[] = {"data",        "task",         "tasks",   "model",
                                          "optimizer",   "trainer",      "runtime", "export",
                                          "description", "restrictions", NULL};

/* ---- sections with a type ------------------------------------------------------------------ */

static const char *const type_key[] = {"type", NULL};

/* The `type` of a section; an error that lists the names when it is none of them. */
static rgm_status read_type(const char **out, const rgm_yaml_node *section, const char *path,
                            const char *const *names, int64_t count)
{
    const rgm_yaml_node *type = rgm_yaml_find(section, "type");
    const char *text = type != NULL && type->kind == RGM_YAML_SCALAR ? type->text : "", *near;
    rgm_status status = RGM_OK;
    rgm_text list = {0};

    for (int64_t i = 0; i < count; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = names[i];
            return RGM_OK;
        }
    for (int64_t i = 0; i < count; i++)
        RGM_GO(rgm_text_printf(&list, "%s%s", i > 0 ? ", " : "", names[i]));
    near = rgm_nearest_name(text, names, count);
    if (section->kind != RGM_YAML_MAP)
        status = rgm_yaml_fail(section, "'%s' should be a map of keys with 'type'", path);
    else if (type == NULL)
        status = rgm_yaml_fail(section, "%s.type is missing; it is one of %s", path, list.data);
    else if (near != NULL)
        status = rgm_yaml_fail(type, "%s.type '%s' is unknown; did you mean '%s'? It is one of %s",
                               path, text, near, list.data);
    else
        status =
            rgm_yaml_fail(type, "%s.type '%s' is unknown; it is one of %s", path, text, list.data);
done:
    rgm_text_clear(&list);
    return status;
}

/* What a check by another layer found, told with the section's place; NULL: it is not in the file.
 */
static rgm_status at_section(rgm_status status, const rgm_yaml_node *section)
{
    if (status == RGM_OK || section == NULL)
        return status;
    if (section->origin[0] == '-' || section->origin[0] == '$')
        return rgm_error_prefix(status, "%s", section->origin);
    return rgm_error_prefix(status, "%s:%d:%d", section->origin, section->line, section->column);
}

/* Zeroed options of a row, with its defaults. */
static rgm_status make_options(void **out, rgm_experiment *e, size_t size, void (*defaults)(void *))
{
    *out = rgm_arena_alloc(e->arena, size > 0 ? size : 1);
    if (*out == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %zu bytes of options", size);
    if (defaults != NULL)
        defaults(*out);
    return RGM_OK;
}

/* Names of every task that a single `task` section may ask for. */
static int64_t task_names(const char **names, bool several)
{
    int64_t count, graph_count;
    const rgm_gnn_task_type *const *graph_types = rgm_gnn_task_types(&graph_count);
    const rgm_task_type *const *types = rgm_task_types(&count);
    int64_t n = 0;

    for (int64_t i = 0; i < graph_count && n < MAX_NAMES; i++)
        names[n++] = graph_types[i]->name;
    for (int64_t i = 0; i < count && n < MAX_NAMES && !several; i++)
        names[n++] = types[i]->name;
    return n;
}

/* ---- graph networks ------------------------------------------------------------------------ */

static rgm_status read_graph_task(rgm_gnn_task *task, rgm_experiment *e, const char *type,
                                  const rgm_yaml_node *section, const char *path,
                                  const char *const *also)
{
    task->type = rgm_gnn_task_find(type);
    rgm_classification_defaults(&task->options);
    RGM_TRY(rgm_options_read(&task->options, task->type->fields, section, path, also, e->arena));
    return at_section(rgm_gnn_task_check(task, NULL), section);
}

static rgm_status read_graph_tasks(rgm_experiment *e, const rgm_yaml_node *many)
{
    static const char *const also[] = {"type", "loss_weight", NULL};
    const char *names[MAX_NAMES], *type;
    int64_t count = task_names(names, true);

    if (many->kind != RGM_YAML_MAP || many->count < 1 || many->count > RGM_MAX_HEADS)
        return rgm_yaml_fail(many, "tasks is a map of 1 to %d named tasks", RGM_MAX_HEADS);
    for (int64_t i = 0; i < many->count; i++) {
        const rgm_yaml_node *section = many->items[i];
        const rgm_yaml_node *weight = rgm_yaml_find(section, "loss_weight");
        char path[128];

        if (strchr(section->key, '.') != NULL)
            return rgm_yaml_fail(section, "the name of task '%s' has a dot, which parts keys",
                                 section->key);
        snprintf(path, sizeof path, "tasks.%s", section->key);
        e->tasks[i].name = section->key;
        e->loss_weights[i] = 1;
        if (weight != NULL)
            RGM_TRY(rgm_yaml_float(&e->loss_weights[i], weight));
        RGM_TRY(read_type(&type, section, path, names, count));
        RGM_TRY(read_graph_task(&e->tasks[i], e, type, section, path, also));
    }
    e->task_count = many->count;
    return RGM_OK;
}

static rgm_status read_graph_data(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *section = rgm_yaml_find(root, "data");

    if (section == NULL)
        return rgm_yaml_fail(root, "the section 'data' is missing");
    rgmi_graph_data_defaults(&e->data);
    RGM_TRY(rgm_options_read(&e->data, rgmi_graph_data_fields, section, "data", NULL, e->arena));
    return rgmi_graph_data_check(&e->data, section);
}

static rgm_status read_graph_model(rgm_experiment *e, const rgm_yaml_node *section)
{
    int64_t count;
    const rgm_model_type *const *types = rgm_model_types(&count);
    const char *names[MAX_NAMES], *name;

    for (int64_t i = 0; i < count && i < MAX_NAMES; i++)
        names[i] = types[i]->name;
    RGM_TRY(read_type(&name, section, "model", names, count));
    e->model = rgm_model_find(name);
    RGM_TRY(make_options(&e->model_options, e, e->model->options_size, e->model->defaults));
    return rgm_options_read(e->model_options, e->model->fields, section, "model", type_key,
                            e->arena);
}

/* ---- tasks with tables of their own -------------------------------------------------------- */

static rgm_status read_network(rgm_experiment *e, const rgm_yaml_node *section)
{
    const rgm_network_type *const *types = e->task_type->networks;
    const char *names[MAX_NAMES], *name;
    int64_t count = 0, at = 0;

    for (; count < MAX_NAMES && types[count] != NULL; count++)
        names[count] = types[count]->name;
    RGM_TRY(read_type(&name, section, "model", names, count));
    while (names[at] != name)
        at++;
    e->network = types[at];
    RGM_TRY(make_options(&e->model_options, e, e->network->options_size, e->network->defaults));
    return rgm_options_read(e->model_options, e->network->fields, section, "model", type_key,
                            e->arena);
}

static rgm_status read_own_tables(rgm_experiment *e, const rgm_yaml_node *root,
                                  const rgm_yaml_node *task)
{
    const rgm_task_type *type = e->task_type;

    RGM_TRY(make_options(&e->task_options, e, type->options_size, type->defaults));
    RGM_TRY(rgm_options_read(e->task_options, type->data_fields, rgm_yaml_find(root, "data"),
                             "data", NULL, e->arena));
    RGM_TRY(rgm_options_read(e->task_options, type->task_fields, task, "task", type_key, e->arena));
    return type->check != NULL ? at_section(type->check(e->task_options), task) : RGM_OK;
}

/* ---- data, task, model --------------------------------------------------------------------- */

static rgm_status read_what_is_trained(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *one = rgm_yaml_find(root, "task"), *many = rgm_yaml_find(root, "tasks");
    const rgm_yaml_node *model = rgm_yaml_find(root, "model");
    const char *names[MAX_NAMES], *type = NULL;

    if ((one != NULL) == (many != NULL))
        return rgm_yaml_fail(many != NULL ? many : root,
                             "exactly one of the sections 'task' and 'tasks' is needed");
    if (one != NULL) {
        RGM_TRY(read_type(&type, one, "task", names, task_names(names, false)));
        e->task_type = rgm_task_find(type);
    }
    if (model == NULL)
        return rgm_yaml_fail(root, "the section 'model' is missing");
    if (e->task_type != NULL) {
        RGM_TRY(read_own_tables(e, root, one));
        return read_network(e, model);
    }
    RGM_TRY(read_graph_data(e, root));
    if (one != NULL) {
        e->task_count = 1;
        e->loss_weights[0] = 1;
        RGM_TRY(read_graph_task(&e->tasks[0], e, type, one, "task", type_key));
    } else {
        RGM_TRY(read_graph_tasks(e, many));
    }
    return read_graph_model(e, model);
}

/* ---- the others ---------------------------------------------------------------------------- */

static rgm_status read_exports(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *list = rgm_yaml_find(root, "export");

    if (list == NULL)
        return RGM_OK;
    if (list->kind != RGM_YAML_LIST || list->count > 8)
        return rgm_yaml_fail(list, "export is a list of up to 8 exporters, e.g. [{type: onnx}]");
    for (int64_t i = 0; i < list->count; i++) {
        static const char *const names[] = {"onnx"};
        static const rgm_field none[] = {{0}};
        const char *name;

        RGM_TRY(read_type(&name, list->items[i], "export", names, 1));
        RGM_TRY(rgm_options_read(e, none, list->items[i], "export", type_key, e->arena));
        e->exporters[i] = rgm_onnx_exporter();
    }
    e->exporter_count = list->count;
    return RGM_OK;
}

static rgm_status check_loss_scale(const rgm_yaml_node *runtime)
{
    const rgm_yaml_node *node = rgm_yaml_find(runtime, "loss_scale");
    double scale;

    if (node == NULL || strcmp(node->text, "none") == 0 || strcmp(node->text, "dynamic") == 0 ||
        (rgmi_number(&scale, node->text) && scale > 0 && isfinite(scale)))
        return RGM_OK;
    return rgm_yaml_fail(node, "'loss_scale' is %.60s; it is none, dynamic or a number above 0",
                         node->text);
}

static rgm_status read_description(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *node = rgm_yaml_find(root, "description");

    e->description = node != NULL ? node->text : "";
    if (node != NULL && node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "description is a text");
    return RGM_OK;
}

/* The section that was meant: by its own name, or by "section.key", which says more. */
static const char *nearest_section(const rgm_yaml_node *section)
{
    char wrong[128], right[16][128];
    const char *names[16], *near;
    int64_t count = 0;

    for (; rgmi_section_names[count] != NULL && count < 16; count++)
        names[count] = rgmi_section_names[count];
    near = rgm_nearest_name(section->key, names, count);
    if (near != NULL || section->kind != RGM_YAML_MAP || section->count == 0)
        return near;
    snprintf(wrong, sizeof wrong, "%s.%s", section->key, section->items[0]->key);
    for (int64_t i = 0; i < count; i++) {
        snprintf(right[i], sizeof right[i], "%s.%s", rgmi_section_names[i], section->items[0]->key);
        names[i] = right[i];
    }
    near = rgm_nearest_name(wrong, names, count);
    for (int64_t i = 0; i < count; i++)
        if (near == names[i])
            return rgmi_section_names[i];
    return NULL;
}

static rgm_status check_sections(const rgm_yaml_node *root)
{
    if (root->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(root, "an experiment file is a map of sections");
    for (int64_t i = 0; i < root->count; i++) {
        const rgm_yaml_node *section = root->items[i];
        const char *const *name = rgmi_section_names;
        const char *near;

        while (*name != NULL && strcmp(section->key, *name) != 0)
            name++;
        if (*name != NULL)
            continue;
        near = nearest_section(section);
        if (near != NULL)
            return rgm_yaml_fail(section, "unknown section '%s'; did you mean '%s'?", section->key,
                                 near);
        return rgm_yaml_fail(section,
                             "unknown section '%s'; there are data, task, tasks, model, optimizer, "
                             "trainer, runtime, export, description, restrictions",
                             section->key);
    }
    return RGM_OK;
}

rgm_status rgmi_sections_read(rgm_experiment *e)
{
    const rgm_yaml_node *root = rgm_yaml_root(e->yaml);

    RGM_TRY(check_sections(root));
    RGM_TRY(read_what_is_trained(e, root));
    rgm_trainer_defaults(&e->trainer);
    rgm_runtime_defaults(&e->runtime);
    RGM_TRY(rgm_optimizer_options_read(&e->optimizer, rgm_yaml_find(root, "optimizer"), e->arena));
    RGM_TRY(rgm_options_read(&e->trainer, rgm_trainer_fields, rgm_yaml_find(root, "trainer"),
                             "trainer", NULL, e->arena));
    RGM_TRY(at_section(rgm_privacy_check(&e->trainer.privacy), rgm_yaml_find(root, "trainer")));
    RGM_TRY(rgm_options_read(&e->runtime, rgm_runtime_fields, rgm_yaml_find(root, "runtime"),
                             "runtime", NULL, e->arena));
    RGM_TRY(check_loss_scale(rgm_yaml_find(root, "runtime")));
    RGM_TRY(read_description(e, root));
    return read_exports(e, root);
}
