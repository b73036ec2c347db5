/*
 * The record of a step, step.json: from what it is made, whether it is done, and what came out.
 */
#include <string.h>

#include "distil_internal.h"

enum { VERSION = 1, LARGEST = 1 << 20 };
static const char record_file[] = "step.json";

/* ---- reading --------------------------------------------------------------------------------- */

static rgm_status read_texts(rgmi_inputs *out, const rgm_json *json)
{
    rgm_json_entry entry = {0};

    while (json != NULL && rgm_json_next(&entry, json)) {
        const char *text = rgm_json_text(entry.value);

        RGM_TRY(rgmi_inputs_add(out, entry.key, text != NULL ? text : ""));
    }
    return RGM_OK;
}

static rgm_status read_record(rgmi_step_record *out, const rgm_json *json, const char *path)
{
    int64_t version = 0;

    if (!rgm_json_is_object(json) || !rgm_json_int(&version, rgm_json_find(json, "version")) ||
        !rgm_json_bool(&out->done, rgm_json_find(json, "done")))
        return RGM_FAIL(RGM_ERR_FORMAT, "'%s' is damaged, or no record of a step", path);
    if (version > VERSION)
        return RGM_FAIL(RGM_ERR_VERSION, "'%s' is of version %lld, this program reads version %d",
                        path, (long long)version, (int)VERSION);
    RGM_TRY(read_texts(&out->inputs, rgm_json_find(json, "inputs")));
    RGM_TRY(read_texts(&out->outputs, rgm_json_find(json, "outputs")));
    out->exists = true;
    return RGM_OK;
}

rgm_status rgmi_record_load(rgmi_step_record *out, const rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    char *path = NULL, *text = NULL;
    rgm_json *json = NULL;
    int64_t size;

    *out = (rgmi_step_record){.exists = false};
    RGM_GO(rgmi_step_path(&path, work, work->step->name, record_file));
    if (!rgm_path_exists(path))
        goto done;
    RGM_GO(rgm_file_load(&text, &size, path, LARGEST));
    RGM_GO(rgm_json_parse(&json, text, size, path));
    RGM_GO(read_record(out, json, path));
done:
    rgm_json_release(json);
    rgm_free(text);
    rgm_free(path);
    if (status != RGM_OK)
        rgmi_record_clear(out);
    return status;
}

void rgmi_record_clear(rgmi_step_record *record)
{
    rgmi_inputs_clear(&record->inputs);
    rgmi_inputs_clear(&record->outputs);
    *record = (rgmi_step_record){.exists = false};
}

/* ---- writing --------------------------------------------------------------------------------- */

static rgm_status write_texts(rgm_json_writer *w, const char *key, const rgmi_inputs *texts)
{
    RGM_TRY(rgm_json_open_object(w, key, RGM_JSON_LINES));
    for (int64_t i = 0; i < texts->count; i++)
        RGM_TRY(rgm_json_write_text(w, texts->items[i].key, texts->items[i].value));
    return rgm_json_close(w);
}

static rgm_status write_figures(rgm_json_writer *w, const rgmi_step_figures *figures)
{
    RGM_TRY(rgm_json_open_object(w, "figures", RGM_JSON_LINES));
    for (int64_t i = 0; i < figures->count; i++)
        RGM_TRY(rgm_json_write_int(w, figures->names[i], figures->values[i]));
    return rgm_json_close(w);
}

/* Hashes of the files that the step wrote. */
static rgm_status list_outputs(rgmi_inputs *out, const rgmi_step_work *work)
{
    static const char *const names[] = {"source.txt", "target.txt", "scores.txt"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rgm_status status = RGM_OK;
        char *path;

        RGM_TRY(rgmi_step_path(&path, work, work->step->name, names[i]));
        if (rgm_path_exists(path))
            status = rgmi_inputs_add_file(out, names[i], path);
        rgm_free(path);
        RGM_TRY(status);
    }
    return RGM_OK;
}

static rgm_status print_record(rgm_text *out, const rgmi_step_work *work, const rgmi_inputs *inputs,
                               const rgmi_step_figures *figures)
{
    rgm_status status = RGM_OK;
    rgm_json_writer w = {.out = out};
    rgmi_inputs outputs = {0};

    RGM_GO(rgm_json_open_object(&w, NULL, RGM_JSON_LINES));
    RGM_GO(rgm_json_write_int(&w, "version", VERSION));
    RGM_GO(rgm_json_write_text(&w, "type", work->step->type->section.name));
    RGM_GO(rgm_json_write_bool(&w, "done", figures != NULL));
    RGM_GO(write_texts(&w, "inputs", inputs));
    if (figures != NULL) {
        RGM_GO(list_outputs(&outputs, work));
        RGM_GO(write_texts(&w, "outputs", &outputs));
        RGM_GO(write_figures(&w, figures));
    }
    RGM_GO(rgm_json_close(&w));
    RGM_GO(rgm_text_add(out, "\n", 1));
done:
    rgmi_inputs_clear(&outputs);
    return status;
}

rgm_status rgmi_record_save(const rgmi_step_work *work, const rgmi_inputs *inputs,
                            const rgmi_step_figures *figures)
{
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    char *path = NULL;

    RGM_GO(print_record(&text, work, inputs, figures));
    RGM_GO(rgmi_step_path(&path, work, work->step->name, record_file));
    RGM_GO(rgm_file_save_own(path, text.data, text.size));
done:
    rgm_text_clear(&text);
    rgm_free(path);
    return status;
}

/* ---- comparing ------------------------------------------------------------------------------- */

static const char *find(const rgmi_inputs *inputs, const char *key)
{
    for (int64_t i = 0; i < inputs->count; i++)
        if (strcmp(inputs->items[i].key, key) == 0)
            return inputs->items[i].value;
    return NULL;
}

static rgm_status add_name(rgm_text *out, bool *goes_on, const char *key)
{
    if (strncmp(key, RGMI_GOES_ON, strlen(RGMI_GOES_ON)) == 0) {
        *goes_on = true;
        return RGM_OK;
    }
    return rgm_text_printf(out, "%s%s", out->size > 0 ? ", " : "", key);
}

rgm_status rgmi_inputs_compare(rgm_text *out, bool *goes_on, const rgmi_inputs *before,
                               const rgmi_inputs *now)
{
    *goes_on = false;
    for (int64_t i = 0; i < now->count; i++) {
        const char *was = find(before, now->items[i].key);

        if (was == NULL || strcmp(was, now->items[i].value) != 0)
            RGM_TRY(add_name(out, goes_on, now->items[i].key));
    }
    for (int64_t i = 0; i < before->count; i++)
        if (find(now, before->items[i].key) == NULL)
            RGM_TRY(add_name(out, goes_on, before->items[i].key));
    return RGM_OK;
}

rgm_status rgmi_record_check_outputs(rgm_text *gone, rgm_text *other,
                                     const rgmi_step_record *record, const rgmi_step_work *work)
{
    rgm_status status = RGM_OK;
    rgmi_inputs now = {0};
    bool goes_on;

    RGM_GO(list_outputs(&now, work));
    for (int64_t i = 0; i < record->outputs.count; i++) {
        const char *key = record->outputs.items[i].key, *is = find(&now, key);

        if (is == NULL)
            RGM_GO(add_name(gone, &goes_on, key));
        else if (strcmp(is, record->outputs.items[i].value) != 0)
            RGM_GO(add_name(other, &goes_on, key));
    }
done:
    rgmi_inputs_clear(&now);
    return status;
}
