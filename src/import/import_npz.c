/*
 * The format of Marian: one .npz with all arrays, among them the configuration, a text of YAML
 * whose bytes are an array. A folder with one such file may be named, too.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "model_import_internal.h"

enum { MOST_CONFIG = 1 << 20 };
static const char config_array[] = "special:model.yml";

static bool ends_with(const char *name, const char *end)
{
    size_t size = strlen(name), of_end = strlen(end);

    return size > of_end && strcmp(name + size - of_end, end) == 0;
}

/* ---- which file ------------------------------------------------------------------------------ */

/* The names of a folder's .npz, of which there should be one. */
static rgm_status find_in_folder(char **out, int64_t *found, const char *folder)
{
    rgm_status status = RGM_OK;
    char **names = NULL;
    int64_t count = 0;

    *out = NULL;
    *found = 0;
    RGM_GO(rgm_folder_list(&names, &count, folder));
    for (int64_t i = 0; i < count; i++) {
        if (!ends_with(names[i], ".npz"))
            continue;
        if ((*found)++ == 0)
            RGM_GO(rgm_path_join(out, folder, names[i]));
    }
done:
    rgm_names_release(names, count);
    return status;
}

/* What has no memory for a list of names would say that it fits nothing, so it makes none. */
static bool fits(const char *path)
{
    const struct dirent *item;
    bool found = false;
    DIR *folder;

    if (!rgm_path_is_folder(path))
        return ends_with(path, ".npz") && rgm_path_exists(path);
    folder = opendir(path);
    while (folder != NULL && !found && (item = readdir(folder)) != NULL)
        found = ends_with(item->d_name, ".npz");
    if (folder != NULL)
        closedir(folder);
    return found;
}

static rgm_status find_file(char **out, rgmi_import_source *source)
{
    const char *slash = strrchr(source->path, '/');
    int64_t found;

    if (!rgm_path_is_folder(source->path)) {
        RGM_TRY(rgm_strdup(out, source->path));
        return slash == NULL
                   ? rgm_strdup(&source->folder, ".")
                   : rgm_strprintf(&source->folder, "%.*s",
                                   slash == source->path ? 1 : (int)(slash - source->path),
                                   source->path);
    }
    RGM_TRY(rgm_strdup(&source->folder, source->path));
    RGM_TRY(find_in_folder(out, &found, source->path));
    if (found == 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s has %lld files .npz: name the one that is meant",
                    source->path, (long long)found);
}

/* ---- its configuration ----------------------------------------------------------------------- */

static rgm_status print_scalar(rgm_json_writer *w, const char *key, const rgm_yaml_node *node)
{
    int64_t whole;
    double real;
    bool truth;

    if (!node->quoted &&
        (node->text[0] == '\0' || strcmp(node->text, "~") == 0 || strcmp(node->text, "null") == 0))
        return rgm_json_write_text(w, key, NULL);
    if (!node->quoted && rgm_yaml_int(&whole, node) == RGM_OK)
        return rgm_json_write_int(w, key, whole);
    if (!node->quoted && rgm_yaml_float(&real, node) == RGM_OK)
        return rgm_json_write_number(w, key, real);
    if (!node->quoted && rgm_yaml_bool(&truth, node) == RGM_OK)
        return rgm_json_write_bool(w, key, truth);
    rgm_error_reset();
    return rgm_json_write_text(w, key, node->text);
}

static rgm_status print_node(rgm_json_writer *w, const char *key, const rgm_yaml_node *node);

static rgm_status print_items(rgm_json_writer *w, const rgm_yaml_node *node)
{
    for (int64_t i = 0; i < node->count; i++)
        RGM_TRY(print_node(w, node->items[i]->key, node->items[i]));
    return rgm_json_close(w);
}

static rgm_status print_node(rgm_json_writer *w, const char *key, const rgm_yaml_node *node)
{
    if (node->kind == RGM_YAML_SCALAR)
        return print_scalar(w, key, node);
    if (node->kind == RGM_YAML_LIST)
        RGM_TRY(rgm_json_open_list(w, key, RGM_JSON_COMPACT));
    else
        RGM_TRY(rgm_json_open_object(w, key, RGM_JSON_COMPACT));
    return print_items(w, node);
}

