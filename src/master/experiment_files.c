/*
 * An experiment's folder has its file and the code of its trials, which is copied when it begins:
 * whatever is built anew meanwhile, every trial is of one model, and so is what is made of it.
 */
#include "experiment_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- the code -------------------------------------------------------------------------------- */

/* The path in "FILE.so:NAME". */
static rgm_status object_of(char **out, const char *entrypoint)
{
    const char *colon = strrchr(entrypoint, ':');

    return rgm_strndup(out, entrypoint,
                       colon != NULL ? (size_t)(colon - entrypoint) : strlen(entrypoint));
}

rgm_status rgmi_experiment_entrypoint(char **out, const rgm_master *master, int64_t id,
                                      const rgm_search_file *file)
{
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    const char *slash = strrchr(entrypoint, '/');
    rgm_status status = RGM_OK;
    char *folder = NULL;

    *out = NULL;
    RGM_GO(rgmi_master_path(&folder, master, id, 0, "code"));
    RGM_GO(rgm_path_join(out, folder, slash != NULL ? slash + 1 : entrypoint));
done:
    rgm_free(folder);
    return status;
}

/* What says which files are code, in one text. */
static rgm_status print_code_keys(rgm_text *out, const rgm_yaml_node *root)
{
    static const char *const keys[] = {"entrypoint", "include", "code_folder"};

    RGM_TRY(rgm_text_printf(out, "%s", ""));
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const rgm_yaml_node *node = rgm_yaml_find(root, keys[i]);

        RGM_TRY(rgm_text_printf(out, "%s: ", keys[i]));
        if (node != NULL)
            RGM_TRY(rgm_yaml_print_flow(out, node, false));
        RGM_TRY(rgm_text_add(out, "\n", 1));
    }
    return RGM_OK;
}

static rgm_status print_keys_of(rgm_text *out, const char *config)
{
    rgm_yaml *yaml;
    rgm_status status;

    RGM_TRY(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), "config"));
    status = print_code_keys(out, rgm_yaml_root(yaml));
    rgm_yaml_release(yaml);
    return status;
}

/* Whether another experiment's file says that the same files are its code. */
static rgm_status says_same(bool *same, const char *config, const rgm_search_file *file)
{
    rgm_text theirs = {0}, own = {0};
    rgm_status status = RGM_OK;

    RGM_GO(print_keys_of(&theirs, config));
    RGM_GO(print_keys_of(&own, rgm_search_file_text(file)));
    *same = strcmp(theirs.data, own.data) == 0;
done:
    rgm_text_clear(&theirs);
    rgm_text_clear(&own);
    return status;
}

static rgm_status read_rows(rgm_code *out, rgm_master *master, int64_t id)
{
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT code_path, size, is_executable, hash FROM code_files WHERE"
                                " experiment_id = ? ORDER BY code_path",
                                "i", id));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        status = rgm_code_add(out, rgmi_rows_text(rows, 0), rgmi_rows_int(rows, 1),
                              rgmi_rows_int(rows, 2) != 0, rgmi_rows_text(rows, 3));
        if (status != RGM_OK) {
            rgmi_rows_leave(rows);
            return status;
        }
    }
    return status == RGM_END ? RGM_OK : status;
}

/* Of an experiment of before there is one file, its object, whose hash is that of the code. */
static rgm_status describe_object(rgm_code *out, const char *config, const char *hash)
{
    const rgm_yaml_node *node;
    rgm_status status = RGM_OK;
    rgm_yaml *yaml = NULL;
    char *object = NULL;
    const char *slash;

    RGM_GO(rgm_yaml_parse(&yaml, config, (int64_t)strlen(config), "config"));
    node = rgm_yaml_find(rgm_yaml_root(yaml), "entrypoint");
    if (node == NULL || node->kind != RGM_YAML_SCALAR)
        goto done;
    RGM_GO(object_of(&object, node->text));
    slash = strrchr(object, '/');
    RGM_GO(rgm_code_add(out, slash != NULL ? slash + 1 : object, 0, false, hash));
done:
    rgm_free(object);
    rgm_yaml_release(yaml);
    return status;
}

rgm_status rgmi_experiment_code(rgm_code *out, rgm_master *master, int64_t id)
{
    rgm_status status;
    rgmi_rows *rows;

    *out = (rgm_code){0};
    RGM_TRY(read_rows(out, master, id));
    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT config, code FROM experiments WHERE id = ? AND code IS NOT"
                                " NULL",
                                "i", id));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_OK;
    RGM_TRY(status);
    snprintf(out->hash, sizeof out->hash, "%s", rgmi_rows_text(rows, 1));
    if (out->count == 0)
        status = describe_object(out, rgmi_rows_text(rows, 0), rgmi_rows_text(rows, 1));
    rgmi_rows_leave(rows);
    return status;
}

