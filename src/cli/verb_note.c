/* Notes of experiments and trials: Markdown that people write, kept as it is. */
#include "verb_experiment.h"

#include <string.h>

typedef struct new_note {
    const char *kind;        /* "experiments" or "trials" */
    const char *text, *file; /* both NULL: print what is there */
} new_note;

static rgm_status set_note(const asked_master *whom, int64_t id, const new_note *note,
                           const char *text)
{
    return ask(NULL, whom, "PATCH", json_pack("{s:s}", "note", text), "/api/v1/%s/%lld", note->kind,
               (long long)id);
}

static rgm_status set_from_file(const asked_master *whom, int64_t id, const new_note *note)
{
    rgm_status status = RGM_OK;
    char *text = NULL;
    int64_t size;

    RGM_GO(rgm_file_load(&text, &size, note->file, 1 << 20));
    if (rgm_utf8_check(text, size) >= 0 || (int64_t)strlen(text) != size)
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is no text in UTF-8", note->file));
    RGM_GO(set_note(whom, id, note, text));
done:
    rgm_free(text);
    return status;
}

static rgm_status keep_note(int *code, const asked_master *whom, int64_t id, const void *options)
{
    const new_note *note = options;
    json_t *row = NULL;

    if (note->text != NULL)
        return set_note(whom, id, note, note->text);
    if (note->file != NULL)
        return set_from_file(whom, id, note);
    RGM_TRY(ask(&row, whom, "GET", NULL, "/api/v1/%s/%lld", note->kind, (long long)id));
    const char *text = text_of(row, "note");
    size_t size = strlen(text);
    *code = print_text(text);
    if (*code == EXIT_DONE && size > 0 && text[size - 1] != '\n')
        *code = print_text("\n");
    json_decref(row);
    return RGM_OK;
}

static int note_of(new_note *note, const char *line, int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {
        {"m", ARG_TEXT, &note->text, "TEXT", "the note; \"\" removes it"},
        {"f", ARG_TEXT, &note->file, "FILE", "the note from a file; /dev/stdin: what comes in"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {line,
                       "Print the note, or set it: text in Markdown, which is kept and shown as it "
                       "is.",
                       arguments, 1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (note->text != NULL && note->file != NULL)
        return usage_error("-m and -f exclude each other");
    return strcmp(note->kind, "trials") == 0
               ? about_trial(keep_note, where, rest.items[0], note)
               : about_experiment(keep_note, where, rest.items[0], note);
}

int experiment_note(int argc, char **argv)
{
    return note_of(&(new_note){.kind = "experiments"}, "experiment note ID [-m TEXT | -f FILE]",
                   argc, argv);
}

int trial_note(int argc, char **argv)
{
    return note_of(&(new_note){.kind = "trials"}, "trial note ID [-m TEXT | -f FILE]", argc, argv);
}
