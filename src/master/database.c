#include "database.h"
#include "master_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STATEMENT_ROOM = 256 }; /* of texts in this layer; see find_place() */

struct rgmi_database {
    sqlite3 *connection;
    char *path;
    bool begun;
    struct {
        const char *sql;
        rgmi_rows rows;
    } prepared[STATEMENT_ROOM];
};

/* Version n is what the first n of these make. A released one is never edited. */
static const char *const migrations[] = {
    "CREATE TABLE experiments("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, name TEXT NOT NULL,"
    " description TEXT NOT NULL,"
    " config TEXT NOT NULL, working_folder TEXT NOT NULL, owner TEXT NOT NULL,"
    " seed INTEGER NOT NULL, parent_id INTEGER, archived INTEGER NOT NULL DEFAULT 0,"
    " progress REAL NOT NULL DEFAULT 0, weight REAL NOT NULL, priority INTEGER NOT NULL,"
    " max_slots INTEGER NOT NULL, slots_per_trial INTEGER NOT NULL,"
    " save_experiment_best INTEGER NOT NULL, save_trial_best INTEGER NOT NULL,"
    " save_trial_latest INTEGER NOT NULL, metric TEXT NOT NULL,"
    " smaller_is_better INTEGER NOT NULL, start_time REAL NOT NULL, end_time REAL,"
    " message TEXT, collected INTEGER NOT NULL DEFAULT 0,"
    " source_checkpoint TEXT, source_checkpoint_id INTEGER);"
    "CREATE TABLE labels("
    " experiment_id INTEGER NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,"
    " label TEXT NOT NULL, PRIMARY KEY(experiment_id, label)) WITHOUT ROWID;"
    "CREATE TABLE trials("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, experiment_id INTEGER NOT NULL REFERENCES"
    " experiments(id) ON DELETE CASCADE, number INTEGER NOT NULL, state TEXT NOT NULL, "
    "hyperparameters TEXT NOT NULL,"
    " request_id TEXT NOT NULL, seed INTEGER NOT NULL, restarts INTEGER NOT NULL DEFAULT 0,"
    " closing INTEGER NOT NULL DEFAULT 0, wants INTEGER NOT NULL DEFAULT 0,"
    " asked TEXT NOT NULL DEFAULT '', start_time REAL NOT NULL, end_time REAL,"
    " source_checkpoint TEXT, source_checkpoint_id INTEGER, steps INTEGER NOT NULL DEFAULT 0,"
    " batches INTEGER NOT NULL DEFAULT 0, metric REAL, best_metric REAL, message TEXT,"
    " last_kind INTEGER NOT NULL DEFAULT -1, last_step INTEGER NOT NULL DEFAULT 0,"
    " run_token TEXT, run_pid INTEGER, run_started INTEGER, run_slots TEXT,"
    " UNIQUE(experiment_id, number));"
    "CREATE TABLE sequencers("
    " trial_id INTEGER PRIMARY KEY REFERENCES trials(id) ON DELETE CASCADE, state TEXT NOT NULL);"
    "CREATE INDEX trials_waiting ON trials(experiment_id, number) WHERE wants AND run_token IS"
    " NULL;"
    "CREATE INDEX trials_running ON trials(id) WHERE run_token IS NOT NULL;"
    "CREATE INDEX trials_state ON trials(experiment_id, state);"
    "CREATE TABLE runs("
    " trial_id INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE, token TEXT NOT NULL,"
    " slots TEXT NOT NULL, start_time REAL NOT NULL, end_time REAL, PRIMARY KEY(trial_id,"
    " token)) WITHOUT ROWID;"
    "CREATE TABLE steps("
    " trial_id INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE, id INTEGER NOT NULL,"
    " state TEXT NOT NULL, batches INTEGER NOT NULL, num_inputs INTEGER NOT NULL, start_time REAL,"
    " end_time REAL, metrics TEXT NOT NULL, PRIMARY KEY(trial_id, id)) WITHOUT ROWID;"
    "CREATE TABLE validations("
    " trial_id INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE, step_id INTEGER NOT NULL,"
    " state TEXT NOT NULL, batches INTEGER NOT NULL, num_inputs INTEGER NOT NULL, start_time REAL,"
    " end_time REAL, metric REAL, metrics TEXT NOT NULL, PRIMARY KEY(trial_id, step_id)) WITHOUT"
    " ROWID;"
    "CREATE TABLE checkpoints("
    " id INTEGER PRIMARY KEY, trial_id INTEGER NOT NULL REFERENCES trials(id) ON DELETE CASCADE,"
    " step_id INTEGER NOT NULL, uuid TEXT NOT NULL UNIQUE, state TEXT NOT NULL,"
    " batches INTEGER NOT NULL, folder TEXT NOT NULL, start_time REAL, end_time REAL,"
    " resources TEXT NOT NULL, UNIQUE(trial_id, step_id));"
    "CREATE TABLE searcher_events("
    " experiment_id INTEGER NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,"
    " id INTEGER NOT NULL, kind INTEGER NOT NULL, trial INTEGER NOT NULL, length INTEGER NOT NULL,"
    " metrics TEXT, time REAL NOT NULL, PRIMARY KEY(experiment_id, id)) WITHOUT ROWID;"
    "CREATE TABLE searcher_snapshots("
    " experiment_id INTEGER PRIMARY KEY REFERENCES experiments(id) ON DELETE CASCADE,"
    " event_id INTEGER NOT NULL, state TEXT NOT NULL);",
    /* run_job: of Slurm, 0 while it is being submitted; NULL: a process of this machine. */
    "ALTER TABLE experiments ADD COLUMN engine TEXT NOT NULL DEFAULT 'local';"
    "ALTER TABLE trials ADD COLUMN run_job INTEGER;",
    /* code: the hash of the entrypoint's copy in the experiment's folder; NULL: it has none. */
    "ALTER TABLE experiments ADD COLUMN code TEXT;",
    /* An infinity was once the best of a trial. seconds: in which some trial of it was at work. */
    "UPDATE trials SET best_metric = (SELECT CASE WHEN e.smaller_is_better THEN min(v.metric) ELSE"
    " max(v.metric) END FROM experiments e JOIN validations v ON v.trial_id = trials.id AND"
    " abs(v.metric) < 9e999 WHERE e.id = trials.experiment_id) WHERE abs(best_metric) = 9e999;"
    "ALTER TABLE experiments ADD COLUMN seconds REAL NOT NULL DEFAULT 0;",
    /* What stopping early had saved at the end, of so much, in the searcher's unit; NULL: not
       known. */
    "ALTER TABLE experiments ADD COLUMN saved INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE experiments ADD COLUMN saved_of INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE experiments ADD COLUMN saved_unit TEXT;",
    /* logs_removed: it was over for so long that the logs of its trials went. */
    "ALTER TABLE experiments ADD COLUMN logs_removed INTEGER NOT NULL DEFAULT 0;",
    /* events: a sum of RGMI_HOOK_...; experiment_id NULL: of all. A delivery is ACTIVE until it is
       COMPLETED, or ERROR: given up. */
    "CREATE TABLE webhooks("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, url TEXT NOT NULL, secret TEXT NOT NULL,"
    " events INTEGER NOT NULL, experiment_id INTEGER REFERENCES experiments(id) ON DELETE CASCADE,"
    " time REAL NOT NULL);"
    "CREATE TABLE deliveries("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, webhook_id INTEGER NOT NULL REFERENCES webhooks(id) ON"
    " DELETE CASCADE, event TEXT NOT NULL, body TEXT NOT NULL, state TEXT NOT NULL, tries INTEGER"
    " NOT NULL DEFAULT 0, time REAL NOT NULL, next_time REAL, message TEXT);"
    "CREATE INDEX deliveries_waiting ON deliveries(next_time) WHERE state = " RGMI_SQL(ACTIVE) ";",
    /* Markdown that people write; "": none. */
    "ALTER TABLE experiments ADD COLUMN note TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE experiments ADD COLUMN project TEXT NOT NULL DEFAULT '';"
    "ALTER TABLE trials ADD COLUMN note TEXT NOT NULL DEFAULT '';",
    /* sha256: of the token, which is kept nowhere. */
    "CREATE TABLE tokens("
    " id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, scope TEXT NOT NULL,"
    " sha256 TEXT NOT NULL UNIQUE, time REAL NOT NULL, end_time REAL NOT NULL);",
    /* Searches that are changed while they go on. ahead: it starts before those that were there
       first. ending: it was told to end where it is. config: before the change. */
    "ALTER TABLE trials ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE trials ADD COLUMN ending INTEGER NOT NULL DEFAULT 0;"
    "DROP INDEX trials_waiting;"
    "CREATE INDEX trials_waiting ON trials(experiment_id, ahead DESC, number) WHERE wants AND"
    " run_token IS NULL;"
    "CREATE TABLE search_changes("
    " experiment_id INTEGER NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,"
    " id INTEGER NOT NULL, event_id INTEGER NOT NULL, what TEXT NOT NULL, time REAL NOT NULL,"
    " config TEXT NOT NULL, PRIMARY KEY(experiment_id, id)) WITHOUT ROWID;"
    "CREATE TABLE earlier_trials("
    " experiment_id INTEGER NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,"
    " id INTEGER NOT NULL, hyperparameters TEXT NOT NULL, metrics TEXT NOT NULL,"
    " length INTEGER NOT NULL, PRIMARY KEY(experiment_id, id)) WITHOUT ROWID;",
    /* pool: of the master's file; "": the slots of none. Slots that get no trial any more. */
    "ALTER TABLE experiments ADD COLUMN pool TEXT NOT NULL DEFAULT '';"
    "CREATE TABLE drained_slots(slot INTEGER PRIMARY KEY, time REAL NOT NULL);",
    /* The files of an experiment's code, in <experiment>/code; experiments.code is the hash of all.
       Of one of before there is its object alone, without a row. */
    "CREATE TABLE code_files("
    " experiment_id INTEGER NOT NULL REFERENCES experiments(id) ON DELETE CASCADE,"
    " code_path TEXT NOT NULL, size INTEGER NOT NULL, is_executable INTEGER NOT NULL,"
    " hash TEXT NOT NULL, PRIMARY KEY(experiment_id, code_path)) WITHOUT ROWID;"
    /* Where it came from: the folder, and the commit of git that it was of. diff: what was changed
       since, of the whole work tree; is_cut: its first part. */
    "CREATE TABLE code_origins("
    " experiment_id INTEGER PRIMARY KEY REFERENCES experiments(id) ON DELETE CASCADE,"
    " origin TEXT NOT NULL, git_commit TEXT, git_branch TEXT, is_dirty INTEGER NOT NULL,"
    " diff TEXT, is_cut INTEGER NOT NULL);",
    /* What a slot is: cpu, gpu. */
    "ALTER TABLE experiments ADD COLUMN slot_type TEXT NOT NULL DEFAULT 'cpu';",
};
enum { VERSION = (int)(sizeof migrations / sizeof *migrations) };

