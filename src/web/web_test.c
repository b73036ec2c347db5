/*
 * The page's requests without a socket: files and their tags, methods, a master's requests, streams
 * of events.
 */
#include "index.h"
#include "web_check.h"

#include <regimen/master.h>
#include <regimen/search_rows.h>
#include <time.h>
#include <unistd.h>

static char folder[64];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/regimen-web-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

/* ---- files ---------------------------------------------------------------------------------- */

static void files_have_types_and_tags(void **state)
{
    static const struct {
        const char *path, *type;
    } cases[] = {
        {"/", "text/html; charset=utf-8"},
        {"/runs/0123456789abcdef?tab=logs", "text/html; charset=utf-8"},
        {"/experiments/1/2", "text/html; charset=utf-8"},
        {"/static/page.js", "text/javascript; charset=utf-8"},
        {"/static/style.css", "text/css; charset=utf-8"},
        {"/static/icon.svg", "image/svg+xml"},
        {"/static/d3.min.js", "text/javascript; charset=utf-8"},
        {"/static/LICENSES.txt", "text/plain; charset=utf-8"},
    };
    rgm_web *web = open_web(NULL, 0, false);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_response out = ask_with(web, "GET", cases[i].path, NULL, (rgm_header){0});
        char tag[64];

        CHECK_INT(200, out.status);
        CHECK_TEXT(cases[i].type, out.type);
        CHECK(out.constant != NULL && out.constant_size > 100);
        CHECK_TEXT("no-cache", answer_header(&out, "Cache-Control"));
        snprintf(tag, sizeof tag, "%s", answer_header(&out, "ETag"));
        CHECK(strlen(tag) == 34 && tag[0] == '"');
        rgm_response_clear(&out);
        out = ask_with(web, "GET", cases[i].path, NULL, (rgm_header){"If-None-Match", tag});
        CHECK(out.status == 304 && out.constant == NULL && out.body.size == 0);
        rgm_response_clear(&out);
        out = ask_with(web, "HEAD", cases[i].path, NULL,
                       (rgm_header){"If-None-Match", "\"00000000000000000000000000000000\""});
        CHECK_INT(200, out.status);
        rgm_response_clear(&out);
    }
    tell_web(web, 404, "GET", "/static/none.js", NULL);
    tell_web(web, 404, "GET", "/static/../web.c", NULL);
    rgm_web_close(web);
}

/* Whether the frame asks for the module at once. */
static bool asks_for(const rgm_response *frame, const char *module)
{
    char line[96];

    snprintf(line, sizeof line, "<link rel=\"modulepreload\" href=\"/static/%s\">", module);
    return memmem(frame->constant, (size_t)frame->constant_size, line, strlen(line)) != NULL;
}

static void a_page_asks_for_its_own_modules(void **state)
{
    static const char *const all[] = {"runs.js", "compare.js", "run.js", "experiment.js",
                                      "cluster.js"};
    static const struct {
        const char *path, *own, *with;
        bool pictured;
    } cases[] = {
        {"/", "runs.js", "filters.js", true},
        {"/compare?runs=0123456789abcdef", "compare.js", "compare_curves.js", true},
        {"/runs/0123456789abcdef", "run.js", "run_curves.js", true},
        {"/experiments/1/2", "experiment.js", "search_charts.js", true},
        {"/cluster", "cluster.js", "table.js", false},
    };
    rgm_web *web = open_web(NULL, 0, false);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        rgm_response out = ask_with(web, "GET", cases[i].path, NULL, (rgm_header){0});
        const char *text = (const char *)out.constant;
        size_t size = (size_t)out.constant_size;

        CHECK(memmem(text, size, "/static/page.js", 15) != NULL);
        CHECK(memmem(text, size, "<!--", 4) == NULL); /* where the modules stand */
        CHECK((memmem(text, size, "d3.min.js", 9) != NULL) == cases[i].pictured);
        CHECK(asks_for(&out, "html.js") && asks_for(&out, cases[i].with));
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            CHECK(asks_for(&out, all[k]) == (strcmp(all[k], cases[i].own) == 0));
        rgm_response_clear(&out);
    }
    rgm_web_close(web);
}

