/*
 * Searches over experiments: what a search file's own sections are to the search layer, which knows
 * no experiment.
 */
#include <regimen/search_rows.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "trial_internal.h"

#include <regimen/device.h>

/* Folds and seeds are a whole search for each. */
rgm_status rgmi_check_single(const rgm_experiment *experiment, const char *path)
{
    int64_t count = rgm_experiment_part_count(experiment);

    if (count == 1)
        return RGM_OK;
    return RGM_FAIL(RGM_ERR_CONFIG,
                    "%s: trainer.folds and runtime.seeds make %lld runs, but a trial is one: "
                    "trainer.fold names the fold that the search is on, and what it finds is run "
                    "on all of them",
                    path, (long long)count);
}

static rgm_status load_point(rgm_experiment **out, const char *path, const rgm_yaml *document,
                             const rgm_extensions *own)
{
    rgm_status status = RGM_OK;

    RGM_GO(rgm_experiment_load_merged(out, path, document, own));
    RGM_GO(rgmi_check_single(*out, path));
done:
    if (status != RGM_OK) {
        rgm_experiment_release(*out);
        *out = NULL;
    }
    return status;
}

static rgm_status check_point(const char *name, const rgm_yaml *document, const void *payload)
{
    rgm_experiment *experiment;
    rgm_status status = load_point(&experiment, name, document, payload);

    rgm_experiment_release(experiment);
    return status;
}

static const rgm_search_rows objects_too = {.objects = true};

const rgm_search_subject rgm_trial_subject = {.sections = rgm_experiment_section_names,
                                              .check = check_point,
                                              .devices = rgm_device_find,
                                              .rows = &objects_too};

/* The rows that the file was loaded with. */
static const rgm_extensions *own_of(const rgm_search_file *file)
{
    const rgm_search_subject *subject = rgm_search_file_subject(file);

    return subject != NULL && subject->check == check_point ? subject->payload : NULL;
}

/* Beside the file that has it, as `extends` is; *out NULL: there is nothing, or it needs no place.
 */
static rgm_status place_beside(char **out, const rgm_yaml_node *entrypoint)
{
    const char *text = entrypoint->text, *slash = strrchr(entrypoint->origin, '/');
    const char *colon = strrchr(text, ':');
    rgm_status status = RGM_OK;
    char *whole = NULL, *object = NULL;

    *out = NULL;
    if (text[0] == '/' || slash == NULL)
        return RGM_OK;
    while (strncmp(text, "./", 2) == 0)
        text += 2;
    RGM_GO(rgm_strprintf(&whole, "%.*s%s", (int)(slash + 1 - entrypoint->origin),
                         entrypoint->origin, text));
    RGM_GO(rgm_strndup(&object, whole, strlen(whole) - (colon != NULL ? strlen(colon) : 0)));
    if (rgm_path_exists(object)) {
        *out = whole;
        whole = NULL;
    }
done:
    rgm_free(whole);
    rgm_free(object);
    return status;
}

/* The folder of the code without links and dots: that of the file which has the entrypoint, or what
 * its code_folder says, beside that. So the search is the same from whichever folder it is begun.
 */
static rgm_status place_code(rgm_yaml *merged, const char *name)
{
    const rgm_yaml_node *root = rgm_yaml_root(merged), *said = rgm_yaml_find(root, "code_folder");
    const rgm_yaml_node *entrypoint = rgm_yaml_find(root, "entrypoint");
    const char *origin = said != NULL ? said->origin : entrypoint->origin;
    const char *slash = strrchr(origin, '/'), *text = said != NULL ? said->text : ".";
    rgm_status status = RGM_OK;
    char *path = NULL, *whole = NULL;
    rgm_text quoted = {0};

    if (said != NULL && said->kind != RGM_YAML_SCALAR)
        return RGM_OK; /* which is told when it is read */
    RGM_GO(rgm_strprintf(&path, "%.*s%s",
                         slash != NULL && text[0] != '/' ? (int)(slash + 1 - origin) : 0, origin,
                         text));
    whole = realpath(path, NULL);
    if (whole == NULL && errno != ENOENT && errno != ENOTDIR)
        RGM_GO(RGM_FAIL_SYSTEM("find the code_folder", path));
    /* One that is not there is told by who takes code from it: what was registered has other. */
    RGM_GO(rgm_json_print_text(&quoted, whole != NULL ? whole : path));
    RGM_GO(rgm_yaml_set(merged, "code_folder", quoted.data, name));
done:
    free(whole);
    rgm_free(path);
    rgm_text_clear(&quoted);
    return status;
}

/* A file that a word of a searcher's command names, in the same way; the program itself only where
 * it is a path. */
static rgm_status place_word(char **out, const rgm_yaml_node *word, bool is_program)
{
    char *beside = NULL, *real = NULL;
    rgm_status status = RGM_OK;

    *out = NULL;
    if (word->kind != RGM_YAML_SCALAR || (is_program && strchr(word->text, '/') == NULL))
        return RGM_OK;
    RGM_GO(place_beside(&beside, word));
    real = realpath(beside != NULL ? beside : word->text, NULL);
    if (real != NULL && !rgm_path_is_folder(real))
        RGM_GO(rgm_strdup(out, real));
done:
    free(real);
    rgm_free(beside);
    return status;
}

