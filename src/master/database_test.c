/*
 * The database: versions, damage, and every write made to fail once, by a layer under SQLite that
 * the test puts there.
 */
#include "master_check.h"

#include <regimen/http_client.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- writes that fail ----------------------------------------------------------------------- */

/* A file whose writes, syncs and growths fail when their number comes up. */
typedef struct faulty_file {
    sqlite3_file base;
    sqlite3_file *real; /* behind this struct */
} faulty_file;

static atomic_llong calls, fail_at;
static atomic_bool all_fail;
static sqlite3_vfs *real_vfs, faulty_vfs;
static int fault_code;

static bool fails(void)
{
    return atomic_load(&all_fail) || atomic_fetch_add(&calls, 1) == atomic_load(&fail_at);
}

static sqlite3_file *real_of(sqlite3_file *f)
{
    return ((faulty_file *)f)->real;
}

static int fault_close(sqlite3_file *f)
{
    return real_of(f)->pMethods->xClose(real_of(f));
}

static int fault_read(sqlite3_file *f, void *data, int size, sqlite3_int64 at)
{
    return real_of(f)->pMethods->xRead(real_of(f), data, size, at);
}

static int fault_write(sqlite3_file *f, const void *data, int size, sqlite3_int64 at)
{
    return fails() ? fault_code : real_of(f)->pMethods->xWrite(real_of(f), data, size, at);
}

static int fault_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    return fails() ? SQLITE_IOERR_TRUNCATE : real_of(f)->pMethods->xTruncate(real_of(f), size);
}

static int fault_sync(sqlite3_file *f, int flags)
{
    return fails() ? SQLITE_IOERR_FSYNC : real_of(f)->pMethods->xSync(real_of(f), flags);
}

static int fault_size(sqlite3_file *f, sqlite3_int64 *size)
{
    return real_of(f)->pMethods->xFileSize(real_of(f), size);
}

static int fault_lock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xLock(real_of(f), level);
}

static int fault_unlock(sqlite3_file *f, int level)
{
    return real_of(f)->pMethods->xUnlock(real_of(f), level);
}

static int fault_reserved(sqlite3_file *f, int *out)
{
    return real_of(f)->pMethods->xCheckReservedLock(real_of(f), out);
}

static int fault_control(sqlite3_file *f, int op, void *argument)
{
    return real_of(f)->pMethods->xFileControl(real_of(f), op, argument);
}

static int fault_sector(sqlite3_file *f)
{
    return real_of(f)->pMethods->xSectorSize(real_of(f));
}

static int fault_traits(sqlite3_file *f)
{
    return real_of(f)->pMethods->xDeviceCharacteristics(real_of(f));
}

static int fault_map(sqlite3_file *f, int page, int size, int extend, void volatile **out)
{
    return real_of(f)->pMethods->xShmMap(real_of(f), page, size, extend, out);
}

static int fault_shm_lock(sqlite3_file *f, int offset, int n, int flags)
{
    return real_of(f)->pMethods->xShmLock(real_of(f), offset, n, flags);
}

static void fault_barrier(sqlite3_file *f)
{
    real_of(f)->pMethods->xShmBarrier(real_of(f));
}

static int fault_unmap(sqlite3_file *f, int remove)
{
    return real_of(f)->pMethods->xShmUnmap(real_of(f), remove);
}

static const sqlite3_io_methods fault_methods = {.iVersion = 2,
                                                 .xClose = fault_close,
                                                 .xRead = fault_read,
                                                 .xWrite = fault_write,
                                                 .xTruncate = fault_truncate,
                                                 .xSync = fault_sync,
                                                 .xFileSize = fault_size,
                                                 .xLock = fault_lock,
                                                 .xUnlock = fault_unlock,
                                                 .xCheckReservedLock = fault_reserved,
                                                 .xFileControl = fault_control,
                                                 .xSectorSize = fault_sector,
                                                 .xDeviceCharacteristics = fault_traits,
                                                 .xShmMap = fault_map,
                                                 .xShmLock = fault_shm_lock,
                                                 .xShmBarrier = fault_barrier,
                                                 .xShmUnmap = fault_unmap};

