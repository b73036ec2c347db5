/* regimen master token: who else may ask a master over TCP. */
#include "verb_experiment.h"

#include <string.h>

typedef struct new_token {
    const char *name, *scope;
    double days;
} new_token;

static rgm_status create(int *code, const asked_master *whom, const text_list *names,
                         const void *options)
{
    const new_token *t = options;
    rgm_text line = {0};
    json_t *answer = NULL;
    rgm_status status = RGM_OK;

    (void)names;
    RGM_GO(ask(&answer, whom, "POST",
               json_pack("{s:s, s:s, s:f}", "name", t->name, "scope", t->scope, "days", t->days),
               "/api/v1/tokens"));
    say("token", "%lld, %s, until %s; it is not told again", (long long)int_of(answer, "id"),
        text_of(answer, "scope"), text_of(answer, "end_time"));
    RGM_GO(rgm_text_printf(&line, "%s\n", text_of(answer, "token")));
    *code = print_exact(line.data);
done:
    rgm_text_clear(&line);
    json_decref(answer);
    return status;
}

static int token_create(int argc, char **argv)
{
    new_token t = {.name = "token", .scope = "read", .days = 30};
    const char *where = NULL;
    const argument arguments[] = {
        {"scope", ARG_TEXT, &t.scope, "SCOPE",
         "read (default): look at everything but webhooks; write: change it, too"},
        {"days", ARG_FLOAT, &t.days, "N", "how long it is good for (default 30)"},
        {"name", ARG_TEXT, &t.name, "TEXT", "whom it is for"},
        MASTER_ARGUMENT(where),
        {0}};
    const usage how = {"master token create [--scope read|write] [--days N] [--name TEXT]",
                       "A token for requests over TCP (master --listen), on stdout: as\n"
                       "$REGIMEN_TOKEN, or in the header Authorization: Bearer TOKEN. Only its "
                       "hash is kept.",
                       arguments, 0, 0};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(create, where, &rest, &t);
}

static rgm_status print_tokens(int *code, const asked_master *whom, const text_list *names,
                               const void *options)
{
    static const char *const heads[] = {"ID", "NAME", "SCOPE", "MADE", "UNTIL"};
    const list_form *form = options;
    rgm_status status = RGM_OK;
    json_t *rows = NULL;
    table t = {0};

    (void)names;
    RGM_GO(ask_all(&rows, whom, "tokens", "/api/v1/tokens"));
    if (form->json) {
        *code = print_json(json_incref(rows));
        goto done;
    }
    for (int i = 0; i < 5; i++)
        RGM_GO(table_add_column(&t, heads[i]));
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);

        RGM_GO(table_add_row(&t));
        table_set_count(&t, 0, int_of(row, "id"));
        RGM_GO(table_set(&t, 1, text_of(row, "name")));
        RGM_GO(table_set(&t, 2, text_of(row, "scope")));
        RGM_GO(table_set_time(&t, 3, (int64_t)time_of(row, "time")));
        RGM_GO(table_set_time(&t, 4, (int64_t)time_of(row, "end_time")));
    }
    *code = print_table(&t, form, "no tokens but the folder's own");
done:
    table_clear(&t);
    json_decref(rows);
    return status;
}

static int token_list(int argc, char **argv)
{
    const char *where = NULL;
    list_form form = {0};
    const argument arguments[] = {LIST_ARGUMENTS(form), MASTER_ARGUMENT(where), {0}};
    const usage how = {"master token list [--json | --csv]", "The tokens that were made.",
                       arguments, 0, 0};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(print_tokens, where, &rest, &form);
}

static rgm_status revoke(int *code, const asked_master *whom, const text_list *ids,
                         const void *options)
{
    int64_t id;

    (void)code, (void)options;
    RGM_TRY(read_id(&id, "token", ids->items[0]));
    RGM_TRY(ask(NULL, whom, "DELETE", NULL, "/api/v1/tokens/%lld", (long long)id));
    say("revoked", "token %lld", (long long)id);
    return RGM_OK;
}

static int token_revoke(int argc, char **argv)
{
    const char *where = NULL;
    const argument arguments[] = {MASTER_ARGUMENT(where), {0}};
    const usage how = {"master token revoke ID", "It is good for nothing from now on.", arguments,
                       1, 1};
    text_list rest;

    READ_ARGUMENTS(&rest, &how, argc, argv);
    return about_each(revoke, where, &rest, NULL);
}

static const verb verbs[] = {
    {"create", token_create, "one with a scope and an end"},
    {"list", token_list, "those there are"},
    {"revoke", token_revoke, "good for nothing from now on"},
};

int master_token(int argc, char **argv)
{
    return verb_family("master token", verbs, sizeof verbs / sizeof *verbs, argc, argv);
}
