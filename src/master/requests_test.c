/*
 * Requests as strangers make them: hostile names and paths, bodies that are none, large files; and
 * the same over the socket, over TCP with its token, from many clients at once.
 */
#include <arpa/inet.h>
#include "master_check.h"
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[256];

static int setup(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "%s", check_folder());
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    return rgm_folder_remove(folder) == RGM_OK ? 0 : -1;
}

#define RANDOM_4 "{name: random, metric: valid.loss, max_trials: 4, max_steps: 3}"

/* ---- what cannot be ------------------------------------------------------------------------- */

static void every_request_is_in_the_list_and_explained(void **state)
{
    rgm_master *master = open_master(folder, 1);
    rgm_json *list = ask(master, 200, "GET", "/api/v1/requests", NULL);
    int64_t count = rgm_json_count(member(list, "requests"));

    (void)state;
    CHECK(count >= 30);
    for (int64_t i = 0; i < count; i++) {
        const rgm_request_type *type = rgm_request_type_at(i);

        CHECK(strncmp(type->path, "/api/v1/", 8) == 0 && type->help[0] != 0);
        for (int64_t j = 0; j < i; j++)
            CHECK(strcmp(rgm_request_type_at(j)->path, type->path) != 0 ||
                  strcmp(rgm_request_type_at(j)->method, type->method) != 0);
    }
    CHECK(rgm_request_type_at(count) == NULL);
    rgm_json_release(list);
    rgm_master_close(master);
}

static void hostile_paths_lead_nowhere(void **state)
{
    static const char *const paths[] = {
        "/",
        "/api/v1/trials/../../../etc/passwd",
        "/api/v1/trials/1/logs/../../../../etc/passwd",
        "/api/v1/trials/%2e%2e%2f/logs",
        "/api/v1/trials/-1",
        "/api/v1/trials/0",
        "/api/v1/trials/01",
        "/api/v1/trials/1e3",
        "/api/v1/trials/99999999999999999999",
        "/api/v1/trials/1/",
        "/api/v1/trials/1%00",
        "/api/v1//trials/1",
        "/api/v1/checkpoints/../../x",
        "/api/v1/checkpoints/00000000-0000-0000-0000-00000000000g",
        "/api/v1/checkpoints/00000000-0000-0000-0000-000000000000",
        "/api/v1/experiments/1; DROP TABLE trials",
        "/api/v1/experiments/1' OR '1'='1",
    };
    static const char *const queries[] = {
        "?limit=-1",
        "?limit=x",
        "?offset=1e9",
        "?limit",
        "?a=%zz",
        "?a=%00",
        "?limit=9999999999",
        "?sort=age",
        "?limits=3",
        "?best=3",
        ("?a=1&b=2&c=3&d=4&e=5&f=6&g=7&h=8&i=9&j=1&k=1&l=1&m=1&n=1"
         "&o=1&p=1&q=1")};
    rgm_master *master = open_master(folder, 1);
    char path[256];

    (void)state;
    create_experiment(master, RANDOM_4, "");
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        tell(master, 404, "GET", paths[i], NULL);
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        snprintf(path, sizeof path, "/api/v1/experiments/1/trials%s", queries[i]);
        tell(master, 400, "GET", path, NULL);
    }
    rgm_json *refused = ask(master, 400, "GET", "/api/v1/experiments/1/trials?stat=ACTIVE", NULL);
    CHECK_TEXT("GET /api/v1/experiments/{id}/trials knows no 'stat=' in its query; did you mean "
               "'state'?",
               text_member(refused, "message"));
    rgm_json_release(refused);
    tell(master, 400, "GET", "/api/v1/trials/1?limit=3", NULL);
    tell(master, 400, "POST", "/api/v1/experiments/1/pause?limit=3", NULL);
    refused = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("ACTIVE", text_member(refused, "state")); /* nothing was done */
    rgm_json_release(refused);
    tell(master, 405, "DELETE", "/api/v1/trials/1", NULL);
    tell(master, 405, "HACK", "/api/v1/trials/1", NULL);
    tell(master, 200, "GET", "/api/v1/experiments?label=' OR '1'='1&state=%27;--", NULL);
    tell(master, 200, "GET", "/api/v1/trials/1/logs", NULL);
    rgm_master_close(master);
}

