/*
 * The index of runs: what is found, what changes, what a table of them shows. Runs are made as
 * trainers make them, in folders of this test.
 */
#include <check.h>

#include <regimen/store.h>
#include <regimen/controller_run.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "index.h"

/* ---- folders ------------------------------------------------------------------------------- */

static char root[64];

static const char *in_root(const char *name)
{
    static char path[4][300];
    static int turn;

    turn = (turn + 1) % 4;
    snprintf(path[turn], sizeof path[turn], "%s/%s", root, name);
    return path[turn];
}

static void write_file(const char *name, const char *text)
{
    CHECK_OK(rgm_file_save(in_root(name), text, (int64_t)strlen(text)));
}

static void set_time(const char *name, int64_t seconds)
{
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    CHECK_INT(0, utimensat(AT_FDCWD, in_root(name), times, 0));
}

static void log_metrics(const char *name, int64_t step, double loss, bool fresh)
{
    const rgm_named_number numbers[] = {{"loss", loss}};
    rgm_metrics_log *log;
    char file[100];

    snprintf(file, sizeof file, "%s/metrics.jsonl", name);
    CHECK_OK(rgm_metrics_log_open(&log, in_root(file), fresh ? 0 : -1));
    CHECK_OK(rgm_metrics_log_add(log, "valid", step, 1, numbers, 1));
    rgm_metrics_log_close(log);
}

/* A run that measured a loss once, so many seconds after 1,000,000,000. */
static void make_run(const char *name, const char *config, double loss, int64_t at)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run;
    char file[100];

    options.config = config;
    CHECK_OK(rgm_run_folder_open(&run, in_root(name), &options));
    rgm_run_folder_close(run);
    log_metrics(name, 10, loss, true);
    snprintf(file, sizeof file, "%s/metrics.jsonl", name);
    set_time(file, 1000000000 + at);
}

static void make_root(void)
{
    snprintf(root, sizeof root, "%s", check_folder());
}

static rgmi_runs *open_index(int threads)
{
    const char *const folders[] = {root};
    rgmi_runs *runs;

    CHECK_OK(rgmi_runs_open_threads(&runs, folders, 1, threads));
    return runs;
}

/* ---- asking -------------------------------------------------------------------------------- */

static rgm_json *list(rgmi_runs *runs, const rgmi_runs_query *asked)
{
    rgmi_runs_query query = *asked;
    rgm_text json = {0};
    rgm_json *answer;

    query.limit = query.limit > 0 ? query.limit : 100;
    if (!query.kinds[RGMI_RUN] && !query.kinds[RGMI_TRIAL])
        CHECK_OK(rgmi_runs_query_kinds(&query, "all"));
    CHECK_OK(rgmi_runs_list(&json, runs, &query, NULL, 0));
    CHECK_OK(rgm_json_parse(&answer, json.data, json.size, "list"));
    rgm_text_clear(&json);
    return answer;
}

/* The names of a list's rows: "a b c". */
static void check_names(rgmi_runs *runs, const rgmi_runs_query *query, const char *expected)
{
    rgm_json *answer = list(runs, query);
    const rgm_json *rows = rgm_json_find(answer, "rows");
    rgm_text names = {0};

    CHECK_OK(rgm_text_add(&names, "", 0));
    for (int64_t i = 0; i < rgm_json_count(rows); i++)
        CHECK_OK(rgm_text_printf(&names, "%s%s", i > 0 ? " " : "",
                                 rgm_json_text(rgm_json_find(rgm_json_at(rows, i), "name"))));
    CHECK_TEXT(expected, names.data);
    rgm_text_clear(&names);
    rgm_json_release(answer);
}

static void check_where(rgmi_runs *runs, const char *condition, const char *expected)
{
    check_names(
        runs,
        &(rgmi_runs_query){
            .conditions = &condition, .condition_count = 1, .sort = "name", .ascending = true},
        expected);
}

