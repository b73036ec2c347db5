/*
 * A file of steps: its keys, and which step reads what.
 */
#include <stdio.h>
#include <string.h>

#include "distil_internal.h"

static const rgmi_step_type *const types[] = {&rgmi_train_step, &rgmi_translate_step,
                                              &rgmi_back_translate_step, &rgmi_score_step,
                                              &rgmi_filter_step};
enum { TYPES = sizeof types / sizeof *types };

static const char *const type_key[] = {"type", NULL};

/* A name is a folder, and what others are called by. */
static rgm_status check_name(const rgm_yaml_node *node)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

    if (node->key[0] == '\0' || strlen(node->key) > 100 ||
        strspn(node->key, allowed) != strlen(node->key) || node->key[0] == '-')
        return rgm_yaml_fail(node, "the name of a step, '%.100s', has letters, digits, '_' and '-'",
                             node->key);
    if (node->kind != RGM_YAML_MAP)
        return rgm_yaml_fail(node, "steps.%s is a map with a 'type'", node->key);
    return RGM_OK;
}

static rgm_status read_step(rgmi_step *out, rgm_distil *d, const rgm_yaml_node *node)
{
    const char *names[TYPES], *name;
    char path[128];
    void *options;

    RGM_TRY(check_name(node));
    snprintf(path, sizeof path, "steps.%s", node->key);
    for (int i = 0; i < TYPES; i++)
        names[i] = types[i]->section.name;
    RGM_TRY(rgm_yaml_type(&name, node, path, names, TYPES));
    *out = (rgmi_step){.name = node->key, .node = node};
    for (int i = 0; i < TYPES; i++)
        if (strcmp(names[i], name) == 0)
            out->type = types[i];
    RGM_TRY(rgm_section_type_read(&options, &out->type->section, node, path, type_key, d->arena));
    out->options = options;
    return RGM_OK;
}

static rgm_status read_steps(rgm_distil *d)
{
    static const char *const keys[] = {"steps", "description", NULL};
    static const rgm_field none[] = {{0}};
    rgm_yaml_node *root = rgm_yaml_root(d->yaml), *steps;

    RGM_TRY(rgm_options_read(NULL, none, root, "", keys, d->arena));
    steps = rgm_yaml_find(root, "steps");
    if (steps == NULL || steps->kind != RGM_YAML_MAP || steps->count == 0)
        return rgm_yaml_fail(steps != NULL ? steps : root,
                             "'steps' is a map of steps by name, each with a 'type'");
    d->steps = rgm_arena_alloc(d->arena, (size_t)steps->count * sizeof *d->steps);
    if (d->steps == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: steps");
    for (; d->count < steps->count; d->count++) {
        rgmi_step *step = &d->steps[d->count];

        RGM_TRY(read_step(step, d, steps->items[d->count]));
        RGM_TRY(step->type->check(d, step));
    }
    return RGM_OK;
}

/* "steps.student.over.trainer.epochs=3" */
static rgm_status apply_set(rgm_yaml *yaml, const char *set, rgm_arena *arena)
{
    const char *equals = strchr(set, '=');
    char *path;

    if (equals == NULL || equals == set)
        return RGM_FAIL(RGM_ERR_CONFIG, "--set %s: it is KEY=VALUE", set);
    path = rgm_arena_strdup(arena, set);
    if (path == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory: --set");
    path[equals - set] = '\0';
    return rgm_yaml_set(yaml, path, equals + 1, "--set");
}

rgm_status rgm_distil_load(rgm_distil **out, const char *file, const char *const *sets,
                           int64_t set_count)
{
    rgm_status status = RGM_OK;
    rgm_distil *d = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(d, 1));
    RGM_GO(rgm_arena_create(&d->arena));
    RGM_GO(rgm_yaml_load(&d->yaml, file));
    for (int64_t i = 0; i < set_count; i++)
        RGM_GO(apply_set(d->yaml, sets[i], d->arena));
    RGM_GO(read_steps(d));
    *out = d;
    d = NULL;
done:
    rgm_distil_release(d);
    return status;
}

void rgm_distil_release(rgm_distil *d)
{
    if (d == NULL)
        return;
    rgm_yaml_release(d->yaml);
    rgm_arena_release(d->arena);
    rgm_free(d);
}
