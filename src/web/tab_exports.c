/*
 * Files that were exported: those of <run>/export, its numbered folders, and folders of the run
 * that its configuration names for exports. A file is asked for by a number that is a function of
 * its name, so that one that was removed meanwhile is not there, instead of another one in its
 * place.
 */
#include <stdlib.h>
#include <string.h>

#include "tab.h"

enum { MOST_EXPORTS = 10000, MOST_DIRS = 64, LARGEST_CONFIG = 1 << 20 };

typedef struct export_file {
    char *name; /* below the run folder */
    int64_t size;
    double time;
} export_file;

typedef struct exports {
    const char *folder;
    export_file *files;
    int64_t count, capacity;
    char *damage;
} exports;

static void clear_exports(exports *e)
{
    for (int64_t i = 0; i < e->count; i++)
        rgm_free(e->files[i].name);
    rgm_free(e->files);
    rgm_free(e->damage);
}

/* From 1, of at most 15 digits: a path's {id}, and a whole number that a double keeps. */
static int64_t number_of(const char *name)
{
    return (int64_t)(rgm_hash64(name, strlen(name)) % UINT64_C(999999999999999)) + 1;
}

/* ---- which there are ----------------------------------------------------------------------- */

static rgm_status add_file(exports *e, char *name, const rgmi_kept_entry *entry)
{
    for (int64_t i = 0; i < e->count; i++) /* a folder may be named twice */
        if (strcmp(e->files[i].name, name) == 0) {
            rgm_free(name);
            return RGM_OK;
        }
    if (RGM_RESERVE(e->files, e->capacity, e->count + 1) != RGM_OK) {
        rgm_free(name);
        return RGM_ERR_NOMEM;
    }
    e->files[e->count++] = (export_file){name, entry->size, entry->time};
    return RGM_OK;
}

/* An export that grows has a folder whose name says so. */
static bool is_whole(const char *name)
{
    return strstr(name, ".partial-") == NULL && strstr(name, ".tmp-") == NULL;
}

static rgm_status add_folder(exports *e, const char *name, int levels)
{
    rgmi_kept_list list = {0};
    char *path = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_note(&e->damage, rgmi_kept_list_load(&list, e->folder, name)));
    for (int64_t i = 0; i < list.count && e->count < MOST_EXPORTS; i++) {
        const rgmi_kept_entry *entry = &list.entries[i];

        if (!is_whole(entry->name) || (entry->is_folder && levels == 0))
            continue;
        RGM_GO(rgm_path_join(&path, name, entry->name));
        if (entry->is_folder) {
            RGM_GO(add_folder(e, path, levels - 1));
            rgm_free(path);
        } else {
            status = add_file(e, path, entry); /* which takes it */
        }
        path = NULL;
        RGM_GO(status);
    }
done:
    rgmi_kept_list_clear(&list);
    rgm_free(path);
    return status;
}

/* A folder that the configuration names, if it is inside the run folder. */
static rgm_status add_named(exports *e, const char *dir)
{
    char *real = realpath(dir, NULL), *run = realpath(e->folder, NULL);
    size_t size = run != NULL ? strlen(run) : 0;
    rgm_status status = RGM_OK;

    if (real != NULL && run != NULL && strncmp(real, run, size) == 0 && real[size] == '/')
        status = add_folder(e, real + size + 1, 1);
    free(real);
    free(run);
    return status;
}

static rgm_status add_config(exports *e)
{
    static const char *const path[] = {"trainer", "exports", "dirs"};
    const rgm_yaml_node *node;
    rgm_yaml *yaml = NULL;
    char *text = NULL;
    int64_t size;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_kept_load(&text, &size, e->folder, "config.yaml", LARGEST_CONFIG));
    RGM_GO(rgm_yaml_parse(&yaml, text, size, "config.yaml"));
    node = rgm_yaml_root(yaml);
    for (int i = 0; i < 3 && node != NULL; i++)
        node = node->kind == RGM_YAML_MAP ? rgm_yaml_find(node, path[i]) : NULL;
    if (node != NULL && node->kind == RGM_YAML_SCALAR)
        RGM_GO(add_named(e, node->text));
    for (int64_t i = 0;
         node != NULL && node->kind == RGM_YAML_LIST && i < node->count && i < MOST_DIRS; i++)
        if (node->items[i]->kind == RGM_YAML_SCALAR)
            RGM_GO(add_named(e, node->items[i]->text));
done:
    rgm_yaml_release(yaml);
    rgm_free(text);
    return rgmi_note(&e->damage, status);
}

static rgm_status find_exports(exports *e, const char *folder)
{
    e->folder = folder;
    RGM_TRY(add_folder(e, "export", 1));
    return add_config(e);
}

rgm_status rgmi_tell_exports(rgm_text *out, const char *folder)
{
    exports e = {0};
    rgm_status status = RGM_OK;

    RGM_GO(find_exports(&e, folder));
    RGM_GO(rgm_text_printf(out, "{\"exports\":["));
    for (int64_t i = 0; i < e.count; i++) {
        RGM_GO(rgm_text_printf(out, "%s{\"number\":%lld,\"name\":", i > 0 ? "," : "",
                               (long long)number_of(e.files[i].name)));
        RGM_GO(rgmi_put_name(out, e.files[i].name));
        RGM_GO(rgm_text_printf(out, ",\"bytes\":%lld,\"time\":", (long long)e.files[i].size));
        RGM_GO(rgmi_put_number(out, e.files[i].time));
        RGM_GO(rgm_text_add(out, "}", 1));
    }
    RGM_GO(rgm_text_add(out, "]", 1));
    RGM_GO(rgmi_put_end(out, e.damage));
done:
    clear_exports(&e);
    return status;
}

rgm_status rgmi_count_exports(int64_t *count, const char *folder)
{
    exports e = {0};
    rgm_status status = find_exports(&e, folder);

    *count = e.count > 0 ? e.count : e.damage != NULL;
    clear_exports(&e);
    return status;
}

/* ---- one ----------------------------------------------------------------------------------- */

/* The last part of a name in letters that no header, shell or file system takes for others. */
static rgm_status safe_name(char **out, const char *name)
{
    const char *slash = strrchr(name, '/');

    RGM_TRY(rgm_strdup(out, slash != NULL ? slash + 1 : name));
    for (char *c = *out; *c != '\0'; c++)
        if (!((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_' || *c == '-' || (*c == '.' && c > *out)))
            *c = '_';
    if (strlen(*out) > 200)
        (*out)[200] = '\0';
    return RGM_OK;
}

rgm_status rgmi_open_export(rgmi_kept_file *file, char **name, const char *folder, int64_t number)
{
    exports e = {0};
    const char *found = NULL;
    rgm_status status = RGM_OK;

    *file = (rgmi_kept_file){.fd = -1};
    *name = NULL;
    RGM_GO(find_exports(&e, folder));
    for (int64_t i = 0; i < e.count && found == NULL; i++)
        if (number_of(e.files[i].name) == number)
            found = e.files[i].name;
    if (found == NULL)
        RGM_GO(RGM_FAIL(RGM_ERR_NOT_FOUND, "the run has no export %lld", (long long)number));
    RGM_GO(safe_name(name, found));
    RGM_GO(rgmi_kept_open(file, folder, found));
done:
    clear_exports(&e);
    if (status != RGM_OK) {
        rgm_free(*name);
        *name = NULL;
    }
    return status;
}
