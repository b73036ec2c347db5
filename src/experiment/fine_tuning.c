/*
 * What a run that starts from another's weights is told of that other: keys by which a class, a
 * label or a feature of the same number means something else. Shapes agree all the same, so nothing
 * else would say it.
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

/* A section that is no map stands for its keys; NULL: not set. */
static const rgm_yaml_node *key_of(const rgm_yaml_node *section, const char *key)
{
    return section != NULL && section->kind == RGM_YAML_MAP ? rgm_yaml_find(section, key) : section;
}

/* The same section of both files; path: its name here. */
typedef struct pair {
    const rgm_experiment *e;
    const char *path;
    const rgm_yaml_node *here, *there;
} pair;

static rgm_status tell_key(const pair *p, const char *key)
{
    char *was = NULL, *is = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_yaml_flow_text(&was, key_of(p->there, key)));
    RGM_GO(rgm_yaml_flow_text(&is, key_of(p->here, key)));
    if (strcmp(was, is) != 0)
        rgm_log_write(
            RGM_LOG_WARNING,
            "trainer.initialize: %s.%s is %s here and %s in %s, whose weights were trained with it",
            p->path, key, *is != '\0' ? is : "not set", *was != '\0' ? was : "not set",
            p->e->trainer.initialize.checkpoint);
done:
    rgm_free(was);
    rgm_free(is);
    return status;
}

/*
 * The other run's section of a task, by its name (NULL: that of `task`). Where both have but one
 * task it is that one, whatever its name. NULL: there is none, so the task's head is new.
 */
static const rgm_yaml_node *task_there(const rgm_yaml_node *root, const char *name, bool alone)
{
    const rgm_yaml_node *many = rgm_yaml_find(root, "tasks"), *found;

    if (many == NULL)
        return alone ? rgm_yaml_find(root, "task") : NULL;
    found = name != NULL ? rgm_yaml_find(many, name) : NULL;
    return found == NULL && alone && many->count == 1 ? many->items[0] : found;
}

static rgm_status tell_tasks(const rgm_experiment *e, const rgm_yaml_node *there)
{
    static const char *const keys[] = {"type", "label", "num_classes", "class_names"};
    const rgm_yaml_node *root = rgm_yaml_root(e->yaml), *many = rgm_yaml_find(root, "tasks");
    rgm_status status = RGM_OK;
    char *path = NULL;

    for (int64_t i = 0; i < e->setup.part_count; i++) {
        const char *name = e->setup.parts[i].name;
        pair p = {.e = e,
                  .path = "task",
                  .here = many != NULL ? many->items[i] : rgm_yaml_find(root, "task"),
                  .there = task_there(there, name, e->setup.part_count == 1)};

        if (p.there == NULL)
            continue;
        rgm_free(path);
        path = NULL;
        if (many != NULL) {
            RGM_GO(rgm_strprintf(&path, "tasks.%s", name));
            p.path = path;
        }
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            RGM_GO(tell_key(&p, keys[k]));
    }
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_fine_tuning_tell(const rgm_experiment *e)
{
    static const char *const keys[][2] = {
        {"data", "relabel"}, {"data", "label"}, {"data", "scale"}, {"model", "input"}};
    char *run = NULL, *path = NULL;
    rgm_yaml *there = NULL;
    rgm_status status = RGM_OK;

    if (e->trainer.initialize.checkpoint == NULL)
        return RGM_OK;
    RGM_GO(rgm_run_of_weights(&run, e->trainer.initialize.checkpoint));
    if (run == NULL)
        goto done;
    RGM_GO(rgm_path_join(&path, run, "config.yaml"));
    RGM_GO(rgm_yaml_load(&there, path));
    RGM_GO(tell_tasks(e, rgm_yaml_root(there)));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const pair p = {.e = e,
                        .path = keys[i][0],
                        .here = rgm_yaml_find(rgm_yaml_root(e->yaml), keys[i][0]),
                        .there = rgm_yaml_find(rgm_yaml_root(there), keys[i][0])};

        RGM_GO(tell_key(&p, keys[i][1]));
    }
done:
    rgm_yaml_release(there);
    rgm_free(path);
    rgm_free(run);
    return status;
}