/* ---- errors ------------------------------------------------------------------------------- */

static rgm_status fail(rgmi_database *database, int code, const char *doing)
{
    const char *path = database->path;
    const char *why =
        database->connection != NULL ? sqlite3_errmsg(database->connection) : sqlite3_errstr(code);

    switch (code & 0xff) {
    case SQLITE_NOMEM:
        return RGM_FAIL(RGM_ERR_NOMEM, "'%s': out of memory %s", path, doing);
    case SQLITE_FULL:
        errno = ENOSPC; /* which SQLite does not keep */
        return rgm_error_prefix(RGM_FAIL_SYSTEM("write", path), "nothing was changed");
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return RGM_FAIL(RGM_ERR_IO, "'%s' cannot be written: %s", path, why);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return RGM_FAIL(RGM_ERR_FORMAT,
                        "'%s' is damaged, or no database: %s; sqlite3's .recover saves what can be",
                        path, why);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return RGM_FAIL(RGM_ERR_BUSY, "'%s' is locked by another program", path);
    default:
        return RGM_FAIL(RGM_ERR_IO, "'%s': %s: %s", path, doing, why);
    }
}

/* ---- statements --------------------------------------------------------------------------- */

static void clear_rows(rgmi_rows *rows)
{
    sqlite3_finalize(rows->statement);
    rgm_free(rows->columns);
    *rows = (rgmi_rows){NULL, NULL};
}

