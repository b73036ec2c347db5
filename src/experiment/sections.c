/*
 * The sections of an experiment file. task.type decides by what tables data, task and model are
 * read.
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

rgm_status rgmi_at_node(rgm_status status, const rgm_yaml_node *section)
{
    if (status == RGM_OK || section == NULL)
        return status;
    if (section->origin[0] == '-' || section->origin[0] == '$')
        return rgm_error_prefix(status, "%s", section->origin);
    return rgm_error_prefix(status, "%s:%d:%d", section->origin, section->line, section->column);
}

/* The options of a section by its row, checked. The type itself and `also` are read elsewhere. */
static rgm_status read_options(void **out, rgm_experiment *e, const rgm_section_type *type,
                               const rgm_yaml_node *section, const char *path,
                               const char *const *also)
{
    if (type->options_size > 0) {
        *out = rgm_arena_alloc(e->arena, type->options_size);
        if (*out == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory for %zu bytes of options",
                            type->options_size);
        if (type->defaults != NULL)
            type->defaults(*out);
    }
    RGM_TRY(rgm_options_read(*out, type->fields, section, path, also, e->arena));
    return type->check != NULL ? rgmi_at_node(type->check(*out), section) : RGM_OK;
}

/* ---- data, task, model --------------------------------------------------------------------- */

/* What a task section asks for; `joined`: it is an entry of `tasks`. */
static rgm_status read_task_type(const rgm_task_type **out, const rgm_section_type **kind,
                                 const rgm_yaml_node *section, const char *path, bool joined)
{
    int64_t type_count, count = 0;
    const rgm_task_type *const *types = rgm_task_types(&type_count);
    const char *names[MAX_NAMES], *name = NULL;

    for (int64_t i = 0; i < type_count; i++)
        for (int64_t k = 0; types[i]->tasks[k] != NULL && count < MAX_NAMES; k++)
            if (!joined || types[i]->most_parts > 0)
                names[count++] = types[i]->tasks[k]->name;
    RGM_TRY(read_type(&name, section, path, names, count));
    for (int64_t i = 0; i < type_count; i++) {
        *out = types[i];
        *kind = rgm_section_type_find(types[i]->tasks, name);
        if (*kind != NULL)
            break;
    }
    return RGM_OK;
}

static rgm_status read_part(rgm_task_part *part, rgm_experiment *e, const rgm_yaml_node *section,
                            const char *path)
{
    static const char *const with_weight[] = {"type", "loss_weight", NULL};
    const rgm_yaml_node *weight = part->name != NULL ? rgm_yaml_find(section, "loss_weight") : NULL;

    part->loss_weight = 1;
    part->options = e->setup.data; /* where a type has one struct for both sections */
    if (weight != NULL)
        RGM_TRY(rgm_yaml_float(&part->loss_weight, weight));
    if (!(part->loss_weight >= 0 && isfinite(part->loss_weight)))
        return rgm_yaml_fail(weight, "'loss_weight' is %g, but must be finite and at least 0",
                             part->loss_weight);
    return read_options(&part->options, e, part->type, section, path,
                        part->name != NULL ? with_weight : type_key);
}

static rgm_status part_path(char path[128], const rgm_yaml_node *section)
{
    if (strchr(section->key, '.') != NULL)
        return rgm_yaml_fail(section, "the name of task '%s' has a dot, which parts keys",
                             section->key);
    snprintf(path, 128, "tasks.%s", section->key);
    return RGM_OK;
}

/* The types of all entries of `tasks`, which are of one task type. */
static rgm_status read_joined_types(rgm_experiment *e, const rgm_yaml_node *many)
{
    if (many->kind != RGM_YAML_MAP || many->count < 1 || many->count > RGM_MAX_HEADS)
        return rgm_yaml_fail(many, "tasks is a map of 1 to %d named tasks", RGM_MAX_HEADS);
    for (int64_t i = 0; i < many->count; i++) {
        const rgm_yaml_node *section = many->items[i];
        const rgm_task_type *type;
        char path[128];

        RGM_TRY(part_path(path, section));
        e->setup.parts[i].name = section->key;
        RGM_TRY(read_task_type(&type, &e->setup.parts[i].type, section, path, true));
        if (e->type != NULL && type != e->type)
            return rgm_yaml_fail(section, "'%s' is a task of %ss, the others are of %ss",
                                 section->key, type->name, e->type->name);
        e->type = type;
    }
    e->setup.part_count = many->count;
    return RGM_OK;
}

