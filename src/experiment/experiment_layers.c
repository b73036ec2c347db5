/*
 * Merges the layers of an experiment into one document: files and named experiments with the ones
 * they extend, then the environment, then --set. Every node keeps the place it came from.
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "experiment_internal.h"

#include <regimen/registry.h>

#define MAX_DEPTH 8
#define PREFIX    "REGIMEN_"

/* ---- files and names ----------------------------------------------------------------------- */

static bool is_file(const char *path)
{
    return rgm_path_exists(path) && !rgm_path_is_folder(path);
}

static bool has_ending(const char *name)
{
    size_t size = strlen(name);

    return size > 5 && strcmp(name + size - 5, ".yaml") == 0;
}

/* "folder/cora_gcn.yaml" to "cora_gcn". */
static rgm_status stem_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;

    return rgm_strndup(out, name, strlen(name) - (has_ending(name) ? 5 : 0));
}

/* The error for a name that is neither a file nor an experiment, with what it might have meant. */
static rgm_status not_found(const char *name)
{
    int64_t count;
    const rgm_named_experiment *named = rgm_named_experiments(&count);
    const char *names[256];
    rgm_status status = RGM_OK;
    char *stem = NULL;
    rgm_hint hint;

    RGM_GO(stem_of(&stem, name));
    for (int64_t i = 0; i < count && i < 256; i++)
        names[i] = named[i].name;
    hint = rgm_did_you_mean(stem, names, count, NULL, NULL);
    if (has_ending(name) && rgm_named_experiment_find(stem) != NULL)
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no file '%s', but a named experiment '%s'",
                          name, stem);
    else if (has_ending(name))
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no file '%s'", name);
    else
        status = RGM_FAIL(RGM_ERR_NOT_FOUND, "'%s' is neither a file nor a named experiment%s",
                          name, hint.text[0] != 0 ? hint.text : "; see regimen config list");
done:
    rgm_free(stem);
    return status;
}

static rgm_status open_document(rgm_yaml **out, bool *named, const char *name)
{
    const rgm_named_experiment *found;

    *named = false;
    if (is_file(name))
        return rgm_yaml_load(out, name);
    found = rgm_named_experiment_find(name);
    if (found == NULL)
        return not_found(name);
    *named = true;
    return rgm_yaml_parse(out, found->text, found->size, found->name);
}

/* ---- extends ------------------------------------------------------------------------------- */

/* Take `extends` or `template` out of a document, since they are no sections. */
static const rgm_yaml_node *take_key(rgm_yaml *yaml, const char *key)
{
    rgm_yaml_node *root = rgm_yaml_root(yaml);

    if (root->kind != RGM_YAML_MAP)
        return NULL;
    for (int64_t i = 0; i < root->count; i++)
        if (strcmp(root->items[i]->key, key) == 0) {
            const rgm_yaml_node *found = root->items[i];

            memmove(root->items + i, root->items + i + 1,
                    (size_t)(root->count - i - 1) * sizeof *root->items);
            root->count--;
            return found;
        }
    return NULL;
}

/* Resolve `wanted` in the document `from`: a file in the same folder, or a name. Among named
 * experiments "cora_gcn.yaml" is the name cora_gcn, so that the files of configs/ work both as
 * files and as names. */
static rgm_status beside(char **out, const char *from, bool from_named, const char *wanted)
{
    const char *slash = strrchr(from, '/');
    size_t size = strlen(wanted);

    if (!from_named && rgm_named_experiment_find(wanted) != NULL)
        return rgm_strdup(out, wanted);
    if (from_named && has_ending(wanted))
        size -= 5;
    if (wanted[0] == '/' || slash == NULL || (from_named && !has_ending(wanted)))
        return rgm_strndup(out, wanted, size);
    return rgm_strprintf(out, "%.*s%.*s", (int)(slash - from + 1), from, (int)size, wanted);
}

static rgm_status load_layers(rgm_yaml **out, const char *name, int depth);

/* What a document extends, if it does. */
static rgm_status load_extended(rgm_yaml **out, rgm_yaml *document, const char *name, bool named,
                                int depth)
{
    const rgm_yaml_node *extends = take_key(document, "extends");
    rgm_status status = RGM_OK;
    char *below = NULL;

    *out = NULL;
    if (extends == NULL)
        return RGM_OK;
    if (extends->kind != RGM_YAML_SCALAR)
        RGM_GO(rgm_yaml_fail(extends, "extends is the name of one file or experiment"));
    if (depth >= MAX_DEPTH)
        RGM_GO(rgm_yaml_fail(extends, "more than %d files extend each other", MAX_DEPTH));
    RGM_GO(beside(&below, name, named, extends->text));
    status = load_layers(out, below, depth + 1);
    if (status == RGM_ERR_NOT_FOUND)
        status = rgm_error_prefix(RGM_ERR_CONFIG, "%s:%d:%d: extends", extends->origin,
                                  extends->line, extends->column);
    RGM_GO(status);
done:
    rgm_free(below);
    return status;
}