static int fault_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *f, int flags, int *out)
{
    faulty_file *file = (faulty_file *)f;

    (void)vfs;
    file->real = (sqlite3_file *)(file + 1);
    int code = real_vfs->xOpen(real_vfs, name, file->real, flags, out);
    file->base.pMethods = file->real->pMethods != NULL ? &fault_methods : NULL;
    return code;
}

static void install_faults(void)
{
    real_vfs = sqlite3_vfs_find(NULL);
    CHECK(real_vfs != NULL);
    faulty_vfs = *real_vfs;
    faulty_vfs.zName = "faulty";
    faulty_vfs.szOsFile = (int)sizeof(faulty_file) + real_vfs->szOsFile;
    faulty_vfs.xOpen = fault_open;
    atomic_store(&fail_at, -1);
    CHECK_INT(SQLITE_OK, sqlite3_vfs_register(&faulty_vfs, 1));
}

static void remove_faults(void)
{
    sqlite3_vfs_unregister(&faulty_vfs);
    sqlite3_vfs_register(real_vfs, 1);
}

/* ---- tests ---------------------------------------------------------------------------------- */

static char folder[160], database[192];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    snprintf(database, sizeof database, "%s/master.db", folder);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static rgm_status try_open(void)
{
    rgm_master_options options = {.folder = folder, .slots = 1, .trial_command = fake_command()};
    rgm_master *master;
    rgm_status status = rgm_master_open(&master, &options);

    rgm_master_close(master);
    return status;
}

static void execute(const char *sql)
{
    sqlite3 *connection;

    CHECK_INT(SQLITE_OK, sqlite3_open(database, &connection));
    CHECK_INT(SQLITE_OK, sqlite3_exec(connection, sql, NULL, NULL, NULL));
    sqlite3_close(connection);
}

static void a_later_version_is_refused_with_both(void **state)
{
    (void)state;
    CHECK_OK(try_open());
    execute("PRAGMA user_version = 99");
    CHECK_STATUS(RGM_ERR_VERSION, try_open());
    CHECK_MESSAGE("of version 99");
    CHECK_MESSAGE("this program reads versions up to ");
}

/* A master of before told an infinity as the best of a trial. */
static void a_database_of_version_3_is_upgraded(void **state)
{
    rgm_master *master = open_master(folder, 1);
    double best = 0;

    (void)state;
    for (int i = 0; i < 2; i++)
        create_experiment(master, "{name: single, metric: valid.loss, max_steps: 3}",
                          "min_validation_period: 1\n");
    serve_all(master, 60);
    rgm_master_close(master);
    execute("UPDATE trials SET best_metric = -9e999;"
            "UPDATE validations SET metric = -9e999 WHERE step_id = 2;"
            "UPDATE validations SET metric = 0.5 + step_id WHERE trial_id = 1 AND step_id <> 2;"
            "UPDATE validations SET metric = 9e999 WHERE trial_id = 2;"
            "DROP INDEX trials_waiting;"
            "CREATE INDEX trials_waiting ON trials(experiment_id, number) WHERE wants AND run_token"
            " IS NULL;"
            "ALTER TABLE trials DROP COLUMN ahead; ALTER TABLE trials DROP COLUMN ending;"
            "DROP TABLE search_changes; DROP TABLE earlier_trials; DROP TABLE drained_slots;"
            "ALTER TABLE experiments DROP COLUMN pool;"
            "DROP TABLE code_files; DROP TABLE code_origins;"
            "ALTER TABLE experiments DROP COLUMN seconds;"
            "ALTER TABLE experiments DROP COLUMN saved;"
            "ALTER TABLE experiments DROP COLUMN saved_of;"
            "ALTER TABLE experiments DROP COLUMN saved_unit; PRAGMA user_version = 3");
    execute("ALTER TABLE experiments DROP COLUMN logs_removed;"
            "DROP TABLE deliveries; DROP TABLE webhooks; DROP TABLE tokens;"
            "ALTER TABLE experiments DROP COLUMN note; ALTER TABLE experiments DROP COLUMN project;"
            "ALTER TABLE trials DROP COLUMN note;"
            "ALTER TABLE experiments DROP COLUMN slot_type;");
    master = open_master(folder, 1);
    rgm_json *t = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
    CHECK(rgm_json_number(&best, member(t, "best_metric")) && best == 1.5);
    rgm_json_release(t);
    t = ask(master, 200, "GET", "/api/v1/trials/2", NULL);
    CHECK(!rgm_json_number(&best, member(t, "best_metric")));
    rgm_json_release(t);
    rgm_master_close(master);
}