/* The id of the run of a name. */
static const char *id_of_run(rgmi_runs *runs, const char *name)
{
    static char hex[17];
    rgmi_runs_rows rows;

    hex[0] = 0;
    CHECK_OK(rgmi_runs_rows_take(&rows, runs, true));
    for (int64_t i = 0; i < rows.count; i++)
        if (strcmp(rows.rows[i]->text[RGMI_TEXT_NAME], name) == 0)
            rgmi_run_id_print(hex, rows.rows[i]->id);
    rgmi_runs_rows_clear(&rows);
    return hex;
}

/* ---- finding ------------------------------------------------------------------------------- */

static void runs_are_found_four_levels_deep_and_links_are_not_followed(void **state)
{
    const char *const nowhere[] = {"/nowhere/at/all"};
    rgmi_runs *runs;
    char *folder;

    (void)state;
    make_root();
    CHECK_OK(rgm_folder_make(in_root("named/a/b/c")));
    CHECK_OK(rgm_folder_make(in_root("named/.hidden")));
    CHECK_OK(rgm_folder_make(in_root("named/deep/a/b/c")));
    make_run("named/one", "model: {type: gcn}\n", 1, 1);
    make_run("named/a/b/c/four", "model: {type: gcn}\n", 1, 2);
    make_run("named/deep/a/b/c/five", "model: {type: gcn}\n", 1, 3);
    make_run("named/.hidden/dot", "model: {type: gcn}\n", 1, 4);
    make_run("named/a/.deleted-77-1", "model: {type: gcn}\n", 1, 6); /* a kill left it */
    make_run("outside", "model: {type: gcn}\n", 1, 5);
    CHECK_INT(0, symlink(in_root("outside"), in_root("named/link")));
    snprintf(root + strlen(root), sizeof root - strlen(root), "/named");
    runs = open_index(0);
    check_names(runs, &(rgmi_runs_query){0}, "four one");
    CHECK_OK(rgmi_runs_folder(&folder, runs, id_of_run(runs, "four")));
    CHECK_TEXT(in_root("a/b/c/four"), folder);
    rgm_free(folder);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_runs_folder(&folder, runs, "0123456789abcdef"));
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_runs_folder(&folder, runs, "../../etc/passwd"));
    CHECK_INT(-1, rgmi_runs_version(runs, "0123456789abcdef"));
    CHECK(!rgm_path_exists(in_root("a/.deleted-77-1")));
    rgmi_runs_close(runs);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_runs_open_threads(&runs, nowhere, 1, 0));
    CHECK_MESSAGE("'/nowhere/at/all'");
    *strrchr(root, '/') = 0;
    CHECK_OK(rgm_folder_remove(root));
}

static void a_named_folder_may_be_a_run_itself_and_ids_stay(void **state)
{
    rgmi_runs *runs;
    char hex[17];

    (void)state;
    make_root();
    make_run("only", "model: {type: gcn}\n", 1, 1);
    snprintf(root + strlen(root), sizeof root - strlen(root), "/only");
    runs = open_index(0);
    check_names(runs, &(rgmi_runs_query){0}, "only");
    snprintf(hex, sizeof hex, "%s", id_of_run(runs, "only"));
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "only");
    rgmi_runs_close(runs);
    runs = open_index(0);
    CHECK_TEXT(hex, id_of_run(runs, "only"));
    rgmi_runs_close(runs);
    *strrchr(root, '/') = 0;
    CHECK_OK(rgm_folder_remove(root));
}

