/*
 * Reads the sections of an experiment file. task.type decides which tables describe data, task and
 * model.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

#define MAX_NAMES 128

const char *const rgm_experiment_section_names[] = {
    "data",    "task",   "tasks",   "model",       "optimizer",    "trainer",
    "runtime", "export", "actions", "description", "restrictions", NULL};

/* ---- sections with a type ------------------------------------------------------------------ */

static const char *const type_key[] = {"type", NULL};

/* ---- data, task, model --------------------------------------------------------------------- */

/* The task type that a task section names; `joined`: the section is an entry of `tasks`. */
static rgm_status read_task_type(const rgm_task_type **out, const rgm_section_type **kind,
                                 const rgm_experiment *e, const rgm_yaml_node *section,
                                 const char *path, bool joined)
{
    const char *names[MAX_NAMES], *name = NULL;
    const rgm_section_type *row;
    int64_t count = 0;

    for (int64_t i = 0; (*out = rgmi_task_type(e->own, i)) != NULL; i++)
        for (int64_t k = 0; (row = rgmi_kind(e->own, *out, k)) != NULL && count < MAX_NAMES; k++)
            if (!joined || (*out)->most_parts > 0)
                names[count++] = row->name;
    RGM_TRY(rgm_yaml_type(&name, section, path, names, count));
    for (int64_t i = 0; (*out = rgmi_task_type(e->own, i)) != NULL; i++)
        for (int64_t k = 0; (*kind = rgmi_kind(e->own, *out, k)) != NULL; k++)
            if (strcmp((*kind)->name, name) == 0)
                return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG, "%s.type '%s' is of no task type", path, name);
}

/* Read a section of an export: rgm_task_type.serve checks what it needs, which is less than
 * training. */
static rgm_status read_trained(void **out, rgm_experiment *e, const rgm_section_type *type,
                               const rgm_yaml_node *section, const char *path,
                               const char *const *also)
{
    rgm_section_type row = *type;

    if (e->serves)
        row.check = NULL;
    return rgm_section_type_read(out, &row, section, path, also, e->arena);
}

static rgm_status read_part(rgm_task_part *part, rgm_experiment *e, const rgm_yaml_node *section,
                            const char *path)
{
    static const char *const with_weight[] = {"type", "loss_weight", NULL};
    const rgm_yaml_node *weight = part->name != NULL ? rgm_yaml_find(section, "loss_weight") : NULL;

    part->loss_weight = 1;
    part->options = e->setup.data; /* for a type with one struct for both sections */
    part->learns_weight = weight != NULL && e->type->learned_weights &&
                          weight->kind == RGM_YAML_SCALAR && strcmp(weight->text, "learned") == 0;
    if (weight != NULL && !part->learns_weight)
        RGM_TRY(rgm_yaml_float(&part->loss_weight, weight));
    if (!(part->loss_weight >= 0 && isfinite(part->loss_weight)))
        return rgm_yaml_fail(weight, "'loss_weight' is %g, but must be finite and at least 0",
                             part->loss_weight);
    return read_trained(&part->options, e, part->type, section, path,
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

/* Read the types of all entries of `tasks`, which must have one task type. */
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
        RGM_TRY(read_task_type(&type, &e->setup.parts[i].type, e, section, path, true));
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
    const rgm_section_type *row;
    int64_t count = 0;

    for (; count < MAX_NAMES && (row = rgmi_model(e->own, e->type, count)) != NULL; count++)
        names[count] = row->name;
    RGM_TRY(rgm_yaml_type(&name, section, "model", names, count));
    for (int64_t i = 0; (row = rgmi_model(e->own, e->type, i)) != NULL; i++)
        if (strcmp(row->name, name) == 0)
            e->setup.model = row;
    return rgm_section_type_read(&e->setup.model_options, e->setup.model, section, "model",
                                 type_key, e->arena);
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
        RGM_TRY(read_task_type(&e->type, &e->setup.parts[0].type, e, one, path, false));
        e->setup.part_count = 1;
    } else {
        RGM_TRY(read_joined_types(e, many));
    }
    if (model == NULL || rgm_yaml_find(root, "data") == NULL)
        return rgm_yaml_fail(root, "the section '%s' is missing", model == NULL ? "model" : "data");
    RGM_TRY(
        read_trained(&e->setup.data, e, e->type->data, rgm_yaml_find(root, "data"), "data", NULL));
    for (int64_t i = 0; i < e->setup.part_count; i++) {
        if (many != NULL)
            RGM_TRY(part_path(path, many->items[i]));
        RGM_TRY(read_part(&e->setup.parts[i], e, many != NULL ? many->items[i] : one, path));
    }
    return read_model(e, model);
}

