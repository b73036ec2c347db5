/*
 * model.json: all versions of a name in one file, so that a change of several is one change. What
 * is read is believed as far as it was checked.
 */
#include "registry_internal.h"

#include <math.h>
#include <string.h>

enum { FORMAT = 1 };
#define MOST_NUMBER (INT64_C(1) << 53)

const char *const rgm_model_stage_names[] = {"new", "staging", "production", "archived", NULL};

bool rgm_model_stage_find(rgm_model_stage *out, const char *name)
{
    for (int i = 0; name != NULL && rgm_model_stage_names[i] != NULL; i++)
        if (strcmp(rgm_model_stage_names[i], name) == 0) {
            *out = (rgm_model_stage)i;
            return true;
        }
    return false;
}

bool rgmi_model_is_inner(const char *name)
{
    if (name == NULL || strlen(name) > 1024)
        return false;
    for (const char *part = name;; part++) {
        size_t size = strcspn(part, "/");

        if (size == 0 || (size == 1 && part[0] == '.') || (size == 2 && memcmp(part, "..", 2) == 0))
            return false;
        part += size;
        if (*part == 0)
            return true;
    }
}

void rgmi_model_version_clear(rgm_model_version *version)
{
    for (int64_t i = 0; i < version->metric_count; i++)
        rgm_free(version->metrics[i].name);
    for (int64_t i = 0; i < version->file_count; i++)
        rgm_free(version->files[i].name);
    rgm_free(version->metrics);
    rgm_free(version->files);
    rgm_free(version->source);
    rgm_free(version->note);
    *version = (rgm_model_version){.number = 0};
}

void rgm_model_clear(rgm_model *model)
{
    for (int64_t i = 0; i < model->count; i++)
        rgmi_model_version_clear(&model->versions[i]);
    rgm_free(model->versions);
    rgm_free(model->name);
    *model = (rgm_model){.name = NULL};
}

rgm_model_version *rgmi_model_version_at(const rgm_model *model, int64_t number)
{
    for (int64_t i = 0; i < model->count; i++)
        if (model->versions[i].number == number)
            return &model->versions[i];
    return NULL;
}

/* ---- reading ------------------------------------------------------------------------------- */

static rgm_status refuse(const char *path, const char *what)
{
    return RGM_FAIL(RGM_ERR_FORMAT, "'%s' is damaged, or no registry wrote it: %s", path, what);
}

static rgm_status read_metrics(rgm_model_version *v, const rgm_json *metrics, const char *path)
{
    rgm_json_entry entry = {0};
    double value;

    if (!rgm_json_is_object(metrics))
        return refuse(path, "a version without 'metrics'");
    while (rgm_json_next(&entry, metrics)) {
        if (!rgm_json_number(&value, entry.value))
            return refuse(path, "a metric is no number");
        RGM_TRY(RGM_RESERVE(v->metrics, v->metric_capacity, v->metric_count + 1));
        RGM_TRY(rgm_strdup(&v->metrics[v->metric_count].name, entry.key));
        v->metrics[v->metric_count++].value = value;
    }
    return RGM_OK;
}

static bool is_hash(const char *text)
{
    return text != NULL && strlen(text) == RGM_SHA256_ROOM - 1 &&
           strspn(text, "0123456789abcdef") == RGM_SHA256_ROOM - 1;
}

static rgm_status read_files(rgm_model_version *v, const rgm_json *files, const char *path)
{
    rgm_json_entry entry = {0};

    if (!rgm_json_is_object(files))
        return refuse(path, "a version without 'files'");
    while (rgm_json_next(&entry, files)) {
        const char *hash = rgm_json_text(rgm_json_find(entry.value, "sha256"));
        int64_t size = -1;

        rgm_json_int(&size, rgm_json_find(entry.value, "size"));
        if (!is_hash(hash) || size < 0 || !rgmi_model_is_inner(entry.key) ||
            v->file_count >= RGMI_MOST_FILES)
            return refuse(path, "a file without name, 'size' or 'sha256'");
        RGM_TRY(RGM_RESERVE(v->files, v->file_capacity, v->file_count + 1));
        v->files[v->file_count] = (rgm_model_file){.size = size};
        memcpy(v->files[v->file_count].sha256, hash, RGM_SHA256_ROOM);
        RGM_TRY(rgm_strdup(&v->files[v->file_count].name, entry.key));
        v->file_count++;
    }
    return RGM_OK;
}