static void trials_know_their_experiment(void **state)
{
    const char *const *folders;
    rgmi_runs *runs;
    rgmi_run_row *row;

    (void)state;
    make_root();
    CHECK_OK(rgm_folder_make(in_root("search/7")));
    write_file("search/master.db", "");
    make_run("search/7/12", "model: {type: gcn}\n", 1, 1);
    make_run("plain", "model: {type: gcn}\n", 1, 2);
    runs = open_index(0);
    CHECK_INT(1, rgmi_runs_masters(runs, &folders));
    CHECK_TEXT(in_root("search"), folders[0]);
    check_names(runs, &(rgmi_runs_query){.kinds = {[RGMI_RUN] = true}}, "plain");
    check_names(runs, &(rgmi_runs_query){.kinds = {[RGMI_TRIAL] = true}}, "7/12");
    check_names(runs, &(rgmi_runs_query){.master = 1, .experiment = 7}, "7/12");
    check_names(runs, &(rgmi_runs_query){.master = 1, .experiment = 8}, "");
    CHECK_OK(rgmi_runs_row(&row, runs, id_of_run(runs, "7/12")));
    CHECK(row->master == 1 && row->experiment == 7 && row->trial == 12);
    rgmi_run_row_release(row);
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

/* A master that comes later makes trials of what was found. */
static void a_master_may_come_later(void **state)
{
    rgmi_runs *runs;

    (void)state;
    make_root();
    CHECK_OK(rgm_folder_make(in_root("7")));
    make_run("7/12", "model: {type: gcn}\n", 1, 1);
    runs = open_index(0);
    check_names(runs, &(rgmi_runs_query){0}, "12");
    write_file("master.db", "");
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "7/12");
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- changes ------------------------------------------------------------------------------- */

static void a_refresh_sees_what_is_new_changed_and_gone(void **state)
{
    rgmi_runs *runs;
    rgm_run_folder *trainer;
    int64_t before, version;

    (void)state;
    make_root();
    make_run("a", "model: {type: gcn}\n", 1, 1);
    runs = open_index(0);
    before = rgmi_runs_version(runs, NULL);
    version = rgmi_runs_version(runs, id_of_run(runs, "a"));
    CHECK_INT(version, rgmi_runs_version(runs, id_of_run(runs, "a")));
    /* New: in the named folder, and in one that is new itself. */
    CHECK_OK(rgm_folder_make(in_root("x")));
    CHECK_OK(rgmi_runs_refresh(runs));
    make_run("b", "model: {type: gcn}\n", 1, 2);
    make_run("x/c", "model: {type: gcn}\n", 1, 3);
    CHECK_OK(rgm_folder_make(in_root("later")));
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "c b a");
    CHECK(rgmi_runs_version(runs, NULL) > before);
    /* A folder that was seen empty becomes a run. */
    make_run("later", "model: {type: gcn}\n", 1, 4);
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "later c b a");
    /* Changed: a metric, the lock taken and given back, which no file tells. */
    log_metrics("a", 20, 0.25, false);
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgmi_runs_refresh(runs));
    check_where(runs, "metric.valid.loss = 0.25", "a");
    CHECK(rgmi_runs_version(runs, id_of_run(runs, "a")) > version);
    CHECK_OK(rgm_run_folder_open(&trainer, in_root("b"), NULL));
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){.states = "running"}, "b");
    rgm_run_folder_close(trainer);
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){.states = "running"}, "");
    /* Gone: a run, a folder of runs. */
    CHECK_OK(rgm_folder_remove(in_root("a")));
    CHECK_OK(rgm_folder_remove(in_root("x")));
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "later b");
    /* The named folder itself, which comes back. */
    CHECK_OK(rgm_folder_remove(root));
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "");
    CHECK_OK(rgm_folder_make(root));
    make_run("again", "model: {type: gcn}\n", 1, 5);
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "again");
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- rows ---------------------------------------------------------------------------------- */