static rgm_status find_columns(rgmi_rows *rows)
{
    int count = sqlite3_column_count(rows->statement);

    RGM_TRY(RGM_NEW(rows->columns, count + 1));
    for (int i = 0; i < count; i++) {
        const char *name = sqlite3_column_name(rows->statement, i);

        if (name == NULL)
            return RGM_FAIL(RGM_ERR_NOMEM, "out of memory preparing a statement");
        rows->columns[i] = rgmi_column_find(name);
        if (rows->columns[i] == NULL)
            return RGM_FAIL(RGM_ERR_ARG, "columns.c does not say what may stand in '%s'", name);
    }
    return RGM_OK;
}

static rgm_status prepare_rows(rgmi_rows *out, rgmi_database *database, const char *sql)
{
    int code = sqlite3_prepare_v3(database->connection, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                  &out->statement, NULL);
    rgm_status status = code == SQLITE_OK ? find_columns(out) : fail(database, code, sql);

    if (status != RGM_OK)
        clear_rows(out);
    return status;
}

static rgm_status prepare(rgmi_rows **out, rgmi_database *database, const char *sql)
{
    size_t i = ((uintptr_t)sql >> 3) % STATEMENT_ROOM;

    for (int tried = 0; tried < STATEMENT_ROOM; tried++, i = (i + 1) % STATEMENT_ROOM) {
        if (database->prepared[i].sql == sql) {
            *out = &database->prepared[i].rows;
            return RGM_OK;
        }
        if (database->prepared[i].sql == NULL)
            break;
    }
    if (database->prepared[i].sql != NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "more than %d statements", (int)STATEMENT_ROOM);
    RGM_TRY(prepare_rows(&database->prepared[i].rows, database, sql));
    database->prepared[i].sql = sql;
    *out = &database->prepared[i].rows;
    return RGM_OK;
}