/* ---- the others ---------------------------------------------------------------------------- */

static rgm_status check_list(const rgm_yaml_node *list, const char *path)
{
    if (list->kind != RGM_YAML_LIST || list->count > RGMI_MAX_ROWS)
        return rgm_yaml_fail(list, "%s is a list of up to %d maps with 'type'", path,
                             RGMI_MAX_ROWS);
    return RGM_OK;
}

static rgm_status read_exporter(rgm_exporter *out, rgm_experiment *e, const rgm_yaml_node *item)
{
    const char *names[MAX_NAMES], *name = NULL;
    const rgm_exporter_type *type;
    void *options = NULL;
    int64_t count = 0;

    for (; count < MAX_NAMES && (type = rgmi_exporter(e->own, count)) != NULL; count++)
        names[count] = type->section.name;
    RGM_TRY(rgm_yaml_type(&name, item, "export", names, count));
    for (int64_t i = 0; (type = rgmi_exporter(e->own, i)) != NULL; i++)
        if (strcmp(type->section.name, name) == 0)
            break;
    RGM_TRY(rgm_section_type_read(&options, &type->section, item, "export", type_key, e->arena));
    *out = (rgm_exporter){.name = type->section.name,
                          .save = type->save,
                          .payload = options,
                          .check = type->check,
                          .of_graph = type->of_graph};
    return RGM_OK;
}

static rgm_status read_exports(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *list = rgm_yaml_find(root, "export");

    if (list == NULL)
        return RGM_OK;
    RGM_TRY(check_list(list, "export"));
    for (int64_t i = 0; i < list->count; i++)
        RGM_TRY(read_exporter(&e->exporters[i], e, list->items[i]));
    e->exporter_count = list->count;
    return RGM_OK;
}

static rgm_status read_action(rgm_action *out, rgm_experiment *e, const rgm_yaml_node *item,
                              const char *path)
{
    const char *names[MAX_NAMES], *name = NULL;
    const rgm_action_type *type;
    void *options = NULL;
    int64_t count = 0;

    for (; count < MAX_NAMES && (type = rgmi_action(e->own, count)) != NULL; count++)
        names[count] = type->section.name;
    if (count == 0)
        return rgm_yaml_fail(item,
                             "%s: this program has no actions of its own, and the library "
                             "has none to name",
                             path);
    RGM_TRY(rgm_yaml_type(&name, item, path, names, count));
    for (int64_t i = 0; (type = rgmi_action(e->own, i)) != NULL; i++)
        if (strcmp(type->section.name, name) == 0)
            break;
    RGM_TRY(rgm_section_type_read(&options, &type->section, item, path, type_key, e->arena));
    *out = (rgm_action){.name = type->section.name,
                        .condition = type->condition,
                        .run = type->run,
                        .payload = options};
    return RGM_OK;
}

static rgm_status read_action_list(rgm_action *out, int64_t *count, rgm_experiment *e,
                                   const rgm_yaml_node *list, const char *path)
{
    if (list == NULL)
        return RGM_OK;
    RGM_TRY(check_list(list, path));
    for (int64_t i = 0; i < list->count; i++)
        RGM_TRY(read_action(&out[i], e, list->items[i], path));
    *count = list->count;
    return RGM_OK;
}

static rgm_status read_actions(rgm_experiment *e, const rgm_yaml_node *root)
{
    static const char *const lists[] = {"train", "eval", NULL};
    static const rgm_field none[] = {{0}};
    const rgm_yaml_node *section = rgm_yaml_find(root, "actions");

    if (section == NULL)
        return RGM_OK;
    RGM_TRY(rgm_options_read(e, none, section, "actions", lists, e->arena));
    RGM_TRY(read_action_list(e->train_actions, &e->train_action_count, e,
                             rgm_yaml_find(section, "train"), "actions.train"));
    return read_action_list(e->eval_actions, &e->eval_action_count, e,
                            rgm_yaml_find(section, "eval"), "actions.eval");
}

