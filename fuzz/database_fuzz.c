/*
 * master.db from anywhere: lines "TABLE.COLUMN=VALUE" are put into every row of a small search,
 * where a table says NOT NULL too, and a master of that is asked for all that it answers. Whatever
 * is there, an answer is JSON, and nothing outside of the folder is touched.
 */
#include <regimen/master.h>

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "target.h"

static char place[64], folder[80], database[96], outside[96];
static char *loose; /* [loose_size] a database whose tables allow NULL everywhere */
static int64_t loose_size;

#define UUID "11111111-2222-4333-8444-555555555555"

static const char config[] =
    "data: {path: d, train: t.csv, batch_size: 4}\\n"
    "task: {type: classification, num_classes: 2}\\nmodel: {type: mlp, hidden: [4]}\\n"
    "optimizer: {type: adam, learning_rate: 1e-3}\\ntrainer: {epochs: 1}\\n"
    "hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}}\\n"
    "searcher: {name: random, metric: valid.loss, max_trials: 2, max_steps: 3}\\n"
    "batches_per_step: 10\\nreproducibility: {experiment_seed: 7}\\n";

static const char rows[] =
    "UPDATE trials SET steps = 1, batches = 10, metric = 1, best_metric = 1, wants = 0 WHERE id = "
    "1;"
    "UPDATE trials SET state = 'COMPLETED', run_token = '0123456789abcdef0123456789abcdef', "
    "run_pid ="
    " 2147480000, run_started = 5, run_slots = '0' WHERE id = 2;"
    "INSERT INTO labels VALUES(1, 'a');"
    "INSERT INTO runs VALUES(1, 'a', '0', 1, 2);"
    "INSERT INTO steps VALUES(1, 1, 'COMPLETED', 10, 40, 1, 2, '{\"loss\": 1}');"
    "INSERT INTO validations VALUES(1, 1, 'COMPLETED', 10, 40, 1, 2, 1, '{\"loss\": 1}');"
    "INSERT INTO checkpoints VALUES(1, 1, 1, '" UUID
    "', 'COMPLETED', 10, 'ckpt/step-00000010', 1, 2,"
    " '{\"state\": 4}');";

static const char loosen[] =
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL',"
    " '         ') WHERE type = 'table'";
static const char tighten[] =
    "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '         ',"
    " ' NOT NULL') WHERE type = 'table'";

static void execute(const char *sql)
{
    sqlite3 *connection;

    if (sqlite3_open(database, &connection) != SQLITE_OK ||
        sqlite3_exec(connection, sql, NULL, NULL, NULL) != SQLITE_OK)
        __builtin_trap();
    sqlite3_close(connection);
}

/* Without a subject: what experiment files are over is search_file_fuzz's, and took three quarters
 * of the time. */
static rgm_status open_master(rgm_master **master)
{
    return rgm_master_open(
        master, &(rgm_master_options){.folder = folder, .slots = 2, .threads_per_slot = 1});
}

/* ---- the database that inputs change -------------------------------------------------------- */

/* Before anything is counted, and once. */
__attribute__((constructor)) static void make_loose(void)
{
    rgm_response out;
    rgm_master *master;
    char *body = NULL;

    snprintf(place, sizeof place, "/dev/shm/database_fuzz-XXXXXX"); /* syncs cost nothing there */
    if (mkdtemp(place) == NULL) {
        snprintf(place, sizeof place, "/tmp/database_fuzz-XXXXXX");
        if (mkdtemp(place) == NULL)
            __builtin_trap();
    }
    snprintf(folder, sizeof folder, "%s/m", place);
    snprintf(database, sizeof database, "%s/master.db", folder);
    snprintf(outside, sizeof outside, "%s/precious", place);
    if (rgm_folder_make(outside) != RGM_OK || open_master(&master) != RGM_OK ||
        rgm_strprintf(&body, "{\"config\": \"%s\", \"paused\": true}", config) != RGM_OK)
        __builtin_trap();
    rgm_master_handle(&out, master,
                      &(rgm_request){.method = "POST",
                                     .path = "/api/v1/experiments",
                                     .body = body,
                                     .size = (int64_t)strlen(body)});
    if (out.status != 201)
        __builtin_trap();
    rgm_response_clear(&out);
    rgm_master_close(master);
    rgm_free(body);
    execute(rows);
    execute(loosen);
    execute("PRAGMA journal_mode = DELETE");
    if (rgm_file_load(&loose, &loose_size, database, 1 << 24) != RGM_OK)
        __builtin_trap();
}

__attribute__((destructor)) static void remove_place(void)
{
    rgm_free(loose);
    rgm_folder_remove(place);
}

/* ---- what an input says --------------------------------------------------------------------- */

