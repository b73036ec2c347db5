/*
 * What is done to a run from the page: its tags, title, note and place in lists; its end, and its
 * folder's. A run is looked up by its id, so that no path comes from a request.
 */
#include "folder_file.h"
#include "index_choose.h"
#include "web_internal.h"

#include <regimen/store.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

static bool has_control(const char *text, const char *but)
{
    for (const char *c = text; *c != 0; c++)
        if (((unsigned char)*c < 0x20 || *c == 0x7f) && strchr(but, *c) == NULL)
            return true;
    return false;
}

/* ---- what people say of it ------------------------------------------------------------------ */

/* A file of the run folder; without text there is none. Without a folder nothing is written: the
 * text was only to be checked. */
static rgm_status save(const char *folder, const char *name, const char *text, int64_t size)
{
    char *path = NULL;
    rgm_status status = RGM_OK;

    if (folder == NULL)
        return RGM_OK;
    RGM_GO(rgm_path_join(&path, folder, name));
    if (size > 0)
        RGM_GO(rgm_file_save_own(path, text, size));
    else if (unlink(path) < 0 && rgm_path_exists(path))
        RGM_GO(RGM_FAIL_SYSTEM("remove", path));
done:
    rgm_free(path);
    return status;
}

static rgm_status save_tags(const char *folder, const rgm_json *tags)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;

    if (rgm_json_count(tags) < 0 || rgm_json_count(tags) > RGMI_MOST_TAGS)
        return RGM_FAIL(RGM_ERR_ARG, "tags: a list of at most %d texts", RGMI_MOST_TAGS);
    for (int64_t i = 0; i < rgm_json_count(tags); i++) {
        const char *tag = rgm_json_text(rgm_json_at(tags, i));

        if (tag == NULL || *tag == 0 || strlen(tag) > RGMI_LONGEST_TAG)
            RGM_GO(
                RGM_FAIL(RGM_ERR_ARG, "tags: each is a text of 1 to %d bytes", RGMI_LONGEST_TAG));
        if (has_control(tag, ""))
            RGM_GO(RGM_FAIL(RGM_ERR_ARG, "tags: a tag has no control characters"));
        RGM_GO(rgm_text_printf(&text, "%s\n", tag));
    }
    RGM_GO(save(folder, "tags", text.data, text.size));
done:
    rgm_text_clear(&text);
    return status;
}

static rgm_status read_text(const char **out, const rgm_json *value, const char *key, int64_t most)
{
    *out = rgm_json_text(value);
    if (*out == NULL || (int64_t)strlen(*out) > most)
        return RGM_FAIL(RGM_ERR_ARG, "%s: a text of at most %d bytes; \"\" takes it away", key,
                        (int)most);
    return RGM_OK;
}

static rgm_status save_title(const char *folder, const rgm_json *value)
{
    const char *text;

    RGM_TRY(read_text(&text, value, "title", RGMI_LONGEST_TITLE));
    if (has_control(text, ""))
        return RGM_FAIL(RGM_ERR_ARG, "title: a line without control characters");
    return save(folder, "title", text, (int64_t)strlen(text));
}

static rgm_status save_note(const char *folder, const rgm_json *value)
{
    const char *text;

    RGM_TRY(read_text(&text, value, "note", RGMI_LONGEST_NOTE));
    if (has_control(text, "\n\t\r"))
        return RGM_FAIL(RGM_ERR_ARG, "note: text without control characters but line ends");
    return save(folder, "note.md", text, (int64_t)strlen(text));
}

static rgm_status save_archived(const char *folder, const rgm_json *value)
{
    bool archived;

    if (!rgm_json_bool(&archived, value))
        return RGM_FAIL(RGM_ERR_ARG, "archived: true or false");
    return save(folder, "archived", "lists of runs leave this one out\n", archived ? 33 : 0);
}

typedef struct change {
    const char *key;
    rgm_status (*save)(const char *folder, const rgm_json *value);
} change;
static const change changes[] = {
    {"tags", save_tags}, {"title", save_title}, {"note", save_note}, {"archived", save_archived}};
enum { CHANGES = sizeof changes / sizeof *changes };

static const change *find_change(const char *key)
{
    for (int i = 0; i < CHANGES; i++)
        if (strcmp(changes[i].key, key) == 0)
            return &changes[i];
    return NULL;
}