static void what_is_no_database_is_refused(void **state)
{
    static const char text[] =
        "this is no database, and it is longer than a header of one is, so "
        "that the whole of a header is there to be looked at by who opens it";

    (void)state;
    CHECK_OK(rgm_file_save(database, text, sizeof text));
    CHECK_STATUS(RGM_ERR_FORMAT, try_open());
    CHECK_MESSAGE("is damaged, or no database");
}

static void a_damaged_page_is_told(void **state)
{
    rgm_master *master = open_master(folder, 1);
    char *bytes;
    int64_t size;

    (void)state;
    create_experiment(master, "{name: random, metric: valid.loss, max_trials: 50, max_steps: 2}",
                      "");
    rgm_master_close(master);
    CHECK_OK(rgm_file_load(&bytes, &size, database, 1 << 24));
    memset(bytes + 4096, 0x5a, (size_t)size - 4096);
    CHECK_OK(rgm_file_save(database, bytes, size));
    rgm_free(bytes);
    CHECK_STATUS(RGM_ERR_FORMAT, try_open());
    CHECK_MESSAGE(database);
}

/* ---- rows that no master wrote -------------------------------------------------------------- */

static char outside[128];

/* A search of four trials of which none has begun, and a folder beside the master's. */
static int setup_rows(void **state)
{
    rgm_master *master;

    (void)state;
    snprintf(outside, sizeof outside, "%s", check_folder());
    snprintf(folder, sizeof folder, "%s/m", outside);
    snprintf(database, sizeof database, "%s/master.db", folder);
    master = open_master(folder, 1);
    create_experiment(master, "{name: random, metric: valid.loss, max_trials: 4, max_steps: 2}",
                      "");
    rgm_master_close(master);
    return 0;
}

static int teardown_rows(void **state)
{
    snprintf(folder, sizeof folder, "%s", outside);
    return teardown(state);
}

/* As `execute`, where a table says NOT NULL as well: for that moment it does not. */
static void force(const char *sql)
{
    execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL',"
            " '         ') WHERE type = 'table'");
    execute(sql);
    execute("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = replace(sql, '         ',"
            " ' NOT NULL') WHERE type = 'table'");
}