/* *found: the parent has the code that the file names, and *out has it. */
static rgm_status load_parent(rgm_code *out, bool *found, rgm_master *master, int64_t parent,
                              const rgm_search_file *file)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, whose[48];
    rgmi_rows *rows = NULL;

    *found = false;
    RGM_GO(rgmi_database_query(&rows, master->database,
                               "SELECT config FROM experiments WHERE id = ? AND code IS NOT NULL",
                               "i", parent));
    status = rgmi_rows_next(master->database, rows);
    if (status == RGM_END)
        return RGM_OK;
    RGM_GO(status);
    RGM_GO(says_same(found, rgmi_rows_text(rows, 0), file));
    if (!*found)
        goto done;
    snprintf(whose, sizeof whose, "experiment %lld", (long long)parent);
    RGM_GO(rgmi_experiment_code(out, master, parent));
    RGM_GO(rgmi_master_path(&folder, master, parent, 0, "code"));
    RGM_GO(rgm_code_load(out, folder, whose));
done:
    rgmi_rows_leave(rows);
    rgm_free(folder);
    return status;
}

/* Hooks of a program that runs trials by a command of its own: no file has them. */
static rgm_status is_of_program(bool *out, const rgm_master *master, const rgm_search_file *file,
                                const char *folder)
{
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    rgm_status status = RGM_OK;
    char *object = NULL, *path = NULL;

    *out = false;
    if (entrypoint == NULL || master->command == NULL)
        return RGM_OK;
    RGM_GO(object_of(&object, entrypoint));
    if (object[0] != '/')
        RGM_GO(rgm_path_join(&path, folder, object));
    *out = !rgm_path_exists(path != NULL ? path : object);
done:
    rgm_free(object);
    rgm_free(path);
    return status;
}

/* The folder that a git work tree may have: that of the object, or of the command's files. */
static rgm_status find_origin(rgmi_code_origin *out, const rgm_search_file *file,
                              const char *folder)
{
    const rgm_search_settings *o = rgm_search_file_settings(file);
    const char *said = o->entrypoint != NULL ? o->entrypoint : o->code_folder;
    const char *slash = o->entrypoint != NULL ? strrchr(said, '/') : NULL;
    rgm_status status = RGM_OK;
    char *path = NULL;

    if (o->entrypoint != NULL && slash == NULL)
        said = NULL; /* beside nothing */
    RGM_GO(rgm_strprintf(&path, "%s%s%.*s", said != NULL && said[0] == '/' ? "" : folder,
                         said != NULL && said[0] == '/' ? "" : "/",
                         slash != NULL ? (int)(slash - said) : 4096, said != NULL ? said : "."));
    RGM_GO(rgmi_code_origin_find(out, path));
done:
    rgm_free(path);
    return status;
}

rgm_status rgmi_trial_code_read(rgm_code *out, rgmi_code_origin *origin, rgm_master *master,
                                const rgm_search_file *file, const char *folder, int64_t parent)
{
    bool found = false;

    *origin = (rgmi_code_origin){0};
    *out = (rgm_code){0};
    if (!rgm_search_file_is_own(file))
        return RGM_OK;
    if (parent != 0)
        RGM_TRY(load_parent(out, &found, master, parent, file));
    if (!found)
        RGM_TRY(is_of_program(&found, master, file, folder));
    if (found)
        return RGM_OK;
    RGM_TRY(rgm_code_collect(out, file, folder));
    return find_origin(origin, file, folder);
}

/* ---- files ----------------------------------------------------------------------------------- */

/* Another experiment with the same code, whose files the new one's may be links to; 0: none. */
static rgm_status find_same(int64_t *out, rgm_master *master, int64_t id, const rgm_code *code)
{
    return rgmi_database_int(out, master->database, 0,
                             "SELECT id FROM experiments WHERE code = ? AND id <> ? ORDER BY id"
                             " DESC LIMIT 1",
                             "ti", code->hash, id);
}

static rgm_status write_code(rgm_master *master, int64_t id, const rgm_code *code)
{
    rgm_status status = RGM_OK;
    char *folder = NULL, *other = NULL;
    int64_t same;

    RGM_GO(rgmi_master_path(&folder, master, id, 0, "code"));
    RGM_GO(find_same(&same, master, id, code));
    if (same != 0)
        RGM_GO(rgmi_master_path(&other, master, same, 0, "code"));
    RGM_GO(rgm_code_copy(code, folder, other, true));
    for (int64_t i = 0; i < code->count; i++)
        RGM_GO(rgmi_database_run(master->database, "INSERT INTO code_files VALUES(?, ?, ?, ?, ?)",
                                 "itiit", id, code->files[i].path, code->files[i].size,
                                 (int64_t)code->files[i].is_executable, code->files[i].hash));
done:
    rgm_free(folder);
    rgm_free(other);
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
                                       const rgm_code *code)
{
    rgm_status status = RGM_OK;
    char *folder = NULL;

    RGM_GO(rgmi_master_path(&folder, master, id, 0, NULL));
    RGM_GO(rgm_folder_make(folder));
    RGM_GO(write_file(master, id, file));
    if (code->count > 0)
        RGM_GO(write_code(master, id, code));
done:
    rgm_free(folder);
    return status;
}

rgm_status rgmi_experiment_file_renew(rgm_master *master, const rgmi_experiment *e)
{
    return write_file(master, e->id, e->file);
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
                      "experiment stays as it is in the database; `regimen experiment set` and a "
                      "fork change it",
                      path);
        RGM_GO(write_file(master, e->id, e->file));
    }
done:
    rgm_free(path);
    rgm_free(data);
    return status;
}
