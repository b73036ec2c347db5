/*
 * What is done to a run from the page: its tags, title, note and place in lists; its end, and its
 * folder's. A run is looked up by its id, so that no path comes from a request.
 */
#include "folder_file.h"
#include "index_choose.h"
#include "web_internal.h"

#include <regimen/store.h>

#include <string.h>
#include <sys/stat.h>

static bool has_control(const char *text, const char *but)
{
    for (const char *c = text; *c != 0; c++)
        if (((unsigned char)*c < 0x20 || *c == 0x7f) && strchr(but, *c) == NULL)
            return true;
    return false;
}

/* ---- what people say of it ------------------------------------------------------------------ */

/* What a value becomes in its file: without text there is none. */

static rgm_status print_tags(rgm_text *out, const rgm_json *tags)
{
    if (rgm_json_count(tags) < 0 || rgm_json_count(tags) > RGMI_MOST_TAGS)
        return RGM_FAIL(RGM_ERR_ARG, "tags: a list of at most %d texts", RGMI_MOST_TAGS);
    for (int64_t i = 0; i < rgm_json_count(tags); i++) {
        const char *tag = rgm_json_text(rgm_json_at(tags, i));

        if (tag == NULL || *tag == 0 || strlen(tag) > RGMI_LONGEST_TAG)
            return RGM_FAIL(RGM_ERR_ARG, "tags: each is a text of 1 to %d bytes", RGMI_LONGEST_TAG);
        if (has_control(tag, ""))
            return RGM_FAIL(RGM_ERR_ARG, "tags: a tag has no control characters");
        RGM_TRY(rgm_text_printf(out, "%s\n", tag));
    }
    return RGM_OK;
}

static rgm_status print_text(rgm_text *out, const rgm_json *value, const char *key, int64_t most)
{
    const char *text = rgm_json_text(value);

    if (text == NULL || (int64_t)strlen(text) > most)
        return RGM_FAIL(RGM_ERR_ARG, "%s: a text of at most %d bytes; \"\" takes it away", key,
                        (int)most);
    return rgm_text_add(out, text, (int64_t)strlen(text));
}

static rgm_status print_title(rgm_text *out, const rgm_json *value)
{
    RGM_TRY(print_text(out, value, "title", RGMI_LONGEST_TITLE));
    return out->size > 0 && has_control(out->data, "")
               ? RGM_FAIL(RGM_ERR_ARG, "title: a line without control characters")
               : RGM_OK;
}

static rgm_status print_note(rgm_text *out, const rgm_json *value)
{
    RGM_TRY(print_text(out, value, "note", RGMI_LONGEST_NOTE));
    return out->size > 0 && has_control(out->data, "\n\t\r")
               ? RGM_FAIL(RGM_ERR_ARG, "note: text without control characters but line ends")
               : RGM_OK;
}

static rgm_status print_archived(rgm_text *out, const rgm_json *value)
{
    bool archived;

    if (!rgm_json_bool(&archived, value))
        return RGM_FAIL(RGM_ERR_ARG, "archived: true or false");
    return archived ? rgm_text_printf(out, "lists of runs leave this one out\n") : RGM_OK;
}

typedef struct change {
    const char *key, *file;
    rgm_status (*print)(rgm_text *out, const rgm_json *value);
} change;
static const change changes[] = {{"tags", "tags", print_tags},
                                 {"title", "title", print_title},
                                 {"note", "note.md", print_note},
                                 {"archived", "archived", print_archived}};
enum { CHANGES = sizeof changes / sizeof *changes };

static rgm_status find_change(int *out, const char *key)
{
    for (*out = 0; *out < CHANGES; ++*out)
        if (strcmp(changes[*out].key, key) == 0)
            return RGM_OK;
    return RGM_FAIL(RGM_ERR_ARG,
                    "a run's '%.60s' cannot be changed; its tags, title, note and archived can",
                    key);
}

/* All is known and written before any is changed. Keys are there once each. */
static rgm_status change_files(rgm_web *web, const char *folder, const rgm_json *body)
{
    rgm_text texts[CHANGES] = {{0}};
    char *paths[CHANGES] = {NULL};
    rgm_file_change files[CHANGES];
    rgm_json_entry entry = {0};
    rgm_status status = RGM_OK;
    int64_t count = 0;
    int which;

    while (rgm_json_next(&entry, body)) {
        RGM_GO(find_change(&which, entry.key));
        RGM_GO(changes[which].print(&texts[which], entry.value));
        RGM_GO(rgm_path_join(&paths[which], folder, changes[which].file));
        files[count++] = (rgm_file_change){
            paths[which], texts[which].size > 0 ? texts[which].data : NULL, texts[which].size};
    }
    if (count == 0)
        RGM_GO(RGM_FAIL(RGM_ERR_ARG, "nothing is to be changed: tags, title, note or archived"));
    pthread_mutex_lock(&web->lock); /* not one request's tags with another one's title */
    status = rgm_files_change(files, count);
    pthread_mutex_unlock(&web->lock);
done:
    for (int i = 0; i < CHANGES; i++) {
        rgm_text_clear(&texts[i]);
        rgm_free(paths[i]);
    }
    return status;
}

rgm_status rgmi_change_run(rgmi_web_call *call)
{
    rgmi_run_row *row = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_row(&row, call->web->runs, call->hex));
    RGM_GO(change_files(call->web, row->text[RGMI_TEXT_PATH], call->body));
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
    struct stat run, named;

    if (stat(path, &run) != 0)
        return false;
    for (int64_t i = 0; i < web->folder_count; i++) /* by whatever path */
        if (stat(web->folders[i], &named) == 0 && named.st_dev == run.st_dev &&
            named.st_ino == run.st_ino)
            return true;
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