/* A line takes a tenth of a second: of a thousand some are looked at, and the rest by whoever asks
 * again. */
static void a_pattern_that_takes_long_holds_up_nobody(void **state)
{
    enum { LINES = 1000, LINE = 4000 };
    rgm_master *master = open_master(folder, 1);
    char path[512], *text = rgm_malloc(LINES * LINE);
    rgm_json *log;

    (void)state;
    create_experiment(master, RANDOM_4, "");
    snprintf(path, sizeof path, "%s/1/1", folder);
    CHECK_OK(rgm_folder_make(path));
    memset(text, 'a', LINES * LINE);
    for (int i = 1; i <= LINES; i++)
        text[i * LINE - 1] = '\n';
    snprintf(path, sizeof path, "%s/1/1/trial.log", folder);
    CHECK_OK(rgm_file_save(path, text, LINES * LINE));
    rgm_free(text);
    log = ask(master, 200, "GET", "/api/v1/trials/1/logs?grep=(a%7B15%7D)%7B15%7Db", NULL);
    CHECK(int_member(log, "next") >= LINE && int_member(log, "next") < LINES * LINE);
    rgm_json_release(log);
    tell(master, 400, "GET", "/api/v1/trials/1/logs?grep=((a%7B99%7D)%7B99%7D)%7B99%7D", NULL);
    rgm_master_close(master);
}

/* A log that is a link to somebody's file, or a folder, is not read. */
static void a_log_is_a_file_of_the_trial(void **state)
{
    static const char lines[] = "one\ntwo\0\x1b[31m\nthree \xff\nfour";
    rgm_master *master = open_master(folder, 1);
    char path[512];

    (void)state;
    create_experiment(master, RANDOM_4, "");
    snprintf(path, sizeof path, "%s/1/1", folder);
    CHECK_OK(rgm_folder_make(path));
    snprintf(path, sizeof path, "%s/1/1/trial.log", folder);
    CHECK_INT(0, symlink("/etc/passwd", path));
    tell(master, 503, "GET", "/api/v1/trials/1/logs", NULL);
    CHECK_INT(0, unlink(path));
    CHECK_OK(rgm_file_save(path, lines, sizeof lines - 1));
    rgm_json *log = ask(master, 200, "GET", "/api/v1/trials/1/logs", NULL);
    CHECK_TEXT("one\ntwo \x1b[31m\nthree \xef\xbf\xbd\n", text_member(log, "text"));
    CHECK_INT(22, int_member(log, "next")); /* the line that is not whole comes when it is */
    rgm_json_release(log);
    log = ask(master, 200, "GET", "/api/v1/trials/1/logs?grep=%5Et.*", NULL);
    CHECK_TEXT("two \x1b[31m\nthree \xef\xbf\xbd\n", text_member(log, "text"));
    CHECK_INT(22, int_member(log, "next"));
    rgm_json_release(log);
    log = ask(master, 200, "GET", "/api/v1/trials/1/logs?grep=o&limit=1", NULL);
    CHECK_TEXT("one\n", text_member(log, "text")); /* one line, however short the limit is */
    CHECK_INT(4, int_member(log, "next"));
    rgm_json_release(log);
    tell(master, 400, "GET", "/api/v1/trials/1/logs?grep=%28", NULL);
    tell(master, 400, "GET", "/api/v1/trials/1/logs?grep=a&tail=2", NULL);
    tell(master, 400, "GET", "/api/v1/trials/1/logs?grep=(a)%5C1", NULL);
    log = ask(master, 200, "GET", "/api/v1/models", NULL);
    CHECK_INT(0, int_member(log, "total")); /* there is no registry yet */
    rgm_json_release(log);
    log = ask(master, 200, "GET", "/api/v1/trials/1/logs?tail=2", NULL);
    CHECK(strncmp("three ", text_member(log, "text"), 6) == 0);
    rgm_json_release(log);
    rgm_master_close(master);
}

