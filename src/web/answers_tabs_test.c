/* Requests about one run, as a browser sends them: every one of a run that keeps nothing, of one
 * that keeps something, and of none. */
#include <regimen/store.h>
#include <regimen/web.h>

#include "tab_check.h"

static const char *const parts[] = {"config",
                                    "logs",
                                    "checkpoints",
                                    "exports",
                                    "histograms",
                                    "samples",
                                    "confusion",
                                    "scores",
                                    "explanations",
                                    "explanations?name=x",
                                    "system",
                                    "model",
                                    "logs?tail=5",
                                    "logs?q=x",
                                    "logs?file=trial",
                                    "histograms?tag=w",
                                    "confusion?split=test&step=3"};
enum { PARTS = sizeof parts / sizeof *parts };

static void send(rgm_response *answer, rgm_web *web, const char *path)
{
    const char *address = rgm_web_address(web) + strlen("http://");
    char host[64], bearer[64];
    const rgm_header headers[] = {{"Host", host}, {"Authorization", bearer}};

    snprintf(host, sizeof host, "%.*s", (int)strcspn(address, "/"), address);
    snprintf(bearer, sizeof bearer, "Bearer %s", strchr(address, '=') + 1);
    rgm_web_handle(
        answer, web,
        &(rgm_request){.method = "GET", .path = path, .headers = headers, .header_count = 2});
}

/* The answer, which must be JSON, and have that status. */
static rgm_json *ask(rgm_web *web, int status, const char *id, const char *part)
{
    rgm_response answer;
    rgm_json *json;
    char path[512];

    snprintf(path, sizeof path, "/api/v1/runs%s%s%s%s", *id != '\0' ? "/" : "", id,
             *part != '\0' ? "/" : "", part);
    send(&answer, web, path);
    if (answer.status != status)
        fail_msg("%s is %d: %s", path, answer.status, answer.body.data);
    CHECK_OK(rgm_json_parse(&json, answer.body.data, answer.body.size, path));
    rgm_response_clear(&answer);
    return json;
}

/* A folder of one run, a page over it, and the run's id. */
static rgm_web *open_web(char id[17], const char *folder, const char *config)
{
    const rgm_web_options options = {
        .folders = &folder, .folder_count = 1, .listen = "127.0.0.1:0"};
    rgm_run_folder_options run_options = RGM_RUN_FOLDER_OPTIONS_INIT;
    rgm_run_folder *run;
    rgm_json *json;
    rgm_web *web;
    char path[512];

    run_options.config = config;
    snprintf(path, sizeof path, "%s/run", folder);
    CHECK_OK(rgm_run_folder_open(&run, path, &run_options));
    rgm_run_folder_close(run);
    CHECK_OK(rgm_web_open(&web, &options));
    json = ask(web, 200, "", "");
    CHECK_INT(1, count_of(json, "rows"));
    snprintf(id, 17, "%s", text_of(item_of(json, "rows", 0), "id"));
    rgm_json_release(json);
    return web;
}

static void every_part_of_a_run_is_told(void **state)
{
    const char *folder = check_folder();
    char id[17], wrong[17] = "0123456789abcdef";
    rgm_json *json;
    rgm_web *web = open_web(id, folder, "model: {type: gcn}\n");

    (void)state;
    for (int i = 0; i < PARTS; i++) {
        json = ask(web, 200, id, parts[i]);
        CHECK(rgm_json_is_object(json));
        CHECK(text_of(json, "damage") == NULL);
        rgm_json_release(json);
        rgm_json_release(ask(web, 404, wrong, parts[i]));
    }
    json = ask(web, 200, id, "config");
    CHECK_TEXT("model.type", text_of(item_of(json, "values", 0), "key"));
    rgm_json_release(json);
    keep(folder, "run/log.txt", "one\ntwo <b>\nthree\n");
    json = ask(web, 200, id, "logs?offset=4&limit=3");
    CHECK_TEXT("two", text_of(json, "text"));
    rgm_json_release(json);
    json = ask(web, 200, id, "logs?q=%3CB%3E");
    CHECK_TEXT("two <b>", text_of(item_of(json, "lines", 0), "line"));
    rgm_json_release(json);
    rgm_json_release(ask(web, 400, id, "logs?limit=2000000"));
    rgm_json_release(ask(web, 400, id, "logs?offset=-1"));
    rgm_json_release(ask(web, 400, id, "logs?tail=0"));
    rgm_json_release(ask(web, 400, id, "logs?file=..%2f..%2fetc%2fpasswd"));
    rgm_json_release(ask(web, 400, id, "confusion?step=x"));
    rgm_json_release(ask(web, 404, id, "exports/7"));
    rgm_json_release(ask(web, 404, id, "exports/007"));
    rgm_json_release(ask(web, 404, id, "exports/..%2fconfig.yaml"));
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(folder));
}

static void an_export_is_sent_as_a_file_to_be_saved(void **state)
{
    const char *folder = check_folder();
    char id[17], path[128], data[16];
    rgm_response answer;
    rgm_json *json;
    rgm_web *web = open_web(id, folder, "a: 1\n");
    bool attached = false;

    (void)state;
    keep(folder, "run/export/x\r\ny\".html", "<script>");
    json = ask(web, 200, id, "exports");
    CHECK_INT(1, count_of(json, "exports"));
    snprintf(path, sizeof path, "/api/v1/runs/%s/exports/%lld", id,
             (long long)int_of(item_of(json, "exports", 0), "number"));
    rgm_json_release(json);
    send(&answer, web, path);
    CHECK_INT(200, answer.status);
    CHECK_TEXT("application/octet-stream", answer.type);
    for (int64_t i = 0; i < answer.header_count; i++)
        if (strcmp(answer.headers[i].name, "Content-Disposition") == 0) {
            CHECK_TEXT("attachment; filename=\"x__y_.html\"", answer.headers[i].value);
            attached = true;
        }
    CHECK(attached);
    CHECK_INT(8, answer.fd_size);
    CHECK_INT(8, pread(answer.fd, data, sizeof data, 0));
    CHECK(memcmp(data, "<script>", 8) == 0);
    rgm_response_clear(&answer);
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(folder));
}

/* The page has a tab of them, wherever the configuration puts them. */
static void exports_in_named_folders_count(void **state)
{
    const char *folder = check_folder();
    char config[1024], id[17];
    rgm_json *json;
    rgm_web *web;

    (void)state;
    snprintf(config, sizeof config, "trainer: {exports: {dirs: [\"%s/run/served\"]}}\n", folder);
    web = open_web(id, folder, config);
    keep(folder, "run/export/next.partial-77/model.onnx", "half");
    for (int exports = 0; exports < 2; exports++) {
        json = ask(web, 200, id, "");
        CHECK_INT(exports, int_of(rgm_json_find(json, "has"), "exports"));
        rgm_json_release(json);
        json = ask(web, 200, id, "exports");
        CHECK_INT(exports, count_of(json, "exports"));
        rgm_json_release(json);
        keep(folder, "run/served/1/model.onnx", "onnx");
    }
    rgm_web_close(web);
    CHECK_OK(rgm_folder_remove(folder));
}

TESTS(cmocka_unit_test(every_part_of_a_run_is_told),
      cmocka_unit_test(an_export_is_sent_as_a_file_to_be_saved),
      cmocka_unit_test(exports_in_named_folders_count))
