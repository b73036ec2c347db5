/*
 * From a file to a checked experiment: `extends`, --set, sections.
 */
#include <string.h>

#include "experiment_internal.h"

#define MAX_DEPTH 8

/* Path of `name` as seen from the file `from`. */
static rgm_status beside(char **out, const char *from, const char *name)
{
    const char *slash = strrchr(from, '/');

    if (name[0] == '/' || slash == NULL)
        return rgm_strdup(out, name);
    return rgm_strprintf(out, "%.*s%s", (int)(slash - from + 1), from, name);
}

/* Take `extends` out of a document, so that it is not a section. */
static const rgm_yaml_node *take_extends(rgm_yaml *yaml)
{
    rgm_yaml_node *root = rgm_yaml_root(yaml);

    if (root->kind != RGM_YAML_MAP)
        return NULL;
    for (int64_t i = 0; i < root->count; i++)
        if (strcmp(root->items[i]->key, "extends") == 0) {
            const rgm_yaml_node *found = root->items[i];

            memmove(root->items + i, root->items + i + 1,
                    (size_t)(root->count - i - 1) * sizeof *root->items);
            root->count--;
            return found;
        }
    return NULL;
}

static rgm_status load_layers(rgm_yaml **out, const char *path, int depth)
{
    rgm_status status = RGM_OK;
    rgm_yaml *over = NULL, *under = NULL;
    const rgm_yaml_node *extends;
    char *below = NULL;

    *out = NULL;
    RGM_GO(rgm_yaml_load(&over, path));
    extends = take_extends(over);
    if (extends == NULL) {
        *out = over;
        over = NULL;
        goto done;
    }
    if (extends->kind != RGM_YAML_SCALAR)
        RGM_GO(rgm_yaml_fail(extends, "extends is the name of one file"));
    if (depth >= MAX_DEPTH)
        RGM_GO(rgm_yaml_fail(extends, "more than %d files extend each other", MAX_DEPTH));
    RGM_GO(beside(&below, path, extends->text));
    RGM_GO(load_layers(&under, below, depth + 1));
    RGM_GO(rgm_yaml_merge(under, over));
    *out = under;
    under = NULL;
done:
    rgm_yaml_release(over);
    rgm_yaml_release(under);
    rgm_free(below);
    return status;
}

static rgm_status apply_set(rgm_experiment *e, const char *set)
{
    const char *equals = strchr(set, '=');
    rgm_status status = RGM_OK;
    char *key = NULL, *source = NULL;
    char *kept;

    if (equals == NULL || equals == set)
        return RGM_FAIL(RGM_ERR_CONFIG, "%s: --set: '%s' is not key=value, e.g. trainer.epochs=3",
                        e->path, set);
    RGM_GO(rgm_strndup(&key, set, (size_t)(equals - set)));
    RGM_GO(rgm_strprintf(&source, "--set %s", key));
    kept = rgm_arena_strdup(e->arena, source); /* nodes point to it */
    if (kept == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for --set"));
    RGM_GO(rgm_yaml_set(e->yaml, key, equals + 1, kept));
done:
    rgm_free(source);
    rgm_free(key);
    return status;
}

static rgm_status name_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(name, '.');

    return rgm_strndup(out, name, dot != NULL && dot != name ? (size_t)(dot - name) : strlen(name));
}

rgm_status rgm_experiment_load(rgm_experiment **out, const char *path, const char *const *sets,
                               int64_t set_count)
{
    rgm_status status = RGM_OK;
    rgm_experiment *e = NULL;
    rgm_text text = {0};

    *out = NULL;
    RGM_GO(RGM_NEW(e, 1));
    RGM_GO(rgm_strdup(&e->path, path));
    RGM_GO(name_of(&e->name, path));
    RGM_GO(rgm_arena_create(&e->arena));
    RGM_GO(load_layers(&e->yaml, path, 0));
    for (int64_t i = 0; i < set_count; i++)
        RGM_GO(apply_set(e, sets[i]));
    status = rgmi_sections_read(e);
    /* A key given by --set has no place in a file; the file is still what it is about. */
    if (status == RGM_ERR_CONFIG && strncmp(rgm_error_message(), "--set", 5) == 0)
        rgm_error_prefix(status, "%s", path);
    RGM_GO(status);
    RGM_GO(rgm_yaml_print(&text, rgm_yaml_root(e->yaml)));
    e->text = text.data;
    text = (rgm_text){0};
    *out = e;
    e = NULL;
done:
    rgm_text_clear(&text);
    rgm_experiment_release(e);
    return status;
}

rgm_status rgm_experiment_load_run(rgm_experiment **out, const char *run_dir,
                                   const char *const *sets, int64_t set_count)
{
    char *path = NULL;
    rgm_status status;

    *out = NULL;
    RGM_TRY(rgm_path_join(&path, run_dir, "config.yaml"));
    if (!rgm_path_exists(path))
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "%s is not a run folder: it has no config.yaml",
                          run_dir);
    else
        status = rgm_experiment_load(out, path, sets, set_count);
    rgm_free(path);
    return status;
}

void rgm_experiment_release(rgm_experiment *e)
{
    if (e == NULL)
        return;
    for (int i = 0; i < 3; i++)
        rgm_provider_release(e->providers[i]);
    rgm_source_clear(&e->source);
    rgm_schema_release(e->schema);
    rgm_sampling_spec_release(e->spec);
    rgm_yaml_release(e->yaml);
    rgm_arena_release(e->arena);
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