static void bodies_that_are_none_are_refused(void **state)
{
    static const struct {
        int status; /* 422: of an experiment file that cannot be */
        const char *body;
    } bodies[] = {{400, "{"},
                  {400, "[]"},
                  {400, "1"},
                  {400, "{\"config\": 1}"},
                  {422, "{\"config\": \"\"}"},
                  {400, "{\"confg\": \"a\"}"},
                  {422, "{\"config\": \"a: [\"}"},
                  {400, "{\"config\": \"a: b\", \"config\": \"a: b\"}"},
                  {422, "{\"config\": \"a: b\"}"},
                  {400, "{\"config\": \"a: b\", \"working_folder\": \"../x\"}"}};
    rgm_master *master = open_master(folder, 1);

    (void)state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        tell(master, bodies[i].status, "POST", "/api/v1/experiments", bodies[i].body);
    tell(master, 400, "POST", "/api/v1/experiments", NULL);
    char *large = malloc((17 << 20) + 1);
    memset(large, ' ', 17 << 20);
    large[17 << 20] = 0;
    tell(master, 413, "POST", "/api/v1/experiments", large);
    free(large);
    create_experiment(master, RANDOM_4, "");
    static const char *const patches[] = {
        "{\"priority\": 0}",     "{\"priority\": 100}",    "{\"weight\": 0}",
        "{\"weight\": \"nan\"}", "{\"labels\": [1]}",      "{\"labels\": {\"\": true}}",
        "{\"max_slots\": -1}",   "{\"state\": \"ERROR\"}", "{\"description\": 3}"};
    for (size_t i = 0; i < sizeof patches / sizeof *patches; i++)
        tell(master, 400, "PATCH", "/api/v1/experiments/1", patches[i]);
    rgm_master_close(master);
}

static void names_with_markup_and_newlines_stay_text(void **state)
{
    static const char name[] =
        "</script><b>&amp;\n\x1b[31m'; DROP TABLE trials; --\xe2\x80\xae../..";
    rgm_master *master = open_master(folder, 1);
    char *config = search_config(RANDOM_4, ""), *body;
    rgm_text more = {0};

    (void)state;
    CHECK_OK(rgm_text_printf(&more, ", \"name\": "));
    CHECK_OK(rgm_json_print_text(&more, name));
    CHECK_OK(rgm_text_printf(&more, ", \"description\": "));
    CHECK_OK(rgm_json_print_text(&more, name));
    body = create_body(config, more.data);
    tell(master, 201, "POST", "/api/v1/experiments", body);
    more.size = 0;
    CHECK_OK(rgm_text_printf(&more, "{\"labels\": {"));
    CHECK_OK(rgm_json_print_text(&more, name));
    CHECK_OK(rgm_text_printf(&more, ": true, \"b\": true}}"));
    tell(master, 200, "PATCH", "/api/v1/experiments/1", more.data);
    tell(master, 200, "PATCH", "/api/v1/experiments/1", "{\"labels\": {\"b\": null}}");
    rgm_json *e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT(name, text_member(e, "name"));
    CHECK_TEXT(name, text_member(e, "description"));
    CHECK_INT(1, rgm_json_count(member(e, "labels")));
    CHECK_TEXT(name, text_member(e, "labels.0"));
    rgm_json_release(e);
    serve_all(master, 60);
    e = ask(master, 200, "GET", "/api/v1/experiments/1", NULL);
    CHECK_TEXT("COMPLETED", text_member(e, "state"));
    rgm_json_release(e);
    rgm_text_clear(&more);
    rgm_free(body);
    rgm_free(config);
    rgm_master_close(master);
}

/* ---- over sockets --------------------------------------------------------------------------- */

/* The same answers without a master at work and with one; the folder's path is longer than an
 * address of a socket. */