/* Of each request the answer is 500, which names the column; NULL: opening is refused. */
static void rows_that_cannot_be_are_refused_where_they_enter(void **state)
{
    static const struct {
        const char *sql, *path, *message;
    } cases[] = {
#define RUN ", run_token = '0123456789abcdef0123456789abcdef' WHERE id = 1"
        {"UPDATE trials SET number = -100000" RUN, "/api/v1/trials/1", "'number'"},
        {"UPDATE trials SET number = 0" RUN, "/api/v1/trials/1", "'number'"},
        {"UPDATE trials SET number = 4000000000" RUN, "/api/v1/trials/1", "'number'"},
        {"UPDATE trials SET run_pid = 1" RUN, NULL, "'run_pid'"},
        {"UPDATE trials SET run_pid = -7" RUN, NULL, "'run_pid'"},
        {"UPDATE trials SET run_slots = x'00ff'" RUN, NULL, "'run_slots'"},
        {"UPDATE trials SET run_token = '../x' WHERE id = 1", NULL, "'run_token'"},
        {"UPDATE experiments SET slots_per_trial = -1; UPDATE trials SET run_pid = 2" RUN, NULL,
         "'slots_per_trial'"},
        {"UPDATE trials SET number = -3 WHERE id = 1", "/api/v1/trials/1", "'number' of 1 is '-3'"},
        {"UPDATE trials SET state = 'ASLEEP' WHERE id = 1", "/api/v1/trials/1", "'state'"},
        {"UPDATE trials SET hyperparameters = '{\"a\":' WHERE id = 1", "/api/v1/trials/1", "JSON"},
        {"UPDATE trials SET start_time = 1e300 WHERE id = 1", "/api/v1/trials/1", "'start_time'"},
        {"UPDATE trials SET restarts = 'many' WHERE id = 1", "/api/v1/trials/1", "'restarts'"},
        {"UPDATE experiments SET name = NULL", "/api/v1/experiments/1", "'name'"},
        {"UPDATE experiments SET config = NULL", "/api/v1/experiments/1/config", "'config'"},
        {"UPDATE experiments SET config = NULL", "/api/v1/experiments/1/search", "'config'"},
        {"UPDATE experiments SET working_folder = NULL", "/api/v1/experiments/1",
         "'working_folder'"},
        {"UPDATE experiments SET state = NULL", "/api/v1/experiments", "'state'"},
        {"INSERT INTO searcher_events VALUES(1, 1, 77, 1, 1, NULL, 1)",
         "/api/v1/experiments/1/search", "'kind'"},
        {"INSERT INTO searcher_snapshots VALUES(1, -1, NULL)", "/api/v1/experiments/1/search",
         "'event_id'"},
        {"INSERT INTO runs VALUES(1, '', 'a', 1, 1)", "/api/v1/experiments/1/runs", "'slots'"},
        {"INSERT INTO checkpoints VALUES(1, 1, 1, '/etc', 'COMPLETED', 1, 'a', 1, 1, '{}')",
         "/api/v1/trials/1/checkpoints", "'uuid'"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_response r;

        force(cases[i].sql);
        if (cases[i].path == NULL) {
            CHECK_STATUS(RGM_ERR_FORMAT, try_open());
            CHECK_MESSAGE(cases[i].message);
        } else {
            rgm_master *master = open_master(folder, 1);

            rgm_master_handle(&r, master, &(rgm_request){.method = "GET", .path = cases[i].path});
            if (r.status != 500 || strstr(r.body.data, cases[i].message) == NULL)
                fail_msg("%s: %d %s", cases[i].sql, r.status, r.body.data);
            rgm_response_clear(&r);
            rgm_master_close(master);
        }
        teardown_rows(state);
        setup_rows(state);
    }
}

/* Of a search that is over, whose checkpoint's row names a folder: nothing but what is below the
 * master's own is removed, and the master goes on. */
static void nothing_outside_of_the_folder_is_removed(void **state)
{
    static const char *const folders[] = {"../../../precious", "/precious", "ckpt/../../../x",
                                          "out/precious",      ".",         ""};
    char path[400], target[200], sql[600];

    (void)state;
    snprintf(target, sizeof target, "%s/precious", outside);
    CHECK_OK(rgm_folder_make(target));
    snprintf(path, sizeof path, "%s/1/1", folder);
    CHECK_OK(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/1/1/out", folder);
    CHECK_INT(0, symlink(outside, path));
    execute("UPDATE trials SET state = 'COMPLETED', wants = 0; UPDATE experiments SET state ="
            " 'COMPLETED', save_trial_latest = 0, save_trial_best = 0, save_experiment_best = 0");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(sql, sizeof sql,
                 "INSERT OR REPLACE INTO checkpoints VALUES(1, 1, 1,"
                 " '11111111-2222-4333-8444-555555555555', 'COMPLETED', 5, '%s', 1, 1, '{}')",
                 folders[i]);
        execute(sql);
        rgm_master *master = open_master(folder, 1);
        tell(master, 500, "POST", "/api/v1/experiments/1/collect", "{}");
        serve_all(master, 60);
        rgm_master_close(master);
        CHECK(rgm_path_is_folder(target) && rgm_path_is_folder(folder));
    }
    execute(
        "UPDATE checkpoints SET folder = 'ckpt/step-00000005'"); /* one that is fine, and gone */
    rgm_master *master = open_master(folder, 1);
    tell(master, 200, "POST", "/api/v1/experiments/1/collect", "{}");
    rgm_master_close(master);
}

/* Where no master is at work, a command opens one: to change a search it loads what its file names,
 * to look at it it does not. */
static void who_looks_at_a_search_loads_nothing(void **state)
{
    rgm_master *master = open_master(folder, 1);
    rgm_client *client;
    rgm_json *answer;

    (void)state;
    create_experiment(master, "{name: random, metric: valid.loss, max_steps: 3, max_trials: 3}",
                      "");
    rgm_master_close(master);
    execute("UPDATE experiments SET config = replace(config, 'name: random', 'name:"
            " /nowhere/mine.so')");
    CHECK_OK(
        rgm_client_open(&client, folder, &(rgm_master_options){.subject = &rgm_trial_subject}));
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_client_call(&answer, client, "GET", "/api/v1/experiments/1/search", NULL));
    CHECK_MESSAGE("start the master with --own-searchers");
    CHECK_STATUS(RGM_ERR_CONFIG,
                 rgm_client_call(&answer, client, "POST", "/api/v1/experiments/1/pause", "{}"));
    CHECK_MESSAGE("there is no /nowhere/mine.so");
    rgm_client_close(client);
}