/* The stored template that a document names, if it does. */
static rgm_status load_template(rgm_yaml **out, rgm_yaml *document)
{
    const rgm_yaml_node *template = take_key(document, "template");
    rgm_status status = RGM_OK;
    char *path = NULL;

    *out = NULL;
    if (template == NULL)
        return RGM_OK;
    if (template->kind != RGM_YAML_SCALAR)
        RGM_GO(rgm_yaml_fail(template, "template is the name of one stored template"));
    RGM_GO(rgm_yaml_place(rgm_template_path(&path, NULL, template->text), template));
    if (!is_file(path))
        RGM_GO(rgm_yaml_fail(template,
                             "there is no template '%s' (%s): regimen template list tells those "
                             "there are",
                             template->text, path));
    RGM_GO(rgm_yaml_load(out, path));
    if (take_key(*out, "template") != NULL || take_key(*out, "extends") != NULL)
        RGM_GO(rgm_yaml_fail(template, "'%s' is a template that begins with another file", path));
done:
    rgm_free(path);
    if (status != RGM_OK) {
        rgm_yaml_release(*out);
        *out = NULL;
    }
    return status;
}

/* `over` over `under`, where there is one; `over` is released then. */
static rgm_status lay_over(rgm_yaml **over, rgm_yaml *under)
{
    rgm_status status;

    if (under == NULL)
        return RGM_OK;
    status = rgm_yaml_merge(under, *over);
    rgm_yaml_release(*over);
    *over = under;
    return status;
}

/* A template lies below what a file extends, and that below the file. */
static rgm_status load_layers(rgm_yaml **out, const char *name, int depth)
{
    rgm_status status = RGM_OK;
    rgm_yaml *document = NULL, *under = NULL;
    bool named;

    *out = NULL;
    RGM_GO(open_document(&document, &named, name));
    RGM_GO(load_extended(&under, document, name, named, depth));
    RGM_GO(lay_over(&document, under));
    RGM_GO(load_template(&under, document));
    RGM_GO(lay_over(&document, under));
    *out = document;
    document = NULL;
done:
    rgm_yaml_release(document);
    return status;
}

/* ---- environment --------------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Whether "TRAINER_..." begins with the name of a section. */
static bool begins_with_section(const char *name)
{
    for (const char *const *section = rgm_experiment_section_names; *section != NULL; section++) {
        size_t size = strlen(*section), i = 0;

        while (i < size && name[i] == toupper((unsigned char)(*section)[i]))
            i++;
        if (i == size && name[i] == '_')
            return true;
    }
    return false;
}

/* "TRAINER__CHECKPOINT__KEEP" to "trainer.checkpoint.keep": two underscores stand for the dot,
 * since keys have single ones. */
static rgm_status key_of(char **out, const char *name)
{
    size_t at = 0;

    RGM_TRY(rgm_strdup(out, name));
    for (; *name != '\0'; name++) {
        bool dot = name[0] == '_' && name[1] == '_';

        (*out)[at++] = dot ? '.' : (char)tolower((unsigned char)*name);
        name += dot;
    }
    (*out)[at] = '\0';
    return RGM_OK;
}