static void clients_ask_whoever_owns_the_folder(void **state)
{
    rgm_master_options options = {.slots = 1, .threads_per_slot = 1};
    working_master w;
    rgm_client *client;
    rgm_json *answer;
    char deep[512], body[64];

    (void)state;
    snprintf(deep, sizeof deep, "%s/%0100d/%0100d", folder, 1, 2);
    CHECK_OK(rgm_client_open(&client, deep, &options));
    CHECK(!rgm_client_is_served(client));
    char *config = search_config(RANDOM_4, ""), *create = create_body(config, "");
    CHECK_OK(rgm_client_call(&answer, client, "POST", "/api/v1/experiments", create));
    CHECK_INT(1, int_member(answer, "id"));
    rgm_json_release(answer);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_client_call(&answer, client, "GET", "/api/v1/experiments/2", NULL));
    CHECK_MESSAGE("there is no experiment 2");
    rgm_master *master = open_master(deep, 1);
    begin_work(&w, master);
    CHECK(rgm_client_is_served(client));
    snprintf(body, sizeof body, "{\"description\": \"\xc3\xa4 \\u0022\"}");
    CHECK_OK(rgm_client_call(&answer, client, "PATCH", "/api/v1/experiments/1", body));
    CHECK_TEXT("\xc3\xa4 \"", text_member(answer, "description"));
    rgm_json_release(answer);
    CHECK_STATUS(RGM_ERR_NOT_FOUND,
                 rgm_client_call(NULL, client, "GET", "/api/v1/experiments/2", NULL));
    CHECK_STATUS(RGM_ERR_CONFIG, rgm_client_call(NULL, client, "POST", "/api/v1/experiments",
                                                 "{\"config\": \"searcher: {name: radnom}\"}"));
    CHECK_OK(rgm_client_call(NULL, client, "POST", "/api/v1/experiments/1/kill", NULL));
    CHECK_STATUS(RGM_ERR_BUSY,
                 rgm_client_call(NULL, client, "POST", "/api/v1/experiments/1/pause", NULL));
    end_work(&w);
    rgm_master_close(master);
    CHECK_OK(rgm_client_call(NULL, client, "GET", "/api/v1/experiments/1", NULL));
    rgm_client_close(client);
    rgm_free(config);
    rgm_free(create);
}

static void the_socket_is_its_owners_alone(void **state)
{
    working_master w;
    struct stat info;
    char path[300];
    rgm_master *master = open_master(folder, 1);

    (void)state;
    begin_work(&w, master);
    snprintf(path, sizeof path, "%s/master.sock", folder);
    CHECK_INT(0, stat(path, &info));
    CHECK(S_ISSOCK(info.st_mode));
    CHECK_INT(0600, info.st_mode & 0777);
    end_work(&w);
    CHECK(stat(path, &info) != 0);
    rgm_master_close(master);
}

/* A port that was free a moment ago. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    CHECK_INT(0, bind(fd, (struct sockaddr *)&address, sizeof address));
    CHECK_INT(0, getsockname(fd, (struct sockaddr *)&address, &size));
    close(fd);
    return ntohs(address.sin_port);
}

static void tcp_needs_the_token_of_the_folder(void **state)
{
    char listen_to[64], url[80], path[300], *token;
    rgm_master_options options = {
        .folder = folder, .slots = 1, .threads_per_slot = 1, .trial_command = fake_command()};
    working_master w;
    rgm_master *master;
    rgm_client *client;
    struct stat info;
    int64_t size;
    int port = free_port();

    (void)state;
    snprintf(listen_to, sizeof listen_to, "127.0.0.1:%d", port);
    snprintf(url, sizeof url, "http://127.0.0.1:%d/", port);
    options.listen = listen_to;
    snprintf(path, sizeof path, "%s/token", folder);
    CHECK_OK(rgm_file_save(path, "", 0)); /* as a sudden end leaves it */
    CHECK_OK(rgm_master_open(&master, &options));
    begin_work(&w, master);
    CHECK_INT(0, stat(path, &info));
    CHECK_INT(0600, info.st_mode & 0777);
    CHECK_OK(rgm_file_load(&token, &size, path, 100));
    token[strcspn(token, "\n")] = 0;
    CHECK_INT(32, strlen(token));
    static const char *const wrong[] = {NULL, "", "x", "00000000000000000000000000000000"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        unsetenv("REGIMEN_TOKEN");
        if (wrong[i] != NULL)
            setenv("REGIMEN_TOKEN", wrong[i], 1);
        CHECK_OK(rgm_client_open(&client, url, NULL));
        CHECK_STATUS(RGM_ERR_ARG, rgm_client_call(NULL, client, "GET", "/api/v1/master", NULL));
        CHECK_MESSAGE("token");
        rgm_client_close(client);
    }
    setenv("REGIMEN_TOKEN", token, 1);
    CHECK_OK(rgm_client_open(&client, url, NULL));
    CHECK_OK(rgm_client_call(NULL, client, "GET", "/api/v1/master", NULL));
    rgm_client_close(client);
    unsetenv("REGIMEN_TOKEN");
    rgm_free(token);
    end_work(&w);
    rgm_master_close(master);
}