/* Bytes as they are in the file: d3 has every kind of byte that is escaped somewhere. */
static void files_are_embedded_whole(void **state)
{
    rgm_web *web = open_web(NULL, 0, false);
    rgm_response out = ask_with(web, "GET", "/static/d3.min.js", NULL, (rgm_header){0});
    rgm_mapped_file file;

    (void)state;
    CHECK_OK(rgm_file_map(&file, "src/web/d3/d3.min.js"));
    CHECK_INT(file.size, out.constant_size);
    CHECK(memcmp(file.data, out.constant, (size_t)file.size) == 0);
    rgm_file_unmap(&file);
    rgm_response_clear(&out);
    rgm_web_close(web);
}

static void other_methods_are_refused_with_what_there_is(void **state)
{
    static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "TRACE", "HACK"};
    rgm_web *web = open_web(NULL, 0, false);

    (void)state;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        rgm_response out = ask_with(web, methods[i], "/api/v1/page", NULL, (rgm_header){0});

        CHECK_INT(405, out.status);
        CHECK_TEXT("GET, HEAD", answer_header(&out, "Allow"));
        rgm_response_clear(&out);
    }
    tell_web(web, 404, "GET", "/api/v1/pages", NULL);
    tell_web(web, 400, "GET", "/api/v1/page?a=%zz", NULL);
    tell_web(web, 400, "GET", "/api/v1/page", "[1]");
    tell_web(web, 400, "GET", "/api/v1/page", "{\"a\": 1, \"a\": 1}");
    rgm_web_close(web);
}

static void every_request_is_in_the_list(void **state)
{
    rgm_web *web = open_web(NULL, 0, false);
    rgm_json *list = ask_web(web, 200, "GET", "/api/v1/requests", NULL);
    const rgm_json *rows = rgm_json_find(list, "requests");

    (void)state;
    CHECK(rgm_json_count(rows) >= 10);
    for (int64_t i = 0; i < rgm_json_count(rows); i++) {
        CHECK(rgm_json_text(rgm_json_find(rgm_json_at(rows, i), "path"))[0] == '/');
        CHECK(rgm_json_text(rgm_json_find(rgm_json_at(rows, i), "help"))[0] != '\0');
    }
    rgm_json_release(list);
    rgm_web_close(web);
}

static void what_cannot_be_served_is_told(void **state)
{
    rgm_web *web;

    (void)state;
    CHECK_STATUS(RGM_ERR_ARG, rgm_web_open(&web, &(rgm_web_options){.listen = "0.0.0.0:0"}));
    CHECK_MESSAGE("--allow-remote");
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_web_open(&web, &(rgm_web_options){.listen = "127.0.0.1:0",
                                                       .folders = (const char *[]){"/none/such"},
                                                       .folder_count = 1}));
    CHECK_MESSAGE("/none/such");
    CHECK_OK(rgm_web_open(&web, &(rgm_web_options){.listen = "0.0.0.0:0", .allow_remote = true}));
    CHECK(web->gate.read_only);
    rgm_web_close(web);
    CHECK_OK(rgm_web_open(
        &web,
        &(rgm_web_options){.listen = "0.0.0.0:0", .allow_remote = true, .allow_control = true}));
    CHECK(!web->gate.read_only);
    rgm_web_close(web);
}

/* ---- masters -------------------------------------------------------------------------------- */

static const char experiment[] =
    "{\"config\": \"data: {path: data/digits, train: train.csv.gz, batch_size: 64}\\n"
    "task: {type: classification, num_classes: 10}\\n"
    "model: {type: mlp, hidden: [16]}\\n"
    "optimizer: {type: adam, learning_rate: 1e-3}\\n"
    "trainer: {epochs: 1}\\n"
    "hyperparameters: {optimizer.learning_rate: {type: log, base: 10, minval: -4, maxval: -1}}\\n"
    "searcher: {name: random, metric: valid.loss, max_trials: 4, max_steps: 3}\\n\"}";

static void make_master(void)
{
    rgm_master *master;

    CHECK_OK(rgm_master_open(&master, &(rgm_master_options){.folder = folder}));
    rgm_master_close(master);
}