static rgm_status bind(rgmi_database *database, sqlite3_stmt *statement, const char *format,
                       va_list args)
{
    int code = SQLITE_OK;

    for (int i = 1; format[i - 1] != 0 && code == SQLITE_OK; i++) {
        const char *text;

        if (format[i - 1] == 'i') {
            code = sqlite3_bind_int64(statement, i, va_arg(args, int64_t));
        } else if (format[i - 1] == 'd') {
            code = sqlite3_bind_double(statement, i, va_arg(args, double));
        } else {
            text = va_arg(args, const char *);
            code = text == NULL ? sqlite3_bind_null(statement, i)
                                : sqlite3_bind_text(statement, i, text, -1, SQLITE_TRANSIENT);
        }
    }
    return code == SQLITE_OK ? RGM_OK : fail(database, code, "bind");
}

static rgm_status query(rgmi_rows **rows, rgmi_database *database, const char *sql,
                        const char *format, va_list args)
{
    *rows = NULL;
    RGM_TRY(prepare(rows, database, sql));
    sqlite3_reset((*rows)->statement);
    return bind(database, (*rows)->statement, format, args);
}

rgm_status rgmi_database_query(rgmi_rows **rows, rgmi_database *database, const char *sql,
                               const char *format, ...)
{
    va_list args;
    rgm_status status;

    va_start(args, format);
    status = query(rows, database, sql, format, args);
    va_end(args);
    return status;
}

