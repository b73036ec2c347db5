/*
 * Looking into a registry: where it is, its names, what a reference means, whether a version's
 * files are as they were.
 */
#include "registry_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- names --------------------------------------------------------------------------------- */

rgm_status rgmi_model_check_name(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    size_t size = strlen(name);

    for (size_t i = 0; i < size; i++)
        if (strchr(letters, name[i]) == NULL && (i == 0 || strchr("._-", name[i]) == NULL))
            size = 0;
    return size >= 1 && size <= 64 ? RGM_OK
                                   : RGM_FAIL(RGM_ERR_ARG,
                                              "'%s' is no name of a model or a template: 1 to 64 "
                                              "letters, digits, '.', '_' and '-', "
                                              "the first a letter or a digit",
                                              name);
}

rgm_status rgmi_model_place(char **out, const char *registry, const char *name, const char *last)
{
    return rgm_strprintf(out, "%s/models/%s%s%s", registry, name, last != NULL ? "/" : "",
                         last != NULL ? last : "");
}

rgm_status rgmi_model_folder(char **out, const char *registry, const char *name, int64_t number)
{
    return rgm_strprintf(out, "%s/models/%s/%lld", registry, name, (long long)number);
}

/* ---- where --------------------------------------------------------------------------------- */

static const char *set_value(const char *name)
{
    const char *value = getenv(name);

    return value != NULL && value[0] != 0 ? value : NULL;
}

static rgm_status absolute(char **out, const char *path)
{
    rgm_status status;
    char *here;

    if (path[0] == '/')
        return rgm_strdup(out, path);
    here = realpath(".", NULL);
    if (here == NULL)
        return RGM_FAIL_SYSTEM("find", ".");
    status = rgm_path_join(out, here, path);
    free(here);
    return status;
}

/* A folder of the master's, or of the one that the environment names. */
static rgm_status place_in_master(char **out, const char *master, const char *name)
{
    rgm_status status;
    char *path;

    *out = NULL;
    if (master == NULL)
        master = set_value("REGIMEN_MASTER");
    if (master != NULL && strstr(master, "://") != NULL)
        return RGM_FAIL(
            RGM_ERR_ARG,
            "'%s' is no folder, and %s are in the master's: name it by --master DIR, or "
            "models by --registry DIR",
            master, name);
    RGM_TRY(rgm_path_join(&path, master != NULL ? master : "experiments", name));
    status = absolute(out, path);
    rgm_free(path);
    return status;
}

rgm_status rgm_registry_place(char **out, const char *given)
{
    *out = NULL;
    if (given == NULL)
        given = set_value("REGIMEN_REGISTRY");
    return given != NULL ? absolute(out, given) : place_in_master(out, NULL, "registry");
}

rgm_status rgm_template_folder(char **out, const char *master)
{
    return place_in_master(out, master, "templates");
}

rgm_status rgm_template_path(char **out, const char *master, const char *name)
{
    rgm_status status;
    char *folder;

    *out = NULL;
    RGM_TRY(rgmi_model_check_name(name));
    RGM_TRY(rgm_template_folder(&folder, master));
    status = rgm_strprintf(out, "%s/%s.yaml", folder, name);
    rgm_free(folder);
    return status;
}

/* ---- reading ------------------------------------------------------------------------------- */

rgm_status rgm_registry_names(char ***names, int64_t *count, const char *registry)
{
    rgm_status status = RGM_OK;
    char **all = NULL, *path = NULL;
    int64_t all_count = 0, kept = 0;

    *names = NULL;
    *count = 0;
    RGM_GO(rgm_path_join(&path, registry, "models"));
    if (!rgm_path_is_folder(path))
        goto done;
    RGM_GO(rgm_folder_list(&all, &all_count, path));
    for (int64_t i = 0; i < all_count; i++) {
        char *file, *name = all[i];

        RGM_GO(rgmi_model_place(&file, registry, name, "model.json"));
        bool is_one = rgm_path_exists(file);
        rgm_free(file);
        if (is_one) {
            all[i] = all[kept];
            all[kept++] = name;
        }
    }
    for (int64_t i = kept; i < all_count; i++)
        rgm_free(all[i]);
    *names = all;
    *count = kept;
    all = NULL;
done:
    rgm_names_release(all, all_count);
    rgm_free(path);
    return status;
}

