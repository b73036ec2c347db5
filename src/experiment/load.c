/*
 * Loads the layers and checks the experiment.
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

/* Read and check the experiment's document. */
static rgm_status read_document(rgm_experiment *e)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};

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

static rgm_status begin(rgm_experiment **out, const char *name, const rgm_extensions *own)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;

    *out = NULL;
    RGM_GO(rgmi_extensions_check(own));
    RGM_GO(RGM_NEW(e, 1));
    e->own = own;
    RGM_GO(rgm_strdup(&e->path, name));
    RGM_GO(name_of(&e->name, name));
    RGM_GO(rgm_arena_create(&e->arena));
    *out = e;
    e = NULL;
done:
    rgm_experiment_release(e);
    return status;
}

/* Add the file's name to an error about --set or a variable, which has no place in the file. */
static rgm_status of_file(rgm_status status, const char *name)
{
    if (status == RGM_ERR_CONFIG && (strncmp(rgm_error_message(), "--set", 5) == 0 ||
                                     strncmp(rgm_error_message(), "$", 1) == 0))
        rgm_error_prefix(status, "%s", name);
    return status;
}

rgm_status rgm_experiment_load_layers(rgm_experiment **out, const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;

    *out = NULL;
    RGM_GO(begin(&e, layers->name, layers->own));
    RGM_GO(of_file(rgmi_layers_merge(&e->yaml, layers, e->arena), layers->name));
    RGM_GO(of_file(read_document(e), layers->name));
    *out = e;
    e = NULL;
done:
    rgm_experiment_release(e);
    return status;
}

rgm_status rgmi_document_copy(rgm_yaml **out, const rgm_yaml *document, const char *name)
{
    rgm_status status = RGM_OK;
    rgm_yaml *copy = NULL;

    *out = NULL;
    RGM_GO(rgm_yaml_parse(&copy, "", 0, name));
    RGM_GO(rgm_yaml_merge(copy, document));
    *out = copy;
    copy = NULL;
done:
    rgm_yaml_release(copy);
    return status;
}

rgm_status rgm_experiment_merge_layers(rgm_yaml **out, const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_arena *arena = NULL;
    rgm_yaml *merged = NULL;

    *out = NULL;
    RGM_GO(rgm_arena_create(&arena));
    RGM_GO(of_file(rgmi_layers_merge(&merged, layers, arena), layers->name));
    RGM_GO(rgmi_document_copy(out, merged, layers->name));
done:
    rgm_yaml_release(merged);
    rgm_arena_release(arena);
    return status;
}

rgm_status rgm_experiment_load_merged(rgm_experiment **out, const char *name,
                                      const rgm_yaml *merged, const rgm_extensions *own)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;

    *out = NULL;
    RGM_GO(begin(&e, name, own));
    RGM_GO(rgmi_document_copy(&e->yaml, merged, name));
    RGM_GO(of_file(read_document(e), name));
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
    rgm_free(e->sources);
    rgm_free(e->identity);
    rgm_log_notes_clear(&e->notes);
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