static rgm_status apply(const rgm_json *body, const char *folder)
{
    rgm_json_entry entry = {0};
    int64_t count = 0;

    for (; rgm_json_next(&entry, body); count++) {
        const change *one = find_change(entry.key);

        if (one == NULL)
            return RGM_FAIL(RGM_ERR_ARG,
                            "a run's '%.60s' cannot be changed; its tags, title, note and "
                            "archived can",
                            entry.key);
        RGM_TRY(one->save(folder, entry.value));
    }
    if (count == 0)
        return RGM_FAIL(RGM_ERR_ARG, "nothing is to be changed: tags, title, note or archived");
    return RGM_OK;
}

rgm_status rgmi_change_run(rgmi_web_call *call)
{
    rgmi_run_row *row = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_row(&row, call->web->runs, call->hex));
    RGM_GO(apply(call->body, NULL)); /* all is known before any is changed */
    RGM_GO(apply(call->body, row->text[RGMI_TEXT_PATH]));
    RGM_GO(rgmi_runs_read_now(&row, call->web->runs));
    RGM_GO(rgmi_run_tell(&call->out->body, row));
done:
    rgmi_run_row_release(row);
    return status;
}

rgm_status rgmi_show_note(rgmi_web_call *call)
{
    char *folder = NULL, *text = NULL;
    int64_t size = 0;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_folder(&folder, call->web->runs, call->hex));
    status = rgmi_kept_load(&text, &size, folder, "note.md", RGMI_LONGEST_NOTE);
    if (status == RGM_ERR_NOT_FOUND)
        status = RGM_OK;
    RGM_GO(status);
    RGM_GO(rgm_text_printf(&call->out->body, "{\"note\":"));
    RGM_GO(rgm_json_print_text(&call->out->body, text != NULL ? text : ""));
    RGM_GO(rgm_text_printf(&call->out->body, "}"));
done:
    rgm_free(text);
    rgm_free(folder);
    return status;
}

/* ---- its end -------------------------------------------------------------------------------- */

/* A run that is nobody else's: a trial is its master's. */
static rgm_status own_run(rgmi_run_row **out, rgmi_web_call *call, const char *how)
{
    rgm_status status;

    RGM_TRY(rgmi_runs_row(out, call->web->runs, call->hex));
    if ((*out)->kind != RGMI_TRIAL)
        return RGM_OK;
    call->out->status = 409;
    status = RGM_FAIL(RGM_ERR_ARG, "this is a trial: its master knows of it, and %s it", how);
    rgmi_run_row_release(*out);
    *out = NULL;
    return status;
}

rgm_status rgmi_stop_run(rgmi_web_call *call)
{
    rgmi_run_row *row = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(own_run(&row, call, "stops"));
    status = rgm_run_folder_stop(row->text[RGMI_TEXT_PATH]);
    if (status == RGM_ERR_NOT_FOUND || status == RGM_ERR_BUSY)
        call->out->status = 409;
    RGM_GO(status);
    RGM_GO(rgm_text_printf(&call->out->body, "{\"stopping\":true}"));
done:
    rgmi_run_row_release(row);
    return status;
}

/* A folder that was named is the user's to remove: its name lies outside of what is served. */
static bool is_named(const rgm_web *web, const char *path)
{
    for (int64_t i = 0; i < web->folder_count; i++) {
        size_t size = strlen(web->folders[i]);

        while (size > 1 && web->folders[i][size - 1] == '/')
            size--;
        if (strlen(path) == size && memcmp(path, web->folders[i], size) == 0)
            return true;
    }
    return false;
}

rgm_status rgmi_delete_run(rgmi_web_call *call)
{
    rgmi_run_row *row = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(own_run(&row, call, "deletes"));
    if (is_named(call->web, row->text[RGMI_TEXT_PATH])) {
        call->out->status = 409;
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "this run's folder was named to regimen serve itself: "
                                     "remove it with rm -r"));
    }
    status = rgm_run_folder_delete(row->text[RGMI_TEXT_PATH]);
    if (status == RGM_ERR_BUSY)
        call->out->status = 409;
    RGM_GO(status);
    RGM_GO(rgmi_runs_refresh(call->web->runs));
    RGM_GO(rgm_text_printf(&call->out->body, "{\"deleted\":true}"));
done:
    rgmi_run_row_release(row);
    return status;
}
