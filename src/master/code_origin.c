/*
 * What git says of the folder of an experiment's code. git changes nothing, and runs none of the
 * programs that a repository's configuration may name: no monitor, no driver of differences, no
 * filter of content, and none that fetches what a partial clone lacks. So a file that a filter
 * keeps in another form than the work tree (git-lfs) may count as changed.
 */
#include "code_origin.h"
#include "command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ASK_S 10.0 /* for each question */

enum { MOST_DIFF = 1 << 20, MOST_PRINTED = 64 << 20, MOST_FILTERS = 64 };

/* Filters that are off: "filter.lfs.clean=" and the like, two words each. */
typedef struct filters {
    char *words[2 * MOST_FILTERS];
    int count;
} filters;

static void clear_filters(filters *off)
{
    for (int i = 0; i < off->count; i++)
        rgm_free(off->words[i]);
    off->count = 0;
}

/* Standard output of `git -C FOLDER ...`; *ok: it ended with 0. off: NULL, nothing is compared. */
static rgm_status ask_git(rgm_text *out, bool *ok, const char *folder, const filters *off,
                          const char *const *words)
{
    const char *argv[32 + 4 * MOST_FILTERS] = {
        "git", "-C", folder, "-c", "core.fsmonitor=false", "--no-optional-locks"};
    const char **environment = NULL;
    rgmi_outcome outcome = {0};
    rgm_status status;
    int count = 6;

    for (int i = 0; off != NULL && i < off->count; i++) {
        argv[count++] = "-c";
        argv[count++] = off->words[i];
    }
    for (int i = 0; i < 25 && words[i] != NULL; i++)
        argv[count++] = words[i];
    out->size = 0;
    /* Nothing is fetched: git asks the remote of a partial clone for a file that is not there, by a
     * command that the configuration names. */
    status = rgm_environment_with(&environment, "GIT_ALLOW_PROTOCOL=none");
    if (status == RGM_OK)
        status = rgmi_command_run(&outcome, &(rgmi_command){.argv = argv,
                                                            .environment = environment,
                                                            .max_size = MOST_PRINTED,
                                                            .seconds = ASK_S});
    rgm_free(environment);
    *ok = status == RGM_OK && outcome.exit_status == 0;
    if (status == RGM_OK)
        status = rgm_text_printf(out, "%s", outcome.out.data != NULL ? outcome.out.data : "");
    rgmi_outcome_clear(&outcome);
    if (status == RGM_OK || status == RGM_ERR_NOMEM || status == RGM_ERR_NOT_FOUND) {
        if (status == RGM_ERR_NOT_FOUND)
            rgm_error_reset(); /* there is no git: nothing is known */
        return status == RGM_ERR_NOMEM ? status : RGM_OK;
    }
    rgm_log_write(RGM_LOG_WARNING, "what git knows of %s is not kept: %s", folder,
                  rgm_error_message());
    rgm_error_reset();
    return RGM_OK;
}

/* The first line of an answer; *out stays NULL where git gives none. */
static rgm_status ask_line(char **out, const char *folder, const char *const *words)
{
    rgm_text text = {0};
    rgm_status status = RGM_OK;
    bool ok;

    RGM_GO(ask_git(&text, &ok, folder, NULL, words));
    if (ok && text.size > 0 && text.data[0] != '\n')
        RGM_GO(rgm_strndup(out, text.data, strcspn(text.data, "\n")));
done:
    rgm_text_clear(&text);
    return status;
}

/* Up to its last whole line, where it is too long. */
static rgm_status keep_diff(rgmi_code_origin *o, const rgm_text *text)
{
    int64_t size = text->size;

    if (size > MOST_DIFF) {
        o->is_cut = true;
        for (size = MOST_DIFF; size > 0 && text->data[size - 1] != '\n'; size--)
            ;
    }
    return rgm_strndup(&o->diff, text->data, (size_t)size);
}

/* The filter of "filter.NAME.clean" or "filter.NAME.process" is off. */
static rgm_status turn_off(filters *off, const char *key, size_t size)
{
    size_t name = size;

    while (name > 0 && key[name - 1] != '.')
        name--;
    RGM_TRY(rgm_strprintf(&off->words[off->count], "%.*s=", (int)size, key));
    off->count++;
    RGM_TRY(rgm_strprintf(&off->words[off->count], "%.*srequired=false", (int)name, key));
    off->count++;
    return RGM_OK;
}

