/*
 * From layers to a checked experiment.
 */
#include <string.h>

#include "experiment_internal.h"

/* "folder/cora_gcn.yaml" and "folder/cora_gcn" to "cora_gcn". */
static rgm_status name_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    return rgm_strndup(out, name, dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name));
}

static rgm_status load(rgm_experiment *e, const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

    RGM_GO(rgmi_extensions_check(layers->own));
    e->own = layers->own;
    RGM_GO(rgmi_layers_merge(&e->yaml, layers, e->arena));
    RGM_GO(rgmi_sections_read(e));
    RGM_GO(rgmi_values_collect(e));
    RGM_GO(rgmi_restrictions_check(e));
    RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(e->yaml)));
    e->text = text.data;
    text = (rgm_text){0};
done:
    rgm_text_clear(&text);
    return status;
}

rgm_status rgm_experiment_load_layers(rgm_experiment **out, const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;

    *out = NULL;
    RGM_GO(RGM_NEW(e, 1));
    RGM_GO(rgm_strdup(&e->path, layers->name));
    RGM_GO(name_of(&e->name, layers->name));
    RGM_GO(rgm_arena_create(&e->arena));
    status = load(e, layers);
    /* What is wrong with --set or a variable has no place in a file; it is still what this is
     * about. */
    if (status == RGM_ERR_CONFIG && (strncmp(rgm_error_message(), "--set", 5) == 0 ||
                                     strncmp(rgm_error_message(), "$", 1) == 0))
        rgm_error_prefix(status, "%s", layers->name);
    RGM_GO(status);
    *out = e;
    e = NULL;
done:
    rgm_experiment_release(e);
    return status;
}

rgm_status rgm_experiment_load(rgm_experiment **out, const char *name, const char *const *sets,
                               int64_t set_count)
{
    rgm_experiment_layers layers = {.name = name, .sets = sets, .set_count = set_count};

    return rgm_experiment_load_layers(out, &layers);
}

rgm_status rgm_experiment_load_run(rgm_experiment **out, const char *run_dir,
                                   const char *const *sets, int64_t set_count)
{
    char *path = NULL;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_path_join(&path, run_dir, "config.yaml"));
    if (!rgm_path_exists(path))
        status =
            RGM_FAIL(RGM_ERR_NOT_FOUND, "%s is not a run folder: it has no config.yaml", run_dir);
    else
        status = rgm_experiment_load(out, path, sets, set_count);
    rgm_free(path);
    return status;
}

void rgm_experiment_release(rgm_experiment *e)
{
    if (e == NULL)
        return;
    rgm_task_release(&e->task);
    rgm_yaml_release(e->yaml);
    rgm_arena_release(e->arena);
    rgm_free(e->values);
    rgm_free(e->path);
    rgm_free(e->name);
    rgm_free(e->text);
    rgm_free(e);
}

const char *rgm_experiment_text(const rgm_experiment *experiment)
{
    return experiment->text;
}

const char *rgm_experiment_name(const rgm_experiment *experiment)
{
    return experiment->name;
}

const char *rgm_experiment_description(const rgm_experiment *experiment)
{
    return experiment->description;
}