/* Of a row that is not believed: which, and what is wrong with it. */
static rgm_status refuse(rgmi_database *database, rgmi_rows *rows, int column, const char *wanted)
{
    const char *name = sqlite3_column_name(rows->statement, column);
    const char *found = (const char *)sqlite3_column_text(rows->statement, column);
    const char *quote = found != NULL ? "'" : "";
    char row[48] = "";

    if (column > 0 && strcmp(sqlite3_column_name(rows->statement, 0), "id") == 0)
        sqlite3_snprintf((int)sizeof row, row, " of %lld",
                         (long long)sqlite3_column_int64(rows->statement, 0));
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "'%s': '%.*s'%s is %s%.60s%s, and not %s: the file is damaged, or no master "
                    "wrote it; go on with a copy of before, or look with sqlite3",
                    database->path, (int)strcspn(name, ":"), name, row, quote,
                    found != NULL ? found : "NULL", quote, wanted);
}

static rgm_status check_row(rgmi_database *database, rgmi_rows *rows)
{
    int count = sqlite3_column_count(rows->statement);
    rgm_text wanted = {0};
    rgm_status status = RGM_OK;

    for (int i = 0; i < count && status == RGM_OK; i++) {
        status = rgmi_column_check(&wanted, rows->columns[i], rows->statement, i);
        if (status == RGM_ERR_FORMAT)
            status = refuse(database, rows, i, wanted.data);
    }
    rgm_text_clear(&wanted);
    return status;
}

rgm_status rgmi_rows_next(rgmi_database *database, rgmi_rows *rows)
{
    int code = sqlite3_step(rows->statement);
    rgm_status status = code == SQLITE_ROW    ? check_row(database, rows)
                        : code == SQLITE_DONE ? RGM_END
                                              : fail(database, code, sqlite3_sql(rows->statement));

    if (status != RGM_OK)
        rgmi_rows_leave(rows);
    return status;
}

void rgmi_rows_leave(rgmi_rows *rows)
{
    if (rows == NULL)
        return;
    sqlite3_reset(rows->statement);
    sqlite3_clear_bindings(rows->statement);
}

rgm_status rgmi_database_run(rgmi_database *database, const char *sql, const char *format, ...)
{
    rgmi_rows *rows;
    va_list args;
    rgm_status status;

    va_start(args, format);
    status = query(&rows, database, sql, format, args);
    va_end(args);
    RGM_TRY(status);
    status = rgmi_rows_next(database, rows);
    if (status == RGM_OK)
        rgmi_rows_leave(rows);
    return status == RGM_END ? RGM_OK : status;
}

rgm_status rgmi_database_int(int64_t *out, rgmi_database *database, int64_t otherwise,
                             const char *sql, const char *format, ...)
{
    rgmi_rows *rows;
    va_list args;
    rgm_status status;

    *out = otherwise;
    va_start(args, format);
    status = query(&rows, database, sql, format, args);
    va_end(args);
    RGM_TRY(status);
    status = rgmi_rows_next(database, rows);
    if (status == RGM_END)
        return RGM_OK;
    RGM_TRY(status);
    if (sqlite3_column_type(rows->statement, 0) != SQLITE_NULL)
        *out = rgmi_rows_int(rows, 0);
    rgmi_rows_leave(rows);
    return RGM_OK;
}

int64_t rgmi_rows_int(rgmi_rows *rows, int column)
{
    return sqlite3_column_int64(rows->statement, column);
}

double rgmi_rows_number(rgmi_rows *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL
               ? (double)NAN
               : sqlite3_column_double(rows->statement, column);
}