static rgm_status check_device(const rgm_yaml_node *runtime)
{
    const rgm_yaml_node *node = rgm_yaml_find(runtime, "device");

    if (node == NULL || rgm_runtime_is_device(node->text))
        return RGM_OK;
    return rgm_yaml_fail(node, "'device' is %.60s; it is cpu, gpu, gpu:N, cuda:N or opencl:N",
                         node->text);
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

    RGM_TRY(rgm_yaml_place(rgm_privacy_check(&e->trainer.privacy), section));
    return rgm_yaml_place(rgm_task_type_check_privacy(e->type, &e->trainer.privacy), section);
}

static rgm_status check_folds(const rgm_experiment *e, const rgm_yaml_node *trainer)
{
    if (e->trainer.folds == 0 || e->type->makes_folds)
        return RGM_OK;
    return rgm_yaml_fail(rgm_yaml_find(trainer, "folds"),
                         "the data of a %s cannot be parted into trainer.folds; name the files of "
                         "each part, or repeat the run by runtime.seeds",
                         e->type->name);
}

int64_t rgmi_fold_count(const rgm_experiment *e)
{
    return e->trainer.folds > 0 && e->trainer.fold == 0 ? e->trainer.folds : 1;
}

int64_t rgmi_seed_count(const rgm_experiment *e)
{
    return e->runtime.seeds > 1 ? e->runtime.seeds : 1;
}

int64_t rgm_experiment_part_count(const rgm_experiment *e)
{
    return rgmi_fold_count(e) * rgmi_seed_count(e);
}

static rgm_status check_export_dirs(const rgm_experiment *e, const rgm_yaml_node *trainer)
{
    int64_t runs = rgm_experiment_part_count(e);

    if (runs == 1 || e->exporter_count == 0 || e->trainer.exports.dirs.count == 0)
        return RGM_OK;
    return rgm_yaml_fail(rgm_yaml_find(rgm_yaml_find(trainer, "exports"), "dirs"),
                         "trainer.exports.dirs is one place for the exports of %lld runs, where "
                         "only the last would stay: leave it out, and each exports into its own "
                         "folder; or name one run, by trainer.fold or with runtime.seeds: ~",
                         (long long)runs);
}

static rgm_status read_description(rgm_experiment *e, const rgm_yaml_node *root)
{
    const rgm_yaml_node *node = rgm_yaml_find(root, "description");

    e->description = node != NULL ? node->text : "";
    if (node != NULL && node->kind != RGM_YAML_SCALAR)
        return rgm_yaml_fail(node, "description is a text");
    return RGM_OK;
}

/* The section that was probably meant: its name, or "section.key", which says more. */
static const char *nearest_section(const rgm_yaml_node *section)
{
    enum { COUNT = sizeof rgm_experiment_section_names / sizeof *rgm_experiment_section_names - 1 };
    char wrong[128], right[COUNT][128];
    const char *names[COUNT], *near;

    for (int64_t i = 0; i < COUNT; i++)
        names[i] = rgm_experiment_section_names[i];
    near = rgm_nearest_name(section->key, names, COUNT);
    if (near != NULL || section->kind != RGM_YAML_MAP || section->count == 0)
        return near;
    snprintf(wrong, sizeof wrong, "%s.%s", section->key, section->items[0]->key);
    for (int64_t i = 0; i < COUNT; i++) {
        snprintf(right[i], sizeof right[i], "%s.%s", rgm_experiment_section_names[i],
                 section->items[0]->key);
        names[i] = right[i];
    }
    near = rgm_nearest_name(wrong, names, COUNT);
    for (int64_t i = 0; i < COUNT; i++)
        if (near == names[i])
            return rgm_experiment_section_names[i];
    return NULL;
}

/* Sections that no single run has; the layer trial reads them. */
static bool makes_a_search(const char *name)
{
    static const char *const sections[] = {"searcher", "hyperparameters", "entrypoint", NULL};
    int i = 0;

    while (sections[i] != NULL && strcmp(sections[i], name) != 0)
        i++;
    return sections[i] != NULL;
}

