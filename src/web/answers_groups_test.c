/* Groups of runs with their figures and bands, what is done to a run, and saved views, as a browser
 * asks for them. */
#include <regimen/store.h>

#include <math.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <fcntl.h>
#include <unistd.h>

#include "web_check.h"

static char root[200];

/* A run with a loss of valid and twice that of train at steps 10, 20, .. */
static void make_run(const char *name, const char *config, int64_t points, double loss)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_metrics_log *log;
    rgm_run_folder *run;
    char path[300];

    options.config = config;
    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK_OK(rgm_run_folder_open(&run, path, &options));
    rgm_run_folder_close(run);
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", root, name);
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    for (int64_t i = 1; i <= points; i++) {
        const rgm_named_number valid = {"loss", loss / (double)i};
        const rgm_named_number train = {"loss", 2 * loss / (double)i};

        CHECK_OK(rgm_metrics_log_add(log, "train", 10 * i, i, &train, 1));
        CHECK_OK(rgm_metrics_log_add(log, "valid", 10 * i, i, &valid, 1));
    }
    rgm_metrics_log_close(log);
}

static rgm_web *open_some(void)
{
    const char *const folders[] = {root};

    snprintf(root, sizeof root, "%s", check_folder());
    make_run("gcn-seed-1", "model: {type: gcn, rate: 0.01}\nruntime: {seed: 1}\n", 4, 1);
    make_run("gcn-seed-2", "model: {type: gcn, rate: 1e-2}\nruntime: {seed: 2}\n", 4, 2);
    make_run("gcn-seed-12", "model: {type: gcn, rate: 0.01}\nruntime: {seed: 12}\n", 2, 6);
    make_run("gat-1", "model: {type: gat, rate: 0.01}\nruntime: {seed: 1}\n", 4, 10);
    make_run("plain", "description: of no model\n", 1, 1);
    return open_web(folders, 1, false);
}

static double number_at(const rgm_json *json, const char *key)
{
    double number = NAN;

    (void)rgm_json_number(&number, rgm_json_find(json, key));
    return number;
}

static double element(const rgm_json *json, const char *key, int64_t i)
{
    double number = NAN;

    (void)rgm_json_number(&number, rgm_json_at(rgm_json_find(json, key), i));
    return number;
}

/* The row of this name. */
static const rgm_json *row_of(const rgm_json *answer, const char *name)
{
    const rgm_json *rows = rgm_json_find(answer, "rows");

    for (int64_t i = 0; i < rgm_json_count(rows); i++)
        if (strcmp(rgm_json_text(rgm_json_find(rgm_json_at(rows, i), "name")), name) == 0)
            return rgm_json_at(rows, i);
    fail_msg("there is no row %s", name);
    return NULL;
}