const char *rgmi_rows_text(rgmi_rows *rows, int column)
{
    return (const char *)sqlite3_column_text(rows->statement, column);
}

int64_t rgmi_database_last_id(rgmi_database *database)
{
    return sqlite3_last_insert_rowid(database->connection);
}

/* ---- transactions ------------------------------------------------------------------------- */

rgm_status rgmi_database_begin(rgmi_database *database)
{
    RGM_TRY(rgmi_database_run(database, "BEGIN IMMEDIATE", ""));
    database->begun = true;
    return RGM_OK;
}

rgm_status rgmi_database_commit(rgmi_database *database)
{
    RGM_TRY(rgmi_database_run(database, "COMMIT", ""));
    database->begun = false;
    return RGM_OK;
}

void rgmi_database_rollback(rgmi_database *database)
{
    if (!database->begun)
        return;
    database->begun = false;
    /* SQLite may have rolled back by itself, as when the disk was full. */
    if (sqlite3_get_autocommit(database->connection) == 0)
        sqlite3_exec(database->connection, "ROLLBACK", NULL, NULL, NULL);
}

/* ---- opening ------------------------------------------------------------------------------ */

static rgm_status execute(rgmi_database *database, const char *sql)
{
    int code = sqlite3_exec(database->connection, sql, NULL, NULL, NULL);

    return code == SQLITE_OK ? RGM_OK : fail(database, code, "prepare");
}

static rgm_status migrate(rgmi_database *database)
{
    int64_t version;
    char set[64];

    RGM_TRY(rgmi_database_int(&version, database, 0, "PRAGMA user_version", ""));
    if (version > VERSION)
        return RGM_FAIL(RGM_ERR_VERSION,
                        "'%s' is of version %lld, this program reads versions up to %d",
                        database->path, (long long)version, (int)VERSION);
    if (version == VERSION)
        return RGM_OK;
    RGM_TRY(rgmi_database_begin(database));
    for (int64_t i = version; i < VERSION; i++)
        RGM_TRY(execute(database, migrations[i]));
    sqlite3_snprintf((int)sizeof set, set, "PRAGMA user_version = %d", (int)VERSION);
    RGM_TRY(execute(database, set));
    return rgmi_database_commit(database);
}

/* ---- the schema: a file may have other tables by our names, and triggers -------------------- */

static rgm_status refuse_schema(const rgmi_database *database, const char *type, const char *name)
{
    return RGM_FAIL(RGM_ERR_FORMAT,
                    "'%s': the %s '%s' is not as this program makes it: the file is damaged, or no "
                    "master wrote it",
                    database->path, type, name);
}

/* A row of `made`, which has what the migrations make: type, name and SQL. */
static rgm_status check_object(rgmi_database *database, sqlite3_stmt *made, sqlite3_stmt *find)
{
    const char *type = (const char *)sqlite3_column_text(made, 0);
    const char *name = (const char *)sqlite3_column_text(made, 1);
    const char *sql = (const char *)sqlite3_column_text(made, 2), *found;
    bool is_same = false;
    int code;

    if (type == NULL || name == NULL || sql == NULL)
        return RGM_FAIL(RGM_ERR_NOMEM, "out of memory reading the schema");
    sqlite3_reset(find);
    sqlite3_bind_text(find, 1, type, -1, SQLITE_TRANSIENT);
    sqlite3_bind_text(find, 2, name, -1, SQLITE_TRANSIENT);
    code = sqlite3_step(find);
    if (code == SQLITE_ROW) {
        found = (const char *)sqlite3_column_text(find, 0);
        is_same = found != NULL && strcmp(found, sql) == 0;
    } else if (code != SQLITE_DONE) {
        return fail(database, code, "read the schema");
    }
    return is_same ? RGM_OK : refuse_schema(database, type, name);
}