/* An earlier version began it with a sampler that learns, and all trials at once. */
static void a_search_goes_on_that_no_new_one_may_be(void **state)
{
    rgm_master *master = open_master(folder, 1);
    rgm_json *answer;

    (void)state;
    create_experiment(master,
                      "{name: random, metric: valid.loss, max_steps: 3, max_trials: 3, sampler: "
                      "random}",
                      "");
    rgm_master_close(master);
    execute("DELETE FROM searcher_snapshots; UPDATE experiments SET config = replace(config,"
            " 'sampler: random', 'sampler: tpe')");
    master = open_master(folder, 1);
    tell(master, 200, "POST", "/api/v1/experiments/1/change", "{\"set\": {\"max_restarts\": 6}}");
    answer = ask(master, 422, "POST", "/api/v1/experiments/1/change",
                 "{\"set\": {\"searcher.max_trials\": 4}}");
    CHECK(strstr(text_member(answer, "message"), "give 'max_concurrent_trials'") != NULL);
    rgm_json_release(answer);
    serve_all(master, 60);
    tell(master, 201, "POST", "/api/v1/trials/1/continue", "{\"max_length\": {\"steps\": 4}}");
    serve_all(master, 60);
    for (int i = 1; i <= 2; i++) {
        char path[48];

        snprintf(path, sizeof path, "/api/v1/experiments/%d", i);
        answer = ask(master, 200, "GET", path, NULL);
        CHECK_TEXT("COMPLETED", text_member(answer, "state"));
        rgm_json_release(answer);
    }
    rgm_master_close(master);
}

