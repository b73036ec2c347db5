/*
 * An experiment's folder has its file and the code of its trials, which is copied when it begins:
 * whatever is built anew meanwhile, every trial is of one model, and so is what is made of it.
 */
#include "experiment_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CODE_LIMIT (INT64_C(1) << 30)

/* ---- the code -------------------------------------------------------------------------------- */

/* The path in "FILE.so:NAME". */
static rgm_status object_of(char **out, const char *entrypoint)
{
    const char *colon = strrchr(entrypoint, ':');

    return rgm_strndup(out, entrypoint,
                       colon != NULL ? (size_t)(colon - entrypoint) : strlen(entrypoint));
}

/* <folder>/<experiment>/code/digits.so: hooks are found by the file's name. */
static rgm_status kept_path(char **out, const rgm_master *master, int64_t id,
                            const char *entrypoint)
{
    rgm_status status = RGM_OK;
    char *object = NULL, *name = NULL;
    const char *slash;

    RGM_GO(object_of(&object, entrypoint));
    slash = strrchr(object, '/');
    RGM_GO(rgm_strprintf(&name, "code/%s", slash != NULL ? slash + 1 : object));
    RGM_GO(rgmi_master_path(out, master, id, 0, name));
done:
    rgm_free(object);
    rgm_free(name);
    return status;
}

rgm_status rgmi_experiment_entrypoint(char **out, const rgm_master *master, int64_t id,
                                      const rgm_search_file *file)
{
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    const char *colon = strrchr(entrypoint, ':');
    rgm_status status = RGM_OK;
    char *path = NULL;

    *out = NULL;
    RGM_GO(kept_path(&path, master, id, entrypoint));
    RGM_GO(rgm_strprintf(out, "%s%s", path, colon != NULL ? colon : ""));
done:
    rgm_free(path);
    return status;
}

static rgm_status load(rgmi_trial_code *out, const char *path)
{
    RGM_TRY(rgm_file_load(&out->data, &out->size, path, CODE_LIMIT));
    snprintf(out->hash, sizeof out->hash, "%016" PRIx64, rgm_hash64(out->data, (size_t)out->size));
    return RGM_OK;
}

/* Whether another experiment's file names the same entrypoint. */
static rgm_status names_same(bool *same, const char *config, const char *entrypoint)
{
    const rgm_yaml_node *node;
    rgm_yaml *yaml;

    RGM_TRY(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), "config"));
    node = rgm_yaml_find(rgm_yaml_root(yaml), "entrypoint");
    *same = node != NULL && node->kind == RGM_YAML_SCALAR && strcmp(node->text, entrypoint) == 0;
    rgm_yaml_release(yaml);
    return RGM_OK;
}

/* *found: the parent has code of that entrypoint, and *out has it. */
static rgm_status load_parent(rgmi_trial_code *out, bool *found, rgm_master *master, int64_t parent,
                              const char *entrypoint)
{
    rgm_status status;
    rgmi_rows *rows;
    char *path = NULL;

    *found = false;
    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT config, code FROM experiments WHERE id = ? AND code IS NOT"
                                " NULL",
                                "i", parent));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_OK;
    RGM_GO(status);
    RGM_GO(names_same(found, rgmi_rows_text(rows, 0), entrypoint));
    if (!*found)
        goto done;
    RGM_GO(kept_path(&path, master, parent, entrypoint));
    RGM_GO(load(out, path));
    if (strcmp(out->hash, rgmi_rows_text(rows, 1)) != 0)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT,
                        "%s is not the code that experiment %lld was made with any more", path,
                        (long long)parent));
done:
    rgmi_rows_leave(rows);
    rgm_free(path);
    return status;
}

rgm_status rgmi_trial_code_read(rgmi_trial_code *out, rgm_master *master,
                                const rgm_search_file *file, const char *folder, int64_t parent)
{
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    rgm_status status = RGM_OK;
    char *object = NULL, *path = NULL;
    bool found = false;

    *out = (rgmi_trial_code){0};
    if (entrypoint == NULL)
        return RGM_OK;
    if (parent != 0)
        RGM_TRY(load_parent(out, &found, master, parent, entrypoint));
    if (found)
        return RGM_OK;
    RGM_GO(object_of(&object, entrypoint));
    if (object[0] == '/')
        RGM_GO(rgm_strdup(&path, object));
    else
        RGM_GO(rgm_path_join(&path, folder, object));
    if (!rgm_path_exists(path) && master->command != NULL)
        goto done; /* hooks of that program, which no file has */
    if (!rgm_path_exists(path))
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "entrypoint: there is no %s", path));
    if (rgm_path_is_folder(path))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "entrypoint: %s is a folder", path));
    RGM_GO(rgm_error_prefix(load(out, path), "entrypoint"));
done:
    rgm_free(object);
    rgm_free(path);
    return status;
}

void rgmi_trial_code_clear(rgmi_trial_code *code)
{
    rgm_free(code->data);
    *code = (rgmi_trial_code){0};
}

/* ---- files ----------------------------------------------------------------------------------- */

static rgm_status write_code(rgm_master *master, int64_t id, const rgm_search_file *file,
                             const rgmi_trial_code *code)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *path = NULL;

    RGM_GO(rgmi_master_path(&folder, master, id, 0, "code"));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(kept_path(&path, master, id, rgm_search_file_settings(file)->entrypoint));
    RGM_GO(rgm_file_save_own(path, code->data, code->size));
done:
    rgm_free(folder);
    rgm_free(path);
    return status;
}

static rgm_status write_file(rgm_master *master, int64_t id, const rgm_search_file *file)
{
    const char *text = rgm_search_file_text(file);
    rgm_status status = RGM_OK;
    char *path = NULL;

    RGM_GO(rgmi_master_path(&path, master, id, 0, "experiment.yaml"));
    RGM_GO(rgm_file_save_own(path, text, (int64_t)strlen(text)));
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_experiment_files_write(rgm_master *master, int64_t id, const rgm_search_file *file,
                                       const rgmi_trial_code *code)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;

    RGM_GO(rgmi_master_path(&folder, master, id, 0, NULL));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(write_file(master, id, file));
    if (code->data != NULL)
        RGM_GO(write_code(master, id, file, code));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_experiment_file_restore(rgm_master *master, const rgmi_experiment *e)
{
    const char *text = rgm_search_file_text(e->file);
    int64_t size = (int64_t)strlen(text), found = 0;
    rgm_status status = RGM_OK;
    char *path = NULL, *data = NULL;

    RGM_GO(rgmi_master_path(&path, master, e->id, 0, "experiment.yaml"));
    if (rgm_file_load(&data, &found, path, size) != RGM_OK)
        rgm_error_reset(); /* it is not there, or longer */
    if (data == NULL || found != size || memcmp(data, text, (size_t)size) != 0) {
        rgm_log_write(RGM_LOG_WARNING,
                      "%s was not the experiment's file any more, and is written again: an "
                      "experiment stays as it began, and a fork changes it",
                      path);
        RGM_GO(write_file(master, e->id, e->file));
    }
done:
    rgm_free(path);
    rgm_free(data);
    return status;
}