static rgm_status apply_variable(rgm_yaml *yaml, const char *variable, rgm_arena *arena)
{
    rgm_status status = RGM_OK;
    const char *equals = strchr(variable, '=');
    char *name = NULL, *key = NULL, *origin = NULL;
    const char *kept;

    if (equals == NULL)
        return RGM_OK;
    RGM_GO(rgm_strndup(&name, variable, (size_t)(equals - variable)));
    if (strstr(name, "__") == NULL) {
        if (begins_with_section(name + strlen(PREFIX)))
            status = RGM_FAIL(RGM_ERR_CONFIG,
                              "$%s sets no key: a dot is two underscores, as in "
                              "REGIMEN_TRAINER__EPOCHS=3",
                              name);
        goto done;
    }
    RGM_GO(key_of(&key, name + strlen(PREFIX)));
    RGM_GO(rgm_strprintf(&origin, "$%s", name));
    kept = rgm_arena_strdup(arena, origin); /* nodes point to it */
    if (kept == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for $%s", name));
    RGM_GO(rgm_yaml_set(yaml, key, equals + 1, kept));
done:
    rgm_free(origin);
    rgm_free(key);
    rgm_free(name);
    return status;
}

static rgm_status apply_environment(rgm_yaml *yaml, char *const *environment, rgm_arena *arena)
{
    rgm_status status = RGM_OK;
    const char **ours = NULL;
    int64_t count = 0, capacity = 0;

    for (; environment != NULL && *environment != NULL; environment++)
        if (strncmp(*environment, PREFIX, strlen(PREFIX)) == 0) {
            RGM_GO(RGM_RESERVE(ours, capacity, count + 1));
            ours[count++] = *environment;
        }
    /* Set a whole map before the keys inside it, whatever the order of the environment. */
    if (count > 0)
        qsort(ours, (size_t)count, sizeof *ours, by_text);
    for (int64_t i = 0; i < count; i++)
        RGM_GO(apply_variable(yaml, ours[i], arena));
done:
    rgm_free(ours);
    return status;
}

/* ---- --set --------------------------------------------------------------------------------- */

rgm_status rgmi_apply_set(rgm_yaml *yaml, const char *set, rgm_arena *arena)
{
    const char *equals = strchr(set, '=');
    rgm_status status = RGM_OK;
    char *key = NULL, *origin = NULL;
    const char *kept;

    if (equals == NULL || equals == set)
        return RGM_FAIL(RGM_ERR_CONFIG, "--set: '%s' is not key=value, e.g. trainer.epochs=3", set);
    RGM_GO(rgm_strndup(&key, set, (size_t)(equals - set)));
    RGM_GO(rgm_strprintf(&origin, "--set %s", key));
    kept = rgm_arena_strdup(arena, origin); /* nodes point to it */
    if (kept == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for --set"));
    RGM_GO(rgm_yaml_set(yaml, key, equals + 1, kept));
done:
    rgm_free(origin);
    rgm_free(key);
    return status;
}

/* ---- all of them --------------------------------------------------------------------------- */

static bool is_taken_back(const rgm_yaml_node *node)
{
    return node->kind == RGM_YAML_SCALAR && !node->quoted &&
           (strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0);
}

/* A key that the last layer sets to `~` counts as not set by any layer. */
static void take_back(rgm_yaml_node *node)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < node->count; i++) {
        if (node->kind == RGM_YAML_MAP && is_taken_back(node->items[i]))
            continue;
        take_back(node->items[i]);
        node->items[kept++] = node->items[i];
    }
    node->count = kept;
}

/* A version of a registered model that weights begin with: its folder, so that the run keeps which
 * one it was, and every trial of a search begins with the same. */
static rgm_status find_model(rgm_yaml_node *root, rgm_arena *arena)
{
    rgm_yaml_node *trainer = rgm_yaml_find(root, "trainer"), *node;
    char *registry = NULL, *folder = NULL;
    rgm_status status = RGM_OK;

    node = rgm_yaml_find(rgm_yaml_find(trainer, "initialize"), "checkpoint");
    if (node == NULL || node->text == NULL ||
        strncmp(node->text, RGM_MODEL_PREFIX, strlen(RGM_MODEL_PREFIX)) != 0)
        return RGM_OK;
    RGM_GO(rgm_registry_place(&registry, NULL));
    RGM_GO(rgm_model_path(&folder, registry, node->text));
    node->text = rgm_arena_strdup(arena, folder);
    if (node->text == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOMEM, "out of memory for the path of a model"));
done:
    rgm_free(registry);
    rgm_free(folder);
    return status < 0 && status != RGM_ERR_NOMEM ? rgm_yaml_place(status, node) : status;
}

rgm_status rgmi_layers_merge(rgm_yaml **out, const rgm_experiment_layers *layers, rgm_arena *arena)
{
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL, *over = NULL;

    *out = NULL;
    RGM_GO(load_layers(&yaml, layers->name, 0));
    for (int64_t i = 0; i < layers->over_count; i++) {
        RGM_GO(load_layers(&over, layers->over[i], 0));
        RGM_GO(rgm_yaml_merge(yaml, over));
        rgm_yaml_release(over);
        over = NULL;
    }
    RGM_GO(apply_environment(yaml, layers->environment, arena));
    for (int64_t i = 0; i < layers->set_count; i++)
        RGM_GO(rgmi_apply_set(yaml, layers->sets[i], arena));
    take_back(rgm_yaml_root(yaml));
    RGM_GO(find_model(rgm_yaml_root(yaml), arena));
    *out = yaml;
    yaml = NULL;
done:
    rgm_yaml_release(over);
    rgm_yaml_release(yaml);
    return status;
}
