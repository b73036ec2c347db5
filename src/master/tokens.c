/*
 * Tokens beside the folder's own: for others, with a scope and an end. What is kept of one is its
 * SHA-256, in the database; those that are valid are in memory as well, since the thread that lets
 * requests in waits for nobody.
 */
#include "requests.h"

#include <stdio.h>
#include <string.h>

static const char *const scopes[] = {[RGMI_SCOPE_READ] = "read", [RGMI_SCOPE_WRITE] = "write"};

/* ---- in memory ----------------------------------------------------------------------------- */

static rgm_status read_all(rgm_master *master, rgmi_token **tokens, int64_t *count)
{
    int64_t capacity = 0;
    rgmi_rows *rows;
    rgm_status status;

    RGM_TRY(rgmi_database_query(&rows, master->database,
                                "SELECT sha256, scope, end_time FROM tokens ORDER BY id", ""));
    while ((status = rgmi_rows_next(master->database, rows)) == RGM_OK) {
        RGM_GO(RGM_RESERVE(*tokens, capacity, *count + 1));
        rgmi_token *t = &(*tokens)[(*count)++];
        snprintf(t->sha256, sizeof t->sha256, "%s", rgmi_rows_text(rows, 0));
        t->scope =
            strcmp(rgmi_rows_text(rows, 1), "write") == 0 ? RGMI_SCOPE_WRITE : RGMI_SCOPE_READ;
        t->end_time = rgmi_rows_number(rows, 2);
    }
    if (status == RGM_END)
        status = RGM_OK;
done:
    rgmi_rows_leave(rows);
    return status;
}

rgm_status rgmi_tokens_load(rgm_master *master)
{
    rgmi_token *tokens = NULL, *old;
    int64_t count = 0;
    rgm_status status = read_all(master, &tokens, &count);

    if (status != RGM_OK) {
        rgm_free(tokens);
        return status;
    }
    pthread_mutex_lock(&master->tokens_lock);
    old = master->tokens;
    master->tokens = tokens;
    master->token_count = count;
    pthread_mutex_unlock(&master->tokens_lock);
    rgm_free(old);
    return RGM_OK;
}

rgmi_scope rgmi_token_scope(rgm_master *master, const char *given)
{
    rgmi_scope scope = RGMI_SCOPE_NONE;
    char sha256[RGM_SHA256_ROOM];
    double now = rgm_wall_time();

    if (rgm_same_secret(given, master->token))
        return RGMI_SCOPE_OWNER;
    rgm_sha256_text(sha256, given, strlen(given));
    pthread_mutex_lock(&master->tokens_lock);
    for (int64_t i = 0; i < master->token_count; i++)
        if (rgm_same_secret(sha256, master->tokens[i].sha256) && now < master->tokens[i].end_time)
            scope = master->tokens[i].scope;
    pthread_mutex_unlock(&master->tokens_lock);
    return scope;
}

/* ---- requests ------------------------------------------------------------------------------ */

#define TOKEN_COLUMNS                                                                              \
    "SELECT id, name, scope, time AS 'time:time', end_time AS 'end_time:time' FROM tokens"

rgm_status rgmi_answer_tokens(rgmi_call *call)
{
    static const rgmi_paged_list tokens = {.key = "tokens",
                                           .count = "SELECT count(*) FROM tokens",
                                           .rows = TOKEN_COLUMNS " ORDER BY id LIMIT ? OFFSET ?"};

    return rgmi_answer_list(call, &tokens);
}

/* The change that makes or removes one, and then those in memory. */
static rgm_status end_change(rgm_master *master, rgm_status status)
{
    RGM_TRY(rgmi_change_end(master, status));
    return rgmi_tokens_load(master);
}

/* The token is told in this answer and never again. */
static rgm_status insert(rgmi_call *call, const char *name, const char *scope, double days)
{
    rgm_master *master = call->master;
    char token[33], sha256[RGM_SHA256_ROOM];
    double now = rgm_wall_time();
    rgmi_rows *rows;

    RGM_TRY(rgm_random_hex(token));
    rgm_sha256_text(sha256, token, strlen(token));
    RGM_TRY(rgmi_database_run(master->database, "DELETE FROM tokens WHERE end_time < ?", "d", now));
    RGM_TRY(rgmi_database_run(
        master->database,
        "INSERT INTO tokens(name, scope, sha256, time, end_time) VALUES(?, ?, ?, ?, ?)", "tttdd",
        name, scope, sha256, now, now + 86400 * days));
    RGM_TRY(rgmi_database_query(&rows, master->database, TOKEN_COLUMNS " WHERE id = ?", "i",
                                rgmi_database_last_id(master->database)));
    RGM_TRY(rgmi_print_one(call, rows, "token"));
    call->out->size--;
    call->status = 201;
    return rgm_text_printf(call->out, ", \"token\": \"%s\"}", token);
}

rgm_status rgmi_answer_create_token(rgmi_call *call)
{
    static const char *const known[] = {"name", "scope", "days", NULL};
    const char *name = "token", *scope = NULL;
    double days = 30;

    RGM_TRY(rgmi_call_keys(call, known));
    RGM_TRY(rgmi_call_text(&name, call, "name"));
    RGM_TRY(rgmi_call_text(&scope, call, "scope"));
    RGM_TRY(rgmi_call_number(&days, call, "days"));
    if (scope == NULL || (strcmp(scope, scopes[RGMI_SCOPE_READ]) != 0 &&
                          strcmp(scope, scopes[RGMI_SCOPE_WRITE]) != 0))
        return RGM_FAIL(RGM_ERR_ARG, "'scope' is read (look at things) or write (and change "
                                     "it)");
    if (!(days > 0 && days <= 3660))
        return RGM_FAIL(RGM_ERR_ARG, "'days' is above 0 and at most 3660");
    if (name[0] == 0 || strlen(name) > 255)
        return RGM_FAIL(RGM_ERR_ARG, "'name' has 1 to 255 bytes");
    RGM_TRY(rgmi_change_begin(call->master));
    return end_change(call->master, insert(call, name, scope, days));
}

rgm_status rgmi_answer_revoke_token(rgmi_call *call)
{
    int64_t count;

    RGM_TRY(rgmi_database_int(&count, call->master->database, 0,
                              "SELECT count(*) FROM tokens WHERE id = ?", "i", call->id));
    if (count == 0)
        return RGM_FAIL(RGM_ERR_NOT_FOUND, "there is no token %lld", (long long)call->id);
    RGM_TRY(rgm_text_printf(call->out, "{\"id\": %lld, \"deleted\": true}", (long long)call->id));
    RGM_TRY(rgmi_change_begin(call->master));
    return end_change(call->master,
                      rgmi_database_run(call->master->database, "DELETE FROM tokens WHERE id = ?",
                                        "i", call->id));
}
