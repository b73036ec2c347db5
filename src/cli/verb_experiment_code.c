/*
 * regimen experiment code: the files that an experiment's trials are of, and where they came from.
 */
#include "lines_differ.h"
#include "verb_experiment.h"

#include <regimen/search_code.h>

#include <stdio.h>
#include <string.h>

enum { MOST_TEXT = 4 << 20 }; /* bytes of a file whose lines are compared */

/* ---- one ------------------------------------------------------------------------------------ */

static rgm_status load_code(json_t **out, const asked_master *whom, int64_t id)
{
    return ask(out, whom, "GET", NULL, "/api/v1/experiments/%lld/code", (long long)id);
}

static rgm_status files_table(table *t, const json_t *code)
{
    const json_t *files = json_object_get(code, "files");

    RGM_TRY(table_add_column(t, "FILE"));
    RGM_TRY(table_add_column(t, "BYTES"));
    RGM_TRY(table_add_column(t, "HASH"));
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);

        RGM_TRY(table_add_row(t));
        RGM_TRY(table_set(t, 0, text_of(file, "path")));
        table_set_count(t, 1, int_of(file, "size"));
        RGM_TRY(table_set(t, 2, text_of(file, "hash")));
    }
    return RGM_OK;
}

/* "git  main 1a2b..., and changes since"; nothing where there is none. */
static void say_origin(const json_t *code)
{
    const json_t *origin = json_object_get(code, "origin");

    if (!json_is_object(origin))
        return;
    say("from", "%s", text_of(origin, "origin"));
    if (text_of(origin, "git_commit")[0] != '\0')
        say("git", "%s %s%s%s", text_of(origin, "git_branch"), text_of(origin, "git_commit"),
            bool_of(origin, "is_dirty") ? ", with changes since" : ", unchanged",
            bool_of(origin, "is_cut") ? " (the first MiB of them is kept)" : "");
}

/* The copy that the master keeps has to be on this machine. */
static rgm_status find_files(const json_t *code, int64_t id)
{
    const char *folder = text_of(code, "folder");

    if (json_array_size(json_object_get(code, "files")) == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND,
                        "experiment %lld has no code of its own: its file says all of it",
                        (long long)id);
    return rgm_path_is_folder(folder)
               ? RGM_OK
               : RGM_FAIL(RGM_ERR_NOT_FOUND,
                          "the code of experiment %lld is in %s, which is not on this machine",
                          (long long)id, folder);
}

static rgm_status describe(rgm_code *out, const json_t *code)
{
    const json_t *files = json_object_get(code, "files");

    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);

        RGM_TRY(rgm_code_add(out, text_of(file, "path"), int_of(file, "size"),
                             bool_of(file, "is_executable"), text_of(file, "hash")));
    }
    return RGM_OK;
}

static rgm_status save_into(const char *folder, const char *name, const char *text)
{
    char *path;
    rgm_status status;

    RGM_TRY(rgm_path_join(&path, folder, name));
    status = rgm_file_save(path, text, (int64_t)strlen(text));
    rgm_free(path);
    return status;
}

/* The files as they were, git's difference beside them where there was one. */
static rgm_status unpack(const json_t *code, int64_t id, const char *folder)
{
    const char *diff = text_of(json_object_get(code, "origin"), "diff");
    rgm_status status = RGM_OK;
    rgm_code files = {0};
    char whose[48];

    snprintf(whose, sizeof whose, "experiment %lld", (long long)id);
    if (rgm_path_exists(folder))
        RGM_GO(RGM_FAIL(RGM_ERR_CONFIG, "%s is there already, and stays as it is", folder));
    RGM_GO(find_files(code, id));
    RGM_GO(describe(&files, code));
    RGM_GO(rgm_code_load(&files, text_of(code, "folder"), whose));
    RGM_GO(rgm_code_copy(&files, folder, NULL, false));
    if (diff[0] != '\0')
        RGM_GO(save_into(folder, "git.diff", diff));
    say("wrote", "%s, %lld files%s", folder, (long long)files.count,
        diff[0] != '\0' ? ", and git.diff" : "");
done:
    rgm_code_clear(&files);
    return status;
}

static int show(const json_t *code, const list_form *form)
{
    rgm_status status = RGM_OK;
    table t = {0};
    int result = EXIT_DONE;

    RGM_GO(files_table(&t, code));
    result = print_table(&t, form, "no code of its own: the experiment's file says all of it");
    if (!form->csv)
        say_origin(code);
done:
    table_clear(&t);
    return status == RGM_OK ? result : report(status);
}

/* ---- two ------------------------------------------------------------------------------------ */

static const json_t *find_file(const json_t *code, const char *path)
{
    const json_t *files = json_object_get(code, "files");

    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(text_of(json_array_get(files, i), "path"), path) == 0)
            return json_array_get(files, i);
    return NULL;
}