static rgm_status not_found(const char *registry, const char *name)
{
    char **names;
    int64_t count;

    RGM_TRY(rgm_registry_names(&names, &count, registry));
    rgm_status status = RGM_FAIL(
        RGM_ERR_NOT_FOUND, "there is no model '%s' in '%s'%s", name, registry,
        rgm_did_you_mean(name, (const char *const *)names, count, NULL, "there are ").text);
    rgm_names_release(names, count);
    return status;
}

rgm_status rgm_model_load(rgm_model *out, const char *registry, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *data = NULL;
    int64_t size;

    *out = (rgm_model){.next = 0};
    RGM_GO(rgmi_model_check_name(name));
    RGM_GO(rgmi_model_place(&path, registry, name, "model.json"));
    if (!rgm_path_exists(path))
        RGM_GO(not_found(registry, name));
    RGM_GO(rgm_file_load(&data, &size, path, RGMI_MOST_MODEL_BYTES));
    RGM_GO(rgmi_model_parse(out, data, size, path, name));
done:
    rgm_free(path);
    rgm_free(data);
    return status;
}

/* ---- references ---------------------------------------------------------------------------- */

static rgm_status no_version(const rgm_model *model, const char *wanted)
{
    rgm_text there = {0};
    rgm_status status = RGM_OK;

    for (int64_t i = 0; i < model->count; i++)
        RGM_GO(rgm_text_printf(&there, "%s%lld (%s)", i > 0 ? ", " : "; there are ",
                               (long long)model->versions[i].number,
                               rgm_model_stage_names[model->versions[i].stage]));
    status = RGM_FAIL(RGM_ERR_NOT_FOUND, "model '%s' has no version %s%s", model->name, wanted,
                      there.data != NULL ? there.data : "; all were removed");
done:
    rgm_text_clear(&there);
    return status;
}

static rgm_status choose_number(const rgm_model_version **out, const rgm_model *model,
                                const char *text)
{
    char *end;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != 0 || number < 1)
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no version: a number from 1", text);
    *out = rgmi_model_version_at(model, number);
    return *out != NULL ? RGM_OK : no_version(model, text);
}

static rgm_status choose_stage(const rgm_model_version **out, const rgm_model *model,
                               const char *text)
{
    rgm_model_stage stage;

    if (!rgm_model_stage_find(&stage, text))
        return RGM_FAIL(RGM_ERR_ARG, "'%s' is no stage%s", text,
                        rgm_did_you_mean(text, rgm_model_stage_names, 4, NULL, "there are ").text);
    *out = NULL;
    for (int64_t i = 0; i < model->count; i++)
        if (model->versions[i].stage == stage)
            *out = &model->versions[i];
    return *out != NULL ? RGM_OK : no_version(model, text);
}

static rgm_status choose_newest(const rgm_model_version **out, const rgm_model *model)
{
    *out = NULL;
    for (int64_t i = 0; i < model->count; i++)
        if (model->versions[i].stage != RGM_MODEL_ARCHIVED)
            *out = &model->versions[i];
    return *out != NULL ? RGM_OK : no_version(model, "that is not archived");
}

rgm_status rgm_model_find(rgm_model *model, const rgm_model_version **version, const char *registry,
                          const char *reference)
{
    size_t prefix = strlen(RGM_MODEL_PREFIX);
    rgm_status status = RGM_OK;
    char *name = NULL;

    *model = (rgm_model){.next = 0};
    *version = NULL;
    if (strncmp(reference, RGM_MODEL_PREFIX, prefix) == 0)
        reference += prefix;
    const char *rest = reference + strcspn(reference, ":@");
    RGM_GO(rgm_strndup(&name, reference, (size_t)(rest - reference)));
    RGM_GO(rgm_model_load(model, registry, name));
    if (*rest == ':')
        RGM_GO(choose_number(version, model, rest + 1));
    else if (*rest == '@')
        RGM_GO(choose_stage(version, model, rest + 1));
    else
        RGM_GO(choose_newest(version, model));
done:
    rgm_free(name);
    if (status != RGM_OK)
        rgm_model_clear(model);
    return status;
}