static void another_schema_is_refused(void **state)
{
    static const char *const changes[] = {
        "CREATE TRIGGER t AFTER UPDATE ON trials BEGIN DELETE FROM trials; END",
        ("DROP TABLE labels; CREATE VIEW labels AS SELECT id AS experiment_id, name AS label FROM"
         " experiments"),
        "DROP INDEX trials_state; CREATE INDEX trials_state ON trials(state)",
        "ALTER TABLE trials ADD COLUMN more INTEGER DEFAULT 1",
    };

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        execute(changes[i]);
        CHECK_STATUS(RGM_ERR_FORMAT, try_open());
        CHECK_MESSAGE("no master");
        teardown_rows(state);
        setup_rows(state);
    }
    execute("CREATE INDEX mine ON trials(state); CREATE TABLE notes(text); ANALYZE");
    CHECK_OK(try_open()); /* what somebody keeps beside it is theirs */
}

/* ---- what a client would do ------------------------------------------------------------------ */

/* What a client would do: ask again while the answer says so. */
static void ask_until_done(const char *method, const char *path, const char *body, int64_t n,
                           int64_t *refused)
{
    rgm_master_options options = {.folder = folder, .slots = 1, .trial_command = fake_command()};
    rgm_master *master;

    for (int tries = 0; tries < 3; tries++) {
        rgm_response r = {.status = 503};

        if (rgm_master_open(&master, &options) == RGM_OK)
            rgm_master_handle(&r, master,
                              &(rgm_request){.method = method,
                                             .path = path,
                                             .body = body,
                                             .size = body != NULL ? (int64_t)strlen(body) : 0});
        rgm_master_close(master);
        int status = r.status;
        bool later = rgm_response_is_for_later(&r);
        rgm_response_clear(&r);
        if (status == 200 || status == 201)
            return;
        if (!later)
            fail_msg("write %lld failing gives %d", (long long)n, status);
        ++*refused;
    }
    fail_msg("with write %lld failing once, %s %s never succeeds", (long long)n, method, path);
}