static void a_masters_requests_are_handed_on(void **state)
{
    rgm_web *web;
    rgm_json *json;
    const rgm_json *row;
    double started = 0;
    int64_t trials = 0;

    (void)state;
    make_master();
    web = open_web((const char *[]){folder}, 1, false);
    json = ask_web(web, 200, "GET", "/api/v1/page", NULL);
    CHECK_INT(1, rgm_json_count(rgm_json_find(json, "masters")));
    rgm_json_release(json);
    tell_web(web, 201, "POST", "/api/v1/masters/1/experiments", experiment);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/experiments/1", NULL);
    CHECK_TEXT("ACTIVE", rgm_json_text(rgm_json_find(json, "state")));
    rgm_json_release(json);
    tell_web(web, 200, "POST", "/api/v1/masters/1/experiments/1/pause", "{}");
    /* At once, though the answer from before is younger than half a second. */
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/experiments/1", NULL);
    CHECK_TEXT("PAUSED", rgm_json_text(rgm_json_find(json, "state")));
    rgm_json_release(json);
    /* It is a row of the table too, under the words of runs. */
    tell_web(web, 200, "GET", "/api/v1/runs", NULL);
    json = ask_web(web, 200, "GET", "/api/v1/runs?state=paused&q=digits", NULL);
    CHECK_INT(0, rgm_json_count(rgm_json_find(json, "rows")));
    rgm_json_release(json);
    json = ask_web(web, 200, "GET", "/api/v1/runs?state=paused&kind=experiment", NULL);
    CHECK_INT(1, rgm_json_count(rgm_json_find(json, "rows")));
    row = rgm_json_at(rgm_json_find(json, "rows"), 0);
    CHECK_TEXT("1:1", rgm_json_text(rgm_json_find(row, "id")));
    CHECK(rgm_json_int(&trials, rgm_json_find(row, "trials")) && trials == 4);
    CHECK(rgm_json_number(&started, rgm_json_find(row, "started")));
    CHECK(started > rgm_wall_time() - 3600 && started <= rgm_wall_time() + 1);
    rgm_json_release(json);
    json =
        ask_web(web, 200, "GET", "/api/v1/masters/1/experiments/1/trials?limit=2&offset=1", NULL);
    CHECK_INT(2, rgm_json_count(rgm_json_find(json, "trials")));
    rgm_json_release(json);
    tell_web(web, 404, "GET", "/api/v1/masters/1/experiments/77", NULL);
    tell_web(web, 404, "GET", "/api/v1/masters/2/experiments", NULL);
    tell_web(web, 404, "GET", "/api/v1/masters/1/", NULL);
    tell_web(web, 405, "PUT", "/api/v1/masters/1/experiments", NULL);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/experiments/1/importance", NULL);
    CHECK_INT(0, rgm_json_count(rgm_json_find(json, "importance"))); /* nothing is validated yet */
    rgm_json_release(json);
    tell_web(web, 404, "GET", "/api/v1/masters/1/experiments/77/importance", NULL);
    rgm_web_close(web);
}

static void a_master_that_does_not_answer_is_told(void **state)
{
    static const char expected[] = "the searches of http://127.0.0.1:1 are missing: ";
    bool complete = true;
    rgm_web *web;
    rgm_json *json;
    const char *missing;

    (void)state;
    CHECK_OK(rgm_web_open(
        &web, &(rgm_web_options){.listen = "127.0.0.1:0", .master = "http://127.0.0.1:1"}));
    json = ask_web(web, 200, "GET", "/api/v1/runs", NULL);
    missing = rgm_json_text(rgm_json_find(json, "missing"));
    CHECK(missing != NULL && strncmp(missing, expected, sizeof expected - 1) == 0);
    CHECK(rgm_json_bool(&complete, rgm_json_find(json, "complete")) && !complete);
    rgm_json_release(json);
    json = ask_web(web, 200, "GET", "/api/v1/runs?kind=run", NULL); /* of which none is missing */
    CHECK(rgm_json_text(rgm_json_find(json, "missing")) == NULL);
    CHECK(rgm_json_bool(&complete, rgm_json_find(json, "complete")) && complete);
    rgm_json_release(json);
    rgm_web_close(web);
}

static rgm_status take_any(const char *name, const rgm_yaml *document, const void *payload)
{
    (void)name;
    (void)document;
    (void)payload;
    return RGM_OK;
}

/* Its searcher is a program, which runs where the master is: what it found is shown all the same.
 */
