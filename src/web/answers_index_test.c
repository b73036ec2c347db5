/* Requests about runs, as a browser sends them: the table, one run, its tags. */
#include <check.h>

#include <regimen/store.h>
#include <regimen/web.h>

#include <sys/stat.h>
#include <unistd.h>

static char root[64];

static void make_run(const char *name, const char *config)
{
    rgm_run_folder_options options = RGM_RUN_FOLDER_OPTIONS_INIT;
    const rgm_named_number loss = {"loss", 0.5};
    rgm_metrics_log *log;
    rgm_run_folder *run;
    char path[200];

    options.config = config;
    snprintf(path, sizeof path, "%s/%s", root, name);
    CHECK_OK(rgm_run_folder_open(&run, path, &options));
    rgm_run_folder_close(run);
    snprintf(path, sizeof path, "%s/%s/metrics.jsonl", root, name);
    CHECK_OK(rgm_metrics_log_open(&log, path, 0));
    CHECK_OK(rgm_metrics_log_add(log, "valid", 10, 1, &loss, 1));
    rgm_metrics_log_close(log);
}

static rgm_web *open_web(void)
{
    const char *const folders[] = {root};
    const rgm_web_options options = {
        .folders = folders, .folder_count = 1, .listen = "127.0.0.1:0"};
    rgm_web *web;

    CHECK_OK(rgm_web_open(&web, &options));
    return web;
}

/* Ask with the token; NULL, and the message in `text`, where the answer is no 200. */
static rgm_json *ask(rgm_web *web, const char *method, const char *path, const char *body,
                     char text[400])
{
    char host[64], bearer[64];
    const char *address = rgm_web_address(web) + strlen("http://");
    rgm_header headers[] = {{"Host", host}, {"Authorization", bearer}};
    rgm_response answer;
    rgm_json *json = NULL;

    snprintf(host, sizeof host, "%.*s", (int)strcspn(address, "/"), address);
    snprintf(bearer, sizeof bearer, "Bearer %s", strchr(address, '=') + 1);
    rgm_web_handle(&answer, web,
                   &(rgm_request){.method = method,
                                  .path = path,
                                  .body = body,
                                  .size = body != NULL ? (int64_t)strlen(body) : 0,
                                  .headers = headers,
                                  .header_count = 2});
    if (answer.status == 200)
        CHECK_OK(rgm_json_parse(&json, answer.body.data, answer.body.size, path));
    else
        snprintf(text, 400, "%d %s", answer.status, answer.body.data);
    rgm_response_clear(&answer);
    return json;
}

static void refuse(rgm_web *web, const char *method, const char *path, const char *body,
                   const char *message)
{
    char text[400] = "";
    rgm_json *json = ask(web, method, path, body, text);

    if (json != NULL || strstr(text, message) == NULL)
        fail_msg("%s %s is \"%s\", expected \"%s\"", method, path, text, message);
}