/* Ask by TCP with a token. */
static void check_token(const char *url, const char *token, rgm_status status, const char *method,
                        const char *path, const char *body)
{
    rgm_client *client;

    setenv("REGIMEN_TOKEN", token, 1);
    CHECK_OK(rgm_client_open(&client, url, NULL));
    CHECK_STATUS(status, rgm_client_call(NULL, client, method, path, body));
    rgm_client_close(client);
    unsetenv("REGIMEN_TOKEN");
}

/* A new token's text. */
static void make_token(char out[64], rgm_master *master, const char *scope, double days)
{
    char body[120];

    snprintf(body, sizeof body, "{\"name\": \"t\", \"scope\": \"%s\", \"days\": %.9f}", scope,
             days);
    rgm_json *answer = ask(master, 201, "POST", "/api/v1/tokens", body);
    snprintf(out, 64, "%s", text_member(answer, "token"));
    rgm_json_release(answer);
}

static void tokens_have_a_scope_and_an_end(void **state)
{
    char listen_to[64], url[80], reads[64], writes[64], over[64], path[300], *database;
    rgm_master_options options = {
        .folder = folder, .slots = 1, .threads_per_slot = 1, .trial_command = fake_command()};
    working_master w;
    rgm_master *master;
    int port = free_port();
    int64_t size;

    (void)state;
    snprintf(listen_to, sizeof listen_to, "127.0.0.1:%d", port);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", port);
    options.listen = listen_to;
    CHECK_OK(rgm_master_open(&master, &options));
    make_token(reads, master, "read", 30);
    begin_work(&w, master);
    make_token(writes, master, "write", 30);
    make_token(over, master, "write", 1e-8);
    check_token(url, reads, RGM_OK, "GET", "/api/v1/experiments", NULL);
    check_token(url, reads, RGM_ERR_ARG, "DELETE", "/api/v1/webhooks/1", NULL);
    CHECK_MESSAGE("its scope is read");
    check_token(url, reads, RGM_ERR_ARG, "GET", "/api/v1/webhooks", NULL);
    CHECK_MESSAGE("can write there");
    check_token(url, writes, RGM_OK, "GET", "/api/v1/webhooks", NULL);
    check_token(url, writes, RGM_OK, "GET", "/api/v1/experiments", NULL);
    check_token(url, writes, RGM_ERR_NOT_FOUND, "DELETE", "/api/v1/webhooks/1", NULL);
    check_token(url, writes, RGM_ERR_ARG, "GET", "/api/v1/tokens", NULL);
    check_token(url, writes, RGM_ERR_ARG, "POST", "/api/v1/tokens", "{\"scope\": \"write\"}");
    CHECK_MESSAGE("the token of the master's folder alone");
    check_token(url, over, RGM_ERR_ARG, "GET", "/api/v1/experiments", NULL);
    CHECK_MESSAGE("not over");
    tell(master, 200, "DELETE", "/api/v1/tokens/1", NULL); /* that which reads */
    check_token(url, reads, RGM_ERR_ARG, "GET", "/api/v1/experiments", NULL);
    tell(master, 404, "DELETE", "/api/v1/tokens/1", NULL);
    end_work(&w);
    rgm_master_close(master);
    snprintf(path, sizeof path, "%s/master.db", folder);
    CHECK_OK(rgm_file_load(&database, &size, path, 1 << 24));
    CHECK(memmem(database, (size_t)size, writes, strlen(writes)) == NULL); /* its hash alone */
    rgm_free(database);
    CHECK_OK(rgm_master_open(&master, &options)); /* and the next master knows it */
    begin_work(&w, master);
    check_token(url, writes, RGM_OK, "GET", "/api/v1/experiments", NULL);
    end_work(&w);
    rgm_master_close(master);
}