/* "./mine.so:NAME" of a searcher or sampler: beside the file or in the working folder, and from the
 * root, since the master that loads it works elsewhere. *out NULL: it is no object that is there.
 */
static rgm_status place_row(char **out, const rgm_yaml_node *name)
{
    rgm_status status = RGM_OK;
    char *beside = NULL, *object = NULL, *real = NULL;
    const char *text, *colon;

    *out = NULL;
    if (name == NULL || name->kind != RGM_YAML_SCALAR || strstr(name->text, ".so") == NULL)
        return RGM_OK;
    RGM_GO(place_beside(&beside, name));
    text = beside != NULL ? beside : name->text;
    colon = strrchr(text, ':');
    RGM_GO(rgm_strndup(&object, text, strlen(text) - (colon != NULL ? strlen(colon) : 0)));
    real = realpath(object, NULL);
    if (real != NULL)
        RGM_GO(rgm_strprintf(out, "%s%s", real, colon != NULL ? colon : ""));
done:
    free(real);
    rgm_free(beside);
    rgm_free(object);
    return status;
}

static rgm_yaml_node *found(rgm_yaml_node *map, const char *key)
{
    return map != NULL && map->kind == RGM_YAML_MAP ? rgm_yaml_find(map, key) : NULL;
}

enum { ROWS = 3 };

/* The paths of what a search runs beside its trials; nodes point into them. */
typedef struct own_paths {
    char **items;
    int64_t count;
} own_paths;

static void take_place(own_paths *paths, rgm_yaml_node *node, char *place)
{
    if (place == NULL)
        return;
    node->text = place;
    paths->items[paths->count++] = place;
}

static rgm_status place_own(own_paths *paths, rgm_yaml_node *searcher)
{
    rgm_yaml_node *rows[ROWS] = {found(searcher, "name"), found(searcher, "sampler")};
    rgm_yaml_node *command = found(searcher, "command");
    int64_t words = command != NULL && command->kind == RGM_YAML_LIST ? command->count : 0;
    char *place;

    rows[2] = found(rows[1], "type");
    RGM_TRY(RGM_NEW(paths->items, ROWS + words));
    for (int i = 0; i < ROWS; i++) {
        RGM_TRY(place_row(&place, rows[i]));
        take_place(paths, rows[i], place);
    }
    for (int64_t i = 0; i < words; i++) {
        RGM_TRY(place_word(&place, command->items[i], i == 0));
        take_place(paths, command->items[i], place);
    }
    return RGM_OK;
}

rgm_status rgm_trial_load_merged(rgm_search_file **out, rgm_text *mistakes, const char *name,
                                 const rgm_yaml *merged, const rgm_extensions *own)
{
    rgm_search_subject subject = rgm_trial_subject;
    rgm_status status = RGM_OK;
    rgm_yaml *placed = NULL;
    rgm_yaml_node *entrypoint;
    own_paths paths = {0};
    char *path = NULL;

    *out = NULL;
    subject.payload = own;
    RGM_GO(rgm_yaml_parse(&placed, "", 0, name));
    RGM_GO(rgm_yaml_merge(placed, merged));
    entrypoint = rgm_yaml_find(rgm_yaml_root(placed), "entrypoint");
    if (entrypoint != NULL && entrypoint->kind == RGM_YAML_SCALAR)
        RGM_GO(place_beside(&path, entrypoint));
    if (path != NULL)
        entrypoint->text = path;
    if (entrypoint != NULL && (entrypoint->kind == RGM_YAML_LIST ||
                               rgm_yaml_find(rgm_yaml_root(placed), "include") != NULL))
        RGM_GO(place_code(placed, name));
    RGM_GO(place_own(&paths, found(rgm_yaml_root(placed), "searcher")));
    RGM_GO(rgm_search_file_load(out, mistakes, name, placed, &subject));
done:
    rgm_yaml_release(placed);
    rgm_free(path);
    rgm_names_release(paths.items, paths.count);
    return status;
}

rgm_status rgm_trial_load_search(rgm_search_file **out, rgm_text *mistakes,
                                 const rgm_experiment_layers *layers)
{
    rgm_status status = RGM_OK;
    rgm_yaml *merged = NULL;

    *out = NULL;
    RGM_GO(rgm_experiment_merge_layers(&merged, layers));
    RGM_GO(rgm_trial_load_merged(out, mistakes, layers->name, merged, layers->own));
done:
    rgm_yaml_release(merged);
    return status;
}

rgm_status rgm_trial_experiment(rgm_experiment **out, const rgm_search_file *file,
                                const rgm_hyper_value *values, uint32_t seed)
{
    const char *path = rgm_search_file_path(file);
    const char *entrypoint = rgm_search_file_settings(file)->entrypoint;
    rgm_status status = RGM_OK;
    rgm_yaml *document = NULL;

    *out = NULL;
    if (rgm_search_file_is_own(file))
        return RGM_FAIL(RGM_ERR_UNSUPPORTED, "%s trains what %s says, which is no experiment file",
                        path, entrypoint != NULL ? entrypoint : "its command");
    RGM_GO(rgm_search_file_point(&document, file, values, seed));
    RGM_GO(load_point(out, path, document, own_of(file)));
done:
    rgm_yaml_release(document);
    return status;
}