static rgm_status check_sections(const rgm_experiment *e, const rgm_yaml_node *root)
{
    if (root->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(root, "an experiment file is a map of sections");
    for (int64_t i = 0; i < root->count; i++) {
        const rgm_yaml_node *section = root->items[i];
        const char *near;
        int64_t count = 0;

        while (rgm_experiment_section_names[count] != NULL &&
               strcmp(section->key, rgm_experiment_section_names[count]) != 0)
            count++;
        if (rgm_experiment_section_names[count] != NULL)
            continue;
        if (strcmp(section->key, "entrypoint") == 0 && rgm_yaml_find(root, "searcher") == NULL)
            return rgm_yaml_fail(section,
                                 "the model is in %s, which trials of a search load: regimen trial "
                                 "and regimen experiment",
                                 section->kind == RGM_YAML_SCALAR ? section->text : "a program");
        if (makes_a_search(section->key))
            return rgm_yaml_fail(section,
                                 "this is a search, as '%s' says: regimen experiment run %s",
                                 section->key, e->path);
        near = nearest_section(section);
        if (near != NULL)
            return rgm_yaml_fail(section, "unknown section '%s'; did you mean '%s'?", section->key,
                                 near);
        return rgm_yaml_fail(
            section, "unknown section '%s'%s", section->key,
            rgm_did_you_mean(NULL, rgm_experiment_section_names, count, NULL, "there are ").text);
    }
    return RGM_OK;
}

rgm_status rgmi_sections_read(rgm_experiment *e)
{
    const rgm_yaml_node *root = rgm_yaml_root(e->yaml);

    RGM_TRY(check_sections(e, root));
    RGM_TRY(read_what_is_trained(e, root));
    rgm_trainer_defaults(&e->trainer);
    rgm_runtime_defaults(&e->runtime);
    RGM_TRY(rgm_optimizer_options_read(&e->optimizer, rgm_yaml_find(root, "optimizer"),
                                       e->own != NULL ? &e->own->optim : NULL, e->arena));
    RGM_TRY(rgm_options_read(&e->trainer, rgm_trainer_fields, rgm_yaml_find(root, "trainer"),
                             "trainer", NULL, e->arena));
    RGM_TRY(check_privacy(e, rgm_yaml_find(root, "trainer")));
    RGM_TRY(check_folds(e, rgm_yaml_find(root, "trainer")));
    RGM_TRY(rgm_options_read(&e->runtime, rgm_runtime_fields, rgm_yaml_find(root, "runtime"),
                             "runtime", NULL, e->arena));
    RGM_TRY(check_loss_scale(rgm_yaml_find(root, "runtime")));
    RGM_TRY(check_device(rgm_yaml_find(root, "runtime")));
    RGM_TRY(rgm_yaml_place(rgm_service_check(&e->runtime.input_workers),
                           rgm_yaml_find(rgm_yaml_find(root, "runtime"), "input_workers")));
    RGM_TRY(read_description(e, root));
    RGM_TRY(read_actions(e, root));
    RGM_TRY(read_exports(e, root));
    return check_export_dirs(e, rgm_yaml_find(root, "trainer"));
}

/* ---- of an export -------------------------------------------------------------------------- */

enum { SERVING_VERSION = 1 };

rgm_status rgmi_serving_read(rgm_experiment *e)
{
    static const char *const sections[] = {"version", "data", "task", "tasks", "model", NULL};
    const rgm_yaml_node *root = rgm_yaml_root(e->yaml), *version;
    int64_t number = 0;

    if (root->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(root, "what an export keeps of its model is a map of sections");
    version = rgm_yaml_find(root, "version");
    if (version == NULL)
        return rgm_yaml_fail(root, "'version' is missing");
    RGM_TRY(rgm_yaml_int(&number, version));
    if (number != SERVING_VERSION)
        return RGM_FAIL(RGM_ERR_VERSION, "%s is of version %lld, this is version %d", e->path,
                        (long long)number, SERVING_VERSION);
    for (int64_t i = 0; i < root->count; i++) {
        int k = 0;

        while (sections[k] != NULL && strcmp(root->items[i]->key, sections[k]) != 0)
            k++;
        if (sections[k] == NULL)
            return rgm_yaml_fail(root->items[i], "unknown section '%s'", root->items[i]->key);
    }
    e->serves = true;
    return read_what_is_trained(e, root);
}