/* ---- files --------------------------------------------------------------------------------- */

typedef struct walk {
    char **names;
    int64_t count, capacity;
} walk;

static rgm_status walk_into(walk *w, const char *folder, const char *below);

static rgm_status walk_one(walk *w, const char *folder, const char *below, const char *name)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *inner = NULL;
    struct stat info;

    RGM_GO(rgm_path_join(&path, folder, name));
    RGM_GO(rgm_strprintf(&inner, "%s%s%s", below, below[0] != 0 ? "/" : "", name));
    if (lstat(path, &info) != 0)
        RGM_GO(RGM_FAIL_SYSTEM("examine", path));
    if (S_ISDIR(info.st_mode)) {
        RGM_GO(walk_into(w, path, inner));
    } else if (!S_ISREG(info.st_mode) || !rgmi_model_is_inner(inner)) {
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "'%s' is neither a file nor a folder", path));
    } else if (w->count >= RGMI_MOST_FILES) {
        RGM_GO(
            RGM_FAIL(RGM_ERR_FORMAT, "'%s' has more than %d files", folder, (int)RGMI_MOST_FILES));
    } else {
        RGM_GO(RGM_RESERVE(w->names, w->capacity, w->count + 1));
        w->names[w->count++] = inner;
        inner = NULL;
    }
done:
    rgm_free(path);
    rgm_free(inner);
    return status;
}

static rgm_status walk_into(walk *w, const char *folder, const char *below)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    if (strlen(below) > 1024)
        return RGM_FAIL(RGM_ERR_FORMAT, "'%s' lies too deep", folder);
    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++)
        RGM_GO(walk_one(w, folder, below, names[i]));
done:
    rgm_names_release(names, count);
    return status;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

rgm_status rgm_model_list_files(char ***names, int64_t *count, const char *folder)
{
    walk w = {.names = NULL};
    rgm_status status = walk_into(&w, folder, "");

    *names = NULL;
    *count = 0;
    if (status != RGM_OK) {
        rgm_names_release(w.names, w.count);
        return status;
    }
    if (w.count > 0)
        qsort(w.names, (size_t)w.count, sizeof *w.names, compare_texts);
    *names = w.names;
    *count = w.count;
    return RGM_OK;
}

static rgm_status check_file(const char *folder, const rgm_model_file *file)
{
    rgm_status status = RGM_OK;
    char found[RGM_SHA256_ROOM], *path = NULL;
    int64_t size;

    RGM_GO(rgm_path_join(&path, folder, file->name));
    RGM_GO(rgm_file_sha256(found, &size, path));
    if (size != file->size || strcmp(found, file->sha256) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "'%s' is not what was registered: %lld bytes with the SHA-256 %.16s..., it "
                        "had %lld with %.16s...",
                        path, (long long)size, found, (long long)file->size, file->sha256));
done:
    rgm_free(path);
    return status;
}

static bool has_file(const rgm_model_version *version, const char *name)
{
    for (int64_t i = 0; i < version->file_count; i++)
        if (strcmp(version->files[i].name, name) == 0)
            return true;
    return false;
}

static rgm_status check_files(const char *folder, const rgm_model_version *version)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    for (int64_t i = 0; i < version->file_count; i++)
        RGM_GO(check_file(folder, &version->files[i]));
    RGM_GO(rgm_model_list_files(&names, &count, folder));
    for (int64_t i = 0; i < count && count > version->file_count; i++)
        if (!has_file(version, names[i]))
            RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "'%s/%s' was not registered: move it elsewhere", folder,
                            names[i]));
done:
    rgm_names_release(names, count);
    return status;
}

rgm_status rgm_model_path(char **out, const char *registry, const char *reference)
{
    const rgm_model_version *version;
    rgm_status status = RGM_OK;
    rgm_model model = {.next = 0};
    char *folder = NULL;

    *out = NULL;
    RGM_GO(rgm_model_find(&model, &version, registry, reference));
    RGM_GO(rgmi_model_folder(&folder, registry, model.name, version->number));
    RGM_GO(check_files(folder, version));
    *out = folder;
    folder = NULL;
done:
    rgm_free(folder);
    rgm_model_clear(&model);
    return status;
}