static rgm_status check_objects(rgmi_database *database, sqlite3 *made)
{
    sqlite3_stmt *objects = NULL, *find = NULL;
    rgm_status status = RGM_OK;
    int code = SQLITE_OK;

    for (int i = 0; i < VERSION && code == SQLITE_OK; i++)
        code = sqlite3_exec(made, migrations[i], NULL, NULL, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(made,
                                  "SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL"
                                  " AND name NOT LIKE 'sqlite%'",
                                  -1, &objects, NULL);
    if (code == SQLITE_OK)
        code = sqlite3_prepare_v2(database->connection,
                                  "SELECT sql FROM sqlite_schema WHERE type = ? AND name = ?", -1,
                                  &find, NULL);
    while (code == SQLITE_OK && status == RGM_OK && (code = sqlite3_step(objects)) == SQLITE_ROW) {
        status = check_object(database, objects, find);
        code = SQLITE_OK;
    }
    sqlite3_finalize(objects);
    sqlite3_finalize(find);
    return code == SQLITE_OK || code == SQLITE_DONE ? status
                                                    : fail(database, code, "read the schema");
}

static rgm_status check_schema(rgmi_database *database)
{
    sqlite3 *made = NULL;
    rgm_status status;
    int64_t triggers;
    int code = sqlite3_open_v2(":memory:", &made,
                               SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                                   SQLITE_OPEN_MEMORY,
                               NULL);

    status = code == SQLITE_OK ? check_objects(database, made)
                               : fail(database, code, "make a schema to compare with");
    sqlite3_close(made);
    RGM_TRY(status);
    RGM_TRY(rgmi_database_int(&triggers, database, 0,
                              "SELECT count(*) FROM sqlite_schema WHERE type = 'trigger'", ""));
    return triggers == 0 ? RGM_OK
                         : RGM_FAIL(RGM_ERR_FORMAT, "'%s' has triggers, and no master makes one",
                                    database->path);
}

/* It has the secrets of webhooks, and is the user's alone. A new file is made here, since SQLite
 * would make one that others may read; another is never opened here, since closing it would give up
 * the locks of this process. What SQLite puts beside it gets the same mode. */
static rgm_status make_private(const char *path)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    struct stat info;

    if (fd >= 0)
        close(fd);
    else if (stat(path, &info) == 0 && (info.st_mode & 077) != 0 && info.st_uid == geteuid() &&
             chmod(path, info.st_mode & 0700) != 0)
        return RGM_FAIL_SYSTEM("make private", path);
    return RGM_OK;
}

rgm_status rgmi_database_open(rgmi_database **out, const char *path)
{
    rgm_status status = RGM_OK;
    rgmi_database *database = NULL;
    int code;

    *out = NULL;
    RGM_GO(RGM_NEW(database, 1));
    RGM_GO(rgm_strdup(&database->path, path));
    RGM_GO(make_private(path));
    code = sqlite3_open_v2(path, &database->connection,
                           SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                               SQLITE_OPEN_EXRESCODE,
                           NULL);
    if (code != SQLITE_OK)
        RGM_GO(fail(database, code, "open"));
    sqlite3_busy_timeout(database->connection, 5000); /* for who looks in with sqlite3 */
    RGM_GO(execute(database, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                             "PRAGMA foreign_keys = ON; PRAGMA trusted_schema = OFF;"
                             "PRAGMA cell_size_check = ON;"
                             "PRAGMA journal_size_limit = 67108864;"));
    RGM_GO(migrate(database));
    RGM_GO(check_schema(database));
    *out = database;
    database = NULL;
done:
    rgmi_database_close(database);
    return status;
}

void rgmi_database_close(rgmi_database *database)
{
    if (database == NULL)
        return;
    rgmi_database_rollback(database);
    for (int i = 0; i < STATEMENT_ROOM; i++)
        clear_rows(&database->prepared[i].rows);
    sqlite3_close(database->connection);
    rgm_free(database->path);
    rgm_free(database);
}