static rgm_status read_version(rgm_model *model, const rgm_json *json, const char *path)
{
    const char *source = rgm_json_text(rgm_json_find(json, "source"));
    const char *note = rgm_json_text(rgm_json_find(json, "note"));
    const char *stage = rgm_json_text(rgm_json_find(json, "stage"));
    rgm_model_version *v;

    RGM_TRY(RGM_RESERVE(model->versions, model->capacity, model->count + 1));
    v = &model->versions[model->count++];
    *v = (rgm_model_version){.created = NAN};
    rgm_json_int(&v->number, rgm_json_find(json, "version"));
    rgm_json_number(&v->created, rgm_json_find(json, "created"));
    if (v->number < 1 || v->number >= model->next || rgmi_model_version_at(model, v->number) != v ||
        !isfinite(v->created) || v->created < 0 || v->created > 253402300799.0)
        return refuse(path, "the number or the time of a version");
    if (source == NULL || note == NULL || !rgm_model_stage_find(&v->stage, stage))
        return refuse(path, "a version without 'source', 'note' or 'stage'");
    RGM_TRY(rgm_strdup(&v->source, source));
    RGM_TRY(rgm_strdup(&v->note, note));
    RGM_TRY(read_metrics(v, rgm_json_find(json, "metrics"), path));
    return read_files(v, rgm_json_find(json, "files"), path);
}

static rgm_status read_model(rgm_model *model, const rgm_json *json, const char *path,
                             const char *name)
{
    const rgm_json *versions = rgm_json_find(json, "versions");
    const char *said = rgm_json_text(rgm_json_find(json, "name"));
    int64_t format = 0;

    rgm_json_int(&format, rgm_json_find(json, "format"));
    if (format > FORMAT)
        return RGM_FAIL(RGM_ERR_VERSION, "'%s' is of format %lld, this program reads format %d",
                        path, (long long)format, (int)FORMAT);
    rgm_json_int(&model->next, rgm_json_find(json, "next"));
    if (format != FORMAT || model->next < 1 || model->next > MOST_NUMBER)
        return refuse(path, "no 'format', or no 'next'");
    if (said == NULL || strcmp(said, name) != 0)
        return refuse(path, "it has another name than its folder");
    if (rgm_json_count(versions) < 0)
        return refuse(path, "no 'versions'");
    for (int64_t i = 0; i < rgm_json_count(versions); i++)
        RGM_TRY(read_version(model, rgm_json_at(versions, i), path));
    return RGM_OK;
}

rgm_status rgmi_model_parse(rgm_model *out, const char *data, int64_t size, const char *path,
                            const char *name)
{
    rgm_status status = RGM_OK;
    rgm_json *json = NULL;

    *out = (rgm_model){.next = 0};
    RGM_GO(rgm_strdup(&out->name, name));
    RGM_GO(rgm_json_parse(&json, data, size, path));
    RGM_GO(read_model(out, json, path, name));
done:
    rgm_json_release(json);
    if (status != RGM_OK)
        rgm_model_clear(out);
    return status;
}

/* ---- writing ------------------------------------------------------------------------------- */

static rgm_status print_version(rgm_json_writer *w, const rgm_model_version *v)
{
    RGM_TRY(rgm_json_open_object(w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(w, "version", v->number));
    RGM_TRY(rgm_json_write_text(w, "stage", rgm_model_stage_names[v->stage]));
    RGM_TRY(rgm_json_write_number(w, "created", v->created));
    RGM_TRY(rgm_json_write_text(w, "source", v->source));
    RGM_TRY(rgm_json_write_text(w, "note", v->note));
    RGM_TRY(rgm_json_open_object(w, "metrics", RGM_JSON_LINES));
    for (int64_t i = 0; i < v->metric_count; i++)
        RGM_TRY(rgm_json_write_number(w, v->metrics[i].name, v->metrics[i].value));
    RGM_TRY(rgm_json_close(w));
    RGM_TRY(rgm_json_open_object(w, "files", RGM_JSON_LINES));
    for (int64_t i = 0; i < v->file_count; i++) {
        RGM_TRY(rgm_json_open_object(w, v->files[i].name, RGM_JSON_SPACED));
        RGM_TRY(rgm_json_write_int(w, "size", v->files[i].size));
        RGM_TRY(rgm_json_write_text(w, "sha256", v->files[i].sha256));
        RGM_TRY(rgm_json_close(w));
    }
    RGM_TRY(rgm_json_close(w));
    return rgm_json_close(w);
}

rgm_status rgmi_model_print(rgm_text *out, const rgm_model *model)
{
    rgm_json_writer w = {.out = out};

    RGM_TRY(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_TRY(rgm_json_write_int(&w, "format", FORMAT));
    RGM_TRY(rgm_json_write_text(&w, "name", model->name));
    RGM_TRY(rgm_json_write_int(&w, "next", model->next));
    RGM_TRY(rgm_json_open_list(&w, "versions", RGM_JSON_LINES));
    for (int64_t i = 0; i < model->count; i++)
        RGM_TRY(print_version(&w, &model->versions[i]));
    RGM_TRY(rgm_json_close(&w));
    RGM_TRY(rgm_json_close(&w));
    return rgm_text_add(out, "\n", 1);
}
