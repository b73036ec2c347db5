/*
 * What a master does beside its trials: checkpoints that no rule can want go while a search is at
 * work, nothing begins on a full disk, logs keep their newest lines and do not stay for ever.
 */
#include "master_check.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

static char folder[128];
static atomic_llong free_bytes = -1; /* of every disk; below 0: as it is */

/* In place of the library's: a disk that is as full as the test wants. */
int statvfs(const char *path, struct statvfs *out)
{
    (void)path;
    memset(out, 0, sizeof *out);
    out->f_frsize = 1;
    out->f_blocks = (fsblkcnt_t)1 << 40;
    out->f_bavail =
        (fsblkcnt_t)(atomic_load(&free_bytes) >= 0 ? atomic_load(&free_bytes) : 1LL << 39);
    return 0;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    atomic_store(&free_bytes, -1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

static rgm_master *open_with(const rgm_master_options *more)
{
    rgm_master_options options = *more;
    rgm_master *master;

    options.folder = folder;
    options.slots = 2;
    options.threads_per_slot = 1;
    options.trial_command = fake_command();
    options.stop_seconds = 20;
    options.orphan_seconds = 30;
    options.subject = &rgm_trial_subject;
    CHECK_OK(rgm_master_open(&master, &options));
    return master;
}

/* How many checkpoints of an experiment are whole. */
static int64_t count_whole(rgm_master *master)
{
    rgm_json *list = ask(master, 200, "GET", "/api/v1/experiments/1/checkpoints?limit=1000", NULL);
    const rgm_json *items = member(list, "checkpoints");
    int64_t whole = 0;

    for (int64_t i = 0; i < rgm_json_count(items); i++)
        whole += strcmp(text_member(rgm_json_at(items, i), "state"), "COMPLETED") == 0;
    rgm_json_release(list);
    return whole;
}

/* ---- checkpoints --------------------------------------------------------------------------- */

typedef struct collecting {
    double until;
    int phase;     /* 0: works, 1: paused, 2: goes on */
    int64_t least; /* whole checkpoints that were seen while it was not over */
} collecting;

/* Pause in the middle, wait until what nobody wants is gone, go on. */
static bool pause_and_look(rgm_master *master, void *payload)
{
    collecting *c = payload;
    rgm_json *trial;

    if (rgm_now() > c->until)
        fail_msg("not over in time: phase %d, %lld whole checkpoints", c->phase,
                 (long long)count_whole(master));
    if (c->phase == 0) {
        trial = ask(master, 200, "GET", "/api/v1/trials/1", NULL);
        if (int_member(trial, "steps") >= 6) {
            tell(master, 200, "POST", "/api/v1/experiments/1/pause", NULL);
            c->phase = 1;
        }
        rgm_json_release(trial);
    } else if (c->phase == 1) {
        trial = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
        CHECK_TEXT("PAUSED", text_member(trial, "state"));
        c->least = count_whole(master);
        if (int_member(trial, "running") == 0 && c->least <= 3) {
            tell(master, 200, "POST", "/api/v1/experiments/1/activate", NULL);
            c->phase = 2;
        }
        rgm_json_release(trial);
    }
    return c->phase == 2 && all_over(master, NULL);
}

static void what_no_rule_can_want_goes_while_a_search_works(void **state)
{
    rgm_master *master = open_with(&(rgm_master_options){.slots = 2});
    collecting c = {.until = rgm_now() + 60};
    char *whole, *paused;

    (void)state;
    setenv("FAKE_TRIAL_MS", "20", 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 12}",
                      "min_checkpoint_period: 1\nmin_validation_period: 1\n");
    CHECK_OK(rgm_master_serve(master, pause_and_look, &c));
    unsetenv("FAKE_TRIAL_MS");
    CHECK_INT(2, c.phase);
    /* The two newest, to which the trial may go back, and its best, which may be one of them. */
    CHECK(c.least >= 2 && c.least <= 3);
    paused = summary(master, 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 12}",
                      "min_checkpoint_period: 1\nmin_validation_period: 1\n");
    serve_all(master, 60);
    whole = summary(master, 2);
    CHECK_TEXT(whole, paused); /* and the best is the same, byte for byte */
    rgm_free(whole);
    rgm_free(paused);
    rgm_master_close(master);
}

/* ---- the disk ------------------------------------------------------------------------------ */

typedef struct filling {
    double until;
    bool has_waited;
} filling;

static bool empty_the_disk(rgm_master *master, void *payload)
{
    filling *f = payload;
    rgm_json *queue = ask(master, 200, "GET", "/api/v1/queue", NULL);
    const char *reason = text_member(queue, "queue.0.reason");

    if (rgm_now() > f->until)
        fail_msg("not over in time: %s", reason);
    if (!f->has_waited && strstr(reason, "kept free") != NULL) {
        rgm_json *running = ask(master, 200, "GET", "/api/v1/running", NULL);

        CHECK_INT(0, rgm_json_count(member(running, "running")));
        CHECK(strstr(reason, "no trial is started") != NULL);
        rgm_json_release(running);
        f->has_waited = true;
        atomic_store(&free_bytes, 3000000000);
    }
    rgm_json_release(queue);
    return f->has_waited && all_over(master, NULL);
}