/* A text file; *text NULL: it is none, or too long to be compared by lines. */
static rgm_status load_text(char **text, const json_t *code, const char *path)
{
    rgm_status status = RGM_OK;
    char *whole = NULL;
    int64_t size;

    *text = NULL;
    RGM_GO(rgm_path_join(&whole, text_of(code, "folder"), path));
    status = rgm_file_load(text, &size, whole, MOST_TEXT);
    if (status == RGM_ERR_FORMAT) {
        rgm_error_reset();
        status = RGM_OK;
    }
    RGM_GO(status);
    if (*text != NULL && (strlen(*text) != (size_t)size || rgm_utf8_check(*text, size) >= 0)) {
        rgm_free(*text);
        *text = NULL;
    }
done:
    rgm_free(whole);
    return status;
}

static rgm_status compare_texts(rgm_text *out, const char *name, const char *a, const char *b,
                                const int64_t ids[2])
{
    RGM_TRY(rgm_text_printf(out, "--- %lld/%s\n+++ %lld/%s\n", (long long)ids[0], name,
                            (long long)ids[1], name));
    return lines_differ(out, a, b);
}

static rgm_status compare_files(rgm_text *out, json_t *const codes[2], const int64_t ids[2],
                                const char *path)
{
    rgm_status status = RGM_OK;
    char *a = NULL, *b = NULL;

    RGM_GO(load_text(&a, codes[0], path));
    RGM_GO(load_text(&b, codes[1], path));
    if (a == NULL || b == NULL)
        RGM_GO(rgm_text_printf(out, "%s differs\n", path));
    else
        RGM_GO(compare_texts(out, path, a, b, ids));
done:
    rgm_free(a);
    rgm_free(b);
    return status;
}

static rgm_status compare_code(rgm_text *out, json_t *const codes[2], const int64_t ids[2])
{
    for (int side = 0; side < 2; side++) {
        const json_t *files = json_object_get(codes[side], "files");

        if (json_array_size(files) > 0)
            RGM_TRY(find_files(codes[side], ids[side]));
        for (size_t i = 0; i < json_array_size(files); i++) {
            const json_t *file = json_array_get(files, i);
            const json_t *other = find_file(codes[1 - side], text_of(file, "path"));

            if (other == NULL)
                RGM_TRY(rgm_text_printf(out, "%s: in %lld alone\n", text_of(file, "path"),
                                        (long long)ids[side]));
            else if (side == 0 && strcmp(text_of(file, "hash"), text_of(other, "hash")) != 0)
                RGM_TRY(compare_files(out, codes, ids, text_of(file, "path")));
        }
    }
    return RGM_OK;
}

/* Their experiment files, and their code. */
static rgm_status compare(int *code, const asked_master *whom, const int64_t ids[2])
{
    rgm_status status = RGM_OK;
    json_t *codes[2] = {NULL}, *configs[2] = {NULL};
    rgm_text text = {0};

    RGM_GO(rgm_text_printf(&text, "%s", ""));
    for (int i = 0; i < 2; i++) {
        RGM_GO(load_code(&codes[i], whom, ids[i]));
        RGM_GO(ask(&configs[i], whom, "GET", NULL, "/api/v1/experiments/%lld/config",
                   (long long)ids[i]));
    }
    if (strcmp(text_of(configs[0], "config"), text_of(configs[1], "config")) != 0)
        RGM_GO(compare_texts(&text, "experiment.yaml", text_of(configs[0], "config"),
                             text_of(configs[1], "config"), ids));
    RGM_GO(compare_code(&text, codes, ids));
    if (text.size == 0)
        say("same", "experiments %lld and %lld have the same file and the same code",
            (long long)ids[0], (long long)ids[1]);
    *code = print_text(text.data);
done:
    for (int i = 0; i < 2; i++) {
        json_decref(codes[i]);
        json_decref(configs[i]);
    }
    rgm_text_clear(&text);
    return status;
}

/* ---- the verb ------------------------------------------------------------------------------- */

typedef struct code_request {
    const char *to;
    list_form form;
} code_request;

static rgm_status do_code(int *result, const asked_master *whom, const text_list *names,
                          const void *options)
{
    const code_request *r = options;
    rgm_status status = RGM_OK;
    json_t *code = NULL;
    int64_t ids[2] = {0};

    for (int64_t i = 0; i < names->count; i++)
        RGM_GO(read_id(&ids[i], "experiment", names->items[i]));
    if (names->count == 2) {
        status = compare(result, whom, ids);
        goto done;
    }
    RGM_GO(load_code(&code, whom, ids[0]));
    if (r->to != NULL)
        RGM_GO(unpack(code, ids[0], r->to));
    else if (r->form.json)
        *result = print_json(json_incref(code));
    else
        *result = show(code, &r->form);
done:
    json_decref(code);
    return status;
}

int experiment_code(int argc, char **argv)
{
    const char *where = NULL;
    code_request r = {0};
    const argument arguments[] = {
        {"o", ARG_TEXT, &r.to, "DIR", "write the files into a new folder"},
        LIST_ARGUMENTS(r.form),
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"experiment code ID [-o DIR] | ID ID",
                       "The code that an experiment began with, which all its trials are of: its "
                       "files, the folder\n"
                       "that they came from, and the commit of git that this was of. Of two "
                       "experiments: how their\n"
                       "files and their code differ.",
                       arguments, 1, 2};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    if (rest.count == 2 && (r.to != NULL || r.form.json || r.form.csv))
        return usage_error("experiment code compares two as text: without -o, --json and --csv");
    return about_each(do_code, where, &rest, &r);
}