static void check_whole(int64_t n)
{
    rgm_master *master = open_master(folder, 1);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments?limit=10", NULL);
    int64_t count = int_member(e, "total");

    if (count < 1 || count > 3)
        fail_msg("write %lld failing: %lld experiments", (long long)n, (long long)count);
    for (int64_t i = 0; i < count; i++)
        CHECK_INT(5, int_member(rgm_json_at(member(e, "experiments"), i), "trials"));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* The n-th write of opening, creating and pausing fails once, for every n: it is refused and done
 * when it is asked again, and what is there is whole. */
static void every_write_may_fail_once(void **state)
{
    char *config =
        search_config("{name: random, metric: valid.loss, max_trials: 5, max_steps: 2}", "");
    char *body = create_body(config, "");
    int64_t refused = 0, n = 0, used;
    static const int codes[] = {SQLITE_FULL, SQLITE_IOERR_WRITE};

    (void)state;
    install_faults();
    do {
        fault_code = codes[n % 2];
        CHECK_OK(rgm_folder_remove(folder));
        atomic_store(&calls, 0);
        atomic_store(&fail_at, n);
        ask_until_done("POST", "/api/v1/experiments", body, n, &refused);
        ask_until_done("POST", "/api/v1/experiments/1/pause", NULL, n, &refused);
        used = atomic_load(&calls);
        atomic_store(&fail_at, -1);
        check_whole(n);
    } while (n++ < used);
    print_message("%lld writes, %lld requests refused\n", (long long)used, (long long)refused);
    CHECK(refused >= 10);
    remove_faults();
    rgm_free(body);
    rgm_free(config);
}

/* The same while trials run: their reports are refused and told again. */
static void a_search_ends_the_same_though_writes_fail(void **state)
{
    static const char searcher[] =
        "{name: random, metric: valid.loss, max_trials: 3, max_steps: 3}";
    char *undisturbed, *got;
    rgm_master *master;

    (void)state;
    install_faults();
    fault_code = SQLITE_FULL;
    master = open_master(folder, 2);
    create_experiment(master, searcher, "");
    serve_all(master, 60);
    undisturbed = summary(master, 1);
    for (int64_t id = 2; id < 12; id++) {
        create_experiment(master, searcher, "");
        atomic_store(&calls, 0);
        atomic_store(&fail_at, 3 + 7 * (id - 2));
        serve_all(master, 60);
        CHECK(atomic_load(&calls) > atomic_load(&fail_at));
        atomic_store(&fail_at, -1);
        got = summary(master, id);
        CHECK_TEXT(undisturbed, got);
        rgm_free(got);
    }
    rgm_free(undisturbed);
    rgm_master_close(master);
    remove_faults();
}

/* The process of trial 1 of a master at work, once it has one. */
static pid_t wait_for_process(rgm_master *master)
{
    for (int i = 0; i < 6000; i++) {
        rgm_json *running = ask(master, 200, "GET", "/api/v1/running", NULL);
        int64_t pid = 0;

        rgm_json_int(&pid, member(running, "running.0.pid"));
        rgm_json_release(running);
        if (pid > 0)
            return (pid_t)pid;
        usleep(10000);
    }
    fail_msg("no trial was started");
    return 0;
}

/* A kill that cannot be put down is refused and kills nobody; and a master whose trials have ended
 * stops, though it cannot put that down either: the next one finds it out. */
static void on_a_full_disk_nothing_is_killed_and_nothing_waited_for(void **state)
{
    rgm_master_options options = {.folder = folder,
                                  .slots = 1,
                                  .trial_command = fake_command(),
                                  .stop_seconds = 3000,
                                  .subject = &rgm_trial_subject};
    rgm_master *master;
    rgm_log_notes notes = {0};
    working_master w;

    (void)state;
    setenv("FAKE_TRIAL_MS", "600000", 1);
    install_faults();
    fault_code = SQLITE_FULL;
    CHECK_OK(rgm_master_open(&master, &options));
    create_experiment(master, "{name: random, metric: valid.loss, max_trials: 1, max_steps: 2}",
                      "");
    begin_work(&w, master);
    pid_t pid = wait_for_process(master);
    atomic_store(&all_fail, true);
    CHECK_OK(rgm_log_notes_begin(&notes));
    rgm_json_release(ask(master, 507, "POST", "/api/v1/experiments/1/kill", NULL));
    rgm_json_release(ask(master, 507, "POST", "/api/v1/trials/1/kill", NULL));
    CHECK_OK(rgm_log_notes_end(&notes, RGM_OK));
    CHECK_INT(1, notes.count); /* of many requests in a row the first is told */
    CHECK(strstr(notes.texts[0], "requests are put off: nothing was changed: ") != NULL);
    CHECK(strstr(notes.texts[0], "No space left on device") != NULL);
    rgm_log_notes_clear(&notes);
    usleep(100000);                            /* time to die */
    CHECK_INT(0, waitpid(pid, NULL, WNOHANG)); /* a child of this process: nobody has killed it */
    CHECK_INT(0, kill(pid, SIGKILL));
    end_work(&w);
    rgm_master_close(master);
    atomic_store(&all_fail, false);
    remove_faults();
    unsetenv("FAKE_TRIAL_MS");
    master = open_master(folder, 1);
    serve_all(master, 60);
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    rgm_json_release(e);
    rgm_master_close(master);
}

/* Each allocation of a request fails in turn: 503, and nothing was done. */
static void no_memory_is_told_and_changes_nothing(void **state)
{
    static const struct {
        const char *method, *path, *body;
        int64_t stride; /* of allocations: reading an experiment file makes thousands */
    } requests[] = {
        {"POST", "/api/v1/experiments", NULL, 23},
        {"POST", "/api/v1/experiments/1/pause", NULL, 1},
        {"PATCH", "/api/v1/experiments/1", "{\"labels\": {\"a\": true}, \"weight\": 2}", 1},
        {"GET", "/api/v1/experiments/1/trials", NULL, 1},
        {"POST", "/api/v1/trials/1/kill", NULL, 1},
        {"POST", "/api/v1/experiments/1/cancel", NULL, 1},
        {"DELETE", "/api/v1/experiments/1", NULL, 1},
    };
    char *config =
             search_config("{name: random, metric: valid.loss, max_trials: 3, max_steps: 2}", ""),
         *create = create_body(config, "");
    rgm_master *master = open_master(folder, 1);

    (void)state;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) {
        const char *body = i == 0 ? create : requests[i].body;
        rgm_request request = {.method = requests[i].method,
                               .path = requests[i].path,
                               .body = body,
                               .size = body != NULL ? (int64_t)strlen(body) : 0};
        int64_t n = 0, refused = 0;
        bool failed = true;

        while (failed) {
            rgm_response r;

            rgm_memory_fail_at(n, false);
            rgm_master_handle(&r, master, &request);
            failed = rgm_memory_failures() > 0;
            rgm_memory_fail_at(-1, false);
            if (failed && r.status != 503 && r.status != 200 && r.status != 201)
                fail_msg("%s %s without allocation %lld: %d %s", request.method, request.path,
                         (long long)n, r.status, r.body.data);
            refused += r.status == 503;
            bool done = r.status == 200 || r.status == 201;
            rgm_response_clear(&r);
            if (done)
                break; /* what failed could be done without, as an answer printed anew */
            n += requests[i].stride;
        }
        CHECK(refused > 0);
    }
    rgm_master_close(master);
    rgm_free(create);
    rgm_free(config);
}