static void a_search_by_a_program_is_shown(void **state)
{
    static const char config[] =
        "hyperparameters: {optimizer.learning_rate: {type: double, minval: 0, maxval: 1}}\n"
        "searcher: {name: program, metric: valid.loss, max_length: 3, command: [sh, -c, 'while "
        "read -r line; do echo \"{\\\"over\\\": true}\"; done']}\n";
    const rgm_search_subject subject = {.sections = (const char *const[]){"optimizer", NULL},
                                        .check = take_any,
                                        .rows = &(rgm_search_rows){.objects = true}};
    rgm_text body = {0};
    rgm_master *master;
    rgm_response r;
    rgm_json *json;
    rgm_web *web;
    int64_t ranks;

    (void)state;
    CHECK_OK(rgm_text_printf(&body, "{\"config\": "));
    CHECK_OK(rgm_json_print_text(&body, config));
    CHECK_OK(rgm_text_printf(&body, "}"));
    CHECK_OK(
        rgm_master_open(&master, &(rgm_master_options){.folder = folder, .subject = &subject}));
    rgm_master_handle(
        &r, master,
        &(rgm_request){
            .method = "POST", .path = "/api/v1/experiments", .body = body.data, .size = body.size});
    if (r.status != 201)
        fail_msg("%s", r.body.data);
    rgm_response_clear(&r);
    rgm_text_clear(&body);
    rgm_master_close(master);
    web = open_web((const char *[]){folder}, 1, false);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/experiments/1", NULL);
    CHECK(rgm_json_int(&ranks, rgm_json_find(json, "ranks")));
    CHECK_INT(1, ranks);
    rgm_json_release(json);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/experiments/1/importance", NULL);
    CHECK_TEXT("valid.loss", rgm_json_text(rgm_json_find(json, "metric")));
    rgm_json_release(json);
    rgm_web_close(web);
}

static void what_is_for_trials_or_leads_elsewhere_is_refused(void **state)
{
    static const struct {
        const char *method, *path;
        int status;
    } cases[] = {
        {"POST", "/api/v1/masters/1/trials/1/workload", 403},
        {"POST", "/api/v1/masters/1/trials/1/failed", 403},
        {"POST", "/api/v1/masters/1/trials/1/alive", 403},
        {"GET", "/api/v1/masters/1/trials/1/run?run=0", 403},
        {"GET", "/api/v1/masters/1/../../../etc/passwd", 404},
        {"GET", "/api/v1/masters/1/trials/%31/run", 404},
        {"GET", "/api/v1/masters/1/trials//1/run", 404},
        {"GET", "/api/v1/masters/1/experiments@evil.example/", 404},
        {"GET", "/api/v1/masters/1/experiments?a=1#b", 404},
        {"GET", "/api/v1/masters/1/experiments?a=\r\nX: y", 404},
        {"GET", "/api/v1/masters/0/experiments", 404},
        {"GET", "/api/v1/masters/01/experiments", 404},
        {"GET", "/api/v1/masters/1000/experiments", 404},
    };
    rgm_web *web;

    (void)state;
    make_master();
    web = open_web((const char *[]){folder}, 1, false);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        tell_web(web, cases[i].status, cases[i].method, cases[i].path, NULL);
    rgm_web_close(web);
    web = open_web((const char *[]){folder}, 1, true);
    tell_web(web, 403, "POST", "/api/v1/masters/1/experiments", experiment);
    tell_web(web, 200, "GET", "/api/v1/masters/1/experiments", NULL);
    rgm_web_close(web);
}

/* As to a token whose scope is read. */
static void a_read_only_page_shows_no_secrets(void **state)
{
    static const char *const paths[] = {
        "/api/v1/masters/1/webhooks", "/api/v1/masters/1/webhooks?limit=3",
        "/api/v1/masters/1/webhooks/1/deliveries", "/api/v1/masters/1/tokens"};

    (void)state;
    make_master();
    for (int read_only = 0; read_only < 2; read_only++) {
        rgm_web *web = open_web((const char *[]){folder}, 1, read_only == 1);

        if (read_only == 0)
            tell_web(web, 201, "POST", "/api/v1/masters/1/webhooks",
                     "{\"url\": \"https://chat.example/hooks/abc\"}");
        for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
            tell_web(web, read_only == 1 ? 403 : 200, "GET", paths[i], NULL);
        tell_web(web, 200, "GET", "/api/v1/masters/1/models", NULL);
        rgm_web_close(web);
    }
}