static rgm_status read_model(rgm_experiment *e, const rgm_yaml_node *section)
{
    const char *names[MAX_NAMES], *name = NULL;
    int64_t count = 0;

    for (; count < MAX_NAMES && e->type->models[count] != NULL; count++)
        names[count] = e->type->models[count]->name;
    RGM_TRY(read_type(&name, section, "model", names, count));
    e->setup.model = rgm_section_type_find(e->type->models, name);
    return read_options(&e->setup.model_options, e, e->setup.model, section, "model", type_key);
}

static rgm_status read_what_is_trained(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *one = rgm_yaml_find(root, "task"), *many = rgm_yaml_find(root, "tasks");
    const rgm_yaml_node *model = rgm_yaml_find(root, "model");
    char path[128] = "task";

    if ((one != NULL) == (many != NULL))
        return rgm_yaml_fail(many != NULL ? many : root,
                             "exactly one of the sections 'task' and 'tasks' is needed");
    if (one != NULL) {
        RGM_TRY(read_task_type(&e->type, &e->setup.parts[0].type, one, path, false));
        e->setup.part_count = 1;
    } else {
        RGM_TRY(read_joined_types(e, many));
    }
    if (model == NULL || rgm_yaml_find(root, "data") == NULL)
        return rgm_yaml_fail(root, "the section '%s' is missing", model == NULL ? "model" : "data");
    RGM_TRY(
        read_options(&e->setup.data, e, e->type->data, rgm_yaml_find(root, "data"), "data", NULL));
    for (int64_t i = 0; i < e->setup.part_count; i++) {
        if (many != NULL)
            RGM_TRY(part_path(path, many->items[i]));
        RGM_TRY(read_part(&e->setup.parts[i], e, many != NULL ? many->items[i] : one, path));
    }
    return read_model(e, model);
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
        (rgm_number_parse(&scale, node->text) && scale > 0 && isfinite(scale)))
        return RGM_OK;
    return rgm_yaml_fail(node, "'loss_scale' is %.60s; it is none, dynamic or a number above 0",
                         node->text);
}

static rgm_status check_privacy(const rgm_experiment *e, const rgm_yaml_node *trainer)
{
    const rgm_yaml_node *section = rgm_yaml_find(trainer, "privacy");

    RGM_TRY(rgmi_at_node(rgm_privacy_check(&e->trainer.privacy), section));
    return rgmi_at_node(rgm_task_type_check_privacy(e->type, &e->trainer.privacy), section);
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
        const char *near;
        int64_t count = 0;

        while (rgmi_section_names[count] != NULL &&
               strcmp(section->key, rgmi_section_names[count]) != 0)
            count++;
        if (rgmi_section_names[count] != NULL)
            continue;
        near = nearest_section(section);
        if (near != NULL)
            return rgm_yaml_fail(section, "unknown section '%s'; did you mean '%s'?", section->key,
                                 near);
        return rgm_yaml_fail(
            section, "unknown section '%s'%s", section->key,
            rgm_did_you_mean(NULL, rgmi_section_names, count, NULL, "there are ").text);
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
    RGM_TRY(check_privacy(e, rgm_yaml_find(root, "trainer")));
    RGM_TRY(rgm_options_read(&e->runtime, rgm_runtime_fields, rgm_yaml_find(root, "runtime"),
                             "runtime", NULL, e->arena));
    RGM_TRY(check_loss_scale(rgm_yaml_find(root, "runtime")));
    RGM_TRY(read_description(e, root));
    return read_exports(e, root);
}