/* null, 3, 1e9, x:bytes, or else a text. */
static void bind(sqlite3_stmt *statement, const char *value)
{
    char *whole_end, *end;
    int64_t whole = strtoll(value, &whole_end, 10);
    double number = strtod(value, &end);

    if (strcmp(value, "null") == 0)
        sqlite3_bind_null(statement, 1);
    else if (*value != 0 && *whole_end == 0)
        sqlite3_bind_int64(statement, 1, whole);
    else if (*value != 0 && *end == 0)
        sqlite3_bind_double(statement, 1, number);
    else if (strncmp(value, "x:", 2) == 0)
        sqlite3_bind_blob(statement, 1, value + 2, (int)strlen(value + 2), SQLITE_TRANSIENT);
    else
        sqlite3_bind_text(statement, 1, value, -1, SQLITE_TRANSIENT);
}

static bool is_name(const char *name)
{
    return name[0] != 0 && name[strspn(name, "abcdefghijklmnopqrstuvwxyz_")] == 0;
}

/* A line that names no column changes nothing. */
static void change(sqlite3 *connection, char *line)
{
    char *dot = strchr(line, '.'), *equals = strchr(line, '='), sql[300];
    sqlite3_stmt *statement;

    if (dot == NULL || equals == NULL || equals < dot)
        return;
    *dot++ = *equals++ = 0;
    if (!is_name(line) || !is_name(dot) || strlen(line) + strlen(dot) > 100)
        return;
    snprintf(sql, sizeof sql, "UPDATE %s SET %s = ?", line, dot);
    if (sqlite3_prepare_v2(connection, sql, -1, &statement, NULL) != SQLITE_OK)
        return;
    bind(statement, equals);
    sqlite3_step(statement); /* one that two rows may not both have is as well */
    sqlite3_finalize(statement);
}

static void make_database(char *text)
{
    static const char *const beside[] = {"-wal", "-shm"};
    sqlite3 *connection;
    char path[128];

    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s%s", database, beside[i]);
        unlink(path);
    }
    if (rgm_file_save(database, loose, loose_size) != RGM_OK ||
        sqlite3_open(database, &connection) != SQLITE_OK)
        __builtin_trap();
    for (char *line = text, *end; line != NULL; line = end) {
        end = strchr(line, '\n');
        if (end != NULL)
            *end++ = 0;
        change(connection, line);
    }
    sqlite3_close(connection);
    execute(tighten);
}

/* ---- what is asked -------------------------------------------------------------------------- */

static void ask(rgm_master *master, const char *method, const char *path, const char *body)
{
    rgm_response out;
    rgm_json *json;

    rgm_master_handle(&out, master,
                      &(rgm_request){.method = method,
                                     .path = path,
                                     .body = body,
                                     .size = body != NULL ? (int64_t)strlen(body) : 0});
    if (rgm_json_parse(&json, out.body.data, out.body.size, "answer") != RGM_OK)
        __builtin_trap();
    rgm_json_release(json);
    rgm_response_clear(&out);
}

static void ask_all(rgm_master *master)
{
    static const char *const paths[] = {"experiments",
                                        "experiments/1",
                                        "experiments/1/config",
                                        "experiments/1/search",
                                        "experiments/1/events",
                                        "experiments/1/trials",
                                        "experiments/1/trials?sort=metric",
                                        "experiments/1/checkpoints",
                                        "experiments/1/checkpoints?best=3",
                                        "experiments/1/validations",
                                        "experiments/1/runs",
                                        "trials/1",
                                        "trials/2/steps",
                                        "trials/1/steps",
                                        "trials/1/validations",
                                        "trials/1/checkpoints",
                                        "trials/1/logs",
                                        ("checkpoints/" UUID),
                                        "queue",
                                        "running",
                                        "shares"};
    char path[128];

    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        snprintf(path, sizeof path, "/api/v1/%s", paths[i]);
        ask(master, "GET", path, NULL);
    }
    ask(master, "POST", "/api/v1/trials/1/continue", "{\"max_length\": {\"steps\": 9}}");
    ask(master, "POST", "/api/v1/experiments/1/fork", "{}");
    ask(master, "POST", "/api/v1/trials/1/kill", NULL);
    ask(master, "POST", "/api/v1/experiments/1/kill", NULL);
    ask(master, "POST", "/api/v1/experiments/1/collect", "{}");
    ask(master, "DELETE", "/api/v1/checkpoints/" UUID, NULL);
    ask(master, "DELETE", "/api/v1/experiments/1", NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    rgm_master *master;
    char *text;

    if (size > 1 << 12 || rgm_strndup(&text, (const char *)data, size) != RGM_OK)
        return 0;
    make_database(text);
    if (open_master(&master) == RGM_OK) {
        ask_all(master);
        rgm_master_close(master);
    }
    if (!rgm_path_is_folder(outside) || !rgm_path_is_folder(folder))
        __builtin_trap();
    rgm_free(text);
    rgm_error_reset();
    return 0;
}