/* Without a master at work an answer holds until the database changes, and no longer. */
static void an_idle_folder_is_not_opened_again(void **state)
{
    const struct timespec pause = {.tv_nsec = 600000000};
    rgm_client *client;
    rgm_web *web;
    rgm_json *json;
    char path[128];
    int64_t total;

    (void)state;
    make_master();
    web = open_web((const char *[]){folder}, 1, false);
    tell_web(web, 200, "GET", "/api/v1/masters/1/experiments", NULL);
    snprintf(path, sizeof path, "%s/master.lock", folder);
    CHECK_INT(0, unlink(path)); /* made anew by whoever opens the folder */
    nanosleep(&pause, NULL);
    tell_web(web, 200, "GET", "/api/v1/masters/1/experiments", NULL);
    CHECK(!rgm_path_exists(path));
    CHECK_OK(rgm_client_open(&client, folder, NULL));
    CHECK_OK(rgm_client_call(NULL, client, "POST", "/api/v1/experiments", experiment));
    rgm_client_close(client);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/experiments", NULL);
    CHECK(rgm_json_int(&total, rgm_json_find(json, "total")));
    CHECK_INT(1, total);
    rgm_json_release(json);
    rgm_web_close(web);
}

/* A log grows, and a model is registered, without the database. */
static void files_of_an_idle_folder_are_read_again(void **state)
{
    const struct timespec pause = {.tv_nsec = 600000000};
    rgm_web *web;
    rgm_json *json;
    char path[128];

    (void)state;
    make_master();
    web = open_web((const char *[]){folder}, 1, false);
    tell_web(web, 201, "POST", "/api/v1/masters/1/experiments", experiment);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/trials/1/logs", NULL);
    CHECK_TEXT("", rgm_json_text(rgm_json_find(json, "text")));
    rgm_json_release(json);
    snprintf(path, sizeof path, "%s/1/1", folder);
    CHECK_OK(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/1/1/trial.log", folder);
    CHECK_OK(rgm_file_save(path, "a line\n", 7));
    nanosleep(&pause, NULL);
    json = ask_web(web, 200, "GET", "/api/v1/masters/1/trials/1/logs", NULL);
    CHECK_TEXT("a line\n", rgm_json_text(rgm_json_find(json, "text")));
    rgm_json_release(json);
    rgm_web_close(web);
}

/* ---- events --------------------------------------------------------------------------------- */

/* Until the stream says `wanted`, at most 5 seconds. */
static bool hears(rgm_response *out, const char *wanted)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    char text[8192] = "";
    int64_t size = 0;

    for (int i = 0; i < 250; i++) {
        if (out->stream.is_ready(out->stream.payload))
            size +=
                out->stream.read(text + size, (int64_t)sizeof text - 1 - size, out->stream.payload);
        text[size] = 0;
        if (strstr(text, wanted) != NULL)
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void a_listener_hears_what_changes(void **state)
{
    static const char path[] = "/api/v1/events?topics=runs,queue:1,experiment:1:1,queue:1";
    rgm_response out;
    rgm_web *web;

    (void)state;
    make_master();
    web = open_web((const char *[]){folder}, 1, false);
    out = ask_with(web, "GET", path, NULL, (rgm_header){0});
    CHECK(out.status == 200 && out.stream.payload != NULL);
    CHECK(hears(&out, "retry: 2000\n\n"));
    CHECK(hears(&out, "{\"topic\": \"experiment:1:1\", \"version\": 1}"));
    tell_web(web, 201, "POST", "/api/v1/masters/1/experiments", experiment);
    CHECK(hears(&out, "event: changed\ndata: {\"topic\": \"experiment:1:1\", \"version\": 2}\n\n"));
    tell_web(web, 200, "POST", "/api/v1/masters/1/experiments/1/pause", NULL);
    CHECK(hears(&out, "{\"topic\": \"experiment:1:1\", \"version\": 3}"));
    rgm_response_clear(&out);
    rgm_web_close(web);
}

/* Each has notices. Of those beyond the numbers it is told that their searches are missing, and
 * their trials stay trials. */
static void many_masters_are_served_or_told(void **state)
{
    enum { MASTERS = RGMI_MOST_MASTERS + 2 };
    rgm_text topics = {0};
    const rgm_json *row;
    char path[256];
    rgm_response out;
    rgm_json *json;
    rgm_web *web;

    (void)state;
    for (int i = 0; i < MASTERS; i++) {
        snprintf(path, sizeof path, "%s/m%02d/1/3", folder, i);
        CHECK_OK(rgm_folder_make(path));
        snprintf(path, sizeof path, "%s/m%02d/master.db", folder, i);
        CHECK_OK(rgm_file_save(path, "no database", 11));
    }
    snprintf(path, sizeof path, "%s/m%02d/1/3/metrics.jsonl", folder, MASTERS - 1);
    CHECK_OK(rgm_file_save(path, "", 0));
    web = open_web((const char *[]){folder}, 1, false);
    json = ask_web(web, 200, "GET", "/api/v1/runs?kind=experiment", NULL);
    CHECK(strstr(rgm_json_text(rgm_json_find(json, "missing")),
                 "and those of 61 more masters; there are more than 64 folders of masters") !=
          NULL);
    rgm_json_release(json);
    json = ask_web(web, 200, "GET", "/api/v1/runs?kind=all", NULL);
    row = rgm_json_at(rgm_json_find(json, "rows"), 0);
    CHECK_TEXT("trial", rgm_json_text(rgm_json_find(row, "kind")));
    snprintf(path, sizeof path, "/api/v1/runs/%s", rgm_json_text(rgm_json_find(row, "id")));
    rgm_json_release(json);
    tell_web(web, 409, "DELETE", path, NULL);
    CHECK_OK(rgm_text_printf(&topics, "/api/v1/events?topics="));
    for (int i = 1; i <= RGMI_MOST_MASTERS; i++)
        CHECK_OK(rgm_text_printf(&topics, "%squeue:%d", i > 1 ? "," : "", i));
    out = ask_with(web, "GET", topics.data, NULL, (rgm_header){0});
    CHECK_INT(200, out.status);
    CHECK(hears(&out, "{\"topic\": \"queue:1\", ")); /* which is looked at last */
    rgm_response_clear(&out);
    rgm_text_clear(&topics);
    rgm_web_close(web);
}

static void topics_are_held_to_their_form(void **state)
{
    static const char *const bad[] = {"",
                                      "x",
                                      "run:1",
                                      "run:0123456789ABCDEF",
                                      "experiment:1",
                                      "experiment:1:0",
                                      "experiment:1/1",
                                      "queue:a",
                                      "queue:-1",
                                      "runs,,runs",
                                      "runs:",
                                      "experiment:1:1:1",
                                      "queue:11111111111111111111111111111111111111111111111"};
    rgm_web *web = open_web(NULL, 0, false);
    rgm_text many = {0};
    char path[256];

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(path, sizeof path, "/api/v1/events?topics=%s", bad[i]);
        tell_web(web, 400, "GET", path, NULL);
    }
    tell_web(web, 400, "GET", "/api/v1/events", NULL);
    CHECK_OK(rgm_text_printf(&many, "/api/v1/events?topics=runs"));
    for (int i = 1; i <= 128; i++)
        CHECK_OK(rgm_text_printf(&many, ",queue:%d", i));
    tell_web(web, 400, "GET", many.data, NULL);
    rgm_text_clear(&many);
    rgm_web_close(web);
}

TESTS(cmocka_unit_test(files_have_types_and_tags),
      cmocka_unit_test(a_page_asks_for_its_own_modules), cmocka_unit_test(files_are_embedded_whole),
      cmocka_unit_test(other_methods_are_refused_with_what_there_is),
      cmocka_unit_test(every_request_is_in_the_list),
      cmocka_unit_test(what_cannot_be_served_is_told),
      cmocka_unit_test_setup_teardown(a_masters_requests_are_handed_on, setup, teardown),
      cmocka_unit_test(a_master_that_does_not_answer_is_told),
      cmocka_unit_test_setup_teardown(a_search_by_a_program_is_shown, setup, teardown),
      cmocka_unit_test_setup_teardown(what_is_for_trials_or_leads_elsewhere_is_refused, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(a_read_only_page_shows_no_secrets, setup, teardown),
      cmocka_unit_test_setup_teardown(an_idle_folder_is_not_opened_again, setup, teardown),
      cmocka_unit_test_setup_teardown(files_of_an_idle_folder_are_read_again, setup, teardown),
      cmocka_unit_test_setup_teardown(a_listener_hears_what_changes, setup, teardown),
      cmocka_unit_test_setup_teardown(many_masters_are_served_or_told, setup, teardown),
      cmocka_unit_test(topics_are_held_to_their_form))