static void wrong_tokens_are_not_made(void **state)
{
    static const char *const wrong[] = {
        "{}", "{\"scope\": \"admin\"}", "{\"scope\": \"read\", \"days\": 0}",
        "{\"scope\": \"read\", \"days\": 4000}", "{\"scope\": \"read\", \"name\": \"\"}"};
    rgm_master *master = open_master(folder, 1);

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        tell(master, 400, "POST", "/api/v1/tokens", wrong[i]);
    rgm_master_close(master);
}

static void notes_and_projects_are_kept(void **state)
{
    rgm_master *master = open_master(folder, 1);
    rgm_json *e;

    (void)state;
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}",
                      "project: digits\n");
    create_experiment(master, "{name: single, metric: valid.loss, max_steps: 2}", "");
    e = ask(master, 200, "GET", "/api/v1/experiments?project=digits", NULL);
    CHECK_INT(1, int_member(e, "total"));
    CHECK_INT(1, int_member(e, "experiments.0.id"));
    CHECK_TEXT("digits", text_member(e, "experiments.0.project"));
    rgm_json_release(e);
    e = ask(master, 200, "PATCH", "/api/v1/experiments/2",
            "{\"project\": \"digits\", \"note\": \"# Why\\n<b>to see</b>\"}");
    CHECK_TEXT("# Why\n<b>to see</b>", text_member(e, "note"));
    rgm_json_release(e);
    e = ask(master, 200, "GET", "/api/v1/experiments?project=digits&limit=1", NULL);
    CHECK_INT(2, int_member(e, "total"));
    rgm_json_release(e);
    e = ask(master, 200, "PATCH", "/api/v1/trials/1", "{\"note\": \"odd\"}");
    CHECK_TEXT("odd", text_member(e, "note"));
    rgm_json_release(e);
    tell(master, 400, "PATCH", "/api/v1/trials/1", "{}");
    tell(master, 404, "PATCH", "/api/v1/trials/99", "{\"note\": \"odd\"}");
    tell(master, 400, "PATCH", "/api/v1/experiments/2", "{\"note\": 5}");
    rgm_master_close(master);
}

static bool at_once(rgm_master *master, void *payload)
{
    (void)master;
    (void)payload;
    return true;
}

static void what_others_can_reach_needs_consent(void **state)
{
    rgm_master_options options = {.folder = folder, .slots = 1, .listen = "0.0.0.0:0"};
    rgm_master *master;

    (void)state;
    CHECK_OK(rgm_master_open(&master, &options));
    CHECK_STATUS(RGM_ERR_ARG, rgm_master_serve(master, at_once, NULL));
    CHECK_MESSAGE("--allow-remote");
    rgm_master_close(master);
    options.allow_remote = true;
    CHECK_OK(rgm_master_open(&master, &options));
    CHECK_OK(rgm_master_serve(master, at_once, NULL));
    rgm_master_close(master);
}

/* Bytes to the socket that are no HTTP, or only begin to be: it answers others all the while. */
static void bad_http_disturbs_nobody(void **state)
{
    static const char *const lines[] = {
        "\0\0\0\0",
        "GET",
        "GET / HTTP/9.9\r\n\r\n",
        ("POST /api/v1/experiments HTTP/1.1\r\nHost: "
         "a\r\nContent-Length: 99999999999999999999\r\n\r\n"),
        "POST /api/v1/experiments HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{",
        "GET /api/v1/master HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        "\x16\x03\x01\x02"};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int open[300];
    working_master w;
    rgm_client *client;
    rgm_master *master = open_master(folder, 1);

    (void)state;
    begin_work(&w, master);
    snprintf(address.sun_path, sizeof address.sun_path, "%.80s/master.sock", folder);
    CHECK_OK(rgm_client_open(&client, folder, NULL));
    for (int i = 0; i < 300; i++) {
        const char *line = lines[(size_t)i % (sizeof lines / sizeof *lines)];

        open[i] = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(open[i], (struct sockaddr *)&address, sizeof address) == 0 &&
            send(open[i], line, line[0] == 0 ? 4 : strlen(line), MSG_NOSIGNAL) < 0)
            continue;
        if (i % 50 == 0)
            CHECK_OK(rgm_client_call(NULL, client, "GET", "/api/v1/master", NULL));
    }
    CHECK_OK(rgm_client_call(NULL, client, "GET", "/api/v1/master", NULL));
    for (int i = 0; i < 300; i++)
        close(open[i]);
    rgm_client_close(client);
    end_work(&w);
    rgm_master_close(master);
}