static void a_folder_that_cannot_be_written_is_told(void **state)
{
    (void)state;
    if (geteuid() == 0)
        SKIP("root writes everywhere");
    CHECK_OK(try_open());
    CHECK_INT(0, chmod(database, 0400));
    CHECK_STATUS(RGM_ERR_IO, try_open());
    CHECK_MESSAGE("cannot be written");
}

/* It has the secrets of webhooks: a new one, and one that an earlier version left readable. */
static void nobody_else_reads_it(void **state)
{
    mode_t before = umask(0022);
    struct stat info;

    (void)state;
    for (int i = 0; i < 2; i++) {
        CHECK_OK(try_open());
        CHECK_INT(0, stat(database, &info));
        CHECK_INT(0600, info.st_mode & 0777);
        CHECK_INT(0, chmod(database, 0664));
    }
    umask(before);
}

TESTS(cmocka_unit_test_setup_teardown(nobody_else_reads_it, setup, teardown),
      cmocka_unit_test_setup_teardown(a_later_version_is_refused_with_both, setup, teardown),
      cmocka_unit_test_setup_teardown(rows_that_cannot_be_are_refused_where_they_enter, setup_rows,
                                      teardown_rows),
      cmocka_unit_test_setup_teardown(nothing_outside_of_the_folder_is_removed, setup_rows,
                                      teardown_rows),
      cmocka_unit_test_setup_teardown(another_schema_is_refused, setup_rows, teardown_rows),
      cmocka_unit_test_setup_teardown(a_database_of_version_3_is_upgraded, setup, teardown),
      cmocka_unit_test_setup_teardown(who_looks_at_a_search_loads_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(a_search_goes_on_that_no_new_one_may_be, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_no_database_is_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(a_damaged_page_is_told, setup, teardown),
      cmocka_unit_test_setup_teardown(every_write_may_fail_once, setup, teardown),
      cmocka_unit_test_setup_teardown(a_search_ends_the_same_though_writes_fail, setup, teardown),
      cmocka_unit_test_setup_teardown(on_a_full_disk_nothing_is_killed_and_nothing_waited_for,
                                      setup, teardown),
      cmocka_unit_test_setup_teardown(no_memory_is_told_and_changes_nothing, setup, teardown),
      cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written_is_told, setup, teardown))