/* *all false: one of them cannot be turned off by a word of the command line. */
static rgm_status find_filters(filters *off, bool *all, const char *folder)
{
    static const char *const words[] = {"config", "--name-only", "--get-regexp",
                                        "^filter\\..*\\.(clean|process)$", NULL};
    rgm_status status = RGM_OK;
    rgm_text text = {0};
    bool ok;

    *all = true;
    RGM_GO(ask_git(&text, &ok, folder, NULL, words));
    for (const char *at = text.data; at != NULL && *at != '\0';) {
        size_t size = strcspn(at, "\n");

        *all = *all && memchr(at, '=', size) == NULL && off->count / 2 < MOST_FILTERS;
        if (*all)
            RGM_GO(turn_off(off, at, size));
        at += size + (at[size] == '\n');
    }
done:
    rgm_text_clear(&text);
    return status;
}

/* What lies in a submodule is that one's. */
static rgm_status ask_changes(rgmi_code_origin *o)
{
    static const char *const changed[] = {"status", "--porcelain", "--ignore-submodules=dirty",
                                          NULL};
    static const char *const diff[] = {"diff",          "--no-ext-diff",
                                       "--no-textconv", "--no-color",
                                       "--no-prefix",   "--ignore-submodules=dirty",
                                       "HEAD",          NULL};
    rgm_status status = RGM_OK;
    filters off = {.count = 0};
    rgm_text text = {0};
    bool ok, all;

    RGM_GO(find_filters(&off, &all, o->folder));
    if (!all) {
        rgm_log_write(RGM_LOG_WARNING,
                      "what differs in %s from its commit is not kept: git's configuration there "
                      "names more than %d filters, or one with '=' in its name",
                      o->folder, (int)MOST_FILTERS);
        goto done;
    }
    RGM_GO(ask_git(&text, &ok, o->folder, &off, changed));
    o->is_dirty = ok && text.size > 0;
    if (!o->is_dirty)
        goto done;
    RGM_GO(ask_git(&text, &ok, o->folder, &off, diff));
    if (ok && text.size > 0)
        RGM_GO(keep_diff(o, &text));
done:
    clear_filters(&off);
    rgm_text_clear(&text);
    return status;
}

rgm_status rgmi_code_origin_find(rgmi_code_origin *out, const char *folder)
{
    static const char *const commit[] = {"rev-parse", "--verify", "--quiet", "HEAD", NULL};
    static const char *const branch[] = {"rev-parse", "--abbrev-ref", "HEAD", NULL};
    char *whole = realpath(folder, NULL);
    rgm_status status = RGM_OK;

    *out = (rgmi_code_origin){0};
    RGM_GO(rgm_strdup(&out->folder, whole != NULL ? whole : folder));
    RGM_GO(ask_line(&out->commit, out->folder, commit));
    if (out->commit == NULL)
        goto done;
    RGM_GO(ask_line(&out->branch, out->folder, branch));
    RGM_GO(ask_changes(out));
done:
    free(whole);
    return status;
}

void rgmi_code_origin_clear(rgmi_code_origin *o)
{
    rgm_free(o->folder);
    rgm_free(o->commit);
    rgm_free(o->branch);
    rgm_free(o->diff);
    *o = (rgmi_code_origin){0};
}

rgm_status rgmi_code_origin_insert(rgm_master *master, int64_t experiment,
                                   const rgmi_code_origin *o)
{
    if (o->folder == NULL)
        return RGM_OK;
    return rgmi_database_run(master->database,
                             "INSERT INTO code_origins VALUES(?, ?, ?, ?, ?, ?, ?)", "itttiti",
                             experiment, o->folder, o->commit, o->branch, (int64_t)o->is_dirty,
                             o->diff, (int64_t)o->is_cut);
}

rgm_status rgmi_code_origin_inherit(rgm_master *master, int64_t experiment, int64_t parent)
{
    return rgmi_database_run(master->database,
                             "INSERT INTO code_origins SELECT ?, origin, git_commit, git_branch,"
                             " is_dirty, diff, is_cut FROM code_origins WHERE experiment_id = ?",
                             "ii", experiment, parent);
}