/* ---- size ----------------------------------------------------------------------------------- */

static void a_project_is_no_longer_than_what_is_kept_of_it(void **state)
{
    rgm_master *master = open_master(folder, 1);

    (void)state;
    for (int size = 255; size <= 256; size++) {
        char more[300], *config, *body;
        rgm_json *answer;

        snprintf(more, sizeof more, "project: %0*d\n", size, 7);
        config = search_config("{name: single, metric: valid.loss, max_steps: 1}", more);
        body = create_body(config, "");
        answer = ask(master, size == 255 ? 201 : 422, "POST", "/api/v1/experiments", body);
        if (size > 255)
            CHECK_TEXT("'project' has more than 255 bytes", text_member(answer, "message"));
        rgm_json_release(answer);
        rgm_free(body);
        rgm_free(config);
    }
    rgm_master_close(master);
}

/* Each with a condition of its own would be as large again: a space is what it costs. */
static void ten_thousand_hyperparameters_are_taken_or_told(void **state)
{
    rgm_master *master = open_master(folder, 1);
    rgm_text config = {0};
    double begun;

    (void)state;
    CHECK_OK(rgm_text_printf(&config, "data: {path: data/digits, train: train.csv.gz}\n"
                                      "task: {type: classification, num_classes: 10}\n"
                                      "model: {type: mlp}\noptimizer: {type: adam}\n"
                                      "searcher: {name: single, metric: valid.loss, max_steps: 1}\n"
                                      "hyperparameters:\n"));
    for (int i = 0; i < 10000; i++)
        CHECK_OK(rgm_text_printf(&config, "  h%d: {type: double, minval: 0, maxval: 1}\n", i));
    char *body = create_body(config.data, "");
    begun = rgm_now();
    rgm_json *answer = ask(master, 422, "POST", "/api/v1/experiments", body);
    CHECK(strstr(text_member(answer, "message"), "h0") != NULL);
    print_message("refused in %.2f s: they are no keys of the experiment\n", rgm_now() - begun);
    CHECK(rgm_now() - begun < 10);
    rgm_json_release(answer);
    tell(master, 200, "GET", "/api/v1/experiments", NULL);
    rgm_free(body);
    rgm_text_clear(&config);
    rgm_master_close(master);
}

TESTS(cmocka_unit_test_setup_teardown(every_request_is_in_the_list_and_explained, setup, teardown),
      cmocka_unit_test_setup_teardown(hostile_paths_lead_nowhere, setup, teardown),
      cmocka_unit_test_setup_teardown(a_log_is_a_file_of_the_trial, setup, teardown),
      cmocka_unit_test_setup_teardown(a_pattern_that_takes_long_holds_up_nobody, setup, teardown),
      cmocka_unit_test_setup_teardown(bodies_that_are_none_are_refused, setup, teardown),
      cmocka_unit_test_setup_teardown(names_with_markup_and_newlines_stay_text, setup, teardown),
      cmocka_unit_test_setup_teardown(clients_ask_whoever_owns_the_folder, setup, teardown),
      cmocka_unit_test_setup_teardown(the_socket_is_its_owners_alone, setup, teardown),
      cmocka_unit_test_setup_teardown(tcp_needs_the_token_of_the_folder, setup, teardown),
      cmocka_unit_test_setup_teardown(a_project_is_no_longer_than_what_is_kept_of_it, setup,
                                      teardown),
      cmocka_unit_test_setup_teardown(notes_and_projects_are_kept, setup, teardown),
      cmocka_unit_test_setup_teardown(wrong_tokens_are_not_made, setup, teardown),
      cmocka_unit_test_setup_teardown(tokens_have_a_scope_and_an_end, setup, teardown),
      cmocka_unit_test_setup_teardown(what_others_can_reach_needs_consent, setup, teardown),
      cmocka_unit_test_setup_teardown(bad_http_disturbs_nobody, setup, teardown),
      cmocka_unit_test_setup_teardown(ten_thousand_hyperparameters_are_taken_or_told, setup,
                                      teardown))
