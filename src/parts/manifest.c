/*
 * parts.json: who cut the graph, how many of each set every part has, and the files with their
 * hashes.
 */
#include "parts_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void clear_set(rgmi_parts_set *set)
{
    rgm_free(set->name);
    rgm_free(set->own);
    rgm_free(set->halo);
}

void rgm_parts_release(rgm_parts *parts)
{
    if (parts == NULL)
        return;
    for (int64_t i = 0; parts->sets != NULL && i < parts->set_count; i++)
        clear_set(&parts->sets[i]);
    for (int64_t i = 0; parts->files != NULL && i < 2 * parts->count; i++)
        rgm_free(parts->files[i].name);
    rgm_free(parts->sets);
    rgm_free(parts->files);
    rgm_free(parts->folder);
    rgm_free(parts->made_by);
    rgm_free(parts);
}

const rgmi_parts_set *rgmi_parts_set_find(const rgm_parts *parts, rgm_piece piece, const char *name)
{
    for (int64_t i = 0; i < parts->set_count; i++)
        if (parts->sets[i].piece == piece && strcmp(parts->sets[i].name, name) == 0)
            return &parts->sets[i];
    return NULL;
}

int64_t rgm_parts_count(const rgm_parts *parts)
{
    return parts->count;
}

const char *rgm_parts_made_by(const rgm_parts *parts)
{
    return parts->made_by;
}

double rgm_parts_cut(const rgm_parts *parts)
{
    return parts->cut;
}

int64_t rgm_parts_total(const rgm_parts *parts, rgm_piece piece, const char *set)
{
    const rgmi_parts_set *found = rgmi_parts_set_find(parts, piece, set);

    return found != NULL ? found->total : -1;
}

int64_t rgm_parts_own(const rgm_parts *parts, int64_t part, rgm_piece piece, const char *set)
{
    const rgmi_parts_set *found = rgmi_parts_set_find(parts, piece, set);

    return found != NULL ? found->own[part] : -1;
}

int64_t rgm_parts_halo(const rgm_parts *parts, int64_t part, const char *node_set)
{
    const rgmi_parts_set *found = rgmi_parts_set_find(parts, RGM_NODE_SET, node_set);

    return found != NULL ? found->halo[part] : -1;
}

int64_t rgm_parts_split(const rgm_parts *parts, int of)
{
    return parts->split[of];
}

/* ---- files --------------------------------------------------------------------------------- */

rgm_status rgmi_parts_file_look(rgmi_parts_file *out, const char *folder)
{
    rgm_mapped_file file;
    rgm_status status;
    char *path;

    RGM_TRY(rgm_path_join(&path, folder, out->name));
    status = rgm_file_map(&file, path);
    rgm_free(path);
    RGM_TRY(status);
    out->bytes = file.size;
    out->hash = rgm_hash64(file.data, (size_t)file.size);
    rgm_file_unmap(&file);
    return RGM_OK;
}

/* ---- writing ------------------------------------------------------------------------------- */

static rgm_status print_counts(rgm_json_writer *w, const char *key, const int64_t *counts,
                               int64_t count)
{
    RGM_TRY(rgm_json_open_list(w, key, RGM_JSON_SPACED));
    for (int64_t i = 0; i < count; i++)
        RGM_TRY(rgm_json_write_int(w, NULL, counts[i]));
    return rgm_json_close(w);
}

static rgm_status print_sets(rgm_json_writer *w, const rgm_parts *parts, rgm_piece piece)
{
    RGM_TRY(rgm_json_open_object(w, piece == RGM_NODE_SET ? "nodes" : "edges", RGM_JSON_LINES));
    for (int64_t i = 0; i < parts->set_count; i++) {
        const rgmi_parts_set *set = &parts->sets[i];

        if (set->piece != piece)
            continue;
        RGM_TRY(rgm_json_open_object(w, set->name, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_int(w, "total", set->total));
        RGM_TRY(print_counts(w, "own", set->own, parts->count));
        if (set->halo != NULL)
            RGM_TRY(print_counts(w, "halo", set->halo, parts->count));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

static rgm_status print_files(rgm_json_writer *w, const rgm_parts *parts)
{
    char hash[17];

    RGM_TRY(rgm_json_open_list(w, "files", RGM_JSON_LINES));
    for (int64_t i = 0; i < 2 * parts->count; i++) {
        const rgmi_parts_file *file = &parts->files[i];

        snprintf(hash, sizeof hash, "%016" PRIx64, file->hash);
        RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_text(w, "name", file->name));
        RGM_TRY(rgm_json_write_int(w, "bytes", file->bytes));
        RGM_TRY(rgm_json_write_text(w, "xxh3", hash));
        RGM_TRY(rgm_json_close(w));
    }
    return rgm_json_close(w);
}

rgm_status rgmi_parts_print(rgm_text *out, const rgm_parts *parts)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(&w, "version", RGMI_PARTS_VERSION));
    RGM_TRY(rgm_json_write_int(&w, "parts", parts->count));
    RGM_TRY(rgm_json_write_text(&w, "made_by", parts->made_by));
    RGM_TRY(rgm_json_write_number(&w, "cut", parts->cut));
    RGM_TRY(print_counts(&w, "split", parts->split, 3));
    RGM_TRY(print_sets(&w, parts, RGM_NODE_SET));
    RGM_TRY(print_sets(&w, parts, RGM_EDGE_SET));
    RGM_TRY(print_files(&w, parts));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_printf(out, "\n");
}

/* ---- reading ------------------------------------------------------------------------------- */