static void repetitions_are_one_group_with_mean_and_deviation(void **state)
{
    const rgm_json *row, *loss;
    rgm_json *answer;
    char id[17], path[300];
    rgm_web *web = open_some();

    (void)state;
    answer = ask_web(web, 200, "GET",
                     "/api/v1/groups?group=seeds&columns=metric.valid.loss,config.model.rate,"
                     "config.runtime.seed&sort=name&order=asc",
                     NULL);
    CHECK_INT(3, rgm_json_count(rgm_json_find(answer, "rows")));
    CHECK_CLOSE(number_at(answer, "total"), 3, 0, 0);
    CHECK_CLOSE(number_at(answer, "runs"), 5, 0, 0);
    row = row_of(answer, "gcn"); /* 0.01 and 1e-2 are one rate */
    CHECK_CLOSE(number_at(row, "runs"), 3, 0, 0);
    loss = rgm_json_find(rgm_json_find(row, "values"), "metric.valid.loss");
    CHECK_CLOSE(number_at(loss, "mean"), (0.25 + 0.5 + 3) / 3, 1e-12, 0);
    CHECK_CLOSE(number_at(loss, "deviation"), 1.5206906325745548, 1e-9, 0);
    CHECK_CLOSE(number_at(loss, "low"), 0.25, 0, 0);
    CHECK_CLOSE(
        number_at(rgm_json_find(rgm_json_find(row, "values"), "config.runtime.seed"), "runs"), 3, 0,
        0);
    CHECK_CLOSE(number_at(rgm_json_find(row, "states"), "finished"), 3, 0, 0);
    snprintf(id, sizeof id, "%s", rgm_json_text(rgm_json_find(row, "id")));
    CHECK(row_of(answer, "gat-1") != NULL && row_of(answer, "plain") != NULL);
    rgm_json_release(answer);
    snprintf(path, sizeof path, "/api/v1/runs?group=seeds&within=%s&sort=name&order=asc", id);
    answer = ask_web(web, 200, "GET", path, NULL);
    CHECK_INT(3, rgm_json_count(rgm_json_find(answer, "rows")));
    CHECK_TEXT("gcn-seed-12",
               rgm_json_text(rgm_json_find(rgm_json_at(rgm_json_find(answer, "rows"), 2), "name")));
    rgm_json_release(answer);
    tell_web(web, 400, "GET", "/api/v1/runs?within=0123456789abcdef", NULL);
    tell_web(web, 400, "GET", "/api/v1/groups", NULL);
    tell_web(web, 400, "GET", "/api/v1/groups?group=modl", NULL);
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

static void runs_without_a_key_are_a_group_of_their_own(void **state)
{
    const rgm_json *rows;
    rgm_json *answer;
    rgm_web *web = open_some();

    (void)state;
    answer =
        ask_web(web, 200, "GET",
                "/api/v1/groups?group=config.model.type&sort=metric.valid.loss&order=desc", NULL);
    rows = rgm_json_find(answer, "rows");
    CHECK_INT(3, rgm_json_count(rows));
    CHECK_TEXT("model.type gat", rgm_json_text(rgm_json_find(rgm_json_at(rows, 0), "name")));
    CHECK_TEXT("model.type gcn", rgm_json_text(rgm_json_find(rgm_json_at(rows, 1), "name")));
    CHECK_TEXT("model.type not set", rgm_json_text(rgm_json_find(rgm_json_at(rows, 2), "name")));
    rgm_json_release(answer);
    answer = ask_web(web, 200, "GET",
                     "/api/v1/groups?group=config.model.type,config.runtime.seed&limit=2&offset=1",
                     NULL);
    CHECK_INT(2, rgm_json_count(rgm_json_find(answer, "rows")));
    CHECK_CLOSE(number_at(answer, "total"), 5, 0, 0);
    rgm_json_release(answer);
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

/* What a run came to, and when it began. */
static void say(const char *name, const char *metric, double best, int64_t started)
{
    const struct timespec times[2] = {{.tv_sec = started}, {.tv_sec = started}};
    char path[300], text[200];

    snprintf(path, sizeof path, "%s/%s/result.json", root, name);
    snprintf(text, sizeof text,
             "{\"state\":\"finished\",\"step\":40,\"epoch\":4,"
             "\"best\":{\"metric\":\"%s\",\"value\":%g,\"step\":10}}",
             metric, best);
    CHECK_OK(rgm_file_save(path, text, (int64_t)strlen(text)));
    snprintf(path, sizeof path, "%s/%s/env.json", root, name);
    CHECK_INT(0, utimensat(AT_FDCWD, path, times, 0));
}

/* Their means are the other way round: of when they began, and of bests by different metrics. */
static void groups_are_sorted_by_the_newest_and_by_one_metric(void **state)
{
    static const char *const sorts[] = {"started", "best"};
    const char *const folders[] = {root};
    const rgm_json *rows;
    rgm_json *answer;
    char path[100];
    rgm_web *web;

    (void)state;
    rgm_web_close(open_some());
    say("gcn-seed-1", "valid.accuracy", 0.8, 1000);
    say("gcn-seed-12", "valid.loss", 6, 3000);
    say("gcn-seed-2", "valid.accuracy", 0.8, 1000);
    say("gat-1", "valid.accuracy", 0.9, 2000);
    web = open_web(folders, 1, false);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path,
                 "/api/v1/groups?group=config.model.type&where=model%%20~%%20g&sort=%s&order=desc",
                 sorts[i]);
        answer = ask_web(web, 200, "GET", path, NULL);
        rows = rgm_json_find(answer, "rows");
        CHECK_INT(2, rgm_json_count(rows));
        CHECK_TEXT(i == 0 ? "model.type gcn" : "model.type gat",
                   rgm_json_text(rgm_json_find(rgm_json_at(rows, 0), "name")));
        rgm_json_release(answer);
    }
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

/* However short an answer's time is, the next one goes on, and the last one has all runs. */
static void short_answers_come_to_the_end(void **state)
{
    const rgm_json *group, *curve;
    rgm_json *answer;
    char path[400];
    bool more = true;
    rgm_web *web = open_some();

    (void)state;
    answer = ask_web(web, 200, "GET", "/api/v1/groups?group=seeds", NULL);
    snprintf(path, sizeof path, "/api/v1/bands?group=seeds&groups=%s&metric=valid.loss&within_ms=1",
             rgm_json_text(rgm_json_find(row_of(answer, "gcn"), "id")));
    rgm_json_release(answer);
    for (int asked = 0; more; asked++) {
        assert_true(asked < 1000);
        answer = ask_web(web, 200, "GET", path, NULL);
        group = rgm_json_at(rgm_json_find(answer, "groups"), 0);
        assert_true(rgm_json_bool(&more, rgm_json_find(group, "more")));
        if (!more) {
            CHECK_CLOSE(number_at(group, "read"), 3, 0, 0);
            curve = rgm_json_at(rgm_json_find(group, "curves"), 0);
            CHECK_CLOSE(element(curve, "mean", 0), (1 + 2 + 6) / 3.0, 1e-12, 0);
        }
        rgm_json_release(answer);
    }
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

/* Its runs end at 40, 40 and 20: behind 20 two are left. */
static void bands_are_what_the_runs_have_at_each_step(void **state)
{
    const rgm_json *group, *curve;
    rgm_json *answer;
    char path[400];
    rgm_web *web = open_some();

    (void)state;
    answer = ask_web(web, 200, "GET", "/api/v1/groups?group=seeds", NULL);
    snprintf(path, sizeof path,
             "/api/v1/bands?group=seeds&groups=%s&metric=valid.loss&metric=train.loss/valid.loss",
             rgm_json_text(rgm_json_find(row_of(answer, "gcn"), "id")));
    rgm_json_release(answer);
    for (int again = 0; again < 2; again++) { /* the second from what is kept */
        answer = ask_web(web, 200, "GET", path, NULL);
        group = rgm_json_at(rgm_json_find(answer, "groups"), 0);
        CHECK_CLOSE(number_at(group, "read"), 3, 0, 0);
        curve = rgm_json_at(rgm_json_find(group, "curves"), 0);
        CHECK_INT(31, rgm_json_count(rgm_json_find(curve, "steps")));
        CHECK_CLOSE(element(curve, "steps", 0), 10, 0, 0);
        CHECK_CLOSE(element(curve, "mean", 0), (1 + 2 + 6) / 3.0, 1e-12, 0);
        CHECK_CLOSE(element(curve, "deviation", 0), sqrt(7), 1e-12, 0);
        CHECK_CLOSE(element(curve, "mean", 5), (0.75 + 1.5 + 4.5) / 3, 1e-12, 0); /* step 15 */
        CHECK_CLOSE(element(curve, "low", 10), 0.5, 1e-12, 0);
        CHECK_CLOSE(element(curve, "high", 10), 3, 1e-12, 0);
        CHECK_CLOSE(element(curve, "runs", 10), 3, 0, 0);
        CHECK_CLOSE(element(curve, "runs", 11), 2, 0, 0);
        CHECK_CLOSE(element(curve, "mean", 30), 0.375, 1e-12, 0);
        curve = rgm_json_at(rgm_json_find(group, "curves"), 1);
        for (int64_t i = 0; i < 31; i++)
            CHECK_CLOSE(element(curve, "mean", i), 2, 1e-12, 0);
        rgm_json_release(answer);
    }
    snprintf(path + strlen(path), sizeof path - strlen(path), "&points=6&after=10&until=32");
    answer = ask_web(web, 200, "GET", path, NULL);
    curve =
        rgm_json_at(rgm_json_find(rgm_json_at(rgm_json_find(answer, "groups"), 0), "curves"), 0);
    CHECK_INT(3, rgm_json_count(rgm_json_find(curve, "steps")));
    CHECK_CLOSE(element(curve, "steps", 0), 20, 0, 0);
    CHECK_CLOSE(element(curve, "steps", 1), 30, 0, 0);
    CHECK_CLOSE(element(curve, "steps", 2), 32, 0, 0);
    rgm_json_release(answer);
    snprintf(path + strlen(path), sizeof path - strlen(path), "&within_ms=0");
    tell_web(web, 400, "GET", path, NULL);
    tell_web(web, 400, "GET", "/api/v1/bands?group=seeds&groups=x&metric=valid.loss", NULL);
    tell_web(web, 400, "GET", "/api/v1/bands?group=seeds", NULL);
    tell_web(web, 400, "GET", "/api/v1/bands?group=seeds&metric=valid.loss+/", NULL);
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

static void path_of(char path[64], rgm_web *web, const char *name)
{
    rgm_json *answer = ask_web(web, 200, "GET", "/api/v1/runs?archived=1", NULL);

    snprintf(path, 64, "/api/v1/runs/%s", rgm_json_text(rgm_json_find(row_of(answer, name), "id")));
    rgm_json_release(answer);
}

static int64_t count_runs(rgm_web *web, const char *path)
{
    rgm_json *answer = ask_web(web, 200, "GET", path, NULL);
    int64_t total = -1;

    CHECK(rgm_json_int(&total, rgm_json_find(answer, "total")));
    rgm_json_release(answer);
    return total;
}

static void a_run_gets_a_name_a_note_and_a_place_out_of_sight(void **state)
{
    char path[64], more[80], file[300];
    rgm_json *answer;
    rgm_web *web = open_some();

    (void)state;
    path_of(path, web, "gat-1");
    snprintf(more, sizeof more, "%s/note", path);
    tell_web(web, 200, "PATCH", path,
             "{\"title\": \"the best\", \"note\": \"# Why\\nAttention\", \"archived\": true}");
    CHECK_INT(4, count_runs(web, "/api/v1/runs"));
    CHECK_INT(5, count_runs(web, "/api/v1/runs?archived=1"));
    CHECK_INT(1, count_runs(web, "/api/v1/runs?archived=1&q=attention"));
    CHECK_INT(1, count_runs(web, "/api/v1/runs?archived=1&q=gat-1"));
    answer = ask_web(web, 200, "GET", more, NULL);
    CHECK_TEXT("# Why\nAttention", rgm_json_text(rgm_json_find(answer, "note")));
    rgm_json_release(answer);
    answer = ask_web(web, 200, "GET", path, NULL);
    CHECK_TEXT("the best", rgm_json_text(rgm_json_find(answer, "name")));
    CHECK_TEXT("gat-1", rgm_json_text(rgm_json_find(answer, "folder_name")));
    rgm_json_release(answer);
    tell_web(web, 200, "PATCH", path, "{\"title\": \"\", \"archived\": false}");
    CHECK_INT(5, count_runs(web, "/api/v1/runs"));
    CHECK(row_of(answer = ask_web(web, 200, "GET", "/api/v1/runs", NULL), "gat-1") != NULL);
    rgm_json_release(answer);
    snprintf(file, sizeof file, "%s/gat-1/archived", root);
    CHECK(!rgm_path_exists(file));
    tell_web(web, 400, "PATCH", path, "{\"title\": \"a\\nb\"}");
    tell_web(web, 400, "PATCH", path, "{\"note\": 1}");
    tell_web(web, 400, "PATCH", path, "{\"archived\": \"yes\"}");
    tell_web(web, 400, "PATCH", path, "{\"title\": \"x\", \"state\": \"y\"}"); /* all or nothing */
    tell_web(web, 400, "PATCH", path, "{\"title\": \"x\", \"archived\": 3}");
    answer = ask_web(web, 200, "GET", path, NULL);
    CHECK_TEXT("gat-1", rgm_json_text(rgm_json_find(answer, "name")));
    rgm_json_release(answer);
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

static void check_file(const char *path, const char *content)
{
    char *data;
    int64_t size;

    CHECK_OK(rgm_file_load(&data, &size, path, 1000));
    CHECK_TEXT(content, data);
    rgm_free(data);
}

/* A disk that has room for tags and title, and none for the note. */
static void a_change_that_finds_no_room_changes_nothing(void **state)
{
    char path[64], file[300], body[9000], **names;
    rgm_web *web = open_some();
    struct rlimit limit;
    int64_t count;

    (void)state;
    path_of(path, web, "gat-1");
    tell_web(web, 200, "PATCH", path, "{\"title\": \"before\", \"archived\": true}");
    snprintf(
        body, sizeof body,
        "{\"tags\": [\"late\"], \"title\": \"behind\", \"archived\": false, \"note\": \"%08000d\"}",
        0);
    CHECK_INT(0, getrlimit(RLIMIT_FSIZE, &limit));
    signal(SIGXFSZ, SIG_IGN);
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, limit.rlim_max}));
    tell_web(web, 503, "PATCH", path, body); /* 507 of a disk that is full */
    CHECK_INT(0, setrlimit(RLIMIT_FSIZE, &limit));
    signal(SIGXFSZ, SIG_DFL);
    snprintf(file, sizeof file, "%s/gat-1/title", root);
    check_file(file, "before");
    snprintf(file, sizeof file, "%s/gat-1/archived", root);
    CHECK(rgm_path_exists(file));
    snprintf(file, sizeof file, "%s/gat-1", root);
    CHECK_OK(rgm_folder_list(&names, &count, file));
    for (int64_t i = 0; i < count; i++)
        CHECK(strstr(names[i], "tags") == NULL && strstr(names[i], "note") == NULL &&
              strstr(names[i], ".tmp-") == NULL);
    rgm_names_release(names, count);
    tell_web(web, 200, "PATCH", path, body);
    snprintf(file, sizeof file, "%s/gat-1/title", root);
    check_file(file, "behind");
    snprintf(file, sizeof file, "%s/gat-1/archived", root);
    CHECK(!rgm_path_exists(file));
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

static void a_run_is_deleted_unless_it_trains(void **state)
{
    const char *folders[1];
    char path[64], stop[80], file[300], link[300];
    int fd;
    rgm_web *web = open_some();

    (void)state;
    path_of(path, web, "gat-1");
    snprintf(stop, sizeof stop, "%s/stop", path);
    tell_web(web, 409, "POST", stop, NULL); /* nobody trains there */
    snprintf(file, sizeof file, "%s/gat-1/.lock", root);
    fd = open(file, O_RDWR | O_CLOEXEC);
    CHECK_INT(0, flock(fd, LOCK_EX));
    tell_web(web, 409, "DELETE", path, NULL);
    close(fd);
    tell_web(web, 200, "DELETE", path, NULL);
    snprintf(file, sizeof file, "%s/gat-1", root);
    CHECK(!rgm_path_exists(file));
    tell_web(web, 404, "DELETE", path, NULL);
    CHECK_INT(4, count_runs(web, "/api/v1/runs"));
    rgm_web_close(web);
    /* A folder that was named itself stays. */
    snprintf(file, sizeof file, "%s/plain", root);
    folders[0] = file;
    web = open_web(folders, 1, false);
    path_of(path, web, "plain");
    tell_web(web, 409, "DELETE", path, NULL);
    CHECK(rgm_path_exists(file));
    rgm_web_close(web);
    /* So it does where it was named by a link, or from another folder. */
    snprintf(link, sizeof link, "%s/link", root);
    CHECK_INT(0, symlink("plain", link));
    folders[0] = link;
    web = open_web(folders, 1, false);
    path_of(path, web, "plain");
    tell_web(web, 409, "DELETE", path, NULL);
    CHECK(rgm_path_exists(file));
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

/* Bytes that take six each in the file: what is kept can be read again. */
static void fill_views(rgm_web *web)
{
    enum { BYTES = 8192, VIEWS = 40 };
    rgm_text query = {0}, body = {0};
    int code = 200;

    for (int c = 0; c < BYTES; c++)
        CHECK_OK(rgm_text_add(&query, "\\u0001", 6));
    for (int i = 0; i < VIEWS && code == 200; i++) {
        rgm_response out;

        body.size = 0;
        CHECK_OK(rgm_text_printf(&body, "{\"name\": \"%d\", \"query\": \"%s\"}", i, query.data));
        out = ask_with(web, "POST", "/api/v1/views", body.data, (rgm_header){0});
        code = out.status;
        rgm_response_clear(&out);
    }
    CHECK_INT(400, code);
    tell_web(web, 200, "GET", "/api/v1/views", NULL);
    rgm_text_clear(&query);
    rgm_text_clear(&body);
}

static void views_are_kept_in_the_folder_by_name(void **state)
{
    const rgm_json *views;
    rgm_json *answer;
    char file[300];
    const char *folders[] = {root};
    rgm_web *web = open_some();

    (void)state;
    answer = ask_web(web, 200, "GET", "/api/v1/views", NULL);
    CHECK_INT(0, rgm_json_count(rgm_json_find(answer, "views")));
    rgm_json_release(answer);
    tell_web(web, 200, "POST", "/api/v1/views", "{\"name\": \"a\", \"query\": \"q=1\"}");
    tell_web(web, 200, "POST", "/api/v1/views", "{\"name\": \"b\", \"query\": \"\"}");
    tell_web(web, 200, "POST", "/api/v1/views", "{\"name\": \"a\", \"query\": \"q=2\"}");
    tell_web(web, 400, "POST", "/api/v1/views", "{\"query\": \"q=2\"}");
    tell_web(web, 400, "POST", "/api/v1/views", "{\"name\": \"c\", \"query\": 2}");
    rgm_web_close(web);
    web = open_web(folders, 1, false);
    answer = ask_web(web, 200, "GET", "/api/v1/views", NULL);
    views = rgm_json_find(answer, "views");
    CHECK_INT(2, rgm_json_count(views));
    CHECK_TEXT("a", rgm_json_text(rgm_json_find(rgm_json_at(views, 1), "name")));
    CHECK_TEXT("q=2", rgm_json_text(rgm_json_find(rgm_json_at(views, 1), "query")));
    rgm_json_release(answer);
    tell_web(web, 200, "POST", "/api/v1/views", "{\"name\": \"a\"}");
    answer = ask_web(web, 200, "GET", "/api/v1/views", NULL);
    CHECK_INT(1, rgm_json_count(rgm_json_find(answer, "views")));
    rgm_json_release(answer);
    /* What is no such file is not written over. */
    fill_views(web);
    snprintf(file, sizeof file, "%s/.views.json", root);
    CHECK_OK(rgm_file_save(file, "mine\n", 5));
    tell_web(web, 500, "POST", "/api/v1/views", "{\"name\": \"a\", \"query\": \"\"}");
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(repetitions_are_one_group_with_mean_and_deviation),
      cmocka_unit_test(runs_without_a_key_are_a_group_of_their_own),
      cmocka_unit_test(bands_are_what_the_runs_have_at_each_step),
      cmocka_unit_test(groups_are_sorted_by_the_newest_and_by_one_metric),
      cmocka_unit_test(short_answers_come_to_the_end),
      cmocka_unit_test(a_run_gets_a_name_a_note_and_a_place_out_of_sight),
      cmocka_unit_test(a_change_that_finds_no_room_changes_nothing),
      cmocka_unit_test(a_run_is_deleted_unless_it_trains),
      cmocka_unit_test(views_are_kept_in_the_folder_by_name))