static void nothing_begins_on_a_full_disk(void **state)
{
    rgm_master *master = open_with(&(rgm_master_options){.keep_free = 2000000000});
    filling f = {.until = rgm_now() + 60};

    (void)state;
    atomic_store(&free_bytes, 1999999999);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    CHECK_OK(rgm_master_serve(master, empty_the_disk, &f));
    CHECK(f.has_waited);
    rgm_json *over = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(over, "state"));
    rgm_json_release(over);
    rgm_master_close(master);
}

/* ---- logs ---------------------------------------------------------------------------------- */

enum { LINES = 20000, LINE = 60, BOUND = 200000 };

typedef struct logging {
    double until;
    bool written, bounded;
    char go[160];
} logging;

static void write_lines(const char *path)
{
    FILE *file = fopen(path, "ae");

    CHECK(file != NULL);
    for (int i = 0; i < LINES; i++)
        CHECK_INT(LINE, fprintf(file, "line %08d %045d\n", i, i));
    CHECK_INT(0, fclose(file));
}

static bool write_and_look(rgm_master *master, void *payload)
{
    rgm_json *running = ask(master, 200, "GET", "/api/v1/running", NULL);
    bool runs = rgm_json_count(member(running, "running")) > 0;
    logging *l = payload;
    char path[200];
    struct stat info;

    rgm_json_release(running);
    if (rgm_now() > l->until)
        fail_msg("not over in time");
    snprintf(path, sizeof path, "%s/1/1/trial.log", folder);
    if (runs && !l->written) {
        write_lines(path);
        l->written = true;
    }
    if (l->written && !l->bounded) {
        CHECK_INT(0, stat(path, &info));
        l->bounded = info.st_blocks * 512 < 2 * BOUND;
        if (l->bounded) /* the trial may end */
            CHECK_OK(rgm_file_create(l->go, "x", 1));
    }
    return l->bounded && all_over(master, NULL);
}

static void logs_keep_their_newest_lines(void **state)
{
    rgm_master *master = open_with(&(rgm_master_options){.log_bytes = BOUND});
    logging l = {.until = rgm_now() + 60};
    int64_t offset = 0, number, lines = 0;
    bool over = false;

    (void)state;
    snprintf(l.go, sizeof l.go, "%s/go", folder);
    setenv("FAKE_TRIAL_BUSY", l.go, 1);
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    CHECK_OK(rgm_master_serve(master, write_and_look, &l));
    unsetenv("FAKE_TRIAL_BUSY");
    while (!over) {
        char path[120];

        snprintf(path, sizeof path, "/api/v1/trials/1/logs?offset=%lld&limit=100000",
                 (long long)offset);
        rgm_json *log = ask(master, 200, "GET", path, NULL);
        const char *text = text_member(log, "text");
        if (offset == 0) {
            CHECK(int_member(log, "offset") > 0);
            CHECK(strncmp(text, "[", 1) == 0 && strstr(text, "bytes of older lines are gone"));
            text = strchr(text, '\n') + 1;
        }
        for (; sscanf(text, "line %lld", (long long *)&number) == 1; text += LINE, lines++)
            if (lines > 0 || offset > 0)
                CHECK(number > 0);
        offset = int_member(log, "next");
        over = offset >= int_member(log, "size");
        rgm_json_release(log);
    }
    CHECK_INT(LINES - 1, number); /* the newest are there, each whole */
    CHECK(lines >= BOUND / LINE - 1 && lines < 2 * BOUND / LINE);
    rgm_json *tail = ask(master, 200, "GET", "/api/v1/trials/1/logs?tail=3", NULL);
    CHECK(strncmp(text_member(tail, "text"), "line 00019997", 13) == 0);
    rgm_json_release(tail);
    rgm_master_close(master);
}

static bool is_removed(rgm_master *master, void *payload)
{
    rgm_json *log = ask(master, 200, "GET", "/api/v1/trials/1/logs", NULL);
    bool gone = strstr(text_member(log, "text"), "--log-days") != NULL;

    rgm_json_release(log);
    if (rgm_now() > *(double *)payload)
        fail_msg("the log does not go");
    return gone;
}

static void logs_do_not_stay_for_ever(void **state)
{
    rgm_master *master = open_with(&(rgm_master_options){.log_days = 2});
    double until = rgm_now() + 60;
    char path[200], log[200];
    sqlite3 *database;

    (void)state;
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    serve_all(master, 60);
    rgm_master_close(master);
    snprintf(log, sizeof log, "%s/1/1/trial.log", folder);
    CHECK(rgm_path_exists(log));
    snprintf(path, sizeof path, "%s/master.db", folder);
    CHECK_INT(SQLITE_OK, sqlite3_open(path, &database));
    CHECK_INT(SQLITE_OK,
              sqlite3_exec(database, "UPDATE experiments SET end_time = end_time - 200000", NULL,
                           NULL, NULL));
    sqlite3_close(database);
    master = open_with(&(rgm_master_options){.log_days = 2});
    CHECK_OK(rgm_master_serve(master, is_removed, &until));
    CHECK(!rgm_path_exists(log));
    rgm_master_close(master);
}

TESTS(cmocka_unit_test_setup_teardown(what_no_rule_can_want_goes_while_a_search_works, make_folder,
                                      remove_folder),
      cmocka_unit_test_setup_teardown(nothing_begins_on_a_full_disk, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(logs_keep_their_newest_lines, make_folder, remove_folder),
      cmocka_unit_test_setup_teardown(logs_do_not_stay_for_ever, make_folder, remove_folder))