static rgm_status damaged(const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "%s: write the parts again", what);
}

/* counts [count] of an array, each at least `least`. */
static rgm_status read_counts(int64_t *counts, const rgm_json *json, int64_t count, int64_t least,
                              const char *what)
{
    if (rgm_json_count(json) != count)
        return damaged(what);
    for (int64_t i = 0; i < count; i++)
        if (!rgm_json_int(&counts[i], rgm_json_at(json, i)) || counts[i] < least)
            return damaged(what);
    return RGM_OK;
}

static rgm_status read_set(rgmi_parts_set *set, const rgm_json_entry *entry, rgm_piece piece,
                           int64_t parts)
{
    set->piece = piece;
    RGM_TRY(rgm_strdup(&set->name, entry->key));
    RGM_TRY(RGM_NEW(set->own, parts));
    if (!rgm_json_int(&set->total, rgm_json_find(entry->value, "total")) || set->total < 0)
        return damaged(entry->key);
    RGM_TRY(read_counts(set->own, rgm_json_find(entry->value, "own"), parts, 0, entry->key));
    if (piece != RGM_NODE_SET)
        return RGM_OK;
    RGM_TRY(RGM_NEW(set->halo, parts));
    return read_counts(set->halo, rgm_json_find(entry->value, "halo"), parts, 0, entry->key);
}

static rgm_status read_sets(rgm_parts *parts, const rgm_json *json)
{
    static const rgm_piece pieces[2] = {RGM_NODE_SET, RGM_EDGE_SET};
    const rgm_json *objects[2] = {rgm_json_find(json, "nodes"), rgm_json_find(json, "edges")};
    int64_t count = 0;

    for (int i = 0; i < 2; i++)
        for (rgm_json_entry entry = {0}; rgm_json_next(&entry, objects[i]);)
            count++;
    RGM_TRY(RGM_NEW(parts->sets, count));
    for (int i = 0; i < 2; i++)
        for (rgm_json_entry entry = {0}; rgm_json_next(&entry, objects[i]);)
            RGM_TRY(read_set(&parts->sets[parts->set_count++], &entry, pieces[i], parts->count));
    return RGM_OK;
}

/* A name is that of a file in the folder. */
static rgm_status read_file(rgmi_parts_file *file, const rgm_json *json)
{
    const char *name = rgm_json_text(rgm_json_find(json, "name"));
    const char *hash = rgm_json_text(rgm_json_find(json, "xxh3"));
    char *end;

    if (name == NULL || hash == NULL || strchr(name, '/') != NULL || strlen(hash) != 16 ||
        !rgm_json_int(&file->bytes, rgm_json_find(json, "bytes")))
        return damaged("files");
    file->hash = strtoull(hash, &end, 16);
    if (*end != '\0')
        return damaged("files");
    return rgm_strdup(&file->name, name);
}

static rgm_status read_all(rgm_parts *parts, const rgm_json *json)
{
    const rgm_json *files = rgm_json_find(json, "files");
    const char *made_by = rgm_json_text(rgm_json_find(json, "made_by"));
    int64_t version, count;

    if (!rgm_json_int(&version, rgm_json_find(json, "version")))
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "it is no list of parts: regimen data partition writes them");
    if (version != RGMI_PARTS_VERSION)
        return RGM_FAIL(RGM_ERR_VERSION, "version %lld, this build reads %d: write the parts again",
                        (long long)version, RGMI_PARTS_VERSION);
    if (!rgm_json_int(&count, rgm_json_find(json, "parts")) || count < 1 ||
        count > RGMI_MOST_PARTS || rgm_json_count(files) != 2 * count || made_by == NULL ||
        !rgm_json_number(&parts->cut, rgm_json_find(json, "cut")))
        return damaged("parts");
    RGM_TRY(RGM_NEW(parts->files, 2 * count));
    parts->count = count;
    RGM_TRY(rgm_strdup(&parts->made_by, made_by));
    RGM_TRY(read_counts(parts->split, rgm_json_find(json, "split"), 3, -1, "split"));
    for (int64_t i = 0; i < 2 * count; i++)
        RGM_TRY(read_file(&parts->files[i], rgm_json_at(files, i)));
    return read_sets(parts, json);
}

/* The folder of a path that may be that of parts.json. */
static rgm_status folder_of(char **out, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (rgm_path_is_folder(path))
        return rgm_strdup(out, path);
    if (slash == NULL)
        return rgm_strdup(out, ".");
    return rgm_strprintf(out, "%.*s", slash > path ? (int)(slash - path) : 1, path);
}

rgm_status rgm_parts_load(rgm_parts **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgm_parts *parts = NULL;
    rgm_json *json = NULL;
    char *file = NULL, *data = NULL;
    int64_t size;

    *out = NULL;
    RGM_GO(RGM_NEW(parts, 1));
    RGM_GO(folder_of(&parts->folder, path));
    if (rgm_path_is_folder(path))
        RGM_GO(rgm_path_join(&file, path, RGMI_PARTS_FILE));
    else
        RGM_GO(rgm_strdup(&file, path));
    RGM_GO(rgm_file_load(&data, &size, file, 64 << 20));
    RGM_GO(rgm_json_parse(&json, data, size, file));
    RGM_GO(rgm_error_prefix(read_all(parts, json), "%s", file));
    *out = parts;
    parts = NULL;
done:
    rgm_json_release(json);
    rgm_free(data);
    rgm_free(file);
    rgm_parts_release(parts);
    return status;
}