static void the_table_takes_what_its_query_says(void **state)
{
    char text[400];
    rgm_json *json;
    rgm_web *web;
    const rgm_json *row;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    make_run("a", "model: {type: gcn}\noptimizer: {rate: 0.5}\n");
    make_run("b", "model: {type: gat}\noptimizer: {rate: 0.25}\n");
    web = open_web();
    json = ask(web, "GET",
               "/api/v1/runs?where=config.optimizer.rate+%3E+0.3&columns=config.optimizer.rate",
               NULL, text);
    CHECK(json != NULL);
    CHECK_INT(1, rgm_json_count(rgm_json_find(json, "rows")));
    row = rgm_json_at(rgm_json_find(json, "rows"), 0);
    CHECK_TEXT("a", rgm_json_text(rgm_json_find(row, "name")));
    rgm_json_release(json);
    json = ask(web, "GET", "/api/v1/runs?sort=config.optimizer.rate&order=asc&limit=1", NULL, text);
    row = rgm_json_at(rgm_json_find(json, "rows"), 0);
    CHECK_TEXT("b", rgm_json_text(rgm_json_find(row, "name")));
    rgm_json_release(json);
    refuse(web, "GET", "/api/v1/runs?sort=modl", NULL, "400 {\"code\": \"RGM_ERR_ARG\"");
    refuse(web, "GET", "/api/v1/runs?sort=modl", NULL, "did you mean 'model'?");
    refuse(web, "GET", "/api/v1/runs?order=up", NULL, "neither asc nor desc");
    refuse(web, "GET", "/api/v1/runs?limit=1001", NULL, "limit");
    refuse(web, "GET", "/api/v1/runs?kind=trails", NULL, "none of all, run, trial");
    refuse(web, "GET", "/api/v1/runs?experiment=x", NULL, "MASTER:EXPERIMENT");
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

static void tags_are_changed_and_nothing_else(void **state)
{
    char path[64], text[400], file[200], *data;
    const rgm_json *row;
    rgm_json *json;
    rgm_web *web;
    int64_t size, whole;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    make_run("a", "model: {type: gcn}\n");
    web = open_web();
    json = ask(web, "GET", "/api/v1/runs", NULL, text);
    row = rgm_json_at(rgm_json_find(json, "rows"), 0);
    snprintf(path, sizeof path, "/api/v1/runs/%s", rgm_json_text(rgm_json_find(row, "id")));
    rgm_json_release(json);
    json = ask(web, "PATCH", path, "{\"tags\": [\"good\", \"<i>\"]}", text);
    CHECK(json != NULL);
    CHECK_TEXT("<i>", rgm_json_text(rgm_json_at(rgm_json_find(json, "tags"), 1)));
    rgm_json_release(json);
    snprintf(file, sizeof file, "%s/a/tags", root);
    CHECK_OK(rgm_file_load(&data, &size, file, 1000));
    CHECK_TEXT("good\n<i>\n", data);
    rgm_free(data);
    json = ask(web, "GET", "/api/v1/runs?where=tags+%3D+good", NULL, text);
    CHECK_INT(1, rgm_json_count(rgm_json_find(json, "rows")));
    rgm_json_release(json);
    json = ask(web, "GET", path, NULL, text);
    CHECK(rgm_json_int(&whole, rgm_json_find(rgm_json_find(json, "has"), "logs")));
    CHECK_INT(1, whole);
    CHECK_TEXT("a", rgm_json_text(rgm_json_find(json, "name")));
    CHECK(rgm_json_is_object(rgm_json_find(json, "env")));
    rgm_json_release(json);
    refuse(web, "PATCH", path, "{\"state\": \"finished\"}", "a run's 'state' cannot be changed");
    refuse(web, "PATCH", path, "{\"tags\": [\"a\\nb\"]}", "no control characters");
    refuse(web, "PATCH", path, "{\"tags\": [\"\"]}", "1 to 64 bytes");
    refuse(web, "PATCH", path, "{\"tags\": \"x\"}", "a list of at most 32 texts");
    refuse(web, "PATCH", path, NULL, "nothing is to be changed");
    refuse(web, "PATCH", path, "{}", "nothing is to be changed");
    refuse(web, "PATCH", "/api/v1/runs/0123456789abcdef", "{\"tags\": []}", "404");
    /* Somebody's file behind a link is not written. */
    CHECK_INT(0, unlink(file));
    CHECK_INT(0, symlink("/tmp/somewhere-else", file));
    refuse(web, "PATCH", path, "{\"tags\": [\"x\"]}", "RGM_ERR_IO");
    CHECK(!rgm_path_exists("/tmp/somewhere-else"));
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

/* result.json is shown as it is; a failure is a state with its reason, and no damage. */
static void what_a_run_has_come_to_is_shown(void **state)
{
    static const char result[] =
        "{\"state\":\"failed\",\"reason\":\"it broke\",\"step\":10,\"epoch\":1,"
        "\"best\":{\"metric\":\"valid.loss\",\"value\":0.5,\"step\":10}}";
    char path[64], text[400], file[200];
    const rgm_json *row;
    rgm_json *json;
    rgm_web *web;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    make_run("a", "model: {type: gcn}\ntrainer: {epochs: 5}\n");
    snprintf(file, sizeof file, "%s/a/result.json", root);
    CHECK_OK(rgm_file_save(file, result, (int64_t)strlen(result)));
    web = open_web();
    json = ask(web, "GET", "/api/v1/runs?state=failed", NULL, text);
    row = rgm_json_at(rgm_json_find(json, "rows"), 0);
    CHECK_TEXT("it broke", rgm_json_text(rgm_json_find(row, "reason")));
    snprintf(path, sizeof path, "/api/v1/runs/%s", rgm_json_text(rgm_json_find(row, "id")));
    rgm_json_release(json);
    json = ask(web, "GET", path, NULL, text);
    CHECK_TEXT("it broke", rgm_json_text(rgm_json_find(rgm_json_find(json, "result"), "reason")));
    CHECK(rgm_json_text(rgm_json_find(json, "damage")) == NULL);
    rgm_json_release(json);
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

static void runs_are_compared(void **state)
{
    char text[400], path[200], ids[2][20];
    const rgm_json *keys, *runs;
    rgm_json *json;
    rgm_web *web;
    int found = 0;

    (void)state;
    snprintf(root, sizeof root, "%s", check_folder());
    make_run("a", "model: {type: gcn, hidden: [4]}\noptimizer: {rate: 0.5}\n");
    make_run("b", "model: {type: gcn}\noptimizer: {rate: 0.25}\n");
    web = open_web();
    json = ask(web, "GET", "/api/v1/runs?sort=name&order=asc", NULL, text);
    for (int i = 0; i < 2; i++)
        snprintf(ids[i], sizeof ids[i], "%s",
                 rgm_json_text(rgm_json_find(rgm_json_at(rgm_json_find(json, "rows"), i), "id")));
    rgm_json_release(json);
    snprintf(path, sizeof path, "/api/v1/configs?runs=%s,%s", ids[0], ids[1]);
    json = ask(web, "GET", path, NULL, text);
    keys = rgm_json_find(json, "keys");
    CHECK_INT(3, rgm_json_count(keys));
    for (int64_t i = 0; i < 3; i++) {
        const rgm_json *one = rgm_json_at(keys, i), *values = rgm_json_find(one, "values");
        const char *key = rgm_json_text(rgm_json_find(one, "key"));
        bool differs = false;

        CHECK(rgm_json_bool(&differs, rgm_json_find(one, "differs")));
        if (strcmp(key, "model.type") == 0)
            found += !differs && strcmp(rgm_json_text(rgm_json_at(values, 1)), "gcn") == 0;
        if (strcmp(key, "model.hidden") == 0)
            found += differs && strcmp(rgm_json_text(rgm_json_at(values, 0)), "[4]") == 0 &&
                     rgm_json_text(rgm_json_at(values, 1)) == NULL;
        if (strcmp(key, "optimizer.rate") == 0)
            found += differs && strcmp(rgm_json_text(rgm_json_at(values, 1)), "0.25") == 0;
    }
    CHECK_INT(3, found);
    rgm_json_release(json);
    snprintf(path, sizeof path, "/api/v1/curves?runs=%s,%s&points=10", ids[1], ids[0]);
    json = ask(web, "GET", path, NULL, text);
    CHECK_TEXT("valid.loss", rgm_json_text(rgm_json_at(rgm_json_find(json, "metrics"), 0)));
    CHECK_INT(1, rgm_json_count(rgm_json_find(json, "metrics")));
    runs = rgm_json_find(json, "runs");
    CHECK_INT(2, rgm_json_count(runs));
    CHECK_TEXT("b", rgm_json_text(rgm_json_find(rgm_json_at(runs, 0), "name")));
    CHECK_INT(1, rgm_json_count(rgm_json_find(rgm_json_at(runs, 1), "curves")));
    rgm_json_release(json);
    refuse(web, "GET", "/api/v1/curves", NULL, "names none");
    refuse(web, "GET", "/api/v1/curves?runs=0123456789abcdef", NULL, "404");
    refuse(web, "GET", "/api/v1/configs?runs=../../etc", NULL, "404");
    refuse(web, "GET", "/api/v1/curves?runs=x&points=3", NULL, "points");
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(root));
}

TESTS(cmocka_unit_test(the_table_takes_what_its_query_says),
      cmocka_unit_test(what_a_run_has_come_to_is_shown),
      cmocka_unit_test(tags_are_changed_and_nothing_else), cmocka_unit_test(runs_are_compared))