/* As JSON, with the key by which families are found. */
static rgm_status print_config(rgm_text *out, const rgm_yaml_node *root, const char *name)
{
    rgm_json_writer w = {.out = out};

    if (root->kind != RGM_YAML_MAP)
        return RGM_FAIL(RGM_ERR_FORMAT, "%s: it is no map of keys and values", name);
    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_COMPACT));
    RGM_TRY(rgm_json_write_text(&w, "model_type", "marian"));
    return print_items(&w, root);
}

static rgm_status open_config(rgmi_import_source *source, const rgm_npz *file, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_tensor *bytes = NULL;
    rgm_yaml *yaml = NULL;
    rgm_text json = {0};
    char *name = NULL;
    const char *text;
    int64_t size;

    RGM_GO(rgm_strprintf(&name, "%s:%s", path, config_array));
    status = rgm_npz_get(&bytes, file, config_array);
    if (status == RGM_ERR_NOT_FOUND)
        status = rgm_error_prefix(status, "no model of Marian");
    RGM_GO(status);
    size = rgm_tensor_count(bytes);
    if (rgm_tensor_dtype(bytes) != RGM_I8 || size > MOST_CONFIG)
        RGM_GO(RGM_FAIL(RGM_ERR_FORMAT, "%s: it is no text", name));
    text = rgm_tensor_data(bytes);
    while (size > 0 && text[size - 1] == '\0')
        size--;
    status = rgm_yaml_parse(&yaml, text, size, name);
    if (status == RGM_ERR_CONFIG)
        status = rgm_error_prefix(RGM_ERR_FORMAT, "no configuration of Marian");
    RGM_GO(status);
    RGM_GO(print_config(&json, rgm_yaml_root(yaml), name));
    RGM_GO(rgmi_import_config_open(&source->config, json.data, json.size, name));
done:
    rgm_tensor_release(bytes);
    rgm_yaml_release(yaml);
    rgm_text_clear(&json);
    rgm_free(name);
    return status;
}

/* ---- the row --------------------------------------------------------------------------------- */

static rgm_status list_arrays(rgmi_import_source *source, const rgm_npz *file)
{
    for (int64_t i = 0; i < rgm_npz_count(file); i++) {
        const char *name = rgm_npz_name(file, i);
        if (strstr(name, "QuantMult") != NULL)
            return RGM_FAIL(RGM_ERR_UNSUPPORTED,
                            "%s: '%s': its weights are in 8 bits, as marian-conv makes them; the "
                            "model that it made them of is read, in f32",
                            source->path, name);
        if (strcmp(name, config_array) != 0)
            RGM_TRY(rgmi_import_source_add(source, name, 0));
    }
    return RGM_OK;
}

static rgm_status open_archive(rgmi_import_source *source)
{
    rgm_status status = RGM_OK;
    rgm_npz *file = NULL;
    struct stat info;
    char *path = NULL;

    RGM_GO(find_file(&path, source));
    RGM_GO(rgm_npz_open(&file, path));
    source->state = file;
    source->bytes = stat(path, &info) == 0 ? info.st_size : 0;
    RGM_GO(open_config(source, file, path));
    RGM_GO(list_arrays(source, file));
done:
    rgm_free(path);
    return status;
}

static rgm_status load(rgm_tensor **out, const rgmi_import_source *source, int64_t i)
{
    return rgm_npz_get(out, source->state, source->tensors[i].name);
}

static void close_archive(rgmi_import_source *source)
{
    rgm_npz_close(source->state);
    source->state = NULL;
}

static const rgmi_import_family *const families[] = {&rgmi_import_marian, NULL};

const rgmi_import_format rgmi_import_npz = {.name = "Marian",
                                            .fits = fits,
                                            .open = open_archive,
                                            .load = load,
                                            .close = close_archive,
                                            .families = families};