static void a_row_has_what_its_folder_tells(void **state)
{
    rgm_trainer_options defaults;
    rgm_json *answer;
    const rgm_json *row, *values;
    rgmi_runs *runs;
    double number;
    int64_t whole;

    (void)state;
    rgm_trainer_defaults(&defaults);
    CHECK_INT(defaults.epochs, RGMI_RUN_DEFAULT_EPOCHS);
    make_root();
    make_run("a",
             "description: \"<b>bold</b>\"\nmodel: {type: mlp, hidden: [8, 4]}\n"
             "task: {type: classification}\ntrainer: {epochs: 4}\n"
             "optimizer: {learning_rate: 1e-3, name: \"1\"}\n",
             0.5, 7);
    write_file("a/tags", "good\n\nbad\x01tag\nsecond\n");
    runs = open_index(0);
    answer = list(runs, &(rgmi_runs_query){
                            .columns = "config.optimizer.learning_rate,config.model.hidden,config."
                                       "optimizer.name,metric.valid.loss,config.none,step"});
    row = rgm_json_at(rgm_json_find(answer, "rows"), 0);
    CHECK_TEXT("<b>bold</b>", rgm_json_text(rgm_json_find(row, "description")));
    CHECK_TEXT("classification", rgm_json_text(rgm_json_find(row, "task")));
    CHECK_TEXT("mlp", rgm_json_text(rgm_json_find(row, "model")));
    CHECK_TEXT("stopped", rgm_json_text(rgm_json_find(row, "state")));
    CHECK_TEXT(strrchr(root, '/') + 1, rgm_json_text(rgm_json_find(row, "folder")));
    CHECK_INT(2, rgm_json_count(rgm_json_find(row, "tags")));
    CHECK_TEXT("second", rgm_json_text(rgm_json_at(rgm_json_find(row, "tags"), 1)));
    CHECK(rgm_json_number(&number, rgm_json_find(row, "progress")) && number == 0.25);
    CHECK(rgm_json_number(&number, rgm_json_find(row, "modified")) && number == 1000000007);
    CHECK(rgm_json_int(&whole, rgm_json_find(row, "epochs")) && whole == 4);
    CHECK(!rgm_json_int(&whole, rgm_json_find(row, "trial")));
    CHECK(!rgm_json_is_object(rgm_json_find(row, "best")));
    values = rgm_json_find(row, "values");
    CHECK(rgm_json_number(&number, rgm_json_find(values, "config.optimizer.learning_rate")) &&
          number == 1e-3);
    CHECK_TEXT("[8, 4]", rgm_json_text(rgm_json_find(values, "config.model.hidden")));
    CHECK_TEXT("1", rgm_json_text(rgm_json_find(values, "config.optimizer.name")));
    CHECK(rgm_json_number(&number, rgm_json_find(values, "metric.valid.loss")) && number == 0.5);
    CHECK(rgm_json_find(values, "config.none") != NULL);
    CHECK(rgm_json_text(rgm_json_find(values, "config.none")) == NULL);
    rgm_json_release(answer);
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

static void what_is_damaged_or_a_link_is_told(void **state)
{
    rgmi_runs *runs;
    rgmi_run_row *row;

    (void)state;
    make_root();
    make_run("torn", "model: {type: gcn}\n", 1, 1);
    make_run("linked", "model: {type: gcn}\n", 1, 2);
    write_file("torn/config.yaml", "a: [\n");
    write_file("secret.yaml", "password: open\n");
    CHECK_INT(0, unlink(in_root("linked/config.yaml")));
    CHECK_INT(0, symlink(in_root("secret.yaml"), in_root("linked/config.yaml")));
    runs = open_index(0);
    CHECK_OK(rgmi_runs_row(&row, runs, id_of_run(runs, "torn")));
    CHECK_TEXT("damaged", row->state);
    CHECK(strstr(row->text[RGMI_TEXT_REASON], "config.yaml:") != NULL);
    rgmi_run_row_release(row);
    CHECK_OK(rgmi_runs_row(&row, runs, id_of_run(runs, "linked")));
    CHECK_TEXT("damaged", row->state);
    CHECK(strstr(row->text[RGMI_TEXT_REASON], "symbolic link") != NULL);
    CHECK_INT(0, row->cell_count);
    CHECK_INT(-1, rgmi_keys_find(&runs->keys, "config.password"));
    rgmi_run_row_release(row);
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- the table ----------------------------------------------------------------------------- */

/* The reason of a run's damage, "" for none, once what has changed was looked at. */
static const char *reason_now(rgmi_runs *runs, const char *name)
{
    static char reason[400];
    rgmi_run_row *row;

    CHECK_OK(rgmi_runs_refresh(runs));
    CHECK_OK(rgmi_runs_row(&row, runs, id_of_run(runs, name)));
    CHECK(!row->read ||
          (strcmp(row->state, "damaged") == 0) == (row->text[RGMI_TEXT_REASON] != NULL));
    snprintf(reason, sizeof reason, "%s",
             row->text[RGMI_TEXT_REASON] != NULL ? row->text[RGMI_TEXT_REASON] : "");
    rgmi_run_row_release(row);
    return reason;
}

/* A bit in the middle, which the end of the log does not tell; and the log made whole again. */
static void damage_anywhere_in_a_log_is_told(void **state)
{
    rgmi_runs *runs;
    char where[40];
    int lines = 0;
    FILE *file;

    (void)state;
    make_root();
    make_run("a", "model: {type: gcn}\n", 0.5, 1);
    for (int64_t step = 20; step < 6000; step += 10)
        log_metrics("a", step, 1.0 / (double)step, false);
    runs = open_index(0);
    CHECK_TEXT("", reason_now(runs, "a"));
    rgmi_runs_close(runs);
    file = fopen(in_root("a/metrics.jsonl"), "r+b");
    CHECK(file != NULL && fseek(file, 2000, SEEK_SET) == 0 && fputc('#', file) == '#');
    rewind(file);
    for (int64_t at = 0; at < 2000; at++)
        lines += fgetc(file) == '\n';
    CHECK_INT(0, fclose(file));
    snprintf(where, sizeof where, "metrics.jsonl:%d:", lines + 1);
    runs = open_index(0);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(0, strncmp(where, reason_now(runs, "a"), strlen(where))); /* and no folder */
        CHECK(strstr(reason_now(runs, "a"), "the line is damaged") != NULL);
    }
    log_metrics("a", 10, 0.25, true);
    CHECK_TEXT("", reason_now(runs, "a"));
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

/* Before the first search there is no folder of experiments. */
static void a_named_folder_may_come_later(void **state)
{
    char later[100];
    const char *const folders[] = {later};
    rgmi_runs *runs;

    (void)state;
    make_root();
    make_run("runs/a", "model: {type: gcn}\n", 0.5, 1);
    snprintf(later, sizeof later, "%s/other/none/", root);
    CHECK_STATUS(RGM_ERR_NOT_FOUND, rgmi_runs_open_threads(&runs, folders, 1, 0));
    CHECK_MESSAGE("/other/none/");
    snprintf(later, sizeof later, "%s/other/", root);
    CHECK_OK(rgmi_runs_open_threads(&runs, folders, 1, 0));
    check_names(runs, &(rgmi_runs_query){0}, "");
    make_run("other/b", "model: {type: gcn}\n", 0.5, 1);
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "b");
    CHECK_OK(rgm_folder_remove(in_root("other")));
    CHECK_OK(rgmi_runs_refresh(runs));
    check_names(runs, &(rgmi_runs_query){0}, "");
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

static void make_some(void)
{
    make_root();
    make_run("seed-10", "model: {type: gcn}\noptimizer: {rate: 0.1}\ntrainer: {epochs: 9}\n", 0.5,
             3);
    make_run("seed-2", "model: {type: gat}\noptimizer: {rate: 0.01}\ntrainer: {epochs: 9}\n", 0.25,
             1);
    make_run("other",
             "model: {type: mlp}\ndescription: Tries Words of more\ntrainer: {epochs: 9}\n", NAN,
             2);
    write_file("other/tags", "keep\nkept\n");
}

static void rows_are_sorted_and_paged(void **state)
{
    rgmi_runs *runs;
    rgm_json *answer;
    int64_t total;

    (void)state;
    make_some();
    runs = open_index(0);
    check_names(runs, &(rgmi_runs_query){0}, "seed-10 other seed-2");
    check_names(runs, &(rgmi_runs_query){.sort = "name", .ascending = true},
                "other seed-2 seed-10");
    check_names(runs, &(rgmi_runs_query){.sort = "name"}, "seed-10 seed-2 other");
    /* Without the key last in either order. */
    check_names(runs, &(rgmi_runs_query){.sort = "config.optimizer.rate", .ascending = true},
                "seed-2 seed-10 other");
    check_names(runs, &(rgmi_runs_query){.sort = "config.optimizer.rate"}, "seed-10 seed-2 other");
    check_names(runs, &(rgmi_runs_query){.sort = "metric.valid.loss"}, "seed-10 seed-2 other");
    check_names(runs, &(rgmi_runs_query){.sort = "step"}, "other seed-2 seed-10");
    check_names(runs, &(rgmi_runs_query){.offset = 1, .limit = 1}, "other");
    check_names(runs, &(rgmi_runs_query){.offset = 9}, "");
    answer = list(runs, &(rgmi_runs_query){.offset = 2, .limit = 1});
    CHECK(rgm_json_int(&total, rgm_json_find(answer, "total")) && total == 3);
    CHECK(rgm_json_int(&total, rgm_json_find(answer, "found")) && total == 3);
    CHECK(rgm_json_int(&total, rgm_json_find(answer, "read")) && total == 3);
    rgm_json_release(answer);
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

static void check_refused(rgmi_runs *runs, const char *words, const char *message)
{
    rgmi_runs_query query = {.text = words};
    rgm_text json = {0};

    CHECK_OK(rgmi_runs_query_kinds(&query, "all"));
    CHECK_STATUS(RGM_ERR_ARG, rgmi_runs_list(&json, runs, &query, NULL, 0));
    CHECK_MESSAGE(message);
    rgm_text_clear(&json);
}

static void rows_are_searched_and_filtered(void **state)
{
    rgmi_runs *runs;

    (void)state;
    make_some();
    runs = open_index(0);
    check_names(runs, &(rgmi_runs_query){.text = "words TRIES"}, "other");
    check_names(runs, &(rgmi_runs_query){.text = "SEED"}, "seed-10 seed-2");
    check_names(runs, &(rgmi_runs_query){.text = "kept"}, "other");
    check_names(runs, &(rgmi_runs_query){.text = "stopp words"}, "other");
    check_names(runs, &(rgmi_runs_query){.text = "seed words"}, "");
    check_names(runs, &(rgmi_runs_query){.text = "seed words OR kept OR gat"}, "other seed-2");
    check_names(runs, &(rgmi_runs_query){.text = "words OR"}, "other");
    check_names(runs, &(rgmi_runs_query){.text = "OR OR"}, "seed-10 other seed-2");
    check_names(runs, &(rgmi_runs_query){.text = "/^seed-[0-9]$/"}, "seed-2");
    check_names(runs, &(rgmi_runs_query){.text = "/SEED-1|^other/ /g|m/"}, "seed-10 other");
    check_names(runs, &(rgmi_runs_query){.text = "/words of/"}, "other");
    check_names(runs, &(rgmi_runs_query){.text = "/seed"}, ""); /* no pattern: it has no end */
    check_refused(runs, "/a(/", "is no pattern (an extended regular expression)");
    check_refused(runs,
                  "/((((((((((((((((((((((((((((((a+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+"
                  ")+)+)+)+)+)+)+)+)+)+/",
                  "has a + behind more than 4 groups");
    check_refused(runs, "/a++++++++++++++++++++++++++++++/", "has a + behind");
    check_refused(runs, "/(a)\\1/", "refers back");
    check_refused(runs, "/((a{99}){99}){99}/", "counts in braces that come to more than 255");
    check_names(runs, &(rgmi_runs_query){.text = "/^s[a-z]{3}-2$/"}, "seed-2");
    check_names(runs, &(rgmi_runs_query){.states = "running,finished"}, "");
    check_names(runs, &(rgmi_runs_query){.states = "damaged,stopped"}, "seed-10 other seed-2");
    check_names(runs, &(rgmi_runs_query){.states = "run"}, "");
    check_where(runs, "config.optimizer.rate <= 1e-2", "seed-2");
    check_where(runs, "config.optimizer.rate>0.01", "seed-10");
    check_where(runs, "config.optimizer.rate = 0.100", "seed-10");
    check_where(runs, "config.optimizer.rate != 0.1", "seed-2");
    check_where(runs, "model ~ g", "seed-2 seed-10");
    check_where(runs, "model != gcn", "other seed-2");
    check_where(runs, "tags = kept", "other");
    check_where(runs, "tags = kep", "");
    check_where(runs, "tags ~ kep", "other");
    check_where(runs, "name < seed-3", "other seed-2");
    check_where(runs, "modified >= 1000000002", "other seed-10");
    check_where(runs, "metric.valid.loss < 0.3", "seed-2");
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

static void folders_below_the_named_one_are_searched(void **state)
{
    rgmi_runs *runs;

    (void)state;
    make_root();
    CHECK_OK(rgm_folder_make(in_root("sweep")));
    make_run("sweep/one", "model: {type: gcn}\n", 1, 1);
    make_run("two", "model: {type: gcn}\n", 1, 2);
    runs = open_index(0);
    check_names(runs, &(rgmi_runs_query){.text = "swe"}, "one");
    check_names(runs, &(rgmi_runs_query){.text = strrchr(root, '/') + 1}, ""); /* all have it */
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

static void refuse(rgmi_runs *runs, rgmi_runs_query query, const char *message)
{
    rgm_text json = {0};

    CHECK_OK(rgmi_runs_query_kinds(&query, NULL));
    CHECK_STATUS(RGM_ERR_ARG, rgmi_runs_list(&json, runs, &query, NULL, 0));
    CHECK_MESSAGE(message);
    rgm_text_clear(&json);
}

static void what_cannot_be_asked_is_named(void **state)
{
    const char *near = "metric.valid.los = 1", *none = "model", *number = "step = many";
    rgmi_runs_query query = {0};
    rgmi_runs *runs;

    (void)state;
    make_some();
    runs = open_index(0);
    refuse(runs, (rgmi_runs_query){.sort = "nothing_like_it"},
           "sort: no run has a 'nothing_like_it'");
    refuse(runs, (rgmi_runs_query){.sort = "nothing_like_it"}, "there are name, state");
    refuse(runs, (rgmi_runs_query){.columns = "model,nam"}, "did you mean 'name'?");
    refuse(runs, (rgmi_runs_query){.conditions = &near, .condition_count = 1},
           "where: no run has a 'metric.valid.los'; did you mean 'metric.valid.loss'?");
    refuse(runs, (rgmi_runs_query){.conditions = &none, .condition_count = 1},
           "where: 'model' is not KEY OP VALUE");
    refuse(runs, (rgmi_runs_query){.conditions = &number, .condition_count = 1},
           "where: step is a number, 'many' is none");
    CHECK_STATUS(RGM_ERR_ARG, rgmi_runs_query_kinds(&query, "run,runs"));
    CHECK_MESSAGE("kind: 'runs' is none of all, run, trial and experiment");
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

static void every_key_is_described(void **state)
{
    rgm_json *answer;
    const rgm_json *keys;
    rgmi_runs *runs;
    int found = 0;

    (void)state;
    make_some();
    runs = open_index(0);
    answer = list(runs, &(rgmi_runs_query){.describe = true});
    keys = rgm_json_find(answer, "columns");
    for (int64_t i = 0; i < rgm_json_count(keys); i++) {
        const char *key = rgm_json_text(rgm_json_find(rgm_json_at(keys, i), "key"));
        const char *kind = rgm_json_text(rgm_json_find(rgm_json_at(keys, i), "kind"));
        int64_t count = 0;

        CHECK(rgm_json_int(&count, rgm_json_find(rgm_json_at(keys, i), "runs")));
        if (strcmp(key, "config.optimizer.rate") == 0)
            found += count == 2 && strcmp(kind, "number") == 0;
        if (strcmp(key, "config.model.type") == 0)
            found += count == 3 && strcmp(kind, "text") == 0;
        if (strcmp(key, "description") == 0)
            found += count == 1 && strcmp(kind, "text") == 0;
    }
    CHECK_INT(3, found);
    rgm_json_release(answer);
    rgmi_runs_close(runs);
    CHECK_OK(rgm_folder_remove(root));
}

/* ---- threads and memory -------------------------------------------------------------------- */

typedef struct asking {
    rgmi_runs *runs;
    atomic_bool stop;
    atomic_int asked;
} asking;

static void *ask_on(void *payload)
{
    asking *a = payload;

    while (!a->stop) {
        rgmi_runs_query query = {.limit = 5, .describe = true, .sort = "metric.valid.loss"};
        rgm_text json = {0};

        if (rgmi_runs_query_kinds(&query, "all") != RGM_OK ||
            (rgmi_runs_list(&json, a->runs, &query, NULL, 0) != RGM_OK &&
             strstr(rgm_error_message(), "no run has") == NULL))
            a->asked = -1000000;
        rgm_text_clear(&json);
        a->asked++;
    }
    return NULL;
}

/* Rows are asked for by three threads while runs come, change and go. */
static void many_may_ask_while_runs_change(void **state)
{
    asking a = {0};
    pthread_t threads[3];
    char name[20];
    int64_t found, read;
    bool walked;

    (void)state;
    make_root();
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "run-%d", i);
        make_run(name, "model: {type: gcn}\n", i, i);
    }
    a.runs = open_index(2);
    for (int i = 0; i < 3; i++)
        CHECK_INT(0, pthread_create(&threads[i], NULL, ask_on, &a));
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "run-%d", i);
        if (i % 3 == 0 && i < 30)
            CHECK_OK(rgm_folder_remove(in_root(name)));
        else if (i < 30)
            log_metrics(name, 20 + i, 1.0 / (1 + i), false);
        else
            make_run(name, "model: {type: gat}\n", i, i);
        CHECK_OK(rgmi_runs_refresh(a.runs));
        CHECK(rgmi_runs_version(a.runs, id_of_run(a.runs, "run-1")) >= 0);
    }
    for (int i = 0; i < 1000; i++) {
        CHECK_OK(rgmi_runs_refresh(a.runs));
        rgmi_runs_counts(&found, &read, &walked, a.runs);
        if (walked && found == 30 && read == 30)
            break;
        usleep(10000);
    }
    CHECK(found == 30 && read == 30);
    a.stop = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    CHECK(a.asked > 0);
    for (int i = 0; i < 4; i++)
        CHECK_OK(rgmi_runs_refresh(a.runs));
    check_where(a.runs, "metric.valid.loss < 0.1",
                "run-10 run-11 run-13 run-14 run-16 run-17 run-19 run-20 run-22 run-23 run-25 "
                "run-26 run-28 run-29");
    rgmi_runs_close(a.runs);
    CHECK_OK(rgm_folder_remove(root));
}

static rgm_status open_and_list(void)
{
    const char *const folders[] = {root};
    const char *const condition = "model ~ g";
    rgmi_runs_query query = {.text = "seed",
                             .conditions = &condition,
                             .condition_count = 1,
                             .columns = "config.optimizer.rate",
                             .describe = true,
                             .limit = 10};
    rgm_text json = {0};
    rgmi_runs *runs = NULL;
    rgm_status status = RGM_OK;

    RGM_GO(rgmi_runs_open_threads(&runs, folders, 1, 0));
    RGM_GO(rgmi_runs_query_kinds(&query, "all"));
    RGM_GO(rgmi_runs_list(&json, runs, &query, NULL, 0));
    RGM_GO(rgmi_runs_refresh(runs));
done:
    rgm_text_clear(&json);
    rgmi_runs_close(runs);
    return status;
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    make_some();
    CHECK_EVERY_OOM(open_and_list(), (void)0);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(runs_are_found_four_levels_deep_and_links_are_not_followed),
      cmocka_unit_test(a_named_folder_may_be_a_run_itself_and_ids_stay),
      cmocka_unit_test(trials_know_their_experiment), cmocka_unit_test(a_master_may_come_later),
      cmocka_unit_test(a_refresh_sees_what_is_new_changed_and_gone),
      cmocka_unit_test(a_row_has_what_its_folder_tells),
      cmocka_unit_test(what_is_damaged_or_a_link_is_told),
      cmocka_unit_test(damage_anywhere_in_a_log_is_told),
      cmocka_unit_test(a_named_folder_may_come_later), cmocka_unit_test(rows_are_sorted_and_paged),
      cmocka_unit_test(rows_are_searched_and_filtered),
      cmocka_unit_test(folders_below_the_named_one_are_searched),
      cmocka_unit_test(what_cannot_be_asked_is_named), cmocka_unit_test(every_key_is_described),
      cmocka_unit_test(many_may_ask_while_runs_change),
      cmocka_unit_test(every_failing_allocation_is_survived))
