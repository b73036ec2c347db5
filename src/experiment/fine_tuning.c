/*
 * What a run that starts from another's weights is told of that other: keys by which a class, a
 * label or a feature of the same number means something else. Shapes agree all the same, so nothing
 * else would say it.
 */
#include <stdio.h>
#include <string.h>

#include "experiment_internal.h"

/* A section that is no map stands for its keys; NULL: not set. */
static const rgm_yaml_node *find_key(const rgm_yaml_node *root, const char *section,
                                     const char *key)
{
    const rgm_yaml_node *node = rgm_yaml_find(root, section);

    return node != NULL && node->kind == RGM_YAML_MAP ? rgm_yaml_find(node, key) : node;
}

static rgm_status tell_key(const rgm_experiment *e, const rgm_yaml_node *there, const char *section,
                           const char *key)
{
    char *was = NULL, *is = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgm_yaml_flow_text(&was, find_key(there, section, key)));
    RGM_GO(rgm_yaml_flow_text(&is, find_key(rgm_yaml_root(e->yaml), section, key)));
    if (strcmp(was, is) != 0)
        rgm_log_write(
            RGM_LOG_WARNING,
            "trainer.initialize: %s.%s is %s here and %s in %s, whose weights were trained with it",
            section, key, *is != '\0' ? is : "not set", *was != '\0' ? was : "not set",
            e->trainer.initialize.checkpoint);
done:
    rgm_free(was);
    rgm_free(is);
    return status;
}

rgm_status rgmi_fine_tuning_tell(const rgm_experiment *e)
{
    static const char *const keys[][2] = {
        {"task", "type"},    {"task", "label"}, {"task", "num_classes"}, {"task", "class_names"},
        {"data", "relabel"}, {"data", "label"}, {"data", "scale"},       {"model", "input"},
    };
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
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        RGM_GO(tell_key(e, rgm_yaml_root(there), keys[i][0], keys[i][1]));
done:
    rgm_yaml_release(there);
    rgm_free(path);
    rgm_free(run);
    return status;
}
